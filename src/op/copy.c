/* copy.c: loops over rows, planes and boxes, one for each usual length of a run.
 *
 * The loops are written once, as inlined functions of the length; called with a constant they become loops of plain
 * moves. Dimensions beyond the third are walked outside of them.
 */
#include "op/copy.h"

#include <stdbool.h>
#include <string.h>

#include "op/move.h"

#define INLINE static inline __attribute__((always_inline))
#define MOST_TRANSPOSED 64 /* bytes of a run: longer ones fill cache lines by themselves */

typedef void loop(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim, size_t run);

INLINE void row(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim, size_t run)
{
    int64_t  to_step = dim->to, from_step = dim->from;
    uint64_t left = dim->count;

    for (; left >= 4; left -= 4) {
        tern_op_move(to, from, run);
        tern_op_move(to + to_step, from + from_step, run);
        tern_op_move(to + 2 * to_step, from + 2 * from_step, run);
        tern_op_move(to + 3 * to_step, from + 3 * from_step, run);
        to += 4 * to_step;
        from += 4 * from_step;
    }
    for (; left > 0; left--, to += to_step, from += from_step)
        tern_op_move(to, from, run);
}

INLINE void plane(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim, size_t run)
{
    for (uint64_t i = 0; i < dim[1].count; i++, to += dim[1].to, from += dim[1].from)
        row(to, from, dim, run);
}

INLINE void box(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim, size_t run)
{
    for (uint64_t i = 0; i < dim[2].count; i++, to += dim[2].to, from += dim[2].from)
        plane(to, from, dim, run);
}

/* The three loops for one length; any: for every other. */
#define LOOPS(name, length)                                                                                           \
    static void row_##name(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim, size_t run) \
    {                                                                                                                 \
        (void)run;                                                                                                    \
        row(to, from, dim, length);                                                                                   \
    }                                                                                                                 \
    static void plane_##name(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim,           \
                             size_t run)                                                                              \
    {                                                                                                                 \
        (void)run;                                                                                                    \
        plane(to, from, dim, length);                                                                                 \
    }                                                                                                                 \
    static void box_##name(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim, size_t run) \
    {                                                                                                                 \
        (void)run;                                                                                                    \
        box(to, from, dim, length);                                                                                   \
    }
LOOPS(1, 1)
LOOPS(2, 2)
LOOPS(4, 4)
LOOPS(8, 8)
LOOPS(16, 16)
LOOPS(32, 32)
LOOPS(64, 64)
LOOPS(any, run)

#define INNER 3 /* dimensions that the loops walk */

/* By the number of dimensions, less one. */
#define THREE(name)                          \
    {                                        \
        row_##name, plane_##name, box_##name \
    }
static loop *const loops[][INNER] = { THREE(1),  THREE(2),  THREE(4),  THREE(8),
                                      THREE(16), THREE(32), THREE(64), THREE(any) };

static unsigned class_of(size_t run)
{
    return run <= 64 && (run & (run - 1)) == 0 ? (unsigned)__builtin_ctzll(run) : 7;
}

/* Everything that a walk of the outer dimensions needs. */
struct walk {
    const struct tern_copy_dim *dim;
    size_t                      run;
    loop                       *inner; /* NULL: a transpose of cross[0] and cross[1] */
    struct tern_copy_dim        cross[2];
};

static void walk_outer(const struct walk *w, unsigned dims, unsigned char *to, const unsigned char *from)
{
    const struct tern_copy_dim *d;

    if (w->inner && dims <= INNER) {
        w->inner(to, from, w->dim, w->run);
        return;
    }
    if (dims == 0) {
        tern_op_transpose(to, from, w->run, &w->cross[0], &w->cross[1]);
        return;
    }
    d = &w->dim[dims - 1];
    for (uint64_t i = 0; i < d->count; i++, to += d->to, from += d->from)
        walk_outer(w, dims - 1, to, from);
}

static uint64_t magnitude(int64_t stride)
{
    return stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
}

/* The dimensions with the shortest stride of either side. */
static void find_shortest(unsigned dims, const struct tern_copy_dim *dim, unsigned *to, unsigned *from)
{
    *to = *from = 0;
    for (unsigned i = 1; i < dims; i++) {
        if (magnitude(dim[i].to) < magnitude(dim[*to].to))
            *to = i;
        if (magnitude(dim[i].from) < magnitude(dim[*from].from))
            *from = i;
    }
}

static __attribute__((noinline)) void copy_transposed(unsigned char *to, const unsigned char *from, struct walk *w,
                                                      unsigned dims, unsigned across, unsigned along)
{
    struct tern_copy_dim rest[64];
    unsigned             left = 0;

    w->cross[0] = w->dim[across];
    w->cross[1] = w->dim[along];
    for (unsigned i = 0; i < dims; i++)
        if (i != across && i != along)
            rest[left++] = w->dim[i];
    w->dim = rest;
    walk_outer(w, left, to, from);
}

void tern_op_copy(unsigned char *to, const unsigned char *from, size_t run, unsigned dims,
                  const struct tern_copy_dim *dim)
{
    struct walk w = { .dim = dim, .run = run };
    unsigned    across, along;

    if (dims == 0) {
        tern_copy(to, from, run);
        return;
    }
    if (dims > 1 && run <= MOST_TRANSPOSED) {
        find_shortest(dims, dim, &across, &along);
        if (across != along) {
            copy_transposed(to, from, &w, dims, across, along);
            return;
        }
    }
    w.inner = loops[class_of(run)][dims < INNER ? dims - 1 : INNER - 1];
    walk_outer(&w, dims, to, from);
}
