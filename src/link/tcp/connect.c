/* connect.c: making and closing connections.
 *
 * Two ranks have one connection. It is made when one of them first needs it. Both sides prove that they belong to the
 * job (boot/handshake.h) before the connection carries frames; the connection of a process that does not is closed. The
 * addresses of a peer are tried one after the other until the peer is reached.
 *
 * If both ranks connect at the same time, one of the two connections is given up. When the lower rank receives CONFIRM
 * on the connection that the higher rank has begun, it refuses that connection if its own attempt has reached the
 * higher rank (it has sent HELLO), and otherwise gives up its own attempt. The higher rank gives up its own attempt
 * when it accepts the connection of the lower rank. A refused attempt is repeated after a pause, if there is no
 * connection by then.
 *
 * A connection that breaks is not made again: messages were lost.
 */
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "link/tcp/tcp.h"

#define MS 1000000ll
#define FIRST_TRY_MS 2000 /* time for an address; four times as long in each pass over the addresses */
#define PAUSE_MS 20       /* after an attempt that the peer has closed */
#define REFUSALS 1000u    /* number of such attempts after which the address counts as one that cannot be reached */
#define PASSES 4          /* passes over the addresses of a peer after which it counts as unreachable */
#define STRANGERS 64u     /* connections of unknown peers, in addition to one for each rank */
#define ACCEPTS 64        /* connections that one poll accepts */

/* ---- sockets ---- */

static void tune(int fd)
{
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    tern_tcp_keepalive_set(fd);
}

static struct tcp_conn *conn_make(struct tcp_link *tcp, int fd, enum tcp_state state, uint32_t events)
{
    struct tcp_conn *conn = calloc(1, sizeof(*conn));

    if (!conn || !tern_tcp_watch(tcp, fd, conn, events, false)) {
        free(conn);
        close(fd);
        return NULL;
    }
    conn->fd = fd;
    conn->state = state;
    memcpy(conn->greet.key, tcp->key, sizeof(tcp->key));
    tern_base_list_init(&conn->dirty);
    tern_base_list_init(&conn->unacked);
    tern_base_list_init(&conn->unread);
    tern_base_list_append(&tcp->handshakes, &conn->node);
    return conn;
}

void tern_tcp_conn_free(struct tcp_conn *conn)
{
    for (uint64_t i = conn->first; i < conn->last; i++)
        free(conn->segment[i & (TCP_SEGMENTS - 1)].heap);
    free(conn->refused);
    free(conn->out);
    free(conn->in);
    free(conn);
}

/* Close the socket. The memory is freed at the end of the poll, because a later event of the poll may belong to the
 * connection. */
static void shut(struct tcp_link *tcp, struct tcp_conn *conn)
{
    if (conn->state == TCP_CLOSED)
        return;
    tcp->ups -= conn->state == TCP_UP;
    tcp->strangers -= conn->state == TCP_LISTENS || conn->state == TCP_WELCOMES;
    /* A child of the program may have the socket open, too: close() alone would neither end the events nor tell the
     * peer. */
    epoll_ctl(tcp->epoll, EPOLL_CTL_DEL, conn->fd, NULL);
    shutdown(conn->fd, SHUT_RDWR);
    close(conn->fd);
    conn->state = TCP_CLOSED;
    tern_base_list_remove(&conn->dirty);
    tern_base_list_remove(&conn->node);
    tern_base_list_append(&tcp->closed, &conn->node);
}

/* Fail all work requests of a closed connection. */
static void fail_all(struct tcp_link *tcp, struct tcp_conn *conn, int error)
{
    struct tern_list *node;

    for (uint64_t i = conn->first; i < conn->last; i++) {
        struct tcp_wr *wr = conn->segment[i & (TCP_SEGMENTS - 1)].wr;

        if (!wr)
            continue;
        wr->unsent = false;
        if (tern_base_list_empty(&wr->node))
            tern_base_list_append(&conn->unacked, &wr->node);
    }
    if (conn->body.wr)
        tern_base_list_append(&conn->unread, &conn->body.wr->node);
    conn->body.wr = NULL;
    while ((node = tern_base_list_pop(&conn->unacked)) || (node = tern_base_list_pop(&conn->unread)))
        tern_tcp_wr_done(tcp, TERN_LIST_ITEM(node, struct tcp_wr, node), error);
}

