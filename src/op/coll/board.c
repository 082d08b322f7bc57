/* board.c: see board.h. */
#include "op/coll/board.h"

#include <stdio.h>
#include <string.h>

#include "op/coll/check.h"
#include "op/coll/meeting.h"
#include "op/coll/reach.h"
#include "op/coll/tag.h"

void tern_op_board_open(struct tern_station *station)
{
    struct tern_link_group *group = station->team->group;

    station->board = station->team->size > 1 ? group->ops->board(group) : NULL;
}

void tern_op_board_close(struct tern_station *station)
{
    tern_op_reach_close(station->reach);
    tern_op_reach_close(station->reach_with);
    station->reach = station->reach_with = NULL;
    station->board = NULL; /* closing the group unmaps the board */
}

/* ---- which members matter ---- */

enum needs { NEEDS_NONE, NEEDS_ALL, NEEDS_ROOT, NEEDS_LOWER };

/* The members whose contributions a member needs. */
static inline enum needs needs_of(const struct tern_coll_args *args, int member)
{
    switch (args->call) {
    case TERN_COLL_BROADCAST:
    case TERN_COLL_SCATTER: return member == args->root ? NEEDS_NONE : NEEDS_ROOT;
    case TERN_COLL_REDUCE:
    case TERN_COLL_GATHER: return member == args->root ? NEEDS_ALL : NEEDS_NONE;
    case TERN_COLL_SCAN:
    case TERN_COLL_EXSCAN: return NEEDS_LOWER;
    default: return NEEDS_ALL;
    }
}

/* The bytes that this member contributes. */
static size_t contribution(const struct tern_coll_args *args, const struct tern_team *team)
{
    bool root = team->rank == args->root;

    switch (args->call) {
    case TERN_COLL_SYNC: return 0;
    case TERN_COLL_BROADCAST: return root ? args->len : 0;
    case TERN_COLL_SCATTER: return root ? args->len * (size_t)team->size : 0;
    case TERN_COLL_ALLTOALL:
    case TERN_COLL_REDUCE_SCATTER: return args->len * (size_t)team->size;
    default: return args->len;
    }
}

/* Return whether any member contributes a page. All members reach the same answer. */
static inline bool uses_page(const struct tern_coll_args *args, const struct tern_team *team)
{
    bool blocks =
        args->call == TERN_COLL_SCATTER || args->call == TERN_COLL_ALLTOALL || args->call == TERN_COLL_REDUCE_SCATTER;

    return args->len * (blocks ? (size_t)team->size : 1) > TERN_BOARD_SHORT;
}

bool tern_op_board_takes(const struct tern_station *station, const struct tern_coll_args *args)
{
    size_t each = args->len, most = TERN_BOARD_LONG;

    if (!station->board || args->call > TERN_COLL_EXSCAN)
        return false;
    if (TERN_UNLIKELY(tern_op_coll_forced[args->call]) && !tern_op_coll_forces(args->call, "board"))
        return false;
    if (args->call == TERN_COLL_SCATTER || args->call == TERN_COLL_ALLTOALL || args->call == TERN_COLL_REDUCE_SCATTER)
        most /= (size_t)station->team->size;
    return each <= most;
}

/* ---- contributions and results ---- */

static inline void put(unsigned char *to, const void *from, size_t bytes)
{
    if (TERN_LIKELY(bytes == sizeof(uint64_t)))
        memcpy(to, from, sizeof(uint64_t));
    else if (bytes > 0)
        memcpy(to, from, bytes);
}

static inline unsigned char *given(const struct tern_meeting *m, int member, size_t bytes)
{
    return bytes <= TERN_BOARD_SHORT ? tern_cell_of(m->station, member)->brief : tern_page_of(m->station, member);
}

/* Combine the contributions of the members before `end`; those of all calls begin at offset `at`. */
static tern_status fold(const struct tern_meeting *m, int end, size_t bytes, size_t at)
{
    const struct tern_coll_args *args = m->args;
    bool                         ok = true;

    if (end == 1)
        put(args->dst, given(m, 0, bytes) + at, args->len);
    for (int i = 1; ok && i < end; i++)
        ok = tern_op_coll_combine(&args->how, args->dst, i == 1 ? given(m, 0, bytes) + at : args->dst,
                                  given(m, i, bytes) + at, args->len);
    return ok ? TERN_OK : tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for an element", args->what);
}

