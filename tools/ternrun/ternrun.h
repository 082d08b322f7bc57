/* ternrun.h: declarations shared by the parts of ternrun.
 *
 *     main.c     the command line           input.c     standard input of rank 0
 *     job.c      the event loop of a job    output.c    output lines of the ranks
 *     process.c  signals and limits         ends.c      how a rank ended, and what that means for the job
 *
 * The ranks run on this host (crew.c), or on several hosts (hub.c), each of which runs its ranks with a ternrun --node:
 *
 *     crew.c     ranks on this host         hosts.c     the text of --hosts
 *     bind.c     which cpus for which rank  hub.c       the hosts as one crew
 *     launch.c   starting one rank          agent.c     starting ternrun on a host
 *     guard.c    ends the ranks if ternrun  hear.c      frames received from the hosts
 *                is killed                  order.c     the start order, encoded as bytes
 *     leftover.c processes that ranks leave node.c      ternrun --node: from its start to the job
 *                behind                     up.c        frames between a node and the head
 *
 * ternrun is a single process with a single thread. Times are those of tern_base_now().
 */
#ifndef TERNRUN_H
#define TERNRUN_H

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "boot/boot.h"

#define NEVER INT64_MAX
#define NS_PER_MS 1000000ll
#define NS_PER_SECOND 1000000000ll

