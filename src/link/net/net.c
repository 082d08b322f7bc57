/* net.c: the parts that are common to links over a network: opening and closing, the peers, registered and exposed
 * memory, and tables of the link contract. */
#include "link/net/net.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "base/log.h"
#include "link/ring.h"

#define SMALLEST_RING 8192u
#define LARGEST_RING (256u << 10)

/* Choose the sizes of the rings of messages to one peer. */
static void choose_rings(struct net_msg *m, size_t ranks)
{
    size_t bytes = tern_link_ring_bytes(tern_opt.am_queue / (TERN_CHANNELS_PAIR * ranks), SMALLEST_RING, LARGEST_RING);

    for (unsigned c = 0; c < TERN_CHANNELS; c++) {
        m->ring_bytes[c] = bytes;
        m->shape[c] = tern_base_ring_shape(bytes);
    }
    m->ring_bytes[TERN_CHANNEL_NOTIFY] = tern_base_ring_cells_bytes((size_t)tern_opt.notify_queue);
    m->shape[TERN_CHANNEL_NOTIFY] = m->shape[NET_PUT_NOTIFY] =
        tern_base_ring_shape_cells(m->ring_bytes[TERN_CHANNEL_NOTIFY]);
}

tern_status tern_net_open(struct net_link *net, const struct net_verbs *verbs, const struct tern_boot *boot,
                          const struct tern_link_up *up)
{
    net->verbs = verbs;
    net->boot = boot;
    net->up = up;
    net->rank = boot->rank;
    net->ranks = boot->ranks;
    pthread_mutex_init(&net->lock, NULL);
    tern_base_list_init(&net->retry);
    tern_base_list_init(&net->lanes);
    tern_base_list_init(&net->exposed);
    tern_base_list_init(&net->msg.failed);
    tern_base_list_init(&net->msg.lost);
    tern_base_list_init(&net->msg.spare);
    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        tern_base_list_init(&net->msg.queue[c].msgs);
    tern_base_list_init(&net->rpc.calls);
    choose_rings(&net->msg, (size_t)boot->ranks);
    net->rpc.buf_bytes = tern_base_round_up(tern_opt.net_rpc_buffer, TERN_CACHE_LINE);
    net->peer = calloc((size_t)boot->ranks, sizeof(*net->peer));
    if (!net->peer)
        return tern_base_fail(TERN_ERR_NOMEM, "link %s: no memory for a table of %d ranks", net->name, boot->ranks);
    return TERN_OK;
}

void tern_net_close(struct net_link *net)
{
    tern_net_rpc_server_close(net);
    tern_net_rpc_client_close(net);
    for (int rank = 0; net->peer && rank < net->ranks; rank++) {
        struct net_peer *peer = atomic_load(&net->peer[rank]);

        if (!peer)
            continue;
        tern_net_rx_drop(peer);
        tern_net_tx_drop(net, peer);
        free(peer);
    }
    tern_net_rx_close(net);
    pthread_mutex_destroy(&net->lock);
    free((void *)net->peer);
}

/* ---- peers ---- */

struct net_peer *tern_net_peer_make(struct net_link *net, int rank)
{
    struct net_peer *peer = calloc(1, sizeof(*peer));

    if (!peer) {
        tern_base_fail(TERN_ERR_NOMEM, "link %s: no memory for rank %d", net->name, rank);
        return NULL;
    }
    tern_net_ctx_init(&peer->tx, peer, tern_net_tx_post, tern_net_tx_ended);
    for (unsigned c = 0; c < NET_COUNTED; c++)
        tern_base_list_init(&peer->in[c].early);
    tern_base_list_init(&peer->lost);
    peer->rank = rank;
    peer->token_out = tern_net_wire_token(net->boot->segment->job, (uint32_t)net->rank, (uint32_t)rank);
    peer->token_in = tern_net_wire_token(net->boot->segment->job, (uint32_t)rank, (uint32_t)net->rank);
    /* release: the peer before the pointer to it. Pairs with the acquire in target() of msg_send.c. */
    atomic_store_explicit(&net->peer[rank], peer, memory_order_release);
    return peer;
}

tern_status tern_net_peer_gone(int rank)
{
    return tern_base_fail(TERN_ERR_PEER, "rank %d is gone", rank);
}

bool tern_net_agrees(const struct net_link *net, uint32_t wire, uint32_t ring, uint64_t rpc_bytes,
                     uint32_t notify_cells)
{
    return wire == NET_WIRE_LAYOUT && ring == net->msg.ring_bytes[TERN_CHANNEL_REQUEST] &&
           rpc_bytes == net->rpc.buf_bytes && notify_cells == net->msg.shape[TERN_CHANNEL_NOTIFY].cells;
}

