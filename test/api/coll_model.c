/* coll_model.c: every collective call against a model, with random arguments.
 *
 * Promise: each collective call of tern/coll.h computes what its contract says, on teams of any shape, for any root,
 * length, type and reduction, in place or not, blocking and nonblocking, with any algorithm. The ranks compute the data
 * of all ranks themselves, and compare. The arguments are random, but the same on all ranks; lengths are around the
 * limits between the ways in which a call travels.
 *
 * ranks: 1 2 3 4 8
 * env: TERN_COLL=broadcast=chain,reduce=linear,allreduce=ring,reduce_scatter=ring,gather=linear,scatter=linear
 * env: TERN_COLL=allgather=linear,alltoall=bruck,scan=chain,exscan=chain,sync=central TERN_TEST=net=off
 * env: TERN_COLL=broadcast=scatter_ring,reduce=binomial,allreduce=rabenseifner,gather=binomial,scatter=binomial
 * env: TERN_COLL=allgather=bruck,alltoall=pairwise,alltoallv=linear,allgatherv=linear,scan=recursive_doubling
 * env: TERN_COLL=broadcast=linear,allreduce=pieces,allgather=recursive_doubling,alltoall=linear TERN_TEST=net=off
 * env: TERN_COLL=broadcast=binomial,allreduce=recursive_doubling,allgather=ring,reduce_scatterv=ring TERN_MSG_EAGER=256
 * sanitized: 4
 * hosts: a:2,b:2
 */
#include <stdint.h>
#include <string.h>

#include "job_test.h"

#define MOST 24000 /* bytes of one block */
#define CALLS 17

static int      me;
static uint64_t seed = 20231;

static uint64_t draw(uint64_t below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 33) % below;
}

/* A team under test, and the call that is made on it. */
struct trial {
    tern_ctx *ctx;
    int       rank, size, root;
    unsigned  call;
    size_t    count; /* elements of a block */
    uint64_t  salt;
    bool      in_place, with;
    unsigned  kind; /* index of kinds */
};

/* ---- elements: small integers, so that every order of a sum gives the same result ---- */

struct pair {
    int32_t value;
    int64_t at;
};

static void user_fn(const void *in, void *inout, size_t count, void *user)
{
    /* Composition of the functions x -> a * x + b on 32 bits, which does not commute. */
    const uint32_t(*lower)[2] = in;
    uint32_t(*upper)[2] = inout;

    CHECK(user == &me);
    for (size_t i = 0; i < count; i++) {
        uint32_t a = lower[i][0] * upper[i][0], b = lower[i][1] * upper[i][0] + upper[i][1];

        upper[i][0] = a;
        upper[i][1] = b;
    }
}

