/* acc_reductions.c: accumulates with every reduction.
 *
 * Promise: for every reduction, every type that has it, every shape, and with or without the previous values, an
 * accumulate leaves at the target what the model leaves, and returns what the model held. min and max compare integers
 * with the sign of their type, leave a NaN in memory, and ignore a NaN as operand. Concurrent accumulates of all ranks
 * to the same elements, of one reduction or of several, give the result of some sequential order; so do the previous
 * values.
 *
 * env: TERN_CMA=off
 * ranks: 1 2 4
 */
#include "acc_test.h"

#define TIMES 3

static struct acc_model model; /* of the right neighbour's part */

/* ---- one rank at a time ---- */

/* Check the previous values against the model. An element that occurs several times in one accumulate has several
 * previous values, in any order. */
static void check_fetched(const struct acc *a, unsigned char *buffer)
{
    for (size_t i = 0; i < a->count; i++) {
        size_t           same = 0;
        struct acc_value got = acc_load(a->type, acc_place(a, buffer, a->near[i]));
        struct acc_value want = model.at[a->type][a->far[i]];

        for (size_t j = 0; j < a->count; j++)
            same += a->far[j] == a->far[i];
        CHECK(same > 1 || (got.re == want.re && got.im == want.im));
    }
}

/* Accumulate to the right neighbour, to which no other rank accumulates. */
static void accumulate(struct acc *a, tern_region *region, int right, unsigned char *buffer, uint64_t *seed)
{
    tern_event event = TERN_EVENT_INIT;
    tern_opts  opts = TERN_OPTS(.event = &event);
    uint64_t   tag = job_random(seed);
    bool       waits = tag % 2;

    acc_make_rest(a, buffer, seed);
    acc_fill(a, buffer, tag);
    OK(acc_go(a, TERN_WORLD, region, right, buffer, waits ? NULL : &opts));
    OK(tern_event_wait(&event, TERN_FOREVER));
    if (a->fetch)
        check_fetched(a, buffer);
    acc_apply(&model, a, tag);
}

static void every_reduction(enum job_kind kind)
{
    struct job_region area;
    struct acc       *a = job_new(sizeof(*a));
    unsigned char    *buffer = job_new(ACC_NEAR * ACC_ELEMENT), *part = job_new(ACC_PART);
    uint64_t          seed = job_seed(5 + (uint64_t)tern_rank());
    int               right = (tern_rank() + 1) % tern_size();

    job_region_make(&area, kind, ACC_PART);
    acc_model_fill(&model, area.mine);
    OK(tern_barrier(TERN_WORLD));
    for (int op = 0; op < (int)TERN_REDUCTIONS; op++) {
        for (int i = 0; i < (int)TERN_TYPES * ACC_SHAPES * 2 * TIMES; i++) {
            a->op = (tern_reduction)op;
            a->type = (tern_type)(i % TERN_TYPES);
            a->shape = (enum acc_shape)(i / TERN_TYPES % ACC_SHAPES);
            a->fetch = i / (TERN_TYPES * ACC_SHAPES) % 2;
            if (acc_has(a->op, a->type))
                accumulate(a, area.region, right, buffer, &seed);
        }
        OK(tern_get(TERN_WORLD, area.region, right, 0, part, ACC_PART));
        ACC_HOLDS(&model, part);
    }
    OK(tern_barrier(TERN_WORLD));
    free(a);
    free(buffer);
    free(part);
    job_region_drop(&area);
}

