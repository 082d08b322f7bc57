/* fork.c: a child that fork creates while the job is running.
 *
 * Promise: in the child every call that returns a status returns TERN_ERR_STATE, with a text that says why, whatever
 * the objects: TERN_WORLD is NULL there, and calls with a context that the parent created are refused, inlined puts
 * included; nothing is written to the memory of any rank, and no message is taken from the parent's queues. The parent
 * continues undisturbed while the child runs and after it ended, whether by exit, by _exit or by a signal.
 *
 * env: TERN_CMA=off
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "misuse_test.h"

#define HANDLER 2
#define SENT 192 /* offset of the word that says that this rank's left neighbour has sent a message */

enum { ENDS_BY_EXIT, ENDS_BY_UNDERSCORE_EXIT, ENDS_BY_SIGNAL, WAYS };

static struct misuse m = { .want = TERN_ERR_STATE, .says = "in a child that fork created" };
static unsigned char memory[1 << 16];
static tern_ctx     *shared; /* a shared context */
static tern_request *idle_receive, *idle_notification;
static uint64_t      handled;

/* What the parent has prepared and found when it creates a child, with m.ctx: progress on TERN_WORLD would complete its
 * operations. */
static tern_am_prepared prepared;
static tern_message    *found;

static void never(void *arg)
{
    (void)arg;
}

static void handler(const tern_am_event *event, void *user)
{
    (void)event;
    (void)user;
    handled++;
}

/* All checks, with everything that the parent has outstanding. A failed check ends the child with a status. */
static void in_child(tern_request *started, tern_event *event, tern_event *parked)
{
    tern_ctx     *ctx = m.ctx;
    tern_message *message = found;

    CHECK(tern_world == NULL && tern_rank() == -1 && tern_size() == -1 && tern_team_world() == NULL);
    misuse_of_all(&m); /* with the objects of the parent */
    m.ctx = shared;
    misuse_of_all(&m);
    m.ctx = NULL;
    misuse_of_all(&m);
    m.ctx = ctx;
    RETURNS(TERN_ERR_STATE, tern_init());
    SAYS("tern_init: called in a child that fork created");
    RETURNS(TERN_ERR_STATE, tern_am_register(1, NULL, NULL));
    RETURNS(TERN_ERR_STATE, tern_request_start(idle_receive));
    RETURNS(TERN_ERR_STATE, tern_request_start(idle_notification));
    SAYS("tern_request_start: called in a child that fork created");
    RETURNS(TERN_ERR_STATE, tern_request_wait(&started, TERN_FOREVER, NULL));
    RETURNS(TERN_ERR_STATE, tern_request_wait(&started, TERN_NOW, NULL));
    RETURNS(TERN_ERR_STATE, tern_request_test(&started, NULL));
    SAYS("tern_request_test: called in a child that fork created");
    if (event->pending) {
        RETURNS(TERN_ERR_STATE, tern_event_test(event));
        RETURNS(TERN_ERR_STATE, tern_event_wait(event, TERN_FOREVER));
    }
    RETURNS(TERN_ERR_STATE, tern_event_wait(parked, TERN_FOREVER));
    REFUSES(TERN_ERR_STATE, tern_am_commit(&prepared, HANDLER, NULL, 0, 8));
    SAYS("called in a child that fork created");
    REFUSES(TERN_ERR_STATE, tern_am_cancel(&prepared));
    REFUSES(TERN_ERR_STATE, tern_mrecv(&message, misuse_words, 8, NULL));
    SAYS("called in a child that fork created");
    REFUSES(TERN_ERR_STATE, tern_imrecv(&message, misuse_words, 8, &misuse_out));
    REFUSES(TERN_ERR_STATE, tern_triggered_cancel(parked));
    REFUSES(TERN_ERR_STATE, tern_notify_probe(idle_notification, NULL));
    RETURNS(TERN_ERR_STATE, tern_on_idle(never, NULL));
    RETURNS(TERN_ERR_STATE, tern_on_idle_remove(never, NULL));
    CHECK(!tern_region_ptr(m.region, 0));
    CHECK(tern_team_rank(m.team) == -1 && tern_node_count() == -1 && tern_node_of(0) == -1);
}

/* The leak checker runs at exit. In a child of a process with several threads it reports memory of the other threads,
 * which the child does not have, so that the child ends by _exit where leaks are checked. */
#define CHECKS_LEAKS JOB_ASAN

/* Run the checks in a child, and return its status. While the child runs, an active message is in the queue of the
 * parent, which does not poll; but a neighbour that is early may have sent the message before the fork. */
static int run_child(int way, tern_request *started, tern_event *event, tern_event *parked)
{
    const _Atomic uint64_t *sent = (_Atomic uint64_t *)((char *)tern_region_ptr(m.region, tern_rank()) + SENT);
    int                     status = -1, right = (tern_rank() + 1) % tern_size();
    uint64_t                before = handled;
    pid_t                   child = fork();

    if (child == 0) {
        while (atomic_load(sent) != (uint64_t)way + 1)
            sched_yield();
        in_child(started, event, parked);
        SAME(handled, before); /* the child handles no message */
        fflush(NULL);
        if (way == ENDS_BY_SIGNAL)
            raise(SIGKILL);
        else if (way == ENDS_BY_EXIT && !CHECKS_LEAKS)
            exit(0);
        _exit(0);
    }
    CHECK(child > 0);
    OK(tern_am_short(TERN_WORLD, right, HANDLER, NULL, 0));
    OK(tern_put_u64(TERN_WORLD, m.region, right, SENT, (uint64_t)way + 1));
    CHECK(waitpid(child, &status, 0) == child);
    OK(tern_am_cancel(&prepared));
    OK(tern_mrecv(&found, misuse_words, 8, NULL));
    OK(job_await(&handled, (uint64_t)way + 1, TERN_FOREVER));
    return status;
}

