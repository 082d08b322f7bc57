/* group.c: the barrier and the all-gather of a team on one node.
 *
 * With a core for each rank, the barrier is a dissemination barrier: in round k a member signals the member 2^k
 * positions ahead and waits for the signal of the member 2^k positions behind. It takes log2(size) rounds, each of
 * which transfers one cache line. With fewer cores than ranks, every round could cost a context switch. There, each
 * member polls the slots of all members, and the last member to arrive wakes the others, so each rank sleeps once.
 * Jobs that continue after the death of a rank also poll all slots: whether a member had arrived is then one store,
 * which all ranks read alike.
 *
 * A signal is a word that contains the number of the barrier. Its lowest bits say which kinds of members the sender
 * knows of, including the sender: members that have contributed (an all-gather), and members that have not (a barrier).
 * In the usual case, each word that a member waits for is equal to its own word. A member that receives another word of
 * the same barrier adds the bits of that word to its own, so that all members learn of them. Words of odd and even
 * barriers have different places: a member that is one barrier ahead does not overwrite a word that has not been read.
 *
 * The slots of the world and of the node are in the control memory of the link. The members of other teams share memory
 * that one of them has allocated in the arena, and that the last of them to leave the team frees.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/sanitize.h"
#include "boot/bell.h"
#include "link/none.h"
#include "link/shm/shm.h"

enum { KIND_PLAIN = 1, KIND_CONTRIBUTES = 2, KINDS = KIND_PLAIN | KIND_CONTRIBUTES, KIND_BITS = 2 };

struct shm_group {
    struct tern_link_group   base;
    struct shm_link         *shm;
    struct shm_barrier_slot *slots;    /* [size] */
    _Atomic uint32_t        *left;     /* number of members that have closed the group; NULL: the world, or the node */
    uint64_t                 bytes;    /* size of the memory that the members share, without the boards */
    void                    *boards;   /* mapped at their first use; NULL: not mapped */
    bool                     by_slots; /* poll the slots of all members instead of dissemination */
    uint32_t                 rounds;
    uint32_t                 barrier; /* number of the last barrier entered */
    uint32_t                 word;    /* this member's word in that barrier */
    uint32_t                 kind;    /* kind of this member in the next barrier */
    uint32_t                 round;   /* the round of that barrier that this member waits for */
    uint32_t                 seen;    /* number of members, from the first, known to have arrived */
};

/* The memory of a team: the slots of the members and the number of members that have left, then the boards, which are
 * mapped when the team makes its first short collective call. */
static uint64_t slot_bytes(uint32_t size)
{
    return tern_base_round_up(size * sizeof(struct shm_barrier_slot) + sizeof(struct tern_robust_lock), 4096);
}

static uint64_t board_bytes(uint32_t size)
{
    return tern_base_round_up(size * (uint64_t)TERN_LINK_BOARD, 4096);
}

static uint64_t shm_group_space(uint32_t size)
{
    return slot_bytes(size) + board_bytes(size);
}

/* Map the memory that a member has allocated, according to a message of that member. */
static tern_status map_block(struct shm_group *group)
{
    struct stat about;
    void       *at;

    group->bytes = slot_bytes(group->base.size);
    if (fstat(group->shm->boot->arena, &about) != 0 || group->base.space < TERN_ARENA_CONTROL ||
        !tern_base_covers((uint64_t)about.st_size, group->base.space, shm_group_space(group->base.size)))
        return tern_base_fail(
            TERN_ERR_LINK,
            "link shm: the memory of a team at offset %llu is outside of the arena, or not a region of it",
            (unsigned long long)group->base.space);
    at = mmap(NULL, group->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, group->shm->boot->arena,
              (off_t)group->base.space);
    if (at == MAP_FAILED)
        return tern_base_fail(TERN_ERR_NOMEM, "link shm: cannot map the %llu bytes of a team of %u ranks: %s",
                              (unsigned long long)group->bytes, group->base.size, strerror(errno));
    group->slots = at;
    group->left = (_Atomic uint32_t *)(void *)(group->slots + group->base.size);
    return TERN_OK;
}

static tern_status shm_group_open(struct tern_link *link, const struct tern_link_group *as,
                                  struct tern_link_group **out)
{
    struct shm_link  *shm = tern_shm(link);
    struct shm_group *group = calloc(1, sizeof(*group));
    tern_status       st = TERN_OK;

