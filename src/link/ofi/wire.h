/* wire.h: every byte that the link ofi sends in messages, and reading it. What comes is hostile: it is checked here, by
 * a function of nothing but the bytes, and then against what is known of the sender in message.c. */
#ifndef TERN_LINK_OFI_WIRE_H
#define TERN_LINK_OFI_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/link.h"

#define OFI_WIRE_LAYOUT 6u /* changes with anything below */

/* A message on a channel, REQUEST, REPLY or TAGGED, has its data behind its head, or (FAR) says where the receiver
 * finds them; a NOTE has none. CREDIT tells how many messages of each channel, and notes that came with puts, have been
 * done with; WANT asks for that. An ERRAND has its request with it, or (FAR) leaves it in the sender's room; an ANSWER
 * has its bytes with it, or they were written into that room. */
enum ofi_kind {
    OFI_REQUEST,
    OFI_REPLY,
    OFI_FETCH_REQUEST,
    OFI_FETCH_REPLY,
    OFI_CREDIT,
    OFI_CREDIT_REQUEST,
    OFI_RPC,
    OFI_FETCH_RPC,
    OFI_RPC_RESPONSE,
    OFI_NOTIFY,
    OFI_TAGGED,
    OFI_FETCH_TAGGED,
    OFI_KINDS
};

/* Begins every message. Little-endian, as every machine that Tern runs on. */
struct ofi_header {
    uint64_t token;     /* shows that sender and receiver are of one job */
    uint32_t from_kind; /* rank in the job, shifted by 8; enum ofi_kind */
    uint16_t seq; /* on a channel: number of the message, modulo 2^16. WANT: the channel, or OFI_PUT_NOTIFY. Errands:
                         * the room */
    uint16_t ack; /* on a channel: messages of its partner that the sender has done with, modulo 2^16. Errands: how
                         * often the room was used, modulo 2^16 */
};
_Static_assert(sizeof(struct ofi_header) == 16, "the header has no padding");

/* On a channel: the head, then data to the end, or their place. */
#define OFI_WIRE_HEAD (sizeof(struct ofi_header) + TERN_LINK_HEAD)
_Static_assert(OFI_WIRE_HEAD == 64, "head and data keep their alignment");
#define OFI_WIRE_INLINE_MAX 8192u /* bytes of data that are sent with the message */

/* Where data are, in memory of the sender that is open to reading. */
struct ofi_remote_data {
    uint64_t key, addr;
    uint64_t len;
};

/* The channel whose messages go the other way when those of a channel do: replies follow requests, the others what is
 * like them. */
static inline unsigned tern_ofi_wire_partner(unsigned channel)
{
    return channel < TERN_CHANNELS_PAIR ? 1 - channel : channel;
}

/* Whether the header's 16 bits tell how many messages of a channel with so many cells were handled: a number that comes
 * late must not look like one that is ahead. Of longer queues only a CREDIT tells. */
static inline bool tern_ofi_wire_acks(uint32_t cells)
{
    return cells <= 1u << 14;
}

/* What is counted between two ranks: the messages of each channel, and notes that came with puts. */
#define OFI_PUT_NOTIFY TERN_CHANNELS
#define OFI_COUNTED (TERN_CHANNELS + 1)

/* Follows the header of a CREDIT. */
struct ofi_credit {
    uint32_t consumed[OFI_COUNTED]; /* modulo 2^32 */
};

/* A note that came with a put: the put's remote completion data, of 32 or 64 bits or what the provider has, hold all of
 * it or it is sent behind the put. From the lowest bit on: the source's rank, in as many bits as the job's ranks need;
 * the number of hexadecimal digits of tag (4 bits) and of bytes (3 bits); these digits; and the rest is the region. */
struct ofi_put_notify {
    uint32_t from, tag;
    uint64_t region, bytes; /* the region by its owner's number, never 0 */
};

/* Of a job of so many ranks, into so many bits; false: it does not fit. And back; false: it makes no sense. */
bool tern_ofi_wire_pack(uint32_t ranks, unsigned bits, const struct ofi_put_notify *written, uint64_t *data);
bool tern_ofi_wire_unpack(uint32_t ranks, uint64_t data, struct ofi_put_notify *out);

/* Follows the header of an ERRAND; then the request, if it came along. */
struct ofi_rpc_request {
    uint64_t region;    /* that the request is about, by its owner's name */
    uint64_t key, addr; /* of the sender's room: of the request, and behind it (tern_link_response_at) of the answer */
    uint32_t len;       /* bytes of the request */
    uint32_t expect;    /* the most that the answer may have */
};
_Static_assert(sizeof(struct ofi_rpc_request) == 32, "an errand has no padding");

/* Follows the header of an ANSWER; then its bytes, if they came along. */
struct ofi_rpc_response {
    int32_t  status; /* tern_status */
    uint32_t len;    /* bytes */
};
_Static_assert(sizeof(struct ofi_rpc_response) == 8, "an answer has no padding");

#define OFI_WIRE_RPC (sizeof(struct ofi_header) + sizeof(struct ofi_rpc_request))
#define OFI_WIRE_RPC_RESPONSE (sizeof(struct ofi_header) + sizeof(struct ofi_rpc_response))

/* What a message says. */
struct ofi_decoded {
    struct ofi_header       header;
    uint32_t                from;
    enum ofi_kind           kind;
    struct ofi_credit       credit;
    struct ofi_remote_data  remote; /* len 0: the data came along */
    struct ofi_rpc_request  rpc_request;
    struct ofi_rpc_response rpc_response;
    unsigned                channel;
    size_t len; /* bytes of data, of a request or of an answer that came along, or on a channel are far */
};

/* Read len bytes; false: they make no sense. */
bool tern_ofi_wire_decode(const void *bytes, size_t len, struct ofi_decoded *out);

/* The token of messages from one rank to another. Whoever sees one learns nothing of the job's number, and can make
 * none for other ranks. */
uint64_t tern_ofi_wire_token(uint64_t job, uint32_t from, uint32_t to);

#endif
