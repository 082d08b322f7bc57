/* broadcast.c: the algorithms of tern_broadcast. Positions count from the root: the root has position 0. */
#include "base/bits.h"
#include "op/coll/coll.h"

static int position(const struct tern_coll *c)
{
    return (c->rank - c->root + c->size) % c->size;
}

static int rank_at(const struct tern_coll *c, int position)
{
    return (position + c->root) % c->size;
}

static void linear(struct tern_coll *c, const struct tern_coll_args *args)
{
    if (c->rank != c->root)
        tern_coll_recv(c, c->root, args->dst, args->len);
    for (int i = 1; i < c->size && c->rank == c->root; i++)
        tern_coll_send(c, rank_at(c, i), args->dst, args->len);
}

/* A tree in which position p receives from p without its lowest bit. */
static void binomial(struct tern_coll *c, const struct tern_coll_args *args)
{
    int me = position(c), bit = 1;

    while (bit < c->size && !(me & bit))
        bit *= 2;
    if (me > 0) {
        tern_coll_recv(c, rank_at(c, me - bit), args->dst, args->len);
        tern_coll_wait(c);
    }
    for (bit /= 2; bit > 0; bit /= 2)
        if (me + bit < c->size)
            tern_coll_send(c, rank_at(c, me + bit), args->dst, args->len);
}

#define SEGMENT (128u << 10) /* bytes of a piece that is sent along the chain */

/* Each rank forwards pieces to the next rank while it receives the following ones. */
static void chain(struct tern_coll *c, const struct tern_coll_args *args)
{
    int    me = position(c);
    size_t at = 0;

    do {
        size_t n = args->len - at < SEGMENT ? args->len - at : SEGMENT;

        if (me > 0) {
            tern_coll_recv(c, rank_at(c, me - 1), args->dst + at, n);
            tern_coll_wait(c);
        }
        if (me + 1 < c->size)
            tern_coll_send(c, rank_at(c, me + 1), args->dst + at, n);
        at += n;
    } while (at < args->len);
}

/* The root scatters pieces along a binomial tree, and a ring gathers them at all ranks. */
static void scatter_ring(struct tern_coll *c, const struct tern_coll_args *args)
{
    size_t piece = (args->len + (size_t)c->size - 1) / (size_t)c->size;
    int    me = position(c), bit = 1, held;

#define AT(position) ((size_t)(position)*piece < args->len ? (size_t)(position)*piece : args->len)
    while (bit < c->size && !(me & bit))
        bit *= 2;
    held = me == 0 ? c->size : (me + bit < c->size ? bit : c->size - me); /* number of pieces of the subtree */
    if (me > 0) {
        tern_coll_recv(c, rank_at(c, me - bit), args->dst + AT(me), AT(me + held) - AT(me));
        tern_coll_wait(c);
    }
    for (bit /= 2; bit > 0; bit /= 2) {
        int end = me + 2 * bit < me + held ? me + 2 * bit : me + held;

        if (me + bit < c->size)
            tern_coll_send(c, rank_at(c, me + bit), args->dst + AT(me + bit), AT(end) - AT(me + bit));
    }
    for (int i = 0; i < c->size - 1; i++) {
        int out = (me - i + c->size) % c->size, in = (me - i - 1 + c->size) % c->size;

        tern_coll_recv(c, rank_at(c, (me + c->size - 1) % c->size), args->dst + AT(in), AT(in + 1) - AT(in));
        tern_coll_send(c, rank_at(c, (me + 1) % c->size), args->dst + AT(out), AT(out + 1) - AT(out));
        tern_coll_wait(c);
    }
#undef AT
}

const struct tern_coll_algorithm tern_coll_broadcast[] = {
    { .name = "binomial", .write = binomial },
    { .name = "linear", .write = linear },
    { .name = "chain", .write = chain },
    { .name = "scatter_ring", .write = scatter_ring },
    { .name = "hierarchical", .write = tern_coll_hierarchy_broadcast, .teams = TERN_COLL_HIERARCHY },
    { .name = NULL },
};
