/* reduce_model.h: a simple model of the reductions of collective calls, for every type.
 *
 * A number is a 64-bit integer or a long double, whatever its type. Sums and products have the rounding of the type. If
 * the order in which the library combines the ranks is not known, tests use small whole numbers, of which every order
 * gives the same result. */
#ifndef TERN_REDUCE_MODEL_H
#define TERN_REDUCE_MODEL_H

#include "job_test.h"

static const struct model_type {
    const char *name;
    tern_type   type;
    size_t      bytes; /* of a number; a complex number has two */
    bool        is_signed, is_real, is_complex;
} model_types[] = {
    { "int8", TERN_INT8, 1, true, false, false },
    { "uint8", TERN_UINT8, 1, false, false, false },
    { "int16", TERN_INT16, 2, true, false, false },
    { "uint16", TERN_UINT16, 2, false, false, false },
    { "int32", TERN_INT32, 4, true, false, false },
    { "uint32", TERN_UINT32, 4, false, false, false },
    { "int64", TERN_INT64, 8, true, false, false },
    { "uint64", TERN_UINT64, 8, false, false, false },
    { "float", TERN_FLOAT, 4, true, true, false },
    { "double", TERN_DOUBLE, 8, true, true, false },
    { "long double", TERN_LONG_DOUBLE, sizeof(long double), true, true, false },
    { "complex float", TERN_COMPLEX_FLOAT, 4, true, true, true },
    { "complex double", TERN_COMPLEX_DOUBLE, 8, true, true, true },
    { "complex long double", TERN_COMPLEX_LONG_DOUBLE, sizeof(long double), true, true, true },
};
#define MODEL_TYPES ((int)(sizeof(model_types) / sizeof(model_types[0])))

/* The reductions. The last two are functions of the program: one that does not commute, and one that does. */
static const tern_reduction model_ops[] = { TERN_SUM,    TERN_PROD,   TERN_MIN,  TERN_MAX,  TERN_AND,    TERN_OR,
                                            TERN_XOR,    TERN_LAND,   TERN_LOR,  TERN_LXOR, TERN_ABSMIN, TERN_ABSMAX,
                                            TERN_MINLOC, TERN_MAXLOC, TERN_USER, TERN_USER };
#define MODEL_OPS ((int)(sizeof(model_ops) / sizeof(model_ops[0])))
enum { MODEL_AND = 4, MODEL_LXOR = 9, MODEL_USER = 14, MODEL_COMMUTES = 15 };

/* An element. */
struct model_value {
    uint64_t    bits;   /* of an integer, extended to 64 bits; of a user's element both halves */
    long double re, im; /* of a floating-point number */
    int64_t     at;     /* the number beside a value, for minloc and maxloc */
};

static inline bool model_has(int type, int op)
{
    const struct model_type *t = &model_types[type];

    if (op < 2 || op >= MODEL_USER)
        return true;
    return !t->is_complex && (!t->is_real || op < MODEL_AND || op > MODEL_LXOR);
}

static inline bool model_is_loc(int op)
{
    return model_ops[op] == TERN_MINLOC || model_ops[op] == TERN_MAXLOC;
}

static inline size_t model_elem(int type, int op)
{
    const struct model_type *t = &model_types[type];

    if (op >= MODEL_USER)
        return 8;
    if (model_is_loc(op))
        return t->bytes > 8 ? 32 : 16;
    return t->is_complex ? 2 * t->bytes : t->bytes;
}

/* ---- numbers in memory ---- */

static inline void model_store_real(void *at, size_t bytes, long double x)
{
    float  f = (float)x;
    double d = (double)x;

    if (bytes == sizeof(f))
        memcpy(at, &f, sizeof(f));
    else if (bytes == sizeof(d))
        memcpy(at, &d, sizeof(d));
    else
        memcpy(at, &x, sizeof(x));
}

static inline long double model_load_real(const void *at, size_t bytes)
{
    float       f;
    double      d;
    long double x;

    if (bytes == sizeof(f))
        return memcpy(&f, at, sizeof(f)), (long double)f;
    if (bytes == sizeof(d))
        return memcpy(&d, at, sizeof(d)), (long double)d;
    return memcpy(&x, at, sizeof(x)), x;
}

/* An integer of a width, extended to 64 bits. */
static inline uint64_t model_narrow(const struct model_type *t, uint64_t bits)
{
    unsigned shift = 64 - 8 * (unsigned)t->bytes;

    return t->is_signed ? (uint64_t)((int64_t)(bits << shift) >> shift) : bits << shift >> shift;
}

static inline void model_store(int type, int op, void *at, const struct model_value *v)
{
    const struct model_type *t = &model_types[type];

    if (op >= MODEL_USER) {
        memcpy(at, &v->bits, 8);
        return;
    }
    if (!t->is_real)
        memcpy(at, &v->bits, t->bytes); /* little endian */
    else
        model_store_real(at, t->bytes, v->re);
    if (t->is_complex)
        model_store_real((char *)at + t->bytes, t->bytes, v->im);
    if (model_is_loc(op))
        memcpy((char *)at + model_elem(type, op) / 2, &v->at, sizeof(v->at));
}

