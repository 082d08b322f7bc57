/* direct.c: transfers between memory that loads and stores reach on both sides: one pass of the copy loops. */
#include "op/copy.h"
#include "op/shape.h"

static unsigned char *near_place(uint64_t where)
{
    return (unsigned char *)(uintptr_t)where;
}

static void copy_strided(const struct tern_shape *shape)
{
    const struct tern_stride *s = shape->stride;
    struct tern_copy_dim      dim[TERN_STRIDE_DIMS];
    unsigned char            *near = near_place(shape->near_first + (uint64_t)s->near);
    unsigned char            *far = shape->part->base + shape->far_first + s->far;

    for (unsigned i = 0; i < s->dims; i++)
        dim[i] = (struct tern_copy_dim){ s->dim[i].count, shape->get ? s->dim[i].near : s->dim[i].far,
                                         shape->get ? s->dim[i].far : s->dim[i].near };
    if (shape->get)
        tern_op_copy(near, far, s->run, s->dims, dim);
    else
        tern_op_copy(far, near, s->run, s->dims, dim);
}

/* Entries of the same length on both sides: a loop for each usual one. */
static inline __attribute__((always_inline)) void copy_each(const struct tern_shape *shape, size_t len)
{
    const tern_side_at *near = shape->near.list, *far = shape->far.list;
    unsigned char      *base = shape->part->base;

    if (shape->get)
        for (uint64_t i = 0; i < shape->near.count; i++)
            tern_copy(near_place(near[i]), base + far[i], len);
    else
        for (uint64_t i = 0; i < shape->near.count; i++)
            tern_copy(base + far[i], near_place(near[i]), len);
}

static void copy_indexed(const struct tern_shape *shape)
{
    switch (shape->near.run) {
    case 1: copy_each(shape, 1); break;
    case 2: copy_each(shape, 2); break;
    case 4: copy_each(shape, 4); break;
    case 8: copy_each(shape, 8); break;
    case 16: copy_each(shape, 16); break;
    case 32: copy_each(shape, 32); break;
    case 64: copy_each(shape, 64); break;
    default: copy_each(shape, shape->near.run);
    }
}

/* Lists that are cut in any way. */
static void copy_lists(const struct tern_shape *shape)
{
    struct tern_shape_marks marks = { { 0, 0, 0 }, { 0, 0, 0 } };

    while (marks.far.at < shape->total) {
        struct tern_link_piece piece = tern_op_shape_piece(shape, &marks, UINT64_MAX);
        unsigned char         *far = shape->part->base + piece.offset;

        if (shape->get)
            tern_copy(piece.local, far, piece.len);
        else
            tern_copy(far, piece.local, piece.len);
    }
}

void tern_op_direct(const struct tern_shape *shape)
{
    /* release: what this thread wrote before, before the data. Pairs with the acquire fence after a peer's get. */
    atomic_thread_fence(memory_order_release);
    if (shape->stride)
        copy_strided(shape);
    else if (shape->near.kind == TERN_SIDE_INDEXED && shape->near.run == shape->far.run)
        copy_indexed(shape);
    else
        copy_lists(shape);
    /* acq_rel: the data before whatever this thread reads or writes next. Pairs with the same fences in the peer. */
    atomic_thread_fence(memory_order_acq_rel);
}
