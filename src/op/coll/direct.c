/* direct.c: see direct.h.
 *
 * A member that gives up, because of a death or its deadline, must not return while others access its arrays. It
 * revokes its word, and waits for the members that have begun. A member that begins sets `inside` and then checks all
 * words once more, so that one of the two members sees the other. */
#include "op/coll/direct.h"

#include <stdio.h>
#include <string.h>

#include "core/wait.h"

bool tern_op_direct_takes(const struct tern_station *station, const struct tern_coll_args *args)
{
    if (!station->board || args->call > TERN_COLL_EXSCAN || args->call == TERN_COLL_SYNC || args->len == 0 ||
        args->how.elem > TERN_REACH_PIECE)
        return false;
    return tern_op_coll_forced[args->call] ? tern_op_coll_forces(args->call, "direct")
                                           : !tern_op_board_takes(station, args);
}

/* ---- agreeing on cross-memory attach ---- */

/* Meet with a few bytes from each member. The cells of the others can be read until finish. *shown returns whether the
 * others can read the bytes of this member. */
static tern_status meet(struct tern_meeting *m, const void *brief, size_t bytes, bool *shown)
{
    const struct tern_station *station = m->station;
    tern_status                st = tern_meeting_clear(m, false);

    if (st < 0)
        return st;
    memcpy(tern_cell_of(station, station->team->rank)->brief, brief, bytes);
    tern_meeting_publish(m);
    *shown = true;
    st = tern_meeting_all(m);
    return m->odd >= 0 ? tern_meeting_mismatch(m, m->odd) : st;
}

/* Find out whether all members can access the memory of all others. Collective, in the first long call of the team. */
static tern_status agree(struct tern_station *station, struct tern_ctx *ctx, const struct tern_coll_args *args)
{
    struct tern_reach_probe probe = tern_op_reach_probe();
    struct tern_meeting     m = tern_meeting_begin(station, ctx, args);
    uint64_t                works = 1, all = 1;
    bool                    shown = false;
    tern_status             st = meet(&m, &probe, sizeof(probe), &shown);

    for (int i = 0; st == TERN_OK && i < station->team->size; i++)
        if (i != station->team->rank) {
            memcpy(&probe, tern_cell_of(station, i)->brief, sizeof(probe));
            works &= tern_op_reach_try(station->reach, i, &probe);
        }
    tern_meeting_finish(&m, true);
    if (st < 0) {
        tern_op_board_quit(station, station->meeting + shown);
        return st;
    }
    m = tern_meeting_begin(station, ctx, args);
    shown = false;
    st = meet(&m, &works, sizeof(works), &shown);
    for (int i = 0; st == TERN_OK && i < station->team->size; i++) {
        memcpy(&works, tern_cell_of(station, i)->brief, sizeof(works));
        all &= works;
    }
    tern_meeting_finish(&m, true);
    if (st < 0)
        tern_op_board_quit(station, station->meeting + shown);
    station->reach->attaches = all;
    station->reach->agreed = st == TERN_OK;
    return st;
}

/* ---- giving up ---- */

/* Return whether no living member may still access the arrays of this one. */
static tern_status leaving_poll(void *arg)
{
    struct tern_meeting *m = arg;
    uint32_t             meeting = m->station->meeting;

    tern_core_ctx_progress(m->ctx->handle);
    for (int i = 0; i < m->station->team->size; i++) {
        const struct tern_board *board = tern_board_of(m->station, i);

        m->next = i;
        if (i != m->station->team->rank && !tern_core_job_lost(tern_core_team_world(m->station->team, i)) &&
            atomic_load_explicit(&board->inside, memory_order_relaxed) == meeting && /* the fence is below */
            /* acquire: the member's accesses. The member may have gone on to later meetings. */
            (int32_t)(meeting - atomic_load_explicit(&board->done, memory_order_acquire)) > 0)
            return TERN_PENDING;
    }
    return TERN_OK;
}

