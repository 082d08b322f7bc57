/* core_wait.c: the stages of every wait: spin, yield, sleep.
 *
 * Promise: a wait returns the result of its poll at once; it polls before it gives up, however old the deadline; the
 * error text names what the wait was for; a ring of the bell wakes a sleeper, which needs no other help; a wait that
 * lasts longer than TERN_STALL_REPORT prints a report. If this or another thread has asked a consumer for a wake-up
 * during the last poll, the wait polls once more before it sleeps. A wait whose condition the caller evaluates does not
 * sleep after a poll before the caller has evaluated the condition, and every ring after its announcement ends its
 * sleep. With fewer cores than ranks, a wait whose yields do not give the core to others sleeps soon, but only if there
 * are others that need the core. A thread that shares its core with a process that computes, so that a yield is long,
 * sleeps instead of polling and yielding in more and more waits, and yields again when yields are short. With fewer
 * cores than ranks, a wait for a reply polls for a while before it yields, unless that was in vain shortly before.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/notify_queue.h"
#include "base/clock.h"
#include "base/membarrier.h"
#include "base/options.h"
#include "base/spsc_ring.h"
#include "base/wake_request.h"
#include "boot/bell.h"
#include "core/job.h"
#include "core/wait.h"
#include "said_test.h"

/* The poll of a test: it returns PENDING until it has been called often enough, or until the flag is set. */
struct question {
    unsigned     asked, enough; /* enough 0: never */
    unsigned     announced;     /* calls while a sleep was announced */
    tern_status  answer;
    _Atomic bool flag;
};

static tern_status ask(void *arg)
{
    struct question *q = arg;

    q->asked++;
    q->announced += atomic_load(&tern_core_job_slot(tern_job.boot.rank)->sleepers) > 0;
    return (q->enough && q->asked >= q->enough) || atomic_load(&q->flag) ? q->answer : TERN_PENDING;
}

static void say(void *arg, char *text, size_t size)
{
    (void)arg;
    snprintf(text, size, "the answer to everything");
}

static tern_status wait_for(struct question *q, tern_deadline deadline)
{
    struct tern_wait wait = { .poll = ask, .describe = say, .arg = q, .deadline = deadline };

    return tern_core_wait(&wait);
}

/* The kernel of the test: it counts the yields, and gives the core to others at every yield or never. */
static unsigned yields;
static bool     gives_the_core, others_compute;

int sched_yield(void)
{
    int64_t begin = tern_base_now();

    yields++;
    while (others_compute && tern_base_now() - begin < 1100000) /* a time slice, in ns */
        ;
    return 0;
}

int getrusage(__rusage_who_t who, struct rusage *usage)
{
    (void)who;
    *usage = (struct rusage){ .ru_nivcsw = gives_the_core ? yields : 0 };
    return 0;
}

/* Make a job of one rank, as far as waits use it. */
static int job_make(void **state)
{
    char *none[] = { NULL };

    (void)state;
    tern_job.boot = (struct tern_boot){ .ranks = 1, .relay_fd = -1 };
    return tern_base_options_load(none) == TERN_OK &&
                   tern_boot_arena_make(1, 1, &tern_job.boot.arena, &tern_job.boot.huge, &tern_job.boot.segment) ==
                       TERN_OK
               ? 0
               : -1;
}

static int job_remove(void **state)
{
    (void)state;
    tern_boot_leave(&tern_job.boot);
    return 0;
}

/* The stages: only spins; a few yields; sleeps at once; as in an oversubscribed job. */
static const struct {
    int64_t spin_ns;
    int     yields;
} ladders[] = { { INT64_MAX / 4, 0 }, { 1000, 1000000 }, { 0, 0 }, { 0, 4 }, { 1000000, 50 } };

#define FOR_EACH_LADDER                                               \
    for (size_t l = 0; l < sizeof(ladders) / sizeof(ladders[0]); l++) \
        if ((tern_job.spin_ns = ladders[l].spin_ns, tern_job.yields = ladders[l].yields, true))

