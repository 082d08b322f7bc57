/* group_segment.c: barriers and departures in the boot segment.
 *
 * Each rank publishes its state in its own entries of the segment. The ranks of its node see an entry at once. The
 * relay copies the entry to the other nodes before it reports a death of the rank, so that all live ranks agree on
 * whether a rank arrived before it died. A barrier costs a round trip to the hub; if a death ends the job,
 * group_bruck.c is faster.
 *
 * The entry of a rank is its barrier slot for the world, and one of its seats for every other team. A rank chooses a
 * free seat and writes the id of the team into it; the other members search the seats of the rank for that id when they
 * first need the seat. A member whose seat has another id has left the team. A seat may keep the id after its rank has
 * left the team; no other team gets that id. */
#include "core/group_segment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/sanitize.h"
#include "boot/bell.h"
#include "core/job.h"
#include "core/team_create.h"
#include "link/none.h"

_Static_assert(TERN_CONTRIBUTION_BYTES == TERN_LINK_CONTRIBUTION, "a contribution fits into its slot");

#define UNKNOWN UINT16_MAX /* the seat of a member has not been found yet */

struct segment_group {
    struct tern_link_group base;
    uint32_t               barrier;     /* number of the last barrier entered */
    uint32_t               seen;        /* number of leading members that have arrived at that barrier */
    bool                   contributed; /* there is a contribution to the next barrier */
    bool                   gathers;     /* this member has contributed to the current barrier */
    bool                   gave_up;     /* this member enters no barrier any more */
    uint16_t               own;         /* this rank's seat; 0: the group is the world's */
    uint16_t              *seat;        /* [size] seats of the members, or UNKNOWN; NULL: the world */
};

/* ---- seats ---- */

static pthread_mutex_t seats_lock = PTHREAD_MUTEX_INITIALIZER;

/* The seats of this rank; guarded by seats_lock. */
static struct {
    bool     taken;
    uint64_t left; /* when the seat was given up with its contents left, counted in such seats; 0: the seat is empty */
} seats_own[128];
static uint64_t seats_left;

/* Take a seat of this rank that belongs to no team, or else the seat that was given up first with its contents left.
 * Returns 0 if all are in use. */
static uint16_t seat_take(void)
{
    uint32_t seats = tern_segment_seats((uint32_t)tern_job.boot.ranks);
    uint16_t number = 0;

    pthread_mutex_lock(&seats_lock);
    for (uint32_t i = 1; i < seats; i++)
        if (!seats_own[i].taken && (number == 0 || seats_own[i].left < seats_own[number].left))
            number = (uint16_t)i;
    if (number > 0)
        seats_own[number].taken = true;
    pthread_mutex_unlock(&seats_lock);
    return number;
}

/* Stop using a seat. remains: keep the contents of the seat as long as possible. */
static void seat_drop(uint16_t number, bool remains)
{
    pthread_mutex_lock(&seats_lock);
    seats_own[number].taken = false;
    seats_own[number].left = remains ? ++seats_left : 0;
    pthread_mutex_unlock(&seats_lock);
}

static struct tern_barrier_slot *seat_of(int rank, uint32_t number)
{
    return &tern_segment_seat(tern_job.boot.segment, (uint32_t)rank, number)->slot;
}

/* Let the relay know that a seat of this rank has changed. */
static void tell_seats(void)
{
    /* release: the change. Pairs with the relay's acquire. */
    atomic_fetch_add_explicit(&tern_core_job_slot(tern_job.boot.rank)->seat_changes, 1, memory_order_release);
    tern_boot_tell(&tern_job.boot);
}

/* Give the seat to a team; 0: to none. The order of the stores is explained in boot/segment.h. */
static void seat_give(uint16_t number, uint32_t team)
{
    struct tern_barrier_slot *slot = seat_of(tern_job.boot.rank, number);

    atomic_store_explicit(&slot->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->departures, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->regroups, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->gave_up, 0, memory_order_relaxed);
    slot->contribution_len[0] = slot->contribution_len[1] = 0;
    /* release: the counters are reset before the team. Pairs with the acquire in counter(), and the relay's. */
    atomic_store_explicit(&slot->team, team, memory_order_release);
    /* release: the team before the counters that follow. Pairs with the fence in belongs(), and the relay's. */
    atomic_thread_fence(memory_order_release);
    tell_seats();
}

