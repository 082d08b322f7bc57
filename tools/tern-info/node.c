/* node.c: the side of tern-info --doctor that runs on a host: reads commands from standard input and answers on
 * standard output; see doctor.h. The process ends when its input is closed, even if the head was killed. It then kills
 * the commands that it has started, with their children. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <tern.h>
#include <unistd.h>

#include "base/options.h"
#include "boot/segment.h"
#include "doctor.h"

#define MOST_TRIALS 256

const char *const doctor_kind_name[3] = { "connect", "reach", "resolve" };

/* Something that the host is asked to try. */
struct trial {
    enum doctor_kind      kind;
    int                   index;
    char                  name[DOCTOR_NAME], port[16];
    struct doctor_command command;
};

static struct {
    struct trial    *trial; /* [MOST_TRIALS] */
    struct info_task task[MOST_TRIALS];
    int              count;
    char             agent[DOCTOR_LINE];
    pid_t            answerer; /* the process that accepts connections; 0: none */
} node;

/* Print text in a line without control characters. */
static void print_field(const char *text)
{
    for (; *text != '\0'; text++)
        putchar((unsigned char)*text < 0x20 ? ' ' : *text);
}

/* ---- facts ---- */

static void print_facts(const char *arguments)
{
    struct doctor_job   job = { .several = true };
    struct doctor_list  list = { 0 };
    struct doctor_facts facts;

    if (sscanf(arguments, "%d %d %lf", &job.ranks, &job.all, &job.seconds) != 3)
        return;
    info_options_load(environ);
    doctor_facts_collect(&facts, job.seconds, true);
    printf("fact machine %s\nfact network %s\nfact provider %s\nfact address %s\nfact clock %s\n", facts.machine,
           facts.network, facts.provider, facts.address, facts.clock);
    doctor_machine(&list, &job, &facts);
    for (size_t i = 0; i < list.count; i++) {
        printf("finding %d\t", (int)list.items[i].level);
        print_field(list.items[i].check);
        putchar('\t');
        print_field(list.items[i].remedy);
        putchar('\t');
        print_field(list.items[i].text);
        putchar('\n');
    }
    free(list.items);
}

/* ---- connections ---- */

static int open_port(int family, unsigned port)
{
    struct sockaddr_in  in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
    int                 fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;

    if (fd < 0)
        return -1;
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, family == AF_INET ? (struct sockaddr *)&in : (struct sockaddr *)&in6,
             family == AF_INET ? sizeof(in) : sizeof(in6)) == 0 &&
        listen(fd, 128) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Open a port of those that ranks would use: one that the system chooses or, if the variables of libfabric's provider
 * tcp name a range, one of that range. Returns a listening socket, or -1. */
static int open_any_port(void)
{
    const char *low = getenv("FI_TCP_PORT_LOW_RANGE"), *high = getenv("FI_TCP_PORT_HIGH_RANGE");
    unsigned    first = low != NULL ? (unsigned)atoi(low) : 0, last = high != NULL ? (unsigned)atoi(high) : first;
    int         fd = -1;

    for (unsigned port = first; fd < 0 && port <= last && port <= 65535; port++) {
        fd = open_port(AF_INET6, port);
        if (fd < 0)
            fd = open_port(AF_INET, port);
    }
    return fd;
}

/* Tell every process that connects which host this is, until the parent ends. */
__attribute__((noreturn)) static void answer(int door, const char *index, pid_t parent)
{
    char text[64];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(0);
    close(1);
    snprintf(text, sizeof(text), DOCTOR_HELLO "%.20s\n", index);
    while (getppid() == parent) {
        int fd = accept(door, NULL, NULL);

        if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
            poll(NULL, 0, 100);
        if (fd < 0)
            continue;
        send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
        close(fd);
    }
    _exit(0);
}

static void open_door(const char *index)
{
    struct sockaddr_storage address = { 0 };
    socklen_t               len = sizeof(address);
    pid_t                   parent = getpid();
    char                    port[16];
    int                     door = open_any_port();

    if (door < 0 || getsockname(door, (struct sockaddr *)&address, &len) != 0) {
        printf("fact problem no port can be opened: %s\n", strerror(errno));
        return;
    }
    fflush(stdout);
    node.answerer = fork();
    if (node.answerer == 0)
        answer(door, index, parent);
    close(door);
    if (getnameinfo((struct sockaddr *)&address, len, NULL, 0, port, sizeof(port), NI_NUMERICSERV) == 0)
        printf("fact port %s\n", port);
}

