/* group.c: the barrier and the all-gather of a team on one node.
 *
 * With a core for each rank, the barrier is a dissemination barrier: in round k a member signals the member 2^k
 * positions ahead and waits for the signal of the member 2^k positions behind. It takes log2(size) rounds, each of
 * which transfers one cache line. With fewer cores than ranks, every round could cost a context switch. There, each
 * member polls the slots of all members, and the last member to arrive wakes the others, so each rank sleeps once.
 * Jobs that continue after the death of a rank also poll all slots: whether a member had arrived is then one store,
 * which all ranks read alike.
 *
 * A signal is a word: the number of the barrier, and in the lowest bits which kinds of members its sender knows of, the
 * sender included: members that have contributed (an all-gather), and members that have not (a barrier). In the usual
 * case, each word that a member waits for is equal to its own. A member that receives another word of the same barrier
 * adds its bits to its own word, so that all members learn of it. Words of odd and even barriers have different
 * places: a member that is one barrier ahead does not overwrite a word that has not been read.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sanitize.h"
#include "boot/bell.h"
#include "link/shm/shm.h"

enum { KIND_PLAIN = 1, KIND_CONTRIBUTES = 2, KINDS = KIND_PLAIN | KIND_CONTRIBUTES, KIND_BITS = 2 };

struct shm_group {
    struct tern_link_group   base;
    struct shm_link         *shm;
    struct shm_barrier_slot *hall;     /* [size] */
    bool                     by_seats; /* poll the slots of all members instead of dissemination */
    uint32_t                 rounds;
    uint32_t                 barrier; /* number of the last barrier entered */
    uint32_t                 word;    /* of that barrier */
    uint32_t                 kind;    /* of this member in the next barrier */
    uint32_t                 round;   /* the round of that barrier that this member waits for */
    uint32_t                 seen;    /* number of members, from the first, known to have arrived */
};

static tern_status shm_group_open(struct tern_link *link, const struct tern_link_group *as,
                                  struct tern_link_group **out)
{
    struct shm_link  *shm = tern_shm(link);
    struct shm_group *group = calloc(1, sizeof(*group));

    if (!group)
        return tern_base_fail(TERN_ERR_NOMEM, "link shm: no memory for %zu bytes", sizeof(*group));
    group->base = *as;
    group->base.ops = &tern_shm_group;
    group->shm = shm;
    group->hall =
        (struct shm_barrier_slot *)(void *)(shm->control + tern_shm_barrier_block_offset(shm->locals, as->id));
    group->by_seats =
        (uint32_t)shm->locals > shm->boot->segment->cores || shm->boot->segment->on_failure == TERN_ON_FAILURE_RETURN;
    group->rounds = tern_base_log2_up(as->size);
    group->kind = KIND_PLAIN;
    *out = &group->base;
    return TERN_OK;
}

static void shm_group_close(struct tern_link_group *group)
{
    free(group);
}

static void ring(const struct shm_group *group, uint32_t member)
{
    tern_boot_wake(tern_shm_slot(group->shm, tern_link_group_world(&group->base, member)));
}

static void ring_others(const struct shm_group *group)
{
    for (uint32_t i = 0; i < group->base.size; i++)
        if (i != group->base.me)
            ring(group, i);
}

/* Signal the partner of the current round: this member, and all members that have signaled it, have arrived. */
static void tell(struct shm_group *group)
{
    uint32_t partner = (group->base.me + (1u << group->round)) % group->base.size;

    /* release: everything before the barrier, and everything acquired in earlier rounds. Pairs with the acquire in
     * has_signaled(). */
    atomic_store_explicit(&group->hall[partner].round[group->round].word[group->barrier & 1], group->word,
                          memory_order_release);
    ring(group, partner);
}

/* A word differs from the own word. Return whether it is of the same barrier, in which members make different calls. */
static __attribute__((noinline)) bool is_mixed(struct shm_group *group, uint32_t word)
{
    if ((word ^ group->word) > KINDS)
        return false;
    group->word |= word;
    group->base.mixed = true;
    return true;
}

/* Whether the word of the current barrier has been written. */
static inline bool has_signaled(struct shm_group *group, const _Atomic uint32_t *at)
{
    /* acquire: everything that the writer did before, and those from which it has signals. Pairs with the release in
     * tell() and shm_arrive(). */
    uint32_t word = atomic_load_explicit(at, memory_order_acquire);

    return TERN_LIKELY(word == group->word) || is_mixed(group, word);
}

