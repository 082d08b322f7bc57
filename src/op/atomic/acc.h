/* acc.h: accumulates, which combine the elements of a shape with the elements of a part, by a sum or another reduction.
 * "Add" stands for all reductions in these comments and names.
 *
 * Each addition is atomic with respect to other accumulates, because the thread that adds holds a lock: one of the
 * accumulate locks of the target's node, chosen by the block of memory in which the element begins. Blocks are
 * counted in the mapped file (tern_link_origin()), so that all mappings of the same memory, through whatever region,
 * use the same locks. A thread holds one lock at a time, and only while it works on one block. The methods, which
 * tern_op_shape() starts:
 *
 *   direct   loads and stores reach the part: the initiator adds within the call (acc.c)
 *   RPC      everything else: the initiator packs the operands into requests (op/shape/packed.c), and a thread of the
 *            target adds them under the same locks, concurrently with the application (acc.c)
 */
#pragma once

#include "op/rpc_serve.h"
#include "op/shape/shape.h"

#define TERN_ACC_BLOCK 16384u /* bytes of memory under one lock */

/* Add the whole shape, within the call, to a part that loads and stores reach. */
void tern_op_acc_direct(const struct tern_shape *shape);

/* The method for an instant path that link chaos delays. */
extern const struct tern_multi_method tern_op_method_acc_visit;

/* The RPC handler at the target: WIRE_ACC. */
tern_op_rpc_handler tern_op_acc_rpc;
