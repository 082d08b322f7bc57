/* ofi_wire.c: a message of the link ofi, as received from the network.
 *
 * Promise: an accepted message has a known kind, and its contents lie within the bytes that were received. */
#include "fuzz/fuzz.h"

#include "link/ofi/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t           *bytes = fuzz_copy(data, size);
    struct ofi_decoded mail;

    memset(&mail, 0x77, sizeof(mail));
    if (tern_ofi_wire_decode(bytes, size, &mail)) {
        MUST(mail.from < 1u << 24 && mail.kind < OFI_KINDS);
        if (mail.kind <= OFI_FETCH_REPLY || mail.kind == OFI_TAGGED || mail.kind == OFI_FETCH_TAGGED) {
            bool far = mail.kind == OFI_FETCH_REQUEST || mail.kind == OFI_FETCH_REPLY || mail.kind == OFI_FETCH_TAGGED;

            MUST(mail.channel < TERN_CHANNELS);
            fuzz_touch(bytes + sizeof(mail.header), TERN_LINK_HEAD);
            MUST(far == (mail.remote.len > 0));
            if (!far)
                fuzz_touch(bytes + OFI_WIRE_HEAD, mail.len);
        }
        MUST(mail.kind != OFI_CREDIT_REQUEST || mail.header.seq < OFI_COUNTED);
        if (mail.kind == OFI_RPC || mail.kind == OFI_FETCH_RPC) {
            MUST(mail.len == (mail.kind == OFI_RPC ? mail.rpc_request.len : 0));
            fuzz_touch(bytes + OFI_WIRE_RPC, mail.len);
        }
        if (mail.kind == OFI_RPC_RESPONSE) {
            MUST(mail.len == 0 || mail.len == mail.rpc_response.len);
            fuzz_touch(bytes + OFI_WIRE_RPC_RESPONSE, mail.len);
        }
    }
    if (size >= sizeof(uint64_t) + 1) { /* decoded completion data is encoded to the same value */
        struct ofi_put_notify written;
        uint64_t              came, again = 0;

        memcpy(&came, bytes, sizeof(came));
        if (tern_ofi_wire_unpack(1 + bytes[8], came, &written)) {
            MUST(written.from <= bytes[8] && written.region != 0);
            if (tern_ofi_wire_pack(1 + bytes[8], 64, &written, &again))
                MUST(tern_ofi_wire_unpack(1 + bytes[8], again, &written));
        }
    }
    free(bytes);
    return 0;
}
