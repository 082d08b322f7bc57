/* direct_work.c: what each member does in a long call on one node (direct.h, direct_with.h).
 *
 *     broadcast                      each member reads its copy from the root, but the root writes an n-th of each copy
 *     reduce, allreduce, scans       each member combines a slice of all arrays, and writes it where it is needed
 *     reduce_scatter                 each member combines its block of the arrays of all
 *     gather                         each member writes its block to the root
 *     scatter, allgather, alltoall   each member reads the blocks that it gets
 *
 * Reductions combine one rank after the other, so that the result does not depend on the slices. They do so in chunks
 * that stay in the caches. */
#include <string.h>

#include "op/coll/direct.h"

#define PAGE 4096u

bool tern_op_direct_shows_src(const struct tern_coll_args *args, int rank)
{
    switch (args->call) {
    case TERN_COLL_BROADCAST:
    case TERN_COLL_SCATTER: return rank == args->root;
    case TERN_COLL_GATHER: return false;
    default: return true;
    }
}

bool tern_op_direct_shows_dst(const struct tern_coll_args *args, int rank)
{
    switch (args->call) {
    case TERN_COLL_BROADCAST: return rank != args->root;
    case TERN_COLL_REDUCE:
    case TERN_COLL_GATHER: return rank == args->root;
    case TERN_COLL_ALLREDUCE:
    case TERN_COLL_SCAN:
    case TERN_COLL_EXSCAN: return true;
    default: return false;
    }
}

struct tern_coll_places tern_op_direct_own_places(const struct tern_direct *d)
{
    const struct tern_coll_args *args = d->args;
    struct tern_coll_places      places = { { TERN_PLACE_NONE, 0 }, { TERN_PLACE_NONE, 0 } };
    size_t                       all = args->len * (size_t)d->size;

    if (tern_op_direct_shows_src(args, d->me))
        places.src = tern_op_reach_place(d->reach, args->src, tern_direct_has_blocks(args) ? all : args->len);
    if (tern_op_direct_shows_dst(args, d->me))
        places.dst = tern_op_reach_place(d->reach, args->dst, args->call == TERN_COLL_GATHER ? all : args->len);
    return places;
}

void tern_op_direct_look(struct tern_direct *d)
{
    for (int i = 0; i < d->size; i++) {
        struct tern_coll_places places = tern_direct_places(d, i);
        bool addresses = places.src.name == TERN_PLACE_ADDRESS || places.dst.name == TERN_PLACE_ADDRESS;

        d->far |= places.src.name == TERN_PLACE_FAR || places.dst.name == TERN_PLACE_FAR;
        d->far |= addresses && !d->reach->attaches;
        if (i != d->me && addresses)
            d->chunk = TERN_REACH_CHUNK;
    }
}

/* ---- the arrays of the members ---- */

/* Find the array of a member. The array of this member is its own memory. */
static tern_status find(const struct tern_direct *d, int member, bool dst, struct tern_coll_array *array)
{
    struct tern_coll_places places;

    if (member == d->me) {
        *array = (struct tern_coll_array){ .member = member };
        if (dst)
            array->base = d->args->dst;
        else
            memcpy(&array->base, &d->args->src, sizeof(array->base)); /* only read */
        return TERN_OK;
    }
    places = tern_direct_places(d, member);
    return tern_op_reach_find(d->reach, member, dst ? &places.dst : &places.src, array) ? TERN_OK : TERN_ERR_LINK;
}

static tern_status get(const struct tern_direct *d, int member, size_t at, unsigned char *to, size_t bytes)
{
    struct tern_coll_array array;
    tern_status            st = find(d, member, false, &array);

    if (st < 0 || (array.base && to == array.base + at))
        return st;
    return tern_op_reach_get(d->reach, &array, at, to, bytes);
}

static tern_status put(const struct tern_direct *d, int member, size_t at, const unsigned char *from, size_t bytes)
{
    struct tern_coll_array array;
    tern_status            st = find(d, member, true, &array);

    if (st < 0 || (array.base && from == array.base + at))
        return st;
    return tern_op_reach_put(d->reach, &array, at, from, bytes);
}

/* ---- copies ---- */

