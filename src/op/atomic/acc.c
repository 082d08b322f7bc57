/* acc.c: executing accumulates, directly and at the target of an RPC. See acc.h. */
#include "op/atomic/acc.h"

#include <string.h>

#include "base/bits.h"
#include "base/float.h"
#include "base/read_once.h"
#include "base/simd.h"
#include "boot/robust_lock.h"
#include "core/job.h"

#define HOLD \
    (4 * TERN_ACC_BLOCK) /* the longest time for which a lock is held without interruption, as a number of bytes */
#define PIECE 32         /* cost of a piece in addition to its bytes */

/* ---- under the accumulate locks ---- */

/* The state of additions to the memory of one rank, between acc_begin() and acc_end(). */
struct adding {
    const struct tern_acc_op *sum;
    tern_acc_kernel          *loop;
    size_t                    element;
    struct tern_robust_lock  *held; /* the lock held; NULL: none */
    size_t                    left; /* work until the lock is released for a moment */
};

static struct adding acc_begin(const struct tern_acc_op *sum)
{
    return (struct adding){ .sum = sum,
                            .loop = tern_op_acc_kernel(sum, tern_base_simd_wide()),
                            .element = tern_acc_op_bytes(sum->type) };
}

static void acc_end(struct adding *a)
{
    if (a->held)
        tern_boot_robust_unlock(a->held);
    a->held = NULL;
}

/* Return the lock of the block in which an element begins. Consecutive blocks have different locks. Blocks at the same
 * offset of parts whose sizes are powers of two mostly have different locks, too. */
static struct tern_robust_lock *lock_of(struct tern_segment *segment, uint64_t origin)
{
    uint64_t block = origin / TERN_ACC_BLOCK;

    return &segment->acc_lock[(block + block / TERN_ACC_LOCKS * 97u) % TERN_ACC_LOCKS];
}

/* Hold the lock of the block for the addition of len bytes. If another block's lock is held, or this lock was held for
 * too long, it is released first. */
static void hold(struct adding *a, uint64_t origin, size_t len)
{
    struct tern_segment     *segment = tern_job.boot.segment;
    struct tern_robust_lock *lock = lock_of(segment, origin);

    if (lock != a->held || a->left < len + PIECE) {
        acc_end(a);
        tern_boot_robust_lock(segment, lock, tern_job.boot.rank);
        a->held = lock;
        a->left = HOLD;
    }
    a->left -= len + PIECE;
}

/* Return the number of bytes of the elements that begin in the same block as the first element. */
static size_t in_block(const struct adding *a, uint64_t origin, size_t len)
{
    size_t rest = TERN_ACC_BLOCK - origin % TERN_ACC_BLOCK;

    rest = (rest + a->element - 1) & ~(a->element - 1); /* element is a power of two */
    return len < rest ? len : rest;
}

/* Add len bytes of elements at `from` to those at `to`. `origin` is the part's origin plus the offset in the part. */
static void acc_add(struct adding *a, unsigned char *to, uint64_t origin, unsigned char *from, size_t len)
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
    struct adding            adding; /* must be first */
    const struct tern_shape *shape;
};

static void add(struct direct *d, uint64_t local, uint64_t remote, size_t len)
{
    const struct tern_link_part *part = d->shape->part;

    acc_add(&d->adding, part->base + remote, part->origin + remote, (unsigned char *)(uintptr_t)local, len);
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
        add(d, local[i], remote[i] + d->shape->remote.first, d->shape->local.run);
}

/* Add lists whose entries have different lengths on the two sides. */
static void add_lists(struct direct *d)
{
    struct tern_layout_reader local = { .side = &d->shape->local }, remote = { .side = &d->shape->remote };
    uint64_t                  n;

    for (uint64_t left = d->shape->total; left > 0; left -= n) {
        n = tern_op_layout_read(&local, &remote);
        add(d, local.at, remote.at, n);
        tern_op_layout_take(&local, &remote, n);
    }
}

