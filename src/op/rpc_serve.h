/* rpc_serve.h: RPC requests at their target. rpc_serve.c serves puts and gets: it unpacks a section of a transfer into
 * this rank's memory, or packs a section out of it. It passes atomic operations, accumulates, steps of mutexes and
 * signals to handlers of their own. */
#pragma once

#include "op/shape/layout.h"
#include "op/wire.h"

/* A decoded request, checked as far as its own bytes permit. */
struct tern_op_rpc_request {
    enum wire_verb         verb;
    struct tern_layout     layout;
    struct tern_cursor     cursor; /* the beginning of the section */
    uint64_t               len;    /* length of the section */
    const unsigned char   *payload;
    struct tern_layout_dim dim[TERN_STRIDE_DIMS];
};

/* Decode len bytes that came from another rank. Returns false if they are malformed. A strided layout is checked to lie
 * in `size` bytes of memory; list entries are checked when they are used. *out refers to the bytes, which must stay
 * valid. */
bool tern_op_rpc_decode(const unsigned char *bytes, size_t len, uint64_t size, struct tern_op_rpc_request *out);

/* Return whether the memory of the section is present. Runs in the same pages are checked only once. Returns false if a
 * run is not in the memory. */
bool tern_op_rpc_mem_present(const struct tern_target_mem *mem, const struct tern_op_rpc_request *r);

/* A function that serves the requests with a certain verb in their first byte. It executes the request on the memory,
 * and writes a response of at most `capacity` bytes, and its length to *response_len, which is 0 on entry. Returns
 * TERN_OK, or an error if the request is not valid. tern_op_rpc_serve serves requests of all verbs; it is the function
 * `serve` of struct tern_link_up, whose contract it follows. */
typedef tern_status tern_op_rpc_handler(const struct tern_target_mem *mem, const unsigned char *request, size_t len,
                                        unsigned char *response, size_t capacity, size_t *response_len);

tern_op_rpc_handler tern_op_rpc_serve;
