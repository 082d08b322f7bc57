/* overlap.c: see overlap.h. The runs are collected and sorted, and each run is compared with the farthest end of the
 * runs before it. */
#include "op/shape/overlap.h"

#include <stdlib.h>

struct run {
    uint64_t at, len;
    int      of; /* the side: 0 or 1 */
};

static uint64_t runs_of(const struct tern_layout *side)
{
    return side->kind == TERN_LAYOUT_STRIDED ? side->total / side->run : side->count;
}

/* Return whether each dimension steps over all dimensions inside it, so that no runs can overlap. */
static bool is_nested(const struct tern_layout *side)
{
    uint64_t span = side->run;

    if (side->kind != TERN_LAYOUT_STRIDED)
        return false;
    for (unsigned i = 0; i < side->dims; i++) {
        uint64_t step = side->dim[i].step < 0 ? -(uint64_t)side->dim[i].step : (uint64_t)side->dim[i].step;

        if (step < span)
            return false;
        span += step * (side->dim[i].count - 1);
    }
    return true;
}

static uint64_t list_runs(const struct tern_layout *side, uint64_t shift, int of, struct run *run)
{
    struct tern_cursor cursor = { 0, 0, 0 };
    uint64_t           count = 0;

    while (cursor.at < side->total) {
        run[count].len = tern_op_layout_run(side, &cursor, &run[count].at);
        run[count].at += shift;
        run[count].of = of;
        tern_op_layout_skip(side, &cursor, run[count].len);
        count++;
    }
    return count;
}

static int by_place(const void *a, const void *b)
{
    const struct run *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/* Return whether a run begins before the end of an earlier run, of the same side or (between) of the other side. */
static bool find(struct run *run, uint64_t count, bool between, uint64_t *where)
{
    uint64_t end[2] = { 0, 0 };

    qsort(run, count, sizeof(*run), by_place);
    for (uint64_t i = 0; i < count; i++) {
        int against = between ? 1 - run[i].of : run[i].of;

        *where = run[i].at;
        if (run[i].at < end[against])
            return true;
        if (run[i].at + run[i].len > end[run[i].of])
            end[run[i].of] = run[i].at + run[i].len;
    }
    return false;
}

bool tern_op_overlap_within(const struct tern_layout *side, uint64_t most, uint64_t *where)
{
    struct run *run;
    bool        found;

    if (is_nested(side) || runs_of(side) > most || !(run = malloc((runs_of(side) + 1) * sizeof(*run))))
        return false;
    found = find(run, list_runs(side, 0, 0, run), false, where);
    free(run);
    return found;
}

bool tern_op_overlap_between(const struct tern_layout *a, const struct tern_layout *b, uint64_t shift, uint64_t most,
                             uint64_t *where)
{
    uint64_t    runs = runs_of(a) + runs_of(b), count;
    struct run *run;
    bool        found;

    if (runs > most || !(run = malloc((runs + 1) * sizeof(*run))))
        return false;
    count = list_runs(a, 0, 0, run);
    count += list_runs(b, shift, 1, run + count);
    found = find(run, count, true, where);
    free(run);
    return found;
}
