/* net.c: what the parts of a link over a network share: opening and closing, the peers, and the retry queue.
 *
 * Everything that is posted to the network is posted by tern_net_post(). An operation that the network refuses because
 * it is busy, whose target has not published its address yet, or that lacks a resource, waits in the retry queue, a
 * FIFO that every poll tries again. An operation that is refused again goes to the end, so that it delays no other one.
 */
#include "link/net/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "boot/bell.h"

#define REFUSALS 16 /* refused operations after which tern_net_retry() leaves the others to the next poll */

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
    tern_base_list_init(&net->msg.failed);
    tern_base_list_init(&net->msg.spare);
    for (unsigned c = 0; c < TERN_CHANNELS; c++)
        tern_base_list_init(&net->msg.queue[c].msgs);
    tern_base_list_init(&net->rpc.calls);
    net->rpc.buf_bytes = tern_base_round_up(tern_opt.ofi_rpc_buf, TERN_CACHE_LINE);
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

void tern_net_ring(struct net_link *net)
{
    tern_boot_wake(tern_net_slot(net, net->rank));
}

/* ---- peers ---- */

struct net_peer *tern_net_peer(struct net_link *net, int rank)
{
    struct net_peer *peer = atomic_load_explicit(&net->peer[rank], memory_order_relaxed); /* written under the lock */

    if (TERN_LIKELY(peer != NULL))
        return peer;
    peer = calloc(1, sizeof(*peer));
    if (!peer) {
        tern_base_fail(TERN_ERR_NOMEM, "link %s: no memory for rank %d", net->name, rank);
        return NULL;
    }
    tern_net_ctx_init(&peer->tx, peer, tern_net_tx_post, tern_net_tx_ended);
    for (unsigned c = 0; c < NET_COUNTED; c++)
        tern_base_list_init(&peer->in[c].early);
    peer->rank = rank;
    peer->token_out = tern_net_wire_token(net->boot->segment->job, (uint32_t)net->rank, (uint32_t)rank);
    peer->token_in = tern_net_wire_token(net->boot->segment->job, (uint32_t)rank, (uint32_t)net->rank);
    /* release: the peer before the pointer to it. Pairs with the acquire in target() of message.c. */
    atomic_store_explicit(&net->peer[rank], peer, memory_order_release);
    return peer;
}

tern_status tern_net_peer_gone(int rank)
{
    return tern_base_fail(TERN_ERR_PEER, "rank %d is gone", rank);
}

void tern_net_break_off(struct net_link *net, struct net_peer *peer, const char *why)
{
    if (!peer->broken) { /* written once: lanes read both without the lock */
        snprintf(peer->why, sizeof(peer->why), "%s", why);
        peer->broken = true;
        if (!tern_net_gone(net, peer->rank))
            tern_base_log(TERN_LOG_DEBUG, "messages to rank %d cannot be sent: %s", peer->rank, why);
    }
    peer->due = 0;
    tern_net_ring(net); /* a thread may wait for space in the ring */
}

static __attribute__((noinline, cold)) int resolve(struct net_link *net, struct net_peer *peer)
{
    tern_status st = net->verbs->resolve(net, peer);

    if (st == TERN_OK)
        return 0;
    if (st == TERN_AGAIN)
        return tern_net_gone(net, peer->rank) ? -ENOTCONN : -EAGAIN;
    tern_net_break_off(net, peer, tern_base_detail());
    return -EADDRNOTAVAIL;
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

/* ---- the retry queue ---- */

void tern_net_ctx_init(struct net_ctx *ctx, struct net_peer *peer, int (*post)(struct net_link *, struct net_ctx *),
                       void (*ended)(struct net_link *, struct net_ctx *, int))
{
    ctx->local = NULL;
    ctx->peer = peer;
    ctx->post = post;
    ctx->ended = ended;
    tern_base_list_init(&ctx->node);
}

void tern_net_later(struct net_link *net, struct net_ctx *ctx)
{
    if (!tern_net_is_waiting(ctx))
        tern_base_list_append(&net->retry, &ctx->node);
}

int tern_net_post(struct net_link *net, struct net_ctx *ctx)
{
    int rc = TERN_LIKELY(!ctx->peer || ctx->peer->known) ? 0 : resolve(net, ctx->peer);

    if (rc == 0)
        rc = ctx->post(net, ctx);
    if (rc == -EAGAIN)
        tern_net_later(net, ctx);
    else if (rc != 0)
        ctx->ended(net, ctx, -rc);
    return rc;
}

void tern_net_retry(struct net_link *net)
{
    const struct tern_list *last = net->retry.prev;
    struct tern_list       *node = NULL;

    for (int refused = 0; refused < REFUSALS && node != last && (node = tern_base_list_pop(&net->retry));)
        refused += tern_net_post(net, TERN_LIST_ITEM(node, struct net_ctx, node)) == -EAGAIN;
}
