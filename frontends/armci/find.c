/* find.c: finding the allocation to which an address belongs.
 *
 * Each rank has a table of segments in ascending order: for near ranks by the addresses in this process, for far ranks
 * by the addresses in the process of the owner. A search first tests the segment that was found last, and then does a
 * binary search. Operations on near memory test the bounds of that segment before they call a function
 * (tern_armci_at_hand in state.h).
 */
#include <stdlib.h>
#include <string.h>

#include "state.h"

/* Return the index of the first segment that ends behind an address. */
static int first_behind(const struct tern_armci_peer *peer, uintptr_t addr)
{
    int low = 0, high = peer->count;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (peer->segments[middle].end > addr)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Record the segment that was found last. If two threads do so at the same time, the bounds of two segments may be
 * mixed: a correct program is not affected, and a wrong address may pass unnoticed. */
static void remember(int proc, int index)
{
    struct tern_armci_peer          *peer = &tern_armci.peers[proc];
    const struct tern_armci_segment *segment = &peer->segments[index];

    __atomic_store_n(&peer->last, index, __ATOMIC_RELAXED);
    if (tern_armci.near[proc]) {
        __atomic_store_n(&peer->begin, segment->begin, __ATOMIC_RELAXED);
        __atomic_store_n(&peer->bytes, segment->end - segment->begin, __ATOMIC_RELAXED);
    }
}

void tern_armci_add_segment(const char *call, int proc, struct tern_armci_segment segment)
{
    struct tern_armci_peer *peer = &tern_armci.peers[proc];
    int                     index = first_behind(peer, segment.begin);

    if (peer->count == peer->space) {
        int   space = peer->space > 0 ? 2 * peer->space : 16;
        void *grown = realloc(peer->segments, (size_t)space * sizeof *peer->segments);

        if (grown == NULL)
            tern_front_die(call, "there is not enough memory for the table of %d allocations", space);
        peer->segments = grown;
        peer->space = space;
    }
    memmove(&peer->segments[index + 1], &peer->segments[index], (size_t)(peer->count - index) * sizeof *peer->segments);
    peer->segments[index] = segment;
    peer->count++;
    remember(proc, index);
}

void tern_armci_drop_segments(const struct tern_armci_block *block)
{
    for (int proc = 0; proc < tern_armci.size; proc++) {
        struct tern_armci_peer *peer = &tern_armci.peers[proc];
        int                     kept = 0;

        for (int i = 0; i < peer->count; i++) {
            if (peer->segments[i].block != block)
                peer->segments[kept++] = peer->segments[i];
        }
        peer->count = kept;
        peer->last = 0;
        peer->begin = peer->bytes = 0;
    }
}

/* Find the segment of an address; NULL: there is none. */
static const struct tern_armci_segment *segment_at(int proc, const void *addr)
{
    const struct tern_armci_peer *peer = &tern_armci.peers[proc];
    uintptr_t                     at = (uintptr_t)addr;
    int                           index = __atomic_load_n(&peer->last, __ATOMIC_RELAXED);

    if (index >= peer->count || at < peer->segments[index].begin || at >= peer->segments[index].end)
        index = first_behind(peer, at);
    if (index == peer->count || at < peer->segments[index].begin)
        return NULL;
    remember(proc, index);
    return &peer->segments[index];
}

bool tern_armci_look(int proc, const void *addr, struct tern_armci_place *place)
{
    const struct tern_armci_segment *segment = segment_at(proc, addr);

    if (TERN_UNLIKELY(segment == NULL))
        return false;
    place->region = segment->block->region;
    place->base = segment->begin;
    place->offset = (uintptr_t)addr - segment->begin;
    return true;
}

struct tern_armci_place tern_armci_find(const char *call, int proc, const void *addr)
{
    struct tern_armci_place place;

    if (!tern_armci_look(proc, addr, &place))
        tern_front_die(call, "the address %p belongs to no memory of rank %d that ARMCI_Malloc has allocated", addr,
                       proc);
    return place;
}

void tern_armci_check_near(const char *call, int proc, const void *addr, size_t bytes)
{
    const struct tern_armci_segment *segment = segment_at(proc, addr);

    if (bytes == 0 || (segment == NULL && proc == tern_armci.me))
        return;
    if (segment == NULL)
        tern_front_die(call, "the address %p belongs to no memory of rank %d that ARMCI_Malloc has allocated", addr,
                       proc);
    if (bytes > segment->end - (uintptr_t)addr)
        tern_front_die(call, "%zu bytes at %p exceed the memory of rank %d, which ends at %p", bytes, addr, proc,
                       (void *)segment->end);
}

struct tern_armci_block *tern_armci_block_at(int proc, const void *addr)
{
    const struct tern_armci_segment *segment = segment_at(proc, addr);

    return segment != NULL ? segment->block : NULL;
}
