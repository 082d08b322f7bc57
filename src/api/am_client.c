/* am_client.c: the public calls of tern/am_client.h: check the arguments, then call op/am. */
#include <tern/am_client.h>

#include "api/am.h"
#include "api/check.h"
#include "api/shared.h"
#include "api/use.h"
#include "core/job.h"
#include "core/message.h"
#include "op/start.h"
#include "op/trigger/engine.h"

/* ---- clients ---- */

static tern_status check_create(const tern_am_client_opts *opts)
{
    if (opts->by_helper > 1)
        return tern_base_fail(TERN_ERR_ARG, "by_helper is %u; it is 0 or 1", opts->by_helper);
    if (opts->count > 0 && !opts->handlers)
        return tern_base_fail(TERN_ERR_ARG, "handlers is NULL, but count is %zu", opts->count);
    for (size_t i = 0; i < opts->count; i++) {
        if (opts->handlers[i].id >= TERN_AM_HANDLERS)
            return tern_base_fail(TERN_ERR_RANGE, "the id %u of handlers[%zu] is not below %d", opts->handlers[i].id, i,
                                  TERN_AM_HANDLERS);
        if (!opts->handlers[i].handler)
            return tern_base_fail(TERN_ERR_ARG, "the function of handlers[%zu] is NULL", i);
    }
    return TERN_OK;
}

tern_status tern_am_client_create(tern_ctx *ctx, const tern_am_client_opts *opts, tern_am_client **out)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_am_client_create");

    if (use.status < 0)
        return use.status;

    tern_am_client_opts        copy = TERN_AM_CLIENT_OPTS_INIT;
    const tern_am_client_opts *known = &copy;
    tern_status                st = tern_api_claim(ctx, out, "tern_am_client_create");

    if (st < 0)
        return st;
    if (opts)
        known = TERN_API_SIZED(tern_am_client_opts, opts, &copy, "tern_am_client_create");
    st = tern_op_am_client_create(ctx, known ? known : &copy, known ? check_create(known) : TERN_ERR_ARG, out);
    tern_core_team_release(ctx->team);
    return st;
}

static tern_status check_client(const tern_am_client *client, const char *what)
{
    if (TERN_UNLIKELY(!client))
        return tern_api_null(what, "client");
    return TERN_LIKELY(!client->freed) ? TERN_OK : tern_api_freed(what, "the client");
}

tern_status tern_am_client_register(tern_am_client *client, unsigned id, tern_am_handler handler, void *user)
{
    tern_status st = tern_core_job_running("tern_am_client_register");

    if (st < 0 || (st = check_client(client, "tern_am_client_register")) < 0)
        return st;
    if (id >= TERN_AM_HANDLERS)
        return tern_base_fail(TERN_ERR_RANGE, "tern_am_client_register: %u is not below %d", id, TERN_AM_HANDLERS);
    tern_op_am_client_register(client, id, handler, user);
    return TERN_OK;
}

tern_status tern_am_client_free(tern_am_client *client)
{
    tern_status       st = tern_core_job_running("tern_am_client_free");
    struct tern_team *team;

    if (st < 0 || (st = check_client(client, "tern_am_client_free")) < 0)
        return st;
    team = client->team;
    if ((st = tern_core_team_claim(team, NULL, "tern_am_client_free")) < 0)
        return st;
    st = tern_op_am_client_free(client);
    tern_core_team_release(team);
    return st;
}

/* ---- checks ---- */

static tern_status check_handler(const tern_am_client *client, unsigned handler, const uint32_t *args, unsigned nargs,
                                 const char *what)
{
    if (TERN_UNLIKELY(!tern_op_am_client_knows(client, handler)))
        return tern_base_fail(TERN_ERR_ARG, "%s: handler %u of client \"%s\" is not registered", what, handler,
                              client->text);
    return tern_api_am_args(args, nargs, what);
}

/* Check the context, the rank and the client of a request, and find the rank in the job. */
static tern_status check_peer(const tern_am_client *client, const tern_ctx *ctx, int rank, const char *what, int *peer)
{
    tern_status st = tern_api_am_peer(ctx, rank, what, peer);

    if (st < 0 || (st = check_client(client, what)) < 0)
        return st;
    if (TERN_UNLIKELY(client->name_at[*peer] == 0))
        return tern_base_fail(TERN_ERR_RANGE, "%s: rank %d of the context's team is not in the team of client \"%s\"",
                              what, rank, client->text);
    return TERN_OK;
}

