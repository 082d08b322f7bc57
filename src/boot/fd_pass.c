/* fd_pass.c: the socket, the key, and the descriptors that the host passes to the other ranks of its node.
 *
 * The socket has an abstract name, which leaves nothing in a file system and disappears with the process. Every user of
 * the machine can list abstract names. So a client must belong to the same user according to the kernel, and must know
 * the key, which the launcher distributes. Strangers cannot keep clients out (accept_queue.h). A client that is evicted
 * before it was identified connects again.
 */
#include "boot/fd_pass.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/siphash.h"
#include "boot/accept_queue.h"
#include "boot/poll_deadline.h"
#include "boot/segment.h"

#define EXTRA_PENDING 16 /* pending connections allowed in addition to the clients */
#define RETRY_MS 10      /* an evicted client connects again after this time, */
#define RETRY_MAX 500    /* at most this many times */

/* The message of a client. cpus is truncated after its last nonzero byte. */
struct hello {
    uint32_t         magic, layout;
    uint32_t         rank;
    int32_t          launcher_fd; /* see struct tern_fd_pass_client */
    uint8_t          key[TERN_FD_PASS_KEY];
    struct tern_cpus cpus;
};
#define HELLO_HEAD offsetof(struct hello, cpus)

/* The reply of the host, which carries the descriptors that exist. */
struct answer {
    uint32_t magic;
    uint32_t has; /* bit i: descriptor i is present */
};

static socklen_t write_name(struct sockaddr_un *name, uint64_t number)
{
    int len;

    memset(name, 0, sizeof(*name));
    name->sun_family = AF_UNIX;
    len = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "tern-%016llx", (unsigned long long)number);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

static bool is_own_user(int fd, pid_t *pid)
{
    struct ucred peer;
    socklen_t    len = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 || peer.uid != geteuid())
        return false;
    *pid = peer.pid;
    return true;
}

tern_status tern_boot_fd_pass_open(int *listen_fd, struct tern_fd_pass_address *address)
{
    struct sockaddr_un name;
    socklen_t          len;
    tern_status        st = tern_base_random(address, sizeof(*address));
    int                fd;

    if (st != TERN_OK)
        return st;
    len = write_name(&name, address->name);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)(void *)&name, len) != 0 || listen(fd, TERN_MAX_NODE_RANKS) != 0) {
        st = tern_base_fail(TERN_ERR_SYSTEM, "cannot open the socket through which the ranks of a node meet: %s",
                            strerror(errno));
        if (fd >= 0)
            close(fd);
        return st;
    }
    *listen_fd = fd;
    return TERN_OK;
}

/* The clients that are expected. */
struct host {
    struct tern_accept_queue           queue; /* must be first */
    const struct tern_fd_pass_address *address;
    struct tern_fd_pass_client        *clients; /* [queue.expected] */
    struct tern_cpus                  *cpus;
};

/* Return the client that sent the hello, or NULL if the sender is a stranger or has already been identified on another
 * connection. */
static struct tern_fd_pass_client *find_client(const struct host *host, const struct hello *hello, ssize_t len)
{
    if (len < (ssize_t)HELLO_HEAD || hello->magic != TERN_SEGMENT_MAGIC || hello->layout != TERN_SEGMENT_LAYOUT ||
        memcmp(hello->key, host->address->key, TERN_FD_PASS_KEY) != 0)
        return NULL;
    for (int i = 0; i < host->queue.expected; i++)
        if (host->clients[i].rank == (int)hello->rank)
            return host->clients[i].fd < 0 ? &host->clients[i] : NULL;
    return NULL;
}

/* Receive the hello of a connection: the callback receive of struct tern_accept_queue. The connection leaves the queue
 * with its first message. */
