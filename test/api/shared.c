/* shared.c: contexts that threads share.
 *
 * Promise: any thread may start any operation on a shared context at any time. What the threads do to memory that each
 * of them has for itself is what a simple model says, whatever they do at the same time. Quiet completes what all
 * threads have started. An event or request may be waited for by another thread than the one that started the
 * operation, and every waiting thread wakes up. Handlers may use a shared context, but must not wait. Freeing a
 * context, unlocking a mutex and atomic operations with TERN_RELEASE complete what was started on the context.
 *
 * sanitized: 2 4
 * env: TERN_CMA=off TERN_BOUNCE_CHUNK=4K TERN_BOUNCE_CHUNKS=4
 * env: TERN_SPIN=0 TERN_YIELDS=0
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "job_test.h"

#define THREADS 4
#define WORDS 64u           /* that a thread has at each rank */
#define SLICE (WORDS * 8u)  /* bytes */
#define LONG 20000u         /* bytes that each thread has in addition, for long transfers */
#define MINE (SLICE + LONG) /* bytes of a thread at each rank, for each initiator */

static tern_ctx           *ctx;
static struct job_region   r;
static pthread_barrier_t   meet;
static _Atomic uint64_t    handled, answered;
static uint64_t            steps, handled_before;
static tern_atomic_domain *domain;

/* What one thread of this rank knows of its words at one target. */
struct thread {
    pthread_t     thread;
    int           number;
    uint64_t      seed;
    uint64_t      model[8][WORDS]; /* by target */
    unsigned char data[LONG], back[LONG];
    uint64_t      sent;
};
static struct thread threads[THREADS];

/* The offset of the words that a thread of this rank has at every rank. */
static uint64_t at(const struct thread *t)
{
    return (uint64_t)(tern_rank() * THREADS + t->number) * MINE;
}

static int random_rank(struct thread *t)
{
    return (int)(job_random(&t->seed) % (uint64_t)tern_size());
}

/* Wait for an event in one of several ways. */
static void finish(struct thread *t, tern_event *event)
{
    size_t index;

    switch (job_random(&t->seed) % 4) {
    case 0: OK(tern_event_wait(event, TERN_FOREVER)); break;
    case 1: OK(tern_event_wait_any(event, 1, TERN_FOREVER, &index)); break;
    case 2: OK(tern_event_wait_all(event, 1, TERN_FOREVER)); break;
    default:
        while (event->pending && tern_event_peek(event) == TERN_PENDING)
            OK(tern_progress(ctx));
    }
}

/* ---- one step each: the operation, and the same in the model ---- */

static void put_word(struct thread *t, int to)
{
    uint64_t   k = job_random(&t->seed) % WORDS, value = job_random(&t->seed);
    tern_event event;

    if (value % 2) {
        OK(tern_put_u64(ctx, r.region, to, at(t) + 8 * k, value));
    } else {
        OK(tern_put_nb(ctx, r.region, to, at(t) + 8 * k, &value, 8, &event));
        finish(t, &event);
    }
    t->model[to][k] = value;
}

static void get_words(struct thread *t, int to)
{
    uint64_t   got[WORDS];
    tern_event event;

    OK(tern_get_nb(ctx, r.region, to, at(t), got, SLICE, &event));
    finish(t, &event);
    CHECK(memcmp(got, t->model[to], SLICE) == 0);
}

static void atomics(struct thread *t, int to)
{
    uint64_t k = job_random(&t->seed) % WORDS, add = job_random(&t->seed), old = 0;

    OK(tern_atomic_fadd(ctx, domain, r.region, to, at(t) + 8 * k, add, &old));
    SAME(old, t->model[to][k]);
    t->model[to][k] += add;
}

static void accumulate(struct thread *t, int to)
{
    tern_acc_args args = TERN_ACC_ARGS(.type = TERN_UINT64);
    uint64_t      add[4], k = job_random(&t->seed) % (WORDS - 3);
    tern_event    event;

    for (unsigned i = 0; i < 4; i++)
        t->model[to][k + i] += add[i] = job_random(&t->seed);
    OK(tern_acc_with(ctx, r.region, to, at(t) + 8 * k, add, sizeof(add), &TERN_OPTS(.acc = &args, .event = &event)));
    finish(t, &event);
}

