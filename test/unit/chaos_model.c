/* chaos_model.c: chaos in front of a link that only records its calls.
 *
 * Promise: every transfer is started once on the path behind and reported once, by progress; over many seeds, transfers
 * to one rank arrive in every possible order, and in program order where overtaking is not allowed; a full lane, or a
 * path behind that has no space, causes back-pressure; a cancelled transfer touches nothing and still completes.
 * Messages of one sender stay in order, messages of several senders arrive in every order, each once and unchanged, and
 * chaos holds back a limited number of them. A rank leaves a barrier late, but leaves it. Chaos has no capability that
 * the link behind does not have.
 *
 * builds: release debug asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "link/chaos/chaos.h"

#define MOST 4096
#define SEGMENT_BYTES (sizeof(struct tern_segment) + sizeof(struct tern_slot)) /* one rank: no more is read */

/* The events behind chaos and those that it reported, as characters. */
static char   events[MOST];
static size_t count;

static void note(char letter)
{
    assert_true(count < MOST - 1);
    events[count++] = letter;
    events[count] = '\0';
}

static void forget(void)
{
    count = 0;
    events[0] = '\0';
}

/* ---- the link behind ---- */

static const struct tern_link_up *behind_up;
static unsigned                   behind_full; /* number of next starts that find no space */
static bool                       behind_came; /* whether a barrier is over */

struct incoming {
    int      from;
    uint32_t number, len;
};
static struct incoming *incoming;
static _Atomic uint32_t incoming_left;

static tern_status            fake_deliver(struct tern_link_watch *watch);
static struct tern_link_watch behind_watch;

static tern_status fake_start(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    assert_true((void *)lane == (void *)&behind_up && op != NULL);
    if (behind_full > 0) {
        behind_full--;
        return TERN_AGAIN;
    }
    note((char)('a' + xfer->offset));
    return xfer->len == 13 ? TERN_ERR_LINK : TERN_OK;
}
static const struct tern_link_path fake_path = { .name = "fake", .instant = true, .start = fake_start };

static tern_status fake_open(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out)
{
    (void)boot;
    behind_up = up;
    *out = (struct tern_link *)&behind_full;
    behind_watch = (struct tern_link_watch){ .word = &incoming_left, .deliver = fake_deliver, .link = *out };
    return up->watch(&behind_watch);
}

static void fake_close(struct tern_link *link)
{
    assert_true((void *)link == (void *)&behind_full);
}

static tern_status fake_attach(struct tern_link *link, const struct tern_mem_handle *handle, const char *name,
                               struct tern_link_part *part)
{
    (void)link, (void)handle, (void)name;
    part->path = &fake_path;
    part->base = (unsigned char *)events;
    return TERN_OK;
}

static void fake_detach(struct tern_link *link, struct tern_link_part *part)
{
    (void)link;
    assert_ptr_equal(part->path, &fake_path);
}

static tern_status fake_lane_open(struct tern_link *link, struct tern_lane **out)
{
    (void)link;
    *out = (struct tern_lane *)&behind_up;
    return TERN_OK;
}

static void fake_lane_close(struct tern_lane *lane)
{
    assert_true((void *)lane == (void *)&behind_up);
}

static void fake_progress(struct tern_lane *lane)
{
    (void)lane;
}

static void fake_cancel(struct tern_lane *lane, struct tern_link_op *op)
{
    (void)lane, (void)op;
    note('!');
}

static tern_status fake_deliver(struct tern_link_watch *watch)
{
    static unsigned char data[4096];
    unsigned char        head[TERN_LINK_HEAD] = { 0 };

    assert_ptr_equal(watch, &behind_watch);
    for (int i = 0; i < 16 && incoming_left > 0; i++, incoming++, incoming_left--) {
        memcpy(head, &incoming->number, sizeof(incoming->number));
        memset(data, (int)incoming->number, incoming->len);
        behind_up->message(incoming->from, watch->channel, head, incoming->len ? data : NULL, incoming->len);
        memset(data, 0xee, incoming->len); /* chaos has copied what it keeps */
    }
    return TERN_OK;
}

static struct tern_link_group      behind_group;
static const struct tern_group_ops fake_group;

static tern_status fake_group_open(struct tern_link *link, const struct tern_link_group *as,
                                   struct tern_link_group **out)
{
    (void)link, (void)as;
    behind_group.ops = &fake_group;
    *out = &behind_group;
    return TERN_OK;
}

static void fake_group_close(struct tern_link_group *group)
{
    assert_ptr_equal(group, &behind_group);
}

static void fake_arrive(struct tern_link_group *group)
{
    assert_ptr_equal(group, &behind_group);
    note('@');
}

static bool fake_arrived(struct tern_link_group *group)
{
    assert_ptr_equal(group, &behind_group);
    return behind_came;
}