/* Empty the seats of this rank that were given up with their contents left, and whose team had the given id: a new team
 * gets the id. */
static void seats_clear(uint32_t team)
{
    uint32_t seats = tern_segment_seats((uint32_t)tern_job.boot.ranks);

    pthread_mutex_lock(&seats_lock);
    for (uint16_t i = 1; i < seats; i++) {
        if (seats_own[i].taken || seats_own[i].left == 0 ||
            atomic_load_explicit(&seat_of(tern_job.boot.rank, i)->team, memory_order_relaxed) != team) /* own seat */
            continue;
        seat_give(i, 0);
        seats_own[i].left = 0;
    }
    pthread_mutex_unlock(&seats_lock);
}

/* Return the seat of a member; NULL: it has none, because it has not opened the group yet, or has left the team. */
static struct tern_barrier_slot *find_seat(const struct segment_group *group, uint32_t member)
{
    int      rank = tern_link_group_world(&group->base, member);
    uint32_t seats = tern_segment_seats((uint32_t)tern_job.boot.ranks);

    if (group->seat[member] != UNKNOWN)
        return seat_of(rank, group->seat[member]);
    for (uint32_t i = 1; i < seats; i++) {
        /* acquire: the counters that were reset before. Pairs with the release in seat_give(), and the relay's. */
        if (atomic_load_explicit(&seat_of(rank, i)->team, memory_order_acquire) == group->base.id) {
            group->seat[member] = (uint16_t)i;
            return seat_of(rank, i);
        }
    }
    return NULL;
}

/* Return whether the seat belongs to the group at this moment. Called after the counters of the seat were read: then
 * they are the counters of the group. */
static bool belongs(const struct segment_group *group, struct tern_barrier_slot *slot)
{
    /* acquire: what the caller has read before this load. Pairs with the fence in seat_give(), and the relay's. */
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&slot->team, memory_order_relaxed) == group->base.id;
}

/* ---- entries ---- */

static struct tern_barrier_slot *entry_of(int rank)
{
    return tern_segment_barrier_slot(tern_job.boot.segment, (uint32_t)rank);
}

static struct tern_barrier_slot *own_entry(const struct segment_group *group)
{
    return group->seat ? seat_of(tern_job.boot.rank, group->own) : entry_of(tern_job.boot.rank);
}

/* Return the entry of a member; NULL: it has none. */
static struct tern_barrier_slot *entry(const struct segment_group *group, uint32_t member)
{
    return group->seat ? find_seat(group, member) : entry_of(tern_link_group_world(&group->base, member));
}

/* Return the entry for what concerns teams of survivors, and members that have given up: for the world it is seat 0. */
static struct tern_barrier_slot *seat_entry(const struct segment_group *group, uint32_t member)
{
    return group->seat ? entry(group, member) : seat_of(tern_link_group_world(&group->base, member), 0);
}

static unsigned char *contribution_at(const struct segment_group *group, int rank, uint32_t seat, uint32_t barrier)
{
    if (!group->seat)
        return tern_segment_contribution(tern_job.boot.segment, (uint32_t)rank, barrier);
    return tern_segment_seat(tern_job.boot.segment, (uint32_t)rank, seat)->contribution[barrier & 1];
}

/* Wake the members on this node. */
static void ring_members(const struct tern_link_group *group)
{
    for (uint32_t i = 0; i < group->size; i++) {
        int rank = tern_link_group_world(group, i);

        if (rank != tern_job.boot.rank && tern_boot_same_node(&tern_job.boot, rank))
            tern_boot_wake(tern_core_job_slot(rank));
    }
}

/* Tell the other nodes what this rank has written into its entry. */
static void tell(const struct segment_group *group)
{
    group->seat ? tell_seats() : tern_boot_tell(&tern_job.boot);
}

