/* notify.c: notifications between the ranks of a node.
 *
 * Each rank has a notification queue (base/notify_queue.h) to every rank that it has ever notified, in memory of the
 * sender. The sender allocates the primary cells at the first notification, and the overflow cells
 * (TERN_NOTIFY_QUEUE cells in all) the first time that the receiver falls behind and the primary cells are full. A
 * queue_ref tells the receiver where the primary cells are; the header of the primary cells tells where the overflow
 * cells are.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/membarrier.h"
#include "base/sanitize.h"
#include "base/wake_request.h"
#include "link/shm/shm.h"

static uint32_t power_of_two(uint64_t least)
{
    return least < TERN_NQ_MIN_CELLS ? TERN_NQ_MIN_CELLS : 1u << tern_base_log2_up((uint32_t)least);
}

void tern_shm_notify_open(struct shm_link *shm)
{
    struct shm_notify *notify = &shm->notify;
    uint64_t           queue = (uint64_t)tern_opt.notify_queue;

    notify->primary = power_of_two(queue < TERN_NQ_PRIMARY_MAX ? queue : TERN_NQ_PRIMARY_MAX);
    notify->overflow = queue > notify->primary ? power_of_two(queue - notify->primary) : 0;
    notify->inline_notify =
        tern_opt.notify_inline > 0 && tern_base_membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
    atomic_store_explicit(&shm->bounce_ctl[shm->local].inline_notify, notify->inline_notify,
                          memory_order_relaxed); /* relaxed: joining the job orders this store */
}

void tern_shm_notify_tx_close(struct shm_notify_tx *tx)
{
    if (!tx)
        return;
    for (unsigned r = 0; r < TERN_NQ_ROWS; r++) {
        if (tx->cells[r].map)
            munmap(tx->cells[r].map, tx->cells[r].space.bytes);
        free(tx->cells[r].load);
    }
    free(tx);
}

void tern_shm_notify_rx_close(struct shm_notify_rx *rx)
{
    if (!rx)
        return;
    for (unsigned r = 0; r < TERN_NQ_ROWS; r++)
        if (rx->map[r])
            munmap(rx->map[r], rx->bytes[r]);
    free(rx);
}

/* ---- send ---- */

/* Allocate and map `count` cells, primary or overflow (r). */
static tern_status cells_make(struct shm_notify_tx *tx, unsigned r, uint32_t count, size_t bytes)
{
    struct shm_notify_cells *cells = &tx->cells[r];
    tern_status              st = TERN_OK;

    if (!(cells->load = calloc(count, sizeof(*cells->load))))
        return tern_base_fail(TERN_ERR_NOMEM, "link shm: no memory for a queue to rank %d", tx->peer);
    if ((st = tern_shm_space_map(tx->shm, tx->peer, bytes, &cells->space, &cells->map)) < 0) {
        free(cells->load);
        *cells = (struct shm_notify_cells){ .load = NULL };
    }
    return st;
}

/* Add the overflow cells to a queue. Returns false if there are none or no memory for them; the sender then waits
 * for free primary cells. The queue calls this at most once. */
static bool grow(struct tern_nq_producer *p)
{
    struct tern_inject_notify *inject =
        (struct tern_inject_notify *)((char *)p - offsetof(struct tern_inject_notify, queue));
    struct shm_notify_tx    *tx = (struct shm_notify_tx *)inject; /* inject is the first field */
    uint32_t                 overflow = tx->shm->notify.overflow;
    size_t                   bytes = overflow * sizeof(struct tern_nq_cell);
    struct shm_notify_cells *cells = &tx->cells[TERN_NQ_OVERFLOW];

    p->grow = NULL;
    if (overflow == 0)
        return false;
    if (cells_make(tx, TERN_NQ_OVERFLOW, overflow, bytes) < 0) {
        tern_base_log(TERN_LOG_WARN, "%s; notifications to rank %d wait whenever it has not received the last %u",
                      tern_base_detail(), tx->peer, tx->shm->notify.primary);
        return false;
    }
    tern_base_nq_add_overflow(p, cells->map, overflow, cells->load);
    /* relaxed: the stamp of the notification that leads to the overflow cells is stored later, with release. Pairs
     * with the acquire in tern_base_nq_peek(). */
    atomic_store_explicit(&p->shared->overflow_bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&p->shared->overflow_offset, cells->space.offset, memory_order_relaxed);
    return true;
}

