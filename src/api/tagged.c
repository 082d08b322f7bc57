/* tagged.c: the public calls of tern/tagged.h that receive and probe. The calls that send are in tagged_send.c. */
#include <tern/tagged.h>

#include <stdio.h>

#include "api/check.h"
#include "api/request.h"
#include "api/shared.h"
#include "api/tagged.h"
#include "api/use.h"
#include "core/message.h"
#include "core/wait.h"

tern_status tern_api_bad_rank(const tern_ctx *ctx, int rank, const char *what)
{
    if (tern_api_is_shared(ctx) && (uint32_t)rank < (uint32_t)ctx->team->size)
        return TERN_API_IS_SHARED;
    return tern_api_no_rank(ctx, rank, what);
}

tern_status tern_api_bad_tag(int64_t tag, const char *what)
{
    return tern_base_fail(TERN_ERR_RANGE, "%s: tag %lld; tags are 0 to TERN_TAG_MAX (2^62 - 1)", what, (long long)tag);
}

tern_status tern_api_no_request(const tern_ctx *ctx, const char *what)
{
    tern_status st = tern_api_is_shared(ctx) ? TERN_API_IS_SHARED : tern_core_ctx_check(ctx, what);

    return st < 0 ? st : tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for a request", what);
}

tern_status tern_api_tagged_null(const tern_ctx *ctx, const void *buf, size_t len, const char *what)
{
    tern_status st = tern_core_ctx_check(ctx, what);

    if (st < 0)
        return st;
    if (!buf && len > 0)
        return tern_base_fail(TERN_ERR_ARG, "%s: buf is NULL, but its length is %zu", what, len);
    return tern_api_null(what, "out");
}

__attribute__((cold)) tern_status tern_api_deserted(const struct tern_match_name *name, const char *what)
{
    if (tern_op_match_any_source(name))
        return tern_base_fail(TERN_ERR_PEER, "%s: all other ranks, which could send, are gone", what);
    return tern_base_fail(TERN_ERR_PEER, "%s: rank %d of the job, which was to send, is gone", what, name->source);
}

tern_status tern_api_tagged_in_handler(const char *what)
{
    return tern_base_fail(TERN_ERR_STATE, "%s: %s must not wait for this", what, tern_core_handler_kind());
}

tern_status tern_api_tagged_finish(tern_ctx *ctx, tern_request **request, tern_request_info *info, const char *what)
{
    tern_status st = tern_api_request_wait(request, tern_core_ctx_deadline(ctx), info, what);

    if (TERN_UNLIKELY(*request != NULL))
        tern_op_request_abandon(*request);
    return st;
}

/* ---- receives ---- */

/* The messages that a receive or probe accepts: from one source or any source, with one tag, any tag, or a masked
 * tag. */
struct criteria {
    int     source;
    int64_t tag, mask; /* mask: all bits if there is no mask */
};

#define EVERY_BIT TERN_TAG_MAX

static inline tern_status check_criteria(const tern_ctx *ctx, const struct criteria *criteria, const char *what)
{
    if (TERN_UNLIKELY(criteria->source != TERN_ANY_SOURCE &&
                      (criteria->source < 0 || criteria->source >= ctx->team->size)))
        return tern_api_bad_rank(ctx, criteria->source, what);
    if (TERN_UNLIKELY(criteria->tag != TERN_ANY_TAG && (criteria->tag < 0 || criteria->tag > TERN_TAG_MAX)))
        return tern_api_bad_tag(criteria->tag, what);
    if (TERN_UNLIKELY(criteria->mask < 0 || criteria->mask > TERN_TAG_MAX))
        return tern_base_fail(TERN_ERR_RANGE, "%s: mask 0x%llx; masks are 0 to TERN_TAG_MAX (2^62 - 1)", what,
                              (unsigned long long)criteria->mask);
    return TERN_OK;
}

