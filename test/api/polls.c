/* polls.c: calls with a deadline, and the deadline TERN_NOW.
 *
 * Promise: with TERN_NOW, every call that takes a deadline returns TERN_PENDING if what it waits for has not happened,
 * and the text of the last error stays as it is. What it waits for can still happen.
 *
 * ranks: 1 2 4
 * env: TERN_SPIN=0
 */
#include "job_test.h"

static tern_region *region;
static int          me, left, right;

/* Check that a call returns TERN_PENDING and leaves the text of an earlier error alone. */
#define POLLS(call)                                                                              \
    do {                                                                                         \
        char text[512];                                                                          \
                                                                                                 \
        RETURNS(TERN_ERR_RANGE, tern_put(TERN_WORLD, region, tern_size(), 0, &text, 1));         \
        snprintf(text, sizeof(text), "%s", tern_error_detail());                                 \
        for (int times = 0; times < 3; times++) {                                                \
            RETURNS(TERN_PENDING, call);                                                         \
            CHECK(text[0] != '\0' && strncmp(text, tern_error_detail(), sizeof(text) - 1) == 0); \
        }                                                                                        \
    } while (0)

static void poll_requests(tern_request **requests, size_t n)
{
    size_t            index = 99, count = 99, indices[8];
    tern_request_info infos[8];
    tern_status       statuses[8];

    for (size_t i = 0; i < n; i++) {
        POLLS(tern_request_wait(&requests[i], TERN_NOW, NULL));
        POLLS(tern_request_wait(&requests[i], TERN_NOW, infos));
    }
    POLLS(tern_request_wait_any(requests, n, TERN_NOW, &index, infos));
    SAME(index, n);
    POLLS(tern_request_wait_all(requests, n, TERN_NOW, infos, statuses));
    POLLS(tern_request_wait_all(requests, n, TERN_NOW, NULL, NULL));
    POLLS(tern_request_wait_some(requests, n, TERN_NOW, &count, indices, infos, statuses));
    SAME(count, 0);
    for (size_t i = 0; i < n; i++)
        CHECK(requests[i] != NULL);
}

static void requests(void)
{
    uint64_t      got = 0, sent = 5;
    tern_request *all[3];

    OK(tern_irecv(TERN_WORLD, left, 1, &got, sizeof(got), &all[0]));
    OK(tern_recv_create(TERN_WORLD, left, 2, &got, sizeof(got), &all[1]));
    OK(tern_request_start(all[1]));
    OK(tern_notify_create(TERN_WORLD, region, left, 3, 1, &all[2]));
    OK(tern_request_start(all[2]));
    poll_requests(all, 2); /* of messages, of notifications, and of both */
    poll_requests(all + 2, 1);
    poll_requests(all, 3);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_put_notify(TERN_WORLD, region, right, 0, &sent, sizeof(sent), 3));
    OK(tern_send(TERN_WORLD, right, 1, &sent, sizeof(sent)));
    OK(tern_send(TERN_WORLD, right, 2, &sent, sizeof(sent)));
    OK(tern_request_wait_all(all, 3, TERN_FOREVER, NULL, NULL));
    SAME(got, 5);
    OK(tern_request_free(&all[1]));
    OK(tern_request_free(&all[2]));
}

static void probes(void)
{
    tern_message *message = NULL;

    POLLS(tern_probe(TERN_WORLD, left, 4, TERN_NOW, NULL));
    POLLS(tern_probe_masked(TERN_WORLD, left, 4, 0xff, TERN_NOW, NULL));
    POLLS(tern_mprobe(TERN_WORLD, left, 4, TERN_NOW, &message, NULL));
    POLLS(tern_mprobe_masked(TERN_WORLD, left, 4, 0xff, TERN_NOW, &message, NULL));
    CHECK(message == NULL);
}

static void counters_and_events(void)
{
    tern_counter *counter;
    tern_event    events[2];
    size_t        index = 99;

    OK(tern_counter_create(TERN_WORLD, &counter));
    OK(tern_counter_event(counter, 1, &events[0]));
    OK(tern_counter_event(counter, 2, &events[1]));
    POLLS(tern_counter_wait(counter, 1, TERN_NOW));
    POLLS(tern_event_wait(&events[0], TERN_NOW));
    POLLS(tern_event_wait_any(events, 2, TERN_NOW, &index));
    OK(tern_counter_add(counter, 1));
    OK(tern_event_wait(&events[0], TERN_FOREVER));
    POLLS(tern_event_wait_all(events, 2, TERN_NOW));
    OK(tern_counter_add(counter, 1));
    OK(tern_event_wait_all(events, 2, TERN_FOREVER));
    OK(tern_counter_wait(counter, 2, TERN_NOW));
    OK(tern_counter_free(counter));
}

static bool never(void *arg)
{
    ++*(unsigned *)arg;
    return false;
}

static void signals_and_conditions(void)
{
    unsigned looked = 0;
    uint64_t seen = 77;

    POLLS(tern_signal_wait(TERN_WORLD, region, 64, TERN_NE, 0, TERN_NOW, &seen));
    POLLS(tern_signal_wait(TERN_WORLD, region, 64, TERN_GE, 1, TERN_NOW, NULL));
    POLLS(tern_wait_until(TERN_WORLD, never, &looked, TERN_NOW));
    CHECK(looked >= 3);
}

/* Each rank has a mutex of its own at every rank, so that nothing but its other context holds it. */
static void mutexes(void)
{
    tern_mutexes *set;
    tern_ctx     *other;

    OK(tern_mutex_create(TERN_WORLD, (uint64_t)tern_size(), &set));
    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &other));
    for (int rank = 0; rank < tern_size(); rank++) {
        OK(tern_mutex_lock(other, set, rank, (uint64_t)me));
        POLLS(tern_mutex_try(TERN_WORLD, set, rank, (uint64_t)me, TERN_NOW));
        OK(tern_mutex_unlock(other, set, rank, (uint64_t)me));
        OK(tern_mutex_try(TERN_WORLD, set, rank, (uint64_t)me, TERN_NOW));
        OK(tern_mutex_unlock(TERN_WORLD, set, rank, (uint64_t)me));
    }
    OK(tern_ctx_free(other));
    OK(tern_mutex_free(set));
}

int main(void)
{
    OK(tern_init());
    me = tern_rank();
    left = (me + tern_size() - 1) % tern_size();
    right = (me + 1) % tern_size();
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &region));
    OK(tern_barrier(TERN_WORLD));
    requests();
    probes();
    counters_and_events();
    signals_and_conditions();
    mutexes();
    OK(tern_region_free(region));
    OK(tern_finalize());
    return 0;
}
