/* job.h: the state that exists once per process: this rank, the links, the teams, and the lists of created objects.
 *
 * Fields below the lock are read without it only if their comment says so. The job is running between tern_init and
 * tern_finalize. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "boot/boot.h"
#include "core/node_map.h"
#include "core/team.h"
#include "link/link.h"

struct tern_ctx;
struct tern_region;

/* CHILD: fork created this process while the job was running in its parent (core/fork.c). */
enum tern_phase { TERN_PHASE_BEFORE, TERN_PHASE_RUNNING, TERN_PHASE_AFTER, TERN_PHASE_CHILD };

struct tern_job {
    _Atomic int                       phase; /* enum tern_phase */
    struct tern_boot                  boot;
    struct tern_node_map              nodes;               /* the ranks of each node */
    const struct tern_link_up        *up;                  /* the functions that the links call */
    const struct tern_link_ops       *ops[TERN_LINKS_MAX]; /* the open links, best first */
    struct tern_link                 *link[TERN_LINKS_MAX];
    unsigned                          links;     /* number of open links */
    uint8_t                          *peer_link; /* [ranks] index of the link that serves the rank */
    /* [ranks] injection handles, which op/am looks up; NULL: none */
    struct tern_inject_pair *_Atomic *pair;
    int64_t                           turns;   /* number of ranks that take turns on a core: tern_boot_turns() */
    int64_t                           spin_ns; /* spin time and number of yields of a wait: see core/wait.c */
    int                               yields;
    struct tern_team                  world, node, self;
    struct tern_ctx *handler_ctx; /* context for the operations that replies need; used by the delivering thread */

    pthread_mutex_t  lock; /* guards the fields that follow */
    _Atomic bool    *lost; /* [ranks] the rank is known to be dead; read without the lock */
    _Atomic bool    *gone; /* [ranks] the kernel has reported the end of the process; accessed without the lock */
    _Atomic uint32_t losses_seen;
    struct tern_list contexts;
    struct tern_list regions;
    _Atomic uint64_t region_changes; /* number of additions to and removals from regions; read without the lock */
};

extern struct tern_job tern_job;

/* Join and leave the job: the implementations of tern_init and tern_finalize. The links call the functions of up. */
tern_status tern_core_job_open(const struct tern_link_up *up);
tern_status tern_core_job_close(void);

/* Whether this process is a rank of a running job. */
static inline bool tern_core_job_is_running(void)
{
    /* acquire: the tables of the job. Pairs with the store in tern_core_job_open(). */
    return atomic_load_explicit(&tern_job.phase, memory_order_acquire) == TERN_PHASE_RUNNING;
}

/* Return TERN_OK while the job is running, otherwise TERN_ERR_STATE with a detail. what is the public call. */
tern_status tern_core_job_running(const char *what);

/* Process the deaths that the launcher has reported since the last call: the parts of these ranks become unreachable.
 * Does nothing if a death ends the job. Any thread may call this. */
void               tern_core_job_mark_dead(uint32_t losses);
static inline void tern_core_job_check_deaths(void)
{
    /* acquire: the ranks' fates are read after their number. Pairs with the launcher's release. */
    uint32_t losses = atomic_load_explicit(&tern_job.boot.segment->losses, memory_order_acquire);

    if (TERN_UNLIKELY(losses != atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed)))
        tern_core_job_mark_dead(losses);
}

/* Whether the launcher has reported a death that this rank has not processed yet. */
static inline bool tern_core_job_has_deaths(void)
{
    return TERN_UNLIKELY(atomic_load_explicit(&tern_job.boot.segment->losses, memory_order_relaxed) !=
                         atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed));
}

/* The kernel has reported that the rank is gone: wait until the launcher has noticed too (at most three seconds), so
 * that the launcher does not take this rank's next action for the first failure of the job. Keeps the detail of the
 * error. */
void tern_core_job_confirm(int rank, tern_deadline deadline);

/* Record that the kernel has reported the end of the rank's process to a link: the slot gone of tern_link_up. Any
 * thread may call this. */
void tern_core_job_gone(int rank);

/* Return whether this process has learned in any way that the rank is gone. If only the kernel has reported it, wait
 * until the launcher reports it too (at most three seconds), so that every later operation on the rank fails. Any
 * thread may call this. */
bool tern_core_job_is_gone(int rank);

/* Return the deadline of a blocking call that starts now and has no context: the option TERN_TIMEOUT. */
tern_deadline tern_core_job_deadline(void);

/* Return whether the rank of the job is known to be dead. Any thread may call this. */
static inline bool tern_core_job_lost(int rank)
{
    return atomic_load_explicit(&tern_job.lost[rank], memory_order_relaxed);
}

/* Return the table of the link that serves the rank, and the link. */
static inline const struct tern_link_ops *tern_core_ops_to(int rank)
{
    return tern_job.ops[tern_job.peer_link[rank]];
}

static inline struct tern_link *tern_core_link_to(int rank)
{
    return tern_job.link[tern_job.peer_link[rank]];
}

static inline struct tern_slot *tern_core_job_slot(int rank)
{
    return &tern_job.boot.segment->slot[rank];
}