void tern_tcp_lose(struct tcp_link *tcp, struct tcp_conn *conn, int error, const char *text)
{
    struct net_peer *peer = conn->peer;
    bool             was_up = conn->state == TCP_UP;
    char             why[sizeof(peer->why)];

    shut(tcp, conn);
    if (!was_up)
        return;
    snprintf(why, sizeof(why), "%s", text ? text : strerror(error));
    tern_tcp_route(peer)->up = NULL;
    tern_net_break_off(&tcp->net, peer, why);
    tern_net_rx_lost(&tcp->net, peer);
    fail_all(tcp, conn, error);
}

/* ---- the handshake ---- */

/* Allocate what a connection needs to carry frames. */
static bool prepare(struct tcp_conn *conn)
{
    conn->out = malloc(TCP_OUT);
    conn->in = malloc(TCP_IN);
    return conn->out && conn->in;
}

/* Start to use a connection for frames: both sides have proved that they belong to the job. */
static void is_up(struct tcp_link *tcp, struct tcp_conn *conn, struct net_peer *peer)
{
    tcp->strangers -= conn->state == TCP_LISTENS || conn->state == TCP_WELCOMES;
    conn->state = TCP_UP;
    conn->peer = peer;
    tern_tcp_route(peer)->up = conn;
    peer->known = true;
    tcp->ups++;
    tern_base_list_remove(&conn->node);
    tern_base_list_append(&tcp->conns, &conn->node);
    tern_base_log(TERN_LOG_DEBUG, "link tcp: connected to rank %d", peer->rank);
}

/* Return the route of a peer, which has no addresses at first; NULL: there is no memory. */
static struct tcp_route *route_of(struct net_peer *peer)
{
    if (!peer->addr)
        peer->addr = (uintptr_t)calloc(1, sizeof(struct tcp_route));
    return tern_tcp_route(peer);
}

/* Give up the attempt to connect to a peer, because the connection that the peer has begun is kept, or because the
 * attempt has failed. */
static void drop_attempt(struct tcp_link *tcp, struct tcp_route *route)
{
    if (route->attempt)
        shut(tcp, route->attempt);
    route->attempt = NULL;
}

/* Decide about a connection that a peer has begun and confirmed. Returns false if the connection is refused. */
static bool adopt(struct tcp_link *tcp, struct tcp_conn *conn)
{
    struct net_peer  *peer = tern_net_peer(&tcp->net, (int)conn->greet.node);
    struct tcp_route *route = peer ? route_of(peer) : NULL;

    if (!route || route->up || peer->broken ||
        (route->attempt && peer->rank > tcp->net.rank && route->attempt->state != TCP_CONNECTS))
        return false;
    if (!prepare(conn) || !tern_boot_handshake_send(&conn->greet, TERN_HANDSHAKE_IS_ACCEPTED, conn->fd))
        return false;
    is_up(tcp, conn, peer);
    drop_attempt(tcp, route);
    return true;
}

static bool welcome(const struct tcp_link *tcp, struct tcp_conn *conn)
{
    if (conn->greet.node >= (uint32_t)tcp->net.ranks || conn->greet.node == (uint32_t)tcp->net.rank ||
        tern_base_random(conn->greet.hub_random, TERN_HANDSHAKE_RANDOM) != TERN_OK)
        return false;
    conn->state = TCP_WELCOMES;
    return tern_boot_handshake_send(&conn->greet, TERN_HANDSHAKE_IS_WELCOME, conn->fd);
}

/* Handle an event of a connection that this rank has accepted. */
static void shake_accepted(struct tcp_link *tcp, struct tcp_conn *conn)
{
    bool                       hello = conn->state == TCP_LISTENS;
    enum tern_handshake_result result = tern_boot_handshake_receive(
        &conn->greet, hello ? TERN_HANDSHAKE_IS_HELLO : TERN_HANDSHAKE_IS_CONFIRM, conn->fd);

    if (result == TERN_HANDSHAKE_PENDING ||
        (result == TERN_HANDSHAKE_VALID && (hello ? welcome(tcp, conn) : adopt(tcp, conn))))
        return;
    if (result == TERN_HANDSHAKE_INVALID && !tcp->warned) {
        tern_base_log(TERN_LOG_WARN, "a process outside this job connected to a port of this rank and was rejected");
        tcp->warned = true;
    }
    shut(tcp, conn);
}

/* Continue with another address after a pause. A peer that has accepted a connection in the last pass is there: its
 * process is stopped, or computes without a progress thread. */
static void attempt_failed(struct tcp_link *tcp, struct tcp_route *route, int error)
{
    drop_attempt(tcp, route);
    route->error = error;
    route->until = tern_base_now() + PAUSE_MS * MS;
    if (++route->at < route->names)
        return;
    route->at = 0;
    route->pass += route->pass + 1 < PASSES || !route->accepted;
    route->accepted = false;
}

