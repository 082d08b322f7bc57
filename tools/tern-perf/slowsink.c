/* slowsink.c: slow_sink: the effect of one slow receiver on the others (the RDRP paper).
 *
 * Rank 0 has a message for each of the other ranks. Rank 1 stores its message slowly: after every TERN_MSG_WINDOW
 * chunks of TERN_MSG_CHUNK bytes (here WINDOW and CHUNK, the defaults) it pauses for PAUSE. The other receivers are
 * healthy and receive COUNT messages one after another. There are three ways to move the data:
 *
 *   rdrp   tagged messages: each receiver fetches a few chunks at a time, at its own pace
 *   get    each receiver fetches the whole message with one get
 *   put    the source puts chunk after chunk, to all receivers in turn; a receiver has buffers for a window of
 *          chunks and tells the source when it has stored a chunk. If a receiver has no free buffer, the put to that
 *          receiver blocks, and with the put all later operations of the source
 *
 * Each way runs without and with the slow transfer. healthy: bytes per second of all healthy receivers together
 * while the slow transfer is in progress; keeps: that rate as a fraction of their rate without the slow transfer;
 * slow: the rate of the slow receiver. A single get cannot be slowed down: slow_get is more than the sink stores.
 */
#include <stdio.h>
#include <time.h>

#include "perf.h"

#define SLOW 1
#define MOST_RANKS 64
#define COUNT 16
#define WINDOW 4u
#define CHUNK (1u << 20)
#define PAUSE 4000000 /* ns */

enum { DATA = 31, STORED = 32 }; /* tags */
enum way { RDRP, GET, PUT, WAYS };

static const char *const names[WAYS] = { "rdrp", "get", "put" };

/* One run, in which all ranks take part. */
struct run {
    struct perf_case *c;
    enum way          way;
    bool              slow; /* the slow transfer runs too */
};

static bool takes_part(const struct run *run, int rank)
{
    return rank > 0 && (rank != SLOW || run->slow);
}

static uint64_t messages_of(int rank)
{
    return rank == SLOW ? 1 : COUNT;
}

static void pause_if_slow(const struct perf *p)
{
    const struct timespec pause = { 0, PAUSE };

    if (p->rank == SLOW)
        nanosleep(&pause, NULL);
}

static uint64_t chunks_of(uint64_t size)
{
    return (size + CHUNK - 1) / CHUNK;
}

static uint64_t chunk_len(uint64_t size, uint64_t i)
{
    return size - i * CHUNK < CHUNK ? size - i * CHUNK : CHUNK;
}

/* ---- receivers ---- */

static void receive_tagged(struct perf_case *c)
{
    tern_request *request;
    tern_status   st;

    perf_must(tern_irecv(c->p->ctx, 0, DATA, c->p->local, c->size, &request), "receiving");
    if (c->p->rank != SLOW) {
        perf_must(tern_request_wait(&request, TERN_FOREVER, NULL), "receiving");
        return;
    }
    while ((st = tern_request_test(&request, NULL)) == TERN_PENDING)
        pause_if_slow(c->p);
    perf_must(st, "receiving");
}

static void fetch(struct perf_case *c)
{
    tern_event  event;
    tern_status st;

    perf_must(tern_get_nb(c->p->ctx, c->p->region, 0, 0, c->p->local, c->size, &event), "getting");
    while ((st = tern_event_test(&event)) == TERN_PENDING)
        pause_if_slow(c->p);
    perf_must(st, "getting");
}

static void take_puts(struct perf_case *c)
{
    for (uint64_t i = 0; i < chunks_of(c->size); i++) {
        perf_must(tern_recv(c->p->ctx, 0, DATA, NULL, 0, NULL), "receiving");
        if (i % WINDOW == WINDOW - 1)
            pause_if_slow(c->p);
        perf_must(tern_send(c->p->ctx, 0, STORED, NULL, 0), "sending");
    }
}

/* Receive all messages of this rank. Returns bytes per second. */
static double receive(const struct run *run)
{
    struct perf_case *c = run->c;
    int64_t           start = measure_now();
    uint64_t          n = messages_of(c->p->rank);

    for (uint64_t i = 0; i < n; i++) {
        if (run->way == RDRP)
            receive_tagged(c);
        else if (run->way == GET)
            fetch(c);
        else
            take_puts(c);
    }
    return (double)(n * c->size) / ((double)(measure_now() - start) / 1e9);
}

/* ---- the source ---- */

