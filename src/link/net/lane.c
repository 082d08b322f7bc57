/* lane.c: how operations are posted to the network, and how a lane learns that its operations have completed.
 *
 * Everything that is posted to the network is posted by tern_net_post(). An operation that the network refuses because
 * it is busy, whose target has not published its address yet, or that lacks a resource, waits in the retry queue, a
 * FIFO that every poll tries again. An operation that is refused again goes to the end, so that it delays no other one.
 *
 * The state of an operation is in the record of the core. The thread that polls the completion queue pushes finished
 * operations onto the stack of their lane. The lane's own thread pops and reports them. An operation whose connection
 * broke is reported after it is known whether the peer is dead.
 *
 * The completion queue does not report the end of every operation. Operations on a peer that is gone are given up
 * after a second, an operation that failed is reported after a second, and a peer that owes a response is sent a
 * message every second, so that a broken connection is detected. Each of these actions has a time at which the
 * lane's thread must perform it. A thread that is about to sleep asks for the earliest time (tern_net_due) and
 * sleeps no longer than that.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "link/net/net.h"

/* Polls between two checks for peers that left in order. A thread also checks before it sleeps. */
#define LOOKS_PER_ROLL 1024
#define REFUSALS 16 /* refused operations after which tern_net_retry() leaves the others to the next poll */

/* ---- posting, and the retry queue ---- */

void tern_net_ctx_init(struct net_ctx *ctx, struct net_peer *peer, net_post_fn *post, net_ended_fn *ended)
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

