/* audit.c: the consistency check that recounts all flits and credits.
 *
 * The audit first scans all slots and counts the flits and credits in flight to each column. It then adds up every link
 * from its sending end.
 */
#include "audit.h"

#include <stdlib.h>

#include "link.h"
#include "topology.h"

/* Flits and credits in flight to the columns of all routers: [(router * columns + column) * SIM_MAX_VCS + vc]. */
struct count {
    const struct sim *sim;
    unsigned          columns;
    uint32_t         *flits, *credits;
    uint64_t          all; /* flits in slots, buffers and queues */
};

static size_t index_of(const struct count *count, uint32_t router, unsigned column, unsigned vc)
{
    return ((size_t)router * count->columns + column) * SIM_MAX_VCS + vc;
}

static void count_slot(struct count *count, size_t index, uint32_t flit, uint8_t credit)
{
    if (flit != 0) {
        count->flits[index + sim_flit_vc(flit)]++;
        count->all++;
    }
    if (credit != 0)
        count->credits[index + credit - 1u]++;
}

static void count_slots(struct count *count)
{
    const struct sim *sim = count->sim;
    unsigned          nodes_at = sim->shape.ports; /* first index of the nodes' columns */

    for (uint32_t r = 0; r < sim->shape.routers; r++) {
        const struct sim_router *router = &sim->router[r];

        for (uint32_t now = 0; now <= sim->slot_mask; now++) {
            const uint8_t  *row = sim_row(sim, router, now);
            const uint32_t *flit = (const uint32_t *)(const void *)row;

            for (unsigned i = 0; i < sim->inner + sim->shape.terminals; i++)
                count_slot(count, index_of(count, r, i < sim->inner ? i : nodes_at + i - sim->inner, 0), flit[i],
                           row[sim->credits_at + i]);
            for (unsigned i = sim->inner; i < sim->shape.ports; i++)
                count_slot(count, index_of(count, r, i, 0), *sim_lane_flit(sim, router, i, now),
                           *sim_lane_credit(sim, router, i, now));
        }
    }
}

/* Return the number of words in a queue that belong to a VC. flits tells whether the words are flits or credits. */
static uint32_t count_queue(const struct sim_queue *queue, unsigned vc, bool flits)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < sim_queue_count(queue); i++) {
        uint32_t word = sim_queue_peek(queue, i);

        found += (flits ? sim_flit_vc(word) : word) == vc;
    }
    return found;
}

static tern_status wrong(const struct sim *sim, uint32_t router, unsigned port, unsigned vc, uint64_t sum)
{
    return tern_base_fail(
        TERN_ERR_STATE,
        "cycle %u, router %u, port %u, VC %u: credits and flits of the link make %lu, not the %u of its "
        "buffer",
        sim->now, router, port, vc, (unsigned long)sum, sim->buffer);
}

/* Check the link from output `port` of a router to another router or to a node. */
static tern_status check_output(struct count *count, uint32_t router, unsigned port, struct sim_end end)
{
    const struct sim        *sim = count->sim;
    const struct sim_router *here = &sim->router[router];

    for (unsigned vc = 0; vc < sim->vcs; vc++) {
        uint64_t sum = here->out[port << sim->shift | vc].credits + count->credits[index_of(count, router, port, vc)];
        uint32_t held = count_queue(&here->held_at[port].flits, vc, true), there;

        if (end.link_class == SIM_LINK_TERMINAL) {
            sum += count->flits[index_of(count, router, sim->shape.ports + port, vc)];
            there = count_queue(&sim->node[end.index].backlog, vc, true);
        } else {
            const struct sim_router *other = &sim->router[end.index];

            sum += count->flits[index_of(count, end.index, end.port, vc)];
            sum += count_queue(&other->held_at[end.port].credits, vc, false);
            there = other->in[end.port << sim->shift | vc].flits;
            count->all -= there; /* these flits are counted with the router that has them */
        }
        sum += held + there;
        count->all += held + there;
        if (sum != sim->buffer)
            return wrong(sim, router, port, vc, sum);
    }
    return TERN_OK;
}

/* Check the link from a node to its router. */
static tern_status check_source(struct count *count, uint32_t router, unsigned port, const struct sim_node *node)
{
    const struct sim        *sim = count->sim;
    const struct sim_router *here = &sim->router[router];

    for (unsigned vc = 0; vc < sim->vcs; vc++) {
        uint64_t sum = node->credits[vc] + count->credits[index_of(count, router, sim->shape.ports + port, vc)];

        sum += count->flits[index_of(count, router, port, vc)] + here->in[port << sim->shift | vc].flits;
        sum += count_queue(&here->held_at[port].credits, vc, false);
        if (sum != sim->buffer)
            return wrong(sim, router, port, vc, sum);
    }
    return TERN_OK;
}

static tern_status check_router(struct count *count, uint32_t router)
{
    const struct sim *sim = count->sim;
    tern_status       status = TERN_OK;

    for (unsigned slot = 0; slot < sim->shape.ports << sim->shift; slot++)
        count->all += sim->router[router].in[slot].flits;
    for (unsigned port = 0; port < sim->shape.ports && status == TERN_OK; port++) {
        struct sim_end end = sim->topology->far(sim, router, port);

        if (end.link_class != SIM_LINK_UNUSED)
            status = check_output(count, router, port, end);
        if (end.link_class == SIM_LINK_TERMINAL && status == TERN_OK)
            status = check_source(count, router, port, &sim->node[end.index]);
    }
    return status;
}

tern_status sim_audit(const struct sim *sim)
{
    struct count count = { .sim = sim, .columns = sim->shape.ports + sim->shape.terminals };
    size_t       size = (size_t)sim->shape.routers * count.columns * SIM_MAX_VCS;
    tern_status  status = TERN_OK;

    count.flits = calloc(size, sizeof(*count.flits));
    count.credits = calloc(size, sizeof(*count.credits));
    if (count.flits == NULL || count.credits == NULL) {
        status = tern_base_fail(TERN_ERR_NOMEM, "no memory for an audit; use audit=0");
    } else {
        count_slots(&count);
        for (uint32_t r = 0; r < sim->shape.routers && status == TERN_OK; r++)
            status = check_router(&count, r);
        if (status == TERN_OK && count.all != sim_in_flight(sim))
            status = tern_base_fail(TERN_ERR_STATE,
                                    "cycle %u: %lu flits are in the network, but %lu were injected and not "
                                    "ejected",
                                    sim->now, (unsigned long)count.all, (unsigned long)sim_in_flight(sim));
    }
    free(count.flits);
    free(count.credits);
    return status;
}
