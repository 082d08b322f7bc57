/* shape.c: the checks of calls with noncontiguous data: check every piece, describe the transfer, then call op/shape.
 * The calls are in shape_calls.c and acc.c. */
#include "api/shape.h"

#include "api/check.h"
#include "api/shared.h"
#include "api/signal.h"
#include "base/bits.h"
#include "base/debug.h"
#include "op/atomic/acc.h"
#include "op/start.h"
#include "op/shape/overlap.h"

/* The lists of the public header are read directly as lists of a layout. */
_Static_assert(sizeof(tern_piece) == sizeof(struct tern_layout_extent) && sizeof(void *) == sizeof(uint64_t) &&
                   offsetof(tern_piece, len) == offsetof(struct tern_layout_extent, len),
               "a piece has the layout of an extent");
_Static_assert(sizeof(tern_extent) == sizeof(struct tern_layout_extent) &&
                   offsetof(tern_extent, len) == offsetof(struct tern_layout_extent, len),
               "a public extent has the layout of an internal one");
_Static_assert(TERN_STRIDED_DIMS == TERN_STRIDE_DIMS && sizeof(size_t) == sizeof(uint64_t),
               "the optimizer has the same limit");

/* ---- checks ---- */

static __attribute__((cold, noinline)) tern_status is_null(const struct tern_api_call *c, const char *name)
{
    return tern_base_fail(TERN_ERR_ARG, "%s: %s is NULL", c->what, name);
}

static __attribute__((cold, noinline)) tern_status list_is_null(const struct tern_api_call *c, const char *list,
                                                                const char *length, uint64_t count)
{
    return tern_base_fail(TERN_ERR_ARG, "%s: %s is NULL, but %s is %llu", c->what, list, length,
                          (unsigned long long)count);
}

static __attribute__((cold, noinline)) tern_status piece_is_null(const struct tern_api_call *c, size_t piece)
{
    return tern_base_fail(TERN_ERR_ARG, "%s: the address of local piece %zu is NULL", c->what, piece);
}

static __attribute__((cold, noinline)) tern_status out_of_part(const struct tern_api_call *c,
                                                               const struct tern_shape *shape, size_t piece,
                                                               uint64_t offset, uint64_t len)
{
    if (shape->part->region == 0)
        return tern_api_outside(shape->part, c->rank, offset, len, c->what);
    return tern_base_fail(TERN_ERR_RANGE,
                          "%s: piece %zu, %llu bytes at offset %llu, does not lie in the %llu bytes of rank %d",
                          c->what, piece, (unsigned long long)len, (unsigned long long)offset,
                          (unsigned long long)tern_link_part_size(shape->part), c->rank);
}

/* Find the part, and check that the rank is alive. name is the argument that describes the transfer. */
static tern_status check_target(const struct tern_api_call *c, const void *description, const char *name,
                                struct tern_shape *shape)
{
    tern_status st = tern_api_part(c->ctx, c->region, c->rank, c->what, &shape->part);

    if (st < 0)
        return st;
    if (!description)
        return is_null(c, name);
    return tern_api_alive(c->ctx, c->rank, c->what);
}

static __attribute__((cold, noinline)) tern_status totals_differ(const struct tern_api_call *c, uint64_t local_total,
                                                                 uint64_t remote_total)
{
    return tern_base_fail(TERN_ERR_ARG, "%s: the local side has %llu bytes and the remote one %llu", c->what,
                          (unsigned long long)local_total, (unsigned long long)remote_total);
}

static __attribute__((cold, noinline)) tern_status too_much(const struct tern_api_call *c)
{
    return tern_base_fail(TERN_ERR_RANGE, "%s: the pieces have more bytes than any memory", c->what);
}

/* In debug builds, check that neither the pieces of the destination nor the two sides overlap. Pieces of an accumulate
 * may overlap. */