    if (!group)
        return tern_base_fail(TERN_ERR_NOMEM, "link shm: no memory for %zu bytes", sizeof(*group));
    group->base = *as;
    group->base.ops = &tern_shm_group;
    group->base.longest = TERN_LINK_CONTRIBUTION;
    group->shm = shm;
    if (as->space != 0)
        st = map_block(group);
    else if (as->id >= SHM_GROUPS)
        st = tern_base_fail(TERN_ERR_LINK, "link shm: no member has allocated the memory of a team of %u ranks",
                            as->size);
    else
        group->slots =
            (struct shm_barrier_slot *)(void *)(shm->control + tern_shm_barrier_block_offset(shm->locals, as->id));
    if (st < 0) {
        free(group);
        return st;
    }
    group->by_slots =
        (uint32_t)shm->locals > shm->boot->segment->cores || shm->boot->segment->on_failure == TERN_ON_FAILURE_RETURN;
    group->rounds = tern_base_log2_up(as->size);
    group->kind = KIND_PLAIN;
    *out = &group->base;
    return TERN_OK;
}

static void shm_group_close(struct tern_link_group *base)
{
    struct shm_group *group = (struct shm_group *)base;

    if (group->left) {
        /* acq_rel: the accesses of all members before the memory is freed. Pairs with itself. */
        bool last = atomic_fetch_add_explicit(group->left, 1, memory_order_acq_rel) + 1 == base->size;

        munmap(group->slots, group->bytes);
        if (group->boards)
            munmap(group->boards, board_bytes(base->size));
        if (last)
            tern_boot_space_give(&(struct tern_space){
                .file = group->shm->boot->arena, .offset = base->space, .bytes = shm_group_space(base->size) });
    }
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
    atomic_store_explicit(&group->slots[partner].round[group->round].word[group->barrier & 1], group->word,
                          memory_order_release);
    ring(group, partner);
}

/* Handle a word that differs from this member's word. Returns whether it is a word of the same barrier, in which the
 * members then make different calls. */
static __attribute__((noinline)) bool is_mixed(struct shm_group *group, uint32_t word)
{
    if ((word ^ group->word) > KINDS)
        return false;
    group->word |= word;
    group->base.mixed = true;
    return true;
}

/* Return whether the word of the current barrier has been written. */
static inline bool has_signaled(struct shm_group *group, const _Atomic uint32_t *at)
{
    /* acquire: everything before the arrival of the writer, and of the members whose signals the writer has received.
     * Pairs with the releases in tell() and shm_arrive(). */
    uint32_t word = atomic_load_explicit(at, memory_order_acquire);

    return TERN_LIKELY(word == group->word) || is_mixed(group, word);
}

/* Return whether all members have arrived. The check continues at the first member that had not arrived at the previous
 * check. */
