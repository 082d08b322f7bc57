/* rpc_server.c: errands of peers.
 *
 * They are served by whoever reads the completion queue: a thread that waits in Tern, or the progress thread. A short
 * request with a small answer or none is served where it came in. Every other takes one of DESKS desks, or waits for
 * one; a peer has two at most, and one that has none always gets one, so that nobody waits because another does not
 * answer. There a long request is read from the peer's room, and the answer is made. A short answer is sent; a long one
 * is written into the peer's room, and when it is there the peer is told. What the provider has no room for is tried
 * again.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sanitize.h"
#include "link/ofi/ofi.h"

#define FRONT 64 /* bytes before an answer, which end with its message's head */
_Static_assert(OFI_WIRE_RPC_RESPONSE <= FRONT, "header and answer lie in front of the answer's bytes");
#define MOST_VISITS 64 /* of a peer: no process has more rooms for one, of both kinds */
#define DESKS 4
#define DESKS_OF_ONE 2
#define DESK_ACCESS (FI_SEND | FI_READ | FI_WRITE)

static void desk_step(struct ofi_link *ofi, struct ofi_rpc_slot *desk);

/* ---- desks ---- */

static size_t desk_size(const struct ofi_link *ofi)
{
    return tern_base_round_up(ofi->rpc.buf_bytes, 64) + 2 * FRONT;
}

static struct ofi_rpc_slot *desk_make(struct ofi_link *ofi)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_slot *desk = calloc(1, sizeof(*desk));
    void                *memory;

    if (!desk)
        return NULL;
    memory = mmap(NULL, desk_size(ofi), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED ||
        (ofi->endpoint.mr_local && tern_ofi_register(ofi, memory, desk_size(ofi), DESK_ACCESS, &desk->mr) < 0)) {
        if (memory != MAP_FAILED)
            munmap(memory, desk_size(ofi));
        free(desk);
        return NULL;
    }
    desk->bytes = memory;
    desk->made = e->newest_slot;
    e->newest_slot = desk;
    e->slots++;
    return desk;
}

/* A desk for the peer; NULL: none now. */
static struct ofi_rpc_slot *desk_take(struct ofi_link *ofi, struct ofi_peer *peer)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_slot *desk = e->free_slots;

    if (peer->rpc_slots >= DESKS_OF_ONE)
        return NULL;
    if (desk)
        e->free_slots = desk->next;
    else if (e->slots < DESKS || peer->rpc_slots == 0)
        desk = desk_make(ofi);
    if (desk)
        peer->rpc_slots++;
    return desk;
}

static void visits_free(struct ofi_rpc_call *visit)
{
    while (visit) {
        struct ofi_rpc_call *next = visit->next;
        free(visit);
        visit = next;
    }
}

void tern_ofi_rpc_server_unregister(struct ofi_link *ofi)
{
    for (struct ofi_rpc_slot *desk = ofi->rpc.newest_slot; desk; desk = desk->made)
        tern_ofi_unregister(&desk->mr);
}

void tern_ofi_rpc_server_close(struct ofi_link *ofi)
{
    struct ofi_rpc *e = &ofi->rpc;

    while (e->newest_slot) {
        struct ofi_rpc_slot *desk = e->newest_slot;

        e->newest_slot = desk->made;
        tern_ofi_unregister(&desk->mr);
        munmap(desk->bytes, desk_size(ofi));
        free(desk->call);
        free(desk);
    }
    visits_free(e->calls);
    visits_free(e->responses);
}

static void *desk_desc(const struct ofi_rpc_slot *desk)
{
    return desk->mr ? fi_mr_desc(desk->mr) : NULL;
}

/* The visit is over. */
static void visit_end(struct ofi_rpc_call *visit)
{
    visit->peer->rpc_calls--;
    free(visit);
}

static void desk_end(struct ofi_link *ofi, struct ofi_rpc_slot *desk)
{
    desk->call->peer->rpc_slots--;
    visit_end(desk->call);
    desk->call = NULL;
    desk->next = ofi->rpc.free_slots;
    ofi->rpc.free_slots = desk;
}

/* Where the answer of a visit is made. */
static unsigned char *answer_at(const struct ofi_rpc_slot *desk)
{
    return desk->bytes + tern_link_response_at(desk->call->request_head.len) + FRONT;
}

