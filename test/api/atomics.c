/* atomics.c: every atomic operation of every type in every form.
 *
 * Promise: an operation leaves the value of the model in the target, returns the old value, and touches nothing beside
 * it, in every form (blocking, with an event, completed by tern_quiet, immediate, typed and inlined), with a domain and
 * without one, on relaxed and on strict contexts, on memory of every kind, over every path. Integers wrap; in min and
 * max a NaN in the target stays, and a NaN operand changes nothing. A typed call of another type than the domain's is
 * refused.
 *
 * ranks: 1 2 4
 * env: TERN_CMA=off
 * env: TERN_LINKS=ofi TERN_OFI_PROVIDER=shm TERN_OFI_ATOMICS=network
 */
#include "job_test.h"

#include <math.h>

#define SPAN 64u /* bytes of a part that one rank uses; the value is in the middle */
#define AT 24u

/* ---- values ---- */

union value {
    int8_t   i8;
    uint8_t  u8;
    int16_t  i16;
    uint16_t u16;
    int32_t  i32;
    uint32_t u32;
    int64_t  i64;
    uint64_t u64;
    float    f32;
    double   f64;
};

static size_t size_of(tern_type type)
{
#define BYTES(name, ctype, bytes, text) [name] = (bytes),
    static const size_t table[] = { TERN_TYPE_LIST(BYTES) };
#undef BYTES

    return table[type];
}

/* The old value, the operand and the comparand: by type, and n of N. */
#define CASES 8
static const int64_t i_is[CASES] = { 0, 1, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, -7, 0x0f0f },
                     i_in[CASES] = { 5, -1, 1, -1, 1, -3, -7, 0x00ff },
                     i_eq[CASES] = { 0, 2, INT64_MAX, 0, INT32_MAX, INT32_MIN, 8, 0x0f0f };
static const double f_is[CASES] = { 0, -0.0, 1.5, NAN, INFINITY, -3, 1e30, 7 },
                    f_in[CASES] = { 2.25, 0, NAN, 1, -INFINITY, 0.1, 1e30, 7 },
                    f_eq[CASES] = { -0.0, -0.0, 1.5, NAN, 0, -3, 1e30, 8 };

static union value make(tern_type type, int64_t i, double f)
{
    union value v = { .u64 = 0 };

    switch (type) {
    case TERN_FLOAT: v.f32 = (float)f; break;
    case TERN_DOUBLE: v.f64 = f; break;
    case TERN_INT8:
    case TERN_UINT8: v.u8 = (uint8_t)i; break;
    case TERN_INT16:
    case TERN_UINT16: v.u16 = (uint16_t)i; break;
    case TERN_INT32:
    case TERN_UINT32: v.u32 = (uint32_t)i; break;
    default: v.u64 = (uint64_t)i; break;
    }
    return v;
}

/* ---- the model: one type at a time, by plain arithmetic ---- */

