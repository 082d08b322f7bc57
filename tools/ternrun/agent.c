/* agent.c: the command that starts ternrun on a host: `ssh HOST /path/of/ternrun --node`, or the command of --agent.
 *
 * The agent's standard input and output are the channel. Its standard error is kept until ternrun on the host has
 * answered; if that never happens, the last line of it is reported as the reason. Agents run in their own process
 * groups, so that control-C reaches only ternrun, and the kernel kills them when ternrun dies.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "hosts.h"

#define MOST_WORDS 64
#define STATUS_NS NS_PER_SECOND /* maximum time between the end of a channel and the end of its agent */
#define QUOTE_BYTES 60

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

/* Build the command for a host. words is a copy of the agent's command and is split in place. Returns false if the
 * agent's command is too long. */
static bool build_command(const struct run_caller *caller, const struct run_host *host, char *words,
                          struct command *command)
{
    char *rest = NULL;
    int   count = 0;

    for (char *word = strtok_r(words, " \t", &rest); word != NULL; word = strtok_r(NULL, " \t", &rest)) {
        if (count == MOST_WORDS)
            return false;
        command->word[count++] = word;
    }
    if (uses_shell(command->word[0]))
        quote_path(caller->ternrun, command->ternrun);
    else
        snprintf(command->ternrun, sizeof(command->ternrun), "%s", caller->ternrun);
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

/* Variables that are options of srun, and that users and Slurm set for tasks of the job. They would give the command on
 * a host, and with it all ranks there, the cpus or GPUs of a single task, or change or redirect the bytes of the
 * channel. They are unset for the agent only: the ranks get the environment of the head. */
static void drop_options_of_srun(void)
{
    static const char *const names[] = { "SRUN_CPUS_PER_TASK",  "SLURM_CPUS_PER_TASK",  "SLURM_GPUS_PER_TASK",
                                         "SLURM_TRES_PER_TASK", "SLURM_NTASKS_PER_GPU", "SLURM_GPU_BIND",
                                         "SLURM_EXACT",         "SLURM_EXCLUSIVE",      "SLURM_NTASKS_PER_NODE",
                                         "SLURM_LABELIO",       "SLURM_STDINMODE",      "SLURM_STDOUTMODE",
                                         "SLURM_STDERRMODE",    "SLURM_DEBUG" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
}

/* Exec the agent, or report why that failed and exit. */
__attribute__((noreturn)) static void child_run(const struct run_caller *caller, struct command *command,
                                                const struct std_fds *std_fds, int report_fd, pid_t launcher)
{
    int error;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher)
        _exit(EXIT_TROUBLE); /* ternrun died before the prctl call */
    for (int i = 0; i < 3; i++)
        dup2(std_fds->child[i], i);
    run_process_restore(caller->process);
    drop_options_of_srun();
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

static int start(const struct run_caller *caller, struct run_host *host, struct command *command)
{
    struct std_fds std_fds = { { -1, -1, -1 }, { -1, -1, -1 } };
    int            report_fd[2] = { -1, -1 }, error = 0;
    pid_t          launcher = getpid(), pid = -1;

    if (std_fds_open(&std_fds) && pipe2(report_fd, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0)
        child_run(caller, command, &std_fds, report_fd[1], launcher);
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

bool run_agent_find_self(char *path, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", path, size - 1);

    path[len > 0 ? len : 0] = '\0';
    return len > 0;
}

int run_agent_start(const struct run_caller *caller, struct run_host *host, char *why, size_t size)
{
    struct command command;
    char          *words = strdup(caller->agent);
    int            error;

    if (words == NULL || !build_command(caller, host, words, &command)) {
        if (words == NULL)
            snprintf(why, size, "no memory to call host %s", host->name);
        else
            snprintf(why, size, "--agent has more than %d words; write a script", MOST_WORDS);
        free(words);
        return EXIT_TROUBLE;
    }
    error = start(caller, host, &command);
    if (error != 0)
        snprintf(why, size, "cannot start the agent '%.200s' for host %.100s: %s", command.word[0], host->name,
                 strerror(error));
    free(words);
    if (error == ENOENT || error == EACCES)
        return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    return error != 0 ? EXIT_TROUBLE : 0;
}

void run_agent_waited(struct run_host *host, int status)
{
    if (!WIFSTOPPED(status)) {
        host->agent = 0;
        host->ended = status;
    } else if (WSTOPSIG(status) == SIGTTIN || WSTOPSIG(status) == SIGTTOU) {
        /* The agent is in the background of the terminal, and would stay stopped forever. */
        host->has_asked = true;
        kill(-host->agent, SIGKILL);
    }
}

/* Handle a complete line of the agent's standard error. */
static void line_end(struct run_host *host, run_agent_line *handle, void *arg)
{
    if (host->line_len > 0 && host->line[host->line_len - 1] == '\r')
        host->line_len--;
    host->line[host->line_len] = '\0';
    if (host->line_len > 0) {
        memcpy(host->last, host->line, host->line_len + 1);
        handle(arg, host);
    }
    host->line_len = 0;
}

void run_agent_listen(struct run_host *host, run_agent_line *handle, void *arg)
{
    char    text[4096];
    ssize_t got;

    if (host->err < 0)
        return;
    while ((got = read(host->err, text, sizeof(text))) > 0)
        for (ssize_t i = 0; i < got; i++) {
            if (text[i] == '\n')
                line_end(host, handle, arg);
            else if (host->line_len < sizeof(host->line) - 1)
                host->line[host->line_len++] = text[i];
        }
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    line_end(host, handle, arg);
    close(host->err);
    host->err = -1;
}

bool run_agent_lost(struct run_host *host)
{
    if (host->channel.state == TERN_FRAME_IO_UP && host->agent != 0)
        return false;
    /* The channel is closed, or the agent is gone while another process keeps the channel open. The exit status of the
     * agent explains more than a closed channel, so it is awaited for STATUS_NS. */
    if (host->channel.state == TERN_FRAME_IO_CLOSED && host->agent != 0 && host->lost_at == 0)
        host->lost_at = tern_base_now() + STATUS_NS;
    return host->channel.state == TERN_FRAME_IO_FOREIGN || host->agent == 0 || tern_base_now() >= host->lost_at;
}

/* Copy the first line of foreign data that a host sent, with unprintable bytes replaced. */
static void quote_data(const struct run_host *host, char *text, size_t size)
{
    const struct tern_frame_io_buffer *got = &host->channel.get;
    size_t                             len = 0;

    for (; len < size - 1 && len < got->len && got->data[got->from + len] != '\n'; len++) {
        unsigned char byte = got->data[got->from + len];
        text[len] = isprint(byte) ? (char)byte : '?';
    }
    text[len] = '\0';
}

enum run_loss run_agent_loss(const char *agent, const struct run_host *host, char *text, size_t size)
{
    int         name_len = (int)strcspn(agent, " \t");
    const char *between = *host->last != '\0' ? ": " : "";

    if (host->channel.state == TERN_FRAME_IO_FOREIGN) {
        quote_data(host, text, size < QUOTE_BYTES ? size : QUOTE_BYTES);
        return RUN_LOSS_FOREIGN;
    }
    if (host->has_asked)
        snprintf(
            text, size,
            "%.*s wants to ask something at the terminal, such as a password or whether to trust a key; first make "
            "'%.100s %.100s true' succeed without a question, for ssh with ssh-copy-id",
            name_len, agent, agent, host->name);
    else if (host->agent != 0)
        snprintf(text, size, "%.*s closed its end%s%s", name_len, agent, between, host->last);
    else if (WIFSIGNALED(host->ended))
        snprintf(text, size, "%.*s was killed by signal %d%s%s", name_len, agent, WTERMSIG(host->ended), between,
                 host->last);
    else
        snprintf(text, size, "%.*s ended with status %d%s%s", name_len, agent, WEXITSTATUS(host->ended), between,
                 host->last);
    return RUN_LOSS_CLOSED;
}
