/* engine.c: the worker threads that simulate the network.
 *
 * Each worker has a range of routers. On a dragonfly the range consists of whole groups, so that only global links
 * connect two workers, and a worker can run alone for as long as the delay of a global link (a span). A worker stores
 * the flits and credits that it sends into slots of the other workers' routers. These slots are for cycles of later
 * spans, and all workers wait for each other at a barrier after each span. The results therefore depend neither on the
 * order in which workers run nor on their number.
 */
#include "engine.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "router.h"

#define ROUTERS_PER_WORKER 100 /* with fewer routers, the barriers cost more than another thread gains */

static unsigned cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

static uint32_t first_router(const struct sim *sim, unsigned worker)
{
    uint64_t units = sim->shape.routers / sim->shape.unit;

    return (uint32_t)(units * worker / sim->workers) * sim->shape.unit;
}

void sim_engine_divide(struct sim *sim)
{
    uint32_t units = sim->shape.routers / sim->shape.unit, delay;
    unsigned workers = (unsigned)sim->config->threads;

    if (workers == 0) {
        workers = sim->shape.routers / ROUTERS_PER_WORKER < cores() ? sim->shape.routers / ROUTERS_PER_WORKER : cores();
        workers = workers > 0 ? workers : 1;
    }
    sim->workers = workers < units ? workers : units;
    delay = sim->config->topology == SIM_DRAGONFLY ? (uint32_t)sim->config->latency_global + 1 : sim->window;
    if (delay < sim->window)
        sim->window = delay;
    sim->span = delay;
}

/* ---- time ---- */

/* Record what ugal_g knows of the other routers of the group: their state at the start of the window. */
static void look_around(struct sim *sim, uint32_t first, uint32_t end)
{
    for (uint32_t r = first; r < end; r++) {
        for (unsigned i = 0; i < sim->shape.ports; i++)
            sim->seen[r * sim->shape.ports + i] = sim->router[r].port[i].used;
    }
}

/* Simulate the routers of one unit for a span, window by window, so that the state of the unit stays in the cache. */
static void run_unit(struct sim_worker *worker, uint32_t first, uint32_t begin, uint32_t end)
{
    struct sim *sim = worker->sim;

    for (uint32_t r = first; r < first + sim->shape.unit; r++)
        sim_link_fetch(&sim->router[r]);
    for (uint32_t r = first; r < first + sim->shape.unit; r++)
        sim_link_release(worker, &sim->router[r]);
    for (uint32_t now = begin; now < end; now += sim->window) {
        uint32_t stop = end - now < sim->window ? end : now + sim->window;

        if (sim->seen != NULL)
            look_around(sim, first, first + sim->shape.unit);
        for (uint32_t r = first; r < first + sim->shape.unit; r++)
            sim_router_run(worker, &sim->router[r], now, stop);
    }
}

static void run(struct sim_worker *worker, uint32_t until)
{
    struct sim *sim = worker->sim;

    for (uint32_t now = sim->now; now < until;) {
        uint32_t end = until - now < sim->span ? until : now + sim->span;

        worker->limit = now + sim->slot_mask + 1;
        for (uint32_t first = worker->first; first < worker->end; first += sim->shape.unit)
            run_unit(worker, first, now, end);
        now = end;
        if (sim->workers > 1)
            pthread_barrier_wait(&sim->barrier);
    }
}

static void *thread_main(void *argument)
{
    struct sim_worker *worker = argument;

    for (;;) {
        pthread_barrier_wait(&worker->sim->barrier);
        if (worker->sim->quit)
            return NULL;
        run(worker, worker->sim->until);
        pthread_barrier_wait(&worker->sim->barrier);
    }
}

void sim_advance(struct sim *sim, uint32_t until)
{
    if (until <= sim->now)
        return;
    sim->until = until;
    if (sim->workers > 1)
        pthread_barrier_wait(&sim->barrier);
    run(&sim->worker[0], until);
    if (sim->workers > 1)
        pthread_barrier_wait(&sim->barrier);
    sim->now = until;
}

/* ---- workers ---- */

