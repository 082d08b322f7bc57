/* fabric.c: loads libfabric, evaluates the endpoints that it offers, and chooses one. See fabric.h.
 *
 * fi_getinfo returns every endpoint that satisfies the hints. It is called with three kinds of hints: for every
 * endpoint of the right type, which tern-info lists; for the endpoints with all features that Tern requires; and for
 * the best of these again, with the features that Tern would like to have.
 */
#include "boot/fabric.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "boot/fabric_load.h"

#define LIBRARY "libfabric.so.1"
#define API FI_VERSION(1, 17)

#define NEEDED_CAPS \
    (FI_MSG | FI_SEND | FI_RECV | FI_MULTI_RECV | FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define USEFUL_ORDER (FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW) /* for strict contexts */
#define SERVED_MODES (FI_CONTEXT | FI_CONTEXT2)
#define SERVED_MR_MODES (FI_MR_LOCAL | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_ENDPOINT)

/* Known providers, the fastest first. Any other provider ranks where the star is. */
static const char *const preference[] = {
    "cxi", "efa",         "psm3", "opx", "psm2",        "verbs;ofi_rxm", "verbs;ofi_rxd", "tcp;ofi_rxm",
    "tcp", "net;ofi_rxm", "net",  "*",   "udp;ofi_rxd", "sockets",       "shm",
};
#define PREFERENCES (sizeof(preference) / sizeof(preference[0]))

/* ---- the library ---- */

static struct {
    pthread_once_t           once;
    bool                     loaded;
    char                     why[256];
    struct tern_fabric_calls calls;
    char *(*tostr)(const void *data, enum fi_type type);
} library = { .once = PTHREAD_ONCE_INIT };

void (*tern_boot_fabric_front)(struct tern_fabric_calls *calls);

/* Look up a function with the symbol version of the headers used at build time, which later libfabric versions also
 * provide. Returns false and sets library.why if it is missing. */
static bool find(void *handle, const char *name, const char *version, void *out)
{
    void *found = dlvsym(handle, name, version);

    memcpy(out, &found, sizeof(found));
    if (!found)
        snprintf(library.why, sizeof(library.why), LIBRARY " has no %s of version %s", name, version);
    return found != NULL;
}

static void load(void)
{
    void *handle = tern_boot_fabric_load(LIBRARY);

    if (!handle) {
        snprintf(library.why, sizeof(library.why), "libfabric cannot be loaded (%s); install libfabric1", dlerror());
        return;
    }
    library.loaded = find(handle, "fi_getinfo", TERN_FABRIC_ABI, &library.calls.getinfo) &&
                     find(handle, "fi_freeinfo", TERN_FABRIC_ABI, &library.calls.freeinfo) &&
                     find(handle, "fi_dupinfo", TERN_FABRIC_ABI, &library.calls.dupinfo) &&
                     find(handle, "fi_fabric", "FABRIC_1.1", &library.calls.fabric) &&
                     find(handle, "fi_strerror", "FABRIC_1.0", &library.calls.strerror) &&
                     find(handle, "fi_tostr", "FABRIC_1.0", &library.tostr);
    if (library.loaded && tern_boot_fabric_front)
        tern_boot_fabric_front(&library.calls);
}

static tern_status need_library(void)
{
    pthread_once(&library.once, load);
    return library.loaded ? TERN_OK : tern_base_fail(TERN_ERR_LINK, "%s", library.why);
}

/* ---- queries ---- */

enum question { ANY, ENOUGH, AND_DELIVERY = 2, AND_ATOMICS = 4 };

static struct fi_info *hints_for(unsigned question, bool between_nodes)
{
    struct fi_info *hints = library.calls.dupinfo(NULL);

    if (!hints)
        return NULL;
    hints->ep_attr->type = FI_EP_RDM;
    hints->mode = question == ANY ? ~0ull : SERVED_MODES;
    hints->domain_attr->mr_mode = question == ANY ? ~FI_MR_BASIC & ~FI_MR_SCALABLE : SERVED_MR_MODES;
    if (question == ANY)
        return hints;
    hints->caps = NEEDED_CAPS | (between_nodes ? FI_REMOTE_COMM : 0) | (question & AND_ATOMICS ? FI_ATOMIC : 0);
    hints->tx_attr->op_flags = question & AND_DELIVERY ? FI_DELIVERY_COMPLETE : 0;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    return hints;
}

static char *copy_text(const char *text)
{
    return text ? strdup(text) : NULL;
}

/* Return the message order to request from a provider that offers the order kept. Without delivery completion, a read
 * must not overtake a preceding put. */
static uint64_t order_to_ask(unsigned question, uint64_t kept)
{
    uint64_t useful = tern_opt.ofi_order == TERN_OFI_ORDER_NETWORK ? USEFUL_ORDER : 0;

    return FI_ORDER_SAS | (kept & useful) | (question & AND_DELIVERY ? 0 : FI_ORDER_RAW);
}

/* Query libfabric. If as is not NULL, only its provider, domain and address format are queried. Returns a list that the
 * caller frees, or NULL. */
static struct fi_info *ask(unsigned question, bool between_nodes, const struct fi_info *as)
{
    struct fi_info *hints = hints_for(question, between_nodes), *answer = NULL;

    if (!hints)
        return NULL;
    if (as) {
        hints->fabric_attr->prov_name = copy_text(as->fabric_attr->prov_name);
        hints->fabric_attr->name = copy_text(as->fabric_attr->name);
        hints->domain_attr->name = copy_text(as->domain_attr->name);
        hints->addr_format = as->addr_format;
        hints->tx_attr->msg_order = order_to_ask(question, as->tx_attr->msg_order);
        hints->rx_attr->msg_order = order_to_ask(question, as->rx_attr->msg_order);
    }
    if (library.calls.getinfo(API, NULL, NULL, 0, hints, &answer) != 0)
        answer = NULL;
    library.calls.freeinfo(hints);
    return answer;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool is_same(const struct fi_info *a, const struct fi_info *b)
{
    return same_text(a->fabric_attr->prov_name, b->fabric_attr->prov_name) &&
           same_text(a->fabric_attr->name, b->fabric_attr->name) &&
           same_text(a->domain_attr->name, b->domain_attr->name) && a->addr_format == b->addr_format &&
           a->src_addrlen == b->src_addrlen &&
           (a->addr_format == FI_ADDR_STR || a->src_addrlen == 0 || !memcmp(a->src_addr, b->src_addr, a->src_addrlen));
}

static const struct fi_info *find_same(const struct fi_info *list, const struct fi_info *one)
{
    while (list && !is_same(list, one))
        list = list->next;
    return list;
}

/* ---- evaluating endpoints ---- */

/* Write which requirement an endpoint does not meet. */
static void describe_lack(const struct fi_info *info, bool between_nodes, char *why, size_t size)
{
    uint64_t missing = NEEDED_CAPS & ~info->caps;

    if (missing)
        snprintf(why, size, "cannot do %s", library.tostr(&missing, FI_TYPE_CAPS));
    else if (between_nodes && !(info->caps & FI_REMOTE_COMM))
        snprintf(why, size, "reaches this machine only");
    else if (!(info->tx_attr->msg_order & FI_ORDER_SAS))
        snprintf(why, size, "does not keep messages in order");
    else
        snprintf(why, size, "asks for modes that Tern does not serve, or cannot be used by several threads");
}

static bool is_provider(const char *name, const char *asked)
{
    size_t len = strlen(asked);

    return strncmp(name, asked, len) == 0 && (name[len] == '\0' || name[len] == ';');
}

/* The scope of an endpoint's address. */
enum locality { ELSEWHERE, LOOPBACK, LINK_LOCAL };

static enum locality locality_of(const struct fi_info *info)
{
    const struct sockaddr_in  *in = info->addr_format == FI_SOCKADDR_IN ? info->src_addr : NULL;
    const struct sockaddr_in6 *in6 = info->addr_format == FI_SOCKADDR_IN6 ? info->src_addr : NULL;

    if ((in && ntohl(in->sin_addr.s_addr) >> 24 == 127) || (in6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr)))
        return LOOPBACK;
    return in6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) ? LINK_LOCAL : ELSEWHERE;
}

