/* progress.c: the progress thread, and polling by the threads of the program.
 *
 * Providers with manual progress move data only while a thread polls the queue. A thread of the program that waits
 * in Tern does so. When no thread does, the progress thread must poll, so that puts and gets of other ranks complete
 * whatever this rank is doing. The progress thread sleeps in poll() on the queue's descriptor. While the program
 * polls the queue itself, events on the descriptor would wake the progress thread for nothing. After such a wake-up
 * it naps for a limited time instead, first short and then longer, until the program has not polled for some time
 * (RECENTLY), or is about to sleep and calls tern_ofi_may_sleep(). RECENTLY is much longer than the program needs
 * between two polls, including a large write to a socket: a progress thread that takes over too early shares a core
 * with a bound program, and doubles the time of the operation for which the program waits.
 *
 * A put of a peer completes in this rank's memory without an entry in the queue, but it causes an event on the
 * descriptor. The progress thread then rings the bell, so that a sleeping thread wakes up, checks its condition, and
 * polls the queue itself while there is more (core/wait.c).
 *
 * A provider without a descriptor, or with a descriptor that does not report everything, is polled at least every
 * millisecond. So is a provider whose descriptor is always readable: some leave their own signals in it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "boot/bell.h"
#include "link/ofi/ofi.h"

#define FIRST_NAP 50000ll          /* ns */
#define LONGEST_NAP 1000000ll      /* ns */
#define UNHELPED_SLEEP 100000ll    /* ns: without a progress thread, a waiting thread polls again after this time */
#define UNWATCHED_SLEEP 10000000ll /* ns: the same while the progress thread does not sleep on the descriptor */
#define RETRY_MS 1                 /* operations that the provider refused are retried after this time */
#define RECENTLY 300000ll          /* ns: a program that uses the network polls more often than this */

void tern_ofi_ring(struct ofi_link *ofi)
{
    struct tern_slot *slot = tern_ofi_slot(ofi, ofi->rank);

    tern_boot_bell_ring(&slot->bell, &slot->sleepers);
}

/* True if the last poll of this thread was left to another thread, which held the lock. What that thread reads may
 * include a peer's put into memory that this thread has checked just before. */
static _Thread_local bool left_out;

void tern_ofi_poll(struct ofi_link *ofi)
{
    left_out = pthread_mutex_trylock(&ofi->lock) != 0;
    if (left_out)
        return; /* the thread that holds the lock polls */
    tern_ofi_poll_locked(ofi);
    pthread_mutex_unlock(&ofi->lock);
    /* relaxed: a hint for the progress thread. */
    atomic_store_explicit(&ofi->progress_thread.polled, tern_base_now(), memory_order_relaxed);
}

/* ---- the progress thread ---- */

static bool has_sleepers(const struct ofi_link *ofi)
{
    return atomic_load_explicit(&tern_ofi_slot(ofi, ofi->rank)->sleepers, memory_order_relaxed) != 0;
}

/* Returns true if the program polls the queue itself, and is expected to continue. */
static bool is_program_active(struct ofi_link *ofi)
{
    return !has_sleepers(ofi) &&
           tern_base_now() - atomic_load_explicit(&ofi->progress_thread.polled, memory_order_relaxed) < RECENTLY;
}

/* Sleep for a fixed time, because the program polls the queue itself. The program may end the nap with
 * tern_ofi_may_sleep(). */
static void nap_while_active(struct ofi_link *ofi, int64_t ns)
{
    struct ofi_progress_thread *thread = &ofi->progress_thread;
    uint32_t                    seen = tern_boot_bell_announce(&thread->bell, &thread->naps);

    if (is_program_active(ofi) && !atomic_load_explicit(&thread->stop, memory_order_relaxed))
        tern_boot_bell_wait(&thread->bell, seen, ns);
    tern_boot_bell_withdraw(&thread->naps);
}

/* Sleep for a fixed time, because there is no descriptor. This nap is not announced: a waiting thread polls again
 * after that time itself, and would end the next nap at once by going to sleep again. */
static void nap(struct ofi_link *ofi, int64_t ns)
{
    struct ofi_progress_thread *thread = &ofi->progress_thread;
    uint32_t seen = atomic_load(&thread->bell); /* before stop: tern_ofi_progress_thread_stop() changes both */

    if (!atomic_load(&thread->stop))
        tern_boot_bell_wait(&thread->bell, seen, ns);
}

static int64_t longer(int64_t ns)
{
    return ns * 2 < LONGEST_NAP ? ns * 2 : LONGEST_NAP;
}

/* Poll the queue, unless another thread holds the lock. Returns the number of milliseconds for which there is
 * nothing to do unless the descriptor becomes readable; 0: there may be more now; -1: no limit. */
static int poll_once(struct ofi_link *ofi)
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

/* Sleep until the descriptor is readable, at most ms milliseconds (-1: no limit). Returns true if data have arrived
 * since the last call. A provider may leave a signal of its own in the descriptor, which is then always readable:
 * new data are detected by the edge-triggered epoll, and data that may have been left unread by polling
 * periodically. */
