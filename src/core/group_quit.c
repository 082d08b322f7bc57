/* group_quit.c: members of a Bruck group that give up the team.
 *
 * A member that gives up tells the receivers of its outgoing streams that these streams do not come any more. A
 * receiver that waits for such a stream, or enters a later barrier, fails, and gives up too. So all members learn of it
 * along the streams of the barrier, and no other pairs exchange messages. A channel keeps its messages in order: the
 * streams that the member sent before it gave up arrive before this message, and are valid.
 */
#include <sched.h>
#include <stdio.h>

#include "base/bits.h"
#include "base/clock.h"
#include "core/group_bruck.h"
#include "core/job.h"
#include "core/message.h"

#define PATIENCE_NS 1000000000ll /* longest time for which a member that gives up waits for space for its messages */

/* Return the number of outgoing streams of a barrier. */
static uint32_t outflows(const struct bruck *c)
{
    return tern_core_bruck_leads(c) ? c->rounds + tern_core_bruck_locals(c) - 1 : 1;
}

/* Return the leader of the node that is `step` nodes further in the circle. */
static uint32_t leader_after(const struct bruck *c, uint32_t step)
{
    return c->order[c->begin[(c->node + step) % c->nodes]];
}

/* Return the message that ends an outgoing stream, and *receiver: the member that receives it. */
static struct core_wire quit_wire(const struct bruck *c, uint32_t outflow, uint32_t *receiver)
{
    struct core_wire wire = { .whose = CORE_WIRE_OWN,
                              .mark = CORE_WIRE_MARK,
                              .group = c->base.id,
                              .barrier = tern_core_bruck_barrier(c) + tern_core_bruck_is_complete(c),
                              .last = CORE_WIRE_GAVE_UP };

    if (!tern_core_bruck_leads(c)) {
        wire.way = CORE_DIRECTION_UP;
        *receiver = leader_after(c, 0);
    } else if (outflow < c->rounds) {
        wire.way = CORE_DIRECTION_ROUND;
        wire.round = (uint16_t)outflow;
        *receiver = leader_after(c, 1u << outflow);
    } else {
        wire.way = CORE_DIRECTION_DOWN;
        *receiver = c->order[c->position + 1 + outflow - c->rounds];
    }
    return wire;
}

/* Send as many of the messages as there is space for. Returns whether all have been sent. */
static bool tell(struct bruck *c)
{
    if (!tern_core_message_hold())
        return false;
    for (; c->told < outflows(c); c->told++) {
        uint32_t         receiver;
        struct core_wire wire = quit_wire(c, c->told, &receiver);

        if (tern_core_wire_send(tern_link_group_world(&c->base, receiver), &wire, sizeof(wire)) == TERN_AGAIN)
            break;
    }
    tern_core_message_release();
    return c->told == outflows(c);
}

void tern_core_bruck_give_up(struct tern_link_group *group)
{
    struct bruck *c = (struct bruck *)group;
    int64_t       until = tern_base_now() + PATIENCE_NS;
    char          why[512];

    snprintf(why, sizeof(why), "%s", tern_base_detail()); /* the caller reports why it gives up */
    while (!tell(c) && tern_base_now() < until) {
        tern_core_message_poll();
        sched_yield();
    }
    tern_base_fail(TERN_ERR_PEER, "%s", why);
}

/* Return the member that sends an incoming stream. */
static uint32_t sender_of(const struct bruck *c, uint32_t inflow)
{
    uint32_t others = tern_core_bruck_locals(c) - 1;

    if (!tern_core_bruck_leads(c))
        return leader_after(c, 0);
    return inflow < others ? c->order[c->position + 1 + inflow] : leader_after(c, c->nodes - (1u << (inflow - others)));
}

int tern_core_bruck_quitter(struct tern_link_group *group)
{
    const struct bruck *c = (const struct bruck *)group;

    /* acquire: the numbers of the streams. Pairs with the release in tern_core_bruck_quit_receive(). */
    if (!atomic_load_explicit(&c->has_ended, memory_order_acquire) || tern_core_bruck_is_complete(c))
        return -1;
    for (uint32_t i = 0; i < c->inflows; i++) {
        /* acquire: the streams that arrived before. Pairs with the release in tern_core_bruck_quit_receive(). */
        uint64_t ended = atomic_load_explicit(&c->ended[i], memory_order_acquire);

        if (ended != 0 && !tern_base_seq_after((uint32_t)ended, tern_core_bruck_barrier(c)) &&
            !tern_core_bruck_has_come(c, i))
            return (int)sender_of(c, i);
    }
    return -1;
}

bool tern_core_bruck_quit_receive(struct bruck *c, int from, const struct core_wire *head)
{
    struct bruck_stream_in *in = tern_core_bruck_stream_in(c, from, head);

    if (!in)
        return false;
    /* release, both: the streams that arrived before, and the number. Pairs with tern_core_bruck_quitter(). */
    atomic_store_explicit(&c->ended[in - c->in[head->barrier & 1]], BRUCK_ENDED | head->barrier, memory_order_release);
    atomic_store_explicit(&c->has_ended, true, memory_order_release);
    return true;
}