/* Return whether the endpoint may be chosen. If not, why says what prevents it. */
static bool is_eligible(const struct fi_info *info, const struct fi_info *enough, bool between_nodes, char *why,
                        size_t size)
{
    const char *provider = info->fabric_attr->prov_name;

    why[0] = '\0';
    if (!find_same(enough, info) || !(info->tx_attr->msg_order & FI_ORDER_SAS))
        describe_lack(info, between_nodes, why, size);
    else if (*tern_opt.ofi_provider && !is_provider(provider, tern_opt.ofi_provider))
        snprintf(why, size, "TERN_OFI_PROVIDER asks for another");
    else if (*tern_opt.ofi_domain && !same_text(info->domain_attr->name, tern_opt.ofi_domain))
        snprintf(why, size, "TERN_OFI_DOMAIN asks for another");
    else if (between_nodes && locality_of(info) == LOOPBACK)
        snprintf(why, size, "is an address of this machine only");
    else if (locality_of(info) == LINK_LOCAL)
        snprintf(why, size, "is a link-local address, which means something else on each machine");
    return why[0] == '\0';
}

/* Return the index of a provider in the list of preferences. */
static unsigned preference_of(const char *provider)
{
    unsigned star = 0;

    for (unsigned i = 0; i < PREFERENCES; i++) {
        if (strcmp(preference[i], provider) == 0)
            return i;
        star = preference[i][0] == '*' ? i : star;
    }
    return star;
}

