/* job.h: the job, and the clock.
 *
 * A job is a set of processes that a launcher starts together. The processes are numbered 0 to tern_size() - 1; the
 * number of a process is its rank. tern_init joins the job and tern_finalize leaves it. All other calls are made
 * between the two, unless their contract allows more: before tern_init and after tern_finalize, each call that returns
 * a status returns TERN_ERR_STATE, even with objects of the job that is over. Calls on events whose completion has been
 * reported return as usual. Calls with a context, team, region, counter, atomic domain, set of mutexes, client of
 * active messages or request that was freed also return TERN_ERR_STATE, until Tern uses the memory of the object again,
 * which happens after about 64 other objects of the same kind have been freed. A request that is not persistent is
 * freed when its completion is reported, and the context may use it again for the next message.
 *
 * A process that fork creates while its parent is in a job is no rank. In the child TERN_WORLD is NULL, and each call
 * that returns a status returns TERN_ERR_STATE, inlined puts and gets included. The child must not load from or store
 * to the memory of regions, which it shares with the ranks. The child may call exec. Whatever else the child does and
 * however it ends, the parent and the job are not disturbed, even if other threads of the parent are in calls of Tern
 * during fork; tern_abort ends only the child. Until the child ends or calls exec, it keeps the memory of the job
 * allocated and the parent's connections open. Tern installs handlers with pthread_atfork for this, and takes over
 * nothing else.
 *
 * In debug builds of the library, each call on a context also returns TERN_ERR_STATE while another thread is in a call
 * on the same context. Calls on objects, such as requests, are calls on the context of the object; calls on arrays are
 * calls on the contexts of all entries.
 *
 * Every blocking call can be limited in time, in one of two ways:
 *
 *   deadline     Calls that wait for events, requests, signals, counters, messages (tern_probe), mutexes
 *                (tern_mutex_try), words of memory (tern_word_wait), a condition (tern_wait_until) or anything at all
 *                (tern_progress_wait) take a deadline, which is a point in time on the clock of tern_clock. With
 *                TERN_NOW they poll once, and return TERN_PENDING if there is nothing to report
 *   time limit   All other blocking calls (put, get, send, receive, quiet, barrier and so on) obey the time limit of
 *                their context (tern_ctx_set_timeout) or, if they have no context, of the job (option TERN_TIMEOUT). By
 *                default there is no limit
 *
 * A call whose deadline or time limit passes returns TERN_ERR_TIMEOUT.
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
 *
 * Calls are counted, so that several libraries can use Tern in one process: each calls tern_init when it starts and
 * tern_finalize when it ends. Only the first call joins the job and is collective; a call while the job is running
 * returns at once. After the last tern_finalize, a process cannot join the job again, under any launcher. A library
 * that can be initialized repeatedly calls tern_init once more, and tern_finalize when the process exits (atexit).
 * Returns  TERN_OK: this process has joined the job, now or before.
 *          TERN_ERR_STATE: the process has left the job by its last tern_finalize, or an earlier tern_init has failed,
 *            or the caller is an active message handler, an idle hook or a child that fork created.
 *          TERN_ERR_BOOT: the information from the launcher is missing, damaged or of another version.
 *          TERN_ERR_ARG: an option has an invalid value.
 *          TERN_ERR_PEER: a rank ended before it joined.
 *          TERN_ERR_NOMEM: there is not enough memory.
 *          TERN_ERR_SYSTEM: the operating system refused a resource.
 *          TERN_ERR_LINK: the network cannot be used.
 *          TERN_ERR_TIMEOUT: a rank did not join within the time that the option TERN_TIMEOUT sets.
 *          After an error, only tern_strerror, tern_error_detail and tern_abort are of use.
 * Remote   When the call returns, every rank has joined.
 * Threads  Any thread may call this function. If several threads call it at the same time, one of them joins the job
 *          and the others wait for it. */
TERN_API tern_status tern_init(void);

/* Leave the job. If tern_init was called more often than tern_finalize, the call only counts, and returns at once. The
 * call that matches the first tern_init leaves the job: it completes all operations, waits for the other ranks, and
 * releases all memory. Tern frees the regions and contexts that the program has not freed. Active messages that were
 * sent before are handled before their target leaves. Tagged messages that this rank has sent can be received until
 * their receiver calls tern_finalize. This rank receives no more messages: a send to this rank that waits for its
 * receiver ends with TERN_ERR_PEER. Operations that still wait for a counter do not start. The call that leaves the job
 * is collective over the job.
 * Returns  TERN_OK: this process has left the job, or another part of the program still uses Tern.
 *          TERN_ERR_STATE: Tern is not initialized or already finalized, or the caller is an active message handler or
 *            an idle hook.
 *          TERN_ERR_TIMEOUT: a rank did not call within the time that the option TERN_TIMEOUT sets. This process has
 *            left the job nevertheless.
 * Remote   The call returns when every living rank has called it. A rank that exits without calling tern_finalize has
 *          failed.
 * Threads  Any thread may call this function. While the call leaves the job, no other thread may be inside Tern, except
 *          in tern_init, tern_finalize and tern_exit. */
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

