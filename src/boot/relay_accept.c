/* relay_accept.c: rank 0 accepts the connections of the other nodes, and copes with connections from strangers.
 *
 * A client that has connected but has not authenticated waits in a queue, oldest first. Rank 0 never blocks on one
 * client: it reads from any client that has sent data. The number of queued clients is limited, in total and for each
 * source address. When a limit is reached, rank 0 evicts the oldest client that has not sent a valid HELLO (from the
 * same source address if that source has reached its limit), after trying to read from the client once more. A node
 * sends its HELLO immediately after connecting (handshake.h), so the HELLO has often arrived before rank 0 accepts the
 * connection. A node that is evicted anyway connects again.
 */
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

#define EXTRA_CLIENTS 256 /* clients that may be queued in addition to the nodes */
#define MAX_PER_SOURCE 64 /* clients of one source address, likewise in addition to the nodes */
#define ACCEPT_BATCH 64   /* connections accepted before the queued clients are read again */
#define SOURCE 16

/* A client that has connected but has not authenticated. */
struct client {
    uint8_t               source[SOURCE]; /* its address; for IPv6, the network half only */
    bool                  greeted;        /* a valid HELLO was received and WELCOME was sent; CONFIRM is expected */
    struct tern_handshake greet;
    uint8_t               buf[TERN_HANDSHAKE_HELLO];
    size_t                len; /* bytes in buf */
};

struct queue {
    const struct tern_relay_listener *dial;
    struct tern_relay_conn           *nodes; /* [count_of_nodes]; fd is -1 until the node has connected */
    int                               count_of_nodes, missing;
    struct pollfd                    *fds;    /* [0] is the listening socket, then [count] clients, oldest first */
    struct client                    *client; /* same index as fds; [0] is unused */
    int                               count, capacity;
    bool                              warned; /* the warning about strangers was printed */
};

static void drop(struct queue *queue, int i, bool do_close)
{
    size_t behind = (size_t)(queue->count - i);

    if (do_close)
        close(queue->fds[i].fd);
    memmove(&queue->fds[i], &queue->fds[i + 1], behind * sizeof(queue->fds[0]));
    memmove(&queue->client[i], &queue->client[i + 1], behind * sizeof(queue->client[0]));
    queue->count--;
}

static void reject(struct queue *queue, int i)
{
    if (!queue->warned)
        tern_base_log(TERN_LOG_WARN, "a stranger connected to the port of this job, and was sent away");
    queue->warned = true;
    drop(queue, i, true);
}

/* ---- receiving from a client ---- */

/* Check a complete HELLO and reply with WELCOME. Returns false if the HELLO is invalid or the reply cannot be sent. */
static bool handle_hello(struct queue *queue, int i)
{
    struct client *client = &queue->client[i];
    uint8_t        welcome[TERN_HANDSHAKE_WELCOME];

    if (!tern_boot_handshake_read_hello(&client->greet, client->buf) || client->greet.node == 0 ||
        client->greet.node >= (uint32_t)queue->count_of_nodes ||
        tern_base_random(client->greet.hub_random, TERN_HANDSHAKE_RANDOM) != TERN_OK)
        return false;
    tern_boot_relay_socket_tune(queue->fds[i].fd);
    tern_boot_handshake_welcome(&client->greet, welcome);
    client->greeted = true;
    client->len = 0;
    return send(queue->fds[i].fd, welcome, sizeof(welcome), MSG_NOSIGNAL) == sizeof(welcome);
}

/* Check a complete CONFIRM, reply with ACCEPTED, and make the connection that of its node. A node that confirms a
 * second time has lost its first connection, which is closed. Returns false if the CONFIRM is invalid or the reply
 * cannot be sent. */
static bool handle_confirm(struct queue *queue, int i)
{
    struct client          *client = &queue->client[i];
    struct tern_relay_conn *node = &queue->nodes[client->greet.node];
    uint8_t                 accepted[TERN_HANDSHAKE_TAG];

    tern_boot_handshake_say(&client->greet, TERN_HANDSHAKE_IS_ACCEPTED, accepted);
    if (!tern_boot_handshake_is(&client->greet, TERN_HANDSHAKE_IS_CONFIRM, client->buf) ||
        send(queue->fds[i].fd, accepted, sizeof(accepted), MSG_NOSIGNAL) != sizeof(accepted))
        return false;
    if (node->fd >= 0)
        close(node->fd);
    else
        queue->missing--;
    node->fd = queue->fds[i].fd;
    tern_boot_handshake_keys(&client->greet, true, &node->keys);
    drop(queue, i, false);
    return true;
}

/* Read what the client has sent. The client leaves the queue when it has authenticated, sent invalid data, or
 * disconnected. */
static void receive(struct queue *queue, int i)
{
    struct client *client = &queue->client[i];
    size_t         whole = client->greeted ? TERN_HANDSHAKE_TAG : TERN_HANDSHAKE_HELLO;
    ssize_t        got = recv(queue->fds[i].fd, client->buf + client->len, whole - client->len, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        drop(queue, i, true);
        return;
    }
    client->len += (size_t)got;
    if (client->len == whole && !(client->greeted ? handle_confirm(queue, i) : handle_hello(queue, i)))
        reject(queue, i);
}

/* ---- accepting clients ---- */

