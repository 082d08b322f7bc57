/* progress.c: receive buffers, the completion queue, and the threads that poll it.
 *
 * The provider places messages into buffers that hold many messages each (FI_MULTI_RECV). link/net copies each message
 * at once, so that a buffer can be posted again as soon as it is full and all its messages have arrived.
 *
 * Every operation that is posted to the provider ends here: the queue returns the operation's completion context, whose
 * function ended is called. The poll then retries what the provider has refused.
 *
 * Providers with manual progress move data only while a thread polls the queue. A thread of the program that waits
 * in Tern does so. When no thread does, the progress thread must poll, so that puts and gets of other ranks complete
 * whatever this rank is doing. The progress thread is the instance of boot/helper.h that sleeps on file descriptors:
 * on the queue's descriptor, in poll(). While the program polls the queue itself, events on the descriptor would wake
 * the progress thread for nothing. Then the progress thread naps instead, until the program has not polled for some
 * time (RECENTLY), or is about to sleep and calls tern_ofi_may_sleep(). RECENTLY is much longer than the program needs
 * between two polls, including a large write to a socket: a progress thread that takes over too early shares a core
 * with a bound program, and doubles the time of the operation for which the program waits. If several ranks share a
 * core, the time is multiplied by their number, because all of them may run between two polls of one.
 *
 * A put of a peer completes in this rank's memory without an entry in the queue, but it causes an event on the
 * descriptor. The progress thread then rings the bell, so that a sleeping thread wakes up, checks its condition, and
 * polls the queue itself while there is more (core/wait.c).
 *
 * A provider without a descriptor, or with a descriptor that does not report everything, is polled at least every
 * millisecond. So is a provider whose descriptor is always readable: some leave their own signals in it.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "boot/bell.h"
#include "link/ofi/ofi.h"

#define RX_BYTES (64u << 10)
#define LARGEST (NET_WIRE_HEAD + NET_WIRE_INLINE_MAX)
#define BATCH 16
#define ROUNDS 8                   /* batches of completions in one poll */
#define UNHELPED_SLEEP 100000ll    /* ns: without a progress thread, a waiting thread polls again after this time */
#define UNWATCHED_SLEEP 10000000ll /* ns: likewise, while the progress thread does not sleep on the descriptor */
#define POLLED_SLEEP 1000000ll     /* ns: likewise, while other threads of the program poll */
#define RETRY_MS 1                 /* operations that the provider refused are retried after this time */
#define RETRY_NS 1000000ll         /* RETRY_MS in ns */
#define RECENTLY 300000ll          /* ns: a program that uses the network and has a core polls more often */

/* ---- receive buffers ---- */

static unsigned char *rx_memory(const struct ofi_link *ofi, const struct ofi_rx *rx)
{
    return ofi->rx_mr.bytes + (size_t)(rx - ofi->rx) * RX_BYTES;
}

static int rx_post(struct net_link *net, struct net_ctx *ctx)
{
    struct ofi_link *ofi = tern_ofi(net);
    struct iovec     iov = { rx_memory(ofi, (struct ofi_rx *)ctx), RX_BYTES };
    void            *desc = tern_ofi_desc(&ofi->rx_mr);
    struct fi_msg    msg = { .msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = ctx };

    return (int)fi_recvmsg(ofi->endpoint.ep, &msg, FI_MULTI_RECV | FI_COMPLETION);
}

/* Schedule another attempt to post a buffer that could not be posted. */
static void rx_refused(struct net_link *net, struct net_ctx *ctx, int error)
{
    (void)error;
    tern_net_later(net, ctx);
}

/* Post idle buffers until OFI_RX are posted, or no buffer is idle. Returns false if no buffer is posted. */
static bool rx_fill(struct ofi_link *ofi)
{
    unsigned posted = 0;

    for (unsigned i = 0; i < OFI_RX_MOST; i++)
        posted += ofi->rx[i].state == OFI_RX_POSTED;
    for (unsigned i = 0; i < OFI_RX_MOST && posted < OFI_RX; i++) {
        struct ofi_rx *rx = &ofi->rx[i];

        if (rx->state != OFI_RX_IDLE)
            continue;
        rx->state = OFI_RX_POSTED;
        rx->extent = (struct ofi_rx_extent){ .reached = 0 };
        tern_net_post(&ofi->net, &rx->ctx);
        posted++;
    }
    return posted > 0;
}

static void rx_message(struct ofi_link *ofi, struct ofi_rx *rx, const struct fi_cq_data_entry *entry)
{
    size_t offset = (size_t)((unsigned char *)entry->buf - rx_memory(ofi, rx));

    tern_net_receive(&ofi->net, NULL, entry->buf, entry->len);
    tern_ofi_rx_add(&rx->extent, &ofi->rx_offsets, offset, entry->len);
}

