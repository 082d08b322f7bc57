/* networks.c: the providers that libfabric offers here, the one that a job on several nodes would use, and why it would
 * not use the others. libfabric is asked once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "boot/fabric.h"
#include "info.h"

static struct {
    bool                    is_loaded;
    struct tern_fabric_row *rows;
    size_t                  count;
    char                    problem[512]; /* why no network can be used; "" if one can */
    char                    providers[512];
} networks;

static void load(void)
{
    tern_status st;

    if (networks.is_loaded)
        return;
    networks.is_loaded = true;
    st = tern_boot_fabric_list(true, &networks.rows, &networks.count);
    if (st < 0)
        snprintf(networks.problem, sizeof(networks.problem), "%s", tern_base_detail());
    else if (networks.count == 0)
        snprintf(networks.problem, sizeof(networks.problem), "libfabric finds no network");
    else if (info_network_chosen() == NULL)
        snprintf(networks.problem, sizeof(networks.problem), "none of the networks of this machine can be used");
    tern_boot_fabric_providers(networks.providers, sizeof(networks.providers));
}

const struct tern_fabric_row *info_network_chosen(void)
{
    load();
    for (size_t i = 0; i < networks.count; i++)
        if (networks.rows[i].chosen)
            return &networks.rows[i];
    return NULL;
}

const char *info_network_problem(void)
{
    load();
    return networks.problem;
}

/* Return whether this endpoint represents its provider in the short list: the chosen one of its endpoints, or else the
 * first usable one, or else the first. */
static bool stands_for_provider(const struct tern_fabric_row *row)
{
    const struct tern_fabric_row *best = NULL;

    for (size_t i = 0; i < networks.count; i++) {
        const struct tern_fabric_row *other = &networks.rows[i];

        if (strcmp(other->provider, row->provider) == 0 &&
            (best == NULL || (other->chosen && !best->chosen) || (other->usable && !best->usable && !best->chosen)))
            best = other;
    }
    return best == row;
}

/* Return whether jobs on several nodes use link tcp instead of this network, as link ofi decides. */
static bool leaves_to_tcp(const struct tern_fabric_row *row)
{
    return row->sockets && tern_opt.links[0] == '\0' && tern_opt.ofi_provider[0] == '\0' &&
           tern_opt.ofi_domain[0] == '\0';
}

/* Return why the network was chosen. */
static const char *reason(const struct tern_fabric_row *row)
{
    return leaves_to_tcp(row)
               ? "it is the fastest known provider whose address reaches other machines; but over TCP, jobs use link "
                 "tcp, which is faster, unless TERN_LINKS, TERN_OFI_PROVIDER or TERN_OFI_DOMAIN names libfabric"
           : tern_opt.ofi_provider[0] != '\0' && tern_opt.ofi_domain[0] != '\0'
               ? "TERN_OFI_PROVIDER and TERN_OFI_DOMAIN ask for it"
           : tern_opt.ofi_provider[0] != '\0' ? "TERN_OFI_PROVIDER asks for it"
           : tern_opt.ofi_domain[0] != '\0'   ? "it is the fastest known provider on the network of TERN_OFI_DOMAIN"
                                              : "it is the fastest known provider whose address reaches other machines";
}

static void tell(const struct tern_fabric_row *row)
{
    const char             *because = row->chosen ? reason(row) : NULL;
    const struct info_field fields[] = { { "provider", row->provider }, { "domain", row->domain },
                                         { "address", row->address },   { "chosen", row->chosen ? "yes" : "no" },
                                         { "why", row->why },           { "reason", because } };
    char                    text[1024];

    snprintf(text, sizeof(text), "%s %-14s %-8s %s\n         %s%s%s%s", row->chosen ? "*" : " ", row->provider,
             row->domain, row->address, row->chosen ? "chosen, because " : "", row->chosen ? because : "",
             row->chosen ? "; it " : "", row->why);
    info_item(text, fields, 6);
}

/* Return whether an endpoint is one of a provider, perhaps with a layer over it, such as tcp;ofi_rxm. */
static bool is_provider(const char *endpoint, const char *name)
{
    size_t len = strlen(name);

    return strncmp(endpoint, name, len) == 0 && (endpoint[len] == '\0' || endpoint[len] == ';');
}

/* Print the providers of libfabric that offer no endpoint here. */
static void tell_idle(void)
{
    char  names[sizeof(networks.providers)], *rest = NULL;
    char *name;

    memcpy(names, networks.providers, sizeof(names));
    for (name = strtok_r(names, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        struct tern_fabric_row row = { .why = "is installed, but finds no device here" };
        bool                   offers = false;

        for (size_t i = 0; i < networks.count; i++)
            offers |= is_provider(networks.rows[i].provider, name);
        snprintf(row.provider, sizeof(row.provider), "%s", name);
        if (!offers)
            tell(&row);
    }
}

void info_networks(bool all)
{
    size_t left = 0;
    char   text[160];

    load();
    info_list("networks",
              "Networks of libfabric, for jobs on several nodes; * is the best one; link tcp takes the place of TCP");
    for (size_t i = 0; i < networks.count; i++) {
        if (all || info_is_json() || stands_for_provider(&networks.rows[i]))
            tell(&networks.rows[i]);
        else
            left++;
    }
    tell_idle();
    if (networks.problem[0] != '\0') {
        const struct info_field none[] = { { "none", networks.problem } };
        info_item(networks.problem, none, 1);
    }
    snprintf(text, sizeof(text), "(%zu more addresses of the same providers: tern-info --all)", left);
    if (left > 0)
        info_more(text);
    info_list_end();
}
