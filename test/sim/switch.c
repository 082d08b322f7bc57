/* switch.c: promise: a single switch reaches the full rate, serves its inputs equally, and a slow sink accepts flits at
 * exactly its rate.
 *
 * builds: release debug asan
 */
#include <math.h>

#include "sim_test.h"

#define SINGLE "topology=single routing=min stop=cycles warmup=2000 measure=16000 drain=0 "

/* Without conflicts every node sends and receives a flit per cycle. */
static void full_rate(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, SINGLE "p=16 traffic=shift shift=5");
    struct sim_result result;

    (void)state;
    run_sim(sim, &result);
    for (uint32_t i = 0; i < 16; i++) {
        assert_true(result.node_accepted[i] > 0.999);
        assert_true(result.node_injected[i] > 0.999);
    }
    sim_result_free(&result);
    close_sim(sim, &config);
}

/* All send to node 0: its link is full, and each of the others has the same part of it. */
static void fairness(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, SINGLE "p=9 traffic=hotspot hot_nodes=1 hot_share=1 self=1 packet=4");
    struct sim_result result;
    uint32_t          hot;

    (void)state;
    hot = sim->node[0].fixed; /* drawn for each packet */
    assert_int_equal(hot, SIM_NONE);
    run_sim(sim, &result);
    assert_true(fabs(result.accepted * 9 - 1) < 0.001);
    for (uint32_t i = 0; i < 9; i++)
        assert_true(fabs(result.node_injected[i] - 1.0 / 9) < 0.002);
    sim_result_free(&result);
    close_sim(sim, &config);
}

/* Half of the nodes are slow: each takes 1 flit in 2, 4 or 8 cycles, and those beside them all they are sent. */
static void slow_sinks(void **state)
{
    static const struct {
        const char *words;
        double      rate;
    } cases[] = {
        { SINGLE "p=8 traffic=shift slow_share=0.5 slow_factor=2", 1.0 / 2 },
        { SINGLE "p=8 traffic=shift slow_share=0.5 slow_factor=4", 1.0 / 4 },
        { SINGLE "p=8 traffic=shift slow_nodes=4 slow_factor=8", 1.0 / 8 },
    };

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        struct sim_config config;
        struct sim       *sim = open_sim(&config, cases[c].words);
        struct sim_result result;
        unsigned          slow = 0;

        run_sim(sim, &result);
        for (uint32_t i = 0; i < 8; i++) {
            slow += sim->node[i].slow > 1;
            assert_true(fabs(result.node_accepted[i] - (sim->node[i].slow > 1 ? cases[c].rate : 1)) < 0.001);
        }
        assert_int_equal(slow, 4);
        assert_true(fabs(result.accepted_slow - cases[c].rate) < 0.001 && result.accepted_fast > 0.999);
        sim_result_free(&result);
        close_sim(sim, &config);
    }
}

/* Below saturation what is offered is accepted, and latencies are those of an empty switch at least. */
static void open_loop(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, SINGLE "p=16 traffic=uniform injection=open load=0.4 drain=5000 audit=1");
    struct sim_result result;

    (void)state;
    run_sim(sim, &result);
    assert_true(fabs(result.accepted - 0.4) < 0.02);
    assert_int_equal(result.missing, 0);
    assert_int_equal(result.totals.packets, result.totals.begun);
    assert_true(result.totals.packet_latency->min >= 4 + 15);
    sim_result_free(&result);
    close_sim(sim, &config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_rate),
        cmocka_unit_test(fairness),
        cmocka_unit_test(slow_sinks),
        cmocka_unit_test(open_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
