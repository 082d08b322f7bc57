/* boot_pmi1.c: the PMI-1 client against a launcher that answers correctly, incorrectly, or not at all.
 *
 * Promise: the client sends the requests that are due and reads one answer at a time and no byte beyond it; any other
 * input is an error that says so. The launcher here is the other end of a socket pair, with its answers written
 * beforehand.
 */
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
#include "boot/pmi.h"

#define RIGHT_INIT "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
#define RIGHT_NAME "cmd=my_kvsname kvsname=kvs_1\n"

static bool field(const char *line, const char *key, char *value, size_t size)
{
    return tern_boot_pmi1_field(line, strlen(line), key, value, size);
}

static void fields_are_found(void **state)
{
    char value[8] = "before";

    (void)state;
    assert_true(field("cmd=get_result rc=0 value=abc\n", "rc", value, sizeof(value)));
    assert_string_equal(value, "0");
    assert_true(field("cmd=x value=abc\n", "value", value, sizeof(value)));
    assert_string_equal(value, "abc");
    assert_true(field("cmd=x value=a=b", "value", value, sizeof(value))); /* the first = counts */
    assert_string_equal(value, "a=b");
    assert_true(field("value= rc=1\n", "value", value, sizeof(value)));
    assert_string_equal(value, "");
    assert_true(field("value=1234567\n", "value", value, sizeof(value)));
    assert_string_equal(value, "1234567");
}

static void what_is_not_there_is_not_found(void **state)
{
    char value[8] = "before";

    (void)state;
    assert_false(field("", "rc", value, sizeof(value)));
    assert_false(field("\nrc=1\n", "rc", value, sizeof(value))); /* behind the line */
    assert_false(field("cmd=x xrc=1 rcx=2 rc\n", "rc", value, sizeof(value)));
    assert_false(field("value=12345678\n", "value", value, sizeof(value))); /* does not fit */
    assert_false(tern_boot_pmi1_field("rc=1", 2, "rc", value, sizeof(value)));
    assert_string_equal(value, "before");
}

