/* notify_corner.c: unusual but correct uses of notified access: absolute addresses, elements before the displacement,
 * windows without memory at some processes, MPI_PROC_NULL, data that does not fill the side that receives it, requests
 * that are restarted, cancelled and kept, waits for tags without requests, several threads, and a program that ends
 * with requests alive whose windows MPI_Win_free has freed.
 */
#include <pthread.h>
#include <stdint.h>

#include "notify_test.h"

enum { WORDS = 64, THREADS = 3, TURNS = 50 };

static MPI_Win win;
static long   *memory;
static int     left, right, threads;

static void notify(int rank, int tag)
{
    MPI(MPIX_Put_notify(NULL, 0, MPI_LONG, rank, 0, 0, MPI_LONG, win, tag));
}

static void await(int source, int tag)
{
    MPI_Request request;
    MPI_Status  status;

    MPI(MPIX_Notify_init(win, source, tag, 1, &request));
    MPI(MPIX_Start(&request));
    MPI(MPIX_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == source && status.MPI_TAG == tag);
    MPI(MPIX_Request_free(&request));
}

/* The origin is MPI_BOTTOM with absolute addresses; the target has elements on both sides of its displacement. */
static void test_addresses(void)
{
    long         one = 1 + notify_rank, two = 2 + notify_rank;
    int          lengths[2] = { 1, 1 }, around[2] = { -3, 2 };
    MPI_Aint     places[2];
    MPI_Datatype absolute, sides;

    notify_case = "addresses";
    MPI(MPI_Get_address(&one, &places[0]));
    MPI(MPI_Get_address(&two, &places[1]));
    MPI(MPI_Type_create_hindexed(2, lengths, places, MPI_LONG, &absolute));
    MPI(MPI_Type_indexed(2, lengths, around, MPI_LONG, &sides));
    MPI(MPI_Type_commit(&absolute));
    MPI(MPI_Type_commit(&sides));
    memset(memory, 0, WORDS * sizeof *memory);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPIX_Put_notify(MPI_BOTTOM, 1, absolute, right, 10, 1, sides, win, 1));
    await(left, 1);
    CHECK(memory[7] == 1 + left && memory[12] == 2 + left && memory[10] == 0);
    MPI(MPIX_Win_flush_local(right, win)); /* the get overwrites the source of the put */
    MPI(MPIX_Get_notify(MPI_BOTTOM, 1, absolute, notify_rank, 10, 1, sides, win, 2));
    MPI(MPIX_Win_flush_local(notify_rank, win));
    await(notify_rank, 2);
    CHECK(one == 1 + left && two == 2 + left);
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    CHECK(MPIX_Put_notify(MPI_BOTTOM, 1, absolute, right, 2, 1, sides, win, 1) != MPI_SUCCESS); /* before the memory */
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL));
    MPI(MPI_Type_free(&absolute)); /* the layouts are forgotten */
    MPI(MPI_Type_free(&sides));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* MPI_PROC_NULL as target and as source. */
