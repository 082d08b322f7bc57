/* leftover.c: processes of the job other than the ranks.
 *
 * A rank may be a shell with children, or may leave a process behind. Such processes are found by the rank's process
 * group or, if they left that, as children of ternrun, which is a subreaper and inherits orphans. A group whose last
 * member has ended is forgotten immediately, because the kernel may reuse its number.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "ternrun.h"

#define MOST_OWN 64

static pid_t
           own[MOST_OWN]; /* children from before exec, of a shell that became ternrun; they are not ternrun's to end */
static int owns;

static FILE *open_children(void)
{
    return fopen("/proc/thread-self/children", "re");
}

void run_leftover_note_own(void)
{
    FILE *file = open_children();
    int   pid;

    while (file != NULL && owns < MOST_OWN && fscanf(file, "%d", &pid) == 1)
        own[owns++] = pid;
    if (file != NULL)
        fclose(file);
}

static bool is_rank(const struct run_job *job, pid_t pid)
{
    if (pid == job->guard)
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

bool run_leftover_children(bool (*is_ours)(const struct run_job *job, pid_t pid), const struct run_job *job, int signal)
{
    FILE *file = open_children();
    bool  any = false;
    int   pid;

    while (file != NULL && fscanf(file, "%d", &pid) == 1)
        if (!is_own(pid) && !is_ours(job, pid)) {
            any = true;
            if (signal != 0)
                kill(pid, signal);
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
    for (int r = 0; r < job->started; r++)
        if (group_lives(job, r)) {
            kill(-job->rank[r].pid, signal);
            if (signal != SIGTSTP && signal != SIGKILL)
                kill(-job->rank[r].pid, SIGCONT); /* a stopped process would not handle the signal */
        }
    run_leftover_children(is_rank, job, signal);
}
