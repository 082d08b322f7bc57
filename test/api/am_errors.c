/* am_errors.c: the errors of active messages.
 *
 * Promise: every misuse that tern/am.h names returns the documented error with a reason, and sends nothing; a call that
 * a handler must not make returns TERN_ERR_STATE and changes nothing; a call that it may make works.
 *
 * env: TERN_CMA=off
 */
#include "job_test.h"

#include <pthread.h>

#define NEVER 5u /* a handler that must not run */
#define ASK 6u   /* its handler calls may() and replies */
#define ANSWER 7u
#define UNKNOWN 8u
#define IGNORE 250u

static unsigned          asked, inside;
static uint64_t          answers;
static tern_am_token    *kept;
static struct job_region shared, own;
static uint32_t          args[20];

static void never(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    job_fail(__FILE__, __LINE__, "a message that was refused", "was handled");
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

static void *reply_elsewhere(void *token)
{
    RETURNS(TERN_ERR_STATE, tern_am_reply(token, &TERN_AM(.handler = ANSWER)));
    return NULL;
}

static void must_not(void)
{
    tern_am_prepared     out;
    tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .min = 8, .max = 8);
    tern_region         *none = NULL;
    uint64_t             word = 1, all[64];

    RETURNS(TERN_ERR_STATE, tern_am_short(TERN_WORLD, 0, NEVER, NULL, 0));
    RETURNS(TERN_ERR_STATE, tern_am_medium(TERN_WORLD, 0, NEVER, NULL, 0, &word, sizeof(word)));
    RETURNS(TERN_ERR_STATE, tern_am_request(TERN_WORLD, 0, &TERN_AM(.handler = NEVER, .flags = TERN_IMMEDIATE)));
    RETURNS(TERN_ERR_STATE, tern_am_prepare(TERN_WORLD, 0, &opts, &out));
    RETURNS(TERN_ERR_STATE, tern_barrier(TERN_WORLD));
    RETURNS(TERN_ERR_STATE, tern_allgather(TERN_WORLD, &word, sizeof(word), all));
    RETURNS(TERN_ERR_STATE, tern_region_create(TERN_WORLD, 4096, NULL, &none));
    RETURNS(TERN_ERR_STATE, tern_region_register(TERN_WORLD, &word, sizeof(word), &none));
    RETURNS(TERN_ERR_STATE, tern_wait_until(TERN_WORLD, always, NULL, TERN_FOREVER));
    RETURNS(TERN_ERR_STATE, tern_finalize());
    CHECK(none == NULL);
}

static void may(const tern_am_event *event)
{
    uint64_t word = 77, back = 0;
    int      n = tern_size(), other = (tern_rank() + 1) % n;
    uint64_t at = (uint64_t)(tern_rank() * n + event->source) * 8;

    OK(tern_put(TERN_WORLD, shared.region, other, at, &word, 8));
    OK(tern_get(TERN_WORLD, shared.region, other, at, &back, 8));
    SAME(back, 77);
    OK(tern_put_u64(TERN_WORLD, shared.region, other, at, 78));
    CHECK(tern_clock() > 0 && tern_region_ptr(shared.region, tern_rank()) == shared.mine);
    if (strcmp(tern_region_path(own.region, event->source), "bounce") == 0) {
        RETURNS(TERN_ERR_STATE, tern_put(TERN_WORLD, own.region, event->source, 0, &word, 8));
        RETURNS(TERN_ERR_STATE, tern_get(TERN_WORLD, own.region, event->source, 0, &word, 8));
    }
}

