/* ternrun_bind.c: which cpus ternrun gives to which rank, on machines that hwloc makes up.
 *
 * Promise: ranks get cpus that ternrun may use, in whole cores. Fair shares are disjoint, contain every core, differ by
 * at most one core, and cross as few borders between sockets as possible. Shares of a given number of cores have that
 * number, and cross no border if it can be avoided. Whole units are whole, and every unit has its part of the ranks.
 * Without an option, ranks are bound if and only if there are as many ranks as cores. The expected result is computed
 * from the numbers in the description of the machine, not with hwloc. The files under test are included, because they
 * belong to a tool.
 *
 * builds: release debug asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../tools/ternrun/bind.c"
#include "../tools/ternrun/cores.c"
#include "../tools/ternrun/shares.c"
#include "job_test.h"

#define CASES (JOB_SANITIZED ? 200 : 800)
#define MOST 256 /* cpus of a machine */

static char said[2048];

void run_say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(said, sizeof(said), format, args);
    va_end(args);
}

/* A machine: the numbers of its description, and its cores as the model sees them. */
struct machine {
    int  sockets, nodes, caches, cores, threads; /* each in the next larger part */
    bool allowed[MOST];
    int  count;              /* cores with a cpu that is allowed */
    int  id[MOST];           /* [count] number of the core in the whole machine */
    int  unit[LEVELS][MOST]; /* [count] its socket, NUMA node and L3 cache, as numbers in the whole machine */
};

static void find_cores(struct machine *m)
{
    m->count = 0;
    for (int core = 0; core < m->sockets * m->nodes * m->caches * m->cores; core++) {
        bool any = false;

        for (int i = 0; i < m->threads; i++)
            any |= m->allowed[core * m->threads + i];
        if (!any)
            continue;
        m->id[m->count] = core;
        m->unit[LEVEL_L3][m->count] = core / m->cores;
        m->unit[LEVEL_NUMA][m->count] = core / m->cores / m->caches;
        m->unit[LEVEL_SOCKET][m->count++] = core / m->cores / m->caches / m->nodes;
    }
}

static struct machine make_machine(int sockets, int nodes, int caches, int cores, int threads)
{
    struct machine m = { sockets, nodes, caches, cores, threads, { false }, 0, { 0 }, { { 0 } } };

    for (int i = 0; i < sockets * nodes * caches * cores * threads; i++)
        m.allowed[i] = true;
    find_cores(&m);
    return m;
}

/* A random number from 0 to most - 1. */
static int below(uint64_t *seed, int most)
{
    return (int)((job_random(seed) >> 20) % (unsigned)most);
}

/* A machine of which all cpus, half of them or a few are allowed. */
static struct machine random_machine(uint64_t *seed)
{
    struct machine m = make_machine(1 + below(seed, 4), 1 + below(seed, 2), 1 + below(seed, 3), 1 + below(seed, 5),
                                    1 + below(seed, 2));
    unsigned       percent = (unsigned[]){ 0, 0, 50, 80 }[job_random(seed) >> 62];
    int            cpus = m.sockets * m.nodes * m.caches * m.cores * m.threads;

    for (int i = 0; i < cpus; i++)
        m.allowed[i] = (unsigned)below(seed, 100) >= percent;
    m.allowed[below(seed, cpus)] = true;
    find_cores(&m);
    return m;
}

static hwloc_topology_t topology_of(const struct machine *m)
{
    char             text[128];
    hwloc_topology_t topology;

    snprintf(text, sizeof(text), "pack:%d numa:%d l3:%d core:%d pu:%d", m->sockets, m->nodes, m->caches, m->cores,
             m->threads);
    setenv("HWLOC_SYNTHETIC", text, 1);
    topology = load_topology();
    unsetenv("HWLOC_SYNTHETIC");
    assert_non_null(topology);
    return topology;
}

/* Make a plan for the machine. Returns NULL if ternrun refuses; the reason is then in said. */
static struct run_plan *plan_for(const struct machine *m, struct run_config config)
{
    struct run_plan *plan = calloc(1, sizeof(*plan));
    hwloc_bitmap_t   allowed = hwloc_bitmap_alloc();

