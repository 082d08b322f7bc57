/* link.c: flits and credits that are due after the last slot.
 *
 * What a port holds back leaves in consecutive cycles. The last of these cycles is the one before the link is free
 * again, so no times need to be stored. Nodes never hold anything back, because they send and consume at most one flit
 * per cycle.
 */
#include "link.h"

void sim_link_fetch(const struct sim_router *router)
{
    for (uint64_t left = router->held; left != 0; left &= left - 1) {
        const struct sim_held *held = &router->held_at[__builtin_ctzll(left)];

        sim_queue_fetch(&held->flits);
        sim_queue_fetch(&held->credits);
    }
}

void sim_link_release(struct sim_worker *worker, struct sim_router *router)
{
    struct sim_reach reach = sim_reach_of(worker);

    for (uint64_t left = router->held; left != 0; left &= left - 1) {
        unsigned         number = (unsigned)__builtin_ctzll(left);
        struct sim_port *port = &router->port[number];
        struct sim_held *held = &router->held_at[number];
        uint32_t         flit_at = port->link_free - sim_queue_count(&held->flits) + port->flit_delay;
        uint32_t         credit_at = port->credit_free - sim_queue_count(&held->credits) + port->credit_delay;

        for (; sim_queue_count(&held->flits) > 0 && flit_at < reach.limit; flit_at++)
            sim_link_put_flit(reach, port, flit_at, sim_queue_pop(&held->flits));
        for (; sim_queue_count(&held->credits) > 0 && credit_at < reach.limit; credit_at++)
            sim_link_put_credit(reach, port, credit_at, sim_queue_pop(&held->credits));
        if (sim_queue_count(&held->flits) + sim_queue_count(&held->credits) == 0)
            router->held &= ~(1ull << number);
    }
}
