/* hostile_tcp.c: whatever a stranger or a rank sends over a connection of the link tcp, it must not crash or hang a
 * rank, nor make it write memory that is not exposed.
 *
 * Promises: a process that does not prove that it belongs to the job is disconnected, and any number of such processes
 * delays no rank for long. A frame that no rank sends closes the connection, with an error that names the sender and
 * the reason. A put or get that does not fit the exposed memory is refused, and the connection stays open. A connection
 * that ends in the middle of a frame is an error if its rank does not die. A rank that does not read its answers fills
 * queues of bounded size.
 */
#include "hostile_tcp.h"

#include <sys/resource.h>

/* ---- strangers ---- */

/* Handshakes that the link refuses: every message of a stranger is wrong in another way. */
static void strangers(struct scene *s)
{
    static const unsigned char noise[64] = { 0xff, 1, 2, 3 };
    struct tern_handshake      hs;
    int                        fd = call(s);

    EXPECT(tell(s, fd, noise, sizeof(noise)));
    expect_closed(s, fd);
    for (int i = 0; i < 5; i++) {
        int ranks[] = { 0, RANKS, -1, 1, 1 }; /* itself, ranks that do not exist, another key, another port */

        fd = call(s);
        hs = greeting(s, ranks[i]);
        hs.key[0] ^= i == 3;
        hs.port ^= i == 4;
        EXPECT(tern_boot_handshake_send(&hs, TERN_HANDSHAKE_IS_HELLO, fd));
        expect_closed(s, fd);
    }
    fd = call(s); /* somebody who repeats the HELLO of a rank cannot go on */
    hs = greeting(s, 1);
    EXPECT(tern_boot_handshake_send(&hs, TERN_HANDSHAKE_IS_HELLO, fd) &&
           await_step(s, &hs, TERN_HANDSHAKE_IS_WELCOME, fd));
    EXPECT(tell(s, fd, noise, TERN_HANDSHAKE_TAG));
    expect_closed(s, fd);
    fd = enter(s);
    put_works(s, fd, 1);
    close(fd);
    nothing_written(s);
}

/* Connections that send nothing, or their bytes one by one: their number is limited, and a rank that connects behind
 * them is served. */
static void silent_crowd(struct scene *s)
{
    enum { CROWD = 300 };
    static int crowd[CROWD];
    int        fd;

    for (int i = 0; i < CROWD; i++) {
        crowd[i] = call(s);
        if (i % 2 == 1)
            (void)!send(crowd[i], "T", 1, MSG_NOSIGNAL);
        poll_link(s);
        EXPECT(s->tcp->strangers <= 64 + RANKS + 1);
    }
    fd = enter(s);
    put_works(s, fd, 1);
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
    put_works(s, fd, 2);
    while (s->tcp->strangers > 0)
        poll_link(s);
    close(fd);
}

/* A rank has one connection. A second one is refused, whoever asks for it, and the first one goes on. */
static void second_connection(struct scene *s)
{
    int first = enter(s), second = call(s);

    EXPECT(!join(s, second, played(s)));
    close(second);
    put_works(s, first, 1);
    close(first);
}

