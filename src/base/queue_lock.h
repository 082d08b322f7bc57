/* queue_lock.h: a lock in shared memory whose waiters have their turn in the order in which they came.
 *
 * A word names the holder; free, it is taken and given back by one compare-and-swap each. Whoever finds it taken queues
 * up: it writes its name into the next place of a ring. The holder that leaves chooses the first in the ring who is
 * still there, and names it in the word; the chosen one takes the lock when it sees that, and empties its place.
 *
 * Nobody waits in here: the functions say how things stand, and who calls them waits as it likes. Any participant may
 * die at any moment. One that waited, or was chosen and has not taken the lock, is passed over; one that held the lock
 * is named to those who wait. What is called by whom for whom does not matter: a server may do it for a participant
 * that cannot reach the memory.
 *
 * Everything in it has fixed widths; numbers from outside lead at most to nonsense within the lock's own memory.
 */
#ifndef TERN_BASE_QUEUE_LOCK_H
#define TERN_BASE_QUEUE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who takes part: a rank of the job and one of its contexts. */
#define TERN_QLOCK_CONTEXTS (1u << 24) /* that can be told apart */

static inline uint64_t tern_base_qlock_id(unsigned rank, uint32_t context)
{
    return ((uint64_t)rank + 1) << 24 | (context & (TERN_QLOCK_CONTEXTS - 1));
}

static inline unsigned tern_base_qlock_id_rank(uint64_t name)
{
    return (unsigned)(name >> 24) - 1;
}

/* In the word, beside the holder's name. */
#define TERN_QLOCK_ID_MASK ((1ull << 41) - 1)
#define TERN_QLOCK_HAS_WAITERS (1ull << 41) /* somebody may be in the ring */
#define TERN_QLOCK_HANDED_OVER (1ull << 42) /* the holder was chosen and has not taken it yet */

struct tern_qlock {
    _Alignas(64) _Atomic uint64_t word;    /* 0: free */
    _Atomic uint32_t tail;                 /* places that were taken, or fewer: everyone moves it on */
    _Atomic uint32_t head;                 /* places that are used up. Writer: the holder */
    _Alignas(64) _Atomic uint64_t queue[]; /* [1 << log]: the lap, and who waits; see queue_lock.c. All 0: nobody */
};

/* What a lock needs to know of its world. */
struct tern_qlock_env {
    unsigned log_queue;             /* of the places */
    bool (*is_dead)(unsigned rank); /* it is dead */
    void (*wake)(unsigned rank);    /* one of its contexts has been chosen: let it look */
};

static inline size_t tern_base_qlock_bytes(unsigned log)
{
    return sizeof(struct tern_qlock) + (((sizeof(uint64_t) << log) + 63) & ~(size_t)63);
}

enum tern_qlock_state {
    TERN_QLOCK_ACQUIRED,      /* it has the lock */
    TERN_QLOCK_WAITING,       /* it waits for its turn */
    TERN_QLOCK_FULL,          /* there is no place to wait: try again later */
    TERN_QLOCK_OWNER_DEAD,    /* the holder is dead */
    TERN_QLOCK_NOT_OWNER,     /* it does not have the lock; leave: it has left the ring */
    TERN_QLOCK_ALREADY_OWNER, /* it has the lock already */
    TERN_QLOCK_STATES
};

/* Take it if it is free. */
static inline bool tern_base_qlock_try_acquire(struct tern_qlock *turn, uint64_t name)
{
    uint64_t free = 0;

    /* acquire: what the last holder wrote. Pairs with the release in tern_base_qlock_try_release() and hand_on(). */
    return atomic_compare_exchange_strong_explicit(&turn->word, &free, name, memory_order_acquire,
                                                   memory_order_relaxed);
}

/* Give it back if nobody waits. False: somebody does, or it is not held. */
static inline bool tern_base_qlock_try_release(struct tern_qlock *turn, uint64_t name)
{
    /* release: what the holder wrote. Pairs with the acquire in tern_base_qlock_try_acquire(). */
    return atomic_compare_exchange_strong_explicit(&turn->word, &name, 0, memory_order_release, memory_order_relaxed);
}

/* Who has it, or was chosen; 0: nobody. */
static inline uint64_t tern_base_qlock_holder(const struct tern_qlock *turn)
{
    return atomic_load_explicit(&turn->word, memory_order_relaxed) & TERN_QLOCK_ID_MASK;
}

/* Take it, or queue up; *ticket names the place. MINE, WAIT, FULL, LOST, HELD. */
enum tern_qlock_state tern_base_qlock_acquire(struct tern_qlock *turn, const struct tern_qlock_env *world,
                                              uint64_t name, uint32_t *ticket);

/* Look whether it is one's turn. MINE, WAIT, LOST; after LOST one is still in the ring. */
enum tern_qlock_state tern_base_qlock_poll(struct tern_qlock *turn, const struct tern_qlock_env *world, uint64_t name,
                                           uint32_t ticket);

/* Stop waiting. NOT: done. Otherwise one has been chosen already: as look. */
enum tern_qlock_state tern_base_qlock_abandon(struct tern_qlock *turn, const struct tern_qlock_env *world,
                                              uint64_t name, uint32_t ticket);

/* Give it to the next. MINE: it was held, and is given away. NOT: it was not held. */
enum tern_qlock_state tern_base_qlock_release(struct tern_qlock *turn, const struct tern_qlock_env *world,
                                              uint64_t name);

#endif