/* ---- serving ---- */

/* Do what the request asks for. */
static void serve(struct ofi_link *ofi, struct ofi_rpc_call *visit, const unsigned char *request, unsigned char *answer)
{
    struct tern_target_mem    ground = { .base = NULL };
    const struct ofi_exposed *entry = ofi->exposed;
    size_t                    answered = 0;

    while (entry && entry->region != visit->request_head.region)
        entry = entry->next;
    visit->response = (struct ofi_rpc_response){ .status = TERN_ERR_LINK };
    if (!entry)
        return;
    ground.base = (unsigned char *)(uintptr_t)entry->addr;
    ground.size = entry->size;
    ground.origin = entry->origin;
    /* The program's threads, before and after a barrier with the peer. */
    tern_base_order_after_peers();
    visit->response.status =
        ofi->up->serve(&ground, request, visit->request_head.len, answer, visit->request_head.expect, &answered);
    tern_base_order_before_peers();
    tern_ofi_ring(ofi); /* the program may wait for a word that has changed */
    visit->response.len = visit->response.status == TERN_OK ? (uint32_t)answered : 0;
}

/* Write the head of the answer's message; returns its length. */
static size_t write_head(const struct ofi_link *ofi, const struct ofi_rpc_call *visit, unsigned char *to)
{
    struct ofi_header header = { .token = visit->peer->token_out,
                                 .from_kind = (uint32_t)ofi->rank << 8 | OFI_RPC_RESPONSE,
                                 .seq = visit->number,
                                 .ack = visit->uses };

    memcpy(to, &header, sizeof(header));
    memcpy(to + sizeof(header), &visit->response, sizeof(visit->response));
    return OFI_WIRE_RPC_RESPONSE;
}

/* Send an answer that has no bytes with it. */
static ssize_t send_bare(struct ofi_link *ofi, const struct ofi_rpc_call *visit)
{
    unsigned char bytes[OFI_WIRE_RPC_RESPONSE];
    size_t        len = write_head(ofi, visit, bytes);

    return tern_ofi_send_copy(ofi, visit->peer, bytes, len);
}

/* Send one with its bytes, which are few. */
static ssize_t send_small(struct ofi_link *ofi, const struct ofi_rpc_call *visit, const unsigned char *answer)
{
    unsigned char bytes[OFI_WIRE_RPC_RESPONSE + TERN_LINK_SMALL];
    size_t        len = write_head(ofi, visit, bytes);

    memcpy(bytes + len, answer, visit->response.len);
    return tern_ofi_send_copy(ofi, visit->peer, bytes, len + visit->response.len);
}

/* ---- the steps at a desk ---- */

static ssize_t step_tell(struct ofi_link *ofi, struct ofi_rpc_slot *desk);

/* A step failed: the peer is told, unless that is what failed. A broken connection is its own news. */
static void desk_fail(struct ofi_link *ofi, struct ofi_rpc_slot *desk)
{
    if (desk->telling) {
        desk_end(ofi, desk);
        return;
    }
    desk->call->response = (struct ofi_rpc_response){ .status = TERN_ERR_LINK };
    desk->step = step_tell;
    desk_step(ofi, desk);
}

/* A step that the provider did not do at once has ended: do the next. */
static void step_ended(struct ofi_link *ofi, struct ofi_comp_ctx *token, const struct ofi_comp *news)
{
    struct ofi_rpc_slot *desk = (struct ofi_rpc_slot *)token;

    if (news->error != 0)
        desk_fail(ofi, desk);
    else
        desk_step(ofi, desk);
}

static ssize_t step_over(struct ofi_link *ofi, struct ofi_rpc_slot *desk)
{
    desk_end(ofi, desk);
    return 0;
}

/* The peer is told that its answer is there, or that there is none. */
static ssize_t step_tell(struct ofi_link *ofi, struct ofi_rpc_slot *desk)
{
    ssize_t rc = send_bare(ofi, desk->call);

    desk->telling = true;
    if (rc == 0)
        desk_end(ofi, desk);
    return rc;
}

