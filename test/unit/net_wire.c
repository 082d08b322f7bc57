/* net_wire.c: messages of the network link survive encoding and decoding, and no received bytes do harm.
 *
 * Promise: decoding accepts or refuses every sequence of bytes and touches none past the end; it refuses invalid kinds
 * and lengths; a token is the same for all processes that know the job's number, and differs for each pair of ranks,
 * each direction and each job.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "link/net/wire.h"

/* Decode a copy of exactly these bytes, so that a sanitizer sees an access past the end. */
static bool read_exactly(const void *bytes, size_t len, struct net_decoded *decoded)
{
    unsigned char *copy = malloc(len > 0 ? len : 1);
    bool           good;

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    good = tern_net_wire_decode(copy, len, decoded);
    free(copy);
    return good;
}

static size_t write_header(unsigned char *bytes, unsigned kind, uint32_t from, uint16_t seq, uint16_t ack)
{
    struct net_header header = {
        .token = 0x1122334455667788ull, .from_kind = from << 8 | kind, .seq = seq, .ack = ack
    };

    memcpy(bytes, &header, sizeof(header));
    return sizeof(header);
}

/* Channels that have data. */
static const unsigned channel_of[] = { TERN_CHANNEL_REQUEST, TERN_CHANNEL_REPLY, TERN_CHANNEL_TAGGED,
                                       TERN_CHANNEL_HELPER_REQUEST, TERN_CHANNEL_HELPER_REPLY };
static const unsigned near_kind[] = { NET_REQUEST, NET_REPLY, NET_TAGGED, NET_HELPER_REQUEST, NET_HELPER_REPLY };
static const unsigned far_kind[] = { NET_FETCH_REQUEST, NET_FETCH_REPLY, NET_FETCH_TAGGED, NET_FETCH_HELPER_REQUEST,
                                     NET_FETCH_HELPER_REPLY };

static void messages_come_back(void **state)
{
    static unsigned char bytes[NET_WIRE_HEAD + NET_WIRE_INLINE_MAX];
    static const size_t  lens[] = { 0, 1, 63, 64, 4096, NET_WIRE_INLINE_MAX };
    struct net_decoded   decoded;

    (void)state;
    for (unsigned c = 0; c < 5; c++)
        for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
            unsigned kind = near_kind[c];

            write_header(bytes, kind, 65535, 0xfffe, 0x1234);
            assert_true(read_exactly(bytes, NET_WIRE_HEAD + lens[i], &decoded));
            assert_int_equal(decoded.header.token, 0x1122334455667788ull);
            assert_int_equal(decoded.from, 65535);
            assert_int_equal(decoded.kind, kind);
            assert_int_equal(decoded.channel, channel_of[c]);
            assert_int_equal(decoded.header.seq, 0xfffe);
            assert_int_equal(decoded.header.ack, 0x1234);
            assert_int_equal(decoded.len, lens[i]);
            assert_int_equal(decoded.remote.len, 0);
        }
}

static void far_messages_come_back(void **state)
{
    unsigned char      bytes[NET_WIRE_HEAD + sizeof(struct net_remote)];
    struct net_remote  far = { .key = 7, .addr = 1ull << 60, .len = 100000 };
    struct net_decoded decoded;

    (void)state;
    for (unsigned c = 0; c < 5; c++) {
        write_header(bytes, far_kind[c], 3, 1, 2);
        memcpy(bytes + NET_WIRE_HEAD, &far, sizeof(far));
        assert_true(read_exactly(bytes, sizeof(bytes), &decoded));
        assert_int_equal(decoded.channel, channel_of[c]);
        assert_int_equal(decoded.len, 100000);
        assert_memory_equal(&decoded.remote, &far, sizeof(far));
        for (size_t len = 0; len < sizeof(bytes); len++)
            assert_false(read_exactly(bytes, len, &decoded));
    }
    far.len = 0;
    memcpy(bytes + NET_WIRE_HEAD, &far, sizeof(far));
    assert_false(read_exactly(bytes, sizeof(bytes), &decoded));
}

