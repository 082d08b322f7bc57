/* tagged.c: the public calls of tern/tagged.h. */
#include <tern/tagged.h>

#include <stdio.h>

#include "api/check.h"
#include "api/request.h"
#include "api/use.h"
#include "core/message.h"
#include "core/wait.h"

static __attribute__((cold, noinline)) tern_status bad_rank(const tern_ctx *ctx, int rank, const char *what)
{
    return tern_api_no_rank(ctx, rank, what);
}

static __attribute__((cold, noinline)) tern_status bad_tag(int64_t tag, const char *what)
{
    return tern_base_fail(TERN_ERR_RANGE, "%s: tag %lld; tags are 0 to TERN_TAG_MAX (2^62 - 1)", what, (long long)tag);
}

/* Report that there is no request: the context cannot be used, or there is no memory. */
static __attribute__((cold, noinline)) tern_status no_memory(const tern_ctx *ctx, const char *what)
{
    tern_status st = tern_core_ctx_check(ctx, what);

    return st < 0 ? st : tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for a request", what);
}

/* Report which argument of a call is NULL. */
static __attribute__((cold, noinline)) tern_status is_null(const tern_ctx *ctx, const void *buf, size_t len,
                                                           const char *what)
{
    tern_status st = tern_core_ctx_check(ctx, what);

    if (st < 0)
        return st;
    if (!buf && len > 0)
        return tern_base_fail(TERN_ERR_ARG, "%s: buf is NULL, but its length is %zu", what, len);
    return tern_api_null(what, "out");
}

__attribute__((cold)) tern_status tern_api_send_refused(tern_status st, const struct tern_request *request,
                                                        const char *what)
{
    if (st == TERN_ERR_PEER)
        tern_base_fail(st, "%s: rank %d of the job is gone", what, request->source);
    else if (st == TERN_ERR_NOMEM)
        tern_base_fail(st, "%s: out of memory for another message that waits for its receiver", what);
    return st;
}

__attribute__((cold)) tern_status tern_api_deserted(const struct tern_match_name *name, const char *what)
{
    if (tern_op_match_any_source(name))
        return tern_base_fail(TERN_ERR_PEER, "%s: all other ranks, which could send, are gone", what);
    return tern_base_fail(TERN_ERR_PEER, "%s: rank %d of the job, which was to send, is gone", what, name->source);
}

/* ---- sends ---- */

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
        return is_null(m->ctx, m->buf, m->len, what);
    if (TERN_UNLIKELY(m->rank < 0 || m->rank >= m->ctx->team->size))
        return bad_rank(m->ctx, m->rank, what);
    if (TERN_UNLIKELY(m->tag < 0 || m->tag > TERN_TAG_MAX))
        return bad_tag(m->tag, what);
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
        return no_memory(m->ctx, what);
    request->buffer = (void *)(uintptr_t)m->buf;
    request->size = m->len;
    request->match.tag = (uint64_t)m->tag;
    request->peer = tern_core_team_world(m->ctx->team, m->rank);
    *out = request;
    return TERN_OK;
}

static tern_status start_send(const struct message *m, enum tern_request_kind kind, tern_request **out,
                              const char *what)
{
    tern_request *request;
    tern_status   st = out ? send_request(m, kind, &request, what) : tern_api_null(what, "out");

    if (TERN_UNLIKELY(st < 0))
        return st;
    tern_core_job_check_deaths();
    if (TERN_UNLIKELY((st = tern_op_tagged_start_send(request)) < 0)) {
        tern_api_send_refused(st, request, what);
        tern_op_request_drop(request);
        return st;
    }
    *out = request;
    return TERN_OK;
}

