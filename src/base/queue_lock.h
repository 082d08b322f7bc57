/* queue_lock.h: a robust FIFO queue lock in shared memory.
 *
 * A word contains the id of the holder. An uncontended lock is acquired and released with one compare-and-swap each. A
 * participant that finds the lock held writes its id into the next slot of a circular queue. On release, the holder
 * chooses the first waiter that is alive and has not abandoned its slot, and writes that waiter's id into the word. The
 * chosen waiter accepts the handover when it polls the word, and then empties its slot.
 *
 * No function here blocks: each returns the state of the lock, and the caller decides how to wait. Any participant may
 * die at any moment. A participant that dies while it waits, or after it was chosen but before it accepted the lock, is
 * skipped. If the holder dies, the waiters get OWNER_DEAD. The functions do not depend on the calling process: a server
 * may call them on behalf of a participant that cannot access the memory.
 *
 * All fields have fixed widths. Corrupt values in the shared memory cannot cause accesses outside the lock's own
 * memory.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The id of a participant consists of a rank of the job and one of its contexts. */
#define TERN_QLOCK_CONTEXTS (1u << 24) /* number of distinct contexts per rank */

static inline uint64_t tern_base_qlock_id(unsigned rank, uint32_t context)
{
    return ((uint64_t)rank + 1) << 24 | (context & (TERN_QLOCK_CONTEXTS - 1));
}

static inline unsigned tern_base_qlock_id_rank(uint64_t id)
{
    return (unsigned)(id >> 24) - 1;
}

/* Contents of the word: the holder's id and two flags. */
#define TERN_QLOCK_ID_MASK ((1ull << 41) - 1)
#define TERN_QLOCK_HAS_WAITERS (1ull << 41) /* there may be waiters in the queue */
#define TERN_QLOCK_HANDED_OVER (1ull << 42) /* the holder was chosen but has not accepted the lock yet */

struct tern_qlock {
    _Alignas(64) _Atomic uint64_t word;    /* 0: free */
    _Atomic uint32_t tail;                 /* hint: number of slots used so far, or less. Writers: all participants */
    _Atomic uint32_t head;                 /* number of slots that are finished. Writer: the holder */
    _Alignas(64) _Atomic uint64_t queue[]; /* [1 << log]: lap and waiter; see queue_lock.c. Initially 0 */
};

/* Parameters and callbacks that the lock needs. */
struct tern_qlock_env {
    unsigned log_queue;             /* log2 of the number of slots */
    bool (*is_dead)(unsigned rank); /* returns whether the rank is dead */
    void (*wake)(unsigned rank);    /* wakes the rank, because one of its contexts was chosen and must poll */
};

/* Return the size of a lock with 1 << log slots, in bytes. */
static inline size_t tern_base_qlock_bytes(unsigned log)
{
    return sizeof(struct tern_qlock) + (((sizeof(uint64_t) << log) + 63) & ~(size_t)63);
}

enum tern_qlock_state {
    TERN_QLOCK_ACQUIRED,      /* the participant holds the lock */
    TERN_QLOCK_WAITING,       /* the participant is in the queue */
    TERN_QLOCK_FULL,          /* the queue is full: try again later */
    TERN_QLOCK_OWNER_DEAD,    /* the holder died while it held the lock */
    TERN_QLOCK_NOT_OWNER,     /* the participant does not hold the lock; from abandon: it has left the queue */
    TERN_QLOCK_ALREADY_OWNER, /* the participant already held the lock before the call */
    TERN_QLOCK_STATES
};

/* Acquire the lock if it is free. Returns whether the participant id holds it now. */
static inline bool tern_base_qlock_try_acquire(struct tern_qlock *lock, uint64_t id)
{
    uint64_t free = 0;

    /* acquire: the data that the last holder wrote. Pairs with the releases in tern_base_qlock_try_release() and
     * hand_over(). */
    return atomic_compare_exchange_strong_explicit(&lock->word, &free, id, memory_order_acquire, memory_order_relaxed);
}

/* Release the lock if there are no waiters. Returns false if there are waiters, or if the participant id does not hold
 * the lock. */
static inline bool tern_base_qlock_try_release(struct tern_qlock *lock, uint64_t id)
{
    /* release: the data that the holder wrote. Pairs with the acquire in tern_base_qlock_try_acquire(). */
    return atomic_compare_exchange_strong_explicit(&lock->word, &id, 0, memory_order_release, memory_order_relaxed);
}

/* Return the id of the participant that holds the lock or was chosen as the next holder; 0 if the lock is free. */
static inline uint64_t tern_base_qlock_holder(const struct tern_qlock *lock)
{
    return atomic_load_explicit(&lock->word, memory_order_relaxed) & TERN_QLOCK_ID_MASK;
}

/* Acquire the lock, or enter the queue and set *ticket to the position there. Returns ACQUIRED, WAITING, FULL,
 * OWNER_DEAD or ALREADY_OWNER. The participant is in the queue only after WAITING. */
enum tern_qlock_state tern_base_qlock_acquire(struct tern_qlock *lock, const struct tern_qlock_env *env, uint64_t id,
                                              uint32_t *ticket);

/* Check whether a waiter has been chosen, and accept the lock if so. ticket is the one that acquire returned. Returns
 * ACQUIRED, WAITING or OWNER_DEAD; after OWNER_DEAD the participant is still in the queue. */
enum tern_qlock_state tern_base_qlock_poll(struct tern_qlock *lock, const struct tern_qlock_env *env, uint64_t id,
                                           uint32_t ticket);

/* Stop waiting. Returns NOT_OWNER if the participant has left the queue. Otherwise it was already chosen, and the
 * result is that of tern_base_qlock_poll(). */
enum tern_qlock_state tern_base_qlock_abandon(struct tern_qlock *lock, const struct tern_qlock_env *env, uint64_t id,
                                              uint32_t ticket);

/* Release the lock and hand it over to the next waiter, if any. Returns ACQUIRED if the participant held the lock (it
 * does not any more), and NOT_OWNER if it did not. */
enum tern_qlock_state tern_base_qlock_release(struct tern_qlock *lock, const struct tern_qlock_env *env, uint64_t id);
