/* notify_queue.h: a queue of messages of one cache line each, from one producer to one consumer, in memory that both
 * map.
 *
 * Messages are numbered from 1. The stamp of a cell says for which turn of its row it was published, and what kind
 * of message it has, so the consumer waits on the very line that brings the message: one miss. Neither side ever
 * waits. The two sides' own structs are private to them; only struct tern_nq and the cells are shared.
 *
 * A few cells are near: both sides keep them in their first cache. A consumer that does not come for long would soon
 * have them full, so there may be many more, far ones, which are made when they are needed first. Where the next
 * message lies is up to the producer: the stamp of the one before it says that it changes rows (TURNS). It goes to
 * far cells when no near one is free, and comes back when half of those are.
 *
 * A message may carry bytes which the consumer puts somewhere else, and which are to be there even if the consumer
 * does not come to it: the producer may have to know that they are there (tern_quiet) while the consumer does
 * something else for hours. Then it puts them there itself, and tells the consumer not to: late bytes must not
 * replace what others have put there since. The two agree without a locked instruction, and without a store to a
 * line that the other one looks at in the usual case:
 *
 *   consumer  begun = number of the message; looks at claimed. Not claimed: puts the bytes in place and takes the cell.
 *             Claimed: takes begun back; leaves the cell where it is until helped reaches it, and then takes it without
 *             its bytes
 *   producer  claimed = how far; has the kernel run a barrier on every thread of the job (membarrier); while begun is
 *             ahead of what is done the consumer is at it; then puts the bytes of all messages that are left in their
 *             place, in their order; helped = how far
 *
 * The kernel's barrier stands for the full barrier that the consumer's store and look would need between them: a
 * consumer whose look came before it has shown begun by then, and one whose look comes after it sees the claim.
 * Where the kernel has no such barrier no message carries anything.
 * */
#ifndef TERN_BASE_NOTIFY_QUEUE_H
#define TERN_BASE_NOTIFY_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

#define TERN_NQ_LINE 64
#define TERN_NQ_HEAD 48  /* bytes of a message */
#define TERN_NQ_WORDS 3u /* of them, before what it carries */
#define TERN_NQ_MIN_CELLS 4u
#define TERN_NQ_PRIMARY_MAX 64u /* at most */
#define TERN_NQ_MAX_CELLS (1u << 20)

/* Kinds, bit by bit. ANEW, with TURNS: it goes on at the first far cell. */
enum { TERN_NQ_INLINE = 1, TERN_NQ_SKIP = 2, TERN_NQ_SWITCH = 4, TERN_NQ_RESTART = 8, TERN_NQ_KINDS = 16 };

struct tern_nq_cell {
    _Alignas(TERN_NQ_LINE) union {
        _Atomic uint64_t stamp;
        _Atomic uint32_t low; /* the half of it that changes with every message */
    };
    uint64_t      unused;
    unsigned char head[TERN_NQ_HEAD];
};
_Static_assert(sizeof(struct tern_nq_cell) == TERN_NQ_LINE, "one cell is one cache line");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lower half comes first");

#define TERN_NQ_KIND_SHIFT 56 /* bits of a stamp below its kind: the position, and a bit that is 1 */

/* The stamp of a message at a position, counted along its row from 0. */
static inline uint64_t tern_base_nq_stamp(uint64_t position, unsigned kind)
{
    return position << 1 | 1 | (uint64_t)kind << TERN_NQ_KIND_SHIFT;
}

/* All but the kind. */
static inline uint64_t tern_base_nq_stamp_position(uint64_t stamp)
{
    return stamp & (UINT64_MAX >> (64 - TERN_NQ_KIND_SHIFT));
}

struct tern_nq {
    _Alignas(TERN_NQ_LINE) _Atomic uint64_t done;        /* messages that the consumer has done with. Writer: it */
    _Atomic uint64_t begun;                              /* the one whose bytes it is at, or has put. Writer: it */
    _Atomic uint32_t producer_waits;                     /* 1: the producer waits: base/wake_request.h. Writers: both */
    _Alignas(TERN_NQ_LINE) _Atomic uint64_t claimed;     /* messages up to this one are put in place by the producer */
    _Atomic uint64_t    copied;                          /* or have been. Writer of these four: the producer */
    _Atomic uint64_t    overflow_offset, overflow_bytes; /* where far cells are, in words of who maps them */
    struct tern_nq_cell primary[];                       /* Writer: the producer; of stamps of far cells: both */
};

enum { TERN_NQ_PRIMARY, TERN_NQ_OVERFLOW, TERN_NQ_ROWS };

