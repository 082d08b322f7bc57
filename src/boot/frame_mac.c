/* frame_mac.c: the tag of a frame. The number of the frame takes the place of the tag while the hash is computed, so
 * that frame and number are one piece. */
#include "boot/frame_mac.h"

#include "boot/frame.h"

static uint64_t next_tag(struct tern_frame_mac *seal, unsigned char *frame, size_t len)
{
    tern_boot_frame_put(frame + len, seal->number++, TERN_FRAME_MAC_BYTES);
    return tern_base_siphash(seal->key, frame, len + TERN_FRAME_MAC_BYTES);
}

void tern_boot_frame_mac_write(struct tern_frame_mac *seal, unsigned char *frame, size_t len)
{
    tern_boot_frame_put(frame + len, next_tag(seal, frame, len), TERN_FRAME_MAC_BYTES);
}

bool tern_boot_frame_mac_check(struct tern_frame_mac *seal, unsigned char *frame, size_t len)
{
    uint64_t tag = tern_boot_frame_get(frame + len, TERN_FRAME_MAC_BYTES);

    return tag == next_tag(seal, frame, len);
}
