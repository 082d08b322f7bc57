/* starter.c: starts the ranks of a large job in parallel.
 *
 * ternrun opens the standard files of some ranks and forks a starter, which starts these ranks one after the other. A
 * few starters work at the same time. The ranks are children of ternrun, because the starter creates them with
 * CLONE_PARENT: ternrun waits for them, and they die when ternrun dies. They share the starter's memory until they have
 * executed the program (CLONE_VM and CLONE_VFORK, as in posix_spawn(3)), so no memory is copied for them. What they
 * change in that memory, such as the environment, is of no consequence, because the starter gives each of them a new
 * environment and ends soon.
 *
 * The results are in memory that ternrun and the starters share, and a byte in a pipe announces each of them. ternrun
 * notices the ranks in their order. If a starter is killed, the ranks that it has not started are missing, and the job
 * ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "hosts.h"

#define BATCH 16        /* ranks of a starter */
#define MOST_STARTERS 8 /* starters at the same time */
#define STEP_MS 20      /* handle the events of the job at least this often */
#define STOP_MS 2000    /* time for a starter to stop */
#define STACK_BYTES (256 * 1024)

/* The result for a rank. Writers: the rank's process before its exec (failure), then its starter. */
struct result {
    _Atomic int32_t    pid; /* 0: not started yet, -1: the fork failed */
    bool               has_failed;
    struct run_failure failure;
};

struct starter {
    pid_t            pid; /* 0: none */
    int              first, count;
    int              fd; /* the pipe that announces results; -1: at end of file */
    struct run_files files[BATCH];
};

struct run_starters {
    struct result *result;                 /* [ranks], shared with the starters */
    _Atomic bool  *stop;                   /* shared: the starters are to start no more ranks */
    struct starter starter[MOST_STARTERS]; /* a ring; the oldest one is at turn */
    int            turn, active, most;
    int            next; /* the first rank without a starter */
};

/* ---- in a starter ---- */

/* A rank that a starter creates. */
struct birth {
    const struct run_job   *job;
    int                     rank;
    const struct run_files *files;
    pid_t                   launcher;
    struct result          *result;
};

static int rank_run(void *arg)
{
    const struct birth *birth = arg;

    birth->result->failure = run_launch_child(birth->job, birth->rank, birth->files, birth->launcher);
    birth->result->has_failed = true;
    _exit(EXIT_NOT_FOUND);
}

/* Create the process of a rank, and return when it has executed the program or ended. A sanitizer keeps a record of the
 * stack, so the process must not share it. */
static pid_t spawn(struct birth *birth, char *stack)
{
    int   flags = CLONE_VFORK | CLONE_PARENT | SIGCHLD;
    pid_t pid;

    if (!TERN_SANITIZED)
        return clone(rank_run, stack + STACK_BYTES, flags | CLONE_VM, birth);
    pid = (pid_t)syscall(SYS_clone, (long)flags, NULL, NULL, NULL, NULL);
    if (pid == 0)
        rank_run(birth);
    return pid;
}

/* Close what the ranks must not inherit before their exec: it would take time to copy it for each of them. */
static void close_others(struct run_job *job, const struct starter *starter)
{
    close(job->guard_pipe);
    job->guard_pipe = -1;
    for (int i = 0; i < job->output.streams; i++)
        if (job->output.stream[i].fd >= 0)
            close(job->output.stream[i].fd);
    for (int i = 0; i < MOST_STARTERS; i++)
        for (int k = 0; job->starters->starter[i].pid != 0 && k < job->starters->starter[i].count; k++)
            if (&job->starters->starter[i] != starter)
                run_launch_close(job->starters->starter[i].files[k].mine);
    for (int k = 0; k < starter->count; k++)
        run_launch_close(starter->files[k].mine);
}

/* Return a copy of the environment, because setenv may change the list that it finds. Returns NULL without memory. */
static char **copy_environment(char *const *list)
{
    size_t count = 0;
    char **copy;

    while (list[count] != NULL)
        count++;
    copy = malloc((count + 1) * sizeof(*copy));
    return copy != NULL ? memcpy(copy, list, (count + 1) * sizeof(*copy)) : NULL;
}

