/* pool.h: objects of one size, allocated in slabs and reused in LIFO order.
 *
 * A pool returns memory to the system only when it is closed, so that a steady state allocates nothing. Pools have no
 * lock. */
#pragma once

#include <stddef.h>

struct tern_pool_free;
struct tern_pool_slab;

struct tern_pool {
    size_t                 bytes; /* size of an object, rounded up to the alignment of any type */
    unsigned               count; /* objects in a slab */
    struct tern_pool_free *free;  /* unused objects; each begins with a pointer to the next one */
    struct tern_pool_slab *slabs;
};

struct tern_pool_free {
    struct tern_pool_free *next;
};

/* Make an empty pool of objects of the given size that grows by count objects at a time. */
void tern_base_pool_open(struct tern_pool *pool, size_t bytes, unsigned count);
/* Free all objects. */
void tern_base_pool_close(struct tern_pool *pool);

/* The part of tern_base_pool_get that allocates another slab. Returns NULL if there is no memory. */
void *tern_base_pool_grow(struct tern_pool *pool);

/* Return an uninitialized object; NULL: there is no memory. */
static inline void *tern_base_pool_get(struct tern_pool *pool)
{
    struct tern_pool_free *object = pool->free;

    if (__builtin_expect(object == NULL, 0))
        return tern_base_pool_grow(pool);
    pool->free = object->next;
    return object;
}

/* Return an object to its pool. */
static inline void tern_base_pool_put(struct tern_pool *pool, void *object)
{
    struct tern_pool_free *unused = object;

    unused->next = pool->free;
    pool->free = unused;
}
