/* relay_connect.c: a node connects to rank 0.
 *
 * A node connects to all addresses of rank 0's machine at the same time and reads every reply, so a peer that replies
 * slowly delays nobody. The node sends CONFIRM to the first peer that proves to be rank 0, and is connected when it
 * receives ACCEPTED. A connection that ends earlier is made again, because rank 0 may have evicted it in favour of
 * others. An address is given up if nobody listens there, or if a peer answers that is not rank 0.
 *
 * Loopback addresses, link-local addresses and addresses of this machine's own interfaces always lead to a process on
 * this machine, whichever process that is. They are tried only if rank 0 shares the network interfaces of this node.
 */
#include "boot/relay_connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "boot/handshake.h"
#include "boot/poll_deadline.h"

#define MS 1000000ll
#define PROOF_MS 10000    /* a peer that has not authenticated after this long is connected to again */
#define CONNECT_MS 1000   /* time limit of the first connect; doubled for each retry */
#define PAUSE_MS 20       /* pause before the second attempt; doubled for each retry, */
#define PAUSE_MAX_MS 200  /* up to this limit */
#define PERSIST_MS 120000 /* connections that end are retried for this long */

enum stage {
    STAGE_PAUSE,   /* waiting until it is time to connect */
    STAGE_CONNECT, /* connecting */
    STAGE_HELLO,   /* HELLO was sent, WELCOME is expected */
    STAGE_WELCOME, /* the peer is rank 0; another connection to it is being confirmed */
    STAGE_CONFIRM, /* CONFIRM was sent, ACCEPTED is expected */
    STAGE_DONE,
    STAGE_GIVEN_UP
};

/* The attempt to connect to one address. */
struct attempt {
    struct sockaddr_storage name;
    socklen_t               name_len;
    enum stage              stage;
    int                     fd;    /* -1 if there is no connection */
    int64_t                 until; /* end of the current stage */
    int                     tries;
    struct tern_handshake   greet;
};

struct search {
    struct attempt attempt[TERN_RELAY_ADDRESSES];
    int            count;
    int64_t        persist; /* attempts that fail are retried until this time */
};

/* ---- choosing addresses ---- */

