/* tagged.h: tagged messages, below the argument checks of the public calls.
 *
 * The length of a message and the path to the peer select one of four protocols (protocol.c): inline (the data is in
 * the head of a link message), eager (the data travels with the message), rendezvous (the sender sends an RTS and the
 * receiver fetches the data), and rendezvous with the sender's assistance (both ranks copy).
 *
 * The thread that polls for messages matches each arriving message (recv.c). tern_op_tagged_lock, a biased lock that
 * costs nothing while there is one thread, guards the posted receives and the unexpected messages. A matched receive
 * whose sender waits for a FIN is handed to the engine of its context (op/trigger/engine.h). There the context's
 * thread, or the helper thread while the program computes, runs the receiver's part of the protocol and sends the FIN
 * (rndv.c). A send that finds no space, or that must follow such a send, waits in the queue of its context
 * (send.c).
 */
#pragma once

#include "core/job.h"
#include "core/message.h"
#include "op/tagged/decode.h"
#include "op/tagged/request.h"
#include "op/am/am.h"
#include "op/trigger/engine.h"
#include "op/wire.h"

/* A protocol: how the data of a message gets from the buffer of the sender into that of the receiver. The protocols are
 * constants, which are defined in protocol.c. */
struct tern_tagged_protocol {
    const char *name;
    /* Sender: whether the message exposes the sender's buffer, so that every send waits for a FIN. */
    bool        exposes;
    /* Sender: hand the message to the link. op is NULL for a message that completes with this call. Returns TERN_AGAIN
     * if there is no space. After TERN_OK the FIN may have freed the operation. */
    tern_status (*send)(struct tern_ctx *ctx, int rank, uint64_t tag, const void *data, size_t len,
                        struct tern_tagged_op *op);
    /* Sender: revoke access to the buffer, because the FIN has arrived or the send was withdrawn. The caller holds the
     * lock. */
    void (*unsend)(struct tern_tagged_op *op);
    /* Receiver: fetch the data that did not come with the message. Returns true if no transfer is in flight, and all
     * data has landed or the receive has failed. The function may be called again afterwards. */
    bool (*fetch)(struct tern_tagged_op *op);
    /* Receiver: release the resources of the fetch. When the function returns, no rank writes to the buffer. It may be
     * called twice. */
    void (*stop)(struct tern_tagged_op *op);
};

extern const struct tern_tagged_protocol tern_op_protocol_inline, tern_op_protocol_eager, tern_op_protocol_rndv,
    tern_op_protocol_rndv_assist;

/* An unexpected message: it arrived before a matching receive was posted, and is stored. */
struct tern_message {
    struct tern_tagged_arrival arrived; /* its data points to the data below */
    struct tern_ctx           *ctx;     /* the context whose matched probe holds the message */
    struct tern_list           node;    /* in the list of all messages that matched probes hold */
    unsigned char              data[];
};

/* tern_op_tagged_open starts to accept messages; it is called before the rank joins the job. tern_op_tagged_joined is
 * called after that, and determines the eager limit. tern_op_tagged_leave drops all further messages, because the
 * program is about to leave the job, and waits until all sends have been handed to the link. tern_op_tagged_close frees
 * the remaining memory after the rank has left. */
void        tern_op_tagged_open(void);
void        tern_op_tagged_joined(void);
tern_status tern_op_tagged_leave(void);
void        tern_op_tagged_close(void);

/* Upcall of the links (struct tern_link_up): accept a message. */
enum tern_link_delivered tern_op_tagged_receive(int from, const unsigned char *head, const unsigned char *data,
                                                size_t len);

/* ---- rndv.c: the receiver's part of a message whose sender waits for a FIN ---- */

/* Hand a matched receive to its context, which starts to fetch the data. The caller holds the lock. */
void tern_op_tagged_matched(struct tern_tagged_op *op);

