/* base_work_split.c: an owner and a helper take chunks of one work from its two ends.
 *
 * Promise: every chunk is taken once, by one of the two; the owner sees the helper's work once the helper has finished,
 * and the first failure; a helper that comes with the key of another work, or after the end, takes nothing, also when
 * new works are opened while it searches; chunks of a closed work are not taken.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/work_split.h"

#define PIECES 40
#define WORKS 20000

static struct tern_work_split share;
static const uint64_t         note[TERN_SPLIT_ARGS] = { 11, 12, 13, 14 };

static int begin(void **state)
{
    (void)state;
    memset((void *)&share, 0, sizeof(share));
    tern_base_split_begin(&share, 5, note);
    return 0;
}

static void both_ends(void **state)
{
    uint64_t piece;

    (void)state;
    assert_false(tern_base_split_take_front(&share, &piece));
    assert_false(tern_base_split_take_back(&share, 5, &piece));
    tern_base_split_open(&share, 100, 3);
    assert_int_equal(atomic_load(&share.args[2]), 13);
    assert_true(tern_base_split_has_work(&share, 5));
    assert_true(tern_base_split_take_back(&share, 5, &piece));
    assert_int_equal(piece, 102);
    assert_true(tern_base_split_take_front(&share, &piece));
    assert_int_equal(piece, 100);
    assert_true(tern_base_split_take_back(&share, 5, &piece));
    assert_int_equal(piece, 101);
    assert_false(tern_base_split_take_front(&share, &piece));
    assert_false(tern_base_split_take_back(&share, 5, &piece));
    assert_false(tern_base_split_has_work(&share, 5));
    assert_int_equal(tern_base_split_completed(&share), 0);
    tern_base_split_complete(&share, 0);
    tern_base_split_complete(&share, -3);
    assert_int_equal(tern_base_split_completed(&share), 2);
    assert_int_equal(atomic_load(&share.status), -3);
    tern_base_split_complete(&share, -4);
    assert_int_equal(atomic_load(&share.status), -3);
    tern_base_split_begin(&share, 6, note);
    assert_int_equal(tern_base_split_completed(&share), 0);
    assert_int_equal(atomic_load(&share.status), 0);
}

/* The owner is told of the chunks that the helper takes, and not of its own. */
static void seen_by_the_owner(void **state)
{
    uint64_t piece, helpers;

    (void)state;
    assert_false(tern_base_split_left(&share));
    tern_base_split_open(&share, 0, 3);
    helpers = tern_base_split_helper_end(&share);
    assert_true(tern_base_split_left(&share));
    assert_true(tern_base_split_take_front(&share, &piece));
    assert_true(tern_base_split_helper_end(&share) == helpers);
    assert_true(tern_base_split_take_back(&share, 5, &piece));
    assert_true(tern_base_split_helper_end(&share) != helpers);
    helpers = tern_base_split_helper_end(&share);
    assert_true(tern_base_split_take_front(&share, &piece));
    assert_true(tern_base_split_helper_end(&share) == helpers);
    assert_false(tern_base_split_left(&share));
    tern_base_split_open(&share, 3, 2);
    assert_true(tern_base_split_helper_end(&share) != helpers);
}

static void other_key(void **state)
{
    uint64_t piece;

    (void)state;
    tern_base_split_open(&share, 0, 2);
    assert_false(tern_base_split_take_back(&share, 4, &piece));
    assert_false(tern_base_split_has_work(&share, 4));
    assert_true(tern_base_split_take_back(&share, 5, &piece));
}

static void closed(void **state)
{
    uint64_t piece;

    (void)state;
    tern_base_split_open(&share, 0, TERN_SPLIT_MAX);
    assert_true(tern_base_split_take_front(&share, &piece));
    assert_true(tern_base_split_take_back(&share, 5, &piece));
    assert_int_equal(piece, TERN_SPLIT_MAX - 1);
    assert_int_equal(tern_base_split_close(&share), TERN_SPLIT_MAX - 2);
    assert_int_equal(tern_base_split_close(&share), 0);
    assert_false(tern_base_split_take_front(&share, &piece));
    assert_false(tern_base_split_take_back(&share, 5, &piece));
    tern_base_split_open(&share, 7, 1);
    assert_true(tern_base_split_take_front(&share, &piece));
    assert_int_equal(piece, 7);
}

/* A helper that works for even keys only. The taker of a chunk writes the number of its work there. */
static uint32_t     taken[PIECES];
static _Atomic bool over;

static void *help(void *arg)
{
    uint64_t piece;

    (void)arg;
    for (uint32_t key = 0; !over; key = (key + 2) % (2 * WORKS)) {
        uint32_t now = atomic_load(&share.key); /* mostly the current key, which avoids a long search */

        key = now % 2 == 0 ? now : key;
        if (tern_base_split_take_back(&share, key, &piece)) {
            taken[piece] += key + 1;
            tern_base_split_complete(&share, 0);
        }
    }
    return NULL;
}

static void one_work(uint32_t key)
{
    uint64_t piece, opened = 0, mine = 0;

    memset(taken, 0, sizeof(taken));
    tern_base_split_begin(&share, key, note);
    while (opened < PIECES) {
        unsigned count = 1 + (key + (unsigned)opened) % 7;

        count = count < PIECES - opened ? count : (unsigned)(PIECES - opened);
        tern_base_split_open(&share, opened, count);
        opened += count;
        if (key % 16 == 0)
            sched_yield();
        for (; tern_base_split_take_front(&share, &piece); mine++)
            taken[piece] += key + 1;
    }
    while (mine + tern_base_split_completed(&share) < PIECES)
        sched_yield();
    assert_true(key % 2 == 0 || mine == PIECES);
    for (unsigned i = 0; i < PIECES; i++)
        assert_int_equal(taken[i], key + 1);
}

static void two_threads(void **state)
{
    pthread_t helper;

    (void)state;
    over = false;
    assert_int_equal(pthread_create(&helper, NULL, help, NULL), 0);
    for (uint32_t key = 0; key < WORKS; key++)
        one_work(key);
    over = true;
    pthread_join(helper, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(both_ends, begin),   cmocka_unit_test_setup(seen_by_the_owner, begin),
        cmocka_unit_test_setup(other_key, begin),   cmocka_unit_test_setup(closed, begin),
        cmocka_unit_test_setup(two_threads, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
