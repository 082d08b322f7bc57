/* atomics.c: concurrent histories of atomic operations.
 *
 * Promise: operations on one value are linearizable. All ranks work on values of one rank at the same time, each in its
 * own way (directly, by RPC, blocking and with events), and log the values that they saw, the start time and the
 * completion time. A counter gives every number once, and a number whose operation completed before another started is
 * smaller. Compare-and-swaps form one chain from the first value to the last, in an order that no clock contradicts,
 * and a failed one saw a value that was there at some moment between its start and its completion. Sums of all types
 * are exact.
 *
 * ranks: 2 4
 * providers: net
 * env: TERN_CMA=off
 * env: TERN_LINKS=ofi TERN_OFI_PROVIDER=shm TERN_OFI_ATOMICS=network
 */
#include "job_test.h"

const char *job_note;

#define EACH (JOB_SANITIZED ? 60u : 300u) /* operations of a rank on each value */

struct entry {
    int64_t  begun, known;
    uint64_t compare, stored, saw;
};

/* Offsets in the part of the rank that owns the values. */
enum { COUNTER = 0, CELL = 64, SUM = 128, STORM = 192, THROUGH = 256, CHAIN = 320, STEPS = 384, LOG = 512 };

static uint32_t flags; /* of the domains; 0: the network may do everything */

static uint64_t log_at(int rank)
{
    return LOG + (uint64_t)rank * EACH * sizeof(struct entry);
}

/* Wait only for some operations with an event, so that several are outstanding. */
static void counted(tern_atomic_domain *domain, tern_region *region, int owner, struct entry *log)
{
    const uint64_t one = 1;

    for (unsigned i = 0; i < EACH; i++) {
        const tern_atomic_args args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_FADD, .operand = &one, .result = &log[i].saw);
        tern_event             event;

        log[i].begun = tern_clock();
        if (i % 3 == 0) {
            OK(tern_atomic_nb(TERN_WORLD, domain, region, owner, COUNTER, &args, &event));
            OK(tern_event_wait(&event, TERN_FOREVER));
        } else if (i % 3 == 1 || getenv("TERN_OFI_ATOMICS")) {
            OK(tern_atomic_fadd(TERN_WORLD, domain, region, owner, COUNTER, 1, &log[i].saw));
        } else {
            OK(tern_fadd(TERN_WORLD, region, owner, COUNTER, 1, &log[i].saw));
        }
        log[i].known = tern_clock();
    }
}

static void swapped(tern_atomic_domain *domain, tern_region *region, int owner, struct entry *log)
{
    uint64_t guess = 0;

    for (unsigned i = 0; i < EACH; i++) {
        struct entry *e = &log[i];

        e->compare = guess;
        e->stored = (uint64_t)(tern_rank() + 1) << 32 | (i + 1); /* no other rank stores this value */
        e->begun = tern_clock();
        e->saw = e->compare;
        OK(tern_atomic_cas(TERN_WORLD, domain, region, owner, CELL, &e->saw, e->stored));
        e->known = tern_clock();
        guess = e->saw == e->compare ? e->stored : e->saw;
    }
}

static int by_saw(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return x->saw < y->saw ? -1 : x->saw > y->saw;
}

static void check_counter(struct entry *all, size_t count)
{
    int64_t soonest = INT64_MAX; /* completion time of one with a greater number */

    qsort(all, count, sizeof(*all), by_saw);
    for (size_t i = count; i-- > 0;) {
        SAME(all[i].saw, i);
        CHECK(all[i].begun <= soonest);
        soonest = all[i].known < soonest ? all[i].known : soonest;
    }
}

/* Returns the operation that replaced a value; NULL: the value is the last. */
static const struct entry *after(const struct entry *all, size_t count, uint64_t value)
{
    const struct entry *found = NULL;

    for (size_t i = 0; i < count; i++) {
        if (all[i].saw == all[i].compare && all[i].compare == value) {
            CHECK(found == NULL); /* a value is replaced once */
            found = &all[i];
        }
    }
    return found;
}

static const struct entry *writer(const struct entry *all, size_t count, uint64_t value)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].saw == all[i].compare && all[i].stored == value)
            return &all[i];
    return NULL;
}

