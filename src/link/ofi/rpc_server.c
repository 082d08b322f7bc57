/* rpc_server.c: the target's side of RPCs.
 *
 * The thread that polls the completion queue executes the calls: a thread that waits in Tern, or the progress
 * thread. A short request with a small response or none is executed directly from the receive buffer. Every other
 * call takes one of SLOTS server slots, or waits for one. A peer has at most two slots, and a peer that has none
 * always gets one, so that a peer that does not respond delays no other peer. In a slot, a long request is read from
 * the initiator's RPC buffer, and the response is produced. A short response is sent in a message. A long response
 * is written into the initiator's buffer, and a message is sent when the write is complete. A post that the provider
 * refuses is tried again.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sanitize.h"
#include "link/ofi/ofi.h"

#define FRONT 64 /* bytes in front of a response, which end with the header of its message */
_Static_assert(OFI_WIRE_RPC_RESPONSE <= FRONT, "the headers fit in front of the response");
#define MAX_CALLS 64 /* calls of one peer: no process has more buffers for one peer, large and small together */
#define SLOTS 4
#define SLOTS_PER_PEER 2
#define SLOT_ACCESS (FI_SEND | FI_READ | FI_WRITE)

static void slot_step(struct ofi_link *ofi, struct ofi_rpc_slot *slot);

/* ---- slots ---- */

static size_t slot_size(const struct ofi_link *ofi)
{
    return tern_base_round_up(ofi->rpc.buf_bytes, 64) + 2 * FRONT;
}

static struct ofi_rpc_slot *slot_make(struct ofi_link *ofi)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_slot *slot = calloc(1, sizeof(*slot));
    void                *memory;

    if (!slot)
        return NULL;
    memory = mmap(NULL, slot_size(ofi), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED ||
        (ofi->endpoint.mr_local && tern_ofi_register(ofi, memory, slot_size(ofi), SLOT_ACCESS, &slot->mr) < 0)) {
        if (memory != MAP_FAILED)
            munmap(memory, slot_size(ofi));
        free(slot);
        return NULL;
    }
    slot->bytes = memory;
    slot->made = e->newest_slot;
    e->newest_slot = slot;
    e->slots++;
    return slot;
}

/* Returns a slot for the peer, or NULL if none is available. */
static struct ofi_rpc_slot *slot_take(struct ofi_link *ofi, struct ofi_peer *peer)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_slot *slot = e->free_slots;

    if (peer->rpc_slots >= SLOTS_PER_PEER)
        return NULL;
    if (slot)
        e->free_slots = slot->next;
    else if (e->slots < SLOTS || peer->rpc_slots == 0)
        slot = slot_make(ofi);
    if (slot)
        peer->rpc_slots++;
    return slot;
}

static void calls_free(struct ofi_rpc_call *call)
{
    while (call) {
        struct ofi_rpc_call *next = call->next;
        free(call);
        call = next;
    }
}

void tern_ofi_rpc_server_unregister(struct ofi_link *ofi)
{
    for (struct ofi_rpc_slot *slot = ofi->rpc.newest_slot; slot; slot = slot->made)
        tern_ofi_unregister(&slot->mr);
}

void tern_ofi_rpc_server_close(struct ofi_link *ofi)
{
    struct ofi_rpc *e = &ofi->rpc;

    while (e->newest_slot) {
        struct ofi_rpc_slot *slot = e->newest_slot;

        e->newest_slot = slot->made;
        tern_ofi_unregister(&slot->mr);
        munmap(slot->bytes, slot_size(ofi));
        free(slot->call);
        free(slot);
    }
    calls_free(e->calls);
    calls_free(e->responses);
}

static void *slot_desc(const struct ofi_rpc_slot *slot)
{
    return slot->mr ? fi_mr_desc(slot->mr) : NULL;
}

/* Free a call that has been answered, or whose response cannot be sent. */
static void call_end(struct ofi_rpc_call *call)
{
    call->peer->rpc_calls--;
    free(call);
}

static void slot_end(struct ofi_link *ofi, struct ofi_rpc_slot *slot)
{
    slot->call->peer->rpc_slots--;
    call_end(slot->call);
    slot->call = NULL;
    slot->next = ofi->rpc.free_slots;
    ofi->rpc.free_slots = slot;
}

/* Returns the place in the slot where the response is produced. */
static unsigned char *response_at(const struct ofi_rpc_slot *slot)
{
    return slot->bytes + tern_link_response_at(slot->call->request_head.len) + FRONT;
}

