/* ternrun.h: what the parts of ternrun share.
 *
 *     main.c     the command line           input.c     standard input of rank 0
 *     job.c      the loop that drives all   output.c    lines of the ranks
 *     process.c  signals and limits         ends.c      how a rank ended, and what that means for the job
 *
 * The ranks run here (crew.c), or on several hosts (hub.c), where a ternrun --node has them as its own:
 *
 *     crew.c     ranks on this host         hosts.c     the text of --hosts
 *     bind.c     which cpus for which rank  hub.c       the hosts as one crew
 *     launch.c   starting one rank          agent.c     starting ternrun on a host
 *     guard.c    who ends them when ternrun hear.c      what the hosts say
 *                is killed                  order.c     what is to be started, as bytes
 *     leftover.c what ranks leave behind    node.c      ternrun --node: from its start to the job
 *                                           up.c        what a node says to the head, and hears from it
 *
 * ternrun is one process of one thread. Times are those of tern_base_now().
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

/* Exit statuses of ternrun's own; see ternrun(1). */
enum { EXIT_TROUBLE = 1, EXIT_USAGE = 2, EXIT_TIMEOUT = 124, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

enum run_binding { BIND_AUTO, BIND_CORE, BIND_NONE, BIND_LIST };

struct run_host;

/* What the command line says; of a node, what the head says. */
struct run_config {
    int              ranks;     /* that this ternrun answers for */
    const char      *host_list; /* --hosts, as given; NULL: the ranks run here */
    struct run_host *host;      /* [hosts] what it says */
    int              hosts;
    const char      *agent; /* words that start a command on a host */
    enum run_binding binding;
    const char      *cpu_list; /* BIND_LIST: as given */
    bool             label, verbose;
    double           timeout, grace; /* seconds; timeout 0: none */
    int              on_failure;     /* as the option TERN_ON_FAILURE */
    const char     **extra;          /* [extras] the arguments of -x, which are in the environment already */
    int              extras;
    char            *outer_boot;  /* TERN_BOOT of a job around this one; NULL: there is none */
    char           **program;     /* with its arguments, closed by NULL */
    char           **environment; /* of the ranks, closed by NULL; NULL: ours */
};

/* ---- process.c ---- */

struct run_process {
    int              signals; /* descriptor of those that the loop serves */
    sigset_t         old_mask;
    struct sigaction old_pipe;
    struct rlimit    old_files;
};

/* Take signals by descriptor, and see that so many files can be open. False after a message. */
bool run_process_start(struct run_process *process, size_t files);
/* In a child: everything as ternrun found it. */
void run_process_restore(const struct run_process *process);

/* ---- bind.c ---- */

struct run_plan; /* which rank gets which cpus */

/* Look at the machine and decide. NULL after a message: the list cannot be used (*status is the exit status). */
struct run_plan *run_bind_plan(const struct run_config *config, int *status);
int              run_bind_cpus(const struct run_plan *plan);    /* cpus that the job may use */
const char      *run_bind_summary(const struct run_plan *plan); /* the machine and the decision, one line */
void             run_bind_text(const struct run_plan *plan, int rank, char *text, size_t size); /* the rank's cpus */
int              run_bind_apply(const struct run_plan *plan, int rank); /* in the rank's process; 0 or errno */
void             run_bind_free(struct run_plan *plan);

/* ---- chaos.c ---- */

/* Check the option TERN_CHAOS and give it a seed where it has none. false after a message. */
bool run_chaos_prepare(const struct run_config *config);

/* ---- output.c ---- */

#define LINE_BYTES 65536 /* a longer line may be passed on in pieces */

struct run_stream;

/* Where output goes. */
struct run_sink {
    int                fd;
    size_t             piece; /* bytes to write at once without waiting */
    bool               is_tty, is_socket, is_broken;
    int                error; /* why it is broken */
    char              *data;  /* [from, from + len) is still to be written */
    size_t             from, len;
    struct run_stream *open; /* whose line the last byte belongs to, when that was not a newline */
};

struct run_up;

/* Where output comes from: one end of a rank's pipe or pseudo-terminal, or a host. */
struct run_stream {
    int              fd;     /* -1: at its end, or far */
    bool             is_far; /* comes from a host that has not told its end */
    int              rank;
    int              which; /* 1 or 2 */
    struct run_sink *sink;
    char            *data; /* [0, len): read, and not yet given to the sink */
    size_t           len;
    int64_t          first, last; /* when the first and the last of these bytes came */
    size_t           credit; /* at a node: bytes that may be sent to the head; there: bytes that it sent and may not
                                     send again yet */
};

struct run_output {
    bool               label;
    struct run_up     *up;        /* where all goes instead of the sinks; NULL: to the sinks */
    struct run_sink    sink[2];   /* standard output, standard error; the second may be unused */
    struct run_sink   *out, *err; /* the same one when both lead to the same file */
    struct run_stream *stream;    /* [streams] */
    int                streams, turn;
};

/* up: NULL, or where all output goes. */
bool    run_output_start(struct run_output *output, int ranks, bool label, struct run_up *up);
/* which: 1 or 2; fd -1: it comes from a host */
void    run_output_add(struct run_output *output, int rank, int which, int fd);
/* What a host says of a stream; false: it makes no sense. */
bool    run_output_feed(struct run_output *output, int64_t rank, int which, const void *data, size_t len);
/* What the head has taken of a stream; false: it makes no sense. */
bool    run_output_credit(struct run_output *output, int64_t rank, int which, size_t bytes);
/* The bytes of a far stream that were taken since the last call. */
size_t  run_output_taken(struct run_stream *stream);
size_t  run_output_poll(struct run_output *output, struct pollfd *fds);
void    run_output_serve(struct run_output *output);
int64_t run_output_deadline(const struct run_output *output);
bool    run_output_at_end(const struct run_output *output); /* no stream is open */
bool    run_output_flushed(const struct run_output *output);
void    run_output_free(struct run_output *output);

/* Where run_say goes on a node. */
void run_output_say_to(struct run_up *up);

/* A line of ternrun's own on standard error: "ternrun: " and the text. Never tears a rank's line. */
void run_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- input.c ---- */

#define INPUT_BYTES 65536

/* Bytes on their way to rank 0. They come from our standard input or from the head, and go to a pipe or to a host. */
struct run_input {
    int     to;       /* the pipe to rank 0; -1: nothing to forward (any more) */
    bool    is_fed;   /* they come from the head */
    bool    is_ended; /* no more come */
    int64_t retry_at; /* ternrun is in the background: do not read before this */
    char    data[INPUT_BYTES];
    size_t  from, len;
    size_t  taken; /* bytes that rank 0 took since the head was last told */
};

size_t  run_input_poll(struct run_input *input, struct pollfd *fds);
void    run_input_serve(struct run_input *input);
int64_t run_input_deadline(const struct run_input *input);
/* What the head sends; nothing: the end. False: more than it may. */
bool    run_input_feed(struct run_input *input, const void *data, size_t len);

/* Whether standard input may be read: it is no terminal, or we are in its foreground. */
bool run_input_may_read(void);

/* ---- the job ---- */

struct run_rank {
    pid_t   pid;      /* also its process group */
    bool    runs;     /* not yet reaped */
    bool    is_group; /* its process group may have members */
    int64_t start;
};

enum run_phase {
    PHASE_RUN,    /* ranks run */
    PHASE_LINGER, /* all ranks ended; what they left may end by itself */
    PHASE_END,    /* asked to end */
    PHASE_KILL    /* killed */
};

struct run_crew;

struct run_job {
    const struct run_config *config;
    const struct run_crew   *crew; /* who has the ranks */
    struct run_process       process;
    struct run_rank         *rank; /* [ranks] */
    int                      started, running;
    struct pollfd           *fds; /* room for all that is polled */
    struct run_output        output;
    struct run_input         input;
    enum run_phase           phase;
    int64_t                  phase_until, timeout_at, settle_at, give_up_at;
    int                      status;     /* the job's exit status so far */
    bool                     is_hurried; /* do not wait for output to be taken */
    bool                     is_torn;    /* standard output took no more, and that was dealt with */
    unsigned                 terminals;  /* bit 1, 2: that file of the ranks is a terminal */
    struct winsize           window;     /* of these terminals; zero: not known */
    /* Ranks on this host. */
    const struct run_plan   *plan;
    struct tern_segment     *segment;
    struct tern_boot_given   given; /* to the ranks */
    int                      first; /* number in the whole job of our first rank */
    pid_t                    guard;
    int                      guard_pipe; /* descriptor */
    /* [ranks] Their process groups; 0: none. In memory that ternrun, the guard and a rank's process before its exec
     * share, and that no rank maps. Writers: the rank's process before its exec; ternrun after that. */
    _Atomic int32_t         *group;
    char                     host[256];
    struct run_up           *up; /* we are a node and this leads to the head; NULL: we are not */
    /* Ranks on other hosts. */
    struct run_hub          *hub;
};

/* Who has the ranks. */
struct run_crew {
    size_t (*files)(const struct run_config *config); /* that it holds open */
    bool (*open)(struct run_job *job);                /* set up; false after a message */
    void (*start)(struct run_job *job);               /* start the ranks, or begin to */
    size_t (*poll)(struct run_job *job, struct pollfd *fds);
    void (*serve)(struct run_job *job);              /* after every poll */
    int64_t (*deadline)(const struct run_job *job);  /* when to serve even if nothing happens */
    bool (*any)(struct run_job *job);                /* whether anything but ranks is left of the job */
    void (*signal)(struct run_job *job, int signal); /* to all that belongs to the job */
    void (*abandon)(struct run_job *job);            /* killed, and still there: say so */
    void (*close)(struct run_job *job);
};

extern const struct run_crew run_crew_here, run_crew_hosts;

/* job.c: run the job and return its exit status. */
int run_job(const struct run_config *config, const struct run_plan *plan, const struct run_crew *crew,
            struct run_up *up);

/* End the job: this signal now, SIGKILL after the grace period; status is what ternrun exits with. Does nothing while
 * the job is being ended already. */
void run_job_end(struct run_job *job, int signal, int status);
void run_job_kill(struct run_job *job); /* at once */

/* Wait until something happens, but not longer than ms milliseconds (-1: without limit), and deal with it. */
void run_job_step(struct run_job *job, int ms);

/* The ranks that still run, as "0, 2-5". */
void run_job_list(const struct run_job *job, char *text, size_t size);

/* ---- ends.c ---- */

/* How a rank ended. */
struct run_verdict {
    bool failed;
    int  status; /* as a shell would give it */
    int  pid;
    char text[128];
};

void run_ends_collect(struct run_job *job); /* look for processes here that have ended and deal with each */
/* The job has met a failure; say so, and end the job or let the others go on. */
void run_ends_fail(struct run_job *job, int status, const char *text);
/* A rank has ended; the segment and the other ranks know. */
void run_ends_note(struct run_job *job, int rank, const struct run_verdict *verdict, const char *host);

/* ---- ranks on this host ---- */

/* launch.c: start one rank. false after a message; *status is then ternrun's exit status. */
bool run_launch(struct run_job *job, int rank, int *status);

/* guard.c: start the guard. The segment must be mapped, no rank started. */
bool run_guard_start(struct run_job *job);
void run_guard_end(struct run_job *job); /* the job is over: let it go */

/* leftover.c */
void run_leftover_note_own(void);                          /* remember the children that ternrun was born with */
bool run_leftover_any(struct run_job *job);                /* whether anything but ranks is left of the job */
void run_leftover_signal(struct run_job *job, int signal); /* to all that belongs to the job, ranks included */
/* Send a signal (0: none) to the children that are none of ours; returns whether there are any. */
bool run_leftover_children(bool (*is_ours)(const struct run_job *job, pid_t pid), const struct run_job *job,
                           int signal);

#endif
