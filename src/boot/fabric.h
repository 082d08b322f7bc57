/* fabric.h: the choice of the network between ranks on different nodes.
 *
 * libfabric is loaded only when it is needed (fabric_load.h): loading takes a fifth of a second on machines that have
 * its drivers for old hardware, and a job on one node does not use it. A provider must have all capabilities that Tern
 * needs. Among such providers, a list of names ranks those that are known to be faster. The options TERN_OFI_PROVIDER
 * and TERN_OFI_DOMAIN override the list, but not the required capabilities.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct fi_info;
struct fi_fabric_attr;
struct fid_fabric;

/* The functions of libfabric that are not inline functions of its headers. */
struct tern_fabric_calls {
    int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
                   struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info); /* NULL: creates an empty one */
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    const char *(*strerror)(int error); /* a positive number */
};

/* If not NULL, called once after libfabric has been loaded, with the table of functions that all code uses. Tests use
 * this hook to simulate a provider with more requirements than those of this machine (test/support/fabric.h). */
extern void (*tern_boot_fabric_front)(struct tern_fabric_calls *calls);

/* The chosen provider. */
struct tern_fabric {
    const struct tern_fabric_calls *calls;
    struct fi_info                 *info;     /* the caller releases it with calls->freeinfo */
    bool                            delivers; /* a write can complete on delivery */
    bool                            atomics;
    char                            provider[48];
    bool                            sockets; /* the provider works over the system's sockets, without other hardware */
};

/* One provider, domain and address that this machine offers. */
struct tern_fabric_row {
    char provider[48], domain[48], address[64];
    bool chosen;
    bool sockets;  /* works over the system's sockets */
    bool usable;   /* has all that Tern needs; chosen or not */
    char why[360]; /* if chosen: its capabilities; otherwise the reason why not */
};

/* Choose a provider. If between_nodes is true, the provider must reach other machines.
 * Returns TERN_OK. TERN_ERR_LINK: no provider on this machine is suitable, or none that the options allow. */
tern_status tern_boot_fabric_choose(bool between_nodes, struct tern_fabric *out);

/* List the available providers and the one that would be chosen. *rows is an array of *count elements; the caller frees
 * it.
 * Returns TERN_OK. TERN_ERR_LINK: this build or this machine has no libfabric. TERN_ERR_NOMEM. */
tern_status tern_boot_fabric_list(bool between_nodes, struct tern_fabric_row **rows, size_t *count);

/* Write the names of the providers that libfabric has, separated by commas, whether or not they find a device.
 * Returns TERN_OK. TERN_ERR_LINK: this build or this machine has no libfabric; the text is then empty. */
tern_status tern_boot_fabric_providers(char *text, size_t size);
