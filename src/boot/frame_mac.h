/* frame_mac.h: tags that make the frames of a connection count only in the order in which their sender made them.
 *
 * Each direction of a connection has a key of its own, which both sides derive when they meet (handshake.h). The tag
 * of a frame is SipHash-2-4 of the frame and its number, 64 bits. The number is not sent: both sides count. So a
 * frame that was changed, made up, repeated, moved or left out between the two sides has a wrong tag, but for one in
 * 2^64; and the receiver closes the connection at the first wrong tag, so nobody gets a second guess. Tags do not
 * hide what frames say.
 * */
#ifndef TERN_BOOT_FRAME_MAC_H
#define TERN_BOOT_FRAME_MAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/siphash.h"

#define TERN_FRAME_MAC_BYTES 8

/* One direction of a connection, as one of its sides sees it. */
struct tern_frame_mac {
    uint8_t  key[TERN_SIPHASH_KEY];
    uint64_t number; /* of the next frame; the first has 0 */
};

/* Write the tag of the next frame, len bytes, into the TERN_FRAME_MAC_BYTES bytes behind it. */
void tern_boot_frame_mac_write(struct tern_frame_mac *seal, unsigned char *frame, size_t len);

/* Whether the next frame, len bytes, has its tag behind it. The tag is overwritten, whatever it is. */
bool tern_boot_frame_mac_check(struct tern_frame_mac *seal, unsigned char *frame, size_t len);

#endif