/* Return the rank of an endpoint; smaller is better. A provider that the user names exactly comes first: "net" means
 * net rather than net;ofi_rxm. A job on one machine prefers a loopback address. */
static unsigned rank_of(const struct fi_info *info, bool between_nodes)
{
    const char *provider = info->fabric_attr->prov_name;

    return (same_text(provider, tern_opt.ofi_provider) ? 0 : preference_of(provider) + 1) * 4 +
           (!between_nodes && locality_of(info) != LOOPBACK ? 2u : 0u) +
           (info->addr_format == FI_SOCKADDR_IN6 ? 1u : 0u);
}

static const struct fi_info *best_of(const struct fi_info *all, const struct fi_info *enough, bool between_nodes)
{
    const struct fi_info *best = NULL;
    char                  why[200];

    for (const struct fi_info *info = all; info; info = info->next)
        if (is_eligible(info, enough, between_nodes, why, sizeof(why)) &&
            (!best || rank_of(info, between_nodes) < rank_of(best, between_nodes)))
            best = info;
    return best;
}

/* ---- choosing ---- */

/* Query one endpoint again with optional features. Returns the first answer that is the same endpoint, as a copy that
 * the caller frees, or NULL. Some providers offer delivery completion or atomics, but not both. Delivery completion is
 * preferred, because every put uses it, unless the user asked for network atomics. */
static struct fi_info *refine(const struct fi_info *best, bool between_nodes, struct tern_fabric *out)
{
    bool           atomics = tern_opt.ofi_atomics == TERN_OFI_ATOMICS_NETWORK;
    const unsigned wishes[] = { ENOUGH | AND_DELIVERY | AND_ATOMICS, ENOUGH | (atomics ? AND_ATOMICS : AND_DELIVERY),
                                ENOUGH | (atomics ? AND_DELIVERY : AND_ATOMICS), ENOUGH };

    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        struct fi_info       *answer = ask(wishes[i], between_nodes, best);
        const struct fi_info *same = find_same(answer, best);
        /* Tern must find out when the data of a put have arrived at the target: the provider offers delivery
         * completion, or a read that is posted after the put does not overtake it. */
        bool                  delivery = same && (wishes[i] & AND_DELIVERY || same->ep_attr->max_order_raw_size > 0);
        struct fi_info       *one = delivery ? library.calls.dupinfo(same) : NULL;

        library.calls.freeinfo(answer);
        if (!one)
            continue;
        out->delivers = wishes[i] & AND_DELIVERY;
        out->atomics = wishes[i] & AND_ATOMICS;
        return one;
    }
    return NULL;
}

static const char *provider_of(const struct fi_info *info)
{
    return info->fabric_attr->prov_name;
}

static const char *domain_of(const struct fi_info *info)
{
    return info->domain_attr->name;
}

/* Write the distinct names of all endpoints, separated by commas. */
static void name_all(const struct fi_info *all, const char *(*name_of)(const struct fi_info *), char *text, size_t size)
{
    size_t at = 0;

    for (const struct fi_info *info = all; info && at < size; info = info->next) {
        const struct fi_info *first = all;

        while (!same_text(name_of(first), name_of(info)))
            first = first->next;
        if (first == info && name_of(info))
            at += (size_t)snprintf(text + at, size - at, "%s%s", at > 0 ? ", " : "", name_of(info));
    }
}

