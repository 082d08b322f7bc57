/* hostile_messages.c: whatever a peer writes into the queue directory and the rings of the shm link, it must not crash
 * or hang the target.
 *
 * Promise: values that no sender writes are refused with TERN_ERR_LINK or ignored. The target never follows them, and
 * every poll comes to an end.
 *
 * One process is both ranks of two. Each case runs in its own process.
 */
#include "link_messages.h"

#include "base/spsc_ring.h"
#include "link/shm/shm.h"

struct scene {
    struct rank           r[2];
    struct shm_link      *shm;  /* rank 0, the target */
    struct shm_queue_ref *post; /* the directory entry of rank 1 at rank 0, for requests and replies */
    struct tern_ring     *ring[TERN_CHANNELS_PAIR];
};

static void scene_set(struct scene *s)
{
    struct tern_boot *boot = &s->r[0].boot;

    EXPECT(tern_boot_arena_make(2, 2, &boot->arena, &boot->huge, &boot->segment) == TERN_OK);
    for (int i = 0; i < 2; i++) {
        s->r[i].ops = link_named("shm");
        s->r[i].boot = *boot;
        s->r[i].me = i;
        tern_boot_place(&s->r[i].boot, i);
        s->r[i].ranks = 2;
        EXPECT(s->r[i].ops->open(&s->r[i].boot, &message_up, &s->r[i].link) == TERN_OK);
    }
    current = &s->r[0];
    s->shm = (struct shm_link *)s->r[0].link;
    s->post = tern_shm_queue_ref_between(s->shm, 0, 1, SHM_QUEUE_PAIR);
}

/* Rank 1 sends a valid message. */
static void send_good(struct scene *s, uint64_t number)
{
    struct tern_link_msg msg = { .peer = 0, .channel = TERN_CHANNEL_REQUEST };

    EXPECT(s->r[1].ops->msg->open(s->r[1].link, &msg, 100, 100) == TERN_OK);
    write_message(&msg, number, 1, 100);
    s->r[1].ops->msg->send(s->r[1].link, &msg, 100);
}

/* New senders are detected with replies, which are always polled. */
static tern_status poll_target(struct scene *s, unsigned channel)
{
    tern_status st = deliver(s->r[0].link, TERN_CHANNEL_REPLY);

    return channel == TERN_CHANNEL_REPLY || st < 0 ? st : deliver(s->r[0].link, channel);
}

static bool is_ready(struct scene *s, unsigned channel)
{
    return is_shown(s->r[0].link, channel) || is_shown(s->r[0].link, TERN_CHANNEL_REPLY);
}

static void good_first(struct scene *s)
{
    send_good(s, 0);
    EXPECT(is_ready(s, TERN_CHANNEL_REQUEST));
    EXPECT(poll_target(s, TERN_CHANNEL_REQUEST) == TERN_OK && got.count[1][TERN_CHANNEL_REQUEST] == 1);
    EXPECT(!is_ready(s, TERN_CHANNEL_REQUEST));
}

static void posts_of_bad_sizes(struct scene *s)
{
    send_good(s, 0);
    uint64_t       good = atomic_load(&s->post->bytes), at = atomic_load(&s->post->offset);
    const uint64_t bad[] = { 0,
                             1,
                             63,
                             64,
                             12 * 64,
                             good - 1,
                             good + 1,
                             good * 3,
                             (1ull << 20) + 64,
                             1ull << 22,
                             1ull << 40,
                             UINT64_MAX / 2 + 1,
                             UINT64_MAX - 63,
                             UINT64_MAX };
    const uint64_t nowhere[] = { 1, 64, at + 1, at + 64, 1ull << 60, UINT64_MAX - 4095, UINT64_MAX };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        atomic_store(&s->post->bytes, bad[i]);
        EXPECT(poll_target(s, TERN_CHANNEL_REQUEST) == TERN_ERR_LINK);
    }
    atomic_store(&s->post->bytes, good);
    for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
        atomic_store(&s->post->offset, nowhere[i]);
        EXPECT(poll_target(s, TERN_CHANNEL_REQUEST) == TERN_ERR_LINK);
    }
    atomic_store(&s->post->offset, at); /* the entry is valid again */
    EXPECT(poll_target(s, TERN_CHANNEL_REQUEST) == TERN_OK && got.count[1][TERN_CHANNEL_REQUEST] == 1);
}

/* A sender that died between its entry and the count, and a count without an entry: the target checks once and no
 * more. */
