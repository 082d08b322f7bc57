/* progress.c: reading the completion queue, and the thread that does so when nobody else does.
 *
 * Providers that need help move data only while somebody reads the queue. A thread of the program that waits in Tern
 * does; when none does, the helper has to, so that puts and gets of others end whatever this rank is doing. It sleeps
 * in poll() on the queue's descriptor. While the program reads the queue itself, data on the descriptor would wake the
 * helper for nothing, so after such a wake-up it naps on a clock instead, first for a moment and then longer, until the
 * program has not read for some time, or is about to sleep and says so (tern_ofi_may_sleep). That time is far longer than
 * the program needs between two looks, a large write to a socket included: a helper that takes over too early shares a
 * core with a bound program, and doubles the time of what that waits for.
 *
 * A provider without a descriptor is looked at by the clock, every millisecond at least. So is one whose descriptor says
 * again and again that something has come when nothing has: some leave their own signals in it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "boot/bell.h"
#include "link/ofi/ofi.h"

#define BATCH 16
#define ROUNDS 8                /* batches in one go */
#define FIRST_NAP 50000ll       /* ns */
#define LONGEST_NAP 1000000ll   /* ns */
#define UNHELPED_SLEEP 100000ll /* ns: without the helper, whoever waits looks again after this */
#define RETRY_MS 1              /* what the provider had no room for is tried again after this */
#define FALSE_ALARMS 32         /* in a row, and the descriptor is not believed */
#define RECENTLY 300000ll       /* ns: a program that uses the network reads the queue more often than that */

void tern_ofi_ring(struct ofi_link *ofi)
{
    struct tern_slot *slot = tern_ofi_slot(ofi, ofi->rank);

    tern_boot_bell_ring(&slot->bell, &slot->sleepers);
}

/* ---- the queue ---- */

static void end(struct ofi_link *ofi, void *context, const struct ofi_news *news)
{
    struct ofi_token *token = context;

    if (token)
        token->ended(ofi, token, news);
}

/* An operation that failed. */
static bool read_error(struct ofi_link *ofi)
{
    struct fi_cq_err_entry entry = { 0 };
    struct ofi_news        news = { .error = FI_EOTHER };
    ssize_t                rc = fi_cq_readerr(ofi->net.cq, &entry, 0);

    if (rc != 1)
        return false;
    news.flags = entry.flags;
    news.error = entry.err > 0 ? entry.err : FI_EOTHER;
    snprintf(news.why, sizeof(news.why), "%s", tern_ofi_why(ofi, news.error));
    tern_base_log(TERN_LOG_DEBUG, "link ofi: an operation failed: %s, provider's error %d", news.why, entry.prov_errno);
    end(ofi, entry.op_context, &news);
    return true;
}

static ssize_t read_batch(struct ofi_link *ofi)
{
    struct fi_cq_data_entry entry[BATCH];
    ssize_t                 n = fi_cq_read(ofi->net.cq, entry, BATCH);

    for (ssize_t i = 0; i < n; i++) {
        struct ofi_news news = { .flags = entry[i].flags, .len = entry[i].len, .buffer = entry[i].buf };
        end(ofi, entry[i].op_context, &news);
    }
    if (n == -FI_EAVAIL)
        return read_error(ofi) ? 1 : 0;
    return n > 0 ? n : 0;
}

unsigned tern_ofi_poll_locked(struct ofi_link *ofi)
{
    unsigned count = 0;
    ssize_t  n;

    for (int round = 0; round < ROUNDS && (n = read_batch(ofi)) > 0; round++)
        count += (unsigned)n;
    if (ofi->waiting)
        tern_ofi_paths_pump(ofi);
    if (ofi->messages.work)
        tern_ofi_outbox_pump(ofi);
    if (ofi->messages.pulls || ofi->messages.idle > 0)
        tern_ofi_inbox_pump(ofi);
    return count;
}

void tern_ofi_poll(struct ofi_link *ofi)
{
    if (pthread_mutex_trylock(&ofi->lock) != 0)
        return; /* whoever has it is doing the same */
    tern_ofi_poll_locked(ofi);
    pthread_mutex_unlock(&ofi->lock);
    /* relaxed: a hint for the helper. */
    atomic_store_explicit(&ofi->helper.polled, tern_base_now(), memory_order_relaxed);
}

/* ---- the helper ---- */

static bool has_sleepers(const struct ofi_link *ofi)
{
    return atomic_load_explicit(&tern_ofi_slot(ofi, ofi->rank)->sleepers, memory_order_relaxed) != 0;
}

/* Whether the program reads the queue itself and goes on doing so. */
static bool is_program_active(struct ofi_link *ofi)
{
    return !has_sleepers(ofi) &&
           tern_base_now() - atomic_load_explicit(&ofi->helper.polled, memory_order_relaxed) < RECENTLY;
}

/* Sleep by the clock, because the program reads the queue itself; it may end the nap: see tern_ofi_may_sleep(). */
static void nap_while_active(struct ofi_link *ofi, int64_t ns)
{
    struct ofi_helper *helper = &ofi->helper;
    uint32_t           seen = tern_boot_bell_announce(&helper->bell, &helper->naps);

    if (is_program_active(ofi) && !atomic_load_explicit(&helper->stop, memory_order_relaxed))
        tern_boot_bell_wait(&helper->bell, seen, ns);
    tern_boot_bell_withdraw(&helper->naps);
}

