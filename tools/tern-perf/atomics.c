/* atomics.c: fadd_lat, fadd_rate and hot_spot: fetch-and-add on memory of another rank.
 *
 * fadd_lat measures blocking fetch-and-adds of each type, with the mechanism of a domain without flags. Through
 * memory, the CPU's own fetch-and-add alternates with it. Over the network, a round trip of active messages
 * alternates with it and, if the network has native atomics, also the same operation executed by a thread of the
 * target. fadd_rate measures nonblocking fetch-and-adds that tern_quiet completes. hot_spot measures blocking
 * fetch-and-adds of all ranks on one value of rank 0, and the CPU's own for comparison.
 */
#include <stdio.h>
#include <string.h>

#include "perf.h"

#define WORD_AT 512u /* offset in the part; the CPU's own fetch-and-add uses the same offset */

/* The types that are measured. The kernel of uint64 has the number TERN_UINT64. */
#define TYPES 10u
static const struct {
    tern_type   type;
    const char *name;
} types[TYPES] = { { TERN_INT32, "int32" },   { TERN_UINT32, "uint32" }, { TERN_INT64, "int64" },
                   { TERN_UINT64, "uint64" }, { TERN_FLOAT, "float" },   { TERN_DOUBLE, "double" },
                   { TERN_INT8, "int8" },     { TERN_UINT8, "uint8" },   { TERN_INT16, "int16" },
                   { TERN_UINT16, "uint16" } };

static struct {
    tern_atomic_domain *of[TERN_TYPES];
    tern_atomic_domain *at_target; /* for uint64, if the network has native atomics; NULL otherwise */
} domains;

/* Collective. Create the domains in the first call. Returns the mechanism. */
static tern_atomic_mechanism open_domains(struct perf_case *c)
{
    const uint32_t   ops = TERN_ATOMIC_FADD | TERN_ATOMIC_ADD;
    tern_atomic_info info;

    for (unsigned t = 0; t < TYPES && domains.of[types[t].type] == NULL; t++)
        perf_must(tern_atomic_domain_create(c->p->ctx, types[t].type, ops, 0, &domains.of[types[t].type]),
                  "making a domain");
    perf_must(tern_atomic_domain_info(domains.of[TERN_UINT64], &info), "asking a domain");
    if (info.mechanism == TERN_ATOMIC_NETWORK && domains.at_target == NULL)
        perf_must(tern_atomic_domain_create(c->p->ctx, TERN_UINT64, ops, TERN_ATOMIC_STORES, &domains.at_target),
                  "making a domain");
    memset(c->p->mine + WORD_AT, 0, sizeof(uint64_t));
    perf_must(tern_barrier(c->p->ctx), "barrier");
    return info.mechanism;
}

/* ---- kernels ---- */

#define BLOCKING(suffix, type, TYPE)                                                                     \
    static void fadd_##suffix(struct perf_case *c, uint64_t iters)                                       \
    {                                                                                                    \
        tern_ctx           *ctx = c->p->ctx;                                                             \
        tern_region        *region = c->p->region;                                                       \
        tern_atomic_domain *domain = domains.of[TYPE];                                                   \
        int                 target = c->target;                                                          \
        type                was = 0;                                                                     \
                                                                                                         \
        for (uint64_t i = 0; i < iters; i++) {                                                           \
            perf_must(tern_atomic_fadd(ctx, domain, region, target, WORD_AT, 1, &was), "fetch-and-add"); \
            perf_use((uint64_t)was);                                                                     \
        }                                                                                                \
    }
BLOCKING(i8, int8_t, TERN_INT8)
BLOCKING(u8, uint8_t, TERN_UINT8)
BLOCKING(i16, int16_t, TERN_INT16)
BLOCKING(u16, uint16_t, TERN_UINT16)
BLOCKING(i32, int32_t, TERN_INT32)
BLOCKING(u32, uint32_t, TERN_UINT32)
BLOCKING(i64, int64_t, TERN_INT64)
BLOCKING(u64, uint64_t, TERN_UINT64)
BLOCKING(float, float, TERN_FLOAT)
BLOCKING(double, double, TERN_DOUBLE)

static void (*const blocking[TERN_TYPES])(struct perf_case *, uint64_t) = {
    [TERN_INT32] = fadd_i32,   [TERN_UINT32] = fadd_u32,    [TERN_INT64] = fadd_i64, [TERN_UINT64] = fadd_u64,
    [TERN_FLOAT] = fadd_float, [TERN_DOUBLE] = fadd_double, [TERN_INT8] = fadd_i8,   [TERN_UINT8] = fadd_u8,
    [TERN_INT16] = fadd_i16,   [TERN_UINT16] = fadd_u16,
};

static void fadd_at_target(struct perf_case *c, uint64_t iters)
{
    uint64_t was;

    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_atomic_fadd(c->p->ctx, domains.at_target, c->p->region, c->target, WORD_AT, 1, &was),
                  "fetch-and-add");
}

/* The CPU's own fetch-and-add on the same value. */
static void fadd_plain(struct perf_case *c, uint64_t iters)
{
    uint64_t *word = (uint64_t *)(void *)(c->p->theirs + WORD_AT);

    for (uint64_t i = 0; i < iters; i++)
        perf_use(__atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST));
}

