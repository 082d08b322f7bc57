/* hierarchy.c: algorithms for teams on several nodes, with a leader on each.
 *
 * The members of a node give their contributions to their leader, the leaders communicate with each other, and each
 * leader distributes the result on its node. So fewer messages cross the network, and only the leaders need
 * connections. The leader is the first member of a node; on the node of the root it is the root. The parts are
 * schedules of other algorithms, which are chosen for the number of leaders or of members on the node, and written for
 * these members only. */
#include <string.h>

#include "op/coll/coll.h"
#include "op/coll/nodes.h"

struct hierarchy {
    const struct tern_coll_nodes *nodes;
    struct tern_coll_view         node, leaders;
    bool                          leads; /* this rank is the leader of its node */
    int                           first; /* first of the ranks of this node, if these follow each other in the team */
};

/* Find the root among the leaders and on its node, and make it the leader of that node. */
static void place_root(struct tern_coll *c, struct hierarchy *h)
{
    const struct tern_coll_nodes *n = h->nodes;
    int32_t                      *leader;
    int                           at = 0;

    while (n->member[at] != c->root)
        at++;
    while (h->leaders.root + 1 < n->nodes && n->first[h->leaders.root + 1] <= at)
        h->leaders.root++;
    if (h->leaders.root == n->mine)
        h->node.root = at - h->first;
    leader = (int32_t *)(void *)tern_coll_temp(c, (size_t)n->nodes * sizeof(*leader));
    if (c->status < 0)
        return; /* no memory */
    memcpy(leader, n->leader, (size_t)n->nodes * sizeof(*leader));
    leader[h->leaders.root] = c->root;
    h->leaders.member = leader;
}

static struct hierarchy hierarchy_of(struct tern_coll *c)
{
    const struct tern_coll_nodes *n = c->station->nodes;
    struct hierarchy              h = { .nodes = n, .first = n->first[n->mine] };

    h.node.member = n->member + h.first;
    h.node.rank = n->local;
    h.node.size = tern_coll_node_size(n, n->mine);
    h.leaders.member = n->leader;
    h.leaders.rank = n->mine;
    h.leaders.size = n->nodes;
    if (c->root >= 0)
        place_root(c, &h);
    h.leads = h.node.rank == h.node.root;
    return h;
}

/* Let the leaders, or the members of this node, make a call. */
static void among(struct tern_coll *c, const struct tern_coll_view *view, const struct tern_coll_args *args)
{
    if (c->status < 0)
        return; /* no memory: the lists of blocks may be incomplete */
    if (view->size > 1)
        tern_coll_write_among(c, view, args);
    tern_coll_wait(c); /* the next part uses the memory of this part */
}

static struct tern_coll_args args_of(const struct tern_coll_args *args, enum tern_coll_call call, const void *src,
                                     void *dst, size_t len)
{
    struct tern_coll_args part = *args;

    part.call = (uint8_t)call;
    part.src = src;
    part.dst = dst;
    part.len = len;
    part.from = part.to = (struct tern_coll_blocks){ .each = len };
    return part;
}

/* The blocks of the ranks of each node, as one block for each leader; each rank of the team has `unit` bytes. */
static struct tern_coll_blocks node_blocks(struct tern_coll *c, const struct tern_coll_nodes *n, size_t unit)
{
    size_t *len = (size_t *)(void *)tern_coll_temp(c, 2 * (size_t)n->nodes * sizeof(*len));

    for (int i = 0; i < n->nodes && c->status == TERN_OK; i++) {
        len[i] = (size_t)tern_coll_node_size(n, i) * unit;
        len[n->nodes + i] = (size_t)n->first[i] * unit;
    }
    return (struct tern_coll_blocks){ .len = len, .offset = len + n->nodes, .each = unit };
}

/* ---- calls of all teams ---- */