/* The provider reports a buffer as full with the message that takes the last part of it, but may still be receiving
 * messages of other peers into earlier parts: libfabric 1.17 does so over TCP. The buffer can be posted again when the
 * messages that have arrived cover it (rx_extent.h). Until then another one takes its place. If a receive has failed,
 * the provider does not say whether it still owns the buffer, so the buffer is replaced as well. */
static void rx_ended(struct ofi_link *ofi, struct ofi_rx *rx, const struct fi_cq_data_entry *entry, int error)
{
    if (error == 0 && (entry->flags & FI_RECV) && entry->len > 0)
        rx_message(ofi, rx, entry);
    if (entry->flags & FI_MULTI_RECV)
        rx->state = OFI_RX_FULL;
    else if (error != 0 && rx->state == OFI_RX_POSTED)
        rx->state = OFI_RX_FAILED;
    if (TERN_LIKELY(rx->state == OFI_RX_POSTED))
        return;
    if (rx->state == OFI_RX_FULL && tern_ofi_rx_is_covered(&rx->extent, ofi->rx_offsets))
        rx->state = OFI_RX_IDLE;
    if (!rx_fill(ofi) && error != 0)
        tern_net_rx_fail(&ofi->net, tern_net_status(error), "receiving messages failed too often",
                         tern_ofi_why(&ofi->net, error));
}

tern_status tern_ofi_rx_open(struct ofi_link *ofi)
{
    size_t      least = LARGEST;
    tern_status st;
    int         rc;

    if ((st = tern_net_messages_open(&ofi->net)) < 0 ||
        (st = tern_net_memory_make(&ofi->net, (size_t)OFI_RX_MOST * RX_BYTES, 0, &ofi->rx_mr)) < 0)
        return st;
    for (unsigned i = 0; i < OFI_RX_MOST; i++)
        tern_net_ctx_init(&ofi->rx[i].ctx, NULL, rx_post, rx_refused);
    if ((rc = fi_setopt(&ofi->endpoint.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least))) != 0)
        return tern_ofi_fail(ofi, rc, "fi_setopt(FI_OPT_MIN_MULTI_RECV)");
    for (unsigned i = 0; i < OFI_RX; i++) {
        ofi->rx[i].state = OFI_RX_POSTED;
        if ((rc = tern_net_post(&ofi->net, &ofi->rx[i].ctx)) != 0 && rc != -FI_EAGAIN)
            return tern_ofi_fail(ofi, rc, "fi_recvmsg");
    }
    return TERN_OK;
}

/* ---- the completion queue ---- */

/* End the operation of a completion. Receive buffers are recognized by their addresses. */
static void end(struct ofi_link *ofi, const struct fi_cq_data_entry *entry, int error)
{
    struct net_ctx *ctx = entry->op_context;
    struct ofi_rx  *rx = (struct ofi_rx *)ctx;

    if (rx >= ofi->rx && rx < ofi->rx + OFI_RX_MOST) {
        rx_ended(ofi, rx, entry, error);
    } else if (ctx) {
        tern_ofi_mr_release(ofi, ctx);
        ctx->ended(&ofi->net, ctx, error);
    }
}

/* Read one error entry of the queue, and end its operation. Returns false if there is none. */
static bool read_error(struct ofi_link *ofi)
{
    struct fi_cq_err_entry  entry = { 0 };
    struct fi_cq_data_entry failed = { 0 };
    int                     error;

    if (fi_cq_readerr(ofi->endpoint.cq, &entry, 0) != 1)
        return false;
    error = entry.err > 0 ? entry.err : FI_EOTHER;
    tern_base_log(TERN_LOG_DEBUG, "link ofi: an operation failed: %s, provider's error %d",
                  tern_ofi_why(&ofi->net, error), entry.prov_errno);
    failed.op_context = entry.op_context;
    failed.flags = entry.flags;
    end(ofi, &failed, error);
    return true;
}

static unsigned read_batch(struct ofi_link *ofi)
{
    struct fi_cq_data_entry entry[BATCH];
    ssize_t                 n = fi_cq_read(ofi->endpoint.cq, entry, BATCH);

    for (ssize_t i = 0; i < n; i++)
        if (entry[i].flags & FI_REMOTE_CQ_DATA && entry[i].flags & FI_REMOTE_WRITE)
            tern_net_rx_put_notify(&ofi->net, entry[i].data);
        else
            end(ofi, &entry[i], 0);
    if (n == -FI_EAVAIL)
        return read_error(ofi) ? 1 : 0;
    if (TERN_UNLIKELY(n < 0 && n != -FI_EAGAIN && n != -FI_EINTR))
        tern_net_rx_fail(&ofi->net, tern_net_status((int)-n), "the completion queue cannot be read",
                         tern_ofi_why(&ofi->net, (int)-n));
    return n > 0 ? (unsigned)n : 0;
}

