/* endpoint.c: the endpoint of this process, and the addresses of its peers.
 *
 * Each rank publishes its address before it joins the job. The address of a peer is looked up, and inserted into the
 * provider's address vector, at its first use.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/blob.h"
#include "base/log.h"
#include "link/ofi/ofi.h"

#define ADDRESS_LAYOUT 1u
#define QUEUE 1024 /* size of the completion queue, in entries */
#define NAMES 16   /* endpoints that are tried until one has a free name */

/* Endpoint options that are not defined in the oldest libfabric headers with which Tern can be built. */
#define OPT_INJECT_MSG_SIZE 16
#define OPT_INJECT_RMA_SIZE 18

/* The address record that a rank publishes. All fields have a fixed width; the reader checks them. */
struct address {
    uint32_t      layout;
    uint32_t      format;       /* FI_SOCKADDR_IN, ... */
    uint32_t      len;          /* length of name */
    uint32_t      wire;         /* NET_WIRE_LAYOUT */
    uint32_t      ring;         /* size of a message ring, in bytes */
    uint32_t      rpc_bytes;    /* size of an RPC buffer, in bytes */
    uint32_t      notify_cells; /* cells of a notification queue */
    char          provider[32];
    unsigned char name[192];
};
_Static_assert(sizeof(struct address) + TERN_BLOB_HEAD <= TERN_NET_ADDRESS_BYTES,
               "an address fits into a slot of the boot segment");

const char *tern_ofi_why(const struct net_link *net, int error)
{
    if (error == FI_EMFILE)
        return "too many open files; see 'ulimit -n'";
    return ((const struct ofi_link *)net)->endpoint.fabric.calls->strerror(error);
}

tern_status tern_ofi_fail(const struct ofi_link *ofi, int64_t rc, const char *call)
{
    return tern_base_fail(tern_net_status((int)-rc), "link %s: %s: %s", ofi->net.name, call,
                          tern_ofi_why(&ofi->net, (int)-rc));
}

/* Returns true if the wait descriptor of the completion queue reports everything that the provider must process. The
 * descriptor reports completions. A provider with manual data progress must also process the writes and reads of
 * peers, which complete nothing here: for providers over sockets the descriptor reports these as well, and with
 * verbs the hardware processes them. Any other provider is polled periodically. */
static bool reports_all(const struct fi_info *info)
{
    static const char *const known[] = { "tcp", "net", "verbs" };
    const char              *provider = info->fabric_attr->prov_name;
    size_t                   len = strcspn(provider, ";");

    if (info->domain_attr->data_progress == FI_PROGRESS_AUTO)
        return true;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strlen(known[i]) == len && strncmp(provider, known[i], len) == 0)
            return true;
    return false;
}

/* Open the completion queue, with a wait descriptor if the provider has one that reports everything. */
static int queue_open(struct ofi_endpoint *endpoint)
{
    struct fi_cq_attr attr = { .size = QUEUE, .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD };
    int rc = reports_all(endpoint->info) ? fi_cq_open(endpoint->domain, &attr, &endpoint->cq, NULL) : -FI_ENOSYS;

    endpoint->wait_fd = -1;
    if (rc == 0) {
        if (fi_control(&endpoint->cq->fid, FI_GETWAIT, &endpoint->wait_fd) != 0)
            endpoint->wait_fd = -1;
        return 0;
    }
    attr.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(endpoint->domain, &attr, &endpoint->cq, NULL);
}

/* Open and enable the endpoint. Some providers name an endpoint after the process id and a counter. A process that
 * was killed may have left such a name behind, and this process may have the same id. The next endpoint then gets a
 * name that is free. */
static tern_status endpoint_open(struct ofi_link *ofi)
{
    struct ofi_endpoint *endpoint = &ofi->endpoint;
    int                  rc;

    for (int left = NAMES;; left--) {
        if ((rc = fi_endpoint(endpoint->domain, endpoint->info, &endpoint->ep, NULL)) != 0)
            return tern_ofi_fail(ofi, rc, "fi_endpoint");
        if ((rc = fi_ep_bind(endpoint->ep, &endpoint->cq->fid, FI_TRANSMIT | FI_RECV)) != 0 ||
            (rc = fi_ep_bind(endpoint->ep, &endpoint->av->fid, 0)) != 0)
            return tern_ofi_fail(ofi, rc, "fi_ep_bind");
        if ((rc = fi_enable(endpoint->ep)) == 0)
            return TERN_OK;
        if (rc != -FI_EBUSY || left == 0)
            return tern_ofi_fail(ofi, rc, "fi_enable");
        fi_close(&endpoint->ep->fid);
        endpoint->ep = NULL;
    }
}

