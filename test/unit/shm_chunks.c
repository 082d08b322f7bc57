/* shm_chunks.c: the allocation of the chunks of the bounce buffer.
 *
 * Promise: a chunk has one user at a time, whatever threads do; all chunks can be allocated, and none twice; a lane may
 * have one chunk that is not shared, and returns it when it does not use it. The file under test is included, because
 * it tests private functions.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "link/shm/bounce.c"

static void every_bit_once(void **state)
{
    static const uint64_t masks[] = { 0, 1, 1ull << 63, 0xff, ~0ull, 0x8000000000000001ull };

    (void)state;
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        _Atomic uint64_t mask = masks[i];
        uint64_t         got = 0;
        int              bit;

        while ((bit = mask_take(&mask)) >= 0) {
            assert_int_equal(got & 1ull << bit, 0);
            got |= 1ull << bit;
        }
        assert_int_equal(got, masks[i]);
        assert_int_equal(mask_take(&mask), -1);
        for (bit = 0; bit < 64; bit++)
            if (got & 1ull << bit)
                mask_give(&mask, bit);
        assert_int_equal(mask, masks[i]);
    }
}

/* Threads allocate and free chunks, and record the owners. */
static struct contest {
    _Atomic uint64_t mask;
    _Atomic int      owner[64];
    _Atomic unsigned clashes, taken;
} contest;

static void *contend(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20000; i++) {
        int bit = mask_take(&contest.mask);
        if (bit < 0)
            continue;
        if (atomic_fetch_add(&contest.owner[bit], 1) != 0)
            atomic_fetch_add(&contest.clashes, 1);
        atomic_fetch_add(&contest.taken, 1);
        atomic_fetch_sub(&contest.owner[bit], 1);
        mask_give(&contest.mask, bit);
    }
    return NULL;
}

static void one_user_at_a_time(void **state)
{
    pthread_t thread[4];

    (void)state;
    contest.mask = 0x7;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, contend, NULL), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    assert_int_equal(contest.clashes, 0);
    assert_true(contest.taken > 0);
    assert_int_equal(contest.mask, 0x7); /* none was lost */
}

static void a_lane_may_have_one_more(void **state)
{
    struct shm_link shm = { .local = 0 };
    struct shm_lane one = { .link = &shm, .own = -1 }, two = { .link = &shm, .own = -1 };

    (void)state;
    atomic_store(&shm.free_chunks, 3); /* two shared chunks */
    atomic_store(&shm.lane_chunks, 3ull << 40);
    assert_int_equal(chunk_take(&one), 0);
    assert_int_equal(chunk_take(&one), 1);
    assert_int_equal(chunk_take(&one), 40); /* then one private chunk */
    assert_int_equal(chunk_take(&one), -1);
    assert_int_equal(one.held, 3);
    assert_int_equal(chunk_take(&two), 41); /* the other is not held up */
    assert_int_equal(chunk_take(&two), -1);
    chunk_give(&one, 40);
    assert_int_equal(chunk_take(&two), -1); /* it has its private chunk */
    assert_int_equal(chunk_take(&one), 40);
    chunk_give(&one, 1);
    assert_int_equal(chunk_take(&two), 1); /* shared chunks are reused */
    chunk_give(&two, 1);
    chunk_give(&one, 0);
    chunk_give(&one, 40);
    chunk_give(&two, 41);
    assert_int_equal(one.held + two.held, 0);
    assert_int_equal(atomic_load(&shm.free_chunks), 3);
    assert_int_equal(atomic_load(&shm.lane_chunks), 3ull << 40); /* idle lanes keep none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_once),
        cmocka_unit_test(one_user_at_a_time),
        cmocka_unit_test(a_lane_may_have_one_more),
    };

    return cmocka_run_group_tests_name("bounce chunks", tests, NULL, NULL);
}