/* min and max of special values: the bits that result from the value in memory and the operand. */
static void special_values(enum job_kind kind)
{
    static const uint64_t nan = 0x7ff8000000000123, one = 0x3ff0000000000000, two = 0x4000000000000000;
    static const uint64_t zero = 0, minus_zero = 1ull << 63, infinity = 0x7ff0000000000000;
    const uint64_t        memory[] = { nan, one, nan, zero, minus_zero, one, infinity, two };
    const uint64_t        operand[] = { one, nan, nan | 1 << 20, minus_zero, zero, two, one, one };
    const uint64_t        least[] = { nan, one, nan, zero, minus_zero, one, one, one };
    const uint64_t        greatest[] = { nan, one, nan, zero, minus_zero, two, infinity, two };
    struct job_region     area;
    uint64_t              buffer[8];
    int                   right = (tern_rank() + 1) % tern_size();

    job_region_make(&area, kind, sizeof(memory));
    for (int max = 0; max < 2; max++) {
        const tern_acc_args args = TERN_ACC_ARGS(.type = TERN_DOUBLE, .op = max ? TERN_MAX : TERN_MIN);

        OK(tern_put(TERN_WORLD, area.region, right, 0, memory, sizeof(memory)));
        memcpy(buffer, operand, sizeof(buffer));
        OK(tern_get_acc(TERN_WORLD, area.region, right, 0, buffer, sizeof(buffer), &args));
        CHECK(memcmp(buffer, memory, sizeof(buffer)) == 0);
        OK(tern_get(TERN_WORLD, area.region, right, 0, buffer, sizeof(buffer)));
        CHECK(memcmp(buffer, max ? greatest : least, sizeof(buffer)) == 0);
    }
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&area);
}

/* ---- all ranks at the same time ---- */

#define ROUNDS 100
#define WIDE 64 /* elements of one accumulate, so that accumulates overlap in time */

/* The operand of a rank in a round for an element, by which all ranks know the result. */
static uint64_t operand_of(int rank, int round, int element)
{
    return acc_hash((uint64_t)rank << 40 | (uint64_t)round << 20 | (uint64_t)element);
}

static uint64_t combine(tern_reduction op, uint64_t a, uint64_t b)
{
    struct acc_value x = { (int64_t)a, 0 }, y = { (int64_t)b, 0 };

    return (uint64_t)acc_combine(op, TERN_UINT64, x, y).re;
}

/* All ranks apply one reduction, whose order does not matter, to the same elements of rank 0. */
static void one_reduction(tern_region *region, tern_reduction op)
{
    const tern_acc_args args = TERN_ACC_ARGS(.type = TERN_UINT64, .op = op);
    uint64_t            buffer[WIDE], start[WIDE];

    for (int i = 0; i < WIDE; i++)
        start[i] = acc_hash((uint64_t)i) | 1;
    if (tern_rank() == 0)
        OK(tern_put(TERN_WORLD, region, 0, 0, start, sizeof(start)));
    OK(tern_barrier(TERN_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WIDE; i++)
            buffer[i] = operand_of(tern_rank(), round, i) | (op == TERN_PROD);
        OK(tern_acc(TERN_WORLD, region, 0, 0, buffer, sizeof(buffer), &args));
    }
    OK(tern_barrier(TERN_WORLD));
    OK(tern_get(TERN_WORLD, region, 0, 0, buffer, sizeof(buffer)));
    for (int i = 0; i < WIDE; i++) {
        for (int n = 0; n < tern_size() * ROUNDS; n++)
            start[i] = combine(op, start[i], operand_of(n / ROUNDS, n % ROUNDS, i) | (op == TERN_PROD));
        SAME(buffer[i], start[i]);
    }
    OK(tern_barrier(TERN_WORLD));
}

/* Each rank replaces elements with numbers of its own. Every number is then fetched once or still there: the exclusive
 * or of all of them is that of all numbers that were stored. */
static void exchanged(tern_region *region)
{
    const tern_acc_args args = TERN_ACC_ARGS(.type = TERN_INT64, .op = TERN_REPLACE);
    uint64_t            buffer[WIDE] = { 0 }, xors[WIDE] = { 0 }, all[64][WIDE];

    if (tern_rank() == 0)
        OK(tern_put(TERN_WORLD, region, 0, 0, buffer, sizeof(buffer)));
    OK(tern_barrier(TERN_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WIDE; i++)
            xors[i] ^= buffer[i] = operand_of(tern_rank(), round, i);
        OK(tern_get_acc(TERN_WORLD, region, 0, 0, buffer, sizeof(buffer), &args));
        for (int i = 0; i < WIDE; i++)
            xors[i] ^= buffer[i];
    }
    OK(tern_allgather(TERN_WORLD, xors, sizeof(xors), all));
    OK(tern_get(TERN_WORLD, region, 0, 0, buffer, sizeof(buffer)));
    for (int i = 0; i < WIDE; i++) {
        for (int rank = 0; rank < tern_size(); rank++)
            buffer[i] ^= all[rank][i];
        SAME(buffer[i], 0);
    }
    OK(tern_barrier(TERN_WORLD));
}

