/* queue_lock.c: see queue_lock.h.
 *
 * Ticket t belongs to place t mod 2^log, in lap t / 2^log. A place holds the lap whose turn it is, and in that lap
 * first nobody, then the name of who waits, then perhaps that it was chosen or has left; then it holds the next lap,
 * and nobody. So a compare-and-swap by someone who looked long ago fails.
 *
 * Only the holder empties places and moves the head. Whoever finds the lock free, or given to a rank that has died,
 * while it waits itself makes itself the holder for a moment and hands on: perhaps to itself. The mark
 * TERN_QLOCK_HAS_WAITERS sends a holder that leaves to the ring. It is set by who queues up, behind its name in the
 * ring; a holder that finds the ring empty frees the word and then looks once more, so that of a name and a free
 * word one is always seen.
 * */
#include "base/queue_lock.h"

#define CHOSEN (1ull << 41) /* in a place, beside the name */
#define LEFT (1ull << 42)   /* in a place, instead of a name */
#define LAP_AT 48

static uint64_t lap_of(const struct tern_qlock_env *w, uint32_t ticket)
{
    return (uint64_t)(uint16_t)(ticket >> w->log_queue) << LAP_AT;
}

/* What a ticket's place holds when nobody has it yet, and when it is used up. */
static uint64_t unused(const struct tern_qlock_env *w, uint32_t ticket)
{
    return lap_of(w, ticket);
}

static uint64_t used(const struct tern_qlock_env *w, uint32_t ticket)
{
    return lap_of(w, ticket + (1u << w->log_queue));
}

static _Atomic uint64_t *place_of(struct tern_qlock *turn, const struct tern_qlock_env *w, uint32_t ticket)
{
    return &turn->queue[ticket & ((1u << w->log_queue) - 1)];
}

/* seq_cst in both: of a name that is written into a place and a word that is freed or marked, each before it looks at
 * the other, one is seen. Their partners are each other's calls, by waiter and holder. */
static bool swap(_Atomic uint64_t *what, uint64_t from, uint64_t to)
{
    return atomic_compare_exchange_strong_explicit(what, &from, to, memory_order_seq_cst, memory_order_seq_cst);
}

static uint64_t get(_Atomic uint64_t *what)
{
    return atomic_load_explicit(what, memory_order_seq_cst);
}

static void put(_Atomic uint64_t *what, uint64_t value)
{
    atomic_store_explicit(what, value, memory_order_seq_cst);
}

/* More steps than any sound ring makes necessary. */
static unsigned patience(const struct tern_qlock_env *w)
{
    return 64 + (4u << w->log_queue);
}

/* ---- the holder ---- */

/* The name of who waits in the place, or 0: who waited there has left, or is dead. */
static uint64_t still_there(const struct tern_qlock_env *w, uint64_t place)
{
    uint64_t name = place & TERN_QLOCK_ID_MASK;

    return name != 0 && !w->is_dead(tern_base_qlock_id_rank(name)) ? name : 0;
}

/* Nobody waits: free the word. True: it is free, or another has it. */
static bool set_free(struct tern_qlock *turn, const struct tern_qlock_env *w, uint64_t name, uint32_t head)
{
    put(&turn->word, 0);
    return get(place_of(turn, w, head)) == unused(w, head) || !swap(&turn->word, 0, name | TERN_QLOCK_HAS_WAITERS);
}

/* The holder leaves. */
static void hand_on(struct tern_qlock *turn, const struct tern_qlock_env *w, uint64_t name)
{
    uint32_t head = atomic_load_explicit(&turn->head, memory_order_relaxed); /* ordered by the word */

    for (unsigned steps = patience(w); steps > 0; steps--) {
        _Atomic uint64_t *place = place_of(turn, w, head);
        uint64_t          seen = get(place), next;

        if (seen == unused(w, head)) {
            if (set_free(turn, w, name, head))
                return;
        } else if ((seen >> LAP_AT) != (lap_of(w, head) >> LAP_AT) || !(next = still_there(w, seen))) {
            if (swap(place, seen, (seen >> LAP_AT) == (lap_of(w, head) >> LAP_AT) ? used(w, head) : seen))
                atomic_store_explicit(&turn->head, ++head, memory_order_relaxed); /* ordered by the word */
        } else if (swap(place, seen, seen | CHOSEN)) {
            put(&turn->word, next | TERN_QLOCK_HAS_WAITERS | TERN_QLOCK_HANDED_OVER);
            w->wake(tern_base_qlock_id_rank(next));
            return;
        }
    }
    put(&turn->word, 0); /* the ring is damaged */
}

enum tern_qlock_state tern_base_qlock_release(struct tern_qlock *turn, const struct tern_qlock_env *w, uint64_t name)
{
    uint64_t seen;

    if (tern_base_qlock_try_release(turn, name))
        return TERN_QLOCK_ACQUIRED;
    seen = get(&turn->word);
    if ((seen & ~TERN_QLOCK_HAS_WAITERS) != name)
        return TERN_QLOCK_NOT_OWNER;
    hand_on(turn, w, name);
    return TERN_QLOCK_ACQUIRED;
}

/* ---- who waits ---- */

/* All places are taken: take over that of the last who has left. */
static bool adopt(struct tern_qlock *turn, const struct tern_qlock_env *w, uint64_t name, uint32_t *ticket)
{
    uint32_t tail = *ticket;

    for (uint32_t back = 1; back <= 1u << w->log_queue; back++) {
        uint64_t left = lap_of(w, tail - back) | LEFT;

        if (get(place_of(turn, w, tail - back)) == left &&
            swap(place_of(turn, w, tail - back), left, lap_of(w, tail - back) | name)) {
            *ticket = tail - back;
            return true;
        }
    }
    return false;
}

