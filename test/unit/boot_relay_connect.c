/* boot_relay_connect.c: promise: nodes find rank 0's port and both sides authenticate each other; no other process gets
 * through, or holds them up.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"
#include "boot/relay_connect.h"
#include "boot/handshake.h"

static struct tern_relay_listener listener;
static char                       text[TERN_PMI_VALUE];

static int open_port(void **state)
{
    (void)state;
    return tern_boot_relay_listen(&listener, text) == TERN_OK ? 0 : -1;
}

static int close_port(void **state)
{
    (void)state;
    close(listener.door);
    return 0;
}

/* Start a node in its own process, which sends its number once it is accepted. Its exit status is 0, or 1 if it is
 * refused. */
static pid_t node(int number, const char *where)
{
    pid_t                  child = fork();
    struct tern_relay_conn line;
    struct tern_frame_io   channel;

    if (child != 0)
        return child;
    close(listener.door);
    tern_opt.timeout = 60;
    if (tern_boot_relay_connect(where, number, &line) != TERN_OK)
        _exit(1);
    tern_boot_frame_io_open(&channel, line.fd, line.fd);
    tern_boot_frame_io_seal(&channel, &line.keys);
    tern_boot_frame_io_send(&channel, &(struct tern_frame){ .kind = TERN_FRAME_SAY, .rank = (uint32_t)number });
    _exit(channel.put.len == 0 ? 0 : 2);
}

static int status_of(pid_t child)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int stranger(const char *bytes)
{
    struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(text)) };
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (void *)&name, sizeof(name)), 0);
    assert_int_equal(send(fd, bytes, strlen(bytes), MSG_NOSIGNAL), strlen(bytes));
    return fd;
}

/* Write a text that differs from rank 0's in its addresses. */
static void write_text(char where[TERN_PMI_VALUE], int port, const char *addresses)
{
    snprintf(where, TERN_PMI_VALUE, "%d,%.49s,%s", port, strchr(text, ',') + 1, addresses);
}

static void check_word(const struct tern_relay_conn *line, int number)
{
    struct tern_frame_io channel;
    struct tern_frame    frame;

    tern_boot_frame_io_open(&channel, line->fd, line->fd);
    tern_boot_frame_io_seal(&channel, &line->keys);
    assert_int_equal(poll(&(struct pollfd){ line->fd, POLLIN, 0 }, 1, 60000), 1);
    tern_boot_frame_io_fill(&channel);
    assert_true(tern_boot_frame_io_next(&channel, &frame));
    assert_int_equal(frame.rank, number);
    tern_boot_frame_io_close(&channel);
}

