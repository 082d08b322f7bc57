/* nodes.c: where every rank is (tern_node_*).
 *
 * Promise: nodes are numbered in the order of their first ranks; node, index, size and rank agree with each other, with
 * tern_team_node and on all ranks; an invalid rank, node or index gives -1.
 *
 * hosts: a:2,b:1 a:1,b:2,c:1
 * chaos: off, because nothing communicates
 */
#include "job_test.h"

static void outside(void)
{
    CHECK(tern_node_count() == -1);
    CHECK(tern_node_of(0) == -1);
    CHECK(tern_node_index(0) == -1);
    CHECK(tern_node_size(0) == -1);
    CHECK(tern_node_rank(0, 0) == -1);
}

static void invalid(void)
{
    const int wrong[] = { -1, tern_size(), INT_MAX, INT_MIN };

    for (int i = 0; i < 4; i++) {
        CHECK(tern_node_of(wrong[i]) == -1);
        CHECK(tern_node_index(wrong[i]) == -1);
        CHECK(tern_node_rank(0, wrong[i]) == -1);
    }
    CHECK(tern_node_size(-1) == -1 && tern_node_size(tern_node_count()) == -1 && tern_node_size(INT_MAX) == -1);
    CHECK(tern_node_rank(-1, 0) == -1 && tern_node_rank(tern_node_count(), 0) == -1);
    for (int node = 0; node < tern_node_count(); node++)
        CHECK(tern_node_rank(node, tern_node_size(node)) == -1);
}

/* Each rank tells the others what it knows of itself. */
struct place {
    int node, index, size, first;
};

static void agree(void)
{
    struct place mine = { .node = tern_node_of(tern_rank()),
                          .index = tern_team_rank(tern_team_node()),
                          .size = tern_team_size(tern_team_node()) },
                 all[64];
    int seen = 0;

    OK(tern_team_translate(tern_team_node(), 0, tern_team_world(), &mine.first));
    OK(tern_allgather(TERN_WORLD, &mine, sizeof(mine), all));
    for (int rank = 0; rank < tern_size(); rank++) {
        int node = tern_node_of(rank);

        CHECK(node == all[rank].node && node >= 0 && node <= seen && seen <= tern_node_count());
        seen += node == seen; /* the first rank of the next node */
        CHECK(tern_node_index(rank) == all[rank].index);
        CHECK(tern_node_size(node) == all[rank].size);
        CHECK(tern_node_rank(node, 0) == all[rank].first);
        CHECK(tern_node_rank(node, tern_node_index(rank)) == rank);
    }
    CHECK(seen == tern_node_count());
}

int main(void)
{
    outside();
    OK(tern_init());
    invalid();
    agree();
    OK(tern_finalize());
    outside();
    return 0;
}
