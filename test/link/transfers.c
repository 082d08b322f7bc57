/* transfers.c: the link contract, first half: parts and paths. One body runs over every link and number of ranks.
 *
 * Promises: a link reaches exactly the ranks that it reports; attach gives a path that moves exactly the requested
 * bytes, for every kind of memory and every size around the boundaries of chunks; a start that finds no space returns
 * TERN_AGAIN and has no effect; every outstanding operation is reported complete exactly once; lanes of several threads
 * do not disturb each other; an access to memory that is no longer exposed fails.
 *
 * timeout: 300
 * long: LINK_CASES=all
 */
#include <pthread.h>

#include "link_parts.h"

#define CHUNK 4096u
#define SIZE (CHUNK * 12)
#define GUARD 32u

static void reaches(struct rank *r)
{
    bool self = strcmp(r->ops->name, "self") == 0, tcp = strcmp(r->ops->name, "tcp") == 0;

    for (int peer = 0; peer < r->ranks; peer++)
        EXPECT(r->ops->reaches(r->link, peer) == (peer == r->me ? !tcp : !self));
    EXPECT(!r->ops->reaches(r->link, -1));
    EXPECT(!r->ops->reaches(r->link, r->ranks));
    EXPECT(!r->ops->reaches(r->link, INT32_MAX));
    EXPECT(!r->ops->reaches(r->link, INT32_MIN));
}

/* Put to the right neighbour, get the data back, and let the neighbour check its memory. */
static void one_size(struct rank *r, struct parts *p, size_t len, unsigned when)
{
    unsigned char *buffer = calloc(1, len + 1), *back = calloc(1, len + 2 * GUARD);
    uint64_t       offset = GUARD + when % 61;
    int            right = (r->me + 1) % r->ranks, left = (r->me + r->ranks - 1) % r->ranks;

    EXPECT(buffer && back);
    memset(p->mine, 0x5a, SIZE);
    memset(back, 0xa5, len + 2 * GUARD);
    mark_fill(buffer, len, r->me, when);
    meet(r);
    EXPECT(move(r, p, right, offset, buffer, len, false) == TERN_OK);
    EXPECT(mark_holds(buffer, len, r->me, when)); /* the source of a put is only read */
    EXPECT(move(r, p, right, offset, back + GUARD, len, true) == TERN_OK);
    EXPECT(mark_holds(back + GUARD, len, r->me, when));
    for (size_t i = 0; i < GUARD; i++)
        EXPECT(back[i] == 0xa5 && back[GUARD + len + i] == 0xa5);
    meet(r);
    EXPECT(mark_holds(p->mine + offset, len, left, when));
    for (size_t i = 0; i < offset; i++)
        EXPECT(p->mine[i] == 0x5a);
    for (size_t i = offset + len; i < SIZE; i++)
        EXPECT(p->mine[i] == 0x5a);
    free(buffer);
    free(back);
}

static void sizes(struct rank *r, uint32_t mem_kind, const char *path)
{
    static const size_t lens[] = { 1,
                                   2,
                                   7,
                                   8,
                                   63,
                                   64,
                                   65,
                                   CHUNK - 1,
                                   CHUNK,
                                   CHUNK + 1,
                                   2 * CHUNK - 1,
                                   2 * CHUNK,
                                   2 * CHUNK + 1,
                                   9 * CHUNK - 1,
                                   9 * CHUNK,
                                   9 * CHUNK + 1,
                                   SIZE - 128 };
    struct parts        p;

    parts_make(r, &p, mem_kind, SIZE);
    for (int rank = 0; rank < r->ranks; rank++)
        EXPECT(strcmp(p.part[rank].path->name, path) == 0);
    for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
        one_size(r, &p, lens[i], i * 7);
    parts_drop(r, &p);
}

static bool is_self(const struct rank *r)
{
    return strcmp(r->ops->name, "self") == 0;
}

