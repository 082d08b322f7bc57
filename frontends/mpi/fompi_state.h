/* fompi_state.h: the types and functions that the files of the foMPI front end share.
 *
 * A window consists of two regions of Tern on the team of its communicator, and a set of mutexes. The data region is
 * the memory of the program: allocated, registered or dynamic. The control region has, at each process, the words of
 * struct tern_fompi_control, with which the other processes synchronize.
 *
 * Three contexts belong to a window. Puts and gets use a relaxed context. Accumulates use a strict context, because MPI
 * orders the accumulates of one process to one location. Epochs and locks use a third context, on which nothing is
 * outstanding when a call returns, so that the release of a mutex never waits for accesses.
 *
 * An access to a process needs an epoch. The array of peers says for each process whether there is an epoch, so that
 * the usual case is one test. At the first access to a process, tern_fompi_open acquires the lock for
 * foMPI_Win_lock_all, or waits for the foMPI_Win_post of a process in the group of foMPI_Win_start.
 */
#ifndef TERN_FOMPI_STATE_H
#define TERN_FOMPI_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tern.h>

#include "datatype.h"
#include "fompi.h"
#include "team.h"
#include "transfer.h"

#define FOMPI_EXPORT __attribute__((visibility("default")))

/* Words at each process that other processes change. The control region contains this struct, followed by a counter for
 * each process of the window: the exposure epochs that it has posted for the owner. */
struct tern_fompi_control {
    uint64_t lock; /* number of shared locks, and the two marks below */
    uint64_t unused[7];
    uint64_t completed; /* number of access epochs that have been completed */
    uint64_t also_unused[7];
};
_Static_assert(sizeof(struct tern_fompi_control) == 128, "two cache lines");

#define TERN_FOMPI_WRITER (UINT64_C(1) << 32)    /* a process holds the mutex, and wants the exclusive lock or has it */
#define TERN_FOMPI_EXCLUSIVE (UINT64_C(1) << 33) /* it has the lock */

/* The mutexes at each process. */
enum { TERN_FOMPI_LOCK, TERN_FOMPI_COMBINE, TERN_FOMPI_MUTEXES };

/* The reasons why a process may be accessed. */
enum { TERN_FOMPI_LOCKED = 1, TERN_FOMPI_POSTED = 2 };

/* The state of a process of the window, as this process knows it. */
struct tern_fompi_peer {
    uint64_t posts;   /* exposure epochs that this process has used */
    uint32_t unit;    /* displacement unit */
    uint8_t  open;    /* reasons why accesses are allowed */
    uint8_t  started; /* the process is in the group of foMPI_Win_start */
    uint8_t  exclusive : 1;
    uint8_t  base      : 4; /* remainder of the address of its memory by 16 */
    uint8_t  far       : 1; /* it is on another node */
    uint8_t  near;          /* loads and stores reach the memory of the process */
};

struct tern_fompi_request;
struct tern_fompi_attribute;

/* A window. */
struct tern_fompi_win {
    foMPI_Win_desc_t             head;
    uint32_t                     magic;      /* TERN_FOMPI_MAGIC; 0: freed */
    bool                         fenced;     /* the last foMPI_Win_fence has opened an epoch */
    bool                         reads;      /* gets may be outstanding */
    bool                         combines;   /* accumulates may be outstanding */
    bool                         locked_all; /* foMPI_Win_lock_all */
    int                          flavor, rank, size;
    tern_ctx                    *ctx, *acc_ctx, *sync_ctx;
    tern_region                 *region;
    struct tern_fompi_peer      *peers; /* [size] */
    tern_region                 *control;
    tern_mutexes                *mutexes;
    tern_counter                *counter; /* starts notified accesses to other nodes; NULL: there are none */
    struct tern_mpi_team         team;
    MPI_Group                    group;
    void                        *base;
    MPI_Aint                     bytes;
    int                          locks, exclusive_locks; /* numbers of locks that this process holds */
    int                         *targets;                /* [target_count] group of foMPI_Win_start; NULL: no epoch */
    int                          target_count;
    bool                         exposed;    /* foMPI_Win_post without foMPI_Win_wait */
    uint64_t                     expected;   /* value of completed at which the exposure epoch ends */
    struct tern_fompi_request   *requests;   /* list */
    struct tern_fompi_attribute *attributes; /* list */
    char                         name[MPI_MAX_OBJECT_NAME];
    struct tern_fompi_win       *next;     /* list of live windows, the oldest one first, or of descriptors for reuse */
    struct tern_fompi_win       *previous; /* in the list of live windows */
};
#define TERN_FOMPI_MAGIC 0x666f4d50u

/* A request. */
struct tern_fompi_request {
    uint32_t                   magic;
    bool                       notifies; /* a persistent request for notifications; otherwise an access */
    bool                       active;
    struct tern_fompi_win     *win;    /* NULL: the window is freed */
    tern_request              *notify; /* NULL: the request waits for no notification */
    tern_event                 event;  /* of an access */
    tern_status                failed; /* error of an access that foMPI_Win_free has completed; TERN_OK: none */
    MPI_Status                 done;   /* status of completed notifications; source and tag are set later */
    struct tern_fompi_request *next, *previous;
};

