/* match.c: see match.h for the design. A hash table contains a queue, by its name, as long as a request is bound to the
 * queue or an arrival is in it; then the memory of the queue is reused. Memory is allocated in slabs, which are freed
 * when the table is
 * closed. */
#include "op/match.h"

#include <stdlib.h>

#include "base/bits.h"
#include "base/status.h"

#define FEWEST_BUCKETS 64u
#define PER_SLAB 64u /* arrivals or queues */

struct tern_match_slab {
    struct tern_match_slab *next;
    struct tern_match_queue queue[PER_SLAB];
};

/* ---- names ---- */

static inline bool is_by_bits(uint32_t class)
{
    return class >= TERN_MATCH_BITS;
}

/* Return the name of the queue in which a class of requests finds an arrival. */
static inline struct tern_match_name seen_by(struct tern_match_name name, uint32_t class)
{
    bool any_source = is_by_bits(class) ? class == TERN_MATCH_BITS_ANY_SOURCE : class & TERN_MATCH_ANY_SOURCE;

    name.class = class;
    name.tag = is_by_bits(class) || class & TERN_MATCH_ANY_TAG ? 0 : name.tag;
    name.source = any_source ? 0 : name.source;
    return name;
}

/* Return whether a request accepts the tag. The name of its queue fits the arrival. */
static inline bool takes(const struct tern_match_request *request, uint32_t class, uint64_t tag)
{
    const struct tern_match_bits *bits = (const struct tern_match_bits *)request;

    return !is_by_bits(class) || ((tag ^ bits->tag) & bits->care) == 0;
}

static inline bool is_same(const struct tern_match_name *a, const struct tern_match_name *b)
{
    return a->scope == b->scope && a->tag == b->tag && a->source == b->source && a->class == b->class;
}

static inline uint32_t bucket_of(const struct tern_match *match, const struct tern_match_name *name)
{
    uint64_t h = name->tag * 0x9e3779b97f4a7c15ull + name->scope;

    h ^= h >> 32;
    h = (h + ((uint64_t)name->class << 32 | (uint32_t)name->source)) * 0xd6e8feb86659fd93ull;
    return (uint32_t)(h >> 32) & (match->buckets - 1);
}

/* ---- memory ---- */

/* Allocate a queue. A pool (base/pool.h) would not align queues to cache lines. */
static struct tern_match_queue *queue_new(struct tern_match *match)
{
    struct tern_match_queue *queue;

    if (!match->free_queues) {
        struct tern_match_slab *slab = aligned_alloc(_Alignof(struct tern_match_slab), sizeof(*slab));

        if (!slab)
            return NULL;
        slab->next = match->slabs;
        match->slabs = slab;
        for (unsigned i = 0; i < PER_SLAB; i++) {
            slab->queue[i].chain = match->free_queues;
            match->free_queues = &slab->queue[i];
        }
    }
    queue = match->free_queues;
    match->free_queues = queue->chain;
    return queue;
}

void tern_op_match_open(struct tern_match *match)
{
    *match = (struct tern_match){ .sequence = 0 };
    tern_base_pool_open(&match->arrivals, sizeof(struct tern_match_arrival), PER_SLAB);
}

void tern_op_match_close(struct tern_match *match)
{
    for (struct tern_match_slab *slab = match->slabs, *next; slab; slab = next) {
        next = slab->next;
        free(slab);
    }
    tern_base_pool_close(&match->arrivals);
    free(match->bucket);
    tern_op_match_open(match);
}

/* ---- the table ---- */

/* Double the number of buckets, or allocate the first ones. Returns false if there is no memory and no table yet; an
 * existing table remains usable. */
