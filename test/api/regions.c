/* regions.c: creating, querying and freeing regions, and the errors.
 *
 * Promise: a region exists on all ranks or on none; every creation error is the same on all ranks, with a text that
 * names the rank and its request; new memory is zero; sizes, pointers and paths are those of the contract.
 *
 * providers: net sockets shm
 * env: TERN_CMA=off
 * env: TERN_TEST=apart=1
 */
#include <fcntl.h>

#include "job_test.h"

static void local_errors(void)
{
    tern_region           *none = NULL;
    const tern_region_opts bad[] = {
        TERN_REGION_OPTS(.memory = (tern_memory)3),
        TERN_REGION_OPTS(.memory = (tern_memory)-1),
        TERN_REGION_OPTS(.memory = TERN_MEMORY_FILE),
        TERN_REGION_OPTS(.memory = TERN_MEMORY_FILE, .path = ""),
        TERN_REGION_OPTS(.memory = TERN_MEMORY_HOST, .path = "/tmp/x"),
        TERN_REGION_OPTS(.memory = TERN_MEMORY_HUGE, .path = "/tmp/x"),
    };

    RETURNS(TERN_ERR_ARG, tern_region_create(NULL, 1, NULL, &none));
    RETURNS(TERN_ERR_ARG, tern_region_create(TERN_WORLD, 1, NULL, NULL));
    RETURNS(TERN_ERR_ARG, tern_region_create(TERN_WORLD, 0, NULL, &none));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        RETURNS(TERN_ERR_ARG, tern_region_create(TERN_WORLD, 1, &bad[i], &none));
    RETURNS(TERN_ERR_ARG, tern_region_register(NULL, &none, 1, &none));
    RETURNS(TERN_ERR_ARG, tern_region_register(TERN_WORLD, &none, 1, NULL));
    RETURNS(TERN_ERR_ARG, tern_region_register(TERN_WORLD, NULL, 1, &none));
    RETURNS(TERN_ERR_ARG, tern_region_register(TERN_WORLD, &none, UINT64_MAX, &none));
    RETURNS(TERN_ERR_ARG, tern_region_free(NULL));
    CHECK(none == NULL);
}

/* Check that all ranks have returned from the same call. */
static void together(int round)
{
    int all[64];

    OK(tern_allgather(TERN_WORLD, &round, sizeof(round), all));
    for (int rank = 0; rank < tern_size(); rank++)
        CHECK(all[rank] == round);
}

/* Only one rank makes a mistake: all get the same error. */
static void one_is_wrong(void)
{
    tern_region     *none = NULL;
    tern_region_opts huge = TERN_REGION_OPTS(.memory = TERN_MEMORY_HUGE),
                     nonsense = TERN_REGION_OPTS(.memory = (tern_memory)9);
    int      me = tern_rank(), size = tern_size();
    uint64_t bytes = job_arena_bytes();

    for (int odd = 0; odd < size && size > 1; odd++) {
        bool it = me == odd;
        RETURNS(TERN_ERR_ARG, tern_region_create(TERN_WORLD, it ? 100000 : 200000, NULL, &none));
        SAYS("bytes");
        SAYS("100000");
        together(1);
        RETURNS(TERN_ERR_ARG, tern_region_create(TERN_WORLD, it ? 0 : 4096, NULL, &none));
        together(2);
        RETURNS(TERN_ERR_ARG, tern_region_create(TERN_WORLD, 4096, it ? &huge : NULL, &none));
        together(3);
        RETURNS(TERN_ERR_ARG, tern_region_create(TERN_WORLD, 4096, it ? &nonsense : NULL, &none));
        together(4);
        RETURNS(TERN_ERR_ARG, tern_region_register(TERN_WORLD, it ? NULL : &none, 8, &none));
        together(5);
        CHECK(none == NULL);
        SAME(job_arena_bytes(), bytes); /* nothing is left */
    }
}

