/* op_layout.c: layouts as byte streams, against a naive list of their bytes.
 *
 * timeout: 300
 *
 * Promise: however a stream is cut, packing it gives its bytes in order, unpacking puts them where they belong and
 * changes no others, and its runs cover the same bytes. A malformed description from a peer is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job_test.h"
#include "op/shape/layout.h"

#define CASES (JOB_SANITIZED ? 5000u : 30000u)
#define BYTES 20000u
#define MOST 4000u /* bytes of a stream */
#define ENTRIES 64

static unsigned char memory[BYTES], before[BYTES], stream[MOST];
static uint32_t      place[MOST]; /* the position of each byte of the stream */

struct sample {
    struct tern_layout        side;
    struct tern_layout_dim    dim[6];
    struct tern_layout_extent entry[ENTRIES];
    uint64_t                  at[ENTRIES];
};

static void list_run(uint32_t *count, uint64_t where, uint64_t len)
{
    for (uint64_t i = 0; i < len; i++)
        place[(*count)++] = (uint32_t)(where + i);
}

static void list_strided(const struct tern_layout *side, unsigned dims, uint64_t where, uint32_t *count)
{
    if (dims == 0) {
        list_run(count, where, side->run);
        return;
    }
    for (uint64_t i = 0; i < side->dim[dims - 1].count; i++)
        list_strided(side, dims - 1, where + i * (uint64_t)side->dim[dims - 1].step, count);
}

static void list_bytes(const struct tern_layout *side)
{
    uint32_t count = 0;

    if (side->kind == TERN_LAYOUT_STRIDED)
        list_strided(side, side->dims, side->first, &count);
    for (uint64_t i = 0; side->kind == TERN_LAYOUT_VECTOR && i < side->count; i++)
        list_run(&count, ((const struct tern_layout_extent *)side->list)[i].at,
                 ((const struct tern_layout_extent *)side->list)[i].len);
    for (uint64_t i = 0; side->kind == TERN_LAYOUT_INDEXED && i < side->count; i++)
        list_run(&count, ((const tern_layout_offset *)side->list)[i], side->run);
    assert_true(count == side->total);
}

/* Nested dimensions, so that nothing overlaps; some run backwards, some are in reverse order. */
static void draw_strided(struct sample *s, uint64_t *seed)
{
    uint64_t bytes = 1 + job_random(seed) % 20, span = bytes;

    s->side = (struct tern_layout){ .kind = TERN_LAYOUT_STRIDED, .run = bytes, .dim = s->dim };
    for (unsigned dims = (unsigned)(job_random(seed) % 6); s->side.dims < dims;) {
        uint64_t count = 1 + job_random(seed) % 6, step = span + job_random(seed) % 5;

        if (bytes * count > MOST || span + step * (count - 1) > BYTES)
            break;
        s->dim[s->side.dims++] = (struct tern_layout_dim){ count, (int64_t)step };
        bytes *= count;
        span += step * (count - 1);
    }
    s->side.first = job_random(seed) % (BYTES - span + 1);
    s->side.total = bytes;
    assert_true(tern_op_layout_valid(&s->side, BYTES));
    assert_false(tern_op_layout_valid(&s->side, s->side.first + span - 1));
    for (unsigned i = 0; i < s->side.dims; i++) {
        if (job_random(seed) % 3 == 0) {
            s->side.first += (uint64_t)s->dim[i].step * (s->dim[i].count - 1);
            s->dim[i].step = -s->dim[i].step;
        }
        if (i > 0 && job_random(seed) % 3 == 0) {
            struct tern_layout_dim swap = s->dim[i];
            s->dim[i] = s->dim[i - 1];
            s->dim[i - 1] = swap;
        }
    }
}