/* Add a strided shape that has no struct tern_stride, because its two layouts were folded differently. */
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
    struct direct             d = { acc_begin(&shape->acc), shape };

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
    acc_end(&d.adding);
    /* acq_rel: the sums before this thread's later loads and stores. Pairs with the same fences in the peer. */
    atomic_thread_fence(memory_order_acq_rel);
}

/* ---- delayed by chaos ---- */

static void acc_now(const struct tern_xfer *xfer, unsigned char *there)
{
    const struct tern_multi *m = xfer->local;

    (void)there; /* only the first of many offsets */
    tern_op_acc_direct(&m->shape);
}

static tern_status acc_visit(struct tern_multi *m, struct tern_op *transfer, struct tern_shape_cursors *cursors)
{
    const struct tern_link_part *part = m->shape.part;
    struct tern_xfer             xfer = m->op.link.xfer;

    xfer.local = m;
    xfer.visit = acc_now;
    transfer->link.xfer = xfer;
    cursors->local.at = cursors->remote.at = m->shape.total;
    return part->path->start(m->op.ctx->lane[part->link], &xfer, &transfer->link);
}

const struct tern_multi_method tern_op_method_acc_visit = { .most = 1, .start = acc_visit };

/* ---- target ---- */

/* Return whether the memory consists of whole, aligned elements. */
static bool is_whole(const struct adding *a, const unsigned char *place, uint64_t len)
{
    return (uintptr_t)place % tern_acc_op_align(a->sum->type) == 0 && len % a->element == 0;
}

/* Add the operands. Returns false if a piece does not lie in the memory or splits an element; everything before that
 * piece has been added. */
static bool add_all(struct adding *a, const struct tern_target_mem *target, struct tern_op_rpc_request *r,
                    unsigned char *from)
{
    for (uint64_t left = r->len; left > 0;) {
        uint64_t where = 0, n = tern_op_layout_run(&r->layout, &r->cursor, &where);

        n = n < left ? n : left;
        if (n == 0 || !tern_base_covers(target->size, where, n) || !is_whole(a, target->base + where, n))
            return false;
        acc_add(a, target->base + where, target->origin + where, from, n);
        tern_op_layout_skip(&r->layout, &r->cursor, n);
        from += n;
        left -= n;
    }
    return true;
}

/* Decode a request. Returns false if it is not valid. */
static bool decode(const struct tern_target_mem *target, const unsigned char *bytes, size_t len,
                   struct tern_acc_op *sum, struct tern_op_rpc_request *r)
{
    struct wire_acc head;

    if (len < sizeof(head))
        return false;
    tern_base_copy_once(&head, bytes, sizeof(head));
    *sum = head.sum;
    return tern_op_acc_op_valid(sum) && tern_op_rpc_decode(bytes + sizeof(head), len - sizeof(head), target->size, r) &&
           r->verb == WIRE_PUT;
}

tern_status tern_op_acc_rpc(const struct tern_target_mem *target, const unsigned char *request, size_t len,
                            unsigned char *response, size_t capacity, size_t *response_len)
{
    struct tern_acc_op         sum;
    struct tern_op_rpc_request r;
    struct adding              a;
    unsigned char             *from;
    uint64_t                   mode;
    bool                       done;

    if (!decode(target, request, len, &sum, &r) || (sum.fetch && r.len > capacity) ||
        !tern_op_rpc_mem_present(target, &r))
        return TERN_ERR_LINK;
    from = (unsigned char *)(uintptr_t)r.payload; /* written only if it is the response */
    if (sum.fetch) {
        memcpy(response, r.payload, r.len);
        from = response;
        *response_len = r.len;
    }
    a = acc_begin(&sum);
    mode = tern_base_float_enter();
    done = add_all(&a, target, &r, from);
    tern_base_float_leave(mode);
    acc_end(&a);
    return done ? TERN_OK : TERN_ERR_LINK;
}
