/* board.c: see board.h. */
#include "op/coll/board.h"

#include <stdio.h>
#include <string.h>

#include "boot/bell.h"
#include "core/collective.h"
#include "core/job.h"
#include "core/wait.h"
#include "op/coll/check.h"
#include "op/coll/tag.h"

#define SPINS 4096 /* looks at the cells before the wait makes progress on anything else, with a core for each rank */

static struct tern_board *board_of(const struct tern_station *station, int member)
{
    return (struct tern_board *)(void *)((unsigned char *)station->board + (size_t)member * TERN_LINK_BOARD);
}

static struct tern_board_cell *cell_of(const struct tern_station *station, int member)
{
    return &board_of(station, member)->cell[station->meeting % TERN_BOARD_CELLS];
}

void tern_op_board_open(struct tern_station *station)
{
    struct tern_link_group *group = station->team->group;

    station->board = station->team->size > 1 ? group->ops->board(group) : NULL;
}

void tern_op_board_close(struct tern_station *station)
{
    station->board = NULL; /* the group unmaps it */
}

/* ---- the word ---- */

/* 32 bits for the number, 5 for the call, 10 for type, reduction and flags, and 17 for the digest of the rest. */
static uint64_t word_of(uint32_t number, const struct tern_coll_args *args)
{
    uint64_t digest = args->digest ^ args->digest >> 32;

    return (uint64_t)number << 32 | (uint32_t)args->call << 27 | (uint32_t)args->how.kind << 17 | (digest & 0x1ffff);
}

/* What the member says that wrote a cell. */
static struct tern_coll_says says_in(const struct tern_board_cell *cell, uint64_t word)
{
    return (struct tern_coll_says){ .call = word >> 27 & 0x1f,
                                    .kind = word >> 17 & 0x3ff,
                                    .root = cell->root,
                                    .amount = cell->amount,
                                    .elem = cell->elem,
                                    .blocks = 1 };
}

