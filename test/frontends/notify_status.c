/* notify_status.c: what the target of notified accesses sees: all data of an accumulate when its notification arrives,
 * and the source, the tag and the count in the status of a request or a probe. Accesses whose length or offset
 * overflows are refused. Requests can be freed in any order in the same time.
 */
#include <stdint.h>
#include <time.h>

#include "notify_test.h"

enum { WORDS = 1 << 16, ROUNDS = 30, FEW = 300, TAG = 5 };

static MPI_Comm comm; /* the ranks in reverse order, so that ranks of the window differ from those of the job */
static MPI_Win  win;
static long    *memory, operands[WORDS], previous[WORDS];
static int      me, size, left, right;

static void await(int source, int tag, MPI_Status *status)
{
    MPI_Request request;

    MPI(MPIX_Notify_init(win, source, tag, 1, &request));
    MPI(MPIX_Start(&request));
    MPI(MPIX_Wait(&request, status));
    MPI(MPIX_Request_free(&request));
}

/* The status describes an access of a source with a tag; its count is this number. */
static void check_status(const MPI_Status *status, int source, int tag, MPI_Count expected)
{
    MPI_Count count;
    int       small;

    CHECK(status->MPI_SOURCE == source && status->MPI_TAG == tag);
    MPI(MPI_Get_elements_x(status, MPI_BYTE, &count));
    CHECK(count == expected);
    MPI(MPI_Get_count(status, MPI_BYTE, &small));
    CHECK(small == (expected > INT32_MAX ? MPI_UNDEFINED : (int)expected));
}

/* ---- accumulates ---- */

/* A layout of the target of an accumulate: FEW or WORDS elements. */
struct shape {
    const char  *name;
    int          elements;
    MPI_Datatype type;
    int          count;
};

/* Return the index of an element of the shape with a number in the memory of the target. */
static int place_of(int number, int i)
{
    return number == 1 ? 2 * i : number == 2 ? 3 * i + i % 2 : i;
}

static void make_shapes(struct shape *shapes)
{
    int places[FEW], lengths[FEW];

    for (int i = 0; i < FEW; i++) {
        places[i] = place_of(2, i);
        lengths[i] = 1;
    }
    shapes[0] = (struct shape){ "contiguous", FEW, MPI_LONG, FEW };
    shapes[1] = (struct shape){ "regular", FEW, MPI_DATATYPE_NULL, 1 };
    shapes[2] = (struct shape){ "irregular", FEW, MPI_DATATYPE_NULL, 1 };
    shapes[3] = (struct shape){ "long", WORDS, MPI_LONG, WORDS };
    MPI(MPI_Type_vector(FEW, 1, 2, MPI_LONG, &shapes[1].type));
    MPI(MPI_Type_indexed(FEW, lengths, places, MPI_LONG, &shapes[2].type));
    MPI(MPI_Type_commit(&shapes[1].type));
    MPI(MPI_Type_commit(&shapes[2].type));
}

/* Replace all elements at the right neighbour, by the call that returns the previous values or by the other one. */
static void replace(const struct shape *shape, int fetches, int round)
{
    int n = shape->elements;

    for (int i = 0; i < n; i++)
        operands[i] = 1000000l * round + i;
    if (!fetches) {
        MPI(MPIX_Accumulate_notify(operands, n, MPI_LONG, right, 0, shape->count, shape->type, MPI_REPLACE, win, TAG));
        return;
    }
    MPI(MPIX_Get_accumulate_notify(operands, n, MPI_LONG, previous, n, MPI_LONG, right, 0, shape->count, shape->type,
                                   MPI_REPLACE, win, TAG));
    for (int i = 0; i < n; i++)
        CHECK(previous[i] == 1000000l * (round - 1) + i);
}

/* Probe for the notification of the left neighbour, and check the data at once. */
static void check_replaced(const struct shape *shape, int number, int round)
{
    MPI_Status status;

    MPI(MPIX_Probe_notify(left, TAG, win, &status));
    for (int i = shape->elements - 1; i >= 0; i--)
        CHECK(memory[place_of(number, i)] == 1000000l * round + i);
    check_status(&status, left, TAG, 8l * shape->elements);
    await(left, TAG, MPI_STATUS_IGNORE);
}

/* Promise: when the notification of an accumulate arrives, all its data is there. Ranks with even and odd numbers take
 * turns, so that the target waits while the data arrives. */
static void test_replace(void)
{
    struct shape shapes[4];

    notify_case = "replace";
    make_shapes(shapes);
    for (int fetches = 0; fetches < 2; fetches++) {
        for (int number = 0; number < 4 - fetches; number++) {
            for (int i = 0; i < WORDS; i++)
                memory[i] = 0;
            for (int i = 0; i < shapes[number].elements; i++)
                memory[place_of(number, i)] = i;
            MPI(MPI_Barrier(comm));
            for (int round = 1; round <= ROUNDS; round++) {
                if (me % 2 == 0)
                    replace(&shapes[number], fetches, round);
                check_replaced(&shapes[number], number, round);
                if (me % 2 != 0)
                    replace(&shapes[number], fetches, round);
                MPI(MPI_Barrier(comm));
            }
        }
    }
    MPI(MPI_Type_free(&shapes[1].type));
    MPI(MPI_Type_free(&shapes[2].type));
}

