/* base_carry.c: bytes that cells carry.
 *
 * Promise: when settling is done, what was carried is in its place, whether or not the consumer took the cell; a cell
 * that is taken later brings nothing with it; one that the consumer is at is waited for; what was in place before is
 * not put there again. With both sides at work, nothing that was put in its place by others after settling is ever
 * replaced.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/carry.h"
#include "base/sanitize.h"

#define CELLS 8

struct scene {
    struct tern_ring_producer p;
    struct tern_ring_consumer c;
    struct tern_carry         carry;
    void                     *memory;
    uint64_t                  place[2 * CELLS];
};

static int set(void **state)
{
    struct scene          *s = calloc(1, sizeof(*s));
    size_t                 bytes = tern_base_ring_bare_bytes(CELLS);
    struct tern_ring_shape shape = tern_base_ring_bare(bytes);

    assert_int_equal(shape.cells, CELLS);
    s->memory = aligned_alloc(64, bytes);
    memset(s->memory, 0, bytes);
    tern_base_ring_produce(&s->p, s->memory, shape);
    tern_base_ring_consume_from(&s->c, s->memory, shape);
    tern_base_carry_begin(&s->carry, calloc(CELLS, sizeof(struct tern_carry_load)));
    *state = s;
    return tern_base_carry_open() ? 0 : -1;
}

static int unset(void **state)
{
    struct scene *s = *state;

    free(s->carry.load);
    free(s->memory);
    free(s);
    return 0;
}

static bool put(struct scene *s, uint64_t *to, uint64_t value)
{
    const uint64_t words[TERN_CARRY_WORDS] = { 7, 8, 9 };

    return tern_base_carry_put(&s->p, &s->carry, words, to, &value, sizeof(value));
}

static bool put_plain(struct scene *s)
{
    return tern_base_ring_put(&s->p, 9, NULL, 0, false);
}

/* Take one cell as a consumer does; what turn it was, or -1: there was none. LATER: it stays. */
static int take(struct scene *s, uint64_t *to)
{
    struct tern_ring_item item;
    enum tern_carry_turn  turn;

    if (tern_base_ring_peek(&s->c, &item) != 1)
        return -1;
    turn = tern_base_carry_turn(&s->c, tern_base_ring_at(&item));
    if (turn == TERN_CARRY_LATER)
        return (int)turn;
    if (turn == TERN_CARRY_PLACE)
        memcpy(to, item.head + 24, 8);
    tern_base_ring_consume(&s->c, item.span);
    return (int)turn;
}

static void the_consumer_places(void **state)
{
    struct scene *s = *state;

    for (uint64_t i = 0; i < 5 * CELLS; i++) {
        assert_true(put(s, &s->place[0], i + 1));
        assert_true(put_plain(s));
        assert_false(tern_base_carry_settle(&s->p, &s->carry, false));
        assert_int_equal(take(s, &s->place[0]), TERN_CARRY_PLACE);
        assert_true(tern_base_carry_settle(&s->p, &s->carry, false));
        assert_int_equal(s->place[0], i + 1);
        assert_int_equal(take(s, NULL), TERN_CARRY_NOTHING);
        assert_true(tern_base_carry_settle(&s->p, &s->carry, true));
    }
}

static void the_producer_places(void **state)
{
    struct scene *s = *state;

    for (uint64_t i = 0; i < 5 * CELLS; i++) {
        assert_true(put(s, &s->place[0], i + 1));
        assert_true(put_plain(s));
        assert_true(put(s, &s->place[1], i + 2));
        assert_true(tern_base_carry_settle(&s->p, &s->carry, true));
        assert_int_equal(s->place[0], i + 1);
        assert_int_equal(s->place[1], i + 2);
        s->place[0] = s->place[1] = 99; /* by others */
        assert_true(put(s, &s->place[2], i + 3));
        assert_true(tern_base_carry_settle(&s->p, &s->carry, true));
        assert_true(tern_base_carry_settle(&s->p, &s->carry, true));
        assert_int_equal(take(s, NULL), TERN_CARRY_PLACED);
        assert_int_equal(take(s, NULL), TERN_CARRY_NOTHING);
        assert_int_equal(take(s, NULL), TERN_CARRY_PLACED);
        assert_int_equal(take(s, NULL), TERN_CARRY_PLACED);
        assert_int_equal(take(s, NULL), -1);
        assert_int_equal(s->place[0], 99);
        assert_int_equal(s->place[1], 99);
        assert_int_equal(s->place[2], i + 3);
    }
}

