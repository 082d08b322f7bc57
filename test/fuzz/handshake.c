/* handshake.c: the messages that two nodes exchange before they have authenticated each other.
 *
 * Promise: bytes that were not made with the key of the job are neither a HELLO nor a WELCOME. Bytes that were made
 * with the key are decoded to what was encoded. */
#include "fuzz/fuzz.h"

#include "boot/handshake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tern_handshake greet = { .key = { 7 }, .port = 4711 }, got = greet;
    uint8_t               hello[TERN_HANDSHAKE_HELLO], welcome[TERN_HANDSHAKE_WELCOME], made[TERN_HANDSHAKE_HELLO];
    uint8_t              *exact;

    fuzz_take(&data, &size, hello, sizeof(hello));
    fuzz_take(&data, &size, welcome, sizeof(welcome));
    exact = fuzz_copy(hello, sizeof(hello));
    if (tern_boot_handshake_read(&got, TERN_HANDSHAKE_IS_HELLO, exact)) { /* only bytes that were made with the key */
        tern_boot_handshake_write(&got, TERN_HANDSHAKE_IS_HELLO, made);
        MUST(memcmp(made, hello, sizeof(made)) == 0);
    }
    free(exact);
    exact = fuzz_copy(welcome, sizeof(welcome));
    if (tern_boot_handshake_read(&got, TERN_HANDSHAKE_IS_WELCOME, exact)) {
        tern_boot_handshake_write(&got, TERN_HANDSHAKE_IS_WELCOME, made);
        MUST(memcmp(made, welcome, sizeof(welcome)) == 0);
    }
    free(exact);
    memcpy(&greet.node, hello + 8, 4);
    memcpy(greet.node_random, hello + 16, TERN_HANDSHAKE_RANDOM);
    memcpy(greet.hub_random, welcome, TERN_HANDSHAKE_RANDOM);
    tern_boot_handshake_write(&greet, TERN_HANDSHAKE_IS_HELLO, made);
    got = (struct tern_handshake){ .key = { 7 }, .port = 4711 };
    MUST(tern_boot_handshake_read(&got, TERN_HANDSHAKE_IS_HELLO, made) && got.node == greet.node);
    MUST(memcmp(got.node_random, greet.node_random, TERN_HANDSHAKE_RANDOM) == 0);
    made[size % sizeof(made)] ^= 1;
    MUST(!tern_boot_handshake_read(&got, TERN_HANDSHAKE_IS_HELLO, made));
    return 0;
}
