/* link.h: sending flits and credits over a link, and receiving them.
 *
 * A flit in flight is a 32-bit word: a valid bit, a head bit, the VC and the packet number. A credit is a byte: the VC
 * plus 1. The columns of a row are the inner ports of the router, followed by the nodes' ends of their cables.
 */
#ifndef SIM_LINK_H
#define SIM_LINK_H

#include "sim.h"

#define SIM_FLIT 1u
#define SIM_FLIT_HEAD 2u

/* The fields of the network that the functions below need. A copy by value stays in registers, because the compiler
 * must assume that a store into a slot could change the originals. */
struct sim_reach {
    uint32_t mask;  /* number of slots minus one */
    uint32_t limit; /* first cycle after the last slot */
};

static inline struct sim_reach sim_reach_of(const struct sim_worker *worker)
{
    return (struct sim_reach){ worker->sim->slot_mask, worker->limit };
}

/* Return the word for a body flit of a packet. */
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

/* Hold back a flit or a credit that is due after the last slot. */
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

/* sim_link_fetch prefetches the flits and credits that a router holds back. sim_link_release stores those that are now
 * due before the limit into their slots. */
void sim_link_fetch(const struct sim_router *router);
void sim_link_release(struct sim_worker *worker, struct sim_router *router);

/* Reserve the first cycle from `at` on in which the link is free, and return it. */
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

/* Send a credit over a router's input, opposite to the direction of the flits, in the first cycle from `at` on in which
 * the link is free. */
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

/* Return the row of a router for cycle now. */
static inline uint8_t *sim_row(const struct sim *sim, const struct sim_router *router, uint32_t now)
{
    return router->rows + (size_t)(now & sim->slot_mask) * sim->row_bytes;
}

/* Return the set of columns from `first` on that contain a flit. Bit 0 is column `first`. */
static inline uint64_t sim_row_flits(const uint8_t *row, unsigned first, unsigned count)
{
    const uint32_t *slot = (const uint32_t *)(const void *)row + first;
    uint64_t        set = 0;

    for (unsigned i = 0; i < count; i++)
        set |= (uint64_t)(slot[i] & SIM_FLIT) << i;
    return set;
}

/* Return the set of columns from `first` on that contain a credit. row points to the credits of the row. */
static inline uint64_t sim_row_credits(const uint8_t *row, unsigned first, unsigned count)
{
    uint64_t set = 0;

    for (unsigned i = 0; i < count; i++)
        set |= (uint64_t)(row[first + i] != 0) << i;
    return set;
}

/* Return the slot of an outer port for cycle now. */
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

/* Empty a slot and return its content. */
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
