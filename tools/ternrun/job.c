/* job.c: the life of a job: set up, start the ranks, one loop over everything that can happen, clean up.
 *
 * The loop never blocks but in poll(2). A job ends in phases: when all ranks have ended, what they left behind may end
 * by itself for a moment; then, or when the job has to end early, everything is asked to end, and after the grace
 * period killed. ternrun returns when nothing of the job is alive and its output has been taken.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "ternrun.h"

#define LINGER_NS (200 * NS_PER_MS)     /* for what ranks left behind to end by itself */
#define TICK_NS (20 * NS_PER_MS)        /* between looks at process groups, which tell nobody when they end */
#define SETTLE_NS (500 * NS_PER_MS)     /* for output of processes that are gone */
#define GIVE_UP_NS (10 * NS_PER_SECOND) /* a process that SIGKILL does not end hangs in the kernel */
#define OTHER_FILES 32

static int64_t ns_of(double seconds)
{
    return (int64_t)(seconds * NS_PER_SECOND);
}

/* ---- ending ---- */

static void ask_to_end(struct run_job *job, int signal)
{
    job->phase = PHASE_END;
    job->phase_until = tern_base_now() + ns_of(job->config->grace);
    run_leftover_signal(job, signal);
}

static void kill_now(struct run_job *job)
{
    if (job->phase != PHASE_KILL)
        job->give_up_at = tern_base_now() + GIVE_UP_NS;
    job->phase = PHASE_KILL;
    job->phase_until = tern_base_now() + TICK_NS;
    run_leftover_signal(job, SIGKILL);
}

void run_job_end(struct run_job *job, int signal, int status)
{
    if (job->phase == PHASE_END || job->phase == PHASE_KILL)
        return;
    job->status = status;
    ask_to_end(job, signal);
}

/* The ranks that still run, as "0, 2-5". */
static void list_running(const struct run_job *job, char *text, size_t size)
{
    size_t len = 0;

    for (int r = 0, last; r < job->started && len < size; r = last + 1) {
        last = r;
        if (!job->rank[r].runs)
            continue;
        while (last + 1 < job->started && job->rank[last + 1].runs)
            last++;
        len += (size_t)snprintf(text + len, size - len, last > r ? "%s%d-%d" : "%s%d", len > 0 ? ", " : "", r, last);
    }
}

static void time_is_up(struct run_job *job)
{
    char text[256];

    job->timeout_at = NEVER;
    list_running(job, text, sizeof(text));
    run_say("timeout after %g s: %d of %d ranks were still running (%s); ending the job", job->config->timeout,
            job->running, job->config->ranks, text);
    run_job_end(job, SIGTERM, EXIT_TIMEOUT);
}

/* Do what the clock says. */
static void keep_time(struct run_job *job)
{
    int64_t now = tern_base_now();

    if (job->running > 0 && job->phase == PHASE_RUN && now >= job->timeout_at)
        time_is_up(job);
    if (job->running == 0 && job->started == job->config->ranks && job->phase == PHASE_RUN) {
        job->phase = PHASE_LINGER;
        job->phase_until = now + LINGER_NS;
    }
    if (now < job->phase_until)
        return;
    if (job->phase == PHASE_LINGER && run_leftover_any(job))
        ask_to_end(job, SIGTERM);
    else if (job->phase == PHASE_LINGER)
        job->phase_until = now + TICK_NS; /* output is still on its way */
    else if (job->phase == PHASE_END || job->phase == PHASE_KILL)
        kill_now(job);
}

/* ---- signals ---- */

static void pass_on(struct run_job *job, int signal)
{
    if (job->phase == PHASE_END || job->phase == PHASE_KILL || job->running == 0) {
        job->is_hurried = true; /* asked twice, or only output is left: at once */
        if (job->running == 0)
            run_job_end(job, signal, 128 + signal);
        kill_now(job);
        return;
    }
    run_say("received signal %d (%s): passed on to %d ranks, which have %g s to end", signal, strsignal(signal),
            job->running, job->config->grace);
    run_job_end(job, signal, 128 + signal);
}

