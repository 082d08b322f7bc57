/* node_frames.c: frames that a node sends to its head, and the handling of frames from the head.
 *
 * The head is the node's only connection to the world outside its host. When the channel to the head ends, for whatever
 * reason, the ranks here are killed: the job continues elsewhere without them, or is over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "hosts.h"

#define CLOSE_NS (5 * NS_PER_SECOND) /* maximum time until the head has closed the channel after DONE */
#define BACKLOG_MAX 65536u           /* backlog in bytes at which no more output is queued */

static void send_frame(struct run_up *up, uint32_t kind, int rank, uint32_t value, const void *body, size_t len)
{
    tern_boot_frame_io_send(
        &up->channel, &(struct tern_frame){
                          .kind = kind, .rank = (uint32_t)rank, .value = value, .len = (uint32_t)len, .body = body });
}

/* ---- the arena ---- */

/* Open the pipe through which ranks report changes of their slots. The ranks inherit its write end and recognize it by
 * its inode. Returns false on failure. */
static bool relay_pipe_open(struct run_job *job, uint64_t *inode)
{
    int        *tell = job->up->tell;
    struct stat about;

    if (pipe2(tell, O_NONBLOCK) != 0 || fstat(tell[1], &about) != 0 || fcntl(tell[0], F_SETFD, FD_CLOEXEC) != 0) {
        tern_base_fail(TERN_ERR_SYSTEM, "cannot make a pipe: %s", strerror(errno));
        return false;
    }
    *inode = about.st_ino;
    job->given.relay_fd = tell[1];
    return true;
}

/* Return the node of each rank, host by host, in an allocated list of *ranks entries, or NULL if there is no memory. */
static int32_t *place_ranks(const struct run_order *order, int *ranks)
{
    int32_t *node_of;
    int      rank = 0;

    *ranks = 0;
    for (int i = 0; i < order->hosts; i++)
        *ranks += order->count[i];
    node_of = *ranks > 0 ? malloc((size_t)*ranks * sizeof(*node_of)) : NULL;
    if (node_of == NULL)
        tern_base_fail(TERN_ERR_NOMEM, "no memory for a job of %d ranks", *ranks);
    for (int i = 0; i < order->hosts && node_of != NULL; i++)
        for (int k = 0; k < order->count[i]; k++)
            node_of[rank++] = i;
    return node_of;
}

bool run_up_arena(struct run_job *job, struct tern_boot_shape *shape)
{
    struct run_up *up = job->up;
    int32_t       *node_of = place_ranks(&up->order, &shape->ranks);
    uint64_t       inode = 0;
    bool           made;

    if (node_of == NULL)
        return false;
    for (int i = 0; i < up->node; i++)
        job->first += up->order.count[i];
    shape->nodes = up->order.hosts;
    shape->node = up->node;
    shape->node_of = node_of;
    shape->job = up->order.job;
    job->given.ranks = shape->ranks;
    made = (shape->nodes == 1 || relay_pipe_open(job, &inode)) &&
           tern_boot_arena_shape(shape, &job->given.arena, &job->given.huge, &job->segment) == TERN_OK;
    free(node_of);
    if (!made)
        return false;
    job->segment->relay_inode = inode;
    return tern_boot_relay_open(job->segment, &up->relay) == TERN_OK;
}

/* ---- to the head ---- */

static void emit(void *arg, const struct tern_frame *frame)
{
    struct run_up *up = arg;

    tern_boot_frame_io_send(&up->channel, frame);
}

void run_up_fate(struct run_job *job, int rank, const struct run_verdict *verdict)
{
    unsigned char body[8 + sizeof(verdict->text) + sizeof(verdict->core)];
    int len = snprintf((char *)body + 8, sizeof(body) - 8, verdict->core[0] != '\0' ? "%s\n%s" : "%s", verdict->text,
                       verdict->core);

    tern_boot_relay_scan(job->up->relay, emit, job->up); /* send the rank's last changes before its fate */
    tern_base_put_le(body, (uint32_t)verdict->status | (verdict->ends_job ? TERN_ENDING : 0), 4);
    tern_base_put_le(body + 4, (uint32_t)verdict->pid, 4);
    send_frame(job->up, TERN_FRAME_FATE, rank, verdict->failed ? TERN_FATE_LOST : TERN_FATE_ENDED, body,
               8 + (size_t)len);
}

void run_up_relay(struct run_up *up, int host, const struct tern_frame *frame)
{
    send_frame(up, TERN_FRAME_HOST, 0, (uint32_t)host, NULL, 0);
    tern_boot_frame_io_send(&up->channel, frame);
}

void run_up_failed(struct run_up *up, int status, const char *text)
{
    send_frame(up, TERN_FRAME_FAILED, 0, (uint32_t)status, text, strlen(text));
}

void run_up_say(struct run_up *up, const char *text)
{
    send_frame(up, TERN_FRAME_SAY, 0, 0, text, strlen(text));
}

