/* am_prepare.c: the public calls of tern/am.h that prepare a message, and commit or cancel it: check the arguments, and
 * then call op/am. A prepared message may outlive its context, the handler that prepared it, and the job. Each call
 * therefore checks that these still exist. */
#include <tern/am.h>

#include "api/am.h"
#include "api/check.h"
#include "api/shared.h"
#include "api/use.h"
#include "core/job.h"
#include "core/region.h"
#include "op/am/am.h"

_Static_assert(sizeof(struct tern_op_am_reservation) <= sizeof(((tern_am_prepared *)0)->reserved),
               "a prepared message fits");

/* Check the options of a long message. If the payload can be neither in the target's memory nor in a buffer of the
 * caller, the queue must have space for it. */
static tern_status check_long_prepare(const tern_am_prepare_opts *asked, int peer, size_t longest, const char *what)
{
    tern_status st = tern_api_am_long(asked->region, peer, asked->offset, asked->max, what);

    if (st == TERN_OK && asked->buffer && (asked->flags & TERN_IMMEDIATE))
        st = tern_api_am_carried(asked->region, peer, asked->min, what);
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
    tern_status                 st = tern_api_am_peer(ctx, rank, "tern_am_prepare", &peer);

    if (st < 0)
        return st == TERN_API_IS_SHARED ? prepare_shared(ctx, rank, opts, out) : st;
    if (!opts || !out)
        return tern_api_null("tern_am_prepare", opts ? "out" : "opts");
    if (!(asked = TERN_API_SIZED(tern_am_prepare_opts, opts, &copy, "tern_am_prepare")))
        return TERN_ERR_ARG;
    if ((st = check_prepare(asked, peer, "tern_am_prepare")) < 0)
        return st;
    return tern_op_am_prepare(ctx, peer, asked, tern_api_am_reservation(out), out, "tern_am_prepare");
}

/* Prepare a reply to a request of another client, or report that the request has its reply. */
static __attribute__((cold, noinline)) tern_status prepare_reply_other(tern_am_token              *token,
                                                                       const tern_am_prepare_opts *opts,
                                                                       tern_am_prepared           *out)
{
    tern_am_prepare_opts copy;
    tern_status          st;

    if (token->replied != TERN_AM_CLIENT_OPEN)
        return tern_api_am_replied("tern_am_prepare_reply");
    if (!opts || !out)
        return tern_api_null("tern_am_prepare_reply", opts ? "out" : "opts");
    if (!(opts = TERN_API_SIZED(tern_am_prepare_opts, opts, &copy, "tern_am_prepare_reply")))
        return TERN_ERR_ARG;
    if ((st = tern_api_am_prepare(opts, token->from, "tern_am_prepare_reply")) < 0 ||
        (st = tern_api_am_client_prepare(tern_op_am_client_of(token), NULL, token->from, opts, out,
                                         "tern_am_prepare_reply")) != TERN_OK)
        return st;
    tern_api_am_reservation(out)->token = token;
    token->replied = TERN_AM_CLIENT_REPLIED;
    return TERN_OK;
}

tern_status tern_am_prepare_reply(tern_am_token *token, const tern_am_prepare_opts *opts, tern_am_prepared *out)
{
    const tern_am_prepare_opts *asked;
    tern_am_prepare_opts        copy;
    tern_status                 st;

    if (TERN_UNLIKELY(!tern_op_am_current(token)))
        return tern_api_am_bad_token("tern_am_prepare_reply");
    if (TERN_UNLIKELY(token->replied != TERN_AM_OPEN))
        return prepare_reply_other(token, opts, out);
    if (!opts || !out)
        return tern_api_null("tern_am_prepare_reply", opts ? "out" : "opts");
    if (!(asked = TERN_API_SIZED(tern_am_prepare_opts, opts, &copy, "tern_am_prepare_reply")))
        return TERN_ERR_ARG;
    if ((st = check_prepare(asked, token->from, "tern_am_prepare_reply")) < 0)
        return st;
    st = tern_op_am_prepare(NULL, token->from, asked, tern_api_am_reservation(out), out, "tern_am_prepare_reply");
    if (st == TERN_OK) {
        tern_api_am_reservation(out)->token = token;
        token->replied = TERN_AM_REPLIED;
    }
    return st;
}

/* Return the context of a prepared message in debug builds; NULL: none, or not prepared. */
static inline struct tern_ctx *ctx_of(tern_am_prepared *prepared)
{
    return TERN_BASE_DEBUG && prepared && tern_api_am_reservation(prepared)->live != TERN_AM_DEAD
               ? tern_api_am_reservation(prepared)->ctx
               : NULL;
}

/* Check that the message is prepared, and that this process is still in the job. */
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

/* Commit a long message of a context, whose payload may have to be transferred. */
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

/* Commit a message of another client, or report that the message cannot be committed. */
static __attribute__((cold, noinline)) tern_status commit_other(tern_am_prepared *prepared, unsigned handler,
                                                                const uint32_t *args, unsigned nargs, size_t len)
{
    tern_status st;

    if (!prepared)
        return tern_api_null("tern_am_commit", "prepared");
    st = check_live(tern_api_am_reservation(prepared));
    return st < 0 ? st : tern_api_am_client_commit(prepared, handler, args, nargs, len);
}

tern_status tern_am_commit(tern_am_prepared *prepared, unsigned handler, const uint32_t *args, unsigned nargs,
                           size_t len)
{
    TERN_API_USE use = tern_api_use(ctx_of(prepared), "tern_am_commit");

    if (use.status < 0)
        return use.status;

    tern_status st;

    if (TERN_UNLIKELY(!prepared || tern_api_am_reservation(prepared)->live != TERN_AM_LIVE))
        return commit_other(prepared, handler, args, nargs, len);
    if ((st = check_live(tern_api_am_reservation(prepared))) < 0 ||
        (st = tern_api_am_handler(handler, args, nargs, "tern_am_commit")) < 0)
        return st;
    if (nargs > tern_api_am_reservation(prepared)->nargs)
        return tern_base_fail(TERN_ERR_ARG, "tern_am_commit: %u arguments, but %u were prepared", nargs,
                              tern_api_am_reservation(prepared)->nargs);
    if (len > prepared->len)
        return tern_base_fail(TERN_ERR_RANGE, "tern_am_commit: %zu bytes, but %zu were prepared", len, prepared->len);
    if (TERN_UNLIKELY(tern_api_am_reservation(prepared)->kind == TERN_AM_LONG &&
                      tern_api_am_reservation(prepared)->ctx))
        return commit_long(tern_api_am_reservation(prepared), handler, args, nargs, prepared->addr, len);
    return tern_op_am_commit(tern_api_am_reservation(prepared),
                             tern_op_am_with_team(tern_api_am_reservation(prepared)->ctx, handler), args, nargs,
                             prepared->addr, len);
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
    reservation = tern_api_am_reservation(prepared);
    if ((st = check_prepared(reservation, "tern_am_cancel")) < 0)
        return st;
    if (tern_op_am_current(reservation->token)) /* otherwise its handler has returned, or the message is a request */
        reservation->token->replied = reservation->live == TERN_AM_LIVE_CLIENT ? TERN_AM_CLIENT_OPEN : TERN_AM_OPEN;
    tern_op_am_cancel(reservation);
    return TERN_OK;
}

tern_status tern_api_am_prepare(const tern_am_prepare_opts *asked, int peer, const char *what)
{
    return check_prepare(asked, peer, what);
}
