/* notify.c: every form of a notified access, of every length, over every path.
 *
 * Promise: a notification reports the initiator of the access, the tag, and the number of bytes; it arrives once; when
 * it arrives, a put's data is in place, and a get's data has been read, so that the target may overwrite it. A
 * notification without an access arrives too, also at a rank whose part is empty. The event of a notified access
 * completes when the target has been notified; then, as after tern_quiet, every rank sees a put's data, although the
 * target has not called Tern since. With TERN_IMMEDIATE an access that finds no space has no effect. Invalid calls are
 * refused with a text that names the mistake.
 *
 * sanitized: 2 8
 * env: TERN_CMA=off
 * providers: net
 */
#include "job_test.h"

#define LONGEST 70000u
#define SLOT 70080u /* of a source in a part */

static const size_t lengths[] = { 0, 1, 8, 24, 25, 64, 1000, 5000, LONGEST };
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

/* How the call is made. */
enum form { BLOCKING, EVENT, IMPLICIT, IMMEDIATE, VECTOR, INDEXED, STRIDED, FORMS };

struct scene {
    tern_ctx         *ctx;
    struct job_region r;
    unsigned char    *buffer; /* LONGEST bytes */
    unsigned          round;
};

/* The bytes of a contiguous access in shapes that cannot be merged into one extent: the second half before the first,
 * or each byte by itself from the last to the first. */
static tern_status shaped(const struct scene *s, enum form form, int to, uint64_t offset, size_t len, uint32_t tag,
                          bool get)
{
    size_t       half = len / 2, last = len > 0 ? len - 1 : 0, parts = len % 2 ? 1 : 2;
    tern_piece   piece[] = { { s->buffer + half, len - half }, { s->buffer, half } };
    tern_extent  extent[] = { { offset + half, len - half }, { offset, half } };
    tern_vector  vector = TERN_VECTOR(.local_count = 2, .local = piece, .remote_count = 2, .remote = extent);
    void        *addr[] = { s->buffer + (parts - 1) * half, s->buffer };
    uint64_t     at[] = { offset + (parts - 1) * half, offset };
    tern_indexed indexed = TERN_INDEXED(.local_count = parts, .local_len = len / parts, .local = addr,
                                        .remote_count = parts, .remote_len = len / parts, .remote = at);
    tern_strided strided =
        TERN_STRIDED(.dims = 1, .element = 1, .count = (size_t[]){ len }, .local = s->buffer + last,
                     .local_stride = (ptrdiff_t[]){ -1 }, .remote = offset + last, .remote_stride = (int64_t[]){ -1 });
    tern_region *region = s->r.region;
    tern_event   event;
    tern_opts    opts = TERN_OPTS(.flags = TERN_NOTIFY, .tag = tag, .event = form == STRIDED ? NULL : &event);

    switch (form) {
    case VECTOR:
        OK(get ? tern_get_vector_with(s->ctx, region, to, &vector, &opts)
               : tern_put_vector_with(s->ctx, region, to, &vector, &opts));
        return tern_event_wait(&event, TERN_FOREVER);
    case INDEXED:
        OK(get ? tern_get_indexed_with(s->ctx, region, to, &indexed, &opts)
               : tern_put_indexed_with(s->ctx, region, to, &indexed, &opts));
        return tern_event_wait(&event, TERN_FOREVER);
    default:
        OK(get ? tern_get_strided_with(s->ctx, region, to, &strided, &opts)
               : tern_put_strided_with(s->ctx, region, to, &strided, &opts));
        return tern_quiet(s->ctx);
    }
}

static tern_status immediate(const struct scene *s, int to, uint64_t offset, size_t len, uint32_t tag, bool get)
{
    tern_event  near, event;
    tern_opts   opts = TERN_OPTS(.flags = TERN_IMMEDIATE | TERN_NOTIFY, .local = &near, .event = &event, .tag = tag);
    tern_status st;

    while ((st = get ? tern_get_with(s->ctx, s->r.region, to, offset, s->buffer, len, &opts)
                     : tern_put_with(s->ctx, s->r.region, to, offset, s->buffer, len, &opts)) == TERN_AGAIN)
        OK(tern_progress(s->ctx));
    if (st == TERN_OK)
        OK(tern_event_wait(&near, TERN_FOREVER));
    return st == TERN_OK ? tern_event_wait(&event, TERN_FOREVER) : st;
}

