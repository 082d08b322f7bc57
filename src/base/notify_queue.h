/* notify_queue.h: the notification queue (nq), an SPSC queue of messages of one cache line each, in memory that both
 * sides map. Messages may carry an inline payload.
 *
 * Messages are numbered from 1. The stamp of a cell contains the position at which the cell was published and the kind
 * of the message, so the consumer polls the same line that delivers the message: one cache miss. Neither side ever
 * blocks. The producer and consumer structs are private to their sides; only struct tern_nq and the cells are shared.
 *
 * The queue has two rows of cells. The primary cells are few, so that they stay in the L1 caches of both sides. A
 * consumer that does not poll for a long time would let them fill up, so there may be many more overflow cells, which
 * the producer allocates when it first needs them. The producer chooses the row of each message: the flag SWITCH in the
 * stamp of a message says that the next message is in the other row. The producer switches to the overflow cells when
 * no primary cell is free, and back when half of the primary cells are free.
 *
 * The consumer copies an inline payload to its destination. The payload must arrive even if the consumer does not poll:
 * the producer may have to complete it (tern_quiet) while the target computes for hours. In that case the producer
 * copies the payload itself and tells the consumer not to, because a late copy must not overwrite newer data. The two
 * sides agree without an atomic read-modify-write and, in the common case, without a store to a line that the other
 * side polls:
 *
 *   consumer  Sets begun to the number of the message, then reads claimed. If the message is not claimed, the consumer
 *             copies the payload and consumes the cell. If it is claimed, the consumer resets begun, leaves the cell in
 *             the queue until copied reaches the message, and then consumes the cell without copying its payload.
 *   producer  Sets claimed to the last message, and asks the kernel to run a barrier on every thread of the job
 *             (membarrier). While begun is ahead of done, the consumer is copying. Otherwise the producer copies the
 *             payloads of all remaining messages in order, and then sets copied to the last message.
 *
 * The kernel's barrier replaces the full barrier that the consumer would need between its store and its load: if the
 * consumer's load comes before the barrier, its store to begun is visible after the barrier; if the load comes after
 * the barrier, it sees the claim. If the kernel lacks membarrier, no message has an inline payload.
 * */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

#define TERN_NQ_LINE 64
#define TERN_NQ_HEAD 48  /* bytes of a message */
#define TERN_NQ_WORDS 3u /* 64-bit words of a message before its inline payload */
#define TERN_NQ_MIN_CELLS 4u
#define TERN_NQ_PRIMARY_MAX 64u /* limit of the number of primary cells */
#define TERN_NQ_MAX_CELLS (1u << 20)
#define TERN_NQ_RUN 16u /* overflow cells between two checks of the consumer's progress: each check is a cache miss */

/* The kind of a message, as flags. INLINE: it has an inline payload. SKIP: the consumer ignores it. SWITCH: the next
 * message is in the other row. RESTART, only together with SWITCH: the next message is in the first overflow cell. */
enum { TERN_NQ_INLINE = 1, TERN_NQ_SKIP = 2, TERN_NQ_SWITCH = 4, TERN_NQ_RESTART = 8, TERN_NQ_KINDS = 16 };

struct tern_nq_cell {
    _Alignas(TERN_NQ_LINE) union {
        _Atomic uint64_t stamp;
        _Atomic uint32_t low; /* the lower half of stamp, which changes with every message */
    };
    uint64_t      unused;
    unsigned char head[TERN_NQ_HEAD];
};
_Static_assert(sizeof(struct tern_nq_cell) == TERN_NQ_LINE, "one cell is one cache line");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lower half comes first");

#define TERN_NQ_KIND_SHIFT 56 /* the bits below the kind contain the position and a bit that is always 1 */

/* Return the stamp of a message of this kind at a position. Each row counts its positions from 0. */
static inline uint64_t tern_base_nq_stamp(uint64_t position, unsigned kind)
{
    return position << 1 | 1 | (uint64_t)kind << TERN_NQ_KIND_SHIFT;
}

/* Return the stamp without its kind. */
static inline uint64_t tern_base_nq_stamp_position(uint64_t stamp)
{
    return stamp & (UINT64_MAX >> (64 - TERN_NQ_KIND_SHIFT));
}

