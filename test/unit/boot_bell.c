/* boot_bell.c: a sleeper that has announced itself is woken by any process that rings after publishing, across
 * processes, and sleeps no longer than its time limit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "boot/bell.h"

struct shared {
    _Atomic uint32_t bell[2], sleepers[2], turn;
};

static void a_changed_bell_does_not_sleep(void **state)
{
    _Atomic uint32_t bell = 5;

    (void)state;
    tern_boot_bell_wait(&bell, 4, -1); /* returns: the value differs */
    tern_boot_bell_wake(&bell);
    assert_int_equal(bell, 6);
}

static void a_sleep_ends_by_itself(void **state)
{
    _Atomic uint32_t bell = 0;
    int64_t          start = tern_base_now();

    (void)state;
    tern_boot_bell_wait(&bell, 0, 20000000);
    assert_true(tern_base_now() - start >= 10000000); /* it slept; a signal may cut it short, hence the half */
}

static void ringing_without_sleepers_changes_nothing(void **state)
{
    _Atomic uint32_t bell = 3, sleepers = 0;

    (void)state;
    tern_boot_bell_ring(&bell, &sleepers);
    assert_int_equal(bell, 3);
    assert_int_equal(tern_boot_bell_announce(&bell, &sleepers), 3);
    assert_int_equal(sleepers, 1);
    tern_boot_bell_ring(&bell, &sleepers);
    assert_int_equal(bell, 4);
    tern_boot_bell_withdraw(&sleepers);
    assert_int_equal(sleepers, 0);
}

/* Wait without a time limit until it is this process's turn; then pass the turn on. */
static void play(struct shared *s, uint32_t me, uint32_t rounds)
{
    for (uint32_t i = me; i < rounds; i += 2) {
        while (atomic_load(&s->turn) != i) {
            uint32_t seen = tern_boot_bell_announce(&s->bell[me], &s->sleepers[me]);
            if (atomic_load(&s->turn) != i)
                tern_boot_bell_wait(&s->bell[me], seen, -1);
            tern_boot_bell_withdraw(&s->sleepers[me]);
        }
        atomic_store_explicit(&s->turn, i + 1, memory_order_release);
        tern_boot_bell_ring(&s->bell[!me], &s->sleepers[!me]);
    }
}

/* Promise: no wake-up between two processes is lost. A lost wake-up makes this test hang. */
static void no_wake_up_is_lost(void **state)
{
    struct shared *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t          child;
    int            status;

    (void)state;
    assert_true(s != MAP_FAILED);
    child = fork();
    if (child == 0) {
        play(s, 1, 20000);
        _exit(0);
    }
    play(s, 0, 20000);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(s->turn, 20000);
    munmap(s, 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_bell_does_not_sleep),
        cmocka_unit_test(a_sleep_ends_by_itself),
        cmocka_unit_test(ringing_without_sleepers_changes_nothing),
        cmocka_unit_test(no_wake_up_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
