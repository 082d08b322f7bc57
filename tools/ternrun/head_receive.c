/* head_receive.c: handles the frames that the hosts of a job send, and the loss of a host.
 *
 * Received frames are not trusted. A host may report only its own ranks, and a host that sends an invalid frame is
 * treated as lost. If a host's channel ends before the host has sent DONE, its ranks are lost, and so are the hosts
 * behind it. Frames of a host that another host calls arrive on the channel of the first host on the way to it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <tern/version.h>

#include "hosts.h"

/* ---- hosts that cannot be used, or no longer ---- */

/* Close the connection to a host, and with it those to the hosts behind it. */
static void give_up(struct run_job *job, struct run_host *host)
{
    bool is_called_here = host->parent < 0;

    if (!is_called_here && job->config->host[host->parent].state < HOST_DONE)
        run_host_send(&job->config->host[host->parent],
                      &(struct tern_frame){ .kind = TERN_FRAME_CUT, .value = (uint32_t)host->index });
    for (int i = host->index; i < host->end; i++)
        if (job->config->host[i].state < HOST_DONE)
            run_host_close(&job->config->host[i], HOST_GONE);
}

/* Report why a host could not become part of the job, and end the job. */
__attribute__((format(printf, 4, 5))) static void refuse(struct run_job *job, struct run_host *host, int status,
                                                         const char *format, ...)
{
    char    text[900], called[300] = "", behind[200];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    give_up(job, host);
    if (job->phase != PHASE_RUN)
        return; /* expected while the job is being ended */
    if (host->parent >= 0)
        snprintf(called, sizeof(called),
                 " (host %.100s called it; with --fanout 0, ternrun calls every host from here)",
                 job->config->host[host->parent].name);
    run_tree_behind(job->config, host, behind, sizeof(behind));
    run_say("host %.100s: %.600s%s%s%s", host->name, text, called, *behind != '\0' ? "; the hosts behind it are " : "",
            behind);
    run_job_end(job, SIGTERM, status);
}

static void lose_ranks(struct run_job *job, int first, int end)
{
    for (int r = first; r < end; r++)
        if (job->rank[r].runs) {
            job->rank[r].runs = false;
            job->running--;
            run_hub_tell_all(job, TERN_FRAME_FATE, r, TERN_FATE_LOST);
        }
}

/* A host of the job is lost, and its ranks with it, as well as the hosts behind it. */
static void lose_host(struct run_job *job, struct run_host *host, const char *why)
{
    const struct run_host *last = &job->config->host[host->end - 1];
    char                   text[900], behind[200];

    run_tree_behind(job->config, host, behind, sizeof(behind));
    give_up(job, host);
    lose_ranks(job, host->first, last->first + last->ranks);
    if (job->phase == PHASE_LINGER) { /* its ranks had ended */
        run_say("host %.100s is lost (%.500s); the last output of its ranks%s%s may be missing", host->name, why,
                *behind != '\0' ? " and of those on the hosts behind it, " : "", behind);
        job->status = job->status == 0 ? EXIT_TROUBLE : job->status;
        return;
    }
    snprintf(text, sizeof(text), "host %.100s is lost (%.500s), and with it ranks %d to %d%s%s", host->name, why,
             host->first, last->first + last->ranks - 1, *behind != '\0' ? " and the hosts behind it: " : "", behind);
    run_ends_fail(job, EXIT_TROUBLE, text);
}

/* The connection to a host has ended: report the reason. */
static void explain(struct run_job *job, struct run_host *host, enum run_loss loss, int status, const char *text)
{
    char about[100] = "it sent an invalid message";

    if (loss == RUN_LOSS_FOREIGN && host->is_senseless)
        snprintf(about, sizeof(about), "it sent an invalid message about rank %u", host->about);
    if (host->state == HOST_RUNS)
        lose_host(job, host, loss == RUN_LOSS_FOREIGN ? about : text);
    else if (loss == RUN_LOSS_FOREIGN)
        refuse(job, host, EXIT_TROUBLE,
               "its answer is not from ternrun: '%s'; make sure that nothing there prints to standard output when a "
               "command is run",
               text);
    else if (loss == RUN_LOSS_NOT_CALLED)
        refuse(job, host, status, "%s", text);
    else
        refuse(job, host, EXIT_TROUBLE, "no ternrun answers there: %s; see tern-info --doctor --hosts %.100s", text,
               host->name);
}