void tern_coll_hierarchy_sync(struct tern_coll *c, const struct tern_coll_args *args)
{
    struct hierarchy      h = hierarchy_of(c);
    struct tern_coll_args part = args_of(args, TERN_COLL_SYNC, NULL, NULL, 0);

    for (int i = 1; i < h.node.size && h.leads; i++)
        tern_coll_recv(c, h.node.member[i], NULL, 0);
    if (!h.leads)
        tern_coll_send(c, h.node.member[0], NULL, 0);
    tern_coll_wait(c);
    if (h.leads)
        among(c, &h.leaders, &part);
    for (int i = 1; i < h.node.size && h.leads; i++)
        tern_coll_send(c, h.node.member[i], NULL, 0);
    if (!h.leads)
        tern_coll_recv(c, h.node.member[0], NULL, 0);
}

void tern_coll_hierarchy_broadcast(struct tern_coll *c, const struct tern_coll_args *args)
{
    struct hierarchy h = hierarchy_of(c);

    if (h.leads)
        among(c, &h.leaders, args);
    among(c, &h.node, args);
}

/* Reduce the arrays of the node to its leader. Returns the result there, and NULL elsewhere. */
static const unsigned char *reduce_node(struct tern_coll *c, const struct hierarchy *h,
                                        const struct tern_coll_args *args, unsigned char *dst)
{
    struct tern_coll_args part = args_of(args, TERN_COLL_REDUCE, args->src, dst, args->len);

    if (h->node.size == 1)
        return args->src;
    among(c, &h->node, &part);
    return h->leads ? dst : NULL;
}

void tern_coll_hierarchy_reduce(struct tern_coll *c, const struct tern_coll_args *args)
{
    struct hierarchy      h = hierarchy_of(c);
    bool                  temp = h.leads && c->rank != c->root && h.node.size > 1;
    struct tern_coll_args part;

    part = args_of(args, TERN_COLL_REDUCE, NULL, args->dst, args->len);
    part.src = reduce_node(c, &h, args, temp ? tern_coll_temp(c, args->len) : args->dst);
    if (h.leads)
        among(c, &h.leaders, &part);
}

void tern_coll_hierarchy_allreduce(struct tern_coll *c, const struct tern_coll_args *args)
{
    struct hierarchy      h = hierarchy_of(c);
    struct tern_coll_args part = args_of(args, TERN_COLL_ALLREDUCE, NULL, args->dst, args->len);

    part.src = reduce_node(c, &h, args, args->dst);
    if (h.leads)
        among(c, &h.leaders, &part);
    part.call = TERN_COLL_BROADCAST;
    among(c, &h.node, &part);
}

/* ---- calls with blocks, of teams in which the ranks of each node follow each other ---- */

/* Reduce the arrays of the node, let the leaders reduce and scatter the blocks of whole nodes, and scatter the result
 * on the node.
 */
void tern_coll_hierarchy_reduce_scatter(struct tern_coll *c, const struct tern_coll_args *args)
{
    struct hierarchy      h = hierarchy_of(c);
    size_t                len = args->len, all = (size_t)c->size * len, mine = (size_t)h.node.size * len;
    unsigned char        *got = h.leads ? tern_coll_temp(c, mine) : NULL;
    struct tern_coll_args whole = args_of(args, TERN_COLL_REDUCE, args->src, NULL, all), part;

    part = args_of(args, TERN_COLL_REDUCE_SCATTERV, NULL, got, mine);
    part.src = reduce_node(c, &h, &whole, h.leads && h.node.size > 1 ? tern_coll_temp(c, all) : NULL);
    part.from = node_blocks(c, h.nodes, len);
    if (h.leads)
        among(c, &h.leaders, &part);
    part = args_of(args, TERN_COLL_SCATTER, got, args->dst, len);
    if (h.node.size > 1)
        among(c, &h.node, &part);
    else
        tern_coll_copy(c, args->dst, got, len);
}