static void counts_that_lie(struct scene *s)
{
    _Atomic uint32_t *senders = &s->shm->bounce_ctl[0].senders;

    for (uint32_t lie = 1; lie < 100; lie++) {
        atomic_fetch_add(senders, lie);
        EXPECT(poll_target(s, TERN_CHANNEL_REQUEST) == TERN_OK);
        EXPECT(!is_ready(s, TERN_CHANNEL_REQUEST));
    }
    send_good(s, 0);
    atomic_fetch_sub(senders, 1); /* the sender died just before it counted */
    atomic_fetch_add(senders, 1); /* another sender has registered */
    EXPECT(poll_target(s, TERN_CHANNEL_REQUEST) == TERN_OK && got.count[1][TERN_CHANNEL_REQUEST] == 1);
    EXPECT(!is_ready(s, TERN_CHANNEL_REQUEST));
    send_good(s, 1);
    EXPECT(poll_target(s, TERN_CHANNEL_REQUEST) == TERN_OK && got.count[1][TERN_CHANNEL_REQUEST] == 2);
}

/* Write values that no sender writes into the cell that the target reads next. */
static void damaged_rings(struct scene *s)
{
    good_first(s);
    struct tern_ring_consumer *in = &s->shm->msg.rx[SHM_QUEUE_PAIR][1].channel[TERN_CHANNEL_REQUEST].ring;
    struct tern_ring_cell     *cell = tern_base_ring_cell(in->ring, in->next, in->shape);
    const uint32_t             data = in->shape.data, none = UINT32_MAX;
    const uint32_t             bad[][3] = { /* len, at, span */
                                { 65, 0, 64 },     { none - 1, 0, none },     { data + 1, 0, data + 1 },
                                { 64, data, 64 },  { 64, data - 63, 64 },     { 64, none, 64 },
                                { data, 1, data }, { none - 1, 0, data + 1 }, { none, 0, none }
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cell->len = bad[i][0];
        cell->at = bad[i][1];
        cell->span = bad[i][2];
        atomic_store(&cell->mark, tern_base_ring_lap(in->next, in->shape));
        EXPECT(is_ready(s, TERN_CHANNEL_REQUEST));
        EXPECT(poll_target(s, TERN_CHANNEL_REQUEST) == TERN_ERR_LINK);
        EXPECT(strstr(tern_base_detail(), "rank 1") != NULL);
        EXPECT(poll_target(s, TERN_CHANNEL_REPLY) == TERN_OK);
    }
    atomic_store(&cell->mark, 77); /* of a future lap */
    EXPECT(is_ready(s, TERN_CHANNEL_REQUEST) && poll_target(s, TERN_CHANNEL_REQUEST) == TERN_ERR_LINK);
    EXPECT(got.count[1][TERN_CHANNEL_REQUEST] == 1);
}

/* "Skip" cells all round the ring: a poll comes to an end. */
static void circles(struct scene *s)
{
    good_first(s);
    struct tern_ring_consumer *in = &s->shm->msg.rx[SHM_QUEUE_PAIR][1].channel[TERN_CHANNEL_REQUEST].ring;

    for (uint64_t i = in->next; i < in->next + in->shape.cells; i++) {
        struct tern_ring_cell *cell = tern_base_ring_cell(in->ring, i, in->shape);
        cell->len = TERN_RING_SKIP;
        cell->span = 0;
        atomic_store(&cell->mark, tern_base_ring_lap(i, in->shape));
    }
    EXPECT(poll_target(s, TERN_CHANNEL_REQUEST) == TERN_OK);
    EXPECT(!is_ready(s, TERN_CHANNEL_REQUEST) && got.count[1][TERN_CHANNEL_REQUEST] == 1);
}

static void send_note(struct scene *s, uint64_t number)
{
    struct tern_link_msg msg = { .peer = 0, .channel = TERN_CHANNEL_NOTIFY };

    EXPECT(s->r[1].ops->msg->open(s->r[1].link, &msg, 0, 0) == TERN_OK);
    write_message(&msg, number, 1, 0);
    s->r[1].ops->msg->send(s->r[1].link, &msg, 0);
}

