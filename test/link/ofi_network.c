/* ofi_network.c: the promises of the network link beyond the common link contract.
 *
 * Promises: puts and gets complete although the target does not call Tern at all; a transfer that finds no space
 * returns TERN_AGAIN and has no effect; a transfer follows another without waiting only where the provider keeps them
 * in order; the program's buffers stay registered only up to the size that the option allows, and not after the program
 * invalidates them; messages from outside the job are dropped, and malformed messages of a rank are an error; memory
 * that is no longer exposed is not touched; an operation on a rank that died completes with TERN_ERR_PEER.
 */
#include "link_parts.h"

#include "link/ofi/ofi.h"

#define SIZE (1u << 20)
#define MANY 64

static struct ofi_link *ofi_of(const struct rank *r)
{
    return (struct ofi_link *)r->link;
}

/* Wait until rank's word has the value, without a call of the link. */
static void await_word(struct rank *r, int rank, uint64_t value)
{
    while (atomic_load(&r->board->word[rank][0]) < value)
        sched_yield();
}

static void tell(struct rank *r, uint64_t value)
{
    atomic_store(&r->board->word[r->me][0], value);
}

/* ---- a passive target ---- */

static void passive_target(struct rank *r)
{
    static unsigned char bytes[SIZE], back[SIZE];
    static const size_t  lens[] = { 1, 8, 64, 65, 4096, 4097, 65536, SIZE };
    struct parts         p;

    parts_make(r, &p, TERN_MEM_PRIVATE, SIZE);
    if (r->me == 1) {
        await_word(r, 0, 1);
        EXPECT(mark_holds(p.mine, SIZE, 0, 7)); /* the last put */
    } else {
        for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
            mark_fill(bytes, lens[i], 0, i);
            EXPECT(move(r, &p, 1, 0, bytes, lens[i], false) == TERN_OK);
            EXPECT(move(r, &p, 1, 0, back, lens[i], true) == TERN_OK);
            EXPECT(mark_holds(back, lens[i], 0, i));
        }
        tell(r, 1);
    }
    parts_drop(r, &p);
}

/* ---- no space ---- */

/* Start puts of one byte until there is no space. Returns the number outstanding. */
static int start_all(struct rank *r, struct parts *p, struct test_op *ops, unsigned char *source)
{
    int started = 0;

    for (; started < MANY; started++) {
        struct tern_xfer xfer = {
            .part = &p->part[1], .offset = (uint64_t)started, .local = &source[started], .len = 1
        };
        tern_status st;

        source[started] = (unsigned char)(started + 1);
        st = p->part[1].path->start(r->lane, &xfer, &ops[started].op);
        if (st == TERN_AGAIN)
            break;
        EXPECT(st == TERN_PENDING);
    }
    return started;
}

static void no_space(struct rank *r)
{
    static struct test_op ops[MANY];
    static unsigned char  source[MANY];
    struct parts          p;
    int                   started = 0;

    parts_make(r, &p, TERN_MEM_PRIVATE, 4096);
    EXPECT(move(r, &p, 1 - r->me, 2048, source, 1, false) == TERN_OK); /* the ranks are connected from now on */
    meet(r);
    if (r->me == 0) {
        started = start_all(r, &p, ops, source);
        EXPECT(started == 2); /* TERN_NET_WINDOW */
        for (int i = 0; i < 100; i++)
            r->ops->progress(r->lane);
        EXPECT(ops[0].done == 0 && ops[1].done == 0);
        tell(r, 1);
    } else {
        await_word(r, 0, 1); /* this rank does not call the link and has no progress thread, so nothing can complete */
    }
    meet(r);
    for (int i = 0; i < started; i++) {
        finish(r, &ops[i]);
        EXPECT(ops[i].status == TERN_OK);
    }
    meet(r);
    EXPECT(r->me == 0 || (p.mine[0] == 1 && p.mine[1] == 2 && p.mine[2] == 0));
    EXPECT(ops[started].done == 0); /* a refused operation is never reported */
    parts_drop(r, &p);
}

