/* shared_ctx.c: shared_ctx: the cost of sharing a context among threads.
 *
 * Rank 0 measures the time of one operation, with one thread on a private and on a shared context, and with two threads
 * that have a private context each, or share one. The operations are an inlined put, a put by a call of the library, a
 * get and a short active message, to rank 1. With two threads, a figure is the time of the slower thread, divided by
 * its operations. Messages are sent in bursts that the queue of rank 1 holds; the time in which rank 1 handles a burst
 * is not part of the figures.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "perf.h"

#define OPS 20000 /* of each thread in one slice */
#define OPS_NET 500
#define HANDLER 1
#define THREADS 2
#define BURST 32 /* messages */

enum { PUT, PUT_CALL, GET, AM, KINDS };
enum { PRIVATE, SHARED, COST, TWO_PRIVATE, TWO_SHARED, WAYS };

static const char *const names[KINDS][WAYS] = {
    { "put_private", "put_shared", "put_cost", "put_two_private", "put_two_shared" },
    { "put_call_private", "put_call_shared", "put_call_cost", "put_call_two_private", "put_call_two_shared" },
    { "get_private", "get_shared", "get_cost", "get_two_private", "get_two_shared" },
    { "am_private", "am_shared", "am_cost", "am_two_private", "am_two_shared" },
};

/* One thread of rank 0. */
struct worker {
    struct perf_case  *c;
    tern_ctx          *ctx;
    int                kind;
    uint64_t           ops, offset;
    pthread_barrier_t *start;
    int64_t            ns;
};

static _Atomic uint64_t sent; /* messages of rank 0 */

/* Rank 1 counts the messages in its own memory, behind that of the threads. */
static void on_message(const tern_am_event *event, void *count)
{
    (void)event;
    __atomic_fetch_add((uint64_t *)count, 1, __ATOMIC_RELEASE);
}

/* Wait until rank 1 has handled all messages. */
static void await_handled(const struct worker *w)
{
    struct perf *p = w->c->p;
    uint64_t     handled = 0;

    while (handled < atomic_load(&sent)) {
        perf_must(tern_get_u64(w->ctx, p->region, p->peer, THREADS * w->c->size, &handled), "get");
        perf_must(tern_progress(w->ctx), "progress");
    }
}

static tern_status operate(const struct worker *w)
{
    const tern_opts opts = TERN_OPTS_INIT;
    struct perf    *p = w->c->p;
    unsigned char  *local = p->local + w->offset;

    switch (w->kind) {
    case PUT: return tern_put(w->ctx, p->region, p->peer, w->offset, local, w->c->size);
    case PUT_CALL: return tern_put_with(w->ctx, p->region, p->peer, w->offset, local, w->c->size, &opts);
    case GET: return tern_get(w->ctx, p->region, p->peer, w->offset, local, w->c->size);
    default: return tern_am_short(w->ctx, p->peer, HANDLER, NULL, 0);
    }
}

static void *work(void *arg)
{
    struct worker *w = arg;
    uint64_t       burst = w->kind == AM ? BURST : w->ops;

    pthread_barrier_wait(w->start);
    for (uint64_t done = 0; done < w->ops; done += burst) {
        int64_t begin = measure_now();

        for (uint64_t i = 0; i < burst; i++)
            perf_must(operate(w), "an operation");
        if (w->kind != AM)
            perf_must(tern_quiet(w->ctx), "quiet");
        w->ns += measure_now() - begin;
        if (w->kind == AM) {
            atomic_fetch_add(&sent, burst);
            await_handled(w);
        }
    }
    return NULL;
}

/* Return the time of an operation with this number of threads, on the contexts. */
static double measure(struct perf_case *c, int kind, int threads, tern_ctx *const *ctx)
{
    uint64_t          ops = c->p->opt->iters > 0 ? c->p->opt->iters : c->p->network ? OPS_NET : OPS;
    struct worker     worker[THREADS];
    pthread_t         thread;
    pthread_barrier_t start;
    int64_t           most = 0;

    ops = (ops + BURST - 1) / BURST * BURST;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++)
        worker[i] = (struct worker){ c, ctx[i], kind, ops, (uint64_t)i * c->size, &start, 0 };
    if (threads > 1 && pthread_create(&thread, NULL, work, &worker[1]) != 0)
        perf_fail(TERN_ERR_NOMEM, "creating a thread");
    work(&worker[0]);
    if (threads > 1)
        pthread_join(thread, NULL);
    pthread_barrier_destroy(&start);
    for (int i = 0; i < threads; i++)
        most = worker[i].ns > most ? worker[i].ns : most;
    return (double)most / (double)ops;
}

/* One slice of one kind of operation, on rank 0. */
static void slice(struct perf_case *c, int kind, tern_ctx *const mine[THREADS], tern_ctx *const shared[THREADS],
                  double values[WAYS][PERF_MAX_REPEAT], size_t r)
{
    values[PRIVATE][r] = measure(c, kind, 1, mine);
    values[SHARED][r] = measure(c, kind, 1, shared);
    values[COST][r] = values[SHARED][r] - values[PRIVATE][r];
    values[TWO_PRIVATE][r] = measure(c, kind, THREADS, mine);
    values[TWO_SHARED][r] = measure(c, kind, THREADS, shared);
}

/* Each thread has memory of its own; the counter of messages follows. */
uint64_t perf_shared_bytes(uint64_t size)
{
    return THREADS * size + sizeof(uint64_t);
}

void perf_shared_ctx(struct perf_case *c)
{
    static double values[KINDS][WAYS][PERF_MAX_REPEAT];
    struct perf  *p = c->p;
    tern_ctx     *mine[THREADS], *shared[THREADS];

    perf_must(tern_am_register(HANDLER, on_message, p->mine + THREADS * c->size), "registering a handler");
    atomic_store(&sent, 0);
    memset(p->mine + THREADS * c->size, 0, sizeof(uint64_t));
    for (int i = 0; i < THREADS; i++)
        perf_must(tern_ctx_create(tern_team_world(), TERN_RELAXED, &mine[i]), "creating a context");
    perf_must(tern_ctx_create(tern_team_world(), TERN_RELAXED | TERN_SHARED, &shared[0]), "creating a context");
    shared[1] = shared[0];
    perf_must(tern_barrier(p->ctx), "barrier");
    for (size_t r = 0; r < p->repeat; r++) {
        perf_progress((double)r / (double)p->repeat);
        for (int kind = 0; kind < KINDS && p->rank == 0; kind++)
            slice(c, kind, mine, shared, values[kind], r);
        perf_must(tern_barrier(p->ctx), "barrier"); /* rank 1 handles the messages meanwhile */
    }
    for (int kind = 0; kind < KINDS; kind++)
        for (int way = 0; way < WAYS; way++)
            perf_figure_values(c, values[kind][way], names[kind][way], "ns");
    perf_must(tern_ctx_free(shared[0]), "freeing a context");
    for (int i = 0; i < THREADS; i++)
        perf_must(tern_ctx_free(mine[i]), "freeing a context");
}