static bool watch(struct ofi_link *ofi, int ms)
{
    struct pollfd      fds[] = { { .fd = ofi->progress_thread.wake, .events = POLLIN },
                                 { .fd = ofi->endpoint.wait_fd, .events = POLLIN } };
    struct epoll_event event;
    bool               already = poll(fds, 2, 0) > 0;

    if (!already && ms != 0) {
        atomic_store_explicit(&ofi->progress_thread.watching, ms < 0,
                              memory_order_relaxed); /* a hint for tern_ofi_may_sleep() */
        poll(fds, 2, ms);
        atomic_store_explicit(&ofi->progress_thread.watching, false, memory_order_relaxed);
    }
    return epoll_wait(ofi->progress_thread.edges, &event, 1, already && ms != 0 ? RETRY_MS : 0) > 0;
}

static void *progress_run(void *arg)
{
    struct ofi_link *ofi = arg;
    bool             watched = ofi->endpoint.wait_fd >= 0;
    int64_t          ns = FIRST_NAP;
    int              ms = 0; /* the first check of the descriptor after a nap does not block */
    bool             more = false;

    prctl(PR_SET_TIMERSLACK, 1000ul); /* naps are short */
    while (!atomic_load_explicit(&ofi->progress_thread.stop, memory_order_relaxed)) {
        bool arrived = watched && watch(ofi, ms), active = is_program_active(ofi);

        ms = active ? 0 : poll_once(ofi);
        if (!active && (arrived || more))
            tern_ofi_ring(ofi); /* the queue may contain no entry for the data */
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

static void descriptors_close(struct ofi_progress_thread *thread)
{
    close(thread->wake);
    close(thread->edges);
}

static tern_status descriptors_open(struct ofi_link *ofi)
{
    struct ofi_progress_thread *thread = &ofi->progress_thread;
    struct epoll_event          edge = { .events = EPOLLIN | EPOLLET };

    thread->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread->edges = epoll_create1(EPOLL_CLOEXEC);
    if (thread->wake >= 0 && thread->edges >= 0 &&
        (ofi->endpoint.wait_fd < 0 || epoll_ctl(thread->edges, EPOLL_CTL_ADD, ofi->endpoint.wait_fd, &edge) == 0))
        return TERN_OK;
    tern_base_fail(TERN_ERR_SYSTEM, "link ofi: cannot make the progress thread's descriptors: %s", strerror(errno));
    descriptors_close(thread);
    return TERN_ERR_SYSTEM;
}

tern_status tern_ofi_progress_thread_start(struct ofi_link *ofi)
{
    struct ofi_progress_thread *thread = &ofi->progress_thread;
    tern_status                 st;

    if (tern_opt.progress_thread == TERN_PROGRESS_THREAD_OFF)
        return TERN_OK;
    if ((st = descriptors_open(ofi)) < 0)
        return st;
    if ((st = tern_base_thread_start(&thread->thread, "tern-progress", progress_run, ofi)) < 0) {
        descriptors_close(thread);
        return st;
    }
    pin(thread->thread);
    thread->running = true;
    return TERN_OK;
}

void tern_ofi_progress_thread_stop(struct ofi_link *ofi)
{
    struct ofi_progress_thread *thread = &ofi->progress_thread;
    uint64_t                    one = 1;

    if (!thread->running)
        return;
    atomic_store(&thread->stop, true);
    while (write(thread->wake, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
    tern_boot_bell_wake(&thread->bell);
    pthread_join(thread->thread, NULL);
    descriptors_close(thread);
    thread->running = false;
}

/* Returns the time in ns until a lane or msg_recv.c must do something that no bell reports. */
static int64_t until_due(struct ofi_link *ofi)
{
    int64_t lanes, recv;

    pthread_mutex_lock(&ofi->lock);
    lanes = tern_ofi_lanes_due(ofi);
    recv = tern_ofi_rx_due(ofi);
    pthread_mutex_unlock(&ofi->lock);
    if (recv == OFI_NEVER)
        return lanes;
    recv -= tern_base_now();
    return recv < 0 ? 0 : recv < lanes ? recv : lanes;
}

int64_t tern_ofi_may_sleep(struct tern_link *link)
{
    struct ofi_link            *ofi = tern_ofi(link);
    struct ofi_progress_thread *thread = &ofi->progress_thread;
    int64_t                     due;

    if (!thread->running)
        return UNHELPED_SLEEP;
    tern_boot_bell_ring(&thread->bell, &thread->naps);
    if (ofi->endpoint.wait_fd < 0)
        return LONGEST_NAP;
    due = until_due(ofi);
    /* While the progress thread sleeps on the descriptor, new data make it ring the bell. Before it sleeps, it
     * cannot tell whether data are new, and the queue does not report a peer's put. relaxed: the lock, which was
     * held just now, orders the load after everything that the progress thread read before. */
    if (left_out || !atomic_load_explicit(&thread->watching, memory_order_relaxed))
        return due < UNWATCHED_SLEEP ? due : UNWATCHED_SLEEP;
    return due;
}