static const struct tern_group_ops fake_group = {
    .open = fake_group_open,
    .close = fake_group_close,
    .arrive = fake_arrive,
    .arrived = fake_arrived,
};

static const struct tern_msg_ops fake_msg = { .polled = false };

static const struct tern_link_ops fake_ops = {
    .name = "fake",
    .msg = &fake_msg,
    .group = &fake_group,
    .open = fake_open,
    .close = fake_close,
    .attach = fake_attach,
    .detach = fake_detach,
    .lane_open = fake_lane_open,
    .lane_close = fake_lane_close,
    .progress = fake_progress,
    .cancel = fake_cancel,
};

/* ---- the user of chaos ---- */

struct tested {
    const struct tern_link_ops *ops;
    struct tern_boot            boot;
    struct tern_link           *link;
    struct tern_lane           *lane;
    struct tern_link_part       part;
};

struct op {
    struct tern_link_op op; /* first member: the link passes it back */
    unsigned            done;
    tern_status         status;
};

static uint32_t                got[MOST], sender[MOST];
static size_t                  got_count;
static struct tern_link_watch *watches[8];
static unsigned                watch_count;

static void up_done(struct tern_link_op *op, tern_status status)
{
    ((struct op *)op)->done++;
    ((struct op *)op)->status = status;
}

static void up_message(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len)
{
    assert_int_equal(channel, 0);
    memcpy(&got[got_count], head, sizeof(got[0]));
    for (size_t i = 0; i < len; i++)
        assert_int_equal(data[i], (unsigned char)got[got_count]);
    sender[got_count++] = (uint32_t)from;
}

static tern_status up_watch(struct tern_link_watch *watch)
{
    assert_true(watch_count < 8);
    watches[watch_count++] = watch;
    return TERN_OK;
}
static const struct tern_link_up up = { .done = up_done, .message = up_message, .watch = up_watch };

/* Deliver the messages that a watch announces. Returns false if there are none. */
static bool poll_watches(void)
{
    bool any = false;

    for (unsigned i = 0; i < watch_count; i++)
        if (tern_link_watch_ready(watches[i])) {
            assert_int_equal(watches[i]->deliver(watches[i]), TERN_OK);
            any = true;
        }
    return any;
}

static void tested_open(struct tested *t, const char *text)
{
    struct tern_chaos      chaos;
    struct tern_mem_handle handle = { .size = 1 };

    *t = (struct tested){ .boot = { .rank = 0, .ranks = 1 } };
    forget();
    got_count = 0;
    watch_count = 0;
    assert_int_equal(tern_base_chaos_parse(text, &chaos), TERN_OK);
    assert_non_null(t->ops = tern_chaos_wrap(&fake_ops, &chaos));
    assert_non_null(t->boot.segment = aligned_alloc(64, SEGMENT_BYTES));
    memset(t->boot.segment, 0, SEGMENT_BYTES);
    assert_int_equal(t->ops->open(&t->boot, &up, &t->link), TERN_OK);
    assert_int_equal(t->ops->lane_open(t->link, &t->lane), TERN_OK);
    assert_int_equal(t->ops->attach(t->link, &handle, "", &t->part), TERN_OK);
    assert_string_equal(t->part.path->name, "fake");
    assert_true(!t->part.path->instant && t->part.path->self_progress && t->part.base == (unsigned char *)events);
}

static void tested_close(struct tested *t)
{
    t->ops->detach(t->link, &t->part);
    t->ops->lane_close(t->lane);
    t->ops->close(t->link);
    free(t->boot.segment);
}

static tern_status start(struct tested *t, struct op *op, unsigned which, size_t len)
{
    static unsigned char local[64];
    struct tern_xfer     xfer = { .part = &t->part, .offset = which, .local = local, .len = len };
    tern_status          st;

    memset(op, 0, sizeof(*op));
    while ((st = t->part.path->start(t->lane, &xfer, &op->op)) == TERN_AGAIN)
        t->ops->progress(t->lane);
    assert_int_equal(op->done, 0);
    return st;
}

/* Start n transfers, and make progress until all are reported. */
static void run_transfers(struct tested *t, unsigned n)
{
    struct op ops[26];
    bool      pending[26];

    for (unsigned i = 0; i < n; i++) {
        tern_status st = start(t, &ops[i], i, 1);
        assert_true(st == TERN_OK || st == TERN_PENDING);
        pending[i] = st == TERN_PENDING;
    }
    for (unsigned i = 0; i < n; i++)
        for (int looks = 0; pending[i] && ops[i].done == 0; looks++) {
            assert_true(looks < 10000);
            t->ops->progress(t->lane);
        }
    for (int i = 0; i < 100; i++)
        t->ops->progress(t->lane);
    for (unsigned i = 0; i < n; i++)
        assert_true(ops[i].done == (unsigned)pending[i] && (!pending[i] || ops[i].status == TERN_OK));
    assert_int_equal(count, n);
}

