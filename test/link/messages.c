/* messages.c: the message slots of the link contract, over every link.
 *
 * Promise: messages to a peer arrive whole, once, in the order of their opening, on each channel for itself, whatever
 * the other channel does; one that was dropped is not seen; the longest data always finds room once the queue is
 * empty; one that is open holds up those behind it and no others; what a peer may write into posts and rings is
 * refused with TERN_ERR_LINK, or ignored, never followed.
 *
 * The ranks open the link a second time, with a receiver of their own; the first is for meeting.
 */
#include "link_test.h"

#include "base/ring.h"
#include "link/shm/shm.h"

/* What has come, by sender and channel. */
static struct {
    uint64_t count[MAX_RANKS][TERN_CHANNELS];
    uint64_t next[MAX_RANKS][TERN_CHANNELS];
} got;

static struct rank *current; /* who receives */

static unsigned char byte_of(uint64_t number, int from, unsigned channel, size_t at)
{
    return (unsigned char)(1 + (number * 7 + (uint64_t)from * 31 + channel * 11 + at * 3 + at / 64) % 255);
}

/* What a head says; the rest of it, and the data, follow from that. */
struct says {
    uint64_t number, len;
};

static void take_message(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len)
{
    struct says says;

    EXPECT(from >= 0 && from < current->ranks && channel < TERN_CHANNELS);
    memcpy(&says, head, sizeof(says));
    EXPECT(says.number == got.next[from][channel] && says.len == len && (data != NULL) == (len > 0));
    for (size_t i = sizeof(says); i < TERN_LINK_HEAD; i++)
        EXPECT(head[i] == byte_of(says.number, from, channel, i));
    for (size_t i = 0; i < len; i++)
        EXPECT(data[i] == byte_of(says.number + 1, from, channel, i));
    got.next[from][channel]++;
    got.count[from][channel]++;
}
static const struct tern_link_up message_up = { .done = count_done, .message = take_message };

static void write_message(const struct tern_link_msg *msg, uint64_t number, int me, size_t len)
{
    struct says says = { number, len };

    memcpy(msg->head, &says, sizeof(says));
    for (size_t i = sizeof(says); i < TERN_LINK_HEAD; i++)
        msg->head[i] = byte_of(number, me, msg->channel, i);
    for (size_t i = 0; i < len; i++)
        msg->data[i] = byte_of(number + 1, me, msg->channel, i);
}

/* The rank with its second link. */
static struct rank second_link(struct rank *r)
{
    struct rank m = *r;

    memset(&got, 0, sizeof(got));
    EXPECT(r->ops->open(&r->boot, &message_up, &m.link) == TERN_OK);
    current = r;
    meet(r);
    return m;
}

static void poll_all(struct rank *m)
{
    unsigned bits = m->ops->msg_ready(m->link);

    for (unsigned channel = 0; channel < TERN_CHANNELS; channel++)
        if (bits & 1u << channel)
            EXPECT(m->ops->msg_poll(m->link, channel) == TERN_OK);
}

/* Open, serving what comes while there is no room. */
static void open_message(struct rank *m, struct tern_link_msg *msg, size_t min, size_t max)
{
    tern_status st;

    while ((st = m->ops->msg_open(m->link, msg, min, max)) == TERN_AGAIN) {
        poll_all(m);
        sched_yield();
    }
    EXPECT(st == TERN_OK && msg->room >= min && msg->room <= max && (msg->data != NULL) == (max > 0));
    EXPECT((uintptr_t)msg->head % 16 == 0 && (uintptr_t)msg->data % 64 == 0);
}

static void await(struct rank *m, int from, unsigned channel, uint64_t count)
{
    while (got.count[from][channel] < count) {
        poll_all(m);
        sched_yield();
    }
    EXPECT(got.count[from][channel] == count);
}

static void done(struct rank *r, struct rank *m)
{
    meet(r);
    poll_all(m);
    EXPECT(r->ops->msg_ready(m->link) == 0);
    meet(r);
    r->ops->close(m->link);
}