/* ---- statuses of gets ---- */

enum how { WAIT, TEST, WAITALL, WAITANY, TESTSOME, HOWS };

/* Complete a request and return its status. */
static void complete(enum how how, MPI_Request *request, MPI_Status *status)
{
    int index = 0, flag = 0, count = 0;

    switch (how) {
    case WAIT: MPI(MPIX_Wait(request, status)); break;
    case WAITALL: MPI(MPIX_Waitall(1, request, status)); break;
    case WAITANY: MPI(MPIX_Waitany(1, request, &index, status)); break;
    case TESTSOME:
        while (count == 0)
            MPI(MPIX_Testsome(1, request, &count, &index, status));
        break;
    default:
        while (!flag)
            MPI(MPIX_Test(request, &flag, status));
    }
    CHECK(index == 0 && *request != MPI_REQUEST_NULL);
}

/* Get from the right neighbour, and wait until its notification has arrived: it is sent before the message. */
static void get_from_right(int tag, int words)
{
    MPI(MPIX_Get_notify(previous, words, MPI_LONG, right, 0, words, MPI_LONG, win, tag));
    MPI(MPIX_Win_flush(right, win));
}

/* Promise: the status of a request that gets complete has the source and the tag of the last get, and the number of
 * gets, however many of them arrive before the request is started. A request that is started again counts anew. */
static void test_gets(int source, int tag, enum how how)
{
    enum { GETS = 4 };
    MPI_Request request;
    MPI_Status  status;
    int         flag;

    notify_case = "gets before and after MPIX_Start";
    MPI(MPIX_Notify_init(win, source, tag, GETS, &request));
    for (int early = 0; early <= GETS; early++) {
        for (int i = 0; i < GETS; i++) {
            if (i == early)
                MPI(MPIX_Start(&request));
            MPI(MPI_Barrier(comm));
            get_from_right(10 + i, i);
            MPI(MPI_Barrier(comm));
            if (i < GETS - 1 && i >= early) {
                MPI(MPIX_Test(&request, &flag, &status));
                CHECK(!flag);
            }
        }
        if (early == GETS) {
            MPI(MPIX_Probe_notify(source, tag, win, &status));
            check_status(&status, left, 10, 0);
            MPI(MPIX_Start(&request));
        }
        complete(how, &request, &status);
        check_status(&status, left, 10 + GETS - 1, GETS);
        MPI(MPI_Barrier(comm));
    }
    MPI(MPIX_Request_free(&request));
}

/* ---- sizes ---- */

/* The status of a probe for an access to this rank. */
static MPI_Status probe(void)
{
    MPI_Status status;

    MPI(MPIX_Probe_notify(left, TAG, win, &status));
    await(left, TAG, MPI_STATUS_IGNORE);
    return status;
}

/* Promise: the count of a probe is the number of bytes, for any access. The long access reads and writes the same bytes
 * again and again. */
static void test_counts(void)
{
    const int    pieces = 3 << 10;
    MPI_Datatype same, spread;
    MPI_Status   status;

    notify_case = "counts";
    MPI(MPI_Type_create_hvector(pieces, 1 << 20, 0, MPI_BYTE, &same));
    MPI(MPI_Type_vector(3, 2, 4, MPI_INT, &spread));
    MPI(MPI_Type_commit(&same));
    MPI(MPI_Type_commit(&spread));
    MPI(MPI_Barrier(comm));
    /* Without the flushes, a notification might overtake the one before. */
    MPI(MPIX_Put_notify(NULL, 0, MPI_LONG, right, 0, 0, MPI_LONG, win, TAG));
    MPI(MPIX_Win_flush(right, win));
    status = probe();
    check_status(&status, left, TAG, 0);
    MPI(MPIX_Put_notify(operands, 1, spread, right, 0, 2, spread, win, TAG));
    MPI(MPIX_Win_flush(right, win));
    status = probe();
    check_status(&status, left, TAG, 24);
    MPI(MPIX_Get_notify(previous, 2, spread, right, 0, 12, MPI_INT, win, TAG));
    MPI(MPIX_Win_flush(right, win));
    status = probe();
    check_status(&status, left, TAG, 48);
    MPI(MPI_Barrier(comm));
    if (me == 0) { /* one access at a time is long enough */
        void *bytes = calloc(1 << 20, 1);

        CHECK(bytes != NULL);
        MPI(MPIX_Put_notify(bytes, 1, same, right, 0, 1, same, win, TAG));
        MPI(MPIX_Win_flush(right, win));
        free(bytes);
    }
    if (left == 0) {
        status = probe();
        check_status(&status, left, TAG, (MPI_Count)pieces << 20);
    }
    MPI(MPI_Type_free(&same));
    MPI(MPI_Type_free(&spread));
    MPI(MPI_Barrier(comm));
}

