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

_Static_assert(sizeof(struct tern_op_am_reservation) <= sizeof(((tern_am_prepared *)0)->reserved),
               "a prepared message fits");

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

/* Check that a long payload lies within the part of the peer. */
static tern_status check_long(const tern_region *region, int peer, uint64_t offset, size_t len, const char *what)
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

static inline tern_status check_handler(unsigned handler, const uint32_t *args, unsigned nargs, const char *what)
{
    if (TERN_UNLIKELY(!tern_op_am_known(handler)))
        return tern_base_fail(TERN_ERR_ARG, "%s: handler %u is not registered", what, handler);
    return tern_api_am_args(args, nargs, what);
}

/* Check the length of a payload that the message must carry, because the transfer would need the target's help and the
 * sender does not want to wait. */
static tern_status check_carried(const tern_region *region, int peer, size_t len, const char *what)
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
        st = check_long(m->region, peer, m->offset, m->len, what);
        return st == TERN_OK && (m->flags & TERN_IMMEDIATE) ? check_carried(m->region, peer, m->len, what) : st;
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
static inline tern_status check_message(const tern_am **message, tern_am *copy, int peer, const char *what)
{
    const tern_am *m = *message;
    tern_status    st;

    if (!m)
        return tern_api_null(what, "message");
    if (!(*message = m = TERN_API_SIZED(tern_am, m, copy, what)))
        return TERN_ERR_ARG;
    if (m->flags & ~TERN_IMMEDIATE)
        return tern_api_am_flags(m->flags, what);
    if ((st = check_handler(m->handler, m->args, m->nargs, what)) < 0)
        return st;
    if (m->kind == TERN_AM_SHORT && m->len == 0 && !m->region)
        return TERN_OK;
    return check_payload(m, peer, what);
}

/* Report that there is no such rank, or that the context is shared. */
static __attribute__((cold, noinline)) tern_status no_peer(const tern_ctx *ctx, int rank, const char *what)
{
    return tern_api_is_shared(ctx) && (uint32_t)rank < (uint32_t)ctx->team->size ? TERN_API_IS_SHARED
                                                                                 : tern_api_no_rank(ctx, rank, what);
}

/* Check what every request needs, and find the rank in the job. Returns a negative status on an error. */
static inline tern_status check_peer(const tern_ctx *ctx, int rank, const char *what, int *peer)
{
    if (TERN_UNLIKELY(!ctx))
        return tern_core_ctx_check(ctx, what);
    if (TERN_UNLIKELY(tern_core_in_handler()))
        return tern_base_fail(TERN_ERR_STATE, "%s: %s", what,
                              tern_core_in_idle_hook() ? "an idle hook must not send active messages"
                                                       : "a handler may send one reply, and nothing else");
    if (TERN_UNLIKELY((uint32_t)rank >= ctx->ranks))
        return no_peer(ctx, rank, what);
    *peer = tern_core_team_world(ctx->team, rank);
    tern_core_job_check_deaths();
    if (TERN_UNLIKELY(tern_core_job_lost(*peer)))
        return tern_base_fail(TERN_ERR_PEER, "%s: rank %d is gone", what, rank);
    return TERN_OK;
}

static tern_status request_shared(tern_ctx *ctx, int rank, const tern_am *message, const char *what);

static inline tern_status request(tern_ctx *ctx, int rank, const tern_am *message, const char *what)
{
    int         peer = -1;
    tern_am     copy;
    tern_status st = check_peer(ctx, rank, what, &peer);

    if (st < 0 || (st = check_message(&message, &copy, peer, what)) < 0)
        return st == TERN_API_IS_SHARED ? request_shared(ctx, rank, message, what) : st;
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

    if (st < 0 || (st = check_peer(ctx, rank, o.what, &peer)) < 0 ||
        (st = check_message(&message, &now, peer, o.what)) < 0)
        return st == TERN_API_IS_SHARED ? request_with_shared(ctx, rank, message, opts) : st;
    now = *message;
    now.flags |= o.opts->flags & TERN_IMMEDIATE;
    if (tern_op_is_parked(o.opts)) {
        now.flags &= ~TERN_IMMEDIATE; /* a triggered operation never waits, and its payload is transferred first */
        return tern_op_trigger_am(ctx, peer, &now, o.opts);
    }
    if ((now.flags & TERN_IMMEDIATE) && now.kind == TERN_AM_LONG &&
        (st = check_carried(now.region, peer, now.len, o.what)) < 0)
        return st;
    if ((st = tern_op_am_send(ctx, peer, &now, o.what)) == TERN_OK)
        tern_op_no_events(o.opts);
    return st;
}

