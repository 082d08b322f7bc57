/* notify_misuse.c: misuse of notified access is reported by an error of the right class to the error handler of the
 * window, with a text that names the call and the values; and nothing happens otherwise.
 *
 * With an argument, the program makes one mistake while the error handler is the default one, which ends the job.
 */
#include "notify_test.h"

static MPI_Win     win, plain, wide; /* the last one has a displacement unit of 8 */
static int         handled;          /* calls of the error handler of the window */
static int         last;             /* its last code */
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
    MPI(put(0, MPI_INT, 0, 0, wide, 1)); /* the library knows the window now */
    EXPECT(put(1, MPI_INT, 0, (MPI_Aint)1 << 61, wide, 1), MPI_ERR_RMA_RANGE, "MPIX_Put_notify");
    EXPECT(MPIX_Get_notify(buffer, 1, MPI_INT, 0, (MPI_Aint)1 << 62, 1, MPI_INT, wide, 1), MPI_ERR_RMA_RANGE,
           "8 bytes");
    EXPECT(MPIX_Put_notify(MPI_IN_PLACE, 1, MPI_INT, 0, 0, 1, MPI_INT, win, 1), MPI_ERR_BUFFER, "MPI_IN_PLACE");
    EXPECT(put(64, MPI_INT, notify_size - 1, 4, win, 1), MPI_ERR_RMA_RANGE, "MPIX_Put_notify");
    EXPECT(put(1, MPI_INT, 0, 0, plain, 1), MPI_ERR_WIN, "not one for notified accesses");
    EXPECT(put(1, MPI_INT, 0, 0, MPI_WIN_NULL, 1), MPI_ERR_WIN, "MPI_WIN_NULL");
    EXPECT(MPIX_Put_notify(buffer, 3, MPI_INT, 0, 0, 2, MPI_INT, win, 1), MPI_ERR_TRUNCATE,
           "the origin has 12 bytes, and the target 8");
    EXPECT(MPIX_Get_notify(buffer, 2, MPI_INT, 0, 0, 3, MPI_INT, win, 1), MPI_ERR_TRUNCATE,
           "the origin has 8 bytes, and the target 12");
    EXPECT(MPIX_Accumulate_notify(buffer, 3, MPI_INT, 0, 0, 2, MPI_INT, MPI_SUM, win, 1), MPI_ERR_TRUNCATE,
           "the origin has 12 bytes, and the target 8");
    EXPECT(MPIX_Get_notify(buffer, 2, MPI_INT, 0, 255, 2, MPI_INT, win, 1), MPI_ERR_RMA_RANGE, "MPIX_Get_notify");
    EXPECT(MPIX_Rput_notify(buffer, 2, MPI_INT, 99, 0, 2, MPI_INT, win, 1, &request), MPI_ERR_RANK, "MPIX_Rput_notify");
    EXPECT(MPIX_Rget_notify(buffer, 2, MPI_INT, 99, 0, 2, MPI_INT, win, 1, &request), MPI_ERR_RANK, "MPIX_Rget_notify");
    EXPECT(MPIX_Rget_notify(buffer, 2, MPI_INT, 0, 0, 2, MPI_INT, win, 1, NULL), MPI_ERR_ARG, "MPIX_Rget_notify");
    EXPECT(MPIX_Win_flush(notify_size, win), MPI_ERR_RANK, "MPIX_Win_flush");
    EXPECT(MPIX_Win_flush_all(plain), MPI_ERR_WIN, "MPIX_Win_flush_all");
}

static void combine(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)count;
    (void)type;
}

/* The counts are those of the origin, of the result and of the target. The elements of the result have this type. */
static int get_accumulate(int here, int result, int there, MPI_Datatype type, void *place)
{
    return MPIX_Get_accumulate_notify(buffer, here, MPI_INT, place, result, type, 0, 0, there, MPI_INT, MPI_SUM, win,
                                      1);
}

