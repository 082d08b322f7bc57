/* direct.h: long blocking collective calls of a team on one node: the members read and write each other's arrays.
 *
 * In a call, the members meet (meeting.h), and each publishes where its arrays are. Then each member does its part of
 * the work, as evenly as possible, and reads or writes the arrays of the others directly (reach.h). A member returns
 * when the members that access its arrays are done. There is no other synchronization: no two members write the same
 * bytes, and bytes that a member overwrites are read by that member only. */
#pragma once

#include <string.h>

#include "op/coll/meeting.h"
#include "op/coll/reach.h"

/* A call in progress. */
struct tern_direct {
    struct tern_meeting   *m; /* NULL: a nonblocking call (direct_with.h) */
    struct tern_station   *station;
    struct tern_reach     *reach;
    const unsigned char   *places; /* places of the arrays of member 0 (struct tern_coll_places), */
    size_t                 stride; /* and the distance to the places of the next member */
    struct tern_coll_args *args;
    int                    me, size;
    bool                   far;   /* an array is out of reach */
    bool                   shown; /* the others have been told where the arrays are */
    size_t                 chunk; /* maximum size of the pieces of a reduction, in bytes */
};

/* Return whether the members make the call in this way. All members reach the same answer. */
bool tern_op_direct_takes(const struct tern_station *station, const struct tern_coll_args *args);

/* Make the call. Returns TERN_AGAIN if an array is out of reach and all members must send messages; the meeting then
 * goes on until tern_op_board_leave(). */
tern_status tern_op_direct_call(struct tern_station *station, struct tern_ctx *ctx, struct tern_coll_args *args);

/* Return whether the call has a block for each rank in the source. */
static inline bool tern_direct_has_blocks(const struct tern_coll_args *args)
{
    return args->call == TERN_COLL_ALLTOALL || args->call == TERN_COLL_REDUCE_SCATTER ||
           args->call == TERN_COLL_SCATTER;
}

/* The places of the arrays of a member. */
static inline struct tern_coll_places tern_direct_places(const struct tern_direct *d, int member)
{
    struct tern_coll_places places;

    memcpy(&places, d->places + (size_t)member * d->stride, sizeof(places));
    return places;
}

/* Return the places of the arrays of this member, as far as others access them. */
struct tern_coll_places tern_op_direct_own_places(const struct tern_direct *d);

/* Examine the places of all members: whether an array is out of reach, and how long pieces are. */
void tern_op_direct_look(struct tern_direct *d);

/* direct_work.c: do this member's part of the work. */
tern_status tern_op_direct_work(const struct tern_direct *d);

/* Return whether others access the arrays of this member. */
bool tern_op_direct_shows_src(const struct tern_coll_args *args, int rank);
bool tern_op_direct_shows_dst(const struct tern_coll_args *args, int rank);