#define MODEL_INT(name, field, wide)                                                            \
    static union value name(tern_atomic_op op, union value is, union value in)                  \
    {                                                                                           \
        union value out = is;                                                                   \
        wide        a = (wide)is.field, b = (wide)in.field;                                     \
        switch (op) {                                                                           \
        case TERN_ATOMIC_ADD:                                                                   \
        case TERN_ATOMIC_FADD: out.field = (__typeof__(out.field))(a + b); break;               \
        case TERN_ATOMIC_SUB:                                                                   \
        case TERN_ATOMIC_FSUB: out.field = (__typeof__(out.field))(a - b); break;               \
        case TERN_ATOMIC_INC:                                                                   \
        case TERN_ATOMIC_FINC: out.field = (__typeof__(out.field))(a + 1); break;               \
        case TERN_ATOMIC_DEC:                                                                   \
        case TERN_ATOMIC_FDEC: out.field = (__typeof__(out.field))(a - 1); break;               \
        case TERN_ATOMIC_MULT:                                                                  \
        case TERN_ATOMIC_FMULT: out.field = (__typeof__(out.field))(a * b); break;              \
        case TERN_ATOMIC_MIN:                                                                   \
        case TERN_ATOMIC_FMIN: out.field = in.field < is.field ? in.field : is.field; break;    \
        case TERN_ATOMIC_MAX:                                                                   \
        case TERN_ATOMIC_FMAX: out.field = in.field > is.field ? in.field : is.field; break;    \
        case TERN_ATOMIC_AND:                                                                   \
        case TERN_ATOMIC_FAND: out.field = (__typeof__(out.field))(is.field & in.field); break; \
        case TERN_ATOMIC_OR:                                                                    \
        case TERN_ATOMIC_FOR: out.field = (__typeof__(out.field))(is.field | in.field); break;  \
        case TERN_ATOMIC_XOR:                                                                   \
        case TERN_ATOMIC_FXOR: out.field = (__typeof__(out.field))(is.field ^ in.field); break; \
        default: break;                                                                         \
        }                                                                                       \
        return out;                                                                             \
    }
MODEL_INT(model_i8, i8, int)
MODEL_INT(model_u8, u8, unsigned)
MODEL_INT(model_i16, i16, int)
MODEL_INT(model_u16, u16, unsigned)
MODEL_INT(model_i32, i32, __int128)
MODEL_INT(model_u32, u32, unsigned __int128)
MODEL_INT(model_i64, i64, __int128)
MODEL_INT(model_u64, u64, unsigned __int128)

#define MODEL_FLOAT(name, field)                                                                       \
    static union value name(tern_atomic_op op, union value is, union value in)                         \
    {                                                                                                  \
        union value out = is;                                                                          \
        switch (op) {                                                                                  \
        case TERN_ATOMIC_ADD:                                                                          \
        case TERN_ATOMIC_FADD: out.field = is.field + in.field; break;                                 \
        case TERN_ATOMIC_SUB:                                                                          \
        case TERN_ATOMIC_FSUB: out.field = is.field - in.field; break;                                 \
        case TERN_ATOMIC_INC:                                                                          \
        case TERN_ATOMIC_FINC: out.field = is.field + 1; break;                                        \
        case TERN_ATOMIC_DEC:                                                                          \
        case TERN_ATOMIC_FDEC: out.field = is.field - 1; break;                                        \
        case TERN_ATOMIC_MULT:                                                                         \
        case TERN_ATOMIC_FMULT: out.field = is.field * in.field; break;                                \
        case TERN_ATOMIC_MIN:                                                                          \
        case TERN_ATOMIC_FMIN: out.field = isless(in.field, is.field) ? in.field : is.field; break;    \
        case TERN_ATOMIC_MAX:                                                                          \
        case TERN_ATOMIC_FMAX: out.field = isgreater(in.field, is.field) ? in.field : is.field; break; \
        default: break;                                                                                \
        }                                                                                              \
        return out;                                                                                    \
    }
MODEL_FLOAT(model_float, f32)
MODEL_FLOAT(model_double, f64)

static union value model(tern_type type, tern_atomic_op op, union value is, union value in, union value eq)
{
    union value (*const of[])(tern_atomic_op, union value, union value) = {
        [TERN_INT32] = model_i32,   [TERN_UINT32] = model_u32,    [TERN_INT64] = model_i64, [TERN_UINT64] = model_u64,
        [TERN_FLOAT] = model_float, [TERN_DOUBLE] = model_double, [TERN_INT8] = model_i8,   [TERN_UINT8] = model_u8,
        [TERN_INT16] = model_i16,   [TERN_UINT16] = model_u16,
    };

    if (op == TERN_ATOMIC_PUT || op == TERN_ATOMIC_SWAP)
        return in;
    if (op == TERN_ATOMIC_CAS)
        return memcmp(&is, &eq, size_of(type)) == 0 ? in : is;
    return of[type](op, is, in);
}