static void on_ask(const tern_am_event *event, void *user)
{
    pthread_t thread;

    (void)user;
    asked++;
    SAME(++inside, 1);
    must_not();
    may(event);
    OK(tern_progress(TERN_WORLD)); /* runs no handler here */
    SAME(inside, 1);
    kept = event->token;
    RETURNS(TERN_ERR_STATE, tern_am_reply(NULL, &TERN_AM(.handler = ANSWER)));
    RETURNS(TERN_ERR_ARG, tern_am_reply(event->token, NULL));
    RETURNS(TERN_ERR_ARG, tern_am_reply(event->token, &TERN_AM(.handler = UNKNOWN)));
    RETURNS(TERN_ERR_ARG, tern_am_reply(event->token, &TERN_AM(.handler = ANSWER, .nargs = 17, .args = args)));
    RETURNS(TERN_ERR_ARG, tern_am_prepare_reply(event->token, NULL, NULL));
    CHECK(pthread_create(&thread, NULL, reply_elsewhere, event->token) == 0 && pthread_join(thread, NULL) == 0);
    OK(tern_am_reply(event->token, &TERN_AM(.handler = ANSWER))); /* after all errors, still the one reply */
    RETURNS(TERN_ERR_STATE, tern_am_reply(event->token, &TERN_AM(.handler = ANSWER)));
    RETURNS(TERN_ERR_STATE, tern_am_prepare_reply(event->token, &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM),
                                                  &(tern_am_prepared){ .len = 0 }));
    inside--;
}

static void on_answer(const tern_am_event *event, void *user)
{
    (void)user;
    answers++;
    CHECK(++inside == 1 || (job_chaos() && inside == 2)); /* in a request handler that waits to reply */
    must_not();
    may(event);
    OK(tern_progress(TERN_WORLD)); /* in particular not this handler for the same message again */
    RETURNS(TERN_ERR_STATE, tern_am_reply(event->token, &TERN_AM(.handler = ANSWER)));
    inside--;
}

static void registration(void)
{
    RETURNS(TERN_ERR_RANGE, tern_am_register(TERN_AM_HANDLERS, never, NULL));
    SAYS("256");
    RETURNS(TERN_ERR_RANGE, tern_am_register(UINT32_MAX, never, NULL));
    OK(tern_am_register(UNKNOWN, never, NULL));
    OK(tern_am_register(UNKNOWN, NULL, NULL));
    OK(tern_am_register(TERN_AM_HANDLERS - 1, never, NULL));
    OK(tern_am_register(0, never, NULL));
}

static void handlers_and_arguments(int to)
{
    for (uint32_t id = 9; id < 80000; id += id < 300 ? 1 : 997)
        if (id != TERN_AM_HANDLERS - 1 && id != IGNORE) {
            RETURNS(TERN_ERR_ARG, tern_am_short(TERN_WORLD, to, id, NULL, 0));
            RETURNS(TERN_ERR_ARG, tern_am_medium(TERN_WORLD, to, id, NULL, 0, NULL, 0));
        }
    RETURNS(TERN_ERR_ARG, tern_am_short(TERN_WORLD, to, 65536 + NEVER, NULL, 0));
    RETURNS(TERN_ERR_ARG, tern_am_short(TERN_WORLD, to, UNKNOWN, NULL, 0));
    SAYS("8");
    RETURNS(TERN_ERR_ARG, tern_am_request(TERN_WORLD, to, &TERN_AM(.handler = UNKNOWN)));
    RETURNS(TERN_ERR_ARG, tern_am_short(TERN_WORLD, to, NEVER, args, 17));
    SAYS("17");
    RETURNS(TERN_ERR_ARG, tern_am_short(TERN_WORLD, to, NEVER, args, 65536));
    RETURNS(TERN_ERR_ARG, tern_am_medium(TERN_WORLD, to, NEVER, args, 65537, args, 4));
    RETURNS(TERN_ERR_ARG, tern_am_short(TERN_WORLD, to, NEVER, NULL, 1));
    RETURNS(TERN_ERR_ARG, tern_am_short(NULL, to, NEVER, NULL, 0));
    RETURNS(TERN_ERR_ARG, tern_am_request(TERN_WORLD, to, NULL));
    RETURNS(TERN_ERR_RANGE, tern_am_short(TERN_WORLD, -1, NEVER, NULL, 0));
    RETURNS(TERN_ERR_RANGE, tern_am_short(TERN_WORLD, tern_size(), NEVER, NULL, 0));
    RETURNS(TERN_ERR_RANGE, tern_am_short(TERN_WORLD, INT_MAX, NEVER, NULL, 0));
    RETURNS(TERN_ERR_RANGE, tern_am_short(TERN_WORLD, INT_MIN, NEVER, NULL, 0));
}

