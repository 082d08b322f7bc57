/* shm_layout.c: the layout of the memory that processes share.
 *
 * Promise: two processes of the same layout number agree on where everything is; parts that different ranks write lie
 * on different cache lines; the control memory of the largest job fits into the space that the arena reserves for it.
 * When a number here has to change, TERN_SEGMENT_LAYOUT has to change with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tern.h>

#include "boot/segment.h"
#include "core/region.h"
#include "link/shm/shm.h"

static void numbers_of_layout_20(void **state)
{
    (void)state;
    assert_int_equal(TERN_SEGMENT_LAYOUT, 20);
    assert_int_equal(offsetof(struct tern_segment, magic), 0);
    assert_int_equal(offsetof(struct tern_segment, layout), 4);
    assert_int_equal(offsetof(struct tern_segment, ranks), 8);
    assert_int_equal(offsetof(struct tern_segment, cores), 12);
    assert_int_equal(offsetof(struct tern_segment, job), 16);
    assert_int_equal(offsetof(struct tern_segment, on_failure), 24);
    assert_int_equal(offsetof(struct tern_segment, nodes), 28);
    assert_int_equal(offsetof(struct tern_segment, node), 32);
    assert_int_equal(offsetof(struct tern_segment, locals), 36);
    assert_int_equal(offsetof(struct tern_segment, contributions), 40);
    assert_int_equal(offsetof(struct tern_segment, has_control), 44);
    assert_int_equal(offsetof(struct tern_segment, relay_inode), 48);
    assert_int_equal(offsetof(struct tern_segment, losses), 64);
    assert_int_equal(offsetof(struct tern_segment, ending), 68);
    assert_int_equal(offsetof(struct tern_segment, quits), 72);
    assert_int_equal(offsetof(struct tern_segment, next), 128);
    assert_int_equal(offsetof(struct tern_segment, acc_lock), 192);
    assert_int_equal(TERN_ACC_LOCKS, 256);
    assert_int_equal(sizeof(struct tern_robust_lock), 64);
    assert_int_equal(offsetof(struct tern_segment, slot), 192 + 256 * 64);
    assert_int_equal(sizeof(struct tern_slot), 128);
    assert_int_equal(offsetof(struct tern_slot, bell), 0);
    assert_int_equal(offsetof(struct tern_slot, sleepers), 4);
    assert_int_equal(offsetof(struct tern_slot, service_bell), 8);
    assert_int_equal(offsetof(struct tern_slot, service_sleeps), 12);
    assert_int_equal(offsetof(struct tern_slot, uses_membarrier), 16);
    assert_int_equal(offsetof(struct tern_slot, memory_waits), 20);
    assert_int_equal(offsetof(struct tern_slot, registered), 24);
    assert_int_equal(offsetof(struct tern_slot, life), 64);
    assert_int_equal(offsetof(struct tern_slot, fate), 68);
    assert_int_equal(offsetof(struct tern_slot, pid), 72);
    assert_int_equal(offsetof(struct tern_slot, node), 76);
    assert_int_equal(offsetof(struct tern_slot, local), 80);
    assert_int_equal(offsetof(struct tern_slot, ended), 84);
    assert_int_equal(offsetof(struct tern_slot, started), 88);
    assert_int_equal(offsetof(struct tern_slot, launcher_fd), 96);
    assert_int_equal(offsetof(struct tern_slot, flushed), 100);
    assert_int_equal(offsetof(struct tern_slot, seat_changes), 104);
    assert_int_equal(sizeof(struct tern_net_address), 512);
    assert_int_equal(offsetof(struct tern_net_address, bytes), 4);
    assert_int_equal(offsetof(struct tern_barrier_slot, departures), 4);
    assert_int_equal(offsetof(struct tern_barrier_slot, object), 8);
    assert_int_equal(offsetof(struct tern_barrier_slot, contribution_len), 24);
    assert_int_equal(offsetof(struct tern_barrier_slot, call), 32);
    assert_int_equal(offsetof(struct tern_barrier_slot, team), 40);
    assert_int_equal(offsetof(struct tern_barrier_slot, regroups), 44);
    assert_int_equal(offsetof(struct tern_barrier_slot, regroup_id), 48);
    assert_int_equal(offsetof(struct tern_barrier_slot, gave_up), 56);
    assert_int_equal(sizeof(struct tern_barrier_slot), 64);
    assert_int_equal(sizeof(struct tern_seat), 64 + 2 * 512);
    assert_int_equal(tern_segment_seats(5), 128);
    assert_int_equal(tern_segment_bytes(5, false), 192 + 256 * 64 + 5 * (128 + 512 + 64));
    assert_int_equal(tern_segment_bytes(5, true),
                     192 + 256 * 64 + 5 * (128 + 512 + 64 + 2 * 4160 + 128 * (64 + 2 * 512)));
}

static void chunks_and_bounce_controls(void **state)
{
    (void)state;
    assert_int_equal(SHM_CHUNKS, 64); /* bits of a word */
    assert_int_equal(sizeof(struct shm_chunk), 64);
    assert_int_equal(offsetof(struct shm_chunk, state), 0);
    assert_int_equal(offsetof(struct shm_chunk, next), 4);
    assert_int_equal(offsetof(struct shm_chunk, verb), 8);
    assert_int_equal(offsetof(struct shm_chunk, status), 12);
    assert_int_equal(offsetof(struct shm_chunk, region), 16);
    assert_int_equal(offsetof(struct shm_chunk, offset), 24);
    assert_int_equal(offsetof(struct shm_chunk, len), 32);
    assert_int_equal(offsetof(struct shm_chunk, data), 40);
    assert_int_equal(sizeof(struct shm_bounce_ctl), 128 + 64 * 64 + 32 * 128);
    assert_int_equal(offsetof(struct shm_bounce_ctl, inbox), 0);
    assert_int_equal(offsetof(struct shm_bounce_ctl, service_needed), 4);
    assert_int_equal(offsetof(struct shm_bounce_ctl, data), 64);
    assert_int_equal(offsetof(struct shm_bounce_ctl, data_bytes), 72);
    assert_int_equal(offsetof(struct shm_bounce_ctl, chunk), 128);
    assert_int_equal(offsetof(struct shm_bounce_ctl, split), 128 + 64 * 64);
    assert_int_equal(sizeof(struct tern_work_split), 128);
    assert_int_equal(offsetof(struct tern_work_split, open), 0);
    assert_int_equal(offsetof(struct tern_work_split, base), 8);
    assert_int_equal(offsetof(struct tern_work_split, args), 16);
    assert_int_equal(offsetof(struct tern_work_split, key), 48);
    assert_int_equal(offsetof(struct tern_work_split, completed), 64);
    assert_int_equal(offsetof(struct tern_work_split, status), 68);
}

