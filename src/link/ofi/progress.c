/* progress.c: reading the completion queue, and the thread that does so when nobody else does.
 *
 * Providers that need help move data only while somebody reads the queue. A thread of the program that waits in Tern
 * does; when none does, the helper has to, so that puts and gets of others end whatever this rank is doing. It sleeps
 * in poll() on the queue's descriptor. While the program reads the queue itself, data on the descriptor would wake the
 * helper for nothing, so after such a wake-up it naps on a clock instead, first for a moment and then longer, until the
 * program has not read for some time, or is about to sleep and says so (tern_ofi_may_sleep). That time is far longer
 * than the program needs between two looks, a large write to a socket included: a helper that takes over too early
 * shares a core with a bound program, and doubles the time of what that waits for.
 *
 * A put of a peer ends in this rank's memory, and the queue tells nothing of it: the descriptor does, and then the
 * helper rings, so that a thread that sleeps wakes up, looks, and reads the queue itself while there is more
 * (core/wait.c).
 *
 * A provider without a descriptor, or whose descriptor does not tell of everything, is looked at by the clock, every
 * millisecond at least. So is one whose descriptor says all the time that something has come: some leave their own
 * signals in it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "boot/bell.h"
#include "link/ofi/ofi.h"

#define BATCH 16
#define ROUNDS 8                   /* batches in one go */
#define FIRST_NAP 50000ll          /* ns */
#define LONGEST_NAP 1000000ll      /* ns */
#define UNHELPED_SLEEP 100000ll    /* ns: without the helper, whoever waits looks again after this */
#define UNWATCHED_SLEEP 10000000ll /* ns: the same while the helper is about to sleep on the descriptor */
#define RETRY_MS 1                 /* what the provider had no room for is tried again after this */
#define RECENTLY 300000ll          /* ns: a program that uses the network reads the queue more often than that */

void tern_ofi_ring(struct ofi_link *ofi)
{
    struct tern_slot *slot = tern_ofi_slot(ofi, ofi->rank);

    tern_boot_bell_ring(&slot->bell, &slot->sleepers);
}

/* ---- the queue ---- */

static void end(struct ofi_link *ofi, void *context, const struct ofi_comp *news)
{
    struct ofi_comp_ctx *token = context;

    if (token)
        token->ended(ofi, token, news);
}

/* An operation that failed. */
static bool read_error(struct ofi_link *ofi)
{
    struct fi_cq_err_entry entry = { 0 };
    struct ofi_comp        news = { .error = FI_EOTHER };
    ssize_t                rc = fi_cq_readerr(ofi->endpoint.cq, &entry, 0);

    if (rc != 1)
        return false;
    news.flags = entry.flags;
    news.error = entry.err > 0 ? entry.err : FI_EOTHER;
    snprintf(news.why, sizeof(news.why), "%s", tern_ofi_why(ofi, news.error));
    tern_base_log(TERN_LOG_DEBUG, "link ofi: an operation failed: %s, provider's error %d", news.why, entry.prov_errno);
    end(ofi, entry.op_context, &news);
    return true;
}

static unsigned read_batch(struct ofi_link *ofi)
{
    struct fi_cq_data_entry entry[BATCH];
    ssize_t                 n = fi_cq_read(ofi->endpoint.cq, entry, BATCH);

    for (ssize_t i = 0; i < n; i++) {
        struct ofi_comp news = { .flags = entry[i].flags, .len = entry[i].len, .buffer = entry[i].buf };

        if (entry[i].flags & FI_REMOTE_CQ_DATA && entry[i].flags & FI_REMOTE_WRITE) {
            tern_ofi_rx_put_notify(ofi, entry[i].data);
            continue;
        }
        end(ofi, entry[i].op_context, &news);
    }
    if (n == -FI_EAVAIL)
        return read_error(ofi) ? 1 : 0;
    if (TERN_UNLIKELY(n < 0 && n != -FI_EAGAIN && n != -FI_EINTR))
        tern_ofi_rx_fail(ofi, "the completion queue cannot be read", tern_ofi_why(ofi, (int)-n));
    return n > 0 ? (unsigned)n : 0;
}

