/* am.c: an active message from a peer. The first 48 bytes of the input are the header, the rest is the data.
 *
 * Promise: the arguments, the payload and the target address of a message that the decoder accepts lie within the bytes
 * that were received. */
#include "fuzz/fuzz.h"

#include "op/am/decode.h"

/* Whether messages with this handler have an argument more, which names their client or their team. */
static bool is_named(unsigned handler)
{
    return handler == WIRE_AM_CLIENT || handler == WIRE_AM_HELPED || handler >> WIRE_TEAM_SHIFT == WIRE_TEAM_NAMED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char         *head = malloc(TERN_LINK_HEAD), *rest;
    uint32_t               args[WIRE_AM_ARGS];
    tern_am_event          event;
    struct wire_long       dest = { 0, 0, 0 };
    struct tern_am_arrival arrived = { .head = head };

    MUST(head != NULL);
    fuzz_take(&data, &size, head, TERN_LINK_HEAD);
    memcpy(&arrived.first, head, sizeof(arrived.first));
    rest = fuzz_copy(data, size);
    arrived.data = size > 0 ? rest : NULL;
    arrived.len = size;
    memset(&event, 0x77, sizeof(event));
    if (tern_op_am_decode(&arrived, args, &event, &dest)) {
        MUST(event.nargs <= (is_named(wire_handler(arrived.first)) ? WIRE_AM_ARGS : TERN_AM_ARGS));
        fuzz_touch(event.args, event.nargs * sizeof(uint32_t));
        MUST(event.kind == TERN_AM_SHORT || event.kind == TERN_AM_MEDIUM || event.kind == TERN_AM_LONG);
        MUST(event.kind != TERN_AM_SHORT || (event.len == 0 && event.payload == NULL));
        MUST(event.kind != TERN_AM_LONG || event.len == dest.len);
        if (event.payload)
            fuzz_touch(event.payload, event.len);
    }
    free(rest);
    free(head);
    return 0;
}
