/* notify.h: notifications that come, and the requests that wait for them; notifications that go out.
 *
 * A notification says that an access of its source to a region has ended. It goes to the oldest started request of the
 * target that takes it, or is kept until one does (match.h). Whoever polls for messages delivers it, whatever thread
 * that is; a lock that costs nothing while there is one thread guards requests and what is kept.
 *
 * What is kept is bounded (TERN_NOTIFY_KEEP). A target that is full takes only what a request waits for; the rest stays
 * in the queues of the links, and those who send find no room.
 */
#ifndef TERN_OP_NOTIFY_NOTIFY_H
#define TERN_OP_NOTIFY_NOTIFY_H

#include <string.h>
#include <tern/notice.h>

#include "core/context.h"
#include "core/job.h"
#include "core/region.h"
#include "link/inject.h"
#include "op/match.h"
#include "op/wire.h"

enum tern_notice_state { TERN_NOTICE_IDLE, TERN_NOTICE_STARTED, TERN_NOTICE_DONE };

/* A request. What a notification and the wait for it touch is one cache line. */
struct tern_notice {
    _Alignas(64) struct tern_match_request request; /* first */
    uint32_t               left;                    /* matches that it still waits for */
    _Atomic uint16_t       state;                   /* enum tern_notice_state. DONE is set by who delivers */
    bool                   recorded;                /* there is a record */
    uint32_t               tag;                     /* of the last match, as are source and bytes */
    int32_t                source;                  /* rank in the job; -1: none yet */
    uint64_t               bytes;
    struct tern_ctx       *ctx;
    /* The rest. */
    struct tern_pending   *record; /* what events of this start point at */
    struct tern_team      *team;   /* of the region */
    struct tern_match_name name;
    uint32_t               count;
    struct tern_notice    *next, **link; /* all of them */
};
_Static_assert(offsetof(struct tern_notice, record) == 64, "what is touched is one line");

/* Begin to take notifications: called before the job is joined. Free all requests, and drop what comes, because the
 * program is about to leave. Free the rest when it has left. */
void tern_op_notify_open(void);
void tern_op_notify_leave(void);
void tern_op_notify_close(void);

/* The region is gone on all ranks: so is what was kept for it. */
void tern_op_notify_forget(uint64_t scope);

/* Requests. name.class says what they take. The calls of one request are made by the thread of its context. */
tern_status tern_op_notice_new(struct tern_ctx *ctx, const struct tern_region *region, struct tern_match_name name,
                               uint32_t count, struct tern_notice **out);
void        tern_op_notice_free(struct tern_notice *notice);
bool        tern_op_notice_start(struct tern_notice *notice);  /* false: it is started */
bool        tern_op_notice_cancel(struct tern_notice *notice); /* false: it is not started, or done */

static inline unsigned tern_op_notice_state(const struct tern_notice *notice)
{
    /* acquire: the last match, and the data that it speaks of. Pairs with complete(). */
    return atomic_load_explicit(&notice->state, memory_order_acquire);
}

/* Wait for a moment for the one match that a started request needs, by the shortest way there is. True: it has come,
 * and the request is not started any more, as after tern_op_notice_seen(). False: it has not come that way, and may
 * come otherwise. */
bool tern_op_notice_spin(struct tern_notice *notice);

/* It is done and the program knows. */
static inline void tern_op_notice_seen(struct tern_notice *notice)
{
    atomic_store_explicit(&notice->state, TERN_NOTICE_IDLE, memory_order_relaxed); /* the context's thread */
}

/* Look for notifications, and now and then at everything else; n counts the looks. Operations that are under way are
 * moved forward in each look: the next may be the last before a sleep. */
static inline void tern_op_notice_poll(struct tern_ctx *ctx, uint32_t *n)
{
    if ((*n)++ % 8 == 0 || tern_core_message_polls_links || tern_core_ctx_has_outstanding(ctx))
        tern_core_ctx_progress(ctx);
    tern_core_message_poll_notify();
}

/* Whether a started request waits in vain, because whoever could notify is dead. */
bool tern_op_notice_hopeless(const struct tern_notice *notice);

/* What the next start would find. */
bool tern_op_notice_peek(struct tern_notice *notice, struct tern_match_name *name, uint64_t *bytes);

/* An event of a started request. False: no memory. */
bool tern_op_notice_event(struct tern_notice *notice, tern_event *event);

/* In words, for reports. */
void tern_op_notice_describe(const struct tern_notice *notice, char *text, size_t size);

/* ---- going out ---- */

/* What a notification says. */
struct tern_notification {
    uint64_t scope, bytes;
    uint32_t tag;
};

static inline struct tern_notification tern_op_notification_of(const struct tern_link_part *part, uint64_t bytes,
                                                               uint32_t tag)
{
    return (struct tern_notification){ .scope = part->region, .bytes = bytes, .tag = tag };
}

/* Take room for one to the job's rank, now; then it is sent, or dropped. */
tern_status tern_op_notify_reserve(int rank, struct tern_link_msg *msg);
void        tern_op_notify_send(const struct tern_link_msg *msg, const struct tern_notification *note);
void        tern_op_notify_drop(const struct tern_link_msg *msg);

/* Notes that carry the data of a put: to a part that permits it, len bytes (at least 1) at an offset, which is at to,
 * if there is room now. tern_op_notify_find_inject before the first. */
tern_status tern_op_notify_find_inject(struct tern_link_part *part);
bool tern_op_notify_inline(struct tern_ctx *ctx, const struct tern_link_part *part, uint32_t tag, uint64_t offset,
                           unsigned char *to, const void *src, size_t len);

/* The same for a word by the shortest way. False: not by that. */
static inline bool tern_op_notify_word(struct tern_ctx *ctx, const struct tern_link_part *part, uint32_t tag,
                                       uint64_t offset, unsigned char *to, const void *src)
{
    const uint64_t word[] = { wire_notify_first(tag, WIRE_NOTIFY_INLINE, sizeof(uint64_t)), part->region, offset };
    /* acquire: the port before the word of it. Pairs with tern_op_notify_find_inject(). */
    struct tern_inject_notify *port = atomic_load_explicit(&part->inject, memory_order_acquire);

    if (TERN_UNLIKELY(!port || !tern_inject_word(port, word, to, src)))
        return false;
    ctx->inline_unflushed = true;
    tern_link_ring(port->slot);
    return true;
}

/* Send one if there is room now. */
tern_status tern_op_notify_try(int rank, const struct tern_notification *note);

#endif
