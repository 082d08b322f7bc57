/* op_stride.c: the stride optimizer against the naive walk.
 *
 * timeout: 300
 * builds: release debug asan
 *
 * Promise: for every input the optimised description denotes the same copies, byte by byte; it is as small as the rules
 * permit; sizes that do not fit into 63 bits are refused, and no intermediate result overflows.
 *
 * Two descriptions mean the same if the sets of their pairs (byte of the remote side, byte of the local side) are the
 * same. Sets are compared by the sum of a hash of each pair, so that the order does not matter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "job_test.h"
#include "op/shape/stride.h"

#define CASES (JOB_SANITIZED ? 300000u : 3000000u)
#define MOST 256 /* bytes of one case */

struct input {
    unsigned  dims;
    uint64_t  element;
    size_t    count[TERN_STRIDE_DIMS];
    int64_t   far[TERN_STRIDE_DIMS];
    ptrdiff_t near[TERN_STRIDE_DIMS];
};

static enum tern_stride_verdict make(const struct input *in, struct tern_stride *out)
{
    struct tern_stride_input view = { in->dims, in->element, in->count, in->far, in->near };

    memset(out, 0x5a, sizeof(*out));
    return tern_op_stride_make(&view, out);
}

static uint64_t hash(int64_t far, int64_t near)
{
    uint64_t x = (uint64_t)far * 0x9e3779b97f4a7c15ull ^ (uint64_t)near * 0xc2b2ae3d27d4eb4full;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static uint64_t hash_run(int64_t far, int64_t near, uint64_t bytes)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < bytes; i++)
        sum += hash(far + (int64_t)i, near + (int64_t)i);
    return sum;
}

/* The sum of all pairs, and the range of the walk. */
struct walk {
    uint64_t sum, bytes;
    int64_t  far_low, far_high, near_low, near_high;
};

static void visit(struct walk *w, int64_t far, int64_t near, uint64_t bytes)
{
    w->sum += hash_run(far, near, bytes);
    w->bytes += bytes;
    w->far_low = far < w->far_low ? far : w->far_low;
    w->near_low = near < w->near_low ? near : w->near_low;
    w->far_high = far + (int64_t)bytes > w->far_high ? far + (int64_t)bytes : w->far_high;
    w->near_high = near + (int64_t)bytes > w->near_high ? near + (int64_t)bytes : w->near_high;
}

static const struct walk nowhere = { 0, 0, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN };

static void walk_input(const struct input *in, unsigned dim, int64_t far, int64_t near, struct walk *w)
{
    if (dim == in->dims) {
        visit(w, far, near, in->element);
        return;
    }
    for (size_t i = 0; i < in->count[dim]; i++)
        walk_input(in, dim + 1, far + (int64_t)i * in->far[dim], near + (int64_t)i * in->near[dim], w);
}

static void walk_result(const struct tern_stride *s, unsigned dim, int64_t far, int64_t near, struct walk *w)
{
    if (dim == s->dims) {
        visit(w, far, near, s->run);
        return;
    }
    for (uint64_t i = 0; i < s->dim[dim].count; i++)
        walk_result(s, dim + 1, far + (int64_t)i * s->dim[dim].remote, near + (int64_t)i * s->dim[dim].local, w);
}

/* Whether no rule applies to the result any more. */
static bool is_settled(const struct tern_stride *s)
{
    for (unsigned i = 0; i < s->dims; i++) {
        const struct tern_stride_dim *d = &s->dim[i];

        if (d->count < 2 || d->remote < 0 || (d->remote == 0 && d->local < 0))
            return false;
        if ((uint64_t)d->remote == s->run && (uint64_t)d->local == s->run)
            return false;
        if (i > 0 && (uint64_t)s->dim[i - 1].remote - 1 > (uint64_t)d->remote - 1)
            return false;
        for (unsigned j = 0; j < s->dims; j++)
            if (i != j && s->dim[j].remote == d->remote * (int64_t)d->count &&
                s->dim[j].local == d->local * (int64_t)d->count)
                return false;
    }
    return true;
}

static void print_input(const struct input *in)
{
    print_message("element %llu\n", (unsigned long long)in->element);
    for (unsigned i = 0; i < in->dims; i++)
        print_message("  count %zu far %lld near %lld\n", in->count[i], (long long)in->far[i], (long long)in->near[i]);
}

