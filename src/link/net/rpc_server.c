/* rpc_server.c: the target's side of RPCs.
 *
 * The thread that polls the completion queue executes the calls: a thread that waits in Tern, or the progress
 * thread. A short request with a small response or none is executed directly from the receive buffer. Every other
 * call takes one of SLOTS server slots, or waits for one. A peer has at most two slots, and a peer that has none
 * always gets one, so that a peer that does not respond delays no other peer. In a slot, a long request is read from
 * the initiator's RPC buffer, and the response is produced. A short response is sent in a message. A long response
 * is written into the initiator's buffer, and a message is sent when the write is complete.
 *
 * The steps of a call are the post functions of its completion context. So a step that the network refuses, and a call
 * that waits for a slot, are in the retry queue.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sanitize.h"
#include "link/net/net.h"

#define FRONT 64 /* bytes in front of a response, which end with the header of its message */
_Static_assert(NET_WIRE_RPC_RESPONSE <= FRONT, "the headers fit in front of the response");
#define MAX_CALLS 64 /* calls of one peer: no process has more buffers for one peer, large and small together */
#define SLOTS 4
#define SLOTS_PER_PEER 2

/* An RPC that a peer has sent to this rank. */
struct call {
    struct net_ctx          ctx;  /* must be first; of the outstanding read, write or send */
    struct tern_list        node; /* on the list of all calls */
    struct net_rpc_request  head;
    struct net_rpc_response response;
    struct net_rpc_slot    *slot;         /* NULL: none */
    uint16_t                number, uses; /* of the peer's buffer */
    bool                    fetch;        /* the request must be read from the peer's buffer */
    bool                    small;        /* the response is small and in place of the request */
    bool                    telling;      /* the last message of the call is being sent */
    unsigned char           request[];    /* the request, if the message carried it; later a small response */
};

/* ---- slots ---- */

/* Returns a slot for the peer, or NULL if none is available. */
static struct net_rpc_slot *slot_take(struct net_link *net, struct net_peer *peer)
{
    struct net_rpc      *e = &net->rpc;
    struct net_rpc_slot *slot = e->free_slots;

    if (peer->rpc_slots >= SLOTS_PER_PEER || (!slot && e->slots >= SLOTS && peer->rpc_slots > 0))
        return NULL;
    if (slot) {
        e->free_slots = slot->next;
    } else if (!(slot = calloc(1, sizeof(*slot))) ||
               tern_net_memory_make(net, tern_base_round_up(e->buf_bytes, 64) + (size_t)2 * FRONT, 0, &slot->mr) < 0) {
        free(slot);
        return NULL;
    } else {
        e->slots++;
    }
    peer->rpc_slots++;
    return slot;
}

static void slot_free(struct net_rpc *e, struct net_rpc_slot *slot)
{
    slot->next = e->free_slots;
    e->free_slots = slot;
}

void tern_net_rpc_server_close(struct net_link *net)
{
    struct net_rpc_slot *slot;

    TERN_LIST_EACH(struct call, call, &net->rpc.calls, node) {
        if (call->slot)
            slot_free(&net->rpc, call->slot);
        free(call);
    }
    while ((slot = net->rpc.free_slots)) {
        net->rpc.free_slots = slot->next;
        tern_net_memory_free(net, &slot->mr);
        free(slot);
    }
}

/* Returns the place in the slot where the response is produced. */
static unsigned char *response_at(const struct call *call)
{
    return call->slot->mr.bytes + tern_link_response_at(call->head.len) + FRONT;
}

/* ---- execution ---- */

/* Execute the request: set call->response, and write the response. */
static void serve(struct net_link *net, struct call *call, const unsigned char *request, unsigned char *response)
{
    const struct tern_link_exposed *entry = tern_link_exposed_find(&net->exposed, call->head.region);
    size_t                          answered = 0;

    call->response = (struct net_rpc_response){ .status = TERN_ERR_LINK };
    if (!entry)
        return;
    /* The call is ordered with the accesses of the program's threads before and after a barrier with the peer. */
    tern_base_order_after_peers();
    call->response.status =
        net->up->serve(&entry->mem, request, call->head.len, response, call->head.expect, &answered);
    tern_base_order_before_peers();
    tern_net_ring(net); /* a thread of the program may wait for a value that the call has changed */
    call->response.len = call->response.status == TERN_OK ? (uint32_t)answered : 0;
}

