/* threads.c: promise: results depend only on the configuration, and neither on the number of threads nor on an earlier
 * run. */
#include "sim_test.h"

/* All parameters and figures of a run, but those of the machine, as text; to be freed. */
static char *outcome(const char *words, unsigned threads)
{
    struct sim_config config;
    struct sim_result result;
    struct sim       *sim;
    struct sim_figure figure[SIM_MAX_FIGURES];
    char              all[512], *text = NULL;
    size_t            size = 0, figures;
    FILE             *to = open_memstream(&text, &size);

    snprintf(all, sizeof(all), "%s threads=%u", words, threads);
    sim = open_sim(&config, all);
    assert_int_equal(sim->workers, threads);
    run_sim(sim, &result);
    figures = sim_report_figures(sim, &result, figure);
    for (size_t i = 0; i < figures; i++) {
        if (!figure[i].machine)
            fprintf(to, "%s %.17g\n", figure[i].name, figure[i].value);
    }
    sim_report_nodes(to, sim, &result);
    sim_report_links(to, sim, &result);
    for (size_t i = 0; i < result.periods; i++)
        fprintf(to, "%u %.17g %lu\n", result.period[i].end, result.period[i].accepted,
                (unsigned long)result.period[i].in_flight);
    fclose(to);
    sim_result_free(&result);
    close_sim(sim, &config);
    return text;
}

static void same_for_all_threads(void **state)
{
    static const char *const networks[] = {
        "p=2 a=4 h=2 routing=par slow_share=0.05 slow_factor=8",
        "p=2 a=4 h=2 routing=ugal_g traffic=uniform injection=open load=0.7",
        "p=2 a=4 h=2 routing=par fecn=1 slow_share=0.05",
        "p=2 a=4 h=2 routing=par rdrp=10 traffic=uniform",
        "p=2 a=4 h=2 routing=par rdrp=2 rdrp_ack=64",
        "p=2 a=4 h=2 routing=valiant latency_local=9 latency_global=3",
        "topology=torus k=4 n=2 p=2 routing=min traffic=permutation",
        "topology=fattree k=4 n=2 routing=min traffic=hotspot",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++) {
        char  words[256];
        char *one, *more;

        snprintf(words, sizeof(words), "stop=steady period=200 max_cycles=600 measure=200 drain=300 %s", networks[i]);
        one = outcome(words, 1);
        for (unsigned threads = 2; threads <= 3; threads++) {
            more = outcome(words, threads);
            assert_string_equal(one, more);
            free(more);
        }
        free(one);
    }
}

static void seeds_differ(void **state)
{
    char *one = outcome("p=2 a=4 h=2 stop=cycles measure=1000 drain=0 seed=1", 1);
    char *two = outcome("p=2 a=4 h=2 stop=cycles measure=1000 drain=0 seed=2", 1);

    (void)state;
    assert_string_not_equal(one, two);
    free(one);
    free(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_for_all_threads),
        cmocka_unit_test(seeds_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
