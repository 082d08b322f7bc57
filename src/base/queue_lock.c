/* queue_lock.c: see queue_lock.h.
 *
 * Ticket t belongs to slot t mod 2^log, in lap t / 2^log. A slot contains the number of the current lap and its state
 * in that lap: first empty, then the id of the waiter, then possibly the id with CHOSEN, or ABANDONED; then the next
 * lap, empty. Because the lap is part of the value, a compare-and-swap with a stale value fails.
 *
 * Only the holder empties slots and advances the head. A waiter that finds the lock free, or handed over to a rank that
 * has died, makes itself the holder for a moment and hands the lock over, perhaps to itself. The flag
 * TERN_QLOCK_HAS_WAITERS tells a releasing holder to check the queue. A waiter sets the flag after it has written its
 * id into the queue. A holder that finds the queue empty frees the word and then checks the queue once more. So either
 * the holder sees the id, or the waiter sees the free word.
 * */
#include "base/queue_lock.h"

#define CHOSEN (1ull << 41)    /* in a slot, together with the id */
#define ABANDONED (1ull << 42) /* in a slot, instead of an id */
#define LAP_AT 48

/* Return the value of a ticket's slot before a waiter has written its id. A finished slot has the value of the next
 * lap. */
static uint64_t lap_of(const struct tern_qlock_env *env, uint32_t ticket)
{
    return (uint64_t)(uint16_t)(ticket >> env->log_queue) << LAP_AT;
}

static _Atomic uint64_t *slot_of(struct tern_qlock *lock, const struct tern_qlock_env *env, uint32_t ticket)
{
    return &lock->queue[ticket & ((1u << env->log_queue) - 1)];
}

/* seq_cst, here and in all plain atomic_load() and atomic_store() below: the waiter writes its id into a slot and then
 * reads the word; the holder frees or flags the word and then reads the slot. At least one of them sees the other's
 * store. The partners are these accesses by waiter and holder. */
static bool swap(_Atomic uint64_t *what, uint64_t from, uint64_t to)
{
    return atomic_compare_exchange_strong(what, &from, to);
}

/* Return a bound for loops: more steps than an undamaged queue needs. */
static unsigned max_steps(const struct tern_qlock_env *env)
{
    return 64 + (4u << env->log_queue);
}

/* ---- the holder ---- */

/* Return the id of the waiter in a slot with the given value, or 0 if that waiter has abandoned the slot or is dead. */
static uint64_t live_waiter(const struct tern_qlock_env *env, uint64_t slot)
{
    uint64_t id = slot & TERN_QLOCK_ID_MASK;

    return id != 0 && !env->is_dead(tern_base_qlock_id_rank(id)) ? id : 0;
}

/* The queue is empty: free the word. Returns true if the word is free or has a new holder; false if a waiter arrived
 * meanwhile and the caller is the holder again. */
static bool free_word(struct tern_qlock *lock, const struct tern_qlock_env *env, uint64_t id, uint32_t head)
{
    atomic_store(&lock->word, 0);
    return atomic_load(slot_of(lock, env, head)) == lap_of(env, head) ||
           !swap(&lock->word, 0, id | TERN_QLOCK_HAS_WAITERS);
}

/* Hand the lock over from its holder, id, to the first live waiter, or free it if there is none. */
static void hand_over(struct tern_qlock *lock, const struct tern_qlock_env *env, uint64_t id)
{
    uint32_t head = atomic_load_explicit(&lock->head, memory_order_relaxed); /* ordered by the word */

    for (unsigned steps = max_steps(env); steps > 0; steps--) {
        _Atomic uint64_t *slot = slot_of(lock, env, head);
        uint64_t          seen = atomic_load(slot), next;

        if (seen == lap_of(env, head)) {
            if (free_word(lock, env, id, head))
                return;
        } else if ((seen >> LAP_AT) != (lap_of(env, head) >> LAP_AT) || !(next = live_waiter(env, seen))) {
            if (swap(slot, seen,
                     (seen >> LAP_AT) == (lap_of(env, head) >> LAP_AT) ? lap_of(env, head + (1u << env->log_queue))
                                                                       : seen))
                atomic_store_explicit(&lock->head, ++head, memory_order_relaxed); /* ordered by the word */
        } else if (swap(slot, seen, seen | CHOSEN)) {
            atomic_store(&lock->word, next | TERN_QLOCK_HAS_WAITERS | TERN_QLOCK_HANDED_OVER);
            env->wake(tern_base_qlock_id_rank(next));
            return;
        }
    }
    atomic_store(&lock->word, 0); /* the queue is damaged */
}

enum tern_qlock_state tern_base_qlock_release(struct tern_qlock *lock, const struct tern_qlock_env *env, uint64_t id)
{
    uint64_t seen;

    if (tern_base_qlock_try_release(lock, id))
        return TERN_QLOCK_ACQUIRED;
    seen = atomic_load(&lock->word);
    if ((seen & ~TERN_QLOCK_HAS_WAITERS) != id)
        return TERN_QLOCK_NOT_OWNER;
    hand_over(lock, env, id);
    return TERN_QLOCK_ACQUIRED;
}

/* ---- the waiters ---- */

/* All slots are in use: take over the last slot that its waiter has abandoned. Returns false if there is none. */
static bool reuse_abandoned(struct tern_qlock *lock, const struct tern_qlock_env *env, uint64_t id, uint32_t *ticket)
{
    uint32_t tail = *ticket;

    for (uint32_t back = 1; back <= 1u << env->log_queue; back++) {
        uint64_t left = lap_of(env, tail - back) | ABANDONED;

        if (atomic_load(slot_of(lock, env, tail - back)) == left &&
            swap(slot_of(lock, env, tail - back), left, lap_of(env, tail - back) | id)) {
            *ticket = tail - back;
            return true;
        }
    }
    return false;
}

