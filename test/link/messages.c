/* messages.c: the message functions of the link contract, over every link.
 *
 * Promise: messages to a peer arrive whole, once, and in the order in which they were opened, on each channel
 * independently of the others; a dropped message is never seen; a message of the maximum length always finds space once
 * the queue is empty; an open message holds up the messages behind it in its queue and no others.
 *
 * The ranks open the link a second time with a receiver of their own; the first is for barriers. Where the barriers use
 * another link, the second opening is not needed.
 *
 * timeout: 300
 * long: LINK_CASES=all
 */
#include "link_messages.h"

/* Returns the rank with its second link. */
static struct rank second_link(struct rank *r)
{
    struct rank m = *r;

    memset(&got, 0, sizeof(got));
    receiver = take_message;
    if (r->meet_ops == r->ops)
        EXPECT(r->ops->open(&r->boot, &message_up, &m.link) == TERN_OK);
    current = r;
    meet(r);
    return m;
}

/* Poll for messages where that is needed. */
static void look(struct rank *m)
{
    if (m->ops->msg->polled)
        m->ops->msg->poll(m->link);
}

static void poll_all(struct rank *m)
{
    look(m);
    EXPECT(deliver(m->link, TERN_CHANNEL_REPLY) == TERN_OK);
    EXPECT(deliver(m->link, TERN_CHANNEL_REQUEST) == TERN_OK);
}

/* Open a message. While there is no space, serve incoming messages. */
static void open_message(struct rank *m, struct tern_link_msg *msg, size_t min, size_t max)
{
    tern_status st;

    while ((st = m->ops->msg->open(m->link, msg, min, max)) == TERN_AGAIN) {
        poll_all(m);
        sched_yield();
    }
    EXPECT(st == TERN_OK && msg->data_max >= min && msg->data_max <= max && (msg->data != NULL) == (max > 0));
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
    do
        poll_all(m);
    while (is_chaotic(r) && (is_shown(m->link, TERN_CHANNEL_REQUEST) || is_shown(m->link, TERN_CHANNEL_REPLY)));
    EXPECT(!is_shown(m->link, TERN_CHANNEL_REQUEST) && !is_shown(m->link, TERN_CHANNEL_REPLY));
    while (!r->ops->msg->flushed(m->link)) /* the credit for the last messages may be in flight */
        poll_all(m);
    meet(r);
    if (r->meet_ops == r->ops)
        close_link(r->ops, m->link);
}

static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* All ranks send to all ranks on both channels, with lengths from 0 to the maximum. Some messages are dropped, and some
 * are open two at a time. */
