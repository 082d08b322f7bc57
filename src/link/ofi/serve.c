/* serve.c: errands of peers.
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
_Static_assert(OFI_WIRE_ANSWER <= FRONT, "header and answer lie in front of the answer's bytes");
#define MOST_VISITS 64 /* of a peer: no process has more rooms for one, of both kinds */
#define DESKS 4
#define DESKS_OF_ONE 2
#define DESK_ACCESS (FI_SEND | FI_READ | FI_WRITE)

static void desk_step(struct ofi_link *ofi, struct ofi_desk *desk);

/* ---- desks ---- */

static size_t desk_size(const struct ofi_link *ofi)
{
    return tern_base_round_up(ofi->errands.room_bytes, 64) + 2 * FRONT;
}

static struct ofi_desk *desk_make(struct ofi_link *ofi)
{
    struct ofi_errands *e = &ofi->errands;
    struct ofi_desk    *desk = calloc(1, sizeof(*desk));
    void               *memory;

    if (!desk)
        return NULL;
    memory = mmap(NULL, desk_size(ofi), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED ||
        (ofi->net.mr_local && tern_ofi_register(ofi, memory, desk_size(ofi), DESK_ACCESS, &desk->mr) < 0)) {
        if (memory != MAP_FAILED)
            munmap(memory, desk_size(ofi));
        free(desk);
        return NULL;
    }
    desk->bytes = memory;
    desk->made = e->desk;
    e->desk = desk;
    e->desks++;
    return desk;
}

/* A desk for the peer; NULL: none now. */
static struct ofi_desk *desk_take(struct ofi_link *ofi, struct ofi_peer *peer)
{
    struct ofi_errands *e = &ofi->errands;
    struct ofi_desk    *desk = e->free_desks;

    if (peer->seated >= DESKS_OF_ONE)
        return NULL;
    if (desk)
        e->free_desks = desk->next;
    else if (e->desks < DESKS || peer->seated == 0)
        desk = desk_make(ofi);
    if (desk)
        peer->seated++;
    return desk;
}

static void visits_free(struct ofi_visit *visit)
{
    while (visit) {
        struct ofi_visit *next = visit->next;
        free(visit);
        visit = next;
    }
}

void tern_ofi_serve_unregister(struct ofi_link *ofi)
{
    for (struct ofi_desk *desk = ofi->errands.desk; desk; desk = desk->made)
        tern_ofi_unregister(&desk->mr);
}

void tern_ofi_serve_close(struct ofi_link *ofi)
{
    struct ofi_errands *e = &ofi->errands;

    while (e->desk) {
        struct ofi_desk *desk = e->desk;

        e->desk = desk->made;
        tern_ofi_unregister(&desk->mr);
        munmap(desk->bytes, desk_size(ofi));
        free(desk->visit);
        free(desk);
    }
    visits_free(e->visits);
    visits_free(e->answers);
}

static void *desk_desc(const struct ofi_desk *desk)
{
    return desk->mr ? fi_mr_desc(desk->mr) : NULL;
}

/* The visit is over. */
static void visit_end(struct ofi_visit *visit)
{
    visit->peer->visits--;
    free(visit);
}

static void desk_end(struct ofi_link *ofi, struct ofi_desk *desk)
{
    desk->visit->peer->seated--;
    visit_end(desk->visit);
    desk->visit = NULL;
    desk->next = ofi->errands.free_desks;
    ofi->errands.free_desks = desk;
}

/* Where the answer of a visit is made. */
static unsigned char *answer_at(const struct ofi_desk *desk)
{
    return desk->bytes + tern_link_answer_at(desk->visit->errand.len) + FRONT;
}

/* ---- serving ---- */