__attribute__((noreturn)) static void starter_run(struct run_job *job, struct starter *starter, int fd, pid_t launcher)
{
    struct run_starters *starters = job->starters;
    struct run_config    config = *job->config;
    char *const         *base = config.environment != NULL ? config.environment : environ;
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher || stack == MAP_FAILED)
        _exit(EXIT_TROUBLE);
    close_others(job, starter);
    job->config = &config;
    for (int k = 0; k < starter->count && !atomic_load_explicit(starters->stop, memory_order_relaxed); k++) {
        struct result *result = &starters->result[starter->first + k];
        struct birth   birth = { job, starter->first + k, &starter->files[k], launcher, result };
        pid_t          pid = -1;

        config.environment = copy_environment(base);
        if (config.environment != NULL)
            pid = spawn(&birth, stack);
        if (pid < 0)
            result->failure = (struct run_failure){ RUN_STEP_FORK, errno };
        result->has_failed |= pid < 0;
        run_launch_close(starter->files[k].child);
        /* release: the failure before the pid. Pairs with the acquire in notice(). */
        atomic_store_explicit(&result->pid, (int32_t)pid, memory_order_release);
        while (write(fd, "", 1) < 0 && errno == EINTR)
            ;
    }
    _exit(0);
}

/* ---- in ternrun ---- */

static struct starter *oldest(struct run_starters *starters)
{
    return &starters->starter[starters->turn];
}

