/* links.c: the available links, what each link does on this machine, and which operations progress without the
 * target. */
#include <stdio.h>

#include "base/options.h"
#include "info.h"

struct link_row {
    const char *name, *reaches, *allocated, *registered;
};

void info_links(const struct info_cma *cma)
{
    const struct link_row rows[] = {
        { "self", "the rank itself", "loads and stores, inlined from the header", "loads and stores" },
        { "shm", "ranks on this machine", "loads and stores, inlined from the header",
          cma->used ? "cross-memory attach: one copy by the kernel" : "bounce buffer: two copies that overlap" },
        { "ofi", "ranks on other machines, if libfabric has a network other than TCP, or if TERN_LINKS names the link",
          "writes and reads of the network: see networks", "writes and reads of the network: see networks" },
        { "tcp", "ranks on other machines, unless libfabric has a network other than TCP",
          "frames over TCP sockets, which the target's progress thread executes",
          "frames over TCP sockets, which the target's progress thread executes" },
    };

    info_list("links", "Links");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct info_field fields[] = { { "name", rows[i].name },
                                             { "reaches", rows[i].reaches },
                                             { "allocated_regions", rows[i].allocated },
                                             { "registered_regions", rows[i].registered } };
        char                    text[512];

        snprintf(text, sizeof(text), "%-6s %s\n         allocated regions: %s\n         registered memory: %s",
                 rows[i].name, rows[i].reaches, rows[i].allocated, rows[i].registered);
        info_item(text, fields, 4);
    }
    info_list_end();
}

/* Print which part of Tern moves the data of each operation on this machine, and what the target must do for the
 * operation. */
void info_progress(const struct info_cma *cma)
{
    const struct {
        const char *what, *who, *target;
    } rows[] = {
        { "put and get, allocated regions", "the caller's own loads and stores", "nothing" },
        { "put and get, registered memory",
          cma->used ? "the kernel, inside the caller's call" : "the target's helper thread, which sleeps when idle",
          cma->used ? "nothing" : "nothing: it need not call Tern" },
        { "put and get, other machines", "the network, and the target's progress thread, which sleeps when idle",
          "nothing: it need not call Tern" },
        { "events, fence, quiet", "the caller, in test, wait, progress, fence and quiet", "nothing" },
        { "active messages: delivery", "the sender's stores into the target's queue",
          "nothing while the queue has room" },
        { "active messages: handlers", "the target, in calls that wait or make progress", "it must make such calls" },
        { "barrier, all-gather, making and freeing regions", "the ranks that call it", "it must call it, too" },
        { "notice of a rank's death", "ternrun, within a second", "nothing" },
    };

    info_list("progress", "Progress: what moves on without the target's help on this machine");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct info_field fields[] = { { "operation", rows[i].what },
                                             { "moved_by", rows[i].who },
                                             { "target_has_to_do", rows[i].target } };
        char                    text[512];

        snprintf(text, sizeof(text), "%s\n         moved by: %s\n         needed of the target: %s", rows[i].what,
                 rows[i].who, rows[i].target);
        info_item(text, fields, 3);
    }
    info_list_end();
}
