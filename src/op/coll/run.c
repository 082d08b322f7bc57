/* run.c: executing the steps of a collective operation. See coll.h. The caller holds the lock of the station. */
#include <stdio.h>
#include <string.h>

#include "core/job.h"
#include "op/coll/check.h"
#include "op/coll/coll.h"
#include "op/coll/direct_with.h"
#include "op/coll/tag.h"
#include "op/tagged/tagged.h"

/* Number of polls without progress after which every poll searches for a call that does not match. A thread polls more
 * often than that before it sleeps, and polls again when a message wakes it. */
#define LOOKS 2

/* ---- messages ---- */

static uint64_t tag_of(const struct tern_coll *c, const struct tern_coll_step *step)
{
    return TERN_UNLIKELY(step->checks) ? tag_special(c->tag, TAG_COMPARES) : c->tag;
}

static const char *direction(const struct tern_coll_step *step)
{
    return step->kind == TERN_COLL_SEND ? "to" : "from";
}

static struct tern_request *request_new(struct tern_coll *c, struct tern_coll_step *step, enum tern_request_kind kind)
{
    struct tern_request *request = tern_op_request_new(c->station->ctx, kind);

    if (!request) {
        tern_op_coll_fail(c, TERN_ERR_NOMEM,
                          "%s: no memory for the request of a message of %zu bytes %s rank %d of the team", c->op.call,
                          step->bytes, direction(step), step->peer);
        return NULL;
    }
    request->peer = tern_core_team_world(c->station->team, step->peer);
    request->class = 0;
    request->match.tag = tag_of(c, step);
    request->match.care = UINT64_MAX;
    request->size = step->bytes;
    step->request = request;
    return request;
}

static void send(struct tern_coll *c, struct tern_coll_step *step)
{
    struct tern_ctx     *ctx = c->station->ctx;
    int                  peer = tern_core_team_world(c->station->team, step->peer);
    struct tern_request *request;
    tern_status          st = tern_op_tagged_send_now(ctx, peer, tag_of(c, step), step->from, step->bytes);

    if (st == TERN_AGAIN) {
        if (!(request = request_new(c, step, TERN_REQUEST_SEND)))
            return;
        memcpy(&request->buffer, &step->from, sizeof(request->buffer)); /* a send does not write to it */
        if ((st = tern_op_tagged_start_send(request)) < 0) {
            tern_op_request_drop(request);
            step->request = NULL;
        }
    }
    if (st < 0)
        tern_op_coll_fail(c, st, "%s: cannot send %zu bytes to rank %d of the team: %s", c->op.call, step->bytes,
                          step->peer, tern_base_detail());
}

static void recv(struct tern_coll *c, struct tern_coll_step *step)
{
    struct tern_request *request = request_new(c, step, TERN_REQUEST_RECV);

    if (!request)
        return;
    request->buffer = step->to;
    if (!c->blocks)
        request->watch |= TERN_REQUEST_BACKGROUND;
    if (!tern_op_tagged_start_recv(request, true)) { /* the thread that advances the operation fetches the data */
        tern_op_request_drop(request);
        step->request = NULL;
        tern_op_coll_fail(c, TERN_ERR_NOMEM, "%s: no memory to receive %zu bytes from rank %d of the team", c->op.call,
                          step->bytes, step->peer);
    }
}

static void check(struct tern_coll *c, const struct tern_coll_step *step, const struct tern_request *request)
{
    if (request->status < 0 && request->status != TERN_ERR_TRUNCATED)
        tern_op_coll_fail(
            c, request->status, "%s: a message of %zu bytes %s rank %d of the team (rank %d of the job) failed: %s",
            c->op.call, step->bytes, direction(step), step->peer, request->peer, tern_strerror(request->status));
    else if (step->kind == TERN_COLL_RECV && request->len != step->bytes)
        tern_op_coll_fail(c, TERN_ERR_ARG,
                          "%s: rank %d of the team sent %llu bytes, but this rank, %d, expects %zu; the lengths of all "
                          "ranks must match",
                          c->op.call, step->peer, (unsigned long long)request->len, c->rank, step->bytes);
}

/* Complete the requests that are done. Returns whether none is left. */
static bool collect(struct tern_coll *c)
{
    bool first = true;

    for (uint32_t i = c->oldest; i < c->next; i++) {
        struct tern_coll_step *step = &c->step[i];

        if (step->request && tern_op_request_state(step->request) == TERN_REQUEST_DONE) {
            check(c, step, step->request);
            tern_op_request_drop(step->request);
            step->request = NULL;
        }
        if (step->request)
            first = false;
        else if (first)
            c->oldest = i + 1;
    }
    return first;
}

