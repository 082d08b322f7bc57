/* mismatch.c: ranks of a team make different collective calls at the same time.
 *
 * Promise: if one rank calls tern_barrier and another rank calls another collective call, both calls return
 * TERN_ERR_ARG, and the text of each names its own call and the other's. Afterwards the team works. Two different calls
 * of which neither is tern_barrier are reported, too. A rank that is one call ahead of the others is no mismatch.
 *
 * ranks: 2 3 4 8
 * env: TERN_TEST=apart=1
 * env: HWLOC_SYNTHETIC=core:8~pu:1 HWLOC_THISSYSTEM=0 TERN_SPIN=0 TERN_YIELDS=4
 * env: TERN_TEST=apart=2 TERN_ON_FAILURE=return
 * env: TERN_ON_FAILURE=return
 */
#include <sched.h>

#include "job_test.h"

static tern_region  *region;
static tern_mutexes *mutexes;

static tern_status barrier(void)
{
    return tern_barrier(TERN_WORLD);
}

static tern_status allgather(void)
{
    int me = tern_rank(), all[64];

    return tern_allgather(TERN_WORLD, &me, sizeof(me), all);
}

static tern_status region_create(void)
{
    tern_region *out;

    return tern_region_create(TERN_WORLD, 4096, NULL, &out);
}

static tern_status region_register(void)
{
    static char  bytes[64];
    tern_region *out;

    return tern_region_register(TERN_WORLD, bytes, sizeof(bytes), &out);
}

static tern_status domain_create(void)
{
    tern_atomic_domain *out;

    return tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_ADD, 0, &out);
}

static tern_status mutex_create(void)
{
    tern_mutexes *out;

    return tern_mutex_create(TERN_WORLD, 1, &out);
}

static tern_status mutex_free(void)
{
    return tern_mutex_free(mutexes);
}

static const struct call {
    const char *name;
    tern_status (*make)(void);
} calls[] = {
    { "tern_barrier", barrier },
    { "tern_allgather", allgather },
    { "tern_region_create", region_create },
    { "tern_region_register", region_register },
    { "tern_atomic_domain_create", domain_create },
    { "tern_mutex_create", mutex_create },
    { "tern_mutex_free", mutex_free },
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

/* The team works: all members make the same calls. */
static void still_works(int round)
{
    int mine = tern_rank() + round, all[64];

    OK(tern_barrier(TERN_WORLD));
    OK(tern_allgather(TERN_WORLD, &mine, sizeof(mine), all));
    for (int i = 0; i < tern_size(); i++)
        SAME(all[i], i + round);
}

/* The odd rank makes one call, and all others the other. */
static void differ(int odd, const struct call *one, const struct call *other)
{
    const struct call *mine = tern_rank() == odd ? one : other;
    char               text[64];

    RETURNS(TERN_ERR_ARG, mine->make());
    snprintf(text, sizeof(text), "%s: rank ", mine->name);
    CHECK(strncmp(tern_error_detail(), text, strlen(text)) == 0);
    snprintf(text, sizeof(text), "called %s at the same time", mine == one ? other->name : one->name);
    SAYS(text);
    still_works(odd);
}

/* Barriers and all-gathers in turn, in which the ranks come and go at different times. */
static void in_turn(void)
{
    for (int i = 0; i < 2000; i++) {
        if (i % 7 == tern_rank())
            sched_yield();
        if (i % 3 == 0)
            OK(barrier());
        else
            OK(allgather());
    }
}

int main(void)
{
    OK(tern_init());
    OK(tern_region_create(TERN_WORLD, 64, NULL, &region));
    OK(tern_mutex_create(TERN_WORLD, 1, &mutexes));
    in_turn();
    for (int odd = 0; odd < tern_size(); odd++)
        for (size_t i = 0; i < CALLS; i++)
            for (size_t other = 0; other < CALLS; other++)
                if (i != other && (i == 0 || other == 0 || odd == 0))
                    differ(odd, &calls[i], &calls[other]);
    in_turn();
    OK(tern_mutex_free(mutexes));
    OK(tern_region_free(region));
    OK(tern_finalize());
    return 0;
}
