/* job.h: the job, and the clock.
 *
 * A job is a set of processes that a launcher starts together. The processes are numbered 0 to tern_size() - 1; the
 * number of a process is its rank. tern_init joins the job and tern_finalize leaves it. All other calls are made
 * between the two, unless their contract allows more: before tern_init and after tern_finalize, each call that returns
 * a status returns TERN_ERR_STATE, even with objects of the job that is over. Calls on empty events return as usual.
 *
 * A process that fork creates while its parent is in a job is no rank. In the child TERN_WORLD is NULL, and each call
 * that returns a status returns TERN_ERR_STATE, inlined puts and gets included. The child must not load from or store
 * to the memory of regions, which it shares with the ranks. Whatever the child does and however it ends, the parent and
 * the job are not disturbed; tern_abort ends only the child. Until the child ends or calls exec, it keeps the memory of
 * the job allocated and the parent's connections open. Tern installs handlers with pthread_atfork for this, and takes
 * over nothing else.
 *
 * In debug builds of the library, each call on a context also returns TERN_ERR_STATE while another thread is in a call
 * on the same context.
 *
 * Every blocking call can be limited in time, in one of two ways:
 *
 *   deadline     Calls that wait for events, requests, signals, counters, messages (tern_probe), mutexes
 *                (tern_mutex_try) or a condition (tern_wait_until) take a deadline, which is a point in time on the
 *                clock of tern_clock. With TERN_NOW they poll once, and return TERN_PENDING if there is nothing to
 *                report
 *   time limit   All other blocking calls (put, get, send, receive, quiet, barrier and so on) obey the time limit of
 *                their context (tern_ctx_set_timeout) or, if they have no context, of the job (option TERN_TIMEOUT). By
 *                default there is no limit
 *
 * A call whose deadline or time limit passes returns TERN_ERR_TIMEOUT.
 *
 * fork: a child process that the program creates with fork() must not call Tern. It has inherited the memory of the job
 * but is not a rank; its calls return TERN_ERR_STATE. The child may call exec.
 */
#ifndef TERN_JOB_H
#define TERN_JOB_H

#include <stdint.h>
#include <tern/status.h>

TERN_BEGIN_DECLS

/* A point in time at which a wait gives up. It counts nanoseconds on the monotonic clock of tern_clock; TERN_NOW and
 * TERN_FOREVER are deadlines, too. */
typedef int64_t tern_deadline;

/* Deadlines that are not points in time. */
#define TERN_FOREVER INT64_MAX      /* a deadline that never passes: wait without limit */
#define TERN_NOW ((tern_deadline)0) /* do not wait: poll once, and return TERN_PENDING if there is nothing */

/* Join the job. The call finds the other ranks, sets up the links to them, and creates TERN_WORLD. The call is
 * collective over the job. A process that was not started by a launcher is a job of one rank.
 * Returns  TERN_OK: this process has joined the job.
 *          TERN_ERR_STATE: the process has called tern_init before. A process can join a job once.
 *          TERN_ERR_BOOT: the information from the launcher is missing, damaged or of another version.
 *          TERN_ERR_ARG: an option has an invalid value.
 *          TERN_ERR_PEER: a rank ended before it joined.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the operating system refused a resource.
 *          TERN_ERR_LINK: the network cannot be used.
 *          TERN_ERR_TIMEOUT: a rank did not join within the time that the option TERN_TIMEOUT sets.
 *          After an error, only tern_strerror, tern_error_detail and tern_abort are of use.
 * Remote   When the call returns, every rank has joined.
 * Threads  One thread may call this function, once in the life of the process. */
TERN_API tern_status tern_init(void);

/* Leave the job. The call completes all operations, waits for the other ranks, and releases all memory. Tern frees the
 * regions and contexts that the program has not freed. Active messages that were sent before are handled before their
 * target leaves. Tagged messages that this rank has sent can be received until their receiver calls tern_finalize. This
 * rank receives no more messages: a send to this rank that waits for its receiver ends with TERN_ERR_PEER. Operations
 * that still wait for a counter do not start. The call is collective over the job.
 * Returns  TERN_OK: this process has left the job.
 *          TERN_ERR_STATE: Tern is not initialized or already finalized, or an active message handler made the call.
 *          TERN_ERR_TIMEOUT: a rank did not call within the time that the option TERN_TIMEOUT sets. This process has
 *            left the job nevertheless.
 * Remote   The call returns when every living rank has called it. A rank that exits without calling tern_finalize has
 *          failed.
 * Threads  One thread may call this function, while no other thread is inside Tern. */
TERN_API tern_status tern_finalize(void);

/* Get the rank of this process in the job.
 * Returns  0 to tern_size() - 1; -1 before tern_init, after tern_finalize and in a child that fork created.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API int tern_rank(void);

/* Get the number of ranks in the job.
 * Returns  The number of ranks; -1 before tern_init, after tern_finalize and in a child that fork created.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API int tern_size(void);

/* Check whether a rank of the job is alive. The answer is what this process knows. Tern learns of a death within a
 * second. After an operation has returned TERN_ERR_PEER because the rank died, this call also returns TERN_ERR_PEER; if
 * the launcher has not yet confirmed the death, the call waits up to three seconds for the confirmation. An operation
 * also returns TERN_ERR_PEER if the connection to the rank is broken; in that case the rank may be alive.
 * Returns  TERN_OK: the rank is alive.
 *          TERN_ERR_PEER: the rank has died.
 *          TERN_ERR_RANGE: the job has no such rank.
 *          TERN_ERR_STATE: Tern is not initialized.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API tern_status tern_peer_check(int rank);

/* End the whole job immediately. The call prints this rank and why (which may be NULL), and exits with the lowest byte
 * of code, or with 1 if that byte is 0. Output streams are not flushed.
 * Returns  The call does not return.
 * Remote   The launcher ends all other ranks of the job.
 * Threads  Any thread may call this function, even before tern_init. */
TERN_API void tern_abort(int code, const char *why) __attribute__((noreturn));

/* Read the monotonic clock on which deadlines are measured.
 * Returns  Nanoseconds since an arbitrary moment, which is the same for all processes of a node.
 * Remote   None.
 * Threads  Any thread may call this function, even before tern_init. */
TERN_API int64_t tern_clock(void);

/* Get the deadline that is the given number of seconds in the future.
 * Returns  The deadline; TERN_NOW if seconds is 0, negative or not a number; TERN_FOREVER for more than 290 years.
 * Remote   None.
 * Threads  Any thread may call this function, even before tern_init. */
TERN_API tern_deadline tern_deadline_in(double seconds);

TERN_END_DECLS

#endif