void tern_coll_hierarchy_gather(struct tern_coll *c, const struct tern_coll_args *args)
{
    struct hierarchy      h = hierarchy_of(c);
    size_t                len = args->len, at = (size_t)h.first * len, mine = (size_t)h.node.size * len;
    unsigned char        *got = c->rank == c->root ? args->dst + at : h.leads ? tern_coll_temp(c, mine) : NULL;
    struct tern_coll_args part = args_of(args, TERN_COLL_GATHER, args->src, got, len);

    if (h.node.size > 1)
        among(c, &h.node, &part);
    else
        tern_coll_copy(c, got, args->src, len);
    part = args_of(args, TERN_COLL_GATHERV, got, args->dst, mine);
    part.to = node_blocks(c, h.nodes, len);
    if (h.leads)
        among(c, &h.leaders, &part);
}

void tern_coll_hierarchy_scatter(struct tern_coll *c, const struct tern_coll_args *args)
{
    struct hierarchy      h = hierarchy_of(c);
    size_t                len = args->len, at = (size_t)h.first * len, mine = (size_t)h.node.size * len;
    unsigned char        *got = h.leads && c->rank != c->root ? tern_coll_temp(c, mine) : NULL;
    struct tern_coll_args part = args_of(args, TERN_COLL_SCATTERV, args->src, got, mine);

    part.from = node_blocks(c, h.nodes, len);
    if (c->rank == c->root) { /* the root's own part stays in place */
        memcpy(&got, &args->src, sizeof(got));
        part.dst = got += at;
    }
    if (h.leads)
        among(c, &h.leaders, &part);
    part = args_of(args, TERN_COLL_SCATTER, got, args->dst, len);
    if (h.node.size > 1)
        among(c, &h.node, &part);
    else
        tern_coll_copy(c, args->dst, got, len);
}

void tern_coll_hierarchy_allgather(struct tern_coll *c, const struct tern_coll_args *args)
{
    struct hierarchy      h = hierarchy_of(c);
    size_t                len = args->len, mine = (size_t)h.node.size * len;
    unsigned char        *got = args->dst + (size_t)h.first * len;
    struct tern_coll_args part = args_of(args, TERN_COLL_GATHER, args->src, got, len);

    if (h.node.size > 1)
        among(c, &h.node, &part);
    else
        tern_coll_copy(c, got, args->src, len);
    part = args_of(args, TERN_COLL_ALLGATHERV, got, args->dst, mine);
    part.to = node_blocks(c, h.nodes, len);
    if (h.leads)
        among(c, &h.leaders, &part);
    part = args_of(args, TERN_COLL_BROADCAST, NULL, args->dst, (size_t)c->size * len);
    among(c, &h.node, &part);
}

/* The leader gathers the arrays of its node and sorts the blocks by the node of their destination; the leaders exchange
 * these blocks; and each leader sorts the received blocks by the members of its node. */
void tern_coll_hierarchy_alltoall(struct tern_coll *c, const struct tern_coll_args *args)
{
    struct hierarchy      h = hierarchy_of(c);
    size_t                len = args->len, all = (size_t)c->size * len, n = (size_t)h.node.size;
    unsigned char        *in = h.leads ? tern_coll_temp(c, n * all) : NULL;
    unsigned char        *out = h.leads ? tern_coll_temp(c, n * all) : NULL;
    struct tern_coll_args part = args_of(args, TERN_COLL_GATHER, args->src, in, all);

    if (n > 1)
        among(c, &h.node, &part);
    else
        tern_coll_copy(c, in, args->src, all);
    for (int k = 0; h.leads && k < h.nodes->nodes; k++) {
        size_t run = (size_t)tern_coll_node_size(h.nodes, k) * len, at = (size_t)h.nodes->first[k] * len;

        tern_coll_pack(c, out + n * at, run, in + at, all, run, n);
    }
    part = args_of(args, TERN_COLL_ALLTOALLV, out, in, 0);
    part.from = part.to = node_blocks(c, h.nodes, n * len);
    if (h.leads)
        among(c, &h.leaders, &part);
    for (size_t i = 0; h.leads && i < n; i++)
        tern_coll_pack(c, out + i * all, len, in + i * len, n * len, len, (size_t)c->size);
    part = args_of(args, TERN_COLL_SCATTER, out, args->dst, all);
    if (n > 1)
        among(c, &h.node, &part);
    else
        tern_coll_copy(c, args->dst, out, all);
}
