/* net_wire.c: a message of a link over a network, as received from the network.
 *
 * Promise: an accepted message has a known kind, and its contents lie within the bytes that were received. */
#include "fuzz/fuzz.h"

#include "link/net/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t           *bytes = fuzz_copy(data, size);
    struct net_decoded mail;

    memset(&mail, 0x77, sizeof(mail));
    if (tern_net_wire_decode(bytes, size, &mail)) {
        MUST(mail.from < 1u << 24 && mail.kind < NET_KINDS);
        if (mail.kind <= NET_FETCH_REPLY || mail.kind == NET_TAGGED || mail.kind == NET_FETCH_TAGGED) {
            bool far = mail.kind == NET_FETCH_REQUEST || mail.kind == NET_FETCH_REPLY || mail.kind == NET_FETCH_TAGGED;

            MUST(mail.channel < TERN_CHANNELS);
            fuzz_touch(bytes + sizeof(mail.header), TERN_LINK_HEAD);
            MUST(far == (mail.remote.len > 0));
            if (!far)
                fuzz_touch(bytes + NET_WIRE_HEAD, mail.len);
        }
        MUST(mail.kind != NET_CREDIT_REQUEST || mail.header.seq < NET_COUNTED);
        if (mail.kind == NET_RPC || mail.kind == NET_FETCH_RPC) {
            MUST(mail.len == (mail.kind == NET_RPC ? mail.rpc_request.len : 0));
            fuzz_touch(bytes + NET_WIRE_RPC, mail.len);
        }
        if (mail.kind == NET_RPC_RESPONSE) {
            MUST(mail.len == 0 || mail.len == mail.rpc_response.len);
            fuzz_touch(bytes + NET_WIRE_RPC_RESPONSE, mail.len);
        }
    }
    if (size >= sizeof(uint64_t) + 1) { /* decoded completion data is encoded to the same value */
        struct net_put_notify written;
        uint64_t              came, again = 0;

        memcpy(&came, bytes, sizeof(came));
        if (tern_net_wire_unpack(1 + bytes[8], came, &written)) {
            MUST(written.from <= bytes[8] && written.region != 0);
            if (tern_net_wire_pack(1 + bytes[8], 64, &written, &again))
                MUST(tern_net_wire_unpack(1 + bytes[8], again, &written));
        }
    }
    free(bytes);
    return 0;
}
