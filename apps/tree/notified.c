/* notified.c: the reduction by notified puts. One request counts the vectors of all children, in any order of
 * arrival.
 *
 * No rank waits for its own puts before the end. A vector is overwritten only after the target's answer has arrived,
 * and the target sends that answer after it has been notified of the vector.
 */
#include "common/check.h"
#include "tree/tree.h"

static tern_region  *region;
static tern_request *from_children, *from_parent;

static void *notified_begin(const struct tree *t, size_t bytes)
{
    CHECK(tern_region_create(TERN_WORLD, bytes, NULL, &region));
    if (t->children > 0)
        CHECK(tern_notify_create(TERN_WORLD, region, TERN_ANY_SOURCE, UP, (uint32_t)t->children, &from_children));
    if (t->parent >= 0)
        CHECK(tern_notify_create(TERN_WORLD, region, t->parent, DOWN, 1, &from_parent));
    return tern_region_ptr(region, tern_rank());
}

static void await(tern_request *request)
{
    CHECK(tern_request_start(request));
    CHECK(tern_request_wait(&request, TERN_FOREVER, NULL));
}

static void put(const struct tree *t, int rank, int slot, const double *vector, uint32_t tag)
{
    CHECK(tern_put_notify_nbi(TERN_WORLD, region, rank, tree_offset(t, slot), vector, t->values * sizeof(double), tag));
}

static void notified_run(const struct tree *t, int rank)
{
    const double *result = tree_vector(t, tree_result(t));

    for (int round = 0; round < t->rounds; round++) {
        const double *sum;

        if (t->children > 0)
            await(from_children);
        sum = tree_add(t, rank, round);
        if (t->parent >= 0) {
            put(t, t->parent, tree_slot(t, rank), sum, UP);
            await(from_parent);
        }
        for (int i = 0; i < t->children; i++)
            put(t, t->child + i, tree_result(t), result, DOWN);
        tree_use(t);
    }
    CHECK(tern_quiet(TERN_WORLD));
}

static void notified_end(void *memory)
{
    (void)memory;
    if (from_children)
        CHECK(tern_request_free(&from_children));
    if (from_parent)
        CHECK(tern_request_free(&from_parent));
    CHECK(tern_region_free(region));
}

const struct tree_style tree_notified = { notified_begin, notified_run, notified_end };
