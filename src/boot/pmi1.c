/* pmi1.c: a client of PMI-1, the line protocol that MPICH's mpiexec, Flux and Slurm's pmi2 speak over the inherited
 * socket PMI_FD.
 *
 * The whole process shares one stream: an MPI library may have used it before or may use it later, and each user
 * assumes that it is the only one. The rules that follow from this are:
 *
 *   - A reply is read up to its newline and no further.
 *   - Keys carry the prefix "tern", and 'init' may be sent twice (only Slurm objects).
 *   - 'finalize' makes the launcher close the connection, so only the last user may send it. The last user is known
 *     when the process ends, and 'finalize' is sent then. If an MPI library has sent it before, Tern's is not read.
 *   - If a connection ends without 'finalize', mpiexec kills the job, sometimes with status 0. So a rank that exits
 *     without tern_finalize also sends it if other ranks watch for its death: they end the job with a clear message.
 *   - While Tern waits for a reply, idle hooks of the program may call MPI (poll_deadline.h). MPI's progress does not
 *     use the connection; MPI_Comm_spawn and the like do, and docs/launchers.md excludes them from hooks.
 *   - Tern uses its own duplicate of the descriptor, because MPI closes the inherited one, whose number may then be
 *     reused for something else.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parse.h"
#include "boot/poll_deadline.h"
#include "boot/pmi.h"
#include "boot/segment.h"

#define LINE 2048        /* longest line of the protocol; values have at most 1024 bytes */
#define FINALIZE_MS 5000 /* time that the launcher has to reply to 'finalize' */

static struct connection {
    struct tern_pmi pmi;
    int             fd;
    pid_t           owner; /* the process that opened the connection; its children do not use it */
    enum { USED, LEFT, FAILED } state;
    char space[256]; /* the launcher's name for the key space of the job */
} one = { .fd = -1 };

bool tern_boot_pmi1_field(const char *line, size_t len, const char *key, char *value, size_t size)
{
    size_t key_len = strlen(key), at = 0, end;

    while (at < len && line[at] != '\n') {
        for (end = at; end < len && line[end] != ' ' && line[end] != '\n';)
            end++;
        if (end - at > key_len && memcmp(line + at, key, key_len) == 0 && line[at + key_len] == '=') {
            size_t value_len = end - at - key_len - 1;

            if (value_len >= size)
                return false;
            memcpy(value, line + at + key_len + 1, value_len);
            value[value_len] = '\0';
            return true;
        }
        at = end + (end < len && line[end] == ' ');
    }
    return false;
}

static tern_status gone(const char *why)
{
    return tern_base_fail(TERN_ERR_BOOT,
                          "the launcher closed its PMI-1 connection (PMI_FD): %s; it serves one program for each rank, "
                          "and none after MPI_Finalize",
                          why);
}

static tern_status send_text(const char *text, size_t len, struct tern_poll_deadline *deadline)
{
    while (len > 0) {
        ssize_t sent = send(one.fd, text, len, MSG_NOSIGNAL);

        if (sent > 0) {
            text += sent;
            len -= (size_t)sent;
        } else if (sent < 0 && errno == EAGAIN) {
            tern_status st = tern_boot_poll(deadline, &(struct pollfd){ one.fd, POLLOUT, 0 }, 1, INT64_MAX);

            if (st != TERN_OK)
                return st;
        } else if (sent < 0 && errno != EINTR) {
            return gone(strerror(errno));
        }
    }
    return TERN_OK;
}

/* Read one line, including its newline. Bytes after the newline stay in the socket for other users of the
 * connection. */
