/* tagged_send.c: the public calls of tern/tagged.h that send. */
#include <tern/tagged.h>

#include "api/check.h"
#include "api/request.h"
#include "api/shared.h"
#include "api/tagged.h"
#include "api/use.h"
#include "core/message.h"

__attribute__((cold)) tern_status tern_api_send_refused(tern_status st, const struct tern_request *request,
                                                        const char *what)
{
    if (st == TERN_ERR_PEER)
        tern_base_fail(st, "%s: rank %d of the job is gone", what, request->source);
    else if (st == TERN_ERR_NOMEM)
        tern_base_fail(st, "%s: out of memory for another message that waits for its receiver", what);
    return st;
}

/* The arguments of a send. */
struct message {
    tern_ctx   *ctx;
    int         rank;
    int64_t     tag;
    const void *buf;
    size_t      len;
};

static inline tern_status check_send(const struct message *m, const char *what)
{
    if (TERN_UNLIKELY(!m->ctx || (!m->buf && m->len > 0)))
        return tern_api_tagged_null(m->ctx, m->buf, m->len, what);
    if (TERN_UNLIKELY((uint32_t)m->rank >= m->ctx->ranks))
        return tern_api_bad_rank(m->ctx, m->rank, what);
    if (TERN_UNLIKELY(m->tag < 0 || m->tag > TERN_TAG_MAX))
        return tern_api_bad_tag(m->tag, what);
    return TERN_OK;
}

/* Check the arguments, and create the request of a send without starting it. */
static inline tern_status send_request(const struct message *m, enum tern_request_kind kind, tern_request **out,
                                       const char *what)
{
    tern_status          st = check_send(m, what);
    struct tern_request *request;

    if (TERN_UNLIKELY(st < 0))
        return st;
    if (TERN_UNLIKELY(!out))
        return tern_api_null(what, "out");
    if (TERN_UNLIKELY(!(request = tern_op_request_new(m->ctx, kind))))
        return tern_api_no_request(m->ctx, what);
    request->buffer = (void *)(uintptr_t)m->buf;
    request->size = m->len;
    request->match.tag = (uint64_t)m->tag;
    request->peer = tern_core_team_world(m->ctx->team, m->rank);
    *out = request;
    return TERN_OK;
}

/* Start or create a send on the inner context of a shared context. */
typedef tern_status send_fn(const struct message *m, enum tern_request_kind kind, tern_request **out, const char *what);
static __attribute__((cold, noinline)) tern_status shared_send(send_fn *function, const struct message *m,
                                                               enum tern_request_kind kind, tern_request **out,
                                                               const char *what)
{
    struct message message = *m;

    return TERN_API_LOCKED(inner, m->ctx,
                           (message.ctx = inner, tern_api_mark_shared(function(&message, kind, out, what), out)));
}

static tern_status start_send(const struct message *m, enum tern_request_kind kind, tern_request **out,
                              const char *what)
{
    tern_request *request;
    tern_status   st = out ? send_request(m, kind, &request, what) : tern_api_null(what, "out");

    if (TERN_UNLIKELY(st < 0))
        return st == TERN_API_IS_SHARED ? shared_send(start_send, m, kind, out, what) : st;
    tern_core_job_check_deaths();
    if (TERN_UNLIKELY((st = tern_op_tagged_start_send(request)) < 0)) {
        tern_api_send_refused(st, request, what);
        tern_op_request_drop(request);
        return st;
    }
    *out = request;
    return TERN_OK;
}

/* Return whether the arguments permit the fast path of a send. */
static inline bool is_usual(const tern_ctx *ctx, int rank, int64_t tag, const void *buf)
{
    return ctx && buf && (uint32_t)rank < ctx->ranks && (uint64_t)tag <= (uint64_t)TERN_TAG_MAX;
}

static __attribute__((noinline)) tern_status isend_any(tern_ctx *ctx, int rank, int64_t tag, const void *buf,
                                                       size_t len, tern_request **out)
{
    return start_send(&(struct message){ ctx, rank, tag, buf, len }, TERN_REQUEST_SEND, out, "tern_isend");
}

