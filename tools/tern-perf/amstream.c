/* amstream.c: am_rate and am_bw: active messages from rank 0 to rank 1, as fast as the queue accepts them.
 *
 * Only the size of the queue limits rank 0. Rank 1 makes progress; its handlers count the messages and do not
 * examine the payloads. The last message of a slice has a handler that replies, so that a slice ends when all
 * messages have been handled. The limit writes the same number of bytes into shared memory of the queue's size,
 * wrapping around like the queue; over a network the limit is a TCP stream of the same number of messages.
 */
#include <string.h>

#include "perf.h"

enum { COUNT = 1, LAST, DONE };

static struct {
    volatile uint64_t handled; /* rank 1: messages; rank 0: completed slices */
    uint64_t          wanted;
    tern_region      *region; /* the memory that the limit writes to */
    unsigned char    *to;
    uint64_t          span;
} state;

static void on_message(const tern_am_event *event, void *user)
{
    (void)event;
    (void)user;
    state.handled++;
}

static void on_last(const tern_am_event *event, void *user)
{
    const tern_am done = TERN_AM(.kind = TERN_AM_SHORT, .handler = DONE);

    (void)user;
    state.handled++;
    perf_must(tern_am_reply(event->token, &done), "sending a reply");
}

static void short_messages(struct perf_case *c, uint64_t iters)
{
    tern_ctx *ctx = c->p->ctx;
    int       target = c->target;

    state.wanted += c->p->rank == 0 ? 1 : iters;
    for (uint64_t i = 1; i < iters && c->p->rank == 0; i++)
        perf_must(tern_am_short(ctx, target, COUNT, NULL, 0), "sending a request");
    if (c->p->rank == 0)
        perf_must(tern_am_short(ctx, target, LAST, NULL, 0), "sending a request");
    perf_am_await(c->p, &state.handled, state.wanted);
}

static void medium_messages(struct perf_case *c, uint64_t iters)
{
    tern_ctx            *ctx = c->p->ctx;
    const unsigned char *from = c->p->local;
    int                  target = c->target;
    size_t               len = c->size;

    state.wanted += c->p->rank == 0 ? 1 : iters;
    for (uint64_t i = 1; i < iters && c->p->rank == 0; i++)
        perf_must(tern_am_medium(ctx, target, COUNT, NULL, 0, from, len), "sending a request");
    if (c->p->rank == 0)
        perf_must(tern_am_medium(ctx, target, LAST, NULL, 0, from, len), "sending a request");
    perf_am_await(c->p, &state.handled, state.wanted);
}

static inline __attribute__((always_inline)) void copy_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    unsigned char *to = state.to;
    uint64_t       step = (len + PERF_LINE - 1) / PERF_LINE * PERF_LINE, at = 0, end = state.span - step;

    for (uint64_t i = 0; i < iters; i++, at = at + step <= end ? at + step : 0) {
        memcpy(to + at, c->p->local, len);
        perf_keep();
    }
}

static void line_copies(struct perf_case *c, uint64_t iters)
{
    copy_loop(c, iters, PERF_LINE);
}

PERF_BY_LENGTH(static void copies, copy_loop)

/* Collective. Register the handlers and allocate the memory of the limit. A queue is about four times as large as
 * its longest message. */
static void open_stream(struct perf_case *c)
{
    struct perf *p = c->p;

    perf_must(tern_am_register(COUNT, on_message, NULL), "registering a handler");
    perf_must(tern_am_register(LAST, on_last, NULL), "registering a handler");
    perf_must(tern_am_register(DONE, on_message, NULL), "registering a handler");
    state.span = 4 * (uint64_t)tern_am_max_medium(p->ctx, c->target, 0) / MEASURE_PAGE * MEASURE_PAGE;
    perf_must(tern_region_create(p->ctx, state.span, NULL, &state.region), "allocating memory for the limit");
    state.to = tern_region_ptr(state.region, p->peer);
    if (state.to == NULL)
        state.to = tern_region_ptr(state.region, p->rank);
    if (p->rank == 0)
        memset(state.to, 0, state.span);
    perf_must(tern_barrier(p->ctx), "barrier");
}

static void close_stream(void)
{
    perf_must(tern_region_free(state.region), "freeing a region");
}

void perf_am_rate(struct perf_case *c)
{
    const struct perf_kernel copy = { PERF_FIRST, line_copies };
    const struct perf_kernel k[] = { { PERF_PAIR, short_messages }, c->p->network ? perf_limit_to(c->p) : copy };

    open_stream(c);
    c->size = c->p->network ? 1 : 0; /* a TCP stream needs at least one byte */
    perf_measure(c, k, c->p->opt->vs_limit ? 2 : 1);
    c->size = 0;
    perf_figure_rate(c, 0, 1, "rate");
    if (c->p->opt->vs_limit) {
        perf_figure_rate(c, 1, 1, "limit");
        perf_figure_ratio(c, 1, 0, 1, "ratio_to_limit");
    }
    close_stream();
}

void perf_am_bw(struct perf_case *c)
{
    const struct perf_kernel copy = { PERF_FIRST, copies };
    const struct perf_kernel k[] = { { PERF_PAIR, medium_messages }, c->p->network ? perf_limit_to(c->p) : copy };

    if (!perf_am_fit(c))
        return;
    open_stream(c);
    perf_measure(c, k, c->p->opt->vs_limit ? 2 : 1);
    perf_figure_bandwidth(c, 0, (double)c->size, "bandwidth");
    if (c->p->opt->vs_limit) {
        perf_figure_bandwidth(c, 1, (double)c->size, "limit");
        perf_figure_ratio(c, 1, 0, 1, "ratio_to_limit");
    }
    close_stream();
}
