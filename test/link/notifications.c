/* notifications.c: the notification and tagged-message channels of the link contract, over every link.
 *
 * Promise: messages to a peer arrive whole, once, and in the order in which they were opened, whatever the other
 * channels do. A target that cannot accept a message leaves it, and the messages behind it, in the link's queue:
 * nothing is lost, the queue fills up, its sender gets TERN_AGAIN, and the other channels make progress. A sender that
 * found no space is woken when the target has consumed messages, also where the sender and the target are threads of
 * one rank. A sender that stores the inline payload of its own notifications at the target wakes the target, which
 * leaves these notifications in the queue meanwhile.
 *
 * timeout: 300
 * long: LINK_CASES=all
 */
#include "boot/bell.h"
#include "link/inject.h"
#include "link_messages.h"

static unsigned channel; /* the channel under test */

/* The number of data bytes of a message. */
static size_t len_of(const struct rank *m, int peer, uint64_t number)
{
    static const size_t lens[] = { 0, 1, 100, 0, 1000, 0, 48 };

    if (channel == TERN_CHANNEL_NOTIFY)
        return 0;
    return number % 13 == 7 ? m->ops->msg->max_data(m->link, peer, channel) : lens[number % 7];
}

/* Returns the rank with its second link, as in messages.c. */
static struct rank second_link(struct rank *r)
{
    struct rank m = *r;

    memset(&got, 0, sizeof(got));
    full = false;
    receiver = take_message;
    noter = take_note;
    tagger = take_tagged;
    if (r->meet_ops == r->ops)
        EXPECT(r->ops->open(&r->boot, &message_up, &m.link) == TERN_OK);
    current = r;
    meet(r);
    return m;
}

static void poll_all(struct rank *m)
{
    if (m->ops->msg->polled)
        m->ops->msg->poll(m->link);
    EXPECT(deliver(m->link, TERN_CHANNEL_REPLY) == TERN_OK); /* new senders are detected with replies */
    EXPECT(deliver(m->link, TERN_CHANNEL_REQUEST) == TERN_OK);
    EXPECT(deliver(m->link, channel) == TERN_OK);
}

/* Send in one of two ways: in one call, or into a slot that is reserved first. */
static tern_status send_note(struct rank *m, int peer, uint64_t number, bool brief)
{
    struct tern_link_msg msg = { .peer = peer, .channel = channel };
    size_t               len = len_of(m, peer, number);
    unsigned char        head[TERN_LINK_HEAD];
    uint32_t             rest[TERN_LINK_SHORT_ARGS];
    uint64_t             first;
    tern_status          st;

    if (!brief || len > 0) {
        if ((st = m->ops->msg->open(m->link, &msg, len, len)) != TERN_OK)
            return st;
        EXPECT((msg.data == NULL) == (len == 0) && (uintptr_t)msg.head % 16 == 0);
        write_message(&msg, number, m->me, len);
        m->ops->msg->send(m->link, &msg, len);
        return TERN_OK;
    }
    msg.head = head;
    write_message(&msg, number, m->me, 0);
    memcpy(&first, head, sizeof(first));
    memcpy(rest, head + sizeof(first), sizeof(rest));
    return m->ops->msg->send_short(m->link, peer, channel, first, rest, TERN_LINK_SHORT_ARGS);
}

static void await(struct rank *m, int from, unsigned by, uint64_t count)
{
    while (got.count[from][by] < count) {
        poll_all(m);
        sched_yield();
    }
    EXPECT(got.count[from][by] == count);
}

static void done(struct rank *r, struct rank *m)
{
    meet(r);
    do
        poll_all(m);
    while (is_chaotic(r) && is_shown(m->link, channel));
    EXPECT(!is_shown(m->link, channel));
    while (!r->ops->msg->flushed(m->link))
        poll_all(m);
    meet(r);
    if (r->meet_ops == r->ops)
        close_link(r->ops, m->link);
}

static bool is_peer(const struct rank *r, int peer)
{
    return peer != r->me || r->ranks == 1;
}

