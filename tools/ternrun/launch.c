/* launch.c: one rank, from fork to exec.
 *
 * The child puts itself into a process group of its own, so that whatever the rank starts can be found and ended, and
 * asks the kernel to be killed when ternrun dies. Why it could not become the program it reports through a pipe that
 * exec closes; so a program that is missing is known before the second rank is started, and said once.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "hosts.h"

/* What the child and ternrun hold of the three standard files; -1: inherited. */
struct wires {
    int child[3], mine[3];
};

/* What the child could not do. */
enum step { STEP_NONE, STEP_BIND, STEP_FILES, STEP_EXEC };

struct complaint {
    int step, error;
};

static void close_if(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void wires_close(const int fd[3])
{
    for (int i = 0; i < 3; i++)
        close_if(fd[i]);
}

/* A pseudo-terminal that passes bytes on unchanged, so that the program sees a terminal and writes line by line. */
static bool wire_terminal(const struct winsize *window, int *mine, int *child)
{
    struct termios mode;

    *mine = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*mine < 0)
        return false;
    if (grantpt(*mine) == 0 && unlockpt(*mine) == 0)
        *child = ioctl(*mine, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*child < 0 || tcgetattr(*child, &mode) != 0) {
        close_if(*child);
        close(*mine);
        *mine = *child = -1;
        return false;
    }
    cfmakeraw(&mode);
    tcsetattr(*child, TCSANOW, &mode);
    if (window->ws_col > 0)
        ioctl(*child, TIOCSWINSZ, window);
    return true;
}

static bool wire_pipe(int *read_end, int *write_end)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    *read_end = ends[0];
    *write_end = ends[1];
    return true;
}

static bool wire_output(const struct run_job *job, int which, struct wires *wires)
{
    if (job->config->ranks == 1 && !job->config->label && job->up == NULL)
        return true; /* nobody to mix with */
    if (!((job->terminals & 1u << which) != 0 &&
          wire_terminal(&job->window, &wires->mine[which], &wires->child[which])) &&
        !wire_pipe(&wires->mine[which], &wires->child[which]))
        return false;
    return fcntl(wires->mine[which], F_SETFL, O_NONBLOCK) == 0;
}

static bool wire_input(const struct run_job *job, int rank, struct wires *wires)
{
    if (job->first + rank > 0) {
        wires->child[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return wires->child[0] >= 0;
    }
    if (job->up == NULL && !isatty(STDIN_FILENO))
        return true;
    return wire_pipe(&wires->child[0], &wires->mine[0]) && fcntl(wires->mine[0], F_SETFL, O_NONBLOCK) == 0;
}

/* ---- in the child ---- */

static int child_files(const struct run_job *job, const struct wires *wires)
{
    for (int i = 0; i < 3; i++)
        if (wires->child[i] >= 0 && dup2(wires->child[i], i) < 0)
            return errno;
    close(job->guard_pipe);
    run_process_restore(&job->process);
    return 0;
}

/* libfabric's layer over TCP fills 70 MB of receive buffers in each process before the first message comes, of 16 KB
 * each. Tern's messages need half of that, and 256 of them in a row are enough. It is set up by its environment
 * only. */
static bool child_network(const struct run_job *job)
{
    const char *links = getenv("TERN_LINKS");

    if ((job->up == NULL || job->up->order.hosts == 1) && (links == NULL || strstr(links, "ofi") == NULL))
        return true;
    return setenv("FI_OFI_RXM_BUFFER_SIZE", "8448", 0) == 0 && setenv("FI_OFI_RXM_MSG_RX_SIZE", "256", 0) == 0;
}

static int child_exec(const struct run_job *job, int rank)
{
    char boot[TERN_BOOT_TEXT];

    tern_boot_text(boot, sizeof(boot), job->first + rank, &job->given);
    if (job->config->environment != NULL)
        environ = job->config->environment;
    if (setenv("TERN_BOOT", boot, 1) != 0 || !child_network(job))
        return errno;
    execvp(job->config->program[0], job->config->program);
    return errno;
}

/* Become the program, or say why not and exit. */
__attribute__((noreturn)) static void child_run(const struct run_job *job, int rank, const struct wires *wires,
                                                int tell, pid_t launcher)
{
    struct complaint complaint = { .step = STEP_BIND };

    setpgid(0, 0);
    /* Recorded here, so that the guard knows the group before the program can start anything. */
    atomic_store_explicit(&job->group[rank], (int32_t)getpid(), memory_order_relaxed); /* read after a death only */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher)
        _exit(EXIT_TROUBLE); /* ternrun died before the line above */
    complaint.error = run_bind_apply(job->plan, rank);
    if (complaint.error == 0) {
        complaint.step = STEP_FILES;
        complaint.error = child_files(job, wires);
    }
    if (complaint.error == 0) {
        complaint.step = STEP_EXEC;
        complaint.error = child_exec(job, rank);
    }
    while (write(tell, &complaint, sizeof(complaint)) < 0 && errno == EINTR)
        ;
    _exit(EXIT_NOT_FOUND);
}