void tern_core_segment_arrive(uint32_t barrier, uint32_t call)
{
    /* relaxed: published by the store below */
    atomic_store_explicit(&entry_of(tern_job.boot.rank)->call[barrier & 1], call, memory_order_relaxed);
    /* release: everything before the barrier, and the contribution to it. Pairs with the acquire in
     * tern_link_slot_reached(), and the relay's. */
    atomic_store_explicit(&entry_of(tern_job.boot.rank)->arrived, barrier, memory_order_release);
}

bool tern_core_segment_has_arrived(int rank, uint32_t barrier)
{
    return tern_link_slot_reached(&entry_of(rank)->arrived, barrier);
}

void tern_core_segment_depart(struct tern_link_group *group, uint64_t object)
{
    tern_link_slot_depart(group, entry_of(tern_job.boot.rank), object);
    tern_boot_tell(&tern_job.boot);
    ring_members(group);
}

bool tern_core_segment_departed(const struct tern_link_group *group, uint32_t member, uint64_t *object)
{
    return tern_link_slot_departed(group, entry_of(tern_link_group_world(group, member)), object);
}

enum tern_member_doing tern_core_segment_doing(const struct tern_link_group *group, uint32_t member, uint32_t barrier,
                                               uint64_t *what)
{
    int                       rank = tern_link_group_world(group, member);
    struct tern_barrier_slot *slot = entry_of(rank);

    if (!tern_core_segment_has_arrived(rank, barrier + 1))
        return tern_link_slot_doing(group, slot, what);
    *what = atomic_load_explicit(&slot->call[(barrier + 1) & 1], memory_order_relaxed); /* after arrived */
    return TERN_MEMBER_IN_CALL;
}

/* ---- the group ---- */

/* Return whether a member has entered the barrier. */
static bool has_reached(const struct segment_group *group, uint32_t member, uint32_t barrier)
{
    struct tern_barrier_slot *slot = entry(group, member);

    return slot && tern_link_slot_reached(&slot->arrived, barrier) && (!group->seat || belongs(group, slot));
}

/* Return whether all members have arrived: continues at the first member that had not. */
static bool all_arrived(struct segment_group *group)
{
    for (; group->seen < group->base.size; group->seen++) {
        if (!has_reached(group, group->seen, group->barrier))
            return false;
        if ((entry(group, group->seen)->contribution_len[group->barrier & 1] > 0) != group->gathers)
            group->base.mixed = true;
    }
    return true;
}

static void segment_arrive(struct tern_link_group *base)
{
    struct segment_group     *group = (struct segment_group *)base;
    struct tern_barrier_slot *mine = own_entry(group);

    group->barrier++;
    group->seen = 0;
    if (!group->contributed)
        mine->contribution_len[group->barrier & 1] = 0;
    group->gathers = group->contributed;
    group->contributed = false;
    tern_base_order_before_peers();
    /* relaxed: published by the store below */
    atomic_store_explicit(&mine->call[group->barrier & 1], base->call, memory_order_relaxed);
    /* release: everything before the barrier, and the contribution to it. Pairs with the acquire in
     * tern_link_slot_reached(), and the relay's. */
    atomic_store_explicit(&mine->arrived, group->barrier, memory_order_release);
    tell(group);
    /* seq_cst: this rank's arrival before it checks those of the others. Pairs with itself: of ranks that arrive last
     * at the same time, at least one sees that all have arrived, and wakes the others. The relay rings for the arrivals
     * that it copies. */
    atomic_thread_fence(memory_order_seq_cst);
    if (all_arrived(group))
        ring_members(base);
}

static bool segment_arrived(struct tern_link_group *base)
{
    if (!all_arrived((struct segment_group *)base))
        return false;
    tern_base_order_after_peers();
    return true;
}

static bool segment_has_arrived(const struct tern_link_group *base, uint32_t member)
{
    const struct segment_group *group = (const struct segment_group *)base;

    return has_reached(group, member, group->barrier);
}