static void every_place(struct rank *r)
{
    if (is_network(r)) {
        sizes(r, TERN_MEM_ARENA, r->ops->name);
        sizes(r, TERN_MEM_FILE, r->ops->name);
        sizes(r, TERN_MEM_PRIVATE, r->ops->name);
        EXPECT(!r->ops->service_needed(r->link));
        return;
    }
    sizes(r, TERN_MEM_ARENA, is_self(r) ? "self" : "shm");
    sizes(r, TERN_MEM_FILE, is_self(r) ? "self" : "shm");
    tern_opt.cma = TERN_CMA_AUTO;
    sizes(r, TERN_MEM_PRIVATE, is_self(r) ? "self" : "cma");
    tern_opt.cma = TERN_CMA_OFF;
    sizes(r, TERN_MEM_PRIVATE, is_self(r) ? "self" : "bounce");
    EXPECT(r->ops->service_needed(r->link) == !is_self(r)); /* the neighbour needs this rank's service */
}

/* A malformed memory handle is refused, and so is a file that is not the intended one. */
static void bad_cards(struct rank *r)
{
    struct tern_mem_handle handle = { .mem_kind = 77, .size = 4096 };
    struct tern_link_part  part = { .size = 4096 };

    if (is_self(r))
        return;
    EXPECT(r->ops->attach(r->link, &handle, "", &part) == TERN_ERR_LINK);
    if (is_network(r))
        return; /* the link does not open files */
    handle.mem_kind = TERN_MEM_FILE;
    EXPECT(r->ops->attach(r->link, &handle, "/nonexistent/file", &part) == TERN_ERR_SYSTEM);
    EXPECT(r->ops->attach(r->link, &handle, "/proc/self/exe", &part) < 0);
    EXPECT(part.path == NULL && part.base == NULL && part.mapped == 0); /* nothing to detach */
}

/* Start transfers until there is no space: the first refusal has no effect, and there is space again later. */
static void no_space(struct rank *r)
{
    enum { OPS = 8 };
    static struct test_op ops[OPS];
    static unsigned char  source[OPS][2 * CHUNK], check[CHUNK];
    struct parts          p;
    int                   right = (r->me + 1) % r->ranks, started = 0;
    tern_status           st = TERN_OK;

    if (is_chaotic(r) || is_network(r))
        return; /* chaos has its own buffer in front of the link: see unit/chaos_model; the network has its own test */
    parts_make(r, &p, TERN_MEM_PRIVATE, SIZE * 2);
    r->helps = false; /* no rank serves, so the chunks stay in use */
    meet(r);
    for (; started < OPS && st != TERN_AGAIN; started++) {
        struct tern_xfer xfer = {
            .part = &p.part[right], .offset = (uint64_t)started * 2 * CHUNK, .local = source[started], .len = 2 * CHUNK
        };
        mark_fill(source[started], 2 * CHUNK, r->me, (unsigned)started);
        memset(&ops[started], 0, sizeof(ops[started]));
        st = p.part[right].path->start(r->lane, &xfer, &ops[started].op);
        EXPECT(st == TERN_PENDING || st == TERN_AGAIN || (p.part[right].path->instant && st == TERN_OK));
    }
    if (!p.part[right].path->instant) {
        EXPECT(st == TERN_AGAIN && --started > 0); /* two shared chunks and the lane's own chunk */
        for (int i = 0; i < 10; i++)
            r->ops->progress(r->lane);
        for (int i = 0; i < OPS; i++)
            EXPECT(ops[i].done == 0);
    }
    meet(r);
    r->helps = true;
    for (int i = 0; i < started && !p.part[right].path->instant; i++)
        finish(r, &ops[i]);
    EXPECT(p.part[right].path->instant || ops[started].done == 0); /* a refused transfer is never reported */
    memset(check, 0, sizeof(check));
    EXPECT(move(r, &p, right, (uint64_t)started * 2 * CHUNK, check, CHUNK, true) == TERN_OK);
    for (size_t i = 0; i < CHUNK; i++)
        EXPECT(check[i] == 0); /* and has had no effect */
    meet(r);
    for (int i = 0; i < started; i++)
        EXPECT(mark_holds(p.mine + i * 2 * (int)CHUNK, 2 * CHUNK, (r->me + r->ranks - 1) % r->ranks, (unsigned)i));
    EXPECT(move(r, &p, right, 0, source[0], 2 * CHUNK, false) == TERN_OK); /* there is space again */
    parts_drop(r, &p);
}

