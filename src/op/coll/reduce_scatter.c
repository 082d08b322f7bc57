/* reduce_scatter.c: the algorithms of tern_reduce_scatter and tern_reduce_scatterv. */
#include "op/coll/coll.h"

/* Each rank receives its block from all ranks, and combines these blocks in the order of the ranks. */
static void pieces(struct tern_coll *c, const struct tern_coll_args *args)
{
    size_t         len = tern_coll_len(&args->from, c->rank);
    unsigned char *in = tern_coll_temp(c, (size_t)c->size * len), *sum = tern_coll_temp(c, len);

    for (int i = 1; i < c->size; i++) {
        int out = (c->rank + i) % c->size, from = (c->rank + c->size - i) % c->size;

        tern_coll_recv(c, from, in + (size_t)from * len, len);
        tern_coll_send(c, out, args->src + tern_coll_at(&args->from, out), tern_coll_len(&args->from, out));
    }
    tern_coll_wait(c);
    for (int rank = 0; rank < c->size; rank++) {
        const unsigned char *theirs =
            rank == c->rank ? args->src + tern_coll_at(&args->from, rank) : in + (size_t)rank * len;

        if (rank == 0)
            tern_coll_copy(c, sum, theirs, len);
        else
            tern_coll_combine(c, sum, sum, theirs, len);
    }
    tern_coll_copy(c, args->dst, sum, len);
}

/* Blocks travel around the ring, and are combined on the way. */
static void ring(struct tern_coll *c, const struct tern_coll_args *args)
{
    size_t         most = 0;
    unsigned char *held[2];
    int            ahead = (c->rank + 1) % c->size, behind = (c->rank + c->size - 1) % c->size;

    for (int i = 0; i < c->size; i++)
        most = tern_coll_len(&args->from, i) > most ? tern_coll_len(&args->from, i) : most;
    held[0] = tern_coll_temp(c, most);
    held[1] = tern_coll_temp(c, most);
    for (int i = 0; i < c->size - 1; i++) {
        int out = (c->rank - i - 1 + 2 * c->size) % c->size, in = (out + c->size - 1) % c->size;

        tern_coll_recv(c, behind, held[i & 1], tern_coll_len(&args->from, in));
        tern_coll_send(c, ahead, i == 0 ? args->src + tern_coll_at(&args->from, out) : held[(i + 1) & 1],
                       tern_coll_len(&args->from, out));
        tern_coll_wait(c);
        tern_coll_combine(c, in == c->rank ? args->dst : held[i & 1], held[i & 1],
                          args->src + tern_coll_at(&args->from, in), tern_coll_len(&args->from, in));
    }
}

const struct tern_coll_algorithm tern_coll_reduce_scatter[] = {
    { .name = "pieces", .write = pieces, .order = TERN_COLL_FOLDED },
    { .name = "ring", .write = ring, .order = TERN_COLL_ANY },
    { .name = "hierarchical",
      .write = tern_coll_hierarchy_reduce_scatter,
      .order = TERN_COLL_ANY,
      .teams = TERN_COLL_ORDERED },
    { .name = NULL },
};
const struct tern_coll_algorithm tern_coll_reduce_scatterv[] = {
    { .name = "pieces", .write = pieces, .order = TERN_COLL_FOLDED },
    { .name = "ring", .write = ring, .order = TERN_COLL_ANY },
    { .name = NULL },
};
