/* ofi_fetches.c: the lists of messages whose data must be fetched over the network.
 *
 * Promise: a fetch that the provider refuses is retried until the provider accepts it; a failed fetch is not retried,
 * and waits for the launcher to report the fate of its sender. Each message is on one list at a time, or on none while
 * it is being fetched, in whatever order fetches are refused, fail and begin. A sender whose fetches are refused does
 * not hold up the fetches of others. The file under test is included, because the lists are private; the provider is a
 * function of this test.
 */
/* clang-format off: the file under test comes before cmocka.h, which takes one of its names */
#include "link/ofi/msg_recv.c"

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
    struct ofi_link    ofi;
    struct ofi_peer    peer[RANKS];
    struct ofi_rx_msg *letter[MOST];
    enum state         state[MOST]; /* as the provider knows it */
    unsigned           letters;
    unsigned           reads;
    ssize_t (*answer)(unsigned number); /* the provider's answer to the fetch of the message with this number */
} s;

/* ---- the provider ---- */

static ssize_t answer_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from, uint64_t addr,
                           uint64_t key, void *context)
{
    unsigned number = 0;
    ssize_t  rc;

    (void)ep, (void)desc, (void)addr, (void)key;
    while (number < s.letters && (void *)s.letter[number] != context)
        number++;
    assert_true(number < s.letters);
    assert_int_equal(s.state[number], WAITS); /* otherwise the message is fetched twice, or after it failed */
    assert_true(len == LEN && buf == s.letter[number]->bytes + OFI_WIRE_HEAD && from == s.letter[number]->from->addr);
    s.reads++;
    rc = s.answer(number);
    s.state[number] = rc == 0 ? FETCHED : rc == -FI_EAGAIN ? WAITS : FAILED;
    return rc;
}

static const char *say_error(int error)
{
    (void)error;
    return "it broke";
}

/* ---- the link ---- */

static int begin(void **state)
{
    static struct fi_ops_rma              rma = { .read = answer_read };
    static struct fid_ep                  ep = { .rma = &rma };
    static const struct tern_fabric_calls calls = { .strerror = say_error };

    (void)state;
    memset((void *)&s, 0, sizeof(s));
    if (tern_boot_arena_make(RANKS, 1, &s.boot.arena, &s.boot.huge, &s.boot.segment) != TERN_OK)
        return -1;
    s.boot.segment->on_failure = TERN_ON_FAILURE_RETURN;
    s.boot.relay_fd = -1;
    tern_boot_place(&s.boot, 0);
    s.ofi.boot = &s.boot;
    s.ofi.ranks = RANKS;
    s.ofi.endpoint.ep = &ep;
    s.ofi.endpoint.fabric.calls = &calls;
    for (int rank = 0; rank < RANKS; rank++)
        s.peer[rank] = (struct ofi_peer){ .rank = rank, .known = true, .addr = (fi_addr_t)rank };
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < s.letters; i++)
        free(s.letter[i]);
    tern_boot_leave(&s.boot);
    return 0;
}

static unsigned length(const struct ofi_rx_msg *letter)
{
    unsigned n = 0;

    for (; letter && n <= MOST; letter = letter->next_fetch)
        n++;
    assert_true(n <= MOST); /* the list is not circular */
    return n;
}

static bool has(const struct ofi_rx_msg *list, const struct ofi_rx_msg *letter)
{
    while (list && list != letter)
        list = list->next_fetch;
    return list != NULL;
}

/* Check that every message is on the right list. The launcher has not reported the fate of the senders whose fetches
 * have failed so far, and has unlimited time to do so. */
static void check(void)
{
    unsigned count[3] = { 0 };

    for (unsigned i = 0; i < s.letters; i++)
        count[s.state[i]]++;
    assert_int_equal(length(s.ofi.msg.fetches), count[WAITS]);
    assert_int_equal(length(s.ofi.msg.failed), count[FAILED]);
    for (unsigned i = 0; i < s.letters; i++) {
        assert_true(has(s.ofi.msg.fetches, s.letter[i]) == (s.state[i] == WAITS));
        assert_true(has(s.ofi.msg.failed, s.letter[i]) == (s.state[i] == FAILED));
    }
    for (struct ofi_rx_msg *letter = s.ofi.msg.failed; letter; letter = letter->next_fetch)
        letter->judge_at = OFI_NEVER;
    assert_int_equal(s.ofi.msg.damage, TERN_OK);
}

