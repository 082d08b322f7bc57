/* ofi_rx_extent.c: a receive buffer is covered when all its messages have arrived, and not before.
 *
 * Promise: for messages of any lengths that a provider places with any alignment, and that arrive in any order, a full
 * buffer is covered exactly when the last message has arrived, once the messages have shown the alignment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "link/ofi/rx_extent.h"

#define MESSAGES 64

static uint64_t seed = 5;

static unsigned chance(unsigned below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(seed >> 33) % below;
}

struct message {
    size_t offset, len;
};

/* Place messages as a provider with this alignment does; their lengths are multiples of unit. */
static void place(struct message *message, size_t align, size_t unit)
{
    size_t at = 0;

    for (unsigned i = 0; i < MESSAGES; i++) {
        message[i] = (struct message){ at, unit * (1 + chance(40)) };
        at = (at + message[i].len + align - 1) / align * align;
    }
}

static void shuffle(struct message *message)
{
    for (unsigned i = MESSAGES - 1; i > 0; i--) {
        unsigned       j = chance(i + 1);
        struct message kept = message[i];

        message[i] = message[j];
        message[j] = kept;
    }
}

static void fill_buffers(size_t align, size_t unit)
{
    struct message message[MESSAGES];
    size_t         offsets = 0;

    for (unsigned round = 0; round < 20; round++) {
        struct ofi_rx_extent extent = { .reached = 0 };
        size_t               end;

        place(message, align, unit);
        end = message[MESSAGES - 1].offset + message[MESSAGES - 1].len;
        if (round > 0) /* the first buffer shows the alignment */
            shuffle(message);
        for (unsigned i = 0; i < MESSAGES; i++) {
            tern_ofi_rx_add(&extent, &offsets, message[i].offset, message[i].len);
            if (round > 0 && i + 1 < MESSAGES && extent.reached == end)
                assert_false(tern_ofi_rx_is_covered(&extent, offsets));
        }
        assert_true(tern_ofi_rx_is_covered(&extent, offsets));
    }
}

static void test_alignments(void **state)
{
    static const size_t align[] = { 1, 2, 8, 16, 64, 256 };
    static const size_t unit[] = { 1, 4, 8, 16, 24, 64 };

    (void)state;
    for (unsigned a = 0; a < sizeof(align) / sizeof(*align); a++)
        for (unsigned u = 0; u < sizeof(unit) / sizeof(*unit); u++)
            fill_buffers(align[a], unit[u]);
}

static void test_empty(void **state)
{
    struct ofi_rx_extent extent = { .reached = 0 };

    (void)state;
    assert_true(tern_ofi_rx_is_covered(&extent, 0));
    assert_true(tern_ofi_rx_is_covered(&extent, 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_alignments), cmocka_unit_test(test_empty) };

    return cmocka_run_group_tests_name("link ofi, extent of receive buffers", tests, NULL, NULL);
}
