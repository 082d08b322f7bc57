/* base_ring_space.c: the capacity of a ring: its sizes, the positions of messages, and when the ring is full.
 *
 * Promise: a message of any length finds space wherever the ring wraps, as soon as there is enough; a message of the
 * maximum length fits into every empty ring; a reservation gets at least its minimum and as much as there is up to its
 * maximum; a ring that is full of cells or of data reports this and does not change.
 *
 * builds: release debug asan
 */
#include "base/wake_request.h"
#include "ring_test.h"

/* A long ring has at least as many cells as another ring in the same memory, and space for longer messages than its
 * cells. */
static void long_shapes(void **state)
{
    (void)state;
    assert_int_equal(tern_base_ring_shape_long(FEWEST_LINES * TERN_RING_LINE - 1).cells, 0);
    for (size_t bytes = FEWEST_LINES * TERN_RING_LINE; bytes < 1u << 30; bytes += bytes / 5) {
        struct tern_ring_shape shape = tern_base_ring_shape_long(bytes), other = tern_base_ring_shape(bytes);
        size_t used = sizeof(struct tern_ring) + shape.cells * sizeof(struct tern_ring_cell) + shape.data;

        assert_true(shape.cells >= other.cells && shape.cells == 1u << shape.shift);
        assert_true(used <= bytes && bytes - used < TERN_RING_LINE);
        assert_true(shape.data >= bytes / 2);
    }
    assert_int_equal(tern_base_ring_shape_long(2u << 20).cells, 1024);
}

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
        assert_true(used <= bytes && bytes - used < TERN_RING_LINE); /* all of the memory, and no more */
        assert_true(shape.data >= bytes / 2);
        assert_true(tern_base_ring_max_data(shape) >= TERN_RING_LINE &&
                    tern_base_ring_max_data(shape) <= shape.data / 2);
    }
    assert_true(tern_base_ring_shape(SIZE_MAX).data < TERN_RING_SKIP); /* the range of a cell's len */
}

/* Leave one message open that ends at start, with all other data free. The ring must be empty before. */
static void stand_at(struct pair *p, uint32_t start, struct tern_ring_reservation *open)
{
    uint32_t                     before = (start > 0 ? start : p->shape.data) - TERN_RING_LINE;
    struct tern_ring_reservation space;

    pass_one(p, p->shape.data, 0); /* now the producer is at the beginning */
    assert_true(tern_base_ring_reserve(&p->out, before, before, &space));
    assert_true(tern_base_ring_reserve(&p->out, 1, 1, open));
    fill(&space, 0);
    fill(open, 1);
    tern_base_ring_publish(&space.claim, before);
    expect(p, before, 0);
    expect_empty(p);
    assert_int_equal(p->out.at, start);
}

/* Send a message of len bytes behind that: before the end of the data, at its beginning, or not yet. */
static void wrap_one(struct pair *p, uint32_t start, size_t len)
{
    struct tern_ring_reservation open, space;
    size_t                       need = (len + TERN_RING_LINE - 1) / TERN_RING_LINE * TERN_RING_LINE;
    size_t behind = start > 0 ? p->shape.data - start : 0, before = p->shape.data - TERN_RING_LINE - behind;
    bool   taken;

    stand_at(p, start, &open);
    taken = tern_base_ring_reserve(&p->out, len, len, &space);
    assert_true(taken == (need <= behind || need <= before));
    if (taken) {
        expect_space(p, &space, len, len);
        fill(&space, start + 2);
        tern_base_ring_publish(&space.claim, len);
        expect_empty(p);
    }
    tern_base_ring_publish(&open.claim, 1);
    expect(p, 1, 1);
    if (taken)
        expect(p, len, start + 2);
    else
        pass_one(p, len, start + 2); /* now */
    expect_empty(p);
}

/* Every length in lines at every position of the data, and one byte less and one more. */
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

