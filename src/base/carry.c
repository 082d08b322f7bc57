/* carry.c: the producer puts in place what the consumer does not. See carry.h. */
#define _GNU_SOURCE
#include "base/carry.h"

#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool barrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

bool tern_base_carry_open(void)
{
    return barrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
}

/* Say that the consumer is to leave the cells alone, and be sure that it knows. */
static void claim_all(struct tern_carry_claim *claim, uint64_t end)
{
    if (atomic_load_explicit(&claim->claimed, memory_order_relaxed) >= end) /* it is ours */
        return;
    atomic_store_explicit(&claim->claimed, end, memory_order_relaxed); /* ordered by the barrier */
    barrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);                          /* cannot fail: it was registered */
}

/* Put in place what the cells from a number on carry. */
static void place(const struct tern_ring_producer *p, const struct tern_carry *carry, uint64_t from)
{
    uint32_t cells = p->shape.cells;

    if (carry->end - from > cells) /* what the consumer wrote cannot be */
        from = carry->end - cells;
    for (; from < carry->end; from++) {
        const struct tern_carry_load *load = &carry->load[from & (cells - 1)];

        if (load->end == from + 1)
            memcpy(load->to, tern_base_ring_cell(p->ring, from, p->shape)->head + TERN_CARRY_WORDS * sizeof(uint64_t),
                   load->len);
    }
}

bool tern_base_carry_settle(struct tern_ring_producer *p, struct tern_carry *carry, bool help)
{
    struct tern_carry_claim *claim = (struct tern_carry_claim *)(void *)p->data;
    /* acquire: what the consumer put in place, before whatever follows. Pairs with tern_base_ring_consume(). */
    uint64_t                 done = atomic_load_explicit(&p->ring->cells_done, memory_order_acquire);
    uint64_t helped = atomic_load_explicit(&claim->helped, memory_order_relaxed); /* ours: in place long ago */

    if (helped >= carry->end)
        return true;
    if (done < carry->end && help) {
        claim_all(claim, carry->end);
        if (atomic_load_explicit(&p->ring->begun, memory_order_relaxed) >
            (done = atomic_load_explicit(&p->ring->cells_done, memory_order_acquire))) /* as above */
            return false;                                                              /* it is at it, or looks */
        if (done < carry->end)
            place(p, carry, done > helped ? done : helped);
        /* release: the bytes before the word of it. Pairs with the acquire in tern_base_carry_turn(). */
        atomic_store_explicit(&claim->helped, carry->end, memory_order_release);
        return true;
    }
    return done >= carry->end;
}