/* Sleep by the clock, because there is no descriptor. This nap is not announced: whoever waits is told to look after each
 * of them, and would end the next one at once by going to sleep again. */
static void nap(struct ofi_link *ofi, int64_t ns)
{
    struct ofi_helper *helper = &ofi->helper;
    uint32_t           seen = atomic_load(&helper->bell); /* before stop: tern_ofi_helper_stop() changes both */

    if (!atomic_load(&helper->stop))
        tern_boot_bell_wait(&helper->bell, seen, ns);
}

/* Read the queue. Returns for how many milliseconds there will be nothing to do unless the descriptor says so; 0: there
 * may be more at once; -1: for ever. */
static int look(struct ofi_link *ofi)
{
    struct fid *queue[] = { &ofi->net.cq->fid };
    int         idle_ms;

    pthread_mutex_lock(&ofi->lock);
    if (tern_ofi_poll_locked(ofi) > 0 || (ofi->net.wait_fd >= 0 && fi_trywait(ofi->net.fid, queue, 1) != 0))
        idle_ms = 0;
    else
        idle_ms = ofi->waiting || ofi->messages.work || ofi->messages.pulls ? RETRY_MS : -1;
    pthread_mutex_unlock(&ofi->lock);
    return idle_ms;
}

/* Sleep until the descriptor says that something has come. False: it said so at once, as it did all the times before,
 * although the queue had been read. */
static bool sleep_on(struct ofi_link *ofi, int ms)
{
    struct pollfd fds[] = { { .fd = ofi->helper.wake, .events = POLLIN },
                            { .fd = ofi->net.wait_fd, .events = POLLIN } };

    if (poll(fds, 2, 0) > 0)
        return fds[0].revents != 0 || ++ofi->helper.alarms < FALSE_ALARMS;
    ofi->helper.alarms = 0;
    poll(fds, 2, ms);
    return true;
}

static void *helper_run(void *arg)
{
    struct ofi_link *ofi = arg;
    int64_t          ns = FIRST_NAP;

    prctl(PR_SET_TIMERSLACK, 1000ul); /* naps are short */
    while (!atomic_load_explicit(&ofi->helper.stop, memory_order_relaxed)) {
        bool active = is_program_active(ofi);
        int  ms = active ? -1 : look(ofi);

        if (ms == 0) {
            ns = FIRST_NAP;
            ofi->helper.alarms = 0;
            continue;
        }
        if (!active)
            tern_ofi_ring(ofi); /* data may have come of which the queue tells nothing: who waits for it is to look */
        if (!active && ofi->net.wait_fd >= 0 && sleep_on(ofi, ms)) {
            ns = FIRST_NAP;
        } else {
            (active ? nap_while_active : nap)(ofi, ns);
            ns = ns * 2 < LONGEST_NAP ? ns * 2 : LONGEST_NAP;
        }
    }
    return NULL;
}

static void pin(pthread_t thread)
{
    cpu_set_t set;
    int       core = (int)tern_opt.progress_core;

    if (core < 0)
        return;
    CPU_ZERO(&set);
    if (core < CPU_SETSIZE)
        CPU_SET((size_t)core, &set);
    if (core >= CPU_SETSIZE || pthread_setaffinity_np(thread, sizeof(set), &set) != 0)
        tern_base_log(TERN_LOG_WARN, "the progress thread cannot be bound to core %d (TERN_PROGRESS_CORE)", core);
}

tern_status tern_ofi_helper_start(struct ofi_link *ofi)
{
    struct ofi_helper *helper = &ofi->helper;
    sigset_t           all, before;
    int                error;

    if (tern_opt.progress_thread == TERN_PROGRESS_THREAD_OFF)
        return TERN_OK;
    helper->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (helper->wake < 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "link ofi: cannot make an eventfd: %s", strerror(errno));
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&helper->thread, NULL, helper_run, ofi);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        close(helper->wake);
        return tern_base_fail(TERN_ERR_SYSTEM, "link ofi: cannot start the progress thread: %s", strerror(error));
    }
    pthread_setname_np(helper->thread, "tern-progress");
    pin(helper->thread);
    helper->running = true;
    return TERN_OK;
}

void tern_ofi_helper_stop(struct ofi_link *ofi)
{
    struct ofi_helper *helper = &ofi->helper;
    uint64_t           one = 1;

    if (!helper->running)
        return;
    atomic_store(&helper->stop, true);
    while (write(helper->wake, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
    tern_boot_bell_wake(&helper->bell);
    pthread_join(helper->thread, NULL);
    close(helper->wake);
    helper->running = false;
}

int64_t tern_ofi_may_sleep(struct tern_link *link)
{
    struct ofi_helper *helper = &tern_ofi(link)->helper;

    if (!helper->running)
        return UNHELPED_SLEEP;
    tern_boot_bell_ring(&helper->bell, &helper->naps);
    return INT64_MAX;
}
