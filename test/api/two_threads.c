/* two_threads.c: a context that two threads use at the same time.
 *
 * Promise: in debug builds every call on a context returns TERN_ERR_STATE, inlined puts included, while another thread
 * is in a call on the same context, and the text names both calls. Calls on arrays of requests and events check the
 * contexts of all entries. Afterwards the context works, in any thread, if the
 * threads take turns; and calls of one thread may be nested. Release builds do not check this, and under the thread
 * sanitizer the misuse is a data race.
 *
 * builds: debug asan
 * ranks: 1 2
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "misuse_test.h"

static struct misuse m = { .want = TERN_ERR_STATE, .says = "another thread of this rank is in tern_wait_until" };
static _Atomic int   waiting, stop;

/* The condition of the other thread makes a nested call. */
static bool is_stopped(void *arg)
{
    (void)arg;
    OK(tern_put_u64(m.ctx, m.region, tern_rank(), 512, 1));
    atomic_store(&waiting, 1);
    return atomic_load(&stop) != 0;
}

static void *make_progress(void *ctx)
{
    OK(tern_progress(ctx));
    OK(tern_put_u64(ctx, m.region, tern_rank(), 512, 2));
    return NULL;
}

/* Another thread may use the context now. */
static void in_another_thread(tern_ctx *ctx)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, make_progress, ctx) == 0);
    pthread_join(thread, NULL);
}

static void *wait_there(void *arg)
{
    (void)arg;
    OK(tern_wait_until(m.ctx, is_stopped, NULL, TERN_FOREVER));
    return NULL;
}

/* Arrays whose first entries belong to a context that no other thread uses. A refused call leaves that context free. */
static void arrays(tern_ctx *idle, tern_event *busy_event)
{
    tern_request     *requests[4] = { NULL, NULL, m.request, NULL };
    tern_event        events[4] = { TERN_EVENT_INIT, TERN_EVENT_INIT, *busy_event, TERN_EVENT_INIT };
    tern_counter     *counter;
    tern_request_info infos[4];
    tern_status       statuses[4];
    size_t            indices[4], index;

    OK(tern_send_create(idle, 0, 1, misuse_words, 8, &requests[1]));
    OK(tern_counter_create(idle, &counter));
    OK(tern_counter_event(counter, 7, &events[1]));
    misuse_check(&m, "tern_request_test_any", tern_request_test_any(requests, 4, &index, infos));
    misuse_check(&m, "tern_request_wait_any", tern_request_wait_any(requests, 4, TERN_FOREVER, &index, infos));
    misuse_check(&m, "tern_request_test_all", tern_request_test_all(requests, 4, infos, statuses));
    misuse_check(&m, "tern_request_wait_all", tern_request_wait_all(requests, 4, TERN_FOREVER, infos, statuses));
    misuse_check(&m, "tern_request_wait_some",
                 tern_request_wait_some(requests, 4, TERN_FOREVER, &index, indices, infos, statuses));
    misuse_check(&m, "tern_event_wait_any", tern_event_wait_any(events + 1, 2, TERN_FOREVER, &index));
    misuse_check(&m, "tern_event_wait_all", tern_event_wait_all(events, 4, TERN_FOREVER));
    misuse_check(&m, "tern_event_wait_some",
                 tern_event_wait_some(events + 1, 2, TERN_FOREVER, &index, indices, statuses));
    in_another_thread(idle);
    OK(tern_counter_add(counter, 7));
    OK(tern_event_wait_any(events + 1, 1, TERN_FOREVER, &index));
    in_another_thread(idle);
    OK(tern_request_free(&requests[1]));
    OK(tern_counter_free(counter));
}

static void ignore(const tern_am_event *event, void *user)
{
    (void)event;
    (void)user;
}

/* Messages that belong to the context: a prepared one and one that a matched probe has found; a notification request;
 * and an operation that waits for a counter. */
static struct {
    tern_am_prepared prepared;
    tern_message    *found;
    tern_request    *notifications;
    tern_event       parked;
} of_ctx;

