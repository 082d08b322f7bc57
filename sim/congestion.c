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
    double                   occupied, probability;

    if (config->fecn_queue == SIM_QUEUE_PORT)
        occupied = (double)output->used / (sim->vcs * sim->buffer);
    else
        occupied = (double)(sim->buffer - to->credits) / sim->buffer;
    if (occupied <= config->fecn_from || packet->flags & SIM_ACK)
        return;
    probability = config->fecn_rate * (occupied - config->fecn_from) / (1 - config->fecn_from);
    if (sim_random_unit(&router->random) < probability)
        packet->flags |= SIM_FECN;
}

/* Let the counter fall by the ticks since it was right. */
static void decay(const struct sim_config *config, struct sim_node *node, uint32_t now)
{
    uint32_t ticks = now / (uint32_t)config->becn_decay - node->becn_at / (uint32_t)config->becn_decay;

    node->becn -= ticks < node->becn ? ticks : node->becn;
    node->becn_at = now;
}

bool sim_congestion_may_send(const struct sim *sim, struct sim_node *node, uint32_t now)
{
    uint32_t limit = (uint32_t)sim->config->becn_max;

    if (node->becn == 0)
        return true;
    decay(sim->config, node, now);
    node->tokens += limit - node->becn;
    if (node->tokens < limit)
        return false;
    node->tokens -= limit;
    return true;
}

bool sim_congestion_must_return(const struct sim *sim, const struct sim_node *node, bool may_send, uint32_t now)
{
    if (node->debts == 0)
        return false;
    return !may_send || (node->debt[0].to != node->fixed && now - node->debt[0].since > sim->config->rdrp_wait);
}

void sim_congestion_leave(const struct sim *sim, struct sim_node *node, struct sim_packet *packet)
{
    if (!(packet->flags & SIM_ACK)) {
        node->outstanding++;
        if (node->marks > 0 && sim->config->fecn) {
            node->marks--;
            packet->flags |= SIM_BECN;
        }
    }
    for (uint32_t i = 0; i < node->debts; i++) {
        struct sim_debt *debt = &node->debt[i];

        if (debt->to != packet->target)
            continue;
        packet->credits = (uint8_t)(debt->count < UINT8_MAX ? debt->count : UINT8_MAX);
        debt->count -= packet->credits;
        if (debt->count == 0)
            memmove(debt, debt + 1, (--node->debts - i) * sizeof(*debt));
        return;
    }
}

void sim_congestion_seen(struct sim_node *node, const struct sim_packet *packet)
{
    node->marks += (packet->flags & SIM_FECN) != 0;
}

/* The node owes one more credit to another. */
static void owe(struct sim_node *node, uint32_t to, uint32_t now)
{
    for (uint32_t i = 0; i < node->debts; i++) {
        if (node->debt[i].to == to) {
            node->debt[i].count++;
            return;
        }
    }
    if (node->debts == node->debt_room) {
        node->debt_room = node->debt_room > 0 ? 2 * node->debt_room : 4;
        node->debt = realloc(node->debt, node->debt_room * sizeof(*node->debt));
        if (node->debt == NULL) {
            fprintf(stderr, "tern-sim: no memory for the credits that a node owes\n");
            exit(1);
        }
    }
    node->debt[node->debts++] = (struct sim_debt){ to, 1, now };
}

void sim_congestion_arrive(const struct sim *sim, struct sim_node *node, const struct sim_packet *packet, uint32_t now)
{
    const struct sim_config *config = sim->config;

    if (config->rdrp > 0) {
        assert(packet->credits <= node->outstanding);
        node->outstanding -= packet->credits;
        if (!(packet->flags & SIM_ACK))
            owe(node, packet->source, now);
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
