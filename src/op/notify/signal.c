/* signal.c: see signal.h. */
#include "op/notify/signal.h"

#include <string.h>

#include "base/bits.h"
#include "base/read_once.h"
#include "base/options.h"
#include "boot/bell.h"
#include "core/job.h"
#include "op/atomic/exec.h"
#include "op/start.h"
#include "op/wire.h"

/* Maximum size of an RPC request that contains a put and its signal. The data of the put is copied into the request. A
 * longer put is a transfer of its own, without this copy. */
#define TOGETHER 8192u

void tern_op_signal_wake(int rank)
{
    if (tern_boot_same_node(&tern_job.boot, rank))
        tern_boot_wake(tern_core_job_slot(rank));
}

/* ---- the second step: the signal after the data ---- */

static tern_status signal_start(struct tern_op *op)
{
    const struct tern_op_atomic word = { .part = op->signal.part,
                                         .offset = op->signal.offset,
                                         .type = (tern_type)op->signal.type,
                                         .op = op->signal.op,
                                         .operand = op->signal.operand };

    return tern_op_atomic_step(op, &word);
}

static void signal_ended(struct tern_op *op)
{
    tern_op_signal_wake(op->signal.part->rank);
}

static const struct tern_op_step then_signal = { .start = signal_start,
                                                 .ended = signal_ended,
                                                 .blocked = ", whose signal waits for space in the queues to the "
                                                            "target" };

void tern_op_then_signal(struct tern_op *op, const struct tern_op_atomic *word)
{
    op->then = &then_signal;
    op->region[1] = word->part->number;
    op->signal = (struct tern_op_signal){ .part = word->part,
                                          .offset = word->offset,
                                          .operand = word->operand,
                                          .op = word->op,
                                          .type = (uint32_t)word->type };
    op->needs_target |= !tern_link_loads(word->part);
}

void tern_op_signal_now(const struct tern_op_atomic *word)
{
    /* Release, the data before the word: pairs with the acquire in api/signal.c, look(). */
    tern_op_exec(word->part->base + word->offset, word->type, word->op, word->operand, 0);
    tern_op_signal_wake(word->part->rank);
}

/* ---- starting ---- */

/* Return whether the put and the signal fit into one RPC. An RPC buffer is a chunk of the bounce buffer, or, over a
 * network, has more than TOGETHER bytes (TERN_NET_RPC_BUFFER). */
static bool is_one(const struct tern_xfer *xfer, const struct tern_op_atomic *word)
{
    const struct tern_link_part *part = word->part;
    size_t                       most = tern_opt.bounce_chunk < TOGETHER ? tern_opt.bounce_chunk : TOGETHER;

    return xfer->part == part && !tern_link_loads(part) && part->path->rpc && xfer->len > 0 &&
           xfer->len <= most - sizeof(struct wire_signal);
}

/* Send the put and the signal as one RPC. */
static tern_status together_start(struct tern_op *op)
{
    const size_t             len = op->link.xfer.len;
    const struct wire_signal request = { .verb = WIRE_SIGNAL,
                                         .add = op->signal.op == TERN_ATOMIC_ADD,
                                         .bytes = (uint8_t)tern_op_exec_size((tern_type)op->signal.type),
                                         .len = (uint32_t)len,
                                         .offset = op->link.xfer.offset,
                                         .word = op->signal.offset,
                                         .value = op->signal.operand };
    tern_status              st = tern_op_rpc_start(op, &request, sizeof(request), len, NULL, 0);

    if (st == TERN_PENDING)
        op->link.copied = len;
    return st;
}

static const struct tern_op_kind together_kind = { .start = together_start };

/* A put that carries its signal to the target, behind the data. */
struct carrying_put {
    struct tern_op           op; /* must be first */
    struct tern_link_put_rpc rpc;
};
_Static_assert(sizeof(struct wire_signal) <= TERN_LINK_PUT_RPC_MAX, "a signal without data fits");

static void carry_signal(struct carrying_put *put, const struct tern_op_atomic *word)
{
    const struct wire_signal request = { .verb = WIRE_SIGNAL,
                                         .add = word->op == TERN_ATOMIC_ADD,
                                         .bytes = (uint8_t)tern_op_exec_size(word->type),
                                         .word = word->offset,
                                         .value = word->operand };

    put->rpc = (struct tern_link_put_rpc){ .region = word->part->region, .len = sizeof(request) };
    memcpy(put->rpc.request, &request, sizeof(request));
    put->op.link.xfer.put_rpc = &put->rpc;
}

tern_status tern_op_put_signal(struct tern_ctx *ctx, const struct tern_xfer *xfer, const struct tern_op_atomic *word,
                               const tern_opts *opts, const char *call)
{
    bool            together = is_one(xfer, word);
    bool            carries = !together && xfer->len > 0 && xfer->part->path->put_rpc && word->part->path->put_rpc;
    struct tern_op *op = tern_op_new(ctx, carries ? sizeof(struct carrying_put) : sizeof(*op),
                                     together ? &together_kind : &tern_op_contig_kind, opts, call);

    if (!op)
        return TERN_ERR_NOMEM;
    op->link.xfer = *xfer;
    op->link.xfer.what = "put with a signal";
    op->link.xfer.small_rpc = together && sizeof(struct wire_signal) + xfer->len <= TERN_LINK_SMALL;
    if (xfer->len == 0)
        op->link.xfer.part = word->part;
    tern_op_then_signal(op, word);
    if (carries)
        carry_signal((struct carrying_put *)op, word);
    if (together || carries)
        op->then = NULL;
    return tern_op_go(op, opts);
}

/* ---- at the target ---- */

/* Check a copy of the request, because the sender may be hostile. */
static bool is_sound(const struct wire_signal *w, size_t data, const struct tern_target_mem *mem)
{
    if (w->verb != WIRE_SIGNAL || w->add > 1 || (w->bytes != 4 && w->bytes != 8) || w->zero != 0 || w->len != data ||
        !tern_base_covers(mem->size, w->offset, w->len) || !tern_base_covers(mem->size, w->word, w->bytes) ||
        ((uintptr_t)mem->base + w->word) % w->bytes != 0)
        return false;
    return !mem->is_mapped ||
           (mem->is_mapped(mem->base + w->offset, w->len, true) && mem->is_mapped(mem->base + w->word, w->bytes, true));
}

tern_status tern_op_signal_rpc(const struct tern_target_mem *mem, const unsigned char *request, size_t len,
                               unsigned char *response, size_t capacity, size_t *response_len)
{
    struct wire_signal w;

    (void)response, (void)capacity, (void)response_len;
    if (len < sizeof(w))
        return TERN_ERR_LINK;
    tern_base_copy_once(&w, request, sizeof(w));
    if (!is_sound(&w, len - sizeof(w), mem))
        return TERN_ERR_LINK;
    memcpy(mem->base + w.offset, request + sizeof(w), w.len);
    /* Release, the data before the word: pairs with the acquire in api/signal.c, look(). */
    tern_op_exec(mem->base + w.word, w.bytes == 4 ? TERN_UINT32 : TERN_UINT64,
                 w.add ? TERN_ATOMIC_ADD : TERN_ATOMIC_PUT, w.value, 0);
    tern_op_signal_wake(tern_job.boot.rank); /* the initiator may make its next call much later */
    return TERN_OK;
}
