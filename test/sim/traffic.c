/* traffic.c: promise: each traffic pattern has the destinations that its name says, seeds determine random patterns,
 * and a file is read, or refused with the number of the line.
 *
 * builds: release debug asan
 */
#include "traffic.h"

#include <unistd.h>

#include "sim_test.h"

static void pairs(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, "p=2 a=4 h=2 traffic=pairs");

    (void)state;
    for (uint32_t i = 0; i < 72; i++) {
        assert_int_not_equal(sim->node[i].fixed, i);
        assert_int_equal(sim->node[sim->node[i].fixed].fixed, i);
    }
    close_sim(sim, &config);

    sim = open_sim(&config, "topology=single routing=min p=5 traffic=pairs"); /* one of an odd number is left over */
    for (uint32_t i = 0, silent = 0; i < 5; i++) {
        silent += sim->node[i].silent;
        assert_int_equal(silent <= 1, true);
    }
    close_sim(sim, &config);
}

static void permutation(void **state)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, "p=2 a=4 h=2 traffic=permutation");
    bool              hit[72] = { false };

    (void)state;
    for (uint32_t i = 0; i < 72; i++) {
        assert_false(hit[sim->node[i].fixed]);
        hit[sim->node[i].fixed] = true;
    }
    close_sim(sim, &config);
}

/* Count what a node draws. */
static void draw(const char *words, uint32_t node, unsigned *count, unsigned draws)
{
    struct sim_config config;
    struct sim       *sim = open_sim(&config, words);

    memset(count, 0, 72 * sizeof(*count));
    for (unsigned i = 0; i < draws; i++)
        count[sim_traffic_target(sim, &sim->node[node])]++;
    close_sim(sim, &config);
}

static void drawn(void **state)
{
    unsigned count[72];

    (void)state;
    draw("p=2 a=4 h=2 traffic=uniform", 3, count, 72000);
    assert_int_equal(count[3], 0);
    for (uint32_t i = 0; i < 72; i++)
        assert_true(i == 3 || (count[i] > 850 && count[i] < 1180));
    draw("p=2 a=4 h=2 traffic=uniform self=1", 3, count, 72000);
    assert_true(count[3] > 850 && count[3] < 1150);
    draw("p=2 a=4 h=2 traffic=alltoall", 3, count, 71 * 5);
    for (uint32_t i = 0; i < 72; i++)
        assert_int_equal(count[i], i == 3 ? 0 : 5);
    draw("p=2 a=4 h=2 traffic=shift shift=70", 3, count, 10);
    assert_int_equal(count[1], 10);
    draw("p=2 a=4 h=2 traffic=hotspot hot_nodes=2 hot_share=0.5", 3, count, 72000);
    for (uint32_t i = 0, hot = 0; i < 72; i++) {
        hot += count[i] > 10000;
        assert_true(hot <= 2 && (count[i] < 1000 || count[i] > 10000));
    }
}

/* A larger share of slow nodes adds to a smaller one; another seed draws others. */
static void slow_nodes(void **state)
{
    struct sim_config few_config, many_config, other_config;
    struct sim       *few = open_sim(&few_config, "p=2 a=4 h=2 slow_share=0.05");
    struct sim       *many = open_sim(&many_config, "p=2 a=4 h=2 slow_share=0.25 slow_factor=2");
    struct sim       *other = open_sim(&other_config, "p=2 a=4 h=2 slow_share=0.25 slow_seed=9");
    unsigned          fews = 0, manys = 0, both = 0;

    (void)state;
    for (uint32_t i = 0; i < 72; i++) {
        assert_true(few->node[i].slow == 1 || many->node[i].slow == 2);
        fews += few->node[i].slow == 8;
        manys += many->node[i].slow == 2;
        both += many->node[i].slow == 2 && other->node[i].slow == 8;
    }
    assert_int_equal(fews, 4);
    assert_int_equal(manys, 18);
    assert_true(both < 18);
    close_sim(few, &few_config);
    close_sim(many, &many_config);
    close_sim(other, &other_config);
}

static tern_status from_file(const char *text, const char *more, uint32_t *first_target)
{
    char              path[] = "/tmp/tern-sim-test-XXXXXX", words[256];
    int               descriptor = mkstemp(path);
    FILE             *file = fdopen(descriptor, "w");
    struct sim_config config;
    struct sim       *sim;
    tern_status       status;

    fputs(text, file);
    fclose(file);
    snprintf(words, sizeof(words), "topology=single routing=min p=3 traffic=file traffic_file=%s%s", path, more);
    configure(&config, words);
    status = sim_open(&sim, &config);
    if (status == TERN_OK) {
        *first_target = sim_traffic_target(sim, &sim->node[0]);
        sim_close(sim);
    }
    sim_config_free(&config);
    unlink(path);
    return status;
}

static void files(void **state)
{
    uint32_t target;

    (void)state;
    assert_int_equal(from_file("# two\na: 1 2 0\nb: 2 0 1\n", "", &target), TERN_OK);
    assert_int_equal(target, 1);
    assert_int_equal(from_file("a: 1 2 0\nb: 2 0 1\n", " traffic_name=b", &target), TERN_OK);
    assert_int_equal(target, 2);
    assert_int_equal(from_file("0 2\n1 0 0.5 # half\n1 2 1.5\n", "", &target), TERN_OK);
    assert_int_equal(target, 2);
    assert_int_equal(from_file("a: 1 2 0\n", " traffic_name=c", &target), TERN_ERR_ARG);
    assert_non_null(strstr(tern_base_detail(), "'c'"));
    assert_int_equal(from_file("a: 1 2 3\n", "", &target), TERN_ERR_ARG);
    assert_non_null(strstr(tern_base_detail(), "0 to 2"));
    assert_int_equal(from_file("a: 1 2\n", "", &target), TERN_ERR_ARG);
    assert_int_equal(from_file("a: 1 2 0 1\n", "", &target), TERN_ERR_ARG);
    assert_int_equal(from_file("0 1\n\n0 x\n", "", &target), TERN_ERR_ARG);
    assert_non_null(strstr(tern_base_detail(), "line 3"));
    assert_int_equal(from_file("0 1 0\n", "", &target), TERN_ERR_ARG);
    assert_int_equal(from_file("0\n", "", &target), TERN_ERR_ARG);
    assert_int_equal(from_file("0 1\na: 1 2 0\n", "", &target), TERN_ERR_ARG);
    assert_int_equal(from_file("", "", &target), TERN_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs),      cmocka_unit_test(permutation), cmocka_unit_test(drawn),
        cmocka_unit_test(slow_nodes), cmocka_unit_test(files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
