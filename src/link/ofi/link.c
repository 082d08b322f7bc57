/* link.c: opening and closing the link between nodes, and its table. */
#include <stdlib.h>
#include <sys/resource.h>

#include "link/ofi/ofi.h"

#define FILES_BESIDE 128 /* descriptors for everything but the connections to peers */

/* From here on nobody touches memory of ours. A provider that binds memory to its endpoint does not close that before
 * every registration is closed; for the others the endpoint goes first. */
static void endpoint_close(struct ofi_link *ofi)
{
    if (!ofi->net.ep)
        return;
    if (ofi->net.info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
        tern_ofi_regions_close(ofi);
        tern_ofi_cache_close(ofi);
        tern_ofi_errands_unregister(ofi);
        tern_ofi_serve_unregister(ofi);
        tern_ofi_pieces_unregister(ofi);
        tern_ofi_unregister(&ofi->messages.rx_mr);
        for (int rank = 0; rank < ofi->ranks; rank++) {
            struct ofi_peer *peer = atomic_load(&ofi->peer[rank]);
            if (peer)
                tern_ofi_outbox_unregister(peer);
        }
    }
    fi_close(&ofi->net.ep->fid);
    ofi->net.ep = NULL;
}

static void link_close(struct tern_link *link)
{
    struct ofi_link *ofi = tern_ofi(link);

    tern_ofi_helper_stop(ofi);
    endpoint_close(ofi);
    tern_ofi_serve_close(ofi);
    tern_ofi_errands_close(ofi);
    tern_ofi_messages_close(ofi);
    tern_ofi_paths_close(ofi);
    tern_ofi_cache_close(ofi);
    tern_ofi_regions_close(ofi);
    tern_ofi_net_close(ofi);
    pthread_mutex_destroy(&ofi->lock);
    free((void *)ofi->peer);
    free(ofi);
}

/* Over TCP each peer that is used costs a descriptor, and the usual limit of 1024 is a soft one, for programs that call
 * select(). Where the job could outgrow it, it is raised as far as need be and permitted. */
static void allow_files(int ranks)
{
    rlim_t        wanted = (rlim_t)ranks + FILES_BESIDE;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit); /* where it stays too low, a connection that cannot be made says so */
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
    ofi->net.wait_fd = -1;
    ofi->errands.room_bytes = tern_base_round_up(tern_opt.ofi_room, TERN_CACHE_LINE);
    pthread_mutex_init(&ofi->lock, NULL);
    allow_files(boot->ranks);
    ofi->peer = calloc((size_t)boot->ranks, sizeof(*ofi->peer));
    if (!ofi->peer)
        st = tern_base_fail(TERN_ERR_NOMEM, "link ofi: no memory for a table of %d ranks", boot->ranks);
    else
        st = tern_ofi_net_open(ofi);
    if (st == TERN_OK)
        st = tern_ofi_paths_open(ofi);
    if (st == TERN_OK)
        st = tern_ofi_messages_open(ofi);
    if (st == TERN_OK)
        st = tern_ofi_publish(ofi);
    if (st == TERN_OK)
        st = tern_ofi_helper_start(ofi);
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
    tern_ofi_cache_forget(tern_ofi(link), addr, len);
    pthread_mutex_unlock(&tern_ofi(link)->lock);
}

static bool link_serve(struct tern_link *link)
{
    (void)link; /* the progress thread does what peers need */
    return false;
}

static bool link_wanted(const struct tern_link *link)
{
    (void)link;
    return false;
}

const struct tern_link_ops tern_ofi_ops = {
    .name = "ofi",
    .open = link_open,
    .close = link_close,
    .reaches = link_reaches,
    .attach = tern_ofi_attach,
    .detach = tern_ofi_detach,
    .expose = tern_ofi_expose,
    .conceal = tern_ofi_conceal,
    .lane_open = tern_ofi_lane_open,
    .lane_close = tern_ofi_lane_close,
    .progress = tern_ofi_lane_progress,
    .cancel = tern_ofi_lane_cancel,
    .errand_open = tern_ofi_errand_open,
    .errand_send = tern_ofi_errand_send,
    .atomics = tern_ofi_atomics,
    .atomic_start = tern_ofi_atomic_start,
    .forget = link_forget,
    .msg_longest = tern_ofi_msg_longest,
    .msg_open = tern_ofi_msg_open,
    .msg_send = tern_ofi_msg_send,
    .msg_drop = tern_ofi_msg_drop,
    .msg_brief = tern_ofi_msg_brief,
    .msg_look = tern_ofi_msg_look,
    .msg_settled = tern_ofi_msg_settled,
    .msg_left = tern_ofi_msg_left,
    .serve = link_serve,
    .wanted = link_wanted,
    .may_sleep = tern_ofi_may_sleep,
    /* Teams: the core makes them by messages, or another link that reaches all members does. */
};