static void answers_are_returned(void **state)
{
    static const tern_status answers[] = { TERN_OK, TERN_AGAIN, TERN_ERR_PEER, TERN_ERR_LINK, TERN_ERR_TIMEOUT };
    static const unsigned    counts[] = { 1, 2, 255, 256, 257, 258, 1000 };

    (void)state;
    tern_job.spin_ns = INT64_MAX / 4; /* else the later counts sleep */
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
            struct question q = { .enough = counts[k], .answer = answers[i] };
            assert_int_equal(wait_for(&q, TERN_FOREVER), answers[i]);
            assert_int_equal(q.asked, counts[k]); /* not once more: the result may be gone */
        }
    }
}

static void it_looks_before_it_gives_up(void **state)
{
    static const tern_deadline old[] = { TERN_NOW, 1, -1, INT64_MIN, INT64_MIN + 1 };

    (void)state;
    FOR_EACH_LADDER
    {
        for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
            struct question q = { .enough = 1 };
            int64_t         start = tern_base_now();

            assert_int_equal(wait_for(&q, old[i]), TERN_OK);
            assert_int_equal(q.asked, 1);
            q = (struct question){ .asked = 0 };
            tern_base_fail(TERN_ERR_ARG, "an earlier error");
            assert_int_equal(wait_for(&q, old[i]), old[i] == TERN_NOW ? TERN_PENDING : TERN_ERR_TIMEOUT);
            assert_true(q.asked >= 1);
            assert_non_null(
                strstr(tern_base_detail(), old[i] == TERN_NOW ? "an earlier error" : "the answer to everything"));
            assert_true(tern_base_now() - start < 5000000000ll); /* it did not wait */
        }
    }
}

static void a_deadline_ends_the_wait(void **state)
{
    (void)state;
    FOR_EACH_LADDER
    {
        struct question q = { .asked = 0 };
        int64_t         deadline = tern_base_now() + 5000000;

        assert_int_equal(wait_for(&q, deadline), TERN_ERR_TIMEOUT);
        assert_true(tern_base_now() >= deadline);
    }
}

static void *set_and_ring(void *arg)
{
    struct question  *q = arg;
    struct tern_slot *slot = tern_core_job_slot(0);

    while (atomic_load(&slot->sleepers) == 0) /* the thread sleeps, or is about to */
        usleep(100);
    atomic_store(&q->flag, true);
    tern_boot_bell_ring(&slot->bell, &slot->sleepers);
    return NULL;
}

/* Many times, so that the ring hits every moment between the last poll and the sleep. A lost ring would cost the
 * longest sleep each time. */
