/* context.h: contexts, the streams of operations.
 *
 * Every operation belongs to a context. A context belongs to a team; the ranks in calls on the context are ranks of
 * this team. A context also has an ordering, and a time limit for blocking calls. TERN_WORLD is a relaxed context on
 * the team of all ranks, which exists from tern_init to tern_finalize.
 *
 * A context is private or shared. One thread at a time uses a private context: "only the thread that uses ctx may call
 * this function" means that no other thread is in a call on ctx, and that the program orders the calls of different
 * threads. Threads that communicate at the same time use a private context each, and then share no lock. TERN_WORLD is
 * private.
 *
 * A context that was created with TERN_SHARED is shared: every thread of the process is a thread that uses it. Any
 * thread may make any call on the context at any time, and may test or wait for any event or request of the context.
 * One thread at a time uses the same event, request or matched message. Calls that complete operations complete the
 * operations of all threads. A call that waits does not keep other threads from using the context. Each operation costs
 * a lock; on a relaxed context, puts, gets, values and atomic operations on memory that loads and stores reach take no
 * lock, and cost the same as on a private context. A mutex that is locked belongs to the context and not to the thread
 * (mutex.h). Handlers of active messages may use shared contexts; the thread that receives a message holds no lock of a
 * context while it runs the handler.
 *
 * On a relaxed context, private or shared, any thread may call tern_direct (rma.h) at any time.
 *
 * The ordering of a context is one of two:
 *
 *   TERN_RELAXED   operations may be delivered in any order, even to the same target. tern_fence orders them, and
 *                  tern_quiet completes them
 *   TERN_STRICT    operations to the same target are delivered in the order in which the program starts them
 *
 * Operations of different contexts are not ordered with respect to each other.
 */
#ifndef TERN_CONTEXT_H
#define TERN_CONTEXT_H

#include <stdint.h>
#include <tern/status.h>
#include <tern/team.h>

TERN_BEGIN_DECLS

/* A context: a stream of operations. tern_ctx_create makes one, and TERN_WORLD is one. */
typedef struct tern_ctx tern_ctx;

/* The ordering of a context. */
typedef enum tern_order {
    TERN_RELAXED = 0, /* operations may be delivered in any order */
    TERN_STRICT = 1,  /* operations to the same target are delivered in the order of their start */
    TERN_SHARED = 256 /* in addition to either: several threads may use the context at the same time */
} tern_order;

#ifdef __cplusplus
extern "C++" inline tern_order operator|(tern_order order, tern_order shared)
{
    return static_cast<tern_order>(static_cast<int>(order) | static_cast<int>(shared));
}
#endif

/* The relaxed context on the team of all ranks. Programs write TERN_WORLD. NULL before tern_init, after tern_finalize
 * and in a child that fork created. */
TERN_API extern tern_ctx *tern_world;

/* The relaxed context on the team of all ranks. NULL before tern_init, after tern_finalize and in a child that fork
 * created. */
#define TERN_WORLD tern_world

/* Create a context on a team. The call is local: other ranks do not have to create one. The context is private to one
 * thread at a time, unless order contains TERN_SHARED: TERN_RELAXED | TERN_SHARED, or TERN_STRICT | TERN_SHARED.
 * Returns  TERN_OK: *out is the context.
 *          TERN_ERR_ARG: a pointer is NULL, or order is no ordering.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_STATE: Tern is not initialized.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API tern_status tern_ctx_create(tern_team *team, tern_order order, tern_ctx **out);

/* Complete the operations of a context, and free the context. The call completes the one-sided operations of the
 * context. It then waits until every tagged send of the context is complete, which for a long or synchronous message
 * means that the receiver has received the message, and until every matched receive has its data. Receives that no
 * message has matched are cancelled; their messages go to other receives. Events and requests of the context become
 * invalid.
 * Returns  TERN_OK: the context is freed.
 *          TERN_ERR_ARG: ctx is NULL or TERN_WORLD.
 *          TERN_ERR_STATE: a message that a matched probe of the context found has not been received, or the call would
 *            have to wait in an active message handler. The context is unchanged.
 *          TERN_ERR_TIMEOUT: the context's time limit passed. The context is unchanged; call again.
 *          Another error: the first error since the last tern_quiet of an operation without an event, or of a request
 *            whose completion the program has not seen. The context is freed.
 * Remote   All one-sided operations of the context are complete at their targets, and the targets did not have to call
 *          Tern for them. A long or synchronous message is complete when its receiver has received it; short messages
 *          may still be received later.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_ctx_free(tern_ctx *ctx);

/* Set the time limit of the blocking calls on a context. A blocking call on the context gives up after this number of
 * seconds and returns TERN_ERR_TIMEOUT. Zero or a negative number means no limit. The time limit of a new context is
 * the value of the option TERN_TIMEOUT. Calls that take a deadline obey the deadline, not the time limit.
 * Returns  TERN_OK: the time limit is set.
 *          TERN_ERR_ARG: ctx is NULL, or seconds is not a number.
 * Remote   None.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_ctx_set_timeout(tern_ctx *ctx, double seconds);

/* Get the team of a context.
 * Returns  The team; NULL if ctx is NULL or was freed.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API tern_team *tern_ctx_team(const tern_ctx *ctx);

/* Get the ordering of a context.
 * Returns  The ordering, without TERN_SHARED; TERN_RELAXED if ctx is NULL.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API tern_order tern_ctx_order(const tern_ctx *ctx);

/* Make progress on a context without waiting. The call advances the outstanding operations of the context, receives
 * messages and notifications, and runs the handlers of active messages that have arrived.
 * Returns  TERN_OK: the call has made progress, if there was something to do.
 *          TERN_ERR_ARG: ctx is NULL.
 * Remote   Operations that need further steps of the initiator advance.
 * Threads  Only the thread that uses ctx may call this function. */
TERN_API tern_status tern_progress(tern_ctx *ctx);

TERN_END_DECLS

#endif
