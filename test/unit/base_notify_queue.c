/* base_notify_queue.c: SPSC queues of messages of one cache line, with primary and overflow cells.
 *
 * Promise: messages arrive in the order in which they were reserved, none is lost, and the watched word announces each;
 * the queue holds as many messages as it has primary and overflow cells, whatever was sent before; overflow cells are
 * allocated when the primary cells are full and not before; a queue whose consumer keeps up stays in the primary cells.
 * After a flush, every inline payload is in its place, whether or not the consumer has taken the message; a message
 * that is taken later stores nothing; the flush waits for a message that the consumer has claimed; a payload that is
 * already in place is not stored again. Values that the other side writes against the rules are an error or have no
 * effect.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/notify_queue.h"
#include "base/membarrier.h"
#include "base/sanitize.h"
#include "base/wake_request.h"

#define NEAR 8u
#define FAR 32u
#define PLACES 4u

struct scene {
    struct tern_nq_producer p; /* first member: grow() finds the scene by it */
    struct tern_nq_consumer c;
    void                   *memory, *far;
    struct tern_nq_payload *load, *far_load;
    uint64_t                place[PLACES];
    bool                    no_memory;
};

static bool grow(struct tern_nq_producer *p)
{
    struct scene *s = (struct scene *)p;

    if (s->no_memory)
        return false;
    assert_null(s->far);
    s->far = aligned_alloc(TERN_NQ_LINE, FAR * sizeof(struct tern_nq_cell));
    memset(s->far, 0, FAR * sizeof(struct tern_nq_cell));
    s->far_load = calloc(FAR, sizeof(*s->far_load));
    tern_base_nq_add_overflow(&s->p, s->far, FAR, s->far_load);
    return true;
}

static int set(void **state)
{
    struct scene *s = calloc(1, sizeof(*s));
    size_t        bytes = tern_base_nq_bytes(NEAR);

    s->memory = aligned_alloc(TERN_NQ_LINE, bytes);
    memset(s->memory, 0, bytes);
    s->load = calloc(NEAR, sizeof(*s->load));
    tern_base_nq_producer_init(&s->p, s->memory, NEAR, s->load);
    s->p.grow = grow;
    tern_base_nq_consumer_init(&s->c, s->memory, NEAR);
    *state = s;
    return 0;
}

static int unset(void **state)
{
    struct scene *s = *state;

    free(s->memory);
    free(s->far);
    free(s->load);
    free(s->far_load);
    free(s);
    return 0;
}

static bool put(struct scene *s, uint64_t *to, uint64_t value)
{
    const uint64_t words[TERN_NQ_WORDS] = { value, 8, 9 };

    return tern_base_nq_push_inline(&s->p, words, to, &value, sizeof(value));
}

static bool put_plain(struct scene *s, uint64_t value)
{
    struct tern_nq_claim place;

    if (!tern_base_nq_reserve(&s->p, &place))
        return false;
    memcpy(place.cell->head, &value, sizeof(value));
    tern_base_nq_publish(&place, 0);
    return true;
}

static bool is_shown(const struct scene *s)
{
    uint32_t                idle;
    const _Atomic uint32_t *mark = tern_base_nq_watch_word(&s->c, 0, &idle);

    return atomic_load(mark) != idle;
}

static void consume(struct scene *s, unsigned kind)
{
    if ((kind & TERN_NQ_SWITCH) && !s->c.row[TERN_NQ_OVERFLOW].cell)
        tern_base_nq_map_overflow(&s->c, s->far, FAR);
    tern_base_nq_consume(&s->c, kind);
}

#define NONE (-1)
#define SKIPPED (-2)

