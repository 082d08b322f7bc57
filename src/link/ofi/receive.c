/* receive.c: receive buffers.
 *
 * The provider places messages into buffers that hold many messages each (FI_MULTI_RECV). link/net copies each message
 * at once, so that a buffer can be posted again as soon as the provider reports that it is full.
 */
#include "link/ofi/ofi.h"

#define RX_BYTES (64u << 10)
#define LARGEST (NET_WIRE_HEAD + NET_WIRE_INLINE_MAX)

static int rx_post(struct net_link *net, struct net_ctx *ctx)
{
    struct ofi_link *ofi = tern_ofi_of(net);
    struct iovec     iov = { ((struct ofi_rx *)ctx)->bytes, RX_BYTES };
    void            *desc = tern_ofi_desc(&ofi->rx_mr);
    struct fi_msg    msg = { .msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = ctx };

    return (int)fi_recvmsg(ofi->endpoint.ep, &msg, FI_MULTI_RECV | FI_COMPLETION);
}

/* The buffer could not be posted: try again later. */
static void rx_refused(struct net_link *net, struct net_ctx *ctx, int error)
{
    (void)error;
    tern_net_later(net, ctx);
}

/* If a receive has failed, the provider does not say whether it still owns the buffer. So the buffer is not posted
 * again, unless the provider reports later that it is full, and a new buffer replaces it. */
void tern_ofi_rx_ended(struct ofi_link *ofi, struct ofi_rx *rx, const struct fi_cq_data_entry *entry, int error)
{
    struct net_link *net = &ofi->net;

    if (error == 0 && (entry->flags & FI_RECV) && entry->len > 0)
        tern_net_receive(net, entry->buf, entry->len);
    if (entry->flags & FI_MULTI_RECV) /* the buffer is full, and all its messages have been copied */
        tern_net_post(net, &rx->ctx);
    else if (error != 0 && ofi->rx_used < OFI_RX_MOST)
        tern_net_post(net, &ofi->rx[ofi->rx_used++].ctx);
    else if (error != 0)
        tern_net_rx_fail(net, "receiving messages failed too often", tern_ofi_why(net, error));
}

tern_status tern_ofi_rx_open(struct ofi_link *ofi)
{
    tern_status st = tern_net_memory_make(&ofi->net, OFI_RX_MOST * RX_BYTES, 0, &ofi->rx_mr);
    size_t      least = LARGEST;
    int         rc;

    if (st < 0)
        return st;
    for (unsigned i = 0; i < OFI_RX_MOST; i++) {
        ofi->rx[i].bytes = ofi->rx_mr.bytes + i * RX_BYTES;
        tern_net_ctx_init(&ofi->rx[i].ctx, NULL, rx_post, rx_refused);
    }
    if ((rc = fi_setopt(&ofi->endpoint.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least))) != 0)
        return tern_ofi_fail(ofi, rc, "fi_setopt(FI_OPT_MIN_MULTI_RECV)");
    while (ofi->rx_used < OFI_RX)
        if ((rc = tern_net_post(&ofi->net, &ofi->rx[ofi->rx_used++].ctx)) != 0 && rc != -FI_EAGAIN)
            return tern_ofi_fail(ofi, rc, "fi_recvmsg");
    return TERN_OK;
}
