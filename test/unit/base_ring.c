/* base_ring.c: the queue between one producer and one consumer.
 *
 * Promise: messages come out whole, once, in the order in which they were taken, whatever their lengths, wherever the
 * ring wraps, in whatever order they are published; what earlier laps left is never taken for a message; a ring that is
 * full, of cells or of data, says so and changes nothing; a message of the longest length finds room in every empty
 * ring; memory that makes no sense, on either side, is told or passed over, never followed out of the ring, and never
 * without end. The data ends where the memory does, so that the address sanitizer sees a byte too far.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/ring.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS 20000u
#else
#define ROUNDS 200000u
#endif

/* Both sides of a ring in one process. */
struct pair {
    struct tern_ring         *ring;
    size_t                    bytes;
    struct tern_ring_shape    shape;
    struct tern_ring_producer out;
    struct tern_ring_consumer in;
};

static struct pair pair_make(size_t lines)
{
    size_t      bytes = lines * TERN_RING_LINE;
    struct pair p = { .ring = aligned_alloc(TERN_RING_LINE, bytes),
                      .bytes = bytes,
                      .shape = tern_base_ring_shape(bytes) };

    assert_non_null(p.ring);
    assert_true(p.shape.cells > 0);
    memset(p.ring, 0xee, bytes); /* the data may hold anything */
    memset(p.ring, 0, sizeof(*p.ring) + p.shape.cells * sizeof(struct tern_ring_cell));
    tern_base_ring_produce(&p.out, p.ring, p.shape);
    tern_base_ring_consume_from(&p.in, p.ring, p.shape);
    return p;
}

static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * 2685821657736338717ull;
}

static unsigned char byte_of(uint64_t number, size_t at)
{
    return (unsigned char)(1 + (number * 7 + at * 3 + at / 64) % 255); /* never 0: each looks like a mark */
}

/* All that a message may carry: its head, and as much data as there is room for. */
static void fill(const struct tern_ring_room *room, uint64_t number)
{
    for (size_t i = 0; i < TERN_RING_HEAD; i++)
        room->cell->head[i] = byte_of(number, i);
    for (size_t i = 0; i < room->len; i++)
        room->data[i] = byte_of(number + 1, i);
}

static const struct tern_ring_cell *peek(struct pair *p, const unsigned char **data)
{
    bool                         damaged = false;
    const struct tern_ring_cell *cell = tern_base_ring_peek(&p->in, data, &damaged);

    assert_false(damaged);
    return cell;
}

/* The oldest message is this one; and away with it. */
static void expect(struct pair *p, size_t len, uint64_t number)
{
    const unsigned char         *data = NULL;
    const struct tern_ring_cell *cell = peek(p, &data);

    assert_non_null(cell);
    assert_int_equal(cell->len, len);
    assert_true((data != NULL) == (len > 0));
    for (size_t i = 0; i < TERN_RING_HEAD; i++)
        if (cell->head[i] != byte_of(number, i))
            fail_msg("byte %zu of the head of message %llu is wrong", i, (unsigned long long)number);
    for (size_t i = 0; i < len; i++)
        if (data[i] != byte_of(number + 1, i))
            fail_msg("byte %zu of message %llu is wrong", i, (unsigned long long)number);
    tern_base_ring_consume(&p->in, cell);
}

static void expect_empty(struct pair *p)
{
    const unsigned char *data;

    assert_null(peek(p, &data));
    assert_false(tern_base_ring_ready(&p->in));
}

/* Room is what was asked for, and lies in the data of the ring. */
static void expect_room(const struct pair *p, const struct tern_ring_room *room, size_t min, size_t max)
{
    const unsigned char *begin = (const unsigned char *)&p->ring->cell[p->shape.cells];

    assert_true(room->cell >= p->ring->cell && room->cell < p->ring->cell + p->shape.cells);
    assert_true(room->len >= min && room->len <= max);
    if (max == 0)
        assert_null(room->data);
    else
        assert_true(room->data >= begin && room->data + room->len <= (unsigned char *)p->ring + p->bytes);
}