/* Open the files of the next ranks, and fork a starter for them. Returns false after a report if that is impossible. */
static bool begin(struct run_job *job, int *status)
{
    struct run_starters *starters = job->starters;
    struct starter      *starter = &starters->starter[(starters->turn + starters->active) % starters->most];
    int                  left = job->config->ranks - starters->next, ends[2] = { -1, -1 };
    pid_t                launcher = getpid(), pid = -1;
    bool                 is_open = true;

    *starter = (struct starter){ .first = starters->next, .fd = -1 };
    while (is_open && starter->count < BATCH && starter->count < left) {
        is_open = run_launch_open(job, starter->first + starter->count, &starter->files[starter->count]);
        starter->count++;
    }
    if (is_open && pipe2(ends, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0)
        starter_run(job, starter, ends[1], launcher);
    if (pid < 0)
        *status = run_launch_explain(job, starter->first, &(struct run_failure){ RUN_STEP_FORK, errno });
    for (int k = 0; k < starter->count; k++) {
        run_launch_close(starter->files[k].child);
        if (pid < 0)
            run_launch_close(starter->files[k].mine);
    }
    if (ends[1] >= 0)
        close(ends[1]);
    if (pid < 0) {
        if (ends[0] >= 0)
            close(ends[0]);
        return false;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    starter->pid = pid;
    starter->fd = ends[0];
    starters->next += starter->count;
    starters->active++;
    return true;
}

/* A rank was not started: report the first failure, and end the job. */
static void fail(struct run_job *job, int rank, const struct run_failure *failure)
{
    if (job->phase == PHASE_RUN)
        run_job_end(job, SIGTERM, run_launch_explain(job, rank, failure));
}

/* Notice one rank, if its result is there or its starter has ended. Returns false if the result is not there yet. */
static bool notice(struct run_job *job, const struct starter *starter, int rank)
{
    struct result   *result = &job->starters->result[rank];
    struct run_files files = starter->files[rank - starter->first];
    /* acquire: the failure. Pairs with the release in starter_run(). */
    int32_t          pid = atomic_load_explicit(&result->pid, memory_order_acquire);

    if (pid == 0 && starter->fd >= 0)
        return false;
    if (pid == 0) /* the starter was killed, and may have started the rank */
        pid = atomic_load_explicit(&job->group[rank], memory_order_relaxed);
    if (pid > 0 && !result->has_failed) {
        run_launch_started(job, rank, (pid_t)pid, &files);
        if (job->phase != PHASE_RUN)
            kill(-(pid_t)pid, job->phase == PHASE_KILL ? SIGKILL : SIGTERM);
        return true;
    }
    if (pid > 0)
        waitpid((pid_t)pid, NULL, 0);
    atomic_store_explicit(&job->group[rank], 0,
                          memory_order_relaxed); /* relaxed: the guard reads it only after ternrun's death */
    run_launch_close(files.mine);
    if (result->has_failed)
        fail(job, rank, &result->failure);
    else if (job->phase == PHASE_RUN)
        fail(job, rank, &(struct run_failure){ .step = RUN_STEP_STARTER });
    return true;
}

/* Notice the ranks of the oldest starter. Returns false if it has not finished. */
static bool notice_oldest(struct run_job *job)
{
    struct run_starters *starters = job->starters;
    struct starter      *starter = oldest(starters);

    while (starter->count > 0 && notice(job, starter, starter->first)) {
        starter->first++;
        starter->count--;
        memmove(starter->files, starter->files + 1, (size_t)starter->count * sizeof(starter->files[0]));
    }
    if (starter->count > 0 || starter->fd >= 0)
        return false;
    waitpid(starter->pid, NULL, 0);
    starter->pid = 0;
    starters->turn = (starters->turn + 1) % starters->most;
    starters->active--;
    return true;
}

/* Wait until a starter announces a result, and read the announcements. */
static void await_results(struct run_starters *starters, bool is_stopped)
{
    struct pollfd fds[MOST_STARTERS];
    nfds_t        count = 0;
    char          bytes[BATCH];

    for (int i = 0; i < MOST_STARTERS; i++)
        if (starters->starter[i].pid != 0 && starters->starter[i].fd >= 0)
            fds[count++] = (struct pollfd){ .fd = starters->starter[i].fd, .events = POLLIN };
    poll(fds, count, count > 0 || is_stopped ? STEP_MS : 0);
    for (int i = 0; i < MOST_STARTERS; i++) {
        struct starter *starter = &starters->starter[i];
        ssize_t         got = 1;

        while (starter->pid != 0 && starter->fd >= 0 && got > 0)
            got = read(starter->fd, bytes, sizeof(bytes));
        if (got == 0) {
            close(starter->fd);
            starter->fd = -1;
        }
    }
}

/* Wait until the starter has stopped or ended. A starter stops when the rank that it creates has executed the program.
 * The terminal may have stopped this rank before that, so the wait ends after a while. */
static void await_stop(pid_t starter)
{
    siginfo_t info = { 0 };

    for (int ms = 0; ms < STOP_MS && info.si_pid == 0; ms++) {
        if (waitid(P_PID, (id_t)starter, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT) != 0)
            return;
        if (info.si_pid == 0)
            poll(NULL, 0, 1);
    }
    waitid(P_PID, (id_t)starter, &info, WSTOPPED | WNOHANG); /* its end is left to notice_oldest() */
}

void run_starters_pause(struct run_job *job)
{
    const struct starter *starter = job->starters->starter;

    for (int i = 0; i < MOST_STARTERS; i++)
        if (starter[i].pid != 0)
            kill(starter[i].pid, job->is_stopped ? SIGSTOP : SIGCONT);
    for (int i = 0; i < MOST_STARTERS && job->is_stopped; i++)
        if (starter[i].pid != 0)
            await_stop(starter[i].pid);
    for (int r = job->started; r < job->config->ranks; r++) {
        pid_t group = atomic_load_explicit(&job->group[r], memory_order_relaxed); /* 0: not started yet */

        if (group > 0)
            kill(-group, job->is_stopped ? SIGTSTP : SIGCONT);
    }
}

static void run_all(struct run_job *job)
{
    struct run_starters *starters = job->starters;
    int64_t              stepped = tern_base_now();
    int                  status = EXIT_TROUBLE;

    do {
        while (starters->active < starters->most && starters->next < job->config->ranks && job->phase == PHASE_RUN &&
               !job->is_stopped)
            if (!begin(job, &status))
                run_job_end(job, SIGTERM, status);
        await_results(starters, job->is_stopped);
        while (starters->active > 0 && notice_oldest(job))
            ;
        if (job->phase != PHASE_RUN) /* relaxed: a starter may start one more rank in any case */
            atomic_store_explicit(starters->stop, true, memory_order_relaxed);
        if (tern_base_now() - stepped > STEP_MS * NS_PER_MS) {
            run_job_step(job, 0);
            stepped = tern_base_now();
        }
    } while (starters->active > 0 || (starters->next < job->config->ranks && job->phase == PHASE_RUN));
}

void run_starters(struct run_job *job, int first)
{
    struct run_starters starters = { .next = first };
    size_t              bytes = (size_t)job->config->ranks * sizeof(*starters.result) + sizeof(*starters.stop);
    int                 cpus = run_bind_cpus(job->plan);
    void               *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED) {
        fail(job, first, &(struct run_failure){ RUN_STEP_FORK, errno });
        return;
    }
    starters.result = shared;
    starters.stop = (_Atomic bool *)&starters.result[job->config->ranks];
    starters.most = cpus < 1 ? 1 : cpus < MOST_STARTERS ? cpus : MOST_STARTERS;
    job->starters = &starters;
    run_all(job);
    job->starters = NULL;
    munmap(shared, bytes);
}
