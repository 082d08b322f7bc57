/* build.c: creating a network: memory, cables, nodes and workers. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/memory.h"
#include "engine.h"
#include "link.h"
#include "node.h"
#include "random.h"
#include "topology.h"
#include "traffic.h"

#define HUGE_PAGE (2u << 20)

/* Allocate zeroed memory that is aligned to cache lines. */
static void *zeroed(size_t count, size_t size)
{
    size_t bytes = count * size + 1, unit = bytes >= HUGE_PAGE ? HUGE_PAGE : TERN_CACHE_LINE;
    void  *memory = aligned_alloc(unit, tern_base_round_up(bytes, unit));

    if (memory == NULL)
        return NULL;
    if (unit == HUGE_PAGE)
        madvise(memory, tern_base_round_up(bytes, unit),
                MADV_HUGEPAGE); /* huge pages save TLB misses; this is only a hint */
    memset(memory, 0, bytes);
    return memory;
}

/* Return the maximum number of packets in a buffer, including packets that are only partly in it. */
static uint32_t buffer_packets(const struct sim *sim)
{
    int64_t shortest = sim->config->packet;

    if (sim->rdrp && sim->config->rdrp_ack < shortest)
        shortest = sim->config->rdrp_ack;
    return sim->buffer / (uint32_t)shortest + 2;
}

/* Return the maximum number of packets in flight: all buffers full of the shortest packets. */
static uint64_t packet_room(const struct sim *sim)
{
    uint64_t vcs = ((uint64_t)sim->shape.routers * sim->shape.ports + sim->shape.nodes) * sim->vcs;

    return vcs * buffer_packets(sim) + sim->shape.nodes + 2 * SIM_STOCK_ROOM * sim->workers;
}

/* Return an error if the network does not fit into the available memory. The estimate assumes full buffers, because
 * saturated runs come close to that. */
static tern_status check_memory(const struct sim *sim)
{
    struct tern_memory_limits room = tern_base_memory_limits("");
    uint64_t                  ports = (uint64_t)sim->shape.routers * sim->shape.ports, slots = ports << sim->shift;
    uint64_t sets = slots * (sizeof(struct sim_in_vc) + sizeof(struct sim_out_vc) + 8 * sim->words_per_set +
                             (sizeof(uint32_t) << sim->ring_shift));
    uint64_t links = ports * (sizeof(struct sim_port) + sizeof(struct sim_held) + 512);
    uint64_t nodes = sim->shape.nodes * (sizeof(struct sim_node) + 512);
    uint64_t packets = packet_room(sim) * sizeof(struct sim_packet) / 2;
    uint64_t needed = sets + links + nodes + packets;

    if (needed <= room.available)
        return TERN_OK;
    return tern_base_fail(TERN_ERR_NOMEM,
                          "%u nodes with %u VCs of %u flits need about %" PRIu64 " MiB, and %.90s leaves %" PRIu64
                          " MiB: lower p, a, h, groups, vcs or buffer",
                          sim->shape.nodes, sim->vcs, sim->buffer, needed >> 20, room.limit, room.available >> 20);
}

static uint32_t delay_of(const struct sim_config *config, enum sim_link_class link_class)
{
    switch (link_class) {
    case SIM_LINK_TERMINAL: return (uint32_t)config->latency_terminal + 1;
    case SIM_LINK_LOCAL: return (uint32_t)config->latency_local + 1;
    default: return (uint32_t)config->latency_global + 1;
    }
}

