/* ternrun.h: declarations shared by the parts of ternrun.
 *
 *     main.c        the command line               input.c         standard input of rank 0
 *     cmdline.c     reading options, the help      foreign.c       options of other launchers
 *     job.c         the event loop of a job        output.c        output lines of the ranks
 *     process.c     signal masks and limits        output_files.c  output files of the ranks
 *     signals.c     received signals               rank_end.c      how a rank ended, and what that means for the job
 *     program.c     the programs of a job          core_file.c     the core file of a rank that crashed
 *     wrap.c        commands before the program    backtrace.c     the backtrace of that rank
 *     debug.c       gdb and valgrind               foreground.c    the rank that has the terminal
 *                                                  window.c        windows for debuggers
 *
 * The ranks run on this host (crew.c), or on several hosts (hub.c), each of which runs its ranks with a ternrun --node:
 *
 *     crew.c        ranks on this host             hosts.c         the hosts, and their ranks
 *     bind.c        which cpus for which rank      schedule.c      hosts from Slurm or PBS
 *     launch.c      starting one rank              hub.c           the hosts as one crew
 *     starter.c     starting many ranks            agent.c         starting ternrun on a host
 *     guard.c       ends the ranks if ternrun      order.c         the start order, encoded as bytes
 *                   is killed                      head_receive.c  frames received from the hosts
 *     leftover.c    processes that ranks leave     node.c          ternrun --node: from its start to the job
 *                   behind                         node_frames.c   frames between a node and the head
 *                                                  tree.c          which host calls which
 *                                                  branch.c        a node that calls other hosts
 *
 * cores.c and shares.c belong to bind.c; bind.h describes them. ../hostlist reads lists of hosts.
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
#include <termios.h>

#include "boot/boot.h"

#define NEVER INT64_MAX
#define NS_PER_MS 1000000ll
#define NS_PER_SECOND 1000000000ll

/* Exit statuses that ternrun itself sets; see ternrun(1). */
enum { EXIT_TROUBLE = 1, EXIT_USAGE = 2, EXIT_TIMEOUT = 124, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

enum run_binding { BIND_AUTO, BIND_CORE, BIND_SHARE, BIND_L3, BIND_NUMA, BIND_SOCKET, BIND_NONE, BIND_LIST };

#define MAX_CORES_PER_RANK 65535

struct run_host;

/* A program of the job. */
struct run_program {
    int         ranks;
    const char *directory; /* in which its ranks start, an absolute path; NULL or "": that of the job */
    char      **words;     /* the program and its arguments, terminated by NULL */
    char      **variables; /* NAME=VALUE for its ranks only, terminated by NULL; NULL: none */
};

/* The options of the command line; on a node, the options that the head sent. */
struct run_config {
    int              ranks;     /* ranks that this ternrun is responsible for */
    const char      *host_list; /* --hosts as given; NULL: not given */
    bool             is_local;  /* --local: on this machine, even in a job of a scheduler */
    struct run_host *host;      /* [hosts] where the ranks run; NULL: on this machine */
    int              hosts;
    const char      *agent;    /* command that starts a program on a host */
    int              fanout;   /* number of hosts that one ternrun calls; 0: all of them; -1: not given */
    int              branches; /* on a node: number of hosts that it calls */
    enum run_binding binding;
    const char      *cpu_list;       /* for BIND_LIST: the list as given */
    int              cores_per_rank; /* 0: not given */
    bool             label, verbose, show_binding;
    const char      *record;         /* --output: the directory for the output of the ranks; NULL: none */
    double           timeout, grace; /* seconds; timeout 0: no timeout */
    const char      *policy, *chaos; /* --on-failure and --chaos as given; NULL: not given */
    int              on_failure;     /* value of the option TERN_ON_FAILURE */
    const char      *gdb;            /* the list of ranks of --gdb; NULL: not given */
    bool             valgrind;       /* --valgrind was given */
    const char      *prefix;         /* command in front of the program, as text (wrap.c); NULL: none */
    const char      *tool;           /* command between prefix and program, for the ranks in tool_ranks; NULL: none */
    const char      *tool_ranks;     /* "all" or a list such as "0,2-3" */
    bool             tool_has_terminal; /* the tool runs in the foreground of the terminal, for a single rank */
    char           **extra; /* NAME=VALUE of -x for all ranks, which are already in the environment; ends with NULL */
    char            *outer_boot; /* TERN_BOOT of an enclosing job; NULL: none */
    struct run_program *program; /* [programs] */
    int                 programs;
    char              **environment; /* of the ranks, terminated by NULL; NULL: that of ternrun */
};

/* ---- process.c ---- */

struct run_process {
    int              signals;        /* signalfd of the signals that the loop handles */
    sigset_t         from_processes; /* signals that the loop handles only if a process sent them */
    sigset_t         old_mask;
    struct sigaction old_pipe;
    struct rlimit    old_files;
};

/* Receive signals through a signalfd, and make sure that the given number of files can be open. Returns false after
 * printing a message. */
bool run_process_start(struct run_process *process, size_t files);
/* Make sure that the given number of files can be open. Returns false after printing a message. */
bool run_process_files(size_t files);
/* In a child: restore the signal settings and limits that ternrun was started with. */
void run_process_restore(const struct run_process *process);

/* ---- bind.c ---- */

struct run_plan; /* assigns cpus to ranks */

/* Take the value of --bind. Returns false if it is neither a word that --bind accepts nor a list of numbers. */
bool             run_bind_read(struct run_config *config, const char *text);
/* Examine the machine and decide how to bind the ranks. Returns NULL after printing a message if this machine does not
 * have the cores that the options ask for; *status is then the exit status. */
struct run_plan *run_bind_plan(const struct run_config *config, int *status);
int              run_bind_cpus(const struct run_plan *plan);    /* number of cpus that the job may use */
const char      *run_bind_summary(const struct run_plan *plan); /* the machine and the binding, in one line */
void run_bind_text(const struct run_plan *plan, int rank, char *text, size_t size); /* describes the rank's cpus */
/* Describe the rank's cpus and the reason, for --show-binding. threads: OMP_NUM_THREADS as set by the user, or NULL. */
void run_bind_show(const struct run_plan *plan, int rank, const char *threads, char *text, size_t size);
int  run_bind_threads(const struct run_plan *plan, int rank); /* number of threads for which the rank has cores */
int  run_bind_apply(const struct run_plan *plan, int rank);   /* in the rank's process; returns 0 or errno */
void run_bind_free(struct run_plan *plan);

/* ---- chaos.c ---- */

/* Check the option TERN_CHAOS, and add a seed if it has none. Returns false after printing a message. */
bool run_chaos_prepare(const struct run_config *config);

/* ---- output_files.c ---- */

/* The files of --output. */
struct run_record {
    const char *dir;
    int        *file; /* [files] of rank 0: standard output, standard error; of rank 1; and so on; -1: not any more */
    int         files;
    bool        is_lossy; /* a file could not be written */
};

/* Create the files of all ranks. Returns false after printing a message. */
bool run_record_start(struct run_record *record, const char *dir, int ranks);
/* Write to the file of a rank. which: 1 or 2. */
void run_record_write(struct run_record *record, int rank, int which, const char *data, size_t len);
void run_record_end(struct run_record *record); /* close the files; is_lossy remains */

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
    size_t             from, len, size;
    struct run_stream *open; /* the stream whose unfinished line was written last; NULL: the last byte was a newline */
};

