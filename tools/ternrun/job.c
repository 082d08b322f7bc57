/* job.c: the life of a job: set up, start the ranks, run one loop over all events, clean up.
 *
 * The loop blocks only in poll(2). A job ends in phases. When all ranks have ended, the processes that they left behind
 * get a moment to end by themselves. After that, or when the job has to end early, all processes are asked to end, and
 * are killed after the grace period. ternrun returns when no process of the job is alive and the output has been
 * written. The crew knows where the ranks are.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "hosts.h"

#define LINGER_NS (200 * NS_PER_MS)     /* time for processes that ranks left behind to end by themselves */
#define TICK_NS (20 * NS_PER_MS)        /* between checks of process groups, whose end nothing announces */
#define SETTLE_NS (500 * NS_PER_MS)     /* time for the remaining output of processes that have ended */
#define GIVE_UP_NS (10 * NS_PER_SECOND) /* a process that survives SIGKILL this long hangs in the kernel */
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
    job->crew->signal(job, signal);
}

void run_job_kill(struct run_job *job)
{
    if (job->phase != PHASE_KILL)
        job->give_up_at = tern_base_now() + GIVE_UP_NS;
    job->phase = PHASE_KILL;
    job->phase_until = tern_base_now() + TICK_NS;
    job->crew->signal(job, SIGKILL);
}

void run_job_end(struct run_job *job, int signal, int status)
{
    if (job->phase == PHASE_END || job->phase == PHASE_KILL)
        return;
    job->status = status;
    ask_to_end(job, signal);
}

void run_job_list(const struct run_job *job, char *text, size_t size)
{
    size_t len = 0;

    for (int r = 0, last; r < job->started && len < size; r = last + 1) {
        last = r;
        if (!job->rank[r].runs)
            continue;
        while (last + 1 < job->started && job->rank[last + 1].runs)
            last++;
        len += (size_t)snprintf(text + len, size - len, last > r ? "%s%d-%d" : "%s%d", len > 0 ? ", " : "",
                                job->first + r, job->first + last);
    }
}

static void handle_job_timeout(struct run_job *job)
{
    char text[256];

    job->timeout_at = NEVER;
    run_job_list(job, text, sizeof(text));
    if (job->started == 0)
        run_say("timeout after %g s, before the ranks were started; ending the job", job->config->timeout);
    else
        run_say("timeout after %g s: %d of %d ranks were still running (%s); ending the job", job->config->timeout,
                job->running, job->config->ranks, text);
    run_job_end(job, SIGTERM, EXIT_TIMEOUT);
}

/* Handle expired timeouts: that of the job and that of the current phase. */
static void handle_timeouts(struct run_job *job)
{
    int64_t now = tern_base_now();

    if ((job->running > 0 || job->started == 0) && job->phase == PHASE_RUN && now >= job->timeout_at)
        handle_job_timeout(job);
    if (job->running == 0 && job->started == job->config->ranks && job->phase == PHASE_RUN) {
        job->phase = PHASE_LINGER;
        job->phase_until = now + LINGER_NS;
    }
    if (now < job->phase_until)
        return;
    if (job->phase == PHASE_LINGER && job->crew->any(job))
        ask_to_end(job, SIGTERM);
    else if (job->phase == PHASE_LINGER)
        job->phase_until = now + TICK_NS; /* output is still in flight */
    else if (job->phase == PHASE_END || job->phase == PHASE_KILL)
        run_job_kill(job);
}

/* ---- events ---- */

/* Handle a failure of standard output: the reader has gone, or a disk is full. */
static void handle_broken_output(struct run_job *job)
{
    const struct run_sink *out = job->output.out;

    if (job->output.record.is_lossy && job->status == 0)
        job->status = EXIT_TROUBLE;
    if (out == NULL || !out->is_broken || job->is_torn)
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
    int64_t now = tern_base_now(), next = job->timeout_at, at[5];

    if (job->running == 0 && job->started > 0)
        next = now + TICK_NS;
    at[0] = job->phase != PHASE_RUN ? job->phase_until : NEVER;
    at[1] = run_output_deadline(&job->output);
    at[2] = run_input_deadline(&job->input);
    at[3] = job->crew->deadline(job);
    at[4] = run_trace_deadline(job);
    for (int i = 0; i < 5; i++)
        next = at[i] < next ? at[i] : next;
    if (next == NEVER)
        return -1;
    if (next <= now)
        return 0;
    return next - now > 3600 * NS_PER_SECOND ? 3600000 : (int)((next - now) / NS_PER_MS) + 1;
}

