/* rpc.c: the link contract: RPC. One body runs over every link that has RPC, and every number of ranks.
 *
 * Promises: the target serves exactly the request that was written, byte by byte, once, on the part that was named; the
 * response arrives once, before the RPC is reported complete, which happens once; an RPC that finds no buffer returns
 * TERN_AGAIN; a cancelled RPC gets no response, but completes; an RPC that the target refuses, or that names an unknown
 * part, fails.
 *
 * long: LINK_CASES=all
 */
#include "link_parts.h"

#define SIZE 65536u
#define MOST 64 /* outstanding RPCs */

static unsigned char *ground_base;
static _Atomic int    served;

struct rpc {
    struct test_op       op;
    int                  right;
    unsigned             when;
    size_t               request, answer;
    unsigned             answers; /* responses that have arrived */
    const unsigned char *space;
};

/* The first bytes of a request: the instructions for the server. */
struct wish {
    uint32_t when, from, answer, refuse;
};

static unsigned char byte_of(uint32_t from, uint32_t when, size_t i)
{
    return (unsigned char)(from * 97 + when * 31 + i * 7 + i / 253);
}

static tern_status serve_wish(const struct tern_target_mem *ground, const unsigned char *request, size_t len,
                              unsigned char *answer, size_t space, size_t *answered)
{
    struct wish w;

    EXPECT(len >= sizeof(w));
    memcpy(&w, request, sizeof(w));
    EXPECT(ground->base == ground_base && ground->size == SIZE && space == w.answer);
    for (size_t i = sizeof(w); i < len; i++)
        EXPECT(request[i] == byte_of(w.from, w.when, i));
    for (size_t i = 0; i < w.answer; i++)
        answer[i] = byte_of(w.from + 1, w.when, i);
    atomic_fetch_add(&served, 1);
    *answered = w.answer;
    return w.refuse ? TERN_ERR_LINK : TERN_OK;
}

static void take_answer(struct tern_link_op *op, const unsigned char *bytes, size_t len)
{
    struct rpc *e = (struct rpc *)op;

    EXPECT(e->op.done == 0 && len == e->answer);
    for (size_t i = 0; i < len; i++)
        EXPECT(bytes[i] == byte_of((uint32_t)this_rank + 1, e->when, i));
    __atomic_fetch_add(&e->answers, 1, __ATOMIC_RELAXED); /* by another thread; done orders it */
}

/* Make memory whose path has RPC. Returns false if the link has none. */
static bool ground_make(struct rank *r, struct parts *p)
{
    if (!r->ops->rpc)
        return false;
    server = serve_wish;
    parts_make(r, p, is_network(r) ? TERN_MEM_ARENA : TERN_MEM_PRIVATE, SIZE);
    ground_base = p->mine;
    EXPECT(p->part[0].path->rpc);
    meet(r);
    return true;
}

static tern_status rpc_try(struct rank *r, struct parts *p, struct rpc *e, bool refuse)
{
    struct tern_xfer xfer = { .part = &p->part[e->right], .len = e->request };
    struct wish      w = { e->when, (uint32_t)r->me, (uint32_t)e->answer, refuse };
    tern_status      st = r->ops->rpc->open(r->lane, &xfer, &e->op.op);

    if (st != TERN_OK)
        return st;
    EXPECT(tern_link_response_at(e->request) + e->answer <= e->op.op.rpc_bytes);
    e->op.op.on_response = take_answer;
    memcpy(e->op.op.rpc_buf, &w, sizeof(w));
    for (size_t i = sizeof(w); i < e->request; i++)
        e->op.op.rpc_buf[i] = byte_of(w.from, w.when, i);
    r->ops->rpc->send(r->lane, &e->op.op, e->request, e->answer);
    return TERN_OK;
}

static void rpc_go(struct rank *r, struct parts *p, struct rpc *e, bool refuse)
{
    tern_status st;

    while ((st = rpc_try(r, p, e, refuse)) == TERN_AGAIN)
        turn(r);
    EXPECT(st == TERN_OK);
}

static size_t space_of(struct rank *r)
{
    return is_network(r) ? tern_opt.net_rpc_buffer : tern_opt.bounce_chunk;
}

/* Requests and responses of all lengths, one after the other and several at a time. */
static void to_and_fro(struct rank *r)
{
    static struct rpc e[9];
    struct parts      p;
    size_t            lens[9], count = 0;

    if (!ground_make(r, &p))
        return;
    lens[0] = 0, lens[1] = 1, lens[2] = 63, lens[3] = 64, lens[4] = 1000;
    lens[5] = 8192, lens[6] = 8193, lens[7] = space_of(r) / 2 - 64, lens[8] = space_of(r) - 64;
    for (unsigned i = 0; i < 9; i++) {
        unsigned flying = 0;

        for (unsigned j = 0; j < 9; j++) {
            size_t request = sizeof(struct wish) + lens[i];

            if (tern_link_response_at(request) + lens[j] > space_of(r))
                continue;
            e[flying] = (struct rpc){
                .right = (r->me + 1) % r->ranks, .when = i * 9 + j, .request = request, .answer = lens[j]
            };
            rpc_go(r, &p, &e[flying], false);
            if (i % 2 == 0)
                finish(r, &e[flying].op);
            flying++;
        }
        for (unsigned j = 0; j < flying; j++) {
            finish(r, &e[j].op);
            EXPECT(e[j].op.status == TERN_OK && e[j].answers == 1);
        }
        count += flying;
    }
    meet(r);
    EXPECT(atomic_load(&served) == (int)count); /* the requests of the left neighbour */
    parts_drop(r, &p);
}

