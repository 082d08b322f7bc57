/* runners.c: how compare starts Tern, Open MPI, MPICH and UCX on two cores of this machine, and reads what they print.
 * Over the network, all of them are kept from memory that they share, and use TCP through the loopback interface.
 *
 * Tern and the two MPI peers print tern-perf's CSV. ucx_perftest prints its own, of which the operations per second are
 * used: its put_lat and am_lat are ping-pongs, so a time per operation there is half a round trip, and its MB/s are of
 * 2^20 bytes, which is why they are not used. UCX counts as two programs: UCP, its interface for programs, and UCT, the
 * transport below it. Every run is short, has a time limit, and leaves no process behind.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare.h"

#define RUN_TIME "0.06"
#define RUN_REPEAT "5"
#define MAX_WORDS 32
#define UCT_SMALLEST 8 /* bytes: UCT's active messages have a header of this size, which counts */
#define UCT_SHORT 64   /* up to here its messages are short */
#define UCT_LONGEST 8192

void compare_tell_failure(const struct runner *runner, const struct compare_test *test, const struct perf_child *child)
{
    const char *text = child->text[1] != NULL ? child->text[1] : "it said nothing";

    if (perf_child_stopped())
        return;
    if (child->late)
        fprintf(stderr, "tern-perf: %s %s did not end in time\n", runner->name, test->name);
    else
        fprintf(stderr, "tern-perf: %s %s failed: %.*s\n", runner->name, test->name, (int)strcspn(text, "\n"), text);
}

/* What tern-perf's limits call the figures that are compared under other names. */
static const char *common_name(const struct compare_test *test, const char *metric)
{
    if (strcmp(metric, "tcp_rtt") == 0)
        return "latency";
    if (strcmp(metric, "tcp_half_rtt") == 0)
        return "half_rtt";
    return strcmp(metric, test->name[0] == 'g' ? "tcp_from" : "tcp_to") == 0 ? "bandwidth" : metric;
}

/* Take the figures out of tern-perf's CSV. */
static bool read_csv(const struct runner *runner, const struct compare_test *test, const char *text)
{
    char     metric[64];
    uint64_t size;
    double   value;
    bool     any = false;

    for (; text != NULL && *text != '\0'; text = strchr(text, '\n'), text = text != NULL ? text + 1 : NULL) {
        if (sscanf(text, "%*[^,],%*[^,],%*d,%" SCNu64 ",%63[^,],%lf", &size, metric, &value) == 3) {
            compare_keep(test, runner, size, common_name(test, metric), value);
            any = true;
        }
    }
    return any;
}

/* Start words, wait, read. */
static bool run_csv(const struct runner *runner, const struct compare_test *test, const struct perf_options *o,
                    char *const words[], char *const extra_env[])
{
    struct perf_child child;
    bool              ok = false;

    if (perf_child_start(&child, words, extra_env, o->limit)) {
        ok = perf_child_finish(&child) && read_csv(runner, test, child.text[0]);
        if (!ok)
            compare_tell_failure(runner, test, &child);
    }
    perf_child_free(&child);
    return ok;
}

/* The sizes of a test as text: those of the command line, or the test's own. */
static const char *sizes_text(const struct compare_test *test, const struct perf_options *o, char *text, size_t room)
{
    size_t at = 0;

    if (o->size_count == 0)
        return test->sizes;
    for (size_t i = 0; i < o->size_count && at < room; i++)
        at += (size_t)snprintf(text + at, room - at, "%s%" PRIu64, i > 0 ? "," : "", o->sizes[i]);
    return text;
}

size_t compare_sizes(const struct compare_test *test, const struct perf_options *o, uint64_t *sizes)
{
    if (o->size_count == 0)
        return measure_sizes_from(0, test->sizes, sizes, MEASURE_MAX_SIZES);
    memcpy(sizes, o->sizes, o->size_count * sizeof(*sizes));
    return o->size_count;
}

