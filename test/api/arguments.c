/* arguments.c: every documented refusal of the calls that move data.
 *
 * Promise: a bad rank, offset, length, pointer or flag gets the documented status in every form and every kind of
 * memory, and changes nothing: neither the target, nor the destination, nor an event.
 *
 * env: TERN_CMA=off
 */
#include "job_test.h"

#define SIZE 8192u
#define NOT_AN_EVENT ((struct tern_pending *)(uintptr_t)0xabcd0)

static unsigned char local[2 * SIZE];

/* Make one wrong call in all forms; each must return the status want. */
static void all_forms(tern_ctx *ctx, tern_region *region, int rank, uint64_t offset, size_t len, tern_status want)
{
    tern_event event = { NOT_AN_EVENT }, near = { NOT_AN_EVENT };
    tern_opts  opts = TERN_OPTS(.flags = 0, .local = &near, .event = &event);

    RETURNS(want, tern_put(ctx, region, rank, offset, local, len));
    CHECK(tern_error_detail()[0] != '\0');
    RETURNS(want, tern_get(ctx, region, rank, offset, local, len));
    RETURNS(want, tern_put_nb(ctx, region, rank, offset, local, len, &event));
    RETURNS(want, tern_get_nb(ctx, region, rank, offset, local, len, &event));
    RETURNS(want, tern_put_nbi(ctx, region, rank, offset, local, len));
    RETURNS(want, tern_get_nbi(ctx, region, rank, offset, local, len));
    RETURNS(want, tern_put_with(ctx, region, rank, offset, local, len, &opts));
    RETURNS(want, tern_get_with(ctx, region, rank, offset, local, len, &opts));
    RETURNS(want, tern_put_with(ctx, region, rank, offset, local, len, NULL));
    RETURNS(want, tern_get_with(ctx, region, rank, offset, local, len, NULL));
    RETURNS(want, tern_inline_put(ctx, region, rank, offset, local, len, "tern_put"));
    RETURNS(want, tern_inline_get(ctx, region, rank, offset, local, len, "tern_get"));
    CHECK(event.pending == NOT_AN_EVENT && near.pending == NOT_AN_EVENT);
    CHECK(tern_direct(ctx, region, rank, offset, len) == NULL);
}

static void values(tern_ctx *ctx, tern_region *region, int rank, uint64_t end, tern_status want)
{
    uint8_t  a = 1;
    uint16_t b = 2;
    uint32_t c = 3;
    uint64_t d = 4;

    RETURNS(want, tern_put_u8(ctx, region, rank, end, 9));
    RETURNS(want, tern_put_u16(ctx, region, rank, end - 1, 9));
    RETURNS(want, tern_put_u32(ctx, region, rank, end - 3, 9));
    RETURNS(want, tern_put_u64(ctx, region, rank, end - 7, 9));
    RETURNS(want, tern_get_u8(ctx, region, rank, end, &a));
    RETURNS(want, tern_get_u16(ctx, region, rank, end - 1, &b));
    RETURNS(want, tern_get_u32(ctx, region, rank, end - 3, &c));
    RETURNS(want, tern_get_u64(ctx, region, rank, end - 7, &d));
    CHECK(a == 1 && b == 2 && c == 3 && d == 4);
}

static void ranks_and_ranges(tern_ctx *ctx, tern_region *region)
{
    static const uint64_t far[] = { SIZE,           SIZE + 1,  1ull << 32, 1ull << 63, UINT64_MAX - SIZE,
                                    UINT64_MAX - 1, UINT64_MAX };
    const int             wrong[] = { -1, tern_size(), tern_size() + 1, INT_MAX, INT_MIN };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        all_forms(ctx, region, wrong[i], 0, 1, TERN_ERR_RANGE);
        all_forms(ctx, region, wrong[i], 0, 0, TERN_ERR_RANGE); /* also when there is nothing to do */
        values(ctx, region, wrong[i], 8, TERN_ERR_RANGE);
        CHECK(tern_region_ptr(region, wrong[i]) == NULL);
        CHECK(tern_region_size(region, wrong[i]) == 0);
        CHECK(strcmp(tern_region_path(region, wrong[i]), "none") == 0);
    }
    for (int rank = 0; rank < tern_size(); rank++) {
        for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
            all_forms(ctx, region, rank, far[i], 1, TERN_ERR_RANGE);
            values(ctx, region, rank, far[i], TERN_ERR_RANGE);
            all_forms(ctx, region, rank, 1, far[i], TERN_ERR_RANGE);
            all_forms(ctx, region, rank, far[i], SIZE_MAX - far[i] + 1 + SIZE / 2, TERN_ERR_RANGE); /* wraps */
            if (far[i] > SIZE)
                all_forms(ctx, region, rank, far[i], 0, TERN_ERR_RANGE);
        }
        all_forms(ctx, region, rank, SIZE - 1, 2, TERN_ERR_RANGE);
        all_forms(ctx, region, rank, 0, SIZE + 1, TERN_ERR_RANGE);
    }
}

