/* header-uses.c: a translation unit that uses every inlined function, every generic call and every initializer of the
 * headers, in C99, C11 and later, and in C++11 and later. scripts/check-headers compiles it with many options, and
 * checks that no call is missing. Nothing runs it.
 */
#include <tern.h>

tern_status uses_functions(tern_ctx *ctx, tern_region *region, tern_atomic_domain *domain, void *memory);
tern_status uses_values(tern_ctx *ctx, tern_region *region);
tern_status uses_initializers(tern_ctx *ctx, tern_region *region, void *memory);

#define USE(call)      \
    do {               \
        st = (call);   \
        if (st < 0)    \
            return st; \
    } while (0)

tern_status uses_functions(tern_ctx *ctx, tern_region *region, tern_atomic_domain *domain, void *memory)
{
    tern_status      st;
    tern_event       event = TERN_EVENT_INIT;
    tern_vector      vector = TERN_VECTOR_INIT;
    tern_indexed     indexed = TERN_INDEXED_INIT;
    tern_strided     strided = TERN_STRIDED_INIT;
    tern_atomic_args args = TERN_ATOMIC_ARGS_INIT;
    uint8_t          u8 = 0;
    uint16_t         u16 = 0;
    uint32_t         u32[2] = { 0, 0 };
    uint64_t         u64 = 0;

    USE(tern_ctx_create(tern_team_world(), TERN_STRICT | TERN_SHARED, &ctx));
    USE(tern_quiet_nb(ctx, &event));
    USE(tern_event_peek(&event));
    USE(tern_put(ctx, region, 0, 0, memory, 8));
    USE(tern_put(ctx, region, 0, 0, memory, 24));
    USE(tern_put(ctx, region, 0, 0, memory, 48));
    USE(tern_put(ctx, region, 0, 0, memory, (size_t)u64));
    USE(tern_get(ctx, region, 0, 0, memory, 8));
    USE(tern_get(ctx, region, 0, 0, memory, 24));
    USE(tern_get(ctx, region, 0, 0, memory, 48));
    USE(tern_get(ctx, region, 0, 0, memory, (size_t)u64));
    USE(tern_put_nb(ctx, region, 0, 0, memory, 8, &event));
    USE(tern_get_nb(ctx, region, 0, 0, memory, 8, &event));
    USE(tern_put_nbi(ctx, region, 0, 0, memory, 8));
    USE(tern_get_nbi(ctx, region, 0, 0, memory, 8));
    USE(tern_put_u8(ctx, region, 0, 0, u8));
    USE(tern_get_u8(ctx, region, 0, 0, &u8));
    USE(tern_put_u16(ctx, region, 0, 0, u16));
    USE(tern_get_u16(ctx, region, 0, 0, &u16));
    USE(tern_put_u32(ctx, region, 0, 0, u32[0]));
    USE(tern_get_u32(ctx, region, 0, 0, &u32[0]));
    USE(tern_put_u64(ctx, region, 0, 0, u64));
    USE(tern_get_u64(ctx, region, 0, 0, &u64));
    USE(tern_put_vector_nb(ctx, region, 0, &vector, &event));
    USE(tern_get_vector_nb(ctx, region, 0, &vector, &event));
    USE(tern_put_vector_nbi(ctx, region, 0, &vector));
    USE(tern_get_vector_nbi(ctx, region, 0, &vector));
    USE(tern_put_indexed_nb(ctx, region, 0, &indexed, &event));
    USE(tern_get_indexed_nb(ctx, region, 0, &indexed, &event));
    USE(tern_put_indexed_nbi(ctx, region, 0, &indexed));
    USE(tern_get_indexed_nbi(ctx, region, 0, &indexed));
    USE(tern_put_strided_nb(ctx, region, 0, &strided, &event));
    USE(tern_get_strided_nb(ctx, region, 0, &strided, &event));
    USE(tern_put_strided_nbi(ctx, region, 0, &strided));
    USE(tern_get_strided_nbi(ctx, region, 0, &strided));
    USE(tern_atomic_nb(ctx, domain, region, 0, 0, &args, &event));
    USE(tern_atomic_nbi(ctx, domain, region, 0, 0, &args));
    USE(tern_put_notify_nb(ctx, region, 0, 0, memory, 8, 1, &event));
    USE(tern_get_notify_nb(ctx, region, 0, 0, memory, 8, 1, &event));
    USE(tern_get_notify_nbi(ctx, region, 0, 0, memory, 8, 1));
    USE(tern_event_test(&event));
    return tern_am_u64(u32) == 0 ? TERN_OK : TERN_PENDING;
}

