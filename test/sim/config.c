/* config.c: promise: the value of a parameter is accepted as a whole, or refused with the name and the range of the
 * parameter; files, the command line and the list of parameters agree.
 *
 * builds: release debug asan
 */
#include <unistd.h>

#include "sim_test.h"

/* Setting this is refused, and the text has both words. */
static void refused(const char *text, const char *name, const char *range)
{
    struct sim_config config;

    sim_config_init(&config);
    assert_int_equal(sim_config_assign(&config, text), TERN_ERR_ARG);
    if (strstr(tern_base_detail(), name) == NULL || strstr(tern_base_detail(), range) == NULL)
        fail_msg("'%s' is refused with '%s', without '%s' and '%s'", text, tern_base_detail(), name, range);
    sim_config_free(&config);
}

static void ranges(void **state)
{
    (void)state;
    refused("p=0", "p", "1 to 62");
    refused("p=63", "p", "1 to 62");
    refused("p=2.5", "p", "1 to 62");
    refused("p=", "p", "1 to 62");
    refused("speedup=0.5", "speedup", "1 to 16");
    refused("speedup=nan", "speedup", "1 to 16");
    refused("load=1.5", "load", "0 to 1");
    refused("routing=best", "routing", "par");
    refused("routing=pa", "routing", "par");
    refused("threshold=-100001", "threshold", "-100000 to 100000");
    refused("buffers=3", "buffers", "--list");
    refused("p", "p", "name=value");
    refused("=3", "no parameter", "--list");
}

/* Parameters that do not fit together are refused when the network is made. */
static void unfit(const char *words, const char *name, const char *range)
{
    struct sim_config config;
    struct sim       *sim = NULL;

    configure(&config, words);
    assert_int_equal(sim_open(&sim, &config), TERN_ERR_ARG);
    if (strstr(tern_base_detail(), name) == NULL || strstr(tern_base_detail(), range) == NULL)
        fail_msg("'%s' is refused with '%s', without '%s' and '%s'", words, tern_base_detail(), name, range);
    sim_config_free(&config);
}

static void together(void **state)
{
    (void)state;
    unfit("p=2 a=4 h=2 groups=10", "groups=10", "1 to a*h+1 = 9");
    unfit("p=40 a=30 h=20", "p + a-1 + h", "at most 64");
    unfit("routing=par vcs=3", "vcs=3", "4 to 16");
    unfit("topology=torus routing=par p=1", "routing", "min");
    unfit("topology=torus routing=min k=256 n=8 p=1", "k=256", "at most");
    unfit("topology=single routing=min p=4 traffic=hotspot hot_nodes=5", "hot_nodes=5", "1 to 4");
    unfit("topology=single routing=min p=4 slow_nodes=5", "slow_nodes=5", "0 to 4");
    unfit("topology=single routing=min p=1 traffic=uniform", "self=0", "self=1");
    unfit("p=2 a=4 h=2 flow=cutthrough packet=16 buffer=15", "packet=16", "buffer=15");
    unfit("p=2 a=4 h=2 max_cycles=4000000000 measure=4000000000", "measure", "4200000000");
    unfit("p=2 a=4 h=2 traffic=file", "traffic_file", "PATH");
    unfit("p=2 a=4 h=2 traffic=file traffic_file=/nonexistent/x", "/nonexistent/x", "cannot be read");
}

static void write_file(char path[64], const char *text)
{
    int   descriptor;
    FILE *file;

    strcpy(path, "/tmp/tern-sim-test-XXXXXX");
    descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    file = fdopen(descriptor, "w");
    fputs(text, file);
    fclose(file);
}

static void files(void **state)
{
    struct sim_config config;
    char              path[64];

    (void)state;
    write_file(path, "# a comment\n\n  p = 3 # nodes\nrouting=ugal\r\nspeedup =2.5\n");
    sim_config_init(&config);
    assert_int_equal(sim_config_read(&config, path), TERN_OK);
    assert_int_equal(sim_config_assign(&config, "p=4"), TERN_OK); /* what comes later wins */
    assert_true(config.p == 4 && config.routing == SIM_UGAL && config.speedup == 2.5);
    unlink(path);
    write_file(path, "p = 3\na = 99\n");
    assert_int_equal(sim_config_read(&config, path), TERN_ERR_ARG);
    assert_non_null(strstr(tern_base_detail(), path));
    assert_non_null(strstr(tern_base_detail(), "2"));
    assert_non_null(strstr(tern_base_detail(), "1 to 63"));
    unlink(path);
    assert_int_equal(sim_config_read(&config, path), TERN_ERR_ARG);
    sim_config_free(&config);
}

/* Every default is within its range, reads back as it is written, and is in the list. */
static void list(void **state)
{
    struct sim_config config;
    char             *text = NULL, value[256];
    size_t            size = 0;
    FILE             *to = open_memstream(&text, &size);

    (void)state;
    sim_config_list(to);
    fclose(to);
    sim_config_init(&config);
    for (size_t i = 0; i < sim_config_count(); i++) {
        struct sim_param_info row = sim_config_row(i);

        assert_int_equal(sim_config_set(&config, row.name, row.fallback), TERN_OK);
        sim_config_value(&config, i, value, sizeof(value));
        assert_string_equal(value, row.fallback);
        assert_non_null(strstr(text, row.name));
        assert_true(strlen(row.meaning) > 0);
    }
    sim_config_free(&config);
    free(text);
}

/* The network of the RDRP paper is what comes without parameters. */
static void paper(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, "");

    (void)state;
    assert_int_equal(sim->shape.nodes, 5256);
    assert_int_equal(sim->shape.routers, 73 * 12);
    assert_int_equal(sim->buffer, 256);
    assert_true(config.packet == 16 && config.speedup == 2.4 && config.latency_local == 2 &&
                config.latency_global == 10 && config.routing == SIM_PAR && config.bias == 2 &&
                config.threshold == 30 && config.traffic == SIM_PAIRS && config.tolerance == 0.05);
    assert_true(config.fecn_from == 0.5 && config.becn_up == 8 && config.becn_down == 1 && config.becn_max == 20 &&
                config.becn_decay == 4);
    close_sim(sim, &config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges), cmocka_unit_test(together), cmocka_unit_test(files),
        cmocka_unit_test(list),   cmocka_unit_test(paper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
