/* allgather.c: the algorithms of tern_allgather and tern_allgatherv. */
#include "op/coll/coll.h"

static unsigned char *block(const struct tern_coll_args *args, int rank)
{
    return args->dst + tern_coll_at(&args->to, rank);
}

static void own_block(struct tern_coll *c, const struct tern_coll_args *args)
{
    tern_coll_copy(c, block(args, c->rank), args->src, args->len);
}

/* Each rank sends its block to all others. */
static void linear(struct tern_coll *c, const struct tern_coll_args *args)
{
    for (int i = 1; i < c->size; i++) {
        int from = (c->rank + c->size - i) % c->size;

        tern_coll_recv(c, from, block(args, from), tern_coll_len(&args->to, from));
        tern_coll_send(c, (c->rank + i) % c->size, args->src, args->len);
    }
    own_block(c, args);
}

/* Each rank forwards to the next rank the block that it has received last. */
static void ring(struct tern_coll *c, const struct tern_coll_args *args)
{
    own_block(c, args);
    for (int i = 0; i < c->size - 1; i++) {
        int out = (c->rank - i + c->size) % c->size, in = (out + c->size - 1) % c->size;

        tern_coll_recv(c, (c->rank + c->size - 1) % c->size, block(args, in), tern_coll_len(&args->to, in));
        tern_coll_send(c, (c->rank + 1) % c->size, block(args, out), tern_coll_len(&args->to, out));
        tern_coll_wait(c);
    }
}

/* In round k, get up to 2^k blocks from the rank 2^k positions ahead. The blocks are gathered in the order of the
 * distance from this rank, and put in their places in the end. */
static void bruck(struct tern_coll *c, const struct tern_coll_args *args)
{
    size_t         len = args->len;
    unsigned char *all = tern_coll_temp(c, (size_t)c->size * len);

    tern_coll_copy(c, all, args->src, len);
    for (int have = 1; have < c->size; have *= 2) {
        int n = c->size - have < have ? c->size - have : have;

        tern_coll_recv(c, (c->rank + have) % c->size, all + (size_t)have * len, (size_t)n * len);
        tern_coll_send(c, (c->rank + c->size - have) % c->size, all, (size_t)n * len);
        tern_coll_wait(c);
    }
    for (int i = 0; i < c->size; i++)
        tern_coll_copy(c, block(args, (c->rank + i) % c->size), all + (size_t)i * len, len);
}

/* In round k, exchange 2^k blocks with the rank that differs in bit k. */
static void recursive_doubling(struct tern_coll *c, const struct tern_coll_args *args)
{
    own_block(c, args);
    for (int bit = 1; bit < c->size; bit *= 2) {
        int mine = c->rank & ~(bit - 1), theirs = mine ^ bit;

        tern_coll_recv(c, c->rank ^ bit, block(args, theirs), (size_t)bit * args->len);
        tern_coll_send(c, c->rank ^ bit, block(args, mine), (size_t)bit * args->len);
        tern_coll_wait(c);
    }
}

const struct tern_coll_algorithm tern_coll_allgather[] = {
    { .name = "ring", .write = ring },
    { .name = "bruck", .write = bruck },
    { .name = "recursive_doubling", .write = recursive_doubling, .teams = TERN_COLL_POWERS },
    { .name = "linear", .write = linear },
    { .name = "hierarchical", .write = tern_coll_hierarchy_allgather, .teams = TERN_COLL_ORDERED },
    { .name = NULL },
};
const struct tern_coll_algorithm tern_coll_allgatherv[] = {
    { .name = "ring", .write = ring },
    { .name = "linear", .write = linear },
    { .name = NULL },
};