tern_status tern_shm_notify_tx_make(struct shm_link *shm, int peer, struct shm_notify_tx *tx)
{
    struct shm_notify_cells *cells = &tx->cells[TERN_NQ_PRIMARY];
    size_t                   bytes = tern_base_nq_bytes(shm->notify.primary);
    tern_status              st;

    tx->shm = shm;
    tx->peer = peer;
    if ((st = cells_make(tx, TERN_NQ_PRIMARY, shm->notify.primary, bytes)) < 0)
        return st;
    tern_base_nq_producer_init(&tx->inject.queue, cells->map, shm->notify.primary, cells->load);
    tx->inject.queue.grow = grow;
    tx->inject.slot = tern_shm_slot(shm, peer);
    tern_shm_announce(shm, peer, SHM_QUEUE_NOTIFY, cells->space.offset, bytes);
    return TERN_OK;
}

tern_status tern_shm_notify_reserve(struct shm_link *shm, struct tern_link_msg *msg)
{
    tern_status                st = TERN_OK;
    struct tern_inject_notify *inject = tern_shm_tx(shm, msg->peer, SHM_QUEUE_NOTIFY, &st); /* the first field */
    bool                       biased, reserved;

    if (!inject)
        return st;
    biased = tern_base_biased_lock(&inject->lock);
    reserved = tern_base_nq_reserve(&inject->queue, &msg->cell);
    tern_base_biased_unlock(&inject->lock, biased);
    if (!reserved)
        return TERN_AGAIN;
    msg->head = msg->cell.cell->head;
    msg->data = NULL;
    msg->data_max = 0;
    return TERN_OK;
}

static bool is_flushed(struct tern_inject_notify *inject, bool help)
{
    bool biased = tern_base_biased_lock(&inject->lock);
    bool flushed = tern_base_nq_flush(&inject->queue, help);

    if (flushed)
        atomic_store_explicit(&inject->unflushed, false, memory_order_relaxed); /* relaxed: the lock orders */
    tern_base_biased_unlock(&inject->lock, biased);
    if (flushed && help)
        tern_link_ring(
            inject->slot); /* the peer left the notification in its cell while this rank copied its payload */
    return flushed;
}

bool tern_shm_notify_flushed(struct tern_link *link, bool help)
{
    struct shm_link *shm = tern_shm(link);
    bool             flushed = true;

    for (int local = 0; local < shm->locals; local++) {
        int                   peer = shm->rank_of[local];
        struct shm_notify_tx *tx =
            atomic_load_explicit(&shm->msg.tx[SHM_QUEUE_NOTIFY][peer], memory_order_acquire); /* as in tern_shm_tx() */

        /* relaxed: a thread sees its own stores to unflushed. A peer that is gone needs no flush. */
        if (tx && atomic_load_explicit(&tx->inject.unflushed, memory_order_relaxed) && !tern_boot_gone(shm->boot, peer))
            flushed &= is_flushed(&tx->inject, help);
    }
    return flushed;
}

/* ---- receive ---- */

/* Watch the cell of the next notification, or the cell `ahead` positions behind that. */
static inline void watch_at(struct shm_notify_rx *rx, unsigned ahead)
{
    uint32_t                idle;
    const _Atomic uint32_t *mark = tern_base_nq_watch_word(&rx->queue, ahead, &idle);

    tern_link_watch_move(&rx->watch, mark, idle);
}

/* Wake the sender if it waits for a free cell. The caller has just consumed notifications. */
static inline void wake_sender(struct shm_notify_rx *rx)
{
    tern_link_before_wake_check(rx->needs_fence);
    if (TERN_UNLIKELY(tern_base_wake_requested(&rx->queue.shared->producer_waits)))
        tern_link_ring(tern_shm_slot(tern_shm(rx->watch.link), rx->from)); /* the sender may be asleep until a
                                                                                    cell is free */
}

