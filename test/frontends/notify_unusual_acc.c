/* notify_unusual_acc.c: accumulates to elements that are not aligned, which are atomic with each other, and
 * MPIX_Get_accumulate_notify and MPIX_Raccumulate_notify with datatypes, operations and all mechanisms.
 */
#include "notify_test.h"

enum { BYTES = 1 << 12, TURNS = 40, TAG = 5 };

static MPI_Win        win, odd_win; /* of bytes; the memory of the second one begins at an odd address */
static unsigned char *memory, own[BYTES + 16] __attribute__((aligned(16)));
static int            left, right;

static void await(MPI_Win where, int source, int count)
{
    MPI_Request request;

    MPI(MPIX_Notify_init(where, source, TAG, count, &request));
    MPI(MPIX_Start(&request));
    MPI(MPIX_Wait(&request, MPI_STATUS_IGNORE));
    MPI(MPIX_Request_free(&request));
}

static void clear(void)
{
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    memset(memory, 0, BYTES);
    memset(own, 0, sizeof own);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static long long_at(const unsigned char *at)
{
    long value;

    memcpy(&value, at, sizeof value);
    return value;
}

/* All ranks add to elements of rank 0 at odd addresses, by three calls; each element is added to exactly once by each
 * call, and the values that the calls return are all different. */
static void test_odd(MPI_Win where, const unsigned char *base, MPI_Aint disp, const char *name)
{
    long ones[3] = { 1, 2, 3 }, before[3], last = -1, none = 0;
    int  calls = 3 * TURNS;

    notify_case = name;
    clear();
    for (int i = 0; i < TURNS; i++) {
        MPI(MPIX_Accumulate_notify(ones, 3, MPI_LONG, 0, disp, 3, MPI_LONG, MPI_SUM, where, TAG));
        MPI(MPIX_Fetch_and_op_notify(ones, before, MPI_LONG, 0, disp, MPI_SUM, where, TAG));
        CHECK(before[0] > last);
        last = before[0];
        MPI(MPIX_Get_accumulate_notify(ones, 3, MPI_LONG, before, 3, MPI_LONG, 0, disp, 3, MPI_LONG, MPI_SUM, where,
                                       TAG));
        CHECK(before[0] > last);
        last = before[0];
    }
    if (notify_rank == 0)
        await(where, MPI_ANY_SOURCE, calls * notify_size);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPIX_Fetch_and_op_notify(&none, before, MPI_LONG, 0, disp, MPI_NO_OP, where, TAG));
    CHECK(before[0] == (long)calls * notify_size);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (notify_rank == 0) {
        await(where, MPI_ANY_SOURCE, notify_size);
        CHECK(long_at(base + disp) == (long)calls * notify_size);
        CHECK(long_at(base + disp + 8) == 2l * 2 * TURNS * notify_size);
        CHECK(long_at(base + disp + 16) == 3l * 2 * TURNS * notify_size);
        CHECK(disp == 0 || base[disp - 1] == 0);
        CHECK(base[disp + 24] == 0);
    }
}

/* Regular and irregular layouts with elements that are not aligned, replaced and fetched. */
static void test_odd_layouts(void)
{
    double       out[4] = { 1.5, 2.5, 3.5, 4.5 }, in[4] = { 0 }, found;
    int          lengths[4] = { 1, 1, 1, 1 };
    MPI_Aint     places[4] = { 0, 11, 40, 72 };
    MPI_Datatype regular, irregular;

    notify_case = "layouts";
    clear();
    MPI(MPI_Type_create_hvector(4, 1, 9, MPI_DOUBLE, &regular));
    MPI(MPI_Type_create_hindexed(4, lengths, places, MPI_DOUBLE, &irregular));
    MPI(MPI_Type_commit(&regular));
    MPI(MPI_Type_commit(&irregular));
    MPI(MPIX_Accumulate_notify(out, 4, MPI_DOUBLE, right, 0, 1, regular, MPI_SUM, win, TAG));
    MPI(MPIX_Accumulate_notify(out, 4, MPI_DOUBLE, right, 0, 1, regular, MPI_MAX, win, TAG));
    MPI(MPIX_Accumulate_notify(out, 4, MPI_DOUBLE, right, 200, 1, irregular, MPI_REPLACE, win, TAG));
    MPI(MPIX_Get_accumulate_notify(out, 4, MPI_DOUBLE, in, 4, MPI_DOUBLE, right, 200, 1, irregular, MPI_REPLACE, win,
                                   TAG));
    await(win, left, 4);
    for (int i = 0; i < 4; i++) {
        CHECK(in[i] == out[i]);
        memcpy(&found, memory + 9 * i, sizeof found);
        CHECK(found == out[i]);
        memcpy(&found, memory + 200 + places[i], sizeof found);
        CHECK(found == out[i]);
    }
    MPI(MPI_Type_free(&regular));
    MPI(MPI_Type_free(&irregular));
}