static void all_to_all(struct rank *r)
{
    struct rank m = second_link(r);
    uint64_t    seed = 77 + (uint64_t)r->me, count = JOB_SANITIZED ? 150 : 600,
             next[MAX_RANKS][TERN_CHANNELS_PAIR] = { { 0 } };
    bool self = strcmp(r->ops->name, "self") == 0;

    for (uint64_t i = 0; i < count * TERN_CHANNELS_PAIR; i++) {
        for (int peer = 0; peer < r->ranks; peer++) {
            struct tern_link_msg msg = { .peer = peer, .channel = (uint32_t)(i % TERN_CHANNELS_PAIR) };
            size_t               longest = m.ops->msg->max_data(m.link, peer, msg.channel), len;

            if (!self && peer == r->me && r->ranks > 1)
                continue;
            len = random_next(&seed) % 3 ? random_next(&seed) % (random_next(&seed) % 4 ? 200 : longest + 1) : 0;
            open_message(&m, &msg, len, len + random_next(&seed) % 2 * 100);
            if (random_next(&seed) % 5 == 0) {
                memset(msg.head, 0xff, TERN_LINK_HEAD);
                if (msg.data_max > 0)
                    memset(msg.data, 0xff, msg.data_max);
                m.ops->msg->drop(m.link, &msg);
                open_message(&m, &msg, len, len);
            }
            write_message(&msg, next[peer][msg.channel]++, r->me, len);
            m.ops->msg->send(m.link, &msg, len);
        }
    }
    for (int peer = 0; peer < r->ranks; peer++)
        for (unsigned channel = 0; channel < TERN_CHANNELS_PAIR; channel++)
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

/* One channel is full of messages or of data, and the other makes progress. */
static void independent_channels(struct rank *r)
{
    struct rank          m = second_link(r);
    struct tern_link_msg msg = { .peer = next_rank(r), .channel = TERN_CHANNEL_REQUEST };
    const size_t         len[] = { 100, 0, 900 };
    uint64_t             sent = 0, replies = 0;

    for (int round = 0; round < 6; round++) {
        msg.channel = TERN_CHANNEL_REQUEST;
        while (m.ops->msg->open(m.link, &msg, len[round % 3], len[round % 3]) == TERN_OK) { /* no rank polls requests */
            write_message(&msg, sent++, r->me, len[round % 3]);
            m.ops->msg->send(m.link, &msg, len[round % 3]);
        }
        msg.channel = TERN_CHANNEL_REPLY;
        for (int i = 0; i < 300; i++) {
            while (m.ops->msg->open(m.link, &msg, 500, 500) == TERN_AGAIN) {
                look(&m);
                EXPECT(deliver(m.link, TERN_CHANNEL_REPLY) == TERN_OK);
                sched_yield();
            }
            write_message(&msg, replies++, r->me, 500);
            m.ops->msg->send(m.link, &msg, 500);
        }
        while (got.count[previous_rank(r)][TERN_CHANNEL_REPLY] < replies) {
            look(&m);
            EXPECT(deliver(m.link, TERN_CHANNEL_REPLY) == TERN_OK);
            sched_yield();
        }
        atomic_store(&r->board->word[r->me][3], sent);
        meet(r); /* all request queues were full, and all replies have arrived */
        EXPECT(got.count[previous_rank(r)][TERN_CHANNEL_REQUEST] < sent || sent == 0 || round > 0);
        await(&m, previous_rank(r), TERN_CHANNEL_REQUEST, atomic_load(&r->board->word[previous_rank(r)][3]));
        meet(r);
    }
    done(r, &m);
}

/* Open a message in an empty queue, which has space. */
static void open_empty(struct rank *m, struct tern_link_msg *msg, size_t min, size_t max)
{
    tern_status st;

    do {
        st = m->ops->msg->open(m->link, msg, min, max);
        look(m); /* between machines the credit that empties the queue takes time */
    } while ((is_chaotic(m) || is_network(m)) && st == TERN_AGAIN);
    EXPECT(st == TERN_OK);
}

/* Whatever was sent before, a message of the maximum length fits when the queue is empty. A message longer than the
 * queue never fits. */
static void longest(struct rank *r)
{
    struct rank          m = second_link(r);
    struct tern_link_msg msg = { .peer = next_rank(r) };
    size_t               most = m.ops->msg->max_data(m.link, msg.peer, TERN_CHANNEL_REQUEST), space = 0;
    uint64_t             sent[TERN_CHANNELS_PAIR] = { 0 };

    EXPECT(most >= 27 * 64); /* the capacity of the smallest queue of a pair */
    for (unsigned round = 0; round < (JOB_SANITIZED ? 40 : 100); round++) {
        msg.channel = round % TERN_CHANNELS_PAIR;
        EXPECT(m.ops->msg->open(m.link, &msg, SIZE_MAX, SIZE_MAX) == TERN_AGAIN);
        EXPECT(m.ops->msg->open(m.link, &msg, 1u << 30, SIZE_MAX) == TERN_AGAIN);
        open_empty(&m, &msg, most, round % 3 ? most : SIZE_MAX);
        EXPECT(msg.data_max >= most);
        space = msg.data_max > space ? msg.data_max : space;
        write_message(&msg, sent[msg.channel]++, r->me, msg.data_max);
        m.ops->msg->send(m.link, &msg, msg.data_max);
        await(&m, previous_rank(r), msg.channel, sent[msg.channel]);
        meet(r); /* both queues of the pair are empty */
        open_empty(&m, &msg, round, round);
        write_message(&msg, sent[msg.channel]++, r->me, round);
        m.ops->msg->send(m.link, &msg, round);
        await(&m, previous_rank(r), msg.channel, sent[msg.channel]);
        meet(r);
    }
    EXPECT(space > most); /* a larger queue has more space */
    done(r, &m);
}

/* Five messages are open at once, and are sent and dropped in another order. */
static void several_open(struct rank *r)
{
    struct rank m = second_link(r);
    uint64_t    sent = 0, seed = 5;

    for (int round = 0; round < (JOB_SANITIZED ? 100 : 300); round++) {
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
                m.ops->msg->drop(m.link, &msg[i]);
            else
                m.ops->msg->send(m.link, &msg[i], 40 * i);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_to_all),
        cmocka_unit_test(test_independent_channels),
        cmocka_unit_test(test_longest),
        cmocka_unit_test(test_several_open),
    };
    int failed = cmocka_run_group_tests_name("messages", tests, default_options, NULL);

    return failed + cmocka_run_group_tests_name("messages, tiny queues", tests, tiny_queues, NULL);
}