static void compare(const struct input *in)
{
    struct tern_stride       s;
    enum tern_stride_verdict verdict = make(in, &s);
    struct walk              want = nowhere, got = nowhere;

    walk_input(in, 0, 0, 0, &want);
    if (want.bytes == 0) {
        assert_int_equal(verdict, TERN_STRIDE_EMPTY);
        assert_true(s.total == 0);
        return;
    }
    if (verdict == TERN_STRIDE_FINE)
        walk_result(&s, 0, s.remote, s.local, &got);
    if (verdict != TERN_STRIDE_FINE || memcmp(&want, &got, sizeof(want)) != 0 || s.total != want.bytes ||
        s.remote_reach.before != (uint64_t)-want.far_low || s.remote_reach.behind != (uint64_t)want.far_high ||
        s.local_reach.before != (uint64_t)-want.near_low || s.local_reach.behind != (uint64_t)want.near_high ||
        !is_settled(&s)) {
        print_input(in);
        print_message("became run %llu, from %lld and %lld\n", (unsigned long long)s.run, (long long)s.remote,
                      (long long)s.local);
        for (unsigned i = 0; i < s.dims; i++)
            print_message("  count %llu far %lld near %lld\n", (unsigned long long)s.dim[i].count,
                          (long long)s.dim[i].remote, (long long)s.dim[i].local);
        fail();
    }
}

/* ---- random inputs ---- */

static void add(struct input *in, size_t count, int64_t far, int64_t near)
{
    in->count[in->dims] = count;
    in->far[in->dims] = far;
    in->near[in->dims] = (ptrdiff_t)near;
    in->dims++;
}

static void shuffle(struct input *in, uint64_t *seed)
{
    for (unsigned i = in->dims; i > 1; i--) {
        unsigned  j = (unsigned)(job_random(seed) % i);
        size_t    count = in->count[i - 1];
        int64_t   far = in->far[i - 1];
        ptrdiff_t near = in->near[i - 1];

        in->count[i - 1] = in->count[j], in->far[i - 1] = in->far[j], in->near[i - 1] = in->near[j];
        in->count[j] = count, in->far[j] = far, in->near[j] = near;
    }
}

/* Returns where the previous dimension ends; 0 if that is far away. */
static int64_t end_of(const struct input *in, int64_t stride)
{
    return stride < -4096 || stride > 4096 ? 0 : stride * (int64_t)in->count[in->dims - 1];
}

/* A small stride; often one that the element or another dimension makes interesting. */
static int64_t any_stride(const struct input *in, uint64_t *seed)
{
    int64_t stride;

    switch (job_random(seed) % 6) {
    case 0: stride = (int64_t)in->element; break;
    case 1: stride = 0; break;
    case 2: stride = in->dims > 0 ? end_of(in, in->far[in->dims - 1]) : (int64_t)in->element; break;
    case 3: stride = in->dims > 0 ? end_of(in, in->near[in->dims - 1]) : (int64_t)in->element; break;
    default: stride = (int64_t)(job_random(seed) % 65);
    }
    return job_random(seed) % 3 == 0 ? -stride : stride;
}

/* Anything. */
static void draw_any(struct input *in, uint64_t *seed)
{
    uint64_t bytes = in->element;
    unsigned dims = (unsigned)(job_random(seed) % 7);

    while (in->dims < dims) {
        size_t  count = job_random(seed) % 32 == 0 ? 0 : 1 + job_random(seed) % 4;
        int64_t far = any_stride(in, seed), near = job_random(seed) % 2 ? far : any_stride(in, seed);

        if (bytes * (count ? count : 1) > MOST)
            count = 1;
        bytes *= count ? count : 1;
        if (count == 1 && job_random(seed) % 4 == 0) { /* which is never read */
            far = (int64_t)job_random(seed);
            near = (int64_t)job_random(seed);
        }
        add(in, count, far, near);
    }
    if (job_random(seed) % 2)
        shuffle(in, seed);
}

/* One dimension, or a plane that may be transposed, cut into many. Returns the number of dimensions that must
 * remain. */
static unsigned draw_cut(struct input *in, uint64_t *seed)
{
    unsigned planes = 1 + (unsigned)(job_random(seed) % 2);
    int64_t  rows[2] = { 1 + (int64_t)(job_random(seed) % 8), 1 + (int64_t)(job_random(seed) % 8) };
    int64_t  far[2], near[2];
    unsigned left = 0;

    /* Not dense, and neither dimension continues where the other ends. */
    far[0] = (int64_t)in->element + 1 + (int64_t)(job_random(seed) % 16);
    near[0] = (int64_t)in->element + 1 + (int64_t)(job_random(seed) % 16);
    far[1] = far[0] * rows[0] + 1 + (int64_t)(job_random(seed) % 16);
    near[1] = near[0] * rows[0] + 1 + (int64_t)(job_random(seed) % 16);
    for (unsigned p = 0; p < planes; p++) {
        int64_t sign = job_random(seed) % 2 ? 1 : -1, mirror = job_random(seed) % 2 ? 1 : -1;
        int64_t done = 1;

        left += rows[p] > 1;
        for (int64_t part = 2; done < rows[p]; part = part == 2 ? rows[p] / done : part) {
            if (rows[p] / done % part != 0)
                part = rows[p] / done;
            add(in, (size_t)part, sign * far[p] * done, sign * mirror * near[p] * done);
            done *= part;
        }
        while (in->dims < 30 && job_random(seed) % 3 == 0)
            add(in, 1, (int64_t)job_random(seed), (int64_t)job_random(seed));
    }
    if (planes == 2 && job_random(seed) % 2) /* a transpose: the local side has them in the opposite order */
        for (unsigned i = 0; i < in->dims; i++)
            if (in->count[i] > 1)
                in->near[i] = (ptrdiff_t)(in->near[i] * 3);
    shuffle(in, seed);
    return left;
}

