/* base_queue_lock.c: the FIFO queue of a mutex.
 *
 * Promise: waiters get the lock in the order in which they queued. A waiter that gives up, dies while it waits, or dies
 * after it has been chosen is skipped. If the holder dies, the lock names it to the other waiters. When all places of
 * the queue are taken a rank can still wait, and the places of waiters that gave up are reused. At most one rank has
 * the lock at any time.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/queue_lock.h"
#include "sanitized.h"

#define LOG 3
#define RANKS 64

static _Atomic bool     dead[RANKS];
static _Atomic unsigned woken[RANKS];

static bool is_lost(unsigned rank)
{
    return rank >= RANKS || dead[rank];
}

static void wake(unsigned rank)
{
    woken[rank]++;
}

static const struct tern_qlock_env world = { LOG, is_lost, wake };
static struct tern_qlock          *turn;
static uint32_t                    ticket[RANKS];

static uint64_t name(unsigned rank)
{
    return tern_base_qlock_id(rank, 7);
}

static int begin(void **state)
{
    (void)state;
    turn = aligned_alloc(64, tern_base_qlock_bytes(LOG));
    memset((void *)turn, 0, tern_base_qlock_bytes(LOG));
    memset((void *)dead, 0, sizeof(dead));
    memset((void *)woken, 0, sizeof(woken));
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(turn);
    return 0;
}

static enum tern_qlock_state acquire(unsigned rank)
{
    return tern_base_qlock_acquire(turn, &world, name(rank), &ticket[rank]);
}

static enum tern_qlock_state poll(unsigned rank)
{
    return tern_base_qlock_poll(turn, &world, name(rank), ticket[rank]);
}

static enum tern_qlock_state abandon(unsigned rank)
{
    return tern_base_qlock_abandon(turn, &world, name(rank), ticket[rank]);
}

static enum tern_qlock_state release(unsigned rank)
{
    return tern_base_qlock_release(turn, &world, name(rank));
}

#define IS(state, call) assert_int_equal(TERN_QLOCK_##state, call)

static void names(void **state)
{
    (void)state;
    for (unsigned rank = 0; rank < 65536; rank += 13107)
        assert_int_equal(tern_base_qlock_id_rank(tern_base_qlock_id(rank, 0xffffffff)), rank);
    assert_true((tern_base_qlock_id(65535, 0xffffffff) & ~TERN_QLOCK_ID_MASK) == 0);
}

static void in_order(void **state)
{
    (void)state;
    for (int lap = 0; lap < 1000; lap++) { /* many laps of the ring */
        IS(ACQUIRED, acquire(0));
        IS(ALREADY_OWNER, acquire(0));
        for (unsigned rank = 1; rank <= 5; rank++)
            IS(WAITING, acquire(rank));
        for (unsigned rank = 0; rank < 5; rank++) {
            for (unsigned other = rank + 1; other <= 5; other++) {
                IS(WAITING, poll(other));
                IS(NOT_OWNER, release(other));
            }
            IS(ACQUIRED, release(rank));
            for (unsigned other = rank + 2; other <= 5; other++)
                IS(WAITING, poll(other));
            IS(ACQUIRED, poll(rank + 1));
        }
        IS(ACQUIRED, release(5));
        IS(NOT_OWNER, release(5));
        assert_int_equal(tern_base_qlock_holder(turn), 0);
    }
    assert_int_equal(woken[3], 1000);
}

static void some_leave(void **state)
{
    (void)state;
    for (int lap = 0; lap < 100; lap++) {
        IS(ACQUIRED, acquire(0));
        for (unsigned rank = 1; rank <= 6; rank++)
            IS(WAITING, acquire(rank));
        IS(NOT_OWNER, abandon(1)); /* the first, one in the middle, the last */
        IS(NOT_OWNER, abandon(3));
        IS(NOT_OWNER, abandon(6));
        IS(ACQUIRED, release(0));
        IS(ACQUIRED, poll(2));
        IS(ACQUIRED, release(2));
        IS(ACQUIRED, abandon(4)); /* this waiter was already chosen */
        IS(NOT_OWNER, abandon(5));
        IS(ACQUIRED, release(4));
        assert_int_equal(tern_base_qlock_holder(turn), 0);
    }
}

