/* ofi_sleep.c: sleeping while network operations end by a timeout.
 *
 * Promise: a thread that sleeps for as long as may_sleep permits, and that only its bell wakes, sees the completion of
 * every operation. This includes operations for which no completion arrives: operations on a peer that has died or left
 * and whose connection is silent, and failed operations that wait for the launcher to report the fate of the peer,
 * among them the fetch of a message's data; and operations that the provider refuses until it accepts them. The sleeps
 * here have no other limit, so a missed completion is a hang, which an alarm ends. Memory that such an operation may
 * still use is not freed. The progress thread sleeps again after it was parked.
 */
#include "link_parts.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "boot/bell.h"
#include "link/ofi/ofi.h"

#define SIZE 65536u

static struct ofi_link *ofi_of(const struct rank *r)
{
    return (struct ofi_link *)r->link;
}

/* Wait until the progress thread sleeps on its descriptor. Until then no thread sleeps for long. */
static void await_watcher(struct rank *r)
{
    for (int i = 0; i < 1000 && !atomic_load(&ofi_of(r)->progress_thread.watching); i++)
        usleep(100);
}

/* Sleep once as core/wait.c does, without a limit if may_sleep permits. */
static void sleep_once(struct rank *r, const struct test_op *op)
{
    struct tern_slot *slot = &r->boot.segment->slot[r->me];
    uint32_t          seen = tern_boot_bell_announce(&slot->bell, &slot->sleepers);

    r->ops->progress(r->lane);
    await_watcher(r);
    if (op->done == 0)
        tern_boot_bell_wait(&slot->bell, seen, r->ops->may_sleep(r->link, false));
    tern_boot_bell_withdraw(&slot->sleepers);
    r->ops->progress(r->lane);
}

static void finish_asleep(struct rank *r, struct test_op *op)
{
    while (op->done == 0)
        sleep_once(r, op);
    EXPECT(op->done == 1);
}

/* Rank 1 does nothing for its peers, as if it were stopped, until rank 0 has seen its end. */
static void stand_still(struct rank *r)
{
    pthread_mutex_lock(&ofi_of(r)->net.lock);
    atomic_store(&r->board->word[1][0], 1);
    while (atomic_load(&r->board->word[0][0]) == 0)
        usleep(1000);
    _exit(0);
}

static void end_all(struct rank *r)
{
    atomic_store(&r->board->word[0][0], 1);
    EXPECT(!LEAKS());
    _exit(0); /* no peer is left for a barrier */
}

/* Rank 0 connects to rank 1, which makes no progress from then on. */
static void begin(struct rank *r, struct parts *p)
{
    static unsigned char byte;

    r->boot.segment->on_failure = TERN_ON_FAILURE_RETURN;
    parts_make(r, p, TERN_MEM_PRIVATE, SIZE);
    EXPECT(move(r, p, 1 - r->me, 0, &byte, 1, false) == TERN_OK);
    meet(r);
    if (r->me == 1)
        stand_still(r);
    while (atomic_load(&r->board->word[1][0]) == 0)
        usleep(1000);
}

static void start_put(struct rank *r, struct parts *p, struct test_op *op)
{
    static unsigned char byte;
    struct tern_xfer     xfer = { .part = &p->part[1], .local = &byte, .len = 1 };

    EXPECT(p->part[1].path->start(r->lane, &xfer, &op->op) == TERN_PENDING);
}

static void start_rpc(struct rank *r, struct parts *p, struct test_op *op)
{
    struct tern_xfer xfer = { .part = &p->part[1], .len = 8, .small_rpc = true };

    EXPECT(r->ops->rpc->open(r->lane, &xfer, &op->op) == TERN_OK);
    memset(op->op.rpc_buf, 0, 8);
    r->ops->rpc->send(r->lane, &op->op, 8, 8);
}

