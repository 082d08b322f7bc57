/* agent.c: the command that starts ternrun on a host: `ssh HOST /path/of/ternrun --node`, or the command of --agent.
 *
 * The agent's standard input and output are the channel. Its standard error is kept until ternrun on the host has
 * answered; if that never happens, the last line of it is reported as the reason. Agents run in their own process
 * groups, so that control-C reaches only ternrun, and the kernel kills them when ternrun dies.
 */
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

/* The command for a host. The words point into a copy of config->agent that is split at its blanks. */
struct command {
    char *word[MOST_WORDS + 4];
    char  ternrun[4 * PATH_MAX + 3]; /* path of ternrun, quoted if necessary */
};

/* Three pipes: the agent's ends and ternrun's ends. */
struct std_fds {
    int child[3], mine[3];
};

/* Return whether the agent passes the command to a shell on the host, as ssh does, which would split a path at its
 * blanks. Other agents get the path unchanged. */
static bool uses_shell(const char *agent)
{
    const char *slash = strrchr(agent, '/'), *name = slash != NULL ? slash + 1 : agent;

    return strcmp(name, "ssh") == 0 || strcmp(name, "rsh") == 0;
}

/* Write the path so that a shell reads it as one word. out must hold four bytes for each byte of path, and three
 * more. */
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

/* Build the command for a host. words is a copy of the agent's command and is split in place. Returns false after
 * printing a message. */
static bool build_command(char *words, const struct run_host *host, struct command *command)
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

static void std_fds_close(const int fd[3])
{
    for (int i = 0; i < 3; i++)
        if (fd[i] >= 0)
            close(fd[i]);
}

static bool std_fds_open(struct std_fds *std_fds)
{
    for (int i = 0; i < 3; i++) {
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) != 0)
            return false;
        std_fds->child[i] = ends[i == 0 ? 0 : 1];
        std_fds->mine[i] = ends[i == 0 ? 1 : 0];
    }
    return fcntl(std_fds->mine[2], F_SETFL, O_NONBLOCK) == 0;
}

/* Exec the agent, or report why that failed and exit. */
__attribute__((noreturn)) static void child_run(const struct run_job *job, struct command *command,
                                                const struct std_fds *std_fds, int report_fd, pid_t launcher)
{
    int error;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher)
        _exit(EXIT_TROUBLE); /* ternrun died before the prctl call */
    for (int i = 0; i < 3; i++)
        dup2(std_fds->child[i], i);
    run_process_restore(&job->process);
    execvp(command->word[0], command->word);
    error = errno;
    while (write(report_fd, &error, sizeof(error)) < 0 && errno == EINTR)
        ;
    _exit(EXIT_NOT_FOUND);
}

/* Wait until the child has executed the agent. Returns 0, or the errno value of the failure. */
static int child_started(pid_t pid, int report_fd)
{
    int     error = 0;
    ssize_t got;

    do
        got = read(report_fd, &error, sizeof(error));
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof(error))
        return 0;
    waitpid(pid, NULL, 0);
    return error;
}

static int start(struct run_job *job, struct run_host *host, struct command *command)
{
    struct std_fds std_fds = { { -1, -1, -1 }, { -1, -1, -1 } };
    int            report_fd[2] = { -1, -1 }, error = 0;
    pid_t          launcher = getpid(), pid = -1;

    if (std_fds_open(&std_fds) && pipe2(report_fd, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0)
        child_run(job, command, &std_fds, report_fd[1], launcher);
    if (pid < 0)
        error = errno;
    std_fds_close(std_fds.child);
    if (report_fd[1] >= 0)
        close(report_fd[1]);
    if (pid > 0)
        error = child_started(pid, report_fd[0]);
    if (report_fd[0] >= 0)
        close(report_fd[0]);
    if (error != 0) {
        std_fds_close(std_fds.mine);
        return error;
    }
    setpgid(pid, pid); /* parent and child both set it; the first one wins */
    host->agent = pid;
    host->err = std_fds.mine[2];
    tern_boot_frame_io_open(&host->channel, std_fds.mine[1], std_fds.mine[0]);
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
    if (words == NULL || !build_command(words, host, &command)) {
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

/* Handle a complete line of the agent's standard error. */
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