static __attribute__((noinline)) tern_status check_overlap(const struct tern_api_call *c,
                                                           const struct tern_shape    *shape)
{
    struct tern_shape      s = *shape;
    struct tern_layout_dim local_dims[TERN_STRIDE_DIMS], remote_dims[TERN_STRIDE_DIMS];
    uint64_t               where;
    bool                   local_is_written;

    tern_op_shape_layouts(&s, local_dims, remote_dims);
    local_is_written = c->adds ? c->sum.fetch : c->get;
    if ((local_is_written || !c->adds) &&
        tern_op_overlap_within(local_is_written ? &s.local : &s.remote, TERN_OVERLAP_PIECES, &where))
        return tern_base_fail(TERN_ERR_ARG, "%s: pieces of the destination overlap at %s 0x%llx", c->what,
                              local_is_written ? "address" : "offset", (unsigned long long)where);
    if (tern_link_loads(s.part) &&
        tern_op_overlap_between(&s.local, &s.remote, (uint64_t)(uintptr_t)s.part->base, TERN_OVERLAP_PIECES, &where))
        return tern_base_fail(TERN_ERR_ARG, "%s: source and destination overlap at address 0x%llx", c->what,
                              (unsigned long long)where);
    return TERN_OK;
}

/* Run an operation on no bytes, which may still have to notify, or to update a signal or a counter. */
static __attribute__((cold, noinline)) tern_status go_empty(const struct tern_api_call *c,
                                                            const struct tern_shape    *shape)
{
    struct tern_xfer           none = { .part = shape->part };
    const struct tern_api_opts o = { .opts = c->opts, .what = c->what };

    return c->opts->signal ? tern_api_put_signal(c->ctx, c->region, c->rank, &none, &o)
                           : tern_op_contig(c->ctx, &none, c->opts, c->what);
}

/* Run a put that a signal follows. */
static __attribute__((noinline)) tern_status go_signal(const struct tern_api_call *c, struct tern_shape *shape)
{
    struct tern_op_atomic word;
    tern_status           st = tern_api_signal(c->ctx, c->rank, c->opts->signal, c->what, &word);

    return st < 0 ? st : tern_op_shape_signal(c->ctx, shape, &word, c->opts, c->what);
}

tern_status tern_api_shape_go(const struct tern_api_call *c, struct tern_shape *shape)
{
    tern_status st;

    if ((c->opts->flags & TERN_NOTIFY) && !tern_api_notifies(shape->part, c->rank, c->what))
        return TERN_ERR_RANGE;
    if (TERN_UNLIKELY(shape->total == 0))
        return go_empty(c, shape);
    if (TERN_BASE_DEBUG && (st = check_overlap(c, shape)) < 0)
        return st;
    if (c->adds && (st = tern_api_acc_check(c, shape)) < 0)
        return st;
    shape->get = !c->adds && c->get;
    if ((shape->accumulates = c->adds))
        shape->acc = c->sum;
    if (TERN_UNLIKELY(c->opts->signal != NULL))
        return go_signal(c, shape);
    return tern_op_shape(c->ctx, shape, c->opts, c->what);
}

/* ---- vector ---- */

/* Lists may be long, so most lists are checked without a branch per entry: if the highest bit of every number that must
 * be small is clear, no sum has wrapped. Other lists are checked exactly, entry by entry. */
#define HIGHEST ((uint64_t)1 << 63)

/* Return whether the sum of count lengths cannot wrap. lens is the bitwise OR of all lengths. */
static bool sum_is_simple(uint64_t lens, size_t count)
{
    return lens >> 32 == 0 && count >> 31 == 0;
}

static bool simple_pieces(const tern_vector *v, uint64_t *total)
{
    uint64_t bits = 0, lens = 0, sum = 0;

    for (size_t i = 0; i < v->local_count; i++) {
        uint64_t at = (uint64_t)(uintptr_t)v->local[i].addr, len = v->local[i].len;

        bits |= (at - 1) | (at + len);
        lens |= len;
        sum += len;
    }
    *total = sum;
    return bits < HIGHEST && sum_is_simple(lens, v->local_count);
}

