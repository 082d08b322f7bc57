/* meeting.c: see meeting.h. */
#include "op/coll/meeting.h"

#include <sched.h>
#include <stdio.h>

#include "core/collective.h"
#include "core/wait.h"
#include "op/coll/check.h"

#define YIELDS 16 /* yields before a wait makes progress, with fewer cores than ranks */

/* ---- members that do not come ---- */

bool tern_op_board_elsewhere(const struct tern_station *station, int member, const char **call)
{
    struct tern_link_group *group = station->team->group;
    uint64_t                number = 0;
    uint32_t                done;

    if (!station->board || group->ops->doing(group, (uint32_t)member, &number) != TERN_MEMBER_IN_CALL)
        return false;
    *call = tern_core_collective_name((uint32_t)number);
    /* acquire: pairs with tern_meeting_finish(), so that an earlier call of the member is not taken for the call that
     * it makes instead */
    done = atomic_load_explicit(&tern_board_of(station, member)->done, memory_order_acquire);
    return (int32_t)(station->meeting - done) > 0;
}

void tern_op_board_quit(struct tern_station *station, uint32_t number)
{
    struct tern_board  *mine = station->board ? tern_board_of(station, station->team->rank) : NULL;
    struct tern_meeting m = { .station = station };

    if (!mine || atomic_load_explicit(&mine->quits, memory_order_relaxed) != 0) /* written by this thread */
        return;
    /* release: the word of this member, if it has written one. Pairs with strays(). */
    atomic_store_explicit(&mine->quits, number, memory_order_release);
    tern_meeting_wake_all(&m);
}

/* Return a member that has not written its word, and has started a nonblocking operation instead; -1: none. */
static int find_starter(const struct tern_meeting *m)
{
    for (int i = m->next; i < m->end && !m->clears; i++)
        if (tern_word_number(atomic_load_explicit(&tern_cell_of(m->station, i)->word, memory_order_relaxed)) !=
                tern_word_number(m->word) && /* tern_meeting_is_over() checks it again */
            tern_op_coll_has_started(m->station, i, NULL))
            return i;
    return -1;
}

/* Return whether the next member, whose word or end of an earlier call this member waits for, will not come. */
static bool strays(const struct tern_meeting *m)
{
    const struct tern_board *theirs = tern_board_of(m->station, m->next);
    uint32_t                 awaited = m->clears ? m->until : m->station->meeting;
    /* acquire: the word of the member. Pairs with tern_op_board_quit(). */
    uint32_t                 quits = atomic_load_explicit(&theirs->quits, memory_order_acquire);
    const char              *call;

    return (quits != 0 && (int32_t)(awaited - quits) >= 0) ||
           (!m->clears && tern_op_board_elsewhere(m->station, m->next, &call)) || find_starter(m) >= 0;
}

static tern_status tell_stray(const struct tern_meeting *m)
{
    const struct tern_station *station = m->station;
    struct tern_coll_says      mine = tern_op_coll_says(m->args), theirs;
    const char                *call;
    char                       text[384];
    int                        starter = find_starter(m);

    if (tern_op_board_elsewhere(station, m->next, &call))
        return tern_base_fail(TERN_ERR_ARG,
                              "%s: rank %d of the team called %s at the same time; all ranks of a team make the same "
                              "collective calls in the same order",
                              m->args->what, m->next, call);
    if (starter < 0 || !tern_op_coll_has_started(station, starter, &theirs))
        return tern_base_fail(TERN_ERR_ARG,
                              "%s: rank %d of the team takes part in no collective call any more, because an earlier "
                              "one failed there",
                              m->args->what, m->next);
    tern_op_coll_differ(&(struct tern_coll_pair){ m->args->what, &mine, &theirs, station->team->rank, starter, 0 },
                        text, sizeof(text));
    return tern_base_fail(TERN_ERR_ARG, "%s", text);
}

/* ---- waiting ---- */

static tern_status poll(void *arg)
{
    struct tern_meeting *m = arg;

    if (tern_meeting_is_over(m))
        return TERN_OK;
    tern_core_ctx_progress(m->ctx->handle);
    if (tern_meeting_is_over(m))
        return TERN_OK;
    if (tern_core_team_lost(m->station->team) >= 0)
        return TERN_ERR_PEER;
    if (!strays(m) || tern_meeting_is_over(m)) /* the member may have written its word before it went elsewhere */
        return TERN_PENDING;
    return tell_stray(m);
}

