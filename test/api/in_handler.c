/* in_handler.c: calls that a handler of an active message and an idle hook must not make.
 *
 * Promise: in a handler of an active message and in an idle hook, every collective call, every call that would have to
 * wait and every call that sends a request returns TERN_ERR_STATE and changes nothing. The text begins with the name of
 * the call, and says that a handler or a hook made it.
 *
 * ranks: 1 2
 */
#include "misuse_test.h"

#define RUN 1u
#define TAG 9

static struct misuse      m = { .want = TERN_ERR_STATE };
static tern_event         pending;
static tern_request      *receive;
static tern_team         *team; /* one that may be freed */
static uint64_t           runs;
static const tern_region *out_of_reach; /* stays NULL: no call creates a region */

/* Calls that tern/am.h forbids to handlers. */
#define COLLECTIVE(X)                                                                         \
    X(tern_init, ())                                                                          \
    X(tern_finalize, ())                                                                      \
    X(tern_barrier, (m.ctx))                                                                  \
    X(tern_allgather, (m.ctx, &misuse_word, 8, misuse_words))                                 \
    MISUSE_COLLS(X, m.ctx)                                                                    \
    X(tern_region_create, (m.ctx, 64, NULL, (tern_region **)&out_of_reach))                   \
    X(tern_region_register, (m.ctx, misuse_words, 64, (tern_region **)&out_of_reach))         \
    X(tern_region_adopt, (m.ctx, misuse_words, 64, (tern_region **)&out_of_reach))            \
    X(tern_region_open, (m.ctx, (tern_region **)&out_of_reach))                               \
    X(tern_region_grow, (m.region, 8192))                                                     \
    X(tern_region_free, (m.region))                                                           \
    X(tern_team_create, (m.team, &(int){ tern_rank() }, 1, 0, &(tern_team *){ NULL }))        \
    X(tern_team_strided, (m.team, tern_rank(), 1, 1, 0, &(tern_team *){ NULL }))              \
    X(tern_team_split, (m.ctx, 0, 0, &(tern_team *){ NULL }))                                 \
    X(tern_team_dup, (m.ctx, &(tern_team *){ NULL }))                                         \
    X(tern_team_survivors, (m.ctx, &(tern_team *){ NULL }))                                   \
    X(tern_team_free, (team))                                                                 \
    X(tern_atomic_domain_create, (m.ctx, TERN_UINT64, 1, 0, &(tern_atomic_domain *){ NULL })) \
    X(tern_mutex_create, (m.ctx, 1, &(tern_mutexes *){ NULL }))                               \
    X(tern_mutex_free, (m.mutexes))                                                           \
    X(tern_am_client_create, (m.ctx, NULL, &(tern_am_client *){ NULL }))                      \
    X(tern_am_client_free, (m.client))

#define WAITING(X)                                                                                    \
    X(tern_wait_until, (m.ctx, misuse_never, NULL, TERN_FOREVER))                                     \
    X(tern_word_wait, (m.ctx, MISUSE_WORD, TERN_FOREVER))                                             \
    X(tern_word_wait_any, (m.ctx, MISUSE_WORD, 1, TERN_FOREVER, &misuse_index))                       \
    X(tern_word_wait_all, (m.ctx, MISUSE_WORD, 1, TERN_FOREVER))                                      \
    X(tern_word_wait_some, (m.ctx, MISUSE_WORD, 1, TERN_FOREVER, &misuse_index, misuse_indices))      \
    X(tern_idle_step, (m.ctx, &TERN_IDLE(.name = "nothing")))                                         \
    X(tern_progress_wait, (m.ctx, TERN_FOREVER))                                                      \
    X(tern_recv, (m.ctx, TERN_ANY_SOURCE, 1, misuse_words, 8, NULL))                                  \
    X(tern_ssend, (m.ctx, tern_rank(), 1, misuse_words, 8))                                           \
    X(tern_probe, (m.ctx, TERN_ANY_SOURCE, 1, TERN_FOREVER, NULL))                                    \
    X(tern_mprobe, (m.ctx, TERN_ANY_SOURCE, 1, TERN_FOREVER, &misuse_message, NULL))                  \
    X(tern_request_wait, (&receive, TERN_FOREVER, NULL))                                              \
    X(tern_request_wait_any, (&receive, 1, TERN_FOREVER, &misuse_index, NULL))                        \
    X(tern_request_wait_all, (&receive, 1, TERN_FOREVER, NULL, NULL))                                 \
    X(tern_request_wait_some, (&receive, 1, TERN_FOREVER, &misuse_index, misuse_indices, NULL, NULL)) \
    X(tern_event_wait, (&pending, TERN_FOREVER))                                                      \
    X(tern_event_wait_any, (&pending, 1, TERN_FOREVER, &misuse_index))                                \
    X(tern_event_wait_all, (&pending, 1, TERN_FOREVER))                                               \
    X(tern_event_wait_some, (&pending, 1, TERN_FOREVER, &misuse_index, misuse_indices, NULL))         \
    X(tern_counter_wait, (m.counter, 7, TERN_FOREVER))                                                \
    X(tern_signal_wait, (m.ctx, m.region, 0, TERN_EQ, 1, TERN_FOREVER, NULL))                         \
    X(tern_signal_wait_u32, (m.ctx, m.region, 0, TERN_EQ, 1, TERN_FOREVER, NULL))

