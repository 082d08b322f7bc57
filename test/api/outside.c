/* outside.c: every call that returns a status, before tern_init and after tern_finalize.
 *
 * Promise: each returns TERN_ERR_STATE with a text that names the call and the state, and none crashes: neither with
 * NULL, as TERN_WORLD is then, nor with the objects of the job that is over. Only tern_am_register may be called before
 * tern_init.
 *
 * ranks: 1 2
 */
#include "misuse_test.h"

static void ignore(const tern_am_event *event, void *user)
{
    (void)event;
    (void)user;
}

/* A message that is prepared and one that a matched probe has found. */
static void leave_messages(tern_am_prepared *prepared, tern_message **found)
{
    OK(tern_am_prepare(TERN_WORLD, tern_rank(), &TERN_AM_PREPARE_OPTS(.kind = TERN_AM_MEDIUM, .max = 8), prepared));
    OK(tern_send(TERN_WORLD, tern_rank(), 1, misuse_words, 8));
    OK(tern_mprobe(TERN_WORLD, tern_rank(), 1, TERN_FOREVER, found, NULL));
}

static void use_messages(tern_am_prepared *prepared, tern_message *found)
{
    REFUSES(TERN_ERR_STATE, tern_am_commit(prepared, 1, NULL, 0, 8));
    SAYS("the job is over");
    REFUSES(TERN_ERR_STATE, tern_am_cancel(prepared));
    SAYS("the job is over");
    REFUSES(TERN_ERR_STATE, tern_mrecv(&found, misuse_words, 8, NULL));
    SAYS("the job is over");
    REFUSES(TERN_ERR_STATE, tern_imrecv(&found, misuse_words, 8, &misuse_out));
    SAYS("the job is over");
}

int main(void)
{
    struct misuse    m = { .want = TERN_ERR_STATE, .says = "call tern_init first" };
    tern_team       *made;
    tern_ctx        *shared;
    tern_am_prepared prepared;
    tern_message    *found;

    misuse_of_all(&m);
    CHECK(m.calls > 150);
    OK(tern_am_register(1, ignore, NULL));
    OK(tern_init());
    m.ctx = TERN_WORLD;
    m.team = tern_team_world();
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &m.region));
    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_ADD | TERN_ATOMIC_PUT, 0, &m.domain));
    OK(tern_mutex_create(TERN_WORLD, 1, &m.mutexes));
    OK(tern_counter_create(TERN_WORLD, &m.counter));
    OK(tern_am_client_create(TERN_WORLD, NULL, &m.client));
    OK(tern_send_create(TERN_WORLD, 0, 1, misuse_words, 8, &m.request));
    OK(tern_team_dup(TERN_WORLD, &made));
    OK(tern_ctx_create(made, TERN_RELAXED | TERN_SHARED, &shared));
    leave_messages(&prepared, &found);
    OK(tern_finalize());
    m.says = "the job is over";
    misuse_of_all(&m); /* with the objects of the job */
    CHECK(tern_team_rank(m.team) == -1 && tern_team_size(m.team) == -1);
    m.team = made;
    misuse_of_all(&m);
    m.ctx = shared;
    misuse_of_all(&m);
    CHECK(tern_team_rank(made) == -1 && tern_team_size(made) == -1);
    use_messages(&prepared, found);
    m = (struct misuse){ .want = TERN_ERR_STATE, .says = "the job is over" };
    misuse_of_all(&m); /* with NULL */
    RETURNS(TERN_ERR_STATE, tern_am_register(1, ignore, NULL));
    SAYS("tern_am_register: the job is over");
    RETURNS(TERN_ERR_STATE, tern_init());
    CHECK(tern_world == NULL && tern_rank() == -1 && tern_team_world() == NULL);
    return 0;
}