tern_status tern_isend(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len, tern_request **out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_isend");

    if (use.status < 0)
        return use.status;

    const struct tern_tagged_peer *flow;
    struct tern_tagged            *tagged;
    int                            world;

    if (TERN_UNLIKELY(!is_usual(ctx, rank, tag, buf) || !out || !(tagged = ctx->tagged) || !tagged->unused))
        return isend_any(ctx, rank, tag, buf, len, out);
    world = tern_core_team_world(ctx->team, rank);
    if (TERN_UNLIKELY(!(flow = tern_op_tagged_reserve(ctx, tagged, world, len))))
        return isend_any(ctx, rank, tag, buf, len, out);
    *out = tern_op_request_left(tagged, world, (uint64_t)tag, len);
    return tern_op_tagged_inject(flow, ctx->team->group->id, (uint64_t)tag, buf, len);
}

tern_status tern_issend(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len, tern_request **out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_issend");

    if (use.status < 0)
        return use.status;

    return start_send(&(struct message){ ctx, rank, tag, buf, len }, TERN_REQUEST_SSEND, out, "tern_issend");
}

static tern_status send_waiting(const struct message *m, enum tern_request_kind kind, const char *what);

static __attribute__((cold, noinline)) tern_status send_waiting_shared(const struct message  *m,
                                                                       enum tern_request_kind kind, const char *what)
{
    struct message message = *m;

    return TERN_API_LOCKED(inner, m->ctx, (message.ctx = inner, send_waiting(&message, kind, what)));
}

static tern_status send_waiting(const struct message *m, enum tern_request_kind kind, const char *what)
{
    tern_request *request;
    tern_status   st = check_send(m, what);

    if (st == TERN_API_IS_SHARED)
        return send_waiting_shared(m, kind, what);
    if (st == TERN_OK && tern_core_in_handler())
        return tern_api_tagged_in_handler(what);
    if (st == TERN_OK)
        st = start_send(m, kind, &request, what);
    return st < 0 ? st : tern_api_tagged_finish(m->ctx, &request, NULL, what);
}

static __attribute__((cold, noinline)) tern_status send_shared(tern_ctx *ctx, int rank, int64_t tag, const void *buf,
                                                               size_t len)
{
    return TERN_API_LOCKED(inner, ctx, tern_send(inner, rank, tag, buf, len));
}

static __attribute__((noinline)) tern_status send_any(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len)
{
    struct message m = { ctx, rank, tag, buf, len };
    tern_status    st = check_send(&m, "tern_send");
    int            world;

    if (TERN_UNLIKELY(st < 0))
        return st == TERN_API_IS_SHARED ? send_shared(ctx, rank, tag, buf, len) : st;
    world = tern_core_team_world(ctx->team, rank);
    tern_core_job_check_deaths();
    if (TERN_UNLIKELY(tern_core_job_lost(world)))
        return tern_base_fail(TERN_ERR_PEER, "tern_send: rank %d is gone", rank);
    st = tern_op_tagged_send_now(ctx, world, (uint64_t)tag, buf, len);
    return TERN_LIKELY(st != TERN_AGAIN) ? st : send_waiting(&m, TERN_REQUEST_SEND, "tern_send");
}

tern_status tern_send(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_send");

    if (use.status < 0)
        return use.status;

    const struct tern_tagged_peer *flow;
    int                            world;

    if (TERN_UNLIKELY(!is_usual(ctx, rank, tag, buf)))
        return send_any(ctx, rank, tag, buf, len);
    world = tern_core_team_world(ctx->team, rank);
    if (TERN_UNLIKELY(!(flow = tern_op_tagged_reserve(ctx, ctx->tagged, world, len))))
        return send_any(ctx, rank, tag, buf, len);
    return tern_op_tagged_inject(flow, ctx->team->group->id, (uint64_t)tag, buf, len);
}

tern_status tern_ssend(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_ssend");

    if (use.status < 0)
        return use.status;

    return send_waiting(&(struct message){ ctx, rank, tag, buf, len }, TERN_REQUEST_SSEND, "tern_ssend");
}

static tern_status make_send(const struct message *m, enum tern_request_kind kind, tern_request **out, const char *what)
{
    tern_status st = send_request(m, kind, out, what);

    if (st == TERN_OK)
        (*out)->persistent = true;
    return st == TERN_API_IS_SHARED ? shared_send(make_send, m, kind, out, what) : st;
}

tern_status tern_send_create(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len, tern_request **out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_send_create");

    if (use.status < 0)
        return use.status;

    return make_send(&(struct message){ ctx, rank, tag, buf, len }, TERN_REQUEST_SEND, out, "tern_send_create");
}

tern_status tern_ssend_create(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len, tern_request **out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_ssend_create");

    if (use.status < 0)
        return use.status;

    return make_send(&(struct message){ ctx, rank, tag, buf, len }, TERN_REQUEST_SSEND, out, "tern_ssend_create");
}
