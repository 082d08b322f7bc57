/* nodes.c: the shm link on one node of a job with several nodes, whose ranks are placed round-robin.
 *
 * Promise: the link reaches the ranks of its node and no others, and its behaviour among them does not depend on their
 * ranks in the job. One process plays the three ranks of the node.
 */
#include "link_messages.h"

#define HERE 3

static const int32_t node_of[] = { 0, 1, 0, 1, 2, 1, 0 };
static int32_t       here[HERE] = { 1, 3, 5 };

struct scene {
    struct rank r[HERE];
};

static void scene_set(struct scene *s)
{
    struct tern_boot_shape shape = { .ranks = 7, .nodes = 3, .node = 1, .node_of = node_of, .cores = 4 };
    struct tern_boot       boot = { .relay_fd = -1 };

    EXPECT(tern_boot_arena_shape(&shape, &boot.arena, &boot.huge, &boot.segment) == TERN_OK);
    for (int i = 0; i < HERE; i++) {
        struct tern_link_group as = { .id = 1, .size = HERE, .me = (uint32_t)i, .world_rank = here };

        s->r[i] = (struct rank){ .ops = link_named("shm"), .boot = boot, .me = here[i], .ranks = 7 };
        tern_boot_place(&s->r[i].boot, here[i]);
        atomic_store(&boot.segment->slot[here[i]].pid, (int32_t)getpid());
        EXPECT(s->r[i].ops->open(&s->r[i].boot, &message_up, &s->r[i].link) == TERN_OK);
        EXPECT(s->r[i].ops->group->open(s->r[i].link, &as, &s->r[i].group) == TERN_OK);
        EXPECT(s->r[i].ops->lane_open(s->r[i].link, &s->r[i].lane) == TERN_OK);
    }
}

static void play(scene_body *body)
{
    struct scene s;

    scene_set(&s);
    body(&s);
    for (int i = 0; i < HERE; i++) {
        s.r[i].ops->lane_close(s.r[i].lane);
        s.r[i].group->ops->close(s.r[i].group);
        s.r[i].ops->close(s.r[i].link);
    }
    tern_boot_leave(&s.r[0].boot);
}

static void it_reaches_its_node(struct scene *s)
{
    for (int i = 0; i < HERE; i++)
        for (int rank = -1; rank <= 7; rank++)
            EXPECT(s->r[i].ops->reaches(s->r[i].link, rank) == (rank >= 0 && rank < 7 && node_of[rank] == 1));
}
SCENE_TEST(it_reaches_its_node)

static void messages_come_from_job_ranks(struct scene *s)
{
    for (int from = 0; from < HERE; from++)
        for (int to = 0; to < HERE; to++) {
            struct tern_link_msg msg = { .peer = here[to], .channel = TERN_CHANNEL_REQUEST };

            if (from == to)
                continue;
            EXPECT(s->r[from].ops->msg->open(s->r[from].link, &msg, 100, 100) == TERN_OK);
            write_message(&msg, 0, here[from], 100);
            s->r[from].ops->msg->send(s->r[from].link, &msg, 100);
        }
    for (int to = 0; to < HERE; to++) {
        memset(&got, 0, sizeof(got));
        current = &s->r[to];
        EXPECT(deliver(s->r[to].link, TERN_CHANNEL_REPLY) == TERN_OK); /* new senders are detected with replies */
        EXPECT(deliver(s->r[to].link, TERN_CHANNEL_REQUEST) == TERN_OK);
        for (int rank = 0; rank < 7; rank++)
            EXPECT(got.count[rank][TERN_CHANNEL_REQUEST] == (node_of[rank] == 1 && rank != here[to]));
    }
}
SCENE_TEST(messages_come_from_job_ranks)

static void the_team_meets(struct scene *s)
{
    char note[] = "note of 0";

    for (int i = 0; i < HERE; i++) {
        note[8] = (char)('0' + i);
        memcpy(s->r[i].group->ops->contribute(s->r[i].group, sizeof(note)), note, sizeof(note));
        EXPECT(i == 0 || !s->r[0].group->ops->arrived(s->r[0].group));
        s->r[i].group->ops->arrive(s->r[i].group);
    }
    for (int round = 0; round < HERE; round++) /* they forward what they have received */
        for (int i = 0; i < HERE; i++)
            EXPECT(s->r[i].group->ops->arrived(s->r[i].group) || round < HERE - 1);
    for (int i = 0; i < HERE; i++)
        for (int k = 0; k < HERE; k++)
            EXPECT(((const char *)s->r[i].group->ops->contribution(s->r[i].group, (uint32_t)k))[8] == '0' + k);
}
SCENE_TEST(the_team_meets)

/* Registered memory of a peer through the bounce buffer: control blocks are indexed by the rank on the node. */
static void bounced_transfers(struct scene *s)
{
    static unsigned char   theirs[5000], ours[5000];
    struct rank           *from = &s->r[2], *to = &s->r[1];
    struct tern_mem_handle handle = {
        .region = 9, .addr = (uintptr_t)theirs, .size = sizeof(theirs), .mem_kind = TERN_MEM_PRIVATE, .pid = getpid()
    };
    struct tern_link_part part = {
        .size = handle.size, .addr = handle.addr, .mem_kind = handle.mem_kind, .region = 9, .rank = 3
    };
    struct tern_xfer xfer = { .part = &part, .local = ours, .len = sizeof(ours) };
    struct test_op   op = { 0 };

    memset(ours, 0x77, sizeof(ours));
    EXPECT(to->ops->expose(to->link, &handle) == TERN_OK);
    EXPECT(from->ops->attach(from->link, &handle, NULL, &part) == TERN_OK);
    EXPECT(to->ops->service_needed(to->link) && !s->r[0].ops->service_needed(s->r[0].link));
    EXPECT(part.path->start(from->lane, &xfer, &op.op) == TERN_PENDING);
    EXPECT(!s->r[0].ops->serve(s->r[0].link)); /* not for that rank */
    while (op.done == 0) {
        to->ops->serve(to->link);
        from->ops->progress(from->lane);
    }
    EXPECT(op.status == TERN_OK && memcmp(theirs, ours, sizeof(ours)) == 0);
    from->ops->detach(from->link, &part);
    to->ops->unexpose(to->link, 9);
}
SCENE_TEST(bounced_transfers)

static int without_cma(void **state)
{
    char *options[] = { (char *)(uintptr_t) "TERN_CMA=off", NULL };

    (void)state;
    return tern_base_options_load(options) == TERN_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_reaches_its_node),
        cmocka_unit_test(test_messages_come_from_job_ranks),
        cmocka_unit_test(test_the_team_meets),
        cmocka_unit_test(test_bounced_transfers),
    };

    return cmocka_run_group_tests(tests, without_cma, NULL);
}