static tern_status check_pieces(const struct tern_api_call *c, const tern_vector *v, uint64_t *total)
{
    if (TERN_LIKELY(simple_pieces(v, total)))
        return TERN_OK;
    *total = 0;
    for (size_t i = 0; i < v->local_count; i++) {
        const tern_piece *p = &v->local[i];

        if (!p->addr && p->len > 0)
            return piece_is_null(c, i);
        if ((uintptr_t)p->addr + p->len < p->len)
            return tern_base_fail(TERN_ERR_RANGE, "%s: local piece %zu wraps around the end of the address space",
                                  c->what, i);
        if (__builtin_add_overflow(*total, p->len, total))
            return too_much(c);
    }
    return TERN_OK;
}

static inline __attribute__((always_inline)) bool extents_after(const tern_vector *v, uint64_t base, uint64_t size,
                                                                uint64_t *total)
{
    uint64_t bits = size, lens = 0, sum = 0;

    for (size_t i = 0; i < v->remote_count; i++) {
        uint64_t at = v->remote[i].offset - base, len = v->remote[i].len;

        bits |= at | (at + len) | (size - at - len);
        lens |= len;
        sum += len;
    }
    *total = sum;
    return bits < HIGHEST && sum_is_simple(lens, v->remote_count);
}

static bool simple_extents(const tern_vector *v, uint64_t size, uint64_t *total)
{
    return TERN_LIKELY(v->base == 0) ? extents_after(v, 0, size, total) : extents_after(v, v->base, size, total);
}

static tern_status check_extents(const struct tern_api_call *c, const tern_vector *v, const struct tern_shape *shape,
                                 uint64_t *total)
{
    if (TERN_LIKELY(simple_extents(v, tern_link_part_size(shape->part), total)))
        return TERN_OK;
    *total = 0;
    for (size_t i = 0; i < v->remote_count; i++) {
        const tern_extent *e = &v->remote[i];

        if (e->len > 0 && !tern_base_covers(tern_link_part_size(shape->part), e->offset - v->base, e->len))
            return out_of_part(c, shape, i, e->offset - v->base, e->len);
        if (__builtin_add_overflow(*total, e->len, total))
            return too_much(c);
    }
    return TERN_OK;
}

/* Make a call whose description has the size of another version of Tern. */
static __attribute__((cold, noinline)) tern_status vector_of_version(const struct tern_api_call *c,
                                                                     const tern_vector          *v)
{
    tern_vector copy;

    v = TERN_API_SIZED(tern_vector, v, &copy, c->what);
    return v ? tern_api_vector(c, v) : TERN_ERR_ARG;
}

/* Make the call on the inner context of a shared context. */
static __attribute__((cold, noinline)) tern_status vector_shared(const struct tern_api_call *c, const tern_vector *v)
{
    struct tern_api_call call = *c;

    return TERN_API_LOCKED(inner, c->ctx, (call.ctx = inner, tern_api_vector(&call, v)));
}

/* Find the attached memory of a dynamic region that contains len bytes at the address `first`. All pieces of a list
 * must lie in the same memory as its first piece. *addr receives the address of that memory at its rank. */
static __attribute__((cold, noinline)) tern_status locate(const struct tern_api_call *c, uint64_t first, uint64_t len,
                                                          struct tern_shape *shape, uint64_t *addr)
{
    struct tern_api_location location = { .part = shape->part, .offset = first, .len = len };
    tern_status              st = tern_api_locate(c->ctx, c->region, c->rank, c->what, &location);

    shape->part = location.part;
    *addr = location.part->addr;
    return st;
}

static __attribute__((cold, noinline)) tern_status locate_vector(const struct tern_api_call *c, const tern_vector *v,
                                                                 struct tern_shape *shape, tern_vector *copy)
{
    tern_status st = TERN_OK;
    uint64_t    addr = 0;
    size_t      i = 0;

    *copy = *v;
    while (v->remote && i < v->remote_count && v->remote[i].len == 0)
        i++;
    if (v->remote && i < v->remote_count)
        st = locate(c, v->remote[i].offset - v->base, v->remote[i].len, shape, &addr);
    copy->base += addr;
    return st;
}

static __attribute__((cold, noinline)) tern_status locate_indexed(const struct tern_api_call *c, const tern_indexed *x,
                                                                  struct tern_shape *shape, tern_indexed *copy)
{
    tern_status st = TERN_OK;
    uint64_t    addr = 0;

