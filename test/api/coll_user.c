/* coll_user.c: the operands that a function of the program gets in a reduction.
 *
 * Promise: the arrays that the function gets are aligned to 16 bytes if those of the program are, they do not overlap,
 * and the elements of the lower ranks come first, whichever way the call takes.
 *
 * ranks: 1 2 3 4
 * env: TERN_CMA=off
 * keep: 4
 */
#include "job_test.h"

#define MOST 6000

struct range { /* of ranks whose elements were combined, and the number of the element */
    _Alignas(16) int32_t first;
    int32_t  end;
    uint64_t number;
};

static int          me, size;
static struct range src[8 * MOST], dst[MOST];

static void append(const void *in, void *inout, size_t count, void *user)
{
    const struct range *lower = in;
    struct range       *upper = inout;

    (void)user;
    SAME((uintptr_t)in % 16, 0);
    SAME((uintptr_t)inout % 16, 0);
    CHECK(lower + count <= upper || upper + count <= lower);
    for (size_t i = 0; i < count; i++) {
        SAME(lower[i].end, upper[i].first);
        SAME(lower[i].number, upper[i].number);
        upper[i].first = lower[i].first;
    }
}

static const tern_reduce_args how = {
    .size = sizeof(how), .op = TERN_USER, .fn = append, .elem = sizeof(struct range)
};

static void fill(size_t n)
{
    for (size_t i = 0; i < n; i++)
        src[i] = (struct range){ .first = me, .end = me + 1, .number = i };
}

/* Check that the ranks before end were combined, and that the numbers begin with `number`. */
static void check(const struct range *array, size_t n, int end, uint64_t number)
{
    for (size_t i = 0; i < n; i++) {
        SAME(array[i].first, 0);
        SAME(array[i].end, end);
        SAME(array[i].number, number + i);
    }
}

static void reduce(size_t n)
{
    tern_event event;

    fill(n * (size_t)size);
    OK(tern_allreduce(TERN_WORLD, src, dst, n, &how));
    check(dst, n, size, 0);
    OK(tern_reduce(TERN_WORLD, size - 1, src, dst, n, &how));
    if (me == size - 1)
        check(dst, n, size, 0);
    OK(tern_scan(TERN_WORLD, src, dst, n, &how));
    check(dst, n, me + 1, 0);
    OK(tern_exscan(TERN_WORLD, src, dst, n, &how));
    if (me > 0)
        check(dst, n, me, 0);
    OK(tern_reduce_scatter(TERN_WORLD, src, dst, n, &how));
    check(dst, n, size, (uint64_t)me * n);
    OK(tern_allreduce_with(TERN_WORLD, src, dst, n, &how, &TERN_OPTS(.event = &event)));
    OK(tern_event_wait(&event, TERN_FOREVER));
    check(dst, n, size, 0);
    OK(tern_allreduce(TERN_WORLD, src, src, n, &how)); /* in place */
    check(src, n, size, 0);
}

int main(void)
{
    static const size_t lengths[] = { 1, 2, 3, 30, 255, 257, MOST };

    OK(tern_init());
    me = tern_rank();
    size = tern_size();
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        reduce(lengths[i]);
    OK(tern_finalize());
    return 0;
}
