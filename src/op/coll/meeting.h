/* meeting.h: a blocking collective call of a team on one node, as its members meet in shared memory.
 *
 * Each member has a board (board.h). A meeting is one blocking call on the team. In a meeting, a member writes its word
 * and its contribution into a cell of its board, and reads the cells of the members that it depends on. The word
 * contains the number of the meeting and a digest of the arguments. The length, the root and the size of the elements
 * are beside the word, so that calls that do not match are found at no cost. When a member no longer needs the boards
 * of the others, it writes the number of the meeting as done.
 *
 * Cells are used in turn. A member writes a cell again when all members are done with the meeting for which it was
 * used. A member that sees the word of another one knows that the other is done with all earlier meetings, so that
 * nothing has to be checked after a call in which all members depend on each other. Otherwise a member checks this only
 * at every TERN_MEETING_STEP-th meeting, and only then wakes the members that may wait for it. */
#pragma once

#include "core/job.h"
#include "link/inject.h"
#include "op/coll/board.h"

#define TERN_MEETING_SPINS 4096 /* polls of the cells before a wait makes progress, with a core for each rank */
#define TERN_MEETING_STEP 16u   /* meetings between two checks that cells may be written again */

struct tern_meeting {
    struct tern_station         *station;
    struct tern_ctx             *ctx;
    const struct tern_coll_args *args;
    uint64_t                     word;
    int                          next, end; /* members from next to end - 1 have not been seen */
    int                          odd;       /* a member whose call does not match; -1: none */
    bool                         clears;    /* the wait is for members to be done with `until` */
    uint32_t                     until;
};

static inline struct tern_board *tern_board_of(const struct tern_station *station, int member)
{
    return (struct tern_board *)(void *)((unsigned char *)station->board + (size_t)member * TERN_LINK_BOARD);
}

static inline struct tern_board_cell *tern_cell_of(const struct tern_station *station, int member)
{
    return &tern_board_of(station, member)->cell[station->meeting % TERN_BOARD_CELLS];
}

/* The long contribution of a member to the current meeting. */
static inline unsigned char *tern_page_of(const struct tern_station *station, int member)
{
    return tern_board_of(station, member)->page[station->meeting % TERN_BOARD_PAGES];
}

/* All pages of a member, as one array. */
static inline unsigned char *tern_pages_of(const struct tern_station *station, int member)
{
    return (unsigned char *)tern_board_of(station, member)->page;
}

/* ---- the word: 32 bits for the number, 5 for the call, 10 for type, reduction and flags, 17 for a digest ---- */

#define TERN_WORD_REVOKED 31u /* instead of the call: the member has given up the meeting */
_Static_assert((unsigned)TERN_COLL_COUNT <= TERN_WORD_REVOKED, "calls fit into a word");