/* Write the id into the next slot and set *ticket. Returns false if the queue is full. */
static bool enqueue(struct tern_qlock *lock, const struct tern_qlock_env *env, uint64_t id, uint32_t *ticket)
{
    for (unsigned steps = max_steps(env); steps > 0; steps--) {
        uint32_t          tail = atomic_load_explicit(&lock->tail, memory_order_relaxed); /* a hint */
        _Atomic uint64_t *slot = slot_of(lock, env, tail);
        uint64_t          seen = atomic_load(slot);
        uint16_t          ahead = (uint16_t)((seen - lap_of(env, tail)) >> LAP_AT);
        bool              taken = false;

        *ticket = tail;
        if (ahead > UINT16_MAX / 2) /* the slot is still in use in the previous lap */
            return reuse_abandoned(lock, env, id, ticket);
        if (seen == lap_of(env, tail))
            taken = swap(slot, seen, seen | id);
        if (taken || seen != lap_of(env, tail)) {
            uint32_t hint = tail;
            atomic_compare_exchange_strong_explicit(&lock->tail, &hint, tail + 1, memory_order_relaxed,
                                                    memory_order_relaxed); /* a hint */
        }
        if (taken)
            return true;
    }
    return false;
}

/* Make sure that the holder will check the queue. If the lock is free, become the holder and hand it over. */
static void announce_waiter(struct tern_qlock *lock, const struct tern_qlock_env *env, uint64_t id)
{
    for (;;) {
        uint64_t seen = atomic_load(&lock->word);

        if (seen == 0) {
            if (swap(&lock->word, 0, id | TERN_QLOCK_HAS_WAITERS)) {
                hand_over(lock, env, id);
                return;
            }
        } else if ((seen & TERN_QLOCK_HAS_WAITERS) || swap(&lock->word, seen, seen | TERN_QLOCK_HAS_WAITERS)) {
            return;
        }
    }
}

/* Return whether the word contains a holder that died while it held the lock. */
static bool died_holding(const struct tern_qlock_env *env, uint64_t word)
{
    return word != 0 && !(word & TERN_QLOCK_HANDED_OVER) &&
           env->is_dead(tern_base_qlock_id_rank(word & TERN_QLOCK_ID_MASK));
}

enum tern_qlock_state tern_base_qlock_acquire(struct tern_qlock *lock, const struct tern_qlock_env *env, uint64_t id,
                                              uint32_t *ticket)
{
    uint64_t              seen = atomic_load(&lock->word);
    enum tern_qlock_state state;

    if (tern_base_qlock_try_acquire(lock, id))
        return TERN_QLOCK_ACQUIRED;
    if ((seen & TERN_QLOCK_ID_MASK) == id)
        return TERN_QLOCK_ALREADY_OWNER;
    if (died_holding(env, seen))
        return TERN_QLOCK_OWNER_DEAD;
    if (!enqueue(lock, env, id, ticket))
        return TERN_QLOCK_FULL;
    announce_waiter(lock, env, id);
    state = tern_base_qlock_poll(lock, env, id, *ticket);
    if (state == TERN_QLOCK_OWNER_DEAD && tern_base_qlock_abandon(lock, env, id, *ticket) == TERN_QLOCK_ACQUIRED)
        state = TERN_QLOCK_ACQUIRED;
    return state;
}

/* Accept the lock as the chosen waiter. Returns false if another participant considers this one dead and has taken the
 * lock away; this happens when a server acts for a participant that dies meanwhile. */
static bool accept_lock(struct tern_qlock *lock, const struct tern_qlock_env *env, uint64_t id, uint32_t ticket)
{
    if (!swap(&lock->word, id | TERN_QLOCK_HAS_WAITERS | TERN_QLOCK_HANDED_OVER, id | TERN_QLOCK_HAS_WAITERS))
        return false;
    atomic_store(slot_of(lock, env, ticket), lap_of(env, ticket + (1u << env->log_queue)));
    atomic_store_explicit(&lock->head, ticket + 1, memory_order_relaxed); /* ordered by the word */
    return true;
}

enum tern_qlock_state tern_base_qlock_poll(struct tern_qlock *lock, const struct tern_qlock_env *env, uint64_t id,
                                           uint32_t ticket)
{
    for (unsigned steps = max_steps(env); steps > 0; steps--) {
        uint64_t seen = atomic_load(&lock->word);

        if (seen == (id | TERN_QLOCK_HAS_WAITERS | TERN_QLOCK_HANDED_OVER)) {
            if (accept_lock(lock, env, id, ticket))
                return TERN_QLOCK_ACQUIRED;
            continue;
        }
        if (died_holding(env, seen))
            return TERN_QLOCK_OWNER_DEAD;
        if (seen != 0 && !env->is_dead(tern_base_qlock_id_rank(seen & TERN_QLOCK_ID_MASK)))
            return TERN_QLOCK_WAITING;
        if (swap(&lock->word, seen, id | TERN_QLOCK_HAS_WAITERS)) /* free, or handed over to a dead waiter */
            hand_over(lock, env, id);
    }
    return TERN_QLOCK_WAITING;
}

enum tern_qlock_state tern_base_qlock_abandon(struct tern_qlock *lock, const struct tern_qlock_env *env, uint64_t id,
                                              uint32_t ticket)
{
    uint64_t lap = lap_of(env, ticket);

    if (swap(slot_of(lock, env, ticket), lap | id, lap | ABANDONED))
        return TERN_QLOCK_NOT_OWNER;
    return tern_base_qlock_poll(lock, env, id, ticket);
}
