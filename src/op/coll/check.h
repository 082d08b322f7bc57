/* check.h: calls that do not match: how ranks compare their calls, and the texts of the errors.
 *
 * Every message and every word on a board describes the call of its rank (tag.h, board.c), so that a waiting rank
 * detects a call that does not match at no cost. Debug builds also compare the calls of all ranks before each
 * collective operation, by messages of their own. */
#pragma once

#include "op/coll/coll.h"

/* Return the description of this rank's call. */
struct tern_coll_says tern_op_coll_says(const struct tern_coll_args *args);

/* Two calls that do not match. */
struct tern_coll_pair {
    const char                  *what; /* the call of this rank, as error texts name it */
    const struct tern_coll_says *mine, *theirs;
    int                          me, rank; /* this rank and the other one, as ranks in the team */
    size_t message; /* length of the message that revealed the mismatch, if the amount is unknown */
};

/* Write a text that names the calls, and the first argument that differs. */
void tern_op_coll_differ(const struct tern_coll_pair *pair, char *text, size_t size);

/* Write the steps that exchange and compare the calls. */
void tern_op_coll_write_check(struct tern_coll *c, const struct tern_coll_args *args);

/* Compare the calls in an operation of their own, which run executes. */
tern_status tern_op_coll_check_first(struct tern_station *station, struct tern_ctx *ctx,
                                     const struct tern_coll_args *args, tern_status (*run)(struct tern_coll *c));

/* Execute the comparison, a step that tern_op_coll_write_check has written. */
void tern_op_coll_compare(struct tern_coll *c, const struct tern_coll_step *step);

/* Look for messages that belong to the same number on the team as the operation, but to another call, and for members
 * that have given up. The caller holds the lock of the station. */
void tern_op_coll_search(struct tern_coll *c);

/* Return whether a member has started an operation that this rank has not started, which a message from that member
 * shows. If says is not NULL, *says receives the member's description of its call. */
bool tern_op_coll_has_started(const struct tern_station *station, int member, struct tern_coll_says *says);

/* Tell the other members, which may be waiting, that this rank takes part in no further call on the team. */
void tern_op_coll_quit(struct tern_station *station, const char *why);

/* Handle a blocking call that has failed because of calls of other ranks. If those are calls outside tern/coll.h, such
 * as tern_barrier, let them fail, too. */
void tern_op_coll_let_fail(struct tern_station *station, struct tern_ctx *ctx, unsigned call);

/* Tell the other members, as far as there is space, that this rank has given up its call with this number, and why. The
 * members may be waiting for it. */
void tern_op_coll_warn(struct tern_station *station, uint32_t number, const char *why);