static inline uint32_t tern_word_number(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

static inline unsigned tern_word_call(uint64_t word)
{
    return (unsigned)(word >> 27 & 0x1f);
}

static inline unsigned tern_word_kind(uint64_t word)
{
    return (unsigned)(word >> 17 & 0x3ff);
}

static inline uint64_t tern_word_make(uint32_t number, unsigned call, unsigned kind, uint64_t digest)
{
    return (uint64_t)number << 32 | (uint64_t)call << 27 | (uint64_t)kind << 17 | ((digest ^ digest >> 32) & 0x1ffff);
}

/* Begin the next meeting of the team. */
static inline struct tern_meeting tern_meeting_begin(struct tern_station *station, struct tern_ctx *ctx,
                                                     const struct tern_coll_args *args)
{
    struct tern_meeting m = { .station = station, .ctx = ctx, .args = args, .odd = -1 };

    m.word = tern_word_make(++station->meeting, args->call, args->how.kind, args->digest);
    return m;
}

/* ---- waiting ---- */

/* Return whether the arguments that are beside the word in the cell are equal to those of this member. The digest in
 * the word is too short to tell that. */
static inline bool tern_meeting_is_equal(const struct tern_meeting *m, const struct tern_board_cell *cell)
{
    return cell->amount == m->args->amount && cell->root == m->args->root && cell->elem == (uint32_t)m->args->how.elem;
}

/* Return whether the member has written its word. */
static inline bool tern_meeting_has_written(struct tern_meeting *m, int member)
{
    const struct tern_board_cell *cell = tern_cell_of(m->station, member);
    /* acquire: the contribution. Pairs with the release in tern_meeting_publish(). */
    uint64_t                      word = atomic_load_explicit(&cell->word, memory_order_acquire);

    if (TERN_LIKELY(word == m->word && tern_meeting_is_equal(m, cell)))
        return true;
    if (tern_word_number(word) == tern_word_number(m->word))
        m->odd = member;
    return false;
}

/* Return whether all awaited words are there, or one does not match. The search continues at the first word that was
 * not there. */
static inline bool tern_meeting_all_written(struct tern_meeting *m)
{
    while (m->next < m->end && tern_meeting_has_written(m, m->next))
        m->next++;
    return m->next == m->end || m->odd >= 0;
}

/* Return whether the awaited members are done with the meeting `until`. */
static inline bool tern_meeting_all_done(struct tern_meeting *m)
{
    while (m->next < m->end) {
        /* acquire: the member's accesses to the memory of others. Pairs with tern_meeting_finish(). */
        uint32_t done = atomic_load_explicit(&tern_board_of(m->station, m->next)->done, memory_order_acquire);

        if ((int32_t)(m->until - done) > 0)
            return false;
        m->next++;
    }
    return true;
}

static inline bool tern_meeting_is_over(struct tern_meeting *m)
{
    return m->clears ? tern_meeting_all_done(m) : tern_meeting_all_written(m);
}

/* Wait for a meeting as tern_core_wait() does. The second function is for fewer cores than ranks: the other ranks of
 * the core usually arrive during the next few yields, so the wait makes progress and reads the clock only after
 * these. */
tern_status tern_meeting_wait_slowly(struct tern_meeting *m);
tern_status tern_meeting_wait_yielding(struct tern_meeting *m);

static inline tern_status tern_meeting_wait(struct tern_meeting *m)
{
    if (tern_job.spin_ns == 0)
        return tern_meeting_wait_yielding(m);
    for (int i = TERN_MEETING_SPINS; i > 0; i--) {
        if (tern_meeting_is_over(m))
            return TERN_OK;
        tern_base_relax();
    }
    return tern_meeting_wait_slowly(m);
}

/* Wait for the words of the members from first to end. */
static inline tern_status tern_meeting_wait_words(struct tern_meeting *m, int first, int end)
{
    m->next = first;
    m->end = end;
    m->clears = false;
    return tern_meeting_wait(m);
}

/* Wait for the word of one member, which may be several meetings ahead, and prefetch the cells that this member reads
 * next. */
static inline tern_status tern_meeting_wait_ahead(struct tern_meeting *m, int member)
{
    const struct tern_station *station = m->station;

    m->next = member;
    m->end = member + 1;
    m->clears = false;
    if (!tern_meeting_all_written(m))
        return tern_meeting_wait(m);
    __builtin_prefetch(&tern_board_of(station, member)->cell[(station->meeting + 2) % TERN_BOARD_CELLS]);
    return TERN_OK;
}

/* Wait until all members are done with a meeting. */
static inline tern_status tern_meeting_wait_done(struct tern_meeting *m, uint32_t until)
{
    m->next = 0;
    m->end = m->station->team->size;
    m->clears = true;
    m->until = until;
    return tern_meeting_wait(m);
}

/* The meeting with which all members must be done before the cell, and with page the page, of a meeting can be written
 * again. `used`: the last meeting that used the page. The meeting of the cell is rounded up to the next step: all of
 * them can be done with that meeting without this member. A page that was used before that needs nothing else; the
 * subtraction gives the right answer even if the numbers have wrapped around. */
static inline uint32_t tern_meeting_awaited(uint32_t meeting, uint32_t used, bool page)
{
    uint32_t cell = meeting - TERN_BOARD_CELLS;

    cell = (cell + TERN_MEETING_STEP - 1) / TERN_MEETING_STEP * TERN_MEETING_STEP;
    return page && meeting - used < meeting - cell ? used : cell;
}

/* The meeting with which all members must be done before all pages and the cell of a meeting can be written again.
 * used: the last meetings that used the pages. */
static inline uint32_t tern_meeting_awaited_for_pages(uint32_t meeting, const uint32_t used[TERN_BOARD_PAGES])
{
    uint32_t until = tern_meeting_awaited(meeting, 0, false);

    for (unsigned i = 0; i < TERN_BOARD_PAGES; i++)
        if (meeting - used[i] < meeting - until)
            until = used[i];
    return until;
}

/* Wait until this member may write its cell, and with page its page; or its cell and all its pages. */
tern_status tern_meeting_wait_clear(struct tern_meeting *m, bool page);
tern_status tern_meeting_clear_pages(struct tern_meeting *m);

static inline tern_status tern_meeting_clear(struct tern_meeting *m, bool page)
{
    const struct tern_station *station = m->station;
    uint32_t                   before = station->meeting - (page ? TERN_BOARD_PAGES : TERN_BOARD_CELLS);

    if (TERN_LIKELY((int32_t)(before - station->cleared) <= 0))
        return TERN_OK;
    return tern_meeting_wait_clear(m, page);
}

/* ---- waking ---- */

static inline struct tern_slot *tern_meeting_slot(const struct tern_meeting *m, int member)
{
    return tern_core_job_slot(tern_core_team_world(m->station->team, member));
}

/* Wake all other members that sleep. */
static inline void tern_meeting_wake_all(const struct tern_meeting *m)
{
    for (int i = 0; i < m->station->team->size; i++)
        if (i != m->station->team->rank)
            tern_link_ring(tern_meeting_slot(m, i));
}

/* Publish the word, after the contribution. */
static inline void tern_meeting_publish(struct tern_meeting *m)
{
    struct tern_board_cell *cell = tern_cell_of(m->station, m->station->team->rank);

    cell->amount = m->args->amount;
    cell->root = m->args->root;
    cell->elem = (uint32_t)m->args->how.elem;
    /* release: the contribution. Pairs with tern_meeting_has_written(). */
    atomic_store_explicit(&cell->word, m->word, memory_order_release);
}

/* Meet all members: wait for all words, after this member's word has been published. The last member to arrive wakes
 * the others. With a core for each rank, every member looks for sleepers after its wait, without a fence: the member
 * whose word was the last to become visible does not sleep itself, and either sees the announcement of a sleeper, or
 * the sleeper has seen its word (boot/bell.h). With fewer cores, only the member that has found all words at its first
 * look wakes others: otherwise each of n ranks would be woken n times. */
static inline tern_status tern_meeting_all(struct tern_meeting *m)
{
    struct tern_station *station = m->station;
    tern_status          st;
    bool                 last = true;

    m->next = 0;
    m->end = station->team->size;
    m->clears = false;
    if (tern_job.spin_ns == 0) {
        /* seq_cst: this member's word before it reads the others'. Pairs with itself: of several members that arrive
         * last, at least one sees all words. */
        atomic_thread_fence(memory_order_seq_cst);
        last = tern_meeting_all_written(m);
    }
    st = last && tern_job.spin_ns == 0 ? TERN_OK : tern_meeting_wait(m);
    for (int i = 0; last && i < m->end; i++) {
        struct tern_slot *slot = tern_meeting_slot(m, i);

        if (tern_job.spin_ns > 0 && i != station->team->rank)
            tern_link_ring(slot);
        else if (TERN_UNLIKELY(tern_boot_may_sleep(slot))) /* the fence is above */
            tern_boot_slot_wake(slot);
    }
    if (TERN_LIKELY(st == TERN_OK && m->odd < 0))
        station->cleared = station->meeting - 1; /* a member that has arrived is done with all earlier meetings */
    return st;
}

/* End the current meeting of this member. Members that wait to write their cells again are woken at every step.
 */
static inline void tern_meeting_finish(struct tern_meeting *m, bool page)
{
    uint32_t meeting = m->station->meeting;

    /* release: this member's accesses to the memory of others. Pairs with tern_meeting_all_done(). */
    atomic_store_explicit(&tern_board_of(m->station, m->station->team->rank)->done, meeting, memory_order_release);
    if (page || meeting % TERN_MEETING_STEP == 0)
        tern_meeting_wake_all(m);
}

/* Return the call that the writer of the cell describes. */
struct tern_coll_says tern_meeting_says(const struct tern_board_cell *cell, uint64_t word);

/* Report that a member has given up the meeting. Returns TERN_ERR_PEER if a member is gone, and otherwise
 * TERN_ERR_STATE. */
tern_status tern_meeting_given_up(const struct tern_meeting *m, int member);

/* Report that the call of a member does not match. */
tern_status tern_meeting_mismatch(const struct tern_meeting *m, int member);
