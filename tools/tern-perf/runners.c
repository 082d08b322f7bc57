/* runners.c: how compare starts Tern, Open MPI, its OpenSHMEM and MPICH, and parses their output; and the tables of
 * all programs. Over the network, all programs are prevented from using shared memory, and use TCP through the
 * loopback interface.
 *
 * These programs print tern-perf's CSV: medians of slices that are calibrated and timed in the same way. Launchers
 * leave the binding to the peers themselves (bench/peers/slices.h), so that all programs run on the same two cpus.
 * Every run is short, has a time limit, and leaves no process behind.
 */
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare.h"

#define RUN_TIME 0.06 /* seconds for each kernel and size in one run, unless --time is given */
#define RUN_REPEAT 5  /* slices in that time, unless --repeat is given */
#define MAX_WORDS COMPARE_WORDS

void compare_tell_failure(const struct runner *runner, const struct compare_test *test, const struct perf_child *child)
{
    const char *text = child->text[1] != NULL ? child->text[1] : "it said nothing";

    text += strspn(text, "-\n"); /* Open MPI encloses its messages in lines of dashes */
    if (perf_child_stopped())
        return;
    if (child->late)
        fprintf(stderr, "tern-perf: %s %s did not end in time\n", runner->name, test->name);
    else
        fprintf(stderr, "tern-perf: %s %s failed: %.*s\n", runner->name, test->name, (int)strcspn(text, "\n"), text);
}

/* Return the metric under which a metric of tern-perf's limits is compared; other metrics keep their name. A barrier of
 * two ranks takes half of a round trip, because both send at the same time. */
static const char *common_name(const struct compare_test *test, const char *metric)
{
    if (strcmp(test->name, "barrier") == 0 || test->collective)
        return strcmp(metric, "tcp_half_rtt") == 0 ? "latency" : metric;
    if (strcmp(metric, "tcp_half_rtt") == 0)
        return "half_rtt";
    if (strcmp(test->unit, "op/s") == 0) /* raw TCP provides only times and bandwidths */
        return metric;
    if (strcmp(metric, strcmp(test->unit, "ns") == 0 ? "tcp_rtt" : test->name[0] == 'g' ? "tcp_from" : "tcp_to") == 0)
        return test->metrics[0];
    return metric;
}

/* The limit of the machine is not a program: Tern's jobs measure it (--vs-limit). */
const struct runner compare_limit = { .name = "limit", .link = "limit" };

static bool has_metric(const struct compare_test *test, const char *metric)
{
    for (size_t i = 0; i < COMPARE_METRICS && test->metrics[i] != NULL; i++) {
        if (strcmp(test->metrics[i], metric) == 0)
            return true;
    }
    return false;
}

/* If a metric of a Tern job is the limit of metrics that the test compares, store it as such. A blocking call over the
 * network takes a round trip; a barrier of two ranks takes half of one. */
static void keep_limit(const struct compare_test *test, uint64_t size, const char *metric, double value)
{
    bool tcp = strcmp(metric, "tcp_half_rtt") == 0;

    if (strcmp(metric, "limit") == 0 || strcmp(metric, "fetch_add_aggregate") == 0)
        compare_keep(test, &compare_limit, size, test->metrics[0], value);
    if (strcmp(metric, "limit") == 0 && has_metric(test, "region"))
        compare_keep(test, &compare_limit, size, "region", value);
    if (strcmp(metric, "plain_load") == 0 || strcmp(metric, "fetch_add") == 0)
        compare_keep(test, &compare_limit, size, "latency", value);
    if (!tcp && strcmp(metric, "cacheline_half_rtt") != 0)
        return;
    if (has_metric(test, "half_rtt"))
        compare_keep(test, &compare_limit, size, "half_rtt", value);
    if (strcmp(test->name, "barrier") == 0) {
        compare_keep(test, &compare_limit, size, "latency", value);
    } else if (tcp) {
        compare_keep(test, &compare_limit, size, "latency", 2 * value);
        compare_keep(test, &compare_limit, size, "latency_complete", 2 * value);
    }
}

