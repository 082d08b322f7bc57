/* link.c: wrapping a link in chaos, opening and closing both links, and the operation table.
 *
 * The open function of a table is not told which link it is for, so there is one open function for each index of the
 * registry. If the wrapped link has no groups, neither has the chaos link.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "link/chaos/chaos.h"

/* A wrapped link and the chaos link in front of it. */
struct wrapped {
    const struct tern_link_ops *behind;
    struct tern_link_ops        front;
    struct tern_chaos           chaos;
};

static struct wrapped   wrapped[TERN_LINKS_MAX];
static _Atomic uint64_t operations; /* of this rank, over all links */

void tern_chaos_operation(const struct chaos_link *link)
{
    /* relaxed: only a unique number. */
    uint64_t number = atomic_fetch_add_explicit(&operations, 1, memory_order_relaxed) + 1;

    if (link->chaos->kill_rank != link->boot->rank || number != (uint64_t)link->chaos->kill_at)
        return;
    tern_base_log(TERN_LOG_NOTE, "chaos kills this rank at operation %" PRIu64, number);
    kill(getpid(), SIGKILL);
    for (;;) /* SIGKILL ends all threads of the process */
        pause();
}

void tern_chaos_stream(const struct chaos_link *link, struct chaos_stream *stream, enum chaos_use use, uint64_t number)
{
    tern_chaos_stream_begin(stream, link->chaos, link->boot->rank, use, number * TERN_LINKS_MAX + link->place);
}

static tern_status chaos_open(const struct wrapped *wrap, const struct tern_boot *boot, const struct tern_link_up *up,
                              struct tern_link **out)
{
    struct chaos_link *link = calloc(1, sizeof(*link));
    tern_status        st;

    if (!link)
        return tern_base_fail(TERN_ERR_NOMEM, "chaos: no memory for %zu bytes", sizeof(*link));
    link->ops = wrap->behind;
    link->front = &wrap->front;
    link->place = (unsigned)(wrap - wrapped);
    link->chaos = &wrap->chaos;
    link->boot = boot;
    link->up = up;
    link->news = (struct tern_link_up){
        .done = up->done,
        .message = tern_chaos_message,
        .notify = tern_chaos_note,
        .notify_head = up->notify_head,
        .tagged = tern_chaos_tagged,
        .watch = tern_chaos_watch,
        .serve = up->serve,
        .gone = up->gone,
    };
    tern_chaos_stream(link, &link->open, CHAOS_OPEN, 0);
    tern_chaos_stream(link, &link->serve, CHAOS_SERVE, 0);
    if ((st = tern_chaos_messages_open(link)) < 0) {
        tern_chaos_messages_close(link);
        free(link);
        return st;
    }
    *out = (struct tern_link *)link;
    return TERN_OK;
}

#define OPEN(place)                                                                              \
    static tern_status open_##place(const struct tern_boot *boot, const struct tern_link_up *up, \
                                    struct tern_link **out)                                      \
    {                                                                                            \
        return chaos_open(&wrapped[place], boot, up, out);                                       \
    }
OPEN(0)
OPEN(1)
OPEN(2)
OPEN(3)
static tern_status (*const open_place[])(const struct tern_boot *boot, const struct tern_link_up *up,
                                         struct tern_link **out) = { open_0, open_1, open_2, open_3 };
_Static_assert(sizeof(open_place) / sizeof(open_place[0]) == TERN_LINKS_MAX, "an open for each place of the registry");

static void chaos_close(struct tern_link *base)
{
    struct chaos_link *link = tern_chaos_link(base);

    link->ops->close(link->behind);
    tern_chaos_messages_close(link);
    tern_chaos_paths_free(link);
    free(link);
}

static bool chaos_reaches(const struct tern_link *base, int peer)
{
    const struct chaos_link *link = (const struct chaos_link *)base;

    return link->ops->reaches(link->behind, peer);
}

static tern_status chaos_expose(struct tern_link *base, struct tern_mem_handle *handle)
{
    struct chaos_link *link = tern_chaos_link(base);

    return link->ops->expose(link->behind, handle);
}

static void chaos_unexpose(struct tern_link *base, uint64_t region)
{
    struct chaos_link *link = tern_chaos_link(base);

    link->ops->unexpose(link->behind, region);
}

