/* ternrun_slurm.c: promise: ternrun reads the lists of Slurm and the files of PBS as these schedulers mean them, takes
 * the hosts of a job only where there is one, and refuses a list that no scheduler writes. The files under test are
 * included, because they belong to a tool.
 *
 * The lists in good_lists were printed by "scontrol show hostlist" of Slurm 22.05, except for the last three. These
 * have more than one bracket, or letters behind a bracket. The random lists are written by a model that abbreviates
 * names as Slurm does, from names that the test has chosen.
 *
 * builds: release debug asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../tools/hostlist/hostfile.c"
#include "../tools/hostlist/hostlist.c"
#include "../tools/hostlist/scheduler.c"
#include "../tools/hostlist/slurm.c"
#include "../tools/ternrun/hosts.c"
#include "../tools/ternrun/schedule.c"

static char said[2048]; /* by run_say */

void run_say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(said, sizeof(said), format, args);
    va_end(args);
}

/* Write "name ranks," for each host. */
static const char *text_of(const struct run_config *config, char *out, size_t size)
{
    size_t len = 0;

    *out = '\0';
    for (int i = 0; i < config->hosts && len < size; i++)
        len += (size_t)snprintf(out + len, size - len, "%s %d,", config->host[i].name, config->host[i].ranks);
    return out;
}

/* Read the lists; returns text_of, or the reason after an exclamation mark. */
static const char *read_as(const char *nodes, const char *tasks)
{
    static char         out[1 << 20];
    struct host_refusal refusal = { out + 1, sizeof(out) - 1 };
    struct host_list    list = { 0 };
    struct run_config   config = { 0 };

    out[0] = '!';
    if (host_list_read_slurm(&refusal, nodes, tasks, &list) && run_hosts_take(&refusal, &list, &config))
        text_of(&config, out, sizeof(out));
    host_list_free(&list);
    run_hosts_free(&config);
    return out;
}

static void good_lists(void **state)
{
    (void)state;
    assert_string_equal(read_as("n0", NULL), "n0 1,");
    assert_string_equal(read_as("n[0-1]", "16(x2)"), "n0 16,n1 16,");
    assert_string_equal(read_as("n[0-1]", "5,1"), "n0 5,n1 1,");
    assert_string_equal(read_as("node[01-03,07],login1", "4(x3),2,1"), "node01 4,node02 4,node03 4,node07 2,login1 1,");
    assert_string_equal(read_as("node[08-11]", NULL), "node08 1,node09 1,node10 1,node11 1,");
    assert_string_equal(read_as("node[8-11]", NULL), "node8 1,node9 1,node10 1,node11 1,");
    assert_string_equal(read_as("node[098-101]", "2(x4)"), "node098 2,node099 2,node100 2,node101 2,");
    assert_string_equal(read_as("a,b,c5", "1,2,3"), "a 1,b 2,c5 3,");
    assert_string_equal(read_as("c[1,3-4,10]", "1(x2),2,1"), "c1 1,c3 1,c4 2,c10 1,");
    assert_string_equal(read_as("c[1,01]", NULL), "c1 1,c01 1,");
    assert_string_equal(read_as("rack0n[1-2],rack1n[1-2]", "2(x4)"), "rack0n1 2,rack0n2 2,rack1n1 2,rack1n2 2,");
    assert_string_equal(read_as("n1-ib.example.org,n3-ib.example.org", NULL),
                        "n1-ib.example.org 1,n3-ib.example.org 1,");
    assert_string_equal(read_as("rack[0-1]n[1-2]", NULL), "rack0n1 1,rack0n2 1,rack1n1 1,rack1n2 1,");
    assert_string_equal(read_as("n[1,3]-ib.example.org", NULL), "n1-ib.example.org 1,n3-ib.example.org 1,");
    assert_string_equal(read_as("[1-2]x[3-4]", NULL), "1x3 1,1x4 1,2x3 1,2x4 1,");
}

