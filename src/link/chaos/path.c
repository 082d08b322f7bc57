/* path.c: delayed transfers.
 *
 * There is a chaos path in front of each path that the wrapped link assigns to a part. It is created at the first use
 * and lives as long as the link.
 *
 * A transfer starts at once, or stays in its lane until the poll at which it is due and then starts on the wrapped
 * path. A delayed transfer uses the record that the core provides, so nothing is allocated. Its data is not copied:
 * a program that changes the source of a put too early sends the changed data. Any transfer of a lane may overtake
 * any other, because the core starts the transfers of a strict context one at a time. RPCs are delayed in the same
 * way, after the caller has written the request.
 */
#include <stdlib.h>

#include "link/chaos/chaos.h"
#include "link/none.h"

static tern_status start_behind(struct chaos_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    const struct tern_link_path *behind = ((const struct chaos_path *)xfer->part->path)->behind;

    return behind->start(lane->behind, xfer, op);
}

static bool chaos_can_notify(struct tern_lane *base, struct tern_xfer *xfer)
{
    const struct tern_link_path *behind = ((const struct chaos_path *)xfer->part->path)->behind;

    return behind->can_notify(((struct chaos_lane *)base)->behind, xfer);
}

/* Return the latest due time of the delayed operations to a rank. Returns 0 if there are none. */
static uint64_t last_due(const struct chaos_lane *lane, int rank)
{
    uint64_t due = 0;

    TERN_LIST_EACH(struct tern_link_op, op, &lane->ops, node)
        if (op->xfer.part->rank == rank && op->due > due)
            due = op->due;
    return due;
}

/* Delay an operation. Wakes the threads of this rank, because a thread that is about to sleep may already have
 * checked the lane: compound operations start their next step after that check. */
static void enlist(struct chaos_lane *lane, struct tern_link_op *op, uint64_t due)
{
    op->due = due;
    tern_base_list_append(&lane->ops, &op->node);
    lane->count++;
    tern_chaos_stay_awake(lane->link);
}

static void hold(struct chaos_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op, uint64_t due)
{
    *op = (struct tern_link_op){ .xfer = *xfer, .status = TERN_OK };
    enlist(lane, op, due);
}

static tern_status chaos_start(struct tern_lane *base, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    struct chaos_lane *lane = (struct chaos_lane *)base;
    uint64_t           due;
    tern_status        st;

    if (tern_chaos_turns_away(lane->link, &lane->stream, lane->count == CHAOS_HELD))
        return TERN_AGAIN;
    tern_chaos_operation(lane->link);
    due = tern_chaos_due(&lane->stream, 0, last_due(lane, xfer->part->rank));
    if (due <= lane->stream.now && (st = start_behind(lane, xfer, op)) != TERN_AGAIN)
        return st;
    hold(lane, xfer, op, due);
    return TERN_PENDING;
}

static tern_status rpc_open(struct tern_lane *base, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    struct chaos_lane *lane = (struct chaos_lane *)base;

    if (tern_chaos_turns_away(lane->link, &lane->stream, lane->count == CHAOS_HELD))
        return TERN_AGAIN;
    return lane->link->ops->rpc->open(lane->behind, xfer, op);
}

static void rpc_send(struct tern_lane *base, struct tern_link_op *op, size_t request, size_t expect)
{
    struct chaos_lane *lane = (struct chaos_lane *)base;
    uint64_t           due;

    tern_chaos_operation(lane->link);
    due = tern_chaos_due(&lane->stream, 0, last_due(lane, op->xfer.part->rank));
    if (due <= lane->stream.now) {
        lane->link->ops->rpc->send(lane->behind, op, request, expect);
        return;
    }
    op->request_len = request;
    op->response_max = expect;
    enlist(lane, op, due);
}

const struct tern_rpc_ops tern_chaos_rpc = { .open = rpc_open, .send = rpc_send };

/* Remove and return the operation with the earliest due time; NULL if none is due. */
static struct tern_link_op *take_due(struct chaos_lane *lane)
{
    struct tern_link_op *best = NULL;

