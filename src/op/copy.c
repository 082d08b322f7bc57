/* copy.c: loops over rows, planes and boxes, one for each usual length of a run.
 *
 * The loops are written once, as inlined functions of the length; called with a constant they become loops of plain
 * moves. Dimensions beyond the third are walked outside of them.
 */
#include "op/copy.h"

#include <stdbool.h>
#include <string.h>
#include <tern/rma.h>

#define INLINE static inline __attribute__((always_inline))
#define MOST_TRANSPOSED 64 /* bytes of a run: longer ones fill cache lines by themselves */

typedef void loop(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim, size_t run);

/* Both ends of a length of 16 to 32 bytes; they may overlap, so everything is read first. */
INLINE void move_ends(unsigned char *to, const unsigned char *from, size_t len)
{
    tern_any_block a = *(const tern_any_block *)(const void *)from;
    tern_any_block b = *(const tern_any_block *)(const void *)(from + len - 16);

    *(tern_any_block *)(void *)to = a;
    *(tern_any_block *)(void *)(to + len - 16) = b;
}

/* The same of 32 to 64 bytes. */
INLINE void move_four(unsigned char *to, const unsigned char *from, size_t len)
{
    tern_any_block a = *(const tern_any_block *)(const void *)from;
    tern_any_block b = *(const tern_any_block *)(const void *)(from + 16);
    tern_any_block c = *(const tern_any_block *)(const void *)(from + len - 32);
    tern_any_block d = *(const tern_any_block *)(const void *)(from + len - 16);

    *(tern_any_block *)(void *)to = a;
    *(tern_any_block *)(void *)(to + 16) = b;
    *(tern_any_block *)(void *)(to + len - 32) = c;
    *(tern_any_block *)(void *)(to + len - 16) = d;
}

INLINE void move_small(unsigned char *to, const unsigned char *from, size_t len)
{
    if (len >= 8) {
        uint64_t a = *(const tern_any_u64 *)(const void *)from,
                 b = *(const tern_any_u64 *)(const void *)(from + len - 8);
        *(tern_any_u64 *)(void *)to = a;
        *(tern_any_u64 *)(void *)(to + len - 8) = b;
    } else if (len >= 4) {
        uint32_t a = *(const tern_any_u32 *)(const void *)from,
                 b = *(const tern_any_u32 *)(const void *)(from + len - 4);
        *(tern_any_u32 *)(void *)to = a;
        *(tern_any_u32 *)(void *)(to + len - 4) = b;
    } else {
        unsigned char a = from[0], b = from[len / 2], c = from[len - 1];
        to[0] = a;
        to[len / 2] = b;
        to[len - 1] = c;
    }
}

INLINE void move_few(unsigned char *to, const unsigned char *from, size_t len)
{
    if (len > 32) {
        move_four(to, from, len);
    } else if (len >= 16) {
        move_ends(to, from, len);
    } else {
        move_small(to, from, len);
    }
}

/* One run. A constant length that is a power of two becomes plain moves. */
INLINE void move(unsigned char *to, const unsigned char *from, size_t run)
{
    if (!__builtin_constant_p(run)) {
        if (run <= 64)
            move_few(to, from, run);
        else
            tern_copy(to, from, run);
    } else if (run == 1) {
        *to = *from;
    } else if (run == 2) {
        *(tern_any_u16 *)(void *)to = *(const tern_any_u16 *)(const void *)from;
    } else if (run == 4) {
        *(tern_any_u32 *)(void *)to = *(const tern_any_u32 *)(const void *)from;
    } else if (run == 8) {
        *(tern_any_u64 *)(void *)to = *(const tern_any_u64 *)(const void *)from;
    } else if (run == 16) {
        *(tern_any_block *)(void *)to = *(const tern_any_block *)(const void *)from;
    } else if (run == 32) {
        move_ends(to, from, 32);
    } else {
        move_four(to, from, 64);
    }
}

INLINE void row(unsigned char *to, const unsigned char *from, const struct tern_copy_dim *dim, size_t run)
{
    int64_t  to_step = dim->to, from_step = dim->from;
    uint64_t left = dim->count;

    for (; left >= 4; left -= 4) {
        move(to, from, run);
        move(to + to_step, from + from_step, run);
        move(to + 2 * to_step, from + 2 * from_step, run);
        move(to + 3 * to_step, from + 3 * from_step, run);
        to += 4 * to_step;
        from += 4 * from_step;
    }
    for (; left > 0; left--, to += to_step, from += from_step)
        move(to, from, run);
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