static inline uint32_t class_of(const struct criteria *criteria)
{
    bool any = criteria->source == TERN_ANY_SOURCE;

    if (criteria->tag == TERN_ANY_TAG || criteria->mask == 0)
        return TERN_MATCH_ANY_TAG | (any ? TERN_MATCH_ANY_SOURCE : 0);
    if (criteria->mask == EVERY_BIT)
        return any ? TERN_MATCH_ANY_SOURCE : 0;
    return any ? TERN_MATCH_BITS_ANY_SOURCE : TERN_MATCH_BITS;
}

static inline int source_of(const tern_ctx *ctx, const struct criteria *criteria)
{
    return criteria->source == TERN_ANY_SOURCE ? 0 : tern_core_team_world(ctx->team, criteria->source);
}

static inline uint64_t tag_of(const struct criteria *criteria)
{
    return criteria->tag == TERN_ANY_TAG ? 0 : (uint64_t)criteria->tag;
}

/* Check the arguments, and create the request of a receive without starting it. Inlined, because the arguments of the
 * common calls are known at compile time. */
static inline __attribute__((always_inline)) tern_status recv_request(tern_ctx *ctx, const struct criteria *criteria,
                                                                      void *buf, size_t size, tern_request **out,
                                                                      const char *what)
{
    struct tern_request *request;
    tern_status          st;

    if (TERN_UNLIKELY(!ctx || !out || (!buf && size > 0)))
        return tern_api_tagged_null(ctx, buf, size, what);
    if ((st = check_criteria(ctx, criteria, what)) < 0)
        return st;
    if (!(request = tern_op_request_new(ctx, TERN_REQUEST_RECV)))
        return tern_api_no_request(ctx, what);
    request->buffer = buf;
    request->size = size;
    request->peer = source_of(ctx, criteria);
    request->class = (uint8_t)class_of(criteria);
    request->match.tag = tag_of(criteria);
    request->match.care = (uint64_t)criteria->mask;
    *out = request;
    return TERN_OK;
}

static inline __attribute__((always_inline)) tern_status start_recv(tern_ctx *ctx, const struct criteria *criteria,
                                                                    void *buf, size_t size, bool waits,
                                                                    tern_request **out, const char *what)
{
    tern_request *request = NULL;
    tern_status   st = out ? recv_request(ctx, criteria, buf, size, &request, what) : tern_api_null(what, "out");

    if (TERN_UNLIKELY(st < 0))
        return st;
    if (TERN_UNLIKELY(!tern_op_tagged_recv_again(request, ctx->team->group->id, tag_of(criteria),
                                                 source_of(ctx, criteria), class_of(criteria)) &&
                      !tern_op_tagged_start_recv(request, waits))) {
        tern_op_request_drop(request);
        (void)tern_api_no_request(ctx, what);
        return TERN_ERR_NOMEM;
    }
    *out = request;
    return TERN_OK;
}

/* Receives on a shared context. */
static __attribute__((cold, noinline)) tern_status irecv_shared(tern_ctx *ctx, int source, int64_t tag, void *buf,
                                                                size_t size, tern_request **out)
{
    return TERN_API_LOCKED(inner, ctx, tern_api_mark_shared(tern_irecv(inner, source, tag, buf, size, out), out));
}

static __attribute__((cold, noinline)) tern_status recv_shared(tern_ctx *ctx, int source, int64_t tag, void *buf,
                                                               size_t size, tern_request_info *info)
{
    return TERN_API_LOCKED(inner, ctx, tern_recv(inner, source, tag, buf, size, info));
}

tern_status tern_irecv(tern_ctx *ctx, int source, int64_t tag, void *buf, size_t size, tern_request **out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_irecv");

    if (use.status < 0)
        return use.status;

    tern_status st = start_recv(ctx, &(struct criteria){ source, tag, EVERY_BIT }, buf, size, false, out, "tern_irecv");

    return TERN_LIKELY(st != TERN_API_IS_SHARED) ? st : irecv_shared(ctx, source, tag, buf, size, out);
}

