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
    struct tern_msg_ops         msg;   /* of front */
    struct tern_group_ops       group; /* of front */
    struct tern_chaos           chaos;
};

static struct wrapped             wrapped[TERN_LINKS_MAX];
static struct chaos_link *_Atomic opened; /* list of all open links. Writer: the thread that opens and closes links */
static _Atomic uint64_t           operations; /* number of operations of this rank over all links */

struct chaos_link *tern_chaos_link(const struct tern_link *behind)
{
    /* acquire: the contents of the chaos link. Pairs with the release in chaos_open(). */
    struct chaos_link *link = atomic_load_explicit(&opened, memory_order_acquire);

    while (link && link->behind != behind)
        link = atomic_load_explicit(&link->next, memory_order_acquire); /* as above */
    return link;
}

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
    tern_chaos_stream_begin(stream, link->chaos, link->boot->rank, use, number * TERN_LINKS_MAX + link->index);
}

static void chaos_close(struct tern_link *behind)
{
    struct chaos_link          *link = tern_chaos_link(behind);
    struct chaos_link *_Atomic *at = &opened;

    link->ops->close(behind);
    while (*at != link)
        at = &(*at)->next;
    *at = link->next; /* no other thread uses a link now */
    tern_chaos_messages_close(link);
    tern_chaos_paths_free(link);
    free(link);
}

static tern_status chaos_open(struct wrapped *wrap, const struct tern_boot *boot, const struct tern_link_up *up,
                              struct tern_link **out)
{
    struct chaos_link *link = calloc(1, sizeof(*link));
    tern_status        st;

    if (!link)
        return tern_base_fail(TERN_ERR_NOMEM, "chaos: no memory for %zu bytes", sizeof(*link));
    link->ops = wrap->behind;
    link->index = (unsigned)(wrap - wrapped);
    link->chaos = &wrap->chaos;
    link->boot = boot;
    link->up = up;
    link->upcalls = *up;
    link->upcalls.message = tern_chaos_message;
    link->upcalls.notify = tern_chaos_notify;
    link->upcalls.tagged = tern_chaos_tagged;
    link->upcalls.helped = tern_chaos_message;
    link->upcalls.watch = tern_chaos_watch;
    tern_chaos_stream(link, &link->open, CHAOS_OPEN, 0);
    tern_chaos_stream(link, &link->serve, CHAOS_SERVE, 0);
    if ((st = tern_chaos_open_behind(link)) != TERN_OK) {
        tern_chaos_messages_close(link);
        free(link);
        return st;
    }
    link->next = opened;
    /* release: the contents of the chaos link. Pairs with the acquire in tern_chaos_link(). */
    atomic_store_explicit(&opened, link, memory_order_release);
    if ((st = tern_chaos_messages_open(link)) < 0)
        chaos_close(link->behind);
    else
        *out = link->behind;
    return st;
}

static tern_status open_0(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out)
{
    return chaos_open(&wrapped[0], boot, up, out);
}

static tern_status open_1(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out)
{
    return chaos_open(&wrapped[1], boot, up, out);
}

static tern_status open_2(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out)
{
    return chaos_open(&wrapped[2], boot, up, out);
}

static tern_status open_3(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out)
{
    return chaos_open(&wrapped[3], boot, up, out);
}

static tern_status (*const open_place[])(const struct tern_boot *boot, const struct tern_link_up *up,
                                         struct tern_link **out) = { open_0, open_1, open_2, open_3 };
_Static_assert(sizeof(open_place) / sizeof(open_place[0]) == TERN_LINKS_MAX,
               "there is an open function for each entry of the registry");

static tern_status chaos_lane_open(struct tern_link *behind, struct tern_lane **out)
{
    struct chaos_link *link = tern_chaos_link(behind);
    struct chaos_lane *lane = calloc(1, sizeof(*lane));
    uint64_t           number =
        atomic_fetch_add_explicit(&link->lanes, 1, memory_order_relaxed); /* relaxed: only a unique number */
    tern_status st;

    if (!lane)
        return tern_base_fail(TERN_ERR_NOMEM, "chaos: no memory for %zu bytes", sizeof(*lane));
    if ((st = link->ops->lane_open(behind, &lane->behind)) < 0) {
        free(lane);
        return st;
    }
    lane->link = link;
    tern_base_list_init(&lane->ops);
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

/* Serve the peers, except during a stall. Returns true during a stall to be called again, because nobody rings the bell
 * when the stall ends. */
static bool chaos_serve(struct tern_link *behind)
{
    struct chaos_link *link = tern_chaos_link(behind);

    return !tern_chaos_look(&link->serve) || link->ops->serve(behind);
}

const struct tern_link_ops *tern_chaos_wrap(const struct tern_link_ops *behind, const struct tern_chaos *chaos)
{
    struct wrapped *wrap = wrapped;

    while (wrap < wrapped + TERN_LINKS_MAX && wrap->behind && wrap->behind != behind)
        wrap++;
    if (wrap == wrapped + TERN_LINKS_MAX)
        return NULL;
    wrap->behind = behind;
    wrap->chaos = *chaos;
    wrap->front = *behind;
    wrap->front.open = open_place[wrap - wrapped];
    wrap->front.close = chaos_close;
    wrap->front.attach = tern_chaos_attach;
    wrap->front.detach = tern_chaos_detach;
    wrap->front.lane_open = chaos_lane_open;
    wrap->front.lane_close = chaos_lane_close;
    wrap->front.progress = tern_chaos_progress;
    wrap->front.cancel = tern_chaos_cancel;
    wrap->front.serve = chaos_serve;
    wrap->front.msg = &wrap->msg;
    wrap->msg = *behind->msg;
    wrap->msg.open = tern_chaos_msg_open;
    wrap->msg.send_short = tern_chaos_msg_send_short;
    wrap->msg.pending = tern_chaos_msg_pending;
    wrap->front.rpc = behind->rpc ? &tern_chaos_rpc : NULL;
    wrap->front.group = behind->group ? &wrap->group : NULL;
    if (behind->group) {
        wrap->group = *behind->group;
        wrap->group.open = tern_chaos_group_open;
    }
    /* The network's atomics would overtake the transfers that chaos delays, and messages through injection handles and
     * work splits would escape chaos, so programs under chaos do without them. */
    wrap->front.atomic = NULL;
    wrap->front.inject = NULL;
    return &wrap->front;
}