static __attribute__((noinline, cold)) int resolve(struct net_link *net, struct net_peer *peer)
{
    tern_status st = net->verbs->resolve(net, peer);

    if (st == TERN_OK)
        return 0;
    if (st == TERN_AGAIN)
        return tern_boot_gone(net->boot, peer->rank) ? -ENOTCONN : -EAGAIN;
    tern_net_break_off(net, peer, tern_base_detail());
    tern_net_rx_lost(net, peer); /* a sender may not learn of the failure otherwise */
    return -EADDRNOTAVAIL;
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

/* ---- lanes ---- */

tern_status tern_net_lane_open(struct tern_link *link, struct tern_lane **out)
{
    struct net_link *net = tern_net(link);
    struct net_lane *lane = calloc(1, sizeof(*lane));

    if (!lane)
        return tern_base_fail(TERN_ERR_NOMEM, "link %s: no memory for %zu bytes", net->name, sizeof(*lane));
    lane->net = net;
    lane->roll_at = lane->judge_at = NET_NEVER;
    tern_base_list_init(&lane->ops);
    pthread_mutex_lock(&net->lock);
    tern_base_list_push(&net->lanes, &lane->node);
    pthread_mutex_unlock(&net->lock);
    *out = (struct tern_lane *)lane;
    return TERN_OK;
}

/* Detach an outstanding operation from the core, which no longer waits for it. */
static void abandon(struct net_link *net, struct tern_link_op *op)
{
    if (op->xfer.notify && op->net.started < op->xfer.len)
        tern_net_notify_credit_return(op->net.peer); /* the last piece has the notification, and was not sent */
    tern_base_list_remove(&op->node);
    if (op->link_data)
        tern_net_rpc_abandon(net, op);
    else
        net->verbs->abandon(net, op);
}

/* Close the lane. Outstanding operations complete later and are not reported. */
void tern_net_lane_close(struct tern_lane *lane)
{
    struct net_lane *l = (struct net_lane *)lane;
    struct net_link *net = l->net;

    pthread_mutex_lock(&net->lock);
    tern_base_list_remove(&l->node);
    TERN_LIST_EACH(struct tern_link_op, op, &l->ops, node)
        abandon(net, op);
    pthread_mutex_unlock(&net->lock);
    free(l);
}

void tern_net_lane_cancel(struct tern_lane *lane, struct tern_link_op *op)
{
    struct net_link *net = ((struct net_lane *)lane)->net;

    pthread_mutex_lock(&net->lock);
    op->net.cancelled = true;
    pthread_mutex_unlock(&net->lock);
}

/* ---- operations ---- */

void tern_net_op_init(struct tern_link_op *op, const struct tern_xfer *xfer, struct net_lane *lane,
                      struct net_peer *peer)
{
    *op = (struct tern_link_op){ .xfer = *xfer, .status = TERN_OK, .net = { .lane = lane, .peer = peer } };
}

void tern_net_op_fail(struct tern_link_op *op, int error)
{
    if (op->net.error == 0)
        op->net.error = error;
}

void tern_net_op_finish(struct net_link *net, struct tern_link_op *op)
{
    struct net_lane *lane = op->net.lane;

    if (op->xfer.notify && op->net.started < op->xfer.len)
        tern_net_notify_credit_return(op->net.peer); /* the last piece has the notification, and was not sent */
    tern_base_list_remove(&op->node);
    op->net.next = atomic_load_explicit(&lane->finished, memory_order_relaxed);
    /* release: publishes the result of the operation to the lane's thread. Pairs with the acquire in
     * take_finished(). */
    while (!atomic_compare_exchange_weak_explicit(&lane->finished, &op->net.next, op, memory_order_release,
                                                  memory_order_relaxed))
        ;
    tern_net_ring(net);
}

/* ---- reporting ---- */

/* Move the operations that other threads have finished to the lane's own list, the oldest first. */
static void take_finished(struct net_lane *lane)
{
    /* acquire: the results of the operations. Pairs with the release in tern_net_op_finish(). */
    struct tern_link_op *op = atomic_exchange_explicit(&lane->finished, NULL, memory_order_acquire), *next;

    for (; op; op = next) {
        next = op->net.next;
        op->net.next = lane->kept;
        lane->kept = op;
    }
}

/* Returns true for errors that mean that the peer is not reachable any more. */
static bool is_disconnected(int error)
{
    static const int list[] = { ENOTCONN,  ECONNRESET,  ECONNABORTED, ECONNREFUSED, ESHUTDOWN, EHOSTUNREACH,
                                EHOSTDOWN, ENETUNREACH, ENETDOWN,     ETIMEDOUT,    EPIPE };
    bool             found = false;

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        found |= list[i] == error;
    return found;
}

static const char *why(const struct net_link *net, const struct tern_link_op *op)
{
    if ((op->net.error == EADDRNOTAVAIL || op->net.error == EPROTO) && op->net.peer->broken)
        return op->net.peer->why; /* written once */
    return op->net.error == EREMOTEIO ? "the target refused it" : net->verbs->why(net, op->net.error);
}

/* Returns the status of a finished operation, or TERN_PENDING if the operation has failed just now and it is not
 * known yet whether the peer is alive. Networks report a broken connection by various errors. The launcher reports
 * the death of a peer within NET_NOTICE_NS, and must do so before the error is taken for the first failure of the
 * job. */
static tern_status judge(const struct net_link *net, struct tern_link_op *op)
{
    const struct tern_xfer *xfer = &op->xfer;
    int                     rank = xfer->part->rank;

    if (TERN_LIKELY(op->net.error == 0))
        return TERN_OK;
    if (tern_boot_gone(net->boot, rank))
        return tern_net_peer_gone(rank);
    if (op->net.give_up_at == 0)
        op->net.give_up_at = tern_base_now() + NET_NOTICE_NS;
    if (tern_base_now() < op->net.give_up_at)
        return TERN_PENDING;
    if (is_disconnected(op->net.error))
        return tern_base_fail(TERN_ERR_PEER, "the connection to rank %d broke: %s", rank, why(net, op));
    return tern_base_fail(TERN_ERR_LINK, "link %s: %s of %zu bytes %s rank %d failed: %s", net->name,
                          xfer->what  ? xfer->what
                          : xfer->get ? "a get"
                                      : "a put",
                          xfer->len, xfer->get ? "from" : "to", rank, why(net, op));
}

/* Report the finished operations to the core. */
static void report(struct net_lane *lane)
{
    struct tern_link_op *op, *next;
    int64_t              judge_at = NET_NEVER;

    take_finished(lane);
    for (op = lane->kept, lane->kept = NULL; op; op = next) {
        tern_status st = judge(lane->net, op);

        next = op->net.next;
        if (st == TERN_PENDING) {
            op->net.next = lane->kept;
            lane->kept = op;
            judge_at = op->net.give_up_at < judge_at ? op->net.give_up_at : judge_at;
            continue;
        }
        op->copied = op->xfer.len;
        lane->net->up->done(op, st);
    }
    atomic_store_explicit(&lane->judge_at, judge_at, memory_order_relaxed); /* read by this thread before it sleeps */
}

/* ---- operations that no completion reports ---- */

/* Returns the time at which the lane must check an outstanding operation. */
static int64_t op_due(const struct net_link *net, const struct tern_link_op *op)
{
    if (tern_boot_gone(net->boot, op->xfer.part->rank))
        return op->net.give_up_at; /* 0: now, to set the time */
    return op->link_data ? tern_net_rpc_due(op) : NET_NEVER;
}

static int64_t first_due(const struct net_lane *lane)
{
    int64_t first = NET_NEVER;

    TERN_LIST_EACH(const struct tern_link_op, op, &lane->ops, node) {
        int64_t due = op_due(lane->net, op);
        first = due < first ? due : first;
    }
    return first;
}

/* Check an outstanding operation. Returns true if its peer is gone and its time is over. The network completes
 * operations when it detects that the peer is gone. It is given some time for that, because until then it may write
 * into the program's memory. */
static bool is_given_up(struct net_link *net, struct tern_link_op *op, int64_t now)
{
    if (!tern_boot_gone(net->boot, op->xfer.part->rank)) {
        if (op->link_data)
            tern_net_rpc_check(net, op, now);
        return false;
    }
    tern_net_op_fail(op, ENOTCONN);
    op->net.give_up_at = op->net.give_up_at != 0 ? op->net.give_up_at : now + NET_NOTICE_NS;
    return now >= op->net.give_up_at;
}

/* Check which peers are gone, and give up the operations on them. */
static void give_up(struct net_lane *lane)
{
    struct net_link     *net = lane->net;
    struct tern_link_op *lost = NULL, *after;
    int64_t              now = tern_base_now();

    pthread_mutex_lock(&net->lock);
    TERN_LIST_EACH(struct tern_link_op, op, &lane->ops, node) {
        if (!is_given_up(net, op, now))
            continue;
        op->buffer_in_use = op->xfer.heap && op->net.in_flight > 0;
        abandon(net, op); /* the work requests complete some time, or never */
        op->net.next = lost;
        lost = op;
    }
    atomic_store_explicit(&lane->roll_at, first_due(lane), memory_order_relaxed); /* ordered by the lock */
    pthread_mutex_unlock(&net->lock);
    for (; lost; lost = after) {
        after = lost->net.next;
        net->up->done(lost, tern_net_peer_gone(lost->xfer.part->rank));
    }
}

/* Returns true if the lane must check which peers are gone: after a death, after every LOOKS_PER_ROLL polls, and at
 * roll_at, if an operation waits for an event that the provider does not report. */
static bool is_roll_call(struct net_lane *lane)
{
    uint32_t losses = atomic_load_explicit(&lane->net->boot->segment->losses, memory_order_relaxed);
    /* relaxed: written by a thread that then rings the bell. Pairs with the fences of the bell. */
    int64_t  roll_at = atomic_load_explicit(&lane->roll_at, memory_order_relaxed);

    if (++lane->looks % LOOKS_PER_ROLL != 0 && losses == lane->losses &&
        (roll_at == NET_NEVER || tern_base_now() < roll_at))
        return false;
    lane->losses = losses;
    return true;
}

/* A lane may belong to a thread other than the caller. If the time of a lane has come, the caller therefore rings,
 * once, the bell on which the lane's thread sleeps, and does not wait for that thread: it may be computing. */
int64_t tern_net_due(struct net_link *net)
{
    int64_t now = tern_base_now(), first = tern_net_rx_due(net);

    TERN_LIST_EACH(struct net_lane, lane, &net->lanes, node) {
        int64_t due = first_due(lane);
        int64_t judge_at =
            atomic_load_explicit(&lane->judge_at, memory_order_relaxed); /* exact for the lane of the calling thread */

        due = judge_at < due ? judge_at : due;
        if (atomic_load_explicit(&lane->roll_at, memory_order_relaxed) == NET_CALLED) /* ordered by the lock */
            continue;
        if (due > now) {
            first = due < first ? due : first;
            continue;
        }
        /* relaxed: the bell's fence orders the store before the ring. Pairs with the load in is_roll_call(). */
        atomic_store_explicit(&lane->roll_at, NET_CALLED, memory_order_relaxed);
        tern_net_ring(net);
    }
    return first == NET_NEVER ? NET_NEVER : first < now ? 0 : first - now;
}

void tern_net_lane_progress(struct tern_lane *lane)
{
    struct net_lane *l = (struct net_lane *)lane;

    l->net->verbs->poll(l->net);
    atomic_store_explicit(&l->net->fresh, true, memory_order_relaxed); /* the same thread polls for messages next */
    if (atomic_load_explicit(&l->finished, memory_order_relaxed) || l->kept)
        report(l);
    if (TERN_UNLIKELY(is_roll_call(l)))
        give_up(l);
}

void tern_net_msg_poll(struct tern_link *link)
{
    struct net_link *net = tern_net(link);

    if (atomic_load_explicit(&net->fresh, memory_order_relaxed)) /* fresh is a hint */
        atomic_store_explicit(&net->fresh, false, memory_order_relaxed);
    else
        net->verbs->poll(net);
}