static bool all_came(struct shm_group *group)
{
    while (group->seen < group->base.size &&
           has_signaled(group, &group->slots[group->seen].arrived[group->barrier & 1]))
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
    atomic_store_explicit(&group->slots[base->me].arrived[group->barrier & 1], group->word, memory_order_release);
    if (!group->by_slots) {
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
    if (group->by_slots)
        return all_came(group);
    while (group->round < group->rounds) {
        if (!has_signaled(group, &group->slots[group->base.me].round[group->round].word[group->barrier & 1]))
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

/* Return the word that a member published when it arrived at a barrier, or at an earlier one. */
static uint32_t word_at(const struct shm_group *group, uint32_t member, uint32_t barrier)
{
    /* acquire: everything before the arrival of the member. Pairs with the release in shm_arrive(). */
    return atomic_load_explicit(&group->slots[member].arrived[barrier & 1], memory_order_acquire);
}

static bool shm_has_arrived(const struct tern_link_group *base, uint32_t member)
{
    const struct shm_group *group = (const struct shm_group *)base;

    return word_at(group, member, group->barrier) >> KIND_BITS == group->barrier << KIND_BITS >> KIND_BITS;
}

static void shm_give_up(struct tern_link_group *base)
{
    struct shm_group *group = (struct shm_group *)base;

    tern_link_slot_give_up(&group->slots[base->me].state, &group->shm->boot->segment->quits);
    ring_others(group);
}

/* A member that has given up sends no signals. From then on, a member that waits polls the slots, and the members whose
 * arrival it awaits may only signal others. */
static int shm_quitter(struct tern_link_group *base)
{
    struct shm_group *group = (struct shm_group *)base;
    uint32_t          now;
    bool              any = false;

    if (!tern_link_group_quits(base, &group->shm->boot->segment->quits, &now))
        return -1;
    for (uint32_t i = 0; i < base->size; i++) {
        if (!tern_link_slot_gave_up(&group->slots[i].state))
            continue;
        any = true;
        if (!shm_has_arrived(base, i))
            return (int)i;
    }
    if (!any) {
        base->quits_seen = now;
    } else if (!group->by_slots) {
        group->by_slots = true;
        base->naps = true;
    }
    return -1;
}

/* Return whether no member is left that will depart in this round. A member that dies or leaves the job later wakes the
 * others: see boot/relay.h and core/job.c. */
static bool all_departed(const struct shm_group *group)
{
    for (uint32_t i = 0; i < group->base.size; i++) {
        const struct tern_slot *slot = tern_shm_slot(group->shm, tern_link_group_world(&group->base, i));

        /* relaxed: the caller only decides whether to wake other ranks, which read these words themselves. */
        if (!tern_link_slot_reached(&group->slots[i].state.departures, group->base.departures) &&
            atomic_load_explicit(&slot->fate, memory_order_relaxed) == TERN_FATE_RUNNING &&
            atomic_load_explicit(&slot->life, memory_order_relaxed) < TERN_LIFE_LEAVING)
            return false;
    }
    return true;
}

/* The last member that departs wakes the others: otherwise each of n ranks would wake up to n times. */
static void shm_depart(struct tern_link_group *base, uint64_t object)
{
    struct shm_group *group = (struct shm_group *)base;

    tern_link_slot_depart(base, &group->slots[base->me].state, object);
    /* seq_cst: this member's departure before it reads the others'. Pairs with itself: of several members that depart
     * last at the same time, at least one sees all departures and wakes the others. */
    atomic_thread_fence(memory_order_seq_cst);
    if (all_departed(group))
        ring_others(group);
}

static bool shm_departed(const struct tern_link_group *base, uint32_t member, uint64_t *object)
{
    return tern_link_slot_departed(base, &((const struct shm_group *)base)->slots[member].state, object);
}

static void shm_regroup(struct tern_link_group *base, uint32_t id)
{
    struct shm_group *group = (struct shm_group *)base;

    tern_link_slot_regroup(base, &group->slots[base->me].state, id);
    ring_others(group);
}

static bool shm_regrouped(const struct tern_link_group *base, uint32_t member, uint32_t *id)
{
    return tern_link_slot_regrouped(base, &((const struct shm_group *)base)->slots[member].state, id);
}

static void *shm_contribute(struct tern_link_group *base, size_t len)
{
    struct shm_group *group = (struct shm_group *)base;

    (void)len;
    /* relaxed: published by the word that says that this member contributes, in shm_arrive() */
    atomic_store_explicit(&group->slots[base->me].state.call[(group->barrier + 1) & 1], base->call,
                          memory_order_relaxed);
    group->kind = KIND_CONTRIBUTES;
    return group->slots[base->me].contribution[(group->barrier + 1) & 1];
}

static const void *shm_contribution(const struct tern_link_group *base, uint32_t member)
{
    const struct shm_group *group = (const struct shm_group *)base;

    return group->slots[member].contribution[group->barrier & 1];
}

static enum tern_member_doing shm_doing(const struct tern_link_group *base, uint32_t member, uint64_t *what)
{
    const struct shm_group *group = (const struct shm_group *)base;
    uint32_t                next = group->barrier + 1, word = word_at(group, member, next);

    if (word >> KIND_BITS != next << KIND_BITS >> KIND_BITS)
        return tern_link_slot_doing(base, &group->slots[member].state, what);
    /* relaxed: after the word. A member that does not contribute is in a barrier, and has not written its call. */
    *what = word & KIND_CONTRIBUTES
                ? atomic_load_explicit(&group->slots[member].state.call[next & 1], memory_order_relaxed)
                : 0;
    return TERN_MEMBER_IN_CALL;
}

static void *shm_board(struct tern_link_group *base)
{
    struct shm_group *group = (struct shm_group *)base;
    void             *at;

    if (!group->left)
        return group->slots + group->shm->locals;
    if (!group->boards) {
        at = mmap(NULL, board_bytes(base->size), PROT_READ | PROT_WRITE, MAP_SHARED, group->shm->boot->arena,
                  (off_t)(base->space + group->bytes));
        group->boards = at != MAP_FAILED ? at : NULL;
    }
    return group->boards;
}

const struct tern_group_ops tern_shm_group = {
    .open = shm_group_open,
    .close = shm_group_close,
    .space = shm_group_space,
    .arrive = shm_arrive,
    .arrived = shm_arrived,
    .has_arrived = shm_has_arrived,
    .give_up = shm_give_up,
    .quitter = shm_quitter,
    .depart = shm_depart,
    .departed = shm_departed,
    .advance = tern_link_no_advance,
    .regroup = shm_regroup,
    .regrouped = shm_regrouped,
    .contribute = shm_contribute,
    .contribution = shm_contribution,
    .doing = shm_doing,
    .board = shm_board,
};