/* Do what the request asks for. */
static void serve(struct ofi_link *ofi, struct ofi_visit *visit, const unsigned char *request, unsigned char *answer)
{
    struct tern_link_ground   ground = { .base = NULL };
    const struct ofi_exposed *entry = ofi->exposed;
    size_t                    answered = 0;

    while (entry && entry->region != visit->errand.region)
        entry = entry->next;
    visit->answer = (struct ofi_answer){ .status = TERN_ERR_LINK };
    if (!entry)
        return;
    ground.base = (unsigned char *)(uintptr_t)entry->addr;
    ground.size = entry->size;
    ground.origin = entry->origin;
    /* The program's threads, before and after a barrier with the peer. */
    tern_base_order_after_peers();
    visit->answer.status = ofi->up->serve(&ground, request, visit->errand.len, answer, visit->errand.expect, &answered);
    tern_base_order_before_peers();
    tern_ofi_ring(ofi); /* the program may wait for a word that has changed */
    visit->answer.len = visit->answer.status == TERN_OK ? (uint32_t)answered : 0;
}

/* Write the head of the answer's message; returns its length. */
static size_t write_head(const struct ofi_link *ofi, const struct ofi_visit *visit, unsigned char *to)
{
    struct ofi_header header = { .token = visit->peer->token_out,
                                 .from_kind = (uint32_t)ofi->rank << 8 | OFI_ANSWER,
                                 .seq = visit->number,
                                 .ack = visit->uses };

    memcpy(to, &header, sizeof(header));
    memcpy(to + sizeof(header), &visit->answer, sizeof(visit->answer));
    return OFI_WIRE_ANSWER;
}

/* Send an answer that has no bytes with it. */
static ssize_t send_bare(struct ofi_link *ofi, const struct ofi_visit *visit)
{
    unsigned char bytes[OFI_WIRE_ANSWER];
    size_t        len = write_head(ofi, visit, bytes);

    return tern_ofi_send_copy(ofi, visit->peer, bytes, len);
}

/* Send one with its bytes, which are few. */
static ssize_t send_small(struct ofi_link *ofi, const struct ofi_visit *visit, const unsigned char *answer)
{
    unsigned char bytes[OFI_WIRE_ANSWER + TERN_LINK_SMALL];
    size_t        len = write_head(ofi, visit, bytes);

    memcpy(bytes + len, answer, visit->answer.len);
    return tern_ofi_send_copy(ofi, visit->peer, bytes, len + visit->answer.len);
}

/* ---- the steps at a desk ---- */

static ssize_t step_tell(struct ofi_link *ofi, struct ofi_desk *desk);

/* A step failed: the peer is told, unless that is what failed. A broken connection is its own news. */
static void desk_fail(struct ofi_link *ofi, struct ofi_desk *desk)
{
    if (desk->telling) {
        desk_end(ofi, desk);
        return;
    }
    desk->visit->answer = (struct ofi_answer){ .status = TERN_ERR_LINK };
    desk->step = step_tell;
    desk_step(ofi, desk);
}

/* A step that the provider did not do at once has ended: do the next. */
static void step_ended(struct ofi_link *ofi, struct ofi_token *token, const struct ofi_news *news)
{
    struct ofi_desk *desk = (struct ofi_desk *)token;

    if (news->error != 0)
        desk_fail(ofi, desk);
    else
        desk_step(ofi, desk);
}

static ssize_t step_over(struct ofi_link *ofi, struct ofi_desk *desk)
{
    desk_end(ofi, desk);
    return 0;
}

/* The peer is told that its answer is there, or that there is none. */
static ssize_t step_tell(struct ofi_link *ofi, struct ofi_desk *desk)
{
    ssize_t rc = send_bare(ofi, desk->visit);

    desk->telling = true;
    if (rc == 0)
        desk_end(ofi, desk);
    return rc;
}

/* The same with the bytes of a short answer. */
static ssize_t step_send(struct ofi_link *ofi, struct ofi_desk *desk)
{
    unsigned char *message = answer_at(desk) - OFI_WIRE_ANSWER;
    size_t         len = write_head(ofi, desk->visit, message) + desk->visit->answer.len;
    ssize_t        rc;

    desk->step = step_over;
    desk->telling = true;
    rc = fi_send(ofi->net.ep, message, len, desk_desc(desk), desk->visit->peer->addr, &desk->token.context);
    if (rc != 0)
        desk->step = step_send;
    return rc;
}

