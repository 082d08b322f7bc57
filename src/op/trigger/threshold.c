/* threshold.c: see threshold.h. */
#include "op/trigger/threshold.h"

#include <stdlib.h>

#define FIRST_CAPACITY 16

static bool is_before(const struct tern_threshold *a, const struct tern_threshold *b)
{
    return a->threshold != b->threshold ? a->threshold < b->threshold : a->order < b->order;
}

static void place(struct tern_threshold_queue *heap, size_t at, struct tern_threshold *armed)
{
    heap->entry[at] = armed;
    armed->at = at;
}

/* Insert an entry into the heap, moving up from a free position. */
static void rise(struct tern_threshold_queue *heap, size_t at, struct tern_threshold *armed)
{
    for (; at > 0 && is_before(armed, heap->entry[(at - 1) / 2]); at = (at - 1) / 2)
        place(heap, at, heap->entry[(at - 1) / 2]);
    place(heap, at, armed);
}

/* Insert an entry into the heap, moving down from a free position. */
static void sink(struct tern_threshold_queue *heap, size_t at, struct tern_threshold *armed)
{
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && is_before(heap->entry[child + 1], heap->entry[child]))
            child++;
        if (!is_before(heap->entry[child], armed))
            break;
        place(heap, at, heap->entry[child]);
    }
    place(heap, at, armed);
}

static bool heap_add(struct tern_threshold_queue *heap, struct tern_threshold *armed)
{
    if (heap->count == heap->capacity) {
        size_t                  capacity = heap->capacity > 0 ? 2 * heap->capacity : FIRST_CAPACITY;
        struct tern_threshold **entry = realloc(heap->entry, capacity * sizeof(struct tern_threshold *));

        if (!entry)
            return false;
        heap->entry = entry;
        heap->capacity = capacity;
    }
    rise(heap, heap->count++, armed);
    return true;
}

static void heap_remove(struct tern_threshold_queue *heap, const struct tern_threshold *armed)
{
    struct tern_threshold *last = heap->entry[--heap->count];

    if (last == armed)
        return;
    if (is_before(last, armed))
        rise(heap, armed->at, last);
    else
        sink(heap, armed->at, last);
}

static void fifo_add(struct tern_threshold_queue *heap, struct tern_threshold *armed)
{
    armed->at = TERN_THRESHOLD_IN_FIFO;
    armed->next = NULL;
    armed->before = heap->last;
    *(heap->last ? &heap->last->next : &heap->first) = armed;
    heap->last = armed;
}

static void fifo_remove(struct tern_threshold_queue *heap, const struct tern_threshold *armed)
{
    *(armed->before ? &armed->before->next : &heap->first) = armed->next;
    *(armed->next ? &armed->next->before : &heap->last) = armed->before;
}

bool tern_op_threshold_add(struct tern_threshold_queue *heap, struct tern_threshold *armed)
{
    armed->order = heap->came++;
    if (heap->last && armed->threshold < heap->last->threshold)
        return heap_add(heap, armed);
    fifo_add(heap, armed);
    return true;
}

void tern_op_threshold_remove(struct tern_threshold_queue *heap, const struct tern_threshold *armed)
{
    if (armed->at == TERN_THRESHOLD_IN_FIFO)
        fifo_remove(heap, armed);
    else
        heap_remove(heap, armed);
}

struct tern_threshold *tern_op_threshold_pop(struct tern_threshold_queue *heap, uint64_t reached)
{
    struct tern_threshold *first = heap->first;

    if (heap->count > 0 && (!first || is_before(heap->entry[0], first)))
        first = heap->entry[0];
    if (!first || first->threshold > reached)
        return NULL;
    tern_op_threshold_remove(heap, first);
    return first;
}

struct tern_threshold *tern_op_threshold_next(const struct tern_threshold_queue *heap,
                                              const struct tern_threshold       *armed)
{
    size_t at = 0;

    if (!armed && heap->first)
        return heap->first;
    if (armed && armed->at == TERN_THRESHOLD_IN_FIFO) {
        if (armed->next)
            return armed->next;
    } else if (armed) {
        at = armed->at + 1;
    }
    return at < heap->count ? heap->entry[at] : NULL;
}

void tern_op_threshold_free(struct tern_threshold_queue *heap)
{
    free(heap->entry);
    *heap = (struct tern_threshold_queue){ 0 };
}
