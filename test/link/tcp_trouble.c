/* tcp_trouble.c: connections of the link tcp when something goes wrong on the way: peers that cannot be reached, that
 * refuse, or that do not read for long; sockets that a child of the program keeps open; and puts that end early.
 *
 * Promises: a message to a rank that cannot be reached becomes an error of the link, also if the program does not poll
 * meanwhile. A rank whose machine answers keeps its connection, however long its process does not read; a machine that
 * does not answer loses it. A lack of memory in the kernel delays bytes. A connection that is closed ends for the peer,
 * too. A notification that was not delivered uses no credit. A rank is not notified of a put of which a part was
 * refused.
 */
#include "hostile_tcp.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/syscall.h>

/* ---- system calls that fail ---- */

static _Atomic int refusals; /* system calls that send, which fail for lack of memory in the kernel */

static bool is_refused(void)
{
    if (refusals == 0)
        return false;
    refusals--;
    errno = ENOBUFS;
    return true;
}

/* Take the place of the functions of the C library. */
ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
    return is_refused() ? -1 : syscall(SYS_sendto, fd, bytes, len, flags, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
    return is_refused() ? -1 : syscall(SYS_sendmsg, fd, msg, flags);
}

/* ---- ranks that cannot be reached ---- */

/* Publish an address of rank 1: that of rank 0, with another port and IPv4 address. */
static void publish(const struct scene *s, uint32_t port, const char *address)
{
    enum { PORT = 20, ADDRESS = 40 + 12 }; /* in the record of address.c */
    struct tern_boot boot = s->r.boot;
    unsigned char    record[512];
    size_t           len = 0;
    const void      *own = tern_boot_net_address(&boot, TERN_LINK_TCP, 0, &len);
    struct in_addr   four;

    EXPECT(own && len <= sizeof(record) && inet_pton(AF_INET, address, &four) == 1);
    memcpy(record, own, len);
    memcpy(record + PORT, &port, sizeof(port));
    memcpy(record + ADDRESS, &four, sizeof(four));
    tern_boot_place(&boot, 1);
    EXPECT(tern_boot_publish_address(&boot, TERN_LINK_TCP, record, len) == TERN_OK);
}

/* A port of this machine. It refuses connections until the caller listens. */
static int open_port(struct sockaddr_in *name)
{
    socklen_t len = sizeof(*name);
    int       fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *name = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    EXPECT(fd >= 0 && bind(fd, (struct sockaddr *)(void *)name, len) == 0);
    EXPECT(getsockname(fd, (struct sockaddr *)(void *)name, &len) == 0);
    return fd;
}

static struct net_peer *send_to_first(struct scene *s)
{
    uint32_t none = 0;

    s->next = 2; /* rank 1 is played */
    EXPECT(s->r.ops->msg->send_short(s->r.link, 1, TERN_CHANNEL_REQUEST, 77, &none, 1) == TERN_OK);
    return tern_net_peer(&s->tcp->net, 1);
}

/* Nobody listens at the address of the rank. The error waits until it is known that the rank has not died. */
static void unreachable(struct scene *s)
{
    struct sockaddr_in name;
    struct net_peer   *peer;
    int                fd = open_port(&name);

    publish(s, ntohs(name.sin_port), "127.0.0.1");
    peer = send_to_first(s);
    while (!peer->broken)
        poll_link(s);
    EXPECT(deliver(s->r.link, TERN_CHANNEL_REQUEST) == TERN_OK);
    EXPECT(tern_net_due(&s->tcp->net) < 10 * NET_NOTICE_NS);
    peer->judge_at = 0;
    expect_damage(s, "cannot be reached over TCP: Connection refused");
    close(fd);
}

/* The kernel refuses to connect at once, so that no event of a socket tells anything. The progress thread tries again
 * while the program computes. */
static void no_route(struct scene *s)
{
    struct net_peer *peer;
    bool             broken = false;

    tern_opt.progress_thread = TERN_PROGRESS_THREAD_ON;
    EXPECT(tern_tcp_progress_thread_start(s->tcp) == TERN_OK);
    while (atomic_load(&s->tcp->progress_thread.base.helper.state) != TERN_HELPER_SLEEPS)
        usleep(1000);
    publish(s, 9, "255.255.255.255");
    peer = send_to_first(s);
    while (!broken) {
        usleep(1000);
        pthread_mutex_lock(&s->tcp->net.lock);
        broken = peer->broken;
        pthread_mutex_unlock(&s->tcp->net.lock);
    }
}