/* ---- order ---- */

/* Whether a transfer of len bytes to rank 1 may start at once behind the outstanding ones. */
static bool may_follow(struct rank *r, struct parts *p, size_t len, bool get)
{
    static unsigned char local[SIZE];
    struct tern_xfer     xfer = { .part = &p->part[1], .local = local, .len = len, .get = get };

    return p->part[1].path->keeps_order(r->lane, &xfer);
}

static void under_way(struct rank *r, struct parts *p, struct test_op *op, void *local, size_t len, bool get)
{
    struct tern_xfer xfer = { .part = &p->part[1], .local = local, .len = len, .get = get };

    *op = (struct test_op){ .done = 0 };
    EXPECT(p->part[1].path->start(r->lane, &xfer, &op->op) == TERN_PENDING);
}

/* Behind each kind of transfer: only transfers that the provider keeps in order may follow, and none may follow a
 * transfer that is not fully posted. The target is stopped, so nothing completes. */
static void order(struct rank *r)
{
    static unsigned char bytes[SIZE];
    struct ofi_endpoint *net = &ofi_of(r)->endpoint;
    struct parts         p;
    struct test_op       op;

    parts_make(r, &p, TERN_MEM_PRIVATE, SIZE);
    EXPECT(move(r, &p, 1 - r->me, 0, bytes, 1, false) == TERN_OK); /* the ranks are connected from now on */
    if (tern_opt.ofi_order == TERN_OFI_ORDER_COMPLETION)
        EXPECT(net->ordered[0][0] + net->ordered[0][1] + net->ordered[1][0] + net->ordered[1][1] == 0);
    for (int get = 0; get < 2; get++) {
        meet(r);
        if (r->me == 0) {
            EXPECT(may_follow(r, &p, 100, false) && may_follow(r, &p, 100, true)); /* behind nothing */
            under_way(r, &p, &op, bytes, 8, get);
            EXPECT(may_follow(r, &p, 100, false) == (net->ordered[get][0] >= 100));
            EXPECT(may_follow(r, &p, 100, true) == (net->ordered[get][1] >= 100));
            tell(r, (uint64_t)get * 2 + 1);
            finish(r, &op);
            under_way(r, &p, &op, bytes, SIZE, get); /* 256 work requests, of which one is posted at a time */
            EXPECT(!may_follow(r, &p, 1, false) && !may_follow(r, &p, 1, true));
            finish(r, &op);
            tell(r, (uint64_t)get * 2 + 2);
        } else {
            await_word(r, 0, (uint64_t)get * 2 + 1);
            while (atomic_load(&r->board->word[0][0]) < (uint64_t)get * 2 + 2)
                r->ops->progress(r->lane);
        }
    }
    meet(r);
    parts_drop(r, &p);
}

/* ---- registrations ---- */

/* The cached registration that was used last, or the one before. */
static struct ofi_mr_entry *used(struct ofi_link *ofi, bool before)
{
    struct tern_list *node = before ? ofi->mr_cache.next->next : ofi->mr_cache.next;

    return node != &ofi->mr_cache ? TERN_LIST_ITEM(node, struct ofi_mr_entry, node) : NULL;
}

