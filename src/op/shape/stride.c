/* stride.c: the stride optimizer. See stride.h.
 *
 * Each dimension of the input is folded into the previous one if possible, for either order in which applications list
 * dimensions. After this pass, most inputs have only one or two dimensions. The remaining dimensions are sorted, and
 * every pair is tried. The extents of the two sides follow from the result, so overflow is checked there.
 *
 * Products of a stride and a count are compared modulo 2^64. This cannot produce a wrong fold: if a product wraps,
 * the folded dimension spans at least 2^63 bytes, and such an input is rejected in the end.
 */
#include "op/shape/stride.h"

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

/* Reverse the direction of a dimension. */
static void invert(struct tern_stride *s, struct tern_stride_dim *d)
{
    s->remote = (int64_t)((uint64_t)s->remote + (uint64_t)times(d->remote, d->count - 1));
    s->local = (int64_t)((uint64_t)s->local + (uint64_t)times(d->local, d->count - 1));
    d->remote = times(d->remote, UINT64_MAX); /* negate; INT64_MIN stays as it is and is rejected in the end */
    d->local = times(d->local, UINT64_MAX);
}

/* Return whether outer continues where inner ends, on both sides. */
static inline bool follows(const struct tern_stride_dim *outer, const struct tern_stride_dim *inner)
{
    return outer->remote == times(inner->remote, inner->count) && outer->local == times(inner->local, inner->count);
}

/* Return whether the dimension is a row of elements without gaps. */
static inline bool is_dense(const struct tern_stride *s, const struct tern_stride_dim *d)
{
    return (uint64_t)d->remote == s->run && (uint64_t)d->local == s->run;
}

/* Add a dimension of the input that is not null. The last dimension that could not be folded is kept in *last, in
 * registers; its count is 0 if there is none. Returns false if the result is too large. */
static inline __attribute__((always_inline)) bool add(struct tern_stride *s, struct tern_stride_dim *last,
                                                      struct tern_stride_dim d)
{
    if (d.remote < 0 || (d.remote == 0 && d.local < 0))
        invert(s, &d);
    if (follows(&d, last) && last->count > 0)
        return !__builtin_mul_overflow(last->count, d.count, &last->count);
    if (is_dense(s, &d))
        return !__builtin_mul_overflow(s->run, d.count, &s->run);
    if (follows(last, &d) && last->count > 0) {
        d.count = __builtin_mul_overflow(last->count, d.count, &last->count) ? 0 : last->count;
        *last = d;
        return d.count > 0;
    }
    if (last->count > 0)
        s->dim[s->dims++] = *last;
    *last = d;
    return true;
}

/* Return whether a precedes b. Dimensions are ordered by their remote strides; those with remote stride 0 come last, so
 * that they do not prevent folding. */
static bool is_inner(const struct tern_stride_dim *a, const struct tern_stride_dim *b)
{
    uint64_t fa = (uint64_t)a->remote - 1, fb = (uint64_t)b->remote - 1;

    return fa != fb ? fa < fb : magnitude(a->local) < magnitude(b->local);
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

/* Multiply *number by the count of dimension i, and remove the dimension. On overflow, the function returns false and
 * makes the stride invalid, so that folding stops. */
static bool absorb(struct tern_stride *s, uint64_t *number, unsigned i)
{
    if (__builtin_mul_overflow(*number, s->dim[i].count, number)) {
        s->run = UINT64_MAX; /* measure() rejects this */
        return false;
    }
    drop(s, i);
    return true;
}

/* Fold one dimension into the element or into another dimension. Returns false if none can be folded. The dimensions
 * are sorted, so a dimension that follows another has the higher index. */
static bool fold(struct tern_stride *s)
{
    for (unsigned i = 0; i < s->dims; i++) {
        if (is_dense(s, &s->dim[i]))
            return absorb(s, &s->run, i);
        for (unsigned j = i + 1; j < s->dims; j++)
            if (follows(&s->dim[j], &s->dim[i]))
                return absorb(s, &s->dim[i].count, j);
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

/* Compute the distance in bytes from the first to the last point of a dimension. Returns false if the distance is too
 * large. */
static inline bool way(int64_t stride, uint64_t count, uint64_t *bytes)
{
    return !__builtin_mul_overflow(magnitude(stride), count - 1, bytes) && *bytes < LIMIT;
}

/* Compute the number of bytes and the extents of both sides. Returns false if they are too large, or if there are no
 * bytes. */
static inline bool measure(struct tern_stride *s)
{
    uint64_t remote = s->run, local = s->run, before = 0, f, n;

    s->total = s->run;
    for (unsigned i = 0; i < s->dims; i++) {
        const struct tern_stride_dim *d = &s->dim[i];

        if (!way(d->remote, d->count, &f) || !way(d->local, d->count, &n) ||
            __builtin_mul_overflow(s->total, d->count, &s->total))
            return false;
        remote += f;
        local += n;
        before += d->local < 0 ? n : 0;
        if (remote >= LIMIT || local >= LIMIT)
            return false;
    }
    s->remote_reach.before = -(uint64_t)s->remote; /* remote strides are not negative any more */
    s->local_reach.before = before - (uint64_t)s->local;
    s->remote_reach.behind = remote - s->remote_reach.before;
    s->local_reach.behind = local - s->local_reach.before;
    return s->total - 1 < LIMIT - 1;
}

static __attribute__((noinline, cold)) enum tern_stride_verdict refuse(const struct tern_stride_input *in,
                                                                       struct tern_stride             *out)
{
    out->total = 0;
    return has_none(in) ? TERN_STRIDE_EMPTY : TERN_STRIDE_HUGE;
}

enum tern_stride_verdict tern_op_stride_make(const struct tern_stride_input *in, struct tern_stride *out)
{
    struct tern_stride_dim last = { 0, 0, 0 };

    out->run = in->element;
    out->remote = out->local = 0;
    out->dims = 0;
    for (unsigned i = 0; i < in->dims; i++) {
        if (in->count[i] == 1)
            continue;
        if (TERN_UNLIKELY(in->count[i] == 0 ||
                          !add(out, &last, (struct tern_stride_dim){ in->count[i], in->remote[i], in->local[i] })))
            return refuse(in, out);
    }
    if (last.count > 0)
        out->dim[out->dims++] = last;
    if (out->dims > 1)
        sort(out);
    while (fold(out))
        ;
    return TERN_LIKELY(measure(out)) ? TERN_STRIDE_FINE : refuse(in, out);
}
