/* chaos_schedule.c: the decisions of chaos.
 *
 * Promise: equal seeds, ranks and calls give equal decisions, other seeds and ranks other decisions; nothing is held
 * back longer than the requested delay, except behind an operation that it must follow; an operation that must follow
 * never goes first, and an operation that may be overtaken is overtaken as often as requested; a stall ends; the shares
 * are close to the requested ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "link/chaos/chaos.h"

#define DRAWS 10000

static struct tern_chaos settings(const char *text)
{
    struct tern_chaos chaos;

    assert_int_equal(tern_base_chaos_parse(text, &chaos), TERN_OK);
    return chaos;
}

/* A hash of the decisions of a stream over the same calls. */
static uint64_t course(const struct tern_chaos *chaos, int rank, enum chaos_use use, uint64_t number)
{
    struct chaos_stream stream;
    uint64_t            sum = 0;

    tern_chaos_stream_begin(&stream, chaos, rank, use, number);
    for (int i = 0; i < 500; i++) {
        sum = sum * 31 + tern_chaos_look(&stream);
        sum = sum * 31 + tern_chaos_refuses(&stream);
        sum = sum * 31 + tern_chaos_due(&stream, 0, 0);
    }
    return sum;
}

static void repeatable(void **state)
{
    struct tern_chaos seven = settings("seed=7"), eight = settings("seed=8"), zero = settings("seed=0");
    uint64_t          sums[] = { course(&seven, 0, CHAOS_LANE, 0),  course(&eight, 0, CHAOS_LANE, 0),
                                 course(&zero, 0, CHAOS_LANE, 0),   course(&seven, 1, CHAOS_LANE, 0),
                                 course(&seven, 0, CHAOS_OPEN, 0),  course(&seven, 0, CHAOS_LANE, 1),
                                 course(&seven, 0, CHAOS_GROUP, 0), course(&seven, 4095, CHAOS_LANE, 0) };

    (void)state;
    assert_true(course(&seven, 0, CHAOS_LANE, 0) == sums[0]);
    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
        for (size_t k = 0; k < i; k++)
            assert_true(sums[i] != sums[k]);
}

static void delays_are_bounded(void **state)
{
    struct tern_chaos   chaos = settings("seed=3,delay=10,stall=0");
    struct chaos_stream stream;
    unsigned            seen[11] = { 0 };

    (void)state;
    tern_chaos_stream_begin(&stream, &chaos, 0, CHAOS_LANE, 0);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t due = tern_chaos_due(&stream, 0, 0);
        assert_true(due >= stream.now && due <= stream.now + 10);
        seen[due - stream.now]++;
        assert_true(tern_chaos_look(&stream));
    }
    for (int i = 0; i <= 10; i++)
        assert_true(seen[i] > DRAWS / 30); /* each of them happens */
    chaos = settings("seed=3,delay=0,stall=0");
    for (int i = 0; i < 100; i++)
        assert_true(tern_chaos_due(&stream, 0, 0) == stream.now);
}

/* A held-back operation goes before the operations that must follow it, also when it is overdue. */
static void order_that_must_be(void **state)
{
    struct tern_chaos   chaos = settings("seed=5,delay=10,stall=0,reorder=100");
    struct chaos_stream stream;
    uint64_t            last = 0;

    (void)state;
    tern_chaos_stream_begin(&stream, &chaos, 0, CHAOS_CHANNEL, 0);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t due = tern_chaos_due(&stream, last, 0);
        assert_true(due >= last && (last == 0 || due > stream.now));
        last = due;
        tern_chaos_look(&stream);
    }
}

static unsigned overtakes(const char *text)
{
    struct tern_chaos   chaos = settings(text);
    struct chaos_stream stream;
    unsigned            count = 0;

    tern_chaos_stream_begin(&stream, &chaos, 0, CHAOS_LANE, 0);
    for (int i = 0; i < DRAWS; i++)
        count += tern_chaos_due(&stream, 0, stream.now + 1000) < stream.now + 1000;
    return count;
}

static void order_that_may_change(void **state)
{
    unsigned half = overtakes("seed=1,reorder=50");

    (void)state;
    assert_int_equal(overtakes("seed=1,reorder=0"), 0);
    assert_int_equal(overtakes("seed=1,reorder=100"), DRAWS);
    assert_true(half > DRAWS / 2 - DRAWS / 20 && half < DRAWS / 2 + DRAWS / 20);
}

static unsigned refusals(const char *text)
{
    struct tern_chaos   chaos = settings(text);
    struct chaos_stream stream;
    unsigned            count = 0;

    tern_chaos_stream_begin(&stream, &chaos, 0, CHAOS_OPEN, 0);
    for (int i = 0; i < DRAWS; i++)
        count += tern_chaos_refuses(&stream);
    return count;
}

static void refusals_are_as_many(void **state)
{
    unsigned ten = refusals("seed=1,again=10");

    (void)state;
    assert_int_equal(refusals("seed=1,again=0"), 0);
    assert_true(ten > DRAWS / 10 - DRAWS / 50 && ten < DRAWS / 10 + DRAWS / 50);
    assert_true(refusals("seed=1,again=90") < DRAWS);
}

static void stalls_end(void **state)
{
    struct tern_chaos   chaos = settings("seed=2,stall=5"), none = settings("seed=2,stall=0");
    struct chaos_stream stream, still;
    unsigned            run = 0, longest = 0, stalls = 0;

    (void)state;
    tern_chaos_stream_begin(&stream, &chaos, 0, CHAOS_LANE, 0);
    tern_chaos_stream_begin(&still, &none, 0, CHAOS_LANE, 0);
    for (int i = 0; i < DRAWS; i++) {
        assert_true(tern_chaos_look(&still));
        if (tern_chaos_look(&stream)) {
            run = 0;
            continue;
        }
        stalls += run == 0;
        longest = ++run > longest ? run : longest;
    }
    assert_true(stalls > DRAWS / CHAOS_STALLS / 4);
    assert_true(longest >= 5 && longest < 20); /* a few may come one after the other */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeatable),           cmocka_unit_test(delays_are_bounded),
        cmocka_unit_test(order_that_must_be),   cmocka_unit_test(order_that_may_change),
        cmocka_unit_test(refusals_are_as_many), cmocka_unit_test(stalls_end),
    };

    return cmocka_run_group_tests_name("chaos schedule", tests, NULL, NULL);
}
