/* run.c: a complete run.
 *
 * A network is steady if, over several successive iterations (steady_periods),
 *   - the throughput of each iteration differs from that of the iteration before it by less than the tolerance, and so
 *     do the throughputs of the last iteration and of the one before all of them;
 *   - the number of flits in the network satisfies the same conditions: a network that still fills up is not steady,
 *     however constant its throughput is;
 *   - over all of these iterations, busy receivers were not sent more than they consumed. Fast and slow receivers are
 *     checked separately, because a few slow receivers can fill the network with less than a thousandth of its
 *     traffic, and for a long time their surplus is visible only here.
 */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit.h"
#include "base/clock.h"
#include "congestion.h"

#define CHUNK_CYCLES 200 /* between two checks of the clock */
#define BUSY 0.95        /* fraction of its rate at which a receiver counts as busy */

struct runner {
    struct sim             *sim;
    const struct sim_watch *watch;
    struct sim_result      *result;
    struct sim_period       before; /* counters at the start of the iteration: injected, accepted and hops are totals */
    uint64_t                samples;
    uint32_t                checked; /* cycle of the last search for deadlock */
    uint32_t                moved;   /* cycle of the last search for deadlock that found progress */
    uint64_t                moves;   /* number of movements at that time */
};

static double cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- advancing, with checks ---- */

/* Return false if nothing has moved for longer than a flit can legitimately wait for the longest links and the slowest
 * sink. This cannot happen as long as VC numbers increase along every route and credits are returned; it is checked
 * nevertheless. */
static bool moves_on(struct runner *runner)
{
    const struct sim *sim = runner->sim;
    uint64_t          moves = sim_moves(sim), patience = 10000 + 4 * (uint64_t)sim->config->slow_factor;

    if (moves != runner->moves || sim_in_flight(sim) == 0) {
        runner->moves = moves;
        runner->moved = sim->now;
    }
    patience +=
        4 * (uint64_t)(sim->config->latency_terminal + sim->config->latency_local + sim->config->latency_global);
    return sim->now - runner->moved < patience;
}

static bool check_deadlock(struct runner *runner)
{
    struct sim_result *result = runner->result;

    if (runner->sim->config->check_every == 0 || runner->sim->now - runner->checked < runner->sim->config->check_every)
        return false;
    runner->checked = runner->sim->now;
    result->deadlock = sim_deadlock_find(runner->sim, result->blocked, SIM_SHOWN_BLOCKED);
    result->stuck = result->deadlock == 0 && (sim_congestion_starved(runner->sim) || !moves_on(runner));
    return result->deadlock > 0 || result->stuck;
}

/* Advance to a cycle. Returns false if there is a deadlock. */
static bool go(struct runner *runner, uint32_t until, const char *what, uint32_t aim)
{
    struct sim *sim = runner->sim;

    while (sim->now < until) {
        uint32_t chunk = until - sim->now < CHUNK_CYCLES ? until - sim->now : CHUNK_CYCLES;

        sim_advance(sim, sim->now + chunk);
        if (runner->watch != NULL)
            runner->watch->tell(runner->watch->self, sim, what, aim);
        if (check_deadlock(runner))
            return false;
    }
    return true;
}

/* ---- iterations ---- */

static struct sim_period counts(const struct sim *sim)
{
    struct sim_period now = { .end = sim->now, .in_flight = sim_in_flight(sim) };

    for (unsigned w = 0; w < sim->workers; w++) {
        const struct sim_stats *stats = &sim->worker[w].stats;

        now.injected += (double)stats->injected;
        now.accepted += (double)(stats->ejected - stats->acks);
        now.hops += stats->hops;
    }
    return now;
}

static void begin_period(struct runner *runner)
{
    struct sim *sim = runner->sim;

    runner->before = counts(sim);
    for (uint32_t i = 0; i < sim->shape.nodes; i++)
        sim->node[i].period_ejected = 0;
    for (unsigned w = 0; w < sim->workers; w++)
        memset(sim->worker[w].sent_to, 0, sim->shape.nodes * sizeof(*sim->worker[w].sent_to));
}

/* Add up the flits that were sent to busy receivers, and the flits that they consumed. */
static void add_busy(const struct sim *sim, struct sim_period *period, double cycles)
{
    for (uint32_t i = 0; i < sim->shape.nodes; i++) {
        double taken = sim->node[i].period_ejected, sent = 0;
        bool   slow = sim->node[i].slow > 1;

        if (taken * sim->node[i].slow < BUSY * cycles)
            continue;
        for (unsigned w = 0; w < sim->workers; w++)
            sent += sim->worker[w].sent_to[i];
        period->busy_sent[slow] += sent / cycles / sim->shape.nodes;
        period->busy_taken[slow] += taken / cycles / sim->shape.nodes;
    }
}

