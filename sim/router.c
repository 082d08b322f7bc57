/* router.c: input-queued routers with virtual channels, separable input-first allocation and internal speed-up.
 *
 * A packet is routed when its head arrives, or when it reaches the front of its buffer, or at the front and again while
 * it waits there (route_at). The packet then requests its output VC. When the output VC is free, a round-robin arbiter
 * grants it to one packet, which keeps it until its last flit has left (VC allocation). Each flit then needs a credit
 * and requests the switch: each input chooses one of the outputs that its VCs request, and each output chooses one of
 * the inputs that chose it (switch allocation). Both arbiters are round robin, and their pointers advance only when a
 * match results. One step later, the flit has passed through the switch and waits for its cycle on the link. Each of
 * the three stages takes one step; with a speed-up there are several steps per cycle.
 *
 * The router never searches for work. A VC that becomes able to send adds itself to the ready set of its port, and the
 * port to that of its router. An output VC that is free and requested is added to the set of pending output VCs. A
 * blocked VC costs nothing.
 *
 * With virtual cut-through, an output VC is granted to a packet only if the VC has credits for the whole packet.
 */
#include "router.h"

#include <assert.h>

#include "congestion.h"
#include "link.h"
#include "node.h"
#include "topology.h"

#define HOT static inline __attribute__((always_inline))

struct grant {
    uint8_t in, vc, out;
};

/* A router as the functions of a step see it. The fields stay in registers, and shift is a constant in each copy of the
 * functions. */
struct lane {
    struct sim        *sim;
    struct sim_router *router;
    struct sim_port   *port;
    struct sim_in_vc  *in;
    struct sim_out_vc *out;
    struct sim_reach   reach;
    unsigned           shift;
};

/* Return the first member of a set after turn, or the first of all if there is none. */
HOT unsigned pick(uint64_t set, unsigned turn)
{
    uint64_t after = set & (~1ull << turn);

    return (unsigned)__builtin_ctzll(after != 0 ? after : set);
}

/* Return the first member after turn of a set of several words, which must not be empty. */
static inline unsigned pick_of_words(const uint64_t *set, unsigned words, unsigned turn)
{
    unsigned at = turn >> 6;
    uint64_t left = set[at] & (~1ull << (turn & 63));

    while (left == 0) {
        at = at + 1 == words ? 0 : at + 1;
        left = set[at];
    }
    return (at << 6) + (unsigned)__builtin_ctzll(left);
}

/* Mark an input VC as ready to send if so is 1. */
HOT void make_ready(struct lane lane, unsigned in, unsigned vc, const struct sim_in_vc *from, unsigned so)
{
    lane.port[in].ready |= (uint16_t)(so << vc);
    lane.port[in].asks |= (uint64_t)so << from->out;
    lane.router->ready |= (uint64_t)so << in;
}

/* Return the outputs that the ready VCs among 1, 2, 4, 8 or 16 VCs request. The functions are unrolled by hand, because
 * the compiler would not unroll a loop. */
HOT uint64_t asks_1(const struct sim_in_vc *from, unsigned ready)
{
    return (uint64_t)(ready & 1) << from->out;
}

HOT uint64_t asks_2(const struct sim_in_vc *from, unsigned ready)
{
    return asks_1(from, ready) | asks_1(from + 1, ready >> 1);
}

HOT uint64_t asks_4(const struct sim_in_vc *from, unsigned ready)
{
    return asks_2(from, ready) | asks_2(from + 2, ready >> 2);
}

HOT uint64_t asks_8(const struct sim_in_vc *from, unsigned ready)
{
    return asks_4(from, ready) | asks_4(from + 4, ready >> 4);
}

HOT uint64_t asks_of(const struct sim_in_vc *from, unsigned ready, unsigned shift)
{
    switch (shift) {
    case 0: return asks_1(from, ready);
    case 1: return asks_2(from, ready);
    case 2: return asks_4(from, ready);
    case 3: return asks_8(from, ready);
    default: return asks_8(from, ready) | asks_8(from + 8, ready >> 8);
    }
}