static void receive_hello(struct tern_accept_queue *queue, int i)
{
    struct host                *host = (struct host *)(void *)queue;
    struct hello                hello;
    int                         fd = queue->fds[i].fd;
    ssize_t                     len = recv(fd, &hello, sizeof(hello), MSG_DONTWAIT);
    struct tern_fd_pass_client *client;

    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    client = find_client(host, &hello, len);
    if (client != NULL && is_own_user(fd, &client->pid)) {
        client->fd = fd;
        client->launcher_fd = hello.launcher_fd;
        queue->missing--;
        tern_boot_cpus_add(host->cpus, hello.cpus.bits, (size_t)len - HELLO_HEAD);
    }
    tern_boot_accept_remove(queue, i, client == NULL || client->fd != fd);
}

/* Admit only processes of the same user: the callback admit of struct tern_accept_queue. All clients have the same
 * source. */
static bool admit(struct tern_accept_queue *queue, int fd, const struct sockaddr *from,
                  struct tern_accept_client *client)
{
    pid_t pid;

    (void)queue, (void)from, (void)client;
    return is_own_user(fd, &pid);
}

tern_status tern_boot_fd_pass_accept(int listen_fd, const struct tern_fd_pass_address *address,
                                     struct tern_fd_pass_client *clients, int count, struct tern_cpus *cpus)
{
    struct host host = { .queue = { .what = "the other ranks of this node to connect to this rank",
                                    .peers = "other ranks of this node",
                                    .expected = count,
                                    .missing = count,
                                    .max_clients = count + EXTRA_PENDING,
                                    .max_per_source = count + EXTRA_PENDING,
                                    .admit = admit,
                                    .receive = receive_hello },
                         .address = address,
                         .clients = clients,
                         .cpus = cpus };
    tern_status st;

    for (int i = 0; i < count; i++)
        clients[i].fd = -1;
    st = tern_boot_accept_all(&host.queue, listen_fd);
    if (st != TERN_OK)
        tern_boot_fd_pass_send(clients, count, NULL);
    return st;
}

static bool send_fds(int fd, const int *passed)
{
    struct answer answer = { .magic = TERN_SEGMENT_MAGIC };
    struct iovec  part = { &answer, sizeof(answer) };
    union {
        struct cmsghdr header;
        char           bytes[CMSG_SPACE(TERN_FD_PASS_FDS * sizeof(int))];
    } control = { .bytes = { 0 } };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control };
    int           given[TERN_FD_PASS_FDS], count = 0;

    for (int i = 0; i < TERN_FD_PASS_FDS; i++)
        if (passed[i] >= 0) {
            answer.has |= 1u << i;
            given[count++] = passed[i];
        }
    message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(&control.header), given, (size_t)count * sizeof(int));
    return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(answer);
}

tern_status tern_boot_fd_pass_send(struct tern_fd_pass_client *clients, int count, const int *passed)
{
    tern_status st = TERN_OK;

    for (int i = 0; i < count; i++) {
        if (clients[i].fd < 0)
            continue;
        if (passed != NULL && !send_fds(clients[i].fd, passed))
            st = tern_base_fail(TERN_ERR_BOOT, "cannot give the node's shared memory to rank %d (pid %d): %s",
                                clients[i].rank, (int)clients[i].pid, strerror(errno));
        close(clients[i].fd);
        clients[i].fd = -1;
    }
    return st;
}

static tern_status gave_up(int host)
{
    return tern_base_fail(TERN_ERR_BOOT, "rank %d, which sets up this node, gave up; its own message says why", host);
}