static tern_status end_period(struct runner *runner)
{
    struct sim_result *result = runner->result;
    const struct sim  *sim = runner->sim;
    struct sim_period  now = counts(sim), *more;
    double             cycles = now.end - runner->before.end;

    more = realloc(result->period, (result->periods + 1) * sizeof(*more));
    if (more == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for the %zu. iteration", result->periods + 1);
    result->period = more;
    now.injected = (now.injected - runner->before.injected) / cycles / sim->shape.nodes;
    now.accepted = (now.accepted - runner->before.accepted) / cycles / sim->shape.nodes;
    now.hops -= runner->before.hops;
    add_busy(sim, &now, cycles);
    result->period[result->periods++] = now;
    return sim->config->audit ? sim_audit(sim) : TERN_OK;
}

static bool near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fabs(b);
}

/* Return whether an iteration is within the tolerance of an earlier one. */
static bool alike(const struct sim_config *config, const struct sim_period *now, const struct sim_period *before)
{
    return near(now->accepted, before->accepted, config->tolerance) &&
           near((double)now->in_flight, (double)before->in_flight, config->tolerance);
}

/* Return whether busy receivers, either the slow or the fast ones, were not sent more than they consumed. */
static bool balanced(const struct sim_config *config, const struct sim_period *period, size_t periods, bool slow)
{
    double sent = 0, taken = 0;

    for (size_t i = 0; i < periods; i++) {
        sent += period[i].busy_sent[slow];
        taken += period[i].busy_taken[slow];
    }
    return sent <= (1 + config->tolerance) * taken;
}

bool sim_run_is_steady(const struct sim_config *config, const struct sim_period *period, size_t periods)
{
    size_t                   wanted = (size_t)config->steady_periods;
    const struct sim_period *last;

    if (periods < wanted + 1)
        return false;
    last = period + (periods - wanted);
    for (size_t i = periods - wanted; i < periods; i++) {
        if (!alike(config, &period[i], &period[i - 1]))
            return false;
    }
    return alike(config, &period[periods - 1], &period[periods - 1 - wanted]) &&
           balanced(config, last, wanted, false) && balanced(config, last, wanted, true);
}

/* Run until the measurement can begin. */
static tern_status settle(struct runner *runner)
{
    const struct sim_config *config = runner->sim->config;
    struct sim_result       *result = runner->result;
    tern_status              status;

    if (!go(runner, (uint32_t)config->warmup, "warm-up", (uint32_t)config->warmup) || config->stop == SIM_CYCLES)
        return TERN_OK;
    result->steady = false;
    while (!result->steady && runner->sim->now < config->max_cycles) {
        begin_period(runner);
        if (!go(runner, runner->sim->now + (uint32_t)config->period, "settling", 0))
            return TERN_OK;
        if ((status = end_period(runner)) < 0)
            return status;
        result->steady = sim_run_is_steady(config, result->period, result->periods);
    }
    return TERN_OK;
}

/* ---- measuring ---- */

