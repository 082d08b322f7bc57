/* crew.c: the crew of a job whose ranks are processes on this host: all ranks, or those of one node of a larger job. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "hosts.h"

#define STEP_NS (20 * NS_PER_MS) /* starting many ranks takes time: handle events at least this often */

#define LEAST_RANKS 32 /* fewer ranks are started without starters */

static size_t here_files(const struct run_config *config)
{
    /* A pipe for each output file of each rank, and the files of ranks that are being started; for each host behind
     * this node, the pipes of its channel, and standard error. */
    return 2 * (size_t)config->ranks + (config->ranks < LEAST_RANKS ? 0 : RUN_STARTER_FILES) +
           3 * (size_t)config->branches;
}

/* Report a failure: to the user, or on a node to the head, which reports it once for all nodes. Returns false. */
static bool report_failure(struct run_job *job, const char *text)
{
    if (job->up != NULL)
        run_up_failed(job->up, EXIT_TROUBLE, text);
    else
        run_say("%s", text);
    return false;
}

static bool arena_open(struct run_job *job)
{
    struct tern_boot_shape shape = { .ranks = job->config->ranks, .nodes = 1, .cores = run_bind_cpus(job->plan) };

    job->given = (struct tern_boot_given){ .ranks = job->config->ranks, .relay_fd = -1, .launcher = (int)getpid() };
    if (job->up != NULL)
        return run_up_arena(job, &shape);
    return tern_boot_arena_shape(&shape, &job->given.arena, &job->given.huge, &job->segment) == TERN_OK;
}

static void describe(const struct run_job *job)
{
    const struct run_config *config = job->config;
    char                     boot[TERN_BOOT_TEXT];

    tern_boot_text(boot, sizeof(boot), job->first, &job->given);
    run_say("host %s: %s", job->host, run_bind_summary(job->plan));
    run_say("when a rank fails: %s", config->on_failure == TERN_ON_FAILURE_ABORT ? "abort" : "return");
    for (char **extra = config->extra; extra != NULL && *extra != NULL; extra++)
        run_say("environment: %s", *extra);
    run_say("environment of rank %d: TERN_BOOT=%s", job->first, boot);
}

/* Return the last value of a variable in a list that ends with NULL, or otherwise if it has none. */
static const char *last_value(char *const *list, const char *name, const char *otherwise)
{
    size_t      len = strlen(name);
    const char *value = otherwise;

    for (; list != NULL && *list != NULL; list++)
        if (strncmp(*list, name, len) == 0 && (*list)[len] == '=')
            value = *list + len + 1;
    return value;
}

static void show_binding(const struct run_job *job)
{
    const struct run_config *config = job->config;
    const char              *name = "OMP_NUM_THREADS";
    const char *common = last_value(config->environment != NULL ? config->environment : environ, name, NULL);
    char        text[640];

    for (int r = 0; r < config->ranks; r++) {
        const char *threads = last_value(run_program_of(config, job->first + r)->variables, name, common);

        run_bind_show(job->plan, r, threads, text, sizeof(text));
        run_say("rank %d: %s", job->first + r, text);
    }
}

static bool here_open(struct run_job *job)
{
    if (gethostname(job->host, sizeof(job->host) - 1) != 0)
        snprintf(job->host, sizeof(job->host), "unknown");
    run_leftover_note_own();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!arena_open(job))
        return report_failure(job, tern_base_detail());
    job->segment->on_failure = (uint32_t)job->config->on_failure;
    job->given.mark = tern_boot_mark(job->segment->job);
    if (!run_guard_start(job))
        return false;
    if (job->config->verbose)
        describe(job);
    if (job->config->show_binding)
        show_binding(job);
    return true;
}

static void here_start(struct run_job *job)
{
    int64_t stepped = tern_base_now();
    int     status;

    int direct = job->config->ranks < LEAST_RANKS || job->fore.rank >= 0 ? job->config->ranks : 1;

    for (int r = 0; r < direct && job->phase == PHASE_RUN; r++) {
        if (!run_launch(job, r, &status))
            run_job_end(job, SIGTERM, status);
        if (tern_base_now() - stepped > STEP_NS) {
            run_job_step(job, 0);
            stepped = tern_base_now();
        }
    }
    if (direct < job->config->ranks && job->phase == PHASE_RUN)
        run_starters(job, direct);
    if (job->up != NULL)
        run_up_serve(job); /* frames behind the start order are already read: poll does not report them */
}

static size_t here_poll(struct run_job *job, struct pollfd *fds)
{
    return job->up != NULL ? run_up_poll(job, fds) : 0;
}

static void here_serve(struct run_job *job)
{
    run_ends_collect(job);
    run_ends_stopped(job);
    run_fore_check(job);
    if (job->up != NULL)
        run_up_serve(job);
}

static int64_t here_deadline(const struct run_job *job)
{
    return run_branch_deadline(job->up);
}

static void here_abandon(struct run_job *job)
{
    char text[256];

    run_job_list(job, text, sizeof(text));
    run_say("%d ranks (%s) do not end although they were killed: they hang in the kernel", job->running, text);
}

static void here_close(struct run_job *job)
{
    for (int r = 0; r < job->started; r++) /* no group is left unless ternrun gave up; then the guard goes on killing */
        if (!job->rank[r].is_group)
            atomic_store_explicit(&job->group[r], 0,
                                  memory_order_relaxed); /* relaxed: the guard reads it after ternrun's end */
    run_guard_end(job);
    close(job->given.arena); /* the segment stays mapped until exit: only the segment itself stores its size */
    if (job->given.huge >= 0)
        close(job->given.huge);
}

const struct run_crew run_crew_here = {
    .files = here_files,
    .open = here_open,
    .start = here_start,
    .poll = here_poll,
    .serve = here_serve,
    .deadline = here_deadline,
    .any = run_leftover_any,
    .signal = run_leftover_signal,
    .abandon = here_abandon,
    .close = here_close,
};
