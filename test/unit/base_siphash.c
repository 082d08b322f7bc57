/* base_siphash.c: promises: the hashes equal those that the authors of SipHash publish: key 00 01 .. 0f, message 00 01
 * .. of each length; random bytes are all drawn, and no others are changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/siphash.h"

static void as_published(void **state)
{
    static const struct {
        size_t   len;
        uint64_t hash;
    } known[] = {
        { 0, 0x726fdb47dd0e0e31 }, { 1, 0x74f839c593dc67fd }, { 2, 0x0d6c8009d9a94f5a },  { 3, 0x85676696d7fb7e2d },
        { 7, 0xab0200f58b01d137 }, { 8, 0x93f5f5799a932462 }, { 15, 0xa129ca6149be45e5 }, { 63, 0x958a324ceb064572 },
    };
    uint8_t key[TERN_SIPHASH_KEY], message[64];

    (void)state;
    for (uint8_t i = 0; i < 64; i++)
        message[i] = i;
    for (uint8_t i = 0; i < TERN_SIPHASH_KEY; i++)
        key[i] = i;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_int_equal(tern_base_siphash(key, message, known[i].len), known[i].hash);
}

static void random_bytes_differ(void **state)
{
    uint8_t bytes[66] = { 0 };
    bool    changed[64] = { false };

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(tern_base_random(bytes + 1, 64), TERN_OK);
        for (int k = 0; k < 64; k++)
            changed[k] = changed[k] || bytes[k + 1] != 0;
    }
    for (int k = 0; k < 64; k++)
        assert_true(changed[k]);
    assert_true(bytes[0] == 0 && bytes[65] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(as_published), cmocka_unit_test(random_bytes_differ) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