/* After a cancel the link leaves the local memory alone, and the operation still completes. */
static void cancelled(struct rank *r)
{
    static unsigned char local[8 * CHUNK];
    struct parts         p;
    struct test_op       op = { .done = 0 };
    int                  right = (r->me + 1) % r->ranks;

    parts_make(r, &p, TERN_MEM_PRIVATE, SIZE);
    memset(p.mine, 0x11, SIZE);
    meet(r);
    if (!p.part[right].path->instant) {
        struct tern_xfer xfer = { .part = &p.part[right], .local = local, .len = sizeof(local), .get = true };
        tern_status      st;

        do { /* chaos may refuse the transfer, or may pass on one that the link behind completes at once */
            memset(local, 0x22, sizeof(local));
            st = p.part[right].path->start(r->lane, &xfer, &op.op);
            EXPECT(st == TERN_PENDING || is_chaotic(r));
        } while (st != TERN_PENDING);
        r->ops->cancel(r->lane, &op.op);
        finish(r, &op);
        for (size_t i = 0; i < sizeof(local) && !is_network(r); i++) /* the network cannot be held up */
            EXPECT(local[i] == 0x22);
    }
    parts_drop(r, &p);
}

/* Memory that is no longer exposed is not touched; the transfer fails with TERN_ERR_LINK. */
static void concealed(struct rank *r)
{
    static unsigned char bytes[CHUNK * 3];
    struct parts         p;
    int                  right = (r->me + 1) % r->ranks;

    parts_make(r, &p, TERN_MEM_PRIVATE, SIZE);
    r->ops->unexpose(r->link, p.id);
    r->ops->unexpose(r->link, p.id); /* a second call does no harm */
    meet(r);
    if (!p.part[right].path->instant && !p.part[right].path->self_progress) {
        memset(bytes, 0x77, sizeof(bytes));
        EXPECT(move(r, &p, right, 0, bytes, sizeof(bytes), false) == TERN_ERR_LINK);
        EXPECT(move(r, &p, right, 0, bytes, sizeof(bytes), true) == TERN_ERR_LINK);
        for (size_t i = 0; i < sizeof(bytes); i++)
            EXPECT(bytes[i] == 0x77);
    }
    meet(r);
    for (size_t i = 0; i < SIZE; i++)
        EXPECT(p.mine[i] == 0);
    parts_drop(r, &p);
}

/* Threads with a lane each share the chunks of the process. The main thread serves. */
struct lane_thread {
    struct rank   rank; /* a copy with its own lane */
    struct parts *parts;
    int           number;
    pthread_t     thread;
    _Atomic int  *running;
};

static void *lane_run(void *arg)
{
    struct lane_thread *t = arg;
    struct rank        *r = &t->rank;
    unsigned char      *buffer = malloc(3 * CHUNK), *back = malloc(3 * CHUNK);
    uint64_t            at = ((uint64_t)r->me * 4 + (uint64_t)t->number) * 3 * CHUNK;

    EXPECT(buffer && back);
    for (unsigned i = 0; i < (JOB_SANITIZED ? 20 : 60); i++) {
        size_t len = 1 + (i * 997) % (3 * CHUNK - 1);
        int    to = (int)i % r->ranks;

        to = r->ops->reaches(r->link, to) ? to : (to + 1) % r->ranks;
        mark_fill(buffer, len, r->me * 4 + t->number, i);
        EXPECT(move(r, t->parts, to, at, buffer, len, false) == TERN_OK);
        EXPECT(move(r, t->parts, to, at, back, len, true) == TERN_OK);
        EXPECT(mark_holds(back, len, r->me * 4 + t->number, i));
    }
    free(buffer);
    free(back);
    atomic_fetch_sub(t->running, 1);
    return NULL;
}

