/* link.c: opening and closing the link between nodes, and its function table. */
#include <stdlib.h>
#include <string.h>

#include "link/none.h"
#include "link/ofi/ofi.h"

/* Close the endpoint. After that no peer accesses memory of this rank. A provider that binds memory to the endpoint
 * requires that all registrations are closed before the endpoint. For the others the endpoint is closed first. */
static void endpoint_close(struct ofi_link *ofi)
{
    if (!ofi->endpoint.ep)
        return;
    if (ofi->endpoint.info->domain_attr->mr_mode & FI_MR_ENDPOINT)
        TERN_LIST_EACH(struct net_mr, mr, &ofi->mrs, node)
            tern_ofi_unregister(mr);
    fi_close(&ofi->endpoint.ep->fid);
    ofi->endpoint.ep = NULL;
}

static void link_close(struct tern_link *link)
{
    struct ofi_link *ofi = tern_ofi(link);

    tern_ofi_progress_thread_stop(ofi);
    endpoint_close(ofi);
    tern_net_close(&ofi->net);
    tern_net_memory_free(&ofi->net, &ofi->rx_mr);
    tern_ofi_wr_pool_close(ofi);
    tern_ofi_regions_close(ofi);
    tern_ofi_endpoint_close(ofi);
    free(ofi);
}

static tern_status link_open(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out)
{
    static tern_status (*const step[])(struct ofi_link *) = { tern_ofi_endpoint_open, tern_ofi_wr_pool_open,
                                                              tern_ofi_rx_open, tern_ofi_publish,
                                                              tern_ofi_progress_thread_start };
    struct ofi_link *ofi = calloc(1, sizeof(*ofi));
    tern_status      st;

    if (!ofi)
        return tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for %zu bytes", sizeof(*ofi));
    strcpy(ofi->net.name, "ofi");
    ofi->endpoint.wait_fd = -1;
    tern_base_list_init(&ofi->mrs);
    tern_base_list_init(&ofi->mr_cache);
    if ((st = tern_net_open(&ofi->net, &tern_ofi_verbs, boot, up)) == TERN_OK)
        tern_ofi_limits_raise(ofi);
    for (unsigned i = 0; st == TERN_OK && i < sizeof(step) / sizeof(step[0]); i++)
        st = step[i](ofi);
    if (st != TERN_OK) {
        link_close((struct tern_link *)ofi);
        return st;
    }
    tern_ofi_limits_check(ofi);
    *out = (struct tern_link *)ofi;
    return TERN_OK;
}

static bool link_reaches(const struct tern_link *link, int peer)
{
    return peer >= 0 && peer < ((const struct net_link *)link)->ranks;
}

static const struct tern_atomic_ops ofi_atomic = { .offers = tern_ofi_atomics, .start = tern_ofi_atomic_start };

/* There are no groups: the core implements them with messages, or uses another link that reaches all members. */
const struct tern_link_ops tern_ofi_ops = {
    .name = "ofi",
    .msg = &tern_net_msg_ops,
    .rpc = &tern_net_rpc_ops,
    .atomic = &ofi_atomic,
    .open = link_open,
    .close = link_close,
    .reaches = link_reaches,
    .attach = tern_ofi_attach,
    .detach = tern_link_no_detach,
    .grown = tern_ofi_grown,
    .expose = tern_ofi_expose,
    .unexpose = tern_net_unexpose,
    .lane_open = tern_net_lane_open,
    .lane_close = tern_net_lane_close,
    .progress = tern_net_lane_progress,
    .cancel = tern_net_lane_cancel,
    .invalidate = tern_ofi_invalidate,
    .serve = tern_link_no_serve, /* the progress thread serves the peers */
    .service_needed = tern_link_no_service_needed,
    .may_sleep = tern_ofi_may_sleep,
};
