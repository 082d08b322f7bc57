/* coll_direct.c: long collective calls on a node whose arrays are in regions, in private memory, and in both.
 *
 * Promise: the result of a collective call, blocking or not, does not depend on where the arrays of the ranks are.
 * Ranks access the arrays of others by loads and stores in regions, and by cross-memory attach elsewhere; if one array
 * is out of reach, all ranks send messages. Sources of up to 16 KiB may be copied to memory that the ranks share, which
 * other calls use, too. Lengths are around those of the pieces in which arrays are combined, and around 16 KiB. Several
 * nonblocking calls may be outstanding, with blocking ones in between.
 *
 * ranks: 2 3 4 8
 * env: TERN_CMA=off
 * env: TERN_COLL=broadcast=direct,reduce=direct,allreduce=direct,reduce_scatter=direct,gather=direct,scan=direct
 * env: TERN_COLL=allgather=direct,alltoall=direct,scatter=direct,reduce_scatter=direct
 * sanitized: 4
 * keep: 4
 */
#include <stdint.h>
#include <string.h>

#include "job_test.h"

#define MOST 66000 /* words of an array: two chunks of 256 KiB, and some more */

static int                    me, size;
static tern_region           *region;
static uint64_t               plain[3][MOST]; /* source, result, and the result of a call meanwhile */
static const tern_reduce_args sum = { .size = sizeof(sum), .type = TERN_UINT64, .op = TERN_SUM };

/* Word i of the source of a rank. */
static uint64_t word(int rank, size_t i)
{
    return (uint64_t)(rank + 1) * 1000003u + i * 7;
}

/* Whether the arrays of this rank are in the region: never, always, or on some ranks. */
static uint64_t *array(int where, int which)
{
    bool shared = where == 1 || (where == 2 && me % 2 == 0);

    return shared ? (uint64_t *)tern_region_ptr(region, me) + (size_t)which * MOST : plain[which];
}

static uint64_t sum_of(int ranks, size_t i)
{
    uint64_t all = 0;

    for (int r = 0; r < ranks; r++)
        all += word(r, i);
    return all;
}

