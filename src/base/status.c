/* status.c: the detail of the last error of each thread.
 *
 * Each thread has one fixed buffer, so that reporting an error never allocates memory and never fails. The callers
 * decide which details to record; the texts of the status codes themselves belong to api/.
 */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DETAIL_BYTES 512

static _Thread_local char detail[DETAIL_BYTES];

tern_status tern_base_fail(tern_status status, const char *format, ...)
{
    int     kept = errno;
    char    text[DETAIL_BYTES]; /* not detail itself: the arguments may refer to the detail of an earlier error */
    va_list args;

    va_start(args, format);
    if (vsnprintf(text, sizeof(text), format, args) < 0)
        text[0] = '\0';
    va_end(args);
    memcpy(detail, text, strlen(text) + 1);
    errno = kept;
    return status;
}

const char *tern_base_detail(void)
{
    return detail;
}
