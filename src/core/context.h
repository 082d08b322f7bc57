/* context.h: a stream of operations, and its outstanding operations (op.h). */
#pragma once

#include <stdbool.h>
#include <tern/context.h>
#include <tern/event.h>

#include "base/clock.h"
#include "base/debug.h"
#include "base/list.h"
#include "base/pool.h"
#include "base/roster.h"
#include "core/job.h"
#include "core/message.h"
#include "core/op.h"
#include "core/team.h"
#include "link/link.h"

struct tern_engine;

/* The functions of the trigger engine (op/trigger/engine.h) for a context that has one. Other threads may advance the
 * operations of an engine, too. describe writes a description of the outstanding operations. failed returns the first
 * error, since the last call, of an operation without an event, and describes the failure in the fields failed_... of
 * the context, except `failed`. */
void        tern_op_engine_advance(struct tern_ctx *ctx);
void        tern_op_engine_describe(struct tern_ctx *ctx, char *text, size_t size);
tern_status tern_op_engine_failed(struct tern_ctx *ctx);
void        tern_op_engine_close(struct tern_ctx *ctx);
/* Begin a new epoch, and return the previous one, to which all started operations belong. has_passed returns whether
 * all operations that started in an epoch, or earlier, have ended. */
uint32_t    tern_op_engine_next_epoch(struct tern_ctx *ctx);
bool        tern_op_engine_has_passed(struct tern_ctx *ctx, uint32_t epoch);
/* Refuse all calls on counters, without a lock: this process is a child of the rank (core/fork.c). */
void        tern_op_counters_disable(void);
/* Return the number of parked or started operations on the region with the number (core/region.h). Returns -1 if the
 * engine is in use by another thread at this moment. */
int         tern_op_engine_in_region(struct tern_engine *engine, uint32_t number);

/* The functions of the tagged layer (op/tagged/tagged.c) for a context that has tagged state. The context's thread
 * calls them:
 *
 *   advance    called after the attention flag was set: advance the waiting operations
 *   retire     the context is about to be closed. Returns TERN_OK: nothing is outstanding, and nothing can start any
 *              more. TERN_PENDING: something is outstanding. An error: the program must do something first; nothing was
 *              changed.
 *   describe   write a description of everything that is outstanding
 *   release    the context is closed: free its tagged state, except its requests, which become invalid
 *   forget     the memory of the closed context is used again: free its requests
 *   disable    make the requests invalid, without a lock: this process is a child of the rank (core/fork.c) */
void        tern_op_tagged_advance(struct tern_ctx *ctx);
tern_status tern_op_tagged_retire(struct tern_ctx *ctx);
void        tern_op_tagged_describe(const struct tern_ctx *ctx, char *text, size_t size);
void        tern_op_tagged_release(struct tern_ctx *ctx);
void        tern_op_tagged_forget_requests(struct tern_ctx *ctx);
void        tern_op_tagged_disable(struct tern_ctx *ctx);

/* Make progress on the collective operations of the context's team (op/coll/station.c). */
void tern_op_coll_advance(struct tern_ctx *ctx);

/* The context is closed: free its notification requests (op/notify/notify.c). */
void tern_op_notify_release(const struct tern_ctx *ctx);

/* Refuse all calls on notification requests, without a lock: this process is a child of the rank (core/fork.c). */
void tern_op_notify_disable(void);

/* A rank has died: end the events of the context's notification requests that wait for dead ranks (op/notify/notify.c).
 * Returns true if some of the requests must be examined again. The context's thread. */
bool tern_op_notify_find_hopeless(struct tern_ctx *ctx);

/* The earlier operations that must be delivered before an operation to the same rank starts. */
enum tern_ctx_ordered {
    TERN_ORDERED_NONE,       /* none */
    TERN_ORDERED_ALL,        /* all: a strict context */
    TERN_ORDERED_FENCE,      /* the operations before the last tern_fence, some of which are outstanding */
    TERN_ORDERED_ALL_SHARED, /* all: a strict context that threads share */
};

/* A value of inline_unflushed of a handle, which is never 0. */
#define TERN_UNFLUSHED_NONE 2

/* A region that was found by an address in the memory of a rank; valid while the regions have not changed. */
struct tern_region_found {
    uint64_t            changes;
    int                 rank;
    uint64_t            addr, size;
    struct tern_region *region;
};