unsigned tern_ofi_poll_locked(struct ofi_link *ofi)
{
    unsigned count = 0, n = BATCH;

    /* What comes after a batch that was not full waits until this one is acted on: a look may cost several system
     * calls. */
    for (int round = 0; round < ROUNDS && n == BATCH; round++)
        count += n = read_batch(ofi);
    if (ofi->waiting)
        tern_ofi_rma_pump(ofi);
    if (ofi->msg.work)
        tern_ofi_tx_pump(ofi);
    if (ofi->msg.fetches || ofi->msg.failed || ofi->msg.idle > 0)
        tern_ofi_rx_pump(ofi);
    if (tern_ofi_rpc_server_waits(ofi))
        tern_ofi_rpc_server_pump(ofi);
    return count;
}

/* Whether the last poll of this thread was left to another one. What that one reads may be a peer's put into memory
 * that this thread has looked at just before. */
static _Thread_local bool left_out;

void tern_ofi_poll(struct ofi_link *ofi)
{
    left_out = pthread_mutex_trylock(&ofi->lock) != 0;
    if (left_out)
        return; /* whoever has it is doing the same */
    tern_ofi_poll_locked(ofi);
    pthread_mutex_unlock(&ofi->lock);
    /* relaxed: a hint for the helper. */
    atomic_store_explicit(&ofi->progress_thread.polled, tern_base_now(), memory_order_relaxed);
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
           tern_base_now() - atomic_load_explicit(&ofi->progress_thread.polled, memory_order_relaxed) < RECENTLY;
}

/* Sleep by the clock, because the program reads the queue itself; it may end the nap: see tern_ofi_may_sleep(). */
static void nap_while_active(struct ofi_link *ofi, int64_t ns)
{
    struct ofi_progress_thread *helper = &ofi->progress_thread;
    uint32_t                    seen = tern_boot_bell_announce(&helper->bell, &helper->naps);

    if (is_program_active(ofi) && !atomic_load_explicit(&helper->stop, memory_order_relaxed))
        tern_boot_bell_wait(&helper->bell, seen, ns);
    tern_boot_bell_withdraw(&helper->naps);
}

/* Sleep by the clock, because there is no descriptor. This nap is not announced: whoever waits looks again after so
 * long himself, and would end the next one at once by going to sleep again. */
static void nap(struct ofi_link *ofi, int64_t ns)
{
    struct ofi_progress_thread *helper = &ofi->progress_thread;
    uint32_t seen = atomic_load(&helper->bell); /* before stop: tern_ofi_progress_thread_stop() changes both */

    if (!atomic_load(&helper->stop))
        tern_boot_bell_wait(&helper->bell, seen, ns);
}

static int64_t longer(int64_t ns)
{
    return ns * 2 < LONGEST_NAP ? ns * 2 : LONGEST_NAP;
}

/* Read the queue, unless another thread does. Returns for how many milliseconds there will be nothing to do unless the
 * descriptor says so; 0: there may be more at once; -1: for ever. */
static int look(struct ofi_link *ofi)
{
    struct fid *queue[] = { &ofi->endpoint.cq->fid };
    int         idle_ms;

    if (pthread_mutex_trylock(&ofi->lock) != 0)
        return RETRY_MS;
    if (tern_ofi_poll_locked(ofi) > 0 || (ofi->endpoint.wait_fd >= 0 && fi_trywait(ofi->endpoint.fid, queue, 1) != 0))
        idle_ms = 0;
    else
        idle_ms = ofi->waiting || ofi->msg.work || ofi->msg.fetches || tern_ofi_rpc_server_waits(ofi) ? RETRY_MS : -1;
    pthread_mutex_unlock(&ofi->lock);
    return idle_ms;
}

/* Sleep until the descriptor says that there is something to do, at most so many milliseconds. Returns whether data
 * have come since the last call. A provider may leave a signal of its own in the descriptor, which then says so all the
 * time: what comes is known by its edge, and what may have been left unread is looked at by the clock. */
static bool watch(struct ofi_link *ofi, int ms)
{
    struct pollfd      fds[] = { { .fd = ofi->progress_thread.wake, .events = POLLIN },
                                 { .fd = ofi->endpoint.wait_fd, .events = POLLIN } };
    struct epoll_event event;
    bool               already = poll(fds, 2, 0) > 0;

    if (!already && ms != 0) {
        atomic_store_explicit(&ofi->progress_thread.watching, ms < 0, memory_order_relaxed); /* a hint: see may_sleep */
        poll(fds, 2, ms);
        atomic_store_explicit(&ofi->progress_thread.watching, false, memory_order_relaxed);
    }
    return epoll_wait(ofi->progress_thread.edges, &event, 1, already && ms != 0 ? RETRY_MS : 0) > 0;
}

