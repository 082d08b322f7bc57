/* relay_thread.c: the thread that relays between nodes, as the hub (node 0) or as a spoke.
 *
 * The hub is a single thread and thereby defines one order of all events: it writes what it receives into its own
 * segment and sends it to all other nodes before it receives more. It accepts statements about a rank only from the
 * rank's own node. On each node, the death watchers (death_watch.h) detect deaths and leave them in the slot for this
 * thread. All nodes, including the rank's own, learn of a death from the hub. Connections are authenticated
 * (frame_io.h): if a connection delivers a frame that its peer did not send at that point, the connection is closed,
 * and the node counts as lost.
 */
#include "boot/relay_thread.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "base/thread.h"
#include "boot/exit.h"
#include "boot/frame_io.h"
#include "boot/pmi_join.h"
#include "boot/relay.h"

#define DRAIN_MS 5000          /* time to send and receive the frames in flight when the thread stops */
#define LAUNCHER_GRACE_MS 5000 /* time that the launcher has to end the job by itself */

static struct {
    bool                  running, is_hub;
    pthread_t             thread;
    struct tern_boot      boot;
    struct tern_relay    *relay;
    struct tern_frame_io *channel; /* [count]; on the hub, the channel of node n is at n - 1 */
    struct pollfd        *fds;     /* large enough for all polled descriptors */
    int                   count;
    int                   stop;   /* eventfd */
    _Atomic bool          active; /* the thread relays, and has not told the other nodes of tern_exit */
} rt;

bool tern_boot_relay_thread_done(struct tern_segment *segment, int node)
{
    for (uint32_t r = 0; r < segment->ranks; r++) {
        struct tern_slot *slot = &segment->slot[r];

        if ((node < 0 || slot->node == (uint32_t)node) &&
            atomic_load_explicit(&slot->life, memory_order_acquire) < TERN_LIFE_ANSWERED &&
            atomic_load_explicit(&slot->fate, memory_order_acquire) == TERN_FATE_RUNNING)
            return false;
    }
    return true;
}

/* ---- events of this and of other nodes ---- */

static void send_all(const struct tern_frame *frame, int except)
{
    for (int i = 0; i < rt.count; i++)
        if (i != except)
            tern_boot_frame_io_send(&rt.channel[i], frame);
}

/* Send a change of a rank of this node to all channels (a callback of tern_boot_relay_scan). */
static void send_change(void *arg, const struct tern_frame *frame)
{
    (void)arg;
    send_all(frame, -1);
}

/* On the hub: apply the fate of a rank and send it to all nodes, unless it is already known. */
static void announce_fate(uint32_t rank, uint32_t fate)
{
    struct tern_frame frame = { .kind = TERN_FRAME_FATE, .rank = rank, .value = fate };

    if (tern_boot_relay_apply(rt.relay, &frame)) /* false if the fate was already known */
        send_all(&frame, -1);
}

/* Report the deaths that the watchers of this node have left in the slots. */
static void collect_deaths(void)
{
    struct tern_segment *segment = rt.boot.segment;

    for (uint32_t r = 0; r < segment->ranks; r++) {
        struct tern_slot *slot = &segment->slot[r];
        uint32_t          ended;

        if (slot->node != segment->node)
            continue;
        /* acquire: makes visible what the rank changed before its death. Pairs with the release in the watcher. The
         * exchange resets the field, so each death is reported once. */
        ended = atomic_exchange_explicit(&slot->ended, TERN_FATE_RUNNING, memory_order_acquire);
        if (ended == TERN_FATE_RUNNING)
            continue;
        tern_boot_relay_scan(rt.relay, send_change, NULL); /* send the rank's last changes before its death */
        if (rt.is_hub)
            announce_fate(r, ended);
        else
            send_all(&(struct tern_frame){ .kind = TERN_FRAME_FATE, .rank = r, .value = ended }, -1);
    }
}

/* On the hub: handle a frame from node i + 1. Returns false if the frame is invalid. */
static bool hub_receive(int i, const struct tern_frame *frame)
{
    struct tern_segment *segment = rt.boot.segment;

    if (frame->rank >= segment->ranks || segment->slot[frame->rank].node != (uint32_t)i + 1)
        return false;
    if (frame->kind == TERN_FRAME_FATE && frame->len == 0 &&
        (frame->value == TERN_FATE_ENDED || frame->value == TERN_FATE_LOST))
        return announce_fate(frame->rank, frame->value), true;
    if (frame->kind == TERN_FRAME_FATE || !tern_boot_relay_apply(rt.relay, frame))
        return false;
    send_all(frame, i);
    return true;
}