/* Return whether a call moves blocks of a page without a reduction, so that a member copies its own block from its
 * array (keep_own). */
static inline bool moves_pages(const struct tern_coll_args *args, bool page)
{
    return page && (args->call == TERN_COLL_ALLGATHER || args->call == TERN_COLL_ALLTOALL);
}

/* Copy the block that this member has for itself, while the contributions of the others arrive. */
static void keep_own(const struct tern_meeting *m)
{
    const struct tern_coll_args *args = m->args;
    size_t                       at = (size_t)m->station->team->rank * args->len;
    const unsigned char         *own = (const unsigned char *)args->src + (args->call == TERN_COLL_ALLTOALL ? at : 0);

    if (own != args->dst + at) /* not in place */
        memcpy(args->dst + at, own, args->len);
}

/* Compute the result of this member from the contributions. */
static tern_status conclude(const struct tern_meeting *m, bool page)
{
    const struct tern_coll_args *args = m->args;
    const struct tern_team      *team = m->station->team;
    size_t                       len = args->len, all = len * (size_t)team->size;
    int                          me = team->rank, own = moves_pages(args, page) ? me : -1;

    switch (args->call) {
    case TERN_COLL_BROADCAST:
        if (me != args->root)
            put(args->dst, given(m, args->root, len), len);
        return TERN_OK;
    case TERN_COLL_SCATTER: put(args->dst, given(m, args->root, all) + (size_t)me * len, len); return TERN_OK;
    case TERN_COLL_REDUCE: return me == args->root ? fold(m, team->size, len, 0) : TERN_OK;
    case TERN_COLL_ALLREDUCE: return fold(m, team->size, len, 0);
    case TERN_COLL_REDUCE_SCATTER: return fold(m, team->size, all, (size_t)me * len);
    case TERN_COLL_SCAN: return fold(m, me + 1, len, 0);
    case TERN_COLL_EXSCAN: return me > 0 ? fold(m, me, len, 0) : TERN_OK;
    case TERN_COLL_GATHER:
        if (me != args->root)
            return TERN_OK;
        /* fall through */
    case TERN_COLL_ALLGATHER:
        for (int i = 0; i < team->size; i++)
            if (i != own)
                put(args->dst + (size_t)i * len, given(m, i, len), len);
        return TERN_OK;
    case TERN_COLL_ALLTOALL:
        for (int i = 0; i < team->size; i++)
            if (i != own)
                put(args->dst + (size_t)i * len, given(m, i, all) + (size_t)me * len, len);
        return TERN_OK;
    default: return TERN_OK;
    }
}

/* ---- the call ---- */

/* Wake the members that need this member's contribution, in a call in which not every member needs every contribution.
 * With fewer cores than ranks, only the last contribution wakes a root that needs all of them. */
static void wake_readers(struct tern_meeting *m)
{
    const struct tern_station *station = m->station;
    int                        me = station->team->rank, size = station->team->size;
    bool                       crowded = tern_job.spin_ns == 0;

    /* seq_cst: this member's word before it reads the others'. Pairs with itself, so that of several members that
     * contribute last at least one sees all. */
    if (crowded)
        atomic_thread_fence(memory_order_seq_cst);
    m->next = 0;
    m->end = size;
    m->clears = false;
    for (int i = 0; i < size; i++) {
        enum needs needs = i == me ? NEEDS_NONE : needs_of(m->args, i);

        if ((needs == NEEDS_ROOT && me == m->args->root) || (needs == NEEDS_LOWER && me < i) ||
            (needs == NEEDS_ALL && (!crowded || tern_meeting_all_written(m))))
            tern_link_ring(tern_meeting_slot(m, i));
    }
}

/* Wait for the contributions that this member needs. */
static inline tern_status gather(struct tern_meeting *m)
{
    const struct tern_team *team = m->station->team;
    enum needs              needs = needs_of(m->args, team->rank);

    if (needs == NEEDS_ALL && m->args->root < 0)
        return tern_meeting_all(m);
    wake_readers(m);
    switch (needs) {
    case NEEDS_NONE: return TERN_OK;
    case NEEDS_ROOT: return tern_meeting_wait_ahead(m, m->args->root);
    case NEEDS_LOWER: return tern_meeting_wait_words(m, 0, team->rank);
    case NEEDS_ALL: return tern_meeting_wait_words(m, 0, team->size);
    }
    return TERN_OK;
}

