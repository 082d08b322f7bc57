/* endpoint.c: the endpoint of this process, and the addresses of its peers.
 *
 * Each rank publishes its address before it joins; it is looked up, and known to the provider, when it is first used.
 */
#include <stdlib.h>
#include <string.h>

#include "link/ofi/ofi.h"

#define CARD_LAYOUT 1u
#define QUEUE 1024 /* completions that wait to be read */
#define NAMES 16   /* of an endpoint that are tried */

/* Options of endpoints that the oldest headers which Tern is built with do not name. */
#define OPT_INJECT_MSG_SIZE 16
#define OPT_INJECT_RMA_SIZE 18

/* What a rank publishes. Fixed widths; checked by the reader. */
struct address {
    uint32_t      layout;
    uint32_t      format; /* FI_SOCKADDR_IN, ... */
    uint32_t      len;    /* of name */
    uint32_t      wire;   /* OFI_WIRE_LAYOUT */
    uint32_t      ring;   /* bytes of a message queue */
    uint32_t      room;   /* bytes that an errand may have */
    uint32_t      notes;  /* that a queue of notifications holds */
    char          provider[32];
    unsigned char name[192];
};
_Static_assert(sizeof(struct address) <= TERN_NET_ADDRESS_BYTES, "an address fits on a card");

const char *tern_ofi_why(const struct ofi_link *ofi, int error)
{
    if (error == FI_EMFILE)
        return "too many open files; see 'ulimit -n'";
    return ofi->endpoint.fabric.calls->strerror(error);
}

tern_status tern_ofi_fail(const struct ofi_link *ofi, int64_t rc, const char *call)
{
    return tern_base_fail(TERN_ERR_LINK, "link ofi, provider %s: %s: %s", ofi->endpoint.info->fabric_attr->prov_name,
                          call, tern_ofi_why(ofi, (int)-rc));
}

/* Whether the queue's descriptor tells of everything that the provider has to do. A queue's descriptor tells of
 * completions. A provider whose data progress is manual also serves the writes and reads of peers, which have none
 * here: sockets tell of these as well, and verbs leaves them to the hardware. Any other is polled by the clock. */
static bool tells_all(const struct fi_info *info)
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

/* With a descriptor to sleep on where there is one that tells of everything. */
static int queue_open(struct ofi_endpoint *net)
{
    struct fi_cq_attr attr = { .size = QUEUE, .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD };
    int               rc = tells_all(net->info) ? fi_cq_open(net->domain, &attr, &net->cq, NULL) : -FI_ENOSYS;

    net->wait_fd = -1;
    if (rc == 0) {
        if (fi_control(&net->cq->fid, FI_GETWAIT, &net->wait_fd) != 0)
            net->wait_fd = -1;
        return 0;
    }
    attr.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(net->domain, &attr, &net->cq, NULL);
}

/* Some providers name an endpoint after the process and its number there. A process that was killed may have left that
 * name behind before its number was used again, by this one: then the next endpoint has a name that is free. */
static tern_status endpoint_open(struct ofi_link *ofi)
{
    struct ofi_endpoint *net = &ofi->endpoint;
    int                  rc;

    for (int left = NAMES;; left--) {
        if ((rc = fi_endpoint(net->domain, net->info, &net->ep, NULL)) != 0)
            return tern_ofi_fail(ofi, rc, "fi_endpoint");
        if ((rc = fi_ep_bind(net->ep, &net->cq->fid, FI_TRANSMIT | FI_RECV)) != 0 ||
            (rc = fi_ep_bind(net->ep, &net->av->fid, 0)) != 0)
            return tern_ofi_fail(ofi, rc, "fi_ep_bind");
        if ((rc = fi_enable(net->ep)) == 0)
            return TERN_OK;
        if (rc != -FI_EBUSY || left == 0)
            return tern_ofi_fail(ofi, rc, "fi_enable");
        fi_close(&net->ep->fid);
        net->ep = NULL;
    }
}