static void a_ring_wakes(void **state)
{
    int64_t start = tern_base_now();

    (void)state;
    tern_job.spin_ns = 0;
    tern_job.yields = 0;
    for (int i = 0; i < 300; i++) {
        struct question q = { .answer = TERN_OK };
        pthread_t       thread;

        assert_int_equal(pthread_create(&thread, NULL, set_and_ring, &q), 0);
        assert_int_equal(wait_for(&q, TERN_FOREVER), TERN_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(atomic_load(&tern_core_job_slot(0)->sleepers), 0); /* withdrawn */
    }
    assert_true(tern_base_now() - start < 300 * 100000000ll);
}

/* A queue whose consumer takes the oldest message at the moment of the producer's last poll before it sleeps: the
 * consumer has read that no producer waits, and its progress becomes visible a little later. The producer waits for
 * space in a ring or in a notification queue, or until the inline payload of its messages is in place. */
enum wish { SPACE_IN_RING, SPACE_FOR_CELL, IN_PLACE, WISHES };

#define NEAR TERN_NQ_MIN_CELLS

struct queue {
    enum wish                 wish;
    bool                      shared; /* another thread asks the consumer, too late, before this thread polls */
    struct tern_ring_producer ring_out;
    struct tern_ring_consumer ring_in;
    struct tern_nq_producer   cells_out;
    struct tern_nq_consumer   cells_in;
    struct tern_nq_payload    load[NEAR];
    unsigned                  kind;  /* of the message that the consumer is taking */
    uint64_t                  place; /* of the inline payload */
    bool                      consumed;
};

static void queue_make(struct queue *q, enum wish wish, bool shared)
{
    _Alignas(64) static unsigned char memory[1024];
    struct tern_ring_shape            shape = tern_base_ring_shape_cells(sizeof(memory));
    const uint64_t                    words[TERN_NQ_WORDS] = { 7, 8, 9 };
    struct tern_nq_claim              place;
    struct tern_ring_reservation      space;
    const unsigned char              *head;

    assert_true(tern_base_nq_bytes(NEAR) <= sizeof(memory));
    memset(memory, 0, sizeof(memory));
    *q = (struct queue){ .wish = wish, .shared = shared };
    if (wish == SPACE_IN_RING) {
        tern_base_ring_producer_init(&q->ring_out, memory, shape);
        tern_base_ring_consumer_init(&q->ring_in, memory, shape);
        while (tern_base_ring_reserve(&q->ring_out, 0, 0, &space))
            tern_base_ring_publish(&space.claim, 0);
        return;
    }
    tern_base_nq_producer_init(&q->cells_out, memory, NEAR, q->load);
    tern_base_nq_consumer_init(&q->cells_in, memory, NEAR);
    if (wish == IN_PLACE) {
        assert_true(tern_base_nq_push_inline(&q->cells_out, words, &q->place, words, sizeof(words[0])));
        assert_int_equal(tern_base_nq_peek(&q->cells_in, &head, &q->kind), 1);
        assert_int_equal(tern_base_nq_claim_payload(&q->cells_in, q->kind), TERN_NQ_COPY); /* the consumer's claim */
        return;
    }
    while (tern_base_nq_reserve(&q->cells_out, &place))
        tern_base_nq_publish(&place, 0);
}

/* The consumer checks whether it must wake the producer. */
static bool queue_is_wanted(struct queue *q)
{
    return q->wish == SPACE_IN_RING ? tern_base_wake_requested(&q->ring_in.ring->producer_waits)
                                    : tern_base_wake_requested(&q->cells_in.shared->producer_waits);
}

static void queue_consume(struct queue *q)
{
    if (q->wish == SPACE_IN_RING) {
        tern_base_ring_consume(&q->ring_in, 0);
    } else {
        q->place = 7; /* the destination of the inline payload */
        tern_base_nq_consume(&q->cells_in, q->kind);
    }
    q->consumed = true;
}

/* Whether the producer has what it waits for. */
static bool queue_is_ready(struct queue *q)
{
    struct tern_nq_claim         place;
    struct tern_ring_reservation space;

    switch (q->wish) {
    case SPACE_IN_RING: return tern_base_ring_reserve(&q->ring_out, 0, 0, &space);
    case SPACE_FOR_CELL: return tern_base_nq_reserve(&q->cells_out, &place);
    default: return tern_base_nq_flush(&q->cells_out, true);
    }
}

static tern_status look_at_queue(void *arg)
{
    struct queue *q = arg;
    bool          last = atomic_load(&tern_core_job_slot(0)->sleepers) > 0 && !q->consumed;

    if (last)
        (void)queue_is_wanted(q); /* the consumer has announced its earlier progress */
    if (last && q->shared)
        tern_base_wake_request(q->wish == SPACE_IN_RING ? &q->ring_in.ring->producer_waits
                                                        : &q->cells_in.shared->producer_waits);
    if (queue_is_ready(q))
        return TERN_OK;
    if (last)
        queue_consume(q);
    return TERN_PENDING;
}

static void who_asks_too_late_looks_again(void **state)
{
    int64_t net = tern_core_wait_longest_sleep;
    double  report = tern_opt.stall_report;

    (void)state;
    tern_core_wait_longest_sleep = INT64_MAX;
    tern_opt.stall_report = 0;
    alarm(60);
    FOR_EACH_LADDER
    {
        for (unsigned i = 0; i < 2 * WISHES; i++) {
            struct queue     q;
            struct tern_wait wait = { .poll = look_at_queue, .describe = say, .arg = &q, .deadline = TERN_FOREVER };

            if (tern_job.spin_ns > 1000000 || /* the wait does not sleep */
                (i / 2 == IN_PLACE &&
                 !tern_base_membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED))) /* the kernel has no such barrier */
                continue;
            queue_make(&q, (enum wish)(i / 2), i % 2);
            assert_int_equal(tern_core_wait(&wait), TERN_OK); /* nothing else ends its sleep */
            assert_true(q.consumed);
        }
    }
    alarm(0);
    tern_core_wait_longest_sleep = net;
    tern_opt.stall_report = report;
}

