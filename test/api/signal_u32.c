/* signal_u32.c: signals of 4 bytes.
 *
 * Promise: a signal of 4 bytes changes exactly its 4 bytes, after the data of its put, over every path and in every
 * form; the owner waits for it with the calls that end in _u32, or spins on it as on an ordinary int. A width other
 * than 4 and 8 and a misaligned signal are refused and change nothing.
 *
 * env: TERN_CMA=off
 */
#include "job_test.h"

#define LONGEST (JOB_SANITIZED ? 9000u : 40000u)
#define AT 32u    /* offset of the signal that is set; its neighbours stay unchanged */
#define COUNT 44u /* offset of the signal that is added to; no multiple of 8 */
#define DATA 64u

static const size_t lengths[] = { 0, 1, 8, 100, 5000, LONGEST };
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

enum form { BLOCKING, EVENT, IMPLICIT, STRIDED, FORMS };

static void give(tern_ctx *ctx, enum form form, tern_region *region, int to, const void *src, size_t len,
                 const tern_signal *signal)
{
    tern_event event = TERN_EVENT_INIT;

    switch (form) {
    case BLOCKING: OK(tern_put_signal(ctx, region, to, DATA, src, len, signal)); break;
    case EVENT:
        OK(tern_put_with(ctx, region, to, DATA, src, len, &TERN_OPTS(.signal = signal, .event = &event)));
        OK(tern_event_wait(&event, TERN_FOREVER));
        break;
    case IMPLICIT:
        OK(tern_put_signal_nbi(ctx, region, to, DATA, src, len, signal));
        OK(tern_quiet(ctx));
        break;
    default:
        OK(tern_put_strided_with(
            ctx, region, to, &TERN_STRIDED(.dims = 0, .element = len, .local = (void *)(uintptr_t)src, .remote = DATA),
            &TERN_OPTS(.signal = signal, .event = &event)));
        OK(tern_event_wait(&event, TERN_FOREVER));
    }
}

/* Wait for a signal: by each call, and by loads of an ordinary int between calls that make progress. */
static void await(tern_ctx *ctx, struct job_region *r, uint32_t round)
{
    const volatile int *word = (const volatile int *)(const void *)(r->mine + AT);
    tern_event          event;
    uint32_t            seen = 0;

    switch (round % 4) {
    case 0: OK(tern_signal_wait_u32(ctx, r->region, AT, TERN_EQ, round, TERN_FOREVER, &seen)); break;
    case 1:
        while (tern_signal_test_u32(ctx, r->region, AT, TERN_GE, round, &seen) == TERN_PENDING)
            ;
        break;
    case 2:
        OK(tern_signal_event_u32(ctx, r->region, AT, TERN_EQ, round, &event));
        OK(tern_event_wait(&event, TERN_FOREVER));
        seen = round;
        break;
    default:
        while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != (int)round) /* an ordinary int of the program */
            OK(tern_progress(ctx));
        seen = (uint32_t)__atomic_load_n(word, __ATOMIC_RELAXED);
    }
    SAME(seen, round);
}

static uint32_t word_at(const struct job_region *r, unsigned offset)
{
    return __atomic_load_n((const uint32_t *)(const void *)(r->mine + offset), __ATOMIC_ACQUIRE);
}

static void around(tern_ctx *ctx, enum job_kind kind)
{
    int               me = tern_rank(), ranks = tern_size(), right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    unsigned char    *buffer = job_new(LONGEST);
    struct job_region r;
    uint32_t          round = 0, sum = 0xfffffff0u, seen;

    job_region_make(&r, kind, DATA + LONGEST);
    for (unsigned at = AT - 4; at <= COUNT + 4; at += 4)
        memcpy(r.mine + at, &(uint32_t){ at == COUNT ? sum : at == AT ? 0 : 0xabababab }, 4);
    OK(tern_barrier(ctx));
    for (enum form form = 0; form < FORMS; form++)
        for (size_t i = 0; i < LENGTHS; i++) {
            size_t            len = lengths[i];
            const tern_signal set =
                TERN_SIGNAL(.region = r.region, .offset = AT, .bytes = 4, .value = ++round | UINT64_C(7) << 40);
            const tern_signal add =
                TERN_SIGNAL(.region = r.region, .offset = COUNT, .bytes = 4, .value = round, .op = TERN_SIGNAL_ADD);

            job_fill(buffer, len, (unsigned)me, round);
            give(ctx, form, r.region, right, buffer, len, &set);
            await(ctx, &r, round);
            CHECK(job_put_holds(r.mine + DATA, len, (unsigned)left, round));
            give(ctx, form, r.region, right, buffer, 0, &add);
            sum += round; /* wraps around after 4 bytes */
            OK(tern_signal_wait_u32(ctx, r.region, COUNT, TERN_EQ, sum, TERN_FOREVER, &seen));
            SAME(seen, sum);
            for (unsigned at = AT - 4; at <= COUNT + 4; at += 4)
                CHECK(at == AT || at == COUNT || word_at(&r, at) == 0xabababab);
            OK(tern_barrier(ctx));
        }
    job_region_drop(&r);
    free(buffer);
}

