/* none.c: see none.h. */
#include "link/none.h"

void tern_link_no_detach(struct tern_link *link, struct tern_link_part *part)
{
    (void)link, (void)part;
}

tern_status tern_link_no_expose(struct tern_link *link, struct tern_mem_handle *handle)
{
    (void)link, (void)handle;
    return TERN_OK;
}

void tern_link_no_unexpose(struct tern_link *link, uint64_t region)
{
    (void)link, (void)region;
}

tern_status tern_link_no_lane_open(struct tern_link *link, struct tern_lane **out)
{
    (void)link;
    *out = NULL;
    return TERN_OK;
}

void tern_link_no_lane_close(struct tern_lane *lane)
{
    (void)lane;
}

void tern_link_no_progress(struct tern_lane *lane)
{
    (void)lane;
}

void tern_link_no_cancel(struct tern_lane *lane, struct tern_link_op *op)
{
    (void)lane, (void)op;
}

bool tern_link_no_serve(struct tern_link *link)
{
    (void)link;
    return false;
}

bool tern_link_no_service_needed(const struct tern_link *link)
{
    (void)link;
    return false;
}

int64_t tern_link_no_sleep_limit(struct tern_link *link)
{
    (void)link;
    return INT64_MAX;
}

void tern_link_no_invalidate(struct tern_link *link, const void *addr, size_t len)
{
    (void)link, (void)addr, (void)len;
}

bool tern_link_no_order(struct tern_lane *lane, const struct tern_xfer *xfer)
{
    (void)lane, (void)xfer;
    return false;
}

bool tern_link_no_notify(struct tern_lane *lane, struct tern_xfer *xfer)
{
    (void)lane, (void)xfer;
    return false;
}

tern_status tern_link_no_iov(struct tern_lane *lane, const struct tern_link_part *part, const struct tern_link_iov *iov,
                             unsigned count, bool get)
{
    (void)lane, (void)part, (void)iov, (void)count, (void)get;
    return tern_base_fail(TERN_ERR_LINK, "the path has no lists of transfers");
}

void tern_link_no_poll(struct tern_link *link)
{
    (void)link;
}

bool tern_link_no_unflushed(struct tern_link *link)
{
    (void)link;
    return true;
}

bool tern_link_no_expect(struct tern_link_watch *watch, struct tern_link_expected *want, unsigned looks)
{
    (void)watch, (void)want, (void)looks;
    return false;
}
