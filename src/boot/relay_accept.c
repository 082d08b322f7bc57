/* relay_accept.c: rank 0 accepts the connections of the other nodes, and copes with connections from strangers
 * (accept_queue.h). A node sends its HELLO immediately after connecting (handshake.h), so the HELLO has often arrived
 * before rank 0 accepts the connection.
 */
#include "boot/relay_connect.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "boot/accept_queue.h"
#include "boot/handshake.h"

#define EXTRA_CLIENTS 256 /* clients that may be queued in addition to the nodes */
#define MAX_PER_SOURCE 64 /* clients of one source address, likewise in addition to the nodes */

struct hub {
    struct tern_accept_queue          queue; /* must be first */
    const struct tern_relay_listener *dial;
    struct tern_relay_conn           *nodes;  /* [queue.expected + 1]; fd is -1 until the node has connected */
    bool                              warned; /* the warning about strangers was printed */
};

/* Check a valid HELLO and reply with WELCOME. Returns false if there is no such node or the reply cannot be sent. */
static bool welcome(const struct hub *hub, struct tern_accept_client *client, int fd)
{
    if (client->greet.node == 0 || client->greet.node > (uint32_t)hub->queue.expected ||
        tern_base_random(client->greet.hub_random, TERN_HANDSHAKE_RANDOM) != TERN_OK)
        return false;
    tern_boot_relay_socket_tune(fd);
    client->greeted = true;
    return tern_boot_handshake_send(&client->greet, TERN_HANDSHAKE_IS_WELCOME, fd);
}

/* Reply to a valid CONFIRM with ACCEPTED, and make the connection that of its node. A node that confirms a second time
 * has lost its first connection, which is closed. Returns false if the reply cannot be sent. */
static bool accept_node(struct hub *hub, int i)
{
    struct tern_accept_client *client = &hub->queue.client[i];
    struct tern_relay_conn    *node = &hub->nodes[client->greet.node];
    int                        fd = hub->queue.fds[i].fd;

    if (!tern_boot_handshake_send(&client->greet, TERN_HANDSHAKE_IS_ACCEPTED, fd))
        return false;
    if (node->fd >= 0)
        close(node->fd);
    else
        hub->queue.missing--;
    node->fd = fd;
    tern_boot_handshake_keys(&client->greet, true, &node->keys);
    tern_boot_accept_remove(&hub->queue, i, false);
    return true;
}

/* Receive HELLO or CONFIRM: receive of struct tern_accept_queue. */
static void receive(struct tern_accept_queue *queue, int i)
{
    struct hub                *hub = (struct hub *)(void *)queue;
    struct tern_accept_client *client = &queue->client[i];
    enum tern_handshake_step   due = client->greeted ? TERN_HANDSHAKE_IS_CONFIRM : TERN_HANDSHAKE_IS_HELLO;
    enum tern_handshake_result result = tern_boot_handshake_receive(&client->greet, due, queue->fds[i].fd);

    if (result == TERN_HANDSHAKE_PENDING ||
        (result == TERN_HANDSHAKE_VALID &&
         (client->greeted ? accept_node(hub, i) : welcome(hub, client, queue->fds[i].fd))))
        return;
    if (result != TERN_HANDSHAKE_CLOSED && !hub->warned) {
        tern_base_log(TERN_LOG_WARN, "a stranger connected to the port of this job, and was sent away");
        hub->warned = true;
    }
    tern_boot_accept_remove(queue, i, true);
}

/* Note the addresses of a connection: admit of struct tern_accept_queue. Of an IPv6 source address, only the network
 * half counts. */
static bool admit(struct tern_accept_queue *queue, int fd, const struct sockaddr *from,
                  struct tern_accept_client *client)
{
    struct sockaddr_storage here;
    socklen_t               len = sizeof(here);
    static const uint8_t    mapped[10];

    if (!tern_boot_handshake_place(&client->greet, from))
        return false;
    memcpy(client->source, client->greet.address, sizeof(client->source));
    if (memcmp(client->source, mapped, sizeof(mapped)) != 0)
        memset(client->source + 8, 0, 8); /* a client can choose the other half freely */
    memcpy(client->greet.key, ((struct hub *)(void *)queue)->dial->key, TERN_SIPHASH_KEY);
    return getsockname(fd, (struct sockaddr *)(void *)&here, &len) == 0 &&
           tern_boot_handshake_place(&client->greet, (struct sockaddr *)(void *)&here);
}

tern_status tern_boot_relay_accept(const struct tern_relay_listener *dial, int nodes, struct tern_relay_conn *lines)
{
    struct hub  hub = { .queue = { .what = "the other nodes to connect to rank 0",
                                   .peers = "other nodes",
                                   .expected = nodes - 1,
                                   .missing = nodes - 1,
                                   .max_clients = nodes + EXTRA_CLIENTS,
                                   .max_per_source = nodes + MAX_PER_SOURCE,
                                   .admit = admit,
                                   .receive = receive },
                        .dial = dial,
                        .nodes = lines };
    tern_status st;

    for (int node = 1; node < nodes; node++)
        lines[node].fd = -1;
    st = tern_boot_accept_all(&hub.queue, dial->door);
    for (int node = 1; node < nodes && st != TERN_OK; node++)
        if (lines[node].fd >= 0)
            close(lines[node].fd);
    return st;
}
