/* decode.h: what a tagged message says, checked before anyone acts on it: a function of the bytes and nothing
 * else. */
#ifndef TERN_OP_TAGGED_DECODE_H
#define TERN_OP_TAGGED_DECODE_H

#include <string.h>
#include <tern/tagged.h>

#include "base/read_once.h"
#include "op/match.h"
#include "op/wire.h"

/* A message that has come. What was checked is a copy, but for the data, which may be anything. */
struct tern_tagged_arrival {
    struct tern_match_name name;   /* without its source */
    uint64_t               len;    /* of the message */
    uint64_t               id;     /* 0: its sender waits for no word */
    struct tern_mem_handle handle; /* of an offer, whose pid is not to be trusted; size 0: none */
    const unsigned char   *data;
    size_t                 bytes; /* of data, that came along */
};

/* An offer: its card, which speaks of all bytes, then the first of them. */
static inline bool tern_op_tagged_decode_rts(const struct wire_tagged *head, const unsigned char *data, size_t len,
                                             struct tern_tagged_arrival *out)
{
    if (!data || len < sizeof(out->handle) || head->id == 0)
        return false;
    tern_base_copy_once(&out->handle, data, sizeof(out->handle));
    out->data = data + sizeof(out->handle);
    out->bytes = len - sizeof(out->handle);
    out->len = head->len_all;
    return out->handle.size == out->len && out->bytes <= out->len &&
           (!(out->handle.region & WIRE_TAGGED_OWN) || out->handle.mem_kind == TERN_MEM_PRIVATE);
}

/* The head has TERN_LINK_HEAD bytes, data len. False: the message makes no sense. */
static inline bool tern_op_tagged_decode(const unsigned char *bytes, const unsigned char *data, size_t len,
                                         struct tern_tagged_arrival *out)
{
    struct wire_tagged head;
    bool               sync;

    tern_base_copy_once(&head, bytes, offsetof(struct wire_tagged, id));
    sync = head.sync != 0;
    if (sync)
        tern_base_copy_once(&head.id, bytes + offsetof(struct wire_tagged, id), 2 * sizeof(uint64_t));
    out->name.scope = head.scope;
    out->name.tag = head.tag;
    out->name.class = 0;
    out->handle.size = 0;
    out->id = sync ? head.id : 0;
    if (head.tag > (uint64_t)TERN_TAG_MAX || head.sync > 1)
        return false;
    switch (head.kind) {
    case WIRE_TAGGED_INLINE:
        out->data = bytes + wire_tagged_at(sync);
        out->len = out->bytes = head.len;
        return head.len <= wire_tagged_room(sync) && len == 0;
    case WIRE_TAGGED_EAGER:
        out->data = data;
        out->len = out->bytes = len;
        return true;
    case WIRE_TAGGED_RTS: return sync && tern_op_tagged_decode_rts(&head, data, len, out);
    default: return false;
    }
}

#endif
