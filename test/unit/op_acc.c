/* op_acc.c: accumulate and mutex requests at their target, and the arithmetic.
 *
 * Promise: the target applies the operands where the description says, by the reduction of the request and, for a sum,
 * times the scale, and returns the old values if they are wanted; elements that are cut or misaligned, unknown
 * reductions, reductions that the type does not have, and other malformed requests, are refused, and nothing outside
 * the memory is touched, whatever the bytes are. A complex factor of 1 preserves infinities.
 *
 * builds: release debug asan
 */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/simd.h"
#include "acc_test.h"
#include "op/atomic/acc.h"
#include "op/atomic/mutex.h"
#include "serve_world.h"

#define BYTES 4096u

static unsigned char *memory; /* [BYTES] exactly, so that a sanitizer sees an access past the end */

static int open_memory(void **state)
{
    void *place = NULL;

    (void)state;
    serve_world_open();
    if (posix_memalign(&place, 64, BYTES) != 0)
        return -1;
    memory = place;
    return 0;
}

static int close_memory(void **state)
{
    (void)state;
    free(memory);
    serve_world_close();
    return 0;
}

static tern_status serve(const unsigned char *request, size_t len, unsigned char *answer, size_t space,
                         size_t *answered)
{
    struct tern_target_mem ground = { .base = memory, .size = BYTES };
    unsigned char         *copy = malloc(len > 0 ? len : 1); /* of exactly its size */
    tern_status            st;

    memcpy(copy, request, len);
    st = tern_op_rpc_serve(&ground, copy, len, answer, space, answered);
    free(copy);
    return st;
}

/* Write a request that applies an operation to two doubles, one extent each. Returns its length. */
static size_t two_numbers(unsigned char *bytes, const struct tern_acc_op *op, uint64_t second)
{
    const struct wire_request w = { .verb = WIRE_PUT, .kind = TERN_LAYOUT_VECTOR, .count = 2, .len = 16 };
    const uint64_t            list[4] = { 8, 8, second, 8 };
    const double              operands[2] = { 3, 5 };
    const struct wire_acc     head = { .verb = WIRE_ACC, .sum = *op };
    size_t                    payload = sizeof(head) + wire_payload_at(sizeof(list));

    memset(bytes, 0, payload);
    memcpy(bytes, &head, sizeof(head));
    memcpy(bytes + sizeof(head), &w, sizeof(w));
    memcpy(bytes + sizeof(head) + sizeof(w), list, sizeof(list));
    memcpy(bytes + payload, operands, sizeof(operands));
    return payload + sizeof(operands);
}

static size_t two_doubles(unsigned char *bytes, double scale, bool fetch, uint64_t second)
{
    struct tern_acc_op op;

    tern_op_acc_op_make(&op, &TERN_ACC_ARGS(.type = TERN_DOUBLE, .factor = &scale), fetch);
    return two_numbers(bytes, &op, second);
}

static void adds(void **state)
{
    unsigned char bytes[512], answer[16];
    double       *numbers = (double *)(void *)memory, old[2];
    size_t        answered = 77, len = two_doubles(bytes, 2, false, 32);

    (void)state;
    for (size_t i = 0; i < BYTES / 8; i++)
        numbers[i] = (double)i;
    assert_int_equal(serve(bytes, len, NULL, 0, &answered), TERN_OK);
    assert_int_equal(answered, 0);
    assert_true(numbers[1] == 7 && numbers[4] == 14 && numbers[0] == 0 && numbers[2] == 2);
    len = two_doubles(bytes, 1, true, 32);
    assert_int_equal(serve(bytes, len, answer, sizeof(answer), &answered), TERN_OK);
    assert_int_equal(answered, 16);
    memcpy(old, answer, sizeof(old));
    assert_true(old[0] == 7 && old[1] == 14 && numbers[1] == 10 && numbers[4] == 19);
}

/* Promise: an addition for a peer rounds to nearest, whatever the rounding mode of the adding thread, and that thread
 * keeps its mode. */
