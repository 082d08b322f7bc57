/* direct_with.c: see direct_with.h.
 *
 * An operation that fails must not end while others access its arrays. The member revokes this operation and all later
 * ones, and then checks which members are working on it. A member that begins to work publishes this first, and then
 * checks whether a member has revoked the operation, so that one of the two members sees the other.
 *
 * Operations use a state of their own to reach other members, separate from the state of blocking calls, because
 * another thread may be making a blocking call at the same time. */
#include "op/coll/direct_with.h"

#include <string.h>

#include "op/coll/direct.h"

#define SHORTEST 8192u /* up to this many bytes, the algorithms that send messages are as fast */

/* The message by which a member describes its arrays. */
struct told {
    struct tern_coll_places places;
    struct tern_reach_probe probe;
    uint64_t                agreed; /* the member knows whether all members reach each other */
};

struct tern_direct_with {
    struct tern_coll_args args;
    struct told          *told;  /* [size] in the order of the distance from this rank */
    uint64_t             *works; /* [size] in the same order: whether the member reaches all others */
    struct told          *of;    /* [size] in the order of the ranks */
};

bool tern_op_direct_with_takes(const struct tern_station *station, const struct tern_coll_args *args)
{
    if (args->blocks || !station->board || args->call == TERN_COLL_SYNC || args->call > TERN_COLL_EXSCAN ||
        args->len == 0 || args->how.elem > TERN_REACH_PIECE)
        return false;
    return tern_op_coll_forced[args->call]
               ? tern_op_coll_forces(args->call, "direct")
               : args->len * (tern_direct_has_blocks(args) ? (size_t)station->team->size : 1) > SHORTEST;
}

static struct tern_direct direct_of(struct tern_coll *c)
{
    struct tern_direct_with *with = c->direct;

    return (struct tern_direct){ .station = c->station,
                                 .reach = c->station->reach_with,
                                 .places = (const unsigned char *)with->of,
                                 .stride = sizeof(*with->of),
                                 .args = &with->args,
                                 .me = c->rank,
                                 .size = c->size,
                                 .chunk = TERN_REACH_PIECE };
}

/* Write the steps in which all members get the `bytes` bytes of every member, in the order of the distance. */
static void gather(struct tern_coll *c, void *all, size_t bytes)
{
    unsigned char *at = all;

    for (int have = 1; have < c->size; have *= 2) {
        int n = c->size - have < have ? c->size - have : have;

        tern_coll_recv(c, (c->rank + have) % c->size, at + (size_t)have * bytes, (size_t)n * bytes);
        tern_coll_send(c, (c->rank + c->size - have) % c->size, at, (size_t)n * bytes);
        tern_coll_wait(c);
    }
}

/* Return the state by which this rank reaches the others. NULL: the operation has failed. */
static struct tern_reach *reach_of(struct tern_coll *c)
{
    struct tern_station *station = c->station;

    if (!station->reach_with && !(station->reach_with = tern_op_reach_open(station)))
        tern_op_coll_fail(c, TERN_ERR_NOMEM, "%s: %s", c->op.call, tern_base_detail());
    return station->reach_with;
}

void tern_op_direct_with_write(struct tern_coll *c, const struct tern_coll_args *args)
{
    size_t                   size = (size_t)c->size;
    struct tern_direct_with *with = (void *)tern_coll_temp(c, sizeof(*with));
    unsigned char           *told = tern_coll_temp(c, 2 * size * sizeof(struct told));
    unsigned char           *works = tern_coll_temp(c, size * sizeof(uint64_t));
    struct tern_direct       d;

    if (c->status < 0)
        return; /* no memory */
    c->algorithm = "direct";
    *with = (struct tern_direct_with){ .args = *args, .told = (void *)told, .works = (void *)works };
    with->of = with->told + size;
    pthread_mutex_lock(&c->station->lock);
    c->direct = with;
    if (reach_of(c)) {
        d = direct_of(c);
        with->told[0] = (struct told){ .places = tern_op_direct_own_places(&d),
                                       .probe = tern_op_reach_probe(),
                                       .agreed = d.reach->agreed };
    }
    pthread_mutex_unlock(&c->station->lock);
    gather(c, with->told, sizeof(struct told));
    tern_coll_step(c, TERN_COLL_MEET);
}

/* ---- the steps ---- */

/* Return whether a member accesses the arrays of another one. */
static bool accesses(const struct tern_coll_args *args, int member, int other)
{
    if (args->call == TERN_COLL_BROADCAST && member != args->root && other != args->root)
        return false;
    return tern_op_direct_shows_src(args, other) || tern_op_direct_shows_dst(args, other);
}

