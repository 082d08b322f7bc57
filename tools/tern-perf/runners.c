/* runners.c: how compare starts Tern, Open MPI, MPICH and UCX on two cores of this machine, and reads what they print.
 *
 * Tern and the two MPI peers print tern-perf's CSV. ucx_perftest prints its own, of which the operations per second are
 * used: its put_lat and am_lat are ping-pongs, so a time per operation there is half a round trip, and its MB/s are of
 * 2^20 bytes, which is why they are not used. UCX counts as two programs: UCP, its interface for programs, and UCT, the
 * transport below it. Every run is short, has a time limit, and leaves no process behind.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare.h"

#define RUN_TIME "0.06"
#define RUN_REPEAT "5"
#define MAX_WORDS 32
#define UCT_SMALLEST 8 /* bytes: UCT's active messages have a header of this size, which counts */
#define UCT_SHORT 64   /* up to here its messages are short */
#define UCT_LONGEST 8192

/* Give the first line of what a failed child said, or what became of it. */
static void tell_failure(const struct runner *runner, const struct compare_test *test, const struct perf_child *child)
{
    const char *text = child->text[1] != NULL ? child->text[1] : "it said nothing";

    if (perf_child_stopped())
        return;
    if (child->late)
        fprintf(stderr, "tern-perf: %s %s did not end in time\n", runner->name, test->name);
    else
        fprintf(stderr, "tern-perf: %s %s failed: %.*s\n", runner->name, test->name, (int)strcspn(text, "\n"), text);
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
            compare_keep(test, runner, size, metric, value);
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
            tell_failure(runner, test, &child);
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

/* The words that tern-perf and the MPI peers have in common, behind those that start them. */
static void common_words(const char **words, size_t n, const struct compare_test *test, const char *sizes)
{
    words[n++] = test->name;
    words[n++] = "--csv";
    words[n++] = "--time";
    words[n++] = RUN_TIME;
    words[n++] = "--repeat";
    words[n++] = RUN_REPEAT;
    if (test->sizes != NULL) {
        words[n++] = "--sizes";
        words[n++] = sizes;
    }
    words[n] = NULL;
}

static bool tern_find(const struct runner *runner, const struct perf_options *o)
{
    char path[512];

    (void)o;
    return perf_find_sibling(NULL, runner->launcher, path, sizeof(path)) &&
           perf_find_sibling(NULL, runner->program, path, sizeof(path));
}

static bool tern_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    char        launcher[512], program[512], sizes[2048];
    const char *words[MAX_WORDS] = { launcher, "-n", "2", "--bind", "core", program, "--quiet" };

    perf_find_sibling(NULL, runner->launcher, launcher, sizeof(launcher));
    perf_find_sibling(NULL, runner->program, program, sizeof(program));
    common_words(words, 7, test, sizes_text(test, o, sizes, sizeof(sizes)));
    return run_csv(runner, test, o, (char *const *)(uintptr_t)words, NULL);
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

/* Open MPI gets a directory of its own for its shared memory and its notes, because it leaves both behind when it has
 * to be ended. */
static bool openmpi_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    static char root[] = "OMPI_ALLOW_RUN_AS_ROOT=1", sure[] = "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1";
    static char calm[] = "OMPI_MCA_btl_base_warn_component_unused=0";
    char        dir[] = "/dev/shm/tern-perf-XXXXXX", memory[96], notes[96], program[512], sizes[2048];
    char *const extra_env[] = { root, sure, calm, memory, notes, NULL };
    const char *words[MAX_WORDS] = { runner->launcher, "-n", "2", "--bind-to", "core", "--oversubscribe", program };
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
    common_words(words, 7, test, sizes_text(test, o, sizes, sizeof(sizes)));
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
    common_words(words, 6, test, sizes_text(test, o, sizes, sizeof(sizes)));
    return run_csv(runner, test, o, (char *const *)(uintptr_t)words, NULL);
}