/* Read a message of the program, check the message, and write it as it is sent. */
static tern_status read_message(const tern_am_client *client, int peer, const tern_am *message, const char *what,
                                struct tern_op_client_am *out)
{
    tern_am     copy;
    tern_status st;

    if (!message)
        return tern_api_null(what, "message");
    if (!(message = TERN_API_SIZED(tern_am, message, &copy, what)))
        return TERN_ERR_ARG;
    if (message->flags & ~TERN_IMMEDIATE)
        return tern_api_am_flags(message->flags, what);
    if ((st = check_handler(client, message->handler, message->args, message->nargs, what)) < 0)
        return st;
    tern_op_am_client_translate(client, peer, message, out);
    return tern_api_am_payload(&out->am, peer, what);
}

/* ---- sending ---- */

tern_status tern_am_client_request(tern_am_client *client, tern_ctx *ctx, int rank, const tern_am *message)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_am_client_request");

    if (use.status < 0)
        return use.status;

    struct tern_op_client_am m;
    int                      peer = -1;
    tern_status              st = check_peer(client, ctx, rank, "tern_am_client_request", &peer);

    if (st < 0 || (st = read_message(client, peer, message, "tern_am_client_request", &m)) < 0)
        return st == TERN_API_IS_SHARED
                   ? TERN_API_LOCKED(inner, ctx, tern_am_client_request(client, inner, rank, message))
                   : st;
    return tern_op_am_send_client(ctx, peer, &m.am, "tern_am_client_request");
}

tern_status tern_am_client_request_with(tern_am_client *client, tern_ctx *ctx, int rank, const tern_am *message,
                                        const tern_opts *opts)
{
    const char  *what = "tern_am_client_request_with";
    TERN_API_USE use = tern_api_use(ctx, tern_api_use_name(opts, what, what));

    if (use.status < 0)
        return use.status;

    struct tern_api_opts     o;
    struct tern_op_client_am m;
    int                      peer = -1;
    tern_status              st = tern_api_opts(ctx, opts, 0, what, &o);

    if (st < 0 || (st = check_peer(client, ctx, rank, o.what, &peer)) < 0 ||
        (st = read_message(client, peer, message, o.what, &m)) < 0)
        return st == TERN_API_IS_SHARED
                   ? TERN_API_LOCKED(inner, ctx, tern_am_client_request_with(client, inner, rank, message, opts))
                   : st;
    m.am.local = NULL;
    m.am.flags |= o.opts->flags & TERN_IMMEDIATE;
    if (tern_op_is_parked(o.opts)) {
        m.am.flags &= ~TERN_IMMEDIATE; /* a triggered operation never waits, and its payload is transferred first */
        return tern_op_trigger_am(ctx, peer, &m.am, o.opts);
    }
    if ((m.am.flags & TERN_IMMEDIATE) && m.am.kind == TERN_AM_LONG &&
        (st = tern_api_am_carried(m.am.region, peer, m.am.len, o.what)) < 0)
        return st;
    if ((st = tern_op_am_send_client(ctx, peer, &m.am, o.what)) == TERN_OK)
        tern_op_no_events(o.opts);
    return st;
}

/* Send a short message on the general path, which is used if there is no space now or there are many arguments. */
static __attribute__((noinline)) tern_status short_slowly(const tern_am_client *client, tern_ctx *ctx, int peer,
                                                          const tern_am *message)
{
    struct tern_op_client_am m;

    tern_op_am_client_translate(client, peer, message, &m);
    return tern_op_am_send_client(ctx, peer, &m.am, "tern_am_client_short");
}

