/* ternrun.h: what the parts of ternrun share.
 *
 *     main.c    the command line           input.c     standard input of rank 0
 *     bind.c    which cpus for which rank  guard.c     the process that ends the ranks when ternrun is killed
 *     launch.c  starting one rank          leftover.c  what ranks leave behind, and how it is ended
 *     output.c  lines of the ranks         ends.c      how a rank ended, and what that means for the job
 *     job.c     the loop that drives all of it
 *
 * ternrun is one process of one thread. Times are those of tern_base_now().
 */
#ifndef TERNRUN_H
#define TERNRUN_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "boot/boot.h"

#define NEVER INT64_MAX
#define NS_PER_MS 1000000ll
#define NS_PER_SECOND 1000000000ll

/* Exit statuses of ternrun's own; see ternrun(1). */
enum { EXIT_TROUBLE = 1, EXIT_USAGE = 2, EXIT_TIMEOUT = 124, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

enum run_binding { BIND_AUTO, BIND_CORE, BIND_NONE, BIND_LIST };

/* What the command line says. */
struct run_config {
    int              ranks;
    enum run_binding binding;
    const char      *cpu_list; /* BIND_LIST: as given */
    bool             label, verbose;
    double           timeout, grace; /* seconds; timeout 0: none */
    int              on_failure;     /* as the option TERN_ON_FAILURE */
    const char     **extra;          /* [extras] the arguments of -x, which are in the environment already */
    int              extras;
    char            *outer_boot; /* TERN_BOOT of a job around this one; NULL: there is none */
    char           **program;    /* with its arguments, closed by NULL */
};

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

/* Where output comes from: one end of a rank's pipe or pseudo-terminal. */
struct run_stream {
    int              fd; /* -1: at its end */
    int              rank;
    struct run_sink *sink;
    char            *data; /* [0, len): read, and not yet given to the sink */
    size_t           len;
    int64_t          first, last; /* when the first and the last of these bytes came */
};

struct run_output {
    bool               label;
    struct run_sink    sink[2];   /* standard output, standard error; the second may be unused */
    struct run_sink   *out, *err; /* the same one when both lead to the same file */
    struct run_stream *stream;    /* [streams] */
    int                streams, turn;
};

bool    run_output_start(struct run_output *output, int ranks, bool label);
void    run_output_add(struct run_output *output, int rank, int which, int fd); /* which: 1 or 2 */
size_t  run_output_poll(struct run_output *output, struct pollfd *fds);
void    run_output_serve(struct run_output *output);
int64_t run_output_deadline(const struct run_output *output);
bool    run_output_at_end(const struct run_output *output); /* no stream is open */
bool    run_output_flushed(const struct run_output *output);
void    run_output_free(struct run_output *output);

/* A line of ternrun's own on standard error: "ternrun: " and the text. Never tears a rank's line. */
void run_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- input.c ---- */

struct run_input {
    int     to;       /* the pipe to rank 0; -1: nothing to forward (any more) */
    int64_t retry_at; /* ternrun is in the background: do not read before this */
    char    data[4096];
    size_t  from, len;
};

size_t  run_input_poll(struct run_input *input, struct pollfd *fds);
void    run_input_serve(struct run_input *input);
int64_t run_input_deadline(const struct run_input *input);

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

struct run_job {
    const struct run_config *config;
    const struct run_plan   *plan;
    struct tern_segment     *segment;
    struct tern_boot_given   given; /* to the ranks */
    struct run_rank         *rank;
    int                      started, running;
    pid_t                    guard;
    int                      guard_pipe, signals; /* descriptors */
    sigset_t                 old_mask;
    struct sigaction         old_pipe;
    struct rlimit            old_files;
    struct pollfd           *fds; /* room for all that is polled */
    struct run_output        output;
    struct run_input         input;
    char                     host[256];
    enum run_phase           phase;
    int64_t                  phase_until, timeout_at, settle_at, give_up_at;
    int                      status;     /* the job's exit status so far */
    bool                     is_hurried; /* do not wait for output to be taken */
    bool                     is_torn;    /* standard output took no more, and that was dealt with */
};

/* launch.c: start one rank. false after a message; *status is then ternrun's exit status. */
bool run_launch(struct run_job *job, int rank, int *status);

/* guard.c: start the guard. The segment must be mapped, no rank started. */
bool run_guard_start(struct run_job *job);

/* leftover.c */
void run_leftover_note_own(void);                          /* remember the children that ternrun was born with */
bool run_leftover_any(struct run_job *job);                /* whether anything but ranks is left of the job */
void run_leftover_signal(struct run_job *job, int signal); /* to all that belongs to the job, ranks included */

/* ends.c: look for ranks that have ended and deal with each. */
void run_ends_collect(struct run_job *job);

/* job.c: run the job and return its exit status. */
int run_job(const struct run_config *config, const struct run_plan *plan);

/* End the job: this signal now, SIGKILL after the grace period; status is what ternrun exits with. Does nothing while
 * the job is being ended already. */
void run_job_end(struct run_job *job, int signal, int status);

#endif