/* Add the current occupancy of the buffers of all links to the sums. */
static void sample_fill(struct runner *runner)
{
    const struct sim *sim = runner->sim;
    double            fill[SIM_LINK_CLASSES] = { 0 }, full[SIM_LINK_CLASSES] = { 0 }, links[SIM_LINK_CLASSES] = { 0 };

    for (uint32_t r = 0; r < sim->shape.routers; r++) {
        for (unsigned i = 0; i < sim->shape.ports; i++) {
            unsigned link_class = sim->router[r].link_class[i];
            uint32_t flits = 0, stopped = 0;

            if (link_class >= SIM_LINK_CLASSES)
                continue;
            for (unsigned vc = 0; vc < sim->vcs; vc++) {
                flits += sim->router[r].in[i << sim->shift | vc].flits;
                stopped += sim->router[r].in[i << sim->shift | vc].flits == sim->buffer;
            }
            runner->result->link_fill[r * sim->shape.ports + i] += flits / (double)(sim->vcs * sim->buffer);
            fill[link_class] += flits;
            full[link_class] += stopped;
            links[link_class]++;
            if (flits / (double)(sim->vcs * sim->buffer) > runner->result->fill[link_class].worst)
                runner->result->fill[link_class].worst = flits / (double)(sim->vcs * sim->buffer);
        }
    }
    runner->samples++;
    for (unsigned c = 0; c < SIM_LINK_CLASSES; c++) {
        if (links[c] > 0) {
            runner->result->fill[c].mean += fill[c] / links[c] / (sim->vcs * sim->buffer);
            runner->result->fill[c].full += full[c] / links[c] / sim->vcs;
        }
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static tern_status make_room(struct runner *runner)
{
    const struct sim_shape *shape = &runner->sim->shape;
    struct sim_result      *result = runner->result;
    size_t                  links = (size_t)shape->routers * shape->ports;

    result->sorted_accepted = calloc(shape->nodes, sizeof(double));
    result->node_accepted = calloc(shape->nodes, sizeof(double));
    result->node_injected = calloc(shape->nodes, sizeof(double));
    result->link_used = calloc(links, sizeof(double));
    result->link_fill = calloc(links, sizeof(double));
    if (result->sorted_accepted != NULL && result->node_accepted != NULL && result->node_injected != NULL &&
        result->link_used != NULL && result->link_fill != NULL)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_NOMEM, "no memory for the results of %u nodes", shape->nodes);
}

static void sum_nodes(struct runner *runner)
{
    const struct sim  *sim = runner->sim;
    struct sim_result *result = runner->result;
    double             cycles = result->measured, slow = 0, nodes = sim->shape.nodes;

    for (uint32_t i = 0; i < sim->shape.nodes; i++) {
        double accepted = (double)sim->node[i].ejected / cycles;

        result->sorted_accepted[i] = result->node_accepted[i] = accepted;
        result->node_injected[i] = (double)sim->node[i].injected / cycles;
        result->accepted += accepted / nodes;
        result->injected += result->node_injected[i] / nodes;
        slow += sim->node[i].slow > 1;
        if (sim->node[i].slow > 1)
            result->accepted_slow += accepted;
        else
            result->accepted_fast += accepted;
    }
    result->accepted_slow /= slow > 0 ? slow : 1;
    result->accepted_fast /= nodes - slow > 0 ? nodes - slow : 1;
    result->offered = sim->config->injection == SIM_OPEN ? sim->config->load : 1;
    qsort(result->sorted_accepted, sim->shape.nodes, sizeof(double), ascending);
}

static void sum_links(struct runner *runner)
{
    const struct sim  *sim = runner->sim;
    struct sim_result *result = runner->result;
    double             links[SIM_LINK_CLASSES] = { 0 };

    for (size_t i = 0; i < (size_t)sim->shape.routers * sim->shape.ports; i++) {
        unsigned link_class = sim->router[i / sim->shape.ports].link_class[i % sim->shape.ports];
        double   used = ((double)sim->ports[i].sent - sim_waiting(sim, &sim->ports[i])) / result->measured;

        if (link_class >= SIM_LINK_CLASSES)
            continue;
        links[link_class]++;
        result->link_used[i] = used;
        result->link_fill[i] /= (double)runner->samples;
        result->used_mean[link_class] += used;
        result->used_max[link_class] = used > result->used_max[link_class] ? used : result->used_max[link_class];
    }
    for (unsigned c = 0; c < SIM_LINK_CLASSES; c++) {
        result->used_mean[c] /= links[c] > 0 ? links[c] : 1;
        result->fill[c].mean /= (double)runner->samples;
        result->fill[c].full /= (double)runner->samples;
    }
}

static tern_status measure(struct runner *runner)
{
    struct sim              *sim = runner->sim;
    const struct sim_config *config = sim->config;
    uint32_t                 end = sim->now + (uint32_t)config->measure, step = (uint32_t)(config->measure + 19) / 20;
    tern_status              status;

    if ((status = make_room(runner)) < 0)
        return status;
    runner->result->measured_from = sim->now;
    runner->result->measured = (uint32_t)config->measure;
    begin_period(runner);
    sim_measure(sim);
    while (sim->now < end) {
        if (!go(runner, end - sim->now < step ? end : sim->now + step, "measuring", end))
            return TERN_OK;
        sample_fill(runner);
    }
    if ((status = end_period(runner)) < 0)
        return status;
    sum_nodes(runner);
    sum_links(runner);
    runner->result->complete = true;
    sim_measured(sim);
    for (end = sim->now + (uint32_t)config->drain; sim->now < end && sim_unmeasured(sim) > 0;) {
        if (!go(runner, end - sim->now < CHUNK_CYCLES ? end : sim->now + CHUNK_CYCLES, "draining", end))
            return TERN_OK;
    }
    runner->result->missing = sim_unmeasured(sim);
    return config->audit ? sim_audit(sim) : TERN_OK;
}

tern_status sim_run(struct sim *sim, const struct sim_watch *watch, struct sim_result *result)
{
    struct runner runner = { .sim = sim, .watch = watch, .result = result };
    int64_t       begin = tern_base_now();
    double        cpu = cpu_seconds();
    tern_status   status;

    memset(result, 0, sizeof(*result));
    result->steady = true;
    status = settle(&runner);
    if (status == TERN_OK && result->deadlock == 0 && !result->stuck)
        status = measure(&runner);
    if (status == TERN_OK)
        status = sim_totals(sim, &result->totals);
    result->cycles = sim->now;
    result->hops = result->totals.hops;
    result->seconds = (double)(tern_base_now() - begin) / 1e9;
    result->cpu_seconds = cpu_seconds() - cpu;
    return status;
}

void sim_result_free(struct sim_result *result)
{
    free(result->period);
    free(result->sorted_accepted);
    free(result->node_accepted);
    free(result->node_injected);
    free(result->link_used);
    free(result->link_fill);
    sim_stats_free(&result->totals);
}
