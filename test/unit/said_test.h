/* said_test.h: capture the standard error of this process for a while. */
#ifndef TERN_SAID_TEST_H
#define TERN_SAID_TEST_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static int said_saved, said_ends[2];

static inline void said_begin(void)
{
    said_saved = dup(STDERR_FILENO);
    assert_int_equal(pipe2(said_ends, O_NONBLOCK), 0);
    assert_true(dup2(said_ends[1], STDERR_FILENO) >= 0);
}

/* Returns the text written since the start; valid until the next call. */
static inline const char *said_end(void)
{
    static char text[65536];
    ssize_t     got = read(said_ends[0], text, sizeof(text) - 1);

    dup2(said_saved, STDERR_FILENO);
    close(said_saved);
    close(said_ends[0]);
    close(said_ends[1]);
    text[got < 0 ? 0 : got] = '\0';
    return text;
}

#endif