static void dies(struct rank *r, void (*start)(struct rank *r, struct parts *p, struct test_op *op))
{
    struct test_op op = { .done = 0 };
    struct parts   p;

    begin(r, &p);
    start(r, &p, &op);
    atomic_store(&r->boot.segment->slot[1].fate, TERN_FATE_LOST);
    atomic_fetch_add(&r->boot.segment->losses, 1);
    finish_asleep(r, &op);
    EXPECT(op.status == TERN_ERR_PEER);
    end_all(r);
}

static void put_to_dead(struct rank *r)
{
    dies(r, start_put);
}

static void rpc_to_dead(struct rank *r)
{
    dies(r, start_rpc);
}

/* A peer is given up while the provider may still write into the memory of a get. Memory that was allocated for the get
 * stays with the link, which frees it when the provider has finished with it. */
static void memory_of_dead(struct rank *r)
{
    size_t           len = 2 * tern_opt.ofi_bounce; /* too long for the bounce buffer: not copied */
    unsigned char   *memory = malloc(len);
    struct test_op   op = { .done = 0 };
    struct parts     p;
    struct tern_xfer xfer = { .local = memory, .len = len, .get = true, .heap = true };

    EXPECT(memory != NULL);
    begin(r, &p);
    xfer.part = &p.part[1];
    EXPECT(p.part[1].path->start(r->lane, &xfer, &op.op) == TERN_PENDING);
    atomic_store(&r->boot.segment->slot[1].fate, TERN_FATE_LOST);
    atomic_fetch_add(&r->boot.segment->losses, 1);
    finish_asleep(r, &op);
    EXPECT(op.status == TERN_ERR_PEER && op.op.buffer_in_use);
    memset(memory, 1, len); /* as the provider may */
    r->ops->lane_close(r->lane);
    close_link(r->ops, r->link); /* operations that have not ended are freed here */
    end_all(r);
}

/* The peer leaves in order. Ranks that leave in order are not counted. */
static void leaves(struct rank *r, void (*start)(struct rank *r, struct parts *p, struct test_op *op))
{
    struct test_op op = { .done = 0 };
    struct parts   p;

    begin(r, &p);
    start(r, &p, &op);
    for (int i = 0; i < 3; i++)
        r->ops->progress(r->lane);
    atomic_store(&r->boot.segment->slot[1].life, TERN_LIFE_LEFT);
    finish_asleep(r, &op);
    EXPECT(op.status == TERN_ERR_PEER);
    end_all(r);
}

static void put_to_departed(struct rank *r)
{
    leaves(r, start_put);
}

static void rpc_to_departed(struct rank *r)
{
    leaves(r, start_rpc);
}

/* The peer is alive. The operation fails, and its error is reported once the launcher has had time to report a
 * death. */
static void failed_put(struct rank *r)
{
    struct test_op op = { .done = 0 };
    struct parts   p;

    parts_make(r, &p, TERN_MEM_PRIVATE, SIZE);
    r->ops->unexpose(r->link, p.id);
    meet(r);
    if (r->me == 0) {
        start_put(r, &p, &op);
        finish_asleep(r, &op);
        EXPECT(op.status == TERN_ERR_LINK || op.status == TERN_ERR_PEER);
    }
    parts_drop(r, &p);
}

/* Poll for messages. Returns the result of delivering the messages that have arrived. */
static tern_status look(struct rank *r)
{
    r->ops->progress(r->lane);
    r->ops->msg->poll(r->link);
    return deliver(r->link, TERN_CHANNEL_REQUEST);
}

/* Wait until a process has ended, which closes its files. Its parent may not have reaped it yet. */
static void await_end(pid_t pid)
{
    struct pollfd process = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

    if (process.fd < 0) {
        EXPECT(errno == ESRCH);
        return;
    }
    while (poll(&process, 1, -1) != 1)
        EXPECT(errno == EINTR);
    close(process.fd);
}

/* Whether the provider has sent all requests to a peer. */
static bool was_transmitted(struct rank *r, int peer)
{
    const struct net_peer *to;
    bool                   was;

    pthread_mutex_lock(&ofi_of(r)->net.lock);
    to = atomic_load(&ofi_of(r)->net.peer[peer]);
    was = to && to->out[TERN_CHANNEL_REQUEST].transmitted > 0 && !tern_net_is_waiting(&to->tx);
    pthread_mutex_unlock(&ofi_of(r)->net.lock);
    return was;
}

