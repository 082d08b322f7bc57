/* boot_dial.c: nodes find rank 0's port and both sides prove themselves; nobody else gets through, or in the way. */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"
#include "boot/dial.h"
#include "boot/segment.h"

static struct tern_dial dial;
static char             text[TERN_PMI_VALUE];

static int open_port(void **state)
{
    (void)state;
    return tern_boot_dial_open(&dial, text) == TERN_OK ? 0 : -1;
}

static int close_port(void **state)
{
    (void)state;
    tern_boot_dial_close(&dial);
    return 0;
}

/* A node in a process of its own, which says its number once it is through; status 0, or 1 when it is refused. */
static pid_t node(int number, const char *where)
{
    pid_t child = fork();
    char  word[16];
    int   fd;

    if (child != 0)
        return child;
    close(dial.door);
    tern_opt.timeout = 20;
    if (tern_boot_dial_connect(where, number, &fd) != TERN_OK)
        _exit(1);
    snprintf(word, sizeof(word), "node %d", number);
    _exit(send(fd, word, 7, MSG_NOSIGNAL) == 7 ? 0 : 2);
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
    int                fd = socket(AF_INET, SOCK_STREAM, 0);

    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (void *)&name, sizeof(name)), 0);
    assert_int_equal(send(fd, bytes, strlen(bytes), MSG_NOSIGNAL), strlen(bytes));
    return fd;
}

static void check_word(int fd, int number)
{
    char want[16], got[16] = "";

    snprintf(want, sizeof(want), "node %d", number);
    assert_int_equal(poll(&(struct pollfd){ fd, POLLIN, 0 }, 1, 20000), 1);
    assert_int_equal(recv(fd, got, 7, MSG_WAITALL), 7);
    assert_string_equal(got, want);
    close(fd);
}

static void nodes_come_through(void **state)
{
    int   fds[4] = { 77, 77, 77, 77 };
    pid_t child[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        child[i] = node(3 - i, text);
    assert_int_equal(tern_boot_dial_accept(&dial, 4, fds), TERN_OK);
    assert_int_equal(fds[0], 77);
    for (int i = 1; i < 4; i++)
        check_word(fds[i], i);
    for (int i = 0; i < 3; i++)
        assert_int_equal(status_of(child[i]), 0);
}

static void strangers_do_not(void **state)
{
    char  wrong[TERN_PMI_VALUE], answer[33] = "";
    int   fds[2], silent, wrong_one, short_one;
    pid_t child[3];

    (void)state;
    memset(answer, 'x', 32);
    strcpy(wrong, text);
    *(strchr(wrong, ',') + 5) ^= 1; /* one digit of the key, which stays one */
    silent = stranger("");
    wrong_one = stranger(answer);
    short_one = stranger("xx");
    close(short_one);
    child[0] = node(1, wrong);
    child[1] = node(7, text); /* no such node */
    assert_int_equal(poll(&(struct pollfd){ dial.door, POLLIN, 0 }, 1, -1), 1);
    child[2] = node(1, text);
    assert_int_equal(tern_boot_dial_accept(&dial, 2, fds), TERN_OK);
    check_word(fds[1], 1);
    close_port(NULL);
    assert_int_equal(status_of(child[0]), 1);
    assert_int_equal(status_of(child[1]), 1);
    assert_int_equal(status_of(child[2]), 0);
    close(silent);
    close(wrong_one);
    open_port(NULL);
}

/* Whoever listens where rank 0 is thought to be has to prove itself too. */
static void a_false_rank_0_is_not_believed(void **state)
{
    char  challenge[24] = { 'T', 'E', 'R', 'N', TERN_SEGMENT_LAYOUT }, answer[32], where[TERN_PMI_VALUE];
    int   fd;
    pid_t child;

    (void)state;
    snprintf(where, sizeof(where), "%d,%.32s,127.0.0.1", atoi(text), strchr(text, ',') + 1);
    child = node(1, where);
    assert_int_equal(poll(&(struct pollfd){ dial.door, POLLIN, 0 }, 1, -1), 1);
    fd = accept(dial.door, NULL, NULL);
    assert_true(fd >= 0);
    assert_int_equal(send(fd, challenge, sizeof(challenge), MSG_NOSIGNAL), sizeof(challenge));
    assert_int_equal(recv(fd, answer, sizeof(answer), MSG_WAITALL), sizeof(answer));
    assert_int_equal(send(fd, "12345678", 8, MSG_NOSIGNAL), 8);
    assert_int_equal(status_of(child), 1);
    close(fd);
}

static void nobody_is_there(void **state)
{
    char where[TERN_PMI_VALUE];
    int  fd;

    (void)state;
    snprintf(where, sizeof(where), "1,%.32s,127.0.0.1", strchr(text, ',') + 1);
    assert_int_equal(tern_boot_dial_connect(where, 1, &fd), TERN_ERR_BOOT);
    assert_non_null(strstr(tern_base_detail(), "port 1 of 127.0.0.1"));
    for (size_t i = 0; i < 7; i++) {
        const char *broken[] = { "",
                                 "1",
                                 "70000,00112233445566778899aabbccddeeff,127.0.0.1",
                                 "1,00,127.0.0.1",
                                 "1,00112233445566778899aabbccddeeff",
                                 "1,00112233445566778899aabbccddeeff,127.0.0.1,",
                                 "1,00112233445566778899aabbccddeeff,1,2,3,4,5,6,7,8,9" };

        assert_int_equal(tern_boot_dial_connect(broken[i], 1, &fd), TERN_ERR_BOOT);
        assert_non_null(strstr(tern_base_detail(), "not of Tern"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nodes_come_through, open_port, close_port),
        cmocka_unit_test_setup_teardown(strangers_do_not, open_port, close_port),
        cmocka_unit_test_setup_teardown(a_false_rank_0_is_not_believed, open_port, close_port),
        cmocka_unit_test_setup_teardown(nobody_is_there, open_port, close_port),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