/* Start the matched receives of a context. tern_op_tagged_rndv_start must be called by the context's thread,
 * tern_op_tagged_start_matched by a thread that holds the engine's lock. If there is no engine,
 * tern_op_tagged_start_matched ends the receives with the error st. It returns whether there were matched receives,
 * some of which may have completed. */
void tern_op_tagged_rndv_start(struct tern_ctx *ctx);
bool tern_op_tagged_start_matched(struct tern_engine *engine, struct tern_tagged *tagged, tern_status st);

/* Let the helper thread serve the receives of a context that has requests. Returns false if this is not possible. */
bool tern_op_tagged_has_helper(struct tern_ctx *ctx);

/* has_failed returns whether a receive has failed, and fail records its first failure. A receive of a truncated message
 * has not failed: its data is fetched. */
static inline bool tern_op_tagged_has_failed(const struct tern_tagged_op *op)
{
    return op->request->status < 0 && op->request->status != TERN_ERR_TRUNCATED;
}

static inline void tern_op_tagged_fail(struct tern_tagged_op *op, tern_status st)
{
    if (st < 0 && !tern_op_tagged_has_failed(op))
        op->request->status = st;
}

/* The functions of the protocol rendezvous. tern_op_tagged_rndv_attach attaches the sender's memory before the first
 * fetch. If that fails, the receive fails, and the function returns false. */
bool tern_op_tagged_rndv_attach(struct tern_tagged_op *op);
bool tern_op_tagged_rndv_fetch(struct tern_tagged_op *op);
void tern_op_tagged_rndv_stop(struct tern_tagged_op *op);

/* Attach the memory of a process for one message. */
tern_status tern_op_tagged_reach(int rank, const struct tern_mem_handle *handle, struct tern_link_part *part);

/* Start one get. Returns TERN_AGAIN if nothing was started. */
tern_status tern_op_tagged_get(struct tern_tagged_op *op, uint64_t at, uint64_t len);

/* ---- rndv_assist.c, rndv_assist_send.c: the sender copies, too ---- */

/* The functions of the protocol with assistance. tern_op_tagged_assist_begin sets up a work split of a message whose
 * sender's memory is attached. It returns false if the sender should not copy. */
bool tern_op_tagged_assist_begin(struct tern_tagged_op *op);
bool tern_op_tagged_assist_fetch(struct tern_tagged_op *op);
void tern_op_tagged_assist_stop(struct tern_tagged_op *op);

/* The arguments of an ASSIST: two halves of the id of the send, the index of the work split, and the split's key. The
 * user words of a work split describe the receiver's memory. */
#define TERN_ASSIST_ARGS 4
enum { TERN_SPLIT_ADDR, TERN_SPLIT_SIZE, TERN_SPLIT_PROBE, TERN_SPLIT_PIECE };

/* Return the work splits of the rank on the link to the peer. */
static inline struct tern_work_split *tern_op_tagged_splits(int rank, int peer)
{
    return tern_core_ops_to(peer)->inject->work_splits(tern_core_link_to(peer), rank);
}

/* Copy some of the pieces that receivers have opened to sends of the context. Must be called by the context's
 * thread. */
void tern_op_tagged_help(struct tern_ctx *ctx);

/* Remove a completed send from assist[]. The caller holds the lock. */
void tern_op_tagged_help_end(const struct tern_request *request);

void tern_op_tagged_on_assist(const tern_am_event *event, void *user); /* handler of ASSISTs */

/* ---- protocol.c: the protocols, and sends that complete at once ---- */

/* Choose the protocol of a message. The sender chooses by the length; sync: the send is synchronous. The receiver of an
 * RTS chooses whether the sender should assist, and attaches the sender's memory. */
const struct tern_tagged_protocol *tern_op_tagged_choose_send(int rank, size_t len, bool sync);
const struct tern_tagged_protocol *tern_op_tagged_choose_fetch(struct tern_tagged_op *op);

/* Send an inline or eager message that needs no FIN, if there is space now and no send to the rank is queued. Returns
 * TERN_AGAIN if the message needs a request. */
