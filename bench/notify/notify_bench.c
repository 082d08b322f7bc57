/* notify_bench.c: notified access for MPI programs, beside what the MPI offers, and beside Tern's own calls.
 *
 * Two ranks play ping-pong; half a round trip is printed, in nanoseconds:
 *
 *   line          a store to memory of the other rank, which polls it: one cache line from core to core, below which no
 *                 other figure of this list can be
 *   notify        MPIX_Put_notify of 8 bytes, and MPIX_Wait for the notification
 *   native        tern_put_notify_nbi, and tern_request_wait
 *   send          MPI_Send and MPI_Recv of 8 bytes
 *   put_send      MPI_Put, MPI_Win_flush and an empty message, on a window of MPI_Win_allocate
 *   put_send_same the same on the window of notify, which is one of MPI_Win_create
 *
 * Then rank 0 puts a column of doubles (a vector datatype on both sides), and the time of one put is printed:
 *
 *   vector        MPIX_Put_notify and MPIX_Win_flush; the target takes the notifications at the end
 *   vector_mpi    MPI_Put and MPI_Win_flush
 *   native_vector tern_put_strided with a notification, and tern_quiet
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <tern.h>

#include "mpi_notify.h"

enum { ROWS = 256, COLUMNS = 64, SIZE = ROWS * COLUMNS };

static int      me, other, repeats = 200000;
static MPI_Win  win;
static double  *memory, mine[SIZE];
static uint64_t word;

static void report(const char *name, int64_t begin, int64_t end, double operations)
{
    if (me == 0)
        printf("%s %.2f\n", name, (double)(end - begin) / operations);
}

/* The first word of each rank's part of a region is the line. */
static void line(int n, const char *name, tern_region *region)
{
    uint64_t *here = tern_region_ptr(region, me), *there = tern_region_ptr(region, other);
    uint64_t  first = *here;
    int64_t   begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = tern_clock();
    for (uint64_t i = first + 1; i <= first + (uint64_t)n; i++) {
        if (me == 0)
            __atomic_store_n(there, i, __ATOMIC_RELEASE);
        while (__atomic_load_n(here, __ATOMIC_ACQUIRE) != i)
            ;
        if (me == 1)
            __atomic_store_n(there, i, __ATOMIC_RELEASE);
    }
    if (name != NULL)
        report(name, begin, tern_clock(), 2.0 * n);
}

static void notify_turn(MPI_Request *request)
{
    MPIX_Start(request);
    MPIX_Wait(request, MPI_STATUS_IGNORE);
}

