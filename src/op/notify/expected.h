/* expected.h: the fast path for a notification that resembles the previous one.
 *
 * In a loop, a rank usually waits for the same kind of notification again. After each match, the delivery records the
 * words of the next notification that the request would match (tern_op_expected_update). A wait for this request, if no
 * other is started, first polls for exactly this notification (tern_op_expected_wait): the link whose watch delivered
 * last gets the expectation, compares the arriving words with the expectation, and copies the data to an address that
 * is known in advance. No search for a request is necessary.
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

/* The part of tern_op_expected_poll for a notification that has not arrived. */
void tern_op_expected_failed(struct tern_notify_request *notify_request);

/* Poll briefly for the expected notification, which would be the last match of the request, and which no other request
 * matches. The resulting state is written before the notification arrives, because stores between its arrival and the
 * program's response delay the response. */
static inline __attribute__((always_inline)) bool tern_op_expected_poll(struct tern_notify_request *notify_request,
                                                                        struct tern_link_watch *watch, unsigned polls)
{
    struct tern_link_expected *want = &tern_op_expected.want;

    notify_request->request.sequence = 0;
    tern_op_notify_match.sole = NULL;
    tern_op_notify_request_count(notify_request, want->from, (uint32_t)want->first, want->len);
    atomic_store_explicit(&notify_request->state, TERN_NOTIFY_REQUEST_IDLE,
                          memory_order_relaxed); /* only this thread waits for it */
    if (TERN_UNLIKELY(!watch->expect(watch, want, polls))) {
        tern_op_expected_failed(notify_request);
        return false;
    }
    tern_core_message_count_delivery();
    if (TERN_UNLIKELY(want->len == 0))
        notify_request->bytes = want->third;
    if (TERN_UNLIKELY(want->mask != UINT64_MAX))
        notify_request->tag = (uint32_t)want->first;
    return true;
}

/* Poll at most this many times for the expected notification, if it is the only match that a started request needs.
 * Returns true if the notification has arrived; then the request is idle, as after tern_op_notify_request_seen().
 * Otherwise the call returns false; a match may still arrive on another path.
 *
 * If the bias is held, no other thread has ever taken the lock of notify.h or delivered messages, so this thread may
 * use the guarded state for any length of time. */
static inline __attribute__((always_inline)) bool tern_op_expected_wait(struct tern_notify_request *notify_request,
                                                                        unsigned                    polls)
{
    /* acquire: the contents of the watch. Pairs with tern_core_message_poll_notify(). */
    struct tern_link_watch *watch = atomic_load_explicit(&tern_core_message_notify_last, memory_order_acquire);
    bool                    taken = false;

    if (TERN_UNLIKELY(!watch || tern_core_message_depth != 0 || !tern_base_bias_held()))
        return false;
    if (TERN_UNLIKELY(!tern_base_bias_enter_both(&tern_op_notify_lock.biased, &tern_core_message_biased))) {
        tern_core_message_ring_own(); /* a thread that saw the flag set may sleep until this one has finished */
        return false;
    }
    if (TERN_LIKELY(tern_op_expected.notify_request == notify_request &&
                    tern_op_notify_match.sole == &notify_request->request && notify_request->left == 1 &&
                    !notify_request->recorded &&
                    tern_op_expected.changes == atomic_load_explicit(&tern_job.region_changes, memory_order_relaxed)))
        taken = tern_op_expected_poll(notify_request, watch, polls);
    tern_core_message_leave_biased();
    tern_base_biased_unlock(&tern_op_notify_lock, true);
    return taken;
}