    *copy = *x;
    if (x->remote && x->remote_count > 0 && x->remote_len > 0)
        st = locate(c, x->remote[0] - x->base, x->remote_len, shape, &addr);
    copy->base += addr;
    return st;
}

tern_status tern_api_vector(const struct tern_api_call *c, const tern_vector *v)
{
    struct tern_shape shape; /* not zeroed, because that takes longer than a short list */
    tern_vector       located;
    uint64_t          local_total, remote_total;
    tern_status       st = check_target(c, v, "vector", &shape);

    if (st < 0)
        return st == TERN_API_IS_SHARED ? vector_shared(c, v) : st;
    if (TERN_UNLIKELY(v->size != sizeof(*v)))
        return vector_of_version(c, v);
    if (tern_api_is_dynamic(shape.part)) {
        if ((st = locate_vector(c, v, &shape, &located)) < 0)
            return st;
        v = &located;
    }
    if (!v->local && v->local_count > 0)
        return list_is_null(c, "local", "local_count", v->local_count);
    if (!v->remote && v->remote_count > 0)
        return list_is_null(c, "remote", "remote_count", v->remote_count);
    if ((st = check_extents(c, v, &shape, &remote_total)) < 0 || (st = check_pieces(c, v, &local_total)) < 0)
        return st;
    if (local_total != remote_total)
        return totals_differ(c, local_total, remote_total);
    shape.stride = NULL;
    shape.total = local_total;
    shape.local = (struct tern_layout){
        .kind = TERN_LAYOUT_VECTOR, .total = local_total, .count = v->local_count, .list = v->local
    };
    shape.remote = (struct tern_layout){ .kind = TERN_LAYOUT_VECTOR,
                                         .total = remote_total,
                                         .first = -v->base,
                                         .count = v->remote_count,
                                         .list = v->remote };
    return tern_api_shape_go(c, &shape);
}

/* ---- indexed ---- */

/* Return the index of the piece with the highest offset. If any piece is out of range, this piece is. */
static size_t highest(const tern_layout_offset *at, size_t count, uint64_t base)
{
    size_t which = 0;

    for (size_t i = 1; i < count; i++)
        if (at[i] - base > at[which] - base)
            which = i;
    return which;
}

/* Return whether all offsets are between low and high, which must both be below half of the number range. */
static bool all_between(const tern_layout_offset *at, size_t count, uint64_t low, uint64_t high)
{
    uint64_t bits = high;

    for (size_t i = 0; i < count; i++)
        bits |= (at[i] - low) | (high - at[i]);
    return bits < HIGHEST;
}

/* Return whether the pieces of both lists are in range: remote pieces in a part of `size` bytes, local pieces in the
 * lower half of the address space. Lists of the same length are read in one loop. */
static inline __attribute__((always_inline)) bool lists_after(const tern_indexed *x, uint64_t base, uint64_t size)
{
    const tern_layout_offset *local = (const tern_layout_offset *)(const void *)x->local, *remote = x->remote;
    uint64_t                  local_high = HIGHEST - 1 - x->local_len, remote_high = size - x->remote_len, bits;

    if (x->remote_len > size)
        return false;
    if (x->local_count != x->remote_count)
        return all_between(remote, x->remote_count, base, base + remote_high) &&
               all_between(local, x->local_count, 1, local_high);
    bits = local_high | remote_high;
    for (size_t i = 0; i < x->local_count; i++)
        bits |= (remote[i] - base) | (remote_high - (remote[i] - base)) | (local[i] - 1) | (local_high - local[i]);
    return bits < HIGHEST;
}

static bool simple_lists(const tern_indexed *x, uint64_t size)
{
    return TERN_LIKELY(x->base == 0) ? lists_after(x, 0, size) : lists_after(x, x->base, size);
}

