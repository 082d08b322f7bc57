/* signals.c: puts with signals, and waiting for signal words.
 *
 * Promise: a rank that sees a signal word change sees the data of its put, over every path; a word that is set has the
 * last value, a word that is added to has the sum of all additions, and none is lost. A wait returns when the
 * comparison holds, and not before; a deadline ends it with TERN_ERR_TIMEOUT. Bad arguments change nothing. A signal
 * wakes a sleeping wait, whatever its initiator does next.
 *
 * env: TERN_CMA=off
 */
#include "job_test.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "core/job.h"

#define LONGEST (JOB_SANITIZED ? 9000u : 70000u)
#define SLOT 70016u /* of a source in a part: data, and in its first line the words */
#define ROUNDS (JOB_SANITIZED ? 4u : 20u)

static const size_t lengths[] = { 0, 1, 8, 100, 5000, LONGEST };
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

enum form { BLOCKING, EVENT, IMPLICIT, IMMEDIATE, FORMS };

static tern_status give(tern_ctx *ctx, enum form form, tern_region *region, int to, uint64_t offset, const void *src,
                        size_t len, const tern_signal *signal)
{
    tern_event  event = TERN_EVENT_INIT;
    tern_opts   opts = TERN_OPTS(.flags = TERN_IMMEDIATE, .signal = signal, .event = &event);
    tern_status st;

    switch (form) {
    case BLOCKING: return tern_put_signal(ctx, region, to, offset, src, len, signal);
    case EVENT:
        OK(tern_put_with(ctx, region, to, offset, src, len, &TERN_OPTS(.signal = signal, .event = &event)));
        return tern_event_wait(&event, TERN_FOREVER);
    case IMPLICIT: OK(tern_put_signal_nbi(ctx, region, to, offset, src, len, signal)); return tern_quiet(ctx);
    default:
        while ((st = tern_put_with(ctx, region, to, offset, src, len, &opts)) == TERN_AGAIN)
            OK(tern_progress(ctx));
        return st == TERN_OK ? tern_event_wait(&event, TERN_FOREVER) : st;
    }
}

/* Each rank puts to the right and waits for data from the left. The data is behind the first line, and the words are in
 * it: one that is set, one that is added to. */
static void around(tern_ctx *ctx, enum job_kind kind)
{
    int               me = tern_rank(), ranks = tern_size(), right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    unsigned char    *buffer = job_new(LONGEST);
    struct job_region r;
    uint64_t          round = 0, sum = 0, seen = 0;

    job_region_make(&r, kind, SLOT + 64);
    OK(tern_barrier(ctx));
    for (unsigned form = 0; form < FORMS; form++)
        for (size_t i = 0; i < LENGTHS; i++) {
            size_t            len = lengths[i];
            const tern_signal set =
                TERN_SIGNAL(.region = r.region, .offset = 0, .value = ++round, .op = TERN_SIGNAL_SET);
            const tern_signal add = TERN_SIGNAL(.region = r.region, .offset = 8, .value = round, .op = TERN_SIGNAL_ADD);

            job_fill(buffer, len, (unsigned)me, (unsigned)round);
            OK(give(ctx, form, r.region, right, 64, buffer, len, &set));
            OK(tern_signal_wait(ctx, r.region, 0, TERN_EQ, round, TERN_FOREVER, &seen));
            SAME(seen, round);
            CHECK(job_put_holds(r.mine + 64, len, (unsigned)left, (unsigned)round));
            OK(give(ctx, form, r.region, right, 0, buffer, 0, &add));
            sum += round;
            OK(tern_signal_wait(ctx, r.region, 8, TERN_GE, sum, TERN_FOREVER, &seen));
            SAME(seen, sum);
            RETURNS(TERN_PENDING, tern_signal_test(ctx, r.region, 8, TERN_GT, sum, NULL));
            OK(tern_barrier(ctx)); /* before the data is overwritten */
        }
    job_region_drop(&r);
    free(buffer);
}

/* All ranks add to one word of rank 0, with their own data, faster than rank 0 polls. */
static void all_to_one(enum job_kind kind)
{
    uint64_t          ranks = (uint64_t)tern_size(), seen = 0, value;
    struct job_region r;

    job_region_make(&r, kind, 64 + ranks * 8);
    OK(tern_barrier(TERN_WORLD));
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        const tern_signal add = TERN_SIGNAL(.region = r.region, .offset = 0, .value = 1, .op = TERN_SIGNAL_ADD);

        value = i;
        OK(tern_put_signal_nbi(TERN_WORLD, r.region, 0, 64 + (uint64_t)tern_rank() * 8, &value, sizeof(value), &add));
        OK(tern_quiet(TERN_WORLD));
    }
    if (tern_rank() == 0) {
        OK(tern_signal_wait(TERN_WORLD, r.region, 0, TERN_EQ, ranks * ROUNDS, TERN_FOREVER, &seen));
        for (uint64_t from = 0; from < ranks; from++) {
            OK(tern_get_u64(TERN_WORLD, r.region, 0, 64 + from * 8, &value));
            SAME(value, ROUNDS);
        }
    }
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&r);
}

