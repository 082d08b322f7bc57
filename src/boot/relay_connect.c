/* relay_connect.c: a node calls rank 0.
 *
 * A node calls all addresses of rank 0's machine at the same time and hears all that answer: one that says too little
 * holds up nobody. It tells the first that proves to be rank 0 to take it (CONFIRM), and has arrived when that is
 * ACCEPTED. A connection that ends before is made again, for rank 0 may have had no place because of strangers. An
 * address where nobody listens, or where somebody answers who is not rank 0, is given up.
 *
 * Loopback addresses, link-local ones and those that this machine has itself are another machine's only by name: behind
 * them is a process of this machine, whoever it is. They are called where rank 0 has the network interfaces of this
 * node, and else not.
 */
#define _GNU_SOURCE 1
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
#define PROOF_MS 10000    /* who does not prove itself within this is called anew */
#define CONNECT_MS 1000   /* for a connection at first, and twice as long each time */
#define PAUSE_MS 20       /* before the second call, and twice as long each time, */
#define PAUSE_MOST 200    /* up to this */
#define PERSIST_MS 120000 /* connections that end are made again for so long */

enum stage {
    STAGE_PAUSE,   /* until the time is over */
    STAGE_CALL,    /* a connection is being made */
    STAGE_HELLO,   /* HELLO is said, WELCOME is to come */
    STAGE_WELCOME, /* it is rank 0, and another connection to it is being confirmed */
    STAGE_CONFIRM, /* CONFIRM is said, ACCEPTED is to come */
    STAGE_DONE,
    STAGE_GIVEN_UP
};

/* The call of one address. */
struct call {
    struct sockaddr_storage name;
    socklen_t               name_len;
    enum stage              stage;
    int                     fd;    /* -1: none */
    int64_t                 until; /* the stage lasts no longer */
    int                     tries;
    struct tern_handshake   greet;
    uint8_t                 said[TERN_HANDSHAKE_WELCOME];
    size_t                  len; /* of said */
};

struct search {
    struct call call[TERN_RELAY_ADDRESSES];
    int         count;
    int64_t     persist; /* until then */
};

/* ---- which addresses ---- */

