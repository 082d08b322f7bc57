/* net_wire.c: a message of a link over a network, as received from the network.
 *
 * Promise: an accepted message has a known kind, and its contents lie within the bytes that were received. */
#include "fuzz/fuzz.h"

#include "link/net/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t           *bytes = fuzz_copy(data, size);
    struct net_decoded decoded;

    memset(&decoded, 0x77, sizeof(decoded));
    if (tern_net_wire_decode(bytes, size, &decoded)) {
        MUST(decoded.from < 1u << 24 && decoded.kind < NET_KINDS);
        if (decoded.kind <= NET_FETCH_REPLY || decoded.kind == NET_TAGGED || decoded.kind == NET_FETCH_TAGGED) {
            bool far = decoded.kind == NET_FETCH_REQUEST || decoded.kind == NET_FETCH_REPLY ||
                       decoded.kind == NET_FETCH_TAGGED;

            MUST(decoded.channel < TERN_CHANNELS);
            fuzz_touch(bytes + sizeof(decoded.header), TERN_LINK_HEAD);
            MUST(far == (decoded.remote.len > 0));
            if (!far)
                fuzz_touch(bytes + NET_WIRE_HEAD, decoded.len);
        }
        MUST(decoded.kind != NET_CREDIT_REQUEST || decoded.header.seq < NET_COUNTED);
        if (decoded.kind == NET_RPC || decoded.kind == NET_FETCH_RPC) {
            MUST(decoded.len == (decoded.kind == NET_RPC ? decoded.rpc_request.len : 0));
            fuzz_touch(bytes + NET_WIRE_RPC, decoded.len);
        }
        if (decoded.kind == NET_RPC_RESPONSE) {
            MUST(decoded.len == 0 || decoded.len == decoded.rpc_response.len);
            fuzz_touch(bytes + NET_WIRE_RPC_RESPONSE, decoded.len);
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
