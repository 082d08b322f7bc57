/* boot_fd_pass.c: the host passes descriptors to its clients, and to no other process.
 *
 * Promise: a process that does not know the key, is not expected, sends anything but a valid hello, or sends nothing
 * gets nothing and makes no other process wait; clients whose host gives up are told.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"
#include "boot/fd_pass.h"

static int                         door;
static struct tern_fd_pass_address address;

static int open_door(void **state)
{
    (void)state;
    return tern_boot_fd_pass_open(&door, &address) == TERN_OK ? 0 : -1;
}

static int close_door(void **state)
{
    (void)state;
    return close(door);
}

static uint64_t inode(int fd)
{
    struct stat about;

    return fstat(fd, &about) == 0 ? (uint64_t)about.st_ino : 0;
}

/* Start a client in its own process. Its exit status is 0 if it got the two files, and 1 if it got an error instead. */
static pid_t client(int rank, const struct tern_fd_pass_address *to, uint64_t first, uint64_t third)
{
    pid_t child = fork();
    int   gifts[TERN_FD_PASS_FDS];

    if (child != 0)
        return child;
    close(door); /* it belongs to the host */
    tern_opt.timeout = 20;
    if (tern_boot_fd_pass_receive(to, 0, rank, 100 + rank, gifts) != TERN_OK)
        _exit(strstr(tern_base_detail(), "rank 0") != NULL ? 1 : 2);
    if (inode(gifts[0]) != first || gifts[1] != -1 || inode(gifts[2]) != third)
        _exit(3);
    _exit((fcntl(gifts[0], F_GETFD) & FD_CLOEXEC) && (fcntl(gifts[2], F_GETFD) & FD_CLOEXEC) ? 0 : 4);
}

static int status_of(pid_t child)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Connect as a stranger that knows the address and sends these bytes. */
static int stranger(const void *bytes, size_t len)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int                size = snprintf(name.sun_path + 1, 64, "tern-%016llx", (unsigned long long)address.name);
    int                fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    assert_int_equal(connect(fd, (void *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size)),
                     0);
    if (len > 0)
        assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
    return fd;
}

static void guests_get_what_the_host_gives(void **state)
{
    struct tern_fd_pass_client clients[2] = { { .rank = 3 }, { .rank = 5 } };
    struct tern_cpus           cpus = { { 0 } }, own;
    int                        arena = memfd_create("one", 0), tell = memfd_create("two", 0);
    pid_t                      child[2];

    (void)state;
    tern_boot_cpus_own(&own);
    child[0] = client(5, &address, inode(arena), inode(tell));
    child[1] = client(3, &address, inode(arena), inode(tell));
    assert_int_equal(tern_boot_fd_pass_accept(door, &address, clients, 2, &cpus), TERN_OK);
    assert_int_equal(clients[0].pid, child[1]);
    assert_int_equal(clients[1].pid, child[0]);
    assert_int_equal(clients[0].launcher_fd, 103);
    assert_int_equal(clients[1].launcher_fd, 105);
    assert_memory_equal(&cpus, &own, sizeof(cpus));
    assert_int_equal(tern_boot_fd_pass_send(clients, 2, (int[]){ arena, -1, tell }), TERN_OK);
    assert_int_equal(status_of(child[0]), 0);
    assert_int_equal(status_of(child[1]), 0);
    close(arena);
    close(tell);
}

static void strangers_get_nothing(void **state)
{
    struct tern_fd_pass_client  clients[1] = { { .rank = 1 } };
    struct tern_fd_pass_address wrong = address;
    struct tern_cpus            cpus;
    char                        noise[9000];
    int                         arena = memfd_create("one", 0), tell = memfd_create("two", 0), silent, loud, long_one;
    pid_t                       child[4];

    (void)state;
    wrong.key[7] ^= 1;
    memset(noise, 0x5a, sizeof(noise));
    silent = stranger(NULL, 0);
    loud = stranger(noise, 30);
    long_one = stranger(noise, sizeof(noise));
    child[0] = client(1, &wrong, 0, 0);
    assert_int_equal(poll(&(struct pollfd){ door, POLLIN, 0 }, 1, -1), 1);
    child[1] = client(2, &address, 0, 0); /* not expected */
    child[2] = client(1, &address, inode(arena), inode(tell));
    memset(&cpus, 0, sizeof(cpus));
    assert_int_equal(tern_boot_fd_pass_accept(door, &address, clients, 1, &cpus), TERN_OK);
    child[3] = client(1, &address, 0, 0); /* a second client of that rank: the host is gone */
    assert_int_equal(tern_boot_fd_pass_send(clients, 1, (int[]){ arena, -1, tell }), TERN_OK);
    close_door(NULL);
    assert_int_equal(status_of(child[0]), 1);
    assert_int_equal(status_of(child[1]), 1);
    assert_int_equal(status_of(child[2]), 0);
    assert_int_equal(status_of(child[3]), 1);
    assert_int_equal(recv(silent, noise, sizeof(noise), 0), 0); /* disconnected */
    assert_true(recv(loud, noise, sizeof(noise), 0) <= 0);
    assert_true(recv(long_one, noise, sizeof(noise), 0) <= 0);
    close(silent);
    close(loud);
    close(long_one);
    close(arena);
    close(tell);
    open_door(NULL);
}