/* A message arrives whose data must be fetched. */
static void come(int from)
{
    struct ofi_rx_msg *letter = letter_new(&s.ofi.msg, LEN);

    assert_non_null(letter);
    letter->from = &s.peer[from];
    letter->len = LEN;
    letter->cached = NULL;
    s.letter[s.letters++] = letter;
    pull(&s.ofi, letter);
    check();
}

static void pump(void)
{
    tern_ofi_rx_pump(&s.ofi);
    check();
}

/* ---- by example ---- */

static ssize_t answers[MOST];

static ssize_t answer_as_told(unsigned number)
{
    return answers[number];
}

static void answer_all(ssize_t answer)
{
    s.answer = answer_as_told;
    for (unsigned i = 0; i < MOST; i++)
        answers[i] = answer;
}

/* The first of several waiting fetches fails: those behind it stay on the list, and it is not fetched again. */
static void one_fails_that_was_refused(void **state)
{
    (void)state;
    answer_all(-FI_EAGAIN);
    for (int i = 0; i < 4; i++)
        come(1);
    assert_int_equal(s.reads, 1); /* no fetch overtakes a refused one */
    answers[0] = -FI_EIO;
    pump();
    assert_true(s.state[0] == FAILED && s.state[1] == WAITS);
    answers[1] = answers[2] = -FI_EIO;
    answers[3] = 0;
    pump();
    assert_true(s.state[1] == FAILED && s.state[2] == FAILED && s.state[3] == FETCHED);
    assert_null(s.ofi.msg.fetches);
}

static void a_sender_holds_up_itself_only(void **state)
{
    (void)state;
    answer_all(-FI_EAGAIN);
    for (int i = 0; i < 6; i++)
        come(1 + i % 3);
    for (unsigned i = 0; i < 6; i++)
        answers[i] = i % 3 == 1 ? -FI_EAGAIN : i == 3 ? -FI_EIO : 0;
    pump();
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(s.state[i], i % 3 == 1 ? WAITS : i == 3 ? FAILED : FETCHED);
    answer_all(0);
    pump();
    assert_null(s.ofi.msg.fetches);
}

/* The launcher reports the sender's death, or the time limit for the report has passed. */
static void failed_fetches_are_judged(void **state)
{
    (void)state;
    answer_all(-FI_EIO);
    come(1);
    come(2);
    come(1);
    atomic_store(&s.boot.segment->slot[1].fate, TERN_FATE_LOST);
    tern_ofi_rx_pump(&s.ofi);
    assert_int_equal(s.ofi.msg.damage, TERN_OK);
    assert_true(s.ofi.msg.failed == s.letter[1] && !s.letter[1]->next_fetch);
    assert_true(tern_ofi_rx_due(&s.ofi) == OFI_NEVER); /* as check() has set it */
    s.letter[1]->judge_at = 0;
    tern_ofi_rx_pump(&s.ofi);
    assert_null(s.ofi.msg.failed);
    assert_int_equal(s.ofi.msg.damage, TERN_ERR_LINK);
    assert_non_null(strstr(s.ofi.msg.why, "from rank 2: it broke"));
}

/* Data of a dead sender is not fetched, and the message is on no list. */
static void the_dead_are_not_waited_for(void **state)
{
    (void)state;
    answer_all(-FI_EAGAIN);
    come(1);
    come(2);
    come(1);
    s.reads = 0;
    atomic_store(&s.boot.segment->slot[1].fate, TERN_FATE_LOST);
    tern_ofi_rx_pump(&s.ofi);
    assert_int_equal(s.reads, 1);
    assert_true(s.ofi.msg.fetches == s.letter[1] && !s.letter[1]->next_fetch && !s.ofi.msg.failed);
}

/* ---- by chance ---- */

static uint64_t dice;

static unsigned throw_dice(unsigned sides)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % sides;
}

static ssize_t answer_by_chance(unsigned number)
{
    static const ssize_t all[] = { -FI_EAGAIN, -FI_EAGAIN, -FI_EIO, 0 };

    (void)number;
    return all[throw_dice(4)];
}

static void any_order(void **state)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        dice = seed;
        s.answer = answer_by_chance;
        while (s.letters < MOST) {
            come(1 + (int)throw_dice(RANKS - 1));
            if (throw_dice(3) == 0)
                pump();
        }
        while (s.ofi.msg.fetches)
            pump();
        end(state);
        assert_int_equal(begin(state), 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_fails_that_was_refused),
        TEST(a_sender_holds_up_itself_only),
        TEST(failed_fetches_are_judged),
        TEST(the_dead_are_not_waited_for),
        TEST(any_order),
    };

    return cmocka_run_group_tests_name("fetches of messages' data", tests, NULL, NULL);
}