/* Handle an attempt whose connection the peer has closed: because the peer has a connection to this rank, or connects
 * itself, or is flooded with connections. Try again after a pause, but not forever. */
static void attempt_refused(struct tcp_link *tcp, struct tcp_route *route)
{
    unsigned pass = route->pass;

    route->accepted = false;
    attempt_failed(tcp, route, ECONNRESET);
    if (++route->refusals <= REFUSALS)
        route->pass = pass;
}

/* Send HELLO if the kernel has made the connection, or give up the attempt. */
static void greet(struct tcp_link *tcp, struct tcp_conn *conn)
{
    struct tcp_route *route = tern_tcp_route(conn->peer);
    int               error = 0;
    socklen_t         len = sizeof(error);

    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0) {
        attempt_failed(tcp, route, error);
        return;
    }
    conn->state = TCP_GREETS;
    route->accepted = true;
    if (!tern_tcp_watch(tcp, conn->fd, conn, EPOLLIN, true) ||
        !tern_boot_handshake_send(&conn->greet, TERN_HANDSHAKE_IS_HELLO, conn->fd))
        attempt_refused(tcp, route);
}

/* Handle an event of a connection that this rank has begun. */
static void shake_begun(struct tcp_link *tcp, struct tcp_conn *conn)
{
    struct tcp_route *route = tern_tcp_route(conn->peer);
    bool              hello = conn->state == TCP_GREETS;

    switch (tern_boot_handshake_receive(&conn->greet, hello ? TERN_HANDSHAKE_IS_WELCOME : TERN_HANDSHAKE_IS_ACCEPTED,
                                        conn->fd)) {
    case TERN_HANDSHAKE_PENDING: break;
    case TERN_HANDSHAKE_INVALID:
        route->accepted = false; /* the process that accepted it is not the peer */
        attempt_failed(tcp, route, EPROTO);
        break;
    case TERN_HANDSHAKE_CLOSED: attempt_refused(tcp, route); break;
    case TERN_HANDSHAKE_VALID:
        if (!hello) {
            route->attempt = NULL;
            is_up(tcp, conn, conn->peer);
            break;
        }
        conn->state = TCP_CONFIRMS;
        route->until = NET_NEVER; /* the peer has authenticated; keepalive detects its death */
        if (!prepare(conn) || !tern_boot_handshake_send(&conn->greet, TERN_HANDSHAKE_IS_CONFIRM, conn->fd))
            attempt_refused(tcp, route);
    }
}

void tern_tcp_shake(struct tcp_link *tcp, struct tcp_conn *conn)
{
    if (conn->state == TCP_LISTENS || conn->state == TCP_WELCOMES)
        shake_accepted(tcp, conn);
    else if (conn->state == TCP_CONNECTS)
        greet(tcp, conn);
    else
        shake_begun(tcp, conn);
}

/* ---- accepting ---- */

/* Close the oldest accepted connection among those in the more frequent state of the handshake. So the ranks are kept
 * out neither by processes that send nothing, nor by processes that repeat the HELLO of a rank but cannot send its
 * CONFIRM. Returns false if there is none. */
static bool evict(struct tcp_link *tcp)
{
    struct tcp_conn *oldest[2] = { NULL, NULL };
    unsigned         count[2] = { 0, 0 }, most;

    TERN_LIST_EACH(struct tcp_conn, conn, &tcp->handshakes, node) {
        bool welcomed = conn->state == TCP_WELCOMES;

        if (!welcomed && conn->state != TCP_LISTENS)
            continue;
        if (count[welcomed]++ == 0)
            oldest[welcomed] = conn;
    }
    most = count[1] > count[0];
    if (oldest[most])
        shut(tcp, oldest[most]);
    return oldest[most] != NULL;
}

/* Stop polling the port (deaf) while the process lacks a resource for new connections, because a poll would return at
 * once; every drain then tries to accept instead. */
static void set_deaf(struct tcp_link *tcp, bool deaf)
{
    if (tcp->deaf == deaf)
        return;
    tcp->deaf = deaf;
    tern_tcp_watch(tcp, tcp->port, &tcp->port, deaf ? 0 : EPOLLIN, true);
    if (deaf)
        tern_base_log(TERN_LOG_WARN,
                      "link tcp: a connection of another rank waits until this process can open more files: %s; see "
                      "'ulimit -n'",
                      strerror(errno));
}

/* Accept a connection. Returns its socket; -1: there is none, or a resource is missing. */
static int accept_one(struct tcp_link *tcp)
{
    int  fd = accept4(tcp->port, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    bool lacking = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);

    set_deaf(tcp, lacking && !evict(tcp));
    return fd;
}