static tern_status access_by(const struct scene *s, enum form form, int to, uint64_t offset, size_t len, uint32_t tag,
                             bool get)
{
    tern_region *region = s->r.region;
    tern_event   event;

    switch (form) {
    case BLOCKING:
        if (len == 0 && tag % 2)
            return tern_notify(s->ctx, region, to, tag);
        return get ? tern_get_notify(s->ctx, region, to, offset, s->buffer, len, tag)
                   : tern_put_notify(s->ctx, region, to, offset, s->buffer, len, tag);
    case EVENT:
        OK(get ? tern_get_notify_nb(s->ctx, region, to, offset, s->buffer, len, tag, &event)
               : tern_put_notify_nb(s->ctx, region, to, offset, s->buffer, len, tag, &event));
        return tern_event_wait(&event, TERN_FOREVER);
    case IMPLICIT:
        OK(get ? tern_get_notify_nbi(s->ctx, region, to, offset, s->buffer, len, tag)
               : tern_put_notify_nbi(s->ctx, region, to, offset, s->buffer, len, tag));
        return tern_quiet(s->ctx);
    case IMMEDIATE: return immediate(s, to, offset, len, tag, get);
    default: return shaped(s, form, to, offset, len, tag, get);
    }
}

/* Every rank makes the access to each rank in turn, and checks the accesses made to it. */
static void one_case(struct scene *s, enum form form, size_t len, bool get)
{
    int            me = tern_rank(), ranks = tern_size();
    uint32_t       tag = 0x80000000u + s->round;
    unsigned char *slot;

    for (int from = 0; from < ranks; from++)
        job_fill(s->r.mine + (size_t)from * SLOT, len, (unsigned)me, get ? s->round : s->round + 77);
    OK(tern_barrier(s->ctx));
    for (int i = 0; i < ranks; i++) {
        int               to = (me + i) % ranks, from = (me + ranks - i) % ranks;
        tern_request     *request;
        tern_request_info info = { 0 };

        OK(tern_notify_create(s->ctx, s->r.region, from, tag, 1, &request));
        if (s->round % 2)
            OK(tern_request_start(request));
        job_fill(s->buffer, len, (unsigned)me, get ? s->round + 1000 : s->round);
        OK(access_by(s, form, to, (uint64_t)me * SLOT, len, tag, get));
        if (get)
            HOLDS(s->buffer, len, (unsigned)to, s->round);
        if (!(s->round % 2))
            OK(tern_request_start(request));
        OK(tern_request_wait(&request, TERN_FOREVER, &info));
        SAME(info.source, from);
        SAME(info.tag, tag);
        SAME(info.len, len);
        SAME(info.matches, 1);
        slot = s->r.mine + (size_t)from * SLOT;
        if (get)
            memset(slot, 0xee, len); /* the get has read it */
        else
            CHECK(job_put_holds(slot, len, (unsigned)from, s->round));
        RETURNS(TERN_ERR_STATE, tern_request_test(&request, NULL));
        OK(tern_request_start(request)); /* it arrived once */
        RETURNS(TERN_PENDING, tern_request_test(&request, NULL));
        OK(tern_request_free(&request));
    }
    s->round++;
}

static void all_cases(struct scene *s, enum job_kind kind)
{
    job_region_make(&s->r, kind, (uint64_t)tern_size() * SLOT);
    for (unsigned form = 0; form < FORMS; form++)
        for (size_t i = 0; i < LENGTHS; i++) {
            one_case(s, form, lengths[i], false);
            one_case(s, form, lengths[i], true);
        }
    OK(tern_barrier(s->ctx));
    job_region_drop(&s->r);
}

/* Ranks with an empty part can be notified; ranks outside the region's team cannot. */
static void empty_parts(void)
{
    int           me = tern_rank(), right = (me + 1) % tern_size(), left = (me + tern_size() - 1) % tern_size();
    unsigned char byte = 0;
    tern_request *request;
    tern_region  *region;

    OK(tern_region_register(TERN_WORLD, NULL, 0, &region));
    OK(tern_notify_create(TERN_WORLD, region, left, 5, 2, &request));
    OK(tern_request_start(request));
    OK(tern_notify(TERN_WORLD, region, right, 5));
    RETURNS(TERN_ERR_RANGE, tern_put_notify(TERN_WORLD, region, right, 0, &byte, 1, 5));
    SAYS("tern_put_notify: 1 bytes at offset 0 do not lie in the 0 bytes of rank");
    RETURNS(TERN_ERR_RANGE, tern_put_notify(TERN_WORLD, region, right, 1, &byte, 0, 5));
    OK(tern_put_notify(TERN_WORLD, region, right, 0, &byte, 0, 5));
    OK(tern_request_wait(&request, TERN_FOREVER, NULL));
    OK(tern_request_free(&request));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
}

/* Rank 0 puts and the last rank reads, while rank 1, the notified target, makes no call until the data has been
 * read. */
