/* tagged.h: tagged messages, below the argument checks of the public calls.
 *
 * The length of a message selects one of four protocols: inline (the data is in the head of a link message), eager (the
 * data travels with the message), rendezvous (the sender sends an RTS and the receiver fetches the data with one get),
 * and rendezvous in chunks.
 *
 * The thread that polls for messages matches each arriving message (recv.c). tern_op_tagged_lock, a biased lock that
 * costs nothing while there is one thread, guards the posted receives and the unexpected messages. A matched rendezvous
 * receive is handed to the engine of its context (op/trigger/engine.h). There the context's thread, or the helper
 * thread while the program computes, fetches the data and sends the FIN (rndv.c). A send that finds no space, or that
 * must follow such a send, waits in the queue of its context (send.c).
 *
 * The delivering thread therefore advances a request until it is matched or its FIN arrives. After that the context's
 * thread advances the request; a matched receive is advanced by any thread that holds the engine's lock.
 */
#ifndef TERN_OP_TAGGED_TAGGED_H
#define TERN_OP_TAGGED_TAGGED_H

#include <tern/tagged.h>

#include "base/biased_lock.h"
#include "core/context.h"
#include "core/job.h"
#include "core/message.h"
#include "core/wait_set.h"
#include "op/trigger/engine.h"
#include "base/sanitize.h"
#include "base/simd.h"
#include "link/inject.h"
#include "op/match.h"
#include "op/wire.h"

enum tern_request_state { /* as core/wait_set.h numbers them */
                          TERN_REQUEST_IDLE = TERN_WAITABLE_IDLE,
                          TERN_REQUEST_ACTIVE = TERN_WAITABLE_PENDING,
                          TERN_REQUEST_DONE = TERN_WAITABLE_DONE
};
enum tern_request_kind { TERN_REQUEST_SEND, TERN_REQUEST_SSEND, TERN_REQUEST_RECV };

/* The phase of an active request. The delivering thread advances POSTED and OFFERED requests, the engine MATCHED ones,
 * and the context's thread QUEUED ones. */
enum tern_request_phase {
    TERN_REQUEST_POSTED,  /* a receive that is not matched yet */
    TERN_REQUEST_MATCHED, /* a receive that is matched; its data must be fetched or a FIN must be sent */
    TERN_REQUEST_QUEUED,  /* a send that has not been handed to the link yet */
    TERN_REQUEST_OFFERED, /* a send that waits for the FIN of its receiver */
};

/* Flow control for the chunks of one message. At most limit chunks are in flight, so chunk limit + i starts after i
 * chunks have landed. */
struct tern_window {
    uint64_t started, landed;
    uint32_t limit;
};

static inline bool tern_op_window_open(const struct tern_window *window)
{
    return window->started - window->landed < window->limit;
}

/* A send or receive request. Short messages, which are the most frequent ones, touch only its first two cache lines. An
 * inactive request has neither a record nor an id. */
struct tern_request {
    _Alignas(64) struct tern_match_bits match; /* must be first. Its tag is the requested tag, for sends too */
    union {
        tern_v64 begin_with; /* initializes the whole struct with one store */
        struct {
            _Atomic uint32_t state; /* enum tern_request_state. The delivering thread may set DONE */
            tern_status      status;
            uint8_t          kind;  /* enum tern_request_kind */
            uint8_t          phase; /* enum tern_request_phase; guarded by the lock while the delivering thread may
                                     * change it */
            bool             persistent, bound;
            bool             orphan;  /* the program holds no pointer to the request, which is freed when it
                                       * completes */
            bool             wished;  /* a receive that is counted in tern_tagged.wishes */
            bool             watched; /* the request is or was an orphan, wished, or has or had a record */
            bool             attached;
        };
    };
    void                *buffer; /* a send does not write to it */
    uint64_t             size;
    struct tern_ctx     *ctx;
    struct tern_request *next; /* in a list of the context */
    union {
        tern_v64 tag_len; /* initializes both with one store */
        struct {
            uint64_t tag, len; /* of the matched message, like source. For a send: as requested */
        };
    };
    int32_t source;
    int32_t peer;                   /* the requested source, or the target of a send. A rank of the job */
    uint32_t class;                 /* matching class of a receive: see match.h */
    struct tern_op         *record; /* the record that the events of the request point to; NULL: there are no
                                     * events */
    uint64_t                id;     /* identifies a send in its FIN; 0: the send does not wait for a FIN */
    struct tern_mem_handle  handle; /* of the sender's memory; size 0: nothing is exposed or to be fetched */
    /* Fields used while the data is fetched. */
    uint64_t                fetched; /* bytes that came with the RTS or were requested by gets */
    uint64_t                want;    /* total number of bytes to receive */
    uint64_t                chunk;   /* bytes per get */
    uint64_t                begin;   /* offset of the message in the part */
    struct tern_window      window;
    struct tern_work_split *split;         /* work split shared with the sender; NULL: the sender does not copy */
    uint64_t                opened, taken; /* pieces of the split: opened to both sides, and taken by this rank */
    bool                    assist_sent;   /* the ASSIST has been sent */
    bool                    stored;        /* the sender reaches the buffer by stores, so the copy is left to the
                                            * sender while it makes progress */
    uint64_t                seen;          /* if stored: what the sender had left at the last poll */
    struct tern_link_part   part;
    struct tern_op         *fetch;      /* the operation that fetches the data, on the engine's context */
    unsigned char           unused[40]; /* makes the size an odd number of cache lines: see the assertion below */
};

