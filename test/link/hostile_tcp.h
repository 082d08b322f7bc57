/* hostile_tcp.h: the set-up of tests with a hostile peer of the link tcp.
 *
 * The process opens the link as rank 0 of RANKS, without a progress thread, and plays the other ranks, and strangers,
 * over sockets of its own. Each scene runs in its own process. A rank whose connection is closed stays out of the job,
 * so each misdeed is played by another rank.
 */
#ifndef TERN_HOSTILE_TCP_H
#define TERN_HOSTILE_TCP_H

#include "link_test.h"

#include <poll.h>

#include "link/tcp/tcp.h"

#define RANKS 40
#define REGION 5u
#define SIZE 65536u

struct scene {
    struct rank           r;
    struct tcp_link      *tcp;
    struct sockaddr_in    name;   /* of the port of rank 0 */
    unsigned char        *memory; /* exposed: SIZE bytes, between two pages that nobody may touch */
    uint64_t              key;    /* of the memory */
    struct tern_link_part theirs; /* memory of the rank that is being played */
    int                   next;   /* the rank that is played next */
};

static unsigned notified; /* notifications with a put that have arrived */

static inline void count_head(unsigned char *head, uint64_t region, uint32_t tag, uint64_t bytes)
{
    (void)head, (void)region, (void)tag, (void)bytes;
    notified++;
}

static inline tern_status refuse_rpc(const struct tern_target_mem *mem, const unsigned char *request, size_t len,
                                     unsigned char *response, size_t capacity, size_t *response_len)
{
    (void)mem, (void)request, (void)len, (void)response, (void)capacity, (void)response_len;
    return TERN_ERR_LINK;
}

/* ---- the link ---- */