/* Write the name into the next place. */
static bool queue_up(struct tern_qlock *turn, const struct tern_qlock_env *w, uint64_t name, uint32_t *ticket)
{
    for (unsigned steps = patience(w); steps > 0; steps--) {
        uint32_t          tail = atomic_load_explicit(&turn->tail, memory_order_relaxed); /* a hint */
        _Atomic uint64_t *place = place_of(turn, w, tail);
        uint64_t          seen = get(place);
        uint16_t          ahead = (uint16_t)((seen - lap_of(w, tail)) >> LAP_AT);
        bool              taken = false;

        *ticket = tail;
        if (ahead > UINT16_MAX / 2) /* the lap before is not over */
            return adopt(turn, w, name, ticket);
        if (seen == unused(w, tail))
            taken = swap(place, seen, seen | name);
        if (taken || seen != unused(w, tail)) {
            uint32_t hint = tail;
            atomic_compare_exchange_strong_explicit(&turn->tail, &hint, tail + 1, memory_order_relaxed,
                                                    memory_order_relaxed); /* a hint */
        }
        if (taken)
            return true;
    }
    return false;
}

/* See that the holder knows of the ring, or be the holder that hands on. */
static void make_known(struct tern_qlock *turn, const struct tern_qlock_env *w, uint64_t name)
{
    for (;;) {
        uint64_t seen = get(&turn->word);

        if (seen == 0) {
            if (swap(&turn->word, 0, name | TERN_QLOCK_HAS_WAITERS)) {
                hand_on(turn, w, name);
                return;
            }
        } else if ((seen & TERN_QLOCK_HAS_WAITERS) || swap(&turn->word, seen, seen | TERN_QLOCK_HAS_WAITERS)) {
            return;
        }
    }
}

/* Whether a word names a holder that died while it held the lock. */
static bool died_holding(const struct tern_qlock_env *w, uint64_t word)
{
    return word != 0 && !(word & TERN_QLOCK_HANDED_OVER) &&
           w->is_dead(tern_base_qlock_id_rank(word & TERN_QLOCK_ID_MASK));
}

enum tern_qlock_state tern_base_qlock_acquire(struct tern_qlock *turn, const struct tern_qlock_env *w, uint64_t name,
                                              uint32_t *ticket)
{
    uint64_t              seen = get(&turn->word);
    enum tern_qlock_state state;

    if (tern_base_qlock_try_acquire(turn, name))
        return TERN_QLOCK_ACQUIRED;
    if ((seen & TERN_QLOCK_ID_MASK) == name)
        return TERN_QLOCK_ALREADY_OWNER;
    if (died_holding(w, seen))
        return TERN_QLOCK_OWNER_DEAD;
    if (!queue_up(turn, w, name, ticket))
        return TERN_QLOCK_FULL;
    make_known(turn, w, name);
    state = tern_base_qlock_poll(turn, w, name, *ticket);
    if (state == TERN_QLOCK_OWNER_DEAD && tern_base_qlock_abandon(turn, w, name, *ticket) == TERN_QLOCK_ACQUIRED)
        state = TERN_QLOCK_ACQUIRED;
    return state;
}

/* One was chosen: one is the holder. False: others take one for dead, and were faster. That can be where a server makes
 * the step for one that dies meanwhile. */
static bool take(struct tern_qlock *turn, const struct tern_qlock_env *w, uint64_t name, uint32_t ticket)
{
    if (!swap(&turn->word, name | TERN_QLOCK_HAS_WAITERS | TERN_QLOCK_HANDED_OVER, name | TERN_QLOCK_HAS_WAITERS))
        return false;
    put(place_of(turn, w, ticket), used(w, ticket));
    atomic_store_explicit(&turn->head, ticket + 1, memory_order_relaxed); /* ordered by the word */
    return true;
}

enum tern_qlock_state tern_base_qlock_poll(struct tern_qlock *turn, const struct tern_qlock_env *w, uint64_t name,
                                           uint32_t ticket)
{
    for (unsigned steps = patience(w); steps > 0; steps--) {
        uint64_t seen = get(&turn->word);

        if (seen == (name | TERN_QLOCK_HAS_WAITERS | TERN_QLOCK_HANDED_OVER)) {
            if (take(turn, w, name, ticket))
                return TERN_QLOCK_ACQUIRED;
            continue;
        }
        if (died_holding(w, seen))
            return TERN_QLOCK_OWNER_DEAD;
        if (seen != 0 && !w->is_dead(tern_base_qlock_id_rank(seen & TERN_QLOCK_ID_MASK)))
            return TERN_QLOCK_WAITING;
        if (swap(&turn->word, seen, name | TERN_QLOCK_HAS_WAITERS)) /* free, or given to one that died */
            hand_on(turn, w, name);
    }
    return TERN_QLOCK_WAITING;
}

enum tern_qlock_state tern_base_qlock_abandon(struct tern_qlock *turn, const struct tern_qlock_env *w, uint64_t name,
                                              uint32_t ticket)
{
    uint64_t lap = lap_of(w, ticket);

    if (swap(place_of(turn, w, ticket), lap | name, lap | LEFT))
        return TERN_QLOCK_NOT_OWNER;
    return tern_base_qlock_poll(turn, w, name, ticket);
}
