/* send.c: sends, and the FINs that their receivers send back.
 *
 * A send of up to 32 bytes takes one cache line, and a send of up to TERN_MSG_EAGER bytes is one copy into the link's
 * queue. Both are complete then. For a longer send the sender exposes its buffer to the receiver's link and sends an
 * RTS, which carries the memory handle and the first bytes. The receiver sends a FIN when it has fetched the rest. A
 * synchronous send of any length waits for a FIN too. A FIN is an internal active message on the reply channel, which
 * always drains; behind tagged messages that no receive matches yet it might never arrive.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/log.h"
#include "base/options.h"
#include "base/sanitize.h"
#include "core/links.h"
#include "core/message.h"
#include "core/region.h"
#include "core/helper.h"
#include "op/am/am.h"
#include "op/tagged/tagged.h"
#include "op/wire.h"

/* The table of sends that wait for a FIN. The lower half of a send's id is the index; the upper half distinguishes
 * successive uses of an entry. */
struct entry {
    struct tern_request *request; /* NULL: free */
    uint32_t             use;
    uint32_t             next; /* in the free list */
};

#define NO_ENTRY UINT32_MAX

static struct entry *table; /* guarded by the lock, like the next two variables */
static uint32_t      count, unused = NO_ENTRY;

_Atomic uint64_t tern_op_tagged_eager_limit = UINT64_MAX;
_Atomic uint32_t tern_op_tagged_awaiting_fin;

static bool is_sync(const struct tern_request *request)
{
    return request->kind == TERN_REQUEST_SSEND;
}

static bool table_grow(void)
{
    uint32_t      more = count > 0 ? 2 * count : 64;
    struct entry *wider = realloc(table, more * sizeof(*wider));

    if (!wider)
        return false;
    table = wider;
    for (uint32_t i = more; i-- > count;) {
        table[i] = (struct entry){ .next = unused };
        unused = i;
    }
    count = more;
    return true;
}

/* The caller holds the lock. */
static void set_awaiting_fin(uint32_t sends)
{
    /* relaxed: a hint for readers without the lock */
    atomic_store_explicit(&tern_op_tagged_awaiting_fin, sends, memory_order_relaxed);
}

