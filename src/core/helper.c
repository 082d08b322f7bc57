/* helper.c: the helper thread of the rank, which is the instance of boot/helper.h that sleeps on the rank's bells.
 *
 * The thread exists only if it is needed: if a peer cannot access this process's registered memory directly; if the job
 * must survive the death of a rank, so that even a program that never waits learns of a death; or if operations are to
 * make progress while the program computes (op/trigger/helper.c).
 *
 * The thread naps and rests on the service bell, which peers ring when they need service. If it rests, this process
 * rings the same bell when there is other work. If such work waits for a peer, the thread sleeps on the rank's bell, as
 * the program does when it waits; peers that need service then ring that bell. */
#include "core/helper.h"

#include "base/membarrier.h"
#include "base/wake_request.h"
#include "boot/bell.h"
#include "core/job.h"
#include "core/links.h"
#include "core/message.h"

static struct tern_slot *own_slot(void)
{
    return tern_core_job_slot(tern_job.boot.rank);
}

static void sleep_on_bell(struct tern_helper *helper, int64_t ns)
{
    struct tern_slot *slot = own_slot();
    uint32_t          delivered = tern_core_message_delivered(), seen, wants;
    int64_t           most;

    /* relaxed: the fence in the announcement orders it before the last poll. Pairs with tern_boot_wake_service(). */
    atomic_store_explicit(&slot->service_sleeps, TERN_SERVICE_ON_BELL, memory_order_relaxed);
    seen = tern_boot_bell_announce(&slot->bell, &slot->sleepers);
    wants = tern_base_wake_requests_ended();
    if (atomic_load_explicit(&slot->uses_membarrier, memory_order_relaxed) != 0) /* this rank's own flag */
        tern_base_membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    ns = tern_boot_helper_last_poll(helper);
    /* A message that was delivered, or a wake request that came too late for the consumer (base/wake_request.h),
     * requires another poll. */
    if (ns > 0 && delivered == tern_core_message_delivered() && !tern_base_wake_requests_since(wants)) {
        most = tern_core_links_may_sleep(false);
        tern_boot_bell_wait(&slot->bell, seen, ns < most ? ns : most);
    }
    tern_boot_bell_withdraw(&slot->sleepers);
    atomic_store_explicit(&slot->service_sleeps, TERN_SERVICE_AWAKE, memory_order_relaxed); /* the thread polls next */
}

static void wake(struct tern_helper *helper)
{
    (void)helper;
    tern_boot_bell_wake(&own_slot()->bell);
}

struct tern_helper tern_core_helper = {
    .name = "tern-helper", .sleep = sleep_on_bell, .wake = wake, .lock = PTHREAD_MUTEX_INITIALIZER
};

void tern_core_helper_open(void)
{
    tern_core_helper.bell = &own_slot()->service_bell;
    tern_core_helper.naps = &own_slot()->service_sleeps;
}

static int64_t serve(struct tern_helper_poller *poller, bool again)
{
    bool any = false;

    (void)poller;
    (void)again;
    for (unsigned i = 0; i < tern_job.links; i++)
        any |= tern_job.ops[i]->serve(tern_job.link[i]);
    tern_core_job_check_deaths();
    return any ? 0 : TERN_HELPER_IDLE;
}

tern_status tern_core_service_start(void)
{
    static struct tern_helper_poller service = { .poll = serve };

    return tern_boot_helper_add(&tern_core_helper, &service);
}
