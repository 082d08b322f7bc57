/* shapes.c: strided_bw, indexed_bw and vector_bw: puts and gets of many small pieces, as in the GASNet-EX paper,
 * appendix H and I.
 *
 * Elements of --element bytes (default 8) lie at a quarter of the density on both sides: one element of payload is
 * followed by a gap of three elements. The size is the payload. strided_bw describes the same transfer in 3, 8 and
 * 32 dimensions. The number of elements is distributed over the dimensions as evenly as its factors permit, in the
 * order of a C array. All descriptions are equivalent to one loop, and a library that detects this is as fast in 32
 * dimensions as in 3. The transfers are compared with a loop in C through plain pointers or, over a network, with a
 * contiguous put of the same number of bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "perf.h"

#define GAP 4 /* distance between elements, in elements */
#define DIMS 3

static const unsigned dims_of[DIMS] = { 3, 8, 32 };

static struct {
    uint64_t     element, count;
    size_t       counts[DIMS][32];
    ptrdiff_t    near[DIMS][32];
    int64_t      far[DIMS][32];
    tern_piece  *pieces;
    tern_extent *extents;
    void       **addrs;
    uint64_t    *offsets;
} state;

uint64_t perf_shape_bytes(uint64_t size)
{
    return size * GAP;
}

/* ---- descriptions ---- */

/* Distribute count over dims dimensions, the innermost last. */
static void spread(uint64_t count, unsigned dims, size_t *counts)
{
    uint64_t odd = count;
    unsigned twos = 0;

    for (; odd % 2 == 0; odd /= 2)
        twos++;
    for (unsigned i = dims; i-- > 0;) {
        unsigned bits = (twos + i) / (i + 1); /* an equal number of bits for each remaining dimension */

        counts[i] = (size_t)1 << bits;
        twos -= bits;
    }
    counts[0] *= odd;
}

static void describe_strided(unsigned which)
{
    int64_t step = (int64_t)(state.element * GAP);

    spread(state.count, dims_of[which], state.counts[which]);
    for (unsigned i = dims_of[which]; i-- > 0;) {
        state.near[which][i] = (ptrdiff_t)step;
        state.far[which][i] = step;
        step *= (int64_t)state.counts[which][i];
    }
}

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
    for (unsigned which = 0; which < DIMS; which++)
        describe_strided(which);
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

/* ---- kernels ---- */

/* Transfers one by one, or in windows that tern_quiet completes. */
static inline __attribute__((always_inline)) void repeat(struct perf_case *c, uint64_t iters, unsigned which, bool put)
{
    tern_strided s =
        TERN_STRIDED(.dims = dims_of[which], .element = state.element, .count = state.counts[which],
                     .local = c->p->local, .local_stride = state.near[which], .remote_stride = state.far[which]);

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < c->window; w++)
            perf_must(put ? tern_put_strided_nbi(c->p->ctx, c->p->region, c->target, &s)
                          : tern_get_strided_nbi(c->p->ctx, c->p->region, c->target, &s),
                      "strided transfer");
        if (c->window > 0)
            perf_must(tern_quiet(c->p->ctx), "quiet");
        else
            perf_must(put ? tern_put_strided(c->p->ctx, c->p->region, c->target, &s)
                          : tern_get_strided(c->p->ctx, c->p->region, c->target, &s),
                      "strided transfer");
    }
}

static void put_3(struct perf_case *c, uint64_t iters)
{
    repeat(c, iters, 0, true);
}

static void put_8(struct perf_case *c, uint64_t iters)
{
    repeat(c, iters, 1, true);
}

static void put_32(struct perf_case *c, uint64_t iters)
{
    repeat(c, iters, 2, true);
}

static void get_3(struct perf_case *c, uint64_t iters)
{
    repeat(c, iters, 0, false);
}

