/* rank_end.c: handles the end of a rank: how it ended, and which processes have to know.
 *
 * The fate is first written into the segment. Only then is the process reaped and the user informed. The other ranks
 * are woken once for all ranks that have ended at the same time. A job prints one line for its first failure; ends
 * caused by ternrun's own signals are not reported.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "hosts.h"

/* How a rank ended after a rank of its node has called tern_exit. Its own status does not matter. */
static struct run_verdict judge_exit(uint32_t ending, const siginfo_t *info)
{
    struct run_verdict verdict = { .ends_job = true, .status = (int)(ending & 0xff), .pid = (int)info->si_pid };

    snprintf(verdict.text, sizeof(verdict.text), "ended because of tern_exit(%d)", verdict.status);
    return verdict;
}

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

/* A rank crashed: report where its core file is, and print a backtrace. Of several crashes, only the first is
 * reported. */
static void note_crash(struct run_job *job, int r, const struct run_verdict *verdict)
{
    if (verdict->core[0] == '\0' || job->has_crashed)
        return;
    job->has_crashed = true;
    run_say("%s", verdict->core);
    if (job->hub != NULL)
        run_hub_trace(job, r);
    else
        run_trace_start(job, r);
}

/* valgrind has found errors in a rank: name its report. */
static void note_valgrind(struct run_job *job, int r, const struct run_verdict *verdict)
{
    if (job->config->valgrind && verdict->status == atoi(RUN_VALGRIND_STATUS))
        run_say("status " RUN_VALGRIND_STATUS " is that of valgrind: see its errors in valgrind.%d.log", r);
}

/* A rank has called tern_exit, or nobody reads the output: end the job without a message. */
static void end_quietly(struct run_job *job, int status)
{
    if (job->phase == PHASE_RUN)
        run_job_end(job, SIGTERM, status);
}

/* Return whether a single rank, which inherited standard output, died because the reader of its output has gone. */
static bool has_lost_reader(const struct run_job *job, const struct run_verdict *verdict)
{
    struct pollfd out = { .fd = STDOUT_FILENO };

    return verdict->status == 128 + SIGPIPE && job->output.streams == 0 && poll(&out, 1, 0) > 0 &&
           (out.revents & POLLERR) != 0;
}

void run_ends_note(struct run_job *job, int r, const struct run_verdict *verdict, const char *host)
{
    struct run_rank *rank = &job->rank[r];
    bool             is_told = job->phase == PHASE_RUN;
    char             text[512];

    rank->runs = false;
    job->running--;
    if (job->up != NULL)
        return; /* the head reports the end and handles it */
    if (job->config->verbose)
        run_say("rank %d %s after %.3f s", r, verdict->text, (double)(tern_base_now() - rank->start) / NS_PER_SECOND);
    if (verdict->ends_job || has_lost_reader(job, verdict))
        end_quietly(job, verdict->status);
    if (!verdict->failed)
        return;
    snprintf(text, sizeof(text), "rank %d (pid %d, host %.200s) %s", r, verdict->pid, host, verdict->text);
    run_ends_fail(job, verdict->status, text);
    if (!is_told)
        return;
    note_crash(job, r, verdict);
    note_valgrind(job, r, verdict);
}

static void rank_ended(struct run_job *job, int r, const siginfo_t *info)
{
    int                number = job->first + r;
    /* relaxed: the word announces no other data, and the rank has ended. */
    uint32_t           ending = atomic_load_explicit(&job->segment->ending, memory_order_relaxed);
    struct run_verdict verdict = ending != 0 ? judge_exit(ending, info) : judge(&job->segment->slot[number], info);

    if (verdict.failed)
        run_core_describe(job, r, info, &verdict);
    if (job->up != NULL)
        run_up_fate(job, number, &verdict);
    else
        tern_boot_relay_fate(job->segment, (uint32_t)number, verdict.failed);
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

/* Handle the children that have ended. Returns whether a rank was among them. */
static bool collect(struct run_job *job)
{
    bool any = false;

    for (;;) {
        siginfo_t info = { 0 };
        int       r;

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
            return any;
        r = find_rank(job, info.si_pid);
        if (r < 0 && job->starters != NULL)
            return any; /* it may be a rank that run_starters has not noticed yet */
        if (r >= 0) {
            rank_ended(job, r, &info);
            any = true;
            continue;
        }
        if (run_branch_owns(job->up, info.si_pid)) {
            run_branch_reap(job->up);
            continue;
        }
        if (info.si_pid == job->guard)
            job->guard = -1; /* the guard was killed; the job goes on without it */
        waitid(P_PID, (id_t)info.si_pid, &(siginfo_t){ 0 }, WEXITED); /* an orphan that was reparented to ternrun */
    }
}

void run_ends_collect(struct run_job *job)
{
    if (collect(job) && job->up == NULL)
        tern_boot_relay_wake(job->segment, (uint32_t)job->given.ranks);
}

/* ---- ranks that the terminal stops ---- */

/* The kernel stops a process in the background that uses the terminal. A rank would wait forever, because no rank is in
 * the foreground. Only the first such rank of this host is reported. */
static void note_stop(struct run_job *job, int r, const siginfo_t *info)
{
    const char *what = info->si_status == SIGTTIN ? "read from the terminal"
                                                  : "change the settings of the terminal, or to write to it directly";
    const char *remedy = info->si_status == SIGTTIN ? "let rank 0 read its standard input instead"
                                                    : "let it use its standard files instead, and see 'stty -tostop'";

    if (job->has_stopped || (info->si_status != SIGTTIN && info->si_status != SIGTTOU))
        return;
    job->has_stopped = true;
    run_say("rank %d (pid %d, host %.200s) has stopped, because it tried to %s; all ranks are in the background of the "
            "terminal: end the job, and %s",
            job->first + r, (int)info->si_pid, job->host, what, remedy);
}

void run_ends_stopped(struct run_job *job)
{
    for (;;) {
        siginfo_t info = { 0 };
        int       r;

        if (waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
            return;
        r = find_rank(job, info.si_pid);
        if ((r < 0 && job->starters != NULL) || (r >= 0 && run_fore_is(job, r)) ||
            run_branch_owns(job->up, info.si_pid))
            return; /* run_starters, run_fore_check or run_branch_reap handles it */
        if (r >= 0)
            note_stop(job, r, &info);
        waitid(P_PID, (id_t)info.si_pid, &(siginfo_t){ 0 }, WSTOPPED | WNOHANG);
    }
}
