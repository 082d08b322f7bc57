/* teams_deaf.c: the creation of a team next to a rank that computes.
 *
 * Promise: a rank that does not call Tern, and whose queue is full, delays only the teams that it is in: two other
 * ranks create a team meanwhile, even if one of them has failed to create a team with that rank.
 *
 * ranks: 3
 * network: 3
 * poor: off, because it needs three ranks
 * imposed: off, because it needs three ranks
 */
#include "job_test.h"

#include <sched.h>

#include "base/options.h"
#include "core/message.h"
#include "core/wire.h"

#define MOST 100000 /* messages: a queue of the network may take any number */

/* Fill the queue of rank 0 with messages that have no contents. */
static void fill_queue(void)
{
    const struct core_wire wake = { .whose = CORE_WIRE_OWN, .way = CORE_DIRECTION_WAKE, .mark = CORE_WIRE_MARK };

    while (!tern_core_message_hold())
        OK(tern_progress(TERN_WORLD));
    for (int i = 0; i < MOST && tern_core_wire_send(0, &wake, sizeof(wake)) == TERN_OK; i++)
        ;
    tern_core_message_release();
}

int main(void)
{
    const int       deaf[] = { 0, 1 }, others[] = { 1, 2 };
    tern_team      *team = NULL;
    tern_region    *region;
    const uint64_t *done;

    OK(tern_init());
    OK(tern_region_create(TERN_WORLD, 8, NULL, &region));
    done = tern_region_ptr(region, tern_rank());
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0) {
        while (__atomic_load_n(done, __ATOMIC_ACQUIRE) == 0)
            sched_yield();
    } else if (tern_rank() == 1) {
        fill_queue();
        tern_opt.timeout = 0.1;
        RETURNS(TERN_ERR_TIMEOUT, tern_team_create(tern_team_world(), deaf, 2, 5, &team));
        tern_opt.timeout = 0;
    }
    if (tern_rank() == 1 || tern_rank() == 2) { /* launch/jobs.sh starts four ranks */
        OK(tern_team_create(tern_team_world(), others, 2, 6, &team));
        CHECK(tern_team_size(team) == 2);
    }
    if (tern_rank() == 1)
        OK(tern_put_u64(TERN_WORLD, region, 0, 0, 1));
    OK(tern_barrier(TERN_WORLD));
    if (team)
        OK(tern_team_free(team));
    OK(tern_region_free(region));
    OK(tern_finalize());
    return 0;
}
