/* notify_misuse.c: misuse of notified access is reported by an error of the right class to the error handler of the
 * window, with a text that names the call and the values; and nothing happens otherwise.
 *
 * With an argument, the program makes one mistake while the error handler is the default one, which ends the job.
 */
#include "notify_test.h"

static MPI_Win     win, plain;
static int         handled; /* calls of the error handler of the window */
static int         last;    /* its last code */
static char       *memory, buffer[256];
static MPI_Request request;

static void handler(MPI_Win *which, int *code, ...)
{
    (void)which;
    handled++;
    last = *code;
}

static void comm_handler(MPI_Comm *which, int *code, ...)
{
    (void)which;
    handled++;
    last = *code;
}

/* The call that returned code has failed with this class, and the text contains the words. */
static void expect(int code, int class, const char *words, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int  length, found;

    notify_case = what;
    CHECK(code != MPI_SUCCESS);
    MPI(MPI_Error_class(code, &found));
    MPI(MPI_Error_string(code, text, &length));
    if (found != class || strstr(text, words) == NULL)
        fprintf(stderr, "class %d instead of %d, text: %s\n", found, class, text);
    CHECK(found == class && strstr(text, words) != NULL);
    CHECK(handled == 1 && last == code);
    handled = 0;
}

#define EXPECT(call, class, words) expect(call, class, words, #call)

static int put(int count, MPI_Datatype type, int rank, MPI_Aint disp, MPI_Win where, int tag)
{
    return MPIX_Put_notify(buffer, count, type, rank, disp, count, type, where, tag);
}

static int accumulate(MPI_Datatype here, MPI_Datatype there, MPI_Op op)
{
    return MPIX_Accumulate_notify(buffer, 1, here, 0, 0, 1, there, op, win, 1);
}

static void test_accesses(void)
{
    EXPECT(put(1, MPI_INT, notify_size, 0, win, 1), MPI_ERR_RANK, "MPIX_Put_notify");
    EXPECT(put(1, MPI_INT, -7, 0, win, 1), MPI_ERR_RANK, "there is no rank -7 in the window");
    EXPECT(put(1, MPI_INT, 0, 0, win, -1), MPI_ERR_TAG, "the tag is -1");
    EXPECT(put(-1, MPI_INT, 0, 0, win, 1), MPI_ERR_COUNT, "is -1");
    EXPECT(put(1, MPI_DATATYPE_NULL, 0, 0, win, 1), MPI_ERR_TYPE, "the datatype of the origin is invalid");
    EXPECT(put(1, MPI_INT, 0, -4, win, 1), MPI_ERR_DISP, "-4");
    EXPECT(put(1, MPI_INT, 0, 253, win, 1), MPI_ERR_RMA_RANGE, "MPIX_Put_notify");
    EXPECT(put(64, MPI_INT, notify_size - 1, 4, win, 1), MPI_ERR_RMA_RANGE, "MPIX_Put_notify");
    EXPECT(put(1, MPI_INT, 0, 0, plain, 1), MPI_ERR_WIN, "not one for notified accesses");
    EXPECT(put(1, MPI_INT, 0, 0, MPI_WIN_NULL, 1), MPI_ERR_WIN, "MPI_WIN_NULL");
    EXPECT(MPIX_Put_notify(buffer, 2, MPI_INT, 0, 0, 3, MPI_INT, win, 1), MPI_ERR_TRUNCATE,
           "the origin has 8 bytes, and the target 12");
    EXPECT(MPIX_Get_notify(buffer, 2, MPI_INT, 0, 255, 2, MPI_INT, win, 1), MPI_ERR_RMA_RANGE, "MPIX_Get_notify");
    EXPECT(MPIX_Rput_notify(buffer, 2, MPI_INT, 99, 0, 2, MPI_INT, win, 1, &request), MPI_ERR_RANK, "MPIX_Rput_notify");
    EXPECT(MPIX_Rget_notify(buffer, 2, MPI_INT, 99, 0, 2, MPI_INT, win, 1, &request), MPI_ERR_RANK, "MPIX_Rget_notify");
    EXPECT(MPIX_Win_flush(notify_size, win), MPI_ERR_RANK, "MPIX_Win_flush");
    EXPECT(MPIX_Win_flush_all(plain), MPI_ERR_WIN, "MPIX_Win_flush_all");
}