/* Take one message as a consumer does. Returns NONE, SKIPPED or the claim state. BUSY: the message stays. */
static int take(struct scene *s, uint64_t *to, uint64_t *value)
{
    const unsigned char     *head;
    unsigned                 kind;
    enum tern_nq_claim_state turn;
    int                      found = tern_base_nq_peek(&s->c, &head, &kind);

    if (found == 0)
        return NONE;
    assert_int_equal(found, 1);
    assert_true(is_shown(s));
    if (kind & TERN_NQ_SKIP) {
        consume(s, kind);
        return SKIPPED;
    }
    turn = tern_base_nq_claim_payload(&s->c, kind);
    if (turn == TERN_NQ_BUSY)
        return (int)turn;
    if (turn == TERN_NQ_COPY)
        memcpy(to, head + 24, 8);
    if (value)
        memcpy(value, head, sizeof(*value));
    consume(s, kind);
    return (int)turn;
}

/* ---- capacity ---- */

static void sizes(void **state)
{
    (void)state;
    for (uint32_t near = TERN_NQ_MIN_CELLS; near <= TERN_NQ_PRIMARY_MAX; near *= 2)
        assert_int_equal(tern_base_nq_primary_cells(tern_base_nq_bytes(near)), near);
    assert_int_equal(tern_base_nq_primary_cells(0), 0);
    assert_int_equal(tern_base_nq_primary_cells(tern_base_nq_bytes(NEAR) + 1), 0);
    assert_int_equal(tern_base_nq_primary_cells(tern_base_nq_bytes(NEAR) + TERN_NQ_LINE), 0);
    assert_int_equal(tern_base_nq_primary_cells(tern_base_nq_bytes(2)), 0);
    assert_int_equal(tern_base_nq_primary_cells(tern_base_nq_bytes(2 * TERN_NQ_PRIMARY_MAX)), 0);
}

/* A consumer that keeps up: it lags by at most one less than the number of primary cells. */
static void who_keeps_up_stays_near(void **state)
{
    struct scene *s = *state;
    uint64_t      value;

    for (uint64_t behind = 0; behind < NEAR; behind++) {
        uint64_t sent = 0, got = 0;

        while (sent < 10 * NEAR) {
            for (; sent - got <= behind && sent - got < NEAR - 1; sent++)
                assert_true(put_plain(s, sent));
            assert_int_equal(take(s, NULL, &value), TERN_NQ_NO_PAYLOAD);
            assert_int_equal(value, got++);
        }
        for (; got < sent; got++)
            assert_int_equal(take(s, NULL, &value), TERN_NQ_NO_PAYLOAD);
    }
    assert_null(s->far);
    assert_false(is_shown(s));
}

/* The queue holds as many messages as primary and overflow cells at every position, and all arrive in order. */
static void there_is_room_for_all(void **state)
{
    struct scene *s = *state;
    uint64_t      sent = 0, got = 0, value;

    for (unsigned round = 0; round < 200; round++) {
        while (put_plain(s, sent))
            sent++;
        assert_non_null(s->far);
        assert_int_equal(sent - got, NEAR + FAR);
        assert_true(tern_base_wake_requested(&s->c.shared->producer_waits));
        assert_false(tern_base_wake_requested(&s->c.shared->producer_waits));
        for (uint64_t upto = round % 3 ? got + 1 + round * 7 % (NEAR + FAR) : sent; got < upto; got++) {
            assert_int_equal(take(s, NULL, &value), TERN_NQ_NO_PAYLOAD);
            assert_int_equal(value, got);
        }
        if (got == sent)
            assert_false(is_shown(s));
        assert_true(put_plain(s, sent++));
    }
}

/* No memory for overflow cells: the queue has only its primary cells. */
static void without_far_cells(void **state)
{
    struct scene *s = *state;
    uint64_t      sent = 0, got = 0, value;

    s->no_memory = true;
    for (unsigned round = 0; round < 50; round++) {
        while (put_plain(s, sent))
            sent++;
        assert_int_equal(sent - got, NEAR);
        for (uint64_t upto = got + 1 + round % NEAR; got < upto; got++) {
            assert_int_equal(take(s, NULL, &value), TERN_NQ_NO_PAYLOAD);
            assert_int_equal(value, got);
        }
    }
}

