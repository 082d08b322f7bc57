/* coll_mismatch.c: collective calls of the ranks of a team that do not match.
 *
 * Promise: if one rank makes another call, or passes another root, length, type, reduction, flag, element or list than
 * the others, ranks get TERN_ERR_ARG, and the text names a rank and the values that differ; in debug builds, every rank
 * gets it. Nobody hangs: the next call on the team fails on every rank, whether it has learned of the mismatch or not,
 * and another team works. If one rank cancels a triggered call, or a call exceeds its time limit, the others get an
 * error, which says what the rank waited for.
 *
 * ranks: 2 3 4
 * env: TERN_SPIN=0 TERN_YIELDS=0
 * poor: off, because the messages are those of every network
 * imposed: off, because the messages are those of every network
 * hosts: a:2,b:1 a:1,b:2
 */
#include "job_test.h"

#define WORDS 4000

static int        me, size;
static uint64_t   src[4 * WORDS], dst[4 * WORDS];
static tern_event event;

static const tern_reduce_args sum = { .size = sizeof(sum), .type = TERN_UINT64 };

static void first_of(const void *in, void *inout, size_t count, void *user)
{
    memcpy(inout, in, count * *(size_t *)user);
}

/* ---- the calls ---- */

enum wrong {
    WRONG_CALL,
    WRONG_LENGTH,
    WRONG_LONG,
    WRONG_TYPE,
    WRONG_REDUCTION,
    WRONG_FLAGS,
    WRONG_ELEMENT,
    WRONG_ROOT,
    WRONG_ROOT_OF_REDUCE,
    WRONG_LIST,
    WRONG_BLOCK,
    WRONG_EXCHANGE,
    WRONG_PIECES,
    WRONG_COUNT,
    WRONGS
};

/* What the text of the errors contains, one of each pair at least; NULL: nothing in release builds over messages. */
static const struct {
    const char *name, *one, *other;
} expected[WRONGS] = {
    [WRONG_CALL] = { "call", "tern_sync", "tern_allreduce" },
    [WRONG_LENGTH] = { "length", "elements", "elements" },
    [WRONG_LONG] = { "long and short", "elements", "rank " },
    [WRONG_TYPE] = { "type", "TERN_INT64", "TERN_UINT64" },
    [WRONG_REDUCTION] = { "reduction", "TERN_MAX", "TERN_SUM" },
    [WRONG_FLAGS] = { "flags", "TERN_REPRODUCIBLE", "TERN_DOUBLE" },
    [WRONG_ELEMENT] = { "element", "element", "rank " },
    [WRONG_ROOT] = { "root", "root 0", "root 1" },
    [WRONG_ROOT_OF_REDUCE] = { "root of reduce", "root 0", "root 1" },
    [WRONG_LIST] = { "list", "rank ", "bytes" },
    [WRONG_BLOCK] = { "block", "16", "8" },
    [WRONG_EXCHANGE] = { "exchange", "16", "8" },
    [WRONG_PIECES] = { "pieces", "rank ", "bytes" },
    [WRONG_COUNT] = { "count", "elements", "rank " },
};