_Static_assert(offsetof(struct tern_request, class) < 128, "short messages use two lines");
_Static_assert(offsetof(struct tern_request, kind) - offsetof(struct tern_request, state) == sizeof(uint64_t) &&
                   offsetof(struct tern_request, buffer) - offsetof(struct tern_request, state) == sizeof(tern_v64),
               "what a request begins with is two words, of which the second begins with its kind");
_Static_assert(sizeof(struct tern_request) / 64 % 2 == 1, "the same lines of many are in many sets of a cache");

/* An unexpected message: it arrived before a matching receive was posted, and is stored. */
struct tern_message {
    struct tern_match_name name;
    uint64_t               len;          /* total length of the message */
    uint64_t               id;           /* 0: the sender does not wait for a FIN */
    struct tern_mem_handle handle;       /* size 0: all data came with the message */
    struct tern_ctx       *ctx;          /* the context whose matched probe holds the message */
    struct tern_message   *next, **link; /* in the list of all messages that matched probes hold */
    uint64_t               bytes;        /* number of bytes in data, which came with the message */
    unsigned char          data[];
};

/* The state of a context for messages with one peer. */
struct tern_tagged_peer {
    uint32_t                  queued; /* sends to the peer that have not been handed to the link */
    uint32_t                  pass;   /* the last pass along the queue in which there was no space for the peer */
    struct tern_inject_tagged inject; /* direct-injection handle for short messages; producer NULL: not looked up yet,
                                       * or there is none */
    /* For messages that the peer may store into buffers of this context: the time at which it last did so or was asked
     * to, and the number of further messages that are not left to the peer because it did not respond. Guarded by the
     * engine's lock. */
    int64_t                   asked;
    uint32_t                  absent;
};

/* A send that the receiver has asked this rank to help copy. The fields are copied from the receiver's work split once;
 * later only the piece numbers are read from it. */
struct tern_tagged_assist {
    struct tern_request    *request;
    struct tern_work_split *split;
    uint32_t                key;
    uint64_t                addr, size, probe, piece; /* of the receiver's memory */
    bool                    flood;                    /* the outstanding assists exceed the caches: use non-temporal
                                                       * stores */
};

struct tern_tagged_slab;
struct tern_tagged {
    struct tern_ctx_tagged    base;               /* must be first */
    struct tern_request      *ended;              /* orphaned requests that completed and are to be freed. Guarded by
                                                   * the lock */
    struct tern_request      *matched;            /* matched receives whose data must be fetched, newest first.
                                                   * Guarded by the lock */
    _Atomic uint32_t          wishes;             /* receives of long messages, posted or to be fetched, that no call
                                                   * is blocked on. Written under the lock */
    struct tern_request      *queue, **queue_end; /* sends that have not been handed to the link, oldest first */
    uint32_t                  pass;
    uint32_t                  awaiting_fin; /* sends that wait for a FIN. Guarded by the lock */
    uint32_t                  losses;       /* the job's count of losses at the last search for requests that wait for
                                             * dead ranks */
    bool                      doomed;       /* the search found some */
    struct tern_tagged_assist assist[TERN_LINK_SPLITS]; /* sends whose receivers sent an ASSIST. Guarded by the
                                                         * lock */
    _Atomic uint32_t          assists;                  /* number of entries in assist[]. Written under the lock */
    uint64_t                  assist_bytes; /* total size of the messages in assist[], counted since assist[] was last
                                             * empty. Guarded by the lock */
    struct tern_request      *unused;
    struct tern_tagged_slab  *slabs;
    struct tern_tagged_peer   peer[]; /* one entry per rank of the job */
};