static inline __attribute__((always_inline)) void indexed(struct perf_case *c, uint64_t iters, bool put)
{
    tern_indexed x = TERN_INDEXED(.local_count = state.count, .local_len = state.element, .local = state.addrs,
                                  .remote_count = state.count, .remote_len = state.element, .remote = state.offsets);

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < c->window; w++)
            perf_must(put ? tern_put_indexed_nbi(c->p->ctx, c->p->region, c->target, &x)
                          : tern_get_indexed_nbi(c->p->ctx, c->p->region, c->target, &x),
                      "indexed transfer");
        if (c->window > 0)
            perf_must(tern_quiet(c->p->ctx), "quiet");
        else
            perf_must(put ? tern_put_indexed(c->p->ctx, c->p->region, c->target, &x)
                          : tern_get_indexed(c->p->ctx, c->p->region, c->target, &x),
                      "indexed transfer");
    }
}

static void put_indexed(struct perf_case *c, uint64_t iters)
{
    indexed(c, iters, true);
}

static void get_indexed(struct perf_case *c, uint64_t iters)
{
    indexed(c, iters, false);
}

static inline __attribute__((always_inline)) void vector(struct perf_case *c, uint64_t iters, bool put)
{
    tern_vector v = TERN_VECTOR(.local_count = state.count, .local = state.pieces, .remote_count = state.count,
                                .remote = state.extents);

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < c->window; w++)
            perf_must(put ? tern_put_vector_nbi(c->p->ctx, c->p->region, c->target, &v)
                          : tern_get_vector_nbi(c->p->ctx, c->p->region, c->target, &v),
                      "vector transfer");
        if (c->window > 0)
            perf_must(tern_quiet(c->p->ctx), "quiet");
        else
            perf_must(put ? tern_put_vector(c->p->ctx, c->p->region, c->target, &v)
                          : tern_get_vector(c->p->ctx, c->p->region, c->target, &v),
                      "vector transfer");
    }
}

static void put_vector(struct perf_case *c, uint64_t iters)
{
    vector(c, iters, true);
}

static void get_vector(struct perf_case *c, uint64_t iters)
{
    vector(c, iters, false);
}

static unsigned char *target_of(const struct perf_case *c)
{
    return c->p->theirs != NULL ? c->p->theirs : c->p->mine;
}

static uint64_t repeats_of(const struct perf_case *c, uint64_t iters)
{
    return iters * (c->window > 0 ? c->window : 1);
}

/* The loop by hand: the code that a program would contain for elements of this length. */
static inline __attribute__((always_inline)) void by_hand(struct perf_case *c, uint64_t iters, size_t len, bool listed)
{
    unsigned char *to = target_of(c), *from = c->p->local;
    uint64_t       count = state.count;

    for (uint64_t i = repeats_of(c, iters); i > 0; i--) {
        if (listed)
            for (uint64_t n = 0; n < count; n++)
                memcpy(to + state.offsets[n], state.addrs[n], len);
        else
            for (uint64_t n = 0; n < count; n++)
                memcpy(to + n * len * GAP, from + n * len * GAP, len);
        perf_keep();
    }
}

static void hand(struct perf_case *c, uint64_t iters)
{
    switch (state.element) {
    case 8: by_hand(c, iters, 8, false); break;
    case 64: by_hand(c, iters, 64, false); break;
    default: by_hand(c, iters, state.element, false);
    }
}

static void hand_indexed(struct perf_case *c, uint64_t iters)
{
    switch (state.element) {
    case 8: by_hand(c, iters, 8, true); break;
    case 64: by_hand(c, iters, 64, true); break;
    default: by_hand(c, iters, state.element, true);
    }
}

/* Copy a list of pieces by hand. Each piece has a length of its own. */
static void hand_vector(struct perf_case *c, uint64_t iters)
{
    unsigned char *to = target_of(c);
    uint64_t       count = state.count;

    for (uint64_t i = repeats_of(c, iters); i > 0; i--) {
        for (uint64_t n = 0; n < count; n++)
            memcpy(to + state.extents[n].offset, state.pieces[n].addr, state.pieces[n].len);
        perf_keep();
    }
}

/* A contiguous put of the same number of bytes. */
static void contiguous(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < c->window; w++)
            perf_must(tern_put_nbi(c->p->ctx, c->p->region, c->target, 0, c->p->local, c->size), "put");
        if (c->window > 0)
            perf_must(tern_quiet(c->p->ctx), "quiet");
        else
            perf_must(tern_put(c->p->ctx, c->p->region, c->target, 0, c->p->local, c->size), "put");
    }
}