/* Promise: silent strangers, more than there are places, keep no client out. */
static void silent_strangers_keep_nobody_out(void **state)
{
    struct tern_fd_pass_client clients[2] = { { .rank = 1 }, { .rank = 2 } };
    struct tern_cpus           cpus = { { 0 } };
    int                        arena = memfd_create("one", 0), tell = memfd_create("two", 0), silent[200];
    pid_t                      child[2];

    (void)state;
    for (int i = 0; i < 100; i++)
        silent[i] = stranger(NULL, 0);
    child[0] = client(1, &address, inode(arena), inode(tell));
    usleep(50000); /* its connection is among theirs; if not, the test shows less, and passes */
    for (int i = 100; i < 200; i++)
        silent[i] = stranger(NULL, 0);
    child[1] = client(2, &address, inode(arena), inode(tell));
    tern_opt.timeout = 40;
    assert_int_equal(tern_boot_fd_pass_accept(door, &address, clients, 2, &cpus), TERN_OK);
    tern_opt.timeout = 0;
    assert_int_equal(tern_boot_fd_pass_send(clients, 2, (int[]){ arena, -1, tell }), TERN_OK);
    assert_int_equal(status_of(child[0]), 0);
    assert_int_equal(status_of(child[1]), 0);
    for (int i = 0; i < 200; i++)
        close(silent[i]);
    close(arena);
    close(tell);
}

/* Promise: a client that is disconnected before it is recognized connects again. */
static void a_guest_comes_again(void **state)
{
    struct tern_fd_pass_client clients[1] = { { .rank = 1 } };
    struct tern_cpus           cpus = { { 0 } };
    int                        arena = memfd_create("one", 0), tell = memfd_create("two", 0);
    pid_t                      child = client(1, &address, inode(arena), inode(tell));

    (void)state;
    assert_int_equal(poll(&(struct pollfd){ door, POLLIN, 0 }, 1, -1), 1);
    close(accept(door, NULL, NULL));
    assert_int_equal(tern_boot_fd_pass_accept(door, &address, clients, 1, &cpus), TERN_OK);
    assert_int_equal(tern_boot_fd_pass_send(clients, 1, (int[]){ arena, -1, tell }), TERN_OK);
    assert_int_equal(status_of(child), 0);
    close(arena);
    close(tell);
}

static void guests_learn_that_the_host_gave_up(void **state)
{
    struct tern_fd_pass_client clients[2] = { { .rank = 1 }, { .rank = 2 } };
    struct tern_cpus           cpus = { { 0 } };
    pid_t                      child = client(1, &address, 0, 0);

    (void)state;
    tern_opt.timeout = 0.2; /* rank 2 never connects */
    assert_int_equal(tern_boot_fd_pass_accept(door, &address, clients, 2, &cpus), TERN_ERR_TIMEOUT);
    tern_opt.timeout = 0;
    close_door(NULL); /* in case it connects only now */
    assert_int_equal(status_of(child), 1);
    open_door(NULL);
}

static void nobody_is_there(void **state)
{
    struct tern_fd_pass_address nowhere = { .name = address.name ^ 1 };
    int                         gifts[TERN_FD_PASS_FDS];

    (void)state;
    assert_int_equal(tern_boot_fd_pass_receive(&nowhere, 4, 5, -1, gifts), TERN_ERR_BOOT);
    assert_non_null(strstr(tern_base_detail(), "rank 4"));
    assert_non_null(strstr(tern_base_detail(), "TERN_NODE"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(guests_get_what_the_host_gives, open_door, close_door),
        cmocka_unit_test_setup_teardown(strangers_get_nothing, open_door, close_door),
        cmocka_unit_test_setup_teardown(silent_strangers_keep_nobody_out, open_door, close_door),
        cmocka_unit_test_setup_teardown(a_guest_comes_again, open_door, close_door),
        cmocka_unit_test_setup_teardown(guests_learn_that_the_host_gave_up, open_door, close_door),
        cmocka_unit_test_setup_teardown(nobody_is_there, open_door, close_door),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
