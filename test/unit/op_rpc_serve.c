/* op_rpc_serve.c: RPC requests at their target.
 *
 * Promise: the bytes of a put go where its description says, and the response of a get contains the bytes that its
 * description names, for any part of a stream; a request that is malformed, or names memory that does not exist, is
 * refused, and nothing outside the memory is touched, whatever the bytes are.
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
#include "op/rpc_serve.h"
#include "serve_world.h"

#define BYTES 4096u

static unsigned char *memory; /* [BYTES] exactly, so that a sanitizer sees an access past the end */

/* A request in memory of exactly its size. */
struct made {
    unsigned char *bytes;
    size_t         len;
};

static struct made make(const struct wire_request *w, const void *list, size_t list_bytes, const void *payload)
{
    size_t      at = w->verb == WIRE_PUT ? wire_payload_at(list_bytes) : sizeof(*w) + list_bytes;
    struct made m = { .len = at + (w->verb == WIRE_PUT ? w->len : 0) };

    m.bytes = calloc(1, m.len);
    assert_non_null(m.bytes);
    memcpy(m.bytes, w, sizeof(*w));
    if (list_bytes > 0)
        memcpy(m.bytes + sizeof(*w), list, list_bytes);
    if (w->verb == WIRE_PUT && w->len > 0)
        memcpy(m.bytes + at, payload, w->len);
    return m;
}

static tern_status serve(const struct made *m, unsigned char *answer, size_t space, size_t *answered)
{
    struct tern_target_mem ground = { .base = memory, .size = BYTES };

    return tern_op_rpc_serve(&ground, m->bytes, m->len, answer, space, answered);
}

static int open_memory(void **state)
{
    (void)state;
    serve_world_open();
    memory = malloc(BYTES);
    return memory ? 0 : -1;
}

static int close_memory(void **state)
{
    (void)state;
    free(memory);
    serve_world_close();
    return 0;
}

static void fill(void)
{
    for (unsigned i = 0; i < BYTES; i++)
        memory[i] = (unsigned char)(i * 7 + i / 256);
}

/* 20 runs of 6 bytes, 31 bytes apart, from 100 on; 4 such rows, 700 bytes apart. */
static const struct tern_layout_dim dims[] = { { 20, 31 }, { 4, 700 } };

static uint64_t place(uint64_t byte)
{
    return 100 + byte / 6 % 20 * 31 + byte / 120 * 700 + byte % 6;
}

static void parts_of_a_box(void **state)
{
    struct wire_request w = { .kind = TERN_LAYOUT_STRIDED, .dims = 2, .run = 6, .first = 100, .total = 480 };
    unsigned char       payload[480], answer[480];
    size_t              answered;

    (void)state;
    for (unsigned i = 0; i < 480; i++)
        payload[i] = (unsigned char)(200 + i);
    for (w.at = 0; w.at < 480; w.at += 37) {
        for (w.len = 1; w.at + w.len <= 480; w.len += 29) {
            struct made m;

            fill();
            w.verb = WIRE_GET;
            m = make(&w, dims, sizeof(dims), NULL);
            assert_int_equal(serve(&m, answer, w.len, &answered), TERN_OK);
            assert_true(answered == w.len);
            for (uint64_t i = 0; i < w.len; i++)
                assert_int_equal(answer[i], memory[place(w.at + i)]);
            assert_int_equal(serve(&m, answer, w.len - 1, &answered), TERN_ERR_LINK); /* no space for the response */
            free(m.bytes);
            w.verb = WIRE_PUT;
            m = make(&w, dims, sizeof(dims), payload);
            assert_int_equal(serve(&m, NULL, 0, &answered), TERN_OK);
            assert_true(answered == 0);
            for (uint64_t i = 0; i < w.len; i++) {
                assert_int_equal(memory[place(w.at + i)], payload[i]);
                memory[place(w.at + i)] = (unsigned char)(place(w.at + i) * 7 + place(w.at + i) / 256);
            }
            for (unsigned i = 0; i < BYTES; i++) /* nothing else */
                assert_int_equal(memory[i], (unsigned char)(i * 7 + i / 256));
            free(m.bytes);
        }
    }
}

