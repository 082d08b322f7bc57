/* ends.c: handles the end of a rank: how it ended, and which processes have to know.
 *
 * The fate is first written into the segment and the bells are rung, so that the other ranks know as soon as possible.
 * Only then is the process reaped and the user informed. A job prints one line for its first failure; ends caused by
 * ternrun's own signals are not reported.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/options.h"
#include "hosts.h"

static struct run_verdict judge(const struct tern_slot *slot, const siginfo_t *info)
{
    struct run_verdict verdict = { .failed = true, .pid = (int)info->si_pid };
    /* acquire: makes visible what the rank did before it changed its life. Pairs with the rank's own stores, which its
     * exit has completed. */
    uint32_t           life = atomic_load_explicit(&slot->life, memory_order_acquire);

    if (info->si_code != CLD_EXITED) {
        verdict.status = 128 + info->si_status;
        snprintf(verdict.text, sizeof(verdict.text), "was killed by signal %d (%s)", info->si_status,
                 strsignal(info->si_status));
    } else if (info->si_status == 0 && life != TERN_LIFE_NONE && life != TERN_LIFE_LEFT) {
        verdict.status = EXIT_TROUBLE;
        snprintf(verdict.text, sizeof(verdict.text), "exited without tern_finalize");
    } else {
        verdict.status = info->si_status;
        verdict.failed = info->si_status != 0;
        snprintf(verdict.text, sizeof(verdict.text), "exited with status %d", info->si_status);
    }
    return verdict;
}

static const char *consequence(const struct run_job *job)
{
    return job->config->on_failure == TERN_ON_FAILURE_ABORT ? "ending the job"
           : job->running > 0                               ? "the others go on"
                                                            : "no other rank was left";
}

void run_ends_fail(struct run_job *job, int status, const char *text)
{
    if (job->phase != PHASE_RUN)
        return;
    run_say("%s; %s", text, consequence(job));
    if (job->config->on_failure == TERN_ON_FAILURE_ABORT)
        run_job_end(job, SIGTERM, status);
    else if (job->status == 0)
        job->status = status;
}

void run_ends_note(struct run_job *job, int r, const struct run_verdict *verdict, const char *host)
{
    struct run_rank *rank = &job->rank[r];
    char             text[512];

    rank->runs = false;
    job->running--;
    if (job->up != NULL)
        return; /* the head reports the end and handles it */
    if (job->config->verbose)
        run_say("rank %d %s after %.3f s", r, verdict->text, (double)(tern_base_now() - rank->start) / NS_PER_SECOND);
    if (!verdict->failed)
        return;
    snprintf(text, sizeof(text), "rank %d (pid %d, host %.200s) %s", r, verdict->pid, host, verdict->text);
    run_ends_fail(job, verdict->status, text);
}

static void rank_ended(struct run_job *job, int r, const siginfo_t *info)
{
    int                number = job->first + r;
    struct run_verdict verdict = judge(&job->segment->slot[number], info);

    if (job->up != NULL)
        run_up_fate(job, number, &verdict);
    else
        tern_boot_relay_fate(job->segment, (uint32_t)job->given.ranks, (uint32_t)number, verdict.failed);
    waitid(P_PID, (id_t)info->si_pid, &(siginfo_t){ 0 }, WEXITED);
    run_ends_note(job, r, &verdict, job->host);
}

static int find_rank(const struct run_job *job, pid_t pid)
{
    for (int r = 0; r < job->started; r++)
        if (job->rank[r].runs && job->rank[r].pid == pid)
            return r;
    return -1;
}

void run_ends_collect(struct run_job *job)
{
    for (;;) {
        siginfo_t info = { 0 };
        int       r;

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
            return;
        r = find_rank(job, info.si_pid);
        if (r >= 0) {
            rank_ended(job, r, &info);
            continue;
        }
        if (info.si_pid == job->guard)
            job->guard = -1; /* the guard was killed; the job goes on without it */
        waitid(P_PID, (id_t)info.si_pid, &(siginfo_t){ 0 }, WEXITED); /* an orphan that was reparented to ternrun */
    }
}