/* The arguments of an access, as the program passes them. */
struct tern_fompi_args {
    const char  *call;
    foMPI_Win    win;
    void        *origin;
    int          origin_count;
    MPI_Datatype origin_type;
    int          rank;
    MPI_Aint     disp;
    int          target_count;
    MPI_Datatype target_type;
    bool         free; /* the access needs no epoch */
};
#define TERN_FOMPI_ARGS(needs_no_epoch)                                  \
    ((struct tern_fompi_args){ .call = __func__,                         \
                               .win = win,                               \
                               .origin = (void *)(uintptr_t)origin_addr, \
                               .origin_count = origin_count,             \
                               .origin_type = origin_datatype,           \
                               .rank = target_rank,                      \
                               .disp = target_disp,                      \
                               .target_count = target_count,             \
                               .target_type = target_datatype,           \
                               .free = (needs_no_epoch) })

/* Returned by tern_fompi_prepare for an access to MPI_PROC_NULL, which has no effect. */
#define TERN_FOMPI_NOTHING (-1)

/* fompi_job.c: report an error. Returns the class. */
int tern_fompi_error(int class, const char *call, const char *format, ...) __attribute__((cold, format(printf, 3, 4)));
int tern_fompi_error_of(tern_status status, const char *call, const char *what) __attribute__((cold));
int tern_fompi_error_kept(tern_status status, const char *call, const char *what)
    __attribute__((cold)); /* of an access to a window that has been freed since */
int tern_fompi_error_as(int class, const char *call, const char *what)
    __attribute__((cold));                                                   /* the last error of Tern */
int tern_fompi_error_code(int code, const char *call) __attribute__((cold)); /* a code of error.h */
int tern_fompi_bad_win(const char *call, foMPI_Win win) __attribute__((cold));
int tern_fompi_bad_rank(const char *call, const struct tern_fompi_win *win, int rank) __attribute__((cold));

static inline int tern_fompi_result(tern_status status, const char *call, const char *what)
{
    return TERN_LIKELY(status == TERN_OK) ? MPI_SUCCESS : tern_fompi_error_of(status, call, what);
}

/* Return the window with this handle; NULL if the handle is not valid. */
static inline struct tern_fompi_win *tern_fompi_win(foMPI_Win handle)
{
    struct tern_fompi_win *win = (struct tern_fompi_win *)(void *)handle;

    return TERN_LIKELY(win != NULL && win->magic == TERN_FOMPI_MAGIC) ? win : NULL;
}

/* fompi_epoch.c: check that there is an epoch for accesses to a process, and wait until the process may be accessed.
 * Returns MPI_SUCCESS or MPI_ERR_RMA_SYNC. */
int tern_fompi_open(struct tern_fompi_win *win, int rank, const char *call) __attribute__((cold));

/* fompi_lock.c */
int tern_fompi_lock_shared(struct tern_fompi_win *win, int rank, const char *call);
int tern_fompi_unlock_rest(struct tern_fompi_win *win, const char *call); /* release all locks that are held */

/* fompi_flush.c: complete the accesses to a process, or to all with TERN_FOMPI_ALL. */
#define TERN_FOMPI_ALL (-1)
int tern_fompi_flush(struct tern_fompi_win *win, int rank, const char *call);

/* fompi_rma.c: check the arguments of an access. acc: the access belongs to the strict context. Returns MPI_SUCCESS,
 * TERN_FOMPI_NOTHING or an error. */
int tern_fompi_prepare(const struct tern_fompi_args *args, bool acc, struct tern_mpi_access *out);
int tern_fompi_side(const char *call, int count, MPI_Datatype datatype, struct tern_mpi_side *side);

/* fompi_split.c: start an access to a dynamic window, whose bytes may lie in several attached ranges. */
tern_status tern_fompi_move_dynamic(const struct tern_mpi_access *access, const tern_opts *opts);

/* Return the function that starts accesses to the window. */
static inline tern_status (*tern_fompi_mover(const struct tern_fompi_win *win))(const struct tern_mpi_access *,
                                                                                const tern_opts *)
{
    return win->flavor == foMPI_WIN_FLAVOR_DYNAMIC ? tern_fompi_move_dynamic : tern_mpi_move;
}

/* fompi_request.c */
struct tern_fompi_request *tern_fompi_request_new(struct tern_fompi_win *win);
void                       tern_fompi_request_drop(struct tern_fompi_request *request);
void                       tern_fompi_orphan_requests(struct tern_fompi_win *win);
int  tern_fompi_finish(foMPI_Request *handle, tern_deadline deadline, int *flag, MPI_Status *status, const char *call);
bool tern_fompi_request_active(foMPI_Request handle);   /* true also for an invalid handle, which is an error */
tern_ctx *tern_fompi_request_ctx(foMPI_Request handle); /* NULL: the request is not active */
void      tern_fompi_tell_nothing(MPI_Status *status);  /* an empty status */

/* fompi_attribute.c: delete all attributes of a window. */
int tern_fompi_drop_attributes(struct tern_fompi_win *win);

#endif
