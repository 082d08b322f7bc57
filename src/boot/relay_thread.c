/* relay_thread.c: hub and spokes.
 *
 * The hub brings everything into one order by being one thread: what it hears it writes into its own segment and
 * sends to all other nodes before it looks for more. What is said of a rank is taken from its own node only. Deaths
 * are found by the watchers (death_watch.h) of each node, who leave them in the slot for this thread; all nodes, the
 * rank's own too, learn of them from the hub. Connections are sealed (frame_io.h): one that brings a frame which its
 * other side did not send just then is closed, and with it the node is lost.
 * */
#define _GNU_SOURCE 1
#include "boot/relay_thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "boot/frame_io.h"
#include "boot/pmi_join.h"
#include "boot/relay.h"

#define FAREWELL_MS 5000 /* for what is on its way when the thread stops */
#define LAUNCHER_MS 5000 /* the launcher's moment to end a job by itself */

static struct {
    bool                  running, is_hub;
    pthread_t             thread;
    struct tern_boot      boot;
    struct tern_relay    *relay;
    struct tern_frame_io *channel; /* [count]; of the hub, that of node n at n - 1 */
    struct pollfd        *fds;     /* room for all that is polled */
    int                   count;
    int                   stop; /* eventfd */
} wheel;

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

/* ---- what happens here and there ---- */

static void send_all(const struct tern_frame *frame, int except)
{
    for (int i = 0; i < wheel.count; i++)
        if (i != except)
            tern_boot_frame_io_send(&wheel.channel[i], frame);
}

/* A rank of this node has changed something. */
static void told_here(void *arg, const struct tern_frame *frame)
{
    (void)arg;
    send_all(frame, -1);
}

/* The fate of a rank is known: the hub tells everyone. */
static void decide(uint32_t rank, uint32_t fate)
{
    struct tern_frame frame = { .kind = TERN_FRAME_FATE, .rank = rank, .value = fate };

    if (tern_boot_relay_apply(wheel.relay, &frame)) /* else it was known before */
        send_all(&frame, -1);
}

/* What watchers of this node have found. */
static void look_for_ends(void)
{
    struct tern_segment *segment = wheel.boot.segment;

    for (uint32_t r = 0; r < segment->ranks; r++) {
        struct tern_slot *slot = &segment->slot[r];
        uint32_t          ended;

        if (slot->node != segment->node)
            continue;
        /* acquire: what the rank had changed before its end, and the scan before has told. Pairs with the release in
         * the watcher. Taken back: it is told once. */
        ended = atomic_exchange_explicit(&slot->ended, TERN_FATE_RUNNING, memory_order_acquire);
        if (ended == TERN_FATE_RUNNING)
            continue;
        tern_boot_relay_scan(wheel.relay, told_here, NULL); /* all that it said comes before its end */
        if (wheel.is_hub)
            decide(r, ended);
        else
            send_all(&(struct tern_frame){ .kind = TERN_FRAME_FATE, .rank = r, .value = ended }, -1);
    }
}

/* The hub hears a frame of node i + 1. */
static bool heard_by_hub(int i, const struct tern_frame *frame)
{
    struct tern_segment *segment = wheel.boot.segment;

    if (frame->rank >= segment->ranks || segment->slot[frame->rank].node != (uint32_t)i + 1)
        return false;
    if (frame->kind == TERN_FRAME_FATE && frame->len == 0 &&
        (frame->value == TERN_FATE_ENDED || frame->value == TERN_FATE_LOST))
        return decide(frame->rank, frame->value), true;
    if (frame->kind == TERN_FRAME_FATE || !tern_boot_relay_apply(wheel.relay, frame))
        return false;
    send_all(frame, i);
    return true;
}