/* When a consumer that was away keeps up again, its messages use the primary cells again. */
static void it_comes_back(void **state)
{
    struct scene *s = *state;
    uint64_t      sent = 0, value;

    while (sent < NEAR + FAR / 4)
        assert_true(put_plain(s, sent++));
    assert_int_equal(s->p.at, TERN_NQ_OVERFLOW);
    while (take(s, NULL, &value) >= 0)
        ;
    assert_int_equal(s->c.at, TERN_NQ_OVERFLOW);
    for (unsigned i = 0; i < 2 * 16; i++) {
        assert_true(put_plain(s, sent++));
        assert_int_equal(take(s, NULL, &value), TERN_NQ_NO_PAYLOAD);
    }
    assert_int_equal(s->p.at, TERN_NQ_PRIMARY);
    assert_int_equal(s->c.at, TERN_NQ_PRIMARY);
}

/* ---- inline payload ---- */

static void the_consumer_places(void **state)
{
    struct scene *s = *state;

    for (uint64_t i = 0; i < 5 * NEAR; i++) {
        assert_true(put(s, &s->place[0], i + 1));
        assert_true(put_plain(s, 0));
        assert_false(tern_base_nq_flush(&s->p, false));
        assert_int_equal(take(s, &s->place[0], NULL), TERN_NQ_COPY);
        assert_true(tern_base_nq_flush(&s->p, false));
        assert_int_equal(s->place[0], i + 1);
        assert_int_equal(take(s, NULL, NULL), TERN_NQ_NO_PAYLOAD);
        assert_true(tern_base_nq_flush(&s->p, true));
    }
}

static void the_producer_places(void **state)
{
    struct scene *s = *state;

    for (uint64_t i = 0; i < 5 * NEAR; i++) {
        assert_true(put(s, &s->place[0], i + 1));
        assert_true(put_plain(s, 0));
        assert_true(put(s, &s->place[1], i + 2));
        assert_true(tern_base_nq_flush(&s->p, true));
        assert_int_equal(s->place[0], i + 1);
        assert_int_equal(s->place[1], i + 2);
        s->place[0] = s->place[1] = 99; /* written by others */
        assert_true(put(s, &s->place[2], i + 3));
        assert_true(tern_base_nq_flush(&s->p, true));
        assert_true(tern_base_nq_flush(&s->p, true));
        assert_int_equal(take(s, NULL, NULL), TERN_NQ_COPIED);
        assert_int_equal(take(s, NULL, NULL), TERN_NQ_NO_PAYLOAD);
        assert_int_equal(take(s, NULL, NULL), TERN_NQ_COPIED);
        assert_int_equal(take(s, NULL, NULL), TERN_NQ_COPIED);
        assert_int_equal(take(s, NULL, NULL), NONE);
        assert_int_equal(s->place[0], 99);
        assert_int_equal(s->place[1], 99);
        assert_int_equal(s->place[2], i + 3);
    }
}

/* An open cell still holds the inline payload of a message one lap ago. */
static void an_open_cell_carries_nothing(void **state)
{
    struct scene        *s = *state;
    struct tern_nq_claim place;

    for (unsigned i = 0; i < NEAR; i++) {
        assert_true(put(s, &s->place[0], 5));
        assert_int_equal(take(s, &s->place[0], NULL), TERN_NQ_COPY);
    }
    s->place[0] = 99;
    assert_true(tern_base_nq_reserve(&s->p, &place));
    assert_true(put(s, &s->place[1], 6));
    assert_true(tern_base_nq_flush(&s->p, true));
    assert_int_equal(s->place[0], 99);
    assert_int_equal(s->place[1], 6);
    assert_int_equal(take(s, NULL, NULL), NONE);
    tern_base_nq_publish(&place, 0);
    assert_int_equal(take(s, NULL, NULL), TERN_NQ_NO_PAYLOAD);
    assert_int_equal(take(s, NULL, NULL), TERN_NQ_COPIED);
}

