/* hostile_tcp_target.c: whatever a rank answers to puts and gets over the link tcp, it must not crash or hang the
 * initiator, nor complete or change anything but the transfer that it answers.
 *
 * Promises: an answer to a transfer that does not exist closes the connection with an error that names the sender;
 * after a refusal the transfer fails and the connection stays open; if the connection ends before the answer, the
 * transfer fails; a transfer that the program has given up does not use its buffer any more, whatever arrives later.
 */
#include "hostile_tcp.h"

static struct test_op op;

/* Start a transfer from, or to, memory of the rank that is being played. */
static void start(struct scene *s, void *local, size_t len, bool get)
{
    struct tern_xfer xfer = { .part = &s->theirs, .local = local, .len = len, .get = get };

    op = (struct test_op){ .done = 0 };
    EXPECT(s->theirs.path->start(s->r.lane, &xfer, &op.op) == TERN_PENDING);
    op.op.net.give_up_at = 1; /* if it fails, it is known whether the rank is alive */
}

/* The transfer has failed with a text that names the rank and the reason. */
static void expect_failure(struct scene *s, const char *why)
{
    char rank[32];

    snprintf(rank, sizeof(rank), "rank %d", played(s));
    while (op.done == 0)
        poll_link(s);
    EXPECT(op.done == 1 && op.status < 0 && strstr(tern_base_detail(), rank) && strstr(tern_base_detail(), why));
}

static void bad_answers_to_get(struct scene *s)
{
    static unsigned char local[SIZE + 64];
    const struct frame   bad[] = { plain(TCP_DATA, 7, 0), plain(TCP_DATA, 9, 0), plain(TCP_DATA, SIZE, 0) };
    struct frame         refusal = plain(TCP_REFUSED_READ, 0, 0), data = plain(TCP_DATA, 8, 0), asked;
    int                  fd;

    memset(local, 0x11, sizeof(local));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        fd = enter(s);
        start(s, local, 8, true);
        EXPECT(hear(s, fd, asked.bytes, 32) && tell(s, fd, bad[i].bytes, bad[i].len));
        expect_failure(s, "data that nobody had asked for");
        expect_damage(s, "data that nobody had asked for");
        expect_closed(s, fd);
    }
    fd = enter(s);
    start(s, local, 8, true);
    EXPECT(hear(s, fd, asked.bytes, 32) && tell(s, fd, refusal.bytes, refusal.len));
    expect_failure(s, "the target refused it");
    start(s, local, 8, true); /* the connection goes on */
    EXPECT(hear(s, fd, asked.bytes, 32) && tell(s, fd, data.bytes, data.len) && tell(s, fd, "abcd", 4));
    close(fd); /* in the middle of the data */
    expect_failure(s, "broke: ");
    for (size_t i = 8; i < sizeof(local); i++)
        EXPECT(local[i] == 0x11);
}

static void bad_answers_to_put(struct scene *s)
{
    static unsigned char bytes[SIZE];
    struct frame         early = plain(TCP_ACK, 0, 2), refusal, ack = plain(TCP_ACK, 0, 1);
    struct tcp_decoded   frame;
    unsigned char        sent[40];
    int                  fd = enter(s);

    start(s, bytes, 8, false);
    EXPECT(tell(s, fd, early.bytes, early.len)); /* acknowledges one more */
    expect_failure(s, "puts that were not sent");
    expect_damage(s, "puts that were not sent");
    expect_closed(s, fd);
    fd = enter(s);
    start(s, bytes, 8, false);
    EXPECT(hear(s, fd, sent, sizeof(sent)));
    EXPECT(tern_tcp_wire_decode(sent, sizeof(sent), &frame) == TCP_DECODED);
    refusal = plain(TCP_REFUSED_WRITE, 0, frame.head.number);
    EXPECT(tell(s, fd, refusal.bytes, refusal.len) && tell(s, fd, ack.bytes, ack.len));
    expect_failure(s, "the target refused it");
    start(s, bytes, 8, false);
    close(fd); /* without an acknowledgement */
    expect_failure(s, "broke: ");
}

/* A target acknowledges a large put before it has taken its data: the put is not complete, and the source stays in use
 * until the link reports the error. */
static void early_ack(struct scene *s)
{
    static unsigned char bytes[32u << 20];
    struct frame         ack = plain(TCP_ACK, 0, 1);
    int                  fd = enter(s);

    start(s, bytes, sizeof(bytes), false);
    EXPECT(tell(s, fd, ack.bytes, ack.len));
    ack = plain(TCP_ACK, 0, sizeof(bytes) / s->tcp->chunk);
    EXPECT(tell(s, fd, ack.bytes, ack.len));
    expect_failure(s, "puts that were not sent");
    expect_damage(s, "puts that were not sent");
    expect_closed(s, fd);
}

/* A target that never answers: the program gives up, and its buffers are not used any more. */
static void no_answer(struct scene *s)
{
    unsigned char   *local = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct frame     data = plain(TCP_DATA, SIZE, 0), asked;
    struct tcp_conn *conn;
    int              fd = enter(s);

    EXPECT((void *)local != MAP_FAILED);
    start(s, local, SIZE, true);
    EXPECT(hear(s, fd, asked.bytes, 32) && tell(s, fd, data.bytes, data.len) && tell(s, fd, data.bytes, 16));
    s->r.ops->cancel(s->r.lane, &op.op);
    EXPECT(munmap(local, SIZE) == 0);
    for (size_t i = 16; i < SIZE; i += 16)
        EXPECT(tell(s, fd, data.bytes, 16));
    while (op.done == 0)
        poll_link(s);
    conn = tern_tcp_conn(tern_net_peer(&s->tcp->net, played(s)));
    EXPECT(conn && conn->body.left == 0 && conn->reads == 0);
    put_works(s, fd, 1);
    close(fd);
}

SCENE_TEST(bad_answers_to_get)
SCENE_TEST(bad_answers_to_put)
SCENE_TEST(early_ack)
SCENE_TEST(no_answer)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_answers_to_get),
        cmocka_unit_test(test_bad_answers_to_put),
        cmocka_unit_test(test_early_ack),
        cmocka_unit_test(test_no_answer),
    };

    return cmocka_run_group_tests_name("hostile targets over the link tcp", tests, default_options, NULL);
}
