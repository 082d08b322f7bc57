/* direct_with.h: long nonblocking and triggered collective operations of a team on one node: the members read and write
 * each other's arrays, as in blocking calls (direct.h).
 *
 * The members tell each other where their arrays are by short messages, as part of a schedule. A member that knows all
 * places does its part of the work in one step, in whichever thread makes progress, and informs the members whose
 * arrays it has accessed. A call that starts an operation leaves this step to other threads or to a later call. If an
 * array is out of reach, all members continue with the schedule of an algorithm that sends messages. */
#pragma once

#include "op/coll/coll.h"

/* Return whether the members make the call in this way. All members reach the same answer. */
bool tern_op_direct_with_takes(const struct tern_station *station, const struct tern_coll_args *args);

/* Write the steps up to the point at which the members know the places of all arrays. */
void tern_op_direct_with_write(struct tern_coll *c, const struct tern_coll_args *args);

/* Execute the steps TERN_COLL_MEET, _AGREE and _WORK, which write the steps that follow. The caller holds the lock of
 * the station. */
void tern_op_direct_with_meet(struct tern_coll *c);
void tern_op_direct_with_agree(struct tern_coll *c);
void tern_op_direct_with_work(struct tern_coll *c);

/* Revoke the arrays of an operation that has failed. Returns whether no member accesses them any more. */
bool tern_op_direct_with_revoke(struct tern_coll *c);
