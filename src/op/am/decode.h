/* decode.h: decoding and checking the bytes of an active message, before any other code acts on them. The result
 * depends on the bytes alone. */
#pragma once

#include <stdbool.h>
#include <tern/am.h>

#include "op/wire.h"

/* A message as it arrived, not yet checked. */
struct tern_am_arrival {
    const unsigned char *head;  /* TERN_LINK_HEAD bytes */
    uint64_t             first; /* the first 8 bytes of head, read once */
    const unsigned char *data;
    size_t               len; /* length of data */
};

/* Fill in the kind, arguments and payload of the event. args is storage for arguments that are not contiguous in the
 * message. For a long message, *dest is the destination of the payload, which this function does not check;
 * event->payload points to the bytes if they came with the message, and is NULL if they are already at the destination.
 * Returns false if the message is malformed. */
bool tern_op_am_decode(const struct tern_am_arrival *arrived, uint32_t args[WIRE_AM_ARGS], tern_am_event *event,
                       struct wire_long *dest);