/* Map the overflow cells, because the next notification lies there, as the current one says. */
static __attribute__((noinline)) tern_status map_overflow(struct shm_notify_rx *rx)
{
    struct tern_nq *shared = rx->queue.shared;
    /* relaxed: grow() stored both before the notification. */
    uint64_t        offset = atomic_load_explicit(&shared->overflow_offset, memory_order_relaxed);
    uint64_t        bytes = atomic_load_explicit(&shared->overflow_bytes, memory_order_relaxed);
    uint64_t        overflow = bytes / sizeof(struct tern_nq_cell);
    tern_status     st;

    if (overflow < TERN_NQ_MIN_CELLS || overflow > TERN_NQ_MAX_CELLS || bytes % sizeof(struct tern_nq_cell) != 0 ||
        (overflow & (overflow - 1)))
        return tern_shm_invalid_queue(rx->from, offset, bytes);
    st = tern_shm_queue_map(tern_shm(rx->watch.link), rx->from, offset, bytes, &rx->map[TERN_NQ_OVERFLOW]);
    if (st < 0)
        return st;
    rx->bytes[TERN_NQ_OVERFLOW] = bytes;
    tern_base_nq_map_overflow(&rx->queue, rx->map[TERN_NQ_OVERFLOW], (uint32_t)overflow);
    return TERN_OK;
}

/* Pass one notification up. REFUSED: the notification stays in its cell. */
static inline enum tern_link_delivered deliver_one(struct shm_link *shm, struct shm_notify_rx *rx,
                                                   const unsigned char *head, unsigned kind)
{
    enum tern_nq_claim_state claim;
    enum tern_link_delivered delivered;

    if (TERN_UNLIKELY(kind & TERN_NQ_SKIP))
        return TERN_LINK_TAKEN;
    claim = tern_base_nq_claim_payload(&rx->queue, kind);
    /* BUSY: the sender is copying the payload itself. If the sender died while copying, nobody else completes the
     * copy, so the receiver copies the payload. */
    if (TERN_UNLIKELY(claim == TERN_NQ_BUSY) && !tern_boot_gone(shm->boot, rx->from)) {
        rx->watch.lasts = false; /* the sender rings the bell when the payload is in place */
        return TERN_LINK_REFUSED;
    }
    delivered = shm->up->notify(rx->from, head, claim == TERN_NQ_COPY || claim == TERN_NQ_BUSY);
    if (TERN_UNLIKELY(delivered == TERN_LINK_REFUSED && claim == TERN_NQ_COPY))
        tern_base_nq_unclaim_payload(&rx->queue);
    return delivered;
}

/* Deliver notifications. Stop when one of them completes a wait (TAKEN_LAST), so that the waiting thread can
 * continue; the remaining notifications cost least in their cells. */
static tern_status deliver(struct tern_link_watch *watch)
{
    struct shm_notify_rx    *rx = (struct shm_notify_rx *)watch;
    struct shm_link         *shm = tern_shm(watch->link);
    const unsigned char     *head;
    enum tern_link_delivered delivered;
    unsigned                 kind;
    int                      found, left = TERN_LINK_BATCH;
    tern_status              st;

    rx->watch.lasts = true;
    while ((found = tern_base_nq_peek(&rx->queue, &head, &kind)) > 0) {
        tern_base_order_after_peers(); /* after the copies that the helper thread made for the peer before it sent
                                          this */
        if (TERN_UNLIKELY(kind & TERN_NQ_SWITCH) && !rx->map[TERN_NQ_OVERFLOW] && (st = map_overflow(rx)) < 0)
            return st;
        if (TERN_UNLIKELY((delivered = deliver_one(shm, rx, head, kind)) == TERN_LINK_REFUSED))
            break;
        tern_base_nq_consume(&rx->queue, kind);
        if (delivered == TERN_LINK_TAKEN_LAST || --left == 0)
            break;
    }
    watch_at(rx, 0);
    wake_sender(rx);
    if (TERN_LIKELY(found >= 0))
        return TERN_OK;
    return tern_link_damaged(rx->from);
}

/* Leave the notification in its cell for deliver(). Returns false. */
static __attribute__((noinline)) bool stays(struct shm_notify_rx *rx)
{
    watch_at(rx, 0);
    return false;
}

/* Note that the offset of a notification differs from that of the previous one. Returns false if it is not valid. */
static inline bool has_moved(struct tern_link_expected *expected, uint64_t third)
{
    if (expected->len > 0) {
        if (TERN_UNLIKELY(third > expected->max_offset))
            return false;
        expected->to = expected->base + third;
    }
    expected->third = third;
    return true;
}

