/* net_fetches.c: messages whose data must be fetched over the network, and the retry queue.
 *
 * Promise: a fetch that the provider refuses is retried until the provider accepts it; a failed fetch is not retried,
 * and waits for the launcher to report the fate of its sender. Each message is in the retry queue, on the list of
 * failed messages, or on none while it is being fetched, in whatever order fetches are refused, fail and begin. A
 * sender whose fetches are refused does not hold up the fetches of others. The file under test is included, because the
 * functions of a fetch are private; the network is a function of this test.
 */
/* clang-format off: the file under test comes before cmocka.h, which takes one of its names */
#include "link/net/msg_recv.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
/* clang-format on */

#define RANKS 4 /* rank 0 is this one */
#define MOST 12u
#define LEN 10000u

enum state { WAITS, FETCHED, FAILED };

static struct scene {
    struct tern_boot   boot;
    struct net_link    net;
    struct net_peer    peer[RANKS];
    struct net_rx_msg *msg[MOST];
    enum state         state[MOST]; /* as the network knows it */
    unsigned           msgs;
    unsigned           reads;
    int (*answer)(unsigned number); /* the network's answer to the fetch of the message with this number */
} s;

/* ---- the network ---- */

static int answer_rma(struct net_link *net, struct net_ctx *ctx, bool get, void *to, const struct net_mr *mr,
                      const struct net_remote *from)
{
    unsigned number = 0;
    int      rc;

    while (number < s.msgs && &s.msg[number]->ctx != ctx)
        number++;
    assert_true(net == &s.net && get && !mr && number < s.msgs);
    assert_int_equal(s.state[number], WAITS); /* otherwise the message is fetched twice, or after it failed */
    assert_true(from->len == LEN && to == s.msg[number]->bytes + NET_WIRE_HEAD);
    s.reads++;
    rc = s.answer(number);
    s.state[number] = rc == 0 ? FETCHED : rc == -EAGAIN ? WAITS : FAILED;
    return rc;
}

static const char *say_error(const struct net_link *net, int error)
{
    (void)net, (void)error;
    return "it broke";
}

/* ---- the link ---- */

static int begin(void **state)
{
    static const struct net_verbs verbs = { .rma = answer_rma, .why = say_error };

    (void)state;
    memset((void *)&s, 0, sizeof(s));
    if (tern_boot_arena_make(RANKS, 1, &s.boot.arena, &s.boot.huge, &s.boot.segment) != TERN_OK)
        return -1;
    s.boot.segment->on_failure = TERN_ON_FAILURE_RETURN;
    s.boot.relay_fd = -1;
    tern_boot_place(&s.boot, 0);
    s.boot.ranks = RANKS;
    if (tern_net_open(&s.net, &verbs, &s.boot, NULL) != TERN_OK)
        return -1;
    for (int rank = 0; rank < RANKS; rank++)
        s.peer[rank] = (struct net_peer){ .rank = rank, .known = true };
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < s.msgs; i++)
        free(s.msg[i]);
    free((void *)s.net.peer);
    tern_boot_leave(&s.boot);
    return 0;
}

static unsigned length(const struct tern_list *list)
{
    unsigned n = 0;

    for (const struct tern_list *node = list->next; node != list && n <= MOST; node = node->next)
        n++;
    assert_true(n <= MOST); /* the list ends at its head */
    return n;
}

static bool has(const struct tern_list *list, const struct net_rx_msg *msg)
{
    const struct tern_list *node = list->next;

    while (node != list && node != &msg->ctx.node)
        node = node->next;
    return node != list;
}

/* Check that every message is on the right list. The launcher has not reported the fate of the senders whose fetches
 * have failed so far, and has unlimited time to do so. */
static void check(void)
{
    unsigned count[3] = { 0 };

    for (unsigned i = 0; i < s.msgs; i++)
        count[s.state[i]]++;
    assert_int_equal(length(&s.net.retry), count[WAITS]);
    assert_int_equal(length(&s.net.msg.failed), count[FAILED]);
    for (unsigned i = 0; i < s.msgs; i++) {
        assert_true(has(&s.net.retry, s.msg[i]) == (s.state[i] == WAITS));
        assert_true(has(&s.net.msg.failed, s.msg[i]) == (s.state[i] == FAILED));
        s.msg[i]->judge_at = NET_NEVER;
    }
    assert_int_equal(s.net.msg.damage, TERN_OK);
}

/* A message arrives whose data must be fetched. */
static void come(int from)
{
    struct net_rx_msg *msg = msg_new(&s.net.msg, LEN);

    assert_non_null(msg);
    tern_net_ctx_init(&msg->ctx, &s.peer[from], fetch_post, fetch_ended);
    msg->remote.len = msg->len = LEN;
    s.msg[s.msgs++] = msg;
    tern_net_post(&s.net, &msg->ctx);
    check();
}