static void describe(void *arg, char *text, size_t size)
{
    struct tern_meeting *m = arg;
    char                 doing[96];

    if (m->clears) {
        snprintf(text, size, "%s waits for rank %d of %d, which has not completed %s", m->args->what, m->next,
                 m->station->team->size, m->until == m->station->meeting ? "it" : "earlier collective calls");
        return;
    }
    tern_core_team_describe(m->station->team, m->next, doing, sizeof(doing));
    snprintf(text, size, "%s waits for rank %d of %d, which has not called it%s", m->args->what, m->next,
             m->station->team->size, doing);
}

tern_status tern_meeting_wait_slowly(struct tern_meeting *m)
{
    struct tern_wait wait = { .poll = poll,
                              .describe = describe,
                              .arg = m,
                              .deadline = tern_core_ctx_deadline(m->ctx),
                              .nap = TERN_COLL_LOOK_NS };
    int              lost;
    tern_status      st = tern_core_wait(&wait);

    if (st == TERN_ERR_PEER) {
        lost = tern_core_team_lost(m->station->team);
        tern_base_fail(st,
                       "%s: rank %d of the team is gone (rank %d of the job); call tern_team_survivors to go on with "
                       "the others",
                       m->args->what, lost, tern_core_team_world(m->station->team, lost));
    }
    return st;
}

tern_status tern_meeting_wait_yielding(struct tern_meeting *m)
{
    for (int i = tern_job.yields < YIELDS ? tern_job.yields : YIELDS; i > 0; i--) {
        if (tern_meeting_is_over(m))
            return TERN_OK;
        sched_yield();
    }
    return tern_meeting_is_over(m) ? TERN_OK : tern_meeting_wait_slowly(m);
}

/* The last meeting with which all members are known to be done. */
static uint32_t all_done(const struct tern_station *station)
{
    uint32_t least = station->meeting - 1;

    for (int i = 0; i < station->team->size; i++) {
        /* acquire: as in tern_meeting_all_done(). */
        uint32_t done = atomic_load_explicit(&tern_board_of(station, i)->done, memory_order_acquire);

        if (i != station->team->rank && (int32_t)(least - done) > 0)
            least = done;
    }
    return least;
}

/* Wait until all members are done with a meeting of the last TERN_BOARD_CELLS meetings. */
static tern_status wait_until(struct tern_meeting *m, uint32_t until)
{
    struct tern_station *station = m->station;
    tern_status          st = TERN_OK;

    if ((int32_t)(until - station->cleared) > 0 && (st = tern_meeting_wait_done(m, until)) == TERN_OK)
        station->cleared = all_done(station);
    return st;
}

tern_status tern_meeting_wait_clear(struct tern_meeting *m, bool page)
{
    const struct tern_station *station = m->station;

    return wait_until(
        m, tern_meeting_awaited(station->meeting, station->paged[station->meeting % TERN_BOARD_PAGES], page));
}

tern_status tern_meeting_clear_pages(struct tern_meeting *m)
{
    return wait_until(m, tern_meeting_awaited_for_pages(m->station->meeting, m->station->paged));
}

tern_status tern_meeting_given_up(const struct tern_meeting *m, int member)
{
    /* relaxed: after the word, or done, of the member, which was acquired */
    tern_status why = (tern_status)atomic_load_explicit(&tern_board_of(m->station, member)->why, memory_order_relaxed);

    if (why == TERN_ERR_PEER)
        return tern_base_fail(TERN_ERR_PEER,
                              "%s: a rank of the team is gone, as rank %d has found; call tern_team_survivors to go on "
                              "with the others",
                              m->args->what, member);
    return tern_base_fail(TERN_ERR_STATE, "%s: rank %d of the team has given up this call, because of an error there",
                          m->args->what, member);
}

struct tern_coll_says tern_meeting_says(const struct tern_board_cell *cell, uint64_t word)
{
    return (struct tern_coll_says){ .call = (uint8_t)tern_word_call(word),
                                    .kind = (uint16_t)tern_word_kind(word),
                                    .root = cell->root,
                                    .amount = cell->amount,
                                    .elem = cell->elem,
                                    .blocks = 1 };
}

tern_status tern_meeting_mismatch(const struct tern_meeting *m, int member)
{
    const struct tern_board_cell *cell = tern_cell_of(m->station, member);
    uint64_t              word = atomic_load_explicit(&cell->word, memory_order_relaxed); /* was acquired before */
    struct tern_coll_says mine = tern_op_coll_says(m->args), theirs = tern_meeting_says(cell, word);
    struct tern_coll_pair pair = { m->args->what, &mine, &theirs, m->station->team->rank, member, 0 };
    char                  text[384];

    if (tern_word_call(word) == TERN_WORD_REVOKED)
        return tern_meeting_given_up(m, member);
    tern_op_coll_differ(&pair, text, sizeof(text));
    return tern_base_fail(TERN_ERR_ARG, "%s", text);
}
