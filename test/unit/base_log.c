/* base_log.c: a log line is written whole, in one write, with the rank, and only at the requested levels. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "said_test.h"

static void lines_carry_the_rank(void **state)
{
    (void)state;
    said_begin();
    tern_base_log(TERN_LOG_WARN, "no rank, %d", 1);
    tern_base_log_set_rank(7);
    tern_base_log(TERN_LOG_ERROR, "with a rank");
    tern_base_log_set_rank(-1);
    assert_string_equal(said_end(), "tern: no rank, 1\ntern: rank 7: with a rank\n");
}

static void levels_filter(void **state)
{
    (void)state;
    said_begin();
    tern_base_log(TERN_LOG_DEBUG, "debug is not said at start");
    tern_base_log(TERN_LOG_NOTE, "note");
    tern_base_log_set_level(TERN_LOG_ERROR);
    tern_base_log(TERN_LOG_WARN, "not said");
    tern_base_log(TERN_LOG_ERROR, "error");
    tern_base_log_set_level(TERN_LOG_DEBUG);
    tern_base_log(TERN_LOG_DEBUG, "debug");
    tern_base_log_set_level(TERN_LOG_NOTE);
    assert_string_equal(said_end(), "tern: note\ntern: error\ntern: debug\n");
}

static void long_lines_are_cut_and_still_end(void **state)
{
    char        line[3000];
    const char *got;

    (void)state;
    memset(line, 'y', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    said_begin();
    tern_base_log(TERN_LOG_NOTE, "%s", line);
    got = said_end();
    assert_int_equal(strlen(got), 1024);
    assert_int_equal(got[1023], '\n');
    assert_int_equal(strcspn(got, "\n"), 1023);
}

/* Promise: errno is preserved, also when writing to standard error fails. */
static void errno_is_kept(void **state)
{
    int null;

    (void)state;
    said_begin();
    null = open("/dev/full", O_WRONLY);
    assert_true(null >= 0);
    dup2(null, STDERR_FILENO);
    errno = EPERM;
    tern_base_log(TERN_LOG_ERROR, "lost");
    assert_int_equal(errno, EPERM);
    close(null);
    assert_string_equal(said_end(), "");
}

static void *write_many(void *letter)
{
    char line[65];

    memset(line, *(char *)letter, 64);
    line[64] = '\0';
    for (int i = 0; i < 100; i++)
        tern_base_log(TERN_LOG_NOTE, "%s", line);
    return NULL;
}

static void lines_of_threads_do_not_mix(void **state)
{
    pthread_t thread[4];
    char      letters[] = "abcd";
    int       lines = 0;

    (void)state;
    said_begin();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, write_many, &letters[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    for (const char *at = said_end(); *at != '\0'; at += 71, lines++) {
        assert_memory_equal(at, "tern: ", 6);
        assert_int_equal(strspn(at + 6, (char[]){ at[6], '\0' }), 64);
        assert_int_equal(at[70], '\n');
    }
    assert_int_equal(lines, 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_carry_the_rank),
        cmocka_unit_test(levels_filter),
        cmocka_unit_test(long_lines_are_cut_and_still_end),
        cmocka_unit_test(errno_is_kept),
        cmocka_unit_test(lines_of_threads_do_not_mix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
