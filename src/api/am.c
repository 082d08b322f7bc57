/* am.c: the public calls of tern/am.h: check the arguments, then call op/am. */
#include <tern/am.h>

#include <stdio.h>

#include "api/am.h"
#include "api/check.h"
#include "api/shared.h"
#include "api/use.h"
#include "base/bits.h"
#include "core/idle_hook.h"
#include "core/job.h"
#include "core/message.h"
#include "core/region.h"
#include "core/wait.h"
#include "op/am/am.h"
#include "op/start.h"
#include "op/trigger/engine.h"

tern_status tern_am_register(unsigned id, tern_am_handler handler, void *user)
{
    if (atomic_load(&tern_job.phase) >= TERN_PHASE_AFTER)
        return tern_core_job_running("tern_am_register");
    if (id >= TERN_AM_HANDLERS)
        return tern_base_fail(TERN_ERR_RANGE, "tern_am_register: %u is not below %d; ids above are Tern's own", id,
                              TERN_AM_HANDLERS);
    tern_op_am_register(id, handler, user);
    return TERN_OK;
}

tern_status tern_api_am_long(const tern_region *region, int peer, uint64_t offset, size_t len, const char *what)
{
    if (!region)
        return tern_base_fail(TERN_ERR_ARG, "%s: region is NULL; a long message needs a region", what);
    if (!region->part)
        return tern_api_freed(what, "the region");
    if (region->dynamic)
        return tern_base_fail(TERN_ERR_ARG,
                              "%s: a long message cannot deliver its payload to a dynamic region; put the payload, and "
                              "send a short message",
                              what);
    if (!tern_base_covers(tern_link_part_size(&region->part[peer]), offset, len))
        return tern_api_outside(&region->part[peer], peer, offset, len, what);
    return TERN_OK;
}

tern_status tern_api_am_carried(const tern_region *region, int peer, size_t len, const char *what)
{
    if (!tern_op_am_needs_help(&region->part[peer]) || len <= tern_op_am_max_carried(peer))
        return TERN_OK;
    return tern_base_fail(TERN_ERR_RANGE,
                          "%s: the part of rank %d is reached with that rank's help only, and then an immediate long "
                          "message has at most %zu bytes, not %zu; send it without TERN_IMMEDIATE",
                          what, peer, tern_op_am_max_carried(peer), len);
}

static inline __attribute__((always_inline)) tern_status check_payload(const tern_am *m, int peer, const char *what)
{
    tern_status st;

    if (m->len > 0 && !m->payload)
        return tern_base_fail(TERN_ERR_ARG, "%s: payload is NULL, but len is %zu", what, m->len);
    if (m->kind == TERN_AM_LONG) {
        st = tern_api_am_long(m->region, peer, m->offset, m->len, what);
        return st == TERN_OK && (m->flags & TERN_IMMEDIATE) ? tern_api_am_carried(m->region, peer, m->len, what) : st;
    }
    if (m->kind != TERN_AM_MEDIUM || m->region)
        return tern_base_fail(TERN_ERR_ARG, "%s: kind %d has no such payload or region", what, (int)m->kind);
    if (m->len > TERN_LINK_DATA_MIN - WIRE_SPILL && m->len > tern_op_am_max_medium(peer, m->nargs))
        return tern_base_fail(TERN_ERR_RANGE,
                              "%s: a payload of %zu bytes is above the maximum of %zu to rank %d; see "
                              "tern_am_max_medium and TERN_AM_QUEUE",
                              what, m->len, tern_op_am_max_medium(peer, m->nargs), peer);
    return TERN_OK;
}

tern_status tern_api_am_flags(uint32_t flags, const char *what)
{
    return tern_base_fail(TERN_ERR_ARG, "%s: unknown flags 0x%x; TERN_IMMEDIATE is the only flag of an active message",
                          what, flags & ~TERN_IMMEDIATE);
}

