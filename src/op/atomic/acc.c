/* acc.c: accumulates by the initiator. See acc.h. */
#include "op/atomic/acc.h"

#include "base/simd.h"
#include "core/job.h"

#define HOLD \
    (4 * TERN_ACC_BLOCK) /* work, in bytes, for which a lock is held at a time if many pieces lie in one block */
#define PIECE 32         /* cost of a piece in addition to its bytes */

/* ---- under the accumulate locks ---- */

struct tern_acc_adding tern_op_acc_begin(const struct tern_acc_op *sum)
{
    return (struct tern_acc_adding){ .sum = sum,
                                     .loop = tern_op_acc_kernel(sum, tern_base_simd_wide()),
                                     .element = tern_acc_op_bytes(sum->type) };
}

void tern_op_acc_end(struct tern_acc_adding *a)
{
    if (a->held)
        tern_boot_robust_unlock(a->held);
    a->held = NULL;
}

/* The lock of the block in which an element begins. Consecutive blocks have different locks. Blocks at the same
 * offset of parts whose sizes are powers of two mostly have different locks, too. */
static struct tern_robust_lock *lock_of(struct tern_segment *segment, uint64_t origin)
{
    uint64_t block = origin / TERN_ACC_BLOCK;

    return &segment->acc_lock[(block + block / TERN_ACC_LOCKS * 97u) % TERN_ACC_LOCKS];
}

/* Hold the lock of the block for this amount of work. Releases the lock of another block, or a lock held for too
 * long. */
static void hold(struct tern_acc_adding *a, uint64_t origin, size_t len)
{
    struct tern_segment     *segment = tern_job.boot.segment;
    struct tern_robust_lock *lock = lock_of(segment, origin);

    if (lock != a->held || a->left < len + PIECE) {
        tern_op_acc_end(a);
        tern_boot_robust_lock(segment, lock, tern_job.boot.rank);
        a->held = lock;
        a->left = HOLD;
    }
    a->left -= len + PIECE;
}

/* Number of bytes of the elements that begin in the same block as the first. */
static size_t in_block(const struct tern_acc_adding *a, uint64_t origin, size_t len)
{
    size_t rest = TERN_ACC_BLOCK - origin % TERN_ACC_BLOCK;

    rest = (rest + a->element - 1) & ~(a->element - 1); /* element is a power of two */
    return len < rest ? len : rest;
}

void tern_op_acc_add(struct tern_acc_adding *a, unsigned char *to, uint64_t origin, unsigned char *from, size_t len)
{
    while (len > 0) {
        size_t n = in_block(a, origin, len);

        hold(a, origin, n);
        a->loop(to, from, n, a->sum->scale);
        to += n;
        from += n;
        origin += n;
        len -= n;
    }
}

/* ---- direct ---- */

/* A shape that is added to a part that loads and stores reach. */
struct direct {
    struct tern_acc_adding   adding; /* must be first */
    const struct tern_shape *shape;
};

static void add(struct direct *d, uint64_t local, uint64_t remote, size_t len)
{
    const struct tern_link_part *part = d->shape->part;

    tern_op_acc_add(&d->adding, part->base + remote, part->origin + remote, (unsigned char *)(uintptr_t)local, len);
}

static void add_box(struct direct *d, unsigned dims, uint64_t local, uint64_t remote)
{
    const struct tern_stride     *s = d->shape->stride;
    const struct tern_stride_dim *dim = dims > 0 ? &s->dim[dims - 1] : NULL;

    if (!dim) {
        add(d, local, remote, s->run);
        return;
    }
    for (uint64_t i = 0; i < dim->count; i++, local += (uint64_t)dim->local, remote += (uint64_t)dim->remote) {
        if (dims == 1)
            add(d, local, remote, s->run);
        else
            add_box(d, dims - 1, local, remote);
    }
}

static void add_indexed(struct direct *d)
{
    const tern_layout_offset *local = d->shape->local.list, *remote = d->shape->remote.list;

    for (uint64_t i = 0; i < d->shape->local.count; i++)
        add(d, local[i], remote[i], d->shape->local.run);
}

/* A position in a list: the rest of the current entry. */
struct cursor {
    const struct tern_layout *side;
    uint64_t                  index, at, left;
};

static inline void cursor_fill(struct cursor *c)
{
    for (; c->left == 0; c->index++) { /* skip empty entries */
        const struct tern_layout_extent *e = (const struct tern_layout_extent *)c->side->list + c->index;
        bool                             vector = c->side->kind == TERN_LAYOUT_VECTOR;

        c->at = vector ? e->at : ((const tern_layout_offset *)c->side->list)[c->index];
        c->left = vector ? e->len : c->side->run;
    }
}

/* Add lists whose entries have different lengths on the two sides. */
static void add_lists(struct direct *d)
{
    struct cursor local = { .side = &d->shape->local }, remote = { .side = &d->shape->remote };
    uint64_t      n;

    for (uint64_t left = d->shape->total; left > 0; left -= n) {
        cursor_fill(&local);
        cursor_fill(&remote);
        n = local.left < remote.left ? local.left : remote.left;
        add(d, local.at, remote.at, n);
        local.at += n, local.left -= n;
        remote.at += n, remote.left -= n;
    }
}

/* Add a strided shape without a stride: each of its layouts was folded on its own. */
static void add_pieces(struct direct *d)
{
    struct tern_shape_cursors cursors = { { 0, 0, 0 }, { 0, 0, 0 } };

    while (cursors.remote.at < d->shape->total) {
        struct tern_link_iov piece = tern_op_shape_piece(d->shape, &cursors, UINT64_MAX);

        add(d, (uint64_t)(uintptr_t)piece.local, piece.offset, piece.len);
    }
}

void tern_op_acc_direct(const struct tern_shape *shape)
{
    const struct tern_stride *s = shape->stride;
    struct direct             d = { tern_op_acc_begin(&shape->acc), shape };

    /* release: this thread's earlier stores before the sums. Pairs with the acquire fence after a peer's get. */
    atomic_thread_fence(memory_order_release);
    if (s)
        add_box(&d, s->dims, shape->local_first + (uint64_t)s->local, shape->remote_first + (uint64_t)s->remote);
    else if (shape->local.kind == TERN_LAYOUT_INDEXED && shape->local.run == shape->remote.run)
        add_indexed(&d);
    else if (shape->local.kind != TERN_LAYOUT_STRIDED)
        add_lists(&d);
    else
        add_pieces(&d);
    tern_op_acc_end(&d.adding);
    /* acq_rel: the sums before this thread's later loads and stores. Pairs with the same fences in the peer. */
    atomic_thread_fence(memory_order_acq_rel);
}
