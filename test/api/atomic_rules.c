/* atomic_rules.c: the errors of atomic operations, their order, and their use in handlers.
 *
 * Promise: every misuse is an error that names the mistake, and changes nothing. A domain reports its mechanism and the
 * reason for it. In a strict context an atomic operation comes after the puts before it and before the puts behind it;
 * on a relaxed context TERN_RELEASE gives the first of these. Handlers of active messages may use atomics where they
 * may use puts.
 *
 * ranks: 2 3
 * env: TERN_CMA=off
 */
#include "job_test.h"

#include <stdatomic.h>

#define SIZE 4096u

/* ---- errors ---- */

static void unchanged(tern_region *region, int rank)
{
    unsigned char bytes[SIZE];

    OK(tern_get(TERN_WORLD, region, rank, 0, bytes, SIZE));
    ALL_ARE(bytes, SIZE, 0x11);
}

static void wrong_domains(void)
{
    tern_atomic_domain *none = NULL;
    tern_atomic_info    info;
    bool                odd = tern_rank() % 2;

    RETURNS(TERN_ERR_ARG, tern_atomic_domain_create(TERN_WORLD, TERN_COMPLEX_DOUBLE, TERN_ATOMIC_ADD, 0, &none));
    SAYS("complex double");
    RETURNS(TERN_ERR_ARG, tern_atomic_domain_create(TERN_WORLD, (tern_type)77, TERN_ATOMIC_ADD, 0, &none));
    RETURNS(TERN_ERR_ARG, tern_atomic_domain_create(TERN_WORLD, TERN_INT32, 0, 0, &none));
    SAYS("empty");
    RETURNS(TERN_ERR_ARG, tern_atomic_domain_create(TERN_WORLD, TERN_FLOAT, TERN_ATOMIC_XOR, 0, &none));
    RETURNS(TERN_ERR_ARG, tern_atomic_domain_create(TERN_WORLD, TERN_INT64, 1u << 24, 0, &none));
    RETURNS(TERN_ERR_ARG, tern_atomic_domain_create(TERN_WORLD, TERN_INT64, TERN_ATOMIC_ADD, 4, &none));
    SAYS("flags");
    RETURNS(TERN_ERR_ARG,
            tern_atomic_domain_create(TERN_WORLD, odd ? TERN_INT64 : TERN_UINT64, TERN_ATOMIC_ADD, 0, &none));
    SAYS("the same");
    RETURNS(TERN_ERR_ARG, /* one rank alone makes the mistake: all ranks get the error */
            tern_atomic_domain_create(TERN_WORLD, TERN_INT64, tern_rank() == 1 ? 0 : TERN_ATOMIC_ADD, 0, &none));
    SAYS("rank 1");
    RETURNS(TERN_ERR_ARG, tern_atomic_domain_create(NULL, TERN_INT64, TERN_ATOMIC_ADD, 0, &none));
    RETURNS(TERN_ERR_ARG, tern_atomic_domain_create(TERN_WORLD, TERN_INT64, TERN_ATOMIC_ADD, 0, NULL));
    CHECK(none == NULL);
    RETURNS(TERN_ERR_ARG, tern_atomic_domain_free(NULL));
    RETURNS(TERN_ERR_ARG, tern_atomic_domain_info(NULL, &info));
}

