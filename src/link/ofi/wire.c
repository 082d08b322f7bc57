/* wire.c: reading messages, and tokens. See wire.h. */
#include "link/ofi/wire.h"

#include <string.h>

/* A body of a fixed size. */
static bool read_body(const unsigned char *body, size_t rest, void *out, size_t size)
{
    if (rest != size)
        return false;
    memcpy(out, body, size);
    return true;
}

/* A message on a channel: its head, then data or their place. */
static bool read_message(const unsigned char *body, size_t rest, struct ofi_mail *out)
{
    out->channel = out->kind == OFI_REPLY || out->kind == OFI_FAR_REPLY ? TERN_CHANNEL_REPLY : TERN_CHANNEL_REQUEST;
    if (rest < TERN_LINK_HEAD)
        return false;
    rest -= TERN_LINK_HEAD;
    if (out->kind == OFI_REQUEST || out->kind == OFI_REPLY) {
        out->len = rest;
        return rest <= OFI_WIRE_NEAR;
    }
    if (!read_body(body + TERN_LINK_HEAD, rest, &out->far, sizeof(out->far)) || out->far.len == 0)
        return false;
    out->len = out->far.len;
    return true;
}

bool tern_ofi_wire_read(const void *bytes, size_t len, struct ofi_mail *out)
{
    const unsigned char *body = (const unsigned char *)bytes + sizeof(out->header);
    size_t               rest;

    if (len < sizeof(out->header))
        return false;
    memcpy(&out->header, bytes, sizeof(out->header));
    rest = len - sizeof(out->header);
    out->from = out->header.from_kind >> 8;
    out->kind = (enum ofi_kind)(out->header.from_kind & 0xff);
    out->far.len = out->len = 0;
    switch (out->kind) {
    case OFI_REQUEST:
    case OFI_REPLY:
    case OFI_FAR_REQUEST:
    case OFI_FAR_REPLY: return read_message(body, rest, out);
    case OFI_CREDIT: return read_body(body, rest, &out->credit, sizeof(out->credit));
    case OFI_WANT: return rest == 0 && out->header.seq < TERN_CHANNELS;
    default: return false;
    }
}

/* ---- SipHash-2-4 of the two ranks, with the job's number as the key ---- */

static uint64_t turn(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static void rounds(uint64_t v[4], int count)
{
    while (count-- > 0) {
        v[0] += v[1], v[2] += v[3];
        v[1] = turn(v[1], 13) ^ v[0], v[3] = turn(v[3], 16) ^ v[2];
        v[0] = turn(v[0], 32);
        v[2] += v[1], v[0] += v[3];
        v[1] = turn(v[1], 17) ^ v[2], v[3] = turn(v[3], 21) ^ v[0];
        v[2] = turn(v[2], 32);
    }
}

static void absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    rounds(v, 2);
    v[0] ^= word;
}

uint64_t tern_ofi_wire_token(uint64_t job, uint32_t from, uint32_t to)
{
    uint64_t v[4] = { job ^ 0x736f6d6570736575ull, job ^ 0x646f72616e646f6dull, job ^ 0x6c7967656e657261ull,
                      job ^ 0x7465646279746573ull };

    absorb(v, (uint64_t)from << 32 | to);
    absorb(v, 8ull << 56); /* the length, as SipHash ends */
    v[2] ^= 0xff;
    rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