/* One message with len bytes of data through an empty ring. */
static void pass_one(struct pair *p, size_t len, uint64_t number)
{
    struct tern_ring_room room;

    assert_true(tern_base_ring_take(&p->out, len, len, &room));
    expect_room(p, &room, len, len);
    expect_empty(p);
    fill(&room, number);
    tern_base_ring_publish(room.cell, len);
    assert_true(tern_base_ring_ready(&p->in));
    expect(p, len, number);
    expect_empty(p);
}

#define FEWEST_LINES 13u /* of which the first says how far the consumer is */

static void sizes(void **state)
{
    (void)state;
    assert_int_equal(tern_base_ring_shape(0).cells, 0);
    assert_int_equal(tern_base_ring_shape(FEWEST_LINES * TERN_RING_LINE - 1).cells, 0);
    for (size_t bytes = FEWEST_LINES * TERN_RING_LINE; bytes < 1u << 30; bytes += bytes / 5) {
        struct tern_ring_shape shape = tern_base_ring_shape(bytes);
        size_t used = sizeof(struct tern_ring) + shape.cells * sizeof(struct tern_ring_cell) + shape.data;

        assert_true(shape.cells >= 4 && shape.cells == 1u << shape.shift);
        assert_int_equal(shape.data % TERN_RING_LINE, 0);
        assert_true(used <= bytes && bytes - used < TERN_RING_LINE); /* all of it, and no more */
        assert_true(shape.data >= bytes / 2);
        assert_true(tern_base_ring_longest(shape) >= TERN_RING_LINE && tern_base_ring_longest(shape) <= shape.data / 2);
    }
    assert_true(tern_base_ring_shape(SIZE_MAX).data < TERN_RING_SKIP); /* what a cell's len can say */
}

/* Leave one message open that ends where start says, and all other data free; nothing is in the ring before. */
static void stand_at(struct pair *p, uint32_t start, struct tern_ring_room *open)
{
    uint32_t              before = (start > 0 ? start : p->shape.data) - TERN_RING_LINE;
    struct tern_ring_room room;

    pass_one(p, p->shape.data, 0); /* now the producer stands at the beginning */
    assert_true(tern_base_ring_take(&p->out, before, before, &room));
    assert_true(tern_base_ring_take(&p->out, 1, 1, open));
    fill(&room, 0);
    fill(open, 1);
    tern_base_ring_publish(room.cell, before);
    expect(p, before, 0);
    expect_empty(p);
    assert_int_equal(p->out.at, start);
}

/* One of len bytes behind that: before the end of the data, or at its beginning, or not yet. */
static void wrap_one(struct pair *p, uint32_t start, size_t len)
{
    struct tern_ring_room open, room;
    size_t                need = (len + TERN_RING_LINE - 1) / TERN_RING_LINE * TERN_RING_LINE;
    size_t behind = start > 0 ? p->shape.data - start : 0, before = p->shape.data - TERN_RING_LINE - behind;
    bool   taken;

    stand_at(p, start, &open);
    taken = tern_base_ring_take(&p->out, len, len, &room);
    assert_true(taken == (need <= behind || need <= before));
    if (taken) {
        expect_room(p, &room, len, len);
        fill(&room, start + 2);
        tern_base_ring_publish(room.cell, len);
        expect_empty(p);
    }
    tern_base_ring_publish(open.cell, 1);
    expect(p, 1, 1);
    if (taken)
        expect(p, len, start + 2);
    else
        pass_one(p, len, start + 2); /* now */
    expect_empty(p);
}

/* Every length in lines at every position of the data, one byte less, one more. */
static void wraps_everywhere(void **state)
{
    (void)state;
    for (size_t lines = FEWEST_LINES; lines <= 80; lines += lines / 3) {
        struct pair p = pair_make(lines);

        for (uint32_t start = 0; start < p.shape.data; start += TERN_RING_LINE) {
            for (size_t len = TERN_RING_LINE; len < p.shape.data; len += TERN_RING_LINE) {
                wrap_one(&p, start, len - 1);
                wrap_one(&p, start, len);
                wrap_one(&p, start, len + 1);
            }
        }
        free(p.ring);
    }
}

