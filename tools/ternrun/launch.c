/* launch.c: starts one rank, from fork to exec. The ranks of a large job are started by starters (starter.c), with the
 * functions of this file.
 *
 * The child creates its own process group, so that all processes that the rank starts can be found and ended, and asks
 * the kernel to kill it when ternrun dies. If the child cannot exec the program, it reports the reason through a pipe
 * that a successful exec closes. So a missing program is detected before the second rank is started, and is reported
 * once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "hosts.h"

static void close_if(int fd)
{
    if (fd >= 0)
        close(fd);
}

void run_launch_close(const int fd[3])
{
    for (int i = 0; i < 3; i++)
        close_if(fd[i]);
}

/* Open a raw pseudo-terminal, which passes bytes on unchanged, so that the program sees a terminal and writes line by
 * line. Returns false on failure. */
static bool open_terminal(const struct winsize *window, int *mine, int *child)
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

static bool open_pipe(int *read_end, int *write_end)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    *read_end = ends[0];
    *write_end = ends[1];
    return true;
}

static bool open_output(const struct run_job *job, int rank, int which, struct run_files *files)
{
    if ((job->config->ranks == 1 && !job->config->label && job->config->record == NULL && job->up == NULL) ||
        run_fore_is(job, rank))
        return true; /* the output of a single rank needs no merging, and the rank that has the terminal uses it */
    if (!((job->terminals & 1u << which) != 0 &&
          open_terminal(&job->window, &files->mine[which], &files->child[which])) &&
        !open_pipe(&files->mine[which], &files->child[which]))
        return false;
    return fcntl(files->mine[which], F_SETFL, O_NONBLOCK) == 0;
}

static bool open_input(const struct run_job *job, int rank, struct run_files *files)
{
    if (run_fore_is(job, rank))
        return true;
    if (job->first + rank > 0 || job->fore.rank >= 0) {
        files->child[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return files->child[0] >= 0;
    }
    if (job->up == NULL && !isatty(STDIN_FILENO))
        return true;
    return open_pipe(&files->child[0], &files->mine[0]) && fcntl(files->mine[0], F_SETFL, O_NONBLOCK) == 0;
}

bool run_launch_open(const struct run_job *job, int rank, struct run_files *files)
{
    *files = (struct run_files){ { -1, -1, -1 }, { -1, -1, -1 } };
    return open_input(job, rank, files) && open_output(job, rank, STDOUT_FILENO, files) &&
           open_output(job, rank, STDERR_FILENO, files);
}

/* ---- in the child ---- */

static int child_files(const struct run_job *job, const struct run_files *files)
{
    for (int i = 0; i < 3; i++)
        if (files->child[i] >= 0 && dup2(files->child[i], i) < 0)
            return errno;
    close_if(job->guard_pipe);
    run_process_restore(&job->process);
    return 0;
}

/* libfabric's RxM layer over TCP allocates 70 MB of receive buffers of 16 KB in each process before the first message
 * arrives. Tern's messages need half the size, and 256 buffers are enough. RxM can be configured only through the
 * environment. */
static bool child_network(const struct run_job *job)
{
    const char *links = getenv("TERN_LINKS");

    if ((job->up == NULL || job->up->order.hosts == 1) && (links == NULL || strstr(links, "ofi") == NULL))
        return true;
    return setenv("FI_OFI_RXM_BUFFER_SIZE", "8448", 0) == 0 && setenv("FI_OFI_RXM_MSG_RX_SIZE", "256", 0) == 0;
}

/* Set the number of threads of OpenMP and OpenBLAS to the number of cores of the rank, unless the user has set it.
 * OpenBLAS takes the number of OpenMP if the user has set that one, as MKL and BLIS always do. */
static bool child_threads(const struct run_job *job, int rank)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", run_bind_threads(job->plan, rank));
    if (getenv("OMP_NUM_THREADS") == NULL && getenv("GOTO_NUM_THREADS") == NULL &&
        setenv("OPENBLAS_NUM_THREADS", text, 0) != 0)
        return false;
    return setenv("OMP_NUM_THREADS", text, 0) == 0;
}