static void posts_of_bad_notes(struct scene *s)
{
    struct shm_queue_ref *post = tern_shm_queue_ref_between(s->shm, 0, 1, SHM_QUEUE_NOTIFY);

    send_note(s, 0);
    uint64_t       good = atomic_load(&post->bytes), at = atomic_load(&post->offset);
    const uint64_t bad[] = { 0, 1, 64, 192, good - 64, good + 1, good + 64, 1ull << 40, UINT64_MAX - 63, UINT64_MAX };
    const uint64_t nowhere[] = { 1, 64, at + 1, at + 64, 1ull << 60, UINT64_MAX - 4095, UINT64_MAX };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        atomic_store(&post->bytes, bad[i]);
        EXPECT(poll_target(s, TERN_CHANNEL_NOTIFY) == TERN_ERR_LINK);
    }
    atomic_store(&post->bytes, good);
    for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
        atomic_store(&post->offset, nowhere[i]);
        EXPECT(poll_target(s, TERN_CHANNEL_NOTIFY) == TERN_ERR_LINK);
    }
    atomic_store(&post->offset, at); /* the entry is valid again */
    EXPECT(poll_target(s, TERN_CHANNEL_NOTIFY) == TERN_OK && got.count[1][TERN_CHANNEL_NOTIFY] == 1);
}

/* Stamps that no sender writes, and switches to overflow cells that do not exist. */
static void damaged_notes(struct scene *s)
{
    send_note(s, 0);
    EXPECT(poll_target(s, TERN_CHANNEL_NOTIFY) == TERN_OK && got.count[1][TERN_CHANNEL_NOTIFY] == 1);
    struct tern_nq_consumer *in = &s->shm->notify.rx[1]->queue;
    struct tern_nq_cell     *cell = tern_base_nq_next(in, 0);
    uint64_t                 next = in->row[TERN_NQ_PRIMARY].next;
    const uint64_t           restart = tern_base_nq_stamp(next, TERN_NQ_RESTART);
    const uint64_t bad[] = { tern_base_nq_stamp(next + 1, 0), tern_base_nq_stamp(next, TERN_NQ_KINDS), restart,
                             tern_base_nq_stamp(next, 0xff), UINT64_MAX };
    const uint64_t far[][2] = { /* bytes and offset */
                                { 0, 0 },          { 64, 4096 },        { 192, 4096 },        { 320, 4096 },
                                { 256 + 1, 4096 }, { 256, 1ull << 60 }, { 256, UINT64_MAX },  { 256, 64 },
                                { 1ull << 40, 0 }, { UINT64_MAX, 0 },   { 1ull << 63, 4096 }, { 1ull << 26, 1ull << 50 }
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        atomic_store(&cell->stamp, bad[i]);
        EXPECT(is_shown(s->r[0].link, TERN_CHANNEL_NOTIFY));
        EXPECT(poll_target(s, TERN_CHANNEL_NOTIFY) == TERN_ERR_LINK);
        EXPECT(strstr(tern_base_detail(), "rank 1") != NULL);
    }
    atomic_store(&cell->stamp, tern_base_nq_stamp(next, TERN_NQ_SWITCH | TERN_NQ_RESTART));
    for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
        atomic_store(&in->shared->overflow_bytes, far[i][0]);
        atomic_store(&in->shared->overflow_offset, far[i][1]);
        EXPECT(poll_target(s, TERN_CHANNEL_NOTIFY) == TERN_ERR_LINK);
        EXPECT(strstr(tern_base_detail(), "rank 1") != NULL);
    }
    EXPECT(got.count[1][TERN_CHANNEL_NOTIFY] == 1);
}

static void play(scene_body *body)
{
    struct scene s = { .shm = NULL };

    scene_set(&s);
    body(&s);
    for (int i = 0; i < 2; i++)
        s.r[i].ops->close(s.r[i].link);
}

SCENE_TEST(good_first)
SCENE_TEST(posts_of_bad_sizes)
SCENE_TEST(counts_that_lie)
SCENE_TEST(damaged_rings)
SCENE_TEST(circles)
SCENE_TEST(posts_of_bad_notes)
SCENE_TEST(damaged_notes)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_first),      cmocka_unit_test(test_posts_of_bad_sizes),
        cmocka_unit_test(test_counts_that_lie), cmocka_unit_test(test_damaged_rings),
        cmocka_unit_test(test_circles),         cmocka_unit_test(test_posts_of_bad_notes),
        cmocka_unit_test(test_damaged_notes),
    };
    int failed = cmocka_run_group_tests_name("hostile messages", tests, default_options, NULL);

    return failed + cmocka_run_group_tests_name("hostile messages, tiny queues", tests, tiny_queues, NULL);
}
