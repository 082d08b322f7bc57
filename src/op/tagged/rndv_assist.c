/* rndv_assist.c: rendezvous with the sender's assistance: both ranks copy a long message. This file contains the
 * receiver's part, rndv_assist_send.c the sender's part.
 *
 * The receiver of an RTS fetches the data. If both ranks have a core of their own, the receiver also sends an ASSIST to
 * the sender. The receiver opens pieces of the message (base/work_split.h), as many as may be in flight, and copies
 * them from the front. A sender that makes progress for the context of its send in the meantime takes pieces from the
 * back and copies them into the receiver's memory. A sender that computes, or cannot reach that memory itself, takes no
 * pieces, and the receiver does not wait for it. Only the receiver decides how many pieces are open, and thus controls
 * the flow of data.
 *
 * If the receiver's buffer is in a region that the sender reaches by stores, the sender's copy is much faster than a
 * copy through the kernel. In this case the receiver always sends an ASSIST, the sender helps even while it has
 * receives of its own, and the receiver leaves the copy to the sender as long as the sender makes progress.
 *
 * An ASSIST is an internal active message on the reply channel, on which the FIN of the message is also sent, after the
 * ASSIST. The receiver sends the FIN after all pieces that the sender has taken have landed. As long as the sender can
 * take pieces with the split's key, the send is therefore not complete, and its buffer is unchanged.
 */
#include <sched.h>

#include "base/clock.h"
#include "base/options.h"
#include "boot/bell.h"
#include "core/message.h"
#include "core/region.h"
#include "op/tagged/tagged.h"

#define PAGE 4096u            /* granularity of copies by the kernel */
#define LEAST_SPLIT 32768u    /* bytes: smaller messages are not split with the sender */
#define PATIENCE 1000000000ll /* ns: the longest wait of split_stop() */
#define ABSENT 50000ll        /* ns without a store after which the sender is assumed to be outside of Tern calls */
#define UNASKED 16u           /* number of messages before the receiver waits for such a sender again */

/* ---- setting up a work split ---- */

/* The set of this rank's work splits that no message uses, as bits. */
static _Atomic uint32_t free_splits = UINT32_MAX >> (32 - TERN_LINK_SPLITS);

static unsigned split_index(const struct tern_tagged_op *op)
{
    return (unsigned)(op->split - tern_op_tagged_splits(tern_job.boot.rank, op->request->source));
}

/* Allocate a work split; NULL: all are in use. */
static struct tern_work_split *split_alloc(int source)
{
    uint32_t seen = atomic_load_explicit(&free_splits, memory_order_relaxed);

    do {
        if (seen == 0)
            return NULL;
        /* acquire: the previous owner's use of the split. Pairs with split_free(). */
    } while (!atomic_compare_exchange_weak_explicit(&free_splits, &seen, seen & (seen - 1), memory_order_acquire,
                                                    memory_order_relaxed));
    return tern_op_tagged_splits(tern_job.boot.rank, source) + __builtin_ctz(seen);
}

static void split_free(struct tern_tagged_op *op)
{
    /* release: this thread's use of the split before the next owner's. Pairs with split_alloc(). */
    atomic_fetch_or_explicit(&free_splits, 1u << split_index(op), memory_order_release);
    op->split = NULL;
}

/* Return the number of bytes that may be in flight. */
static uint64_t split_window(void)
{
    return (uint64_t)tern_opt.msg_window * tern_opt.msg_chunk;
}

/* Return whether the buffer is in a region that this rank allocated and the sender reaches by stores. */
static bool is_stored(const struct tern_tagged_op *op)
{
    struct tern_ctx          *ctx = op->request->ctx->engine->ctx;
    const struct tern_region *region =
        tern_core_region_covering(ctx, tern_job.boot.rank, (uint64_t)(uintptr_t)op->request->buffer, op->want);

    return region && region->part[tern_job.boot.rank].mem_kind != TERN_MEM_PRIVATE &&
           tern_link_loads(&region->part[op->request->source]);
}

/* Return whether the sender should copy, too: the message is long enough, the link supports a split, and the sender has
 * a core of its own. If this rank has long sends outstanding, other ranks are busy with those, and only a copy by
 * stores pays off. */
