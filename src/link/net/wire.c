/* wire.c: decoding of messages, and tokens. See wire.h. */
#include "link/net/wire.h"

#include <string.h>

#include "base/bits.h"
#include "base/siphash.h"

/* Copy a body of a fixed size. Returns false if the size differs. */
static bool read_body(const unsigned char *body, size_t rest, void *out, size_t size)
{
    if (rest != size)
        return false;
    memcpy(out, body, size);
    return true;
}

/* Decode a message on a channel: its head, then the data or their location. */
static bool read_message(const unsigned char *body, size_t rest, unsigned channel, struct net_decoded *out)
{
    bool remote = out->kind == NET_FETCH_REQUEST || out->kind == NET_FETCH_REPLY || out->kind == NET_FETCH_TAGGED ||
                  out->kind == NET_FETCH_HELPER_REQUEST || out->kind == NET_FETCH_HELPER_REPLY;

    out->channel = channel;
    if (rest < TERN_LINK_HEAD)
        return false;
    rest -= TERN_LINK_HEAD;
    if (!remote) {
        out->len = rest;
        return rest <= NET_WIRE_INLINE_MAX;
    }
    if (!read_body(body + TERN_LINK_HEAD, rest, &out->remote, sizeof(out->remote)) || out->remote.len == 0)
        return false;
    out->len = out->remote.len;
    return true;
}

/* Decode an RPC, whose request is in the message or in the initiator's RPC buffer. */
static bool read_rpc(const unsigned char *body, size_t rest, struct net_decoded *out)
{
    if (rest < sizeof(out->rpc_request))
        return false;
    memcpy(&out->rpc_request, body, sizeof(out->rpc_request));
    out->len = rest - sizeof(out->rpc_request);
    if (out->kind == NET_RPC)
        return out->len == out->rpc_request.len && out->len <= NET_WIRE_INLINE_MAX;
    return out->len == 0 && out->rpc_request.len > 0;
}

static bool read_response(const unsigned char *body, size_t rest, struct net_decoded *out)
{
    if (rest < sizeof(out->rpc_response))
        return false;
    memcpy(&out->rpc_response, body, sizeof(out->rpc_response));
    out->len = rest - sizeof(out->rpc_response);
    return out->len == 0 || (out->len == out->rpc_response.len && out->len <= NET_WIRE_INLINE_MAX);
}

bool tern_net_wire_decode(const void *bytes, size_t len, struct net_decoded *out)
{
    const unsigned char *body = (const unsigned char *)bytes + sizeof(out->header);
    size_t               rest;

    if (len < sizeof(out->header))
        return false;
    memcpy(&out->header, bytes, sizeof(out->header));
    rest = len - sizeof(out->header);
    out->from = out->header.from_kind >> 8;
    out->kind = (enum net_kind)(out->header.from_kind & 0xff);
    out->remote.len = out->len = 0;
    switch (out->kind) {
    case NET_REQUEST:
    case NET_FETCH_REQUEST: return read_message(body, rest, TERN_CHANNEL_REQUEST, out);
    case NET_REPLY:
    case NET_FETCH_REPLY: return read_message(body, rest, TERN_CHANNEL_REPLY, out);
    case NET_TAGGED:
    case NET_FETCH_TAGGED: return read_message(body, rest, TERN_CHANNEL_TAGGED, out);
    case NET_HELPER_REQUEST:
    case NET_FETCH_HELPER_REQUEST: return read_message(body, rest, TERN_CHANNEL_HELPER_REQUEST, out);
    case NET_HELPER_REPLY:
    case NET_FETCH_HELPER_REPLY: return read_message(body, rest, TERN_CHANNEL_HELPER_REPLY, out);
    case NET_NOTIFY: return rest == TERN_LINK_HEAD && read_message(body, rest, TERN_CHANNEL_NOTIFY, out);
    case NET_CREDIT: return read_body(body, rest, &out->credit, sizeof(out->credit));
    case NET_CREDIT_REQUEST: return rest == 0 && out->header.seq < NET_COUNTED;
    case NET_RPC:
    case NET_FETCH_RPC: return read_rpc(body, rest, out);
    case NET_RPC_RESPONSE: return read_response(body, rest, out);
    default: return false;
    }
}

uint64_t tern_net_wire_token(uint64_t job, uint32_t from, uint32_t to)
{
    uint32_t pair[] = { from, to };
    uint8_t  key[TERN_SIPHASH_KEY];

    memcpy(key, &job, sizeof(job));
    memcpy(key + sizeof(job), "tern ofi", TERN_SIPHASH_KEY - sizeof(job));
    return tern_base_siphash(key, pair, sizeof(pair));
}

/* ---- notifications that are sent with puts ---- */

#define DIGIT 4
#define TAG_DIGITS 8
#define BYTES_DIGITS 7

static unsigned digits_of(uint64_t value)
{
    return value == 0 ? 0 : 1 + (63u - (unsigned)__builtin_clzll(value)) / DIGIT;
}

/* A word that is filled, or emptied, from the lowest bit. */
struct word {
    uint64_t value;
    unsigned at;
};

static bool append(struct word *word, unsigned limit, uint64_t value, unsigned bits)
{
    if (bits > limit - word->at || (bits < 64 && value >> bits != 0))
        return false;
    if (bits > 0)
        word->value |= value << word->at;
    word->at += bits;
    return true;
}

static uint64_t take_bits(struct word *word, unsigned bits)
{
    uint64_t value = word->value & ((1ull << bits) - 1);

    word->value >>= bits;
    return value;
}

bool tern_net_wire_pack(uint32_t ranks, unsigned bits, const struct net_put_notify *written, uint64_t *data)
{
    struct word word = { 0 };
    unsigned    tag = digits_of(written->tag), bytes = digits_of(written->bytes);

    if (bytes > BYTES_DIGITS || written->region == 0 || !append(&word, bits, written->from, tern_base_log2_up(ranks)) ||
        !append(&word, bits, tag, 4) || !append(&word, bits, bytes, 3) ||
        !append(&word, bits, written->tag, tag * DIGIT) || !append(&word, bits, written->bytes, bytes * DIGIT) ||
        !append(&word, bits, written->region, bits - word.at))
        return false;
    *data = word.value;
    return true;
}

bool tern_net_wire_unpack(uint32_t ranks, uint64_t data, struct net_put_notify *out)
{
    struct word word = { .value = data };
    unsigned    tag, bytes;

    out->from = (uint32_t)take_bits(&word, tern_base_log2_up(ranks));
    tag = (unsigned)take_bits(&word, 4);
    bytes = (unsigned)take_bits(&word, 3);
    if (tag > TAG_DIGITS)
        return false;
    out->tag = (uint32_t)take_bits(&word, tag * DIGIT);
    out->bytes = take_bits(&word, bytes * DIGIT);
    out->region = word.value;
    return out->from < ranks && out->region != 0;
}
