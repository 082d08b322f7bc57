/* boot_channel.c: frames go through pipes and sockets whole and in order, however few bytes these take at once; the end
 * of the other side is noticed, and what it said before its end still comes.
 */
#define _GNU_SOURCE 1
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

#include "boot/channel.h"

static struct tern_channel a, b;

static void open_pipes(void)
{
    int to[2], from[2];

    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    tern_boot_channel_open(&a, from[0], to[1]);
    tern_boot_channel_open(&b, to[0], from[1]);
}

static void open_sockets(void)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    tern_boot_channel_open(&a, pair[0], pair[0]);
    tern_boot_channel_open(&b, pair[1], pair[1]);
}

static void close_both(void)
{
    tern_boot_channel_close(&a);
    tern_boot_channel_close(&b);
}

/* Send frames of all sizes; far more than a pipe holds. */
static void exchange(void)
{
    static unsigned char body[TERN_FRAME_BODY];
    struct tern_frame    frame;
    uint32_t             sent = 0, got = 0, count = 300;

    while (got < count) {
        if (sent < count) {
            memset(body, (int)(sent % 251), sizeof(body));
            tern_boot_channel_send(
                &a, &(struct tern_frame){ TERN_FRAME_SAY, sent, ~sent, (sent * 7919u) % (TERN_FRAME_BODY + 1), body });
            sent++;
        }
        tern_boot_channel_flush(&a);
        tern_boot_channel_fill(&b);
        for (; tern_boot_channel_next(&b, &frame); got++) {
            assert_int_equal(frame.kind, TERN_FRAME_SAY);
            assert_int_equal(frame.rank, got);
            assert_int_equal(frame.value, ~got);
            assert_int_equal(frame.len, (got * 7919u) % (TERN_FRAME_BODY + 1));
            for (uint32_t i = 0; i < frame.len; i += 101)
                assert_int_equal(frame.body[i], got % 251);
        }
        assert_int_equal(b.state, TERN_CHANNEL_UP);
    }
    assert_int_equal(tern_boot_channel_backlog(&a), 0);
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
        tern_boot_channel_send(&a, &(struct tern_frame){ .kind = TERN_FRAME_DONE, .value = 5 });
        tern_boot_channel_close(&a);
        tern_boot_channel_send(&b, &(struct tern_frame){ .kind = TERN_FRAME_END }); /* nobody takes it */
        tern_boot_channel_send(&b, &(struct tern_frame){ .kind = TERN_FRAME_END });
        tern_boot_channel_fill(&b);
        assert_true(tern_boot_channel_next(&b, &frame));
        assert_int_equal(frame.kind, TERN_FRAME_DONE);
        assert_false(tern_boot_channel_next(&b, &frame));
        tern_boot_channel_fill(&b);
        assert_int_equal(b.state, TERN_CHANNEL_CLOSED);
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
        tern_boot_channel_fill(&b);
        assert_false(tern_boot_channel_next(&b, &frame));
    }
    assert_int_equal(write(a.out, "abc", 3), 3);
    tern_boot_channel_fill(&b);
    assert_true(tern_boot_channel_next(&b, &frame));
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
    tern_boot_channel_fill(&b);
    assert_false(tern_boot_channel_next(&b, &frame));
    assert_int_equal(b.state, TERN_CHANNEL_FOREIGN);
    assert_memory_equal(b.get.data + b.get.from, hello, sizeof(hello)); /* can be shown */
    close_both();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(through_pipes),
        cmocka_unit_test(through_a_socket),
        cmocka_unit_test(what_was_said_before_the_end_comes),
        cmocka_unit_test(half_a_frame_is_none),
        cmocka_unit_test(strangers_are_told),
    };

    signal(SIGPIPE, SIG_IGN); /* as the owner of a channel over pipes does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
