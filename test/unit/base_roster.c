/* base_roster.c: rosters of objects that are never removed.
 *
 * Promise: a roster yields every object once, the newest first. Threads may add objects at the same time, and at every
 * moment, also in a child that fork creates then, a walk finds initialized objects only, and ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/roster.h"

#define THREADS 3
#define EACH 20000
#define FORKS 20
#define MARK 4711

struct object {
    int                     mark, number;
    struct tern_roster_node node;
};

static struct tern_roster roster;
static struct object      objects[THREADS][EACH];
static _Atomic int        running;

static void newest_first(void **state)
{
    struct tern_roster few = { NULL };
    struct object      object[3] = { { .number = 1 }, { .number = 2 }, { .number = 3 } };
    int                digits = 0;

    (void)state;
    TERN_ROSTER_EACH(struct object, each, &few, node)
        digits = each->number;
    assert_int_equal(digits, 0);
    for (int i = 0; i < 3; i++)
        tern_base_roster_add(&few, &object[i].node);
    TERN_ROSTER_EACH(struct object, each, &few, node)
        digits = 10 * digits + each->number;
    assert_int_equal(digits, 321);
}

static void *add_objects(void *arg)
{
    struct object *object = arg;

    atomic_fetch_add(&running, 1);
    for (int i = 0; i < EACH; i++) {
        object[i].number = i;
        object[i].mark = MARK;
        tern_base_roster_add(&roster, &object[i].node);
    }
    return NULL;
}

/* Return the number of objects; -1: one is not initialized, or there are too many. */
static int count(void)
{
    int n = 0;

    TERN_ROSTER_EACH(struct object, each, &roster, node)
        if (each->mark != MARK || ++n > THREADS * EACH)
            return -1;
    return n;
}

static void many_threads(void **state)
{
    pthread_t thread[THREADS];
    int       before = 0, now, status;

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, add_objects, objects[i]), 0);
    while (atomic_load(&running) == 0)
        ;
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();

        if (child == 0) /* not _exit(): the thread sanitizer would report the threads of the parent as leaks */
            syscall(SYS_exit_group, count() < 0);
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        now = count();
        assert_true(now >= before);
        before = now;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(count(), THREADS * EACH);
    for (int i = 0; i < THREADS; i++) {
        int next = EACH;

        TERN_ROSTER_EACH(struct object, each, &roster, node)
            if (each >= objects[i] && each < objects[i] + EACH)
                assert_int_equal(each->number, --next);
        assert_int_equal(next, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(newest_first), cmocka_unit_test(many_threads) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