static void nodes_come_through(void **state)
{
    struct tern_relay_conn lines[4] = { { .fd = 77 } };
    pid_t                  child[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        child[i] = node(3 - i, text);
    assert_int_equal(tern_boot_relay_accept(&listener, 4, lines), TERN_OK);
    assert_int_equal(lines[0].fd, 77);
    for (int i = 1; i < 4; i++)
        check_word(&lines[i], i);
    for (int i = 0; i < 3; i++)
        assert_int_equal(status_of(child[i]), 0);
}

/* Start a process that sends HELLO under a key, and answers WELCOME, if it gets one, with a made-up CONFIRM. Its exit
 * status is 0 if rank 0 hangs up after the process has sent the given number of bytes. */
static pid_t greeter(const uint8_t key[TERN_SIPHASH_KEY], ssize_t expected)
{
    struct tern_handshake   greet = { .node = 1 };
    struct sockaddr_storage hub;
    socklen_t               len = sizeof(hub);
    uint8_t                 bytes[TERN_HANDSHAKE_HELLO] = { 0 };
    ssize_t                 got;
    pid_t                   child = fork();
    int                     fd;

    if (child != 0)
        return child;
    fd = stranger("");
    memcpy(greet.key, key, sizeof(greet.key));
    if (getpeername(fd, (void *)&hub, &len) != 0 || !tern_boot_handshake_place(&greet, (void *)&hub))
        _exit(2);
    tern_boot_handshake_write(&greet, TERN_HANDSHAKE_IS_HELLO, bytes);
    send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
    got = recv(fd, bytes, TERN_HANDSHAKE_WELCOME, MSG_WAITALL);
    if (got == expected && got > 0) {
        send(fd, bytes, TERN_HANDSHAKE_TAG, MSG_NOSIGNAL); /* no CONFIRM for this WELCOME */
        _exit(recv(fd, bytes, 1, 0) <= 0 ? 0 : 1);
    }
    _exit(got <= 0 && expected == 0 ? 0 : 1);
}

/* A genuine node that connects when all processes that hold the other end of the pipe have ended. */
static pid_t late_node(int number, int pipe_end)
{
    pid_t child = fork();
    char  byte;

    if (child != 0)
        return child;
    while (read(pipe_end, &byte, 1) > 0)
        ;
    _exit(status_of(node(number, text)));
}

static void strangers_do_not(void **state)
{
    char                   hello[TERN_HANDSHAKE_HELLO + 1] = "";
    uint8_t                wrong[TERN_SIPHASH_KEY];
    struct tern_relay_conn lines[2];
    int                    silent, wrong_one, short_one, greeters[2];
    pid_t                  child[4];

    (void)state;
    memset(hello, 'x', TERN_HANDSHAKE_HELLO);
    memcpy(wrong, listener.key, sizeof(wrong));
    wrong[0] ^= 1;
    silent = stranger("");
    wrong_one = stranger(hello);
    short_one = stranger("xx");
    close(short_one);
    child[1] = node(7, text); /* no such node */
    assert_int_equal(pipe(greeters), 0);
    child[0] = greeter(wrong, 0);
    child[2] = greeter(listener.key, TERN_HANDSHAKE_WELCOME);
    close(greeters[1]);
    child[3] = late_node(1, greeters[0]);
    close(greeters[0]);
    assert_int_equal(tern_boot_relay_accept(&listener, 2, lines), TERN_OK);
    check_word(&lines[1], 1);
    close_port(NULL);
    assert_int_equal(status_of(child[0]), 0);
    assert_int_equal(status_of(child[1]), 1);
    assert_int_equal(status_of(child[2]), 0);
    assert_int_equal(status_of(child[3]), 0);
    close(silent);
    close(wrong_one);
    open_port(NULL);
}

static int take_call(void)
{
    int fd;

    assert_int_equal(poll(&(struct pollfd){ listener.door, POLLIN, 0 }, 1, -1), 1);
    fd = accept4(listener.door, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    fcntl(fd, F_SETFL, 0);
    return fd;
}

/* A process that listens at rank 0's supposed address must authenticate itself too. */
static void a_false_rank_0_is_not_believed(void **state)
{
    char  hello[TERN_HANDSHAKE_HELLO], welcome[TERN_HANDSHAKE_WELCOME] = { 7 }, where[TERN_PMI_VALUE];
    int   fd;
    pid_t child;

    (void)state;
    write_text(where, atoi(text), "127.0.0.1");
    child = node(1, where);
    fd = take_call();
    assert_int_equal(recv(fd, hello, sizeof(hello), MSG_WAITALL), sizeof(hello));
    assert_int_equal(send(fd, welcome, sizeof(welcome), MSG_NOSIGNAL), sizeof(welcome));
    assert_int_equal(status_of(child), 1);
    close(fd);
}

/* Forward bytes between a and b until one of them ends. */
static void pass_on(int a, int b)
{
    struct pollfd fds[] = { { a, POLLIN, 0 }, { b, POLLIN, 0 } };
    char          bytes[256];

    while (poll(fds, 2, -1) > 0)
        for (int i = 0; i < 2; i++) {
            ssize_t got = fds[i].revents != 0 ? recv(fds[i].fd, bytes, sizeof(bytes), 0) : -1;

            if (fds[i].revents != 0 && got <= 0)
                return;
            if (got > 0)
                send(fds[1 - i].fd, bytes, (size_t)got, MSG_NOSIGNAL);
        }
}

/* A process without the key that listens elsewhere and forwards all bytes between a node that was led there and rank
 * 0. */
static pid_t relay(int *port)
{
    struct sockaddr_in name = { .sin_family = AF_INET };
    socklen_t          len = sizeof(name);
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pid_t              child;

    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (void *)&name, sizeof(name)), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (void *)&name, &len), 0);
    *port = ntohs(name.sin_port);
    child = fork();
    if (child != 0) {
        close(fd);
        return child;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* no process waits for it when the test fails */
    close(listener.door);
    for (;;) {
        int here = accept(fd, NULL, NULL), there = stranger("");

        pass_on(here, there);
        close(here);
        close(there);
    }
}

