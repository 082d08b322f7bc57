/* carry.h: cells of a bare ring (ring.h) that carry bytes which the consumer puts somewhere else, and which are to be
 * there even if the consumer does not come to it.
 *
 * A message of one cache line is the fastest there is, and so its bytes travel in it: the consumer puts them in their
 * place when it takes the cell. But the producer may have to know that they are there (tern_quiet) while the consumer
 * does something else for hours. Then it puts them there itself, and tells the consumer not to: late bytes must not
 * replace what others have put there since. The two agree without a locked instruction, and without a store to a line
 * that the other one looks at in the usual case:
 *
 *   consumer  begun = number of the cell; looks at claimed. Not claimed: puts the bytes in place and takes the cell.
 *             Claimed: takes begun back; leaves the cell where it is until helped passes it, and then takes it without
 *             its bytes
 *   producer  claimed = how far; has the kernel run a barrier on every thread of the job (membarrier); while begun is
 *             ahead of what is consumed the consumer is at it; then puts the bytes of all cells that are left in their
 *             place; helped = how far
 *
 * The kernel's barrier stands for the full barrier that the consumer's store and look would need between them: a
 * consumer whose look came before it has shown begun by then, and one whose look comes after it sees the claim. Where
 * the kernel has no such barrier no cell carries anything. Needs a line behind the cells.
 */
#ifndef TERN_BASE_CARRY_H
#define TERN_BASE_CARRY_H

#include <string.h>

#include "base/ring.h"

/* Behind the cells. Writer: the producer. */
struct tern_carry_claim {
    _Alignas(TERN_RING_LINE) _Atomic uint64_t claimed; /* cells before this one that the producer puts in place, */
    _Atomic uint64_t helped;                           /* or has put */
};
_Static_assert(sizeof(struct tern_carry_claim) == TERN_RING_LINE, "a claim is one cache line");

/* What a cell carries: where the bytes behind its words go, for the producer. */
struct tern_carry_load {
    void    *to;
    size_t   len;
    uint64_t end; /* one more than the number of the cell */
};

/* The producer's side. */
struct tern_carry {
    struct tern_carry_load *load; /* [cells] */
    uint64_t                end;  /* behind the last cell that carries something */
};

/* Let the process be one of those on which the barrier is run. False: the kernel cannot do that. */
bool tern_base_carry_open(void);

/* Begin; load is zero. */
static inline void tern_base_carry_begin(struct tern_carry *carry, struct tern_carry_load *load)
{
    *carry = (struct tern_carry){ .load = load };
}

#define TERN_CARRY_WORDS 3u /* of a head, before what it carries */
#define TERN_CARRY_MOST (TERN_RING_HEAD - TERN_CARRY_WORDS * sizeof(uint64_t))

/* Put bytes in their place; mostly they are a word. */
static inline void tern_base_carry_place(void *to, const void *bytes, size_t len)
{
    if (TERN_LIKELY(len == sizeof(uint64_t)))
        memcpy(to, bytes, sizeof(uint64_t));
    else
        memcpy(to, bytes, len);
}

/* Put a message in the next cell, which is free: three words, and len bytes, at least 1, that are to go to. The books
 * are kept when it is on its way: only the producer looks at them. */
static inline void tern_base_carry_send(struct tern_ring_producer *p, struct tern_carry *carry, const uint64_t word[3],
                                        void *to, const void *src, size_t len)
{
    uint64_t                next = p->next;
    struct tern_ring_cell  *cell = tern_base_ring_cell(p->ring, next, p->shape);
    struct tern_carry_load *load = &carry->load[next & (p->shape.cells - 1)];
    uint64_t               *head = (uint64_t *)(void *)cell->head;

    head[0] = word[0];
    head[1] = word[1];
    head[2] = word[2];
    tern_base_carry_place(head + TERN_CARRY_WORDS, src, len);
    cell->len = 0;
    cell->at = 1;
    cell->span = 0;
    /* release: the message before its mark. Pairs with the acquire in tern_base_ring_peek(). */
    atomic_store_explicit(&cell->mark, tern_base_ring_lap(next, p->shape), memory_order_release);
    p->next = next + 1;
    load->to = to;
    load->len = len;
    load->end = carry->end = next + 1;
}

/* The same where there may be no cell: false. */
static inline bool tern_base_carry_put(struct tern_ring_producer *p, struct tern_carry *carry, const uint64_t word[3],
                                       void *to, const void *src, size_t len)
{
    if (TERN_UNLIKELY(!tern_base_ring_has_cell(p)) && !tern_base_ring_look_again(p))
        return false;
    tern_base_carry_send(p, carry, word, to, src, len);
    return true;
}

/* Whether everything that cells carry is in its place; the caller sees to it that nobody else is producing. help: see
 * to it where the consumer does not; without, only look. */
bool tern_base_carry_settle(struct tern_ring_producer *p, struct tern_carry *carry, bool help);

enum tern_carry_turn { TERN_CARRY_NOTHING, TERN_CARRY_PLACE, TERN_CARRY_PLACED, TERN_CARRY_LATER };

/* The consumer is about to take the cell that peek gave. NOTHING: it carries nothing. PLACE: put the bytes in their
 * place. PLACED: they are there. LATER: the producer is putting them there; leave the cell. */
static inline enum tern_carry_turn tern_base_carry_turn(struct tern_ring_consumer *c, uint32_t at)
{
    struct tern_carry_claim *claim = (struct tern_carry_claim *)(void *)c->data;

    if (at == 0)
        return TERN_CARRY_NOTHING;
    /* relaxed, and a barrier for the compiler: the store before the look. Pairs with the kernel's barrier in
     * tern_base_carry_settle(). */
    atomic_store_explicit(&c->ring->begun, c->next + 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (TERN_LIKELY(atomic_load_explicit(&claim->claimed, memory_order_relaxed) <= c->next))
        return TERN_CARRY_PLACE;
    atomic_store_explicit(&c->ring->begun, c->next, memory_order_relaxed); /* nothing was done that it would order */
    /* acquire: the producer's bytes. Pairs with the release in tern_base_carry_settle(). */
    return atomic_load_explicit(&claim->helped, memory_order_acquire) > c->next ? TERN_CARRY_PLACED : TERN_CARRY_LATER;
}

/* It was to be placed, and is not after all: the cell stays. */
static inline void tern_base_carry_undo(struct tern_ring_consumer *c)
{
    atomic_store_explicit(&c->ring->begun, c->next, memory_order_relaxed); /* nothing was done that it would order */
}

#endif
