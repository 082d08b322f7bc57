/* strided.c: put, get and accumulate of boxes, and packing of boxes. */
#include <string.h>

#include "state.h"

/* Check the description of a box. Returns whether the box contains any bytes. */
bool tern_armci_check_box(const char *call, const struct tern_armci_box *box)
{
    bool any = true;

    if (box->levels < 0 || box->levels > ARMCI_MAX_STRIDE_LEVEL)
        tern_front_die(call, "%d stride levels; there may be 0 to %d", box->levels, ARMCI_MAX_STRIDE_LEVEL);
    if (box->count == NULL)
        tern_front_die(call, "the list of counts is NULL");
    if (box->levels > 0 && (box->src_stride == NULL || box->dst_stride == NULL))
        tern_front_die(call, "a list of %d strides is NULL", box->levels);
    for (int i = 0; i <= box->levels; i++) {
        if (box->count[i] < 0)
            tern_front_die(call, "count[%d] is %d; it must not be negative", i, box->count[i]);
        any = any && box->count[i] > 0;
    }
    if (any && (box->src == NULL || box->dst == NULL))
        tern_front_die(call, "the address of the %s is NULL", box->src == NULL ? "source" : "destination");
    return any;
}

/* Copy a row of n segments. Segments of 8 bytes are usually numbers, and are the most common ones. */
static void copy_row(char *to, ptrdiff_t to_step, const char *from, ptrdiff_t from_step, size_t bytes, int n)
{
    if (bytes == 8) {
        for (int i = 0; i < n; i++)
            memcpy(to + i * to_step, from + i * from_step, 8);
        return;
    }
    for (int i = 0; i < n; i++)
        tern_copy(to + i * to_step, from + i * from_step, bytes);
}

/* Copy a box within this process, row by row; index counts in the levels above the first. */
void tern_armci_copy_box(const struct tern_armci_box *box)
{
    int         index[ARMCI_MAX_STRIDE_LEVEL] = { 0 }, level;
    char       *to = box->dst;
    const char *from = box->src;

    if (box->levels == 0) {
        tern_armci_copy(to, from, (size_t)box->count[0]);
        return;
    }
    do {
        copy_row(to, box->dst_stride[0], from, box->src_stride[0], (size_t)box->count[0], box->count[1]);
        for (level = 1; level < box->levels; level++) {
            to += box->dst_stride[level];
            from += box->src_stride[level];
            if (++index[level] < box->count[level + 1])
                break;
            to -= (ptrdiff_t)box->dst_stride[level] * box->count[level + 1];
            from -= (ptrdiff_t)box->src_stride[level] * box->count[level + 1];
            index[level] = 0;
        }
    } while (level < box->levels);
}

/* The lists of a strided transfer of Tern. */
struct shape {
    size_t       count[ARMCI_MAX_STRIDE_LEVEL];
    ptrdiff_t    local[ARMCI_MAX_STRIDE_LEVEL];
    int64_t      remote[ARMCI_MAX_STRIDE_LEVEL];
    tern_strided strided;
};

/* Describe a box to Tern. The remote side is the destination of a put or an accumulate, and the source of a get. */
static void describe(struct shape *shape, const struct tern_armci_box *box, bool get, uint64_t offset)
{
    const int *local = get ? box->dst_stride : box->src_stride, *remote = get ? box->src_stride : box->dst_stride;

    for (int i = 0; i < box->levels; i++) {
        shape->count[i] = (size_t)box->count[i + 1];
        shape->local[i] = local[i];
        shape->remote[i] = remote[i];
    }
    shape->strided = TERN_STRIDED(.dims = (uint32_t)box->levels, .element = (size_t)box->count[0],
                                  .count = shape->count, .local = get ? box->dst : box->src,
                                  .local_stride = shape->local, .remote = offset, .remote_stride = shape->remote);
}

/* A number of bytes that exceeds all memory, and is so small that the sum of the extents of all levels does not
 * overflow. */
#define FARTHEST (INT64_C(1) << 58)

/* Check that the remote side of a box lies in memory of a near rank. */
static void check_near_box(const struct tern_armci_op *op, const struct tern_armci_box *box, bool get)
{
    const char *remote = get ? box->src : box->dst;
    const int  *stride = get ? box->src_stride : box->dst_stride;
    int64_t     low = 0, high = box->count[0];

    for (int i = 0; i < box->levels; i++) {
        int64_t extent = (int64_t)stride[i] * (box->count[i + 1] - 1);

        if (extent < 0)
            low += extent > -FARTHEST ? extent : -FARTHEST;
        else
            high += extent < FARTHEST ? extent : FARTHEST;
    }
    tern_armci_check_near(op->call, op->proc, remote + low, (size_t)(high - low));
}