tern_status tern_op_board_call(struct tern_station *station, struct tern_ctx *ctx, const struct tern_coll_args *args)
{
    struct tern_meeting m = tern_meeting_begin(station, ctx, args);
    bool                page = uses_page(args, station->team), written = false;
    tern_status         st;

    if ((st = tern_meeting_clear(&m, page)) == TERN_OK) {
        size_t bytes = contribution(args, station->team);

        put(given(&m, station->team->rank, bytes), args->call == TERN_COLL_BROADCAST ? args->dst : args->src, bytes);
        if (page)
            station->paged[station->meeting % TERN_BOARD_PAGES] = station->meeting;
        tern_meeting_publish(&m);
        written = true;
        if (moves_pages(args, page))
            keep_own(&m);
        st = gather(&m);
    }
    if (TERN_UNLIKELY(m.odd >= 0))
        st = tern_meeting_mismatch(&m, m.odd);
    if (TERN_LIKELY(st == TERN_OK))
        st = conclude(&m, page);
    tern_meeting_finish(&m, page);
    if (TERN_UNLIKELY(st < 0)) {
        atomic_store_explicit(&station->broken, true, memory_order_relaxed);
        tern_op_board_quit(station, station->meeting + written);
    }
    return st;
}

/* ---- calls that send messages ---- */

void tern_op_board_enter(struct tern_station *station, const struct tern_coll_args *args)
{
    struct tern_meeting m;

    if (!station->board)
        return;
    m = tern_meeting_begin(station, NULL, args);
    m.end = station->team->size;
    m.until = station->meeting - TERN_BOARD_CELLS;
    if ((int32_t)(m.until - station->cleared) <= 0 || tern_meeting_all_done(&m))
        tern_meeting_publish(&m); /* otherwise the word is not written: others need it only if the calls do not match */
}

void tern_op_board_leave(struct tern_station *station)
{
    struct tern_meeting m = { .station = station };

    if (!station->board)
        return;
    tern_meeting_finish(&m, false);
}

/* Return whether the arguments that are beside the words are equal. The digest in a word is too short to tell that. */
static bool is_equal(const struct tern_coll_says *mine, const struct tern_coll_says *theirs)
{
    return theirs->amount == mine->amount && theirs->root == mine->root && theirs->elem == (uint32_t)mine->elem;
}

void tern_op_board_compare(struct tern_coll *c)
{
    const struct tern_station *station = c->station;
    uint64_t                   mine;
    const char                *call;

    if (!station->board || !c->blocks || (station->number & TAG_NUMBER) != (c->tag & TAG_NUMBER)) /* an older call */
        return;
    for (int i = 0; i < c->size; i++)
        if (tern_op_board_elsewhere(station, i, &call))
            tern_op_coll_fail(c, TERN_ERR_ARG,
                              "%s: rank %d of the team called %s at the same time; all ranks of a team make the same "
                              "collective calls in the same order",
                              c->op.call, i, call);
    mine = atomic_load_explicit(&tern_cell_of(station, c->rank)->word, memory_order_relaxed); /* this rank's own */
    for (int i = 0; i < c->size && c->status == TERN_OK && tern_word_number(mine) == station->meeting; i++) {
        const struct tern_board_cell *cell = tern_cell_of(station, i);
        /* acquire: the arguments beside the word. Pairs with tern_meeting_publish(). */
        uint64_t                      word = atomic_load_explicit(&cell->word, memory_order_acquire);
        struct tern_coll_says         theirs = tern_meeting_says(cell, word);
        char                          text[sizeof(c->detail)];

        if (tern_word_number(word) != station->meeting || tern_word_call(word) == TERN_WORD_REVOKED ||
            (word == mine && is_equal(&c->says, &theirs)))
            continue;
        tern_op_coll_differ(&(struct tern_coll_pair){ c->op.call, &c->says, &theirs, c->rank, i, 0 }, text,
                            sizeof(text));
        tern_op_coll_fail(c, TERN_ERR_ARG, "%s", text);
    }
}