static void wrong_calls(tern_atomic_domain *domain, tern_region *region, int to)
{
    uint64_t         one = 1, was = 77;
    uint32_t         small = 77;
    tern_event       event = { (struct tern_pending *)(uintptr_t)0xabcd0 };
    tern_opts        opts = TERN_OPTS(.flags = 0x100, .local = NULL, .event = NULL);
    tern_atomic_args args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_FADD, .operand = &one, .result = &was);

    RETURNS(TERN_ERR_ARG, tern_atomic_swap(TERN_WORLD, domain, region, to, 0, 5, &was)); /* not in the set */
    SAYS("swap");
    RETURNS(TERN_ERR_ARG, tern_atomic_fadd(TERN_WORLD, domain, region, to, 0, 5, &small)); /* another type */
    SAYS("uint32");
    RETURNS(TERN_ERR_ARG, tern_atomic_fadd(TERN_WORLD, domain, region, to, 4, 5, &was)); /* misaligned */
    SAYS("multiple of 8");
    RETURNS(TERN_ERR_ARG, tern_fadd(TERN_WORLD, region, to, 2, 5, &small));
    RETURNS(TERN_ERR_RANGE, tern_atomic_fadd(TERN_WORLD, domain, region, to, SIZE, 5, &was));
    RETURNS(TERN_ERR_RANGE, tern_atomic_fadd(TERN_WORLD, domain, region, to, UINT64_MAX - 7, 5, &was));
    RETURNS(TERN_ERR_RANGE, tern_swap(TERN_WORLD, region, to, SIZE - 4, 5, &was));
    RETURNS(TERN_ERR_RANGE, tern_atomic_fadd(TERN_WORLD, domain, region, tern_size(), 0, 5, &was));
    RETURNS(TERN_ERR_RANGE, tern_atomic_fadd(TERN_WORLD, domain, region, -1, 0, 5, &was));
    RETURNS(TERN_ERR_ARG, tern_atomic_fadd(TERN_WORLD, domain, region, to, 0, 5, (uint64_t *)NULL));
    SAYS("result");
    RETURNS(TERN_ERR_ARG, tern_atomic_fadd(TERN_WORLD, NULL, region, to, 0, 5, &was));
    RETURNS(TERN_ERR_ARG, tern_atomic_fadd(TERN_WORLD, domain, NULL, to, 0, 5, &was));
    RETURNS(TERN_ERR_ARG, tern_atomic_fadd(NULL, domain, region, to, 0, 5, &was));
    RETURNS(TERN_ERR_ARG, tern_atomic(TERN_WORLD, domain, region, to, 0, NULL));
    RETURNS(TERN_ERR_ARG, tern_atomic_with(TERN_WORLD, domain, region, to, 0, &args, &opts));
    RETURNS(TERN_ERR_ARG, tern_atomic_nb(TERN_WORLD, domain, region, to, 0, &args, NULL));
    args.operand = NULL;
    RETURNS(TERN_ERR_ARG, tern_atomic_nb(TERN_WORLD, domain, region, to, 0, &args, &event));
    SAYS("operand");
    args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_CAS, .operand = &one, .result = &was);
    RETURNS(TERN_ERR_ARG, tern_atomic_nb(TERN_WORLD, domain, region, to, 0, &args, &event));
    SAYS("compare");
    args.op = (tern_atomic_op)(TERN_ATOMIC_ADD | TERN_ATOMIC_FADD);
    RETURNS(TERN_ERR_ARG, tern_atomic_nb(TERN_WORLD, domain, region, to, 0, &args, &event));
    SAYS("no operation");
    CHECK(event.pending == (struct tern_pending *)(uintptr_t)0xabcd0 && was == 77 && small == 77);
}

static void errors(tern_region *region, unsigned char *mine, int to)
{
    const uint32_t      ops = TERN_ATOMIC_FADD | TERN_ATOMIC_ADD | TERN_ATOMIC_CAS;
    tern_atomic_domain *domain;
    tern_atomic_info    info;
    uint64_t            was = 77;

    memset(mine, 0x11, SIZE);
    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, ops, TERN_ATOMIC_LOADS, &domain));
    OK(tern_atomic_domain_info(domain, &info));
    CHECK(info.type == TERN_UINT64 && info.ops == ops && info.flags == TERN_ATOMIC_LOADS && strlen(info.why) > 10);
    if (job_far(to) || job_far((to + 1) % tern_size()))
        CHECK(info.mechanism == TERN_ATOMIC_TARGET && strcmp(info.name, "target") == 0);
    else
        CHECK(info.mechanism == TERN_ATOMIC_MEMORY && strcmp(info.name, "memory") == 0);
    wrong_calls(domain, region, to);
    OK(tern_atomic_domain_free(domain));
    RETURNS(TERN_ERR_STATE, tern_atomic_domain_free(domain));
    RETURNS(TERN_ERR_STATE, tern_atomic_domain_info(domain, &info));
    RETURNS(TERN_ERR_STATE, tern_atomic_fadd(TERN_WORLD, domain, region, to, 0, 5, &was));
    SAYS("freed");
    CHECK(was == 77);
    unchanged(region, to);
    OK(tern_barrier(TERN_WORLD));
}

/* The memory of freed domains is eventually reused. */
static void many(tern_region *region, int to)
{
    tern_atomic_domain *domain;
    uint64_t            was;

    for (unsigned i = 0; i < 200; i++) {
        OK(tern_atomic_domain_create(TERN_WORLD, i % 2 ? TERN_UINT64 : TERN_DOUBLE, TERN_ATOMIC_FADD, 0, &domain));
        RETURNS(i % 2 ? TERN_OK : TERN_ERR_ARG, tern_atomic_fadd(TERN_WORLD, domain, region, to, 0, 0, &was));
        OK(tern_atomic_domain_free(domain));
    }
}

/* ---- order ---- */

#define ROUNDS (JOB_SANITIZED ? 20u : 100u)