static void who_is_at_it_is_waited_for(void **state)
{
    struct scene        *s = *state;
    const unsigned char *head;
    unsigned             kind;

    assert_true(put(s, &s->place[0], 5));
    assert_true(put(s, &s->place[1], 6));
    assert_int_equal(tern_base_nq_peek(&s->c, &head, &kind), 1);
    assert_int_equal(tern_base_nq_claim_payload(&s->c, kind), TERN_NQ_COPY);
    assert_false(tern_base_nq_flush(&s->p, true)); /* claimed, and no more */
    assert_int_equal(s->place[1], 0);
    memcpy(&s->place[0], head + 24, 8);
    consume(s, kind);
    assert_true(tern_base_wake_requested(&s->c.shared->producer_waits)); /* the producer may sleep until then */
    assert_int_equal(take(s, NULL, NULL), TERN_NQ_BUSY);                 /* the rest is up to the producer */
    assert_true(tern_base_nq_flush(&s->p, true));
    assert_int_equal(s->place[0], 5);
    assert_int_equal(s->place[1], 6);
    assert_int_equal(take(s, NULL, NULL), TERN_NQ_COPIED);
    assert_true(put(s, &s->place[0], 7)); /* the queue works as before */
    assert_int_equal(tern_base_nq_peek(&s->c, &head, &kind), 1);
    assert_int_equal(tern_base_nq_claim_payload(&s->c, kind), TERN_NQ_COPY);
    assert_false(tern_base_nq_flush(&s->p, true));
    tern_base_nq_unclaim_payload(&s->c); /* the consumer has no space for the message */
    assert_true(tern_base_wake_requested(&s->c.shared->producer_waits));
    assert_true(tern_base_nq_flush(&s->p, true));
    assert_int_equal(s->place[0], 7);
    assert_int_equal(take(s, NULL, NULL), TERN_NQ_COPIED);
}

/* A consumer that writes invalid values harms only itself. */
static void nonsense_ends(void **state)
{
    struct scene *s = *state;

    assert_true(put(s, &s->place[0], 5));
    atomic_store(&s->p.shared->done, UINT64_MAX);
    assert_true(tern_base_nq_flush(&s->p, true));
    for (unsigned i = 0; i < 3 * (NEAR + FAR); i++)
        (void)put(s, &s->place[0], i);
    atomic_store(&s->p.shared->done, 0);
    assert_true(tern_base_nq_flush(&s->p, true));
    for (unsigned i = 0; i < 3 * (NEAR + FAR); i++)
        (void)put(s, &s->place[0], i);
    assert_true(tern_base_nq_flush(&s->p, true));
}

/* A producer that writes values that no producer writes: "damaged". */
static void damaged_stamps(void **state)
{
    struct scene        *s = *state;
    const unsigned char *head;
    unsigned             kind;
    struct tern_nq_cell *cell = tern_base_nq_next(&s->c, 0);
    const uint64_t       bad[] = { tern_base_nq_stamp(1, 0),
                                   tern_base_nq_stamp(NEAR, 0),
                                   tern_base_nq_stamp(77, 3),
                                   tern_base_nq_stamp(0, TERN_NQ_KINDS),
                                   tern_base_nq_stamp(0, 0xff),
                                   tern_base_nq_stamp(0, TERN_NQ_RESTART),
                                   UINT64_MAX >> 8 };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        atomic_store(&cell->stamp, bad[i]);
        assert_true(is_shown(s));
        assert_int_equal(tern_base_nq_peek(&s->c, &head, &kind), -1);
    }
    atomic_store(&cell->stamp, 0);
    assert_false(is_shown(s));
    assert_int_equal(tern_base_nq_peek(&s->c, &head, &kind), 0);
    s->c.at = TERN_NQ_OVERFLOW; /* from there no message leads to the first overflow cell */
    assert_true(grow(&s->p));
    tern_base_nq_map_overflow(&s->c, s->far, FAR);
    atomic_store(&tern_base_nq_next(&s->c, 0)->stamp, tern_base_nq_stamp(0, TERN_NQ_SWITCH | TERN_NQ_RESTART));
    assert_int_equal(tern_base_nq_peek(&s->c, &head, &kind), -1);
}