static void rounds_to_nearest(void **state)
{
    (void)state;
#ifdef __SSE2__
    unsigned char  bytes[512];
    double        *numbers = (double *)(void *)memory;
    const unsigned before = __builtin_ia32_stmxcsr(), upward = before | 0x4000, flush = before | 0x8040;
    size_t         answered, len = two_doubles(bytes, 1e-17, false, 32);

    numbers[1] = numbers[4] = 1;
    __builtin_ia32_ldmxcsr(upward);
    assert_int_equal(serve(bytes, len, NULL, 0, &answered), TERN_OK);
    assert_int_equal(__builtin_ia32_stmxcsr() & 0xffc0, upward & 0xffc0);
    __builtin_ia32_ldmxcsr(before);
    assert_true(numbers[1] == 1 && numbers[4] == 1);
    len = two_doubles(bytes, 0x1p-1070, false, 32);
    numbers[1] = numbers[4] = 0;
    __builtin_ia32_ldmxcsr(flush);
    assert_int_equal(serve(bytes, len, NULL, 0, &answered), TERN_OK);
    assert_int_equal(__builtin_ia32_stmxcsr() & 0xffc0, flush & 0xffc0);
    __builtin_ia32_ldmxcsr(before);
    assert_true(numbers[1] == 3 * 0x1p-1070 && numbers[4] == 5 * 0x1p-1070);
#endif
}

static void refuses(void **state)
{
    static const uint64_t astray[] = { 12, BYTES, BYTES - 4, UINT64_MAX - 7 };
    unsigned char         bytes[512], answer[16];
    size_t                answered, len;

    (void)state;
    for (size_t i = 0; i < sizeof(astray) / sizeof(astray[0]); i++) {
        len = two_doubles(bytes, 1, false, astray[i]);
        assert_int_equal(serve(bytes, len, NULL, 0, &answered), TERN_ERR_LINK);
    }
    len = two_doubles(bytes, 1, true, 32);
    assert_int_equal(serve(bytes, len, answer, 15, &answered), TERN_ERR_LINK); /* no space for the old values */
    for (size_t n = 0; n < len; n++)
        assert_int_equal(serve(bytes, n, answer, sizeof(answer), &answered), TERN_ERR_LINK);
}

/* Every number in the bytes that name reduction, type, fetch and plain: only what a valid call sends is accepted, and a
 * request that is refused changes nothing. */
static void refuses_operations(void **state)
{
    unsigned char bytes[512], answer[16];
    size_t        answered;

    (void)state;
    for (unsigned type = 0; type <= 255; type += type < TERN_TYPES + 1 ? 1 : 61)
        for (unsigned reduction = 0; reduction <= 255; reduction++)
            for (unsigned i = 0; i < 9; i++) {
                const struct tern_acc_op op = { .type = (uint8_t)type,
                                                .reduction = (uint8_t)reduction,
                                                .fetch = (uint8_t)(i % 3),
                                                .plain = (uint8_t)(i / 3) };
                bool valid = type < TERN_TYPES && reduction < TERN_REDUCTIONS && op.fetch < 2 && op.plain < 2 &&
                             acc_has((tern_reduction)reduction, (tern_type)type) && (op.plain || reduction == TERN_SUM);
                size_t      len = two_numbers(bytes, &op, 32);
                tern_status st;

                if (type == TERN_COMPLEX_DOUBLE)
                    continue; /* cuts an element */
                memset(memory, 0, BYTES);
                st = serve(bytes, len, answer, sizeof(answer), &answered);
                assert_int_equal(st, valid ? TERN_OK : TERN_ERR_LINK);
                for (size_t at = 0; !valid && at < BYTES; at++)
                    assert_int_equal(memory[at], 0);
            }
}

/* The target applies each reduction of doubles and returns the old values. */
static void reduces(void **state)
{
    static const struct {
        tern_reduction op;
        double         first, second; /* from 4 with 3 and from 4 with 5 */
    } want[] = {
        { TERN_SUM, 7, 9 }, { TERN_PROD, 12, 20 }, { TERN_MIN, 3, 4 }, { TERN_MAX, 4, 5 }, { TERN_REPLACE, 3, 5 }
    };
    unsigned char bytes[512], answer[16];
    double       *numbers = (double *)(void *)memory, old[2];
    size_t        answered;

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(want) / sizeof(want[0]); i++) {
        struct tern_acc_op op;
        size_t             len;

        tern_op_acc_op_make(&op, &TERN_ACC_ARGS(.type = TERN_DOUBLE, .op = want[i / 2].op), i % 2);
        len = two_numbers(bytes, &op, 32);
        numbers[1] = numbers[4] = 4;
        assert_int_equal(serve(bytes, len, answer, sizeof(answer), &answered), TERN_OK);
        assert_int_equal(answered, i % 2 ? 16 : 0);
        assert_true(numbers[1] == want[i / 2].first && numbers[4] == want[i / 2].second);
        memcpy(old, answer, sizeof(old));
        assert_true(i % 2 == 0 || (old[0] == 4 && old[1] == 4));
    }
}