/* The general path, used if there is no space now or there are many arguments. */
static __attribute__((noinline)) tern_status short_slowly(tern_ctx *ctx, int peer, unsigned handler,
                                                          const uint32_t *args, unsigned nargs)
{
    const tern_am message =
        TERN_AM(.kind = TERN_AM_SHORT, .handler = (uint16_t)handler, .nargs = (uint16_t)nargs, .args = args);

    return tern_op_am_send(ctx, peer, &message, "tern_am_short");
}

static __attribute__((cold, noinline)) tern_status short_shared(tern_ctx *ctx, int rank, unsigned handler,
                                                                const uint32_t *args, unsigned nargs)
{
    return TERN_API_LOCKED(inner, ctx, tern_am_short(inner, rank, handler, args, nargs));
}

tern_status tern_am_short(tern_ctx *ctx, int rank, unsigned handler, const uint32_t *args, unsigned nargs)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_am_short");

    if (use.status < 0)
        return use.status;

    int         peer = -1;
    tern_status st = check_peer(ctx, rank, "tern_am_short", &peer);

    if (TERN_UNLIKELY(st < 0 || (st = check_handler(handler, args, nargs, "tern_am_short")) < 0))
        return st == TERN_API_IS_SHARED ? short_shared(ctx, rank, handler, args, nargs) : st;
    st = tern_op_am_send_short(ctx, peer, tern_op_am_with_team(ctx, handler), args, nargs);
    return TERN_LIKELY(st != TERN_AGAIN) ? st : short_slowly(ctx, peer, handler, args, nargs);
}

tern_status tern_am_medium(tern_ctx *ctx, int rank, unsigned handler, const uint32_t *args, unsigned nargs,
                           const void *payload, size_t len)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_am_medium");

    if (use.status < 0)
        return use.status;

    const tern_am message = { .size = sizeof(message),
                              .kind = TERN_AM_MEDIUM,
                              .handler = (uint16_t)(handler & 0xffff),
                              .nargs = (uint16_t)(nargs & 0xffff),
                              .args = args,
                              .payload = payload,
                              .len = len };

    if (handler > UINT16_MAX || nargs > UINT16_MAX)
        return check_handler(handler, args, nargs, "tern_am_medium");
    return request(ctx, rank, &message, "tern_am_medium");
}

static __attribute__((cold, noinline)) tern_status bad_token(const char *what)
{
    tern_status st = tern_core_job_running(what);

    if (st < 0)
        return st;
    return tern_base_fail(TERN_ERR_STATE,
                          "%s: no request is being handled under this token; replies are sent inside the request's "
                          "handler",
                          what);
}

static __attribute__((cold, noinline)) tern_status replied_before(const char *what)
{
    return tern_base_fail(TERN_ERR_STATE, "%s: the request has its reply already", what);
}

/* The request is not an open one of the default client. */
static __attribute__((cold, noinline)) tern_status reply_other(tern_am_token *token, const tern_am *message)
{
    return token->replied == TERN_AM_CLIENT_OPEN ? tern_api_am_client_reply(token, message)
                                                 : replied_before("tern_am_reply");
}

tern_status tern_am_reply(tern_am_token *token, const tern_am *message)
{
    tern_am     copy;
    tern_status st;

    if (TERN_UNLIKELY(!tern_op_am_current(token)))
        return bad_token("tern_am_reply");
    if (TERN_UNLIKELY(token->replied != TERN_AM_OPEN))
        return reply_other(token, message);
    if ((st = check_message(&message, &copy, token->from, "tern_am_reply")) < 0)
        return st;
    st = message->kind == TERN_AM_SHORT && !message->local
             ? tern_op_am_send_short(NULL, token->from, tern_op_am_with_team(NULL, message->handler), message->args,
                                     message->nargs)
             : TERN_AGAIN;
    if (TERN_UNLIKELY(st == TERN_AGAIN))
        st = tern_op_am_send(NULL, token->from, message, "tern_am_reply");
    token->replied = st == TERN_OK;
    return st;
}