/* Check lists that are not simple exactly. */
static __attribute__((cold, noinline)) tern_status check_each_index(const struct tern_api_call *c,
                                                                    const tern_indexed         *x,
                                                                    const struct tern_shape    *shape)
{
    const tern_layout_offset *local = (const tern_layout_offset *)(const void *)x->local, *remote = x->remote;
    size_t                    last_local = highest(local, x->local_count, 0);
    size_t                    last_remote = highest(remote, x->remote_count, x->base);

    if (!tern_base_covers(tern_link_part_size(shape->part), remote[last_remote] - x->base, x->remote_len))
        return out_of_part(c, shape, last_remote, remote[last_remote] - x->base, x->remote_len);
    if (local[last_local] + x->local_len < x->local_len)
        return tern_base_fail(TERN_ERR_RANGE, "%s: local piece %zu wraps around the end of the address space", c->what,
                              last_local);
    for (size_t i = 0; i < x->local_count; i++)
        if (local[i] == 0)
            return piece_is_null(c, i);
    return TERN_OK;
}

static tern_status check_indexed(const struct tern_api_call *c, const tern_indexed *x, const struct tern_shape *shape)
{
    return TERN_LIKELY(simple_lists(x, tern_link_part_size(shape->part))) ? TERN_OK : check_each_index(c, x, shape);
}

/* Make a call whose description has the size of another version of Tern. */
static __attribute__((cold, noinline)) tern_status indexed_of_version(const struct tern_api_call *c,
                                                                      const tern_indexed         *x)
{
    tern_indexed copy;

    x = TERN_API_SIZED(tern_indexed, x, &copy, c->what);
    return x ? tern_api_indexed(c, x) : TERN_ERR_ARG;
}

/* Make the call on the inner context of a shared context. */
static __attribute__((cold, noinline)) tern_status indexed_shared(const struct tern_api_call *c, const tern_indexed *x)
{
    struct tern_api_call call = *c;

    return TERN_API_LOCKED(inner, c->ctx, (call.ctx = inner, tern_api_indexed(&call, x)));
}

tern_status tern_api_indexed(const struct tern_api_call *c, const tern_indexed *x)
{
    struct tern_shape shape; /* not zeroed, because that takes longer than a short list */
    tern_indexed      located;
    uint64_t          local_total, remote_total;
    tern_status       st = check_target(c, x, "indexed", &shape);

    if (st < 0)
        return st == TERN_API_IS_SHARED ? indexed_shared(c, x) : st;
    if (TERN_UNLIKELY(x->size != sizeof(*x)))
        return indexed_of_version(c, x);
    if (tern_api_is_dynamic(shape.part)) {
        if ((st = locate_indexed(c, x, &shape, &located)) < 0)
            return st;
        x = &located;
    }
    if (__builtin_mul_overflow(x->local_count, x->local_len, &local_total) ||
        __builtin_mul_overflow(x->remote_count, x->remote_len, &remote_total))
        return too_much(c);
    if (local_total != remote_total)
        return totals_differ(c, local_total, remote_total);
    shape.stride = NULL;
    if ((shape.total = local_total) > 0) {
        if (!x->local)
            return list_is_null(c, "local", "local_count", x->local_count);
        if (!x->remote)
            return list_is_null(c, "remote", "remote_count", x->remote_count);
        if ((st = check_indexed(c, x, &shape)) < 0)
            return st;
    }
    shape.local = (struct tern_layout){ .kind = TERN_LAYOUT_INDEXED,
                                        .total = local_total,
                                        .run = x->local_len,
                                        .count = x->local_count,
                                        .list = x->local };
    shape.remote = (struct tern_layout){ .kind = TERN_LAYOUT_INDEXED,
                                         .total = remote_total,
                                         .run = x->remote_len,
                                         .first = -x->base,
                                         .count = x->remote_count,
                                         .list = x->remote };
    return tern_api_shape_go(c, &shape);
}

/* ---- strided ---- */

static __attribute__((cold, noinline)) tern_status box_outside(const struct tern_api_call *c, const tern_strided *s,
                                                               const struct tern_stride_reach *reach,
                                                               const struct tern_link_part    *part)
{
    unsigned long long before = reach->before, behind = reach->behind, first = s->remote,
                       size = tern_link_part_size(part);

    if (part->region == 0)
        return tern_api_outside(part, c->rank, s->remote, reach->behind, c->what);
    if (before > first)
        return tern_base_fail(TERN_ERR_RANGE,
                              "%s: the box needs bytes from %llu before the part of rank %d on, which has %llu bytes: "
                              "remote is %llu, and the strides lead %llu bytes back",
                              c->what, before - first, c->rank, size, first, before);
    return tern_base_fail(TERN_ERR_RANGE,
                          "%s: the box needs the bytes %llu to %llu of rank %d, whose part has %llu bytes", c->what,
                          first - before, first + behind - 1, c->rank, size);
}