/* A read behind a write that is not completed by its delivery. */
static ssize_t step_flush(struct ofi_link *ofi, struct ofi_desk *desk)
{
    const struct ofi_errand *e = &desk->visit->errand;
    uint64_t                 last = e->addr + tern_link_answer_at(e->len) + desk->visit->answer.len - 1;
    ssize_t                  rc;

    desk->step = step_tell;
    rc = fi_read(ofi->net.ep, desk->bytes, 1, desk_desc(desk), desk->visit->peer->addr, last, e->key,
                 &desk->token.context);
    if (rc != 0)
        desk->step = step_flush;
    return rc;
}

static ssize_t step_write(struct ofi_link *ofi, struct ofi_desk *desk)
{
    const struct ofi_errand *e = &desk->visit->errand;
    void                    *desc = desk_desc(desk);
    struct iovec             here = { answer_at(desk), desk->visit->answer.len };
    struct fi_rma_iov there = { .addr = e->addr + tern_link_answer_at(e->len), .len = here.iov_len, .key = e->key };
    struct fi_msg_rma msg = { .msg_iov = &here,
                              .desc = &desc,
                              .iov_count = 1,
                              .addr = desk->visit->peer->addr,
                              .rma_iov = &there,
                              .rma_iov_count = 1,
                              .context = &desk->token.context };
    ssize_t           rc;

    desk->step = ofi->net.delivers ? step_tell : step_flush;
    rc = fi_writemsg(ofi->net.ep, &msg, FI_COMPLETION | (ofi->net.delivers ? FI_DELIVERY_COMPLETE : 0));
    if (rc != 0)
        desk->step = step_write;
    return rc;
}

/* The request is here. */
static ssize_t step_serve(struct ofi_link *ofi, struct ofi_desk *desk)
{
    struct ofi_visit *visit = desk->visit;

    serve(ofi, visit, visit->far ? desk->bytes : visit->request, answer_at(desk));
    desk->step = visit->answer.len == 0 ? step_tell : visit->answer.len <= OFI_WIRE_NEAR ? step_send : step_write;
    return desk->step(ofi, desk);
}

static ssize_t step_fetch(struct ofi_link *ofi, struct ofi_desk *desk)
{
    const struct ofi_errand *e = &desk->visit->errand;
    ssize_t                  rc;

    desk->step = step_serve;
    rc = fi_read(ofi->net.ep, desk->bytes, e->len, desk_desc(desk), desk->visit->peer->addr, e->addr, e->key,
                 &desk->token.context);
    if (rc != 0)
        desk->step = step_fetch;
    return rc;
}

/* Do the next step; where the provider has no room for it, later. */
static void desk_step(struct ofi_link *ofi, struct ofi_desk *desk)
{
    tern_status st = tern_ofi_address(ofi, desk->visit->peer);
    ssize_t     rc = st == TERN_OK ? desk->step(ofi, desk) : st == TERN_AGAIN ? -FI_EAGAIN : -FI_EADDRNOTAVAIL;

    if (rc == -FI_EAGAIN) {
        desk->next = ofi->errands.stuck;
        ofi->errands.stuck = desk;
    } else if (rc != 0) {
        desk_fail(ofi, desk);
    }
}

/* ---- visits ---- */

static struct ofi_visit *visit_make(struct ofi_peer *peer, const struct ofi_mail *mail, const unsigned char *request)
{
    size_t            room = mail->len > TERN_LINK_SMALL ? mail->len : TERN_LINK_SMALL; /* also for a small answer */
    struct ofi_visit *visit = malloc(sizeof(*visit) + room);

    if (!visit)
        return NULL;
    *visit = (struct ofi_visit){ .peer = peer,
                                 .errand = mail->errand,
                                 .number = mail->header.seq,
                                 .uses = mail->header.ack,
                                 .far = mail->kind == OFI_FAR_ERRAND };
    memcpy(visit->request, request, mail->len);
    peer->visits++;
    return visit;
}

static void enqueue(struct ofi_visit ***end, struct ofi_visit *visit)
{
    visit->next = NULL;
    **end = visit;
    *end = &visit->next;
}