static void pump_unchecked(void)
{
    tern_net_retry(&s.net);
    tern_net_rx_judge(&s.net);
}

static void pump(void)
{
    pump_unchecked();
    check();
}

/* ---- by example ---- */

static int answers[MOST];

static int answer_as_told(unsigned number)
{
    return answers[number];
}

static void answer_all(int answer)
{
    s.answer = answer_as_told;
    for (unsigned i = 0; i < MOST; i++)
        answers[i] = answer;
}

/* The first of several waiting fetches fails: those behind it stay on the list, and it is not fetched again. */
static void one_fails_that_was_refused(void **state)
{
    (void)state;
    answer_all(-EAGAIN);
    for (int i = 0; i < 4; i++)
        come(1);
    assert_int_equal(s.reads, 4); /* a refused fetch holds up no other one */
    answers[0] = -EIO;
    pump();
    assert_true(s.state[0] == FAILED && s.state[1] == WAITS);
    answers[1] = answers[2] = -EIO;
    answers[3] = 0;
    pump();
    assert_true(s.state[1] == FAILED && s.state[2] == FAILED && s.state[3] == FETCHED);
    assert_true(tern_base_list_empty(&s.net.retry));
}

static void a_sender_holds_up_itself_only(void **state)
{
    (void)state;
    answer_all(-EAGAIN);
    for (int i = 0; i < 6; i++)
        come(1 + i % 3);
    for (unsigned i = 0; i < 6; i++)
        answers[i] = i % 3 == 1 ? -EAGAIN : i == 3 ? -EIO : 0;
    pump();
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(s.state[i], i % 3 == 1 ? WAITS : i == 3 ? FAILED : FETCHED);
    answer_all(0);
    pump();
    assert_true(tern_base_list_empty(&s.net.retry));
}

/* The launcher reports the sender's death, or the time limit for the report has passed. */
static void failed_fetches_are_judged(void **state)
{
    (void)state;
    answer_all(-EIO);
    come(1);
    come(2);
    come(1);
    atomic_store(&s.boot.segment->slot[1].fate, TERN_FATE_LOST);
    pump_unchecked();
    assert_int_equal(s.net.msg.damage, TERN_OK);
    assert_true(has(&s.net.msg.failed, s.msg[1]) && length(&s.net.msg.failed) == 1);
    assert_true(tern_net_rx_due(&s.net) == NET_NEVER); /* as check() has set it */
    s.msg[1]->judge_at = 0;
    pump_unchecked();
    assert_true(tern_base_list_empty(&s.net.msg.failed));
    assert_int_equal(s.net.msg.damage, TERN_ERR_LINK);
    assert_non_null(strstr(s.net.msg.why, "from rank 2: it broke"));
}

/* A lack of memory is no fault of the network. */
static void fetches_without_memory_are_judged(void **state)
{
    (void)state;
    answer_all(-ENOMEM);
    come(1);
    s.msg[0]->judge_at = 0;
    pump_unchecked();
    assert_int_equal(s.net.msg.damage, TERN_ERR_NOMEM);
}

/* Data of a dead sender is not fetched, and the message is on no list. */
static void the_dead_are_not_waited_for(void **state)
{
    (void)state;
    answer_all(-EAGAIN);
    come(1);
    come(2);
    come(1);
    s.reads = 0;
    atomic_store(&s.boot.segment->slot[1].fate, TERN_FATE_LOST);
    pump_unchecked();
    assert_int_equal(s.reads, 1);
    assert_true(has(&s.net.retry, s.msg[1]) && length(&s.net.retry) == 1 && length(&s.net.msg.failed) == 0);
}

/* ---- by chance ---- */

static uint64_t dice;

static unsigned throw_dice(unsigned sides)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % sides;
}

static int answer_by_chance(unsigned number)
{
    static const int all[] = { -EAGAIN, -EAGAIN, -EIO, 0 };

    (void)number;
    return all[throw_dice(4)];
}

static void any_order(void **state)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        dice = seed;
        s.answer = answer_by_chance;
        while (s.msgs < MOST) {
            come(1 + (int)throw_dice(RANKS - 1));
            if (throw_dice(3) == 0)
                pump();
        }
        while (!tern_base_list_empty(&s.net.retry))
            pump();
        end(state);
        assert_int_equal(begin(state), 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_fails_that_was_refused),        TEST(a_sender_holds_up_itself_only), TEST(failed_fetches_are_judged),
        TEST(fetches_without_memory_are_judged), TEST(the_dead_are_not_waited_for),   TEST(any_order),
    };

    return cmocka_run_group_tests_name("fetches of messages' data", tests, NULL, NULL);
}