/* ---- steps ---- */

static void pack(const struct tern_coll_step *step)
{
    for (size_t i = 0; i < step->count; i++)
        memcpy(step->to + i * step->to_stride, step->from + i * step->from_stride, step->bytes);
}

/* Execute a step. Returns false if it must wait. */
static bool execute(struct tern_coll *c, struct tern_coll_step *step)
{
    switch ((enum tern_coll_step_kind)step->kind) {
    case TERN_COLL_SEND: send(c, step); break;
    case TERN_COLL_RECV: recv(c, step); break;
    case TERN_COLL_WAIT: return collect(c);
    case TERN_COLL_COPY: memmove(step->to, step->from, step->bytes); break;
    case TERN_COLL_PACK: pack(step); break;
    case TERN_COLL_COMPARE: tern_op_coll_compare(c, step); break;
    case TERN_COLL_MEET: tern_op_direct_with_meet(c); break;
    case TERN_COLL_AGREE: tern_op_direct_with_agree(c); break;
    case TERN_COLL_WORK:
        if (tern_op_coll_is_brief())
            return false;
        tern_op_direct_with_work(c);
        break;
    case TERN_COLL_COMBINE:
        if (!tern_op_coll_combine(&c->how, step->to, step->from, step->with, step->bytes))
            tern_op_coll_fail(c, TERN_ERR_NOMEM, "%s: no memory for an element", c->op.call);
        break;
    }
    return true;
}

/* ---- mismatches ---- */

/* The oldest message of a kind that is not complete; NULL: none. */
static const struct tern_coll_step *awaited(const struct tern_coll *c, enum tern_coll_step_kind kind)
{
    for (uint32_t i = c->oldest; i < c->next; i++)
        if (c->step[i].request && c->step[i].kind == kind)
            return &c->step[i];
    return NULL;
}

bool tern_op_coll_run(struct tern_coll *c, bool *over)
{
    uint32_t before = c->next, oldest = c->oldest;
    bool     empty;

    while (c->status == TERN_OK && c->next < c->steps && execute(c, &c->step[c->next]))
        c->next++;
    empty = collect(c);
    if (c->status < 0 && c->status != TERN_ERR_PEER && !c->warned) {
        c->warned = true;
        tern_op_coll_warn(c->station, c->number, c->detail);
    }
    if (c->status < 0)
        *over = tern_op_coll_stop(c);
    else
        *over = c->next == c->steps && empty;
    if (c->next != before || c->oldest != oldest || *over) {
        c->looks = 0;
        return true;
    }
    if (++c->looks > LOOKS)
        tern_op_coll_search(c);
    return c->status < 0; /* the next poll ends the operation */
}

bool tern_op_coll_stop(struct tern_coll *c)
{
    bool over = !c->direct || c->next == 0 || tern_op_direct_with_revoke(c); /* next == 0: no arrays are published */

    for (uint32_t i = c->oldest; i < c->next; i++) {
        struct tern_coll_step *step = &c->step[i];

        if (!step->request)
            continue;
        if (step->kind == TERN_COLL_SEND) {
            tern_op_request_abandon(step->request); /* the receiver may have failed, too */
            step->request = NULL;
        } else if (tern_op_request_state(step->request) == TERN_REQUEST_DONE || tern_op_request_cancel(step->request)) {
            tern_op_request_drop(step->request);
            step->request = NULL;
        } else {
            over = false; /* the receiver is fetching the data */
        }
    }
    return over;
}

void tern_op_coll_describe(const struct tern_coll *c, char *text, size_t size)
{
    const struct tern_coll_step *in = awaited(c, TERN_COLL_RECV), *out = awaited(c, TERN_COLL_SEND);

    if (*c->detail)
        snprintf(text, size, "%s", c->detail);
    else if (c->parked)
        snprintf(text, size, "%s that waits for its counter", c->op.call);
    else if (in)
        snprintf(text, size, "%s by %s, which waits for rank %d of %d", c->op.call, c->algorithm, in->peer, c->size);
    else if (out)
        snprintf(text, size, "%s by %s, which waits until rank %d of %d receives its message", c->op.call, c->algorithm,
                 out->peer, c->size);
    else
        snprintf(text, size, "%s by %s, in step %u of %u", c->op.call, c->algorithm, c->next, c->steps);
}