static void strided(struct thread *t, int to)
{
    size_t       count[] = { WORDS / 2 };
    ptrdiff_t    near[] = { 8 }, far[] = { 16 };
    uint64_t     values[WORDS / 2];
    tern_strided box = TERN_STRIDED_INIT;

    for (unsigned i = 0; i < WORDS / 2; i++)
        t->model[to][2 * i] = values[i] = job_random(&t->seed);
    box.dims = 1;
    box.element = 8;
    box.count = count;
    box.local = values;
    box.local_stride = near;
    box.remote = at(t);
    box.remote_stride = far;
    OK(tern_put_strided(ctx, r.region, to, &box));
}

static void long_transfer(struct thread *t, int to)
{
    unsigned   when = (unsigned)job_random(&t->seed) % 1000;
    tern_event event, local;

    job_fill(t->data, LONG, (unsigned)t->number, when);
    OK(tern_put_with(ctx, r.region, to, at(t) + SLICE, t->data, LONG, &TERN_OPTS(.event = &event, .local = &local)));
    OK(tern_event_wait(&local, TERN_FOREVER));
    memset(t->data, 0, LONG);
    OK(tern_event_wait(&event, TERN_FOREVER));
    OK(tern_get(ctx, r.region, to, at(t) + SLICE, t->back, LONG));
    HOLDS(t->back, LONG, (unsigned)t->number, when);
}

static void quiets(struct thread *t, int to)
{
    uint64_t   values[8], k = job_random(&t->seed) % (WORDS - 8), got[8];
    tern_event all;

    for (unsigned i = 0; i < 8; i++)
        t->model[to][k + i] = values[i] = job_random(&t->seed);
    OK(tern_put_nbi(ctx, r.region, to, at(t) + 8 * k, values, sizeof(values)));
    switch (values[0] % 4) {
    case 0: OK(tern_quiet(ctx)); break;
    case 1: OK(tern_quiet_rank(ctx, to)); break;
    case 2:
        OK(tern_quiet_nb(ctx, &all));
        finish(t, &all);
        break;
    default:
        OK(tern_quiet_local(ctx));
        memset(values, 0, sizeof(values));
        OK(tern_fence(ctx));
    }
    OK(tern_get_nbi(ctx, r.region, to, at(t) + 8 * k, got, sizeof(got)));
    OK(tern_quiet(ctx));
    CHECK(memcmp(got, &t->model[to][k], sizeof(got)) == 0);
}

static void message(struct thread *t, int to)
{
    OK(tern_am_short(ctx, to, 1, (const uint32_t[]){ 1, 2 }, 2));
    OK(tern_am_medium(ctx, to, 1, NULL, 0, t->data, 100));
    t->sent += 2;
}

static void signals(struct thread *t, int to)
{
    uint64_t    k = job_random(&t->seed) % WORDS, value = job_random(&t->seed);
    tern_signal signal =
        TERN_SIGNAL(.region = r.region, .offset = at(t) + 8 * k, .value = value, .op = TERN_SIGNAL_SET);

    OK(tern_put_signal(ctx, r.region, to, at(t) + SLICE, t->data, 40, &signal));
    t->model[to][k] = value;
}

/* A message of this thread to itself, by way of the link to itself: all ranks do it at the same time. */
static void tagged(struct thread *t, int to)
{
    size_t            len = job_random(&t->seed) % 3 ? 64 : LONG;
    int               me = tern_rank();
    int64_t           tag = t->number;
    tern_request     *recv, *send;
    tern_request_info info;

    (void)to;
    job_fill(t->data, len, (unsigned)t->number, 5);
    OK(tern_irecv(ctx, me, tag, t->back, LONG, &recv));
    OK(tern_isend(ctx, me, tag, t->data, len, &send));
    OK(tern_request_wait(&recv, TERN_FOREVER, &info));
    OK(tern_request_wait(&send, TERN_FOREVER, NULL));
    SAME(info.len, len);
    HOLDS(t->back, len, (unsigned)t->number, 5);
}