static void cache(struct rank *r)
{
    struct ofi_link *ofi = ofi_of(r);
    unsigned char   *buffer = aligned_alloc(4096, 8 * 65536), *before;
    void            *mr;
    struct parts     p;

    EXPECT(buffer != NULL);
    parts_make(r, &p, TERN_MEM_PRIVATE, SIZE);
    mark_fill(buffer, 8 * 65536, r->me, 1);
    EXPECT(move(r, &p, 1 - r->me, 0, buffer, 65536, false) == TERN_OK);
    EXPECT(ofi->mr_cache_bytes == 65536 && used(ofi, false) && used(ofi, false)->uses == 0);
    mr = used(ofi, false)->mr.handle;
    EXPECT(move(r, &p, 1 - r->me, 0, buffer + 100, 60000, false) == TERN_OK); /* lies within a registered buffer */
    EXPECT(ofi->mr_cache_bytes == 65536 && used(ofi, false)->mr.handle == mr);
    for (size_t i = 1; i < 8; i++) { /* TERN_OFI_CACHE is 128K: the last two used stay registered */
        EXPECT(move(r, &p, 1 - r->me, 0, buffer + i * 65536, 65536, i % 2) == TERN_OK);
        EXPECT(ofi->mr_cache_bytes <= 2 * 65536 && used(ofi, false)->from == (uintptr_t)(buffer + i * 65536));
    }
    before = buffer + 6 * 65536;
    EXPECT(used(ofi, true)->from == (uintptr_t)before && used(ofi, true)->node.next == &ofi->mr_cache);
    r->ops->invalidate(r->link, before + 4096, 1);
    EXPECT(ofi->mr_cache_bytes == 65536 && used(ofi, false)->from == (uintptr_t)(buffer + 7 * 65536));
    r->ops->invalidate(r->link, NULL, SIZE); /* invalidates nothing that is cached */
    EXPECT(ofi->mr_cache_bytes == 65536);
    EXPECT(move(r, &p, 1 - r->me, 0, p.mine, 65536, true) == TERN_OK); /* a region is registered already */
    EXPECT(ofi->mr_cache_bytes == 65536);
    parts_drop(r, &p);
    free(buffer);
}

/* ---- strangers ---- */

static void send_raw(struct rank *r, int to, const void *bytes, size_t len)
{
    struct ofi_link *ofi = ofi_of(r);
    struct net_peer *peer;
    ssize_t          rc;

    do {
        pthread_mutex_lock(&ofi->net.lock);
        peer = tern_net_peer(&ofi->net, to);
        EXPECT(peer && (peer->known || tern_ofi_resolve(&ofi->net, peer) == TERN_OK));
        rc = fi_inject(ofi->endpoint.ep, bytes, len, peer->addr);
        pthread_mutex_unlock(&ofi->net.lock);
        turn(r);
    } while (rc == -FI_EAGAIN);
    EXPECT(rc == 0);
}

static unsigned delivered;

static void count_message(int from, unsigned channel, const unsigned char *head, const unsigned char *data, size_t len)
{
    EXPECT(from == 1 && channel == TERN_CHANNEL_REQUEST && head[0] == 77 && !data && len == 0);
    delivered++;
}

static uint64_t strangers(struct rank *r)
{
    struct ofi_link *ofi = ofi_of(r);
    uint64_t         count;

    pthread_mutex_lock(&ofi->net.lock);
    count = ofi->net.msg.strangers;
    pthread_mutex_unlock(&ofi->net.lock);
    return count;
}

/* Send messages of another job, messages from ranks that do not exist, and noise. */
static void send_strange(struct rank *r)
{
    struct net_header header = { .token = tern_net_wire_token(r->boot.segment->job + 1, 1, 0), .from_kind = 1u << 8 };
    unsigned char     bytes[NET_WIRE_HEAD] = { 0 };

    memcpy(bytes, &header, sizeof(header));
    send_raw(r, 0, bytes, sizeof(bytes));
    header.token = tern_net_wire_token(r->boot.segment->job, 9, 0);
    header.from_kind = 9u << 8;
    memcpy(bytes, &header, sizeof(header));
    send_raw(r, 0, bytes, sizeof(bytes));
    memset(bytes, 0xa5, sizeof(bytes));
    send_raw(r, 0, bytes, 1);
    send_raw(r, 0, bytes, sizeof(bytes));
}