/* A rank closes every connection after it has made sure of its peer. That is no rule that holds for ever. */
static void refuses_always(struct scene *s)
{
    struct sockaddr_in name;
    struct net_peer   *peer;
    int                port = open_port(&name);

    EXPECT(listen(port, 5) == 0);
    publish(s, ntohs(name.sin_port), "127.0.0.1");
    peer = send_to_first(s);
    tern_tcp_route(peer)->refusals = 1000; /* in the last twenty seconds */
    while (!peer->broken) {
        struct tern_handshake hs = greeting(s, 0);
        int                   fd = accept4(port, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        poll_link(s);
        if (fd < 0)
            continue;
        EXPECT(tern_boot_handshake_place(&hs, (const struct sockaddr *)(const void *)&name));
        EXPECT(await_step(s, &hs, TERN_HANDSHAKE_IS_HELLO, fd));
        EXPECT(tern_boot_handshake_send(&hs, TERN_HANDSHAKE_IS_WELCOME, fd));
        EXPECT(await_step(s, &hs, TERN_HANDSHAKE_IS_CONFIRM, fd));
        close(fd);
    }
    peer->judge_at = 0;
    expect_damage(s, "cannot be reached over TCP: Connection reset by peer");
    close(port);
}

/* Processes that repeat the HELLO of a rank, and cannot go on, keep no rank out. */
static void repeated_hellos(struct scene *s)
{
    enum { CROWD = 300 };
    static int crowd[CROWD];
    int        fd;

    for (int i = 0; i < CROWD; i++) {
        struct tern_handshake hs = greeting(s, 1);

        crowd[i] = call(s);
        EXPECT(tern_boot_handshake_send(&hs, TERN_HANDSHAKE_IS_HELLO, crowd[i]));
        poll_link(s);
    }
    fd = enter(s);
    put_works(s, fd, 1);
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
    close(fd);
}

/* ---- silence ---- */

static struct test_op op;

static void start(struct scene *s, void *local, size_t len, bool notify)
{
    struct tern_xfer xfer = { .part = &s->theirs, .local = local, .len = len, .notify = notify };

    op = (struct test_op){ .done = 0 };
    EXPECT(s->theirs.path->start(s->r.lane, &xfer, &op.op) == TERN_PENDING);
    op.op.net.give_up_at = 1; /* if it fails, it is known whether the rank is alive */
}

/* Ask the kernel of the connection to the rank that is being played. */
static struct tcp_info ask_kernel(const struct tcp_conn *conn)
{
    struct tcp_info info;
    socklen_t       len = sizeof(info);

    EXPECT(getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0);
    return info;
}

static unsigned char large[32u << 20];

/* The rank does not read, and its machine answers: the kernel must not end the connection, nor does the link. */
static void stopped_reader(struct scene *s)
{
    int              fd = enter(s), limit = -1;
    struct tcp_conn *conn = tern_tcp_conn(tern_net_peer(&s->tcp->net, played(s)));
    socklen_t        len = sizeof(limit);
    struct tcp_info  info;

    start(s, large, sizeof(large), false);
    do { /* until the kernel asks whether the rank reads again */
        poll_link(s);
        info = ask_kernel(conn);
    } while (info.tcpi_probes == 0);
    EXPECT(!tern_tcp_is_silent(info.tcpi_unacked, info.tcpi_retransmits, UINT32_MAX, UINT32_MAX));
    EXPECT(getsockopt(conn->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, &len) == 0 && limit == 0);
    close(fd);
}

/* A machine that acknowledges nothing of what was sent again, and sends nothing itself, is silent after a time. */
static void silence(struct scene *s)
{
    (void)s;
    EXPECT(tern_tcp_is_silent(1, 1, 20000, 20000) && tern_tcp_is_silent(9, 7, UINT32_MAX, 30000));
    EXPECT(!tern_tcp_is_silent(0, 1, 30000, 30000)); /* nothing to acknowledge */
    EXPECT(!tern_tcp_is_silent(1, 0, 30000, 30000)); /* only just sent */
    EXPECT(!tern_tcp_is_silent(1, 1, 100, 30000) && !tern_tcp_is_silent(1, 1, 30000, 100));
}

/* ---- sending ---- */

/* The kernel lacks memory at times: the bytes are sent later. */
static void no_buffers(struct scene *s)
{
    unsigned char bytes[32 + 8];
    int           fd = enter(s);

    for (int times = 1; times < 5; times++) {
        struct frame ack = plain(TCP_ACK, 0, (uint64_t)times);

        refusals = times;
        start(s, bytes, 8, false);
        while (refusals > 0)
            poll_link(s);
        EXPECT(hear(s, fd, bytes, sizeof(bytes)) && tell(s, fd, ack.bytes, ack.len));
        while (op.done == 0)
            poll_link(s);
        EXPECT(op.status == TERN_OK);
    }
    close(fd);
}

/* A child of the program has the sockets open, too. A connection that the link closes ends for its peer. */
static void forked(struct scene *s)
{
    struct frame bad = plain(TCP_KINDS, 16, 0);
    int          fd = enter(s);
    pid_t        child = fork();

    EXPECT(child >= 0);
    if (child == 0) {
        pause();
        _exit(0);
    }
    EXPECT(tell(s, fd, bad.bytes, bad.len));
    expect_damage(s, ": it ");
    expect_closed(s, fd);
    EXPECT(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

/* ---- notifications that are not delivered ---- */

/* Take one WRITE that the link sends, refuse it if that is asked for, and acknowledge it. Returns false if there is
 * none. */
static bool take_write(struct scene *s, int fd, uint64_t number, bool refuse)
{
    unsigned char      bytes[TCP_WIRE_LONGEST];
    struct tcp_decoded frame;
    struct frame       ack = plain(TCP_ACK, 0, number), refusal;
    size_t             len = sizeof(struct tcp_head) + sizeof(struct tcp_remote);
    unsigned char     *data = NULL;

    for (int i = 0; recv(fd, bytes, len, MSG_PEEK) < (ssize_t)len; i++) {
        if (i == 100)
            return false;
        poll_link(s);
    }
    EXPECT(hear(s, fd, bytes, len) && tern_tcp_wire_decode(bytes, len, &frame) == TCP_DECODED);
    EXPECT(frame.head.kind == TCP_WRITE && (data = malloc(frame.data)) != NULL);
    EXPECT(((frame.head.number & TCP_WIRE_CONTINUES) != 0) == (number > 1)); /* the scenes send one put */
    refusal = plain(TCP_REFUSED_WRITE, 0, frame.head.number & ~TCP_WIRE_CONTINUES);
    EXPECT(hear(s, fd, data, frame.data) && (!refuse || tell(s, fd, refusal.bytes, refusal.len)));
    EXPECT(tell(s, fd, ack.bytes, ack.len));
    free(data);
    return true;
}

/* The program gives up a long put before its last piece is sent: there is no notification, which would never be
 * consumed, and for which the end of the job would wait. */
static void given_up(struct scene *s)
{
    int      fd = enter(s);
    uint64_t count = 0;

    start(s, large, sizeof(large), true);
    s->r.ops->cancel(s->r.lane, &op.op);
    while (op.done == 0)
        count += take_write(s, fd, count + 1, false);
    EXPECT(count > 0 && count < sizeof(large) / s->tcp->chunk && s->r.ops->msg->flushed(s->r.link));
    close(fd);
}

/* The peer refuses the first piece of a long put with a notification: the put fails, and its last piece is not sent. */
static void refused_by_peer(struct scene *s)
{
    int      fd = enter(s);
    uint64_t count = 0;

    start(s, large, sizeof(large), true);
    while (op.done == 0)
        count += take_write(s, fd, count + 1, count == 0);
    EXPECT(op.status == TERN_ERR_LINK && strstr(tern_base_detail(), "the target refused it"));
    EXPECT(count < sizeof(large) / s->tcp->chunk && s->r.ops->msg->flushed(s->r.link));
    close(fd);
}

/* A WRITE of 8 bytes that belongs to the put with the given number. */
static struct frame piece(uint32_t kind, uint64_t key, uint64_t number)
{
    struct frame frame = framed(kind, 8, key, 0);

    memcpy(frame.bytes + offsetof(struct tcp_head, number), &number, sizeof(number));
    return frame;
}

/* A peer sends a put of two pieces, of which the first one is refused and the second one would notify: this rank is not
 * notified. It is notified of another put meanwhile, and of the next put with the number. */
static void refused_in_part(struct scene *s)
{
    uint64_t     bad = s->key ^ 1ull << 40, numbers[] = { 0, 1000, TCP_WIRE_PUTS - 1 };
    int          fd = enter(s);
    struct frame put;

    for (uint64_t i = 0; i < 3; i++) {
        struct {
            uint32_t kind;
            uint64_t key, number;
            uint32_t refused, notified;
        } step[] = {
            { TCP_WRITE, bad, numbers[i], 1, 0 },
            { TCP_WRITE_NOTIFY, s->key, 1, 0, 1 },
            { TCP_WRITE, s->key, numbers[i] | TCP_WIRE_CONTINUES, 1, 1 },
            { TCP_WRITE_NOTIFY, s->key, numbers[i] | TCP_WIRE_CONTINUES, 1, 1 },
            { TCP_WRITE, s->key, numbers[i], 0, 1 },
            { TCP_WRITE_NOTIFY, s->key, numbers[i] | TCP_WIRE_CONTINUES, 0, 2 },
        };

        notified = 0;
        for (int k = 0; k < 6; k++) {
            put = piece(step[k].kind, step[k].key, step[k].number);
            EXPECT(tell(s, fd, put.bytes, put.len) && tell(s, fd, "12345678", 8));
            if (step[k].refused) {
                struct tcp_head head = hear_head(s, fd);

                EXPECT(head.kind == TCP_REFUSED_WRITE && head.number == numbers[i]);
            }
            EXPECT(hear_head(s, fd).kind == TCP_ACK && notified == step[k].notified);
        }
    }
    close(fd);
}

/* A put with a notification that is refused: its sender gets the credit back. */
static void refused(struct scene *s)
{
    struct frame      write = framed(TCP_WRITE_NOTIFY, 8, s->key ^ 1ull << 40, 0);
    struct frame      message = plain(TCP_MESSAGE, sizeof(struct net_header), 0);
    int               fd = enter(s);
    struct net_header header = { .token = tern_net_peer(&s->tcp->net, played(s))->token_in,
                                 .from_kind = (uint32_t)played(s) << 8 | NET_CREDIT_REQUEST,
                                 .seq = NET_PUT_NOTIFY };
    struct net_credit credit;

    EXPECT(tell(s, fd, write.bytes, write.len) && tell(s, fd, "12345678", 8));
    EXPECT(hear_head(s, fd).kind == TCP_REFUSED_WRITE && hear_head(s, fd).kind == TCP_ACK);
    EXPECT(tell(s, fd, message.bytes, message.len) && tell(s, fd, &header, sizeof(header)));
    EXPECT(hear_head(s, fd).kind == TCP_MESSAGE && hear(s, fd, &header, sizeof(header)));
    EXPECT((header.from_kind & 0xff) == NET_CREDIT && hear(s, fd, &credit, sizeof(credit)));
    EXPECT(credit.consumed[NET_PUT_NOTIFY] == 1 && notified == 0);
    close(fd);
}

SCENE_TEST(unreachable)
SCENE_TEST(no_route)
SCENE_TEST(refuses_always)
SCENE_TEST(repeated_hellos)
SCENE_TEST(stopped_reader)
SCENE_TEST(silence)
SCENE_TEST(no_buffers)
SCENE_TEST(forked)
SCENE_TEST(given_up)
SCENE_TEST(refused_by_peer)
SCENE_TEST(refused_in_part)
SCENE_TEST(refused)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unreachable),    cmocka_unit_test(test_no_route),
        cmocka_unit_test(test_refuses_always), cmocka_unit_test(test_repeated_hellos),
        cmocka_unit_test(test_stopped_reader), cmocka_unit_test(test_silence),
        cmocka_unit_test(test_no_buffers),     cmocka_unit_test(test_forked),
        cmocka_unit_test(test_given_up),       cmocka_unit_test(test_refused_by_peer),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_refused_in_part),
    };

    return cmocka_run_group_tests_name("trouble with connections of the link tcp", tests, default_options, NULL);
}
