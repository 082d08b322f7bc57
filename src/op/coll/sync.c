/* sync.c: the algorithms of tern_sync. */
#include "op/coll/coll.h"

/* In round k, signal the rank 2^k positions ahead, and wait for the signal of the rank 2^k positions behind. */
static void dissemination(struct tern_coll *c, const struct tern_coll_args *args)
{
    (void)args;
    for (int distance = 1; distance < c->size; distance *= 2) {
        tern_coll_recv(c, (c->rank + c->size - distance) % c->size, NULL, 0);
        tern_coll_send(c, (c->rank + distance) % c->size, NULL, 0);
        tern_coll_wait(c);
    }
}

/* All ranks signal rank 0, which signals all ranks. */
static void central(struct tern_coll *c, const struct tern_coll_args *args)
{
    (void)args;
    for (int rank = 1; rank < c->size && c->rank == 0; rank++)
        tern_coll_recv(c, rank, NULL, 0);
    if (c->rank > 0) {
        tern_coll_send(c, 0, NULL, 0);
        tern_coll_recv(c, 0, NULL, 0);
    }
    tern_coll_wait(c);
    for (int rank = 1; rank < c->size && c->rank == 0; rank++)
        tern_coll_send(c, rank, NULL, 0);
}

const struct tern_coll_algorithm tern_coll_sync[] = {
    { .name = "dissemination", .write = dissemination },
    { .name = "central", .write = central },
    { .name = "hierarchical", .write = tern_coll_hierarchy_sync, .teams = TERN_COLL_HIERARCHY },
    { .name = NULL },
};