/* The longest, and even all of the data, wherever an empty ring stands; one byte more never. */
static void longest_fits_always(void **state)
{
    (void)state;
    for (size_t lines = FEWEST_LINES; lines <= 300; lines += lines / 4) {
        struct pair           p = pair_make(lines);
        struct tern_ring_room room;

        for (uint64_t start = 0; start < 3 * lines; start++) {
            pass_one(&p, tern_base_ring_longest(p.shape), start);
            pass_one(&p, start % 200, start);
            pass_one(&p, p.shape.data, start);
            pass_one(&p, 64 * start % p.shape.data, start);
            assert_false(tern_base_ring_take(&p.out, p.shape.data + 1, SIZE_MAX, &room));
            assert_false(tern_base_ring_take(&p.out, SIZE_MAX, SIZE_MAX, &room));
            expect_empty(&p);
        }
        free(p.ring);
    }
}

/* A full ring says so, and neither it nor the producer changes but for the wish that the consumer tell. */
static void expect_full(struct pair *p, size_t min, size_t max, void *copy)
{
    struct tern_ring_producer as_was = p->out;
    struct tern_ring_room     room;

    memcpy(copy, p->ring, p->bytes);
    assert_false(tern_base_ring_take(&p->out, min, max, &room));
    assert_memory_equal((char *)copy + sizeof(*p->ring), p->ring->cell, p->bytes - sizeof(*p->ring));
    assert_int_equal(as_was.next, p->out.next);
    assert_int_equal(as_was.taken, p->out.taken);
    assert_int_equal(as_was.at, p->out.at);
    assert_true(tern_base_ring_wanted(&p->in)); /* the consumer knows, once */
    assert_false(tern_base_ring_wanted(&p->in));
}

/* Until it is full; then nothing changes; then there is room for as many as have gone. */
static void fill_and_drain(size_t len, uint64_t capacity)
{
    struct pair           p = pair_make(61);
    void                 *copy = malloc(p.bytes);
    struct tern_ring_room room;
    uint64_t              sent = 0, got = 0;

    for (uint64_t round = 0; round < 200; round++) {
        while (tern_base_ring_take(&p.out, len, len, &room)) {
            fill(&room, sent);
            tern_base_ring_publish(room.cell, len);
            sent++;
        }
        assert_true(tern_base_ring_wanted(&p.in));
        assert_int_equal(sent - got, capacity);
        expect_full(&p, len, len, copy);
        expect_full(&p, len, SIZE_MAX, copy);
        if (capacity < p.shape.cells) { /* data is what is missing: short ones pass */
            assert_true(tern_base_ring_take(&p.out, 0, 0, &room));
            tern_base_ring_skip(room.cell);
        } else {
            expect_full(&p, 0, 0, copy);
        }
        for (uint64_t i = 0; i <= round % capacity; i++)
            expect(&p, len, got++);
    }
    while (got < sent)
        expect(&p, len, got++);
    expect_empty(&p);
    free(copy);
    free(p.ring);
}

static void full_ring(void **state)
{
    struct tern_ring_shape shape = tern_base_ring_shape(61 * TERN_RING_LINE); /* 60 lines: 8 cells, 52 of data */

    (void)state;
    assert_int_equal(shape.cells, 8);
    assert_int_equal(shape.data, 52 * TERN_RING_LINE);
    fill_and_drain(0, 8);
    fill_and_drain(1, 8);
    fill_and_drain(6 * TERN_RING_LINE, 8);
    fill_and_drain(13 * TERN_RING_LINE, 4);
    fill_and_drain(26 * TERN_RING_LINE, 2);
    fill_and_drain(52 * TERN_RING_LINE, 1);
}

