/* request.h: requests for tagged messages, the state of operations that did not complete at once, and the tagged state
 * of a context.
 *
 * A request is the object that the program holds. It consists of two cache lines, which suffice to match and report a
 * short message. A send that is queued or waits for a FIN, and a matched receive whose sender waits for a FIN, also
 * have an operation (struct tern_tagged_op) with the state of the protocol. The operation is freed when the message is
 * complete.
 */
#pragma once

#include <tern/tagged.h>

#include "base/biased_lock.h"
#include "base/list.h"
#include "base/sanitize.h"
#include "base/simd.h"
#include "core/context.h"
#include "core/op.h"
#include "core/wait_set.h"
#include "link/inject.h"
#include "op/match.h"

enum tern_request_state { /* the values of core/wait_set.h */
                          TERN_REQUEST_IDLE = TERN_WAITABLE_IDLE,
                          TERN_REQUEST_ACTIVE = TERN_WAITABLE_PENDING,
                          TERN_REQUEST_DONE = TERN_WAITABLE_DONE
};
enum tern_request_kind { TERN_REQUEST_SEND, TERN_REQUEST_SSEND, TERN_REQUEST_RECV };

/* Flags of a request whose completion needs more than a change of its state. */
enum tern_request_watch {
    TERN_REQUEST_ORPHAN = 1, /* the program holds no pointer to the request, which is reused after it has completed */
    TERN_REQUEST_WISHED = 2, /* a receive that is counted in tern_tagged.wishes */
    TERN_REQUEST_EVENT = 4,  /* events point at the request's record */
    TERN_REQUEST_BACKGROUND = 8, /* a receive whose sender may be computing: its helper thread delivers the FIN */
};

/* The value of `special` in a request that is persistent, but not shared. */
#define TERN_REQUEST_PERSISTENT 1

struct tern_tagged_op;

/* A send or receive request. The delivering thread may advance an active request: it sets op, and it sets the state to
 * DONE. An active send has an operation; an active receive has none until it is matched. */
struct tern_request {
    _Alignas(64) struct tern_match_bits match; /* must be first. Its tag is the requested tag, also for sends */
    union {
        tern_v64 begin_with; /* initializes the whole struct with one store */
        struct {
            _Atomic uint32_t state; /* enum tern_request_state */
            tern_status      status;
            uint8_t          kind;  /* enum tern_request_kind */
            bool             bound; /* to a queue of the matching table */
            union {
                uint16_t special; /* 0: neither persistent nor shared */
                struct {
                    bool persistent;
                    bool shared; /* several threads use the context; its lock guards all other objects of the context */
                };
            };
            uint8_t watch; /* enum tern_request_watch */
            uint8_t class; /* matching class of a receive: see match.h */
        };
    };
    void            *buffer; /* a send does not write to it */
    uint64_t         size;
    struct tern_ctx *ctx;
    union {
        struct tern_request *next;   /* in the context's list of unused requests */
        struct tern_op      *record; /* the record that the events of an active request point to */
    };
    union {
        tern_v64 tag_len; /* initializes both with one store */
        struct {
            uint64_t tag, len; /* tag, len and source describe the matched message, or a send as requested */
        };
    };
    int32_t                source;
    int32_t                peer; /* the requested source, or the target of a send. A rank of the job */
    struct tern_tagged_op *op;   /* guarded by the lock; NULL: none */
};
_Static_assert(sizeof(struct tern_request) == 128, "the request of a short message is two cache lines");
_Static_assert(offsetof(struct tern_request, kind) - offsetof(struct tern_request, state) == sizeof(uint64_t) &&
                   offsetof(struct tern_request, buffer) - offsetof(struct tern_request, state) == sizeof(tern_v64),
               "what a request begins with is two words, of which the second begins with its kind");

/* A send or a matched receive that did not complete at once. The context's thread advances a queued send, the
 * delivering thread a send that waits for a FIN, and the thread that holds the engine's lock a matched receive. */