    TERN_LIST_EACH(struct tern_link_op, op, &lane->ops, node)
        if (op->due <= lane->stream.now && (!best || op->due < best->due))
            best = op;
    if (!best)
        return NULL;
    tern_base_list_remove(&best->node);
    lane->count--;
    return best;
}

/* Start all operations that are due. */
static void let_go(struct chaos_lane *lane)
{
    struct tern_link_op *op;

    while ((op = take_due(lane))) {
        struct tern_xfer xfer = op->xfer;
        tern_status      st;

        if (op->rpc_buf) {
            lane->link->ops->rpc->send(lane->behind, op, op->request_len, op->response_max);
            continue;
        }
        st = xfer.local ? start_behind(lane, &xfer, op) : TERN_OK; /* local is NULL: the transfer was canceled */
        if (st == TERN_AGAIN)
            hold(lane, &xfer, op, lane->stream.now + 1);
        else if (st != TERN_PENDING)
            lane->link->up->done(op, st);
    }
}

void tern_chaos_progress(struct tern_lane *base)
{
    struct chaos_lane *lane = (struct chaos_lane *)base;
    struct chaos_link *link = lane->link;
    bool               goes_on = tern_chaos_look(&lane->stream);

    if (goes_on) {
        let_go(lane);
        link->ops->progress(lane->behind);
    }
    if (!goes_on || lane->count > 0)
        tern_chaos_stay_awake(link);
}

void tern_chaos_cancel(struct tern_lane *base, struct tern_link_op *op)
{
    struct chaos_lane   *lane = (struct chaos_lane *)base;
    struct tern_link_op *held = NULL;

    TERN_LIST_EACH(struct tern_link_op, one, &lane->ops, node)
        held = one == op ? one : held;
    if (held && held->rpc_buf)
        held->on_response = NULL;
    else if (held)
        held->xfer.local = NULL;
    else
        lane->link->ops->cancel(lane->behind, op);
}

/* ---- paths ---- */

static const struct tern_link_path *path_in_front(struct chaos_link *link, const struct tern_link_path *behind)
{
    struct chaos_path *path = link->paths;

    while (path && path->behind != behind)
        path = path->next;
    if (path)
        return &path->base;
    if (!(path = malloc(sizeof(*path))))
        return NULL;
    *path = (struct chaos_path){ .base = { .name = behind->name,
                                           .instant = false,
                                           .self_progress = behind->instant || behind->self_progress,
                                           .rpc = behind->rpc,
                                           .prefers_packing = behind->prefers_packing,
                                           .start = chaos_start,
                                           .keeps_order = tern_link_no_order,
                                           .can_notify = chaos_can_notify,
                                           .start_iov = tern_link_no_iov },
                                 .behind = behind,
                                 .next = link->paths };
    link->paths = path;
    return &path->base;
}

void tern_chaos_paths_free(struct chaos_link *link)
{
    while (link->paths) {
        struct chaos_path *path = link->paths;
        link->paths = path->next;
        free(path);
    }
}

tern_status tern_chaos_attach(struct tern_link *behind, const struct tern_mem_handle *handle, const char *path_name,
                              struct tern_link_part *part)
{
    struct chaos_link           *link = tern_chaos_link(behind);
    const struct tern_link_path *path;
    tern_status                  st = link->ops->attach(behind, handle, path_name, part);

    if (st != TERN_OK || !part->path)
        return st;
    if ((path = path_in_front(link, part->path))) {
        part->path = path;
        part->inline_notify = false; /* delayed data travels separately from the notification */
        return TERN_OK;
    }
    link->ops->detach(behind, part);
    part->path = NULL;
    return tern_base_fail(TERN_ERR_NOMEM, "chaos: no memory for a path");
}

void tern_chaos_detach(struct tern_link *behind, struct tern_link_part *part)
{
    struct chaos_link *link = tern_chaos_link(behind);

    if (part->path)
        part->path = ((const struct chaos_path *)part->path)->behind;
    link->ops->detach(behind, part);
}
