/* idle_hooks.c: functions that waits call while they have nothing to do (tern_on_idle).
 *
 * Promise: every kind of wait calls the hooks again and again, also while it would otherwise sleep, and sleeps at most
 * about a millisecond. A process can have 16 hooks, in the order in which they were added. A hook that calls Tern's
 * waits or collective calls gets TERN_ERR_STATE, and the wait around it is not disturbed. Hooks may add and remove
 * hooks, themselves included; those that stay are called once in each turn, and a new one from the next turn on.
 * After a removal, the hook is not called any more, also with several threads.
 */
#include "job_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define MOST 16
#define DELAY_NS 200000000

static void count(void *arg)
{
    ++*(int *)arg;
}

static void nap(int64_t ns)
{
    nanosleep(&(struct timespec){ ns / 1000000000, ns % 1000000000 }, NULL);
}

/* Without a job: a list of hooks, and its limits. */
static void lists(void)
{
    int calls = 0;

    RETURNS(TERN_ERR_ARG, tern_on_idle(NULL, &calls));
    SAYS("function");
    RETURNS(TERN_ERR_ARG, tern_on_idle_remove(count, &calls));
    SAYS("no idle hook");
    for (int i = 0; i < MOST; i++)
        OK(tern_on_idle(count, &calls));
    RETURNS(TERN_ERR_NOMEM, tern_on_idle(count, &calls));
    SAYS("tern_on_idle_remove");
    RETURNS(TERN_ERR_ARG, tern_on_idle_remove(count, &calls + 1));
    for (int i = 0; i < MOST; i++)
        OK(tern_on_idle_remove(count, &calls));
    RETURNS(TERN_ERR_ARG, tern_on_idle_remove(count, &calls));
    CHECK(calls == 0);
}

