/* immediate.c: the benefit of TERN_IMMEDIATE: the benchmark of the GASNet-EX paper, appendix D.
 *
 * Rank 0 sends the same number of medium messages to each other rank. The receivers alternate between sleeping for
 * 500 microseconds and calling tern_progress. The static schedule sends blocks to one rank after the other and waits
 * when a queue is full. The dynamic schedule sends with TERN_IMMEDIATE: if a queue is full twice, with one
 * tern_progress in between, rank 0 continues with the next rank and retries later. A run ends with a barrier, when
 * all messages have been handled. Static and dynamic runs alternate; the reduction compares neighbouring runs.
 *
 * The paper's queues hold three messages. Unless TERN_AM_QUEUE is set, perf_immediate_before sets it so that a queue
 * holds three of the longest messages that fit into it, which are a few bytes shorter than the paper's 4032.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "perf.h"

#define HANDLER 1
#define SLEEP_NS 500000
#define PROBE_SLEEP_NS 50000000
#define DEFAULT_MESSAGES 5000
#define QUEUE_OF_THREE 32768 /* value of TERN_AM_QUEUE, in bytes per rank: two queues of 16 KiB */
#define BLOCKS 3

static struct {
    volatile uint64_t handled;
    uint64_t          wanted;
    uint64_t          each;    /* messages for each receiver in one run */
    uint64_t         *pending; /* [ranks] messages not yet sent; on rank 0 */
} state;

void perf_immediate_before(int ranks)
{
    char text[32];

    snprintf(text, sizeof(text), "%d", (ranks > 2 ? ranks : 2) * QUEUE_OF_THREE);
    setenv("TERN_AM_QUEUE", text, 0);
}

static void on_message(const tern_am_event *event, void *user)
{
    (void)event;
    (void)user;
    state.handled++;
}

static void rest(long ns)
{
    const struct timespec time = { 0, ns };

    nanosleep(&time, NULL);
}

static tern_status send(const struct perf_case *c, int rank, uint32_t flags)
{
    const tern_am message =
        TERN_AM(.kind = TERN_AM_MEDIUM, .handler = HANDLER, .payload = c->p->local, .len = c->size, .flags = flags);
    tern_status status = tern_am_request(c->p->ctx, rank, &message);

    perf_must(status, "sending a request");
    return status;
}

static void send_static(struct perf_case *c, uint64_t block)
{
    for (uint64_t k = 0; k < state.each; k += block) {
        for (int rank = 1; rank < c->p->ranks; rank++) {
            for (uint64_t i = k; i < k + block && i < state.each; i++)
                send(c, rank, 0);
        }
    }
}

/* Send up to block messages to rank. Stops if the queue is full and remains full after one tern_progress. Returns
 * how many messages were sent. */
static uint64_t send_while_room(struct perf_case *c, int rank, uint64_t block)
{
    uint64_t sent = 0;

    while (sent < block && sent < state.pending[rank]) {
        if (send(c, rank, TERN_IMMEDIATE) == TERN_AGAIN) {
            perf_must(tern_progress(c->p->ctx), "progress");
            if (send(c, rank, TERN_IMMEDIATE) == TERN_AGAIN)
                break;
        }
        sent++;
    }
    return sent;
}

static void send_dynamic(struct perf_case *c, uint64_t block)
{
    uint64_t left = state.each * (uint64_t)(c->p->ranks - 1), sent;

    for (int rank = 1; rank < c->p->ranks; rank++)
        state.pending[rank] = state.each;
    while (left > 0) {
        for (int rank = 1; rank < c->p->ranks; rank++) {
            sent = send_while_room(c, rank, block);
            state.pending[rank] -= sent;
            left -= sent;
        }
    }
}

/* Collective. Execute one run and return its time in milliseconds. */
static double run(struct perf_case *c, void (*schedule)(struct perf_case *c, uint64_t block), uint64_t block)
{
    int64_t start;

    perf_must(tern_barrier(c->p->ctx), "barrier");
    start = measure_now();
    if (c->p->rank == 0) {
        schedule(c, block);
    } else {
        for (state.wanted += state.each; state.handled < state.wanted;) {
            rest(SLEEP_NS);
            perf_must(tern_progress(c->p->ctx), "progress");
        }
    }
    perf_must(tern_barrier(c->p->ctx), "barrier");
    return (double)(measure_now() - start) / 1e6;
}

/* Collective. Find how many messages a queue accepts while its receiver sleeps. Returns after those messages have
 * been handled. */
static void probe(struct perf_case *c)
{
    double   values[PERF_MAX_REPEAT];
    uint64_t sent = 0;

    for (size_t r = 0; r < c->p->repeat; r++) {
        values[r] = 0;
        perf_must(tern_barrier(c->p->ctx), "barrier");
        for (; c->p->rank == 0 && send(c, 1, TERN_IMMEDIATE) == TERN_OK; sent++)
            values[r]++;
        if (c->p->rank == 1)
            rest(PROBE_SLEEP_NS);
        perf_must(tern_allgather(c->p->ctx, &sent, sizeof(sent), c->p->gather), "all-gather");
        memcpy(&sent, c->p->gather, sizeof(sent));
        if (c->p->rank == 1)
            perf_am_await(c->p, &state.handled, sent);
    }
    state.wanted = c->p->rank == 1 ? sent : 0;
    perf_figure_values(c, values, "queue_depth", "messages");
}

/* Print the figures of one block size. */
static void figures(struct perf_case *c, const char *name, double *statically, double *dynamically)
{
    double reduction[PERF_MAX_REPEAT];
    char   metric[48];

    for (size_t r = 0; r < c->p->repeat; r++)
        reduction[r] = 100 * (statically[r] - dynamically[r]) / statically[r];
    snprintf(metric, sizeof(metric), "static_%s", name);
    perf_figure_values(c, statically, metric, "ms");
    snprintf(metric, sizeof(metric), "dynamic_%s", name);
    perf_figure_values(c, dynamically, metric, "ms");
    snprintf(metric, sizeof(metric), "reduction_%s", name);
    perf_figure_values(c, reduction, metric, "percent");
}

void perf_immediate(struct perf_case *c)
{
    static const char *const name[BLOCKS] = { "full", "b5", "b1" };
    struct perf             *p = c->p;
    uint64_t                 messages = p->opt->messages != 0 ? p->opt->messages : DEFAULT_MESSAGES;

    if (!perf_am_fit(c))
        return;
    state.each = (messages + (uint64_t)p->ranks - 2) / (uint64_t)(p->ranks - 1);
    state.pending = calloc((size_t)p->ranks, sizeof(*state.pending));
    if (state.pending == NULL)
        tern_abort(1, "tern-perf: not enough memory");
    perf_must(tern_am_register(HANDLER, on_message, NULL), "registering a handler");
    perf_must(tern_barrier(p->ctx), "barrier");
    probe(c);
    for (size_t r = 0; r < p->repeat; r++) {
        const uint64_t block[BLOCKS] = { state.each, 5, 1 };

        for (size_t b = 0; b < BLOCKS; b++) {
            perf_progress((double)(r * BLOCKS + b) / (double)(p->repeat * BLOCKS));
            p->ns[2 * b][r] = run(c, send_static, block[b]);
            p->ns[2 * b + 1][r] = run(c, send_dynamic, block[b]);
        }
    }
    for (size_t b = 0; b < BLOCKS; b++)
        figures(c, name[b], p->ns[2 * b], p->ns[2 * b + 1]);
    free(state.pending);
}
