/* cq.c: reading the completion queue.
 *
 * Every operation that is posted to the provider ends here: the queue returns the operation's completion context, whose
 * function ended is called. The poll then retries what the provider has refused.
 */
#include "base/log.h"
#include "link/ofi/ofi.h"

#define BATCH 16
#define ROUNDS 8 /* batches in one poll */

/* End the operation of a completion. Receive buffers are recognized by their addresses. */
static void end(struct ofi_link *ofi, const struct fi_cq_data_entry *entry, int error)
{
    struct ofi_rx  *rx = entry->op_context;
    struct net_ctx *ctx = entry->op_context;

    if (rx >= ofi->rx && rx < ofi->rx + OFI_RX_MOST) {
        tern_ofi_rx_ended(ofi, rx, entry, error);
    } else if (ctx) {
        tern_ofi_mr_cache_put(ofi, ctx);
        ctx->ended(&ofi->net, ctx, error);
    }
}

/* Read one error entry of the queue, and end its operation. Returns false if there is none. */
static bool read_error(struct ofi_link *ofi)
{
    struct fi_cq_err_entry  entry = { 0 };
    struct fi_cq_data_entry failed = { 0 };
    int                     error;

    if (fi_cq_readerr(ofi->endpoint.cq, &entry, 0) != 1)
        return false;
    error = entry.err > 0 ? entry.err : FI_EOTHER;
    tern_base_log(TERN_LOG_DEBUG, "link ofi: an operation failed: %s, provider's error %d",
                  tern_ofi_why(&ofi->net, error), entry.prov_errno);
    failed.op_context = entry.op_context;
    failed.flags = entry.flags;
    end(ofi, &failed, error);
    return true;
}

static unsigned read_batch(struct ofi_link *ofi)
{
    struct fi_cq_data_entry entry[BATCH];
    ssize_t                 n = fi_cq_read(ofi->endpoint.cq, entry, BATCH);

    for (ssize_t i = 0; i < n; i++)
        if (entry[i].flags & FI_REMOTE_CQ_DATA && entry[i].flags & FI_REMOTE_WRITE)
            tern_net_rx_put_notify(&ofi->net, entry[i].data);
        else
            end(ofi, &entry[i], 0);
    if (n == -FI_EAVAIL)
        return read_error(ofi) ? 1 : 0;
    if (TERN_UNLIKELY(n < 0 && n != -FI_EAGAIN && n != -FI_EINTR))
        tern_net_rx_fail(&ofi->net, "the completion queue cannot be read", tern_ofi_why(&ofi->net, (int)-n));
    return n > 0 ? (unsigned)n : 0;
}

unsigned tern_ofi_drain(struct net_link *net)
{
    unsigned count = 0, n = BATCH;

    /* Completions that arrive after a batch that was not full are left to the next poll: another read may cost
     * several system calls. */
    for (int round = 0; round < ROUNDS && n == BATCH; round++)
        count += n = read_batch(tern_ofi_of(net));
    tern_net_retry(net);
    if (TERN_UNLIKELY(!tern_base_list_empty(&net->msg.failed)))
        tern_net_rx_judge(net);
    return count;
}
