/* status.h: how a failing call leaves word of what went wrong.
 *
 * A function that detects an error says so once, through tern_base_fail, at the place where it knows most; everyone
 * above passes the status on. The text is kept per thread for tern_error_detail.
 */
#ifndef TERN_BASE_STATUS_H
#define TERN_BASE_STATUS_H

#include <tern/status.h>

/* Record the detail of an error for this thread and return status. Texts are cut at 511 bytes. */
tern_status tern_base_fail(tern_status status, const char *format, ...)
    __attribute__((cold, noinline, format(printf, 2, 3)));

/* The detail recorded last on this thread; "" if none. */
const char *tern_base_detail(void);

#endif