static inline struct model_value model_load(int type, int op, const void *at)
{
    const struct model_type *t = &model_types[type];
    struct model_value       v = { .bits = 0 };

    memcpy(&v.bits, at, op >= MODEL_USER ? 8 : t->is_real ? 0 : t->bytes);
    if (op >= MODEL_USER)
        return v;
    if (!t->is_real)
        v.bits = model_narrow(t, v.bits);
    else
        v.re = model_load_real(at, t->bytes);
    if (t->is_complex)
        v.im = model_load_real((const char *)at + t->bytes, t->bytes);
    if (model_is_loc(op))
        memcpy(&v.at, (const char *)at + model_elem(type, op) / 2, sizeof(v.at));
    return v;
}

/* ---- reductions ---- */

/* Sums and products with the rounding of a type. */
static inline long double model_add(size_t bytes, long double a, long double b)
{
    if (bytes == sizeof(float))
        return (float)a + (float)b;
    return bytes == sizeof(double) ? (double)a + (double)b : a + b;
}

static inline long double model_multiply(size_t bytes, long double a, long double b)
{
    if (bytes == sizeof(float))
        return (float)a * (float)b;
    return bytes == sizeof(double) ? (double)a * (double)b : a * b;
}

static inline struct model_value model_product(const struct model_type *t, const struct model_value *a,
                                               const struct model_value *b)
{
    struct model_value v = { .bits = a->bits * b->bits, .re = model_multiply(t->bytes, a->re, b->re) };
    size_t             n = t->bytes;

    if (t->is_complex) {
        v.re = model_add(n, v.re, -model_multiply(n, a->im, b->im));
        v.im = model_add(n, model_multiply(n, a->re, b->im), model_multiply(n, a->im, b->re));
    }
    return v;
}

/* Whether a is less than b. */
static inline bool model_less(const struct model_type *t, const struct model_value *a, const struct model_value *b)
{
    if (t->is_real)
        return a->re < b->re;
    return t->is_signed ? (int64_t)a->bits < (int64_t)b->bits : a->bits < b->bits;
}

static inline struct model_value model_magnitude(const struct model_type *t, struct model_value a)
{
    if (t->is_signed && !t->is_real && (int64_t)a.bits < 0)
        a.bits = model_narrow(t, 0 - a.bits);
    a.re = a.re < 0 ? -a.re : a.re;
    return a;
}

/* The functions of the program: composition of x -> p * x + q on pairs of 32 bits, and a sum of 64 bits. */
static inline uint64_t model_user(int op, uint64_t a, uint64_t b)
{
    uint32_t p = (uint32_t)a * (uint32_t)b, q = (uint32_t)(a >> 32) * (uint32_t)b + (uint32_t)(b >> 32);

    return op == MODEL_COMMUTES ? a + b : (uint64_t)q << 32 | p;
}

static inline struct model_value model_compare(const struct model_type *t, tern_reduction op, struct model_value a,
                                               struct model_value b)
{
    bool magnitudes = op == TERN_ABSMIN || op == TERN_ABSMAX;
    bool least = op == TERN_MIN || op == TERN_ABSMIN || op == TERN_MINLOC;

    if (magnitudes) {
        a = model_magnitude(t, a);
        b = model_magnitude(t, b);
    }
    if (least ? model_less(t, &b, &a) : model_less(t, &a, &b))
        return b;
    if (least ? model_less(t, &a, &b) : model_less(t, &b, &a))
        return a;
    return b.at < a.at ? b : a;
}

/* Combine the element b of higher ranks into a. */
static inline struct model_value model_combine(int type, int number, struct model_value a, struct model_value b)
{
    const struct model_type *t = &model_types[type];
    tern_reduction           op = model_ops[number];
    struct model_value       v = a;

    switch ((int)op) {
    case TERN_USER: v.bits = model_user(number, a.bits, b.bits); return v;
    case TERN_SUM:
        v.bits = a.bits + b.bits;
        v.re = model_add(t->bytes, a.re, b.re);
        v.im = model_add(t->bytes, a.im, b.im);
        break;
    case TERN_PROD: v = model_product(t, &a, &b); break;
    case TERN_AND: v.bits = a.bits & b.bits; break;
    case TERN_OR: v.bits = a.bits | b.bits; break;
    case TERN_XOR: v.bits = a.bits ^ b.bits; break;
    case TERN_LAND: v.bits = a.bits != 0 && b.bits != 0; break;
    case TERN_LOR: v.bits = a.bits != 0 || b.bits != 0; break;
    case TERN_LXOR: v.bits = (a.bits != 0) != (b.bits != 0); break;
    default: return model_compare(t, op, a, b);
    }
    if (!t->is_real)
        v.bits = model_narrow(t, v.bits);
    return v;
}

/* Whether two elements are equal. */
static inline bool model_same(const struct model_value *a, const struct model_value *b)
{
    return a->bits == b->bits && a->re == b->re && a->im == b->im && a->at == b->at;
}

#endif
