/* request.c: the request of an errand, as a peer may have written it: the first two bytes say how much memory this rank
 * has opened and how long the answer may be, the rest is the request.
 *
 * Promise: the target answers yes or no; it reads and writes nothing but the request, the memory that it has opened and
 * the room for the answer; and what it answers it has written. */
#include "fuzz/fuzz.h"

#include "op/rpc_serve.h"
#include "serve_world.h"

/* Pages are there, or are not: any pattern will do. */
static bool is_there(const void *addr, size_t len, bool write)
{
    fuzz_touch(addr, len);
    return write || len % 7 != 3;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tern_target_mem ground = { .base = NULL };
    uint8_t                said[2];
    size_t                 room, answered = 77;
    unsigned char         *request, *answer;
    void                  *memory = NULL;
    tern_status            st;

    serve_world_open();
    fuzz_take(&data, &size, said, sizeof(said));
    ground.size = said[0] * 8u;
    MUST(posix_memalign(&memory, 64, ground.size + 1) == 0); /* as memory of regions is */
    ground.base = memory;
    ground.is_mapped = said[1] & 1 ? is_there : NULL;
    room = said[1] * 16u;
    answer = malloc(room + 1);
    request = fuzz_copy(data, size);
    MUST(answer != NULL);
    memset(ground.base, 0, ground.size);
    st = tern_op_rpc_serve(&ground, request, size, answer, room, &answered);
    MUST(st == TERN_OK || st == TERN_ERR_LINK);
    MUST(answered <= room);
    if (st == TERN_OK)
        fuzz_touch(answer, answered);
    free(request);
    free(answer);
    free(ground.base);
    return 0;
}
