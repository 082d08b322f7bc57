/* parent.c: a rank is killed when the process that started it dies.
 *
 * ternrun asks the kernel to kill the processes that it starts when ternrun dies (PR_SET_PDEATHSIG). That setting
 * survives exec but not fork: under 'ternrun sh -c "program; other"' the program is a child of the shell and would
 * survive when the shell is killed. So a rank that was not started by ternrun directly sets the same signal for its own
 * parent. ternrun's guard also ends process groups; this file covers intermediate programs that created their own
 * group.
 */
#define _GNU_SOURCE 1
#include "boot/parent.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CHAIN_MAX 32 /* maximum number of programs between ternrun and a rank */

/* The fields of /proc/PID/stat from the state (3) to the number of threads (20), of which the parent (4) and the number
 * of threads are read. */
#define STAT_FORMAT " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld"

/* Read the parent and the number of threads of a process. The process name in the file may contain any character, so
 * parsing starts after the last parenthesis. Returns false if the process cannot be read. */
static bool read_stat(pid_t pid, pid_t *parent, long *threads)
{
    char        path[32], text[1024];
    const char *rest;
    size_t      len;
    int         above;
    FILE       *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    rest = strrchr(text, ')');
    if (rest == NULL || sscanf(rest + 1, STAT_FORMAT, &above, threads) != 2)
        return false;
    *parent = above;
    return true;
}

/* Return whether the launcher is an ancestor of pid. */
static bool descends(pid_t pid, pid_t launcher)
{
    long threads;

    for (int i = 0; i < CHAIN_MAX && pid > 1; i++)
        if (!read_stat(pid, &pid, &threads))
            return false;
        else if (pid == launcher)
            return true;
    return false;
}

tern_status tern_boot_parent_bind(pid_t launcher)
{
    pid_t parent = getppid(), above;
    long  threads;
    int   tied = 0;

    if (parent <= 1 || (prctl(PR_GET_PDEATHSIG, &tied) == 0 && tied != 0))
        return TERN_OK;
    if (!read_stat(parent, &above, &threads) || threads != 1 || !(parent == launcher || descends(parent, launcher)))
        return TERN_OK;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        return TERN_OK;
    /* The parent died before the prctl call, so the kernel will not send the signal. */
    prctl(PR_SET_PDEATHSIG, 0);
    return tern_base_fail(TERN_ERR_BOOT, "the process that started this rank (pid %d) ended while the rank joined",
                          (int)parent);
}