/* What the producer knows of a cell. */
struct tern_nq_payload {
    uint64_t number; /* of the message that was put there last; 0: none */
    void    *to;     /* where the bytes behind its words go; NULL: it carries none */
    size_t   len;
};

struct tern_nq_producer {
    struct tern_nq *shared;
    struct tern_nq_row {
        struct tern_nq_cell    *cell; /* NULL: there are none */
        struct tern_nq_payload *load; /* [cells] */
        uint32_t                mask; /* their number, a power of two, less 1 */
        uint64_t                next; /* the position of the next message here */
        uint64_t                last; /* number of the last message here */
    } row[TERN_NQ_ROWS];
    uint32_t at;          /* the row of the next message */
    uint64_t number;      /* of the last message */
    uint64_t last_inline; /* of the last that carries something */
    uint64_t done;        /* as last seen */
    /* Make far cells, and say so by tern_base_nq_add_overflow(). False: there are to be none. */
    bool (*grow)(struct tern_nq_producer *p);
};

struct tern_nq_consumer {
    struct tern_nq *shared;
    struct {
        struct tern_nq_cell *cell;
        uint32_t             mask;
        uint64_t             next;
    } row[TERN_NQ_ROWS];
    uint32_t at;
    uint64_t number; /* of the next message */
};

/* ---- both ---- */

/* Bytes of a queue with so many near cells, a power of two from TERN_NQ_MIN_CELLS on; and how many cells so many bytes
 * have, 0: they are no queue. */
size_t   tern_base_nq_bytes(uint32_t near);
uint32_t tern_base_nq_primary_cells(size_t bytes);

/* Begin on memory that is zero and aligned to a line. load: as many as cells, zero. */
void tern_base_nq_producer_init(struct tern_nq_producer *p, void *memory, uint32_t near, struct tern_nq_payload *load);
void tern_base_nq_consumer_init(struct tern_nq_consumer *c, void *memory, uint32_t near);

/* The far cells, a power of two, the same. */
void tern_base_nq_add_overflow(struct tern_nq_producer *p, void *memory, uint32_t far, struct tern_nq_payload *load);
void tern_base_nq_map_overflow(struct tern_nq_consumer *c, void *memory, uint32_t far);

/* Let the process be one of those on which the barrier is run. False: the kernel cannot do that. */
bool tern_base_nq_register(void);

/* Put bytes in their place; mostly they are a word. */
static inline void tern_base_nq_copy(void *to, const void *bytes, size_t len)
{
    if (TERN_LIKELY(len == sizeof(uint64_t)))
        memcpy(to, bytes, sizeof(uint64_t));
    else
        memcpy(to, bytes, len);
}

/* ---- the producer ---- */

/* A cell that was taken, and the stamp that it will have. Its line is not touched before: it is the one that the
 * consumer looks at, and stores to it hold up those that follow until it has come over. */
struct tern_nq_claim {
    struct tern_nq_cell *cell;
    uint64_t             stamp;
};

/* Take a cell. False: there is none now. Several may be taken and not yet published; the consumer sees them in the
 * order in which they were taken. */
bool tern_base_nq_reserve(struct tern_nq_producer *p, struct tern_nq_claim *out);

/* Publish it: the message is in its head, or it is to be SKIPPED. */
static inline void tern_base_nq_publish(const struct tern_nq_claim *place, unsigned kind)
{
    /* release: the message before its stamp. Pairs with the acquire in tern_base_nq_peek(). */
    atomic_store_explicit(&place->cell->stamp, place->stamp | (uint64_t)kind << TERN_NQ_KIND_SHIFT,
                          memory_order_release);
}

/* A message of words and of 1 to TERN_NQ_HEAD - 8 * TERN_NQ_WORDS bytes that are to go to. False: there is no cell
 * now. */
bool tern_base_nq_push_inline(struct tern_nq_producer *p, const uint64_t word[TERN_NQ_WORDS], void *to, const void *src,
                              size_t len);

/* Whether this message and the next find near cells, as far as is known. */
static inline bool tern_base_nq_has_primary_cell(const struct tern_nq_producer *p)
{
    const struct tern_nq_row *row = &p->row[TERN_NQ_PRIMARY];

    return p->at == TERN_NQ_PRIMARY && row->load[(row->next + 1) & row->mask].number <= p->done;
}

/* The same as carry for one word, where that is so. Each store before the one that publishes it holds it up, so there
 * are few, and the books are kept when it is on its way. */
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