/* Extents in any order that do not overlap: each in its own slot. */
static void draw_listed(struct sample *s, uint64_t *seed, enum tern_layout_kind kind)
{
    uint64_t slot = BYTES / ENTRIES, len = job_random(seed) % (MOST / ENTRIES);

    s->side = (struct tern_layout){ .kind = kind, .run = kind == TERN_LAYOUT_INDEXED ? len : 0 };
    s->side.count = job_random(seed) % (ENTRIES + 1);
    s->side.list = kind == TERN_LAYOUT_VECTOR ? (const void *)s->entry : s->at;
    for (uint64_t i = 0; i < s->side.count; i++) {
        if (kind == TERN_LAYOUT_VECTOR)
            len = job_random(seed) % 4 == 0 ? 0 : job_random(seed) % (MOST / ENTRIES);
        s->at[i] = (i * 37 % ENTRIES) * slot + job_random(seed) % (slot - len);
        s->entry[i] = (struct tern_layout_extent){ s->at[i], len };
        s->side.total += len;
    }
}

static uint64_t cut(uint64_t left, uint64_t *seed)
{
    uint64_t part = 1 + job_random(seed) % (job_random(seed) % 2 ? 40 : MOST);

    return part < left ? part : left;
}

static void check_pack(const struct tern_layout *side, const struct tern_layout_memory *m, uint64_t *seed)
{
    struct tern_cursor mark = { 0, 0, 0 };

    memset(stream, 0, sizeof(stream));
    for (uint64_t at = 0, part; at < side->total; at += part) {
        part = cut(side->total - at, seed);
        assert_true(tern_op_layout_pack(side, m, &mark, part, stream + at));
        assert_true(mark.at == at + part);
    }
    for (uint64_t i = 0; i < side->total; i++)
        assert_int_equal(stream[i], memory[place[i]]);
    assert_memory_equal(memory, before, sizeof(memory));
}

static void check_unpack(const struct tern_layout *side, const struct tern_layout_memory *m, uint64_t *seed)
{
    struct tern_cursor mark = { 0, 0, 0 };

    for (uint64_t i = 0; i < side->total; i++) {
        stream[i] = (unsigned char)job_random(seed);
        before[place[i]] = stream[i];
    }
    for (uint64_t at = 0, part; at < side->total; at += part) {
        part = cut(side->total - at, seed);
        assert_true(tern_op_layout_unpack(side, m, &mark, part, stream + at));
    }
    assert_memory_equal(memory, before, sizeof(memory));
}

static void check_runs(const struct tern_layout *side, uint64_t *seed)
{
    struct tern_cursor mark = { 0, 0, 0 };

    for (uint64_t at = 0, part, where; at < side->total; at += part) {
        uint64_t run = tern_op_layout_run(side, &mark, &where);

        assert_true(run > 0 && run <= side->total - at);
        for (uint64_t i = 0; i < run; i++)
            assert_true(place[at + i] == where + i);
        part = job_random(seed) % 2 ? run : cut(side->total - at, seed); /* runs may be skipped */
        tern_op_layout_skip(side, &mark, part);
    }
}

static void streams_are_their_bytes(void **state)
{
    struct tern_layout_memory m = { memory, BYTES };
    uint64_t                  seed = 31;
    static struct sample      s;

    (void)state;
    for (size_t i = 0; i < BYTES; i++)
        memory[i] = before[i] = (unsigned char)job_random(&seed);
    for (unsigned i = 0; i < CASES; i++) {
        unsigned kind = i % TERN_LAYOUT_KINDS;

        if (kind == TERN_LAYOUT_STRIDED)
            draw_strided(&s, &seed);
        else
            draw_listed(&s, &seed, (enum tern_layout_kind)kind);
        list_bytes(&s.side);
        check_pack(&s.side, &m, &seed);
        check_unpack(&s.side, &m, &seed);
        check_runs(&s.side, &seed);
    }
}

