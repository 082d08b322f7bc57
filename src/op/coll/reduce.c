/* reduce.c: the algorithms of tern_reduce. */
#include "op/coll/coll.h"

/* The root receives the arrays of all ranks, and combines them one after the other. The memory for arrays is limited,
 * so the root receives only some of them at a time. */
#define AHEAD 4

static void linear(struct tern_coll *c, const struct tern_coll_args *args)
{
    unsigned char *in, *sum;

    if (c->rank != c->root) {
        tern_coll_send(c, c->root, args->src, args->len);
        return;
    }
    in = tern_coll_temp(c, AHEAD * args->len);
    sum = c->root == 0 ? args->dst : tern_coll_temp(c, args->len); /* dst may be the source of the root */
    for (int first = 0; first < c->size; first += AHEAD) {
        int end = first + AHEAD < c->size ? first + AHEAD : c->size;

        for (int rank = first; rank < end; rank++)
            if (rank != c->rank)
                tern_coll_recv(c, rank, in + (size_t)(rank - first) * args->len, args->len);
        tern_coll_wait(c);
        for (int rank = first; rank < end; rank++) {
            const unsigned char *theirs = rank == c->rank ? args->src : in + (size_t)(rank - first) * args->len;

            if (rank == 0)
                tern_coll_copy(c, sum, theirs, args->len);
            else
                tern_coll_combine(c, sum, sum, theirs, args->len);
        }
    }
    tern_coll_copy(c, args->dst, sum, args->len);
}

/* A tree over positions; position 0 is the root if ranks may be combined in any order, and rank 0 otherwise. A rank
 * combines its array with the results of the subtrees behind it. */
static void binomial(struct tern_coll *c, const struct tern_coll_args *args)
{
    int                  top = args->how.commutes ? c->root : 0, me = (c->rank - top + c->size) % c->size;
    unsigned char       *in = tern_coll_temp(c, args->len);
    unsigned char       *sum = c->rank == c->root ? args->dst : tern_coll_temp(c, args->len);
    const unsigned char *mine = args->src;

    for (int bit = 1; bit < c->size; bit *= 2) {
        if (me & bit) {
            tern_coll_send(c, (me - bit + top) % c->size, mine, args->len);
            break;
        }
        if (me + bit < c->size) {
            tern_coll_recv(c, (me + bit + top) % c->size, in, args->len);
            tern_coll_wait(c);
            tern_coll_combine(c, sum, mine, in, args->len);
            mine = sum;
        }
    }
    if (top == c->root) {
        if (me == 0)
            tern_coll_copy(c, args->dst, mine, args->len);
    } else if (me == 0) {
        tern_coll_send(c, c->root, mine, args->len);
    } else if (c->rank == c->root) {
        tern_coll_wait(c); /* dst may contain the bytes that are sent */
        tern_coll_recv(c, top, args->dst, args->len);
    }
}

const struct tern_coll_algorithm tern_coll_reduce[] = {
    { .name = "binomial", .write = binomial, .order = TERN_COLL_RANKS },
    { .name = "linear", .write = linear, .order = TERN_COLL_FOLDED },
    { .name = "hierarchical",
      .write = tern_coll_hierarchy_reduce,
      .order = TERN_COLL_ANY,
      .teams = TERN_COLL_HIERARCHY },
    { .name = NULL },
};