/* Read without a call of Tern. The thread sanitizer cannot know that the accesses are ordered, and ignores them. */
static __attribute__((noinline, no_sanitize("thread"))) uint64_t load(const unsigned char *at)
{
    return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

/* A put, a counter behind it, and a put behind that: the last rank reads only its own memory. */
static void announce(tern_ctx *ctx, tern_atomic_domain *domain, tern_region *region, int to)
{
    const uint64_t  one = 1;
    const tern_opts release = TERN_OPTS(.flags = TERN_RELEASE, .local = NULL, .event = NULL);
    uint64_t        was;

    for (uint64_t i = 1; i <= ROUNDS; i++) {
        const tern_atomic_args args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_FADD, .operand = &one, .result = &was);

        OK(tern_put_nbi(ctx, region, to, 1024, &i, 8));
        OK(tern_atomic_with(ctx, domain, region, to, 2048, &args,
                            tern_ctx_order(ctx) == TERN_STRICT ? NULL : &release));
        if (tern_ctx_order(ctx) == TERN_RELAXED)
            OK(tern_fence(ctx));
        OK(tern_put_nbi(ctx, region, to, 3072, &i, 8));
        OK(tern_quiet(ctx));
        SAME(was, i - 1);
        while (was != i) /* until the target has checked */
            OK(tern_atomic_fadd(ctx, domain, region, to, 512, 0, &was));
    }
}

static void look(unsigned char *mine)
{
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        uint64_t last = 0;

        while (load(mine + 2048) < i) {
            last = load(mine + 3072);
            CHECK(last < i || load(mine + 2048) >= i); /* the later put does not arrive before it */
        }
        CHECK(load(mine + 1024) == i);
        __atomic_store_n((uint64_t *)(void *)(mine + 512), i, __ATOMIC_RELEASE);
    }
}

static void ordered(tern_ctx *ctx, tern_region *region, unsigned char *mine)
{
    tern_atomic_domain *domain;
    int                 last = tern_size() - 1;

    memset(mine, 0, SIZE);
    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_FADD, TERN_ATOMIC_LOADS | TERN_ATOMIC_STORES,
                                 &domain));
    if (tern_rank() == 0)
        announce(ctx, domain, region, last);
    else if (tern_rank() == last)
        look(mine);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_atomic_domain_free(domain));
}

/* ---- handlers ---- */

static struct {
    tern_region *region;
    bool         may, must_not; /* what the sender's memory permits */
    uint64_t     done;
} at_handler;

static void on_message(const tern_am_event *event, void *user)
{
    uint64_t    was = 0;
    int         from = (int)event->args[0];
    tern_status st = tern_fadd(TERN_WORLD, at_handler.region, from, 8, 3, &was);

    (void)user;
    CHECK(at_handler.may ? st == TERN_OK : st == TERN_ERR_STATE || !at_handler.must_not);
    at_handler.done++;
}

static void handlers(tern_region *region, unsigned char *mine, enum job_kind kind)
{
    uint32_t me = (uint32_t)tern_rank();
    int      to = (tern_rank() + 1) % tern_size(), from = (tern_rank() + tern_size() - 1) % tern_size();

    memset(mine, 0, SIZE);
    at_handler.region = region;
    at_handler.may = kind == JOB_HOST || job_far(from);
    at_handler.must_not = !job_chaos(); /* chaos has space for operations that the kernel completes at once */
    at_handler.done = 0;
    OK(tern_am_register(3, on_message, NULL));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_am_short(TERN_WORLD, to, 3, &me, 1));
    OK(job_await(&at_handler.done, 1, TERN_FOREVER));
    OK(tern_barrier(TERN_WORLD));
    CHECK(load(mine + 8) == (kind == JOB_HOST || job_far(to) ? 3u : 0u) || job_chaos());
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    struct job_region r;
    tern_ctx         *strict;

    RETURNS(TERN_ERR_STATE, tern_atomic_domain_create(TERN_WORLD, TERN_INT64, TERN_ATOMIC_ADD, 0, NULL));
    OK(tern_init());
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &strict));
    wrong_domains();
    for (enum job_kind kind = JOB_HOST; kind <= JOB_REGISTERED; kind += JOB_REGISTERED - JOB_HOST) {
        job_region_make(&r, kind, SIZE);
        errors(r.region, r.mine, (tern_rank() + 1) % tern_size());
        many(r.region, (tern_rank() + 1) % tern_size());
        OK(tern_barrier(TERN_WORLD));
        ordered(strict, r.region, r.mine);
        ordered(TERN_WORLD, r.region, r.mine);
        handlers(r.region, r.mine, kind);
        job_region_drop(&r);
    }
    OK(tern_ctx_free(strict));
    OK(tern_finalize());
    return 0;
}
