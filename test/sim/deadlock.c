/* deadlock.c: promise: the assignment of virtual channels has no cycles, and a deadlock of the network is reported at
 * once.
 *
 * The graph of dependencies shows that there are no cycles. The test routes packets hop by hop, with queues that are
 * filled at random, so that adaptive routing takes every possible route. Each hop adds an edge to the graph: a buffer
 * waits for the next one.
 *
 * builds: release debug asan
 */
#include "random.h"
#include "sim_test.h"

struct graph {
    struct sim *sim;
    uint32_t    buffers;
    uint8_t    *waits; /* [buffer * buffers + buffer] */
    uint8_t    *state; /* of the search: 0 not seen, 1 on the way, 2 done */
};

static uint32_t buffer_of(const struct sim *sim, uint32_t router, unsigned port, unsigned vc)
{
    return ((router * sim->shape.ports + port) << sim->shift) + vc;
}

/* Take a packet from a source to its target, and note which buffer waits for which. */
static void walk(struct graph *graph, uint32_t source, uint32_t target, uint64_t *random)
{
    struct sim       *sim = graph->sim;
    struct sim_packet packet = { .source = source, .target = target, .via = SIM_NO_VIA, .size = 1 };
    uint32_t          router = sim->node[source].router->index;
    unsigned          port = sim->node[source].port, vc = sim_random_below(random, sim->vcs);

    for (int hops = 0; hops < 64; hops++) {
        struct sim_end end;

        for (unsigned i = 0; i < sim->shape.ports; i++) {
            sim->router[router].port[i].used = sim_random_below(random, 1000);
            if (sim->seen != NULL)
                sim->seen[router * sim->shape.ports + i] = sim_random_below(random, 1000);
        }
        sim->topology->route(sim, &sim->router[router], port, vc, &packet);
        end = sim->topology->far(sim, router, packet.out);
        if (end.link_class == SIM_LINK_TERMINAL) {
            assert_int_equal(end.index, target);
            return;
        }
        assert_true(end.link_class != SIM_LINK_UNUSED && packet.out_vc < sim->vcs);
        graph->waits[(size_t)buffer_of(sim, router, port, vc) * graph->buffers +
                     buffer_of(sim, end.index, end.port, packet.out_vc)] = 1;
        router = end.index;
        port = end.port;
        vc = packet.out_vc;
    }
    fail_msg("a packet from %u to %u goes on for ever", source, target);
}

static bool in_cycle(struct graph *graph, uint32_t at)
{
    if (graph->state[at] != 0)
        return graph->state[at] == 1;
    graph->state[at] = 1;
    for (uint32_t to = 0; to < graph->buffers; to++) {
        if (graph->waits[(size_t)at * graph->buffers + to] && in_cycle(graph, to))
            return true;
    }
    graph->state[at] = 2;
    return false;
}

static bool has_cycle(const char *words)
{
    struct sim_config config;
    struct graph      graph = { .sim = open_sim(&config, words) };
    uint64_t          random = 1;
    bool              found = false;

    graph.buffers = (graph.sim->shape.routers * graph.sim->shape.ports) << graph.sim->shift;
    graph.waits = calloc(graph.buffers, graph.buffers);
    graph.state = calloc(graph.buffers, 1);
    assert_true(graph.waits != NULL && graph.state != NULL);
    for (int i = 0; i < 150000; i++)
        walk(&graph, sim_random_below(&random, graph.sim->shape.nodes),
             sim_random_below(&random, graph.sim->shape.nodes), &random);
    for (uint32_t i = 0; i < graph.buffers && !found; i++)
        found = in_cycle(&graph, i);
    free(graph.waits);
    free(graph.state);
    close_sim(graph.sim, &config);
    return found;
}

static void no_cycles(void **state)
{
    (void)state;
    assert_false(has_cycle("p=2 a=4 h=2 routing=min"));
    assert_false(has_cycle("p=2 a=4 h=2 routing=valiant"));
    assert_false(has_cycle("p=2 a=4 h=2 routing=valiant via=router"));
    assert_false(has_cycle("p=2 a=4 h=2 routing=ugal"));
    assert_false(has_cycle("p=2 a=4 h=2 routing=ugal via=router"));
    assert_false(has_cycle("p=2 a=4 h=2 routing=ugal_g"));
    assert_false(has_cycle("p=2 a=4 h=2 routing=par"));
    assert_false(has_cycle("p=2 a=4 h=2 routing=par via=router"));
    assert_false(has_cycle("p=2 a=4 h=2 groups=4 routing=par"));
    assert_false(has_cycle("p=2 a=4 h=2 routing=par vcs=8"));
    assert_false(has_cycle("topology=torus k=4 n=2 p=1 routing=min"));
    assert_false(has_cycle("topology=torus k=5 n=2 p=1 vcs=4 routing=min"));
    assert_false(has_cycle("topology=fattree k=3 n=3 routing=min vcs=2"));
}

/* The test above can fail: these orders are known to have cycles. */
static void cycles_are_found(void **state)
{
    (void)state;
    assert_true(has_cycle("p=2 a=4 h=2 routing=ugal via=router vc_order=reference"));
    assert_true(has_cycle("topology=torus k=4 n=2 p=1 routing=min vc_order=none"));
}

/* A ring without a dateline, all sending half way round, stops; with one it does not. */
static void deadlock_is_told(void **state)
{
    static const char *const flows[] = { "wormhole", "cutthrough" };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct sim_config config;
        struct sim       *sim;
        struct sim_result result;
        char              words[256];

        snprintf(words, sizeof(words),
                 "topology=torus k=6 n=1 p=1 routing=min vc_order=none vcs=1 traffic=shift shift=2 buffer=16 flow=%s "
                 "stop=cycles warmup=20000 check_every=100",
                 flows[i]);
        sim = open_sim(&config, words);
        run_sim(sim, &result);
        assert_in_range(result.deadlock, 6, 12);
        assert_true(result.cycles < 5000); /* soon */
        assert_false(result.complete);
        sim_result_free(&result);
        close_sim(sim, &config);

        snprintf(words, sizeof(words),
                 "topology=torus k=6 n=1 p=1 routing=min traffic=shift shift=2 buffer=16 flow=%s stop=cycles "
                 "warmup=20000 check_every=100",
                 flows[i]);
        sim = open_sim(&config, words);
        run_sim(sim, &result);
        assert_int_equal(result.deadlock, 0);
        if (!result.complete || result.accepted < 0.1)
            fail_msg("accepted %f", result.accepted);
        sim_result_free(&result);
        close_sim(sim, &config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_cycles),
        cmocka_unit_test(cycles_are_found),
        cmocka_unit_test(deadlock_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