/* What a wish brings: at least the minimum, at most the maximum, as much as there is in between. */
static void wishes(void **state)
{
    static const size_t most[] = { 0,
                                   1,
                                   64,
                                   65,
                                   1000,
                                   1 << 20,
                                   SIZE_MAX / 2,
                                   SIZE_MAX - 200,
                                   SIZE_MAX - 71,
                                   SIZE_MAX - 64,
                                   SIZE_MAX - 63,
                                   SIZE_MAX - 8,
                                   SIZE_MAX - 1,
                                   SIZE_MAX };

    (void)state;
    for (size_t m = 0; m < sizeof(most) / sizeof(most[0]); m++) {
        struct pair p = pair_make(32);

        for (uint64_t start = 0; start < 100; start++) {
            for (size_t min = 0; min <= p.shape.data && min <= most[m]; min += 37) {
                struct tern_ring_room room, more;

                assert_true(tern_base_ring_take(&p.out, min, most[m], &room));
                expect_room(&p, &room, min, most[m]);
                assert_int_equal(room.len, most[m] < p.shape.data ? most[m] : p.shape.data); /* all, in an empty ring */
                fill(&room, start);
                tern_base_ring_publish(room.cell, room.len);
                if (tern_base_ring_take(&p.out, min, most[m], &more)) { /* and what is left, in another */
                    expect_room(&p, &more, min, most[m]);
                    fill(&more, start + 1);
                    tern_base_ring_publish(more.cell, more.len);
                } else
                    more.cell = NULL;
                expect(&p, room.len, start);
                if (more.cell)
                    expect(&p, more.len, start + 1);
                expect_empty(&p);
            }
            pass_one(&p, start % 300, start);
        }
        free(p.ring);
    }
}

/* What the model knows of a message. */
struct known {
    struct tern_ring_room room;
    bool                  open, skipped;
    uint64_t              number;
    size_t                len;
};
#define KNOWN 64u

struct model {
    struct pair  p;
    struct known known[KNOWN];
    uint64_t     sent, got, seed;
};

static void model_take(struct model *m)
{
    size_t       longest = tern_base_ring_longest(m->p.shape), min, max;
    struct known k = { .number = m->sent, .open = true };

    min = random_next(&m->seed) % 4 == 0 ? 0 : random_next(&m->seed) % (random_next(&m->seed) % 2 ? 100 : longest + 1);
    min = min < longest ? min : longest;
    max = min + random_next(&m->seed) % 3 * (random_next(&m->seed) % 500);
    if (!tern_base_ring_take(&m->p.out, min, max, &k.room)) {
        assert_true(m->got < m->sent); /* an empty ring has room */
        return;
    }
    expect_room(&m->p, &k.room, min, max);
    m->known[m->sent++ % KNOWN] = k;
}

static void model_publish(struct model *m)
{
    struct known *k = &m->known[(m->got + random_next(&m->seed) % (m->sent - m->got)) % KNOWN];

    if (!k->open)
        return;
    k->len = random_next(&m->seed) % 3 ? k->room.len : random_next(&m->seed) % (k->room.len + 1);
    k->skipped = random_next(&m->seed) % 8 == 0;
    fill(&k->room, k->number); /* even what is not sent is written */
    if (k->skipped)
        tern_base_ring_skip(k->room.cell);
    else
        tern_base_ring_publish(k->room.cell, k->len);
    k->open = false;
}

/* The consumer sees exactly the published messages before the first open one. */
static void model_consume(struct model *m)
{
    const unsigned char *data;

    for (uint64_t most = random_next(&m->seed) % 8; most > 0 && m->got < m->sent; most--) {
        const struct known *k = &m->known[m->got % KNOWN];

        if (k->open) {
            assert_null(peek(&m->p, &data));
            return;
        }
        if (!k->skipped)
            expect(&m->p, k->len, k->number);
        m->got++;
    }
    if (m->got == m->sent)
        assert_null(peek(&m->p, &data));
}