/* Get the number of nodes of the job. A node is a set of ranks that share memory, which usually is a machine. Nodes are
 * numbered from 0 in the order of their first ranks. tern_team_node is the team of the ranks of this node.
 * Returns  The number of nodes; -1 before tern_init, after tern_finalize and in a child that fork created.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API int tern_node_count(void);

/* Get the node of a rank of the job.
 * Returns  0 to tern_node_count() - 1; -1 if the job has no such rank, before tern_init, after tern_finalize and in a
 *          child that fork created.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API int tern_node_of(int rank);

/* Get the index of a rank of the job among the ranks of its node. The ranks of a node are in ascending order.
 * Returns  0 to tern_node_size(tern_node_of(rank)) - 1; -1 if the job has no such rank, before tern_init, after
 *          tern_finalize and in a child that fork created.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API int tern_node_index(int rank);

/* Get the number of ranks of a node.
 * Returns  1 or more; -1 if the job has no such node, before tern_init, after tern_finalize and in a child that fork
 *          created.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API int tern_node_size(int node);

/* Get the rank in the job that has the given index on a node. This is the inverse of tern_node_of and
 * tern_node_index.
 * Returns  0 to tern_size() - 1; -1 if the job has no such node or the node has no such index, before tern_init, after
 *          tern_finalize and in a child that fork created.
 * Remote   None.
 * Threads  Any thread may call this function. */
TERN_API int tern_node_rank(int node, int index);

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

/* Add an idle hook. This is a function of the program that waits call while they have nothing to do, so that another
 * library, such as MPI, makes progress while Tern waits. Every blocking call that lasts longer than some
 * microseconds calls the hooks repeatedly: about every microsecond at first, and later at least once in a millisecond,
 * because a wait does not sleep longer while there are hooks. Calls that do not block, and waits with TERN_NOW, call
 * no hooks.
 *
 * A process can have 16 hooks, for example of several libraries; they are called in the order in which they were added.
 * A pair of function and arg that is added twice is called twice. Hooks belong to the process, not to the job: they may
 * be added before tern_init, and stay until they are removed with tern_on_idle_remove. A hook that calls MPI must be
 * removed before MPI_Finalize.
 *
 * Hooks run on the threads of the program that wait, but never on two threads at the same time: a thread that waits
 * while another one is calling the hooks does not call them. A hook must return soon, because the call that waits
 * continues after it. A hook may make the calls that a handler of an active message may make (see am.h), except
 * replies: a call that would have to wait, and every collective call, returns TERN_ERR_STATE. A hook may also call
 * tern_exit, and add and remove hooks. A hook that another hook adds is called from the next turn on.
 * Returns  TERN_OK: waits call function(arg) from now on.
 *          TERN_ERR_ARG: function is NULL.
 *          TERN_ERR_NOMEM: the process has 16 hooks.
 *          TERN_ERR_STATE: the process is a child that fork created.
 * Remote   None.
 * Threads  Any thread may call this function, even before tern_init. */
TERN_API tern_status tern_on_idle(void (*function)(void *arg), void *arg);

/* Remove an idle hook. tern_on_idle has added it with the same function and arg. If the pair was added twice, one of
 * the two is removed. When the call returns, the hook does not run and will not be called again, unless a hook makes
 * the call. The call waits until a hook that is running on another thread has returned.
 * Returns  TERN_OK: the hook was removed.
 *          TERN_ERR_ARG: there is no such hook.
 *          TERN_ERR_STATE: the process is a child that fork created.
 * Remote   None.
 * Threads  Any thread may call this function, even before tern_init and after tern_finalize. */
TERN_API tern_status tern_on_idle_remove(void (*function)(void *arg), void *arg);

/* End the whole job quietly, with any exit status. The processes of all ranks end, and nothing is printed. The exit
 * status of the job is the lowest byte of code, also if that is 0. If several ranks call this function, it is one of
 * their codes. A rank may call this function while other ranks wait, compute, are in tern_init or tern_finalize, or
 * have died; the option TERN_ON_FAILURE has no effect.
 *
 * The output streams of this process are flushed; if that takes longer than a second, because another thread has locked
 * a stream, the rest is lost. Ranks that wait in Tern flush their output streams too, for which they have a tenth of a
 * second. Other ranks lose what they have not flushed. Functions registered with atexit are called in no rank,
 * destructors of C++ objects and tern_finalize included: processes end as by _exit, or by SIGTERM of the launcher.
 * tern_abort is the call for failures.
 *
 * ternrun, MPICH's mpiexec and Open MPI's mpirun end the job with the status and print nothing. Under srun, every rank
 * ends by itself, and srun prints a line if the status is not 0. See docs/launchers.md, also for calls before tern_init
 * and after tern_finalize.
 * Returns  The call does not return.
 * Remote   All ranks of the job end, usually within a fifth of a second.
 * Threads  Any thread, handler and idle hook may call this function, even before tern_init and after tern_finalize. A
 *          child that fork created ends only itself. */
TERN_API void tern_exit(int code) __attribute__((noreturn));

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
