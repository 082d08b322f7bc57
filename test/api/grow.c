/* grow.c: parts of different sizes, and regions that grow.
 *
 * Promise: with opts->each, every rank chooses the size of its part, also 0. A region with a reserve grows in place:
 * its addresses and contents stay, the new bytes are zero and can be used by every call; a file grows with its part. A
 * region that cannot grow is unchanged on all ranks, and all ranks get the same error.
 *
 * env: TERN_CMA=off
 * env: TERN_TEST=apart=1
 */
#include "job_test.h"

#define RESERVE (8ull << 20)
#define LARGE \
    (JOB_TSAN ? 37 : 40) /* 2 to this power is more than the memory of a machine, but not of an address space */

/* The part of each rank is 1000 bytes times its rank, so that rank 0 has none. */
static void different_sizes(tern_ctx *ctx, tern_memory memory)
{
    int              me = job_me(ctx), size = job_ranks(ctx), right = (me + 1) % size;
    uint64_t         mine = (uint64_t)me * 1000, there = (uint64_t)right * 1000;
    tern_region_opts opts = TERN_REGION_OPTS(.memory = memory, .each = 1);
    tern_region     *region;
    unsigned char    bytes[1000];

    OK(tern_region_create(ctx, mine, &opts, &region));
    for (int rank = 0; rank < size; rank++)
        SAME(tern_region_size(region, rank), (uint64_t)rank * 1000);
    CHECK((tern_region_ptr(region, me) == NULL) == (mine == 0));
    CHECK((strcmp(tern_region_path(region, right), "none") == 0) == (there == 0));
    RETURNS(TERN_ERR_RANGE, tern_put_u8(ctx, region, right, there, 1));
    OK(tern_put(ctx, region, right, there, bytes, 0));
    OK(tern_barrier(ctx));
    if (there > 0) {
        job_fill(bytes, sizeof(bytes), (unsigned)me, 1);
        OK(tern_put(ctx, region, right, there - sizeof(bytes), bytes, sizeof(bytes)));
    }
    OK(tern_barrier(ctx));
    if (mine > 0)
        HOLDS((unsigned char *)tern_region_ptr(region, me) + mine - sizeof(bytes), sizeof(bytes),
              (unsigned)((me + size - 1) % size), 1);
    OK(tern_barrier(ctx));
    OK(tern_region_free(region));
}

/* All parts are empty. */
static void nothing(void)
{
    tern_region_opts opts = TERN_REGION_OPTS(.each = 1);
    tern_region     *region;

    OK(tern_region_create(TERN_WORLD, 0, &opts, &region));
    CHECK(tern_region_ptr(region, tern_rank()) == NULL);
    RETURNS(TERN_ERR_RANGE, tern_put_u8(TERN_WORLD, region, 0, 0, 1));
    RETURNS(TERN_ERR_RANGE, tern_region_grow(region, 1));
    OK(tern_region_free(region));
}

/* Use the last bytes of a part in each manner. */
static void use_end(tern_ctx *ctx, tern_region *region, int rank, uint64_t end)
{
    unsigned char     bytes[64], back[64];
    uint64_t          at = end - 64, old = 7;
    const tern_piece  piece = { bytes, 64 };
    const tern_extent extent = { at, 64 };
    int32_t           one = 1;

    job_fill(bytes, sizeof(bytes), (unsigned)job_me(ctx), 2);
    OK(tern_put(ctx, region, rank, at, bytes, sizeof(bytes)));
    OK(tern_get(ctx, region, rank, at, back, sizeof(back)));
    CHECK(memcmp(bytes, back, sizeof(bytes)) == 0);
    job_fill(bytes, sizeof(bytes), (unsigned)job_me(ctx), 3);
    OK(tern_put_vector(ctx, region, rank,
                       &TERN_VECTOR(.local = &piece, .local_count = 1, .remote = &extent, .remote_count = 1)));
    OK(tern_get(ctx, region, rank, at, back, sizeof(back)));
    CHECK(memcmp(bytes, back, sizeof(bytes)) == 0);
    memset(bytes, 0, sizeof(bytes));
    OK(tern_put(ctx, region, rank, at, bytes, sizeof(bytes)));
    OK(tern_fadd(ctx, region, rank, end - 8, 5, &old));
    SAME(old, 0);
    OK(tern_acc(ctx, region, rank, end - 16, &one, sizeof(one), &TERN_ACC_ARGS(.type = TERN_INT32, .op = TERN_SUM)));
    OK(tern_get(ctx, region, rank, end - 16, &one, sizeof(one)));
    SAME(one, 1);
    OK(tern_put(ctx, region, rank, at, bytes, sizeof(bytes)));
    RETURNS(TERN_ERR_RANGE, tern_put(ctx, region, rank, end - 63, bytes, sizeof(bytes)));
    RETURNS(TERN_ERR_RANGE, tern_put_u8(ctx, region, rank, end, 1));
}