static int put_box(const struct tern_armci_op *op, const struct tern_armci_box *box)
{
    struct shape            shape;
    struct tern_armci_place place;
    struct tern_armci_end   end;

    if (!tern_armci_check_box(op->call, box)) {
        tern_armci_set_done(op->call, op->handle);
        return 0;
    }
    if (tern_armci.near[op->proc]) {
        check_near_box(op, box, false);
        tern_armci_set_done(op->call, op->handle);
        tern_armci_release();
        tern_armci_copy_box(box);
        tern_armci_release();
        return 0;
    }
    place = tern_armci_find(op->call, op->proc, box->dst);
    describe(&shape, box, false, place.offset);
    return tern_armci_finish(
        op, &end,
        tern_put_strided_with(tern_armci.far_ctx, place.region, op->proc, &shape.strided, tern_armci_opts(op, &end)));
}

static int get_box(const struct tern_armci_op *op, const struct tern_armci_box *box)
{
    struct shape            shape;
    struct tern_armci_place place;
    struct tern_armci_end   end;

    if (!tern_armci_check_box(op->call, box)) {
        tern_armci_set_done(op->call, op->handle);
        return 0;
    }
    if (tern_armci.near[op->proc]) {
        check_near_box(op, box, true);
        tern_armci_set_done(op->call, op->handle);
        tern_armci_copy_box(box);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        return 0;
    }
    place = tern_armci_find(op->call, op->proc, box->src);
    describe(&shape, box, true, place.offset);
    return tern_armci_finish(
        op, &end,
        tern_get_strided_with(tern_armci.far_ctx, place.region, op->proc, &shape.strided, tern_armci_opts(op, &end)));
}

/* Return whether the elements of the destination are not aligned. */
static bool is_odd(const struct tern_armci_op *op, const struct tern_armci_box *box)
{
    uintptr_t bits = (uintptr_t)box->dst;

    for (int i = 0; i < box->levels; i++)
        bits |= (uintptr_t)(intptr_t)box->dst_stride[i];
    return tern_armci_is_odd(op->acc, bits);
}

static int acc_box(const struct tern_armci_op *op, const struct tern_armci_box *box)
{
    struct shape            shape;
    struct tern_armci_place place;
    struct tern_armci_end   end;

    if (!tern_armci_check_box(op->call, box)) {
        tern_armci_set_done(op->call, op->handle);
        return 0;
    }
    if (is_odd(op, box)) {
        tern_armci_acc_odd(op, box);
        tern_armci_set_done(op->call, op->handle);
        return 0;
    }
    place = tern_armci_find(op->call, op->proc, box->dst);
    describe(&shape, box, false, place.offset);
    if (tern_armci.near[op->proc]) {
        tern_front_check(tern_acc_strided(tern_armci.near_ctx, place.region, op->proc, &shape.strided, op->acc),
                         op->call, "the operation");
        tern_armci_set_done(op->call, op->handle);
        return 0;
    }
    return tern_armci_finish(
        op, &end,
        tern_acc_strided_with(tern_armci.far_ctx, place.region, op->proc, &shape.strided, tern_armci_opts(op, &end)));
}

#define BOX(src_ptr, src_stride_ar, dst_ptr, dst_stride_ar, counts, stride_levels) \
    (&(struct tern_armci_box){ .src = (src_ptr),                                   \
                               .src_stride = (src_stride_ar),                      \
                               .dst = (dst_ptr),                                   \
                               .dst_stride = (dst_stride_ar),                      \
                               .count = (counts),                                  \
                               .levels = (stride_levels) })

ARMCI_EXPORT int PARMCI_PutS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                             int stride_levels, int proc)
{
    struct tern_armci_op op = tern_armci_blocking("ARMCI_PutS", proc, false);

    return put_box(&op, BOX(src_ptr, src_stride_ar, dst_ptr, dst_stride_ar, count, stride_levels));
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_PutS, PARMCI_PutS);

ARMCI_EXPORT int PARMCI_NbPutS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                               int stride_levels, int proc, armci_hdl_t *hdl)
{
    struct tern_armci_op op = tern_armci_nonblocking("ARMCI_NbPutS", proc, false, hdl);

    return put_box(&op, BOX(src_ptr, src_stride_ar, dst_ptr, dst_stride_ar, count, stride_levels));
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_NbPutS, PARMCI_NbPutS);

