/* packed.h: splitting the remote side of a transfer into batches that fit into an RPC buffer. */
#pragma once

#include "op/shape/layout.h"
#include "op/wire.h"

/* A batch: a part of a transfer that fits into an RPC buffer. */
struct tern_op_batch {
    struct wire_request request;
    const void         *list; /* dimensions or list entries */
    size_t              list_bytes;
};

/* Describe as much of the remote layout, starting at the cursor, as fits into `room` bytes: the request, the list,
 * and the data. */
void tern_op_batch_fill(struct tern_op_batch *batch, enum wire_verb verb, const struct tern_layout *remote,
                        const struct tern_cursor *cursor, size_t room);

/* Write the request and the list. Returns the number of bytes written. */
size_t tern_op_batch_write(const struct tern_op_batch *batch, unsigned char *to);