/* The length of the file that is the part of this rank. */
static uint64_t file_bytes(const char *path, int me)
{
    char        name[80];
    struct stat about;

    snprintf(name, sizeof(name), "%s.%d", path, me);
    CHECK(stat(name, &about) == 0);
    return (uint64_t)about.st_size;
}

/* Grow from `first` bytes, in steps that differ from rank to rank. */
static void grows(tern_ctx *ctx, tern_memory memory, uint64_t first)
{
    static const uint64_t steps[] = { 64, 4096, 100000, 1 << 20, RESERVE };
    int                   me = job_me(ctx), size = job_ranks(ctx), right = (me + 1) % size;
    char                  path[64];
    tern_region_opts      opts = TERN_REGION_OPTS(.memory = memory, .reserve = RESERVE);
    tern_region          *region, *found;
    unsigned char        *mine;
    uint64_t              offset;

    if (memory == TERN_MEMORY_FILE) {
        job_file_name(path, sizeof(path), 1);
        opts.path = path;
    }
    OK(tern_region_create(ctx, first, &opts, &region));
    mine = tern_region_ptr(region, me);
    CHECK(mine != NULL);
    memset(mine, 77, first);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        uint64_t now = steps[i] == RESERVE || me % 2 == 0 ? steps[i] : steps[i] + 64,
                 there = steps[i] == RESERVE || right % 2 == 0 ? steps[i] : steps[i] + 64;

        if (steps[i] < first) /* parts do not shrink */
            continue;
        OK(tern_region_grow(region, now));
        SAME(tern_region_size(region, right), there);
        if (memory == TERN_MEMORY_FILE)
            SAME(file_bytes(path, me), now);
        CHECK(tern_region_ptr(region, me) == mine);
        ALL_ARE(mine, first, 77);
        ALL_ARE(mine + (first > 64 ? first : 64), now - (first > 64 ? first : 64), 0);
        OK(tern_region_find(ctx, me, mine + now - 1, &found, &offset));
        CHECK(found == region && offset == now - 1);
        OK(tern_barrier(ctx));
        if (there > first + 128)
            use_end(ctx, region, right, there);
        OK(tern_barrier(ctx));
    }
    OK(tern_region_grow(region, RESERVE)); /* nothing to do */
    OK(tern_region_free(region));
    if (memory == TERN_MEMORY_FILE) {
        char name[80];
        snprintf(name, sizeof(name), "%s.%d", path, me);
        unlink(name);
    }
}

