/* packed.h: parts of a transfer's far side that fit into the room of an errand. */
#ifndef TERN_OP_SHAPE_PACKED_H
#define TERN_OP_SHAPE_PACKED_H

#include "op/shape/layout.h"
#include "op/wire.h"

/* A part of a transfer that fits into a room. */
struct tern_op_batch {
    struct wire_request request;
    const void         *list; /* dimensions or entries */
    size_t              list_bytes;
};

/* As much of the far side from the mark on as fits into room bytes: the request, the list, and the bytes. */
void tern_op_batch_fill(struct tern_op_batch *load, enum wire_verb verb, const struct tern_layout *far,
                        const struct tern_cursor *mark, size_t room);

/* Write request and list; returns their bytes. */
size_t tern_op_batch_write(const struct tern_op_batch *load, unsigned char *to);

#endif
