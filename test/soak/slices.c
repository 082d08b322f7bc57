/* slices.c: one-sided operations on memory that one worker owns at every rank.
 *
 * Each worker owns one slice of every part of every slice region and mirrors it in a plain array. No other worker
 * accesses the slice, so the mirror gives the expected contents of the slice: after puts, gets, transfers of shapes,
 * atomic operations, and triggered operations, on the worker's context or on a context that lives for a few operations
 * only.
 */
#include "soak.h"

struct soak_slices {
    unsigned char *mirror; /* [SOAK_SLICES][ranks][SOAK_SLICE] */
    unsigned char *local, *want;
    struct shape   shape;
};

struct place {
    int            rank;
    tern_region   *region;
    unsigned char *mirror; /* of the whole slice */
    uint64_t       base;   /* of the slice in the part */
    uint64_t       at;     /* in the slice */
    size_t         len;
};

static size_t random_len(struct soak_worker *w)
{
    switch (soak_dice(w, 8)) {
    case 0: return 1;
    case 1: return 8;
    case 2: return soak_dice(w, SOAK_SLICE);
    case 3: return 4090 + soak_dice(w, 12);
    default: return soak_dice(w, 300);
    }
}

static struct place draw(struct soak_worker *w)
{
    unsigned     region = soak_dice(w, SOAK_SLICES);
    struct place p = { .rank = (int)soak_dice(w, (unsigned)tern_size()),
                       .region = soak_epoch.slices[region].region,
                       .base = ((uint64_t)tern_rank() * SOAK_THREADS + (uint64_t)w->id) * SOAK_SLICE,
                       .len = random_len(w) };

    p.mirror = w->slices->mirror + ((size_t)region * (size_t)tern_size() + (size_t)p.rank) * SOAK_SLICE;
    p.at = soak_dice(w, (unsigned)(SOAK_SLICE - p.len));
    return p;
}

static void refill(struct soak_worker *w)
{
    size_t from = soak_dice(w, SOAK_SLICE - 512);

    for (size_t i = from; i < from + 512; i += 8) {
        uint64_t word = job_random(&w->seed);
        memcpy(w->slices->local + i, &word, 8);
    }
}

static tern_status put_with(tern_ctx *ctx, const struct place *p, const unsigned char *src, uint32_t flags)
{
    tern_event  event = TERN_EVENT_INIT, near = TERN_EVENT_INIT;
    tern_opts   opts = TERN_OPTS(.flags = flags, .local = &near, .event = &event);
    tern_status st, late;

    while ((st = tern_put_with(ctx, p->region, p->rank, p->base + p->at, src, p->len, &opts)) == TERN_AGAIN)
        OK(tern_progress(ctx));
    if (st != TERN_OK)
        return st;
    late = tern_event_wait(&near, TERN_FOREVER);
    st = tern_event_wait(&event, TERN_FOREVER);
    return st != TERN_OK ? st : late;
}

static void put(struct soak_worker *w, tern_ctx *ctx)
{
    struct place         p = draw(w);
    const unsigned char *src = w->slices->local + soak_dice(w, (unsigned)(SOAK_SLICE - p.len));
    tern_event           event = TERN_EVENT_INIT;

    SOAK_COUNT(put);
    refill(w);
    memcpy(p.mirror + p.at, src, p.len);
    switch (soak_dice(w, 5)) {
    case 0: GOOD(p.rank, tern_put(ctx, p.region, p.rank, p.base + p.at, src, p.len)); break;
    case 1:
        if (GOOD(p.rank, tern_put_nb(ctx, p.region, p.rank, p.base + p.at, src, p.len, &event)))
            GOOD(p.rank, tern_event_wait(&event, TERN_FOREVER));
        break;
    case 2:
        if (GOOD(p.rank, tern_put_nbi(ctx, p.region, p.rank, p.base + p.at, src, p.len)))
            GOOD(-1, tern_quiet(ctx));
        break;
    case 3: GOOD(p.rank, put_with(ctx, &p, src, 0)); break;
    default: GOOD(p.rank, put_with(ctx, &p, src, TERN_IMMEDIATE));
    }
}

static void get(struct soak_worker *w, tern_ctx *ctx)
{
    struct place   p = draw(w);
    unsigned char *sink = w->slices->want;
    tern_event     event = TERN_EVENT_INIT;
    bool           good = false;

    SOAK_COUNT(get);
    switch (soak_dice(w, 3)) {
    case 0: good = GOOD(p.rank, tern_get(ctx, p.region, p.rank, p.base + p.at, sink, p.len)); break;
    case 1:
        good = GOOD(p.rank, tern_get_nb(ctx, p.region, p.rank, p.base + p.at, sink, p.len, &event)) &&
               GOOD(p.rank, tern_event_wait(&event, TERN_FOREVER));
        break;
    default:
        good = GOOD(p.rank, tern_get_nbi(ctx, p.region, p.rank, p.base + p.at, sink, p.len));
        good = GOOD(-1, tern_quiet(ctx)) && good;
    }
    CHECK(!good || memcmp(sink, p.mirror + p.at, p.len) == 0);
}

