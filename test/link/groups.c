/* groups.c: the link contract, second half: groups. One body runs over every link and number of ranks, with a core for
 * each rank and with fewer.
 *
 * Promises: no member leaves a barrier before all members have entered it, ten thousand times; data written before the
 * barrier is visible after it; has_arrived() tells for each member whether it has arrived; the contributions of two
 * consecutive posts are stored side by side, and a peek returns the contribution of the current all-gather; two groups
 * do not disturb each other; if some members contribute to a barrier and others do not, all members learn of it, and
 * doing() tells what a member that is ahead does.
 *
 * long: LINK_CASES=all
 */
#include "link_test.h"

#define BARRIERS (JOB_SANITIZED ? 500u : 10000u)

static void barriers(struct rank *r)
{
    for (uint64_t i = 1; i <= (is_chaotic(r) ? BARRIERS / 10 : BARRIERS); i++) {
        atomic_store_explicit(&r->board->word[r->me][0], i, memory_order_relaxed);
        meet(r);
        for (int rank = 0; rank < r->ranks; rank++) {
            uint64_t seen = atomic_load_explicit(&r->board->word[rank][0], memory_order_relaxed);
            EXPECT(seen == i || seen == i + 1); /* the member has arrived here, and may have passed one more barrier */
        }
        EXPECT(r->group->ops->arrived(r->group)); /* the result stays true */
    }
}

/* No member passes the barrier while one member has not arrived. */
static void held(struct rank *r)
{
    for (int late = 0; late < r->ranks; late++) {
        if (r->me == late) {
            for (int i = 0; i < 200; i++) {
                sched_yield();
                for (int rank = 0; rank < r->ranks; rank++)
                    EXPECT(rank == late || atomic_load(&r->board->word[rank][1]) <= (uint64_t)late);
            }
            meet(r);
        } else {
            meet(r);
            atomic_store(&r->board->word[r->me][1], (uint64_t)late + 1);
        }
        meet(r);
    }
}

/* Returns the first member that has not arrived, by asking for each; -1 if all have arrived. */
static int first_late(struct rank *r)
{
    for (int i = 0; i < r->ranks; i++)
        if (!r->group->ops->has_arrived(r->group, (uint32_t)i))
            return i;
    return -1;
}

static void awaited(struct rank *r)
{
    EXPECT(first_late(r) == -1);
    for (int late = 0; late < r->ranks; late++) {
        if (r->me == late) { /* the last member to arrive */
            for (int rank = 0; rank < r->ranks; rank++)
                while (rank != late && atomic_load(&r->board->word[rank][2]) != (uint64_t)late + 1)
                    sched_yield();
            meet(r);
        } else {
            r->group->ops->arrive(r->group);
            EXPECT(first_late(r) != r->me);
            atomic_store(&r->board->word[r->me][2], (uint64_t)late + 1);
            while (!r->group->ops->arrived(r->group)) {
                int who = first_late(r);
                EXPECT(who >= -1 && who < r->ranks && who != r->me);
            }
        }
        EXPECT(first_late(r) == -1);
        meet(r);
    }
}

/* Contributions of every length, in long runs: each peek returns the contribution of the last all-gather, whatever its
 * parity. */
static void notes(struct rank *r)
{
    unsigned char note[TERN_LINK_CONTRIBUTION];

    for (unsigned i = 0; i < (JOB_SANITIZED ? 60u : 400u); i++) {
        size_t len = i % 3 == 0 ? TERN_LINK_CONTRIBUTION : 1 + (i * 131) % TERN_LINK_CONTRIBUTION;

        for (size_t k = 0; k < len; k++)
            note[k] = (unsigned char)((unsigned)r->me * 50 + i + k);
        memcpy(r->group->ops->contribute(r->group, len), note, len);
        meet(r); /* no second barrier: the next post uses the other slot */
        for (int rank = 0; rank < r->ranks; rank++) {
            const unsigned char *theirs = r->group->ops->contribution(r->group, (uint32_t)rank);
            for (size_t k = 0; k < len; k++)
                EXPECT(theirs[k] == (unsigned char)((unsigned)rank * 50 + i + k));
        }
        if (i % 5 == 0)
            meet(r); /* barriers in between change nothing */
    }
}