struct run_up;

/* A source of output: one end of a rank's pipe or pseudo-terminal, or a remote host. */
struct run_stream {
    int              fd;        /* -1: at end of file, or remote */
    bool             is_remote; /* comes from a remote host that has not reported the end of the stream */
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
    struct run_record  record;    /* copies in files; without label, the files are the only destination */
    struct run_up     *up;        /* destination of all output on a node; NULL: the sinks */
    struct run_sink    sink[2];   /* standard output, standard error; the second may be unused */
    struct run_sink   *out, *err; /* identical if both refer to the same file */
    struct run_stream *stream;    /* [streams] */
    int                streams, turn;
    bool               has_moved; /* output arrived since the last run_output_is_moving */
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
/* Set the window size of the ranks' pseudo-terminals. */
void    run_output_resize(const struct run_output *output, const struct winsize *window);
int64_t run_output_deadline(const struct run_output *output);
bool    run_output_at_end(const struct run_output *output); /* whether no stream is open */
/* Return whether output arrived since the last call, or may arrive when the reader consumes the pending output. */
bool    run_output_is_moving(struct run_output *output);
void    run_output_end(struct run_output *output); /* end all streams; what was read is still passed on */
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

/* ---- wrap.c ---- */

struct run_job;

/* Return whether a text is a command with correct quotes and escapes; otherwise why is the reason. */
bool   run_wrap_check(const char *text, char *why, size_t size);
/* Return the number of ranks of a job in a list of ranks, or 0 if the list is wrong; why is then the reason. */
int    run_wrap_count(const char *list, int ranks, char *why, size_t size);
bool   run_wrap_has(const char *list, int rank); /* whether a list of ranks contains the rank */
/* Return the words that a rank executes: program itself, or an allocated list that ends with the words of program.
 * Returns NULL if there is no memory. */
char **run_wrap_command(const struct run_job *job, int rank, char **program);
void   run_wrap_free(char **command, char **program);

/* ---- debug.c ---- */

#define RUN_VALGRIND_STATUS "99"           /* exit status of a rank in which valgrind found errors */
#define RUN_VALGRIND_LOG "valgrind.%r.log" /* where the report of a rank goes */

/* Decide from --prefix, --gdb and --valgrind which commands precede the program. Returns false if the options are
 * wrong; why is then the message for the user. */
bool run_debug_choose(struct run_config *config, char *why, size_t size);

/* ---- window.c ---- */

/* Return the text of a command that runs the given command in a window of its own, or NULL if there are no windows. */
const char *run_window_tool(const char *command);
int         run_window(char **argv);    /* ternrun --window */
int         run_pane(const char *name); /* ternrun --pane */

/* ---- the job ---- */

/* The rank that is in the foreground of the terminal. */
struct run_fore {
    int            rank; /* -1: none */
    bool           is_lent, has_mode;
    struct termios mode; /* mode of the terminal before the rank got it */
};

#define RUN_CORE_BYTES 1024

/* The backtrace of the first rank here that crashed. */
struct run_trace {
    int     rank;
    char    core[RUN_CORE_BYTES]; /* path of the core file; "": none */
    bool    runs;                 /* gdb runs */
    pid_t   pid;
    int     fd; /* gdb's output */
    char   *text;
    size_t  len;
    int64_t until;
};

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
    struct run_rank         *rank;             /* [ranks] */
    int                      started, running; /* ranks from started on are not started; running: number of ranks */
    struct pollfd           *fds;              /* large enough for all polled descriptors */
    struct run_output        output;
    struct run_input         input;
    enum run_phase           phase;
    int64_t                  phase_until, timeout_at, settle_at, give_up_at;
    int                      status;     /* the job's exit status so far */
    bool                     is_hurried; /* do not wait until the output is written */
    bool                     is_torn;    /* standard output failed, and the failure was handled */
    bool                     is_stopped; /* the ranks of this host are stopped, and those that start now are to be */
    unsigned                 terminals;  /* bits 1 and 2: that standard file of the ranks is a terminal */
    struct run_fore          fore;
    struct run_trace         trace;
    bool                     has_crashed; /* the crash of a rank was reported */
    bool                     has_stopped; /* a rank that the terminal stopped was reported */
    struct winsize           window;      /* window size of these terminals; zero: unknown */
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
    struct run_starters     *starters; /* NULL: none are active. Otherwise an unknown child may be one, or a rank */
    struct run_up           *up;       /* on a node, the connection to the head; NULL otherwise */
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

/* ---- signals.c ---- */

#define RUN_WINDOW_BYTES 4 /* body of the frame SIGNAL with SIGWINCH: rows and columns, 2 bytes each */

struct tern_frame;

/* Return whether the signal is passed on to the ranks without ending the job (order.c). */
bool run_signals_passes(int signal);
/* Handle all signals that have arrived. */
void run_signals_serve(struct run_job *job);
/* Stop the ranks and ternrun itself. Returns when ternrun was continued. from_terminal: the terminal sent SIGTSTP. */
void run_signals_stop(struct run_job *job, bool from_terminal);
/* On a node: handle a frame SIGNAL of the head. Returns false if the frame is invalid. */
bool run_signals_order(struct run_job *job, const struct tern_frame *frame);
/* Find out which standard files of the ranks are to be terminals, and the size of the window: those of ternrun, or on a
 * node those of the head. */
void run_signals_detect_terminals(struct run_job *job);
/* Set a new size of the window, and tell the ranks. */
void run_signals_resize(struct run_job *job, const struct winsize *window);

/* ---- rank_end.c ---- */

/* How a rank ended. */
struct run_verdict {
    bool failed;
    bool ends_job; /* a rank has called tern_exit: the job ends with the status, and nothing is printed */
    int  status;   /* exit status as a shell would report it */
    int  pid;
    char text[128];
    char core[400]; /* where the core file is, or why there is none; "": the rank did not crash */
};

void run_ends_collect(struct run_job *job); /* handle all child processes that have ended */
void run_ends_stopped(struct run_job *job); /* report a rank that stopped because it used the terminal */
/* Report a failure, and end the job or let the other ranks go on, according to on_failure. */
void run_ends_fail(struct run_job *job, int status, const char *text);
/* Record and report that a rank has ended. The segment and the other ranks have already been told. */
void run_ends_note(struct run_job *job, int rank, const struct run_verdict *verdict, const char *host);

/* ---- foreground.c ---- */

void run_fore_start(struct run_job *job);
bool run_fore_is(const struct run_job *job, int rank); /* whether the rank gets the terminal */
/* In the rank's process: become the foreground of the terminal, if ternrun is. */
void run_fore_child(const struct run_job *job, int rank, pid_t launcher);
void run_fore_started(struct run_job *job, int rank);
void run_fore_lend(struct run_job *job);      /* give the terminal to the rank, if ternrun has it */
void run_fore_take_back(struct run_job *job); /* make ternrun the foreground again */
void run_fore_check(struct run_job *job);     /* take the terminal back if the rank has ended; stop if it has stopped */

/* ---- core_file.c ---- */

/* Describe the core file of rank r of this host, if it crashed, in verdict->core. */
void run_core_describe(struct run_job *job, int r, const siginfo_t *info, struct run_verdict *verdict);
/* Translate the kernel's pattern of core files to one for glob(3). directory: where the process ran. */
void run_core_pattern(const char *kernel, const char *directory, int pid, int signal, char *out, size_t size);

/* ---- backtrace.c ---- */

void   run_trace_note(struct run_job *job, int rank, const char *core); /* remember the first core file */
void   run_trace_start(struct run_job *job, int rank); /* print a backtrace of the rank if it has the noted core file */
size_t run_trace_poll(const struct run_job *job, struct pollfd *fds);
void   run_trace_serve(struct run_job *job);
int64_t run_trace_deadline(const struct run_job *job);
void    run_trace_end(struct run_job *job);

/* ---- program.c ---- */

bool                      run_program_owns(const char *variable); /* whether ternrun sets the variable for each rank */
bool                      run_program_set(const char *variable); /* set NAME=VALUE in the environment of this process */
const struct run_program *run_program_of(const struct run_config *config, int rank); /* rank in the whole job */
/* In the process of rank, counted on this host: set the variables that are not the same for all ranks. Returns 0 or
 * errno. */
int                       run_program_environment(const struct run_job *job, int rank);
/* In the process of a rank: go to the program's directory. Returns 0 or errno. */
int                       run_program_enter(const struct run_program *program);

/* ---- ranks on this host ---- */

/* launch.c: start one rank. Returns false after printing a message; *status is then ternrun's exit status. */
bool run_launch(struct run_job *job, int rank, int *status);

/* The descriptors that the child and ternrun hold of the three standard files of a rank; -1: inherited. */
struct run_files {
    int child[3], mine[3];
};

/* The step at which the start of a rank failed, and errno. */
enum run_step { RUN_STEP_STARTER, RUN_STEP_FORK, RUN_STEP_BIND, RUN_STEP_FILES, RUN_STEP_DIRECTORY, RUN_STEP_EXEC };
struct run_failure {
    int step, error;
};

/* The parts of run_launch, in this order. Open the standard files of a rank. Returns false and sets errno on
 * failure. */
bool               run_launch_open(const struct run_job *job, int rank, struct run_files *files);
void               run_launch_close(const int fd[3]);
/* In the rank's process: execute the program. Returns only if that failed. */
struct run_failure run_launch_child(const struct run_job *job, int rank, const struct run_files *files, pid_t launcher);
/* Report why a rank could not be started. Returns the exit status for that. */
int                run_launch_explain(const struct run_job *job, int rank, const struct run_failure *failure);
void               run_launch_started(struct run_job *job, int rank, pid_t pid, const struct run_files *files);

#define RUN_STARTER_FILES 64 /* files that run_starters has open for a short time */

/* starter.c: start the ranks from first to the last one in parallel, or until the job is to end. */
void run_starters(struct run_job *job, int first);
/* Stop or continue the starters, as job->is_stopped says, and the ranks that ternrun has not noticed yet. */
void run_starters_pause(struct run_job *job);

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