static void counters(struct thread *t, int to)
{
    tern_counter *counter;
    uint64_t      value = job_random(&t->seed), k = job_random(&t->seed) % WORDS;

    if (tern_ctx_order(ctx) == TERN_STRICT)
        return;
    OK(tern_counter_create(ctx, &counter));
    OK(tern_put_with(ctx, r.region, to, at(t) + 8 * k, &value, 8,
                     &TERN_OPTS(.counter = counter, .when = counter, .threshold = 1)));
    OK(tern_counter_add(counter, 1));
    OK(tern_counter_wait(counter, 2, TERN_FOREVER));
    OK(tern_counter_free(counter));
    t->model[to][k] = value;
}

static void notifications(struct thread *t, int to)
{
    tern_request *request;
    uint32_t      tag = (uint32_t)(1000 + t->number);

    (void)to;
    OK(tern_notify_create(ctx, r.region, tern_rank(), tag, 2, &request));
    OK(tern_request_start(request));
    OK(tern_put_notify(ctx, r.region, tern_rank(), at(t) + SLICE, t->data, 8, tag));
    OK(tern_put_notify_nbi(ctx, r.region, tern_rank(), at(t) + SLICE, t->data, 8, tag));
    OK(tern_request_wait(&request, TERN_FOREVER, NULL));
    OK(tern_request_free(&request));
}

typedef void       step(struct thread *t, int to);
static step *const steps_of[] = { put_word, put_word, get_words, atomics, accumulate, strided,      long_transfer,
                                  quiets,   message,  signals,   tagged,  counters,   notifications };

static void *stream(void *arg)
{
    struct thread *t = arg;

    for (uint64_t i = 0; i < steps; i++)
        steps_of[job_random(&t->seed) % (sizeof(steps_of) / sizeof(steps_of[0]))](t, random_rank(t));
    for (int to = 0; to < tern_size(); to++)
        get_words(t, to);
    return NULL;
}

/* ---- events, requests and quiet of other threads ---- */

static tern_event    passed[THREADS];
static tern_request *passed_request[THREADS];
static uint64_t      source[THREADS], target[THREADS];

/* Each thread starts operations, and the next thread waits for them; then one thread completes those of all. */
static void *pass_on(void *arg)
{
    struct thread *t = arg;
    int            me = t->number, next = (me + 1) % THREADS, to = (tern_rank() + 1) % tern_size();

    for (uint64_t i = 1; i <= 20; i++) {
        source[me] = i * 100 + (uint64_t)me;
        OK(tern_put_nb(ctx, r.region, to, at(t), &source[me], 8, &passed[me]));
        OK(tern_irecv(ctx, tern_rank(), 50 + me, &target[me], 8, &passed_request[me]));
        pthread_barrier_wait(&meet);
        OK(tern_event_wait(&passed[next], TERN_FOREVER));
        if (me % 2)
            OK(tern_send(ctx, tern_rank(), 50 + me, &source[me], 8));
        else
            OK(tern_ssend(ctx, tern_rank(), 50 + me, &source[me], 8));
        OK(tern_request_wait(&passed_request[next], TERN_FOREVER, NULL));
        pthread_barrier_wait(&meet);
        SAME(target[me], source[me]);
        OK(tern_put_nbi(ctx, r.region, to, at(t) + 8, &source[me], 8));
        pthread_barrier_wait(&meet);
        if (me == (int)(i % THREADS))
            OK(tern_quiet(ctx));
        pthread_barrier_wait(&meet);
        for (int k = 0; k < THREADS && me == 0; k++) { /* another context sees the data of all threads */
            uint64_t got = 0;
            OK(tern_get_u64(TERN_WORLD, r.region, to, (uint64_t)(tern_rank() * THREADS + k) * MINE + 8, &got));
            SAME(got, i * 100 + (uint64_t)k);
        }
        pthread_barrier_wait(&meet);
    }
    return NULL;
}

/* ---- waits that sleep while others work ---- */

static bool is_handled(void *least)
{
    return atomic_load(&handled) >= *(uint64_t *)least;
}

