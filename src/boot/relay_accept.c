/* relay_accept.c: rank 0 takes the calls of the other nodes, and those of strangers.
 *
 * Nobody waits for a stranger. Callers stand in the order in which they came, and none of them is waited for: rank 0
 * hears whoever speaks. Places are limited, in all and for each source address. Where there is none the oldest
 * caller that has said nothing of worth goes, of its own source where that has its share; before it goes it is heard
 * once more. A node speaks first and at once (handshake.h), so what it says has often arrived before rank 0 takes
 * the call. A node that was sent away all the same calls again.
 * */
#define _GNU_SOURCE 1
#include "boot/relay_connect.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "boot/handshake.h"
#include "boot/poll_deadline.h"

#define STRANGERS 256 /* callers that may stand in line besides the nodes, */
#define OF_SOURCE 64  /* and so many of one source address */
#define AT_ONCE 64    /* calls that are taken before those in line are heard again */
#define SOURCE 16

/* Someone who has called and has not proved itself. */
struct caller {
    uint8_t               source[SOURCE]; /* its address, of IPv6 the network's half of it */
    bool                  greeted;        /* HELLO was right, WELCOME is said, and CONFIRM is to come */
    struct tern_handshake greet;
    uint8_t               said[TERN_HANDSHAKE_HELLO];
    size_t                len; /* of said */
};

struct line {
    const struct tern_relay_listener *dial;
    struct tern_relay_conn           *nodes; /* [count_of_nodes], fd -1: has not come */
    int                               count_of_nodes, missing;
    struct pollfd                    *fds;    /* [0] is the door, then [count] callers, the oldest first */
    struct caller                    *caller; /* [0] is not used */
    int                               count, room;
    bool                              warned; /* of strangers: once is enough */
};

static void drop(struct line *line, int i, bool hang_up)
{
    size_t behind = (size_t)(line->count - i);

    if (hang_up)
        close(line->fds[i].fd);
    memmove(&line->fds[i], &line->fds[i + 1], behind * sizeof(line->fds[0]));
    memmove(&line->caller[i], &line->caller[i + 1], behind * sizeof(line->caller[0]));
    line->count--;
}

static void send_away(struct line *line, int i)
{
    if (!line->warned)
        tern_base_log(TERN_LOG_WARN, "a stranger connected to the port of this job, and was sent away");
    line->warned = true;
    drop(line, i, true);
}

/* ---- hearing a caller ---- */

/* A whole HELLO has come. */
static bool hear_hello(struct line *line, int i)
{
    struct caller *caller = &line->caller[i];
    uint8_t        welcome[TERN_HANDSHAKE_WELCOME];

    if (!tern_boot_handshake_read_hello(&caller->greet, caller->said) || caller->greet.node == 0 ||
        caller->greet.node >= (uint32_t)line->count_of_nodes ||
        tern_boot_handshake_draw(caller->greet.hub_random) != TERN_OK)
        return false;
    tern_boot_relay_socket_tune(line->fds[i].fd);
    tern_boot_handshake_welcome(&caller->greet, welcome);
    caller->greeted = true;
    caller->len = 0;
    return send(line->fds[i].fd, welcome, sizeof(welcome), MSG_NOSIGNAL) == sizeof(welcome);
}

/* A whole CONFIRM has come. A node that comes once more has lost its first connection. */
static bool hear_confirm(struct line *line, int i)
{
    struct caller          *caller = &line->caller[i];
    struct tern_relay_conn *node = &line->nodes[caller->greet.node];
    uint8_t                 accepted[TERN_HANDSHAKE_TAG];

    tern_boot_handshake_say(&caller->greet, TERN_HANDSHAKE_IS_ACCEPTED, accepted);
    if (!tern_boot_handshake_is(&caller->greet, TERN_HANDSHAKE_IS_CONFIRM, caller->said) ||
        send(line->fds[i].fd, accepted, sizeof(accepted), MSG_NOSIGNAL) != sizeof(accepted))
        return false;
    if (node->fd >= 0)
        close(node->fd);
    else
        line->missing--;
    node->fd = line->fds[i].fd;
    tern_boot_handshake_keys(&caller->greet, true, &node->keys);
    drop(line, i, false);
    return true;
}

/* Take what the caller says. It leaves the line when it has proved itself, is wrong, or has gone. */
static void hear(struct line *line, int i)
{
    struct caller *caller = &line->caller[i];
    size_t         whole = caller->greeted ? TERN_HANDSHAKE_TAG : TERN_HANDSHAKE_HELLO;
    ssize_t        got = recv(line->fds[i].fd, caller->said + caller->len, whole - caller->len, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        drop(line, i, true);
        return;
    }
    caller->len += (size_t)got;
    if (caller->len == whole && !(caller->greeted ? hear_confirm(line, i) : hear_hello(line, i)))
        send_away(line, i);
}

/* ---- who calls ---- */

