/* eager.c: the two protocols whose data travels with the message.
 *
 * Inline: the data is in the head of a link message, which is one cache line. Eager: the data is copied into the data
 * area of the link's queue. The receiver has nothing to fetch. If the send is synchronous, the receiver sends a FIN.
 */
#include <string.h>

#include "op/tagged/tagged.h"

tern_status tern_op_tagged_inject_bytes(const struct tern_tagged_peer *flow, uint32_t scope, uint64_t tag,
                                        const void *buf, size_t len)
{
    return tern_op_tagged_push(flow, scope, tag, buf, len);
}

tern_status tern_op_tagged_ring(struct tern_slot *slot)
{
    tern_link_ring(slot);
    return TERN_OK;
}

/* After a short message was sent: look up the direct-injection handle for the next ones, if the link has one. */
static void find_inject(struct tern_ctx *ctx, int rank)
{
    struct tern_inject_tagged *inject;

    if (TERN_LIKELY(!tern_core_ops_to(rank)->inject) || (!ctx->tagged && !tern_op_request_make(ctx)))
        return;
    inject = &ctx->tagged->peer[rank].inject;
    if (!inject->producer)
        /* on failure the next message tries again */
        (void)tern_core_ops_to(rank)->inject->tagged(tern_core_link_to(rank), rank, inject);
}

static tern_status send_inline(struct tern_ctx *ctx, int rank, uint64_t tag, const void *data, size_t len,
                               struct tern_tagged_op *op)
{
    uint64_t    id = op ? op->id : 0;
    uint32_t    words[TERN_LINK_SHORT_ARGS];
    size_t      at = wire_tagged_at(id != 0) / sizeof(uint32_t) - 2; /* index after the first word */
    uint64_t    first = wire_tagged_first(WIRE_TAGGED_INLINE, len, id != 0, ctx->team->group->id);
    unsigned    used = (unsigned)(at + (len + 3) / sizeof(uint32_t));
    tern_status st;

    memcpy(words, &tag, sizeof(tag));
    memcpy(words + 2, &id, sizeof(id));
    if (len % sizeof(uint32_t) != 0)
        words[used - 1] = 0;
    tern_base_ring_copy_words((unsigned char *)(words + at), data, len);
    tern_base_order_before(
        &tern_op_tagged_lock); /* the FIN may arrive in any thread: pairs with tern_op_tagged_on_fin() */
    st =
        tern_core_ops_to(rank)->msg->send_short(tern_core_link_to(rank), rank, TERN_CHANNEL_TAGGED, first, words, used);
    if (st == TERN_OK)
        find_inject(ctx, rank);
    return st;
}

static tern_status send_eager(struct tern_ctx *ctx, int rank, uint64_t tag, const void *data, size_t len,
                              struct tern_tagged_op *op)
{
    return tern_op_tagged_send_data(ctx, rank, tag, data, len, op, WIRE_TAGGED_EAGER);
}

/* The sender exposes no memory, and the receiver has nothing to release. */
static void nothing(struct tern_tagged_op *op)
{
    (void)op;
}

/* All data came with the message. */
static bool fetch_nothing(struct tern_tagged_op *op)
{
    (void)op;
    return true;
}

const struct tern_tagged_protocol tern_tagged_inline = {
    .name = "inline", .send = send_inline, .revoke = nothing, .fetch = fetch_nothing, .stop = nothing
};

const struct tern_tagged_protocol tern_tagged_eager = {
    .name = "eager", .send = send_eager, .revoke = nothing, .fetch = fetch_nothing, .stop = nothing
};