static void all_to_all(struct rank *r)
{
    struct rank    m = second_link(r);
    const uint64_t count = JOB_SANITIZED ? 200 : 1000;

    for (uint64_t i = 0; i < count; i++) {
        for (int peer = 0; peer < r->ranks; peer++) {
            struct tern_link_msg dropped = { .peer = peer, .channel = channel };
            tern_status          st = TERN_OK;

            if (!is_peer(r, peer))
                continue;
            if (i % 7 == 3 && m.ops->msg->open(m.link, &dropped, 0, 0) == TERN_OK) {
                memset(dropped.head, 0xff, TERN_LINK_HEAD);
                m.ops->msg->drop(m.link, &dropped);
            }
            while ((st = send_note(&m, peer, i, i % 3 > 0)) == TERN_AGAIN) {
                poll_all(&m);
                sched_yield();
            }
            EXPECT(st == TERN_OK);
        }
    }
    for (int peer = 0; peer < r->ranks; peer++)
        if (is_peer(r, peer))
            await(&m, peer, channel, count);
    done(r, &m);
}

static void send_request(struct rank *m, int peer, uint64_t number)
{
    struct tern_link_msg msg = { .peer = peer, .channel = TERN_CHANNEL_REQUEST };

    while (m->ops->msg->open(m->link, &msg, 100, 100) == TERN_AGAIN) {
        poll_all(m);
        sched_yield();
    }
    write_message(&msg, number, m->me, 100);
    m->ops->msg->send(m->link, &msg, 100);
}

/* Targets accept nothing until the queues are full, while requests make progress; then all messages arrive. Under chaos
 * a refusal does not mean that the queue is full. */
static void pushed_back(struct rank *r)
{
    struct rank m = second_link(r);
    int         next = (r->me + 1) % r->ranks, previous = (r->me + r->ranks - 1) % r->ranks;
    uint64_t    sent = 0, requests = 0;

    for (int round = 0; round < 3; round++) {
        full = true;
        meet(r);
        for (int refused = 0; refused < (is_chaotic(r) ? 300 : 20);) {
            tern_status st = send_note(&m, next, sent, sent % 2);

            EXPECT(st == TERN_OK || st == TERN_AGAIN);
            sent += st == TERN_OK;
            refused = st == TERN_AGAIN ? refused + 1 : 0;
            poll_all(&m);
        }
        for (int i = 0; i < 20; i++)
            send_request(&m, next, requests++);
        await(&m, previous, TERN_CHANNEL_REQUEST, requests);
        EXPECT(round > 0 || got.count[previous][channel] == 0);
        atomic_store(&r->board->word[r->me][3], sent);
        meet(r);
        full = false;
        await(&m, previous, channel, atomic_load(&r->board->word[previous][3]));
        meet(r);
    }
    EXPECT(sent >= (channel == TERN_CHANNEL_NOTIFY ? (uint64_t)tern_opt.notify_queue : 4));
    EXPECT(sent <= 3u * (64 + 256 + 64 + 2)); /* primary and overflow cells, and what chaos holds */
    done(r, &m);
}

/* Send until there is no space, to a target that accepts nothing. Returns the number sent. */
static uint64_t fill(struct rank *m, int peer)
{
    uint64_t sent = 0;

    for (int refused = 0; refused < 20;) {
        tern_status st = send_note(m, peer, sent, sent % 2);

        EXPECT(st == TERN_OK || st == TERN_AGAIN);
        sent += st == TERN_OK;
        refused = st == TERN_AGAIN ? refused + 1 : 0;
        if (m->ops->msg->polled)
            m->ops->msg->poll(m->link);
    }
    return sent;
}

/* Rank 0 announces that it sleeps, finds no space, and waits for its bell. No rank calls meet() meanwhile, because
 * meet() rings bells. Under chaos a refusal does not mean that the queue is full. */