static tern_status allocate(struct sim *sim)
{
    size_t ports = (size_t)sim->shape.routers * sim->shape.ports, slots = ports << sim->shift;
    size_t words = sim->words_per_set;

    sim->router = zeroed(sim->shape.routers, sizeof(*sim->router));
    sim->ports = zeroed(ports, sizeof(*sim->ports));
    sim->ins = zeroed(slots, sizeof(*sim->ins));
    sim->outs = zeroed(slots, sizeof(*sim->outs));
    sim->rings = zeroed(slots << sim->ring_shift, sizeof(*sim->rings));
    sim->sets = zeroed(slots * words + 2 * sim->shape.routers * words, sizeof(*sim->sets));
    sim->node = zeroed(sim->shape.nodes, sizeof(*sim->node));
    sim->held = zeroed(ports, sizeof(*sim->held));
    sim->arrivals = zeroed((size_t)sim->shape.nodes * sim->vcs, sizeof(*sim->arrivals));
    if (sim->config->routing == SIM_UGAL_G)
        sim->seen = zeroed(ports, sizeof(*sim->seen));
    if (sim->router == NULL || sim->ports == NULL || sim->ins == NULL || sim->outs == NULL || sim->rings == NULL ||
        sim->sets == NULL || sim->node == NULL || sim->held == NULL || sim->arrivals == NULL ||
        (sim->config->routing == SIM_UGAL_G && sim->seen == NULL))
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for %u routers with %u ports and %u VCs", sim->shape.routers,
                              sim->shape.ports, sim->vcs);
    return TERN_OK;
}

static void init_router(struct sim *sim, uint32_t index)
{
    struct sim_router *router = &sim->router[index];
    size_t             ports = sim->shape.ports, slots = ports << sim->shift, words = sim->words_per_set;

    router->index = index;
    router->port = sim->ports + index * ports;
    router->in = sim->ins + index * slots;
    router->out = sim->outs + index * slots;
    router->ring = sim->rings + ((index * slots) << sim->ring_shift);
    router->waiting = sim->sets + index * (slots + 2) * words;
    router->pending = router->waiting + slots * words;
    router->undecided = router->pending + words;
    router->held_at = sim->held + index * ports;
    router->random = sim_random_begin((uint64_t)sim->config->seed, SIM_STREAM_ROUTER, index);
    for (size_t i = 0; i < slots; i++)
        router->out[i] = (struct sim_out_vc){ .credits = (uint16_t)sim->buffer,
                                              .owner = SIM_FREE,
                                              .turn = (uint16_t)(words * 64 - 1) };
    for (size_t i = 0; i < ports; i++) {
        router->port[i].in_turn = router->port[i].out_turn = router->port[i].vc_turn = SIM_MAX_PORTS - 1;
        router->link_class[i] = SIM_LINK_UNUSED;
    }
}

static void init_node(struct sim *sim, uint32_t index, struct sim_router *router, unsigned port)
{
    struct sim_node *node = &sim->node[index];

    node->router = router;
    node->port = port;
    node->random = sim_random_begin((uint64_t)sim->config->seed, SIM_STREAM_NODE, index);
    node->fixed = SIM_NONE;
    node->slow = 1;
    node->arrival = sim->arrivals + (size_t)index * sim->vcs;
    for (unsigned vc = 0; vc < sim->vcs; vc++)
        node->credits[vc] = (uint16_t)sim->buffer;
    node->next_at = sim_node_gap(sim, node) - 1;
    router->terminals |= 1ull << port;
    if (port == 0)
        router->node = node;
}

/* Make one end of a cable store its flits and credits into a column of the rows of another router. */
static void point_to_column(const struct sim *sim, struct sim_port *port, const struct sim_router *there,
                            unsigned column)
{
    port->far_flit = there->rows + 4 * column;
    port->far_credit = there->rows + sim->credits_at + column;
    port->flit_step = port->credit_step = (uint16_t)sim->row_bytes;
}

/* Connect both ends of the cable between a router and a node. */
static void wire_node(struct sim *sim, struct sim_router *router, unsigned number)
{
    struct sim_port *port = &router->port[number], *side = &router->node[number].side;
    uint16_t         delay = (uint16_t)delay_of(sim->config, SIM_LINK_TERMINAL);

    port->flit_delay = port->credit_delay = side->flit_delay = delay;
    side->credit_delay = (uint16_t)(delay + sim->credit_delay);
    point_to_column(sim, port, router, sim->inner + number);
    point_to_column(sim, side, router, number);
}

