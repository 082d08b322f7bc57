/* status.h: how a failing call records the details of an error.
 *
 * The function that detects an error calls tern_base_fail once, where the most is known about the error. Its callers
 * only pass the status on. The text is stored per thread for tern_error_detail.
 */
#pragma once

#include <tern/status.h>

/* Record the detail of an error for the calling thread and return status. Texts are truncated to 511 bytes. */
tern_status tern_base_fail(tern_status status, const char *format, ...)
    __attribute__((cold, noinline, format(printf, 2, 3)));

/* Return the detail that was recorded last on the calling thread; "" if there is none. */
const char *tern_base_detail(void);
