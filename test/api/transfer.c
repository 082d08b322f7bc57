/* transfer.c: put and get of every form, size, offset and alignment, in every kind of memory, to every rank.
 *
 * Promise: when a blocking call returns, an event is complete, or tern_quiet returns, exactly the requested bytes are
 * at the requested place, and no byte beside them has changed. The functions called through a pointer have the effect
 * of the inlined ones.
 *
 * providers: net shm
 * env: TERN_CMA=off
 * env: TERN_CMA=off TERN_BOUNCE_CHUNK=4K TERN_BOUNCE_CHUNKS=1
 */
#include "job_test.h"

enum form { BLOCKING, NB, NBI, WITH_LOCAL, WITH_NULL, POINTER, FAR, FORMS };

typedef tern_status put_function(tern_ctx *, tern_region *, int, uint64_t, const void *, size_t);
typedef tern_status get_function(tern_ctx *, tern_region *, int, uint64_t, void *, size_t);

static put_function *volatile put_pointer = tern_put; /* volatile: the exported copies are called */
static get_function *volatile get_pointer = tern_get;

static void put(tern_ctx *ctx, enum form form, tern_region *region, int rank, uint64_t offset, unsigned char *src,
                size_t len)
{
    tern_event event = TERN_EVENT_INIT, near = TERN_EVENT_INIT;
    tern_opts  opts = TERN_OPTS(.flags = 0, .local = &near, .event = &event);

    switch (form) {
    case BLOCKING: OK(tern_put(ctx, region, rank, offset, src, len)); break;
    case POINTER: OK(put_pointer(ctx, region, rank, offset, src, len)); break;
    case FAR: OK(tern_inline_put(ctx, region, rank, offset, src, len, "tern_put")); break;
    case NB:
        OK(tern_put_nb(ctx, region, rank, offset, src, len, &event));
        OK(tern_event_wait(&event, TERN_FOREVER));
        OK(tern_event_wait(&event, TERN_NOW)); /* stays done */
        OK(tern_event_test(&event));
        break;
    case NBI:
        OK(tern_put_nbi(ctx, region, rank, offset, src, len));
        OK(tern_quiet(ctx));
        break;
    case WITH_LOCAL:
        OK(tern_put_with(ctx, region, rank, offset, src, len, &opts));
        OK(tern_event_wait(&near, TERN_FOREVER));
        memset(src, 0xee, len); /* from now on the caller may change the source */
        OK(tern_event_wait(&event, TERN_FOREVER));
        break;
    default: OK(tern_put_with(ctx, region, rank, offset, src, len, NULL)); OK(tern_quiet(ctx));
    }
}

static void get(tern_ctx *ctx, enum form form, tern_region *region, int rank, uint64_t offset, unsigned char *dst,
                size_t len)
{
    tern_event  event = TERN_EVENT_INIT, near = TERN_EVENT_INIT;
    tern_opts   opts = TERN_OPTS(.flags = TERN_WANT_EVENT, .local = &near, .event = &event);
    tern_status st;

    switch (form) {
    case BLOCKING: OK(tern_get(ctx, region, rank, offset, dst, len)); break;
    case POINTER: OK(get_pointer(ctx, region, rank, offset, dst, len)); break;
    case FAR: OK(tern_inline_get(ctx, region, rank, offset, dst, len, "tern_get")); break;
    case NB:
        OK(tern_get_nb(ctx, region, rank, offset, dst, len, &event));
        while ((st = tern_event_test(&event)) == TERN_PENDING)
            ;
        OK(st);
        break;
    case NBI:
        OK(tern_get_nbi(ctx, region, rank, offset, dst, len));
        OK(tern_quiet(ctx));
        break;
    case WITH_LOCAL:
        OK(tern_get_with(ctx, region, rank, offset, dst, len, &opts));
        OK(tern_event_wait(&near, TERN_FOREVER)); /* for a get, the same as completion */
        OK(tern_event_wait(&event, TERN_NOW));
        break;
    default: OK(tern_get_with(ctx, region, rank, offset, dst, len, NULL)); OK(tern_quiet(ctx));
    }
}

#define GUARD 64u
#define LONGEST (3u << 20)
#define PART (LONGEST + 4096u + 2 * GUARD)

