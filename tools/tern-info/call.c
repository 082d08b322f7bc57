/* call.c: calls the hosts through the agent and talks with them, all at the same time.
 *
 * What a host sends is not trusted: lines have a limit, and control characters are replaced. Each agent runs in a
 * session of its own, so that it can neither ask for a password on the terminal nor survive: it is killed with its
 * children at the end, and by the kernel if this process is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tern.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "boot/segment.h"
#include "doctor.h"

#define NS 1e9
#define NS_PER_SECOND 1000000000ll
#define LOOK_MS 100   /* time between two checks for agents that have ended */
#define END_SECONDS 2 /* time in which a host ends after its input is closed */

/* ---- agents ---- */

static struct rlimit files; /* the limit on open files before this process raised it */

__attribute__((noreturn)) static void child_run(char *const *words, const int fd[3], pid_t parent)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    for (int i = 0; i < 3; i++)
        dup2(fd[i], i);
    signal(SIGPIPE, SIG_DFL);
    setrlimit(RLIMIT_NOFILE, &files);
    setenv("SSH_ASKPASS_REQUIRE", "never", 1);
    execvp(words[0], words);
    dprintf(2, INFO_CANNOT_START "%s: %s\n", words[0], strerror(errno));
    _exit(127);
}

/* Wait until the agent ends. */
static void await_end(const struct doctor_host *host, int64_t until)
{
    siginfo_t ended = { 0 };

    while (host->pid > 0 && waitid(P_PID, (id_t)host->pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0 && tern_base_now() < until)
        poll(NULL, 0, 5);
}

/* Close the pipes to the agent, which ends the process on the host. An agent that does not end, too, is killed
 * later. */
static void close_files(struct doctor_host *host)
{
    int *fd[] = { &host->in, &host->out, &host->err };

    for (int i = 0; i < 3; i++) {
        if (*fd[i] >= 0)
            close(*fd[i]);
        *fd[i] = -1;
    }
    host->is_waiting = false;
}

static void fail(struct doctor_host *host, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fail(struct doctor_host *host, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(host->why, sizeof(host->why), format, args);
    va_end(args);
    host->is_failed = true;
    close_files(host);
}

/* Start the agent of a host. */
static void call(const struct doctor *d, struct doctor_host *host)
{
    struct doctor_command *command = malloc(sizeof(*command));
    int                    ends[3][2], child[3], made = 0;
    pid_t                  parent = getpid();

    while (command != NULL && made < 3 && pipe2(ends[made], O_CLOEXEC) == 0)
        made++;
    if (command != NULL && made == 3 && doctor_command(command, d->agent, host->name, "--doctor-node")) {
        for (int i = 0; i < 3; i++)
            child[i] = ends[i][i == 0 ? 0 : 1];
        fflush(stdout);
        host->pid = fork();
        if (host->pid == 0)
            child_run(command->word, child, parent);
    }
    for (int i = 0; i < made; i++)
        close(ends[i][i == 0 ? 0 : 1]);
    free(command);
    host->in = made > 0 ? ends[0][1] : -1;
    host->out = made > 1 ? ends[1][0] : -1;
    host->err = made > 2 ? ends[2][0] : -1;
    for (int i = 0; i < made; i++)
        fcntl(ends[i][i == 0 ? 1 : 0], F_SETFL, O_NONBLOCK);
    if (host->pid <= 0) {
        host->pid = 0;
        fail(host, "The agent cannot be started: %s", strerror(errno));
        return;
    }
    host->is_waiting = true; /* for the greeting */
}

/* ---- what hosts say ---- */

void doctor_ask(struct doctor_host *host, const char *format, ...)
{
    char    line[2 * DOCTOR_LINE];
    va_list args;
    int     len;

    va_start(args, format);
    len = vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    if (host->is_failed || len < 0 || (size_t)len >= sizeof(line) - 1 || strchr(line, '\n') != NULL)
        return;
    line[len++] = '\n';
    if (write(host->in, line, (size_t)len) != len)
        fail(host, "It takes no commands any more");
}

static void take_fact(struct doctor_host *host, const char *text)
{
    struct doctor_facts *facts = &host->facts;
    const struct {
        const char *key;
        char       *value;
        size_t      size;
    } table[] = {
        { "machine ", facts->machine, sizeof(facts->machine) },
        { "network ", facts->network, sizeof(facts->network) },
        { "provider ", facts->provider, sizeof(facts->provider) },
        { "address ", facts->address, sizeof(facts->address) },
        { "port ", facts->port, sizeof(facts->port) },
        { "clock ", facts->clock, sizeof(facts->clock) },
        { "problem ", facts->problem, sizeof(facts->problem) },
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strncmp(text, table[i].key, strlen(table[i].key)) == 0)
            snprintf(table[i].value, table[i].size, "%s", text + strlen(table[i].key));
    if (strncmp(text, "clock ", 6) == 0) {
        struct timespec now;
        double          passed = (double)(tern_base_now() - host->asked_at) / NS;

        clock_gettime(CLOCK_REALTIME, &now);
        host->doubt = passed;
        host->behind = (double)now.tv_sec + (double)now.tv_nsec / NS - passed / 2 - atof(facts->clock);
    }
}

static void take_finding(struct doctor *d, int index, char *text)
{
    char *field[4] = { text }, *at = text;

    for (int i = 1; i < 4; i++) {
        at = strchr(at, '\t');
        if (at == NULL)
            return;
        *at++ = '\0';
        field[i] = at;
    }
    doctor_find(&d->list, index,
                *field[0] == '0'   ? DOCTOR_OK
                : *field[0] == '1' ? DOCTOR_NOTE
                                   : DOCTOR_FAULT,
                field[1], field[2], "%s", field[3]);
}

static void take_result(struct doctor *d, int index, const char *text)
{
    char name[16];
    int  other, at = 0;

    if (sscanf(text, "%15s %d %n", name, &other, &at) != 2 || other < 0 || other >= d->hosts.count || at == 0)
        return;
    for (int kind = 0; kind < 3; kind++) {
        char **result = &d->result[kind][(size_t)index * (size_t)d->hosts.count + (size_t)other];

        if (strcmp(name, doctor_kind_name[kind]) == 0 && *result == NULL)
            *result = strndup(text + at, 400);
    }
}

/* The greeting: the version must be the same, because the rest of the conversation depends on it. */
static void take_greeting(struct doctor_host *host)
{
    struct doctor_facts *facts = &host->facts;
    char                 own[16];

    snprintf(own, sizeof(own), "%u", TERN_SEGMENT_LAYOUT);
    if (sscanf(host->line, DOCTOR_HELLO "%31s %15s", facts->version, facts->layout) != 2) {
        fail(host,
             "Its shell prints '%.100s' where only tern-info should: let its start-up files, such as .bashrc, "
             "print nothing without a terminal",
             host->line);
        return;
    }
    if (strcmp(facts->version, tern_version()) != 0 || strcmp(facts->layout, own) != 0) {
        fail(host, "It has Tern %s (layout %s) and this is %s (layout %s)", facts->version, facts->layout,
             tern_version(), own);
        return;
    }
    host->is_greeted = true;
    host->is_waiting = false;
}

static void take_line(struct doctor *d, struct doctor_host *host)
{
    int index = (int)(host - d->hosts.host);

    if (!host->is_greeted)
        take_greeting(host);
    else if (strncmp(host->line, "fact ", 5) == 0)
        take_fact(host, host->line + 5);
    else if (strncmp(host->line, "finding ", 8) == 0)
        take_finding(d, index, host->line + 8);
    else if (strncmp(host->line, "result ", 7) == 0)
        take_result(d, index, host->line + 7);
    else if (strcmp(host->line, "done") == 0)
        host->is_waiting = false;
}

/* Keep the last line that the agent prints on standard error, even if it does not end: it may be a question. */
static void take_errors(struct doctor_host *host)
{
    char    text[1024];
    ssize_t got;

    while (host->err >= 0 && (got = read(host->err, text, sizeof(text))) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            bool is_end = text[i] == '\n' || text[i] == '\r';

            if (!is_end && host->said_ended)
                host->said_len = 0;
            if (!is_end && host->said_len < sizeof(host->said) - 1)
                host->said[host->said_len++] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i];
            host->said_ended = is_end;
            host->said[host->said_len] = '\0';
        }
    }
    if (!host->is_greeted && !host->is_failed && doctor_asks(host->said))
        fail(host, "The agent asks a question: %.200s", host->said);
}