#if defined(__cplusplus) || __STDC_VERSION__ >= 201112L

#define VALUE(type)                                     \
    do {                                                \
        type value = (type)1;                           \
                                                        \
        USE(tern_put_value(ctx, region, 0, 0, value));  \
        USE(tern_get_value(ctx, region, 0, 0, &value)); \
    } while (0)

/* A function for each type: the operations of every type, and those of integers. */
#define NUMBER(name, type)                                                                          \
    tern_status uses_number_##name(tern_ctx *ctx, tern_region *region, tern_atomic_domain *domain); \
    tern_status uses_number_##name(tern_ctx *ctx, tern_region *region, tern_atomic_domain *domain)  \
    {                                                                                               \
        tern_status st;                                                                             \
        type        one = (type)1, before, expected = (type)0;                                      \
                                                                                                    \
        USE(tern_atomic_put(ctx, domain, region, 0, 0, one));                                       \
        USE(tern_atomic_add(ctx, domain, region, 0, 0, one));                                       \
        USE(tern_atomic_sub(ctx, domain, region, 0, 0, one));                                       \
        USE(tern_atomic_inc(ctx, domain, region, 0, 0));                                            \
        USE(tern_atomic_dec(ctx, domain, region, 0, 0));                                            \
        USE(tern_atomic_mult(ctx, domain, region, 0, 0, one));                                      \
        USE(tern_atomic_min(ctx, domain, region, 0, 0, one));                                       \
        USE(tern_atomic_max(ctx, domain, region, 0, 0, one));                                       \
        USE(tern_atomic_get(ctx, domain, region, 0, 0, &before));                                   \
        USE(tern_atomic_finc(ctx, domain, region, 0, 0, &before));                                  \
        USE(tern_atomic_fdec(ctx, domain, region, 0, 0, &before));                                  \
        USE(tern_atomic_swap(ctx, domain, region, 0, 0, one, &before));                             \
        USE(tern_atomic_fadd(ctx, domain, region, 0, 0, one, &before));                             \
        USE(tern_atomic_fsub(ctx, domain, region, 0, 0, one, &before));                             \
        USE(tern_atomic_fmult(ctx, domain, region, 0, 0, one, &before));                            \
        USE(tern_atomic_fmin(ctx, domain, region, 0, 0, one, &before));                             \
        USE(tern_atomic_fmax(ctx, domain, region, 0, 0, one, &before));                             \
        USE(tern_atomic_cas(ctx, domain, region, 0, 0, &expected, one));                            \
        USE(tern_fadd(ctx, region, 0, 0, one, &before));                                            \
        USE(tern_fadd(ctx, region, 0, 0, 1, &before)); /* a constant is converted */                \
        USE(tern_swap(ctx, region, 0, 0, one, &before));                                            \
        return tern_cas(ctx, region, 0, 0, &expected, one);                                         \
    }

#define INTEGER(name, type)                                                                          \
    NUMBER(name, type)                                                                               \
    tern_status uses_integer_##name(tern_ctx *ctx, tern_region *region, tern_atomic_domain *domain); \
    tern_status uses_integer_##name(tern_ctx *ctx, tern_region *region, tern_atomic_domain *domain)  \
    {                                                                                                \
        tern_status st;                                                                              \
        type        bits = (type)1, old = (type)0;                                                   \
                                                                                                     \
        USE(tern_atomic_and(ctx, domain, region, 0, 0, bits));                                       \
        USE(tern_atomic_or(ctx, domain, region, 0, 0, bits));                                        \
        USE(tern_atomic_xor(ctx, domain, region, 0, 0, bits));                                       \
        USE(tern_atomic_fand(ctx, domain, region, 0, 0, bits, &old));                                \
        USE(tern_atomic_for(ctx, domain, region, 0, 0, bits, &old));                                 \
        return tern_atomic_fxor(ctx, domain, region, 0, 0, bits, &old);                              \
    }

