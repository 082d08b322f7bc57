/* op_wire.c: the positions of the arguments and the payload of an active message.
 *
 * Promise: whatever the number of arguments and the length, payload and arguments lie in the head or in the data and
 * never overlap, the payload on a multiple of 8; a payload that fits in the head is there and needs no data; the shape
 * carries kind and location; and the location for the longest payload with all arguments is also valid for a shorter
 * payload with fewer arguments. Commit relies on this.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tern/am.h>

#include "op/wire.h"

#define MOST_LEN 300u

/* The number of data bytes that the arguments take. */
static size_t spilt(unsigned nargs)
{
    return nargs > WIRE_ARGS ? (nargs - WIRE_ARGS) * sizeof(uint32_t) : 0;
}

/* Where the arguments in the head end. */
static size_t args_end(unsigned nargs)
{
    return sizeof(struct wire_am) + (nargs < WIRE_ARGS ? nargs : WIRE_ARGS) * sizeof(uint32_t);
}

/* Check that a payload of len bytes at that location fits and does not overlap nargs arguments. */
static void expect_sound(unsigned location, unsigned nargs, size_t len)
{
    size_t at = location * sizeof(uint32_t);

    assert_true(args_end(nargs) <= TERN_LINK_HEAD);
    if (wire_in_head(location)) {
        assert_int_equal(spilt(nargs), 0); /* such a message has no data */
        assert_int_equal(wire_before(location), 0);
        assert_int_equal(at % 8, 0);
        assert_true(at >= args_end(nargs));
        assert_true(at <= TERN_LINK_HEAD && len <= TERN_LINK_HEAD - at);
    } else {
        assert_true(location == WIRE_IN_DATA || location == WIRE_BEHIND_SPILL);
        assert_true(wire_before(location) >= spilt(nargs));
        assert_int_equal(wire_before(location) % 8, 0);
    }
}

static void every_message_has_a_place(void **state)
{
    (void)state;
    for (unsigned nargs = 0; nargs <= TERN_AM_ARGS; nargs++) {
        for (size_t len = 0; len < MOST_LEN; len++) {
            unsigned location = wire_location(nargs, len);

            expect_sound(location, nargs, len);
            assert_true(wire_in_head(location) ==
                        (spilt(nargs) == 0 && (args_end(nargs) + 7) / 8 * 8 + len <= TERN_LINK_HEAD));
            assert_true((wire_before(location) > 0) ==
                        (spilt(nargs) > 0)); /* no data before the payload without need */
        }
        assert_int_equal(wire_location(nargs, MOST_LEN), wire_location(nargs, SIZE_MAX));
    }
}

static void examples(void **state)
{
    (void)state;
    assert_int_equal(wire_location(0, 0), 2);
    assert_int_equal(wire_location(0, 40), 2);
    assert_int_equal(wire_location(0, 41), WIRE_IN_DATA);
    assert_int_equal(wire_location(1, 32), 4);
    assert_int_equal(wire_location(2, 32), 4);
    assert_int_equal(wire_location(2, 33), WIRE_IN_DATA);
    assert_int_equal(wire_location(4, sizeof(struct wire_long)), 6);
    assert_int_equal(wire_location(10, 0), 12);
    assert_int_equal(wire_location(10, 1), WIRE_IN_DATA);
    assert_int_equal(wire_location(11, 0), WIRE_BEHIND_SPILL);
    assert_int_equal(wire_location(16, SIZE_MAX), WIRE_BEHIND_SPILL);
    assert_int_equal(wire_before(WIRE_IN_DATA), 0);
    assert_int_equal(wire_before(WIRE_BEHIND_SPILL), WIRE_SPILL);
}

static void shape_carries_place(void **state)
{
    (void)state;
    for (unsigned kind = TERN_AM_SHORT; kind <= TERN_AM_LONG; kind++) {
        for (unsigned location = 0; location <= WIRE_BEHIND_SPILL; location++) {
            assert_int_equal(wire_shape(kind, location) & 3, kind);
            assert_int_equal(wire_shape(kind, location) >> 2, location);
        }
    }
}

/* Prepared for the longest payload and all arguments, committed with fewer of both: the payload stays where it was
 * written. */
static void holds_for_less(void **state)
{
    (void)state;
    for (unsigned nargs = 0; nargs <= TERN_AM_ARGS; nargs++)
        for (size_t max = 0; max < 100; max++)
            for (unsigned fewer = 0; fewer <= nargs; fewer++)
                for (size_t len = 0; len <= max; len++)
                    expect_sound(wire_location(nargs, max), fewer, len);
}

/* The wire_long of a long message gets its location at commit, and never needs more data than was reserved. */
static void long_needs_no_more(void **state)
{
    const size_t len = sizeof(struct wire_long);

    (void)state;
    for (unsigned nargs = 0; nargs <= TERN_AM_ARGS; nargs++) {
        for (unsigned fewer = 0; fewer <= nargs; fewer++) {
            unsigned prepared = wire_location(nargs, len), location = wire_location(fewer, len);

            assert_true(wire_in_head(location) || !wire_in_head(prepared));
            assert_true(wire_before(location) <= wire_before(prepared));
            assert_true(wire_before(location) + len <= WIRE_STAGE); /* and not into a payload that waits behind it */
        }
    }
    assert_int_equal(WIRE_STAGE % 8, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_has_a_place), cmocka_unit_test(examples),
        cmocka_unit_test(shape_carries_place),       cmocka_unit_test(holds_for_less),
        cmocka_unit_test(long_needs_no_more),
    };

    return cmocka_run_group_tests_name("bytes of active messages", tests, NULL, NULL);
}