/* Read a message of the program, and check it. */
static inline __attribute__((always_inline)) tern_status check_message(const tern_am **message, tern_am *copy, int peer,
                                                                       const char *what)
{
    const tern_am *m = *message;
    tern_status    st;

    if (!m)
        return tern_api_null(what, "message");
    if (!(*message = m = TERN_API_SIZED(tern_am, m, copy, what)))
        return TERN_ERR_ARG;
    if (m->flags & ~TERN_IMMEDIATE)
        return tern_api_am_flags(m->flags, what);
    if ((st = tern_api_am_handler(m->handler, m->args, m->nargs, what)) < 0)
        return st;
    if (m->kind == TERN_AM_SHORT && m->len == 0 && !m->region)
        return TERN_OK;
    return check_payload(m, peer, what);
}

tern_status tern_api_am_no_peer(const tern_ctx *ctx, int rank, const char *what)
{
    return tern_api_is_shared(ctx) && (uint32_t)rank < (uint32_t)ctx->team->size ? TERN_API_IS_SHARED
                                                                                 : tern_api_no_rank(ctx, rank, what);
}

/* Return whether a message may fit into one cache line. */
static inline bool is_small(const tern_am *message)
{
    return message->kind != TERN_AM_LONG && message->len <= TERN_LINK_HEAD && !message->local;
}

static tern_status request_shared(tern_ctx *ctx, int rank, const tern_am *message, const char *what);

static inline __attribute__((always_inline)) tern_status request(tern_ctx *ctx, int rank, const tern_am *message,
                                                                 const char *what)
{
    int         peer = -1;
    tern_am     copy;
    tern_status st = tern_api_am_peer(ctx, rank, what, &peer);

    if (st < 0 || (st = check_message(&message, &copy, peer, what)) < 0)
        return st == TERN_API_IS_SHARED ? request_shared(ctx, rank, message, what) : st;
    if (is_small(message) && TERN_LIKELY((st = tern_op_am_request_small(ctx, peer, message)) != TERN_AGAIN))
        return st;
    return tern_op_am_send(ctx, peer, message, what);
}

static __attribute__((cold, noinline)) tern_status request_shared(tern_ctx *ctx, int rank, const tern_am *message,
                                                                  const char *what)
{
    return TERN_API_LOCKED(inner, ctx, request(inner, rank, message, what));
}

tern_status tern_am_request(tern_ctx *ctx, int rank, const tern_am *message)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_am_request");

    if (use.status < 0)
        return use.status;

    return request(ctx, rank, message, "tern_am_request");
}

static __attribute__((cold, noinline)) tern_status request_with_shared(tern_ctx *ctx, int rank, const tern_am *message,
                                                                       const tern_opts *opts)
{
    return TERN_API_LOCKED(inner, ctx, tern_am_request_with(inner, rank, message, opts));
}

tern_status tern_am_request_with(tern_ctx *ctx, int rank, const tern_am *message, const tern_opts *opts)
{
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, "tern_am_request_with", "tern_am_request_with"));

    if (use.status < 0)
        return use.status;

    struct tern_api_opts o;
    tern_am              now;
    int                  peer = -1;
    tern_status          st = tern_api_opts(ctx, opts, 0, "tern_am_request_with", &o);

    if (st < 0 || (st = tern_api_am_peer(ctx, rank, o.what, &peer)) < 0 ||
        (st = check_message(&message, &now, peer, o.what)) < 0)
        return st == TERN_API_IS_SHARED ? request_with_shared(ctx, rank, message, opts) : st;
    now = *message;
    now.flags |= o.opts->flags & TERN_IMMEDIATE;
    if (tern_op_is_parked(o.opts)) {
        now.flags &= ~TERN_IMMEDIATE; /* a triggered operation never waits, and its payload is transferred first */
        return tern_op_trigger_am(ctx, peer, &now, o.opts);
    }
    if ((now.flags & TERN_IMMEDIATE) && now.kind == TERN_AM_LONG &&
        (st = tern_api_am_carried(now.region, peer, now.len, o.what)) < 0)
        return st;
    if ((st = tern_op_am_send(ctx, peer, &now, o.what)) == TERN_OK)
        tern_op_no_events(o.opts);
    return st;
}

