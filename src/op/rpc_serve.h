/* rpc_serve.h: RPC requests at their target. Transfers are served here: a section of a transfer is unpacked into this
 * rank's memory, or packed out of it. Atomic operations, accumulates and mutexes have handlers of their own, which
 * rpc_serve.c dispatches to. */
#pragma once

#include "op/shape/layout.h"
#include "op/wire.h"

/* A decoded request, checked as far as its own bytes permit. */
struct tern_op_rpc_request {
    enum wire_verb         verb;
    struct tern_layout     layout;
    struct tern_cursor     cursor; /* where the section begins */
    uint64_t               len;    /* length of the section */
    const unsigned char   *payload;
    struct tern_layout_dim dim[TERN_STRIDE_DIMS];
};

/* Decode len bytes that came from another rank. Returns false if they are malformed. A strided layout is checked to lie
 * in size bytes of memory; list entries are checked when they are used. out points into the bytes. */
bool tern_op_rpc_decode(const unsigned char *bytes, size_t len, uint64_t size, struct tern_op_rpc_request *out);

/* Whether the memory of the section is present. Runs in the same pages are checked only once. */
bool tern_op_rpc_mem_present(const struct tern_target_mem *mem, const struct tern_op_rpc_request *r);

/* Serve a request whose first byte is a certain verb. The contract is that of the slot of tern_link_up, which is
 * tern_op_rpc_serve. *response_len is 0 on entry. */
typedef tern_status tern_op_rpc_handler(const struct tern_target_mem *mem, const unsigned char *request, size_t len,
                                        unsigned char *response, size_t capacity, size_t *response_len);

tern_op_rpc_handler tern_op_rpc_serve;