tern_status tern_irecv_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, void *buf, size_t size,
                              tern_request **out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_irecv_masked");

    if (use.status < 0)
        return use.status;

    tern_status st =
        start_recv(ctx, &(struct criteria){ source, tag, mask }, buf, size, false, out, "tern_irecv_masked");

    return TERN_LIKELY(st != TERN_API_IS_SHARED)
               ? st
               : TERN_API_LOCKED(
                     inner, ctx,
                     tern_api_mark_shared(tern_irecv_masked(inner, source, tag, mask, buf, size, out), out));
}

tern_status tern_recv(tern_ctx *ctx, int source, int64_t tag, void *buf, size_t size, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_recv");

    if (use.status < 0)
        return use.status;

    tern_request *request;
    tern_status   st;

    if (TERN_UNLIKELY(tern_core_in_handler()))
        return tern_api_tagged_in_handler("tern_recv");
    st = start_recv(ctx, &(struct criteria){ source, tag, EVERY_BIT }, buf, size, true, &request, "tern_recv");
    if (TERN_UNLIKELY(st < 0))
        return st == TERN_API_IS_SHARED ? recv_shared(ctx, source, tag, buf, size, info) : st;
    return tern_api_tagged_finish(ctx, &request, info, "tern_recv");
}

static tern_status make_recv(tern_ctx *ctx, const struct criteria *criteria, void *buf, size_t size, tern_request **out,
                             const char *what)
{
    tern_status st = recv_request(ctx, criteria, buf, size, out, what);

    if (st == TERN_API_IS_SHARED)
        return TERN_API_LOCKED(inner, ctx, tern_api_mark_shared(make_recv(inner, criteria, buf, size, out, what), out));
    if (st == TERN_OK)
        (*out)->persistent = true;
    return st;
}

tern_status tern_recv_create(tern_ctx *ctx, int source, int64_t tag, void *buf, size_t size, tern_request **out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_recv_create");

    if (use.status < 0)
        return use.status;

    return make_recv(ctx, &(struct criteria){ source, tag, EVERY_BIT }, buf, size, out, "tern_recv_create");
}

tern_status tern_recv_create_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, void *buf, size_t size,
                                    tern_request **out)
{
    TERN_API_USE use = tern_api_use(ctx, "tern_recv_create_masked");

    if (use.status < 0)
        return use.status;

    return make_recv(ctx, &(struct criteria){ source, tag, mask }, buf, size, out, "tern_recv_create_masked");
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
    if ((st = look(p)) != TERN_PENDING) /* a message may have arrived before the last sender died */
        return st;
    return tern_api_deserted(&p->name, p->what);
}

static void probe_describe(void *arg, char *text, size_t size)
{
    const struct probing         *p = arg;
    const struct tern_tagged_text of = tern_op_tagged_text(&p->name, true);

    snprintf(text, size, "%s waits for a message from %s of the job with %s", p->what, of.source, of.tag);
}

/* Probe for a message. found is NULL if the message stays stored. */
static tern_status probe(tern_ctx *ctx, const struct criteria *criteria, tern_deadline deadline, tern_message **found,
                         tern_request_info *info, const char *what)
{
    if (tern_api_is_shared(ctx))
        return TERN_API_LOCKED(inner, ctx, probe(inner, criteria, deadline, found, info, what));

    struct probing   p = { .ctx = ctx, .care = (uint64_t)criteria->mask, .found = found, .what = what };
    struct tern_wait wait = { .poll = probe_poll, .describe = probe_describe, .arg = &p, .deadline = deadline };
    tern_status      st;

    if (!ctx || ctx->gone)
        return tern_core_ctx_check(ctx, what);
    if ((st = check_criteria(ctx, criteria, what)) < 0)
        return st;
    if (found && !ctx->tagged && !tern_op_request_make(ctx)) /* a context that holds a message needs tagged state */
        return tern_api_no_request(ctx, what);
    p.name = (struct tern_match_name){ .scope = ctx->team->group->id,
                                       .tag = tag_of(criteria),
                                       .source = source_of(ctx, criteria),
                                       .class = class_of(criteria) };
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

    return probe(ctx, &(struct criteria){ source, tag, EVERY_BIT }, deadline, NULL, info, "tern_probe");
}

