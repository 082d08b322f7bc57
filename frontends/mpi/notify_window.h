/* notify_window.h: windows for notified accesses.
 *
 * A window consists of a window of MPI, a region of Tern over the same memory, and a context on the team of the
 * communicator. The record hangs on the window of MPI as an attribute; a small table by handle, which is searched
 * first, makes the usual case cheap. Records are reused and never returned, so that threads may look up windows at the
 * same time.
 */
#ifndef TERN_NOTIFY_WINDOW_H
#define TERN_NOTIFY_WINDOW_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <tern.h>

#include "error.h"
#include "job.h"
#include "mpi_notify.h"
#include "team.h"

#define NOTIFY_EXPORT __attribute__((visibility("default")))

struct tern_notify_request;

/* The state of a process of a window, as this process knows it. */
struct tern_notify_peer {
    uint64_t unit; /* displacement unit */
    bool     near; /* loads and stores reach the memory of the peer: a put is complete when the call of Tern returns */
    bool     node; /* the peer is on the node of this process */
    uint8_t  base; /* remainder of the address of the peer's memory by 16 */
};

/* A window. */
struct tern_notify_window {
    MPI_Win                     handle; /* MPI_WIN_NULL: the record is not in use */
    int                         size;   /* of the communicator */
    tern_ctx                   *ctx;
    tern_region                *region;
    tern_mutexes               *mutexes;   /* one at each process, for accumulates (acc.h) */
    struct tern_notify_peer    *peers;     /* [size] */
    tern_counter               *counter;   /* starts accesses to processes that are not near. NULL: all processes are
                                          * near */
    uint64_t                    gets;      /* gets from other nodes that have started */
    uint64_t                    gets_done; /* number of these gets, from the first one on, that are complete */
    struct tern_mpi_team        team;
    MPI_Group                   group;      /* of the communicator */
    void                       *mpi_memory; /* memory of the window of MPI, if that window had to allocate it */
    tern_request               *probe;      /* request for the source and tag of the last probe, or NULL */
    int                         probe_source, probe_tag;
    tern_request               *waiter; /* request of the last MPIX_Win_wait_notify, or NULL */
    int                         waiter_tag;
    struct tern_notify_request *requests; /* list of the requests, also of accesses */
    struct tern_notify_window  *next;     /* list of live windows, the oldest one first, of windows that wait to be
                                           * released, or of records for reuse */
    struct tern_notify_window  *previous; /* in the list of live windows */
};

#define TERN_NOTIFY_WINDOW_BITS 4
extern struct tern_notify_window *tern_notify_windows[1 << TERN_NOTIFY_WINDOW_BITS]
    __attribute__((visibility("hidden")));

static inline unsigned tern_notify_window_slot(MPI_Win handle)
{
    return (unsigned)(((uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15u) >> (64 - TERN_NOTIFY_WINDOW_BITS));
}

/* Find a window that is not in the table. NULL: the handle is no window for notified accesses. */
struct tern_notify_window *tern_notify_window_find(MPI_Win handle);

/* Find a window. NULL: the handle is no window for notified accesses. */
static inline struct tern_notify_window *tern_notify_window_of(MPI_Win handle)
{
    /* acquire: the record behind the pointer. Pairs with the release in notify_window.c. */
    struct tern_notify_window *w =
        __atomic_load_n(&tern_notify_windows[tern_notify_window_slot(handle)], __ATOMIC_ACQUIRE);

    return TERN_LIKELY(w != NULL && w->handle == handle) ? w : tern_notify_window_find(handle);
}

/* Return whether gets may be outstanding. */
static inline bool tern_notify_gets_outstanding(const struct tern_notify_window *w)
{
    /* relaxed: the gets that this thread must complete were started by it, or before a synchronization with it.
     * acquire: the data of the gets. Pairs with the release in notify_flush.c. */
    return __atomic_load_n(&w->gets, __ATOMIC_RELAXED) != __atomic_load_n(&w->gets_done, __ATOMIC_ACQUIRE);
}

/* Call the error handler of a window with an error code. Returns the code. */
int tern_notify_raise(struct tern_notify_window *w, int code) __attribute__((cold));

/* Report that a handle is not a window for notified accesses, to the error handler of the window, or to that of
 * MPI_COMM_WORLD if the handle is not a window at all. Returns the code. */
int tern_notify_no_window(MPI_Win handle, const char *call) __attribute__((cold));

/* Report that a pointer through which a call returns a value is NULL, to the error handler of the window, or to that of
 * MPI_COMM_WORLD if w is NULL. Returns the code. */
int tern_notify_no_place(struct tern_notify_window *w, const char *call) __attribute__((cold));

/* notify_request.c: detach the requests of a window that is released. */
void tern_notify_orphan_requests(struct tern_notify_window *w);

#endif