static const struct kind {
    tern_type      type;
    tern_reduction op;
    size_t         elem;
    uint32_t       flags;
} kinds[] = {
    { TERN_INT32, TERN_SUM, 4, 0 },
    { TERN_DOUBLE, TERN_SUM, 8, 0 },
    { TERN_FLOAT, TERN_MAX, 4, 0 },
    { TERN_INT8, TERN_MIN, 1, 0 },
    { TERN_UINT16, TERN_XOR, 2, 0 },
    { TERN_UINT64, TERN_PROD, 8, TERN_REPRODUCIBLE },
    { TERN_INT64, TERN_ABSMAX, 8, 0 },
    { TERN_UINT8, TERN_LXOR, 1, 0 },
    { TERN_INT32, TERN_MINLOC, sizeof(struct pair), 0 },
    { TERN_COMPLEX_FLOAT, TERN_SUM, 8, 0 },
    { TERN_LONG_DOUBLE, TERN_SUM, 16, 0 },
    { TERN_INT32, TERN_USER, 8, 0 },
    { TERN_DOUBLE, TERN_SUM, 8, TERN_REPRODUCIBLE },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* A small number of a rank's element. */
static int number(const struct trial *t, int rank, size_t i)
{
    uint64_t x = (t->salt + (uint64_t)rank * 977 + i * 31) * 0x9e3779b97f4a7c15ull;

    return (int)(x >> 40) % 7 - 3;
}

static void write_element(const struct trial *t, void *at, int rank, size_t i)
{
    const struct kind *kind = &kinds[t->kind];
    int                n = number(t, rank, i);

    if (kind->op == TERN_MINLOC) {
        struct pair pair;
        memset(&pair, 0, sizeof(pair));
        pair.value = n;
        pair.at = rank;
        memcpy(at, &pair, sizeof(pair));
    } else if (kind->op == TERN_USER) {
        memcpy(at, (uint32_t[]){ (uint32_t)(2 * n + 1), (uint32_t)(rank + 1) }, 8);
    } else {
        switch ((int)kind->type) {
        case TERN_INT8:
        case TERN_UINT8: memcpy(at, &(int8_t){ (int8_t)n }, 1); break;
        case TERN_UINT16: memcpy(at, &(int16_t){ (int16_t)n }, 2); break;
        case TERN_INT32: memcpy(at, &(int32_t){ n }, 4); break;
        case TERN_INT64:
        case TERN_UINT64: memcpy(at, &(int64_t){ n }, 8); break;
        case TERN_FLOAT: memcpy(at, &(float){ (float)n }, 4); break;
        case TERN_DOUBLE: memcpy(at, &(double){ n }, 8); break;
        case TERN_COMPLEX_FLOAT: memcpy(at, (float[]){ (float)n, (float)-n }, 8); break;
        default: {
            long double value;
            memset(&value, 0, sizeof(value));
            value = n;
            memcpy(at, &value, sizeof(value));
        }
        }
    }
}

/* Combine the number or element b of a higher rank into a. */
static void combine(const struct trial *t, void *a, const void *b)
{
    const struct kind *kind = &kinds[t->kind];
    union {
        int8_t      i8;
        uint8_t     u8;
        uint16_t    u16;
        int32_t     i32;
        int64_t     i64;
        uint64_t    u64;
        float       f[2];
        double      d;
        long double ld;
        struct pair pair;
        uint32_t    user[2];
    } x, y;

    memcpy(&x, a, kind->elem);
    memcpy(&y, b, kind->elem);
    switch (t->kind) {
    case 0: x.i32 += y.i32; break;
    case 1:
    case 12: x.d += y.d; break;
    case 2: x.f[0] = y.f[0] > x.f[0] ? y.f[0] : x.f[0]; break;
    case 3: x.i8 = y.i8 < x.i8 ? y.i8 : x.i8; break;
    case 4: x.u16 ^= y.u16; break;
    case 5: x.u64 *= y.u64; break;
    case 6:
        x.i64 = (x.i64 < 0 ? -x.i64 : x.i64) > (y.i64 < 0 ? -y.i64 : y.i64) ? (x.i64 < 0 ? -x.i64 : x.i64)
                                                                            : (y.i64 < 0 ? -y.i64 : y.i64);
        break;
    case 7: x.u8 = !x.u8 != !y.u8; break;
    case 8: x.pair = y.pair.value < x.pair.value ? y.pair : x.pair; break;
    case 9: x.f[0] += y.f[0], x.f[1] += y.f[1]; break;
    case 10: x.ld += y.ld; break;
    default: y.user[1] = x.user[1] * y.user[0] + y.user[1], y.user[0] *= x.user[0], x = y;
    }
    memcpy(a, &x, kind->elem);
}

/* Whether an element equals the combination of the element i of the ranks before end. */
static void check_combined(const struct trial *t, const unsigned char *at, int end, size_t i)
{
    const struct kind *kind = &kinds[t->kind];
    unsigned char      sum[16], one[16];
    size_t             bytes = kind->type == TERN_LONG_DOUBLE ? 10 : kind->elem; /* the rest is padding */

    write_element(t, sum, 0, i);
    for (int rank = 1; rank < end; rank++) {
        write_element(t, one, rank, i);
        combine(t, sum, one);
    }
    if (kind->op == TERN_MINLOC)
        CHECK(memcmp(sum, at, 4) == 0 && memcmp(sum + 8, at + 8, 8) == 0);
    else
        CHECK(memcmp(sum, at, bytes) == 0);
}

/* ---- bytes ---- */

static unsigned char byte_of(const struct trial *t, int from, int to, size_t i)
{
    return (unsigned char)(t->salt + (uint64_t)from * 37 + (uint64_t)to * 101 + i * 7);
}

static unsigned char src[9 * MOST], dst[9 * MOST];

/* Write n bytes that a rank sends to another one. */
static void fill(const struct trial *t, unsigned char *at, int from, int to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = byte_of(t, from, to, i);
}

static void check_bytes(const struct trial *t, const unsigned char *at, int from, int to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CHECK(at[i] == byte_of(t, from, to, i));
}

/* The length of the block that a rank sends to another one, for calls with lists. */
static size_t listed(const struct trial *t, int from, int to)
{
    return (t->salt + (uint64_t)from * 13 + (uint64_t)to * 29) % (t->count + 1);
}

/* ---- the calls ---- */

static tern_status finish(const struct trial *t, tern_status st, tern_event *event)
{
    return st < 0 || !t->with ? st : tern_event_wait(event, TERN_FOREVER);
}
#define MAKE(t, name, ...)                                                                    \
    finish(t,                                                                                 \
           (t)->with ? tern_##name##_with((t)->ctx, __VA_ARGS__, &TERN_OPTS(.event = &event)) \
                     : tern_##name((t)->ctx, __VA_ARGS__),                                    \
           &event)

static void reductions(const struct trial *t)
{
    const struct kind     *kind = &kinds[t->kind];
    const tern_reduce_args how =
        TERN_REDUCE_ARGS(.type = kind->type, .op = kind->op, .flags = kind->flags,
                         .fn = kind->op == TERN_USER ? user_fn : NULL, .elem = kind->op == TERN_USER ? kind->elem : 0,
                         .user = kind->op == TERN_USER ? &me : NULL);
    size_t         n = t->call == 4 ? t->count * (size_t)t->size : t->count;
    unsigned char *to = t->in_place ? src + (t->call == 4 ? (size_t)t->rank * t->count * kind->elem : 0) : dst;
    tern_event     event;
    int            end = t->call == 9 ? t->rank + 1 : t->call == 10 ? t->rank : t->size;

    for (size_t i = 0; i < n; i++)
        write_element(t, src + i * kind->elem, t->rank, i);
    switch (t->call) {
    case 2: OK(MAKE(t, reduce, t->root, src, to, n, &how)); break;
    case 3: OK(MAKE(t, allreduce, src, to, n, &how)); break;
    case 4: OK(MAKE(t, reduce_scatter, src, to, t->count, &how)); break;
    case 9: OK(MAKE(t, scan, src, to, n, &how)); break;
    default: OK(MAKE(t, exscan, src, to, n, &how)); break;
    }
    if ((t->call == 2 && t->rank != t->root) || end == 0)
        return;
    for (size_t i = 0; i < t->count; i++)
        check_combined(t, to + i * kind->elem, end, t->call == 4 ? (size_t)t->rank * t->count + i : i);
}

static void reduce_lists(const struct trial *t)
{
    const struct kind     *kind = &kinds[0];
    const tern_reduce_args how = TERN_REDUCE_ARGS(.type = kind->type);
    struct trial           same = *t;
    size_t                 len[16], at = 0, mine = 0;
    tern_event             event;

    same.kind = 0;
    for (int i = 0; i < t->size; i++) {
        len[i] = listed(t, 0, i) / 4 * 4;
        mine = i == t->rank ? at : mine;
        at += len[i];
    }
    for (size_t i = 0; i < at / 4; i++)
        write_element(&same, src + i * 4, t->rank, i);
    OK(MAKE(t, reduce_scatterv, src, dst, &TERN_BLOCKS(.len = len), &how));
    for (size_t i = 0; i < len[t->rank] / 4; i++)
        check_combined(&same, dst + i * 4, t->size, mine / 4 + i);
}

static void equal_blocks(const struct trial *t)
{
    size_t         n = t->count;
    unsigned char *own = t->in_place ? dst + (size_t)t->rank * n : src;
    tern_event     event;

    switch (t->call) {
    case 1:
        fill(t, dst, t->rank, 0, n);
        OK(MAKE(t, broadcast, t->root, dst, n));
        check_bytes(t, dst, t->root, 0, n);
        return;
    case 5:
        fill(t, own, t->rank, 0, n);
        OK(MAKE(t, gather, t->root, own, n, dst));
        for (int i = 0; t->rank == t->root && i < t->size; i++)
            check_bytes(t, dst + (size_t)i * n, i, 0, n);
        return;
    case 6:
        for (int i = 0; t->rank == t->root && i < t->size; i++)
            fill(t, dst + (size_t)i * n, t->rank, i, n);
        OK(MAKE(t, scatter, t->root, dst, own, n));
        check_bytes(t, own, t->root, t->rank, n);
        return;
    case 7:
        fill(t, own, t->rank, 0, n);
        OK(MAKE(t, allgather, own, n, dst));
        for (int i = 0; i < t->size; i++)
            check_bytes(t, dst + (size_t)i * n, i, 0, n);
        return;
    default:
        for (int i = 0; i < t->size; i++)
            fill(t, src + (size_t)i * n, t->rank, i, n);
        OK(MAKE(t, alltoall, src, dst, n));
        for (int i = 0; i < t->size; i++)
            check_bytes(t, dst + (size_t)i * n, i, t->rank, n);
    }
}

/* Lists with a gap in front of each block, or without offsets. */
static size_t layout(const struct trial *t, size_t *len, size_t *offset, bool to_me, bool from_root)
{
    size_t at = 0, gap = t->salt % 3;

    for (int i = 0; i < t->size; i++) {
        len[i] = to_me ? listed(t, i, t->rank) : listed(t, t->rank, i);
        if (from_root)
            len[i] = listed(t, i, 0);
        offset[i] = at += gap;
        at += len[i];
    }
    return gap;
}

static void lists(const struct trial *t)
{
    size_t      len[16], offset[16], out[16], out_at[16], mine = listed(t, t->rank, 0);
    bool        gaps = layout(t, len, offset, true, t->call != 15) > 0, out_gaps;
    tern_blocks blocks = TERN_BLOCKS(.len = len, .offset = gaps ? offset : NULL), from;
    tern_event  event;

    switch (t->call) {
    case 12:
    case 14:
        fill(t, src, t->rank, 0, mine);
        if (t->call == 12)
            OK(MAKE(t, gatherv, t->root, src, mine, dst, t->rank == t->root ? &blocks : NULL));
        else
            OK(MAKE(t, allgatherv, src, mine, dst, &blocks));
        for (int i = 0; (t->call == 14 || t->rank == t->root) && i < t->size; i++)
            check_bytes(t, dst + offset[i], i, 0, len[i]);
        return;
    case 13:
        for (int i = 0; t->rank == t->root && i < t->size; i++)
            fill(t, src + offset[i], t->rank, i, len[i]);
        OK(MAKE(t, scatterv, t->root, src, t->rank == t->root ? &blocks : NULL, dst, mine));
        check_bytes(t, dst, t->root, t->rank, mine);
        return;
    default:
        out_gaps = layout(t, out, out_at, false, false) > 0;
        from = TERN_BLOCKS(.len = out, .offset = out_gaps ? out_at : NULL);
        for (int i = 0; i < t->size; i++)
            fill(t, src + out_at[i], t->rank, i, out[i]);
        OK(MAKE(t, alltoallv, src, &from, dst, &blocks));
        for (int i = 0; i < t->size; i++)
            check_bytes(t, dst + offset[i], i, t->rank, len[i]);
    }
}

static void strided(const struct trial *t)
{
    const tern_alltoalls_args args =
        TERN_ALLTOALLS_ARGS(.elem = 3, .count = t->count / 12, .src_stride = 1 + t->salt % 3,
                            .dst_stride = 1 + t->salt / 3 % 3);
    tern_event event;

    for (int r = 0; r < t->size; r++)
        for (size_t i = 0; i < args.count; i++)
            for (size_t b = 0; b < 3; b++)
                src[((size_t)r * args.count + i) * args.src_stride * 3 + b] = byte_of(t, t->rank, r, 3 * i + b);
    OK(MAKE(t, alltoalls, src, dst, &args));
    for (int r = 0; r < t->size; r++)
        for (size_t i = 0; i < args.count; i++)
            for (size_t b = 0; b < 3; b++)
                CHECK(dst[((size_t)r * args.count + i) * args.dst_stride * 3 + b] == byte_of(t, r, t->rank, 3 * i + b));
}

static void sync_call(const struct trial *t)
{
    tern_event event;

    OK(finish(t, t->with ? tern_sync_with(t->ctx, &TERN_OPTS(.event = &event)) : tern_sync(t->ctx), &event));
}

static void one(struct trial *t)
{
    static const size_t lengths[] = { 0, 1, 8, 40, 41, 333, 1024, 4096, 4104, 9000, MOST };
    char                note[100];

    t->call = (unsigned)draw(CALLS);
    t->count = lengths[draw(sizeof(lengths) / sizeof(lengths[0]))];
    t->root = (int)draw((uint64_t)t->size);
    t->salt = draw(1 << 20);
    t->in_place = draw(3) == 0;
    t->with = draw(2) == 0;
    t->kind = (unsigned)draw(KINDS);
    snprintf(note, sizeof(note), "(call %u of %zu, root %d of %d, kind %u, in place %d, with %d)", t->call, t->count,
             t->root, t->size, t->kind, t->in_place, t->with);
    job_note = note;
    if (t->call == 0)
        sync_call(t);
    else if ((t->call >= 2 && t->call <= 4) || t->call == 9 || t->call == 10) {
        t->count /= 16;
        reductions(t);
    } else if (t->call <= 8)
        equal_blocks(t);
    else if (t->call == 11)
        reduce_lists(t);
    else if (t->call <= 15)
        lists(t);
    else
        strided(t);
    job_note = "";
}

static void trials(tern_ctx *ctx, int n)
{
    tern_team   *team = tern_ctx_team(ctx);
    struct trial t = { .ctx = ctx, .rank = tern_team_rank(team), .size = tern_team_size(team) };

    seed = 4711 + (uint64_t)t.size; /* the same on all members */
    while (n-- > 0)
        one(&t);
}

int main(void)
{
    tern_team *halves, *back = NULL;
    tern_ctx  *ctx;
    int        size;

    OK(tern_init());
    me = tern_rank();
    size = tern_size();
    trials(TERN_WORLD, 150);
    OK(tern_team_split(TERN_WORLD, me % 2, 0, &halves));
    OK(tern_ctx_create(halves, TERN_STRICT, &ctx));
    trials(ctx, 60);
    OK(tern_ctx_free(ctx));
    OK(tern_team_free(halves));
    OK(tern_team_strided(tern_team_world(), size - 1, size > 1 ? -1 : 1, size, 5, &back));
    OK(tern_ctx_create(back, TERN_RELAXED | TERN_SHARED, &ctx));
    trials(ctx, 60);
    OK(tern_ctx_free(ctx));
    OK(tern_team_free(back));
    OK(tern_finalize());
    return 0;
}
