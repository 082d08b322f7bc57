/* signal.c: see signal.h. */
#include "op/notify/signal.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/read_once.h"
#include "base/options.h"
#include "boot/bell.h"
#include "core/job.h"
#include "op/atomic/exec.h"
#include "op/start.h"
#include "op/wire.h"

/* Maximum size of an RPC request, including its put, that a network sends along with the message. A longer put is sent
 * by itself, without this copy. */
#define TOGETHER 8192u

struct signalled {
    struct tern_compound  work; /* must be first; events point to its record */
    struct tern_op_atomic word;
    struct tern_pending  *transfer; /* the record of the outstanding step. NULL: none is outstanding */
    tern_status           status;   /* of the steps so far */
    bool                  given;    /* the outstanding step is the signal, or the signal is done */
    bool                  stopped;  /* the operation was abandoned */
};

void tern_op_signal_wake(int rank)
{
    struct tern_slot *slot = tern_core_job_slot(rank);

    if (tern_boot_same_node(&tern_job.boot, rank))
        tern_boot_bell_ring(&slot->bell, &slot->sleepers);
}

/* ---- the compound operation ---- */

/* Start the signal after the data has arrived. Returns the same values as the start of a path. */
static tern_status start_signal(struct signalled *s)
{
    struct tern_pending *transfer = tern_core_pending_new(s->work.pending->ctx);
    tern_status          st;

    if (!transfer)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for one more operation under way");
    transfer->owner = &s->work;
    st = tern_op_atomic_step(s->work.pending->ctx, &s->word, transfer);
    if (st == TERN_PENDING)
        s->transfer = transfer;
    else
        tern_core_pending_drop(transfer);
    s->given = st != TERN_AGAIN;
    return st;
}

static void signal_advance(struct tern_compound *work)
{
    struct signalled *s = (struct signalled *)work;

    if (!s->transfer && !s->given && !s->stopped && s->status == TERN_OK) {
        tern_status st = start_signal(s);

        if (st == TERN_AGAIN)
            return;
        s->status = st < 0 ? st : TERN_OK;
    }
    if (s->transfer)
        return;
    tern_op_signal_wake(s->word.part->rank);
    tern_core_compound_end(work, s->status);
}

static void signal_ended(struct tern_compound *work, struct tern_pending *transfer, tern_status status)
{
    struct signalled *s = (struct signalled *)work;

    (void)transfer;
    s->transfer = NULL;
    s->status = status;
    work->pending->op.copied = work->pending->op.xfer.len;
}

static void signal_cancel(struct tern_compound *work)
{
    struct signalled *s = (struct signalled *)work;

    s->stopped = true;
    if (s->transfer) {
        unsigned link = s->transfer->op.xfer.part->link;

        tern_job.ops[link]->cancel(work->pending->ctx->lane[link], &s->transfer->op);
    }
}

static void signal_release(struct tern_compound *work)
{
    free(work);
}

static struct signalled *signal_new(struct tern_ctx *ctx, const struct tern_op_atomic *word)
{
    struct signalled    *s = malloc(sizeof(*s));
    struct tern_pending *pending = s ? tern_core_pending_new(ctx) : NULL;
    struct tern_pending *transfer = pending ? tern_core_pending_new(ctx) : NULL;

    if (!transfer) {
        if (pending)
            tern_core_pending_drop(pending);
        free(s);
        return NULL;
    }
    *s = (struct signalled){
        .work = { .pending = pending,
                  .advance = signal_advance,
                  .ended = signal_ended,
                  .cancel = signal_cancel,
                  .release = signal_release },
        .word = *word,
        .transfer = transfer,
    };
    transfer->owner = &s->work;
    return s;
}

/* ---- starting ---- */

struct start {
    struct tern_op_start         attempt; /* must be first */
    const struct tern_xfer      *xfer;
    const struct tern_op_atomic *word;
    struct tern_pending         *transfer;
};

/* Start the transfer, whose length may be 0. */
static tern_status start_transfer(struct tern_op_start *attempt)
{
    struct start                *s = (struct start *)attempt;
    const struct tern_link_part *part = attempt->part;

    if (s->xfer->len == 0)
        return TERN_OK;
    return part->path->start(attempt->ctx->lane[part->link], s->xfer, &s->transfer->op);
}

/* Whether the put and the signal fit into one RPC. No RPC buffer is smaller than the minimum size of a chunk of the
 * bounce buffer. */
static bool is_one(const struct tern_xfer *xfer, const struct tern_op_atomic *word)
{
    const struct tern_link_part *part = word->part;
    size_t                       most = tern_opt.bounce_chunk < TOGETHER ? tern_opt.bounce_chunk : TOGETHER;

    return xfer->part == part && !part->base && part->path->rpc && xfer->len > 0 &&
           xfer->len <= most - sizeof(struct wire_signal);
}

