/* decode.h: decoding and checking the bytes of a tagged message, before any other code acts on them. The result depends
 * on the bytes alone. */
#pragma once

#include <string.h>
#include <tern/tagged.h>

#include "base/read_once.h"
#include "op/match.h"
#include "op/wire.h"

/* A decoded message. All fields were copied before they were checked. The data of the message is not checked. */
struct tern_tagged_arrival {
    struct tern_match_name name;   /* the source is not filled in */
    uint64_t               len;    /* total length of the message */
    uint64_t               id;     /* 0: the sender does not wait for a FIN */
    struct tern_mem_handle handle; /* handle of an RTS; its pid must not be trusted. size 0: not an RTS */
    const unsigned char   *data;
    size_t                 bytes; /* number of bytes in data, which came with the message */
};

/* Decode an RTS: a memory handle that covers the whole message, followed by the first bytes of the message. Returns
 * false if it is malformed. */
static inline bool tern_op_tagged_decode_rts(const struct wire_tagged *head, const unsigned char *data, size_t len,
                                             struct tern_tagged_arrival *out)
{
    size_t before;

    if (!data || head->id == 0 || (before = tern_link_handle_read(&out->handle, data, len)) == 0)
        return false;
    out->data = data + before;
    out->bytes = len - before;
    out->len = head->len_all;
    return out->handle.size == out->len && out->bytes <= out->len &&
           (!(out->handle.region & WIRE_TAGGED_OWN) || out->handle.mem_kind == TERN_MEM_PRIVATE);
}

/* Decode a message with a head of TERN_LINK_HEAD bytes and len bytes of data. Returns false if the message is
 * malformed. */
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
