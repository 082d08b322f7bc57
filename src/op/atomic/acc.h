/* acc.h: accumulates: the elements of a shape are added to those of a part.
 *
 * Each addition is atomic among accumulates, because whoever makes it holds a guard: one of those of the target's node,
 * chosen by the block of memory in which the element begins. Blocks are counted in the file that is mapped there
 * (tern_link_origin()), so that all mappings of the same memory, through whatever region, have the same guards. A
 * thread holds one guard at a time, and for the time of a block at most. The ways:
 *
 *   direct   loads and stores reach the part: the initiator adds, in the call (acc.c)
 *   errands  everything else: the summands are packed into requests, and the target adds them, beside its program,
 *            under the same guards (acc_rpc.c)
 */
#ifndef TERN_OP_ATOMIC_ACC_H
#define TERN_OP_ATOMIC_ACC_H

#include "boot/robust_lock.h"
#include "op/shape/multi.h"
#include "op/rpc_serve.h"
#include "op/shape/shape.h"
#include "op/atomic/acc_kernels.h"

#define TERN_ACC_BLOCK 16384u /* bytes of memory under one guard */

/* Start it, or do it, as tern_op_shape_start and tern_op_shape_run. */
tern_status tern_op_acc_start(struct tern_ctx *ctx, struct tern_shape *shape, const tern_opts *opts, const char *what);
tern_status tern_op_acc_run(struct tern_ctx *ctx, struct tern_shape *shape, const char *what);

/* Adding to the memory of one rank. */
struct tern_acc_adding {
    const struct tern_acc_op *sum;
    tern_acc_kernel          *loop;
    size_t                    element;
    struct tern_robust_lock  *held; /* NULL: none */
    size_t                    left; /* work after which it is given back for a moment */
};

struct tern_acc_adding tern_op_acc_begin(const struct tern_acc_op *sum);

/* Add len bytes of elements to those at to; origin is that of the part and the offset in it. */
void tern_op_acc_add(struct tern_acc_adding *adding, unsigned char *to, uint64_t origin, unsigned char *from,
                     size_t len);

void tern_op_acc_end(struct tern_acc_adding *adding);

/* Add the whole shape to a part that loads and stores reach, now. */
void tern_op_acc_direct(const struct tern_shape *shape);

/* acc_rpc.c */
extern const struct tern_multi_method tern_op_method_acc, tern_op_method_acc_visit;
tern_op_rpc_handler                   tern_op_acc_rpc;

#endif