/* Whether the arguments permit the fast path of a send. */
static inline bool is_usual(const tern_ctx *ctx, int rank, int64_t tag, const void *buf)
{
    return ctx && buf && (uint32_t)rank < (uint32_t)ctx->team->size && (uint64_t)tag <= (uint64_t)TERN_TAG_MAX;
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

static __attribute__((cold, noinline)) tern_status in_handler(const char *what)
{
    return tern_base_fail(TERN_ERR_STATE, "%s: a handler of an active message must not wait for this", what);
}

/* Wait for the request of a blocking call, and release it. */
static tern_status finish(tern_ctx *ctx, tern_request **request, tern_request_info *info, const char *what)
{
    tern_status st = tern_api_request_wait(request, tern_core_ctx_deadline(ctx), info, what);

    if (TERN_UNLIKELY(*request != NULL))
        tern_op_request_abandon(*request);
    return st;
}

static tern_status send_waiting(const struct message *m, enum tern_request_kind kind, const char *what)
{
    tern_request *request;
    tern_status   st = check_send(m, what);

    if (st == TERN_OK && tern_core_in_handler())
        return in_handler(what);
    if (st == TERN_OK)
        st = start_send(m, kind, &request, what);
    return st < 0 ? st : finish(m->ctx, &request, NULL, what);
}

static __attribute__((noinline)) tern_status send_any(tern_ctx *ctx, int rank, int64_t tag, const void *buf, size_t len)
{
    struct message m = { ctx, rank, tag, buf, len };
    tern_status    st = check_send(&m, "tern_send");
    int            world;

    if (TERN_UNLIKELY(st < 0))
        return st;
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
    return st;
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

/* ---- receives ---- */

/* What a receive or probe asks for: a source or any source, and a tag, any tag, or a masked tag. */
struct wish {
    int     source;
    int64_t tag, mask; /* mask: all bits if there is no mask */
};

#define EVERY_BIT TERN_TAG_MAX

static inline tern_status check_wish(const tern_ctx *ctx, const struct wish *wish, const char *what)
{
    if (TERN_UNLIKELY(wish->source != TERN_ANY_SOURCE && (wish->source < 0 || wish->source >= ctx->team->size)))
        return bad_rank(ctx, wish->source, what);
    if (TERN_UNLIKELY(wish->tag != TERN_ANY_TAG && (wish->tag < 0 || wish->tag > TERN_TAG_MAX)))
        return bad_tag(wish->tag, what);
    if (TERN_UNLIKELY(wish->mask < 0 || wish->mask > TERN_TAG_MAX))
        return tern_base_fail(TERN_ERR_RANGE, "%s: mask 0x%llx; masks are 0 to TERN_TAG_MAX (2^62 - 1)", what,
                              (unsigned long long)wish->mask);
    return TERN_OK;
}

static inline uint32_t class_of(const struct wish *wish)
{
    bool any = wish->source == TERN_ANY_SOURCE;

    if (wish->tag == TERN_ANY_TAG || wish->mask == 0)
        return TERN_MATCH_ANY_TAG | (any ? TERN_MATCH_ANY_SOURCE : 0);
    if (wish->mask == EVERY_BIT)
        return any ? TERN_MATCH_ANY_SOURCE : 0;
    return any ? TERN_MATCH_BITS_ANY_SOURCE : TERN_MATCH_BITS;
}

static inline int source_of(const tern_ctx *ctx, const struct wish *wish)
{
    return wish->source == TERN_ANY_SOURCE ? 0 : tern_core_team_world(ctx->team, wish->source);
}

static inline uint64_t tag_of(const struct wish *wish)
{
    return wish->tag == TERN_ANY_TAG ? 0 : (uint64_t)wish->tag;
}

/* Check the arguments, and create the request of a receive without starting it. Inlined, because the arguments of the
 * common calls are known at compile time. */
static inline __attribute__((always_inline)) tern_status recv_request(tern_ctx *ctx, const struct wish *wish, void *buf,
                                                                      size_t size, tern_request **out, const char *what)
{
    struct tern_request *request;
    tern_status          st;

    if (TERN_UNLIKELY(!ctx || !out || (!buf && size > 0)))
        return is_null(ctx, buf, size, what);
    if ((st = check_wish(ctx, wish, what)) < 0)
        return st;
    if (!(request = tern_op_request_new(ctx, TERN_REQUEST_RECV)))
        return no_memory(ctx, what);
    request->buffer = buf;
    request->size = size;
    request->peer = source_of(ctx, wish);
    request->class = (uint8_t)class_of(wish);
    request->match.tag = tag_of(wish);
    request->match.care = (uint64_t)wish->mask;
    *out = request;
    return TERN_OK;
}

static inline __attribute__((always_inline)) tern_status start_recv(tern_ctx *ctx, const struct wish *wish, void *buf,
                                                                    size_t size, bool waits, tern_request **out,
                                                                    const char *what)
{
    tern_request *request = NULL;
    tern_status   st = out ? recv_request(ctx, wish, buf, size, &request, what) : tern_api_null(what, "out");

    if (st < 0)
        return st;
    if (TERN_UNLIKELY(!tern_op_tagged_recv_again(request, ctx->team->group->id, tag_of(wish), source_of(ctx, wish),
                                                 class_of(wish)) &&
                      !tern_op_tagged_start_recv(request, waits))) {
        tern_op_request_drop(request);
        return no_memory(ctx, what);
    }
    *out = request;
    return TERN_OK;
}

tern_status tern_irecv(tern_ctx *ctx, int source, int64_t tag, void *buf, size_t size, tern_request **out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_irecv");

    if (use.status < 0)
        return use.status;

    return start_recv(ctx, &(struct wish){ source, tag, EVERY_BIT }, buf, size, false, out, "tern_irecv");
}

tern_status tern_irecv_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, void *buf, size_t size,
                              tern_request **out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_irecv_masked");

    if (use.status < 0)
        return use.status;

    return start_recv(ctx, &(struct wish){ source, tag, mask }, buf, size, false, out, "tern_irecv_masked");
}

tern_status tern_recv(tern_ctx *ctx, int source, int64_t tag, void *buf, size_t size, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_recv");

    if (use.status < 0)
        return use.status;

    tern_request *request;
    tern_status   st;

    if (TERN_UNLIKELY(tern_core_in_handler()))
        return in_handler("tern_recv");
    st = start_recv(ctx, &(struct wish){ source, tag, EVERY_BIT }, buf, size, true, &request, "tern_recv");
    return st < 0 ? st : finish(ctx, &request, info, "tern_recv");
}

static tern_status make_recv(tern_ctx *ctx, const struct wish *wish, void *buf, size_t size, tern_request **out,
                             const char *what)
{
    tern_status st = recv_request(ctx, wish, buf, size, out, what);

    if (st == TERN_OK)
        (*out)->persistent = true;
    return st;
}

tern_status tern_recv_create(tern_ctx *ctx, int source, int64_t tag, void *buf, size_t size, tern_request **out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_recv_create");

    if (use.status < 0)
        return use.status;

    return make_recv(ctx, &(struct wish){ source, tag, EVERY_BIT }, buf, size, out, "tern_recv_create");
}

tern_status tern_recv_create_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, void *buf, size_t size,
                                    tern_request **out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_recv_create_masked");

    if (use.status < 0)
        return use.status;

    return make_recv(ctx, &(struct wish){ source, tag, mask }, buf, size, out, "tern_recv_create_masked");
}