static tern_status short_checked(tern_ctx *ctx, int rank, unsigned handler, const uint32_t *args, unsigned nargs)
{
    int         peer = -1;
    tern_status st = tern_api_am_peer(ctx, rank, "tern_am_short", &peer);

    if (st < 0 || (st = tern_api_am_handler(handler, args, nargs, "tern_am_short")) < 0)
        return st;

    const tern_am message =
        TERN_AM(.kind = TERN_AM_SHORT, .handler = (uint16_t)handler, .nargs = (uint16_t)nargs, .args = args);

    return tern_op_am_send(ctx, peer, &message, "tern_am_short");
}

/* Send a short message on the general path, which is used if there is no space now, there are many arguments, or an
 * argument is wrong. */
static __attribute__((noinline)) tern_status short_slowly(tern_ctx *ctx, int rank, unsigned handler,
                                                          const uint32_t *args, unsigned nargs)
{
    tern_status st = short_checked(ctx, rank, handler, args, nargs);

    return st == TERN_API_IS_SHARED ? TERN_API_LOCKED(inner, ctx, tern_am_short(inner, rank, handler, args, nargs))
                                    : st;
}

/* Return whether a request may take a fast path: the calling thread may send to the rank, whose rank in the job is
 * stored in *peer. */
static inline __attribute__((always_inline)) bool may_send(const tern_ctx *ctx, int rank, int *peer)
{
    if (TERN_UNLIKELY(!ctx || tern_core_in_handler() || (uint32_t)rank >= ctx->ranks))
        return false;
    *peer = tern_core_team_world(ctx->team, rank);
    return !tern_core_job_has_deaths() && TERN_LIKELY(!tern_core_job_lost(*peer));
}

/* The fast paths of tern_am_short and tern_am_reply call the general path last, with their own arguments, so that they
 * save no registers. */
tern_status tern_am_short(tern_ctx *ctx, int rank, unsigned handler, const uint32_t *args, unsigned nargs)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_am_short");

    if (use.status < 0)
        return use.status;

    const tern_am message = {
        .kind = TERN_AM_SHORT, .handler = (uint16_t)handler, .nargs = (uint16_t)nargs, .args = args
    };
    int         peer = -1;
    tern_status st;

    if (TERN_UNLIKELY(!may_send(ctx, rank, &peer) || !tern_op_am_known(handler) || nargs > WIRE_ARGS ||
                      (nargs > 0 && !args)))
        return short_slowly(ctx, rank, handler, args, nargs);
    st = tern_op_am_request_small(ctx, peer, &message);
    return TERN_LIKELY(st != TERN_AGAIN) ? st : short_slowly(ctx, rank, handler, args, nargs);
}

/* Send a medium message on the general path, which is used if the payload does not fit into a cell or an argument is
 * wrong. */
static __attribute__((noinline)) tern_status medium_slowly(tern_ctx *ctx, int rank, unsigned handler,
                                                           const uint32_t *args, unsigned nargs, const void *payload,
                                                           size_t len)
{
    const tern_am message = { .size = sizeof(message),
                              .kind = TERN_AM_MEDIUM,
                              .handler = (uint16_t)(handler & 0xffff),
                              .nargs = (uint16_t)(nargs & 0xffff),
                              .args = args,
                              .payload = payload,
                              .len = len };

    if (handler > UINT16_MAX || nargs > UINT16_MAX)
        return tern_api_am_handler(handler, args, nargs, "tern_am_medium");
    return request(ctx, rank, &message, "tern_am_medium");
}

