/* relay_listen.c: rank 0 listens on a port, publishes the text by which the other nodes find it, and accepts their
 * connections. The text is
 *
 *     PORT,KEY,NETWORK,ADDRESS,...
 *
 * KEY (32 digits) and NETWORK, the identity of rank 0's network interfaces (16 digits), are in hexadecimal.
 *
 * Strangers may connect as well (accept_queue.h). A node sends its HELLO immediately after connecting (handshake.h), so
 * the HELLO has often arrived before rank 0 accepts the connection.
 */
#include "boot/relay_connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "boot/accept_queue.h"
#include "boot/handshake.h"
#include "boot/node.h"

#define EXTRA_CLIENTS 256 /* clients that may be queued in addition to the nodes */
#define MAX_PER_SOURCE 64 /* clients of one source address, likewise in addition to the nodes */
#define SILENCE_S 20      /* a connection is lost when the peer does not answer for this long */

void tern_boot_relay_socket_tune(int fd)
{
    int one = 1, seconds = SILENCE_S / 4, tries = 3, ms = SILENCE_S * 1000;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

/* ---- the port and its text ---- */

static int open_port(int family)
{
    struct sockaddr_storage name = { .ss_family = (sa_family_t)family }; /* any address, any port */
    socklen_t               len = family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    int                     off = 0, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)); /* accept IPv4 connections too */
    if (bind(fd, (struct sockaddr *)(void *)&name, len) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Write the address of an interface as text. Returns false if the interface is down, is a loopback interface (or is
 * not, if loopback is true), or has an address that other nodes cannot use. */
static bool write_address(const struct ifaddrs *entry, bool loopback, char *text)
{
    struct tern_handshake hs;

    if (entry->ifa_addr == NULL || !(entry->ifa_flags & IFF_UP) || !(entry->ifa_flags & IFF_LOOPBACK) == loopback ||
        !tern_boot_handshake_place(&hs, entry->ifa_addr))
        return false;
    if (entry->ifa_addr->sa_family == AF_INET)
        return inet_ntop(AF_INET, hs.address + 12, text, TERN_RELAY_ADDRESS) != NULL;
    if (hs.address[0] == 0xfe && (hs.address[1] & 0xc0) == 0x80) /* fe80::/10 */
        return false; /* a link-local address is meaningless without the name of an interface */
    return inet_ntop(AF_INET6, hs.address, text, TERN_RELAY_ADDRESS) != NULL;
}

/* Append the addresses of this machine to text, the loopback addresses last. */
static void add_addresses(char *text)
{
    struct ifaddrs *list = NULL;
    char            address[TERN_RELAY_ADDRESS];
    int             count = 0;

    if (getifaddrs(&list) != 0)
        list = NULL;
    for (int loopback = 0; loopback <= 1; loopback++)
        for (struct ifaddrs *entry = list; entry != NULL && count < TERN_RELAY_ADDRESSES; entry = entry->ifa_next)
            if (write_address(entry, loopback == 1, address)) {
                snprintf(text + strlen(text), TERN_PMI_VALUE - strlen(text), ",%s", address);
                count++;
            }
    if (list != NULL)
        freeifaddrs(list);
}

uint64_t tern_boot_relay_network_id(const uint8_t key[TERN_SIPHASH_KEY])
{
    char text[TERN_NODE_TEXT];

    return tern_boot_node_network(text) ? tern_base_siphash(key, text, strlen(text)) : 0;
}

tern_status tern_boot_relay_listen(struct tern_relay_listener *listener, char text[TERN_PMI_VALUE])
{
    tern_status st = tern_base_random(listener->key, sizeof(listener->key));
    int         at;

    if (st != TERN_OK)
        return st;
    listener->door = open_port(AF_INET6);
    if (listener->door < 0)
        listener->door = open_port(AF_INET);
    if (listener->door < 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot open a port for the other nodes of the job: %s",
                              strerror(errno));
    at = snprintf(text, TERN_PMI_VALUE, "%u,", tern_boot_handshake_port(listener->door));
    for (int i = 0; i < TERN_SIPHASH_KEY; i++)
        at += snprintf(text + at, TERN_PMI_VALUE - (size_t)at, "%02x", listener->key[i]);
    snprintf(text + at, TERN_PMI_VALUE - (size_t)at, ",%016llx",
             (unsigned long long)tern_boot_relay_network_id(listener->key));
    add_addresses(text);
    return TERN_OK;
}

bool tern_boot_relay_target_decode(const char *text, struct tern_relay_target *target)
{
    char               key[2 * TERN_SIPHASH_KEY + 1], network[17];
    unsigned long long number = 0;
    const char        *at;
    int                end = 0;

    *target = (struct tern_relay_target){ .port = 0 };
    if (sscanf(text, "%5u,%32[0-9a-f],%16[0-9a-f]%n", &target->port, key, network, &end) != 3 || target->port < 1 ||
        target->port > 65535 || strlen(key) != sizeof(key) - 1 || strlen(network) != 16)
        return false;
    sscanf(network, "%llx", &number);
    target->network = number;
    for (size_t i = 0; i < TERN_SIPHASH_KEY; i++)
        sscanf(key + 2 * i, "%2hhx", &target->key[i]);
    for (at = text + end; *at == ','; at += strcspn(at, ",")) {
        size_t len = strcspn(++at, ",");

        if (target->count == TERN_RELAY_ADDRESSES || len == 0 || len >= TERN_RELAY_ADDRESS)
            return false;
        memcpy(target->address[target->count++], at, len); /* the rest of the entry is already zero */
    }
    return *at == '\0' && target->count > 0;
}

/* ---- accepting the connections of the nodes ---- */

struct hub {
    struct tern_accept_queue          queue; /* must be first */
    const struct tern_relay_listener *listener;
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

/* Receive HELLO or CONFIRM: the callback receive of struct tern_accept_queue. */
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
        tern_base_log(TERN_LOG_WARN, "a process outside this job connected to its port and was rejected");
        hub->warned = true;
    }
    tern_boot_accept_remove(queue, i, true);
}

/* Record the addresses of a connection: the callback admit of struct tern_accept_queue. Only the network half of an
 * IPv6 source address is recorded. */
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
    memcpy(client->greet.key, ((struct hub *)(void *)queue)->listener->key, TERN_SIPHASH_KEY);
    return getsockname(fd, (struct sockaddr *)(void *)&here, &len) == 0 &&
           tern_boot_handshake_place(&client->greet, (struct sockaddr *)(void *)&here);
}

tern_status tern_boot_relay_accept(const struct tern_relay_listener *listener, int nodes, struct tern_relay_conn *lines)
{
    struct hub  hub = { .queue = { .what = "the other nodes to connect to rank 0",
                                   .peers = "other nodes",
                                   .expected = nodes - 1,
                                   .missing = nodes - 1,
                                   .max_clients = nodes + EXTRA_CLIENTS,
                                   .max_per_source = nodes + MAX_PER_SOURCE,
                                   .admit = admit,
                                   .receive = receive },
                        .listener = listener,
                        .nodes = lines };
    tern_status st;

    for (int node = 1; node < nodes; node++)
        lines[node].fd = -1;
    st = tern_boot_accept_all(&hub.queue, listener->door);
    for (int node = 1; node < nodes && st != TERN_OK; node++)
        if (lines[node].fd >= 0)
            close(lines[node].fd);
    return st;
}
