/* boot_frame_io.c: frames pass through pipes and sockets whole and in order, however few bytes these accept at once;
 * the end of the peer is noticed, and frames sent before it still arrive. A sealed channel accepts only frames exactly
 * as the peer sent them: a frame that is changed, repeated, moved, left out or forged closes the channel.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "boot/frame_io.h"

static struct tern_frame_io a, b;

static void open_pipes(void)
{
    int to[2], from[2];

    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    tern_boot_frame_io_open(&a, from[0], to[1]);
    tern_boot_frame_io_open(&b, to[0], from[1]);
}

static void open_sockets(void)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    tern_boot_frame_io_open(&a, pair[0], pair[0]);
    tern_boot_frame_io_open(&b, pair[1], pair[1]);
}

static void close_both(void)
{
    tern_boot_frame_io_close(&a);
    tern_boot_frame_io_close(&b);
}

/* Send frames of all sizes, far more than a pipe holds. */
static void exchange(void)
{
    static unsigned char body[TERN_FRAME_BODY];
    struct tern_frame    frame;
    uint32_t             sent = 0, got = 0, count = 300;

    while (got < count) {
        if (sent < count) {
            memset(body, (int)(sent % 251), sizeof(body));
            tern_boot_frame_io_send(
                &a, &(struct tern_frame){ TERN_FRAME_SAY, sent, ~sent, (sent * 7919u) % (TERN_FRAME_BODY + 1), body });
            sent++;
        }
        tern_boot_frame_io_flush(&a);
        tern_boot_frame_io_fill(&b);
        for (; tern_boot_frame_io_next(&b, &frame); got++) {
            assert_int_equal(frame.kind, TERN_FRAME_SAY);
            assert_int_equal(frame.rank, got);
            assert_int_equal(frame.value, ~got);
            assert_int_equal(frame.len, (got * 7919u) % (TERN_FRAME_BODY + 1));
            for (uint32_t i = 0; i < frame.len; i += 101)
                assert_int_equal(frame.body[i], got % 251);
        }
        assert_int_equal(b.state, TERN_FRAME_IO_UP);
    }
    assert_int_equal(a.put.len, 0);
}

static void through_pipes(void **state)
{
    (void)state;
    open_pipes();
    exchange();
    close_both();
}

static void through_a_socket(void **state)
{
    (void)state;
    open_sockets();
    exchange();
    close_both();
}

static void what_was_said_before_the_end_comes(void **state)
{
    struct tern_frame frame;

    (void)state;
    for (int i = 0; i < 2; i++) {
        i == 0 ? open_pipes() : open_sockets();
        tern_boot_frame_io_send(&a, &(struct tern_frame){ .kind = TERN_FRAME_DONE, .value = 5 });
        tern_boot_frame_io_close(&a);
        tern_boot_frame_io_send(&b, &(struct tern_frame){ .kind = TERN_FRAME_END }); /* no process receives it */
        tern_boot_frame_io_send(&b, &(struct tern_frame){ .kind = TERN_FRAME_END });
        tern_boot_frame_io_fill(&b);
        assert_true(tern_boot_frame_io_next(&b, &frame));
        assert_int_equal(frame.kind, TERN_FRAME_DONE);
        assert_false(tern_boot_frame_io_next(&b, &frame));
        tern_boot_frame_io_fill(&b);
        assert_int_equal(b.state, TERN_FRAME_IO_CLOSED);
        close_both();
    }
}

static void half_a_frame_is_none(void **state)
{
    unsigned char     head[TERN_FRAME_HEAD];
    struct tern_frame frame = { .kind = TERN_FRAME_SAY, .len = 3 };

    (void)state;
    open_pipes();
    tern_boot_frame_encode(&frame, head);
    for (size_t i = 0; i < sizeof(head); i++) {
        assert_int_equal(write(a.out, head + i, 1), 1);
        tern_boot_frame_io_fill(&b);
        assert_false(tern_boot_frame_io_next(&b, &frame));
    }
    assert_int_equal(write(a.out, "abc", 3), 3);
    tern_boot_frame_io_fill(&b);
    assert_true(tern_boot_frame_io_next(&b, &frame));
    assert_memory_equal(frame.body, "abc", 3);
    close_both();
}

static void strangers_are_told(void **state)
{
    static const char hello[] = "Last login: yesterday";
    struct tern_frame frame;

    (void)state;
    open_pipes();
    assert_int_equal(write(a.out, hello, sizeof(hello)), sizeof(hello));
    tern_boot_frame_io_fill(&b);
    assert_false(tern_boot_frame_io_next(&b, &frame));
    assert_int_equal(b.state, TERN_FRAME_IO_FOREIGN);
    assert_memory_equal(b.get.data + b.get.from, hello, sizeof(hello)); /* the bytes can be printed */
    close_both();
}

/* ---- sealed channels ---- */

static const struct tern_frame_io_keys keys = { .in = { 1, 2, 3 }, .out = { 4, 5, 6 } };

static void seal_both(void)
{
    struct tern_frame_io_keys other;

    memcpy(other.in, keys.out, sizeof(other.in));
    memcpy(other.out, keys.in, sizeof(other.out));
    tern_boot_frame_io_seal(&a, &keys);
    tern_boot_frame_io_seal(&b, &other);
}

static void sealed_ones_bring_all(void **state)
{
    (void)state;
    open_pipes();
    seal_both();
    exchange();
    close_both();
    open_sockets();
    seal_both();
    exchange();
    close_both();
}