static tern_status chaos_lane_open(struct tern_link *base, struct tern_lane **out)
{
    struct chaos_link *link = tern_chaos_link(base);
    struct chaos_lane *lane = calloc(1, sizeof(*lane));
    uint64_t           number =
        atomic_fetch_add_explicit(&link->lanes, 1, memory_order_relaxed); /* relaxed: only a unique number */
    tern_status st;

    if (!lane)
        return tern_base_fail(TERN_ERR_NOMEM, "chaos: no memory for %zu bytes", sizeof(*lane));
    if ((st = link->ops->lane_open(link->behind, &lane->behind)) < 0) {
        free(lane);
        return st;
    }
    lane->link = link;
    lane->last = &lane->first;
    tern_chaos_stream(link, &lane->stream, CHAOS_LANE, number);
    *out = (struct tern_lane *)lane;
    return TERN_OK;
}

static void chaos_lane_close(struct tern_lane *base)
{
    struct chaos_lane *lane = (struct chaos_lane *)base;

    lane->link->ops->lane_close(lane->behind);
    free(lane);
}

/* Returns true during a stall to be called again, because nobody rings the bell when the stall ends. */
static bool chaos_serve(struct tern_link *base)
{
    struct chaos_link *link = tern_chaos_link(base);

    return !tern_chaos_look(&link->serve) || link->ops->serve(link->behind);
}

static bool chaos_service_needed(const struct tern_link *base)
{
    const struct chaos_link *link = (const struct chaos_link *)base;

    return link->ops->service_needed(link->behind);
}

static int64_t chaos_may_sleep(struct tern_link *base)
{
    struct chaos_link *link = tern_chaos_link(base);

    return link->ops->may_sleep(link->behind);
}

static void chaos_invalidate(struct tern_link *base, const void *addr, size_t len)
{
    struct chaos_link *link = tern_chaos_link(base);

    link->ops->invalidate(link->behind, addr, len);
}

static const struct tern_link_ops template = {
    .close = chaos_close,
    .reaches = chaos_reaches,
    .attach = tern_chaos_attach,
    .detach = tern_chaos_detach,
    .expose = chaos_expose,
    .unexpose = chaos_unexpose,
    .lane_open = chaos_lane_open,
    .lane_close = chaos_lane_close,
    .progress = tern_chaos_progress,
    .cancel = tern_chaos_cancel,
    .msg_max_data = tern_chaos_msg_longest,
    .msg_open = tern_chaos_msg_open,
    .msg_send = tern_chaos_msg_send,
    .msg_drop = tern_chaos_msg_drop,
    .msg_short = tern_chaos_msg_brief,
    .msg_flushed = tern_chaos_msg_settled,
    .msg_pending = tern_chaos_msg_left,
    .serve = chaos_serve,
    .service_needed = chaos_service_needed,
    .may_sleep = chaos_may_sleep,
};

static void fill_groups(struct tern_link_ops *front)
{
    front->group_open = tern_chaos_group_open;
    front->group_close = tern_chaos_group_close;
    front->arrive = tern_chaos_arrive;
    front->arrived = tern_chaos_arrived;
    front->has_arrived = tern_chaos_came;
    front->depart = tern_chaos_depart;
    front->departed = tern_chaos_departed;
    front->contribute = tern_chaos_post;
    front->contribution = tern_chaos_peek;
}

const struct tern_link_ops *tern_chaos_wrap(const struct tern_link_ops *behind, const struct tern_chaos *chaos)
{
    unsigned place = 0;

    while (place < TERN_LINKS_MAX && wrapped[place].behind && wrapped[place].behind != behind)
        place++;
    if (place == TERN_LINKS_MAX)
        return NULL;
    wrapped[place] = (struct wrapped){ .behind = behind, .front = template, .chaos = *chaos };
    wrapped[place].front.name = behind->name;
    wrapped[place].front.maps = behind->maps;
    wrapped[place].front.open = open_place[place];
    if (behind->msg_poll)
        wrapped[place].front.msg_poll = tern_chaos_msg_look;
    if (behind->rpc_open) {
        wrapped[place].front.rpc_open = tern_chaos_errand_open;
        wrapped[place].front.rpc_send = tern_chaos_errand_send;
    }
    if (behind->invalidate)
        wrapped[place].front.invalidate = chaos_invalidate;
    if (behind->group_open)
        fill_groups(&wrapped[place].front);
    return &wrapped[place].front;
}
