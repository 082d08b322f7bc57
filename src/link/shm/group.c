/* group.c: how the members of a team on one node meet.
 *
 * With a core for each rank the barrier is a dissemination: in round k a member tells the one 2^k seats further, and
 * waits for word from the one 2^k seats before; log2(size) rounds, each one cache line one way. With fewer cores than
 * ranks every round could cost a change of the running rank, so there all count up one word, and the last to come wakes
 * the rest: each rank sleeps once. The same where the job goes on when a rank dies: the count makes it one fact for all
 * whether everyone had come.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sanitize.h"
#include "boot/bell.h"
#include "link/shm/shm.h"

struct shm_group {
    struct tern_link_group base;
    struct shm_link       *shm;
    struct shm_hall       *hall;
    bool                   counts; /* the barrier is one counter */
    uint32_t               rounds;
    uint32_t               barrier;    /* number of the last barrier entered */
    uint32_t               round;      /* of that barrier: the one that we wait for */
    uint32_t               departures; /* things given up */
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
    group->hall = (struct shm_hall *)(void *)(shm->control + tern_shm_hall_offset(shm->ranks, as->id));
    group->counts =
        (uint32_t)shm->ranks > shm->boot->segment->cores || shm->boot->segment->on_failure == TERN_ON_FAILURE_RETURN;
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
    atomic_store_explicit(&group->hall->seat[partner].round[group->round].count, group->barrier, memory_order_release);
    ring(group, partner);
}

static void arrive_counting(struct shm_group *group)
{
    /* acq_rel: this rank's past for whoever reads the count; and the past of those counted already. Pairs with itself
     * in the others, and with the acquire in reached(). */
    uint32_t count = 1 + atomic_fetch_add_explicit(&group->hall->count, 1, memory_order_acq_rel);

    if (count != group->barrier * group->base.size) /* both wrap alike */
        return;
    for (uint32_t i = 0; i < group->base.size; i++)
        if (i != group->base.me)
            ring(group, i);
}

void tern_shm_arrive(struct tern_link_group *base)
{
    struct shm_group *group = (struct shm_group *)base;

    group->barrier++;
    group->round = 0;
    tern_base_order_before(group->shm); /* the service thread, when it copies for a peer after the barrier */
    /* relaxed: only for awaited(), which tells a person who is late. */
    atomic_store_explicit(&group->hall->seat[base->me].arrived, group->barrier, memory_order_relaxed);
    if (group->counts)
        arrive_counting(group);
    else if (group->rounds > 0)
        tell(group);
}

static bool reached(_Atomic uint32_t *counter, uint32_t number)
{
    /* acquire: what the members did before. Pairs with the releases in tell(), arrive_counting() and
     * tern_shm_depart(). */
    return !tern_base_seq_after(number, atomic_load_explicit(counter, memory_order_acquire));
}

static bool is_over(struct shm_group *group)
{
    if (group->counts)
        return reached(&group->hall->count, group->barrier * group->base.size);
    while (group->round < group->rounds) {
        if (!reached(&group->hall->seat[group->base.me].round[group->round].count, group->barrier))
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
    tern_base_order_after(group->shm); /* what the service thread has copied for peers that came here */
    return true;
}

int tern_shm_awaited(const struct tern_link_group *base)
{
    const struct shm_group *group = (const struct shm_group *)base;

    for (uint32_t i = 0; i < base->size; i++)
        if (tern_base_seq_after(group->barrier,
                                atomic_load_explicit(&group->hall->seat[i].arrived, memory_order_relaxed)))
            return (int)i;
    return -1;
}

void tern_shm_depart(struct tern_link_group *base, uint64_t object)
{
    struct shm_group *group = (struct shm_group *)base;
    struct shm_seat  *seat = &group->hall->seat[base->me];

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
    const struct shm_group *group = (const struct shm_group *)base;
    struct shm_seat        *seat = &group->hall->seat[member];

    if (!reached(&seat->departures, group->departures))
        return false;
    *object = atomic_load_explicit(&seat->object[group->departures & 1], memory_order_relaxed); /* see depart */
    return true;
}

void tern_shm_post(struct tern_link_group *base, const void *note, size_t len)
{
    struct shm_group *group = (struct shm_group *)base;

    memcpy(group->hall->seat[base->me].note[(group->barrier + 1) & 1], note, len); /* read after the next barrier */
}

const void *tern_shm_peek(const struct tern_link_group *base, uint32_t member)
{
    const struct shm_group *group = (const struct shm_group *)base;

    return group->hall->seat[member].note[group->barrier & 1];
}