tern_status tern_am_medium(tern_ctx *ctx, int rank, unsigned handler, const uint32_t *args, unsigned nargs,
                           const void *payload, size_t len)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_am_medium");

    if (use.status < 0)
        return use.status;

    const tern_am message = { .kind = TERN_AM_MEDIUM,
                              .handler = (uint16_t)handler,
                              .nargs = (uint16_t)nargs,
                              .args = args,
                              .payload = payload,
                              .len = len };
    int           peer = -1;
    tern_status   st;

    if (TERN_UNLIKELY(len > TERN_LINK_HEAD || nargs > WIRE_ARGS || (nargs > 0 && !args) || (len > 0 && !payload) ||
                      !tern_op_am_known(handler) || tern_api_am_peer(ctx, rank, "tern_am_medium", &peer) < 0))
        return medium_slowly(ctx, rank, handler, args, nargs, payload, len);
    st = tern_op_am_request_small(ctx, peer, &message);
    return TERN_LIKELY(st != TERN_AGAIN) ? st : medium_slowly(ctx, rank, handler, args, nargs, payload, len);
}

tern_status tern_api_am_bad_token(const char *what)
{
    tern_status st = tern_core_job_running(what);

    if (st < 0)
        return st;
    return tern_base_fail(TERN_ERR_STATE,
                          "%s: no request is being handled under this token; replies are sent inside the request's "
                          "handler",
                          what);
}

tern_status tern_api_am_replied(const char *what)
{
    return tern_base_fail(TERN_ERR_STATE, "%s: the request has its reply already", what);
}

/* Reply to a request of another client, or report that the request has its reply. */
static __attribute__((cold, noinline)) tern_status reply_other(tern_am_token *token, const tern_am *message)
{
    return token->replied == TERN_AM_CLIENT_OPEN ? tern_api_am_client_reply(token, message)
                                                 : tern_api_am_replied("tern_am_reply");
}

/* Send a reply of any kind, or report what is wrong with it. */
static __attribute__((noinline)) tern_status reply_slowly(tern_am_token *token, const tern_am *message)
{
    tern_am     copy;
    tern_status st;

    if (TERN_UNLIKELY(!tern_op_am_current(token)))
        return tern_api_am_bad_token("tern_am_reply");
    if (TERN_UNLIKELY(token->replied != TERN_AM_OPEN))
        return reply_other(token, message);
    if ((st = check_message(&message, &copy, token->from, "tern_am_reply")) < 0)
        return st;
    st = tern_op_am_send(NULL, token->from, message, "tern_am_reply");
    token->replied = st == TERN_OK;
    return st;
}

/* Return whether a reply may take the fast path: it has no unusual fields, and no wrong ones. */
static inline __attribute__((always_inline)) bool is_usual(const tern_am *m)
{
    return m && m->size == sizeof(*m) && (m->flags & ~TERN_IMMEDIATE) == 0 && tern_op_am_known(m->handler) &&
           m->nargs <= WIRE_ARGS && (m->nargs == 0 || m->args) && !m->region && !m->local &&
           (m->kind == TERN_AM_SHORT ? m->len == 0
                                     : m->kind == TERN_AM_MEDIUM && m->payload && m->len <= TERN_LINK_HEAD);
}

tern_status tern_am_reply(tern_am_token *token, const tern_am *message)
{
    tern_status st;

    if (TERN_UNLIKELY(!tern_op_am_current(token) || token->replied != TERN_AM_OPEN || !is_usual(message)))
        return reply_slowly(token, message);
    st = tern_op_am_reply_small(token->from, message, message->handler | (unsigned)token->team);
    if (TERN_UNLIKELY(st == TERN_AGAIN))
        return reply_slowly(token, message);
    token->replied = st == TERN_OK;
    return st;
}

/* ---- for clients ---- */

tern_status tern_api_am_payload(const tern_am *message, int peer, const char *what)
{
    if (message->kind == TERN_AM_SHORT && message->len == 0 && !message->region)
        return TERN_OK;
    return check_payload(message, peer, what);
}

size_t tern_am_max_medium(const tern_ctx *ctx, int rank, unsigned nargs)
{
    if (!ctx || rank < 0 || rank >= ctx->team->size || nargs > TERN_AM_ARGS)
        return 0;
    return tern_op_am_max_medium(tern_core_team_world(ctx->team, rank), nargs);
}

size_t tern_am_max_long(const tern_ctx *ctx, int rank, unsigned nargs)
{
    return tern_am_max_medium(ctx, rank, nargs) > 0 ? SIZE_MAX / 2 : 0;
}