static void some_die(void **state)
{
    (void)state;
    IS(ACQUIRED, acquire(0));
    for (unsigned rank = 1; rank <= 5; rank++)
        IS(WAITING, acquire(rank));
    dead[1] = dead[2] = true;
    IS(ACQUIRED, release(0)); /* two dead waiters are skipped */
    assert_int_equal(tern_base_qlock_holder(turn), name(3));
    dead[3] = true;       /* chosen, and dead before it noticed */
    IS(WAITING, poll(5)); /* any rank that polls passes the lock on */
    assert_int_equal(tern_base_qlock_holder(turn), name(4));
    IS(ACQUIRED, poll(4));
    dead[4] = true; /* the dead rank held the lock */
    IS(OWNER_DEAD, poll(5));
    IS(OWNER_DEAD, acquire(6));
    IS(NOT_OWNER, abandon(5));
    IS(NOT_OWNER, release(5));
    assert_int_equal(tern_base_qlock_holder(turn), name(4));
}

/* The chosen waiter dies and none waits behind it: the next rank that acquires gets the lock. */
static void last_dies(void **state)
{
    (void)state;
    IS(ACQUIRED, acquire(0));
    IS(WAITING, acquire(1));
    IS(ACQUIRED, release(0));
    dead[1] = true;
    IS(ACQUIRED, acquire(2));
    IS(ACQUIRED, release(2));
    IS(ACQUIRED, acquire(0));
}

static void full(void **state)
{
    (void)state;
    IS(ACQUIRED, acquire(0));
    for (unsigned rank = 1; rank <= 8; rank++)
        IS(WAITING, acquire(rank));
    IS(FULL, acquire(9));
    IS(NOT_OWNER, abandon(5));
    IS(WAITING, acquire(9)); /* in the place of the dead rank */
    IS(FULL, acquire(10));
    IS(ACQUIRED, release(0));
    IS(ACQUIRED, poll(1));
    IS(WAITING, acquire(10));
    for (unsigned i = 0; i < 9; i++) {
        static const unsigned order[] = { 1, 2, 3, 4, 9, 6, 7, 8, 10 };

        IS(ACQUIRED, i == 0 ? TERN_QLOCK_ACQUIRED : poll(order[i]));
        IS(ACQUIRED, release(order[i]));
    }
    assert_int_equal(tern_base_qlock_holder(turn), 0);
    for (int i = 0; i < 100; i++) { /* a waiter that gives up again and again uses up no places */
        IS(ACQUIRED, acquire(0));
        for (int j = 0; j < 20; j++) {
            IS(WAITING, acquire(1));
            IS(NOT_OWNER, abandon(1));
        }
        IS(WAITING, acquire(2));
        IS(ACQUIRED, release(0));
        IS(ACQUIRED, poll(2));
        IS(ACQUIRED, release(2));
    }
}

/* ---- threads ---- */

#define THREADS 6
#define TIMES 3000

static unsigned long inside, entered[THREADS];

static void *come_and_go(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    unsigned seed = me;

    for (int i = 0; i < TIMES; i++) {
        enum tern_qlock_state st;
        int                   patience = rand_r(&seed) % 4 == 0 ? 1 + rand_r(&seed) % 3 : -1;

        while ((st = acquire(me)) == TERN_QLOCK_FULL)
            sched_yield();
        while (st == TERN_QLOCK_WAITING && patience-- != 0) {
            sched_yield();
            st = poll(me);
        }
        if (st == TERN_QLOCK_WAITING)
            while ((st = abandon(me)) == TERN_QLOCK_WAITING) /* chosen, but not yet named as holder */
                sched_yield();
        if (st != TERN_QLOCK_ACQUIRED)
            continue;
        inside++; /* the thread sanitizer also reports it if two threads are inside */
        if (rand_r(&seed) % 8 == 0)
            sched_yield();
        entered[me]++;
        assert_int_equal(release(me), TERN_QLOCK_ACQUIRED);
    }
    return NULL;
}

static void one_at_a_time(void **state)
{
    pthread_t     thread[THREADS];
    unsigned long sum = 0;

    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        sum += entered[i];
    assert_int_equal(inside, sum);
    assert_true(sum > 0);
    assert_int_equal(tern_base_qlock_holder(turn), 0);
}

/* ---- two threads at the same moment ---- */

#define ROUNDS (JOB_SANITIZED ? 5000u : 40000u)

static _Atomic unsigned come; /* arrivals of both threads, two in each round */

/* Release both threads as closely together as possible. */
static void together(unsigned times)
{
    atomic_fetch_add(&come, 1);
    for (unsigned looks = 0; atomic_load(&come) < 2 * times; looks++)
        if (looks > 2000)
            sched_yield();
}

