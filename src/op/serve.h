/* serve.h: errands at their target: a part of a transfer is unpacked into this rank's memory, or packed out of it; what
 * is computed there is served by others, whom serve.c knows. */
#ifndef TERN_OP_SERVE_H
#define TERN_OP_SERVE_H

#include "op/side.h"
#include "op/wire.h"

/* A request that makes sense, as far as its own bytes tell. */
struct tern_op_request {
    enum wire_verb        verb;
    struct tern_side      side;
    struct tern_side_mark mark; /* where the part begins */
    uint64_t              len;  /* its bytes */
    const unsigned char  *payload;
    struct tern_side_dim  dim[TERN_STRIDE_DIMS];
};

/* Read len bytes that came from another rank; false: they make no sense. A strided side lies in size bytes of memory;
 * the entries of lists are checked when they are used. out points into the bytes. */
bool tern_op_request_read(const unsigned char *bytes, size_t len, uint64_t size, struct tern_op_request *out);

/* Whether the memory of the part is there; asked for once where runs lie in the same pages. */
bool tern_op_request_there(const struct tern_link_ground *ground, const struct tern_op_request *r);

/* Serve a request whose first byte is a certain verb: as the slot of tern_link_up, which is tern_op_serve. *answered is
 * 0 before. */
typedef tern_status tern_op_server(const struct tern_link_ground *ground, const unsigned char *request, size_t len,
                                   unsigned char *answer, size_t room, size_t *answered);

tern_op_server tern_op_serve;

#endif