static void bad_lists(void **state)
{
    static const struct {
        const char *nodes, *tasks, *why;
    } bad[] = {
        { "", NULL, "no name" },
        { "a,,b", NULL, "no name" },
        { "a,", NULL, "no name" },
        { "n[1-2", NULL, "not understood at '[1-2'" },
        { "n[", NULL, "not understood" },
        { "n[]", NULL, "not understood at ']'" },
        { "n[1-]", NULL, "not understood at '1-]'" },
        { "n[-1]", NULL, "not understood" },
        { "n[2-1]", NULL, "not understood at '2-1]'" },
        { "n[1,]", NULL, "not understood" },
        { "n[1x]", NULL, "not understood at 'x]'" },
        { "n[1-2-3]", NULL, "not understood" },
        { "n[1]]", NULL, "as [::1]" },
        { "n1]", NULL, "as [::1]" },
        { "n[1-99999999]", NULL, "more than 4096 hosts" },
        { "n[9999999999999999999]", NULL, "not understood" },
        { "n[1-2],n2", NULL, "n2 is listed twice" },
        { "n$(x)", NULL, "is no name" },
        { "-n[1-2]", NULL, "is no name" },
        { "n[1-2]", "", "tasks '' is not understood" },
        { "n[1-2]", "4", "for each of 2 nodes" },
        { "n[1-2]", "4(x3)", "for each of 2 nodes" },
        { "n[1-2]", "4,4,4", "for each of 2 nodes" },
        { "n[1-2]", "4(x2", "is not understood" },
        { "n[1-2]", "4(2)", "for each of 2 nodes" },
        { "n[1-2]", "4(x0),1", "is not understood" },
        { "n[1-2]", "0(x2)", "is not understood" },
        { "n[1-2]", "4097(x2)", "is not understood" },
        { "n[1-2]", "4(x99999999999)", "for each of 2 nodes" },
        { "n[1-2]", "4(x2);", "for each of 2 nodes" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *got = read_as(bad[i].nodes, bad[i].tasks);

        if (*got != '!' || strstr(got, bad[i].why) == NULL)
            fail_msg("'%s' with '%s' gives '%s'", bad[i].nodes, bad[i].tasks != NULL ? bad[i].tasks : "-", got);
    }
}

/* ---- random lists ---- */

static uint64_t seed = 88172645463325252ull;

static int random_below(int limit)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (int)((seed >> 11) % (uint64_t)limit);
}

struct text {
    char   data[1 << 16];
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    text->len += (size_t)vsnprintf(text->data + text->len, sizeof(text->data) - text->len, format, args);
    va_end(args);
    assert_true(text->len < sizeof(text->data));
}

/* Choose ascending numbers, write their names to want and their abbreviation to list. digits is the least number of
 * digits. */
static void add_group(struct text *list, struct text *want, const char *prefix, int digits, const int *tasks, int count)
{
    int number = random_below(120);

    add(list, "%s[", prefix);
    for (int i = 0; i < count;) {
        int run = 1 + random_below(count - i);

        add(list, "%s%0*d", i > 0 ? "," : "", digits, number);
        if (run > 1)
            add(list, "-%0*d", digits, number + run - 1);
        for (int k = 0; k < run; k++)
            add(want, "%s%0*d %d,", prefix, digits, number + k, tasks[i + k]);
        i += run;
        number += run + 1 + random_below(20);
    }
    add(list, "]");
}

/* Abbreviate the numbers of tasks as Slurm does. */
static void abbreviate(struct text *list, const int *tasks, int count)
{
    for (int i = 0, run; i < count; i += run) {
        for (run = 1; i + run < count && tasks[i + run] == tasks[i];)
            run++;
        add(list, "%s%d", i > 0 ? "," : "", tasks[i]);
        if (run > 1)
            add(list, "(x%d)", run);
    }
}

