/* malloc.c: memory that other ranks may access.
 *
 * An allocation is a region of Tern in which each rank chooses the size of its part. The program gets a pointer for
 * each part: an address of this process for near ranks, and the address in the process of the owner for the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

/* Fill the pointers of an allocation, and enter its parts in the tables of their ranks. */
static void publish(const char *call, struct tern_armci_block *block, void **pointers)
{
    struct tern_armci_group *group = block->group;
    void                    *mine = tern_region_ptr(block->region, group->rank);

    tern_front_check(tern_allgather(group->ctx, &mine, sizeof mine, pointers), call, "exchanging addresses");
    for (int i = 0; i < group->size; i++) {
        int      proc = group->tables[i];
        uint64_t size = tern_region_size(block->region, i);

        if (size == 0) {
            pointers[i] = NULL;
            continue;
        }
        if (tern_armci.near[proc])
            pointers[i] = tern_region_ptr(block->region, i);
        if (pointers[i] == NULL)
            tern_front_die(call, "the memory of rank %d cannot be reached; the rank may have died", proc);
        tern_armci_add_segment(call, proc,
                               (struct tern_armci_segment){ .begin = (uintptr_t)pointers[i],
                                                            .end = (uintptr_t)pointers[i] + size,
                                                            .block = block });
    }
}

/* Create the region of an allocation. If there is not enough memory, all ranks get NULL; the first one says why. */
static tern_region *create_region(const char *call, const struct tern_armci_group *group, armci_size_t bytes)
{
    tern_region *region;
    tern_status  status = tern_region_create(group->ctx, (uint64_t)bytes, &TERN_REGION_OPTS(.each = 1), &region);

    if (status == TERN_ERR_NOMEM || status == TERN_ERR_SYSTEM) {
        if (group->rank == 0)
            fprintf(stderr, "tern: rank %d: %s of %ld bytes: %s: %s\n", tern_armci.me, call, bytes,
                    tern_strerror(status), tern_error_detail());
        return NULL;
    }
    tern_front_check(status, call, "allocating memory");
    return region;
}

struct tern_armci_block *tern_armci_malloc(const char *call, void **pointers, armci_size_t bytes,
                                           const ARMCI_Group *group)
{
    struct tern_armci_group *g = tern_armci_group_of(call, group);
    struct tern_armci_block *block;
    tern_region             *region;

    if (bytes < 0)
        tern_front_die(call, "the size is %ld; it must not be negative", bytes);
    if (pointers == NULL)
        tern_front_die(call, "the array of pointers is NULL");
    region = create_region(call, g, bytes);
    if (region == NULL) {
        memset(pointers, 0, (size_t)g->size * sizeof *pointers);
        return NULL;
    }
    block = tern_front_alloc(call, 1, sizeof *block);
    block->region = region;
    block->group = g;
    block->number = ++g->next_block;
    block->mode = ARMCIX_MODE_ALL;
    g->blocks++;
    block->next = tern_armci.blocks;
    tern_armci.blocks = block;
    publish(call, block, pointers);
    return block;
}

static int allocate(const char *call, void **pointers, armci_size_t bytes, const ARMCI_Group *group)
{
    return tern_armci_malloc(call, pointers, bytes, group) != NULL ? 0 : FAIL;
}

ARMCI_EXPORT int PARMCI_Malloc(void **base_ptrs, armci_size_t size)
{
    tern_armci_check_running("ARMCI_Malloc");
    return allocate("ARMCI_Malloc", base_ptrs, size, &tern_armci.world);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Malloc, PARMCI_Malloc);

ARMCI_EXPORT int ARMCI_Malloc_group(void **ptr_arr, armci_size_t bytes, ARMCI_Group *group)
{
    return allocate("ARMCI_Malloc_group", ptr_arr, bytes, group);
}

/* Allocate ordinary memory of the host. The device is ignored. */
ARMCI_EXPORT int PARMCI_Malloc_memdev(void **ptr_arr, armci_size_t bytes, const char *device)
{
    (void)device;
    tern_armci_check_running("ARMCI_Malloc_memdev");
    return allocate("ARMCI_Malloc_memdev", ptr_arr, bytes, &tern_armci.world);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Malloc_memdev, PARMCI_Malloc_memdev);

ARMCI_EXPORT int PARMCI_Malloc_group_memdev(void **ptr_arr, armci_size_t bytes, ARMCI_Group *group, const char *device)
{
    (void)device;
    return allocate("ARMCI_Malloc_group_memdev", ptr_arr, bytes, group);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Malloc_group_memdev, PARMCI_Malloc_group_memdev);

/* Find the allocation that this rank has with the given number in a group. */
static struct tern_armci_block *block_with(const struct tern_armci_group *group, uint64_t number)
{
    for (struct tern_armci_block *block = tern_armci.blocks; block != NULL; block = block->next) {
        if (block->group == group && block->number == number)
            return block;
    }
    return NULL;
}

/* Return the oldest allocation of a group in which no rank has memory. */
static struct tern_armci_block *empty_block(const struct tern_armci_group *group)
{
    struct tern_armci_block *oldest = NULL;

    for (struct tern_armci_block *block = tern_armci.blocks; block != NULL; block = block->next) {
        bool empty = block->group == group;

        for (int i = 0; empty && i < group->size; i++)
            empty = tern_region_size(block->region, i) == 0;
        if (empty)
            oldest = block; /* the list begins with the newest one */
    }
    return oldest;
}

