/* onesided.c: the reduction by plain puts without notifications. A fence and a second put follow each vector; the
 * second put sets a word for the slot to the number of the round. A parent polls the words of all its children. */
#include "common/check.h"
#include "tree/tree.h"

static tern_region *region;
static uint64_t     words; /* offset of the words in each rank's part: after the vectors, one for each slot */

static void *onesided_begin(const struct tree *t, size_t bytes)
{
    words = (bytes + 63) / 64 * 64;
    CHECK(tern_region_create(TERN_WORLD, words + (uint64_t)(t->arity + 1) * 64, NULL, &region));
    return tern_region_ptr(region, tern_rank());
}

static uint64_t word_offset(int slot)
{
    return words + (uint64_t)slot * 64; /* a cache line each */
}

static void await_vector(const struct tree *t, int slot, uint64_t round)
{
    await_word((const uint64_t *)(const void *)((const char *)t->vectors + word_offset(slot)), round);
}

static void put_counted(const struct tree *t, int rank, int slot, const double *vector, uint64_t round)
{
    CHECK(tern_put_nbi(TERN_WORLD, region, rank, tree_offset(t, slot), vector, t->values * sizeof(double)));
    CHECK(tern_fence(TERN_WORLD)); /* the vector must arrive before its word */
    CHECK(tern_put_value(TERN_WORLD, region, rank, word_offset(slot), round));
}

static void onesided_run(const struct tree *t, int rank)
{
    static uint64_t count; /* rounds since the region was created: the words are never reset */
    const double   *result = tree_vector(t, tree_result(t));

    for (int round = 0; round < t->rounds; round++) {
        const double *sum;

        count++;
        for (int i = 0; i < t->children; i++)
            await_vector(t, i, count);
        CHECK(tern_quiet(TERN_WORLD)); /* the source buffers may be overwritten */
        sum = tree_add(t, rank, round);
        if (t->parent >= 0) {
            put_counted(t, t->parent, tree_slot(t, rank), sum, count);
            await_vector(t, tree_result(t), count);
        }
        for (int i = 0; i < t->children; i++)
            put_counted(t, t->child + i, tree_result(t), result, count);
        tree_use(t);
    }
    CHECK(tern_quiet(TERN_WORLD));
}

static void onesided_end(void *memory)
{
    (void)memory;
    CHECK(tern_region_free(region));
}

const struct tree_style tree_onesided = { onesided_begin, onesided_run, onesided_end };
