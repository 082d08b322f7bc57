/* rndv_assist_send.c: rendezvous with the sender's assistance (rndv_assist.c): the sender's part.
 *
 * An ASSIST names a work split of the receiver. While the sender makes progress for the context of its send, it takes
 * pieces from the back of the message and copies them into the receiver's memory: by stores if the memory is in a
 * region that the sender reaches, otherwise through the kernel. Large amounts of data are copied with non-temporal
 * stores.
 */
#include "base/nt_copy.h"
#include "boot/bell.h"
#include "core/message.h"
#include "core/region.h"
#include "op/tagged/tagged.h"

#define AT_ONCE 8 /* pieces of one message to copy before other work is polled */
/* If the messages have more bytes than this in total, little of the data is still in a cache when the receiver reads
 * it. */
#define FLOOD (8u << 20)

/* ---- incoming ASSISTs ---- */

static void set_assists(struct tern_tagged *tagged, uint32_t assists)
{
    atomic_store_explicit(&tagged->assists, assists, memory_order_relaxed); /* relaxed: the lock orders it */
}

static uint32_t assists_of(const struct tern_tagged *tagged)
{
    return atomic_load_explicit(&tagged->assists, memory_order_relaxed);
}

static uint64_t arg_of(const struct tern_work_split *split, unsigned i)
{
    /* relaxed: the delivery of the message orders it */
    return atomic_load_explicit(&split->args[i], memory_order_relaxed);
}

/* Record an ASSIST, if there is space and its values are plausible. They are not plausible if the split is already in
 * use for another message. A message is assisted once, and only if the receiver can fetch its data. */
static void accept(struct tern_tagged_op *op, struct tern_work_split *split, uint32_t key)
{
    struct tern_request      *request = op->request;
    struct tern_tagged       *tagged = request->ctx->tagged;
    uint32_t                  n = assists_of(tagged);
    struct tern_tagged_assist assist = { .request = request,
                                         .split = split,
                                         .key = key,
                                         .addr = arg_of(split, TERN_SPLIT_ADDR),
                                         .size = arg_of(split, TERN_SPLIT_SIZE),
                                         .probe = arg_of(split, TERN_SPLIT_PROBE),
                                         .piece = arg_of(split, TERN_SPLIT_PIECE) };

    if (op->protocol != &tern_op_protocol_rndv || n == TERN_LINK_SPLITS || assist.size > request->size ||
        assist.piece == 0)
        return;
    op->protocol = &tern_op_protocol_rndv_assist;
    tagged->assist_bytes = (n > 0 ? tagged->assist_bytes : 0) + assist.size;
    tagged->assist[n] = assist;
    set_assists(tagged, n + 1);
    atomic_store_explicit(&request->ctx->attention, true, memory_order_relaxed); /* the lock orders it */
}

void tern_op_tagged_on_assist(const tern_am_event *event, void *user)
{
    int                    rank = event->source;
    struct tern_tagged_op *op;
    bool                   alone;

    (void)user;
    if (event->nargs != TERN_ASSIST_ARGS || event->request || event->args[2] >= TERN_LINK_SPLITS ||
        !tern_core_ops_to(rank)->inject)
        tern_core_message_protocol_error(rank, "an invitation to copy a tagged message");
    tern_base_order_after(&tern_op_tagged_lock); /* pairs with tern_base_order_before() in the sending thread */
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if ((op = tern_op_tagged_op_find(rank, event->args[0] | (uint64_t)event->args[1] << 32)))
        accept(op, tern_op_tagged_splits(rank, rank) + event->args[2], event->args[3]);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

void tern_op_tagged_help_end(const struct tern_request *request)
{
    struct tern_tagged *tagged = request->ctx->tagged;

    for (uint32_t i = 0, n = assists_of(tagged); i < n; i++) {
        if (tagged->assist[i].request == request) {
            tagged->assist[i] = tagged->assist[n - 1];
            set_assists(tagged, n - 1);
            return;
        }
    }
}

/* Copy entry i of assist[] to *out. Returns false if there is no such entry. */
static bool assist_at(struct tern_tagged *tagged, uint32_t i, struct tern_tagged_assist *out)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock), some = i < assists_of(tagged);

    if (some) {
        *out = tagged->assist[i];
        out->flood = tagged->assist_bytes > FLOOD;
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return some;
}

static void decline(const struct tern_tagged_assist *assist)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock);

    tern_op_tagged_help_end(assist->request);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

