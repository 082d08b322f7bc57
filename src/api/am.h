/* am.h: checks that the calls of the default client and the calls of other clients share. */
#pragma once

#include <tern/am_client.h>

#include "api/check.h"
#include "core/idle_hook.h"
#include "core/message.h"
#include "op/am/client.h"

/* Return the private contents of a prepared message. */
static inline struct tern_op_am_reservation *tern_api_am_reservation(tern_am_prepared *prepared)
{
    return (struct tern_op_am_reservation *)(void *)prepared->reserved;
}

/* Check the arguments of a message. */
static inline tern_status tern_api_am_args(const uint32_t *args, unsigned nargs, const char *what)
{
    if (TERN_UNLIKELY(nargs > TERN_AM_ARGS))
        return tern_base_fail(TERN_ERR_ARG, "%s: nargs is %u; a message has at most %d arguments", what, nargs,
                              TERN_AM_ARGS);
    if (TERN_UNLIKELY(nargs > 0 && !args))
        return tern_base_fail(TERN_ERR_ARG, "%s: args is NULL, but nargs is %u", what, nargs);
    return TERN_OK;
}

/* Check the handler and the arguments of a message. */
static inline tern_status tern_api_am_handler(unsigned handler, const uint32_t *args, unsigned nargs, const char *what)
{
    if (TERN_UNLIKELY(!tern_op_am_known(handler)))
        return tern_base_fail(TERN_ERR_ARG, "%s: handler %u is not registered", what, handler);
    return tern_api_am_args(args, nargs, what);
}

/* Report that there is no such rank, or that the context is shared. */
tern_status tern_api_am_no_peer(const tern_ctx *ctx, int rank, const char *what) __attribute__((cold, noinline));

/* Check the context and the rank of a request, and find the rank in the job. Returns a negative status on an error. */
static inline tern_status tern_api_am_peer(const tern_ctx *ctx, int rank, const char *what, int *peer)
{
    if (TERN_UNLIKELY(!ctx))
        return tern_core_ctx_check(ctx, what);
    if (TERN_UNLIKELY(tern_core_in_handler()))
        return tern_base_fail(TERN_ERR_STATE, "%s: %s", what,
                              tern_core_in_idle_hook() ? "an idle hook must not send active messages"
                                                       : "a handler may send one reply, and nothing else");
    if (TERN_UNLIKELY((uint32_t)rank >= ctx->ranks))
        return tern_api_am_no_peer(ctx, rank, what);
    *peer = tern_core_team_world(ctx->team, rank);
    tern_core_job_check_deaths();
    if (TERN_UNLIKELY(tern_core_job_lost(*peer)))
        return tern_base_fail(TERN_ERR_PEER, "%s: rank %d is gone", what, rank);
    return TERN_OK;
}

/* Report flags of a message that Tern does not know. */
tern_status tern_api_am_flags(uint32_t flags, const char *what) __attribute__((cold, noinline));

/* Check the payload of a message. */
tern_status tern_api_am_payload(const tern_am *message, int peer, const char *what);

/* Check that a long payload lies within the part of the peer. */
tern_status tern_api_am_long(const tern_region *region, int peer, uint64_t offset, size_t len, const char *what);

/* Report that a token is not that of a request that this thread is handling, or that the request was replied to. */
tern_status tern_api_am_bad_token(const char *what) __attribute__((cold, noinline));
tern_status tern_api_am_replied(const char *what) __attribute__((cold, noinline));

/* Check the length of a payload that the message must carry, because the transfer would need the target's help and the
 * sender does not want to wait. */
tern_status tern_api_am_carried(const tern_region *region, int peer, size_t len, const char *what);

/* am_prepare.c: check the options of a prepared message. */
tern_status tern_api_am_prepare(const tern_am_prepare_opts *asked, int peer, const char *what);

/* am_client.c: the parts of calls of tern/am.h for messages of clients. The caller guarantees: for reply, that the
 * token is current, and the request has no reply; for prepare, that the options were checked; for commit, that the
 * message can be committed. */
tern_status tern_api_am_client_reply(tern_am_token *token, const tern_am *message);
tern_status tern_api_am_client_prepare(tern_am_client *client, tern_ctx *ctx, int peer,
                                       const tern_am_prepare_opts *asked, tern_am_prepared *out, const char *what);
tern_status tern_api_am_client_commit(tern_am_prepared *prepared, unsigned handler, const uint32_t *args,
                                      unsigned nargs, size_t len);