/* ---- tests ---- */

/* Return whether memory holds the elements, each followed by the previous content. The thread sanitizer does not see
 * that a barrier with the rank that put the elements orders these reads: it watches one process, and over the
 * network a thread of this process writes the elements. */
static __attribute__((noinline, no_sanitize("thread"))) bool is_in_place(const unsigned char *memory, uint64_t span)
{
    for (uint64_t i = 0; i < span; i++)
        if (memory[i] != (i / state.element % GAP == 0 ? 0x33 : 0x22))
            return false;
    return true;
}

/* Collective. Verify that a put of this kind writes every element to its place, and nothing else. */
static void verify(struct perf_case *c, void (*put)(struct perf_case *c, uint64_t iters))
{
    struct perf *p = c->p;
    uint64_t     span = state.count * state.element * GAP;

    memset(p->mine, 0x22, span);
    memset(p->local, 0x33, span);
    perf_must(tern_barrier(p->ctx), "barrier");
    if (p->rank == 0)
        put(c, 1);
    perf_must(tern_barrier(p->ctx), "barrier");
    if (p->rank == p->ranks - 1 && p->ranks <= 2 && !is_in_place(p->mine, span))
        tern_abort(1, "tern-perf: data arrived damaged");
}

/* Return the name of the comparison: the loop by hand through memory, the contiguous put over the network. */
static const char *other_of(const struct perf_case *c)
{
    return c->p->network ? "contiguous" : "hand";
}

static void figures(struct perf_case *c, size_t other, size_t get)
{
    double bytes = (double)(state.count * state.element * (c->window > 0 ? c->window : 1));

    perf_figure_bandwidth(c, 0, bytes, "bandwidth");
    perf_figure_bandwidth(c, get, bytes, "get_bandwidth");
    perf_figure_bandwidth(c, other, bytes, other_of(c));
    perf_figure_ratio(c, other, 0, 1, c->p->network ? "ratio_to_contiguous" : "ratio_to_hand");
}

/* Return whether the payload is a whole number of elements. */
static bool fits(struct perf_case *c)
{
    return c->size >= c->p->opt->element && c->size % c->p->opt->element == 0;
}

void perf_strided_bw(struct perf_case *c)
{
    const struct perf_kernel k[] = { { PERF_FIRST, put_3 },
                                     { PERF_FIRST, put_8 },
                                     { PERF_FIRST, put_32 },
                                     { PERF_FIRST, c->p->network ? contiguous : hand },
                                     { PERF_FIRST, get_3 } };
    double                   bytes;

    if (!fits(c))
        return;
    describe(c);
    verify(c, put_32);
    perf_measure(c, k, 5);
    figures(c, 3, 4);
    bytes = (double)(state.count * state.element * (c->window > 0 ? c->window : 1));
    perf_figure_bandwidth(c, 1, bytes, "bandwidth_8d");
    perf_figure_bandwidth(c, 2, bytes, "bandwidth_32d");
    perf_figure_ratio(c, 0, 1, 1, "ratio_8d_to_3d");
    perf_figure_ratio(c, 0, 2, 1, "ratio_32d_to_3d");
    forget();
}

void perf_indexed_bw(struct perf_case *c)
{
    const struct perf_kernel k[] = { { PERF_FIRST, put_indexed },
                                     { PERF_FIRST, c->p->network ? contiguous : hand_indexed },
                                     { PERF_FIRST, get_indexed } };

    if (!fits(c))
        return;
    describe(c);
    verify(c, put_indexed);
    perf_measure(c, k, 3);
    figures(c, 1, 2);
    forget();
}

void perf_vector_bw(struct perf_case *c)
{
    const struct perf_kernel k[] = { { PERF_FIRST, put_vector },
                                     { PERF_FIRST, c->p->network ? contiguous : hand_vector },
                                     { PERF_FIRST, get_vector } };

    if (!fits(c))
        return;
    describe(c);
    verify(c, put_vector);
    perf_measure(c, k, 3);
    figures(c, 1, 2);
    forget();
}
