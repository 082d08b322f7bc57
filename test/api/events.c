/* events.c: test, wait, wait_any and wait_all, with deadlines that have passed, are close, or never come.
 *
 * Promise: an event is complete exactly when its operation is; it stays complete; a wait that timed out can be
 * repeated; wait_any names the lowest of several complete events; a bad pointer is TERN_ERR_ARG.
 *
 * providers: net sockets shm
 * env: TERN_CMA=off TERN_BOUNCE_CHUNK=4K TERN_BOUNCE_CHUNKS=2
 * env: TERN_CMA=off TERN_BOUNCE_CHUNK=4K TERN_SPIN=0 TERN_YIELDS=0
 */
#include "job_test.h"

#define EVENTS 40u
#define SLICE 30000u

static void arguments(void)
{
    tern_event event = TERN_EVENT_INIT;
    size_t     index = 77;

    RETURNS(TERN_ERR_ARG, tern_event_test(NULL));
    RETURNS(TERN_ERR_ARG, tern_inline_event_test(NULL));
    RETURNS(TERN_ERR_ARG, tern_event_wait(NULL, TERN_FOREVER));
    RETURNS(TERN_ERR_ARG, tern_event_wait_any(NULL, 1, TERN_FOREVER, &index));
    RETURNS(TERN_ERR_ARG, tern_event_wait_any(&event, 0, TERN_FOREVER, &index));
    RETURNS(TERN_ERR_ARG, tern_event_wait_any(&event, 1, TERN_FOREVER, NULL));
    RETURNS(TERN_ERR_ARG, tern_event_wait_all(NULL, 1, TERN_FOREVER));
    CHECK(index == 77);
    OK(tern_event_wait_all(NULL, 0, TERN_NOW));
    OK(tern_event_wait_all(NULL, 0, INT64_MIN));
    OK(tern_inline_event_test(&event)); /* an empty event is complete, whatever the deadline */
    OK(tern_event_wait(&event, TERN_NOW));
    OK(tern_event_wait(&event, INT64_MIN));
    OK(tern_event_wait_any(&event, 1, TERN_NOW, &index));
    CHECK(index == 0);
}

static void check_slices(const unsigned char *mine, unsigned from, unsigned when)
{
    for (unsigned i = 0; i < EVENTS; i++)
        HOLDS(mine + i * SLICE, SLICE, from, when + i);
}

/* Start EVENTS puts to a rank, those with odd numbers on another context. */
static void start_all(tern_ctx *other, tern_region *region, int to, unsigned char *src, unsigned when,
                      tern_event *events)
{
    for (unsigned i = 0; i < EVENTS; i++) {
        job_fill(src + i * SLICE, SLICE, (unsigned)tern_rank(), when + i);
        OK(tern_put_nb(i % 2 ? other : TERN_WORLD, region, to, i * SLICE, src + i * SLICE, SLICE, &events[i]));
    }
}

/* Each wait_any empties one more event; already empty events are returned first, lowest index first. */
static void any_of_many(tern_event *events)
{
    bool   seen[EVENTS] = { false };
    size_t index, at = 0;

    while (at < EVENTS) {
        tern_status st = tern_event_wait_any(events + at, EVENTS - at, TERN_FOREVER, &index);
        OK(st);
        CHECK(index < EVENTS - at && events[at + index].pending == NULL);
        for (size_t i = 0; i < index; i++)
            CHECK(events[at + i].pending != NULL); /* the lowest */
        seen[at + index] = true;
        events[at + index] = events[at]; /* keep the remaining events together */
        seen[at] = true;
        at++;
    }
    for (unsigned i = 0; i < EVENTS; i++)
        CHECK(seen[i]);
}