/* The process has no descriptor left for a connection: the rank that connects waits, and is served later. */
static void no_descriptors(struct scene *s)
{
    struct tern_handshake hs = greeting(s, 1);
    struct rlimit         limit;
    int                   held[512], count = 0, fd = call(s);

    EXPECT(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = 400;
    EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (count < 512 && (held[count] = dup(fd)) >= 0)
        count++;
    EXPECT(count < 512 && tern_boot_handshake_send(&hs, TERN_HANDSHAKE_IS_HELLO, fd));
    while (!s->tcp->deaf)
        poll_link(s);
    EXPECT(s->tcp->strangers == 0);
    while (count > 0)
        close(held[--count]);
    EXPECT(await_step(s, &hs, TERN_HANDSHAKE_IS_WELCOME, fd) && !s->tcp->deaf);
    close(fd);
    fd = enter(s);
    put_works(s, fd, 1);
    close(fd);
}

/* ---- frames that no rank sends ---- */

static void bad_frames(struct scene *s)
{
    const struct frame bad[] = {
        plain(0, 0, 0),
        plain(TCP_KINDS, 16, 0),
        plain(UINT32_MAX, UINT32_MAX, UINT64_MAX),
        plain(TCP_MESSAGE, 0, 0),
        plain(TCP_MESSAGE, TCP_WIRE_MESSAGE + 1, 0),
        plain(TCP_MESSAGE, UINT32_MAX, 0),
        plain(TCP_DATA, 8, 0),
        plain(TCP_DATA, UINT32_MAX, 0),
        plain(TCP_REFUSED_READ, 0, 0),
        plain(TCP_ACK, 0, 1),
        plain(TCP_ACK, 0, UINT64_MAX),
        plain(TCP_REFUSED_WRITE, 0, 0),
        plain(TCP_REFUSED_WRITE, 0, UINT64_MAX),
        plain(TCP_WRITE, 8, TCP_WIRE_PUTS),
        plain(TCP_WRITE_NOTIFY, 8, UINT64_MAX),
        framed(TCP_WRITE, 0, s->key, 0),
        framed(TCP_WRITE, TCP_WIRE_DATA + 1, s->key, 0),
        framed(TCP_WRITE, UINT32_MAX, s->key, 0),
        framed(TCP_READ, 0, s->key, 0),
        framed(TCP_READ, UINT32_MAX, s->key, 0),
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int fd = enter(s);

        put_works(s, fd, 1);
        EXPECT(tell(s, fd, bad[i].bytes, bad[i].len));
        expect_damage(s, ": it ");
        expect_closed(s, fd);
    }
    nothing_written(s);
}

/* Send a message of link/net with the given token and sender. */
static void send_message(struct scene *s, int fd, uint64_t token, uint32_t from)
{
    struct net_header header = { .token = token, .from_kind = from << 8 };
    struct frame      frame = plain(TCP_MESSAGE, NET_WIRE_HEAD, 0);
    unsigned char     bytes[NET_WIRE_HEAD] = { 0 };

    memcpy(bytes, &header, sizeof(header));
    EXPECT(tell(s, fd, frame.bytes, frame.len) && tell(s, fd, bytes, sizeof(bytes)));
}

/* A rank cannot speak in the name of another, although it knows everything about the job. */
static void other_names(struct scene *s)
{
    uint64_t job = s->r.boot.segment->job;

    for (uint32_t i = 0; i < 3; i++) {
        int      fd = enter(s);
        uint32_t me = (uint32_t)played(s), from = i == 0 ? me : i == 1 ? 30 : RANKS + 7;

        send_message(s, fd, tern_net_wire_token(job + (i == 0), from, 0), from);
        expect_damage(s, "a message that is not its own");
        expect_closed(s, fd);
    }
}

/* ---- accesses that are refused ---- */

static void bad_addresses(struct scene *s)
{
    const struct {
        uint64_t key, offset;
        uint32_t len;
    } bad[] = {
        { 0, 0, 8 },
        { s->key ^ 1ull << 40, 0, 8 },
        { s->key + 1, 0, 8 },
        { s->key | 0xffffff, 0, 8 },
        { UINT64_MAX, 0, 8 },
        { s->key, SIZE, 1 },
        { s->key, SIZE - 7, 8 },
        { s->key, 1, SIZE },
        { s->key, UINT64_MAX, 8 },
        { s->key, UINT64_MAX - 3, 8 },
        { s->key, 1ull << 63, 8 },
        { s->key, 0, SIZE + 1 },
    };
    static unsigned char bytes[SIZE + 1];
    int                  fd = enter(s);

    memset(bytes, 0x33, sizeof(bytes));
    for (uint64_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct frame write = framed(i % 2 ? TCP_WRITE : TCP_WRITE_NOTIFY, bad[i].len, bad[i].key, bad[i].offset);
        struct frame read = framed(TCP_READ, bad[i].len, bad[i].key, bad[i].offset);

        EXPECT(tell(s, fd, write.bytes, write.len) && tell(s, fd, bytes, bad[i].len));
        EXPECT(hear_head(s, fd).kind == TCP_REFUSED_WRITE && hear_head(s, fd).kind == TCP_ACK);
        EXPECT(tell(s, fd, read.bytes, read.len) && hear_head(s, fd).kind == TCP_REFUSED_READ);
        put_works(s, fd, 2 * i + 2);
    }
    EXPECT(notified == 0);
    close(fd);
    nothing_written(s);
}

/* A small RPC behind a put is refused if it names no region, and if the core refuses it. */
static void bad_rpcs(struct scene *s)
{
    struct tcp_head   head = { TCP_WRITE_RPC, 1, 9 };
    struct tcp_remote remote = { s->key, 0 };
    struct tcp_rpc    rpc = { .region = 0, .len = 8 };
    unsigned char     bytes[TCP_WIRE_LONGEST], byte = 0x5a;
    int               fd = enter(s);

    for (uint64_t i = 0; i < 2; i++) {
        size_t len;

        rpc.region = i ? REGION : 12345;
        len = tern_tcp_wire_encode(bytes, &head, &remote, &rpc);
        EXPECT(tell(s, fd, bytes, len) && tell(s, fd, &byte, 1));
        EXPECT(hear_head(s, fd).kind == TCP_REFUSED_WRITE && hear_head(s, fd).kind == TCP_ACK);
    }
    put_works(s, fd, 3);
    close(fd);
    nothing_written(s);
}

/* The region is given up while its data arrive: the rest is dropped, and the put is refused. */
static void withdrawn(struct scene *s)
{
    static unsigned char bytes[SIZE];
    struct frame         write = framed(TCP_WRITE, SIZE, s->key, 0);
    int                  fd = enter(s);

    memset(bytes, 0x33, sizeof(bytes));
    EXPECT(tell(s, fd, write.bytes, write.len) && tell(s, fd, bytes, 100));
    while (s->memory[99] != 0x33)
        poll_link(s);
    s->r.ops->unexpose(s->r.link, REGION);
    EXPECT(mprotect(s->memory, SIZE, PROT_NONE) == 0);
    EXPECT(tell(s, fd, bytes + 100, SIZE - 100));
    EXPECT(hear_head(s, fd).kind == TCP_REFUSED_WRITE && hear_head(s, fd).kind == TCP_ACK);
    close(fd);
}

/* The program has unmapped exposed memory: the kernel refuses to write there, and the put is refused. */
static void unmapped(struct scene *s)
{
    static unsigned char bytes[SIZE];
    struct frame         write = framed(TCP_WRITE, SIZE, s->key, 0);
    int                  fd = enter(s);

    EXPECT(tell(s, fd, write.bytes, write.len));
    poll_link(s);
    EXPECT(mprotect(s->memory, SIZE, PROT_NONE) == 0);
    EXPECT(tell(s, fd, bytes, SIZE));
    EXPECT(hear_head(s, fd).kind == TCP_REFUSED_WRITE && hear_head(s, fd).kind == TCP_ACK);
    close(fd);
}

/* ---- slow and broken connections ---- */

/* A frame that arrives byte by byte is executed when it is complete, and delays no other rank. */
static void byte_by_byte(struct scene *s)
{
    struct frame    write = framed(TCP_WRITE, 100, s->key, 0);
    int             slow = enter(s), other = enter(s);
    struct tcp_head head;

    for (size_t i = 0; i < write.len + 100; i++) {
        unsigned char byte = i < write.len ? write.bytes[i] : 0x5a;

        put_works(s, other, i + 1);
        EXPECT(tell(s, slow, &byte, 1));
    }
    head = hear_head(s, slow);
    EXPECT(head.kind == TCP_ACK && head.number == 1);
    close(slow);
    close(other);
}

/* Send messages to the rank that is being played, until there is no space. */
static tern_status fill_queue(struct scene *s)
{
    uint32_t    none = 0;
    tern_status st;

    do
        st = s->r.ops->msg->send_short(s->r.link, played(s), TERN_CHANNEL_REQUEST, 77, &none, 1);
    while (st == TERN_OK);
    return st;
}

/* The connection ends in each byte of a frame. Nothing but the bytes that arrived is written, and the end of the
 * connection is an error if the rank does not die within some seconds. */
static void cut_off(struct scene *s)
{
    const size_t cuts[] = { 1, 15, 16, 31, 32, 40, 131 };

    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        unsigned char    bytes[132];
        struct frame     write = framed(TCP_WRITE, 100, s->key, 0);
        int              fd = enter(s);
        struct net_peer *peer = tern_net_peer(&s->tcp->net, played(s));

        memset(bytes, 0x5a, sizeof(bytes));
        memcpy(bytes, write.bytes, write.len);
        EXPECT(tell(s, fd, bytes, cuts[i]));
        close(fd);
        while (!peer->broken)
            poll_link(s);
        EXPECT(deliver(s->r.link, TERN_CHANNEL_REQUEST) == TERN_OK && fill_queue(s) == TERN_AGAIN);
        EXPECT(tern_net_due(&s->tcp->net) < 10 * NET_NOTICE_NS); /* a thread that sleeps wakes up to report it */
        peer->judge_at = 0;
        expect_damage(s, "broke: the peer has closed it");
        EXPECT(fill_queue(s) == TERN_ERR_PEER);
    }
    nothing_written(s);
}

