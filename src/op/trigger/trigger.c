/* trigger.c: triggered operations that are not transfers. See trigger.h. */
#include "op/trigger/trigger.h"

#include <string.h>

#include "core/region.h"
#include "op/am/am.h"
#include "op/start.h"
#include "op/trigger/engine.h"

/* ---- active messages ---- */

struct message {
    struct tern_op op; /* must be first */
    int            peer;
    tern_am        am;
    uint32_t       args[TERN_AM_ARGS];
};

static tern_status message_start(struct tern_op *op)
{
    struct message *m = (struct message *)op;

    return tern_op_am_send(op->ctx, m->peer, &m->am);
}

static tern_status placed_start(struct tern_op *op)
{
    struct message *m = (struct message *)op;

    return tern_op_am_send_placed(op->ctx, m->peer, &m->am);
}

static const struct tern_op_kind message_kind = { .start = message_start };

static const struct tern_op_step then_message = { .start = placed_start,
                                                  .blocked = ", whose message waits for space in the target's queue" };

/* The payload of a long message may take long, and is transferred first. */
static void transfer_first(struct message *m, const struct tern_link_part *part)
{
    m->op.kind = &tern_op_contig_kind;
    m->op.then = &then_message;
    m->op.link.xfer = (struct tern_xfer){
        .part = part, .offset = m->am.offset, .local = (void *)(uintptr_t)m->am.payload, .len = m->am.len
    };
}

tern_status tern_op_trigger_am(struct tern_ctx *ctx, int peer, const tern_am *am, const tern_opts *opts)
{
    const struct tern_link_part *part = am->kind == TERN_AM_LONG ? &am->region->part[peer] : NULL;
    struct message              *m = tern_op_new(ctx, sizeof(*m), &message_kind, opts, "tern_am_request");

    if (!m)
        return TERN_ERR_NOMEM;
    m->op.link.xfer = (struct tern_xfer){ .len = am->len };
    m->peer = peer;
    m->am = *am;
    m->am.flags = TERN_IMMEDIATE;
    m->am.local = NULL;
    if (am->nargs > 0)
        memcpy(m->args, am->args, am->nargs * sizeof(*am->args));
    m->am.args = m->args;
    if (part && am->len > 0 && !part->path->instant)
        transfer_first(m, part);
    return tern_op_engine_park(&m->op, opts, peer, NULL);
}

/* ---- counter additions and watches ---- */

static tern_status add_start(struct tern_op *op)
{
    return tern_op_engine_add(op->trigger->target, op->scratch[0]);
}

static const struct tern_op_kind add_kind = { .start = add_start };

tern_status tern_op_trigger_add(struct tern_counter *target, uint64_t value, const tern_opts *opts)
{
    struct tern_op *op = tern_core_op_alloc(target->engine->ctx, sizeof(*op), &add_kind, "tern_counter_add");

    if (!op)
        return tern_base_fail(TERN_ERR_NOMEM, "tern_counter_add: out of memory for another outstanding operation");
    op->link.xfer = (struct tern_xfer){ .len = 0 };
    op->scratch[0] = value;
    return tern_op_engine_park(op, opts, -1, target);
}

static tern_status watch_start(struct tern_op *op)
{
    (void)op;
    return TERN_OK;
}

const struct tern_op_kind tern_op_trigger_watch_kind = { .start = watch_start };

tern_status tern_op_trigger_watch(struct tern_counter *counter, const tern_opts *opts)
{
    struct tern_op *op =
        tern_core_op_alloc(counter->engine->ctx, sizeof(*op), &tern_op_trigger_watch_kind, "tern_counter_event");

    if (!op)
        return tern_base_fail(TERN_ERR_NOMEM, "tern_counter_event: out of memory for another event of a counter");
    op->link.xfer = (struct tern_xfer){ .len = 0 };
    return tern_op_engine_park(op, opts, -1, NULL);
}