/* Poll the cell, at most the given number of times, until its stamp has the position. Returns the stamp. */
static inline uint64_t poll_cell(const struct tern_nq_cell *cell, uint64_t position, unsigned polls)
{
    uint64_t stamp;

    /* acquire: the message after its stamp. Pairs with the release stores of the producer. */
    while (tern_base_nq_stamp_position(stamp = atomic_load_explicit(&cell->stamp, memory_order_acquire)) != position &&
           --polls > 0)
        tern_base_relax(); /* a reader that polls without a pause takes the cache line from the writer */
    return stamp;
}

/* The fast path for a notification: no other thread waits, and the notification looks like the previous one. Everything
 * that can be computed in advance is computed before the notification arrives, above all the destination of its
 * payload: otherwise the application's next load from there would be speculated before the address of the store is
 * known, and replayed. A value that is used twice is read once into a local variable, because the sender can change the
 * cell. */
static bool expect(struct tern_link_watch *watch, struct tern_link_expected *expected, unsigned polls)
{
    struct shm_notify_rx    *rx = (struct shm_notify_rx *)watch;
    struct tern_nq_consumer *cells = &rx->queue;
    struct tern_nq_view     *row = &cells->row[cells->at];
    struct tern_nq_cell     *cell = &row->cell[row->next & row->mask];
    const volatile uint64_t *word = (const volatile uint64_t *)(const volatile void *)cell->head;
    const uint64_t           position = tern_base_nq_stamp(row->next, 0);
    const bool               carries = expected->len > 0;
    uint64_t                 first, third, stamp, wrong;

    if (TERN_UNLIKELY(rx->from != expected->from))
        return false;
    watch_at(rx, 1);
    stamp = poll_cell(cell, position, polls);
    first = word[0];
    third = word[2];
    wrong = stamp ^ (position | tern_base_nq_stamp(0, carries ? TERN_NQ_INLINE : 0));
    wrong |= ((first ^ expected->first) & expected->mask) | (word[1] ^ expected->region);
    if (TERN_UNLIKELY(wrong != 0) || (TERN_UNLIKELY(third != expected->third) && !has_moved(expected, third)))
        return stays(rx);
    if (TERN_LIKELY(carries)) {
        if (TERN_UNLIKELY(tern_base_nq_claim_payload(cells, TERN_NQ_INLINE) != TERN_NQ_COPY))
            return stays(rx);
        tern_base_nq_copy(expected->to, cell->head + TERN_NQ_WORDS * sizeof(uint64_t), expected->len);
    }
    if (TERN_UNLIKELY(first != expected->first))
        expected->first = first;
    tern_base_nq_consume_plain(cells, row, cell);
    wake_sender(rx);
    return true;
}

tern_status tern_shm_notify_attach(struct shm_link *shm, int local, uint64_t offset, uint64_t bytes)
{
    int                   from = shm->rank_of[local];
    uint32_t              primary = tern_base_nq_primary_cells((size_t)bytes);
    struct shm_notify_rx *rx;
    tern_status           st;

    if (shm->notify.rx[local])
        return TERN_OK;
    if (primary == 0)
        return tern_shm_invalid_queue(from, offset, bytes);
    if (!(rx = calloc(1, sizeof(*rx))))
        return tern_base_fail(TERN_ERR_NOMEM, "link shm: no memory for the queue of rank %d", from);
    if ((st = tern_shm_queue_map(shm, from, offset, bytes, &rx->map[TERN_NQ_PRIMARY])) < 0) {
        free(rx);
        return st;
    }
    shm->notify.rx[local] = rx;
    rx->bytes[TERN_NQ_PRIMARY] = (size_t)bytes;
    rx->from = from;
    rx->needs_fence = tern_link_needs_fence(tern_shm_slot(shm, from));
    rx->watch = (struct tern_link_watch){
        .channel = TERN_CHANNEL_NOTIFY, .deliver = deliver, .expect = expect, .link = (struct tern_link *)shm
    };
    tern_base_nq_consumer_init(&rx->queue, rx->map[TERN_NQ_PRIMARY], primary);
    watch_at(rx, 0);
    return shm->up->watch(&rx->watch);
}