static void control_comes_back(void **state)
{
    unsigned char      bytes[sizeof(struct net_header) + sizeof(struct net_credit) + 1] = { 0 };
    struct net_credit  credit = { { 70000, 3, 9, 1 } };
    size_t             header = sizeof(struct net_header);
    struct net_decoded decoded;

    (void)state;
    write_header(bytes, NET_CREDIT, 1, 0, 0);
    memcpy(bytes + header, &credit, sizeof(credit));
    for (size_t len = 0; len <= sizeof(bytes); len++)
        assert_int_equal(read_exactly(bytes, len, &decoded), len == header + sizeof(credit));
    assert_true(read_exactly(bytes, header + sizeof(credit), &decoded));
    assert_memory_equal(&decoded.credit, &credit, sizeof(credit));
    for (uint16_t channel = 0; channel < NET_COUNTED + 2; channel++) {
        write_header(bytes, NET_CREDIT_REQUEST, 1, channel, 0);
        assert_int_equal(read_exactly(bytes, header, &decoded), channel < NET_COUNTED);
        assert_false(read_exactly(bytes, header + 1, &decoded));
    }
}

/* Promise: the notification of a put survives completion data of any width, or is refused; completion data that is
 * accepted always names a rank of the job and a region. */
static void notes_of_puts_come_back(void **state)
{
    static const uint32_t ranks[] = { 1, 2, 3, 256, 257, 65536 };
    uint64_t              seed = 1, data = 0;
    unsigned              packed = 0;

    (void)state;
    for (unsigned i = 0; i < 200000; i++) {
        struct net_put_notify w, back;
        uint32_t              n = ranks[i % 6];
        unsigned              bits = i % 3 == 0 ? 32 : i % 3 == 1 ? 64 : i % 65;

        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        w = (struct net_put_notify){ .from = (uint32_t)(seed >> 40) % n,
                                     .tag = (uint32_t)(seed >> 32) >> (i % 33 == 32 ? 31 : i % 33),
                                     .region = 1 + (seed >> 20) % (1u << (i % 12)),
                                     .bytes = (seed >> 16) % (1ull << (i % 41)) };
        if (!tern_net_wire_pack(n, bits, &w, &data))
            continue;
        packed++;
        assert_true(bits == 64 || data >> bits == 0);
        assert_true(tern_net_wire_unpack(n, data, &back));
        assert_int_equal(back.from, w.from);
        assert_int_equal(back.tag, w.tag);
        assert_int_equal(back.region, w.region);
        assert_int_equal(back.bytes, w.bytes);
    }
    assert_true(packed > 10000);
    /* The values that fit, by the limits in wire.h. */
    assert_true(tern_net_wire_pack(2, 64, &(struct net_put_notify){ 1, 0xffffff, 9, 1 << 20 }, &data));
    assert_true(tern_net_wire_pack(2, 32, &(struct net_put_notify){ 1, 15, 9, 255 }, &data));
    assert_false(tern_net_wire_pack(2, 32, &(struct net_put_notify){ 1, 1u << 31, 9, 255 }, &data));
    assert_false(tern_net_wire_pack(2, 64, &(struct net_put_notify){ 1, 1, 9, 1u << 28 }, &data));
    assert_false(tern_net_wire_pack(2, 0, &(struct net_put_notify){ 1, 1, 9, 8 }, &data));
}

static void rpcs_come_back(void **state)
{
    static unsigned char   bytes[NET_WIRE_RPC + NET_WIRE_INLINE_MAX + 1];
    struct net_rpc_request request = { .region = 5, .key = 1ull << 63, .addr = 64, .expect = 1 << 20 };
    struct net_decoded     decoded;

    (void)state;
    for (uint32_t len = 0; len <= NET_WIRE_INLINE_MAX + 1; len += len < 70 ? 1 : 997) {
        write_header(bytes, NET_RPC, 9, 3, 4);
        request.len = len;
        memcpy(bytes + sizeof(struct net_header), &request, sizeof(request));
        assert_int_equal(read_exactly(bytes, NET_WIRE_RPC + len, &decoded), len <= NET_WIRE_INLINE_MAX);
        if (len > NET_WIRE_INLINE_MAX)
            break;
        assert_memory_equal(&decoded.rpc_request, &request, sizeof(request));
        assert_true(decoded.len == len && decoded.header.seq == 3 && decoded.header.ack == 4);
        assert_false(read_exactly(bytes, NET_WIRE_RPC + len + 1, &decoded));
        if (len > 0)
            assert_false(read_exactly(bytes, NET_WIRE_RPC + len - 1, &decoded));
        write_header(bytes, NET_FETCH_RPC, 9, 3, 4); /* the request must be fetched */
        assert_int_equal(read_exactly(bytes, NET_WIRE_RPC, &decoded), len > 0);
        assert_false(read_exactly(bytes, NET_WIRE_RPC + 1, &decoded));
    }
    for (size_t len = 0; len < NET_WIRE_RPC; len++)
        assert_false(read_exactly(bytes, len, &decoded));
}