tern_status tern_op_tagged_send_now(struct tern_ctx *ctx, int rank, uint64_t tag, const void *buf, size_t len);

/* The eager limit: messages of up to this many bytes are sent with their data, by every rank. */
extern uint64_t tern_op_tagged_eager_max;

/* Prepare to inject a short message with few stores (base/spsc_ring.h). This works only if the message fits into the
 * head, no rank has died, and this thread owns the biased locks. Returns the state of the peer, whose ring is locked
 * and has a free cell. Returns NULL if the conditions do not hold or the ring is full. */
static inline __attribute__((always_inline)) const struct tern_tagged_peer *tern_op_tagged_reserve(
    const struct tern_ctx *ctx, const struct tern_tagged *tagged, int rank, size_t len)
{
    const struct tern_tagged_peer *flow;
    struct tern_ring_mp_producer  *ring;

    /* acquire: see tern_core_job_check_deaths() */
    if (TERN_UNLIKELY(len > wire_tagged_room(false) || !tagged || tern_core_ctx_has_ops(ctx) ||
                      atomic_load_explicit(&tern_job.boot.segment->losses, memory_order_acquire) != 0))
        return NULL;
    flow = &tagged->peer[rank];
    ring = flow->inject.producer;
    if (TERN_UNLIKELY(!ring || flow->queued > 0 || !tern_base_biased_trylock(&ring->lock)))
        return NULL;
    if (TERN_LIKELY(tern_base_ring_has_cell(&ring->producer)))
        return flow;
    tern_base_biased_unlock(&ring->lock, true);
    return NULL;
}

/* Inject a message into the ring that tern_op_tagged_reserve has locked, and wake the receiver if it sleeps. A call of
 * another function is the last action of each function, so that no registers have to be saved. Lengths other than 8
 * need more registers, and are therefore handled out of line. */
tern_status tern_op_tagged_inject_bytes(const struct tern_tagged_peer *flow, uint32_t scope, uint64_t tag,
                                        const void *buf, size_t len);
tern_status tern_op_tagged_ring(struct tern_slot *slot);
static inline __attribute__((always_inline)) tern_status tern_op_tagged_push(const struct tern_tagged_peer *flow,
                                                                             uint32_t scope, uint64_t tag,
                                                                             const void *buf, size_t len)
{
    struct tern_ring_mp_producer *ring = flow->inject.producer;
    struct tern_slot             *slot = flow->inject.slot;

    tern_base_order_before(&tern_op_tagged_lock); /* any thread may handle responses to this message */
    tern_base_ring_push_short(&ring->producer, wire_tagged_first(WIRE_TAGGED_INLINE, len, false, scope), tag, buf, len);
    tern_base_biased_unlock(&ring->lock, true);
    return TERN_LIKELY(tern_link_is_awake(slot)) ? TERN_OK : tern_op_tagged_ring(slot);
}

static inline __attribute__((always_inline)) tern_status tern_op_tagged_inject(const struct tern_tagged_peer *flow,
                                                                               uint32_t scope, uint64_t tag,
                                                                               const void *buf, size_t len)
{
    return TERN_LIKELY(len == sizeof(uint64_t)) ? tern_op_tagged_push(flow, scope, tag, buf, sizeof(uint64_t))
                                                : tern_op_tagged_inject_bytes(flow, scope, tag, buf, len);
}

/* ---- send.c: the life of a send ---- */

/* Start a send whose peer, tag, buffer and size are set. If the call returns an error, the request is not active. */
tern_status tern_op_tagged_start_send(struct tern_request *request);

/* Retry the queued sends of the context. */
void tern_op_tagged_progress_sends(struct tern_tagged *tagged);

/* End the operation of a send: revoke access to its buffer, and remove the send from the queue. The caller holds the
 * lock; if the send is queued, the caller is the context's thread. */
void tern_op_tagged_unsend(struct tern_tagged_op *op);

void tern_op_tagged_on_fin(const tern_am_event *event, void *user); /* handler of FINs */