/* Connect a port to a port of another router. */
static void wire_router(struct sim *sim, struct sim_router *router, unsigned number, struct sim_end end)
{
    struct sim_port   *port = &router->port[number];
    struct sim_router *there = &sim->router[end.index];

    port->flit_delay = (uint16_t)delay_of(sim->config, end.link_class);
    port->credit_delay = (uint16_t)(port->flit_delay + sim->credit_delay);
    if (number >= sim->inner)
        router->outer |= 1ull << number;
    if (end.port < sim->inner) {
        point_to_column(sim, port, there, end.port);
        return;
    }
    port->far_flit = (uint8_t *)sim_lane_flit(sim, there, end.port, 0);
    port->far_credit = sim_lane_credit(sim, there, end.port, 0);
    port->flit_step = 4;
    port->credit_step = 1;
}

static void wire(struct sim *sim)
{
    for (uint32_t r = 0; r < sim->shape.routers; r++) {
        for (unsigned i = 0; i < sim->shape.ports; i++) {
            struct sim_end end = sim->topology->far(sim, r, i);

            sim->router[r].link_class[i] = (uint8_t)end.link_class;
            if (end.link_class == SIM_LINK_TERMINAL)
                wire_node(sim, &sim->router[r], i);
            else if (end.link_class != SIM_LINK_UNUSED)
                wire_router(sim, &sim->router[r], i, end);
        }
    }
}

/* Find the delay of the shortest link between two routers, and the longest delay of all links. */
static void survey(struct sim *sim, uint32_t *longest)
{
    sim->window = UINT32_MAX;
    *longest = 0;
    for (uint32_t r = 0; r < sim->shape.routers; r++) {
        for (unsigned i = 0; i < sim->shape.ports; i++) {
            struct sim_end end = sim->topology->far(sim, r, i);
            uint32_t       delay;

            if (end.link_class == SIM_LINK_UNUSED)
                continue;
            if (end.link_class == SIM_LINK_TERMINAL)
                init_node(sim, end.index, &sim->router[r], i);
            delay = delay_of(sim->config, end.link_class);
            *longest = delay > *longest ? delay : *longest;
            if (end.link_class != SIM_LINK_TERMINAL && delay < sim->window)
                sim->window = delay;
        }
    }
    if (sim->window == UINT32_MAX)
        sim->window = 64; /* there is only one router, so any number is correct */
}

