/* deadlock.c: detecting a cycle of packets that wait for each other.
 *
 * Every input VC waits for at most one other VC: for the VC that owns the output VC it requests; for the buffer at the
 * other end of its link, if that buffer is full; or, if it is empty, for the upstream VC that has the rest of its
 * packet. With virtual cut-through, a VC also waits for the buffer at the other end if the buffer has no room for the
 * whole packet. Sinks and sources never wait for a VC. The VCs therefore form chains, and a deadlock is a chain that
 * closes into a cycle. While a flit or credit is in flight between two VCs, neither of them waits for the other. The
 * search is exact: it finds a deadlock as soon as the cycle is closed, even if other parts of the network still move,
 * and it never reports mere congestion.
 */
#include "deadlock.h"

#include <stdlib.h>

#include "topology.h"

struct search {
    const struct sim *sim;
    uint32_t          per_router; /* number of VCs per router */
    uint32_t         *seen;       /* [VC] number of the chain in which the VC was visited; 0: not visited */
};

static const struct sim_in_vc *vc_at(const struct search *search, uint32_t at)
{
    return &search->sim->router[at / search->per_router].in[at % search->per_router];
}

/* Return the number of the input VC that owns output VC out_vc of a port, or SIM_NONE. */
static uint32_t owner_of(const struct search *search, uint32_t router, unsigned out, unsigned out_vc)
{
    uint16_t owner = search->sim->router[router].out[out << search->sim->shift | out_vc].owner;

    return owner == SIM_FREE ? SIM_NONE : router * search->per_router + owner;
}

/* An empty VC waits for the upstream VC that has the rest of its packet. Returns that VC, or SIM_NONE. */
static uint32_t waits_before(const struct search *search, uint32_t router, unsigned in, unsigned vc)
{
    struct sim_end end = search->sim->topology->far(search->sim, router, in);

    return end.link_class == SIM_LINK_TERMINAL ? SIM_NONE : owner_of(search, end.index, end.port, vc);
}

/* A VC without credits for the given number of flits waits for the buffer at the other end. Returns that VC, or
 * SIM_NONE. */
static uint32_t waits_behind(const struct search *search, uint32_t router, unsigned out, unsigned out_vc,
                             uint32_t needed)
{
    const struct sim *sim = search->sim;
    struct sim_end    end = sim->topology->far(sim, router, out);
    uint32_t          slot = end.port << sim->shift | out_vc;

    if (end.link_class == SIM_LINK_TERMINAL || sim->router[end.index].in[slot].flits + needed <= sim->buffer)
        return SIM_NONE;
    return end.index * search->per_router + slot;
}

/* Return the VC that a VC waits for, or SIM_NONE if it can move now or will be able to soon. */
static uint32_t waits_for(const struct search *search, uint32_t at)
{
    const struct sim       *sim = search->sim;
    const struct sim_in_vc *vc = vc_at(search, at);
    uint32_t                router = at / search->per_router, slot = at % search->per_router;

    if (vc->state == SIM_VC_IDLE)
        return SIM_NONE;
    if (vc->state == SIM_VC_WAITING) {
        uint32_t owner = owner_of(search, router, vc->out, vc->out_vc);

        return owner == SIM_NONE && sim->whole > 0 ? waits_behind(search, router, vc->out, vc->out_vc, sim->whole)
                                                   : owner;
    }
    if (vc->flits == 0)
        return waits_before(search, router, slot >> sim->shift, slot & ((1u << sim->shift) - 1));
    if (sim->router[router].out[(unsigned)vc->out << sim->shift | vc->out_vc].credits > 0)
        return SIM_NONE;
    return waits_behind(search, router, vc->out, vc->out_vc, 1);
}

static size_t list(const struct search *search, uint32_t begin, struct sim_blocked *member, size_t room)
{
    unsigned shift = search->sim->shift;
    uint32_t at = begin;
    size_t   count = 0;

    do {
        const struct sim_in_vc *vc = vc_at(search, at);
        uint32_t                slot = at % search->per_router;

        if (count < room)
            member[count] = (struct sim_blocked){ at / search->per_router, slot >> shift, slot & ((1u << shift) - 1),
                                                  vc->out, vc->out_vc };
        count++;
        at = waits_for(search, at);
    } while (at != begin);
    return count;
}

size_t sim_deadlock_find(const struct sim *sim, struct sim_blocked *member, size_t room)
{
    struct search search = { .sim = sim, .per_router = sim->shape.ports << sim->shift };
    uint32_t      all = sim->shape.routers * search.per_router;
    size_t        found = 0;

    search.seen = calloc(all, sizeof(*search.seen));
    if (search.seen == NULL)
        return 0; /* out of memory: skip this search; the next one may succeed */
    for (uint32_t i = 0; i < all && found == 0; i++) {
        uint32_t at = i;

        while (at != SIM_NONE && search.seen[at] == 0) {
            search.seen[at] = i + 1;
            at = waits_for(&search, at);
        }
        if (at != SIM_NONE && search.seen[at] == i + 1)
            found = list(&search, at, member, room);
    }
    free(search.seen);
    return found;
}