/* A cell that is open has what another one carried a lap ago. */
static void an_open_cell_carries_nothing(void **state)
{
    struct scene         *s = *state;
    struct tern_ring_room room;

    for (int i = 0; i < CELLS; i++) {
        assert_true(put(s, &s->place[0], 5));
        assert_int_equal(take(s, &s->place[0]), TERN_CARRY_PLACE);
    }
    s->place[0] = 99;
    assert_true(tern_base_ring_take(&s->p, 0, 0, &room));
    assert_true(put(s, &s->place[1], 6));
    assert_true(tern_base_carry_settle(&s->p, &s->carry, true));
    assert_int_equal(s->place[0], 99);
    assert_int_equal(s->place[1], 6);
    tern_base_ring_publish(&room.place, 0);
    assert_int_equal(take(s, NULL), TERN_CARRY_NOTHING);
    assert_int_equal(take(s, NULL), TERN_CARRY_PLACED);
}

static void who_is_at_it_is_waited_for(void **state)
{
    struct scene         *s = *state;
    struct tern_ring_item item;

    assert_true(put(s, &s->place[0], 5));
    assert_true(put(s, &s->place[1], 6));
    assert_int_equal(tern_base_ring_peek(&s->c, &item), 1);
    assert_int_equal(tern_base_carry_turn(&s->c, tern_base_ring_at(&item)), TERN_CARRY_PLACE);
    assert_false(tern_base_carry_settle(&s->p, &s->carry, true)); /* claimed, and no more */
    assert_int_equal(s->place[1], 0);
    memcpy(&s->place[0], item.head + 24, 8);
    tern_base_ring_consume(&s->c, item.span);
    assert_int_equal(take(s, NULL), TERN_CARRY_LATER); /* the rest is the producer's */
    assert_true(tern_base_carry_settle(&s->p, &s->carry, true));
    assert_int_equal(s->place[0], 5);
    assert_int_equal(s->place[1], 6);
    assert_int_equal(take(s, NULL), TERN_CARRY_PLACED);
    assert_true(put(s, &s->place[0], 7)); /* and all is as before */
    assert_int_equal(tern_base_ring_peek(&s->c, &item), 1);
    assert_int_equal(tern_base_carry_turn(&s->c, tern_base_ring_at(&item)), TERN_CARRY_PLACE);
    assert_false(tern_base_carry_settle(&s->p, &s->carry, true));
    tern_base_carry_undo(&s->c); /* it has no room for the message */
    assert_true(tern_base_carry_settle(&s->p, &s->carry, true));
    assert_int_equal(s->place[0], 7);
    assert_int_equal(take(s, NULL), TERN_CARRY_PLACED);
}

/* A consumer that writes nonsense harms itself. */
static void nonsense_ends(void **state)
{
    struct scene *s = *state;

    assert_true(put(s, &s->place[0], 5));
    atomic_store(&s->p.ring->cells_done, UINT64_MAX);
    assert_true(tern_base_carry_settle(&s->p, &s->carry, true));
    atomic_store(&s->p.ring->cells_done, 0);
    s->carry.end = 1ull << 40;
    s->p.next = 1ull << 40;
    assert_true(tern_base_carry_settle(&s->p, &s->carry, true));
}

#ifndef TERN_BASE_TSAN /* it knows no barrier by the kernel */
#define ROUNDS 40000u

static _Atomic bool over;

static void *consume(void *arg)
{
    struct scene *s = arg;

    while (!atomic_load_explicit(&over, memory_order_relaxed) || take(s, &s->place[0]) >= 0)
        for (int looks = 0; take(s, &s->place[0]) < 0 && looks < 100; looks++)
            if (looks == 99)
                sched_yield(); /* the producer may need the core */
    return NULL;
}

/* The producer carries a number, settles at once or after a moment, and puts the next one there itself. */
static void both_at_work(void **state)
{
    struct scene *s = *state;
    pthread_t     thread;

    atomic_store(&over, false);
    assert_int_equal(pthread_create(&thread, NULL, consume, s), 0);
    for (uint64_t i = 1; i <= ROUNDS; i += 2) {
        volatile uint64_t *place = &s->place[0];

        while (!put(s, &s->place[0], i))
            sched_yield();
        for (volatile uint64_t pause = i % 61; pause > 0; pause--)
            ;
        for (unsigned looks = 0; !tern_base_carry_settle(&s->p, &s->carry, i % 3 > 0); looks++)
            if (looks % 100 == 99)
                sched_yield(); /* the consumer may need the core */
        assert_int_equal(*place, i);
        *place = i + 1;
        for (volatile uint64_t pause = i % 97; pause > 0; pause--)
            ;
        assert_int_equal(*place, i + 1);
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
}
#endif

#define TEST(name) cmocka_unit_test_setup_teardown(name, set, unset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_consumer_places),
        TEST(the_producer_places),
        TEST(an_open_cell_carries_nothing),
        TEST(who_is_at_it_is_waited_for),
        TEST(nonsense_ends),
#ifndef TERN_BASE_TSAN
        TEST(both_at_work),
#endif
    };

    if (!tern_base_carry_open())
        return 77; /* no such barrier here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