static inline void memory_set(struct scene *s)
{
    size_t         page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *pages = mmap(NULL, SIZE + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    EXPECT((void *)pages != MAP_FAILED);
    EXPECT(mprotect(pages, page, PROT_NONE) == 0 && mprotect(pages + page + SIZE, page, PROT_NONE) == 0);
    s->memory = pages + page;
    memset(s->memory, 0x5a, SIZE);
}

static inline void scene_set(struct scene *s)
{
    static struct tern_link_up up;
    struct tern_mem_handle     handle = { .region = REGION, .size = SIZE, .mem_kind = TERN_MEM_PRIVATE };
    socklen_t                  len = sizeof(s->name);

    up = test_up;
    up.notify_head = count_head;
    up.serve = refuse_rpc;
    tern_opt.progress_thread = TERN_PROGRESS_THREAD_OFF;
    memory_set(s);
    s->r = (struct rank){ .ops = link_named("tcp"), .ranks = RANKS };
    EXPECT(tern_boot_arena_make(RANKS, 2, &s->r.boot.arena, &s->r.boot.huge, &s->r.boot.segment) == TERN_OK);
    tern_boot_place(&s->r.boot, 0);
    EXPECT(s->r.ops->open(&s->r.boot, &up, &s->r.link) == TERN_OK);
    EXPECT(s->r.ops->lane_open(s->r.link, &s->r.lane) == TERN_OK);
    s->tcp = (struct tcp_link *)s->r.link;
    handle.addr = (uint64_t)(uintptr_t)s->memory;
    EXPECT(s->r.ops->expose(s->r.link, &handle) == TERN_OK);
    EXPECT(tern_link_key_get(&handle, 0, TERN_LINK_TCP, &s->key, sizeof(s->key)) == TERN_OK);
    EXPECT(getsockname(s->tcp->port, (struct sockaddr *)(void *)&s->name, &len) == 0);
    s->next = 1;
}

static inline void scene_end(struct scene *s)
{
    s->r.ops->lane_close(s->r.lane);
    close_link(s->r.ops, s->r.link);
    tern_boot_leave(&s->r.boot);
}

static void play(scene_body *body)
{
    static struct scene s;

    scene_set(&s);
    body(&s);
    scene_end(&s);
}

static inline void nothing_written(const struct scene *s)
{
    for (size_t i = 0; i < SIZE; i++)
        EXPECT(s->memory[i] == 0x5a);
}

/* Let the link make progress until it has nothing more to do at once. */
static inline void poll_link(struct scene *s)
{
    for (int i = 0; i < 4; i++)
        s->r.ops->progress(s->r.lane);
}

/* ---- the other side ---- */

/* Connect to rank 0. Returns a nonblocking socket. */
static inline int call(const struct scene *s)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    EXPECT(fd >= 0 && connect(fd, (const struct sockaddr *)(const void *)&s->name, sizeof(s->name)) == 0);
    EXPECT(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    return fd;
}

/* Send all bytes. Returns false if the connection is closed before. */
static inline bool tell(struct scene *s, int fd, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;

    while (len > 0) {
        ssize_t sent = send(fd, at, len, MSG_NOSIGNAL);

        if (sent < 0 && errno != EAGAIN)
            return false;
        at += sent > 0 ? sent : 0;
        len -= sent > 0 ? (size_t)sent : 0;
        poll_link(s);
    }
    return true;
}

/* Receive exactly len bytes. Returns false if the connection is closed before. */
static inline bool hear(struct scene *s, int fd, void *bytes, size_t len)
{
    unsigned char *at = bytes;

    while (len > 0) {
        ssize_t got = recv(fd, at, len, 0);

        if (got == 0 || (got < 0 && errno != EAGAIN))
            return false;
        at += got > 0 ? got : 0;
        len -= got > 0 ? (size_t)got : 0;
        poll_link(s);
    }
    return true;
}

/* Wait until the link has closed the connection, and drop what it sent before. */
static inline void expect_closed(struct scene *s, int fd)
{
    unsigned char bytes[4096];
    ssize_t       got;

    do {
        poll_link(s);
        got = recv(fd, bytes, sizeof(bytes), 0);
    } while (got > 0 || (got < 0 && errno == EAGAIN));
    close(fd);
}

static inline struct tern_handshake greeting(const struct scene *s, int rank)
{
    struct tern_handshake hs = { .node = (uint32_t)rank };

    memcpy(hs.key, s->tcp->key, sizeof(hs.key));
    memset(hs.node_random, rank + 1, sizeof(hs.node_random));
    EXPECT(tern_boot_handshake_place(&hs, (const struct sockaddr *)(const void *)&s->name));
    return hs;
}

/* Receive the message of a step. Returns false if the connection is closed, or the message is not valid. */
static inline bool await_step(struct scene *s, struct tern_handshake *hs, enum tern_handshake_step step, int fd)
{
    enum tern_handshake_result result;

    do {
        poll_link(s);
        result = tern_boot_handshake_receive(hs, step, fd);
    } while (result == TERN_HANDSHAKE_PENDING);
    return result == TERN_HANDSHAKE_VALID;
}

/* Join as a rank that knows the key of the job. Returns false if the link closes the connection. */
static inline bool join(struct scene *s, int fd, int rank)
{
    struct tern_handshake hs = greeting(s, rank);

    return tern_boot_handshake_send(&hs, TERN_HANDSHAKE_IS_HELLO, fd) &&
           await_step(s, &hs, TERN_HANDSHAKE_IS_WELCOME, fd) &&
           tern_boot_handshake_send(&hs, TERN_HANDSHAKE_IS_CONFIRM, fd) &&
           await_step(s, &hs, TERN_HANDSHAKE_IS_ACCEPTED, fd);
}

/* Connect as the next rank. Its memory, as rank 0 sees it, is s->theirs. */
static inline int enter(struct scene *s)
{
    struct tern_mem_handle handle = { .region = REGION, .size = SIZE, .mem_kind = TERN_MEM_PRIVATE };
    uint64_t               key = 77;
    int                    fd = call(s);

    EXPECT(s->next < RANKS && join(s, fd, s->next));
    EXPECT(tern_link_key_add(&handle, TERN_LINK_TCP, &key, sizeof(key)) == TERN_OK);
    s->theirs = (struct tern_link_part){ .size = SIZE, .region = REGION, .rank = s->next };
    EXPECT(s->r.ops->attach(s->r.link, &handle, "", &s->theirs) == TERN_OK);
    s->next++;
    return fd;
}

/* The rank that is being played. */
static inline int played(const struct scene *s)
{
    return s->next - 1;
}

/* ---- frames ---- */

struct frame {
    unsigned char bytes[TCP_WIRE_LONGEST];
    size_t        len;
};

static inline struct frame plain(uint32_t kind, uint32_t len, uint64_t number)
{
    struct tcp_head head = { kind, len, number };
    struct frame    frame = { .len = sizeof(head) };

    memcpy(frame.bytes, &head, sizeof(head));
    return frame;
}

static inline struct frame framed(uint32_t kind, uint32_t len, uint64_t key, uint64_t offset)
{
    struct tcp_head   head = { kind, len, kind == TCP_READ ? 0 : 9 };
    struct tcp_remote remote = { key, offset };
    struct tcp_notify notify = { .tag = 3, .region = REGION, .bytes = len };
    struct frame      frame;

    frame.len = tern_tcp_wire_encode(frame.bytes, &head, &remote, &notify);
    return frame;
}

/* Receive a head that the link sends. */
static inline struct tcp_head hear_head(struct scene *s, int fd)
{
    struct tcp_head head = { .kind = 0 };

    EXPECT(hear(s, fd, &head, sizeof(head)));
    return head;
}

/* A correct put of one byte is executed and acknowledged as the given number of this connection. */
static inline void put_works(struct scene *s, int fd, uint64_t number)
{
    struct frame    frame = framed(TCP_WRITE, 1, s->key, SIZE - 1);
    unsigned char   byte = 0x33;
    struct tcp_head head;

    EXPECT(tell(s, fd, frame.bytes, frame.len) && tell(s, fd, &byte, 1));
    head = hear_head(s, fd);
    EXPECT(head.kind == TCP_ACK && head.number == number && s->memory[SIZE - 1] == 0x33);
    s->memory[SIZE - 1] = 0x5a;
}

/* The link has recorded an error that names the rank that is being played and the reason. The record is cleared. */
static inline void expect_damage(struct scene *s, const char *why)
{
    char        rank[32];
    tern_status st;

    snprintf(rank, sizeof(rank), "rank %d", played(s));
    do {
        poll_link(s);
        st = deliver(s->r.link, TERN_CHANNEL_REQUEST);
    } while (st == TERN_OK);
    EXPECT(st == TERN_ERR_LINK && strstr(tern_base_detail(), rank) && strstr(tern_base_detail(), why));
    s->tcp->net.msg.damage = TERN_OK;
    atomic_fetch_sub(&s->tcp->net.msg.queue[TERN_CHANNEL_REQUEST].count, 1);
}

#endif
