/* event.c: events as tagged pointers to pending records. */
#include "core/context.h"

#define LOCAL_BIT ((uintptr_t)1)

struct tern_pending *tern_core_event_record(const tern_event *event)
{
    return (struct tern_pending *)((uintptr_t)event->pending & ~LOCAL_BIT);
}

tern_event tern_core_event_make(struct tern_pending *pending, bool local)
{
    pending->holders++;
    return (tern_event){ (struct tern_pending *)((uintptr_t)pending | (local ? LOCAL_BIT : 0)) };
}

struct tern_ctx *tern_core_event_ctx(const tern_event *event)
{
    return tern_core_event_record(event)->ctx;
}

void tern_core_event_describe(const tern_event *event, char *text, size_t size)
{
    tern_core_pending_describe(tern_core_event_record(event), text, size);
}

bool tern_core_event_done(const tern_event *event)
{
    const struct tern_pending *pending = tern_core_event_record(event);
    bool                       local = ((uintptr_t)event->pending & LOCAL_BIT) != 0;

    /* acquire: the status, if another thread set it. Pairs with the release in op/notify/notify.c, complete(). */
    return !pending || __atomic_load_n(&pending->done, __ATOMIC_ACQUIRE) ||
           (local && !pending->op.xfer.get && pending->op.copied == pending->op.xfer.len);
}

tern_status tern_core_event_test(tern_event *event)
{
    struct tern_pending *pending = tern_core_event_record(event);
    tern_status          st;

    if (!tern_core_event_done(event))
        return TERN_PENDING;
    if (!pending)
        return TERN_OK;
    st = pending->done ? pending->status : TERN_OK;
    if (TERN_UNLIKELY(st < 0)) {
        char op[160];
        tern_core_pending_describe(pending, op, sizeof(op));
        tern_base_fail(st, "the %s failed", op);
    }
    event->pending = NULL;
    if (--pending->holders == 0 && pending->done)
        tern_core_pending_drop(pending);
    return st;
}