/* A wait whose condition the caller evaluates. A poll may change the memory without telling anybody: it processes the
 * put of a peer on another node. */
struct evaluated {
    _Atomic unsigned polls;
    unsigned         seen; /* polls before the last evaluation */
    bool             slept_unseen;
};

static tern_status count_poll(void *arg)
{
    atomic_fetch_add(&((struct evaluated *)arg)->polls, 1);
    return TERN_PENDING;
}

/* Wake the thread that sleeps, and check whether it has polled since the last evaluation. */
static void *wake_later(void *arg)
{
    struct evaluated *e = arg;
    struct tern_slot *slot = tern_core_job_slot(0);

    while (atomic_load(&slot->sleepers) == 0)
        usleep(100);
    usleep(5000);
    e->slept_unseen = atomic_load(&e->polls) != e->seen;
    tern_boot_bell_wake(&slot->bell);
    return NULL;
}

static void who_evaluates_misses_no_poll(void **state)
{
    struct tern_slot *slot = tern_core_job_slot(0);
    int64_t           net = tern_core_wait_longest_sleep;

    (void)state;
    tern_core_wait_longest_sleep = INT64_MAX;
    tern_job.spin_ns = tern_job.yields = 0;
    atomic_store(&slot->registered, 1); /* the sleep is no nap */
    alarm(60);
    for (int i = 0; i < 20; i++) {
        struct evaluated       e = { .polls = 0 };
        struct tern_wait_state steps = { 0 };
        struct tern_wait       wait = { .poll = count_poll,
                                        .describe = say,
                                        .arg = &e,
                                        .deadline = TERN_FOREVER,
                                        .on_memory = true,
                                        .by_caller = true };
        uint32_t               bell = atomic_load(&slot->bell);
        pthread_t              thread;

        while (!steps.announced)
            assert_int_equal(tern_core_wait_step(&wait, &steps), TERN_PENDING);
        e.seen = atomic_load(&e.polls); /* the evaluation: false */
        if (i % 2 == 0) {
            tern_boot_wake(slot); /* no thread sleeps yet */
            assert_int_not_equal(atomic_load(&slot->bell), bell);
            assert_int_equal(tern_core_wait_step(&wait, &steps), TERN_PENDING); /* it does not sleep */
            continue;
        }
        assert_int_equal(pthread_create(&thread, NULL, wake_later, &e), 0);
        assert_int_equal(tern_core_wait_step(&wait, &steps), TERN_PENDING);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_false(e.slept_unseen);
    }
    alarm(0);
    tern_core_wait_longest_sleep = net;
}

static void *set_silently(void *arg)
{
    usleep(20000);
    atomic_store(&((struct question *)arg)->flag, true);
    return NULL;
}

