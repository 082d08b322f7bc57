/* dial.c: the port of rank 0, and how both sides of a connection to it prove that they are of this job.
 *
 *     rank 0 says    CHALLENGE  mark 4, layout 4, its random bytes 16
 *     the node says  ANSWER     node 4, 0 4, its random bytes 16, hash 8 of both random parts and the node
 *     rank 0 says    PROOF      hash 8 of the same in another order
 *
 * Numbers are in little endian. Nobody waits for a stranger: whoever is silent or wrong is left standing or sent away,
 * and a node tries all addresses of rank 0's machine at the same time and takes the first that proves itself.
 */
#define _GNU_SOURCE 1
#include "boot/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "boot/frame.h"
#include "boot/patience.h"
#include "boot/segment.h"

#define RANDOM_BYTES 16
#define CHALLENGE (8 + RANDOM_BYTES)
#define ANSWER (8 + RANDOM_BYTES + 8)
#define PROOF 8
#define STRANGERS 64 /* connections that may be open and unproved besides those of the nodes */
#define PROOF_S 10   /* who answers a call and does not prove itself within this is not meant */
#define SILENCE_S 20 /* a connection whose other side does not answer for so long is lost */

/* What the hash of either side is over: the other side's random bytes first. */
static uint64_t prove(const uint8_t *key, const uint8_t *theirs, const uint8_t *ours, uint32_t node)
{
    uint8_t text[2 * RANDOM_BYTES + 4];

    memcpy(text, theirs, RANDOM_BYTES);
    memcpy(text + RANDOM_BYTES, ours, RANDOM_BYTES);
    tern_boot_frame_put(text + sizeof(text) - 4, node, 4);
    return tern_base_siphash(key, text, sizeof(text));
}

static tern_status draw(void *bytes, size_t len)
{
    if (getrandom(bytes, len, 0) == (ssize_t)len)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_SYSTEM, "cannot draw random bytes (getrandom): %s", strerror(errno));
}

/* What passes here is short and must not wait; and the end of the other side must not stay unknown. */
static void tune(int fd)
{
    int one = 1, seconds = SILENCE_S / 4, tries = 3, ms = SILENCE_S * 1000;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

/* ---- rank 0: the port ---- */

static int open_port(int family)
{
    struct sockaddr_storage name = { .ss_family = (sa_family_t)family }; /* any address, any port */
    socklen_t               len = family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    int                     off = 0, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)); /* IPv4 comes through it too */
    if (bind(fd, (struct sockaddr *)(void *)&name, len) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    close(fd);
    return -1;
}

static unsigned port_of(int fd)
{
    struct sockaddr_storage name;
    socklen_t               len = sizeof(name);

    if (getsockname(fd, (struct sockaddr *)(void *)&name, &len) != 0)
        return 0;
    return ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&name)->sin6_port
                                            : ((struct sockaddr_in *)(void *)&name)->sin_port);
}

/* Write one address as text; false: it is not one that others can use. */
static bool write_address(const struct ifaddrs *entry, bool loopback, char *text)
{
    const void *address;

    if (entry->ifa_addr == NULL || !(entry->ifa_flags & IFF_UP) || !(entry->ifa_flags & IFF_LOOPBACK) == loopback)
        return false;
    if (entry->ifa_addr->sa_family == AF_INET)
        address = &((const struct sockaddr_in *)(const void *)entry->ifa_addr)->sin_addr;
    else if (entry->ifa_addr->sa_family == AF_INET6)
        address = &((const struct sockaddr_in6 *)(const void *)entry->ifa_addr)->sin6_addr;
    else
        return false;
    if (entry->ifa_addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)address))
        return false; /* means nothing without the name of an interface */
    return inet_ntop(entry->ifa_addr->sa_family, address, text, TERN_DIAL_ADDRESS) != NULL;
}

/* Add the addresses of this machine to text, those of the loopback interface last. */
static void add_addresses(char *text)
{
    struct ifaddrs *list = NULL;
    char            address[TERN_DIAL_ADDRESS];
    int             count = 0;

    if (getifaddrs(&list) != 0)
        list = NULL;
    for (int loopback = 0; loopback <= 1; loopback++)
        for (struct ifaddrs *entry = list; entry != NULL && count < TERN_DIAL_ADDRESSES; entry = entry->ifa_next)
            if (write_address(entry, loopback == 1, address)) {
                snprintf(text + strlen(text), TERN_PMI_VALUE - strlen(text), ",%s", address);
                count++;
            }
    if (list != NULL)
        freeifaddrs(list);
}

tern_status tern_boot_dial_open(struct tern_dial *dial, char text[TERN_PMI_VALUE])
{
    tern_status st = draw(dial->key, sizeof(dial->key));
    int         at;

    if (st != TERN_OK)
        return st;
    dial->door = open_port(AF_INET6);
    if (dial->door < 0)
        dial->door = open_port(AF_INET);
    if (dial->door < 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot open a port for the other nodes of the job: %s",
                              strerror(errno));
    at = snprintf(text, TERN_PMI_VALUE, "%u,", port_of(dial->door));
    for (int i = 0; i < TERN_SIPHASH_KEY; i++)
        at += snprintf(text + at, TERN_PMI_VALUE - (size_t)at, "%02x", dial->key[i]);
    add_addresses(text);
    return TERN_OK;
}

