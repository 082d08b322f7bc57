/* foreground.c: the rank that has the terminal, which is a rank under an interactive debugger.
 *
 * The process group of this rank is the foreground of the terminal, so that the rank can read it, and control-C and
 * control-Z reach the rank and not ternrun. ternrun behaves towards this rank like a shell: when the rank stops,
 * ternrun takes the terminal back, stops the job and itself, and returns the terminal when the job continues.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ternrun.h"

void run_fore_start(struct run_job *job)
{
    job->fore.rank = -1;
    if (!job->config->tool_has_terminal)
        return;
    job->fore.rank = atoi(job->config->tool_ranks);
    job->fore.has_mode = tcgetattr(STDIN_FILENO, &job->fore.mode) == 0;
}

bool run_fore_is(const struct run_job *job, int rank)
{
    return job->fore.rank >= 0 && job->fore.rank == rank;
}

/* Make a process group the foreground, if ternrun's group is. SIGTTOU is blocked, so this does not stop ternrun. */
static bool lend(pid_t group)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp() && tcsetpgrp(STDIN_FILENO, group) == 0;
}

void run_fore_started(struct run_job *job, int rank)
{
    if (run_fore_is(job, rank))
        job->fore.is_lent = tcgetpgrp(STDIN_FILENO) == job->rank[rank].pid;
}

void run_fore_child(const struct run_job *job, int rank, pid_t launcher)
{
    if (run_fore_is(job, rank) && tcgetpgrp(STDIN_FILENO) == getpgid(launcher))
        tcsetpgrp(STDIN_FILENO, getpid());
}

void run_fore_lend(struct run_job *job)
{
    if (job->fore.rank >= 0 && job->fore.rank < job->started && job->rank[job->fore.rank].runs)
        job->fore.is_lent |= lend(job->rank[job->fore.rank].pid);
}

static pid_t parent_of(pid_t pid)
{
    char  path[64];
    int   parent = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%*d (%*[^)]) %*c %d", &parent) != 1)
        parent = 0;
    fclose(file);
    return parent;
}

/* Return whether the foreground is a process group of the rank: its own, that of the program that a debugger runs, or
 * one that has ended. If a shell has taken the terminal meanwhile, ternrun must not take it away from the shell. */
static bool rank_has_terminal(const struct run_job *job)
{
    pid_t group = tcgetpgrp(STDIN_FILENO), rank = job->rank[job->fore.rank].pid;

    return group > 0 && (group == rank || parent_of(group) == rank || (kill(-group, 0) != 0 && errno == ESRCH));
}

void run_fore_take_back(struct run_job *job)
{
    if (!job->fore.is_lent)
        return;
    job->fore.is_lent = false;
    if (!rank_has_terminal(job))
        return;
    tcsetpgrp(STDIN_FILENO, getpgrp());
    if (job->fore.has_mode)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &job->fore.mode);
}

void run_fore_check(struct run_job *job)
{
    siginfo_t info = { 0 };
    int       rank = job->fore.rank;

    if (rank < 0 || rank >= job->started)
        return;
    if (!job->rank[rank].runs)
        run_fore_take_back(job);
    else if (waitid(P_PID, (id_t)job->rank[rank].pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0)
        run_signals_stop(job, true);
}