/* ---- frames from hosts ---- */

static bool is_on_host(const struct run_host *host, uint32_t rank)
{
    return rank >= (uint32_t)host->first && rank - (uint32_t)host->first < (uint32_t)host->ranks;
}

static bool handle_hello(struct run_job *job, struct run_host *host, const struct tern_frame *frame)
{
    if (host->state != HOST_CALLED || frame->kind != TERN_FRAME_HELLO)
        return false;
    if (frame->value != TERN_SEGMENT_LAYOUT || frame->len != sizeof(TERN_VERSION) - 1 ||
        memcmp(frame->body, TERN_VERSION, frame->len) != 0) {
        refuse(job, host, EXIT_TROUBLE,
               "it has ternrun %.*s (layout %u) and this is %s (layout %u); install the same version there",
               frame->len < 40 ? (int)frame->len : 40, (const char *)frame->body, frame->value, TERN_VERSION,
               TERN_SEGMENT_LAYOUT);
        return true;
    }
    host->state = HOST_READY;
    if (host->end > host->index + 1 && job->phase == PHASE_RUN)
        run_hub_branch(job, host);
    return true;
}

static void say_line(void *arg, struct run_host *host)
{
    struct run_job *job = arg;

    if (host->state != HOST_CALLED || job->config->verbose)
        run_say("host %s: %s", host->name, host->last);
}

/* Handle a line on the standard error of an agent that another host started. */
static bool handle_line(struct run_job *job, struct run_host *host, const struct tern_frame *frame)
{
    snprintf(host->last, sizeof(host->last), "%.*s", (int)frame->len, (const char *)frame->body);
    say_line(job, host);
    return true;
}

/* A host reports that its connection to another host has ended. */
static bool handle_loss(struct run_job *job, struct run_host *host, const struct tern_frame *frame)
{
    char text[600];

    if (frame->value > RUN_LOSS_NOT_CALLED)
        return false;
    snprintf(text, sizeof(text), "%.*s", (int)frame->len, (const char *)frame->body);
    explain(job, host, (enum run_loss)frame->value, frame->rank < 256 ? (int)frame->rank : EXIT_TROUBLE, text);
    return true;
}

/* Read the text of a rank's end: one line, or two if the rank crashed. */
static void read_fate_text(const struct tern_frame *frame, struct run_verdict *verdict)
{
    const char *text = (const char *)frame->body + 8;
    size_t      len = frame->len - 8;
    const char *end = memchr(text, '\n', len);
    size_t      first = end != NULL ? (size_t)(end - text) : len;

    snprintf(verdict->text, sizeof(verdict->text), "%.*s", (int)first, text);
    if (end != NULL)
        snprintf(verdict->core, sizeof(verdict->core), "%.*s", (int)(len - first - 1), end + 1);
}

static bool handle_fate(struct run_job *job, struct run_host *host, const struct tern_frame *frame)
{
    struct run_verdict verdict = { .failed = frame->value == TERN_FATE_LOST };
    int                rank = (int)frame->rank;

    if (!job->rank[rank].runs || frame->len < 8 || (frame->value != TERN_FATE_LOST && frame->value != TERN_FATE_ENDED))
        return false;
    verdict.status = (int)(tern_base_get_le(frame->body, 4) & 0xff);
    verdict.ends_job = (tern_base_get_le(frame->body, 4) & TERN_ENDING) != 0;
    verdict.pid = (int)tern_base_get_le(frame->body + 4, 4);
    read_fate_text(frame, &verdict);
    run_hub_tell_all(job, TERN_FRAME_FATE, rank, frame->value);
    run_ends_note(job, rank, &verdict, host->name);
    return true;
}

static void handle_failed(struct run_job *job, const struct run_host *host, const struct tern_frame *frame)
{
    if (job->phase != PHASE_RUN)
        return;
    if (frame->len > 0)
        run_say("host %s: %.*s", host->name, (int)frame->len, (const char *)frame->body);
    run_job_end(job, SIGTERM, (int)(frame->value & 0xff));
}

/* Handle a change of a rank's life, address or barrier slot. It is checked here, because the hosts that it is forwarded
 * to would blame the head for an invalid frame. */