static void nothing_at_the_end(tern_ctx *ctx, tern_region *region)
{
    tern_event event = { NOT_AN_EVENT }, near = { NOT_AN_EVENT };
    tern_opts  opts = TERN_OPTS(.flags = TERN_IMMEDIATE, .local = &near, .event = &event);

    for (int rank = 0; rank < tern_size(); rank++) {
        for (uint64_t offset = 0; offset <= SIZE; offset += SIZE / 2) {
            OK(tern_put(ctx, region, rank, offset, local, 0));
            OK(tern_get(ctx, region, rank, offset, local, 0));
            OK(tern_put_nb(ctx, region, rank, offset, local, 0, &event));
            CHECK(event.pending == NULL);
            OK(tern_put_with(ctx, region, rank, offset, local, 0, &opts));
            CHECK(event.pending == NULL && near.pending == NULL);
            near.pending = event.pending = NOT_AN_EVENT;
            OK(tern_get_with(ctx, region, rank, offset, local, 0, &opts));
            CHECK(event.pending == NULL && near.pending == NULL);
            OK(tern_put_nbi(ctx, region, rank, offset, local, 0));
            OK(tern_get_nbi(ctx, region, rank, offset, local, 0));
        }
    }
}

static void pointers_and_flags(tern_ctx *ctx, tern_region *region)
{
    static const uint32_t bad[] = { 0x4u, 0x8u, 0x80000000u, 0xffffffffu, TERN_IMMEDIATE | 0x40u, TERN_COUNT_BYTES };
    tern_event            event = { NOT_AN_EVENT };

    all_forms(NULL, region, 0, 0, 1, TERN_ERR_ARG);
    all_forms(ctx, NULL, 0, 0, 1, TERN_ERR_ARG);
    values(NULL, region, 0, 8, TERN_ERR_ARG);
    values(ctx, NULL, 0, 8, TERN_ERR_ARG);
    for (int rank = 0; rank < tern_size(); rank++) {
        RETURNS(TERN_ERR_ARG, tern_put(ctx, region, rank, 0, NULL, 1));
        RETURNS(TERN_ERR_ARG, tern_get(ctx, region, rank, 0, NULL, 1));
        RETURNS(TERN_ERR_ARG, tern_put_nb(ctx, region, rank, 0, NULL, 1, &event));
        RETURNS(TERN_ERR_ARG, tern_get_nb(ctx, region, rank, 0, NULL, 1, &event));
        RETURNS(TERN_ERR_ARG, tern_put_nbi(ctx, region, rank, 0, NULL, 1));
        RETURNS(TERN_ERR_ARG, tern_get_nbi(ctx, region, rank, 0, NULL, 1));
        RETURNS(TERN_ERR_ARG, tern_put_nb(ctx, region, rank, 0, local, 1, NULL));
        RETURNS(TERN_ERR_ARG, tern_get_nb(ctx, region, rank, 0, local, 1, NULL));
        RETURNS(TERN_ERR_ARG, tern_get_u8(ctx, region, rank, 0, NULL));
        RETURNS(TERN_ERR_ARG, tern_get_u16(ctx, region, rank, 0, NULL));
        RETURNS(TERN_ERR_ARG, tern_get_u32(ctx, region, rank, 0, NULL));
        RETURNS(TERN_ERR_ARG, tern_get_u64(ctx, region, rank, 0, NULL));
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
            tern_opts opts = TERN_OPTS(.flags = bad[i], .local = NULL, .event = &event);
            RETURNS(TERN_ERR_ARG, tern_put_with(ctx, region, rank, 0, local, 1, &opts));
            RETURNS(TERN_ERR_ARG, tern_get_with(ctx, region, rank, 0, local, 1, &opts));
        }
        RETURNS(TERN_ERR_ARG, tern_put_with(ctx, region, rank, 0, local, 1,
                                            &TERN_OPTS(.flags = TERN_WANT_EVENT, .local = NULL, .event = NULL)));
    }
    CHECK(event.pending == NOT_AN_EVENT);
}

int main(void)
{
    OK(tern_init());
    for (int kind = 0; kind < JOB_KINDS; kind++) {
        struct job_region r;
        tern_ctx         *strict;

        job_region_make(&r, (enum job_kind)kind, SIZE);
        memset(r.mine, 0x5a, SIZE);
        memset(local, 0xa5, sizeof(local));
        OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &strict));
        OK(tern_barrier(TERN_WORLD));
        ranks_and_ranges(TERN_WORLD, r.region);
        ranks_and_ranges(strict, r.region);
        pointers_and_flags(TERN_WORLD, r.region);
        pointers_and_flags(strict, r.region);
        nothing_at_the_end(TERN_WORLD, r.region);
        nothing_at_the_end(strict, r.region);
        OK(tern_quiet(strict)); /* nothing was started, so nothing failed later */
        OK(tern_barrier(TERN_WORLD));
        ALL_ARE(r.mine, SIZE, 0x5a);
        ALL_ARE(local, sizeof(local), 0xa5);
        OK(tern_ctx_free(strict));
        job_region_drop(&r);
    }
    OK(tern_finalize());
    return 0;
}