static void without_a_ring_it_looks_again(void **state)
{
    struct question q = { .answer = TERN_ERR_LINK };
    pthread_t       thread;

    (void)state;
    tern_job.spin_ns = 0;
    tern_job.yields = 0;
    assert_int_equal(pthread_create(&thread, NULL, set_silently, &q), 0);
    assert_int_equal(wait_for(&q, TERN_FOREVER), TERN_ERR_LINK);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void a_long_wait_is_reported(void **state)
{
    const char     *text;
    struct question q = { .asked = 0 };

    (void)state;
    tern_opt.stall_report = 0.01;
    said_begin();
    FOR_EACH_LADDER
    wait_for(&q, tern_base_now() + 50000000);
    text = said_end();
    assert_non_null(strstr(text, "the answer to everything"));
    assert_non_null(strstr(text, "waited"));
    tern_opt.stall_report = 10;
}

/* Poll often, or until a deadline, as the first of three ranks on two cores, of which some sleep. Returns how often the
 * wait yielded. */
static unsigned yields_beside(unsigned asleep, unsigned polls)
{
    struct tern_boot alone = tern_job.boot;
    struct question  q = { .enough = polls };

    tern_job.boot = (struct tern_boot){ .ranks = 3, .locals = 3, .relay_fd = -1 };
    assert_int_equal(tern_boot_arena_make(3, 2, &tern_job.boot.arena, &tern_job.boot.huge, &tern_job.boot.segment),
                     TERN_OK);
    for (unsigned i = 0; i < asleep; i++)
        atomic_store(&tern_core_job_slot(2 - (int)i)->sleepers, 1);
    tern_job.turns = 1 << 20; /* so that the number of yields counts, and not their time */
    tern_job.spin_ns = 0;
    tern_job.yields = 1000;
    yields = 0;
    assert_int_equal(wait_for(&q, polls > 0 ? TERN_FOREVER : tern_base_now() + 50000000),
                     polls > 0 ? TERN_OK : TERN_ERR_TIMEOUT);
    tern_boot_leave(&tern_job.boot);
    tern_job.boot = alone;
    tern_job.turns = 1;
    return yields;
}

/* Make waits of 100 polls each, which sleep for a microsecond when they sleep. Returns how often they yielded. */
static unsigned yields_of_waits(unsigned count)
{
    unsigned before = yields;

    while (count-- > 0) {
        struct question  q = { .enough = 100, .answer = TERN_OK };
        struct tern_wait wait = { .poll = ask, .describe = say, .arg = &q, .deadline = TERN_FOREVER, .nap = 1000 };

        if (tern_core_wait(&wait) != TERN_OK)
            abort();
    }
    return yields - before;
}

/* Return whether a wait of 100 polls announces a sleep before its last poll. */
static bool sleeps_early(void)
{
    struct question  q = { .enough = 100, .answer = TERN_OK };
    struct tern_wait wait = { .poll = ask, .describe = say, .arg = &q, .deadline = TERN_FOREVER, .nap = 1000 };

    if (tern_core_wait(&wait) != TERN_OK)
        abort();
    return q.announced > 0;
}

/* A poll that finds a bound for the sleep after the sleep has been announced. */
static tern_status find_bound(void *arg)
{
    struct tern_wait *wait = arg;

    if (wait->nap > 0)
        return TERN_OK;
    if (atomic_load(&tern_core_job_slot(tern_job.boot.rank)->sleepers) > 0)
        wait->nap = 1000;
    return TERN_PENDING;
}

static void a_late_bound_counts(void **state)
{
    struct tern_wait wait = { .poll = find_bound, .describe = say, .arg = &wait, .deadline = TERN_FOREVER };
    int64_t          begin = tern_base_now(), longest = tern_core_wait_longest_sleep;

    (void)state;
    tern_job.spin_ns = 0;
    tern_job.yields = 0;
    tern_core_wait_longest_sleep = 20000000000;
    assert_int_equal(tern_core_wait(&wait), TERN_OK);
    tern_core_wait_longest_sleep = longest;
    assert_true(tern_base_now() - begin < 10000000000);
}

/* The number of yields in each part of a program, and whether waits that may spin sleep early. */
struct parts {
    unsigned before, beside, again, spinning;
    bool     early_alone, early_beside;
};

/* A thread of its own, because waits of the other tests must not remember the long yields. */
static void *shares_its_core(void *arg)
{
    struct parts *parts = arg;

    tern_job.spin_ns = 0;
    tern_job.yields = 1000;
    tern_job.turns = 1 << 20;
    parts->before = yields_of_waits(20);
    others_compute = true;
    parts->beside = yields_of_waits(100);
    others_compute = false;
    yields_of_waits(100);
    parts->again = yields_of_waits(20);

    tern_job.spin_ns = INT64_MAX / 4;
    parts->early_alone = true;
    for (unsigned i = 0; i < 1000 && parts->early_alone; i++) /* some sleep if another process made a yield long */
        parts->early_alone = sleeps_early();
    others_compute = true;
    for (struct question q = { .asked = 0 }; parts->spinning == 0;) { /* until a yield has been long */
        unsigned         before = yields;
        struct tern_wait wait = { .poll = ask, .describe = say, .arg = &q, .deadline = TERN_FOREVER, .nap = 1000 };

        q = (struct question){ .enough = 200000, .answer = TERN_OK };
        if (tern_core_wait(&wait) != TERN_OK)
            abort();
        parts->spinning = yields - before;
    }
    parts->early_beside = sleeps_early();
    others_compute = false;
    return NULL;
}

static void yields_beside_computation_become_rare(void **state)
{
    struct parts parts = { 0 };
    pthread_t    thread;

    (void)state;
    gives_the_core = true;
    assert_int_equal(pthread_create(&thread, NULL, shares_its_core, &parts), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_in_range(parts.before, 1000, 2000); /* fewer, if another process takes the core during a yield */
    assert_in_range(parts.beside, 1, 7);       /* waits 1, 3, 7, 15, 31 and 63 */
    assert_in_range(parts.again, 1000, 2000);
    assert_int_equal(parts.spinning, 1); /* sleeps after it */
    assert_false(parts.early_alone);
    assert_true(parts.early_beside);
}

/* The most yields in several waits of 200 polls: if another process takes the core during a yield, that wait and the
 * next one hardly yield. */
static unsigned most_yields_beside(unsigned asleep)
{
    unsigned most = 0;

    for (unsigned i = 0; i < 8 && most < 190; i++) {
        unsigned now = yields_beside(asleep, 200);
        most = now > most ? now : most;
    }
    return most;
}

/* The number of yields in a wait for a reply that arrives at the given poll. */
static unsigned yields_until_reply(unsigned poll)
{
    unsigned         before = yields;
    struct question  q = { .enough = poll, .answer = TERN_OK };
    struct tern_wait wait = { .poll = ask, .describe = say, .arg = &q, .deadline = TERN_FOREVER, .for_reply = true };

    if (tern_core_wait(&wait) != TERN_OK)
        abort();
    return yields - before;
}

/* The results of waits for replies. */
struct replies {
    unsigned soon, late, after_one, skipped, again, after_two;
};

/* A thread of its own, so that the waits remember no others. */
static void *waits_for_replies(void *arg)
{
    struct replies *replies = arg;

    tern_job.spin_ns = 0;
    tern_job.yields = 1000;
    tern_job.turns = 1 << 20;
    tern_opt.yields = tern_job.yields; /* whatever the yields seem to take on this machine */
    replies->soon = yields_until_reply(20);
    replies->late = yields_until_reply(200);
    replies->after_one = yields_until_reply(20);
    yields_until_reply(200);
    yields_until_reply(200);
    for (replies->skipped = 0; yields_until_reply(20) > 0; replies->skipped++)
        ;
    yields_until_reply(200);
    replies->again = yields_until_reply(20);
    yields_until_reply(200);
    yields_until_reply(200);
    replies->after_two = yields_until_reply(20);
    tern_opt.yields = -1;
    return NULL;
}

/* With fewer cores than ranks, a wait for a reply polls before it yields, and leaves that out for a while when it was
 * in vain twice in succession. */
static void waits_for_replies_poll_first(void **state)
{
    struct replies replies = { 0 };
    pthread_t      thread;

    (void)state;
    gives_the_core = true;
    assert_int_equal(pthread_create(&thread, NULL, waits_for_replies, &replies), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(replies.soon, 0);
    assert_true(replies.late > 100);
    assert_int_equal(replies.after_one, 0);
    assert_int_equal(replies.skipped, 64);
    assert_int_equal(replies.again, 0); /* the successful wait before has ended the succession */
    assert_true(replies.after_two > 10);
}

static void yields_in_vain_end_soon(void **state)
{
    (void)state;
    tern_base_options_load((char *[]){ NULL });
    gives_the_core = false;
    assert_in_range(yields_beside(0, 0), 1, 40);
    assert_in_range(most_yields_beside(1), 190, 200); /* nobody needs the core */
    gives_the_core = true;
    assert_in_range(most_yields_beside(0), 190, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_returned),          cmocka_unit_test(it_looks_before_it_gives_up),
        cmocka_unit_test(a_deadline_ends_the_wait),      cmocka_unit_test(a_ring_wakes),
        cmocka_unit_test(without_a_ring_it_looks_again), cmocka_unit_test(a_long_wait_is_reported),
        cmocka_unit_test(yields_in_vain_end_soon),       cmocka_unit_test(who_asks_too_late_looks_again),
        cmocka_unit_test(who_evaluates_misses_no_poll),  cmocka_unit_test(yields_beside_computation_become_rare),
        cmocka_unit_test(waits_for_replies_poll_first),  cmocka_unit_test(a_late_bound_counts),
    };

    return cmocka_run_group_tests_name("core wait", tests, job_make, job_remove);
}