/* ---- execution ---- */

/* Execute the request: set call->response, and write the response. */
static void serve(struct ofi_link *ofi, struct ofi_rpc_call *call, const unsigned char *request,
                  unsigned char *response)
{
    struct tern_target_mem    target = { .base = NULL };
    const struct ofi_exposed *entry = ofi->exposed;
    size_t                    answered = 0;

    while (entry && entry->region != call->request_head.region)
        entry = entry->next;
    call->response = (struct ofi_rpc_response){ .status = TERN_ERR_LINK };
    if (!entry)
        return;
    target.base = (unsigned char *)(uintptr_t)entry->addr;
    target.size = entry->size;
    target.origin = entry->origin;
    /* The call is ordered with the accesses of the program's threads before and after a barrier with the peer. */
    tern_base_order_after_peers();
    call->response.status =
        ofi->up->serve(&target, request, call->request_head.len, response, call->request_head.expect, &answered);
    tern_base_order_before_peers();
    tern_ofi_ring(ofi); /* a thread of the program may wait for a value that the call has changed */
    call->response.len = call->response.status == TERN_OK ? (uint32_t)answered : 0;
}

/* Write the header of the response message. Returns its length. */
static size_t write_head(const struct ofi_link *ofi, const struct ofi_rpc_call *call, unsigned char *to)
{
    struct ofi_header header = { .token = call->peer->token_out,
                                 .from_kind = (uint32_t)ofi->rank << 8 | OFI_RPC_RESPONSE,
                                 .seq = call->number,
                                 .ack = call->uses };

    memcpy(to, &header, sizeof(header));
    memcpy(to + sizeof(header), &call->response, sizeof(call->response));
    return OFI_WIRE_RPC_RESPONSE;
}

/* Send a response message that carries no response data. */
static ssize_t send_bare(struct ofi_link *ofi, const struct ofi_rpc_call *call)
{
    unsigned char bytes[OFI_WIRE_RPC_RESPONSE];
    size_t        len = write_head(ofi, call, bytes);

    return tern_ofi_send_copy(ofi, call->peer, bytes, len);
}

/* Send a response message that carries a small response. */
static ssize_t send_small(struct ofi_link *ofi, const struct ofi_rpc_call *call, const unsigned char *response)
{
    unsigned char bytes[OFI_WIRE_RPC_RESPONSE + TERN_LINK_SMALL];
    size_t        len = write_head(ofi, call, bytes);

    memcpy(bytes + len, response, call->response.len);
    return tern_ofi_send_copy(ofi, call->peer, bytes, len + call->response.len);
}

/* ---- the steps of a call in a slot ---- */

static ssize_t step_tell(struct ofi_link *ofi, struct ofi_rpc_slot *slot);

/* A step failed: send the error to the peer, unless that send is what failed. The peer detects a broken
 * connection itself. */
static void slot_fail(struct ofi_link *ofi, struct ofi_rpc_slot *slot)
{
    if (slot->telling) {
        slot_end(ofi, slot);
        return;
    }
    slot->call->response = (struct ofi_rpc_response){ .status = TERN_ERR_LINK };
    slot->step = step_tell;
    slot_step(ofi, slot);
}

/* The operation of a step has completed: continue with the next step. */
static void step_ended(struct ofi_link *ofi, struct ofi_comp_ctx *comp_ctx, const struct ofi_comp *comp)
{
    struct ofi_rpc_slot *slot = (struct ofi_rpc_slot *)comp_ctx;

    if (comp->error != 0)
        slot_fail(ofi, slot);
    else
        slot_step(ofi, slot);
}

static ssize_t step_over(struct ofi_link *ofi, struct ofi_rpc_slot *slot)
{
    slot_end(ofi, slot);
    return 0;
}

/* Tell the peer that its response is in its buffer, is empty, or that the call failed. */
static ssize_t step_tell(struct ofi_link *ofi, struct ofi_rpc_slot *slot)
{
    ssize_t rc = send_bare(ofi, slot->call);

    slot->telling = true;
    if (rc == 0)
        slot_end(ofi, slot);
    return rc;
}

