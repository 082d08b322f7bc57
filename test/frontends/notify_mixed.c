/* notify_mixed.c: notification requests beside other requests, and notified accesses beside those of MPI.
 *
 * notify_pmpi_mixed.c is the same program, linked with tern-notify-pmpi, and calls everything by its name in MPI. Then
 * MPI_Init starts notified access, so that the first window may be one of a few processes.
 */
#include "notify_test.h"

#ifndef FORM
#define FORM(name) MPIX_##name
#define INTERCEPTED 0
#endif

static MPI_Win win;
static long   *memory;
static int     left, right;

static MPI_Request notification(int tag, int count)
{
    MPI_Request request;

    MPI(MPIX_Notify_init(win, MPI_ANY_SOURCE, tag, count, &request));
    MPI(FORM(Start)(&request));
    return request;
}

static void notify_right(int tag)
{
    long value = tag;

    MPI(MPIX_Put_notify(&value, 1, MPI_LONG, right, 0, 1, MPI_LONG, win, tag));
}

static void send_right(int tag)
{
    MPI(MPI_Send(&tag, 1, MPI_INT, right, tag, MPI_COMM_WORLD));
}

/* Requests: two notifications and two receives, a null request, and a persistent request that is not started. */
struct set {
    MPI_Request all[6];
    int         values[2];
};

static void open_set(struct set *s)
{
    MPI(MPI_Irecv(&s->values[0], 1, MPI_INT, left, 20, MPI_COMM_WORLD, &s->all[0]));
    s->all[1] = notification(1, 1);
    MPI(MPI_Irecv(&s->values[1], 1, MPI_INT, left, 21, MPI_COMM_WORLD, &s->all[2]));
    s->all[3] = notification(2, 1);
    s->all[4] = MPI_REQUEST_NULL;
    MPI(MPI_Recv_init(&s->values[1], 1, MPI_INT, left, 22, MPI_COMM_WORLD, &s->all[5]));
}

static void close_set(struct set *s)
{
    CHECK(s->all[0] == MPI_REQUEST_NULL && s->all[2] == MPI_REQUEST_NULL);
    for (int i = 1; i < 6; i += 2) {
        if (i < 4 || s->all[5] != MPI_REQUEST_NULL)
            MPI(FORM(Request_free)(&s->all[i]));
    }
}

