/* vector.c: put, get and accumulate of lists of segments.
 *
 * A list of remote addresses is passed to Tern unchanged, because an indexed transfer subtracts the base of the part
 * from each entry. If the segments of a list lie in several allocations, each segment is a transfer of its own.
 */
#include "state.h"

enum kind { PUT, GET, ACC };

/* Check a descriptor. Returns whether it contains any bytes. */
static bool check_list(const char *call, enum kind kind, const armci_giov_t *iov)
{
    void *const *local = kind == GET ? iov->dst_ptr_array : iov->src_ptr_array;

    if (iov->bytes < 0 || iov->ptr_array_len < 0)
        tern_front_die(call, "%d segments of %d bytes; neither number may be negative", iov->ptr_array_len, iov->bytes);
    if (iov->ptr_array_len > 0 && (iov->src_ptr_array == NULL || iov->dst_ptr_array == NULL))
        tern_front_die(call, "a list of %d segments is NULL", iov->ptr_array_len);
    for (int i = 0; i < iov->ptr_array_len; i++) {
        if (local[i] == NULL && iov->bytes > 0)
            tern_front_die(call, "the local address of segment %d is NULL", i);
    }
    return iov->bytes > 0 && iov->ptr_array_len > 0;
}

/* Return whether all remote segments lie in the allocation of the first one. */
static bool in_one_block(const struct tern_armci_op *op, void *const *remote, int n)
{
    const struct tern_armci_block *block = tern_armci_block_at(op->proc, remote[0]);

    for (int i = 1; i < n; i++) {
        if (tern_armci_block_at(op->proc, remote[i]) != block)
            return false;
    }
    return true;
}

/* Transfer n segments in one allocation. Near accumulates are complete at once. */
static void transfer(const struct tern_armci_op *op, enum kind kind, const armci_giov_t *iov, int first, int n)
{
    void                  **local = (kind == GET ? iov->dst_ptr_array : iov->src_ptr_array) + first;
    void                  **remote = (kind == GET ? iov->src_ptr_array : iov->dst_ptr_array) + first;
    struct tern_armci_place place = tern_armci_find(op->call, op->proc, remote[0]);
    tern_indexed          list = TERN_INDEXED(.local_count = (size_t)n, .local_len = (size_t)iov->bytes, .local = local,
                                              .remote_count = (size_t)n, .remote_len = (size_t)iov->bytes,
                                              .remote = (const uint64_t *)(const void *)remote, .base = place.base);
    struct tern_armci_end end;
    const tern_opts      *opts;
    tern_ctx             *ctx = tern_armci.far_ctx;
    tern_status           status;

    if (tern_armci.near[op->proc]) { /* near puts and gets do not call this function */
        tern_front_check(tern_acc_indexed(tern_armci.near_ctx, place.region, op->proc, &list, op->acc), op->call,
                         "the operation");
        return;
    }
    opts = tern_armci_opts(op, &end);
    if (kind == PUT)
        status = tern_put_indexed_with(ctx, place.region, op->proc, &list, opts);
    else if (kind == GET)
        status = tern_get_indexed_with(ctx, place.region, op->proc, &list, opts);
    else
        status = tern_acc_indexed_with(ctx, place.region, op->proc, &list, opts);
    (void)tern_armci_finish(op, &end, status);
}

/* Copy the segments of a descriptor between this process and near memory. */
static void copy_list(const struct tern_armci_op *op, void *const *remote, const armci_giov_t *iov)
{
    for (int i = 0; i < iov->ptr_array_len; i++)
        if (!tern_armci_at_hand(op->proc, remote[i], iov->bytes))
            tern_armci_check_near(op->call, op->proc, remote[i], (size_t)iov->bytes);
    for (int i = 0; i < iov->ptr_array_len; i++)
        tern_armci_copy(iov->dst_ptr_array[i], iov->src_ptr_array[i], (size_t)iov->bytes);
}