static void any_input_means_the_same(void **state)
{
    uint64_t seed = 20181;

    (void)state;
    for (unsigned i = 0; i < CASES; i++) {
        struct input in;

        in.dims = 0;
        in.element = job_random(&seed) % 16 == 0 ? 0 : 1 + job_random(&seed) % 9;
        draw_any(&in, &seed);
        compare(&in);
    }
}

static void what_was_cut_is_folded(void **state)
{
    uint64_t seed = 42;

    (void)state;
    for (unsigned i = 0; i < CASES / 2; i++) {
        struct input       in;
        struct tern_stride s;
        unsigned           left;

        in.dims = 0;
        in.element = 1 + job_random(&seed) % 4;
        left = draw_cut(&in, &seed);
        compare(&in);
        assert_int_equal(make(&in, &s), TERN_STRIDE_FINE);
        assert_int_equal(s.dims, left);
    }
}

/* ---- chosen inputs ---- */

/* The patterns of the GASNet-EX paper: elements at a fixed distance, their number spread over any number of
 * dimensions. */
static void patterns_of_the_benchmarks_become_one_loop(void **state)
{
    (void)state;
    for (unsigned dims = 1; dims <= TERN_STRIDE_DIMS; dims++) {
        for (int backwards = 0; backwards <= 1; backwards++) {
            struct input       in = { .dims = dims, .element = 8 };
            struct tern_stride s;
            uint64_t           elements = 1;

            for (unsigned i = 0; i < dims; i++) {
                unsigned at = backwards ? dims - 1 - i : i;
                in.count[at] = i < 18 ? 2 : 1;
                in.far[at] = in.near[at] = (ptrdiff_t)(32 * elements);
                elements *= in.count[at];
            }
            assert_int_equal(make(&in, &s), TERN_STRIDE_FINE);
            assert_int_equal(s.dims, 1);
            assert_true(s.run == 8 && s.dim[0].count == elements && s.dim[0].remote == 32 && s.dim[0].local == 32);
        }
    }
}

static void a_dense_box_becomes_one_run(void **state)
{
    struct input in = { .dims = 3, .element = 8, .count = { 5, 4, 3 }, .far = { 96, 24, 8 }, .near = { 96, 24, 8 } };
    struct tern_stride s;

    (void)state;
    assert_int_equal(make(&in, &s), TERN_STRIDE_FINE);
    assert_true(s.dims == 0 && s.run == 480 && s.remote == 0 && s.local == 0 && s.total == 480);
    in.far[1] = -24, in.near[1] = -24; /* the middle one walked backwards on both sides */
    assert_int_equal(make(&in, &s), TERN_STRIDE_FINE);
    assert_true(s.dims == 0 && s.run == 480 && s.remote == -72 && s.local == -72);
    in.near[1] = 24; /* a reflection: the remote side is put in order, at the local side's expense */
    assert_int_equal(make(&in, &s), TERN_STRIDE_FINE);
    assert_true(s.dims == 2 && s.run == 24 && s.remote == -72 && s.local == 72);
    assert_true(s.dim[0].count == 4 && s.dim[0].remote == 24 && s.dim[0].local == -24);
    assert_true(s.dim[1].count == 5 && s.dim[1].remote == 96 && s.dim[1].local == 96);
}

static void the_far_side_comes_first(void **state)
{
    struct input       in = { .dims = 2, .element = 8, .count = { 100, 200 }, .far = { 1600, 8 }, .near = { 8, 800 } };
    struct tern_stride s;

    (void)state;
    assert_int_equal(make(&in, &s), TERN_STRIDE_FINE);
    assert_true(s.dims == 2 && s.run == 8);
    assert_true(s.dim[0].count == 200 && s.dim[0].remote == 8 && s.dim[0].local == 800);
    assert_true(s.dim[1].count == 100 && s.dim[1].remote == 1600 && s.dim[1].local == 8);
}