/* One thing in the set arrives after the other; each wait for any reports one. */
static void test_any(void)
{
    struct set s;
    MPI_Status status;
    int        index, flag, order[4] = { 3, 0, 1, 2 };

    notify_case = "any";
    open_set(&s);
    MPI(FORM(Testany)(6, s.all, &index, &flag, &status));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(!flag);
    for (int i = 0; i < 4; i++) {
        switch (order[i]) {
        case 0: send_right(20); break;
        case 1: notify_right(1); break;
        case 2: send_right(21); break;
        default: notify_right(2);
        }
        MPI(FORM(Waitany)(6, s.all, &index, &status));
        CHECK(index == order[i]);
        CHECK(status.MPI_SOURCE == left && status.MPI_TAG == (index % 2 ? (index + 1) / 2 : 20 + index / 2));
        MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    MPI(FORM(Waitany)(6, s.all, &index, &status));
    CHECK(index == MPI_UNDEFINED);
    MPI(FORM(Testany)(6, s.all, &index, &flag, MPI_STATUS_IGNORE));
    CHECK(flag && index == MPI_UNDEFINED);
    close_set(&s);
}

static void test_some(void)
{
    struct set s;
    MPI_Status statuses[6];
    int        count, indices[6], seen = 0;

    notify_case = "some";
    open_set(&s);
    MPI(FORM(Testsome)(6, s.all, &count, indices, statuses));
    CHECK(count == 0);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    send_right(20);
    notify_right(2);
    send_right(21);
    notify_right(1);
    while (seen != 15) {
        MPI(FORM(Waitsome)(6, s.all, &count, indices, statuses));
        CHECK(count > 0);
        for (int i = 0; i < count; i++) {
            CHECK(!(seen & 1 << indices[i]) && statuses[i].MPI_SOURCE == left);
            seen |= 1 << indices[i];
        }
    }
    MPI(FORM(Waitsome)(6, s.all, &count, indices, statuses));
    CHECK(count == MPI_UNDEFINED);
    close_set(&s);
}

static void test_all(void)
{
    struct set s;
    MPI_Status statuses[6];
    int        flag, count;

    notify_case = "all";
    open_set(&s);
    MPI(FORM(Start)(&s.all[5]));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    send_right(20);
    notify_right(1);
    notify_right(2);
    send_right(21);
    MPI(FORM(Testall)(6, s.all, &flag, statuses));
    CHECK(!flag); /* nobody has sent the message with tag 22 */
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    send_right(22);
    MPI(FORM(Waitall)(6, s.all, statuses));
    CHECK(statuses[1].MPI_TAG == 1 && statuses[3].MPI_TAG == 2 && statuses[2].MPI_TAG == 21);
    MPI(MPI_Get_count(&statuses[3], MPI_BYTE, &count));
    CHECK(count == 1);
    MPI(FORM(Testall)(6, s.all, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag);
    close_set(&s);
}

/* The status of a request can be read without completing the request. */
static void test_status(void)
{
    MPI_Request request = notification(3, 2);
    MPI_Status  status;
    int         flag, count;

    notify_case = "status";
    MPI(FORM(Request_get_status)(request, &flag, &status));
    CHECK(!flag);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    notify_right(3);
    notify_right(3);
    for (flag = 0; !flag;)
        MPI(FORM(Request_get_status)(request, &flag, &status));
    CHECK(status.MPI_TAG == 3 && status.MPI_SOURCE == left);
    MPI(FORM(Test)(&request, &flag, &status));
    MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(flag && count == 2);
    MPI(FORM(Request_free)(&request));
    CHECK(request == MPI_REQUEST_NULL);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* Accesses of MPI and notified accesses on the same window. */
static void test_beside(void)
{
    MPI_Request request = notification(4, 1);
    long        value = 100 + notify_rank, old = -1;

    notify_case = "beside MPI";
    memory[1] = memory[2] = 0;
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Win_lock_all(0, win));
    MPI(MPI_Put(&value, 1, MPI_LONG, right, 1, 1, MPI_LONG, win));
    MPI(MPI_Win_flush(right, win));
    MPI(MPIX_Put_notify(&value, 1, MPI_LONG, right, 2, 1, MPI_LONG, win, 4));
    MPI(FORM(Wait)(&request, MPI_STATUS_IGNORE));
    CHECK(memory[2] == 100 + left); /* the notification follows its data, and the put that was flushed before */
    MPI(MPI_Win_sync(win));
    CHECK(memory[1] == 100 + left);
    if (!INTERCEPTED)
        MPI(MPIX_Win_flush_all(win));
    MPI(MPI_Win_flush_all(win));
    MPI(MPI_Get(&old, 1, MPI_LONG, right, 2, 1, MPI_LONG, win)); /* MPI reads what Tern has written */
    MPI(MPI_Win_unlock_all(win));
    CHECK(old == value);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(FORM(Request_free)(&request));
}

/* The first window has only some of the processes. */
static void test_first(void)
{
    MPI_Win first;
    char   *base;

    notify_case = "the first window";
    if (!INTERCEPTED)
        MPI(MPIX_Notify_start());
    if (notify_rank == 0) {
        MPI(MPIX_Win_allocate_notify(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &first));
        MPI(FORM(Win_free)(&first));
        CHECK(first == MPI_WIN_NULL);
    }
}

/* Windows that MPI_Win_free frees: their memory is released later. */
static void test_free(void)
{
    MPI_Win one;
    char   *base;

    notify_case = "free";
    for (int i = 0; i < 20; i++) {
        MPI(MPIX_Win_allocate_notify(1 << 16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &one));
        base[i] = 1;
        MPI(MPI_Win_free(&one));
        CHECK(one == MPI_WIN_NULL);
    }
}

int main(int argc, char **argv)
{
    notify_begin(&argc, &argv);
    left = (notify_rank + notify_size - 1) % notify_size;
    right = (notify_rank + 1) % notify_size;
    test_first();
    MPI(MPIX_Win_allocate_notify(64, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    test_any();
    test_some();
    test_all();
    test_status();
    test_beside();
    test_free();
    notify_case = "end";
    MPI(FORM(Win_free)(&win));
    MPI(MPI_Finalize());
    return 0;
}
