/* cells.h: a queue of messages of one cache line each, from one producer to one consumer, in memory that both map.
 *
 * Messages are numbered from 1. The stamp of a cell says for which turn of its row it was published, and what kind of
 * message it has, so the consumer waits on the very line that brings the message: one miss. Neither side ever waits.
 * The two sides' own structs are private to them; only struct tern_cells and the cells are shared.
 *
 * A few cells are near: both sides keep them in their first cache. A consumer that does not come for long would soon
 * have them full, so there may be many more, far ones, which are made when they are needed first. Where the next
 * message lies is up to the producer: the stamp of the one before it says that it changes rows (TURNS). It goes to far
 * cells when no near one is free, and comes back when half of those are.
 *
 * A message may carry bytes which the consumer puts somewhere else, and which are to be there even if the consumer does
 * not come to it: the producer may have to know that they are there (tern_quiet) while the consumer does something else
 * for hours. Then it puts them there itself, and tells the consumer not to: late bytes must not replace what others
 * have put there since. The two agree without a locked instruction, and without a store to a line that the other one
 * looks at in the usual case:
 *
 *   consumer  begun = number of the message; looks at claimed. Not claimed: puts the bytes in place and takes the cell.
 *             Claimed: takes begun back; leaves the cell where it is until helped reaches it, and then takes it without
 *             its bytes
 *   producer  claimed = how far; has the kernel run a barrier on every thread of the job (membarrier); while begun is
 *             ahead of what is done the consumer is at it; then puts the bytes of all messages that are left in their
 *             place, in their order; helped = how far
 *
 * The kernel's barrier stands for the full barrier that the consumer's store and look would need between them: a
 * consumer whose look came before it has shown begun by then, and one whose look comes after it sees the claim. Where
 * the kernel has no such barrier no message carries anything.
 */
#ifndef TERN_BASE_CELLS_H
#define TERN_BASE_CELLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

#define TERN_CELL_LINE 64
#define TERN_CELL_HEAD 48  /* bytes of a message */
#define TERN_CELL_WORDS 3u /* of them, before what it carries */
#define TERN_CELLS_FEWEST 4u
#define TERN_CELLS_NEAR 64u /* at most */
#define TERN_CELLS_MOST (1u << 20)

/* Kinds, bit by bit. ANEW, with TURNS: it goes on at the first far cell. */
enum { TERN_CELL_CARRIES = 1, TERN_CELL_SKIPPED = 2, TERN_CELL_TURNS = 4, TERN_CELL_ANEW = 8, TERN_CELL_KINDS = 16 };

struct tern_cell {
    _Alignas(TERN_CELL_LINE) union {
        _Atomic uint64_t stamp;
        _Atomic uint32_t low; /* the half of it that changes with every message */
    };
    uint64_t      unused;
    unsigned char head[TERN_CELL_HEAD];
};
_Static_assert(sizeof(struct tern_cell) == TERN_CELL_LINE, "one cell is one cache line");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lower half comes first");

#define TERN_CELL_KIND 56 /* bits of a stamp below its kind: the position, and a bit that is 1 */

/* The stamp of a message at a position, counted along its row from 0. */
static inline uint64_t tern_base_cell_stamp(uint64_t position, unsigned kind)
{
    return position << 1 | 1 | (uint64_t)kind << TERN_CELL_KIND;
}

/* All but the kind. */
static inline uint64_t tern_base_cell_turn(uint64_t stamp)
{
    return stamp & (UINT64_MAX >> (64 - TERN_CELL_KIND));
}

struct tern_cells {
    _Alignas(TERN_CELL_LINE) _Atomic uint64_t done;    /* messages that the consumer has done with. Writer: it */
    _Atomic uint64_t begun;                            /* the one whose bytes it is at, or has put. Writer: it */
    _Atomic uint32_t wanted;                           /* 1: the producer waits: base/want.h. Writers: both */
    _Alignas(TERN_CELL_LINE) _Atomic uint64_t claimed; /* messages up to this one are put in place by the producer */
    _Atomic uint64_t helped;                           /* or have been. Writer of these four: the producer */
    _Atomic uint64_t far_offset, far_bytes;            /* where far cells are, in words of who maps them */
    struct tern_cell near[];                           /* Writer: the producer; of stamps of far cells: both */
};

enum { TERN_CELLS_AT_NEAR, TERN_CELLS_AT_FAR, TERN_CELLS_ROWS };

/* What the producer knows of a cell. */
struct tern_cells_load {
    uint64_t number; /* of the message that was put there last; 0: none */
    void    *to;     /* where the bytes behind its words go; NULL: it carries none */
    size_t   len;
};

