/* acc_test.h: random accumulates, and what they mean: which element is added to which, one by one. For the tests of
 * accumulates. Values are small whole numbers, so that sums are exact in every type. */
#ifndef TERN_ACC_TEST_H
#define TERN_ACC_TEST_H

#include "job_test.h"

enum acc_shape { ACC_CONTIGUOUS, ACC_VECTOR, ACC_INDEXED, ACC_STRIDED, ACC_SHAPES };

#define ACC_MOST 600    /* elements of one accumulate */
#define ACC_FAR 700     /* elements of a part, of each type */
#define ACC_NEAR 4096   /* elements of the local buffer */
#define ACC_ELEMENT 16u /* bytes of the largest */
#define ACC_PART (TERN_TYPES * ACC_FAR * ACC_ELEMENT)
#define ACC_PIECES 12

/* A number of any type. */
struct acc_value {
    int64_t re, im;
};

static inline size_t acc_bytes(tern_type type)
{
#define BYTES(name, ctype, bytes, text) [name] = (bytes),
    static const size_t table[TERN_TYPES] = { TERN_TYPE_LIST(BYTES) };
#undef BYTES

    return table[type];
}

static inline bool acc_complex(tern_type type)
{
    return type == TERN_COMPLEX_FLOAT || type == TERN_COMPLEX_DOUBLE;
}

static inline void acc_store(tern_type type, void *to, struct acc_value v)
{
    int32_t i = (int32_t)v.re;
    float   f[2] = { (float)v.re, (float)v.im };
    double  d[2] = { (double)v.re, (double)v.im };
    void   *from = type == TERN_INT32 || type == TERN_UINT32          ? (void *)&i
                   : type == TERN_INT64 || type == TERN_UINT64        ? (void *)&v.re
                   : type == TERN_FLOAT || type == TERN_COMPLEX_FLOAT ? (void *)f
                                                                      : (void *)d;

    memcpy(to, from, acc_bytes(type));
}

static inline struct acc_value acc_load(tern_type type, const void *from)
{
    int32_t          i = 0;
    float            f[2] = { 0, 0 };
    double           d[2] = { 0, 0 };
    struct acc_value v = { 0, 0 };

    switch (type) {
    case TERN_INT32:
    case TERN_UINT32: memcpy(&i, from, sizeof(i)); return (struct acc_value){ i, 0 };
    case TERN_INT64:
    case TERN_UINT64: memcpy(&v.re, from, sizeof(v.re)); return v;
    case TERN_FLOAT:
    case TERN_COMPLEX_FLOAT:
        memcpy(f, from, acc_bytes(type));
        return (struct acc_value){ (int64_t)f[0], (int64_t)f[1] };
    default: memcpy(d, from, acc_bytes(type)); return (struct acc_value){ (int64_t)d[0], (int64_t)d[1] };
    }
}

/* One accumulate: element n of it is at near[n] here and at far[n] there, in elements. */
struct acc {
    tern_type        type;
    enum acc_shape   shape;
    bool             fetch;
    unsigned         shift; /* bytes by which the local buffer is out of line */
    struct acc_value scale;
    size_t           count;
    uint16_t         near[ACC_MOST], far[ACC_MOST];
    /* as the program describes it */
    tern_vector      vector;
    tern_indexed     indexed;
    tern_strided     strided;
    tern_piece       pieces[ACC_PIECES];
    tern_extent      extents[ACC_PIECES];
    void            *addrs[ACC_MOST];
    uint64_t         offsets[ACC_MOST];
    size_t           counts[3];
    ptrdiff_t        local_stride[3];
    int64_t          remote_stride[3];
    unsigned char    by[ACC_ELEMENT];
};

static inline uint64_t acc_offset(tern_type type, size_t element)
{
    return (uint64_t)type * ACC_FAR * ACC_ELEMENT + element * acc_bytes(type);
}

static inline unsigned char *acc_place(const struct acc *a, unsigned char *buffer, size_t element)
{
    return buffer + a->shift + element * acc_bytes(a->type);
}

/* What summand n is; who and round tell accumulates apart. */
static inline struct acc_value acc_summand(const struct acc *a, uint64_t tag, size_t near)
{
    return (struct acc_value){ (int64_t)((tag * 7 + near * 3) % 9) - 4,
                               acc_complex(a->type) ? (int64_t)((tag + near) % 5) - 2 : 0 };
}

/* Cut count elements into pieces: returns how many; lengths in elements. */
static inline size_t acc_cut(size_t count, size_t *lengths, uint64_t *seed)
{
    size_t pieces = 0;

    while (count > 0) {
        size_t n = pieces == ACC_PIECES - 1 ? count : 1 + job_random(seed) % (2 * count / 3 + 1);

        n = n < count ? n : count;
        lengths[pieces++] = n;
        count -= n;
    }
    return pieces;
}