static tern_status broadcast(const struct tern_direct *d)
{
    size_t      len = d->args->len, cut = len / (size_t)d->size * (size_t)(d->size - 1);
    tern_status st = TERN_OK;

    cut = (cut + PAGE - 1) / PAGE * PAGE;
    cut = cut < len ? cut : len;
    if (d->me != d->args->root)
        return get(d, d->args->root, 0, d->args->dst, cut);
    for (int i = 1; st == TERN_OK && i < d->size; i++)
        st = put(d, (d->me + i) % d->size, cut, d->args->src + cut, len - cut);
    return st;
}

/* Read a block of every member, beginning with the own one, so that different members read the block of a member at
 * different times. */
static tern_status collect(const struct tern_direct *d, size_t at)
{
    size_t      len = d->args->len;
    tern_status st = TERN_OK;

    for (int i = 0; st == TERN_OK && i < d->size; i++) {
        int member = (d->me + i) % d->size;

        st = get(d, member, at, d->args->dst + (size_t)member * len, len);
    }
    return st;
}

/* ---- reductions ---- */

/* Return whether the members combine their slices of a reduction in the array of the root: the array is in a region,
 * and no operand is overwritten before it is read. All members reach the same answer. */
static bool combines_at_root(const struct tern_direct *d)
{
    struct tern_coll_places root = tern_direct_places(d, d->args->root);

    return root.dst.name != TERN_PLACE_ADDRESS &&
           (d->size == 2 || root.src.name != root.dst.name || root.src.at != root.dst.at);
}

/* The part of the arrays that a member combines, in whole elements. If the others must copy their results to the root
 * of a reduction, the root gets a larger part. */
static size_t slice_at(const struct tern_direct *d, int member)
{
    size_t count = d->args->len / d->args->how.elem, n = (size_t)d->size, i = (size_t)member;
    size_t shares = n, before = i;

    if (d->args->call == TERN_COLL_REDUCE && !combines_at_root(d)) {
        shares = n * (n - 1) + 1;
        before = i * (n - 1) + (member > d->args->root);
    }
    return (count / shares * before + count % shares * before / shares) * d->args->how.elem;
}

/* A chunk of a reduction. */
struct chunk {
    size_t         from, to, bytes; /* offsets in the arrays, and in this member's result */
    unsigned char *sum, *in;        /* scratch */
};

/* Return the chunk of a member's array; NULL, with *st: an error. */
static const unsigned char *operand(const struct tern_direct *d, const struct chunk *c, int member, tern_status *st)
{
    struct tern_coll_array array;

    if ((*st = find(d, member, false, &array)) < 0)
        return NULL;
    if (array.base)
        return array.base + c->from;
    *st = tern_op_reach_get(d->reach, &array, c->from, c->in, c->bytes);
    return *st < 0 ? NULL : c->in;
}

static tern_status combine(const struct tern_direct *d, const struct chunk *c, unsigned char *to,
                           const unsigned char *lower, const unsigned char *upper)
{
    if (!tern_op_coll_combine(&d->args->how, to, lower, upper, c->bytes))
        return tern_base_fail(TERN_ERR_NOMEM, "%s: no memory for an element", d->args->what);
    return TERN_OK;
}

/* Combine a chunk of all members into `to`, which may be the operand of this member if there are two members. */
static tern_status fold(const struct tern_direct *d, const struct chunk *c, unsigned char *to)
{
    tern_status          st;
    const unsigned char *first = operand(d, c, 0, &st), *next;

    if (first == c->in) { /* the next chunk needs the place */
        memcpy(c->sum, c->in, c->bytes);
        first = c->sum;
    }
    for (int i = 1; st == TERN_OK && i < d->size; i++) {
        if ((next = operand(d, c, i, &st)))
            st = combine(d, c, to, i == 1 ? first : to, next);
    }
    return st;
}

/* Return the place where a chunk is combined: in the array that needs the result, unless that array cannot be stored
 * to, or an operand would be overwritten there. NULL, with *st: an error. */
static unsigned char *result_at(const struct tern_direct *d, const struct chunk *c, tern_status *st)
{
    const struct tern_coll_args *args = d->args;
    struct tern_coll_array       root;

    *st = TERN_OK;
    if (args->call != TERN_COLL_REDUCE || d->me == args->root)
        return d->size == 2 || args->src + c->from != args->dst + c->to ? args->dst + c->to : c->sum;
    if (!combines_at_root(d))
        return c->sum;
    return (*st = find(d, args->root, true, &root)) < 0 ? NULL : root.base + c->from;
}

