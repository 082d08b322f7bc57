/* threads.c: two threads of a process that use different windows at the same time. */
#include <pthread.h>

#include "check.h"

#define ROUNDS 20000
#define WINDOWS 2

/* Promise: a request belongs to one access until it is complete, although threads make and complete requests of
 * different windows at the same time. */
static void *put_and_wait(void *arg)
{
    struct window *w = arg;
    int            to = (w->me + 1) % w->n;

    for (int i = 1; i <= ROUNDS; i++) {
        foMPI_Request request[2] = { foMPI_REQUEST_NULL, foMPI_REQUEST_NULL };

        for (int k = 0; k < 2; k++)
            OK(foMPI_Rput(&i, 1, MPI_INT, to, w->at[to] + k * (int)sizeof i, 1, MPI_INT, w->win, &request[k]));
        MUST(request[0] != request[1]);
        for (int k = 0; k < 2; k++) {
            OK(foMPI_Wait(&request[k], MPI_STATUS_IGNORE));
            MUST(request[k] == foMPI_REQUEST_NULL);
        }
    }
    return NULL;
}

void use_threads(void)
{
    struct window w[WINDOWS];
    pthread_t     thread[WINDOWS];

    for (int i = 0; i < WINDOWS; i++) {
        w[i] = open_window(ALLOCATED, 64, MPI_COMM_WORLD);
        OK(foMPI_Win_lock_all(0, w[i].win));
    }
    for (int i = 0; i < WINDOWS; i++)
        MUST(pthread_create(&thread[i], NULL, put_and_wait, &w[i]) == 0);
    for (int i = 0; i < WINDOWS; i++)
        MUST(pthread_join(thread[i], NULL) == 0);
    for (int i = 0; i < WINDOWS; i++) {
        OK(foMPI_Win_unlock_all(w[i].win));
        MPI_Barrier(MPI_COMM_WORLD);
        for (int k = 0; k < 2; k++)
            MUST(((int *)w[i].base)[k] == ROUNDS);
        close_window(&w[i]);
    }
    OK(foMPI_Finalize()); /* it does not end MPI, which foMPI_Init has not initialized */
    MPI_Finalize();
    exit(0);
}