/* ---- probes ---- */

struct probing {
    tern_ctx              *ctx;
    struct tern_match_name name;
    uint64_t               care;
    struct tern_message  **found; /* NULL: the message stays stored */
    tern_request_info      info;
    const char            *what;
};

/* Look for a matching message. Returns TERN_PENDING if there is none. */
static tern_status look(struct probing *p)
{
    return tern_op_tagged_find(p->ctx, &p->name, p->care, &p->info, p->found);
}

static tern_status probe_poll(void *arg)
{
    struct probing *p = arg;
    tern_status     st;

    tern_core_ctx_progress(p->ctx);
    if ((st = look(p)) != TERN_PENDING || !tern_op_tagged_deserted(p->ctx, &p->name))
        return st;
    if ((st = look(p)) != TERN_PENDING) /* it arrived before the last sender died */
        return st;
    return tern_api_deserted(&p->name, p->what);
}

static void probe_describe(void *arg, char *text, size_t size)
{
    const struct probing *p = arg;

    snprintf(text, size, "%s waits for a message", p->what);
}

/* found: NULL for a probe that leaves the message stored. */
static tern_status probe(tern_ctx *ctx, const struct wish *wish, tern_deadline deadline, tern_message **found,
                         tern_request_info *info, const char *what)
{
    struct probing   p = { .ctx = ctx, .care = (uint64_t)wish->mask, .found = found, .what = what };
    struct tern_wait wait = { .poll = probe_poll, .describe = probe_describe, .arg = &p, .deadline = deadline };
    tern_status      st;

    if (!ctx || ctx->gone)
        return tern_core_ctx_check(ctx, what);
    if ((st = check_wish(ctx, wish, what)) < 0)
        return st;
    if (found && !ctx->tagged && !tern_op_request_make(ctx)) /* the context must have tagged state from now on */
        return no_memory(ctx, what);
    p.name = (struct tern_match_name){
        .scope = ctx->team->group->id, .tag = tag_of(wish), .source = source_of(ctx, wish), .class = class_of(wish)
    };
    tern_core_ctx_progress(ctx);
    if ((st = look(&p)) == TERN_PENDING)
        st = tern_core_wait(&wait);
    if (st == TERN_OK && info)
        *info = p.info;
    return st;
}

