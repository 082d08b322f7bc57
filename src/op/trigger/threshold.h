/* threshold.h: who waits for a number to be reached: the lowest threshold first, of equal ones the oldest.
 *
 * Those whose thresholds come in ascending order, as those of a chain do, stand in a line; the others are in a heap.
 * Entries lie in what waits, which knows where it is, so that it can leave from the middle.
 */
#ifndef TERN_OP_TRIGGER_THRESHOLD_H
#define TERN_OP_TRIGGER_THRESHOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tern_threshold {
    uint64_t               threshold;
    uint64_t               order;         /* in which it came; filled by add */
    struct tern_threshold *next, *before; /* in the line */
    size_t                 at;            /* in the heap; TERN_THRESHOLD_IN_FIFO: it is in the line */
};

#define TERN_THRESHOLD_IN_FIFO SIZE_MAX

struct tern_threshold_queue {
    struct tern_threshold  *first, *last; /* the line */
    struct tern_threshold **entry;        /* the heap */
    size_t                  count, room;
    uint64_t                came;
};

/* False: no memory; nothing changed. */
bool tern_op_threshold_add(struct tern_threshold_queue *heap, struct tern_threshold *armed);

/* It is there. */
void tern_op_threshold_remove(struct tern_threshold_queue *heap, const struct tern_threshold *armed);

/* Whether there is one whose threshold is reached. */
static inline bool tern_op_threshold_reached(const struct tern_threshold_queue *heap, uint64_t reached)
{
    return (heap->first && heap->first->threshold <= reached) ||
           (heap->count > 0 && heap->entry[0]->threshold <= reached);
}

/* The first whose threshold is reached, which leaves; NULL: there is none. */
struct tern_threshold *tern_op_threshold_pop(struct tern_threshold_queue *heap, uint64_t reached);

/* All of them, one after the other, in any order; armed NULL: the first. NULL: there are no more. */
struct tern_threshold *tern_op_threshold_next(const struct tern_threshold_queue *heap,
                                              const struct tern_threshold       *armed);

/* What is in it does not matter any more. */
void tern_op_threshold_free(struct tern_threshold_queue *heap);

#endif