/* Make a call in one of the two forms. */
static bool with;
#define MAKE(name, ...)                                                                   \
    do {                                                                                  \
        tern_event event = TERN_EVENT_INIT;                                               \
        if (!with)                                                                        \
            OK(tern_##name(TERN_WORLD, __VA_ARGS__));                                     \
        else                                                                              \
            OK(tern_##name##_with(TERN_WORLD, __VA_ARGS__, &TERN_OPTS(.event = &event))); \
        if (with)                                                                         \
            OK(tern_event_wait(&event, TERN_FOREVER));                                    \
    } while (0)

static void reductions(int where, size_t n, bool in_place)
{
    uint64_t *src = array(where, 0), *dst = in_place ? src : array(where, 1);
    int       root = size - 1;

    for (int call = 0; call < 4; call++) {
        for (size_t i = 0; i < n; i++)
            src[i] = word(me, i);
        switch (call) {
        case 0: MAKE(allreduce, src, dst, n, &sum); break;
        case 1: MAKE(reduce, root, src, dst, n, &sum); break;
        case 2: MAKE(scan, src, dst, n, &sum); break;
        default: MAKE(exscan, src, dst, n, &sum); break;
        }
        for (size_t i = 0; i < n && (call != 1 || me == root) && (call != 3 || me > 0); i++)
            SAME(dst[i], sum_of(call == 2 ? me + 1 : call == 3 ? me : size, i));
    }
}

static void blocks(int where, size_t n)
{
    uint64_t *src = array(where, 0), *dst = array(where, 1);
    size_t    each = n / (size_t)size, bytes = each * sizeof(*src), mine = (size_t)me * each;

    for (size_t i = 0; i < n; i++)
        src[i] = word(me, i);
    MAKE(alltoall, src, dst, bytes);
    for (size_t i = 0; i < each * (size_t)size; i++)
        SAME(dst[i], word((int)(i / each), mine + i % each));
    MAKE(allgather, src, bytes, dst);
    for (size_t i = 0; i < each * (size_t)size; i++)
        SAME(dst[i], word((int)(i / each), i % each));
    MAKE(gather, 0, src, bytes, dst);
    for (size_t i = 0; me == 0 && i < each * (size_t)size; i++)
        SAME(dst[i], word((int)(i / each), i % each));
    MAKE(scatter, 0, src, dst, bytes);
    for (size_t i = 0; i < each; i++)
        SAME(dst[i], word(0, mine + i));
    MAKE(reduce_scatter, src, dst, each, &sum);
    for (size_t i = 0; i < each; i++)
        SAME(dst[i], sum_of(size, mine + i));
    MAKE(reduce_scatter, src, src + mine, each, &sum); /* in place */
    for (size_t i = 0; i < each; i++)
        SAME(src[mine + i], sum_of(size, mine + i));
    for (size_t i = 0; i < n; i++)
        src[i] = word(me, i);
    MAKE(broadcast, size - 1, src, n * sizeof(*src));
    for (size_t i = 0; i < n; i++)
        SAME(src[i], word(size - 1, i));
}

/* Calls of lengths around 4 KiB in turn, so that consecutive calls use the same shared memory for their sources in
 * different ways, and some ranks are ahead of others. */
static void in_turn(int where)
{
    uint64_t *src = array(where, 0), *dst = array(where, 1), one;
    size_t    each = 2000 / (size_t)size;

    for (size_t round = 0; round < 40; round++) {
        for (size_t i = 0; i < 2000; i++)
            src[i] = word(me, i + round);
        OK(tern_alltoall(TERN_WORLD, src, dst, each * sizeof(*src)));
        for (size_t i = 0; i < each * (size_t)size; i++)
            SAME(dst[i], word((int)(i / each), (size_t)me * each + i % each + round));
        for (size_t k = 0; k < round % 6; k++) { /* fills as many pages of rank 0 */
            memset(dst, 0, 4096);
            if (me == 0)
                memcpy(dst, src + k, 4096);
            OK(tern_broadcast(TERN_WORLD, 0, dst, 4096));
            for (size_t i = 0; i < 512; i++)
                SAME(dst[i], word(0, i + k + round));
        }
        OK(tern_scatter(TERN_WORLD, 0, src, dst, each * sizeof(*src)));
        for (size_t i = 0; i < each; i++)
            SAME(dst[i], word(0, (size_t)me * each + i + round));
        OK(tern_allgather(TERN_WORLD, src, (500 + round) * sizeof(*src), dst)); /* 512 words fit into a page */
        for (size_t i = 0; i < (500 + round) * (size_t)size; i++)
            SAME(dst[i], word((int)(i / (500 + round)), i % (500 + round) + round));
        OK(tern_reduce_scatter(TERN_WORLD, src, dst, each, &sum));
        OK(tern_scan(TERN_WORLD, &src[round], &one, 1, &sum));
        for (size_t i = 0; i < each; i++)
            SAME(dst[i], sum_of(size, (size_t)me * each + i + round));
        SAME(one, sum_of(me + 1, 2 * round));
    }
}

/* Reductions of several lengths at once, which end in another order on each rank, and blocking ones meanwhile. */
static void several(int where)
{
    enum { SEVERAL = 12 };
    uint64_t  *src = array(where, 0), *dst = array(where, 1), one = 1, all;
    tern_event event[SEVERAL];
    size_t     each = MOST / SEVERAL;

    for (size_t i = 0; i < MOST; i++)
        src[i] = word(me, i);
    for (size_t k = 0; k < SEVERAL; k++) {
        size_t n = k % 3 ? each : 1 + k;

        OK(tern_allreduce_with(TERN_WORLD, src + k * each, dst + k * each, n, &sum, &TERN_OPTS(.event = &event[k])));
        if (k % 4 == 0)
            OK(tern_allreduce(TERN_WORLD, &one, &all, 1, &sum));
        if (k % 4 == 2)
            OK(tern_allreduce(TERN_WORLD, src, plain[2], each, &sum));
    }
    for (size_t i = 0; i < SEVERAL; i++)
        OK(tern_event_wait(&event[(i * 5 + (size_t)me) % SEVERAL], TERN_FOREVER));
    for (size_t k = 0; k < SEVERAL; k++)
        for (size_t i = 0; i < (k % 3 ? each : 1 + k); i++)
            SAME(dst[k * each + i], sum_of(size, k * each + i));
}

int main(void)
{
    static const size_t lengths[] = { 600, 2048, 2056, 4095, 4097, 32769, MOST };

    OK(tern_init());
    me = tern_rank();
    size = tern_size();
    OK(tern_region_create(TERN_WORLD, 2 * sizeof(plain[0]), NULL, &region));
    for (int where = 0; where < 3; where++) {
        several(where);
        in_turn(where);
        for (size_t i = 0; i < 2 * sizeof(lengths) / sizeof(lengths[0]); i++) {
            with = i % 2 == 0;
            blocks(where, lengths[i / 2]);
            reductions(where, lengths[i / 2], false);
            reductions(where, lengths[i / 2], true);
        }
    }
    OK(tern_region_free(region));
    OK(tern_finalize());
    return 0;
}
