/* expected.h: the fast path for a notification that resembles the previous one.
 *
 * In a loop, a rank usually waits for the same kind of notification again. After each match, the delivery records the
 * words of the next notification that the request would match (tern_op_expected_update). A wait for this request, if no
 * other is started, first polls for exactly this notification (tern_op_expected_wait): the core passes the expectation
 * to the watch that delivered last (tern_core_message_expect), and the link compares the arriving words with the
 * expectation, and copies the data to an address that is known in advance. No search for a request is necessary.
 */
#pragma once

#include "op/notify/notify.h"

/* A cached lookup of this rank's part of a region. */
struct tern_notify_part {
    uint64_t       scope, changes; /* changes: the value of the job's region_changes at the time of the lookup */
    unsigned char *base;
    uint64_t       size;
};

/* The last match. Guarded by the lock of notify.h. */
struct tern_notify_expected {
    const struct tern_notify_request *notify_request;
    uint64_t                          changes; /* the value of the job's region_changes at that time */
    struct tern_link_expected         want;
};
extern struct tern_notify_expected tern_op_expected __attribute__((visibility("hidden")));

/* Record a match of a request: the first word of the notification and its source. The caller holds the lock. */
void               tern_op_expected_set(const struct tern_notify_request *notify_request, uint64_t first, int from,
                                        const struct tern_notify_part *part);
static inline void tern_op_expected_update(const struct tern_notify_request *notify_request, uint64_t first, int from,
                                           const struct tern_notify_part *part)
{
    const struct tern_link_expected *want = &tern_op_expected.want;

    if (TERN_UNLIKELY(tern_op_expected.notify_request != notify_request || ((want->first ^ first) & want->mask) != 0 ||
                      want->from != from || tern_op_expected.changes != part->changes))
        tern_op_expected_set(notify_request, first, from, part);
}

/* Poll at most this many times for the expected notification, if it is the only match that a started request needs.
 * Returns true if the notification has arrived; then the request is idle, as after tern_op_notify_request_seen().
 * Otherwise the call returns false; a match may still arrive on another path. */
bool tern_op_expected_wait(struct tern_notify_request *notify_request, unsigned polls);