/* Send a short response in the message. */
static ssize_t step_send(struct ofi_link *ofi, struct ofi_rpc_slot *slot)
{
    unsigned char *message = response_at(slot) - OFI_WIRE_RPC_RESPONSE;
    size_t         len = write_head(ofi, slot->call, message) + slot->call->response.len;
    ssize_t        rc;

    slot->step = step_over;
    slot->telling = true;
    rc = fi_send(ofi->endpoint.ep, message, len, slot_desc(slot), slot->call->peer->addr, &slot->comp_ctx.context);
    if (rc != 0)
        slot->step = step_send;
    return rc;
}

/* Flush a write with a read, if the provider does not report delivery. */
static ssize_t step_flush(struct ofi_link *ofi, struct ofi_rpc_slot *slot)
{
    const struct ofi_rpc_request *e = &slot->call->request_head;
    uint64_t                      last = e->addr + tern_link_response_at(e->len) + slot->call->response.len - 1;
    ssize_t                       rc;

    slot->step = step_tell;
    rc = fi_read(ofi->endpoint.ep, slot->bytes, 1, slot_desc(slot), slot->call->peer->addr, last, e->key,
                 &slot->comp_ctx.context);
    if (rc != 0)
        slot->step = step_flush;
    return rc;
}

static ssize_t step_write(struct ofi_link *ofi, struct ofi_rpc_slot *slot)
{
    const struct ofi_rpc_request *e = &slot->call->request_head;
    void                         *desc = slot_desc(slot);
    struct iovec                  here = { response_at(slot), slot->call->response.len };
    struct fi_rma_iov there = { .addr = e->addr + tern_link_response_at(e->len), .len = here.iov_len, .key = e->key };
    struct fi_msg_rma msg = { .msg_iov = &here,
                              .desc = &desc,
                              .iov_count = 1,
                              .addr = slot->call->peer->addr,
                              .rma_iov = &there,
                              .rma_iov_count = 1,
                              .context = &slot->comp_ctx.context };
    ssize_t           rc;

    slot->step = ofi->endpoint.delivers ? step_tell : step_flush;
    rc = fi_writemsg(ofi->endpoint.ep, &msg, FI_COMPLETION | (ofi->endpoint.delivers ? FI_DELIVERY_COMPLETE : 0));
    if (rc != 0)
        slot->step = step_write;
    return rc;
}

/* The request is available: execute it, and continue according to the length of the response. */
static ssize_t step_serve(struct ofi_link *ofi, struct ofi_rpc_slot *slot)
{
    struct ofi_rpc_call *call = slot->call;

    serve(ofi, call, call->fetch ? slot->bytes : call->request, response_at(slot));
    slot->step = call->response.len == 0                     ? step_tell
                 : call->response.len <= OFI_WIRE_INLINE_MAX ? step_send
                                                             : step_write;
    return slot->step(ofi, slot);
}

static ssize_t step_fetch(struct ofi_link *ofi, struct ofi_rpc_slot *slot)
{
    const struct ofi_rpc_request *e = &slot->call->request_head;
    ssize_t                       rc;

    slot->step = step_serve;
    rc = fi_read(ofi->endpoint.ep, slot->bytes, e->len, slot_desc(slot), slot->call->peer->addr, e->addr, e->key,
                 &slot->comp_ctx.context);
    if (rc != 0)
        slot->step = step_fetch;
    return rc;
}

/* Perform the next step. If the provider is busy, the slot goes onto the list of stuck slots. */
static void slot_step(struct ofi_link *ofi, struct ofi_rpc_slot *slot)
{
    tern_status st = tern_ofi_address(ofi, slot->call->peer);
    ssize_t     rc = st == TERN_OK ? slot->step(ofi, slot) : st == TERN_AGAIN ? -FI_EAGAIN : -FI_EADDRNOTAVAIL;

    if (rc == -FI_EAGAIN) {
        slot->next = ofi->rpc.stuck;
        ofi->rpc.stuck = slot;
    } else if (rc != 0) {
        slot_fail(ofi, slot);
    }
}

/* ---- calls ---- */

static struct ofi_rpc_call *call_make(struct ofi_peer *peer, const struct ofi_decoded *decoded,
                                      const unsigned char *request)
{
    /* A small response is stored in place of the request. */
    size_t               capacity = decoded->len > TERN_LINK_SMALL ? decoded->len : TERN_LINK_SMALL;
    struct ofi_rpc_call *call = malloc(sizeof(*call) + capacity);

    if (!call)
        return NULL;
    *call = (struct ofi_rpc_call){ .peer = peer,
                                   .request_head = decoded->rpc_request,
                                   .number = decoded->header.seq,
                                   .uses = decoded->header.ack,
                                   .fetch = decoded->kind == OFI_FETCH_RPC };
    memcpy(call->request, request, decoded->len);
    peer->rpc_calls++;
    return call;
}

