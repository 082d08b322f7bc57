/* check.h: debug builds compare the calls of all ranks before a collective operation, by messages of their own. */
#pragma once

#include "op/coll/coll.h"

/* What a rank says about its call. */
struct tern_coll_says {
    uint64_t digest, amount;
    int32_t  root;
    uint16_t call;
    uint8_t  blocks; /* 1: the blocking form */
    uint32_t type, op;
};

/* Write the steps that exchange and compare the calls. */
void tern_op_coll_write_check(struct tern_coll *c, const struct tern_coll_args *args);

/* Compare the calls in an operation of their own, which run executes. */
tern_status tern_op_coll_check_first(struct tern_station *station, struct tern_ctx *ctx,
                                     const struct tern_coll_args *args, tern_status (*run)(struct tern_coll *c));

/* Execute the comparison: says has an entry for each rank, in the order of the distance from this rank. */
void tern_op_coll_compare(struct tern_coll *c, const struct tern_coll_says *says);