/* End the job because a connection is lost. The launcher may notice the failure too, and has LAUNCHER_GRACE_MS to end
 * the job itself; if the thread is told to stop meanwhile, the function returns. */
static void abort_job(int node)
{
    struct pollfd stop = { .fd = rt.stop, .events = POLLIN };

    if (poll(&stop, 1, LAUNCHER_GRACE_MS) > 0)
        return;
    tern_base_log(TERN_LOG_ERROR, "lost the connection to node %d; ending the job", node);
    tern_boot_pmi_abort(EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

/* Handle the loss of a connection: on the hub, the connection to node i + 1; on a spoke, the connection to the hub, and
 * thereby to all other nodes. Unless the ranks behind the connection have all finished, the hub declares the ranks of
 * the node lost, and a spoke ends its process. */
static void channel_lost(int i)
{
    struct tern_segment *segment = rt.boot.segment;
    int                  node = rt.is_hub ? i + 1 : 0;

    tern_boot_frame_io_close(&rt.channel[i]);
    if (tern_boot_is_ending(segment))
        return; /* the ranks of the other node have ended */
    if (tern_boot_relay_thread_done(segment, rt.is_hub ? node : -1))
        return;
    for (uint32_t r = 0; rt.is_hub && r < segment->ranks; r++)
        if (segment->slot[r].node == (uint32_t)node &&
            atomic_load_explicit(&segment->slot[r].life, memory_order_relaxed) != TERN_LIFE_LEFT)
            announce_fate(r, TERN_FATE_LOST);
    if (segment->on_failure == TERN_ON_FAILURE_ABORT) {
        abort_job(node);
    } else if (!rt.is_hub && poll(&(struct pollfd){ rt.stop, POLLIN, 0 }, 1, 0) == 0) {
        tern_base_log(TERN_LOG_ERROR, "lost the connection to node 0, through which all nodes meet; this rank ends");
        _exit(EXIT_FAILURE);
    }
}

static void serve_channel(int i)
{
    struct tern_frame_io *channel = &rt.channel[i];
    struct tern_frame     frame;
    const char           *fault;
    bool                  good = true;

    tern_boot_frame_io_flush(channel);
    tern_boot_frame_io_fill(channel);
    while (good && tern_boot_frame_io_next(channel, &frame))
        good = rt.is_hub ? hub_receive(i, &frame) : tern_boot_relay_apply(rt.relay, &frame);
    if (!good)
        tern_base_log(TERN_LOG_WARN, "node %d sent an invalid message about rank %u; closing its connection",
                      rt.is_hub ? i + 1 : 0, frame.rank);
    else if ((fault = tern_boot_frame_io_fault(channel)) != NULL)
        tern_base_log(TERN_LOG_WARN, "the data from node %d %s; closing its connection", rt.is_hub ? i + 1 : 0, fault);
    if (!good || channel->state != TERN_FRAME_IO_UP || channel->is_deaf)
        channel_lost(i);
}

/* ---- the thread ---- */

/* Fill in the descriptors to poll: the stop event, the event of the ranks, then the channels. Returns their number. */
static nfds_t fill_pollfds(void)
{
    nfds_t count = 2;

    rt.fds[0] = (struct pollfd){ .fd = rt.stop, .events = POLLIN };
    rt.fds[1] = (struct pollfd){ .fd = rt.boot.relay_fd, .events = POLLIN };
    for (int i = 0; i < rt.count; i++)
        if (rt.channel[i].in >= 0)
            count += tern_boot_frame_io_poll(&rt.channel[i], rt.fds + count);
    return count;
}

static void progress(void)
{
    tern_boot_relay_scan(rt.relay, send_change, NULL);
    collect_deaths();
    for (int i = 0; i < rt.count; i++)
        if (rt.channel[i].in >= 0)
            serve_channel(i);
    tern_boot_relay_ring(rt.relay);
}

/* Shut down the write side of every channel whose backlog is sent. Returns true when all channels are closed, that is,
 * when all peers have done the same. Closing a socket with unread data would make the kernel discard the last data sent
 * on it. */
static bool shut_down_writes(void)
{
    bool all = true;

    for (int i = 0; i < rt.count; i++) {
        if (rt.channel[i].in < 0)
            continue;
        all = false;
        if (rt.channel[i].put.len == 0)
            shutdown(rt.channel[i].out, SHUT_WR);
    }
    return all;
}

bool tern_boot_relay_thread_told(void)
{
    return !atomic_load_explicit(&rt.active, memory_order_relaxed); /* orders nothing: the frames have been sent */
}

/* If a rank has called tern_exit: when the other nodes have been told, end this process. */
static void follow_exit(void)
{
    if (!tern_boot_is_ending(rt.boot.segment))
        return;
    for (int i = 0; i < rt.count; i++)
        if (rt.channel[i].in >= 0 && rt.channel[i].put.len > 0)
            return;                                                 /* the thread wakes up when there is space */
    atomic_store_explicit(&rt.active, false, memory_order_relaxed); /* orders nothing */
    tern_boot_exit_follow(tern_boot_exit_code(rt.boot.segment), false);
}

static void *relay_run(void *arg)
{
    eventfd_t count;
    int64_t   until;

    (void)arg;
    do {
        nfds_t fds = fill_pollfds();

        if (poll(rt.fds, fds, -1) < 0 && errno != EINTR)
            break;
        if (rt.fds[1].revents != 0)
            eventfd_read(rt.boot.relay_fd, &count);
        progress();
        follow_exit();
    } while (rt.fds[0].revents == 0);
    until = tern_base_now() + DRAIN_MS * 1000000ll;
    while (!shut_down_writes() && tern_base_now() < until) {
        poll(rt.fds + 1, fill_pollfds() - 1, 100);
        progress();
    }
    return NULL;
}

static void release(void)
{
    for (int i = 0; i < rt.count; i++)
        tern_boot_frame_io_close(&rt.channel[i]);
    free(rt.channel);
    free(rt.fds);
    if (rt.relay != NULL)
        tern_boot_relay_close(rt.relay);
    if (rt.stop >= 0)
        close(rt.stop);
    rt.channel = NULL;
    rt.relay = NULL;
    rt.running = false;
    atomic_store_explicit(&rt.active, false, memory_order_relaxed);
}

tern_status tern_boot_relay_thread_start(const struct tern_boot *boot, const struct tern_relay_conn *lines)
{
    bool        is_hub = boot->node == 0;
    tern_status st = TERN_OK;

    rt.boot = *boot;
    rt.is_hub = is_hub;
    rt.stop = eventfd(0, EFD_CLOEXEC);
    rt.channel = calloc((size_t)boot->nodes, sizeof(*rt.channel));
    rt.fds = calloc(2 + 2 * (size_t)boot->nodes, sizeof(*rt.fds));
    rt.count = is_hub ? boot->nodes - 1 : 1;
    if (rt.stop < 0 || rt.channel == NULL || rt.fds == NULL) {
        rt.count = rt.channel == NULL ? 0 : rt.count;
        st = tern_base_fail(TERN_ERR_NOMEM, "no memory or no descriptor to relay between %d nodes", boot->nodes);
    }
    for (int i = 0; i < rt.count; i++) {
        const struct tern_relay_conn *line = &lines[is_hub ? i + 1 : 0];

        tern_boot_frame_io_open(&rt.channel[i], line->fd, line->fd);
        tern_boot_frame_io_seal(&rt.channel[i], &line->keys);
    }
    if (st == TERN_OK)
        st = tern_boot_relay_open(boot->segment, &rt.relay);
    atomic_store_explicit(&rt.active, st == TERN_OK, memory_order_relaxed); /* the start of the thread orders it */
    if (st == TERN_OK)
        st = tern_base_thread_start(&rt.thread, "tern-relay", relay_run, NULL);
    rt.running = st == TERN_OK;
    if (!rt.running)
        release();
    return st;
}

void tern_boot_relay_thread_stop(void)
{
    if (!rt.running)
        return;
    eventfd_write(rt.stop, 1);
    tern_base_thread_join(rt.thread, "tern-relay");
    release();
}