/* Compare the bits, except that a computed NaN may be any NaN. */
static bool is_same(tern_type type, union value a, union value b)
{
    if (type == TERN_FLOAT && isnan(a.f32) && isnan(b.f32))
        return true;
    if (type == TERN_DOUBLE && isnan(a.f64) && isnan(b.f64))
        return true;
    return memcmp(&a, &b, size_of(type)) == 0;
}

/* ---- forms ---- */

struct where {
    tern_ctx           *ctx;
    tern_atomic_domain *domain;
    tern_region        *region;
    int                 rank;
    uint64_t            offset;
};

typedef void form(const struct where *w, tern_type type, const tern_atomic_args *args);

static void blocking(const struct where *w, tern_type type, const tern_atomic_args *args)
{
    (void)type;
    OK(tern_atomic(w->ctx, w->domain, w->region, w->rank, w->offset, args));
}

/* The operand may be overwritten at once. */
static void with_event(const struct where *w, tern_type type, const tern_atomic_args *args)
{
    union value      in = { .u64 = 0 };
    tern_atomic_args copy = *args;
    tern_event       event;

    if (args->operand) {
        memcpy(&in, args->operand, size_of(type));
        copy.operand = &in;
    }
    OK(tern_atomic_nb(w->ctx, w->domain, w->region, w->rank, w->offset, &copy, &event));
    memset(&in, 0x77, sizeof(in));
    OK(tern_event_wait(&event, TERN_FOREVER));
}

static void until_quiet(const struct where *w, tern_type type, const tern_atomic_args *args)
{
    (void)type;
    OK(tern_atomic_nbi(w->ctx, w->domain, w->region, w->rank, w->offset, args));
    OK(tern_quiet(w->ctx));
}

static void immediate(const struct where *w, tern_type type, const tern_atomic_args *args)
{
    tern_event event, local = { (struct tern_pending *)(uintptr_t)0xabcd0 };
    tern_opts opts = TERN_OPTS(.flags = TERN_IMMEDIATE | TERN_ACQUIRE | TERN_RELEASE, .local = &local, .event = &event);
    tern_status st;

    (void)type;
    while ((st = tern_atomic_with(w->ctx, w->domain, w->region, w->rank, w->offset, args, &opts)) == TERN_AGAIN)
        OK(tern_progress(w->ctx));
    OK(st);
    CHECK(local.pending == NULL);
    OK(tern_event_wait(&event, TERN_FOREVER));
}

/* The typed calls. */
#define UPDATE(NAME, call)                                              \
    case TERN_ATOMIC_##NAME:                                            \
        OK(call(w->ctx, w->domain, w->region, w->rank, w->offset, in)); \
        break;
#define FETCH(NAME, call)                                                 \
    case TERN_ATOMIC_##NAME:                                              \
        OK(call(w->ctx, w->domain, w->region, w->rank, w->offset, &out)); \
        break;
#define BOTH(NAME, call)                                                      \
    case TERN_ATOMIC_##NAME:                                                  \
        OK(call(w->ctx, w->domain, w->region, w->rank, w->offset, in, &out)); \
        break;