static void refused(struct rank *r)
{
    struct rpc   e = { .right = (r->me + 1) % r->ranks, .request = 100, .answer = 100 };
    struct parts p;

    if (!ground_make(r, &p))
        return;
    rpc_go(r, &p, &e, true);
    finish(r, &e.op);
    EXPECT(e.op.status == TERN_ERR_LINK && e.answers == 0);
    e = (struct rpc){ .right = e.right, .request = 100 };
    p.part[e.right].region += 77; /* a region that the target does not have */
    rpc_go(r, &p, &e, false);
    finish(r, &e.op);
    EXPECT(e.op.status == TERN_ERR_LINK && e.answers == 0);
    p.part[e.right].region -= 77;
    e = (struct rpc){ .right = e.right, .request = 100, .answer = 100 };
    rpc_go(r, &p, &e, false); /* the RPC works again */
    finish(r, &e.op);
    EXPECT(e.op.status == TERN_OK && e.answers == 1);
    parts_drop(r, &p);
}

/* Start more RPCs than there are buffers, repeatedly. */
static void no_space(struct rank *r)
{
    static struct rpc e[MOST];
    struct parts      p;
    bool              again = false;

    if (!ground_make(r, &p))
        return;
    for (int round = 0; round < 3; round++) {
        int         count = 0;
        tern_status st = TERN_OK;

        r->helps = false; /* no rank serves bounced requests meanwhile */
        while (count < MOST && st == TERN_OK) {
            e[count] = (struct rpc){
                .right = (r->me + 1) % r->ranks, .when = (unsigned)count, .request = 3000, .answer = 900
            };
            st = rpc_try(r, &p, &e[count], false);
            EXPECT(st == TERN_OK || st == TERN_AGAIN);
            count += st == TERN_OK;
        }
        again |= st == TERN_AGAIN;
        r->helps = true;
        for (int i = 0; i < count; i++) {
            finish(r, &e[i].op);
            EXPECT(e[i].op.status == TERN_OK && e[i].answers == 1);
        }
        meet(r);
    }
    EXPECT(again || is_network(r)); /* the network may be fast enough */
    parts_drop(r, &p);
}

static void cancelled(struct rank *r)
{
    static struct rpc e[8];
    struct parts      p;

    if (!ground_make(r, &p))
        return;
    r->helps = false;
    meet(r);
    for (unsigned i = 0; i < 8; i++) {
        tern_status st;

        e[i] = (struct rpc){ .right = (r->me + 1) % r->ranks, .when = i, .request = 200, .answer = 200 };
        r->helps = false;
        while ((st = rpc_try(r, &p, &e[i], false)) == TERN_AGAIN) {
            r->helps = true;
            turn(r);
        }
        EXPECT(st == TERN_OK);
        if (i % 2) {
            unsigned answers = __atomic_load_n(&e[i].answers, __ATOMIC_RELAXED);

            r->ops->cancel(r->lane, &e[i].op.op);
            answers = __atomic_load_n(&e[i].answers, __ATOMIC_RELAXED); /* the response may have arrived just before */
            e[i].space = answers ? e[i].op.op.rpc_buf : NULL;
        }
    }
    r->helps = true;
    for (unsigned i = 0; i < 8; i++) {
        finish(r, &e[i].op);
        EXPECT(e[i].op.status == TERN_OK);
        EXPECT(e[i].answers == (i % 2 == 0 || e[i].space != NULL));
    }
    parts_drop(r, &p);
}

static void bounce_options(void)
{
    default_options(NULL);
    tern_opt.cma = TERN_CMA_OFF;
    tern_opt.bounce_chunk = 65536;
    tern_opt.bounce_chunks = 2;
}

#define LINK_TEST(body)                   \
    static void test_##body(void **state) \
    {                                     \
        (void)state;                      \
        bounce_options();                 \
        run_links(64, body);              \
    }
LINK_TEST(to_and_fro)
LINK_TEST(refused)
LINK_TEST(no_space)
LINK_TEST(cancelled)

/* The network in the modes that some provider requires. */
static void test_network_modes(void **state)
{
    static const struct {
        int      local, delivery;
        uint64_t buffer;
        int64_t  buffers;
    } modes[] = { { TERN_OFI_LOCAL_ALWAYS, TERN_OFI_DELIVERY_AUTO, 262144, 8 },
                  { TERN_OFI_LOCAL_AUTO, TERN_OFI_DELIVERY_READ, 16384, 2 },
                  { TERN_OFI_LOCAL_ALWAYS, TERN_OFI_DELIVERY_READ, 1 << 20, 64 } };
    const struct tern_link_ops *ops = link_named("ofi");

    (void)state;
    for (size_t i = 0; ops && i < sizeof(modes) / sizeof(modes[0]); i++) {
        default_options(NULL);
        tern_opt.ofi_local = modes[i].local;
        tern_opt.ofi_delivery = modes[i].delivery;
        tern_opt.net_rpc_buffer = modes[i].buffer;
        tern_opt.net_rpc_buffers = modes[i].buffers;
        run_link(ops, 2, 64, to_and_fro);
        run_link(ops, 3, 64, no_space);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_to_and_fro), cmocka_unit_test(test_refused),       cmocka_unit_test(test_no_space),
        cmocka_unit_test(test_cancelled),  cmocka_unit_test(test_network_modes),
    };

    return cmocka_run_group_tests_name("link rpc", tests, default_options, NULL);
}