tern_status tern_am_client_short(tern_am_client *client, tern_ctx *ctx, int rank, unsigned handler,
                                 const uint32_t *args, unsigned nargs)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_am_client_short");

    if (use.status < 0)
        return use.status;

    int         peer = -1;
    tern_status st = check_peer(client, ctx, rank, "tern_am_client_short", &peer);

    if (TERN_UNLIKELY(st < 0 || (st = check_handler(client, handler, args, nargs, "tern_am_client_short")) < 0))
        return st == TERN_API_IS_SHARED
                   ? TERN_API_LOCKED(inner, ctx, tern_am_client_short(client, inner, rank, handler, args, nargs))
                   : st;
    st = tern_op_am_client_short(client, ctx, peer, handler, args, nargs);
    if (TERN_LIKELY(st != TERN_AGAIN))
        return st;
    return short_slowly(
        client, ctx, peer,
        &TERN_AM(.kind = TERN_AM_SHORT, .handler = (uint16_t)handler, .nargs = (uint16_t)nargs, .args = args));
}

tern_status tern_api_am_client_reply(tern_am_token *token, const tern_am *message)
{
    struct tern_am_client   *client = tern_op_am_client_of(token);
    struct tern_op_client_am m;
    tern_status              st = read_message(client, token->from, message, "tern_am_reply", &m);

    if (st < 0)
        return st;
    if ((st = tern_op_am_send_client(NULL, token->from, &m.am, "tern_am_reply")) == TERN_OK)
        token->replied = TERN_AM_CLIENT_REPLIED;
    return st;
}

/* ---- negotiated payload ---- */

tern_status tern_api_am_client_prepare(tern_am_client *client, tern_ctx *ctx, int peer,
                                       const tern_am_prepare_opts *asked, tern_am_prepared *out, const char *what)
{
    tern_am_prepare_opts opts = *asked;

    opts.nargs++; /* the name of the client */
    return tern_op_am_prepare_client(client, ctx, peer, &opts, tern_api_am_reservation(out), out, what);
}

tern_status tern_am_client_prepare(tern_am_client *client, tern_ctx *ctx, int rank, const tern_am_prepare_opts *opts,
                                   tern_am_prepared *out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_am_client_prepare");

    if (use.status < 0)
        return use.status;

    tern_am_prepare_opts copy;
    int                  peer = -1;
    tern_status          st = check_peer(client, ctx, rank, "tern_am_client_prepare", &peer);

    if (st < 0)
        return st == TERN_API_IS_SHARED
                   ? TERN_API_LOCKED(inner, ctx, tern_am_client_prepare(client, inner, rank, opts, out))
                   : st;
    if (!opts || !out)
        return tern_api_null("tern_am_client_prepare", opts ? "out" : "opts");
    if (!(opts = TERN_API_SIZED(tern_am_prepare_opts, opts, &copy, "tern_am_client_prepare")))
        return TERN_ERR_ARG;
    if ((st = tern_api_am_prepare(opts, peer, "tern_am_client_prepare")) < 0)
        return st;
    return tern_api_am_client_prepare(client, ctx, peer, opts, out, "tern_am_client_prepare");
}

tern_status tern_api_am_client_commit(tern_am_prepared *prepared, unsigned handler, const uint32_t *args,
                                      unsigned nargs, size_t len)
{
    struct tern_op_am_reservation *reservation = tern_api_am_reservation(prepared);
    struct tern_op_client_am       m;
    tern_status                    st;

    if (reservation->client->freed)
        return tern_api_freed("tern_am_commit", "the client of the message");
    if ((st = check_handler(reservation->client, handler, args, nargs, "tern_am_commit")) < 0)
        return st;
    if (nargs + 1 > reservation->nargs)
        return tern_base_fail(TERN_ERR_ARG, "tern_am_commit: %u arguments, but %u were prepared", nargs,
                              reservation->nargs - 1u);
    if (len > prepared->len)
        return tern_base_fail(TERN_ERR_RANGE, "tern_am_commit: %zu bytes, but %zu were prepared", len, prepared->len);
    tern_op_am_client_translate(reservation->client, reservation->msg.peer,
                                &TERN_AM(.handler = (uint16_t)handler, .nargs = (uint16_t)nargs, .args = args), &m);
    if (reservation->ctx && !tern_core_shared_holds(reservation->ctx))
        return TERN_API_LOCKED(
            inner, reservation->ctx->handle,
            tern_op_am_commit(reservation, m.am.handler, m.am.args, m.am.nargs, prepared->addr, len));
    return tern_op_am_commit(reservation, m.am.handler, m.am.args, m.am.nargs, prepared->addr, len);
}
