/* node.c: sources, which generate packets, and sinks, which consume them.
 *
 * A source generates packets at random (open) or whenever it can send (saturating). Packets that cannot be sent yet
 * take no memory, because only the time of the next packet is stored. A source sends one flit per cycle, and all flits
 * of a packet on the same VC. The source draws the VC at random, again in each cycle until the chosen VC has a credit.
 * A sink consumes one flit per cycle, or one flit in several cycles if it is slow. Flits that wait for a slow sink
 * occupy the buffers of the last link; the sink returns their credits when it consumes them.
 */
#include "node.h"

#include <assert.h>
#include <math.h>

#include "congestion.h"
#include "link.h"
#include "random.h"
#include "traffic.h"

uint64_t sim_node_gap(const struct sim *sim, struct sim_node *node)
{
    double chance = sim->config->load / (double)sim->config->packet;

    if (chance >= 1)
        return 1;
    if (chance <= 0)
        return UINT32_MAX;
    return 1 + (uint64_t)(log1p(-sim_random_unit(&node->random)) / log1p(-chance));
}

static bool has_packet(const struct sim *sim, const struct sim_node *node, uint32_t now)
{
    if (node->made > 0)
        return true;
    if (node->silent)
        return false;
    return sim->config->injection == SIM_SATURATING || node->next_at <= now;
}

/* Return the destination of the next data packet, and store the cycle in which the packet was generated. */
static uint32_t next_target(struct sim *sim, struct sim_node *node, uint32_t now, uint32_t *born)
{
    *born = now;
    if (node->made > 0) {
        node->made--;
        return node->made_for;
    }
    if (sim->config->injection == SIM_OPEN) {
        *born = (uint32_t)node->next_at;
        node->next_at += sim_node_gap(sim, node);
    }
    return sim_traffic_target(sim, node);
}

/* Start to send a packet. Returns false if there is none, or if RDRP does not permit one. */
static bool begin_packet(struct sim_worker *worker, struct sim_node *node, uint32_t now)
{
    struct sim        *sim = worker->sim;
    bool               has = has_packet(sim, node, now);
    bool               may = has && (!sim->rdrp || node->outstanding < sim->config->rdrp);
    uint32_t           target, born = now;
    bool               ack = sim->rdrp && sim_congestion_must_return(sim, node, may, now, &target);
    struct sim_packet *packet;

    if (has && !may)
        worker->stats.starved++;
    if (!ack && !may)
        return false;
    if (!ack)
        target = next_target(sim, node, now, &born);
    node->packet = sim_packet_take(&worker->stock);
    node->size = (uint8_t)(ack ? sim->config->rdrp_ack : sim->config->packet);
    node->sent = 0;
    packet = &sim->pool.packet[node->packet];
    *packet = (struct sim_packet){ .source = (uint32_t)(node - sim->node),
                                   .target = target,
                                   .born = born,
                                   .via = SIM_NO_VIA,
                                   .size = node->size,
                                   .flags = ack ? SIM_ACK : 0 };
    if (!ack) {
        worker->sent_to[target] += node->size;
        packet->flags |= sim->measuring ? SIM_MEASURED : 0;
        worker->stats.begun += sim->measuring;
    }
    if (sim->rdrp || sim->fecn)
        sim_congestion_leave(node, packet);
    return true;
}

static bool find_vc(const struct sim *sim, struct sim_node *node)
{
    if (node->sent == 0)
        node->vc = (uint8_t)sim_random_below(&node->random, sim->vcs);
    return node->credits[node->vc] >= (sim->whole > 0 && node->sent == 0 ? node->size : 1);
}

/* Send a flit if possible. */
static inline void inject(struct sim_worker *worker, struct sim_node *node, uint32_t now)
{
    struct sim        *sim = worker->sim;
    struct sim_packet *packet;

    if (node->size == 0 && !begin_packet(worker, node, now))
        return;
    if (sim->fecn && !sim_congestion_may_send(sim, node, now)) {
        worker->stats.throttled++;
        return;
    }
    if (!find_vc(sim, node))
        return;
    if (sim->fecn)
        sim_congestion_sent(sim, node);
    packet = &sim->pool.packet[node->packet];
    if (node->sent == 0) {
        packet->queued = now - packet->born;
        node->head_at = now;
        node->offsets = 0;
    }
    node->offsets += now - node->head_at;
    node->credits[node->vc]--;
    node->injected++;
    worker->stats.injected++;
    node->side.sent++;
    sim_link_put_flit(sim_reach_of(worker), &node->side, now + node->side.flit_delay,
                      sim_flit(node->vc, node->packet) | (node->sent == 0 ? SIM_FLIT_HEAD : 0));
    if (++node->sent == node->size) {
        packet->lag = node->offsets;
        node->size = 0;
    }
}

/* Add a data packet, whose last flit has been consumed, to the statistics. */
static void count(struct sim_stats *stats, const struct sim_packet *packet, const struct sim_arrival *arrival,
                  uint32_t now)
{
    uint32_t sent_at = packet->born + packet->queued;

    stats->packets++;
    stats->routers += packet->hops;
    stats->rounds += (packet->flags & SIM_ROUND) != 0;
    stats->marked += (packet->flags & SIM_FECN) != 0;
    stats->flits += packet->size;
    stats->flit_latency += (uint64_t)(arrival->head_at - sent_at) * packet->size + arrival->offsets - packet->lag;
    sim_hist_count(stats->packet_latency, now - packet->born);
    sim_hist_count(stats->network_latency, now - sent_at);
}

