/* scope.c: scopes, and the collective calls over the ranks of a scope: broadcasts and reductions along binomial trees.
 *
 * Messages of one rank to another keep their order, and all ranks of a scope make the same collective calls in the same
 * order, so that one tag is sufficient for all calls.
 */
#include <stdlib.h>

#include "message_in.h"

#define FOLD_BYTES 65536u /* reductions of more bytes are divided */

/* Return whether a rank of a group is in a scope. The master of a domain is the first rank of the group in this
 * domain. */
static bool is_in(int scope, const struct tern_armci_group *group, int rank)
{
    int domain = armci_domain_id(ARMCI_DOMAIN_SMP, group->tables[rank]);

    if (scope == SCOPE_ALL)
        return true;
    if (scope == SCOPE_NODE)
        return domain == armci_domain_my_id(ARMCI_DOMAIN_SMP);
    for (int i = 0; i < rank; i++) {
        if (armci_domain_id(ARMCI_DOMAIN_SMP, group->tables[i]) == domain)
            return false;
    }
    return true;
}

struct tern_armci_scope tern_armci_scope_of(const char *call, int scope, const ARMCI_Group *group)
{
    struct tern_armci_group *g = tern_armci_group_of(call, group);
    struct tern_armci_scope  made = { .me = -1 };

    if (scope < SCOPE_ALL || scope > SCOPE_MASTERS)
        tern_front_die(call, "there is no scope %d; the scopes are SCOPE_ALL, SCOPE_NODE and SCOPE_MASTERS", scope);
    made.ranks = tern_front_alloc(call, (size_t)g->size, sizeof *made.ranks);
    for (int i = 0; i < g->size; i++) {
        if (!is_in(scope, g, i))
            continue;
        if (g->tables[i] == tern_armci.me)
            made.me = made.n;
        made.ranks[made.n++] = g->tables[i];
    }
    return made;
}

int tern_armci_place_of(const char *call, const struct tern_armci_scope *scope, int rank)
{
    for (int i = 0; i < scope->n; i++) {
        if (scope->ranks[i] == rank)
            return i;
    }
    tern_front_die(call, "the root, rank %d, is not in the scope", rank);
}

/* Send len bytes from the rank at place root to all others. */
static void spread(const char *call, const struct tern_armci_scope *scope, void *buf, size_t len, int root)
{
    int n = scope->n, at = (scope->me - root + n) % n, bit = 1;

    while (bit < n && !(at & bit))
        bit <<= 1;
    if (at != 0)
        tern_armci_receive(call, scope->ranks[(at - bit + root) % n], buf, len);
    for (bit >>= 1; bit > 0; bit >>= 1) {
        if (at + bit < n)
            tern_armci_send(call, scope->ranks[(at + bit + root) % n], buf, len);
    }
}

void tern_armci_bcast(const char *call, struct tern_armci_scope *scope, void *buf, size_t len, int root)
{
    if (scope->me >= 0 && len > 0)
        spread(call, scope, buf, len, root);
    free(scope->ranks);
}

/* Combine len bytes of all ranks at the first rank. other is a buffer. */
static void gather(const char *call, const struct tern_armci_scope *scope, void *x, size_t len, void *other,
                   void (*combine)(void *x, const void *y, size_t len, const void *arg), const void *arg)
{
    for (int bit = 1; bit < scope->n; bit <<= 1) {
        if (scope->me & bit) {
            tern_armci_send(call, scope->ranks[scope->me - bit], x, len);
            return;
        }
        if (scope->me + bit < scope->n) {
            tern_armci_receive(call, scope->ranks[scope->me + bit], other, len);
            combine(x, other, len, arg);
        }
    }
}

/* Combine the values of all ranks, in units that are not divided, and send the result to all ranks. */
void tern_armci_fold(const char *call, struct tern_armci_scope *scope, void *x, size_t len, size_t unit,
                     void (*combine)(void *x, const void *y, size_t len, const void *arg), const void *arg)
{
    size_t most = unit < FOLD_BYTES ? FOLD_BYTES / unit * unit : unit;
    void  *other = tern_front_alloc(call, most < len ? most : len, 1);

    for (size_t done = 0; scope->me >= 0 && done < len; done += most) {
        size_t part = len - done < most ? len - done : most;

        gather(call, scope, (char *)x + done, part, other, combine, arg);
        spread(call, scope, (char *)x + done, part, 0);
    }
    free(other);
    free(scope->ranks);
}
