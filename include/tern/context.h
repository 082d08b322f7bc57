/* context.h: streams of operations.
 *
 * A context belongs to a team, carries an ordering and a time limit, and is used by one thread at a time. Threads that
 * communicate at the same time take a context each and share no lock. TERN_WORLD is ready after tern_init.
 *
 * Ordering. TERN_RELAXED: operations may be delivered in any order until tern_fence (order) or tern_quiet (completion).
 * TERN_STRICT: operations to one target are delivered in the order in which the program started them.
 */
#ifndef TERN_CONTEXT_H
#define TERN_CONTEXT_H

#include <stdint.h>
#include <tern/status.h>
#include <tern/team.h>

TERN_BEGIN_DECLS

typedef struct tern_ctx tern_ctx;

typedef enum tern_order { TERN_RELAXED = 0, TERN_STRICT = 1 } tern_order;

/* The relaxed context on the team of all ranks; NULL outside tern_init ... tern_finalize. */
TERN_API extern tern_ctx *tern_world;
#define TERN_WORLD tern_world

/* How a context begins: what the inlined fast paths read. This layout is stable within a major version. */
struct tern_ctx_head {
    uint32_t       direct_ranks; /* ranks 0 ... direct_ranks - 1 may take the inlined path. The team's size, or 0 while
                                     operations have to go through the library to keep the context's order */
    uint32_t       reserved;
    const int32_t *world_rank; /* [direct_ranks] the rank in the job of each rank of the team; NULL: the same */
};

/* Make a context on a team. Local: the other ranks need not make one.
 * Returns  TERN_OK and the context in *out. TERN_ERR_ARG: a pointer is NULL or order is no tern_order.
 *          TERN_ERR_NOMEM. TERN_ERR_STATE: not initialized.
 * Remote   none.
 * Threads  any. */
TERN_API tern_status tern_ctx_create(tern_team *team, tern_order order, tern_ctx **out);

/* Complete the context's operations and release it. One-sided operations are completed as by tern_quiet. The call also
 * waits until every tagged send of the context is done, which for a long or synchronous message means that its receiver
 * has received it, and until every receive that a message has matched has its data. A receive without a message is
 * cancelled; the message that it was to take goes to another receive. Events and requests of the context become
 * invalid.
 * Returns  TERN_OK. TERN_ERR_ARG: ctx is NULL or TERN_WORLD. TERN_ERR_STATE: a message that a matched probe of the
 *          context has found was not received, or the call would have to wait in a handler; the context stays as it
 *          was. TERN_ERR_TIMEOUT: the context's time limit passed; the context stays as it was. Another error: the
 *          first one of an operation without an event since the last tern_quiet, or of a request whose end the program
 *          has not seen; the context is released all the same.
 * Remote   as tern_quiet. The messages that the context has sent can be received.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_ctx_destroy(tern_ctx *ctx);

/* Limit how long each blocking call on this context may take: one that takes longer returns TERN_ERR_TIMEOUT. Zero or
 * less: no limit. A new context has the limit that the option TERN_TIMEOUT gives.
 * Returns  TERN_OK. TERN_ERR_ARG: ctx is NULL, or seconds is not a number.
 * Remote   none.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_ctx_set_timeout(tern_ctx *ctx, double seconds);

/* The team of a context.
 * Returns  the team; NULL when ctx is NULL.
 * Remote   none.
 * Threads  any. */
TERN_API tern_team *tern_ctx_team(const tern_ctx *ctx);

/* The ordering of a context.
 * Returns  the ordering; TERN_RELAXED when ctx is NULL.
 * Remote   none.
 * Threads  any. */
TERN_API tern_order tern_ctx_order(const tern_ctx *ctx);

/* Move the context's operations forward without waiting: finish what can be finished, continue what is in parts.
 * Returns  TERN_OK. TERN_ERR_ARG: ctx is NULL.
 * Remote   none of its own.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_progress(tern_ctx *ctx);

TERN_END_DECLS

#endif
