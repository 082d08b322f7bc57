/* tagged_eager.c: the maximum length of eager messages, above which the helper thread serves a receive.
 *
 * Promise: an eager message needs no help while its receiver computes, so the helper thread serves exactly the receives
 * of longer messages. The limit is the one that really holds: a seventh of a queue may be less than TERN_MSG_EAGER.
 *
 * ranks: 1 2 3
 * hosts: off, because ranks differ there in what reaches them with its data
 * env: TERN_MSG_QUEUE=64K
 * env: TERN_MSG_EAGER=1000
 */
#include "job_test.h"

#include "op/tagged/tagged.h"

#define MOST 64 /* ranks */

static unsigned char *data;

/* Send a message of this length to every rank, while no rank receives. */
static void send_all(size_t len, tern_request **sends)
{
    for (int rank = 0; rank < tern_size(); rank++)
        OK(tern_isend(TERN_WORLD, rank, 1, data, len, &sends[rank]));
}

static void receive_all(size_t len, tern_request **sends)
{
    OK(tern_barrier(TERN_WORLD));
    for (int rank = 0; rank < tern_size(); rank++)
        OK(tern_recv(TERN_WORLD, rank, 1, data + len, len, NULL));
    OK(tern_request_wait_all(sends, (size_t)tern_size(), TERN_FOREVER, NULL, NULL));
    OK(tern_barrier(TERN_WORLD));
}

/* Returns the number of receives that the helper thread serves. */
static unsigned helped(void)
{
    return atomic_load(&TERN_WORLD->tagged->wishes);
}

static void ask(size_t size, unsigned want)
{
    tern_request *recv, *persistent;

    OK(tern_irecv(TERN_WORLD, TERN_ANY_SOURCE, 2, data, size, &recv));
    SAME(helped(), want);
    OK(tern_request_cancel(&recv, NULL));
    SAME(helped(), 0);
    OK(tern_recv_create(TERN_WORLD, 0, 2, data, size, &persistent));
    OK(tern_request_start(persistent));
    SAME(helped(), want);
    OK(tern_request_cancel(&persistent, NULL));
    SAME(helped(), 0);
    OK(tern_request_free(&persistent));
}

int main(void)
{
    tern_request *sends[MOST];
    size_t        least;
    int           waits = 0;

    OK(tern_init());
    least = (size_t)tern_op_tagged_eager_max;
    data = job_new(2 * (least + 1));
    send_all(least, sends);
    OK(tern_request_wait_all(sends, (size_t)tern_size(), tern_deadline_in(60), NULL, NULL)); /* eager */
    receive_all(least, sends);
    send_all(least + 1, sends);
    for (int i = 0; i < 100; i++)
        OK(tern_progress(TERN_WORLD));
    for (int rank = 0; rank < tern_size(); rank++)
        waits += tern_request_test(&sends[rank], NULL) == TERN_PENDING;
    CHECK(waits > 0); /* a rendezvous to at least one rank */
    receive_all(least + 1, sends);
    ask(least, 0);
    ask(least + 1, 1);
    OK(tern_finalize());
    free(data);
    return 0;
}
