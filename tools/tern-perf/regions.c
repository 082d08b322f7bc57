/* regions.c: region_grow and put_adopted.
 *
 * region_grow: the time to let a region grow by 1 MiB at each rank, and in turn the time to create a region of 1 MiB.
 *
 * put_adopted: the time of a blocking put of 8 bytes to static memory of the program that tern_region_adopt has made a
 * region, and in turn of one to memory of tern_region_create. The two are to be equal.
 */
#include "perf.h"

#define STEP (1ull << 20)
#define STEPS 16    /* in each slice */
#define PUTS 100000 /* in each slice and turn */

/* Collective. Return the mean time of a step, in ns: growing, or creating and not freeing. */
static double grow(struct perf *p, uint64_t steps)
{
    tern_region_opts opts = TERN_REGION_OPTS(.reserve = (steps + 1) * STEP);
    tern_region     *region;
    int64_t          start;

    perf_must(tern_region_create(p->ctx, STEP, &opts, &region), "creating a region with a reserve");
    start = measure_now();
    for (uint64_t i = 0; i < steps; i++)
        perf_must(tern_region_grow(region, (i + 2) * STEP), "growing");
    start = measure_now() - start;
    perf_must(tern_region_free(region), "freeing a region");
    return (double)start / (double)steps;
}

static double create(struct perf *p, uint64_t steps)
{
    int64_t total = 0;

    for (uint64_t i = 0; i < steps; i++) {
        tern_region *region;
        int64_t      start = measure_now();

        perf_must(tern_region_create(p->ctx, STEP, NULL, &region), "creating a region");
        total += measure_now() - start;
        perf_must(tern_region_free(region), "freeing a region");
    }
    return (double)total / (double)steps;
}

void perf_region_grow(struct perf_case *c)
{
    struct perf *p = c->p;
    uint64_t     steps = p->opt->iters > 0 ? p->opt->iters : STEPS;
    double       grown[PERF_MAX_REPEAT], created[PERF_MAX_REPEAT], ratio[PERF_MAX_REPEAT];

    for (size_t r = 0; r < p->repeat; r++) {
        perf_progress((double)r / (double)p->repeat);
        perf_must(tern_barrier(p->ctx), "barrier");
        grown[r] = grow(p, steps);
        created[r] = create(p, steps);
        ratio[r] = grown[r] / created[r];
    }
    perf_figure_values(c, grown, "grow", "ns");
    perf_figure_values(c, created, "create", "ns");
    perf_figure_values(c, ratio, "ratio_to_create", "ratio");
}

static double put(struct perf *p, tern_region *region, uint64_t puts)
{
    int64_t start = measure_now();

    for (uint64_t i = 0; i < puts; i++)
        perf_must(tern_put_u64(p->ctx, region, p->peer, i % 512 * 8, i), "put");
    return (double)(measure_now() - start) / (double)puts;
}

void perf_put_adopted(struct perf_case *c)
{
    static unsigned char memory[4096] __attribute__((aligned(4096)));
    struct perf         *p = c->p;
    uint64_t             puts = p->opt->iters > 0 ? p->opt->iters : p->network ? 1000 : PUTS;
    tern_region         *adopted, *allocated;
    double               first[PERF_MAX_REPEAT], second[PERF_MAX_REPEAT], ratio[PERF_MAX_REPEAT];

    perf_must(tern_region_adopt(p->ctx, memory, sizeof(memory), &adopted), "adopting memory");
    perf_must(tern_region_create(p->ctx, sizeof(memory), NULL, &allocated), "creating a region");
    for (size_t r = 0; r < p->repeat; r++) {
        perf_progress((double)r / (double)p->repeat);
        first[r] = second[r] = 1;
        perf_must(tern_barrier(p->ctx), "barrier");
        if (p->rank == 0) {
            first[r] = put(p, adopted, puts);
            second[r] = put(p, allocated, puts);
        }
        ratio[r] = first[r] / second[r];
    }
    perf_must(tern_barrier(p->ctx), "barrier");
    perf_must(tern_region_free(allocated), "freeing a region");
    perf_must(tern_region_free(adopted), "freeing a region");
    perf_figure_values(c, first, "adopted", "ns");
    perf_figure_values(c, second, "allocated", "ns");
    perf_figure_values(c, ratio, "ratio_to_allocated", "ratio");
}