/* Random changes of valid requests: each gets a response and does no harm. */
static void damaged(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        unsigned char      bytes[512], answer[64];
        struct tern_acc_op op;
        size_t             answered, len;
        struct wire_mutex  w = { .verb = WIRE_MUTEX,
                                 .step = (uint8_t)(job_random(&seed) % TERN_MUTEX_STEPS),
                                 .log = 3,
                                 .ticket = (uint32_t)job_random(&seed),
                                 .name = tern_base_qlock_id((unsigned)(job_random(&seed) % SERVE_RANKS), 1) };
        tern_status        st;

        tern_op_acc_op_make(&op, &TERN_ACC_ARGS(.type = TERN_UINT64, .op = (tern_reduction)(i / 2 % TERN_REDUCTIONS)),
                            i % 2);
        len = two_numbers(bytes, &op, 32);
        if (i % 3 == 0) {
            memcpy(bytes, &w, sizeof(w));
            len = sizeof(w);
        }
        for (uint64_t n = job_random(&seed) % 3; n > 0; n--) {
            size_t at = job_random(&seed) % len;

            bytes[at] =
                (unsigned char)(job_random(&seed) % 2 ? job_random(&seed) : bytes[at] ^ 1u << job_random(&seed) % 8);
        }
        st = serve(bytes, len, answer, job_random(&seed) % (sizeof(answer) + 1), &answered);
        assert_true(st == TERN_OK || st == TERN_ERR_LINK);
        assert_true(answered <= sizeof(answer));
    }
}

static void mutex_steps(void **state)
{
    struct wire_mutex          w = { .verb = WIRE_MUTEX, .step = TERN_MUTEX_ACQUIRE, .log = 3, .offset = 256 };
    struct wire_mutex_response a;
    size_t                     answered;

    (void)state;
    memset(memory, 0, BYTES);
    for (unsigned rank = 1; rank <= 2; rank++) {
        w.name = tern_base_qlock_id(rank, 0);
        assert_int_equal(serve((unsigned char *)&w, sizeof(w), (unsigned char *)&a, sizeof(a), &answered), TERN_OK);
        assert_int_equal(answered, sizeof(a));
        assert_int_equal(a.state, rank == 1 ? TERN_QLOCK_ACQUIRED : TERN_QLOCK_WAITING);
        assert_int_equal(a.holder, 2);
    }
    w.step = TERN_MUTEX_RELEASE;
    assert_int_equal(serve((unsigned char *)&w, sizeof(w), (unsigned char *)&a, sizeof(a), &answered), TERN_OK);
    assert_int_equal(a.state, TERN_QLOCK_NOT_OWNER);
    memset(memory, 0, BYTES); /* free, and requested by a rank that is dead when its request is read */
    w.step = TERN_MUTEX_ACQUIRE;
    w.name = tern_base_qlock_id(3, 0);
    tern_job.lost[3] = true;
    assert_int_equal(serve((unsigned char *)&w, sizeof(w), (unsigned char *)&a, sizeof(a), &answered), TERN_ERR_PEER);
    assert_int_equal(tern_base_qlock_holder((struct tern_qlock *)(void *)(memory + w.offset)), 0);
    tern_job.lost[3] = false;
    w.offset = 257;
    assert_int_equal(serve((unsigned char *)&w, sizeof(w), (unsigned char *)&a, sizeof(a), &answered), TERN_ERR_LINK);
    w.offset = BYTES - 64;
    assert_int_equal(serve((unsigned char *)&w, sizeof(w), (unsigned char *)&a, sizeof(a), &answered), TERN_ERR_LINK);
}

static void ones(void **state)
{
    const double       one[2] = { 1, 0 };
    double             to[2] = { 1, 2 }, from[2] = { INFINITY, 3 };
    struct tern_acc_op sum;

    (void)state;
    for (int i = 0; i < 2; i++) {
        tern_op_acc_op_make(&sum, &TERN_ACC_ARGS(.type = TERN_COMPLEX_DOUBLE, .factor = i == 0 ? NULL : one), i == 1);
        assert_true(sum.plain);
        tern_op_acc_kernel(&sum, false)((unsigned char *)to, (unsigned char *)from, sizeof(to), sum.scale);
        assert_true(to[0] == INFINITY && to[1] == 5 + 3 * i);
    }
    assert_true(from[0] == INFINITY && from[1] == 5);
}

/* ---- the loops ---- */

#define NUMBERS 20 /* longest run of elements */