/* Mark an input VC as not ready if so is 1. The code has no branches, because so is hard to predict. */
HOT void make_unready(struct lane lane, unsigned in, unsigned vc, unsigned so)
{
    struct sim_port        *port = &lane.port[in];
    const struct sim_in_vc *from = &lane.in[in << lane.shift];
    unsigned                ready = port->ready & ~(so << vc);

    port->ready = (uint16_t)ready;
    port->asks = asks_of(from, ready, lane.shift);
    lane.router->ready ^= (uint64_t)(ready == 0) << in; /* the bit was set before */
}

/* Add an output VC that is free and requested to the pending set. */
static inline void give_away(struct sim_router *router, unsigned wanted)
{
    router->pending[wanted >> 6] |= 1ull << (wanted & 63);
    router->pending_words |= 1ull << (wanted >> 6);
}

/* Return a pointer to the entry at a position in the packet ring of an input VC. */
static inline uint32_t *packet_at(const struct sim *sim, const struct sim_router *router, unsigned slot, uint16_t at)
{
    return &router->ring[(size_t)slot << sim->ring_shift | (at & ((1u << sim->ring_shift) - 1))];
}

/* Choose the output port and output VC of a packet. */
static inline void route(struct sim *sim, struct sim_router *router, unsigned slot, struct sim_packet *packet)
{
    sim->topology->route(sim, router, slot >> sim->shift, slot & ((1u << sim->shift) - 1), packet);
}

/* Request the output VC for the first packet of an input VC, which has been routed. */
static void ask_routed(struct sim *sim, struct sim_router *router, unsigned slot, const struct sim_packet *first)
{
    struct sim_in_vc  *from = &router->in[slot];
    unsigned           wanted = (unsigned)first->out << sim->shift | first->out_vc;
    struct sim_out_vc *to = &router->out[wanted];

    from->flit = sim_flit(first->out_vc, (uint32_t)(first - sim->pool.packet));
    from->state = SIM_VC_WAITING;
    from->out = first->out;
    from->out_vc = first->out_vc;
    from->sent = 0;
    from->size = first->size;
    router->waiting[wanted * sim->words_per_set + (slot >> 6)] |= 1ull << (slot & 63);
    to->waiting++;
    if (to->owner == SIM_FREE)
        give_away(router, wanted);
}

/* Handle a packet that has become the first of an input VC: route it if necessary, and request its output VC. */
static void ask(struct sim *sim, struct sim_router *router, unsigned slot, uint32_t number)
{
    struct sim_packet *first = &sim->pool.packet[number];

    first->hops++;
    if (sim->late)
        route(sim, router, slot, first);
    if (sim->again && first->undecided)
        router->undecided[slot >> 6] |= 1ull << (slot & 63);
    ask_routed(sim, router, slot, first);
}

/* Withdraw the request of an input VC for its output VC. */
static void withdraw(struct sim *sim, struct sim_router *router, unsigned slot)
{
    const struct sim_in_vc *from = &router->in[slot];
    unsigned                wanted = (unsigned)from->out << sim->shift | from->out_vc;

    router->waiting[wanted * sim->words_per_set + (slot >> 6)] &= ~(1ull << (slot & 63));
    if (--router->out[wanted].waiting > 0)
        return;
    router->pending[wanted >> 6] &= ~(1ull << (wanted & 63));
    if (router->pending[wanted >> 6] == 0)
        router->pending_words &= ~(1ull << (wanted >> 6));
}

/* Put the first packet of an input VC on a non-minimal route instead of waiting for its minimal route. */
static void go_round(struct sim *sim, struct sim_router *router, unsigned slot, uint16_t via)
{
    struct sim_packet *first = &sim->pool.packet[*packet_at(sim, router, slot, router->in[slot].head)];

    first->via = via;
    first->flags &=
        (uint8_t) ~(SIM_CROSSED | SIM_LAST); /* routing set these for the link that the packet now does not take */
    first->flags |= SIM_ROUND;
    withdraw(sim, router, slot);
    router->undecided[slot >> 6] &= ~(1ull << (slot & 63));
    route(sim, router, slot, first);
    ask_routed(sim, router, slot, first);
}

