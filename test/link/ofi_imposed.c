/* ofi_imposed.c: networks that fail, and peers that do not respond.
 *
 * Promises: a peer that makes no progress does not hold up transfers to other peers; a provider that cannot show when a
 * put has arrived is refused with the reason; failed receives do not use up buffers; a buffer is not posted again while
 * a message is being received into it; a completion queue that can no longer be read is an error, and not silence.
 *
 * Every link test (link_test.h) and job test runs with the other imposed restrictions.
 */
#include "link_parts.h"

#include "base/clock.h"
#include "link/ofi/ofi.h"

#define MANY 64
#define WINDOW 8

/* ---- a peer that makes no progress ---- */

static void stopped_peer(struct rank *r)
{
    static struct test_op ops[MANY];
    static unsigned char  byte[MANY];
    struct parts          p;
    int                   started = 0;

    parts_make(r, &p, TERN_MEM_PRIVATE, 4096);
    for (int to = 0; to < r->ranks; to++)
        EXPECT(move(r, &p, to, 0, byte, 1, false) == TERN_OK); /* the ranks are connected from now on */
    meet(r);
    if (r->me == 1) { /* as if the rank were stopped: it does nothing for its peers */
        pthread_mutex_lock(&((struct ofi_link *)r->link)->net.lock);
        atomic_store(&r->board->word[1][0], 1);
        while (atomic_load(&r->board->word[0][0]) == 0)
            usleep(1000);
        pthread_mutex_unlock(&((struct ofi_link *)r->link)->net.lock);
    } else if (r->me == 0) {
        while (atomic_load(&r->board->word[1][0]) == 0)
            usleep(1000);
        for (tern_status st = TERN_PENDING; started < MANY && st == TERN_PENDING; started += st == TERN_PENDING) {
            struct tern_xfer xfer = { .part = &p.part[1], .local = &byte[started], .len = 1 };
            st = p.part[1].path->start(r->lane, &xfer, &ops[started].op);
        }
        EXPECT(started == WINDOW);
        for (int i = 0; i < MANY; i++) /* one at a time, and as many work requests as one transfer may have */
            EXPECT(move(r, &p, 2, 1, byte, 1, i % 2) == TERN_OK);
        atomic_store(&r->board->word[0][0], 1);
    }
    for (int i = 0; i < started; i++) {
        finish(r, &ops[i]);
        EXPECT(ops[i].status == TERN_OK);
    }
    parts_drop(r, &p);
}

static void test_stopped_peer(void **state)
{
    (void)state;
    tern_opt.net_window = WINDOW;
    run_link(link_named("ofi"), 3, 64, stopped_peer);
    default_options(NULL);
}

/* ---- a provider that is refused ---- */

static void refused(scene_body *body)
{
    struct tern_fabric fabric;

    (void)body;
    test_fabric_impose("raw=0");
    EXPECT(tern_boot_fabric_choose(false, &fabric) == TERN_ERR_LINK);
    EXPECT(strstr(tern_base_detail(), "neither tells when a put has arrived"));
}

static void test_no_delivery(void **state)
{
    (void)state;
    run_alone(refused, NULL);
}

/* ---- receives that fail ---- */

/* Nothing here takes long. The limit turns a hang into a failure that names the missing event. */
#define LIMIT_NS 30000000000

static unsigned delivered;

static void count_message(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len)
{
    EXPECT(from == 0 && channel == TERN_CHANNEL_REQUEST && head[0] == 77 && !data && len == 0);
    delivered++;
}

/* More receives fail than there are buffers. */
static void lost_buffers(struct rank *r)
{
    uint32_t none = 0;
    int64_t  end = tern_base_now() + LIMIT_NS;

    receiver = count_message;
    if (r->me == 0)
        EXPECT(r->ops->msg->send_short(r->link, 1, TERN_CHANNEL_REQUEST, 77, &none, 1) == TERN_OK);
    while (r->me == 1 && delivered == 0) {
        r->ops->msg->poll(r->link);
        EXPECT(deliver(r->link, TERN_CHANNEL_REQUEST) == TERN_OK);
        EXPECT(tern_base_now() < end); /* the message has not arrived */
    }
    while (!r->ops->msg->flushed(r->link)) {
        r->ops->msg->poll(r->link);
        EXPECT(tern_base_now() < end); /* the credit has not arrived */
    }
    meet(r);
}

/* ---- messages that arrive after those behind them ---- */

#define LATE_COUNT 200u
#define LATE_LEN 6000u

static void check_message(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len)
{
    EXPECT(from == 0 && channel == TERN_CHANNEL_REQUEST && head[0] == (unsigned char)delivered && len == LATE_LEN);
    EXPECT(mark_holds(data, len, from, delivered));
    delivered++;
}

/* The receive buffers are reported as full several times while a message has not arrived. */
static void late_messages(struct rank *r)
{
    int64_t end = tern_base_now() + LIMIT_NS;

    receiver = check_message;
    for (unsigned i = 0; i < LATE_COUNT && r->me == 0; i++) {
        struct tern_link_msg msg = { .peer = 1, .channel = TERN_CHANNEL_REQUEST };

        while (r->ops->msg->open(r->link, &msg, LATE_LEN, LATE_LEN) == TERN_AGAIN)
            r->ops->msg->poll(r->link);
        memset(msg.head, (int)i, TERN_LINK_HEAD);
        mark_fill(msg.data, LATE_LEN, 0, i);
        r->ops->msg->send(r->link, &msg, LATE_LEN);
    }
    while (r->me == 1 && delivered < LATE_COUNT) {
        r->ops->msg->poll(r->link);
        EXPECT(deliver(r->link, TERN_CHANNEL_REQUEST) == TERN_OK);
        EXPECT(tern_base_now() < end); /* a message has not arrived */
    }
    while (!r->ops->msg->flushed(r->link)) {
        r->ops->msg->poll(r->link);
        EXPECT(tern_base_now() < end); /* the credit has not arrived */
    }
    meet(r);
}

/* ---- failures of the link ---- */

/* Poll until the failure is reported. */
static void expect_failure(struct rank *r, const char *what)
{
    int64_t     end = tern_base_now() + LIMIT_NS;
    tern_status st;

    do {
        r->ops->msg->poll(r->link);
        st = deliver(r->link, TERN_CHANNEL_REQUEST);
        EXPECT(tern_base_now() < end); /* the failure was not reported */
    } while (st == TERN_OK);
    EXPECT(st == TERN_ERR_LINK && strstr(tern_base_detail(), what));
    meet(r);
}

static void too_many_lost(struct rank *r)
{
    expect_failure(r, "receiving messages failed too often");
}

static void broken_queue(struct rank *r)
{
    expect_failure(r, "completion queue");
}

static void run_imposed(const char *fabric, link_body *body)
{
    test_fabric_impose(fabric);
    run_link(link_named("ofi"), 2, 64, body);
    test_fabric_impose(NULL);
}

static void test_lost_buffers(void **state)
{
    (void)state;
    run_imposed("lose=7", lost_buffers);
    run_imposed("lose=100", too_many_lost);
}

static void test_late_messages(void **state)
{
    (void)state;
    run_imposed("late=5", late_messages);
}

static void test_broken_queue(void **state)
{
    (void)state;
    run_imposed("broken=50", broken_queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stopped_peer),  cmocka_unit_test(test_no_delivery),  cmocka_unit_test(test_lost_buffers),
        cmocka_unit_test(test_late_messages), cmocka_unit_test(test_broken_queue),
    };

    return cmocka_run_group_tests_name("link ofi, imposed", tests, default_options, NULL);
}