/* Combine the number at a with the operand at b, by the rules of tern/acc.h. */
#define COMBINE(number, word)                                                                 \
    static void combine_##number(tern_reduction op, unsigned char *a, const unsigned char *b) \
    {                                                                                         \
        number x, y;                                                                          \
                                                                                              \
        memcpy(&x, a, sizeof(x));                                                             \
        memcpy(&y, b, sizeof(y));                                                             \
        switch (op) {                                                                         \
        case TERN_SUM: x = (number)((word)x + (word)y); break;                                \
        case TERN_PROD: x = (number)((word)x * (word)y); break;                               \
        case TERN_MIN: memcpy(&x, y < x ? b : a, sizeof(x)); break;                           \
        case TERN_MAX: memcpy(&x, y > x ? b : a, sizeof(x)); break;                           \
        default: memcpy(&x, b, sizeof(x)); /* replace */                                      \
        }                                                                                     \
        memcpy(a, &x, sizeof(x));                                                             \
    }
COMBINE(int8_t, uint32_t)
COMBINE(uint8_t, uint32_t)
COMBINE(int16_t, uint32_t)
COMBINE(uint16_t, uint32_t)
COMBINE(int32_t, uint32_t)
COMBINE(uint32_t, uint32_t)
COMBINE(int64_t, uint64_t)
COMBINE(uint64_t, uint64_t)
COMBINE(float, float)
COMBINE(double, double)

static void combine_complex(tern_type type, tern_reduction op, unsigned char *a, const unsigned char *b)
{
    volatile double x[2], y[2];
    float           f[2];
    double          d[2];

    if (op != TERN_PROD) {
        for (size_t part = 0, bytes = acc_bytes(type) / 2; part < 2; part++)
            (type == TERN_COMPLEX_FLOAT ? combine_float : combine_double)(op, a + part * bytes, b + part * bytes);
    } else if (type == TERN_COMPLEX_FLOAT) {
        memcpy(f, a, sizeof(f));
        x[0] = f[0], x[1] = f[1];
        memcpy(f, b, sizeof(f));
        y[0] = f[0], y[1] = f[1];
        f[0] = (float)(x[0] * y[0]) - (float)(x[1] * y[1]); /* a product of floats is exact in double: rounded once */
        f[1] = (float)(x[0] * y[1]) + (float)(x[1] * y[0]);
        memcpy(a, f, sizeof(f));
    } else {
        memcpy(d, a, sizeof(d));
        x[0] = d[0], x[1] = d[1];
        memcpy(d, b, sizeof(d));
        y[0] = d[0], y[1] = d[1];
        volatile double p[4] = { x[0] * y[0], x[1] * y[1], x[0] * y[1], x[1] * y[0] };
        d[0] = p[0] - p[1];
        d[1] = p[2] + p[3];
        memcpy(a, d, sizeof(d));
    }
}

static void combine(tern_type type, tern_reduction op, unsigned char *a, const unsigned char *b)
{
    if (op >= TERN_AND && op <= TERN_XOR) {
        for (size_t i = 0; i < acc_bytes(type); i++)
            a[i] = (unsigned char)(op == TERN_AND ? a[i] & b[i] : op == TERN_OR ? a[i] | b[i] : a[i] ^ b[i]);
        return;
    }
    switch (type) {
    case TERN_INT8: combine_int8_t(op, a, b); break;
    case TERN_UINT8: combine_uint8_t(op, a, b); break;
    case TERN_INT16: combine_int16_t(op, a, b); break;
    case TERN_UINT16: combine_uint16_t(op, a, b); break;
    case TERN_INT32: combine_int32_t(op, a, b); break;
    case TERN_UINT32: combine_uint32_t(op, a, b); break;
    case TERN_INT64: combine_int64_t(op, a, b); break;
    case TERN_UINT64: combine_uint64_t(op, a, b); break;
    case TERN_FLOAT: combine_float(op, a, b); break;
    case TERN_DOUBLE: combine_double(op, a, b); break;
    default: combine_complex(type, op, a, b);
    }
}

/* Random bytes. A sum or product of a NaN may have any bits, so there are none; for other reductions there are. */
static void fill(unsigned char *bytes, size_t len, tern_reduction op, tern_type type, unsigned *seed)
{
    bool arithmetic = op == TERN_SUM || op == TERN_PROD;

    for (size_t i = 0; i < len; i++)
        bytes[i] = (unsigned char)(rand_r(seed) % (arithmetic ? 0x70 : 0x100));
    for (size_t i = 0; !arithmetic && i + 16 <= len; i += 16) {
        int32_t special = rand_r(seed) % 8; /* some NaNs, infinities, zeros and negative zeros */
        double  d[4] = { NAN, -INFINITY, 0.0, -0.0 };
        float   f[4] = { NAN, -INFINITY, 0.0f, -0.0f };

        if (special < 4 && type == TERN_FLOAT)
            memcpy(bytes + i, &f[special], sizeof(f[0]));
        if (special < 4 && type == TERN_DOUBLE)
            memcpy(bytes + i, &d[special], sizeof(d[0]));
    }
}

