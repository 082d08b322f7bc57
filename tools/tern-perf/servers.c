/* servers.c: client-server programs for compare that connect through a port of this machine: fi_pingpong,
 * libfabric's own ping-pong, and iperf3, which sends one TCP stream. Each side has a cpu, the same two cpus as the
 * ranks of the other programs.
 *
 * fi_pingpong prints the time of half a round trip; a get or an acknowledged put is compared with twice that time.
 * fi_pingpong has no warm-up, and its first message opens the connection, which takes as long as some thousand
 * messages. Therefore it runs twice, with few messages and with many, and the result is the difference of the two
 * times divided by the difference of the two numbers of messages.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "compare.h"

#define PATIENCE_MS 5000
#define PROVIDER "tcp;ofi_rxm"      /* Tern's own choice on one machine */
#define PINGPONG_BYTES (256u << 20) /* bytes of the longer run */
#define PINGPONG_MOST 11000
#define PINGPONG_LEAST 1100
#define PINGPONG_SHORTER 11 /* the shorter run has this many times fewer messages */
#define IPERF_BYTES "512M"
#define IPERF_LONGEST (1u << 20) /* bytes: longest message that iperf3 sends */

int compare_free_port(void)
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

/* Return whether a process listens on a port, according to the kernel's table. A test connection would be taken for
 * the client. */
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

void compare_await_port(int port)
{
    for (int waited = 0; waited < PATIENCE_MS && !listening(port); waited += 2)
        poll(NULL, 0, 2);
}

/* Return whether two cpus are threads of one core, according to the kernel's list of a cpu's siblings ("0,4" or
 * "0-1"). */
static bool same_core(size_t cpu, size_t other)
{
    char   path[96], line[256] = "";
    FILE  *f;
    char  *at = line;
    size_t low, high;

    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%zu/topology/thread_siblings_list", cpu);
    f = fopen(path, "re");
    if (f == NULL)
        return false;
    if (fgets(line, sizeof(line), f) == NULL)
        line[0] = '\0';
    fclose(f);
    while (*at >= '0' && *at <= '9') {
        low = high = strtoul(at, &at, 10);
        if (*at == '-')
            high = strtoul(at + 1, &at, 10);
        if (other >= low && other <= high)
            return true;
        at += *at == ',';
    }
    return false;
}

void compare_two_cpus(char first[24], char second[24])
{
    cpu_set_t set;
    size_t    one = CPU_SETSIZE, next = CPU_SETSIZE, apart = CPU_SETSIZE;

    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        CPU_ZERO(&set);
    for (size_t i = 0; i < CPU_SETSIZE && apart == CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &set))
            continue;
        if (one == CPU_SETSIZE)
            one = i;
        else if (!same_core(one, i))
            apart = i;
        else if (next == CPU_SETSIZE)
            next = i;
    }
    one = one == CPU_SETSIZE ? 0 : one;
    snprintf(first, 24, "%zu", one);
    snprintf(second, 24, "%zu", apart < CPU_SETSIZE ? apart : next < CPU_SETSIZE ? next : one);
}

/* Start both sides and wait for the client. Returns whether the client succeeded; its output is in *client, which
 * the caller must free in any case. */
static bool run_both_sides(const struct perf_options *o, const char *const *server_words,
                           const char *const *client_words, int port, struct perf_child *client)
{
    struct perf_child server;
    bool              ok = false;

    memset(client, 0, sizeof(*client));
    client->out = client->err = -1;
    if (port == 0 || !perf_child_start(&server, (char *const *)(uintptr_t)server_words, NULL, o->limit))
        return false;
    compare_await_port(port);
    if (perf_child_start(client, (char *const *)(uintptr_t)client_words, NULL, o->limit))
        ok = perf_child_finish(client);
    perf_child_free(&server);
    return ok;
}

/* Return the nanoseconds per message, or 0 if there is no figure. The line after the heads contains bytes, sent,
 * answered, total, seconds, MB/s, and microseconds per message. */
static double pingpong_ns(const char *text)
{
    const char *line = text != NULL ? strstr(text, "Mxfers/sec\n") : NULL;
    double      us = 0;

    if (line == NULL || sscanf(line, "Mxfers/sec %*s %*s %*s %*s %*s %*s %lf", &us) != 1)
        return 0;
    return us * 1e3;
}

/* Run fi_pingpong once. Returns the time of the whole run in nanoseconds, including the connection, or 0 after
 * printing a message. */