static void strangers_are_dropped(struct rank *r)
{
    uint32_t             none = 0;
    struct tern_link_msg msg = { .peer = 0, .channel = TERN_CHANNEL_REQUEST };

    receiver = count_message;
    if (r->me == 0) {
        while (delivered == 0) {
            r->ops->msg->poll(r->link);
            EXPECT(deliver(r->link, TERN_CHANNEL_REQUEST) == TERN_OK);
        }
        EXPECT(strangers(r) == 4 && delivered == 1);
    } else {
        send_strange(r);
        EXPECT(r->ops->msg->send_short(r->link, msg.peer, msg.channel, 77, &none, 1) == TERN_OK);
    }
    while (!r->ops->msg->flushed(r->link))
        r->ops->msg->poll(r->link);
    meet(r);
}

/* Poll until the message is refused. */
static void expect_refusal(struct rank *r)
{
    tern_status st;

    do {
        r->ops->msg->poll(r->link);
        st = deliver(r->link, TERN_CHANNEL_REQUEST);
    } while (st == TERN_OK);
    EXPECT(st == TERN_ERR_LINK && strstr(tern_base_detail(), "rank 1"));
}

static struct net_header good_header(struct rank *r)
{
    return (struct net_header){ .token = tern_net_wire_token(r->boot.segment->job, 1, 0), .from_kind = 1u << 8 };
}

/* A message overtakes more messages than its sender may have outstanding. */
static void out_of_order(struct rank *r)
{
    struct net_header header = good_header(r);
    unsigned char     bytes[NET_WIRE_HEAD] = { 0 };

    header.seq = 60000;
    memcpy(bytes, &header, sizeof(header));
    if (r->me == 1)
        send_raw(r, 0, bytes, sizeof(bytes));
    else
        expect_refusal(r);
    meet(r);
}

/* The same message arrives twice, before its predecessor. */
static void twice(struct rank *r)
{
    struct net_header header = good_header(r);
    unsigned char     bytes[NET_WIRE_HEAD] = { 0 };

    header.seq = 1;
    memcpy(bytes, &header, sizeof(header));
    for (int i = 0; r->me == 1 && i < 2; i++)
        send_raw(r, 0, bytes, sizeof(bytes));
    if (r->me == 0)
        expect_refusal(r);
    meet(r);
}

/* The peer returns credit for a message that was never sent. */
static void too_much_credit(struct rank *r)
{
    struct net_header header = good_header(r);
    struct net_credit credit = { { 1, 0 } };
    unsigned char     bytes[sizeof(header) + sizeof(credit)];

    header.from_kind |= NET_CREDIT;
    memcpy(bytes, &header, sizeof(header));
    memcpy(bytes + sizeof(header), &credit, sizeof(credit));
    if (r->me == 1)
        send_raw(r, 0, bytes, sizeof(bytes));
    else
        expect_refusal(r);
    meet(r);
}

/* ---- credit ---- */

static enum tern_link_delivered take_note(int from, const unsigned char *head, bool copy)
{
    (void)from, (void)head, (void)copy;
    return TERN_LINK_TAKEN;
}

static uint64_t acked(struct rank *r, unsigned channel)
{
    struct ofi_link *ofi = ofi_of(r);
    uint64_t         count;

    pthread_mutex_lock(&ofi->net.lock);
    count = tern_net_peer(&ofi->net, 1)->out[channel].acked;
    pthread_mutex_unlock(&ofi->net.lock);
    return count;
}

/* With the longest queues, of 65536 notifications, credit for 40000 arrives at once, because earlier credit was held
 * up. The credit is accepted. A message in the other direction, whose header has 16 bits for the number, is not
 * mistaken for that credit. */