static bool is_split(const struct tern_tagged_op *op)
{
    return op->want - op->fetched >= LEAST_SPLIT && split_window() >= (size_t)2 * PAGE && tern_opt.msg_piece > 0 &&
           op->attached && op->part.path->instant && op->request->source != tern_job.boot.rank &&
           tern_job.ops[op->part.link]->inject && tern_job.spin_ns > 0 &&
           (op->stored || atomic_load_explicit(&tern_op_tagged_awaiting_fin, memory_order_relaxed) == 0);
}

static struct tern_tagged_peer *flow_of(const struct tern_tagged_op *op)
{
    return &op->request->ctx->tagged->peer[op->request->source];
}

/* Pieces are counted from the beginning of the message, including the bytes that came with the RTS. */
bool tern_op_tagged_assist_begin(struct tern_tagged_op *op)
{
    static _Atomic uint32_t keys;
    uint64_t                args[TERN_SPLIT_ARGS], left = op->want - op->fetched, piece;

    op->stored = is_stored(op);
    if (!is_split(op) || !(op->split = split_alloc(op->request->source)))
        return false;
    piece = tern_opt.msg_piece < left / 4 ? tern_opt.msg_piece : left / 4;
    piece = piece < split_window() / 2 ? piece : split_window() / 2;
    op->chunk = piece > PAGE ? piece & ~(uint64_t)(PAGE - 1) : PAGE;
    op->opened = op->taken = op->fetched / op->chunk;
    if (op->stored && flow_of(op)->absent > 0)
        flow_of(op)->absent--;
    args[TERN_SPLIT_ADDR] = (uint64_t)(uintptr_t)op->request->buffer;
    args[TERN_SPLIT_SIZE] = op->want;
    args[TERN_SPLIT_PROBE] = (uint64_t)(uintptr_t)&tern_link_probe;
    args[TERN_SPLIT_PIECE] = op->chunk;
    tern_base_split_begin(op->split, atomic_fetch_add_explicit(&keys, 1, memory_order_relaxed), args);
    return true;
}

/* ---- copying ---- */

static uint64_t split_pieces(const struct tern_tagged_op *op)
{
    return (op->want + op->chunk - 1) / op->chunk;
}

/* Return the number of pieces that the sender has taken and that may not have landed yet. No pieces may be open. */
static uint64_t split_in_flight(const struct tern_tagged_op *op)
{
    return op->opened - op->taken - tern_base_split_completed(op->split);
}

/* Send an ASSIST. Returns false if there is no space or another thread is delivering. */
static bool send_assist(const struct tern_tagged_op *op)
{
    const uint32_t args[TERN_ASSIST_ARGS] = { (uint32_t)op->id, (uint32_t)(op->id >> 32), split_index(op),
                                              atomic_load_explicit(&op->split->key, memory_order_relaxed) };
    tern_status    st;

    if (!tern_core_message_hold())
        return false;
    st = tern_op_am_reply_own(op->request->source, TERN_CHANNEL_REPLY, TERN_OP_AM_ASSIST, args, TERN_ASSIST_ARGS);
    tern_core_message_release();
    return st == TERN_OK;
}

/* Record the time at which the sender was asked to store data, or has stored data. */
static void split_asked(struct tern_tagged_op *op)
{
    op->seen = tern_base_split_helper_end(op->split);
    flow_of(op)->asked = tern_base_now();
}

/* Open as many pieces as may be in flight, and send an ASSIST or ring the sender's bell. Returns false if the sender's
 * pieces in flight already fill the window. */
static bool split_open(struct tern_tagged_op *op)
{
    uint64_t most = split_window() / op->chunk, away = split_in_flight(op);
    uint64_t left = split_pieces(op) - op->opened;
    uint64_t count = most > away ? most - away : 0;

    count = count < left ? count : left;
    count = count < TERN_SPLIT_MAX ? count : TERN_SPLIT_MAX;
    if (count == 0)
        return false;
    tern_base_split_open(op->split, op->opened, (unsigned)count);
    op->opened += count;
    if (op->assist_sent)
        tern_boot_wake(tern_core_job_slot(op->request->source));
    else
        op->assist_sent = send_assist(op);
    split_asked(op);
    return true;
}

