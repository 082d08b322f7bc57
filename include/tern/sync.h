/* sync.h: order, completion, and the two collectives that set-up needs. */
#ifndef TERN_SYNC_H
#define TERN_SYNC_H

#include <stddef.h>
#include <tern/context.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* Order: one-sided operations and active messages that the context started before are delivered at each target before
 * those it starts after. Tagged messages have an order of their own (tagged.h).
 * Returns  TERN_OK. TERN_ERR_TIMEOUT: the context's time limit passed; the order is not established. TERN_ERR_ARG: ctx
 *          is NULL.
 * Remote   as said.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_fence(tern_ctx *ctx);

/* Completion: every one-sided operation that the context started before, with or without an event, is complete at its
 * target, and what it wrote is visible to every rank, whatever either does next (a full memory barrier). The call does
 * not wait for tagged messages, whose requests tell when they are done: a long send is done only when its receiver has
 * received it, and two ranks that both start a send, call tern_quiet and then receive would wait for each other for
 * ever. Only a receive whose data is being fetched is completed. The call does wait until the notification of each
 * notified access has room at its target, which may have to ask for others first (notify.h).
 * Returns  TERN_OK. The first error of an operation without an event since the last tern_quiet. TERN_ERR_TIMEOUT: the
 *          context's time limit passed; call again. TERN_ERR_ARG: ctx is NULL.
 * Remote   as said.
 * Threads  the one that uses ctx. */
TERN_API tern_status tern_quiet(tern_ctx *ctx);

/* Complete the context's operations (as tern_quiet), then wait until every rank of its team has come here.
 * Returns  TERN_OK. TERN_ERR_PEER: a rank of the team died before it came, on all ranks alike. TERN_ERR_TIMEOUT: the
 *          context's time limit passed; the next tern_barrier on the team goes on with the same one, and until then
 *          other ranks may wait for this one. TERN_ERR_STATE: another thread is in a collective call on the team.
 *          TERN_ERR_ARG: ctx is NULL. An error of tern_quiet: this rank has not arrived.
 * Remote   what the ranks did before it is visible to all after it.
 * Threads  the one that uses ctx; one collective call per team at a time. */
TERN_API tern_status tern_barrier(tern_ctx *ctx);

/* Give len bytes to every rank of the context's team and receive those of all, in the order of the ranks: all has room
 * for len times the size of the team. Collective; len is the same on all ranks. Meant for small blobs. src may lie in
 * its place in all.
 * Returns  TERN_OK. TERN_ERR_ARG, on all ranks: len differs between ranks; on this one: a pointer is NULL.
 *          TERN_ERR_PEER, TERN_ERR_STATE as tern_barrier. TERN_ERR_TIMEOUT: the context's time limit passed; the team
 *          can make no more collective calls but tern_finalize.
 * Remote   as said. Completes no operations.
 * Threads  the one that uses ctx; one collective call per team at a time. */
TERN_API tern_status tern_allgather(tern_ctx *ctx, const void *src, size_t len, void *all);

TERN_END_DECLS

#endif