/* ---- against a model ---- */

#define OPEN 3u

/* The outstanding messages, by number modulo more than there can be. */
struct model {
    struct {
        uint64_t value;
        int      to; /* place of the payload; -1: no inline payload */
        bool     skipped, open, placed;
    } sent[NEAR + FAR + 1];
    uint64_t             first, end; /* numbers, from 0 */
    uint64_t             place[PLACES];
    struct tern_nq_claim open[OPEN];
    uint64_t             open_number[OPEN];
    unsigned             opened;
};

#define AT(n) sent[(n) % (NEAR + FAR + 1)]

static void step_send(struct scene *s, struct model *m, unsigned dice)
{
    uint64_t value = m->end + 1000;
    int      to = dice % 8 < 4 ? (int)(dice / 8 % PLACES) : -1;
    bool     opens = to < 0 && dice % 3 == 0 && m->opened < OPEN, sent;

    if (opens)
        sent = tern_base_nq_reserve(&s->p, &m->open[m->opened]);
    else if (to >= 0 && dice % 5 > 0 && tern_base_nq_has_primary_cells(&s->p)) {
        tern_base_nq_push_word(&s->p, (const uint64_t[]){ value, 8, 9 }, &s->place[to], &value);
        sent = true;
    } else
        sent = to >= 0 ? put(s, &s->place[to], value) : put_plain(s, value);
    assert_true(sent || m->end - m->first >= FAR);
    if (!sent)
        return;
    m->AT(m->end).value = value;
    m->AT(m->end).to = to;
    m->AT(m->end).skipped = m->AT(m->end).placed = false;
    if ((m->AT(m->end).open = opens))
        m->open_number[m->opened++] = m->end;
    m->end++;
}

static void step_publish(struct model *m, unsigned dice)
{
    unsigned i = dice % (m->opened ? m->opened : 1);
    uint64_t number = m->open_number[i];

    if (m->opened == 0)
        return;
    m->AT(number).skipped = dice % 7 == 0;
    m->AT(number).open = false;
    if (!m->AT(number).skipped)
        memcpy(m->open[i].cell->head, &m->AT(number).value, sizeof(uint64_t));
    tern_base_nq_publish(&m->open[i], m->AT(number).skipped ? TERN_NQ_SKIP : 0);
    m->opened--;
    m->open[i] = m->open[m->opened];
    m->open_number[i] = m->open_number[m->opened];
}

static void step_take(struct scene *s, struct model *m)
{
    uint64_t value = 0;
    int      to = m->first < m->end ? m->AT(m->first).to : -1;
    int      turn = take(s, to >= 0 ? &s->place[to] : NULL, &value);

    if (m->first == m->end || m->AT(m->first).open) {
        assert_int_equal(turn, NONE);
        return;
    }
    if (m->AT(m->first).skipped) {
        assert_int_equal(turn, SKIPPED);
    } else {
        assert_int_equal(turn, to < 0 ? TERN_NQ_NO_PAYLOAD : m->AT(m->first).placed ? TERN_NQ_COPIED : TERN_NQ_COPY);
        assert_int_equal(value, m->AT(m->first).value);
        if (turn == TERN_NQ_COPY)
            m->place[to] = value;
    }
    m->first++;
}

static void step_settle(struct scene *s, struct model *m)
{
    assert_true(tern_base_nq_flush(&s->p, true));
    for (uint64_t n = m->first; n < m->end; n++) {
        if (m->AT(n).to >= 0 && !m->AT(n).placed)
            m->place[m->AT(n).to] = m->AT(n).value;
        m->AT(n).placed = true;
    }
}

