/* wire.c: encoding and decoding of the heads of frames. See wire.h. */
#include "link/tcp/wire.h"

#include <string.h>

static bool has_remote(uint32_t kind)
{
    return kind == TCP_WRITE || kind == TCP_WRITE_NOTIFY || kind == TCP_WRITE_RPC || kind == TCP_READ;
}

/* Return the number of bytes behind the remote address. */
static size_t size_of_rest(uint32_t kind)
{
    return kind == TCP_WRITE_NOTIFY ? sizeof(struct tcp_notify) : kind == TCP_WRITE_RPC ? sizeof(struct tcp_rpc) : 0;
}

static size_t size_of(uint32_t kind)
{
    return sizeof(struct tcp_head) + (has_remote(kind) ? sizeof(struct tcp_remote) : 0) + size_of_rest(kind);
}

/* Return whether the length and the number in a head are possible for its kind. */
static bool is_sound(const struct tcp_head *head)
{
    switch (head->kind) {
    case TCP_MESSAGE:
        return head->len >= sizeof(struct net_header) && head->len <= TCP_WIRE_MESSAGE && head->number == 0;
    case TCP_WRITE:
    case TCP_WRITE_NOTIFY:
    case TCP_WRITE_RPC:
        return head->len > 0 && head->len <= TCP_WIRE_DATA && (head->number & ~TCP_WIRE_CONTINUES) < TCP_WIRE_PUTS;
    case TCP_READ:
    case TCP_DATA: return head->len > 0 && head->len <= TCP_WIRE_DATA && head->number == 0;
    case TCP_REFUSED_READ: return head->len == 0 && head->number == 0;
    case TCP_ACK:
    case TCP_REFUSED_WRITE: return head->len == 0;
    default: return false;
    }
}

/* Read what follows the remote address. Returns false if it is invalid. */
static bool read_rest(const unsigned char *at, struct tcp_decoded *out)
{
    if (out->head.kind == TCP_WRITE_NOTIFY) {
        memcpy(&out->notify, at, sizeof(out->notify));
        return out->notify.zero == 0 && out->notify.region != 0 && out->notify.bytes >= out->head.len;
    }
    if (out->head.kind == TCP_WRITE_RPC) {
        memcpy(&out->rpc, at, sizeof(out->rpc));
        return out->rpc.zero == 0 && out->rpc.len > 0 && out->rpc.len <= TERN_LINK_PUT_RPC_MAX;
    }
    return true;
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
    if (has_remote(out->head.kind))
        memcpy(&out->remote, at + sizeof(out->head), sizeof(out->remote));
    return read_rest(at + sizeof(out->head) + sizeof(out->remote), out) ? TCP_DECODED : TCP_INVALID;
}

size_t tern_tcp_wire_encode(unsigned char *bytes, const struct tcp_head *head, const struct tcp_remote *remote,
                            const void *notify_or_rpc)
{
    memcpy(bytes, head, sizeof(*head));
    if (has_remote(head->kind))
        memcpy(bytes + sizeof(*head), remote, sizeof(*remote));
    if (size_of_rest(head->kind) > 0)
        memcpy(bytes + sizeof(*head) + sizeof(*remote), notify_or_rpc, size_of_rest(head->kind));
    return size_of(head->kind);
}