static void seats_and_blocks(void **state)
{
    (void)state;
    assert_true(1u << SHM_ROUNDS >= TERN_MAX_NODE_RANKS);
    assert_int_equal(offsetof(struct shm_barrier_slot, round), 0);
    assert_int_equal(sizeof(((struct shm_barrier_slot *)NULL)->round[0]), 64);
    assert_int_equal(offsetof(struct shm_barrier_slot, arrived), 64 * SHM_ROUNDS);
    assert_int_equal(offsetof(struct shm_barrier_slot, state), 64 * SHM_ROUNDS + 64);
    assert_int_equal(offsetof(struct shm_barrier_slot, contribution), 64 * SHM_ROUNDS + 128);
    assert_int_equal(sizeof(struct shm_barrier_slot), 64 * SHM_ROUNDS + 128 + 2 * TERN_LINK_CONTRIBUTION);
}

/* The bounce control blocks come first, then one barrier block after the other; nothing overlaps; each begins on a
 * cache line. */
static void the_barrier_blocks_lie_side_by_side(void **state)
{
    static const int ranks[] = { 1, 2, 3, 7, 8, 64, 1000, TERN_MAX_NODE_RANKS };

    (void)state;
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        size_t n = (size_t)ranks[i], block = n * (sizeof(struct shm_barrier_slot) + TERN_LINK_BOARD);

        assert_int_equal(tern_shm_barrier_block_offset(ranks[i], 0), n * sizeof(struct shm_bounce_ctl));
        for (uint32_t id = 0; id < SHM_GROUPS; id++) {
            assert_int_equal(tern_shm_barrier_block_offset(ranks[i], id) % 64, 0);
            assert_int_equal(
                tern_shm_barrier_block_offset(ranks[i], id + 1) - tern_shm_barrier_block_offset(ranks[i], id), block);
        }
        assert_true(tern_segment_bytes(TERN_MAX_RANKS, true) + 4096 +
                        tern_shm_barrier_block_offset(ranks[i], SHM_GROUPS) +
                        n * n * SHM_QUEUES * sizeof(struct shm_queue_ref) + 4096 <=
                    TERN_ARENA_CONTROL);
    }
}