static bool grow(struct tern_match *match)
{
    struct tern_match         wider = { .buckets = match->buckets > 0 ? 2 * match->buckets : FEWEST_BUCKETS };
    struct tern_match_queue **bucket = calloc(wider.buckets, sizeof(struct tern_match_queue *));

    if (!bucket)
        return match->buckets > 0;
    for (uint32_t i = 0; i < match->buckets; i++) {
        for (struct tern_match_queue *queue = match->bucket[i], *next; queue; queue = next) {
            uint32_t to = bucket_of(&wider, &queue->name);

            next = queue->chain;
            queue->chain = bucket[to];
            bucket[to] = queue;
        }
    }
    free(match->bucket);
    match->bucket = bucket;
    match->buckets = wider.buckets;
    return true;
}

static inline struct tern_match_queue *queue_find(const struct tern_match *match, const struct tern_match_name *name)
{
    struct tern_match_queue *queue;

    if (match->buckets == 0)
        return NULL;
    for (queue = match->bucket[bucket_of(match, name)]; queue && !is_same(&queue->name, name); queue = queue->chain)
        ;
    return queue;
}

/* Find a queue, trying first the one that was found last. */
static inline struct tern_match_queue *queue_again(struct tern_match *match, const struct tern_match_name *name)
{
    struct tern_match_queue **last = &match->last[name->class];

    if (!*last || !is_same(&(*last)->name, name))
        *last = queue_find(match, name);
    return *last;
}

/* Find or create the queue of a name, and take a reference. Returns NULL if there is no memory. */
static struct tern_match_queue *queue_hold(struct tern_match *match, struct tern_match_name name)
{
    struct tern_match_queue *queue = match->warm, **bucket;

    if (!queue || !is_same(&queue->name, &name))
        queue = queue_find(match, &name);
    if (!queue) {
        if ((match->queues >= match->buckets && !grow(match)) || !(queue = queue_new(match)))
            return NULL;
        bucket = &match->bucket[bucket_of(match, &name)];
        *queue = (struct tern_match_queue){ .name = name, .chain = *bucket };
        *bucket = queue;
        match->queues++;
    }
    queue->holders++;
    return queue;
}

static void queue_release(struct tern_match *match, struct tern_match_queue *queue)
{
    struct tern_match_queue **at;

    if (--queue->holders > 0)
        return;
    for (at = &match->bucket[bucket_of(match, &queue->name)]; *at != queue; at = &(*at)->chain)
        ;
    *at = queue->chain;
    queue->chain = match->free_queues;
    match->free_queues = queue;
    match->queues--;
    if (match->last[queue->name.class] == queue)
        match->last[queue->name.class] = NULL;
}

/* ---- arrivals ---- */

/* Append an arrival to its queue of a class. Returns false if there is no memory. */
static bool append(struct tern_match *match, struct tern_match_arrival *arrival, uint32_t class)
{
    struct tern_match_queue *queue = queue_hold(match, seen_by(arrival->name, class));

    if (!queue)
        return false;
    arrival->queue[class] = queue;
    arrival->in[class] = (struct tern_match_link){ NULL, queue->newest };
    if (queue->newest)
        queue->newest->in[class].next = arrival;
    else
        queue->oldest = arrival;
    queue->newest = arrival;
    return true;
}

static void detach(struct tern_match *match, struct tern_match_arrival *arrival, uint32_t class)
{
    struct tern_match_queue *queue = arrival->queue[class];
    struct tern_match_link  *link = &arrival->in[class];

    if (!queue)
        return;
    arrival->queue[class] = NULL;
    if (link->prev)
        link->prev->in[class].next = link->next;
    else
        queue->oldest = link->next;
    if (link->next)
        link->next->in[class].prev = link->prev;
    else
        queue->newest = link->prev;
    queue_release(match, queue);
}

static void detach_all(struct tern_match *match, struct tern_match_arrival *arrival)
{
    for (uint32_t class = 0; class < TERN_MATCH_CLASSES; class ++)
        detach(match, arrival, class);
}