static tern_status objects_open(struct ofi_link *ofi)
{
    struct ofi_endpoint *endpoint = &ofi->endpoint;
    enum fi_av_type      type = endpoint->info->domain_attr->av_type;
    struct fi_av_attr    av = { .type = type == FI_AV_UNSPEC ? FI_AV_TABLE : type, .count = (size_t)ofi->net.ranks };
    int                  rc;

    if ((rc = endpoint->fabric.calls->fabric(endpoint->info->fabric_attr, &endpoint->fid, NULL)) != 0)
        return tern_ofi_fail(ofi, rc, "fi_fabric");
    if ((rc = fi_domain(endpoint->fid, endpoint->info, &endpoint->domain, NULL)) != 0)
        return tern_ofi_fail(ofi, rc, "fi_domain");
    if ((rc = queue_open(endpoint)) != 0)
        return tern_ofi_fail(ofi, rc, "fi_cq_open");
    if ((rc = fi_av_open(endpoint->domain, &av, &endpoint->av, NULL)) != 0)
        return tern_ofi_fail(ofi, rc, "fi_av_open");
    return endpoint_open(ofi);
}

/* Returns the number of bytes that a message or write can inject. The attribute is the limit for all kinds of
 * operations; newer versions of libfabric report each kind separately. */
static size_t inject_limit(const struct ofi_endpoint *endpoint, int option)
{
    size_t most = endpoint->info->tx_attr->inject_size, limit = 0, len = sizeof(limit);

    if (fi_getopt(&endpoint->ep->fid, FI_OPT_ENDPOINT, option, &limit, &len) == 0 && limit < most)
        most = limit;
    return most < tern_opt.ofi_inject ? most : tern_opt.ofi_inject;
}

tern_status tern_ofi_publish(struct ofi_link *ofi)
{
    struct address mine = { .layout = ADDRESS_LAYOUT, .format = ofi->endpoint.info->addr_format };
    size_t         len = sizeof(mine.name);
    int            rc = fi_getname(&ofi->endpoint.ep->fid, mine.name, &len);

    if (rc != 0 || len > sizeof(mine.name))
        return tern_ofi_fail(ofi, rc != 0 ? rc : -FI_ETOOSMALL, "fi_getname");
    mine.len = (uint32_t)len;
    mine.wire = NET_WIRE_LAYOUT;
    mine.ring = (uint32_t)ofi->net.msg.ring_bytes[TERN_CHANNEL_REQUEST];
    mine.notify_cells = ofi->net.msg.shape[TERN_CHANNEL_NOTIFY].cells;
    mine.rpc_bytes = (uint32_t)ofi->net.rpc.buf_bytes;
    strncpy(mine.provider, ofi->endpoint.info->fabric_attr->prov_name, sizeof(mine.provider) - 1);
    return tern_boot_publish_address(ofi->net.boot, TERN_LINK_OFI, &mine, offsetof(struct address, name) + len);
}

/* Determine up to which lengths the provider keeps puts and gets in order. */
static void learn_order(struct ofi_endpoint *endpoint)
{
    const struct fi_ep_attr *ep = endpoint->info->ep_attr;
    uint64_t                 kept = endpoint->info->tx_attr->msg_order & endpoint->info->rx_attr->msg_order;

    if (tern_opt.ofi_order != TERN_OFI_ORDER_NETWORK)
        return;
    endpoint->ordered[0][0] = kept & FI_ORDER_WAW ? ep->max_order_waw_size : 0;
    endpoint->ordered[0][1] = kept & FI_ORDER_RAW ? ep->max_order_raw_size : 0;
    endpoint->ordered[1][0] = kept & FI_ORDER_WAR ? ep->max_order_war_size : 0;
    endpoint->ordered[1][1] = kept & FI_ORDER_RAR ? SIZE_MAX : 0;
}

static void learn(struct ofi_link *ofi)
{
    struct ofi_endpoint  *endpoint = &ofi->endpoint;
    const struct fi_info *info = endpoint->info;
    size_t                bits = info->domain_attr->mr_key_size * 8;

    endpoint->mr_local = (info->domain_attr->mr_mode & FI_MR_LOCAL) || tern_opt.ofi_local == TERN_OFI_LOCAL_ALWAYS;
    ofi->net.delivers = endpoint->fabric.delivers && tern_opt.ofi_delivery == TERN_OFI_DELIVERY_AUTO;
    endpoint->data_bits = info->domain_attr->cq_data_size < 8 ? (unsigned)info->domain_attr->cq_data_size * 8 : 64;
    if (endpoint->data_bits > (unsigned)tern_opt.ofi_data)
        endpoint->data_bits = (unsigned)tern_opt.ofi_data;
    endpoint->key_mask = bits >= 64 || bits == 0 ? UINT64_MAX : (1ull << bits) - 1;
}

