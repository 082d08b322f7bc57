/* op_overlap.c: promise: the check for overlapping pieces finds every overlap, and reports no overlap that does not
 * exist.
 *
 * builds: release debug asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "job_test.h"
#include "op/shape/overlap.h"

#define BYTES 4096

static unsigned char seen[2][BYTES];

/* Count how often the walk touches each byte. */
static void mark(const struct tern_layout *side, unsigned char *times, uint64_t shift)
{
    struct tern_cursor at = { 0, 0, 0 };
    uint64_t           where;

    memset(times, 0, BYTES);
    while (at.at < side->total) {
        uint64_t len = tern_op_layout_run(side, &at, &where);

        for (uint64_t i = 0; i < len; i++)
            times[where + shift + i]++;
        tern_op_layout_skip(side, &at, len);
    }
}

struct sample {
    struct tern_layout        side;
    struct tern_layout_dim    dim[3];
    struct tern_layout_extent entry[12];
};

static void draw(struct sample *s, uint64_t *seed)
{
    if (job_random(seed) % 2) {
        s->side = (struct tern_layout){ .kind = TERN_LAYOUT_STRIDED, .run = 1 + job_random(seed) % 8, .dim = s->dim };
        s->side.total = s->side.run;
        s->side.first = 1000 + job_random(seed) % 64;
        for (s->side.dims = 0; s->side.dims < job_random(seed) % 4 && s->side.dims < 3; s->side.dims++) {
            s->dim[s->side.dims] =
                (struct tern_layout_dim){ 1 + job_random(seed) % 4, (int64_t)(job_random(seed) % 128) - 40 };
            s->side.total *= s->dim[s->side.dims].count;
        }
        return;
    }
    s->side = (struct tern_layout){ .kind = TERN_LAYOUT_VECTOR, .count = job_random(seed) % 12, .list = s->entry };
    for (uint64_t i = 0; i < s->side.count; i++) {
        s->entry[i] = (struct tern_layout_extent){ 900 + job_random(seed) % 400, job_random(seed) % 20 };
        s->side.total += s->entry[i].len;
    }
}

static void found_where_they_are(void **state)
{
    uint64_t      seed = 5, where;
    struct sample a, b;
    unsigned      within = 0, between = 0;

    (void)state;
    for (int i = 0; i < (JOB_SANITIZED ? 20000 : 200000); i++) {
        uint64_t shift = job_random(&seed) % 500;
        bool     want = false;

        draw(&a, &seed);
        draw(&b, &seed);
        mark(&a.side, seen[0], 0);
        mark(&b.side, seen[1], shift);
        for (int n = 0; n < BYTES; n++)
            want |= seen[0][n] > 1;
        assert_int_equal(tern_op_overlap_within(&a.side, 1000, &where), want);
        if (want)
            assert_true(seen[0][where] > 1);
        within += want;
        want = false;
        for (int n = 0; n < BYTES; n++)
            want |= seen[0][n] && seen[1][n];
        assert_int_equal(tern_op_overlap_between(&a.side, &b.side, shift, 1000, &where), want);
        if (want)
            assert_true(seen[0][where] && seen[1][where]);
        between += want;
    }
    assert_true(within > 1000 && between > 1000);
}

static void too_many_are_not_looked_at(void **state)
{
    struct tern_layout_dim dim = { 100, 0 };
    struct tern_layout     side = { .kind = TERN_LAYOUT_STRIDED, .run = 8, .dims = 1, .dim = &dim, .total = 800 };
    uint64_t               where;

    (void)state;
    assert_true(tern_op_overlap_within(&side, 100, &where));
    assert_false(tern_op_overlap_within(&side, 99, &where));
    dim.count = 1ull << 40; /* a layout that cannot overlap needs no search */
    dim.step = 8;
    side.total = 8ull << 40;
    assert_false(tern_op_overlap_within(&side, UINT64_MAX, &where));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_where_they_are),
        cmocka_unit_test(too_many_are_not_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