ARMCI_EXPORT int PARMCI_GetS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                             int stride_levels, int proc)
{
    struct tern_armci_op op = tern_armci_blocking("ARMCI_GetS", proc, true);

    return get_box(&op, BOX(src_ptr, src_stride_ar, dst_ptr, dst_stride_ar, count, stride_levels));
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_GetS, PARMCI_GetS);

ARMCI_EXPORT int PARMCI_NbGetS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                               int stride_levels, int proc, armci_hdl_t *hdl)
{
    struct tern_armci_op op = tern_armci_nonblocking("ARMCI_NbGetS", proc, true, hdl);

    return get_box(&op, BOX(src_ptr, src_stride_ar, dst_ptr, dst_stride_ar, count, stride_levels));
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_NbGetS, PARMCI_NbGetS);

ARMCI_EXPORT int PARMCI_AccS(int datatype, void *scale, void *src_ptr, int src_stride_ar[], void *dst_ptr,
                             int dst_stride_ar[], int count[], int stride_levels, int proc)
{
    struct tern_armci_op op = tern_armci_blocking("ARMCI_AccS", proc, false);
    tern_acc_args        args = tern_armci_acc_args(op.call, datatype, scale);

    op.acc = &args;
    return acc_box(&op, BOX(src_ptr, src_stride_ar, dst_ptr, dst_stride_ar, count, stride_levels));
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_AccS, PARMCI_AccS);

ARMCI_EXPORT int PARMCI_NbAccS(int datatype, void *scale, void *src_ptr, int src_stride_ar[], void *dst_ptr,
                               int dst_stride_ar[], int count[], int stride_levels, int proc, armci_hdl_t *hdl)
{
    struct tern_armci_op op = tern_armci_nonblocking("ARMCI_NbAccS", proc, false, hdl);
    tern_acc_args        args = tern_armci_acc_args(op.call, datatype, scale);

    op.acc = &args;
    return acc_box(&op, BOX(src_ptr, src_stride_ar, dst_ptr, dst_stride_ar, count, stride_levels));
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_NbAccS, PARMCI_NbAccS);

/* Put a box, and then set a flag at the same rank, on which the program may spin with ordinary loads. */
static int put_flag(const char *call, const struct tern_armci_box *box, int *flag, int value, int proc)
{
    struct tern_armci_op    op = tern_armci_blocking(call, proc, false);
    struct tern_armci_place place;
    tern_signal             signal = TERN_SIGNAL_INIT;

    if (tern_armci.near[proc]) {
        tern_armci_check_near(call, proc, flag, sizeof *flag);
        (void)put_box(&op, box);
        __atomic_store_n(flag, value, __ATOMIC_RELEASE);
        return 0;
    }
    place = tern_armci_find(call, proc, flag);
    if (!tern_armci_check_box(call, box)) {
        tern_front_check(tern_put(tern_armci.far_ctx, place.region, proc, place.offset, &value, sizeof value), call,
                         "setting the flag");
        return 0;
    }
    signal.region = place.region;
    signal.offset = place.offset;
    signal.value = (uint32_t)value;
    signal.bytes = sizeof value;
    op.signal = &signal;
    return put_box(&op, box);
}

ARMCI_EXPORT int PARMCI_PutS_flag(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                                  int stride_levels, int *flag, int value, int proc)
{
    return put_flag("ARMCI_PutS_flag", BOX(src_ptr, src_stride_ar, dst_ptr, dst_stride_ar, count, stride_levels), flag,
                    value, proc);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_PutS_flag, PARMCI_PutS_flag);

ARMCI_EXPORT int PARMCI_PutS_flag_dir(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[],
                                      int count[], int stride_levels, int *flag, int value, int proc)
{
    return put_flag("ARMCI_PutS_flag_dir", BOX(src_ptr, src_stride_ar, dst_ptr, dst_stride_ar, count, stride_levels),
                    flag, value, proc);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_PutS_flag_dir, PARMCI_PutS_flag_dir);

ARMCI_EXPORT int PARMCI_Put_flag(void *src, void *dst, int size, int *flag, int value, int proc)
{
    return put_flag("ARMCI_Put_flag", BOX(src, NULL, dst, NULL, &size, 0), flag, value, proc);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Put_flag, PARMCI_Put_flag);