static void leaving_describe(void *arg, char *text, size_t size)
{
    const struct tern_meeting *m = arg;

    snprintf(text, size, "%s has failed, and waits for rank %d of %d, which may still access its arrays", m->args->what,
             m->next, m->station->team->size);
}

/* Return whether the word of another member shows that its call does not match. A revoked word does not show this. */
static bool is_mismatch(const struct tern_meeting *m)
{
    return m->odd >= 0 && tern_word_call(atomic_load_explicit(&tern_cell_of(m->station, m->odd)->word,
                                                              memory_order_relaxed)) != TERN_WORD_REVOKED;
}

/* Revoke the word of this member, which accesses no memory of others any more, and wait for the others. If calls do not
 * match, no member has begun, and the word must stay, because it tells the others of the mismatch. No member has begun
 * either if there is no word yet; then members that are behind may still need the cell. */
static void give_up(const struct tern_direct *d, tern_status why)
{
    struct tern_meeting *m = d->m;
    struct tern_station *station = m->station;
    struct tern_board   *board = tern_board_of(station, station->team->rank);
    bool                 revokes = d->shown && !is_mismatch(m);
    struct tern_wait     wait = {
            .poll = leaving_poll, .describe = leaving_describe, .arg = m, .deadline = TERN_FOREVER, .nap = 1000000
    };

    if (revokes) {
        atomic_store_explicit(&board->why, why, memory_order_relaxed); /* the next two stores publish it */
        atomic_store_explicit(&board->failed, station->meeting, memory_order_release); /* pairs with leave() */
        atomic_store_explicit(&tern_cell_of(station, station->team->rank)->word,
                              tern_word_make(station->meeting, TERN_WORD_REVOKED, 0, 0), memory_order_release);
    }
    atomic_store_explicit(&board->done, station->meeting, memory_order_release); /* release: as in done() */
    tern_op_board_quit(station, station->meeting + d->shown);                    /* wakes all members */
    /* seq_cst: the revoked word before the loads of inside. Pairs with the fence in enter(). */
    atomic_thread_fence(memory_order_seq_cst);
    if (revokes)
        tern_core_wait(&wait);
}

/* ---- sources on the board ---- */

/* Return whether the members only read the sources of each other. */
static bool is_read_only(const struct tern_coll_args *args)
{
    return args->call == TERN_COLL_SCATTER || args->call == TERN_COLL_ALLGATHER || args->call == TERN_COLL_ALLTOALL ||
           args->call == TERN_COLL_REDUCE_SCATTER;
}

/* Copy a short source from which the others cannot load to the pages of the board: the copy takes less time than the
 * system calls of cross-memory attach. No member reads the pages any more when this member leaves the call, so the next
 * call that uses a page need not wait for this one. */
static tern_status stage(const struct tern_direct *d, struct tern_coll_place *src)
{
    const struct tern_coll_args *args = d->args;
    size_t                       bytes = args->len * (tern_direct_has_blocks(args) ? (size_t)d->size : 1);
    tern_status                  st;

    if ((src->name != TERN_PLACE_ADDRESS && src->name != TERN_PLACE_FAR) || !is_read_only(args) ||
        bytes > TERN_BOARD_PAGES * TERN_BOARD_LONG)
        return TERN_OK;
    if ((st = tern_meeting_clear_pages(d->m)) < 0)
        return st;
    memcpy(tern_pages_of(d->station, d->me), args->src, bytes);
    *src = (struct tern_coll_place){ .name = TERN_PLACE_PAGES };
    return TERN_OK;
}

/* ---- the call ---- */

/* Publish the places of this member's arrays, and meet the others. */
static tern_status enter(struct tern_direct *d)
{
    struct tern_station    *station = d->station;
    struct tern_coll_places places = tern_op_direct_own_places(d);
    tern_status             st;

    if ((st = stage(d, &places.src)) < 0 || (st = meet(d->m, &places, sizeof(places), &d->shown)) < 0)
        return st;
    atomic_store_explicit(&tern_board_of(station, d->me)->inside, station->meeting, memory_order_relaxed);
    /* seq_cst: inside before the words are read again. Pairs with the fence in give_up(). */
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < d->size; i++)
        /* acquire: the reason. Pairs with give_up(). */
        if (atomic_load_explicit(&tern_cell_of(station, i)->word, memory_order_acquire) != d->m->word)
            return tern_meeting_given_up(d->m, i);
    tern_op_direct_look(d);
    return TERN_OK;
}

