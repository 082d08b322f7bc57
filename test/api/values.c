/* values.c: puts and gets of one value of every arithmetic type.
 *
 * Promise: tern_put_value stores a value of its own type and size, at any alignment, and changes nothing beside it;
 * tern_get_value loads it; both on relaxed and strict contexts, on memory of every kind, over every path. The functions
 * of a fixed size do the same. An error names the call of the program.
 *
 * ranks: 1 2 4
 * env: TERN_CMA=off
 */
#include <complex.h>

#include "job_test.h"

#define SPAN 128u /* bytes of a part that one rank uses; the value is in the middle */
#define AT 48u

struct where {
    tern_ctx    *ctx;
    tern_region *region;
    int          rank;
    uint64_t     offset; /* of the value */
};

static unsigned char before[SPAN];

static void prepare(const struct where *w)
{
    memset(before, 0xc3, SPAN);
    OK(tern_put(w->ctx, w->region, w->rank, w->offset - AT, before, SPAN));
}

/* Check that only len bytes have changed. */
static void check_around(const struct where *w, size_t len)
{
    unsigned char after[SPAN];

    OK(tern_get(w->ctx, w->region, w->rank, w->offset - AT, after, SPAN));
    memcpy(before + AT, after + AT, len);
    CHECK(memcmp(before, after, SPAN) == 0);
}

#define ONE(type, ...)                                                                        \
    do {                                                                                      \
        const type values[] = { __VA_ARGS__ };                                                \
                                                                                              \
        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {                     \
            type got = 0, in_place = 0;                                                       \
                                                                                              \
            prepare(w);                                                                       \
            OK(tern_put_value(w->ctx, w->region, w->rank, w->offset, values[i]));             \
            OK(tern_get_value(w->ctx, w->region, w->rank, w->offset, &got));                  \
            CHECK(got == values[i]);                                                          \
            OK(tern_get(w->ctx, w->region, w->rank, w->offset, &in_place, sizeof(in_place))); \
            CHECK(in_place == values[i]);                                                     \
            check_around(w, sizeof(type));                                                    \
        }                                                                                     \
    } while (0)

static void integers(const struct where *w)
{
    ONE(bool, true, false);
    ONE(char, 'x', CHAR_MIN, CHAR_MAX);
    ONE(signed char, -1, SCHAR_MIN, SCHAR_MAX);
    ONE(unsigned char, 0, 1, UCHAR_MAX);
    ONE(short, -1, SHRT_MIN, SHRT_MAX);
    ONE(unsigned short, 0, 0x1234, USHRT_MAX);
    ONE(int, -1, INT_MIN, INT_MAX);
    ONE(unsigned int, 0, 0x12345678, UINT_MAX);
    ONE(long, -1, LONG_MIN, LONG_MAX);
    ONE(unsigned long, 0, 1ul << 31, ULONG_MAX);
    ONE(long long, -1, LLONG_MIN, LLONG_MAX);
    ONE(unsigned long long, 0, 0x123456789abcdef0ull, ULLONG_MAX);
    ONE(int8_t, -7);
    ONE(uint8_t, 200);
    ONE(int16_t, -700);
    ONE(uint16_t, 60000);
    ONE(int32_t, -70000);
    ONE(uint32_t, 4000000000u);
    ONE(int64_t, -(1ll << 40));
    ONE(uint64_t, 1ull << 63);
    ONE(size_t, SIZE_MAX);
}

static void numbers(const struct where *w)
{
    ONE(float, 0.1f, -3e38f, 0);
    ONE(double, 0.1, -1e300, 0);
    ONE(long double, 0.1l, -1e4000l, 0);
    ONE(float complex, 0.5f - 2.0f * I, 0);
    ONE(double complex, 0.1 + 3 * I, 0);
    ONE(long double complex, 1e4000l - 0.1l * I, 0);
}

