/* task.c: functions and commands that run in processes of their own and must end in time.
 *
 * A task has a session of its own, so that it can neither ask a question on the terminal nor be reached by control-C,
 * and so that it ends together with all its children. Its standard input is empty. If this process is killed, the
 * kernel kills its tasks.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "info.h"

#define POLL_MS 20
#define NOT_FOUND 127

__attribute__((noreturn)) static void child_run(const struct info_task *task, int out, pid_t parent)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1); /* the parent died before the prctl call */
    dup2(null, 0);
    dup2(out, 1);
    dup2(task->argv != NULL ? out : null, 2);
    signal(SIGPIPE, SIG_DFL);
    if (task->argv != NULL) {
        execvp(task->argv[0], task->argv);
        dprintf(2, INFO_CANNOT_START "%s: %s\n", task->argv[0], strerror(errno));
        _exit(NOT_FOUND);
    }
    task->run(task->arg);
    fflush(stdout);
    _exit(0);
}

static void start(struct info_task *task)
{
    pid_t parent = getpid();
    int   ends[2];

    task->len = 0;
    task->text[0] = '\0';
    task->is_late = task->is_over = false;
    task->status = 1;
    task->pid = task->fd = -1;
    fflush(stdout); /* otherwise the child would print it again */
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
        task->pid = fork();
        if (task->pid == 0) {
            fcntl(ends[1], F_SETFL, 0);
            child_run(task, ends[1], parent);
        }
        task->fd = ends[0];
        close(ends[1]);
    }
    if (task->pid < 0) {
        snprintf(task->text, sizeof(task->text), "no process can be started: %s", strerror(errno));
        task->is_over = true;
    }
}

/* Read the output of the task. Output that does not fit into its text is dropped. */
static void take_output(struct info_task *task)
{
    char    text[1024];
    ssize_t got;

    while (task->fd >= 0 && (got = read(task->fd, text, sizeof(text))) != 0) {
        size_t room = sizeof(task->text) - 1 - task->len;

        if (got < 0)
            return; /* nothing more for now */
        room = (size_t)got < room ? (size_t)got : room;
        memcpy(task->text + task->len, text, room);
        task->len += room;
        task->text[task->len] = '\0';
    }
    if (task->fd >= 0)
        close(task->fd);
    task->fd = -1;
}

/* Kill the remaining processes of the task, and store its exit status. */
static void finish(struct info_task *task)
{
    int status = 0;

    kill(-task->pid, SIGKILL); /* its process has not been waited for, so that no other has its number */
    kill(task->pid, SIGKILL);  /* in case it does not have its own session yet */
    waitpid(task->pid, &status, 0);
    take_output(task);
    if (task->fd >= 0)
        close(task->fd);
    task->fd = -1;
    task->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    task->is_over = true;
}

/* Finish the tasks whose processes have ended. Returns the number of tasks that are still running. */
static size_t look(struct info_task *tasks, size_t count)
{
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        siginfo_t ended = { 0 };

        if (tasks[i].is_over)
            continue;
        take_output(&tasks[i]);
        if (waitid(P_PID, (id_t)tasks[i].pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0)
            finish(&tasks[i]);
        else
            left++;
    }
    return left;
}

static void kill_late(struct info_task *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tasks[i].is_over)
            continue;
        tasks[i].is_late = true;
        finish(&tasks[i]);
    }
}

void info_tasks_run(struct info_task *tasks, size_t count, double seconds, bool watch_input)
{
    int64_t until = tern_base_now() + (int64_t)(seconds * 1e9);

    for (size_t i = 0; i < count; i++)
        start(&tasks[i]);
    while (look(tasks, count) > 0 && tern_base_now() < until) {
        struct pollfd input = { .fd = watch_input ? 0 : -1 }; /* without events: only the end of it is reported */

        if (poll(&input, 1, POLL_MS) > 0) {
            kill_late(tasks, count);
            _exit(1);
        }
    }
    kill_late(tasks, count);
}

static void copy_line(char *line, size_t size, const char *from, size_t len)
{
    size_t used = 0;

    for (size_t i = 0; i < len && used + 1 < size; i++)
        line[used++] = (unsigned char)from[i] < 0x20 || from[i] == 0x7f ? ' ' : from[i];
    while (used > 0 && line[used - 1] == ' ')
        used--;
    line[used] = '\0';
}

void info_first_line(char *line, size_t size, const char *text)
{
    text += strspn(text, " \t\r\n");
    copy_line(line, size, text, strcspn(text, "\n"));
}

void info_last_line(char *line, size_t size, const char *text)
{
    size_t end = strlen(text), begin;

    while (end > 0 && strchr(" \t\r\n", text[end - 1]) != NULL)
        end--;
    for (begin = end; begin > 0 && text[begin - 1] != '\n'; begin--)
        ;
    copy_line(line, size, text + begin, end - begin);
}
