/* link.h: sending flits and credits over a link, and taking what comes.
 *
 * A flit on its way is a word of 32 bits: that there is one, whether it is the head, its VC, its packet. A credit is a
 * byte: its VC, plus 1. Columns of a row are the inner ports of the router, then the nodes' ends of their cables.
 */
#ifndef SIM_LINK_H
#define SIM_LINK_H

#include "sim.h"

#define SIM_FLIT 1u
#define SIM_FLIT_HEAD 2u

/* What the functions below need of the network, in registers: stores into slots could otherwise change it. */
struct sim_reach {
    uint32_t mask;  /* slots minus one */
    uint32_t limit; /* the first cycle beyond them */
};

static inline struct sim_reach sim_reach_of(const struct sim_worker *worker)
{
    return (struct sim_reach){ worker->sim->slot_mask, worker->limit };
}

/* A flit other than the head. */
static inline uint32_t sim_flit(unsigned vc, uint32_t packet)
{
    return packet << 6 | vc << 2 | SIM_FLIT;
}

static inline unsigned sim_flit_vc(uint32_t flit)
{
    return flit >> 2 & 15;
}

static inline uint32_t sim_flit_packet(uint32_t flit)
{
    return flit >> 6;
}

static inline void sim_link_put_flit(struct sim_reach reach, const struct sim_port *port, uint32_t due, uint32_t flit)
{
    *(uint32_t *)(void *)(port->far_flit + (size_t)(due & reach.mask) * port->flit_step) = flit;
}

static inline void sim_link_put_credit(struct sim_reach reach, const struct sim_port *port, uint32_t due, unsigned vc)
{
    port->far_credit[(size_t)(due & reach.mask) * port->credit_step] = (uint8_t)(vc + 1);
}

/* Keep back what is due beyond the slots. */
static inline void sim_link_hold_flit(struct sim_router *router, unsigned port, uint32_t flit)
{
    sim_queue_push(&router->held_at[port].flits, flit);
    router->held |= 1ull << port;
}

static inline void sim_link_hold_credit(struct sim_router *router, unsigned port, unsigned vc)
{
    sim_queue_push(&router->held_at[port].credits, vc);
    router->held |= 1ull << port;
}

/* Have what a router holds back in the cache soon. Then put into slots what of it is now due before the limit. */
void sim_link_fetch(const struct sim_router *router);
void sim_link_release(struct sim_worker *worker, struct sim_router *router);

/* The first cycle from `at` on in which the link of port is free, taken. */
static inline uint32_t sim_link_turn(uint32_t *link_free, uint32_t at)
{
    uint32_t turn = *link_free > at ? *link_free : at;

    *link_free = turn + 1;
    return turn;
}

/* Send a flit over a router's output, in the first cycle from `at` on in which the link is free. */
static inline void sim_link_flit(struct sim_router *router, struct sim_reach reach, unsigned out, uint32_t at,
                                 uint32_t flit)
{
    struct sim_port *port = &router->port[out];
    uint32_t         due = sim_link_turn(&port->link_free, at) + port->flit_delay;

    port->sent++;
    if (__builtin_expect(due < reach.limit, 1))
        sim_link_put_flit(reach, port, due, flit);
    else
        sim_link_hold_flit(router, out, flit);
}

/* The same for a credit, against the direction of the flits that come in. */
static inline void sim_link_credit(struct sim_router *router, struct sim_reach reach, unsigned in, uint32_t at,
                                   unsigned vc)
{
    struct sim_port *port = &router->port[in];
    uint32_t         due = sim_link_turn(&port->credit_free, at) + port->credit_delay;

    if (__builtin_expect(due < reach.limit, 1))
        sim_link_put_credit(reach, port, due, vc);
    else
        sim_link_hold_credit(router, in, vc);
}

/* The row of a router for a cycle. */
static inline uint8_t *sim_row(const struct sim *sim, const struct sim_router *router, uint32_t now)
{
    return router->rows + (size_t)(now & sim->slot_mask) * sim->row_bytes;
}

/* The set of columns of a row, counted from `first` on, that have a flit. */
static inline uint64_t sim_row_flits(const uint8_t *row, unsigned first, unsigned count)
{
    const uint32_t *slot = (const uint32_t *)(const void *)row + first;
    uint64_t        set = 0;

    for (unsigned i = 0; i < count; i++)
        set |= (uint64_t)(slot[i] & SIM_FLIT) << i;
    return set;
}

/* The same for credits; row is where credits begin. */
static inline uint64_t sim_row_credits(const uint8_t *row, unsigned first, unsigned count)
{
    uint64_t set = 0;

    for (unsigned i = 0; i < count; i++)
        set |= (uint64_t)(row[first + i] != 0) << i;
    return set;
}

/* The slots of an outer port for a cycle. */
static inline uint32_t *sim_lane_flit(const struct sim *sim, const struct sim_router *router, unsigned port,
                                      uint32_t now)
{
    return (uint32_t *)(void *)(router->lanes + (size_t)(port - sim->inner) * sim->lane_bytes) + (now & sim->slot_mask);
}

static inline uint8_t *sim_lane_credit(const struct sim *sim, const struct sim_router *router, unsigned port,
                                       uint32_t now)
{
    return router->lanes + (size_t)(port - sim->inner) * sim->lane_bytes + 4 * (sim->slot_mask + 1) +
           (now & sim->slot_mask);
}

/* Take what is in a slot. */
static inline uint32_t sim_take_flit(uint32_t *slot)
{
    uint32_t flit = *slot;

    *slot = 0;
    return flit;
}

static inline unsigned sim_take_credit(uint8_t *slot)
{
    unsigned vc = *slot - 1u;

    *slot = 0;
    return vc;
}

#endif
