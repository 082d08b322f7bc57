/* none.h: stubs for the functions that a link does not need. Each stub has the contract of the slot that it fills, and
 * does nothing, or returns that there is nothing. */
#pragma once

#include "link/link.h"

/* struct tern_link_ops: the peers access the memory without help; lanes have no state and make no progress; no
 * operation is ever outstanding; no registrations are cached; no peer needs the helper thread; the bell rings for
 * everything that a sleeping thread waits for. */
static inline void tern_link_no_detach(struct tern_link *link, struct tern_link_part *part)
{
    (void)link, (void)part;
}

static inline tern_status tern_link_no_expose(struct tern_link *link, struct tern_mem_handle *handle)
{
    (void)link, (void)handle;
    return TERN_OK;
}

static inline tern_status tern_link_no_grown(struct tern_link *link, const struct tern_mem_handle *handle,
                                             struct tern_link_part *part)
{
    (void)link, (void)handle, (void)part;
    return TERN_OK;
}

static inline void tern_link_no_unexpose(struct tern_link *link, uint64_t region)
{
    (void)link, (void)region;
}

static inline tern_status tern_link_no_lane_open(struct tern_link *link, struct tern_lane **out)
{
    (void)link;
    *out = NULL;
    return TERN_OK;
}

static inline void tern_link_no_lane_call(struct tern_lane *lane)
{
    (void)lane;
}

static inline void tern_link_no_cancel(struct tern_lane *lane, struct tern_link_op *op)
{
    (void)lane, (void)op;
}

static inline bool tern_link_no_serve(struct tern_link *link)
{
    (void)link;
    return false;
}

static inline bool tern_link_no_service_needed(const struct tern_link *link)
{
    (void)link;
    return false;
}

static inline int64_t tern_link_no_sleep_limit(struct tern_link *link, bool memory)
{
    (void)link, (void)memory;
    return INT64_MAX;
}

static inline void tern_link_no_invalidate(struct tern_link *link, const void *addr, size_t len)
{
    (void)link, (void)addr, (void)len;
}

/* struct tern_link_path: the path keeps no order, puts do not notify, and iov is not set. */
static inline bool tern_link_no_order(struct tern_lane *lane, const struct tern_xfer *xfer)
{
    (void)lane, (void)xfer;
    return false;
}

static inline bool tern_link_no_notify(struct tern_lane *lane, struct tern_xfer *xfer)
{
    (void)lane, (void)xfer;
    return false;
}

static inline tern_status tern_link_no_iov(struct tern_lane *lane, const struct tern_link_part *part,
                                           const struct tern_link_iov *iov, unsigned count, bool get)
{
    (void)lane, (void)part, (void)iov, (void)count, (void)get;
    return tern_base_fail(TERN_ERR_LINK, "the path has no lists of transfers");
}

/* struct tern_msg_ops: messages are in the target's queue when they are sent. struct tern_link_watch: all notifications
 * are delivered. */
static inline void tern_link_no_poll(struct tern_link *link)
{
    (void)link;
}

static inline bool tern_link_no_unflushed(struct tern_link *link)
{
    (void)link;
    return true;
}

static inline bool tern_link_no_expect(struct tern_link_watch *watch, struct tern_link_expected *want, unsigned looks)
{
    (void)watch, (void)want, (void)looks;
    return false;
}

/* struct tern_group_ops: the group needs no memory, sends nothing for departures, and has no other members. */
static inline uint64_t tern_link_no_space(uint32_t size)
{
    (void)size;
    return 0;
}

static inline void *tern_link_no_board(struct tern_link_group *group)
{
    (void)group;
    return NULL;
}

static inline void tern_link_no_advance(struct tern_link_group *group)
{
    (void)group;
}

static inline void tern_link_no_give_up(struct tern_link_group *group)
{
    (void)group;
}

static inline int tern_link_no_quitter(struct tern_link_group *group)
{
    (void)group;
    return -1;
}
