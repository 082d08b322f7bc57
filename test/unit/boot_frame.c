/* boot_frame.c: frames survive encoding and decoding, and no received bytes do harm.
 *
 * Promise: decoding answers every sequence of bytes with a frame, "more", or "none"; it never touches a byte past the
 * end; and it accepts no frame with an invalid kind or length.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "boot/frame.h"

#define MOST (TERN_FRAME_HEAD + TERN_FRAME_BODY)

/* Decode a copy of exactly these bytes, so that a sanitizer sees an access past the end. */
static size_t decode(const unsigned char *bytes, size_t len, bool takes_start, struct tern_frame *out)
{
    unsigned char *copy = malloc(len > 0 ? len : 1);
    size_t         used;

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    used = tern_boot_frame_decode(copy, len, takes_start, out);
    if (used != TERN_FRAME_SHORT && used != TERN_FRAME_BAD) {
        assert_true(used <= len);
        assert_ptr_equal(out->body, copy + TERN_FRAME_HEAD);
        assert_int_equal(used, TERN_FRAME_HEAD + out->len);
    }
    free(copy);
    return used;
}

static size_t encode(const struct tern_frame *frame, unsigned char *bytes)
{
    tern_boot_frame_encode(frame, bytes);
    if (frame->len > 0)
        memcpy(bytes + TERN_FRAME_HEAD, frame->body, frame->len);
    return TERN_FRAME_HEAD + frame->len;
}

static void frames_come_back(void **state)
{
    static unsigned char  bytes[MOST + 100], body[TERN_FRAME_BODY];
    static const uint32_t lens[] = { 0, 1, 4096, TERN_FRAME_BODY };

    (void)state;
    for (size_t i = 0; i < sizeof(body); i++)
        body[i] = (unsigned char)(i * 7);
    for (uint32_t kind = TERN_FRAME_HELLO; kind < TERN_FRAME_KIND_COUNT; kind++)
        for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
            struct tern_frame sent = { kind, 0x01020304u * kind, 0xfffefdfcu - kind, lens[i], body }, got;
            size_t            len = encode(&sent, bytes);

            assert_int_equal(tern_boot_frame_decode(bytes, len + 100, true, &got), len);
            assert_int_equal(got.kind, kind);
            assert_int_equal(got.rank, sent.rank);
            assert_int_equal(got.value, sent.value);
            assert_int_equal(got.len, lens[i]);
            assert_memory_equal(got.body, body, lens[i]);
            assert_int_equal(decode(bytes, len, true, &got), len);
            for (size_t cut = 0; cut < len; cut += cut < 64 ? 1 : 997)
                assert_int_equal(decode(bytes, cut, true, &got), TERN_FRAME_SHORT);
        }
}

/* The encoding is fixed: two builds of the same layout understand each other, whatever machines they run on. */
static void bytes_are_fixed(void **state)
{
    static const unsigned char want[] = { 'R',  'F',  'M',  '1',  3,    0,    0, 0, 0x44, 0x33,
                                          0x22, 0x11, 0x88, 0x77, 0x66, 0x55, 2, 0, 0,    0 };
    unsigned char              head[TERN_FRAME_HEAD];

    (void)state;
    tern_boot_frame_encode(&(struct tern_frame){ TERN_FRAME_LIFE, 0x11223344, 0x55667788, 2, NULL }, head);
    assert_int_equal(sizeof(want), TERN_FRAME_HEAD);
    assert_memory_equal(head, want, sizeof(want));
}

static void strangers_are_known(void **state)
{
    static const char *const strangers[] = { "W", "Welcome to host b", "R\n", "RF\n", "RFM2", "SSH-2.0", "\0" };
    struct tern_frame        frame;
    unsigned char            bytes[TERN_FRAME_HEAD];

    (void)state;
    for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++)
        assert_int_equal(decode((const unsigned char *)strangers[i], strlen(strangers[i]) + 1, true, &frame),
                         TERN_FRAME_BAD);
    for (uint64_t kind = 0; kind < 1ull << 32; kind += kind < 64 ? 1 : 1 << 20) {
        tern_boot_frame_encode(&(struct tern_frame){ .kind = (uint32_t)kind }, bytes);
        assert_int_equal(decode(bytes, sizeof(bytes), true, &frame),
                         kind > TERN_FRAME_NONE && kind < TERN_FRAME_KIND_COUNT ? sizeof(bytes) : TERN_FRAME_BAD);
    }
}

static void lengths_are_checked(void **state)
{
    struct tern_frame frame = { .kind = TERN_FRAME_OUTPUT, .len = TERN_FRAME_BODY };
    unsigned char     bytes[TERN_FRAME_HEAD];

    (void)state;
    tern_boot_frame_encode(&frame, bytes);
    assert_int_equal(decode(bytes, sizeof(bytes), true, &frame), TERN_FRAME_SHORT);
    frame.len = TERN_FRAME_BODY + 1;
    tern_boot_frame_encode(&frame, bytes);
    assert_int_equal(decode(bytes, sizeof(bytes), true, &frame), TERN_FRAME_BAD);
    frame.len = UINT32_MAX;
    tern_boot_frame_encode(&frame, bytes);
    assert_int_equal(decode(bytes, sizeof(bytes), true, &frame), TERN_FRAME_BAD);
    frame = (struct tern_frame){ .kind = TERN_FRAME_START, .len = TERN_FRAME_BODY_START };
    tern_boot_frame_encode(&frame, bytes);
    assert_int_equal(decode(bytes, sizeof(bytes), true, &frame), TERN_FRAME_SHORT);
    assert_int_equal(decode(bytes, sizeof(bytes), false, &frame), TERN_FRAME_BAD); /* not where no MAC is expected */
    frame.len = TERN_FRAME_BODY_START + 1;
    tern_boot_frame_encode(&frame, bytes);
    assert_int_equal(decode(bytes, sizeof(bytes), true, &frame), TERN_FRAME_BAD);
}

/* Valid frames with bytes changed at random. */
static void damaged_bytes_do_no_harm(void **state)
{
    unsigned char     bytes[TERN_FRAME_HEAD + 64];
    struct tern_frame frame;
    uint64_t          seed = 88172645463325252ull;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        struct tern_frame sent = {
            1 + (uint32_t)i % (TERN_FRAME_KIND_COUNT - 1), (uint32_t)i, 3, (uint32_t)i % 64,
            (const unsigned char *)"0123456789012345678901234567890123456789012345678901234567890123"
        };
        size_t len = encode(&sent, bytes);

        for (int k = 0; k < i % 4; k++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            bytes[seed % len] = (unsigned char)(seed >> 32);
        }
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        decode(bytes, i % 8 == 0 ? seed % (len + 1) : len, i % 2 == 0, &frame);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_back),         cmocka_unit_test(bytes_are_fixed),
        cmocka_unit_test(strangers_are_known),      cmocka_unit_test(lengths_are_checked),
        cmocka_unit_test(damaged_bytes_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