/* A context that threads share consists of two objects. The program has a pointer to the first one, the handle, which
 * has no operations of its own. The second one, the inner context, has them, and a thread uses it only while it holds
 * its lock (core/shared.h). Calls on private contexts need no check for this: the handle has ranks of 0, so that the
 * checks of the arguments fail; inline_unflushed and attention are always set, so that quiet and progress do not take
 * their shortest paths. */

struct tern_ctx {
    struct tern_ctx_head head;
    struct tern_team    *team;   /* head.ranks is 0 if the context is gone */
    uint32_t             ranks;  /* the size of the team; 0: the context is gone, or is the handle of a shared one */
    struct tern_ctx     *handle; /* what the program uses: the context itself, or the handle of an inner context */
    struct tern_ctx     *inner;  /* of a handle: the inner context; NULL: the context is private */
    struct tern_shared  *shared; /* of an inner context: core/shared.h; NULL otherwise */
    uint32_t             ended;  /* changes when an operation ends */
    const char          *gone; /* why the context cannot be used any more, such as "was freed"; NULL: it can be used */
    uint32_t             number;   /* unique in the process */
    uint32_t             am_team;  /* the team's number in active messages */
    int32_t              am_short; /* most arguments of a message in one cell; -1: the team is named in every message */
    tern_order           order;
    uint8_t              ordered; /* enum tern_ctx_ordered */
    double               timeout; /* seconds; 0: none */
    struct tern_lane    *lane[TERN_LINKS_MAX];
    struct tern_list     outstanding; /* operations, newest first */
    struct tern_op      *fence;       /* marker in outstanding, if ordered is TERN_ORDERED_FENCE. NULL: none was made */
    struct tern_list     active;      /* the operations that the context must advance, oldest first */
    struct tern_list     held;        /* operations that have ended but have events, if they own memory of the heap */
    struct tern_pool     ops;         /* memory of operations */
    struct tern_engine  *engine;      /* op/trigger/engine.h; NULL: none */
    _Atomic uint32_t     engine_busy; /* operations of the engine that have not completed, without parked ones */
    _Atomic uint32_t    *in_region;   /* [in_regions] outstanding operations by the number of the region: op.c */
    uint32_t             in_regions;
    /* The inline payload of notifications may not be in its destination yet. Several threads write this field of a
     * handle, in which TERN_UNFLUSHED_NONE means false. */
    uint8_t              inline_unflushed;
    tern_status          failed;      /* the first error of an implicit operation since the last quiet */
    int                  failed_rank; /* the rank of the job whose operations failed; -1: several ranks */
    char                 failed_op[120];
    char                 failed_why[256]; /* ": " and the text of the error; "": there is none */
    struct tern_tagged  *tagged;          /* op/tagged/request.h; NULL: none */
    void                *requests;        /* requests of a closed context, which stay readable: op/tagged/tagged.c */
    _Atomic uint32_t     colls; /* collective operations of the context that have started and have not ended */
    /* The tagged layer asks to be advanced, collective operations are outstanding, or a rank has died. Any thread sets
     * it. */
    _Atomic bool         attention;
    struct tern_list     node; /* on the job's list */
    /* Debug builds: the thread that is in a call on the context (0: none), the name of the call, and its nesting. */
    _Atomic uintptr_t    user;
    const char *_Atomic  user_call;
    uint32_t             uses;
    bool                 waits;     /* the call may wait: inlined calls must enter the library */
    struct tern_ctx     *also_used; /* another context that the same call uses; NULL: none */
    struct tern_region_found found; /* cached result of the last tern_region_find */
    struct tern_roster_node  ever;  /* must be last; it outlives the context */
};

/* The memory of all contexts, including freed contexts and those of engines. */
extern struct tern_roster tern_core_ctxs __attribute__((visibility("hidden")));

tern_status tern_core_ctx_open(struct tern_team *team, tern_order order, struct tern_ctx **out);
/* Open a context that threads share. *out receives the handle. */
tern_status tern_core_ctx_open_shared(struct tern_team *team, tern_order order, struct tern_ctx **out);
/* Free the context without completing its operations. An inner context is freed together with its handle. The memory of
 * the context stays valid for a while (base/retired.h), so that calls with a freed context are reported. */