/* The agent has closed its output: report the reason, if it is known. */
static void take_end(struct doctor_host *host)
{
    siginfo_t ended = { 0 };

    for (int i = 0; i < 50 && ended.si_pid == 0; i++) { /* a process that ends has an exit status soon */
        poll(NULL, 0, i > 0 ? 10 : 0);
        waitid(P_PID, (id_t)host->pid, &ended, WEXITED | WNOHANG | WNOWAIT);
    }
    take_errors(host);
    if (host->is_failed)
        return;
    if (ended.si_pid != 0 && ended.si_code == CLD_EXITED)
        fail(host, "The agent ended with status %d%s%.300s", ended.si_status, *host->said != '\0' ? ": " : "",
             host->said);
    else
        fail(host, "The agent %s%s%.300s", ended.si_pid != 0 ? "was killed" : "closed its output",
             *host->said != '\0' ? ": " : "", host->said);
}

static void take_output(struct doctor *d, struct doctor_host *host)
{
    char    text[4096];
    ssize_t got = 0;

    while (!host->is_failed && host->out >= 0 && (got = read(host->out, text, sizeof(text))) > 0) {
        for (ssize_t i = 0; i < got && !host->is_failed; i++) {
            unsigned char c = (unsigned char)text[i];

            if (c == '\n') {
                host->line[host->line_len] = '\0';
                host->line_len = 0;
                take_line(d, host);
            } else if (host->line_len < sizeof(host->line) - 1) {
                host->line[host->line_len++] = (c < 0x20 && c != '\t') || c == 0x7f ? ' ' : (char)c;
            }
        }
    }
    if (!host->is_failed && (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)))
        take_end(host);
}

