/* alltoall.c: the algorithms of tern_alltoall, tern_alltoallv and tern_alltoalls. */
#include "op/coll/coll.h"

static void own_block(struct tern_coll *c, const struct tern_coll_args *args)
{
    tern_coll_copy(c, args->dst + tern_coll_at(&args->to, c->rank), args->src + tern_coll_at(&args->from, c->rank),
                   tern_coll_len(&args->from, c->rank));
}

/* Send to one rank and receive from another. */
static void exchange(struct tern_coll *c, const struct tern_coll_args *args, int to, int from)
{
    tern_coll_recv(c, from, args->dst + tern_coll_at(&args->to, from), tern_coll_len(&args->to, from));
    tern_coll_send(c, to, args->src + tern_coll_at(&args->from, to), tern_coll_len(&args->from, to));
}

/* In round i, exchange with the ranks i positions ahead and behind. */
static void pairwise(struct tern_coll *c, const struct tern_coll_args *args)
{
    own_block(c, args);
    for (int i = 1; i < c->size; i++) {
        exchange(c, args, (c->rank + i) % c->size, (c->rank + c->size - i) % c->size);
        tern_coll_wait(c);
    }
}

/* All exchanges at once. */
static void linear(struct tern_coll *c, const struct tern_coll_args *args)
{
    for (int i = 1; i < c->size; i++)
        exchange(c, args, (c->rank + i) % c->size, (c->rank + c->size - i) % c->size);
    own_block(c, args);
}

/* A block that must travel d positions ahead is at place d, and travels in the rounds k in which bit k of d is set. In
 * round k, the blocks of all these places go to the rank 2^k positions ahead in one message. */
static void bruck(struct tern_coll *c, const struct tern_coll_args *args)
{
    size_t         len = args->from.each;
    unsigned char *at = tern_coll_temp(c, (size_t)c->size * len), *out = tern_coll_temp(c, (size_t)c->size * len),
                  *in = tern_coll_temp(c, (size_t)c->size * len);

    for (int d = 0; d < c->size; d++)
        tern_coll_copy(c, at + (size_t)d * len, args->src + (size_t)((c->rank + d) % c->size) * len, len);
    for (int bit = 1; bit < c->size; bit *= 2) {
        size_t n = 0;

        for (int d = 1; d < c->size; d++)
            if (d & bit)
                tern_coll_copy(c, out + n++ * len, at + (size_t)d * len, len);
        tern_coll_recv(c, (c->rank + c->size - bit) % c->size, in, n * len);
        tern_coll_send(c, (c->rank + bit) % c->size, out, n * len);
        tern_coll_wait(c);
        n = 0;
        for (int d = 1; d < c->size; d++)
            if (d & bit)
                tern_coll_copy(c, at + (size_t)d * len, in + n++ * len, len);
    }
    for (int d = 0; d < c->size; d++)
        tern_coll_copy(c, args->dst + (size_t)((c->rank + c->size - d) % c->size) * len, at + (size_t)d * len, len);
}

/* Pack the elements of each block, exchange the packed blocks in pairs, and unpack them. */
static void packed(struct tern_coll *c, const struct tern_coll_args *args)
{
    const tern_alltoalls_args *s = args->strided;
    size_t                     len = s->elem * s->count, src = s->elem * s->src_stride, dst = s->elem * s->dst_stride;
    unsigned char             *out = tern_coll_temp(c, len), *in = tern_coll_temp(c, len);

#define SRC(rank) (args->src + (size_t)(rank)*s->count * src)
#define DST(rank) (args->dst + (size_t)(rank)*s->count * dst)
    tern_coll_pack(c, DST(c->rank), dst, SRC(c->rank), src, s->elem, s->count);
    for (int i = 1; i < c->size; i++) {
        int to = (c->rank + i) % c->size, from = (c->rank + c->size - i) % c->size;

        tern_coll_pack(c, out, s->elem, SRC(to), src, s->elem, s->count);
        tern_coll_recv(c, from, in, len);
        tern_coll_send(c, to, out, len);
        tern_coll_wait(c);
        tern_coll_pack(c, DST(from), dst, in, s->elem, s->elem, s->count);
    }
#undef SRC
#undef DST
}

const struct tern_coll_algorithm tern_coll_alltoall[] = {
    { .name = "pairwise", .write = pairwise },
    { .name = "linear", .write = linear },
    { .name = "bruck", .write = bruck },
    { .name = "hierarchical", .write = tern_coll_hierarchy_alltoall, .teams = TERN_COLL_ORDERED },
    { .name = NULL },
};
const struct tern_coll_algorithm tern_coll_alltoallv[] = {
    { .name = "pairwise", .write = pairwise },
    { .name = "linear", .write = linear },
    { .name = NULL },
};
const struct tern_coll_algorithm tern_coll_alltoalls[] = { { .name = "pairwise", .write = packed }, { .name = NULL } };