static int child_exec(const struct run_job *job, int rank)
{
    const struct run_program *program = run_program_of(job->config, job->first + rank);
    char                    **command = run_wrap_command(job, rank, program->words);
    char                      boot[TERN_BOOT_TEXT];
    int                       error;

    tern_boot_text(boot, sizeof(boot), job->first + rank, &job->given);
    if (command == NULL)
        return ENOMEM;
    if (job->config->environment != NULL)
        environ = job->config->environment;
    error = run_program_environment(job, rank);
    if (error != 0)
        return error;
    if (setenv("TERN_BOOT", boot, 1) != 0 || !child_network(job) || !child_threads(job, rank))
        return errno;
    execvp(command[0], command);
    return errno;
}

struct run_failure run_launch_child(const struct run_job *job, int rank, const struct run_files *files, pid_t launcher)
{
    struct run_failure failure = { .step = RUN_STEP_BIND };

    setpgid(0, 0);
    /* Stored before the exec, so that the guard knows the group before the program can start anything. */
    atomic_store_explicit(&job->group[rank], (int32_t)getpid(),
                          memory_order_relaxed); /* relaxed: the guard reads it only after ternrun's death */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher)
        _exit(EXIT_TROUBLE); /* ternrun died before the prctl call */
    run_fore_child(job, rank, launcher);
    failure.error = run_bind_apply(job->plan, rank);
    if (failure.error == 0) {
        failure.step = RUN_STEP_FILES;
        failure.error = child_files(job, files);
    }
    if (failure.error == 0) {
        failure.step = RUN_STEP_DIRECTORY;
        failure.error = run_program_enter(run_program_of(job->config, job->first + rank));
    }
    if (failure.error == 0) {
        failure.step = RUN_STEP_EXEC;
        failure.error = child_exec(job, rank);
    }
    return failure;
}

/* Exec the program, or report why that failed and exit. */
__attribute__((noreturn)) static void child_run(const struct run_job *job, int rank, const struct run_files *files,
                                                int report_fd, pid_t launcher)
{
    struct run_failure failure = run_launch_child(job, rank, files, launcher);

    while (write(report_fd, &failure, sizeof(failure)) < 0 && errno == EINTR)
        ;
    _exit(EXIT_NOT_FOUND);
}

/* ---- in ternrun ---- */

/* Report why something could not be started: to the user, or on a node to the head, which reports it once for all
 * nodes. */
__attribute__((format(printf, 3, 4))) static void report(const struct run_job *job, int status, const char *format, ...)
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

/* Report why there is no process of the rank. */
static void explain_process(const struct run_job *job, int rank, const struct run_failure *failure)
{
    if (failure->step == RUN_STEP_STARTER)
        report(job, EXIT_TROUBLE, "cannot start rank %d: the process that was to start it was killed",
               job->first + rank);
    else
        report(job, EXIT_TROUBLE, "cannot start rank %d of %d: %s; see 'ulimit -n' and 'ulimit -u'", job->first + rank,
               job->given.ranks, strerror(failure->error));
}