/* Two threads wait for different things, and the others wake them. */
static void *wait_apart(void *arg)
{
    struct thread *t = arg;
    uint64_t       least = atomic_load(&handled) + 1;
    uint64_t       seen = 0;
    char           text[8] = { 0 };

    pthread_barrier_wait(&meet);
    if (t->number == 0)
        OK(tern_wait_until(ctx, is_handled, &least, TERN_FOREVER));
    if (t->number == 1)
        OK(tern_recv(ctx, tern_rank(), 77, text, 8, NULL));
    if (t->number == 2)
        OK(tern_signal_wait(ctx, r.region, at(t), TERN_EQ, 12345, TERN_FOREVER, &seen));
    if (t->number == 3) {
        tern_signal signal =
            TERN_SIGNAL(.region = r.region, .offset = at(&threads[2]), .value = 12345, .op = TERN_SIGNAL_SET);

        usleep(20000);
        OK(tern_put_signal(ctx, r.region, tern_rank(), 0, NULL, 0, &signal));
        usleep(5000);
        OK(tern_send(ctx, tern_rank(), 77, "1234567", 8));
        usleep(5000);
        OK(tern_am_short(ctx, tern_rank(), 1, NULL, 0));
    }
    pthread_barrier_wait(&meet);
    return NULL;
}

/* ---- handlers ---- */

static void on_message(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    atomic_fetch_add(&handled, 1);
}

/* A handler uses the shared context for memory that it reaches without help. */
static void on_question(const tern_am_event *event, void *user)
{
    static const uint64_t one = 1; /* tern_quiet completes the put */

    (void)event, (void)user;
    OK(tern_put_nbi(ctx, r.region, tern_rank(), at(&threads[0]), &one, 8));
    RETURNS(TERN_ERR_STATE, tern_probe(ctx, tern_rank(), 4711, TERN_FOREVER, NULL));
    SAYS("a handler of an active message must not wait");
    atomic_fetch_add(&answered, 1);
}

static void *ask(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++)
        OK(tern_am_short(ctx, (tern_rank() + 1) % tern_size(), 2, NULL, 0));
    while (atomic_load(&answered) < 50 * THREADS)
        OK(tern_progress(ctx));
    return NULL;
}

/* ---- */

static void run(void *(*function)(void *))
{
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i].thread, NULL, function, &threads[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i].thread, NULL);
    OK(tern_barrier(ctx));
}

/* Every message of every thread is handled once. */
static void all_handled(void)
{
    uint64_t sent = 0, all[64], total = 0, got = 0;

    for (int i = 0; i < THREADS; i++)
        sent += threads[i].sent;
    OK(tern_allgather(ctx, &sent, sizeof(sent), all));
    for (int i = 0; i < tern_size(); i++)
        total += all[i];
    while (got < total) {
        uint64_t mine = atomic_load(&handled) - handled_before;

        OK(tern_progress(ctx));
        OK(tern_allgather(ctx, &mine, sizeof(mine), all));
        got = 0;
        for (int i = 0; i < tern_size(); i++)
            got += all[i];
    }
    SAME(got, total);
}

static void misuse(void)
{
    tern_ctx *none = NULL;

    RETURNS(TERN_ERR_ARG, tern_ctx_create(tern_team_world(), (tern_order)(2 | TERN_SHARED), &none));
    REFUSES(TERN_ERR_RANGE, tern_put_nbi(ctx, r.region, tern_size(), 0, &none, 8));
    REFUSES(TERN_ERR_RANGE, tern_am_short(ctx, -1, 1, NULL, 0));
    REFUSES(TERN_ERR_RANGE, tern_send(ctx, tern_size(), 1, &none, 8));
    REFUSES(TERN_ERR_RANGE, tern_quiet_rank(ctx, tern_size()));
    RETURNS(TERN_ERR_ARG, tern_put_nbi(ctx, NULL, 0, 0, &none, 8));
}

static void time_limits(void)
{
    tern_request *request;
    char          byte;

    OK(tern_ctx_set_timeout(ctx, 0.02));
    RETURNS(TERN_ERR_TIMEOUT, tern_recv(ctx, tern_rank(), 4711, &byte, 1, NULL));
    OK(tern_irecv(ctx, tern_rank(), 4711, &byte, 1, &request));
    RETURNS(TERN_ERR_TIMEOUT, tern_request_wait(&request, tern_deadline_in(0.02), NULL));
    OK(tern_request_cancel(&request, NULL));
    OK(tern_ctx_set_timeout(ctx, 0));
}

