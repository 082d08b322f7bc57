/* steady.c: promise: a measurement begins when the network has settled: not while buffers are filling, however constant
 * the throughput is, and not while slow receivers are sent more flits than they accept. After the measurement, sources
 * continue until the measured packets have arrived.
 *
 * builds: release debug asan
 */
#include "sim_test.h"

static struct sim_period period(double accepted, uint64_t in_flight, double sent, double taken)
{
    return (struct sim_period){
        .accepted = accepted, .in_flight = in_flight, .busy_sent = { 1, sent }, .busy_taken = { 1, taken }
    };
}

static void rules(void **state)
{
    struct sim_config config;
    struct sim_period even[4] = { period(0.5, 1000, 0.1, 0.1), period(0.51, 1010, 0.1, 0.1),
                                  period(0.5, 1000, 0.1, 0.1), period(0.49, 990, 0.1, 0.1) };
    struct sim_period at[4];

    (void)state;
    configure(&config, "steady_periods=3 tolerance=0.05");
    assert_true(sim_run_is_steady(&config, even, 4));
    assert_false(sim_run_is_steady(&config, even, 3)); /* too few */

    memcpy(at, even, sizeof(at));
    at[2].accepted = 0.6; /* one is out of line */
    assert_false(sim_run_is_steady(&config, at, 4));

    for (int i = 0; i < 4; i++) /* fills by 4% each time: never 5%, but 12% over all */
        at[i] = period(0.5, (uint64_t)(1000 * (1 + 0.04 * i)), 0.1, 0.1);
    assert_false(sim_run_is_steady(&config, at, 4));

    memcpy(at, even, sizeof(at));
    at[3].busy_sent[1] = 0.12; /* slow ones were sent 7% more than they took, which are 0.6% of what all were sent */
    assert_false(sim_run_is_steady(&config, at, 4));
    at[2].busy_sent[1] = 0.09; /* in the iteration before they were sent less */
    assert_true(sim_run_is_steady(&config, at, 4));
    sim_config_free(&config);
}

/* A receiver that takes one flit in 200 cycles is sent more until all buffers before it are full. */
static void slow_receiver(void **state)
{
    struct sim_config config;
    struct sim *sim = open_sim(&config, "topology=single routing=min p=4 vcs=1 buffer=256 traffic=shift period=64 "
                                        "slow_nodes=1 slow_factor=200 steady_periods=1 measure=4000");
    struct sim_result result;
    size_t            i = 0;

    (void)state;
    run_sim(sim, &result);
    assert_true(result.steady);
    assert_true(result.measured_from >
                512); /* the buffers before the sink hold 256 flits in the switch and as many behind it */
    while (i < result.periods && result.period[i].in_flight > 0)
        i++;
    assert_int_equal(i, result.periods);
    sim_result_free(&result);
    close_sim(sim, &config);
}

/* One that does not settle in time is measured, and told. */
static void not_steady(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, "p=2 a=4 h=2 tolerance=0 period=100 max_cycles=1000 measure=100 drain=0");
    struct sim_result result;

    (void)state;
    run_sim(sim, &result);
    assert_false(result.steady);
    assert_true(result.complete);
    assert_int_equal(result.measured_from, 1000);
    sim_result_free(&result);
    close_sim(sim, &config);
}

/* The last packets that are measured meet the same traffic as the others: sources go on until these have arrived. */
static void drains_under_load(void **state)
{
    struct sim_config config;
    struct sim *sim = open_sim(&config, "topology=single routing=min p=4 traffic=uniform slow_nodes=1 slow_factor=8 "
                                        "stop=cycles warmup=0 measure=1000 drain=20000");
    struct sim_result result;

    (void)state;
    run_sim(sim, &result);
    assert_int_equal(result.missing, 0);
    assert_true(result.cycles > 1500); /* the slow sink's queue takes its time */
    assert_true((double)result.totals.injected > result.injected * 4 * 1000 + 500);
    sim_result_free(&result);
    close_sim(sim, &config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules),
        cmocka_unit_test(slow_receiver),
        cmocka_unit_test(not_steady),
        cmocka_unit_test(drains_under_load),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