/* Check what is asked for a long message. If neither the target's memory nor a buffer of the caller can hold the
 * payload, the queue must. */
static tern_status check_long_prepare(const tern_am_prepare_opts *asked, int peer, size_t longest, const char *what)
{
    tern_status st = check_long(asked->region, peer, asked->offset, asked->max, what);

    if (st == TERN_OK && asked->buffer && (asked->flags & TERN_IMMEDIATE))
        st = check_carried(asked->region, peer, asked->min, what);
    if (st < 0 || asked->buffer || tern_link_loads(&asked->region->part[peer]) || asked->min <= longest)
        return st;
    return tern_base_fail(TERN_ERR_RANGE,
                          "%s: stores do not reach the part of rank %d, and %zu bytes are more than the %zu for which "
                          "a queue always has space; pass a buffer",
                          what, peer, asked->min, longest);
}

static inline tern_status check_prepare(const tern_am_prepare_opts *asked, int peer, const char *what)
{
    size_t longest;

    if (asked->flags & ~TERN_IMMEDIATE || asked->nargs > TERN_AM_ARGS)
        return tern_base_fail(TERN_ERR_ARG,
                              "%s: flags 0x%x, %u arguments; only TERN_IMMEDIATE and up to %d are allowed", what,
                              asked->flags, asked->nargs, TERN_AM_ARGS);
    if (asked->min > asked->max)
        return tern_base_fail(TERN_ERR_ARG, "%s: the minimum of %zu bytes is above the maximum of %zu", what,
                              asked->min, asked->max);
    if (asked->kind == TERN_AM_MEDIUM && !asked->region && asked->min <= TERN_LINK_DATA_MIN - WIRE_SPILL)
        return TERN_OK;
    if (asked->kind == TERN_AM_LONG)
        return check_long_prepare(asked, peer, tern_op_am_max_carried(peer), what);
    longest = tern_op_am_max_medium(peer, asked->nargs);
    if (asked->kind != TERN_AM_MEDIUM || asked->region)
        return tern_base_fail(TERN_ERR_ARG, "%s: only medium messages, and long ones with a region, are prepared",
                              what);
    if (asked->min > longest)
        return tern_base_fail(TERN_ERR_RANGE,
                              "%s: %zu bytes are more than the %zu for which a queue always has space (TERN_AM_QUEUE)",
                              what, asked->min, longest);
    return TERN_OK;
}

static struct tern_op_am_reservation *reservation_of(tern_am_prepared *prepared)
{
    return tern_api_am_reservation(prepared);
}

static __attribute__((cold, noinline)) tern_status prepare_shared(tern_ctx *ctx, int rank,
                                                                  const tern_am_prepare_opts *opts,
                                                                  tern_am_prepared           *out)
{
    return TERN_API_LOCKED(inner, ctx, tern_am_prepare(inner, rank, opts, out));
}

tern_status tern_am_prepare(tern_ctx *ctx, int rank, const tern_am_prepare_opts *opts, tern_am_prepared *out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_am_prepare");

    if (use.status < 0)
        return use.status;

    const tern_am_prepare_opts *asked;
    tern_am_prepare_opts        copy;
    int                         peer = -1;
    tern_status                 st = check_peer(ctx, rank, "tern_am_prepare", &peer);

    if (st < 0)
        return st == TERN_API_IS_SHARED ? prepare_shared(ctx, rank, opts, out) : st;
    if (!opts || !out)
        return tern_api_null("tern_am_prepare", opts ? "out" : "opts");
    if (!(asked = TERN_API_SIZED(tern_am_prepare_opts, opts, &copy, "tern_am_prepare")))
        return TERN_ERR_ARG;
    if ((st = check_prepare(asked, peer, "tern_am_prepare")) < 0)
        return st;
    return tern_op_am_prepare(ctx, peer, asked, reservation_of(out), out, "tern_am_prepare");
}

