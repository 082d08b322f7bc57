/* lat.c: put_lat and get_lat: the time of one blocking put or get, and half a round trip of puts or gets.
 *
 * `latency` is the time per call in a loop on rank 0; the target does nothing. Through memory, a put that has
 * returned may still be in the store buffer of the core that executed it. `latency_complete` is the time of a put
 * followed by tern_quiet, after which the data is in the target's memory. MPI_Put with MPI_Win_flush and
 * shmem_putmem with shmem_quiet give the same guarantee, so they are compared with `latency_complete`. For 8 bytes,
 * the same loop with a plain store or load through tern_region_ptr alternates with the calls, and the difference is
 * the overhead of Tern. `half_rtt` is a ping-pong between ranks 0 and 1: with puts, a rank waits by polling its own
 * memory; with gets, by getting the peer's memory. A message counts as arrived when its last and its first byte have
 * arrived; the bytes in between are not examined, as usual in such tests.
 *
 * A ping-pong alternates between two contents that are prepared beforehand, so that the measurement includes no time
 * for preparing messages.
 */
#include <string.h>

#include "perf.h"

static const unsigned char turn_byte[2] = { 0x55, 0xaa };

/* Return the address of a ping-pong's message in the part, and in private memory: for n 0 and 1 the two contents,
 * for n 2 the buffer for fetched data. */
static unsigned char *pingpong_mine(const struct perf_case *c)
{
    return c->p->mine + c->p->area;
}

static unsigned char *pingpong_private(const struct perf_case *c, unsigned n)
{
    return c->p->local + c->p->area + n * c->p->ping;
}

/* Collective. Clear the ping-pong's memory and fill its two messages. */
void perf_pingpong_prepare(struct perf_case *c)
{
    c->turn = 0;
    memset(pingpong_mine(c), 0, c->size);
    memset(pingpong_private(c, 0), turn_byte[0], c->size);
    memset(pingpong_private(c, 1), turn_byte[1], c->size);
    perf_must(tern_barrier(c->p->ctx), "barrier");
}

static inline __attribute__((always_inline)) void put_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    tern_ctx            *ctx = c->p->ctx;
    tern_region         *region = c->p->region;
    const unsigned char *src = perf_buffer(c);
    int                  target = c->target;

    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_put(ctx, region, target, perf_spot(i, len), src, len), "put");
}

PERF_BY_LENGTH(void perf_put_blocking, put_loop)

static inline __attribute__((always_inline)) void put_complete_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    tern_ctx            *ctx = c->p->ctx;
    tern_region         *region = c->p->region;
    const unsigned char *src = perf_buffer(c);
    int                  target = c->target;

    for (uint64_t i = 0; i < iters; i++) {
        perf_must(tern_put(ctx, region, target, perf_spot(i, len), src, len), "put");
        perf_must(tern_quiet(ctx), "quiet");
    }
}

PERF_BY_LENGTH(static void put_complete, put_complete_loop)

static inline __attribute__((always_inline)) void get_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    tern_ctx      *ctx = c->p->ctx;
    tern_region   *region = c->p->region;
    unsigned char *dst = perf_buffer(c);
    int            target = c->target;

    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_get(ctx, region, target, perf_spot(i, len), dst, len), "get");
}

PERF_BY_LENGTH(void perf_get_blocking, get_loop)

/* The calls for single values, which keep the value in a register. */
static void put_value(struct perf_case *c, uint64_t iters)
{
    tern_ctx    *ctx = c->p->ctx;
    tern_region *region = c->p->region;
    int          target = c->target;

    for (uint64_t i = 0; i < iters; i++)
        perf_must(tern_put_u64(ctx, region, target, perf_spot(i, sizeof(i)), i), "put");
}

static void get_value(struct perf_case *c, uint64_t iters)
{
    tern_ctx    *ctx = c->p->ctx;
    tern_region *region = c->p->region;
    uint64_t     value = 0;
    int          target = c->target;

    for (uint64_t i = 0; i < iters; i++) {
        perf_must(tern_get_u64(ctx, region, target, perf_spot(i, sizeof(value)), &value), "get");
        __asm__ volatile("" ::"r"(value));
    }
}

static inline __attribute__((always_inline)) void put_pingpong_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    struct perf         *p = c->p;
    tern_ctx            *ctx = p->ctx;
    tern_region         *region = p->region;
    const unsigned char *mine = pingpong_mine(c), *src[2] = { pingpong_private(c, 0), pingpong_private(c, 1) };
    uint64_t             offset = p->area;
    int                  target = c->target;
    bool                 leads = p->rank == 0;
    unsigned             turn = c->turn;

    for (uint64_t i = 0; i < iters; i++, turn ^= 1) {
        if (!leads) {
            perf_await(p, mine + len - 1, turn_byte[turn]);
            perf_await(p, mine, turn_byte[turn]);
        }
        perf_must(tern_put(ctx, region, target, offset, src[turn], len), "put");
        if (leads) {
            perf_await(p, mine + len - 1, turn_byte[turn]);
            perf_await(p, mine, turn_byte[turn]);
        }
    }
    c->turn = turn;
}

