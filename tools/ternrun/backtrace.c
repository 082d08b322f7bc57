/* backtrace.c: prints a backtrace of the first rank that crashed, if it left a core file and gdb is installed.
 *
 * gdb reads the core file in a process of its own while the loop of the job goes on. Its output, the time and the size
 * of the core file are limited. The ranks do not take part: Tern handles no signal in them, and does not trace them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "ternrun.h"

#define TRACE_NS (8 * NS_PER_SECOND) /* time for gdb; less than the time after which ternrun gives up hosts */
#define TRACE_BYTES 32768            /* maximum output of gdb that is kept */
#define CORE_MAX (4ll << 30)         /* bytes on disk of the largest core file that gdb is given */
#define FRAMES "30"

void run_trace_note(struct run_job *job, int rank, const char *core)
{
    if (job->trace.core[0] != '\0')
        return; /* only the first crash counts */
    job->trace.rank = rank;
    snprintf(job->trace.core, sizeof(job->trace.core), "%s", core);
}

/* Return whether a file is an ELF file, which a script is not. */
static bool is_elf(const char *path)
{
    char mark[4] = "";
    int  fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, mark, sizeof(mark)) == (ssize_t)sizeof(mark) && memcmp(mark, "\177ELF", 4) == 0;

    if (fd >= 0)
        close(fd);
    return is;
}

/* Return the program of the rank that crashed. */
static const struct run_program *crashed(const struct run_job *job)
{
    return run_program_of(job->config, job->trace.rank);
}

/* Find the executable file of the program, as execvp does. Returns false if it is not an ELF file. */
static bool find_program(const struct run_program *program, char *path, size_t size)
{
    const char *from = getenv("PATH"), *name = program->words[0], *directory = program->directory;

    if (*name != '/' && strchr(name, '/') != NULL && directory != NULL && *directory != '\0')
        return (size_t)snprintf(path, size, "%s/%s", directory, name) < size && is_elf(path);
    if (strchr(name, '/') != NULL || from == NULL)
        return (size_t)snprintf(path, size, "%s", name) < size && is_elf(path);
    for (size_t len; *from != '\0'; from += len + (from[len] == ':')) {
        len = strcspn(from, ":");
        if ((size_t)snprintf(path, size, "%.*s%s%s", (int)len, from, len > 0 ? "/" : "", name) < size &&
            access(path, X_OK) == 0)
            return is_elf(path);
    }
    return false;
}

__attribute__((noreturn)) static void child_run(const struct run_job *job, const int ends[2], pid_t launcher)
{
    char        program[4096];
    const char *words[] = { "gdb",        "-batch", "-nx",           "-ex", "set width 0", "-ex",
                            "bt " FRAMES, "-c",     job->trace.core, NULL,  NULL };
    int         nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (find_program(crashed(job), program, sizeof(program)))
        words[9] = program;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher || dup2(nothing, 0) < 0 || dup2(ends[1], 1) < 0 || dup2(nothing, 2) < 0)
        _exit(EXIT_TROUBLE);
    run_process_restore(&job->process);
    unsetenv("DEBUGINFOD_URLS"); /* asking servers for symbols takes too long */
    execvp(words[0], (char **)words);
    _exit(EXIT_NOT_FOUND);
}

void run_trace_start(struct run_job *job, int rank)
{
    struct run_trace *trace = &job->trace;
    struct stat       about;
    int               ends[2];
    pid_t             launcher = getpid();

    if (trace->core[0] == '\0' || trace->rank != rank || trace->pid > 0 || stat(trace->core, &about) != 0)
        return;
    if ((int64_t)about.st_blocks * 512 > CORE_MAX) {
        run_say("the core file is too large for a quick backtrace; see 'gdb %.200s %.300s'", crashed(job)->words[0],
                trace->core);
        return;
    }
    trace->text = malloc(TRACE_BYTES);
    if (trace->text == NULL || pipe2(ends, O_CLOEXEC) != 0)
        return;
    trace->pid = fork();
    if (trace->pid == 0)
        child_run(job, ends, launcher);
    close(ends[1]);
    trace->fd = ends[0];
    trace->until = tern_base_now() + TRACE_NS;
    trace->runs = trace->pid > 0 && fcntl(trace->fd, F_SETFL, O_NONBLOCK) == 0;
}

/* Return the backtrace in gdb's output. Before it, gdb prints the frame that it selects when it reads the core file. */
static char *find_frames(char *text)
{
    char *last = NULL;

    for (char *at = text; (at = strstr(at, "#0 ")) != NULL; at++)
        if (at == text || at[-1] == '\n')
            last = at;
    return last;
}

/* Print the frames, which are the lines of gdb's output that begin with '#'. */
static void print(const struct run_trace *trace)
{
    char *rest = NULL, *frames;

    trace->text[trace->len] = '\0';
    frames = find_frames(trace->text);
    if (frames == NULL)
        return;
    run_say("backtrace of rank %d:", trace->rank);
    for (char *line = strtok_r(frames, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        if (*line == '#')
            run_say("  %.400s", line);
}

static void finish(struct run_job *job)
{
    struct run_trace *trace = &job->trace;

    trace->runs = false;
    close(trace->fd);
    kill(trace->pid, SIGKILL);
    waitpid(trace->pid, NULL, 0);
    trace->pid = -1;
}

size_t run_trace_poll(const struct run_job *job, struct pollfd *fds)
{
    if (!job->trace.runs)
        return 0;
    fds[0] = (struct pollfd){ .fd = job->trace.fd, .events = POLLIN };
    return 1;
}

void run_trace_serve(struct run_job *job)
{
    struct run_trace *trace = &job->trace;
    ssize_t           got = 1;

    if (!trace->runs)
        return;
    while (got > 0 && trace->len < TRACE_BYTES - 1) {
        got = read(trace->fd, trace->text + trace->len, TRACE_BYTES - 1 - trace->len);
        trace->len += got > 0 ? (size_t)got : 0;
    }
    if (got < 0 && tern_base_now() < trace->until)
        return; /* more may follow */
    finish(job);
    if (got < 0)
        run_say("gdb takes too long for a backtrace; see 'gdb %.200s %.300s'", crashed(job)->words[0], trace->core);
    else
        print(trace);
}

int64_t run_trace_deadline(const struct run_job *job)
{
    return job->trace.runs ? job->trace.until : NEVER;
}

void run_trace_end(struct run_job *job)
{
    if (job->trace.runs)
        finish(job);
    free(job->trace.text);
}