/* Make a call in one of the two forms. */
#define MAKE(name, ...) \
    (with ? tern_##name##_with(ctx, __VA_ARGS__, &TERN_OPTS(.event = &event)) : tern_##name(ctx, __VA_ARGS__))

static tern_status lists(tern_ctx *ctx, enum wrong wrong, bool odd, bool with)
{
    size_t      len[8] = { 8, 8, 8, 8, 8, 8, 8, 8 }, same[8] = { 8, 8, 8, 8, 8, 8, 8, 8 };
    tern_blocks blocks = TERN_BLOCKS(.len = len);

    switch ((int)wrong) {
    case WRONG_LIST: len[0] = odd ? 16 : 8; return MAKE(allgatherv, src, 8, dst, &blocks);
    case WRONG_BLOCK: return MAKE(gatherv, 0, src, odd ? 16 : 8, dst, &blocks);
    case WRONG_EXCHANGE: len[0] = odd ? 16 : 8; return MAKE(alltoallv, src, &blocks, dst, &TERN_BLOCKS(.len = same));
    case WRONG_PIECES: len[0] = odd ? 16 : 8; return MAKE(reduce_scatterv, src, dst, &blocks, &sum);
    default:
        return MAKE(alltoalls, src, dst,
                    &TERN_ALLTOALLS_ARGS(.elem = 8, .count = odd ? 2 : 1, .src_stride = 1, .dst_stride = 1));
    }
}

/* Make a call that does not match those of the others. */
static tern_status make(tern_ctx *ctx, enum wrong wrong, bool odd, bool with)
{
    tern_reduce_args how = sum;
    static size_t    bytes;

    switch (wrong) {
    case WRONG_CALL:
        if (odd)
            return with ? tern_sync_with(ctx, &TERN_OPTS(.event = &event)) : tern_sync(ctx);
        return MAKE(allreduce, src, dst, 1, &sum);
    case WRONG_LENGTH: return MAKE(allreduce, src, dst, odd ? 2 : 1, &sum);
    case WRONG_LONG: return MAKE(allreduce, src, dst, odd ? WORDS : 1, &sum);
    case WRONG_TYPE: how.type = odd ? TERN_INT64 : TERN_UINT64; return MAKE(allreduce, src, dst, 1, &how);
    case WRONG_REDUCTION: how.op = odd ? TERN_MAX : TERN_SUM; return MAKE(scan, src, dst, 3, &how);
    case WRONG_FLAGS:
        how.type = TERN_DOUBLE;
        how.flags = odd ? TERN_REPRODUCIBLE : 0;
        return MAKE(allreduce, src, dst, 1, &how);
    case WRONG_ELEMENT:
        bytes = odd ? 16 : 8;
        how = TERN_REDUCE_ARGS(.op = TERN_USER, .fn = first_of, .elem = bytes, .user = &bytes);
        return MAKE(allreduce, src, dst, 1, &how);
    case WRONG_ROOT: return MAKE(broadcast, odd, dst, 8);
    case WRONG_ROOT_OF_REDUCE: return MAKE(reduce, odd, src, dst, 1, &sum);
    default: return lists(ctx, wrong, odd, with);
    }
}

/* ---- what follows ---- */

struct stage {
    tern_team *team;
    tern_ctx  *ctx;
};

static struct stage open_stage(void)
{
    struct stage stage;

    OK(tern_team_dup(TERN_WORLD, &stage.team));
    OK(tern_ctx_create(stage.team, TERN_RELAXED, &stage.ctx));
    OK(tern_sync(stage.ctx));
    return stage;
}

static void close_stage(struct stage *stage)
{
    OK(tern_ctx_free(stage->ctx));
    OK(tern_team_free(stage->team));
    OK(tern_sync(TERN_WORLD));
}

/* Check what the ranks got: at least so many an error, and only errors from then on. */
static void aftermath(struct stage *stage, tern_status st, int least)
{
    int32_t mine = st, theirs[8];
    int     failed = 0;

    CHECK(st == TERN_OK || st == TERN_ERR_ARG);
    if (st < 0)
        SAYS("rank ");
    OK(tern_allgather(TERN_WORLD, &mine, sizeof(mine), theirs));
    for (int i = 0; i < size; i++)
        failed += theirs[i] < 0;
    CHECK(failed >= least);
    RETURNS(failed == 0 ? TERN_OK : st < 0 ? TERN_ERR_STATE : TERN_ERR_ARG, tern_sync(stage->ctx));
    close_stage(stage);
}

/* Whether release builds leave it to the stall report, because a message would be necessary: a rank waits for one that
 * has sent to another rank, which is content. */
static bool is_silent(enum wrong wrong, bool with)
{
    bool messages = with || tern_node_count() > 1 || getenv("TERN_CHAOS");

    return wrong == WRONG_ROOT_OF_REDUCE && messages && !TEST_DEBUG_LIBRARY;
}

/* The number of ranks that get an error, at least: in debug builds all, unless only some ranks know what differs. */
static int least_failures(enum wrong wrong)
{
    if (TEST_DEBUG_LIBRARY && wrong != WRONG_BLOCK && wrong != WRONG_EXCHANGE)
        return size;
    return wrong == WRONG_ROOT && size == 2 ? 0 : 1; /* two roots do not wait for each other */
}

static void mismatched(enum wrong wrong, bool with)
{
    struct stage stage = open_stage();
    tern_status  st = make(stage.ctx, wrong, me == size - 1, with);
    char         note[100];

    snprintf(note, sizeof(note), "(%s, with %d)", expected[wrong].name, with);
    job_note = note;
    if (st == TERN_OK && with)
        st = tern_event_wait(&event, TERN_FOREVER);
    if (st < 0) {
        SAYS(expected[wrong].one);
        SAYS(expected[wrong].other);
    }
    aftermath(&stage, st, least_failures(wrong));

    job_note = "";
}

/* One rank calls the blocking form. */
static void forms(void)
{
    struct stage stage = open_stage();
    bool         odd = me == size - 1;
    tern_status  st = odd ? tern_allreduce(stage.ctx, src, dst, 1, &sum)
                          : tern_allreduce_with(stage.ctx, src, dst, 1, &sum, &TERN_OPTS(.event = &event));

    if (!odd && st == TERN_OK)
        st = tern_event_wait(&event, TERN_FOREVER);
    if (st < 0)
        SAYS("tern_allreduce_with");
    aftermath(&stage, st, size);
}

/* Several operations are outstanding, the first of which does not match: all of them end. */
static void outstanding(void)
{
    struct stage stage = open_stage();
    bool         odd = me == size - 1;
    tern_event   events[3];
    tern_status  st = TERN_OK, one;
    int          n = 0;

    for (; n < 3 && st == TERN_OK && !odd; n += st == TERN_OK)
        st = tern_allreduce_with(stage.ctx, src, dst + (size_t)n * WORDS, WORDS, &sum, &TERN_OPTS(.event = &events[n]));
    if (odd)
        st = tern_allreduce(stage.ctx, src, dst, 1, &sum);
    for (int i = n - 1; i >= 0; i--) {
        one = tern_event_wait(&events[i], TERN_FOREVER);
        CHECK(one == TERN_ERR_ARG || (i > 0 && one == TERN_ERR_STATE));
        st = one;
    }
    aftermath(&stage, st, size);
}

/* One rank cancels its call; then all do. */
static void cancelled(void)
{
    struct stage  stage = open_stage();
    bool          odd = me == size - 1;
    tern_counter *start;
    size_t        n;

    OK(tern_counter_create(stage.ctx, &start));
    for (int i = 0; i < 3; i++) { /* all ranks: the team works afterwards */
        OK(tern_allreduce_with(stage.ctx, src, dst, 1, &sum,
                               &TERN_OPTS(.event = &event, .when = start, .threshold = 1)));
        OK(tern_counter_cancel(start, &n));
        RETURNS(TERN_ERR_CANCELLED, tern_event_wait(&event, TERN_FOREVER));
        OK(tern_sync(stage.ctx));
    }
    OK(tern_allreduce_with(stage.ctx, src, dst, 1, &sum, &TERN_OPTS(.event = &event, .when = start, .threshold = 1)));
    OK(odd ? tern_counter_cancel(start, &n) : tern_counter_add(start, 1));
    RETURNS(odd ? TERN_ERR_CANCELLED : TERN_ERR_ARG, tern_event_wait(&event, TERN_FOREVER));
    SAYS(odd ? "cancelled" : "has given up this call");
    RETURNS(odd ? TERN_ERR_ARG : TERN_ERR_STATE, tern_sync(stage.ctx));
    OK(tern_counter_free(start));
    close_stage(&stage);
}

/* A call exceeds its time limit on all ranks but the last one. The last rank makes the call afterwards, and needs a
 * message that rank 0 would have sent after one from the last rank. */
static void late(void)
{
    const size_t len[8] = { 8, 8, 8, 8, 8, 8, 8, 8 };
    struct stage stage = open_stage();
    tern_status  st = TERN_OK;

    if (me < size - 1) {
        OK(tern_ctx_set_timeout(stage.ctx, 0.05));
        st = tern_alltoallv(stage.ctx, src, &TERN_BLOCKS(.len = len), dst, &TERN_BLOCKS(.len = len));
        CHECK(st == TERN_ERR_TIMEOUT || st == TERN_ERR_ARG); /* the time limit of another rank may pass first */
    }
    OK(tern_sync(TERN_WORLD));
    if (me == size - 1)
        RETURNS(TERN_ERR_ARG, tern_alltoallv(stage.ctx, src, &TERN_BLOCKS(.len = len), dst, &TERN_BLOCKS(.len = len)));
    if (st != TERN_ERR_TIMEOUT)
        SAYS("its time limit passed in tern_alltoallv by pairwise, which waits for rank ");
    RETURNS(TERN_ERR_STATE, tern_sync(stage.ctx));
    close_stage(&stage);
}

int main(void)
{
    OK(tern_init());
    me = tern_rank();
    size = tern_size();
    for (enum wrong wrong = 0; wrong < WRONGS; wrong++) {
        for (int with = 0; with < 2; with++)
            if (!is_silent(wrong, with))
                mismatched(wrong, with);
    }
    forms();
    outstanding();
    cancelled();
    if (size > 2)
        late();
    OK(tern_finalize());
    return 0;
}
