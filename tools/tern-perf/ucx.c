/* ucx.c: how compare runs ucx_perftest and parses its output.
 *
 * ucx_perftest prints the mean of a run, whereas the other programs print medians of short slices, so that one
 * interruption would affect only UCX. Therefore one server and one client execute a batch of short runs, with the
 * number and length of the other programs' slices, and the median of the batch is stored.
 *
 * The operations per second of the CSV are used. The put_lat, tag_lat and am_lat of ucx_perftest are ping-pongs, so
 * their time per operation is half a round trip; its MB/s count 2^20 bytes and are not used. UCX counts as two
 * programs: UCP, the interface for applications, and UCT, the transport layer below UCP.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare.h"

#define RUNS 5           /* runs in a batch */
#define WORD 8           /* bytes of an atomic operation */
#define UCT_SMALLEST 8   /* bytes: UCT's active messages have a header of this size, which is part of the size */
#define UCT_SHORT 64     /* bytes: longest short message of UCT */
#define UCT_LONGEST 8192 /* bytes: longest message of UCT */

/* Maximum number of operations and of bytes in a run, which should take about 10 ms. */
#define MEMORY_OPERATIONS 50000
#define MEMORY_BYTES (1u << 28)
#define NET_OPERATIONS 1000
#define NET_BYTES (1u << 25)
#define LEAST_OPERATIONS 40

static bool is_uct(const struct runner *runner)
{
    return strcmp(runner->link, "uct") == 0;
}

/* Return the median of the operations per second of all runs, or 0 if the output is incomplete. The head ends in
 * overall_mr; each line after it begins with the name of a run and ends with the number of operations per second. */
static double median_rate(const char *text)
{
    const char *line = text != NULL ? strstr(text, "overall_mr\n") : NULL;
    double      rates[RUNS];
    size_t      n = 0;

    for (; line != NULL && n < RUNS; n++) {
        line = strchr(line, '\n');
        if (line == NULL || sscanf(++line, "%*[^,],%*f,%*f,%*f,%*f,%*f,%*f,%*f,%lf", &rates[n]) != 1 || rates[n] <= 0)
            return 0;
    }
    return n == RUNS ? measure_summarise(rates, n).median : 0;
}

static void keep(const struct runner *runner, const struct compare_test *test, uint64_t size, double rate)
{
    double value = rate;

    if (strcmp(test->unit, "ns") == 0)
        value = 1e9 / rate;
    else if (strcmp(test->unit, "MB/s") == 0)
        value = rate * (double)size / 1e6;
    compare_keep(test, runner, size, test->ucx_metric, value);
}

/* Write the batch file: the same line for each run. Returns false after printing a message. */
static bool write_batch(int fd, const struct runner *runner, const struct compare_test *test,
                        const struct perf_options *o, uint64_t size)
{
    uint64_t bytes = test->sizes == NULL ? WORD : is_uct(runner) && size < UCT_SMALLEST ? UCT_SMALLEST : size;
    uint64_t most = o->net ? NET_OPERATIONS : MEMORY_OPERATIONS;
    uint64_t count = (o->net ? NET_BYTES : MEMORY_BYTES) / (bytes > 0 ? bytes : 1);
    FILE    *f = fdopen(fd, "w");

    if (f == NULL) {
        close(fd);
        return false;
    }
    count = count > most ? most : count < LEAST_OPERATIONS ? LEAST_OPERATIONS : count;
    for (int run = 0; run < RUNS; run++) {
        fprintf(f, "run%d -s %" PRIu64 " -n %" PRIu64 " -w %" PRIu64, run, bytes, count, count / 4);
        if (is_uct(runner))
            fprintf(f, " -t %s -x posix -d memory -D %s\n", test->uct_test, size <= UCT_SHORT ? "short" : "bcopy");
        else
            fprintf(f, " -t %s%s%s\n", test->ucx_test, test->ucx_outstanding != NULL ? " -O " : "",
                    test->ucx_outstanding != NULL ? test->ucx_outstanding : "");
    }
    return fclose(f) == 0;
}

/* Run the batch between a server and a client. Returns the median rate, or 0 after printing a message. */
static double run_batch(const struct runner *runner, const struct compare_test *test, const struct perf_options *o,
                        const char *batch)
{
    char              port[16], first[24], second[24];
    int               number = compare_free_port();
    const char *const server_words[] = { runner->program, "-p", port, "-c", second, "-b", batch, NULL };
    const char *const client_words[] = { runner->program, "127.0.0.1", "-p", port, "-c", first, "-b",
                                         batch,           "-f",        "-v", NULL };
    struct perf_child server, client;
    double            rate = 0;

    compare_two_cpus(first, second);
    snprintf(port, sizeof(port), "%d", number);
    if (number == 0 || !perf_child_start(&server, (char *const *)(uintptr_t)server_words, runner->env, o->limit))
        return 0;
    compare_await_port(number);
    if (perf_child_start(&client, (char *const *)(uintptr_t)client_words, runner->env, o->limit)) {
        if (perf_child_finish(&client))
            rate = median_rate(client.text[0]);
        if (rate <= 0)
            compare_tell_failure(runner, test, &client);
    }
    perf_child_free(&client);
    perf_child_free(&server);
    return rate;
}

static bool run_size(const struct runner *runner, const struct compare_test *test, const struct perf_options *o,
                     uint64_t size)
{
    const char *dir = getenv("TMPDIR");
    char        batch[512];
    double      rate = 0;
    int         fd;

    snprintf(batch, sizeof(batch), "%s/tern-perf-XXXXXX", dir != NULL ? dir : "/tmp");
    fd = mkostemp(batch, 0);
    if (fd < 0) {
        fprintf(stderr, "tern-perf: cannot make a file for ucx_perftest: %s: %m\n", batch);
        return false;
    }
    if (write_batch(fd, runner, test, o, size))
        rate = run_batch(runner, test, o, batch);
    unlink(batch);
    if (rate > 0)
        keep(runner, test, size, rate);
    return rate > 0;
}

bool compare_ucx_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    uint64_t sizes[MEASURE_MAX_SIZES];
    size_t   n;
    bool     ok = true;

    if ((is_uct(runner) ? test->uct_test : test->ucx_test) == NULL)
        return true;
    n = compare_sizes(test, o, sizes);
    for (size_t i = 0; i < n && ok; i++) {
        if (!is_uct(runner) || sizes[i] <= UCT_LONGEST)
            ok = run_size(runner, test, o, sizes[i]);
    }
    return ok;
}
