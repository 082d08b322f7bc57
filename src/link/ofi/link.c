/* link.c: opening and closing the link between nodes, and its function table. */
#include <stdlib.h>
#include <sys/resource.h>

#include "link/none.h"
#include "link/ofi/ofi.h"

#define FILES_BESIDE 128 /* descriptors for everything but the connections to peers */

/* Close the endpoint. After that no peer accesses memory of this rank. A provider that binds memory to the endpoint
 * requires that all registrations are closed before the endpoint. For the others the endpoint is closed first. */
static void endpoint_close(struct ofi_link *ofi)
{
    if (!ofi->endpoint.ep)
        return;
    if (ofi->endpoint.info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
        tern_ofi_regions_close(ofi);
        tern_ofi_mr_cache_close(ofi);
        tern_ofi_rpc_client_unregister(ofi);
        tern_ofi_rpc_server_unregister(ofi);
        tern_ofi_wr_pool_unregister(ofi);
        tern_ofi_unregister(&ofi->msg.rx_mr);
        for (int rank = 0; rank < ofi->ranks; rank++) {
            struct ofi_peer *peer = atomic_load(&ofi->peer[rank]);
            if (peer)
                tern_ofi_tx_unregister(peer);
        }
    }
    fi_close(&ofi->endpoint.ep->fid);
    ofi->endpoint.ep = NULL;
}

static void link_close(struct tern_link *link)
{
    struct ofi_link *ofi = tern_ofi(link);

    tern_ofi_progress_thread_stop(ofi);
    endpoint_close(ofi);
    tern_ofi_rpc_server_close(ofi);
    tern_ofi_rpc_client_close(ofi);
    tern_ofi_messages_close(ofi);
    tern_ofi_rma_close(ofi);
    tern_ofi_mr_cache_close(ofi);
    tern_ofi_regions_close(ofi);
    tern_ofi_endpoint_close(ofi);
    pthread_mutex_destroy(&ofi->lock);
    free((void *)ofi->peer);
    free(ofi);
}

/* Raise the soft limit of open files as far as necessary and permitted. Over TCP each peer that is used needs a
 * descriptor. The usual soft limit of 1024 exists for programs that call select(), and a large job may exceed it. */
static void raise_file_limit(int ranks)
{
    rlim_t        wanted = (rlim_t)ranks + FILES_BESIDE;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit); /* if the limit remains too low, a failed connection reports that */
}

static tern_status link_open(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out)
{
    struct ofi_link *ofi = calloc(1, sizeof(*ofi));
    tern_status      st;

    if (!ofi)
        return tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for %zu bytes", sizeof(*ofi));
    ofi->boot = boot;
    ofi->up = up;
    ofi->rank = boot->rank;
    ofi->ranks = boot->ranks;
    ofi->endpoint.wait_fd = -1;
    ofi->rpc.buf_bytes = tern_base_round_up(tern_opt.ofi_rpc_buf, TERN_CACHE_LINE);
    pthread_mutex_init(&ofi->lock, NULL);
    raise_file_limit(boot->ranks);
    ofi->peer = calloc((size_t)boot->ranks, sizeof(*ofi->peer));
    if (!ofi->peer)
        st = tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for a table of %d ranks", boot->ranks);
    else
        st = tern_ofi_endpoint_open(ofi);
    if (st == TERN_OK)
        st = tern_ofi_rma_open(ofi);
    if (st == TERN_OK)
        st = tern_ofi_messages_open(ofi);
    if (st == TERN_OK)
        st = tern_ofi_publish(ofi);
    if (st == TERN_OK)
        st = tern_ofi_progress_thread_start(ofi);
    if (st < 0) {
        link_close((struct tern_link *)ofi);
        return st;
    }
    *out = (struct tern_link *)ofi;
    return TERN_OK;
}

static bool link_reaches(const struct tern_link *link, int peer)
{
    return peer >= 0 && peer < ((const struct ofi_link *)link)->ranks;
}

static void link_forget(struct tern_link *link, const void *addr, size_t len)
{
    pthread_mutex_lock(&tern_ofi(link)->lock);
    tern_ofi_mr_cache_invalidate(tern_ofi(link), addr, len);
    pthread_mutex_unlock(&tern_ofi(link)->lock);
}

static const struct tern_atomic_ops ofi_atomic = { .offers = tern_ofi_atomics, .start = tern_ofi_atomic_start };

static const struct tern_msg_ops ofi_msg = {
    .polled = true,
    .max_data = tern_ofi_msg_max_data,
    .open = tern_ofi_msg_open,
    .send = tern_ofi_msg_send,
    .drop = tern_ofi_msg_drop,
    .send_short = tern_ofi_msg_short,
    .poll = tern_ofi_msg_poll,
    .flushed = tern_ofi_msg_flushed,
    .pending = tern_ofi_msg_pending,
};

static const struct tern_rpc_ops ofi_rpc = { .open = tern_ofi_rpc_open, .send = tern_ofi_rpc_send };

/* There are no groups: the core implements them with messages, or uses another link that reaches all members. */
const struct tern_link_ops tern_ofi_ops = {
    .name = "ofi",
    .msg = &ofi_msg,
    .rpc = &ofi_rpc,
    .atomic = &ofi_atomic,
    .open = link_open,
    .close = link_close,
    .reaches = link_reaches,
    .attach = tern_ofi_attach,
    .detach = tern_link_no_detach,
    .expose = tern_ofi_expose,
    .unexpose = tern_ofi_unexpose,
    .lane_open = tern_ofi_lane_open,
    .lane_close = tern_ofi_lane_close,
    .progress = tern_ofi_lane_progress,
    .cancel = tern_ofi_lane_cancel,
    .invalidate = link_forget,
    .serve = tern_link_no_serve, /* the progress thread serves the peers */
    .service_needed = tern_link_no_service_needed,
    .may_sleep = tern_ofi_may_sleep,
};