static void payloads(int to)
{
    uint64_t size = tern_region_size(shared.region, to);
    tern_am  bad[] = {
         { .flags = 1u << 31 },
         { .flags = ~0u },
         { .kind = TERN_AM_SHORT, .payload = args, .len = 4 },
         { .kind = TERN_AM_SHORT, .region = shared.region },
         { .kind = TERN_AM_MEDIUM, .len = 1 },
         { .kind = TERN_AM_MEDIUM, .payload = args, .len = 4, .region = shared.region },
         { .kind = TERN_AM_LONG, .payload = args, .len = 4 },
         { .kind = TERN_AM_LONG, .len = 4, .region = shared.region },
         { .kind = (tern_am_kind)3 },
         { .kind = (tern_am_kind)-1 },
         { .kind = (tern_am_kind)256, .payload = args, .len = 4 },
    };
    tern_am far[] = {
        { .kind = TERN_AM_MEDIUM, .len = tern_am_max_medium(TERN_WORLD, to, 0) + 1 },
        { .kind = TERN_AM_MEDIUM, .len = SIZE_MAX },
        { .kind = TERN_AM_MEDIUM, .len = 1ull << 32 },
        { .kind = TERN_AM_LONG, .region = shared.region, .len = size + 1 },
        { .kind = TERN_AM_LONG, .region = shared.region, .offset = size, .len = 1 },
        { .kind = TERN_AM_LONG, .region = shared.region, .offset = size + 1 },
        { .kind = TERN_AM_LONG, .region = shared.region, .offset = UINT64_MAX, .len = 2 },
        { .kind = TERN_AM_LONG, .region = shared.region, .offset = 8, .len = SIZE_MAX },
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bad[i].size = sizeof(bad[i]);
        bad[i].handler = NEVER;
        RETURNS(TERN_ERR_ARG, tern_am_request(TERN_WORLD, to, &bad[i]));
        SAYS("tern_am_request");
    }
    for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
        far[i].size = sizeof(far[i]);
        far[i].handler = NEVER;
        far[i].payload = args;
        RETURNS(TERN_ERR_RANGE, tern_am_request(TERN_WORLD, to, &far[i]));
    }
}

static void prepare_options(int to)
{
    uint64_t             size = tern_region_size(shared.region, to);
    size_t               most = tern_am_max_medium(TERN_WORLD, to, 0);
    tern_am_prepare_opts bad[] = {
        TERN_AM_PREPARE_OPTS(.kind = TERN_AM_SHORT),
        TERN_AM_PREPARE_OPTS(.kind = (tern_am_kind)7),
        TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .nargs = 17),
        TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .flags = 1u << 30),
        TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .min = 2, .max = 1),
        TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8, .region = shared.region),
        TERN_AM_PREPARE_OPTS(.kind = TERN_AM_LONG, .max = 8),
        TERN_AM_PREPARE_OPTS(.kind = TERN_AM_LONG, .min = 9, .max = 8, .region = shared.region),
    };
    tern_am_prepare_opts far[] = {
        TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .min = most + 1, .max = SIZE_MAX),
        TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .min = SIZE_MAX, .max = SIZE_MAX),
        TERN_AM_PREPARE_OPTS(.kind = TERN_AM_LONG, .region = shared.region, .max = size + 1),
        TERN_AM_PREPARE_OPTS(.kind = TERN_AM_LONG, .region = shared.region, .max = SIZE_MAX),
        TERN_AM_PREPARE_OPTS(.kind = TERN_AM_LONG, .region = shared.region, .offset = UINT64_MAX, .min = 1, .max = 1),
    };
    tern_am_prepared out;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        RETURNS(TERN_ERR_ARG, tern_am_prepare(TERN_WORLD, to, &bad[i], &out));
    for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++)
        RETURNS(TERN_ERR_RANGE, tern_am_prepare(TERN_WORLD, to, &far[i], &out));
    bad[0] = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8);
    RETURNS(TERN_ERR_ARG, tern_am_prepare(TERN_WORLD, to, NULL, &out));
    RETURNS(TERN_ERR_ARG, tern_am_prepare(TERN_WORLD, to, &bad[0], NULL));
    RETURNS(TERN_ERR_ARG, tern_am_prepare(NULL, to, &bad[0], &out));
    RETURNS(TERN_ERR_RANGE, tern_am_prepare(TERN_WORLD, tern_size(), &bad[0], &out));
    RETURNS(TERN_ERR_RANGE, tern_am_prepare(TERN_WORLD, -1, &bad[0], &out));
}

