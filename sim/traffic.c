/* traffic.c: traffic patterns.
 *
 * Patterns with one destination per node (pairs, permutation, shift, a named line of a file) are stored in the nodes
 * once. The other patterns draw a destination for each packet from the node's own stream.
 */
#include "traffic.h"

#include <math.h>
#include <stdlib.h>

#include "random.h"

/* Return the numbers from 0 to count-1 in a random order that depends on seed, or NULL if there is no memory. The
 * caller frees the array. */
static uint32_t *shuffled(uint32_t count, uint64_t seed, enum sim_stream purpose)
{
    uint32_t *order = malloc(count * sizeof(*order));
    uint64_t  random = sim_random_begin(seed, purpose, 0);

    if (order == NULL)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = sim_random_below(&random, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

static void draw_fixed(struct sim *sim, const uint32_t *order)
{
    uint32_t nodes = sim->shape.nodes;

    for (uint32_t i = 0; i < nodes; i++) {
        if (sim->config->traffic == SIM_SHIFT)
            sim->node[i].fixed = (uint32_t)((i + (uint64_t)sim->config->shift) % nodes);
        else if (sim->config->traffic == SIM_PERMUTATION)
            sim->node[i].fixed = order[i];
        else if ((i | 1) < nodes)
            sim->node[order[i]].fixed = order[i ^ 1];
        else
            sim->node[order[i]].silent = true; /* with an odd number of nodes, one node has no partner */
    }
}

static tern_status draw_hot(struct sim *sim, const uint32_t *order)
{
    struct sim_traffic *traffic = sim->traffic;

    if (sim->config->hot_nodes > sim->shape.nodes)
        return tern_base_fail(TERN_ERR_ARG, "hot_nodes=%ld is more than there are: 1 to %u",
                              (long)sim->config->hot_nodes, sim->shape.nodes);
    traffic->hots = (uint32_t)sim->config->hot_nodes;
    traffic->hot = malloc(traffic->hots * sizeof(*traffic->hot));
    if (traffic->hot == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for %u hot spots", traffic->hots);
    for (uint32_t i = 0; i < traffic->hots; i++)
        traffic->hot[i] = order[i];
    return TERN_OK;
}

static tern_status draw_slow(struct sim *sim)
{
    const struct sim_config *config = sim->config;
    uint32_t                 nodes = sim->shape.nodes, slow = (uint32_t)lround(config->slow_share * nodes), *order;

    if (config->slow_nodes > nodes)
        return tern_base_fail(TERN_ERR_ARG, "slow_nodes=%ld is more than there are: 0 to %u", (long)config->slow_nodes,
                              nodes);
    if (config->slow_nodes > 0)
        slow = (uint32_t)config->slow_nodes;
    order = shuffled(nodes, (uint64_t)(config->slow_seed > 0 ? config->slow_seed : config->seed), SIM_STREAM_SLOW);
    if (order == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory to draw slow nodes of %u", nodes);
    for (uint32_t i = 0; i < slow; i++)
        sim->node[order[i]].slow = (uint32_t)config->slow_factor;
    free(order);
    return TERN_OK;
}

tern_status sim_traffic_open(struct sim *sim)
{
    const struct sim_config *config = sim->config;
    uint64_t                 seed = (uint64_t)(config->traffic_seed > 0 ? config->traffic_seed : config->seed);
    tern_status              status = TERN_OK;
    uint32_t                *order;

    sim->traffic = calloc(1, sizeof(*sim->traffic));
    order = shuffled(sim->shape.nodes, seed, SIM_STREAM_TRAFFIC);
    if (sim->traffic == NULL || order == NULL) {
        free(order);
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for the traffic of %u nodes", sim->shape.nodes);
    }
    switch (config->traffic) {
    case SIM_PAIRS:
    case SIM_PERMUTATION:
    case SIM_SHIFT: draw_fixed(sim, order); break;
    case SIM_HOTSPOT: status = draw_hot(sim, order); break;
    case SIM_FILE: status = sim_traffic_read(sim); break;
    default: break;
    }
    free(order);
    if (status == TERN_OK && sim->shape.nodes < 2 && !config->self &&
        (config->traffic == SIM_UNIFORM || config->traffic == SIM_HOTSPOT || config->traffic == SIM_ALLTOALL))
        status = tern_base_fail(TERN_ERR_ARG,
                                "self=0 leaves nobody to send to: there is one node; use self=1 or more nodes");
    return status < 0 ? status : draw_slow(sim);
}

void sim_traffic_close(struct sim *sim)
{
    if (sim->traffic == NULL)
        return;
    free(sim->traffic->hot);
    free(sim->traffic->flow);
    free(sim->traffic->first);
    free(sim->traffic);
}

static uint32_t draw_uniform(struct sim *sim, struct sim_node *node)
{
    uint32_t nodes = sim->shape.nodes, self = (uint32_t)(node - sim->node), drawn;

    if (sim->config->self)
        return sim_random_below(&node->random, nodes);
    drawn = sim_random_below(&node->random, nodes - 1);
    return drawn + (drawn >= self);
}

static uint32_t draw_hotspot(struct sim *sim, struct sim_node *node)
{
    uint32_t hot;

    if (sim_random_unit(&node->random) >= sim->config->hot_share)
        return draw_uniform(sim, node);
    hot = sim->traffic->hot[sim_random_below(&node->random, sim->traffic->hots)];
    return hot == (uint32_t)(node - sim->node) && !sim->config->self ? draw_uniform(sim, node) : hot;
}

static uint32_t draw_flow(struct sim *sim, struct sim_node *node)
{
    const struct sim_traffic *traffic = sim->traffic;
    uint32_t                  self = (uint32_t)(node - sim->node), low = traffic->first[self];
    uint32_t                  high = traffic->first[self + 1] - 1;
    double                    drawn = sim_random_unit(&node->random);

    while (low < high) { /* find the first flow whose sum is above the number drawn */
        uint32_t middle = (low + high) / 2;

        if (traffic->flow[middle].until > drawn)
            high = middle;
        else
            low = middle + 1;
    }
    return traffic->flow[low].target;
}

uint32_t sim_traffic_target(struct sim *sim, struct sim_node *node)
{
    uint32_t self = (uint32_t)(node - sim->node), nodes = sim->shape.nodes;

    if (node->fixed != SIM_NONE)
        return node->fixed;
    switch (sim->config->traffic) {
    case SIM_HOTSPOT: return draw_hotspot(sim, node);
    case SIM_ALLTOALL:
        node->turn = node->turn % (nodes - 1) + 1;
        return (uint32_t)(((uint64_t)self + node->turn) % nodes);
    case SIM_FILE: return draw_flow(sim, node);
    default: return draw_uniform(sim, node);
    }
}
