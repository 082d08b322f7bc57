/* base_pool.c: objects of one size, allocated in slabs.
 *
 * Promise: objects in use are distinct, aligned for every type and keep their contents; a pool reuses what it has been
 * given back, and allocates no further slab while it has unused objects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"

#define COUNT 7u  /* objects in a slab */
#define MANY 100u /* objects in use at once: many slabs */

static void check_size(size_t bytes)
{
    struct tern_pool pool;
    unsigned char   *object[MANY];

    tern_base_pool_open(&pool, bytes, COUNT);
    for (unsigned i = 0; i < MANY; i++) {
        object[i] = tern_base_pool_get(&pool);
        assert_non_null(object[i]);
        assert_int_equal((uintptr_t)object[i] % _Alignof(max_align_t), 0);
        memset(object[i], (int)i, bytes);
    }
    for (unsigned i = 0; i < MANY; i++)
        for (size_t b = 0; b < bytes; b++)
            assert_int_equal(object[i][b], i);
    for (unsigned i = 0; i < MANY; i += 2)
        tern_base_pool_put(&pool, object[i]);
    for (unsigned i = 1; i < MANY; i += 2)
        for (size_t b = 0; b < bytes; b++)
            assert_int_equal(object[i][b], i);
    tern_base_pool_close(&pool);
}

static void objects_are_distinct(void **state)
{
    (void)state;
    check_size(1);
    check_size(sizeof(void *));
    check_size(24);
    check_size(200);
}

static void objects_are_reused(void **state)
{
    struct tern_pool       pool;
    struct tern_pool_slab *slabs;
    void                  *object[COUNT], *first;

    (void)state;
    tern_base_pool_open(&pool, 40, COUNT);
    assert_null(pool.slabs); /* an unused pool costs nothing */
    for (unsigned i = 0; i < COUNT; i++)
        assert_non_null(object[i] = tern_base_pool_get(&pool));
    slabs = pool.slabs;
    tern_base_pool_put(&pool, object[2]);
    tern_base_pool_put(&pool, object[5]);
    assert_ptr_equal(tern_base_pool_get(&pool), object[5]); /* the last one first: it may still be in the cache */
    assert_ptr_equal(tern_base_pool_get(&pool), object[2]);
    assert_ptr_equal(pool.slabs, slabs);
    first = tern_base_pool_get(&pool);
    assert_non_null(first);
    assert_ptr_not_equal(pool.slabs, slabs);
    tern_base_pool_close(&pool);
    assert_null(pool.free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_distinct),
        cmocka_unit_test(objects_are_reused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