/* ---- in ternrun ---- */

/* Say why something could not be started: here, or to the head, which says it once for all nodes. */
__attribute__((format(printf, 3, 4))) static void complain(const struct run_job *job, int status, const char *format,
                                                           ...)
{
    char    text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (job->up != NULL)
        run_up_failed(job->up, status, text);
    else
        run_say("%s", text);
}

/* Say why rank could not be started and return the exit status for that. */
static int explain(const struct run_job *job, int rank, const struct complaint *complaint)
{
    const char *name = job->config->program[0], *text = strerror(complaint->error);
    int         status = EXIT_TROUBLE;

    if (complaint->step == STEP_EXEC)
        status = complaint->error == ENOENT || complaint->error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    if (complaint->step == STEP_EXEC && complaint->error == ENOENT && strchr(name, '/') == NULL)
        complain(job, status,
                 "cannot start '%.200s': no such program in PATH; write ./%.200s for one in this directory", name,
                 name);
    else if (complaint->step == STEP_EXEC)
        complain(job, status, "cannot start '%.400s': %s", name, text);
    else
        complain(job, status, "cannot start rank %d: %s: %s", job->first + rank,
                 complaint->step == STEP_BIND ? "it cannot be bound to its cpu" : "its standard files cannot be set up",
                 text);
    return status;
}

/* Wait until the child has become the program. */
static bool child_started(struct run_job *job, int rank, pid_t pid, int listen, int *status)
{
    struct complaint complaint = { 0 };
    ssize_t          got;

    do
        got = read(listen, &complaint, sizeof(complaint));
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof(complaint))
        return true; /* the pipe was closed by exec; or the child was killed, which the loop will see */
    waitpid(pid, NULL, 0);
    atomic_store_explicit(&job->group[rank], 0, memory_order_relaxed); /* read after our death only */
    *status = explain(job, rank, &complaint);
    return false;
}

static void rank_started(struct run_job *job, int rank, pid_t pid, const struct wires *wires)
{
    char cpus[256];

    job->rank[rank] = (struct run_rank){ .pid = pid, .runs = true, .is_group = true, .start = tern_base_now() };
    job->started++;
    job->running++;
    if (wires->mine[0] >= 0)
        job->input.to = wires->mine[0];
    for (int which = STDOUT_FILENO; which <= STDERR_FILENO; which++)
        if (wires->mine[which] >= 0)
            run_output_add(&job->output, job->first + rank, which, wires->mine[which]);
    if (job->config->verbose) {
        run_bind_text(job->plan, rank, cpus, sizeof(cpus));
        run_say("rank %d: pid %d, %s", job->first + rank, (int)pid, cpus);
    }
}

bool run_launch(struct run_job *job, int rank, int *status)
{
    struct wires wires = { { -1, -1, -1 }, { -1, -1, -1 } };
    int          tell[2] = { -1, -1 };
    pid_t        launcher = getpid(), pid = -1;
    bool         started = false;

    *status = EXIT_TROUBLE;
    if (wire_input(job, rank, &wires) && wire_output(job, STDOUT_FILENO, &wires) &&
        wire_output(job, STDERR_FILENO, &wires) && pipe2(tell, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0)
        child_run(job, rank, &wires, tell[1], launcher);
    if (pid < 0)
        complain(job, EXIT_TROUBLE, "cannot start rank %d of %d: %s; see 'ulimit -n' and 'ulimit -u'",
                 job->first + rank, job->given.ranks, strerror(errno));
    close_if(tell[1]);
    wires_close(wires.child);
    if (pid > 0)
        started = child_started(job, rank, pid, tell[0], status);
    close_if(tell[0]);
    if (started)
        rank_started(job, rank, pid, &wires);
    else
        wires_close(wires.mine);
    return started;
}
