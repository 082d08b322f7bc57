/* race.c: a race that relaxed ordering permits, and that chaos exposes: docs/chaos.md explains how to find it.
 *
 *     ternrun -n 3 race [relaxed|strict|fence]
 *
 * A datum is stored at its home, the last rank. Rank 0 gets the datum, adds one, puts it back and sets a flag, which
 * is also stored at home. Rank 1 waits for the flag and gets the datum. With relaxed ordering the flag may be
 * delivered before the datum, and rank 1 then reads the old value. A strict context keeps the operations to one rank
 * in order; so does a tern_fence between the two puts. The steps have the numbers of the ordering paper, figure 7.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <tern.h>

#define CHECK(call)                             \
    do {                                        \
        if ((call) != TERN_OK)                  \
            tern_abort(1, tern_error_detail()); \
    } while (0)

enum { DATUM = 0, FLAG = 64 }; /* offsets in the home's part */

#define ROUNDS 1000u

/* Rank 0: put a new value, then the flag that announces it. */
static void update(tern_ctx *ctx, tern_region *region, int home, uint64_t round, bool fence)
{
    uint64_t datum;

    CHECK(tern_get_value(ctx, region, home, DATUM, &datum));              /* 01 */
    datum++;                                                              /* 02 */
    CHECK(tern_put_nbi(ctx, region, home, DATUM, &datum, sizeof(datum))); /* 03 */
    if (fence)
        CHECK(tern_fence(ctx));
    CHECK(tern_put_nbi(ctx, region, home, FLAG, &round, sizeof(round))); /* 04 */
    CHECK(tern_quiet(ctx));
}

/* Rank 1: wait for the flag, then get the datum. Returns whether the datum was the old value. */
static bool read_stale(tern_ctx *ctx, tern_region *region, int home, uint64_t round)
{
    uint64_t flag, datum;

    do
        CHECK(tern_get_value(ctx, region, home, FLAG, &flag)); /* 11 */
    while (flag < round);
    CHECK(tern_get_value(ctx, region, home, DATUM, &datum)); /* 12 */
    return datum != round;                                   /* 13 */
}

int main(int argc, char **argv)
{
    const char  *how = argc > 1 ? argv[1] : "relaxed";
    bool         strict = strcmp(how, "strict") == 0, fence = strcmp(how, "fence") == 0;
    unsigned     stale = 0;
    tern_region *region;
    tern_ctx    *ctx;

    CHECK(tern_init());
    if (tern_size() < 2 || (!strict && !fence && strcmp(how, "relaxed") != 0))
        tern_abort(2, "usage: ternrun -n 3 race [relaxed|strict|fence]");
    CHECK(tern_ctx_create(tern_team_world(), strict ? TERN_STRICT : TERN_RELAXED, &ctx));
    CHECK(tern_region_create(ctx, 128, NULL, &region));
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (tern_rank() == 0)
            update(ctx, region, tern_size() - 1, round, fence);
        else if (tern_rank() == 1)
            stale += read_stale(ctx, region, tern_size() - 1, round);
        CHECK(tern_barrier(ctx));
    }
    if (tern_rank() == 1)
        printf("%s: in %u of %u rounds the flag was there before the datum\n", how, stale, ROUNDS);
    CHECK(tern_region_free(region));
    CHECK(tern_ctx_free(ctx));
    CHECK(tern_finalize());
    return stale > 0;
}