/* Promise: a node and rank 0 that are connected through a forwarding process do not accept each other, although both
 * have the key. */
static void a_relayed_call_is_not_believed(void **state)
{
    char                   where[TERN_PMI_VALUE];
    struct tern_relay_conn lines[2];
    int                    port = 0;
    pid_t                  middle = relay(&port), child;

    (void)state;
    write_text(where, port, "127.0.0.1");
    child = node(1, where);
    tern_opt.timeout = 2;
    assert_int_equal(tern_boot_relay_accept(&listener, 2, lines), TERN_ERR_TIMEOUT);
    tern_opt.timeout = 0;
    kill(middle, SIGKILL);
    waitpid(middle, NULL, 0);
    assert_int_equal(status_of(child), 1);
}

/* Promise: silent strangers that connect, however many, keep no node out, not even a node whose connection is among
 * theirs. */
static void silent_callers_keep_nobody_out(void **state)
{
    enum { EACH = 200 };
    struct tern_relay_conn lines[2];
    int                    silent[2 * EACH];
    char                   where[TERN_PMI_VALUE];
    pid_t                  child;

    (void)state;
    for (int i = 0; i < EACH; i++)
        silent[i] = stranger("");
    write_text(where, atoi(text), "127.0.0.1");
    child = node(1, where);
    usleep(100000); /* its connection is among theirs; if not, the test shows less, and passes */
    for (int i = EACH; i < 2 * EACH; i++)
        silent[i] = stranger("");
    tern_opt.timeout = 40;
    assert_int_equal(tern_boot_relay_accept(&listener, 2, lines), TERN_OK);
    tern_opt.timeout = 0;
    check_word(&lines[1], 1);
    assert_int_equal(status_of(child), 0);
    for (int i = 0; i < 2 * EACH; i++)
        close(silent[i]);
}

/* The test plays a slow node: send HELLO, receive WELCOME, confirm, and be accepted. */
static void go_through_slowly(int fd, uint32_t number)
{
    struct tern_handshake   greet = { .node = number };
    struct sockaddr_storage there;
    socklen_t               len = sizeof(there);
    uint8_t                 bytes[TERN_HANDSHAKE_HELLO];

    memcpy(greet.key, listener.key, sizeof(greet.key));
    assert_int_equal(getpeername(fd, (void *)&there, &len), 0);
    assert_true(tern_boot_handshake_place(&greet, (void *)&there));
    tern_boot_handshake_write(&greet, TERN_HANDSHAKE_IS_HELLO, bytes);
    assert_int_equal(send(fd, bytes, TERN_HANDSHAKE_HELLO, MSG_NOSIGNAL), TERN_HANDSHAKE_HELLO);
    assert_int_equal(recv(fd, bytes, TERN_HANDSHAKE_WELCOME, MSG_WAITALL), TERN_HANDSHAKE_WELCOME);
    assert_true(tern_boot_handshake_read(&greet, TERN_HANDSHAKE_IS_WELCOME, bytes));
    tern_boot_handshake_write(&greet, TERN_HANDSHAKE_IS_CONFIRM, bytes);
    assert_int_equal(send(fd, bytes, TERN_HANDSHAKE_TAG, MSG_NOSIGNAL), TERN_HANDSHAKE_TAG);
    assert_int_equal(recv(fd, bytes, TERN_HANDSHAKE_TAG, MSG_WAITALL), TERN_HANDSHAKE_TAG);
    assert_true(tern_boot_handshake_read(&greet, TERN_HANDSHAKE_IS_ACCEPTED, bytes));
}