static void late_credit(struct rank *r)
{
    const unsigned    channels[] = { TERN_CHANNEL_NOTIFY, NET_PUT_NOTIFY };
    struct net_header header = good_header(r);
    struct net_credit credit = { { 0 } };
    unsigned char     bytes[sizeof(header) + sizeof(credit)];
    struct net_peer  *peer;
    uint32_t          none = 0;

    pthread_mutex_lock(&ofi_of(r)->net.lock);
    peer = tern_net_peer(&ofi_of(r)->net, 1 - r->me);
    for (int i = 0; i < 2; i++) {
        EXPECT(peer && ofi_of(r)->net.msg.shape[channels[i]].cells == 65536);
        peer->out[channels[i]].transmitted = r->me == 0 ? 40000 : 0;
        peer->in[channels[i]].received = peer->in[channels[i]].consumed = r->me == 1 ? 40000 : 0;
        credit.consumed[channels[i]] = 40000;
    }
    pthread_mutex_unlock(&ofi_of(r)->net.lock);
    meet(r);
    noter = take_note;
    header.from_kind |= NET_CREDIT;
    memcpy(bytes, &header, sizeof(header));
    memcpy(bytes + sizeof(header), &credit, sizeof(credit));
    if (r->me == 1) {
        EXPECT(r->ops->msg->send_short(r->link, 0, TERN_CHANNEL_NOTIFY, 77, &none, 1) == TERN_OK);
        EXPECT(peer->in[TERN_CHANNEL_NOTIFY].credited == 0);
        send_raw(r, 0, bytes, sizeof(bytes));
    } else {
        while (acked(r, NET_PUT_NOTIFY) == 0) {
            r->ops->msg->poll(r->link);
            EXPECT(deliver(r->link, TERN_CHANNEL_NOTIFY) == TERN_OK);
        }
        EXPECT(acked(r, NET_PUT_NOTIFY) == 40000 && acked(r, TERN_CHANNEL_NOTIFY) == 40000);
    }
    meet(r);
}

/* ---- unexposed memory and dead peers ---- */

static void concealed(struct rank *r)
{
    static unsigned char bytes[3 * 4096];
    struct parts         p, q;
    int                  other = 1 - r->me;
    tern_status          st;

    parts_make(r, &p, TERN_MEM_PRIVATE, SIZE);
    parts_make(r, &q, TERN_MEM_PRIVATE, SIZE);
    r->ops->unexpose(r->link, p.id);
    r->ops->unexpose(r->link, p.id); /* a second call does no harm */
    meet(r);
    memset(bytes, 0x77, sizeof(bytes));
    if (r->me == 0) {
        EXPECT(move(r, &p, other, 0, bytes, sizeof(bytes), false) < 0);
        EXPECT(move(r, &p, other, 0, bytes, sizeof(bytes), true) < 0);
        do /* a provider may close the connection over this, and need more than one attempt to reconnect */
            st = move(r, &q, other, 0, bytes, sizeof(bytes), false);
        while (st == TERN_ERR_PEER);
        EXPECT(st == TERN_OK); /* the link works again */
    }
    meet(r);
    for (size_t i = 0; i < SIZE; i++)
        EXPECT(p.mine[i] == 0 && q.mine[i] == (r->me == 1 && i < sizeof(bytes) ? 0x77 : 0));
    parts_drop(r, &p);
    parts_drop(r, &q);
}

