/* front.c: the counted start and end of a front end, and errors that end the job. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "front.h"

static int  users;  /* starts minus ends */
static bool joined; /* tern_init has succeeded */

bool tern_front_last(void)
{
    return users == 1;
}

/* Leave the job when the process exits, if all users have ended, or if the program has ended MPI. A process that exits
 * earlier has failed, and Tern reports this failure to the other ranks. */
static void leave(void)
{
    if (!joined || (users > 0 && !tern_front_mpi_over()))
        return;
    tern_front_mpi_leave();
    (void)tern_finalize(); /* an error can no longer be reported */
}

bool tern_front_start(const char *call)
{
    if (users++ > 0)
        return false;
    tern_front_mpi_begin(call);
    if (!joined) {
        tern_front_check(tern_init(), call, "joining the job");
        if (atexit(leave) != 0)
            tern_front_die(call, "there is no memory to register a function with atexit");
        joined = true;
    }
    tern_front_mpi_joined(call);
    return true;
}

bool tern_front_stop(const char *call)
{
    if (users == 0)
        tern_front_die(call, "the library is not initialized, or has been finalized");
    if (--users > 0)
        return false;
    tern_front_mpi_end(call);
    return true;
}

void tern_front_die(const char *call, const char *format, ...)
{
    char    text[1024];
    int     length = snprintf(text, sizeof text, "%s: ", call);
    va_list args;

    va_start(args, format);
    if (length > 0 && (size_t)length < sizeof text)
        (void)vsnprintf(text + length, sizeof text - (size_t)length, format, args);
    va_end(args);
    (void)fflush(stdout); /* tern_abort does not flush the output that precedes the error */
    tern_abort(1, text);
}

void tern_front_die_of(tern_status status, const char *call, const char *what)
{
    const char *detail = tern_error_detail();

    tern_front_die(call, "%s failed: %s%s%s", what, tern_strerror(status), detail[0] != '\0' ? ": " : "", detail);
}

void *tern_front_alloc(const char *call, size_t count, size_t size)
{
    void *memory = calloc(count != 0 ? count : 1, size);

    if (memory == NULL)
        tern_front_die(call, "there is not enough memory for %zu times %zu bytes", count, size);
    return memory;
}
