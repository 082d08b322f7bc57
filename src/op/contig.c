/* contig.c: one contiguous transfer.
 *
 * The part knows its path. A path that is instant does everything now. Others may need room first (TERN_AGAIN) and time
 * afterwards (TERN_PENDING), for which the context keeps a record.
 */
#include "op/contig.h"

#include "op/attempt.h"

struct contig {
    struct tern_op_attempt attempt; /* first */
    struct tern_pending   *pending; /* NULL: the path is instant */
};

static tern_status contig_start(struct tern_op_attempt *attempt)
{
    struct contig               *c = (struct contig *)attempt;
    const struct tern_link_part *part = attempt->part;

    return part->path->start(attempt->ctx->lane[part->link], attempt->xfer, c->pending ? &c->pending->op : NULL);
}

tern_status tern_op_contig_start(struct tern_ctx *ctx, const struct tern_xfer *xfer, const tern_opts *opts,
                                 const char *what)
{
    struct contig c = {
        .attempt = { .ctx = ctx,
                     .part = xfer->part,
                     .what = what,
                     .len = xfer->len,
                     .xfer = xfer,
                     .start = contig_start },
    };
    tern_status st;

    if (!xfer->part->path->instant && !(c.pending = tern_core_pending_new(ctx)))
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for one more operation under way", what);
    st = tern_op_attempt(&c.attempt, opts->flags);
    if (st == TERN_PENDING) {
        tern_op_fill(opts, c.pending);
        tern_core_pending_enlist(c.pending);
        return TERN_OK;
    }
    if (c.pending)
        tern_core_pending_drop(c.pending);
    if (st == TERN_OK)
        tern_op_fill(opts, NULL);
    return st;
}

tern_status tern_op_contig_run(struct tern_ctx *ctx, const struct tern_xfer *xfer, const char *what)
{
    tern_event    event = TERN_EVENT_INIT;
    tern_opts     opts = { .event = &event };
    tern_deadline deadline = tern_core_ctx_deadline(ctx);
    tern_status   st = tern_op_contig_start(ctx, xfer, &opts, what);

    return st == TERN_OK ? tern_op_finish(ctx, xfer->part, &event, deadline) : st;
}