static void comparing(void)
{
    static const struct {
        tern_compare compare;
        bool         less, same, more;
    } expected[] = {
        { TERN_EQ, false, true, false }, { TERN_NE, true, false, true },  { TERN_GT, false, false, true },
        { TERN_GE, false, true, true },  { TERN_LT, true, false, false }, { TERN_LE, true, true, false },
    };
    const uint64_t value = 1ull << 63;
    tern_region   *region;
    tern_signal    signal;
    int            me = tern_rank();

    OK(tern_region_create(TERN_WORLD, 64, NULL, &region));
    for (unsigned i = 0; i < 6; i++)
        for (int by = -1; by <= 1; by++) {
            bool holds = by < 0 ? expected[i].less : by == 0 ? expected[i].same : expected[i].more;

            signal = TERN_SIGNAL(.region = region, .offset = 8, .value = value + (uint64_t)(int64_t)by,
                                 .op = TERN_SIGNAL_SET);
            OK(tern_put_signal(TERN_WORLD, region, me, 0, NULL, 0, &signal));
            RETURNS(holds ? TERN_OK : TERN_PENDING,
                    tern_signal_test(TERN_WORLD, region, 8, expected[i].compare, value, NULL));
            RETURNS(holds ? TERN_OK : TERN_PENDING,
                    tern_signal_wait(TERN_WORLD, region, 8, expected[i].compare, value, TERN_NOW, NULL));
        }
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
}

static void refusals(void)
{
    unsigned char byte = 7;
    tern_region  *region;
    tern_signal   good, bad;
    uint64_t      seen = 1;
    int           me = tern_rank();

    OK(tern_region_create(TERN_WORLD, 64, NULL, &region));
    good = bad = TERN_SIGNAL(.region = region, .offset = 0, .value = 5, .op = TERN_SIGNAL_SET);
    REFUSES(TERN_ERR_ARG, tern_put_signal(TERN_WORLD, region, me, 8, &byte, 1, NULL));
    SAYS("tern_put_signal: signal is NULL");
    REFUSES(TERN_ERR_ARG, tern_put_signal(NULL, region, me, 8, &byte, 1, &good));
    REFUSES(TERN_ERR_ARG, tern_put_signal(TERN_WORLD, region, me, 8, NULL, 1, &good));
    SAYS("tern_put_signal: src is NULL, but len is");
    REFUSES(TERN_ERR_RANGE, tern_put_signal(TERN_WORLD, region, me, 64, &byte, 1, &good));
    SAYS("tern_put_signal: 1 bytes at offset 64 do not lie in");
    REFUSES(TERN_ERR_RANGE, tern_put_signal(TERN_WORLD, region, tern_size(), 8, &byte, 1, &good));
    SAYS("tern_put_signal: no rank ");
    bad.region = NULL;
    REFUSES(TERN_ERR_ARG, tern_put_signal(TERN_WORLD, region, me, 8, &byte, 1, &bad));
    bad = good;
    bad.offset = 4;
    REFUSES(TERN_ERR_ARG, tern_put_signal(TERN_WORLD, region, me, 8, &byte, 1, &bad));
    SAYS("is not aligned to 8 bytes");
    bad.offset = 57;
    REFUSES(TERN_ERR_RANGE, tern_put_signal(TERN_WORLD, region, me, 8, &byte, 1, &bad));
    SAYS("no word at offset 57 of the 64 bytes of rank");
    bad = good;
    bad.op = (tern_signal_op)2;
    REFUSES(TERN_ERR_ARG, tern_put_signal_nbi(TERN_WORLD, region, me, 8, &byte, 1, &bad));
    SAYS("a signal sets or adds; 2 is neither");
    REFUSES(TERN_ERR_ARG,
            tern_put_with(TERN_WORLD, region, me, 8, &byte, 1, &TERN_OPTS(.flags = TERN_NOTIFY, .signal = &good)));
    SAYS("opts->signal and TERN_NOTIFY exclude each other");
    REFUSES(TERN_ERR_ARG,
            tern_put_with(TERN_WORLD, region, me, 8, &byte, 1, &TERN_OPTS(.flags = TERN_WANT_EVENT, .signal = &good)));
    SAYS("tern_put_with: event is NULL");
    REFUSES(TERN_ERR_ARG, tern_get_with(TERN_WORLD, region, me, 8, &byte, 1, &TERN_OPTS(.signal = &good)));
    SAYS("opts->signal is for puts");
    REFUSES(TERN_ERR_ARG, tern_signal_test(TERN_WORLD, region, 0, (tern_compare)6, 0, NULL));
    SAYS("tern_signal_test: 6 is no way to compare");
    REFUSES(TERN_ERR_ARG, tern_signal_test(TERN_WORLD, region, 4, TERN_EQ, 0, NULL));
    REFUSES(TERN_ERR_RANGE, tern_signal_wait(TERN_WORLD, region, 64, TERN_EQ, 0, TERN_NOW, NULL));
    SAYS("tern_signal_wait: no word at offset 64");
    REFUSES(TERN_ERR_ARG, tern_signal_wait(TERN_WORLD, NULL, 0, TERN_EQ, 0, TERN_NOW, NULL));
    SAYS("tern_signal_wait: region is NULL");
    REFUSES(TERN_ERR_TIMEOUT, tern_signal_wait(TERN_WORLD, region, 0, TERN_GE, 9, tern_deadline_in(0.01), NULL));
    SAYS("tern_signal_wait waits for the word at offset 0, which is 0, to be >= 9");
    OK(tern_signal_test(TERN_WORLD, region, 0, TERN_EQ, 0, &seen)); /* none of them has changed anything */
    SAME(seen, 0);
    OK(tern_signal_test(TERN_WORLD, region, 8, TERN_EQ, 0, &seen));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
}