/* Agree on the allocation to free. Ranks whose part is empty pass NULL, and learn from the others which one it is. */
static struct tern_armci_block *agree(const char *call, struct tern_armci_block *block, struct tern_armci_group *group)
{
    uint64_t *numbers = tern_front_alloc(call, (size_t)group->size, sizeof *numbers);
    uint64_t  mine = block != NULL ? block->number : 0, number = 0;

    tern_front_check(tern_allgather(group->ctx, &mine, sizeof mine, numbers), call, "agreeing on the allocation");
    for (int i = 0; i < group->size; i++) {
        if (numbers[i] != 0 && number != 0 && numbers[i] != number)
            tern_front_die(call, "the ranks free different allocations: number %lu and number %lu of the group",
                           (unsigned long)number, (unsigned long)numbers[i]);
        if (numbers[i] != 0)
            number = numbers[i];
    }
    free(numbers);
    if (number == 0) /* every rank passes NULL: free the oldest allocation in which all parts are empty */
        return empty_block(group);
    block = block_with(group, number);
    if (mine == 0 && tern_region_size(block->region, group->rank) > 0)
        tern_front_die(call, "this rank passes NULL, but has %lu bytes in the allocation that other ranks free",
                       (unsigned long)tern_region_size(block->region, group->rank));
    return block;
}

static void release(const char *call, struct tern_armci_block *block)
{
    struct tern_armci_block **link = &tern_armci.blocks;

    while (*link != block)
        link = &(*link)->next;
    *link = block->next;
    tern_front_check(tern_quiet(tern_armci.far_ctx), call, "completing operations on the memory");
    tern_armci_drop_segments(block);
    tern_front_check(tern_region_free(block->region), call, "freeing memory");
    tern_armci_unuse_group(call, block->group);
    free(block);
}

static int deallocate(const char *call, void *ptr, const ARMCI_Group *group)
{
    struct tern_armci_group *g = group != NULL ? tern_armci_group_of(call, group) : NULL;
    struct tern_armci_block *block = NULL;

    if (ptr != NULL) {
        block = tern_armci_block_at(tern_armci.me, ptr);
        if (block == NULL || block == tern_armci.heap || ptr != tern_region_ptr(block->region, block->group->rank))
            tern_front_die(call, "%p is no pointer to this rank's part of an allocation", ptr);
        if (g != NULL && block->group != g)
            tern_front_die(call, "%p belongs to an allocation of another group", ptr);
        g = block->group;
    }
    if (g == NULL)
        g = tern_armci_group_of(call, &tern_armci.world);
    block = agree(call, block, g);
    if (block != NULL) /* otherwise all ranks pass NULL, and there is no allocation in which all parts are empty */
        release(call, block);
    return 0;
}

ARMCI_EXPORT int PARMCI_Free(void *ptr)
{
    tern_armci_check_running("ARMCI_Free");
    return deallocate("ARMCI_Free", ptr, NULL);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Free, PARMCI_Free);

ARMCI_EXPORT int PARMCI_Free_memdev(void *ptr)
{
    tern_armci_check_running("ARMCI_Free_memdev");
    return deallocate("ARMCI_Free_memdev", ptr, NULL);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Free_memdev, PARMCI_Free_memdev);

ARMCI_EXPORT int ARMCI_Free_group(void *ptr, ARMCI_Group *group)
{
    tern_armci_check_running("ARMCI_Free_group");
    return deallocate("ARMCI_Free_group", ptr, group);
}

/* Free the allocations that the program has not freed. The members of a group have the same list of common
 * allocations, so that their collective calls match. */
void tern_armci_drop_blocks(void)
{
    while (tern_armci.blocks != NULL)
        release("ARMCI_Finalize", tern_armci.blocks);
    for (int proc = 0; proc < tern_armci.size; proc++)
        free(tern_armci.peers[proc].segments);
}

static struct tern_armci_block *block_of(const char *call, const void *ptr)
{
    struct tern_armci_block *block;

    tern_armci_check_running(call);
    block = tern_armci_block_at(tern_armci.me, ptr);
    if (block == NULL)
        tern_front_die(call, "%p lies in no allocation of this rank", ptr);
    return block;
}

ARMCI_EXPORT int ARMCIX_Mode_set(int new_mode, void *ptr, ARMCI_Group *group)
{
    const char              *call = "ARMCIX_Mode_set";
    struct tern_armci_block *block = block_of(call, ptr);

    if (tern_armci_group_of(call, group) != block->group)
        tern_front_die(call, "%p belongs to an allocation of another group", ptr);
    tern_front_check(tern_quiet(tern_armci.far_ctx), call, "completing operations on the memory");
    tern_front_check(tern_barrier(block->group->ctx), call, "the barrier of a group");
    block->mode = new_mode;
    return 0;
}

ARMCI_EXPORT int ARMCIX_Mode_get(void *ptr)
{
    return block_of("ARMCIX_Mode_get", ptr)->mode;
}

ARMCI_EXPORT void *PARMCI_Malloc_local(armci_size_t size)
{
    if (size < 0)
        tern_front_die("ARMCI_Malloc_local", "the size is %ld; it must not be negative", size);
    return malloc(size > 0 ? (size_t)size : 1);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Malloc_local, PARMCI_Malloc_local);

ARMCI_EXPORT int PARMCI_Free_local(void *ptr)
{
    free(ptr);
    return 0;
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Free_local, PARMCI_Free_local);
