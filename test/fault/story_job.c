/* story_job.c: uses every kind of connection once, so that story.sh sees what Tern says about it. */
#include "job_test.h"

int main(void)
{
    static unsigned char memory[4096];
    tern_region         *made, *own;
    uint64_t             word = 1, got = 0;
    tern_request        *request;
    tern_atomic_domain  *domain;
    tern_am_client      *client;
    tern_team           *team;
    int                  right;

    OK(tern_init());
    right = (tern_rank() + 1) % tern_size();
    OK(tern_region_create(TERN_WORLD, 4096, NULL, &made));
    OK(tern_region_register(TERN_WORLD, memory, sizeof(memory), &own));
    OK(tern_put_u64(TERN_WORLD, made, right, 0, word));
    OK(tern_put_u64(TERN_WORLD, own, right, 0, word));
    OK(tern_irecv(TERN_WORLD, TERN_ANY_SOURCE, 1, &got, sizeof(got), &request));
    OK(tern_send(TERN_WORLD, right, 1, &word, sizeof(word)));
    OK(tern_request_wait(&request, TERN_FOREVER, NULL));
    OK(tern_atomic_domain_create(TERN_WORLD, TERN_UINT64, TERN_ATOMIC_ADD, 0, &domain));
    OK(tern_am_client_create(TERN_WORLD, &TERN_AM_CLIENT_OPTS(.name = "story"), &client));
    OK(tern_team_dup(TERN_WORLD, &team));
    OK(tern_barrier(TERN_WORLD));
    OK(tern_team_free(team));
    OK(tern_am_client_free(client));
    OK(tern_atomic_domain_free(domain));
    OK(tern_region_free(own));
    OK(tern_region_free(made));
    OK(tern_finalize());
    return 0;
}