static void seen_by_others(enum job_kind kind)
{
    enum { PUTS = 24, STEP = 64, END = PUTS * STEP };
    int               me = tern_rank(), reader = tern_size() - 1;
    unsigned char     data[STEP], got[STEP];
    struct job_region r;
    tern_request     *told;

    if (tern_size() < 2)
        return;
    reader = reader == 1 ? 0 : reader; /* the reader is the source, then */
    job_region_make(&r, kind, END + 8);
    OK(tern_notify_create(TERN_WORLD, r.region, 0, 3, 1, &told));
    OK(tern_request_start(told));
    OK(tern_barrier(TERN_WORLD));
    if (me == 0) {
        for (unsigned i = 0; i < PUTS; i++) {
            job_fill(data, sizeof(data), 0, i);
            if (i % 2) {
                OK(tern_put_notify_nbi(TERN_WORLD, r.region, 1, i * STEP, data, 1 + i * 2, 4));
                OK(tern_quiet(TERN_WORLD));
            } else {
                OK(tern_put_notify(TERN_WORLD, r.region, 1, i * STEP, data, 1 + i * 2, 4));
            }
        }
        OK(tern_notify(TERN_WORLD, r.region, reader, 3));
    }
    if (me == reader) {
        OK(tern_request_wait(&told, TERN_FOREVER, NULL));
        for (unsigned i = 0; i < PUTS; i++) {
            OK(tern_get(TERN_WORLD, r.region, 1, i * STEP, got, 1 + i * 2));
            HOLDS(got, 1 + i * 2, 0, i);
        }
        OK(tern_put_u64(TERN_WORLD, r.region, 1, END, 1));
    }
    while (me == 1 && __atomic_load_n((uint64_t *)(void *)(r.mine + END), __ATOMIC_ACQUIRE) == 0)
        usleep(100);
    OK(tern_request_free(&told));
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&r);
}

static void refusals(void)
{
    unsigned char byte = 0;
    tern_event    event = { NULL };
    tern_opts     opts = TERN_OPTS(.flags = TERN_NOTIFY | TERN_WANT_EVENT);
    tern_request *request;
    tern_region  *region;

    OK(tern_region_create(TERN_WORLD, 64, NULL, &region));
    RETURNS(TERN_ERR_ARG, tern_put_notify(NULL, region, 0, 0, &byte, 1, 0));
    SAYS("tern_put_notify: ctx is NULL");
    RETURNS(TERN_ERR_ARG, tern_put_notify(TERN_WORLD, NULL, 0, 0, &byte, 1, 0));
    SAYS("tern_put_notify: region is NULL");
    RETURNS(TERN_ERR_ARG, tern_put_notify(TERN_WORLD, region, 0, 0, NULL, 1, 0));
    SAYS("tern_put_notify: src is NULL, but len is");
    RETURNS(TERN_ERR_RANGE, tern_put_notify(TERN_WORLD, region, tern_size(), 0, &byte, 1, 0));
    RETURNS(TERN_ERR_RANGE, tern_put_notify(TERN_WORLD, region, -1, 0, &byte, 1, 0));
    SAYS("tern_put_notify: no rank -1 in a team of");
    RETURNS(TERN_ERR_RANGE, tern_get_notify(TERN_WORLD, region, 0, 64, &byte, 1, 0));
    SAYS("tern_get_notify: 1 bytes at offset 64 do not lie in the 64 bytes of rank 0");
    RETURNS(TERN_ERR_RANGE, tern_get_notify(TERN_WORLD, region, 0, UINT64_MAX, &byte, 2, 0));
    RETURNS(TERN_ERR_ARG, tern_notify(NULL, region, 0, 0));
    SAYS("tern_notify: ctx");
    RETURNS(TERN_ERR_ARG, tern_put_notify_nb(TERN_WORLD, region, 0, 0, &byte, 1, 0, NULL));
    SAYS("event is NULL");
    RETURNS(TERN_ERR_ARG, tern_put_with(TERN_WORLD, region, 0, 0, &byte, 1, &opts));
    opts.event = &event;
    opts.flags |= 0x80;
    RETURNS(TERN_ERR_ARG, tern_put_with(TERN_WORLD, region, 0, 0, &byte, 1, &opts));
    SAYS("unknown flags 0x");
    OK(tern_notify_create(TERN_WORLD, region, TERN_ANY_SOURCE, TERN_ANY_TAG, 1, &request));
    OK(tern_barrier(TERN_WORLD));
    RETURNS(TERN_PENDING, tern_notify_probe(request, NULL)); /* none of them has sent a notification */
    OK(tern_request_free(&request));
    OK(tern_region_free(region));
}

int main(void)
{
    struct scene s = { .round = 1 };

    OK(tern_init());
    s.buffer = job_new(LONGEST);
    s.ctx = TERN_WORLD;
    all_cases(&s, JOB_HOST);
    all_cases(&s, JOB_REGISTERED);
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &s.ctx));
    all_cases(&s, JOB_REGISTERED);
    OK(tern_ctx_free(s.ctx));
    seen_by_others(JOB_HOST);
    seen_by_others(JOB_REGISTERED);
    empty_parts();
    refusals();
    free(s.buffer);
    OK(tern_finalize());
    return 0;
}
