/* packed.h: parts of a transfer's far side that fit into the room of an errand. */
#ifndef TERN_OP_PACKED_H
#define TERN_OP_PACKED_H

#include "op/side.h"
#include "op/wire.h"

/* A part of a transfer that fits into a room. */
struct tern_op_load {
    struct wire_request request;
    const void         *list; /* dimensions or entries */
    size_t              list_bytes;
};

/* As much of the far side from the mark on as fits into room bytes: the request, the list, and the bytes. */
void tern_op_load_up(struct tern_op_load *load, enum wire_verb verb, const struct tern_side *far,
                     const struct tern_side_mark *mark, size_t room);

/* Write request and list; returns their bytes. */
size_t tern_op_load_write(const struct tern_op_load *load, unsigned char *to);

#endif