tern_status tern_probe(tern_ctx *ctx, int source, int64_t tag, tern_deadline deadline, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_probe");

    if (use.status < 0)
        return use.status;

    return probe(ctx, &(struct wish){ source, tag, EVERY_BIT }, deadline, NULL, info, "tern_probe");
}

tern_status tern_probe_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, tern_deadline deadline,
                              tern_request_info *info)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_probe_masked");

    if (use.status < 0)
        return use.status;

    return probe(ctx, &(struct wish){ source, tag, mask }, deadline, NULL, info, "tern_probe_masked");
}

tern_status tern_mprobe(tern_ctx *ctx, int source, int64_t tag, tern_deadline deadline, tern_message **out,
                        tern_request_info *info)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_mprobe");

    if (use.status < 0)
        return use.status;

    if (!out)
        return tern_api_null("tern_mprobe", "out");
    return probe(ctx, &(struct wish){ source, tag, EVERY_BIT }, deadline, out, info, "tern_mprobe");
}

tern_status tern_mprobe_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, tern_deadline deadline,
                               tern_message **out, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_mprobe_masked");

    if (use.status < 0)
        return use.status;

    if (!out)
        return tern_api_null("tern_mprobe_masked", "out");
    return probe(ctx, &(struct wish){ source, tag, mask }, deadline, out, info, "tern_mprobe_masked");
}

static tern_status start_mrecv(tern_message **message, void *buf, size_t size, bool waits, tern_request **out,
                               const char *what)
{
    struct tern_request *request;

    if (!message || !*message)
        return tern_api_null(what, message ? "*message" : "message");
    if (!out || (!buf && size > 0))
        return is_null((*message)->ctx, buf, size, what);
    if (!(request = tern_op_request_new((*message)->ctx, TERN_REQUEST_RECV)))
        return no_memory((*message)->ctx, what);
    request->buffer = buf;
    request->size = size;
    if (!tern_op_tagged_start_mrecv(request, *message, waits)) {
        tern_op_request_drop(request);
        return no_memory((*message)->ctx, what);
    }
    *message = NULL;
    *out = request;
    return TERN_OK;
}

tern_status tern_imrecv(tern_message **message, void *buf, size_t size, tern_request **out)
{
    return start_mrecv(message, buf, size, false, out, "tern_imrecv");
}

tern_status tern_mrecv(tern_message **message, void *buf, size_t size, tern_request_info *info)
{
    tern_ctx     *ctx = message && *message ? (*message)->ctx : NULL;
    tern_request *request;
    tern_status   st;

    if (tern_core_in_handler())
        return in_handler("tern_mrecv");
    st = start_mrecv(message, buf, size, true, &request, "tern_mrecv");
    return st < 0 ? st : finish(ctx, &request, info, "tern_mrecv");
}