static bool has_calls(void *arg)
{
    return *(int *)arg >= 100;
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

/* Waits of several kinds end because a hook is called, or call it many times before their deadline. */
static void waits(void)
{
    int       calls = 0;
    tern_word word;
    tern_idle idle = TERN_IDLE_INIT;
    uint32_t  flag = 0;

    OK(tern_on_idle(count, &calls));
    OK(tern_wait_until(TERN_WORLD, has_calls, &calls, TERN_FOREVER));
    RETURNS(TERN_ERR_TIMEOUT, tern_wait_until(TERN_WORLD, never, NULL, tern_deadline_in(0.2)));
    calls = 0;
    word = TERN_WORD(&flag, TERN_EQ, 1);
    RETURNS(TERN_ERR_TIMEOUT, tern_word_wait(TERN_WORLD, &word, tern_deadline_in(0.2)));
    CHECK(calls >= 20); /* 200 on a machine that has nothing else to do */
    calls = 0;
    while (calls < 100)
        OK(tern_idle_step(TERN_WORLD, &idle));
    calls = 0;
    RETURNS(TERN_PENDING, tern_wait_until(TERN_WORLD, never, NULL, TERN_NOW));
    CHECK(calls == 0); /* no wait */
    OK(tern_barrier(TERN_WORLD));
    calls = 0;
    if (tern_rank() == 0 && tern_size() > 1) {
        OK(tern_barrier(TERN_WORLD));
        CHECK(calls >= 20);
    } else {
        nap(DELAY_NS);
        OK(tern_barrier(TERN_WORLD));
    }
    OK(tern_on_idle_remove(count, &calls));
    calls = 0;
    RETURNS(TERN_ERR_TIMEOUT, tern_wait_until(TERN_WORLD, never, NULL, tern_deadline_in(0.01)));
    CHECK(calls == 0);
}

/* The calls that a hook must not make. */
struct misuse {
    tern_region *region;
    int          calls;
};

static void misuse(void *arg)
{
    struct misuse *m = arg;
    uint32_t       word = 0;
    tern_word      wanted = TERN_WORD(&word, TERN_EQ, 1);
    tern_team     *team = NULL;

    if (m->calls++ > 0)
        return;
    RETURNS(TERN_ERR_STATE, tern_barrier(TERN_WORLD));
    SAYS("an idle hook");
    RETURNS(TERN_ERR_STATE, tern_wait_until(TERN_WORLD, never, NULL, TERN_FOREVER));
    SAYS("an idle hook");
    RETURNS(TERN_ERR_STATE, tern_word_wait(TERN_WORLD, &wanted, TERN_FOREVER));
    RETURNS(TERN_ERR_STATE, tern_recv(TERN_WORLD, tern_rank(), 1, &word, sizeof(word), NULL));
    SAYS("an idle hook");
    RETURNS(TERN_ERR_STATE, tern_am_short(TERN_WORLD, tern_rank(), 1, NULL, 0));
    SAYS("an idle hook");
    RETURNS(TERN_ERR_STATE, tern_finalize());
    SAYS("an idle hook");
    RETURNS(TERN_ERR_STATE, tern_team_strided(tern_team_world(), tern_rank(), 1, 1, 0, &team));
    SAYS("an idle hook");
    OK(tern_put_u32(TERN_WORLD, m->region, tern_rank(), 0, 7)); /* a handler may do this, too */
    CHECK(tern_size() > 0);
}

static void misuses(void)
{
    struct misuse m = { 0 };
    uint32_t      got;

    OK(tern_region_create(TERN_WORLD, 4096, NULL, &m.region));
    OK(tern_on_idle(misuse, &m));
    RETURNS(TERN_ERR_TIMEOUT, tern_wait_until(TERN_WORLD, never, NULL, tern_deadline_in(0.05)));
    CHECK(m.calls > 0);
    OK(tern_on_idle_remove(misuse, &m));
    OK(tern_get_u32(TERN_WORLD, m.region, tern_rank(), 0, &got));
    CHECK(got == 7);
    OK(tern_region_free(m.region));
}

static int order[4], ordered;

static void first(void *arg)
{
    order[ordered++ & 3] = *(int *)arg;
}

static void removes_itself(void *arg)
{
    ++*(int *)arg;
    OK(tern_on_idle_remove(removes_itself, arg));
    OK(tern_on_idle(count, (int *)arg + 1));
}

static void orders(void)
{
    int one = 1, two = 2, calls[2] = { 0, 0 };

    OK(tern_on_idle(first, &one));
    OK(tern_on_idle(removes_itself, calls));
    OK(tern_on_idle(first, &two));
    RETURNS(TERN_ERR_TIMEOUT, tern_wait_until(TERN_WORLD, never, NULL, tern_deadline_in(0.05)));
    CHECK(order[0] == 1 && order[1] == 2 && order[2] == 1 && order[3] == 2);
    CHECK(calls[0] == 1 && calls[1] > 0);
    OK(tern_on_idle_remove(first, &one));
    OK(tern_on_idle_remove(count, &calls[1]));
    OK(tern_on_idle_remove(first, &two));
    RETURNS(TERN_ERR_ARG, tern_on_idle_remove(removes_itself, calls));
}

/* A hook takes its own place and that of the next hook in a full list, again and again. */
static void replaces(void *arg)
{
    int *calls = arg;

    ++calls[0];
    OK(tern_on_idle_remove(replaces, arg));
    OK(tern_on_idle_remove(count, &calls[1]));
    OK(tern_on_idle(replaces, arg));
    OK(tern_on_idle(count, &calls[1]));
    RETURNS(TERN_ERR_NOMEM, tern_on_idle(count, &calls[1]));
}

static void full_list(void)
{
    int calls[3] = { 0, 0, 0 };

    OK(tern_on_idle(replaces, calls));
    for (int i = 2; i < MOST; i++)
        OK(tern_on_idle(count, &calls[2]));
    OK(tern_on_idle(count, &calls[1]));
    RETURNS(TERN_ERR_TIMEOUT, tern_wait_until(TERN_WORLD, never, NULL, tern_deadline_in(0.05)));
    CHECK(calls[0] > 1 && calls[1] == 0 && calls[2] == (MOST - 2) * calls[0]);
    OK(tern_on_idle_remove(replaces, calls));
    OK(tern_on_idle_remove(count, &calls[1]));
    for (int i = 2; i < MOST; i++)
        OK(tern_on_idle_remove(count, &calls[2]));
}

/* Two threads wait, and a third one adds and removes a hook that notices concurrent calls and calls after a removal. */
static _Atomic int allowed, inside, over;

static void exclusive(void *arg)
{
    (void)arg;
    CHECK(atomic_fetch_add(&inside, 1) == 0);
    CHECK(atomic_load(&allowed));
    atomic_fetch_sub(&inside, 1);
}

static bool is_over(void *arg)
{
    (void)arg;
    return atomic_load(&over);
}

static void *wait_for_end(void *arg)
{
    tern_idle idle = TERN_IDLE_INIT;

    idle.nap_us = 100;
    while (!is_over(NULL))
        OK(tern_idle_step(arg, &idle));
    return NULL;
}

static void threads(void)
{
    pthread_t thread[2];
    tern_ctx *ctx[2];

    for (int i = 0; i < 2; i++) {
        OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx[i]));
        CHECK(pthread_create(&thread[i], NULL, wait_for_end, ctx[i]) == 0);
    }
    for (int i = 0; i < 200; i++) {
        atomic_store(&allowed, 1);
        OK(tern_on_idle(exclusive, NULL));
        nap(i % 10 == 0 ? 1000000 : 1000);
        OK(tern_on_idle_remove(exclusive, NULL));
        atomic_store(&allowed, 0);
    }
    atomic_store(&over, 1);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_join(thread[i], NULL) == 0);
        OK(tern_ctx_free(ctx[i]));
    }
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    int early = 0;

    lists();
    OK(tern_on_idle(count, &early)); /* before tern_init, for its waits too */
    OK(tern_init());
    OK(tern_on_idle_remove(count, &early));
    waits();
    misuses();
    orders();
    full_list();
    threads();
    OK(tern_on_idle(count, &early)); /* stays over the end of the job */
    OK(tern_finalize());
    OK(tern_on_idle_remove(count, &early));
    return 0;
}
