/* acc.h: accumulates: adding the elements of a shape to the elements of a part.
 *
 * Each addition is atomic with respect to other accumulates, because the thread that adds holds a lock: one of the
 * accumulate locks of the target's node, chosen by the block of memory in which the element begins. Blocks are
 * counted in the mapped file (tern_link_origin()), so that all mappings of the same memory, through whatever region,
 * use the same locks. A thread holds one lock at a time, and only while it works on one block. The methods, which
 * tern_op_shape() starts:
 *
 *   direct   loads and stores reach the part: the initiator adds within the call (acc.c)
 *   RPC      everything else: the initiator packs the operands into requests, and a thread of the target adds them
 *            under the same locks, concurrently with the application (acc_rpc.c)
 */
#pragma once

#include "boot/robust_lock.h"
#include "op/shape/multi.h"
#include "op/rpc_serve.h"
#include "op/shape/shape.h"
#include "op/atomic/acc_kernels.h"

#define TERN_ACC_BLOCK 16384u /* bytes of memory under one lock */

/* The state of additions to the memory of one rank, between tern_op_acc_begin() and tern_op_acc_end(). */
struct tern_acc_adding {
    const struct tern_acc_op *sum;
    tern_acc_kernel          *loop;
    size_t                    element;
    struct tern_robust_lock  *held; /* the lock held; NULL: none */
    size_t                    left; /* work until the lock is released for a moment */
};

struct tern_acc_adding tern_op_acc_begin(const struct tern_acc_op *sum);

/* Add len bytes of elements at `from` to those at `to`. `origin` is the part's origin plus the offset in the part. */
void tern_op_acc_add(struct tern_acc_adding *adding, unsigned char *to, uint64_t origin, unsigned char *from,
                     size_t len);

void tern_op_acc_end(struct tern_acc_adding *adding);

/* Add the whole shape, within the call, to a part that loads and stores reach. */
void tern_op_acc_direct(const struct tern_shape *shape);

/* acc_rpc.c */
extern const struct tern_multi_method tern_op_method_acc, tern_op_method_acc_visit;
tern_op_rpc_handler                   tern_op_acc_rpc;
