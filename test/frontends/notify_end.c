/* notify_end.c: the beginning and the end of MPI beside notified access. The argument says what the program does:
 *
 *   forgotten   ends MPI without freeing its windows
 *   early       calls notified access before MPI_Init
 *   late        calls notified access after MPI_Finalize, with a window that it has not freed
 *   request     frees a request after MPI_Finalize
 *   threads     initializes MPI for one thread, while another thread waits in Tern: only the main thread calls MPI
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <tern.h>
#include <time.h>

#include "notify_test.h"

static pthread_t main_thread;
static int       calls, wrong_calls; /* of MPI_Iprobe, by the main thread and by other threads */

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    if (pthread_equal(pthread_self(), main_thread))
        calls++;
    else
        wrong_calls++;
    return PMPI_Iprobe(source, tag, comm, flag, status);
}

static MPI_Win make_window(MPI_Comm comm)
{
    MPI_Win win;
    void   *base;

    MPI(MPIX_Win_allocate_notify(64, 8, MPI_INFO_NULL, comm, &base, &win));
    return win;
}

/* Wait in Tern for some time. */
static void *wait_in_tern(void *arg)
{
    tern_ctx       *ctx = NULL;
    tern_idle       idle = TERN_IDLE(.name = "a test");
    struct timespec begin, now;

    (void)arg;
    CHECK(tern_ctx_create(tern_team_self(), TERN_RELAXED, &ctx) == TERN_OK);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        CHECK(tern_idle_step(ctx, &idle) == TERN_OK);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec < 1);
    CHECK(tern_ctx_free(ctx) == TERN_OK);
    return NULL;
}

static void test_threads(void)
{
    pthread_t   other;
    MPI_Win     win = make_window(MPI_COMM_WORLD);
    MPI_Request request;

    MPI(MPIX_Notify_init(win, MPI_ANY_SOURCE, 1, 1, &request));
    MPI(MPIX_Start(&request));
    CHECK(pthread_create(&other, NULL, wait_in_tern, NULL) == 0);
    CHECK(pthread_join(other, NULL) == 0);
    CHECK(wrong_calls == 0);
    if (notify_rank == 0) {
        struct timespec pause = { 0, 100000000 };

        nanosleep(&pause, NULL); /* the other ranks wait for notifications */
    }
    MPI(MPIX_Put_notify(NULL, 0, MPI_LONG, (notify_rank + 1) % notify_size, 0, 0, MPI_LONG, win, 1));
    MPI(MPIX_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(wrong_calls == 0 && (notify_rank != 1 || calls > 0));
    MPI(MPIX_Request_free(&request));
    MPI(MPIX_Win_free(&win));
    MPI(MPI_Finalize());
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Request request;
    MPI_Comm    some;
    MPI_Win     win;
    int         level;

    main_thread = pthread_self();
    if (strcmp(what, "early") == 0)
        (void)MPIX_Win_flush_all(MPI_WIN_NULL);
    MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &notify_rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &notify_size));
    notify_case = what;
    if (strcmp(what, "threads") == 0) {
        test_threads();
        return 0;
    }
    win = make_window(MPI_COMM_WORLD);
    some = make_comm(SPLIT);
    (void)make_window(some);
    MPI(MPIX_Notify_init(win, MPI_ANY_SOURCE, 1, 1, &request));
    MPI(MPIX_Put_notify(NULL, 0, MPI_LONG, (notify_rank + 1) % notify_size, 0, 0, MPI_LONG, win, 1));
    MPI(MPI_Comm_free(&some));
    MPI(MPI_Finalize());
    if (strcmp(what, "late") == 0)
        (void)MPIX_Put_notify(NULL, 0, MPI_LONG, 0, 0, 0, MPI_LONG, win, 1);
    if (strcmp(what, "request") == 0)
        (void)MPIX_Request_free(&request);
    return 0;
}