/* Returns a word that all ranks of this machine share, and that is read and written without a call of Tern. */
static _Atomic uint64_t *share_word(void)
{
    char  name[64];
    void *word;
    int   file;

    job_file_name(name, sizeof(name), 1);
    file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(file >= 0 && ftruncate(file, sizeof(uint64_t)) == 0);
    word = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(word != MAP_FAILED);
    close(file);
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0)
        CHECK(unlink(name) == 0);
    return word;
}

/* Wait without a call that makes progress. The limit only turns a hang into a failure that names the missing event. */
static void await_answer(const _Atomic uint64_t *answer, uint64_t round, const char *path)
{
    const tern_deadline end = tern_deadline_in(30);

    while (atomic_load(answer) < round) {
        if (tern_clock() > end)
            job_fail(__FILE__, __LINE__, path, "rank 1 still sleeps although its signal was given 30 s ago");
        usleep(100);
    }
}

/* Rank 1 sleeps until its word changes. Rank 0 starts the put when rank 1 sleeps, and makes no further call of Tern
 * before rank 1 has answered. Only ranks of its node can see whether rank 1 sleeps. */
static void asleep(enum job_kind kind)
{
    int               me = tern_rank();
    _Atomic uint64_t *answer;
    struct job_region words;

    if (tern_size() < 2 || job_chaos()) /* chaos holds operations back until the next call */
        return;
    job_region_make(&words, kind, 64);
    answer = share_word();
    for (uint64_t round = 1; round <= 6 && me < 2 && tern_boot_same_node(&tern_job.boot, 1 - me); round++) {
        const tern_signal signal =
            TERN_SIGNAL(.region = words.region, .offset = 0, .value = round, .op = TERN_SIGNAL_SET);

        if (me == 1) {
            OK(tern_signal_wait(TERN_WORLD, words.region, 0, TERN_EQ, round, TERN_FOREVER, NULL));
            atomic_store(answer, round);
            continue;
        }
        while (atomic_load(&tern_core_job_slot(1)->sleepers) == 0)
            usleep(100);
        OK(tern_put_signal_nbi(TERN_WORLD, words.region, 1, 8, &round, round % 2 ? 8 : 0, &signal));
        await_answer(answer, round, tern_region_path(words.region, 1));
    }
    OK(tern_barrier(TERN_WORLD));
    CHECK(munmap(answer, sizeof(uint64_t)) == 0);
    job_region_drop(&words);
}

int main(void)
{
    tern_ctx *strict;

    OK(tern_init());
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &strict));
    for (enum job_kind kind = JOB_HOST; kind <= JOB_REGISTERED; kind += JOB_REGISTERED - JOB_HOST) {
        around(TERN_WORLD, kind);
        around(strict, kind);
        all_to_one(kind);
        asleep(kind);
    }
    OK(tern_ctx_free(strict));
    comparing();
    refusals();
    OK(tern_finalize());
    return 0;
}