static bool shape_go(struct soak_worker *w, const struct place *p, bool is_get)
{
    const struct shape *s = &w->slices->shape;
    tern_event          event = TERN_EVENT_INIT;

    switch (soak_dice(w, 3)) {
    case 0: return GOOD(p->rank, shape_run(w->ctx, p->region, p->rank, s, is_get));
    case 1:
        return GOOD(p->rank, shape_nb(w->ctx, p->region, p->rank, s, is_get, &event)) &&
               GOOD(p->rank, tern_event_wait(&event, TERN_FOREVER));
    default: return GOOD(p->rank, shape_nbi(w->ctx, p->region, p->rank, s, is_get)) && GOOD(-1, tern_quiet(w->ctx));
    }
}

static void shape(struct soak_worker *w)
{
    struct soak_slices *s = w->slices;
    struct place        p = draw(w);
    bool                is_get = soak_dice(w, 3) == 0;

    SOAK_COUNT(shape);
    refill(w);
    shape_draw(&s->shape, &(struct shape_place){ s->local, SOAK_SLICE, p.base, SOAK_SLICE }, is_get, &w->seed);
    if (is_get) {
        memcpy(s->want, s->local, SOAK_SLICE);
        for (size_t i = 0; i < s->shape.total; i++)
            s->want[s->shape.near[i]] = p.mirror[s->shape.far[i] - p.base];
        CHECK(!shape_go(w, &p, true) || memcmp(s->local, s->want, SOAK_SLICE) == 0);
        return;
    }
    for (size_t i = 0; i < s->shape.total; i++)
        p.mirror[s->shape.far[i] - p.base] = s->local[s->shape.near[i]];
    shape_go(w, &p, false);
}

/* The result of an atomic operation on a value; values of 4 bytes are the low half. */
static uint64_t computed(tern_type type, tern_atomic_op op, uint64_t old, uint64_t operand, uint64_t compare)
{
    bool less = type == TERN_INT64 ? (int64_t)operand < (int64_t)old : operand < old;

    switch (op) {
    case TERN_ATOMIC_PUT:
    case TERN_ATOMIC_SWAP: return operand;
    case TERN_ATOMIC_CAS: return old == compare ? operand : old;
    case TERN_ATOMIC_ADD:
    case TERN_ATOMIC_FADD: return old + operand;
    case TERN_ATOMIC_SUB:
    case TERN_ATOMIC_FSUB: return old - operand;
    case TERN_ATOMIC_INC:
    case TERN_ATOMIC_FINC: return old + 1;
    case TERN_ATOMIC_DEC:
    case TERN_ATOMIC_FDEC: return old - 1;
    case TERN_ATOMIC_MULT:
    case TERN_ATOMIC_FMULT: return old * operand;
    case TERN_ATOMIC_MIN:
    case TERN_ATOMIC_FMIN: return less ? operand : old;
    case TERN_ATOMIC_MAX:
    case TERN_ATOMIC_FMAX: return less || operand == old ? old : operand;
    case TERN_ATOMIC_AND:
    case TERN_ATOMIC_FAND: return old & operand;
    case TERN_ATOMIC_OR:
    case TERN_ATOMIC_FOR: return old | operand;
    case TERN_ATOMIC_XOR:
    case TERN_ATOMIC_FXOR: return old ^ operand;
    default: return old;
    }
}

static void atomic_op(struct soak_worker *w)
{
    struct place        p = draw(w);
    unsigned            which = soak_dice(w, 3);
    tern_type           type = which == 0 ? TERN_UINT64 : which == 1 ? TERN_UINT32 : TERN_INT64;
    tern_atomic_domain *domain = which == 0 ? soak_epoch.u64 : which == 1 ? soak_epoch.u32 : soak_epoch.i64;
    size_t              bytes = type == TERN_UINT32 ? 4 : 8;
    tern_atomic_op      op = (tern_atomic_op)(1u << soak_dice(w, TERN_ATOMIC_OPS));
    uint64_t            old = 0, operand = 0, compare = 0, result = 0, next;
    uint32_t            none =
        (uint32_t)(TERN_ATOMIC_GET | TERN_ATOMIC_INC | TERN_ATOMIC_DEC | TERN_ATOMIC_FINC | TERN_ATOMIC_FDEC);
    tern_event event = TERN_EVENT_INIT;

    SOAK_COUNT(atomic);
    p.at = soak_dice(w, SOAK_SLICE / 8) * 8;
    memcpy(&old, p.mirror + p.at, bytes);
    operand = soak_dice(w, 2) ? job_random(&w->seed) : old + soak_dice(w, 3) - 1;
    compare = soak_dice(w, 2) ? old : old + 1;
    if (bytes == 4)
        operand = (uint32_t)operand, compare = (uint32_t)compare;
    next = computed(type, op, old, operand, compare);
    memcpy(p.mirror + p.at, &next, bytes);
    const tern_atomic_args args = TERN_ATOMIC_ARGS(.op = op, .operand = (uint32_t)op & none ? NULL : &operand,
                                                   .compare = op == TERN_ATOMIC_CAS ? &compare : NULL,
                                                   .result = (uint32_t)op & TERN_ATOMIC_FETCHING ? &result : NULL);
    if (soak_dice(w, 2) == 0) {
        if (!GOOD(p.rank, tern_atomic(w->ctx, domain, p.region, p.rank, p.base + p.at, &args)))
            return;
    } else if (!GOOD(p.rank, tern_atomic_nb(w->ctx, domain, p.region, p.rank, p.base + p.at, &args, &event)) ||
               !GOOD(p.rank, tern_event_wait(&event, TERN_FOREVER))) {
        return;
    }
    if ((uint32_t)op & TERN_ATOMIC_FETCHING)
        SAME(result, old);
}