static tern_status open_worker(struct sim *sim, unsigned index)
{
    struct sim_worker *worker = &sim->worker[index];
    tern_status        status;

    worker->sim = sim;
    worker->first = first_router(sim, index);
    worker->end = index + 1 < sim->workers ? first_router(sim, index + 1) : sim->shape.routers;
    worker->sent_to = calloc(sim->shape.nodes, sizeof(*worker->sent_to));
    if (worker->sent_to == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for the counts of thread %u; use threads=1", index);
    if ((status = sim_stats_open(&worker->stats)) < 0)
        return status;
    return sim_packet_stock_open(&worker->stock, &sim->pool);
}

static tern_status start_threads(struct sim *sim)
{
    pthread_barrier_init(&sim->barrier, NULL, sim->workers);
    for (unsigned w = 1; w < sim->workers; w++) {
        int error = pthread_create(&sim->worker[w].thread, NULL, thread_main, &sim->worker[w]);

        if (error != 0) { /* the threads that were started wait forever; the program is about to end */
            sim->workers = 1;
            return tern_base_fail(TERN_ERR_SYSTEM, "thread %u cannot be started: %s; use threads=1", w,
                                  strerror(error));
        }
    }
    return TERN_OK;
}

tern_status sim_engine_open(struct sim *sim)
{
    tern_status status;

    sim->worker = aligned_alloc(64, sim->workers * sizeof(*sim->worker));
    if (sim->worker == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for %u threads", sim->workers);
    memset(sim->worker, 0, sim->workers * sizeof(*sim->worker));
    for (unsigned w = 0; w < sim->workers; w++) {
        if ((status = open_worker(sim, w)) < 0)
            return status;
    }
    if (sim->workers == 1)
        return TERN_OK;
    status = start_threads(sim);
    sim->running = status == TERN_OK;
    return status;
}

void sim_engine_close(struct sim *sim)
{
    if (sim->worker == NULL)
        return;
    if (sim->running) {
        sim->quit = true;
        pthread_barrier_wait(&sim->barrier);
        for (unsigned w = 1; w < sim->workers; w++)
            pthread_join(sim->worker[w].thread, NULL);
        pthread_barrier_destroy(&sim->barrier);
    }
    for (unsigned w = 0; w < sim->workers; w++) {
        free(sim->worker[w].sent_to);
        sim_stats_free(&sim->worker[w].stats);
        sim_packet_stock_close(&sim->worker[w].stock);
    }
    free(sim->worker);
    sim->worker = NULL;
}

/* ---- interface ---- */

void sim_send(struct sim *sim, uint32_t from, uint32_t to, uint32_t packets)
{
    sim->node[from].made += packets;
    sim->node[from].made_for = to;
}

void sim_measure(struct sim *sim)
{
    sim->measuring = true;
    for (unsigned w = 0; w < sim->workers; w++)
        sim_stats_reset(&sim->worker[w].stats);
    for (uint32_t i = 0; i < sim->shape.nodes; i++) {
        sim->node[i].injected = sim->node[i].ejected = 0;
        sim->node[i].side.sent = 0;
    }
    for (size_t i = 0; i < (size_t)sim->shape.routers * sim->shape.ports; i++)
        sim->ports[i].sent = sim_waiting(sim, &sim->ports[i]);
}

void sim_measured(struct sim *sim)
{
    sim->measuring = false;
}

void sim_silence(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->shape.nodes; i++)
        sim->node[i].silent = true;
}

uint64_t sim_unmeasured(const struct sim *sim)
{
    uint64_t packets = 0;

    for (unsigned w = 0; w < sim->workers; w++)
        packets += sim->worker[w].stats.begun - sim->worker[w].stats.packets;
    return packets;
}

uint64_t sim_moves(const struct sim *sim)
{
    uint64_t moves = 0;

    for (unsigned w = 0; w < sim->workers; w++) {
        const struct sim_stats *stats = &sim->worker[w].stats;

        moves += stats->injected + stats->hops + stats->ejected;
    }
    return moves;
}

uint64_t sim_in_flight(const struct sim *sim)
{
    uint64_t flits = 0;

    for (unsigned w = 0; w < sim->workers; w++)
        flits += sim->worker[w].stats.injected - sim->worker[w].stats.ejected;
    return flits;
}

tern_status sim_totals(const struct sim *sim, struct sim_stats *out)
{
    tern_status status = sim_stats_open(out);

    for (unsigned w = 0; status == TERN_OK && w < sim->workers; w++)
        sim_stats_add(out, &sim->worker[w].stats);
    return status;
}
