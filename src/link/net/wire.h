/* wire.h: the format of all messages that a link over a network sends, and its decoder. Received bytes are untrusted:
 * tern_net_wire_decode() checks them without any other state, and msg_recv.c then checks them against what is known
 * of the sender. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/link.h"

#define NET_WIRE_LAYOUT 7u /* must change with every change below */

/* Kinds of messages.
 *
 * REQUEST, REPLY, TAGGED, HELPER_REQUEST, HELPER_REPLY: a message on a channel, with its data behind the head. The
 * FETCH variants say where the receiver reads the data instead. NOTIFY: a notification, without data.
 *
 * CREDIT: how many messages of each channel, and how many notifications of puts, the sender has consumed.
 * CREDIT_REQUEST asks for a CREDIT.
 *
 * RPC: an RPC with its request. FETCH_RPC leaves the request in the initiator's RPC buffer. RPC_RESPONSE carries the
 * response, unless the target has written the response into that buffer.
 */
enum net_kind {
    NET_REQUEST,
    NET_REPLY,
    NET_FETCH_REQUEST,
    NET_FETCH_REPLY,
    NET_CREDIT,
    NET_CREDIT_REQUEST,
    NET_RPC,
    NET_FETCH_RPC,
    NET_RPC_RESPONSE,
    NET_NOTIFY,
    NET_TAGGED,
    NET_FETCH_TAGGED,
    NET_HELPER_REQUEST,
    NET_HELPER_REPLY,
    NET_FETCH_HELPER_REQUEST,
    NET_FETCH_HELPER_REPLY,
    NET_KINDS
};

/* The start of every message. Little-endian, like every machine that Tern supports. */
struct net_header {
    uint64_t token;     /* proves that sender and receiver belong to the same job */
    uint32_t from_kind; /* rank in the job << 8 | enum net_kind */
    /* On a channel: sequence number, modulo 2^16. CREDIT_REQUEST: the channel, or NET_PUT_NOTIFY. RPC: number of the
     * RPC buffer. */
    uint16_t seq;
    /* On a channel: messages of the partner channel that the sender has consumed, modulo 2^16. RPC: use count of the
     * RPC buffer, modulo 2^16. */
    uint16_t ack;
};
_Static_assert(sizeof(struct net_header) == 16, "the header has no padding");

/* A message on a channel: the header, the head, then the data up to the end or a struct net_remote. */
#define NET_WIRE_HEAD (sizeof(struct net_header) + TERN_LINK_HEAD)
_Static_assert(NET_WIRE_HEAD == 64, "head and data keep their alignment");
#define NET_WIRE_INLINE_MAX 8192u /* most bytes of data that are sent in the message */

/* The location of data in memory of the sender that is registered for remote reads. */
struct net_remote {
    uint64_t key, addr;
    uint64_t len;
};

/* Returns the channel whose messages acknowledge those of the given channel: requests and replies acknowledge each
 * other, and the other channels acknowledge themselves. */
static inline unsigned tern_net_wire_partner(unsigned channel)
{
    if (channel >= TERN_CHANNEL_HELPER_REQUEST && channel < TERN_CHANNELS)
        return TERN_CHANNEL_HELPER_REQUEST + TERN_CHANNEL_HELPER_REPLY - channel;
    return channel < TERN_CHANNELS_PAIR ? 1 - channel : channel;
}

/* Returns true if the 16-bit ack of the header suffices for a channel with so many cells: a late ack must not look
 * like one that is ahead. Longer queues are acknowledged by CREDIT messages only. */
static inline bool tern_net_wire_acks(uint32_t cells)
{
    return cells <= 1u << 14;
}

/* Items counted between two ranks: the messages of each channel, and the notifications that are sent with puts. */
#define NET_PUT_NOTIFY TERN_CHANNELS
#define NET_COUNTED (TERN_CHANNELS + 1)

/* Follows the header of a CREDIT message. */
struct net_credit {
    uint32_t consumed[NET_COUNTED]; /* modulo 2^32 */
};

/* A notification that is sent with a put, in the put's remote completion data. If the notification does not fit into
 * the bits that the provider offers, it is sent as a message after the put. Layout, from the lowest bit: the
 * source's rank, in as many bits as the ranks of the job need; the number of hexadecimal digits of tag (4 bits) and
 * of bytes (3 bits); the digits of tag and bytes; and the region in the remaining bits. */
struct net_put_notify {
    uint32_t from, tag;
    uint64_t region, bytes; /* region: the owner's number of the region, never 0 */
};

/* Convert between a notification and completion data of the given number of bits, in a job of the given number of
 * ranks. pack returns false if the notification does not fit. unpack returns false if the data are invalid. */
bool tern_net_wire_pack(uint32_t ranks, unsigned bits, const struct net_put_notify *written, uint64_t *data);
bool tern_net_wire_unpack(uint32_t ranks, uint64_t data, struct net_put_notify *out);

/* Follows the header of an RPC, and is followed by the request if the message carries it. */
struct net_rpc_request {
    uint64_t region;    /* target region of the request, by its owner's name */
    uint64_t key, addr; /* of the request in the initiator's RPC buffer; the response follows (tern_link_response_at) */
    uint32_t len;       /* length of the request */
    uint32_t expect;    /* maximum length of the response */
};
_Static_assert(sizeof(struct net_rpc_request) == 32, "an RPC request has no padding");

/* Follows the header of an RPC_RESPONSE, and is followed by the response if the message carries it. */
struct net_rpc_response {
    int32_t  status; /* tern_status */
    uint32_t len;    /* length of the response */
};
_Static_assert(sizeof(struct net_rpc_response) == 8, "an RPC response has no padding");

#define NET_WIRE_RPC (sizeof(struct net_header) + sizeof(struct net_rpc_request))
#define NET_WIRE_RPC_RESPONSE (sizeof(struct net_header) + sizeof(struct net_rpc_response))

/* A decoded message. */
struct net_decoded {
    struct net_header       header;
    uint32_t                from;
    enum net_kind           kind;
    struct net_credit       credit;
    struct net_remote       remote; /* len 0: the message carries the data */
    struct net_rpc_request  rpc_request;
    struct net_rpc_response rpc_response;
    unsigned                channel;
    size_t len; /* bytes of data, request or response that the message carries or, on a channel, that must be fetched */
};

/* Decode and check a message of len bytes. Returns false if the message is invalid. */
bool tern_net_wire_decode(const void *bytes, size_t len, struct net_decoded *out);

/* Returns the token of messages from one rank to another. The token does not reveal the job's number, and does not
 * allow an observer to make tokens for other pairs of ranks. */
uint64_t tern_net_wire_token(uint64_t job, uint32_t from, uint32_t to);
