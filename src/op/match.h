/* match.h: matching of arrivals with posted requests, and storage for unexpected arrivals.
 *
 * An arrival has a name: a scope (for example a region), a source and a tag. A request names a scope, one source or any
 * source, and one tag, any tag, or a masked tag. An arrival is matched with the oldest posted request that accepts it.
 * A request is matched with the oldest stored arrival that it accepts. The result is the same as that of a search along
 * a list of requests and a list of arrivals, but the time of a step does not depend on the length of these lists. The
 * exception is requests with masked tags: for these the search walks along the requests of the same class, and along
 * the arrivals in their queue. A request that is the only one is not in any list: most programs post one request at a
 * time, and then a comparison with this request is the whole search.
 *
 * There are six classes of requests: exact, any tag, any source, any tag and any source, and masked tags with one
 * source or any source. A queue is identified by a class and a name, with a wildcard for each field that the class
 * ignores. It holds the requests that were posted under this name, and all unexpected arrivals that fit the name,
 * oldest first. A request is therefore posted in one queue. An unexpected arrival is in up to six queues, one for each
 * class that was ever requested. The oldest request of a class that accepts an arrival is at the head of one queue, and
 * the oldest of all classes is the one with the lowest sequence number of at most six.
 *
 * The functions do not lock; the caller must serialize them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/status.h"

/* Classes of requests. Exact is 0. ANY_TAG and ANY_SOURCE can be combined. */
enum {
    TERN_MATCH_ANY_TAG = 1,
    TERN_MATCH_ANY_SOURCE = 2,
    TERN_MATCH_BITS = 4, /* requests of this class and the next are of type tern_match_bits */
    TERN_MATCH_BITS_ANY_SOURCE = 5,
    TERN_MATCH_CLASSES = 6
};

struct tern_match_name {
    uint64_t scope, tag;
    int32_t  source;
    uint32_t class; /* of a request. 0: an arrival, or an exact request */
};

static inline bool tern_op_match_any_source(const struct tern_match_name *name)
{
    return name->class >= TERN_MATCH_BITS ? name->class == TERN_MATCH_BITS_ANY_SOURCE
                                          : (name->class & TERN_MATCH_ANY_SOURCE) != 0;
}

/* Return the source in the name; -1: any source. */
static inline int tern_op_match_source(const struct tern_match_name *name)
{
    return tern_op_match_any_source(name) ? -1 : name->source;
}

struct tern_match_queue;
struct tern_match_arrival;

/* The part of the caller's request that belongs to the matching. A request is bound once, and posted and withdrawn many
 * times. */
struct tern_match_request {
    struct tern_match_queue   *queue;       /* NULL: not bound */
    struct tern_match_request *next, *prev; /* valid while the request is listed */
    uint64_t                   sequence;    /* 0: not posted. While the request is listed: the order of the posts */
};

/* A request with a masked tag. */
struct tern_match_bits {
    struct tern_match_request request;   /* must be first */
    uint64_t                  tag, care; /* care: the bits in which the tag of an arrival must equal tag */
};

/* A queue. Finding, posting and withdrawing touch only its first cache line. */
struct tern_match_queue {
    _Alignas(64) struct tern_match_name name; /* fields that the class ignores are 0 */
    struct tern_match_request *first, *last;
    struct tern_match_arrival *oldest, *newest;
    struct tern_match_queue   *chain;
    uint32_t                   holders; /* number of requests bound to the queue and of arrivals in the queue */
};
_Static_assert(offsetof(struct tern_match_queue, holders) == 64, "a search touches one cache line");

/* Links of an arrival in one list. */
struct tern_match_link {
    struct tern_match_arrival *next, *prev;
};

/* An unexpected arrival. */
struct tern_match_arrival {
    struct tern_match_name   name;
    uint64_t                 bytes; /* a number or a pointer, for the caller */
    struct tern_match_link   all;   /* in the list of all stored arrivals */
    struct tern_match_link   in[TERN_MATCH_CLASSES];
    struct tern_match_queue *queue[TERN_MATCH_CLASSES]; /* NULL: no request of the class has been bound yet */
};

struct tern_match {
    struct tern_match_queue  **bucket;
    uint32_t                   buckets, queues;          /* buckets: 0 or a power of two */
    struct tern_match_queue   *last[TERN_MATCH_CLASSES]; /* the queue that was found last, which is often the next one
                                                          * too */
    struct tern_match_queue   *warm; /* the queue that was bound last; it holds a reference, so that the queue
                                      * survives its last request */
    struct tern_match_request *sole; /* the only posted request, which is not listed; NULL: every posted request is
                                      * listed */
    uint64_t                   sequence;
    uint32_t                   listed;                     /* number of requests in the lists of the queues */
    uint32_t                   posted[TERN_MATCH_CLASSES]; /* the same by class */
    bool                       asked[TERN_MATCH_CLASSES];  /* a request of this class was bound */
    uint32_t                   kept;
    struct tern_match_arrival *oldest, *newest; /* of all stored arrivals */
    struct tern_pool           arrivals;        /* memory of stored arrivals */
    struct tern_match_queue   *free_queues;
    struct tern_match_slab    *slabs;
};

/* Initialize an empty table, and free all of its memory. Requests must be unbound before the table is closed. */
void tern_op_match_open(struct tern_match *match);
void tern_op_match_close(struct tern_match *match);

/* Bind a request to the queue of a name. Returns false if there is no memory; then the request is not bound.
 * tern_op_match_unbind_other undoes this; the request must not be posted. */
