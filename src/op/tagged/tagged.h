/* tagged.h: tagged messages, below the checks of the public calls.
 *
 * Four protocols, by the length of a message: in the head of a message of the link; with its data (eager); an offer,
 * whose data the receiver fetches by one get; the same in chunks. Whatever comes is matched by whoever polls for
 * messages (recv.c); a lock that costs nothing while there is one thread guards receives and what is kept. What has
 * to be fetched is handed to the engine of the receive's context (op/trigger/engine.h), where the thread of the
 * context, or the one beside the program while that computes, does so and tells the sender (rndv.c). A send that
 * finds no room, or has to follow one that did not, waits in its context (send.c).
 *
 * So a request is moved on by who delivers until it is matched or told of, then by the thread of its context or, of
 * a matched receive, by whoever has the lock of the engine.
 * */
#ifndef TERN_OP_TAGGED_TAGGED_H
#define TERN_OP_TAGGED_TAGGED_H

#include <tern/tagged.h>

#include "base/biased_lock.h"
#include "core/context.h"
#include "core/job.h"
#include "core/message.h"
#include "op/trigger/engine.h"
#include "base/sanitize.h"
#include "base/simd.h"
#include "link/inject.h"
#include "op/match.h"
#include "op/wire.h"

enum tern_request_state { TERN_REQUEST_IDLE, TERN_REQUEST_ACTIVE, TERN_REQUEST_DONE };
enum tern_request_kind { TERN_REQUEST_SEND, TERN_REQUEST_SSEND, TERN_REQUEST_RECV };

/* How far an active request is. POSTED, OFFERED: who delivers moves it on. MATCHED: the engine. QUEUED: the context's
 * thread. */
enum tern_request_phase {
    TERN_REQUEST_POSTED,  /* a receive that nothing has matched */
    TERN_REQUEST_MATCHED, /* it has a message, which has to be fetched, or its sender told */
    TERN_REQUEST_QUEUED,  /* a send that has not left */
    TERN_REQUEST_OFFERED, /* a send whose receiver will tell */
};

/* Chunks of a message under way: at most limit, so number limit + i starts when i have landed. */
struct tern_window {
    uint64_t started, landed;
    uint32_t limit;
};

static inline bool tern_op_window_open(const struct tern_window *window)
{
    return window->started - window->landed < window->limit;
}

/* Short messages, of which there are many, use two cache lines of it. Who is not active has no record and no id. */
struct tern_request {
    _Alignas(64) struct tern_match_bits match; /* first. Its tag is what was asked for, also of a send */
    union {
        tern_v64 begin_with; /* all of these, by one store */
        struct {
            _Atomic uint32_t state; /* enum tern_request_state. DONE may be set by who delivers */
            tern_status      status;
            uint8_t          kind;  /* enum tern_request_kind */
            uint8_t          phase; /* enum tern_request_phase; under the lock where who delivers may change it */
            bool             persistent, bound;
            bool             orphan;  /* the program has no pointer to it any more: it is freed at its end */
            bool             wished;  /* a receive that is counted in wishes */
            bool             watched; /* it is one of these, or has a record; or was once */
            bool             attached;
        };
    };
    void                *buffer; /* of a send not written */
    uint64_t             size;
    struct tern_ctx     *ctx;
    struct tern_request *next; /* in a list of its context */
    union {
        tern_v64 tag_len; /* both, by one store */
        struct {
            uint64_t tag, len; /* found, as source. Of a send: the same as asked for */
        };
    };
    int32_t source;
    int32_t peer;                   /* asked for; of a send the target. Ranks of the job */
    uint32_t class;                 /* of a receive, for match.h */
    struct tern_pending    *record; /* what events of it point at; NULL: there are none */
    uint64_t                id;     /* by which a sender knows its send; 0: it does not wait for word */
    struct tern_mem_handle  handle; /* of the sender's memory; size 0: nothing is exposed, or to be fetched */
    /* While it is fetched. */
    uint64_t                fetched; /* bytes that came along, or were asked for */
    uint64_t                want;    /* bytes in all */
    uint64_t                chunk;   /* bytes of a get */
    uint64_t                begin;   /* where in the part the message begins */
    struct tern_window      window;
    struct tern_work_split *split;         /* the sender may copy too; NULL: it may not */
    uint64_t                opened, taken; /* pieces of that: opened to both, and taken by this rank */
    bool                    assist_sent;   /* the sender knows */
    bool                    stored;        /* the sender reaches the buffer by stores: it is left to it, if it comes */
    uint64_t                seen;          /* of that: what the sender had left at the last look */
    struct tern_link_part   part;
    struct tern_compound    compound;
    unsigned char           unused[64]; /* see below */
};