/* A rank that died, or leaves the job, may close its connection. */
static void orderly_end(struct scene *s)
{
    int              fd = enter(s);
    struct net_peer *peer = tern_net_peer(&s->tcp->net, played(s));

    close(fd);
    while (!peer->broken)
        poll_link(s);
    atomic_store(&s->r.boot.segment->slot[played(s)].life, TERN_LIFE_LEAVING);
    peer->judge_at = 0;
    poll_link(s);
    EXPECT(deliver(s->r.link, TERN_CHANNEL_REQUEST) == TERN_OK && tern_net_due(&s->tcp->net) == NET_NEVER);
}

/* ---- floods ---- */

/* Repeat a frame with its data, taking no answers, until the link closes the connection or count is reached. */
static bool flood(struct scene *s, int fd, const struct frame *frame, size_t data, int count)
{
    static unsigned char bytes[8192];
    size_t               one = frame->len + data, times = sizeof(bytes) / one;
    bool                 open = true;

    memset(bytes, 0x5a, sizeof(bytes));
    for (size_t i = 0; i < times; i++)
        memcpy(bytes + i * one, frame->bytes, frame->len);
    for (int i = 0; i < count && open; i += (int)times)
        open = tell(s, fd, bytes, times * one);
    return open;
}

static void floods(struct scene *s)
{
    enum { MANY = 4000000 };
    struct frame large = framed(TCP_READ, SIZE, s->key, 0), small = framed(TCP_READ, 4096, s->key, 0);
    struct frame wrong = framed(TCP_WRITE, 1, 0, 0), notify = framed(TCP_WRITE_NOTIFY, 1, s->key, 0);
    int          fd = enter(s);

    (void)flood(s, fd, &large, 0, MANY);
    expect_damage(s, "it reads more at a time than it may");
    expect_closed(s, fd);
    fd = enter(s);
    (void)flood(s, fd, &small, 0, MANY);
    expect_damage(s, "it reads more at a time than it may");
    expect_closed(s, fd);
    fd = enter(s);
    (void)flood(s, fd, &wrong, 1, MANY);
    expect_damage(s, "it writes to no memory of this rank, again and again");
    expect_closed(s, fd);
    fd = enter(s);
    (void)flood(s, fd, &notify, 1, MANY);
    expect_damage(s, "it sent more notifications than its queue holds");
    expect_closed(s, fd);
    EXPECT(notified == s->tcp->net.msg.shape[NET_PUT_NOTIFY].cells);
    nothing_written(s);
}

