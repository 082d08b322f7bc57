/* trigger.c: trigger_lat: the time of a put that a counter triggers, from the call that describes the put to its
 * completion, compared with a plain put; and the time of a triggered addition, which involves only the trigger
 * engine. trigger_chain: the time per put of a chain of 8-byte puts, each triggered by the completion of the put
 * before; the same while the program only reads the counter; and puts that the program starts one after the other.
 */
#include <sched.h>

#include "perf.h"

static tern_counter *counter, *other; /* kept until tern_finalize */

static void prepare(struct perf *p)
{
    if (counter)
        return;
    perf_must(tern_counter_create(p->ctx, &counter), "making a counter");
    perf_must(tern_counter_create(p->ctx, &other), "making a counter");
}

static void start_put(struct perf_case *c, uint64_t len, const tern_opts *opts)
{
    perf_must(tern_put_with(c->p->ctx, c->p->region, c->target, 0, c->p->local, len, opts), "put");
}

static void triggered(struct perf_case *c, uint64_t iters)
{
    perf_must(tern_counter_set(counter, 0), "set");
    perf_must(tern_counter_set(other, 0), "set");
    for (uint64_t i = 1; i <= iters; i++) {
        start_put(c, c->size, &TERN_OPTS(.counter = other, .when = counter, .threshold = i));
        perf_must(tern_counter_add(counter, 1), "add");
        perf_must(tern_counter_wait(other, i, TERN_FOREVER), "wait");
    }
}

static void added(struct perf_case *c, uint64_t iters)
{
    (void)c;
    perf_must(tern_counter_set(counter, 0), "set");
    perf_must(tern_counter_set(other, 0), "set");
    for (uint64_t i = 1; i <= iters; i++) {
        const tern_opts opts = TERN_OPTS(.when = counter, .threshold = i);

        perf_must(tern_counter_add_with(other, 1, &opts), "add");
        perf_must(tern_counter_add(counter, 1), "add");
        perf_must(tern_counter_wait(other, i, TERN_FOREVER), "wait");
    }
}

void perf_trigger_lat(struct perf_case *c)
{
    static const struct perf_kernel k[] = { { PERF_FIRST, triggered },
                                            { PERF_FIRST, perf_put_blocking },
                                            { PERF_FIRST, added } };

    prepare(c->p);
    perf_measure(c, k, 3);
    perf_figure_time(c, 0, 1, "latency");
    perf_figure_time(c, 1, 1, "plain");
    perf_figure_difference(c, 0, 1, "cost");
    perf_figure_time(c, 2, 1, "addition");
}

/* Describe a chain and trigger its first put. */
static void begin(struct perf_case *c)
{
    perf_must(tern_counter_set(counter, 0), "set");
    for (uint64_t i = 1; i <= c->size; i++)
        start_put(c, 8, &TERN_OPTS(.counter = counter, .when = counter, .threshold = i));
    perf_must(tern_counter_add(counter, 1), "add");
}

static void chain(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        begin(c);
        perf_must(tern_counter_wait(counter, c->size + 1, TERN_FOREVER), "wait");
    }
}

/* The program only reads the counter; Tern's helper thread drives the chain. */
static void chain_beside(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++) {
        uint64_t value = 0;

        begin(c);
        while (value <= c->size) {
            perf_must(tern_counter_read(counter, &value, NULL), "read");
            if (value <= c->size)
                sched_yield();
        }
    }
}

static void one_by_one(struct perf_case *c, uint64_t iters)
{
    for (uint64_t i = 0; i < iters; i++)
        for (uint64_t k = 0; k < c->size; k++)
            perf_must(tern_inline_put(c->p->ctx, c->p->region, c->target, 0, c->p->local, 8, "tern_put"), "put");
}

void perf_trigger_chain(struct perf_case *c)
{
    static const struct perf_kernel k[] = { { PERF_FIRST, chain },
                                            { PERF_FIRST, chain_beside },
                                            { PERF_FIRST, one_by_one } };

    prepare(c->p);
    perf_measure(c, k, 3);
    perf_figure_time(c, 0, (double)c->size, "step");
    perf_figure_time(c, 1, (double)c->size, "step_beside");
    perf_figure_time(c, 2, (double)c->size, "one_by_one");
}

uint64_t perf_chain_bytes(uint64_t size)
{
    (void)size;
    return 8;
}