/* Complete a packet and return it to the stock. */
static void finish(struct sim_worker *worker, struct sim_node *node, uint32_t number, uint32_t now)
{
    if (worker->sim->rdrp || worker->sim->fecn)
        sim_congestion_arrive(worker->sim, node, &worker->sim->pool.packet[number], now);
    sim_packet_give(&worker->stock, number);
}

/* Return the credit of a flit, at most one per cycle. */
static void return_credit(struct sim_worker *worker, struct sim_node *node, uint32_t now, unsigned vc)
{
    assert(node->side.credit_free <= now);
    node->side.credit_free = now + 1;
    sim_link_put_credit(sim_reach_of(worker), &node->side, now + node->side.credit_delay, vc);
}

/* Consume a flit. */
static void take(struct sim_worker *worker, struct sim_node *node, uint32_t flit, uint32_t now)
{
    struct sim         *sim = worker->sim;
    unsigned            vc = sim_flit_vc(flit);
    uint32_t            number = sim_flit_packet(flit);
    struct sim_arrival *arrival = &node->arrival[vc];

    assert(((flit & SIM_FLIT_HEAD) != 0) ==
           (arrival->taken == 0)); /* the previous packet is complete when a new one begins */
    if (flit & SIM_FLIT_HEAD) {
        arrival->head_at = now;
        arrival->offsets = 0;
        arrival->size = sim->pool.packet[number].size;
        assert(sim->pool.packet[number].target == (uint32_t)(node - sim->node));
    }
    arrival->offsets += now - arrival->head_at;
    worker->stats.ejected++;
    node->ejected++;
    node->period_ejected++;
    return_credit(worker, node, now, vc);
    if (++arrival->taken == arrival->size) {
        struct sim_packet *packet = &sim->pool.packet[number];

        arrival->taken = 0;
        if (packet->flags & SIM_MEASURED)
            count(&worker->stats, packet, arrival, now);
        if (sim->fecn && sim->config->fecn_seen == SIM_SEEN_SINK)
            sim_congestion_seen(node, packet, now);
        finish(worker, node, number, now);
    }
}

/* Consume a flit of a credit packet, without occupying the sink. */
static void take_ack(struct sim_worker *worker, struct sim_node *node, uint32_t flit, uint32_t now)
{
    unsigned            vc = sim_flit_vc(flit);
    uint32_t            number = sim_flit_packet(flit);
    struct sim_arrival *arrival = &node->arrival[vc];

    assert(((flit & SIM_FLIT_HEAD) != 0) ==
           (arrival->acked == 0)); /* the previous packet is complete when a new one begins */
    worker->stats.ejected++;
    worker->stats.acks++;
    return_credit(worker, node, now, vc);
    if (++arrival->acked == worker->sim->pool.packet[number].size) {
        arrival->acked = 0;
        finish(worker, node, number, now);
    }
}

/* Handle a flit that arrives at a node. */
static void eject(struct sim_worker *worker, struct sim_node *node, uint32_t flit, uint32_t now)
{
    struct sim              *sim = worker->sim;
    const struct sim_packet *packet = &sim->pool.packet[sim_flit_packet(flit)];

    if (sim->rdrp && packet->flags & SIM_ACK) {
        take_ack(worker, node, flit, now);
        return;
    }
    if (sim->fecn && sim->config->fecn_seen == SIM_SEEN_ARRIVAL && flit & SIM_FLIT_HEAD)
        sim_congestion_seen(node, packet, now);
    if (node->slow <= 1) {
        take(worker, node, flit, now);
        return;
    }
    sim_queue_push(&node->backlog, flit);
    node->router->backlog |= 1ull << node->port;
}

static void take_slowly(struct sim_worker *worker, struct sim_router *router, uint32_t now)
{
    for (uint64_t left = router->backlog; left != 0; left &= left - 1) {
        unsigned         port = (unsigned)__builtin_ctzll(left);
        struct sim_node *node = &router->node[port];

        if (now < node->free_at || now < node->side.credit_free) /* a credit packet has just used the credit channel */
            continue;
        node->free_at = now + node->slow;
        take(worker, node, sim_queue_pop(&node->backlog), now);
        if (sim_queue_count(&node->backlog) == 0)
            router->backlog &= ~(1ull << port);
    }
}

static void receive_credit(const struct sim *sim, struct sim_node *node, unsigned vc)
{
    assert(node->credits[vc] < sim->buffer);
    (void)sim;
    node->credits[vc]++;
}

void sim_nodes_run(struct sim_worker *worker, struct sim_router *router, uint32_t now)
{
    struct sim *sim = worker->sim;
    unsigned    first = sim->inner, terminals = sim->shape.terminals;
    uint8_t    *row = sim_row(sim, router, now), *credit = row + sim->credits_at;
    uint32_t   *flit = (uint32_t *)(void *)row;

    for (uint64_t left = sim_row_flits(row, first, terminals); left != 0; left &= left - 1) {
        unsigned port = (unsigned)__builtin_ctzll(left);

        eject(worker, &router->node[port], sim_take_flit(&flit[first + port]), now);
    }
    if (router->backlog != 0)
        take_slowly(worker, router, now);
    for (uint64_t left = sim_row_credits(credit, first, terminals); left != 0; left &= left - 1) {
        unsigned port = (unsigned)__builtin_ctzll(left);

        receive_credit(sim, &router->node[port], sim_take_credit(&credit[first + port]));
    }
    for (uint64_t left = router->terminals; left != 0; left &= left - 1)
        inject(worker, &router->node[__builtin_ctzll(left)], now);
}