/* What completes everything that was started on a context. */
enum completion { FREE, RELEASE, UNLOCK, COMPLETIONS };

static void complete(enum completion how, tern_region *region, tern_mutexes *mutexes)
{
    static const uint64_t one = 1;
    tern_atomic_args      add = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_ADD, .type = TERN_UINT64, .operand = &one);

    switch (how) {
    case FREE: OK(tern_ctx_free(ctx)); break;
    case RELEASE: OK(tern_atomic_with(ctx, NULL, region, 0, 16, &add, &TERN_OPTS(.flags = TERN_RELEASE))); break;
    default: OK(tern_mutex_unlock(ctx, mutexes, 0, 0));
    }
}

/* The data of a notified put may travel in the notification. The target does not call Tern, and has the data
 * nevertheless when a call has returned that completes everything. */
static void put_inline(enum completion how)
{
    int             right = (tern_rank() + 1) % tern_size();
    uint64_t        data = 77, back = 0;
    tern_region    *region;
    tern_mutexes   *mutexes;
    const uint64_t *mine;

    OK(tern_region_create(TERN_WORLD, 64, NULL, &region));
    OK(tern_mutex_create(TERN_WORLD, 1, &mutexes));
    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED | TERN_SHARED, &ctx));
    mine = tern_region_ptr(region, tern_rank());
    OK(tern_barrier(TERN_WORLD));
    if (tern_rank() == 0) {
        if (how == UNLOCK)
            OK(tern_mutex_lock(ctx, mutexes, 0, 0));
        OK(tern_put_notify_nbi(ctx, region, right, 8, &data, sizeof(data), 1));
        complete(how, region, mutexes);
        OK(tern_get_u64(TERN_WORLD, region, right, 8, &back));
        SAME(back, data);
        for (int rank = 1; rank < tern_size(); rank++)
            OK(tern_put_u64(TERN_WORLD, region, rank, 0, 1));
    } else {
        while (__atomic_load_n(mine, __ATOMIC_ACQUIRE) == 0)
            sched_yield();
    }
    OK(tern_barrier(TERN_WORLD));
    if (how != FREE || tern_rank() > 0)
        OK(tern_ctx_free(ctx));
    OK(tern_mutex_free(mutexes));
    OK(tern_region_free(region));
}

int main(void)
{
    const tern_order orders[] = { TERN_RELAXED, TERN_STRICT };

    OK(tern_init());
    OK(tern_am_register(1, on_message, NULL));
    OK(tern_am_register(2, on_question, NULL));
    pthread_barrier_init(&meet, NULL, THREADS);
    steps = JOB_SANITIZED || job_network() || tern_size() > 4 ? 60 : 300;
    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_FADD, 0, &domain));
    for (unsigned i = 0; i < 4; i++) {
        memset(threads, 0, sizeof(threads));
        for (int k = 0; k < THREADS; k++) {
            threads[k].number = k;
            threads[k].seed = job_seed(1 + i + 10 * (uint64_t)k + 100 * (uint64_t)tern_rank());
        }
        OK(tern_ctx_create(tern_team_world(), orders[i % 2] | TERN_SHARED, &ctx));
        CHECK(tern_ctx_order(ctx) == orders[i % 2] && tern_ctx_team(ctx) == tern_team_world());
        job_region_make(&r, i / 2 ? JOB_REGISTERED : JOB_HOST, (uint64_t)tern_size() * THREADS * MINE);
        atomic_store(&answered, 0);
        handled_before = atomic_load(&handled);
        OK(tern_barrier(ctx));
        misuse();
        run(stream);
        all_handled();
        run(pass_on);
        run(wait_apart);
        run(ask);
        time_limits();
        OK(tern_barrier(ctx));
        job_region_drop(&r);
        OK(tern_ctx_free(ctx));
    }
    for (unsigned how = 0; how < COMPLETIONS; how++)
        put_inline((enum completion)how);
    OK(tern_atomic_domain_free(domain));
    OK(tern_finalize());
    return 0;
}
