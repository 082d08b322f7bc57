/* status.h: what every call returns.
 *
 * Zero is done. Positive values are not errors. Negative values are errors, and the call that returned one changed
 * nothing unless its contract says otherwise.
 */
#ifndef TERN_STATUS_H
#define TERN_STATUS_H

#include <tern/version.h>

TERN_BEGIN_DECLS

/* Every status, its value and its text: X(name, value, text). */
#define TERN_STATUS_LIST(X)                                                                                      \
    X(TERN_OK, 0, "done")                                                                                        \
    X(TERN_AGAIN, 1, "no room just now: nothing was started; make progress and try again")                       \
    X(TERN_PENDING, 2, "not finished yet")                                                                       \
    X(TERN_ERR_ARG, -1, "an argument is not valid")                                                              \
    X(TERN_ERR_RANGE, -2, "a rank, offset or length lies outside what it addresses")                             \
    X(TERN_ERR_NOMEM, -3, "not enough memory")                                                                   \
    X(TERN_ERR_PEER, -4, "the other rank is gone")                                                               \
    X(TERN_ERR_TIMEOUT, -5, "the deadline passed first")                                                         \
    X(TERN_ERR_TRUNCATED, -6, "the data does not fit into the space given for it")                               \
    X(TERN_ERR_STATE, -7, "not allowed now: before tern_init, after tern_finalize, or while the object is busy") \
    X(TERN_ERR_LINK, -8, "the transport failed")                                                                 \
    X(TERN_ERR_BOOT, -9, "the launcher's information is missing, damaged or of another version")                 \
    X(TERN_ERR_SYSTEM, -10, "the operating system refused")                                                      \
    X(TERN_ERR_CANCELLED, -11, "it was cancelled before it began")

#define TERN_STATUS_AS_ENUM(name, value, text) name = value,
typedef enum tern_status { TERN_STATUS_LIST(TERN_STATUS_AS_ENUM) TERN_STATUS_RESERVED = -1000 } tern_status;
#undef TERN_STATUS_AS_ENUM

/* The text of a status.
 * Returns  a static string; for a value that is no tern_status, one that says so.
 * Remote   none.
 * Threads  any, also before tern_init. */
TERN_API const char *tern_strerror(tern_status status);

/* What exactly went wrong in the last call of this thread that returned an error: which object, which values, and what
 * to do about it.
 * Returns  a string that stays valid until the thread's next failing call; "" when none has failed yet.
 * Remote   none.
 * Threads  any, also before tern_init; each thread has its own text. */
TERN_API const char *tern_error_detail(void);

TERN_END_DECLS

#endif
