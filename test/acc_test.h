/* acc_test.h: random accumulates for the tests of accumulates, and a model of them, which combines one element at a
 * time. The values of floating-point types are whole numbers that every type represents exactly, and their products
 * stay small, so that the order in which operands are combined does not matter. */
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

static inline bool acc_integer(tern_type type)
{
    return type <= TERN_UINT64 || type >= TERN_INT8;
}

/* Whether the type has the reduction. */
static inline bool acc_has(tern_reduction op, tern_type type)
{
    bool integer = acc_integer(type);

    switch (op) {
    case TERN_MIN:
    case TERN_MAX: return !acc_complex(type);
    case TERN_AND:
    case TERN_OR:
    case TERN_XOR: return integer;
    default: return true;
    }
}

static inline void acc_store(tern_type type, void *to, struct acc_value v)
{
    float  f[2] = { (float)v.re, (float)v.im };
    double d[2] = { (double)v.re, (double)v.im };
    void  *from = acc_integer(type)                                  ? (void *)&v.re /* little-endian */
                  : type == TERN_FLOAT || type == TERN_COMPLEX_FLOAT ? (void *)f
                                                                     : (void *)d;

    memcpy(to, from, acc_bytes(type));
}

static inline struct acc_value acc_load(tern_type type, const void *from)
{
    float            f[2] = { 0, 0 };
    double           d[2] = { 0, 0 };
    struct acc_value v = { 0, 0 };

    switch (type) {
    case TERN_INT8:
    case TERN_UINT8: memcpy(&v.re, from, 1); return (struct acc_value){ (int8_t)v.re, 0 };
    case TERN_INT16:
    case TERN_UINT16: memcpy(&v.re, from, 2); return (struct acc_value){ (int16_t)v.re, 0 };
    case TERN_INT32:
    case TERN_UINT32: memcpy(&v.re, from, 4); return (struct acc_value){ (int32_t)v.re, 0 };
    case TERN_INT64:
    case TERN_UINT64: memcpy(&v.re, from, sizeof(v.re)); return v;
    case TERN_FLOAT:
    case TERN_COMPLEX_FLOAT:
        memcpy(f, from, acc_bytes(type));
        return (struct acc_value){ (int64_t)f[0], (int64_t)f[1] };
    default: memcpy(d, from, acc_bytes(type)); return (struct acc_value){ (int64_t)d[0], (int64_t)d[1] };
    }
}

/* The value as the type represents it. */
static inline struct acc_value acc_round(tern_type type, struct acc_value v)
{
    unsigned char bytes[ACC_ELEMENT];

    acc_store(type, bytes, v);
    return acc_load(type, bytes);
}

static inline bool acc_is_less(tern_type type, struct acc_value a, struct acc_value b)
{
    if (type == TERN_UINT8 || type == TERN_UINT16 || type == TERN_UINT32)
        return (uint32_t)a.re < (uint32_t)b.re; /* both are sign-extended, which keeps the order of the bits */
    return type == TERN_UINT64 ? (uint64_t)a.re < (uint64_t)b.re : a.re < b.re;
}

/* The result of a reduction of an element a of the target and an operand b. Integers wrap around. */
static inline struct acc_value acc_combine(tern_reduction op, tern_type type, struct acc_value a, struct acc_value b)
{
    uint64_t x = (uint64_t)a.re, y = (uint64_t)a.im, u = (uint64_t)b.re, v = (uint64_t)b.im;

    switch (op) {
    case TERN_PROD: a = (struct acc_value){ (int64_t)(x * u - y * v), (int64_t)(x * v + y * u) }; break;
    case TERN_MIN: a = acc_is_less(type, b, a) ? b : a; break;
    case TERN_MAX: a = acc_is_less(type, a, b) ? b : a; break;
    case TERN_AND: a.re &= b.re; break;
    case TERN_OR: a.re |= b.re; break;
    case TERN_XOR: a.re ^= b.re; break;
    case TERN_REPLACE: a = b; break;
    default: a = (struct acc_value){ (int64_t)(x + u), (int64_t)(y + v) };
    }
    return acc_round(type, a);
}