bool tern_op_match_bind(struct tern_match *match, struct tern_match_request *request, struct tern_match_name name);
void tern_op_match_unbind_other(struct tern_match *match, struct tern_match_request *request);

/* Fast path of tern_op_match_bind: bind a request to the queue that was bound last. Returns false if the name differs
 * or that queue is not known any more. The name is passed as separate arguments so that it stays in registers. */
static inline bool tern_op_match_bind_again(struct tern_match *match, struct tern_match_request *request,
                                            uint64_t scope, uint64_t tag, int32_t source, uint32_t class)
{
    struct tern_match_queue *warm = match->warm;

    if (TERN_UNLIKELY(!warm || warm->name.tag != tag || warm->name.scope != scope ||
                      ((uint32_t)(warm->name.source ^ source) | (warm->name.class ^ class)) != 0))
        return false;
    warm->holders++;
    request->queue = warm;
    request->sequence = 0;
    return true;
}

static inline void tern_op_match_unbind(struct tern_match *match, struct tern_match_request *request)
{
    if (TERN_LIKELY(request->queue == match->warm)) { /* match->warm holds another reference */
        request->queue->holders--;
        request->queue = NULL;
    } else {
        tern_op_match_unbind_other(match, request);
    }
}

/* Return whether any request is posted. */
static inline bool tern_op_match_has_posted(const struct tern_match *match)
{
    return match->sole || match->listed > 0;
}

/* Add a posted request to the list of its queue, as the newest one, and remove a listed request from its list. */
static inline void tern_op_match_list(struct tern_match *match, struct tern_match_request *request)
{
    struct tern_match_queue *queue = request->queue;

    request->sequence = ++match->sequence;
    request->next = NULL;
    request->prev = queue->last;
    if (queue->last)
        queue->last->next = request;
    else
        queue->first = request;
    queue->last = request;
    match->posted[queue->name.class]++;
    match->listed++;
}

static inline void tern_op_match_unlist(struct tern_match *match, struct tern_match_request *request)
{
    struct tern_match_queue *queue = request->queue;

    if (request->prev)
        request->prev->next = request->next;
    else
        queue->first = request->next;
    if (request->next)
        request->next->prev = request->prev;
    else
        queue->last = request->prev;
    match->posted[queue->name.class]--;
    match->listed--;
}

/* Post a request while another one is posted, or a request with a masked tag. */
void tern_op_match_post_listed(struct tern_match *match, struct tern_match_request *request);

/* Post a request as the newest one. From now on arrivals can match it. */
static inline void tern_op_match_post(struct tern_match *match, struct tern_match_request *request)
{
    if (TERN_LIKELY(!tern_op_match_has_posted(match) && request->queue->name.class < TERN_MATCH_BITS)) {
        request->sequence = 1;
        match->sole = request;
    } else {
        tern_op_match_post_listed(match, request);
    }
}

/* Withdraw a posted request. Arrivals no longer match it. */
static inline void tern_op_match_withdraw(struct tern_match *match, struct tern_match_request *request)
{
    request->sequence = 0;
    if (TERN_LIKELY(match->sole == request))
        match->sole = NULL;
    else
        tern_op_match_unlist(match, request);
}

/* Find the oldest listed request that accepts an arrival. The request stays posted. Returns NULL if there is none. */
struct tern_match_request *tern_op_match_search(struct tern_match *match, struct tern_match_name name);

/* Return whether the requests of a queue, which must not be of a masked class, accept an arrival. The name is passed as
 * separate arguments: if it were written by field and read as a whole, it would have to go through memory first. */
static inline bool tern_op_match_takes(const struct tern_match_queue *queue, uint64_t scope, uint64_t tag,
                                       int32_t source)
{
    uint32_t class = queue->name.class;

    return queue->name.scope == scope && (queue->name.tag == tag || (class & TERN_MATCH_ANY_TAG)) &&
           (queue->name.source == source || (class & TERN_MATCH_ANY_SOURCE));
}

/* Find the oldest posted request that accepts an arrival, with fast paths for the usual cases: one request is posted,
 * or all requests are exact and have the same name. */
static inline struct tern_match_request *tern_op_match_find(struct tern_match *match, uint64_t scope, uint64_t tag,
                                                            int32_t source)
{
    struct tern_match_request     *sole = match->sole;
    const struct tern_match_queue *last = match->last[0];

    if (TERN_LIKELY(sole != NULL))
        return tern_op_match_takes(sole->queue, scope, tag, source) ? sole : NULL;
    if (TERN_LIKELY(match->listed == match->posted[0] && last && tern_op_match_takes(last, scope, tag, source)))
        return last->first;
    return tern_op_match_search(match, (struct tern_match_name){ .scope = scope, .tag = tag, .source = source });
}

/* Store an arrival that no posted request accepts. Returns false if there is no memory; then nothing is stored. */
bool tern_op_match_keep(struct tern_match *match, struct tern_match_name name, uint64_t bytes);

/* tern_op_match_oldest returns the oldest stored arrival that a bound request accepts, or NULL if there is none.
 * tern_op_match_drop removes an arrival. The tag and care of a tern_match_bits must be set before it is posted or
 * passed here. */
struct tern_match_arrival *tern_op_match_oldest(const struct tern_match_request *request);
void                       tern_op_match_drop(struct tern_match *match, struct tern_match_arrival *arrival);

/* Drop all stored arrivals of a scope. Returns their number. */
uint32_t tern_op_match_forget(struct tern_match *match, uint64_t scope);
