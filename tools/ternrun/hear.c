/* hear.c: what the hosts of a job say, and what it means when one says no more.
 *
 * Nothing that comes is trusted: a host speaks for its own ranks only, and one that says what makes no sense is treated
 * as lost. A host whose channel ends before it has said that it is done has lost its ranks.
 */
#define _GNU_SOURCE 1
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <tern/version.h>

#include "base/clock.h"
#include "hosts.h"

#define STATUS_NS NS_PER_SECOND /* between the end of a channel and that of its agent */

/* ---- hosts that cannot be used, or not any more ---- */

/* What is wrong at a host that was never part of the job. */
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
        return; /* that is what ending a job looks like */
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

/* A host of the job is gone. */
static void lose(struct run_job *job, struct run_host *host, const char *why)
{
    char text[900];

    run_host_close(host, HOST_GONE);
    lose_ranks(job, host);
    snprintf(text, sizeof(text), "host %.100s is lost (%.600s), and with it ranks %d to %d", host->name, why,
             host->first, host->first + host->ranks - 1);
    run_ends_fail(job, EXIT_TROUBLE, text);
}

/* The first bytes of what a stranger said, as one line. */
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

/* The channel of a host is not what it was. */
static void explain(struct run_job *job, struct run_host *host)
{
    char text[600];

    if (host->channel.state == TERN_FRAME_IO_FOREIGN) {
        quote(host, text, 60);
        if (host->state == HOST_RUNS && host->is_senseless)
            snprintf(text, sizeof(text), "what it says of rank %u makes no sense", host->about);
        else if (host->state == HOST_RUNS)
            snprintf(text, sizeof(text), "what it says makes no sense");
        if (host->state == HOST_RUNS)
            lose(job, host, text);
        else
            refuse(job, host,
                   "what it answers is not from ternrun: '%s'; see that nothing there prints to standard "
                   "output when a command is run",
                   text);
        return;
    }
    run_agent_text(job, host, text, sizeof(text));
    if (host->state == HOST_RUNS)
        lose(job, host, text);
    else
        refuse(job, host, "no ternrun answers there: %s", text);
}

/* ---- what hosts say ---- */

static bool is_there(const struct run_host *host, uint32_t rank)
{
    return rank >= (uint32_t)host->first && rank - (uint32_t)host->first < (uint32_t)host->ranks;
}

static bool hear_hello(struct run_job *job, struct run_host *host, const struct tern_frame *frame)
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

static bool hear_fate(struct run_job *job, struct run_host *host, const struct tern_frame *frame)
{
    struct run_verdict verdict = { .failed = frame->value == TERN_FATE_LOST };
    int                rank = (int)frame->rank;

    if (!job->rank[rank].runs || frame->len < 8 || (frame->value != TERN_FATE_LOST && frame->value != TERN_FATE_ENDED))
        return false;
    verdict.status = (int)(tern_boot_frame_get(frame->body, 4) & 0xff);
    verdict.pid = (int)tern_boot_frame_get(frame->body + 4, 4);
    snprintf(verdict.text, sizeof(verdict.text), "%.*s", (int)(frame->len - 8), (const char *)frame->body + 8);
    run_hub_tell_all(job, TERN_FRAME_FATE, rank, frame->value);
    run_ends_note(job, rank, &verdict, host->name);
    return true;
}

static void hear_failed(struct run_job *job, const struct run_host *host, const struct tern_frame *frame)
{
    if (job->phase != PHASE_RUN)
        return;
    if (frame->len > 0)
        run_say("host %s: %.*s", host->name, (int)frame->len, (const char *)frame->body);
    run_job_end(job, SIGTERM, (int)(frame->value & 0xff));
}

/* What goes to all other hosts as it is. */
static void pass_on(struct run_job *job, const struct run_host *from, const struct tern_frame *frame)
{
    for (int i = 0; i < job->config->hosts; i++)
        if (&job->config->host[i] != from)
            run_host_tell(&job->config->host[i], frame);
}

/* A change of a rank's life, card or seat. It is checked here, because the hosts that it is passed on to would take
 * nonsense for a fault of the head. */
static bool hear_change(struct run_job *job, const struct run_host *host, const struct tern_frame *frame)
{
    if (!is_there(host, frame->rank) || !run_hub_follows(job, frame))
        return false;
    pass_on(job, host, frame);
    return true;
}

/* What a host that runs its ranks may say. False: it makes no sense. */
static bool hear_running(struct run_job *job, struct run_host *host, const struct tern_frame *frame)
{
    bool is_rank = is_there(host, frame->rank);

    switch (frame->kind) {
    case TERN_FRAME_LIFE:
    case TERN_FRAME_ADDRESS:
    case TERN_FRAME_ARRIVED:
    case TERN_FRAME_DEPARTED: return hear_change(job, host, frame);
    case TERN_FRAME_FATE: return is_rank && hear_fate(job, host, frame);
    case TERN_FRAME_OUTPUT:
        return is_rank && run_output_feed(&job->output, frame->rank, (int)(frame->value & 3), frame->body, frame->len);
    case TERN_FRAME_CREDIT: return run_hub_input_credit(job, frame->value);
    case TERN_FRAME_FAILED: hear_failed(job, host, frame); return true;
    case TERN_FRAME_SAY: run_say("host %s: %.*s", host->name, (int)frame->len, (const char *)frame->body); return true;
    case TERN_FRAME_DONE:
        lose_ranks(job, host); /* none, by now */
        run_host_close(host, HOST_DONE);
        return true;
    default: return false;
    }
}

static bool is_over(const struct run_host *host)
{
    return host->state == HOST_DONE || host->state == HOST_GONE;
}

/* Hear all that has come. */
static void hear_all(struct run_job *job, struct run_host *host)
{
    struct tern_frame frame;
    bool              more;

    do {
        more = tern_boot_frame_io_fill(&host->channel); /* not for long: output ends with the credit for it */
        while (!is_over(host) && tern_boot_frame_io_next(&host->channel, &frame))
            if (host->state == HOST_RUNS ? !hear_running(job, host, &frame) : !hear_hello(job, host, &frame)) {
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
    hear_all(job, host);
    if (is_over(host) || (host->channel.state == TERN_FRAME_IO_UP && host->agent != 0))
        return;
    /* The channel is closed, or its agent is gone while someone else holds it open. How the agent ended says more. */
    if (host->channel.state == TERN_FRAME_IO_CLOSED && host->agent != 0 && host->lost_at == 0)
        host->lost_at = tern_base_now() + STATUS_NS;
    if (host->channel.state == TERN_FRAME_IO_FOREIGN || host->agent == 0 || tern_base_now() >= host->lost_at)
        explain(job, host);
}