bool tern_op_match_keep(struct tern_match *match, struct tern_match_name name, uint64_t bytes)
{
    struct tern_match_arrival *arrival = tern_base_pool_get(&match->arrivals);

    if (!arrival)
        return false;
    *arrival = (struct tern_match_arrival){ .name = name, .bytes = bytes, .all = { NULL, match->newest } };
    for (uint32_t class = 0; class < TERN_MATCH_CLASSES; class ++) {
        if (match->asked[class] && TERN_UNLIKELY(!append(match, arrival, class))) {
            detach_all(match, arrival);
            tern_base_pool_put(&match->arrivals, arrival);
            return false;
        }
    }
    if (match->newest)
        match->newest->all.next = arrival;
    else
        match->oldest = arrival;
    match->newest = arrival;
    match->kept++;
    return true;
}

struct tern_match_arrival *tern_op_match_oldest(const struct tern_match_request *request)
{
    uint32_t class = request->queue->name.class;
    struct tern_match_arrival *arrival = request->queue->oldest;

    while (arrival && !takes(request, class, arrival->name.tag))
        arrival = arrival->in[class].next;
    return arrival;
}

void tern_op_match_drop(struct tern_match *match, struct tern_match_arrival *arrival)
{
    detach_all(match, arrival);
    if (arrival->all.prev)
        arrival->all.prev->all.next = arrival->all.next;
    else
        match->oldest = arrival->all.next;
    if (arrival->all.next)
        arrival->all.next->all.prev = arrival->all.prev;
    else
        match->newest = arrival->all.prev;
    match->kept--;
    tern_base_pool_put(&match->arrivals, arrival);
}

uint32_t tern_op_match_forget(struct tern_match *match, uint64_t scope)
{
    uint32_t before = match->kept;

    for (struct tern_match_arrival *arrival = match->oldest, *next; arrival; arrival = next) {
        next = arrival->all.next;
        if (arrival->name.scope == scope)
            tern_op_match_drop(match, arrival);
    }
    return before - match->kept;
}

/* ---- requests ---- */

/* Add all stored arrivals to the queues of a class, which is used from now on. Returns false if there is no memory;
 * then nothing has changed. */
static bool enable_class(struct tern_match *match, uint32_t class)
{
    struct tern_match_arrival *arrival;

    for (arrival = match->oldest; arrival && append(match, arrival, class); arrival = arrival->all.next)
        ;
    match->asked[class] = !arrival;
    for (arrival = match->oldest; arrival && !match->asked[class]; arrival = arrival->all.next)
        detach(match, arrival, class);
    return match->asked[class];
}

bool tern_op_match_bind(struct tern_match *match, struct tern_match_request *request, struct tern_match_name name)
{
    *request = (struct tern_match_request){ .sequence = 0 };
    if (TERN_UNLIKELY(!match->asked[name.class]) && !enable_class(match, name.class))
        return false;
    request->queue = queue_hold(match, seen_by(name, name.class));
    return request->queue != NULL;
}

void tern_op_match_unbind_other(struct tern_match *match, struct tern_match_request *request)
{
    struct tern_match_queue *queue = request->queue, *before = match->warm;

    request->queue = NULL;
    match->warm = queue; /* the request's reference becomes that of warm */
    if (before)
        queue_release(match, before);
}

__attribute__((noinline)) void tern_op_match_post_listed(struct tern_match *match, struct tern_match_request *request)
{
    struct tern_match_request *sole = match->sole;

    match->sole = NULL;
    if (sole)
        tern_op_match_list(match, sole);
    tern_op_match_list(match, request);
}

struct tern_match_request *tern_op_match_search(struct tern_match *match, struct tern_match_name name)
{
    struct tern_match_request *oldest = NULL;
    uint32_t                   classes = match->listed > match->posted[0] ? TERN_MATCH_CLASSES : 1;

    for (uint32_t class = 0; class < classes; class ++) {
        struct tern_match_name     seen = seen_by(name, class);
        struct tern_match_queue   *queue = match->posted[class] > 0 ? queue_again(match, &seen) : NULL;
        struct tern_match_request *first = queue ? queue->first : NULL;

        while (first && !takes(first, class, name.tag))
            first = first->next;
        if (first && (!oldest || first->sequence < oldest->sequence))
            oldest = first;
    }
    return oldest;
}