/* Wait until the members that access the arrays of this one are done. */
static tern_status leave(const struct tern_direct *d)
{
    struct tern_meeting *m = d->m;
    bool                 shows = tern_op_direct_shows_src(d->args, d->me) || tern_op_direct_shows_dst(d->args, d->me);
    tern_status          st;

    if (!shows)
        return TERN_OK;
    if (d->args->call == TERN_COLL_BROADCAST && d->me != d->args->root) {
        m->next = d->args->root;
        m->end = m->next + 1;
        m->clears = true;
        m->until = d->station->meeting;
        st = tern_meeting_wait(m);
    } else if ((st = tern_meeting_wait_done(m, d->station->meeting)) == TERN_OK) {
        d->station->cleared = d->station->meeting;
    }
    for (int i = 0; st == TERN_OK && i < d->size; i++)
        if (atomic_load_explicit(&tern_board_of(d->station, i)->failed, memory_order_acquire) == d->station->meeting)
            st = tern_meeting_given_up(m, i);
    return st;
}

/* Record that this member accesses no memory of others any more. The last member to do so wakes the others; with a core
 * for each rank, every member looks for sleepers. */
static void done(const struct tern_direct *d)
{
    struct tern_meeting *m = d->m;

    /* release: this member's accesses. Pairs with tern_meeting_all_done(). */
    atomic_store_explicit(&tern_board_of(d->station, d->me)->done, d->station->meeting, memory_order_release);
    if (tern_job.spin_ns > 0 || d->args->root >= 0) {
        tern_meeting_wake_all(m);
        return;
    }
    /* seq_cst: this member's number before it reads those of the others. Pairs with itself: at least one member sees
     * all numbers. */
    atomic_thread_fence(memory_order_seq_cst);
    m->next = 0;
    m->end = d->size;
    m->until = d->station->meeting;
    if (tern_meeting_all_done(m))
        tern_meeting_wake_all(m);
}

tern_status tern_op_direct_call(struct tern_station *station, struct tern_ctx *ctx, struct tern_coll_args *args)
{
    struct tern_meeting m;
    struct tern_direct  d = { .m = &m,
                              .station = station,
                              .args = args,
                              .me = station->team->rank,
                              .size = station->team->size,
                              .chunk = TERN_REACH_PIECE };
    tern_status         st = TERN_OK;

    if (!station->reach && !(station->reach = tern_op_reach_open(station)))
        st = TERN_ERR_NOMEM;
    else if (!station->reach->agreed)
        st = agree(station, ctx, args);
    if (st < 0) {
        atomic_store_explicit(&station->broken, true, memory_order_relaxed);
        return st;
    }
    m = tern_meeting_begin(station, ctx, args);
    d.reach = station->reach;
    d.places = tern_cell_of(station, 0)->brief;
    d.stride = TERN_LINK_BOARD;
    if ((st = enter(&d)) == TERN_OK && d.far) {
        /* This member accesses no arrays, so a member that gives up this meeting does not wait for it. */
        atomic_store_explicit(&tern_board_of(station, d.me)->inside, station->meeting - 1, memory_order_release);
        return TERN_AGAIN;
    }
    if (st == TERN_OK && (st = tern_op_direct_work(&d)) == TERN_OK) {
        done(&d);
        st = leave(&d);
    }
    if (TERN_UNLIKELY(st < 0)) {
        give_up(&d, st);
        atomic_store_explicit(&station->lost, st == TERN_ERR_PEER, memory_order_relaxed);
        atomic_store_explicit(&station->broken, true, memory_order_relaxed);
    }
    return st;
}