static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* All ranks to all, both channels, lengths from nothing to the longest, some dropped, some two at once. */
static void all_to_all(struct rank *r)
{
    struct rank m = second_link(r);
    uint64_t    seed = 77 + (uint64_t)r->me, count = SANITIZED ? 300 : 2000, next[MAX_RANKS][TERN_CHANNELS] = { { 0 } };
    bool        self = strcmp(r->ops->name, "self") == 0;

    for (uint64_t i = 0; i < count * TERN_CHANNELS; i++) {
        for (int peer = 0; peer < r->ranks; peer++) {
            struct tern_link_msg msg = { .peer = peer, .channel = (uint32_t)(i % TERN_CHANNELS) };
            size_t               longest = m.ops->msg_longest(m.link, peer), len;

            if (!self && peer == r->me && r->ranks > 1)
                continue;
            len = random_next(&seed) % 3 ? random_next(&seed) % (random_next(&seed) % 4 ? 200 : longest + 1) : 0;
            open_message(&m, &msg, len, len + random_next(&seed) % 2 * 100);
            if (random_next(&seed) % 5 == 0) {
                memset(msg.head, 0xff, TERN_LINK_HEAD);
                if (msg.room > 0)
                    memset(msg.data, 0xff, msg.room);
                m.ops->msg_drop(m.link, &msg);
                open_message(&m, &msg, len, len);
            }
            write_message(&msg, next[peer][msg.channel]++, r->me, len);
            m.ops->msg_send(m.link, &msg, len);
        }
    }
    for (int peer = 0; peer < r->ranks; peer++)
        for (unsigned channel = 0; channel < TERN_CHANNELS; channel++)
            if (self || peer != r->me || r->ranks == 1)
                await(&m, peer, channel, count);
    done(r, &m);
}

static int next_rank(const struct rank *r)
{
    return (r->me + 1) % r->ranks;
}

static int previous_rank(const struct rank *r)
{
    return (r->me + r->ranks - 1) % r->ranks;
}

/* One channel is full to the brim, of messages or of data, and the other goes on. */
static void independent_channels(struct rank *r)
{
    struct rank          m = second_link(r);
    struct tern_link_msg msg = { .peer = next_rank(r), .channel = TERN_CHANNEL_REQUEST };
    const size_t         len[] = { 100, 0, 900 };
    uint64_t             sent = 0, replies = 0;

    for (int round = 0; round < 6; round++) {
        msg.channel = TERN_CHANNEL_REQUEST;
        while (m.ops->msg_open(m.link, &msg, len[round % 3], len[round % 3]) == TERN_OK) { /* nobody polls requests */
            write_message(&msg, sent++, r->me, len[round % 3]);
            m.ops->msg_send(m.link, &msg, len[round % 3]);
        }
        msg.channel = TERN_CHANNEL_REPLY;
        for (int i = 0; i < 300; i++) {
            while (m.ops->msg_open(m.link, &msg, 500, 500) == TERN_AGAIN) {
                EXPECT(m.ops->msg_poll(m.link, TERN_CHANNEL_REPLY) == TERN_OK);
                sched_yield();
            }
            write_message(&msg, replies++, r->me, 500);
            m.ops->msg_send(m.link, &msg, 500);
        }
        while (got.count[previous_rank(r)][TERN_CHANNEL_REPLY] < replies) {
            EXPECT(m.ops->msg_poll(m.link, TERN_CHANNEL_REPLY) == TERN_OK);
            sched_yield();
        }
        meet(r); /* all queues were full of requests, and all replies have come */
        EXPECT(got.count[previous_rank(r)][TERN_CHANNEL_REQUEST] < sent || sent == 0 || round > 0);
        await(&m, previous_rank(r), TERN_CHANNEL_REQUEST, sent);
        meet(r);
    }
    done(r, &m);
}

/* Whatever was sent before, a message of the longest length fits when the queue is empty; what is longer than the
 * queue never. */