/* The type of an expression counts, not that of the memory. */
static void constants(const struct where *w)
{
    uint64_t word = 0;

    prepare(w);
    OK(tern_put_value(w->ctx, w->region, w->rank, w->offset, (uint64_t)0));
    OK(tern_put_value(w->ctx, w->region, w->rank, w->offset, -1));
    OK(tern_get_value(w->ctx, w->region, w->rank, w->offset, &word));
    SAME(word, UINT32_MAX);
    OK(tern_put_value(w->ctx, w->region, w->rank, w->offset + 4, (uint16_t)7));
    OK(tern_get_u64(w->ctx, w->region, w->rank, w->offset, &word));
    SAME(word, UINT32_MAX | 7ull << 32);
    check_around(w, 8);
}

#define SIZED(bits)                                                          \
    do {                                                                     \
        uint##bits##_t put = (uint##bits##_t)0xfedcba9876543210ull, got = 0; \
                                                                             \
        prepare(w);                                                          \
        OK(tern_put_u##bits(w->ctx, w->region, w->rank, w->offset, put));    \
        OK(tern_get_u##bits(w->ctx, w->region, w->rank, w->offset, &got));   \
        SAME(got, put);                                                      \
        check_around(w, sizeof(put));                                        \
    } while (0)

static void sizes(const struct where *w)
{
    SIZED(8);
    SIZED(16);
    SIZED(32);
    SIZED(64);
}

static void refusals(const struct where *w)
{
    uint64_t size = tern_region_size(w->region, job_world(w->ctx, w->rank));
    double   value = 7;
    uint64_t word = 7;

    prepare(w);
    REFUSES(TERN_ERR_RANGE, tern_put_value(w->ctx, w->region, w->rank, size - 7, 1.0));
    REFUSES(TERN_ERR_RANGE, tern_put_value(w->ctx, w->region, tern_size(), 0, 1.0f));
    REFUSES(TERN_ERR_RANGE, tern_get_value(w->ctx, w->region, w->rank, size - 7, &value));
    REFUSES(TERN_ERR_ARG, tern_get_value(w->ctx, w->region, w->rank, 0, (double *)NULL));
    REFUSES(TERN_ERR_ARG, tern_put_value(w->ctx, NULL, w->rank, 0, 1));
    REFUSES(TERN_ERR_ARG, tern_put_value(NULL, w->region, w->rank, 0, 1));
    REFUSES(TERN_ERR_RANGE, tern_put_u64(w->ctx, w->region, w->rank, size - 7, 1));
    REFUSES(TERN_ERR_RANGE, tern_get_u64(w->ctx, w->region, w->rank, size - 7, &word));
    CHECK(value == 7 && word == 7);
    check_around(w, 0);
}

static void all_values(tern_ctx *ctx, const struct job_region *r)
{
    for (int step = 0; step < 2; step++)
        for (uint64_t shift = 0; shift < 4; shift += 3) { /* aligned, and not */
            struct where w = { .ctx = ctx,
                               .region = r->region,
                               .rank = (tern_rank() + step) % tern_size(),
                               .offset = SPAN * (uint64_t)tern_rank() + AT + shift };

            integers(&w);
            numbers(&w);
            constants(&w);
            sizes(&w);
            refusals(&w);
            OK(tern_barrier(ctx));
        }
}

int main(void)
{
    struct job_region r;
    tern_ctx         *strict;

    OK(tern_init());
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &strict));
    for (enum job_kind kind = JOB_HOST; kind <= JOB_REGISTERED; kind += JOB_REGISTERED - JOB_HOST) {
        job_region_make(&r, kind, ((uint64_t)tern_size() + 1) * SPAN);
        OK(tern_barrier(TERN_WORLD));
        all_values(TERN_WORLD, &r);
        all_values(strict, &r);
        job_region_drop(&r);
    }
    OK(tern_ctx_free(strict));
    OK(tern_finalize());
    return 0;
}
