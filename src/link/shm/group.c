/* group.c: how the members of a team on one node meet.
 *
 * With a core for each rank the barrier is a dissemination: in round k a member tells the one 2^k seats further, and
 * waits for word from the one 2^k seats before; log2(size) rounds, each one cache line one way. With fewer cores than
 * ranks every round could cost a change of the running rank, so there each looks at all seats, and the last to come
 * wakes the rest: each rank sleeps once. The same where the job goes on when a rank dies: whether a member had come is
 * then one store, which all ranks read alike.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sanitize.h"
#include "boot/bell.h"
#include "link/shm/shm.h"

struct shm_group {
    struct tern_link_group   base;
    struct shm_link         *shm;
    struct shm_barrier_slot *hall;     /* [size] */
    bool                     by_seats; /* the barrier is over when every seat says so */
    uint32_t                 rounds;
    uint32_t                 barrier;    /* number of the last barrier entered */
    uint32_t                 round;      /* of that barrier: the one that we wait for */
    uint32_t                 seen;       /* of that barrier: members from the first on that have come */
    uint32_t                 departures; /* things given up */
};

tern_status tern_shm_group_open(struct tern_link *link, const struct tern_link_group *as, struct tern_link_group **out)
{
    struct shm_link  *shm = tern_shm(link);
    struct shm_group *group = calloc(1, sizeof(*group));

    if (!group)
        return tern_base_fail(TERN_ERR_NOMEM, "link shm: no memory for %zu bytes", sizeof(*group));
    group->base = *as;
    group->base.ops = &tern_shm_ops;
    group->shm = shm;
    group->hall =
        (struct shm_barrier_slot *)(void *)(shm->control + tern_shm_barrier_block_offset(shm->locals, as->id));
    group->by_seats =
        (uint32_t)shm->locals > shm->boot->segment->cores || shm->boot->segment->on_failure == TERN_ON_FAILURE_RETURN;
    group->rounds = tern_base_log2_up(as->size);
    *out = &group->base;
    return TERN_OK;
}

void tern_shm_group_close(struct tern_link_group *group)
{
    free(group);
}

static int world_rank(const struct shm_group *group, uint32_t member)
{
    return group->base.world_rank ? group->base.world_rank[member] : (int)member;
}

static void ring(const struct shm_group *group, uint32_t member)
{
    struct tern_slot *slot = tern_shm_slot(group->shm, world_rank(group, member));

    tern_boot_bell_ring(&slot->bell, &slot->sleepers);
}

/* Tell the partner of the current round that we, and all that we have word from, have come. */
static void tell(struct shm_group *group)
{
    uint32_t partner = (group->base.me + (1u << group->round)) % group->base.size;

    /* release: everything before the barrier, and what earlier rounds brought. Pairs with the acquire in
     * tern_shm_arrived(). */
    atomic_store_explicit(&group->hall[partner].round[group->round].count, group->barrier, memory_order_release);
    ring(group, partner);
}

static bool reached(_Atomic uint32_t *counter, uint32_t number)
{
    /* acquire: what the member did before. Pairs with the releases in tell(), tern_shm_arrive(), tern_shm_depart(). */
    return !tern_base_seq_after(number, atomic_load_explicit(counter, memory_order_acquire));
}

/* Whether everyone has come: looks on from the first that had not. */
static bool all_came(struct shm_group *group)
{
    while (group->seen < group->base.size && reached(&group->hall[group->seen].arrived, group->barrier))
        group->seen++;
    return group->seen == group->base.size;
}

void tern_shm_arrive(struct tern_link_group *base)
{
    struct shm_group *group = (struct shm_group *)base;

    group->barrier++;
    group->round = 0;
    group->seen = 0;
    tern_base_order_before_peers(); /* the service thread, when it copies for a peer after the barrier */
    /* release: everything before the barrier. Pairs with the acquire in reached(). */
    atomic_store_explicit(&group->hall[base->me].arrived, group->barrier, memory_order_release);
    if (!group->by_seats) {
        if (group->rounds > 0)
            tell(group);
        return;
    }
    /* seq_cst: our own arrival before we look for the others'. Pairs with itself: of those who come last at the same
     * time, at least one sees all, and wakes them. */
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t i = 0; all_came(group) && i < base->size; i++)
        if (i != base->me)
            ring(group, i);
}

static bool is_over(struct shm_group *group)
{
    if (group->by_seats)
        return all_came(group);
    while (group->round < group->rounds) {
        if (!reached(&group->hall[group->base.me].round[group->round].count, group->barrier))
            return false;
        if (++group->round < group->rounds)
            tell(group);
    }
    return true;
}

bool tern_shm_arrived(struct tern_link_group *base)
{
    struct shm_group *group = (struct shm_group *)base;

    if (!is_over(group))
        return false;
    tern_base_order_after_peers(); /* what the service thread has copied for peers that came here */
    return true;
}

bool tern_shm_has_arrived(const struct tern_link_group *base, uint32_t member)
{
    const struct shm_group *group = (const struct shm_group *)base;

    return reached(&group->hall[member].arrived, group->barrier);
}

void tern_shm_depart(struct tern_link_group *base, uint64_t object)
{
    struct shm_group        *group = (struct shm_group *)base;
    struct shm_barrier_slot *seat = &group->hall[base->me];

    /* relaxed: published by the store below. The place before the last but one is read by nobody any more. */
    atomic_store_explicit(&seat->object[(group->departures + 1) & 1], object, memory_order_relaxed);
    /* release: the object, and this rank's use of what it gives up. Pairs with the acquire in tern_shm_departed(). */
    atomic_store_explicit(&seat->departures, ++group->departures, memory_order_release);
    for (uint32_t i = 0; i < base->size; i++)
        if (i != base->me)
            ring(group, i);
}

bool tern_shm_departed(const struct tern_link_group *base, uint32_t member, uint64_t *object)
{
    const struct shm_group  *group = (const struct shm_group *)base;
    struct shm_barrier_slot *seat = &group->hall[member];

    if (!reached(&seat->departures, group->departures))
        return false;
    *object = atomic_load_explicit(&seat->object[group->departures & 1], memory_order_relaxed); /* see depart */
    return true;
}

void tern_shm_contribute(struct tern_link_group *base, const void *note, size_t len)
{
    struct shm_group *group = (struct shm_group *)base;

    memcpy(group->hall[base->me].contribution[(group->barrier + 1) & 1], note, len); /* read after the next barrier */
}

const void *tern_shm_contribution(const struct tern_link_group *base, uint32_t member)
{
    const struct shm_group *group = (const struct shm_group *)base;

    return group->hall[member].contribution[group->barrier & 1];
}