/* The same with the bytes of a short answer. */
static ssize_t step_send(struct ofi_link *ofi, struct ofi_rpc_slot *desk)
{
    unsigned char *message = answer_at(desk) - OFI_WIRE_RPC_RESPONSE;
    size_t         len = write_head(ofi, desk->call, message) + desk->call->response.len;
    ssize_t        rc;

    desk->step = step_over;
    desk->telling = true;
    rc = fi_send(ofi->endpoint.ep, message, len, desk_desc(desk), desk->call->peer->addr, &desk->comp_ctx.context);
    if (rc != 0)
        desk->step = step_send;
    return rc;
}

/* A read behind a write that is not completed by its delivery. */
static ssize_t step_flush(struct ofi_link *ofi, struct ofi_rpc_slot *desk)
{
    const struct ofi_rpc_request *e = &desk->call->request_head;
    uint64_t                      last = e->addr + tern_link_response_at(e->len) + desk->call->response.len - 1;
    ssize_t                       rc;

    desk->step = step_tell;
    rc = fi_read(ofi->endpoint.ep, desk->bytes, 1, desk_desc(desk), desk->call->peer->addr, last, e->key,
                 &desk->comp_ctx.context);
    if (rc != 0)
        desk->step = step_flush;
    return rc;
}

static ssize_t step_write(struct ofi_link *ofi, struct ofi_rpc_slot *desk)
{
    const struct ofi_rpc_request *e = &desk->call->request_head;
    void                         *desc = desk_desc(desk);
    struct iovec                  here = { answer_at(desk), desk->call->response.len };
    struct fi_rma_iov there = { .addr = e->addr + tern_link_response_at(e->len), .len = here.iov_len, .key = e->key };
    struct fi_msg_rma msg = { .msg_iov = &here,
                              .desc = &desc,
                              .iov_count = 1,
                              .addr = desk->call->peer->addr,
                              .rma_iov = &there,
                              .rma_iov_count = 1,
                              .context = &desk->comp_ctx.context };
    ssize_t           rc;

    desk->step = ofi->endpoint.delivers ? step_tell : step_flush;
    rc = fi_writemsg(ofi->endpoint.ep, &msg, FI_COMPLETION | (ofi->endpoint.delivers ? FI_DELIVERY_COMPLETE : 0));
    if (rc != 0)
        desk->step = step_write;
    return rc;
}

/* The request is here. */
static ssize_t step_serve(struct ofi_link *ofi, struct ofi_rpc_slot *desk)
{
    struct ofi_rpc_call *visit = desk->call;

    serve(ofi, visit, visit->fetch ? desk->bytes : visit->request, answer_at(desk));
    desk->step = visit->response.len == 0                     ? step_tell
                 : visit->response.len <= OFI_WIRE_INLINE_MAX ? step_send
                                                              : step_write;
    return desk->step(ofi, desk);
}

static ssize_t step_fetch(struct ofi_link *ofi, struct ofi_rpc_slot *desk)
{
    const struct ofi_rpc_request *e = &desk->call->request_head;
    ssize_t                       rc;

    desk->step = step_serve;
    rc = fi_read(ofi->endpoint.ep, desk->bytes, e->len, desk_desc(desk), desk->call->peer->addr, e->addr, e->key,
                 &desk->comp_ctx.context);
    if (rc != 0)
        desk->step = step_fetch;
    return rc;
}

/* Do the next step; where the provider has no room for it, later. */
static void desk_step(struct ofi_link *ofi, struct ofi_rpc_slot *desk)
{
    tern_status st = tern_ofi_address(ofi, desk->call->peer);
    ssize_t     rc = st == TERN_OK ? desk->step(ofi, desk) : st == TERN_AGAIN ? -FI_EAGAIN : -FI_EADDRNOTAVAIL;

    if (rc == -FI_EAGAIN) {
        desk->next = ofi->rpc.stuck;
        ofi->rpc.stuck = desk;
    } else if (rc != 0) {
        desk_fail(ofi, desk);
    }
}

/* ---- visits ---- */

static struct ofi_rpc_call *visit_make(struct ofi_peer *peer, const struct ofi_decoded *mail,
                                       const unsigned char *request)
{
    size_t               room = mail->len > TERN_LINK_SMALL ? mail->len : TERN_LINK_SMALL; /* also for a small answer */
    struct ofi_rpc_call *visit = malloc(sizeof(*visit) + room);

    if (!visit)
        return NULL;
    *visit = (struct ofi_rpc_call){ .peer = peer,
                                    .request_head = mail->rpc_request,
                                    .number = mail->header.seq,
                                    .uses = mail->header.ack,
                                    .fetch = mail->kind == OFI_FETCH_RPC };
    memcpy(visit->request, request, mail->len);
    peer->rpc_calls++;
    return visit;
}