static uint32_t number_in(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

/* ---- which members matter ---- */

enum needs { NEEDS_NONE, NEEDS_ALL, NEEDS_ROOT, NEEDS_LOWER };

/* Whose contributions a member needs. */
static enum needs needs_of(const struct tern_coll_args *args, int member)
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

bool tern_op_board_takes(const struct tern_station *station, const struct tern_coll_args *args)
{
    size_t each = args->len, most = TERN_BOARD_LONG;

    if (!station->board || args->call > TERN_COLL_EXSCAN)
        return false;
    if (tern_op_coll_is_forced(args->call) && !tern_op_coll_forces(args->call, "board"))
        return false;
    if (args->call == TERN_COLL_SCATTER || args->call == TERN_COLL_ALLTOALL || args->call == TERN_COLL_REDUCE_SCATTER)
        most /= (size_t)station->team->size;
    return each <= most;
}

/* ---- waiting ---- */

struct meeting {
    struct tern_station         *station;
    struct tern_ctx             *ctx;
    const struct tern_coll_args *args;
    uint64_t                     word;
    int                          next, end; /* members from next to end have not been seen */
    int                          odd;       /* member whose call does not match; -1: none */
    bool                         clears;    /* wait until the cell may be written */
};

/* Whether the word of a member is there. */
static inline bool has_written(struct meeting *m, int member)
{
    /* acquire: the contribution. Pairs with the release in publish(). */
    uint64_t word = atomic_load_explicit(&cell_of(m->station, member)->word, memory_order_acquire);

    if (TERN_LIKELY(word == m->word))
        return true;
    if (number_in(word) == number_in(m->word))
        m->odd = member;
    return false;
}

/* Whether all contributions that matter are there, or one does not match. Continues at the first that was not. */
static inline bool all_written(struct meeting *m)
{
    while (m->next < m->end && has_written(m, m->next))
        m->next++;
    return m->next == m->end || m->odd >= 0;
}

/* Whether all members have completed the call for which this member's cell was used before. */
static bool is_clear(struct meeting *m)
{
    const struct tern_station *station = m->station;
    uint32_t                   before = station->meeting - TERN_BOARD_CELLS;

    for (; m->next < m->end; m->next++)
        /* acquire: the member's reads of the cell before it is written again. Pairs with finish(). */
        if ((int32_t)(before - atomic_load_explicit(&board_of(station, m->next)->done, memory_order_acquire)) > 0)
            return false;
    return true;
}

static void wake(const struct tern_station *station, int member)
{
    struct tern_slot *slot = tern_core_job_slot(tern_core_team_world(station->team, member));

    if (TERN_UNLIKELY(tern_boot_may_sleep(slot)))
        tern_boot_slot_wake(slot);
}

/* Wake the members that may wait until their cells are clear: one does so only if it is several calls ahead. */
static void wake_writers(const struct tern_station *station)
{
    const struct tern_team *team = station->team;

    atomic_thread_fence(memory_order_seq_cst); /* this member's number before it reads whether others sleep */
    for (int i = 0; i < team->size; i++)
        if (i != team->rank)
            wake(station, i);
}

static bool is_over(struct meeting *m)
{
    return m->clears ? is_clear(m) : all_written(m);
}

/* ---- members that do not come ---- */

bool tern_op_board_elsewhere(const struct tern_station *station, int member, const char **call)
{
    struct tern_link_group *group = station->team->group;
    uint64_t                number = 0;

    if (!station->board || group->ops->doing(group, (uint32_t)member, &number) != TERN_MEMBER_IN_CALL)
        return false;
    *call = tern_core_collective_name((uint32_t)number);
    /* acquire: pairs with finish(), so that what the member did before is not taken for what it did instead */
    return (int32_t)(station->meeting - atomic_load_explicit(&board_of(station, member)->done, memory_order_acquire)) >
           0;
}

void tern_op_board_quit(struct tern_station *station, uint32_t number)
{
    struct tern_board *mine = station->board ? board_of(station, station->team->rank) : NULL;

    if (!mine || atomic_load_explicit(&mine->quits, memory_order_relaxed) != 0) /* its own */
        return;
    /* release: the word of this member, if it has written one. Pairs with strays(). */
    atomic_store_explicit(&mine->quits, number, memory_order_release);
    wake_writers(station);
}

/* Return a member that has not written its word, and has started a nonblocking operation instead; -1: none. */
static int find_starter(const struct meeting *m)
{
    for (int i = m->next; i < m->end && !m->clears; i++)
        if (number_in(atomic_load_explicit(&cell_of(m->station, i)->word, memory_order_relaxed)) !=
                number_in(m->word) && /* looked at again by is_over */
            tern_op_coll_has_started(m->station, i, NULL))
            return i;
    return -1;
}

/* Whether the next member, for whose word or end of an earlier call this one waits, will not come. */
static bool strays(const struct meeting *m)
{
    const struct tern_board *theirs = board_of(m->station, m->next);
    uint32_t                 awaited = m->station->meeting - (m->clears ? TERN_BOARD_CELLS : 0);
    uint32_t                 quits = atomic_load_explicit(&theirs->quits, memory_order_acquire); /* see quit */
    const char              *call;

    return (quits != 0 && (int32_t)(awaited - quits) >= 0) ||
           (!m->clears && tern_op_board_elsewhere(m->station, m->next, &call)) || find_starter(m) >= 0;
}

static tern_status tell_stray(const struct meeting *m)
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

static tern_status meeting_poll(void *arg)
{
    struct meeting *m = arg;

    if (is_over(m))
        return TERN_OK;
    tern_core_ctx_progress(m->ctx->handle);
    if (is_over(m))
        return TERN_OK;
    if (tern_core_team_lost(m->station->team) >= 0)
        return TERN_ERR_PEER;
    if (!strays(m) || is_over(m)) /* it may have written its word before it went elsewhere */
        return TERN_PENDING;
    return tell_stray(m);
}

static void meeting_describe(void *arg, char *text, size_t size)
{
    struct meeting *m = arg;
    char            doing[96];

    if (m->clears) {
        snprintf(text, size, "%s waits for rank %d of %d, which is several collective calls behind", m->args->what,
                 m->next, m->station->team->size);
        return;
    }
    tern_core_team_describe(m->station->team, m->next, doing, sizeof(doing));
    snprintf(text, size, "%s waits for rank %d of %d, which has not called it%s", m->args->what, m->next,
             m->station->team->size, doing);
}

static tern_status wait_slowly(struct meeting *m)
{
    struct tern_wait wait = {
        .poll = meeting_poll, .describe = meeting_describe, .arg = m, .deadline = tern_core_ctx_deadline(m->ctx)
    };
    int         lost;
    tern_status st = tern_core_wait(&wait);

    if (st == TERN_ERR_PEER) {
        lost = tern_core_team_lost(m->station->team);
        tern_base_fail(st,
                       "%s: rank %d of the team is gone (rank %d of the job); call tern_team_survivors to go on with "
                       "the others",
                       m->args->what, lost, tern_core_team_world(m->station->team, lost));
    }
    return st;
}

/* Wait for the members from `first` to `end`. */
static inline tern_status wait_for(struct meeting *m, int first, int end, bool clears)
{
    m->next = first;
    m->end = end;
    m->clears = clears;
    for (int i = tern_job.spin_ns > 0 ? SPINS : 1; i > 0; i--) {
        if (is_over(m))
            return TERN_OK;
        tern_base_relax();
    }
    return wait_slowly(m);
}

/* ---- mismatches ---- */

static tern_status mismatch(const struct tern_station *station, const struct tern_coll_args *args, int member)
{
    const struct tern_board_cell *cell = cell_of(station, member);
    struct tern_coll_says         mine = tern_op_coll_says(args);
    struct tern_coll_says         theirs =
        says_in(cell, atomic_load_explicit(&cell->word, memory_order_relaxed)); /* acquired */
    struct tern_coll_pair pair = { args->what, &mine, &theirs, station->team->rank, member, 0 };
    char                  text[384];

    tern_op_coll_differ(&pair, text, sizeof(text));
    return tern_base_fail(TERN_ERR_ARG, "%s", text);
}

void tern_op_board_compare(struct tern_coll *c)
{
    const struct tern_station *station = c->station;
    uint64_t                   mine;

    const char *call;

    if (!station->board || !c->blocks || (station->number & TAG_NUMBER) != (c->tag & TAG_NUMBER)) /* not the latest */
        return;
    for (int i = 0; i < c->size; i++)
        if (tern_op_board_elsewhere(station, i, &call))
            tern_op_coll_fail(c, TERN_ERR_ARG,
                              "%s: rank %d of the team called %s at the same time; all ranks of a team make the same "
                              "collective calls in the same order",
                              c->op.call, i, call);
    mine = atomic_load_explicit(&cell_of(station, c->rank)->word, memory_order_relaxed); /* its own */
    for (int i = 0; i < c->size && c->status == TERN_OK && number_in(mine) == station->meeting; i++) {
        const struct tern_board_cell *cell = cell_of(station, i);
        uint64_t                      word = atomic_load_explicit(&cell->word, memory_order_acquire);
        struct tern_coll_says         theirs = says_in(cell, word);
        char                          text[sizeof(c->detail)];

        if (number_in(word) != station->meeting || word == mine)
            continue;
        tern_op_coll_differ(&(struct tern_coll_pair){ c->op.call, &c->says, &theirs, c->rank, i, 0 }, text,
                            sizeof(text));
        tern_op_coll_fail(c, TERN_ERR_ARG, "%s", text);
    }
}

/* ---- contributions ---- */

static unsigned char *place_in(struct tern_board_cell *cell, size_t bytes)
{
    return bytes <= TERN_BOARD_SHORT ? cell->brief : cell->full;
}

static inline void put(unsigned char *to, const void *from, size_t bytes)
{
    if (TERN_LIKELY(bytes == sizeof(uint64_t)))
        memcpy(to, from, sizeof(uint64_t));
    else if (bytes > 0)
        memcpy(to, from, bytes);
}

static void publish(struct meeting *m, const void *from, size_t bytes)
{
    struct tern_board_cell *cell = cell_of(m->station, m->station->team->rank);

    put(place_in(cell, bytes), from, bytes);
    cell->amount = m->args->amount;
    cell->root = m->args->root;
    cell->elem = (uint32_t)m->args->how.elem;
    /* release: the contribution. Pairs with has_written(). */
    atomic_store_explicit(&cell->word, m->word, memory_order_release);
}

/* Wake the members that may sleep because this one was missing. If a member needs the contributions of all, only the
 * last one to contribute wakes it: otherwise each of n ranks would wake up n times. */
static void wake_readers(struct meeting *m)
{
    const struct tern_station *station = m->station;
    int                        me = station->team->rank, size = station->team->size;

    /* seq_cst: this member's word before it reads the others', and whether they sleep. Pairs with itself, so that of
     * several members that contribute last at least one sees all, and with tern_boot_bell_announce(). */
    atomic_thread_fence(memory_order_seq_cst);
    m->next = 0;
    m->end = size;
    for (int i = 0; i < size; i++) {
        enum needs needs = i == me ? NEEDS_NONE : needs_of(m->args, i);

        if ((needs == NEEDS_ROOT && me == m->args->root) || (needs == NEEDS_LOWER && me < i) ||
            (needs == NEEDS_ALL && all_written(m)))
            wake(station, i);
    }
}

/* ---- results ---- */

static const unsigned char *given(const struct meeting *m, int member, size_t bytes)
{
    return place_in(cell_of(m->station, member), bytes);
}

/* Combine the contributions of the members before `end`; those of all calls begin at offset `at`. */
static tern_status fold(const struct meeting *m, int end, size_t bytes, size_t at)
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

/* Compute the result of this member from the contributions. */
static tern_status conclude(const struct meeting *m)
{
    const struct tern_coll_args *args = m->args;
    const struct tern_team      *team = m->station->team;
    size_t                       len = args->len, all = len * (size_t)team->size;
    int                          me = team->rank;

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
            put(args->dst + (size_t)i * len, given(m, i, len), len);
        return TERN_OK;
    case TERN_COLL_ALLTOALL:
        for (int i = 0; i < team->size; i++)
            put(args->dst + (size_t)i * len, given(m, i, all) + (size_t)me * len, len);
        return TERN_OK;
    default: return TERN_OK;
    }
}