void        tern_core_ctx_close(struct tern_ctx *ctx);
/* Remove the context from the job's list, because it belongs to another context: the job does not drain or close it. */
void        tern_core_ctx_unlist(struct tern_ctx *ctx);

/* Make the context unusable: inlined calls enter the library, and the team has no ranks. why ends the sentence "the
 * context ..." in error texts. */
void tern_core_ctx_disable(struct tern_ctx *ctx, const char *why);

/* Report that a call cannot use the context: the job is not running, ctx is NULL, or the context is gone. TERN_OK if it
 * can be used. */
tern_status tern_core_ctx_check(const struct tern_ctx *ctx, const char *what) __attribute__((cold, noinline));

/* Debug builds: a call on the context begins and ends (api/use.h). Returns TERN_ERR_STATE, with a detail that names
 * both calls, if another thread is in a call on the context; then the call must not use the context, or leave it. */
tern_status tern_core_ctx_enter(struct tern_ctx *ctx, bool waits, const char *what);
void        tern_core_ctx_leave(struct tern_ctx *ctx);
/* Return whether this thread is in a call on the context. */
bool        tern_core_ctx_is_entered(const struct tern_ctx *ctx);

/* Return the deadline of a blocking call that starts now. */
static inline tern_deadline tern_core_ctx_deadline(const struct tern_ctx *ctx)
{
    double seconds;

    __atomic_load(&ctx->timeout, &seconds, __ATOMIC_RELAXED); /* another thread may set the limit of a shared context */
    return seconds > 0 ? tern_base_deadline_in(seconds) : TERN_FOREVER;
}

/* Return the number of outstanding operations on the region with the number (op.c). The caller holds the job's lock. */
uint32_t tern_core_ctx_in_region(const struct tern_ctx *ctx, uint32_t number);

/* Advance the outstanding operations (op.c). */
void tern_core_ctx_advance(struct tern_ctx *ctx);

/* Advance the tagged layer's state, if there is any, and end operations that wait for dead ranks. */
void tern_core_ctx_attend(struct tern_ctx *ctx);

/* Return whether operations are outstanding, not counting those of the trigger engine. */
static inline bool tern_core_ctx_has_ops(const struct tern_ctx *ctx)
{
    return !tern_base_list_empty(&ctx->outstanding);
}

/* Let inlined calls take the direct path to the first ranks of the team (struct tern_ctx_head); 0: to none. */
static inline void tern_core_ctx_set_ranks(struct tern_ctx *ctx, uint32_t ranks)
{
    uint32_t *head = ctx->head.world_rank ? &ctx->head.mapped_ranks : &ctx->head.direct_ranks;

    /* relaxed: inlined calls of other threads read it in a handle. A thread that must not miss it has learned of the
     * fence, or of the operation, in another way. */
    __atomic_store_n(head, ranks, __ATOMIC_RELAXED);
}

/* Return whether operations are outstanding before which no later operation may be delivered, of a context with a fence
 * or a strict one that threads share. If there are none, a fence is over. Sets the ranks of the handle. */
bool tern_core_ctx_holds(struct tern_ctx *ctx);

/* Decide whether inlined calls may take the direct path (struct tern_ctx_head): not while operations are outstanding
 * that must be delivered first, and in debug builds not while a call on the context waits. */
static inline void tern_core_ctx_set_direct(struct tern_ctx *ctx)
{
    bool hold = TERN_UNLIKELY(ctx->ordered != TERN_ORDERED_NONE) &&
                (ctx->ordered == TERN_ORDERED_ALL ? tern_core_ctx_has_ops(ctx) : tern_core_ctx_holds(ctx));

    hold |= TERN_BASE_DEBUG && ctx->waits;

    tern_core_ctx_set_ranks(ctx, hold ? 0 : (uint32_t)ctx->team->size);
}

/* Make progress on everything once. The engine is advanced before the context, because markers of the context (quiet.h)
 * wait for operations of the engine: if the last poll before a sleep completes such an operation, it must complete the
 * marker, too. */
static inline void tern_core_ctx_progress(struct tern_ctx *ctx)
{
    tern_core_job_check_deaths();
    if (TERN_UNLIKELY(ctx->engine != NULL))
        tern_op_engine_advance(ctx);
    if (tern_core_ctx_has_ops(ctx))
        tern_core_ctx_advance(ctx);
    tern_core_message_poll();
    /* Ordered by the lock of the tagged layer. */
    if (TERN_UNLIKELY(atomic_load_explicit(&ctx->attention, memory_order_relaxed)))
        tern_core_ctx_attend(ctx);
}

