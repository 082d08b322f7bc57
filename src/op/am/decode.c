/* decode.c: decoding active messages. The sender may be hostile, and may change the message while it is read. The head
 * is therefore read once, and its contents are compared with the lengths that the link reports. */
#include "op/am/decode.h"

#include <string.h>

#include "base/bits.h"
#include "base/read_once.h"
#include "base/status.h"

/* Return the payload; NULL: the payload does not lie within the message. */
static const unsigned char *find_payload(const struct tern_am_arrival *a, unsigned location, size_t len)
{
    if (wire_in_head(location))
        return tern_base_covers(TERN_LINK_HEAD, location * sizeof(uint32_t), len)
                   ? a->head + location * sizeof(uint32_t)
                   : NULL;
    if (len == 0)
        return a->head;
    return tern_base_covers(a->len, wire_before(location), len) ? a->data + wire_before(location) : NULL;
}

/* Return the maximum number of arguments. A message that names its client or its team has one argument more for the
 * name. */
static unsigned most_args(unsigned handler)
{
    return handler == WIRE_AM_CLIENT || handler == WIRE_AM_HELPED || handler >> WIRE_TEAM_SHIFT == WIRE_TEAM_NAMED
               ? WIRE_AM_ARGS
               : TERN_AM_ARGS;
}

/* Make the arguments contiguous, because arguments that do not fit into the head are in the data. Returns false if the
 * message is malformed. */
static bool read_args(const struct tern_am_arrival *a, unsigned nargs, uint32_t *space, tern_am_event *event)
{
    const unsigned char *args = a->head + sizeof(struct wire_am);
    size_t               spilt = nargs > WIRE_ARGS ? (nargs - WIRE_ARGS) * sizeof(uint32_t) : 0;

    event->nargs = nargs;
    event->args = (const uint32_t *)(const void *)args;
    if (TERN_LIKELY(spilt == 0))
        return true;
    if (nargs > most_args(wire_handler(a->first)) || spilt > a->len)
        return false;
    memcpy(space, args, WIRE_ARGS * sizeof(uint32_t));
    memcpy(space + WIRE_ARGS, a->data, spilt);
    event->args = space;
    return true;
}

/* Decode a message with payload. */
static bool read_payload(const struct tern_am_arrival *a, const struct wire_am *head, tern_am_event *event,
                         struct wire_long *dest)
{
    const unsigned char *payload = find_payload(a, head->shape >> 2, head->len);

    if (!payload)
        return false;
    event->payload = (void *)(uintptr_t)payload;
    event->len = head->len;
    if (event->kind == TERN_AM_MEDIUM)
        return true;
    if (head->len != sizeof(*dest))
        return false;
    tern_base_copy_once(dest, payload, sizeof(*dest));
    event->payload = NULL;
    event->len = dest->len;
    if (event->kind == TERN_AM_LONG)
        return true;
    event->kind = TERN_AM_LONG; /* WIRE_CARRIED */
    if (!tern_base_covers(a->len, WIRE_STAGE, dest->len))
        return false;
    event->payload = (void *)(uintptr_t)(a->data + WIRE_STAGE);
    return true;
}

bool tern_op_am_decode(const struct tern_am_arrival *a, uint32_t args[WIRE_AM_ARGS], tern_am_event *event,
                       struct wire_long *dest)
{
    struct wire_am head = wire_head(a->first);

    event->kind = (tern_am_kind)(head.shape & 3); /* or WIRE_CARRIED */
    event->payload = NULL;
    event->len = 0;
    if (!read_args(a, head.nargs, args, event))
        return false;
    return event->kind == TERN_AM_SHORT ? head.len == 0 : read_payload(a, &head, event, dest);
}
