/* link.c: the table of a rank's link to itself. The link needs no lane and no service thread: the memory is the
 * process's own, and every operation is complete when the call returns. */
#include <stdlib.h>

#include "link/self/self.h"

static void self_close(struct tern_link *link)
{
    tern_self_messages_close(tern_self(link));
    free(link);
}

static tern_status self_open(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out)
{
    struct self_link *self = calloc(1, sizeof(*self));
    tern_status       st;

    if (!self)
        return tern_base_fail(TERN_ERR_NOMEM, "link self: no memory for %zu bytes", sizeof(*self));
    self->rank = boot->rank;
    self->boot = boot;
    self->up = up;
    if ((st = tern_self_messages_open(self)) < 0) {
        self_close((struct tern_link *)self);
        return st;
    }
    *out = (struct tern_link *)self;
    return TERN_OK;
}

static bool self_reaches(const struct tern_link *link, int peer)
{
    return peer == ((const struct self_link *)link)->rank;
}

static tern_status self_expose(struct tern_link *link, struct tern_mem_handle *handle)
{
    (void)link, (void)handle; /* the process's own memory is always accessible */
    return TERN_OK;
}

static void self_unexpose(struct tern_link *link, uint64_t region)
{
    (void)link, (void)region;
}

static tern_status self_lane_open(struct tern_link *link, struct tern_lane **out)
{
    (void)link;
    *out = NULL; /* the path keeps no state */
    return TERN_OK;
}

static void self_lane_close(struct tern_lane *lane)
{
    (void)lane;
}

static void self_progress(struct tern_lane *lane)
{
    (void)lane;
}

static void self_cancel(struct tern_lane *lane, struct tern_link_op *op)
{
    (void)lane, (void)op; /* nothing is ever outstanding */
}

static bool self_serve(struct tern_link *link)
{
    (void)link;
    return false;
}

static bool self_service_needed(const struct tern_link *link)
{
    (void)link;
    return false;
}

static int64_t self_may_sleep(struct tern_link *link)
{
    (void)link; /* a thread that sends to its own rank rings the bell */
    return INT64_MAX;
}

static bool self_msg_flushed(struct tern_link *link)
{
    (void)link; /* a message is in the ring as soon as it is sent */
    return true;
}

const struct tern_link_ops tern_self_ops = {
    .name = "self",
    .maps = true,
    .open = self_open,
    .close = self_close,
    .reaches = self_reaches,
    .attach = tern_self_attach,
    .detach = tern_self_detach,
    .expose = self_expose,
    .unexpose = self_unexpose,
    .lane_open = self_lane_open,
    .lane_close = self_lane_close,
    .progress = self_progress,
    .cancel = self_cancel,
    .msg_max_data = tern_self_msg_max_data,
    .msg_open = tern_self_msg_open,
    .msg_send = tern_self_msg_send,
    .msg_drop = tern_self_msg_drop,
    .msg_short = tern_self_msg_short,
    .msg_flushed = self_msg_flushed,
    .msg_pending = tern_self_msg_pending,
    .serve = self_serve,
    .service_needed = self_service_needed,
    .may_sleep = self_may_sleep,
    .group_open = tern_self_group_open,
    .group_close = tern_self_group_close,
    .arrive = tern_self_arrive,
    .arrived = tern_self_arrived,
    .has_arrived = tern_self_has_arrived,
    .depart = tern_self_depart,
    .departed = tern_self_departed,
    .contribute = tern_self_contribute,
    .contribution = tern_self_contribution,
};