_Static_assert(offsetof(struct tern_request, class) < 128, "short messages use two lines");
_Static_assert(offsetof(struct tern_request, kind) - offsetof(struct tern_request, state) == sizeof(uint64_t) &&
                   offsetof(struct tern_request, buffer) - offsetof(struct tern_request, state) == sizeof(tern_v64),
               "what a request begins with is two words, of which the second begins with its kind");
_Static_assert(sizeof(struct tern_request) / 64 % 2 == 1, "the same lines of many are in many sets of a cache");

/* A message that came when nobody waited for it, and is kept. */
struct tern_message {
    struct tern_match_name name;
    uint64_t               len;          /* of the message */
    uint64_t               id;           /* 0: its sender waits for no word */
    struct tern_mem_handle handle;       /* size 0: all of it came along */
    struct tern_ctx       *ctx;          /* of the matched probe that has it */
    struct tern_message   *next, **link; /* of all that matched probes have */
    uint64_t               bytes;        /* that came along */
    unsigned char          data[];
};

/* What a context has of messages. */
struct tern_tagged_peer {
    uint32_t                  queued; /* sends to this rank that have not left */
    uint32_t                  pass;   /* along the queue, in which there was no room for this rank */
    struct tern_inject_tagged inject; /* by which short messages leave; outlet NULL: not known, or there is none */
    /* Of messages that this rank may store into buffers of the context: when it last did, or was asked to; and how many
     * more of them are not left to it, because it did not. The engine's lock. */
    int64_t                   asked;
    uint32_t                  absent;
};

/* A send that its receiver invites to copy. Of the receiver's word only the numbers of pieces are taken later. */
struct tern_tagged_assist {
    struct tern_request    *request;
    struct tern_work_split *split;
    uint32_t                key;
    uint64_t                addr, size, probe, piece; /* of the receiver's memory */
    bool                    flood;                    /* it is one of so many that caches do not hold them */
};

struct tern_tagged_slab;
struct tern_tagged {
    struct tern_ctx_tagged    base;               /* first */
    struct tern_request      *ended;              /* that nobody waited for, to be dropped. Under the lock */
    struct tern_request      *matched;            /* that are to be fetched, newest first. Under the lock */
    _Atomic uint32_t          wishes;             /* receives of long messages that nobody waits for in a call: posted,
                                                  * or to be fetched. Written under the lock */
    struct tern_request      *queue, **queue_end; /* sends that have not left, oldest first */
    uint32_t                  pass;
    uint32_t                  awaiting_fin; /* sends that wait for word. Under the lock */
    uint32_t                  losses;       /* of the job, when it looked for requests that wait for the dead */
    bool                      doomed;       /* there are some */
    struct tern_tagged_assist assist[TERN_LINK_SPLITS]; /* sends that receivers invite to copy. Under the lock */
    _Atomic uint32_t          assists;                  /* how many. Written under the lock */
    uint64_t                  assist_bytes; /* bytes of these, and of those since there were none. The same */
    struct tern_request      *unused;
    struct tern_tagged_slab  *slabs;
    struct tern_tagged_peer   peer[]; /* [ranks of the job] */
};

/* Begin to take messages: called before the job is joined. Drop what comes, because the program is about to leave, and
 * wait until what it sent has left. Free the rest when it has left. */
void        tern_op_tagged_open(void);
tern_status tern_op_tagged_leave(void);
void        tern_op_tagged_close(void);

/* ---- tagged.c: requests ---- */

extern struct tern_biased_lock tern_op_tagged_lock;

/* Make unused ones. False: no memory. */
bool tern_op_request_make(struct tern_ctx *ctx);

/* What one begins with that is POSTED, has no error, and is nothing else. */
static inline tern_v64 tern_op_request_begins(enum tern_request_state state, enum tern_request_kind kind)
{
    _Static_assert(TERN_OK == 0 && TERN_REQUEST_POSTED == 0, "the rest is 0");
    _Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "lower halves come first");
    return (tern_v64){ state, kind };
}

/* A new one; NULL: no memory. */
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
    request->begin_with = tern_op_request_begins(TERN_REQUEST_IDLE, kind); /* the rest is used by few */
    return request;
}

/* One of a send that has left, where there is an unused one. */
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

/* It is gone; it is not active. */
static inline void tern_op_request_drop(struct tern_request *request)
{
    struct tern_tagged *tagged = (struct tern_tagged *)request->ctx->tagged;

    atomic_store_explicit(&request->state, TERN_REQUEST_IDLE, memory_order_relaxed); /* the context's thread */
    request->next = tagged->unused;
    tagged->unused = request;
}