static void longest(struct rank *r)
{
    struct rank          m = second_link(r);
    struct tern_link_msg msg = { .peer = next_rank(r) };
    size_t               most = m.ops->msg_longest(m.link, msg.peer), room = 0;
    uint64_t             sent[TERN_CHANNELS] = { 0 };

    EXPECT(most >= 27 * 64); /* what the smallest queue of a pair gives */
    for (unsigned round = 0; round < 200; round++) {
        msg.channel = round % TERN_CHANNELS;
        EXPECT(m.ops->msg_open(m.link, &msg, SIZE_MAX, SIZE_MAX) == TERN_AGAIN);
        EXPECT(m.ops->msg_open(m.link, &msg, 1u << 30, SIZE_MAX) == TERN_AGAIN);
        EXPECT(m.ops->msg_open(m.link, &msg, most, round % 3 ? most : SIZE_MAX) == TERN_OK);
        EXPECT(msg.room >= most);
        room = msg.room > room ? msg.room : room;
        write_message(&msg, sent[msg.channel]++, r->me, msg.room);
        m.ops->msg_send(m.link, &msg, msg.room);
        await(&m, previous_rank(r), msg.channel, sent[msg.channel]);
        meet(r); /* its queue to us is empty, as ours to it is */
        EXPECT(m.ops->msg_open(m.link, &msg, round, round) == TERN_OK);
        write_message(&msg, sent[msg.channel]++, r->me, round);
        m.ops->msg_send(m.link, &msg, round);
        await(&m, previous_rank(r), msg.channel, sent[msg.channel]);
        meet(r);
    }
    EXPECT(room > most); /* more where there is more */
    done(r, &m);
}

/* Five open at once, sent and dropped in another order. */
static void several_open(struct rank *r)
{
    struct rank m = second_link(r);
    uint64_t    sent = 0, seed = 5;

    for (int round = 0; round < 500; round++) {
        struct tern_link_msg msg[5];
        unsigned             drop = (unsigned)(random_next(&seed) % 32), left = 31;
        uint64_t             number[5];

        for (int i = 0; i < 5; i++) {
            msg[i] = (struct tern_link_msg){ .peer = next_rank(r), .channel = TERN_CHANNEL_REQUEST };
            open_message(&m, &msg[i], 40u * (unsigned)i, 40u * (unsigned)i);
            number[i] = sent;
            sent += !(drop >> i & 1);
        }
        while (left) {
            unsigned i = (unsigned)(random_next(&seed) % 5);
            if (!(left >> i & 1))
                continue;
            left &= ~(1u << i);
            write_message(&msg[i], number[i], r->me, 40 * i);
            if (drop >> i & 1)
                m.ops->msg_drop(m.link, &msg[i]);
            else
                m.ops->msg_send(m.link, &msg[i], 40 * i);
        }
    }
    await(&m, previous_rank(r), TERN_CHANNEL_REQUEST, sent);
    done(r, &m);
}

#define LINKS_TEST(body)                  \
    static void test_##body(void **state) \
    {                                     \
        (void)state;                      \
        run_links(2, body);               \
    }
LINKS_TEST(all_to_all)
LINKS_TEST(independent_channels)
LINKS_TEST(longest)
LINKS_TEST(several_open)

/* The queues as small as they come. */
static int tiny_queues(void **state)
{
    char *tiny[] = { (char *)(uintptr_t) "TERN_AM_QUEUE=64K", NULL };

    (void)state;
    return tern_base_options_load(tiny) == TERN_OK ? 0 : -1;
}

/* ---- a hostile peer: one process is both ranks of two ---- */

struct scene {
    struct rank       r[2];
    struct shm_link  *shm;  /* rank 0, the target */
    struct shm_post  *post; /* of rank 1 for rank 0 */
    struct tern_ring *ring[TERN_CHANNELS];
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
    s->post = &s->shm->messages.post[0 * 2 + 1];
}

/* Rank 1 sends something good. */
static void send_good(struct scene *s, uint64_t number)
{
    struct tern_link_msg msg = { .peer = 0, .channel = TERN_CHANNEL_REQUEST };

    EXPECT(s->r[1].ops->msg_open(s->r[1].link, &msg, 100, 100) == TERN_OK);
    write_message(&msg, number, 1, 100);
    s->r[1].ops->msg_send(s->r[1].link, &msg, 100);
}

static tern_status poll_target(struct scene *s, unsigned channel)
{
    return s->r[0].ops->msg_poll(s->r[0].link, channel);
}

static bool is_ready(struct scene *s, unsigned channel)
{
    return s->r[0].ops->msg_ready(s->r[0].link) & 1u << channel;
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
    atomic_store(&s->post->offset, at); /* and all is well again */
    EXPECT(poll_target(s, TERN_CHANNEL_REQUEST) == TERN_OK && got.count[1][TERN_CHANNEL_REQUEST] == 1);
}

