/* notify.h: incoming notifications, the requests that wait for them, and outgoing notifications.
 *
 * A notification says that an access of its source to a region has completed. It is matched with the oldest started
 * request of the target that accepts it, or is stored as unexpected until one does (match.h). Any thread that polls for
 * messages may deliver it. A biased lock, which costs nothing while there is one thread, guards the requests and the
 * unexpected notifications.
 *
 * The number of unexpected notifications is bounded (TERN_NOTIFY_KEEP). A target at the limit accepts only
 * notifications that match a started request. The others stay in the queues of the links, and their senders see
 * back-pressure.
 */
#pragma once

#include <string.h>
#include <tern/notify.h>
#include <tern/rma.h>

#include "base/list.h"
#include "base/options.h"
#include "core/context.h"
#include "core/job.h"
#include "core/region.h"
#include "core/wait_set.h"
#include "link/inject.h"
#include "op/match.h"
#include "op/wire.h"

/* The states of a request, with the values of core/wait_set.h. */
enum tern_notify_request_state {
    TERN_NOTIFY_REQUEST_IDLE = TERN_WAITABLE_IDLE,
    TERN_NOTIFY_REQUEST_STARTED = TERN_WAITABLE_PENDING,
    TERN_NOTIFY_REQUEST_DONE = TERN_WAITABLE_DONE,
    TERN_NOTIFY_REQUEST_HOPELESS = TERN_WAITABLE_HOPELESS, /* started, but every rank that could send a match is dead */
    TERN_NOTIFY_REQUEST_FREED = TERN_WAITABLE_FREED
};

/* A notification request. Delivering and waiting for a notification touch only its first cache line. */
struct tern_notify_request {
    _Alignas(64) struct tern_match_request request; /* must be first */
    uint32_t                left;                   /* number of matches still missing */
    _Atomic uint16_t        state;    /* enum tern_notify_request_state. The delivering thread sets DONE */
    bool                    recorded; /* record is valid */
    uint32_t                tag;      /* tag, source and bytes describe the last match */
    int32_t                 source;   /* rank in the job; -1: none yet */
    uint64_t                bytes;
    struct tern_ctx        *ctx;
    /* Fields that delivery does not touch. */
    struct tern_op         *record; /* the record that the events of this start point to */
    struct tern_team       *team;   /* of the region */
    struct tern_match_name  name;
    uint32_t                count;
    struct tern_list        all;  /* in the list of all requests, or of freed ones */
    struct tern_roster_node ever; /* must be last; it outlives the request */
};
_Static_assert(offsetof(struct tern_notify_request, record) == 64, "delivery touches one cache line");

extern struct tern_biased_lock tern_op_notify_lock __attribute__((visibility("hidden")));
extern struct tern_match       tern_op_notify_match __attribute__((visibility("hidden"))); /* guarded by the lock */

/* Count one more match of a request. The caller holds the lock. */
static inline void tern_op_notify_request_count(struct tern_notify_request *notify_request, int source, uint32_t tag,
                                                uint64_t bytes)
{
    notify_request->source = source;
    notify_request->tag = tag;
    notify_request->bytes = bytes;
    notify_request->left--;
}

/* tern_op_notify_open starts to accept notifications; it is called before the rank joins the job. tern_op_notify_leave
 * frees all requests and drops all further notifications, because the program is about to leave the job.
 * tern_op_notify_close frees the remaining memory after the rank has left. */
void tern_op_notify_open(void);
void tern_op_notify_leave(void);
void tern_op_notify_close(void);

/* Upcalls of the links (struct tern_link_up): accept a notification, and write the head of a notification that arrived
 * together with a put. */
enum tern_link_delivered tern_op_notify_receive(int from, const unsigned char *head, bool copy);
void                     tern_op_notify_write_head(unsigned char *head, uint64_t region, uint32_t tag, uint64_t bytes);

/* Drop the unexpected notifications of a region that has been freed on all ranks. */
void tern_op_notify_forget(uint64_t scope);

/* Notification requests. name.class says which fields of the name a request compares. The thread of the request's
 * context must make all calls on that request. */
tern_status tern_op_notify_request_new(struct tern_ctx *ctx, const struct tern_region *region,
                                       struct tern_match_name name, uint32_t count, struct tern_notify_request **out);
void        tern_op_notify_request_free(struct tern_notify_request *notify_request);
bool        tern_op_notify_request_cancel(struct tern_notify_request *notify_request); /* false: not started, or done */

/* The parts of tern_op_notify_request_start. The first one is used if unexpected notifications are stored, or other
 * threads use Tern, too; the second one after a start, if the rank refuses notifications or a rank is dead. */
bool tern_op_notify_request_start_slowly(struct tern_notify_request *notify_request);
void tern_op_notify_request_started(const struct tern_notify_request *notify_request);

