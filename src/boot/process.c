/* process.c: reads /proc/PID/stat, and makes the kernel kill a rank when the process that started it dies.
 *
 * ternrun asks the kernel to kill the processes that it starts when ternrun dies (PR_SET_PDEATHSIG). That setting
 * survives exec but not fork: under 'ternrun sh -c "program; other"' the program is a child of the shell and would
 * survive when the shell is killed. So a rank that was not started by ternrun directly sets the same signal for its own
 * parent. ternrun's guard also ends process groups; this file covers intermediate programs that created their own
 * group.
 */
#include "boot/process.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CHAIN_MAX 32 /* maximum number of programs between ternrun and a rank */

struct stat_fields {
    int                parent; /* process id */
    long               threads;
    unsigned long long started; /* kernel ticks since the machine booted */
};

/* The fields of /proc/PID/stat from the state (3) to the start time (22), of which the parent (4), the number of
 * threads (20) and the start time are read. */
#define STAT_FORMAT " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d %llu"

#define STAT_BYTES 1024

/* Read /proc/PID/stat of a process into text. Returns the fields from the third on, or NULL if the process cannot be
 * read. The second field, the name of the process, may contain any character, so the rest begins after the last
 * parenthesis. */
static const char *read_fields(pid_t pid, char text[STAT_BYTES])
{
    char        path[32];
    const char *rest;
    size_t      len;
    FILE       *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return NULL;
    len = fread(text, 1, STAT_BYTES - 1, file);
    fclose(file);
    text[len] = '\0';
    rest = strrchr(text, ')');
    return rest != NULL ? rest + 1 : NULL;
}

/* Read the fields of a process. Returns false if the process cannot be read. */
static bool read_stat(pid_t pid, struct stat_fields *out)
{
    char        text[STAT_BYTES];
    const char *rest = read_fields(pid, text);

    return rest != NULL && sscanf(rest, STAT_FORMAT, &out->parent, &out->threads, &out->started) == 3;
}

bool tern_boot_process_failed(pid_t pid)
{
    char        text[STAT_BYTES], state;
    const char *rest = read_fields(pid, text), *last;

    /* The last field (52) is the status that the parent will get from waitpid. */
    return rest != NULL && sscanf(rest, " %c", &state) == 1 && state == 'Z' && (last = strrchr(rest, ' ')) != NULL &&
           strcmp(last, " 0\n") != 0;
}

uint64_t tern_boot_process_start_time(pid_t pid)
{
    struct stat_fields stat;

    return read_stat(pid, &stat) ? stat.started : 0;
}

/* Return whether pid is the launcher or one of its descendants. */
static bool descends(pid_t pid, pid_t launcher)
{
    struct stat_fields stat;

    for (int i = 0; i < CHAIN_MAX && pid > 1 && pid != launcher; i++)
        pid = read_stat(pid, &stat) ? stat.parent : 0;
    return pid == launcher;
}

tern_status tern_boot_process_bind_parent(pid_t launcher)
{
    pid_t              parent = getppid();
    struct stat_fields stat;
    int                tied = 0;

    if (parent <= 1 || (prctl(PR_GET_PDEATHSIG, &tied) == 0 && tied != 0))
        return TERN_OK;
    if (!read_stat(parent, &stat) || stat.threads != 1 || !descends(parent, launcher))
        return TERN_OK;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        return TERN_OK;
    /* The parent died before the prctl call, so the kernel will not send the signal. */
    prctl(PR_SET_PDEATHSIG, 0);
    return tern_base_fail(TERN_ERR_BOOT, "the process that started this rank (pid %d) ended while the rank joined",
                          (int)parent);
}
