/* tcp_wire.c: the head of a frame of the link tcp, as received from a connection.
 *
 * Promise: an accepted head lies within the bytes that were received, has a known kind and a possible length, and is
 * encoded to the same bytes. */
#include "fuzz/fuzz.h"

#include "link/tcp/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t           *bytes = fuzz_copy(data, size);
    unsigned char      again[TCP_WIRE_LONGEST];
    struct tcp_decoded out;

    memset(&out, 0x77, sizeof(out));
    if (tern_tcp_wire_decode(bytes, size, &out) == TCP_DECODED) {
        MUST(out.head.kind > 0 && out.head.kind < TCP_KINDS && out.bytes <= size);
        MUST(out.data <= (out.head.kind == TCP_MESSAGE ? TCP_WIRE_MESSAGE : TCP_WIRE_DATA));
        MUST(tern_tcp_wire_encode(again, &out.head, &out.remote,
                                  out.head.kind == TCP_WRITE_RPC ? (const void *)&out.rpc : &out.notify) == out.bytes);
        MUST(memcmp(again, bytes, out.bytes) == 0);
    }
    free(bytes);
    return 0;
}
