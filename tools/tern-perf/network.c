/* network.c: which network ranks use that reach each other over the network only (--net): the one that jobs on several
 * nodes of such machines use, unless the user names another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "boot/fabric.h"
#include "perf.h"

/* Without this, ranks that share memory meet in shared memory, even if they may transfer data only over the network:
 * let barriers and other collective calls use messages, as if each rank were on a node of its own. */
static void meet_over_net(void)
{
    const char *hooks = getenv("TERN_TEST");
    char        list[256];

    if (hooks != NULL && strstr(hooks, "apart=") != NULL)
        return;
    snprintf(list, sizeof(list), "%s%sapart=1", hooks != NULL ? hooks : "", hooks != NULL && *hooks != '\0' ? "," : "");
    setenv("TERN_TEST", list, 1);
}

bool perf_names_network(void)
{
    const char *links = getenv("TERN_LINKS");

    return links != NULL && (strcmp(links, "ofi") == 0 || strcmp(links, "tcp") == 0);
}

/* Return whether an environment variable has a value. */
static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0';
}

/* Return the link between nodes, as link ofi decides: libfabric if it has a network other than TCP, or is asked for. */
static const char *usual_link(void)
{
    struct tern_fabric fabric = { .sockets = false };

    if (is_set("TERN_OFI_PROVIDER") || is_set("TERN_OFI_DOMAIN"))
        return "ofi";
    if (tern_base_options_load(environ) < 0 || tern_boot_fabric_choose(true, &fabric) < 0)
        return "tcp";
    fabric.calls->freeinfo(fabric.info);
    return fabric.sockets ? "tcp" : "ofi";
}

void perf_use_net(const char *name)
{
    bool provider = name != NULL && strcmp(name, "ofi") != 0;

    if (name != NULL)
        setenv("TERN_LINKS", "ofi", 1);
    else if (!perf_names_network())
        setenv("TERN_LINKS", usual_link(), 1);
    if (provider)
        setenv("TERN_OFI_PROVIDER", name, 1);
    meet_over_net();
}

const char *perf_net_link(void)
{
    return perf_names_network() ? getenv("TERN_LINKS") : usual_link();
}

bool perf_network_name(char *text, size_t size)
{
    struct tern_fabric fabric = { .sockets = false };

    if (strcmp(perf_net_link(), "tcp") == 0) {
        snprintf(text, size, "TCP sockets");
        return true;
    }
    if (tern_base_options_load(environ) < 0 || tern_boot_fabric_choose(false, &fabric) < 0) {
        snprintf(text, size, "none: %s", tern_base_detail());
        return false;
    }
    snprintf(text, size, "libfabric provider %s", fabric.provider);
    fabric.calls->freeinfo(fabric.info);
    return true;
}