/* Accumulate the segments of a descriptor if its elements are not all aligned. Returns whether this is the case. */
static bool acc_odd_list(const struct tern_armci_op *op, const armci_giov_t *iov)
{
    uintptr_t bits = 0;

    for (int i = 0; i < iov->ptr_array_len; i++)
        bits |= (uintptr_t)iov->dst_ptr_array[i];
    if (!tern_armci_is_odd(op->acc, bits))
        return false;
    for (int i = 0; i < iov->ptr_array_len; i++)
        tern_armci_acc_odd(op, &(struct tern_armci_box){
                                   .src = iov->src_ptr_array[i], .dst = iov->dst_ptr_array[i], .count = &iov->bytes });
    return true;
}

static void move_list(const struct tern_armci_op *op, enum kind kind, const armci_giov_t *iov)
{
    void *const *remote = kind == GET ? iov->src_ptr_array : iov->dst_ptr_array;

    if (tern_armci.near[op->proc] && kind != ACC) {
        copy_list(op, remote, iov);
    } else if (kind == ACC && acc_odd_list(op, iov)) {
        return;
    } else if (in_one_block(op, remote, iov->ptr_array_len)) {
        transfer(op, kind, iov, 0, iov->ptr_array_len);
    } else {
        for (int i = 0; i < iov->ptr_array_len; i++)
            transfer(op, kind, iov, i, 1);
    }
}

static void move_lists(const struct tern_armci_op *op, enum kind kind, const armci_giov_t *iov, int n)
{
    if (n < 0 || (iov == NULL && n > 0))
        tern_front_die(op->call, "%d descriptors at %p: the list is invalid", n, (const void *)iov);
    tern_armci_release();
    for (int i = 0; i < n; i++) {
        if (check_list(op->call, kind, &iov[i]))
            move_list(op, kind, &iov[i]);
    }
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
}

/* Transfer all descriptors. The operations of one call with a handle belong together, like those of an aggregate. */
static int move_all(const struct tern_armci_op *op, enum kind kind, const armci_giov_t *iov, int n)
{
    bool aggregate;

    if (op->handle == NULL) {
        move_lists(op, kind, iov, n);
        return 0;
    }
    aggregate = tern_armci_set_done(op->call, op->handle); /* completes an earlier operation of the handle */
    ARMCI_SET_AGGREGATE_HANDLE(op->handle);
    move_lists(op, kind, iov, n);
    if (!aggregate)
        ARMCI_UNSET_AGGREGATE_HANDLE(op->handle);
    return 0;
}

ARMCI_EXPORT int PARMCI_PutV(armci_giov_t *iov, int iov_len, int proc)
{
    struct tern_armci_op op = tern_armci_blocking("ARMCI_PutV", proc, false);

    return move_all(&op, PUT, iov, iov_len);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_PutV, PARMCI_PutV);

ARMCI_EXPORT int PARMCI_GetV(armci_giov_t *iov, int iov_len, int proc)
{
    struct tern_armci_op op = tern_armci_blocking("ARMCI_GetV", proc, true);

    return move_all(&op, GET, iov, iov_len);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_GetV, PARMCI_GetV);

ARMCI_EXPORT int PARMCI_AccV(int datatype, void *scale, armci_giov_t *iov, int iov_len, int proc)
{
    struct tern_armci_op op = tern_armci_blocking("ARMCI_AccV", proc, false);
    tern_acc_args        args = tern_armci_acc_args(op.call, datatype, scale);

    op.acc = &args;
    return move_all(&op, ACC, iov, iov_len);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_AccV, PARMCI_AccV);

ARMCI_EXPORT int PARMCI_NbPutV(armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle)
{
    struct tern_armci_op op = tern_armci_nonblocking("ARMCI_NbPutV", proc, false, handle);

    return move_all(&op, PUT, iov, iov_len);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_NbPutV, PARMCI_NbPutV);

ARMCI_EXPORT int PARMCI_NbGetV(armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle)
{
    struct tern_armci_op op = tern_armci_nonblocking("ARMCI_NbGetV", proc, true, handle);

    return move_all(&op, GET, iov, iov_len);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_NbGetV, PARMCI_NbGetV);

ARMCI_EXPORT int PARMCI_NbAccV(int datatype, void *scale, armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle)
{
    struct tern_armci_op op = tern_armci_nonblocking("ARMCI_NbAccV", proc, false, handle);
    tern_acc_args        args = tern_armci_acc_args(op.call, datatype, scale);

    op.acc = &args;
    return move_all(&op, ACC, iov, iov_len);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_NbAccV, PARMCI_NbAccV);
