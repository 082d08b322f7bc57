/* group.h: groups: the members of a team synchronize in barriers and exchange contributions.
 *
 * A link that reaches all members may provide their group; the core has groups of its own for members on several nodes
 * (core/team.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/status.h"
#include "boot/segment.h"

struct tern_link;
struct tern_group_ops;

#define TERN_LINK_BOARD 20608u /* bytes of a member's board */

/* The members of a team. The struct of an implementation begins with this one. */
struct tern_link_group {
    const struct tern_group_ops *ops;
    uint32_t                     id; /* 0 is the world, 1 the node, 2 this rank alone; others: core/team.h */
    uint32_t                     size, me;
    const int32_t               *world_rank; /* [size] ranks in the job; NULL: equal to the members' numbers */
    uint64_t                     space;      /* arena offset of the memory that the group asked for (space); 0: none */
    uint32_t                     longest;    /* bytes of a contribution, at most: set by open */
    uint32_t                     departures; /* number of objects that this member has given up */
    uint32_t                     regroups;   /* number of teams of survivors that this member has asked for */
    /* Number of the collective call that contributes to the next barrier, for the reports of other members
       (core/collective.h). Set by the caller of contribute and arrive, and 0, a barrier, otherwise. */
    uint32_t                     call;
    bool mixed; /* set by arrived: some members have contributed to the barrier and others have not. The caller resets
                   it */
    bool abandons; /* set before depart: this member closes the group afterwards, and does not wait for the others */
    bool naps;     /* set by quitter: no member may wake this one any more, so that a wait polls from time to time */
    uint32_t quits_seen; /* tern_segment.quits when no member of this group had given up */
};

/* What another member is doing while this member is not, for reports. */
enum tern_member_doing {
    TERN_MEMBER_ELSEWHERE,
    TERN_MEMBER_IN_CALL,     /* it has entered the barrier that follows the last one of this member */
    TERN_MEMBER_IN_DEPARTURE /* it has given up one object more than this member */
};

/* Return the rank in the job of a member. */
static inline int tern_link_group_world(const struct tern_link_group *group, uint32_t member)
{
    return group->world_rank ? group->world_rank[member] : (int)member;
}

#define TERN_LINK_CONTRIBUTION 4160 /* bytes of one member's contribution, at most: a cache line and 4 KiB */

/* The functions of a group. open and close are called by the thread that makes a collective call, the others by one
 * thread at a time for each team. */
struct tern_group_ops {
    /* Open a group for the members that as describes; the data that as points to must outlive the group. link is NULL
     * for the groups of the core. */
    tern_status (*open)(struct tern_link *link, const struct tern_link_group *as, struct tern_link_group **out);
    void (*close)(struct tern_link_group *group);
    /* Return how many bytes of the node's arena the members of a group of this size must share; 0: none. One member
     * allocates the bytes and tells the others their offset before they open the group. The member that closes the
     * group last frees the bytes. The world and the node need none. */
    uint64_t (*space)(uint32_t size);
    /* A barrier: call arrive once, then poll arrived until it returns true. has_arrived returns whether a member has
     * arrived; if a death does not end the job, it never becomes true for a member that died before it arrived. */
    void (*arrive)(struct tern_link_group *group);
    bool (*arrived)(struct tern_link_group *group);
    bool (*has_arrived)(const struct tern_link_group *group, uint32_t member);
    /* give_up: enter no barrier any more, and tell the members that wait for this one, or will wait for it. Called once
     * at most. quitter: return a member that has given up and for which the barrier that this member has entered waits,
     * or -1. A member of which quitter returns another one gives up too, so that those that wait for it learn of it. A
     * member that arrived at a barrier before it gave up does not invalidate that barrier where all members see its
     * arrival; where it passes on the messages of others, it does if it gave up before it had done so. */
    void (*give_up)(struct tern_link_group *group);
    int (*quitter)(struct tern_link_group *group);
    /* Give up objects that all members give up in the same order: call depart once for each object; departed returns
     * whether the member has departed as often as this one, and the object (0: not known). Unlike a barrier, departing
     * does not depend on members that have died. */
    void (*depart)(struct tern_link_group *group, uint64_t object);
    bool (*departed)(const struct tern_link_group *group, uint32_t member, uint64_t *object);
    /* Send the messages that departures need. Called before departed. */
    void (*advance)(struct tern_link_group *group);
    /* Ask for a team of the members that survive, in jobs that survive deaths: regroup publishes that this member has
     * asked once more, and the id that it proposes for the team. regrouped returns whether a member has asked as often,
     * and its proposal; it never becomes true for a member that died before it asked. */
    void (*regroup)(struct tern_link_group *group, uint32_t id);
    bool (*regrouped)(const struct tern_link_group *group, uint32_t member, uint32_t *id);
    /* Contribute len <= group->longest bytes to the next barrier: the caller writes them to the address that contribute
     * returns, and then arrives. contribution returns the contribution of a member after the barrier; the contributions
     * of two consecutive barriers exist side by side. For a member that has not contributed, contribution returns an
     * older contribution, zeros, or NULL. */
    void *(*contribute)(struct tern_link_group *group, size_t len);
    const void *(*contribution)(const struct tern_link_group *group, uint32_t member);
    /* Return what the member is doing, for reports. IN_CALL: *what is the number of the call (tern_link_group.call of
     * the member), as the member has published it. IN_DEPARTURE: *what is the object. */
    enum tern_member_doing (*doing)(const struct tern_link_group *group, uint32_t member, uint64_t *what);
    /* Return memory that all members share, with TERN_LINK_BOARD bytes for each, zeroed at first, for short collective
     * calls (op/coll/board.h); NULL: none. The memory stays mapped until the group is closed. */
    void *(*board)(struct tern_link_group *group);
};