static void random_against_model(void **state)
{
    (void)state;
    for (size_t lines = FEWEST_LINES; lines <= 250; lines += lines / 2) {
        struct model m = { .p = pair_make(lines), .seed = 0x9e3779b97f4a7c15ull + lines };

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

/* All orders in which four open messages can be published or given up. */
static void published_in_any_order(void **state)
{
    struct pair p = pair_make(32);

    (void)state;
    for (unsigned order = 0; order < 256 * 16; order++) {
        unsigned              at[4] = { order & 3, order >> 2 & 3, order >> 4 & 3, order >> 6 & 3 };
        unsigned              skipped = order >> 8;
        bool                  first_is_open = true;
        struct tern_ring_room room[4];

        if ((1u << at[0] | 1u << at[1] | 1u << at[2] | 1u << at[3]) != 15)
            continue; /* no order */
        for (unsigned i = 0; i < 4; i++)
            assert_true(tern_base_ring_take(&p.out, 60u * i, 60u * i, &room[i]));
        for (unsigned i = 0; i < 4; i++) {
            assert_true(tern_base_ring_ready(&p.in) != first_is_open); /* the first holds all up */
            fill(&room[at[i]], order + at[i]);
            if (skipped & 1u << at[i])
                tern_base_ring_skip(room[at[i]].cell);
            else
                tern_base_ring_publish(room[at[i]].cell, 60u * at[i]);
            first_is_open = first_is_open && at[i] != 0;
        }
        for (unsigned i = 0; i < 4; i++)
            if (!(skipped & 1u << i))
                expect(&p, 60u * i, order + i);
        expect_empty(&p);
    }
    free(p.ring);
}

/* Heads and data of one value, all that a mark could be: what is open or old is never taken for a message. */
static void bytes_like_marks(void **state)
{
    struct pair p = pair_make(FEWEST_LINES);

    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        const uint32_t lap = tern_base_ring_lap(p.out.next, p.shape), value[] = { lap, lap + 1, lap - 1, round % 256 };
        struct tern_ring_room room;

        assert_true(tern_base_ring_take(&p.out, round % 257, 512, &room));
        for (size_t i = 0; i < TERN_RING_HEAD; i += 4)
            memcpy(room.cell->head + i, &value[round / 4 % 4], 4);
        for (size_t i = 0; i + 4 <= room.len; i += 4)
            memcpy(room.data + i, &value[round / 4 % 4], 4);
        expect_empty(&p); /* still open */
        fill(&room, round);
        tern_base_ring_publish(room.cell, round % 257);
        expect(&p, round % 257, round);
        for (unsigned i = 0; i < p.shape.cells; i++)
            expect_empty(&p); /* the cells of the last lap are all there */
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
    p.out.taken = p.in.data_done = p.out.data_done = UINT64_MAX - 64 * 10 + 1;
    atomic_store(&p.ring->data_done, p.out.taken);
    for (uint64_t i = 0; i < 10 * p.shape.cells; i++)
        pass_one(&p, i * 31 % tern_base_ring_longest(p.shape), i);
    free(p.ring);
}

/* Cells that no producer writes, at every position. */
static void damage_is_told(void **state)
{
    struct pair          p = pair_make(32);
    const uint32_t       data = p.shape.data, none = UINT32_MAX;
    const unsigned char *at;
    const uint32_t       bad[][3] = {
              /* len, at, span */
        { 65, 0, 64 },         { 1, 0, 0 },           { none - 1, 0, 64 },       { none - 1, 0, none },
        { none - 1, 2, none }, { data + 1, 0, data }, { data + 1, 0, data + 1 }, { 64, data, 64 },
        { 64, data - 63, 64 }, { 1, data, 64 },       { 64, none, 64 },          { 64, none - 63, 64 },
        { 1, none, 1 },        { data, 1, data },     { 64, 0, data + 1 },       { 64, 0, none },
        { 0, 0, data + 1 },    { 0, 0, none },        { none, 0, data + 1 },     { none, 0, none }
    };

    (void)state;
    for (uint32_t cell = 0; cell < p.shape.cells; cell++) {
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
            bool damaged = false;

            p.in.next = cell;
            p.ring->cell[cell].len = bad[i][0];
            p.ring->cell[cell].at = bad[i][1];
            p.ring->cell[cell].span = bad[i][2];
            atomic_store(&p.ring->cell[cell].mark, 1);
            assert_null(tern_base_ring_peek(&p.in, &at, &damaged));
            assert_true(damaged);
            assert_int_equal(p.in.next, cell);
            assert_int_equal(p.in.data_done, 0);
        }
    }
    free(p.ring);
}

/* A mark of another lap, old or to come, is no message, whatever the cell says. */
static void other_laps(void **state)
{
    static const uint32_t other[] = { 0, 1, 4, 6, 5 + (1u << 31), UINT32_MAX - 1, UINT32_MAX };
    struct pair           p = pair_make(32);

    (void)state;
    for (uint32_t cell = 0; cell < p.shape.cells; cell++) {
        for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
            p.in.next = cell + 4 * p.shape.cells; /* lap 5 */
            p.ring->cell[cell].len = p.ring->cell[cell].at = p.ring->cell[cell].span = UINT32_MAX - 1;
            atomic_store(&p.ring->cell[cell].mark, other[i]);
            expect_empty(&p);
        }
    }
    free(p.ring);
}

