/* threshold.h: a priority queue of entries that wait for a number to reach their threshold. The lowest threshold comes
 * first; entries with equal thresholds are in FIFO order.
 *
 * Entries that are added with ascending thresholds, as in a chain, are in a FIFO list; all others are in a heap. The
 * entries are embedded in the waiting objects and know their position, so that they can be removed from the middle.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tern_threshold {
    uint64_t               threshold;
    uint64_t               order;         /* order of insertion; set by tern_op_threshold_add */
    struct tern_threshold *next, *before; /* in the FIFO list */
    size_t                 at;            /* index in the heap; TERN_THRESHOLD_IN_FIFO: in the FIFO list */
};

#define TERN_THRESHOLD_IN_FIFO SIZE_MAX

struct tern_threshold_queue {
    struct tern_threshold  *first, *last; /* the FIFO list */
    struct tern_threshold **entry;        /* the heap */
    size_t                  count, capacity;
    uint64_t                came;
};

/* Add an entry. Returns false if there is no memory; then the queue is unchanged. */
bool tern_op_threshold_add(struct tern_threshold_queue *heap, struct tern_threshold *armed);

/* Remove an entry, which must be in the queue. */
void tern_op_threshold_remove(struct tern_threshold_queue *heap, const struct tern_threshold *armed);

/* Return whether the threshold of any entry is reached. */
static inline bool tern_op_threshold_reached(const struct tern_threshold_queue *heap, uint64_t reached)
{
    return (heap->first && heap->first->threshold <= reached) ||
           (heap->count > 0 && heap->entry[0]->threshold <= reached);
}

/* Remove and return the first entry whose threshold is reached; NULL: there is none. */
struct tern_threshold *tern_op_threshold_pop(struct tern_threshold_queue *heap, uint64_t reached);

/* Iterate over all entries in any order: returns the entry after armed, or the first one if armed is NULL. Returns NULL
 * after the last entry. */
struct tern_threshold *tern_op_threshold_next(const struct tern_threshold_queue *heap,
                                              const struct tern_threshold       *armed);

/* Free the memory of the queue. Its entries are ignored. */
void tern_op_threshold_free(struct tern_threshold_queue *heap);