static void serve_signals(struct run_job *job)
{
    struct signalfd_siginfo info;

    while (read(job->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        switch (info.ssi_signo) {
        case SIGCHLD: break; /* looked for in any case */
        case SIGTSTP:
            run_leftover_signal(job, SIGTSTP);
            raise(SIGSTOP);
            break;
        case SIGCONT: run_leftover_signal(job, SIGCONT); break;
        default: pass_on(job, (int)info.ssi_signo); break;
        }
    }
}

/* Standard output takes no more: the reader has gone, or a disk is full. */
static void serve_broken(struct run_job *job)
{
    const struct run_sink *out = job->output.out;

    if (!out->is_broken || job->is_torn)
        return;
    job->is_torn = true;
    if (out->error == EPIPE) {
        run_job_end(job, SIGTERM, 128 + SIGPIPE);
        return;
    }
    run_say("cannot write standard output: %s; the rest of it is lost", strerror(out->error));
    if (job->status == 0)
        job->status = EXIT_TROUBLE;
}

/* ---- the loop ---- */

static int poll_time(const struct run_job *job)
{
    int64_t now = tern_base_now(), next = job->timeout_at, at[3];

    if (job->running == 0)
        next = now + TICK_NS;
    at[0] = job->phase != PHASE_RUN ? job->phase_until : NEVER;
    at[1] = run_output_deadline(&job->output);
    at[2] = run_input_deadline(&job->input);
    for (int i = 0; i < 3; i++)
        next = at[i] < next ? at[i] : next;
    if (next == NEVER)
        return -1;
    if (next <= now)
        return 0;
    return next - now > 3600 * NS_PER_SECOND ? 3600000 : (int)((next - now) / NS_PER_MS) + 1;
}

static bool gave_up(struct run_job *job)
{
    char text[256];

    if (job->phase != PHASE_KILL || tern_base_now() < job->give_up_at)
        return false;
    list_running(job, text, sizeof(text));
    run_say("%d ranks (%s) do not end although they were killed: they hang in the kernel", job->running, text);
    return true;
}

static bool is_over(struct run_job *job)
{
    if (job->running > 0 || run_leftover_any(job))
        return gave_up(job);
    if (job->phase == PHASE_RUN)
        return false;
    if (job->settle_at == 0)
        job->settle_at = tern_base_now() + SETTLE_NS;
    if (job->is_hurried)
        return true;
    /* An end that someone outside the job holds open is not waited for. */
    if (!run_output_at_end(&job->output) && tern_base_now() < job->settle_at)
        return false;
    return run_output_flushed(&job->output);
}

/* Wait until something happens, but not longer than ms milliseconds (-1: without limit), and deal with it. */
static void step(struct run_job *job, int ms)
{
    struct pollfd *fds = job->fds;
    size_t         count = 0;

    fds[count++] = (struct pollfd){ .fd = job->signals, .events = POLLIN };
    count += run_input_poll(&job->input, fds + count);
    count += run_output_poll(&job->output, fds + count);
    poll(fds, count, ms);
    serve_signals(job);
    run_ends_collect(job);
    run_input_serve(&job->input);
    run_output_serve(&job->output);
    serve_broken(job);
    keep_time(job);
}

/* Start the ranks. That takes a while when there are many, so look up from it now and then. */
static void start_ranks(struct run_job *job)
{
    int64_t looked = tern_base_now();
    int     status;

    for (int r = 0; r < job->config->ranks && job->phase == PHASE_RUN; r++) {
        if (!run_launch(job, r, &status))
            run_job_end(job, SIGTERM, status);
        if (tern_base_now() - looked > TICK_NS) {
            step(job, 0);
            looked = tern_base_now();
        }
    }
}

/* ---- setting up and clearing away ---- */

/* The signals that the loop serves. One that ternrun was started to ignore (as by nohup) stays ignored. */
static bool set_signals(struct run_job *job)
{
    static const int served[] = { SIGINT, SIGQUIT, SIGHUP, SIGTSTP };
    struct sigaction old, ignore = { .sa_handler = SIG_IGN }, usual = { .sa_handler = SIG_DFL };
    sigset_t         watched, blocked;

    sigemptyset(&watched);
    for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); i++)
        if (sigaction(served[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&watched, served[i]);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGCONT);
    blocked = watched;
    sigaddset(&blocked, SIGTTIN); /* then reading from the background fails instead of stopping us */
    sigaddset(&blocked, SIGTTOU);
    sigaction(SIGCHLD, &usual, NULL); /* ignored, it would take the ranks' statuses away */
    sigaction(SIGPIPE, &ignore, &job->old_pipe);
    sigprocmask(SIG_BLOCK, &blocked, &job->old_mask);
    job->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    return job->signals >= 0;
}

