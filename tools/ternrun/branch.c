/* branch.c: a node that calls other hosts and passes frames on between them and the head.
 *
 * A node knows nothing about the job of the hosts behind it. What they send goes to the head unchanged, behind a frame
 * HOST with the number of its sender, and the head checks it. What the head sends goes to one of them, or to this node
 * and to all of them. The node reports what only it can know: what an agent writes to its standard error, and that a
 * connection has ended.
 *
 * A node does not read from the hosts behind it while too many bytes wait for the head, so the hosts wait in turn. The
 * head always reads, so no host waits forever. If the connection to the head ends, the node closes all its connections,
 * and the hosts behind it end in the same way.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "hosts.h"

#define AGENT_NS (2 * NS_PER_SECOND) /* maximum time between the end of a connection and that of its agent */
#define TICK_MS 20
#define OTHER_FILES 32

struct run_branch {
    struct run_branch_order order;
    struct run_host        *child; /* [children] the hosts that this node calls */
    int                     children;
    int64_t                 kill_at; /* when agents that have not ended are killed; 0: not yet known */
};

static bool is_over(const struct run_host *host)
{
    return host->state == HOST_DONE || host->state == HOST_GONE;
}

/* ---- calling the hosts ---- */

static void report_loss(struct run_up *up, struct run_host *host, enum run_loss loss, int status, const char *text)
{
    run_up_relay(up, host->index,
                 &(struct tern_frame){ .kind = TERN_FRAME_LOST,
                                       .rank = (uint32_t)status,
                                       .value = loss,
                                       .len = (uint32_t)strlen(text),
                                       .body = (const unsigned char *)text });
    run_host_close(host, HOST_GONE);
}

static void call_all(struct run_up *up)
{
    struct run_branch *branch = up->branch;
    struct run_caller  caller = { branch->order.agent, branch->order.ternrun, &up->process };
    char               why[600];

    for (int i = 0; i < branch->children; i++) {
        int status = run_agent_start(&caller, &branch->child[i], why, sizeof(why));

        if (status != 0)
            report_loss(up, &branch->child[i], RUN_LOSS_NOT_CALLED, status, why);
    }
}

