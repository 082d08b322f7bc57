/* hear.c: handles the frames that the hosts of a job send, and the loss of a host.
 *
 * Received frames are not trusted. A host may report only its own ranks, and a host that sends an invalid frame is
 * treated as lost. If a host's channel ends before the host has sent DONE, its ranks are lost.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <tern/version.h>

#include "base/clock.h"
#include "hosts.h"

#define STATUS_NS NS_PER_SECOND /* maximum time between the end of a channel and the end of its agent */

/* ---- hosts that cannot be used, or no longer ---- */

/* Report why a host could not become part of the job, and end the job. */
__attribute__((format(printf, 3, 4))) static void refuse(struct run_job *job, struct run_host *host, const char *format,
                                                         ...)
{
    char    text[900];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    run_host_close(host, HOST_GONE);
    if (job->phase != PHASE_RUN)
        return; /* expected while the job is being ended */
    run_say("host %s: %s", host->name, text);
    run_job_end(job, SIGTERM, EXIT_TROUBLE);
}

static void lose_ranks(struct run_job *job, struct run_host *host)
{
    for (int r = host->first; r < host->first + host->ranks; r++)
        if (job->rank[r].runs) {
            job->rank[r].runs = false;
            job->running--;
            run_hub_tell_all(job, TERN_FRAME_FATE, r, TERN_FATE_LOST);
        }
}

/* A host of the job is lost, and its ranks with it. */
static void lose_host(struct run_job *job, struct run_host *host, const char *why)
{
    char text[900];

    run_host_close(host, HOST_GONE);
    lose_ranks(job, host);
    snprintf(text, sizeof(text), "host %.100s is lost (%.600s), and with it ranks %d to %d", host->name, why,
             host->first, host->first + host->ranks - 1);
    run_ends_fail(job, EXIT_TROUBLE, text);
}

/* Copy the first line of foreign data that a host sent, with unprintable bytes replaced. */
static void quote(const struct run_host *host, char *text, size_t size)
{
    const struct tern_frame_io_buffer *got = &host->channel.get;
    size_t                             len = 0;

    for (; len < size - 1 && len < got->len && got->data[got->from + len] != '\n'; len++) {
        unsigned char byte = got->data[got->from + len];
        text[len] = isprint(byte) ? (char)byte : '?';
    }
    text[len] = '\0';
}

/* The channel of a host has failed: report the reason. */
static void explain(struct run_job *job, struct run_host *host)
{
    char text[600];

    if (host->channel.state == TERN_FRAME_IO_FOREIGN) {
        quote(host, text, 60);
        if (host->state == HOST_RUNS && host->is_senseless)
            snprintf(text, sizeof(text), "it sent an invalid message about rank %u", host->about);
        else if (host->state == HOST_RUNS)
            snprintf(text, sizeof(text), "it sent an invalid message");
        if (host->state == HOST_RUNS)
            lose_host(job, host, text);
        else
            refuse(job, host,
                   "what it answers is not from ternrun: '%s'; see that nothing there prints to standard "
                   "output when a command is run",
                   text);
        return;
    }
    run_agent_text(job, host, text, sizeof(text));
    if (host->state == HOST_RUNS)
        lose_host(job, host, text);
    else
        refuse(job, host, "no ternrun answers there: %s", text);
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
        refuse(job, host, "it has ternrun %.*s (layout %u) and this is %s (layout %u); install the same version there",
               frame->len < 40 ? (int)frame->len : 40, (const char *)frame->body, frame->value, TERN_VERSION,
               TERN_SEGMENT_LAYOUT);
        return true;
    }
    host->state = HOST_READY;
    return true;
}

static bool handle_fate(struct run_job *job, struct run_host *host, const struct tern_frame *frame)
{
    struct run_verdict verdict = { .failed = frame->value == TERN_FATE_LOST };
    int                rank = (int)frame->rank;

    if (!job->rank[rank].runs || frame->len < 8 || (frame->value != TERN_FATE_LOST && frame->value != TERN_FATE_ENDED))
        return false;
    verdict.status = (int)(tern_base_get_le(frame->body, 4) & 0xff);
    verdict.pid = (int)tern_base_get_le(frame->body + 4, 4);
    snprintf(verdict.text, sizeof(verdict.text), "%.*s", (int)(frame->len - 8), (const char *)frame->body + 8);
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

/* Forward a frame unchanged to all other hosts. */
static void forward(struct run_job *job, const struct run_host *from, const struct tern_frame *frame)
{
    for (int i = 0; i < job->config->hosts; i++)
        if (&job->config->host[i] != from)
            run_host_tell(&job->config->host[i], frame);
}

/* Handle a change of a rank's life, address or barrier slot. It is checked here, because the hosts that it is forwarded
 * to would blame the head for an invalid frame. */
static bool handle_change(struct run_job *job, const struct run_host *host, const struct tern_frame *frame)
{
    if (!is_on_host(host, frame->rank) || !run_hub_follows(job, frame))
        return false;
    forward(job, host, frame);
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
    case TERN_FRAME_DEPARTED: return handle_change(job, host, frame);
    case TERN_FRAME_FATE: return is_rank && handle_fate(job, host, frame);
    case TERN_FRAME_OUTPUT:
        return is_rank && run_output_feed(&job->output, frame->rank, (int)(frame->value & 3), frame->body, frame->len);
    case TERN_FRAME_CREDIT: return run_hub_input_credit(job, frame->value);
    case TERN_FRAME_FAILED: handle_failed(job, host, frame); return true;
    case TERN_FRAME_SAY: run_say("host %s: %.*s", host->name, (int)frame->len, (const char *)frame->body); return true;
    case TERN_FRAME_DONE:
        lose_ranks(job, host); /* normally none is left */
        run_host_close(host, HOST_DONE);
        return true;
    default: return false;
    }
}

static bool is_over(const struct run_host *host)
{
    return host->state == HOST_DONE || host->state == HOST_GONE;
}

/* Receive and handle all frames that have arrived. */
static void receive_frames(struct run_job *job, struct run_host *host)
{
    struct tern_frame frame;
    bool              more;

    do {
        more = tern_boot_frame_io_fill(&host->channel); /* bounded by the host's output credit */
        while (!is_over(host) && tern_boot_frame_io_next(&host->channel, &frame))
            if (host->state == HOST_RUNS ? !handle_frame(job, host, &frame) : !handle_hello(job, host, &frame)) {
                host->channel.state = TERN_FRAME_IO_FOREIGN;
                host->is_senseless = true;
                host->about = frame.rank;
            }
    } while (more && !is_over(host));
    tern_boot_frame_io_flush(&host->channel);
}

void run_host_listen(struct run_job *job, struct run_host *host)
{
    run_agent_listen(job, host);
    if (is_over(host))
        return;
    receive_frames(job, host);
    if (is_over(host) || (host->channel.state == TERN_FRAME_IO_UP && host->agent != 0))
        return;
    /* The channel is closed, or the agent is gone while another process keeps the channel open. The exit status of the
     * agent explains more than a closed channel, so it is awaited for STATUS_NS. */
    if (host->channel.state == TERN_FRAME_IO_CLOSED && host->agent != 0 && host->lost_at == 0)
        host->lost_at = tern_base_now() + STATUS_NS;
    if (host->channel.state == TERN_FRAME_IO_FOREIGN || host->agent == 0 || tern_base_now() >= host->lost_at)
        explain(job, host);
}
