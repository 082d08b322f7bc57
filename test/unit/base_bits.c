/* base_bits.c: promise: the functions for rounding, ranges and bits (base/bits.h) are correct at the limits of their
 * types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"

static void covers_does_not_wrap(void **state)
{
    (void)state;
    assert_true(tern_base_covers(8, 0, 8));
    assert_true(tern_base_covers(8, 8, 0));
    assert_true(tern_base_covers(0, 0, 0));
    assert_true(tern_base_covers(UINT64_MAX, 1, UINT64_MAX - 1));
    assert_false(tern_base_covers(8, 0, 9));
    assert_false(tern_base_covers(8, 9, 0));
    assert_false(tern_base_covers(8, 4, UINT64_MAX - 2)); /* 4 + that is 1 */
    assert_false(tern_base_covers(8, UINT64_MAX, 2));
    assert_false(tern_base_covers(UINT64_MAX, UINT64_MAX, 1));
}

static void round_up_tells_what_does_not_fit(void **state)
{
    (void)state;
    assert_true(tern_base_round_up(0, 4096) == 0);
    assert_true(tern_base_round_up(1, 4096) == 4096);
    assert_true(tern_base_round_up(4096, 4096) == 4096);
    assert_true(tern_base_round_up(4097, 4096) == 8192);
    assert_true(tern_base_round_up(7, 1) == 7);
    assert_true(tern_base_round_up(UINT64_MAX - 4095, 4096) == UINT64_MAX - 4095);
    assert_true(tern_base_round_up(UINT64_MAX - 4094, 4096) == 0);
    assert_true(tern_base_round_up(UINT64_MAX, 64) == 0);
}

static void log2_up_is_the_next_power(void **state)
{
    (void)state;
    assert_int_equal(tern_base_log2_up(1), 0);
    assert_int_equal(tern_base_log2_up(2), 1);
    assert_int_equal(tern_base_log2_up(UINT32_MAX), 32);
    assert_int_equal(tern_base_log2_up(1u << 31), 31);
    for (uint32_t n = 2; n < 5000; n++) {
        unsigned k = tern_base_log2_up(n);
        assert_true((1u << k) >= n && (1u << (k - 1)) < n);
    }
}

static void sequence_numbers_wrap(void **state)
{
    (void)state;
    assert_true(tern_base_seq_after(1, 0));
    assert_true(tern_base_seq_after(0, UINT32_MAX));
    assert_true(tern_base_seq_after(5, UINT32_MAX - 5));
    assert_false(tern_base_seq_after(0, 0));
    assert_false(tern_base_seq_after(UINT32_MAX, 0));
}

static void little_endian_on_every_machine(void **state)
{
    static const uint8_t bytes[] = { 0xf1, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };
    uint8_t              copy[9];

    (void)state;
    for (size_t len = 0; len <= 8; len++) {
        uint64_t value = tern_base_get_le(bytes, len);

        assert_true(len == 8 ? value == 0x88776655443322f1 : value == (0x88776655443322f1 & ((1ull << 8 * len) - 1)));
        memset(copy, 7, sizeof(copy));
        tern_base_put_le(copy, value, len);
        assert_memory_equal(copy, bytes, len);
        assert_int_equal(copy[len], 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(covers_does_not_wrap),           cmocka_unit_test(round_up_tells_what_does_not_fit),
        cmocka_unit_test(log2_up_is_the_next_power),      cmocka_unit_test(sequence_numbers_wrap),
        cmocka_unit_test(little_endian_on_every_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
