/* acc.c: random accumulates of all ranks to all ranks.
 *
 * Promise: for every reduction, type, shape, form and kind of memory, every operand is applied exactly once, whichever
 * other ranks accumulate to the same elements at the same time; and get-accumulates that add to one element all return
 * different values.
 *
 * env: TERN_CMA=off
 * ranks: 1 2 3 8
 */
#include "acc_test.h"

#define ROUNDS (JOB_SANITIZED ? 60 : 150)
#define UNDER_WAY 6

static struct acc_model model; /* of this rank's part */

/* The accumulates of a rank in a round follow from a seed that all ranks know. */
static uint64_t seed_of(int rank, int round)
{
    return job_seed(1 + (uint64_t)rank * 1000003 + (uint64_t)round * 7919);
}

static int target_of(uint64_t *seed)
{
    return (int)(job_random(seed) % (uint64_t)tern_size());
}

/* Clear memory before the barrier after which other ranks add to it. Over the network a thread of this process adds for
 * them, and the thread sanitizer does not see that messages order the accesses. */
static void clear(unsigned char *memory, size_t bytes)
{
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    memset(memory, 0, bytes);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
}

struct slot {
    unsigned char *buffer;
    struct acc    *acc;
    tern_event     event, local;
    bool           told; /* a local completion was requested */
};

/* Wait for the local completion. For an accumulate it permits the caller to overwrite the source; for a get-accumulate
 * it means that the operation is complete. */
static void settle(struct slot *s)
{
    OK(tern_event_wait(&s->local, TERN_FOREVER));
    if (s->told && !s->acc->fetch)
        memset(s->buffer, 0x5a, ACC_NEAR * ACC_ELEMENT);
    OK(tern_event_wait(&s->event, TERN_FOREVER));
}

static void start(struct slot *s, tern_region *region, int target, uint64_t how)
{
    tern_opts   opts = TERN_OPTS(.flags = 0, .local = how % 5 < 2 ? &s->local : NULL,
                                 .event = how % 5 != 1 ? &s->event : NULL); /* none: as _nbi */
    tern_status st;

    s->told = opts.local && how % 3 != 0;
    if (how % 7 == 0)
        opts.flags = TERN_IMMEDIATE;
    if (how % 3 == 0) {
        OK(acc_go(s->acc, TERN_WORLD, region, target, s->buffer, NULL));
        return;
    }
    while ((st = acc_go(s->acc, TERN_WORLD, region, target, s->buffer, &opts)) == TERN_AGAIN)
        tern_progress(TERN_WORLD);
    OK(st);
}

/* Random accumulates with one reduction, or with sum for types that do not have it. */
static void run(enum job_kind kind, tern_reduction op, int first, int rounds)
{
    struct job_region area;
    struct slot       slot[UNDER_WAY] = { { NULL, NULL, TERN_EVENT_INIT, TERN_EVENT_INIT, false } };
    struct acc        again;

    job_region_make(&area, kind, ACC_PART);
    acc_model_fill(&model, area.mine);
    for (int i = 0; i < UNDER_WAY; i++) {
        slot[i].buffer = job_new(ACC_NEAR * ACC_ELEMENT);
        slot[i].acc = job_new(sizeof(*slot[i].acc));
    }
    OK(tern_barrier(TERN_WORLD));
    for (int round = first; round < first + rounds; round++) {
        struct slot *s = &slot[round % UNDER_WAY];
        uint64_t     seed = seed_of(tern_rank(), round);
        int          target = target_of(&seed);

        settle(s);
        if (round % UNDER_WAY == 0)
            OK(tern_quiet(TERN_WORLD)); /* completes those without an event */
        acc_make_op(s->acc, op, s->buffer, &seed);
        acc_fill(s->acc, s->buffer, seed_of(tern_rank(), round));
        start(s, area.region, target, job_random(&seed));
    }
    for (int i = 0; i < UNDER_WAY; i++)
        settle(&slot[i]);
    OK(tern_quiet(TERN_WORLD));
    OK(tern_barrier(TERN_WORLD));
    for (int rank = 0; rank < tern_size(); rank++)
        for (int round = first; round < first + rounds; round++) {
            uint64_t seed = seed_of(rank, round);

            if (target_of(&seed) != tern_rank())
                continue;
            acc_make_op(&again, op, slot[0].buffer, &seed);
            acc_apply(&model, &again, seed_of(rank, round));
        }
    ACC_HOLDS(&model, area.mine);
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < UNDER_WAY; i++) {
        free(slot[i].buffer);
        free(slot[i].acc);
    }
    job_region_drop(&area);
}

