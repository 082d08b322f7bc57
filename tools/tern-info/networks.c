/* networks.c: the providers that libfabric offers here, those that a job on several nodes would use, and why it
 * would not use the others. */
#include <stdio.h>
#include <stdlib.h>

#include "boot/fabric.h"
#include "info.h"

static void tell(const struct tern_fabric_row *row)
{
    const struct info_field fields[] = { { "provider", row->provider },
                                         { "domain", row->domain },
                                         { "address", row->address },
                                         { "chosen", row->chosen ? "yes" : "no" },
                                         { "why", row->why } };
    char                    text[512];

    snprintf(text, sizeof(text), "%s %-14s %-8s %s\n         %s", row->chosen ? "*" : " ", row->provider, row->domain,
             row->address, row->why);
    info_item(text, fields, 5);
}

void info_networks(void)
{
    struct tern_fabric_row *rows = NULL;
    size_t                  count = 0;
    tern_status             st = tern_boot_fabric_list(true, &rows, &count);

    info_list("networks", "Networks of libfabric, for jobs on several nodes; * is the one that they would use");
    for (size_t i = 0; st == TERN_OK && i < count; i++)
        tell(&rows[i]);
    if (st < 0 || count == 0) {
        const char             *why = st < 0 ? tern_base_detail() : "libfabric finds none";
        const struct info_field none[] = { { "none", why } };
        info_item(why, none, 1);
    }
    info_list_end();
    free(rows);
}
