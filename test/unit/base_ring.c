/* base_ring.c: the SPSC ring: messages come out as they went in.
 *
 * Promise: messages come out whole, once, and in the order in which they were reserved, whatever their lengths and
 * whatever the order in which they are published or dropped, also between threads; remains of earlier laps are never
 * mistaken for a message, also when the counters wrap. base_ring_space.c tests the capacity, base_ring_damage.c tests
 * damaged rings.
 */
#include "ring_test.h"

#include <pthread.h>
#include <sched.h>

/* The model's knowledge of a message. */
struct known {
    struct tern_ring_reservation space;
    bool                         open, skipped;
    uint64_t                     number;
    size_t                       len;
};
#define KNOWN 64u

struct model {
    struct pair  p;
    struct known known[KNOWN];
    uint64_t     sent, got, seed;
};

static void model_take(struct model *m)
{
    size_t       longest = tern_base_ring_max_data(m->p.shape), min, max;
    struct known k = { .number = m->sent, .open = true };

    min = random_next(&m->seed) % 4 == 0 ? 0 : random_next(&m->seed) % (random_next(&m->seed) % 2 ? 100 : longest + 1);
    min = min < longest ? min : longest;
    max = min + random_next(&m->seed) % 3 * (random_next(&m->seed) % 500);
    if (!tern_base_ring_reserve(&m->p.out, min, max, &k.space)) {
        assert_true(m->got < m->sent); /* an empty ring has space */
        return;
    }
    expect_space(&m->p, &k.space, min, max);
    m->known[m->sent++ % KNOWN] = k;
}

static void model_publish(struct model *m)
{
    struct known *k = &m->known[(m->got + random_next(&m->seed) % (m->sent - m->got)) % KNOWN];

    if (!k->open)
        return;
    k->len = random_next(&m->seed) % 3 ? k->space.len : random_next(&m->seed) % (k->space.len + 1);
    k->skipped = random_next(&m->seed) % 8 == 0;
    fill(&k->space, k->number); /* even a message that is not sent is written */
    if (k->skipped)
        tern_base_ring_skip(&k->space.claim);
    else
        tern_base_ring_publish(&k->space.claim, k->len);
    k->open = false;
}

/* The consumer sees exactly the published messages before the first open one. */
static void model_consume(struct model *m)
{
    struct tern_ring_item item;

    for (uint64_t most = random_next(&m->seed) % 8; most > 0 && m->got < m->sent; most--) {
        const struct known *k = &m->known[m->got % KNOWN];

        if (k->open) {
            assert_false(peek(&m->p, &item));
            return;
        }
        if (!k->skipped)
            expect(&m->p, k->len, k->number);
        m->got++;
    }
    if (m->got == m->sent)
        assert_false(peek(&m->p, &item));
}

static void random_pairs(struct pair (*make)(size_t))
{
    for (size_t lines = FEWEST_LINES; lines <= 250; lines += lines / 2) {
        struct model m = { .p = make(lines), .seed = 0x9e3779b97f4a7c15ull + lines };

        for (unsigned round = 0; round < ROUNDS; round++) {
            uint64_t what = random_next(&m.seed) % 4;

            if (what < 2 && m.sent - m.got < KNOWN)
                model_take(&m);
            else if (what == 2 && m.sent > m.got)
                model_publish(&m);
            else
                model_consume(&m);
        }
        assert_true(m.got > ROUNDS / 100);
        free(m.p.ring);
    }
}

static void random_against_model(void **state)
{
    (void)state;
    random_pairs(pair_make);
    random_pairs(pair_make_apart);
}

