/* window.c: a command with a terminal of its own, which is a window of tmux or xterm: for debuggers of several ranks.
 *
 * The rank's process is `ternrun --window tmux RANK command...`. It creates a pseudo-terminal, asks tmux or xterm to
 * run `ternrun --pane NAME` in a new window, passes the master of the pseudo-terminal to that process through a unix
 * socket, and runs the command on the pseudo-terminal. So the command stays a descendant of ternrun, which supervises
 * it like any rank, and the window only displays the terminal. When the command ends, the window closes. When the
 * window is closed, the command gets SIGHUP.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "ternrun.h"

#define OPEN_MS 30000 /* time for a window to appear */

/* Find the path of ternrun. Returns false if it is unknown, or contains characters that a text of wrap.c cannot. */
static bool find_self(char *path, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", path, size - 1);

    path[len > 0 ? len : 0] = '\0';
    return len > 0 && strpbrk(path, "'%") == NULL;
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value != NULL && *value != '\0';
}

const char *run_window_tool(const char *command)
{
    static char *text; /* used until ternrun ends */
    char         path[4096];
    const char  *how = is_set("TMUX") ? "tmux" : is_set("DISPLAY") ? "xterm" : NULL;

    if (how == NULL || !find_self(path, sizeof(path)))
        return NULL;
    return asprintf(&text, "'%s' --window %s %%r %s", path, how, command) > 0 ? text : NULL;
}

/* ---- the socket ---- */

static socklen_t fill_address(struct sockaddr_un *address, const char *name)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "%s", name); /* abstract: no file is left behind */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address->sun_path + 1));
}

/* Listen on a socket with a random name. Returns its descriptor, or -1. */
static int listen_socket(char *name, size_t size)
{
    struct sockaddr_un address;
    unsigned long long random = 0;
    int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -1;
    snprintf(name, size, "tern-window-%llx", random);
    return bind(fd, (struct sockaddr *)&address, fill_address(&address, name)) == 0 && listen(fd, 8) == 0 ? fd : -1;
}

/* Wait for the window. Connections of other users are refused. Returns the connection, or -1. */
static int accept_window(int listener)
{
    struct pollfd ready = { .fd = listener, .events = POLLIN };
    struct ucred  peer;
    socklen_t     len = sizeof(peer);
    int           fd;

    while (poll(&ready, 1, OPEN_MS) > 0) {
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid())
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

union control {
    struct cmsghdr head;
    char           bytes[CMSG_SPACE(sizeof(int))];
};

static bool send_descriptor(int connection, int fd)
{
    union control   control = { 0 };
    struct iovec    byte = { .iov_base = "", .iov_len = 1 };
    struct msghdr   message = { .msg_iov = &byte, .msg_iovlen = 1 };
    struct cmsghdr *head;

    message.msg_control = &control;
    message.msg_controllen = sizeof(control);
    head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    return sendmsg(connection, &message, MSG_NOSIGNAL) == 1;
}

static int receive_descriptor(int connection)
{
    union control   control = { 0 };
    char            text[1];
    struct iovec    byte = { .iov_base = text, .iov_len = 1 };
    struct msghdr   message = { .msg_iov = &byte, .msg_iovlen = 1 };
    struct cmsghdr *head;
    int             fd = -1;

    message.msg_control = &control;
    message.msg_controllen = sizeof(control);
    if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != 1 || (head = CMSG_FIRSTHDR(&message)) == NULL ||
        head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof(int)))
        return -1;
    memcpy(&fd, CMSG_DATA(head), sizeof(fd));
    return fd;
}

/* ---- in the rank's process ---- */

__attribute__((noreturn)) static void exec_window(const char *how, const char *rank, const char *name)
{
    char path[4096], title[64];

    snprintf(title, sizeof(title), "rank %.20s", rank);
    if (!find_self(path, sizeof(path)))
        _exit(EXIT_TROUBLE);
    if (strcmp(how, "tmux") == 0)
        execlp("tmux", "tmux", "new-window", "-n", title, path, "--pane", name, (char *)NULL);
    else
        execlp("xterm", "xterm", "-T", title, "-e", path, "--pane", name, (char *)NULL);
    fprintf(stderr, "ternrun: cannot start '%s' for a window of rank %s: %s\n", how, rank, strerror(errno));
    _exit(EXIT_NOT_FOUND);
}

/* Open a window. Returns the connection to the ternrun --pane in it, or -1. */
static int open_window(const char *how, const char *rank)
{
    char name[64];
    int  listener = listen_socket(name, sizeof(name)), connection = -1;

    if (listener < 0)
        return -1;
    if (fork() == 0)
        exec_window(how, rank, name);
    connection = accept_window(listener);
    close(listener);
    return connection;
}

__attribute__((noreturn)) static void exec_command(int slave, char **command)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    ioctl(slave, TIOCSCTTY, 0);
    for (int i = 0; i < 3; i++)
        dup2(slave, i);
    execvp(command[0], command);
    fprintf(stderr, "ternrun: cannot start '%s': %s\r\n", command[0], strerror(errno));
    _exit(EXIT_NOT_FOUND);
}

int run_window(char **argv)
{
    int   master, slave = -1, connection, status = 0;
    pid_t pid;

    if (argv[0] == NULL || argv[1] == NULL || argv[2] == NULL)
        return EXIT_USAGE;
    master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0)
        slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    connection = slave >= 0 ? open_window(argv[0], argv[1]) : -1;
    if (connection < 0 || !send_descriptor(connection, master)) {
        fprintf(stderr, "ternrun: cannot open a window of %s for rank %s\n", argv[0], argv[1]);
        return EXIT_TROUBLE;
    }
    close(master);
    pid = fork();
    if (pid == 0)
        exec_command(slave, argv + 2);
    close(slave);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid < 0)
        return EXIT_TROUBLE;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- in the window ---- */

static volatile sig_atomic_t is_resized = 1;

static void note_resize(int signal)
{
    (void)signal;
    is_resized = 1;
}

/* Copy what can be read. Returns false at the end. */
static bool copy(int from, int to)
{
    char    text[4096];
    ssize_t got = read(from, text, sizeof(text)), sent;

    for (ssize_t done = 0; done < got; done += sent)
        if ((sent = write(to, text + done, (size_t)(got - done))) < 0)
            return false;
    return got > 0 || (got < 0 && errno == EINTR);
}

/* Connect the window's terminal with the command's, until the command ends. */
static void relay(int master)
{
    struct pollfd  fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .fd = master, .events = POLLIN } };
    struct winsize window;

    for (;;) {
        if (is_resized && ioctl(STDIN_FILENO, TIOCGWINSZ, &window) == 0)
            ioctl(master, TIOCSWINSZ, &window);
        is_resized = 0;
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[1].revents != 0 && !copy(master, STDOUT_FILENO))
            return;
        if (fds[0].revents != 0 && !copy(STDIN_FILENO, master))
            return;
    }
}

int run_pane(const char *name)
{
    struct sockaddr_un address;
    struct sigaction   resize = { .sa_handler = note_resize };
    struct termios     old, raw;
    int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), master = -1;

    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, fill_address(&address, name)) == 0)
        master = receive_descriptor(fd);
    if (master < 0 || tcgetattr(STDIN_FILENO, &old) != 0) {
        fprintf(stderr, "ternrun: --pane is for the windows that 'ternrun --gdb' opens; see ternrun --help\n");
        return EXIT_USAGE;
    }
    sigaction(SIGWINCH, &resize, NULL);
    raw = old;
    cfmakeraw(&raw);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    relay(master);
    tcsetattr(STDIN_FILENO, TCSANOW, &old);
    return 0;
}