struct tern_cells_producer {
    struct tern_cells *shared;
    struct tern_cells_row {
        struct tern_cell       *cell; /* NULL: there are none */
        struct tern_cells_load *load; /* [cells] */
        uint32_t                mask; /* their number, a power of two, less 1 */
        uint64_t                next; /* the position of the next message here */
        uint64_t                last; /* number of the last message here */
    } row[TERN_CELLS_ROWS];
    uint32_t at;      /* the row of the next message */
    uint64_t number;  /* of the last message */
    uint64_t carried; /* of the last that carries something */
    uint64_t done;    /* as last seen */
    /* Make far cells, and say so by tern_base_cells_far(). False: there are to be none. */
    bool (*grow)(struct tern_cells_producer *p);
};

struct tern_cells_consumer {
    struct tern_cells *shared;
    struct {
        struct tern_cell *cell;
        uint32_t          mask;
        uint64_t          next;
    } row[TERN_CELLS_ROWS];
    uint32_t at;
    uint64_t number; /* of the next message */
};

/* ---- both ---- */

/* Bytes of a queue with so many near cells, a power of two from TERN_CELLS_FEWEST on; and how many cells so many bytes
 * have, 0: they are no queue. */
size_t   tern_base_cells_bytes(uint32_t near);
uint32_t tern_base_cells_near(size_t bytes);

/* Begin on memory that is zero and aligned to a line. load: as many as cells, zero. */
void tern_base_cells_produce(struct tern_cells_producer *p, void *memory, uint32_t near, struct tern_cells_load *load);
void tern_base_cells_consume_from(struct tern_cells_consumer *c, void *memory, uint32_t near);

/* The far cells, a power of two, the same. */
void tern_base_cells_far(struct tern_cells_producer *p, void *memory, uint32_t far, struct tern_cells_load *load);
void tern_base_cells_far_from(struct tern_cells_consumer *c, void *memory, uint32_t far);

/* Let the process be one of those on which the barrier is run. False: the kernel cannot do that. */
bool tern_base_cells_carry_open(void);

/* Put bytes in their place; mostly they are a word. */
static inline void tern_base_cell_place(void *to, const void *bytes, size_t len)
{
    if (TERN_LIKELY(len == sizeof(uint64_t)))
        memcpy(to, bytes, sizeof(uint64_t));
    else
        memcpy(to, bytes, len);
}

/* ---- the producer ---- */

/* A cell that was taken, and the stamp that it will have. Its line is not touched before: it is the one that the
 * consumer looks at, and stores to it hold up those that follow until it has come over. */
struct tern_cells_place {
    struct tern_cell *cell;
    uint64_t          stamp;
};

/* Take a cell. False: there is none now. Several may be taken and not yet published; the consumer sees them in the
 * order in which they were taken. */
bool tern_base_cells_take(struct tern_cells_producer *p, struct tern_cells_place *out);

/* Publish it: the message is in its head, or it is to be SKIPPED. */
static inline void tern_base_cells_publish(const struct tern_cells_place *place, unsigned kind)
{
    /* release: the message before its stamp. Pairs with the acquire in tern_base_cells_peek(). */
    atomic_store_explicit(&place->cell->stamp, place->stamp | (uint64_t)kind << TERN_CELL_KIND, memory_order_release);
}

/* A message of words and of 1 to TERN_CELL_HEAD - 8 * TERN_CELL_WORDS bytes that are to go to. False: there is no cell
 * now. */
bool tern_base_cells_carry(struct tern_cells_producer *p, const uint64_t word[TERN_CELL_WORDS], void *to,
                           const void *src, size_t len);

/* Whether this message and the next find near cells, as far as is known. */
static inline bool tern_base_cells_easy(const struct tern_cells_producer *p)
{
    const struct tern_cells_row *row = &p->row[TERN_CELLS_AT_NEAR];

    return p->at == TERN_CELLS_AT_NEAR && row->load[(row->next + 1) & row->mask].number <= p->done;
}

/* The same as carry for one word, where that is so. Each store before the one that publishes it holds it up, so there
 * are few, and the books are kept when it is on its way. */
static inline void tern_base_cells_carry_word(struct tern_cells_producer *p, const uint64_t word[TERN_CELL_WORDS],
                                              void *to, const void *src)
{
    struct tern_cells_row *row = &p->row[TERN_CELLS_AT_NEAR];
    uint64_t               i = row->next & row->mask, number = p->number + 1;
    struct tern_cell      *cell = &row->cell[i];
    uint64_t              *head = (uint64_t *)(void *)cell->head;

    head[0] = word[0];
    head[1] = word[1];
    head[2] = word[2];
    memcpy(head + TERN_CELL_WORDS, src, sizeof(uint64_t));
    /* release: the message before its stamp. Pairs with the acquire in tern_base_cells_peek(). */
    atomic_store_explicit(&cell->stamp, tern_base_cell_stamp(row->next, TERN_CELL_CARRIES), memory_order_release);
    row->next++;
    row->load[i].number = row->last = p->number = p->carried = number;
    row->load[i].to = to;
    row->load[i].len = sizeof(uint64_t);
}

/* Whether everything that messages carry is in its place; the caller sees to it that nobody else is producing. help:
 * see to it where the consumer does not, and where it is at it, ask it to tell; without, only look. */
