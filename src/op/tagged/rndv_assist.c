/* rndv_assist.c: sender-assisted copy of a long message.
 *
 * The receiver of an RTS fetches the data. If both ranks have a core of their own, the receiver also sends an ASSIST to
 * the sender. The receiver opens pieces of the message (base/work_split.h), as many as may be in flight, and copies
 * them from the front. A sender that makes progress for the context of its send in the meantime takes pieces from the
 * back and copies them into the receiver's memory. A sender that computes, or cannot reach that memory itself, takes no
 * pieces, and the receiver does not wait for it. The receiver alone decides how many pieces are open, and so controls
 * the flow of data.
 *
 * If the receiver's buffer is in a region that the sender reaches by stores, the sender's copy is much faster than a
 * copy through the kernel. In this case the receiver always sends an ASSIST, the sender helps even while it has
 * receives of its own, and the receiver leaves the copy to the sender as long as the sender makes progress (rndv.c).
 * Large amounts of data are copied with non-temporal stores.
 *
 * An ASSIST is an internal active message on the reply channel, on which the FIN of the message follows. The receiver
 * sends the FIN after all pieces that the sender has taken have landed. While there are pieces with the split's key to
 * take, the send is therefore not complete and its buffer is unchanged.
 */
#include "base/bits.h"
#include "base/log.h"
#include "base/sanitize.h"
#include "base/nt_copy.h"
#include "boot/bell.h"
#include "core/links.h"
#include "core/message.h"
#include "core/region.h"
#include "op/am/am.h"
#include "op/tagged/tagged.h"
#include "op/wire.h"

#define AT_ONCE 8 /* pieces of one message to copy before other work is polled */
/* Bytes: beyond this total, little of the data is still in a cache when the receiver reads it. */
#define FLOOD (8u << 20)
#define ARGS 4

tern_status tern_op_tagged_send_assist(int rank, uint64_t id, unsigned split, uint32_t key)
{
    const uint32_t args[ARGS] = { (uint32_t)id, (uint32_t)(id >> 32), split, key };
    tern_status    st;

    if (!tern_core_message_hold())
        return TERN_AGAIN;
    st = tern_op_am_send_short(NULL, rank, TERN_OP_AM_ASSIST, args, ARGS);
    tern_core_message_release();
    return st;
}

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

/* Remember an ASSIST, if there is space and its values are plausible. The values of a split that is in use for another
 * message by now are not. */
static void accept(struct tern_request *request, struct tern_work_split *split, uint32_t key)
{
    struct tern_tagged       *tagged = (struct tern_tagged *)request->ctx->tagged;
    uint32_t                  n = assists_of(tagged);
    struct tern_tagged_assist assist = { .request = request,
                                         .split = split,
                                         .key = key,
                                         .addr = arg_of(split, TERN_SPLIT_ADDR),
                                         .size = arg_of(split, TERN_SPLIT_SIZE),
                                         .probe = arg_of(split, TERN_SPLIT_PROBE),
                                         .piece = arg_of(split, TERN_SPLIT_PIECE) };

    if (n == TERN_LINK_SPLITS || assist.size > request->size || assist.piece == 0)
        return;
    tagged->assist_bytes = (n > 0 ? tagged->assist_bytes : 0) + assist.size;
    tagged->assist[n] = assist;
    set_assists(tagged, n + 1);
    atomic_store_explicit(&request->ctx->attention, true, memory_order_relaxed); /* the lock orders it */
}

