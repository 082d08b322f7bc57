/* lane.c: how a context hears of its transfers.
 *
 * Whoever reads the completion queue pushes what has ended onto the lane; the lane's own thread takes it from there and
 * reports it. A transfer whose connection broke is reported when it is known whether the peer is dead.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "link/ofi/ofi.h"

#define NOTICE_NS 1000000000ll /* within this time the launcher knows of a death */
#define ROLL_NS 100000000ll    /* where it has to be soon */
#define LOOKS_PER_ROLL 1024    /* a peer that left in order is noticed by looking */

tern_status tern_ofi_lane_open(struct tern_link *link, struct tern_lane **out)
{
    struct ofi_lane *lane = calloc(1, sizeof(*lane));

    if (!lane)
        return tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for %zu bytes", sizeof(*lane));
    lane->ofi = tern_ofi(link);
    *out = (struct tern_lane *)lane;
    return TERN_OK;
}

/* Move what others have finished to the lane's own list, the oldest first. */
static void take_finished(struct ofi_lane *lane)
{
    /* acquire: how each ended. Pairs with the release in op_finish(). */
    struct ofi_op *op = atomic_exchange_explicit(&lane->finished, NULL, memory_order_acquire), *next;

    for (; op; op = next) {
        next = op->finished;
        op->finished = lane->kept;
        lane->kept = op;
    }
}

/* What is under way ends by itself, and nobody hears of it. */
void tern_ofi_lane_close(struct tern_lane *lane)
{
    struct ofi_lane *l = (struct ofi_lane *)lane;

    pthread_mutex_lock(&l->ofi->lock);
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
    ((struct ofi_op *)op->own)->cancelled = true;
    pthread_mutex_unlock(&ofi->lock);
}

/* Errors that mean that the peer cannot be reached any more. */
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

/* What became of an operation that has ended. TERN_PENDING: it failed just now, by an error that may be that of any
 * provider for a broken connection, and whether the peer lives is not known yet; the launcher tells, and must do so
 * before anyone takes the error for the first failure of the job. */
static tern_status judge(const struct ofi_link *ofi, struct ofi_op *op)
{
    int rank = op->peer->rank;

    if (TERN_LIKELY(op->error == 0))
        return TERN_OK;
    if (tern_ofi_gone(ofi, rank))
        return tern_ofi_peer_gone(rank);
    if (op->doomed == 0)
        op->doomed = tern_base_now() + NOTICE_NS;
    if (tern_base_now() < op->doomed)
        return TERN_PENDING;
    if (!is_disconnected(op->error))
        return tern_base_fail(TERN_ERR_LINK, "link ofi: a %s of %zu bytes %s rank %d failed: %s",
                              op->xfer.get ? "get" : "put", op->xfer.len, op->xfer.get ? "from" : "to", rank, op->why);
    return tern_base_fail(TERN_ERR_PEER, "the connection to rank %d broke: %s", rank, op->why);
}

/* Report what has ended. */
static void report(struct ofi_lane *lane)
{
    struct ofi_link *ofi = lane->ofi;
    struct ofi_op   *op, *next, *done = NULL;

    take_finished(lane);
    for (op = lane->kept, lane->kept = NULL; op; op = next) {
        tern_status     st = judge(ofi, op);
        struct ofi_op **list = st == TERN_PENDING ? &lane->kept : &done;

        next = op->finished;
        op->finished = *list;
        *list = op;
        if (st == TERN_PENDING)
            continue;
        op->op->copied = op->xfer.len;
        ofi->up->done(op->op, st);
    }
    pthread_mutex_lock(&ofi->lock);
    for (op = done; op; op = next) {
        next = op->finished;
        tern_ofi_op_free(ofi, op);
    }
    pthread_mutex_unlock(&ofi->lock);
}

/* Give up operations on peers that are gone. The provider ends them when it sees that the peer is gone; it is given
 * some time for that, because until then it may write into the program's memory. */
static void give_up(struct ofi_lane *lane)
{
    struct ofi_link     *ofi = lane->ofi;
    struct tern_link_op *lost = NULL, *after;
    int64_t              now = tern_base_now();

    lane->roll_at = 0;
    pthread_mutex_lock(&ofi->lock);
    for (struct ofi_op *op = lane->first, *next; op; op = next) {
        next = op->next;
        if (!tern_ofi_gone(ofi, op->peer->rank)) {
            if (op->room) {
                tern_ofi_errand_check(ofi, op, now);
                lane->roll_at = now + ROLL_NS;
            }
            continue;
        }
        tern_ofi_op_fail(op, FI_ENOTCONN, "it is gone");
        op->doomed = op->doomed != 0 ? op->doomed : now + NOTICE_NS;
        if (now < op->doomed) {
            lane->roll_at = now + ROLL_NS;
            continue;
        }
        tern_ofi_op_unlist(op);
        op->op->next = lost;
        lost = op->op;
        op->op = NULL; /* the pieces end some time, or never */
        if (op->room)
            tern_ofi_errand_forget(ofi, op);
    }
    pthread_mutex_unlock(&ofi->lock);
    for (; lost; lost = after) {
        after = lost->next;
        ofi->up->done(lost, tern_ofi_peer_gone(lost->xfer.part->rank));
    }
}

/* Whether it is time to see which peers are gone: someone died, or now and then; by the clock where an operation waits
 * for something that the provider does not tell. */
static bool is_roll_call(struct ofi_lane *lane)
{
    uint32_t losses = atomic_load_explicit(&lane->ofi->boot->segment->losses, memory_order_relaxed);

    if (++lane->looks % LOOKS_PER_ROLL != 0 && losses == lane->losses &&
        (lane->roll_at == 0 || tern_base_now() < lane->roll_at))
        return false;
    lane->losses = losses;
    return true;
}

void tern_ofi_lane_progress(struct tern_lane *lane)
{
    struct ofi_lane *l = (struct ofi_lane *)lane;

    tern_ofi_poll(l->ofi);
    atomic_store_explicit(&l->ofi->fresh, true, memory_order_relaxed); /* the same thread asks for messages next */
    if (atomic_load_explicit(&l->finished, memory_order_relaxed) || l->kept)
        report(l);
    else if (TERN_UNLIKELY(is_roll_call(l)))
        give_up(l);
}
