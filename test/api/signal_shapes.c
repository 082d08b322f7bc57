/* signal_shapes.c: signals behind puts of every shape.
 *
 * Promise: a put of any shape with opts->signal updates the signal after its data is in place, whether the put has an
 * event, is completed by tern_quiet, is counted, or is triggered; on memory of every kind, over every path. The signal
 * changes once. A put that is refused, because of its data or of its signal, changes neither, and the text names the
 * call.
 *
 * ranks: 1 2 4
 * env: TERN_CMA=off
 */
#include "job_test.h"

#define LONGEST (JOB_SANITIZED ? 9000u : 70000u)
#define DATA 64u /* offset of the data; the words are in front of it */

static const size_t lengths[] = { 0, 1, 8, 25, 1000, 5000, LONGEST };
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

enum shape { CONTIGUOUS, VECTOR, INDEXED, STRIDED, SHAPES };
enum form { EVENT, QUIET, IMMEDIATE, COUNTED, TRIGGERED, FORMS };

struct scene {
    tern_ctx         *ctx;
    struct job_region r;
    tern_counter     *go, *done; /* NULL: the context is strict and has no counters */
    uint64_t          went, counted;
    unsigned char    *buffer; /* LONGEST bytes */
    int               left, right;
    uint64_t          round, sum;
};

/* The bytes of the buffer in shapes that cannot be merged into one extent: the second half before the first, or each
 * byte by itself from the last to the first. */
static tern_status put(const struct scene *s, enum shape shape, size_t len, const tern_opts *opts)
{
    size_t       half = len / 2, last = len > 0 ? len - 1 : 0, parts = len % 2 ? 1 : 2;
    tern_piece   piece[] = { { s->buffer + half, len - half }, { s->buffer, half } };
    tern_extent  extent[] = { { DATA + half, len - half }, { DATA, half } };
    tern_vector  vector = TERN_VECTOR(.local_count = 2, .local = piece, .remote_count = 2, .remote = extent);
    void        *addr[] = { s->buffer + (parts - 1) * half, s->buffer };
    uint64_t     at[] = { DATA + (parts - 1) * half, DATA };
    tern_indexed indexed = TERN_INDEXED(.local_count = parts, .local_len = len / parts, .local = addr,
                                        .remote_count = parts, .remote_len = len / parts, .remote = at);
    tern_strided strided =
        TERN_STRIDED(.dims = 1, .element = 1, .count = (size_t[]){ len }, .local = s->buffer + last,
                     .local_stride = (ptrdiff_t[]){ -1 }, .remote = DATA + last, .remote_stride = (int64_t[]){ -1 });

    switch (shape) {
    case CONTIGUOUS: return tern_put_with(s->ctx, s->r.region, s->right, DATA, s->buffer, len, opts);
    case VECTOR: return tern_put_vector_with(s->ctx, s->r.region, s->right, &vector, opts);
    case INDEXED: return tern_put_indexed_with(s->ctx, s->r.region, s->right, &indexed, opts);
    default: return tern_put_strided_with(s->ctx, s->r.region, s->right, &strided, opts);
    }
}

/* Put with a signal, and complete it at this rank. */
static void give(struct scene *s, enum shape shape, enum form form, size_t len, tern_signal signal)
{
    tern_event  event = TERN_EVENT_INIT;
    tern_opts   opts = TERN_OPTS(.signal = &signal);
    tern_status st;

    if (form == EVENT || form == IMMEDIATE)
        opts.event = &event;
    if (form == IMMEDIATE)
        opts.flags = TERN_IMMEDIATE;
    if (form == COUNTED || form == TRIGGERED)
        opts.counter = s->done;
    if (form == TRIGGERED) {
        opts.when = s->go;
        opts.threshold = ++s->went;
    }
    while ((st = put(s, shape, len, &opts)) == TERN_AGAIN && form == IMMEDIATE)
        OK(tern_progress(s->ctx));
    OK(st);
    signal.value = 0; /* the call has read the description */
    if (form == TRIGGERED)
        OK(tern_counter_add(s->go, 1));
    if (opts.counter)
        OK(tern_counter_wait(s->done, ++s->counted, TERN_FOREVER));
    else if (opts.event)
        OK(tern_event_wait(&event, TERN_FOREVER));
    else
        OK(tern_quiet(s->ctx));
}

