/* congestion.h: the congestion control FECN/BECN and RDRP, as called by sources, switches and sinks.
 *
 * FECN/BECN: when the head of a packet leaves a switch, the switch marks the packet (FECN) with a probability that
 * rises with the occupancy of the queue at the other end of the link. For each marked packet, the receiver sets BECN on
 * one packet that it sends back to the source. If the receiver sends nothing to that source, the source never learns of
 * the congestion. A node that receives a packet with BECN increases its counter. A packet without BECN decreases the
 * counter, and so does the passing of time. The fraction of cycles in which a node may inject falls linearly from 1 to
 * 0 as the counter rises to its limit.
 *
 * RDRP: a node may have c packets outstanding. When a sink consumes a packet, its node owes the source a credit, which
 * is piggy-backed on the next packet to that source. A node that cannot send such a packet (because it has no credit
 * left itself, has nothing to send, or sends to other nodes for a long time) returns the credits in a packet of their
 * own, just as a receiver in the real protocol sends its gets. Credit packets need no credit, and sinks consume them
 * immediately.
 */
#ifndef SIM_CONGESTION_H
#define SIM_CONGESTION_H

#include "sim.h"

/* Mark a packet whose head leaves a switch, with the probability that FECN prescribes. */
void sim_congestion_mark(const struct sim *sim, struct sim_router *router, const struct sim_port *output,
                         const struct sim_out_vc *to, struct sim_packet *packet);

/* Return whether BECN lets a node send its next flit in this cycle. The caller must ask exactly once in each cycle in
 * which the node has a flit to send. */
bool sim_congestion_may_send(const struct sim *sim, struct sim_node *node, uint32_t now);

/* Account for a flit that a node sends. The caller must not yet have counted the flit in node->sent. */
void sim_congestion_sent(const struct sim *sim, struct sim_node *node);

/* Return whether a node should return credits in a packet of their own now, and store the destination in *to. may_send
 * tells whether the node could send a data packet instead. */
bool sim_congestion_must_return(const struct sim *sim, const struct sim_node *node, bool may_send, uint32_t now,
                                uint32_t *to);

/* Attach the credits and the BECN mark that a node owes the target to a packet that the node is about to send. */
void sim_congestion_leave(struct sim_node *node, struct sim_packet *packet);

/* Record that the target of a marked packet has seen the mark. */
void sim_congestion_seen(struct sim_node *node, const struct sim_packet *packet, uint32_t now);

/* Return whether RDRP credits have been lost: no flit is in the network, no node is about to send one, no node owes a
 * credit, and yet a node waits for credits. In this state nothing can move any more. */
bool sim_congestion_starved(const struct sim *sim);

/* Account for a packet that the sink of a node has consumed. */
void sim_congestion_arrive(const struct sim *sim, struct sim_node *node, const struct sim_packet *packet, uint32_t now);

#endif
