/* rpc_request.c: the request of an RPC from a hostile peer. The first two bytes of the input determine how much memory
 * this rank has exposed and how long the reply may be. The rest is the request.
 *
 * Promise: the target executes or refuses the request. It accesses nothing but the request, the memory that it has
 * exposed and the reply buffer, and it has written every byte of its reply. */
#include "fuzz/fuzz.h"

#include "op/rpc_serve.h"
#include "serve_world.h"

/* Some pages are exposed and others are not, in an arbitrary pattern. */
static bool is_there(const void *addr, size_t len, bool write)
{
    fuzz_touch(addr, len);
    return write || len % 7 != 3;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tern_target_mem ground = { .base = NULL };
    uint8_t                said[2];
    size_t                 space, answered = 77;
    unsigned char         *request, *answer;
    void                  *memory = NULL;
    tern_status            st;

    serve_world_open();
    fuzz_take(&data, &size, said, sizeof(said));
    ground.size = said[0] * 8u;
    MUST(posix_memalign(&memory, 64, ground.size + 1) == 0); /* aligned like the memory of regions */
    ground.base = memory;
    ground.is_mapped = said[1] & 1 ? is_there : NULL;
    space = said[1] * 16u;
    answer = malloc(space + 1);
    request = fuzz_copy(data, size);
    MUST(answer != NULL);
    memset(ground.base, 0, ground.size);
    st = tern_op_rpc_serve(&ground, request, size, answer, space, &answered);
    MUST(st == TERN_OK || st == TERN_ERR_LINK);
    MUST(answered <= space);
    if (st == TERN_OK)
        fuzz_touch(answer, answered);
    free(request);
    free(answer);
    free(ground.base);
    return 0;
}