static void refusals(void)
{
    int          me = tern_rank();
    uint64_t     word = 0;
    tern_region *region;
    tern_signal  bad;

    OK(tern_region_create(TERN_WORLD, 64, NULL, &region));
    bad = TERN_SIGNAL(.region = region, .offset = 8, .value = 5, .bytes = 2);
    REFUSES(TERN_ERR_ARG, tern_put_signal(TERN_WORLD, region, me, 16, &word, 8, &bad));
    SAYS("tern_put_signal: signal->bytes is 2; a signal has 4 or 8 bytes");
    bad.bytes = 12;
    REFUSES(TERN_ERR_ARG, tern_put_signal(TERN_WORLD, region, me, 16, &word, 8, &bad));
    SAYS("signal->bytes is 12");
    bad.bytes = 8;
    bad.offset = 12;
    REFUSES(TERN_ERR_ARG, tern_put_signal(TERN_WORLD, region, me, 16, &word, 8, &bad));
    SAYS("the word at offset 12 of rank");
    bad.bytes = 4;
    bad.offset = 62;
    REFUSES(TERN_ERR_RANGE, tern_put_signal(TERN_WORLD, region, me, 16, &word, 8, &bad));
    bad.offset = 58;
    REFUSES(TERN_ERR_ARG, tern_put_signal(TERN_WORLD, region, me, 16, &word, 8, &bad));
    SAYS("is not aligned to 4 bytes");
    REFUSES(TERN_ERR_ARG, tern_signal_test_u32(TERN_WORLD, region, 2, TERN_EQ, 0, NULL));
    SAYS("tern_signal_test_u32: the word at offset 2");
    REFUSES(TERN_ERR_RANGE, tern_signal_wait_u32(TERN_WORLD, region, 64, TERN_EQ, 0, TERN_NOW, NULL));
    SAYS("tern_signal_wait_u32: no word at offset 64");
    REFUSES(TERN_ERR_ARG, tern_signal_event_u32(TERN_WORLD, region, 4, TERN_EQ, 0, NULL));
    SAYS("tern_signal_event_u32: event is NULL");
    REFUSES(TERN_ERR_TIMEOUT, tern_signal_wait_u32(TERN_WORLD, region, 4, TERN_GE, 9, tern_deadline_in(0.01), NULL));
    SAYS("tern_signal_wait_u32 waits for the word at offset 4, which is 0, to be >= 9");
    for (uint64_t offset = 0; offset < 64; offset += 8)
        OK(tern_signal_test(TERN_WORLD, region, offset, TERN_EQ, 0, NULL)); /* nothing has changed */
    bad.offset = 60;
    OK(tern_put_signal(TERN_WORLD, region, me, 16, &word, 8, &bad)); /* the last word of the part */
    OK(tern_signal_test_u32(TERN_WORLD, region, 60, TERN_EQ, 5, NULL));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
}

int main(void)
{
    tern_ctx *strict;

    OK(tern_init());
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &strict));
    for (enum job_kind kind = JOB_HOST; kind <= JOB_REGISTERED; kind += JOB_REGISTERED - JOB_HOST) {
        around(TERN_WORLD, kind);
        around(strict, kind);
    }
    OK(tern_ctx_free(strict));
    refusals();
    OK(tern_finalize());
    return 0;
}