#define SENDING(X)                                                                                                    \
    X(tern_am_request, (m.ctx, 0, &TERN_AM(.kind = TERN_AM_SHORT, .handler = RUN)))                                   \
    X(tern_am_request_with, (m.ctx, 0, &TERN_AM(.kind = TERN_AM_SHORT, .handler = RUN), NULL))                        \
    X(tern_am_short, (m.ctx, 0, RUN, NULL, 0))                                                                        \
    X(tern_am_medium, (m.ctx, 0, RUN, NULL, 0, misuse_words, 8))                                                      \
    X(tern_am_prepare, (m.ctx, 0, &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8), &(tern_am_prepared){ 0 })) \
    X(tern_am_client_request, (m.client, m.ctx, 0, &TERN_AM(.kind = TERN_AM_SHORT, .handler = RUN)))                  \
    X(tern_am_client_request_with, (m.client, m.ctx, 0, &TERN_AM(.kind = TERN_AM_SHORT, .handler = RUN), NULL))       \
    X(tern_am_client_short, (m.client, m.ctx, 0, RUN, NULL, 0))                                                       \
    X(tern_am_client_prepare,                                                                                         \
      (m.client, m.ctx, 0, &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8), &(tern_am_prepared){ 0 }))

#define REFUSED(name, arguments) misuse_check(&m, #name, name arguments);

static void make_all(const char *caller)
{
    m.says = caller;
    COLLECTIVE(REFUSED)
    WAITING(REFUSED)
    SENDING(REFUSED)
    CHECK(!out_of_reach && receive && pending.pending);
    runs++;
}

static void on_run(const tern_am_event *event, void *user)
{
    (void)event;
    (void)user;
    make_all("a handler");
}

static void hook(void *arg)
{
    (void)arg;
    if (runs == 1)
        make_all("an idle hook");
}

static bool both_ran(void *arg)
{
    (void)arg;
    return runs == 2;
}

static void create(tern_order order)
{
    m.team = tern_team_world();
    OK(tern_ctx_create(m.team, order, &m.ctx));
    OK(tern_region_create(m.ctx, 4096, &TERN_REGION_OPTS(.reserve = 8192), &m.region));
    OK(tern_mutex_create(m.ctx, 1, &m.mutexes));
    OK(tern_counter_create(m.ctx, &m.counter));
    OK(tern_counter_event(m.counter, 7, &pending));
    OK(tern_am_client_create(m.ctx, NULL, &m.client));
    OK(tern_am_client_register(m.client, RUN, on_run, NULL));
    OK(tern_team_dup(m.ctx, &team));
    OK(tern_irecv(m.ctx, TERN_ANY_SOURCE, TAG, misuse_words, 8, &receive));
    OK(tern_barrier(m.ctx));
}

static void free_all(void)
{
    OK(tern_request_cancel(&receive, NULL)); /* all objects are as before */
    OK(tern_counter_add(m.counter, 7));
    OK(tern_event_wait(&pending, TERN_FOREVER));
    OK(tern_team_free(team));
    OK(tern_am_client_free(m.client));
    OK(tern_mutex_free(m.mutexes));
    OK(tern_region_free(m.region));
    OK(tern_ctx_free(m.ctx));
}

/* Make all calls with a context, in a handler and in a hook. */
static void with_context(tern_order order)
{
    create(order);
    runs = 0;
    m.calls = 0;
    OK(tern_am_short(m.ctx, tern_rank(), RUN, NULL, 0));
    OK(job_await(&runs, 1, TERN_FOREVER));
    OK(tern_on_idle(hook, NULL));
    OK(tern_wait_until(m.ctx, both_ran, NULL, TERN_FOREVER));
    OK(tern_on_idle_remove(hook, NULL));
    SAME(m.calls, 2 * (54 + 23 + 9));
    OK(tern_barrier(m.ctx));
    free_all();
}

int main(void)
{
    OK(tern_am_register(RUN, on_run, NULL));
    OK(tern_init());
    with_context(TERN_RELAXED);
    with_context(TERN_RELAXED | TERN_SHARED);
    OK(tern_finalize());
    return 0;
}