static inline void acc_make_vector(struct acc *a, unsigned char *buffer, uint64_t *seed)
{
    size_t lengths[ACC_PIECES], bytes = acc_bytes(a->type), pieces, at = 0, near = 0;

    pieces = acc_cut(a->count, lengths, seed);
    for (size_t i = 0; i < pieces; i++) {
        near += job_random(seed) % 3;
        a->pieces[i] = (tern_piece){ acc_place(a, buffer, near), lengths[i] * bytes };
        for (size_t j = 0; j < lengths[i]; j++)
            a->near[at++] = (uint16_t)near++;
    }
    a->vector = (tern_vector){ .local_count = pieces, .local = a->pieces };
    pieces = acc_cut(a->count, lengths, seed);
    at = 0;
    for (size_t i = 0; i < pieces; i++) {
        size_t far = job_random(seed) % (ACC_FAR - lengths[i] + 1);

        a->extents[i] = (tern_extent){ acc_offset(a->type, far), lengths[i] * bytes };
        for (size_t j = 0; j < lengths[i]; j++)
            a->far[at++] = (uint16_t)far++;
    }
    a->vector.remote_count = pieces;
    a->vector.remote = a->extents;
}

static inline void acc_make_indexed(struct acc *a, unsigned char *buffer, uint64_t *seed)
{
    static const size_t sizes[] = { 1, 2, 3, 4, 6, 12 };
    size_t              near_run = sizes[job_random(seed) % 6], far_run = sizes[job_random(seed) % 6], near = 0;
    size_t              bytes = acc_bytes(a->type);

    a->count = a->count < 12 ? 12 : a->count - a->count % 12;
    for (size_t at = 0; at < a->count; at++, near++) {
        if (at % near_run == 0) {
            near += job_random(seed) % 2;
            a->addrs[at / near_run] = acc_place(a, buffer, near);
        }
        a->near[at] = (uint16_t)near;
        a->far[at] = (uint16_t)(at % far_run == 0 ? job_random(seed) % (ACC_FAR - far_run + 1) : a->far[at - 1] + 1u);
        if (at % far_run == 0)
            a->offsets[at / far_run] = acc_offset(a->type, a->far[at]);
    }
    a->indexed = (tern_indexed){ .local_count = a->count / near_run,
                                 .local_len = near_run * bytes,
                                 .local = a->addrs,
                                 .remote_count = a->count / far_run,
                                 .remote_len = far_run * bytes,
                                 .remote = a->offsets };
}

static inline void acc_make_strided(struct acc *a, unsigned char *buffer, uint64_t *seed)
{
    size_t  run = 1 + job_random(seed) % 4, c[3], bytes = acc_bytes(a->type);
    int64_t near_step[3], far_step[3], low = 0, high = (int64_t)run, first;

    for (int i = 0; i < 3; i++) {
        c[i] = 1 + job_random(seed) % 5;
        far_step[i] = (int64_t)(job_random(seed) % 81) - 40;
        low += far_step[i] < 0 ? far_step[i] * (int64_t)(c[i] - 1) : 0;
        high += far_step[i] > 0 ? far_step[i] * (int64_t)(c[i] - 1) : 0;
        a->counts[i] = c[i];
    }
    near_step[1] = (int64_t)run + (int64_t)(job_random(seed) % 2); /* the dimensions lie in another order here */
    near_step[0] = near_step[1] * (int64_t)c[1] + (int64_t)(job_random(seed) % 3);
    near_step[2] = near_step[0] * (int64_t)c[0];
    first = -low + (int64_t)(job_random(seed) % (uint64_t)(ACC_FAR - (high - low) + 1));
    a->count = 0;
    for (size_t k = 0; k < c[2]; k++)
        for (size_t j = 0; j < c[1]; j++)
            for (size_t i = 0; i < c[0]; i++)
                for (size_t e = 0; e < run; e++, a->count++) {
                    int64_t n[3] = { (int64_t)i, (int64_t)j, (int64_t)k }, near = (int64_t)e, far = first + (int64_t)e;

                    for (int d = 0; d < 3; d++)
                        near += n[d] * near_step[d], far += n[d] * far_step[d];
                    a->near[a->count] = (uint16_t)near;
                    a->far[a->count] = (uint16_t)far;
                }
    for (int d = 0; d < 3; d++) {
        a->local_stride[d] = near_step[d] * (int64_t)bytes;
        a->remote_stride[d] = far_step[d] * (int64_t)bytes;
    }
    a->strided = (tern_strided){ .dims = 3,
                                 .element = run * bytes,
                                 .count = a->counts,
                                 .local = acc_place(a, buffer, 0),
                                 .local_stride = a->local_stride,
                                 .remote = acc_offset(a->type, (size_t)first),
                                 .remote_stride = a->remote_stride };
}

static inline void acc_make_contiguous(struct acc *a, uint64_t *seed)
{
    size_t far = job_random(seed) % (ACC_FAR - a->count + 1);

    for (size_t i = 0; i < a->count; i++) {
        a->near[i] = (uint16_t)i;
        a->far[i] = (uint16_t)(far + i);
    }
}

