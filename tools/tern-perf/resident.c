/* resident.c: the memory of a rank of Tern, read from outside: the resident memory and its shared fraction, in a job
 * of two ranks that has initialised Tern and allocated a small region.
 *
 * The job is tern-perf barrier, which every build of Tern has, and the figures come from /proc while the job runs.
 * The build therefore needs no special test. The ranks are those descendants of the launcher that run tern-perf; the
 * largest value of any rank counts.
 */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare.h"

#define JOB_SECONDS 0.2 /* seconds of measuring, during which the memory is read many times */
#define LOOK_MS 5
#define DEEPEST 3 /* maximum number of processes between the launcher and a rank */

struct memory {
    char program[PATH_MAX]; /* the program of the ranks, without symbolic links */
    long resident, shared;  /* KiB; -1: not known yet */
};

/* Raise *kib to the value of a line of /proc/PID/status, if the line has this name. */
static void take_line(const char *line, const char *name, long *kib)
{
    long value;

    if (strncmp(line, name, strlen(name)) == 0 && sscanf(line + strlen(name), "%ld", &value) == 1 && value > *kib)
        *kib = value;
}

/* Return whether a process runs the program. Between fork and exec a rank is still a copy of the launcher. */
static bool is_rank(int pid, const struct memory *most)
{
    char    path[64], program[PATH_MAX];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    n = readlink(path, program, sizeof(program) - 1);
    if (n < 0)
        return false;
    program[n] = '\0';
    return strcmp(program, most->program) == 0;
}

static void look_at_rank(int pid, struct memory *most)
{
    char  path[64], line[128];
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        take_line(line, "VmRSS:", &most->resident);
        take_line(line, "RssShmem:", &most->shared);
    }
    if (f != NULL)
        fclose(f);
}

/* Read the memory of all descendants of a process. */
static void look_below(int pid, int depth, struct memory *most)
{
    char  path[64];
    int   child;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
    f = fopen(path, "re");
    while (f != NULL && fscanf(f, "%d", &child) == 1) {
        if (is_rank(child, most))
            look_at_rank(child, most);
        if (depth < DEEPEST)
            look_below(child, depth + 1, most);
    }
    if (f != NULL)
        fclose(f);
}

/* Read the memory periodically until the launcher has exited. The launcher remains a zombie for perf_child_finish. */
static void look_while_it_runs(const struct perf_child *child, struct memory *most)
{
    siginfo_t ended = { 0 };

    while (waitid(P_PID, (id_t)child->pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0 &&
           measure_now() < child->deadline && !perf_child_stopped()) {
        look_below((int)child->pid, 1, most);
        poll(NULL, 0, LOOK_MS);
    }
}

bool compare_memory_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o)
{
    struct perf_options longer = *o;
    struct compare_job  job;
    struct perf_child   child;
    struct memory       most = { .resident = -1, .shared = -1 };
    bool                ok = false;

    longer.time = o->time > JOB_SECONDS ? o->time : JOB_SECONDS;
    compare_tern_words(&job, runner, test, &longer);
    if (realpath(job.program, most.program) == NULL)
        most.program[0] = '\0';
    if (perf_child_start(&child, (char *const *)(uintptr_t)job.words, runner->env, o->limit)) {
        look_while_it_runs(&child, &most);
        ok = (perf_child_finish(&child) && most.resident > 0) || compare_failed(runner, test, &child);
    }
    if (most.resident > 0) {
        compare_keep(test, runner, 0, "resident", (double)most.resident);
        compare_keep(test, runner, 0, "shared", (double)most.shared);
    }
    perf_child_free(&child);
    return ok;
}