/* Each rank lowers a common minimum and fetches it: what it fetches never rises, and is never less than the result. */
static void lowered(tern_region *region)
{
    const tern_acc_args args = TERN_ACC_ARGS(.type = TERN_DOUBLE, .op = TERN_MIN);
    double              value = 1e9, last = 1e9;

    if (tern_rank() == 0)
        OK(tern_put(TERN_WORLD, region, 0, 0, &value, sizeof(value)));
    OK(tern_barrier(TERN_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        double mine = value = (double)((ROUNDS - round) * tern_size() + tern_rank());

        OK(tern_get_acc(TERN_WORLD, region, 0, 0, &value, sizeof(value), &args));
        CHECK(value <= last);
        last = mine < value ? mine : value;
    }
    OK(tern_barrier(TERN_WORLD));
    OK(tern_get(TERN_WORLD, region, 0, 0, &value, sizeof(value)));
    CHECK(value == tern_size() && value <= last);
    OK(tern_barrier(TERN_WORLD));
}

/* Different reductions and types of the same size change different bits of the same words: in each round a rank adds 1
 * to the upper half, toggles its bit in the second byte, sets its bit in the lowest byte and, in all rounds but the
 * last, clears it again. */
static void several_reductions(tern_region *region)
{
    const tern_acc_args add = TERN_ACC_ARGS(.type = TERN_INT64),
                        toggle = TERN_ACC_ARGS(.type = TERN_UINT64, .op = TERN_XOR);
    const tern_acc_args set = TERN_ACC_ARGS(.type = TERN_INT64, .op = TERN_OR);
    const tern_acc_args clear = TERN_ACC_ARGS(.type = TERN_UINT64, .op = TERN_AND);
    const uint64_t      bit = 1ull << tern_rank(), ranks = (1ull << tern_size()) - 1;
    uint64_t            buffer[WIDE] = { 0 };

    if (tern_rank() == 0)
        OK(tern_put(TERN_WORLD, region, 0, 0, buffer, sizeof(buffer)));
    OK(tern_barrier(TERN_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t       operand[] = { 1ull << 32, bit << 8, bit, ~bit };
        const tern_acc_args *args[] = { &add, &toggle, &set, &clear };

        for (int n = 0; n < (round + 1 < ROUNDS ? 4 : 3); n++) {
            for (int i = 0; i < WIDE; i++)
                buffer[i] = operand[n];
            OK(tern_get_acc(TERN_WORLD, region, 0, 0, buffer, sizeof(buffer), args[n]));
            for (int i = 0; i < WIDE; i++)
                CHECK(((buffer[i] & bit) != 0) == (n == 3) && ((buffer[i] & bit << 8) != 0) == (round % 2 != (n > 1)));
        }
    }
    OK(tern_barrier(TERN_WORLD));
    OK(tern_get(TERN_WORLD, region, 0, 0, buffer, sizeof(buffer)));
    for (int i = 0; i < WIDE; i++)
        SAME(buffer[i], (uint64_t)(ROUNDS * tern_size()) << 32 | (ROUNDS % 2 ? ranks << 8 : 0) | ranks);
    OK(tern_barrier(TERN_WORLD));
}

static void at_the_same_time(enum job_kind kind)
{
    static const tern_reduction ops[] = { TERN_SUM, TERN_PROD, TERN_MIN, TERN_MAX, TERN_AND, TERN_OR, TERN_XOR };
    struct job_region           area;

    job_region_make(&area, kind, WIDE * sizeof(uint64_t));
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        one_reduction(area.region, ops[i]);
    exchanged(area.region);
    lowered(area.region);
    several_reductions(area.region);
    job_region_drop(&area);
}

int main(void)
{
    static const enum job_kind kinds[] = { JOB_HOST, JOB_REGISTERED };

    OK(tern_init());
    for (int i = 0; i < 2; i++) {
        every_reduction(kinds[i]);
        special_values(kinds[i]);
        at_the_same_time(kinds[i]);
    }
    OK(tern_finalize());
    return 0;
}
