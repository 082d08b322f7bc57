/* nodes.c: see nodes.h. */
#include "op/coll/nodes.h"

#include <stdlib.h>

#include "core/job.h"

/* Number the nodes of the members in the order of the members, and count the members of each: `known` contains the
 * number of a node of the job, or -1, and `first` the count behind the number. */
static void count(const struct tern_team *team, struct tern_coll_nodes *n, int32_t *known)
{
    for (int i = 0; i < tern_job.boot.nodes; i++)
        known[i] = -1;
    for (int i = 0; i < team->size; i++) {
        int32_t *number = &known[tern_core_job_slot(tern_core_team_world(team, i))->node];

        if (*number < 0) {
            *number = n->nodes++;
            n->leader[*number] = i;
        }
        n->first[*number + 1]++;
    }
    for (int i = 0; i < n->nodes; i++) {
        n->shared |= n->first[i + 1] > 1;
        n->first[i + 1] += n->first[i];
    }
}

/* Sort the members by nodes. */
static void sort(const struct tern_team *team, struct tern_coll_nodes *n, const int32_t *known, int32_t *filled)
{
    n->ordered = true;
    for (int i = 0; i < team->size; i++) {
        int32_t node = known[tern_core_job_slot(tern_core_team_world(team, i))->node];
        int32_t at = n->first[node] + filled[node]++;

        n->member[at] = i;
        n->ordered &= at == i;
        if (i == team->rank) {
            n->mine = node;
            n->local = at - n->first[node];
        }
    }
}

tern_status tern_op_coll_nodes_open(const struct tern_team *team, struct tern_coll_nodes **out)
{
    size_t                  all = (size_t)tern_job.boot.nodes, size = (size_t)team->size;
    struct tern_coll_nodes *n;
    int32_t                *known;

    *out = NULL;
    if (tern_job.boot.nodes == 1)
        return TERN_OK;
    n = calloc(1, sizeof(*n) + (all + 1 + all + size) * sizeof(int32_t));
    known = calloc(2 * all, sizeof(*known));
    if (n && known) {
        n->first = (int32_t *)(n + 1);
        n->leader = n->first + all + 1;
        n->member = n->leader + all;
        count(team, n, known);
        sort(team, n, known, known + all);
    }
    free(known);
    if (n && known && n->nodes > 1) {
        *out = n;
        return TERN_OK;
    }
    free(n);
    return n && known ? TERN_OK : tern_base_fail(TERN_ERR_NOMEM, "no memory for the nodes of a team");
}

void tern_op_coll_nodes_close(struct tern_coll_nodes *nodes)
{
    free(nodes);
}