#define TYPED(suffix, type_)                                                                                          \
    static void typed_##suffix(const struct where *w, const tern_atomic_args *args)                                   \
    {                                                                                                                 \
        type_ in = 0, out = 0;                                                                                        \
                                                                                                                      \
        if (args->operand)                                                                                            \
            memcpy(&in, args->operand, sizeof(in));                                                                   \
        if (args->compare)                                                                                            \
            memcpy(&out, args->compare, sizeof(out));                                                                 \
        switch (args->op) {                                                                                           \
            UPDATE(PUT, tern_atomic_put)                                                                              \
            UPDATE(ADD, tern_atomic_add)                                                                              \
            UPDATE(SUB, tern_atomic_sub)                                                                              \
            UPDATE(MULT, tern_atomic_mult)                                                                            \
            UPDATE(MIN, tern_atomic_min)                                                                              \
            UPDATE(MAX, tern_atomic_max)                                                                              \
            UPDATE(AND, tern_atomic_and)                                                                              \
            UPDATE(OR, tern_atomic_or)                                                                                \
            UPDATE(XOR, tern_atomic_xor)                                                                              \
            FETCH(GET, tern_atomic_get)                                                                               \
            FETCH(FINC, tern_atomic_finc)                                                                             \
            FETCH(FDEC, tern_atomic_fdec)                                                                             \
            BOTH(SWAP, tern_atomic_swap)                                                                              \
            BOTH(FADD, tern_atomic_fadd)                                                                              \
            BOTH(FSUB, tern_atomic_fsub)                                                                              \
            BOTH(FMULT, tern_atomic_fmult)                                                                            \
            BOTH(FMIN, tern_atomic_fmin)                                                                              \
            BOTH(FMAX, tern_atomic_fmax)                                                                              \
            BOTH(FAND, tern_atomic_fand)                                                                              \
            BOTH(FOR, tern_atomic_for)                                                                                \
            BOTH(FXOR, tern_atomic_fxor)                                                                              \
        case TERN_ATOMIC_INC: OK(tern_atomic_inc(w->ctx, w->domain, w->region, w->rank, w->offset)); break;           \
        case TERN_ATOMIC_DEC: OK(tern_atomic_dec(w->ctx, w->domain, w->region, w->rank, w->offset)); break;           \
        case TERN_ATOMIC_CAS: OK(tern_atomic_cas(w->ctx, w->domain, w->region, w->rank, w->offset, &out, in)); break; \
        default: job_fail(__FILE__, __LINE__, "the operation", "has no typed call");                                  \
        }                                                                                                             \
        if (args->result)                                                                                             \
            memcpy(args->result, &out, sizeof(out));                                                                  \
    }
TYPED(i8, int8_t)
TYPED(u8, uint8_t)
TYPED(i16, int16_t)
TYPED(u16, uint16_t)
TYPED(i32, int32_t)
TYPED(u32, uint32_t)
TYPED(i64, int64_t)
TYPED(u64, uint64_t)
TYPED(float, float)
TYPED(double, double)

typedef void typed_form(const struct where *w, const tern_atomic_args *args);

static void typed(const struct where *w, tern_type type, const tern_atomic_args *args)
{
    static typed_form *const of[] = {
        [TERN_INT32] = typed_i32,   [TERN_UINT32] = typed_u32,    [TERN_INT64] = typed_i64, [TERN_UINT64] = typed_u64,
        [TERN_FLOAT] = typed_float, [TERN_DOUBLE] = typed_double, [TERN_INT8] = typed_i8,   [TERN_UINT8] = typed_u8,
        [TERN_INT16] = typed_i16,   [TERN_UINT16] = typed_u16,
    };

    of[type](w, args);
}

/* The typed calls without a domain. The other operations have none, and take the call for all operations. */
#define WITHOUT(suffix, type_)                                                                        \
    static void without_##suffix(const struct where *w, const tern_atomic_args *args)                 \
    {                                                                                                 \
        type_ in = 0, out = 0;                                                                        \
                                                                                                      \
        if (args->operand)                                                                            \
            memcpy(&in, args->operand, sizeof(in));                                                   \
        if (args->compare)                                                                            \
            memcpy(&out, args->compare, sizeof(out));                                                 \
        switch (args->op) {                                                                           \
        case TERN_ATOMIC_FADD: OK(tern_fadd(w->ctx, w->region, w->rank, w->offset, in, &out)); break; \
        case TERN_ATOMIC_SWAP: OK(tern_swap(w->ctx, w->region, w->rank, w->offset, in, &out)); break; \
        case TERN_ATOMIC_CAS: OK(tern_cas(w->ctx, w->region, w->rank, w->offset, &out, in)); break;   \
        default: OK(tern_atomic(w->ctx, NULL, w->region, w->rank, w->offset, args)); return;          \
        }                                                                                             \
        memcpy(args->result, &out, sizeof(out));                                                      \
    }