static void test_null(void)
{
    long        value = 5, result = 6;
    MPI_Request request;
    MPI_Status  status;
    int         flag;

    notify_case = "MPI_PROC_NULL";
    MPI(MPIX_Put_notify(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win, 1));
    MPI(MPIX_Get_notify(&result, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win, 1));
    MPI(MPIX_Fetch_and_op_notify(&value, &result, MPI_LONG, MPI_PROC_NULL, 0, MPI_SUM, win, 1));
    MPI(MPIX_Compare_and_swap_notify(&value, &value, &result, MPI_LONG, MPI_PROC_NULL, 0, win, 1));
    MPI(MPIX_Rput_notify(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win, 1, &request));
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI(MPIX_Win_flush(MPI_PROC_NULL, win));
    CHECK(result == 6);
    MPI(MPIX_Iprobe_notify(MPI_PROC_NULL, 3, win, &flag, &status));
    CHECK(flag && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI(MPIX_Notify_init(win, MPI_PROC_NULL, 1, 3, &request));
    for (int i = 0; i < 2; i++) {
        MPI(MPIX_Start(&request));
        MPI(MPIX_Wait(&request, &status));
        CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
    }
    MPI(MPIX_Request_free(&request));
}

/* A window in which only the last process has memory. */
static void test_empty(void)
{
    MPI_Win     some;
    MPI_Request request;
    long       *base, value = notify_rank;
    int         last = notify_size - 1;

    notify_case = "windows without memory";
    MPI(MPIX_Win_allocate_notify(notify_rank == last ? (MPI_Aint)sizeof value * notify_size : 0, sizeof value,
                                 MPI_INFO_NULL, MPI_COMM_WORLD, &base, &some));
    MPI(MPIX_Notify_init(some, MPI_ANY_SOURCE, 7, notify_size, &request));
    MPI(MPIX_Start(&request));
    for (int rank = 0; rank < notify_size; rank++)
        MPI(MPIX_Put_notify(&value, rank == last, MPI_LONG, rank, rank == last ? notify_rank : 0, rank == last,
                            MPI_LONG, some, 7));
    MPI(MPIX_Wait(&request, MPI_STATUS_IGNORE));
    for (int rank = 0; notify_rank == last && rank < notify_size; rank++)
        CHECK(base[rank] == rank);
    MPI(MPIX_Request_free(&request));
    MPI(MPIX_Win_free(&some));
}

/* The side that receives the data may have more bytes than the other one: the rest stays. The data may end within an
 * element of that side, here of two blocks of two numbers. */
static void test_short(void)
{
    long         out[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, in[8];
    MPI_Datatype blocks;

    notify_case = "short data";
    MPI(MPI_Type_vector(2, 2, 3, MPI_LONG, &blocks));
    MPI(MPI_Type_commit(&blocks));
    memset(memory, 0, WORDS * sizeof *memory);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPIX_Put_notify(out, 2, MPI_LONG, right, 0, 4, MPI_LONG, win, 1));
    MPI(MPIX_Put_notify(out, 3, MPI_LONG, right, 8, 1, blocks, win, 1));
    MPI(MPIX_Put_notify(out, 1, blocks, right, 16, 7, MPI_LONG, win, 1));
    MPI(MPIX_Put_notify(out, 0, MPI_LONG, right, 32, 2, blocks, win, 1));
    MPI(MPIX_Accumulate_notify(out, 4, MPI_LONG, right, 32, 2, blocks, MPI_SUM, win, 1));
    for (int i = 0; i < 5; i++)
        await(left, 1);
    CHECK(memory[0] == 1 && memory[1] == 2 && memory[2] == 0);
    CHECK(memory[8] == 1 && memory[9] == 2 && memory[10] == 0 && memory[11] == 3 && memory[12] == 0);
    CHECK(memory[16] == 1 && memory[18] == 4 && memory[19] == 5 && memory[20] == 0);
    CHECK(memory[32] == 1 && memory[35] == 3 && memory[36] == 4 && memory[37] == 0);
    memset(in, 0, sizeof in);
    MPI(MPIX_Get_notify(in, 1, blocks, notify_rank, 8, 2, MPI_LONG, win, 2));
    MPI(MPIX_Get_notify(in + 5, 3, MPI_LONG, notify_rank, 0, 0, MPI_LONG, win, 2));
    MPI(MPIX_Win_flush_local(notify_rank, win));
    await(notify_rank, 2);
    await(notify_rank, 2);
    CHECK(in[0] == 1 && in[1] == 2 && in[3] == 0 && in[5] == 0);
    MPI(MPI_Type_free(&blocks));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* A request that is started again keeps its matches; one that is cancelled can be used again. */
static void test_restart(void)
{
    MPI_Request request;
    MPI_Status  status;
    int         flag, count;

    notify_case = "restart";
    MPI(MPIX_Notify_init(win, left, MPIX_NOTIFY_TAG_UB, 3, &request));
    MPI(MPIX_Start(&request));
    for (int i = 0; i < 3; i++) {
        MPI(MPIX_Test(&request, &flag, &status));
        CHECK(!flag);
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        notify(right, MPIX_NOTIFY_TAG_UB);
        MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (i < 2)
            MPI(MPIX_Start(&request));
    }
    MPI(MPIX_Wait(&request, &status));
    MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == 3 && status.MPI_TAG == MPIX_NOTIFY_TAG_UB);
    MPI(MPIX_Start(&request));
    MPI(MPIX_Cancel(&request));
    MPI(MPIX_Wait(&request, &status));
    MPI(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPIX_Start(&request));
    for (int i = 0; i < 3; i++)
        notify(right, MPIX_NOTIFY_TAG_UB);
    MPI(MPIX_Wait(&request, &status));
    MPI(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag);
    MPI(MPIX_Start(&request));
    MPI(MPIX_Request_free(&request)); /* while it is started */
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* Waits for tags without requests: each takes one notification. */
static void test_ids(void)
{
    int flag = 1;

    notify_case = "waits for tags";
    MPI(MPIX_Win_test_notify(win, 41, &flag));
    CHECK(flag == 0);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    notify(right, 41);
    notify(right, 41);
    notify(right, 42);
    notify(right, 0);
    MPI(MPIX_Win_wait_notify(win, 42));
    MPI(MPIX_Win_wait_notify(win, 41));
    while (!flag)
        MPI(MPIX_Win_test_notify(win, 41, &flag));
    MPI(MPIX_Win_test_notify(win, 41, &flag));
    CHECK(flag == 0);
    MPI(MPIX_Win_wait_notify(win, 0));
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    CHECK(MPIX_Win_wait_notify(win, -1) != MPI_SUCCESS && MPIX_Win_test_notify(win, -1, &flag) != MPI_SUCCESS);
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* A thread: puts, accumulates, probes and waits, with tags of its own. */
static void *run(void *arg)
{
    long        number = (long)(intptr_t)arg, value;
    int         tag = 100 + (int)number, other = 200 + (int)number, flag;
    int         logical = 1;
    MPI_Request request;

    MPI(MPIX_Notify_init(win, left, tag, 1, &request));
    for (int i = 0; i < TURNS; i++) {
        value = i;
        MPI(MPIX_Put_notify(&value, 1, MPI_LONG, right, number, 1, MPI_LONG, win, tag));
        MPI(MPIX_Start(&request));
        MPI(MPIX_Wait(&request, MPI_STATUS_IGNORE));
        MPI(MPIX_Accumulate_notify(&logical, 1, MPI_INT, right, 20, 1, MPI_INT, MPI_LXOR, win, other));
        do
            MPI(MPIX_Iprobe_notify(left, other, win, &flag, MPI_STATUS_IGNORE));
        while (!flag);
        await(left, other);
    }
    MPI(MPIX_Request_free(&request));
    return NULL;
}

static void test_threads(void)
{
    pthread_t all[THREADS];

    notify_case = "threads";
    memset(memory, 0, WORDS * sizeof *memory);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (!threads)
        return;
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&all[i], NULL, run, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(all[i], NULL) == 0);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(((int *)(memory + 20))[0] == THREADS * TURNS % 2);
}

int main(int argc, char **argv)
{
    MPI_Request started;
    MPI_Win     created;
    char        bytes[64];
    int         level;

    MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
    threads = level == MPI_THREAD_MULTIPLE;
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &notify_rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &notify_size));
    left = (notify_rank + notify_size - 1) % notify_size;
    right = (notify_rank + 1) % notify_size;
    MPI(MPIX_Win_allocate_notify(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    test_addresses();
    test_null();
    test_empty();
    test_short();
    test_restart();
    test_ids();
    test_threads();
    notify_case = "end";
    MPI(MPIX_Win_create_notify(bytes, sizeof bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &created));
    MPI(MPIX_Notify_init(created, MPI_ANY_SOURCE, MPI_ANY_TAG, 1, &started));
    MPI(MPIX_Start(&started));
    MPI(MPI_Win_free(&created)); /* Tern's part of both windows ends with the job */
    MPI(MPI_Win_free(&win));
    MPI(MPI_Finalize());
    return 0;
}