struct tern_nq {
    _Alignas(TERN_NQ_LINE) _Atomic uint64_t done; /* last message that was consumed. Writer: the consumer */
    _Atomic uint64_t begun;          /* last message whose payload the consumer started to copy. Writer: the consumer */
    _Atomic uint32_t producer_waits; /* 1: the producer waits (base/wake_request.h). Writers: both */
    _Alignas(TERN_NQ_LINE) _Atomic uint64_t claimed;     /* the producer copies the payloads up to this message */
    _Atomic uint64_t    copied;                          /* the producer has copied the payloads up to this message */
    _Atomic uint64_t    overflow_offset, overflow_bytes; /* location of the overflow cells, for the code that maps them.
                                                            Writer of claimed to overflow_bytes: the producer */
    struct tern_nq_cell primary[]; /* Writer: the producer. Both sides write the stamps of overflow cells */
};

enum { TERN_NQ_PRIMARY, TERN_NQ_OVERFLOW, TERN_NQ_ROWS };

/* The producer's record of a cell. */
struct tern_nq_payload {
    uint64_t number; /* number of the last message in the cell; 0: none */
    void    *to;     /* destination of its inline payload; NULL: it has none */
    size_t   len;
};

struct tern_nq_producer {
    struct tern_nq *shared;
    struct tern_nq_row {
        struct tern_nq_cell    *cell; /* NULL: the row does not exist */
        struct tern_nq_payload *load; /* [cells] */
        uint32_t                mask; /* number of cells, a power of two, minus 1 */
        uint64_t                next; /* position of the next message in this row */
        uint64_t                last; /* number of the last message in this row */
    } row[TERN_NQ_ROWS];
    uint32_t at;          /* row of the next message */
    uint64_t number;      /* number of the last message */
    uint64_t last_inline; /* number of the last message with an inline payload */
    uint64_t done;        /* tern_nq.done as last read */
    /* Allocate the overflow cells and call tern_base_nq_add_overflow(). Returns false if there are no overflow
     * cells. */
    bool (*grow)(struct tern_nq_producer *p);
};

struct tern_nq_consumer {
    struct tern_nq *shared;
    struct tern_nq_view {
        struct tern_nq_cell *cell;
        uint32_t             mask;
        uint64_t             next; /* position of the next message in this row */
    } row[TERN_NQ_ROWS];
    uint32_t at;
    uint64_t number; /* number of the next message */
};

/* ---- both sides ---- */

/* Return the size of a queue with this many primary cells, a power of two that is at least TERN_NQ_MIN_CELLS. */
size_t tern_base_nq_bytes(uint32_t primary);

/* Return the number of primary cells of a queue of this size; 0 if no queue has this size. */
uint32_t tern_base_nq_primary_cells(size_t bytes);

/* Initialize the private struct of one side. The memory must be zero and aligned to a line. load is an array with one
 * zeroed element per cell. */
void tern_base_nq_producer_init(struct tern_nq_producer *p, void *memory, uint32_t primary,
                                struct tern_nq_payload *load);
void tern_base_nq_consumer_init(struct tern_nq_consumer *c, void *memory, uint32_t primary);

/* Add the overflow cells on one side. Their number must be a power of two; memory and load are as for the functions
 * above. */
void tern_base_nq_add_overflow(struct tern_nq_producer *p, void *memory, uint32_t overflow,
                               struct tern_nq_payload *load);
void tern_base_nq_map_overflow(struct tern_nq_consumer *c, void *memory, uint32_t overflow);

/* Copy an inline payload to its destination. Most payloads are one word. */
static inline void tern_base_nq_copy(void *to, const void *bytes, size_t len)
{
    if (TERN_LIKELY(len == sizeof(uint64_t)))
        memcpy(to, bytes, sizeof(uint64_t));
    else
        memcpy(to, bytes, len);
}

/* ---- the producer ---- */

/* A reserved cell, and the stamp that publishing writes into it. The producer does not write the cell's line before it
 * publishes the cell: the consumer polls that line, and a store to it delays all later stores until the line has been
 * transferred. */
struct tern_nq_claim {
    struct tern_nq_cell *cell;
    uint64_t             stamp;
};

/* Reserve a cell. Returns false if the queue is full; the consumer is then asked to wake the producer. Several cells
 * may be reserved and not yet published; the consumer sees them in the order of their reservation. */
bool tern_base_nq_reserve(struct tern_nq_producer *p, struct tern_nq_claim *out);