#define SAID 3                                                          /* number of frames that a sends */
#define SAID_BODY 5                                                     /* length of the body of each */
#define SAID_BYTES (TERN_FRAME_HEAD + SAID_BODY + TERN_FRAME_MAC_BYTES) /* bytes of each */

/* Capture the bytes that a sends. */
static void catch_bytes(unsigned char bytes[SAID][SAID_BYTES])
{
    open_sockets();
    seal_both();
    for (uint32_t i = 0; i < SAID; i++)
        tern_boot_frame_io_send(
            &a, &(struct tern_frame){ TERN_FRAME_SAY, i, 7, SAID_BODY, (const unsigned char *)"hello" });
    assert_int_equal(read(b.in, bytes, SAID * SAID_BYTES), SAID * SAID_BYTES);
}

/* Give b these bytes in place of those that a sent. Returns the number of frames that b accepts. */
static uint32_t take(const void *bytes, size_t len)
{
    struct tern_frame frame;
    uint32_t          got = 0;

    assert_int_equal(send(a.out, bytes, len, MSG_NOSIGNAL), len);
    tern_boot_frame_io_fill(&b);
    for (; tern_boot_frame_io_next(&b, &frame); got++) {
        assert_int_equal(frame.rank, got); /* only frames that were sent, in order */
        assert_int_equal(frame.value, 7);
        assert_int_equal(frame.len, SAID_BODY);
        assert_memory_equal(frame.body, "hello", SAID_BODY);
    }
    return got;
}

/* Promise: if one bit of a frame is changed, the frame is not accepted. */
static void changed_frames_are_not_taken(void **state)
{
    unsigned char said[SAID][SAID_BYTES];

    (void)state;
    for (size_t bit = 0; bit < 8 * SAID_BYTES; bit++) {
        catch_bytes(said);
        said[1][bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_int_equal(take(said, sizeof(said)), 1);
        if (b.state == TERN_FRAME_IO_UP) { /* its length announces more bytes: the end of the channel decides */
            assert_in_range(bit / 8, 16, 19);
            shutdown(a.out, SHUT_WR);
            tern_boot_frame_io_fill(&b);
            assert_int_equal(b.state, TERN_FRAME_IO_CLOSED);
        } else {
            assert_int_equal(b.state, bit / 8 < 8 || (bit / 8 >= 16 && bit / 8 < 20) ? b.state : TERN_FRAME_IO_FORGED);
        }
        assert_non_null(tern_boot_frame_io_fault(&b));
        close_both();
    }
}

static void check_forged(const void *bytes, size_t len, uint32_t want)
{
    struct tern_frame frame;

    assert_int_equal(take(bytes, len), want);
    assert_int_equal(b.state, TERN_FRAME_IO_FORGED);
    assert_non_null(strstr(tern_boot_frame_io_fault(&b), "wrong tag"));
    assert_false(tern_boot_frame_io_next(&b, &frame)); /* nor anything after it */
    close_both();
}

static void other_orders_are_not_taken(void **state)
{
    unsigned char said[SAID][SAID_BYTES], mixed[SAID][SAID_BYTES];

    (void)state;
    catch_bytes(said); /* repeated */
    memcpy(mixed, said, sizeof(mixed));
    memcpy(mixed[1], said[0], SAID_BYTES);
    check_forged(mixed, sizeof(mixed), 1);
    catch_bytes(said); /* exchanged */
    memcpy(mixed[0], said[1], SAID_BYTES);
    memcpy(mixed[1], said[0], SAID_BYTES);
    check_forged(mixed, sizeof(mixed), 0);
    catch_bytes(said); /* left out */
    check_forged(said[1], 2 * SAID_BYTES, 0);
    catch_bytes(said); /* reflected: a receives its own frames */
    assert_int_equal(send(b.out, said, sizeof(said), MSG_NOSIGNAL), sizeof(said));
    tern_boot_frame_io_fill(&a);
    assert_false(tern_boot_frame_io_next(&a, &(struct tern_frame){ 0 }));
    assert_int_equal(a.state, TERN_FRAME_IO_FORGED);
    close_both();
}

/* Promise: an end within a frame is distinguished from an end after a frame. */
static void an_end_within_a_frame_is_told(void **state)
{
    unsigned char said[SAID][SAID_BYTES];

    (void)state;
    for (size_t len = 0; len <= SAID_BYTES; len++) {
        catch_bytes(said);
        if (len > 0)
            assert_int_equal(take(said, len), len / SAID_BYTES);
        shutdown(a.out, SHUT_WR);
        tern_boot_frame_io_fill(&b);
        assert_int_equal(b.state, TERN_FRAME_IO_CLOSED);
        assert_int_equal(tern_boot_frame_io_fault(&b) != NULL, len % SAID_BYTES != 0);
        close_both();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(through_pipes),
        cmocka_unit_test(through_a_socket),
        cmocka_unit_test(what_was_said_before_the_end_comes),
        cmocka_unit_test(half_a_frame_is_none),
        cmocka_unit_test(strangers_are_told),
        cmocka_unit_test(sealed_ones_bring_all),
        cmocka_unit_test(changed_frames_are_not_taken),
        cmocka_unit_test(other_orders_are_not_taken),
        cmocka_unit_test(an_end_within_a_frame_is_told),
    };

    signal(SIGPIPE, SIG_IGN); /* as the owner of a channel over pipes does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