/* Sizes that do not fit into 63 bits are refused, unless the shape is empty. */
static void too_large_is_refused(void **state)
{
    static const struct {
        size_t  count[2];
        int64_t far[2], near[2];
    } bad[] = {
        { { SIZE_MAX, 1 }, { 1, 1 }, { 1, 1 } },
        { { 2, 1 }, { INT64_MIN, 1 }, { 1, 1 } },
        { { 2, 1 }, { 1, 1 }, { INT64_MIN, 1 } },
        { { 2, 1 }, { INT64_MAX, 1 }, { 1, 1 } },
        { { 3, 1 }, { INT64_MAX, 1 }, { 1, 1 } },
        { { 2, 2 }, { INT64_MAX / 2 + 1, INT64_MAX / 2 + 1 }, { 1, 1 } },
        { { 2, 2 }, { INT64_MAX / 2 + 1, -(INT64_MAX / 2 + 1) }, { 1, 1 } },
        { { 2, 2 }, { 1, 1 }, { -(INT64_MAX / 4 * 3), INT64_MAX / 2 + 1 } },
        { { 1ull << 32, 1ull << 32 }, { 0, 0 }, { 0, 0 } },
        { { 1ull << 32, 1ull << 31 }, { 0, 0 }, { 0, 0 } },
        { { 1ull << 40, 2 }, { 1 << 24, 1 }, { 0, 0 } },
        { { 2, SIZE_MAX }, { 8, 0 }, { 8, INT64_MIN } },
        { { 1ull << 33, 1ull << 33 }, { 0, 0 }, { 1, 1ll << 33 } },
        { { 1ull << 62, 4 }, { 1, 0 }, { 1, 0 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct input       in = { .dims = 2, .element = 1 };
        struct tern_stride s;

        for (int d = 0; d < 2; d++)
            in.count[d] = bad[i].count[d], in.far[d] = bad[i].far[d], in.near[d] = (ptrdiff_t)bad[i].near[d];
        assert_int_equal(make(&in, &s), TERN_STRIDE_HUGE);
        in.element = 0;
        assert_int_equal(make(&in, &s), TERN_STRIDE_EMPTY);
        in.element = 1, in.dims = 3, in.count[2] = 0, in.far[2] = INT64_MIN, in.near[2] = PTRDIFF_MIN;
        assert_int_equal(make(&in, &s), TERN_STRIDE_EMPTY);
    }
}

/* Dimensions that become adjacent only after sorting, and are too large together. */
static void too_large_in_the_end(void **state)
{
    struct input       in = { .dims = 3, .element = 1 };
    struct tern_stride s;

    (void)state;
    for (unsigned bits = 20; bits < 64; bits++) {
        in.count[0] = in.count[2] = (size_t)1 << bits;
        in.far[0] = in.near[0] = 0;
        in.count[1] = 2;
        in.far[1] = 16, in.near[1] = 24;
        in.far[2] = in.near[2] = 0;
        assert_int_equal(make(&in, &s), 2 * bits + 1 < 63 ? TERN_STRIDE_FINE : TERN_STRIDE_HUGE);
    }
}

/* Sizes that just fit are accepted. */
static void large_is_not_too_large(void **state)
{
    struct input in = {
        .dims = 2, .element = 1, .count = { 2, 2 }, .far = { INT64_MAX / 2, -(INT64_MAX / 2) }, .near = { 1, 1 }
    };
    struct tern_stride s;

    (void)state;
    assert_int_equal(make(&in, &s), TERN_STRIDE_FINE);
    assert_true(s.remote_reach.before == (uint64_t)INT64_MAX / 2 &&
                s.remote_reach.behind == (uint64_t)INT64_MAX / 2 + 1);
    in = (struct input){ .dims = 1,
                         .element = (uint64_t)1 << 40,
                         .count = { 1 << 22 },
                         .far = { (int64_t)1 << 40 },
                         .near = { (ptrdiff_t)1 << 40 } };
    assert_int_equal(make(&in, &s), TERN_STRIDE_FINE);
    assert_true(s.dims == 0 && s.run == (uint64_t)1 << 62);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_input_means_the_same),
        cmocka_unit_test(what_was_cut_is_folded),
        cmocka_unit_test(patterns_of_the_benchmarks_become_one_loop),
        cmocka_unit_test(a_dense_box_becomes_one_run),
        cmocka_unit_test(the_far_side_comes_first),
        cmocka_unit_test(too_large_is_refused),
        cmocka_unit_test(too_large_in_the_end),
        cmocka_unit_test(large_is_not_too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