/* Two threads try as fast as they can, and at most one has the lock at a time. */
static _Atomic unsigned inside_now;

static void *try_at_once(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;

    together(1);
    for (unsigned wins = 0; wins < 2 * ROUNDS; wins++) {
        for (unsigned looks = 1; !tern_base_qlock_try_acquire(turn, name(me)); looks++)
            if (looks % 1000 == 0)
                sched_yield();
        assert_int_equal(atomic_fetch_add(&inside_now, 1), 0);
        atomic_fetch_sub(&inside_now, 1);
        assert_true(tern_base_qlock_try_release(turn, name(me)));
    }
    return NULL;
}

static void one_of_two(void **state)
{
    pthread_t thread;

    (void)state;
    atomic_store(&come, 0);
    assert_int_equal(pthread_create(&thread, NULL, try_at_once, (void *)1), 0);
    try_at_once((void *)0);
    pthread_join(thread, NULL);
    assert_int_equal(tern_base_qlock_holder(turn), 0);
}

/* The waiter leaves while the holder chooses it: the waiter has either left or got the lock, never both. */
static void *wait_and_leave(void *arg)
{
    (void)arg;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        enum tern_qlock_state st;

        together(2 * round - 1);
        while ((st = abandon(1)) == TERN_QLOCK_WAITING) /* chosen, but not yet named as holder */
            ;
        if (st == TERN_QLOCK_ACQUIRED)
            assert_int_equal(release(1), TERN_QLOCK_ACQUIRED);
        else
            assert_int_equal(st, TERN_QLOCK_NOT_OWNER);
        together(2 * round);
    }
    return NULL;
}

static void chosen_and_left(void **state)
{
    pthread_t thread;

    (void)state;
    atomic_store(&come, 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_and_leave, NULL), 0);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        IS(ACQUIRED, acquire(0));
        IS(WAITING, acquire(1));
        together(2 * round - 1);
        IS(ACQUIRED, release(0));
        together(2 * round);
        assert_int_equal(tern_base_qlock_holder(turn), 0);
    }
    pthread_join(thread, NULL);
}

/* The waiter leaves at a known moment: between the holder's check of the place and its choice. */
static bool leaves_then;

static bool is_lost_later(unsigned rank)
{
    if (rank == 1 && leaves_then) {
        leaves_then = false;
        IS(NOT_OWNER, abandon(1));
    }
    return is_lost(rank);
}

static void left_before_chosen(void **state)
{
    const struct tern_qlock_env slow = { LOG, is_lost_later, wake };

    (void)state;
    IS(ACQUIRED, acquire(0));
    IS(WAITING, acquire(1));
    IS(WAITING, acquire(2));
    leaves_then = true;
    IS(ACQUIRED, tern_base_qlock_release(turn, &slow, name(0)));
    assert_false(leaves_then);
    assert_int_equal(tern_base_qlock_holder(turn), name(2)); /* not the waiter that has left */
    IS(ACQUIRED, poll(2));
    IS(ACQUIRED, release(2));
    assert_int_equal(tern_base_qlock_holder(turn), 0);
}

/* Foreign bytes in the lock's memory: no call hangs, and nothing outside the lock is touched. */
static void nonsense(void **state)
{
    unsigned seed = 1;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        unsigned char *bytes = (unsigned char *)turn;
        unsigned       me = (unsigned)rand_r(&seed) % RANKS;

        for (size_t j = 0; j < tern_base_qlock_bytes(LOG); j++)
            bytes[j] = rand_r(&seed) % 3 == 0 ? (unsigned char)rand_r(&seed) : 0;
        ticket[me] = (uint32_t)rand_r(&seed);
        acquire(me);
        poll(me);
        abandon(me);
        atomic_store(&turn->word, name(me) | TERN_QLOCK_HAS_WAITERS);
        release(me);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test_setup_teardown(in_order, begin, end),
        cmocka_unit_test_setup_teardown(some_leave, begin, end),
        cmocka_unit_test_setup_teardown(some_die, begin, end),
        cmocka_unit_test_setup_teardown(last_dies, begin, end),
        cmocka_unit_test_setup_teardown(full, begin, end),
        cmocka_unit_test_setup_teardown(one_at_a_time, begin, end),
        cmocka_unit_test_setup_teardown(one_of_two, begin, end),
        cmocka_unit_test_setup_teardown(chosen_and_left, begin, end),
        cmocka_unit_test_setup_teardown(left_before_chosen, begin, end),
        cmocka_unit_test_setup_teardown(nonsense, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