INTEGER(i8, int8_t)
INTEGER(u8, uint8_t)
INTEGER(i16, int16_t)
INTEGER(u16, uint16_t)
INTEGER(plain, char)
INTEGER(i32, int32_t)
INTEGER(u32, uint32_t)
INTEGER(i64, int64_t)
INTEGER(u64, uint64_t)
NUMBER(float, float)
NUMBER(double, double)

tern_status uses_values(tern_ctx *ctx, tern_region *region)
{
    tern_status st;

    VALUE(char);
    VALUE(signed char);
    VALUE(unsigned char);
    VALUE(short);
    VALUE(unsigned short);
    VALUE(int);
    VALUE(unsigned int);
    VALUE(long);
    VALUE(unsigned long);
    VALUE(long long);
    VALUE(unsigned long long);
    VALUE(float);
    VALUE(double);
    VALUE(long double);
#ifdef __cplusplus
    VALUE(bool);
#else
    VALUE(_Bool);
    VALUE(float _Complex);
    VALUE(double _Complex);
#endif
    return TERN_OK;
}

#endif

tern_status uses_initializers(tern_ctx *ctx, tern_region *region, void *memory)
{
    tern_opts            opts = TERN_OPTS_INIT;
    tern_signal          signal = TERN_SIGNAL_INIT;
    tern_acc_args        acc = TERN_ACC_ARGS_INIT;
    tern_reduce_args        reduces = TERN_REDUCE_ARGS_INIT;
    tern_blocks        listed_blocks = TERN_BLOCKS_INIT;
    tern_alltoalls_args        every = TERN_ALLTOALLS_ARGS_INIT;
    tern_am              message = TERN_AM_INIT;
    tern_am_prepare_opts prepare = TERN_AM_PREPARE_OPTS_INIT;
    tern_region_opts     memory_opts = TERN_REGION_OPTS_INIT;
    tern_am_client_opts  client_opts = TERN_AM_CLIENT_OPTS_INIT;
    tern_idle            idle = TERN_IDLE_INIT;
    const int16_t        signed_word = 1;
    const uint8_t        unsigned_word = 1;
    tern_word            words[2] = { TERN_WORD(&signed_word, TERN_GE, -1), TERN_WORD(&unsigned_word, TERN_EQ, 1) };
    const uint32_t       args[] = { 1, TERN_AM_U64(UINT64_C(1) << 40) };

    opts.signal = &signal;
    opts.acc = &acc;
    message.args = args;
    message.nargs = 3;
    prepare.region = region;
    memory_opts.memory = TERN_MEMORY_HOST;
    (void)reduces, (void)listed_blocks, (void)every;
#ifndef __cplusplus
    opts = TERN_OPTS(.flags = TERN_NOTIFY, .tag = 7);
    idle = TERN_IDLE(.name = "a word", .nap_us = 50);
    signal = TERN_SIGNAL(.region = region, .value = 1, .bytes = 4);
    acc = TERN_ACC_ARGS(.type = TERN_DOUBLE);
    reduces = TERN_REDUCE_ARGS(.type = TERN_DOUBLE);
    listed_blocks = TERN_BLOCKS(.len = NULL);
    every = TERN_ALLTOALLS_ARGS(.elem = 1);
    message = TERN_AM(.kind = TERN_AM_SHORT);
    prepare = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM);
    client_opts = TERN_AM_CLIENT_OPTS(.name = "a library", .by_helper = 1);
    memory_opts = TERN_REGION_OPTS(.memory = TERN_MEMORY_HUGE, .reserve = 4096, .each = 1);
    tern_vector      vector = TERN_VECTOR(.local_count = 1);
    tern_indexed     indexed = TERN_INDEXED(.local_count = 1, .base = 4096);
    tern_strided     strided = TERN_STRIDED(.dims = 0);
    tern_atomic_args atomic = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_ADD);
    if (vector.size == 0 || indexed.size == 0 || strided.size == 0 || atomic.size == 0)
        return TERN_ERR_ARG;
#endif
    if (signal.size == 0 || acc.size == 0 || message.size == 0 || prepare.size == 0 || memory_opts.size == 0 ||
        client_opts.size == 0 ||
        idle.size == 0 || !words[0].is_signed || words[1].is_signed)
        return TERN_ERR_ARG;
    return tern_put_with(ctx, region, 0, 0, memory, 0, &opts);
}
