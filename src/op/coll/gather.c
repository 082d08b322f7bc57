/* gather.c: the algorithms of tern_gather, tern_gatherv, tern_scatter and tern_scatterv. Positions count from the root.
 */
#include "op/coll/coll.h"

static int rank_at(const struct tern_coll *c, int position)
{
    return (position + c->root) % c->size;
}

static void gather_linear(struct tern_coll *c, const struct tern_coll_args *args)
{
    if (c->rank != c->root) {
        tern_coll_send(c, c->root, args->src, args->len);
        return;
    }
    for (int i = 1; i < c->size; i++) {
        int peer = rank_at(c, i);

        tern_coll_recv(c, peer, args->dst + tern_coll_at(&args->to, peer), tern_coll_len(&args->to, peer));
    }
    tern_coll_copy(c, args->dst + tern_coll_at(&args->to, c->rank), args->src, args->len);
}

static void scatter_linear(struct tern_coll *c, const struct tern_coll_args *args)
{
    if (c->rank != c->root) {
        tern_coll_recv(c, c->root, args->dst, args->len);
        return;
    }
    for (int i = 1; i < c->size; i++) {
        int peer = rank_at(c, i);

        tern_coll_send(c, peer, args->src + tern_coll_at(&args->from, peer), tern_coll_len(&args->from, peer));
    }
    tern_coll_copy(c, args->dst, args->src + tern_coll_at(&args->from, c->rank), args->len);
}

/* The place of this rank in a binomial tree: the lowest bit of its position, above all positions for the root, and the
 * number of positions in its subtree. */
struct place {
    int me, bit, held;
};

static struct place place_of(const struct tern_coll *c)
{
    struct place place = { .me = (c->rank - c->root + c->size) % c->size, .bit = 1 };

    while (place.bit < c->size && !(place.me & place.bit))
        place.bit *= 2;
    place.held = place.me + place.bit < c->size ? place.bit : c->size - place.me;
    return place;
}

/* Each rank gathers the blocks of its subtree, in the order of the positions, and forwards them. */
static void gather_binomial(struct tern_coll *c, const struct tern_coll_args *args)
{
    struct place   place = place_of(c);
    size_t         len = args->len;
    unsigned char *all = place.me == 0 && c->root == 0 ? args->dst : tern_coll_temp(c, (size_t)place.held * len);

    tern_coll_copy(c, all, args->src, len);
    for (int bit = 1; bit < place.bit; bit *= 2) {
        int n = place.held - bit < bit ? place.held - bit : bit;

        if (n > 0)
            tern_coll_recv(c, rank_at(c, place.me + bit), all + (size_t)bit * len, (size_t)n * len);
    }
    tern_coll_wait(c);
    if (place.me > 0)
        tern_coll_send(c, rank_at(c, place.me - place.bit), all, (size_t)place.held * len);
    for (int i = 0; place.me == 0 && c->root != 0 && i < c->size; i++)
        tern_coll_copy(c, args->dst + (size_t)rank_at(c, i) * len, all + (size_t)i * len, len);
}

static void scatter_binomial(struct tern_coll *c, const struct tern_coll_args *args)
{
    struct place         place = place_of(c);
    size_t               len = args->len;
    const unsigned char *all = args->src;

    if (place.me > 0 || c->root != 0) {
        unsigned char *some = tern_coll_temp(c, (size_t)place.held * len);

        for (int i = 0; place.me == 0 && i < c->size; i++)
            tern_coll_copy(c, some + (size_t)i * len, args->src + (size_t)rank_at(c, i) * len, len);
        if (place.me > 0)
            tern_coll_recv(c, rank_at(c, place.me - place.bit), some, (size_t)place.held * len);
        all = some;
    }
    tern_coll_wait(c);
    for (int bit = place.bit / 2; bit > 0; bit /= 2) {
        int n = place.held - bit < bit ? place.held - bit : bit;

        if (n > 0)
            tern_coll_send(c, rank_at(c, place.me + bit), all + (size_t)bit * len, (size_t)n * len);
    }
    tern_coll_copy(c, args->dst, all, len);
}

const struct tern_coll_algorithm tern_coll_gather[] = {
    { .name = "binomial", .write = gather_binomial },
    { .name = "linear", .write = gather_linear },
    { .name = "hierarchical", .write = tern_coll_hierarchy_gather, .teams = TERN_COLL_ORDERED },
    { .name = NULL },
};
const struct tern_coll_algorithm tern_coll_gatherv[] = { { .name = "linear", .write = gather_linear },
                                                         { .name = NULL } };
const struct tern_coll_algorithm tern_coll_scatter[] = {
    { .name = "binomial", .write = scatter_binomial },
    { .name = "linear", .write = scatter_linear },
    { .name = "hierarchical", .write = tern_coll_hierarchy_scatter, .teams = TERN_COLL_ORDERED },
    { .name = NULL },
};
const struct tern_coll_algorithm tern_coll_scatterv[] = { { .name = "linear", .write = scatter_linear },
                                                          { .name = NULL } };
