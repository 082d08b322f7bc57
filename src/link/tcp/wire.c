/* wire.c: encoding and decoding of the heads of frames. See wire.h. */
#include "link/tcp/wire.h"

#include <string.h>

static bool has_place(uint32_t kind)
{
    return kind == TCP_WRITE || kind == TCP_WRITE_NOTIFY || kind == TCP_READ;
}

static size_t size_of(uint32_t kind)
{
    return sizeof(struct tcp_head) + (has_place(kind) ? sizeof(struct tcp_place) : 0) +
           (kind == TCP_WRITE_NOTIFY ? sizeof(struct tcp_notice) : 0);
}

/* Whether the length and the number in a head are possible for its kind. */
static bool is_sound(const struct tcp_head *head)
{
    switch (head->kind) {
    case TCP_MESSAGE:
        return head->len >= sizeof(struct net_header) && head->len <= TCP_WIRE_MESSAGE && head->number == 0;
    case TCP_WRITE:
    case TCP_WRITE_NOTIFY: return head->len > 0 && head->len <= TCP_WIRE_DATA;
    case TCP_READ:
    case TCP_DATA: return head->len > 0 && head->len <= TCP_WIRE_DATA && head->number == 0;
    case TCP_REFUSED_READ: return head->len == 0 && head->number == 0;
    case TCP_ACK:
    case TCP_REFUSED_WRITE: return head->len == 0;
    default: return false;
    }
}

enum tcp_decode_result tern_tcp_wire_decode(const void *bytes, size_t len, struct tcp_decoded *out)
{
    const unsigned char *at = bytes;

    if (len < sizeof(out->head))
        return TCP_INCOMPLETE;
    memcpy(&out->head, at, sizeof(out->head));
    if (!is_sound(&out->head))
        return TCP_INVALID;
    out->bytes = size_of(out->head.kind);
    out->data = out->head.kind == TCP_READ ? 0 : out->head.len;
    if (len < out->bytes)
        return TCP_INCOMPLETE;
    if (has_place(out->head.kind))
        memcpy(&out->place, at + sizeof(out->head), sizeof(out->place));
    if (out->head.kind != TCP_WRITE_NOTIFY)
        return TCP_DECODED;
    memcpy(&out->notice, at + sizeof(out->head) + sizeof(out->place), sizeof(out->notice));
    return out->notice.zero == 0 && out->notice.region != 0 && out->notice.bytes >= out->head.len ? TCP_DECODED
                                                                                                     : TCP_INVALID;
}

size_t tern_tcp_wire_encode(unsigned char *bytes, const struct tcp_head *head, const struct tcp_place *place,
                            const struct tcp_notice *notice)
{
    memcpy(bytes, head, sizeof(*head));
    if (has_place(head->kind))
        memcpy(bytes + sizeof(*head), place, sizeof(*place));
    if (head->kind == TCP_WRITE_NOTIFY)
        memcpy(bytes + sizeof(*head) + sizeof(*place), notice, sizeof(*notice));
    return size_of(head->kind);
}
