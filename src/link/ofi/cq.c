/* cq.c: reading the completion queue.
 *
 * Every operation that is posted to the provider ends here: the queue returns the operation's completion context, whose
 * function ended is called. The poll then retries what the provider has refused.
 */
#include <stdio.h>

#include "base/log.h"
#include "link/ofi/ofi.h"

#define BATCH 16
#define ROUNDS 8 /* batches in one poll */

static void end(struct ofi_link *ofi, void *context, const struct ofi_comp *comp)
{
    struct ofi_comp_ctx *comp_ctx = context;

    if (comp_ctx)
        comp_ctx->ended(ofi, comp_ctx, comp);
}

/* Read one error entry of the queue, and end its operation. Returns false if there is none. */
static bool read_error(struct ofi_link *ofi)
{
    struct fi_cq_err_entry entry = { 0 };
    struct ofi_comp        comp = { .error = FI_EOTHER };
    ssize_t                rc = fi_cq_readerr(ofi->endpoint.cq, &entry, 0);

    if (rc != 1)
        return false;
    comp.flags = entry.flags;
    comp.error = entry.err > 0 ? entry.err : FI_EOTHER;
    snprintf(comp.why, sizeof(comp.why), "%s", tern_ofi_why(ofi, comp.error));
    tern_base_log(TERN_LOG_DEBUG, "link ofi: an operation failed: %s, provider's error %d", comp.why, entry.prov_errno);
    end(ofi, entry.op_context, &comp);
    return true;
}

static unsigned read_batch(struct ofi_link *ofi)
{
    struct fi_cq_data_entry entry[BATCH];
    ssize_t                 n = fi_cq_read(ofi->endpoint.cq, entry, BATCH);

    for (ssize_t i = 0; i < n; i++) {
        struct ofi_comp comp = { .flags = entry[i].flags, .len = entry[i].len, .buffer = entry[i].buf };

        if (entry[i].flags & FI_REMOTE_CQ_DATA && entry[i].flags & FI_REMOTE_WRITE) {
            tern_ofi_rx_put_notify(ofi, entry[i].data);
            continue;
        }
        end(ofi, entry[i].op_context, &comp);
    }
    if (n == -FI_EAVAIL)
        return read_error(ofi) ? 1 : 0;
    if (TERN_UNLIKELY(n < 0 && n != -FI_EAGAIN && n != -FI_EINTR))
        tern_ofi_rx_fail(ofi, "the completion queue cannot be read", tern_ofi_why(ofi, (int)-n));
    return n > 0 ? (unsigned)n : 0;
}

unsigned tern_ofi_poll_locked(struct ofi_link *ofi)
{
    unsigned count = 0, n = BATCH;

    /* Completions that arrive after a batch that was not full are left to the next poll: another read may cost
     * several system calls. */
    for (int round = 0; round < ROUNDS && n == BATCH; round++)
        count += n = read_batch(ofi);
    if (ofi->waiting)
        tern_ofi_rma_pump(ofi);
    if (ofi->msg.work)
        tern_ofi_tx_pump(ofi);
    if (ofi->msg.fetches || ofi->msg.failed || ofi->msg.idle > 0)
        tern_ofi_rx_pump(ofi);
    if (tern_ofi_rpc_server_waits(ofi))
        tern_ofi_rpc_server_pump(ofi);
    return count;
}
