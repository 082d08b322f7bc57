/* event.c: events as tagged pointers to operations. */
#include "core/op.h"

#define LOCAL_BIT ((uintptr_t)1)

struct tern_op *tern_core_event_op(const tern_event *event)
{
    return (struct tern_op *)((uintptr_t)event->pending & ~LOCAL_BIT);
}

tern_event tern_core_event_make(struct tern_op *op, bool local)
{
    return (tern_event){ (struct tern_pending *)((uintptr_t)op | (local ? LOCAL_BIT : 0)) };
}

struct tern_ctx *tern_core_event_ctx(const tern_event *event)
{
    return tern_core_event_op(event)->progress;
}

void tern_core_event_describe(const tern_event *event, char *text, size_t size)
{
    tern_core_op_describe(tern_core_event_op(event), text, size);
}

/* Return whether the source of an outstanding put may be overwritten. Of a parked operation only the end is known. */
static bool is_source_free(const struct tern_op *op)
{
    return !op->owner && !op->link.xfer.get && (op->transferred || op->link.copied == op->link.xfer.len);
}

bool tern_core_event_done(const tern_event *event)
{
    const struct tern_op *op = tern_core_event_op(event);
    bool                  local = ((uintptr_t)event->pending & LOCAL_BIT) != 0;

    /* acquire: the status, if another thread set it. Pairs with the release in op/notify/notify.c, end_event(). */
    return !op || __atomic_load_n(&op->done, __ATOMIC_ACQUIRE) || (local && is_source_free(op));
}

tern_status tern_core_event_test(tern_event *event)
{
    struct tern_op *op = tern_core_event_op(event);
    tern_status     st;

    if (!tern_core_event_done(event))
        return TERN_PENDING;
    if (!op)
        return TERN_OK;
    st = op->done ? op->status : TERN_OK;
    if (TERN_UNLIKELY(st < 0)) {
        char text[160];
        tern_core_op_describe(op, text, sizeof(text));
        tern_base_fail(st, "the %s failed", text);
    }
    event->pending = NULL;
    if (--op->events == 0 && op->done)
        tern_core_op_drop(op);
    return st;
}
