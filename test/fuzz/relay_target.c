/* relay_target.c: the addresses of rank 0 of a job on several nodes, as the other nodes read them.
 *
 * Promise: an accepted record has a port, at least one address, and terminated texts. */
#include "fuzz/fuzz.h"

#include "boot/relay_connect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char                    *text = fuzz_text(data, size);
    struct tern_relay_target target;

    memset(&target, 0x77, sizeof(target));
    if (tern_boot_relay_target_decode(text, &target)) {
        MUST(target.port > 0 && target.port < 65536 && target.count >= 1 && target.count <= TERN_RELAY_ADDRESSES);
        for (int i = 0; i < target.count; i++)
            MUST(strnlen(target.address[i], TERN_RELAY_ADDRESS) < TERN_RELAY_ADDRESS);
    }
    free(text);
    return 0;
}