static void woken_for_space(struct rank *r)
{
    struct rank       m = second_link(r);
    struct tern_slot *slot = &r->boot.segment->slot[r->me];
    int               last = r->ranks - 1;
    _Atomic uint64_t *sent = &r->board->word[0][4];

    full = true;
    meet(r);
    if (r->me == 0 && !is_chaotic(r)) {
        uint64_t count = fill(&m, last);
        uint32_t seen = tern_boot_bell_announce(&slot->bell, &slot->sleepers);

        EXPECT(send_note(&m, last, count, false) == TERN_AGAIN);
        full = last != 0;
        atomic_store(sent, count);
        if (last == 0)
            await(&m, 0, channel, count);
        while (atomic_load(&slot->bell) == seen) {
            EXPECT(last != 0); /* this rank has consumed its messages and knows whether it has rung the bell */
            if (m.ops->msg->polled)
                m.ops->msg->poll(m.link);
            sched_yield();
        }
        tern_boot_bell_withdraw(&slot->sleepers);
    } else if (r->me == last && !is_chaotic(r)) {
        while (atomic_load(sent) == 0)
            sched_yield();
        full = false;
        await(&m, 0, channel, atomic_load(sent));
    }
    full = false;
    done(r, &m);
}

/* Rank 0 announces rank 1 as a sleeper, as if rank 1 slept after leaving the notification in the queue. */
static void woken_when_placed(struct rank *r)
{
    struct rank                m = second_link(r);
    struct tern_slot          *slot = &r->boot.segment->slot[1];
    struct tern_inject_notify *port;
    unsigned char              head[TERN_LINK_HEAD], dest[TERN_LINK_INLINE];
    uint64_t                   word[TERN_NQ_WORDS];
    uint32_t                   seen;

    if (m.ops->inject && r->me == 0 && r->ranks > 1) {
        EXPECT(m.ops->inject->notify(m.link, 1, &port) == TERN_OK);
        write_message(&(struct tern_link_msg){ .head = head, .channel = channel }, 0, r->me, 0);
        memcpy(word, head, sizeof(word));
        EXPECT(tern_inject_inline(port, word, dest, head + sizeof(word), sizeof(dest)));
        seen = tern_boot_bell_announce(&slot->bell, &slot->sleepers);
        EXPECT(m.ops->inject->notify_flushed(m.link, true));
        EXPECT(atomic_load(&slot->bell) != seen);
        tern_boot_bell_withdraw(&slot->sleepers);
        EXPECT(memcmp(dest, head + sizeof(word), sizeof(dest)) == 0);
    }
    meet(r);
    if (m.ops->inject && r->me == 1)
        await(&m, 0, channel, 1);
    done(r, &m);
}

#define LINKS_TEST(name, on, body)        \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        channel = on;                     \
        run_links(2, body);               \
    }
LINKS_TEST(notes_all_to_all, TERN_CHANNEL_NOTIFY, all_to_all)
LINKS_TEST(notes_pushed_back, TERN_CHANNEL_NOTIFY, pushed_back)
LINKS_TEST(notes_woken_for_space, TERN_CHANNEL_NOTIFY, woken_for_space)

LINKS_TEST(tagged_all_to_all, TERN_CHANNEL_TAGGED, all_to_all)
LINKS_TEST(tagged_pushed_back, TERN_CHANNEL_TAGGED, pushed_back)
LINKS_TEST(tagged_woken_for_space, TERN_CHANNEL_TAGGED, woken_for_space)
LINKS_TEST(notes_woken_when_placed, TERN_CHANNEL_NOTIFY, woken_when_placed)

/* Queues of notifications with overflow cells that a test fills quickly, and the shortest queues. */
static int usual_queues(void **state)
{
    char *some[] = { (char *)(uintptr_t) "TERN_NOTIFY_QUEUE=256", NULL };

    (void)state;
    return tern_base_options_load(some) == TERN_OK ? 0 : -1;
}

static int short_queues(void **state)
{
    char *tiny[] = { (char *)(uintptr_t) "TERN_NOTIFY_QUEUE=4", (char *)(uintptr_t) "TERN_AM_QUEUE=64K", NULL };

    (void)state;
    return tern_base_options_load(tiny) == TERN_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notes_all_to_all),        cmocka_unit_test(test_notes_pushed_back),
        cmocka_unit_test(test_tagged_all_to_all),       cmocka_unit_test(test_tagged_pushed_back),
        cmocka_unit_test(test_notes_woken_for_space),   cmocka_unit_test(test_tagged_woken_for_space),
        cmocka_unit_test(test_notes_woken_when_placed),
    };
    int failed = cmocka_run_group_tests_name("notes and tagged", tests, usual_queues, NULL);

    return failed + cmocka_run_group_tests_name("notes and tagged, short queues", tests, short_queues, NULL);
}
