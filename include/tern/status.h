/* status.h: the status that calls return.
 *
 * Zero (TERN_OK) means success. Negative values are errors; a call that returns an error has changed nothing, unless
 * its contract says otherwise, and tern_error_detail tells more about it. Positive values are not errors, and leave the
 * text of tern_error_detail unchanged. There is one rule for "not now":
 *
 *   TERN_AGAIN         an operation could not start, because resources are exhausted. Only calls with the flag
 *                      TERN_IMMEDIATE return it: nothing has happened; make progress and call again
 *   TERN_PENDING       what a call polls for has not happened yet. Tests, and calls whose deadline is TERN_NOW, return
 *                      it
 *   TERN_ERR_TIMEOUT   a deadline or a time limit passed while the call waited. This is an error. A call whose deadline
 *                      is TERN_NOW does not wait, and never returns it
 */
#ifndef TERN_STATUS_H
#define TERN_STATUS_H

#include <tern/version.h>

TERN_BEGIN_DECLS

/* The statuses: X(name, value, text). */
#define TERN_STATUS_LIST(X)                                                                                     \
    X(TERN_OK, 0, "done")                                                                                       \
    X(TERN_AGAIN, 1, "no room just now: nothing was started; make progress and try again")                      \
    X(TERN_PENDING, 2, "not finished yet")                                                                      \
    X(TERN_ERR_ARG, -1, "an argument is not valid")                                                             \
    X(TERN_ERR_RANGE, -2, "a rank, offset or length lies outside what it addresses")                            \
    X(TERN_ERR_NOMEM, -3, "not enough memory")                                                                  \
    X(TERN_ERR_PEER, -4, "the other rank is gone")                                                              \
    X(TERN_ERR_TIMEOUT, -5, "the deadline passed first")                                                        \
    X(TERN_ERR_TRUNCATED, -6, "the data does not fit into the space given for it")                              \
    X(TERN_ERR_STATE, -7, "not allowed in this state: Tern is not running, or the object is busy or was freed") \
    X(TERN_ERR_LINK, -8, "the transport failed")                                                                \
    X(TERN_ERR_BOOT, -9, "the launcher's information is missing, damaged or of another version")                \
    X(TERN_ERR_SYSTEM, -10, "the operating system refused")                                                     \
    X(TERN_ERR_CANCELLED, -11, "it was cancelled before it began")

/* The status that a call returns. 0 is success, positive values are not errors, and negative values are errors. */
#define TERN_STATUS_AS_ENUM(name, value, text) name = value,
typedef enum tern_status { TERN_STATUS_LIST(TERN_STATUS_AS_ENUM) TERN_STATUS_RESERVED = -1000 } tern_status;
#undef TERN_STATUS_AS_ENUM

/* Get the text of a status.
 * Returns  A static string. For a value that is not a tern_status, the string says so.
 * Remote   None.
 * Threads  Any thread may call this function, even before tern_init. */
TERN_API const char *tern_strerror(tern_status status);

/* Get the details of the last error of this thread. The text says which object and which values were wrong in the last
 * call of this thread that returned an error, and what the program can do about it. Statuses that are not errors
 * (TERN_AGAIN, TERN_PENDING) leave the text unchanged.
 * Returns  A string, which is valid until the next call of this thread that fails; "" if no call has failed.
 * Remote   None.
 * Threads  Any thread may call this function, even before tern_init. Each thread has its own text. */
TERN_API const char *tern_error_detail(void);

TERN_END_DECLS

#endif