/* Allocate enough slots for everything that does not wait long for its link. */
static tern_status make_slots(struct sim *sim, uint32_t longest)
{
    size_t columns = sim->inner + sim->shape.terminals, lanes = sim->shape.ports - sim->inner, slots, bytes;

    sim->slot_mask = (1u << tern_base_log2_up(longest + sim->credit_delay + sim->span + 8)) - 1;
    slots = sim->slot_mask + 1;
    sim->credits_at = (uint32_t)(4 * columns);
    sim->row_bytes = (uint32_t)tern_base_round_up(5 * columns, 32);
    sim->lane_bytes = (uint32_t)tern_base_round_up(5 * slots, 32);
    bytes = (size_t)sim->row_bytes * slots;
    sim->rows = zeroed(sim->shape.routers, bytes);
    sim->lanes = zeroed(sim->shape.routers * lanes, sim->lane_bytes);
    if (sim->rows == NULL || sim->lanes == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for links of up to %u cycles; lower the latencies", longest);
    for (uint32_t r = 0; r < sim->shape.routers; r++) {
        sim->router[r].rows = sim->rows + r * bytes;
        sim->router[r].lanes = sim->lanes + r * lanes * sim->lane_bytes;
    }
    return TERN_OK;
}

static tern_status build(struct sim *sim)
{
    uint32_t    longest;
    tern_status status;

    if ((status = check_memory(sim)) < 0 || (status = allocate(sim)) < 0)
        return status;
    for (uint32_t r = 0; r < sim->shape.routers; r++)
        init_router(sim, r);
    if ((status = sim->topology->open(sim)) < 0)
        return status;
    survey(sim, &longest);
    sim_engine_divide(sim);
    if ((status = make_slots(sim, longest)) < 0)
        return status;
    wire(sim);
    if ((status = sim_packet_pool_open(&sim->pool, packet_room(sim))) < 0 || (status = sim_traffic_open(sim)) < 0)
        return status;
    return sim_engine_open(sim);
}

/* Check that the run fits into 32-bit cycle numbers. */
static tern_status check_time(const struct sim_config *config)
{
    int64_t settle = config->warmup + (config->stop == SIM_STEADY ? config->max_cycles + config->period : 0);

    if (settle + config->measure + config->drain < INT64_C(4200000000))
        return TERN_OK;
    return tern_base_fail(TERN_ERR_ARG,
                          "warmup, measure and drain, with stop=steady also max_cycles and period, are %" PRId64
                          " cycles together; it must be below 4200000000",
                          settle + config->measure + config->drain);
}

static int64_t largest_packet(const struct sim_config *config)
{
    return config->rdrp > 0 && config->rdrp_ack > config->packet ? config->rdrp_ack : config->packet;
}

tern_status sim_open(struct sim **out, const struct sim_config *config)
{
    struct sim *sim = calloc(1, sizeof(*sim));
    tern_status status;

    if (sim == NULL)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory to begin with");
    sim->config = config;
    sim->topology = sim_topology_of(config);
    if ((status = check_time(config)) < 0 || (status = sim->topology->plan(config, &sim->shape)) < 0)
        goto err_close;
    if (largest_packet(config) > config->buffer && config->flow == SIM_CUT_THROUGH) {
        status = tern_base_fail(TERN_ERR_ARG, "packet=%ld does not fit into buffer=%ld, which flow=cutthrough needs",
                                (long)largest_packet(config), (long)config->buffer);
        goto err_close;
    }
    sim->vcs = sim->shape.vcs;
    sim->inner = sim->shape.inner;
    sim->shift = tern_base_log2_up(sim->vcs);
    sim->words_per_set = ((sim->shape.ports << sim->shift) + 63) / 64;
    sim->buffer = (uint32_t)config->buffer;
    sim->speed = (uint32_t)lround(config->speedup * 1000);
    sim->credit_delay = (uint32_t)config->credit_delay;
    sim->late = config->route_at != SIM_AT_ARRIVAL;
    sim->again = config->route_at == SIM_AT_TURN && (config->routing == SIM_UGAL || config->routing == SIM_PAR);
    sim->whole = config->flow == SIM_CUT_THROUGH ? (uint32_t)largest_packet(config) : 0;
    sim->fecn = config->fecn > 0;
    sim->rdrp = config->rdrp > 0;
    sim->ring_shift = tern_base_log2_up(buffer_packets(sim));
    if ((status = build(sim)) < 0)
        goto err_close;
    *out = sim;
    return TERN_OK;
err_close:
    sim_close(sim);
    return status;
}

static void free_queues(struct sim *sim)
{
    if (sim->held != NULL) {
        for (size_t i = 0; i < (size_t)sim->shape.routers * sim->shape.ports; i++) {
            sim_queue_free(&sim->held[i].flits);
            sim_queue_free(&sim->held[i].credits);
        }
    }
    if (sim->node == NULL)
        return;
    for (uint32_t i = 0; i < sim->shape.nodes; i++) {
        sim_queue_free(&sim->node[i].backlog);
        free(sim->node[i].debt);
    }
}

void sim_close(struct sim *sim)
{
    sim_engine_close(sim);
    sim_traffic_close(sim);
    sim_packet_pool_close(&sim->pool);
    free_queues(sim);
    free(sim->map);
    free(sim->router);
    free(sim->ports);
    free(sim->ins);
    free(sim->outs);
    free(sim->rings);
    free(sim->sets);
    free(sim->rows);
    free(sim->lanes);
    free(sim->held);
    free(sim->arrivals);
    free(sim->node);
    free(sim->seen);
    free(sim);
}