/* Order the operations that the context has started before those that it starts later. The call only waits for
 * operations that have no place in the order: inline payload, and the operations of a trigger engine. Other operations
 * may be outstanding when it returns. A later operation to the same rank waits for them, unless its path keeps it
 * behind them. */
tern_status tern_core_ctx_fence(struct tern_ctx *ctx, tern_deadline deadline, const char *what);

/* Return whether, on a strict context or after a fence, an earlier operation to this rank of the job must be delivered
 * before the next one may start. */
bool               tern_core_ctx_has_earlier(const struct tern_ctx *ctx, int rank);
static inline bool tern_core_ctx_must_follow(const struct tern_ctx *ctx, int rank)
{
    return TERN_UNLIKELY(tern_core_ctx_has_ops(ctx)) && tern_core_ctx_has_earlier(ctx, rank);
}

/* Return whether the rank of the job has, or will have, no space for the notification of an earlier operation: as many
 * operations to the rank are outstanding as its queue holds notifications. */
bool tern_core_ctx_is_stuck(const struct tern_ctx *ctx, int rank);

/* Return the first error, since the last call, of an operation without an event. The second function sets its detail;
 * the first one only leaves a description of the operation in failed_op, and why it failed in failed_why. The third
 * function considers operations towards one rank of the job, and forgets the error only if operations towards no other
 * rank have failed. */
tern_status tern_core_ctx_take_failure(struct tern_ctx *ctx);
tern_status tern_core_ctx_failed(struct tern_ctx *ctx, const char *what);
tern_status tern_core_ctx_failed_to(struct tern_ctx *ctx, int rank, const char *what);

/* Return whether operations are outstanding. */
static inline bool tern_core_ctx_has_outstanding(const struct tern_ctx *ctx)
{
    /* acquire: makes visible what other threads did in completed operations. Pairs with the release in
     * op/trigger/engine.c. */
    return tern_core_ctx_has_ops(ctx) ||
           TERN_UNLIKELY(atomic_load_explicit(&ctx->engine_busy, memory_order_acquire) > 0);
}

/* Poll for notifications, and occasionally for everything else; polls counts the calls. A poll that delivers something
 * does nothing else, so that the caller examines its request first: further notifications are best left in their queue,
 * and a thread does not sleep after such a poll. Every other poll makes progress on outstanding operations, and on work
 * that a death or another thread has caused, because it may be the last poll before the thread sleeps. */
static inline void tern_core_ctx_poll_notify(struct tern_ctx *ctx, uint32_t *polls)
{
    uint32_t before = tern_core_message_delivered(), count = (*polls)++ % 8;

    tern_core_message_poll_notify();
    if (count == 7 || (before == tern_core_message_delivered() &&
                       (count == 0 || tern_core_message_polls_links() || tern_core_ctx_has_outstanding(ctx) ||
                        atomic_load_explicit(&ctx->attention, memory_order_relaxed) || tern_core_job_has_deaths())))
        tern_core_ctx_progress(ctx);
}

/* Return whether operations are outstanding, or inline payload is not known to be in its destination. */
static inline bool tern_core_ctx_is_busy(const struct tern_ctx *ctx)
{
    /* relaxed: threads that share a context may set it */
    return tern_core_ctx_has_outstanding(ctx) || __atomic_load_n(&ctx->inline_unflushed, __ATOMIC_RELAXED);
}

/* Return whether all inline payload is in its destination. help: copy the payload there on behalf of the target.
 * Usually the target is about to do so itself, which costs less. */
bool tern_core_ctx_is_placed(struct tern_ctx *ctx, bool help);

/* Make progress, and copy inline payload to its destination on behalf of targets that have not polled. Returns true if
 * nothing is outstanding any more. */
bool tern_core_ctx_flush(struct tern_ctx *ctx);

/* Wait until nothing is outstanding. */
tern_status tern_core_ctx_drain(struct tern_ctx *ctx, tern_deadline deadline, const char *what);

/* Wait until nothing is outstanding and the tagged state has retired: then the context may be closed. After an error
 * the context remains usable. */
tern_status tern_core_ctx_retire(struct tern_ctx *ctx, tern_deadline deadline, const char *what);
