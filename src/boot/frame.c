/* frame.c: encodes frames to bytes and decodes them, and computes their tags. */
#include "boot/frame.h"

#include <string.h>

#define MARK 0x314d4652u /* "RFM1" */

/* Return whether the body of a kind may be long. */
static bool is_long(uint32_t kind)
{
    return kind == TERN_FRAME_START || kind == TERN_FRAME_BRANCH;
}

uint32_t tern_boot_frame_longest(uint32_t kind)
{
    if (is_long(kind))
        return TERN_FRAME_BODY_START;
    return kind > TERN_FRAME_NONE && kind < TERN_FRAME_KIND_COUNT ? TERN_FRAME_BODY : 0;
}

void tern_boot_frame_encode(const struct tern_frame *frame, unsigned char head[TERN_FRAME_HEAD])
{
    tern_base_put_le(head, MARK, 4);
    tern_base_put_le(head + 4, frame->kind, 4);
    tern_base_put_le(head + 8, frame->rank, 4);
    tern_base_put_le(head + 12, frame->value, 4);
    tern_base_put_le(head + 16, frame->len, 4);
}

/* Return whether the bytes can be the beginning of a frame head. Checking an incomplete head detects a foreign protocol
 * by its first byte. */
static bool begins_well(const unsigned char *bytes, size_t len)
{
    unsigned char mark[4];

    tern_base_put_le(mark, MARK, 4);
    return memcmp(bytes, mark, len < 4 ? len : 4) == 0;
}

size_t tern_boot_frame_decode(const unsigned char *bytes, size_t len, bool takes_start, struct tern_frame *out)
{
    struct tern_frame got;

    if (len == 0)
        return TERN_FRAME_SHORT;
    if (!begins_well(bytes, len))
        return TERN_FRAME_BAD;
    if (len < TERN_FRAME_HEAD)
        return TERN_FRAME_SHORT;
    got.kind = (uint32_t)tern_base_get_le(bytes + 4, 4);
    got.rank = (uint32_t)tern_base_get_le(bytes + 8, 4);
    got.value = (uint32_t)tern_base_get_le(bytes + 12, 4);
    got.len = (uint32_t)tern_base_get_le(bytes + 16, 4);
    got.body = bytes + TERN_FRAME_HEAD;
    if (tern_boot_frame_longest(got.kind) == 0 || got.len > tern_boot_frame_longest(got.kind) ||
        (is_long(got.kind) && !takes_start))
        return TERN_FRAME_BAD;
    if (len - TERN_FRAME_HEAD < got.len)
        return TERN_FRAME_SHORT;
    *out = got;
    return TERN_FRAME_HEAD + got.len;
}

/* Return the tag of the next frame. The sequence number of the frame takes the place of the tag while the hash is
 * computed, so the tag covers frame and number. */
static uint64_t next_tag(struct tern_frame_mac *mac, unsigned char *frame, size_t len)
{
    tern_base_put_le(frame + len, mac->number++, TERN_FRAME_MAC_BYTES);
    return tern_base_siphash(mac->key, frame, len + TERN_FRAME_MAC_BYTES);
}

void tern_boot_frame_mac_write(struct tern_frame_mac *mac, unsigned char *frame, size_t len)
{
    tern_base_put_le(frame + len, next_tag(mac, frame, len), TERN_FRAME_MAC_BYTES);
}

bool tern_boot_frame_mac_check(struct tern_frame_mac *mac, unsigned char *frame, size_t len)
{
    uint64_t tag = tern_base_get_le(frame + len, TERN_FRAME_MAC_BYTES);

    return tag == next_tag(mac, frame, len);
}
