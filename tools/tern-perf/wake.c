/* wake.c: wake_lat: how soon a wait for plain memory ends after a put.
 *
 * Rank 0 works for some time, puts a value, and waits for the answer; rank 1 waits in tern_word_wait and answers at
 * once. The time of the work decides what the wait is doing when the put arrives: it polls, it yields the core, or it
 * sleeps. The figures are the times from the put until the wait has ended: of each round trip, half of a round trip
 * between two waits that poll is subtracted, which is the way of the answer.
 *
 * The limit of a wait that sleeps is a bare futex, woken by a store and a system call. It is measured in turn with the
 * others, where the ranks share memory.
 */
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf.h"

#define SPIN_US "200"    /* TERN_SPIN: the wait polls for this time, ... */
#define YIELDS "1000000" /* TERN_YIELDS: ... then yields for a millisecond, and then sleeps */
#define POLL_NS 20000    /* work after which the wait still polls */
#define YIELD_NS 600000  /* ... yields */
#define SLEEP_NS 3000000 /* ... sleeps */
#define SAMPLES 20       /* round trips of each slice */

enum { POLLING, YIELDING, ASLEEP, FUTEX, WAYS };

static uint32_t turn;

void perf_wake_before(int ranks)
{
    (void)ranks;
    setenv("TERN_SPIN", SPIN_US, 0);
    setenv("TERN_YIELDS", YIELDS, 0);
}

static void work(int64_t ns)
{
    int64_t until = measure_now() + ns;

    while (measure_now() < until)
        perf_keep();
}

/* One hop: change the peer's word, or wait for this rank's word. */
static void put(struct perf *p)
{
    perf_must(tern_put_value(p->ctx, p->region, p->peer, 0, turn), "put");
}

static void await(struct perf *p)
{
    tern_word word = TERN_WORD((uint32_t *)(void *)p->mine, TERN_EQ, turn);

    perf_must(tern_word_wait(p->ctx, &word, TERN_FOREVER), "waiting for a word");
}

static void futex_store(struct perf *p)
{
    uint32_t *word = (uint32_t *)(void *)p->their_line;

    __atomic_store_n(word, turn, __ATOMIC_RELEASE); /* pairs with the acquire below */
    if (p->rank == 0)
        syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Rank 1 sleeps on its word; rank 0, which gets its answer soon, polls. */
static void futex_await(struct perf *p)
{
    uint32_t *word = (uint32_t *)(void *)p->my_line, seen;

    while ((seen = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != turn)
        if (p->rank == 1)
            syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

/* Ranks 0 and 1. Return the median time of a round trip in which rank 1 waits for the given time. */
static double round_trip(struct perf *p, int64_t ns, bool futex, uint64_t samples)
{
    double times[PERF_MAX_REPEAT];

    for (uint64_t i = 0; i < samples; i++) {
        int64_t start;

        turn++;
        if (p->rank == 1)
            futex ? futex_await(p) : await(p);
        else
            work(ns);
        start = measure_now();
        futex ? futex_store(p) : put(p);
        if (p->rank == 0)
            futex ? futex_await(p) : await(p);
        times[i] = (double)(measure_now() - start);
    }
    return measure_summarise(times, samples).median;
}

void perf_wake_lat(struct perf_case *c)
{
    static const int64_t ns[] = { POLL_NS, YIELD_NS, SLEEP_NS, SLEEP_NS };
    struct perf         *p = c->p;
    bool                 futex = !p->network;
    double               values[WAYS + 1][PERF_MAX_REPEAT];
    uint64_t             samples = p->opt->iters > 0 ? p->opt->iters : SAMPLES;

    samples = samples < PERF_MAX_REPEAT ? samples : PERF_MAX_REPEAT;
    for (size_t r = 0; r < p->repeat; r++) {
        double trip[WAYS] = { 0 };

        perf_progress((double)r / (double)p->repeat);
        perf_must(tern_barrier(p->ctx), "barrier");
        for (int way = 0; way < (futex ? WAYS : FUTEX) && p->rank < 2; way++)
            trip[way] = round_trip(p, ns[way], way == FUTEX, samples);
        for (int way = 0; way < WAYS; way++)
            values[way][r] = trip[way] - trip[POLLING] / 2;
        values[WAYS][r] = values[ASLEEP][r] / values[FUTEX][r];
    }
    perf_must(tern_barrier(p->ctx), "barrier");
    perf_figure_values(c, values[POLLING], "polling", "ns");
    perf_figure_values(c, values[YIELDING], "yielding", "ns");
    perf_figure_values(c, values[ASLEEP], "asleep", "ns");
    if (futex) {
        perf_figure_values(c, values[FUTEX], "futex", "ns");
        perf_figure_values(c, values[WAYS], "ratio_to_futex", "ratio");
    }
}
