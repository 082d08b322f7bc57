/* mixed.c: promise: ranks that make different collective calls at the same time are told so, instead of getting each
 * other's data of some earlier call.
 * ranks: 2 3 4 8
 */
#include "job_test.h"

const char *job_note;

int main(void)
{
    uint64_t  mine, all[64] = { 0 };
    tern_ctx *node;

    OK(tern_init());
    mine = (uint64_t)tern_rank();
    OK(tern_ctx_create(tern_team_node(), TERN_RELAXED, &node));
    OK(tern_allgather(node, &mine, sizeof(mine), all));
    OK(tern_allgather(node, &mine, sizeof(mine), all)); /* now notes of both parities are there, and look right */
    if (tern_rank() == 0) {
        OK(tern_barrier(node));
    } else {
        CHECK(tern_allgather(node, &mine, sizeof(mine), all) == TERN_ERR_ARG);
        CHECK(strstr(tern_error_detail(), "rank 0") && strstr(tern_error_detail(), "same order"));
    }
    /* The team is as good as before: the next calls meet each other. */
    mine += 100;
    OK(tern_allgather(node, &mine, sizeof(mine), all));
    for (int i = 0; i < tern_size(); i++)
        SAME(all[i], 100 + i);
    OK(tern_barrier(node));
    OK(tern_finalize());
    return 0;
}
