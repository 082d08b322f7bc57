/* work_split.h: a sequence of work chunks that two processes take from opposite ends.
 *
 * One process, the owner, opens a run of chunks and takes the first remaining chunk; the other, the helper, takes the
 * last one. So each process does as much of the work as it can, and when the same work is repeated, each gets nearly
 * the same chunks and finds them in its caches. The owner waits for the helper only if the helper has taken chunks: it
 * reads how many of them are completed. A late helper finds no chunks, or work with another key, which it does not
 * take.
 *
 * The struct is in shared memory. The callers check the values that the helper reads there; corrupt values cause at
 * most wrong chunk numbers.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TERN_SPLIT_ARGS 4
#define TERN_SPLIT_MAX 0xffffu /* maximum number of chunks of a run */

/* Initially zero. */
struct tern_work_split {
    _Alignas(64) _Atomic uint64_t open; /* run << 32 | first << 16 | end: the remaining chunks. Writers: both */
    _Atomic uint64_t base;              /* number of the run's first chunk. Writer: the owner, while none is left */
    _Atomic uint64_t
        args[TERN_SPLIT_ARGS]; /* describe the work. Writer of args, key: the owner, before the first run */
    _Atomic uint32_t key;
    _Alignas(
        64) _Atomic uint32_t completed; /* number of chunks that the helper has completed. Writer: the helper; and the
                                              owner, before it opens the first run */
    _Atomic int32_t status;             /* the first error of these chunks; 0: none. Writers: as for completed */
};
_Static_assert(sizeof(struct tern_work_split) == 128,
               "two cache lines: one that both write, one that the helper writes");

/* The fields of the word open. */
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

/* Owner: describe new work. No chunks may remain, and the helper must have completed all chunks that it has taken. */
static inline void tern_base_split_begin(struct tern_work_split *split, uint32_t key,
                                         const uint64_t args[TERN_SPLIT_ARGS])
{
    atomic_store_explicit(&split->key, key, memory_order_relaxed); /* ordered by tern_base_split_open() */
    for (unsigned i = 0; i < TERN_SPLIT_ARGS; i++)
        atomic_store_explicit(&split->args[i], args[i], memory_order_relaxed);
    atomic_store_explicit(&split->completed, 0, memory_order_relaxed);
    atomic_store_explicit(&split->status, 0, memory_order_relaxed);
}

/* Owner: open a run of count chunks, numbered from base. No chunks of an earlier run may remain. */
static inline void tern_base_split_open(struct tern_work_split *split, uint64_t base, unsigned count)
{
    uint64_t run =
        (atomic_load_explicit(&split->open, memory_order_relaxed) >> 32) + 1; /* there is no other writer now */

    atomic_store_explicit(&split->base, base, memory_order_relaxed);
    /* release: key, args, base and the destination memory before the run. Pairs with the acquire in
     * tern_base_split_take_back(). */
    atomic_store_explicit(&split->open, run << 32 | count, memory_order_release);
}

/* Helper: return whether there may be chunks of the work with this key. The result is a hint. */
static inline bool tern_base_split_has_work(struct tern_work_split *split, uint32_t key)
{
    return tern_base_split_nonempty(atomic_load_explicit(&split->open, memory_order_relaxed)) &&
           atomic_load_explicit(&split->key, memory_order_relaxed) == key;
}

/* Owner: return whether chunks remain. */
static inline bool tern_base_split_left(struct tern_work_split *split)
{
    return tern_base_split_nonempty(
        atomic_load_explicit(&split->open, memory_order_relaxed)); /* a hint; taking a chunk decides */
}

/* Owner: return a value that changes whenever the helper takes a chunk of this run. */
static inline uint64_t tern_base_split_helper_end(struct tern_work_split *split)
{
    return atomic_load_explicit(&split->open, memory_order_relaxed) & ~0xffff0000ull; /* without first */
}

/* Owner: take the first remaining chunk. Returns false if none remains; otherwise *chunk is its number. */
static inline bool tern_base_split_take_front(struct tern_work_split *split, uint64_t *chunk)
{
    uint64_t open = atomic_load_explicit(&split->open, memory_order_relaxed);

    do {
        if (!tern_base_split_nonempty(open))
            return false;
        /* relaxed: the owner itself wrote the description of the work. */
    } while (!atomic_compare_exchange_weak_explicit(&split->open, &open, open + (1u << 16), memory_order_relaxed,
                                                    memory_order_relaxed));
    *chunk = atomic_load_explicit(&split->base, memory_order_relaxed) + tern_base_split_first(open);
    return true;
}

/* Helper: take the last remaining chunk of the work with this key. Returns false if there is none; otherwise *chunk is
 * its number. If the exchange succeeds, the run has not changed since the word was read, so key and base belong to it.
 */
static inline bool tern_base_split_take_back(struct tern_work_split *split, uint32_t key, uint64_t *chunk)
{
    /* acquire, here and below: the data that the owner wrote before it opened the run. Pairs with the release in
     * tern_base_split_open(). */
    uint64_t open = atomic_load_explicit(&split->open, memory_order_acquire);

    do {
        if (!tern_base_split_nonempty(open) || atomic_load_explicit(&split->key, memory_order_relaxed) != key)
            return false;
        *chunk = atomic_load_explicit(&split->base, memory_order_relaxed) + tern_base_split_end(open) - 1;
    } while (!atomic_compare_exchange_weak_explicit(&split->open, &open, open - 1, memory_order_acquire,
                                                    memory_order_acquire));
    return true;
}

/* Helper: complete a chunk that it has taken. A negative status is an error; the first one is kept. */
static inline void tern_base_split_complete(struct tern_work_split *split, int32_t status)
{
    if (status < 0 &&
        atomic_load_explicit(&split->status, memory_order_relaxed) == 0) /* there is no other writer now */
        atomic_store_explicit(&split->status, status, memory_order_relaxed);
    /* release: the data of the chunk and the status before the count. Pairs with the acquire in
     * tern_base_split_completed(). */
    atomic_fetch_add_explicit(&split->completed, 1, memory_order_release);
}

/* Owner: return the number of chunks that the helper has completed. */
static inline uint32_t tern_base_split_completed(struct tern_work_split *split)
{
    return atomic_load_explicit(&split->completed, memory_order_acquire); /* pairs with tern_base_split_complete() */
}

/* Owner: take all remaining chunks. Returns their number. */
static inline unsigned tern_base_split_close(struct tern_work_split *split)
{
    uint64_t open = atomic_load_explicit(&split->open, memory_order_relaxed);

    /* relaxed: the owner reads no data of the chunks. */
    while (!atomic_compare_exchange_weak_explicit(&split->open, &open, open >> 32 << 32, memory_order_relaxed,
                                                  memory_order_relaxed))
        continue;
    return tern_base_split_nonempty(open) ? tern_base_split_end(open) - tern_base_split_first(open) : 0;
}