/* Return the file information of a program whose name has a slash, as seen from the directory of its ranks. */
static bool find_file(const struct run_program *program, const char *name, struct stat *about)
{
    bool has_directory = program->directory != NULL && *program->directory != '\0';
    int  from = has_directory ? open(program->directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD;
    bool found = strchr(name, '/') != NULL && fstatat(from, name, about, 0) == 0;

    if (has_directory)
        close_if(from);
    return found;
}

/* Report why a file could not be executed. */
static void explain_file(const struct run_job *job, const struct run_program *program, const char *name, int error,
                         int status)
{
    bool        is_missing = error == ENOENT, is_remote = job->up != NULL && job->up->order.hosts > 1;
    struct stat about;

    if (name != program->words[0])
        report(job, status, "cannot start '%.200s', which is to run the program: %s%s", name,
               is_missing ? "no such command" : strerror(error),
               is_missing && strchr(name, '/') == NULL ? " in PATH" : "");
    else if (is_missing && strchr(name, '/') == NULL)
        report(job, status, "cannot start '%.200s': no such program in PATH; write ./%.200s for one in this directory",
               name, name);
    else if (is_missing && find_file(program, name, &about))
        report(job, status,
               "cannot start '%.300s': the file exists, but the interpreter in its first line, or the loader that it "
               "was linked for, does not",
               name);
    else if (error == EACCES && find_file(program, name, &about) && S_ISDIR(about.st_mode))
        report(job, status, "cannot start '%.400s': it is a directory", name);
    else
        report(job, status, "cannot start '%.400s': %s%s", name, strerror(error),
               is_missing && is_remote ? "; a program must have the same path on every host" : "");
}

/* Report why the process of the rank could not execute the program. Returns the exit status for that. */
static int explain_exec(const struct run_job *job, int rank, const struct run_failure *failure)
{
    const struct run_program *program = run_program_of(job->config, job->first + rank);
    char                    **command = run_wrap_command(job, rank, program->words);
    const char               *text = strerror(failure->error);
    int                       status = EXIT_TROUBLE;

    if (failure->step == RUN_STEP_EXEC) {
        status = failure->error == ENOENT || failure->error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
        explain_file(job, program, command != NULL ? command[0] : program->words[0], failure->error, status);
    } else if (failure->step == RUN_STEP_DIRECTORY) {
        report(job, status, "cannot start rank %d in the directory %.300s of --wdir: %s", job->first + rank,
               program->directory, text);
    } else {
        report(job, status, "cannot start rank %d: %s: %s", job->first + rank,
               failure->step == RUN_STEP_BIND ? "it cannot be bound to its cpus"
                                              : "its standard files cannot be set up",
               text);
    }
    run_wrap_free(command, program->words);
    return status;
}

int run_launch_explain(const struct run_job *job, int rank, const struct run_failure *failure)
{
    if (failure->step > RUN_STEP_FORK)
        return explain_exec(job, rank, failure);
    explain_process(job, rank, failure);
    return EXIT_TROUBLE;
}

/* Wait until the child has executed the program. Returns false, after a report, if it could not. */
static bool child_started(struct run_job *job, int rank, pid_t pid, int report_fd, int *status)
{
    struct run_failure failure = { 0 };
    ssize_t            got;

    do
        got = read(report_fd, &failure, sizeof(failure));
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof(failure))
        return true; /* exec closed the pipe, or the child was killed, which the loop will notice */
    waitpid(pid, NULL, 0);
    atomic_store_explicit(&job->group[rank], 0,
                          memory_order_relaxed); /* relaxed: the guard reads it only after ternrun's death */
    *status = run_launch_explain(job, rank, &failure);
    return false;
}

void run_launch_started(struct run_job *job, int rank, pid_t pid, const struct run_files *files)
{
    char cpus[256];

    job->rank[rank] = (struct run_rank){ .pid = pid, .runs = true, .is_group = true, .start = tern_base_now() };
    job->started = rank + 1; /* ranks are noticed in their order, and one that could not be started is left out */
    job->running++;
    run_fore_started(job, rank);
    if (files->mine[0] >= 0)
        job->input.to = files->mine[0];
    for (int which = STDOUT_FILENO; which <= STDERR_FILENO; which++)
        if (files->mine[which] >= 0)
            run_output_add(&job->output, job->first + rank, which, files->mine[which]);
    if (job->is_stopped)
        kill(-pid, SIGTSTP);
    if (job->config->verbose) {
        run_bind_text(job->plan, rank, cpus, sizeof(cpus));
        run_say("rank %d: pid %d, %s", job->first + rank, (int)pid, cpus);
    }
}

bool run_launch(struct run_job *job, int rank, int *status)
{
    struct run_files files;
    int              report_fd[2] = { -1, -1 };
    pid_t            launcher = getpid(), pid = -1;
    bool             started = false;

    *status = EXIT_TROUBLE;
    if (run_launch_open(job, rank, &files) && pipe2(report_fd, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0)
        child_run(job, rank, &files, report_fd[1], launcher);
    if (pid < 0)
        run_launch_explain(job, rank, &(struct run_failure){ RUN_STEP_FORK, errno });
    close_if(report_fd[1]);
    run_launch_close(files.child);
    if (pid > 0)
        started = child_started(job, rank, pid, report_fd[0], status);
    close_if(report_fd[0]);
    if (started)
        run_launch_started(job, rank, pid, &files);
    else
        run_launch_close(files.mine);
    return started;
}