/* The job cannot go on. The launcher may see it too, and gets a moment. */
static void give_up(const char *why, int node)
{
    struct pollfd stop = { .fd = wheel.stop, .events = POLLIN };

    if (poll(&stop, 1, LAUNCHER_MS) > 0)
        return;
    tern_base_log(TERN_LOG_ERROR, "%s %d; ending the job", why, node);
    tern_boot_pmi_abort(EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

/* The connection of node i + 1 to the hub is gone. */
static void node_lost(int i)
{
    struct tern_segment *segment = wheel.boot.segment;
    int                  node = i + 1;

    tern_boot_frame_io_close(&wheel.channel[i]);
    if (tern_boot_relay_thread_done(segment, node))
        return; /* it left in order */
    for (uint32_t r = 0; r < segment->ranks; r++)
        if (segment->slot[r].node == (uint32_t)node &&
            atomic_load_explicit(&segment->slot[r].life, memory_order_relaxed) != TERN_LIFE_LEFT)
            decide(r, TERN_FATE_LOST);
    if (segment->on_failure == TERN_ON_FAILURE_ABORT)
        give_up("lost the connection to node", node);
}

/* The connection of a spoke to the hub is gone: so is this node for all others. */
static void hub_lost(void)
{
    tern_boot_frame_io_close(&wheel.channel[0]);
    if (tern_boot_relay_thread_done(wheel.boot.segment, -1))
        return;
    if (wheel.boot.segment->on_failure == TERN_ON_FAILURE_ABORT)
        give_up("lost the connection to node", 0);
    else if (poll(&(struct pollfd){ wheel.stop, POLLIN, 0 }, 1, 0) == 0) {
        tern_base_log(TERN_LOG_ERROR, "lost the connection to node 0, through which all nodes meet; this rank ends");
        _exit(EXIT_FAILURE);
    }
}

static void serve_channel(int i)
{
    struct tern_frame_io *channel = &wheel.channel[i];
    struct tern_frame     frame;
    const char           *fault;
    bool                  good = true;

    tern_boot_frame_io_flush(channel);
    tern_boot_frame_io_fill(channel);
    while (good && tern_boot_frame_io_next(channel, &frame))
        good = wheel.is_hub ? heard_by_hub(i, &frame) : tern_boot_relay_apply(wheel.relay, &frame);
    if (!good)
        tern_base_log(TERN_LOG_WARN, "what node %d said of rank %u makes no sense; its connection is closed",
                      wheel.is_hub ? i + 1 : 0, frame.rank);
    else if ((fault = tern_boot_frame_io_fault(channel)) != NULL)
        tern_base_log(TERN_LOG_WARN, "what came from node %d %s; its connection is closed", wheel.is_hub ? i + 1 : 0,
                      fault);
    if (good && channel->state == TERN_FRAME_IO_UP && !channel->is_deaf)
        return;
    if (wheel.is_hub)
        node_lost(i);
    else
        hub_lost();
}

/* ---- the thread ---- */

/* Fill in what to poll: the stop, the bell of the ranks, then the channels. */
static nfds_t gather(void)
{
    nfds_t count = 2;

    wheel.fds[0] = (struct pollfd){ .fd = wheel.stop, .events = POLLIN };
    wheel.fds[1] = (struct pollfd){ .fd = wheel.boot.relay_fd, .events = POLLIN };
    for (int i = 0; i < wheel.count; i++)
        if (wheel.channel[i].in >= 0)
            count += tern_boot_frame_io_poll(&wheel.channel[i], wheel.fds + count);
    return count;
}

static void look_around(void)
{
    tern_boot_relay_scan(wheel.relay, told_here, NULL);
    look_for_ends();
    for (int i = 0; i < wheel.count; i++)
        if (wheel.channel[i].in >= 0)
            serve_channel(i);
    tern_boot_relay_ring(wheel.relay);
}

/* Say that no more comes where all has been sent, and see whether the other sides have said so too: who hangs up before
 * it has heard all makes the system drop what it said last. */
static bool all_said(void)
{
    bool all = true;

    for (int i = 0; i < wheel.count; i++) {
        if (wheel.channel[i].in < 0)
            continue;
        all = false;
        if (tern_boot_frame_io_backlog(&wheel.channel[i]) == 0)
            shutdown(wheel.channel[i].out, SHUT_WR);
    }
    return all;
}

static void *wheel_run(void *arg)
{
    eventfd_t count;
    int64_t   until;

    (void)arg;
    do {
        nfds_t fds = gather();

        if (poll(wheel.fds, fds, -1) < 0 && errno != EINTR)
            break;
        if (wheel.fds[1].revents != 0)
            eventfd_read(wheel.boot.relay_fd, &count);
        look_around();
    } while (wheel.fds[0].revents == 0);
    until = tern_base_now() + FAREWELL_MS * 1000000ll;
    while (!all_said() && tern_base_now() < until) {
        poll(wheel.fds + 1, gather() - 1, 100);
        look_around();
    }
    return NULL;
}

static void release(void)
{
    for (int i = 0; i < wheel.count; i++)
        tern_boot_frame_io_close(&wheel.channel[i]);
    free(wheel.channel);
    free(wheel.fds);
    if (wheel.relay != NULL)
        tern_boot_relay_close(wheel.relay);
    if (wheel.stop >= 0)
        close(wheel.stop);
    wheel.channel = NULL;
    wheel.relay = NULL;
    wheel.running = false;
}

static tern_status start_thread(void)
{
    sigset_t all, before;
    int      error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&wheel.thread, NULL, wheel_run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot start the thread that relays between nodes: %s",
                              strerror(error));
    pthread_setname_np(wheel.thread, "tern-relay");
    wheel.running = true;
    return TERN_OK;
}

tern_status tern_boot_relay_thread_start(const struct tern_boot *boot, const struct tern_relay_conn *lines)
{
    bool        is_hub = boot->node == 0;
    tern_status st = TERN_OK;

    wheel.boot = *boot;
    wheel.is_hub = is_hub;
    wheel.stop = eventfd(0, EFD_CLOEXEC);
    wheel.channel = calloc((size_t)boot->nodes, sizeof(*wheel.channel));
    wheel.fds = calloc(2 + 2 * (size_t)boot->nodes, sizeof(*wheel.fds));
    wheel.count = is_hub ? boot->nodes - 1 : 1;
    if (wheel.stop < 0 || wheel.channel == NULL || wheel.fds == NULL) {
        wheel.count = wheel.channel == NULL ? 0 : wheel.count;
        st = tern_base_fail(TERN_ERR_NOMEM, "no memory or no descriptor to relay between %d nodes", boot->nodes);
    }
    for (int i = 0; i < wheel.count; i++) {
        const struct tern_relay_conn *line = &lines[is_hub ? i + 1 : 0];

        tern_boot_frame_io_open(&wheel.channel[i], line->fd, line->fd);
        tern_boot_frame_io_seal(&wheel.channel[i], &line->keys);
    }
    if (st == TERN_OK)
        st = tern_boot_relay_open(boot->segment, &wheel.relay);
    if (st == TERN_OK)
        st = start_thread();
    if (st != TERN_OK)
        release();
    return st;
}

void tern_boot_relay_thread_stop(void)
{
    if (!wheel.running)
        return;
    eventfd_write(wheel.stop, 1);
    pthread_join(wheel.thread, NULL);
    release();
}
