/* armed.c: see armed.h. */
#include "op/armed.h"

#include <stdlib.h>

#define FIRST_ROOM 16

static bool is_before(const struct tern_armed *a, const struct tern_armed *b)
{
    return a->threshold != b->threshold ? a->threshold < b->threshold : a->order < b->order;
}

static void place(struct tern_armed_heap *heap, size_t at, struct tern_armed *armed)
{
    heap->entry[at] = armed;
    armed->at = at;
}

/* Put one where it belongs, from a free place upwards. */
static void rise(struct tern_armed_heap *heap, size_t at, struct tern_armed *armed)
{
    for (; at > 0 && is_before(armed, heap->entry[(at - 1) / 2]); at = (at - 1) / 2)
        place(heap, at, heap->entry[(at - 1) / 2]);
    place(heap, at, armed);
}

/* The same downwards. */
static void sink(struct tern_armed_heap *heap, size_t at, struct tern_armed *armed)
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

static bool heap_add(struct tern_armed_heap *heap, struct tern_armed *armed)
{
    if (heap->count == heap->room) {
        size_t              room = heap->room > 0 ? 2 * heap->room : FIRST_ROOM;
        struct tern_armed **entry = realloc(heap->entry, room * sizeof(struct tern_armed *));

        if (!entry)
            return false;
        heap->entry = entry;
        heap->room = room;
    }
    rise(heap, heap->count++, armed);
    return true;
}

static void heap_remove(struct tern_armed_heap *heap, const struct tern_armed *armed)
{
    struct tern_armed *last = heap->entry[--heap->count];

    if (last == armed)
        return;
    if (is_before(last, armed))
        rise(heap, armed->at, last);
    else
        sink(heap, armed->at, last);
}

static void line_add(struct tern_armed_heap *heap, struct tern_armed *armed)
{
    armed->at = TERN_ARMED_IN_LINE;
    armed->next = NULL;
    armed->before = heap->last;
    *(heap->last ? &heap->last->next : &heap->first) = armed;
    heap->last = armed;
}

static void line_remove(struct tern_armed_heap *heap, const struct tern_armed *armed)
{
    *(armed->before ? &armed->before->next : &heap->first) = armed->next;
    *(armed->next ? &armed->next->before : &heap->last) = armed->before;
}

bool tern_op_armed_add(struct tern_armed_heap *heap, struct tern_armed *armed)
{
    armed->order = heap->came++;
    if (heap->last && armed->threshold < heap->last->threshold)
        return heap_add(heap, armed);
    line_add(heap, armed);
    return true;
}

void tern_op_armed_remove(struct tern_armed_heap *heap, const struct tern_armed *armed)
{
    if (armed->at == TERN_ARMED_IN_LINE)
        line_remove(heap, armed);
    else
        heap_remove(heap, armed);
}

struct tern_armed *tern_op_armed_take(struct tern_armed_heap *heap, uint64_t reached)
{
    struct tern_armed *first = heap->first;

    if (heap->count > 0 && (!first || is_before(heap->entry[0], first)))
        first = heap->entry[0];
    if (!first || first->threshold > reached)
        return NULL;
    tern_op_armed_remove(heap, first);
    return first;
}

struct tern_armed *tern_op_armed_next(const struct tern_armed_heap *heap, const struct tern_armed *armed)
{
    size_t at = 0;

    if (!armed && heap->first)
        return heap->first;
    if (armed && armed->at == TERN_ARMED_IN_LINE) {
        if (armed->next)
            return armed->next;
    } else if (armed) {
        at = armed->at + 1;
    }
    return at < heap->count ? heap->entry[at] : NULL;
}

void tern_op_armed_free(struct tern_armed_heap *heap)
{
    free(heap->entry);
    *heap = (struct tern_armed_heap){ 0 };
}