static void lanes(struct rank *r)
{
    struct lane_thread threads[4];
    _Atomic int        running = 4;
    struct parts       p;

    parts_make(r, &p, TERN_MEM_PRIVATE, (uint64_t)r->ranks * 4 * 3 * CHUNK);
    for (int i = 0; i < 4; i++) {
        threads[i] = (struct lane_thread){ .rank = *r, .parts = &p, .number = i, .running = &running };
        threads[i].rank.helps = false;
        EXPECT(r->ops->lane_open(r->link, &threads[i].rank.lane) == TERN_OK);
        EXPECT(pthread_create(&threads[i].thread, NULL, lane_run, &threads[i]) == 0);
    }
    while (atomic_load(&running) > 0)
        turn(r);
    for (int i = 0; i < 4; i++) {
        EXPECT(pthread_join(threads[i].thread, NULL) == 0);
        r->ops->lane_close(threads[i].rank.lane);
    }
    parts_drop(r, &p);
}

static void bounce_options(void)
{
    default_options(NULL);
    tern_opt.cma = TERN_CMA_OFF;
    tern_opt.bounce_chunk = CHUNK;
    tern_opt.bounce_chunks = 2;
}

#define LINK_TEST(body)                   \
    static void test_##body(void **state) \
    {                                     \
        (void)state;                      \
        bounce_options();                 \
        run_links(64, body);              \
    }
LINK_TEST(reaches)
LINK_TEST(every_place)
LINK_TEST(bad_cards)
LINK_TEST(no_space)
LINK_TEST(cancelled)
LINK_TEST(concealed)
LINK_TEST(lanes)

/* The network in all the modes that some provider requires: registered local buffers, delivery confirmed by a read,
 * work requests and buffers of all sizes, one work request at a time. */
static void test_network_modes(void **state)
{
    static const struct {
        int      local, delivery;
        uint64_t bounce, chunk;
        int64_t  pipeline, window;
    } modes[] = {
        { TERN_OFI_LOCAL_ALWAYS, TERN_OFI_DELIVERY_AUTO, 4096, 1 << 20, 4, 128 },
        { TERN_OFI_LOCAL_AUTO, TERN_OFI_DELIVERY_READ, 4096, 1 << 20, 4, 128 },
        { TERN_OFI_LOCAL_ALWAYS, TERN_OFI_DELIVERY_READ, 256, 4096, 1, 2 },
        { TERN_OFI_LOCAL_AUTO, TERN_OFI_DELIVERY_AUTO, 1 << 20, 4096, 4, 8 },
    };
    const struct tern_link_ops *ops = link_named("ofi"), *tcp = link_named("tcp");

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        default_options(NULL);
        tern_opt.ofi_local = modes[i].local;
        tern_opt.ofi_delivery = modes[i].delivery;
        tern_opt.ofi_bounce = modes[i].bounce;
        tern_opt.net_chunk = modes[i].chunk;
        tern_opt.net_pipeline = modes[i].pipeline;
        tern_opt.net_window = modes[i].window;
        if (ops)
            run_link(ops, 2, 64, every_place), run_link(ops, 2, 64, lanes);
        if (modes[i].local == TERN_OFI_LOCAL_AUTO || modes[i].window == 2) /* local and delivery do not concern it */
            run_link(tcp, 2, 64, every_place), run_link(tcp, 2, 64, lanes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reaches),  cmocka_unit_test(test_every_place),   cmocka_unit_test(test_bad_cards),
        cmocka_unit_test(test_no_space), cmocka_unit_test(test_cancelled),     cmocka_unit_test(test_concealed),
        cmocka_unit_test(test_lanes),    cmocka_unit_test(test_network_modes),
    };

    return cmocka_run_group_tests_name("link transfers", tests, default_options, NULL);
}
