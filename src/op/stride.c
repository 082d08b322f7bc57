/* stride.c: the stride optimizer. See stride.h.
 *
 * Dimensions are folded as they come, each with the one before it, in whichever direction the program counts: most
 * inputs are one or two dimensions when the last has come, and there is nothing left to sort. What remains is sorted,
 * and every pair is tried.
 *
 * Products of a stride and a count are compared modulo 2^64. That finds no fold that is not there: where a product
 * wraps, the two reaches together are 2^63 at least, and such an input is refused in the end.
 */
#include "op/stride.h"

#include <stdbool.h>

#include <tern/version.h>

#define LIMIT ((uint64_t)1 << 63)

static uint64_t magnitude(int64_t stride)
{
    return stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
}

static int64_t times(int64_t stride, uint64_t count)
{
    return (int64_t)((uint64_t)stride * count);
}

/* Extend the reach of a side by so many steps. False: too far. */
static inline bool extend(struct tern_stride_reach *reach, int64_t stride, uint64_t steps)
{
    uint64_t *way = stride < 0 ? &reach->before : &reach->behind, more;

    return !__builtin_mul_overflow(magnitude(stride), steps, &more) && !__builtin_add_overflow(*way, more, way);
}

/* Count a dimension from its other end. */
static void invert(struct tern_stride *s, struct tern_stride_dim *d)
{
    s->far = (int64_t)((uint64_t)s->far + (uint64_t)times(d->far, d->count - 1));
    s->near = (int64_t)((uint64_t)s->near + (uint64_t)times(d->near, d->count - 1));
    d->far = times(d->far, UINT64_MAX); /* minus; the smallest number stays what it is, and is refused in the end */
    d->near = times(d->near, UINT64_MAX);
}

/* Whether outer goes on where inner ends, on both sides. */
static inline bool follows(const struct tern_stride_dim *outer, const struct tern_stride_dim *inner)
{
    return outer->far == times(inner->far, inner->count) && outer->near == times(inner->near, inner->count);
}

/* Whether the dimension is a row of elements without gaps. */
static inline bool is_dense(const struct tern_stride *s, const struct tern_stride_dim *d)
{
    return (uint64_t)d->far == s->run && (uint64_t)d->near == s->run;
}

/* Add a dimension of the input that is not null. False: too large. */
static inline bool add(struct tern_stride *s, struct tern_stride_dim d)
{
    struct tern_stride_dim *last = s->dims > 0 ? &s->dim[s->dims - 1] : NULL;

    if (TERN_UNLIKELY(__builtin_mul_overflow(s->total, d.count, &s->total) ||
                      !extend(&s->far_reach, d.far, d.count - 1) || !extend(&s->near_reach, d.near, d.count - 1)))
        return false;
    if (d.far < 0 || (d.far == 0 && d.near < 0))
        invert(s, &d);
    if (is_dense(s, &d)) {
        s->run *= d.count;
    } else if (last && follows(&d, last)) {
        last->count *= d.count;
    } else if (last && follows(last, &d)) {
        d.count *= last->count;
        *last = d;
    } else {
        s->dim[s->dims++] = d;
    }
    return true;
}

/* By the far side; what stands still there comes last, so that it is in nobody's way. */
static bool is_inner(const struct tern_stride_dim *a, const struct tern_stride_dim *b)
{
    uint64_t fa = (uint64_t)a->far - 1, fb = (uint64_t)b->far - 1;

    return fa != fb ? fa < fb : magnitude(a->near) < magnitude(b->near);
}

static void sort(struct tern_stride *s)
{
    for (unsigned i = 1; i < s->dims; i++) {
        struct tern_stride_dim d = s->dim[i];
        unsigned               at = i;

        for (; at > 0 && is_inner(&d, &s->dim[at - 1]); at--)
            s->dim[at] = s->dim[at - 1];
        s->dim[at] = d;
    }
}

static void drop(struct tern_stride *s, unsigned i)
{
    s->dims--;
    for (; i < s->dims; i++)
        s->dim[i] = s->dim[i + 1];
}

/* Fold one dimension into the element or into another one. False: none can be. Dimensions are sorted, so one that
 * follows another stands behind it. */
static bool fold(struct tern_stride *s)
{
    for (unsigned i = 0; i < s->dims; i++) {
        if (is_dense(s, &s->dim[i])) {
            s->run *= s->dim[i].count;
            drop(s, i);
            return true;
        }
        for (unsigned j = i + 1; j < s->dims; j++) {
            if (follows(&s->dim[j], &s->dim[i])) {
                s->dim[i].count *= s->dim[j].count;
                drop(s, j);
                return true;
            }
        }
    }
    return false;
}

static bool has_none(const struct tern_stride_input *in)
{
    for (unsigned i = 0; i < in->dims; i++)
        if (in->count[i] == 0)
            return true;
    return in->element == 0;
}

static bool is_short(const struct tern_stride_reach *reach)
{
    return reach->before < LIMIT && reach->behind < LIMIT && reach->before + reach->behind < LIMIT;
}

static __attribute__((noinline, cold)) enum tern_stride_verdict refuse(const struct tern_stride_input *in,
                                                                       struct tern_stride             *out)
{
    out->total = 0;
    return has_none(in) ? TERN_STRIDE_EMPTY : TERN_STRIDE_HUGE;
}

enum tern_stride_verdict tern_op_stride_make(const struct tern_stride_input *in, struct tern_stride *out)
{
    out->total = out->run = in->element;
    out->far = out->near = 0;
    out->far_reach = out->near_reach = (struct tern_stride_reach){ 0, in->element };
    out->dims = 0;
    for (unsigned i = 0; i < in->dims; i++)
        if (in->count[i] != 1 &&
            TERN_UNLIKELY(!add(out, (struct tern_stride_dim){ in->count[i], in->far[i], in->near[i] })))
            return refuse(in, out);
    if (TERN_UNLIKELY(out->total - 1 >= LIMIT - 1 || !is_short(&out->far_reach) || !is_short(&out->near_reach)))
        return refuse(in, out);
    sort(out);
    while (fold(out))
        ;
    return TERN_STRIDE_FINE;
}