/* Promise: each cell is used once in a lap, and no two consecutive cells are neighbours. */
static void messages_lie_apart(void **state)
{
    (void)state;
    for (size_t lines = FEWEST_LINES; lines <= 600; lines += lines / 2) {
        struct pair            p = pair_make_apart(lines);
        struct tern_ring_cell *last = tern_base_ring_cell(p.ring, UINT64_MAX, p.shape);

        for (uint64_t i = 0; i < p.shape.cells; i++)
            tern_base_ring_cell(p.ring, i, p.shape)->len++;
        for (uint64_t i = 0; i < p.shape.cells; i++) {
            struct tern_ring_cell *cell = tern_base_ring_cell(p.ring, i, p.shape);

            assert_int_equal(p.ring->cell[i].len, 1);
            assert_true(p.shape.cells < 8 || labs(cell - last) > 1);
            last = cell;
        }
        free(p.ring);
    }
}

/* Reserved space that a message did not need is released with the message. */
static void space_without_data(void **state)
{
    struct pair                  p = pair_make(64);
    struct tern_ring_reservation space;
    struct tern_ring_item        item;

    (void)state;
    for (uint32_t i = 0; i < 10 * p.shape.cells; i++) {
        assert_true(tern_base_ring_reserve(&p.out, 1, p.shape.data / 2, &space));
        tern_base_ring_publish(&space.claim, 0);
        assert_int_equal(tern_base_ring_cell_len(space.claim.cell), 0);
        assert_int_equal(tern_base_ring_cell_span(space.claim.cell), space.claim.span);
        assert_int_equal(tern_base_ring_peek(&p.in, &item), 1);
        assert_int_equal(item.len, 0);
        assert_null(item.data);
        assert_int_equal(item.span, space.claim.span);
        tern_base_ring_consume(&p.in, item.span);
        assert_true(tern_base_ring_push(&p.out, i, NULL, 0, false));
        assert_int_equal(tern_base_ring_cell_span(tern_base_ring_cell(p.ring, p.in.next, p.shape)), 0);
        assert_int_equal(tern_base_ring_peek(&p.in, &item), 1);
        assert_int_equal(item.span, 0);
        tern_base_ring_consume(&p.in, item.span);
    }
    free(p.ring);
}

/* Short messages in cells that held messages with data before: for every length, no byte too many is read or
 * written. */
static void short_messages(void **state)
{
    struct pair                  p = pair_make_apart(64);
    struct tern_ring_reservation space;
    struct tern_ring_item        item;

    (void)state;
    for (size_t len = 0; len <= TERN_RING_HEAD - 2 * sizeof(uint64_t); len++) {
        unsigned char *from = malloc(len > 0 ? len : 1); /* so that the sanitizer sees an access past the end */

        assert_non_null(from);
        for (uint32_t i = 0; i < p.shape.cells; i++) {
            assert_true(tern_base_ring_reserve(&p.out, 60, 60, &space));
            fill(&space, i);
            memset(space.claim.cell->head, 0xdd, TERN_RING_HEAD);
            tern_base_ring_publish(&space.claim, 60);
            assert_int_equal(tern_base_ring_peek(&p.in, &item), 1);
            tern_base_ring_consume(&p.in, item.span);
        }
        for (uint32_t i = 0; i < p.shape.cells; i++) {
            const uint64_t words[2] = { 0x1122334455667788u + i, ~(uint64_t)len };

            memset(from, (int)(i + len), len);
            assert_true(tern_base_ring_has_cell(&p.out) || tern_base_ring_refresh(&p.out));
            tern_base_ring_push_short(&p.out, words[0], words[1], from, len);
            assert_int_equal(tern_base_ring_peek(&p.in, &item), 1);
            assert_int_equal(item.len, 0);
            assert_int_equal(item.span, 0);
            assert_null(item.data);
            assert_memory_equal(item.head, words, sizeof(words));
            assert_memory_equal(item.head + sizeof(words), from, len);
            for (size_t k = sizeof(words) + len; k < TERN_RING_HEAD; k++)
                assert_int_equal(item.head[k], 0xdd);
            tern_base_ring_consume(&p.in, item.span);
            expect_empty(&p);
        }
        free(from);
    }
    free(p.ring);
}