/* Every kind of traffic to the right. */
static void traffic(tern_region *registered, uint64_t round)
{
    int           me = tern_rank(), n = tern_size(), right = (me + 1) % n;
    uint64_t      got = 0, from = 0;
    tern_request *request;

    OK(tern_put_u64(TERN_WORLD, m.region, right, 64, round));
    OK(tern_put_u64(TERN_WORLD, registered, right, 0, round));
    OK(tern_irecv(TERN_WORLD, TERN_ANY_SOURCE, 5, &from, sizeof(from), &request));
    OK(tern_send(TERN_WORLD, right, 5, &round, sizeof(round)));
    OK(tern_request_wait(&request, TERN_FOREVER, NULL));
    SAME(from, round);
    OK(tern_barrier(TERN_WORLD));
    OK(tern_get_u64(TERN_WORLD, m.region, me, 64, &got));
    SAME(got, round);
    OK(tern_get_u64(TERN_WORLD, registered, me, 0, &got));
    SAME(got, round);
    OK(tern_barrier(TERN_WORLD));
}

/* One child, while a receive, a put and a triggered operation are outstanding. */
static void round_of(int way, tern_region *registered)
{
    static unsigned char source[sizeof(memory)];
    int                  right = (tern_rank() + 1) % tern_size(), status;
    uint64_t             got = 0, word = 17;
    tern_request        *started, *notice;
    tern_event           event, parked;

    OK(tern_irecv(TERN_WORLD, TERN_ANY_SOURCE, 9, &got, sizeof(got), &started));
    OK(tern_notify_create(TERN_WORLD, m.region, TERN_ANY_SOURCE, 3, 1, &notice));
    OK(tern_request_start(notice));
    OK(tern_put_nb(TERN_WORLD, registered, right, 0, source, sizeof(source), &event));
    OK(tern_put_with(TERN_WORLD, m.region, right, 128, &word, sizeof(word),
                     &TERN_OPTS(.when = m.counter, .threshold = (uint64_t)way + 1, .event = &parked)));
    OK(tern_send(m.ctx, tern_rank(), 7, &word, sizeof(word)));
    OK(tern_mprobe(m.ctx, tern_rank(), 7, TERN_FOREVER, &found, NULL));
    OK(tern_am_prepare(m.ctx, tern_rank(), &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8), &prepared));
    OK(tern_barrier(m.ctx));
    status = run_child(way, way == ENDS_BY_EXIT ? notice : started, &event, &parked);
    CHECK(way == ENDS_BY_SIGNAL ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(tern_event_wait(&event, TERN_FOREVER));
    OK(tern_counter_add(m.counter, 1));
    OK(tern_event_wait(&parked, TERN_FOREVER));
    OK(tern_notify(TERN_WORLD, m.region, right, 3));
    OK(tern_request_wait(&notice, TERN_FOREVER, NULL));
    OK(tern_request_free(&notice));
    OK(tern_send(TERN_WORLD, right, 9, &word, sizeof(word)));
    OK(tern_request_wait(&started, TERN_FOREVER, NULL));
    SAME(got, 17);
    OK(tern_barrier(TERN_WORLD));
}

int main(void)
{
    tern_region *registered;

    OK(tern_am_register(HANDLER, handler, NULL));
    OK(tern_init());
    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &m.ctx));
    m.team = tern_team_world();
    OK(tern_ctx_create(m.team, TERN_RELAXED | TERN_SHARED, &shared));
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &m.region));
    OK(tern_region_register(TERN_WORLD, memory, sizeof(memory), &registered));
    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, (1u << TERN_ATOMIC_OPS) - 1, 0, &m.domain));
    OK(tern_mutex_create(TERN_WORLD, 1, &m.mutexes));
    OK(tern_counter_create(TERN_WORLD, &m.counter));
    OK(tern_am_client_create(TERN_WORLD, NULL, &m.client));
    OK(tern_recv_create(m.ctx, TERN_ANY_SOURCE, 1, misuse_words, 8, &m.request));
    OK(tern_recv_create(TERN_WORLD, TERN_ANY_SOURCE, 1, misuse_words, 8, &idle_receive));
    OK(tern_notify_create(TERN_WORLD, m.region, TERN_ANY_SOURCE, 4, 1, &idle_notification));
    for (int way = 0; way < WAYS; way++) {
        traffic(registered, 2 * (uint64_t)way + 1);
        round_of(way, registered);
        traffic(registered, 2 * (uint64_t)way + 2);
    }
    SAME(*(uint64_t *)tern_region_ptr(m.region, tern_rank()), 0); /* the children put 1 there, in vain */
    OK(tern_region_free(registered));
    OK(tern_finalize());
    return 0;
}
