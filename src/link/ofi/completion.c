/* completion.c: how a lane learns that its operations have completed.
 *
 * The thread that polls the completion queue pushes finished operations onto the stack of their lane. The lane's own
 * thread pops and reports them. An operation whose connection broke is reported after it is known whether the peer
 * is dead.
 *
 * The completion queue does not report the end of every operation. Operations on a peer that is gone are given up
 * after a second, an operation that failed is reported after a second, and a peer that owes a response is sent a
 * message every second, so that a broken connection is detected. Each of these actions has a time at which the
 * lane's thread must perform it. A thread that is about to sleep asks for the earliest time (tern_ofi_lanes_due) and
 * sleeps no longer than that.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "link/ofi/ofi.h"

/* Polls between two checks for peers that left in order. A thread also checks before it sleeps. */
#define LOOKS_PER_ROLL 1024

tern_status tern_ofi_lane_open(struct tern_link *link, struct tern_lane **out)
{
    struct ofi_lane *lane = calloc(1, sizeof(*lane));

    if (!lane)
        return tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for %zu bytes", sizeof(*lane));
    lane->ofi = tern_ofi(link);
    lane->roll_at = lane->judge_at = OFI_NEVER;
    pthread_mutex_lock(&lane->ofi->lock);
    lane->next = lane->ofi->lanes;
    lane->link = &lane->ofi->lanes;
    if (lane->next)
        lane->next->link = &lane->next;
    lane->ofi->lanes = lane;
    pthread_mutex_unlock(&lane->ofi->lock);
    *out = (struct tern_lane *)lane;
    return TERN_OK;
}

/* Move the operations that other threads have finished to the lane's own list, the oldest first. */
static void take_finished(struct ofi_lane *lane)
{
    /* acquire: the results of the operations. Pairs with the release in op_finish(). */
    struct ofi_op *op = atomic_exchange_explicit(&lane->finished, NULL, memory_order_acquire), *next;

    for (; op; op = next) {
        next = op->finished;
        op->finished = lane->kept;
        lane->kept = op;
    }
}

/* Close the lane. Outstanding operations complete later and are not reported. */
void tern_ofi_lane_close(struct tern_lane *lane)
{
    struct ofi_lane *l = (struct ofi_lane *)lane;

    pthread_mutex_lock(&l->ofi->lock);
    *l->link = l->next;
    if (l->next)
        l->next->link = l->link;
    while (l->first) {
        struct ofi_op *op = l->first;
        tern_ofi_op_unlist(op);
        op->op = NULL;
        op->cancelled = true;
    }
    take_finished(l);
    while (l->kept) {
        struct ofi_op *op = l->kept;
        l->kept = op->finished;
        tern_ofi_op_free(l->ofi, op);
    }
    pthread_mutex_unlock(&l->ofi->lock);
    free(l);
}

void tern_ofi_lane_cancel(struct tern_lane *lane, struct tern_link_op *op)
{
    struct ofi_link *ofi = ((struct ofi_lane *)lane)->ofi;

    pthread_mutex_lock(&ofi->lock);
    ((struct ofi_op *)op->link_data)->cancelled = true;
    pthread_mutex_unlock(&ofi->lock);
}

/* Returns true for errors that mean that the peer is not reachable any more. */
static bool is_disconnected(int error)
{
    switch (error) {
    case FI_ENOTCONN:
    case FI_ECONNRESET:
    case FI_ECONNABORTED:
    case FI_ECONNREFUSED:
    case FI_ESHUTDOWN:
    case FI_EHOSTUNREACH:
    case FI_EHOSTDOWN:
    case FI_ENETUNREACH:
    case FI_ENETDOWN:
    case FI_ETIMEDOUT:
    case EPIPE: return true;
    default: return false;
    }
}

/* Returns the status of a finished operation, or TERN_PENDING if the operation has failed just now and it is not
 * known yet whether the peer is alive. Providers report a broken connection by various errors. The launcher reports
 * the death of a peer within OFI_NOTICE_NS, and must do so before the error is taken for the first failure of the
 * job. */
static tern_status judge(const struct ofi_link *ofi, struct ofi_op *op)
{
    int rank = op->peer->rank;

    if (TERN_LIKELY(op->error == 0))
        return TERN_OK;
    if (tern_ofi_gone(ofi, rank))
        return tern_ofi_peer_gone(rank);
    if (op->give_up_at == 0)
        op->give_up_at = tern_base_now() + OFI_NOTICE_NS;
    if (tern_base_now() < op->give_up_at)
        return TERN_PENDING;
    if (!is_disconnected(op->error))
        return tern_base_fail(TERN_ERR_LINK, "link ofi: a %s of %zu bytes %s rank %d failed: %s",
                              op->xfer.get ? "get" : "put", op->xfer.len, op->xfer.get ? "from" : "to", rank, op->why);
    return tern_base_fail(TERN_ERR_PEER, "the connection to rank %d broke: %s", rank, op->why);
}

/* Report the finished operations to the core. */
static void report(struct ofi_lane *lane)
{
    struct ofi_link *ofi = lane->ofi;
    struct ofi_op   *op, *next, *done = NULL;
    int64_t          judge_at = OFI_NEVER;

    take_finished(lane);
    for (op = lane->kept, lane->kept = NULL; op; op = next) {
        tern_status     st = judge(ofi, op);
        struct ofi_op **list = st == TERN_PENDING ? &lane->kept : &done;

        next = op->finished;
        op->finished = *list;
        *list = op;
        if (st == TERN_PENDING) {
            judge_at = op->give_up_at < judge_at ? op->give_up_at : judge_at;
            continue;
        }
        op->op->copied = op->xfer.len;
        ofi->up->done(op->op, st);
    }
    atomic_store_explicit(&lane->judge_at, judge_at, memory_order_relaxed); /* read by this thread before it sleeps */
    pthread_mutex_lock(&ofi->lock);
    for (op = done; op; op = next) {
        next = op->finished;
        tern_ofi_op_free(ofi, op);
    }
    pthread_mutex_unlock(&ofi->lock);
}