/* Rank 1 exits with operations on it outstanding. This test does the launcher's part. */
static void dead_peer(struct rank *r)
{
    static unsigned char bytes[SIZE];
    struct tern_slot    *slot = &r->boot.segment->slot[1];
    struct parts         p;
    struct test_op       put = { .done = 0 }, get = { .done = 0 };

    r->boot.segment->on_failure = TERN_ON_FAILURE_RETURN;
    parts_make(r, &p, TERN_MEM_PRIVATE, SIZE);
    if (r->me == 1)
        _exit(0);
    while (atomic_load(&slot->fate) == TERN_FATE_RUNNING) { /* some before the death is known, some after it happened */
        struct tern_xfer out = { .part = &p.part[1], .local = bytes, .len = SIZE },
                         in = { .part = &p.part[1], .local = bytes, .len = SIZE, .get = true };
        EXPECT(p.part[1].path->start(r->lane, &out, &put.op) == TERN_PENDING);
        EXPECT(p.part[1].path->start(r->lane, &in, &get.op) == TERN_PENDING);
        atomic_store(&slot->fate, TERN_FATE_LOST);
        atomic_fetch_add(&r->boot.segment->losses, 1);
    }
    finish(r, &put);
    finish(r, &get);
    EXPECT(put.status == TERN_ERR_PEER || put.status == TERN_OK); /* rank 1 takes its time to exit */
    EXPECT(get.status == TERN_ERR_PEER || get.status == TERN_OK);
    EXPECT(move(r, &p, 1, 0, bytes, 8, false) == TERN_ERR_PEER);
    EXPECT(!LEAKS());
    _exit(0); /* no peer is left for a barrier */
}

/* ---- */

static void run(link_body *body)
{
    const struct tern_link_ops *ops = link_named("ofi");

    assert_non_null(ops);
    run_link(ops, 2, 64, body);
    default_options(NULL);
}

/* Run with every provider. The last one works on one machine only, but uses other code paths. It creates files in
 * /dev/shm, which remain when a rank dies. */
static void run_providers(link_body *body, bool dies)
{
    static const struct link_case cases[] = {
        { .name = "ofi", .ranks = { 2, 0 } },
        { .name = "ofi", .ranks = { 2, 0 }, .fabric = "mute" },
        { .name = "ofi", .ranks = { 2, 0 }, .provider = "net" },
        { .name = "ofi", .ranks = { 2, 0 }, .provider = "sockets" },
        { .name = "ofi", .ranks = { 2, 0 }, .provider = "shm" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) - dies; i++)
        run_case(&cases[i], 64, body);
}

static void test_passive_target(void **state)
{
    (void)state;
    run_providers(passive_target, false);
}

static void test_dead_peer(void **state)
{
    (void)state;
    run_providers(dead_peer, true);
}

#define NETWORK_TEST(body, ...)           \
    static void test_##body(void **state) \
    {                                     \
        (void)state;                      \
        __VA_ARGS__;                      \
        run(body);                        \
    }
NETWORK_TEST(no_space, tern_opt.net_window = 2, tern_opt.progress_thread = TERN_PROGRESS_THREAD_OFF)
NETWORK_TEST(order, tern_opt.net_chunk = 4096, tern_opt.net_pipeline = 1,
             tern_opt.progress_thread = TERN_PROGRESS_THREAD_OFF)
static void test_no_order(void **state)
{
    tern_opt.ofi_order = TERN_OFI_ORDER_COMPLETION;
    test_order(state);
}
NETWORK_TEST(cache, tern_opt.ofi_local = TERN_OFI_LOCAL_ALWAYS, tern_opt.ofi_mr_cache = 128 << 10)
NETWORK_TEST(strangers_are_dropped, (void)0)
NETWORK_TEST(out_of_order, (void)0)
NETWORK_TEST(twice, (void)0)
NETWORK_TEST(too_much_credit, (void)0)
NETWORK_TEST(late_credit, tern_opt.notify_queue = 65536)
NETWORK_TEST(concealed, (void)0)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passive_target),  cmocka_unit_test(test_no_space),
        cmocka_unit_test(test_order),           cmocka_unit_test(test_no_order),
        cmocka_unit_test(test_cache),           cmocka_unit_test(test_strangers_are_dropped),
        cmocka_unit_test(test_out_of_order),    cmocka_unit_test(test_twice),
        cmocka_unit_test(test_too_much_credit), cmocka_unit_test(test_concealed),
        cmocka_unit_test(test_late_credit),     cmocka_unit_test(test_dead_peer),
    };

    return cmocka_run_group_tests_name("link ofi", tests, default_options, NULL);
}
