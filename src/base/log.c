/* log.c: one line on standard error, in one write.
 *
 * The line is assembled in a buffer on the stack and passed to a single write(2): no stdio buffer is shared with the
 * program, and a pipe accepts up to PIPE_BUF (4096) bytes atomically. A line that standard error does not accept is
 * dropped, because logging must never stop a job.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 1023 /* maximum length of a line, without the newline */

static _Atomic int shown_level = TERN_LOG_NOTE;
static _Atomic int shown_rank = -1;

void tern_base_log_set_level(enum tern_log_level level)
{
    atomic_store_explicit(&shown_level, (int)level, memory_order_relaxed); /* relaxed: an independent setting */
}

bool tern_base_log_shows(enum tern_log_level level)
{
    return (int)level <= atomic_load_explicit(&shown_level, memory_order_relaxed);
}

void tern_base_log_set_rank(int rank)
{
    atomic_store_explicit(&shown_rank, rank, memory_order_relaxed); /* relaxed: an independent setting */
}

void tern_base_log(enum tern_log_level level, const char *format, ...)
{
    int     kept = errno, rank = atomic_load_explicit(&shown_rank, memory_order_relaxed);
    char    line[LINE_BYTES + 1];
    size_t  len;
    va_list args;

    if (!tern_base_log_shows(level))
        return;
    len = (size_t)(rank < 0 ? snprintf(line, sizeof(line), "tern: ")
                            : snprintf(line, sizeof(line), "tern: rank %d: ", rank));
    va_start(args, format);
    if (vsnprintf(line + len, sizeof(line) - len, format, args) < 0)
        line[len] = '\0';
    va_end(args);
    len = strlen(line);
    line[len++] = '\n'; /* replaces the terminating zero */
    while (write(STDERR_FILENO, line, len) < 0 && errno == EINTR)
        ;
    errno = kept;
}