/* The two sides of an optimised stride, each folded by itself, produce the same pairs. */
static void both_sides_go_together(void **state)
{
    uint64_t seed = 77;

    (void)state;
    for (unsigned i = 0; i < CASES; i++) {
        size_t                   count[4];
        int64_t                  far[4];
        ptrdiff_t                near[4];
        struct tern_stride       s;
        struct tern_stride_input in = { 4, 1 + job_random(&seed) % 8, count, far, near };
        struct tern_layout       sides[2];
        struct tern_layout_dim   dim[2][TERN_STRIDE_DIMS];
        struct tern_cursor       mark = { 0, 0, 0 };
        uint64_t                 at[2], sum = 0, want = 0;

        for (int d = 0; d < 4; d++) {
            count[d] = 1 + job_random(&seed) % 4;
            far[d] = (int64_t)(job_random(&seed) % 64) - 32;
            near[d] = job_random(&seed) % 2 ? (ptrdiff_t)far[d] : (ptrdiff_t)(job_random(&seed) % 64) - 32;
        }
        assert_int_equal(tern_op_stride_make(&in, &s), TERN_STRIDE_FINE);
        tern_op_layout_make(&sides[0], &s, false, 1000000, dim[0]);
        tern_op_layout_make(&sides[1], &s, true, 1000, dim[1]);
        assert_true(sides[0].total == s.total && sides[1].total == s.total);
        for (uint64_t n = 0; n < s.total; n++) { /* byte by byte */
            tern_op_layout_run(&sides[0], &mark, &at[0]);
            tern_op_layout_run(&sides[1], &mark, &at[1]);
            sum += (at[0] * 0x9e3779b97f4a7c15ull ^ at[1]) * 0xc2b2ae3d27d4eb4full;
            mark.at++;
        }
        for (size_t n = 0; n < count[0] * count[1] * count[2] * count[3]; n++) {
            size_t  rest = n;
            int64_t f = 1000, l = 1000000;

            for (int d = 0; d < 4; d++) {
                f += (int64_t)(rest % count[d]) * far[d];
                l += (int64_t)(rest % count[d]) * near[d];
                rest /= count[d];
            }
            for (uint64_t b = 0; b < in.element; b++)
                want += (((uint64_t)l + b) * 0x9e3779b97f4a7c15ull ^ ((uint64_t)f + b)) * 0xc2b2ae3d27d4eb4full;
        }
        assert_true(sum == want);
    }
}

static void nonsense_is_refused(void **state)
{
    static const struct tern_layout_dim bad[][2] = {
        { { 0, 8 }, { 1, 8 } },
        { { 2, -8 }, { 1, 8 } },
        { { UINT64_MAX, 8 }, { 1, 8 } },
        { { 2, INT64_MAX }, { 3, INT64_MAX } },
        { { 1ull << 32, 0 }, { 1ull << 32, 0 } },
        { { 200, 8 }, { 1, 8 } },
    };
    struct tern_layout        side = { .kind = TERN_LAYOUT_STRIDED, .run = 8, .dims = 2, .total = 8 };
    struct tern_layout_extent list[] = { { 0, 8 }, { 1000, 8 }, { UINT64_MAX, 8 }, { 8, UINT64_MAX } };
    struct tern_layout_memory m = { memory, 1000 };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        side.dim = bad[i];
        side.total = 8 * bad[i][0].count * bad[i][1].count;
        assert_false(tern_op_layout_valid(&side, 1000));
    }
    side = (struct tern_layout){ .kind = TERN_LAYOUT_STRIDED, .run = 0 };
    assert_false(tern_op_layout_valid(&side, 1000));
    side.run = 8, side.total = 9;
    assert_false(tern_op_layout_valid(&side, 1000));
    for (uint64_t i = 1; i < 4; i++) {
        struct tern_cursor mark = { 0, i, 0 };

        side = (struct tern_layout){ .kind = TERN_LAYOUT_VECTOR, .total = 8, .count = i + 1, .list = list };
        assert_false(tern_op_layout_pack(&side, &m, &mark, 8, stream));
        mark = (struct tern_cursor){ 0, 0, 0 };
        assert_false(tern_op_layout_unpack(&side, &m, &mark, 16, stream));
        side.count = 1; /* fewer bytes than requested */
        mark = (struct tern_cursor){ 0, 0, 0 };
        assert_false(tern_op_layout_pack(&side, &m, &mark, 9, stream));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_their_bytes),
        cmocka_unit_test(both_sides_go_together),
        cmocka_unit_test(nonsense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