static void one_case(struct scene *s, enum shape shape, enum form form, size_t len)
{
    tern_region *region = s->r.region;
    unsigned     round = (unsigned)++s->round;
    uint64_t     seen = 0;

    job_fill(s->buffer, len, (unsigned)tern_rank(), round);
    give(s, shape, form, len, TERN_SIGNAL(.op = TERN_SIGNAL_SET, .region = region, .offset = 0, .value = round));
    OK(tern_signal_wait(s->ctx, region, 0, TERN_EQ, round, TERN_FOREVER, &seen));
    CHECK(job_put_holds(s->r.mine + DATA, len, (unsigned)s->left, round));
    give(s, shape, form, len, TERN_SIGNAL(.op = TERN_SIGNAL_ADD, .region = region, .offset = 8, .value = round));
    s->sum += round;
    OK(tern_signal_wait(s->ctx, region, 8, TERN_GE, s->sum, TERN_FOREVER, &seen));
    SAME(seen, s->sum);
    OK(tern_barrier(s->ctx));                                       /* all puts of this round are complete */
    OK(tern_signal_test(s->ctx, region, 8, TERN_EQ, s->sum, NULL)); /* it changed once */
    OK(tern_barrier(s->ctx));                                       /* before the data is overwritten */
}

static void refusals(struct scene *s)
{
    const uint64_t size = tern_region_size(s->r.region, 0);
    tern_signal    good = TERN_SIGNAL(.region = s->r.region, .offset = 16, .value = 1, .op = TERN_SIGNAL_SET);
    tern_signal    odd = TERN_SIGNAL(.region = s->r.region, .offset = 20, .value = 1, .op = TERN_SIGNAL_SET);
    tern_signal    far = TERN_SIGNAL(.region = s->r.region, .offset = size, .value = 1, .op = TERN_SIGNAL_SET);
    tern_signal    none = TERN_SIGNAL(.offset = 16, .value = 1, .op = TERN_SIGNAL_SET);
    tern_strided   box = TERN_STRIDED(.dims = 0, .element = 1, .local = s->buffer, .remote = 24);
    tern_region   *region = s->r.region;
    uint64_t       words[2] = { 7, 7 };

    s->buffer[0] = 0x55;
    REFUSES(TERN_ERR_ARG, tern_put_strided_with(s->ctx, region, s->right, &box, &TERN_OPTS(.signal = &odd)));
    SAYS("is not aligned to 8 bytes");
    REFUSES(TERN_ERR_RANGE, tern_put_strided_with(s->ctx, region, s->right, &box, &TERN_OPTS(.signal = &far)));
    REFUSES(TERN_ERR_ARG, tern_put_strided_with(s->ctx, region, s->right, &box, &TERN_OPTS(.signal = &none)));
    REFUSES(TERN_ERR_ARG,
            tern_put_strided_with(s->ctx, region, s->right, &box, &TERN_OPTS(.flags = TERN_NOTIFY, .signal = &good)));
    SAYS("opts->signal and TERN_NOTIFY exclude each other");
    REFUSES(TERN_ERR_ARG, tern_get_strided_with(s->ctx, region, s->right, &box, &TERN_OPTS(.signal = &good)));
    SAYS("opts->signal is for puts");
    box.remote = size;
    REFUSES(TERN_ERR_RANGE, tern_put_strided_with(s->ctx, region, s->right, &box, &TERN_OPTS(.signal = &good)));
    REFUSES(TERN_ERR_ARG, tern_put_vector_with(s->ctx, region, s->right, NULL, &TERN_OPTS(.signal = &good)));
    REFUSES(TERN_ERR_ARG, tern_put_indexed_with(s->ctx, region, s->right, NULL, &TERN_OPTS(.signal = &good)));
    OK(tern_quiet(s->ctx));
    OK(tern_get(s->ctx, region, s->right, 16, words, sizeof(words)));
    CHECK(words[0] == 0 && words[1] == 0);
    OK(tern_barrier(s->ctx));
}

static void all_cases(tern_ctx *ctx, enum job_kind kind)
{
    struct scene s = { .ctx = ctx,
                       .buffer = job_new(LONGEST),
                       .left = (tern_rank() + tern_size() - 1) % tern_size(),
                       .right = (tern_rank() + 1) % tern_size() };

    if (tern_ctx_order(ctx) == TERN_RELAXED) {
        OK(tern_counter_create(ctx, &s.go));
        OK(tern_counter_create(ctx, &s.done));
    }
    job_region_make(&s.r, kind, DATA + LONGEST);
    OK(tern_barrier(ctx));
    for (unsigned shape = 0; shape < SHAPES; shape++)
        for (unsigned form = 0; form < (s.done ? (unsigned)FORMS : (unsigned)COUNTED); form++)
            for (size_t i = 0; i < LENGTHS; i++)
                one_case(&s, shape, form, lengths[i]);
    refusals(&s);
    job_region_drop(&s.r);
    if (s.done) {
        OK(tern_counter_free(s.go));
        OK(tern_counter_free(s.done));
    }
    free(s.buffer);
}

int main(void)
{
    tern_ctx *strict;

    OK(tern_init());
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &strict));
    for (enum job_kind kind = JOB_HOST; kind <= JOB_REGISTERED; kind += JOB_REGISTERED - JOB_HOST) {
        all_cases(TERN_WORLD, kind);
        all_cases(strict, kind);
    }
    OK(tern_ctx_free(strict));
    OK(tern_finalize());
    return 0;
}