/* The request is not an open one of the default client. */
static __attribute__((cold, noinline)) tern_status prepare_reply_other(tern_am_token              *token,
                                                                       const tern_am_prepare_opts *opts,
                                                                       tern_am_prepared           *out)
{
    tern_am_prepare_opts copy;
    tern_status          st;

    if (token->replied != TERN_AM_CLIENT_OPEN)
        return replied_before("tern_am_prepare_reply");
    if (!opts || !out)
        return tern_api_null("tern_am_prepare_reply", opts ? "out" : "opts");
    if (!(opts = TERN_API_SIZED(tern_am_prepare_opts, opts, &copy, "tern_am_prepare_reply")))
        return TERN_ERR_ARG;
    if ((st = tern_api_am_prepare(opts, token->from, "tern_am_prepare_reply")) < 0 ||
        (st = tern_api_am_client_prepare(tern_op_am_client_of(token), NULL, token->from, opts, out,
                                         "tern_am_prepare_reply")) != TERN_OK)
        return st;
    reservation_of(out)->token = token;
    token->replied = TERN_AM_CLIENT_REPLIED;
    return TERN_OK;
}

tern_status tern_am_prepare_reply(tern_am_token *token, const tern_am_prepare_opts *opts, tern_am_prepared *out)
{
    const tern_am_prepare_opts *asked;
    tern_am_prepare_opts        copy;
    tern_status                 st;

    if (TERN_UNLIKELY(!tern_op_am_current(token)))
        return bad_token("tern_am_prepare_reply");
    if (TERN_UNLIKELY(token->replied != TERN_AM_OPEN))
        return prepare_reply_other(token, opts, out);
    if (!opts || !out)
        return tern_api_null("tern_am_prepare_reply", opts ? "out" : "opts");
    if (!(asked = TERN_API_SIZED(tern_am_prepare_opts, opts, &copy, "tern_am_prepare_reply")))
        return TERN_ERR_ARG;
    if ((st = check_prepare(asked, token->from, "tern_am_prepare_reply")) < 0)
        return st;
    st = tern_op_am_prepare(NULL, token->from, asked, reservation_of(out), out, "tern_am_prepare_reply");
    if (st == TERN_OK) {
        reservation_of(out)->token = token;
        token->replied = TERN_AM_REPLIED;
    }
    return st;
}

/* Debug builds: the context of a prepared message; NULL: none, or not prepared. */
static inline struct tern_ctx *ctx_of(tern_am_prepared *prepared)
{
    return TERN_BASE_DEBUG && prepared && reservation_of(prepared)->live != TERN_AM_DEAD ? reservation_of(prepared)->ctx
                                                                                         : NULL;
}

/* Check that the message is prepared, and that this process is still in the job in which it was. */
static tern_status check_prepared(const struct tern_op_am_reservation *reservation, const char *what)
{
    if (reservation->live == TERN_AM_DEAD)
        return tern_base_fail(TERN_ERR_STATE, "%s: the message was committed or cancelled before", what);
    return tern_core_job_running(what);
}

/* Report why a prepared message cannot be sent. */
static __attribute__((cold, noinline)) tern_status not_sendable(const struct tern_op_am_reservation *reservation)
{
    tern_status st = check_prepared(reservation, "tern_am_commit");

    if (st < 0)
        return st;
    if (!reservation->ctx)
        return tern_base_fail(TERN_ERR_STATE, "tern_am_commit: the handler of the request has returned; commit a reply "
                                              "in the handler, or cancel it");
    return tern_core_ctx_check(reservation->ctx, "tern_am_commit");
}

/* Check that the message is prepared, and that its context and region, or the handler that replies, still exist. */
static inline tern_status check_live(const struct tern_op_am_reservation *reservation)
{
    if (TERN_UNLIKELY(reservation->live == TERN_AM_DEAD ||
                      (reservation->ctx ? reservation->ctx->gone != NULL : !tern_op_am_current(reservation->token))))
        return not_sendable(reservation);
    if (TERN_UNLIKELY(reservation->kind == TERN_AM_LONG && !reservation->region->part))
        return tern_api_freed("tern_am_commit", "the region of the message");
    return TERN_OK;
}