/* Return the index of the oldest client, preferring clients that have not sent a valid HELLO. If source is not NULL,
 * only clients of that source address count. Returns 0 if there is none. */
static int oldest(const struct queue *queue, const uint8_t *source)
{
    int found = 0;

    for (int i = queue->count; i > 0; i--)
        if ((source == NULL || memcmp(queue->client[i].source, source, SOURCE) == 0) &&
            (found == 0 || !queue->client[i].greeted || queue->client[found].greeted))
            found = i;
    return found;
}

static int count_of(const struct queue *queue, const uint8_t *source)
{
    int count = 0;

    for (int i = 1; i <= queue->count; i++)
        count += memcmp(queue->client[i].source, source, SOURCE) == 0;
    return count;
}

/* Evict the oldest client (of source, unless that is NULL). The client is read once more, and stays if that made
 * progress. */
static void evict(struct queue *queue, const uint8_t *source)
{
    int  i = oldest(queue, source), before = queue->count;
    bool greeted = queue->client[i].greeted;

    receive(queue, i);
    if (queue->count == before && queue->client[i].greeted == greeted)
        drop(queue, i, true);
}

static void add_client(struct queue *queue, int fd, const struct sockaddr *from)
{
    struct client           client = { .len = 0 };
    struct sockaddr_storage here;
    socklen_t               len = sizeof(here);
    static const uint8_t    mapped[10];

    if (!tern_boot_handshake_place(&client.greet, from)) {
        close(fd);
        return;
    }
    memcpy(client.source, client.greet.address, SOURCE);
    if (memcmp(client.source, mapped, sizeof(mapped)) != 0)
        memset(client.source + SOURCE / 2, 0, SOURCE / 2); /* a client can choose the other half freely */
    while (count_of(queue, client.source) >= queue->count_of_nodes + MAX_PER_SOURCE)
        evict(queue, client.source);
    while (queue->count == queue->capacity)
        evict(queue, NULL);
    memcpy(client.greet.key, queue->dial->key, TERN_SIPHASH_KEY);
    if (getsockname(fd, (struct sockaddr *)(void *)&here, &len) != 0 ||
        !tern_boot_handshake_place(&client.greet, (struct sockaddr *)(void *)&here)) {
        close(fd);
        return;
    }
    queue->fds[++queue->count] = (struct pollfd){ .fd = fd, .events = POLLIN };
    queue->client[queue->count] = client;
    receive(queue, queue->count);
}

/* Accept pending connections, at most ACCEPT_BATCH of them. Returns an error if there are no descriptors left and no
 * client to evict. */
static tern_status accept_connections(struct queue *queue)
{
    for (int i = 0; i < ACCEPT_BATCH && queue->missing > 0; i++) {
        struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
        socklen_t               len = sizeof(from);
        int fd = accept4(queue->fds[0].fd, (struct sockaddr *)(void *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0)
            add_client(queue, fd, (struct sockaddr *)(void *)&from);
        else if (errno == EAGAIN)
            break;
        else if ((errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) && queue->count > 0)
            evict(queue, NULL);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            return tern_base_fail(TERN_ERR_SYSTEM,
                                  "rank 0 cannot take the connections of %d nodes: %s; see 'ulimit -n'",
                                  queue->count_of_nodes - 1, strerror(errno));
    }
    return TERN_OK;
}

/* ---- all ---- */

static tern_status queue_open(struct queue *queue)
{
    queue->fds = calloc((size_t)queue->capacity + 1, sizeof(*queue->fds));
    queue->client = calloc((size_t)queue->capacity + 1, sizeof(*queue->client));
    for (int node = 1; node < queue->count_of_nodes; node++)
        queue->nodes[node].fd = -1;
    if (queue->fds == NULL || queue->client == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory to meet %d nodes", queue->count_of_nodes);
    queue->fds[0] = (struct pollfd){ .fd = queue->dial->door, .events = POLLIN };
    return TERN_OK;
}

static void queue_close(struct queue *queue, bool failed)
{
    for (int i = 1; i <= queue->count; i++)
        close(queue->fds[i].fd);
    for (int node = 1; node < queue->count_of_nodes && failed; node++)
        if (queue->nodes[node].fd >= 0)
            close(queue->nodes[node].fd);
    free(queue->fds);
    free(queue->client);
}

tern_status tern_boot_relay_accept(const struct tern_relay_listener *dial, int nodes, struct tern_relay_conn *lines)
{
    struct queue queue = {
        .dial = dial, .nodes = lines, .count_of_nodes = nodes, .missing = nodes - 1, .capacity = nodes + EXTRA_CLIENTS
    };
    struct tern_poll_deadline patience;
    tern_status               st = queue_open(&queue);

    tern_boot_poll_begin(&patience, "the other nodes to connect to rank 0");
    while (st == TERN_OK && queue.missing > 0 &&
           (st = tern_boot_poll(&patience, queue.fds, (nfds_t)queue.count + 1, INT64_MAX)) == TERN_OK) {
        bool connecting = queue.fds[0].revents != 0;

        for (int i = queue.count; i > 0; i--) /* downwards: removing a client shifts only the clients behind it */
            if (queue.fds[i].revents != 0)
                receive(&queue, i);
        if (connecting)
            st = accept_connections(&queue);
    }
    queue_close(&queue, st != TERN_OK);
    return st;
}