/* ---- recv.c: receiving and matching ---- */

/* Send a FIN for the message that a receive has matched. Returns TERN_AGAIN if there is no space or another thread is
 * delivering. */
tern_status tern_op_tagged_send_fin(const struct tern_request *request, uint64_t id, tern_status status);

/* Drop the unexpected messages, now and in future, and send a FIN to the senders that wait for one. Returns false if
 * some messages are left. */
bool tern_op_tagged_forget(void);

/* Drop the unexpected messages of a team that was freed, and return the number of dropped messages. A message whose
 * sender waits for a FIN is kept if there is no space for the FIN. Must not be called in a handler. */
uint32_t tern_op_tagged_forget_scope(uint64_t scope);

/* Called after a receive was posted: a message that was refused may match the receive, and its sender may be dead. */
static inline void tern_op_tagged_posted(struct tern_request *request)
{
    if (TERN_UNLIKELY(tern_core_message_refuses(TERN_CHANNEL_TAGGED))) /* a hint */
        tern_core_message_full(TERN_CHANNEL_TAGGED, false);
    if (TERN_UNLIKELY(atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) > 0))
        tern_op_request_doomed(request);
}

/* Start a receive: match a stored unexpected message, or post the receive. waits: this call blocks until completion;
 * otherwise the program may compute in the meantime. Returns false if there is no memory; then the request is not
 * active. */
bool tern_op_tagged_start_recv(struct tern_request *request, bool waits);

/* Fast path of tern_op_tagged_start_recv for short messages: post the receive if no unexpected message is stored and
 * the previous receive had the same name. Returns false, with no effect, if these conditions do not hold. */
extern struct tern_match                          tern_op_tagged_match; /* guarded by the lock */
static inline __attribute__((always_inline)) bool tern_op_tagged_recv_again(struct tern_request *request,
                                                                            uint32_t scope, uint64_t tag, int source,
                                                                            uint32_t class)
{
    struct tern_match *match = &tern_op_tagged_match;
    bool               alone, again;

    if (TERN_UNLIKELY(request->size > tern_op_tagged_eager_max))
        return false;
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    again = match->kept == 0 && tern_op_match_bind_again(match, &request->match.request, scope, tag, source, class);
    if (TERN_LIKELY(again)) {
        request->bound = true;
        tern_op_request_set(request, TERN_REQUEST_ACTIVE);
        tern_op_match_post(match, &request->match.request);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (TERN_LIKELY(again))
        tern_op_tagged_posted(request);
    return again;
}

/* Return whether a matched probe of the context holds a message that has not been received. */
bool tern_op_tagged_has_probed(const struct tern_ctx *ctx);

/* Start to receive a message that a matched probe holds. Returns false if there is no memory; then the probe still
 * holds the message. */
bool tern_op_tagged_start_mrecv(struct tern_request *request, struct tern_message *message, bool waits);

/* Withdraw a bound receive. The caller holds the lock. */
void tern_op_tagged_unpost(struct tern_request *request);

/* Find the oldest unexpected message that matches, and describe it. Returns TERN_PENDING if there is none. If out is
 * NULL, the message stays stored; otherwise the message is removed from the table, and a matched probe of the context
 * holds it. */
tern_status tern_op_tagged_find(struct tern_ctx *ctx, const struct tern_match_name *name, uint64_t care,
                                tern_request_info *info, struct tern_message **out);

/* tern_op_tagged_senders_dead returns whether every rank that could send a matching message is dead.
 * tern_op_tagged_deserted returns whether, in addition, no message of these ranks is in flight. */
bool tern_op_tagged_senders_dead(const struct tern_ctx *ctx, const struct tern_match_name *name);
bool tern_op_tagged_deserted(const struct tern_ctx *ctx, const struct tern_match_name *name);

/* The memory of the stored messages, in bytes. Guarded by the lock; without it, a hint for reports. */
extern uint64_t tern_op_tagged_kept_bytes;