/* The oldest caller, of those that were not greeted if there is one; of a source, unless that is NULL. 0: none. */
static int oldest(const struct line *line, const uint8_t *source)
{
    int found = 0;

    for (int i = line->count; i > 0; i--)
        if ((source == NULL || memcmp(line->caller[i].source, source, SOURCE) == 0) &&
            (found == 0 || !line->caller[i].greeted || line->caller[found].greeted))
            found = i;
    return found;
}

static int count_of(const struct line *line, const uint8_t *source)
{
    int count = 0;

    for (int i = 1; i <= line->count; i++)
        count += memcmp(line->caller[i].source, source, SOURCE) == 0;
    return count;
}

/* Someone has to go. */
static void dismiss(struct line *line, const uint8_t *source)
{
    int  i = oldest(line, source), before = line->count;
    bool greeted = line->caller[i].greeted;

    hear(line, i);
    if (line->count == before && line->caller[i].greeted == greeted)
        drop(line, i, true);
}

static void add_caller(struct line *line, int fd, const struct sockaddr_storage *from)
{
    struct caller           caller = { .len = 0 };
    struct sockaddr_storage here;
    socklen_t               len = sizeof(here);
    static const uint8_t    mapped[10];

    if (!tern_boot_handshake_place(&caller.greet, from)) {
        close(fd);
        return;
    }
    memcpy(caller.source, caller.greet.address, SOURCE);
    if (memcmp(caller.source, mapped, sizeof(mapped)) != 0)
        memset(caller.source + SOURCE / 2, 0, SOURCE / 2); /* the rest is the caller's to choose */
    while (count_of(line, caller.source) >= line->count_of_nodes + OF_SOURCE)
        dismiss(line, caller.source);
    while (line->count == line->room)
        dismiss(line, NULL);
    memcpy(caller.greet.key, line->dial->key, TERN_SIPHASH_KEY);
    if (getsockname(fd, (struct sockaddr *)(void *)&here, &len) != 0 ||
        !tern_boot_handshake_place(&caller.greet, &here)) {
        close(fd);
        return;
    }
    line->fds[++line->count] = (struct pollfd){ .fd = fd, .events = POLLIN };
    line->caller[line->count] = caller;
    hear(line, line->count);
}

/* Take the calls that have come, or some of them. */
static tern_status pick_up(struct line *line)
{
    for (int i = 0; i < AT_ONCE && line->missing > 0; i++) {
        struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
        socklen_t               len = sizeof(from);
        int fd = accept4(line->fds[0].fd, (struct sockaddr *)(void *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0)
            add_caller(line, fd, &from);
        else if (errno == EAGAIN)
            break;
        else if ((errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) && line->count > 0)
            dismiss(line, NULL);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            return tern_base_fail(TERN_ERR_SYSTEM,
                                  "rank 0 cannot take the connections of %d nodes: %s; see 'ulimit -n'",
                                  line->count_of_nodes - 1, strerror(errno));
    }
    return TERN_OK;
}

/* ---- all ---- */

static tern_status line_open(struct line *line)
{
    line->fds = calloc((size_t)line->room + 1, sizeof(*line->fds));
    line->caller = calloc((size_t)line->room + 1, sizeof(*line->caller));
    for (int node = 1; node < line->count_of_nodes; node++)
        line->nodes[node].fd = -1;
    if (line->fds == NULL || line->caller == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory to meet %d nodes", line->count_of_nodes);
    line->fds[0] = (struct pollfd){ .fd = line->dial->door, .events = POLLIN };
    return TERN_OK;
}

static void line_close(struct line *line, bool failed)
{
    for (int i = 1; i <= line->count; i++)
        close(line->fds[i].fd);
    for (int node = 1; node < line->count_of_nodes && failed; node++)
        if (line->nodes[node].fd >= 0)
            close(line->nodes[node].fd);
    free(line->fds);
    free(line->caller);
}

tern_status tern_boot_relay_accept(const struct tern_relay_listener *dial, int nodes, struct tern_relay_conn *lines)
{
    struct line line = {
        .dial = dial, .nodes = lines, .count_of_nodes = nodes, .missing = nodes - 1, .room = nodes + STRANGERS
    };
    struct tern_poll_deadline patience;
    tern_status               st = line_open(&line);

    tern_boot_poll_begin(&patience, "the other nodes to connect to rank 0");
    while (st == TERN_OK && line.missing > 0 &&
           (st = tern_boot_poll(&patience, line.fds, (nfds_t)line.count + 1)) == TERN_OK) {
        bool rings = line.fds[0].revents != 0;

        for (int i = line.count; i > 0; i--) /* downwards: one who leaves moves those behind it only */
            if (line.fds[i].revents != 0)
                hear(&line, i);
        if (rings)
            st = pick_up(&line);
    }
    line_close(&line, st != TERN_OK);
    return st;
}