/* Every rank of the team puts to its right neighbour and gets from there; one writer per part at a time. */
static void round_trip(tern_ctx *ctx, struct job_region *r, unsigned char *buffer, enum form form, uint64_t offset,
                       size_t len, unsigned when)
{
    unsigned me = (unsigned)job_me(ctx), size = (unsigned)job_ranks(ctx), right = (me + 1) % size;
    unsigned left = (me + size - 1) % size;

    memset(r->mine + offset - GUARD, 0x5a, GUARD);
    memset(r->mine + offset + len, 0x5a, GUARD);
    memset(buffer, 0xa5, GUARD);
    memset(buffer + GUARD + len, 0xa5, GUARD);
    OK(tern_barrier(TERN_WORLD));
    job_fill(buffer + GUARD, len, me, when);
    put(ctx, form, r->region, (int)right, offset, buffer + GUARD, len);
    memset(buffer + GUARD, 0, len);
    get(ctx, form, r->region, (int)right, offset, buffer + GUARD, len);
    HOLDS(buffer + GUARD, len, me, when);
    ALL_ARE(buffer, GUARD, 0xa5);
    ALL_ARE(buffer + GUARD + len, GUARD, 0xa5);
    OK(tern_barrier(TERN_WORLD));
    HOLDS(r->mine + offset, len, left, when);
    ALL_ARE(r->mine + offset - GUARD, GUARD, 0x5a);
    ALL_ARE(r->mine + offset + len, GUARD, 0x5a);
}

static void all_sizes(tern_ctx *ctx, struct job_region *r, unsigned char *buffer)
{
    static const size_t lens[] = { 0,  1,    2,    3,    4,    7,     8,     15,    63,    64,
                                   65, 4095, 4096, 4097, 8192, 12289, 65535, 65536, 65537, 131073 };
    unsigned            when = 1;

    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
        for (int form = 0; form < FORMS; form++, when++)
            round_trip(ctx, r, buffer, (enum form)form, GUARD + (when * 13) % 67, lens[i], when);
    if (JOB_SANITIZED)
        return;
    for (int form = 0; form < NBI + 1; form++, when++)
        round_trip(ctx, r, buffer, (enum form)form, GUARD + 4096 - 1, LONGEST - 3, when);
}