/* Poll the completion queue, and retry what was refused. The caller holds the lock. */
static unsigned drain(struct net_link *net)
{
    unsigned count = 0, n = BATCH;

    /* Completions that arrive after a batch that was not full are left to the next poll: another read may cost
     * several system calls. */
    for (int round = 0; round < ROUNDS && n == BATCH; round++)
        count += n = read_batch(tern_ofi(net));
    tern_net_retry(net);
    if (TERN_UNLIKELY(!tern_base_list_empty(&net->msg.failed)))
        tern_net_rx_judge(net);
    return count;
}

/* True if the last poll of this thread was left to another thread, which held the lock. That thread may read a peer's
 * put into memory that this thread has checked just before. */
static _Thread_local bool left_out;

/* Number of polls of the program's threads after the last one by this thread. */
static _Thread_local uint32_t own_poll;

/* The calling thread of the program may have read a peer's put for which another thread of the program sleeps. No entry
 * of the queue shows that, and the progress thread does not see that put. So the other thread is woken, and does not
 * sleep for long while threads poll (tern_ofi_may_sleep). */
unsigned tern_ofi_drain(struct net_link *net)
{
    struct ofi_progress_thread *thread = &tern_ofi(net)->progress_thread;
    unsigned                    count = drain(net);

    own_poll = ++thread->polls;
    if (TERN_UNLIKELY(thread->relied)) {
        thread->relied = false;
        tern_net_ring(net);
    }
    return count;
}

void tern_ofi_poll(struct net_link *net)
{
    left_out = pthread_mutex_trylock(&net->lock) != 0;
    if (left_out)
        return; /* the thread that holds the lock polls */
    tern_ofi_drain(net);
    pthread_mutex_unlock(&net->lock);
    if (!tern_boot_is_helper) /* that thread polls once, and sleeps */
        tern_boot_activity_mark(&tern_ofi(net)->progress_thread.base.activity);
}

/* ---- the progress thread ---- */

static struct ofi_link *ofi_of(struct ofi_progress_thread *thread)
{
    return TERN_LIST_ITEM(thread, struct ofi_link, progress_thread);
}

/* Returns true if the program polls the queue itself, and is expected to continue. Ranks that share a core poll in
 * turn. */
static bool is_program_active(struct ofi_link *ofi)
{
    int64_t recently = RECENTLY * tern_boot_turns(ofi->net.boot);
    bool    recent = tern_boot_activity_recent(&ofi->progress_thread.base.activity, recently);

    return recent && !tern_net_has_sleepers(&ofi->net);
}

/* Poll the queue, unless another thread holds the lock (*left_to_other). Returns the number of nanoseconds for which
 * there is nothing to do unless the descriptor becomes readable; 0: there may be more to do now. */
static int64_t poll_once(struct ofi_link *ofi, bool *left_to_other)
{
    struct fid *queue[] = { &ofi->endpoint.cq->fid };
    int64_t     idle = TERN_HELPER_EVENT;

    *left_to_other = pthread_mutex_trylock(&ofi->net.lock) != 0;
    if (*left_to_other)
        return RETRY_NS;
    tern_net_rings_delay();
    if (drain(&ofi->net) > 0 || (ofi->endpoint.wait_fd >= 0 && fi_trywait(ofi->endpoint.fid, queue, 1) != 0))
        idle = 0;
    else if (!tern_base_list_empty(&ofi->net.retry))
        idle = RETRY_NS;
    pthread_mutex_unlock(&ofi->net.lock);
    tern_net_rings_make_up(&ofi->net);
    return idle;
}

/* Returns true if data have arrived since the last call; waits for them, but at most ms milliseconds. A provider may
 * leave a signal of its own in the descriptor, which is then always readable: the edge-triggered epoll detects new
 * data. */
static bool has_arrived(const struct ofi_progress_thread *thread, int ms)
{
    struct epoll_event event;

    return epoll_wait(thread->edges, &event, 1, ms) > 0;
}