/* The words that tern-perf and the MPI peers have in common, behind those that start them. */
static void common_words(const char **words, size_t n, const struct runner *runner, const struct compare_test *test,
                         const char *sizes)
{
    words[n++] = runner->instead != NULL ? runner->instead : test->test != NULL ? test->test : test->name;
    words[n++] = "--csv";
    words[n++] = "--time";
    words[n++] = RUN_TIME;
    words[n++] = "--repeat";
    words[n++] = RUN_REPEAT;
    if (test->sizes != NULL) {
        words[n++] = "--sizes";
        words[n++] = sizes;
    }
    if (test->window != NULL && runner->instead == NULL) {
        words[n++] = "--window";
        words[n++] = test->window;
    }
    if (test->element != NULL) {
        words[n++] = "--element";
        words[n++] = test->element;
    }
    words[n] = NULL;
}

bool compare_tern_find(const struct runner *runner, const struct perf_options *o)
{
    char path[512];

    (void)o;
    return perf_find_sibling(NULL, runner->launcher, path, sizeof(path)) &&
           perf_find_sibling(NULL, runner->program, path, sizeof(path));
}

bool compare_tern_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    char        launcher[512], program[512], sizes[2048];
    const char *words[MAX_WORDS] = { launcher, "-n", "2", "--bind", "core", program, "--quiet" };

    perf_find_sibling(NULL, runner->launcher, launcher, sizeof(launcher));
    perf_find_sibling(NULL, runner->program, program, sizeof(program));
    common_words(words, 7, runner, test, sizes_text(test, o, sizes, sizeof(sizes)));
    return run_csv(runner, test, o, (char *const *)(uintptr_t)words, runner->env);
}

static bool mpi_find(const struct runner *runner, const struct perf_options *o)
{
    char path[512];

    return perf_find_program(runner->launcher, path, sizeof(path)) &&
           perf_find_sibling(o->peers, runner->program, path, sizeof(path));
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

/* TCP alone. Of its one-sided components only pt2pt runs over it: rdma wants atomics, which TCP has not. */
static const char *const openmpi_tcp[] = { "--mca", "pml",      "ob1",   "--mca",
                                           "btl",   "tcp,self", "--mca", "btl_tcp_if_include",
                                           "lo",    "--mca",    "osc",   "pt2pt",
                                           NULL };

/* Open MPI gets a directory of its own for its shared memory and its notes, because it leaves both behind when it has
 * to be ended. */
static bool openmpi_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    static char root[] = "OMPI_ALLOW_RUN_AS_ROOT=1", sure[] = "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1";
    static char calm[] = "OMPI_MCA_btl_base_warn_component_unused=0";
    char        dir[] = "/dev/shm/tern-perf-XXXXXX", memory[96], notes[96], program[512], sizes[2048];
    char *const extra_env[] = { root, sure, calm, memory, notes, NULL };
    const char *words[MAX_WORDS] = { runner->launcher, "-n", "2", "--bind-to", "core", "--oversubscribe" };
    size_t      n = 6;
    bool        ok;

    if (test->no_mpi)
        return true;
    if (mkdtemp(dir) == NULL) {
        fprintf(stderr, "tern-perf: cannot make a directory in /dev/shm: %s\n", strerror(errno));
        return false;
    }
    snprintf(memory, sizeof(memory), "OMPI_MCA_btl_vader_backing_directory=%s", dir);
    snprintf(notes, sizeof(notes), "OMPI_MCA_orte_tmpdir_base=%s", dir);
    perf_find_sibling(o->peers, runner->program, program, sizeof(program));
    for (size_t i = 0; o->net && openmpi_tcp[i] != NULL; i++)
        words[n++] = openmpi_tcp[i];
    words[n++] = program;
    common_words(words, n, runner, test, sizes_text(test, o, sizes, sizeof(sizes)));
    ok = run_csv(runner, test, o, (char *const *)(uintptr_t)words, extra_env);
    nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return ok;
}

static bool mpich_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    char        program[512], sizes[2048];
    const char *words[MAX_WORDS] = { runner->launcher, "-n", "2", "-bind-to", "core", program };

    if (test->no_mpi)
        return true;
    perf_find_sibling(o->peers, runner->program, program, sizeof(program));
    common_words(words, 6, runner, test, sizes_text(test, o, sizes, sizeof(sizes)));
    return run_csv(runner, test, o, (char *const *)(uintptr_t)words, runner->env);
}