static int class_of(int code)
{
    int class;

    MPI(MPI_Error_class(code, &class));
    return class;
}

/* Promise: an access whose number of bytes or whose offset does not fit into 64 bits is refused, and changes nothing.
 * Each would wrap around to an access of a few bytes at the beginning of the window. */
static void test_overflow(void)
{
    const MPI_Aint large = (MPI_Aint)1 << 60;
    MPI_Datatype   giga, exa, odd, later;
    int            lengths[2] = { 1, 1 };
    MPI_Aint       places[2] = { 0, large }, at = 16;

    notify_case = "overflow";
    MPI(MPI_Type_contiguous(1 << 30, MPI_BYTE, &giga));
    MPI(MPI_Type_contiguous(1 << 30, giga, &exa));
    MPI(MPI_Type_create_struct(2, lengths, places, (MPI_Datatype[]){ exa, MPI_BYTE }, &odd)); /* 2^60 + 1 bytes */
    MPI(MPI_Type_create_hindexed_block(1, 1, &at, MPI_LONG, &later));
    MPI(MPI_Type_commit(&odd));
    MPI(MPI_Type_commit(&later));
    memset(memory, 0, 64);
    MPI(MPI_Barrier(comm));
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    operands[0] = operands[1] = operands[2] = -1;
    CHECK(class_of(MPIX_Put_notify(operands, 16, odd, right, 0, 16, odd, win, TAG)) == MPI_ERR_COUNT);
    CHECK(class_of(MPIX_Get_notify(operands, 16, odd, right, 0, 16, odd, win, TAG)) == MPI_ERR_COUNT);
    CHECK(class_of(MPIX_Put_notify(operands, 16, odd, right, 0, 16, MPI_BYTE, win, TAG)) == MPI_ERR_COUNT);
    CHECK(class_of(MPIX_Put_notify(operands, 1, odd, right, 0, 1, odd, win, TAG)) == MPI_ERR_RMA_RANGE);
    /* 8 * disp + 16 is 2^64 */
    CHECK(class_of(MPIX_Put_notify(operands, 1, MPI_LONG, right, ((MPI_Aint)1 << 61) - 2, 1, later, win, TAG)) ==
          MPI_ERR_RMA_RANGE);
    CHECK(class_of(MPIX_Put_notify(operands, 1, MPI_LONG, right, ((MPI_Aint)1 << 61) - 1, 1, MPI_LONG, win, TAG)) ==
          MPI_ERR_RMA_RANGE);
    CHECK(class_of(MPIX_Put_notify(operands, 1, MPI_LONG, right, 2 * WORDS - 1, 1, later, win, TAG)) ==
          MPI_ERR_RMA_RANGE);
    MPI(MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL));
    MPI(MPI_Barrier(comm));
    for (int i = 0; i < 8; i++)
        CHECK(memory[i] == 0);
    MPI(MPI_Type_free(&giga));
    MPI(MPI_Type_free(&exa));
    MPI(MPI_Type_free(&odd));
    MPI(MPI_Type_free(&later));
    MPI(MPI_Barrier(comm));
}

/* ---- many requests ---- */

/* Make requests and free them, in this order or in the reverse order. Returns the time in seconds. */
static double cycle(int n, int reverse)
{
    MPI_Request *all = malloc((size_t)n * sizeof *all);
    clock_t      begin;

    CHECK(all != NULL);
    for (int i = 0; i < n; i++)
        MPI(MPIX_Notify_init(win, MPI_ANY_SOURCE, 1000 + i, 1, &all[i]));
    begin = clock();
    for (int i = 0; i < n; i++)
        MPI(MPIX_Request_free(&all[reverse ? n - 1 - i : i]));
    free(all);
    return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

/* Promise: freeing a request takes the same time, however many requests are alive. */
static void test_many(void)
{
    enum { MANY = 40000 };
    double few;

    notify_case = "many requests";
    (void)cycle(MANY, 0); /* the memory of the records */
    few = 0;
    for (int i = 0; i < 40; i++)
        few += cycle(MANY / 40, 0);
    CHECK(cycle(MANY, 0) < 10 * few + 0.2);
    CHECK(cycle(MANY, 1) < 10 * few + 0.2);
}

int main(int argc, char **argv)
{
    notify_begin(&argc, &argv);
    comm = make_comm(REVERSED);
    MPI(MPI_Comm_rank(comm, &me));
    MPI(MPI_Comm_size(comm, &size));
    left = (me + size - 1) % size;
    right = (me + 1) % size;
    MPI(MPIX_Win_allocate_notify(2 * WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &memory, &win));
    test_replace();
    for (enum how how = 0; how < HOWS; how++)
        test_gets(how % 2 ? MPI_ANY_SOURCE : left, MPI_ANY_TAG, how);
    test_counts();
    test_overflow();
    test_many();
    notify_case = "end";
    MPI(MPIX_Win_free(&win));
    MPI(MPI_Comm_free(&comm));
    MPI(MPI_Finalize());
    return 0;
}
