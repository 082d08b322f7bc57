/* op_atomic_exec.c: atomic operations at the target of an RPC.
 *
 * Promise: a request performs its operation on the value that it names, and returns the old value; a request that names
 * an invalid operation for its type, or a value that is outside the memory, misaligned or missing, is refused; whatever
 * the bytes are, nothing but an aligned value of the memory changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job_test.h"
#include "op/atomic/exec.h"
#include "op/rpc_serve.h"
#include "serve_world.h"

#define BYTES 256u

static unsigned char *memory; /* [BYTES] exactly, so that a sanitizer sees an access past the end */

static int open_memory(void **state)
{
    (void)state;
    memory = calloc(1, BYTES);
    serve_world_open(); /* serving an operation wakes the rank's own sleepers */
    return memory ? 0 : -1;
}

static int close_memory(void **state)
{
    (void)state;
    free(memory);
    serve_world_close();
    return 0;
}

static tern_status serve(const struct wire_atomic *w, size_t len, unsigned char *answer, size_t space, size_t *answered)
{
    struct tern_target_mem ground = { .base = memory, .size = BYTES };
    unsigned char         *exact = malloc(len + 1);
    tern_status            st;

    assert_non_null(exact);
    memcpy(exact, w, len < sizeof(*w) ? len : sizeof(*w));
    st = tern_op_rpc_serve(&ground, exact, len, answer, space, answered);
    free(exact);
    return st;
}

static const struct wire_atomic good = {
    .verb = WIRE_ATOMIC, .type = TERN_UINT64, .op = TERN_ATOMIC_FADD, .offset = 16, .operand = 5
};

static void answers(void **state)
{
    struct wire_atomic w = good;
    uint64_t           was = 99, now;
    size_t             answered;

    (void)state;
    assert_int_equal(serve(&w, sizeof(w), (unsigned char *)&was, 8, &answered), TERN_OK);
    assert_true(answered == 8 && was == 0);
    assert_int_equal(serve(&w, sizeof(w), (unsigned char *)&was, 8, &answered), TERN_OK);
    assert_true(answered == 8 && was == 5);
    w.op = TERN_ATOMIC_ADD;
    assert_int_equal(serve(&w, sizeof(w), NULL, 0, &answered), TERN_OK); /* the initiator does not want the old value */
    assert_true(answered == 0);
    memcpy(&now, memory + 16, 8);
    assert_true(now == 15);
    w.offset = BYTES - 8;
    assert_int_equal(serve(&w, sizeof(w), NULL, 0, &answered), TERN_OK);
}

static void refused(void **state)
{
    struct wire_atomic bad[16];
    unsigned char      before[BYTES], answer[8];
    unsigned           n = 0;
    size_t             answered;

    (void)state;
    for (unsigned i = 0; i < 16; i++)
        bad[i] = good;
    bad[n++].type = TERN_TYPES;
    bad[n++].type = TERN_COMPLEX_FLOAT;
    bad[n].type = TERN_UINT16;
    bad[n++].offset = 17;
    bad[n].type = TERN_INT8;
    bad[n++].offset = BYTES;
    bad[n++].type = 255;
    bad[n++].zero = 1;
    bad[n++].op = 0;
    bad[n++].op = 3;
    bad[n++].op = 1u << TERN_ATOMIC_OPS;
    bad[n++].op = 1u << 31;
    bad[n++].offset = 12;
    bad[n++].offset = BYTES;
    bad[n++].offset = BYTES - 4;
    bad[n++].offset = UINT64_MAX - 7;
    bad[n].type = TERN_DOUBLE;
    bad[n++].op = TERN_ATOMIC_XOR;
    memcpy(before, memory, BYTES);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(serve(&bad[i], sizeof(bad[i]), answer, 8, &answered), TERN_ERR_LINK);
        assert_true(answered == 0);
    }
    for (size_t len = 0; len < sizeof(good); len++)
        assert_int_equal(serve(&good, len, answer, 8, &answered), TERN_ERR_LINK);
    assert_int_equal(serve(&good, sizeof(good) + 1, answer, 8, &answered), TERN_ERR_LINK);
    assert_memory_equal(before, memory, BYTES);
}

static bool nothing_is_there(const void *addr, size_t len, bool write)
{
    (void)addr, (void)len, (void)write;
    return false;
}

static void what_is_not_there(void **state)
{
    struct tern_target_mem ground = { .base = memory, .size = BYTES, .is_mapped = nothing_is_there };
    size_t                 answered;

    (void)state;
    assert_int_equal(tern_op_rpc_serve(&ground, (const unsigned char *)&good, sizeof(good), NULL, 0, &answered),
                     TERN_ERR_LINK);
}

/* Random requests: each changes one aligned value at most. */
static void damaged(void **state)
{
    struct tern_target_mem ground = { .base = memory, .size = BYTES };
    unsigned char          bytes[sizeof(good)], before[BYTES], answer[8];
    uint64_t               seed = 23;
    size_t                 answered;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        size_t first = 0, last = BYTES;

        memcpy(bytes, &good, sizeof(good));
        for (uint64_t n = 1 + job_random(&seed) % 4; n > 0; n--)
            bytes[job_random(&seed) % sizeof(bytes)] = (unsigned char)job_random(&seed);
        memcpy(before, memory, BYTES);
        tern_status st = tern_op_rpc_serve(&ground, bytes, sizeof(bytes), answer, sizeof(answer), &answered);
        assert_true(st == TERN_OK || st == TERN_ERR_LINK);
        assert_true(answered <= sizeof(answer));
        while (first < BYTES && before[first] == memory[first])
            first++;
        while (last > first && before[last - 1] == memory[last - 1])
            last--;
        assert_true(first == BYTES || (st == TERN_OK && first / 8 == (last - 1) / 8));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(refused),
        cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(damaged),
    };

    return cmocka_run_group_tests(tests, open_memory, close_memory);
}