/* Compare the queues again for packets that wait on their minimal route, in an eighth of the input VCs per cycle. */
static void route_again(struct sim *sim, struct sim_router *router, uint32_t now)
{
    uint64_t turn = 0x0101010101010101ull << (now & 7);

    for (unsigned word = 0; word < sim->words_per_set; word++) {
        for (uint64_t left = router->undecided[word] & turn; left != 0; left &= left - 1) {
            unsigned slot = word << 6 | (unsigned)__builtin_ctzll(left);
            uint16_t via;

            if (sim->topology->round(sim, router, slot >> sim->shift, &router->in[slot], &via))
                go_round(sim, router, slot, via);
        }
    }
}

/* Receive the head flit of a packet. */
static void receive_head(struct sim *sim, struct sim_router *router, unsigned slot, uint32_t number)
{
    struct sim_in_vc *to = &router->in[slot];

    assert(to->state == SIM_VC_IDLE ||
           to->got == sim->pool.packet[*packet_at(sim, router, slot, (uint16_t)(to->tail - 1))].size);
    *packet_at(sim, router, slot, to->tail++) = number;
    to->got = 1;
    if (!sim->late)
        route(sim, router, slot, &sim->pool.packet[number]);
    if (to->state == SIM_VC_IDLE)
        ask(sim, router, slot, number);
}

/* Receive a flit. */
HOT void receive_flit(struct lane lane, unsigned in, uint32_t flit)
{
    unsigned          vc = sim_flit_vc(flit), slot = in << lane.shift | vc;
    struct sim_in_vc *to = &lane.in[slot];

    assert(to->flits < lane.sim->buffer);
    to->flits++;
    if (flit & SIM_FLIT_HEAD) {
        receive_head(lane.sim, lane.router, slot, sim_flit_packet(flit));
        return;
    }
    assert(*packet_at(lane.sim, lane.router, slot, (uint16_t)(to->tail - 1)) == sim_flit_packet(flit) &&
           to->got < lane.sim->pool.packet[sim_flit_packet(flit)].size); /* packets do not interleave within a VC */
    to->got++;
    make_ready(lane, in, vc, to,
               (to->state == SIM_VC_ACTIVE) & (lane.out[(unsigned)to->out << lane.shift | to->out_vc].credits > 0));
}

HOT void receive_credit(struct lane lane, unsigned out, unsigned vc)
{
    struct sim_out_vc *to = &lane.out[out << lane.shift | vc];

    assert(to->credits < lane.sim->buffer && lane.port[out].used > 0);
    lane.port[out].used--;
    if (to->credits++ == 0 && to->owner != SIM_FREE) {
        const struct sim_in_vc *owner = &lane.in[to->owner];

        make_ready(lane, (unsigned)to->owner >> lane.shift, to->owner & ((1u << lane.shift) - 1), owner,
                   owner->flits > 0);
    } else if (to->credits == lane.sim->whole && to->owner == SIM_FREE && to->waiting > 0) {
        give_away(lane.router, out << lane.shift | vc); /* there is now room for a whole packet */
    }
}

/* Receive flits and credits from other units. */
HOT void receive_outer(struct lane lane, uint32_t now)
{
    for (uint64_t left = lane.router->outer; left != 0; left &= left - 1) {
        unsigned  port = (unsigned)__builtin_ctzll(left);
        uint32_t *flit = sim_lane_flit(lane.sim, lane.router, port, now);
        uint8_t  *credit = sim_lane_credit(lane.sim, lane.router, port, now);

        if (*flit != 0)
            receive_flit(lane, port, sim_take_flit(flit));
        if (*credit != 0)
            receive_credit(lane, port, sim_take_credit(credit));
    }
}