/* ---- conversation ---- */

/* Notice agents that have ended although a process that they left behind keeps their output open. */
static void take_ends(struct doctor *d)
{
    for (int i = 0; i < d->hosts.count; i++) {
        struct doctor_host *host = &d->hosts.host[i];
        siginfo_t           ended = { 0 };

        if (!host->is_waiting || waitid(P_PID, (id_t)host->pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            ended.si_pid == 0)
            continue;
        take_output(d, host); /* output that was written before */
        if (host->is_waiting)
            take_end(host);
    }
}

static int waiting(const struct doctor *d)
{
    int count = 0;

    for (int i = 0; i < d->hosts.count; i++)
        count += d->hosts.host[i].is_waiting;
    return count;
}

/* Wait until hosts send something, and handle it. */
static void take_all(struct doctor *d, struct pollfd *fds, int ms)
{
    size_t count = (size_t)d->hosts.count;

    for (size_t i = 0; i < count; i++) {
        const struct doctor_host *host = &d->hosts.host[i];

        fds[2 * i] = (struct pollfd){ .fd = host->is_waiting ? host->out : -1, .events = POLLIN };
        fds[2 * i + 1] = (struct pollfd){ .fd = host->is_waiting ? host->err : -1, .events = POLLIN };
    }
    poll(fds, 2 * count, ms);
    for (size_t i = 0; i < count; i++) {
        struct doctor_host *host = &d->hosts.host[i];

        if (fds[2 * i + 1].revents != 0)
            take_errors(host);
        if (fds[2 * i + 1].revents & (POLLHUP | POLLERR) && host->err >= 0) {
            close(host->err);
            host->err = -1;
        }
        if (fds[2 * i].revents != 0)
            take_output(d, host);
    }
}

void doctor_listen(struct doctor *d, double seconds)
{
    int64_t        until = tern_base_now() + (int64_t)(seconds * NS), left;
    struct pollfd *fds = calloc(2 * (size_t)d->hosts.count, sizeof(*fds));

    while (fds != NULL && waiting(d) > 0 && (left = until - tern_base_now()) > 0) {
        take_all(d, fds, left < LOOK_MS * 1000000ll ? (int)(left / 1000000 + 1) : LOOK_MS);
        take_ends(d);
    }
    for (int i = 0; i < d->hosts.count; i++) {
        struct doctor_host *host = &d->hosts.host[i];

        if (host->is_waiting)
            fail(host, "No answer within %.0f seconds%s%s", seconds, *host->said != '\0' ? ": " : "", host->said);
    }
    free(fds);
}

void doctor_call_all(struct doctor *d)
{
    struct rlimit limit;

    signal(SIGPIPE, SIG_IGN);
    getrlimit(RLIMIT_NOFILE, &files);
    limit = files;
    limit.rlim_cur = limit.rlim_max; /* three pipes for each host */
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; i < d->hosts.count; i++)
        call(d, &d->hosts.host[i]);
    doctor_listen(d, d->seconds);
}

void doctor_end_all(struct doctor *d)
{
    int64_t until = tern_base_now() + END_SECONDS * NS_PER_SECOND;

    for (int i = 0; i < d->hosts.count; i++)
        close_files(&d->hosts.host[i]);
    for (int i = 0; i < d->hosts.count; i++) {
        struct doctor_host *host = &d->hosts.host[i];

        if (host->is_greeted) /* the host ends what it has started */
            await_end(host, until);
        if (host->pid <= 0)
            continue;
        kill(-host->pid, SIGKILL); /* its process has not been waited for, so that no other has its number */
        kill(host->pid, SIGKILL);  /* in case it does not have its own session yet */
        waitpid(host->pid, NULL, 0);
        host->pid = 0;
    }
}
