/* fd_pass.c: the door, the key, and descriptors that pass through it.
 *
 * The socket has an abstract name: nothing in any file system, gone with the process. Names can be listed by everyone
 * on the machine, so whoever comes has to be of the same user by the kernel's word and has to know the key, which
 * passes through the launcher. A stranger who comes and says nothing keeps nobody waiting, and no guest out: where all
 * places are taken, the one that has been silent for longest goes, after it was heard once more; and a guest that was
 * sent away before it was recognized comes again.
 */
#define _GNU_SOURCE 1
#include "boot/fd_pass.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "boot/poll_deadline.h"
#include "boot/segment.h"

#define STRANGERS 16   /* who may be at the door at the same time, besides the guests */
#define AGAIN_MS 10    /* a guest that was sent away comes again after this, */
#define AGAIN_MOST 500 /* so often at most */

/* What a guest says. cpus is cut behind its last byte that is not 0. */
struct hello {
    uint32_t         magic, layout;
    uint32_t         rank, reserved;
    uint8_t          key[TERN_FD_PASS_KEY];
    struct tern_cpus cpus;
};
#define HELLO_HEAD offsetof(struct hello, cpus)

/* What the host says, with the descriptors that there are. */
struct answer {
    uint32_t magic;
    uint32_t has; /* bit i: gift i is there */
};

static tern_status draw(void *bytes, size_t len)
{
    ssize_t got;

    do
        got = getrandom(bytes, len, 0);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)len)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot draw random bytes (getrandom): %s",
                              got < 0 ? strerror(errno) : "too few");
    return TERN_OK;
}

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

tern_status tern_boot_fd_pass_open(int *door, struct tern_fd_pass_address *address)
{
    struct sockaddr_un name;
    socklen_t          len;
    tern_status        st = draw(address, sizeof(*address));
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
    *door = fd;
    return TERN_OK;
}

/* The guest that a hello comes from; NULL: a stranger, or one who was here before. */
static struct tern_fd_pass_client *recognize(const struct hello *hello, size_t len,
                                             const struct tern_fd_pass_address *address,
                                             struct tern_fd_pass_client *guests, int count)
{
    if (len < HELLO_HEAD || hello->magic != TERN_SEGMENT_MAGIC || hello->layout != TERN_SEGMENT_LAYOUT ||
        memcmp(hello->key, address->key, TERN_FD_PASS_KEY) != 0)
        return NULL;
    for (int i = 0; i < count; i++)
        if (guests[i].rank == (int)hello->rank)
            return guests[i].fd < 0 ? &guests[i] : NULL;
    return NULL;
}

/* Who stands at the door, and who is expected. */
struct queue {
    const struct tern_fd_pass_address *address;
    struct tern_fd_pass_client        *guests; /* [expected] */
    int                                expected, missing;
    struct tern_cpus                  *cpus;
    struct pollfd                     *fds; /* [0] is the door, then [count] who said nothing yet, the oldest first */
    int                                count, room;
};

static void leave_queue(struct queue *queue, int i, bool send_home)
{
    if (send_home)
        close(queue->fds[i].fd);
    memmove(&queue->fds[i], &queue->fds[i + 1], (size_t)(queue->count - i) * sizeof(queue->fds[0]));
    queue->count--;
}

/* Hear someone at the door, who leaves the queue with the first words. */
static void listen_to(struct queue *queue, int i)
{
    struct hello                hello;
    int                         fd = queue->fds[i].fd;
    ssize_t                     len = recv(fd, &hello, sizeof(hello), MSG_DONTWAIT);
    struct tern_fd_pass_client *guest =
        len < 0 ? NULL : recognize(&hello, (size_t)len, queue->address, queue->guests, queue->expected);

    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (guest == NULL || !is_own_user(fd, &guest->pid)) {
        leave_queue(queue, i, true);
        return;
    }
    leave_queue(queue, i, false);
    guest->fd = fd;
    queue->missing--;
    tern_boot_cpus_add(queue->cpus, hello.cpus.bits, (size_t)len - HELLO_HEAD);
}

/* Make a place: the oldest goes, if it has still nothing to say. */
static void make_place(struct queue *queue)
{
    int before = queue->count;

    listen_to(queue, 1);
    if (queue->count == before)
        leave_queue(queue, 1, true);
}