static void lists(void **state)
{
    const struct tern_layout_extent entries[] = { { 10, 5 }, { 100, 0 }, { 4090, 6 }, { 0, 4 } };
    const uint64_t                  at[] = { 7, 4080, 300 };
    struct wire_request w = { .verb = WIRE_GET, .kind = TERN_LAYOUT_VECTOR, .count = 4, .at = 2, .len = 11 };
    unsigned char       answer[64];
    size_t              answered;
    struct made         m;

    (void)state;
    fill();
    m = make(&w, entries, sizeof(entries), NULL);
    assert_int_equal(serve(&m, answer, sizeof(answer), &answered), TERN_OK);
    assert_true(answered == 11);
    assert_memory_equal(answer, memory + 12, 3);
    assert_memory_equal(answer + 3, memory + 4090, 6);
    assert_memory_equal(answer + 9, memory, 2);
    free(m.bytes);
    w.len = 14; /* there are 13 */
    m = make(&w, entries, sizeof(entries), NULL);
    assert_int_equal(serve(&m, answer, sizeof(answer), &answered), TERN_ERR_LINK);
    free(m.bytes);
    w = (struct wire_request){ .kind = TERN_LAYOUT_INDEXED, .count = 3, .run = 16, .len = 48 };
    m = make(&w, at, sizeof(at), answer);
    assert_int_equal(serve(&m, NULL, 0, &answered), TERN_OK);
    assert_memory_equal(memory + 4080, answer + 16, 16);
    free(m.bytes);
    w.run = 17;
    w.len = 51;
    m = make(&w, at, sizeof(at), answer);
    assert_int_equal(serve(&m, NULL, 0, &answered), TERN_ERR_LINK); /* the second extent goes too far */
    free(m.bytes);
}

/* Every length, and random changes of valid requests: each gets a response and does no harm. */
static void damaged(void **state)
{
    struct wire_request good[] = {
        { .verb = WIRE_PUT, .kind = TERN_LAYOUT_STRIDED, .dims = 2, .run = 6, .first = 100, .total = 480, .len = 240 },
        { .verb = WIRE_GET, .kind = TERN_LAYOUT_STRIDED, .dims = 2, .run = 6, .first = 100, .total = 480, .len = 480 },
        { .verb = WIRE_PUT, .kind = TERN_LAYOUT_VECTOR, .count = 2, .len = 20 },
        { .verb = WIRE_GET, .kind = TERN_LAYOUT_INDEXED, .count = 4, .run = 8, .len = 32 },
    };
    unsigned char payload[480] = { 0 }, answer[480];
    uint64_t      seed = 17;
    size_t        answered;

    (void)state;
    for (unsigned g = 0; g < sizeof(good) / sizeof(good[0]); g++) {
        struct made whole = make(&good[g], dims, sizeof(dims), payload), m = whole;

        for (m.len = 0; m.len < whole.len; m.len++) {
            struct made exact = { malloc(m.len + 1), m.len };

            memcpy(exact.bytes, whole.bytes, m.len);
            assert_int_equal(serve(&exact, answer, sizeof(answer), &answered), TERN_ERR_LINK);
            free(exact.bytes);
        }
        for (int i = 0; i < 200000; i++) {
            unsigned char kept[96];
            size_t        most = whole.len < sizeof(kept) ? whole.len : sizeof(kept);

            memcpy(kept, whole.bytes, most);
            for (uint64_t n = 1 + job_random(&seed) % 3; n > 0; n--) {
                size_t   at = job_random(&seed) % most;
                uint64_t bits = job_random(&seed) % 2 ? job_random(&seed) : 1u << job_random(&seed) % 8;

                whole.bytes[at] ^= (unsigned char)bits;
            }
            tern_status st = serve(&whole, answer, sizeof(answer), &answered);
            assert_true(st == TERN_OK || st == TERN_ERR_LINK);
            assert_true(answered <= sizeof(answer));
            memcpy(whole.bytes, kept, most);
        }
        free(whole.bytes);
    }
}

/* Requests of a put of 20 bytes with its signal. */
static const struct wire_signal good_signal = {
    .verb = WIRE_SIGNAL, .add = 1, .bytes = 8, .len = 20, .offset = 3, .word = 40, .value = 7
};

#define BAD_SIGNALS 15

/* Requests of the same length that must be refused. */
static void make_bad_signals(struct wire_signal *bad)
{
    unsigned n = 0;

    for (unsigned i = 0; i < BAD_SIGNALS; i++)
        bad[i] = good_signal;
    bad[n++].add = 2;
    bad[n++].zero = 1;
    bad[n++].len = 19;
    bad[n++].len = 21;
    bad[n++].offset = BYTES - 19;
    bad[n++].offset = UINT64_MAX - 3;
    bad[n++].word = 44;
    bad[n++].word = BYTES - 7;
    bad[n++].word = BYTES;
    bad[n++].word = UINT64_MAX - 7;
    bad[n++].bytes = 0;
    bad[n++].bytes = 2;
    bad[n++].bytes = 16;
    bad[n].bytes = 4;
    bad[n++].word = 42;
    bad[n].bytes = 4;
    bad[n++].word = BYTES - 3;
    assert_int_equal(n, BAD_SIGNALS);
}