static bool read_name(struct attempt *attempt, const char *address, unsigned port)
{
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&attempt->name;
    struct sockaddr_in  *four = (struct sockaddr_in *)(void *)&attempt->name;

    if (inet_pton(AF_INET, address, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        attempt->name_len = sizeof(*four);
    } else if (inet_pton(AF_INET6, address, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        attempt->name_len = sizeof(*six);
    } else {
        return false;
    }
    return tern_boot_handshake_place(&attempt->greet, (struct sockaddr *)(void *)&attempt->name);
}

/* Return whether an address (IPv4: mapped to IPv6) is of a kind that is valid only within one machine or link. */
static bool is_machine_local(const uint8_t address[16])
{
    struct in6_addr six;

    memcpy(&six, address, 16);
    if (IN6_IS_ADDR_V4MAPPED(&six))
        return address[12] == 127 || address[12] == 0 || (address[12] == 169 && address[13] == 254);
    return IN6_IS_ADDR_LOOPBACK(&six) || IN6_IS_ADDR_LINKLOCAL(&six) || IN6_IS_ADDR_UNSPECIFIED(&six);
}

static bool is_own(const uint8_t address[16], const struct ifaddrs *list)
{
    struct tern_handshake own;

    for (; list != NULL; list = list->ifa_next)
        if (list->ifa_addr != NULL && tern_boot_handshake_place(&own, list->ifa_addr) &&
            memcmp(own.address, address, 16) == 0)
            return true;
    return false;
}

static void choose_addresses(struct search *search, const struct tern_relay_target *target, uint32_t node)
{
    struct ifaddrs *list = NULL;
    bool            same_network = target->network != 0 && target->network == tern_boot_relay_network_id(target->key);

    if (!same_network && getifaddrs(&list) != 0)
        list = NULL;
    for (int i = 0; i < target->count; i++) {
        struct attempt *attempt = &search->attempt[search->count];

        *attempt = (struct attempt){ .fd = -1, .stage = STAGE_PAUSE, .greet.node = node };
        memcpy(attempt->greet.key, target->key, TERN_SIPHASH_KEY);
        if (read_name(attempt, target->address[i], target->port) &&
            (same_network || !(is_machine_local(attempt->greet.address) || is_own(attempt->greet.address, list))))
            search->count++;
    }
    if (list != NULL)
        freeifaddrs(list);
}

/* ---- one attempt ---- */

static void enter(struct attempt *attempt, enum stage stage, int64_t ms)
{
    attempt->stage = stage;
    attempt->until = tern_base_now() + ms * MS;
}

static void close_attempt(struct attempt *attempt)
{
    if (attempt->fd >= 0)
        close(attempt->fd);
    attempt->fd = -1;
    attempt->greet.len = 0;
}

static void give_up(struct attempt *attempt)
{
    close_attempt(attempt);
    attempt->stage = STAGE_GIVEN_UP;
}

/* The connection has ended or could not be made: schedule another attempt, or give up if the time for retries is
 * over. */
static void retry(struct search *search, struct attempt *attempt)
{
    int64_t pause = attempt->tries < 5 ? PAUSE_MS << attempt->tries : PAUSE_MAX_MS;

    close_attempt(attempt);
    attempt->tries++;
    if (tern_base_now() < search->persist)
        enter(attempt, STAGE_PAUSE, pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
    else
        give_up(attempt);
}

/* A connection could not be made. Give up if error means that nobody listens there; retry otherwise. */
static void connect_failed(struct search *search, struct attempt *attempt, int error)
{
    switch (error) {
    case ECONNREFUSED:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EACCES:
    case EPERM:
    case EAFNOSUPPORT:
    case EINVAL: give_up(attempt); break;
    default: retry(search, attempt); break;
    }
}

static void start_connect(struct search *search, struct attempt *attempt)
{
    int64_t limit = attempt->tries < 4 ? CONNECT_MS << attempt->tries : PROOF_MS;

    attempt->fd = socket(attempt->name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (attempt->fd < 0 || tern_base_random(attempt->greet.node_random, TERN_HANDSHAKE_RANDOM) != TERN_OK) {
        connect_failed(search, attempt, errno);
        return;
    }
    tern_boot_relay_socket_tune(attempt->fd);
    enter(attempt, STAGE_CONNECT, limit);
    if (connect(attempt->fd, (struct sockaddr *)(void *)&attempt->name, attempt->name_len) != 0 && errno != EINPROGRESS)
        connect_failed(search, attempt, errno);
}

/* The socket has become writable: send HELLO if the connection was made. */
static void send_hello(struct search *search, struct attempt *attempt)
{
    int       error = 0;
    socklen_t len = sizeof(error);

    if (getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0) {
        connect_failed(search, attempt, error);
        return;
    }
    enter(attempt, STAGE_HELLO, PROOF_MS);
    if (!tern_boot_handshake_send(&attempt->greet, TERN_HANDSHAKE_IS_HELLO, attempt->fd))
        retry(search, attempt);
}

/* The socket has become readable: receive WELCOME or ACCEPTED. */
static void receive(struct search *search, struct attempt *attempt)
{
    bool is_hello = attempt->stage == STAGE_HELLO;

    switch (tern_boot_handshake_receive(
        &attempt->greet, is_hello ? TERN_HANDSHAKE_IS_WELCOME : TERN_HANDSHAKE_IS_ACCEPTED, attempt->fd)) {
    case TERN_HANDSHAKE_PENDING: break;
    case TERN_HANDSHAKE_VALID: enter(attempt, is_hello ? STAGE_WELCOME : STAGE_DONE, PROOF_MS); break;
    case TERN_HANDSHAKE_INVALID: give_up(attempt); break;
    case TERN_HANDSHAKE_CLOSED: retry(search, attempt); break;
    }
}

/* ---- all attempts ---- */

static struct attempt *find(struct search *search, enum stage stage)
{
    for (int i = 0; i < search->count; i++)
        if (search->attempt[i].stage == stage)
            return &search->attempt[i];
    return NULL;
}

/* Send CONFIRM on one connection, unless a confirmed connection still exists: rank 0 keeps the connection that is
 * confirmed last. */
static void confirm_one(struct search *search)
{
    struct attempt *attempt = find(search, STAGE_WELCOME);

    if (attempt == NULL || find(search, STAGE_CONFIRM) != NULL || find(search, STAGE_DONE) != NULL)
        return;
    enter(attempt, STAGE_CONFIRM, PERSIST_MS); /* rank 0 has authenticated; keepalive detects its death */
    if (!tern_boot_handshake_send(&attempt->greet, TERN_HANDSHAKE_IS_CONFIRM, attempt->fd))
        retry(search, attempt);
}

/* Start attempts whose pause is over, and retry those whose stage has timed out. Returns the next time at which this
 * has to be done; INT64_MAX if all attempts were given up. */
static int64_t handle_timeouts(struct search *search)
{
    int64_t next = INT64_MAX;

    for (int i = 0; i < search->count; i++) {
        struct attempt *attempt = &search->attempt[i];
        bool            is_due = attempt->stage != STAGE_GIVEN_UP && tern_base_now() >= attempt->until;

        if (is_due && attempt->stage == STAGE_PAUSE)
            start_connect(search, attempt);
        else if (is_due)
            retry(search, attempt);
        if (attempt->stage != STAGE_GIVEN_UP && attempt->until < next)
            next = attempt->until;
    }
    return next;
}

/* Wait until a socket is ready or the time until is reached, and handle it. Returns the status of tern_boot_poll(). */
static tern_status step(struct search *search, struct tern_poll_deadline *deadline, int64_t until)
{
    struct pollfd fds[TERN_RELAY_ADDRESSES];
    tern_status   st;

    for (int i = 0; i < search->count; i++) {
        const struct attempt *attempt = &search->attempt[i];

        fds[i] = (struct pollfd){ .fd = attempt->stage == STAGE_WELCOME ? -1 : attempt->fd,
                                  .events = attempt->stage == STAGE_CONNECT ? POLLOUT : POLLIN };
    }
    st = tern_boot_poll(deadline, fds, (nfds_t)search->count, until);
    for (int i = 0; i < search->count && st == TERN_OK; i++)
        if (fds[i].revents != 0 && search->attempt[i].stage == STAGE_CONNECT)
            send_hello(search, &search->attempt[i]);
        else if (fds[i].revents != 0)
            receive(search, &search->attempt[i]);
    confirm_one(search);
    return st;
}

static tern_status fail_unreachable(const char *text, const struct tern_relay_target *target, bool none)
{
    const char *addresses = text;

    for (int i = 0; i < 3; i++)
        addresses = strchr(addresses, ',') + 1;
    if (none)
        return tern_base_fail(TERN_ERR_BOOT,
                              "cannot reach rank 0, which is on another machine or in another network namespace, at "
                              "%.200s: from here each of these is this machine; the nodes of a job need TCP between "
                              "them",
                              addresses);
    return tern_base_fail(TERN_ERR_BOOT,
                          "cannot reach rank 0 at port %u of %.200s: nobody there answers as a part of this job; the "
                          "nodes of a job need TCP between them",
                          target->port, addresses);
}

tern_status tern_boot_relay_connect(const char *text, int node, struct tern_relay_conn *line)
{
    struct tern_relay_target  target;
    struct search             search = { .count = 0, .persist = tern_base_now() + PERSIST_MS * MS };
    struct tern_poll_deadline deadline;
    struct attempt           *done;
    tern_status               st = TERN_OK;
    int64_t                   until;

    if (!tern_boot_relay_target_decode(text, &target))
        return tern_base_fail(TERN_ERR_BOOT, "rank 0 published addresses that this version of Tern cannot read; all "
                                             "nodes of a job need the same version");
    choose_addresses(&search, &target, (uint32_t)node);
    tern_boot_poll_begin(&deadline, "an answer of rank 0");
    while ((done = find(&search, STAGE_DONE)) == NULL && st == TERN_OK &&
           (until = handle_timeouts(&search)) != INT64_MAX)
        st = step(&search, &deadline, until);
    if (done != NULL) {
        line->fd = done->fd;
        tern_boot_handshake_keys(&done->greet, false, &line->keys);
        done->fd = -1;
        st = TERN_OK;
    } else if (st == TERN_OK) {
        st = fail_unreachable(text, &target, search.count == 0);
    }
    for (int i = 0; i < search.count; i++)
        close_attempt(&search.attempt[i]);
    return st;
}
