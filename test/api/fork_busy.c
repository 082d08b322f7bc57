/* fork_busy.c: a process forks while another thread creates and frees objects.
 *
 * Promise: whatever another thread does during fork, the child ends, and its calls return TERN_ERR_STATE: calls with
 * objects of the forking thread, and with objects that the other thread was creating, using or freeing. Nothing is
 * written to the region. The parent continues undisturbed.
 *
 * ranks: 1 2
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "misuse_test.h"

#define FORKS 150
#define SINK 64 /* offset to which the children put in vain */

static struct misuse m = { .want = TERN_ERR_STATE, .says = "in a child that fork created" };

/* The newest objects of the other thread, which may be freed by now. */
static tern_ctx *_Atomic     newest_ctx;
static tern_counter *_Atomic newest_counter;
static tern_request *_Atomic newest_receive, *_Atomic newest_notification;
static _Atomic int  rounds;
static _Atomic bool stop;

/* One context with one object of each kind. Every other context is freed with its objects. */
static void one_round(int round)
{
    static uint64_t word;
    tern_ctx       *ctx;
    tern_counter   *counter;
    tern_request   *receive, *notification;

    OK(tern_ctx_create(m.team, TERN_RELAXED, &ctx));
    atomic_store(&newest_ctx, ctx);
    OK(tern_counter_create(ctx, &counter));
    atomic_store(&newest_counter, counter);
    OK(tern_recv_create(ctx, TERN_ANY_SOURCE, 7, &word, sizeof(word), &receive));
    atomic_store(&newest_receive, receive);
    OK(tern_notify_create(ctx, m.region, TERN_ANY_SOURCE, 7, 1, &notification));
    atomic_store(&newest_notification, notification);
    OK(tern_request_start(notification));
    if (round % 2 == 0) {
        OK(tern_request_free(&notification));
        OK(tern_request_free(&receive));
        OK(tern_counter_free(counter));
    }
    OK(tern_ctx_free(ctx));
}

static void *create_and_free(void *arg)
{
    (void)arg;
    for (int round = 0; !atomic_load(&stop); round++) {
        one_round(round);
        atomic_store(&rounds, round + 1);
    }
    return NULL;
}

static void in_child(void)
{
    tern_ctx     *ctx = atomic_load(&newest_ctx);
    tern_counter *counter = atomic_load(&newest_counter);
    tern_request *receive = atomic_load(&newest_receive), *notification = atomic_load(&newest_notification);

    misuse_check(&m, "tern_put_u64", tern_put_u64(ctx, m.region, tern_rank() < 0 ? 0 : tern_rank(), SINK, 1));
    misuse_check(&m, "tern_progress", tern_progress(ctx));
    misuse_check(&m, "tern_send", tern_send(ctx, 0, 1, misuse_words, 8));
    misuse_check(&m, "tern_counter_add", tern_counter_add(counter, 1));
    misuse_check(&m, "tern_counter_wait", tern_counter_wait(counter, 7, TERN_FOREVER));
    misuse_check(&m, "tern_request_start", tern_request_start(receive));
    misuse_check(&m, "tern_request_start", tern_request_start(notification));
    misuse_check(&m, "tern_request_wait", tern_request_wait(&notification, TERN_FOREVER, NULL));
    misuse_of_all(&m);
}

int main(void)
{
    pthread_t thread;
    pid_t     child;
    int       status;

    OK(tern_init());
    m.team = tern_team_world();
    OK(tern_ctx_create(m.team, TERN_RELAXED, &m.ctx));
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &m.region));
    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, (1u << TERN_ATOMIC_OPS) - 1, 0, &m.domain));
    OK(tern_mutex_create(TERN_WORLD, 1, &m.mutexes));
    OK(tern_counter_create(m.ctx, &m.counter));
    OK(tern_recv_create(m.ctx, TERN_ANY_SOURCE, 1, misuse_words, 8, &m.request));
    CHECK(pthread_create(&thread, NULL, create_and_free, NULL) == 0);
    while (atomic_load(&rounds) < 2)
        OK(tern_progress(TERN_WORLD));
    for (int i = 0; i < FORKS; i++) {
        if ((child = fork()) == 0) {
            in_child();
            _exit(0);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        OK(tern_put_u64(TERN_WORLD, m.region, tern_rank(), 8, (uint64_t)i));
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    SAME(*(uint64_t *)((char *)tern_region_ptr(m.region, tern_rank()) + SINK), 0);
    SAME(*(uint64_t *)((char *)tern_region_ptr(m.region, tern_rank()) + 8), FORKS - 1);
    OK(tern_request_free(&m.request));
    OK(tern_finalize());
    return 0;
}
