/* iov.c: transfers over an instant path that accepts lists of extents, at a cost for each extent: the kernel (CMA).
 *
 * A long piece is transferred alone. Short pieces are collected and transferred together. A get of pieces that lie
 * close together uses data sieving: it reads all of the memory around the pieces, which costs less than a list of the
 * pieces as long as it reads no more than about WORTH bytes for each piece. If the memory around the pieces cannot be
 * read, the get lists the pieces after all. A put cannot use this method, because it must not write the bytes between
 * its pieces.
 */
#include <tern/rma.h>

#include "op/shape/shape.h"

#define LONG 65536u   /* bytes; a piece of this length is transferred alone */
#define GATHERED 512u /* maximum number of collected pieces */
#define WINDOW 16384u /* maximum number of bytes read around pieces */
#define WORTH 2048u

/* Iterates over the pieces of a shape. */
struct walk {
    const struct tern_shape  *shape;
    struct tern_shape_cursors marks;                   /* for lists */
    uint64_t                  left;                    /* bytes left */
    uint64_t                  local, remote;           /* strided: address and offset of the next point */
    uint64_t                  index[TERN_STRIDE_DIMS]; /* strided: the next point */
};

static void walk_begin(struct walk *w, const struct tern_shape *shape)
{
    w->shape = shape;
    w->marks = (struct tern_shape_cursors){ { 0, 0, 0 }, { 0, 0, 0 } };
    w->left = shape->total;
    if (!shape->stride)
        return;
    w->local = shape->local_first + (uint64_t)shape->stride->local;
    w->remote = shape->remote_first + (uint64_t)shape->stride->remote;
    for (unsigned i = 0; i < shape->stride->dims; i++)
        w->index[i] = 0;
}

/* Advance to the next point of the box. */
static void step(struct walk *w)
{
    const struct tern_stride_dim *d = w->shape->stride->dim;

    for (unsigned i = 0; i < w->shape->stride->dims; i++, d++) {
        w->local += (uint64_t)d->local;
        w->remote += (uint64_t)d->remote;
        if (++w->index[i] < d->count)
            return;
        w->index[i] = 0;
        w->local -= (uint64_t)d->local * d->count;
        w->remote -= (uint64_t)d->remote * d->count;
    }
}

static struct tern_link_iov walk_next(struct walk *w)
{
    struct tern_link_iov piece;

    if (!w->shape->stride) {
        piece = tern_op_shape_piece(w->shape, &w->marks, UINT64_MAX);
    } else {
        piece = (struct tern_link_iov){ w->remote, (void *)(uintptr_t)w->local, w->shape->stride->run };
        step(w);
    }
    w->left -= piece.len;
    return piece;
}

/* The pieces collected so far. */
struct heap {
    struct tern_link_iov piece[GATHERED];
    unsigned             count;
    uint64_t             low, high; /* range of the part that contains the pieces */
};

/* Return whether it pays off to read all of the memory around the pieces and one more piece. */
static bool is_close(const struct heap *h, const struct tern_link_iov *more)
{
    uint64_t low = h->low < more->offset ? h->low : more->offset;
    uint64_t high = h->high > more->offset + more->len ? h->high : more->offset + more->len;

    return high - low <= WINDOW && high - low <= (uint64_t)WORTH * (h->count + 1);
}

static void heap_add(struct heap *h, const struct tern_link_iov *piece)
{
    if (h->count == 0 || piece->offset < h->low)
        h->low = piece->offset;
    if (h->count == 0 || piece->offset + piece->len > h->high)
        h->high = piece->offset + piece->len;
    h->piece[h->count++] = *piece;
}

/* Read all of the memory around the pieces, and copy the pieces out of it. */
static tern_status heap_sieve(const struct heap *h, struct tern_lane *lane, const struct tern_link_part *part)
{
    unsigned char    window[WINDOW];
    struct tern_xfer xfer = { .part = part, .offset = h->low, .local = window, .len = h->high - h->low, .get = true };
    tern_status      st = part->path->start(lane, &xfer, NULL);

    for (unsigned i = 0; i < h->count && st == TERN_OK; i++)
        tern_copy(h->piece[i].local, window + (h->piece[i].offset - h->low), h->piece[i].len);
    return st;
}

static tern_status heap_send(struct heap *h, struct tern_lane *lane, const struct tern_shape *shape)
{
    const struct tern_link_part *part = shape->part;
    struct tern_link_iov         none = { h->low, NULL, 0 };
    bool        done = shape->get && h->count > 1 && is_close(h, &none) && heap_sieve(h, lane, part) == TERN_OK;
    tern_status st = TERN_OK;

    for (unsigned i = 0; !done && i < h->count && st == TERN_OK; i += TERN_LINK_IOV_MAX)
        st = part->path->start_iov(lane, part, h->piece + i,
                                   h->count - i < TERN_LINK_IOV_MAX ? h->count - i : TERN_LINK_IOV_MAX, shape->get);
    h->count = 0;
    return st;
}

/* Transfer a long piece, or collect a short one. */
static tern_status transfer_or_collect(struct heap *h, const struct tern_link_iov *piece, struct tern_lane *lane,
                                       const struct tern_shape *shape)
{
    struct tern_link_iov none = { h->low, NULL, 0 };
    struct tern_xfer     xfer = {
            .part = shape->part, .offset = piece->offset, .local = piece->local, .len = piece->len, .get = shape->get
    };
    tern_status st = TERN_OK;

    if (piece->len >= LONG)
        return shape->part->path->start(lane, &xfer, NULL);
    /* Do not add a distant piece to pieces that are close together. */
    if (h->count == GATHERED || (shape->get && h->count > 1 && is_close(h, &none) && !is_close(h, piece)))
        st = heap_send(h, lane, shape);
    heap_add(h, piece);
    return st;
}

static tern_status iov_start(struct tern_multi *m, struct tern_op *op, struct tern_shape_cursors *cursors)
{
    const struct tern_shape *shape = &m->shape;
    struct tern_lane        *lane = op->ctx->lane[shape->part->link];
    struct heap              heap;
    struct walk              walk;
    tern_status              st = TERN_OK;

    (void)cursors;
    heap.count = 0;
    walk_begin(&walk, shape);
    while (walk.left > 0 && st == TERN_OK) {
        struct tern_link_iov piece = walk_next(&walk);

        st = transfer_or_collect(&heap, &piece, lane, shape);
    }
    return st == TERN_OK ? heap_send(&heap, lane, shape) : st;
}

const struct tern_multi_method tern_op_method_iov = { .start = iov_start };
