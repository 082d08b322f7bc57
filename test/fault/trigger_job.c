/* trigger_job.c: the target of triggered operations dies; started by trigger.sh.
 *
 * Rank 1 dies by SIGKILL. The others trigger operations to rank 1 and to each other, from one counter. Promise: the
 * operations to the dead rank fail, each for itself, or in tern_quiet_rank for this rank if they have no event; the
 * others complete and are counted, and the operations that they trigger start. A survivor prints "survived R".
 */
#include "fault/fault_job.h"

#define EACH 20u

int main(void)
{
    tern_counter *go = NULL, *done = NULL, *lost = NULL;
    tern_region  *region;
    tern_event    dead[EACH], watch;
    uint64_t      word = 7, value = 0, failures = 0;
    tern_status   st;
    int           me, next;

    EXPECT(TERN_OK, tern_init());
    me = tern_rank();
    next = me + 1 < tern_size() ? me + 1 : 0;
    next = next == 1 ? 2 % tern_size() : next;
    EXPECT(TERN_OK, tern_region_create(TERN_WORLD, 4096, NULL, &region));
    EXPECT(TERN_OK, tern_barrier(TERN_WORLD));
    EXPECT(TERN_OK, tern_counter_create(TERN_WORLD, &go));
    EXPECT(TERN_OK, tern_counter_create(TERN_WORLD, &done));
    EXPECT(TERN_OK, tern_counter_create(TERN_WORLD, &lost));
    for (unsigned i = 0; i < EACH; i++) {
        EXPECT(TERN_OK, tern_put_with(TERN_WORLD, region, 1, 8, &word, 8,
                                      &TERN_OPTS(.event = &dead[i], .counter = lost, .when = go, .threshold = 1)));
        EXPECT(TERN_OK, tern_put_with(TERN_WORLD, region, next, 8, &word, 8,
                                      &TERN_OPTS(.counter = done, .when = i > 0 ? done : go, .threshold = i + !i)));
    }
    EXPECT(TERN_OK, tern_put_with(TERN_WORLD, region, 1, 8, &word, 8, &TERN_OPTS(.when = go, .threshold = 1)));
    EXPECT(TERN_OK, tern_counter_event(lost, EACH, &watch));
    st = tern_put_u64(TERN_WORLD, region, 1, 64 + 8 * (uint64_t)me, 1); /* ready */
    REQUIRE(st == TERN_OK || st == TERN_ERR_PEER); /* rank 1 may see the word, and die before it confirms it */
    if (me == 1) {
        const volatile uint64_t *ready = (const volatile uint64_t *)tern_region_ptr(region, 1) + 8;

        for (int rank = 0; rank < tern_size(); rank++)
            while (ready[rank] == 0)
                usleep(1000);
        fault_die();
    }
    while (tern_peer_check(1) == TERN_OK)
        usleep(1000);
    EXPECT(TERN_OK, tern_counter_add(go, 1));
    for (unsigned i = 0; i < EACH; i++)
        EXPECT(TERN_ERR_PEER, tern_event_wait(&dead[i], tern_deadline_in(20)));
    EXPECT(TERN_OK, tern_counter_wait(done, EACH, tern_deadline_in(20)));
    EXPECT(TERN_ERR_PEER, tern_counter_wait(lost, 1, tern_deadline_in(20)));
    EXPECT(TERN_ERR_PEER, tern_event_wait(&watch, tern_deadline_in(20)));
    EXPECT(TERN_OK, tern_counter_read(lost, &value, &failures));
    REQUIRE(value == 0 && failures == EACH);
    EXPECT(TERN_OK, tern_quiet_rank(TERN_WORLD, next));
    EXPECT(TERN_ERR_PEER, tern_quiet_rank(TERN_WORLD, 1)); /* of the operation without an event */
    EXPECT(TERN_OK, tern_quiet(TERN_WORLD));
    EXPECT(TERN_ERR_PEER, tern_put_with(TERN_WORLD, region, 1, 8, &word, 8, &TERN_OPTS(.when = go, .threshold = 9)));
    EXPECT(TERN_OK, tern_finalize());
    if (!job_broken)
        printf("survived %d\n", me);
    return job_broken;
}
