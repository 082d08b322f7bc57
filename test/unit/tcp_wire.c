/* tcp_wire.c: heads of frames of the link tcp survive encoding and decoding, and no received bytes do harm.
 *
 * Promise: decoding accepts or refuses every sequence of bytes and touches none past the end; it asks for more bytes
 * until a head is complete; it refuses unknown kinds, and lengths and numbers that a kind cannot have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "link/tcp/wire.h"

/* Decode a copy of exactly these bytes, so that a sanitizer sees an access past the end. */
static enum tcp_decode_result read_exactly(const void *bytes, size_t len, struct tcp_decoded *out)
{
    unsigned char         *copy = malloc(len > 0 ? len : 1);
    enum tcp_decode_result result;

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    result = tern_tcp_wire_decode(copy, len, out);
    free(copy);
    return result;
}

static const struct tcp_remote remote = { .key = 0x1122334455667788ull, .offset = 4096 };
static const struct tcp_rpc    rpc = { .region = 6, .len = 32, .request = "a small request" };
static const struct tcp_notify notify = { .tag = 77, .region = 5, .bytes = 1u << 21 };

/* A head of each kind, and the number of bytes of data behind it. */
static const struct {
    struct tcp_head head;
    size_t          data;
} heads[] = {
    { { TCP_MESSAGE, sizeof(struct net_header), 0 }, sizeof(struct net_header) },
    { { TCP_MESSAGE, TCP_WIRE_MESSAGE, 0 }, TCP_WIRE_MESSAGE },
    { { TCP_WRITE, 1, 3 }, 1 },
    { { TCP_WRITE, TCP_WIRE_DATA, 3 }, TCP_WIRE_DATA },
    { { TCP_WRITE, 8, (TCP_WIRE_PUTS - 1) | TCP_WIRE_CONTINUES }, 8 },
    { { TCP_WRITE_NOTIFY, 1u << 20, 4 }, 1u << 20 },
    { { TCP_WRITE_RPC, 16384, 5 }, 16384 },
    { { TCP_READ, 8, 0 }, 0 },
    { { TCP_DATA, 8, 0 }, 8 },
    { { TCP_REFUSED_READ, 0, 0 }, 0 },
    { { TCP_ACK, 0, UINT64_MAX }, 0 },
    { { TCP_REFUSED_WRITE, 0, 9 }, 0 },
};
#define HEADS (sizeof(heads) / sizeof(heads[0]))

static void heads_come_back(void **state)
{
    unsigned char      bytes[TCP_WIRE_LONGEST];
    struct tcp_decoded out;

    (void)state;
    for (size_t i = 0; i < HEADS; i++) {
        bool   is_rpc = heads[i].head.kind == TCP_WRITE_RPC;
        size_t len = tern_tcp_wire_encode(bytes, &heads[i].head, &remote, is_rpc ? (const void *)&rpc : &notify);

        for (size_t less = 0; less < len; less++)
            assert_int_equal(read_exactly(bytes, less, &out), TCP_INCOMPLETE);
        assert_int_equal(read_exactly(bytes, len, &out), TCP_DECODED);
        assert_memory_equal(&out.head, &heads[i].head, sizeof(out.head));
        assert_int_equal(out.bytes, len);
        assert_int_equal(out.data, heads[i].data);
        if (len > sizeof(out.head))
            assert_memory_equal(&out.remote, &remote, sizeof(remote));
        if (heads[i].head.kind == TCP_WRITE_NOTIFY)
            assert_memory_equal(&out.notify, &notify, sizeof(notify));
        if (is_rpc)
            assert_memory_equal(&out.rpc, &rpc, sizeof(rpc));
    }
}

static void bad_heads_are_refused(void **state)
{
    static const struct tcp_head bad[] = {
        { 0, 0, 0 },
        { TCP_KINDS, 0, 0 },
        { UINT32_MAX, 16, 0 },
        { TCP_MESSAGE, sizeof(struct net_header) - 1, 0 },
        { TCP_MESSAGE, TCP_WIRE_MESSAGE + 1, 0 },
        { TCP_MESSAGE, 64, 1 },
        { TCP_WRITE, 0, 0 },
        { TCP_WRITE, TCP_WIRE_DATA + 1, 0 },
        { TCP_WRITE, 8, TCP_WIRE_PUTS },
        { TCP_WRITE, 8, TCP_WIRE_PUTS | TCP_WIRE_CONTINUES },
        { TCP_WRITE_NOTIFY, 8, UINT64_MAX },
        { TCP_WRITE_NOTIFY, 0, 0 },
        { TCP_READ, 0, 0 },
        { TCP_READ, TCP_WIRE_DATA + 1, 0 },
        { TCP_READ, 8, 1 },
        { TCP_DATA, 0, 0 },
        { TCP_DATA, 8, 1 },
        { TCP_REFUSED_READ, 1, 0 },
        { TCP_REFUSED_READ, 0, 1 },
        { TCP_ACK, 1, 0 },
        { TCP_REFUSED_WRITE, 1, 0 },
    };
    unsigned char      bytes[TCP_WIRE_LONGEST] = { 0 };
    struct tcp_decoded out;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memcpy(bytes, &bad[i], sizeof(bad[i]));
        assert_int_equal(read_exactly(bytes, sizeof(bytes), &out), TCP_INVALID);
    }
}

static void bad_notices_are_refused(void **state)
{
    static const struct tcp_notify bad[] = {
        { .tag = 1, .zero = 1, .region = 5, .bytes = 64 },
        { .tag = 1, .region = 0, .bytes = 64 },
        { .tag = 1, .region = 5, .bytes = 63 },
    };
    const struct tcp_head head = { TCP_WRITE_NOTIFY, 64, 0 };
    unsigned char         bytes[TCP_WIRE_LONGEST];
    struct tcp_decoded    out;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size_t len = tern_tcp_wire_encode(bytes, &head, &remote, &bad[i]);

        assert_int_equal(read_exactly(bytes, len, &out), TCP_INVALID);
    }
}

static void bad_rpcs_are_refused(void **state)
{
    static const struct tcp_rpc bad[] = {
        { .region = 6, .len = 0 },
        { .region = 6, .len = TERN_LINK_PUT_RPC_MAX + 1 },
        { .region = 6, .len = 8, .zero = 1 },
    };
    const struct tcp_head head = { TCP_WRITE_RPC, 64, 0 };
    unsigned char         bytes[TCP_WIRE_LONGEST];
    struct tcp_decoded    out;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size_t len = tern_tcp_wire_encode(bytes, &head, &remote, &bad[i]);

        assert_int_equal(read_exactly(bytes, len, &out), TCP_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_come_back),
        cmocka_unit_test(bad_heads_are_refused),
        cmocka_unit_test(bad_notices_are_refused),
        cmocka_unit_test(bad_rpcs_are_refused),
    };

    return cmocka_run_group_tests_name("frames of the link tcp", tests, NULL, NULL);
}