/* Run body as rank 1 of 2 with a launcher that sends these answers; body gets the descriptor. Returns body's result. */
static int with_launcher(const char *answers, int (*body)(int launcher))
{
    char  number[16];
    int   ends[2], status;
    pid_t child;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    child = fork();
    if (child == 0) {
        snprintf(number, sizeof(number), "%d", ends[0]);
        setenv("PMI_FD", number, 1);
        setenv("PMI_RANK", "1", 1);
        setenv("PMI_SIZE", "2", 1);
        setenv("TERN_TIMEOUT", "5", 1);
        tern_base_options_load(environ);
        if (write(ends[1], answers, strlen(answers)) != (ssize_t)strlen(answers))
            _exit(99);
        _exit(body(ends[1]));
    }
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define EXPECT(what)                   \
    do {                               \
        if (!(what))                   \
            return __LINE__ % 250 + 1; \
    } while (0)

static bool asked(int launcher, const char *text)
{
    char    got[512];
    ssize_t len = recv(launcher, got, sizeof(got) - 1, MSG_DONTWAIT);

    got[len < 0 ? 0 : len] = '\0';
    return strcmp(got, text) == 0;
}

static int talk(int launcher)
{
    struct tern_pmi *pmi;
    char             value[TERN_PMI_VALUE];

    EXPECT(tern_boot_pmi1.open(&pmi) == TERN_OK);
    EXPECT(pmi->rank == 1 && pmi->ranks == 2);
    EXPECT(asked(launcher, "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\n"));
    EXPECT(pmi->ops->put("key", "v,1") == TERN_OK);
    EXPECT(asked(launcher, "cmd=put kvsname=kvs_1 key=tern-key-1 value=v,1\n"));
    EXPECT(pmi->ops->fence() == TERN_OK);
    EXPECT(asked(launcher, "cmd=barrier_in\n"));
    EXPECT(pmi->ops->get(0, "key", value) == TERN_OK && strcmp(value, "v,0") == 0);
    EXPECT(asked(launcher, "cmd=get kvsname=kvs_1 key=tern-key-0\n"));
    pmi->ops->abort(7);
    EXPECT(asked(launcher, "cmd=abort exitcode=7\n"));
    EXPECT(recv(atoi(getenv("PMI_FD")), value, sizeof(value), MSG_DONTWAIT) == 5 &&
           memcmp(value, "other", 5) == 0); /* input for an MPI library is still there */
    pmi->ops->close(false);
    return 0;
}

static void a_talk(void **state)
{
    (void)state;
    assert_int_equal(with_launcher(RIGHT_INIT RIGHT_NAME "cmd=put_result rc=0 msg=success\n"
                                                         "cmd=barrier_out\n"
                                                         "cmd=get_result rc=0 msg=success value=v,0\n"
                                                         "other",
                                   talk),
                     0);
}

static int refused(int launcher)
{
    struct tern_pmi *pmi;

    (void)launcher;
    EXPECT(tern_boot_pmi1.open(&pmi) == TERN_ERR_BOOT);
    EXPECT(strstr(tern_base_detail(), "launcher") != NULL);
    return 0;
}

static int hangs_up(int launcher)
{
    struct tern_pmi *pmi;

    shutdown(launcher, SHUT_RDWR);
    EXPECT(tern_boot_pmi1.open(&pmi) == TERN_ERR_BOOT);
    EXPECT(strstr(tern_base_detail(), "closed its PMI-1 connection") != NULL);
    return 0;
}

static int knows_no_key(int launcher)
{
    struct tern_pmi *pmi;
    char             value[TERN_PMI_VALUE] = "before";

    (void)launcher;
    EXPECT(tern_boot_pmi1.open(&pmi) == TERN_OK);
    EXPECT(pmi->ops->get(0, "key", value) == TERN_ERR_BOOT);
    return 0;
}

static void wrong_answers_are_refused(void **state)
{
    char  *long_line = malloc(8192);
    char   long_value[1024];
    size_t len = 0;

    (void)state;
    assert_int_equal(with_launcher("\n", refused), 0);
    assert_int_equal(with_launcher("cmd=response_to_init rc=-1\n", refused), 0);
    assert_int_equal(with_launcher("cmd=barrier_out\n", refused), 0);
    assert_int_equal(with_launcher(RIGHT_INIT "cmd=my_kvsname\n", refused), 0);
    memset(long_line, 'x', 8191);
    long_line[8191] = '\0';
    assert_int_equal(with_launcher(long_line, refused), 0);
    free(long_line);
    len = (size_t)snprintf(long_value, sizeof(long_value), "%scmd=my_kvsname kvsname=", RIGHT_INIT);
    memset(long_value + len, 'k', 400);
    memcpy(long_value + len + 400, "\n", 2);
    assert_int_equal(with_launcher(long_value, refused), 0);
    assert_int_equal(with_launcher("", hangs_up), 0);
    assert_int_equal(
        with_launcher(RIGHT_INIT RIGHT_NAME "cmd=get_result rc=-1 msg=key_not_found value=unknown\n", knows_no_key), 0);
}

static int waits(int launcher)
{
    struct tern_pmi *pmi;

    (void)launcher;
    tern_opt.timeout = 0.05;
    EXPECT(tern_boot_pmi1.open(&pmi) == TERN_OK);
    EXPECT(pmi->ops->fence() == TERN_ERR_TIMEOUT);
    EXPECT(strstr(tern_base_detail(), "the other ranks") != NULL);
    return 0;
}

static void a_fence_has_its_limit(void **state)
{
    (void)state;
    assert_int_equal(with_launcher(RIGHT_INIT RIGHT_NAME, waits), 0);
}

/* A process that has left in order says goodbye when it exits, once; the launcher's end of the pair sees it. */
static void says_goodbye(const char *want, bool in_order)
{
    char    number[16], got[512];
    int     ends[2], status;
    ssize_t len;
    pid_t   child;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    child = fork();
    if (child == 0) {
        struct tern_pmi *pmi;

        close(ends[1]);
        snprintf(number, sizeof(number), "%d", ends[0]);
        setenv("PMI_FD", number, 1);
        setenv("PMI_RANK", "0", 1);
        setenv("PMI_SIZE", "1", 1);
        if (tern_boot_pmi1.open(&pmi) != TERN_OK)
            _exit(1);
        pmi->ops->close(in_order);
        exit(0);
    }
    close(ends[0]);
    assert_int_equal(write(ends[1], RIGHT_INIT RIGHT_NAME "cmd=finalize_ack\n", strlen(RIGHT_INIT RIGHT_NAME) + 17),
                     strlen(RIGHT_INIT RIGHT_NAME) + 17);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    len = recv(ends[1], got, sizeof(got) - 1, MSG_DONTWAIT);
    got[len < 0 ? 0 : len] = '\0';
    assert_string_equal(got, want);
    close(ends[1]);
}

static void goodbye_when_the_process_ends(void **state)
{
    (void)state;
    says_goodbye("cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\ncmd=finalize\n", true);
    says_goodbye("cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\n", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_found),
        cmocka_unit_test(what_is_not_there_is_not_found),
        cmocka_unit_test(a_talk),
        cmocka_unit_test(wrong_answers_are_refused),
        cmocka_unit_test(a_fence_has_its_limit),
        cmocka_unit_test(goodbye_when_the_process_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