    plan->set = calloc((size_t)config.ranks, sizeof(plan->set[0]));
    plan->threads = calloc((size_t)config.ranks, sizeof(plan->threads[0]));
    for (unsigned i = 0; i < MOST; i++)
        if (m->allowed[i])
            hwloc_bitmap_set(allowed, i);
    *said = '\0';
    assert_true(run_cores_of(&plan->cores, topology_of(m), allowed));
    assert_int_equal(plan->cores.count, m->count);
    if (fill_plan(plan, &config))
        return plan;
    run_bind_free(plan);
    return NULL;
}

/* Store which of the model's cores the rank has. All allowed cpus of a core belong to it, and no others. Returns the
 * number of cores. */
static int cores_of_rank(const struct machine *m, const struct run_plan *plan, int rank, bool *has)
{
    int count = 0, cpus = 0;

    assert_non_null(plan->set[rank]);
    for (int i = 0; i < m->count; i++) {
        int got = 0, allowed = 0;

        for (int k = 0; k < m->threads; k++) {
            int cpu = m->id[i] * m->threads + k;

            allowed += m->allowed[cpu];
            got += m->allowed[cpu] && hwloc_bitmap_isset(plan->set[rank], (unsigned)cpu);
        }
        assert_true(got == 0 || got == allowed);
        has[i] = got > 0;
        count += has[i];
        cpus += got;
    }
    assert_int_equal(hwloc_bitmap_weight(plan->set[rank]), cpus);
    assert_true(count > 0);
    return count;
}

/* Return the number of different units of which the rank has a core. */
static int units_of_rank(const struct machine *m, const bool *has, enum run_level level)
{
    bool seen[MOST] = { false };
    int  count = 0;

    for (int i = 0; i < m->count; i++)
        if (has[i] && !seen[m->unit[level][i]]) {
            seen[m->unit[level][i]] = true;
            count++;
        }
    return count;
}

/* Return how many ranks with the given number of cores fit into the units of the level. */
static int space(const struct machine *m, int each, enum run_level level)
{
    int cores[MOST] = { 0 }, sum = 0;

    for (int i = 0; i < m->count; i++)
        cores[m->unit[level][i]]++;
    for (int i = 0; i < MOST; i++)
        sum += cores[i] / each;
    return sum;
}

/* Return the smallest number of borders between sockets that fair shares cross, by trying every order of larger and
 * smaller shares. */
static int fewest_crossed(const struct machine *m, int ranks)
{
    int best = MOST;

    for (unsigned larger = 0; larger < 1u << ranks; larger++) {
        int at = 0, crossed = 0;

        if (__builtin_popcount(larger) != m->count % ranks)
            continue;
        for (int r = 0; r < ranks; r++) {
            int count = m->count / ranks + (int)(larger >> r & 1);

            for (int i = at + 1; i < at + count; i++)
                crossed += m->unit[LEVEL_SOCKET][i] != m->unit[LEVEL_SOCKET][i - 1];
            at += count;
        }
        best = crossed < best ? crossed : best;
    }
    return best;
}

/* Check that the ranks have different cores, and return how many cores they have together. */
static int check_disjoint(const struct machine *m, const struct run_plan *plan, int ranks)
{
    bool taken[MOST] = { false }, has[MOST];
    int  sum = 0;

    for (int r = 0; r < ranks; r++) {
        sum += cores_of_rank(m, plan, r, has);
        for (int i = 0; i < m->count; i++) {
            assert_false(taken[i] && has[i]);
            taken[i] |= has[i];
        }
    }
    return sum;
}

static void shares_are_fair(void **state)
{
    uint64_t seed = job_seed(20260101);
    int      compared = 0;

    (void)state;
    for (int c = 0; c < CASES; c++) {
        struct machine   m = random_machine(&seed);
        int              ranks = 1 + below(&seed, m.count), crossed = 0;
        struct run_plan *plan = plan_for(&m, (struct run_config){ .ranks = ranks, .binding = BIND_SHARE });
        bool             has[MOST];

        assert_non_null(plan);
        assert_int_equal(check_disjoint(&m, plan, ranks), m.count);
        for (int r = 0; r < ranks; r++) {
            int count = cores_of_rank(&m, plan, r, has);

            assert_true(count == m.count / ranks || (m.count % ranks != 0 && count == m.count / ranks + 1));
            assert_int_equal(run_bind_threads(plan, r), count);
            crossed += units_of_rank(&m, has, LEVEL_SOCKET) - 1;
        }
        if (ranks <= 12) {
            assert_int_equal(crossed, fewest_crossed(&m, ranks));
            compared++;
        }
        run_bind_free(plan);
    }
    assert_true(compared > CASES / 4);
}

