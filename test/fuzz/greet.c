/* greet.c: what the two sides of a connection between nodes say before they have proved themselves.
 *
 * Promise: bytes that were not made with the job's key are no HELLO and no WELCOME; those that were are, and bring what
 * was put into them. */
#include "fuzz/fuzz.h"

#include "boot/greet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tern_greet greet = { .key = { 7 }, .port = 4711 }, got = greet;
    uint8_t           hello[TERN_GREET_HELLO], welcome[TERN_GREET_WELCOME], made[TERN_GREET_HELLO];
    uint8_t          *exact;

    fuzz_take(&data, &size, hello, sizeof(hello));
    fuzz_take(&data, &size, welcome, sizeof(welcome));
    exact = fuzz_copy(hello, sizeof(hello));
    if (tern_boot_greet_read_hello(&got, exact)) { /* none but what the key makes */
        tern_boot_greet_hello(&got, made);
        MUST(memcmp(made, hello, sizeof(made)) == 0);
    }
    free(exact);
    exact = fuzz_copy(welcome, sizeof(welcome));
    if (tern_boot_greet_read_welcome(&got, exact)) {
        tern_boot_greet_welcome(&got, made);
        MUST(memcmp(made, welcome, sizeof(welcome)) == 0);
    }
    free(exact);
    memcpy(&greet.node, hello + 8, 4);
    memcpy(greet.node_random, hello + 16, TERN_GREET_RANDOM);
    memcpy(greet.hub_random, welcome, TERN_GREET_RANDOM);
    tern_boot_greet_hello(&greet, made);
    got = (struct tern_greet){ .key = { 7 }, .port = 4711 };
    MUST(tern_boot_greet_read_hello(&got, made) && got.node == greet.node);
    MUST(memcmp(got.node_random, greet.node_random, TERN_GREET_RANDOM) == 0);
    made[size % sizeof(made)] ^= 1;
    MUST(!tern_boot_greet_read_hello(&got, made));
    return 0;
}
