/* stats.c: histograms keep count, sum and extremes exactly, and quantiles to within a bucket.
 *
 * builds: release debug asan
 */
#include <math.h>

#include "sim_test.h"
#include "stats.h"

static void buckets(void **state)
{
    (void)state;
    for (uint32_t value = 0; value < 100000; value++) {
        unsigned bucket = sim_hist_index(value);

        assert_true(sim_hist_floor(bucket) <= value && value < sim_hist_floor(bucket + 1));
        assert_true(value < 64 ? sim_hist_floor(bucket) == value : value - sim_hist_floor(bucket) <= value / 32);
    }
    assert_true(sim_hist_index(UINT32_MAX) < SIM_HIST_BUCKETS);
}

static void quantiles(void **state)
{
    struct sim_stats stats, sum;

    (void)state;
    assert_int_equal(sim_stats_open(&stats), TERN_OK);
    assert_int_equal(sim_stats_open(&sum), TERN_OK);
    assert_true(sim_hist_quantile(stats.packet_latency, 0.5) == 0);
    for (uint32_t value = 1; value <= 1000; value++)
        sim_hist_count(stats.packet_latency, value);
    sim_stats_add(&sum, &stats);
    sim_stats_add(&sum, &stats);
    assert_int_equal(sum.packet_latency->count, 2000);
    assert_true(sim_hist_mean(sum.packet_latency) == 500.5);
    assert_true(sum.packet_latency->min == 1 && sum.packet_latency->max == 1000);
    assert_true(fabs(sim_hist_quantile(sum.packet_latency, 0.5) - 500) < 16);
    assert_true(fabs(sim_hist_quantile(sum.packet_latency, 0.99) - 990) < 31);
    assert_true(sim_hist_quantile(sum.packet_latency, 1) <= 1000);
    sim_stats_free(&stats);
    sim_stats_free(&sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets),
        cmocka_unit_test(quantiles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