WITHOUT(i8, int8_t)
WITHOUT(u8, uint8_t)
WITHOUT(i16, int16_t)
WITHOUT(u16, uint16_t)
WITHOUT(i32, int32_t)
WITHOUT(u32, uint32_t)
WITHOUT(i64, int64_t)
WITHOUT(u64, uint64_t)
WITHOUT(float, float)
WITHOUT(double, double)

static void without(const struct where *w, tern_type type, const tern_atomic_args *args)
{
    static typed_form *const of[] = {
        [TERN_INT32] = without_i32,  [TERN_UINT32] = without_u32,  [TERN_INT64] = without_i64,
        [TERN_UINT64] = without_u64, [TERN_FLOAT] = without_float, [TERN_DOUBLE] = without_double,
        [TERN_INT8] = without_i8,    [TERN_UINT8] = without_u8,    [TERN_INT16] = without_i16,
        [TERN_UINT16] = without_u16,
    };

    of[type](w, args);
}

/* The same operations with an event, for all of which the description gives the type. */
static void without_event(const struct where *w, tern_type type, const tern_atomic_args *args)
{
    tern_event event;

    (void)type;
    OK(tern_atomic_nb(w->ctx, NULL, w->region, w->rank, w->offset, args, &event));
    OK(tern_event_wait(&event, TERN_FOREVER));
}

static form *const forms[] = { blocking, with_event, until_quiet, immediate, typed, without, without_event };
#define FORMS (sizeof(forms) / sizeof(forms[0]))

/* ---- one operation against the model ---- */

static void one(const struct where *w, tern_type type, tern_atomic_op op, unsigned f, unsigned n)
{
    union value is = make(type, i_is[n], f_is[n]), in = make(type, i_in[n], f_in[n]), eq = make(type, i_eq[n], f_eq[n]);
    union value want = model(type, op, is, in, eq), was = { .u64 = 0x5555555555555555 }, now = { .u64 = 0 };
    unsigned char around[SPAN], after[SPAN];
    bool          fetches = op & TERN_ATOMIC_FETCHING;
    bool bare = op & (TERN_ATOMIC_GET | TERN_ATOMIC_INC | TERN_ATOMIC_DEC | TERN_ATOMIC_FINC | TERN_ATOMIC_FDEC);

    const tern_atomic_args args =
        TERN_ATOMIC_ARGS(.op = op, .type = type, .operand = bare ? NULL : &in,
                         .compare = op == TERN_ATOMIC_CAS ? &eq : NULL, .result = fetches ? &was : NULL);

    memset(around, 0xc3, sizeof(around));
    memcpy(around + AT, &is, size_of(type));
    OK(tern_put(w->ctx, w->region, w->rank, w->offset - AT, around, SPAN));
    forms[f](w, type, &args);
    OK(tern_get(w->ctx, w->region, w->rank, w->offset - AT, after, SPAN));
    memcpy(&now, after + AT, size_of(type));
    if (!is_same(type, now, want) || (fetches && memcmp(&was, &is, size_of(type)) != 0)) {
        fprintf(stderr, "type %d op 0x%x form %u case %u: now %llx, want %llx, was %llx, is %llx\n", (int)type,
                (unsigned)op, f, n, (unsigned long long)now.u64, (unsigned long long)want.u64,
                (unsigned long long)was.u64, (unsigned long long)is.u64);
        job_fail(__FILE__, __LINE__, "the value or the result", "is not what the model says");
    }
    memcpy(after + AT, around + AT, size_of(type));
    CHECK(memcmp(around, after, SPAN) == 0);
}

