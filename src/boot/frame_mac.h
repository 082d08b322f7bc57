/* frame_mac.h: message authentication codes (tags) that protect the frames of a connection and their order.
 *
 * Each direction of a connection has its own key, which both sides derive during the handshake (handshake.h). The tag
 * of a frame is the 64-bit SipHash-2-4 of the frame and its sequence number. The number is not sent: both sides count.
 * A frame that was modified, forged, replayed, reordered or dropped in transit thus causes a wrong tag, except
 * with probability 2^-64. The receiver closes the connection at the first wrong tag, so an attacker has only one
 * attempt. Tags do not encrypt the frames.
 * */
#ifndef TERN_BOOT_FRAME_MAC_H
#define TERN_BOOT_FRAME_MAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/siphash.h"

#define TERN_FRAME_MAC_BYTES 8

/* The state of one direction of a connection on one of its sides. */
struct tern_frame_mac {
    uint8_t  key[TERN_SIPHASH_KEY];
    uint64_t number; /* sequence number of the next frame; the first frame has 0 */
};

/* Write the tag of the next frame, which has len bytes, into the TERN_FRAME_MAC_BYTES bytes behind it. */
void tern_boot_frame_mac_write(struct tern_frame_mac *mac, unsigned char *frame, size_t len);

/* Return whether the next frame, which has len bytes, is followed by its tag. The tag is overwritten in any case. */
bool tern_boot_frame_mac_check(struct tern_frame_mac *mac, unsigned char *frame, size_t len);

#endif