static tern_status read_line(char *line, size_t *len, struct tern_poll_deadline *deadline)
{
    size_t have = 0;

    for (;;) {
        tern_status st = tern_boot_poll(deadline, &(struct pollfd){ one.fd, POLLIN, 0 }, 1, INT64_MAX);
        ssize_t     seen;
        char       *end;

        if (st != TERN_OK)
            return st;
        if (have == LINE)
            return tern_base_fail(TERN_ERR_BOOT, "the launcher's answer over PMI-1 has more than %d bytes", LINE);
        seen = recv(one.fd, line + have, LINE - have, MSG_PEEK | MSG_DONTWAIT);
        if (seen == 0)
            return gone("no answer");
        if (seen < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (seen < 0)
            return gone(strerror(errno));
        end = memchr(line + have, '\n', (size_t)seen);
        seen = end != NULL ? end + 1 - (line + have) : seen;
        if (recv(one.fd, line + have, (size_t)seen, 0) != seen) /* consume the bytes that were peeked at */
            return gone("it was shut down while Tern read from it");
        have += (size_t)seen;
        if (end != NULL)
            return *len = have, TERN_OK;
    }
}

/* Send a request and check that the reply is the command `due`, with rc 0. If value is not NULL, the field of the reply
 * with the given name is copied to value. what names the awaited event in reports. */
static tern_status ask(const char *what, const char *due, const char *field, char *value, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static tern_status ask(const char *what, const char *due, const char *field, char *value, const char *format, ...)
{
    char                      line[LINE], word[64];
    struct tern_poll_deadline deadline;
    tern_status               st;
    size_t                    len = 0;
    va_list                   args;
    int                       wrote;

    va_start(args, format);
    wrote = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (wrote < 0 || (size_t)wrote >= sizeof(line))
        return tern_base_fail(TERN_ERR_BOOT, "a request of %d bytes is too long for PMI-1", wrote);
    tern_boot_poll_begin(&deadline, what);
    if ((st = send_text(line, (size_t)wrote, &deadline)) != TERN_OK ||
        (st = read_line(line, &len, &deadline)) != TERN_OK)
        return st;
    if (!tern_boot_pmi1_field(line, len, "cmd", word, sizeof(word)) || strcmp(word, due) != 0 ||
        (tern_boot_pmi1_field(line, len, "rc", word, sizeof(word)) && strcmp(word, "0") != 0) ||
        (value != NULL && !tern_boot_pmi1_field(line, len, field, value, TERN_PMI_VALUE)))
        return tern_base_fail(TERN_ERR_BOOT,
                              "the launcher answered '%.*s' over PMI-1 where '%s' was due; start the job with ternrun",
                              (int)(len > 200 ? 200 : len - 1), line, due);
    return TERN_OK;
}

static tern_status read_number(const char *name, int64_t min, int64_t max, int *out)
{
    const char *text = getenv(name);
    int64_t     value;

    if (text == NULL || !tern_base_parse_count(text, &value) || value < min || value > max)
        return tern_base_fail(TERN_ERR_BOOT,
                              "PMI_FD hints at a launcher with PMI-1, but %s is '%.100s' and not a number of %lld to "
                              "%lld; start the job with mpiexec or ternrun, or set TERN_LAUNCHER=alone",
                              name, text != NULL ? text : "", (long long)min, (long long)max);
    *out = (int)value;
    return TERN_OK;
}

/* Duplicate the descriptor of the connection, and open a pidfd of the process at its other end. */
static tern_status connect_own(void)
{
    struct ucred peer = { 0 };
    socklen_t    len = sizeof(peer);
    int          type, fd;
    tern_status  st = read_number("PMI_FD", 0, INT_MAX, &fd);

    if (st != TERN_OK)
        return st;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){ sizeof(type) }) != 0 || type != SOCK_STREAM)
        return tern_base_fail(TERN_ERR_BOOT,
                              "PMI_FD=%d hints at a launcher with PMI-1, but that descriptor is not its connection: a "
                              "program in between closed it, or MPI_Finalize did; let it stay open, or set "
                              "TERN_LAUNCHER=alone to be a job of one",
                              fd);
    one.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (one.fd < 0)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot copy the descriptor of the PMI-1 connection: %s",
                              strerror(errno));
    /* A socket pair names the process that created it, which is the launcher's; a network connection names none. */
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid > 0 && peer.pid != getpid())
        one.pmi.gone = (int)syscall(SYS_pidfd_open, peer.pid, 0);
    return TERN_OK;
}

