/* work_split.h: pieces of work that two processes take from both ends.
 *
 * One of them, the owner, opens a run of pieces and takes the first that is left; the other, the helper, takes the
 * last. So each does as much as it can, and where the same work comes again each has much the same pieces, in its own
 * caches. Nobody waits for the helper but for pieces that it has taken: the owner asks how many of them have landed. A
 * helper that comes late finds nothing, or the work of another key, which it does not take.
 *
 * It lies in shared memory. What the helper reads there is checked by who calls; nonsense leads at most to wrong
 * numbers of pieces.
 */
#ifndef TERN_BASE_WORK_SPLIT_H
#define TERN_BASE_WORK_SPLIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TERN_SPLIT_ARGS 4
#define TERN_SPLIT_MAX 0xffffu /* pieces of a run */

/* Zero at first. */
struct tern_work_split {
    _Alignas(64) _Atomic uint64_t open;     /* turn << 32 | first << 16 | end: the pieces of the run that are left */
    _Atomic uint64_t base;                  /* number of the run's first piece. Writer: the owner, while none is left */
    _Atomic uint64_t args[TERN_SPLIT_ARGS]; /* what the work is; this and key: writer the owner, before the first run */
    _Atomic uint32_t key;
    _Alignas(
        64) _Atomic uint32_t completed; /* pieces that the helper has done. Writer: the helper; and the owner, before
                                              it opens the first run */
    _Atomic int32_t status;             /* what failed first of them. Writer: the same */
};
_Static_assert(sizeof(struct tern_work_split) == 128, "two lines: one that both write, one of the helper's");

static inline unsigned tern_base_split_first(uint64_t open)
{
    return (unsigned)(open >> 16) & 0xffff;
}

static inline unsigned tern_base_split_end(uint64_t open)
{
    return (unsigned)open & 0xffff;
}

static inline bool tern_base_split_nonempty(uint64_t open)
{
    return tern_base_split_first(open) < tern_base_split_end(open);
}

/* The owner begins a work. Nothing is left, and nobody has pieces that have not landed. */
static inline void tern_base_split_begin(struct tern_work_split *share, uint32_t key,
                                         const uint64_t note[TERN_SPLIT_ARGS])
{
    atomic_store_explicit(&share->key, key, memory_order_relaxed); /* tern_base_split_open() orders */
    for (unsigned i = 0; i < TERN_SPLIT_ARGS; i++)
        atomic_store_explicit(&share->args[i], note[i], memory_order_relaxed);
    atomic_store_explicit(&share->completed, 0, memory_order_relaxed);
    atomic_store_explicit(&share->status, 0, memory_order_relaxed);
}

/* The owner opens a run of count pieces, of which base is the first. Nothing is left. */
static inline void tern_base_split_open(struct tern_work_split *share, uint64_t base, unsigned count)
{
    uint64_t turn = (atomic_load_explicit(&share->open, memory_order_relaxed) >> 32) + 1; /* nobody else writes now */

    atomic_store_explicit(&share->base, base, memory_order_relaxed);
    /* release: key, base, and the memory that is to be filled, before the run. Pairs with the acquire in
     * tern_base_split_take_back(). */
    atomic_store_explicit(&share->open, turn << 32 | count, memory_order_release);
}

/* Whether there may be something for the helper; a hint. */
static inline bool tern_base_split_has_work(struct tern_work_split *share, uint32_t key)
{
    return tern_base_split_nonempty(atomic_load_explicit(&share->open, memory_order_relaxed)) &&
           atomic_load_explicit(&share->key, memory_order_relaxed) == key;
}

/* The owner: whether pieces are left; and what the helper has left of this run, which changes when it takes one. */
static inline bool tern_base_split_left(struct tern_work_split *share)
{
    return tern_base_split_nonempty(
        atomic_load_explicit(&share->open, memory_order_relaxed)); /* take_first() decides */
}

static inline uint64_t tern_base_split_helper_end(struct tern_work_split *share)
{
    return atomic_load_explicit(&share->open, memory_order_relaxed) & ~0xffff0000ull; /* but for first */
}

/* The owner takes a piece. */
static inline bool tern_base_split_take_front(struct tern_work_split *share, uint64_t *piece)
{
    uint64_t open = atomic_load_explicit(&share->open, memory_order_relaxed);

    do {
        if (!tern_base_split_nonempty(open))
            return false;
        /* relaxed: what the piece is the owner knows. */
    } while (!atomic_compare_exchange_weak_explicit(&share->open, &open, open + (1u << 16), memory_order_relaxed,
                                                    memory_order_relaxed));
    *piece = atomic_load_explicit(&share->base, memory_order_relaxed) + tern_base_split_first(open);
    return true;
}

/* The helper takes a piece of the work of that key. Where the exchange succeeds the turn has not changed since the word
 * was read, so key and base are of this turn. */
static inline bool tern_base_split_take_back(struct tern_work_split *share, uint32_t key, uint64_t *piece)
{
    /* acquire, and below: what the owner wrote before it opened the run. Pairs with tern_base_split_open(). */
    uint64_t open = atomic_load_explicit(&share->open, memory_order_acquire);

    do {
        if (!tern_base_split_nonempty(open) || atomic_load_explicit(&share->key, memory_order_relaxed) != key)
            return false;
        *piece = atomic_load_explicit(&share->base, memory_order_relaxed) + tern_base_split_end(open) - 1;
    } while (!atomic_compare_exchange_weak_explicit(&share->open, &open, open - 1, memory_order_acquire,
                                                    memory_order_acquire));
    return true;
}

/* The helper has done a piece that it took, or could not. */
static inline void tern_base_split_complete(struct tern_work_split *share, int32_t status)
{
    if (status < 0 && atomic_load_explicit(&share->status, memory_order_relaxed) == 0) /* nobody else writes now */
        atomic_store_explicit(&share->status, status, memory_order_relaxed);
    /* release: the piece, and how it ended, before its number. Pairs with tern_base_split_completed(). */
    atomic_fetch_add_explicit(&share->completed, 1, memory_order_release);
}

/* The owner: pieces that the helper has done. */
static inline uint32_t tern_base_split_completed(struct tern_work_split *share)
{
    return atomic_load_explicit(&share->completed, memory_order_acquire); /* pairs with tern_base_split_complete() */
}

/* The owner takes everything that is left. Returns how many pieces. */
static inline unsigned tern_base_split_close(struct tern_work_split *share)
{
    uint64_t open = atomic_load_explicit(&share->open, memory_order_relaxed);

    /* relaxed: nothing is read of them. */
    while (!atomic_compare_exchange_weak_explicit(&share->open, &open, open >> 32 << 32, memory_order_relaxed,
                                                  memory_order_relaxed))
        continue;
    return tern_base_split_nonempty(open) ? tern_base_split_end(open) - tern_base_split_first(open) : 0;
}

#endif