/* Combine a chunk, and write the result to all members, or to the root. */
static tern_status reduce_chunk(const struct tern_direct *d, const struct chunk *c)
{
    const struct tern_coll_args *args = d->args;
    tern_status                  st;
    unsigned char               *to = result_at(d, c, &st);

    if (st == TERN_OK)
        st = fold(d, c, to);
    if (st == TERN_OK && args->call == TERN_COLL_REDUCE_SCATTER && to != args->dst + c->to)
        memcpy(args->dst + c->to, to, c->bytes);
    if (st < 0 || args->call == TERN_COLL_REDUCE_SCATTER)
        return st;
    if (args->call == TERN_COLL_REDUCE)
        return put(d, args->root, c->from, to, c->bytes);
    for (int i = 0; st == TERN_OK && i < d->size; i++)
        st = put(d, (d->me + i) % d->size, c->from, to, c->bytes);
    return st;
}

/* Combine a chunk rank by rank, and give each rank the sum of the ranks before it. */
static tern_status scan_chunk(const struct tern_direct *d, const struct chunk *c)
{
    bool                 exclusive = d->args->call == TERN_COLL_EXSCAN;
    tern_status          st;
    const unsigned char *in = operand(d, c, 0, &st);

    if (st == TERN_OK)
        memcpy(c->sum, in, c->bytes);
    if (st == TERN_OK && !exclusive)
        st = put(d, 0, c->from, c->sum, c->bytes);
    for (int i = 1; st == TERN_OK && i < d->size; i++) {
        if (!(in = operand(d, c, i, &st)))
            break;
        if (exclusive) { /* the result may overwrite the array of the member */
            if (in != c->in)
                memcpy(c->in, in, c->bytes);
            if ((st = put(d, i, c->from, c->sum, c->bytes)) == TERN_OK)
                st = combine(d, c, c->sum, c->sum, c->in);
        } else if ((st = combine(d, c, c->sum, c->sum, in)) == TERN_OK) {
            st = put(d, i, c->from, c->sum, c->bytes);
        }
    }
    return st;
}

/* Make a reduction in chunks, from offset `at` of the arrays to `end`. Every other call begins with the last chunk: if
 * a program combines the same arrays again and the cache does not hold all of them, the cache holds the chunks that the
 * previous call has combined last. */
static tern_status reduce(const struct tern_direct *d, size_t at, size_t end, size_t to,
                          tern_status (*work)(const struct tern_direct *d, const struct chunk *c))
{
    size_t      most = d->chunk / d->args->how.elem * d->args->how.elem, n = (end - at + most - 1) / most;
    bool        down = d->m && d->station->meeting % 2 != 0; /* without m: another thread counts the meetings */
    tern_status st = TERN_OK;

    for (size_t i = 0; st == TERN_OK && i < n; i++) {
        size_t       skip = (down ? n - 1 - i : i) * most;
        struct chunk c = { .from = at + skip,
                           .to = to + skip,
                           .bytes = end - at - skip < most ? end - at - skip : most,
                           .sum = d->reach->scratch,
                           .in = d->reach->scratch + TERN_REACH_CHUNK };

        st = work(d, &c);
    }
    return st;
}

tern_status tern_op_direct_work(const struct tern_direct *d)
{
    const struct tern_coll_args *args = d->args;
    size_t                       block = (size_t)d->me * args->len, at, end;

    switch (args->call) {
    case TERN_COLL_BROADCAST: return broadcast(d);
    case TERN_COLL_GATHER: return put(d, args->root, block, args->src, args->len);
    case TERN_COLL_SCATTER: return get(d, args->root, block, args->dst, args->len);
    case TERN_COLL_ALLGATHER: return collect(d, 0);
    case TERN_COLL_ALLTOALL: return collect(d, block);
    case TERN_COLL_REDUCE_SCATTER: return reduce(d, block, block + args->len, 0, reduce_chunk);
    default: break;
    }
    at = slice_at(d, d->me);
    end = slice_at(d, d->me + 1);
    return reduce(d, at, end, at,
                  args->call == TERN_COLL_SCAN || args->call == TERN_COLL_EXSCAN ? scan_chunk : reduce_chunk);
}
