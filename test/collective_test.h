/* collective_test.h: collective calls of the world, by their names, for tests in which ranks make different ones. */
#ifndef TERN_COLLECTIVE_TEST_H
#define TERN_COLLECTIVE_TEST_H

#include "job_test.h"

static tern_mutexes *collective_mutexes; /* what tern_mutex_free gets; the test creates it */

static tern_status collective_barrier(void)
{
    return tern_barrier(TERN_WORLD);
}

static tern_status collective_allgather(void)
{
    int me = tern_rank(), all[64];

    return tern_allgather(TERN_WORLD, &me, sizeof(me), all);
}

static tern_status collective_region_create(void)
{
    tern_region *out;

    return tern_region_create(TERN_WORLD, 4096, NULL, &out);
}

static tern_status collective_region_register(void)
{
    static char  bytes[64];
    tern_region *out;

    return tern_region_register(TERN_WORLD, bytes, sizeof(bytes), &out);
}

static tern_status collective_domain_create(void)
{
    tern_atomic_domain *out;

    return tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_ADD, 0, &out);
}

static tern_status collective_mutex_create(void)
{
    tern_mutexes *out;

    return tern_mutex_create(TERN_WORLD, 1, &out);
}

static tern_status collective_mutex_free(void)
{
    return tern_mutex_free(collective_mutexes);
}

static const struct collective_call {
    const char *name;
    tern_status (*make)(void);
} collective_calls[] = {
    { "tern_barrier", collective_barrier },
    { "tern_allgather", collective_allgather },
    { "tern_region_create", collective_region_create },
    { "tern_region_register", collective_region_register },
    { "tern_atomic_domain_create", collective_domain_create },
    { "tern_mutex_create", collective_mutex_create },
    { "tern_mutex_free", collective_mutex_free },
};
#define COLLECTIVE_CALLS (sizeof(collective_calls) / sizeof(collective_calls[0]))

#endif