static int64_t progress_poll(struct tern_helper_poller *poller, bool again)
{
    struct ofi_progress_thread *thread = TERN_LIST_ITEM(poller, struct ofi_progress_thread, base.poller);
    struct ofi_link            *ofi = ofi_of(thread);
    bool                        watched = ofi->endpoint.wait_fd >= 0, more = thread->more, arrived, left;
    int64_t                     ns;

    if (again) /* before a nap, which a thread of the program that is about to sleep ends */
        return tern_net_has_sleepers(&ofi->net) && watched ? 0 : TERN_HELPER_NAP;
    arrived = watched && (has_arrived(thread, 0) || thread->arrived);
    thread->arrived = arrived; /* until this thread has polled: the program may sleep without another poll */
    if (is_program_active(ofi))
        return TERN_HELPER_NAP;
    thread->more = false;
    ns = poll_once(ofi, &left);
    if (arrived || more)
        tern_net_ring(&ofi->net); /* the queue may contain no entry for the data */
    thread->more = ns == 0;
    thread->arrived = left && arrived; /* the other thread may read the data after this ring */
    return watched || ns == 0 ? ns : TERN_HELPER_NAP;
}

/* Sleep until the descriptor is readable. If it is readable already, new data are detected by the edge-triggered epoll,
 * and data that may have been left unread by polling periodically. */
static void progress_sleep(struct tern_helper *helper, int64_t ns)
{
    struct ofi_progress_thread *thread = (struct ofi_progress_thread *)helper;
    struct pollfd               fds[] = { { .fd = thread->base.wake, .events = POLLIN },
                                          { .fd = ofi_of(thread)->endpoint.wait_fd, .events = POLLIN } };

    if (poll(fds, 2, 0) > 0) {
        if (tern_net_thread_is_woken(&thread->base))
            return;
        thread->arrived = has_arrived(thread, RETRY_MS);
        return;
    }
    /* relaxed, both: a hint for tern_ofi_may_sleep() */
    atomic_store_explicit(&thread->watching, ns == TERN_HELPER_EVENT, memory_order_relaxed);
    poll(fds, 2, ns == TERN_HELPER_EVENT ? -1 : RETRY_MS);
    atomic_store_explicit(&thread->watching, false, memory_order_relaxed);
    (void)tern_net_thread_is_woken(&thread->base); /* the caller polls in any case */
}

static void descriptors_close(struct ofi_progress_thread *thread)
{
    close(thread->base.wake);
    close(thread->edges);
}

static tern_status descriptors_open(struct ofi_link *ofi)
{
    struct ofi_progress_thread *thread = &ofi->progress_thread;
    struct epoll_event          edge = { .events = EPOLLIN | EPOLLET };

    thread->base.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread->edges = epoll_create1(EPOLL_CLOEXEC);
    if (thread->base.wake >= 0 && thread->edges >= 0 &&
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
    if ((st = tern_net_thread_start(&thread->base, progress_poll, progress_sleep)) < 0)
        descriptors_close(thread);
    return st;
}

void tern_ofi_progress_thread_stop(struct ofi_link *ofi)
{
    if (!ofi->progress_thread.base.helper.running)
        return;
    tern_boot_helper_stop(&ofi->progress_thread.base.helper);
    descriptors_close(&ofi->progress_thread);
}

int64_t tern_ofi_may_sleep(struct tern_link *link, bool memory)
{
    struct ofi_link            *ofi = tern_ofi(link);
    struct ofi_progress_thread *thread = &ofi->progress_thread;
    int64_t                     due;
    bool                        polled; /* by other threads of the program */

    if (!thread->base.helper.running)
        return UNHELPED_SLEEP;
    if (ofi->endpoint.wait_fd < 0)
        return TERN_HELPER_LONGEST_NAP; /* a shorter nap would be followed by another one */
    tern_boot_bell_ring(&thread->base.bell, &thread->base.naps);
    pthread_mutex_lock(&ofi->net.lock);
    due = tern_net_due(&ofi->net);
    if (due > RETRY_NS && !tern_base_list_empty(&ofi->net.retry))
        due = RETRY_NS; /* the progress thread may sleep since before the provider refused an operation */
    polled = memory && (left_out || own_poll != thread->polls);
    thread->relied |= memory && !polled;
    pthread_mutex_unlock(&ofi->net.lock);
    if (polled)
        return due < POLLED_SLEEP ? due : POLLED_SLEEP;
    /* While the progress thread sleeps on the descriptor, new data make it ring the bell. Before it sleeps, it
     * cannot tell whether data are new, and the queue does not report a peer's put. relaxed: the lock, which was
     * held just now, orders the load after everything that the progress thread read before. */
    if (left_out || !atomic_load_explicit(&thread->watching, memory_order_relaxed))
        return due < UNWATCHED_SLEEP ? due : UNWATCHED_SLEEP;
    return due;
}
