/* shape_test.h: random vectors, indexed lists and strided boxes for the tests of shapes, and a naive walk that finds
 * the places of their bytes one by one. */
#ifndef TERN_SHAPE_TEST_H
#define TERN_SHAPE_TEST_H

#include "job_test.h"

enum shape_kind { SHAPE_VECTOR, SHAPE_INDEXED, SHAPE_STRIDED, SHAPE_KINDS };

#define SHAPE_DIMS 6
#define SHAPE_ENTRIES 96

/* A description, with space for its lists. near and far say where byte n of the transfer is, on each side: from the
 * beginning of the local buffer, and of the part. */
struct shape {
    enum shape_kind kind;
    size_t          total;
    uint32_t       *near, *far; /* [most] */
    size_t          most;
    tern_vector     vector;
    tern_indexed    indexed;
    tern_strided    strided;
    tern_piece      pieces[SHAPE_ENTRIES];
    tern_extent     extents[SHAPE_ENTRIES];
    void           *addrs[SHAPE_ENTRIES];
    uint64_t        offsets[SHAPE_ENTRIES];
    size_t          count[SHAPE_DIMS];
    ptrdiff_t       local_stride[SHAPE_DIMS];
    int64_t         remote_stride[SHAPE_DIMS];
};

/* Where a shape may lie: local memory of so many bytes, and bytes of a part from an offset on. */
struct shape_place {
    unsigned char *local;
    size_t         local_bytes;
    uint64_t       offset;
    size_t         remote_bytes;
};

static inline void shape_open(struct shape *s, size_t most)
{
    s->most = most;
    s->near = job_new(most * sizeof(*s->near));
    s->far = job_new(most * sizeof(*s->far));
}

static inline void shape_close(struct shape *s)
{
    free(s->near);
    free(s->far);
}

/* ---- strided ---- */

static inline void shape_walk(struct shape *s, unsigned dims, int64_t near, int64_t far)
{
    if (dims == 0) {
        for (size_t i = 0; i < s->strided.element; i++, s->total++) {
            s->near[s->total] = (uint32_t)(near + (int64_t)i);
            s->far[s->total] = (uint32_t)(far + (int64_t)i);
        }
        return;
    }
    for (size_t i = 0; i < s->count[dims - 1]; i++)
        shape_walk(s, dims - 1, near + (int64_t)i * s->local_stride[dims - 1],
                   far + (int64_t)i * s->remote_stride[dims - 1]);
}

/* Lay the box out in a random order of the dimensions with random gaps, some backwards; loose: some strides may be
 * 0 or overlap. Returns the bytes that it takes, and in *first where its first element is. */