static void enqueue(struct ofi_rpc_call ***end, struct ofi_rpc_call *visit)
{
    visit->next = NULL;
    **end = visit;
    *end = &visit->next;
}

/* Seat those that wait and get a desk; those of a peer in the order in which they came. */
static void seat_visits(struct ofi_link *ofi)
{
    struct ofi_rpc       *e = &ofi->rpc;
    struct ofi_rpc_call **at = &e->calls, *visit;
    struct ofi_rpc_slot  *desk;

    while ((visit = *at)) {
        if (!(desk = desk_take(ofi, visit->peer))) {
            at = &visit->next;
            continue;
        }
        *at = visit->next;
        if (!*at)
            e->calls_end = at;
        desk->call = visit;
        desk->comp_ctx.ended = step_ended;
        desk->telling = false;
        desk->step = visit->fetch ? step_fetch : step_serve;
        desk_step(ofi, desk);
    }
}

/* A request that needs no desk: it is served where it lies. An answer that cannot be sent now takes the request's place
 * in a record. */
static bool serve_at_once(struct ofi_link *ofi, struct ofi_peer *peer, const struct ofi_decoded *mail,
                          const unsigned char *request)
{
    struct ofi_rpc_call visit = {
        .peer = peer, .request_head = mail->rpc_request, .number = mail->header.seq, .uses = mail->header.ack
    };
    unsigned char        answer[TERN_LINK_SMALL];
    struct ofi_rpc_call *later;
    tern_status          st = tern_ofi_address(ofi, peer);

    serve(ofi, &visit, request, answer);
    if (st < 0 || (st == TERN_OK && !ofi->rpc.responses && send_small(ofi, &visit, answer) != -FI_EAGAIN))
        return true; /* a broken connection is the peer's own news */
    if (!(later = visit_make(peer, mail, request)))
        return false;
    later->response = visit.response;
    memcpy(later->request, answer, visit.response.len);
    enqueue(&ofi->rpc.responses_end, later);
    return true;
}

/* Whether the answer is so small that the provider copies it while it is sent, or is only the end of the errand. */
static bool is_small(const struct ofi_link *ofi, const struct ofi_decoded *mail)
{
    size_t expect = mail->rpc_request.expect;

    return mail->kind == OFI_RPC &&
           (expect == 0 || (expect <= TERN_LINK_SMALL && OFI_WIRE_RPC_RESPONSE + expect <= ofi->endpoint.inject));
}

bool tern_ofi_rpc_serve(struct ofi_link *ofi, struct ofi_peer *peer, const struct ofi_decoded *mail,
                        const unsigned char *request)
{
    struct ofi_rpc      *e = &ofi->rpc;
    struct ofi_rpc_call *visit;

    if (!e->calls_end) {
        e->calls_end = &e->calls;
        e->responses_end = &e->responses;
    }
    if (peer->rpc_calls >= MOST_VISITS || mail->rpc_request.len > e->buf_bytes ||
        mail->rpc_request.expect > e->buf_bytes ||
        tern_link_response_at(mail->rpc_request.len) + mail->rpc_request.expect > e->buf_bytes)
        return false;
    if (is_small(ofi, mail))
        return serve_at_once(ofi, peer, mail, request);
    if (!(visit = visit_make(peer, mail, request)))
        return false;
    enqueue(&e->calls_end, visit);
    seat_visits(ofi);
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
    struct ofi_rpc_slot *desk = e->stuck, *next;

    while (e->responses) {
        struct ofi_rpc_call *visit = e->responses;
        tern_status          st = tern_ofi_address(ofi, visit->peer);

        if (st == TERN_AGAIN || (st == TERN_OK && send_small(ofi, visit, visit->request) == -FI_EAGAIN))
            break;
        if (!(e->responses = visit->next))
            e->responses_end = &e->responses;
        visit_end(visit);
    }
    e->stuck = NULL;
    for (; desk; desk = next) {
        next = desk->next;
        desk_step(ofi, desk);
    }
    seat_visits(ofi);
}
