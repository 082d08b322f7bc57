/* agent.c: the command that brings ternrun to a host: `ssh HOST /path/of/ternrun --node`, or what --agent says.
 *
 * Its standard input and output are the channel. What it says on standard error is kept until ternrun has answered: if
 * that never happens, the last line of it tells why. Agents are in process groups of their own, so that control-C
 * reaches ternrun alone; and the kernel kills them when ternrun dies.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hosts.h"

#define MOST_WORDS 64

/* The command for a host. The words are those of config->agent, which is cut at its blanks once. */
struct command {
    char *word[MOST_WORDS + 4];
    char  ternrun[4 * PATH_MAX + 3]; /* its path, perhaps quoted */
};

/* Three pipes, as the agent (its end first) and as ternrun holds them. */
struct wires {
    int child[3], mine[3];
};

/* Whether the agent hands the command to a shell on the host, as ssh does, which would cut a path at its blanks. Other
 * agents get the path as it is. */
static bool uses_shell(const char *agent)
{
    const char *slash = strrchr(agent, '/'), *name = slash != NULL ? slash + 1 : agent;

    return strcmp(name, "ssh") == 0 || strcmp(name, "rsh") == 0;
}

/* Write the path so that a shell takes it for one word. out has room for four bytes for each of its own, and three. */
static void quote_path(const char *path, char *out)
{
    if (path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+,:@%=")] == '\0') {
        strcpy(out, path);
        return;
    }
    *out++ = '\'';
    for (; *path != '\0'; path++) {
        if (*path == '\'') {
            memcpy(out, "'\\''", 4);
            out += 4;
        } else {
            *out++ = *path;
        }
    }
    memcpy(out, "'", 2);
}

/* words is a copy of the agent's, and is cut up. */
static bool put_together(char *words, const struct run_host *host, struct command *command)
{
    char    path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char   *rest = NULL;
    int     count = 0;

    if (len < 0) {
        run_say("cannot find out where ternrun is: %s", strerror(errno));
        return false;
    }
    path[len] = '\0';
    for (char *word = strtok_r(words, " \t", &rest); word != NULL; word = strtok_r(NULL, " \t", &rest)) {
        if (count == MOST_WORDS) {
            run_say("--agent has more than %d words; write a script", MOST_WORDS);
            return false;
        }
        command->word[count++] = word;
    }
    if (uses_shell(command->word[0]))
        quote_path(path, command->ternrun);
    else
        strcpy(command->ternrun, path);
    command->word[count++] = host->name;
    command->word[count++] = command->ternrun;
    command->word[count++] = "--node";
    command->word[count] = NULL;
    return true;
}

static void wires_close(const int fd[3])
{
    for (int i = 0; i < 3; i++)
        if (fd[i] >= 0)
            close(fd[i]);
}

static bool wires_open(struct wires *wires)
{
    for (int i = 0; i < 3; i++) {
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) != 0)
            return false;
        wires->child[i] = ends[i == 0 ? 0 : 1];
        wires->mine[i] = ends[i == 0 ? 1 : 0];
    }
    return fcntl(wires->mine[2], F_SETFL, O_NONBLOCK) == 0;
}

/* Become the agent, or say why not. */
__attribute__((noreturn)) static void child_run(const struct run_job *job, struct command *command,
                                                const struct wires *wires, int tell, pid_t launcher)
{
    int error;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher)
        _exit(EXIT_TROUBLE); /* ternrun died before the line above */
    for (int i = 0; i < 3; i++)
        dup2(wires->child[i], i);
    run_process_restore(&job->process);
    execvp(command->word[0], command->word);
    error = errno;
    while (write(tell, &error, sizeof(error)) < 0 && errno == EINTR)
        ;
    _exit(EXIT_NOT_FOUND);
}

/* Wait until the child has become the agent; 0, or why it could not. */
static int child_started(pid_t pid, int listen)
{
    int     error = 0;
    ssize_t got;

    do
        got = read(listen, &error, sizeof(error));
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof(error))
        return 0;
    waitpid(pid, NULL, 0);
    return error;
}

static int start(struct run_job *job, struct run_host *host, struct command *command)
{
    struct wires wires = { { -1, -1, -1 }, { -1, -1, -1 } };
    int          tell[2] = { -1, -1 }, error = 0;
    pid_t        launcher = getpid(), pid = -1;

    if (wires_open(&wires) && pipe2(tell, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0)
        child_run(job, command, &wires, tell[1], launcher);
    if (pid < 0)
        error = errno;
    wires_close(wires.child);
    if (tell[1] >= 0)
        close(tell[1]);
    if (pid > 0)
        error = child_started(pid, tell[0]);
    if (tell[0] >= 0)
        close(tell[0]);
    if (error != 0) {
        wires_close(wires.mine);
        return error;
    }
    setpgid(pid, pid); /* whoever comes first */
    host->agent = pid;
    host->err = wires.mine[2];
    tern_boot_frame_io_open(&host->channel, wires.mine[1], wires.mine[0]);
    return 0;
}

bool run_agent_start(struct run_job *job, struct run_host *host, int *status)
{
    struct command command;
    char          *words = strdup(job->config->agent);
    int            error;

    *status = EXIT_TROUBLE;
    if (words == NULL)
        run_say("no memory to call host %s", host->name);
    if (words == NULL || !put_together(words, host, &command)) {
        free(words);
        return false;
    }
    error = start(job, host, &command);
    if (error != 0)
        run_say("cannot start the agent '%.200s' for host %.100s: %s", command.word[0], host->name, strerror(error));
    if (error == ENOENT || error == EACCES)
        *status = error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    free(words);
    return error == 0;
}

/* A line of the agent's. */
static void line_end(struct run_job *job, struct run_host *host)
{
    if (host->line_len > 0 && host->line[host->line_len - 1] == '\r')
        host->line_len--;
    host->line[host->line_len] = '\0';
    if (host->line_len > 0) {
        memcpy(host->last, host->line, host->line_len + 1);
        if (host->state != HOST_CALLED || job->config->verbose)
            run_say("host %s: %s", host->name, host->line);
    }
    host->line_len = 0;
}

void run_agent_listen(struct run_job *job, struct run_host *host)
{
    char    text[4096];
    ssize_t got;

    if (host->err < 0)
        return;
    while ((got = read(host->err, text, sizeof(text))) > 0)
        for (ssize_t i = 0; i < got; i++) {
            if (text[i] == '\n')
                line_end(job, host);
            else if (host->line_len < sizeof(host->line) - 1)
                host->line[host->line_len++] = text[i];
        }
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    line_end(job, host);
    close(host->err);
    host->err = -1;
}

void run_agent_text(const struct run_job *job, const struct run_host *host, char *text, size_t size)
{
    int         name_len = (int)strcspn(job->config->agent, " \t");
    const char *name = job->config->agent, *between = *host->last != '\0' ? ": " : "";

    if (host->agent != 0)
        snprintf(text, size, "%.*s closed its end%s%s", name_len, name, between, host->last);
    else if (WIFSIGNALED(host->ended))
        snprintf(text, size, "%.*s was killed by signal %d%s%s", name_len, name, WTERMSIG(host->ended), between,
                 host->last);
    else
        snprintf(text, size, "%.*s ended with status %d%s%s", name_len, name, WEXITSTATUS(host->ended), between,
                 host->last);
}