static void *helper_run(void *arg)
{
    struct ofi_link *ofi = arg;
    bool             watched = ofi->endpoint.wait_fd >= 0;
    int64_t          ns = FIRST_NAP;
    int              ms = 0; /* the first look at the descriptor after a nap is short */
    bool             more = false;

    prctl(PR_SET_TIMERSLACK, 1000ul); /* naps are short */
    while (!atomic_load_explicit(&ofi->progress_thread.stop, memory_order_relaxed)) {
        bool come = watched && watch(ofi, ms), active = is_program_active(ofi);

        ms = active ? 0 : look(ofi);
        if (!active && (come || more))
            tern_ofi_ring(ofi); /* of what has come the queue may tell nothing */
        more = !active && ms == 0;
        if (active || (!watched && !more)) {
            (active ? nap_while_active : nap)(ofi, ns);
            ns = longer(ns);
        } else {
            ns = FIRST_NAP;
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

static void descriptors_close(struct ofi_progress_thread *helper)
{
    close(helper->wake);
    close(helper->edges);
}

static tern_status descriptors_open(struct ofi_link *ofi)
{
    struct ofi_progress_thread *helper = &ofi->progress_thread;
    struct epoll_event          edge = { .events = EPOLLIN | EPOLLET };

    helper->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    helper->edges = epoll_create1(EPOLL_CLOEXEC);
    if (helper->wake >= 0 && helper->edges >= 0 &&
        (ofi->endpoint.wait_fd < 0 || epoll_ctl(helper->edges, EPOLL_CTL_ADD, ofi->endpoint.wait_fd, &edge) == 0))
        return TERN_OK;
    tern_base_fail(TERN_ERR_SYSTEM, "link ofi: cannot make the progress thread's descriptors: %s", strerror(errno));
    descriptors_close(helper);
    return TERN_ERR_SYSTEM;
}

tern_status tern_ofi_progress_thread_start(struct ofi_link *ofi)
{
    struct ofi_progress_thread *helper = &ofi->progress_thread;
    sigset_t                    all, before;
    tern_status                 st;
    int                         error;

    if (tern_opt.progress_thread == TERN_PROGRESS_THREAD_OFF)
        return TERN_OK;
    if ((st = descriptors_open(ofi)) < 0)
        return st;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&helper->thread, NULL, helper_run, ofi);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        descriptors_close(helper);
        return tern_base_fail(TERN_ERR_SYSTEM, "link ofi: cannot start the progress thread: %s", strerror(error));
    }
    pthread_setname_np(helper->thread, "tern-progress");
    pin(helper->thread);
    helper->running = true;
    return TERN_OK;
}

void tern_ofi_progress_thread_stop(struct ofi_link *ofi)
{
    struct ofi_progress_thread *helper = &ofi->progress_thread;
    uint64_t                    one = 1;

    if (!helper->running)
        return;
    atomic_store(&helper->stop, true);
    while (write(helper->wake, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
    tern_boot_bell_wake(&helper->bell);
    pthread_join(helper->thread, NULL);
    descriptors_close(helper);
    helper->running = false;
}

/* For how long nothing has to be done that no bell tells of: the lanes know, and the inbox. */
static int64_t until_due(struct ofi_link *ofi)
{
    int64_t lanes, inbox;

    pthread_mutex_lock(&ofi->lock);
    lanes = tern_ofi_lanes_due(ofi);
    inbox = tern_ofi_rx_due(ofi);
    pthread_mutex_unlock(&ofi->lock);
    if (inbox == OFI_NEVER)
        return lanes;
    inbox -= tern_base_now();
    return inbox < 0 ? 0 : inbox < lanes ? inbox : lanes;
}

int64_t tern_ofi_may_sleep(struct tern_link *link)
{
    struct ofi_link            *ofi = tern_ofi(link);
    struct ofi_progress_thread *helper = &ofi->progress_thread;
    int64_t                     due;

    if (!helper->running)
        return UNHELPED_SLEEP;
    tern_boot_bell_ring(&helper->bell, &helper->naps);
    if (ofi->endpoint.wait_fd < 0)
        return LONGEST_NAP;
    due = until_due(ofi);
    /* What comes while the helper sleeps on the descriptor makes it ring. What it finds on its way there it does not
     * know to be new, nor does the queue tell of a peer's put. relaxed: the lock that was held just now orders it after
     * whatever the helper read before. */
    if (left_out || !atomic_load_explicit(&helper->watching, memory_order_relaxed))
        return due < UNWATCHED_SLEEP ? due : UNWATCHED_SLEEP;
    return due;
}
