/* congestion.h: FECN/BECN and RDRP, where sources, switches and sinks meet them.
 *
 * FECN/BECN: as a packet's head leaves a switch, the packet is marked with a probability that rises with the occupancy
 * of the queue at the other end of the link. Its receiver sets BECN on one packet that it sends back to the source for
 * each marked one; where it sends it nothing, the source never knows. A packet with BECN raises the counter of the node
 * that receives it, one without lowers it, and so does time. The share of cycles in which a node may inject falls
 * linearly from 1 to 0 as the counter rises to its limit.
 *
 * RDRP: a node may have c packets outstanding. As a sink takes a packet, it owes its source a credit, which goes with
 * the next packet to that node. A node that cannot send one (it has no credit left itself, or nothing to send, or sends
 * elsewhere for long) sends the credits in a packet of their own, as the receiver of the protocol sends its gets; such
 * packets need no credit, and sinks take them at once.
 */
#ifndef SIM_CONGESTION_H
#define SIM_CONGESTION_H

#include "sim.h"

/* Mark a packet whose head leaves a switch, maybe. */
void sim_congestion_mark(const struct sim *sim, struct sim_router *router, const struct sim_port *output,
                         const struct sim_out_vc *to, struct sim_packet *packet);

/* Whether a node that has a flit to send may do so in this cycle, as BECN says. Asked once in each such cycle. */
bool sim_congestion_may_send(const struct sim *sim, struct sim_node *node, uint32_t now);

/* It sends it; node->sent is still without it. */
void sim_congestion_sent(const struct sim *sim, struct sim_node *node);

/* Whether a node should return credits in a packet of their own now, and to which; may_send: it could send a packet of
 * data. */
bool sim_congestion_must_return(const struct sim *sim, const struct sim_node *node, bool may_send, uint32_t now,
                                uint32_t *to);

/* A packet is about to be sent: give it what its node owes the target. */
void sim_congestion_leave(struct sim_node *node, struct sim_packet *packet);

/* A marked packet is seen by its target. */
void sim_congestion_seen(struct sim_node *node, const struct sim_packet *packet, uint32_t now);

/* Whether RDRP credits have been lost: no flit is in the network, no node is about to send one, no node owes a credit,
 * and yet a node waits for credits. Nothing can move any more. */
bool sim_congestion_starved(const struct sim *sim);

/* A packet has been taken. */
void sim_congestion_arrive(const struct sim *sim, struct sim_node *node, const struct sim_packet *packet, uint32_t now);

#endif