static void answers_come_back(void **state)
{
    static unsigned char    bytes[NET_WIRE_RPC_RESPONSE + NET_WIRE_INLINE_MAX + 1];
    struct net_rpc_response answer = { .status = -8 };
    struct net_decoded      decoded;

    (void)state;
    write_header(bytes, NET_RPC_RESPONSE, 9, 3, 4);
    for (uint32_t len = 0; len <= NET_WIRE_INLINE_MAX; len += len < 70 ? 1 : 997) {
        answer.len = len;
        memcpy(bytes + sizeof(struct net_header), &answer, sizeof(answer));
        assert_true(read_exactly(bytes, NET_WIRE_RPC_RESPONSE + len, &decoded)); /* inline, */
        assert_true(decoded.len == len && decoded.rpc_response.len == len && decoded.rpc_response.status == -8);
        assert_true(read_exactly(bytes, NET_WIRE_RPC_RESPONSE, &decoded)); /* or written elsewhere */
        assert_true(decoded.len == 0 && decoded.rpc_response.len == len);
        assert_false(read_exactly(bytes, NET_WIRE_RPC_RESPONSE + len + 1, &decoded));
        if (len > 1)
            assert_false(read_exactly(bytes, NET_WIRE_RPC_RESPONSE + len - 1, &decoded));
    }
    for (size_t len = 0; len < NET_WIRE_RPC_RESPONSE; len++)
        assert_false(read_exactly(bytes, len, &decoded));
}

static void too_long_or_unknown(void **state)
{
    static unsigned char bytes[NET_WIRE_HEAD + NET_WIRE_INLINE_MAX + 1];
    struct net_decoded   decoded;

    (void)state;
    write_header(bytes, NET_REQUEST, 0, 0, 0);
    assert_false(read_exactly(bytes, sizeof(bytes), &decoded));
    for (size_t len = 0; len < NET_WIRE_HEAD; len++)
        assert_false(read_exactly(bytes, len, &decoded));
    for (unsigned kind = NET_KINDS; kind < 256; kind++) {
        write_header(bytes, kind, 0, 0, 0);
        for (size_t len = 0; len < 200; len++)
            assert_false(read_exactly(bytes, len, &decoded));
    }
}

/* Random bytes, half of them with a valid kind. */
static void noise(void **state)
{
    unsigned char      bytes[256];
    uint64_t           seed = 88172645463325252ull;
    struct net_decoded decoded;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        for (size_t k = 0; k < sizeof(bytes); k += 8) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            memcpy(bytes + k, &seed, 8);
        }
        if (i % 2)
            bytes[8] = (unsigned char)(seed % NET_KINDS);
        if (read_exactly(bytes, seed >> 32 & 255, &decoded))
            assert_true(decoded.kind < NET_KINDS &&
                        (decoded.kind > NET_FETCH_REPLY || decoded.channel < TERN_CHANNELS));
    }
}

static void tokens(void **state)
{
    enum { RANKS = 12 };
    uint64_t all[2][RANKS][RANKS];

    (void)state;
    for (uint32_t job = 0; job < 2; job++)
        for (uint32_t from = 0; from < RANKS; from++)
            for (uint32_t to = 0; to < RANKS; to++)
                all[job][from][to] = tern_net_wire_token(77 + job, from, to);
    assert_int_equal(all[0][1][2], tern_net_wire_token(77, 1, 2));
    for (size_t i = 0; i < 2 * RANKS * RANKS; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal((&all[0][0][0])[i], (&all[0][0][0])[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_back),
        cmocka_unit_test(far_messages_come_back),
        cmocka_unit_test(control_comes_back),
        cmocka_unit_test(notes_of_puts_come_back),
        cmocka_unit_test(rpcs_come_back),
        cmocka_unit_test(answers_come_back),
        cmocka_unit_test(too_long_or_unknown),
        cmocka_unit_test(noise),
        cmocka_unit_test(tokens),
    };

    return cmocka_run_group_tests_name("net wire", tests, NULL, NULL);
}