/* Connect to the host. was_open: an earlier connection succeeded, so a failure now means that the host gave up. */
static tern_status connect_to_host(const struct tern_fd_pass_address *address, int host, bool was_open, int *out)
{
    struct sockaddr_un name;
    socklen_t          len = write_name(&name, address->name);
    int                fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int                rc;
    pid_t              pid;

    if (fd < 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot make a socket: %s", strerror(errno));
    do
        rc = connect(fd, (struct sockaddr *)(void *)&name, len);
    while (rc != 0 && errno == EINTR);
    if (rc == 0 && is_own_user(fd, &pid)) {
        *out = fd;
        return TERN_OK;
    }
    if (rc != 0 && was_open)
        gave_up(host);
    else if (rc != 0)
        tern_base_fail(TERN_ERR_BOOT,
                       "cannot reach rank %d, which is said to be on the same node: %s; if it ended, its own message "
                       "says why; if the two cannot share memory, give them different names with TERN_NODE",
                       host, strerror(errno));
    else
        tern_base_fail(TERN_ERR_BOOT, "rank %d belongs to another user; all ranks of a job must belong to one", host);
    close(fd);
    return TERN_ERR_BOOT;
}

/* Receive the descriptors. Returns TERN_AGAIN if the connection ended without any. */
static tern_status receive_fds(int fd, int host, int passed[TERN_FD_PASS_FDS])
{
    struct answer answer = { 0 };
    struct iovec  part = { &answer, sizeof(answer) };
    union {
        struct cmsghdr header;
        char           bytes[CMSG_SPACE(TERN_FD_PASS_FDS * sizeof(int))];
    } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
    };
    struct cmsghdr *header;
    int             given[sizeof(control.bytes) / sizeof(int)];
    size_t          count = 0, next = 0;
    ssize_t         len;

    do
        len = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (len < 0 && errno == EINTR);
    if (len != (ssize_t)sizeof(answer) || answer.magic != TERN_SEGMENT_MAGIC)
        return TERN_AGAIN;
    header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_type == SCM_RIGHTS) {
        count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(given, CMSG_DATA(header), count * sizeof(int));
    }
    if (count != (size_t)__builtin_popcount(answer.has) || answer.has >= 1u << TERN_FD_PASS_FDS) {
        while (count > 0)
            close(given[--count]);
        return tern_base_fail(TERN_ERR_BOOT, "the descriptors from rank %d did not all arrive; see 'ulimit -n'", host);
    }
    for (int i = 0; i < TERN_FD_PASS_FDS; i++)
        passed[i] = answer.has & 1u << i ? given[next++] : -1;
    return TERN_OK;
}

/* Connect once, send the hello and receive the descriptors. Returns TERN_AGAIN if the host accepted the connection and
 * then closed it. */
static tern_status request_once(const struct tern_fd_pass_address *address, int host, const struct hello *hello,
                                struct tern_poll_deadline *deadline, bool was_open, int passed[TERN_FD_PASS_FDS])
{
    size_t      len = HELLO_HEAD + tern_boot_cpus_length(&hello->cpus);
    int         fd = -1;
    tern_status st = connect_to_host(address, host, was_open, &fd);

    if (st != TERN_OK)
        return st;
    if (send(fd, hello, len, MSG_NOSIGNAL) != (ssize_t)len)
        st = TERN_AGAIN;
    else
        st = tern_boot_poll(deadline, &(struct pollfd){ fd, POLLIN, 0 }, 1, INT64_MAX);
    if (st == TERN_OK)
        st = receive_fds(fd, host, passed);
    close(fd);
    return st;
}

tern_status tern_boot_fd_pass_receive(const struct tern_fd_pass_address *address, int host, int rank, int launcher_fd,
                                      int passed[TERN_FD_PASS_FDS])
{
    struct hello hello = {
        .magic = TERN_SEGMENT_MAGIC, .layout = TERN_SEGMENT_LAYOUT, .rank = (uint32_t)rank, .launcher_fd = launcher_fd
    };
    struct tern_poll_deadline deadline;
    tern_status               st;
    int                       tries = 0;

    memcpy(hello.key, address->key, TERN_FD_PASS_KEY);
    tern_boot_cpus_own(&hello.cpus);
    tern_boot_poll_begin(&deadline, "the lowest rank of this node to set up its memory");
    while ((st = request_once(address, host, &hello, &deadline, tries > 0, passed)) == TERN_AGAIN &&
           tries++ < RETRY_MAX)
        poll(NULL, 0, RETRY_MS);
    return st == TERN_AGAIN ? gave_up(host) : st;
}