static void on_assist(const tern_am_event *event, void *user)
{
    int                         rank = event->source;
    const struct tern_link_ops *ops = tern_core_ops_to(rank);
    struct tern_request        *request;
    bool                        alone;

    (void)user;
    if (event->nargs != ARGS || event->request || event->args[2] >= TERN_LINK_SPLITS || !ops->inject)
        tern_core_message_protocol_error(rank, "an invitation to copy a tagged message");
    tern_base_order_after(&tern_op_tagged_lock); /* pairs with tern_base_order_before() in the sending thread */
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if ((request = tern_op_tagged_sent(rank, event->args[0] | (uint64_t)event->args[1] << 32)))
        accept(request, ops->inject->work_splits(tern_core_link_to(rank), rank) + event->args[2], event->args[3]);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

void tern_op_tagged_assist_end(struct tern_request *request)
{
    struct tern_tagged *tagged = (struct tern_tagged *)request->ctx->tagged;

    for (uint32_t i = 0, n = assists_of(tagged); i < n; i++) {
        if (tagged->assist[i].request == request) {
            tagged->assist[i] = tagged->assist[n - 1];
            set_assists(tagged, n - 1);
            return;
        }
    }
}

/* Copy entry i of assist[]. Returns false if there are no more. */
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

    tern_op_tagged_assist_end(assist->request);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

/* ---- copying ---- */

static void copy_nt(const struct tern_xfer *xfer, unsigned char *there)
{
    tern_base_nt_copy(there, xfer->local, xfer->len);
}

/* Copy a piece that was taken. The send does not complete before the piece has landed. */
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
    xfer.visit = part->base && assist->flood ? copy_nt : NULL;
    return part->path->start(lane, &xfer, NULL);
}

/* Returns whether any piece was copied. */
static bool copy_some(struct tern_lane *lane, const struct tern_tagged_assist *assist,
                      const struct tern_link_part *part)
{
    uint64_t piece;
    unsigned n = 0;

    while (n < AT_ONCE && tern_base_split_take_back(assist->split, assist->key, &piece)) {
        tern_base_split_complete(assist->split, copy(lane, assist, part, piece));
        tern_boot_wake(tern_core_job_slot(part->rank)); /* the receiver may be waiting only for this */
        n++;
    }
    return n > 0;
}

/* The receiver's memory, if it is in a region that this rank reaches by stores; otherwise NULL. */
static const struct tern_link_part *stored_part(struct tern_ctx *ctx, const struct tern_tagged_assist *assist)
{
    int                          rank = assist->request->peer;
    const struct tern_region    *region = tern_core_region_find(ctx, rank, assist->addr);
    const struct tern_link_part *part = region ? &region->part[rank] : NULL;

    return part && part->path && part->path->instant && part->base &&
                   tern_base_covers(part->size, assist->addr - part->addr, assist->size)
               ? part
               : NULL;
}

/* Copy through the kernel. Returns whether any piece was copied. */
static bool assist_by_kernel(struct tern_ctx *ctx, const struct tern_tagged_assist *assist)
{
    int                    rank = assist->request->peer;
    unsigned               link = tern_job.peer_link[rank];
    struct tern_mem_handle handle = { .region = WIRE_TAGGED_OWN,
                                      .addr = assist->addr,
                                      .size = assist->size,
                                      .probe = assist->probe,
                                      .mem_kind = TERN_MEM_PRIVATE,
                                      .pid = atomic_load(&tern_core_job_slot(rank)->pid) };
    struct tern_link_part  part = { .rank = rank,
                                    .link = link,
                                    .size = handle.size,
                                    .addr = handle.addr,
                                    .mem_kind = handle.mem_kind,
                                    .region = handle.region,
                                    .pid = handle.pid };
    bool                   any;

    if (tern_core_links_attach(link, &handle, "", &part) != TERN_OK || !part.path->instant) {
        decline(assist);
        return false;
    }
    any = copy_some(ctx->lane[link], assist, &part);
    tern_job.ops[link]->detach(tern_job.link[link], &part);
    return any;
}

/* Whether this rank has receives of long messages, which take precedence: two ranks that copy for each other through
 * the kernel are slower than two ranks that copy for themselves. */
static bool is_occupied(const struct tern_ctx *ctx)
{
    const struct tern_tagged *tagged = (const struct tern_tagged *)ctx->tagged;

    return atomic_load_explicit(&tagged->wishes, memory_order_relaxed) > 0 || /* a hint */
           (ctx->engine && tern_op_engine_busy((const struct tern_engine *)ctx->engine) > 0);
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

void tern_op_tagged_assist(struct tern_ctx *ctx)
{
    struct tern_tagged       *tagged = (struct tern_tagged *)ctx->tagged;
    struct tern_tagged_assist assist;
    bool                      any = false;

    for (uint32_t i = 0; assist_at(tagged, i, &assist); i++)
        any |= assist_one(ctx, &assist);
    if (any)
        tern_core_message_keep_awake(); /* no bell will ring for the rest */
}

void tern_op_tagged_assist_open(void)
{
    tern_op_am_register(TERN_OP_AM_ASSIST, on_assist, NULL);
}