/* Write the header of the response message. Returns its length. */
static size_t write_head(const struct net_link *net, const struct call *call, unsigned char *to)
{
    struct net_header header = tern_net_header(net, call->ctx.peer, NET_RPC_RESPONSE, call->number, call->uses);

    memcpy(to, &header, sizeof(header));
    memcpy(to + sizeof(header), &call->response, sizeof(call->response));
    return NET_WIRE_RPC_RESPONSE;
}

/* Send a response message with len <= TERN_LINK_SMALL bytes of response. */
static int send_small(struct net_link *net, const struct call *call, const unsigned char *response, size_t len)
{
    unsigned char bytes[NET_WIRE_RPC_RESPONSE + TERN_LINK_SMALL];
    size_t        head = write_head(net, call, bytes);

    _Static_assert(sizeof(bytes) <= NET_INJECT, "the response can be injected");
    memcpy(bytes + head, response, len);
    return net->verbs->inject(net, call->ctx.peer, bytes, head + len);
}

/* ---- the steps of a call ---- */

/* End a call that has been answered, or whose response cannot be sent. */
static void call_end(struct net_link *net, struct call *call)
{
    if (call->slot) {
        call->ctx.peer->rpc_slots--;
        slot_free(&net->rpc, call->slot);
    }
    call->ctx.peer->rpc_calls--;
    tern_base_list_remove(&call->node);
    free(call);
}

/* Send a small response, or tell the peer that its response is in its buffer, is empty, or that the call failed. */
static int step_tell(struct net_link *net, struct net_ctx *ctx)
{
    struct call *call = (struct call *)ctx;
    int          rc = send_small(net, call, call->request, call->small ? call->response.len : 0);

    call->telling = true;
    if (rc == 0)
        call_end(net, call);
    return rc;
}

/* Send a short response from the slot. */
static int step_send(struct net_link *net, struct net_ctx *ctx)
{
    struct call   *call = (struct call *)ctx;
    unsigned char *message = response_at(call) - NET_WIRE_RPC_RESPONSE;
    size_t         len = write_head(net, call, message) + call->response.len;

    call->telling = true;
    return net->verbs->send(net, ctx, message, len, &call->slot->mr);
}

/* Start the operation of a step. The next step follows when the operation has completed. */
static int then(struct net_ctx *ctx, int rc, net_post_fn *next)
{
    if (rc == 0)
        ctx->post = next;
    return rc;
}

/* Flush a write with a read of its last byte, if the network does not report delivery. */
static int step_flush(struct net_link *net, struct net_ctx *ctx)
{
    const struct call *call = (struct call *)ctx;
    struct net_remote  last = { .key = call->head.key, .len = 1 };

    last.addr = call->head.addr + tern_link_response_at(call->head.len) + call->response.len - 1;
    return then(ctx, net->verbs->rma(net, ctx, true, call->slot->mr.bytes, &call->slot->mr, &last), step_tell);
}

static int step_write(struct net_link *net, struct net_ctx *ctx)
{
    const struct call *call = (struct call *)ctx;
    struct net_remote  to = { .key = call->head.key, .len = call->response.len };

    to.addr = call->head.addr + tern_link_response_at(call->head.len);
    return then(ctx, net->verbs->rma(net, ctx, false, response_at(call), &call->slot->mr, &to),
                net->delivers ? step_tell : step_flush);
}

/* The request is available: execute it, and continue according to the length of the response. */
static int step_serve(struct net_link *net, struct net_ctx *ctx)
{
    struct call *call = (struct call *)ctx;

    serve(net, call, call->fetch ? call->slot->mr.bytes : call->request, response_at(call));
    ctx->post = call->response.len == 0                     ? step_tell
                : call->response.len <= NET_WIRE_INLINE_MAX ? step_send
                                                            : step_write;
    return ctx->post(net, ctx);
}

static int step_fetch(struct net_link *net, struct net_ctx *ctx)
{
    const struct call *call = (struct call *)ctx;
    struct net_remote  from = { .key = call->head.key, .addr = call->head.addr, .len = call->head.len };

    return then(ctx, net->verbs->rma(net, ctx, true, call->slot->mr.bytes, &call->slot->mr, &from), step_serve);
}

