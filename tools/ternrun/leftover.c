/* leftover.c: processes of the job other than the ranks.
 *
 * A rank may be a shell with children, or may leave a process behind. Such processes are found by the rank's process
 * group or, if they left that, as children of ternrun, which is a subreaper and inherits orphans. A group whose last
 * member has ended is forgotten immediately, because the kernel may reuse its number.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hosts.h"

#define FIRST_OWN 64

static pid_t *own; /* children from before exec, of a shell that became ternrun; they are not ternrun's to end */
static int    owns;
static bool   is_noted;

static FILE *open_children(void)
{
    return fopen("/proc/thread-self/children", "re");
}

/* Make space for one more child of ternrun's own. The list doubles when it is full. Returns false without memory. */
static bool grow(void)
{
    bool   is_full = owns == 0 || (owns >= FIRST_OWN && (owns & (owns - 1)) == 0);
    pid_t *list = is_full ? realloc(own, (owns == 0 ? FIRST_OWN : 2 * (size_t)owns) * sizeof(*own)) : own;

    if (list == NULL)
        return false;
    own = list;
    return true;
}

void run_leftover_note_own(void)
{
    FILE *file = is_noted ? NULL : open_children();
    int   pid;

    is_noted = true;
    while (file != NULL && fscanf(file, "%d", &pid) == 1 && grow())
        own[owns++] = pid;
    if (file != NULL)
        fclose(file);
}

static bool is_rank(const struct run_job *job, pid_t pid)
{
    if (pid == job->guard || (job->trace.runs && pid == job->trace.pid) || run_branch_owns(job->up, pid) ||
        job->starters != NULL)
        return true;
    for (int r = 0; r < job->started; r++)
        if (job->rank[r].runs && job->rank[r].pid == pid)
            return true;
    return false;
}

static bool is_own(pid_t pid)
{
    for (int i = 0; i < owns; i++)
        if (own[i] == pid)
            return true;
    return false;
}

/* Send a signal to a process, or to a process group if pid is negative. A stopped process is continued, so that it can
 * handle a signal that asks it to end. */
static void send_signal(pid_t pid, int signal)
{
    kill(pid, signal);
    if (signal != SIGKILL && !run_signals_passes(signal))
        kill(pid, SIGCONT);
}

bool run_leftover_children(bool (*is_ours)(const struct run_job *job, pid_t pid), const struct run_job *job, int signal)
{
    FILE *file = open_children();
    bool  any = false;
    int   pid;

    while (file != NULL && fscanf(file, "%d", &pid) == 1)
        if (!is_own(pid) && !is_ours(job, pid)) {
            any = true;
            if (signal != 0)
                send_signal(pid, signal);
        }
    if (file != NULL)
        fclose(file);
    return any;
}

/* Return whether the process group of a rank has members. A group without members is forgotten. */
static bool group_lives(struct run_job *job, int r)
{
    struct run_rank *rank = &job->rank[r];

    if (rank->is_group && !rank->runs && kill(-rank->pid, 0) != 0 && errno == ESRCH) {
        rank->is_group = false;
        /* relaxed: the guard reads it after ternrun's death, which orders it. */
        atomic_store_explicit(&job->group[r], 0, memory_order_relaxed);
    }
    return rank->is_group;
}

bool run_leftover_any(struct run_job *job)
{
    bool any = false;

    for (int r = 0; r < job->started; r++)
        any |= group_lives(job, r) && !job->rank[r].runs;
    return run_leftover_children(is_rank, job, 0) || any;
}

void run_leftover_signal(struct run_job *job, int signal)
{
    bool was_stopped = job->is_stopped;

    if (signal == SIGTSTP || signal == SIGCONT || !run_signals_passes(signal))
        job->is_stopped = signal == SIGTSTP;
    if (job->starters != NULL && job->is_stopped != was_stopped)
        run_starters_pause(job);
    for (int r = 0; r < job->started; r++)
        if (group_lives(job, r))
            send_signal(-job->rank[r].pid, signal);
    if (signal != SIGUSR1 && signal != SIGUSR2 && signal != SIGWINCH) /* these are for the ranks only */
        run_leftover_children(is_rank, job, signal);
}
