/* match.h: who waits for what, and what has come that nobody waited for.
 *
 * What comes has a name: a scope (a region, say), a source and a tag. A request names a scope, and a source or any, and
 * a tag, or any, or bits of tags. What comes goes to the oldest posted request that takes it; a request takes the
 * oldest that has come. That is what a walk along two lists would find; here no step grows with the length of either,
 * but for requests that ask for bits of tags: these walk along those of their own kind, and along what has come for
 * them.
 *
 * There are six classes of requests: exact, any tag, any source, any of both, and bits of tags with a source or any. A
 * queue is a class and a name, with an asterisk in place of what the class does not care for; it has the requests that
 * were posted under this name, and all that has come and fits it, oldest first. So a request is posted in one queue,
 * and what has come unexpected is in up to six, one for each class that was ever asked for. The oldest of a class is at
 * the head of one queue, and the oldest of all classes is the one that came first of at most six.
 *
 * Not locked: the caller sees to that.
 */
#ifndef TERN_OP_MATCH_H
#define TERN_OP_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Classes of requests: exact is 0, and of the first two any sum. */
enum {
    TERN_MATCH_ANY_TAG = 1,
    TERN_MATCH_ANY_SOURCE = 2,
    TERN_MATCH_BITS = 4, /* requests of this class and the next are a tern_match_bits */
    TERN_MATCH_BITS_ANY_SOURCE = 5,
    TERN_MATCH_CLASSES = 6
};

struct tern_match_name {
    uint64_t scope, tag;
    int32_t  source;
    uint32_t class; /* of a request. 0: what has come, or an exact one */
};

static inline bool tern_op_match_any_source(const struct tern_match_name *name)
{
    return name->class >= TERN_MATCH_BITS ? name->class == TERN_MATCH_BITS_ANY_SOURCE
                                          : (name->class & TERN_MATCH_ANY_SOURCE) != 0;
}

struct tern_match_queue;
struct tern_match_arrival;

/* A part of the caller's request. Bound once; posted and withdrawn many times. */
struct tern_match_request {
    struct tern_match_queue   *queue; /* NULL: not bound */
    struct tern_match_request *next, *prev;
    uint64_t                   turn; /* when it was posted; 0: it is not */
};

/* One that asks for bits of tags. */
struct tern_match_bits {
    struct tern_match_request request;   /* first */
    uint64_t                  tag, care; /* care: the bits that have to be as in tag */
};

/* What finding, posting and withdrawing look at is one cache line. */
struct tern_match_queue {
    _Alignas(64) struct tern_match_name name; /* what the class does not care for is 0 */
    struct tern_match_request *first, *last;
    struct tern_match_arrival *oldest, *newest;
    struct tern_match_queue   *chain;
    uint32_t                   holders; /* requests that are bound to it, and what stands in it */
};
_Static_assert(offsetof(struct tern_match_queue, holders) == 64, "what is looked at is one line");

/* Where in a list something that has come stands. */
struct tern_match_link {
    struct tern_match_arrival *next, *prev;
};

/* What has come unexpected. */
struct tern_match_arrival {
    struct tern_match_name   name;
    uint64_t                 bytes; /* the caller's: a number, or a pointer */
    struct tern_match_link   all;   /* of all that has come; next on the free list */
    struct tern_match_link   in[TERN_MATCH_CLASSES];
    struct tern_match_queue *queue[TERN_MATCH_CLASSES]; /* NULL: nobody has asked for the class yet */
};

struct tern_match {
    struct tern_match_queue  **bucket;
    uint32_t                   buckets, queues;          /* buckets: 0 or a power of two */
    struct tern_match_queue   *last[TERN_MATCH_CLASSES]; /* that was found last: often the next one too */
    struct tern_match_queue   *warm; /* held although the last request of it may be gone: the same */
    uint64_t                   turn;
    uint32_t                   posted[TERN_MATCH_CLASSES]; /* requests */
    uint32_t                   with_any;                   /* of these, all but the exact ones */
    struct tern_match_request *sole; /* where one is posted, not for bits of tags, that one, or NULL */
    bool                       asked[TERN_MATCH_CLASSES]; /* a request of this class was bound */
    uint32_t                   kept;
    struct tern_match_arrival *oldest, *newest; /* of all that is kept */
    struct tern_match_arrival *free_arrivals;
    struct tern_match_queue   *free_queues;
    struct tern_match_slab    *slabs;
};

/* Begin empty, and free everything. Requests are unbound by then. */
void tern_op_match_open(struct tern_match *match);
void tern_op_match_close(struct tern_match *match);