bool run_branch_open(struct run_up *up, const struct tern_frame *frame)
{
    struct run_branch *branch = up->branch == NULL ? calloc(1, sizeof(*branch)) : NULL;
    int                first, end;

    if (branch == NULL)
        return false;
    up->branch = branch;
    if (!run_branch_decode(frame->body, frame->len, &branch->order))
        return false;
    first = branch->order.node + 1;
    end = branch->order.end;
    branch->child = calloc((size_t)(end - first), sizeof(*branch->child));
    if (branch->child == NULL)
        return false;
    for (int at = first; at < end; branch->children++) {
        branch->child[branch->children] = (struct run_host){ .name = branch->order.name[at - first],
                                                             .index = at,
                                                             .end = run_tree_part(first, end, branch->order.fanout, at),
                                                             .err = -1,
                                                             .channel = { -1, -1, .state = TERN_FRAME_IO_CLOSED } };
        at = branch->child[branch->children].end;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    run_process_files(3 * (size_t)branch->children + OTHER_FILES); /* after a failure, a host cannot be called */
    call_all(up);
    return true;
}

int run_branch_count(const struct run_up *up)
{
    return up->branch != NULL ? up->branch->children : 0;
}

void run_branch_close(struct run_up *up)
{
    struct run_branch *branch = up->branch;

    if (branch == NULL)
        return;
    for (int i = 0; i < branch->children; i++) {
        tern_boot_frame_io_close(&branch->child[i].channel);
        if (branch->child[i].err >= 0)
            close(branch->child[i].err);
    }
    free(branch->child);
    run_branch_order_free(&branch->order);
    free(branch);
    up->branch = NULL;
}

/* ---- from the head ---- */

/* Return whether the frame reports a change by a rank of the host. No host receives its own changes. */
static bool is_own_change(const struct run_host *host, const struct tern_frame *frame)
{
    return (frame->kind == TERN_FRAME_LIFE || frame->kind == TERN_FRAME_ADDRESS || frame->kind == TERN_FRAME_ARRIVED ||
            frame->kind == TERN_FRAME_DEPARTED || frame->kind == TERN_FRAME_SEAT) &&
           frame->rank >= (uint32_t)host->first && frame->rank - (uint32_t)host->first < (uint32_t)host->ranks;
}

static bool is_leaf(const struct run_host *host)
{
    return host->end == host->index + 1;
}

/* Pass a frame on to all hosts behind this node. START contains the number of its receiver. */
static void pass_to_all(struct run_branch *branch, const struct tern_frame *frame)
{
    struct tern_frame copy = *frame;

    for (int i = 0; i < branch->children; i++) {
        struct run_host *host = &branch->child[i];

        if (frame->kind == TERN_FRAME_START)
            copy.value = (uint32_t)host->index;
        if (!is_over(host) && !(is_leaf(host) && is_own_change(host, frame)))
            tern_boot_frame_io_send(&host->channel, &copy);
    }
}

/* Pass a frame on towards one host. A host without others behind it needs no frame HOST. */
static void pass_to(struct run_branch *branch, int to, const struct tern_frame *frame)
{
    for (int i = 0; i < branch->children; i++) {
        struct run_host *host = &branch->child[i];

        if (to < host->index || to >= host->end || is_over(host))
            continue;
        if (!is_leaf(host))
            tern_boot_frame_io_send(&host->channel,
                                    &(struct tern_frame){ .kind = TERN_FRAME_HOST, .value = (uint32_t)to });
        tern_boot_frame_io_send(&host->channel, frame);
    }
}

enum run_route run_branch_route(struct run_up *up, const struct tern_frame *frame)
{
    struct run_branch *branch = up->branch;
    int                to = up->to;

    if (frame->kind == TERN_FRAME_HOST) {
        if (to >= 0 || frame->value >= TERN_MAX_RANKS ||
            (branch != NULL && ((int)frame->value < branch->order.node || (int)frame->value >= branch->order.end)))
            return RUN_ROUTE_WRONG;
        up->to = (int)frame->value;
        return RUN_ROUTE_PASSED;
    }
    up->to = -1;
    if (branch == NULL || to == branch->order.node)
        return RUN_ROUTE_HERE;
    if (to >= 0) {
        pass_to(branch, to, frame);
        return RUN_ROUTE_PASSED;
    }
    pass_to_all(branch, frame);
    return RUN_ROUTE_HERE;
}

void run_branch_started(struct run_up *up)
{
    struct run_branch *branch = up->branch;
    int                rank = 0;

    for (int i = 0, k = 0; branch != NULL && i < up->order.hosts && k < branch->children; i++) {
        if (i == branch->child[k].index) {
            branch->child[k].first = rank;
            branch->child[k++].ranks = up->order.count[i];
        }
        rank += up->order.count[i];
    }
}

bool run_branch_cut(struct run_up *up, uint32_t host)
{
    for (int i = 0; up->branch != NULL && i < up->branch->children; i++) {
        struct run_host *child = &up->branch->child[i];

        if ((uint32_t)child->index != host)
            continue;
        if (!is_over(child))
            run_host_close(child, HOST_GONE);
        if (child->agent != 0)
            kill(-child->agent, SIGKILL);
        return true;
    }
    return false;
}

/* ---- from the hosts ---- */

/* Pass a frame of a host on to the head. Returns false if the host names a sender that is not behind it. */
static bool pass_up(struct run_up *up, struct run_host *host, const struct tern_frame *frame)
{
    int from = host->from != 0 ? host->from : host->index;

    if (frame->kind == TERN_FRAME_HOST) {
        if (host->from != 0 || frame->value <= (uint32_t)host->index || frame->value >= (uint32_t)host->end)
            return false;
        host->from = (int)frame->value;
        return true;
    }
    host->from = 0;
    run_up_relay(up, from, frame);
    if (frame->kind == TERN_FRAME_DONE && from == host->index)
        run_host_close(host, HOST_DONE);
    return true;
}

static void pass_line(void *arg, struct run_host *host)
{
    run_up_relay(arg, host->index,
                 &(struct tern_frame){ .kind = TERN_FRAME_LINE,
                                       .len = (uint32_t)strlen(host->last),
                                       .body = (const unsigned char *)host->last });
}

static void serve_host(struct run_up *up, struct run_host *host)
{
    struct tern_frame frame;
    char              text[600];
    enum run_loss     loss;

    run_agent_listen(host, pass_line, up);
    while (!is_over(host) && run_up_has_room(up) && tern_boot_frame_io_fill(&host->channel))
        while (!is_over(host) && tern_boot_frame_io_next(&host->channel, &frame))
            if (!pass_up(up, host, &frame))
                host->channel.state = TERN_FRAME_IO_FOREIGN;
    tern_boot_frame_io_flush(&host->channel);
    if (is_over(host) || !run_up_has_room(up) || !run_agent_lost(host))
        return; /* without room, frames may still be unread */
    loss = run_agent_loss(up->branch->order.agent, host, text, sizeof(text));
    report_loss(up, host, loss, 0, text);
}

void run_branch_reap(struct run_up *up)
{
    for (int i = 0; up->branch != NULL && i < up->branch->children; i++) {
        struct run_host *host = &up->branch->child[i];
        int              status;

        if (host->agent != 0 && waitpid(host->agent, &status, WNOHANG | WUNTRACED) == host->agent)
            run_agent_waited(host, status);
    }
}

bool run_branch_owns(const struct run_up *up, pid_t pid)
{
    for (int i = 0; up != NULL && up->branch != NULL && i < up->branch->children; i++)
        if (up->branch->child[i].agent == pid)
            return true;
    return false;
}

size_t run_branch_poll(const struct run_up *up, struct pollfd *fds)
{
    bool   has_room = run_up_has_room(up);
    size_t count = 0;

    for (int i = 0; up->branch != NULL && i < up->branch->children; i++) {
        const struct run_host *host = &up->branch->child[i];

        if (host->channel.state == TERN_FRAME_IO_UP && has_room)
            fds[count++] = (struct pollfd){ .fd = host->channel.in, .events = POLLIN };
        if (host->channel.state == TERN_FRAME_IO_UP && host->channel.put.len > 0)
            fds[count++] = (struct pollfd){ .fd = host->channel.out, .events = POLLOUT };
        if (host->err >= 0)
            fds[count++] = (struct pollfd){ .fd = host->err, .events = POLLIN };
    }
    return count;
}

void run_branch_serve(struct run_up *up)
{
    run_branch_reap(up);
    for (int i = 0; up->branch != NULL && i < up->branch->children; i++)
        serve_host(up, &up->branch->child[i]);
}

int64_t run_branch_deadline(const struct run_up *up)
{
    int64_t next = NEVER;

    for (int i = 0; up != NULL && up->branch != NULL && i < up->branch->children; i++) {
        const struct run_host *host = &up->branch->child[i];

        if (!is_over(host) && host->lost_at != 0 && host->lost_at < next)
            next = host->lost_at;
    }
    if (up != NULL && up->branch != NULL && up->branch->kill_at != 0 && up->branch->kill_at < next)
        next = up->branch->kill_at;
    return next;
}

/* ---- the end ---- */

void run_branch_drop(struct run_up *up)
{
    for (int i = 0; up->branch != NULL && i < up->branch->children; i++)
        if (!is_over(&up->branch->child[i]))
            run_host_close(&up->branch->child[i], HOST_GONE);
}

/* Return whether a host behind this node is not done, or its agent has not ended. Agents that do not end are killed. */
static bool any_left(struct run_branch *branch)
{
    bool any = false;

    for (int i = 0; i < branch->children; i++) {
        if (!is_over(&branch->child[i]))
            return true;
        any |= branch->child[i].agent != 0;
    }
    if (branch->kill_at == 0)
        branch->kill_at = tern_base_now() + AGENT_NS;
    for (int i = 0; i < branch->children && tern_base_now() >= branch->kill_at; i++)
        if (branch->child[i].agent != 0)
            kill(-branch->child[i].agent, SIGKILL);
    return any;
}

bool run_branch_step(struct run_up *up)
{
    size_t                  children = up->branch != NULL ? (size_t)up->branch->children : 0, count = 1;
    struct pollfd          *fds = calloc(3 * children + 3, sizeof(*fds));
    struct signalfd_siginfo info;
    bool                    is_ended = fds == NULL;

    if (fds != NULL) {
        fds[0] = (struct pollfd){ .fd = up->process.signals, .events = POLLIN };
        count += tern_boot_frame_io_poll(&up->channel, fds + count);
        count += run_branch_poll(up, fds + count);
        poll(fds, count, run_branch_deadline(up) < NEVER ? TICK_MS : -1);
        free(fds);
    }
    while (read(up->process.signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        is_ended |= info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT || info.ssi_signo == SIGHUP ||
                    info.ssi_signo == SIGQUIT;
    tern_boot_frame_io_flush(&up->channel);
    tern_boot_frame_io_fill(&up->channel);
    run_branch_serve(up);
    return !is_ended;
}

static bool is_agent(const struct run_job *job, pid_t pid)
{
    (void)job;
    (void)pid;
    return false; /* when this is called, all agents have ended */
}

void run_branch_finish(struct run_up *up)
{
    struct tern_frame frame;

    if (up->branch == NULL)
        return;
    while (any_left(up->branch)) {
        if (!run_branch_step(up) || up->channel.state != TERN_FRAME_IO_UP)
            run_branch_drop(up);
        while (tern_boot_frame_io_next(&up->channel, &frame))
            if (run_branch_route(up, &frame) == RUN_ROUTE_HERE && frame.kind == TERN_FRAME_CUT)
                run_branch_cut(up, frame.value);
    }
    run_leftover_children(is_agent, NULL, SIGKILL); /* processes that agents have left behind */
}
