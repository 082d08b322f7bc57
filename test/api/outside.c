/* outside.c: every call that returns a status, before tern_init and after tern_finalize.
 *
 * Promise: each returns TERN_ERR_STATE with a text that names the call and the state, and none crashes: neither with
 * NULL, as TERN_WORLD is then, nor with the objects of the job that is over. Only tern_am_register may be called before
 * tern_init.
 *
 * ranks: 1 2
 */
#include "misuse_test.h"

int main(void)
{
    struct misuse m = { .want = TERN_ERR_STATE, .says = "call tern_init first" };

    misuse_of_all(&m);
    CHECK(m.calls > 150);
    OK(tern_am_register(1, NULL, NULL));
    OK(tern_init());
    m.ctx = TERN_WORLD;
    m.team = tern_team_world();
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &m.region));
    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_ADD | TERN_ATOMIC_PUT, 0, &m.domain));
    OK(tern_mutex_create(TERN_WORLD, 1, &m.mutexes));
    OK(tern_counter_create(TERN_WORLD, &m.counter));
    OK(tern_am_client_create(TERN_WORLD, NULL, &m.client));
    OK(tern_send_create(TERN_WORLD, 0, 1, misuse_words, 8, &m.request));
    OK(tern_finalize());
    m.says = "the job is over";
    misuse_of_all(&m); /* with the objects of the job */
    m = (struct misuse){ .want = TERN_ERR_STATE, .says = "the job is over" };
    misuse_of_all(&m); /* with NULL */
    RETURNS(TERN_ERR_STATE, tern_am_register(1, NULL, NULL));
    SAYS("tern_am_register: the job is over");
    RETURNS(TERN_ERR_STATE, tern_init());
    CHECK(tern_world == NULL && tern_rank() == -1 && tern_team_world() == NULL);
    return 0;
}
