/* copy.c: loops over rows, planes and boxes, specialized for the common lengths of a run.
 *
 * The loops are written once, as inlined functions of the length. Called with a constant length, they compile to
 * loops of plain moves. Dimensions beyond the third are iterated outside of these loops.
 *
 * The macro LOOPS defines the functions that call row(), plane() and box() with one length:
 *
 *   row_1, row_2, row_4, row_8, row_16, row_32, row_64, row_any
 *   plane_1, plane_2, plane_4, plane_8, plane_16, plane_32, plane_64, plane_any
 *   box_1, box_2, box_4, box_8, box_16, box_32, box_64, box_any
 */
#include "op/shape/copy.h"

#include <stdbool.h>
#include <string.h>

#include "op/shape/move.h"

#define INLINE static inline __attribute__((always_inline))
#define MOST_TRANSPOSED 64 /* bytes of a run: longer runs fill cache lines anyway */

/* Prefetch distance, in elements, for long rows that are not in the caches. The hardware prefetcher stops at every
 * page boundary and has to detect the stride again. */
#define AHEAD 64
#define LINE 64

typedef void loop(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim, size_t run, bool cold);

static uint64_t magnitude(int64_t stride)
{
    return stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
}

/* Return whether prefetching pays off: each element of one side lies in a cache line of its own. */
INLINE bool is_sparse(const struct tern_copy_dim *dim)
{
    return dim->count > 2 * AHEAD && (magnitude(dim->to) > LINE || magnitude(dim->from) > LINE);
}

INLINE void fetch_four(const unsigned char *at, int64_t step)
{
    __builtin_prefetch(at);
    __builtin_prefetch(at + step);
    __builtin_prefetch(at + 2 * step);
    __builtin_prefetch(at + 3 * step);
}

INLINE void move_four(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim, size_t run)
{
    tern_op_move(to, from, run);
    tern_op_move(to + dim->to, from + dim->from, run);
    tern_op_move(to + 2 * dim->to, from + 2 * dim->from, run);
    tern_op_move(to + 3 * dim->to, from + 3 * dim->from, run);
}

INLINE void row(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim, size_t run, bool cold)
{
    struct tern_copy_dim d = *dim; /* a copy, because for the compiler the destination may alias *dim */
    uint64_t             left = d.count;

    if (cold && is_sparse(&d))
        for (; left >= AHEAD + 4; left -= 4, to += 4 * d.to, from += 4 * d.from) {
            fetch_four(from + AHEAD * d.from, d.from);
            fetch_four(to + AHEAD * d.to, d.to);
            move_four(to, from, &d, run);
        }
    for (; left >= 4; left -= 4, to += 4 * d.to, from += 4 * d.from)
        move_four(to, from, &d, run);
    for (; left > 0; left--, to += d.to, from += d.from)
        tern_op_move(to, from, run);
}

INLINE void plane(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim, size_t run, bool cold)
{
    for (uint64_t i = 0; i < dim[1].count; i++, to += dim[1].to, from += dim[1].from)
        row(to, from, dim, run, cold);
}

INLINE void box(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim, size_t run, bool cold)
{
    for (uint64_t i = 0; i < dim[2].count; i++, to += dim[2].to, from += dim[2].from)
        plane(to, from, dim, run, cold);
}

/* The three loops for one length; `any` is for all other lengths. */
#define LOOP(kind, name, length)                                                                             \
    static void kind##_##name(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim, \
                              size_t run, bool cold)                                                         \
    {                                                                                                        \
        (void)run;                                                                                           \
        kind(to, from, dim, length, cold);                                                                   \
    }
#define LOOPS(name, length)   \
    LOOP(row, name, length)   \
    LOOP(plane, name, length) \
    LOOP(box, name, length)
LOOPS(1, 1)
LOOPS(2, 2)
LOOPS(4, 4)
LOOPS(8, 8)
LOOPS(16, 16)
LOOPS(32, 32)
LOOPS(64, 64)
LOOPS(any, run)

#define INNER 3 /* dimensions that the loops iterate */

/* The loops for one length, indexed by the number of dimensions - 1. */
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

/* The parameters for iterating the outer dimensions. */
struct walk {
    const struct tern_copy_dim *dim;
    size_t                      run;
    bool                        cold;
    loop                       *inner; /* NULL: transpose cross[0] and cross[1] */
    struct tern_copy_dim        cross[2];
};

static void walk_outer(const struct walk *w, unsigned dims, unsigned char *to, const unsigned char *from)
{
    const struct tern_copy_dim *d;

    if (w->inner && dims <= INNER) {
        w->inner(to, from, w->dim, w->run, w->cold);
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

/* Find the dimension with the shortest stride of each side. */
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
                  const struct tern_copy_dim *dim, bool cold)
{
    struct walk w = { .dim = dim, .run = run, .cold = cold };
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