const char *compare_limit_text(const struct compare_test *test, const char *metric, bool net)
{
    bool trip = strcmp(metric, "half_rtt") == 0 || strcmp(test->name, "barrier") == 0;

    if (test->collective)
        return "the copies that the call cannot avoid, made by memcpy";
    if (trip)
        return net ? "half of a round trip of a TCP connection"
                   : "half of a round trip of a cache line between two cores";
    if (strcmp(test->unit, "ns") == 0)
        return net                                   ? "a round trip of a TCP connection"
               : strncmp(test->name, "fadd", 4) == 0 ? "the CPU's own fetch-and-add"
                                                     : "a plain load, which exists for 8 bytes only";
    if (strcmp(test->name, "hot_spot") == 0)
        return "the CPU's own fetch-and-add by both ranks";
    return net ? "one stream of a TCP connection" : "memcpy between the same addresses";
}

/* Parse tern-perf's CSV and store its figures, and those of the limits that a job of Tern has measured. */
static bool read_csv(const struct runner *runner, const struct compare_test *test, const char *text, bool limits)
{
    char     metric[64];
    uint64_t size;
    double   value;
    bool     any = false;

    for (; text != NULL && *text != '\0'; text = strchr(text, '\n'), text = text != NULL ? text + 1 : NULL) {
        if (sscanf(text, "%*[^,],%*[^,],%*d,%" SCNu64 ",%63[^,],%lf", &size, metric, &value) == 3) {
            size = test->sizes != NULL ? size : 0;
            compare_keep(test, runner, size, common_name(test, metric), value);
            if (limits)
                keep_limit(test, size, metric, value);
            any = true;
        }
    }
    return any;
}

/* Return whether a program is a job of Tern that measures the limits as well. */
static bool shows_limit(const struct runner *runner, const struct perf_options *o)
{
    return o->vs_limit && strcmp(runner->link, "tern") == 0;
}

bool compare_failed(const struct runner *runner, const struct compare_test *test, const struct perf_child *child)
{
    if (runner->failed != NULL && !perf_child_stopped() && runner->failed(runner, test, child))
        return true;
    compare_tell_failure(runner, test, child);
    return false;
}

bool compare_run_csv(const struct runner *runner, const struct compare_test *test, const struct perf_options *o,
                     char *const words[], char *const extra_env[])
{
    struct perf_child child;
    bool              ok = false;

    if (perf_child_start(&child, words, extra_env, o->limit)) {
        ok = (perf_child_finish(&child) && read_csv(runner, test, child.text[0], shows_limit(runner, o))) ||
             compare_failed(runner, test, &child);
    }
    perf_child_free(&child);
    return ok;
}

/* Format the values of --sizes, --time and --repeat: those of the command line, or the defaults of the test and of
 * this file. */
static void values_print(struct compare_values *values, const struct compare_test *test, const struct perf_options *o)
{
    size_t at = 0, room = sizeof(values->sizes);

    if (o->size_count == 0)
        snprintf(values->sizes, room, "%s", test->sizes != NULL ? test->sizes : "8");
    for (size_t i = 0; i < o->size_count && at < room; i++)
        at += (size_t)snprintf(values->sizes + at, room - at, "%s%" PRIu64, i > 0 ? "," : "", o->sizes[i]);
    snprintf(values->time, sizeof(values->time), "%g", o->time > 0 ? o->time : RUN_TIME);
    snprintf(values->repeat, sizeof(values->repeat), "%zu", o->repeat > 0 ? o->repeat : RUN_REPEAT);
    snprintf(values->ranks, sizeof(values->ranks), "%d", compare_ranks(o));
}

size_t compare_sizes(const struct compare_test *test, const struct perf_options *o, uint64_t *sizes)
{
    if (test->sizes == NULL) {
        sizes[0] = 0;
        return 1;
    }
    if (o->size_count == 0)
        return measure_sizes_from(0, test->sizes, sizes, MEASURE_MAX_SIZES);
    memcpy(sizes, o->sizes, o->size_count * sizeof(*sizes));
    return o->size_count;
}