static tern_status start_together(struct tern_op_start *attempt)
{
    const struct start          *s = (const struct start *)attempt;
    const struct tern_link_part *part = attempt->part;
    const struct tern_link_ops  *ops = tern_job.ops[part->link];
    struct tern_lane            *lane = attempt->ctx->lane[part->link];
    struct tern_link_op         *op = &s->transfer->op;
    const struct wire_signal     request = { .verb = WIRE_SIGNAL,
                                             .add = s->word->op == TERN_ATOMIC_ADD,
                                             .len = (uint32_t)s->xfer->len,
                                             .offset = s->xfer->offset,
                                             .word = s->word->offset,
                                             .value = s->word->operand };
    const struct tern_xfer       rpc = { .part = part,
                                         .offset = s->xfer->offset,
                                         .local = s->xfer->local,
                                         .len = s->xfer->len,
                                         .small_rpc = sizeof(request) + s->xfer->len <= TERN_LINK_SMALL,
                                         .what = "put with a signal" };
    tern_status                  st = ops->rpc_open(lane, &rpc, op);

    if (st != TERN_OK)
        return st;
    memcpy(op->rpc_buf, &request, sizeof(request));
    memcpy(op->rpc_buf + sizeof(request), s->xfer->local, s->xfer->len);
    ops->rpc_send(lane, op, sizeof(request) + s->xfer->len, 0);
    return TERN_PENDING;
}

tern_status tern_op_signal_start(struct tern_ctx *ctx, const struct tern_xfer *xfer, const struct tern_op_atomic *word,
                                 const tern_opts *opts, const char *what)
{
    bool         together = is_one(xfer, word);
    struct start start = {
        .attempt = { .ctx = ctx,
                     .part = xfer->len > 0 ? xfer->part : word->part,
                     .what = what,
                     .len = xfer->len,
                     .start = together ? start_together : start_transfer,
                     .needs_target = !word->part->base },
        .xfer = xfer,
        .word = word,
    };
    struct signalled *s = signal_new(ctx, word);
    tern_status       st;

    if (!s)
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for one more operation under way", what);
    start.transfer = s->transfer;
    s->work.pending->op.xfer = *xfer;
    s->work.pending->op.xfer.part = start.attempt.part;
    s->transfer->op.xfer = s->work.pending->op.xfer;
    st = tern_op_start(&start.attempt, opts->flags);
    if (st != TERN_OK && st != TERN_PENDING) {
        tern_core_pending_drop(s->transfer);
        tern_core_pending_drop(s->work.pending);
        free(s);
        return st;
    }
    s->given = together;
    s->work.pending->op.copied = st == TERN_OK ? xfer->len : s->transfer->op.copied;
    if (st == TERN_OK) {
        tern_core_pending_drop(s->transfer);
        s->transfer = NULL;
    }
    tern_op_fill_events(opts, s->work.pending);
    tern_core_compound_enlist(&s->work);
    signal_advance(&s->work);
    return TERN_OK;
}

tern_status tern_op_signal_run(struct tern_ctx *ctx, const struct tern_xfer *xfer, const struct tern_op_atomic *word,
                               const char *what)
{
    tern_event    event = TERN_EVENT_INIT;
    tern_opts     opts = { .event = &event };
    tern_deadline deadline = tern_core_ctx_deadline(ctx);
    tern_status   st = tern_op_signal_start(ctx, xfer, word, &opts, what);

    return st == TERN_OK ? tern_op_wait(ctx, word->part, &event, deadline) : st;
}

/* ---- at the target ---- */

/* Check a copy of the request, because the sender may be hostile. */
static bool is_sound(const struct wire_signal *w, size_t data, const struct tern_target_mem *mem)
{
    if (w->verb != WIRE_SIGNAL || w->add > 1 || w->zero != 0 || w->len != data ||
        !tern_base_covers(mem->size, w->offset, w->len) || !tern_base_covers(mem->size, w->word, sizeof(uint64_t)) ||
        ((uintptr_t)mem->base + w->word) % sizeof(uint64_t) != 0)
        return false;
    return !mem->is_mapped || (mem->is_mapped(mem->base + w->offset, w->len, true) &&
                               mem->is_mapped(mem->base + w->word, sizeof(uint64_t), true));
}

tern_status tern_op_signal_rpc(const struct tern_target_mem *mem, const unsigned char *request, size_t len,
                               unsigned char *response, size_t room, size_t *response_len)
{
    struct wire_signal w;

    (void)response, (void)room, (void)response_len;
    if (len <= sizeof(w))
        return TERN_ERR_LINK;
    tern_base_copy_once(&w, request, sizeof(w));
    if (!is_sound(&w, len - sizeof(w), mem))
        return TERN_ERR_LINK;
    memcpy(mem->base + w.offset, request + sizeof(w), w.len);
    /* Release, the data before the word: pairs with the acquire in api/signal.c, look(). */
    tern_op_exec(mem->base + w.word, TERN_UINT64, w.add ? TERN_ATOMIC_ADD : TERN_ATOMIC_PUT, w.value, 0);
    tern_op_signal_wake(tern_job.boot.rank); /* the initiator may make its next call much later */
    return TERN_OK;
}