/* Whether everything that messages carry is in its place; the caller sees to it that nobody else is producing. help:
 * see to it where the consumer does not, and where it is at it, ask it to tell; without, only look. */
bool tern_base_nq_flush(struct tern_nq_producer *p, bool help);

/* ---- the consumer ---- */

/* The cell of the next message, or of one that follows it in its row. */
static inline struct tern_nq_cell *tern_base_nq_next(const struct tern_nq_consumer *c, unsigned ahead)
{
    return &c->row[c->at].cell[(c->row[c->at].next + ahead) & c->row[c->at].mask];
}

/* The word that this message will change, and what it is until then. Its line is not touched. */
static inline const _Atomic uint32_t *tern_base_nq_watch_word(const struct tern_nq_consumer *c, unsigned ahead,
                                                              uint32_t *idle)
{
    uint64_t last = c->row[c->at].next + ahead - c->row[c->at].mask - 1; /* the turn before */

    *idle = c->at == TERN_NQ_OVERFLOW || (int64_t)last < 0 ? 0 : (uint32_t)tern_base_nq_stamp(last, 0);
    return &tern_base_nq_next(c, ahead)->low;
}

/* The oldest message: its head, which the producer can change at any time, and its kind. 1: there it is. 0: none. -1:
 * the memory makes no sense. */
static inline int tern_base_nq_peek(const struct tern_nq_consumer *c, const unsigned char **head, unsigned *kind)
{
    const struct tern_nq_cell *cell = tern_base_nq_next(c, 0);
    /* acquire: the message after its stamp. Pairs with the releases of the producer. */
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

/* Done with the message that peek gave: it was of this kind. Where it turns to far cells these are known. */
static inline void tern_base_nq_consume(struct tern_nq_consumer *c, unsigned kind)
{
    uint64_t number = c->number++;

    if (TERN_UNLIKELY(c->at == TERN_NQ_OVERFLOW)) /* positions come again, after ANEW */
        atomic_store_explicit(&tern_base_nq_next(c, 0)->stamp, 0, memory_order_relaxed);
    c->row[c->at].next++;
    if (TERN_UNLIKELY(kind & TERN_NQ_SWITCH)) {
        c->at = !c->at;
        if (kind & TERN_NQ_RESTART)
            c->row[c->at].next = 0;
    }
    /* release: our reads of the cell before the producer writes it again. Pairs with refresh(). */
    atomic_store_explicit(&c->shared->done, number, memory_order_release);
}

enum tern_nq_claim_state { TERN_NQ_NO_PAYLOAD, TERN_NQ_COPY, TERN_NQ_COPIED, TERN_NQ_BUSY };

/* The consumer is about to take the message that peek gave. NOTHING: it carries nothing. PLACE: put the bytes in their
 * place. PLACED: they are there. LATER: the producer is putting them there; leave the cell. */
static inline enum tern_nq_claim_state tern_base_nq_claim_payload(struct tern_nq_consumer *c, unsigned kind)
{
    if ((kind & TERN_NQ_INLINE) == 0)
        return TERN_NQ_NO_PAYLOAD;
    /* relaxed, and a barrier for the compiler: the store before the look. Pairs with the kernel's barrier in
     * tern_base_nq_flush(). */
    atomic_store_explicit(&c->shared->begun, c->number, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (TERN_LIKELY(atomic_load_explicit(&c->shared->claimed, memory_order_relaxed) < c->number))
        return TERN_NQ_COPY;
    atomic_store_explicit(&c->shared->begun, c->number - 1, memory_order_relaxed); /* nothing was done */
    /* acquire: the producer's bytes. Pairs with the release in tern_base_nq_flush(). */
    return atomic_load_explicit(&c->shared->copied, memory_order_acquire) >= c->number ? TERN_NQ_COPIED : TERN_NQ_BUSY;
}

/* It was to be placed, and is not after all: the cell stays. */
static inline void tern_base_nq_unclaim_payload(struct tern_nq_consumer *c)
{
    atomic_store_explicit(&c->shared->begun, c->number - 1, memory_order_relaxed); /* nothing was done */
}

/* Whether the producer has found no room since the last call, or waits until what is being taken is in place: wake it.
 * Asked after consuming. Why there is no fence between: base/wake_request.h. */
static inline bool tern_base_nq_producer_waits(const struct tern_nq_consumer *c)
{
    if (TERN_LIKELY(atomic_load_explicit(&c->shared->producer_waits, memory_order_relaxed) == 0))
        return false;
    atomic_store_explicit(&c->shared->producer_waits, 0, memory_order_relaxed);
    return true;
}

#endif
