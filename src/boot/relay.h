/* relay.h: one node's part in keeping the segments of a job alike.
 *
 * What each rank says to all others that is no data, its life, its card and its seat, is in the segment. In a job on
 * several nodes each node has a spoke: it looks what its own ranks have changed (scan) and tells the hub; the hub
 * brings what all nodes say into one order and passes it on; and each spoke writes what it hears into its segment
 * (apply) and wakes its ranks. Fates too go to the hub first and come back from there, also to the node of the rank: so
 * all agree on who died, and what each had said before.
 *
 * Who reads and writes the frames is not known here: ternrun over the standard files of an agent, or the first rank of
 * each node over a socket. A process that shares the segment makes the spoke; one thread at a time.
 */
#ifndef TERN_BOOT_RELAY_H
#define TERN_BOOT_RELAY_H

#include <stdbool.h>

#include "base/status.h"
#include "boot/frame.h"
#include "boot/segment.h"

struct tern_relay;

/* The last that was said of a rank. */
struct tern_relay_state {
    uint32_t life, address_len; /* card: bytes of it */
    uint32_t arrived, departures;
};

/* Check a frame (LIFE, CARD, ARRIVED or DEPARTED) against the last state of its rank: a life never goes back, a card is
 * published once, and counters only grow. notes tells whether seats have notes. Returns true and updates the state if
 * the frame can follow. A hub calls it before it passes a frame on, so that the node that sent a senseless frame is
 * blamed for it, and not the hub. */
bool tern_boot_relay_follows(struct tern_relay_state *state, const struct tern_frame *frame, bool notes);

tern_status tern_boot_relay_open(struct tern_segment *segment, struct tern_relay **out);
void        tern_boot_relay_close(struct tern_relay *relay);

/* Hand a frame for the hub to emit for each thing that a rank of this node has changed since the last call. Called when
 * a rank has told (tern_boot_tell), and after the end of a rank, before its fate is told. A change that no rank makes
 * in order, such as a life that goes back, is damage in the segment, and is not told. */
void tern_boot_relay_scan(struct tern_relay *relay, void (*emit)(void *arg, const struct tern_frame *frame), void *arg);

/* Write what the hub says into the segment. False: the frame makes no sense, and nothing was changed. */
bool tern_boot_relay_apply(struct tern_relay *relay, const struct tern_frame *frame);

/* Wake the ranks of this node after one or several frames were applied. */
void tern_boot_relay_ring(struct tern_relay *relay);

/* Write a rank's fate into the segment of a job of so many ranks, and wake all ranks of the node: what a launcher of a
 * job on one node does. */
void tern_boot_relay_fate(struct tern_segment *segment, uint32_t ranks, uint32_t rank, bool lost);

#endif
