/* mpi_light.c: a library that tests preload into programs of MPI, which then use less processor time.
 *
 * - MPICH never yields: if there are more ranks than cores, each step of a collective call takes until the system ends
 *   the time slices of ranks that only poll. MPICH on UCX, as Debian builds it, calls ucp_worker_progress in each round
 *   of a wait. This function takes the place of that of UCX and calls it. When it has returned 0 many times in a row,
 *   because nothing happens, the caller yields, and later sleeps for a moment each time. MPICH on another library does
 *   not call the function and remains as it is.
 * - A provider of libfabric reads the list of the kernel's symbols twice when it is initialized, which takes a tenth of
 *   a second. Tern prevents this only in programs without MPI (boot/fabric_load.c). The symbols matter for memory of
 *   graphics cards, which the tests do not use.
 */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { POLLS_BEFORE_YIELD = 20, POLLS_BEFORE_SLEEP = 50 };

typedef unsigned progress_function(void *worker);
typedef FILE    *open_function(const char *path, const char *mode);

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static _Thread_local progress_function *progress;
    static _Thread_local unsigned           idle; /* calls in a row in which nothing happened */
    unsigned                                happened;

    if (!progress)
        progress = (progress_function *)dlsym(RTLD_NEXT, "ucp_worker_progress");
    happened = progress(worker);
    if (happened) {
        idle = 0;
    } else if (idle < POLLS_BEFORE_SLEEP) {
        if (++idle > POLLS_BEFORE_YIELD)
            sched_yield();
    } else {
        nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
    }
    return happened;
}

FILE *fopen(const char *path, const char *mode)
{
    if (strcmp(path, "/proc/kallsyms") == 0) {
        errno = EACCES;
        return NULL;
    }
    return ((open_function *)dlsym(RTLD_NEXT, "fopen"))(path, mode);
}