/* Whether all members have arrived. Continues at the first member that had not. */
static bool all_came(struct shm_group *group)
{
    while (group->seen < group->base.size && has_signaled(group, &group->hall[group->seen].arrived[group->barrier & 1]))
        group->seen++;
    return group->seen == group->base.size;
}

static void shm_arrive(struct tern_link_group *base)
{
    struct shm_group *group = (struct shm_group *)base;

    group->barrier++;
    group->word = group->barrier << KIND_BITS | group->kind;
    group->kind = KIND_PLAIN;
    group->round = 0;
    group->seen = 0;
    tern_base_order_before_peers(); /* before the helper thread copies for a peer that has passed the barrier */
    /* release: everything before the barrier. Pairs with the acquire in has_signaled(). */
    atomic_store_explicit(&group->hall[base->me].arrived[group->barrier & 1], group->word, memory_order_release);
    if (!group->by_seats) {
        if (group->rounds > 0)
            tell(group);
        return;
    }
    /* seq_cst: this member's arrival before it reads the others'. Pairs with itself: of several members that arrive
     * last at the same time, at least one sees all arrivals and wakes the others. */
    atomic_thread_fence(memory_order_seq_cst);
    if (all_came(group))
        ring_others(group);
}

static bool is_over(struct shm_group *group)
{
    if (group->by_seats)
        return all_came(group);
    while (group->round < group->rounds) {
        if (!has_signaled(group, &group->hall[group->base.me].round[group->round].word[group->barrier & 1]))
            return false;
        if (++group->round < group->rounds)
            tell(group);
    }
    return true;
}

static bool shm_arrived(struct tern_link_group *base)
{
    struct shm_group *group = (struct shm_group *)base;

    if (!is_over(group))
        return false;
    tern_base_order_after_peers(); /* after the copies of the helper thread for peers that have arrived here */
    return true;
}

/* The word that a member published when it arrived at a barrier, or at an earlier one. */
static uint32_t word_at(const struct shm_group *group, uint32_t member, uint32_t barrier)
{
    /* acquire: what the member did before. Pairs with the release in shm_arrive(). */
    return atomic_load_explicit(&group->hall[member].arrived[barrier & 1], memory_order_acquire);
}

static bool shm_has_arrived(const struct tern_link_group *base, uint32_t member)
{
    const struct shm_group *group = (const struct shm_group *)base;

    return word_at(group, member, group->barrier) >> KIND_BITS == group->barrier << KIND_BITS >> KIND_BITS;
}

static void shm_depart(struct tern_link_group *base, uint64_t object)
{
    struct shm_group *group = (struct shm_group *)base;

    tern_link_slot_depart(base, &group->hall[base->me].state, object);
    ring_others(group);
}

static bool shm_departed(const struct tern_link_group *base, uint32_t member, uint64_t *object)
{
    return tern_link_slot_departed(base, &((const struct shm_group *)base)->hall[member].state, object);
}

static void shm_contribute(struct tern_link_group *base, const void *data, size_t len)
{
    struct shm_group *group = (struct shm_group *)base;

    memcpy(group->hall[base->me].contribution[(group->barrier + 1) & 1], data, len); /* read after the next barrier */
    group->kind = KIND_CONTRIBUTES;
}

static const void *shm_contribution(const struct tern_link_group *base, uint32_t member)
{
    const struct shm_group *group = (const struct shm_group *)base;

    return group->hall[member].contribution[group->barrier & 1];
}

static enum tern_member_doing shm_doing(const struct tern_link_group *base, uint32_t member, const void **contribution)
{
    const struct shm_group *group = (const struct shm_group *)base;
    uint32_t                next = group->barrier + 1, word = word_at(group, member, next);

    if (word >> KIND_BITS != next << KIND_BITS >> KIND_BITS)
        return tern_link_slot_doing(base, &group->hall[member].state);
    *contribution = group->hall[member].contribution[next & 1];
    return word & KIND_CONTRIBUTES ? TERN_MEMBER_IN_GATHER : TERN_MEMBER_IN_BARRIER;
}

const struct tern_group_ops tern_shm_group = {
    .open = shm_group_open,
    .close = shm_group_close,
    .arrive = shm_arrive,
    .arrived = shm_arrived,
    .has_arrived = shm_has_arrived,
    .depart = shm_depart,
    .departed = shm_departed,
    .contribute = shm_contribute,
    .contribution = shm_contribution,
    .doing = shm_doing,
};
