/* tree.c: see tree.h. A call is two meetings (meeting.h), one for each pass. */
#include "op/coll/tree.h"

#include <string.h>

#include "op/coll/meeting.h"

#define FAN 4 /* children of a member: member i has those from FAN * i + 1 on */

struct tree {
    struct tern_meeting m;
    int                 parent, first, end; /* the parent (-1: none), and the children from first to end - 1 */
    _Alignas(16) unsigned char sum[TERN_BOARD_SHORT];
};

bool tern_op_tree_takes(const struct tern_station *station, const struct tern_coll_args *args)
{
    bool computes = args->call == TERN_COLL_ALLREDUCE && args->how.commutes && !args->how.fold;

    return station->board && (args->call == TERN_COLL_SYNC || computes) && args->len <= TERN_BOARD_SHORT &&
           tern_op_coll_forces(args->call, "tree");
}

/* Wait for the words of some members. */
static tern_status await(struct tree *t, int first, int end)
{
    tern_status st = first < end ? tern_meeting_wait_words(&t->m, first, end) : TERN_OK;

    return t->m.odd >= 0 ? tern_meeting_mismatch(&t->m, t->m.odd) : st;
}

/* Publish the sum, and wake the members that wait for it. */
static void publish(struct tree *t, int first, int end)
{
    struct tern_station *station = t->m.station;

    if (t->m.args->len > 0)
        memcpy(tern_cell_of(station, station->team->rank)->brief, t->sum, t->m.args->len);
    tern_meeting_publish(&t->m);
    for (int i = first; i < end; i++)
        tern_link_ring(tern_meeting_slot(&t->m, i));
}

/* Combine the contributions of the subtree of this member, and send the sum to its parent. */
static tern_status pass_up(struct tree *t)
{
    const struct tern_coll_args *args = t->m.args;
    tern_status                  st = await(t, t->first, t->end);
    bool                         ok = true;

    if (st < 0 || (st = tern_meeting_clear(&t->m, false)) < 0)
        return st;
    if (args->len > 0)
        memcpy(t->sum, args->src, args->len);
    for (int i = t->first; ok && args->len > 0 && i < t->end; i++)
        ok = tern_op_coll_combine(&args->how, t->sum, t->sum, tern_cell_of(t->m.station, i)->brief, args->len);
    if (!ok)
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for an element", args->what);
    publish(t, t->parent < 0 ? 0 : t->parent, t->parent + 1);
    return TERN_OK;
}

/* Take the result from the parent, and forward it to the children. */
static tern_status pass_down(struct tree *t)
{
    const struct tern_coll_args *args = t->m.args;
    tern_status                  st = await(t, t->parent < 0 ? 0 : t->parent, t->parent + 1);

    if (st < 0 || (st = tern_meeting_clear(&t->m, false)) < 0)
        return st;
    if (t->parent >= 0 && args->len > 0)
        memcpy(t->sum, tern_cell_of(t->m.station, t->parent)->brief, args->len);
    publish(t, t->first, t->end);
    if (args->len > 0)
        memcpy(args->dst, t->sum, args->len);
    return TERN_OK;
}

tern_status tern_op_tree_call(struct tern_station *station, struct tern_ctx *ctx, const struct tern_coll_args *args)
{
    int         me = station->team->rank, size = station->team->size;
    struct tree t = { .parent = me > 0 ? (me - 1) / FAN : -1,
                      .first = FAN * me + 1 < size ? FAN * me + 1 : size,
                      .end = FAN * me + 1 + FAN < size ? FAN * me + 1 + FAN : size };
    tern_status st;

    t.m = tern_meeting_begin(station, ctx, args);
    st = pass_up(&t);
    tern_meeting_finish(&t.m, false);
    if (st == TERN_OK) {
        t.m = tern_meeting_begin(station, ctx, args);
        st = pass_down(&t);
        tern_meeting_finish(&t.m, false);
    }
    if (TERN_LIKELY(st == TERN_OK)) { /* all members have arrived, and are done with the meetings before */
        station->cleared = station->meeting - 2;
        return TERN_OK;
    }
    atomic_store_explicit(&station->broken, true, memory_order_relaxed);
    tern_op_board_quit(station, station->meeting); /* the meeting in which this member has written no word */
    return st;
}