static void notify(int n, const char *name)
{
    MPI_Request request;
    int64_t     begin;

    MPIX_Notify_init(win, other, 7, 1, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = tern_clock();
    for (int i = 0; i < n; i++) {
        if (me == 0)
            MPIX_Put_notify(&word, 1, MPI_UINT64_T, other, 0, 1, MPI_UINT64_T, win, 7);
        notify_turn(&request);
        if (me == 1)
            MPIX_Put_notify(&word, 1, MPI_UINT64_T, other, 0, 1, MPI_UINT64_T, win, 7);
    }
    if (name != NULL)
        report(name, begin, tern_clock(), 2.0 * n);
    MPIX_Win_flush_all(win);
    MPIX_Request_free(&request);
}

static void native(int n, const char *name, tern_region *region)
{
    tern_request *request;
    int64_t       begin;

    (void)tern_notify_create(TERN_WORLD, region, other, 7, 1, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = tern_clock();
    for (int i = 0; i < n; i++) {
        if (me == 0)
            (void)tern_put_notify_nbi(TERN_WORLD, region, other, 0, &word, 8, 7);
        (void)tern_request_start(request);
        (void)tern_request_wait(&request, TERN_FOREVER, NULL);
        if (me == 1)
            (void)tern_put_notify_nbi(TERN_WORLD, region, other, 0, &word, 8, 7);
    }
    if (name != NULL)
        report(name, begin, tern_clock(), 2.0 * n);
    (void)tern_quiet(TERN_WORLD);
    (void)tern_request_free(&request);
}

static void messages(int n, const char *name)
{
    int64_t begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = tern_clock();
    for (int i = 0; i < n; i++) {
        if (me == 0)
            MPI_Send(&word, 1, MPI_UINT64_T, other, 7, MPI_COMM_WORLD);
        MPI_Recv(memory, 1, MPI_UINT64_T, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (me == 1)
            MPI_Send(&word, 1, MPI_UINT64_T, other, 7, MPI_COMM_WORLD);
    }
    if (name != NULL)
        report(name, begin, tern_clock(), 2.0 * n);
}

static void put_and_send(MPI_Win plain)
{
    MPI_Put(&word, 1, MPI_UINT64_T, other, 0, 1, MPI_UINT64_T, plain);
    MPI_Win_flush(other, plain);
    MPI_Send(NULL, 0, MPI_BYTE, other, 8, MPI_COMM_WORLD);
}

static void put_send(int n, const char *name, MPI_Win plain)
{
    int64_t begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = tern_clock();
    for (int i = 0; i < n; i++) {
        if (me == 0)
            put_and_send(plain);
        MPI_Recv(NULL, 0, MPI_BYTE, other, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (me == 1)
            put_and_send(plain);
    }
    if (name != NULL)
        report(name, begin, tern_clock(), 2.0 * n);
}

static void vector(int n, const char *name, MPI_Datatype column)
{
    MPI_Request request;
    int64_t     begin = tern_clock();

    for (int i = 0; me == 0 && i < n; i++) {
        MPIX_Put_notify(mine, 1, column, other, 0, 1, column, win, 9);
        MPIX_Win_flush(other, win);
    }
    if (name != NULL)
        report(name, begin, tern_clock(), n);
    if (me == 1) {
        MPIX_Notify_init(win, 0, 9, n, &request);
        notify_turn(&request);
        MPIX_Request_free(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void vector_native(int n, const char *name, tern_region *region)
{
    const size_t    count[] = { ROWS };
    const ptrdiff_t stride[] = { COLUMNS * sizeof(double) };
    const int64_t   there[] = { COLUMNS * sizeof(double) };
    tern_strided    box = TERN_STRIDED(.dims = 1, .element = 8, .count = count, .local = mine, .local_stride = stride,
                                       .remote_stride = there);
    tern_opts       opts = TERN_OPTS(.flags = TERN_NOTIFY, .tag = 9);
    tern_request   *request;
    int64_t         begin = tern_clock();

    for (int i = 0; me == 0 && i < n; i++) {
        (void)tern_put_strided_with(TERN_WORLD, region, other, &box, &opts);
        (void)tern_quiet_rank(TERN_WORLD, other);
    }
    if (name != NULL)
        report(name, begin, tern_clock(), n);
    if (me == 1) {
        (void)tern_notify_create(TERN_WORLD, region, 0, 9, (uint32_t)n, &request);
        (void)tern_request_start(request);
        (void)tern_request_wait(&request, TERN_FOREVER, NULL);
        (void)tern_request_free(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void vector_mpi(int n, const char *name, MPI_Datatype column, MPI_Win plain)
{
    int64_t begin = tern_clock();

    for (int i = 0; me == 0 && i < n; i++) {
        MPI_Put(mine, 1, column, other, 0, 1, column, plain);
        MPI_Win_flush(other, plain);
    }
    if (name != NULL)
        report(name, begin, tern_clock(), n);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Win      plain;
    double      *plain_memory;
    MPI_Datatype column;
    tern_region *region, *lines;

    MPI_Init(&argc, &argv);
    if (argc > 1)
        repeats = atoi(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    other = 1 - me;
    MPIX_Win_allocate_notify(SIZE * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_allocate(SIZE * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &plain_memory, &plain);
    if (tern_region_create(TERN_WORLD, SIZE * sizeof(double), NULL, &region) != TERN_OK ||
        tern_region_create(TERN_WORLD, 64, NULL, &lines) != TERN_OK)
        tern_abort(1, tern_error_detail());
    MPI_Win_lock_all(0, plain);
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int warm = 1; warm >= 0; warm--) { /* the first round is not printed */
        int n = warm ? repeats / 10 : repeats, few = n / 20 < 8000 ? n / 20 : 8000;

        line(n, warm ? NULL : "line", lines);
        notify(n, warm ? NULL : "notify");
        native(n, warm ? NULL : "native", region);
        messages(n, warm ? NULL : "send");
        put_send(n, warm ? NULL : "put_send", plain);
        MPI_Win_lock_all(0, win);
        put_send(n / 4, warm ? NULL : "put_send_same", win);
        MPI_Win_unlock_all(win);
        vector(few, warm ? NULL : "vector", column);
        vector_mpi(few, warm ? NULL : "vector_mpi", column, plain);
        vector_native(few, warm ? NULL : "native_vector", region);
    }
    MPI_Win_unlock_all(plain);
    MPI_Win_free(&plain);
    (void)tern_region_free(region);
    (void)tern_region_free(lines);
    MPIX_Win_free(&win);
    MPI_Type_free(&column);
    MPI_Finalize();
    return 0;
}