/* ---- copying ---- */

static void copy_nt(const struct tern_xfer *xfer, unsigned char *there)
{
    tern_base_nt_copy(there, xfer->local, xfer->len);
}

/* Copy a piece that this rank has taken. The send does not complete before the piece has landed. */
static tern_status copy(struct tern_lane *lane, const struct tern_tagged_assist *assist,
                        const struct tern_link_part *part, uint64_t piece)
{
    uint64_t         pieces = assist->size / assist->piece + (assist->size % assist->piece > 0);
    uint64_t         at = piece * assist->piece;
    struct tern_xfer xfer = { .part = part, .what = "put of a tagged message" };

    if (piece >= pieces)
        return tern_base_fail(TERN_ERR_LINK, "rank %d opened a piece of a message that the message has not",
                              part->rank);
    xfer.offset = assist->addr - part->addr + at;
    xfer.local = (unsigned char *)assist->request->buffer + at;
    xfer.len = assist->size - at < assist->piece ? assist->size - at : assist->piece;
    xfer.visit = tern_link_loads(part) && assist->flood ? copy_nt : NULL;
    return part->path->start(lane, &xfer, NULL);
}

/* Copy at most AT_ONCE open pieces. Returns whether a piece was copied. */
static bool copy_some(struct tern_lane *lane, const struct tern_tagged_assist *assist,
                      const struct tern_link_part *part)
{
    uint64_t piece;
    unsigned n = 0;

    while (n < AT_ONCE && tern_base_split_take_back(assist->split, assist->key, &piece)) {
        tern_base_split_complete(assist->split, copy(lane, assist, part, piece));
        tern_boot_wake(tern_core_job_slot(part->rank)); /* the receiver may be waiting for this piece */
        n++;
    }
    return n > 0;
}

/* Return the receiver's part, if its memory is in a region that this rank reaches by stores; otherwise NULL. */
static const struct tern_link_part *stored_part(struct tern_ctx *ctx, const struct tern_tagged_assist *assist)
{
    int                          rank = assist->request->peer;
    const struct tern_region    *region = tern_core_region_covering(ctx, rank, assist->addr, assist->size);
    const struct tern_link_part *part = region ? &region->part[rank] : NULL;

    return part && part->path && part->path->instant && tern_link_loads(part) ? part : NULL;
}

/* Copy at most AT_ONCE open pieces through the kernel. Returns whether a piece was copied. */
static bool assist_by_kernel(struct tern_ctx *ctx, const struct tern_tagged_assist *assist)
{
    int                    rank = assist->request->peer;
    struct tern_mem_handle handle = { .region = WIRE_TAGGED_OWN,
                                      .addr = assist->addr,
                                      .size = assist->size,
                                      .probe = assist->probe,
                                      .mem_kind = TERN_MEM_PRIVATE,
                                      .pid = atomic_load(&tern_core_job_slot(rank)->pid) };
    struct tern_link_part  part;
    bool                   any;

    if (tern_op_tagged_reach(rank, &handle, &part) != TERN_OK || !part.path->instant) {
        decline(assist);
        return false;
    }
    any = copy_some(ctx->lane[part.link], assist, &part);
    tern_job.ops[part.link]->detach(tern_job.link[part.link], &part);
    return any;
}

/* Return whether this rank has receives of long messages, which take precedence: two ranks that copy for each other
 * through the kernel are slower than two ranks that copy for themselves. */
static bool is_occupied(const struct tern_ctx *ctx)
{
    return atomic_load_explicit(&ctx->tagged->wishes, memory_order_relaxed) > 0 || /* hints */
           atomic_load_explicit(&ctx->engine_busy, memory_order_relaxed) > 0;
}

static bool assist_one(struct tern_ctx *ctx, const struct tern_tagged_assist *assist)
{
    const struct tern_link_part *part;

    if (!tern_base_split_has_work(assist->split, assist->key))
        return false;
    if ((part = stored_part(ctx, assist)))
        return copy_some(ctx->lane[part->link], assist, part);
    return !is_occupied(ctx) && assist_by_kernel(ctx, assist);
}

void tern_op_tagged_help(struct tern_ctx *ctx)
{
    struct tern_tagged_assist assist;
    bool                      any = false;

    for (uint32_t i = 0; assist_at(ctx->tagged, i, &assist); i++)
        any |= assist_one(ctx, &assist);
    if (any)
        tern_core_message_keep_awake(); /* no bell will ring for the remaining pieces */
}
