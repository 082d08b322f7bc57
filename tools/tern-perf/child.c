/* child.c: runs other programs for compare and init. Each child has a time limit and a process group of its own, and
 * its output is captured. A child and all processes that it started are ended when its time limit expires, when this
 * program has finished with the child, and when a signal ends this program. If this program is killed with SIGKILL,
 * the kernel ends the child.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

#define MAX_TEXT (1u << 20)
#define MAX_CHILDREN 4
#define GRACE_MS 2000

static volatile pid_t running[MAX_CHILDREN]; /* process groups to end when a signal ends this program */

static volatile sig_atomic_t stopped; /* the signal that asked this program to end; 0: none */

/* Signal handler: pass the signal on to the children. The program itself continues, finds that its children have
 * ended, cleans up, and ends in perf_child_obey(). */
static void end_children(int number)
{
    int kept = errno;

    stopped = number;
    for (size_t i = 0; i < MAX_CHILDREN; i++) {
        if (running[i] > 0)
            kill(-running[i], SIGTERM);
    }
    errno = kept;
}

bool perf_child_stopped(void)
{
    return stopped != 0;
}

void perf_child_obey(void)
{
    if (stopped == 0)
        return;
    signal(stopped, SIG_DFL);
    raise(stopped);
}

void perf_child_guard(void)
{
    static const int       numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    const struct sigaction action = { .sa_handler = end_children };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaction(numbers[i], &action, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* see sweep() */
}

static void remember(pid_t old, pid_t new)
{
    for (size_t i = 0; i < MAX_CHILDREN; i++) {
        if (running[i] == old) {
            running[i] = new;
            return;
        }
    }
}

/* End the processes that an ended child left behind in other process groups (mpirun creates one for each rank). They
 * are children of this program, because this program is a subreaper. */
static void sweep(void)
{
    char  path[64];
    int   pid;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    f = fopen(path, "re");
    while (f != NULL && fscanf(f, "%d", &pid) == 1) {
        bool known = false;

        for (size_t i = 0; i < MAX_CHILDREN; i++)
            known |= running[i] == pid;
        if (!known) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
    }
    if (f != NULL)
        fclose(f);
}

/* Set up the child process between fork and exec. */
static void become(char *const argv[], char *const extra_env[], const int out[2], const int err[2], pid_t parent)
{
    int null = open("/dev/null", O_RDONLY);

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(127);
    for (size_t i = 0; extra_env != NULL && extra_env[i] != NULL; i++)
        putenv(extra_env[i]);
    signal(SIGPIPE, SIG_DFL);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out[1], 1) < 0 || dup2(err[1], 2) < 0)
        _exit(127);
    execvp(argv[0], argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

bool perf_child_start(struct perf_child *child, char *const argv[], char *const extra_env[], double seconds)
{
    int   out[2], err[2];
    pid_t parent = getpid();

    memset(child, 0, sizeof(*child));
    child->out = child->err = -1;
    if (perf_child_stopped() || pipe2(out, O_CLOEXEC) < 0)
        return false;
    if (pipe2(err, O_CLOEXEC) < 0)
        goto err_out;
    child->started = measure_now();
    child->pid = fork();
    if (child->pid == 0)
        become(argv, extra_env, out, err, parent);
    if (child->pid < 0)
        goto err_err;
    setpgid(child->pid, child->pid); /* the child calls setpgid too: whichever process runs first */
    remember(0, child->pid);
    close(out[1]);
    close(err[1]);
    child->out = out[0];
    child->err = err[0];
    fcntl(child->out, F_SETFL, O_NONBLOCK);
    fcntl(child->err, F_SETFL, O_NONBLOCK);
    child->deadline = child->started + (int64_t)(seconds * 1e9);
    return true;
err_err:
    close(err[0]);
    close(err[1]);
err_out:
    close(out[0]);
    close(out[1]);
    return false;
}

/* Read the available data from one pipe, and close the pipe at end of file. Returns whether there may be more data. */
static bool drain(struct perf_child *child, int which)
{
    int    *fd = which == 0 ? &child->out : &child->err;
    char    piece[4096], *text;
    ssize_t n = *fd >= 0 ? read(*fd, piece, sizeof(piece)) : -1;

    if (n == 0) {
        close(*fd);
        *fd = -1;
    }
    if (n <= 0)
        return false;
    if (child->length[which] + (size_t)n >= MAX_TEXT)
        return true; /* discard the data, so that the child does not block */
    text = realloc(child->text[which], child->length[which] + (size_t)n + 1);
    if (text == NULL)
        return true;
    memcpy(text + child->length[which], piece, (size_t)n);
    child->length[which] += (size_t)n;
    text[child->length[which]] = '\0';
    child->text[which] = text;
    return true;
}

/* End the child's whole process group, first with SIGTERM, then with SIGKILL. */
void perf_child_kill(struct perf_child *child)
{
    if (child->pid <= 0)
        return;
    kill(-child->pid, SIGTERM);
    for (int waited = 0; waited < GRACE_MS; waited += 10) {
        pid_t ended = waitpid(child->pid, &child->status, WNOHANG);

        if (ended == child->pid || (ended < 0 && errno == ECHILD))
            break;
        poll(NULL, 0, 10);
    }
    kill(-child->pid, SIGKILL); /* also ends the processes that the leader left behind */
    waitpid(child->pid, &child->status, 0);
    remember(child->pid, 0);
    child->pid = 0;
    sweep();
}

/* Read the output until the child itself has exited, then end all processes that the child left behind. */
bool perf_child_finish(struct perf_child *child)
{
    bool ended = false;
    int  watch = (int)syscall(SYS_pidfd_open, child->pid, 0); /* -1 on old kernels: poll every few milliseconds */

    while (!ended && !child->late) {
        struct pollfd fds[3] = { { child->out, POLLIN, 0 }, { child->err, POLLIN, 0 }, { watch, POLLIN, 0 } };

        poll(fds, 3, watch >= 0 ? 100 : 2);
        ended = waitpid(child->pid, &child->status, WNOHANG) == child->pid;
        child->finished = measure_now();
        while (drain(child, 0) || drain(child, 1))
            ;
        if (perf_child_stopped() && child->deadline > child->finished + GRACE_MS * INT64_C(1000000))
            child->deadline = child->finished + GRACE_MS * INT64_C(1000000);
        child->late = !ended && child->finished > child->deadline;
    }
    if (watch >= 0)
        close(watch);
    if (child->late) {
        perf_child_kill(child);
        return false;
    }
    kill(-child->pid, SIGKILL);
    remember(child->pid, 0);
    child->pid = 0;
    sweep();
    return WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0;
}

void perf_child_free(struct perf_child *child)
{
    perf_child_kill(child);
    if (child->out >= 0)
        close(child->out);
    if (child->err >= 0)
        close(child->err);
    free(child->text[0]);
    free(child->text[1]);
    memset(child, 0, sizeof(*child));
    child->out = child->err = -1;
}

bool perf_find_program(const char *name, char *path, size_t size)
{
    const char *dirs = getenv("PATH");
    size_t      n;

    for (; dirs != NULL && *dirs != '\0'; dirs += n + (dirs[n] == ':')) {
        n = strcspn(dirs, ":");
        if (snprintf(path, size, "%.*s/%s", (int)n, dirs, name) < (int)size && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* Find a program in dir or, if dir is NULL, in the directory of this program, and otherwise in PATH. */
bool perf_find_sibling(const char *dir, const char *name, char *path, size_t size)
{
    char    self[512];
    ssize_t n;

    if (dir != NULL)
        return snprintf(path, size, "%s/%s", dir, name) < (int)size && access(path, X_OK) == 0;
    n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n > 0) {
        self[n] = '\0';
        *strrchr(self, '/') = '\0';
        if (snprintf(path, size, "%s/%s", self, name) < (int)size && access(path, X_OK) == 0)
            return true;
    }
    return perf_find_program(name, path, size);
}