static void send_tagged(const struct run *run)
{
    struct perf  *p = run->c->p;
    tern_request *others[MOST_RANKS], *slow_one = NULL;

    if (run->slow)
        perf_must(tern_isend(p->ctx, SLOW, DATA, p->mine, run->c->size, &slow_one), "sending");
    for (int i = 0; i < COUNT; i++) {
        size_t n = 0;

        for (int rank = SLOW + 1; rank < p->ranks; rank++)
            perf_must(tern_isend(p->ctx, rank, DATA, p->mine, run->c->size, &others[n++]), "sending");
        perf_must(tern_request_wait_all(others, n, TERN_FOREVER, NULL, NULL), "waiting for messages");
    }
    if (run->slow)
        perf_must(tern_request_wait(&slow_one, TERN_FOREVER, NULL), "waiting for a message");
}

/* Put the next chunk to a rank. Blocks the source until the rank has a free buffer. */
static void put_next(struct perf_case *c, int rank, uint64_t *sent)
{
    struct perf *p = c->p;
    uint64_t     i = sent[rank] % chunks_of(c->size), len = chunk_len(c->size, i);

    if (sent[rank] >= WINDOW)
        perf_must(tern_recv(p->ctx, rank, STORED, NULL, 0, NULL), "receiving");
    perf_must(tern_put(p->ctx, p->region, rank, i * CHUNK, p->local + i * CHUNK, len), "putting");
    perf_must(tern_send(p->ctx, rank, DATA, NULL, 0), "sending");
    sent[rank]++;
}

static void put_all(const struct run *run)
{
    struct perf *p = run->c->p;
    uint64_t     sent[MOST_RANKS] = { 0 }, want, rest = 1;

    while (rest > 0) {
        rest = 0;
        for (int rank = 1; rank < p->ranks; rank++) {
            want = takes_part(run, rank) ? messages_of(rank) * chunks_of(run->c->size) : 0;
            if (sent[rank] < want)
                put_next(run->c, rank, sent);
            rest += want - sent[rank];
        }
    }
    for (int rank = 1; rank < p->ranks; rank++)
        for (uint64_t i = 0; i < sent[rank] && i < WINDOW; i++)
            perf_must(tern_recv(p->ctx, rank, STORED, NULL, 0, NULL), "receiving");
}

static void serve(const struct run *run)
{
    if (run->way == RDRP)
        send_tagged(run);
    else if (run->way == PUT)
        put_all(run);
}

/* ---- figures ---- */

static double healthy[WAYS][PERF_MAX_REPEAT], keeps[WAYS][PERF_MAX_REPEAT], slow[WAYS][PERF_MAX_REPEAT];

/* Execute one run and collect the rates of all ranks. */
static void once(const struct run *run, double *rates)
{
    struct perf *p = run->c->p;
    double       rate = 0;

    perf_must(tern_barrier(p->ctx), "barrier");
    if (p->rank == 0)
        serve(run);
    else if (takes_part(run, p->rank))
        rate = receive(run);
    perf_must(tern_allgather(p->ctx, &rate, sizeof(rate), rates), "gathering");
}

static double sum_healthy(const struct perf *p, const double *rates)
{
    double sum = 0;

    for (int rank = SLOW + 1; rank < p->ranks; rank++)
        sum += rates[rank];
    return sum / 1e6;
}

static void figure(const struct perf_case *c, double *values, const char *what, enum way way, const char *unit)
{
    char metric[48];

    snprintf(metric, sizeof(metric), "%s_%s", what, names[way]);
    perf_figure_values(c, values, metric, unit);
}

void perf_slow_sink(struct perf_case *c)
{
    double rates[MOST_RANKS] = { 0 };

    if (c->p->ranks > MOST_RANKS)
        tern_abort(1, "tern-perf: slow_sink is for up to 64 ranks");
    for (size_t r = 0; r < c->p->repeat; r++) {
        for (enum way way = 0; way < WAYS; way++) {
            double alone;

            once(&(struct run){ c, way, false }, rates);
            alone = sum_healthy(c->p, rates);
            once(&(struct run){ c, way, true }, rates);
            healthy[way][r] = sum_healthy(c->p, rates);
            keeps[way][r] = 100 * healthy[way][r] / alone;
            slow[way][r] = rates[SLOW] / 1e6;
        }
    }
    for (enum way way = 0; way < WAYS && c->p->rank == 0; way++) {
        figure(c, healthy[way], "healthy", way, "MB/s");
        figure(c, keeps[way], "keeps", way, "percent");
        figure(c, slow[way], "slow", way, "MB/s");
    }
}