static bool handle_change(struct run_job *job, const struct run_host *host, const struct tern_frame *frame)
{
    if (!is_on_host(host, frame->rank) || !run_hub_follows(job, frame))
        return false;
    run_hub_forward(job, host, frame);
    return true;
}

/* Handle a frame of a host in state HOST_RUNS. Returns false if the frame is invalid. */
static bool handle_frame(struct run_job *job, struct run_host *host, const struct tern_frame *frame)
{
    bool is_rank = is_on_host(host, frame->rank);

    switch (frame->kind) {
    case TERN_FRAME_LIFE:
    case TERN_FRAME_ADDRESS:
    case TERN_FRAME_ARRIVED:
    case TERN_FRAME_DEPARTED:
    case TERN_FRAME_SEAT: return handle_change(job, host, frame);
    case TERN_FRAME_EXIT: return is_rank && tern_boot_relay_ends(frame) && (run_hub_forward(job, host, frame), true);
    case TERN_FRAME_FATE: return is_rank && handle_fate(job, host, frame);
    case TERN_FRAME_OUTPUT:
        return is_rank && run_output_feed(&job->output, frame->rank, (int)(frame->value & 3), frame->body, frame->len);
    case TERN_FRAME_CREDIT: return run_hub_input_credit(job, frame->value);
    case TERN_FRAME_FAILED: handle_failed(job, host, frame); return true;
    case TERN_FRAME_SAY: run_say("host %s: %.*s", host->name, (int)frame->len, (const char *)frame->body); return true;
    case TERN_FRAME_DONE:
        lose_ranks(job, host->first, host->first + host->ranks); /* normally none is left */
        run_host_close(host, HOST_DONE);
        return true;
    default: return false;
    }
}

static bool is_over(const struct run_host *host)
{
    return host->state == HOST_DONE || host->state == HOST_GONE;
}

/* A host has sent an invalid frame. */
static void blame(struct run_job *job, struct run_host *host, const struct tern_frame *frame)
{
    host->is_senseless = true;
    host->about = frame->rank;
    if (host->way == host)
        host->channel.state = TERN_FRAME_IO_FOREIGN; /* the caller handles the loss */
    else
        explain(job, host, RUN_LOSS_FOREIGN, EXIT_TROUBLE, "an invalid message");
}

/* Handle a frame that arrived on the channel of a host: its own, or one of a host behind it. */
static void sort_frame(struct run_job *job, struct run_host *way, const struct tern_frame *frame)
{
    struct run_host *host = way->from != 0 ? &job->config->host[way->from] : way;
    bool             is_good;

    if (frame->kind == TERN_FRAME_HOST) {
        if (way->from != 0 || frame->value <= (uint32_t)way->index || frame->value >= (uint32_t)way->end)
            blame(job, way, frame);
        else
            way->from = (int)frame->value;
        return;
    }
    way->from = 0;
    if (is_over(host))
        return; /* its connection was closed, and this was already on its way */
    if (host != way && frame->kind == TERN_FRAME_LINE)
        is_good = handle_line(job, host, frame);
    else if (host != way && frame->kind == TERN_FRAME_LOST)
        is_good = handle_loss(job, host, frame);
    else
        is_good = host->state == HOST_RUNS ? handle_frame(job, host, frame) : handle_hello(job, host, frame);
    if (!is_good)
        blame(job, host, frame);
}

/* Receive and handle all frames that have arrived. */
static void receive_frames(struct run_job *job, struct run_host *host)
{
    struct tern_frame frame;
    bool              more;

    do {
        more = tern_boot_frame_io_fill(&host->channel); /* bounded by the output credit of the hosts */
        while (!is_over(host) && tern_boot_frame_io_next(&host->channel, &frame))
            sort_frame(job, host, &frame);
    } while (more && !is_over(host));
    tern_boot_frame_io_flush(&host->channel);
}

void run_host_listen(struct run_job *job, struct run_host *host)
{
    enum run_loss loss;
    char          text[600];

    run_agent_listen(host, say_line, job);
    if (is_over(host))
        return;
    receive_frames(job, host);
    if (is_over(host) || !run_agent_lost(host))
        return;
    loss = run_agent_loss(job->config->agent, host, text, sizeof(text));
    explain(job, host, loss, EXIT_TROUBLE, text);
}
