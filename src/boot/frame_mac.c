/* frame_mac.c: the tag (MAC) of a frame. The sequence number of the frame takes the place of the tag while the hash is
 * computed, so the tag covers frame and number. */
#include "boot/frame_mac.h"

#include "base/bits.h"

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
