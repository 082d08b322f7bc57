/* am_region.c: long messages to regions that have just been created, and to regions that are about to be freed.
 *
 * Promise: a rank whose tern_region_create or tern_region_register has returned may at once send a message into the
 * region: its target knows the region, also if it has not yet returned from the same call. Messages that were sent and
 * handled before tern_region_free do not hinder it.
 *
 * ranks: 2 4 8
 * env: TERN_CMA=off
 */
#include "job_test.h"

const char *job_note;

#define TOLD 1u
#define ROUNDS (JOB_SANITIZED ? 10u : 60u)
#define LEN 100u

static uint64_t told;

static void on_told(const tern_am_event *event, void *user)
{
    (void)user;
    SAME(event->len, LEN);
    HOLDS(event->payload, LEN, (unsigned)event->source, event->args[0]);
    told++;
}

static bool all_told(void *arg)
{
    return told >= *(uint64_t *)arg;
}

int main(void)
{
    unsigned char bytes[LEN];
    uint64_t      want = 0;

    OK(tern_am_register(TOLD, on_told, NULL));
    OK(tern_init());
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct job_region r;
        tern_am           am = TERN_AM(.kind = TERN_AM_LONG, .handler = TOLD, .nargs = 1, .payload = bytes, .len = LEN);

        am.args = &round;
        job_fill(bytes, LEN, (unsigned)tern_rank(), round);
        job_region_make(&r, round % 2 ? JOB_REGISTERED : JOB_HOST, (uint64_t)tern_size() * LEN);
        am.region = r.region;
        am.offset = (uint64_t)tern_rank() * LEN;
        for (int to = 0; to < tern_size(); to++)
            OK(tern_am_request(TERN_WORLD, to, &am));
        want += (uint64_t)tern_size();
        OK(tern_wait_until(TERN_WORLD, all_told, &want, tern_deadline_in(60)));
        job_region_drop(&r);
    }
    OK(tern_finalize());
    return 0;
}
