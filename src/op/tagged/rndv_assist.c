/* rndv_assist.c: what a sender copies of a long message.
 *
 * The receiver of an offer fetches it, and where its core is one of two that have nothing else to do, invites the
 * sender: it opens pieces of the message (base/work_split.h), as many as may be under way, takes them from the
 * beginning, and a sender that makes progress for the context of its send meanwhile takes them from the end and puts
 * them into the receiver's memory. A sender that computes, or cannot reach that memory by itself, takes none, and
 * nobody waits for it. How much is open, and so how fast a message comes, is up to the receiver alone.
 *
 * Where the receiver's memory is in a region that the sender reaches by stores, the sender's copy is much faster
 * than one through the kernel. So there it is always invited, comes also while it has receives of its own, and is
 * left to it as long as it is seen to come (rndv.c). What is too much for caches is stored past them.
 *
 * An invitation is an active message of Tern's own on the channel of replies, on which word of the message comes
 * after it. The receiver sends that word when everything that the sender has taken has landed: so while there are
 * pieces of that key to take, the send has not ended, and its buffer is what it was.
 * */
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

#define AT_ONCE 8        /* pieces of a message before everything else gets its turn */
#define FLOOD (8u << 20) /* bytes; of more at a time little is in a cache when its receiver comes to it */
#define ARGS 4

tern_status tern_op_tagged_send_assist(int rank, uint64_t id, unsigned share, uint32_t key)
{
    const uint32_t args[ARGS] = { (uint32_t)id, (uint32_t)(id >> 32), share, key };
    tern_status    st;

    if (!tern_core_message_hold())
        return TERN_AGAIN;
    st = tern_op_am_send_short(NULL, rank, TERN_OP_AM_ASSIST, args, ARGS);
    tern_core_message_release();
    return st;
}

/* ---- invitations ---- */

static void set_helps(struct tern_tagged *tagged, uint32_t helps)
{
    atomic_store_explicit(&tagged->assists, helps, memory_order_relaxed); /* the lock orders */
}

static uint32_t helps_of(const struct tern_tagged *tagged)
{
    return atomic_load_explicit(&tagged->assists, memory_order_relaxed);
}

static uint64_t note_of(const struct tern_work_split *share, unsigned i)
{
    return atomic_load_explicit(&share->args[i], memory_order_relaxed); /* the message's delivery orders */
}

/* Remember it, where there is room and it makes sense: a share that is in use for something else by now does not. */
static void accept(struct tern_request *request, struct tern_work_split *share, uint32_t key)
{
    struct tern_tagged       *tagged = (struct tern_tagged *)request->ctx->tagged;
    uint32_t                  n = helps_of(tagged);
    struct tern_tagged_assist help = { .request = request,
                                       .split = share,
                                       .key = key,
                                       .addr = note_of(share, TERN_SPLIT_ADDR),
                                       .size = note_of(share, TERN_SPLIT_SIZE),
                                       .probe = note_of(share, TERN_SPLIT_PROBE),
                                       .piece = note_of(share, TERN_SPLIT_PIECE) };

    if (n == TERN_LINK_SPLITS || help.size > request->size || help.piece == 0)
        return;
    tagged->assist_bytes = (n > 0 ? tagged->assist_bytes : 0) + help.size;
    tagged->assist[n] = help;
    set_helps(tagged, n + 1);
    atomic_store_explicit(&request->ctx->attention, true, memory_order_relaxed); /* the lock orders */
}

static void hear(const tern_am_event *event, void *user)
{
    int                         rank = event->source;
    const struct tern_link_ops *ops = tern_job.ops[tern_job.peer_link[rank]];
    struct tern_request        *request;
    bool                        alone;

    (void)user;
    if (event->nargs != ARGS || event->request || event->args[2] >= TERN_LINK_SPLITS || !ops->work_splits)
        tern_core_message_protocol_error(rank, "an invitation to copy a tagged message");
    tern_base_order_after(&tern_op_tagged_lock); /* the thread that sent what this is about */
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if ((request = tern_op_tagged_sent(rank, event->args[0] | (uint64_t)event->args[1] << 32)))
        accept(request, ops->work_splits(tern_job.link[tern_job.peer_link[rank]], rank) + event->args[2],
               event->args[3]);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

void tern_op_tagged_assist_end(struct tern_request *request)
{
    struct tern_tagged *tagged = (struct tern_tagged *)request->ctx->tagged;

    for (uint32_t i = 0, n = helps_of(tagged); i < n; i++) {
        if (tagged->assist[i].request == request) {
            tagged->assist[i] = tagged->assist[n - 1];
            set_helps(tagged, n - 1);
            return;
        }
    }
}

/* One of them, as it is now. False: there are no more. */
static bool help_at(struct tern_tagged *tagged, uint32_t i, struct tern_tagged_assist *out)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock), some = i < helps_of(tagged);

    if (some) {
        *out = tagged->assist[i];
        out->flood = tagged->assist_bytes > FLOOD;
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return some;
}