/* What it asks for. */
static inline struct tern_match_name tern_op_request_name(const struct tern_request *request)
{
    return (struct tern_match_name){ .scope = request->ctx->team->group->id,
                                     .tag = request->match.tag,
                                     .source = request->peer,
                                     .class = request->class };
}

static inline unsigned tern_op_request_state(const struct tern_request *request)
{
    /* acquire: what was found, and the data. Pairs with tern_op_request_end(). */
    return atomic_load_explicit(&request->state, memory_order_acquire);
}

/* It is done. Any thread; where it is not the context's, the lock is held. The first: where
 * an event points at it, nobody does any more, or it is counted in wishes. */
void               tern_op_request_end_watched(struct tern_request *request, tern_status status);
static inline void tern_op_request_end(struct tern_request *request, tern_status status)
{
    if (TERN_UNLIKELY(request->watched)) {
        tern_op_request_end_watched(request, status);
        return;
    }
    request->status = status;
    /* release: what was found, and the data. Pairs with tern_op_request_state(). */
    atomic_store_explicit(&request->state, TERN_REQUEST_DONE, memory_order_release);
}

/* A receive is matched, and to be fetched. The lock is held. */
void                 tern_op_request_matched(struct tern_request *request);
/* Take those of a context, oldest first. */
struct tern_request *tern_op_request_take_matched(struct tern_tagged *tagged);

/* Whether an active request waits in vain, because whoever could end it is dead: then it is done. */
bool tern_op_request_hopeless(struct tern_request *request);

/* A receive was started after a rank has died: see whether it waits for it. */
void tern_op_request_doomed(struct tern_request *request);

/* Give up one that has had no effect yet. False: it has. */
bool tern_op_request_cancel(struct tern_request *request);

/* Give up waiting for one, whatever it does. */
void tern_op_request_abandon(struct tern_request *request);

bool tern_op_request_event(struct tern_request *request, tern_event *event); /* false: no memory */
void tern_op_request_describe(const struct tern_request *request, char *text, size_t size);

/* ---- send.c: sends ---- */

/* Start a send, to a rank of the job. On an error it is not active. The second: what is asked for is set. */
tern_status tern_op_tagged_send(struct tern_request *request, int rank, uint64_t tag, const void *buf, size_t len);
tern_status tern_op_tagged_start_send(struct tern_request *request);

/* Send a message that travels with its data and wants no word, if there is room now and nothing waits in front of it.
 * TERN_AGAIN: it takes a request. */
tern_status tern_op_tagged_send_now(struct tern_ctx *ctx, int rank, uint64_t tag, const void *buf, size_t len);

/* The same by the shortest way, and by few stores (base/spsc_ring.h): few bytes, nobody has died, and this thread is
 * alone. What rings for it then; NULL: it is not so, or there is no room, and nothing was done. */
