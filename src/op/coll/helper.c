/* helper.c: the poller that makes progress on nonblocking collective operations while the program computes or sleeps.
 *
 * A program that makes progress itself does all the work. If the program has not polled a station with operations since
 * the last check, the helper thread (core/helper.h) makes progress instead, and every peer that sends something wakes
 * it. The thread delivers tagged messages and FINs. It runs no handlers of active messages but those of clients that
 * permit it. */
#include "op/coll/helper.h"

#include <stdio.h>

#include "base/options.h"
#include "core/helper.h"
#include "core/job.h"
#include "core/message.h"
#include "core/wait.h"
#include "op/trigger/helper.h"

static int64_t poll_stations(struct tern_helper_poller *poller, bool again);

static struct {
    struct tern_helper_poller poller;
    pthread_mutex_t           lock; /* guards stations */
    struct tern_list          stations;
    int64_t                   last;   /* result of the last poll */
    _Atomic bool              roused; /* work that must not wait for the end of a nap has been added since that poll */
} helper = { .poller = { .poll = poll_stations },
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .stations = TERN_LIST_INIT(helper.stations) };

void tern_op_coll_helper_join(struct tern_station *station)
{
    pthread_mutex_lock(&helper.lock);
    tern_base_list_push(&helper.stations, &station->helped);
    pthread_mutex_unlock(&helper.lock);
}

void tern_op_coll_helper_leave(struct tern_station *station)
{
    pthread_mutex_lock(&helper.lock);
    tern_base_list_remove(&station->helped);
    pthread_mutex_unlock(&helper.lock);
}

static uint32_t busy(const struct tern_station *station)
{
    return atomic_load_explicit(&station->busy, memory_order_relaxed); /* a hint */
}

/* Make progress on one station, unless the program does. A send that found no space is tried again after a while,
 * because no peer rings the bell for it. */
static int64_t poll_station(struct tern_station *station)
{
    uint32_t before = busy(station);

    if (before == 0) {
        tern_boot_activity_mark(&station->activity); /* a program that starts an operation is usually about to wait */
        return TERN_HELPER_IDLE;
    }
    if (tern_boot_activity_recent(&station->activity, 0))
        return TERN_HELPER_NAP;
    tern_core_message_poll_channels(TERN_MESSAGES_TAGGED | TERN_MESSAGES_HELPED);
    tern_op_coll_progress(station);
    if (busy(station) != before)
        return 0;
    /* relaxed: hints */
    return atomic_load_explicit(&station->ctx->attention, memory_order_relaxed) ||
                   atomic_load_explicit(&station->ctx->engine_busy, memory_order_relaxed) > 0
               ? TERN_HELPER_LONGEST_NAP
               : TERN_HELPER_EVENT;
}

static int64_t poll_stations(struct tern_helper_poller *poller, bool again)
{
    int64_t least = TERN_HELPER_IDLE;

    (void)poller;
    /* relaxed: after the fence of the announcement. Pairs with tern_op_coll_helper_wake(). */
    if (again && helper.last == TERN_HELPER_NAP && !atomic_load_explicit(&helper.roused, memory_order_relaxed))
        return TERN_HELPER_NAP; /* the announced nap is short, so nothing else has to end it */
    /* acquire: the operation. Pairs with the release in tern_op_coll_helper_wake(). */
    atomic_exchange_explicit(&helper.roused, false, memory_order_acquire);
    pthread_mutex_lock(&helper.lock);
    TERN_LIST_EACH(struct tern_station, station, &helper.stations, helped) {
        int64_t ns = poll_station(station);
        least = ns < least ? ns : least;
    }
    pthread_mutex_unlock(&helper.lock);
    return helper.last = least;
}

tern_status tern_op_coll_help(void)
{
    tern_status st = tern_op_helper_start(); /* the trigger helper fetches long messages */

    tern_core_message_help(); /* for the FINs of this rank's messages */
    if (st < 0 || tern_opt.progress_thread == TERN_PROGRESS_THREAD_OFF)
        return st;
    return tern_boot_helper_add(&tern_core_helper, &helper.poller);
}

static tern_status leave_poll(void *arg)
{
    uint32_t left = 0;

    (void)arg;
    tern_core_message_poll();
    tern_core_job_check_deaths();
    pthread_mutex_lock(&helper.lock);
    TERN_LIST_EACH(struct tern_station, station, &helper.stations, helped) {
        tern_op_coll_progress(station);
        left += busy(station);
    }
    pthread_mutex_unlock(&helper.lock);
    return left > 0 ? TERN_PENDING : TERN_OK;
}

static void leave_describe(void *arg, char *text, size_t size)
{
    (void)arg;
    snprintf(text, size, "tern_finalize waits for collective operations that other ranks have not completed");
}

tern_status tern_op_coll_leave(void)
{
    struct tern_wait wait = { .poll = leave_poll, .describe = leave_describe, .deadline = tern_core_job_deadline() };

    return tern_core_wait(&wait);
}

void tern_op_coll_helper_wake(bool urgent)
{
    if (!urgent) {
        tern_boot_helper_wake(&tern_core_helper, &helper.poller);
        return;
    }
    /* release: the operation. Pairs with poll_stations(). The fence of the next call orders it before the state. */
    atomic_store_explicit(&helper.roused, true, memory_order_release);
    tern_boot_helper_rouse(&tern_core_helper, &helper.poller);
}