/* Commit a long message of a context. Its payload may have to be transferred. */
static __attribute__((noinline)) tern_status commit_long(struct tern_op_am_reservation *reservation, unsigned handler,
                                                         const uint32_t *args, unsigned nargs, const void *payload,
                                                         size_t len)
{
    unsigned with_team = tern_op_am_with_team(reservation->ctx, handler);

    if (reservation->ctx->handle == reservation->ctx)
        return tern_op_am_commit(reservation, with_team, args, nargs, payload, len);
    return TERN_API_LOCKED(inner, reservation->ctx->handle,
                           tern_op_am_commit(reservation, with_team, args, nargs, payload, len));
}

/* The message is not a live one of the default client. */
static __attribute__((cold, noinline)) tern_status commit_other(tern_am_prepared *prepared, unsigned handler,
                                                                const uint32_t *args, unsigned nargs, size_t len)
{
    tern_status st;

    if (!prepared)
        return tern_api_null("tern_am_commit", "prepared");
    st = check_live(reservation_of(prepared));
    return st < 0 ? st : tern_api_am_client_commit(prepared, handler, args, nargs, len);
}

tern_status tern_am_commit(tern_am_prepared *prepared, unsigned handler, const uint32_t *args, unsigned nargs,
                           size_t len)
{
    TERN_API_USE use = tern_api_use(ctx_of(prepared), "tern_am_commit");

    if (use.status < 0)
        return use.status;

    tern_status st;

    if (TERN_UNLIKELY(!prepared || reservation_of(prepared)->live != TERN_AM_LIVE))
        return commit_other(prepared, handler, args, nargs, len);
    if ((st = check_live(reservation_of(prepared))) < 0 ||
        (st = check_handler(handler, args, nargs, "tern_am_commit")) < 0)
        return st;
    if (nargs > reservation_of(prepared)->nargs)
        return tern_base_fail(TERN_ERR_ARG, "tern_am_commit: %u arguments, but %u were prepared", nargs,
                              reservation_of(prepared)->nargs);
    if (len > prepared->len)
        return tern_base_fail(TERN_ERR_RANGE, "tern_am_commit: %zu bytes, but %zu were prepared", len, prepared->len);
    if (TERN_UNLIKELY(reservation_of(prepared)->kind == TERN_AM_LONG && reservation_of(prepared)->ctx))
        return commit_long(reservation_of(prepared), handler, args, nargs, prepared->addr, len);
    return tern_op_am_commit(reservation_of(prepared), tern_op_am_with_team(reservation_of(prepared)->ctx, handler),
                             args, nargs, prepared->addr, len);
}

tern_status tern_am_cancel(tern_am_prepared *prepared)
{
    TERN_API_USE use = tern_api_use(ctx_of(prepared), "tern_am_cancel");

    if (use.status < 0)
        return use.status;

    struct tern_op_am_reservation *reservation;
    tern_status                    st;

    if (!prepared)
        return tern_api_null("tern_am_cancel", "prepared");
    reservation = reservation_of(prepared);
    if ((st = check_prepared(reservation, "tern_am_cancel")) < 0)
        return st;
    if (tern_op_am_current(reservation->token)) /* otherwise its handler has returned, or the message is a request */
        reservation->token->replied = reservation->live == TERN_AM_LIVE_CLIENT ? TERN_AM_CLIENT_OPEN : TERN_AM_OPEN;
    tern_op_am_cancel(reservation);
    return TERN_OK;
}

/* ---- for clients ---- */

tern_status tern_api_am_peer(const tern_ctx *ctx, int rank, const char *what, int *peer)
{
    return check_peer(ctx, rank, what, peer);
}

tern_status tern_api_am_payload(const tern_am *message, int peer, const char *what)
{
    if (message->kind == TERN_AM_SHORT && message->len == 0 && !message->region)
        return TERN_OK;
    return check_payload(message, peer, what);
}

tern_status tern_api_am_carried(const tern_region *region, int peer, size_t len, const char *what)
{
    return check_carried(region, peer, len, what);
}

tern_status tern_api_am_prepare(const tern_am_prepare_opts *asked, int peer, const char *what)
{
    return check_prepare(asked, peer, what);
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