HOT void receive(struct lane lane, uint32_t now)
{
    unsigned  inner = lane.sim->inner;
    uint8_t  *row = sim_row(lane.sim, lane.router, now), *credit = row + lane.sim->credits_at;
    uint32_t *flit = (uint32_t *)(void *)row;

    for (uint64_t left = sim_row_flits(row, 0, inner); left != 0; left &= left - 1) {
        unsigned port = (unsigned)__builtin_ctzll(left);

        receive_flit(lane, port, sim_take_flit(&flit[port]));
    }
    for (uint64_t left = sim_row_credits(credit, 0, inner); left != 0; left &= left - 1) {
        unsigned port = (unsigned)__builtin_ctzll(left);

        receive_credit(lane, port, sim_take_credit(&credit[port]));
    }
    receive_outer(lane, now);
}

/* Choose the VC of an input that sends to an output, round robin. */
HOT unsigned choose_vc(struct lane lane, unsigned in, unsigned out)
{
    const struct sim_port  *port = &lane.port[in];
    const struct sim_in_vc *from = &lane.in[in << lane.shift];
    unsigned                able = 0;

    if ((port->ready & (port->ready - 1)) == 0)
        return (unsigned)__builtin_ctz(port->ready);
    for (unsigned left = port->ready; left != 0; left &= left - 1) {
        unsigned vc = (unsigned)__builtin_ctz(left);

        able |= (unsigned)(from[vc].out == out) << vc;
    }
    return pick(able, port->vc_turn);
}

/* Match inputs with outputs. Returns the number of matches. */
HOT unsigned match(struct lane lane, struct grant *grant)
{
    uint64_t chosen[SIM_MAX_PORTS]; /* for each output, the inputs that chose it; valid where outputs has the bit */
    uint64_t outputs = 0;
    unsigned count = 0;

    for (uint64_t left = lane.router->ready; left != 0; left &= left - 1) {
        unsigned in = (unsigned)__builtin_ctzll(left), out = pick(lane.port[in].asks, lane.port[in].in_turn);
        uint64_t others = outputs >> out & 1 ? chosen[out] : 0;

        chosen[out] = others | (left & -left);
        outputs |= 1ull << out;
    }
    for (; outputs != 0; outputs &= outputs - 1) {
        unsigned out = (unsigned)__builtin_ctzll(outputs), in = pick(chosen[out], lane.port[out].out_turn);
        unsigned vc = choose_vc(lane, in, out);

        lane.port[in].in_turn = (uint8_t)out;
        lane.port[in].vc_turn = (uint8_t)vc;
        lane.port[out].out_turn = (uint8_t)in;
        grant[count++] = (struct grant){ (uint8_t)in, (uint8_t)vc, (uint8_t)out };
    }
    return count;
}

/* Grant an output VC to one of the input VCs that request it. */
HOT void give_vc(struct lane lane, unsigned wanted)
{
    struct sim_out_vc *to = &lane.out[wanted];
    uint64_t          *asking = lane.router->waiting + wanted * lane.sim->words_per_set;
    unsigned           slot = pick_of_words(asking, lane.sim->words_per_set, to->turn);
    struct sim_in_vc  *from = &lane.in[slot];

    if (to->credits < lane.sim->whole)
        return; /* receive_credit makes the VC pending again when there is room */
    asking[slot >> 6] &= ~(1ull << (slot & 63));
    lane.router->undecided[slot >> 6] &= ~(1ull << (slot & 63));
    to->waiting--;
    to->turn = to->owner = (uint16_t)slot;
    from->state = SIM_VC_ACTIVE;
    make_ready(lane, slot >> lane.shift, slot & ((1u << lane.shift) - 1), from,
               to->credits > 0); /* the head flit is in the buffer */
}

HOT void allocate_vcs(struct lane lane)
{
    uint64_t *pending = lane.router->pending;

    for (uint64_t words = lane.router->pending_words; words != 0; words &= words - 1) {
        unsigned word = (unsigned)__builtin_ctzll(words);

        for (uint64_t left = pending[word]; left != 0; left &= left - 1)
            give_vc(lane, word << 6 | (unsigned)__builtin_ctzll(left));
        pending[word] = 0;
    }
    lane.router->pending_words = 0;
}