static double pingpong_time(const struct runner *runner, const struct compare_test *test, const struct perf_options *o,
                            uint64_t size, uint64_t count)
{
    int               number = compare_free_port();
    char              port[16], bytes[24], iters[24], first[24], second[24];
    const char       *provider = o->provider != NULL ? o->provider : PROVIDER;
    const char *const server[] = { "taskset", "-c",  second, "fi_pingpong", "-p", provider, "-e", "rdm",
                                   "-S",      bytes, "-I",   iters,         "-B", port,     NULL };
    const char *const words[] = { "taskset", "-c",  first, "fi_pingpong", "-p", provider, "-e",        "rdm",
                                  "-S",      bytes, "-I",  iters,         "-P", port,     "127.0.0.1", NULL };
    struct perf_child client;
    double            ns = 0;

    compare_two_cpus(first, second);
    snprintf(port, sizeof(port), "%d", number);
    snprintf(bytes, sizeof(bytes), "%" PRIu64, size);
    snprintf(iters, sizeof(iters), "%" PRIu64, count);
    if (run_both_sides(o, server, words, number, &client))
        ns = pingpong_ns(client.text[0]) * 2 * (double)count;
    if (ns <= 0)
        compare_tell_failure(runner, test, &client);
    perf_child_free(&client);
    return ns;
}

static bool pingpong_size(const struct runner *runner, const struct compare_test *test, const struct perf_options *o,
                          uint64_t size)
{
    uint64_t more = PINGPONG_BYTES / size, few;
    double   longer, shorter, ns;

    more = more > PINGPONG_MOST ? PINGPONG_MOST : more < PINGPONG_LEAST ? PINGPONG_LEAST : more;
    few = more / PINGPONG_SHORTER;
    shorter = pingpong_time(runner, test, o, size, few);
    longer = shorter > 0 ? pingpong_time(runner, test, o, size, more) : 0;
    if (longer <= 0)
        return false;
    ns = (longer - shorter) / (double)(more - few) / 2;
    if (ns <= 0) {
        fprintf(stderr, "tern-perf: fi_pingpong took longer to connect than for %" PRIu64 " round trips\n", more);
        return false;
    }
    compare_keep(test, runner, size, "latency", strcmp(test->name, "barrier") == 0 ? ns : 2 * ns);
    compare_keep(test, runner, size, "latency_complete", 2 * ns);
    compare_keep(test, runner, size, "half_rtt", ns);
    return true;
}

bool compare_pingpong_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    uint64_t sizes[MEASURE_MAX_SIZES];
    size_t   n;
    bool     ok = true;

    if (strcmp(test->unit, "ns") != 0)
        return true;
    n = compare_sizes(test, o, sizes);
    for (size_t i = 0; i < n && ok; i++)
        ok = sizes[i] == 0 || pingpong_size(runner, test, o, sizes[i]);
    return ok;
}

/* Return the receiver's bandwidth in MB/s from the output of iperf3 -J. */
static double iperf_bandwidth(const char *text)
{
    const char *at = text != NULL ? strstr(text, "\"sum_received\"") : NULL;

    at = at != NULL ? strstr(at, "\"bits_per_second\":") : NULL;
    return at != NULL ? strtod(at + strlen("\"bits_per_second\":"), NULL) / 8e6 : 0;
}

static bool iperf_size(const struct runner *runner, const struct compare_test *test, const struct perf_options *o,
                       uint64_t size)
{
    int               number = compare_free_port();
    char              port[16], bytes[24], first[24], second[24];
    const char *const server[] = { "iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", port, "-A", second, NULL };
    const char *const back = test->name[0] == 'g' ? "-R" : NULL; /* gets: the server sends */
    const char *const words[] = { "iperf3", "-c",        "127.0.0.1", "-p",  port, "-A", first,
                                  "-n",     IPERF_BYTES, "-l",        bytes, "-J", back, NULL };
    struct perf_child client;
    double            bandwidth = 0;

    compare_two_cpus(first, second);
    snprintf(port, sizeof(port), "%d", number);
    snprintf(bytes, sizeof(bytes), "%" PRIu64, size < IPERF_LONGEST ? size : IPERF_LONGEST);
    if (run_both_sides(o, server, words, number, &client))
        bandwidth = iperf_bandwidth(client.text[0]);
    if (bandwidth > 0)
        compare_keep(test, runner, size, test->metrics[0], bandwidth);
    else
        compare_tell_failure(runner, test, &client);
    perf_child_free(&client);
    return bandwidth > 0;
}

bool compare_iperf_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    uint64_t sizes[MEASURE_MAX_SIZES];
    size_t   n;
    bool     ok = true;

    if (strcmp(test->unit, "MB/s") != 0)
        return true;
    n = compare_sizes(test, o, sizes);
    for (size_t i = 0; i < n && ok; i++)
        ok = iperf_size(runner, test, o, sizes[i]);
    return ok;
}
