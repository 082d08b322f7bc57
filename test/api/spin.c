/* spin.c: a target that computes and never calls Tern.
 *
 * Promise: puts and gets complete whatever the target is doing. The last rank spins over its own memory, without
 * calling Tern and without yielding its core, until all other ranks have reported by a put that they are done.
 * Meanwhile they have put to it and got from it, small and large, with and without events, contiguous and in many
 * extents, have done atomic operations there, and notified it, thousands of times. The payload of a notification is in
 * place after tern_quiet, and is not stored again when the target finally receives the notification; the target
 * receives every notification.
 *
 * ranks: 2 4
 * network: 2 4
 * providers: net sockets shm
 */
#include "job_test.h"

#include <stdatomic.h>

const char *job_note;

#define LARGE (300u * 1024)
#define ROUNDS (JOB_SANITIZED ? 5u : 50u)
#define MANY (job_chaos() ? 300u : 4096u) /* notifications; chaos holds each back */

/* Word r of the last rank's part: rank r is done. Behind the words each rank has LARGE bytes. */
static uint64_t place_of(int rank)
{
    return 4096 + (uint64_t)rank * LARGE;
}

static void one_round(tern_region *region, int target, unsigned char *src, unsigned char *dst, unsigned round)
{
    uint64_t   at = place_of(tern_rank()), value;
    size_t     len = round % 2 ? LARGE : 1 + round * 37;
    tern_event put, got;

    job_fill(src, len, (unsigned)tern_rank(), round);
    OK(tern_put(TERN_WORLD, region, target, at, src, len));
    memset(dst, 0, len);
    OK(tern_get(TERN_WORLD, region, target, at, dst, len));
    HOLDS(dst, len, (unsigned)tern_rank(), round);
    OK(tern_put_u64(TERN_WORLD, region, target, at, round));
    OK(tern_get_u64(TERN_WORLD, region, target, at, &value));
    SAME(value, round);
    OK(tern_put_nb(TERN_WORLD, region, target, at, src, len, &put));
    OK(tern_event_wait(&put, TERN_FOREVER));
    OK(tern_get_nb(TERN_WORLD, region, target, at, dst, len, &got));
    OK(tern_event_wait(&got, TERN_FOREVER));
    HOLDS(dst, len, (unsigned)tern_rank(), round);
}

/* Every third byte on the remote side, every second on the local side; more than fits into one message. */
static void one_strided(tern_region *region, int target, unsigned char *src, unsigned char *dst, unsigned round)
{
    size_t count = job_chaos() ? 1 + round % 8 : round % 2 ? LARGE / 3 : 1 + round * 11; /* chaos holds each back */
    tern_strided s =
        TERN_STRIDED(.dims = 1, .element = 1, .count = &count, .local = src, .local_stride = &(ptrdiff_t){ 2 },
                     .remote = place_of(tern_rank()), .remote_stride = &(int64_t){ 3 });
    tern_event put, got;

    job_fill(src, 2 * count, (unsigned)tern_rank(), round);
    OK(tern_put_strided(TERN_WORLD, region, target, &s));
    memset(dst, 0, 2 * count);
    s.local = dst;
    OK(tern_get_strided(TERN_WORLD, region, target, &s));
    for (size_t i = 0; i < count; i++)
        CHECK(dst[2 * i] == src[2 * i] && dst[2 * i + 1] == 0);
    OK(tern_get_strided_nb(TERN_WORLD, region, target, &s, &got));
    OK(tern_event_wait(&got, TERN_FOREVER));
    OK(tern_put_strided_nb(TERN_WORLD, region, target, &s, &put));
    OK(tern_event_wait(&put, TERN_FOREVER));
}

/* A counter that all of them use, behind their words. */
static void one_atomic(tern_atomic_domain *domain, tern_atomic_domain *any, tern_region *region, int target,
                       uint64_t *last)
{
    const uint64_t         one = 1;
    uint64_t               was = 0, then = 0;
    const tern_atomic_args args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_FADD, .operand = &one, .result = &then);
    tern_event             event;

    OK(tern_atomic_fadd(TERN_WORLD, domain, region, target, 2048, 1, &was));
    OK(tern_atomic_nb(TERN_WORLD, domain, region, target, 2048, &args, &event));
    OK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(then > was && was >= *last);
    OK(tern_fadd(TERN_WORLD, region, target, 2048, 1, last));
    CHECK(*last > then);
    OK(tern_atomic_fadd(TERN_WORLD, any, region, target, 2056, 1, &was)); /* the network may use its own */
}