void tern_tcp_accept(struct tcp_link *tcp)
{
    for (int i = 0; i < ACCEPTS; i++) {
        struct sockaddr_storage here;
        socklen_t               len = sizeof(here);
        struct tcp_conn        *conn;
        int                     fd = accept_one(tcp);

        if (fd < 0)
            return;
        tune(fd);
        if (getsockname(fd, (struct sockaddr *)(void *)&here, &len) != 0 ||
            !(conn = conn_make(tcp, fd, TCP_LISTENS, EPOLLIN)))
            continue;
        tcp->strangers++;
        if (tcp->strangers > STRANGERS + (unsigned)tcp->net.ranks)
            evict(tcp);
        if (conn->state == TCP_LISTENS && tern_boot_handshake_place(&conn->greet, (struct sockaddr *)(void *)&here))
            shake_accepted(tcp, conn);
        else
            shut(tcp, conn);
    }
}

/* ---- connecting ---- */

/* Begin a connection to the address whose turn it is. */
static void attempt(struct tcp_link *tcp, struct net_peer *peer, struct tcp_route *route)
{
    struct sockaddr_storage *name = &route->name[route->at];
    socklen_t len = name->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    int       fd = socket(name->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        attempt_failed(tcp, route, errno);
        return;
    }
    tune(fd);
    if (connect(fd, (struct sockaddr *)(void *)name, len) != 0 && errno != EINPROGRESS) {
        int error = errno;

        close(fd);
        attempt_failed(tcp, route, error);
        return;
    }
    route->until = tern_base_now() + (FIRST_TRY_MS * MS << 2 * route->pass);
    if (!(route->attempt = conn_make(tcp, fd, TCP_CONNECTS, EPOLLOUT)) ||
        !tern_boot_handshake_place(&route->attempt->greet, (struct sockaddr *)(void *)name) ||
        tern_base_random(route->attempt->greet.node_random, TERN_HANDSHAKE_RANDOM) != TERN_OK) {
        attempt_failed(tcp, route, ENOMEM);
        return;
    }
    route->attempt->peer = peer;
    route->attempt->greet.node = (uint32_t)tcp->net.rank;
}

static tern_status unreachable(const struct net_peer *peer, const struct tcp_route *route)
{
    return tern_base_fail(TERN_ERR_LINK, "rank %d cannot be reached over TCP: %s%s", peer->rank, strerror(route->error),
                          route->error == EMFILE ? "; see 'ulimit -n'" : "");
}

/* Make one step towards a connection. Returns TERN_AGAIN until there is one. */
static tern_status step(struct tcp_link *tcp, struct net_peer *peer, struct tcp_route *route)
{
    tern_status st;

    if (route->names == 0 && (st = tern_tcp_addresses(tcp, peer, route)) != TERN_OK)
        return st;
    if (tern_base_now() < route->until)
        return TERN_AGAIN;
    if (route->attempt)
        attempt_failed(tcp, route, ETIMEDOUT);
    else if (route->pass < PASSES)
        attempt(tcp, peer, route);
    return route->pass < PASSES ? TERN_AGAIN : unreachable(peer, route);
}

tern_status tern_tcp_resolve(struct net_link *net, struct net_peer *peer)
{
    struct tcp_link  *tcp = tern_tcp(net);
    struct tcp_route *route = route_of(peer);
    tern_status       st;

    if (!route)
        return tern_base_fail(TERN_ERR_NOMEM, "link tcp: no memory for rank %d", peer->rank);
    st = step(tcp, peer, route);
    if (st == TERN_AGAIN && !route->attempt && !tcp->draining)
        tern_tcp_progress_thread_wake(tcp); /* no event ends the pause, and the program may not poll again */
    return st;
}

void tern_tcp_connections_close(struct tcp_link *tcp)
{
    struct tern_list *lists[] = { &tcp->conns, &tcp->handshakes }, *node;

    for (int i = 0; i < 2; i++)
        TERN_LIST_EACH(struct tcp_conn, conn, lists[i], node)
            shut(tcp, conn);
    while ((node = tern_base_list_pop(&tcp->closed)))
        tern_tcp_conn_free(TERN_LIST_ITEM(node, struct tcp_conn, node));
    for (int rank = 0; tcp->net.peer && rank < tcp->net.ranks; rank++) {
        struct net_peer *peer = atomic_load(&tcp->net.peer[rank]);

        if (peer)
            free(tern_tcp_route(peer));
    }
    if (tcp->port >= 0)
        close(tcp->port);
    tcp->port = -1;
}