static void segment_give_up(struct tern_link_group *base)
{
    struct segment_group     *group = (struct segment_group *)base;
    struct tern_barrier_slot *mine = seat_of(tern_job.boot.rank, group->own);

    group->gave_up = true;
    if (!group->seat)
        atomic_store_explicit(&mine->arrived, group->barrier, memory_order_relaxed); /* published by gave_up */
    tern_link_slot_give_up(mine, &tern_job.boot.segment->quits);
    tell_seats();
    ring_members(base);
}

/* Return whether a member has given up, and *waits: whether it will not enter the current barrier. A member whose seat
 * belongs to another team has left this one. */
static bool has_quit(const struct segment_group *group, uint32_t member, bool *waits)
{
    struct tern_barrier_slot *slot = seat_entry(group, member);
    bool                      gave_up, left;

    if (!slot)
        return false;
    gave_up = tern_link_slot_gave_up(slot); /* before the arrivals, which are final then */
    *waits = !tern_link_slot_reached(&slot->arrived, group->barrier);
    left = group->seat && !belongs(group, slot);
    *waits |= left;
    return gave_up || left;
}

static int segment_quitter(struct tern_link_group *base)
{
    const struct segment_group *group = (const struct segment_group *)base;
    bool                        any = false, waits = false;
    uint32_t                    now;

    if (!tern_link_group_quits(base, &tern_job.boot.segment->quits, &now))
        return -1;
    for (uint32_t i = 0; i < base->size; i++) {
        if (!has_quit(group, i, &waits))
            continue;
        any = true;
        if (waits)
            return (int)i;
    }
    if (!any)
        base->quits_seen = now;
    return -1;
}

static void segment_depart(struct tern_link_group *base, uint64_t object)
{
    struct segment_group *group = (struct segment_group *)base;

    tern_link_slot_depart(base, own_entry(group), object);
    tell(group);
    ring_members(base);
}

/* A member that has left the team has departed from all objects. */
static bool segment_departed(const struct tern_link_group *base, uint32_t member, uint64_t *object)
{
    const struct segment_group *group = (const struct segment_group *)base;
    struct tern_barrier_slot   *slot = entry(group, member);
    bool                        departed;

    *object = 0;
    if (!slot)
        return false;
    departed = tern_link_slot_departed(base, slot, object);
    if (!group->seat || belongs(group, slot))
        return departed;
    *object = 0;
    return true;
}

static void segment_regroup(struct tern_link_group *base, uint32_t id)
{
    struct segment_group *group = (struct segment_group *)base;

    tern_link_slot_regroup(base, seat_of(tern_job.boot.rank, group->own), id);
    tell_seats();
    ring_members(base);
}

static bool segment_regrouped(const struct tern_link_group *base, uint32_t member, uint32_t *id)
{
    const struct segment_group *group = (const struct segment_group *)base;
    struct tern_barrier_slot   *slot = seat_entry(group, member);

    return slot && tern_link_slot_regrouped(base, slot, id) && (!group->seat || belongs(group, slot));
}

static void *segment_contribute(struct tern_link_group *base, size_t len)
{
    struct segment_group *group = (struct segment_group *)base;
    uint32_t              barrier = group->barrier + 1;

    own_entry(group)->contribution_len[barrier & 1] = (uint32_t)len;
    group->contributed = true;
    return contribution_at(group, tern_job.boot.rank, group->own, barrier);
}

static const void *segment_contribution(const struct tern_link_group *base, uint32_t member)
{
    const struct segment_group *group = (const struct segment_group *)base;
    uint32_t                    seat = group->seat ? group->seat[member] : 0;

    return seat == UNKNOWN ? NULL : contribution_at(group, tern_link_group_world(base, member), seat, group->barrier);
}

static enum tern_member_doing segment_doing(const struct tern_link_group *base, uint32_t member, uint64_t *what)
{
    const struct segment_group *group = (const struct segment_group *)base;
    struct tern_barrier_slot   *slot;