/* Report that the user's options exclude every endpoint: the named one does not exist or is not eligible. */
static tern_status fail_no_match(const struct fi_info *all, const struct fi_info *enough, bool between_nodes)
{
    char why[200], providers[160] = "", domains[120] = "", wanted[200];

    snprintf(wanted, sizeof(wanted), "%s%.60s%s%s%.60s", *tern_opt.ofi_provider ? "TERN_OFI_PROVIDER=" : "",
             tern_opt.ofi_provider, *tern_opt.ofi_provider && *tern_opt.ofi_domain ? " and " : "",
             *tern_opt.ofi_domain ? "TERN_OFI_DOMAIN=" : "", tern_opt.ofi_domain);
    for (const struct fi_info *info = all; info; info = info->next)
        if ((!*tern_opt.ofi_provider || is_provider(provider_of(info), tern_opt.ofi_provider)) &&
            (!*tern_opt.ofi_domain || same_text(domain_of(info), tern_opt.ofi_domain)) &&
            !is_eligible(info, enough, between_nodes, why, sizeof(why)))
            return tern_base_fail(TERN_ERR_LINK, "%s: %s with %s %s", wanted, provider_of(info), domain_of(info), why);
    name_all(all, provider_of, providers, sizeof(providers));
    name_all(all, domain_of, domains, sizeof(domains));
    return tern_base_fail(TERN_ERR_LINK,
                          "no network of this machine has %s; there are the providers %s and the domains %s; tern-info "
                          "shows what each can do",
                          wanted, providers, domains);
}

/* What the best endpoint lacks if refine() rejects it; all other endpoints rank behind it or lack something too. */
#define NO_DELIVERY "neither tells when a put has arrived nor keeps a read behind it"

static tern_status fail_none_fits(const struct fi_info *best, const struct fi_info *all, const struct fi_info *enough,
                                  bool between_nodes)
{
    if (best)
        return tern_base_fail(TERN_ERR_LINK,
                              "the network provider %s " NO_DELIVERY "; choose another by TERN_OFI_PROVIDER, tern-info "
                              "shows which there are",
                              provider_of(best));
    if (!all)
        return tern_base_fail(TERN_ERR_LINK, "libfabric finds no network on this machine");
    if (*tern_opt.ofi_provider || *tern_opt.ofi_domain)
        return fail_no_match(all, enough, between_nodes);
    return tern_base_fail(TERN_ERR_LINK,
                          "no network of this machine can serve the job; tern-info shows which there are "
                          "and what each lacks");
}

static bool is_over_sockets(const char *provider)
{
    return is_provider(provider, "tcp") || is_provider(provider, "net") || is_provider(provider, "sockets") ||
           is_provider(provider, "udp");
}

tern_status tern_boot_fabric_choose(bool between_nodes, struct tern_fabric *out)
{
    tern_status           st = need_library();
    struct fi_info       *enough, *all = NULL;
    const struct fi_info *best;

    if (st < 0)
        return st;
    *out = (struct tern_fabric){ .calls = &library.calls };
    enough = ask(ENOUGH, between_nodes, NULL);
    best = best_of(enough, enough, between_nodes);
    out->info = best ? refine(best, between_nodes, out) : NULL;
    if (out->info) {
        out->sockets = is_over_sockets(provider_of(out->info));
        snprintf(out->provider, sizeof(out->provider), "%s", provider_of(out->info));
    } else {
        all = ask(ANY, between_nodes, NULL);
        st = fail_none_fits(best, all, enough, between_nodes);
    }
    library.calls.freeinfo(enough);
    library.calls.freeinfo(all);
    return st;
}

/* ---- listing ---- */

static void address_text(const struct fi_info *info, char *text, size_t size)
{
    const void *from = info->src_addr;

    text[0] = '\0';
    if (!from)
        return;
    if (info->addr_format == FI_SOCKADDR_IN)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)from)->sin_addr, text, (socklen_t)size);
    else if (info->addr_format == FI_SOCKADDR_IN6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)from)->sin6_addr, text, (socklen_t)size);
    else if (info->addr_format == FI_ADDR_STR)
        snprintf(text, size, "%s", (const char *)from);
}