/* The ranks enter the node's group and the world's group alternately. */
static void two_groups(struct rank *r)
{
    struct tern_link_group  as = { .id = 1, .size = (uint32_t)r->ranks, .me = (uint32_t)r->me };
    struct tern_link_group *node;
    uint32_t                value;

    EXPECT(r->ops->group->open(r->link, &as, &node) == TERN_OK);
    EXPECT(node->ops->contribute == r->ops->group->contribute && node->id == 1 && node->size == (uint32_t)r->ranks &&
           node->me == (uint32_t)r->me);
    for (uint32_t i = 0; i < 300; i++) {
        value = i * 100 + (uint32_t)r->me;
        memcpy(node->ops->contribute(node, sizeof(value)), &value, sizeof(value));
        value += 7;
        memcpy(r->group->ops->contribute(r->group, sizeof(value)), &value, sizeof(value));
        node->ops->arrive(node); /* both at once */
        r->group->ops->arrive(r->group);
        while (!r->group->ops->arrived(r->group) || !node->ops->arrived(node))
            sched_yield();
        for (uint32_t rank = 0; rank < (uint32_t)r->ranks; rank++) {
            memcpy(&value, node->ops->contribution(node, rank), sizeof(value));
            EXPECT(value == i * 100 + rank);
            memcpy(&value, r->group->ops->contribution(r->group, rank), sizeof(value));
            EXPECT(value == i * 100 + rank + 7);
        }
    }
    meet(r);
    node->ops->close(node);
}

/* One member differs from all others: it alone contributes, or it alone does not. Members that run ahead disturb
 * nothing. */
static void mixed(struct rank *r)
{
    uint32_t value = 4711;

    for (int odd = 0; odd < r->ranks && r->ranks > 1; odd++)
        for (unsigned kind = 0; kind < 40; kind++) {
            bool differs = kind % 4 < 2, contributes = (kind % 2 == 0) == (r->me == odd || !differs);

            if (contributes)
                memcpy(r->group->ops->contribute(r->group, sizeof(value)), &value, sizeof(value));
            meet(r);
            EXPECT(r->group->mixed == differs);
            r->group->mixed = false;
        }
}

/* Member 0 is ahead by one barrier, to which it contributes or not, and then by one departure. */
static void ahead(struct rank *r)
{
    uint32_t value = 815;
    uint64_t object, theirs = 0;

    for (int i = 0; i < 2 && r->ranks > 1; i++) {
        r->group->call = i == 1 ? 7 : 0;
        if (r->me == 0 && i == 1)
            memcpy(r->group->ops->contribute(r->group, sizeof(value)), &value, sizeof(value));
        if (r->me == 0)
            r->group->ops->arrive(r->group);
        while (r->me > 0 && r->group->ops->doing(r->group, 0, &theirs) == TERN_MEMBER_ELSEWHERE)
            sched_yield();
        if (r->me > 0) {
            EXPECT(r->group->ops->doing(r->group, 0, &theirs) == TERN_MEMBER_IN_CALL);
            EXPECT(theirs == (i == 1 ? 7u : 0u));
            r->group->ops->arrive(r->group);
        }
        while (!r->group->ops->arrived(r->group))
            sched_yield();
        EXPECT(r->group->ops->doing(r->group, (uint32_t)r->me, &theirs) == TERN_MEMBER_ELSEWHERE);
        r->group->mixed = false;
        meet(r);
    }
    if (r->me == 0)
        r->group->ops->depart(r->group, 5);
    while (r->me > 0 && r->group->ops->doing(r->group, 0, &theirs) != TERN_MEMBER_IN_DEPARTURE)
        sched_yield();
    EXPECT(r->me == 0 || theirs == 5);
    if (r->me > 0)
        r->group->ops->depart(r->group, 5);
    for (int rank = 0; rank < r->ranks; rank++)
        while (!r->group->ops->departed(r->group, (uint32_t)rank, &object))
            sched_yield();
    meet(r);
}

/* Run with a core for each rank, and with one core for all ranks. */
#define LINK_TEST(body)                             \
    static void test_##body(void **state)           \
    {                                               \
        (void)state;                                \
        run_links(64, body);                        \
    }                                               \
    static void test_##body##_crowded(void **state) \
    {                                               \
        (void)state;                                \
        run_links(1, body);                         \
    }
LINK_TEST(barriers)
LINK_TEST(held)
LINK_TEST(awaited)
LINK_TEST(notes)
LINK_TEST(two_groups)
LINK_TEST(mixed)
LINK_TEST(ahead)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barriers),   cmocka_unit_test(test_barriers_crowded),
        cmocka_unit_test(test_held),       cmocka_unit_test(test_held_crowded),
        cmocka_unit_test(test_awaited),    cmocka_unit_test(test_awaited_crowded),
        cmocka_unit_test(test_notes),      cmocka_unit_test(test_notes_crowded),
        cmocka_unit_test(test_two_groups), cmocka_unit_test(test_two_groups_crowded),
        cmocka_unit_test(test_mixed),      cmocka_unit_test(test_mixed_crowded),
        cmocka_unit_test(test_ahead),      cmocka_unit_test(test_ahead_crowded),
    };

    needs_groups = true;
    return cmocka_run_group_tests_name("link groups", tests, default_options, NULL);
}