/* ---- the call ---- */

static void finish(const struct tern_station *station)
{
    const struct tern_team *team = station->team;

    /* release: this member's reads of the cells. Pairs with is_clear(). */
    atomic_store_explicit(&board_of(station, team->rank)->done, station->meeting, memory_order_release);
}

static tern_status wait_clear(struct meeting *m)
{
    struct tern_station *station = m->station;
    tern_status          st;

    if (TERN_LIKELY((int32_t)(station->meeting - TERN_BOARD_CELLS - station->cleared) <= 0))
        return TERN_OK;
    if ((st = wait_for(m, 0, station->team->size, true)) == TERN_OK)
        station->cleared = station->meeting - TERN_BOARD_CELLS;
    return st;
}

static tern_status gather_all(struct meeting *m)
{
    const struct tern_team *team = m->station->team;

    switch (needs_of(m->args, team->rank)) {
    case NEEDS_NONE: return TERN_OK;
    case NEEDS_ROOT: return wait_for(m, m->args->root, m->args->root + 1, false);
    case NEEDS_LOWER: return wait_for(m, 0, team->rank, false);
    case NEEDS_ALL: return wait_for(m, 0, team->size, false);
    }
    return TERN_OK;
}

tern_status tern_op_board_call(struct tern_station *station, struct tern_ctx *ctx, const struct tern_coll_args *args)
{
    struct meeting m = { .station = station, .ctx = ctx, .args = args, .odd = -1 };
    bool           written = false;
    tern_status    st;

    m.word = word_of(++station->meeting, args);
    if ((st = wait_clear(&m)) == TERN_OK) {
        publish(&m, args->call == TERN_COLL_BROADCAST ? args->dst : args->src, contribution(args, station->team));
        written = true;
        wake_readers(&m);
        st = gather_all(&m);
    }
    if (TERN_UNLIKELY(m.odd >= 0))
        st = mismatch(station, args, m.odd);
    if (st == TERN_OK)
        st = conclude(&m);
    finish(station);
    if (needs_of(args, (station->team->rank + 1) % station->team->size) != NEEDS_ALL ||
        needs_of(args, station->team->rank) != NEEDS_ALL)
        wake_writers(station);
    if (TERN_UNLIKELY(st < 0)) {
        atomic_store_explicit(&station->broken, true, memory_order_relaxed);
        tern_op_board_quit(station, station->meeting + written);
    }
    return st;
}

void tern_op_board_enter(struct tern_station *station, const struct tern_coll_args *args)
{
    struct meeting m = { .station = station, .args = args, .odd = -1, .end = station->team->size };

    if (!station->board)
        return;
    m.word = word_of(++station->meeting, args);
    if (is_clear(&m)) /* otherwise the word is left out: others only need it if the calls do not match */
        publish(&m, NULL, 0);
}

void tern_op_board_leave(struct tern_station *station)
{
    if (!station->board)
        return;
    finish(station);
    wake_writers(station);
}