/* A put, then a second put that starts when the first is complete, then a get of both: a chain of three. */
static void trigger(struct soak_worker *w)
{
    struct place         p = draw(w);
    struct soak_slices  *s = w->slices;
    const unsigned char *src = s->local + soak_dice(w, (unsigned)(SOAK_SLICE - p.len));
    tern_ctx            *ctx;
    tern_counter        *counter;
    bool                 good = true;

    SOAK_COUNT(trigger);
    refill(w);
    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    OK(tern_counter_create(ctx, &counter));
    memcpy(p.mirror + p.at, src, p.len);
    for (uint64_t i = 0; i < 2 && good; i++)
        good = GOOD(p.rank, tern_put_with(ctx, p.region, p.rank, p.base + p.at, i == 0 ? s->want : src, p.len,
                                          &TERN_OPTS(.counter = counter, .when = counter, .threshold = i + 1)));
    good = good && GOOD(p.rank, tern_get_with(ctx, p.region, p.rank, p.base + p.at, s->want, p.len,
                                              &TERN_OPTS(.counter = counter, .when = counter, .threshold = 3)));
    OK(tern_counter_add(counter, 1));
    if (good && GOOD(p.rank, tern_counter_wait(counter, 4, TERN_FOREVER)))
        CHECK(memcmp(s->want, p.mirror + p.at, p.len) == 0);
    GOOD(-1, tern_quiet(ctx));
    OK(tern_counter_free(counter));
    GOOD(-1, tern_ctx_free(ctx));
}

/* A context that lives for a few operations; its operations are complete when it has been destroyed. */
static void short_context(struct soak_worker *w)
{
    tern_ctx *ctx;

    SOAK_COUNT(context);
    OK(tern_ctx_create(tern_team_world(), soak_dice(w, 2) ? TERN_STRICT : TERN_RELAXED, &ctx));
    for (unsigned i = soak_dice(w, 4); i > 0; i--)
        soak_dice(w, 2) ? put(w, ctx) : get(w, ctx);
    if (soak_dice(w, 2)) {
        struct place p = draw(w);

        SOAK_COUNT(put);
        memcpy(p.mirror + p.at, w->slices->local, p.len);
        GOOD(p.rank, tern_put_nbi(ctx, p.region, p.rank, p.base + p.at, w->slices->local, p.len));
    }
    GOOD(-1, tern_ctx_free(ctx));
}

void soak_slices_step(struct soak_worker *w)
{
    switch (soak_dice(w, 16)) {
    case 0: trigger(w); break;
    case 1: short_context(w); break;
    case 2:
    case 3:
    case 4: shape(w); break;
    case 5:
    case 6:
    case 7: atomic_op(w); break;
    case 8:
    case 9:
    case 10:
    case 11: get(w, w->ctx); break;
    default: put(w, w->ctx);
    }
}

void soak_slices_finish(struct soak_worker *w)
{
    GOOD(-1, tern_quiet(w->ctx));
    for (int region = 0; region < SOAK_SLICES; region++)
        for (int rank = 0; rank < tern_size(); rank++) {
            const unsigned char *mirror =
                w->slices->mirror + ((size_t)region * (size_t)tern_size() + (size_t)rank) * SOAK_SLICE;

            if (GOOD(rank, tern_get(w->ctx, soak_epoch.slices[region].region, rank,
                                    ((uint64_t)tern_rank() * SOAK_THREADS + (uint64_t)w->id) * SOAK_SLICE,
                                    w->slices->want, SOAK_SLICE)))
                CHECK(memcmp(w->slices->want, mirror, SOAK_SLICE) == 0);
        }
}

void soak_slices_open(struct soak_worker *w)
{
    struct soak_slices *s = w->slices = job_new(sizeof(*s));

    s->mirror = job_new((size_t)SOAK_SLICES * (size_t)tern_size() * SOAK_SLICE);
    s->local = job_new(SOAK_SLICE);
    s->want = job_new(SOAK_SLICE);
    job_fill(s->local, SOAK_SLICE, (unsigned)w->id, (unsigned)tern_rank());
    shape_open(&s->shape, SOAK_SLICE);
}

void soak_slices_close(struct soak_worker *w)
{
    shape_close(&w->slices->shape);
    free(w->slices->mirror);
    free(w->slices->local);
    free(w->slices->want);
    free(w->slices);
}