static bool ucx_find(const struct runner *runner, const struct perf_options *o)
{
    char path[512];

    (void)o;
    return perf_find_program(runner->program, path, sizeof(path));
}

/* A port that nobody uses now; 0 if there is none. */
static int free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          length = sizeof(address);
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;

    if (fd < 0)
        return 0;
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &length) == 0)
        port = ntohs(address.sin_port);
    close(fd);
    return port;
}

/* Whether someone listens on a port, by the kernel's table: asking by a connection would be taken for the client. */
static bool listening(int port)
{
    char     line[512];
    unsigned at, state;
    bool     found = false;
    FILE    *f = fopen("/proc/net/tcp", "re");

    while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
        found = sscanf(line, "%*d: %*x:%x %*x:%*x %x", &at, &state) == 2 && at == (unsigned)port && state == 0x0a;
    if (f != NULL)
        fclose(f);
    return found;
}

/* The first and the last core that this process may use, as text. */
static void two_cores(char first[24], char last[24])
{
    cpu_set_t set;
    size_t    low = CPU_SETSIZE, high = 0;

    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        CPU_ZERO(&set);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &set)) {
            low = i < low ? i : low;
            high = i;
        }
    }
    snprintf(first, 24, "%zu", low == CPU_SETSIZE ? 0 : low);
    snprintf(last, 24, "%zu", high);
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
            tell_failure(runner, test, &client);
    }
    perf_child_free(&client);
    return ok;
}

/* One size: a server and a client, through shared memory and cross-memory attach only. */
static bool ucx_size(const struct runner *runner, const struct compare_test *test, const struct perf_options *o,
                     uint64_t size)
{
    static char links[] = "UCX_TLS=posix,sysv,cma,self", calm[] = "UCX_LOG_LEVEL=error";
    char *const extra_env[] = { links, calm, NULL };
    char        port[16], first[24], last[24];
    int         number = free_port();
    char *const words[] = { (char *)(uintptr_t)runner->program, (char[]){ "-p" }, port, (char[]){ "-c" }, last, NULL };
    struct perf_child server;
    bool              ok = false;

    two_cores(first, last);
    snprintf(port, sizeof(port), "%d", number);
    if (number == 0 || !perf_child_start(&server, words, extra_env, o->limit))
        return false;
    for (int waited = 0; waited < 5000 && !listening(number); waited += 2)
        poll(NULL, 0, 2);
    ok = ucx_client(runner, test, o, size, port, first, extra_env);
    perf_child_free(&server);
    return ok;
}

static bool ucx_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    uint64_t sizes[MEASURE_MAX_SIZES];
    size_t   n = o->size_count;
    bool     ok = true;

    if ((is_uct(runner) ? test->uct_test : test->ucx_test) == NULL)
        return true;
    memcpy(sizes, o->sizes, n * sizeof(*sizes));
    if (n == 0)
        n = measure_sizes_from(0, test->sizes, sizes, MEASURE_MAX_SIZES);
    for (size_t i = 0; i < n && ok; i++) {
        if (!is_uct(runner) || sizes[i] <= UCT_LONGEST)
            ok = ucx_size(runner, test, o, sizes[i]);
    }
    return ok;
}

const struct runner compare_runners[COMPARE_RUNNERS] = {
    { "Tern", "tern", "ternrun", "tern-perf", "ternrun and tern-perf must lie in the same directory or in PATH",
      tern_find, tern_run },
    { "Open MPI", "openmpi", "mpirun.openmpi", "tern-peer-openmpi",
      "install openmpi-bin and libopenmpi-dev, then build Tern again", mpi_find, openmpi_run },
    { "MPICH", "mpich", "mpiexec.mpich", "tern-peer-mpich", "install mpich and libmpich-dev, then build Tern again",
      mpi_find, mpich_run },
    { "UCX", "ucx", NULL, "ucx_perftest", "install ucx-utils", ucx_find, ucx_run },
    { "UCX UCT", "uct", NULL, "ucx_perftest", "install ucx-utils", ucx_find, ucx_run },
};