/* tern_op_tagged_open starts to accept messages; it is called before the rank joins the job. tern_op_tagged_leave drops
 * all further messages, because the program is about to leave the job, and waits until all sends have been handed to
 * the link. tern_op_tagged_close frees the remaining memory after the rank has left. */
void        tern_op_tagged_open(void);
tern_status tern_op_tagged_leave(void);
void        tern_op_tagged_close(void);

/* Upcall of the links (struct tern_link_up): accept a message. */
bool tern_op_tagged_receive(int from, const unsigned char *head, const unsigned char *data, size_t len);

/* ---- tagged.c: requests ---- */

extern struct tern_biased_lock tern_op_tagged_lock;

/* Allocate more requests for the context's free list. Returns false if there is no memory. */
bool tern_op_request_make(struct tern_ctx *ctx);

/* The initial value of begin_with for a request that is POSTED, has no error, and has no flag set. */
static inline tern_v64 tern_op_request_begins(enum tern_request_state state, enum tern_request_kind kind)
{
    _Static_assert(TERN_OK == 0 && TERN_REQUEST_POSTED == 0, "the rest is 0");
    _Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "lower halves come first");
    return (tern_v64){ state, kind };
}

/* Take a request from the context's free list, allocating more if necessary. Returns NULL if there is no memory. */
static inline struct tern_request *tern_op_request_new(struct tern_ctx *ctx, enum tern_request_kind kind)
{
    struct tern_tagged  *tagged = (struct tern_tagged *)ctx->tagged;
    struct tern_request *request;

    if (TERN_UNLIKELY(!tagged || !tagged->unused)) {
        if (!tern_op_request_make(ctx))
            return NULL;
        tagged = (struct tern_tagged *)ctx->tagged;
    }
    request = tagged->unused;
    tagged->unused = request->next;
    request->begin_with = tern_op_request_begins(TERN_REQUEST_IDLE, kind); /* the other fields are rarely used */
    return request;
}

/* Return a completed request for a send that was injected. The caller must guarantee that the free list is not
 * empty. */
static inline __attribute__((always_inline)) struct tern_request *tern_op_request_left(struct tern_tagged *tagged,
                                                                                       int rank, uint64_t tag,
                                                                                       size_t len)
{
    struct tern_request *request = tagged->unused;

    tagged->unused = request->next;
    request->begin_with = tern_op_request_begins(TERN_REQUEST_DONE, TERN_REQUEST_SEND);
    request->tag_len = (tern_v64){ tag, len };
    request->source = rank;
    return request;
}

/* Return an inactive request to the free list. Must be called by the context's thread. */
static inline void tern_op_request_drop(struct tern_request *request)
{
    struct tern_tagged *tagged = (struct tern_tagged *)request->ctx->tagged;

    atomic_store_explicit(&request->state, TERN_REQUEST_IDLE, memory_order_relaxed); /* the context's thread */
    request->next = tagged->unused;
    tagged->unused = request;
}

/* The name that the request matches. */
static inline struct tern_match_name tern_op_request_name(const struct tern_request *request)
{
    return (struct tern_match_name){ .scope = request->ctx->team->group->id,
                                     .tag = request->match.tag,
                                     .source = request->peer,
                                     .class = request->class };
}

static inline unsigned tern_op_request_state(const struct tern_request *request)
{
    /* acquire: the source, tag, length and data of the message. Pairs with tern_op_request_end(). */
    return atomic_load_explicit(&request->state, memory_order_acquire);
}

/* Complete a request with the given status. Any thread may call this, but a thread other than the context's must hold
 * the lock. The first function handles requests that have events, are orphaned, or are counted in wishes. */
void               tern_op_request_end_watched(struct tern_request *request, tern_status status);
static inline void tern_op_request_end(struct tern_request *request, tern_status status)
{
    if (TERN_UNLIKELY(request->watched)) {
        tern_op_request_end_watched(request, status);
        return;
    }
    request->status = status;
    /* release: the source, tag, length and data of the message. Pairs with tern_op_request_state(). */
    atomic_store_explicit(&request->state, TERN_REQUEST_DONE, memory_order_release);
}

/* Hand a matched receive to its context, which fetches the data. The caller holds the lock. */
void                 tern_op_request_matched(struct tern_request *request);
/* Remove and return the list of matched receives of a context, oldest first. */
struct tern_request *tern_op_request_take_matched(struct tern_tagged *tagged);