static tern_status objects_open(struct ofi_link *ofi)
{
    struct ofi_endpoint *net = &ofi->endpoint;
    enum fi_av_type      type = net->info->domain_attr->av_type;
    struct fi_av_attr    av = { .type = type == FI_AV_UNSPEC ? FI_AV_TABLE : type, .count = (size_t)ofi->ranks };
    int                  rc;

    if ((rc = net->fabric.calls->fabric(net->info->fabric_attr, &net->fid, NULL)) != 0)
        return tern_ofi_fail(ofi, rc, "fi_fabric");
    if ((rc = fi_domain(net->fid, net->info, &net->domain, NULL)) != 0)
        return tern_ofi_fail(ofi, rc, "fi_domain");
    if ((rc = queue_open(net)) != 0)
        return tern_ofi_fail(ofi, rc, "fi_cq_open");
    if ((rc = fi_av_open(net->domain, &av, &net->av, NULL)) != 0)
        return tern_ofi_fail(ofi, rc, "fi_av_open");
    return endpoint_open(ofi);
}

/* Bytes that are copied while they are sent, by messages or writes: the attribute is the most for all of them, and
 * newer versions of libfabric tell of each. */
static size_t inject_limit(const struct ofi_endpoint *net, int option)
{
    size_t most = net->info->tx_attr->inject_size, limit = 0, len = sizeof(limit);

    if (fi_getopt(&net->ep->fid, FI_OPT_ENDPOINT, option, &limit, &len) == 0 && limit < most)
        most = limit;
    return most < tern_opt.ofi_inject ? most : tern_opt.ofi_inject;
}

tern_status tern_ofi_publish(struct ofi_link *ofi)
{
    struct address mine = { .layout = CARD_LAYOUT, .format = ofi->endpoint.info->addr_format };
    size_t         len = sizeof(mine.name);
    int            rc = fi_getname(&ofi->endpoint.ep->fid, mine.name, &len);

    if (rc != 0 || len > sizeof(mine.name))
        return tern_ofi_fail(ofi, rc != 0 ? rc : -FI_ETOOSMALL, "fi_getname");
    mine.len = (uint32_t)len;
    mine.wire = OFI_WIRE_LAYOUT;
    mine.ring = (uint32_t)ofi->msg.ring_bytes[TERN_CHANNEL_REQUEST];
    mine.notes = ofi->msg.shape[TERN_CHANNEL_NOTIFY].cells;
    mine.room = (uint32_t)ofi->rpc.buf_bytes;
    strncpy(mine.provider, ofi->endpoint.info->fabric_attr->prov_name, sizeof(mine.provider) - 1);
    return tern_boot_publish_address(ofi->boot, &mine, sizeof(mine));
}

/* How far the provider keeps the order of puts and gets. */
static void learn_order(struct ofi_endpoint *net)
{
    const struct fi_ep_attr *ep = net->info->ep_attr;
    uint64_t                 kept = net->info->tx_attr->msg_order & net->info->rx_attr->msg_order;

    if (tern_opt.ofi_order != TERN_OFI_ORDER_NETWORK)
        return;
    net->ordered[0][0] = kept & FI_ORDER_WAW ? ep->max_order_waw_size : 0;
    net->ordered[0][1] = kept & FI_ORDER_RAW ? ep->max_order_raw_size : 0;
    net->ordered[1][0] = kept & FI_ORDER_WAR ? ep->max_order_war_size : 0;
    net->ordered[1][1] = kept & FI_ORDER_RAR ? SIZE_MAX : 0;
}

static void learn(struct ofi_endpoint *net)
{
    const struct fi_info *info = net->info;
    size_t                bits = info->domain_attr->mr_key_size * 8;

    net->mr_local = (info->domain_attr->mr_mode & FI_MR_LOCAL) || tern_opt.ofi_local == TERN_OFI_LOCAL_ALWAYS;
    net->delivers = net->fabric.delivers && tern_opt.ofi_delivery == TERN_OFI_DELIVERY_AUTO;
    net->data_bits = info->domain_attr->cq_data_size < 8 ? (unsigned)info->domain_attr->cq_data_size * 8 : 64;
    if (net->data_bits > (unsigned)tern_opt.ofi_data)
        net->data_bits = (unsigned)tern_opt.ofi_data;
    net->key_mask = bits >= 64 || bits == 0 ? UINT64_MAX : (1ull << bits) - 1;
}

tern_status tern_ofi_endpoint_open(struct ofi_link *ofi)
{
    struct ofi_endpoint *net = &ofi->endpoint;
    tern_status          st = tern_boot_fabric_choose(ofi->boot->nodes > 1, &net->fabric);

    if (st < 0)
        return st;
    net->info = net->fabric.info;
    net->info->tx_attr->op_flags = 0; /* delivery is asked for where it matters */
    net->info->rx_attr->op_flags = 0;
    learn(net);
    learn_order(net);
    if ((st = objects_open(ofi)) < 0)
        return st;
    net->inject = inject_limit(net, OPT_INJECT_MSG_SIZE);
    net->rma = inject_limit(net, OPT_INJECT_RMA_SIZE);
    return TERN_OK;
}