tern_status tern_net_disagrees(int rank)
{
    return tern_base_fail(TERN_ERR_LINK,
                          "rank %d has another version of Tern, or another TERN_AM_QUEUE, TERN_NOTIFY_QUEUE or "
                          "TERN_NET_RPC_BUFFER; all ranks need the same",
                          rank);
}

tern_status tern_net_no_address(const struct net_link *net, int rank, uint16_t other, const char *other_name)
{
    size_t len = 0;

    if (!tern_boot_net_address(net->boot, other, rank, &len))
        return TERN_AGAIN;
    return tern_base_fail(TERN_ERR_LINK,
                          "rank %d communicates through link %s and this rank through link %s, because their machines "
                          "have different networks; set TERN_LINKS for all of them alike",
                          rank, other_name, net->name);
}

void tern_net_break_off(struct net_link *net, struct net_peer *peer, const char *why)
{
    if (!peer->broken) { /* written once: lanes read both without the lock */
        snprintf(peer->why, sizeof(peer->why), "%s", why);
        peer->broken = true;
        if (!tern_boot_gone(net->boot, peer->rank))
            tern_base_log(TERN_LOG_DEBUG, "messages to rank %d cannot be sent: %s", peer->rank, why);
    }
    peer->due = 0;
    tern_net_ring(net); /* a thread may wait for space in the ring */
}

/* ---- registered memory ---- */

tern_status tern_net_memory_make(struct net_link *net, size_t size, unsigned access, struct net_mr *mr)
{
    void       *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tern_status st;

    *mr = (struct net_mr){ .handle = NULL };
    if (memory == MAP_FAILED)
        return tern_base_fail(TERN_ERR_NOMEM, "link %s: no memory for a buffer of %zu bytes", net->name, size);
    if ((st = net->verbs->reg(net, memory, size, access, mr)) < 0) {
        munmap(memory, size);
        return st;
    }
    mr->bytes = memory;
    mr->size = size;
    return TERN_OK;
}

void tern_net_memory_free(struct net_link *net, struct net_mr *mr)
{
    net->verbs->dereg(mr);
    if (mr->bytes)
        munmap(mr->bytes, mr->size);
    mr->bytes = NULL;
}

/* ---- exposed memory ---- */

void tern_net_exposed_drop(struct net_link *net, struct net_exposed *entry)
{
    tern_base_list_remove(&entry->base.node);
    net->verbs->dereg(&entry->mr);
    free(entry);
}

void tern_net_unexpose(struct tern_link *link, uint64_t region)
{
    struct net_link          *net = tern_net(link);
    struct tern_link_exposed *entry;

    pthread_mutex_lock(&net->lock);
    while ((entry = tern_link_exposed_find(&net->exposed, region)))
        tern_net_exposed_drop(net, (struct net_exposed *)entry);
    pthread_mutex_unlock(&net->lock);
}

/* ---- the progress thread ---- */

/* Bind the thread to the core that the option TERN_PROGRESS_CORE names, if any. */
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

static void thread_wake(struct tern_helper *helper)
{
    eventfd_write(((struct net_progress_thread *)helper)->wake, 1); /* read by tern_net_thread_is_woken() */
}

_Thread_local uint8_t tern_net_rings;

bool tern_net_thread_is_woken(const struct net_progress_thread *thread)
{
    eventfd_t calls;

    return eventfd_read(thread->wake, &calls) == 0;
}

tern_status tern_net_thread_start(struct net_progress_thread *thread,
                                  int64_t (*poll)(struct tern_helper_poller *poller, bool again),
                                  void (*sleep)(struct tern_helper *helper, int64_t ns))
{
    tern_status st;

    thread->poller.poll = poll;
    thread->helper = (struct tern_helper){
        .name = "tern-progress",
        .sleep = sleep,
        .wake = thread_wake,
        .bell = &thread->bell,
        .naps = &thread->naps,
        .timer_slack = 1000, /* naps are short */
        .lock = PTHREAD_MUTEX_INITIALIZER,
    };
    if ((st = tern_boot_helper_add(&thread->helper, &thread->poller)) == TERN_OK)
        pin(thread->helper.thread);
    return st;
}

/* ---- tables ---- */

const struct tern_msg_ops tern_net_msg_ops = {
    .polled = true,
    .max_data = tern_net_msg_max_data,
    .open = tern_net_msg_open,
    .send = tern_net_msg_send,
    .drop = tern_net_msg_drop,
    .send_short = tern_net_msg_short,
    .poll = tern_net_msg_poll,
    .flushed = tern_net_msg_flushed,
    .pending = tern_net_msg_pending,
};

const struct tern_rpc_ops tern_net_rpc_ops = { .open = tern_net_rpc_open, .send = tern_net_rpc_send };