/* A random accumulate from the buffer, which may be NULL where only its meaning is wanted. */
static inline void acc_make(struct acc *a, unsigned char *buffer, uint64_t *seed)
{
    a->type = (tern_type)(job_random(seed) % TERN_TYPES);
    a->shape = (enum acc_shape)(job_random(seed) % ACC_SHAPES);
    a->fetch = job_random(seed) % 3 == 0;
    a->shift = (unsigned)(job_random(seed) % 4);
    a->scale = (struct acc_value){ (int64_t)(job_random(seed) % 4) - 1, acc_complex(a->type) && job_random(seed) % 2 };
    a->count = 1 + job_random(seed) % (job_random(seed) % 4 == 0 ? ACC_MOST : 20);
    acc_store(a->type, a->by, a->scale);
    switch (a->shape) {
    case ACC_VECTOR: acc_make_vector(a, buffer, seed); break;
    case ACC_INDEXED: acc_make_indexed(a, buffer, seed); break;
    case ACC_STRIDED: acc_make_strided(a, buffer, seed); break;
    default: acc_make_contiguous(a, seed);
    }
}

static inline void acc_fill(const struct acc *a, unsigned char *buffer, uint64_t tag)
{
    for (size_t i = 0; i < a->count; i++)
        acc_store(a->type, acc_place(a, buffer, a->near[i]), acc_summand(a, tag, a->near[i]));
}

/* What element n of the accumulate adds. */
static inline struct acc_value acc_product(const struct acc *a, uint64_t tag, size_t n)
{
    struct acc_value s = acc_summand(a, tag, a->near[n]);

    return (struct acc_value){ a->scale.re * s.re - a->scale.im * s.im, a->scale.re * s.im + a->scale.im * s.re };
}

static inline tern_scale acc_scale(const struct acc *a)
{
    bool one = a->scale.re == 1 && a->scale.im == 0;

    return (tern_scale){ a->type, one ? NULL : a->by };
}

/* Start it with options, or do it: opts NULL. */
static inline tern_status acc_go(const struct acc *a, tern_ctx *ctx, tern_region *region, int rank,
                                 unsigned char *buffer, const tern_opts *opts)
{
    tern_scale     scale = acc_scale(a);
    uint64_t       offset = acc_offset(a->type, a->far[0]);
    unsigned char *local = acc_place(a, buffer, 0);
    size_t         len = a->count * acc_bytes(a->type);

    switch (a->shape) {
    case ACC_VECTOR:
        if (a->fetch)
            return opts ? tern_get_acc_vector_with(ctx, region, rank, &a->vector, &scale, opts)
                        : tern_get_acc_vector(ctx, region, rank, &a->vector, &scale);
        return opts ? tern_acc_vector_with(ctx, region, rank, &a->vector, &scale, opts)
                    : tern_acc_vector(ctx, region, rank, &a->vector, &scale);
    case ACC_INDEXED:
        if (a->fetch)
            return opts ? tern_get_acc_indexed_with(ctx, region, rank, &a->indexed, &scale, opts)
                        : tern_get_acc_indexed(ctx, region, rank, &a->indexed, &scale);
        return opts ? tern_acc_indexed_with(ctx, region, rank, &a->indexed, &scale, opts)
                    : tern_acc_indexed(ctx, region, rank, &a->indexed, &scale);
    case ACC_STRIDED:
        if (a->fetch)
            return opts ? tern_get_acc_strided_with(ctx, region, rank, &a->strided, &scale, opts)
                        : tern_get_acc_strided(ctx, region, rank, &a->strided, &scale);
        return opts ? tern_acc_strided_with(ctx, region, rank, &a->strided, &scale, opts)
                    : tern_acc_strided(ctx, region, rank, &a->strided, &scale);
    default:
        if (a->fetch)
            return opts ? tern_get_acc_with(ctx, region, rank, offset, local, len, &scale, opts)
                        : tern_get_acc(ctx, region, rank, offset, local, len, &scale);
        return opts ? tern_acc_with(ctx, region, rank, offset, local, len, &scale, opts)
                    : tern_acc(ctx, region, rank, offset, local, len, &scale);
    }
}

/* The part of a rank, as it should be. */
struct acc_model {
    struct acc_value at[TERN_TYPES][ACC_FAR];
};

static inline void acc_apply(struct acc_model *m, const struct acc *a, uint64_t tag)
{
    for (size_t i = 0; i < a->count; i++) {
        struct acc_value p = acc_product(a, tag, i);

        m->at[a->type][a->far[i]].re += p.re;
        m->at[a->type][a->far[i]].im += p.im;
    }
}

#define ACC_HOLDS(model, part) acc_holds(__FILE__, __LINE__, model, part)
static inline void acc_holds(const char *file, int line, const struct acc_model *m, const unsigned char *part)
{
    for (int type = 0; type < TERN_TYPES; type++)
        for (size_t i = 0; i < ACC_FAR; i++) {
            struct acc_value got, want = m->at[type][i];

            AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
            got = acc_load((tern_type)type, part + acc_offset((tern_type)type, i));
            AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
            if (got.re != want.re || got.im != want.im) {
                char what[160];
                snprintf(what, sizeof(what), "element %zu of type %d is %lld%+lldi, not %lld%+lldi", i, type,
                         (long long)got.re, (long long)got.im, (long long)want.re, (long long)want.im);
                job_fail(file, line, what, "sums differ");
            }
        }
}

#endif