static void check_chain(const struct entry *all, size_t count, uint64_t last)
{
    const struct entry *e;
    size_t              stores = 0, linked = 0;
    int64_t             latest = INT64_MIN; /* latest start of those before */
    uint64_t            value = 0;

    for (size_t i = 0; i < count; i++)
        stores += all[i].saw == all[i].compare;
    for (; (e = after(all, count, value)); value = e->stored, linked++) {
        CHECK(e->known >= latest); /* it did not complete before its predecessor started */
        latest = e->begun > latest ? e->begun : latest;
    }
    SAME(value, last);
    SAME(linked, stores);
    for (size_t i = 0; i < count; i++) {
        const struct entry *before, *next;

        if (all[i].saw == all[i].compare)
            continue;
        before = writer(all, count, all[i].saw);
        next = after(all, count, all[i].saw);
        CHECK(before != NULL || all[i].saw == 0);
        CHECK(before == NULL || before->begun <= all[i].known);
        CHECK(next == NULL || next->known >= all[i].begun);
    }
}

/* Add one by compare-and-swap if the guess is right, by both calls alternately. Returns 1 if it was right. */
static uint64_t step_by_cas(tern_atomic_domain *domain, tern_region *region, int owner, uint64_t turn, uint64_t *guess)
{
    uint64_t               tried = *guess, more = tried + 1;
    const tern_atomic_args args =
        TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_CAS, .operand = &more, .compare = &tried, .result = guess);

    if (turn % 2)
        OK(tern_atomic_cas(TERN_WORLD, domain, region, owner, CHAIN, guess, more));
    else
        OK(tern_atomic(TERN_WORLD, domain, region, owner, CHAIN, &args));
    if (*guess != tried)
        return 0;
    *guess = more;
    return 1;
}

/* Add one, by operations that are processor instructions, by both calls alternately, and by operations that are
 * computed. */
static void step(tern_atomic_domain *domain, tern_region *region, int owner, uint64_t turn)
{
    const uint64_t         one = 1;
    uint64_t               was;
    const tern_atomic_args add = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_FADD, .operand = &one, .result = &was),
                           inc = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_FINC, .result = &was);

    if (turn % 2)
        OK(tern_atomic(TERN_WORLD, domain, region, owner, STORM, &add));
    else
        OK(tern_atomic_fadd(TERN_WORLD, domain, region, owner, STORM, 1, &was));
    if (flags)
        OK(tern_atomic(TERN_WORLD, domain, region, owner, STEPS, &inc));
}

/* All ranks work on the same values at the same time, by every path. The owner continues until the others are done, so
 * that its own instructions race with those of the thread that serves the others. */
static void storm(tern_atomic_domain *domain, tern_region *region, int owner, bool near)
{
    const int place[] = { STORM, STEPS, CHAIN };
    uint64_t  through = 0, was = 0, guess = 0, mine[2] = { 0, 0 }, all[64][2], sum[2] = { 0, 0 };
    uint64_t  most = job_chaos() || JOB_SANITIZED ? EACH / 3 : near ? EACH * 100 : EACH * 3;

    while (tern_rank() == owner ? through + 1 < (uint64_t)tern_size() : mine[0] < most) {
        step(domain, region, owner, mine[0]++);
        if (near || tern_rank() != owner || mine[0] % 1024 == 0) /* guesses of remote ranks should sometimes be right */
            for (uint64_t i = 0; i < (near ? 8 : 1); i++)
                mine[1] += step_by_cas(domain, region, owner, mine[0] + i, &guess);
        if (tern_rank() == owner && mine[0] % 16 == 0) {
            OK(tern_progress(TERN_WORLD));
            OK(tern_atomic_get(TERN_WORLD, domain, region, owner, THROUGH, &through));
        }
    }
    if (tern_rank() != owner)
        OK(tern_atomic_fadd(TERN_WORLD, domain, region, owner, THROUGH, 1, &was));
    OK(tern_allgather(TERN_WORLD, mine, sizeof(mine), all));
    for (int i = 0; i < 2 * tern_size(); i++)
        sum[i % 2] += all[i / 2][i % 2];
    for (int i = 0; i < 3; i++) {
        OK(tern_atomic_get(TERN_WORLD, domain, region, owner, (uint64_t)place[i], &was));
        if (i != 1 || flags)
            SAME(was, sum[i == 2]);
    }
    OK(tern_barrier(TERN_WORLD));
}