static __attribute__((cold, noinline)) tern_status box_wraps(const struct tern_api_call     *c,
                                                             const struct tern_stride_reach *reach)
{
    return tern_base_fail(
        TERN_ERR_RANGE,
        "%s: the box begins %llu bytes before local and ends %llu bytes behind it, beyond the ends of "
        "the address space",
        c->what, (unsigned long long)reach->before, (unsigned long long)reach->behind);
}

static tern_status check_strided(const struct tern_api_call *c, const tern_strided *s, const struct tern_stride *stride,
                                 const struct tern_shape *shape)
{
    const struct tern_stride_reach *remote = &stride->remote_reach, *local = &stride->local_reach;
    uint64_t                        addr = (uint64_t)(uintptr_t)s->local;

    if (remote->before > s->remote || !tern_base_covers(tern_link_part_size(shape->part), s->remote - remote->before,
                                                        remote->before + remote->behind))
        return box_outside(c, s, remote, shape->part);
    if (!s->local)
        return is_null(c, "local");
    if (local->before > addr || addr + local->behind < addr)
        return box_wraps(c, local);
    return TERN_OK;
}

/* Make a call whose description has the size of another version of Tern. */
static __attribute__((cold, noinline)) tern_status strided_of_version(const struct tern_api_call *c,
                                                                      const tern_strided         *s)
{
    tern_strided copy;

    s = TERN_API_SIZED(tern_strided, s, &copy, c->what);
    return s ? tern_api_strided(c, s) : TERN_ERR_ARG;
}

/* Make the call on the inner context of a shared context. */
static __attribute__((cold, noinline)) tern_status strided_shared(const struct tern_api_call *c, const tern_strided *s)
{
    struct tern_api_call call = *c;

    return TERN_API_LOCKED(inner, c->ctx, (call.ctx = inner, tern_api_strided(&call, s)));
}

tern_status tern_api_strided(const struct tern_api_call *c, const tern_strided *s)
{
    struct tern_shape        shape; /* without layouts, which op creates if it needs them */
    tern_strided             located;
    struct tern_stride       stride;
    struct tern_stride_input in;
    tern_status              st = check_target(c, s, "strided", &shape);

    if (st < 0)
        return st == TERN_API_IS_SHARED ? strided_shared(c, s) : st;
    if (TERN_UNLIKELY(s->size != sizeof(*s)))
        return strided_of_version(c, s);
    if (s->dims > TERN_STRIDED_DIMS)
        return tern_base_fail(TERN_ERR_ARG, "%s: dims is %u; a box has at most %d dimensions", c->what, s->dims,
                              TERN_STRIDED_DIMS);
    if (s->dims > 0 && (!s->count || !s->local_stride || !s->remote_stride))
        return list_is_null(c,
                            !s->count          ? "count"
                            : !s->local_stride ? "local_stride"
                                               : "remote_stride",
                            "dims", s->dims);
    in = (struct tern_stride_input){ s->dims, s->element, s->count, s->remote_stride, s->local_stride };
    switch (tern_op_stride_make(&in, &stride)) {
    case TERN_STRIDE_HUGE: return too_much(c);
    case TERN_STRIDE_EMPTY: shape.total = 0; return tern_api_shape_go(c, &shape);
    default: break;
    }
    if (tern_api_is_dynamic(shape.part)) {
        uint64_t addr = 0;

        if ((st = locate(c, s->remote, s->element, &shape, &addr)) < 0)
            return st;
        located = *s;
        located.remote -= addr;
        s = &located;
    }
    if ((st = check_strided(c, s, &stride, &shape)) < 0)
        return st;
    shape.total = stride.total;
    shape.stride = &stride;
    shape.local_first = (uint64_t)(uintptr_t)s->local;
    shape.remote_first = s->remote;
    return tern_api_shape_go(c, &shape);
}
