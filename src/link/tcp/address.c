/* address.c: the port of this rank, and the addresses by which its peers find it.
 *
 * A rank publishes its port and the addresses of its machine, those by which other machines are most likely to reach it
 * first. In a job on one node the port is open for connections from the same machine only.
 *
 * Loopback addresses, and addresses that this machine has itself, lead to a process on this machine. A peer is reached
 * by them only if it has the same network interfaces, which the identity of the network tells (boot/node.h).
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "boot/node.h"
#include "link/tcp/tcp.h"

/* The address record that a rank publishes. All fields have a fixed width; the reader checks them. */
struct address {
    uint32_t layout;       /* TCP_WIRE_LAYOUT */
    uint32_t wire;         /* NET_WIRE_LAYOUT */
    uint32_t ring;         /* size of a message ring, in bytes */
    uint32_t rpc_bytes;    /* size of an RPC buffer, in bytes */
    uint32_t notify_cells; /* cells of a notification queue */
    uint32_t port, count;
    uint32_t zero;
    uint64_t network;                    /* identity of the network interfaces; 0: unknown */
    uint8_t  address[TCP_ADDRESSES][16]; /* IPv6; an IPv4 address is mapped to IPv6 */
};
_Static_assert(sizeof(struct address) == 40 + 16 * TCP_ADDRESSES, "an address record has no padding");

/* ---- the port ---- */

static int open_port(int family, bool loopback)
{
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT };
    struct sockaddr_in  four = { .sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY) };
    int                 off = 0, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;

    if (fd < 0)
        return -1;
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)); /* accept IPv4 connections too */
    rc = family == AF_INET6 ? bind(fd, (struct sockaddr *)(void *)&six, sizeof(six))
                            : bind(fd, (struct sockaddr *)(void *)&four, sizeof(four));
    if (rc == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    close(fd);
    return -1;
}

tern_status tern_tcp_listen(struct tcp_link *tcp)
{
    bool loopback = tcp->net.boot->nodes == 1;

    tcp->port = loopback ? -1 : open_port(AF_INET6, false);
    if (tcp->port < 0)
        tcp->port = open_port(AF_INET, loopback);
    if (tcp->port < 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "link tcp: cannot open a port for the other ranks: %s", strerror(errno));
    return TERN_OK;
}

/* ---- the addresses of this machine ---- */

static uint64_t network_id(const struct tcp_link *tcp)
{
    char text[TERN_NODE_TEXT];

    return tern_boot_node_network(text) ? tern_base_siphash(tcp->key, text, strlen(text)) : 0;
}

static bool is_four(const uint8_t address[16])
{
    static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

    return memcmp(address, mapped, sizeof(mapped)) == 0;
}

static bool is_loopback(const uint8_t address[16])
{
    struct in6_addr six;

    memcpy(&six, address, sizeof(six));
    return is_four(address) ? address[12] == 127 : IN6_IS_ADDR_LOOPBACK(&six) != 0;
}

/* Return whether an address means something else on each machine or link. */
static bool is_link_local(const uint8_t address[16])
{
    return is_four(address) ? address[12] == 0 || (address[12] == 169 && address[13] == 254)
                            : address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
}

/* Find the source address of packets to distant machines, which is an address of the interface with the default route.
 * No packet is sent. Returns false if there is no such route. */
static bool find_default(uint8_t address[16])
{
    struct sockaddr_in    to = { .sin_family = AF_INET,
                                 .sin_port = htons(9),
                                 .sin_addr.s_addr = htonl(0xc0000201u) }; /* 192.0.2.1, which no machine has */
    struct sockaddr_in    from = { .sin_family = AF_UNSPEC };
    socklen_t             len = sizeof(from);
    struct tern_handshake hs;
    int                   fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool                  found = fd >= 0 && connect(fd, (struct sockaddr *)(void *)&to, sizeof(to)) == 0 &&
                 getsockname(fd, (struct sockaddr *)(void *)&from, &len) == 0 &&
                 tern_boot_handshake_place(&hs, (struct sockaddr *)(void *)&from);

    if (fd >= 0)
        close(fd);
    if (found)
        memcpy(address, hs.address, 16);
    return found && !is_loopback(address);
}

static void add(struct address *mine, const uint8_t address[16])
{
    for (uint32_t i = 0; i < mine->count; i++)
        if (memcmp(mine->address[i], address, 16) == 0)
            return;
    if (mine->count < TCP_ADDRESSES)
        memcpy(mine->address[mine->count++], address, 16);
}