static void random_lists(void **state)
{
    static struct text nodes, tasks, want;
    int                number[200];

    (void)state;
    for (int round = 0; round < 400; round++) {
        int groups = 1 + random_below(4), used = 0;

        nodes.len = tasks.len = want.len = 0;
        for (int g = 0; g < groups; g++) {
            int  count = 1 + random_below(40);
            char prefix[8];

            for (int i = 0; i < count; i++)
                number[used + i] = 1 + random_below(3);
            snprintf(prefix, sizeof(prefix), "%c%s", 'a' + g, random_below(2) ? "-n" : "");
            add(&nodes, "%s", g > 0 ? "," : "");
            if (random_below(5) == 0) { /* a name without a number */
                count = 1;
                add(&nodes, "%s", prefix);
                add(&want, "%s %d,", prefix, number[used]);
            } else {
                add_group(&nodes, &want, prefix, 1 + random_below(4), number + used, count);
            }
            used += count;
        }
        abbreviate(&tasks, number, used);
        if (strcmp(read_as(nodes.data, tasks.data), want.data) != 0)
            fail_msg("%s with %s gives %s instead of %s", nodes.data, tasks.data, read_as(nodes.data, tasks.data),
                     want.data);
    }
}

/* Bytes changed at random: many lists are refused, and none does harm. */
static void damaged_lists_do_no_harm(void **state)
{
    static const char bytes[] = "[]-,(x)01a";
    int               accepted = 0;

    (void)state;
    for (int round = 0; round < 4000; round++) {
        char nodes[] = "rack[0-1]n[01-03,07],login1", tasks[] = "4(x8),2";

        for (int k = random_below(3); k >= 0; k--)
            nodes[random_below((int)sizeof(nodes) - 1)] = bytes[random_below((int)sizeof(bytes) - 1)];
        tasks[random_below((int)sizeof(tasks) - 1)] = bytes[random_below((int)sizeof(bytes) - 1)];
        accepted += *read_as(nodes, tasks) != '!';
    }
    assert_in_range(accepted, 1, 1999);
}

/* ---- the environment of a job ---- */

static const char *const variables[] = { "SLURM_JOB_NODELIST",   "SLURM_NODELIST",
                                         "SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE",
                                         "SLURM_NTASKS",         "SLURM_JOB_ID",
                                         "SLURMD_NODENAME",      "PBS_NODEFILE",
                                         "PBS_NUM_PPN",          "PBS_JOBID" };

static char pbs_file[] = "/tmp/tern-pbs.XXXXXX";

static void forget(void)
{
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        unsetenv(variables[i]);
    *said = '\0';
}

/* Take the hosts of the environment with this -n. Returns text_of, "here N" for N ranks on this machine, or the reason
 * after an exclamation mark. */
static const char *take(int ranks)
{
    static char         out[4096];
    struct host_refusal refusal = { out + 1, sizeof(out) - 1 };
    struct run_config   config = { .ranks = ranks };

    out[0] = '!';
    *said = '\0';
    if (run_schedule_take(&refusal, &config)) {
        text_of(&config, out, sizeof(out));
        if (config.hosts == 0)
            snprintf(out, sizeof(out), "here %d", config.ranks);
    }
    run_hosts_free(&config);
    return out;
}

static void without_a_scheduler(void **state)
{
    (void)state;
    forget();
    assert_string_equal(take(4), "here 4");
    assert_string_equal(said, "");
    setenv("SLURM_JOB_NODELIST", "", 1);
    assert_string_equal(take(0), "here 0");
}