static void windows_of(struct perf_case *c, uint64_t iters, tern_type type)
{
    const union {
        uint64_t u64;
        double   f64;
        float    f32;
    } one = { .u64 = 1 }, one_float = { .f32 = 1 }, one_double = { .f64 = 1 };
    static uint64_t was[PERF_MAX_WINDOW];

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < c->window; w++) {
            const tern_atomic_args args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_FADD,
                                                           .operand = type == TERN_FLOAT    ? &one_float
                                                                      : type == TERN_DOUBLE ? &one_double
                                                                                            : &one,
                                                           .result = &was[w]);
            perf_must(tern_atomic_nbi(c->p->ctx, domains.of[type], c->p->region, c->target, WORD_AT, &args),
                      "fetch-and-add");
        }
        perf_must(tern_quiet(c->p->ctx), "quiet");
    }
}

#define WINDOWS(suffix, TYPE)                                         \
    static void windows_##suffix(struct perf_case *c, uint64_t iters) \
    {                                                                 \
        windows_of(c, iters, TYPE);                                   \
    }
WINDOWS(i8, TERN_INT8)
WINDOWS(u8, TERN_UINT8)
WINDOWS(i16, TERN_INT16)
WINDOWS(u16, TERN_UINT16)
WINDOWS(i32, TERN_INT32)
WINDOWS(u32, TERN_UINT32)
WINDOWS(i64, TERN_INT64)
WINDOWS(u64, TERN_UINT64)
WINDOWS(float, TERN_FLOAT)
WINDOWS(double, TERN_DOUBLE)

static void (*const windows[TERN_TYPES])(struct perf_case *, uint64_t) = {
    [TERN_INT32] = windows_i32,  [TERN_UINT32] = windows_u32,  [TERN_INT64] = windows_i64,
    [TERN_UINT64] = windows_u64, [TERN_FLOAT] = windows_float, [TERN_DOUBLE] = windows_double,
    [TERN_INT8] = windows_i8,    [TERN_UINT8] = windows_u8,    [TERN_INT16] = windows_i16,
    [TERN_UINT16] = windows_u16,
};

/* All ranks add to the value of rank 0. */
static void hot(struct perf_case *c, uint64_t iters)
{
    struct perf_case on_zero = *c;

    on_zero.target = 0;
    fadd_u64(&on_zero, iters);
}

static void hot_plain(struct perf_case *c, uint64_t iters)
{
    uint64_t *word = (uint64_t *)(void *)((unsigned char *)tern_region_ptr(c->p->region, 0) + WORD_AT);

    for (uint64_t i = 0; i < iters; i++)
        perf_use(__atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST));
}

/* ---- tests ---- */

/* Print the figures of each type. The metric begins with name; that of uint64, which is the first, has no suffix. */
static void each_type(const struct perf_case *c, const char *name, bool rate)
{
    char metric[48];

    for (size_t t = 0; t < TYPES; t++) {
        snprintf(metric, sizeof(metric), "%s_%s", name, types[t].name);
        if (t == TERN_UINT64)
            metric[strlen(name)] = '\0';
        if (rate)
            perf_figure_rate(c, t, (double)c->window, metric);
        else
            perf_figure_time(c, t, 1, metric);
    }
}

void perf_fadd_lat(struct perf_case *c)
{
    tern_atomic_mechanism mechanism = open_domains(c);
    struct perf_kernel    k[PERF_MAX_KERNELS];
    size_t                n = 0, plain = 0, trip = 0, at_target = 0;

    for (; n < TYPES; n++)
        k[n] = (struct perf_kernel){ PERF_FIRST, blocking[types[n].type] };
    if (c->p->theirs != NULL)
        k[plain = n++] = (struct perf_kernel){ PERF_FIRST, fadd_plain };
    if (c->p->network)
        k[trip = n++] = perf_am_trip(c);
    if (mechanism == TERN_ATOMIC_NETWORK)
        k[at_target = n++] = (struct perf_kernel){ PERF_FIRST, fadd_at_target };
    perf_measure(c, k, n);
    each_type(c, "latency", false);
    if (plain != 0) {
        perf_figure_time(c, plain, 1, "fetch_add");
        perf_figure_difference(c, TERN_UINT64, plain, "over_fetch_add");
    }
    if (trip != 0) {
        perf_figure_time(c, trip, 1, "am_rtt");
        perf_figure_ratio(c, at_target != 0 ? at_target : TERN_UINT64, trip, 1, "ratio_to_am_rtt");
    }
    if (at_target != 0) {
        perf_figure_time(c, at_target, 1, "latency_target");
        perf_figure_ratio(c, at_target, TERN_UINT64, 1, "gain_of_network");
    }
}

void perf_fadd_rate(struct perf_case *c)
{
    struct perf_kernel k[TYPES];

    open_domains(c);
    for (size_t t = 0; t < TYPES; t++)
        k[t] = (struct perf_kernel){ PERF_FIRST, windows[types[t].type] };
    perf_measure(c, k, TYPES);
    each_type(c, "rate", true);
}

void perf_hot_spot(struct perf_case *c)
{
    struct perf_kernel k[] = { { PERF_ALL, hot }, { PERF_ALL, hot_plain } };
    bool               plain = !c->p->network && c->p->theirs != NULL;

    open_domains(c);
    perf_measure(c, k, plain ? 2 : 1);
    perf_figure_rate(c, 0, (double)c->p->ranks, "aggregate");
    if (plain) {
        perf_figure_rate(c, 1, (double)c->p->ranks, "fetch_add_aggregate");
        perf_figure_ratio(c, 1, 0, 1, "ratio_to_limit");
    }
}