bool run_up_has_room(const struct run_up *up)
{
    return up->channel.put.len < BACKLOG_MAX;
}

void run_up_output(struct run_up *up, const struct run_stream *stream)
{
    send_frame(up, TERN_FRAME_OUTPUT, stream->rank, (uint32_t)stream->which, stream->data, stream->len);
}

bool run_up_flushed(const struct run_up *up)
{
    return up->channel.put.len == 0;
}

/* Wait until the head has closed the channel, and drop what it has sent. If this process ended earlier, an agent such
 * as srun would close a connection with unread data, and the last output in the other direction would be lost. */
static void await_close(struct run_up *up)
{
    struct pollfd     readable = { .fd = up->channel.in, .events = POLLIN };
    int64_t           until = tern_base_now() + CLOSE_NS, now;
    struct tern_frame frame;

    while (up->channel.state == TERN_FRAME_IO_UP && (now = tern_base_now()) < until) {
        poll(&readable, 1, (int)((until - now) / NS_PER_MS) + 1);
        tern_boot_frame_io_fill(&up->channel);
        while (tern_boot_frame_io_next(&up->channel, &frame))
            ;
    }
}

void run_up_done(struct run_up *up)
{
    struct pollfd writable = { .fd = up->channel.out, .events = POLLOUT };

    send_frame(up, TERN_FRAME_DONE, 0, 0, NULL, 0);
    while (!run_up_flushed(up) && up->channel.state == TERN_FRAME_IO_UP) {
        poll(&writable, 1, -1);
        tern_boot_frame_io_flush(&up->channel);
    }
    await_close(up);
}

/* ---- from the head ---- */

/* The head is gone or has sent an invalid frame: kill the ranks. */
static void lose_head(struct run_job *job)
{
    job->is_hurried = true;
    job->status = EXIT_TROUBLE;
    run_branch_drop(job->up);
    if (job->phase != PHASE_KILL)
        run_job_kill(job);
}

/* Write a change into the segment. If hosts are behind this node, its own changes come back with those of the
 * others. */
static bool apply(struct run_job *job, const struct tern_frame *frame)
{
    uint32_t first = (uint32_t)job->first, ranks = (uint32_t)job->config->ranks;
    bool     is_own = frame->rank >= first && frame->rank - first < ranks;

    if (is_own && job->up->branch != NULL && frame->kind != TERN_FRAME_FATE)
        return true;
    return tern_boot_relay_apply(job->up->relay, frame);
}

static bool handle_frame(struct run_job *job, const struct tern_frame *frame)
{
    int            value = frame->value < NSIG ? (int)frame->value : 0;
    enum run_route route = run_branch_route(job->up, frame);

    if (route != RUN_ROUTE_HERE)
        return route == RUN_ROUTE_PASSED;
    switch (frame->kind) {
    case TERN_FRAME_INPUT: return run_input_feed(&job->input, frame->body, frame->len);
    case TERN_FRAME_CREDIT:
        return frame->len == 1 && run_output_credit(&job->output, frame->rank, frame->body[0], frame->value);
    case TERN_FRAME_SIGNAL: return run_signals_order(job, frame);
    case TERN_FRAME_TRACE: run_trace_start(job, (int)frame->rank); return true;
    case TERN_FRAME_END:
        if (value == SIGKILL)
            run_job_kill(job);
        else if (value != 0)
            run_job_end(job, value, 0);
        return value != 0;
    case TERN_FRAME_CUT: return run_branch_cut(job->up, frame->value);
    default: return apply(job, frame);
    }
}

size_t run_up_poll(struct run_job *job, struct pollfd *fds)
{
    size_t count = tern_boot_frame_io_poll(&job->up->channel, fds);

    if (job->up->tell[0] >= 0)
        fds[count++] = (struct pollfd){ .fd = job->up->tell[0], .events = POLLIN };
    return count + run_branch_poll(job->up, fds + count);
}

void run_up_serve(struct run_job *job)
{
    struct run_up    *up = job->up;
    struct tern_frame frame;
    unsigned char     which = 0, drained[512];

    if (up->tell[0] >= 0 && read(up->tell[0], drained, sizeof(drained)) > 0)
        tern_boot_relay_scan(up->relay, emit, up);
    tern_boot_frame_io_fill(&up->channel);
    while (tern_boot_frame_io_next(&up->channel, &frame))
        if (!handle_frame(job, &frame))
            up->channel.state = TERN_FRAME_IO_FOREIGN;
    tern_boot_relay_ring(up->relay);
    if (job->input.taken > 0)
        send_frame(up, TERN_FRAME_CREDIT, 0, (uint32_t)job->input.taken, &which, 1);
    job->input.taken = 0;
    tern_boot_frame_io_flush(&up->channel);
    run_branch_serve(up);
    if (up->channel.state != TERN_FRAME_IO_UP)
        lose_head(job);
}
