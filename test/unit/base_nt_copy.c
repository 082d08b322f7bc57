/* base_nt_copy.c: a copy with non-temporal stores.
 *
 * Promise: the copy copies every byte, whatever the length and the alignment of source and destination, and changes no
 * byte around them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/nt_copy.h"

#define MOST 400
#define GUARD 64

static void every_byte_and_no_other(void **state)
{
    static _Alignas(64) unsigned char to[GUARD + 64 + MOST + GUARD], from[64 + MOST];

    (void)state;
    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (unsigned char)(i * 7 + i / 64 + 1);
    for (size_t len = 0; len <= MOST; len += len < 140 ? 1 : 13)
        for (size_t skew = 0; skew < 64; skew += 3) {
            unsigned char *at = to + GUARD + skew;

            memset(to, 0xa5, sizeof(to));
            tern_base_nt_copy(at, from + 63 - skew, len);
            assert_memory_equal(at, from + 63 - skew, len);
            for (size_t i = 0; i < sizeof(to); i++)
                if (to + i < at || to + i >= at + len)
                    assert_int_equal(to[i], 0xa5);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_byte_and_no_other) };

    return cmocka_run_group_tests_name("base_stream", tests, NULL, NULL);
}
