/* ofi_load.c: promises: loading libfabric leaves the calling thread as it was: its timers, its right to open files, its
 * processors and the program's signal handlers; no thread is left behind. On a machine without RDMA devices, libfabric
 * does not read the symbols of the kernel. A library that does not exist is an error.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "boot/fabric_load.h"

#define LIBRARY "libfabric.so.1"
#define MOST_READ (4 << 20) /* bytes; the symbols of a kernel are more, and libraries are mapped */

/* Return the number of bytes that the process has read; -1: unknown. */
static long long bytes_read(void)
{
    FILE     *file = fopen("/proc/self/io", "r");
    long long bytes = -1;

    if (file != NULL) {
        if (fscanf(file, "rchar: %lld", &bytes) != 1)
            bytes = -1;
        fclose(file);
    }
    return bytes;
}

static int threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    int  count = 0;

    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void on_signal(int number)
{
    (void)number;
}

static void *nothing(void *arg)
{
    return arg;
}

/* The thread sanitizer starts a thread of its own with the first thread of the program. */
static int start_threads(void **state)
{
    pthread_t thread;

    (void)state;
    return pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0;
}

static void calling_thread_stays_as_it_was(void **state)
{
    int              slack = prctl(PR_GET_TIMERSLACK), before = threads(), filter = prctl(PR_GET_SECCOMP);
    int              privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    long long        read_before = bytes_read();
    struct sigaction action;
    cpu_set_t        cpus, now;
    FILE            *file;

    (void)state;
    signal(SIGSEGV, on_signal);
    assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
    assert_non_null(tern_boot_fabric_load(LIBRARY));
    if (read_before >= 0 && access("/sys/class/infiniband", F_OK) != 0 && access("/sys/class/cxi", F_OK) != 0)
        assert_in_range(bytes_read() - read_before, 0, MOST_READ);
    assert_int_equal(prctl(PR_GET_TIMERSLACK), slack);
    assert_int_equal(prctl(PR_GET_SECCOMP), filter);
    assert_int_equal(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), privileges);
    assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
    assert_memory_equal(&cpus, &now, sizeof(cpus));
    assert_int_equal(sigaction(SIGSEGV, NULL, &action), 0);
    assert_ptr_equal(action.sa_handler, on_signal);
    assert_int_equal(threads(), before);
    file = fopen("/proc/self/status", "r");
    assert_non_null(file);
    fclose(file);
    signal(SIGSEGV, SIG_DFL);
}

static void again_gives_the_same(void **state)
{
    (void)state;
    assert_ptr_equal(tern_boot_fabric_load(LIBRARY), tern_boot_fabric_load(LIBRARY));
}

static void absent_library_is_an_error(void **state)
{
    (void)state;
    assert_null(tern_boot_fabric_load("libnosuchfabric.so.1"));
    assert_non_null(strstr(dlerror(), "libnosuchfabric"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calling_thread_stays_as_it_was),
        cmocka_unit_test(again_gives_the_same),
        cmocka_unit_test(absent_library_is_an_error),
    };

    return cmocka_run_group_tests(tests, start_threads, NULL);
}
