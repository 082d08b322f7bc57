/* base_biased_lock.c: a lock that costs no atomic instruction while a single thread uses it.
 *
 * Promise: one thread at a time accesses the data that the lock guards, before, during and after the arrival of a
 * second thread; the first thread acquires the lock with plain stores until the bias is revoked, and never afterwards.
 * A thread that has waited for long is not overtaken by others. A claim belongs to one thread at a time, too, and is
 * refused while a thread, also the calling one, has it, and only then.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/biased_lock.h"
#include "sanitized.h"

#define THREADS 3
#define EACH 20000
#define TURNS 100
/* Number of processes to run: the bias is revoked once in each. */
#define RUNS (JOB_SANITIZED ? 20 : 200)

static struct {
    struct tern_biased_lock lock;
    volatile uint64_t       a, b; /* equal whenever no thread holds the lock */
    _Atomic bool            torn;
    _Atomic int             started;
} guarded;

static void touch(bool expect_alone)
{
    bool alone = tern_base_biased_lock(&guarded.lock);

    if (guarded.a != guarded.b || (expect_alone && !alone))
        atomic_store(&guarded.torn, true);
    guarded.a = guarded.a + 1;
    guarded.b = guarded.b + 1;
    tern_base_biased_unlock(&guarded.lock, alone);
}

static void *other(void *arg)
{
    (void)arg;
    atomic_fetch_add(&guarded.started, 1);
    for (int i = 0; i < EACH; i++)
        touch(false);
    return NULL;
}

/* The first thread is in the middle of its work when the others arrive. */
static int one_run(unsigned before)
{
    pthread_t thread[THREADS];
    uint64_t  mine = 0;

    tern_base_bias_claim();
    for (; mine < before; mine++)
        touch(!atomic_load(&tern_bias.revoked)); /* where the kernel has the barrier */
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, other, NULL) != 0)
            return 2;
    for (; atomic_load(&guarded.started) < THREADS || mine < EACH; mine++)
        touch(false);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    if (tern_base_bias_enter(&guarded.lock.biased))
        return 3; /* the bias is revoked */
    return atomic_load(&guarded.torn) || guarded.a != mine + THREADS * EACH || guarded.a != guarded.b;
}

static void second_thread_comes(void **state)
{
    (void)state;
    for (unsigned run = 0; run < RUNS; run++) {
        int   status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
            _exit(one_run(run * 7));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* Before a thread has claimed the bias, and where the kernel lacks the barrier, the lock is an ordinary lock. */
static void without_a_first(void **state)
{
    struct tern_biased_lock lock = { 0 };

    (void)state;
    assert_false(tern_base_biased_lock(&lock));
    assert_true(atomic_load(&lock.held));
    tern_base_biased_unlock(&lock, false);
    assert_false(atomic_load(&lock.held));
}

struct turn {
    struct tern_biased_lock lock;
    bool                    taken; /* by the thread that waited. Guarded by the lock */
};

static void *wait_for_turn(void *arg)
{
    struct turn *turn = arg;
    bool         alone = tern_base_biased_lock(&turn->lock);

    turn->taken = true;
    tern_base_biased_unlock(&turn->lock, alone);
    return NULL;
}

/* A thread releases the lock and acquires it again at once, while another one has waited for long: the other one goes
 * first, unless the kernel does not run it for as long as that. */
static void late_goes_first(void **state)
{
    unsigned first = 0;

    (void)state;
    for (unsigned i = 0; i < TURNS; i++) {
        struct turn turn = { .taken = false };
        pthread_t   late;

        assert_false(tern_base_biased_lock(&turn.lock));
        assert_int_equal(pthread_create(&late, NULL, wait_for_turn, &turn), 0);
        while (atomic_load(&turn.lock.late) == 0)
            sched_yield();
        tern_base_biased_unlock(&turn.lock, false);
        assert_false(tern_base_biased_lock(&turn.lock));
        first += turn.taken;
        tern_base_biased_unlock(&turn.lock, false);
        pthread_join(late, NULL);
        assert_true(turn.taken && atomic_load(&turn.lock.late) == 0);
    }
    assert_true(first > TURNS / 2);
}

/* ---- claims ---- */

static struct {
    struct tern_biased_claim claim;
    volatile uint64_t        a, b; /* equal whenever no thread has claimed */
    _Atomic uint64_t         claims;
    _Atomic bool             torn;
} claimed;

static void *claim_often(void *arg)
{
    (void)arg;
    for (int i = 0; i < EACH;) {
        if (!tern_base_biased_claim(&claimed.claim)) {
            sched_yield();
            continue;
        }
        if (claimed.a != claimed.b || tern_base_biased_claim(&claimed.claim))
            atomic_store(&claimed.torn, true);
        claimed.a = claimed.a + 1;
        claimed.b = claimed.b + 1;
        tern_base_biased_unclaim(&claimed.claim);
        i++;
    }
    return NULL;
}

/* Several threads claim at the same time, from the first claim on, or while the owner of the bias claims. */
static void threads_claim(void **state)
{
    (void)state;
    for (unsigned run = 0; run < RUNS; run++) {
        pthread_t thread[THREADS];

        memset(&claimed, 0, sizeof(claimed));
        if (run % 2) {
            assert_true(tern_base_biased_claim(&claimed.claim));
            tern_base_biased_unclaim(&claimed.claim);
        }
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, claim_often, NULL), 0);
        claim_often(NULL);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        assert_false(atomic_load(&claimed.torn));
        assert_true(claimed.a == (THREADS + 1) * EACH && claimed.a == claimed.b);
        assert_true(tern_base_biased_claim(&claimed.claim)); /* nobody has left it claimed */
    }
}

