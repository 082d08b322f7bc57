/* base_ring_damage.c: rings with damaged memory.
 *
 * Promise: remains of earlier laps are never mistaken for a message; invalid memory, on either side, is reported or
 * skipped, never leads out of the ring, and never causes an endless loop.
 */
#include "ring_test.h"

#include <unistd.h>

/* Cells that no producer writes, at every position. */
static void damage_is_told(void **state)
{
    struct pair           p = pair_make(32);
    const uint32_t        data = p.shape.data, none = UINT32_MAX;
    struct tern_ring_item item;
    const uint32_t        bad[][3] = { /* len, at, span */
                                { 65, 0, 64 },
                                { 1, 0, 0 },
                                { none - 2, 0, 64 },
                                { none - 1, 0, none },
                                { none - 1, 2, none },
                                { data + 1, 0, data },
                                { data + 1, 0, data + 1 },
                                { 64, data, 64 },
                                { 64, data - 63, 64 },
                                { 1, data, 64 },
                                { 64, none, 64 },
                                { 64, none - 63, 64 },
                                { 1, none, 1 },
                                { data, 1, data },
                                { 64, 0, data + 1 },
                                { 64, 0, none },
                                { TERN_RING_NONE, 0, data + 1 },
                                { none, 0, data + 1 },
                                { none, 0, none }
    };

    (void)state;
    for (uint32_t cell = 0; cell < p.shape.cells; cell++) {
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
            p.in.next = cell;
            p.ring->cell[cell].len = bad[i][0];
            p.ring->cell[cell].at = bad[i][1];
            p.ring->cell[cell].span = bad[i][2];
            atomic_store(&p.ring->cell[cell].mark, 1);
            assert_int_equal(tern_base_ring_peek(&p.in, &item), -1);
            assert_int_equal(p.in.next, cell);
            assert_int_equal(p.in.data_done, 0);
        }
    }
    free(p.ring);
}

/* The mark of the previous lap is no message, whatever the cell contains. The mark of any other lap is damage. */
static void other_laps(void **state)
{
    static const uint32_t other[] = { 0, 1, 4, 6, 5 + (1u << 31), UINT32_MAX - 1, UINT32_MAX };
    struct pair           p = pair_make(32);
    struct tern_ring_item item;

    (void)state;
    for (uint32_t cell = 0; cell < p.shape.cells; cell++) {
        for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
            p.in.next = cell + 4 * p.shape.cells; /* lap 5 */
            p.ring->cell[cell].len = p.ring->cell[cell].at = p.ring->cell[cell].span = UINT32_MAX - 1;
            atomic_store(&p.ring->cell[cell].mark, other[i]);
            assert_int_equal(tern_base_ring_peek(&p.in, &item), other[i] == 4 ? 0 : -1);
            assert_true(is_shown(&p) == (other[i] != 4));
        }
    }
    free(p.ring);
}

/* A poll of a ring with "skip" cells all round comes to an end, also while the producer keeps writing them. */
static void circles_end(void **state)
{
    struct pair           p = pair_make(32);
    struct tern_ring_item item;

    (void)state;
    for (unsigned i = 0; i < p.shape.cells; i++) {
        p.ring->cell[i].len = TERN_RING_SKIP;
        atomic_store(&p.ring->cell[i].mark, 1);
    }
    alarm(20);
    assert_int_equal(tern_base_ring_peek(&p.in, &item), 0);
    assert_int_equal(p.in.next, p.shape.cells);
    alarm(0);
    free(p.ring);
}

/* Whatever the memory contains, a consumer stays within the ring. */
static void random_damage(void **state)
{
    struct pair           p = pair_make(64);
    uint64_t              seed = 99;
    unsigned              sum = 0;
    struct tern_ring_item item;

    (void)state;
    for (unsigned round = 0; round < ROUNDS / 4; round++) {
        uint32_t most = round % 2 ? 2 * p.shape.data : UINT32_MAX;
        int      found = 0;

        for (unsigned i = 0; i < p.shape.cells; i++) {
            p.ring->cell[i].len = random_next(&seed) % 4 ? (uint32_t)(random_next(&seed) % most) : TERN_RING_SKIP;
            p.ring->cell[i].at = (uint32_t)(random_next(&seed) % most);
            p.ring->cell[i].span = (uint32_t)(random_next(&seed) % most);
            atomic_store(&p.ring->cell[i].mark,
                         tern_base_ring_lap(p.in.next, p.shape) + (uint32_t)(random_next(&seed) % 8 < 2));
        }
        for (int i = 0; i < 40 && (found = tern_base_ring_peek(&p.in, &item)) > 0; i++) {
            assert_true(item.head >= p.ring->cell[0].head && item.head <= p.ring->cell[p.shape.cells - 1].head);
            assert_true((item.data != NULL) == (item.len > 0));
            if (item.len > 0)
                sum += (unsigned)item.data[0] + item.data[item.len - 1];
            tern_base_ring_consume(&p.in, item.span);
        }
        if (found < 0)
            p.in.next += random_next(&seed) % 2;
    }
    assert_true(sum != 1); /* so that the bytes are really read */
    free(p.ring);
}

/* Whatever a consumer claims to have consumed, a producer writes only within the ring, and gets the space it asked for
 * or none. */
static void lying_consumer(void **state)
{
    struct pair p = pair_make(64);
    uint64_t    seed = 7;

    (void)state;
    for (unsigned round = 0; round < ROUNDS / 4; round++) {
        size_t   min = random_next(&seed) % (p.shape.data + 1u), max = min + random_next(&seed) % 300;
        uint64_t spread = round % 2 ? 4 * p.shape.data : UINT64_MAX;
        struct tern_ring_reservation space;

        atomic_store(&p.ring->cells_done, p.out.next - random_next(&seed) % (round % 3 ? 9 : UINT64_MAX));
        atomic_store(&p.ring->data_done, p.out.taken + p.shape.data - random_next(&seed) % spread);
        if (round % 5 == 0) /* one byte at the beginning, for a reader of 32 bits */
            atomic_store(&p.ring->data_done, p.out.taken - p.out.at + (1ull << 32) + 1);
        p.out.cells_done = p.out.next - p.shape.cells; /* so that the producer polls again */
        if (!tern_base_ring_reserve(&p.out, min, max, &space))
            continue;
        expect_space(&p, &space, min, max);
        fill(&space, round);
        tern_base_ring_publish(&space.claim, space.len);
    }
    free(p.ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_told), cmocka_unit_test(other_laps),     cmocka_unit_test(circles_end),
        cmocka_unit_test(random_damage),  cmocka_unit_test(lying_consumer),
    };

    return cmocka_run_group_tests_name("damaged rings", tests, NULL, NULL);
}