/* Check whether an active request can never complete because every rank that could complete it is dead. If so, complete
 * the request and return true. */
bool tern_op_request_hopeless(struct tern_request *request);

/* Check whether a receive that was started after the death of a rank waits for that rank. */
void tern_op_request_doomed(struct tern_request *request);

/* Cancel a request that has had no effect yet. Returns false if it has had one. */
bool tern_op_request_cancel(struct tern_request *request);

/* Stop waiting for a request, whatever its phase. */
void tern_op_request_abandon(struct tern_request *request);

bool tern_op_request_event(struct tern_request *request, tern_event *event); /* false: no memory */
void tern_op_request_describe(const struct tern_request *request, char *text, size_t size);

/* ---- send.c: sends ---- */

/* Start a send to a rank of the job. On an error the request is not active. tern_op_tagged_start_send expects that
 * rank, tag, buffer and length are already set in the request. */
tern_status tern_op_tagged_send(struct tern_request *request, int rank, uint64_t tag, const void *buf, size_t len);
tern_status tern_op_tagged_start_send(struct tern_request *request);

/* Send an inline or eager message that needs no FIN, if there is space now and no send to the rank is queued. Returns
 * TERN_AGAIN if the message needs a request. */
tern_status tern_op_tagged_send_now(struct tern_ctx *ctx, int rank, uint64_t tag, const void *buf, size_t len);

/* Inject a short message with few stores (base/spsc_ring.h). This works only if the message fits into the head, no rank
 * has died, and this thread owns the biased locks. Returns the slot of the target, whose bell
 * the caller must ring. Returns NULL if the conditions do not hold or the ring is full; then nothing was sent. */
static inline __attribute__((always_inline)) struct tern_slot *tern_op_tagged_send_short(const struct tern_ctx *ctx,
                                                                                         int rank, uint64_t tag,
                                                                                         const void *buf, size_t len)
{
    const struct tern_tagged      *tagged = (const struct tern_tagged *)ctx->tagged;
    const struct tern_tagged_peer *flow;
    struct tern_ring_mp_producer  *outlet;

    /* acquire: see tern_core_job_check_deaths() */
    if (TERN_UNLIKELY(len > wire_tagged_room(false) || !tagged || tern_core_ctx_has_ops(ctx) ||
                      atomic_load_explicit(&tern_job.boot.segment->losses, memory_order_acquire) != 0))
        return NULL;
    flow = &tagged->peer[rank];
    outlet = flow->inject.producer;
    if (TERN_UNLIKELY(!outlet || flow->queued > 0 || !tern_base_biased_trylock(&outlet->lock)))
        return NULL;
    if (TERN_UNLIKELY(!tern_base_ring_has_cell(&outlet->producer))) {
        tern_base_biased_unlock(&outlet->lock, true);
        return NULL;
    }
    tern_base_order_before(&tern_op_tagged_lock); /* any thread may learn of this message */
    tern_base_ring_push_short(&outlet->producer,
                              wire_tagged_first(WIRE_TAGGED_INLINE, len, false, ctx->team->group->id), tag, buf, len);
    tern_base_biased_unlock(&outlet->lock, true);
    return flow->inject.slot;
}

/* The eager limit: messages of up to this many bytes travel with their data, whichever rank sends them. */
extern _Atomic uint64_t tern_op_tagged_eager_limit; /* UINT64_MAX: not determined yet */
uint64_t                tern_op_tagged_find_eager_limit(void);

static inline uint64_t tern_op_tagged_eager_max(void)
{
    uint64_t least =
        /* all threads compute the same value */
        atomic_load_explicit(&tern_op_tagged_eager_limit, memory_order_relaxed);

    return TERN_LIKELY(least != UINT64_MAX) ? least : tern_op_tagged_find_eager_limit();
}

/* Number of sends of this rank that wait for a FIN. Written under the lock; a hint for other readers. */
extern _Atomic uint32_t tern_op_tagged_awaiting_fin;

/* Retry the queued sends of the context. */
void tern_op_tagged_progress_sends(struct tern_tagged *tagged);

/* Send a FIN to the sender of a message. Returns TERN_AGAIN if there is no space or another thread is delivering.
 * tern_op_tagged_send_fin_now is for the delivering thread itself. */
tern_status tern_op_tagged_send_fin(int rank, uint64_t id, tern_status status);
tern_status tern_op_tagged_send_fin_now(int rank, uint64_t id, tern_status status);

/* Remove a send from the table of sends that wait for a FIN, and revoke access to its buffer. Returns false if the FIN
 * has already arrived. */
