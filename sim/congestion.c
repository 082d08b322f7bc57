/* congestion.c: the rules of FECN/BECN and RDRP. */
#include "congestion.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

void sim_congestion_mark(const struct sim *sim, struct sim_router *router, const struct sim_port *output,
                         const struct sim_out_vc *to, struct sim_packet *packet)
{
    const struct sim_config *config = sim->config;
    double                   own = config->fecn_counts == SIM_COUNTS_PACKET ? packet->size : 0, occupied, probability;

    if (config->fecn_queue == SIM_QUEUE_PORT)
        occupied = (output->used + own) / (sim->vcs * sim->buffer);
    else
        occupied = (sim->buffer - to->credits + own) / sim->buffer;
    if (occupied <= config->fecn_from || packet->flags & SIM_ACK)
        return;
    probability = config->fecn_rate * (occupied - config->fecn_from) / (1 - config->fecn_from);
    if (sim_random_unit(&router->random) < probability)
        packet->flags |= SIM_FECN;
}

/* Reduce the counter by the number of decay intervals that have passed since it was last valid. */
static void decay(const struct sim_config *config, struct sim_node *node, uint32_t now)
{
    uint32_t ticks = now / (uint32_t)config->becn_decay - node->becn_at / (uint32_t)config->becn_decay;

    node->becn -= ticks < node->becn ? ticks : node->becn;
    node->becn_at = now;
}

/* Return the number of tokens that the next flit costs. With becn_per=packet, the first flit pays for the whole
 * packet. */
static uint32_t cost_of(const struct sim *sim, const struct sim_node *node)
{
    uint32_t limit = (uint32_t)sim->config->becn_max;

    if (sim->config->becn_per == SIM_PER_FLIT)
        return limit;
    return node->sent == 0 ? node->size * limit : 0;
}

bool sim_congestion_may_send(const struct sim *sim, struct sim_node *node, uint32_t now)
{
    uint32_t limit = (uint32_t)sim->config->becn_max, most = limit * (node->size + 1u);

    if (node->becn == 0)
        return true;
    decay(sim->config, node, now);
    node->tokens += limit - node->becn;
    if (node->tokens > most) /* a source saves tokens for at most one packet and one flit */
        node->tokens = most;
    return node->tokens >= cost_of(sim, node);
}

void sim_congestion_sent(const struct sim *sim, struct sim_node *node)
{
    uint32_t cost = cost_of(sim, node);

    node->tokens -= cost < node->tokens ? cost : node->tokens;
}

/* Return the oldest debt that includes credits, or NULL if there is none. */
static const struct sim_debt *oldest_credits(const struct sim_node *node)
{
    for (uint32_t i = 0; i < node->debts; i++) {
        if (node->debt[i].credits > 0)
            return &node->debt[i];
    }
    return NULL;
}

bool sim_congestion_must_return(const struct sim *sim, const struct sim_node *node, bool may_send, uint32_t now,
                                uint32_t *to)
{
    const struct sim_debt *debt = oldest_credits(node);

    if (debt == NULL || (may_send && (debt->to == node->fixed || now - debt->since <= sim->config->rdrp_wait)))
        return false;
    *to = debt->to;
    return true;
}

/* Attach as many credits and marks of a debt to a packet as the packet can carry. */
static void pay(struct sim_debt *debt, struct sim_packet *packet)
{
    packet->credits = (uint8_t)(debt->credits < UINT8_MAX ? debt->credits : UINT8_MAX);
    debt->credits -= packet->credits;
    if (debt->marks > 0 && !(packet->flags & SIM_ACK)) {
        debt->marks--;
        packet->flags |= SIM_BECN;
    }
}

void sim_congestion_leave(struct sim_node *node, struct sim_packet *packet)
{
    node->outstanding += !(packet->flags & SIM_ACK);
    for (uint32_t i = 0; i < node->debts; i++) {
        struct sim_debt *debt = &node->debt[i];

        if (debt->to != packet->target)
            continue;
        pay(debt, packet);
        if (debt->credits + debt->marks == 0)
            memmove(debt, debt + 1, (--node->debts - i) * sizeof(*debt));
        return;
    }
}

/* Return the record of what the node owes to another node, and create it if necessary. */
static struct sim_debt *debt_to(struct sim_node *node, uint32_t to, uint32_t now)
{
    for (uint32_t i = 0; i < node->debts; i++) {
        if (node->debt[i].to == to)
            return &node->debt[i];
    }
    if (node->debts == node->debt_room) {
        node->debt_room = node->debt_room > 0 ? 2 * node->debt_room : 4;
        node->debt = realloc(node->debt, node->debt_room * sizeof(*node->debt));
        if (node->debt == NULL) {
            fprintf(stderr, "tern-sim: no memory for what a node has to send back\n");
            exit(1);
        }
    }
    node->debt[node->debts] = (struct sim_debt){ .to = to, .since = now };
    return &node->debt[node->debts++];
}

void sim_congestion_seen(struct sim_node *node, const struct sim_packet *packet, uint32_t now)
{
    if (packet->flags & SIM_FECN)
        debt_to(node, packet->source, now)->marks++;
}

bool sim_congestion_starved(const struct sim *sim)
{
    bool waits = false;

    if (sim->config->rdrp == 0 || sim_in_flight(sim) > 0)
        return false;
    for (uint32_t i = 0; i < sim->shape.nodes; i++) {
        const struct sim_node *node = &sim->node[i];

        if (node->size > 0 || oldest_credits(node) != NULL)
            return false;
        waits |= !node->silent && node->outstanding >= sim->config->rdrp;
    }
    return waits;
}

void sim_congestion_arrive(const struct sim *sim, struct sim_node *node, const struct sim_packet *packet, uint32_t now)
{
    const struct sim_config *config = sim->config;

    if (config->rdrp > 0) {
        assert(packet->credits <= node->outstanding);
        node->outstanding -= packet->credits;
        if (!(packet->flags & SIM_ACK))
            debt_to(node, packet->source, now)->credits++;
    }
    if (!config->fecn || packet->flags & SIM_ACK)
        return;
    decay(config, node, now);
    if (packet->flags & SIM_BECN) {
        node->becn += (uint32_t)config->becn_up;
        if (node->becn > config->becn_max)
            node->becn = (uint32_t)config->becn_max;
    } else {
        node->becn -= node->becn < config->becn_down ? node->becn : (uint32_t)config->becn_down;
    }
}
