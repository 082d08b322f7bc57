/* acc.c: acc_bw and acc_shapes: accumulates to another rank.
 *
 * acc_bw measures contiguous blocking accumulates of each type with scale 1. In alternation with them it measures
 * memcpy of the same number of bytes to the same addresses or, over a network, TCP. acc_shapes measures accumulates
 * of doubles in each shape, scaled accumulates, and get-accumulate. Pieces of --element bytes lie at a quarter of
 * the density on both sides, as in strided_bw.
 */
#include <stdlib.h>

#include "perf.h"

#define GAP 4 /* distance between elements, in elements; perf_shape_bytes() uses the same value */

/* ---- types ---- */

static void add(struct perf_case *c, uint64_t iters, tern_type type)
{
    const tern_acc_args scale = TERN_ACC_ARGS(.type = type);

    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_acc(c->p->ctx, c->p->region, c->target, 0, c->p->local, c->size, &scale), "accumulate");
}

#define TYPE(name, TYPE)                                        \
    static void add_##name(struct perf_case *c, uint64_t iters) \
    {                                                           \
        add(c, iters, TYPE);                                    \
    }
TYPE(double, TERN_DOUBLE)
TYPE(float, TERN_FLOAT)
TYPE(int8, TERN_INT8)
TYPE(int16, TERN_INT16)
TYPE(int32, TERN_INT32)
TYPE(int64, TERN_INT64)
TYPE(complex_float, TERN_COMPLEX_FLOAT)
TYPE(complex_double, TERN_COMPLEX_DOUBLE)

/* Each accumulate is complete at the target before the next one starts. */
static void add_complete(struct perf_case *c, uint64_t iters)
{
    const tern_acc_args scale = TERN_ACC_ARGS(.type = TERN_DOUBLE);

    for (uint64_t i = 0; i < iters; i++) {
        perf_must(tern_acc(c->p->ctx, c->p->region, c->target, 0, c->p->local, c->size, &scale), "accumulate");
        perf_must(tern_quiet(c->p->ctx), "quiet");
    }
}

void perf_acc_bw(struct perf_case *c)
{
    static const char *const name[] = { "bandwidth",       "bandwidth_float",         "bandwidth_int32",
                                        "bandwidth_int64", "bandwidth_complex_float", "bandwidth_complex_double",
                                        "bandwidth_int8",  "bandwidth_int16",         "bandwidth_complete" };
    const struct perf_kernel k[] = {
        { PERF_FIRST, add_double }, { PERF_FIRST, add_float },         { PERF_FIRST, add_int32 },
        { PERF_FIRST, add_int64 },  { PERF_FIRST, add_complex_float }, { PERF_FIRST, add_complex_double },
        { PERF_FIRST, add_int8 },   { PERF_FIRST, add_int16 },         { PERF_FIRST, add_complete },
        perf_limit_to(c->p),
    };
    const size_t kinds = sizeof(name) / sizeof(name[0]);

    if (c->size % 16 != 0)
        return; /* the size must be a whole number of elements of every type */
    perf_measure(c, k, kinds + 1);
    for (size_t i = 0; i < kinds; i++)
        perf_figure_bandwidth(c, i, (double)c->size, name[i]);
    perf_figure_bandwidth(c, kinds, (double)c->size, c->p->network ? "tcp" : "memcpy");
    perf_figure_ratio(c, kinds, 0, 1, "ratio_to_limit");
}

/* ---- shapes ---- */

static struct {
    uint64_t     element;
    size_t       count;
    tern_piece  *pieces;
    tern_extent *extents;
    void       **addrs;
    uint64_t    *offsets;
} state;

static const tern_acc_args doubles = { .size = sizeof(tern_acc_args), .type = TERN_DOUBLE };

static void *take(size_t bytes)
{
    void *memory = malloc(bytes);

    if (memory == NULL)
        tern_abort(1, "tern-perf: not enough memory");
    return memory;
}

static void describe(struct perf_case *c)
{
    state.element = c->p->opt->element;
    state.count = c->size / state.element;
    state.pieces = take(state.count * sizeof(*state.pieces));
    state.extents = take(state.count * sizeof(*state.extents));
    state.addrs = take(state.count * sizeof(*state.addrs));
    state.offsets = take(state.count * sizeof(*state.offsets));
    for (uint64_t i = 0; i < state.count; i++) {
        uint64_t at = i * state.element * GAP;

        state.pieces[i] = (tern_piece){ c->p->local + at, state.element };
        state.extents[i] = (tern_extent){ at, state.element };
        state.addrs[i] = c->p->local + at;
        state.offsets[i] = at;
    }
}

static void forget(void)
{
    free(state.pieces);
    free(state.extents);
    free(state.addrs);
    free(state.offsets);
}

static void add_scaled(struct perf_case *c, uint64_t iters)
{
    const double        half = 0.5;
    const tern_acc_args scale = TERN_ACC_ARGS(.type = TERN_DOUBLE, .factor = &half);

    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_acc(c->p->ctx, c->p->region, c->target, 0, c->p->local, c->size, &scale), "accumulate");
}

static void get_add(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_get_acc(c->p->ctx, c->p->region, c->target, 0, c->p->local, c->size, &doubles),
                  "get-accumulate");
}

static void add_vector(struct perf_case *c, uint64_t iters)
{
    const tern_vector v = TERN_VECTOR(.local_count = state.count, .local = state.pieces, .remote_count = state.count,
                                      .remote = state.extents);

    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_acc_vector(c->p->ctx, c->p->region, c->target, &v, &doubles), "accumulate");
}

static void add_indexed(struct perf_case *c, uint64_t iters)
{
    const tern_indexed x =
        TERN_INDEXED(.local_count = state.count, .local_len = state.element, .local = state.addrs,
                     .remote_count = state.count, .remote_len = state.element, .remote = state.offsets);

    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_acc_indexed(c->p->ctx, c->p->region, c->target, &x, &doubles), "accumulate");
}

static void add_strided(struct perf_case *c, uint64_t iters)
{
    const ptrdiff_t    near = (ptrdiff_t)(state.element * GAP);
    const int64_t      far = (int64_t)(state.element * GAP);
    const tern_strided s = TERN_STRIDED(.dims = 1, .element = state.element, .count = &state.count,
                                        .local = c->p->local, .local_stride = &near, .remote_stride = &far);

    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_acc_strided(c->p->ctx, c->p->region, c->target, &s, &doubles), "accumulate");
}

void perf_acc_shapes(struct perf_case *c)
{
    static const char *const name[] = { "strided", "indexed", "vector", "contiguous", "scaled", "get_accumulate" };
    const struct perf_kernel k[] = { { PERF_FIRST, add_strided }, { PERF_FIRST, add_indexed },
                                     { PERF_FIRST, add_vector },  { PERF_FIRST, add_double },
                                     { PERF_FIRST, add_scaled },  { PERF_FIRST, get_add } };
    const size_t             count = sizeof(k) / sizeof(k[0]);

    if (c->p->opt->element % sizeof(double) != 0 || c->size % c->p->opt->element != 0)
        return;
    describe(c);
    perf_measure(c, k, count);
    for (size_t i = 0; i < count; i++)
        perf_figure_bandwidth(c, i, (double)c->size, name[i]);
    forget();
}
