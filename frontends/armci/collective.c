/* collective.c: ARMCI's broadcasts and selections. */
#include <stdlib.h>
#include <string.h>

#include "message_in.h"

static void bcast(const char *call, int scope, const ARMCI_Group *group, void *buf, int len, int root)
{
    struct tern_armci_scope ranks = tern_armci_scope_of(call, scope, group);

    if (len < 0 || (buf == NULL && len > 0))
        tern_front_die(call, "%d bytes at %p: the buffer is invalid", len, buf);
    if (root < 0)
        root = ranks.ranks[0];
    tern_armci_bcast(call, &ranks, buf, (size_t)len, ranks.me < 0 ? 0 : tern_armci_place_of(call, &ranks, root));
}

ARMCI_EXPORT void armci_msg_bcast(void *buffer, int len, int root)
{
    tern_armci_check_rank("armci_msg_bcast", root);
    bcast("armci_msg_bcast", SCOPE_ALL, &tern_armci.world, buffer, len, root);
}

ARMCI_EXPORT void armci_msg_brdcst(void *buffer, int len, int root)
{
    tern_armci_check_rank("armci_msg_brdcst", root);
    bcast("armci_msg_brdcst", SCOPE_ALL, &tern_armci.world, buffer, len, root);
}

ARMCI_EXPORT void armci_msg_bcast_scope(int scope, void *buffer, int len, int root)
{
    tern_armci_check_rank("armci_msg_bcast_scope", root);
    bcast("armci_msg_bcast_scope", scope, &tern_armci.world, buffer, len, root);
}

ARMCI_EXPORT void armci_msg_group_bcast_scope(int scope, void *buf, int len, int root, ARMCI_Group *group)
{
    tern_armci_check_rank("armci_msg_group_bcast_scope", root);
    bcast("armci_msg_group_bcast_scope", scope, group, buf, len, root);
}

/* Broadcast from the first rank of this node to the others. */
ARMCI_EXPORT void armci_msg_clus_brdcst(void *buf, int len)
{
    bcast("armci_msg_clus_brdcst", SCOPE_NODE, &tern_armci.world, buf, len, -1);
}

/* Broadcast from one rank of the group to the ranks of the group on its node. The number of ranks on the node is known,
 * so the argument is not used. */
ARMCI_EXPORT void armci_grp_clus_brdcst(void *buf, int len, int grp_master, int grp_clus_nproc,
                                        ARMCI_Group *mastergroup)
{
    (void)grp_clus_nproc;
    bcast("armci_grp_clus_brdcst", SCOPE_NODE, mastergroup, buf, len, ARMCI_Absolute_id(mastergroup, grp_master));
}

/* Find the neighbours of this rank in a binary tree over the ranks of a scope; -1: there is no such rank. */
ARMCI_EXPORT void armci_msg_bintree(int scope, int *Root, int *Up, int *Left, int *Right)
{
    struct tern_armci_scope ranks = tern_armci_scope_of("armci_msg_bintree", scope, &tern_armci.world);
    int                     me = ranks.me;

    if (Root == NULL || Up == NULL || Left == NULL || Right == NULL)
        tern_front_die("armci_msg_bintree", "a result is NULL");
    *Root = ranks.ranks[0];
    *Up = me > 0 ? ranks.ranks[(me - 1) / 2] : -1;
    *Left = me >= 0 && 2 * me + 1 < ranks.n ? ranks.ranks[2 * me + 1] : -1;
    *Right = me >= 0 && 2 * me + 2 < ranks.n ? ranks.ranks[2 * me + 2] : -1;
    free(ranks.ranks);
}

/* The header of the contribution of a rank to a selection; its bytes follow. The first value of the bytes begins at a
 * multiple of 16. */
struct chosen {
    int           contributes, type, greatest;
    int           padding;
    unsigned char data[];
};

#define IS_BETTER(type) (c->greatest ? *(const type *)x >= *(const type *)y : *(const type *)x <= *(const type *)y)

/* Return whether the value at x, which belongs to a later rank, replaces the value at y. */
static bool is_better(const struct chosen *c, const void *x, const void *y)
{
    switch (c->type) {
    case ARMCI_INT: return IS_BETTER(int);
    case ARMCI_LONG: return IS_BETTER(long);
    case ARMCI_LONG_LONG: return IS_BETTER(long long);
    case ARMCI_FLOAT: return IS_BETTER(float);
    default: return IS_BETTER(double);
    }
}

static void choose(void *mine, const void *other, size_t len, const void *arg)
{
    const struct chosen *a = mine, *b = other;

    (void)arg;
    if (b->contributes && (!a->contributes || is_better(b, b->data, a->data)))
        memcpy(mine, other, len);
}

static void select_best(const char *call, int scope, void *x, int n, const char *op, int type, int contribute)
{
    struct tern_armci_scope ranks = tern_armci_scope_of(call, scope, &tern_armci.world);
    struct chosen          *mine;
    size_t                  len = sizeof *mine + (size_t)n;

    if (n < 0 || type < ARMCI_INT || type > ARMCI_DOUBLE)
        tern_front_die(call, "%d bytes of type %d: the type must be ARMCI_INT to ARMCI_DOUBLE", n, type);
    if (op == NULL || (strncmp(op, "min", 3) != 0 && strncmp(op, "max", 3) != 0))
        tern_front_die(call, "there is no selection \"%s\"; use \"min\" or \"max\"", op != NULL ? op : "NULL");
    if (x == NULL && n > 0)
        tern_front_die(call, "%d bytes at NULL: the array is invalid", n);
    mine = tern_front_alloc(call, 1, len + 16);
    *mine = (struct chosen){ contribute != 0, type, strncmp(op, "max", 3) == 0, 0 };
    if (n > 0)
        memcpy(mine->data, x, (size_t)n);
    tern_armci_fold(call, &ranks, mine, len, len, choose, NULL);
    if (mine->contributes && n > 0)
        memcpy(x, mine->data, (size_t)n);
    free(mine);
}

ARMCI_EXPORT void armci_msg_sel(void *x, int n, char *op, int type, int contribute)
{
    select_best("armci_msg_sel", SCOPE_ALL, x, n, op, type, contribute);
}

ARMCI_EXPORT void armci_msg_sel_scope(int scope, void *x, int n, char *op, int type, int contribute)
{
    select_best("armci_msg_sel_scope", scope, x, n, op, type, contribute);
}
