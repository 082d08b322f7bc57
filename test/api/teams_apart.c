/* teams_apart.c: members of a new team that pass different ranks, or give up.
 *
 * Promise: if members that wait for each other pass different lists of ranks with the same parent and tag, all of them
 * get TERN_ERR_ARG, whichever of them calls first and whichever of them the others wait for, and the text names the
 * call and a rank. Afterwards the same ranks create a team with another tag. Calls with different tags, or of lists
 * that share one rank only, are independent of each other.
 *
 * ranks: 3 4 8
 * network: 3
 * chaos: seed=5
 * poor: off, because it needs three ranks
 * imposed: off, because it needs three ranks
 * hosts: a:2,b:1
 */
#include <unistd.h>

#include "job_test.h"

static int      me;
static char     note[80];
static uint64_t tag = 100; /* of the next call; the same on all ranks */

/* Ranks 0, 1 and 2 pass these lists; each begins with its length. One rank is late. */
static void disagree(const int lists[3][4], int late)
{
    tern_team *team, *world = tern_team_world();

    snprintf(note, sizeof(note), "(rank 1 passes %d ranks, %d first; rank %d is late)", lists[1][0], lists[1][1], late);
    job_note = note;
    OK(tern_barrier(TERN_WORLD));
    if (me < 3) {
        if (me == late)
            usleep(30000);
        RETURNS(TERN_ERR_ARG, tern_team_create(world, lists[me] + 1, lists[me][0], tag, &team));
        SAYS("tern_team_create: rank ");
        SAYS("passed another list");
        OK(tern_team_create(world, (int[]){ 2, 0, 1 }, 3, tag + 1, &team));
        CHECK(tern_team_rank(team) == (me + 1) % 3);
        OK(tern_team_free(team));
    }
    tag += 2;
    OK(tern_barrier(TERN_WORLD));
}

/* Two of the ranks 0 to 3 pass a list whose first rank passes another one. One rank is late. */
static void two_each(int late)
{
    static const int all[] = { 0, 1, 2, 3 };
    tern_team       *team, *world = tern_team_world();

    snprintf(note, sizeof(note), "(ranks 2 and 3 leave out rank 0; rank %d is late)", late);
    OK(tern_barrier(TERN_WORLD));
    if (me < 4) {
        if (me == late)
            usleep(30000);
        RETURNS(TERN_ERR_ARG, tern_team_create(world, me < 2 ? all : all + 1, me < 2 ? 4 : 3, tag, &team));
        SAYS("passed another list");
        OK(tern_team_create(world, all, 4, tag + 1, &team));
        OK(tern_team_free(team));
    }
    tag += 2;
    OK(tern_barrier(TERN_WORLD));
}

/* Lists that share a rank: its calls are made one after the other. */
static void overlap(void)
{
    tern_team *one, *two, *world = tern_team_world();

    if (me == 1) {
        usleep(10000);
        OK(tern_team_create(world, (int[]){ 1, 2 }, 2, 0, &two));
        OK(tern_team_create(world, (int[]){ 0, 1 }, 2, 0, &one));
    } else if (me == 0) {
        OK(tern_team_create(world, (int[]){ 0, 1 }, 2, 0, &one));
    } else if (me == 2) {
        OK(tern_team_create(world, (int[]){ 1, 2 }, 2, 0, &two));
    }
    if (me == 0 || me == 1)
        OK(tern_team_free(one));
    if (me == 1 || me == 2)
        OK(tern_team_free(two));
}

int main(void)
{
    OK(tern_init());
    me = tern_rank();
    for (int late = -1; late < 3; late++) {
        disagree((int[3][4]){ { 3, 0, 1, 2 }, { 2, 0, 1 }, { 3, 0, 1, 2 } }, late);
        disagree((int[3][4]){ { 3, 0, 1, 2 }, { 3, 0, 2, 1 }, { 3, 0, 1, 2 } }, late);
        disagree((int[3][4]){ { 2, 0, 1 }, { 3, 0, 1, 2 }, { 3, 0, 1, 2 } }, late);
        disagree((int[3][4]){ { 3, 0, 1, 2 }, { 2, 1, 2 }, { 3, 0, 1, 2 } }, late);
        disagree((int[3][4]){ { 3, 0, 1, 2 }, { 3, 2, 1, 0 }, { 3, 1, 0, 2 } }, late);
        overlap();
    }
    for (int late = -1; late < 4 && tern_size() >= 4; late++)
        two_each(late);
    OK(tern_finalize());
    return 0;
}