static void shares_of_a_size(void **state)
{
    static const enum run_binding how[] = { BIND_AUTO, BIND_CORE, BIND_L3, BIND_NUMA, BIND_SOCKET };
    uint64_t                      seed = job_seed(20260102);
    int                           refused = 0, accepted = 0;

    (void)state;
    for (int c = 0; c < CASES; c++) {
        struct machine    m = random_machine(&seed);
        struct run_config config = { .cores_per_rank = 1 + below(&seed, 4),
                                     .ranks = 1 + below(&seed, m.count + 2),
                                     .binding = how[below(&seed, 5)] };
        bool              is_unit_level = config.binding != BIND_AUTO && config.binding != BIND_CORE, has[MOST];
        enum run_level    level = config.binding == BIND_L3     ? LEVEL_L3
                                  : config.binding == BIND_NUMA ? LEVEL_NUMA
                                                                : LEVEL_SOCKET;
        bool              fits = space(&m, config.cores_per_rank, level) >= config.ranks;
        struct run_plan  *plan = plan_for(&m, config);

        assert_int_equal(plan != NULL, config.ranks * config.cores_per_rank <= m.count && (fits || !is_unit_level));
        assert_int_equal(*said == '\0', plan != NULL);
        refused += plan == NULL;
        accepted += plan != NULL;
        if (plan == NULL)
            continue;
        assert_int_equal(check_disjoint(&m, plan, config.ranks), config.ranks * config.cores_per_rank);
        for (int r = 0; r < config.ranks; r++) {
            assert_int_equal(cores_of_rank(&m, plan, r, has), config.cores_per_rank);
            assert_true(!fits || units_of_rank(&m, has, level) == 1);
            assert_int_equal(run_bind_threads(plan, r), config.cores_per_rank);
        }
        run_bind_free(plan);
    }
    assert_true(refused > CASES / 10 && accepted > CASES / 10);
}

static void units_are_whole(void **state)
{
    static const enum run_binding how[LEVELS] = { BIND_SOCKET, BIND_NUMA, BIND_L3 };
    uint64_t                      seed = job_seed(20260103);

    (void)state;
    for (int c = 0; c < CASES; c++) {
        struct machine   m = random_machine(&seed);
        enum run_level   level = (enum run_level)below(&seed, LEVELS);
        int              ranks = 1 + below(&seed, 20), units, users[MOST] = { 0 };
        struct run_plan *plan = plan_for(&m, (struct run_config){ .ranks = ranks, .binding = how[level] });
        bool             all[MOST], has[MOST];
        double           load = 0;

        assert_non_null(plan);
        memset(all, true, sizeof(all));
        units = units_of_rank(&m, all, level);
        for (int r = 0; r < ranks; r++) {
            int count = cores_of_rank(&m, plan, r, has), parts = units_of_rank(&m, has, level);

            assert_true(ranks >= units ? parts == 1 : parts == units / ranks || parts == units / ranks + 1);
            for (int i = 0; i < m.count; i++)
                for (int k = 0; k < m.count; k++)
                    assert_true(m.unit[level][i] != m.unit[level][k] || has[i] == has[k]);
            for (int i = 0; i < m.count; i++)
                users[i] += has[i];
            assert_true(run_bind_threads(plan, r) >= 1 && run_bind_threads(plan, r) <= count);
        }
        if (ranks < units)
            assert_int_equal(check_disjoint(&m, plan, ranks), m.count);
        for (int i = 0; i < m.count; i++) { /* a unit has its part of the ranks, and at most one more or less */
            int size = 0;

            for (int k = 0; k < m.count; k++)
                size += m.unit[level][i] == m.unit[level][k];
            load = (double)ranks * size / m.count;
            assert_true(ranks < units || (users[i] > load - 1.001 && users[i] < load + 1.001));
        }
        run_bind_free(plan);
    }
}