/* Add a send to the table and give it an id, by which its FIN finds it. Returns false if there is no memory. */
static bool table_add(struct tern_request *request)
{
    bool     alone = tern_base_biased_lock(&tern_op_tagged_lock), entered = unused != NO_ENTRY || table_grow();
    uint32_t i = unused;

    if (entered) {
        unused = table[i].next;
        table[i].request = request;
        request->id = (uint64_t)++table[i].use << 32 | i;
        request->id += table[i].use == 0 ? 1ull << 32 : 0; /* 0 is not a valid id */
        table[i].use += table[i].use == 0;
        ((struct tern_tagged *)request->ctx->tagged)->awaiting_fin++;
        set_awaiting_fin(tern_op_tagged_awaiting_fin + 1);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    return entered;
}

struct tern_request *tern_op_tagged_sent(int rank, uint64_t id)
{
    uint32_t             i = (uint32_t)id;
    struct tern_request *request = i < count ? table[i].request : NULL;

    return request && request->id == id && request->peer == rank ? request : NULL;
}

/* Remove the send to the rank with the given id from the table and return it; NULL: there is none. The caller holds the
 * lock. */
static struct tern_request *table_remove(int rank, uint64_t id)
{
    uint32_t             i = (uint32_t)id;
    struct tern_request *request = tern_op_tagged_sent(rank, id);

    if (!request)
        return NULL;
    tern_op_tagged_assist_end(request);
    table[i].request = NULL;
    table[i].next = unused;
    unused = i;
    ((struct tern_tagged *)request->ctx->tagged)->awaiting_fin--;
    set_awaiting_fin(tern_op_tagged_awaiting_fin - 1);
    request->id = 0;
    return request;
}

/* ---- exposing the send buffer ---- */

/* Fill in the handle if the buffer is in a region that the receiver has too: then the receiver reaches it already, on
 * the same node by loads. Returns false otherwise. */
static bool handle_of_region(struct tern_request *request)
{
    uint64_t                     addr = (uint64_t)(uintptr_t)request->buffer;
    const struct tern_region    *region = tern_core_region_find(request->ctx, tern_job.boot.rank, addr);
    const struct tern_link_part *part = region ? &region->part[tern_job.boot.rank] : NULL;

    if (!region || region->part[request->peer].region == 0 ||
        !tern_base_covers(part->size, addr - part->addr, request->size))
        return false;
    request->handle = (struct tern_mem_handle){
        .region = part->region, .size = request->size, .offset = addr - part->addr, .mem_kind = part->mem_kind
    };
    return true;
}

static tern_status expose(struct tern_request *request)
{
    static _Atomic uint64_t offers;
    unsigned                link = tern_job.peer_link[request->peer];
    tern_status             st;

    if (handle_of_region(request))
        return TERN_OK;
    request->handle = (struct tern_mem_handle){
        .region = WIRE_TAGGED_OWN | (uint64_t)tern_job.boot.rank << 40 | (atomic_fetch_add(&offers, 1) & 0xffffffffff),
        .addr = (uint64_t)(uintptr_t)request->buffer,
        .size = request->size,
        .probe = (uint64_t)(uintptr_t)&tern_link_probe,
        .mem_kind = TERN_MEM_PRIVATE,
        .pid = atomic_load(&tern_core_job_slot(tern_job.boot.rank)->pid),
    };
    st = tern_core_links_expose(link, &request->handle);
    /* The kernel may forbid a receiver on this node to read the memory itself. */
    if (st == TERN_OK && tern_job.ops[link]->maps && request->peer != tern_job.boot.rank)
        st = tern_core_service_start();
    if (st < 0)
        request->handle.size = 0;
    return st;
}

static void conceal(const struct tern_request *request)
{
    if (request->handle.size > 0 && request->handle.region & WIRE_TAGGED_OWN)
        tern_core_ops_to(request->peer)->unexpose(tern_core_link_to(request->peer), request->handle.region);
}

/* ---- protocols ---- */

/* An outgoing message. */
struct outgoing {
    int         rank; /* in the job */
    uint32_t    scope;
    uint64_t    tag, id; /* id 0: the sender wants no FIN */
    const void *data;
    size_t      len;
};

static inline tern_status send_inline(const struct outgoing *p)
{
    uint32_t words[TERN_LINK_SHORT_ARGS];
    size_t   at = wire_tagged_at(p->id != 0) / sizeof(uint32_t) - 2; /* index after the first word */
    uint64_t first = wire_tagged_first(WIRE_TAGGED_INLINE, p->len, p->id != 0, p->scope);
    unsigned used = (unsigned)(at + (p->len + 3) / sizeof(uint32_t));

    memcpy(words, &p->tag, sizeof(p->tag));
    memcpy(words + 2, &p->id, sizeof(p->id));
    if (TERN_LIKELY(p->len == 8)) {
        memcpy(words + at, p->data, 8);
    } else if (p->len > 0) {
        words[used - 1] = 0;
        memcpy(words + at, p->data, p->len);
    }
    tern_base_order_before(&tern_op_tagged_lock); /* the FIN may arrive in any thread: pairs with on_fin() */
    return tern_core_ops_to(p->rank)->msg->send_short(tern_core_link_to(p->rank), p->rank, TERN_CHANNEL_TAGGED, first,
                                                      words, used);
}

/* Send a message with data: an eager message, or, if handle is not NULL, an RTS for len_all bytes. */
static tern_status send_data(const struct outgoing *p, const struct tern_mem_handle *handle, uint64_t len_all)
{
    enum wire_tagged_kind kind = handle ? WIRE_TAGGED_RTS : WIRE_TAGGED_EAGER;
    size_t                before = handle ? tern_link_handle_bytes(handle) : 0;
    struct tern_link_msg  msg = { .peer = p->rank, .channel = TERN_CHANNEL_TAGGED };
    tern_status           st =
        tern_core_ops_to(p->rank)->msg->open(tern_core_link_to(p->rank), &msg, before + p->len, before + p->len);
    uint64_t *head;

    if (st != TERN_OK)
        return st;
    if (handle)
        memcpy(msg.data, handle, before);
    if (p->len > 0)
        memcpy(msg.data + before, p->data, p->len);
    head = (uint64_t *)(void *)msg.head;
    head[0] = wire_tagged_first(kind, 0, p->id != 0, p->scope);
    head[1] = p->tag;
    head[2] = p->id;
    head[3] = len_all;
    tern_base_order_before(&tern_op_tagged_lock); /* pairs with on_fin() */
    tern_core_ops_to(p->rank)->msg->send(tern_core_link_to(p->rank), &msg, before + p->len);
    return TERN_OK;
}

/* The maximum length of the data behind a memory handle in one link message to the rank. */
static size_t longest_to(int rank)
{
    return tern_core_ops_to(rank)->msg->max_data(tern_core_link_to(rank), rank, TERN_CHANNEL_TAGGED) -
           sizeof(struct tern_mem_handle);
}

/* The eager limit for messages to the rank. The link's queue holds several messages of this size, so that one can be
 * copied in while others are copied out. */
static size_t eager_most(int rank)
{
    size_t most = longest_to(rank) / 8 * 3;

    return tern_opt.msg_eager < most ? tern_opt.msg_eager : most;
}

uint64_t tern_op_tagged_find_eager_limit(void)
{
    uint64_t least = tern_opt.msg_eager;

    for (int rank = 0; rank < tern_job.boot.ranks; rank++)
        if (eager_most(rank) < least)
            least = eager_most(rank);
    atomic_store_explicit(&tern_op_tagged_eager_limit, least, memory_order_relaxed);
    return least;
}

static bool is_rndv(int rank, size_t len)
{
    return len > wire_tagged_room(true) && len > eager_most(rank);
}

static tern_status send_rts(struct tern_request *request, struct outgoing *p)
{
    size_t      longest = longest_to(p->rank);
    tern_status st = request->handle.size > 0 ? TERN_OK : expose(request);

    if (st < 0)
        return st;
    if (p->len > tern_opt.msg_first)
        p->len = tern_opt.msg_first;
    if (p->len > longest)
        p->len = longest;
    return send_data(p, &request->handle, request->size);
}

/* Try to send the message now. Returns TERN_AGAIN if there is no space. */
static tern_status try_send(struct tern_request *request)
{
    int             rank = request->peer;
    struct outgoing p = { rank,         request->ctx->team->group->id, request->match.tag, request->id, request->buffer,
                          request->size };

    if (TERN_UNLIKELY(tern_core_job_lost(rank)))
        return tern_base_fail(TERN_ERR_PEER, "rank %d is gone", rank);
    if (TERN_UNLIKELY(tern_core_ctx_must_follow(request->ctx, rank)))
        return TERN_AGAIN;
    if (is_rndv(rank, p.len))
        return send_rts(request, &p);
    return p.len <= wire_tagged_room(p.id != 0) ? send_inline(&p) : send_data(&p, NULL, 0);
}

/* After a short message was sent: look up the direct-injection handle for the next ones, if the link has one. */
static void find_inject(struct tern_ctx *ctx, int rank)
{
    struct tern_tagged_peer *flow;

    if (TERN_LIKELY(!tern_core_ops_to(rank)->inject) || (!ctx->tagged && !tern_op_request_make(ctx)))
        return;
    flow = &((struct tern_tagged *)ctx->tagged)->peer[rank];
    if (!flow->inject.producer)
        /* on failure the next message tries again */
        (void)tern_core_ops_to(rank)->inject->tagged(tern_core_link_to(rank), rank, &flow->inject);
}

static inline tern_status send_now(struct tern_ctx *ctx, int rank, uint64_t tag, const void *buf, size_t len)
{
    const struct tern_tagged *tagged = (const struct tern_tagged *)ctx->tagged;
    struct outgoing           p = { rank, ctx->team->group->id, tag, 0, buf, len };
    tern_status               st;

    if (TERN_UNLIKELY(tagged && tagged->peer[rank].queued > 0) || tern_core_ctx_must_follow(ctx, rank))
        return TERN_AGAIN;
    if (TERN_LIKELY(len <= wire_tagged_room(false))) {
        if ((st = send_inline(&p)) == TERN_OK)
            find_inject(ctx, rank);
        return st;
    }
    return is_rndv(rank, len) ? TERN_AGAIN : send_data(&p, NULL, 0);
}

tern_status tern_op_tagged_send_now(struct tern_ctx *ctx, int rank, uint64_t tag, const void *buf, size_t len)
{
    return send_now(ctx, rank, tag, buf, len);
}

/* ---- requests ---- */

/* Called when a send was handed to the link or has failed. wants_fin: the FIN completes the request, and may already
 * have arrived. A failure completes the request here. */
static void was_sent(struct tern_request *request, bool wants_fin, tern_status st)
{
    if (st < 0 && wants_fin)
        tern_op_tagged_withdraw(request);
    if (st < 0 || !wants_fin)
        tern_op_request_end(request, st);
}

/* Start a send that cannot be sent immediately or waits for a FIN. */
static __attribute__((noinline)) tern_status start_slowly(struct tern_request *request)
{
    struct tern_tagged      *tagged = (struct tern_tagged *)request->ctx->tagged;
    struct tern_tagged_peer *flow = &tagged->peer[request->source];
    bool                     wants_fin = is_sync(request) || is_rndv(request->source, request->size);
    tern_status              st;

    request->handle.size = 0;
    if (wants_fin && !table_add(request))
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for one more message that waits for its receiver");
    /* Set before the message is sent, because the FIN may arrive at once. */
    request->phase = TERN_REQUEST_OFFERED;
    /* the link's queue orders it */
    atomic_store_explicit(&request->state, TERN_REQUEST_ACTIVE, memory_order_relaxed);
    st = flow->queued > 0 ? TERN_AGAIN : try_send(request);
    if (st < 0) {
        tern_op_tagged_withdraw(request);
        atomic_store_explicit(&request->state, TERN_REQUEST_IDLE, memory_order_relaxed);
        return st;
    }
    if (st == TERN_OK) {
        was_sent(request, wants_fin, st);
        return TERN_OK;
    }
    request->phase = TERN_REQUEST_QUEUED;
    request->next = NULL;
    *tagged->queue_end = request;
    tagged->queue_end = &request->next;
    flow->queued++;
    atomic_store_explicit(&request->ctx->attention, true, memory_order_relaxed); /* this thread reads it */
    return TERN_OK;
}

tern_status tern_op_tagged_send(struct tern_request *request, int rank, uint64_t tag, const void *buf, size_t len)
{
    tern_status st = TERN_AGAIN;

    request->source = rank;
    request->tag = tag;
    request->len = len;
    if (TERN_LIKELY(!is_sync(request) && !tern_core_job_lost(rank)))
        st = send_now(request->ctx, rank, tag, buf, len);
    if (TERN_LIKELY(st == TERN_OK))
        tern_op_request_end(request, TERN_OK);
    if (TERN_LIKELY(st != TERN_AGAIN))
        return st;
    request->peer = rank;
    request->match.tag = tag;
    request->buffer = (void *)(uintptr_t)buf;
    request->size = len;
    return start_slowly(request);
}

tern_status tern_op_tagged_start_send(struct tern_request *request)
{
    return tern_op_tagged_send(request, request->peer, request->match.tag, request->buffer, request->size);
}

/* A send that finds no space blocks the sends behind it to the same rank, and no others. */
void tern_op_tagged_progress_sends(struct tern_tagged *tagged)
{
    struct tern_request **at = &tagged->queue, *request;

    tagged->pass++;
    while ((request = *at)) {
        struct tern_tagged_peer *flow = &tagged->peer[request->peer];
        bool                     wants_fin = request->id != 0;
        tern_status              st = TERN_AGAIN;

        if (flow->pass != tagged->pass) {
            request->phase = TERN_REQUEST_OFFERED; /* the FIN may arrive at once */
            st = try_send(request);
        }
        if (st == TERN_AGAIN) {
            request->phase = TERN_REQUEST_QUEUED;
            flow->pass = tagged->pass;
            at = &request->next;
            continue;
        }
        if (!(*at = request->next))
            tagged->queue_end = at;
        flow->queued--;
        was_sent(request, wants_fin, st);
    }
}

bool tern_op_tagged_withdraw(struct tern_request *request)
{
    bool alone, found;

    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    found = request->id != 0 && table_remove(request->peer, request->id) != NULL;
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (found) {
        conceal(request);
        request->handle.size = 0;
    }
    return found;
}

/* ---- FIN ---- */

static __attribute__((cold, noreturn)) void refuse(int from)
{
    tern_base_log(TERN_LOG_ERROR,
                  "rank %d was told by rank %d of a tagged message that it did not send; ending the job",
                  tern_job.boot.rank, from);
    _Exit(1);
}

/* Handle a FIN: two halves of the id, and a status. A FIN for a send that was withdrawn in the meantime is ignored. */
static void on_fin(const tern_am_event *event, void *user)
{
    struct tern_request *request;
    uint64_t             id;
    bool                 alone;

    (void)user;
    if (event->nargs != 3 || event->request)
        refuse(event->source);
    tern_base_order_after(&tern_op_tagged_lock); /* pairs with tern_base_order_before() in the sending thread */
    id = event->args[0] | (uint64_t)event->args[1] << 32;
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    if ((request = table_remove(event->source, id))) {
        conceal(request);
        request->handle.size = 0;
        tern_op_request_end(request, (int32_t)event->args[2] < 0 ? (tern_status)(int32_t)event->args[2] : TERN_OK);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
}

tern_status tern_op_tagged_send_fin_now(int rank, uint64_t id, tern_status status)
{
    const uint32_t args[3] = { (uint32_t)id, (uint32_t)(id >> 32), (uint32_t)status };

    if (tern_core_job_lost(rank))
        return TERN_OK; /* a dead sender needs no FIN */
    return tern_op_am_send_short(NULL, rank, TERN_OP_AM_FIN, args, 3);
}

tern_status tern_op_tagged_send_fin(int rank, uint64_t id, tern_status status)
{
    tern_status st;

    if (!tern_core_message_hold())
        return TERN_AGAIN;
    st = tern_op_tagged_send_fin_now(rank, id, status);
    tern_core_message_release();
    return st;
}

void tern_op_tagged_send_open(void)
{
    tern_op_am_register(TERN_OP_AM_FIN, on_fin, NULL);
}

void tern_op_tagged_send_close(void)
{
    free(table);
    table = NULL;
    count = 0;
    unused = NO_ENTRY;
    set_awaiting_fin(0);
    atomic_store_explicit(&tern_op_tagged_eager_limit, UINT64_MAX,
                          memory_order_relaxed); /* relaxed: there are no other threads */
}