/* ---- operations that no completion reports ---- */

/* Returns the time at which the lane must check an outstanding operation. */
static int64_t op_due(const struct ofi_link *ofi, const struct ofi_op *op)
{
    if (tern_ofi_gone(ofi, op->peer->rank))
        return op->give_up_at; /* 0: now, to set the time */
    return op->rpc_buf ? tern_ofi_rpc_due(op) : OFI_NEVER;
}

static int64_t first_due(const struct ofi_lane *lane)
{
    int64_t first = OFI_NEVER;

    for (const struct ofi_op *op = lane->first; op; op = op->next) {
        int64_t due = op_due(lane->ofi, op);
        first = due < first ? due : first;
    }
    return first;
}

/* Check an outstanding operation. Returns true, and removes the operation from the lane, if its peer is gone and its
 * time is over. The provider completes operations when it detects that the peer is gone. It is given some time for
 * that, because until then it may write into the program's memory. */
static bool is_given_up(struct ofi_link *ofi, struct ofi_op *op, int64_t now)
{
    if (!tern_ofi_gone(ofi, op->peer->rank)) {
        if (op->rpc_buf)
            tern_ofi_rpc_check(ofi, op, now);
        return false;
    }
    tern_ofi_op_fail(op, FI_ENOTCONN, "the rank is gone");
    op->give_up_at = op->give_up_at != 0 ? op->give_up_at : now + OFI_NOTICE_NS;
    if (now < op->give_up_at)
        return false;
    tern_ofi_op_unlist(op);
    return true;
}

/* Check which peers are gone, and give up the operations on them. */
static void give_up(struct ofi_lane *lane)
{
    struct ofi_link *ofi = lane->ofi;
    struct tern_list lost = TERN_LIST_INIT(lost), *node;
    int64_t          now = tern_base_now();

    pthread_mutex_lock(&ofi->lock);
    for (struct ofi_op *op = lane->first, *next; op; op = next) {
        next = op->next;
        if (!is_given_up(ofi, op, now))
            continue;
        op->keeps = op->op->buffer_in_use = op->xfer.heap && op->in_flight > 0;
        tern_base_list_push(&lost, &op->op->node);
        op->op = NULL; /* the work requests complete some time, or never */
        if (op->rpc_buf)
            tern_ofi_rpc_forget(ofi, op);
    }
    atomic_store_explicit(&lane->roll_at, first_due(lane), memory_order_relaxed); /* ordered by the lock */
    pthread_mutex_unlock(&ofi->lock);
    while ((node = tern_base_list_pop(&lost))) {
        struct tern_link_op *op = TERN_LIST_ITEM(node, struct tern_link_op, node);

        ofi->up->done(op, tern_ofi_peer_gone(op->xfer.part->rank));
    }
}

/* Returns true if the lane must check which peers are gone: after a death, after every LOOKS_PER_ROLL polls, and at
 * roll_at, if an operation waits for an event that the provider does not report. */
static bool is_roll_call(struct ofi_lane *lane)
{
    uint32_t losses = atomic_load_explicit(&lane->ofi->boot->segment->losses, memory_order_relaxed);
    /* relaxed: written by a thread that then rings the bell. Pairs with the fences of the bell. */
    int64_t  roll_at = atomic_load_explicit(&lane->roll_at, memory_order_relaxed);

    if (++lane->looks % LOOKS_PER_ROLL != 0 && losses == lane->losses &&
        (roll_at == OFI_NEVER || tern_base_now() < roll_at))
        return false;
    lane->losses = losses;
    return true;
}

/* A lane may belong to a thread other than the caller. If the time of a lane has come, the caller therefore rings,
 * once, the bell on which the lane's thread sleeps, and does not wait for that thread: it may be computing. */
int64_t tern_ofi_lanes_due(struct ofi_link *ofi)
{
    int64_t now = tern_base_now(), first = OFI_NEVER;

    for (struct ofi_lane *lane = ofi->lanes; lane; lane = lane->next) {
        int64_t due = first_due(lane);
        int64_t judge_at =
            atomic_load_explicit(&lane->judge_at, memory_order_relaxed); /* exact for the lane of the calling thread */

        due = judge_at < due ? judge_at : due;
        if (atomic_load_explicit(&lane->roll_at, memory_order_relaxed) == OFI_CALLED) /* ordered by the lock */
            continue;
        if (due > now) {
            first = due < first ? due : first;
            continue;
        }
        /* relaxed: the bell's fence orders the store before the ring. Pairs with the load in is_roll_call(). */
        atomic_store_explicit(&lane->roll_at, OFI_CALLED, memory_order_relaxed);
        tern_ofi_ring(ofi);
    }
    return first == OFI_NEVER ? OFI_NEVER : first - now;
}

void tern_ofi_lane_progress(struct tern_lane *lane)
{
    struct ofi_lane *l = (struct ofi_lane *)lane;

    tern_ofi_poll(l->ofi);
    atomic_store_explicit(&l->ofi->fresh, true, memory_order_relaxed); /* the same thread polls for messages next */
    if (atomic_load_explicit(&l->finished, memory_order_relaxed) || l->kept)
        report(l);
    if (TERN_UNLIKELY(is_roll_call(l)))
        give_up(l);
}