static void default_binds_only_full_machines(void **state)
{
    uint64_t seed = job_seed(20260104);

    (void)state;
    for (int c = 0; c < CASES; c++) {
        struct machine   m = random_machine(&seed);
        int              ranks = 1 + below(&seed, m.count + 4);
        struct run_plan *plan;

        if (below(&seed, 3) == 0)
            ranks = m.count;
        plan = plan_for(&m, (struct run_config){ .ranks = ranks });
        assert_non_null(plan);
        assert_string_equal(said, "");
        assert_int_equal(plan->is_bound, ranks == m.count);
        assert_int_equal(strstr(run_bind_summary(plan), "not bound") == NULL, ranks == m.count);
        if (ranks == m.count)
            assert_int_equal(check_disjoint(&m, plan, ranks), m.count);
        for (int r = 0; r < ranks; r++) {
            assert_int_equal(plan->set[r] != NULL, ranks == m.count);
            assert_int_equal(run_bind_threads(plan, r), ranks >= m.count ? 1 : m.count / ranks);
        }
        run_bind_free(plan);
    }
}

/* Return the cpus of all ranks as "0-1 2 ...", or the reason why ternrun refuses. */
static const char *cpus_for(const struct machine *m, struct run_config config)
{
    static char      text[1024];
    struct run_plan *plan = plan_for(m, config);
    size_t           len = 0;

    if (plan == NULL)
        return said;
    for (int r = 0; r < config.ranks; r++) {
        char cpus[256] = "any";

        if (plan->set[r] != NULL)
            hwloc_bitmap_list_snprintf(cpus, sizeof(cpus), plan->set[r]);
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", r > 0 ? " " : "", cpus);
    }
    run_bind_free(plan);
    return text;
}

static const char *with(const struct machine *m, int ranks, const char *how, int each)
{
    struct run_config config = { .ranks = ranks, .cores_per_rank = each };

    if (*how != '\0')
        assert_true(run_bind_read(&config, how));
    return cpus_for(m, config);
}

/* Two sockets, each with two NUMA nodes of one L3 cache with 4 cores of 2 cpus: 16 cores, 32 cpus. */
static void known_machine(void **state)
{
    struct machine m = make_machine(2, 2, 1, 4, 2);

    (void)state;
    assert_string_equal(with(&m, 1, "", 0), "any");
    assert_string_equal(with(&m, 17, "", 0), "any any any any any any any any any any any any any any any any any");
    assert_string_equal(with(&m, 1, "share", 0), "0-31");
    assert_string_equal(with(&m, 3, "share", 0), "0-11 12-21 22-31");
    assert_string_equal(with(&m, 4, "share", 0), "0-7 8-15 16-23 24-31");
    assert_string_equal(with(&m, 2, "core", 0), "0-1 2-3");
    assert_string_equal(with(&m, 2, "core", 3), "0-5 8-13");
    assert_string_equal(with(&m, 2, "", 4), "0-7 8-15");
    assert_string_equal(with(&m, 2, "socket", 0), "0-15 16-31");
    assert_string_equal(with(&m, 1, "socket", 0), "0-31");
    assert_string_equal(with(&m, 4, "socket", 0), "0-15 0-15 16-31 16-31");
    assert_string_equal(with(&m, 2, "numa", 0), "0-15 16-31");
    assert_string_equal(with(&m, 4, "l3", 0), "0-7 8-15 16-23 24-31");
    assert_string_equal(with(&m, 2, "none", 0), "any any");
    assert_string_equal(with(&m, 2, "none", 3), "any any");
    assert_string_equal(with(&m, 3, "5,0", 0), "5 0 5");
    assert_string_equal(with(&m, 3, "0-3/8,10", 0), "0-3 8,10 0-3");
    assert_string_equal(with(&m, 2, "0-1/2-3/4-5", 0), "0-1 2-3");
    assert_string_equal(with(&m, 17, "core", 0), "any any any any any any any any any any any any any any any any any");
    assert_string_equal(said, "--bind core: there are 17 ranks and 16 cores, so the ranks are not bound");
}