static void too_large(void)
{
    static const uint64_t sizes[] = { 1ull << 42, 1ull << 61, 1ull << 63, UINT64_MAX - 4096, UINT64_MAX };
    tern_region          *none = NULL;
    char                  needed[64];
    tern_region_opts      huge = TERN_REGION_OPTS(.memory = TERN_MEMORY_HUGE);
    uint64_t              bytes = job_arena_bytes();
    int                   here = tern_team_size(tern_team_node()), near[64]; /* ranks on the node of each */

    OK(tern_allgather(TERN_WORLD, &here, sizeof(here), near));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        RETURNS(TERN_ERR_NOMEM, tern_region_create(TERN_WORLD, sizes[i], NULL, &none));
        CHECK(tern_error_detail()[0] != '\0');
        RETURNS(TERN_ERR_NOMEM, tern_region_create(TERN_WORLD, sizes[i], &huge, &none));
    }
    RETURNS(TERN_ERR_NOMEM, tern_region_create(TERN_WORLD, 1ull << 42, NULL, &none));
    snprintf(needed, sizeof(needed), "needs %.1f MiB", 4194304.0 * near[0]); /* rank 0 reports for all */
    SAYS(needed);
    SAYS("leaves");
    SAYS("TERN_MEMORY_KEEP");
    CHECK(none == NULL);
    SAME(job_arena_bytes(), bytes);
}

static void asking(enum job_kind kind, uint64_t size)
{
    struct job_region r;
    int               me = tern_rank();

    job_region_make(&r, kind, size);
    ALL_ARE(r.mine, size, 0);
    CHECK(tern_region_ptr(r.region, me) == r.mine);
    for (int rank = 0; rank < tern_size(); rank++) {
        const char *path = tern_region_path(r.region, rank);

        SAME(tern_region_size(r.region, rank), size);
        CHECK((tern_region_ptr(r.region, rank) != NULL) == (rank == me || (kind != JOB_REGISTERED && !job_far(rank))));
        if (rank == me)
            CHECK(strcmp(path, "self") == 0);
        else if (job_far(rank))
            CHECK(strcmp(path, "ofi") == 0 || strcmp(path, "tcp") == 0);
        else if (kind != JOB_REGISTERED)
            CHECK(strcmp(path, "shm") == 0);
        else if (getenv("TERN_CMA"))
            CHECK(strcmp(path, "bounce") == 0);
        else
            CHECK(strcmp(path, "cma") == 0 || strcmp(path, "bounce") == 0);
    }
    OK(tern_barrier(TERN_WORLD));
    memset(r.mine, me + 1, size);
    OK(tern_barrier(TERN_WORLD));
    for (int rank = 0; rank < tern_size(); rank++) {
        unsigned char *there = tern_region_ptr(r.region, rank); /* plain loads reach it */
        if (there)
            ALL_ARE(there, size, (unsigned char)(rank + 1));
    }
    OK(tern_barrier(TERN_WORLD));
    job_region_drop(&r);
}

/* Registered memory of another length on each rank, none on rank 0; on both teams. */
static void unequal(tern_ctx *ctx)
{
    int            me = job_me(ctx), size = job_ranks(ctx);
    uint64_t       mine = (uint64_t)me * 777;
    unsigned char *memory = mine ? job_new(mine) : NULL;
    tern_region   *region;

    OK(tern_region_register(ctx, memory, mine, &region));
    for (int rank = 0; rank < size; rank++) {
        uint64_t len = (uint64_t)rank * 777;
        SAME(tern_region_size(region, rank), len);
        RETURNS(TERN_ERR_RANGE, tern_put_u8(ctx, region, rank, len, 1));
        OK(tern_put(ctx, region, rank, len, &me, 0));
        if (rank == 0) {
            CHECK(tern_region_ptr(region, rank) == NULL);
            CHECK(strcmp(tern_region_path(region, rank), "none") == 0);
        } else if ((rank + 1) % size == me) {
            OK(tern_put_u8(ctx, region, rank, len - 1, (uint8_t)(rank + 100)));
        }
    }
    OK(tern_barrier(ctx));
    if (me > 0 && size > 1)
        CHECK(memory[mine - 1] == me + 100);
    OK(tern_region_free(region));
    free(memory);
}

int main(void)
{
    static const uint64_t sizes[] = { 1, 7, 4095, 4096, 4097, 100003 };
    tern_ctx             *node;

    OK(tern_init());
    OK(tern_ctx_create(tern_team_node(), TERN_RELAXED, &node));
    local_errors();
    one_is_wrong();
    too_large();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int kind = 0; kind < JOB_KINDS; kind++)
            asking((enum job_kind)kind, sizes[i]);
    unequal(TERN_WORLD);
    unequal(node);
    OK(tern_finalize());
    return 0;
}