static void test_accumulates(void)
{
    MPI_Op       own;
    MPI_Datatype pair, types[2] = { MPI_INT, MPI_FLOAT };
    int          lengths[2] = { 1, 1 };
    MPI_Aint     places[2] = { 0, 4 };

    MPI(MPI_Type_create_struct(2, lengths, places, types, &pair));
    MPI(MPI_Type_commit(&pair));
    MPI(MPI_Op_create(combine, 1, &own));
    EXPECT(accumulate(MPI_INT, MPI_INT, own), MPI_ERR_OP, "not a predefined one");
    MPI(MPI_Op_free(&own));
    EXPECT(accumulate(MPI_DOUBLE, MPI_DOUBLE, MPI_LAND), MPI_ERR_OP, "do not have the operation");
    EXPECT(accumulate(MPI_DOUBLE, MPI_DOUBLE, MPI_BAND), MPI_ERR_OP, "do not have the operation");
    EXPECT(accumulate(MPI_C_DOUBLE_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_MAX), MPI_ERR_OP, "do not have");
    EXPECT(accumulate(pair, pair, MPI_SUM), MPI_ERR_TYPE, "all have one type");
    EXPECT(accumulate(MPI_DOUBLE_INT, MPI_DOUBLE_INT, MPI_SUM), MPI_ERR_OP, "do not have the operation");
    EXPECT(accumulate(MPI_INT, MPI_INT, MPI_MAXLOC), MPI_ERR_OP, "do not have the operation");
    EXPECT(accumulate(MPI_FLOAT_INT, MPI_2INT, MPI_MAXLOC), MPI_ERR_TYPE, "differ");
    EXPECT(accumulate(MPI_LONG, MPI_DOUBLE, MPI_SUM), MPI_ERR_TYPE, "differ");
    EXPECT(MPIX_Fetch_and_op_notify(buffer, buffer + 64, pair, 0, 0, MPI_SUM, win, 1), MPI_ERR_TYPE,
           "MPIX_Fetch_and_op_notify");
    EXPECT(MPIX_Fetch_and_op_notify(NULL, buffer + 64, MPI_INT, 0, 0, MPI_SUM, win, 1), MPI_ERR_BUFFER, "NULL");
    EXPECT(MPIX_Fetch_and_op_notify(buffer, NULL, MPI_INT, 0, 0, MPI_NO_OP, win, 1), MPI_ERR_BUFFER, "result");
    EXPECT(MPIX_Accumulate_notify(NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_LOR, win, 1), MPI_ERR_BUFFER, "origin");
    EXPECT(MPIX_Compare_and_swap_notify(buffer, buffer, buffer + 64, MPI_C_DOUBLE_COMPLEX, 0, 0, win, 1), MPI_ERR_TYPE,
           "not an integer");
    for (int i = 0; i < 6; i++) {
        const MPI_Datatype refused[] = {
            MPI_DOUBLE, MPI_FLOAT, MPI_2INT, MPI_FLOAT_INT, MPI_C_FLOAT_COMPLEX, MPI_REAL
        };

        EXPECT(MPIX_Compare_and_swap_notify(buffer, buffer, buffer + 64, refused[i], 0, 0, win, 1), MPI_ERR_TYPE,
               "not an integer");
    }
    EXPECT(MPIX_Compare_and_swap_notify(buffer, NULL, buffer + 64, MPI_INT, 0, 0, win, 1), MPI_ERR_BUFFER, "NULL");
    EXPECT(MPIX_Compare_and_swap_notify(buffer, buffer, buffer + 64, MPI_INT, 0, 1, win, 1), MPI_ERR_ARG,
           "MPIX_Compare_and_swap_notify");
    EXPECT(get_accumulate(3, 2, 3, MPI_INT, buffer + 64), MPI_ERR_TRUNCATE, "the result has 8 bytes");
    EXPECT(get_accumulate(3, 3, 2, MPI_INT, buffer + 64), MPI_ERR_TRUNCATE, "the origin has 12 bytes");
    EXPECT(get_accumulate(2, -1, 2, MPI_INT, buffer + 64), MPI_ERR_COUNT, "elements at the result is -1");
    EXPECT(get_accumulate(2, 2, 2, MPI_FLOAT, buffer + 64), MPI_ERR_TYPE, "of the result and of the target differ");
    EXPECT(get_accumulate(2, 2, 2, MPI_INT, NULL), MPI_ERR_BUFFER, "the result buffer is NULL");
    EXPECT(MPIX_Raccumulate_notify(buffer, 1, MPI_INT, 99, 0, 1, MPI_INT, MPI_SUM, win, 1, &request), MPI_ERR_RANK,
           "MPIX_Raccumulate_notify");
    EXPECT(MPIX_Raccumulate_notify(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win, 1, NULL), MPI_ERR_ARG,
           "MPIX_Raccumulate_notify");
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
    EXPECT(MPIX_Notify_init(win, 0, 1, 1, NULL), MPI_ERR_ARG, "NULL");
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

/* Without the PMPI library, MPI refuses to start and to cancel a notification request, and does not report that it is
 * complete: not while it is active, and not when its notification has arrived. */
static void test_plain_calls(void)
{
    MPI_Status status;
    int class, flag;

    notify_case = "calls of MPI without the PMPI library";
    MPI(MPIX_Notify_init(win, notify_rank, 6, 1, &request));
    MPI(MPI_Error_class(MPI_Start(&request), &class));
    CHECK(class == MPI_ERR_REQUEST);
    MPI(MPI_Error_class(MPI_Startall(1, &request), &class));
    CHECK(class == MPI_ERR_REQUEST);
    MPI(MPIX_Start(&request));
    MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    MPI(MPI_Error_class(MPI_Cancel(&request), &class));
    CHECK(class == MPI_ERR_REQUEST);
    MPI(put(0, MPI_INT, notify_rank, 0, win, 6));
    MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    MPI(MPIX_Wait(&request, &status));
    CHECK(status.MPI_TAG == 6);
    MPI(MPIX_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    handled = 0; /* the number of calls of the handlers is a matter of MPI */
}

/* Pointers through which calls return values are NULL. A probe without a flag does not wait. */
static void test_pointers(void)
{
    int index, flag, indices[1];

    MPI(MPIX_Notify_init(win, MPI_ANY_SOURCE, 1, 1, &request));
    EXPECT(MPIX_Iprobe_notify(0, 1, win, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG, "MPIX_Iprobe_notify");
    EXPECT(MPIX_Win_test_notify(win, 1, NULL), MPI_ERR_ARG, "MPIX_Win_test_notify");
    EXPECT(MPIX_Test(&request, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG, "MPIX_Test");
    EXPECT(MPIX_Request_get_status(request, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG, "MPIX_Request_get_status");
    EXPECT(MPIX_Testany(1, &request, NULL, &flag, MPI_STATUS_IGNORE), MPI_ERR_ARG, "MPIX_Testany");
    EXPECT(MPIX_Testany(1, &request, &index, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG, "MPIX_Testany");
    EXPECT(MPIX_Waitany(1, &request, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG, "MPIX_Waitany");
    EXPECT(MPIX_Testall(1, &request, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "MPIX_Testall");
    EXPECT(MPIX_Testsome(1, &request, NULL, indices, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "MPIX_Testsome");
    EXPECT(MPIX_Waitsome(1, &request, &index, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "MPIX_Waitsome");
    EXPECT(MPIX_Win_is_notify(win, NULL), MPI_ERR_ARG, "MPIX_Win_is_notify");
    EXPECT(MPIX_Win_free(NULL), MPI_ERR_ARG, "MPIX_Win_free");
    MPI(MPIX_Request_free(&request));
}

/* Calls over several requests of which one has lost its window: the others complete, and the statuses tell. */
static void test_several(void)
{
    MPI_Request all[4];
    MPI_Status  statuses[4];
    MPI_Win     gone;
    char       *base;
    int         count, indices[4], code, class;

    notify_case = "several requests, one without a window";
    MPI(MPIX_Win_allocate_notify(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &gone));
    MPI(MPIX_Notify_init(gone, MPI_ANY_SOURCE, 1, 1, &all[0]));
    MPI(MPIX_Notify_init(win, notify_rank, 3, 1, &all[1]));
    all[2] = MPI_REQUEST_NULL;
    MPI(MPIX_Startall(2, all));
    MPI(MPI_Irecv(buffer, 1, MPI_CHAR, notify_rank, 4, MPI_COMM_WORLD, &all[3]));
    MPI(MPIX_Win_free(&gone));
    MPI(put(0, MPI_INT, notify_rank, 0, win, 3));
    MPI(MPI_Send(buffer, 1, MPI_CHAR, notify_rank, 4, MPI_COMM_WORLD));
    code = MPIX_Waitall(4, all, statuses);
    MPI(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_IN_STATUS && handled == 1);
    MPI(MPI_Error_class(statuses[0].MPI_ERROR, &class));
    CHECK(class == MPI_ERR_REQUEST && statuses[1].MPI_ERROR == MPI_SUCCESS && statuses[3].MPI_ERROR == MPI_SUCCESS);
    CHECK(statuses[1].MPI_TAG == 3 && statuses[3].MPI_TAG == 4 && all[3] == MPI_REQUEST_NULL);
    MPI(MPIX_Start(&all[1]));
    MPI(put(0, MPI_INT, notify_rank, 0, win, 3));
    MPI(MPIX_Win_flush_all(win));
    code = MPIX_Waitsome(4, all, &count, indices, statuses);
    MPI(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_IN_STATUS && handled == 2 && count >= 1 && indices[0] == 0);
    MPI(MPI_Error_class(statuses[0].MPI_ERROR, &class));
    CHECK(class == MPI_ERR_REQUEST);
    MPI(MPIX_Request_free(&all[0]));
    if (count == 1)
        MPI(MPIX_Wait(&all[1], MPI_STATUS_IGNORE));
    MPI(MPIX_Request_free(&all[1]));
    handled = 0;
}

/* MPI_REQUEST_NULL is not taken for a request that was freed. */
static void test_null(void)
{
    enum { MANY = 1000 };
    MPI_Request many[MANY], null = MPI_REQUEST_NULL;
    int         flag;

    notify_case = "MPI_REQUEST_NULL";
    for (int i = 0; i < MANY; i++)
        MPI(MPIX_Notify_init(win, MPI_ANY_SOURCE, i, 1, &many[i]));
    for (int i = 0; i < MANY; i++)
        MPI(MPIX_Request_free(&many[i]));
    CHECK(MPIX_Start(&null) != MPI_SUCCESS);
    CHECK(MPIX_Request_free(&null) != MPI_SUCCESS);
    MPI(MPIX_Wait(&null, MPI_STATUS_IGNORE));
    MPI(MPIX_Test(&null, &flag, MPI_STATUS_IGNORE));
    CHECK(flag && null == MPI_REQUEST_NULL);
    handled = 0; /* the number of calls of the handler is a matter of MPI */
}

static void test_windows(void)
{
    MPI_Win none;
    char   *base;

    /* An argument that is wrong at one process is an error of all of them. */
    EXPECT(MPIX_Win_allocate_notify(notify_rank == 0 ? -1 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none),
           MPI_ERR_SIZE, notify_rank == 0 ? "-1" : "rank 0 of the communicator");
    EXPECT(MPIX_Win_create_notify(NULL, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &none), MPI_ERR_BASE, "NULL");
    EXPECT(MPIX_Win_allocate_notify(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none), MPI_ERR_SIZE, "-1");
    EXPECT(MPIX_Win_allocate_notify(8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none), MPI_ERR_DISP, "0");
    EXPECT(MPIX_Win_create_notify(buffer, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &none), MPI_ERR_COMM, "communicator");
    EXPECT(MPIX_Win_free(&plain), MPI_ERR_WIN, "MPIX_Win_free");
    if (notify_rank == 0) /* it fails on the other processes, too, which would wait otherwise */
        base = NULL;
    EXPECT(MPIX_Win_allocate_notify((MPI_Aint)1 << 60, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none), MPI_ERR_NO_MEM,
           "MPIX_Win_allocate_notify");
}

/* The first window is one of some processes, while the others make none: an error, and no call that waits for them. */
static void test_first_window(void)
{
    MPI_Errhandler mine;
    MPI_Comm       some;
    MPI_Win        none;
    char          *base;

    notify_case = "first window";
    if (notify_size == 1)
        return;
    MPI(MPI_Comm_create_errhandler(comm_handler, &mine));
    MPI(MPI_Comm_split(MPI_COMM_WORLD, notify_rank == 0, 0, &some));
    MPI(MPI_Comm_set_errhandler(some, mine));
    if (notify_rank == 0) {
        EXPECT(MPIX_Win_allocate_notify(8, 1, MPI_INFO_NULL, some, &base, &none), MPI_ERR_COMM, "MPIX_Notify_start");
        EXPECT(MPIX_Win_create_notify(buffer, 8, 1, MPI_INFO_NULL, some, &none), MPI_ERR_COMM, "MPIX_Notify_start");
    }
    MPI(MPI_Comm_free(&some));
    MPI(MPI_Errhandler_free(&mine));
    notify_case = "";
}

int main(int argc, char **argv)
{
    MPI_Errhandler mine, world;
    char          *base;

    notify_begin(&argc, &argv);
    test_first_window();
    MPI(MPIX_Win_allocate_notify(sizeof buffer, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    if (argc > 1)
        (void)put(1, MPI_INT, 99, 0, win, 1);
    MPI(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &plain));
    MPI(MPI_Win_create_errhandler(handler, &mine));
    MPI(MPIX_Win_allocate_notify(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &wide));
    MPI(MPI_Win_set_errhandler(win, mine));
    MPI(MPI_Win_set_errhandler(wide, mine));
    MPI(MPI_Win_set_errhandler(plain, mine));
    MPI(MPI_Comm_create_errhandler(comm_handler, &world));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, world));
    memset(memory, 5, sizeof buffer);
    test_accesses();
    test_accumulates();
    test_requests();
    test_plain_calls();
    test_pointers();
    test_several();
    test_null();
    test_windows();
    notify_case = "end";
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    for (size_t i = 0; i < sizeof buffer; i++)
        CHECK(memory[i] == 5);
    MPI(MPI_Win_free(&plain));
    MPI(MPIX_Win_free(&wide));
    MPI(MPIX_Win_free(&win));
    MPI(MPI_Errhandler_free(&mine));
    MPI(MPI_Errhandler_free(&world));
    MPI(MPI_Finalize());
    return 0;
}
