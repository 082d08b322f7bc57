/* chaos_job.c: a job that does a little of everything, started by chaos.sh; chaos kills a rank at some operation of it.
 *
 *   chaos_job ROUNDS
 *
 * Every call returns TERN_OK or, if it involves the dead rank, TERN_ERR_PEER; the rest of the job continues and leaves
 * in order. A survivor's last line is "survived R, at P": P is the point where the collective calls began to fail,
 * which is the same for all survivors. A broken promise is a line "...chaos_job.c:LINE: ..." on standard error, and
 * status 1.
 */
#include "fault/fault_job.h"

#define TOLD 1u
#define LEN 100u

static uint64_t told;

static void on_told(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    told++;
}

/* Check that the call succeeded or that a rank is dead. Returns whether it succeeded. */
static bool worked(tern_status st)
{
    CHECK(st == TERN_OK || st == TERN_ERR_PEER);
    return st == TERN_OK;
}

/* Operations on both neighbours; each may fail independently. */
static void exchange(tern_region *region, uint32_t round)
{
    unsigned char bytes[LEN], back[LEN];
    int           n = tern_size(), me = tern_rank(), right = (me + 1) % n, left = (me + n - 1) % n;

    job_fill(bytes, LEN, (unsigned)me, round);
    worked(tern_put_nbi(TERN_WORLD, region, right, 0, bytes, LEN));
    worked(tern_quiet(TERN_WORLD));
    if (worked(tern_put(TERN_WORLD, region, right, LEN, bytes, LEN)) &&
        worked(tern_get(TERN_WORLD, region, right, LEN, back, LEN)))
        HOLDS(back, LEN, (unsigned)me, round);
    worked(tern_am_short(TERN_WORLD, left, TOLD, &round, 1));
    worked(tern_am_medium(TERN_WORLD, right, TOLD, NULL, 0, bytes, LEN));
}

/* Returns the number of collective calls that succeeded. */
static unsigned work(unsigned rounds)
{
    tern_region *region;
    unsigned     at = 0;

    if (!worked(tern_region_create(TERN_WORLD, 2 * LEN, NULL, &region)))
        return at;
    for (bool goes_on = true; goes_on && at < rounds;) {
        exchange(region, ++at);
        goes_on = worked(tern_barrier(TERN_WORLD));
    }
    OK(tern_region_free(region));
    return at;
}

int main(int argc, char **argv)
{
    unsigned at;
    int      me;

    OK(tern_am_register(TOLD, on_told, NULL));
    OK(tern_init());
    me = tern_rank();
    at = work(argc > 1 ? (unsigned)atoi(argv[1]) : 4);
    OK(tern_finalize());
    printf("survived %d, at %u\n", me, at);
    return 0;
}