/* Exit statuses that ternrun itself sets; see ternrun(1). */
enum { EXIT_TROUBLE = 1, EXIT_USAGE = 2, EXIT_TIMEOUT = 124, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

enum run_binding { BIND_AUTO, BIND_CORE, BIND_NONE, BIND_LIST };

struct run_host;

/* The options of the command line; on a node, the options that the head sent. */
struct run_config {
    int              ranks;     /* ranks that this ternrun is responsible for */
    const char      *host_list; /* --hosts as given; NULL: the ranks run on this host */
    struct run_host *host;      /* [hosts] the decoded host_list */
    int              hosts;
    const char      *agent; /* command that starts a program on a host */
    enum run_binding binding;
    const char      *cpu_list; /* for BIND_LIST: the list as given */
    bool             label, verbose;
    double           timeout, grace; /* seconds; timeout 0: no timeout */
    int              on_failure;     /* value of the option TERN_ON_FAILURE */
    const char     **extra;          /* [extras] the arguments of -x, which are already in the environment */
    int              extras;
    char            *outer_boot;  /* TERN_BOOT of an enclosing job; NULL: none */
    char           **program;     /* the program and its arguments, terminated by NULL */
    char           **environment; /* of the ranks, terminated by NULL; NULL: that of ternrun */
};

/* ---- process.c ---- */

struct run_process {
    int              signals; /* signalfd of the signals that the loop handles */
    sigset_t         old_mask;
    struct sigaction old_pipe;
    struct rlimit    old_files;
};

/* Receive signals through a signalfd, and make sure that the given number of files can be open. Returns false after
 * printing a message. */
bool run_process_start(struct run_process *process, size_t files);
/* In a child: restore the signal settings and limits that ternrun was started with. */
void run_process_restore(const struct run_process *process);

/* ---- bind.c ---- */

struct run_plan; /* assigns cpus to ranks */

/* Examine the machine and decide how to bind the ranks. Returns NULL after printing a message if the cpu list cannot be
 * used; *status is then the exit status. */
struct run_plan *run_bind_plan(const struct run_config *config, int *status);
int              run_bind_cpus(const struct run_plan *plan);    /* number of cpus that the job may use */
const char      *run_bind_summary(const struct run_plan *plan); /* the machine and the binding, in one line */
void run_bind_text(const struct run_plan *plan, int rank, char *text, size_t size); /* describes the rank's cpus */
int  run_bind_apply(const struct run_plan *plan, int rank); /* in the rank's process; returns 0 or errno */
void run_bind_free(struct run_plan *plan);

/* ---- chaos.c ---- */

/* Check the option TERN_CHAOS, and add a seed if it has none. Returns false after printing a message. */
bool run_chaos_prepare(const struct run_config *config);

/* ---- output.c ---- */

#define LINE_BYTES 65536 /* a longer line may be forwarded in parts */

struct run_stream;

/* A destination of output. */
struct run_sink {
    int                fd;
    size_t             piece; /* maximum number of bytes of one write that does not block */
    bool               is_tty, is_socket, is_broken;
    int                error; /* errno of the failed write */
    char              *data;  /* [from, from + len) has not been written yet */
    size_t             from, len;
    struct run_stream *open; /* the stream whose unfinished line was written last; NULL: the last byte was a newline */
};

struct run_up;

/* A source of output: one end of a rank's pipe or pseudo-terminal, or a remote host. */
struct run_stream {
    int              fd;     /* -1: at end of file, or remote */
    bool             is_far; /* comes from a remote host that has not reported the end of the stream */
    int              rank;
    int              which; /* 1: standard output, 2: standard error */
    struct run_sink *sink;
    char            *data; /* [0, len) was read and not yet given to the sink */
    size_t           len;
    int64_t          first, last; /* arrival times of the first and the last of these bytes */
    size_t           credit; /* node: bytes it may send to the head; head: bytes received without credit returned */
};

struct run_output {
    bool               label;
    struct run_up     *up;        /* destination of all output on a node; NULL: the sinks */
    struct run_sink    sink[2];   /* standard output, standard error; the second may be unused */
    struct run_sink   *out, *err; /* identical if both refer to the same file */
    struct run_stream *stream;    /* [streams] */
    int                streams, turn;
};

/* Set up the streams of ranks and the sinks. up: on a node, the connection to the head, which gets all output; NULL
 * otherwise. Returns false and sets errno on failure. */
bool    run_output_start(struct run_output *output, int ranks, bool label, struct run_up *up);
/* Add a stream of a rank. which: 1 or 2. fd is -1 if the stream comes from a remote host. */
void    run_output_add(struct run_output *output, int rank, int which, int fd);
/* Add output received from a host to a stream; len 0 means the end of the stream. Returns false if the data is
 * invalid. */
bool    run_output_feed(struct run_output *output, int64_t rank, int which, const void *data, size_t len);
/* Add credit that the head has returned for a stream. Returns false if the credit is invalid. */
bool    run_output_credit(struct run_output *output, int64_t rank, int which, size_t bytes);
/* Return the number of bytes of a remote stream that were consumed since the last call, for which credit is due. */
size_t  run_output_taken(struct run_stream *stream);
size_t  run_output_poll(struct run_output *output, struct pollfd *fds);
void    run_output_serve(struct run_output *output);
int64_t run_output_deadline(const struct run_output *output);
bool    run_output_at_end(const struct run_output *output); /* whether no stream is open */
bool    run_output_flushed(const struct run_output *output);
void    run_output_free(struct run_output *output);

/* On a node: send the text of run_say to the head. */
void run_output_say_to(struct run_up *up);

/* Print a message of ternrun on standard error, preceded by "ternrun: ". A message never splits a rank's line. */
void run_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- input.c ---- */

#define INPUT_BYTES 65536

/* Input in flight to rank 0. It comes from standard input or from the head, and goes to a pipe or to a host. */
struct run_input {
    int     to;       /* the pipe to rank 0; -1: there is nothing to forward, or not any more */
    bool    is_fed;   /* the bytes come from the head */
    bool    is_ended; /* the end of the input was reached */
    int64_t retry_at; /* ternrun is in the background and must not read before this time */
    char    data[INPUT_BYTES];
    size_t  from, len;
    size_t  taken; /* bytes that rank 0 took since credit was last sent to the head */
};

size_t  run_input_poll(struct run_input *input, struct pollfd *fds);
void    run_input_serve(struct run_input *input);
int64_t run_input_deadline(const struct run_input *input);
/* Add input that the head sent; len 0 means the end. Returns false if the head sent more than its credit. */
bool    run_input_feed(struct run_input *input, const void *data, size_t len);

/* Return whether standard input may be read: it is not a terminal, or ternrun is in its foreground. */
bool run_input_may_read(void);

/* ---- the job ---- */

struct run_rank {
    pid_t   pid;      /* also the id of its process group */
    bool    runs;     /* not reaped yet */
    bool    is_group; /* its process group may still have members */
    int64_t start;
};

enum run_phase {
    PHASE_RUN,    /* the ranks run */
    PHASE_LINGER, /* all ranks ended; processes that they left behind may end by themselves */
    PHASE_END,    /* the processes were asked to end */
    PHASE_KILL    /* the processes were killed with SIGKILL */
};

struct run_crew;

struct run_job {
    const struct run_config *config;
    const struct run_crew   *crew; /* runs the ranks */
    struct run_process       process;
    struct run_rank         *rank; /* [ranks] */
    int                      started, running;
    struct pollfd           *fds; /* large enough for all polled descriptors */
    struct run_output        output;
    struct run_input         input;
    enum run_phase           phase;
    int64_t                  phase_until, timeout_at, settle_at, give_up_at;
    int                      status;     /* the job's exit status so far */
    bool                     is_hurried; /* do not wait until the output is written */
    bool                     is_torn;    /* standard output failed, and the failure was handled */
    unsigned                 terminals;  /* bits 1 and 2: that standard file of the ranks is a terminal */
    struct winsize           window;     /* window size of these terminals; zero: unknown */
    /* Ranks on this host. */
    const struct run_plan   *plan;
    struct tern_segment     *segment;
    struct tern_boot_given   given; /* passed to the ranks in TERN_BOOT */
    int                      first; /* rank in the whole job of the first rank here */
    pid_t                    guard;
    int                      guard_pipe; /* write end; closing it wakes the guard */
    /* [ranks] Process groups of the ranks; 0: none. This memory is shared by ternrun, the guard and each rank's process
     * before its exec; no rank maps it. Writers: the rank's process before its exec, ternrun afterwards. */
    _Atomic int32_t         *group;
    char                     host[256];
    struct run_up           *up; /* on a node, the connection to the head; NULL otherwise */
    /* Ranks on other hosts. */
    struct run_hub          *hub;
};

/* The operations of a crew, which runs the ranks. */
struct run_crew {
    size_t (*files)(const struct run_config *config); /* number of files that the crew keeps open */
    bool (*open)(struct run_job *job);                /* set up; returns false after printing a message */
    void (*start)(struct run_job *job);               /* start the ranks, or begin starting them */
    size_t (*poll)(struct run_job *job, struct pollfd *fds);
    void (*serve)(struct run_job *job);              /* called after every poll */
    int64_t (*deadline)(const struct run_job *job);  /* time at which serve is due even without an event */
    bool (*any)(struct run_job *job);                /* whether any process of the job other than its ranks is left */
    void (*signal)(struct run_job *job, int signal); /* send a signal to all processes of the job */
    void (*abandon)(struct run_job *job);            /* report processes that still exist after SIGKILL */
    void (*close)(struct run_job *job);
};

extern const struct run_crew run_crew_here, run_crew_hosts;

/* job.c: run the job and return its exit status. */
int run_job(const struct run_config *config, const struct run_plan *plan, const struct run_crew *crew,
            struct run_up *up);

/* End the job: send the signal now and SIGKILL after the grace period. status becomes the exit status of ternrun. Has
 * no effect if the job is already being ended. */
void run_job_end(struct run_job *job, int signal, int status);
void run_job_kill(struct run_job *job); /* send SIGKILL immediately */

/* Wait for an event, at most ms milliseconds (-1: no limit), and handle it. */
void run_job_step(struct run_job *job, int ms);

/* Write the list of ranks that still run, such as "0, 2-5". */
void run_job_list(const struct run_job *job, char *text, size_t size);

/* ---- ends.c ---- */

/* How a rank ended. */
struct run_verdict {
    bool failed;
    int  status; /* exit status as a shell would report it */
    int  pid;
    char text[128];
};

void run_ends_collect(struct run_job *job); /* handle all child processes that have ended */
/* Report a failure, and end the job or let the other ranks go on, according to on_failure. */
void run_ends_fail(struct run_job *job, int status, const char *text);
/* Record and report that a rank has ended. The segment and the other ranks have already been told. */
void run_ends_note(struct run_job *job, int rank, const struct run_verdict *verdict, const char *host);

/* ---- ranks on this host ---- */

/* launch.c: start one rank. Returns false after printing a message; *status is then ternrun's exit status. */
bool run_launch(struct run_job *job, int rank, int *status);

/* guard.c: start the guard. The segment must be mapped, and no rank may have been started. */
bool run_guard_start(struct run_job *job);
void run_guard_end(struct run_job *job); /* the job is over: tell the guard, and wait until it exits */

/* leftover.c */
void run_leftover_note_own(void);           /* remember children that existed before ternrun's exec */
bool run_leftover_any(struct run_job *job); /* whether any process of the job other than its ranks is left */
void run_leftover_signal(struct run_job *job,
                         int             signal); /* send a signal to all processes of the job, including the ranks */
/* Send a signal (0: none) to the children for which is_ours returns false, except those from before ternrun's exec.
 * Returns whether there are any. */
bool run_leftover_children(bool (*is_ours)(const struct run_job *job, pid_t pid), const struct run_job *job,
                           int signal);

#endif