/* Each refusal names what was given and what is possible. */
static void refusals(void **state)
{
    struct machine m = make_machine(2, 1, 2, 4, 1);

    (void)state;
    assert_string_equal(with(&m, 2, "", 9), "--cores-per-rank 9: 2 ranks would need 18 cores, and ternrun may use 16; "
                                            "give at most 8; see ternrun --help");
    assert_string_equal(with(&m, 17, "", 1), "--cores-per-rank 1: 17 ranks would need 17 cores, and ternrun may use "
                                             "16; give at most 16 ranks; see ternrun --help");
    assert_string_equal(with(&m, 1, "l3", 5),
                        "--bind l3 --cores-per-rank 5: of 1 rank with 5 cores each, only 0 can have all their cores in "
                        "one L3 cache; give fewer cores or ranks, or --bind core; see ternrun --help");
    assert_string_equal(with(&m, 1, "3,16", 0),
                        "--bind 3,16: cpu 16 is not among those that ternrun may use, which are "
                        "0-15; see ternrun --help");
    m.allowed[3] = false;
    find_cores(&m);
    assert_string_equal(with(&m, 1, "0-3", 0), "--bind 0-3: cpu 3 is not among those that ternrun may use, which are "
                                               "0-2,4-15; see ternrun --help");
    for (const char *const *bad = (const char *const[]){ ",", "1,", "/", "0//1", "0/", "2-1", "-", "1-", "1-2-3",
                                                         "99999999999999999999", NULL };
         *bad != NULL; bad++) {
        with(&m, 1, *bad, 0);
        assert_non_null(strstr(said, "not a list of cpus such as 0,2,4-7"));
    }
}

static void words_are_checked(void **state)
{
    static const char *const bad[] = { "", "cores", "Core", "l2", "0,a", "socket ", "0 1", "all" };
    struct run_config        config = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(run_bind_read(&config, bad[i]));
    assert_true(run_bind_read(&config, "socket"));
    assert_int_equal(config.binding, BIND_SOCKET);
}

/* A machine about which hwloc knows only cores, or not even these. */
static void poor_machines(void **state)
{
    struct run_config config = { .ranks = 2, .binding = BIND_L3 };
    struct run_plan  *plan;
    int               status = 0;

    (void)state;
    setenv("HWLOC_SYNTHETIC", "core:4 pu:1", 1);
    assert_null(run_bind_plan(&config, &status));
    assert_int_equal(status, EXIT_USAGE);
    assert_non_null(strstr(said, "--bind l3: hwloc does not know to which L3 cache the cores of this machine belong; "
                                 "give core, share, numa or none"));
    config.binding = BIND_NUMA;
    plan = run_bind_plan(&config, &status);
    assert_non_null(plan);
    assert_int_equal(run_bind_threads(plan, 0), 2);
    run_bind_free(plan);
    setenv("HWLOC_SYNTHETIC", "pu:3", 1);
    config = (struct run_config){ .ranks = 3 };
    plan = run_bind_plan(&config, &status);
    assert_non_null(plan);
    assert_true(plan->is_bound);
    assert_int_equal(run_bind_cpus(plan), 3);
    run_bind_free(plan);
    unsetenv("HWLOC_SYNTHETIC");
}

/* The number of cpus decides whether waiting ranks yield: ranks on the same cpu must not count the others. */
static void cpus_of_the_job(void **state)
{
    struct machine    m = make_machine(1, 1, 1, 4, 2);
    struct run_config config = { .ranks = 2, .binding = BIND_LIST, .cpu_list = "3" };
    struct run_plan  *plan = plan_for(&m, config);
    char              text[300];

    (void)state;
    assert_int_equal(run_bind_cpus(plan), 1);
    assert_int_equal(run_bind_threads(plan, 1), 1);
    run_bind_show(plan, 1, NULL, text, sizeof(text));
    assert_string_equal(text, "bound to cpu 3 (1 core), OMP_NUM_THREADS=1; reason: --bind 3");
    run_bind_free(plan);
    plan = plan_for(&m, (struct run_config){ .ranks = 2 });
    assert_int_equal(run_bind_cpus(plan), 8);
    run_bind_show(plan, 0, "5", text, sizeof(text));
    assert_string_equal(
        text, "not bound, may use cpus 0-7 (4 cores), OMP_NUM_THREADS=5; reason: 2 ranks do not fill 4 cores");
    run_bind_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_fair),   cmocka_unit_test(shares_of_a_size),
        cmocka_unit_test(units_are_whole),   cmocka_unit_test(default_binds_only_full_machines),
        cmocka_unit_test(known_machine),     cmocka_unit_test(refusals),
        cmocka_unit_test(words_are_checked), cmocka_unit_test(poor_machines),
        cmocka_unit_test(cpus_of_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