bool tern_base_cells_settle(struct tern_cells_producer *p, bool help);

/* ---- the consumer ---- */

/* The cell of the next message, or of one that follows it in its row. */
static inline struct tern_cell *tern_base_cells_next(const struct tern_cells_consumer *c, unsigned ahead)
{
    return &c->row[c->at].cell[(c->row[c->at].next + ahead) & c->row[c->at].mask];
}

/* The word that this message will change, and what it is until then. Its line is not touched. */
static inline const _Atomic uint32_t *tern_base_cells_mark(const struct tern_cells_consumer *c, unsigned ahead,
                                                           uint32_t *idle)
{
    uint64_t last = c->row[c->at].next + ahead - c->row[c->at].mask - 1; /* the turn before */

    *idle = c->at == TERN_CELLS_AT_FAR || (int64_t)last < 0 ? 0 : (uint32_t)tern_base_cell_stamp(last, 0);
    return &tern_base_cells_next(c, ahead)->low;
}

/* The oldest message: its head, which the producer can change at any time, and its kind. 1: there it is. 0: none. -1:
 * the memory makes no sense. */
static inline int tern_base_cells_peek(const struct tern_cells_consumer *c, const unsigned char **head, unsigned *kind)
{
    const struct tern_cell *cell = tern_base_cells_next(c, 0);
    /* acquire: the message after its stamp. Pairs with the releases of the producer. */
    uint64_t                stamp = atomic_load_explicit(&cell->stamp, memory_order_acquire);
    uint64_t                want = tern_base_cell_stamp(c->row[c->at].next, 0), is = tern_base_cell_turn(stamp);

    *head = cell->head;
    *kind = (unsigned)(stamp >> TERN_CELL_KIND);
    if (is != want)
        return is < want ? 0 : -1;
    if (TERN_LIKELY(*kind < TERN_CELL_ANEW))
        return 1;
    return *kind < TERN_CELL_KINDS && (*kind & TERN_CELL_TURNS) && c->at == TERN_CELLS_AT_NEAR ? 1 : -1;
}

/* Done with the message that peek gave: it was of this kind. Where it turns to far cells these are known. */
static inline void tern_base_cells_consume(struct tern_cells_consumer *c, unsigned kind)
{
    uint64_t number = c->number++;

    if (TERN_UNLIKELY(c->at == TERN_CELLS_AT_FAR)) /* positions come again, after ANEW */
        atomic_store_explicit(&tern_base_cells_next(c, 0)->stamp, 0, memory_order_relaxed);
    c->row[c->at].next++;
    if (TERN_UNLIKELY(kind & TERN_CELL_TURNS)) {
        c->at = !c->at;
        if (kind & TERN_CELL_ANEW)
            c->row[c->at].next = 0;
    }
    /* release: our reads of the cell before the producer writes it again. Pairs with refresh(). */
    atomic_store_explicit(&c->shared->done, number, memory_order_release);
}

enum tern_carry_turn { TERN_CARRY_NOTHING, TERN_CARRY_PLACE, TERN_CARRY_PLACED, TERN_CARRY_LATER };

/* The consumer is about to take the message that peek gave. NOTHING: it carries nothing. PLACE: put the bytes in their
 * place. PLACED: they are there. LATER: the producer is putting them there; leave the cell. */
static inline enum tern_carry_turn tern_base_cells_turn(struct tern_cells_consumer *c, unsigned kind)
{
    if ((kind & TERN_CELL_CARRIES) == 0)
        return TERN_CARRY_NOTHING;
    /* relaxed, and a barrier for the compiler: the store before the look. Pairs with the kernel's barrier in
     * tern_base_cells_settle(). */
    atomic_store_explicit(&c->shared->begun, c->number, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (TERN_LIKELY(atomic_load_explicit(&c->shared->claimed, memory_order_relaxed) < c->number))
        return TERN_CARRY_PLACE;
    atomic_store_explicit(&c->shared->begun, c->number - 1, memory_order_relaxed); /* nothing was done */
    /* acquire: the producer's bytes. Pairs with the release in tern_base_cells_settle(). */
    return atomic_load_explicit(&c->shared->helped, memory_order_acquire) >= c->number ? TERN_CARRY_PLACED
                                                                                       : TERN_CARRY_LATER;
}

/* It was to be placed, and is not after all: the cell stays. */
static inline void tern_base_cells_undo(struct tern_cells_consumer *c)
{
    atomic_store_explicit(&c->shared->begun, c->number - 1, memory_order_relaxed); /* nothing was done */
}

/* Whether the producer has found no room since the last call, or waits until what is being taken is in place: wake it.
 * Asked after consuming. Why there is no fence between: base/want.h. */
static inline bool tern_base_cells_wanted(const struct tern_cells_consumer *c)
{
    if (TERN_LIKELY(atomic_load_explicit(&c->shared->wanted, memory_order_relaxed) == 0))
        return false;
    atomic_store_explicit(&c->shared->wanted, 0, memory_order_relaxed);
    return true;
}

#endif
