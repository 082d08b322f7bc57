/* scan.c: the algorithms of tern_scan and tern_exscan. */
#include "op/coll/coll.h"

static bool excludes(const struct tern_coll *c)
{
    return c->call == TERN_COLL_EXSCAN;
}

/* Each rank combines the result of the lower ranks with its own array, and sends the result to the next rank. */
static void chain(struct tern_coll *c, const struct tern_coll_args *args)
{
    unsigned char       *in = tern_coll_temp(c, args->len), *sum = tern_coll_temp(c, args->len);
    const unsigned char *through = args->src;

    if (c->rank > 0) {
        tern_coll_recv(c, c->rank - 1, in, args->len);
        tern_coll_wait(c);
        tern_coll_combine(c, sum, in, args->src, args->len);
        through = sum;
    }
    if (c->rank + 1 < c->size) {
        tern_coll_send(c, c->rank + 1, through, args->len);
        tern_coll_wait(c);
    }
    if (!excludes(c))
        tern_coll_copy(c, args->dst, through, args->len);
    else if (c->rank > 0)
        tern_coll_copy(c, args->dst, in, args->len);
}

/* In round k, combine with the result of the rank 2^k positions below. `all` covers this rank and the lower ranks that
 * are known so far, `below` the same ranks without this one. */
static void recursive_doubling(struct tern_coll *c, const struct tern_coll_args *args)
{
    unsigned char *in = tern_coll_temp(c, args->len), *all = tern_coll_temp(c, args->len),
                  *below = tern_coll_temp(c, args->len);

    tern_coll_copy(c, all, args->src, args->len);
    for (int distance = 1; distance < c->size; distance *= 2) {
        if (c->rank >= distance)
            tern_coll_recv(c, c->rank - distance, in, args->len);
        if (c->rank + distance < c->size)
            tern_coll_send(c, c->rank + distance, all, args->len);
        tern_coll_wait(c);
        if (c->rank < distance)
            continue;
        tern_coll_combine(c, all, in, all, args->len);
        if (distance == 1)
            tern_coll_copy(c, below, in, args->len);
        else
            tern_coll_combine(c, below, in, below, args->len);
    }
    if (!excludes(c))
        tern_coll_copy(c, args->dst, all, args->len);
    else if (c->rank > 0)
        tern_coll_copy(c, args->dst, below, args->len);
}

const struct tern_coll_algorithm tern_coll_scan[] = {
    { .name = "recursive_doubling", .write = recursive_doubling, .order = TERN_COLL_RANKS },
    { .name = "chain", .write = chain, .order = TERN_COLL_FOLDED },
    { .name = NULL },
};