/* Seat those that wait and get a desk; those of a peer in the order in which they came. */
static void seat_visits(struct ofi_link *ofi)
{
    struct ofi_errands *e = &ofi->errands;
    struct ofi_visit  **at = &e->visits, *visit;
    struct ofi_desk    *desk;

    while ((visit = *at)) {
        if (!(desk = desk_take(ofi, visit->peer))) {
            at = &visit->next;
            continue;
        }
        *at = visit->next;
        if (!*at)
            e->visits_end = at;
        desk->visit = visit;
        desk->token.ended = step_ended;
        desk->telling = false;
        desk->step = visit->far ? step_fetch : step_serve;
        desk_step(ofi, desk);
    }
}

/* A request that needs no desk: it is served where it lies. An answer that cannot be sent now takes the request's place
 * in a record. */
static bool serve_at_once(struct ofi_link *ofi, struct ofi_peer *peer, const struct ofi_mail *mail,
                          const unsigned char *request)
{
    struct ofi_visit visit = {
        .peer = peer, .errand = mail->errand, .number = mail->header.seq, .uses = mail->header.ack
    };
    unsigned char     answer[TERN_LINK_SMALL];
    struct ofi_visit *later;
    tern_status       st = tern_ofi_address(ofi, peer);

    serve(ofi, &visit, request, answer);
    if (st < 0 || (st == TERN_OK && !ofi->errands.answers && send_small(ofi, &visit, answer) != -FI_EAGAIN))
        return true; /* a broken connection is the peer's own news */
    if (!(later = visit_make(peer, mail, request)))
        return false;
    later->answer = visit.answer;
    memcpy(later->request, answer, visit.answer.len);
    enqueue(&ofi->errands.answers_end, later);
    return true;
}

/* Whether the answer is so small that the provider copies it while it is sent, or is only the end of the errand. */
static bool is_small(const struct ofi_link *ofi, const struct ofi_mail *mail)
{
    size_t expect = mail->errand.expect;

    return mail->kind == OFI_ERRAND &&
           (expect == 0 || (expect <= TERN_LINK_SMALL && OFI_WIRE_ANSWER + expect <= ofi->net.inject));
}

bool tern_ofi_serve(struct ofi_link *ofi, struct ofi_peer *peer, const struct ofi_mail *mail,
                    const unsigned char *request)
{
    struct ofi_errands *e = &ofi->errands;
    struct ofi_visit   *visit;

    if (!e->visits_end) {
        e->visits_end = &e->visits;
        e->answers_end = &e->answers;
    }
    if (peer->visits >= MOST_VISITS || mail->errand.len > e->room_bytes || mail->errand.expect > e->room_bytes ||
        tern_link_answer_at(mail->errand.len) + mail->errand.expect > e->room_bytes)
        return false;
    if (is_small(ofi, mail))
        return serve_at_once(ofi, peer, mail, request);
    if (!(visit = visit_make(peer, mail, request)))
        return false;
    enqueue(&e->visits_end, visit);
    seat_visits(ofi);
    return true;
}

bool tern_ofi_serve_waits(const struct ofi_link *ofi)
{
    const struct ofi_errands *e = &ofi->errands;

    return e->answers || e->stuck || e->visits;
}

void tern_ofi_serve_pump(struct ofi_link *ofi)
{
    struct ofi_errands *e = &ofi->errands;
    struct ofi_desk    *desk = e->stuck, *next;

    while (e->answers) {
        struct ofi_visit *visit = e->answers;
        tern_status       st = tern_ofi_address(ofi, visit->peer);

        if (st == TERN_AGAIN || (st == TERN_OK && send_small(ofi, visit, visit->request) == -FI_EAGAIN))
            break;
        if (!(e->answers = visit->next))
            e->answers_end = &e->answers;
        visit_end(visit);
    }
    e->stuck = NULL;
    for (; desk; desk = next) {
        next = desk->next;
        desk_step(ofi, desk);
    }
    seat_visits(ofi);
}