/* All places are known, and so is whether the arrays can be reached: write the rest of the schedule. */
static void decide(struct tern_coll *c)
{
    struct tern_direct           d = direct_of(c);
    const struct tern_coll_args *args = d.args;

    tern_op_direct_look(&d);
    if (d.far) {
        c->direct = NULL;
        tern_op_coll_write(c, args);
        return;
    }
    tern_coll_step(c, TERN_COLL_WORK);
    for (int i = 1; i < c->size; i++) {
        int to = (c->rank + i) % c->size, from = (c->rank + c->size - i) % c->size;

        if (accesses(args, from, c->rank))
            tern_coll_recv(c, from, NULL, 0);
        if (accesses(args, c->rank, to))
            tern_coll_send(c, to, NULL, 0);
    }
}

void tern_op_direct_with_meet(struct tern_coll *c)
{
    struct tern_direct_with *with = c->direct;
    struct tern_reach       *reach = c->station->reach_with;
    bool                     agreed = true;

    for (int i = 0; i < c->size; i++) {
        with->of[(c->rank + i) % c->size] = with->told[i];
        agreed &= with->told[i].agreed;
    }
    if (agreed) {
        decide(c);
        return;
    }
    with->works[0] = 1;
    for (int i = 0; i < c->size; i++)
        if (i != c->rank)
            with->works[0] &= tern_op_reach_try(reach, i, &with->of[i].probe);
    gather(c, with->works, sizeof(*with->works));
    tern_coll_step(c, TERN_COLL_AGREE);
}

void tern_op_direct_with_agree(struct tern_coll *c)
{
    struct tern_reach *reach = c->station->reach_with;
    uint64_t           all = 1;

    for (int i = 0; i < c->size; i++)
        all &= c->direct->works[i];
    reach->attaches = all;
    reach->agreed = true;
    decide(c);
}

/* Let the operation fail if a member has revoked it. */
static void check_revoked(struct tern_coll *c)
{
    for (int i = 0; i < c->size; i++) {
        /* relaxed: behind the fence in the step. Nothing else is read of a member that has revoked its arrays. */
        uint64_t first = atomic_load_explicit(&tern_board_of(c->station, i)->revokes, memory_order_relaxed);

        if (first == 0 || (int32_t)(c->number - (uint32_t)first) < 0)
            continue;
        if (first & TERN_BOARD_LOST)
            tern_op_coll_fail(c, TERN_ERR_PEER,
                              "%s: a rank of the team is gone, as rank %d has found; call tern_team_survivors to go on "
                              "with the others",
                              c->op.call, i);
        else
            tern_op_coll_fail(c, TERN_ERR_STATE,
                              "%s: rank %d of the team has given up this call, because of an error there", c->op.call,
                              i);
    }
}

void tern_op_direct_with_work(struct tern_coll *c)
{
    struct tern_direct d = direct_of(c);
    _Atomic uint64_t  *works = &tern_board_of(c->station, c->rank)->works;
    tern_status        st = TERN_OK;

    tern_op_direct_look(&d);
    atomic_store_explicit(works, TERN_BOARD_ANY | c->number, memory_order_relaxed);
    /* seq_cst: this word before the loads of revokes. Pairs with the fence in tern_op_direct_with_revoke(). */
    atomic_thread_fence(memory_order_seq_cst);
    check_revoked(c);
    if (c->status == TERN_OK)
        st = tern_op_direct_work(&d);
    /* release: the accesses. Pairs with tern_op_direct_with_revoke(). */
    atomic_store_explicit(works, 0, memory_order_release);
    if (st < 0)
        tern_op_coll_fail(c, st, "%s: %s", c->op.call, tern_base_detail());
}

bool tern_op_direct_with_revoke(struct tern_coll *c)
{
    struct tern_station *station = c->station;
    _Atomic uint64_t    *revokes = &tern_board_of(station, c->rank)->revokes;
    uint64_t now = atomic_load_explicit(revokes, memory_order_relaxed); /* own word: no other thread writes it */
    uint64_t lost = c->status == TERN_ERR_PEER ? TERN_BOARD_LOST : 0;

    if (now == 0 || (int32_t)((uint32_t)now - c->number) > 0)
        now = TERN_BOARD_ANY | (now & TERN_BOARD_LOST) | c->number;
    atomic_store_explicit(revokes, now | lost, memory_order_relaxed); /* the fence is below */
    /* seq_cst: revokes before the loads of works. Pairs with the fence in tern_op_direct_with_work(). */
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < c->size; i++)
        /* acquire: the accesses of a member that has finished. Pairs with tern_op_direct_with_work(). */
        if (i != c->rank && !tern_core_job_lost(tern_core_team_world(station->team, i)) &&
            atomic_load_explicit(&tern_board_of(station, i)->works, memory_order_acquire) ==
                (TERN_BOARD_ANY | c->number))
            return false;
    return true;
}
