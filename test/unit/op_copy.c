/* op_copy.c: the copy loops against a naive walk.
 *
 * timeout: 300
 * builds: release debug asan
 *
 * Promise: whatever the run, the number of dimensions, the strides and their signs, each byte of a box lands where it
 * belongs, and no byte beside them changes: rows, planes, boxes, transposes in registers and out of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job_test.h"
#include "op/shape/copy.h"

#define CASES (JOB_SANITIZED ? 20000u : 200000u)
#define BYTES (256u << 10)
#define MOST_DIMS 6

static unsigned char source[BYTES], got[BYTES], want[BYTES];

struct box {
    size_t               run;
    unsigned             dims;
    struct tern_copy_dim dim[MOST_DIMS];
    size_t               to, from; /* where the first run begins */
    bool                 cold;
};

static void naive(const struct box *b, unsigned dims, unsigned char *to, const unsigned char *from)
{
    if (dims == 0) {
        memcpy(to, from, b->run);
        return;
    }
    for (uint64_t i = 0; i < b->dim[dims - 1].count; i++)
        naive(b, dims - 1, to + (int64_t)i * b->dim[dims - 1].to, from + (int64_t)i * b->dim[dims - 1].from);
}

static void print_box(const struct box *b)
{
    print_message("run %zu\n", b->run);
    for (unsigned i = 0; i < b->dims; i++)
        print_message("  count %llu to %lld from %lld\n", (unsigned long long)b->dim[i].count, (long long)b->dim[i].to,
                      (long long)b->dim[i].from);
}

/* The arrays are equal before and after. */
static void compare(const struct box *b)
{
    naive(b, b->dims, want + b->to, source + b->from);
    tern_op_copy(got + b->to, source + b->from, b->run, b->dims, b->dim, b->cold);
    if (memcmp(got, want, sizeof(got)) != 0) {
        print_box(b);
        fail();
    }
}

/* Lay the dimensions of one side out in memory, in a random order, with random gaps, some of them backwards. Returns
 * the number of bytes that the side takes, and the position of the first run. */
static uint64_t lay_out(const struct box *b, int64_t *stride[MOST_DIMS], uint64_t *seed, size_t *first)
{
    unsigned order[MOST_DIMS];
    uint64_t bytes = b->run;

    *first = 0;
    for (unsigned i = 0; i < b->dims; i++)
        order[i] = i;
    for (unsigned i = b->dims; i > 1; i--) {
        unsigned j = (unsigned)(job_random(seed) % i), swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
    for (unsigned i = 0; i < b->dims; i++) {
        const struct tern_copy_dim *d = &b->dim[order[i]];
        uint64_t                    step = bytes + (job_random(seed) % 2 ? job_random(seed) % 9 : 0);

        *stride[order[i]] = (int64_t)step;
        bytes += step * (d->count - 1);
        if (job_random(seed) % 4 == 0) {
            *stride[order[i]] = -(int64_t)step;
            *first += step * (d->count - 1);
        }
    }
    return bytes;
}

static bool draw(struct box *b, uint64_t *seed)
{
    static const size_t runs[] = { 1, 2, 4, 8, 16, 32, 64, 3, 5, 7, 12, 24, 31, 33, 63, 65, 100, 3000 };
    int64_t            *to[MOST_DIMS], *from[MOST_DIMS];
    uint64_t            to_bytes, from_bytes;

    b->cold = job_random(seed) % 2 == 0;
    b->run = runs[job_random(seed) % (sizeof(runs) / sizeof(runs[0]))];
    b->dims = (unsigned)(job_random(seed) % (MOST_DIMS + 1));
    for (unsigned i = 0; i < b->dims; i++) {
        b->dim[i].count = 1 + job_random(seed) % (b->dims <= 2 ? 80 : b->dims == 3 ? 12 : 4);
        to[i] = &b->dim[i].to;
        from[i] = &b->dim[i].from;
    }
    to_bytes = lay_out(b, to, seed, &b->to);
    from_bytes = lay_out(b, from, seed, &b->from);
    if (to_bytes > BYTES || from_bytes > BYTES)
        return false;
    b->to += job_random(seed) % (BYTES - to_bytes + 1);
    b->from += job_random(seed) % (BYTES - from_bytes + 1);
    if (b->dims > 0 && job_random(seed) % 16 == 0) { /* the same source repeatedly */
        struct tern_copy_dim *d = &b->dim[job_random(seed) % b->dims];

        if (d->from < 0)
            b->from -= (size_t)-d->from * (d->count - 1);
        d->from = 0;
    }
    return true;
}

static void prepare(uint64_t *seed)
{
    for (size_t i = 0; i < BYTES; i++)
        source[i] = (unsigned char)job_random(seed);
}

static void random_boxes(void **state)
{
    uint64_t   seed = 4711;
    struct box b;

    (void)state;
    prepare(&seed);
    for (unsigned i = 0; i < CASES; i++)
        if (draw(&b, &seed))
            compare(&b);
}

/* Rows so long and sparse that they are prefetched, in both directions. */
static void long_rows(void **state)
{
    uint64_t seed = 31;

    (void)state;
    prepare(&seed);
    for (size_t run = 1; run <= 100; run = run < 64 ? 2 * run : run + 36) {
        for (uint64_t count = 120; count < 400; count += 1 + job_random(&seed) % 5) {
            int64_t    sparse = (int64_t)(run + 64 + job_random(&seed) % 300);
            struct box b = { .run = run, .dims = 1, .dim = { { count, (int64_t)run, sparse } }, .cold = true };

            compare(&b);
            b.dim[0] = (struct tern_copy_dim){ count, sparse, (int64_t)run };
            compare(&b);
            b.dim[0].to = -sparse;
            b.to = (count - 1) * (size_t)sparse;
            compare(&b);
        }
    }
}

/* Matrices around the sizes of tiles and blocks, dense and with gaps between rows, mirrored or not. */
static void transposes(void **state)
{
    uint64_t seed = 815;

    (void)state;
    prepare(&seed);
    for (size_t run = 1; run <= 16; run *= 2) {
        for (uint64_t rows = 1; rows <= 100; rows += 1 + job_random(&seed) % 9) {
            for (uint64_t columns = 1; columns <= 100; columns += 1 + job_random(&seed) % 9) {
                int64_t    to_row = (int64_t)(rows * run + job_random(&seed) % 3 * run);
                int64_t    from_row = (int64_t)(columns * run + job_random(&seed) % 3 * run);
                struct box b = { .run = run,
                                 .dims = 2,
                                 .dim = { { rows, (int64_t)run, from_row }, { columns, to_row, (int64_t)run } } };

                compare(&b);
                b.dim[0].from = -from_row; /* upside down */
                b.from = (rows - 1) * (size_t)from_row;
                compare(&b);
                b.dim[1].to = -to_row;
                b.to = (columns - 1) * (size_t)to_row;
                compare(&b);
            }
        }
    }
}

/* A stack of planes, each transposed. */
static void stacks_of_transposes(void **state)
{
    uint64_t seed = 99;

    (void)state;
    prepare(&seed);
    for (size_t run = 1; run <= 16; run *= 2) {
        int64_t    n = 40, plane = n * n * (int64_t)run;
        struct box b = { .run = run,
                         .dims = 3,
                         .dim = { { 40, (int64_t)run, n * (int64_t)run },
                                  { 3, plane, 2 * plane },
                                  { 40, n * (int64_t)run, (int64_t)run } } };

        compare(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_boxes),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(transposes),
        cmocka_unit_test(stacks_of_transposes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