/* Correct puts behind gets whose answers nobody takes: the queue of the connection keeps one acknowledgement, and has
 * space for the answers to further gets. */
static void no_acks_taken(struct scene *s)
{
    struct frame     write = framed(TCP_WRITE, 1, s->key, 0), large = framed(TCP_READ, SIZE, s->key, 0);
    struct frame     small = framed(TCP_READ, 8, s->key, 0);
    int              fd = enter(s), few = 65536;
    struct tcp_conn *conn = tern_tcp_conn(tern_net_peer(&s->tcp->net, played(s)));

    EXPECT(setsockopt(conn->fd, SOL_SOCKET, SO_SNDBUF, &few, sizeof(few)) == 0);
    for (unsigned i = 0; i < TCP_READS - 1; i++)
        EXPECT(tell(s, fd, large.bytes, large.len));
    for (int i = 0; i < 1000; i++)
        EXPECT(tell(s, fd, write.bytes, write.len) && tell(s, fd, "Z", 1));
    EXPECT(tell(s, fd, small.bytes, small.len));
    while (conn->state == TCP_UP && (conn->writes_done < 1000 || conn->in_to > 0))
        poll_link(s);
    EXPECT(deliver(s->r.link, TERN_CHANNEL_REQUEST) == TERN_OK && conn->state == TCP_UP);
    close(fd);
    nothing_written(s);
}

SCENE_TEST(strangers)
SCENE_TEST(silent_crowd)
SCENE_TEST(second_connection)
SCENE_TEST(no_descriptors)
SCENE_TEST(bad_frames)
SCENE_TEST(other_names)
SCENE_TEST(bad_addresses)
SCENE_TEST(bad_rpcs)
SCENE_TEST(withdrawn)
SCENE_TEST(unmapped)
SCENE_TEST(byte_by_byte)
SCENE_TEST(cut_off)
SCENE_TEST(orderly_end)
SCENE_TEST(floods)
SCENE_TEST(no_acks_taken)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strangers),         cmocka_unit_test(test_silent_crowd),
        cmocka_unit_test(test_second_connection), cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_bad_frames),        cmocka_unit_test(test_other_names),
        cmocka_unit_test(test_bad_addresses),     cmocka_unit_test(test_bad_rpcs),
        cmocka_unit_test(test_withdrawn),         cmocka_unit_test(test_unmapped),
        cmocka_unit_test(test_byte_by_byte),      cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_orderly_end),       cmocka_unit_test(test_floods),
        cmocka_unit_test(test_no_acks_taken),
    };

    return cmocka_run_group_tests_name("hostile initiators over the link tcp", tests, default_options, NULL);
}
