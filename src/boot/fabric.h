/* fabric.h: which network serves ranks on different nodes.
 *
 * libfabric is loaded when it is asked for and not before: loading it costs a fifth of a second on machines that have
 * its drivers for old hardware, and a job on one node has no use for it. A provider is taken for what it can do; among
 * those that can do all that Tern needs, a list of names says which is known to be faster. The options
 * TERN_OFI_PROVIDER and TERN_OFI_DOMAIN override that list, never the needs.
 */
#ifndef TERN_BOOT_FABRIC_H
#define TERN_BOOT_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct fi_info;
struct fi_fabric_attr;
struct fid_fabric;

/* The functions of libfabric that are no inlines of its headers. */
struct tern_fabric_calls {
    int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
                   struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info); /* NULL: makes an empty one */
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    const char *(*strerror)(int error); /* a positive number */
};

/* Called once, when libfabric has been loaded, with the functions that everything goes through. Tests stand in front of
 * them with a provider that asks more than those of this machine (test/support/fabric.h). NULL: nobody does. */
extern void (*tern_boot_fabric_front)(struct tern_fabric_calls *calls);

/* What was chosen. */
struct tern_fabric {
    const struct tern_fabric_calls *calls;
    struct fi_info                 *info;     /* to be released by calls->freeinfo */
    bool                            delivers; /* a write can be completed by its delivery */
    bool                            atomics;
};

/* One provider, domain and address that this machine offers. */
struct tern_fabric_row {
    char provider[48], domain[48], address[64];
    bool chosen;
    char why[200]; /* chosen: what it does; otherwise why not */
};

/* Choose. between_nodes: it must lead to other machines.
 * Returns TERN_OK. TERN_ERR_LINK: nothing on this machine will do, or nothing that the options allow. */
tern_status tern_boot_fabric_choose(bool between_nodes, struct tern_fabric *out);

/* Tell what there is and what would be chosen: *rows is an array of *count, to be freed.
 * Returns TERN_OK. TERN_ERR_LINK: this build or this machine has no libfabric. TERN_ERR_NOMEM. */
tern_status tern_boot_fabric_list(bool between_nodes, struct tern_fabric_row **rows, size_t *count);

#endif