static void in_a_slurm_job(void **state)
{
    (void)state;
    forget();
    setenv("SLURM_JOB_ID", "17", 1);
    setenv("SLURM_JOB_NODELIST", "n[0-2]", 1);
    setenv("SLURM_TASKS_PER_NODE", "2(x2),1", 1);
    assert_string_equal(take(0), "n0 2,n1 2,n2 1,");
    assert_string_equal(said, "5 ranks on 3 hosts of Slurm job 17: n0 (2), n1 (2), n2 (1)");
    assert_string_equal(take(3), "n0 2,n1 1,");
    assert_string_equal(take(1), "n0 1,");
    assert_string_equal(said, "1 rank on 1 host of Slurm job 17: n0 (1)");
    assert_non_null(strstr(take(6), "-n asks for 6 ranks, and the hosts of Slurm job 17 have 5 slots"));
    setenv("SLURM_NTASKS", "4", 1);
    assert_string_equal(take(0), "n0 2,n1 2,");
    assert_string_equal(take(5), "n0 2,n1 2,n2 1,");
    setenv("SLURMD_NODENAME", "n0", 1);
    assert_string_equal(take(2), "here 2");
    assert_string_equal(said, "2 ranks on 1 host of Slurm job 17: n0 (2)");
    assert_string_equal(take(3), "n0 2,n1 1,");
    setenv("SLURMD_NODENAME", "n1", 1);
    assert_string_equal(take(2), "n0 2,");
    unsetenv("SLURM_TASKS_PER_NODE");
    unsetenv("SLURM_NTASKS");
    assert_string_equal(take(0), "n0 1,n1 1,n2 1,");
    setenv("SLURM_JOB_CPUS_PER_NODE", "8(x3)", 1);
    assert_string_equal(take(9), "n0 8,n1 1,");
    setenv("SLURM_JOB_NODELIST", "n[0-", 1);
    assert_non_null(strstr(take(0), "SLURM_JOB_NODELIST is set to 'n[0-'"));
}

static void on_this_machine(void **state)
{
    char here[256] = "", list[300];

    (void)state;
    forget();
    assert_int_equal(gethostname(here, sizeof(here) - 1), 0);
    setenv("SLURM_TASKS_PER_NODE", "4", 1);
    snprintf(list, sizeof(list), "%s", here);
    setenv("SLURM_JOB_NODELIST", list, 1);
    assert_string_equal(take(0), "here 4");
    snprintf(list, sizeof(list), "%.*s", (int)strcspn(here, "."), here);
    setenv("SLURM_JOB_NODELIST", list, 1);
    assert_string_equal(take(0), "here 4");
    assert_true(is_same("a", "a.example.org") && is_same("a.example.org", "a") && is_same("a.b", "a.b"));
    assert_false(is_same("a.b", "a.c") || is_same("ab", "a") || is_same("a", "ab"));
}

/* Node files as Torque and PBS Pro write them: one line for each slot, with or without the domain. */
static void in_a_pbs_job(void **state)
{
    FILE *file = fopen(pbs_file, "w");

    (void)state;
    forget();
    assert_non_null(file);
    fputs("r1i0n0.cluster.local\nr1i0n0.cluster.local\nr1i0n1.cluster.local\nr1i0n1.cluster.local\n", file);
    fclose(file);
    setenv("PBS_JOBID", "123.server", 1);
    setenv("PBS_NODEFILE", pbs_file, 1);
    setenv("PBS_NUM_PPN", "2", 1);
    assert_string_equal(take(0), "r1i0n0.cluster.local 2,r1i0n1.cluster.local 2,");
    assert_string_equal(said,
                        "4 ranks on 2 hosts of PBS job 123.server: r1i0n0.cluster.local (2), r1i0n1.cluster.local (2)");
    assert_string_equal(take(3), "r1i0n0.cluster.local 2,r1i0n1.cluster.local 1,");
    assert_non_null(strstr(take(5), "the hosts of PBS job 123.server have 4 slots"));
    file = fopen(pbs_file, "w");
    assert_non_null(file);
    fputs("a\nb\n", file); /* each host once: its slots are in PBS_NUM_PPN */
    fclose(file);
    assert_string_equal(take(0), "a 2,b 2,");
    unsetenv("PBS_NUM_PPN");
    assert_string_equal(take(0), "a 1,b 1,");
    assert_string_equal(take(1), "a 1,");
    setenv("PBS_NODEFILE", "/no/such/file", 1);
    assert_non_null(strstr(take(0), "PBS_NODEFILE cannot be used: cannot read /no/such/file"));
}

static int make_file(void **state)
{
    int fd = mkstemp(pbs_file);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(pbs_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_lists),          cmocka_unit_test(bad_lists),
        cmocka_unit_test(random_lists),        cmocka_unit_test(damaged_lists_do_no_harm),
        cmocka_unit_test(without_a_scheduler), cmocka_unit_test(in_a_slurm_job),
        cmocka_unit_test(on_this_machine),     cmocka_unit_test(in_a_pbs_job),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
