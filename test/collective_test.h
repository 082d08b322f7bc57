/* collective_test.h: collective calls of a team, by their names, for tests in which ranks make different ones. */
#ifndef TERN_COLLECTIVE_TEST_H
#define TERN_COLLECTIVE_TEST_H

#include "job_test.h"

/* What the calls use; the test creates these objects, all of the same team. */
static tern_ctx     *collective_ctx;
static tern_mutexes *collective_mutexes; /* what tern_mutex_free gets */
static tern_region  *collective_region;  /* what tern_region_grow gets: a region with a reserve of 8192 bytes */

static inline void collective_create(tern_ctx *ctx)
{
    collective_ctx = ctx;
    OK(tern_region_create(ctx, 4096, &TERN_REGION_OPTS(.reserve = 8192), &collective_region));
    OK(tern_mutex_create(ctx, 1, &collective_mutexes));
}

static inline void collective_free(void)
{
    OK(tern_mutex_free(collective_mutexes));
    OK(tern_region_free(collective_region));
}

static tern_status collective_barrier(void)
{
    return tern_barrier(collective_ctx);
}

static tern_status collective_allgather(void)
{
    int me = tern_rank(), all[64];

    return tern_allgather(collective_ctx, &me, sizeof(me), all);
}

static tern_status collective_region_create(void)
{
    tern_region *out;

    return tern_region_create(collective_ctx, 4096, NULL, &out);
}

static tern_status collective_region_register(void)
{
    static char  bytes[64];
    tern_region *out;

    return tern_region_register(collective_ctx, bytes, sizeof(bytes), &out);
}

static tern_status collective_region_adopt(void)
{
    static char  bytes[64];
    tern_region *out;

    return tern_region_adopt(collective_ctx, bytes, sizeof(bytes), &out);
}

static tern_status collective_region_open(void)
{
    tern_region *out;

    return tern_region_open(collective_ctx, &out);
}

static tern_status collective_region_grow(void)
{
    return tern_region_grow(collective_region, 8192);
}

static tern_status collective_domain_create(void)
{
    tern_atomic_domain *out;

    return tern_atomic_domain_create(collective_ctx, TERN_UINT64, TERN_ATOMIC_ADD, 0, &out);
}

static tern_status collective_mutex_create(void)
{
    tern_mutexes *out;

    return tern_mutex_create(collective_ctx, 1, &out);
}

static tern_status collective_mutex_free(void)
{
    return tern_mutex_free(collective_mutexes);
}

static tern_status collective_team_split(void)
{
    tern_team *out;

    return tern_team_split(collective_ctx, 0, 0, &out);
}

static tern_status collective_team_dup(void)
{
    tern_team *out;

    return tern_team_dup(collective_ctx, &out);
}

static tern_status collective_client_create(void)
{
    tern_am_client *out;

    return tern_am_client_create(collective_ctx, NULL, &out);
}

static const struct collective_call {
    const char *name;
    tern_status (*make)(void);
} collective_calls[] = {
    { "tern_barrier", collective_barrier },
    { "tern_allgather", collective_allgather },
    { "tern_region_create", collective_region_create },
    { "tern_region_register", collective_region_register },
    { "tern_region_adopt", collective_region_adopt },
    { "tern_region_open", collective_region_open },
    { "tern_region_grow", collective_region_grow },
    { "tern_team_split", collective_team_split },
    { "tern_team_dup", collective_team_dup },
    { "tern_am_client_create", collective_client_create },
    { "tern_atomic_domain_create", collective_domain_create },
    { "tern_mutex_create", collective_mutex_create },
    { "tern_mutex_free", collective_mutex_free },
};
#define COLLECTIVE_CALLS (sizeof(collective_calls) / sizeof(collective_calls[0]))

#endif