/* Append the arguments that tern-perf and the MPI peers have in common to the n words that start the program. */
static void common_words(const char **words, size_t n, const struct runner *runner, const struct compare_test *test,
                         const struct compare_values *values)
{
    words[n++] = runner->instead != NULL ? runner->instead : test->test != NULL ? test->test : test->name;
    words[n++] = "--csv";
    words[n++] = "--time";
    words[n++] = values->time;
    words[n++] = "--repeat";
    words[n++] = values->repeat;
    if (test->sizes != NULL || runner->instead != NULL) { /* if the test has no sizes: one word */
        words[n++] = "--sizes";
        words[n++] = test->sizes != NULL ? values->sizes : "8";
    }
    if (test->window != NULL && runner->instead == NULL) {
        words[n++] = "--window";
        words[n++] = test->window;
    }
    if (test->element != NULL && runner->instead == NULL) {
        words[n++] = "--element";
        words[n++] = test->element;
    }
    words[n] = NULL;
}

int compare_ranks(const struct perf_options *o)
{
    return o->ranks_count > 0 ? (int)o->ranks[0] : 2;
}

bool compare_tern_find(const struct runner *runner, const struct perf_options *o)
{
    char path[512];

    (void)o;
    return perf_find_sibling(runner->dir, runner->launcher, path, sizeof(path)) &&
           perf_find_sibling(runner->dir, runner->program, path, sizeof(path));
}

void compare_tern_words(struct compare_job *job, const struct runner *runner, const struct compare_test *test,
                        const struct perf_options *o)
{
    const char             *start[] = { job->launcher, "-n", job->values.ranks, "--bind", job->cpus };
    const struct perf_test *own = perf_test_find(test->test != NULL ? test->test : test->name);
    size_t                  n = sizeof(start) / sizeof(start[0]);
    char                    second[24];

    compare_two_cpus(job->cpus, second);
    if (strcmp(job->cpus, second) == 0 || compare_ranks(o) != 2)
        snprintf(job->cpus, sizeof(job->cpus), "none");
    else
        snprintf(job->cpus + strlen(job->cpus), sizeof(job->cpus) - strlen(job->cpus), ",%s", second);
    perf_find_sibling(runner->dir, runner->launcher, job->launcher, sizeof(job->launcher));
    perf_find_sibling(runner->dir, runner->program, job->program, sizeof(job->program));
    memcpy(job->words, start, sizeof(start));
    values_print(&job->values, test, o);
    if (o->hosts != NULL) {
        job->words[n++] = "--hosts";
        job->words[n++] = o->hosts;
    }
    if (o->agent != NULL) {
        job->words[n++] = "--agent";
        job->words[n++] = o->agent;
    }
    job->words[n++] = job->program;
    job->words[n++] = "--quiet";
    if (shows_limit(runner, o) && (perf_test_uses(own) & PERF_VS_LIMIT) != 0)
        job->words[n++] = "--vs-limit";
    common_words(job->words, n, runner, test, &job->values);
}

bool compare_tern_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    struct compare_job job;

    compare_tern_words(&job, runner, test, o);
    return compare_run_csv(runner, test, o, (char *const *)(uintptr_t)job.words, runner->env);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

/* Format the variable that tells the peers on which cpus to run (bench/peers/slices.h). If there are not exactly two
 * ranks, the operating system places them. */
static void name_cpus(char text[96], const struct perf_options *o)
{
    char first[24], second[24];

    compare_two_cpus(first, second);
    if (compare_ranks(o) == 2)
        snprintf(text, 96, "TERN_PEER_CPUS=%s,%s", first, second);
    else
        snprintf(text, 96, "TERN_PEER_CPUS=");
}

/* Run a job of Open MPI. The job gets a directory of its own for its shared memory and its session files, because
 * Open MPI leaves both behind when it is killed. */