static void enqueue(struct ofi_rpc_call ***end, struct ofi_rpc_call *call)
{
    call->next = NULL;
    **end = call;
    *end = &call->next;
}

/* Start the waiting calls that get a slot. The calls of one peer start in the order of their arrival. */
static void assign_slots(struct ofi_link *ofi)
{
    struct ofi_rpc       *e = &ofi->rpc;
    struct ofi_rpc_call **at = &e->calls, *call;
    struct ofi_rpc_slot  *slot;

    while ((call = *at)) {
        if (!(slot = slot_take(ofi, call->peer))) {
            at = &call->next;
            continue;
        }
        *at = call->next;
        if (!*at)
            e->calls_end = at;
        slot->call = call;
        slot->comp_ctx.ended = step_ended;
        slot->telling = false;
        slot->step = call->fetch ? step_fetch : step_serve;
        slot_step(ofi, slot);
    }
}

/* Execute a call that needs no slot directly from the receive buffer. A response that cannot be sent now is stored
 * in place of the request in a record of the call. Returns false if there is no memory. */
static bool serve_at_once(struct ofi_link *ofi, struct ofi_peer *peer, const struct ofi_decoded *decoded,
                          const unsigned char *request)
{
    struct ofi_rpc_call call = {
        .peer = peer, .request_head = decoded->rpc_request, .number = decoded->header.seq, .uses = decoded->header.ack
    };
    unsigned char        response[TERN_LINK_SMALL];
    struct ofi_rpc_call *later;
    tern_status          st = tern_ofi_address(ofi, peer);

    serve(ofi, &call, request, response);
    if (st < 0 || (st == TERN_OK && !ofi->rpc.responses && send_small(ofi, &call, response) != -FI_EAGAIN))
        return true; /* the peer detects a broken connection itself */
    if (!(later = call_make(peer, decoded, request)))
        return false;
    later->response = call.response;
    memcpy(later->request, response, call.response.len);
    enqueue(&ofi->rpc.responses_end, later);
    return true;
}

/* Returns true if the request is in the message, and the response is empty or so small that the provider copies it
 * when it is sent (inject). */
static bool is_small(const struct ofi_link *ofi, const struct ofi_decoded *decoded)
{
    size_t expect = decoded->rpc_request.expect;

    return decoded->kind == OFI_RPC &&
           (expect == 0 || (expect <= TERN_LINK_SMALL && OFI_WIRE_RPC_RESPONSE + expect <= ofi->endpoint.inject));
}

bool tern_ofi_rpc_serve(struct ofi_link *ofi, struct ofi_peer *peer, const struct ofi_decoded *decoded,
                        const unsigned char *request)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_call *call;

    if (!e->calls_end) {
        e->calls_end = &e->calls;
        e->responses_end = &e->responses;
    }
    if (peer->rpc_calls >= MAX_CALLS || decoded->rpc_request.len > e->buf_bytes ||
        decoded->rpc_request.expect > e->buf_bytes ||
        tern_link_response_at(decoded->rpc_request.len) + decoded->rpc_request.expect > e->buf_bytes)
        return false;
    if (is_small(ofi, decoded))
        return serve_at_once(ofi, peer, decoded, request);
    if (!(call = call_make(peer, decoded, request)))
        return false;
    enqueue(&e->calls_end, call);
    assign_slots(ofi);
    return true;
}

bool tern_ofi_rpc_server_waits(const struct ofi_link *ofi)
{
    const struct ofi_rpc *e = &ofi->rpc;

    return e->responses || e->stuck || e->calls;
}

void tern_ofi_rpc_server_pump(struct ofi_link *ofi)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_slot *slot = e->stuck, *next;

    while (e->responses) {
        struct ofi_rpc_call *call = e->responses;
        tern_status          st = tern_ofi_address(ofi, call->peer);

        if (st == TERN_AGAIN || (st == TERN_OK && send_small(ofi, call, call->request) == -FI_EAGAIN))
            break;
        if (!(e->responses = call->next))
            e->responses_end = &e->responses;
        call_end(call);
    }
    e->stuck = NULL;
    for (; slot; slot = next) {
        next = slot->next;
        slot_step(ofi, slot);
    }
    assign_slots(ofi);
}
