/* counter.c: a shared counter hands out tasks, and a shared maximum stores the best result, both by atomic
 * operations.
 *
 *     ternrun -n 4 counter
 *
 * Rank 0 owns a counter and a maximum. Every rank takes the next task by a fetch-and-add on the counter, works on
 * the task, and updates the maximum with its result without waiting. Rank 0 does not have to serve the other ranks:
 * it works on tasks like the others.
 */
#include <stdio.h>
#include <tern.h>

#define CHECK(call)                             \
    do {                                        \
        if ((call) != TERN_OK)                  \
            tern_abort(1, tern_error_detail()); \
    } while (0)

enum { NEXT = 0, BEST = 64 }; /* offsets in rank 0's part */

#define TASKS 1000u

/* Return the number of steps of the Collatz sequence from n. */
static uint64_t work(uint64_t n)
{
    uint64_t steps = 0;

    for (; n > 1; steps++)
        n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return steps;
}

int main(void)
{
    tern_region        *region;
    tern_atomic_domain *domain;
    tern_atomic_info    info;
    uint64_t            task, result, done = 0;

    CHECK(tern_init());
    CHECK(tern_region_create(TERN_WORLD, 128, NULL, &region));
    CHECK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_FADD | TERN_ATOMIC_MAX | TERN_ATOMIC_GET, 0,
                                    &domain));
    CHECK(tern_atomic_fadd(TERN_WORLD, domain, region, 0, NEXT, 1, &task));
    while (task < TASKS) {
        result = work(task + 1);
        done++;
        CHECK(tern_atomic_nbi(TERN_WORLD, domain, region, 0, BEST,
                              &TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_MAX, .operand = &result)));
        CHECK(tern_atomic_fadd(TERN_WORLD, domain, region, 0, NEXT, 1, &task));
    }
    CHECK(tern_barrier(TERN_WORLD)); /* completes the outstanding updates of the maximum */
    CHECK(tern_atomic_get(TERN_WORLD, domain, region, 0, BEST, &result));
    CHECK(tern_atomic_domain_info(domain, &info));
    printf("rank %d did %llu of %u tasks; the best took %llu steps (%s: %s)\n", tern_rank(), (unsigned long long)done,
           TASKS, (unsigned long long)result, info.name, info.why);
    CHECK(tern_barrier(TERN_WORLD));
    CHECK(tern_atomic_domain_free(domain));
    CHECK(tern_region_free(region));
    CHECK(tern_finalize());
    return 0;
}