/* All orders in which four open messages can be published or dropped. */
static void published_in_any_order(void **state)
{
    struct pair p = pair_make(32);

    (void)state;
    for (unsigned order = 0; order < 256 * 16; order++) {
        unsigned                     at[4] = { order & 3, order >> 2 & 3, order >> 4 & 3, order >> 6 & 3 };
        unsigned                     skipped = order >> 8;
        bool                         first_is_open = true;
        struct tern_ring_reservation space[4];

        if ((1u << at[0] | 1u << at[1] | 1u << at[2] | 1u << at[3]) != 15)
            continue; /* not a permutation */
        for (unsigned i = 0; i < 4; i++)
            assert_true(tern_base_ring_reserve(&p.out, 60u * i, 60u * i, &space[i]));
        for (unsigned i = 0; i < 4; i++) {
            assert_true(is_shown(&p) != first_is_open); /* the first message holds up all others */
            fill(&space[at[i]], order + at[i]);
            if (skipped & 1u << at[i])
                tern_base_ring_skip(&space[at[i]].claim);
            else
                tern_base_ring_publish(&space[at[i]].claim, 60u * at[i]);
            first_is_open = first_is_open && at[i] != 0;
        }
        for (unsigned i = 0; i < 4; i++)
            if (!(skipped & 1u << i))
                expect(&p, 60u * i, order + i);
        expect_empty(&p);
    }
    free(p.ring);
}

/* Heads and data filled with one value, for every value that a mark can have: an open or old cell is never mistaken for
 * a message. */
static void bytes_like_marks(void **state)
{
    struct pair p = pair_make(FEWEST_LINES);

    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        const uint32_t lap = tern_base_ring_lap(p.out.next, p.shape), value[] = { lap, lap + 1, lap - 1, round % 256 };
        struct tern_ring_reservation space;

        assert_true(tern_base_ring_reserve(&p.out, round % 257, 512, &space));
        for (size_t i = 0; i < TERN_RING_HEAD; i += 4)
            memcpy(space.claim.cell->head + i, &value[round / 4 % 4], 4);
        for (size_t i = 0; i + 4 <= space.len; i += 4)
            memcpy(space.data + i, &value[round / 4 % 4], 4);
        expect_empty(&p); /* still open */
        fill(&space, round);
        tern_base_ring_publish(&space.claim, round % 257);
        expect(&p, round % 257, round);
        for (unsigned i = 0; i < p.shape.cells; i++)
            expect_empty(&p); /* the cells of the last lap are all still there */
    }
    free(p.ring);
}

/* The number of the lap, and the sums of bytes, may wrap. */
static void counters_wrap(void **state)
{
    struct pair p = pair_make(20);

    (void)state;
    p.out.next = p.in.next = p.out.cells_done = (uint64_t)(UINT32_MAX - 3) << p.shape.shift;
    atomic_store(&p.ring->cells_done, p.out.next);
    for (unsigned i = 0; i < p.shape.cells; i++)
        atomic_store(&p.ring->cell[i].mark, UINT32_MAX - 3); /* of the lap before */
    p.out.taken = p.in.data_done = p.out.data_done = UINT64_MAX - 64 * 10 + 1;
    atomic_store(&p.ring->data_done, p.out.taken);
    for (uint64_t i = 0; i < 10 * p.shape.cells; i++)
        pass_one(&p, i * 31 % tern_base_ring_max_data(p.shape), i);
    free(p.ring);
}

/* One consumer, and producers that share one end of the ring. The messages of each producer arrive in order. */
struct crowd {
    struct pair                  p;
    struct tern_ring_mp_producer shared;
    unsigned                     producers, each, skips; /* skips: out of ten */
};

struct member {
    struct crowd *crowd;
    uint64_t      who;
    pthread_t     thread;
};