static void every_order_happens(void **state)
{
    static const char *const orders[] = { "abc", "acb", "bac", "bca", "cab", "cba" };
    unsigned                 seen[6] = { 0 }, kept = 0;
    char                     text[64];

    (void)state;
    for (int seed = 0; seed < 300; seed++) {
        struct tested t;

        snprintf(text, sizeof(text), "seed=%d", seed);
        tested_open(&t, text);
        run_transfers(&t, 3);
        for (unsigned i = 0; i < 6; i++)
            seen[i] += strcmp(events, orders[i]) == 0;
        tested_close(&t);
        snprintf(text, sizeof(text), "seed=%d,reorder=0", seed);
        tested_open(&t, text);
        run_transfers(&t, 26);
        kept += strcmp(events, "abcdefghijklmnopqrstuvwxyz") == 0;
        tested_close(&t);
    }
    for (unsigned i = 0; i < 6; i++)
        assert_true(seen[i] > 0);
    assert_int_equal(kept, 300);
}

static void equal_seeds_equal_courses(void **state)
{
    char          first[MOST];
    struct tested t;

    (void)state;
    tested_open(&t, "seed=11");
    run_transfers(&t, 26);
    memcpy(first, events, count + 1);
    tested_close(&t);
    tested_open(&t, "seed=11");
    run_transfers(&t, 26);
    assert_string_equal(first, events);
    tested_close(&t);
    tested_open(&t, "seed=12");
    run_transfers(&t, 26);
    assert_string_not_equal(first, events);
    tested_close(&t);
}

/* A failure behind is reported; a lack of space behind is waited for. */
static void behind_fails_or_is_full(void **state)
{
    (void)state;
    for (int seed = 0; seed < 50; seed++) {
        struct tested t;
        struct op     op;
        char          text[32];
        tern_status   st;

        snprintf(text, sizeof(text), "seed=%d", seed);
        tested_open(&t, text);
        st = start(&t, &op, 0, 13);
        for (int i = 0; i < 1000; i++)
            t.ops->progress(t.lane);
        assert_true(st == TERN_PENDING ? op.done == 1 && op.status == TERN_ERR_LINK : st == TERN_ERR_LINK);
        forget();
        behind_full = 5;
        st = start(&t, &op, 0, 1);
        for (int i = 0; i < 1000; i++)
            t.ops->progress(t.lane);
        assert_true(st == TERN_PENDING && op.done == 1 && op.status == TERN_OK && behind_full == 0 && count == 1);
        tested_close(&t);
    }
}

static void full_lane(void **state)
{
    static unsigned char local;
    struct tested        t;
    struct op            ops[CHAOS_HELD + 1];
    struct tern_xfer     xfer;
    unsigned             started = 0, at_once = 0;

    (void)state;
    tested_open(&t, "seed=1,delay=1000000,again=0,stall=0");
    xfer = (struct tern_xfer){ .part = &t.part, .local = &local, .len = 1 };
    memset(ops, 0, sizeof(ops));
    while (started < CHAOS_HELD) {
        tern_status st = t.part.path->start(t.lane, &xfer, &ops[started].op);
        assert_true(st == TERN_PENDING || st == TERN_OK);
        started += st == TERN_PENDING;
        at_once += st == TERN_OK;
    }
    assert_int_equal(t.part.path->start(t.lane, &xfer, &ops[CHAOS_HELD].op), TERN_AGAIN);
    assert_true(count == at_once && at_once > 0);
    tested_close(&t); /* with all of them held back */
}

static void cancelled(void **state)
{
    struct tested t;
    struct op     op;

    (void)state;
    tested_open(&t, "seed=1,again=0,delay=50,stall=0");
    while (start(&t, &op, 3, 1) != TERN_PENDING)
        ;
    forget();
    t.ops->cancel(t.lane, &op.op);
    for (int i = 0; i < 60; i++)
        t.ops->progress(t.lane);
    assert_true(op.done == 1 && count == 0); /* it never started */
    op.done = 0;
    t.ops->cancel(t.lane, &op.op); /* an operation that the link behind has */
    assert_string_equal(events, "!");
    tested_close(&t);
}

/* Messages of three senders: each sender's arrive in order, and together they arrive in an order that the seed
 * decides. */
static void receive(const char *text, size_t n, uint32_t len)
{
    struct incoming *all = calloc(n, sizeof(*all));
    uint32_t         next[3] = { 0 };
    struct tested    t;

    assert_non_null(all);
    for (size_t i = 0; i < n; i++)
        all[i] = (struct incoming){ .from = (int)(i % 3), .number = (uint32_t)i, .len = i % 2 ? len : 0 };
    tested_open(&t, text);
    incoming = all;
    incoming_left = (uint32_t)n;
    while (poll_watches()) {
        struct chaos_inbox *inbox = &tern_chaos_link(t.link)->inbox[0];
        assert_true(inbox->count <= CHAOS_HELD && inbox->bytes <= CHAOS_HELD_BYTES);
    }
    assert_int_equal(got_count, n);
    for (size_t i = 0; i < n; i++) {
        assert_true(got[i] % 3 == sender[i] && got[i] / 3 == next[sender[i]]);
        next[sender[i]]++;
    }
    tested_close(&t);
    free(all);
}

