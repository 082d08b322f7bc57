/* op_threshold.c: promise: of the waiting operations the one with the lowest threshold comes first, of equal thresholds
 * the oldest, and none before its threshold is reached; an operation that leaves from the middle does not affect the
 * others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "job_test.h"
#include "op/trigger/threshold.h"

#define MANY 2000

static void in_order(void **state)
{
    static struct tern_threshold one[MANY];
    struct tern_threshold_queue  heap = { 0 };
    uint64_t                     seed = 5;

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        one[i].threshold = job_random(&seed) % 100;
        assert_true(tern_op_threshold_add(&heap, &one[i]));
    }
    for (uint64_t reached = 0; reached < 100; reached++) {
        const struct tern_threshold *armed, *before = NULL;

        while ((armed = tern_op_threshold_pop(&heap, reached))) {
            assert_int_equal(armed->threshold, reached);
            assert_true(!before || before < armed); /* they were added in the order of the array */
            before = armed;
        }
    }
    assert_null(tern_op_threshold_next(&heap, NULL));
    tern_op_threshold_free(&heap);
}

static void not_before(void **state)
{
    struct tern_threshold       low = { .threshold = 3 }, high = { .threshold = UINT64_MAX };
    struct tern_threshold_queue heap = { 0 };

    (void)state;
    assert_false(tern_op_threshold_reached(&heap, UINT64_MAX));
    assert_null(tern_op_threshold_pop(&heap, UINT64_MAX));
    assert_true(tern_op_threshold_add(&heap, &high));
    assert_true(tern_op_threshold_add(&heap, &low));
    assert_false(tern_op_threshold_reached(&heap, 2));
    assert_null(tern_op_threshold_pop(&heap, 2));
    assert_ptr_equal(tern_op_threshold_pop(&heap, 3), &low);
    assert_null(tern_op_threshold_pop(&heap, UINT64_MAX - 1));
    assert_ptr_equal(tern_op_threshold_pop(&heap, UINT64_MAX), &high);
    tern_op_threshold_free(&heap);
}

/* Half of the operations leave, in any order; the rest come as if those had never been added. */
static void leaving(void **state)
{
    static struct tern_threshold one[MANY];
    static bool                  gone[MANY];
    struct tern_threshold_queue  heap = { 0 };
    uint64_t                     seed = 9, last = 0;
    size_t                       left = 0, seen = 0;

    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        one[i].threshold = job_random(&seed) % 500;
        assert_true(tern_op_threshold_add(&heap, &one[i]));
    }
    for (size_t n = 0; n < MANY; n++) {
        size_t i = job_random(&seed) % MANY;

        if (!gone[i])
            tern_op_threshold_remove(&heap, &one[i]);
        gone[i] = true;
    }
    for (size_t i = 0; i < MANY; i++)
        left += !gone[i];
    for (const struct tern_threshold *armed = NULL; (armed = tern_op_threshold_next(&heap, armed)); seen++)
        assert_false(gone[armed - one]);
    assert_int_equal(seen, left);
    for (const struct tern_threshold *armed; (armed = tern_op_threshold_pop(&heap, UINT64_MAX)); left--) {
        assert_false(gone[armed - one]);
        assert_true(armed->threshold >= last);
        last = armed->threshold;
        gone[armed - one] = true;
    }
    assert_int_equal(left, 0);
    tern_op_threshold_free(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order),
        cmocka_unit_test(not_before),
        cmocka_unit_test(leaving),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
