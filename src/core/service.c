/* service.c: one thread per process, started only if it is needed: if a peer cannot access this process's registered
 * memory directly, and if the job must survive the death of a rank, so that even a program that never waits learns of a
 * death. The thread sleeps in the kernel until its bell rings, and runs none of the program's signal handlers. */
#include "core/service.h"

#include "base/thread.h"
#include "boot/bell.h"
#include "core/job.h"

static struct {
    pthread_mutex_t lock; /* guards running and thread: regions may be created on two teams at once */
    bool            running;
    _Atomic bool    stop;
    pthread_t       thread;
} service = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool serve_once(void)
{
    bool any = false;

    for (unsigned i = 0; i < tern_job.links; i++)
        any |= tern_job.ops[i]->serve(tern_job.link[i]);
    return any;
}

static void *service_run(void *arg)
{
    struct tern_slot *slot = tern_core_job_slot(tern_job.boot.rank);

    (void)arg;
    while (!atomic_load_explicit(&service.stop, memory_order_relaxed)) {
        uint32_t seen = tern_boot_bell_announce(&slot->service_bell, &slot->service_sleeps);
        bool     any = serve_once();

        tern_core_job_check_deaths();
        if (!any && !atomic_load_explicit(&service.stop, memory_order_relaxed))
            tern_boot_bell_wait(&slot->service_bell, seen, -1);
        tern_boot_bell_withdraw(&slot->service_sleeps);
    }
    return NULL;
}

static tern_status start(void)
{
    tern_status st;

    atomic_store(&service.stop, false);
    st = tern_base_thread_start(&service.thread, "tern-service", service_run, NULL);
    service.running = st == TERN_OK;
    return st;
}

tern_status tern_core_service_start(void)
{
    tern_status st;

    pthread_mutex_lock(&service.lock);
    st = service.running ? TERN_OK : start();
    pthread_mutex_unlock(&service.lock);
    return st;
}

void tern_core_service_stop(void)
{
    struct tern_slot *slot = tern_core_job_slot(tern_job.boot.rank);

    if (!service.running)
        return;
    atomic_store(&service.stop, true);
    tern_boot_bell_wake(&slot->service_bell);
    pthread_join(service.thread, NULL);
    service.running = false;
}
