/* job.h: the processes that were started together, and time as Tern counts it. */
#ifndef TERN_JOB_H
#define TERN_JOB_H

#include <stdint.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* A point in time on the monotonic clock, in nanoseconds: what waits take as their deadline. */
typedef int64_t tern_deadline;

#define TERN_FOREVER INT64_MAX      /* a deadline that never passes */
#define TERN_NOW ((tern_deadline)0) /* a deadline that has passed: look once, do not wait */

/* Join the job: find the other ranks, set up the links to them, make TERN_WORLD. Collective over the job. A process
 * that no launcher started is a job of one rank.
 * Returns  TERN_OK. TERN_ERR_STATE: called before, or finalized already. TERN_ERR_BOOT: the launcher's information
 *          cannot be used. TERN_ERR_ARG: an option has a value that cannot be used. TERN_ERR_PEER: a rank ended before
 *          it joined. TERN_ERR_NOMEM, TERN_ERR_SYSTEM: no memory or a refusal of the operating system.
 *          TERN_ERR_TIMEOUT: the others did not come within TERN_TIMEOUT. After an error no other call but
 *          tern_strerror and tern_error_detail is of use.
 * Remote   returns when every rank has joined.
 * Threads  one, once in the life of the process. */
TERN_API tern_status tern_init(void);

/* Leave the job: complete every operation, wait for the other ranks, release all memory. Regions and contexts that the
 * program did not free are freed. Tagged messages that this rank has sent can be received until their receiver calls
 * tern_finalize; this rank receives no more, and a send that waits for it ends with TERN_ERR_PEER. Collective over the
 * job.
 * Returns  TERN_OK. TERN_ERR_STATE: not initialized, or finalized already. TERN_ERR_TIMEOUT: the others did not come
 *          within TERN_TIMEOUT; this rank has left all the same.
 * Remote   returns when every living rank has called it. A rank that exits without it has failed.
 * Threads  one, when no other thread is inside Tern. */
TERN_API tern_status tern_finalize(void);

/* This process's rank in the job, 0 to tern_size() - 1.
 * Returns  the rank; -1 outside tern_init ... tern_finalize.
 * Remote   none.
 * Threads  any. */
TERN_API int tern_rank(void);

/* The number of ranks in the job.
 * Returns  the number; -1 outside tern_init ... tern_finalize.
 * Remote   none.
 * Threads  any. */
TERN_API int tern_size(void);

/* Whether a rank of the job is alive as far as this process knows. A death is known within a second. Once an operation
 * has returned TERN_ERR_PEER because the rank is gone, this call returns TERN_ERR_PEER too. (An operation also returns
 * TERN_ERR_PEER when the connection to the rank broke; then the rank may be alive.) If the launcher has not told of
 * the rank's end by then, this call waits for it, three seconds at most.
 * Returns  TERN_OK: it is. TERN_ERR_PEER: it is gone. TERN_ERR_RANGE: no such rank. TERN_ERR_STATE: not initialized.
 * Remote   none.
 * Threads  any. */
TERN_API tern_status tern_peer_check(int rank);

/* End the whole job now: print why (may be NULL) with this rank's number, and exit with the lowest byte of the status
 * code, which is made 1 if it is 0. What the program has written to streams and not flushed is lost. The launcher ends
 * the other ranks.
 * Returns  never.
 * Remote   every rank of the job ends.
 * Threads  any, also before tern_init. */
TERN_API void tern_abort(int code, const char *why) __attribute__((noreturn));

/* The monotonic clock that deadlines are measured on.
 * Returns  nanoseconds since an arbitrary moment, the same for all processes of a node.
 * Remote   none.
 * Threads  any, also before tern_init. */
TERN_API int64_t tern_clock(void);

/* The deadline that lies the given number of seconds ahead.
 * Returns  the deadline; TERN_NOW for zero, a negative number or not-a-number; TERN_FOREVER for more than 290 years.
 * Remote   none.
 * Threads  any, also before tern_init. */
TERN_API tern_deadline tern_deadline_in(double seconds);

TERN_END_DECLS

#endif