static void pmi1_close(bool in_order)
{
    one.state = in_order ? LEFT : FAILED;
    if (one.pmi.gone >= 0)
        close(one.pmi.gone);
    one.pmi.gone = -1;
}

static tern_status pmi1_open(struct tern_pmi **out)
{
    char        space[TERN_PMI_VALUE];
    tern_status st;

    one.pmi = (struct tern_pmi){ .ops = &tern_boot_pmi1, .gone = -1, .fd = -1 };
    one.owner = getpid();
    one.state = USED;
    if ((st = read_number("PMI_SIZE", 1, TERN_MAX_RANKS, &one.pmi.ranks)) != TERN_OK ||
        (st = read_number("PMI_RANK", 0, one.pmi.ranks - 1, &one.pmi.rank)) != TERN_OK ||
        (st = connect_own()) != TERN_OK)
        return st;
    st = ask("the launcher's PMI-1", "response_to_init", NULL, NULL, "cmd=init pmi_version=1 pmi_subversion=1\n");
    if (st == TERN_OK)
        st = ask("the launcher's PMI-1", "my_kvsname", "kvsname", space, "cmd=get_my_kvsname\n");
    if (st == TERN_OK && strlen(space) >= sizeof(one.space))
        st = tern_base_fail(TERN_ERR_BOOT, "the launcher's name for the job is too long: %.40s...", space);
    if (st != TERN_OK) {
        pmi1_close(false);
        close(one.fd);
        one.fd = -1;
        return st;
    }
    strcpy(one.space, space);
    one.pmi.fd = one.fd;
    *out = &one.pmi;
    return TERN_OK;
}

static tern_status pmi1_put(const char *key, const char *value)
{
    return ask("the launcher's PMI-1", "put_result", NULL, NULL, "cmd=put kvsname=%s key=tern-%s-%d value=%s\n",
               one.space, key, one.pmi.rank, value);
}

static tern_status pmi1_fence(void)
{
    return ask("the other ranks: all ranks that the launcher started have to call it", "barrier_out", NULL, NULL,
               "cmd=barrier_in\n");
}

static tern_status pmi1_get(int rank, const char *key, char *value)
{
    return ask("the launcher's PMI-1", "get_result", "value", value, "cmd=get kvsname=%s key=tern-%s-%d\n", one.space,
               key, rank);
}

static void pmi1_abort(int status)
{
    char line[64];
    int  len = snprintf(line, sizeof(line), "cmd=abort exitcode=%d\n", status);

    send(one.fd, line, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Send 'finalize' and wait until the launcher has replied or closed the connection. Has no effect if an MPI library has
 * sent it before. */
static void pmi1_end(void)
{
    static const char text[] = "cmd=finalize\n";
    struct pollfd     poll_fd = { .fd = one.fd, .events = POLLIN };
    char              answer[64];

    if (one.fd >= 0 && send(one.fd, text, sizeof(text) - 1, MSG_NOSIGNAL) == (ssize_t)sizeof(text) - 1 &&
        poll(&poll_fd, 1, FINALIZE_MS) == 1)
        recv(one.fd, answer, sizeof(answer), MSG_DONTWAIT);
}

/* At process exit: send 'finalize' and wait until the launcher has replied or closed the connection. Has no effect if
 * an MPI library has sent it before. */
__attribute__((destructor)) static void send_finalize(void)
{
    if (one.fd < 0 || getpid() != one.owner || one.state == FAILED || (one.state == USED && !one.pmi.watched))
        return;
    pmi1_end();
    close(one.fd);
}

const struct tern_pmi_ops tern_boot_pmi1 = {
    .open = pmi1_open,
    .put = pmi1_put,
    .fence = pmi1_fence,
    .get = pmi1_get,
    .abort = pmi1_abort,
    .end = pmi1_end,
    .close = pmi1_close,
};