static void decline(const struct tern_tagged_assist *help)
{
    bool alone = tern_base_biased_lock(&tern_op_tagged_lock);

    tern_op_tagged_assist_end(help->request);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

/* ---- copying ---- */

static void touch(const struct tern_xfer *xfer, unsigned char *there)
{
    tern_base_nt_copy(there, xfer->local, xfer->len);
}

/* A piece that was taken. The send does not end before it has landed. */
static tern_status copy(struct tern_lane *lane, const struct tern_tagged_assist *help,
                        const struct tern_link_part *part, uint64_t piece)
{
    uint64_t         pieces = help->size / help->piece + (help->size % help->piece > 0);
    uint64_t         at = piece * help->piece;
    struct tern_xfer xfer = { .part = part, .what = "put of a tagged message" };

    if (piece >= pieces)
        return tern_base_fail(TERN_ERR_LINK, "rank %d opened a piece of a message that the message has not",
                              part->rank);
    xfer.offset = help->addr - part->addr + at;
    xfer.local = (unsigned char *)help->request->buffer + at;
    xfer.len = help->size - at < help->piece ? help->size - at : help->piece;
    xfer.visit = part->base && help->flood ? touch : NULL;
    return part->path->start(lane, &xfer, NULL);
}

/* Whether any was copied. */
static bool copy_some(struct tern_lane *lane, const struct tern_tagged_assist *help, const struct tern_link_part *part)
{
    struct tern_slot *slot = tern_core_job_slot(part->rank);
    uint64_t          piece;
    unsigned          n = 0;

    while (n < AT_ONCE && tern_base_split_take_back(help->split, help->key, &piece)) {
        tern_base_split_complete(help->split, copy(lane, help, part, piece));
        tern_boot_bell_ring(&slot->bell, &slot->sleepers); /* it may wait for nothing else */
        n++;
    }
    return n > 0;
}

/* The receiver's memory where it is that of a region which this rank reaches by stores; NULL: it is not. */
static const struct tern_link_part *stored_part(struct tern_ctx *ctx, const struct tern_tagged_assist *help)
{
    int                          rank = help->request->peer;
    const struct tern_region    *region = tern_core_region_find(ctx, rank, help->addr);
    const struct tern_link_part *part = region ? &region->part[rank] : NULL;

    return part && part->path && part->path->instant && part->base &&
                   tern_base_covers(part->size, help->addr - part->addr, help->size)
               ? part
               : NULL;
}

/* Through the kernel. */
static bool help_far(struct tern_ctx *ctx, const struct tern_tagged_assist *help)
{
    int                    rank = help->request->peer;
    unsigned               link = tern_job.peer_link[rank];
    struct tern_mem_handle card = { .region = WIRE_TAGGED_OWN,
                                    .addr = help->addr,
                                    .size = help->size,
                                    .probe = help->probe,
                                    .mem_kind = TERN_MEM_PRIVATE,
                                    .pid = atomic_load(&tern_core_job_slot(rank)->pid) };
    struct tern_link_part  part = { .rank = rank,
                                    .link = link,
                                    .size = card.size,
                                    .addr = card.addr,
                                    .mem_kind = card.mem_kind,
                                    .region = card.region,
                                    .pid = card.pid };
    bool                   any;

    if (tern_core_links_attach(link, &card, "", &part) != TERN_OK || !part.path->instant) {
        decline(help);
        return false;
    }
    any = copy_some(ctx->lane[link], help, &part);
    tern_job.ops[link]->detach(tern_job.link[link], &part);
    return any;
}

/* Whether there are receives of long messages, which are this rank's own work: two ranks that copy for each other
 * through the kernel are slower than two that copy for themselves. */
static bool is_occupied(const struct tern_ctx *ctx)
{
    const struct tern_tagged *tagged = (const struct tern_tagged *)ctx->tagged;

    return atomic_load_explicit(&tagged->wishes, memory_order_relaxed) > 0 || /* a hint */
           (ctx->engine && tern_op_engine_busy((const struct tern_engine *)ctx->engine) > 0);
}

static bool help_one(struct tern_ctx *ctx, const struct tern_tagged_assist *help)
{
    const struct tern_link_part *part;

    if (!tern_base_split_has_work(help->split, help->key))
        return false;
    if ((part = stored_part(ctx, help)))
        return copy_some(ctx->lane[part->link], help, part);
    return !is_occupied(ctx) && help_far(ctx, help);
}

void tern_op_tagged_assist(struct tern_ctx *ctx)
{
    struct tern_tagged       *tagged = (struct tern_tagged *)ctx->tagged;
    struct tern_tagged_assist help;
    bool                      any = false;

    for (uint32_t i = 0; help_at(tagged, i, &help); i++)
        any |= help_one(ctx, &help);
    if (any)
        tern_core_message_keep_awake(); /* nobody rings for what is left */
}

void tern_op_tagged_assist_open(void)
{
    tern_op_am_register(TERN_OP_AM_ASSIST, hear, NULL);
}