static void handles(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct tern_mem_handle), 160);
    assert_int_equal(offsetof(struct tern_mem_handle, region), 0);
    assert_int_equal(offsetof(struct tern_mem_handle, addr), 8);
    assert_int_equal(offsetof(struct tern_mem_handle, size), 16);
    assert_int_equal(offsetof(struct tern_mem_handle, reserve), 24);
    assert_int_equal(offsetof(struct tern_mem_handle, offset), 32);
    assert_int_equal(offsetof(struct tern_mem_handle, device), 40);
    assert_int_equal(offsetof(struct tern_mem_handle, inode), 48);
    assert_int_equal(offsetof(struct tern_mem_handle, probe), 56);
    assert_int_equal(offsetof(struct tern_mem_handle, mem_kind), 64);
    assert_int_equal(offsetof(struct tern_mem_handle, pid), 68);
    assert_int_equal(offsetof(struct tern_mem_handle, key_bytes), 72);
    assert_int_equal(offsetof(struct tern_mem_handle, keys), 76);
}

/* The fields that users' programs have compiled in are stable within a major version of Tern. */
static void what_inlined_calls_read(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct tern_ctx_head), 16);
    assert_int_equal(offsetof(struct tern_ctx_head, direct_ranks), 0);
    assert_int_equal(offsetof(struct tern_ctx_head, mapped_ranks), 4);
    assert_int_equal(offsetof(struct tern_ctx_head, world_rank), 8);
    assert_int_equal(sizeof(struct tern_part), 24);
    assert_int_equal(offsetof(struct tern_part, base), 0);
    assert_int_equal(offsetof(struct tern_part, reach), 8);
    assert_int_equal(offsetof(struct tern_part, waits), 16);
    assert_int_equal(TERN_REGION_PARTS, 256);
    assert_int_equal(offsetof(struct tern_region, fast), TERN_REGION_PARTS);
    assert_int_equal(sizeof(tern_event), sizeof(void *));
    assert_int_equal(offsetof(tern_opts, size), 0);
    assert_int_equal(offsetof(tern_opts, flags), 4);
    assert_int_equal(offsetof(tern_opts, local), 8);
    assert_int_equal(offsetof(tern_opts, event), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_layout_20),
        cmocka_unit_test(chunks_and_bounce_controls),
        cmocka_unit_test(seats_and_blocks),
        cmocka_unit_test(the_barrier_blocks_lie_side_by_side),
        cmocka_unit_test(handles),
        cmocka_unit_test(what_inlined_calls_read),
    };

    return cmocka_run_group_tests_name("shared layouts", tests, NULL, NULL);
}
