/* link.h: the contract between the core and a transport.
 *
 * Calls go down: the core opens the links of the registry in order until every peer is reached, and assigns each peer
 * to the first link that reaches it. Completions and messages come up only through the table tern_link_up. A link never
 * blocks: a call that cannot finish at once returns TERN_PENDING (the operation completes in progress) or TERN_AGAIN
 * (nothing was started).
 *
 * The objects, and the headers that describe them:
 *   link.h    link   one per transport and process
 *             lane   one per link and context: used by one thread at a time, so it needs no lock
 *   memory.h  handle what a rank tells the others about its part of a region
 *   rma.h     part   one rank's part of a region as this process sees it; filled once, when the region is created
 *             path   how puts and gets reach a part: a small const object that attach chooses
 *             op     one outstanding transfer; the core owns the memory
 *   rpc.h     rpc    a request that the target's process serves independently of its program, and its response
 *   msg.h     watch  a word in memory that changes when messages arrive
 *   group.h   group  one per team: its members synchronize and exchange contributions
 *
 * A link is a constant table with pointers to smaller tables: those of a capability that the link lacks are NULL. No
 * function pointer in a table is NULL: a function that has nothing to do is a stub of none.h. The transfers have no
 * table: each part has a path.
 *
 * Every implementation has the files link.c (the table) and region.c (attach); links with their own groups have
 * group.c; the larger links have additional files. Read self/ first. chaos/ wraps the other links in order to test a
 * program (TERN_CHAOS).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "boot/boot.h"
#include "link/group.h"
#include "link/memory.h"
#include "link/msg.h"
#include "link/rma.h"
#include "link/rpc.h"

/* Upcalls from a link to the core.
 *   done         an op is complete; only called from lane progress, on the thread that uses the lane
 *   message      a request or reply has arrived; only called from a watch's deliver, as are notify and tagged. head and
 *                data may be read until the call returns
 *   notify       a notification has arrived; copy: the core must copy the inline payload to its destination
 *   notify_head  write the head of a notification that arrived without one, with a put; any thread
 *   tagged       a tagged message has arrived. Returns false if the target cannot accept it now: the link keeps it, and
 *                everything behind it on the channel, for the next delivery
 *   helped       a request or reply has arrived on a channel whose messages the helper thread may take
 *   watch        add a watch; any thread
 *   serve        serve a peer's RPC, no byte of which has been validated; writes a response of at most max bytes, and
 *                its length; any thread, while the link is locked
 *   gone         the kernel reports that a rank's process is gone, possibly before the launcher does; any thread
 */
struct tern_link_up {
    void (*done)(struct tern_link_op *op, tern_status status); /* complete on both sides, or failed; exactly once */
    void (*message)(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len);
    enum tern_link_delivered (*notify)(int from, const unsigned char *head, bool copy);
    void (*notify_head)(unsigned char *head, uint64_t region, uint32_t tag, uint64_t bytes);
    enum tern_link_delivered (*tagged)(int from, const unsigned char *head, const unsigned char *data, size_t len);
    void (*helped)(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len);
    tern_status (*watch)(struct tern_link_watch *watch);
    tern_status (*serve)(const struct tern_target_mem *target, const unsigned char *request, size_t len,
                         unsigned char *response, size_t max, size_t *response_len);
    void (*gone)(int rank);
};

/* Pass a message of any channel to the core. Only notifications and tagged messages are ever refused. A notification
 * has no inline payload. */
static inline enum tern_link_delivered tern_link_deliver(const struct tern_link_up *up, int from, unsigned channel,
                                                         const unsigned char *head, const unsigned char *data,
                                                         size_t len)
{
    if (channel == TERN_CHANNEL_NOTIFY)
        return up->notify(from, head, false);
    if (channel == TERN_CHANNEL_TAGGED)
        return up->tagged(from, head, data, len);
    if (channel >= TERN_CHANNEL_HELPER_REQUEST)
        up->helped(from, channel, head, data, len);
    else
        up->message(from, channel, head, data, len);
    return TERN_LINK_TAKEN;
}

