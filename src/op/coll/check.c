/* check.c: see check.h. Every rank gets what all ranks say, in log2 rounds, whatever its own call is. The messages have
 * a tag that only depends on the number of the call on the team. */
#include "op/coll/check.h"

#include <string.h>

void tern_op_coll_write_check(struct tern_coll *c, const struct tern_coll_args *args)
{
    const size_t           len = sizeof(struct tern_coll_says);
    struct tern_coll_says *says = (struct tern_coll_says *)(void *)tern_coll_temp(c, (size_t)c->size * len);
    struct tern_coll_step *step;
    uint32_t               first = c->steps;

    if (c->status < 0)
        return;
    says[0] = (struct tern_coll_says){ .digest = args->digest,
                                       .amount = args->amount,
                                       .root = args->root,
                                       .call = args->call,
                                       .blocks = args->blocks,
                                       .type = args->how.type,
                                       .op = args->how.op };
    for (int have = 1; have < c->size; have *= 2) {
        int n = c->size - have < have ? c->size - have : have;

        tern_coll_recv(c, (c->rank + have) % c->size, says + have, (size_t)n * len);
        tern_coll_send(c, (c->rank + c->size - have) % c->size, says, (size_t)n * len);
        tern_coll_wait(c);
    }
    tern_coll_copy(c, says, says + 1, len); /* becomes the comparison */
    for (step = c->step + first; c->status == TERN_OK && step < c->step + c->steps; step++)
        step->checks = true;
    if (c->status == TERN_OK)
        c->step[c->steps - 1].kind = TERN_COLL_COMPARE;
}

tern_status tern_op_coll_check_first(struct tern_station *station, struct tern_ctx *ctx,
                                     const struct tern_coll_args *args, tern_status (*run)(struct tern_coll *c))
{
    struct tern_coll *c = tern_op_coll_new(station, ctx, args);

    if (!c)
        return TERN_ERR_NOMEM;
    c->algorithm = "comparing";
    if (c->size > 1)
        tern_op_coll_write_check(c, args);
    return run(c);
}

void tern_op_coll_compare(struct tern_coll *c, const struct tern_coll_says *says)
{
    const struct tern_coll_says *mine = &says[0];

    for (int i = 1; i < c->size; i++) {
        const struct tern_coll_says *theirs = &says[i];
        int                          rank = (c->rank + i) % c->size;

        if (theirs->call != mine->call || theirs->blocks != mine->blocks)
            tern_op_coll_fail(c, TERN_ERR_ARG,
                              "%s: rank %d of the team called %s%s, and this rank, %d, %s%s; all ranks of a team make "
                              "the same collective calls in the same order",
                              c->op.call, rank, tern_op_coll_name(theirs->call), theirs->blocks ? "" : "_with", c->rank,
                              tern_op_coll_name(mine->call), mine->blocks ? "" : "_with");
        else if (theirs->root != mine->root)
            tern_op_coll_fail(c, TERN_ERR_ARG,
                              "%s: rank %d of the team passed root %d, and this rank, %d, root %d; all ranks pass the "
                              "same",
                              c->op.call, rank, theirs->root, c->rank, mine->root);
        else if (theirs->amount != mine->amount)
            tern_op_coll_fail(
                c, TERN_ERR_ARG,
                "%s: rank %d of the team passed %llu bytes or elements, and this rank, %d, %llu; all ranks "
                "pass the same",
                c->op.call, rank, (unsigned long long)theirs->amount, c->rank, (unsigned long long)mine->amount);
        else if (theirs->type != mine->type || theirs->op != mine->op)
            tern_op_coll_fail(c, TERN_ERR_ARG,
                              "%s: rank %d of the team passed type %u and reduction %u, and this rank, %d, type %u and "
                              "reduction %u; all ranks pass the same",
                              c->op.call, rank, theirs->type, theirs->op, c->rank, mine->type, mine->op);
        else if (theirs->digest != mine->digest)
            tern_op_coll_fail(c, TERN_ERR_ARG,
                              "%s: rank %d of the team passed other flags, another size of an element or other block "
                              "lengths than this "
                              "rank, %d; all ranks pass the same",
                              c->op.call, rank, c->rank);
    }
}