/* Log which endpoint was chosen, and why the others were not. */
static void tell_chosen(const struct ofi_link *ofi)
{
    struct tern_fabric_row *rows = NULL;
    size_t                  count = 0;

    if (!tern_base_log_shows(TERN_LOG_INFO) || tern_boot_fabric_list(ofi->net.boot->nodes > 1, &rows, &count) < 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (rows[i].chosen || ofi->net.boot->local == 0) /* the ranks of a node have the same choice */
            tern_base_log(TERN_LOG_INFO, "link ofi: provider %s, domain %s%s%s: %s: %s", rows[i].provider,
                          rows[i].domain, *rows[i].address ? ", address " : "", rows[i].address,
                          rows[i].chosen ? "chosen" : "not chosen", rows[i].why);
    free(rows);
}

/* Return whether the job leaves the ranks of other nodes to link tcp, which is faster than the providers of libfabric
 * over sockets. An option that names links, a provider or a domain selects libfabric. */
static bool leaves_to_tcp(const struct ofi_link *ofi, tern_status chosen)
{
    if (ofi->net.boot->nodes == 1 || *tern_opt.links || *tern_opt.ofi_provider || *tern_opt.ofi_domain)
        return false;
    if (chosen < 0)
        tern_base_log(TERN_LOG_INFO, "link ofi: %s", tern_base_detail());
    return chosen < 0 || ofi->endpoint.fabric.sockets;
}

tern_status tern_ofi_endpoint_open(struct ofi_link *ofi)
{
    struct ofi_endpoint *endpoint = &ofi->endpoint;
    tern_status          st = tern_boot_fabric_choose(ofi->net.boot->nodes > 1, &endpoint->fabric);

    endpoint->info = st == TERN_OK ? endpoint->fabric.info : NULL;
    if (leaves_to_tcp(ofi, st))
        return TERN_AGAIN;
    if (st < 0)
        return st;
    endpoint->info->tx_attr->op_flags = 0; /* delivery completion is requested per operation */
    endpoint->info->rx_attr->op_flags = 0;
    snprintf(ofi->net.name, sizeof(ofi->net.name), "ofi, provider %s", endpoint->info->fabric_attr->prov_name);
    tell_chosen(ofi);
    learn(ofi);
    learn_order(endpoint);
    if ((st = objects_open(ofi)) < 0)
        return st;
    ofi->net.inject = inject_limit(endpoint, OPT_INJECT_MSG_SIZE);
    endpoint->rma = inject_limit(endpoint, OPT_INJECT_RMA_SIZE);
    return TERN_OK;
}

static void fid_close(void *fid)
{
    if (fid)
        fi_close(fid);
}

void tern_ofi_endpoint_close(struct ofi_link *ofi)
{
    struct ofi_endpoint *endpoint = &ofi->endpoint;

    fid_close(endpoint->ep);
    fid_close(endpoint->av);
    fid_close(endpoint->cq);
    fid_close(endpoint->domain);
    fid_close(endpoint->fid);
    if (endpoint->info)
        endpoint->fabric.calls->freeinfo(endpoint->info);
    *endpoint = (struct ofi_endpoint){ .wait_fd = -1 };
}

/* Check the address record of a rank, which has len bytes. */
static tern_status address_check(const struct ofi_link *ofi, const struct address *its, size_t len, int rank)
{
    const char *provider = ofi->endpoint.info->fabric_attr->prov_name;
    bool        known = its->layout == ADDRESS_LAYOUT && memchr(its->provider, '\0', sizeof(its->provider));

    if (known && strncmp(its->provider, provider, sizeof(its->provider) - 1) != 0)
        return tern_base_fail(TERN_ERR_LINK,
                              "rank %d uses the network provider %s and this rank %s; set TERN_OFI_PROVIDER for all of "
                              "them alike",
                              rank, its->provider, provider);
    if (known && !tern_net_agrees(&ofi->net, its->wire, its->ring, its->rpc_bytes, its->notify_cells))
        return tern_net_disagrees(rank);
    if (!known || its->format != ofi->endpoint.info->addr_format || its->len != len - offsetof(struct address, name))
        return tern_base_fail(TERN_ERR_LINK, "link ofi: rank %d published an invalid address", rank);
    return TERN_OK;
}

tern_status tern_ofi_resolve(struct net_link *net, struct net_peer *peer)
{
    struct ofi_link *ofi = tern_ofi(net);
    struct address   its = { 0 };
    size_t           len = 0;
    const void      *address;
    tern_status      st;

    if (!(address = tern_boot_net_address(ofi->net.boot, TERN_LINK_OFI, peer->rank, &len)))
        return tern_net_no_address(net, peer->rank, TERN_LINK_TCP, "tcp");
    if (len <= sizeof(its))
        memcpy(&its, address, len);
    if ((st = address_check(ofi, &its, len, peer->rank)) < 0)
        return st;
    if (fi_av_insert(ofi->endpoint.av, its.name, 1, &peer->addr, 0, NULL) != 1)
        return tern_ofi_fail(ofi, -FI_EADDRNOTAVAIL, "fi_av_insert");
    tern_base_log(TERN_LOG_DEBUG, "link %s: connected to rank %d", net->name, peer->rank);
    peer->known = true;
    return TERN_OK;
}