/* The maximum length, and even all of the data, fits at every position of an empty ring; one byte more never fits. */
static void longest_fits_always(void **state)
{
    (void)state;
    for (size_t lines = FEWEST_LINES; lines <= 300; lines += lines / 4) {
        struct pair                  p = pair_make(lines);
        struct tern_ring_reservation space;

        for (uint64_t start = 0; start < 3 * lines; start++) {
            pass_one(&p, tern_base_ring_max_data(p.shape), start);
            pass_one(&p, start % 200, start);
            pass_one(&p, p.shape.data, start);
            pass_one(&p, 64 * start % p.shape.data, start);
            assert_false(tern_base_ring_reserve(&p.out, p.shape.data + 1, SIZE_MAX, &space));
            assert_false(tern_base_ring_reserve(&p.out, SIZE_MAX, SIZE_MAX, &space));
            expect_empty(&p);
        }
        free(p.ring);
    }
}

/* A full ring reports this. Neither the ring nor the producer changes, except that the producer asks the consumer for a
 * wake-up. */
static void expect_full(struct pair *p, size_t min, size_t max, void *copy)
{
    struct tern_ring_producer    as_was = p->out;
    struct tern_ring_reservation space;

    memcpy(copy, p->ring, p->bytes);
    assert_false(tern_base_ring_reserve(&p->out, min, max, &space));
    assert_memory_equal((char *)copy + sizeof(*p->ring), p->ring->cell, p->bytes - sizeof(*p->ring));
    assert_int_equal(as_was.next, p->out.next);
    assert_int_equal(as_was.taken, p->out.taken);
    assert_int_equal(as_was.at, p->out.at);
    assert_true(tern_base_wake_requested(&p->in.ring->producer_waits)); /* the consumer sees the request once */
    assert_false(tern_base_wake_requested(&p->in.ring->producer_waits));
}

/* Fill the ring; then nothing changes; then there is space for as many messages as were consumed. */
static void fill_and_drain(size_t len, uint64_t capacity)
{
    struct pair                  p = pair_make(61);
    void                        *copy = malloc(p.bytes);
    struct tern_ring_reservation space;
    uint64_t                     sent = 0, got = 0;

    for (uint64_t round = 0; round < 200; round++) {
        while (tern_base_ring_reserve(&p.out, len, len, &space)) {
            fill(&space, sent);
            tern_base_ring_publish(&space.claim, len);
            sent++;
        }
        assert_true(tern_base_wake_requested(&p.in.ring->producer_waits));
        assert_int_equal(sent - got, capacity);
        expect_full(&p, len, len, copy);
        expect_full(&p, len, SIZE_MAX, copy);
        if (capacity < p.shape.cells) { /* the data is full: messages without data still fit */
            assert_true(tern_base_ring_reserve(&p.out, 0, 0, &space));
            tern_base_ring_skip(&space.claim);
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

/* A reservation gets at least the minimum, at most the maximum, and as much as there is in between. */
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
                struct tern_ring_reservation space, more;

                assert_true(tern_base_ring_reserve(&p.out, min, most[m], &space));
                expect_space(&p, &space, min, most[m]);
                assert_int_equal(space.len, most[m] < p.shape.data ? most[m] : p.shape.data); /* all of an empty ring */
                fill(&space, start);
                tern_base_ring_publish(&space.claim, space.len);
                if (tern_base_ring_reserve(&p.out, min, most[m], &more)) { /* and the rest, in another reservation */
                    expect_space(&p, &more, min, most[m]);
                    fill(&more, start + 1);
                    tern_base_ring_publish(&more.claim, more.len);
                } else
                    more.claim.cell = NULL;
                expect(&p, space.len, start);
                if (more.claim.cell)
                    expect(&p, more.len, start + 1);
                expect_empty(&p);
            }
            pass_one(&p, start % 300, start);
        }
        free(p.ring);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(long_shapes),
        cmocka_unit_test(wraps_everywhere),
        cmocka_unit_test(longest_fits_always),
        cmocka_unit_test(full_ring),
        cmocka_unit_test(wishes),
    };

    return cmocka_run_group_tests_name("space in rings", tests, NULL, NULL);
}
