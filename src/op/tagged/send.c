/* send.c: the life of a send: its start, the queue of sends that have found no space, and the FIN. protocol.c sends the
 * messages themselves.
 *
 * A send that finds no space, or that must follow such a send, waits in the queue of its context. A FIN completes a
 * synchronous send or a rendezvous. It is an internal active message on the reply channel, whose messages are always
 * delivered, or on the reply channel of the helper thread if the sender may be computing (TERN_REQUEST_BACKGROUND). On
 * the channel of tagged messages, a FIN behind messages that no receive matches yet might never arrive. */
#include "core/message.h"
#include "op/tagged/tagged.h"

/* ---- starting and queueing ---- */

/* Try to send the message of an operation now. Returns TERN_AGAIN if there is no space. After TERN_OK the FIN may have
 * freed the operation. */
static tern_status try_send(struct tern_tagged_op *op)
{
    const struct tern_request *request = op->request;

    if (TERN_UNLIKELY(tern_core_job_lost(request->peer)))
        return tern_base_fail(TERN_ERR_PEER, "rank %d is gone", request->peer);
    if (TERN_UNLIKELY(tern_core_ctx_must_follow(request->ctx, request->peer)))
        return TERN_AGAIN;
    return op->protocol->send(request->ctx, request->peer, request->match.tag, request->buffer, request->size, op);
}

void tern_op_tagged_unsend(struct tern_tagged_op *op)
{
    if (op->queued)
        op->request->ctx->tagged->peer[op->request->peer].queued--;
    op->protocol->unsend(op);
    tern_op_tagged_op_free(op);
}

/* Try to send the message of a queued operation. Returns TERN_AGAIN if there is no space; then the operation stays in
 * the queue. Otherwise the operation leaves the queue, and the request is complete unless a FIN completes it. */
static tern_status attempt(struct tern_tagged_op *op)
{
    struct tern_request *request = op->request;
    struct tern_list    *before = op->node.prev;
    bool                 wants_fin = op->id != 0, alone;
    tern_status          st;

    tern_base_list_remove(&op->node); /* the FIN, which frees the operation, may arrive at once */
    op->queued = false;
    if ((st = try_send(op)) == TERN_AGAIN) {
        op->queued = true;
        tern_base_list_insert(&op->node, before, before->next);
        return st;
    }
    request->ctx->tagged->peer[request->peer].queued--;
    if (st == TERN_OK && wants_fin)
        return st;
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    tern_op_tagged_unsend(op);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    tern_op_request_end(request, st);
    return st;
}

/* Start a send that cannot be sent immediately or waits for a FIN. */
static __attribute__((noinline)) tern_status start_slowly(struct tern_request *request)
{
    struct tern_tagged                *tagged = request->ctx->tagged;
    bool                               sync = request->kind == TERN_REQUEST_SSEND, alone;
    const struct tern_tagged_protocol *protocol = tern_op_tagged_choose_send(request->peer, request->size, sync);
    struct tern_tagged_op             *op;
    tern_status                        st = TERN_AGAIN;

    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    op = tern_op_tagged_op_new(request, sync || protocol->exposes);
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (!op)
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for one more message that waits for its receiver");
    op->protocol = protocol;
    op->queued = true;
    tern_base_list_append(&tagged->queue, &op->node);
    tern_op_request_set(request, TERN_REQUEST_ACTIVE);
    if (++tagged->peer[request->peer].queued > 1 || (st = attempt(op)) == TERN_AGAIN)
        atomic_store_explicit(&request->ctx->attention, true, memory_order_relaxed); /* this thread reads it */
    else if (st < 0)
        tern_op_request_set(request, TERN_REQUEST_IDLE);
    return st < 0 ? st : TERN_OK;
}

tern_status tern_op_tagged_start_send(struct tern_request *request)
{
    tern_status st = TERN_AGAIN;

    request->source = request->peer;
    request->tag_len = (tern_v64){ request->match.tag, request->size };
    if (TERN_LIKELY(request->kind == TERN_REQUEST_SEND && !tern_core_job_lost(request->peer)))
        st = tern_op_tagged_send_now(request->ctx, request->peer, request->match.tag, request->buffer, request->size);
    if (TERN_LIKELY(st == TERN_OK))
        tern_op_request_end(request, TERN_OK);
    return TERN_LIKELY(st != TERN_AGAIN) ? st : start_slowly(request);
}

/* A send that finds no space blocks only the sends behind it to the same rank. */
void tern_op_tagged_progress_sends(struct tern_tagged *tagged)
{
    tagged->pass++;
    TERN_LIST_EACH(struct tern_tagged_op, op, &tagged->queue, node) {
        struct tern_tagged_peer *flow = &tagged->peer[op->request->peer];

        if (flow->pass != tagged->pass && attempt(op) == TERN_AGAIN)
            flow->pass = tagged->pass;
    }
}

/* ---- FIN ---- */

/* Handle a FIN: two halves of the id, and a status. A FIN for a send that was withdrawn in the meantime is ignored. */
void tern_op_tagged_on_fin(const tern_am_event *event, void *user)
{
    struct tern_tagged_op *op;
    bool                   alone;

    (void)user;
    if (event->nargs != 3 || event->request)
        tern_core_message_protocol_error(event->source, "the FIN of a tagged message");
    tern_base_order_after(&tern_op_tagged_lock); /* pairs with tern_base_order_before() in the sending thread */
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if ((op = tern_op_tagged_op_find(event->source, event->args[0] | (uint64_t)event->args[1] << 32))) {
        struct tern_request *request = op->request;
        tern_status          status = (tern_status)(int32_t)event->args[2];

        tern_op_tagged_unsend(op);
        tern_op_request_end(request, status < 0 ? status : TERN_OK);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}