/* Rank 1 sends a message whose data the receiver must fetch, and exits before rank 0 has polled. When this returns, the
 * launcher has not reported the exit. */
static void begin_unfetched(struct rank *r)
{
    struct tern_link_msg msg = { .peer = 0, .channel = TERN_CHANNEL_REQUEST };
    struct parts         p;
    static unsigned char byte;

    r->boot.segment->on_failure = TERN_ON_FAILURE_RETURN;
    parts_make(r, &p, TERN_MEM_PRIVATE, SIZE);
    EXPECT(move(r, &p, 1 - r->me, 0, &byte, 1, false) == TERN_OK);
    meet(r);
    if (r->me == 0) {
        pthread_mutex_lock(&ofi_of(r)->net.lock); /* nothing is received meanwhile */
        atomic_store(&r->board->word[0][0], 1);
        while (atomic_load(&r->board->word[1][0]) == 0)
            usleep(1000);
        await_end((pid_t)atomic_load(&r->board->word[1][0])); /* the connections of the process have ended with it */
        pthread_mutex_unlock(&ofi_of(r)->net.lock);
        return;
    }
    while (atomic_load(&r->board->word[0][0]) == 0)
        usleep(1000);
    EXPECT(r->ops->msg->open(r->link, &msg, SIZE, SIZE) == TERN_OK);
    memset(msg.head, 0, TERN_LINK_HEAD);
    memset(msg.data, 0, SIZE);
    r->ops->msg->send(r->link, &msg, SIZE);
    while (!was_transmitted(r, 0))
        r->ops->progress(r->lane);
    for (int i = 0; i < 100; i++) { /* the provider may have queued the message */
        r->ops->progress(r->lane);
        usleep(1000);
    }
    pthread_mutex_lock(&ofi_of(r)->net.lock);
    atomic_store(&r->board->word[1][0], (uint64_t)getpid());
    _exit(0);
}

static bool has_failed(struct rank *r)
{
    bool failed;

    pthread_mutex_lock(&ofi_of(r)->net.lock);
    failed = !tern_base_list_empty(&ofi_of(r)->net.msg.failed);
    pthread_mutex_unlock(&ofi_of(r)->net.lock);
    return failed;
}

/* The receiver continues without the data of a sender that has died, also when it learns of the death after the fetch
 * has failed. */
static void fetch_from_dead(struct rank *r)
{
    begin_unfetched(r);
    while (!has_failed(r))
        EXPECT(look(r) == TERN_OK);
    atomic_store(&r->boot.segment->slot[1].fate, TERN_FATE_LOST);
    atomic_fetch_add(&r->boot.segment->losses, 1);
    while (has_failed(r))
        EXPECT(look(r) == TERN_OK);
    EXPECT(look(r) == TERN_OK);
    _exit(0);
}

/* The launcher reports no death of the sender: the error names the rank. A receiver that sleeps sees the error. */
static void fetch_that_fails(struct rank *r)
{
    struct tern_slot *slot = &r->boot.segment->slot[r->me];
    tern_status       st;

    begin_unfetched(r);
    while ((st = look(r)) == TERN_OK) {
        uint32_t seen = tern_boot_bell_announce(&slot->bell, &slot->sleepers);

        await_watcher(r);
        if ((st = look(r)) == TERN_OK)
            tern_boot_bell_wait(&slot->bell, seen, r->ops->may_sleep(r->link, false));
        tern_boot_bell_withdraw(&slot->sleepers);
        if (st != TERN_OK)
            break;
    }
    EXPECT(st == TERN_ERR_LINK && strstr(tern_base_detail(), "could not read the data of a message from rank 1"));
    _exit(0);
}