bool compare_program_find(const struct runner *runner, const struct perf_options *o)
{
    char path[512];

    (void)o;
    return perf_find_program(runner->program, path, sizeof(path));
}

/* The last line of ucx_perftest -f -v ends in operations per second. */
static bool ucx_read(const struct runner *runner, const struct compare_test *test, uint64_t size, const char *text)
{
    const char *line = text != NULL ? strstr(text, "overall_mr\n") : NULL;
    double      rate = 0;

    if (line == NULL || sscanf(line, "overall_mr\n%*f,%*f,%*f,%*f,%*f,%*f,%*f,%lf", &rate) != 1 || rate <= 0)
        return false;
    if (strcmp(test->unit, "ns") == 0)
        compare_keep(test, runner, size, test->ucx_metric, 1e9 / rate);
    else
        compare_keep(test, runner, size, test->ucx_metric,
                     strcmp(test->unit, "MB/s") == 0 ? rate * (double)size / 1e6 : rate);
    return true;
}

static bool is_uct(const struct runner *runner)
{
    return strcmp(runner->link, "uct") == 0;
}

/* The words that tell ucx_perftest which test, and which transport and layout where it is one of UCT. */
static void ucx_words(const struct runner *runner, const struct compare_test *test, uint64_t size, const char **words)
{
    const char *layout = size <= UCT_SHORT ? "short" : "bcopy";
    const char *uct[] = { "-t", test->uct_test, "-x", "posix", "-d", "memory", "-D", layout, NULL };
    const char *ucp[] = { "-t", test->ucx_test, test->ucx_outstanding != NULL ? "-O" : NULL, test->ucx_outstanding,
                          NULL };

    if (is_uct(runner))
        memcpy(words, uct, sizeof(uct));
    else
        memcpy(words, ucp, sizeof(ucp));
}

/* The client's side of a run: about as long as the other programs' runs. */
static bool ucx_client(const struct runner *runner, const struct compare_test *test, const struct perf_options *o,
                       uint64_t size, char *port, char *core, char *const extra_env[])
{
    uint64_t          count = (1ull << 30) / (size > 0 ? size : 1);
    char              bytes[24], iters[24], warm_up[24];
    struct perf_child client;
    const char       *words[MAX_WORDS] = { runner->program, "127.0.0.1", "-p",  port, "-c",    core, "-s",
                                           bytes,           "-n",        iters, "-w", warm_up, "-f", "-v" };
    bool              ok = false;

    count = count > 500000 ? 500000 : count < 200 ? 200 : count;
    snprintf(bytes, sizeof(bytes), "%" PRIu64, is_uct(runner) && size < UCT_SMALLEST ? UCT_SMALLEST : size);
    snprintf(iters, sizeof(iters), "%" PRIu64, count);
    snprintf(warm_up, sizeof(warm_up), "%" PRIu64, count / 10);
    ucx_words(runner, test, size, words + 14);
    if (perf_child_start(&client, (char *const *)(uintptr_t)words, extra_env, o->limit)) {
        ok = perf_child_finish(&client) && ucx_read(runner, test, size, client.text[0]);
        if (!ok)
            compare_tell_failure(runner, test, &client);
    }
    perf_child_free(&client);
    return ok;
}

/* One size: a server and a client, through shared memory and cross-memory attach only. */
static bool ucx_size(const struct runner *runner, const struct compare_test *test, const struct perf_options *o,
                     uint64_t size)
{
    char *const *extra_env = runner->env;
    char         port[16], first[24], last[24];
    int          number = compare_free_port();
    char *const  words[] = { (char *)(uintptr_t)runner->program, (char[]){ "-p" }, port, (char[]){ "-c" }, last, NULL };
    struct perf_child server;
    bool              ok = false;

    compare_two_cores(first, last);
    snprintf(port, sizeof(port), "%d", number);
    if (number == 0 || !perf_child_start(&server, words, extra_env, o->limit))
        return false;
    compare_await_port(number);
    ok = ucx_client(runner, test, o, size, port, first, extra_env);
    perf_child_free(&server);
    return ok;
}