/* One type: put and get of a value at any alignment, inlined and through a pointer. */
#define VALUES(bits)                                                                                                   \
    static void values_u##bits(tern_region *region, unsigned char *mine)                                               \
    {                                                                                                                  \
        tern_status (*volatile put_it)(tern_ctx *, tern_region *, int, uint64_t, uint##bits##_t) = tern_put_u##bits;   \
        tern_status (*volatile get_it)(tern_ctx *, tern_region *, int, uint64_t, uint##bits##_t *) = tern_get_u##bits; \
        int            right = (tern_rank() + 1) % tern_size();                                                        \
        uint##bits##_t value = (uint##bits##_t)(0x8877665544332211ull * (unsigned)(tern_rank() + 1)), got;             \
                                                                                                                       \
        for (uint64_t at = 0; at < 24; at++) {                                                                         \
            memset(mine, 0x5a, 64);                                                                                    \
            OK(tern_barrier(TERN_WORLD));                                                                              \
            if (at % 2)                                                                                                \
                OK(put_it(TERN_WORLD, region, right, at, value));                                                      \
            else                                                                                                       \
                OK(tern_put_u##bits(TERN_WORLD, region, right, at, value));                                            \
            got = 0;                                                                                                   \
            OK(tern_get_u##bits(TERN_WORLD, region, right, at, &got));                                                 \
            CHECK(got == value);                                                                                       \
            got = 0;                                                                                                   \
            OK(get_it(TERN_WORLD, region, right, at, &got));                                                           \
            CHECK(got == value);                                                                                       \
            OK(tern_barrier(TERN_WORLD));                                                                              \
            ALL_ARE(mine, at, 0x5a);                                                                                   \
            ALL_ARE(mine + at + sizeof(got), 64 - at - sizeof(got), 0x5a);                                             \
        }                                                                                                              \
    }
VALUES(8)
VALUES(16)
VALUES(32)
VALUES(64)

/* Lengths that the compiler knows may be copied by other code: test each of them, with bytes on both sides that must
 * not change. */
#define CONSTANT(n)                                                            \
    do {                                                                       \
        unsigned char src[n], dst[n];                                          \
        job_fill(src, n, (unsigned)me, n);                                     \
        memset(mine, 0x5a, 256);                                               \
        OK(tern_barrier(TERN_WORLD));                                          \
        OK(tern_put(TERN_WORLD, region, right, 64 + n % 3, src, n));           \
        OK(tern_get(TERN_WORLD, region, right, 64 + n % 3, dst, n));           \
        HOLDS(dst, n, (unsigned)me, n);                                        \
        OK(tern_barrier(TERN_WORLD));                                          \
        HOLDS(mine + 64 + n % 3, n, left, n);                                  \
        ALL_ARE(mine, 64 + n % 3, 0x5a);                                       \
        ALL_ARE(mine + 64 + n % 3 + n, 256 - (64 + n % 3 + n), 0x5a);          \
        job_fill(mine, 256, 1, 1); /* and onto themselves, a little further */ \
        OK(tern_put(TERN_WORLD, region, me, 64 + 5, mine + 64, n));            \
        HOLDS(mine, 64 + 5, 1, 1);                                             \
        for (unsigned i = 0; i < n; i++)                                       \
            CHECK(mine[64 + 5 + i] == job_byte(1, 1, 64 + i));                 \
        OK(tern_barrier(TERN_WORLD));                                          \
    } while (0)

static void constant_lengths(tern_region *region, unsigned char *mine)
{
    int      me = tern_rank(), right = (me + 1) % tern_size();
    unsigned left = (unsigned)((me + tern_size() - 1) % tern_size());

    CONSTANT(1);
    CONSTANT(2);
    CONSTANT(3);
    CONSTANT(4);
    CONSTANT(7);
    CONSTANT(8);
    CONSTANT(9);
    CONSTANT(12);
    CONSTANT(15);
    CONSTANT(16);
    CONSTANT(17);
    CONSTANT(24);
    CONSTANT(31);
    CONSTANT(32);
    CONSTANT(33);
    CONSTANT(40);
    CONSTANT(47);
    CONSTANT(48);
    CONSTANT(49);
    CONSTANT(63);
    CONSTANT(64);
    CONSTANT(65);
    CONSTANT(100);
}

/* Source and destination may overlap when both lie in the caller's own part. */
static void overlaps(tern_region *region, unsigned char *mine)
{
    unsigned char model[4096];
    int           me = tern_rank();

    for (int distance = -70; distance <= 70; distance += 7) {
        uint64_t from = 1024, to = (uint64_t)(1024 + distance);

        job_fill(mine, sizeof(model), (unsigned)me, (unsigned)(distance + 100));
        memcpy(model, mine, sizeof(model));
        memmove(model + to, model + from, 1500);
        OK(tern_put(TERN_WORLD, region, me, to, mine + from, 1500));
        CHECK(memcmp(mine, model, sizeof(model)) == 0);
        memmove(model + from, model + to, 1500);
        OK(tern_get(TERN_WORLD, region, me, to, mine + from, 1500));
        CHECK(memcmp(mine, model, sizeof(model)) == 0);
        memmove(model + to, model + from, 1500);
        OK(tern_put_with(TERN_WORLD, region, me, to, mine + from, 1500, NULL));
        OK(tern_quiet(TERN_WORLD));
        CHECK(memcmp(mine, model, sizeof(model)) == 0);
    }
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    unsigned char *buffer = job_new(PART);

    OK(tern_init());
    for (int kind = 0; kind < JOB_KINDS; kind++) {
        struct job_region r;
        tern_ctx         *strict;

        job_region_make(&r, (enum job_kind)kind, PART);
        OK(tern_ctx_create(tern_team_node(), TERN_STRICT, &strict));
        all_sizes(TERN_WORLD, &r, buffer);
        if (kind == JOB_HOST || kind == JOB_REGISTERED)
            all_sizes(strict, &r, buffer);
        values_u8(r.region, r.mine);
        values_u16(r.region, r.mine);
        values_u32(r.region, r.mine);
        values_u64(r.region, r.mine);
        constant_lengths(r.region, r.mine);
        overlaps(r.region, r.mine);
        OK(tern_ctx_free(strict));
        job_region_drop(&r);
    }
    OK(tern_finalize());
    free(buffer);
    return 0;
}
