/* link.c: the table of a rank's link to itself. The link needs no lane and no helper thread: the memory is the
 * process's own, and every operation is complete when the call returns. */
#include <stdlib.h>

#include "link/none.h"
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
    self->slot = &boot->segment->slot[boot->rank];
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

const struct tern_link_ops tern_self_ops = {
    .name = "self",
    .maps = true,
    .msg = &tern_self_msg,
    .group = &tern_self_group,
    .open = self_open,
    .close = self_close,
    .reaches = self_reaches,
    .attach = tern_self_attach,
    .detach = tern_link_no_detach, /* the core allocated the memory and releases it */
    .grown = tern_link_no_grown,
    .expose = tern_link_no_expose,
    .unexpose = tern_link_no_unexpose,
    .lane_open = tern_link_no_lane_open,
    .lane_close = tern_link_no_lane_call,
    .progress = tern_link_no_lane_call,
    .cancel = tern_link_no_cancel,
    .invalidate = tern_link_no_invalidate,
    .serve = tern_link_no_serve,
    .service_needed = tern_link_no_service_needed,
    .may_sleep = tern_link_no_sleep_limit, /* a thread that sends to its own rank rings the bell */
};
