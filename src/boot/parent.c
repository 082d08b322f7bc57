/* parent.c: a rank goes when the one who started it goes.
 *
 * ternrun asks the kernel to kill the processes that it starts when it dies itself. That tie holds through exec but not
 * through fork: under 'ternrun sh -c "program; other"' the program is the shell's child, and would stay when the shell
 * is killed. So a rank that joins through others ties itself to its parent. ternrun's guard ends process groups as
 * well; this covers programs in between that made a group of their own.
 */
#define _GNU_SOURCE 1
#include "boot/parent.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CHAIN_MAX 32 /* programs between ternrun and a rank */

/* The fields of /proc/PID/stat from the state (3) to the number of threads (20), of which the parent (4) and the last
 * are taken. */
#define STAT_FORMAT " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld"

/* The parent and the number of threads of a process. The name in the file may hold anything, so look behind its last
 * parenthesis. */
static bool look_up(pid_t pid, pid_t *parent, long *threads)
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

/* Whether the launcher is above pid. */
static bool descends(pid_t pid, pid_t launcher)
{
    long threads;

    for (int i = 0; i < CHAIN_MAX && pid > 1; i++)
        if (!look_up(pid, &pid, &threads))
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
    if (!look_up(parent, &above, &threads) || threads != 1 || !(parent == launcher || descends(parent, launcher)))
        return TERN_OK;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        return TERN_OK;
    /* It died before the tie was made: the kernel will not tell. */
    prctl(PR_SET_PDEATHSIG, 0);
    return tern_base_fail(TERN_ERR_BOOT, "the process that started this rank (pid %d) ended while the rank joined",
                          (int)parent);
}
