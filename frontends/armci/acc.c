/* acc.c: the types and scales of accumulates, and contiguous accumulates. */
#include "state.h"

/* The types of ARMCI, in the order of ARMCI_Acc_e, with the number 1. */
static const struct {
    tern_type type;
    size_t    bytes;
    union {
        int    i;
        long   l;
        float  f[2];
        double d[2];
    } one;
} types[] = {
    { TERN_INT32, sizeof(int), { .i = 1 } },
    { TERN_INT64, sizeof(long), { .l = 1 } },
    { TERN_FLOAT, sizeof(float), { .f = { 1 } } },
    { TERN_DOUBLE, sizeof(double), { .d = { 1 } } },
    { TERN_COMPLEX_FLOAT, 2 * sizeof(float), { .f = { 1 } } },
    { TERN_COMPLEX_DOUBLE, 2 * sizeof(double), { .d = { 1 } } },
};

tern_acc_args tern_armci_acc_args(const char *call, int datatype, const void *scale)
{
    tern_acc_args args = TERN_ACC_ARGS_INIT;

    if (datatype < ARMCI_ACC_INT || datatype > ARMCI_ACC_DCP)
        tern_front_die(call, "there is no type %d; the types are ARMCI_ACC_INT, _LNG, _FLT, _DBL, _CPL and _DCP",
                       datatype);
    if (scale == NULL)
        tern_front_die(call, "the scale is NULL; it must point to a number of the type");
    args.type = types[datatype].type;
    if (__builtin_memcmp(scale, &types[datatype].one, types[datatype].bytes) != 0)
        args.factor = scale;
    return args;
}

/* Accumulate contiguous elements. Near accumulates are complete when the call returns. */
static int accumulate(const struct tern_armci_op *op, void *src, void *dst, int bytes)
{
    struct tern_armci_place place;
    struct tern_armci_end   end;

    if (tern_armci_is_empty(op, src, bytes))
        return 0;
    if (tern_armci_is_odd(op->acc, (uintptr_t)dst)) {
        tern_armci_acc_odd(op, &(struct tern_armci_box){ .src = src, .dst = dst, .count = &bytes });
        tern_armci_set_done(op->call, op->handle);
        return 0;
    }
    place = tern_armci_find(op->call, op->proc, dst);
    if (tern_armci.near[op->proc]) {
        tern_front_check(
            tern_acc(tern_armci.near_ctx, place.region, op->proc, place.offset, src, (size_t)bytes, op->acc), op->call,
            "the operation");
        tern_armci_set_done(op->call, op->handle);
        return 0;
    }
    return tern_armci_finish(op, &end,
                             tern_acc_with(tern_armci.far_ctx, place.region, op->proc, place.offset, src, (size_t)bytes,
                                           tern_armci_opts(op, &end)));
}

ARMCI_EXPORT int PARMCI_Acc(int datatype, void *scale, void *src, void *dst, int bytes, int proc)
{
    struct tern_armci_op op = tern_armci_blocking("ARMCI_Acc", proc, false);
    tern_acc_args        args = tern_armci_acc_args(op.call, datatype, scale);

    op.acc = &args;
    return accumulate(&op, src, dst, bytes);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_Acc, PARMCI_Acc);

ARMCI_EXPORT int PARMCI_NbAcc(int datatype, void *scale, void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl)
{
    struct tern_armci_op op = tern_armci_nonblocking("ARMCI_NbAcc", proc, false, hdl);
    tern_acc_args        args = tern_armci_acc_args(op.call, datatype, scale);

    op.acc = &args;
    return accumulate(&op, src, dst, bytes);
}
ARMCI_EXPORT ARMCI_WEAK(ARMCI_NbAcc, PARMCI_NbAcc);
