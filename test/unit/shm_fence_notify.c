/* shm_fence_notify.c: the fence of the consumer of notifications before it checks whether their sender asked for a
 * wake-up.
 *
 * Promise: the promise of shm_fence_messages.c, both for notifications that are delivered and for those that a wait
 * takes on its fast path.
 */
#define FENCE_FILE "link/shm/notify.c"
#include "fence_test.h"

/* Receive as a wait that has seen the same notification before. */
static void expect_note(void)
{
    struct tern_link_expected want = {
        .first = fence_words[0], .region = fence_words[1], .mask = UINT64_MAX, .from = 1
    };

    assert_true(fence.queue->expect(fence.queue, &want, 1));
    assert_int_equal(want.third, fence_words[2]);
}

static void (*const ways[])(void) = { fence_deliver, expect_note };

#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void open_queue(bool barriers)
{
    struct shm_notify_rx *rx;

    fence_open(TERN_CHANNEL_NOTIFY, barriers);
    rx = (struct shm_notify_rx *)fence.queue;
    fence.done = &rx->queue.shared->done;
    fence.wanted = &rx->queue.shared->producer_waits;
}

static void without_barriers(void **state)
{
    (void)state;
    assert_false(tern_boot_bell_joined);
    for (unsigned i = 0; i < 2 * WAYS; i++) { /* a barrier of the sender does not reach this process */
        open_queue(i % 2);
        fence_expected(TERN_CHANNEL_NOTIFY, ways[i / 2]);
        fence_close();
    }
}

static void with_barriers(void **state)
{
    (void)state;
    if (!tern_boot_bell_join())
        skip(); /* the kernel has no such barrier */
    for (unsigned i = 0; i < 2 * WAYS; i++) {
        open_queue(i % 2);
        (i % 2 ? fence_spared : fence_expected)(TERN_CHANNEL_NOTIFY, ways[i / 2]);
        fence_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(without_barriers), cmocka_unit_test(with_barriers) };

    return cmocka_run_group_tests_name("fences of notes", tests, fence_options, NULL);
}