static bool ucx_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    uint64_t sizes[MEASURE_MAX_SIZES];
    size_t   n;
    bool     ok = true;

    if ((is_uct(runner) ? test->uct_test : test->ucx_test) == NULL)
        return true;
    n = compare_sizes(test, o, sizes);
    for (size_t i = 0; i < n && ok; i++) {
        if (!is_uct(runner) || sizes[i] <= UCT_LONGEST)
            ok = ucx_size(runner, test, o, sizes[i]);
    }
    return ok;
}

#define ENV(...) ((char *[]){ __VA_ARGS__, NULL })
#define VALUE(text) ((char[]){ text })
#define UCX_CALM VALUE("UCX_LOG_LEVEL=error")
#define UCX_MEMORY VALUE("UCX_TLS=posix,sysv,cma,self")
#define UCX_TCP VALUE("UCX_TLS=tcp,self"), VALUE("UCX_NET_DEVICES=lo")

#define TERN_MISSING "ternrun and tern-perf must lie in the same directory or in PATH"
#define OPENMPI_MISSING "install openmpi-bin and libopenmpi-dev, then build Tern again"
#define MPICH_MISSING "install mpich and libmpich-dev, then build Tern again"

const struct runner compare_memory_runners[] = {
    { .name = "Tern",
      .link = "tern",
      .launcher = "ternrun",
      .program = "tern-perf",
      .install = TERN_MISSING,
      .find = compare_tern_find,
      .run = compare_tern_run },
    { .name = "Open MPI",
      .link = "openmpi",
      .launcher = "mpirun.openmpi",
      .program = "tern-peer-openmpi",
      .install = OPENMPI_MISSING,
      .find = mpi_find,
      .run = openmpi_run },
    { .name = "MPICH",
      .link = "mpich",
      .launcher = "mpiexec.mpich",
      .program = "tern-peer-mpich",
      .install = MPICH_MISSING,
      .find = mpi_find,
      .run = mpich_run },
    { .name = "UCX",
      .link = "ucx",
      .env = ENV(UCX_MEMORY, UCX_CALM),
      .program = "ucx_perftest",
      .install = "install ucx-utils",
      .find = compare_program_find,
      .run = ucx_run },
    { .name = "UCX UCT",
      .link = "uct",
      .env = ENV(UCX_MEMORY, UCX_CALM),
      .program = "ucx_perftest",
      .install = "install ucx-utils",
      .find = compare_program_find,
      .run = ucx_run },
};
const size_t compare_memory_runner_count = sizeof(compare_memory_runners) / sizeof(compare_memory_runners[0]);

/* MPICH's ranks behave as if each had a machine of its own; whether it is built for UCX or for libfabric, by TCP. */
#define MPICH_TCP VALUE("MPIR_CVAR_NOLOCAL=1"), UCX_TCP, VALUE("FI_PROVIDER=tcp"), UCX_CALM

const struct runner compare_net_runners[] = {
    { .name = "Tern",
      .link = "tern",
      .launcher = "ternrun",
      .program = "tern-perf",
      .install = TERN_MISSING,
      .find = compare_tern_find,
      .run = compare_tern_run },
    { .name = "raw TCP",
      .link = "tcp",
      .launcher = "ternrun",
      .program = "tern-perf",
      .install = TERN_MISSING,
      .find = compare_tern_find,
      .run = compare_tern_run,
      .instead = "limits" },
    { .name = "fi_pingpong",
      .link = "pingpong",
      .program = "fi_pingpong",
      .install = "install libfabric-bin",
      .find = compare_program_find,
      .run = compare_pingpong_run },
    { .name = "iperf3",
      .link = "iperf3",
      .program = "iperf3",
      .install = "install iperf3",
      .find = compare_program_find,
      .run = compare_iperf_run },
    { .name = "Open MPI",
      .link = "openmpi",
      .launcher = "mpirun.openmpi",
      .program = "tern-peer-openmpi",
      .install = OPENMPI_MISSING,
      .find = mpi_find,
      .run = openmpi_run },
    { .name = "MPICH",
      .link = "mpich",
      .env = ENV(MPICH_TCP),
      .launcher = "mpiexec.mpich",
      .program = "tern-peer-mpich",
      .install = MPICH_MISSING,
      .find = mpi_find,
      .run = mpich_run },
};
const size_t compare_net_runner_count = sizeof(compare_net_runners) / sizeof(compare_net_runners[0]);