/* MPIX_Get_accumulate_notify with operations of all mechanisms, and layouts on all three sides. */
static void test_get_accumulate(void)
{
    long out[4] = { 1, 0, 3, 4 }, before[8], expected[4] = { 0 };
    struct {
        double value;
        int    index;
    } pair = { 2.5, 7 }, old = { -1, -1 };
    const MPI_Op ops[] = { MPI_SUM, MPI_REPLACE, MPI_MAX, MPI_NO_OP, MPI_LXOR, MPI_BOR };
    MPI_Datatype spread;

    notify_case = "get_accumulate";
    clear();
    MPI(MPI_Type_vector(4, 1, 2, MPI_LONG, &spread));
    MPI(MPI_Type_commit(&spread));
    for (size_t n = 0; n < sizeof ops / sizeof *ops; n++) {
        memset(before, 0x55, sizeof before);
        MPI(MPIX_Get_accumulate_notify(ops[n] == MPI_NO_OP ? NULL : out, ops[n] == MPI_NO_OP ? 0 : 4, MPI_LONG, before,
                                       1, spread, right, 64, 4, MPI_LONG, ops[n], win, TAG));
        for (int i = 0; i < 4; i++) {
            CHECK(before[2 * i] == expected[i] && (i == 3 || before[2 * i + 1] == 0x5555555555555555));
            if (ops[n] == MPI_SUM)
                expected[i] += out[i];
            else if (ops[n] == MPI_REPLACE)
                expected[i] = out[i];
            else if (ops[n] == MPI_LXOR)
                expected[i] = !expected[i] != !out[i];
            else if (ops[n] == MPI_BOR)
                expected[i] |= out[i];
        }
        await(win, left, 1);
    }
    MPI(MPIX_Get_accumulate_notify(&pair, 1, MPI_DOUBLE_INT, &old, 1, MPI_DOUBLE_INT, right, 256, 1, MPI_DOUBLE_INT,
                                   MPI_MAXLOC, win, TAG));
    CHECK(old.value == 0 && old.index == 0);
    MPI(MPIX_Get_accumulate_notify(NULL, 0, MPI_INT, NULL, 0, MPI_INT, right, 0, 0, MPI_INT, MPI_SUM, win, TAG));
    MPI(MPIX_Get_accumulate_notify(out, 1, MPI_LONG, before, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM, win,
                                   TAG));
    await(win, left, 2);
    memcpy(&old, memory + 256, sizeof old);
    CHECK(old.value == 2.5 && old.index == 7);
    MPI(MPI_Type_free(&spread));
}

static void test_raccumulate(void)
{
    long        one = 1;
    MPI_Request requests[TURNS];

    notify_case = "raccumulate";
    clear();
    for (int i = 0; i < TURNS; i++)
        MPI(MPIX_Raccumulate_notify(&one, 1, MPI_LONG, right, 8 * (i % 2), 1, MPI_LONG, MPI_SUM, win, TAG,
                                    &requests[i]));
    MPI(MPI_Waitall(TURNS / 2, requests, MPI_STATUSES_IGNORE));
    MPI(MPIX_Waitall(TURNS, requests, MPI_STATUSES_IGNORE));
    await(win, left, TURNS);
    CHECK(long_at(memory) == TURNS / 2 && long_at(memory + 8) == TURNS / 2);
}

int main(int argc, char **argv)
{
    notify_begin(&argc, &argv);
    left = (notify_rank + notify_size - 1) % notify_size;
    right = (notify_rank + 1) % notify_size;
    MPI(MPIX_Win_allocate_notify(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI(MPIX_Win_create_notify(own + 3, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &odd_win));
    test_odd(win, memory, 17, "odd displacements");
    test_odd(odd_win, own + 3, 0, "memory at an odd address");
    test_odd(odd_win, own + 3, 5, "aligned elements of memory at an odd address");
    test_odd_layouts();
    test_get_accumulate();
    test_raccumulate();
    notify_case = "end";
    MPI(MPIX_Win_free(&odd_win));
    MPI(MPIX_Win_free(&win));
    MPI(MPI_Finalize());
    return 0;
}
