/* pool.c: slabs of pools. See pool.h. */
#include "base/pool.h"

#include <stdlib.h>

#include "base/bits.h"

struct tern_pool_slab {
    struct tern_pool_slab *next;
    _Alignas(max_align_t) unsigned char objects[];
};

void tern_base_pool_open(struct tern_pool *pool, size_t bytes, unsigned count)
{
    *pool = (struct tern_pool){ .bytes = tern_base_round_up(bytes, _Alignof(max_align_t)), .count = count };
}

void *tern_base_pool_grow(struct tern_pool *pool)
{
    struct tern_pool_slab *slab = malloc(sizeof(*slab) + pool->count * pool->bytes);

    if (!slab)
        return NULL;
    slab->next = pool->slabs;
    pool->slabs = slab;
    for (unsigned i = 1; i < pool->count; i++)
        tern_base_pool_put(pool, slab->objects + i * pool->bytes);
    return slab->objects;
}

void tern_base_pool_close(struct tern_pool *pool)
{
    while (pool->slabs) {
        struct tern_pool_slab *slab = pool->slabs;

        pool->slabs = slab->next;
        free(slab);
    }
    pool->free = NULL;
}