PERF_BY_LENGTH(void perf_put_pingpong, put_pingpong_loop)

/* Get the peer's message into private memory until it is the message of this turn. */
static inline __attribute__((always_inline)) void fetch(struct perf_case *c, size_t len, unsigned char want)
{
    struct perf            *p = c->p;
    volatile unsigned char *into = pingpong_private(c, 2);
    unsigned                spins = 0;

    for (;;) {
        perf_must(tern_get(p->ctx, p->region, c->target, p->area, (void *)(uintptr_t)into, len), "get");
        if (into[len - 1] == want && into[0] == want)
            return;
        if (TERN_UNLIKELY(++spins > p->spins))
            perf_give_way(p);
    }
}

static inline __attribute__((always_inline)) void get_pingpong_loop(struct perf_case *c, uint64_t iters, size_t len)
{
    unsigned char       *mine = pingpong_mine(c);
    const unsigned char *src[2] = { pingpong_private(c, 0), pingpong_private(c, 1) };
    bool                 leads = c->p->rank == 0;
    unsigned             turn = c->turn;

    for (uint64_t i = 0; i < iters; i++, turn ^= 1) {
        if (!leads)
            fetch(c, len, turn_byte[turn]);
        memcpy(mine, src[turn], len);
        /* release: the answer is visible before all later accesses. Pairs with the acquire in tern_get of the peer. */
        __atomic_thread_fence(__ATOMIC_RELEASE);
        if (leads)
            fetch(c, len, turn_byte[turn]);
    }
    c->turn = turn;
}

PERF_BY_LENGTH(static void get_pingpong, get_pingpong_loop)

/* The kernels of both tests, in the order in which figures() reads them. */
struct lat_kernels {
    void (*blocking)(struct perf_case *c, uint64_t iters);
    void (*complete)(struct perf_case *c, uint64_t iters); /* NULL: the blocking call is itself complete */
    void (*value)(struct perf_case *c, uint64_t iters);
    void (*plain)(struct perf_case *c, uint64_t iters);
    void (*pingpong)(struct perf_case *c, uint64_t iters);
    const char *plain_name, *over_name, *over_value_name;
};

static void measure(struct perf_case *c, const struct lat_kernels *lat)
{
    struct perf_kernel k[PERF_MAX_KERNELS] = { { PERF_FIRST, lat->blocking } };
    size_t             n = 1, complete = 0, words = 0, trip = 0;

    if (lat->complete != NULL) {
        complete = n;
        k[n++] = (struct perf_kernel){ PERF_FIRST, lat->complete };
    }
    if (c->size == sizeof(uint64_t) && c->p->theirs != NULL) {
        words = n;
        k[n++] = (struct perf_kernel){ PERF_FIRST, lat->plain };
        k[n++] = (struct perf_kernel){ PERF_FIRST, lat->value };
    }
    if (c->p->ranks > 1) {
        trip = n;
        k[n++] = (struct perf_kernel){ PERF_PAIR, lat->pingpong };
        if (c->p->opt->vs_limit)
            k[n++] = perf_limit_trip(c->p);
    }
    perf_pingpong_prepare(c);
    perf_measure(c, k, n);
    perf_figure_time(c, 0, 1, "latency");
    if (complete != 0)
        perf_figure_time(c, complete, 1, "latency_complete");
    if (words != 0) {
        perf_figure_time(c, words, 1, lat->plain_name);
        perf_figure_difference(c, 0, words, lat->over_name);
        perf_figure_time(c, words + 1, 1, "latency_u64");
        perf_figure_difference(c, words + 1, words, lat->over_value_name);
    }
    if (trip != 0) {
        perf_figure_time(c, trip, 2, "half_rtt");
        if (c->p->opt->vs_limit) {
            perf_figure_time(c, trip + 1, 2, perf_limit_trip_name(c->p));
            perf_figure_ratio(c, trip, trip + 1, 1, "ratio_to_limit");
            if (c->p->network) /* a blocking call waits for a response: a whole round trip */
                perf_figure_ratio(c, 0, trip + 1, 1, "latency_to_rtt");
        }
    }
}

void perf_put_lat(struct perf_case *c)
{
    static const struct lat_kernels put = { perf_put_blocking, put_complete,  put_value,    perf_plain_store,
                                            perf_put_pingpong, "plain_store", "over_store", "over_store_u64" };

    measure(c, &put);
}

void perf_get_lat(struct perf_case *c)
{
    static const struct lat_kernels get = { perf_get_blocking, NULL,         get_value,   perf_plain_load,
                                            get_pingpong,      "plain_load", "over_load", "over_load_u64" };

    measure(c, &get);
}
