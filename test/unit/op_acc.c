/* op_acc.c: accumulate and mutex requests at their target, and the arithmetic.
 *
 * Promise: the target adds the summands where the description says, times the scale, and returns the old values if they
 * are wanted; elements that are cut or misaligned, and other malformed requests, are refused, and nothing outside the
 * memory is touched, whatever the bytes are. A complex factor of 1 preserves infinities.
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
#include "job_test.h"
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

static tern_status serve(const unsigned char *request, size_t len, unsigned char *answer, size_t room, size_t *answered)
{
    struct tern_target_mem ground = { .base = memory, .size = BYTES };
    unsigned char         *copy = malloc(len > 0 ? len : 1); /* of exactly its size */
    tern_status            st;

    memcpy(copy, request, len);
    st = tern_op_rpc_serve(&ground, copy, len, answer, room, answered);
    free(copy);
    return st;
}

/* Write a request for two doubles, one extent each. Returns its length. */
static size_t two_doubles(unsigned char *bytes, double scale, bool fetch, uint64_t second)
{
    const struct wire_request w = { .verb = WIRE_PUT, .kind = TERN_LAYOUT_VECTOR, .count = 2, .len = 16 };
    const uint64_t            list[4] = { 8, 8, second, 8 };
    const double              summands[2] = { 3, 5 };
    struct wire_acc           head = { .verb = WIRE_ACC };
    size_t                    payload = sizeof(head) + wire_payload_at(sizeof(list));

    tern_op_acc_op_make(&head.sum, TERN_DOUBLE, &scale, fetch);
    memset(bytes, 0, payload);
    memcpy(bytes, &head, sizeof(head));
    memcpy(bytes + sizeof(head), &w, sizeof(w));
    memcpy(bytes + sizeof(head) + sizeof(w), list, sizeof(list));
    memcpy(bytes + payload, summands, sizeof(summands));
    return payload + sizeof(summands);
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
    assert_int_equal(serve(bytes, len, answer, 15, &answered), TERN_ERR_LINK); /* no room for the old values */
    for (size_t n = 0; n < len; n++)
        assert_int_equal(serve(bytes, n, answer, sizeof(answer), &answered), TERN_ERR_LINK);
}

/* Random changes of valid requests: each gets a response and does no harm. */
static void damaged(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        unsigned char     bytes[512], answer[64];
        size_t            answered, len = two_doubles(bytes, 1, i % 2, 32);
        struct wire_mutex w = { .verb = WIRE_MUTEX,
                                .step = (uint8_t)(job_random(&seed) % TERN_MUTEX_STEPS),
                                .log = 3,
                                .ticket = (uint32_t)job_random(&seed),
                                .name = tern_base_qlock_id((unsigned)(job_random(&seed) % SERVE_RANKS), 1) };
        tern_status       st;

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
        tern_op_acc_op_make(&sum, TERN_COMPLEX_DOUBLE, i == 0 ? NULL : one, i == 1);
        assert_true(sum.plain);
        tern_op_acc_kernel(&sum, false)((unsigned char *)to, (unsigned char *)from, sizeof(to), sum.scale);
        assert_true(to[0] == INFINITY && to[1] == 5 + 3 * i);
    }
    assert_true(from[0] == INFINITY && from[1] == 5);
}

/* The loops for wide vectors give the same bits as the portable loops, for every length and alignment of the
 * summands. */
static void wide(void **state)
{
    const double  factor[2] = { 1.1, -0.7 };
    unsigned char to[2][320], from[2][328];
    unsigned      seed = 5;

    (void)state;
    if (!tern_base_simd_wide())
        skip();
    for (unsigned i = 0; i < TERN_TYPES * 4 * 20 * 3; i++) {
        struct tern_acc_op sum;
        size_t             element = tern_acc_op_bytes(i % TERN_TYPES), bytes = element * (i / TERN_TYPES / 4 % 20);

        tern_op_acc_op_make(&sum, (tern_type)(i % TERN_TYPES), i / TERN_TYPES % 2 ? factor : NULL,
                            i / TERN_TYPES / 2 % 2);
        for (size_t j = 0; j < sizeof(to[0]); j++)
            to[0][j] = (unsigned char)(rand_r(&seed) % 0x70); /* no NaN: the sign and the bits of one may differ */
        for (size_t j = 0; j < sizeof(from[0]); j++)
            from[0][j] = (unsigned char)(rand_r(&seed) % 0x70);
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
        cmocka_unit_test(wide),
    };

    return cmocka_run_group_tests(tests, open_memory, close_memory);
}