/* A ring that says "skip" all round has an end, too, and so has one where the producer goes on doing so. */
static void circles_end(void **state)
{
    struct pair          p = pair_make(32);
    bool                 damaged = false;
    const unsigned char *data;

    (void)state;
    for (unsigned i = 0; i < p.shape.cells; i++) {
        p.ring->cell[i].len = TERN_RING_SKIP;
        atomic_store(&p.ring->cell[i].mark, 1);
    }
    alarm(20);
    assert_null(tern_base_ring_peek(&p.in, &data, &damaged));
    assert_false(damaged);
    assert_int_equal(p.in.next, p.shape.cells);
    alarm(0);
    free(p.ring);
}

/* Whatever is there, a consumer stays in the ring. */
static void random_damage(void **state)
{
    struct pair          p = pair_make(64);
    uint64_t             seed = 99;
    unsigned             sum = 0;
    const unsigned char *data = NULL;

    (void)state;
    for (unsigned round = 0; round < ROUNDS / 4; round++) {
        uint32_t                     most = round % 2 ? 2 * p.shape.data : UINT32_MAX;
        bool                         damaged = false;
        const struct tern_ring_cell *cell;

        for (unsigned i = 0; i < p.shape.cells; i++) {
            p.ring->cell[i].len = random_next(&seed) % 4 ? (uint32_t)(random_next(&seed) % most) : TERN_RING_SKIP;
            p.ring->cell[i].at = (uint32_t)(random_next(&seed) % most);
            p.ring->cell[i].span = (uint32_t)(random_next(&seed) % most);
            atomic_store(&p.ring->cell[i].mark,
                         tern_base_ring_lap(p.in.next, p.shape) + (uint32_t)(random_next(&seed) % 8 < 2));
        }
        for (int i = 0; i < 40 && (cell = tern_base_ring_peek(&p.in, &data, &damaged)); i++) {
            assert_true(cell >= p.ring->cell && cell < p.ring->cell + p.shape.cells);
            assert_true((data != NULL) == (cell->len > 0));
            if (cell->len > 0)
                sum += (unsigned)data[0] + data[cell->len - 1];
            tern_base_ring_consume(&p.in, cell);
        }
        if (damaged)
            p.in.next += random_next(&seed) % 2;
    }
    assert_true(sum != 1); /* so that the bytes are really read */
    free(p.ring);
}

/* Whatever a consumer says it has done, a producer writes in the ring only, and gets what it asked for or nothing. */
static void lying_consumer(void **state)
{
    struct pair p = pair_make(64);
    uint64_t    seed = 7;

    (void)state;
    for (unsigned round = 0; round < ROUNDS / 4; round++) {
        size_t                min = random_next(&seed) % (p.shape.data + 1u), max = min + random_next(&seed) % 300;
        uint64_t              spread = round % 2 ? 4 * p.shape.data : UINT64_MAX;
        struct tern_ring_room room;

        atomic_store(&p.ring->cells_done, p.out.next - random_next(&seed) % (round % 3 ? 9 : UINT64_MAX));
        atomic_store(&p.ring->data_done, p.out.taken + p.shape.data - random_next(&seed) % spread);
        if (round % 5 == 0) /* one byte at the beginning, for who looks at 32 bits of it */
            atomic_store(&p.ring->data_done, p.out.taken - p.out.at + (1ull << 32) + 1);
        p.out.cells_done = p.out.next - p.shape.cells; /* look again */
        if (!tern_base_ring_take(&p.out, min, max, &room))
            continue;
        expect_room(&p, &room, min, max);
        fill(&room, round);
        tern_base_ring_publish(room.cell, room.len);
    }
    free(p.ring);
}

