/* group_segment.c: barriers and departures of the world in the boot segment.
 *
 * Each rank publishes its state in its own entry of the segment. The ranks of its node see the entry at once; the relay
 * copies it to the other nodes, and reports the rank's death, if it dies, after that. So whether a rank arrived before
 * it died is one fact, on which all live ranks agree. A barrier costs a round trip to the hub; if a death ends the job,
 * group_bruck.c is faster. */
#include "core/group_segment.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/sanitize.h"
#include "boot/bell.h"
#include "core/job.h"

_Static_assert(TERN_CONTRIBUTION_BYTES == TERN_LINK_CONTRIBUTION, "a contribution fits into its slot");

struct segment_group {
    struct tern_link_group base;
    uint32_t               barrier; /* number of the last barrier entered */
    uint32_t               seen;    /* number of leading members that have arrived at that barrier */
    bool                   noted;   /* there is a contribution to the next barrier */
    bool                   gathers; /* this member has contributed to the current barrier */
};

static struct tern_barrier_slot *entry_of(int rank)
{
    return tern_segment_barrier_slot(tern_job.boot.segment, (uint32_t)rank);
}

static void ring_node(void)
{
    for (int rank = 0; rank < tern_job.boot.ranks; rank++)
        if (rank != tern_job.boot.rank && tern_boot_same_node(&tern_job.boot, rank))
            tern_boot_wake(tern_core_job_slot(rank));
}

void tern_core_segment_arrive(uint32_t barrier, bool gathers)
{
    entry_of(tern_job.boot.rank)->gathers[barrier & 1] = gathers;
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
    ring_node();
}

bool tern_core_segment_departed(const struct tern_link_group *group, uint32_t member, uint64_t *object)
{
    return tern_link_slot_departed(group, entry_of(tern_link_group_world(group, member)), object);
}

/* Return whether all members have arrived: continues at the first member that had not. */
static bool all_arrived(struct segment_group *group)
{
    for (; group->seen < group->base.size; group->seen++) {
        int rank = tern_link_group_world(&group->base, group->seen);

        if (!tern_core_segment_has_arrived(rank, group->barrier))
            return false;
        if ((entry_of(rank)->contribution_len[group->barrier & 1] > 0) != group->gathers)
            group->base.mixed = true;
    }
    return true;
}

static void segment_arrive(struct tern_link_group *base)
{
    struct segment_group *group = (struct segment_group *)base;

    group->barrier++;
    group->seen = 0;
    if (!group->noted)
        entry_of(tern_job.boot.rank)->contribution_len[group->barrier & 1] = 0;
    group->gathers = group->noted;
    group->noted = false;
    tern_base_order_before_peers();
    tern_core_segment_arrive(group->barrier, group->gathers);
    tern_boot_tell(&tern_job.boot);
    /* seq_cst: our own arrival before we check the others'. Pairs with itself: of ranks that arrive last at the same
     * time, at least one sees that all have arrived, and wakes the others. The relay rings for the arrivals that it
     * copies. */
    atomic_thread_fence(memory_order_seq_cst);
    if (all_arrived(group))
        ring_node();
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
    return tern_core_segment_has_arrived(tern_link_group_world(base, member),
                                         ((const struct segment_group *)base)->barrier);
}

static void segment_contribute(struct tern_link_group *base, const void *bytes, size_t len)
{
    struct segment_group *group = (struct segment_group *)base;
    uint32_t              barrier = group->barrier + 1;

    memcpy(tern_segment_contribution(tern_job.boot.segment, (uint32_t)tern_job.boot.rank, barrier), bytes, len);
    entry_of(tern_job.boot.rank)->contribution_len[barrier & 1] = (uint32_t)len;
    group->noted = true;
}

static const void *segment_contribution(const struct tern_link_group *base, uint32_t member)
{
    return tern_segment_contribution(tern_job.boot.segment, (uint32_t)tern_link_group_world(base, member),
                                     ((const struct segment_group *)base)->barrier);
}

enum tern_member_doing tern_core_segment_doing(const struct tern_link_group *group, uint32_t member, uint32_t barrier)
{
    int                       rank = tern_link_group_world(group, member);
    struct tern_barrier_slot *slot = entry_of(rank);

    if (!tern_core_segment_has_arrived(rank, barrier + 1))
        return tern_link_slot_doing(group, slot);
    return slot->gathers[(barrier + 1) & 1] ? TERN_MEMBER_IN_GATHER : TERN_MEMBER_IN_BARRIER;
}

static enum tern_member_doing segment_doing(const struct tern_link_group *base, uint32_t member,
                                            const void **contribution)
{
    uint32_t                  barrier = ((const struct segment_group *)base)->barrier;
    uint32_t                  rank = (uint32_t)tern_link_group_world(base, member);
    enum tern_member_doing    doing = tern_core_segment_doing(base, member, barrier);
    struct tern_barrier_slot *slot = entry_of((int)rank);

    if (doing == TERN_MEMBER_IN_BARRIER && slot->contribution_len[(barrier + 1) & 1] > 0)
        doing = TERN_MEMBER_IN_GATHER; /* on another node */
    *contribution = tern_segment_contribution(tern_job.boot.segment, rank, barrier + 1);
    return doing;
}

static void segment_close(struct tern_link_group *base)
{
    free(base);
}

static tern_status segment_open(struct tern_link *link, const struct tern_link_group *as, struct tern_link_group **out)
{
    struct segment_group *group = calloc(1, sizeof(*group));

    (void)link;
    if (!group)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for a group of %u ranks", as->size);
    group->base = *as;
    group->base.ops = &tern_core_segment_group;
    *out = &group->base;
    return TERN_OK;
}

const struct tern_group_ops tern_core_segment_group = {
    .open = segment_open,
    .close = segment_close,
    .arrive = segment_arrive,
    .arrived = segment_arrived,
    .has_arrived = segment_has_arrived,
    .depart = tern_core_segment_depart,
    .departed = tern_core_segment_departed,
    .contribute = segment_contribute,
    .contribution = segment_contribution,
    .doing = segment_doing,
};