static void deadlines(tern_event *events)
{
    tern_status st = TERN_ERR_TIMEOUT;
    size_t      index = EVENTS;
    unsigned    again = 0;

    st = tern_event_wait_all(events, EVENTS, INT64_MIN); /* passed long ago: one poll */
    CHECK(st == TERN_OK || st == TERN_ERR_TIMEOUT);
    st = tern_event_wait_any(events, EVENTS, TERN_NOW, &index);
    CHECK(st == TERN_PENDING ? index == EVENTS : st == TERN_OK && index < EVENTS);
    st = tern_event_wait(&events[EVENTS - 1], TERN_NOW);
    CHECK(st == TERN_OK || st == TERN_PENDING);
    while ((st = tern_event_wait_all(events, EVENTS, tern_clock() + 20000)) == TERN_ERR_TIMEOUT)
        again++;
    OK(st);
    for (unsigned i = 0; i < EVENTS; i++)
        CHECK(events[i].pending == NULL);
    OK(tern_event_wait_all(events, EVENTS, TERN_NOW));
    CHECK(again < 10000000);
}

/* Once a local event is complete the source may change at once; the target receives the old data. */
static void local_events(tern_region *region, int to, unsigned char *src, unsigned when, tern_event *events)
{
    tern_event near[EVENTS];

    for (unsigned i = 0; i < EVENTS; i++) {
        tern_opts opts = TERN_OPTS(.flags = TERN_WANT_EVENT, .local = &near[i], .event = &events[i]);
        job_fill(src + i * SLICE, SLICE, (unsigned)tern_rank(), when + i);
        OK(tern_put_with(TERN_WORLD, region, to, i * SLICE, src + i * SLICE, SLICE, &opts));
    }
    for (unsigned i = EVENTS; i-- > 0;) { /* the last first: it has had the least time */
        OK(tern_event_wait(&near[i], TERN_FOREVER));
        memset(src + i * SLICE, 0, SLICE);
    }
    OK(tern_event_wait_all(events, EVENTS, TERN_FOREVER));
}

/* tern_quiet completes events that no call waits for, and they can be tested afterwards, also after a local event. */
static void quiet_completes(tern_region *region, int to, unsigned char *src, unsigned when, tern_event *events)
{
    tern_event near;
    tern_opts  opts = TERN_OPTS(.flags = 0, .local = &near, .event = NULL);

    start_all(TERN_WORLD, region, to, src, when, events);
    OK(tern_put_with(TERN_WORLD, region, to, EVENTS * SLICE, src, SLICE, &opts));
    OK(tern_quiet(TERN_WORLD));
    for (unsigned i = 0; i < EVENTS; i++)
        OK(tern_event_wait(&events[i], TERN_NOW));
    OK(tern_event_wait(&near, TERN_NOW));
}

int main(void)
{
    struct job_region r;
    tern_event        events[EVENTS];
    tern_ctx         *other;
    unsigned char    *src = job_new((EVENTS + 1) * SLICE);
    unsigned          me, size, right, left;

    OK(tern_init());
    me = (unsigned)tern_rank(), size = (unsigned)tern_size();
    right = (me + 1) % size, left = (me + size - 1) % size;
    arguments();
    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &other));
    job_region_make(&r, JOB_REGISTERED, (EVENTS + 1) * SLICE);
    for (unsigned round = 0; round < (JOB_SANITIZED ? 3 : 12); round++) {
        OK(tern_barrier(TERN_WORLD));
        if (round % 4 < 2)
            start_all(other, r.region, (int)right, src, round * 50, events);
        if (round % 4 == 0)
            any_of_many(events);
        else if (round % 4 == 1)
            deadlines(events);
        else if (round % 4 == 2)
            local_events(r.region, (int)right, src, round * 50, events);
        else
            quiet_completes(r.region, (int)right, src, round * 50, events);
        OK(tern_quiet(other));
        OK(tern_barrier(TERN_WORLD));
        check_slices(r.mine, left, round * 50);
    }
    OK(tern_ctx_free(other));
    job_region_drop(&r);
    OK(tern_finalize());
    free(src);
    return 0;
}