static void test_accumulates(void)
{
    MPI_Datatype pair, types[2] = { MPI_INT, MPI_FLOAT };
    int          lengths[2] = { 1, 1 };
    MPI_Aint     places[2] = { 0, 4 };

    MPI(MPI_Type_create_struct(2, lengths, places, types, &pair));
    MPI(MPI_Type_commit(&pair));
    EXPECT(accumulate(MPI_INT, MPI_INT, MPI_LAND), MPI_ERR_OP, "MPI_SUM");
    EXPECT(accumulate(MPI_DOUBLE, MPI_DOUBLE, MPI_BAND), MPI_ERR_OP, "do not have the operation");
    EXPECT(accumulate(MPI_C_DOUBLE_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_MAX), MPI_ERR_OP, "do not have");
    EXPECT(accumulate(pair, pair, MPI_SUM), MPI_ERR_TYPE, "all have one type");
    EXPECT(accumulate(MPI_DOUBLE_INT, MPI_DOUBLE_INT, MPI_MAXLOC), MPI_ERR_TYPE, "no accumulates");
    EXPECT(accumulate(MPI_LONG, MPI_DOUBLE, MPI_SUM), MPI_ERR_TYPE, "differ");
    EXPECT(MPIX_Fetch_and_op_notify(buffer, buffer + 64, pair, 0, 0, MPI_SUM, win, 1), MPI_ERR_TYPE,
           "MPIX_Fetch_and_op_notify");
    EXPECT(MPIX_Fetch_and_op_notify(NULL, buffer + 64, MPI_INT, 0, 0, MPI_SUM, win, 1), MPI_ERR_BUFFER, "NULL");
    EXPECT(MPIX_Compare_and_swap_notify(buffer, buffer, buffer + 64, MPI_C_DOUBLE_COMPLEX, 0, 0, win, 1), MPI_ERR_TYPE,
           "not integers");
    EXPECT(MPIX_Accumulate_notify(buffer, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win, 1), MPI_ERR_ARG,
           "MPIX_Accumulate_notify");
    MPI(MPI_Type_free(&pair));
}

static void test_requests(void)
{
    MPI_Request alive;
    MPI_Win     gone;
    char       *base;
    int         flag;

    EXPECT(MPIX_Notify_init(win, notify_size, 1, 1, &request), MPI_ERR_RANK, "MPIX_Notify_init");
    EXPECT(MPIX_Notify_init(win, 0, -9, 1, &request), MPI_ERR_TAG, "the tag is -9");
    EXPECT(MPIX_Notify_init(win, 0, 1, 0, &request), MPI_ERR_COUNT, "0 notifications");
    EXPECT(MPIX_Notify_init(plain, 0, 1, 1, &request), MPI_ERR_WIN, "not one for notified");
    EXPECT(MPIX_Iprobe_notify(99, 1, win, &flag, MPI_STATUS_IGNORE), MPI_ERR_RANK, "MPIX_Iprobe_notify");
    MPI(MPIX_Win_allocate_notify(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &gone));
    MPI(MPIX_Notify_init(gone, MPI_ANY_SOURCE, 1, 1, &alive));
    MPI(MPIX_Start(&alive));
    MPI(MPIX_Win_free(&gone));
    EXPECT(MPIX_Test(&alive, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "the window of the notification request was");
    EXPECT(MPIX_Wait(&alive, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "freed");
    EXPECT(MPIX_Start(&alive), MPI_ERR_REQUEST, "MPIX_Start");
    EXPECT(put(1, MPI_INT, 0, 0, gone, 1), MPI_ERR_WIN, "freed");
    MPI(MPIX_Request_free(&alive));
    CHECK(alive == MPI_REQUEST_NULL);
}

static void test_windows(void)
{
    MPI_Win none;
    char   *base;

    EXPECT(MPIX_Win_allocate_notify(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none), MPI_ERR_SIZE, "-1");
    EXPECT(MPIX_Win_allocate_notify(8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none), MPI_ERR_DISP, "0");
    EXPECT(MPIX_Win_create_notify(buffer, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &none), MPI_ERR_COMM, "communicator");
    EXPECT(MPIX_Win_free(&plain), MPI_ERR_WIN, "MPIX_Win_free");
    if (notify_rank == 0) /* it fails on the other processes, too, which would wait otherwise */
        base = NULL;
    EXPECT(MPIX_Win_allocate_notify((MPI_Aint)1 << 60, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none), MPI_ERR_NO_MEM,
           "MPIX_Win_allocate_notify");
}

int main(int argc, char **argv)
{
    MPI_Errhandler mine, world;
    char          *base;

    notify_begin(&argc, &argv);
    MPI(MPIX_Win_allocate_notify(sizeof buffer, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    if (argc > 1)
        (void)put(1, MPI_INT, 99, 0, win, 1);
    MPI(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &plain));
    MPI(MPI_Win_create_errhandler(handler, &mine));
    MPI(MPI_Win_set_errhandler(win, mine));
    MPI(MPI_Win_set_errhandler(plain, mine));
    MPI(MPI_Comm_create_errhandler(comm_handler, &world));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, world));
    memset(memory, 5, sizeof buffer);
    test_accesses();
    test_accumulates();
    test_requests();
    test_windows();
    notify_case = "end";
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (size_t i = 0; i < sizeof buffer; i++)
        CHECK(memory[i] == 5);
    MPI(MPI_Win_free(&plain));
    MPI(MPIX_Win_free(&win));
    MPI(MPI_Errhandler_free(&mine));
    MPI(MPI_Errhandler_free(&world));
    MPI(MPI_Finalize());
    return 0;
}