/* Promise: when all places are taken the oldest silent caller is disconnected: a slow node keeps its place while as
 * many strangers as there are places connect after it. */
static void the_oldest_silent_caller_goes(void **state)
{
    enum { BEFORE = 100, AFTER = 40 };
    struct tern_relay_conn lines[3], line;
    int                    silent[BEFORE + AFTER], slow = -1;
    pid_t                  hub = fork();

    (void)state;
    if (hub == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(tern_boot_relay_accept(&listener, 3, lines) == TERN_OK ? 0 : 1);
    }
    for (int i = 0; i < BEFORE + AFTER; i++) {
        if (i == BEFORE)
            slow = stranger("");
        silent[i] = stranger("");
    }
    assert_int_equal(tern_boot_relay_connect(text, 2, &line), TERN_OK); /* so all earlier calls are queued */
    go_through_slowly(slow, 1);
    assert_int_equal(status_of(hub), 0);
    close(line.fd);
    close(slow);
    for (int i = 0; i < BEFORE + AFTER; i++)
        close(silent[i]);
}

/* Promise: a node whose connection is closed connects again, whatever step it had reached. */
static void a_node_calls_again(void **state)
{
    struct tern_relay_conn lines[2];
    char                   where[TERN_PMI_VALUE], hello[TERN_HANDSHAKE_HELLO];
    pid_t                  child;
    int                    fd;

    (void)state;
    write_text(where, atoi(text), "127.0.0.1");
    child = node(1, where);
    close(take_call());
    fd = take_call();
    assert_int_equal(recv(fd, hello, sizeof(hello), MSG_WAITALL), sizeof(hello));
    close(fd);
    assert_int_equal(tern_boot_relay_accept(&listener, 2, lines), TERN_OK);
    check_word(&lines[1], 1);
    assert_int_equal(status_of(child), 0);
}

/* The test plays rank 0: receive HELLO and send WELCOME. */
static void welcome(int fd, struct tern_handshake *greet)
{
    struct sockaddr_storage here;
    socklen_t               len = sizeof(here);
    uint8_t                 bytes[TERN_HANDSHAKE_HELLO];

    memcpy(greet->key, listener.key, sizeof(greet->key));
    assert_int_equal(getsockname(fd, (void *)&here, &len), 0);
    assert_true(tern_boot_handshake_place(greet, (void *)&here));
    assert_int_equal(recv(fd, bytes, TERN_HANDSHAKE_HELLO, MSG_WAITALL), TERN_HANDSHAKE_HELLO);
    assert_true(tern_boot_handshake_read(greet, TERN_HANDSHAKE_IS_HELLO, bytes));
    memset(greet->hub_random, 9, TERN_HANDSHAKE_RANDOM);
    tern_boot_handshake_write(greet, TERN_HANDSHAKE_IS_WELCOME, bytes);
    assert_int_equal(send(fd, bytes, TERN_HANDSHAKE_WELCOME, MSG_NOSIGNAL), TERN_HANDSHAKE_WELCOME);
}

/* Promise: a node that reaches rank 0 over two connections confirms one of them, and the other one if the first ends
 * before it is accepted. */