static inline __attribute__((always_inline)) struct tern_slot *tern_op_tagged_send_short(const struct tern_ctx *ctx,
                                                                                         int rank, uint64_t tag,
                                                                                         const void *buf, size_t len)
{
    const struct tern_tagged      *tagged = (const struct tern_tagged *)ctx->tagged;
    const struct tern_tagged_peer *flow;
    struct tern_ring_mp_producer  *outlet;

    /* acquire: see tern_core_job_check_deaths() */
    if (TERN_UNLIKELY(len > wire_tagged_room(false) || !tagged || ctx->outstanding ||
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
    tern_base_order_before(&tern_op_tagged_lock); /* whichever thread hears of it */
    tern_base_ring_push_short(&outlet->producer,
                              wire_tagged_first(WIRE_TAGGED_INLINE, len, false, ctx->team->group->id), tag, buf, len);
    tern_base_biased_unlock(&outlet->lock, true);
    return flow->inject.slot;
}

/* A message of up to so many bytes travels with its data, whoever sends it. */
extern _Atomic uint64_t tern_op_tagged_eager_limit; /* UINT64_MAX: not known yet */
uint64_t                tern_op_tagged_find_eager_limit(void);

static inline uint64_t tern_op_tagged_eager_max(void)
{
    uint64_t least =
        atomic_load_explicit(&tern_op_tagged_eager_limit, memory_order_relaxed); /* all threads find the same */

    return TERN_LIKELY(least != UINT64_MAX) ? least : tern_op_tagged_find_eager_limit();
}

/* Sends of this rank that wait for word. Written under the lock; a hint for others. */
extern _Atomic uint32_t tern_op_tagged_awaiting_fin;

/* Try what has not left. */
void tern_op_tagged_progress_sends(struct tern_tagged *tagged);

/* The receiver tells a sender. TERN_AGAIN: no room, or another thread is delivering. The second: by who delivers. */
tern_status tern_op_tagged_send_fin(int rank, uint64_t id, tern_status status);
tern_status tern_op_tagged_send_fin_now(int rank, uint64_t id, tern_status status);

/* It waits for no word any more: its memory is not exposed, and nobody finds it. False: it has had word. */
bool tern_op_tagged_withdraw(struct tern_request *request);

/* The send of that id to the rank; NULL: there is none. The lock is held. */
struct tern_request *tern_op_tagged_sent(int rank, uint64_t id);

void tern_op_tagged_send_open(void);
void tern_op_tagged_send_close(void);

/* ---- recv.c: what comes ---- */

void tern_op_tagged_recv_open(void);
void tern_op_tagged_recv_close(void);

/* From now on drop what comes and nobody waits for. And drop what is kept, telling those who wait for word; false:
 * not all of it. */
void tern_op_tagged_refuse(void);
bool tern_op_tagged_forget(void);

/* A receive was posted: what could not be taken may be now, and who is to send may be dead. */
static inline void tern_op_tagged_posted(struct tern_request *request)
{
    if (TERN_UNLIKELY(atomic_load_explicit(&tern_core_message_tagged_refused, memory_order_relaxed))) /* a hint */
        tern_core_message_tagged_full(false);
    if (TERN_UNLIKELY(atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) > 0))
        tern_op_request_doomed(request);
}

/* Start a receive: what is kept, or what comes. waits: in this call; otherwise the program may compute meanwhile.
 * False: no memory, it is not active. */
bool tern_op_tagged_start_recv(struct tern_request *request, bool waits);

/* The same where the message is short, nothing is kept, and the receive before asked for the same. False: it is not so,
 * and nothing was done. */
extern struct tern_match                          tern_op_tagged_match; /* under the lock */
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
        atomic_store_explicit(&request->state, TERN_REQUEST_ACTIVE, memory_order_relaxed); /* the lock orders */
        tern_op_match_post(match, &request->match.request);
    }
    tern_base_biased_unlock(&tern_op_tagged_lock, alone);
    if (TERN_LIKELY(again))
        tern_op_tagged_posted(request);
    return again;
}

/* Whether a matched probe of the context has a message that was not received. */
bool tern_op_tagged_has_probed(const struct tern_ctx *ctx);

/* Start to receive what a matched probe has. */
void tern_op_tagged_start_mrecv(struct tern_request *request, struct tern_message *message, bool waits);

/* Post no more; the lock is held. */
void tern_op_tagged_unpost(struct tern_request *request);

/* What of the oldest message that is kept and that a receive would take is told to the program. */
struct tern_op_seen {
    int      source; /* rank in the job */
    uint64_t tag, len;
};

/* TERN_PENDING: there is none. out NULL: it stays; otherwise a matched probe of the context has it. */
tern_status tern_op_tagged_find(struct tern_ctx *ctx, const struct tern_match_name *name, uint64_t care,
                                struct tern_op_seen *seen, struct tern_message **out);

/* Whether nobody is left who could send what is asked for; and whether nothing of it is on its way either. */
bool tern_op_tagged_senders_dead(const struct tern_ctx *ctx, const struct tern_match_name *name);
bool tern_op_tagged_deserted(const struct tern_ctx *ctx, const struct tern_match_name *name);

uint64_t tern_op_tagged_unexpected_bytes(void); /* bytes, for reports */

/* ---- rndv_assist.c: what a sender copies ---- */

enum { TERN_SPLIT_ADDR, TERN_SPLIT_SIZE, TERN_SPLIT_PROBE, TERN_SPLIT_PIECE }; /* notes of a share */

void tern_op_tagged_assist_open(void);

/* The receiver invites the sender of a message to take pieces of it. TERN_AGAIN: no room, or another thread is
 * delivering. */
tern_status tern_op_tagged_send_assist(int rank, uint64_t id, unsigned share, uint32_t key);

/* Copy some of what receivers have opened to sends of a context. The context's thread. */
void tern_op_tagged_assist(struct tern_ctx *ctx);

/* No more of it: it has ended. The lock is held. */
void tern_op_tagged_assist_end(struct tern_request *request);

/* ---- rndv.c ---- */

/* Begin to fetch what is to be fetched, and tell the senders. The first: the context's thread. The second: whoever has
 * the lock of the engine; returns whether there was anything, of which some may be done. */
void tern_op_tagged_rndv_start(struct tern_ctx *ctx);
bool tern_op_tagged_rndv_start_for(struct tern_engine *engine, struct tern_tagged *tagged);

/* See that the thread beside the program works for receives of a context that has requests. False: it cannot. */
bool tern_op_tagged_has_helper(struct tern_ctx *ctx);

#endif