/* Two descriptors for each rank, and some more. The ranks get the old limit back. */
static bool set_file_limit(struct run_job *job)
{
    struct rlimit limit;
    rlim_t        needed = 2 * (rlim_t)job->config->ranks + OTHER_FILES;

    if (getrlimit(RLIMIT_NOFILE, &job->old_files) != 0)
        return false;
    limit = job->old_files;
    limit.rlim_cur = limit.rlim_max;
    if (job->old_files.rlim_cur < needed)
        setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= needed)
        return true;
    run_say("%d ranks need %llu open files and the limit is %llu; raise it with 'ulimit -n'", job->config->ranks,
            (unsigned long long)needed, (unsigned long long)limit.rlim_cur);
    return false;
}

static bool set_up(struct run_job *job)
{
    const struct run_config *config = job->config;

    if (gethostname(job->host, sizeof(job->host) - 1) != 0)
        snprintf(job->host, sizeof(job->host), "unknown");
    if (!set_file_limit(job))
        return false;
    run_leftover_note_own();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    job->rank = calloc((size_t)config->ranks, sizeof(job->rank[0]));
    job->fds = calloc(2 * (size_t)config->ranks + OTHER_FILES, sizeof(job->fds[0]));
    if (job->rank == NULL || job->fds == NULL || !set_signals(job) ||
        !run_output_start(&job->output, config->ranks, config->label)) {
        run_say("cannot set up the job: %s", strerror(errno));
        return false;
    }
    job->given = (struct tern_boot_given){ .ranks = config->ranks, .tell = -1, .launcher = (int)getpid() };
    if (tern_boot_arena_make(config->ranks, run_bind_cpus(job->plan), &job->given.arena, &job->given.huge,
                             &job->segment) != TERN_OK) {
        run_say("%s", tern_base_detail());
        return false;
    }
    job->segment->on_failure = (uint32_t)config->on_failure;
    return run_guard_start(job);
}

static void describe(const struct run_job *job)
{
    const struct run_config *config = job->config;
    char                     boot[128];

    tern_boot_text(boot, sizeof(boot), 0, &job->given);
    run_say("host %s: %s", job->host, run_bind_summary(job->plan));
    run_say("when a rank fails: %s", config->on_failure == TERN_ON_FAILURE_ABORT ? "abort" : "return");
    for (int i = 0; i < config->extras; i++)
        run_say("environment: %s", config->extra[i]);
    run_say("environment of rank 0: TERN_BOOT=%s", boot);
}

static void clear_away(struct run_job *job)
{
    for (int r = 0; r < job->started; r++) /* none is left, unless we gave up: then the guard goes on killing */
        if (!job->rank[r].is_group)
            atomic_store_explicit(&job->segment->slot[r].group, 0, memory_order_relaxed); /* before our end: ordered */
    close(job->guard_pipe);
    if (job->guard > 0)
        waitpid(job->guard, NULL, 0);
    run_output_free(&job->output);
    if (job->input.to >= 0)
        close(job->input.to);
    close(job->signals);
    tern_boot_segment_unmap(job->segment);
    close(job->given.arena);
    if (job->given.huge >= 0)
        close(job->given.huge);
    free(job->rank);
    free(job->fds);
}

int run_job(const struct run_config *config, const struct run_plan *plan)
{
    struct run_job job = { .config = config, .plan = plan, .timeout_at = NEVER, .phase = PHASE_RUN };
    int64_t        start = tern_base_now();

    job.input.to = -1;
    if (!set_up(&job)) {
        run_output_free(&job.output);
        free(job.rank);
        free(job.fds);
        return EXIT_TROUBLE;
    }
    if (config->verbose)
        describe(&job);
    if (config->timeout > 0)
        job.timeout_at = start + ns_of(config->timeout);
    start_ranks(&job);
    do
        step(&job, poll_time(&job));
    while (!is_over(&job));
    if (config->verbose)
        run_say("the job ended with status %d after %.3f s", job.status,
                (double)(tern_base_now() - start) / NS_PER_SECOND);
    clear_away(&job);
    return job.status;
}
