/* armed.h: who waits for a number to be reached: a heap, the lowest threshold first, of equal ones the oldest.
 *
 * Entries lie in what waits, which knows where it is in the heap, so that it can leave from the middle.
 */
#ifndef TERN_OP_ARMED_H
#define TERN_OP_ARMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tern_armed {
    uint64_t threshold;
    uint64_t order; /* in which it came; filled by add */
    size_t   at;    /* in the heap */
};

struct tern_armed_heap {
    struct tern_armed **entry;
    size_t              count, room;
    uint64_t            came;
};

/* False: no memory; nothing changed. */
bool tern_op_armed_add(struct tern_armed_heap *heap, struct tern_armed *armed);

/* Whether there is one whose threshold is reached. */
static inline bool tern_op_armed_due(const struct tern_armed_heap *heap, uint64_t reached)
{
    return heap->count > 0 && heap->entry[0]->threshold <= reached;
}

/* It is in the heap. */
void tern_op_armed_remove(struct tern_armed_heap *heap, const struct tern_armed *armed);

/* The first whose threshold is reached, which leaves the heap; NULL: there is none. */
struct tern_armed *tern_op_armed_take(struct tern_armed_heap *heap, uint64_t reached);

/* The heap is empty, or what is in it does not matter any more. */
void tern_op_armed_free(struct tern_armed_heap *heap);

#endif