struct tern_tagged_op {
    struct tern_list                   node;       /* in a list of the context (queue, matched), or unused */
    struct tern_request               *request;    /* NULL: unused */
    const struct tern_tagged_protocol *protocol;   /* of a send, or of a receive whose fetch has started */
    uint32_t                           index, use; /* position in the table of operations, and number of uses */
    uint64_t                           id;         /* identifies the send in its FIN; 0: the send waits for no FIN */
    struct tern_mem_handle             handle;     /* handle of the sender's memory; size 0: nothing is exposed or to be
                                                    * fetched */
    bool                               queued;     /* a send that has not been handed to the link */
    /* Fields of a receive whose data is fetched. */
    bool                               attached;
    uint64_t                           fetched;   /* bytes that came with the RTS or were requested by gets */
    uint64_t                           want;      /* total number of bytes to receive */
    uint64_t                           chunk;     /* bytes per get */
    uint64_t                           begin;     /* offset of the message in the part */
    uint32_t                           in_flight; /* gets that have not landed */
    struct tern_link_part              part;
    struct tern_op                     fetch; /* on the engine's context */
    /* Fields of a receive whose copy is split with the sender (rndv_assist.c). */
    struct tern_work_split            *split;         /* NULL: the sender does not copy */
    uint64_t                           opened, taken; /* pieces: opened to both sides, and taken by this rank */
    bool                               assist_sent;   /* the ASSIST has been sent */
    bool                               stored;        /* the sender reaches the buffer by stores, so the copy is left to
                                                       * the sender while it makes progress */
    uint64_t                           seen;          /* if stored: position at which the sender was at the last poll */
};

/* The state of a context for messages with one peer. */
struct tern_tagged_peer {
    uint32_t                  queued; /* sends to the peer that have not been handed to the link */
    uint32_t                  pass;   /* the last pass along the queue in which there was no space for the peer */
    struct tern_inject_tagged inject; /* direct-injection handle for short messages; producer NULL: not looked up yet,
                                       * or there is none */
    /* For messages that the peer may store into buffers of this context: the time at which the peer last stored data or
     * was asked to do so, and the number of further messages that are not left to the peer because it did not respond.
     * Guarded by the engine's lock. */
    int64_t                   asked;
    uint32_t                  absent;
};

/* A send that the receiver has asked this rank to help copy. The fields are copied from the receiver's work split once;
 * afterwards, only piece numbers are read from the split. */
struct tern_tagged_assist {
    struct tern_request    *request;
    struct tern_work_split *split;
    uint32_t                key;
    uint64_t                addr, size, probe, piece; /* describe the receiver's memory */
    bool                    flood;                    /* the outstanding assists exceed the caches: use non-temporal
                                                       * stores */
};

/* The tagged state of a context. "The lock" is tern_op_tagged_lock. */
struct tern_tagged {
    struct tern_request      *unused; /* the free list of the requests in slabs */
    struct tern_tagged_slab  *slabs;
    struct tern_list          queue;   /* sends that have not been handed to the link, oldest first */
    struct tern_list          matched; /* matched receives that are to be started, oldest first. Guarded by the lock */
    uint32_t                  ops;     /* operations of the context's requests. Guarded by the lock */
    _Atomic uint32_t          wishes;  /* receives of long messages, posted or to be fetched, for which no call is
                                        * blocked. Written under the lock */
    uint32_t                  pass;
    uint32_t                  losses; /* the job's count of losses at the last search for requests that wait for dead
                                       * ranks */
    bool                      doomed; /* the search found such requests */
    struct tern_tagged_assist assist[TERN_LINK_SPLITS]; /* sends whose receivers sent an ASSIST. Guarded by the lock */
    _Atomic uint32_t          assists;                  /* number of entries in assist[]. Written under the lock */
    uint64_t                  assist_bytes; /* total size of the messages in assist[], counted since assist[] was last
                                             * empty. Guarded by the lock */
    struct tern_tagged_peer   peer[];       /* one entry per rank of the job */
};

extern struct tern_biased_lock tern_op_tagged_lock;

/* Allocate more requests for the context's free list. Returns false if there is no memory. */
bool tern_op_request_make(struct tern_ctx *ctx);

/* Return the initial value of begin_with for a request that has no error and no flag set. */
static inline tern_v64 tern_op_request_begins(enum tern_request_state state, enum tern_request_kind kind)
{
    _Static_assert(TERN_OK == 0, "the rest is 0");
    _Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "lower halves come first");
    return (tern_v64){ state, kind };
}

/* Take a request from the context's free list, allocating more if necessary. Returns NULL if there is no memory. */
static inline struct tern_request *tern_op_request_new(struct tern_ctx *ctx, enum tern_request_kind kind)
{
    struct tern_request *request;

    if (TERN_UNLIKELY(!ctx->tagged || !ctx->tagged->unused) && !tern_op_request_make(ctx))
        return NULL;
    request = ctx->tagged->unused;
    ctx->tagged->unused = request->next;
    request->begin_with = tern_op_request_begins(TERN_REQUEST_IDLE, kind); /* the other fields are rarely used */
    return request;
}

