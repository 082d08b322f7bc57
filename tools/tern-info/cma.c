/* cma.c: whether a rank may read and write another rank's memory through the kernel (cross-memory attach), and if
 * not, why.
 *
 * Ranks are siblings, children of the launcher, and some kernels permit attaching only to children. Therefore the
 * probe starts two children and lets one access the memory of the other. Both children have ended when the probe
 * returns.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/options.h"
#include "info.h"

#define PROBE_VALUE 0x7465726e2d696e66ull

static volatile uint64_t probe_word;

/* Start a child that waits until its memory is read. */
static pid_t start_target(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        probe_word = PROBE_VALUE;
        for (;;)
            pause();
    }
    return pid;
}

/* Read and write the target's word. Returns 0 or an errno value. */
static int reach(pid_t target)
{
    uint64_t     word = 0;
    struct iovec here = { &word, sizeof(word) }, there = { (void *)(uintptr_t)&probe_word, sizeof(word) };

    for (int tries = 0; tries < 1000; tries++) { /* the target sets its word a moment after its start */
        if (process_vm_readv(target, &here, 1, &there, 1, 0) != (ssize_t)sizeof(word))
            return errno;
        if (word == PROBE_VALUE)
            return process_vm_writev(target, &here, 1, &there, 1, 0) == (ssize_t)sizeof(word) ? 0 : errno;
        poll(NULL, 0, 1);
    }
    return ETIMEDOUT;
}

/* Let one child access the memory of another. Returns 0 or an errno value. */
static int probe(void)
{
    pid_t target = start_target(), reader;
    int   status = 0, error = ECHILD;

    if (target < 0)
        return errno;
    reader = fork();
    if (reader == 0)
        _exit(reach(target) & 0xff);
    if (reader > 0 && waitpid(reader, &status, 0) == reader)
        error = WIFEXITED(status) ? WEXITSTATUS(status) : WIFSIGNALED(status) ? ENOSYS : ECHILD;
    kill(target, SIGKILL);
    waitpid(target, NULL, 0);
    return error;
}

static int status_number(const char *name)
{
    char   line[256];
    size_t n = strlen(name);
    int    value = -1;
    FILE  *f = fopen("/proc/self/status", "re");

    while (f != NULL && value < 0 && fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, name, n) == 0 && line[n] == ':')
            value = atoi(line + n + 1);
    }
    if (f != NULL)
        fclose(f);
    return value;
}

/* Find out which of the usual reasons explains the refusal, and write it to why. */
static void explain(char *why, size_t size, int error)
{
    char scope[16] = "";

    info_read_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
    if (atoi(scope) > 0)
        snprintf(why, size,
                 "the kernel refuses it between ranks (%s): kernel.yama.ptrace_scope is %s; 0 would permit it",
                 strerror(error), scope);
    else if (status_number("Seccomp") == 2)
        snprintf(why, size,
                 "a system call filter (seccomp) refuses it (%s); in a container, permit process_vm_readv and "
                 "process_vm_writev or add the capability SYS_PTRACE",
                 strerror(error));
    else
        snprintf(why, size, "the kernel refuses it: %s", strerror(error));
}

struct info_cma info_cma_probe(void)
{
    struct info_cma cma = { 0 };
    int             error = probe();

    cma.works = error == 0;
    cma.used = cma.works && tern_opt.cma != TERN_CMA_OFF;
    if (!cma.works)
        explain(cma.why, sizeof(cma.why), error);
    else if (cma.used)
        snprintf(cma.why, sizeof(cma.why), "the kernel permits it between processes of this user");
    else
        snprintf(cma.why, sizeof(cma.why), "the kernel permits it, but TERN_CMA=off forbids its use");
    return cma;
}

void info_cma(const struct info_cma *cma)
{
    static const char *const modes[] = { "none", "strict", "filter" };
    int                      mode = status_number("Seccomp");
    char                     scope[16];

    info_section("cma", "Cross-memory attach");
    info_bool("used", "used", cma->used);
    info_bool("permitted", "permitted by the kernel", cma->works);
    info_text("why", "why", "%s", cma->why);
    info_text("option", "TERN_CMA", "%s", tern_opt.cma == TERN_CMA_OFF ? "off" : "auto");
    if (!info_read_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)))
        snprintf(scope, sizeof(scope), "not there");
    info_text("ptrace_scope", "yama ptrace_scope", "%s", scope);
    info_text("seccomp", "system call filter", "%s", mode >= 0 && mode <= 2 ? modes[mode] : "unknown");
    info_text("otherwise", "where it is not used", "registered memory is reached through a bounce buffer of each rank");
    info_section_end();
}