/* A transport. Threads: open, close, attach, detach are called by the thread that makes a collective call (attach and
 * expose by one thread at a time, the others by one thread at a time for each team); lane_*, progress and cancel by the
 * lane's thread; serve by the helper thread; reaches, invalidate and may_sleep by any thread. */
struct tern_link_ops {
    const char *name;
    bool        maps; /* memory that Tern allocates on the reached ranks is accessible by loads and stores */
    const struct tern_msg_ops    *msg;
    /* The following tables are NULL if the link lacks the capability. */
    const struct tern_rpc_ops    *rpc;    /* NULL: no path has rpc set */
    const struct tern_atomic_ops *atomic; /* NULL: the link is not a network with atomics */
    const struct tern_inject_ops *inject; /* NULL: no part has inline_notify */
    const struct tern_group_ops  *group;

    /* Open the link. TERN_AGAIN: a link behind this one in the registry serves the ranks better. */
    tern_status (*open)(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out);
    void (*close)(struct tern_link *link);
    bool (*reaches)(const struct tern_link *link, int peer);

    /* Fill part from its owner's memory handle; path_name is the file of a FILE part. detach undoes this. */
    tern_status (*attach)(struct tern_link *link, const struct tern_mem_handle *handle, const char *path_name,
                          struct tern_link_part *part);
    void (*detach)(struct tern_link *link, struct tern_link_part *part);
    /* The part has grown: read the key in the new handle. attach has mapped the memory up to the reserve. */
    tern_status (*grown)(struct tern_link *link, const struct tern_mem_handle *handle, struct tern_link_part *part);
    /* Expose this rank's own part to its peers, or revoke access. expose is called for every part, on every open link,
     * before the memory handle is sent to the peers, and fills in the fields that they need. It is called again, with
     * another size, when the part has grown, or returns to its former size because another rank's part could not grow.
     * unexpose of a part that is not exposed does nothing. */
    tern_status (*expose)(struct tern_link *link, struct tern_mem_handle *handle);
    void (*unexpose)(struct tern_link *link, uint64_t region);

    tern_status (*lane_open)(struct tern_link *link, struct tern_lane **out);
    void (*lane_close)(struct tern_lane *lane);
    void (*progress)(struct tern_lane *lane);
    /* The caller no longer waits for the operation: from now on the link must not access the operation's local memory,
     * as far as that can be avoided. The operation still ends by up->done. */
    void (*cancel)(struct tern_lane *lane, struct tern_link_op *op);
    /* Drop cached registrations of local memory that overlap these bytes. */
    void (*invalidate)(struct tern_link *link, const void *addr, size_t len);

    /* Serve the requests of peers that need this process. Returns whether there were any. */
    bool (*serve)(struct tern_link *link);
    /* Returns whether a peer may need this process's help; valid after a barrier that follows the peers' attach. */
    bool (*service_needed)(const struct tern_link *link);
    /* A thread that has announced itself is about to sleep on the rank's bell: the link must ring the bell when a
     * message or completion arrives, and if memory is true, also when a peer has written to this rank's memory. Returns
     * for how many nanoseconds the thread may sleep; INT64_MAX: until the bell rings. */
    int64_t (*may_sleep)(struct tern_link *link, bool memory);
};

/* The registry: every link of this build, best first. */
extern const struct tern_link_ops *const tern_links[];
extern const unsigned                    tern_links_count;
#define TERN_LINKS_MAX 4

/* The numbers of the links in the data that ranks exchange: net addresses (boot/boot.h) and memory handles
 * (link/memory.h). */
enum tern_link_number { TERN_LINK_SELF = 1, TERN_LINK_SHM, TERN_LINK_OFI, TERN_LINK_TCP };

/* Store in table[i] the table through which the job uses link i of the registry: the link's own table, or that of a
 * chaos link in front of it if the option TERN_CHAOS is set. Returns TERN_OK, or the error of parsing the option. */
tern_status tern_links_tables(const struct tern_boot *boot, const struct tern_link_ops *table[TERN_LINKS_MAX]);