static bool read_name(struct call *call, const char *address, unsigned port)
{
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&call->name;
    struct sockaddr_in  *four = (struct sockaddr_in *)(void *)&call->name;

    if (inet_pton(AF_INET, address, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        call->name_len = sizeof(*four);
    } else if (inet_pton(AF_INET6, address, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        call->name_len = sizeof(*six);
    } else {
        return false;
    }
    return tern_boot_handshake_place(&call->greet, &call->name);
}

/* Whether an address (IPv4: mapped) means a machine by its own kind. */
static bool is_of_one_machine(const uint8_t address[16])
{
    struct in6_addr six;

    memcpy(&six, address, 16);
    if (IN6_IS_ADDR_V4MAPPED(&six))
        return address[12] == 127 || address[12] == 0 || (address[12] == 169 && address[13] == 254);
    return IN6_IS_ADDR_LOOPBACK(&six) || IN6_IS_ADDR_LINKLOCAL(&six) || IN6_IS_ADDR_UNSPECIFIED(&six);
}

static bool is_own(const uint8_t address[16], const struct ifaddrs *list)
{
    for (; list != NULL; list = list->ifa_next) {
        struct sockaddr_storage name = { .ss_family = AF_UNSPEC };
        struct tern_handshake   own;

        if (list->ifa_addr == NULL)
            continue;
        memcpy(&name, list->ifa_addr,
               list->ifa_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
        if (tern_boot_handshake_place(&own, &name) && memcmp(own.address, address, 16) == 0)
            return true;
    }
    return false;
}

static void choose_addresses(struct search *search, const struct tern_relay_target *target, uint32_t node)
{
    struct ifaddrs *list = NULL;
    bool            is_near = target->network != 0 && target->network == tern_boot_relay_network_id(target->key);

    if (!is_near && getifaddrs(&list) != 0)
        list = NULL;
    for (int i = 0; i < target->count; i++) {
        struct call *call = &search->call[search->count];

        *call = (struct call){ .fd = -1, .stage = STAGE_PAUSE, .greet.node = node };
        memcpy(call->greet.key, target->key, TERN_SIPHASH_KEY);
        if (read_name(call, target->address[i], target->port) &&
            (is_near || !(is_of_one_machine(call->greet.address) || is_own(call->greet.address, list))))
            search->count++;
    }
    if (list != NULL)
        freeifaddrs(list);
}

/* ---- one call ---- */

static void enter(struct call *call, enum stage stage, int64_t ms)
{
    call->stage = stage;
    call->until = tern_base_now() + ms * MS;
}

static void hang_up(struct call *call)
{
    if (call->fd >= 0)
        close(call->fd);
    call->fd = -1;
    call->len = 0;
}

static void give_up(struct call *call)
{
    hang_up(call);
    call->stage = STAGE_GIVEN_UP;
}

/* The connection has ended, or was not made. */
static void call_again(struct search *search, struct call *call)
{
    int64_t pause = call->tries < 5 ? PAUSE_MS << call->tries : PAUSE_MOST;

    hang_up(call);
    call->tries++;
    if (tern_base_now() < search->persist)
        enter(call, STAGE_PAUSE, pause < PAUSE_MOST ? pause : PAUSE_MOST);
    else
        give_up(call);
}

/* A connection could not be made: nobody is there, or it may be possible later. */
static void not_connected(struct search *search, struct call *call, int error)
{
    switch (error) {
    case ECONNREFUSED:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EACCES:
    case EPERM:
    case EAFNOSUPPORT:
    case EINVAL: give_up(call); break;
    default: call_again(search, call); break;
    }
}

static void place_call(struct search *search, struct call *call)
{
    int64_t limit = call->tries < 4 ? CONNECT_MS << call->tries : PROOF_MS;

    call->fd = socket(call->name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (call->fd < 0 || tern_boot_handshake_draw(call->greet.node_random) != TERN_OK) {
        not_connected(search, call, errno);
        return;
    }
    tern_boot_relay_socket_tune(call->fd);
    enter(call, STAGE_CALL, limit);
    if (connect(call->fd, (struct sockaddr *)(void *)&call->name, call->name_len) != 0 && errno != EINPROGRESS)
        not_connected(search, call, errno);
}

/* The connection is made, or cannot be. */
static void say_hello(struct search *search, struct call *call)
{
    uint8_t   hello[TERN_HANDSHAKE_HELLO];
    int       error = 0;
    socklen_t len = sizeof(error);

    if (getsockopt(call->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0) {
        not_connected(search, call, error);
        return;
    }
    tern_boot_handshake_hello(&call->greet, hello);
    enter(call, STAGE_HELLO, PROOF_MS);
    if (send(call->fd, hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello))
        call_again(search, call);
}

/* Hear the rest of len bytes; whether they are whole. */
static bool hear(struct search *search, struct call *call, size_t len)
{
    ssize_t got = recv(call->fd, call->said + call->len, len - call->len, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) {
        call_again(search, call);
        return false;
    }
    call->len += (size_t)got;
    return call->len == len;
}

static void serve(struct search *search, struct call *call)
{
    switch (call->stage) {
    case STAGE_CALL: say_hello(search, call); break;
    case STAGE_HELLO:
        if (!hear(search, call, TERN_HANDSHAKE_WELCOME))
            break;
        call->len = 0;
        if (tern_boot_handshake_read_welcome(&call->greet, call->said))
            enter(call, STAGE_WELCOME, PROOF_MS);
        else
            give_up(call);
        break;
    case STAGE_CONFIRM:
        if (!hear(search, call, TERN_HANDSHAKE_TAG))
            break;
        if (tern_boot_handshake_is(&call->greet, TERN_HANDSHAKE_IS_ACCEPTED, call->said))
            call->stage = STAGE_DONE;
        else
            give_up(call);
        break;
    default: break;
    }
}

/* ---- all calls ---- */

static struct call *find(struct search *search, enum stage stage)
{
    for (int i = 0; i < search->count; i++)
        if (search->call[i].stage == stage)
            return &search->call[i];
    return NULL;
}

/* Confirm one connection, unless one was confirmed and has not ended: rank 0 takes the connection that is confirmed
 * last. */
static void confirm_one(struct search *search)
{
    struct call *call = find(search, STAGE_WELCOME);
    uint8_t      confirm[TERN_HANDSHAKE_TAG];

    if (call == NULL || find(search, STAGE_CONFIRM) != NULL || find(search, STAGE_DONE) != NULL)
        return;
    tern_boot_handshake_say(&call->greet, TERN_HANDSHAKE_IS_CONFIRM, confirm);
    enter(call, STAGE_CONFIRM, PERSIST_MS); /* rank 0 has proved itself; keepalive tells of its death */
    if (send(call->fd, confirm, sizeof(confirm), MSG_NOSIGNAL) != sizeof(confirm))
        call_again(search, call);
}

/* What the clock asks for. Returns when it does again. */
static int64_t look_at_clock(struct search *search)
{
    int64_t next = INT64_MAX;

    for (int i = 0; i < search->count; i++) {
        struct call *call = &search->call[i];

        if (call->stage == STAGE_GIVEN_UP || call->stage == STAGE_DONE)
            continue;
        if (tern_base_now() >= call->until && call->stage == STAGE_PAUSE)
            place_call(search, call);
        else if (tern_base_now() >= call->until)
            call_again(search, call);
        if (call->stage != STAGE_GIVEN_UP && call->until < next)
            next = call->until;
    }
    return next;
}

/* Wait for one thing to happen, and let it. Returns as tern_boot_poll. */
static tern_status step(struct search *search, struct tern_poll_deadline *patience)
{
    int64_t       until = look_at_clock(search);
    struct pollfd fds[TERN_RELAY_ADDRESSES];
    tern_status   st;

    for (int i = 0; i < search->count; i++) {
        const struct call *call = &search->call[i];

        fds[i] = (struct pollfd){ .fd = call->stage == STAGE_WELCOME ? -1 : call->fd,
                                  .events = call->stage == STAGE_CALL ? POLLOUT : POLLIN };
    }
    st = tern_boot_poll_until(patience, fds, (nfds_t)search->count, until);
    for (int i = 0; i < search->count && st == TERN_OK; i++)
        if (fds[i].revents != 0)
            serve(search, &search->call[i]);
    confirm_one(search);
    return st;
}

static bool is_hopeless(const struct search *search)
{
    for (int i = 0; i < search->count; i++)
        if (search->call[i].stage != STAGE_GIVEN_UP)
            return false;
    return true;
}

static tern_status unreachable(const char *text, const struct tern_relay_target *target, bool none)
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
    struct tern_poll_deadline patience;
    struct call              *done;
    tern_status               st = TERN_OK;

    if (!tern_boot_relay_target_decode(text, &target))
        return tern_base_fail(TERN_ERR_BOOT, "rank 0 published addresses that this version of Tern cannot read; all "
                                             "nodes of a job need the same version");
    choose_addresses(&search, &target, (uint32_t)node);
    tern_boot_poll_begin(&patience, "an answer of rank 0");
    while (st == TERN_OK && find(&search, STAGE_DONE) == NULL && !is_hopeless(&search))
        st = step(&search, &patience);
    done = find(&search, STAGE_DONE);
    if (done != NULL) {
        line->fd = done->fd;
        tern_boot_handshake_keys(&done->greet, false, &line->keys);
        done->fd = -1;
        st = TERN_OK;
    } else if (st == TERN_OK) {
        st = unreachable(text, &target, search.count == 0);
    }
    for (int i = 0; i < search.count; i++)
        hang_up(&search.call[i]);
    return st;
}