/* Connect to the port of another host, and print "ok" if that host answers. */
static void try_connect(const void *arg)
{
    const struct trial *trial = arg;
    struct addrinfo *list = NULL, hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
    int              error = getaddrinfo(trial->name, trial->port, &hints, &list), fd;
    char             text[64] = "", line[64], wanted[64];
    ssize_t          got;

    if (error != 0) {
        printf("%s is no address: %s", trial->name, gai_strerror(error));
        return;
    }
    fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, list->ai_addr, list->ai_addrlen) != 0) {
        printf("%s", strerror(errno));
        return;
    }
    got = recv(fd, text, sizeof(text) - 1, MSG_WAITALL);
    text[got > 0 ? got : 0] = '\0';
    info_first_line(line, sizeof(line), text);
    snprintf(wanted, sizeof(wanted), DOCTOR_HELLO "%d", trial->index);
    if (strcmp(line, wanted) == 0)
        printf("ok");
    else
        printf("another machine or program answers there");
}

/* ---- trials ---- */

static void add_trial(enum doctor_kind kind, const char *arguments)
{
    struct trial *trial = &node.trial[node.count];

    if (node.count == MOST_TRIALS)
        return;
    *trial = (struct trial){ .kind = kind };
    if (sscanf(arguments, "%d %255s %15s", &trial->index, trial->name, trial->port) < 2)
        return;
    node.task[node.count] = (struct info_task){ .run = try_connect, .arg = trial };
    if (kind == DOCTOR_RESOLVE)
        node.task[node.count] = (struct info_task){ .run = doctor_print_lookup, .arg = trial->name };
    if (kind == DOCTOR_REACH) {
        if (!doctor_command(&trial->command, node.agent, trial->name, "--version"))
            return;
        node.task[node.count] = (struct info_task){ .argv = trial->command.word };
    }
    node.count++;
}

/* Print the result of calling another host. */
static void print_reach(const struct info_task *task)
{
    char line[400], wanted[64];

    info_first_line(line, sizeof(line), task->text);
    snprintf(wanted, sizeof(wanted), "tern-info %s", tern_version());
    if (task->status == 0 && !task->is_late && strcmp(line, wanted) == 0) {
        puts("ok");
        return;
    }
    info_last_line(line, sizeof(line), task->text);
    if (task->is_late && *line == '\0')
        puts("no answer in time");
    else if (*line == '\0')
        printf("it ended with status %d\n", task->status);
    else
        puts(line);
}

static void run_trials(const char *arguments)
{
    double seconds = atof(arguments);
    char   line[400];

    info_tasks_run(node.task, (size_t)node.count, seconds > 0 ? seconds : 1, true);
    for (int i = 0; i < node.count; i++) {
        const struct trial     *trial = &node.trial[i];
        const struct info_task *task = &node.task[i];

        printf("result %s %d ", doctor_kind_name[trial->kind], trial->index);
        info_first_line(line, sizeof(line), task->text);
        if (trial->kind == DOCTOR_REACH)
            print_reach(task);
        else if (task->is_late)
            printf("no answer within %.0f seconds\n", seconds);
        else
            printf("%s\n", *line != '\0' ? line : "no result");
    }
    node.count = 0;
}

/* ---- commands ---- */

static void set_variable(char *text)
{
    char *equals = strchr(text, '=');

    if (equals != NULL && (strncmp(text, "TERN_", 5) == 0 || strncmp(text, "FI_", 3) == 0)) {
        *equals = '\0';
        setenv(text, equals + 1, 1);
    }
}

/* Carry out a command. Those that the head waits for end with "done". */
static void obey(char *line)
{
    char *arguments = line + strcspn(line, " ");
    bool  is_waited = true;

    if (*arguments != '\0')
        *arguments++ = '\0';
    if (strcmp(line, "facts") == 0) {
        print_facts(arguments);
    } else if (strcmp(line, "listen") == 0) {
        open_door(arguments);
    } else if (strcmp(line, "go") == 0) {
        run_trials(arguments);
    } else {
        is_waited = false;
        if (strcmp(line, "set") == 0)
            set_variable(arguments);
        if (strcmp(line, "agent") == 0)
            snprintf(node.agent, sizeof(node.agent), "%s", arguments);
        for (int kind = 0; kind < 3; kind++)
            if (strcmp(line, doctor_kind_name[kind]) == 0)
                add_trial((enum doctor_kind)kind, arguments);
    }
    if (is_waited)
        puts("done");
    fflush(stdout);
}

int doctor_node(void)
{
    static char line[2 * DOCTOR_LINE];

    signal(SIGPIPE, SIG_DFL);
    /* An agent that executes tern-info in its own process has set a signal. The end of the input, which comes first,
     * is to end this process instead. */
    prctl(PR_SET_PDEATHSIG, 0);
    node.trial = calloc(MOST_TRIALS, sizeof(*node.trial));
    if (node.trial == NULL)
        return 1;
    printf(DOCTOR_HELLO "%s %u\n", tern_version(), TERN_SEGMENT_LAYOUT);
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        obey(line);
    }
    if (node.answerer > 0) {
        kill(node.answerer, SIGKILL);
        waitpid(node.answerer, NULL, 0);
    }
    free(node.trial);
    return 0;
}