tern_status tern_probe_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, tern_deadline deadline,
                              tern_request_info *info)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_probe_masked");

    if (use.status < 0)
        return use.status;

    return probe(ctx, &(struct criteria){ source, tag, mask }, deadline, NULL, info, "tern_probe_masked");
}

tern_status tern_mprobe(tern_ctx *ctx, int source, int64_t tag, tern_deadline deadline, tern_message **out,
                        tern_request_info *info)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_mprobe");

    if (use.status < 0)
        return use.status;

    if (!out)
        return tern_api_null("tern_mprobe", "out");
    return probe(ctx, &(struct criteria){ source, tag, EVERY_BIT }, deadline, out, info, "tern_mprobe");
}

tern_status tern_mprobe_masked(tern_ctx *ctx, int source, int64_t tag, int64_t mask, tern_deadline deadline,
                               tern_message **out, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use_waiting(ctx, "tern_mprobe_masked");

    if (use.status < 0)
        return use.status;

    if (!out)
        return tern_api_null("tern_mprobe_masked", "out");
    return probe(ctx, &(struct criteria){ source, tag, mask }, deadline, out, info, "tern_mprobe_masked");
}

static tern_status start_mrecv(tern_message **message, void *buf, size_t size, bool waits, tern_request **out,
                               const char *what)
{
    struct tern_request *request;
    tern_status          st;

    if (!message || !*message)
        return tern_api_null(what, message ? "*message" : "message");
    if ((st = tern_core_job_running(what)) < 0) /* otherwise the message does not exist any more */
        return st;
    if (!tern_core_shared_holds((*message)->ctx)) {
        st = TERN_API_LOCKED(inner, (*message)->ctx->handle, start_mrecv(message, buf, size, waits, out, what));
        return out ? tern_api_mark_shared(st, out) : st;
    }
    if (!out || (!buf && size > 0))
        return tern_api_tagged_null((*message)->ctx, buf, size, what);
    if (!(request = tern_op_request_new((*message)->ctx, TERN_REQUEST_RECV)))
        return tern_api_no_request((*message)->ctx, what);
    request->buffer = buf;
    request->size = size;
    if (!tern_op_tagged_start_mrecv(request, *message, waits)) {
        tern_op_request_drop(request);
        return tern_api_no_request((*message)->ctx, what);
    }
    *message = NULL;
    *out = request;
    return TERN_OK;
}

/* Return the context of a message in debug builds; NULL: none. */
static inline struct tern_ctx *ctx_of(tern_message *const *message)
{
    return TERN_BASE_DEBUG && message && *message && tern_core_job_is_running() ? (*message)->ctx : NULL;
}

tern_status tern_imrecv(tern_message **message, void *buf, size_t size, tern_request **out)
{
    TERN_API_USE use = tern_api_use(ctx_of(message), "tern_imrecv");

    if (use.status < 0)
        return use.status;

    return start_mrecv(message, buf, size, false, out, "tern_imrecv");
}

tern_status tern_mrecv(tern_message **message, void *buf, size_t size, tern_request_info *info)
{
    TERN_API_USE use = tern_api_use_waiting(ctx_of(message), "tern_mrecv");

    if (use.status < 0)
        return use.status;

    tern_ctx     *ctx = message && *message && tern_core_job_is_running() ? (*message)->ctx : NULL;
    tern_request *request;
    tern_status   st;

    if (tern_core_in_handler())
        return tern_api_tagged_in_handler("tern_mrecv");
    if (ctx && !tern_core_shared_holds(ctx))
        return TERN_API_LOCKED(inner, ctx->handle, tern_mrecv(message, buf, size, info));
    st = start_mrecv(message, buf, size, true, &request, "tern_mrecv");
    return st < 0 ? st : tern_api_tagged_finish(ctx, &request, info, "tern_mrecv");
}