static bool openmpi_job(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    static char           root[] = "OMPI_ALLOW_RUN_AS_ROOT=1", sure[] = "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1";
    static char           calm[] = "OMPI_MCA_btl_base_warn_component_unused=0";
    char                  dir[] = "/dev/shm/tern-perf-XXXXXX", memory[96], notes[96], cpus[96];
    struct compare_values values;
    char                 *extra_env[MAX_WORDS] = { root, sure, calm, memory, notes, cpus };
    const char           *words[MAX_WORDS] = {
                  compare_peer_of(runner)->launcher, "-n", values.ranks, "--bind-to", "none", "--oversubscribe"
    };
    size_t n = 6, e = 6;
    bool   ok;

    if (mkdtemp(dir) == NULL) {
        fprintf(stderr, "tern-perf: cannot make a directory in /dev/shm: %s\n", strerror(errno));
        return false;
    }
    snprintf(memory, sizeof(memory), "OMPI_MCA_btl_vader_backing_directory=%s", dir);
    snprintf(notes, sizeof(notes), "OMPI_MCA_orte_tmpdir_base=%s", dir);
    name_cpus(cpus, o);
    for (size_t i = 0; runner->env != NULL && runner->env[i] != NULL; i++)
        extra_env[e++] = runner->env[i];
    for (size_t i = 0; runner->options != NULL && runner->options[i] != NULL; i++)
        words[n++] = runner->options[i];
    words[n++] = compare_peer_of(runner)->program;
    values_print(&values, test, o);
    common_words(words, n, runner, test, &values);
    ok = compare_run_csv(runner, test, o, (char *const *)(uintptr_t)words, extra_env);
    nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return ok;
}

static bool openmpi_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    return test->no_mpi || openmpi_job(runner, test, o);
}

static bool oshmem_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    return !test->shmem || openmpi_job(runner, test, o);
}

static bool mpich_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    char                  cpus[96];
    char                 *extra_env[MAX_WORDS] = { cpus };
    struct compare_values values;
    const char *words[MAX_WORDS] = { compare_peer_of(runner)->launcher, "-n", values.ranks, "-bind-to", "none",
                                     compare_peer_of(runner)->program };

    if (test->no_mpi)
        return true;
    name_cpus(cpus, o);
    for (size_t i = 0; runner->env != NULL && runner->env[i] != NULL; i++)
        extra_env[i + 1] = runner->env[i];
    values_print(&values, test, o);
    common_words(words, 6, runner, test, &values);
    return compare_run_csv(runner, test, o, (char *const *)(uintptr_t)words, extra_env);
}

bool compare_program_find(const struct runner *runner, const struct perf_options *o)
{
    char path[512];

    (void)o;
    return perf_find_program(runner->program, path, sizeof(path));
}

#define ENV(...) ((char *[]){ __VA_ARGS__, NULL })
#define VALUE(text) ((char[]){ text })
#define UCX_CALM VALUE("UCX_LOG_LEVEL=error")
#define UCX_MEMORY VALUE("UCX_TLS=posix,sysv,cma,self")
#define UCX_TCP VALUE("UCX_TLS=tcp,self"), VALUE("UCX_NET_DEVICES=lo")

/* Open MPI over TCP only. Of its one-sided components, only pt2pt runs over TCP; rdma requires atomics, which TCP
 * lacks. */
static const char *const openmpi_tcp[] = { "--mca", "pml",      "ob1",   "--mca",
                                           "btl",   "tcp,self", "--mca", "btl_tcp_if_include",
                                           "lo",    "--mca",    "osc",   "pt2pt",
                                           NULL };

/* OpenSHMEM: with the symmetric heap in UCX's shared memory, puts are stores. The component uct of Open MPI 4.1
 * crashes in shmem_finalize; OpenSHMEM does not use it. */
static const char *const oshmem_options[] = { "--mca", "btl", "^uct", "--mca", "sshmem", "ucx", NULL };

/* OpenSHMEM over TCP only: Open MPI carries the collective calls, and would use shared memory unless UCX carries its
 * messages as well. Open MPI uses UCX without special hardware only if any transport and any device will do. */