/* For groups whose members publish their state in slots that all members see. Return whether a counter of a slot has
 * reached a number. */
static inline bool tern_link_slot_reached(_Atomic uint32_t *counter, uint32_t number)
{
    /* acquire: everything that the member, or the relay on its behalf, wrote before. Pairs with the releases in
     * tern_link_slot_depart() and tern_link_slot_regroup(), and in the groups and the relay. */
    return !tern_base_seq_after(number, atomic_load_explicit(counter, memory_order_acquire));
}

/* The parts of depart and departed that concern the slot of this member, and of another one. */
static inline void tern_link_slot_depart(struct tern_link_group *group, struct tern_barrier_slot *mine, uint64_t object)
{
    uint32_t number = ++group->departures;

    /* relaxed: published by the store below. No member reads the object of the departure before the last any more. */
    atomic_store_explicit(&mine->object[number & 1], object, memory_order_relaxed);
    /* release: the object, and this rank's use of it. Pairs with the acquire in tern_link_slot_reached(), and the
     * relay's. */
    atomic_store_explicit(&mine->departures, number, memory_order_release);
}

static inline bool tern_link_slot_departed(const struct tern_link_group *group, struct tern_barrier_slot *theirs,
                                           uint64_t *object)
{
    if (!tern_link_slot_reached(&theirs->departures, group->departures))
        return false;
    *object = atomic_load_explicit(&theirs->object[group->departures & 1], memory_order_relaxed); /* after departures */
    return true;
}

/* The parts of give_up and quitter that concern the slot of this member, and of another one. Call the first one after
 * the last arrival of this member; quits is that of the segment. A member that finds that another one has given up
 * reads the arrivals of that member afterwards: they are final. */
static inline void tern_link_slot_give_up(struct tern_barrier_slot *mine, _Atomic uint32_t *quits)
{
    /* release: the last arrival. Pairs with the acquire in tern_link_slot_gave_up(), and the relay's. */
    atomic_store_explicit(&mine->gave_up, 1, memory_order_release);
    /* release: after gave_up. Pairs with the acquire in tern_link_group_quits(). */
    atomic_fetch_add_explicit(quits, 1, memory_order_release);
}

static inline bool tern_link_slot_gave_up(struct tern_barrier_slot *theirs)
{
    /* acquire: the last arrival. Pairs with the release in tern_link_slot_give_up(), and the relay's. */
    return atomic_load_explicit(&theirs->gave_up, memory_order_acquire) != 0;
}

/* Return whether a member may have given up, and *now: the value for quits_seen if none has. */
static inline bool tern_link_group_quits(const struct tern_link_group *group, _Atomic uint32_t *quits, uint32_t *now)
{
    /* acquire: gave_up of the members that are counted. Pairs with the release in tern_link_slot_give_up(). */
    return (*now = atomic_load_explicit(quits, memory_order_acquire)) != group->quits_seen;
}

/* The part of doing that concerns departures. */
static inline enum tern_member_doing tern_link_slot_doing(const struct tern_link_group *group,
                                                          struct tern_barrier_slot *theirs, uint64_t *object)
{
    uint32_t next = group->departures + 1;

    if (!tern_link_slot_reached(&theirs->departures, next))
        return TERN_MEMBER_ELSEWHERE;
    *object = atomic_load_explicit(&theirs->object[next & 1], memory_order_relaxed); /* after departures */
    return TERN_MEMBER_IN_DEPARTURE;
}

/* The parts of regroup and regrouped that concern the slot of this member, and of another one. */
static inline void tern_link_slot_regroup(struct tern_link_group *group, struct tern_barrier_slot *mine, uint32_t id)
{
    uint32_t number = ++group->regroups;

    /* relaxed: published by the store below. No member reads the proposal before the last any more. */
    atomic_store_explicit(&mine->regroup_id[number & 1], id, memory_order_relaxed);
    /* release: the proposal. Pairs with the acquire in tern_link_slot_reached(), and the relay's. */
    atomic_store_explicit(&mine->regroups, number, memory_order_release);
}

static inline bool tern_link_slot_regrouped(const struct tern_link_group *group, struct tern_barrier_slot *theirs,
                                            uint32_t *id)
{
    if (!tern_link_slot_reached(&theirs->regroups, group->regroups))
        return false;
    *id = atomic_load_explicit(&theirs->regroup_id[group->regroups & 1], memory_order_relaxed); /* after regroups */
    return true;
}