static void one_notified(tern_region *region, int target, uint64_t round)
{
    uint64_t at = 3072 + (uint64_t)tern_rank() * 8, value = round * 2, seen = 0;

    OK(tern_put_notify_nbi(TERN_WORLD, region, target, at, &value, sizeof(value), 1));
    OK(tern_quiet(TERN_WORLD));
    OK(tern_get_u64(TERN_WORLD, region, target, at, &seen));
    SAME(seen, value);
    OK(tern_put_u64(TERN_WORLD, region, target, at, value + 1));
    if (round % 2)
        OK(tern_get_notify(TERN_WORLD, region, target, at, &seen, sizeof(seen), 2));
}

/* More than fit into the primary cells that both sides keep in their caches. */
static void many_notified(tern_region *region, int target)
{
    uint64_t  at = 3584 + (uint64_t)tern_rank() * 8, seen = 0;
    uint64_t *value = job_new(MANY * sizeof(*value));

    for (uint64_t i = 0; i < MANY; i++) {
        value[i] = 7;
        if (i % 64)
            OK(tern_put_notify_nbi(TERN_WORLD, region, target, at, &value[i], sizeof(*value), 3));
        else
            OK(tern_get_notify(TERN_WORLD, region, target, at, &seen, sizeof(seen), 3));
    }
    OK(tern_quiet(TERN_WORLD));
    OK(tern_get_u64(TERN_WORLD, region, target, at, &seen));
    SAME(seen, 7);
    free(value);
    OK(tern_put_u64(TERN_WORLD, region, target, at, 1));
}

static void find_many(const struct job_region *r, int source)
{
    tern_request *request;
    uint64_t      seen = 0;

    OK(tern_notify_create(TERN_WORLD, r->region, source, 3, MANY, &request));
    OK(tern_request_start(request));
    OK(tern_request_wait(&request, TERN_FOREVER, NULL));
    OK(tern_request_free(&request));
    OK(tern_get_u64(TERN_WORLD, r->region, tern_rank(), 3584 + (uint64_t)source * 8, &seen));
    SAME(seen, 1);
}

int main(void)
{
    struct job_region   r;
    tern_atomic_domain *domain, *any;
    uint64_t            last;
    unsigned char      *src = job_new(LARGE), *dst = job_new(LARGE);
    uint64_t            through = 1;
    int                 target;

    OK(tern_init());
    target = tern_size() - 1;
    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_FADD, TERN_ATOMIC_STORES, &domain));
    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_FADD, 0, &any));
    for (enum job_kind kind = JOB_HOST; kind <= JOB_REGISTERED; kind += JOB_REGISTERED - JOB_HOST) {
        job_region_make(&r, kind, place_of(tern_size()));
        OK(tern_barrier(TERN_WORLD));
        if (tern_rank() == target) {
            const _Atomic uint64_t *word = (const _Atomic uint64_t *)(const void *)r.mine;
            for (int rank = 0; rank < target; rank++)
                while (atomic_load(&word[rank]) != through)
                    ; /* the computation */
        } else {
            last = 0;
            for (unsigned i = 1; i <= ROUNDS; i++) {
                one_atomic(domain, any, r.region, target, &last);
                one_round(r.region, target, src, dst, i);
                one_strided(r.region, target, src, dst, i);
                one_notified(r.region, target, i);
            }
            many_notified(r.region, target);
            OK(tern_put_u64(TERN_WORLD, r.region, target, (uint64_t)tern_rank() * 8, through));
        }
        OK(tern_barrier(TERN_WORLD));
        for (int rank = 0; rank < target && tern_rank() == target; rank++) {
            uint64_t seen = 0;

            OK(tern_get_u64(TERN_WORLD, r.region, target, 3072 + (uint64_t)rank * 8, &seen));
            SAME(seen, 2 * ROUNDS + 1);
            find_many(&r, rank);
        }
        job_region_drop(&r);
    }
    OK(tern_finalize());
    free(src);
    free(dst);
    return 0;
}