#define TAKES 300

/* All ranks take numbers from one counter and tick them off. */
static void take_numbers(enum job_kind kind)
{
    const tern_acc_args one64 = TERN_ACC_ARGS(.type = TERN_INT64), one32 = TERN_ACC_ARGS(.type = TERN_INT32);
    struct job_region   area;
    uint64_t            all = (uint64_t)TAKES * (uint64_t)tern_size();
    int64_t             last = -1;

    job_region_make(&area, kind, 8 + all * sizeof(int32_t));
    clear(area.mine, 8 + all * sizeof(int32_t));
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < TAKES; i++) {
        int64_t number = 1;
        int32_t tick = 1;

        OK(tern_get_acc(TERN_WORLD, area.region, 0, 0, &number, sizeof(number), &one64));
        CHECK(number > last && number < (int64_t)all);
        OK(tern_acc(TERN_WORLD, area.region, 0, 8 + (uint64_t)number * sizeof(tick), &tick, sizeof(tick), &one32));
        last = number;
    }
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0) {
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        SAME(*(int64_t *)(void *)area.mine, all);
        for (uint64_t i = 0; i < all; i++)
            SAME(((int32_t *)(void *)(area.mine + 8))[i], 1);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&area);
}

#define WIDE 512 /* elements: so long that two accumulates overlap in time */

/* All ranks add to the same elements of rank 0 at the same time. Rank 0 continues until the others are done, so that
 * its own additions race with those of the thread that serves the others. */
static void storm(enum job_kind kind)
{
    const tern_acc_args scale = TERN_ACC_ARGS(.type = TERN_INT64);
    struct job_region   area;
    int64_t             one[WIDE + 1], mine = 0, all[64], sum = 0, through = 0, most;

    for (int i = 0; i <= WIDE; i++)
        one[i] = 1;
    job_region_make(&area, kind, sizeof(one));
    clear(area.mine, sizeof(one));
    most = job_chaos() || JOB_SANITIZED || kind != JOB_HOST ? 100 : tern_region_ptr(area.region, 0) ? 20000 : 3000;
    OK(tern_barrier(TERN_WORLD));
    while (tern_rank() == 0 ? through + 1 < tern_size() : mine < most) {
        OK(tern_acc(TERN_WORLD, area.region, 0, 8, one, WIDE * 8, &scale));
        if (++mine % 16 == 0 && tern_rank() == 0) {
            OK(tern_progress(TERN_WORLD));
            through = 0;
            OK(tern_get_acc(TERN_WORLD, area.region, 0, 0, &through, sizeof(through), &scale));
        }
    }
    if (tern_rank() != 0)
        OK(tern_acc(TERN_WORLD, area.region, 0, 0, one, sizeof(*one), &scale));
    OK(tern_allgather(TERN_WORLD, &mine, sizeof(mine), all));
    for (int i = 0; i < tern_size(); i++)
        sum += all[i];
    memset(one, 0, sizeof(one));
    OK(tern_get_acc(TERN_WORLD, area.region, 0, 8, one, WIDE * 8, &scale));
    for (int i = 0; i < WIDE; i++)
        SAME(one[i], sum);
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&area);
}

int main(void)
{
    OK(tern_init());
    storm(JOB_HOST);
    storm(JOB_REGISTERED);
    run(JOB_HOST, TERN_SUM, 0, ROUNDS);
    run(JOB_REGISTERED, TERN_SUM, ROUNDS, ROUNDS);
    for (int op = TERN_SUM + 1; op < (int)TERN_REDUCTIONS; op++) {
        run(JOB_HOST, (tern_reduction)op, ROUNDS * op, ROUNDS / 3);
        run(JOB_REGISTERED, (tern_reduction)op, ROUNDS * op + ROUNDS / 2, ROUNDS / 3);
    }
    take_numbers(JOB_HOST);
    take_numbers(JOB_REGISTERED);
    OK(tern_finalize());
    return 0;
}