static void a_node_confirms_one_call(void **state)
{
    struct tern_handshake greet[2];
    struct pollfd         fds[2];
    uint8_t               tag[TERN_HANDSHAKE_TAG], more;
    char                  where[TERN_PMI_VALUE];
    pid_t                 child;
    int                   first;

    (void)state;
    write_text(where, atoi(text), "127.0.0.1,127.0.0.2");
    for (int ends = 0; ends < 2; ends++) {
        child = node(1, where);
        for (int i = 0; i < 2; i++)
            fds[i] = (struct pollfd){ .fd = take_call(), .events = POLLIN };
        for (int i = 0; i < 2; i++)
            welcome(fds[i].fd, &greet[i]);
        assert_true(poll(fds, 2, -1) > 0);
        first = fds[0].revents != 0 ? 0 : 1;
        assert_int_equal(recv(fds[first].fd, tag, sizeof(tag), MSG_WAITALL), sizeof(tag));
        if (ends == 1) {
            close(fds[first].fd);
            first = 1 - first;
            assert_int_equal(recv(fds[first].fd, tag, sizeof(tag), MSG_WAITALL), sizeof(tag));
        }
        assert_true(tern_boot_handshake_read(&greet[first], TERN_HANDSHAKE_IS_CONFIRM, tag));
        tern_boot_handshake_write(&greet[first], TERN_HANDSHAKE_IS_ACCEPTED, tag);
        assert_int_equal(send(fds[first].fd, tag, sizeof(tag), MSG_NOSIGNAL), sizeof(tag));
        assert_int_equal(status_of(child), 0);
        if (ends == 0)
            assert_true(recv(fds[1 - first].fd, &more, 1, 0) <= 0); /* its end, and nothing before */
        else
            close_port(NULL), open_port(NULL); /* the node may have connected again */
        close(fds[first].fd);
        if (ends == 0)
            close(fds[1 - first].fd);
    }
}

/* Promise: an address where a process sends one byte and no more does not hold up the other addresses. */
static void who_says_a_byte_holds_up_nobody(void **state)
{
    struct tern_relay_conn lines[2];
    char                   where[TERN_PMI_VALUE];
    pid_t                  child;
    int                    fd;

    (void)state;
    write_text(where, atoi(text), "127.0.0.1,127.0.0.2"); /* both are this machine */
    child = node(1, where);
    fd = take_call();
    assert_int_equal(send(fd, "T", 1, MSG_NOSIGNAL), 1);
    tern_opt.timeout = 8; /* less than the time that a node waits for a proof */
    assert_int_equal(tern_boot_relay_accept(&listener, 2, lines), TERN_OK);
    tern_opt.timeout = 0;
    check_word(&lines[1], 1);
    assert_int_equal(status_of(child), 0);
    close(fd);
}

/* Promise: if rank 0 is on another machine, a node does not call rank 0's loopback and link-local addresses, nor
 * addresses that this machine has too: the process that listens there is not rank 0. */
static void another_machines_loopback_is_not_called(void **state)
{
    struct tern_relay_conn line;
    char                   where[TERN_PMI_VALUE], *network;

    (void)state;
    write_text(where, atoi(text), "127.0.0.1,127.1.2.3,::1,169.254.1.1,fe80::1,0.0.0.0");
    network = where + strlen(where) - strlen(strstr(where, ",127.0.0.1")) - 1;
    *network = *network == '0' ? '1' : '0';
    assert_int_equal(tern_boot_relay_connect(where, 1, &line), TERN_ERR_BOOT);
    assert_non_null(strstr(tern_base_detail(), "each of these is this machine"));
    assert_int_equal(poll(&(struct pollfd){ listener.door, POLLIN, 0 }, 1, 0), 0); /* no process has connected */
    strcpy(where, text);                                                           /* all addresses of this machine */
    network = strchr(strchr(where, ',') + 1, ',') + 1;
    *network = *network == '0' ? '1' : '0';
    assert_int_equal(tern_boot_relay_connect(where, 1, &line), TERN_ERR_BOOT);
    assert_non_null(strstr(tern_base_detail(), "each of these is this machine"));
    assert_int_equal(poll(&(struct pollfd){ listener.door, POLLIN, 0 }, 1, 0), 0);
}

/* Promise: a tag is valid for one step, one node, one address, one port and one pair of random values; both sides
 * derive the same keys, of which no two are equal. */
