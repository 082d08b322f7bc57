/* verbs.c: the verbs of link/net, implemented by libfabric. */
#include <string.h>

#include "link/ofi/ofi.h"

int tern_ofi_post(struct ofi_link *ofi, struct net_ctx *ctx, bool get, void *local, void *desc,
                  const struct net_remote *remote, const uint64_t *data)
{
    struct iovec      here = { local, remote->len };
    struct fi_rma_iov there = { .addr = remote->addr, .len = remote->len, .key = remote->key };
    struct fi_msg_rma msg = { .msg_iov = &here,
                              .desc = &desc,
                              .iov_count = 1,
                              .addr = ctx->peer->addr,
                              .rma_iov = &there,
                              .rma_iov_count = 1,
                              .context = ctx,
                              .data = data ? *data : 0 };
    uint64_t          flags = FI_COMPLETION;

    if (get)
        return (int)fi_readmsg(ofi->endpoint.ep, &msg, flags);
    flags |= (ofi->net.delivers ? FI_DELIVERY_COMPLETE : 0) | (data ? FI_REMOTE_CQ_DATA : 0) |
             (remote->len <= ofi->endpoint.rma ? FI_INJECT : 0);
    return (int)fi_writemsg(ofi->endpoint.ep, &msg, flags);
}

/* Post a read or a write, whose local memory is registered first if that is necessary. */
static int post(struct ofi_link *ofi, struct net_ctx *ctx, bool get, void *local, const struct net_mr *mr,
                const struct net_remote *remote)
{
    int rc;

    if (!mr && ofi->endpoint.mr_local && !(mr = tern_ofi_mr_cache_get(ofi, ctx, local, remote->len)))
        return -FI_EAGAIN;
    if ((rc = tern_ofi_post(ofi, ctx, get, local, tern_ofi_desc(mr), remote, NULL)) != 0)
        tern_ofi_mr_cache_put(ofi, ctx);
    return rc;
}

static int verb_read(struct net_link *net, struct net_ctx *ctx, void *to, const struct net_mr *mr,
                     const struct net_remote *from)
{
    return post(tern_ofi_of(net), ctx, true, to, mr, from);
}

static int verb_write(struct net_link *net, struct net_ctx *ctx, const void *from, const struct net_mr *mr,
                      const struct net_remote *to)
{
    return post(tern_ofi_of(net), ctx, false, (void *)(uintptr_t)from, mr, to);
}

static int verb_send(struct net_link *net, struct net_ctx *ctx, const void *bytes, size_t len, const struct net_mr *mr)
{
    return (int)fi_send(tern_ofi_of(net)->endpoint.ep, bytes, len, tern_ofi_desc(mr), ctx->peer->addr, ctx);
}

/* The send of a copy has completed. */
static void copy_ended(struct net_link *net, struct net_ctx *ctx, int error)
{
    if (error != 0)
        tern_net_break_off(net, ctx->peer, tern_ofi_why(net, error));
    tern_ofi_wr_end(tern_ofi_of(net), (struct ofi_wr *)ctx);
}

/* Short messages need no completion, because the provider copies them. A longer message is sent from the bounce buffer
 * of a work request. */
static int verb_inject(struct net_link *net, struct net_peer *peer, const void *bytes, size_t len)
{
    struct ofi_link *ofi = tern_ofi_of(net);
    struct ofi_wr   *wr;
    int              rc;

    if (TERN_LIKELY(len <= net->inject))
        return (int)fi_inject(ofi->endpoint.ep, bytes, len, peer->addr);
    if (!(wr = tern_ofi_wr_alloc(ofi, peer)))
        return -FI_EAGAIN;
    memcpy(wr->bounce, bytes, len);
    wr->ctx.ended = copy_ended;
    rc = (int)fi_send(ofi->endpoint.ep, wr->bounce, len, wr->desc, peer->addr, &wr->ctx);
    if (rc != 0)
        tern_ofi_wr_end(ofi, wr);
    return rc;
}

const struct net_verbs tern_ofi_verbs = { .resolve = tern_ofi_resolve,
                                          .send = verb_send,
                                          .inject = verb_inject,
                                          .read = verb_read,
                                          .write = verb_write,
                                          .reg = tern_ofi_register,
                                          .dereg = tern_ofi_unregister,
                                          .poll = tern_ofi_poll,
                                          .drain = tern_ofi_drain,
                                          .why = tern_ofi_why,
                                          .abandon = tern_ofi_wr_abandon };
