/* ring_test.h: both sides of a ring in one process, and messages whose every byte is known; for base_ring*.c.
 *
 * The data ends where the memory does, so that the address sanitizer sees an access past the end.
 */
#ifndef TERN_RING_TEST_H
#define TERN_RING_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/spsc_ring.h"
#include "sanitized.h"

#define ROUNDS (JOB_SANITIZED ? 20000u : 200000u)

/* Both sides of a ring in one process. */
struct pair {
    struct tern_ring         *ring;
    size_t                    bytes;
    struct tern_ring_shape    shape;
    struct tern_ring_producer out;
    struct tern_ring_consumer in;
};

static inline struct pair pair_make(size_t lines)
{
    size_t      bytes = lines * TERN_RING_LINE;
    struct pair p = { .ring = aligned_alloc(TERN_RING_LINE, bytes),
                      .bytes = bytes,
                      .shape = tern_base_ring_shape(bytes) };

    assert_non_null(p.ring);
    assert_true(p.shape.cells > 0);
    memset(p.ring, 0xee, bytes); /* the data may hold anything */
    memset(p.ring, 0, sizeof(*p.ring) + p.shape.cells * sizeof(struct tern_ring_cell));
    tern_base_ring_producer_init(&p.out, p.ring, p.shape);
    tern_base_ring_consumer_init(&p.in, p.ring, p.shape);
    return p;
}

/* Make a pair whose consecutive messages are not in neighbouring cells. */
static inline struct pair pair_make_apart(size_t lines)
{
    struct pair p = pair_make(lines);

    p.shape = tern_base_ring_spread(p.shape);
    tern_base_ring_producer_init(&p.out, p.ring, p.shape);
    tern_base_ring_consumer_init(&p.in, p.ring, p.shape);
    return p;
}

static inline uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * 2685821657736338717ull;
}

static inline unsigned char byte_of(uint64_t number, size_t at)
{
    return (unsigned char)(1 + (number * 7 + at * 3 + at / 64) % 255); /* never 0: each looks like a mark */
}

/* Fill a message: its head, and as much data as was reserved. */
static inline void fill(const struct tern_ring_reservation *space, uint64_t number)
{
    for (size_t i = 0; i < TERN_RING_HEAD; i++)
        space->claim.cell->head[i] = byte_of(number, i);
    for (size_t i = 0; i < space->len; i++)
        space->data[i] = byte_of(number + 1, i);
}

/* Returns whether there is a message, and checks that the memory is valid. */
static inline bool peek(struct pair *p, struct tern_ring_item *item)
{
    int found = tern_base_ring_peek(&p->in, item);

    assert_true(found >= 0);
    return found > 0;
}

/* Whether the consumer would be told that there is a message. */
static inline bool is_shown(const struct pair *p)
{
    uint32_t idle;

    return atomic_load(tern_base_ring_mark(&p->in, p->in.next, &idle)) != idle;
}

/* Check the oldest message, and consume it. */
static inline void expect(struct pair *p, size_t len, uint64_t number)
{
    struct tern_ring_item item;

    assert_true(peek(p, &item));
    assert_int_equal(item.len, len);
    assert_true((item.data != NULL) == (len > 0));
    for (size_t i = 0; i < TERN_RING_HEAD; i++)
        if (item.head[i] != byte_of(number, i))
            fail_msg("byte %zu of the head of message %llu is wrong", i, (unsigned long long)number);
    for (size_t i = 0; i < len; i++)
        if (item.data[i] != byte_of(number + 1, i))
            fail_msg("byte %zu of message %llu is wrong", i, (unsigned long long)number);
    tern_base_ring_consume(&p->in, item.span);
}

static inline void expect_empty(struct pair *p)
{
    struct tern_ring_item item;

    assert_false(peek(p, &item));
    assert_false(is_shown(p));
}

/* Check that a reservation is as long as requested, and lies in the data of the ring. */
static inline void expect_space(const struct pair *p, const struct tern_ring_reservation *space, size_t min, size_t max)
{
    const unsigned char *begin = (const unsigned char *)&p->ring->cell[p->shape.cells];

    assert_true(space->claim.cell >= p->ring->cell && space->claim.cell < p->ring->cell + p->shape.cells);
    assert_true(space->len >= min && space->len <= max);
    if (max == 0)
        assert_null(space->data);
    else
        assert_true(space->data >= begin && space->data + space->len <= (unsigned char *)p->ring + p->bytes);
}

/* Pass one message with len bytes of data through an empty ring. */
static inline void pass_one(struct pair *p, size_t len, uint64_t number)
{
    struct tern_ring_reservation space;

    assert_true(tern_base_ring_reserve(&p->out, len, len, &space));
    expect_space(p, &space, len, len);
    expect_empty(p);
    fill(&space, number);
    tern_base_ring_publish(&space.claim, len);
    assert_true(is_shown(p));
    expect(p, len, number);
    expect_empty(p);
}

#define FEWEST_LINES 13u /* the first of them holds the consumer's progress */

#endif