/* One accumulate: element n of it is at near[n] here and at far[n] there, in elements. */
struct acc {
    tern_type        type;
    tern_reduction   op;
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

/* A number with random bits. */
static inline uint64_t acc_hash(uint64_t n)
{
    uint64_t seed = n * 0x9e3779b97f4a7c15u + 1;

    job_random(&seed);
    return job_random(&seed);
}

static inline struct acc_value acc_small(tern_type type, uint64_t n)
{
    return (struct acc_value){ (int64_t)(n % 9) - 4, acc_complex(type) ? (int64_t)(n / 9 % 5) - 2 : 0 };
}

/* Operand n of an accumulate; the tag tells accumulates apart. Products have odd numbers as operands, or units: 1, -1
 * and, for complex types, i and -i. Every replace stores the same value in an element, whatever its tag. */
static inline struct acc_value acc_operand(const struct acc *a, uint64_t tag, size_t n)
{
    static const struct acc_value units[4] = { { 1, 0 }, { -1, 0 }, { 0, 1 }, { 0, -1 } };
    uint64_t                      near = a->near[n], bits = acc_hash(tag + near);
    struct acc_value              v = { (int64_t)bits, 0 };

    switch (a->op) {
    case TERN_PROD:
        v.re |= 1;
        v = acc_integer(a->type) ? v : units[bits >> 8 & (acc_complex(a->type) ? 3 : 1)];
        break;
    case TERN_MIN:
    case TERN_MAX: v.re = acc_integer(a->type) ? v.re : (int64_t)(bits % 2000001) - 1000000; break;
    case TERN_AND: v.re |= (int64_t)acc_hash(bits); break;
    case TERN_OR: v.re &= (int64_t)acc_hash(bits); break;
    case TERN_XOR: break;
    case TERN_REPLACE: v = acc_small(a->type, acc_hash(a->far[n] + 77u)); break;
    default:
        v = (struct acc_value){ (int64_t)((tag * 7 + near * 3) % 9) - 4,
                                acc_complex(a->type) ? (int64_t)((tag + near) % 5) - 2 : 0 };
    }
    return acc_round(a->type, v);
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
    a->vector = TERN_VECTOR(.local_count = pieces, .local = a->pieces);
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
    a->indexed = TERN_INDEXED(.local_count = a->count / near_run, .local_len = near_run * bytes, .local = a->addrs,
                              .remote_count = a->count / far_run, .remote_len = far_run * bytes, .remote = a->offsets);
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
    a->strided = TERN_STRIDED(.dims = 3, .element = run * bytes, .count = a->counts, .local = acc_place(a, buffer, 0),
                              .local_stride = a->local_stride, .remote = acc_offset(a->type, (size_t)first),
                              .remote_stride = a->remote_stride);
}

static inline void acc_make_contiguous(struct acc *a, uint64_t *seed)
{
    size_t far = job_random(seed) % (ACC_FAR - a->count + 1);

    for (size_t i = 0; i < a->count; i++) {
        a->near[i] = (uint16_t)i;
        a->far[i] = (uint16_t)(far + i);
    }
}

/* Choose everything but type, reduction, shape and fetch. The buffer may be NULL where only the meaning of the
 * accumulate is wanted. */
static inline void acc_make_rest(struct acc *a, unsigned char *buffer, uint64_t *seed)
{
    a->shift = (unsigned)(job_random(seed) % 4);
    a->scale = (struct acc_value){ (int64_t)(job_random(seed) % 4) - 1, acc_complex(a->type) && job_random(seed) % 2 };
    if (a->op != TERN_SUM)
        a->scale = (struct acc_value){ 1, 0 };
    a->count = 1 + job_random(seed) % (job_random(seed) % 4 == 0 ? ACC_MOST : 20);
    acc_store(a->type, a->by, a->scale);
    switch (a->shape) {
    case ACC_VECTOR: acc_make_vector(a, buffer, seed); break;
    case ACC_INDEXED: acc_make_indexed(a, buffer, seed); break;
    case ACC_STRIDED: acc_make_strided(a, buffer, seed); break;
    default: acc_make_contiguous(a, seed);
    }
}

/* A random accumulate. Its reduction is `op` if its type has it, and otherwise sum. */
static inline void acc_make_op(struct acc *a, tern_reduction op, unsigned char *buffer, uint64_t *seed)
{
    a->type = (tern_type)(job_random(seed) % TERN_TYPES);
    a->op = acc_has(op, a->type) ? op : TERN_SUM;
    a->shape = (enum acc_shape)(job_random(seed) % ACC_SHAPES);
    a->fetch = job_random(seed) % 3 == 0;
    acc_make_rest(a, buffer, seed);
}

static inline void acc_make(struct acc *a, unsigned char *buffer, uint64_t *seed)
{
    acc_make_op(a, TERN_SUM, buffer, seed);
}

static inline void acc_fill(const struct acc *a, unsigned char *buffer, uint64_t tag)
{
    for (size_t i = 0; i < a->count; i++)
        acc_store(a->type, acc_place(a, buffer, a->near[i]), acc_operand(a, tag, i));
}

/* What is combined with element n of the target: the operand times the scale. */
static inline struct acc_value acc_product(const struct acc *a, uint64_t tag, size_t n)
{
    return acc_combine(TERN_PROD, a->type, a->scale, acc_operand(a, tag, n));
}

/* Start it with options, or do it: opts NULL. */
static inline tern_status acc_go(const struct acc *a, tern_ctx *ctx, tern_region *region, int rank,
                                 unsigned char *buffer, const tern_opts *opts)
{
    bool           one = a->scale.re == 1 && a->scale.im == 0;
    tern_acc_args  args = TERN_ACC_ARGS(.type = a->type, .op = a->op, .factor = one ? NULL : a->by);
    tern_opts      with = opts ? *opts : (tern_opts)TERN_OPTS_INIT;
    uint64_t       offset = acc_offset(a->type, a->far[0]);
    unsigned char *local = acc_place(a, buffer, 0);
    size_t         len = a->count * acc_bytes(a->type);

    with.acc = &args;
    switch (a->shape) {
    case ACC_VECTOR:
        if (a->fetch)
            return opts ? tern_get_acc_vector_with(ctx, region, rank, &a->vector, &with)
                        : tern_get_acc_vector(ctx, region, rank, &a->vector, &args);
        return opts ? tern_acc_vector_with(ctx, region, rank, &a->vector, &with)
                    : tern_acc_vector(ctx, region, rank, &a->vector, &args);
    case ACC_INDEXED:
        if (a->fetch)
            return opts ? tern_get_acc_indexed_with(ctx, region, rank, &a->indexed, &with)
                        : tern_get_acc_indexed(ctx, region, rank, &a->indexed, &args);
        return opts ? tern_acc_indexed_with(ctx, region, rank, &a->indexed, &with)
                    : tern_acc_indexed(ctx, region, rank, &a->indexed, &args);
    case ACC_STRIDED:
        if (a->fetch)
            return opts ? tern_get_acc_strided_with(ctx, region, rank, &a->strided, &with)
                        : tern_get_acc_strided(ctx, region, rank, &a->strided, &args);
        return opts ? tern_acc_strided_with(ctx, region, rank, &a->strided, &with)
                    : tern_acc_strided(ctx, region, rank, &a->strided, &args);
    default:
        if (a->fetch)
            return opts ? tern_get_acc_with(ctx, region, rank, offset, local, len, &with)
                        : tern_get_acc(ctx, region, rank, offset, local, len, &args);
        return opts ? tern_acc_with(ctx, region, rank, offset, local, len, &with)
                    : tern_acc(ctx, region, rank, offset, local, len, &args);
    }
}

/* The part of a rank, as it should be. */
struct acc_model {
    struct acc_value at[TERN_TYPES][ACC_FAR];
};

/* Fill the model and the memory of the part with values that a reduction other than sum can change. */
static inline void acc_model_fill(struct acc_model *m, unsigned char *part)
{
    for (int i = 0; i < (int)TERN_TYPES * ACC_FAR; i++) {
        tern_type        type = (tern_type)(i / ACC_FAR);
        uint64_t         bits = acc_hash((uint64_t)i);
        struct acc_value v = acc_integer(type) ? (struct acc_value){ (int64_t)bits, 0 } : acc_small(type, bits);

        m->at[type][i % ACC_FAR] = v = acc_round(type, v);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
        acc_store(type, part + acc_offset(type, (size_t)(i % ACC_FAR)), v);
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    }
}

static inline void acc_apply(struct acc_model *m, const struct acc *a, uint64_t tag)
{
    for (size_t i = 0; i < a->count; i++) {
        struct acc_value *at = &m->at[a->type][a->far[i]];

        *at = acc_combine(a->op, a->type, *at, acc_product(a, tag, i));
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
                job_fail(file, line, what, "results differ");
            }
        }
}

#endif