/* The loops of every reduction and type, for baseline and for wide vectors, give the same bits as a combination of
 * single elements, for every length and alignment of the operands. */
static void loops(void **state)
{
    unsigned char to[NUMBERS * 16], from[NUMBERS * 16 + 8] = { 0 }, want[NUMBERS * 16], operands[NUMBERS * 16 + 8];
    unsigned      seed = 7;

    (void)state;
    for (unsigned i = 0; i < TERN_REDUCTIONS * TERN_TYPES * 4 * (NUMBERS + 1) * 5; i++) {
        tern_reduction     op = (tern_reduction)(i % TERN_REDUCTIONS);
        tern_type          type = (tern_type)(i / TERN_REDUCTIONS % TERN_TYPES);
        unsigned           how = i / (TERN_REDUCTIONS * TERN_TYPES), shift = how % 5;
        size_t             element = tern_acc_op_bytes(type), bytes = element * (how / 4 % (NUMBERS + 1));
        bool               fetch = how % 2, is_wide = how / 2 % 2 && tern_base_simd_wide();
        struct tern_acc_op sum;

        assert_int_equal(tern_op_acc_has(op, type), acc_has(op, type));
        if (!acc_has(op, type))
            continue;
        tern_op_acc_op_make(&sum, &TERN_ACC_ARGS(.type = type, .op = op), fetch);
        assert_true(tern_op_acc_op_valid(&sum));
        fill(to, sizeof(to), op, type, &seed);
        fill(from + shift, sizeof(from) - 8, op, type, &seed);
        memcpy(want, to, sizeof(to));
        memcpy(operands, from, sizeof(from));
        for (size_t at = 0; at < bytes; at += element) {
            combine(type, op, want + at, from + shift + at);
            memcpy(operands + shift + at, (fetch ? to : from + shift) + at, element);
        }
        tern_op_acc_kernel(&sum, is_wide)(to, from + shift, bytes, sum.scale);
        assert_memory_equal(to, want, sizeof(to));
        assert_memory_equal(from, operands, sizeof(from));
    }
}

/* The same bits for wide vectors as without them, for sums with a scale. */
static void wide(void **state)
{
    const double  factor[2] = { 1.1, -0.7 };
    unsigned char to[2][NUMBERS * 16], from[2][NUMBERS * 16 + 8];
    unsigned      seed = 5;

    (void)state;
    if (!tern_base_simd_wide())
        skip();
    for (unsigned i = 0; i < TERN_TYPES * 4 * 20 * 3; i++) {
        struct tern_acc_op sum;
        size_t             element = tern_acc_op_bytes(i % TERN_TYPES), bytes = element * (i / TERN_TYPES / 4 % 20);

        tern_op_acc_op_make(
            &sum, &TERN_ACC_ARGS(.type = (tern_type)(i % TERN_TYPES), .factor = i / TERN_TYPES % 2 ? factor : NULL),
            i / TERN_TYPES / 2 % 2);
        fill(to[0], sizeof(to[0]), TERN_SUM, (tern_type)(i % TERN_TYPES), &seed);
        fill(from[0], sizeof(from[0]), TERN_SUM, (tern_type)(i % TERN_TYPES), &seed);
        memcpy(to[1], to[0], sizeof(to[0]));
        memcpy(from[1], from[0], sizeof(from[0]));
        for (int w = 0; w < 2; w++)
            tern_op_acc_kernel(&sum, w == 1)(to[w], from[w] + i % 3, bytes, sum.scale);
        assert_memory_equal(to[0], to[1], sizeof(to[0]));
        assert_memory_equal(from[0], from[1], sizeof(from[0]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds),    cmocka_unit_test(rounds_to_nearest),
        cmocka_unit_test(refuses), cmocka_unit_test(damaged),
        cmocka_unit_test(ones),    cmocka_unit_test(mutex_steps),
        cmocka_unit_test(wide),    cmocka_unit_test(reduces),
        cmocka_unit_test(loops),   cmocka_unit_test(refuses_operations),
    };

    return cmocka_run_group_tests(tests, open_memory, close_memory);
}
