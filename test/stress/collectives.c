/* collectives.c: random sequences of barriers, all-gathers, and creations and frees of regions.
 *
 * Promise: collective calls in any order and of any lengths, on both teams, deliver every rank's bytes and lose none;
 * they also complete with more ranks than cores.
 *
 * All ranks draw from the same random stream, so they make the same calls. The seed is printed on failure; JOB_SEED=n
 * or the first argument sets it.
 *
 * hosts: a:2,b:1 a:2,b:2 a:1,b:2,c:1
 * env: TERN_CMA=off
 * env: TERN_SPIN=0 TERN_YIELDS=0
 * env: TERN_TEST=apart=1 TERN_AM_QUEUE=64K
 * env: TERN_TEST=apart=3 TERN_SPIN=0 TERN_YIELDS=0
 * env: TERN_TEST=apart=2 TERN_ON_FAILURE=return
 * env: TERN_TEST=apart=2 TERN_CHAOS=seed=11
 * env: HWLOC_SYNTHETIC=core:8~pu:1 HWLOC_THISSYSTEM=0 TERN_SPIN=0 TERN_YIELDS=4
 */
#include "job_test.h"

#define LONGEST 20000u
#define REGIONS 5

static struct job_region regions[REGIONS];
static unsigned char    *all, *src;
static tern_ctx         *node;

static void random_gather(uint64_t *seed, unsigned when)
{
    size_t    len = job_random(seed) % (job_random(seed) % 4 == 0 ? LONGEST : 200);
    bool      in_place = job_random(seed) % 2;
    tern_ctx *ctx = job_random(seed) % 2 ? node : TERN_WORLD;
    size_t    me = (size_t)job_me(ctx);

    unsigned char *from = in_place ? all + me * len : src;
    job_fill(from, len, (unsigned)me, when);
    OK(tern_allgather(ctx, from, len, all));
    for (unsigned rank = 0; rank < (unsigned)job_ranks(ctx); rank++)
        HOLDS(all + rank * len, len, rank, when);
}

/* Create or free one of the regions; a new region is zero, and each rank has its own part. */
static void random_region(uint64_t *seed)
{
    struct job_region *r = &regions[job_random(seed) % REGIONS];
    uint64_t           size = 1 + job_random(seed) % 100000;
    enum job_kind      kind = job_random(seed) % JOB_KINDS;

    if (r->region) {
        job_region_drop(r);
        r->region = NULL;
        return;
    }
    job_region_make(r, kind, size);
    CHECK(r->mine[0] == 0 && r->mine[size - 1] == 0);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_put_u8(TERN_WORLD, r->region, (tern_rank() + 1) % tern_size(), size - 1, (uint8_t)(tern_rank() + 1)));
    OK(tern_barrier(TERN_WORLD));
    CHECK(r->mine[size - 1] == (tern_rank() + tern_size() - 1) % tern_size() + 1);
}

/* One rank works at a time while the others wait: with few cores the barrier has to let it run. */
static void token_ring(uint64_t *seed)
{
    int turns = (int)(job_random(seed) % 8);

    for (int i = 0; i < turns; i++) {
        if (tern_rank() == i % tern_size())
            job_fill(src, LONGEST, 1, 1);
        OK(tern_barrier(i % 2 ? node : TERN_WORLD));
    }
}

static void choose_seed(int argc, char **argv, uint64_t *seed)
{
    static char note[64];
    const char *given = argc > 1 ? argv[1] : getenv("JOB_SEED");
    uint64_t    mine = given ? strtoull(given, NULL, 0) : (uint64_t)tern_clock(), seeds[64];

    OK(tern_allgather(TERN_WORLD, &mine, sizeof(mine), seeds));
    snprintf(note, sizeof(note), "[seed %llu]", (unsigned long long)seeds[0]);
    job_note = note;
    *seed = seeds[0] * 2654435761u + 1;
}

int main(int argc, char **argv)
{
    uint64_t seed;

    OK(tern_init());
    choose_seed(argc, argv, &seed);
    all = job_new((size_t)tern_size() * LONGEST);
    src = job_new(LONGEST);
    OK(tern_ctx_create(tern_team_node(), TERN_RELAXED, &node));
    for (unsigned i = 0; i < (JOB_SANITIZED ? 150 : 600); i++) {
        switch (job_random(&seed) % 8) {
        case 0: random_region(&seed); break;
        case 1: token_ring(&seed); break;
        case 2:
        case 3: OK(tern_barrier(job_random(&seed) % 2 ? node : TERN_WORLD)); break;
        default: random_gather(&seed, i);
        }
    }
    for (int i = 0; i < REGIONS; i++)
        if (regions[i].region)
            job_region_drop(&regions[i]);
    OK(tern_ctx_free(node));
    OK(tern_finalize());
    free(all);
    free(src);
    return 0;
}