/* Every typed call of every type but that of the domain is refused, and changes nothing. */
#define REFUSED(type_, NAME)                                                                                  \
    if (type != NAME) {                                                                                       \
        type_ value = 1;                                                                                      \
                                                                                                              \
        REFUSES(TERN_ERR_ARG, tern_atomic_put(w->ctx, w->domain, w->region, w->rank, w->offset, value));      \
        REFUSES(TERN_ERR_ARG, tern_atomic_add(w->ctx, w->domain, w->region, w->rank, w->offset, value));      \
        REFUSES(TERN_ERR_ARG, tern_atomic_get(w->ctx, w->domain, w->region, w->rank, w->offset, &value));     \
        REFUSES(TERN_ERR_ARG, tern_atomic_fadd(w->ctx, w->domain, w->region, w->rank, w->offset, 1, &value)); \
        REFUSES(TERN_ERR_ARG, tern_atomic_cas(w->ctx, w->domain, w->region, w->rank, w->offset, &value, 1));  \
        CHECK(value == 1);                                                                                    \
    }

static void other_types(const struct where *w, tern_type type)
{
    unsigned char before[SPAN], after[SPAN];

    OK(tern_get(w->ctx, w->region, w->rank, w->offset - AT, before, SPAN));
    REFUSED(int8_t, TERN_INT8)
    REFUSED(uint8_t, TERN_UINT8)
    REFUSED(int16_t, TERN_INT16)
    REFUSED(uint16_t, TERN_UINT16)
    REFUSED(int32_t, TERN_INT32)
    REFUSED(uint32_t, TERN_UINT32)
    REFUSED(int64_t, TERN_INT64)
    REFUSED(uint64_t, TERN_UINT64)
    REFUSED(float, TERN_FLOAT)
    REFUSED(double, TERN_DOUBLE)
    OK(tern_get(w->ctx, w->region, w->rank, w->offset - AT, after, SPAN));
    CHECK(memcmp(before, after, SPAN) == 0);
}

static void all_of(struct where *w, tern_type type, unsigned salt)
{
    uint32_t ops = type == TERN_FLOAT || type == TERN_DOUBLE ? TERN_ATOMIC_ARITHMETIC : TERN_ATOMIC_ALL;

    OK(tern_atomic_domain_create(TERN_WORLD, type, ops,
                                 getenv("TERN_OFI_ATOMICS") ? 0 : TERN_ATOMIC_LOADS | TERN_ATOMIC_STORES, &w->domain));
    for (unsigned bit = 0; bit < TERN_ATOMIC_OPS; bit++)
        for (unsigned n = 0; n < CASES && (ops & 1u << bit); n++)
            for (unsigned f = 0; f < FORMS; f++)
                if ((n + f + bit + salt) % (JOB_SANITIZED ? 8 : 3) == 0) /* not with every value every time */
                    one(w, type, (tern_atomic_op)(1u << bit), f, n);
    other_types(w, type);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_atomic_domain_free(w->domain));
}

int main(void)
{
    struct job_region r;
    struct where      w;
    tern_ctx         *strict;

    OK(tern_init());
    OK(tern_ctx_create(tern_team_world(), TERN_STRICT, &strict));
    for (enum job_kind kind = JOB_HOST; kind <= JOB_REGISTERED; kind += JOB_REGISTERED - JOB_HOST) {
        job_region_make(&r, kind, (uint64_t)tern_size() * SPAN);
        w = (struct where){ .region = r.region, .offset = (uint64_t)tern_rank() * SPAN + AT };
        for (unsigned turn = 0; turn < 3; turn++) {
            w.ctx = turn == 1 ? strict : TERN_WORLD;
            w.rank = (tern_rank() + (int)turn) % tern_size();
            for (unsigned type = 0; type < TERN_TYPES; type++)
                if (type != TERN_COMPLEX_FLOAT && type != TERN_COMPLEX_DOUBLE)
                    all_of(&w, (tern_type)type, turn);
        }
        job_region_drop(&r);
    }
    OK(tern_ctx_free(strict));
    OK(tern_finalize());
    return 0;
}