/* Publish a reserved cell. The caller has written the message into its head, or kind contains SKIP. */
static inline void tern_base_nq_publish(const struct tern_nq_claim *claim, unsigned kind)
{
    /* release: the message before its stamp. Pairs with the acquire in tern_base_nq_peek(). */
    atomic_store_explicit(&claim->cell->stamp, claim->stamp | (uint64_t)kind << TERN_NQ_KIND_SHIFT,
                          memory_order_release);
}

/* Send a message of TERN_NQ_WORDS words with an inline payload of 1 to TERN_NQ_HEAD - 8 * TERN_NQ_WORDS bytes, which is
 * copied to the address to. Returns false if the queue is full. */
bool tern_base_nq_push_inline(struct tern_nq_producer *p, const uint64_t word[TERN_NQ_WORDS], void *to, const void *src,
                              size_t len);

/* Return whether the producer knows free primary cells for the next message and for the one after it, so that it need
 * not consider a switch to the overflow cells. Only the primary cells have this fast path: a sender that needs the
 * overflow cells is faster than the receiver, and would only use more of them, whose lines are in no cache. */
static inline bool tern_base_nq_has_primary_cells(const struct tern_nq_producer *p)
{
    const struct tern_nq_row *row = &p->row[TERN_NQ_PRIMARY];

    return p->at == TERN_NQ_PRIMARY && row->load[(row->next + 1) & row->mask].number <= p->done;
}

/* Send a message with an inline payload of one word. tern_base_nq_has_primary_cells() must have returned true. Every
 * store before the publishing store delays the message, so the producer's own records are updated afterwards. */
static inline void tern_base_nq_push_word(struct tern_nq_producer *p, const uint64_t word[TERN_NQ_WORDS], void *to,
                                          const void *src)
{
    struct tern_nq_row  *row = &p->row[TERN_NQ_PRIMARY];
    uint64_t             i = row->next & row->mask, number = p->number + 1;
    struct tern_nq_cell *cell = &row->cell[i];
    uint64_t            *head = (uint64_t *)(void *)cell->head;

    head[0] = word[0];
    head[1] = word[1];
    head[2] = word[2];
    memcpy(head + TERN_NQ_WORDS, src, sizeof(uint64_t));
    /* release: the message before its stamp. Pairs with the acquire in tern_base_nq_peek(). */
    atomic_store_explicit(&cell->stamp, tern_base_nq_stamp(row->next, TERN_NQ_INLINE), memory_order_release);
    row->next++;
    row->load[i].number = row->last = p->number = p->last_inline = number;
    row->load[i].to = to;
    row->load[i].len = sizeof(uint64_t);
}

/* Return whether all inline payloads are at their destinations. The caller must prevent concurrent use of the producer.
 * If help is true, the function copies the payloads that the consumer has not copied; if the consumer is copying at the
 * moment, the function asks it to wake the producer and returns false. If help is false, the function only checks. */
bool tern_base_nq_flush(struct tern_nq_producer *p, bool help);

/* ---- the consumer ---- */

/* Return the cell of the next message, or the cell that is `ahead` cells further in the same row. */
static inline struct tern_nq_cell *tern_base_nq_next(const struct tern_nq_consumer *c, unsigned ahead)
{
    return &c->row[c->at].cell[(c->row[c->at].next + ahead) & c->row[c->at].mask];
}

/* Return the address of the word that changes when a message arrives in the cell that tern_base_nq_next() returns, and
 * set *idle to the value of the word until then. The function does not access the cell's line. */
static inline const _Atomic uint32_t *tern_base_nq_watch_word(const struct tern_nq_consumer *c, unsigned ahead,
                                                              uint32_t *idle)
{
    uint64_t last = c->row[c->at].next + ahead - c->row[c->at].mask - 1; /* its position in the previous lap */

    *idle = c->at == TERN_NQ_OVERFLOW || (int64_t)last < 0 ? 0 : (uint32_t)tern_base_nq_stamp(last, 0);
    return &tern_base_nq_next(c, ahead)->low;
}

/* Peek at the oldest message without removing it. Returns 1 and sets *head and *kind if there is a message, 0 if the
 * queue is empty, and -1 if the shared memory is corrupt. The producer can change the head at any time. */