/* Return whether to leave the copy to the sender, whose stores are several times as fast as this rank's copy through
 * the kernel. The answer is yes as long as the sender keeps storing data for this context. If a sender did not respond,
 * this rank does not wait for it again until the sender has stored data or has sent UNASKED more messages. */
static bool split_is_left(struct tern_tagged_op *op)
{
    struct tern_tagged_peer *flow = flow_of(op);

    if (op->seen != tern_base_split_helper_end(op->split)) {
        split_asked(op);
        flow->absent = 0;
    }
    if (flow->absent == 0 && tern_base_now() - flow->asked > ABSENT)
        flow->absent = UNASKED;
    return flow->absent == 0;
}

/* Copy one piece. The piece number comes from memory that the sender can write, so it is checked: only pieces of the
 * message are fetched, and not more pieces than the message has. */
static void split_copy(struct tern_tagged_op *op, uint64_t piece)
{
    uint64_t pieces = split_pieces(op), at, end;
    bool     sound = piece < pieces && op->taken < pieces;

    at = sound ? piece * op->chunk : 0;
    end = at + op->chunk < op->want ? at + op->chunk : op->want;
    at = at > op->fetched ? at : op->fetched;
    op->taken++;
    if (sound && at < end)
        tern_op_tagged_fail(op, tern_op_tagged_get(op, at, end - at));
    else
        tern_op_tagged_fail(op, tern_base_fail(TERN_ERR_LINK,
                                               "rank %d changed which pieces of its message are left to copy",
                                               op->request->source));
}

/* Copy pieces, and open more pieces. Returns true if this rank cannot continue: all pieces are open and taken, the
 * sender's pieces fill the window, or the receive has failed. */
static bool split_pump(struct tern_tagged_op *op)
{
    bool     again = false;
    uint64_t piece;

    while (!tern_op_tagged_has_failed(op)) {
        bool yield = op->stored && tern_base_split_left(op->split) && split_is_left(op);

        if (!yield && tern_base_split_take_front(op->split, &piece)) {
            split_copy(op, piece);
            if (!op->stored)
                continue;
            yield = true; /* stores for other ranks take precedence over this copy */
        }
        if (!yield && op->opened == split_pieces(op))
            break;
        if (yield || again) {
            tern_core_message_keep_awake(); /* no bell will ring for the remaining pieces */
            return false;
        }
        if (!split_open(op))
            break;
        again = true;
    }
    return true;
}

/* Return whether all pieces have landed, including those that the sender copies. If the receive has failed, only the
 * pieces that the sender has taken must land. */
bool tern_op_tagged_assist_fetch(struct tern_tagged_op *op)
{
    if (!op->split)
        return true;
    if (!split_pump(op))
        return false;
    if (tern_op_tagged_has_failed(op))
        op->opened -= tern_base_split_close(op->split); /* so that the sender takes no more pieces */
    if (split_in_flight(op) > 0 || (!tern_op_tagged_has_failed(op) && op->opened < split_pieces(op))) {
        if (!tern_core_job_lost(op->request->source))
            return false;
        tern_op_tagged_fail(op, tern_base_fail(TERN_ERR_PEER, "rank %d is gone", op->request->source));
    }
    /* relaxed: split_in_flight() orders it */
    tern_op_tagged_fail(op, atomic_load_explicit(&op->split->status, memory_order_relaxed));
    split_free(op);
    return true;
}

/* Make sure that the sender does not write to the buffer any more, before the program gets it back. The wait for the
 * pieces that the sender has taken is usually short, because the sender copies them at once. It is bounded, because the
 * sender's process may be stopped. */
static void split_stop(struct tern_tagged_op *op)
{
    int64_t until = tern_base_now() + PATIENCE;

    op->opened -= tern_base_split_close(op->split);
    while (split_in_flight(op) > 0 && !tern_core_job_lost(op->request->source) && tern_base_now() < until)
        sched_yield();
    if (split_in_flight(op) == 0) /* otherwise the split is never used again */
        split_free(op);
    op->split = NULL;
}

void tern_op_tagged_assist_stop(struct tern_tagged_op *op)
{
    if (op->split)
        split_stop(op);
    tern_op_tagged_rndv_stop(op);
}
