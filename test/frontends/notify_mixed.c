/* notify_mixed.c: notification requests beside other requests, and notified accesses beside those of MPI.
 *
 * notify_pmpi_mixed.c is the same program, linked with tern-notify-pmpi, and calls everything by its name in MPI. Then
 * MPI_Init starts notified access, so that the first window may be one of a few processes; with the argument "thread",
 * MPI_Init_thread does.
 */
#include "notify_test.h"

#ifndef FORM
#define FORM(name) MPIX_##name
#define INTERCEPTED 0
#endif

enum { LONG = 8 << 20 }; /* sockets keep less */

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

/* Requests of both kinds are started by one call, and cancelled. */
static void test_start(void)
{
    MPI_Request all[3];
    MPI_Status  statuses[3];
    int         value = -1, cancelled;

    notify_case = "start all, cancel";
    MPI(MPIX_Notify_init(win, left, 6, 1, &all[0]));
    MPI(MPI_Recv_init(&value, 1, MPI_INT, left, 23, MPI_COMM_WORLD, &all[1]));
    MPI(MPIX_Notify_init(win, left, 7, 2, &all[2]));
    MPI(FORM(Startall)(3, all));
    notify_right(7);
    send_right(23);
    notify_right(6);
    notify_right(7);
    MPI(FORM(Waitall)(3, all, statuses));
    CHECK(value == 23 && statuses[0].MPI_TAG == 6 && statuses[1].MPI_TAG == 23 && statuses[2].MPI_TAG == 7);
    MPI(FORM(Startall)(3, all)); /* nothing will come */
    for (int i = 0; i < 3; i++) {
        MPI(FORM(Cancel)(&all[i]));
        MPI(FORM(Wait)(&all[i], &statuses[i]));
        MPI(MPI_Test_cancelled(&statuses[i], &cancelled));
        CHECK(cancelled);
        MPI(FORM(Request_free)(&all[i]));
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* ---- completion ---- */

static MPI_Win        wide; /* LONG bytes */
static unsigned char *bytes, *source;
static MPI_Group      before, after; /* the left and the right neighbour */

/* The calls that complete an access: at the origin and at the target, or at the origin only. */
static void flush(void)
{
    MPI(FORM(Win_flush)(right, wide));
}

static void flush_all(void)
{
    MPI(FORM(Win_flush_all)(wide));
}

static void flush_local(void)
{
    MPI(FORM(Win_flush_local)(right, wide));
}

static void flush_local_all(void)
{
    MPI(FORM(Win_flush_local_all)(wide));
}

/* The calls of MPI that end an epoch; they complete notified accesses if the library intercepts them. */
static void end_lock(void)
{
    MPI(MPI_Win_unlock(right, wide));
}

static void end_lock_all(void)
{
    MPI(MPI_Win_unlock_all(wide));
}

static void end_fence(void)
{
    MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, wide));
}

static void end_access(void)
{
    MPI(MPI_Win_complete(wide));
    MPI(MPI_Win_wait(wide));
}

static void begin_lock(void)
{
    MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, wide));
}

static void begin_lock_all(void)
{
    MPI(MPI_Win_lock_all(0, wide));
}

static void begin_fence(void)
{
    MPI(MPI_Win_fence(MPI_MODE_NOPRECEDE, wide));
}

static void begin_access(void)
{
    MPI(MPI_Win_post(before, 0, wide));
    MPI(MPI_Win_start(after, 0, wide));
}

/* A way to complete an access. begin and end: the epoch of MPI around it; complete: a flush, or NULL if the end of the
 * epoch completes the access. */
static const struct way {
    const char *name;
    void (*begin)(void), (*complete)(void), (*end)(void);
    int local;
} ways[] = {
    { "flush", begin_lock, flush, end_lock, 0 },
    { "flush all", begin_lock_all, flush_all, end_lock_all, 0 },
    { "flush local", begin_lock, flush_local, end_lock, 1 },
    { "flush local all", begin_lock_all, flush_local_all, end_lock_all, 1 },
    { "unlock", begin_lock, NULL, end_lock, 0 },
    { "unlock all", begin_lock_all, NULL, end_lock_all, 0 },
    { "fence", begin_fence, NULL, end_fence, 0 },
    { "complete", begin_access, NULL, end_access, 0 },
};

/* Put LONG bytes to the right neighbour, which may be on another node, and complete the put. When it is complete at the
 * origin, other data in the source does no harm. When it is complete at the target, the data is there, and a message
 * may say so. */
static void complete(const struct way *way, int value)
{
    int got = -1;

    memset(source, value, LONG);
    memset(bytes, 0, LONG);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    way->begin();
    MPI(MPIX_Put_notify(source, LONG, MPI_BYTE, right, 0, LONG, MPI_BYTE, wide, value));
    (way->complete != NULL ? way->complete : way->end)();
    memset(source, 255, LONG);
    MPI(MPI_Sendrecv(&value, 1, MPI_INT, right, 24, &got, 1, MPI_INT, left, 24, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (way->local) {
        MPI_Request request;

        MPI(MPIX_Notify_init(wide, left, value, 1, &request));
        MPI(FORM(Start)(&request));
        MPI(FORM(Wait)(&request, MPI_STATUS_IGNORE));
        MPI(FORM(Request_free)(&request));
    }
    for (int i = 0; i < LONG; i++)
        CHECK(bytes[i] == got);
    if (way->complete != NULL)
        way->end();
}

static void test_completion(void)
{
    MPI_Group all;

    notify_case = "completion";
    source = malloc(LONG);
    CHECK(source != NULL);
    MPI(MPIX_Win_allocate_notify(LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &bytes, &wide));
    MPI(MPI_Win_get_group(wide, &all));
    MPI(MPI_Group_incl(all, 1, &left, &before));
    MPI(MPI_Group_incl(all, 1, &right, &after));
    for (int i = 0; i < (int)(sizeof ways / sizeof *ways); i++) {
        notify_case = ways[i].name;
        if (INTERCEPTED || ways[i].complete != NULL)
            complete(&ways[i], i + 1);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Group_free(&all));
    MPI(MPI_Group_free(&before));
    MPI(MPI_Group_free(&after));
    MPI(FORM(Win_free)(&wide));
    free(source);
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
    int level;

    if (argc < 2) {
        notify_begin(&argc, &argv);
    } else {
        MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level));
        MPI(MPI_Comm_rank(MPI_COMM_WORLD, &notify_rank));
        MPI(MPI_Comm_size(MPI_COMM_WORLD, &notify_size));
    }
    left = (notify_rank + notify_size - 1) % notify_size;
    right = (notify_rank + 1) % notify_size;
    test_first();
    MPI(MPIX_Win_allocate_notify(64, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    test_any();
    test_some();
    test_all();
    test_status();
    test_start();
    test_beside();
    test_completion();
    test_free();
    notify_case = "end";
    MPI(FORM(Win_free)(&win));
    MPI(MPI_Finalize());
    return 0;
}
