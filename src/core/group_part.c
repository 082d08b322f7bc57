/* group_part.c: departures of a Bruck group that is not the world's, by messages.
 *
 * The first member that has not left the job collects the departures. Every other member tells the collector what it
 * has given up. When all members have departed, or have left the job, the collector tells the others that the departure
 * is complete. If the collector leaves the job first, all members see that in the boot segment, and tell the next
 * member. A member that abandons the team tells all others (group_quit.c), and is then treated like one that has left
 * the job. */
#include "base/bits.h"
#include "core/group_bruck.h"
#include "core/job.h"
#include "core/message.h"

static bool has_left(const struct bruck *c, uint32_t member)
{
    /* acquire: the member's use of the object before it left. Pairs with the release in core/job.c. */
    return atomic_load_explicit(&tern_core_job_slot(tern_link_group_world(&c->base, member))->life,
                                memory_order_acquire) >= TERN_LIFE_LEAVING;
}

/* Return whether the member departs no more: it has left the job, or has abandoned the team. */
static bool is_out(const struct bruck *c, uint32_t member)
{
    /* acquire: pairs with the release in group_quit.c */
    return atomic_load_explicit(&c->parts.of[member].gone, memory_order_acquire) || has_left(c, member);
}

static bool is_whole(const struct bruck *c)
{
    /* acquire: the other members' use of the object. Pairs with the release below. */
    return !tern_base_seq_after(c->base.departures, atomic_load_explicit(&c->parts.whole, memory_order_acquire));
}

static void set_whole(struct bruck *c, uint32_t number, uint64_t other)
{
    atomic_store_explicit(&c->parts.other, other, memory_order_relaxed); /* published by the store below */
    /* release: other. Pairs with the acquire in is_whole(). */
    atomic_store_explicit(&c->parts.whole, number, memory_order_release);
}

/* Send a message to a member. Returns false if there is no space now. */
static bool send(const struct bruck *c, uint32_t member, enum core_direction way, uint64_t object)
{
    int                   peer = tern_link_group_world(&c->base, member);
    struct core_part_wire wire = { .head = { .whose = CORE_WIRE_OWN,
                                             .way = (uint8_t)way,
                                             .mark = CORE_WIRE_MARK,
                                             .group = c->base.id,
                                             .barrier = c->base.departures,
                                             .round = (uint16_t)c->base.me,
                                             .last = 1 },
                                   .object = object };

    return tern_core_wire_send(peer, &wire, sizeof(wire)) != TERN_AGAIN;
}

/* As the collector: if all members have departed, tell them so. */
static void collect(struct bruck *c)
{
    uint32_t number = c->base.departures;
    uint64_t other = 0;

    for (uint32_t i = 0; i < c->base.size; i++) {
        const struct bruck_departure *of = &c->parts.of[i];

        if (i == c->base.me || is_out(c, i))
            continue;
        /* acquire: the object, and the member's use of it. Pairs with the release in tern_core_bruck_part_receive(). */
        if (tern_base_seq_after(number, atomic_load_explicit(&of->number, memory_order_acquire)))
            return;
        if (atomic_load_explicit(&of->object[number & 1], memory_order_relaxed) != c->parts.object) /* after number */
            other = i + 1;
    }
    for (; c->parts.spread < c->base.size; c->parts.spread++)
        if (c->parts.spread != c->base.me && !is_out(c, c->parts.spread) &&
            !send(c, c->parts.spread, CORE_DIRECTION_PARTED, other))
            return;
    set_whole(c, number, other);
}

void tern_core_bruck_advance(struct tern_link_group *group)
{
    struct bruck *c = (struct bruck *)group;
    uint32_t      first = 0;

    if (is_whole(c) || !tern_core_message_hold())
        return;
    while (first != group->me && is_out(c, first))
        first++;
    if (first == group->me) {
        collect(c);
    } else if ((c->parts.told != group->departures || c->parts.to != first) &&
               send(c, first, CORE_DIRECTION_DEPART, c->parts.object)) {
        c->parts.told = group->departures;
        c->parts.to = first;
    }
    tern_core_message_release();
}

void tern_core_bruck_depart(struct tern_link_group *group, uint64_t object)
{
    struct bruck *c = (struct bruck *)group;

    group->departures++;
    c->parts.object = object;
    c->parts.spread = 0;
    if (group->abandons)
        tern_core_bruck_abandon(c);
    else
        tern_core_bruck_advance(group);
}

bool tern_core_bruck_departed(const struct tern_link_group *group, uint32_t member, uint64_t *object)
{
    const struct bruck *c = (const struct bruck *)group;

    *object = c->parts.object;
    if (!is_whole(c))
        return member == group->me;
    if (atomic_load_explicit(&c->parts.other, memory_order_relaxed) == member + 1) /* after whole */
        *object = ~c->parts.object;
    return true;
}

bool tern_core_bruck_part_receive(struct bruck *c, int from, const struct core_part_wire *wire)
{
    uint32_t                member = wire->head.round, number = wire->head.barrier;
    struct bruck_departure *of;

    if (!c->parts.of || member >= c->base.size || tern_link_group_world(&c->base, member) != from)
        return false;
    if (wire->head.last == CORE_WIRE_GAVE_UP)
        return tern_core_bruck_abandon_receive(c, from, &wire->head);
    if (wire->head.way == CORE_DIRECTION_PARTED) {
        if (wire->object > c->base.size)
            return false;
        set_whole(c, number, wire->object);
        return true;
    }
    of = &c->parts.of[member];
    atomic_store_explicit(&of->object[number & 1], wire->object,
                          memory_order_relaxed); /* published by the store below */
    /* release: the object. Pairs with the acquire in collect(). */
    atomic_store_explicit(&of->number, number, memory_order_release);
    return true;
}