static void create_of_ctx(void)
{
    const int me = tern_rank();

    OK(tern_am_prepare(m.ctx, me, &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8), &of_ctx.prepared));
    OK(tern_send(m.ctx, me, 3, misuse_words, 8));
    OK(tern_mprobe(m.ctx, me, 3, TERN_FOREVER, &of_ctx.found, NULL));
    OK(tern_notify_create(m.ctx, m.region, TERN_ANY_SOURCE, 3, 1, &of_ctx.notifications));
    OK(tern_put_with(m.ctx, m.region, me, 520, misuse_words, 8,
                     &TERN_OPTS(.when = m.counter, .threshold = 100, .event = &of_ctx.parked)));
}

static void misuse_of_ctx_objects(void)
{
    tern_message *found = of_ctx.found;

    misuse_check(&m, "tern_am_commit", tern_am_commit(&of_ctx.prepared, 1, NULL, 0, 8));
    misuse_check(&m, "tern_am_cancel", tern_am_cancel(&of_ctx.prepared));
    misuse_check(&m, "tern_mrecv", tern_mrecv(&found, misuse_words, 8, NULL));
    misuse_check(&m, "tern_imrecv", tern_imrecv(&found, misuse_words, 8, &misuse_out));
    misuse_check(&m, "tern_notify_probe", tern_notify_probe(of_ctx.notifications, NULL));
    misuse_check(&m, "tern_triggered_cancel", tern_triggered_cancel(&of_ctx.parked));
}

static void use_of_ctx(void)
{
    OK(tern_am_commit(&of_ctx.prepared, 1, NULL, 0, 8));
    OK(tern_mrecv(&of_ctx.found, misuse_words, 8, NULL));
    RETURNS(TERN_PENDING, tern_notify_probe(of_ctx.notifications, NULL));
    OK(tern_request_free(&of_ctx.notifications));
    OK(tern_triggered_cancel(&of_ctx.parked));
    RETURNS(TERN_ERR_CANCELLED, tern_event_wait(&of_ctx.parked, TERN_FOREVER));
}

int main(void)
{
    pthread_t  thread;
    tern_event event;
    tern_ctx  *idle;

    OK(tern_am_register(1, ignore, NULL));
    OK(tern_init());
    m.team = tern_team_world();
    OK(tern_ctx_create(m.team, TERN_RELAXED, &m.ctx));
    OK(tern_ctx_create(m.team, TERN_RELAXED, &idle));
    OK(tern_region_create(m.ctx, 4096, NULL, &m.region));
    OK(tern_atomic_domain_create(m.ctx, TERN_UINT64, (1u << TERN_ATOMIC_OPS) - 1, 0, &m.domain));
    OK(tern_mutex_create(m.ctx, 1, &m.mutexes));
    OK(tern_counter_create(m.ctx, &m.counter));
    OK(tern_send_create(m.ctx, 0, 1, misuse_words, 8, &m.request));
    OK(tern_counter_event(m.counter, 7, &event));
    create_of_ctx();
    CHECK(pthread_create(&thread, NULL, wait_there, NULL) == 0);
    while (!atomic_load(&waiting))
        sched_yield();
    misuse_of_ctx(&m);
    misuse_of_region(&m);
    misuse_of_request(&m);
    misuse_check(&m, "tern_counter_wait", tern_counter_wait(m.counter, 7, TERN_FOREVER));
    misuse_check(&m, "tern_counter_free", tern_counter_free(m.counter));
    misuse_check(&m, "tern_event_test", tern_event_test(&event));
    misuse_check(&m, "tern_event_peek", tern_event_peek(&event));
    misuse_check(&m, "tern_event_wait", tern_event_wait(&event, TERN_FOREVER));
    misuse_of_ctx_objects();
    arrays(idle, &event);
    OK(tern_counter_add(m.counter, 7)); /* any thread may call this */
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    use_of_ctx();
    OK(tern_event_wait(&event, TERN_FOREVER));
    OK(tern_put_u64(m.ctx, m.region, tern_rank(), 0, 5));
    CHECK(job_chaos() || tern_direct(m.ctx, m.region, tern_rank(), 0, 8) != NULL); /* chaos delays direct access */
    OK(tern_barrier(m.ctx));
    OK(tern_ctx_free(idle));
    OK(tern_ctx_free(m.ctx));
    OK(tern_finalize());
    return 0;
}