static inline size_t shape_lay_out(const struct shape *s, int64_t stride[SHAPE_DIMS], uint64_t *seed, bool loose,
                                   size_t *first)
{
    unsigned order[SHAPE_DIMS], dims = s->strided.dims;
    size_t   bytes = s->strided.element;

    *first = 0;
    for (unsigned i = 0; i < dims; i++)
        order[i] = i;
    for (unsigned i = dims; i > 1; i--) {
        unsigned j = (unsigned)(job_random(seed) % i), swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
    for (unsigned i = 0; i < dims; i++) {
        size_t step = bytes + (job_random(seed) % 2 ? job_random(seed) % 40 : 0);
        size_t steps = s->count[order[i]] > 0 ? s->count[order[i]] - 1 : 0;

        if (loose && job_random(seed) % 4 == 0)
            step = job_random(seed) % (bytes + 1);
        stride[order[i]] = (int64_t)step;
        bytes += step * steps;
        if (job_random(seed) % 4 == 0) {
            stride[order[i]] = -(int64_t)step;
            *first += step * steps;
        }
    }
    return bytes;
}

static inline bool shape_draw_strided(struct shape *s, const struct shape_place *p, bool get, uint64_t *seed)
{
    static const size_t elements[] = { 1, 2, 4, 8, 8, 16, 3, 7, 24, 64, 100, 1000, 5000, 70000, 1u << 20 };
    int64_t             near[SHAPE_DIMS], far[SHAPE_DIMS];
    size_t              near_first, far_first, near_bytes, far_bytes, bytes;

    s->strided = TERN_STRIDED_INIT;
    s->strided.element = bytes = elements[job_random(seed) % (sizeof(elements) / sizeof(elements[0]))];
    s->strided.dims = (unsigned)(job_random(seed) % (SHAPE_DIMS + 1));
    for (unsigned i = 0; i < s->strided.dims; i++) {
        s->count[i] = job_random(seed) % 64 == 0 ? 0 : 1 + job_random(seed) % (job_random(seed) % 4 ? 6 : 70);
        if (bytes * s->count[i] > s->most)
            s->count[i] = 1;
        bytes *= s->count[i] ? s->count[i] : 1;
    }
    near_bytes = shape_lay_out(s, near, seed, !get && job_random(seed) % 4 == 0, &near_first);
    far_bytes = shape_lay_out(s, far, seed, get && job_random(seed) % 4 == 0, &far_first);
    if (bytes > s->most || near_bytes > p->local_bytes || far_bytes > p->remote_bytes)
        return false;
    near_first += job_random(seed) % (p->local_bytes - near_bytes + 1);
    far_first += job_random(seed) % (p->remote_bytes - far_bytes + 1) + p->offset;
    for (unsigned i = 0; i < s->strided.dims; i++) {
        s->local_stride[i] = (ptrdiff_t)near[i];
        s->remote_stride[i] = far[i];
    }
    s->strided.count = s->count;
    s->strided.local = p->local + near_first;
    s->strided.local_stride = s->local_stride;
    s->strided.remote = far_first;
    s->strided.remote_stride = s->remote_stride;
    shape_walk(s, s->strided.dims, (int64_t)near_first, (int64_t)far_first);
    return true;
}

/* ---- lists ---- */

/* Where a piece lies: anywhere for a source, in a slot of its own for a destination. */
static inline size_t shape_piece_place(size_t bytes, size_t len, bool own, unsigned slot, uint64_t *seed)
{
    size_t space = bytes / SHAPE_ENTRIES;

    if (!own)
        return job_random(seed) % (bytes - len + 1);
    return (slot * 37u % SHAPE_ENTRIES) * space + job_random(seed) % (space - len + 1);
}

static inline void shape_note(uint32_t *places, size_t *at, size_t place, size_t len)
{
    for (size_t i = 0; i < len; i++)
        places[(*at)++] = (uint32_t)(place + i);
}

/* Pieces of random lengths, as many bytes on both sides. */
static inline bool shape_draw_vector(struct shape *s, const struct shape_place *p, bool get, uint64_t *seed)
{
    size_t longest = (p->local_bytes < p->remote_bytes ? p->local_bytes : p->remote_bytes) / SHAPE_ENTRIES;
    size_t near = 0, far = 0, near_count = 0, far_count = 0, count = job_random(seed) % (SHAPE_ENTRIES / 2);

    if (job_random(seed) % 4)
        longest = longest < 50 ? longest : 50;
    while (far_count < count || far < near || near < far) { /* whichever is behind gets a piece */
        bool   is_near = near < far || (near == far && near_count <= far_count);
        size_t len = job_random(seed) % 8 == 0 ? 0 : job_random(seed) % (longest + 1);
        size_t behind = is_near ? far - near : near - far;
        bool   last = far_count >= count || near_count + 8 > SHAPE_ENTRIES || far_count + 8 > SHAPE_ENTRIES;

        if (last)
            len = behind < longest ? behind : longest;
        if ((near > far ? near : far) + len > s->most || near_count == SHAPE_ENTRIES || far_count == SHAPE_ENTRIES)
            return false;
        if (is_near) {
            size_t at = shape_piece_place(p->local_bytes, len, get, (unsigned)near_count, seed);
            s->pieces[near_count++] = (tern_piece){ p->local + at, len };
            shape_note(s->near, &near, at, len);
        } else {
            size_t at = shape_piece_place(p->remote_bytes, len, !get, (unsigned)far_count, seed);
            s->extents[far_count++] = (tern_extent){ p->offset + at, len };
            shape_note(s->far, &far, p->offset + at, len);
        }
    }
    s->total = near;
    s->vector =
        TERN_VECTOR(.local_count = near_count, .local = s->pieces, .remote_count = far_count, .remote = s->extents);
    return true;
}

/* Counts and lengths whose products are the same. */
static inline bool shape_draw_indexed(struct shape *s, const struct shape_place *p, bool get, uint64_t *seed)
{
    static const size_t lens[] = { 1, 2, 4, 8, 16, 32, 64, 3, 5, 12, 100 };
    size_t              len = lens[job_random(seed) % (sizeof(lens) / sizeof(lens[0]))];
    size_t              a = 1 + job_random(seed) % 3, b = job_random(seed) % 2 ? a : 1 + job_random(seed) % 3;
    size_t              n = job_random(seed) % (SHAPE_ENTRIES / 3 + 1), near = 0, far = 0;

    if (p->local_bytes / SHAPE_ENTRIES < len * 3 || p->remote_bytes / SHAPE_ENTRIES < len * 3)
        return false;
    s->indexed = TERN_INDEXED(.local_count = n * b, .local_len = len * a, .local = s->addrs, .remote_count = n * a,
                              .remote_len = len * b, .remote = s->offsets);
    for (size_t i = 0; i < n * b; i++) {
        size_t at = shape_piece_place(p->local_bytes, len * a, get, (unsigned)i, seed);
        s->addrs[i] = p->local + at;
        shape_note(s->near, &near, at, len * a);
    }
    for (size_t i = 0; i < n * a; i++) {
        size_t at = shape_piece_place(p->remote_bytes, len * b, !get, (unsigned)i, seed);
        s->offsets[i] = p->offset + at;
        shape_note(s->far, &far, p->offset + at, len * b);
    }
    s->total = near;
    return true;
}

/* Draw a shape whose destination does not overlap itself: the local side for a get, the remote one for a put. */
static inline void shape_draw(struct shape *s, const struct shape_place *p, bool get, uint64_t *seed)
{
    bool drawn = false;

    while (!drawn) {
        s->kind = (enum shape_kind)(job_random(seed) % SHAPE_KINDS);
        s->total = 0;
        switch (s->kind) {
        case SHAPE_VECTOR: drawn = shape_draw_vector(s, p, get, seed); break;
        case SHAPE_INDEXED: drawn = shape_draw_indexed(s, p, get, seed); break;
        default: drawn = shape_draw_strided(s, p, get, seed);
        }
    }
}

/* ---- doing it ---- */

static inline tern_status shape_run(tern_ctx *ctx, tern_region *region, int rank, const struct shape *s, bool get)
{
    switch (s->kind) {
    case SHAPE_VECTOR:
        return get ? tern_get_vector(ctx, region, rank, &s->vector) : tern_put_vector(ctx, region, rank, &s->vector);
    case SHAPE_INDEXED:
        return get ? tern_get_indexed(ctx, region, rank, &s->indexed)
                   : tern_put_indexed(ctx, region, rank, &s->indexed);
    default:
        return get ? tern_get_strided(ctx, region, rank, &s->strided)
                   : tern_put_strided(ctx, region, rank, &s->strided);
    }
}

static inline tern_status shape_with(tern_ctx *ctx, tern_region *region, int rank, const struct shape *s, bool get,
                                     const tern_opts *opts)
{
    switch (s->kind) {
    case SHAPE_VECTOR:
        return get ? tern_get_vector_with(ctx, region, rank, &s->vector, opts)
                   : tern_put_vector_with(ctx, region, rank, &s->vector, opts);
    case SHAPE_INDEXED:
        return get ? tern_get_indexed_with(ctx, region, rank, &s->indexed, opts)
                   : tern_put_indexed_with(ctx, region, rank, &s->indexed, opts);
    default:
        return get ? tern_get_strided_with(ctx, region, rank, &s->strided, opts)
                   : tern_put_strided_with(ctx, region, rank, &s->strided, opts);
    }
}

static inline tern_status shape_nb(tern_ctx *ctx, tern_region *region, int rank, const struct shape *s, bool get,
                                   tern_event *event)
{
    switch (s->kind) {
    case SHAPE_VECTOR:
        return get ? tern_get_vector_nb(ctx, region, rank, &s->vector, event)
                   : tern_put_vector_nb(ctx, region, rank, &s->vector, event);
    case SHAPE_INDEXED:
        return get ? tern_get_indexed_nb(ctx, region, rank, &s->indexed, event)
                   : tern_put_indexed_nb(ctx, region, rank, &s->indexed, event);
    default:
        return get ? tern_get_strided_nb(ctx, region, rank, &s->strided, event)
                   : tern_put_strided_nb(ctx, region, rank, &s->strided, event);
    }
}

static inline tern_status shape_nbi(tern_ctx *ctx, tern_region *region, int rank, const struct shape *s, bool get)
{
    switch (s->kind) {
    case SHAPE_VECTOR:
        return get ? tern_get_vector_nbi(ctx, region, rank, &s->vector)
                   : tern_put_vector_nbi(ctx, region, rank, &s->vector);
    case SHAPE_INDEXED:
        return get ? tern_get_indexed_nbi(ctx, region, rank, &s->indexed)
                   : tern_put_indexed_nbi(ctx, region, rank, &s->indexed);
    default:
        return get ? tern_get_strided_nbi(ctx, region, rank, &s->strided)
                   : tern_put_strided_nbi(ctx, region, rank, &s->strided);
    }
}

#endif