void tern_boot_dial_close(struct tern_dial *dial)
{
    close(dial->door);
    dial->door = -1;
}

/* ---- rank 0: who comes ---- */

/* Someone who has connected and has not proved itself. */
struct caller {
    uint8_t challenge[CHALLENGE], answer[ANSWER];
    size_t  len; /* of the answer so far */
};

struct line {
    struct pollfd *fds;    /* [0] is the door, then [count] callers */
    struct caller *caller; /* [0] is not used */
    int            count, room;
};

static void line_free(struct line *line)
{
    for (int i = 1; i <= line->count; i++)
        close(line->fds[i].fd);
    free(line->fds);
    free(line->caller);
}

static void line_drop(struct line *line, int i, bool hang_up)
{
    if (hang_up)
        close(line->fds[i].fd);
    line->fds[i] = line->fds[line->count];
    line->caller[i] = line->caller[line->count--];
}

static void pick_up(struct line *line)
{
    int            fd = accept4(line->fds[0].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct caller *caller;

    if (fd < 0)
        return;
    if (line->count == line->room)
        line_drop(line, 1, true); /* the one that has been silent for long */
    caller = &line->caller[line->count + 1];
    tern_boot_frame_put(caller->challenge, TERN_SEGMENT_MAGIC, 4);
    tern_boot_frame_put(caller->challenge + 4, TERN_SEGMENT_LAYOUT, 4);
    caller->len = 0;
    tune(fd);
    if (draw(caller->challenge + 8, RANDOM_BYTES) != TERN_OK ||
        send(fd, caller->challenge, CHALLENGE, MSG_NOSIGNAL) != CHALLENGE)
        close(fd);
    else
        line->fds[++line->count] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

/* The node that the caller proves to be; 0: none. */
static uint32_t recognize(const struct tern_dial *dial, const struct caller *caller)
{
    uint32_t node = (uint32_t)tern_boot_frame_get(caller->answer, 4);
    uint64_t hash = tern_boot_frame_get(caller->answer + 8 + RANDOM_BYTES, 8);

    return prove(dial->key, caller->challenge + 8, caller->answer + 8, node) == hash ? node : 0;
}

/* A caller says something, or goes. Returns whether a node has proved itself by that. */
static bool hear_caller(const struct tern_dial *dial, struct line *line, int i, int nodes, int *fds)
{
    struct caller *caller = &line->caller[i];
    int            fd = line->fds[i].fd;
    ssize_t        got = recv(fd, caller->answer + caller->len, ANSWER - caller->len, MSG_DONTWAIT);
    uint8_t        proof[PROOF];
    uint32_t       node;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0)
        return line_drop(line, i, true), false;
    caller->len += (size_t)got;
    if (caller->len < ANSWER)
        return false;
    node = recognize(dial, caller);
    tern_boot_frame_put(proof, prove(dial->key, caller->answer + 8, caller->challenge + 8, node), 8);
    if (node == 0 || node >= (uint32_t)nodes || fds[node] >= 0 || send(fd, proof, PROOF, MSG_NOSIGNAL) != PROOF) {
        tern_base_log(TERN_LOG_WARN, "a stranger connected to the port of this job, and was sent away");
        return line_drop(line, i, true), false;
    }
    fds[node] = fd;
    line_drop(line, i, false);
    return true;
}

tern_status tern_boot_dial_accept(const struct tern_dial *dial, int nodes, int *fds)
{
    struct line          line = { .room = nodes + STRANGERS };
    struct tern_patience patience;
    tern_status          st = TERN_OK;
    int                  missing = nodes - 1;

    for (int node = 1; node < nodes; node++)
        fds[node] = -1;
    line.fds = calloc((size_t)line.room + 1, sizeof(*line.fds));
    line.caller = calloc((size_t)line.room + 1, sizeof(*line.caller));
    if (line.fds == NULL || line.caller == NULL) {
        line_free(&line);
        return tern_base_fail(TERN_ERR_NOMEM, "no memory to meet %d nodes", nodes);
    }
    line.fds[0] = (struct pollfd){ .fd = dial->door, .events = POLLIN };
    tern_boot_patience_begin(&patience, "the other nodes to connect to rank 0");
    while (missing > 0 && (st = tern_boot_patience_poll(&patience, line.fds, (nfds_t)line.count + 1)) == TERN_OK) {
        for (int i = line.count; i > 0; i--) /* downwards: one who leaves is replaced by the last */
            if (line.fds[i].revents != 0)
                missing -= hear_caller(dial, &line, i, nodes, fds);
        if (line.fds[0].revents != 0)
            pick_up(&line);
    }
    line_free(&line);
    for (int node = 1; node < nodes && st != TERN_OK; node++)
        if (fds[node] >= 0)
            close(fds[node]);
    return st;
}

/* ---- the other nodes ---- */

bool tern_boot_dial_read(const char *text, struct tern_dial_target *target)
{
    char        key[2 * TERN_SIPHASH_KEY + 1];
    const char *at;
    int         end = 0;

    *target = (struct tern_dial_target){ .port = 0 };
    if (sscanf(text, "%5u,%32[0-9a-f]%n", &target->port, key, &end) != 2 || target->port < 1 || target->port > 65535 ||
        strlen(key) != 2 * TERN_SIPHASH_KEY)
        return false;
    for (int i = 0; i < TERN_SIPHASH_KEY; i++)
        sscanf(key + 2 * i, "%2hhx", &target->key[i]);
    for (at = text + end; *at == ','; at += strcspn(at, ",")) {
        size_t len = strcspn(++at, ",");

        if (target->count == TERN_DIAL_ADDRESSES || len == 0 || len >= TERN_DIAL_ADDRESS)
            return false;
        memcpy(target->address[target->count++], at, len); /* the rest is 0 */
    }
    return *at == '\0' && target->count > 0;
}

/* The attempts to get to rank 0. */
struct search {
    struct pollfd fds[TERN_DIAL_ADDRESSES];
    int           count;
};

static void call(struct search *search, unsigned port, const char *address)
{
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
    struct sockaddr_in  four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    bool                is_four = inet_pton(AF_INET, address, &four.sin_addr) == 1;
    int                 fd;

    if (!is_four && inet_pton(AF_INET6, address, &six.sin6_addr) != 1)
        return;
    fd = socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    tune(fd);
    if (connect(fd, is_four ? (void *)&four : (void *)&six, is_four ? sizeof(four) : sizeof(six)) != 0 &&
        errno != EINPROGRESS)
        close(fd);
    else
        search->fds[search->count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

/* Read len bytes that are on their way. */
static bool read_all(int fd, void *bytes, size_t len, struct tern_patience *patience)
{
    size_t have = 0;

    while (have < len) {
        ssize_t got;

        if (tern_boot_patience_poll(patience, &(struct pollfd){ fd, POLLIN, 0 }, 1) != TERN_OK)
            return false;
        got = recv(fd, (uint8_t *)bytes + have, len - have, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        have += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* Someone answers the call: is it rank 0? It has not for ever to show that. */
static bool is_rank_0(int fd, const uint8_t *key, uint32_t node, const struct tern_patience *search)
{
    uint8_t              challenge[CHALLENGE], answer[ANSWER] = { 0 }, proof[PROOF];
    struct tern_patience limited = *search, *patience = &limited;
    int64_t              until = tern_base_deadline_in(PROOF_S);

    limited.deadline = until < limited.deadline ? until : limited.deadline;
    if (!read_all(fd, challenge, CHALLENGE, patience) || tern_boot_frame_get(challenge, 4) != TERN_SEGMENT_MAGIC ||
        tern_boot_frame_get(challenge + 4, 4) != TERN_SEGMENT_LAYOUT || draw(answer + 8, RANDOM_BYTES) != TERN_OK)
        return false;
    tern_boot_frame_put(answer, node, 4);
    tern_boot_frame_put(answer + 8 + RANDOM_BYTES, prove(key, challenge + 8, answer + 8, node), 8);
    return send(fd, answer, ANSWER, MSG_NOSIGNAL) == ANSWER && read_all(fd, proof, PROOF, patience) &&
           tern_boot_frame_get(proof, 8) == prove(key, answer + 8, challenge + 8, node);
}

static tern_status unreachable(const char *text, const struct tern_dial_target *target)
{
    const char *addresses = strchr(strchr(text, ',') + 1, ',') + 1;

    return tern_base_fail(
        TERN_ERR_BOOT,
        "cannot reach rank 0 at port %u of %.200s: nobody there answers as a part of this job; the nodes "
        "of a job need TCP between them",
        target->port, addresses);
}

tern_status tern_boot_dial_connect(const char *text, int node, int *fd)
{
    struct tern_dial_target target;
    struct search           search = { .count = 0 };
    struct tern_patience    patience;
    tern_status             st = TERN_OK;
    int                     found = -1;

    if (!tern_boot_dial_read(text, &target))
        return tern_base_fail(TERN_ERR_BOOT, "rank 0 published '%.100s', which is not of Tern", text);
    for (int i = 0; i < target.count; i++)
        call(&search, target.port, target.address[i]);
    tern_boot_patience_begin(&patience, "an answer of rank 0");
    while (found < 0 && search.count > 0 &&
           (st = tern_boot_patience_poll(&patience, search.fds, (nfds_t)search.count)) == TERN_OK)
        for (int i = search.count - 1; i >= 0 && found < 0; i--) {
            int one = search.fds[i].fd;

            if (search.fds[i].revents == 0)
                continue;
            search.fds[i] = search.fds[--search.count];
            if (is_rank_0(one, target.key, (uint32_t)node, &patience))
                found = one;
            else
                close(one);
        }
    for (int i = 0; i < search.count; i++)
        close(search.fds[i].fd);
    if (st == TERN_OK && found < 0)
        st = unreachable(text, &target);
    if (st == TERN_OK)
        *fd = found;
    else if (found >= 0)
        close(found);
    return st;
}