static void commits(int to)
{
    tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .nargs = 2, .min = 100, .max = 200);
    tern_am_prepared     out = { .len = 0 };

    RETURNS(TERN_ERR_STATE, tern_am_commit(&out, NEVER, NULL, 0, 0)); /* never prepared */
    RETURNS(TERN_ERR_STATE, tern_am_cancel(&out));
    RETURNS(TERN_ERR_ARG, tern_am_commit(NULL, NEVER, NULL, 0, 0));
    RETURNS(TERN_ERR_ARG, tern_am_cancel(NULL));
    OK(tern_am_prepare(TERN_WORLD, to, &opts, &out));
    RETURNS(TERN_ERR_RANGE, tern_am_commit(&out, NEVER, args, 2, out.len + 1));
    RETURNS(TERN_ERR_RANGE, tern_am_commit(&out, NEVER, args, 2, SIZE_MAX));
    RETURNS(TERN_ERR_ARG, tern_am_commit(&out, NEVER, args, 3, 0));
    RETURNS(TERN_ERR_ARG, tern_am_commit(&out, NEVER, args, UINT32_MAX, 0));
    RETURNS(TERN_ERR_ARG, tern_am_commit(&out, NEVER, NULL, 1, 0));
    RETURNS(TERN_ERR_ARG, tern_am_commit(&out, UNKNOWN, args, 1, 0));
    RETURNS(TERN_ERR_ARG, tern_am_commit(&out, 65536 + NEVER, args, 1, 0));
    OK(tern_am_cancel(&out)); /* still prepared after all these errors */
    RETURNS(TERN_ERR_STATE, tern_am_cancel(&out));
    RETURNS(TERN_ERR_STATE, tern_am_commit(&out, NEVER, args, 1, 0));
}

static uint64_t ignored;

static void ignore(const tern_am_event *event, void *user)
{
    (void)event, (void)user;
    ignored++;
}

/* Make a call until the queue is full and the time limit passes. */
#define UNTIL_FULL(call)                      \
    do {                                      \
        while ((st = (call)) == TERN_OK)      \
            sent++;                           \
        RETURNS(TERN_ERR_TIMEOUT, st);        \
        job_named(__FILE__, __LINE__, #call); \
    } while (0)

/* A queue that is full, because its first message is prepared and never committed: each call names itself when its time
 * limit passes. */
static void full_queue(void)
{
    tern_am_prepare_opts opts = TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .min = 64, .max = 64);
    tern_am              message = TERN_AM(.kind = TERN_AM_MEDIUM, .handler = IGNORE, .payload = args, .len = 64);
    tern_am_prepared     first, out;
    tern_ctx            *ctx;
    int                  me = tern_rank();
    uint64_t             sent = 0;
    tern_status          st;

    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    OK(tern_am_prepare(ctx, me, &opts, &first));
    OK(tern_ctx_set_timeout(ctx, 0.001));
    UNTIL_FULL(tern_am_medium(ctx, me, IGNORE, NULL, 0, args, 64));
    SAYS("space in the queue of rank");
    UNTIL_FULL(tern_am_request(ctx, me, &message));
    UNTIL_FULL(tern_am_request_with(ctx, me, &message, &TERN_OPTS_INIT));
    UNTIL_FULL(tern_am_short(ctx, me, IGNORE, NULL, 0));
    while ((st = tern_am_prepare(ctx, me, &opts, &out)) == TERN_OK) {
        OK(tern_am_commit(&out, IGNORE, NULL, 0, 64));
        sent++;
    }
    RETURNS(TERN_ERR_TIMEOUT, st);
    SAYS(" s: tern_am_prepare ");
    OK(tern_am_cancel(&first));
    OK(job_await(&ignored, sent, TERN_FOREVER));
    OK(tern_ctx_free(ctx));
}

