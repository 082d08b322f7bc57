/* iov.c: transfers by a path that is instant and takes many pieces at a time, at a price for each: the kernel.
 *
 * A long piece goes by itself. Short ones are gathered, and go together. A get has another way where they lie close
 * together: to read all of the memory around them costs less than to name each, as long as fewer than WORTH bytes for
 * each are read in vain. What lies around the pieces may be memory that cannot be read: then the pieces are named after
 * all. A put cannot do that: what lies between is not its to write.
 */
#include <tern/rma.h>

#include "op/shape/shape.h"

#define LONG 65536u   /* bytes of a piece that goes by itself */
#define GATHERED 512u /* pieces */
#define WINDOW 16384u /* bytes that are read around pieces */
#define WORTH 2048u

/* Going through the pieces of a shape, one after the other. */
struct walk {
    const struct tern_shape  *shape;
    struct tern_shape_cursors marks; /* of lists */
    uint64_t                  left;  /* bytes */
    uint64_t                  near, far;
    uint64_t                  index[TERN_STRIDE_DIMS]; /* strided: the point that comes next */
};

static void walk_begin(struct walk *w, const struct tern_shape *shape)
{
    w->shape = shape;
    w->marks = (struct tern_shape_cursors){ { 0, 0, 0 }, { 0, 0, 0 } };
    w->left = shape->total;
    if (!shape->stride)
        return;
    w->near = shape->local_first + (uint64_t)shape->stride->local;
    w->far = shape->remote_first + (uint64_t)shape->stride->remote;
    for (unsigned i = 0; i < shape->stride->dims; i++)
        w->index[i] = 0;
}

/* The next point of a box. */
static void step(struct walk *w)
{
    const struct tern_stride_dim *d = w->shape->stride->dim;

    for (unsigned i = 0; i < w->shape->stride->dims; i++, d++) {
        w->near += (uint64_t)d->local;
        w->far += (uint64_t)d->remote;
        if (++w->index[i] < d->count)
            return;
        w->index[i] = 0;
        w->near -= (uint64_t)d->local * d->count;
        w->far -= (uint64_t)d->remote * d->count;
    }
}

static struct tern_link_iov walk_next(struct walk *w)
{
    struct tern_link_iov piece;

    if (!w->shape->stride) {
        piece = tern_op_shape_piece(w->shape, &w->marks, UINT64_MAX);
    } else {
        piece = (struct tern_link_iov){ w->far, (void *)(uintptr_t)w->near, w->shape->stride->run };
        step(w);
    }
    w->left -= piece.len;
    return piece;
}

/* What has been gathered. */
struct heap {
    struct tern_link_iov piece[GATHERED];
    unsigned             count;
    uint64_t             low, high; /* of the part */
};

/* Whether the memory around the pieces, and one more, is worth reading. */
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

/* Read everything around the pieces, and take them out. */
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

/* One more piece. */
static tern_status take(struct heap *h, const struct tern_link_iov *piece, struct tern_lane *lane,
                        const struct tern_shape *shape)
{
    struct tern_link_iov none = { h->low, NULL, 0 };
    struct tern_xfer     xfer = {
            .part = shape->part, .offset = piece->offset, .local = piece->local, .len = piece->len, .get = shape->get
    };
    tern_status st = TERN_OK;

    if (piece->len >= LONG)
        return shape->part->path->start(lane, &xfer, NULL);
    /* Pieces that are close together, and one that is not: keep them apart. */
    if (h->count == GATHERED || (shape->get && h->count > 1 && is_close(h, &none) && !is_close(h, piece)))
        st = heap_send(h, lane, shape);
    heap_add(h, piece);
    return st;
}

tern_status tern_op_iov(struct tern_ctx *ctx, const struct tern_shape *shape)
{
    struct tern_lane *lane = ctx->lane[shape->part->link];
    struct heap       heap;
    struct walk       walk;
    tern_status       st = TERN_OK;

    heap.count = 0;
    walk_begin(&walk, shape);
    while (walk.left > 0 && st == TERN_OK) {
        struct tern_link_iov piece = walk_next(&walk);

        st = take(&heap, &piece, lane, shape);
    }
    return st == TERN_OK ? heap_send(&heap, lane, shape) : st;
}