static void tags_are_for_one_thing(void **state)
{
    struct tern_handshake     greet = { .node = 1, .port = 4711 }, other;
    struct tern_frame_io_keys hub, spoke, third;

    (void)state;
    for (int step = TERN_HANDSHAKE_IS_HELLO; step <= TERN_HANDSHAKE_IS_ACCEPTED; step++)
        for (int i = 0; i < 7; i++) {
            enum tern_handshake_step which = (enum tern_handshake_step)(i < 6 ? step : step % 4 + 1);

            other = greet;
            other.node += i == 0;
            other.port += i == 1;
            other.address[15] ^= i == 2;
            other.node_random[3] ^= i == 3;
            other.hub_random[5] ^= i == 4;
            other.key[9] ^= i == 5;
            assert_true(tern_boot_handshake_tag(&greet, (enum tern_handshake_step)step) !=
                        tern_boot_handshake_tag(&other, which));
        }
    tern_boot_handshake_keys(&greet, true, &hub);
    tern_boot_handshake_keys(&greet, false, &spoke);
    assert_memory_equal(hub.in, spoke.out, sizeof(hub.in));
    assert_memory_equal(hub.out, spoke.in, sizeof(hub.in));
    assert_memory_not_equal(hub.in, hub.out, sizeof(hub.in));
    greet.hub_random[0] ^= 1;
    tern_boot_handshake_keys(&greet, true, &third);
    assert_memory_not_equal(hub.in, third.in, sizeof(hub.in));
    assert_memory_not_equal(hub.out, third.out, sizeof(hub.in));
}

static void nobody_is_there(void **state)
{
    char                   where[TERN_PMI_VALUE];
    struct tern_relay_conn line;

    (void)state;
    write_text(where, 1, "127.0.0.1");
    assert_int_equal(tern_boot_relay_connect(where, 1, &line), TERN_ERR_BOOT);
    assert_non_null(strstr(tern_base_detail(), "port 1 of 127.0.0.1"));
    for (size_t i = 0; i < 9; i++) {
#define KEY "00112233445566778899aabbccddeeff"
        const char *broken[] = { "",
                                 "1",
                                 "70000," KEY ",0123456789abcdef,127.0.0.1",
                                 "1,00,0123456789abcdef,127.0.0.1",
                                 "1," KEY ",0123456789abcdef",
                                 "1," KEY ",127.0.0.1",
                                 "1," KEY ",0123456789abcde,127.0.0.1",
                                 "1," KEY ",0123456789abcdef,127.0.0.1,",
                                 "1," KEY ",0123456789abcdef,1,2,3,4,5,6,7,8,9" };

        assert_int_equal(tern_boot_relay_connect(broken[i], 1, &line), TERN_ERR_BOOT);
        assert_non_null(strstr(tern_base_detail(), "cannot read"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nodes_come_through, open_port, close_port),
        cmocka_unit_test_setup_teardown(strangers_do_not, open_port, close_port),
        cmocka_unit_test_setup_teardown(a_false_rank_0_is_not_believed, open_port, close_port),
        cmocka_unit_test_setup_teardown(a_relayed_call_is_not_believed, open_port, close_port),
        cmocka_unit_test_setup_teardown(silent_callers_keep_nobody_out, open_port, close_port),
        cmocka_unit_test_setup_teardown(the_oldest_silent_caller_goes, open_port, close_port),
        cmocka_unit_test_setup_teardown(a_node_calls_again, open_port, close_port),
        cmocka_unit_test_setup_teardown(a_node_confirms_one_call, open_port, close_port),
        cmocka_unit_test_setup_teardown(who_says_a_byte_holds_up_nobody, open_port, close_port),
        cmocka_unit_test_setup_teardown(another_machines_loopback_is_not_called, open_port, close_port),
        cmocka_unit_test(tags_are_for_one_thing),
        cmocka_unit_test_setup_teardown(nobody_is_there, open_port, close_port),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