/* Start a request. Returns false if the request is already started. */
static inline __attribute__((always_inline)) bool tern_op_notify_request_start(
    struct tern_notify_request *notify_request)
{
    /* One comparison tests for all states but IDLE and DONE: STARTED, HOPELESS and FREED. */
    if (TERN_UNLIKELY((atomic_load_explicit(&notify_request->state, memory_order_relaxed) &
                       ~(unsigned)TERN_NOTIFY_REQUEST_DONE) != 0))
        return false;
    if (TERN_UNLIKELY(!tern_base_biased_trylock(&tern_op_notify_lock)))
        return tern_op_notify_request_start_slowly(notify_request);
    if (TERN_UNLIKELY(tern_op_notify_match.kept > 0)) {
        tern_base_biased_unlock(&tern_op_notify_lock, true);
        return tern_op_notify_request_start_slowly(notify_request);
    }
    notify_request->left = notify_request->count;
    notify_request->source = -1;
    tern_op_match_post(&tern_op_notify_match, &notify_request->request);
    atomic_store_explicit(&notify_request->state, TERN_NOTIFY_REQUEST_STARTED,
                          memory_order_relaxed); /* the lock orders it */
    tern_base_biased_unlock(&tern_op_notify_lock, true);
    if (TERN_UNLIKELY(tern_core_message_refuses(TERN_CHANNEL_NOTIFY) ||
                      atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) > 0))
        tern_op_notify_request_started(notify_request);
    return true;
}

static inline unsigned tern_op_notify_request_state(const struct tern_notify_request *notify_request)
{
    /* acquire: the fields of the last match, and the data of the access. Pairs with complete(). */
    return atomic_load_explicit(&notify_request->state, memory_order_acquire);
}

/* Make a completed request idle after its completion was reported to the program. */
static inline void tern_op_notify_request_seen(struct tern_notify_request *notify_request)
{
    atomic_store_explicit(&notify_request->state, TERN_NOTIFY_REQUEST_IDLE,
                          memory_order_relaxed); /* relaxed: only the context's thread accesses it now */
}

/* Return whether the next start would find an unexpected notification, and describe it. */
bool tern_op_notify_request_peek(struct tern_notify_request *notify_request, struct tern_match_name *name,
                                 uint64_t *bytes);

/* Fill an event for a started request. Returns false if there is no memory. */
bool tern_op_notify_request_event(struct tern_notify_request *notify_request, tern_event *event);

/* Describe the request in words, for reports. */
void tern_op_notify_request_describe(const struct tern_notify_request *notify_request, char *text, size_t size);

/* ---- outgoing notifications ---- */

/* Reserve space for a notification to a rank of the job, without waiting. The caller must then either send or drop the
 * notification. */
tern_status tern_op_notify_reserve(int rank, struct tern_link_msg *msg);
void        tern_op_notify_send(const struct tern_link_msg *msg, const struct tern_notification *notification);
void        tern_op_notify_drop(const struct tern_link_msg *msg);

/* Start a put of at least 1 byte with a notification that carries the data inline. Returns TERN_AGAIN, without any
 * effect, if the put must take another path: it is too long, the context is strict, the arguments are invalid, the
 * memory of the rank is not reachable by stores, or the queue is full. */
tern_status tern_op_notify_put_inline(struct tern_ctx *ctx, struct tern_region *region, int rank, uint64_t offset,
                                      const void *src, size_t len, uint32_t tag);

/* Fast path of tern_op_notify_put_inline for 8 bytes. Returns false, with no effect, if the path is not available. */
static inline bool tern_op_notify_put_word(struct tern_ctx *ctx, struct tern_region *region, int rank, uint64_t offset,
                                           const void *src, uint32_t tag)
{
    unsigned char *to = tern_direct(ctx, region, rank, offset, sizeof(uint64_t));

    if (TERN_UNLIKELY(!to || ctx->order != TERN_RELAXED || tern_opt.notify_inline < sizeof(uint64_t)))
        return false;

    const struct tern_link_part *part = &region->part[tern_core_team_world(ctx->team, rank)];
    const uint64_t word[] = { wire_notify_first(tag, WIRE_NOTIFY_INLINE, sizeof(uint64_t)), part->region, offset };
    /* acquire: the handle before its contents. Pairs with the release in send.c, find_inject(). */
    struct tern_inject_notify *handle = atomic_load_explicit(&part->inject, memory_order_acquire);

    if (TERN_UNLIKELY(!handle || !tern_inject_word(handle, word, to, src)))
        return false;
    /* release: the notification, for a thread that shares the context. Pairs with tern_core_shared_take_unflushed(). */
    __atomic_store_n(&ctx->inline_unflushed, true, __ATOMIC_RELEASE);
    tern_link_ring(handle->slot);
    return true;
}

/* Send a notification if there is space now; otherwise return TERN_AGAIN. */
tern_status tern_op_notify_try(int rank, const struct tern_notification *notification);