static bool gave_up(struct run_job *job)
{
    if (job->phase != PHASE_KILL || tern_base_now() < job->give_up_at)
        return false;
    job->crew->abandon(job);
    return true;
}

static bool is_over(struct run_job *job)
{
    if (job->running > 0 || job->crew->any(job))
        return gave_up(job);
    if (job->phase == PHASE_RUN)
        return false;
    if (job->settle_at == 0)
        job->settle_at = tern_base_now() + SETTLE_NS;
    if (job->is_hurried)
        return true;
    if (job->trace.runs)
        return false;
    if (run_output_is_moving(&job->output))
        job->settle_at = tern_base_now() + SETTLE_NS;
    if (!run_output_at_end(&job->output) && tern_base_now() < job->settle_at)
        return false;
    run_output_end(&job->output); /* a stream that a process outside the job keeps open is not waited for */
    return run_output_flushed(&job->output);
}

void run_job_step(struct run_job *job, int ms)
{
    struct pollfd *fds = job->fds;
    size_t         count = 0;

    fds[count++] = (struct pollfd){ .fd = job->process.signals, .events = POLLIN };
    count += run_input_poll(&job->input, fds + count);
    count += run_output_poll(&job->output, fds + count);
    count += job->crew->poll(job, fds + count);
    count += run_trace_poll(job, fds + count);
    poll(fds, count, ms);
    run_signals_serve(job);
    run_input_serve(&job->input);
    run_output_serve(&job->output);
    job->crew->serve(job); /* last: it returns credit for what was consumed above */
    run_trace_serve(job);
    handle_broken_output(job);
    handle_timeouts(job);
}

/* ---- setting up and tearing down ---- */

static bool set_up(struct run_job *job, struct run_up *up)
{
    const struct run_config *config = job->config;
    size_t                   files = job->crew->files(config) + OTHER_FILES;
    bool                     records = config->record != NULL;

    job->up = up;
    if (up != NULL)
        job->process = up->process;
    files += records ? 2 * (size_t)config->ranks : 0;
    if (up != NULL ? !run_process_files(files) : !run_process_start(&job->process, files))
        return false;
    job->rank = calloc((size_t)config->ranks, sizeof(job->rank[0]));
    job->fds = calloc(files, sizeof(job->fds[0]));
    if (job->rank == NULL || job->fds == NULL || !run_output_start(&job->output, config->ranks, config->label, up)) {
        run_say("cannot set up the job: %s", strerror(errno));
        return false;
    }
    if (records && !run_record_start(&job->output.record, config->record, config->ranks))
        return false;
    run_signals_detect_terminals(job);
    run_fore_start(job);
    job->input.is_fed = up != NULL;
    return job->crew->open(job);
}

static void tear_down(struct run_job *job)
{
    run_fore_take_back(job);
    run_trace_end(job);
    job->crew->close(job);
    run_output_free(&job->output);
    if (job->input.to >= 0)
        close(job->input.to);
    if (job->up == NULL)
        close(job->process.signals);
    free(job->rank);
    free(job->fds);
}

int run_job(const struct run_config *config, const struct run_plan *plan, const struct run_crew *crew,
            struct run_up *up)
{
    struct run_job job = { .config = config, .plan = plan, .crew = crew, .timeout_at = NEVER, .phase = PHASE_RUN };
    int64_t        start = tern_base_now();

    job.input.to = -1;
    if (!set_up(&job, up)) {
        run_output_free(&job.output);
        free(job.rank);
        free(job.fds);
        return EXIT_TROUBLE;
    }
    if (config->timeout > 0)
        job.timeout_at = start + ns_of(config->timeout);
    crew->start(&job);
    do
        run_job_step(&job, poll_time(&job));
    while (!is_over(&job));
    run_record_end(&job.output.record);
    handle_broken_output(&job);
    if (config->verbose && up == NULL)
        run_say("the job ended with status %d after %.3f s", job.status,
                (double)(tern_base_now() - start) / NS_PER_SECOND);
    tear_down(&job);
    return job.status;
}
