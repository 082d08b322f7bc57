/* tree.h: tern_sync and short tern_allreduce of a team on one node, along a tree of cells in shared memory.
 *
 * On the board (board.h) each member reads the cells of all others, so that n members cause n * n transfers of cache
 * lines. In the tree, a member reads the cells of its children and of its parent only, and the result needs two passes:
 * up to rank 0, and down again. Only the option TERN_COLL selects this method. */
#pragma once

#include "op/coll/board.h"

/* Return whether the call is made in this way. All members reach the same answer. */
bool tern_op_tree_takes(const struct tern_station *station, const struct tern_coll_args *args);

/* Make the call. */
tern_status tern_op_tree_call(struct tern_station *station, struct tern_ctx *ctx, const struct tern_coll_args *args);
