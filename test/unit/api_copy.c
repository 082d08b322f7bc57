/* api_copy.c: promise: tern_copy has the effect of memmove for all lengths, also where source and destination overlap,
 * and also for constant lengths, which use other code.
 *
 * builds: release debug asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tern.h>

#define SPACE 100000u

static unsigned char mine[SPACE], model[SPACE];

static void fill(unsigned seed)
{
    for (size_t i = 0; i < SPACE; i++)
        mine[i] = model[i] = (unsigned char)(i * 131 + seed + (i >> 8));
}

static void copy_both(size_t to, size_t from, size_t len)
{
    tern_copy(mine + to, mine + from, len);
    memmove(model + to, model + from, len);
}

static void any_length(void **state)
{
    (void)state;
    srand(7);
    for (unsigned round = 0; round < 20000; round++) {
        size_t len = (size_t)rand() % (round % 2 ? 40000 : 100);
        size_t from = (size_t)rand() % (SPACE - len);
        size_t near = (size_t)rand() % (len + 1); /* mostly overlapping, both ways */
        size_t to = round % 3 == 0   ? (from + near <= SPACE - len ? from + near : from)
                    : round % 3 == 1 ? (from >= near ? from - near : from)
                                     : (size_t)rand() % (SPACE - len);

        if (round % 500 == 0)
            fill(round);
        copy_both(to, from, len);
        assert_memory_equal(mine + to, model + to, len);
        if (round % 100 == 0)
            assert_memory_equal(mine, model, SPACE);
    }
}

#define CONSTANT(n)                                            \
    do {                                                       \
        for (int distance = -70; distance <= 70; distance++) { \
            fill((unsigned)(n));                               \
            tern_copy(mine + 500 + distance, mine + 500, n);   \
            memmove(model + 500 + distance, model + 500, n);   \
            assert_memory_equal(mine, model, 1000);            \
        }                                                      \
    } while (0)

static void constant_length(void **state)
{
    (void)state;
    CONSTANT(1);
    CONSTANT(8);
    CONSTANT(15);
    CONSTANT(16);
    CONSTANT(17);
    CONSTANT(24);
    CONSTANT(31);
    CONSTANT(32);
    CONSTANT(33);
    CONSTANT(47);
    CONSTANT(48);
    CONSTANT(63);
    CONSTANT(64);
    CONSTANT(65);
    CONSTANT(128);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_length), cmocka_unit_test(constant_length) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
