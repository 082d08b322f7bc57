/* guard.c: the process that ends the job if ternrun is killed.
 *
 * SIGKILL gives ternrun no chance to clean up. The kernel then kills the processes that ternrun itself started, but not
 * their children: under 'ternrun sh -c program' the program would survive. So a small process, the guard, reads from a
 * pipe whose write end only ternrun holds. When the pipe closes, the guard kills every process group that is still in
 * ternrun's table, and every process that has this job's TERN_BOOT in its environment. If ternrun ends normally, it
 * writes to the pipe first and leaves no group in the table, and the guard just exits.
 *
 * The guard uses nothing that a rank can write: the table is in memory that no rank maps, and the guard does not read
 * the segment, which ranks may damage.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ternrun.h"

#define ROUNDS 5 /* a process that is being started during one round is found in the next */

/* Return whether a process has the job's TERN_BOOT in its environment: a variable that starts with TERN_BOOT= and ends
 * with end. */
static bool is_of_job(const char *pid, const char *end)
{
    char    path[300], *text = NULL;
    size_t  size = 0, end_len = strlen(end);
    bool    found = false;
    ssize_t len;
    FILE   *file;

    snprintf(path, sizeof(path), "/proc/%s/environ", pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (!found && (len = getdelim(&text, &size, '\0', file)) > 0) {
        size_t used = strlen(text);

        found = strncmp(text, "TERN_BOOT=", 10) == 0 && used > end_len && strcmp(text + used - end_len, end) == 0;
    }
    free(text);
    fclose(file);
    return found;
}

/* Kill processes that left their process group but kept their environment. The job's mark distinguishes them from
 * processes of a job whose launcher has the same pid in another pid namespace; the launcher's pid distinguishes them
 * from this job's processes of other nodes. */
static void kill_strays(const struct tern_boot_given *given)
{
    DIR           *dir = opendir("/proc");
    struct dirent *entry;
    char           end[64];

    snprintf(end, sizeof(end), ",launcher=%d,job=%lld", given->launcher, (long long)given->mark);
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]) && is_of_job(entry->d_name, end))
            kill((pid_t)atoi(entry->d_name), SIGKILL);
    if (dir != NULL)
        closedir(dir);
}

static bool kill_groups(const _Atomic int32_t *groups, int ranks)
{
    bool any = false;

    for (int r = 0; r < ranks; r++) {
        /* relaxed: ternrun is dead, so its writes are complete; the children wrote theirs before they executed the
         * program. */
        int32_t group = atomic_load_explicit(&groups[r], memory_order_relaxed);

        if (group > 1) { /* kill(-1) would signal every process */
            any = true;
            kill(-group, SIGKILL);
        }
    }
    return any;
}

/* Detach from the terminal and close all other files, so that a process that waits for ternrun to close them does not
 * wait for the guard. Returns the new descriptor of the pipe. */
static int detach(int pipe_end)
{
    setsid();
    prctl(PR_SET_NAME, "ternrun-guard");
    if (pipe_end != 0 && dup2(pipe_end, 0) == 0)
        pipe_end = 0;
    close_range(pipe_end == 0 ? 1 : 0, (unsigned)(pipe_end == 0 ? -1 : pipe_end - 1), 0);
    return pipe_end;
}

__attribute__((noreturn)) static void guard_run(const struct run_job *job, int pipe_end)
{
    char   *outer_boot = job->config->outer_boot;
    bool    in_order = false;
    char    byte;
    ssize_t got;

    if (outer_boot != NULL) /* otherwise the guard of the enclosing job would kill this guard as a stray */
        memset(outer_boot, 'x', strlen(outer_boot));
    pipe_end = detach(pipe_end);
    do {
        got = read(pipe_end, &byte, 1);
        in_order |= got > 0;
    } while (got > 0 || (got < 0 && errno == EINTR));
    /* If ternrun was killed while it was ending the job, it may have cleared the groups already without having ended
     * the strays. */
    for (int i = 0; i < ROUNDS && (kill_groups(job->group, job->config->ranks) || !in_order); i++) {
        kill_strays(&job->given);
        nanosleep(&(struct timespec){ .tv_nsec = 10 * NS_PER_MS }, NULL);
    }
    _exit(0);
}

void run_guard_end(struct run_job *job)
{
    if (write(job->guard_pipe, "", 1) < 0 && errno != EPIPE)
        run_say("cannot tell the guard process that the job is over: %s", strerror(errno));
    close(job->guard_pipe);
    if (job->guard > 0)
        waitpid(job->guard, NULL, 0);
}

bool run_guard_start(struct run_job *job)
{
    int   ends[2];
    void *groups = mmap(NULL, (size_t)job->config->ranks * sizeof(job->group[0]), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (groups == MAP_FAILED) {
        run_say("no memory for the process groups of %d ranks: %s", job->config->ranks, strerror(errno));
        return false;
    }
    job->group = groups;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        run_say("cannot make a pipe: %s", strerror(errno));
        return false;
    }
    job->guard = fork();
    if (job->guard == 0) {
        close(ends[1]);
        guard_run(job, ends[0]);
    }
    close(ends[0]);
    job->guard_pipe = ends[1];
    if (job->guard < 0) {
        close(ends[1]);
        run_say("cannot start the guard process: %s; see 'ulimit -u'", strerror(errno));
        return false;
    }
    return true;
}