static void queries(int to)
{
    for (unsigned n = 0; n <= 16; n++) {
        CHECK(tern_am_max_medium(TERN_WORLD, to, n) >= 512 && tern_am_max_long(TERN_WORLD, to, n) >= 1ull << 40);
        CHECK(n == 0 || tern_am_max_medium(TERN_WORLD, to, n) <= tern_am_max_medium(TERN_WORLD, to, n - 1));
    }
    SAME(tern_am_max_medium(NULL, to, 0), 0);
    SAME(tern_am_max_medium(TERN_WORLD, -1, 0), 0);
    SAME(tern_am_max_medium(TERN_WORLD, tern_size(), 0), 0);
    SAME(tern_am_max_medium(TERN_WORLD, to, 17), 0);
    SAME(tern_am_max_long(NULL, to, 0), 0);
    SAME(tern_am_max_long(TERN_WORLD, -1, 0), 0);
    SAME(tern_am_max_long(TERN_WORLD, to, 17), 0);
    RETURNS(TERN_ERR_ARG, tern_wait_until(NULL, always, NULL, TERN_FOREVER));
    RETURNS(TERN_ERR_ARG, tern_wait_until(TERN_WORLD, NULL, NULL, TERN_FOREVER));
}

int main(void)
{
    unsigned n, rounds = 20, want;

    OK(tern_am_register(NEVER, never, NULL));
    OK(tern_am_register(ASK, on_ask, NULL));
    OK(tern_am_register(ANSWER, on_answer, NULL));
    OK(tern_am_register(IGNORE, ignore, NULL));
    RETURNS(TERN_ERR_STATE, tern_am_short(TERN_WORLD, 0, NEVER, NULL, 0)); /* not yet in a job */
    registration();
    OK(tern_init());
    n = (unsigned)tern_size();
    job_region_make(&shared, JOB_HOST, 64 * 64 * 8);
    job_region_make(&own, JOB_REGISTERED, 4096);
    RETURNS(TERN_ERR_STATE, tern_am_reply(NULL, &TERN_AM(.handler = ANSWER)));
    for (int to = 0; to < tern_size(); to++) {
        handlers_and_arguments(to);
        payloads(to);
        prepare_options(to);
        commits(to);
        queries(to);
    }
    full_queue();
    for (unsigned i = 1; i <= rounds; i++) {
        for (int to = 0; to < tern_size(); to++)
            OK(tern_am_short(TERN_WORLD, to, ASK, NULL, 0));
        want = i * n;
        OK(job_await(&answers, want, tern_deadline_in(60)));
    }
    OK(tern_barrier(TERN_WORLD));
    SAME(answers, rounds * n);
    SAME(asked, rounds * n);
    RETURNS(TERN_ERR_STATE, tern_am_reply(kept, &TERN_AM(.handler = ANSWER))); /* that request is complete */
    job_region_drop(&shared);
    job_region_drop(&own);
    OK(tern_finalize());
    RETURNS(TERN_ERR_STATE, tern_am_short(TERN_WORLD, 0, NEVER, NULL, 0));
    return 0;
}
