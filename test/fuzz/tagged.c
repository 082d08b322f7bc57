/* tagged.c: a tagged message from a peer. The first 48 bytes of the input are the header, the rest is the data.
 *
 * Promise: the contents of an accepted message lie within the bytes that were received, and an RTS announces as many
 * bytes as its memory handle covers. */
#include "fuzz/fuzz.h"

#include "op/tagged/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char             *head = malloc(TERN_LINK_HEAD), *rest;
    struct tern_tagged_arrival come;

    MUST(head != NULL);
    fuzz_take(&data, &size, head, TERN_LINK_HEAD);
    rest = fuzz_copy(data, size);
    memset(&come, 0x77, sizeof(come));
    if (tern_op_tagged_decode(head, size > 0 ? rest : NULL, size, &come)) {
        MUST(come.name.tag <= (uint64_t)TERN_TAG_MAX && come.name.class == 0);
        MUST(come.bytes <= come.len && (come.handle.size == 0 || come.handle.size == come.len));
        MUST(come.handle.size > 0 || come.bytes == come.len);
        if (come.bytes > 0)
            fuzz_touch(come.data, come.bytes);
    }
    free(rest);
    free(head);
    return 0;
}
