/* relay.h: one node's part in keeping the segments of a job consistent.
 *
 * The segment contains the control state that each rank publishes to all others: its life, its net address, its barrier
 * slot and its seats in teams. In a job on several nodes, each node has a spoke. The spoke scans its segment for
 * changes by its own ranks (scan) and sends them to the hub. The hub brings the changes of all nodes into one order and
 * forwards them. Each spoke writes the changes that it receives into its segment (apply) and wakes its ranks. Fates
 * also go to the hub first and come back from there, even to the node of the rank itself. So all nodes agree on which
 * ranks died, and on what each rank had published before it died.
 *
 * This module does not transport the frames. ternrun does so over the standard streams of an agent, or the first rank
 * of each node does so over a socket. The spoke runs in a process that maps the segment; one thread at a time may use
 * it.
 */
#pragma once

#include <stdbool.h>

#include "base/status.h"
#include "boot/frame.h"
#include "boot/segment.h"

struct tern_relay;

/* The last relayed state of a rank. */
struct tern_relay_state {
    uint32_t life, address_len; /* address_len: bytes of the list of net addresses */
    uint32_t arrived, departures;
};

/* Return whether the value of a frame EXIT is a possible word ending of a segment. */
static inline bool tern_boot_relay_ends(const struct tern_frame *frame)
{
    return frame->len == 0 && (frame->value & ~0xffu) == TERN_ENDING;
}

/* Check a frame (LIFE, ADDRESS, ARRIVED, DEPARTED or SEAT) against the last state of its rank: a life never goes
 * back, a list of addresses and the counters only grow. contributes tells whether the segment stores
 * contributions. Returns true and updates the state if the frame is a valid successor. The hub calls this before
 * it forwards a frame, so that an invalid frame is attributed to the node that sent it, and not to the hub. */
bool tern_boot_relay_follows(struct tern_relay_state *state, const struct tern_frame *frame, bool contributes);

/* Create, and destroy, the spoke of the node that the segment belongs to. */
tern_status tern_boot_relay_open(struct tern_segment *segment, struct tern_relay **out);
void        tern_boot_relay_close(struct tern_relay *relay);

/* Call emit with a frame for the hub for each change that a rank of this node has made since the last call. Call this
 * when a rank has woken the relay (tern_boot_tell), and after a rank has ended, before its fate is sent. An impossible
 * change, such as a life that goes back, means that the segment is damaged; it is not sent. */
void tern_boot_relay_scan(struct tern_relay *relay, void (*emit)(void *arg, const struct tern_frame *frame), void *arg);

/* Write a frame from the hub into the segment. Returns false if the frame is invalid; nothing is changed then. */
bool tern_boot_relay_apply(struct tern_relay *relay, const struct tern_frame *frame);

/* Wake the ranks of this node. Call this after one or more frames have been applied. */
void tern_boot_relay_ring(struct tern_relay *relay);

/* Write a rank's fate into the segment, and wake the ranks of the node that still run, in a job of this many ranks. The
 * launcher of a job on one node calls these directly: the second one after one or more fates. */
void tern_boot_relay_fate(struct tern_segment *segment, uint32_t rank, bool lost);
void tern_boot_relay_wake(struct tern_segment *segment, uint32_t ranks);