static void describe_chosen(const struct tern_fabric *fabric, char *why, size_t size)
{
    const struct fi_info *info = fabric->info;
    int                   mr = info->domain_attr->mr_mode;

    snprintf(why, size, "%s, %s%s, %s, injects up to %zu bytes, carries %zu bytes of completion data, uses %s%s%s",
             info->domain_attr->data_progress == FI_PROGRESS_AUTO ? "makes progress by itself"
                                                                  : "needs a thread of Tern for progress",
             fabric->delivers ? "reports the delivery of puts" : "needs a read after each put to confirm its delivery",
             fabric->atomics ? ", has atomics" : "",
             info->tx_attr->msg_order & FI_ORDER_WAW && info->ep_attr->max_order_waw_size > 0
                 ? "keeps puts in order"
                 : "does not keep puts in order",
             info->tx_attr->inject_size, info->domain_attr->cq_data_size,
             mr & FI_MR_PROV_KEY ? "keys of the provider" : "random keys",
             mr & FI_MR_LOCAL ? ", requires registered local buffers" : "",
             mr & FI_MR_VIRT_ADDR ? ", addresses remote memory by virtual addresses" : "");
}

/* Fill in a row for each distinct endpoint, with the reason why it was or was not chosen. Returns the number of rows.
 * libfabric lists some endpoints several times. */
static size_t fill_rows(struct tern_fabric_row *rows, const struct fi_info *all, const struct fi_info *enough,
                        bool between_nodes)
{
    const struct fi_info *best = best_of(all, enough, between_nodes);
    struct tern_fabric    fabric = { 0 };
    size_t                count = 0;

    for (const struct fi_info *info = all; info; info = info->next) {
        struct tern_fabric_row *row = &rows[count];

        if (find_same(all, info) != info)
            continue;
        count++;
        snprintf(row->provider, sizeof(row->provider), "%s", provider_of(info));
        snprintf(row->domain, sizeof(row->domain), "%s", domain_of(info) ? domain_of(info) : "");
        address_text(info, row->address, sizeof(row->address));
        if (!is_eligible(info, enough, between_nodes, row->why, sizeof(row->why)))
            continue;
        row->usable = true;
        if (info == best && (fabric.info = refine(best, between_nodes, &fabric))) {
            row->chosen = true;
            row->sockets = fabric.sockets;
            describe_chosen(&fabric, row->why, sizeof(row->why));
            library.calls.freeinfo(fabric.info);
        } else if (info == best) {
            row->usable = false;
            snprintf(row->why, sizeof(row->why), NO_DELIVERY);
        } else {
            snprintf(row->why, sizeof(row->why), "would do; the one chosen is known to be faster or comes first");
        }
    }
    return count;
}

tern_status tern_boot_fabric_list(bool between_nodes, struct tern_fabric_row **rows, size_t *count)
{
    tern_status     st = need_library();
    struct fi_info *all, *enough;
    size_t          most = 1;

    if (st < 0)
        return st;
    all = ask(ANY, between_nodes, NULL);
    enough = ask(ENOUGH, between_nodes, NULL);
    for (const struct fi_info *info = all; info; info = info->next)
        most++;
    *rows = calloc(most, sizeof(**rows));
    if (*rows)
        *count = fill_rows(*rows, all, enough, between_nodes);
    else
        st = tern_base_fail(TERN_ERR_NOMEM, "no memory for a list of %zu networks", most);
    library.calls.freeinfo(all);
    library.calls.freeinfo(enough);
    return st;
}

tern_status tern_boot_fabric_providers(char *text, size_t size)
{
    tern_status     st = need_library();
    struct fi_info *all = NULL;
    size_t          at = 0;

    text[0] = '\0';
    if (st < 0 || library.calls.getinfo(API, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &all) != 0)
        return st;
    for (const struct fi_info *info = all; info && at < size; info = info->next) {
        const char *name = provider_of(info);

        if (name && strncmp(name, "ofi_", 4) != 0) /* those are layers over other providers */
            at += (size_t)snprintf(text + at, size - at, "%s%s", at > 0 ? "," : "", name);
    }
    library.calls.freeinfo(all);
    return TERN_OK;
}