    if (!group->seat)
        return tern_core_segment_doing(base, member, group->barrier, what);
    if (!(slot = entry(group, member)))
        return TERN_MEMBER_ELSEWHERE;
    if (!belongs(group, slot)) {
        *what = TERN_TEAM_OBJECT_SELF; /* it has left the team */
        return TERN_MEMBER_IN_DEPARTURE;
    }
    if (!has_reached(group, member, group->barrier + 1))
        return tern_link_slot_doing(base, slot, what);
    *what = atomic_load_explicit(&slot->call[(group->barrier + 1) & 1], memory_order_relaxed); /* after arrived */
    return TERN_MEMBER_IN_CALL;
}

static bool has_lost(const struct tern_link_group *base)
{
    for (uint32_t i = 0; i < base->size; i++)
        if (tern_core_job_lost(tern_link_group_world(base, i)))
            return true;
    return false;
}

/* Return whether a member has given up: its seat keeps the id of the team when the member leaves. */
static bool has_quitter(const struct segment_group *group)
{
    for (uint32_t i = 0; i < group->base.size; i++) {
        struct tern_barrier_slot *slot = find_seat(group, i);

        if (slot && tern_link_slot_gave_up(slot) && belongs(group, slot))
            return true;
    }
    return false;
}

/* If a member has died, or this member has given up, the members do not wait for each other: some may still need to
 * know at which barriers this rank has arrived. */
static void segment_close(struct tern_link_group *base)
{
    struct segment_group *group = (struct segment_group *)base;
    bool                  remains = group->gave_up || has_lost(base);

    if (base->id != 0 && (remains || has_quitter(group)))
        tern_core_team_spoil(base->id);
    if (group->own > 0 && !remains)
        seat_give(group->own, 0);
    if (group->own > 0)
        seat_drop(group->own, remains);
    free(group->seat);
    free(group);
}

tern_status tern_core_segment_prepare(uint32_t most, struct tern_link_group **out)
{
    struct segment_group *group = calloc(1, sizeof(*group));
    uint16_t             *seat = malloc(most * sizeof(*seat));

    if (!group || !seat) {
        free(group);
        free(seat);
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a group of %u ranks", most);
    }
    memset(seat, 0xff, most * sizeof(*seat)); /* UNKNOWN */
    group->seat = seat;
    group->base.ops = &tern_core_segment_group;
    *out = &group->base;
    if ((group->own = seat_take()) > 0)
        return TERN_OK;
    segment_close(&group->base);
    return tern_base_fail(TERN_ERR_NOMEM,
                          "this rank is in %u teams that keep their state in the boot segment, which is the most; free "
                          "teams that are not needed",
                          tern_segment_seats((uint32_t)tern_job.boot.ranks) - 1);
}

void tern_core_segment_begin(struct tern_link_group *base, const struct tern_link_group *as)
{
    struct segment_group *group = (struct segment_group *)base;

    *base = *as;
    base->ops = &tern_core_segment_group;
    base->longest = TERN_SEAT_CONTRIBUTION;
    seats_clear(base->id);
    seat_give(group->own, base->id);
}

static tern_status segment_open(struct tern_link *link, const struct tern_link_group *as, struct tern_link_group **out)
{
    struct segment_group *group;
    tern_status           st;

    (void)link;
    if (as->id != 0) {
        if ((st = tern_core_segment_prepare(as->size, out)) == TERN_OK)
            tern_core_segment_begin(*out, as);
        return st;
    }
    if (!(group = calloc(1, sizeof(*group))))
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a group of %u ranks", as->size);
    group->base = *as;
    group->base.ops = &tern_core_segment_group;
    group->base.longest = TERN_LINK_CONTRIBUTION;
    *out = &group->base;
    return TERN_OK;
}

const struct tern_group_ops tern_core_segment_group = {
    .open = segment_open,
    .close = segment_close,
    .space = tern_link_no_space,
    .arrive = segment_arrive,
    .arrived = segment_arrived,
    .has_arrived = segment_has_arrived,
    .give_up = segment_give_up,
    .quitter = segment_quitter,
    .depart = segment_depart,
    .departed = segment_departed,
    .advance = tern_link_no_advance,
    .regroup = segment_regroup,
    .regrouped = segment_regrouped,
    .contribute = segment_contribute,
    .contribution = segment_contribution,
    .doing = segment_doing,
    .board = tern_link_no_board,
};