bool tern_op_tagged_withdraw(struct tern_request *request);

/* Find the send to the rank with the given id. Returns NULL if there is none. The caller holds the lock. */
struct tern_request *tern_op_tagged_sent(int rank, uint64_t id);

void tern_op_tagged_send_open(void);
void tern_op_tagged_send_close(void);

/* ---- recv.c: receiving and matching ---- */

void tern_op_tagged_recv_open(void);
void tern_op_tagged_recv_close(void);

/* tern_op_tagged_refuse makes this rank drop all further unexpected messages. tern_op_tagged_forget drops the stored
 * ones and sends a FIN to the senders that wait for one; it returns false if some are left. */
void tern_op_tagged_refuse(void);
bool tern_op_tagged_forget(void);

/* Called after a receive was posted: a message that was pushed back may match now, and its sender may be dead. */
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

    if (TERN_UNLIKELY(request->size > tern_op_tagged_eager_max()))
        return false;
    alone = tern_base_biased_lock(&tern_op_tagged_lock);
    again = match->kept == 0 && tern_op_match_bind_again(match, &request->match.request, scope, tag, source, class);
    if (TERN_LIKELY(again)) {
        request->bound = true;
        /* relaxed: the lock orders it */
        atomic_store_explicit(&request->state, TERN_REQUEST_ACTIVE, memory_order_relaxed);
        tern_op_match_post(match, &request->match.request);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (TERN_LIKELY(again))
        tern_op_tagged_posted(request);
    return again;
}

/* Whether a matched probe of the context holds a message that has not been received. */
bool tern_op_tagged_has_probed(const struct tern_ctx *ctx);

/* Start to receive a message that a matched probe holds. */
void tern_op_tagged_start_mrecv(struct tern_request *request, struct tern_message *message, bool waits);

/* Withdraw a posted receive. The caller holds the lock. */
void tern_op_tagged_unpost(struct tern_request *request);

/* What a probe reports about the oldest unexpected message that matches. */
struct tern_op_seen {
    int      source; /* rank in the job */
    uint64_t tag, len;
};

/* Find the oldest unexpected message that matches. Returns TERN_PENDING if there is none. If out is NULL the message
 * stays stored; otherwise the message is removed and owned by a matched probe of the context. */
tern_status tern_op_tagged_find(struct tern_ctx *ctx, const struct tern_match_name *name, uint64_t care,
                                struct tern_op_seen *seen, struct tern_message **out);

/* tern_op_tagged_senders_dead: whether every rank that could send a matching message is dead. tern_op_tagged_deserted:
 * whether, in addition, no matching message is in flight. */
bool tern_op_tagged_senders_dead(const struct tern_ctx *ctx, const struct tern_match_name *name);
bool tern_op_tagged_deserted(const struct tern_ctx *ctx, const struct tern_match_name *name);

uint64_t tern_op_tagged_unexpected_bytes(void); /* stored, for reports */

/* ---- rndv_assist.c: sender-assisted copy ---- */

/* indices of the user words of a work split */
enum { TERN_SPLIT_ADDR, TERN_SPLIT_SIZE, TERN_SPLIT_PROBE, TERN_SPLIT_PIECE };

void tern_op_tagged_assist_open(void);

/* Send an ASSIST: ask the sender of a message to copy pieces of it. Returns TERN_AGAIN if there is no space or another
 * thread is delivering. */
tern_status tern_op_tagged_send_assist(int rank, uint64_t id, unsigned share, uint32_t key);

/* Copy some of the pieces that receivers have opened to sends of the context. Must be called by the context's
 * thread. */
void tern_op_tagged_assist(struct tern_ctx *ctx);

/* Remove a completed send from assist[]. The caller holds the lock. */
void tern_op_tagged_assist_end(struct tern_request *request);

/* ---- rndv.c: fetching the data of rendezvous messages ---- */

/* Start to fetch the data of matched receives, and send the FINs. tern_op_tagged_rndv_start must be called by the
 * context's thread, tern_op_tagged_rndv_start_for by a thread that holds the engine's lock. The latter returns whether
 * there were any matched receives, some of which may have completed. */
void tern_op_tagged_rndv_start(struct tern_ctx *ctx);
bool tern_op_tagged_rndv_start_for(struct tern_engine *engine, struct tern_tagged *tagged);

/* Make the helper thread serve the receives of a context that has requests. Returns false if it cannot. */
bool tern_op_tagged_has_helper(struct tern_ctx *ctx);

#endif
