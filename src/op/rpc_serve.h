/* rpc_serve.h: errands at their target: a part of a transfer is unpacked into this rank's memory, or packed out of
 * it; what is computed there is served by others, whom rpc_serve.c knows. */
#ifndef TERN_OP_RPC_SERVE_H
#define TERN_OP_RPC_SERVE_H

#include "op/shape/layout.h"
#include "op/wire.h"

/* A request that makes sense, as far as its own bytes tell. */
struct tern_op_rpc_request {
    enum wire_verb         verb;
    struct tern_layout     layout;
    struct tern_cursor     cursor; /* where the part begins */
    uint64_t               len;    /* its bytes */
    const unsigned char   *payload;
    struct tern_layout_dim dim[TERN_STRIDE_DIMS];
};

/* Read len bytes that came from another rank; false: they make no sense. A strided side lies in size bytes of memory;
 * the entries of lists are checked when they are used. out points into the bytes. */
bool tern_op_rpc_decode(const unsigned char *bytes, size_t len, uint64_t size, struct tern_op_rpc_request *out);

/* Whether the memory of the part is there; asked for once where runs lie in the same pages. */
bool tern_op_rpc_mem_present(const struct tern_target_mem *ground, const struct tern_op_rpc_request *r);

/* Serve a request whose first byte is a certain verb: as the slot of tern_link_up, which is tern_op_rpc_serve.
 * *answered is 0 before. */
typedef tern_status tern_op_rpc_handler(const struct tern_target_mem *ground, const unsigned char *request, size_t len,
                                        unsigned char *answer, size_t room, size_t *answered);

tern_op_rpc_handler tern_op_rpc_serve;

#endif