static bool take_shared(struct crowd *c, size_t min, size_t max, struct tern_ring_reservation *space)
{
    bool alone = tern_base_biased_lock(&c->shared.lock);
    bool taken = tern_base_ring_reserve(&c->shared.producer, min, max, space);

    tern_base_biased_unlock(&c->shared.lock, alone);
    return taken;
}

static void *produce(void *arg)
{
    struct member *me = arg;
    struct crowd  *c = me->crowd;
    uint64_t       seed = 1 + me->who;

    for (uint64_t i = 0; i < c->each; i++) {
        size_t                       len = random_next(&seed) % 3 * (random_next(&seed) % 150);
        size_t                       max = len + random_next(&seed) % 2 * 100;
        struct tern_ring_reservation space;

        while (!take_shared(c, len, max, &space))
            sched_yield();
        fill(&space, i);
        if (random_next(&seed) % 10 < c->skips) { /* the producer drops the message and sends it later */
            tern_base_ring_skip(&space.claim);
            i--;
            continue;
        }
        memcpy(space.claim.cell->head, (uint64_t[]){ me->who, i, len }, 24);
        tern_base_ring_publish(&space.claim, len);
    }
    return NULL;
}

static void consume_all(struct crowd *c)
{
    uint64_t next[4] = { 0 }, left = (uint64_t)c->producers * c->each;

    while (left > 0) {
        struct tern_ring_item item;
        uint64_t              head[3];

        if (!peek(&c->p, &item)) {
            sched_yield();
            continue;
        }
        memcpy(head, item.head, 24);
        assert_true(head[0] < c->producers);
        assert_int_equal(head[1], next[head[0]]);
        assert_int_equal(head[2], item.len);
        for (size_t i = 24; i < TERN_RING_HEAD; i++)
            assert_int_equal(item.head[i], byte_of(head[1], i));
        for (size_t i = 0; i < item.len; i++)
            if (item.data[i] != byte_of(head[1] + 1, i))
                fail_msg("byte %zu of message %llu is wrong", i, (unsigned long long)head[1]);
        next[head[0]]++;
        tern_base_ring_consume(&c->p.in, item.span);
        left--;
    }
}

static void run_crowd(unsigned producers, size_t lines, unsigned skips)
{
    struct crowd c = {
        .p = pair_make(lines), .producers = producers, .each = ROUNDS / 4 / producers / (skips + 1), .skips = skips
    };
    struct member member[4];

    c.shared.producer = c.p.out;
    for (unsigned i = 0; i < producers; i++) {
        member[i] = (struct member){ .crowd = &c, .who = i };
        assert_int_equal(pthread_create(&member[i].thread, NULL, produce, &member[i]), 0);
    }
    consume_all(&c);
    for (unsigned i = 0; i < producers; i++)
        pthread_join(member[i].thread, NULL);
    free(c.p.ring);
}

static void two_threads(void **state)
{
    (void)state;
    run_crowd(1, FEWEST_LINES, 1);
    run_crowd(1, 256, 1);
}

/* Many more messages are dropped than sent while the consumer polls: this is no damage. */
static void mostly_given_up(void **state)
{
    (void)state;
    run_crowd(1, FEWEST_LINES, 9);
    run_crowd(2, FEWEST_LINES, 9);
}

static void many_producers(void **state)
{
    (void)state;
    run_crowd(4, FEWEST_LINES, 1);
    run_crowd(4, 128, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_against_model), cmocka_unit_test(published_in_any_order),
        cmocka_unit_test(bytes_like_marks),     cmocka_unit_test(counters_wrap),
        cmocka_unit_test(two_threads),          cmocka_unit_test(mostly_given_up),
        cmocka_unit_test(many_producers),       cmocka_unit_test(messages_lie_apart),
        cmocka_unit_test(short_messages),       cmocka_unit_test(space_without_data),
    };

    return cmocka_run_group_tests_name("rings", tests, NULL, NULL);
}