static void fid_close(void *fid)
{
    if (fid)
        fi_close(fid);
}

void tern_ofi_endpoint_close(struct ofi_link *ofi)
{
    struct ofi_endpoint *net = &ofi->endpoint;

    fid_close(net->ep);
    fid_close(net->av);
    fid_close(net->cq);
    fid_close(net->domain);
    fid_close(net->fid);
    if (net->info)
        net->fabric.calls->freeinfo(net->info);
    *net = (struct ofi_endpoint){ .wait_fd = -1 };
}

struct ofi_peer *tern_ofi_peer(struct ofi_link *ofi, int rank)
{
    struct ofi_peer *peer = atomic_load_explicit(&ofi->peer[rank], memory_order_relaxed); /* written under the lock */

    if (TERN_LIKELY(peer != NULL))
        return peer;
    peer = calloc(1, sizeof(*peer));
    if (!peer)
        return NULL;
    peer->rank = rank;
    peer->token_out = tern_ofi_wire_token(ofi->boot->segment->job, (uint32_t)ofi->rank, (uint32_t)rank);
    peer->token_in = tern_ofi_wire_token(ofi->boot->segment->job, (uint32_t)rank, (uint32_t)ofi->rank);
    /* release: the peer before the pointer to it. Pairs with the acquire in tern_ofi_msg_open(). */
    atomic_store_explicit(&ofi->peer[rank], peer, memory_order_release);
    return peer;
}

/* Whether the rank that published it sends what this one understands. */
static bool is_like_ours(const struct ofi_link *ofi, const struct address *its)
{
    return its->wire == OFI_WIRE_LAYOUT && its->ring == ofi->msg.ring_bytes[TERN_CHANNEL_REQUEST] &&
           its->room == ofi->rpc.buf_bytes && its->notes == ofi->msg.shape[TERN_CHANNEL_NOTIFY].cells;
}

static tern_status address_bad(const struct ofi_link *ofi, const struct address *its, int rank)
{
    const char *provider = ofi->endpoint.info->fabric_attr->prov_name;

    if (its->layout == CARD_LAYOUT && memchr(its->provider, '\0', sizeof(its->provider)) &&
        strcmp(its->provider, provider) != 0)
        return tern_base_fail(TERN_ERR_LINK,
                              "rank %d uses the network provider %s and this rank %s; set TERN_OFI_PROVIDER for all of "
                              "them alike",
                              rank, its->provider, provider);
    if (its->layout == CARD_LAYOUT && !is_like_ours(ofi, its))
        return tern_base_fail(
            TERN_ERR_LINK,
            "rank %d has another version of Tern, or another TERN_AM_QUEUE, TERN_NOTIFY_QUEUE or TERN_OFI_ROOM; all "
            "ranks need the same",
            rank);
    return tern_base_fail(TERN_ERR_LINK, "the address that rank %d published makes no sense", rank);
}

tern_status tern_ofi_address(struct ofi_link *ofi, struct ofi_peer *peer)
{
    struct address its;
    size_t         len = 0;
    const void    *card;

    if (TERN_LIKELY(peer->known))
        return TERN_OK;
    if (!(card = tern_boot_net_address(ofi->boot, peer->rank, &len)))
        return TERN_AGAIN;
    if (len != sizeof(its))
        return tern_base_fail(TERN_ERR_LINK, "the address that rank %d published is of another link", peer->rank);
    memcpy(&its, card, sizeof(its));
    if (its.layout != CARD_LAYOUT || its.format != ofi->endpoint.info->addr_format || its.len > sizeof(its.name) ||
        !is_like_ours(ofi, &its) ||
        strncmp(its.provider, ofi->endpoint.info->fabric_attr->prov_name, sizeof(its.provider) - 1) != 0)
        return address_bad(ofi, &its, peer->rank);
    if (fi_av_insert(ofi->endpoint.av, its.name, 1, &peer->addr, 0, NULL) != 1)
        return tern_ofi_fail(ofi, -FI_EADDRNOTAVAIL, "fi_av_insert");
    peer->known = true;
    return TERN_OK;
}
