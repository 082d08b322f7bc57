/* fence_test.h: both sides of a queue of the shm link in one process, in which the fences of the consumer are visible;
 * for shm_fence_*.c, which name the file of the link under test with FENCE_FILE.
 *
 * The file under test is included with a fence that calls a function here. The function plays the producer of the
 * queue: at that moment it asks for a wake-up, like a producer that has just found no space.
 */
#ifndef TERN_FENCE_TEST_H
#define TERN_FENCE_TEST_H

#include <stdatomic.h>

static void fence_passed(void);

#undef atomic_thread_fence
#define atomic_thread_fence(order) (__atomic_thread_fence(order), fence_passed())

/* clang-format off: the file under test comes first, and all that it includes, so that their fences are seen */
#include FENCE_FILE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/options.h"
#include "base/wake_request.h"
/* clang-format on */

static const uint64_t fence_words[3] = { 7, 8, 9 }; /* of every message */

static struct fence_scene {
    struct tern_boot        boot[2];
    struct tern_link       *link[2]; /* rank 0 consumes the messages of rank 1 */
    struct tern_link_watch *watch[16];
    unsigned                watches;
    struct tern_link_watch *queue; /* of rank 0 */
    _Atomic uint64_t       *done;  /* the progress of rank 0, as rank 1 sees it */
    _Atomic uint32_t       *wanted;
    bool                    armed;    /* fences are observed */
    uint64_t                before;   /* the progress when the observation began */
    unsigned                fences;   /* number of fences since then */
    bool                    consumed; /* at the first fence the message had been consumed */
} fence;

static void fence_passed(void)
{
    if (!fence.armed || fence.fences++ > 0)
        return;
    fence.consumed = atomic_load(fence.done) != fence.before;
    tern_base_wake_request(fence.wanted);
}

/* ---- the callbacks of the link ---- */

static tern_status fence_watch(struct tern_link_watch *watch)
{
    assert_true(fence.watches < sizeof(fence.watch) / sizeof(fence.watch[0]));
    fence.watch[fence.watches++] = watch;
    return TERN_OK;
}

static void fence_message(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len)
{
    (void)channel, (void)data;
    assert_true(from == 1 && len == 0 && memcmp(head, fence_words, sizeof(fence_words)) == 0);
}

static enum tern_link_delivered fence_tagged(int from, const unsigned char *head, const unsigned char *data, size_t len)
{
    fence_message(from, TERN_CHANNEL_TAGGED, head, data, len);
    return TERN_LINK_TAKEN;
}

static enum tern_link_delivered fence_note(int from, const unsigned char *head, bool place)
{
    (void)place;
    fence_message(from, TERN_CHANNEL_NOTIFY, head, NULL, 0);
    return TERN_LINK_TAKEN;
}

static const struct tern_link_up fence_up = {
    .watch = fence_watch, .message = fence_message, .tagged = fence_tagged, .notify = fence_note
};

/* ---- both ranks ---- */

static struct tern_slot *fence_slot(void)
{
    return &fence.boot[0].segment->slot[1];
}

static void fence_send(unsigned channel)
{
    struct tern_link_msg msg = { .peer = 0, .channel = channel };

    assert_int_equal(tern_shm_ops.msg->open(fence.link[1], &msg, 0, 0), TERN_OK);
    memcpy(msg.head, fence_words, sizeof(fence_words));
    tern_shm_ops.msg->send(fence.link[1], &msg, 0);
}

static struct tern_link_watch *fence_find(unsigned channel)
{
    for (unsigned i = 0; i < fence.watches; i++)
        if (fence.watch[i]->channel == channel && fence.watch[i]->link == fence.link[0])
            return fence.watch[i];
    return NULL;
}

/* Rank 0 learns of rank 1 by a first message on the channel. barriers: rank 1 runs a barrier before it sleeps. */
static void fence_open(unsigned channel, bool barriers)
{
    struct tern_boot *boot = fence.boot;

    memset((void *)&fence, 0, sizeof(fence));
    assert_int_equal(tern_boot_arena_make(2, 2, &boot->arena, &boot->huge, &boot->segment), TERN_OK);
    boot->relay_fd = -1;
    boot[1] = boot[0];
    for (int i = 0; i < 2; i++) {
        tern_boot_place(&boot[i], i);
        assert_int_equal(tern_shm_ops.open(&boot[i], &fence_up, &fence.link[i]), TERN_OK);
    }
    atomic_store(&fence_slot()->uses_membarrier, barriers);
    fence_send(channel);
    for (unsigned i = 0; i < fence.watches; i++) /* the watch of new senders announces an unknown sender */
        if (fence.watch[i]->link == fence.link[0] && tern_link_watch_ready(fence.watch[i]))
            assert_int_equal(fence.watch[i]->deliver(fence.watch[i]), TERN_OK);
    assert_non_null(fence.queue = fence_find(channel));
    assert_false(tern_link_watch_ready(fence.queue));
}

static void fence_close(void)
{
    tern_shm_ops.close(fence.link[1]);
    tern_shm_ops.close(fence.link[0]);
    tern_boot_leave(&fence.boot[0]);
}

/* Rank 1 sends one more message, and is about to sleep; rank 0 consumes the message. Returns whether it wakes rank 1.
 */
static bool fence_consume(unsigned channel, void (*consume)(void))
{
    uint32_t bell;

    fence_send(channel);
    atomic_store(&fence_slot()->sleepers, 1);
    bell = atomic_load(&fence_slot()->bell);
    fence.before = atomic_load(fence.done);
    fence.fences = 0;
    fence.armed = true;
    consume();
    fence.armed = false;
    atomic_store(&fence_slot()->sleepers, 0);
    assert_int_equal(atomic_load(fence.done), fence.before + 1);
    return atomic_load(&fence_slot()->bell) != bell;
}

/* Rank 1 runs no barrier: it asks for a wake-up after rank 0 has consumed, and before rank 0 has checked for
 * requests. */
static void fence_expected(unsigned channel, void (*consume)(void))
{
    assert_true(fence_consume(channel, consume));
    assert_true(fence.fences > 0 && fence.consumed);
    assert_int_equal(atomic_load(fence.wanted), 0);
}

/* Rank 1 runs a barrier, which replaces the fence: rank 0 runs no fence, and still wakes rank 1. */
static void fence_spared(unsigned channel, void (*consume)(void))
{
    assert_false(fence_consume(channel, consume));
    assert_int_equal(fence.fences, 0);
    tern_base_wake_request(fence.wanted);
    assert_true(fence_consume(channel, consume));
    assert_int_equal(fence.fences, 0);
    assert_int_equal(atomic_load(fence.wanted), 0);
}

static int fence_options(void **state)
{
    char *none[] = { NULL };

    (void)state;
    return tern_base_options_load(none) == TERN_OK ? 0 : -1;
}

static void fence_deliver(void)
{
    assert_int_equal(fence.queue->deliver(fence.queue), TERN_OK);
}

#endif