/* Release the output VC of an input VC after the last flit of its packet has left, and proceed to the next packet. */
static void finish_packet(struct sim *sim, struct sim_router *router, unsigned slot)
{
    struct sim_in_vc  *from = &router->in[slot];
    unsigned           held = (unsigned)from->out << sim->shift | from->out_vc;
    struct sim_out_vc *to = &router->out[held];

    to->owner = SIM_FREE;
    if (to->waiting > 0)
        give_away(router, held);
    if (++from->head != from->tail) {
        ask(sim, router, slot, *packet_at(sim, router, slot, from->head));
    } else {
        assert(from->flits == 0);
        from->state = SIM_VC_IDLE;
    }
}

/* Send the flit that was granted the switch. The flit leaves the switch in cycle `through`. */
HOT void move(struct lane lane, struct grant grant, uint32_t now, uint32_t through)
{
    struct sim_port   *output = &lane.port[grant.out];
    unsigned           slot = (unsigned)grant.in << lane.shift | grant.vc;
    struct sim_in_vc  *from = &lane.in[slot];
    struct sim_out_vc *to = &lane.out[(unsigned)grant.out << lane.shift | from->out_vc];

    assert(from->flits > 0 && to->credits > 0 && from->out == grant.out);
    if (from->sent == 0 && lane.sim->fecn)
        sim_congestion_mark(lane.sim, lane.router, output, to, &lane.sim->pool.packet[sim_flit_packet(from->flit)]);
    sim_link_flit(lane.router, lane.reach, grant.out, through, from->flit | (from->sent == 0 ? SIM_FLIT_HEAD : 0));
    sim_link_credit(lane.router, lane.reach, grant.in, now, grant.vc);
    from->flits--;
    to->credits--;
    output->used++;
    from->sent++;
    make_unready(lane, grant.in, grant.vc, (from->sent == from->size) | (from->flits == 0) | (to->credits == 0));
    if (from->sent == from->size)
        finish_packet(lane.sim, lane.router, slot);
}

/* Simulate one step. Both allocations use the state from before the step. */
HOT unsigned step(struct lane lane, uint32_t now, uint32_t through)
{
    struct grant grant[SIM_MAX_PORTS];
    unsigned     grants = match(lane, grant);

    allocate_vcs(lane);
    for (unsigned i = 0; i < grants; i++)
        move(lane, grant[i], now, through);
    return grants;
}

HOT void run(struct sim_worker *worker, struct lane lane, uint32_t begin, uint32_t end)
{
    uint32_t speed = lane.sim->speed, part = (uint32_t)((uint64_t)begin * speed % 1000); /* of a step */
    uint64_t hops = 0;

    for (uint32_t now = begin; now < end; now++) {
        unsigned steps = (part + speed) / 1000;

        part = part + speed - steps * 1000;
        receive(lane, now);
        if (lane.router->terminals != 0)
            sim_nodes_run(worker, lane.router, now);
        if (__builtin_expect(lane.sim->again, 0))
            route_again(lane.sim, lane.router, now);
        for (unsigned i = 1; i <= steps && (lane.router->ready | lane.router->pending_words) != 0; i++)
            hops += step(lane, now, i < steps ? now : now + 1);
    }
    worker->stats.hops += hops;
}

void sim_router_run(struct sim_worker *worker, struct sim_router *router, uint32_t begin, uint32_t end)
{
    struct lane lane = { .sim = worker->sim,
                         .router = router,
                         .port = router->port,
                         .in = router->in,
                         .out = router->out,
                         .reach = sim_reach_of(worker) };

    switch (worker->sim->shift) { /* each case gets a specialized copy of the functions above */
    case 0:
        lane.shift = 0;
        run(worker, lane, begin, end);
        break;
    case 1:
        lane.shift = 1;
        run(worker, lane, begin, end);
        break;
    case 2:
        lane.shift = 2;
        run(worker, lane, begin, end);
        break;
    case 3:
        lane.shift = 3;
        run(worker, lane, begin, end);
        break;
    default:
        lane.shift = 4;
        run(worker, lane, begin, end);
        break;
    }
}