/* Errors: all ranks get them, and the region is unchanged. */
static void cannot_grow(void)
{
    int              me = tern_rank(), last = tern_size() - 1;
    tern_region_opts opts = TERN_REGION_OPTS(.reserve = 10);
    tern_region     *region, *other, *none = NULL;
    unsigned char   *mine, byte = 5;
    uint64_t         bytes;
    static char      memory[64];

    RETURNS(TERN_ERR_ARG, tern_region_grow(NULL, 1));
    RETURNS(TERN_ERR_ARG, tern_region_create(TERN_WORLD, 4096, &opts, &none));
    SAYS("reserve");
    opts = TERN_REGION_OPTS(.each = 2);
    RETURNS(TERN_ERR_ARG, tern_region_create(TERN_WORLD, 4096, &opts, &none));
    opts = TERN_REGION_OPTS(.reserve = UINT64_MAX);
    RETURNS(TERN_ERR_NOMEM, tern_region_create(TERN_WORLD, 4096, &opts, &none));
    opts = TERN_REGION_OPTS(.reserve = 1ull << LARGE); /* more than the machine has: it is only address space */
    OK(tern_region_create(TERN_WORLD, 4096, &opts, &region));
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &other));
    mine = tern_region_ptr(region, me);
    memset(mine, 9, 4096);
    OK(tern_barrier(TERN_WORLD));
    bytes = job_arena_bytes();
    RETURNS(TERN_ERR_NOMEM, tern_region_grow(region, me == last ? 1ull << (LARGE - 1) : 8192));
    SAYS("tern_region_grow");
    SAYS("needs");
    RETURNS(TERN_ERR_RANGE, tern_region_grow(region, me == last ? 1ull << (LARGE + 1) : 8192));
    SAYS("reserve");
    RETURNS(TERN_ERR_ARG, tern_region_grow(region, me == last ? 4095 : 8192));
    SAYS("shrink");
    RETURNS(TERN_ERR_RANGE, tern_region_grow(other, 4097));
    if (last > 0)
        RETURNS(TERN_ERR_ARG, tern_region_grow(me == last ? other : region, 4096));
    SAME(tern_region_size(region, last), 4096);
    OK(tern_barrier(TERN_WORLD));
    SAME(job_arena_bytes(), bytes);
    ALL_ARE(mine, 4096, 9);
    RETURNS(TERN_ERR_RANGE, tern_put(TERN_WORLD, region, last, 4096, &byte, 1));
    OK(tern_region_grow(region, 4097)); /* it still can */
    OK(tern_put(TERN_WORLD, region, last, 4096, &byte, 1));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_region_free(region));
    RETURNS(TERN_ERR_STATE, tern_region_grow(region, 5000));
    OK(tern_region_free(other));
    OK(tern_region_register(TERN_WORLD, memory, sizeof(memory), &region));
    RETURNS(TERN_ERR_ARG, tern_region_grow(region, sizeof(memory)));
    OK(tern_region_free(region));
}

/* A seeded stream of growth, puts and gets against a model: every rank knows what every byte contains. */
static void model(void)
{
    enum { ROUNDS = 40, MOST = 1 << 16 };
    int              me = tern_rank(), size = tern_size();
    uint64_t         seed = job_seed(2101), had[64] = { 0 };
    tern_region_opts opts = TERN_REGION_OPTS(.reserve = MOST, .each = 1);
    unsigned char   *memory = job_new((size_t)size * MOST), *back = job_new(MOST);
    tern_region     *region;

    CHECK(size <= 64);
    OK(tern_region_create(TERN_WORLD, 0, &opts, &region));
    for (unsigned round = 0; round < ROUNDS; round++) {
        int      rank = (int)(job_random(&seed) % (uint64_t)size), writer = (int)(job_random(&seed) % (uint64_t)size);
        uint64_t space = MOST - had[rank], more = job_random(&seed) % (space / 4 + 1);

        if (job_random(&seed) % 3 == 0) {
            had[rank] += more;
            OK(tern_region_grow(region, had[me]));
        }
        if (had[rank] > 0) {
            uint64_t       at = job_random(&seed) % had[rank], len = job_random(&seed) % (had[rank] - at) + 1;
            unsigned char *model = memory + (size_t)rank * MOST;

            job_fill(model + at, len, (unsigned)writer, round);
            if (me == writer)
                OK(tern_put(TERN_WORLD, region, rank, at, model + at, len));
            OK(tern_barrier(TERN_WORLD));
            OK(tern_get(TERN_WORLD, region, rank, 0, back, had[rank]));
            CHECK(memcmp(back, model, had[rank]) == 0);
            OK(tern_barrier(TERN_WORLD));
        }
    }
    OK(tern_region_free(region));
    free(memory);
    free(back);
}

int main(void)
{
    tern_ctx *node;

    OK(tern_init());
    OK(tern_ctx_create(tern_team_node(), TERN_RELAXED, &node));
    for (int memory = TERN_MEMORY_HOST; memory <= TERN_MEMORY_HUGE; memory++) {
        different_sizes(TERN_WORLD, (tern_memory)memory);
        different_sizes(node, (tern_memory)memory);
        grows(TERN_WORLD, (tern_memory)memory, 0);
        grows(node, (tern_memory)memory, 4096);
    }
    grows(TERN_WORLD, TERN_MEMORY_FILE, 100);
    nothing();
    cannot_grow();
    model();
    OK(tern_finalize());
    return 0;
}