static inline int tern_base_nq_peek(const struct tern_nq_consumer *c, const unsigned char **head, unsigned *kind)
{
    const struct tern_nq_cell *cell = tern_base_nq_next(c, 0);
    /* acquire: the message after its stamp. Pairs with the releases in tern_base_nq_publish() and
     * tern_base_nq_push_word(). */
    uint64_t                   stamp = atomic_load_explicit(&cell->stamp, memory_order_acquire);
    uint64_t want = tern_base_nq_stamp(c->row[c->at].next, 0), is = tern_base_nq_stamp_position(stamp);

    *head = cell->head;
    *kind = (unsigned)(stamp >> TERN_NQ_KIND_SHIFT);
    if (is != want)
        return is < want ? 0 : -1;
    if (TERN_LIKELY(*kind < TERN_NQ_RESTART))
        return 1;
    return *kind < TERN_NQ_KINDS && (*kind & TERN_NQ_SWITCH) && c->at == TERN_NQ_PRIMARY ? 1 : -1;
}

/* Remove the message that peek returned, which is of this kind. If the message switches to the overflow cells, the
 * caller must have added them with tern_base_nq_map_overflow(). */
static inline void tern_base_nq_consume(struct tern_nq_consumer *c, unsigned kind)
{
    uint64_t number = c->number++;

    if (TERN_UNLIKELY(c->at == TERN_NQ_OVERFLOW)) /* positions repeat after RESTART */
        atomic_store_explicit(&tern_base_nq_next(c, 0)->stamp, 0, memory_order_relaxed);
    c->row[c->at].next++;
    if (TERN_UNLIKELY(kind & TERN_NQ_SWITCH)) {
        c->at = !c->at;
        if (kind & TERN_NQ_RESTART)
            c->row[c->at].next = 0;
    }
    /* release: the consumer's reads of the cell before the producer overwrites it. Pairs with the acquire in refresh().
     */
    atomic_store_explicit(&c->shared->done, number, memory_order_release);
}

/* Remove the message that peek returned, which is in a cell of the row and has no flags but INLINE: a part of
 * tern_base_nq_consume(). */
static inline void tern_base_nq_consume_plain(struct tern_nq_consumer *c, struct tern_nq_view *row,
                                              struct tern_nq_cell *cell)
{
    uint64_t number = c->number;

    if (TERN_UNLIKELY(row == &c->row[TERN_NQ_OVERFLOW]))
        atomic_store_explicit(&cell->stamp, 0, memory_order_relaxed);
    atomic_store_explicit(&c->shared->done, number, memory_order_release); /* as in tern_base_nq_consume() */
    row->next++;
    c->number = number + 1;
}

enum tern_nq_claim_state { TERN_NQ_NO_PAYLOAD, TERN_NQ_COPY, TERN_NQ_COPIED, TERN_NQ_BUSY };

/* Decide which side copies the inline payload of the message that peek returned, before the message is consumed.
 * Returns NO_PAYLOAD: the message has none. COPY: the caller must copy the payload and then consume the message.
 * COPIED: the producer has copied the payload. BUSY: the producer is copying the payload; the caller must leave the
 * message in the queue. */
static inline enum tern_nq_claim_state tern_base_nq_claim_payload(struct tern_nq_consumer *c, unsigned kind)
{
    if ((kind & TERN_NQ_INLINE) == 0)
        return TERN_NQ_NO_PAYLOAD;
    /* relaxed, with a compiler barrier: the store to begun before the load of claimed. Pairs with the kernel's barrier
     * in tern_base_nq_flush(). */
    atomic_store_explicit(&c->shared->begun, c->number, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (TERN_LIKELY(atomic_load_explicit(&c->shared->claimed, memory_order_relaxed) < c->number))
        return TERN_NQ_COPY;
    atomic_store_explicit(&c->shared->begun, c->number - 1, memory_order_relaxed); /* nothing was copied */
    /* acquire: the payload that the producer copied. Pairs with the release in tern_base_nq_flush(). */
    return atomic_load_explicit(&c->shared->copied, memory_order_acquire) >= c->number ? TERN_NQ_COPIED : TERN_NQ_BUSY;
}

/* Undo a claim that returned COPY without copying the payload. The message stays in the queue. */
static inline void tern_base_nq_unclaim_payload(struct tern_nq_consumer *c)
{
    atomic_store_explicit(&c->shared->begun, c->number - 1, memory_order_relaxed); /* nothing was copied */
}