/* Add the addresses of the interfaces: first IPv4, then IPv6, and loopback last. */
static void add_interfaces(struct address *mine, const struct ifaddrs *list)
{
    enum { FOUR, SIX, LOOPBACK, ORDERS };

    for (int order = FOUR; order < ORDERS; order++)
        for (const struct ifaddrs *entry = list; entry; entry = entry->ifa_next) {
            struct tern_handshake hs;

            if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP) || !tern_boot_handshake_place(&hs, entry->ifa_addr) ||
                is_link_local(hs.address) ||
                (*tern_opt.tcp_interface && strcmp(entry->ifa_name, tern_opt.tcp_interface) != 0))
                continue;
            if (order == (is_loopback(hs.address) ? LOOPBACK : is_four(hs.address) ? FOUR : SIX))
                add(mine, hs.address);
        }
}

static void find_addresses(struct address *mine, bool loopback)
{
    static const uint8_t local[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1 };
    struct ifaddrs      *list = NULL;
    uint8_t              address[16];

    if (loopback) {
        add(mine, local);
        return;
    }
    if (!*tern_opt.tcp_interface && find_default(address))
        add(mine, address);
    if (getifaddrs(&list) != 0)
        return;
    add_interfaces(mine, list);
    freeifaddrs(list);
}

tern_status tern_tcp_publish(struct tcp_link *tcp)
{
    struct address mine = { .layout = TCP_WIRE_LAYOUT,
                            .wire = NET_WIRE_LAYOUT,
                            .ring = (uint32_t)tcp->net.msg.ring_bytes[TERN_CHANNEL_REQUEST],
                            .rpc_bytes = (uint32_t)tcp->net.rpc.buf_bytes,
                            .notify_cells = tcp->net.msg.shape[TERN_CHANNEL_NOTIFY].cells,
                            .port = tern_boot_handshake_port(tcp->port),
                            .network = network_id(tcp) };

    find_addresses(&mine, tcp->net.boot->nodes == 1);
    if (mine.count == 0)
        return tern_base_fail(TERN_ERR_LINK, "link tcp: this machine has no network address%s%s",
                              *tern_opt.tcp_interface ? " of the interface TERN_TCP_INTERFACE=" : "",
                              tern_opt.tcp_interface);
    return tern_boot_publish_address(tcp->net.boot, TERN_LINK_TCP, &mine, sizeof(mine));
}

/* ---- the addresses of a peer ---- */

static bool is_own(const uint8_t address[16], const struct ifaddrs *list)
{
    struct tern_handshake own;

    for (; list; list = list->ifa_next)
        if (list->ifa_addr && tern_boot_handshake_place(&own, list->ifa_addr) && memcmp(own.address, address, 16) == 0)
            return true;
    return false;
}

static struct sockaddr_storage name_of(const uint8_t address[16], uint32_t port)
{
    struct sockaddr_storage name = { .ss_family = AF_UNSPEC };
    struct sockaddr_in      four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    struct sockaddr_in6     six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };

    memcpy(&four.sin_addr, address + 12, 4);
    memcpy(&six.sin6_addr, address, 16);
    if (is_four(address))
        memcpy(&name, &four, sizeof(four));
    else
        memcpy(&name, &six, sizeof(six));
    return name;
}

static tern_status check(const struct tcp_link *tcp, const struct address *its, size_t len, int rank)
{
    bool known = len == sizeof(*its) && its->layout == TCP_WIRE_LAYOUT;

    if (known && !tern_net_agrees(&tcp->net, its->wire, its->ring, its->rpc_bytes, its->notify_cells))
        return tern_net_disagrees(rank);
    if (!known || its->count == 0 || its->count > TCP_ADDRESSES || its->port == 0 || its->port > UINT16_MAX)
        return tern_base_fail(TERN_ERR_LINK, "link tcp: rank %d published an invalid address", rank);
    return TERN_OK;
}

tern_status tern_tcp_addresses(struct tcp_link *tcp, const struct net_peer *peer, struct tcp_route *route)
{
    struct address  its = { 0 };
    size_t          len = 0;
    const void     *bytes = tern_boot_net_address(tcp->net.boot, TERN_LINK_TCP, peer->rank, &len);
    struct ifaddrs *list = NULL;
    bool            same;
    tern_status     st;

    if (!bytes)
        return tern_net_no_address(&tcp->net, peer->rank, TERN_LINK_OFI, "ofi");
    memcpy(&its, bytes, len < sizeof(its) ? len : sizeof(its));
    if ((st = check(tcp, &its, len, peer->rank)) < 0)
        return st;
    same = its.network != 0 && its.network == network_id(tcp);
    if (!same && getifaddrs(&list) != 0)
        list = NULL;
    for (uint32_t i = 0; i < its.count; i++)
        if (same || !(is_loopback(its.address[i]) || is_own(its.address[i], list)))
            route->name[route->names++] = name_of(its.address[i], its.port);
    if (list)
        freeifaddrs(list);
    if (route->names == 0)
        return tern_base_fail(
            TERN_ERR_LINK,
            "rank %d is on another machine or in another network namespace, and all addresses that it "
            "published are those of this machine; the nodes of a job need TCP between them",
            peer->rank);
    return TERN_OK;
}