/* Say what a request is for; false: no memory, it is not bound. And undo that; it is not posted. */
bool tern_op_match_bind(struct tern_match *match, struct tern_match_request *request, struct tern_match_name name);
void tern_op_match_unbind_other(struct tern_match *match, struct tern_match_request *request);

/* The same, where it is for what the one before was for; false: it is not, or that is not known any more. A name in
 * pieces stays in registers. */
static inline bool tern_op_match_bind_again(struct tern_match *match, struct tern_match_request *request,
                                            uint64_t scope, uint64_t tag, int32_t source, uint32_t class)
{
    struct tern_match_queue *warm = match->warm;

    if (TERN_UNLIKELY(!warm || warm->name.tag != tag || warm->name.scope != scope ||
                      ((uint32_t)(warm->name.source ^ source) | (warm->name.class ^ class)) != 0))
        return false;
    warm->holders++;
    request->queue = warm;
    request->turn = 0;
    return true;
}

static inline void tern_op_match_unbind(struct tern_match *match, struct tern_match_request *request)
{
    if (TERN_LIKELY(request->queue == match->warm)) { /* which is held once more */
        request->queue->holders--;
        request->queue = NULL;
    } else {
        tern_op_match_unbind_other(match, request);
    }
}

/* Post a request as the newest: from now on it is found by what comes. */
static inline void tern_op_match_post(struct tern_match *match, struct tern_match_request *request)
{
    struct tern_match_queue *queue = request->queue;

    request->turn = ++match->turn;
    request->next = NULL;
    request->prev = queue->last;
    if (queue->last)
        queue->last->next = request;
    else
        queue->first = request;
    queue->last = request;
    match->sole = NULL;
    if (match->posted[0] + match->with_any == 0 && queue->name.class < TERN_MATCH_BITS)
        match->sole = request;
    match->posted[queue->name.class]++;
    if (TERN_UNLIKELY(queue->name.class != 0))
        match->with_any++;
}

/* Withdraw it: it is found no more. */
static inline void tern_op_match_withdraw(struct tern_match *match, struct tern_match_request *request)
{
    struct tern_match_queue *queue = request->queue;

    request->turn = 0;
    if (request->prev)
        request->prev->next = request->next;
    else
        queue->first = request->next;
    if (request->next)
        request->next->prev = request->prev;
    else
        queue->last = request->prev;
    match->posted[queue->name.class]--;
    if (TERN_UNLIKELY(queue->name.class != 0))
        match->with_any--;
    match->sole = NULL; /* who is left, where one is, is not known */
}

/* The oldest posted request that takes what has come, which stays posted. NULL: none. */
struct tern_match_request *tern_op_match_search(struct tern_match *match, struct tern_match_name name);

/* Whether the requests of a queue take it, which are not for bits of tags. Not by a name as a whole: written in pieces
 * and read as one, it would have to reach memory first. */
static inline bool tern_op_match_takes(const struct tern_match_queue *queue, uint64_t scope, uint64_t tag,
                                       int32_t source)
{
    uint32_t class = queue->name.class;

    return queue->name.scope == scope && (queue->name.tag == tag || (class & TERN_MATCH_ANY_TAG)) &&
           (queue->name.source == source || (class & TERN_MATCH_ANY_SOURCE));
}

/* The same as tern_op_match_search; mostly one request is posted, or all are exact and of one name. */
static inline struct tern_match_request *tern_op_match_find(struct tern_match *match, uint64_t scope, uint64_t tag,
                                                            int32_t source)
{
    struct tern_match_request     *sole = match->sole;
    const struct tern_match_queue *last = match->last[0];

    if (TERN_LIKELY(sole != NULL))
        return tern_op_match_takes(sole->queue, scope, tag, source) ? sole : NULL;
    if (TERN_LIKELY(match->with_any == 0 && last && tern_op_match_takes(last, scope, tag, source)))
        return last->first;
    return tern_op_match_search(match, (struct tern_match_name){ .scope = scope, .tag = tag, .source = source });
}

/* Keep what has come and no posted request takes. False: no memory, nothing is kept. */
bool tern_op_match_keep(struct tern_match *match, struct tern_match_name name, uint64_t bytes);

/* The oldest that is kept and that a bound request takes; NULL: none. And done with it. A tern_match_bits has its bits
 * before it is posted, or asked for. */
struct tern_match_arrival *tern_op_match_oldest(const struct tern_match_request *request);
void                       tern_op_match_drop(struct tern_match *match, struct tern_match_arrival *arrival);

/* Drop all that is kept of a scope. Returns how many there were. */
uint32_t tern_op_match_forget(struct tern_match *match, uint64_t scope);

#endif
