/* seal.c: the tag of a frame. The number of the frame takes the place of the tag while the hash is computed, so that
 * frame and number are one piece. */
#include "boot/seal.h"

#include "boot/frame.h"

static uint64_t next_tag(struct tern_seal *seal, unsigned char *frame, size_t len)
{
    tern_boot_frame_put(frame + len, seal->number++, TERN_SEAL_TAG);
    return tern_base_siphash(seal->key, frame, len + TERN_SEAL_TAG);
}

void tern_boot_seal_write(struct tern_seal *seal, unsigned char *frame, size_t len)
{
    tern_boot_frame_put(frame + len, next_tag(seal, frame, len), TERN_SEAL_TAG);
}

bool tern_boot_seal_check(struct tern_seal *seal, unsigned char *frame, size_t len)
{
    uint64_t tag = tern_boot_frame_get(frame + len, TERN_SEAL_TAG);

    return tag == next_tag(seal, frame, len);
}