/* A put with its signal: first the data, then the signal word. A damaged request has either no effect or both, and does
 * no harm. */
static void signals(void **state)
{
    const struct wire_signal good = good_signal;
    unsigned char            before[BYTES], *bytes = calloc(1, sizeof(good) + 20);
    struct made              m = { bytes, sizeof(good) + 20 };
    struct wire_signal       bad[BAD_SIGNALS];
    uint64_t                 word = 5, seed = 3;
    size_t                   answered;

    (void)state;
    assert_non_null(bytes);
    make_bad_signals(bad);
    memset(memory, 0, BYTES);
    memcpy(memory + 40, &word, sizeof(word));
    memcpy(bytes, &good, sizeof(good));
    memset(bytes + sizeof(good), 9, 20);
    assert_int_equal(serve(&m, NULL, 0, &answered), TERN_OK);
    memcpy(&word, memory + 40, sizeof(word));
    assert_true(answered == 0 && word == 12 && memory[2] == 0 && memory[3] == 9 && memory[22] == 9 && memory[23] == 0);
    bytes[offsetof(struct wire_signal, add)] = 0;
    assert_int_equal(serve(&m, NULL, 0, &answered), TERN_OK);
    memcpy(&word, memory + 40, sizeof(word));
    assert_true(word == 7);
    bytes[offsetof(struct wire_signal, bytes)] = 4;
    bytes[offsetof(struct wire_signal, word)] = 44; /* the upper half */
    assert_int_equal(serve(&m, NULL, 0, &answered), TERN_OK);
    memcpy(&word, memory + 40, sizeof(word));
    assert_true(word == (7 | UINT64_C(7) << 32));
    memcpy(before, memory, BYTES);
    for (unsigned i = 0; i < BAD_SIGNALS; i++) {
        memcpy(bytes, &bad[i], sizeof(bad[i]));
        assert_int_equal(serve(&m, NULL, 0, &answered), TERN_ERR_LINK);
    }
    memcpy(bytes, &good, sizeof(good));
    for (m.len = 0; m.len < sizeof(good) + 20; m.len++)
        assert_int_equal(serve(&m, NULL, 0, &answered), TERN_ERR_LINK);
    assert_memory_equal(before, memory, BYTES);
    for (int i = 0; i < 100000; i++) {
        tern_status st;

        memcpy(bytes, &good, sizeof(good));
        bytes[1 + job_random(&seed) % (sizeof(good) - 1)] ^= (unsigned char)job_random(&seed);
        st = serve(&m, NULL, 0, &answered);
        assert_true((st == TERN_OK || st == TERN_ERR_LINK) && answered == 0);
    }
    free(bytes);
}

static uint64_t asked;

static bool first_pages(const void *addr, size_t len, bool write)
{
    (void)write;
    asked++;
    return (const unsigned char *)addr + len <= memory + 2000;
}

/* Memory that the program has unmapped. */
static void what_is_not_there(void **state)
{
    struct wire_request    w = { .kind = TERN_LAYOUT_STRIDED, .dims = 2, .run = 6, .first = 100, .total = 480 };
    struct tern_target_mem ground = { .base = memory, .size = BYTES, .is_mapped = first_pages };
    unsigned char          answer[480];
    size_t                 answered;

    (void)state;
    w.verb = WIRE_GET;
    for (w.at = 0; w.at < 480; w.at += 60) {
        struct made m;

        w.len = 60;
        m = make(&w, dims, sizeof(dims), NULL);
        asked = 0;
        assert_int_equal(tern_op_rpc_serve(&ground, m.bytes, m.len, answer, 480, &answered),
                         place(w.at + 59) < 2000 ? TERN_OK : TERN_ERR_LINK);
        assert_true(asked == 1); /* for all ten */
        free(m.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_box),    cmocka_unit_test(lists),
        cmocka_unit_test(damaged),           cmocka_unit_test(signals),
        cmocka_unit_test(what_is_not_there),
    };

    return cmocka_run_group_tests(tests, open_memory, close_memory);
}