/* A sender that died between its post and the count, and a count without a post: looked at once, no more. */
static void counts_that_lie(struct scene *s)
{
    _Atomic uint32_t *senders = &s->shm->desk[0].senders;

    for (uint32_t lie = 1; lie < 100; lie++) {
        atomic_fetch_add(senders, lie);
        EXPECT(poll_target(s, TERN_CHANNEL_REQUEST) == TERN_OK);
        EXPECT(!is_ready(s, TERN_CHANNEL_REQUEST));
    }
    send_good(s, 0);
    atomic_fetch_sub(senders, 1); /* died just before */
    atomic_fetch_add(senders, 1); /* another has come */
    EXPECT(poll_target(s, TERN_CHANNEL_REQUEST) == TERN_OK && got.count[1][TERN_CHANNEL_REQUEST] == 1);
    EXPECT(!is_ready(s, TERN_CHANNEL_REQUEST));
    send_good(s, 1);
    EXPECT(poll_target(s, TERN_CHANNEL_REQUEST) == TERN_OK && got.count[1][TERN_CHANNEL_REQUEST] == 2);
}

/* Say in the cell that the target reads next what no sender says. */
static void damaged_rings(struct scene *s)
{
    good_first(s);
    struct tern_ring_consumer *in = &s->shm->messages.inbox[0].ring[TERN_CHANNEL_REQUEST];
    struct tern_ring_cell     *cell = &in->ring->cell[in->next & (in->shape.cells - 1)];
    const uint32_t             data = in->shape.data, none = UINT32_MAX;
    const uint32_t             bad[][3] = { /* len, at, span */
                                { 65, 0, 64 },     { none - 1, 0, none }, { data + 1, 0, data + 1 },
                                { 64, data, 64 },  { 64, data - 63, 64 }, { 64, none, 64 },
                                { data, 1, data }, { 0, 0, data + 1 },    { none, 0, none }
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
    atomic_store(&cell->mark, 77); /* of a lap to come: not a message now */
    EXPECT(!is_ready(s, TERN_CHANNEL_REQUEST) && poll_target(s, TERN_CHANNEL_REQUEST) == TERN_OK);
    EXPECT(got.count[1][TERN_CHANNEL_REQUEST] == 1);
}

/* "Skip" all round: a poll comes to an end. */
static void circles(struct scene *s)
{
    good_first(s);
    struct tern_ring_consumer *in = &s->shm->messages.inbox[0].ring[TERN_CHANNEL_REQUEST];

    for (uint64_t i = in->next; i < in->next + in->shape.cells; i++) {
        struct tern_ring_cell *cell = &in->ring->cell[i & (in->shape.cells - 1)];
        cell->len = TERN_RING_SKIP;
        cell->span = 0;
        atomic_store(&cell->mark, tern_base_ring_lap(i, in->shape));
    }
    EXPECT(poll_target(s, TERN_CHANNEL_REQUEST) == TERN_OK);
    EXPECT(!is_ready(s, TERN_CHANNEL_REQUEST) && got.count[1][TERN_CHANNEL_REQUEST] == 1);
}

static void run(void (*body)(struct scene *s))
{
    pid_t        pid;
    struct scene s = { .shm = NULL };

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signals_as_usual();
        alarm(20);
        this_rank = 0;
        scene_set(&s);
        body(&s);
        for (int i = 0; i < 2; i++)
            s.r[i].ops->close(s.r[i].link);
        _exit(LEAKS() ? 1 : 0);
    }
    assert_true(reap(&pid, 1));
}

#define HOSTILE_TEST(body)                \
    static void test_##body(void **state) \
    {                                     \
        (void)state;                      \
        run(body);                        \
    }
HOSTILE_TEST(good_first)
HOSTILE_TEST(posts_of_bad_sizes)
HOSTILE_TEST(counts_that_lie)
HOSTILE_TEST(damaged_rings)
HOSTILE_TEST(circles)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_to_all),      cmocka_unit_test(test_independent_channels),
        cmocka_unit_test(test_longest),         cmocka_unit_test(test_several_open),
        cmocka_unit_test(test_good_first),      cmocka_unit_test(test_posts_of_bad_sizes),
        cmocka_unit_test(test_counts_that_lie), cmocka_unit_test(test_damaged_rings),
        cmocka_unit_test(test_circles),
    };
    int failed = cmocka_run_group_tests_name("messages", tests, default_options, NULL);

    return failed + cmocka_run_group_tests_name("messages, tiny queues", tests, tiny_queues, NULL);
}
