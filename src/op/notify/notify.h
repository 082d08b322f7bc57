/* notify.h: incoming notifications, the requests that wait for them, and outgoing notifications.
 *
 * A notification says that an access of its source to a region has completed. It is matched with the oldest started
 * request of the target that accepts it, or is stored as unexpected until one does (match.h). The thread that polls for
 * messages delivers it, whichever thread that is. A biased lock, which costs nothing while there is one thread, guards
 * the requests and the unexpected notifications.
 *
 * The number of unexpected notifications is bounded (TERN_NOTIFY_KEEP). A target at the limit accepts only
 * notifications that match a started request. The others stay in the queues of the links, and their senders see
 * back-pressure.
 */
#ifndef TERN_OP_NOTIFY_NOTIFY_H
#define TERN_OP_NOTIFY_NOTIFY_H

#include <string.h>
#include <tern/notice.h>

#include "core/context.h"
#include "core/job.h"
#include "core/region.h"
#include "core/wait_set.h"
#include "link/inject.h"
#include "op/match.h"
#include "op/wire.h"

/* States of a request, as core/wait_set.h numbers them. */
enum tern_notice_state {
    TERN_NOTICE_IDLE = TERN_WAITABLE_IDLE,
    TERN_NOTICE_STARTED = TERN_WAITABLE_PENDING,
    TERN_NOTICE_DONE = TERN_WAITABLE_DONE,
    TERN_NOTICE_HOPELESS = TERN_WAITABLE_HOPELESS /* started, but every rank that could notify is dead */
};

/* A notification request. Delivering and waiting for a notification touch only its first cache line. */
struct tern_notice {
    _Alignas(64) struct tern_match_request request; /* must be first */
    uint32_t               left;                    /* number of matches still missing */
    _Atomic uint16_t       state;                   /* enum tern_notice_state. The delivering thread sets DONE */
    bool                   recorded;                /* record is valid */
    uint32_t               tag;                     /* of the last match, like source and bytes */
    int32_t                source;                  /* rank in the job; -1: none yet */
    uint64_t               bytes;
    struct tern_ctx       *ctx;
    /* Fields that delivery does not touch. */
    struct tern_op        *record; /* the record that the events of this start point to */
    struct tern_team      *team;   /* of the region */
    struct tern_match_name name;
    uint32_t               count;
    struct tern_notice    *next, **link; /* in the list of all requests */
};
_Static_assert(offsetof(struct tern_notice, record) == 64, "what is touched is one line");

/* tern_op_notify_open starts to accept notifications; it is called before the rank joins the job. tern_op_notify_leave
 * frees all requests and drops all further notifications, because the program is about to leave the job.
 * tern_op_notify_close frees the remaining memory after the rank has left. */
void tern_op_notify_open(void);
void tern_op_notify_leave(void);
void tern_op_notify_close(void);

/* Upcalls of the links (struct tern_link_up): accept a notification, and write the head of a notification that arrived
 * together with a put. */
enum tern_link_delivered tern_op_notify_receive(int from, const unsigned char *head, bool carried);
void                     tern_op_notify_write_head(unsigned char *head, uint64_t region, uint32_t tag, uint64_t bytes);

/* Drop the unexpected notifications of a region that has been freed on all ranks. */
void tern_op_notify_forget(uint64_t scope);

/* Notification requests. name.class says what a request matches. The thread of the request's context must make all
 * calls on that request. */
tern_status tern_op_notice_new(struct tern_ctx *ctx, const struct tern_region *region, struct tern_match_name name,
                               uint32_t count, struct tern_notice **out);
void        tern_op_notice_free(struct tern_notice *notice);
bool        tern_op_notice_start(struct tern_notice *notice);  /* false: already started */
bool        tern_op_notice_cancel(struct tern_notice *notice); /* false: not started, or done */

static inline unsigned tern_op_notice_state(const struct tern_notice *notice)
{
    /* acquire: the fields of the last match, and the data of the access. Pairs with complete(). */
    return atomic_load_explicit(&notice->state, memory_order_acquire);
}

/* Briefly poll for the only match that a started request needs, on the fastest path. Returns true if the match has
 * arrived; then the request is idle, as after tern_op_notice_seen(). Returns false otherwise; the match may still
 * arrive on another path. */
bool tern_op_notice_spin(struct tern_notice *notice);

/* Make a completed request idle, after the program has learned of its completion. */
static inline void tern_op_notice_seen(struct tern_notice *notice)
{
    atomic_store_explicit(&notice->state, TERN_NOTICE_IDLE,
                          memory_order_relaxed); /* relaxed: only the context's thread accesses it now */
}

/* Return whether the next start would find an unexpected notification, and describe it. */
bool tern_op_notice_peek(struct tern_notice *notice, struct tern_match_name *name, uint64_t *bytes);

/* Fill an event for a started request. Returns false if there is no memory. */
bool tern_op_notice_event(struct tern_notice *notice, tern_event *event);

/* Describe the request in words, for reports. */
void tern_op_notice_describe(const struct tern_notice *notice, char *text, size_t size);

/* ---- outgoing notifications ---- */

/* Reserve space for a notification to a rank of the job, without waiting. The caller must then either send or drop the
 * notification. */
tern_status tern_op_notify_reserve(int rank, struct tern_link_msg *msg);
void        tern_op_notify_send(const struct tern_link_msg *msg, const struct tern_notification *notification);
void        tern_op_notify_drop(const struct tern_link_msg *msg);

/* Send a notification with the data of a put inline, if there is space now: len bytes (at least 1) for the given offset
 * of a part that permits this; to is the address of that offset. The caller must call tern_op_notify_find_inject before
 * the first such put to the part. */
tern_status tern_op_notify_find_inject(struct tern_link_part *part);
bool tern_op_notify_inline(struct tern_ctx *ctx, const struct tern_link_part *part, uint32_t tag, uint64_t offset,
                           unsigned char *to, const void *src, size_t len);

/* Fast path of tern_op_notify_inline for 8 bytes. Returns false, with no effect, if the path is not available. */
static inline bool tern_op_notify_word(struct tern_ctx *ctx, const struct tern_link_part *part, uint32_t tag,
                                       uint64_t offset, unsigned char *to, const void *src)
{
    const uint64_t word[] = { wire_notify_first(tag, WIRE_NOTIFY_INLINE, sizeof(uint64_t)), part->region, offset };
    /* acquire: the handle before its contents. Pairs with tern_op_notify_find_inject(). */
    struct tern_inject_notify *port = atomic_load_explicit(&part->inject, memory_order_acquire);

    if (TERN_UNLIKELY(!port || !tern_inject_word(port, word, to, src)))
        return false;
    ctx->inline_unflushed = true;
    tern_link_ring(port->slot);
    return true;
}

/* Send a notification if there is space now; otherwise return TERN_AGAIN. */
tern_status tern_op_notify_try(int rank, const struct tern_notification *notification);

#endif