static uint32_t next_dice(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static void random_streams(void **state)
{
    struct scene *s = *state;
    struct model  m = { .first = 0 };

    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t dice = seed;
        unsigned sends = 1 + next_dice(&dice) % 10, settles = next_dice(&dice) % 3;

        for (unsigned step = 0; step < 300; step++) {
            unsigned kind = next_dice(&dice) % 14;

            if (kind < sends)
                step_send(s, &m, next_dice(&dice));
            else if (kind == 11)
                step_publish(&m, next_dice(&dice));
            else if (kind == 12 && settles > 0)
                step_settle(s, &m);
            else if (kind == 13) /* other ranks write there; a payload in flight to that place may still arrive */
                s->place[0] = m.place[0] = step;
            else
                step_take(s, &m);
            if (memcmp(s->place, m.place, sizeof(m.place)) != 0)
                fail_msg("seed %d, step %u: a place has not what it should", (int)seed, step);
        }
    }
    while (m.opened > 0)
        step_publish(&m, 1);
    while (m.first < m.end)
        step_take(s, &m);
    assert_memory_equal(s->place, m.place, sizeof(m.place));
    assert_non_null(s->far);
}

#ifndef TERN_BASE_TSAN /* the sanitizer does not know the kernel's barrier */
#define ROUNDS 40000u

static _Atomic bool over;

static void *take_all(void *arg)
{
    struct scene *s = arg;

    while (!atomic_load_explicit(&over, memory_order_relaxed) || take(s, &s->place[0], NULL) >= 0)
        for (int looks = 0; take(s, &s->place[0], NULL) < 0 && looks < 100; looks++)
            if (looks == 99)
                sched_yield(); /* the producer may need the core */
    return NULL;
}

/* The producer sends a number as inline payload, flushes at once or after a moment, and stores the next number
 * itself. */
static void both_at_work(void **state)
{
    struct scene *s = *state;
    pthread_t     thread;

    assert_true(grow(&s->p)); /* the consumer is not told where the overflow cells are */
    tern_base_nq_map_overflow(&s->c, s->far, FAR);
    atomic_store(&over, false);
    assert_int_equal(pthread_create(&thread, NULL, take_all, s), 0);
    for (uint64_t i = 1; i <= ROUNDS; i += 2) {
        volatile uint64_t *place = &s->place[0];

        while (!put(s, &s->place[0], i))
            sched_yield();
        for (volatile uint64_t pause = i % 61; pause > 0; pause--)
            ;
        for (unsigned looks = 0; !tern_base_nq_flush(&s->p, i % 3 > 0); looks++)
            if (looks % 100 == 99)
                sched_yield(); /* the consumer may need the core */
        assert_int_equal(*place, i);
        *place = i + 1;
        for (volatile uint64_t pause = i % 97; pause > 0; pause--)
            ;
        assert_int_equal(*place, i + 1);
        if (i % 1001 == 0) /* more than the consumer keeps up with */
            for (unsigned n = 0; n < 3 * NEAR; n++)
                (void)put_plain(s, n);
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
}
#endif

#define TEST(name) cmocka_unit_test_setup_teardown(name, set, unset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sizes),
        TEST(who_keeps_up_stays_near),
        TEST(there_is_room_for_all),
        TEST(without_far_cells),
        TEST(it_comes_back),
        TEST(the_consumer_places),
        TEST(the_producer_places),
        TEST(an_open_cell_carries_nothing),
        TEST(who_is_at_it_is_waited_for),
        TEST(nonsense_ends),
        TEST(damaged_stamps),
        TEST(random_streams),
#ifndef TERN_BASE_TSAN
        TEST(both_at_work),
#endif
    };

    if (!tern_base_membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED))
        return 77; /* no such barrier here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