static void messages(void **state)
{
    unsigned orders[3] = { 0 }, in_order = 0;
    char     text[64];

    (void)state;
    for (int seed = 0; seed < 100; seed++) {
        snprintf(text, sizeof(text), "seed=%d", seed);
        receive(text, 3, 10);
        orders[got[0]]++;
        receive(text, 600, 4096);
        snprintf(text, sizeof(text), "seed=%d,reorder=0", seed);
        receive(text, 30, 10);
        for (size_t i = 0; i < 30; i++)
            in_order += got[i] == i;
    }
    assert_true(orders[0] > 0 && orders[1] > 0 && orders[2] > 0);
    assert_int_equal(in_order, 3000);
    receive("seed=1,delay=1000000,stall=0", 2000, 4096); /* much more than chaos holds back */
}

/* Messages that are still held back when the link is closed are released. */
static void messages_left(void **state)
{
    struct incoming one[5] = { { 0, 0, 100 }, { 0, 1, 0 }, { 1, 2, 10 }, { 1, 3, 10 }, { 2, 4, 10 } };
    struct tested   t;

    (void)state;
    tested_open(&t, "seed=4,delay=1000000,stall=0");
    incoming = one;
    incoming_left = 5;
    assert_true(poll_watches());
    assert_true(got_count < 5 && poll_watches());
    tested_close(&t);
}

/* A watch that is registered later, from any thread, belongs to the right one of several channels. */
static void late_watch(void **state)
{
    struct tern_link_watch late;
    struct incoming        one = { 1, 7, 10 };
    struct tested          t;
    unsigned               shown;

    (void)state;
    tested_open(&t, "seed=4,delay=0,stall=0");
    shown = watch_count;
    late = behind_watch;
    assert_int_equal(behind_up->watch(&late), TERN_OK);
    assert_true(watch_count == shown + 1 && watches[shown]->link == t.link && watches[shown] != &late);
    incoming = &one;
    incoming_left = 1;
    assert_true(poll_watches());
    assert_true(got_count == 1 && got[0] == 7);
    tested_close(&t);
}

static void barriers(void **state)
{
    struct tern_link_group as = { .id = 0, .size = 1, .me = 0 }, *group;
    struct tested          t;
    unsigned               late = 0;

    (void)state;
    tested_open(&t, "seed=6,delay=20");
    assert_int_equal(t.ops->group->open(t.link, &as, &group), TERN_OK);
    assert_ptr_equal(group, &behind_group);
    assert_ptr_not_equal(group->ops, &fake_group); /* chaos is in front of it */
    for (int i = 0; i < 100; i++) {
        unsigned looks = 0;

        behind_came = false;
        group->ops->arrive(group);
        assert_true(count == 1);
        forget();
        for (int k = 0; k < 50; k++)
            assert_false(group->ops->arrived(group));
        behind_came = true;
        while (!group->ops->arrived(group))
            assert_true(++looks <= 20);
        late += looks > 0;
        assert_true(group->ops->arrived(group)); /* stays true */
    }
    assert_true(late > 50 && late < 100);
    group->ops->close(group);
    tested_close(&t);
}

static void places(void **state)
{
    struct tern_link_ops        many[TERN_LINKS_MAX];
    struct tern_chaos           chaos;
    const struct tern_link_ops *front = NULL;

    (void)state;
    assert_int_equal(tern_base_chaos_parse("on", &chaos), TERN_OK);
    assert_ptr_equal(tern_chaos_wrap(&fake_ops, &chaos), tern_chaos_wrap(&fake_ops, &chaos));
    for (int i = 0; i < TERN_LINKS_MAX; i++) {
        many[i] = fake_ops;
        many[i].group = NULL;
        front = tern_chaos_wrap(&many[i], &chaos);
        assert_true((front != NULL) == (i < TERN_LINKS_MAX - 1));
        assert_true(front == NULL || front->group == NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_happens),
        cmocka_unit_test(equal_seeds_equal_courses),
        cmocka_unit_test(behind_fails_or_is_full),
        cmocka_unit_test(full_lane),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(messages),
        cmocka_unit_test(messages_left),
        cmocka_unit_test(late_watch),
        cmocka_unit_test(barriers),
        cmocka_unit_test(places),
    };

    return cmocka_run_group_tests_name("chaos model", tests, NULL, NULL);
}