static const char *const oshmem_tcp[] = { "--mca",       "pml",    "ucx",   "--mca",
                                          "pml_ucx_tls", "any",    "--mca", "pml_ucx_devices",
                                          "any",         "--mca",  "btl",   "^uct",
                                          "--mca",       "sshmem", "ucx",   NULL };

const struct runner compare_memory_runners[] = {
    { .name = "Tern",
      .link = "tern",
      .launcher = "ternrun",
      .program = "tern-perf",
      .install = COMPARE_TERN_MISSING,
      .find = compare_tern_find,
      .run = compare_tern_run },
    { .name = "Open MPI",
      .link = "openmpi",
      .program = "tern-peer-openmpi",
      .find = compare_peer_find,
      .run = openmpi_run },
    { .name = "MPICH", .link = "mpich", .program = "tern-peer-mpich", .find = compare_peer_find, .run = mpich_run },
    { .name = "OpenSHMEM",
      .link = "oshmem",
      .env = ENV(UCX_MEMORY, UCX_CALM),
      .options = oshmem_options,
      .program = "tern-peer-oshmem",
      .find = compare_peer_find,
      .run = oshmem_run },
    { .name = "UCX",
      .link = "ucx",
      .env = ENV(UCX_MEMORY, UCX_CALM),
      .program = "ucx_perftest",
      .install = "install ucx-utils",
      .find = compare_program_find,
      .run = compare_ucx_run,
      .pair = true },
    { .name = "UCX UCT",
      .link = "uct",
      .env = ENV(UCX_MEMORY, UCX_CALM),
      .program = "ucx_perftest",
      .install = "install ucx-utils",
      .find = compare_program_find,
      .run = compare_ucx_run,
      .pair = true },
};
const size_t compare_memory_runner_count = sizeof(compare_memory_runners) / sizeof(compare_memory_runners[0]);

/* MPICH's ranks behave as if each were on a machine of its own, and use TCP, whether MPICH is built with UCX or
 * libfabric. */
#define MPICH_TCP VALUE("MPIR_CVAR_NOLOCAL=1"), UCX_TCP, VALUE("FI_PROVIDER=tcp"), UCX_CALM

const struct runner compare_net_runners[] = {
    { .name = "Tern",
      .link = "tern",
      .launcher = "ternrun",
      .program = "tern-perf",
      .install = COMPARE_TERN_MISSING,
      .find = compare_tern_find,
      .run = compare_tern_run },
    { .name = "raw TCP",
      .link = "tcp",
      .launcher = "ternrun",
      .program = "tern-perf",
      .install = COMPARE_TERN_MISSING,
      .find = compare_tern_find,
      .run = compare_tern_run,
      .instead = "limits",
      .pair = true },
    { .name = "fi_pingpong",
      .link = "pingpong",
      .program = "fi_pingpong",
      .install = "install libfabric-bin",
      .find = compare_program_find,
      .run = compare_pingpong_run,
      .pair = true },
    { .name = "iperf3",
      .link = "iperf3",
      .program = "iperf3",
      .install = "install iperf3",
      .find = compare_program_find,
      .run = compare_iperf_run,
      .pair = true },
    { .name = "Open MPI",
      .link = "openmpi",
      .options = openmpi_tcp,
      .program = "tern-peer-openmpi",
      .find = compare_peer_find,
      .run = openmpi_run },
    { .name = "MPICH",
      .link = "mpich",
      .env = ENV(MPICH_TCP),
      .program = "tern-peer-mpich",
      .find = compare_peer_find,
      .run = mpich_run },
    { .name = "OpenSHMEM",
      .link = "oshmem",
      .env = ENV(UCX_TCP, UCX_CALM),
      .options = oshmem_tcp,
      .program = "tern-peer-oshmem",
      .find = compare_peer_find,
      .run = oshmem_run },
    { .name = "UCX",
      .link = "ucx",
      .env = ENV(UCX_TCP, UCX_CALM),
      .program = "ucx_perftest",
      .install = "install ucx-utils",
      .find = compare_program_find,
      .run = compare_ucx_run,
      .pair = true },
};
const size_t compare_net_runner_count = sizeof(compare_net_runners) / sizeof(compare_net_runners[0]);
