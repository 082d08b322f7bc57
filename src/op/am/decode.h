/* decode.h: what an active message says, checked before anyone acts on it: a function of the bytes and nothing else. */
#ifndef TERN_OP_AM_DECODE_H
#define TERN_OP_AM_DECODE_H

#include <stdbool.h>
#include <tern/am.h>

#include "op/wire.h"

/* What came, before it is trusted. */
struct tern_am_arrival {
    const unsigned char *head;  /* TERN_LINK_HEAD bytes, */
    uint64_t             first; /* and the first of them as they were when they were looked at */
    const unsigned char *data;
    size_t               len; /* of the data */
};

/* Fill kind, arguments and payload of the event; args is room for arguments that do not lie in one piece. The payload
 * of a long message belongs where *place says, which is not checked; event->payload is the bytes if they came along,
 * NULL if they are there already. False: the message makes no sense. */
bool tern_op_am_decode(const struct tern_am_arrival *arrived, uint32_t args[TERN_AM_ARGS], tern_am_event *event,
                       struct wire_long *place);

#endif