/* A lane whose thread computes keeps no other thread awake: it is called once. */
static void lane_of_another(struct rank *r)
{
    struct test_op    op = { .done = 0 };
    struct tern_lane *mine = r->lane;
    struct parts      p;

    begin(r, &p);
    start_rpc(r, &p, &op);
    EXPECT(r->ops->lane_open(r->link, &r->lane) == TERN_OK);
    atomic_store(&r->boot.segment->slot[1].fate, TERN_FATE_LOST);
    r->ops->may_sleep(r->link, false);
    for (int i = 0; i < 10; i++)
        EXPECT(r->ops->may_sleep(r->link, false) > 0);
    r->ops->lane_close(r->lane);
    r->lane = mine;
    finish_asleep(r, &op);
    EXPECT(op.status == TERN_ERR_PEER);
    end_all(r);
}

/* An operation that the provider refuses some times, and accepts later without an event on the descriptor. */
struct stubborn {
    struct net_ctx ctx;
    int            refusals;
    bool           accepted;
};

static int post_stubborn(struct net_link *net, struct net_ctx *ctx)
{
    struct stubborn *op = (struct stubborn *)ctx;

    if (op->refusals-- > 0)
        return -EAGAIN;
    op->accepted = true;
    tern_net_ring(net);
    return 0;
}

static void end_stubborn(struct net_link *net, struct net_ctx *ctx, int error)
{
    bool ended_although_refused = true;

    (void)net, (void)ctx, (void)error;
    EXPECT(!ended_although_refused);
}

/* The provider refuses an operation after the progress thread has gone to sleep. The thread that started it sleeps, and
 * the operation is tried again until the provider accepts it. */
static void refused(struct rank *r)
{
    struct net_link *net = &ofi_of(r)->net;
    struct stubborn  op = { .refusals = 5 };
    struct test_op   seen = { .done = 0 };
    struct parts     p;

    begin(r, &p);
    tern_net_ctx_init(&op.ctx, NULL, post_stubborn, end_stubborn);
    await_watcher(r);
    pthread_mutex_lock(&net->lock);
    tern_net_post(net, &op.ctx);
    pthread_mutex_unlock(&net->lock);
    while (!op.accepted)
        sleep_once(r, &seen);
    end_all(r);
}

/* The threads of the process were parked, as tern_region_adopt does: afterwards the progress thread sleeps again. */
static void after_parking(struct rank *r)
{
    struct tern_helper_park park;

    if (!ofi_of(r)->progress_thread.base.helper.running || ofi_of(r)->endpoint.wait_fd < 0)
        return;
    EXPECT(tern_boot_helpers_park(&park) >= 1);
    tern_boot_helpers_unpark(&park);
    while (!atomic_load(&ofi_of(r)->progress_thread.watching)) /* an alarm ends this */
        usleep(100);
}

#define SLEEP_TEST(body)                                     \
    static void test_##body(void **state)                    \
    {                                                        \
        const struct tern_link_ops *ops = link_named("ofi"); \
        (void)state;                                         \
        assert_non_null(ops);                                \
        run_link(ops, 2, 64, body);                          \
    }
SLEEP_TEST(put_to_dead)
SLEEP_TEST(rpc_to_dead)
SLEEP_TEST(put_to_departed)
SLEEP_TEST(rpc_to_departed)
SLEEP_TEST(memory_of_dead)
SLEEP_TEST(failed_put)
SLEEP_TEST(lane_of_another)
SLEEP_TEST(fetch_from_dead)
SLEEP_TEST(fetch_that_fails)
SLEEP_TEST(after_parking)
SLEEP_TEST(refused)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_to_dead),      cmocka_unit_test(test_rpc_to_dead),
        cmocka_unit_test(test_put_to_departed),  cmocka_unit_test(test_rpc_to_departed),
        cmocka_unit_test(test_failed_put),       cmocka_unit_test(test_memory_of_dead),
        cmocka_unit_test(test_lane_of_another),  cmocka_unit_test(test_fetch_from_dead),
        cmocka_unit_test(test_fetch_that_fails), cmocka_unit_test(test_after_parking),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests_name("link ofi, asleep", tests, default_options, NULL);
}
