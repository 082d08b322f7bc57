/* base_thread.c: starting the library's own threads.
 *
 * Promise: a thread runs its function under its name with every signal blocked, whatever the mask of its creator, which
 * stays as it is; a thread that cannot be started is reported with its name.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/thread.h"
#include "sanitized.h"

static void *note_mask(void *arg)
{
    pthread_sigmask(SIG_BLOCK, NULL, arg);
    return arg;
}

static void signals_are_blocked(void **state)
{
    sigset_t  before, after, there;
    pthread_t thread;
    void     *result;

    (void)state;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(tern_base_thread_start(&thread, "tern-test", note_mask, &there), TERN_OK);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &there);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int signal = 1; signal <= SIGSYS; signal++) {
        assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
        if (signal != SIGKILL && signal != SIGSTOP)
            assert_int_equal(sigismember(&there, signal), 1);
    }
}

static void *wait_for_end(void *arg)
{
    pthread_mutex_lock(arg);
    pthread_mutex_unlock(arg);
    return NULL;
}

static void thread_has_its_name(void **state)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t       thread;
    char            name[16];

    (void)state;
    pthread_mutex_lock(&lock);
    assert_int_equal(tern_base_thread_start(&thread, "tern-test", wait_for_end, &lock), TERN_OK);
    assert_int_equal(pthread_getname_np(thread, name, sizeof(name)), 0);
    assert_string_equal(name, "tern-test");
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

/* In a process of its own, whose memory is then too small for the stack of a thread. */
static int start_without_memory(void)
{
    struct rlimit none = { 0, 0 };
    pthread_t     thread;

    if (setrlimit(RLIMIT_AS, &none) != 0)
        return 2;
    if (tern_base_thread_start(&thread, "tern-test", note_mask, NULL) != TERN_ERR_SYSTEM)
        return 3;
    return strstr(tern_base_detail(), "tern-test") == NULL;
}

static void failure_is_reported(void **state)
{
    int   status;
    pid_t pid;

    (void)state;
#if JOB_SANITIZED
    skip(); /* the sanitizers need memory for each thread themselves */
#endif
    pid = fork();
    if (pid == 0)
        _exit(start_without_memory());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failure_is_reported), /* first: the C library would reuse the stack of an earlier thread */
        cmocka_unit_test(signals_are_blocked),
        cmocka_unit_test(thread_has_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