static void *expect_refusal(void *arg)
{
    return tern_base_biased_claim(arg) ? arg : NULL;
}

static void *claim_for_ever(void *arg)
{
    return tern_base_biased_claim(arg) ? NULL : arg;
}

/* The owner of the bias has claimed, or another thread has. */
static void claims_are_refused(void **state)
{
    struct tern_biased_claim claim = { .owner = NULL };
    pthread_t                other;
    void                    *wrong;

    (void)state;
    assert_true(tern_base_biased_claim(&claim));
    assert_false(tern_base_biased_claim(&claim));
    assert_int_equal(pthread_create(&other, NULL, expect_refusal, &claim), 0);
    pthread_join(other, &wrong);
    assert_null(wrong);
    tern_base_biased_unclaim(&claim);
    assert_int_equal(pthread_create(&other, NULL, claim_for_ever, &claim), 0);
    pthread_join(other, &wrong);
    assert_null(wrong);
    assert_false(tern_base_biased_claim(&claim));
}

#define ATTEMPTS 20000u

static struct {
    struct tern_biased_claim claim;
    _Atomic unsigned         steps;               /* 2k + 1 during attempt k of the other thread, then 2k + 2 */
    bool                     succeeded[ATTEMPTS]; /* attempt k */
} rivals;

static void *attempt_often(void *arg)
{
    (void)arg;
    for (unsigned k = 0; k < ATTEMPTS; k++) {
        atomic_fetch_add(&rivals.steps, 1);
        if ((rivals.succeeded[k] = tern_base_biased_claim(&rivals.claim)))
            tern_base_biased_unclaim(&rivals.claim);
        atomic_fetch_add(&rivals.steps, 1);
    }
    return NULL;
}

/* Return whether one of the attempts succeeded that the other thread made between two values of rivals.steps. */
static bool has_succeeded(unsigned from, unsigned to)
{
    for (unsigned k = from / 2; k <= to / 2 && k < ATTEMPTS; k++)
        if (rivals.succeeded[k])
            return true;
    return false;
}

/* Of two threads that claim at the same time, one succeeds: a claim fails only during a successful one. */
static void one_of_two_succeeds(void **state)
{
    static struct {
        unsigned from, to;
    } failure[ATTEMPTS];
    unsigned failures, steps = 0;

    (void)state;
    for (unsigned run = 0; run < RUNS / 4; run++) {
        pthread_t other;

        memset(&rivals, 0, sizeof(rivals));
        failures = 0;
        assert_true(tern_base_biased_claim(&rivals.claim)); /* this thread becomes the owner of the bias */
        assert_int_equal(pthread_create(&other, NULL, attempt_often, NULL), 0);
        while (atomic_load(&rivals.steps) == 0)
            sched_yield();
        tern_base_biased_unclaim(&rivals.claim);
        while ((steps = atomic_load(&rivals.steps)) < 2 * ATTEMPTS) {
            if (tern_base_biased_claim(&rivals.claim)) {
                tern_base_biased_unclaim(&rivals.claim);
            } else if (failures < ATTEMPTS) {
                failure[failures].from = steps;
                failure[failures++].to = atomic_load(&rivals.steps);
            }
        }
        pthread_join(other, NULL);
        for (unsigned i = 0; i < failures; i++)
            assert_true(has_succeeded(failure[i].from, failure[i].to));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_first), cmocka_unit_test(late_goes_first),    cmocka_unit_test(second_thread_comes),
        cmocka_unit_test(threads_claim),   cmocka_unit_test(claims_are_refused), cmocka_unit_test(one_of_two_succeeds),
    };

    return cmocka_run_group_tests_name("being alone", tests, NULL, NULL);
}
