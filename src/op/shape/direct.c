/* direct.c: transfers whose two sides loads and stores reach: one pass of the copy loops. */
#include "op/shape/copy.h"
#include "op/shape/move.h"
#include "op/shape/shape.h"

#define AHEAD 64        /* prefetch distance, in entries of a long list */
#define COLD (1u << 20) /* larger transfers, in bytes, do not fit into the caches of the core */

static unsigned char *local_address(uint64_t where)
{
    return (unsigned char *)(uintptr_t)where;
}

static void copy_strided(const struct tern_shape *shape)
{
    const struct tern_stride *s = shape->stride;
    struct tern_copy_dim      dim[TERN_STRIDE_DIMS];
    unsigned char            *local = local_address(shape->local_first + (uint64_t)s->local);
    unsigned char            *remote = shape->part->base + shape->remote_first + s->remote;

    for (unsigned i = 0; i < s->dims; i++)
        dim[i] = (struct tern_copy_dim){ s->dim[i].count, shape->get ? s->dim[i].local : s->dim[i].remote,
                                         shape->get ? s->dim[i].remote : s->dim[i].local };
    if (shape->get)
        tern_op_copy(local, remote, s->run, s->dims, dim, s->total > COLD);
    else
        tern_op_copy(remote, local, s->run, s->dims, dim, s->total > COLD);
}

/* Return the address to which the offsets in the remote list are relative. */
static inline uintptr_t remote_base(const struct tern_shape *shape)
{
    return (uintptr_t)shape->part->base + shape->remote.first;
}

/* A list of offsets, as the destination or the source of a transfer. Both lists have the same number of entries. */
struct offset_list {
    const tern_layout_offset *at;
    uintptr_t                 base;
};

/* Return the address of entry i. */
static inline unsigned char *address_of(const struct offset_list *p, uint64_t i)
{
    return (unsigned char *)(p->base + p->at[i]);
}

/* Copy entries of the same length on both sides; specialized for each common length. */
static inline __attribute__((always_inline)) void copy_each(const struct tern_shape *shape, size_t len)
{
    struct offset_list local = { shape->local.list, 0 }, remote = { shape->remote.list, remote_base(shape) };
    struct offset_list to = shape->get ? local : remote, from = shape->get ? remote : local;
    uint64_t count = shape->local.count, fetched = shape->total > COLD && count > AHEAD ? count - AHEAD : 0, i = 0;

    for (; i < fetched; i++) {
        __builtin_prefetch(address_of(&from, i + AHEAD));
        __builtin_prefetch(address_of(&to, i + AHEAD));
        tern_op_move(address_of(&to, i), address_of(&from, i), len);
    }
    for (; i < count; i++)
        tern_op_move(address_of(&to, i), address_of(&from, i), len);
}

static void copy_indexed(const struct tern_shape *shape)
{
    switch (shape->local.run) {
    case 1: copy_each(shape, 1); break;
    case 2: copy_each(shape, 2); break;
    case 4: copy_each(shape, 4); break;
    case 8: copy_each(shape, 8); break;
    case 16: copy_each(shape, 16); break;
    case 32: copy_each(shape, 32); break;
    case 64: copy_each(shape, 64); break;
    default: copy_each(shape, shape->local.run);
    }
}

/* Copy the entries of two vectors from index i on, as long as all of them have the given length. Returns the first
 * index that is not copied. */
static inline __attribute__((always_inline)) uint64_t copy_stretch(const struct tern_shape *shape, uint64_t i,
                                                                   uint64_t most, size_t len)
{
    const struct tern_layout_extent *local = shape->local.list, *remote = shape->remote.list;
    const struct tern_layout_extent *to = shape->get ? local : remote, *from = shape->get ? remote : local;
    uintptr_t base = remote_base(shape), to_base = shape->get ? 0 : base, from_base = base - to_base;
    /* For shorter entries, most of the memory traffic is the lists, which the hardware prefetches. */
    uint64_t  fetched = len >= 32 && shape->total > COLD && most > AHEAD ? most - AHEAD : 0;

    for (; i < fetched && to[i].len == len && from[i].len == len; i++) {
        __builtin_prefetch((const void *)(from_base + from[i + AHEAD].at));
        __builtin_prefetch((const void *)(to_base + to[i + AHEAD].at));
        tern_op_move((unsigned char *)(to_base + to[i].at), (unsigned char *)(from_base + from[i].at), len);
    }
    for (; i < most && to[i].len == len && from[i].len == len; i++)
        tern_op_move((unsigned char *)(to_base + to[i].at), (unsigned char *)(from_base + from[i].at), len);
    return i;
}

/* Copy the entries of two vectors from the first on, as long as the entries of both sides have the same lengths.
 * Returns the number of entries, and subtracts their bytes from *left. */
static uint64_t copy_alike(const struct tern_shape *shape, uint64_t *left)
{
    const struct tern_layout_extent *local = shape->local.list, *remote = shape->remote.list;
    uint64_t most = shape->local.count < shape->remote.count ? shape->local.count : shape->remote.count, i = 0, begin,
             len;

    while (i < most && local[i].len == remote[i].len) {
        begin = i;
        switch (len = local[i].len) {
        case 0: i++; break;
        case 4: i = copy_stretch(shape, i, most, 4); break;
        case 8: i = copy_stretch(shape, i, most, 8); break;
        case 16: i = copy_stretch(shape, i, most, 16); break;
        case 32: i = copy_stretch(shape, i, most, 32); break;
        case 64: i = copy_stretch(shape, i, most, 64); break;
        default: i = copy_stretch(shape, i, most, len);
        }
        *left -= (i - begin) * len;
    }
    return i;
}

/* Copy between lists whose entries have any lengths. */
static void copy_lists(const struct tern_shape *shape)
{
    uint64_t                  left = shape->total, len;
    uint64_t                  first = shape->local.kind == TERN_LAYOUT_VECTOR ? copy_alike(shape, &left) : 0;
    struct tern_layout_reader local = { &shape->local, first, 0, 0 }, remote = { &shape->remote, first, 0, 0 };
    unsigned char            *base = shape->part->base;

    for (; left > 0; left -= len) {
        len = tern_op_layout_read(&local, &remote);
        if (shape->get)
            tern_op_move(local_address(local.at), base + remote.at, len);
        else
            tern_op_move(base + remote.at, local_address(local.at), len);
        tern_op_layout_take(&local, &remote, len);
    }
}

void tern_op_direct(const struct tern_shape *shape)
{
    /* release: this thread's earlier stores before the data. Pairs with the acquire fence after a peer's get. */
    atomic_thread_fence(memory_order_release);
    if (shape->stride)
        copy_strided(shape);
    else if (shape->local.kind == TERN_LAYOUT_INDEXED && shape->local.run == shape->remote.run)
        copy_indexed(shape);
    else
        copy_lists(shape);
    /* acq_rel: the data before this thread's later loads and stores. Pairs with the same fences in the peer. */
    atomic_thread_fence(memory_order_acq_rel);
}