/* Take a request from the free list, which must not be empty, as the completed request of a send that is injected. */
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

/* Set the state of a request that no other thread can complete now. */
static inline void tern_op_request_set(struct tern_request *request, enum tern_request_state state)
{
    /* relaxed: other threads find the request through the lock or the link's queue, which order it */
    atomic_store_explicit(&request->state, state, memory_order_relaxed);
}

/* Return an inactive request to the free list. Must be called by the context's thread. */
static inline void tern_op_request_drop(struct tern_request *request)
{
    struct tern_tagged *tagged = request->ctx->tagged;

    tern_op_request_set(request, TERN_REQUEST_IDLE);
    request->next = tagged->unused;
    tagged->unused = request;
}

/* Return the name that the request matches. */
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

/* Complete a request with the given status. Any thread may call tern_op_request_end, but a thread other than the
 * context's must hold the lock. tern_op_request_end_watched completes requests that have a watch flag. */
void               tern_op_request_end_watched(struct tern_request *request, tern_status status);
static inline void tern_op_request_end(struct tern_request *request, tern_status status)
{
    if (TERN_UNLIKELY(request->watch != 0)) {
        tern_op_request_end_watched(request, status);
        return;
    }
    request->status = status;
    /* release: the source, tag, length and data of the message. Pairs with tern_op_request_state(). */
    atomic_store_explicit(&request->state, TERN_REQUEST_DONE, memory_order_release);
}

/* Count a receive in wishes, so that it makes progress while the program computes, or stop counting it. The caller
 * holds the lock. tern_op_request_wish_toggle does the opposite of what was done last. */
void               tern_op_request_wish_toggle(struct tern_request *request);
static inline void tern_op_request_wish(struct tern_request *request, bool wished)
{
    if (TERN_UNLIKELY(wished != ((request->watch & TERN_REQUEST_WISHED) != 0)))
        tern_op_request_wish_toggle(request);
}

/* Check whether an active request can never complete because every rank that could complete it is dead. If so, complete
 * the request and return true. */
bool tern_op_request_hopeless(struct tern_request *request);

/* Let the next progress of the context check whether the request waits for dead ranks. Called for a receive that was
 * started after a death. */
void tern_op_request_doomed(struct tern_request *request);

/* Cancel a receive that is not matched, or a send that was not handed to the link. Returns false if the request has
 * progressed further. */
bool tern_op_request_cancel(struct tern_request *request);

/* Complete a receive that is not matched, or a send that was not handed to the link, with the status. Returns false if
 * the request has progressed further. The caller holds the lock. */
bool tern_op_request_take_back(struct tern_request *request, tern_status status);

/* Stop waiting for a request, whatever its progress. */
void tern_op_request_abandon(struct tern_request *request);

/* Let a started send complete on its own. The memory of its buffer must stay valid. */
void tern_op_request_leave(struct tern_request *request);

/* Free an inactive persistent request. */
void tern_op_request_free(struct tern_request *request);

bool tern_op_request_event(struct tern_request *request, tern_event *event); /* false: no memory */
void tern_op_request_describe(const struct tern_request *request, char *text, size_t size);

/* The texts with which reports name the source and the tag of a receive or a probe, or the receiver and the tag of a
 * send. */
struct tern_tagged_text {
    char source[24], tag[40];
};
struct tern_tagged_text tern_op_tagged_text(const struct tern_match_name *name, bool recv);

/* ---- protocol.c: the operations of requests that did not complete at once ---- */

/* Give a request an operation. wants_fin: the request is a send that waits for a FIN, and the operation gets an id.
 * Returns NULL if there is no memory. The caller of tern_op_tagged_op_new, tern_op_tagged_op_free and
 * tern_op_tagged_op_find holds the lock. */
struct tern_tagged_op *tern_op_tagged_op_new(struct tern_request *request, bool wants_fin);
void                   tern_op_tagged_op_free(struct tern_tagged_op *op);
void                   tern_op_tagged_op_close(void); /* frees the memory of all operations */

/* Find the send to the rank that waits for a FIN with the given id. Returns NULL if there is none. */
struct tern_tagged_op *tern_op_tagged_op_find(int rank, uint64_t id);

/* The number of sends of this rank that wait for a FIN. Written under the lock; without the lock, it is a hint. */
extern _Atomic uint32_t tern_op_tagged_awaiting_fin;