/* Take a slot and continue. Returns -EAGAIN if no slot is available. */
static int step_slot(struct net_link *net, struct net_ctx *ctx)
{
    struct call *call = (struct call *)ctx;

    if (!(call->slot = slot_take(net, ctx->peer)))
        return -EAGAIN;
    ctx->post = call->fetch ? step_fetch : step_serve;
    return ctx->post(net, ctx);
}

/* The operation of a step has ended: continue with the next step. If it has failed, send the error to the peer, unless
 * the response is what failed. The peer detects a broken connection itself. */
static void step_ended(struct net_link *net, struct net_ctx *ctx, int error)
{
    struct call *call = (struct call *)ctx;

    if (call->telling) {
        call_end(net, call);
        return;
    }
    if (error != 0) {
        call->response = (struct net_rpc_response){ .status = TERN_ERR_LINK };
        call->telling = true;
        ctx->post = step_tell;
    }
    tern_net_post(net, ctx);
}

/* ---- calls ---- */

static void call_init(struct call *call, struct net_peer *peer, const struct net_decoded *decoded)
{
    *call = (struct call){ .head = decoded->rpc_request,
                           .number = decoded->header.seq,
                           .uses = decoded->header.ack,
                           .fetch = decoded->kind == NET_FETCH_RPC };
    tern_net_ctx_init(&call->ctx, peer, step_slot, step_ended);
}

static struct call *call_make(struct net_link *net, struct net_peer *peer, const struct net_decoded *decoded,
                              const unsigned char *request)
{
    /* A small response is stored in place of the request. */
    size_t       capacity = decoded->len > TERN_LINK_SMALL ? decoded->len : TERN_LINK_SMALL;
    struct call *call = malloc(sizeof(*call) + capacity);

    if (!call)
        return NULL;
    call_init(call, peer, decoded);
    memcpy(call->request, request, decoded->len);
    tern_base_list_append(&net->rpc.calls, &call->node);
    peer->rpc_calls++;
    return call;
}

/* Execute a call that needs no slot directly from the receive buffer. A response that cannot be sent now is stored
 * in place of the request in a record of the call. */
static tern_status serve_at_once(struct net_link *net, struct net_peer *peer, const struct net_decoded *decoded,
                                 const unsigned char *request)
{
    unsigned char response[TERN_LINK_SMALL];
    struct call   call, *later;

    call_init(&call, peer, decoded);
    serve(net, &call, request, response);
    if (peer->known && send_small(net, &call, response, call.response.len) != -EAGAIN)
        return TERN_OK; /* the peer detects a broken connection itself */
    if (!(later = call_make(net, peer, decoded, request)))
        return TERN_ERR_NOMEM;
    later->response = call.response;
    later->small = true;
    later->ctx.post = step_tell;
    memcpy(later->request, response, call.response.len);
    tern_net_post(net, &later->ctx);
    return TERN_OK;
}

/* Returns true if the request is in the message, and the response is empty or so small that the network copies it when
 * it is sent (inject). */
static bool is_small(const struct net_link *net, const struct net_decoded *decoded)
{
    size_t expect = decoded->rpc_request.expect;

    return decoded->kind == NET_RPC &&
           (expect == 0 || (expect <= TERN_LINK_SMALL && NET_WIRE_RPC_RESPONSE + expect <= net->inject));
}

tern_status tern_net_rpc_serve(struct net_link *net, struct net_peer *peer, const struct net_decoded *decoded,
                               const unsigned char *request)
{
    const struct net_rpc_request *head = &decoded->rpc_request;
    size_t                        most = net->rpc.buf_bytes;
    struct call                  *call;

    if (peer->rpc_calls >= MAX_CALLS || head->len > most || head->expect > most ||
        tern_link_response_at(head->len) + head->expect > most)
        return TERN_ERR_LINK;
    if (is_small(net, decoded))
        return serve_at_once(net, peer, decoded, request);
    if (!(call = call_make(net, peer, decoded, request)))
        return TERN_ERR_NOMEM;
    if (tern_base_list_empty(&net->retry))
        tern_net_post(net, &call->ctx);
    else
        tern_net_later(net, &call->ctx); /* behind the calls that wait for a slot */
    return TERN_OK;
}
