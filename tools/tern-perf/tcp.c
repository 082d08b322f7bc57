/* tcp.c: the performance of TCP between ranks 0 and 1 without libfabric and without Tern: the limit of tests whose
 * ranks share only a network.
 *
 * There is one connection, opened together with the memory of the test. It uses the loopback interface if both ranks
 * are on one machine, and the first other interface otherwise. Both sides poll for data without sleeping, like ranks
 * that wait. A message is one call of send; the receiver reads and discards the message.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perf.h"

#define PATIENCE_MS 10000

/* The address of rank 1. */
struct door {
    uint64_t network; /* equal on ranks that share a loopback interface */
    uint32_t address; /* in network byte order; 0: only the loopback address */
    uint16_t port;    /* in network byte order; 0: none */
};

static void fail(const char *what)
{
    char text[200];

    snprintf(text, sizeof(text), "tern-perf: the limit (TCP): %s: %s", what, strerror(errno));
    tern_abort(1, text);
}

/* Return a number that identifies the machine and its network namespace. */
static uint64_t network_number(void)
{
    char        line[64] = "";
    struct stat about = { 0 };
    uint64_t    number = 14695981039346656037u; /* FNV-1a */
    FILE       *f = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (f != NULL) {
        if (fgets(line, sizeof(line), f) == NULL)
            line[0] = '\0';
        fclose(f);
    }
    for (const char *at = line; *at != '\0'; at++)
        number = (number ^ (unsigned char)*at) * 1099511628211u;
    if (stat("/proc/self/ns/net", &about) == 0)
        number ^= (uint64_t)about.st_ino << 16;
    return number;
}

/* Return the first address that other machines may reach. */
static uint32_t outer_address(void)
{
    struct ifaddrs *all = NULL;
    uint32_t        found = 0;

    if (getifaddrs(&all) < 0)
        return 0;
    for (const struct ifaddrs *i = all; i != NULL && found == 0; i = i->ifa_next) {
        if (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET)
            found = ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr.s_addr;
        if (ntohl(found) >> 24 == IN_LOOPBACKNET)
            found = 0;
    }
    freeifaddrs(all);
    return found;
}

static int listen_somewhere(uint16_t *port)
{
    struct sockaddr_in any = { .sin_family = AF_INET };
    socklen_t          length = sizeof(any);
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 1) < 0 ||
        getsockname(fd, (struct sockaddr *)&any, &length) < 0)
        fail("listening");
    *port = any.sin_port;
    return fd;
}

static int call(const struct door *there, uint64_t here)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = there->port };
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = there->network == here ? htonl(INADDR_LOOPBACK) : there->address;
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        fail("connecting");
    return fd;
}

static int answer(int listener)
{
    struct pollfd wait = { listener, POLLIN, 0 };
    int           fd = poll(&wait, 1, PATIENCE_MS) == 1 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;

    if (fd < 0)
        fail("accepting");
    close(listener);
    return fd;
}

void perf_tcp_open(struct perf *p)
{
    struct door  mine = { .network = network_number(), .address = outer_address() };
    struct door *all = (struct door *)(void *)p->gather;
    int          listener = p->rank == 1 ? listen_somewhere(&mine.port) : -1, on = 1;

    perf_must(tern_allgather(p->ctx, &mine, sizeof(mine), all), "all-gather");
    if (p->rank == 0)
        p->tcp = call(&all[1], mine.network);
    if (p->rank == 1)
        p->tcp = answer(listener);
    if (p->rank <= 1)
        setsockopt(p->tcp, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void perf_tcp_close(struct perf *p)
{
    if (p->tcp >= 0)
        close(p->tcp);
    p->tcp = -1;
}

/* Prepare for a retry after a send or receive that would block. Yields the core if ranks share cores. Other errors
 * end the job. */
static void again(const struct perf *p, const char *what)
{
    if (errno != EAGAIN && errno != EINTR)
        fail(what);
    if (!p->cores)
        sched_yield();
}

static void send_all(const struct perf *p, const unsigned char *from, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = send(p->tcp, from + done, len - done, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n > 0)
            done += (size_t)n;
        else
            again(p, "sending");
    }
}

/* Receive len bytes. Each read overwrites to, which has size bytes. */
static void recv_all(const struct perf *p, unsigned char *to, size_t size, uint64_t len)
{
    while (len > 0) {
        ssize_t n = recv(p->tcp, to, len < size ? len : size, MSG_DONTWAIT);

        if (n > 0)
            len -= (uint64_t)n;
        else if (n == 0)
            tern_abort(1, "tern-perf: the limit (TCP): the other rank closed the connection");
        else
            again(p, "receiving");
    }
}

void perf_tcp_pingpong(struct perf_case *c, uint64_t iters)
{
    size_t len = c->size > 0 ? c->size : 1; /* send needs at least one byte */

    for (uint64_t i = 0; i < iters; i++) {
        if (c->p->rank != 0)
            recv_all(c->p, c->p->mine, len, len);
        send_all(c->p, c->p->local, len);
        if (c->p->rank == 0)
            recv_all(c->p, c->p->mine, len, len);
    }
}

/* Send messages in one direction; the receiver answers with one byte for all of them. */
static void stream(struct perf_case *c, uint64_t iters, int sender)
{
    uint64_t messages = iters * (c->window > 0 ? c->window : 1);

    if (c->p->rank != sender) {
        recv_all(c->p, c->p->mine, c->size, messages * c->size);
        send_all(c->p, c->p->local, 1);
        return;
    }
    for (uint64_t i = 0; i < messages; i++)
        send_all(c->p, c->p->local, c->size);
    recv_all(c->p, c->p->mine, 1, 1);
}

void perf_tcp_to(struct perf_case *c, uint64_t iters)
{
    stream(c, iters, 0);
}

void perf_tcp_from(struct perf_case *c, uint64_t iters)
{
    stream(c, iters, 1);
}