/* Each rank adds its rank plus one, EACH times, without waiting for each. */
static void sums(tern_atomic_domain *domain, tern_type type, tern_region *region, int owner)
{
    uint64_t all = (uint64_t)tern_size() * ((uint64_t)tern_size() + 1) / 2 * EACH;
    int64_t  one_i = tern_rank() + 1;
    int32_t  one_s = tern_rank() + 1;
    float    one_f = (float)(tern_rank() + 1);
    double   one_d = tern_rank() + 1, got_d = 0;
    float    got_f = 0;
    uint64_t got = 0;

    for (unsigned i = 0; i < EACH; i++) {
        const tern_atomic_args args =
            TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_ADD, .operand = type == TERN_FLOAT    ? (const void *)&one_f
                                                               : type == TERN_DOUBLE ? (const void *)&one_d
                                                               : type == TERN_INT32 || type == TERN_UINT32
                                                                   ? (const void *)&one_s
                                                                   : (const void *)&one_i);
        OK(tern_atomic_nbi(TERN_WORLD, domain, region, owner, SUM, &args));
    }
    OK(tern_barrier(TERN_WORLD)); /* it completes the additions */
    OK(tern_get(TERN_WORLD, region, owner, SUM, &got, sizeof(got)));
    memcpy(&got_f, &got, sizeof(got_f));
    memcpy(&got_d, &got, sizeof(got_d));
    if (type == TERN_FLOAT)
        SAME((uint64_t)got_f, all);
    else if (type == TERN_DOUBLE)
        SAME((uint64_t)got_d, all);
    else /* the sum wraps around, and does not reach the bytes behind the value */
        SAME(got, all & (type == TERN_INT8 || type == TERN_UINT8     ? UINT8_MAX
                         : type == TERN_INT16 || type == TERN_UINT16 ? UINT16_MAX
                                                                     : UINT64_MAX));
    OK(tern_barrier(TERN_WORLD));
}

/* Give the owner the logs of all ranks. */
static void hand_in(tern_region *region, int owner, const struct entry *log)
{
    OK(tern_put(TERN_WORLD, region, owner, log_at(tern_rank()), log, EACH * sizeof(*log)));
    OK(tern_barrier(TERN_WORLD));
}

static void histories(tern_region *region, unsigned char *mine, int owner)
{
    const uint32_t      computed = flags ? TERN_ATOMIC_FINC : 0;
    const uint32_t      ops = TERN_ATOMIC_FADD | TERN_ATOMIC_CAS | TERN_ATOMIC_ADD | TERN_ATOMIC_GET | computed;
    size_t              count = (size_t)tern_size() * EACH;
    struct entry       *log = job_new(EACH * sizeof(*log)), *all = job_new(count * sizeof(*all));
    tern_atomic_domain *domain;
    uint64_t            last = 0;

    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, ops, flags, &domain));
    counted(domain, region, owner, log);
    hand_in(region, owner, log);
    memcpy(all, mine + LOG, count * sizeof(*all));
    if (tern_rank() == owner)
        check_counter(all, count);
    OK(tern_barrier(TERN_WORLD));
    swapped(domain, region, owner, log);
    hand_in(region, owner, log);
    memcpy(all, mine + LOG, count * sizeof(*all));
    OK(tern_atomic_get(TERN_WORLD, domain, region, owner, CELL, &last));
    if (tern_rank() == owner)
        check_chain(all, count, last);
    OK(tern_barrier(TERN_WORLD));
    storm(domain, region, owner, tern_region_ptr(region, owner) != NULL);
    OK(tern_atomic_domain_free(domain));
    free(log);
    free(all);
}

int main(void)
{
    struct job_region   r;
    tern_atomic_domain *domain;
    int                 owner;

    flags = getenv("TERN_OFI_ATOMICS") ? 0 : TERN_ATOMIC_LOADS | TERN_ATOMIC_STORES;
    OK(tern_init());
    for (enum job_kind kind = JOB_HOST; kind <= JOB_REGISTERED; kind += JOB_REGISTERED - JOB_HOST) {
        owner = kind == JOB_HOST ? tern_size() - 1 : 0;
        job_region_make(&r, kind, log_at(tern_size()));
        histories(r.region, r.mine, owner);
        for (unsigned t = 0; t < TERN_TYPES; t++) {
            if (t == TERN_COMPLEX_FLOAT || t == TERN_COMPLEX_DOUBLE)
                continue;
            if (tern_rank() == owner)
                memset(r.mine + SUM, 0, 8);
            OK(tern_barrier(TERN_WORLD));
            OK(tern_atomic_domain_create(TERN_WORLD, (tern_type)t, TERN_ATOMIC_ADD, flags, &domain));
            sums(domain, (tern_type)t, r.region, owner);
            OK(tern_atomic_domain_free(domain));
        }
        job_region_drop(&r);
    }
    OK(tern_finalize());
    return 0;
}