/* One consumer, and producers that share an outlet; each producer's messages come in its order. */
struct crowd {
    struct pair             p;
    struct tern_ring_outlet outlet;
    unsigned                producers, each, skips; /* skips: of ten */
};

struct member {
    struct crowd *crowd;
    uint64_t      who;
    pthread_t     thread;
};

static void *produce(void *arg)
{
    struct member *me = arg;
    struct crowd  *c = me->crowd;
    uint64_t       seed = 1 + me->who;

    for (uint64_t i = 0; i < c->each; i++) {
        size_t                len = random_next(&seed) % 3 * (random_next(&seed) % 150);
        size_t                max = len + random_next(&seed) % 2 * 100;
        struct tern_ring_room room;

        while (!(c->producers > 1 ? tern_base_ring_outlet_take(&c->outlet, len, max, &room)
                                  : tern_base_ring_take(&c->p.out, len, max, &room)))
            sched_yield();
        fill(&room, i);
        if (random_next(&seed) % 10 < c->skips) { /* thought better of it, and sends it after all */
            tern_base_ring_skip(room.cell);
            i--;
            continue;
        }
        memcpy(room.cell->head, (uint64_t[]){ me->who, i, len }, 24);
        tern_base_ring_publish(room.cell, len);
    }
    return NULL;
}

static void consume_all(struct crowd *c)
{
    uint64_t next[4] = { 0 }, left = (uint64_t)c->producers * c->each;

    while (left > 0) {
        const unsigned char         *data = NULL;
        const struct tern_ring_cell *cell = peek(&c->p, &data);
        uint64_t                     head[3];

        if (!cell) {
            sched_yield();
            continue;
        }
        memcpy(head, cell->head, 24);
        assert_true(head[0] < c->producers);
        assert_int_equal(head[1], next[head[0]]);
        assert_int_equal(head[2], cell->len);
        for (size_t i = 24; i < TERN_RING_HEAD; i++)
            assert_int_equal(cell->head[i], byte_of(head[1], i));
        for (size_t i = 0; i < cell->len; i++)
            if (data[i] != byte_of(head[1] + 1, i))
                fail_msg("byte %zu of message %llu is wrong", i, (unsigned long long)head[1]);
        next[head[0]]++;
        tern_base_ring_consume(&c->p.in, cell);
        left--;
    }
}

static void run_crowd(unsigned producers, size_t lines, unsigned skips)
{
    struct crowd c = {
        .p = pair_make(lines), .producers = producers, .each = ROUNDS / 4 / producers / (skips + 1), .skips = skips
    };
    struct member member[4];

    c.outlet.producer = c.p.out;
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

/* Many more are given up than sent, while the consumer looks: that is no damage. */
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
        cmocka_unit_test(sizes),
        cmocka_unit_test(wraps_everywhere),
        cmocka_unit_test(longest_fits_always),
        cmocka_unit_test(full_ring),
        cmocka_unit_test(wishes),
        cmocka_unit_test(random_against_model),
        cmocka_unit_test(published_in_any_order),
        cmocka_unit_test(bytes_like_marks),
        cmocka_unit_test(counters_wrap),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(other_laps),
        cmocka_unit_test(circles_end),
        cmocka_unit_test(random_damage),
        cmocka_unit_test(lying_consumer),
        cmocka_unit_test(two_threads),
        cmocka_unit_test(mostly_given_up),
        cmocka_unit_test(many_producers),
    };

    return cmocka_run_group_tests_name("rings", tests, NULL, NULL);
}
