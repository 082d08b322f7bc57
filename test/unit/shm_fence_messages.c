/* shm_fence_messages.c: the fence of the consumer of messages before it checks whether their sender asked for a
 * wake-up.
 *
 * Promise: if the sender runs no barrier before it sleeps, or none that reaches this process, there is a full fence
 * between the consumption and the check: otherwise a sender that asks in between sleeps on, with space in its queue
 * (base/wake_request.h). If the sender runs a barrier there is no fence, because a fence would cost every message.
 */
#define FENCE_FILE "link/shm/message.c"
#include "fence_test.h"

static const unsigned channels[] = { TERN_CHANNEL_REQUEST, TERN_CHANNEL_REPLY, TERN_CHANNEL_TAGGED };

#define CHANNELS (sizeof(channels) / sizeof(channels[0]))

static void open_queue(unsigned channel, bool barriers)
{
    struct tern_link_rx *rx;

    fence_open(channel, barriers);
    rx = (struct tern_link_rx *)fence.queue;
    fence.done = &rx->ring.ring->cells_done;
    fence.wanted = &rx->ring.ring->producer_waits;
}

static void without_barriers(void **state)
{
    (void)state;
    assert_false(tern_boot_bell_joined);
    for (unsigned i = 0; i < 2 * CHANNELS; i++) { /* a barrier of the sender does not reach this process */
        open_queue(channels[i / 2], i % 2);
        fence_expected(channels[i / 2], fence_deliver);
        fence_close();
    }
}

static void with_barriers(void **state)
{
    (void)state;
    if (!tern_boot_bell_join())
        skip(); /* the kernel has no such barrier */
    for (unsigned i = 0; i < 2 * CHANNELS; i++) {
        open_queue(channels[i / 2], i % 2);
        (i % 2 ? fence_spared : fence_expected)(channels[i / 2], fence_deliver);
        fence_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(without_barriers), cmocka_unit_test(with_barriers) };

    return cmocka_run_group_tests_name("fences of messages", tests, fence_options, NULL);
}
