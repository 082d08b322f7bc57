/* thread.c: starting and joining the library's own threads. See thread.h. */
#include "base/thread.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"

static _Atomic int threads;

int tern_base_threads(void)
{
    return atomic_load(&threads);
}

tern_status tern_base_thread_start(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg)
{
    sigset_t all, before;
    int      error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return tern_base_fail(TERN_ERR_SYSTEM,
                              "cannot start the thread %s: %s; check the limits on threads (ulimit -u, pids.max)", name,
                              strerror(error));
    atomic_fetch_add(&threads, 1);
    pthread_setname_np(*thread, name);
    tern_base_log(TERN_LOG_INFO, "thread %s started", name);
    return TERN_OK;
}

void tern_base_thread_join(pthread_t thread, const char *name)
{
    pthread_join(thread, NULL);
    atomic_fetch_sub(&threads, 1);
    tern_base_log(TERN_LOG_DEBUG, "thread %s ended", name);
}
