/* wire.c: sending the messages of the core. */
#include "core/wire.h"

#include <string.h>

#include "base/log.h"
#include "core/job.h"
#include "core/links.h"

tern_status tern_core_wire_send(int peer, const void *wire, size_t bytes)
{
    uint32_t    words[TERN_LINK_HEAD / sizeof(uint32_t)];
    uint64_t    first;
    tern_status st;

    memcpy(words, wire, bytes);
    memcpy(&first, words, sizeof(first));
    st = tern_core_ops_to(peer)->msg->send_short(tern_core_link_to(peer), peer, TERN_CHANNEL_REPLY, first, words + 2,
                                                 (unsigned)(bytes / sizeof(uint32_t)) - 2);
    if (st < 0 && st != TERN_ERR_PEER)
        tern_base_log(TERN_LOG_ERROR, "cannot send what a collective call needs to rank %d: %s", peer,
                      tern_base_detail());
    return st;
}