/* Let in who has come, as many as there are places. */
static tern_status let_in(struct queue *queue)
{
    for (int i = 0; i < queue->room && queue->missing > 0; i++) {
        int   fd = accept4(queue->fds[0].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        bool  full = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
        pid_t pid;

        if (fd < 0 && errno == EAGAIN)
            break;
        if (full && queue->count == 0)
            return tern_base_fail(TERN_ERR_SYSTEM, "cannot meet the %d other ranks of this node: %s; see 'ulimit -n'",
                                  queue->expected, strerror(errno));
        if (fd >= 0 && !is_own_user(fd, &pid)) {
            close(fd);
            continue;
        }
        if (full || queue->count == queue->room)
            make_place(queue);
        if (fd < 0)
            continue;
        queue->fds[++queue->count] = (struct pollfd){ .fd = fd, .events = POLLIN };
        listen_to(queue, queue->count);
    }
    return TERN_OK;
}

tern_status tern_boot_fd_pass_accept(int door, const struct tern_fd_pass_address *address,
                                     struct tern_fd_pass_client *guests, int count, struct tern_cpus *cpus)
{
    struct queue              queue = { .address = address,
                                        .guests = guests,
                                        .expected = count,
                                        .missing = count,
                                        .cpus = cpus,
                                        .room = count + STRANGERS };
    struct tern_poll_deadline patience;
    tern_status               st = TERN_OK;

    queue.fds = calloc((size_t)queue.room + 1, sizeof(*queue.fds));
    if (queue.fds == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory to meet %d ranks of this node", count);
    queue.fds[0] = (struct pollfd){ .fd = door, .events = POLLIN };
    for (int i = 0; i < count; i++)
        guests[i].fd = -1;
    tern_boot_poll_begin(&patience, "the ranks of this node to come to the lowest of them");
    while (st == TERN_OK && queue.missing > 0 &&
           (st = tern_boot_poll(&patience, queue.fds, (nfds_t)queue.count + 1)) == TERN_OK) {
        for (int i = queue.count; i > 0; i--) /* downwards: one who leaves moves those behind it only */
            if (queue.fds[i].revents != 0)
                listen_to(&queue, i);
        if (queue.fds[0].revents != 0)
            st = let_in(&queue);
    }
    for (int i = 1; i <= queue.count; i++)
        close(queue.fds[i].fd);
    free(queue.fds);
    if (st != TERN_OK)
        tern_boot_fd_pass_send(guests, count, NULL);
    return st;
}

static bool give_one(int fd, const int *gifts)
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
        if (gifts[i] >= 0) {
            answer.has |= 1u << i;
            given[count++] = gifts[i];
        }
    message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(&control.header), given, (size_t)count * sizeof(int));
    return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(answer);
}

tern_status tern_boot_fd_pass_send(struct tern_fd_pass_client *guests, int count, const int *gifts)
{
    tern_status st = TERN_OK;

    for (int i = 0; i < count; i++) {
        if (guests[i].fd < 0)
            continue;
        if (gifts != NULL && !give_one(guests[i].fd, gifts))
            st = tern_base_fail(TERN_ERR_BOOT, "cannot give the node's shared memory to rank %d (pid %d): %s",
                                guests[i].rank, (int)guests[i].pid, strerror(errno));
        close(guests[i].fd);
        guests[i].fd = -1;
    }
    return st;
}

static tern_status gave_up(int host)
{
    return tern_base_fail(TERN_ERR_BOOT, "rank %d, which sets up this node, gave up; its own message says why", host);
}

/* Connect; was_open tells that the door was there before. */
static tern_status go_there(const struct tern_fd_pass_address *address, int host, bool was_open, int *out)
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
        tern_base_fail(TERN_ERR_BOOT, "rank %d is of another user; all ranks of a job belong to one", host);
    close(fd);
    return TERN_ERR_BOOT;
}

/* Take the gifts. TERN_AGAIN: the connection ended without any. */
static tern_status take(int fd, int host, int gifts[TERN_FD_PASS_FDS])
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
        gifts[i] = answer.has & 1u << i ? given[next++] : -1;
    return TERN_OK;
}

/* Go to the door once. TERN_AGAIN: it was opened, and the guest was sent away. */
static tern_status visit_once(const struct tern_fd_pass_address *address, int host, const struct hello *hello,
                              struct tern_poll_deadline *patience, bool was_open, int gifts[TERN_FD_PASS_FDS])
{
    size_t      len = HELLO_HEAD + tern_boot_cpus_length(&hello->cpus);
    int         fd = -1;
    tern_status st = go_there(address, host, was_open, &fd);

    if (st != TERN_OK)
        return st;
    if (send(fd, hello, len, MSG_NOSIGNAL) != (ssize_t)len)
        st = TERN_AGAIN;
    else
        st = tern_boot_poll(patience, &(struct pollfd){ fd, POLLIN, 0 }, 1);
    if (st == TERN_OK)
        st = take(fd, host, gifts);
    close(fd);
    return st;
}

tern_status tern_boot_fd_pass_receive(const struct tern_fd_pass_address *address, int host, int rank,
                                      int gifts[TERN_FD_PASS_FDS])
{
    struct hello hello = { .magic = TERN_SEGMENT_MAGIC, .layout = TERN_SEGMENT_LAYOUT, .rank = (uint32_t)rank };
    struct tern_poll_deadline patience;
    tern_status               st;
    int                       tries = 0;

    memcpy(hello.key, address->key, TERN_FD_PASS_KEY);
    tern_boot_cpus_own(&hello.cpus);
    tern_boot_poll_begin(&patience, "the lowest rank of this node to set up its memory");
    while ((st = visit_once(address, host, &hello, &patience, tries > 0, gifts)) == TERN_AGAIN && tries++ < AGAIN_MOST)
        poll(NULL, 0, AGAIN_MS);
    return st == TERN_AGAIN ? gave_up(host) : st;
}
