/* notify_late.c: an access that fails after its call has returned. The call that completes the request of the access
 * reports the error, whatever calls have tested the request before; and the error handler gets the error.
 *
 * The program replaces the functions by which the library asks Tern for the completion of an access, and lets some of
 * them fail. The argument "far" says that ranks 0 and 1 are on different nodes, so that accesses are outstanding when
 * their calls return; without the argument, there is nothing to test.
 *
 * notify_pmpi_late.c is the same program, linked with tern-notify-pmpi, and completes requests by their names in MPI.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <tern.h>

#include "notify_test.h"

#ifndef FORM
#define FORM(name) MPIX_##name
#define INTERCEPTED 0
#endif

enum { TAG = 4, LONGS = 1 << 20 };

static int     failures; /* this many of the next completions are failures */
static int     handled;  /* calls of error handlers */
static int     last;     /* the last error code of an error handler */
static MPI_Win win;
static long   *memory;

/* ---- the functions of Tern ---- */

static tern_status result_of(tern_status status)
{
    if (status != TERN_OK || failures == 0)
        return status;
    failures--;
    return TERN_ERR_LINK;
}

tern_status tern_inline_event_test(tern_event *event)
{
    tern_status (*test)(tern_event *);

    *(void **)&test = dlsym(RTLD_NEXT, "tern_inline_event_test");
    return result_of(test(event));
}

tern_status tern_event_wait(tern_event *event, tern_deadline deadline)
{
    tern_status (*wait)(tern_event *, tern_deadline);

    *(void **)&wait = dlsym(RTLD_NEXT, "tern_event_wait");
    return result_of(wait(event, deadline));
}

/* ---- checks ---- */

static void win_handler(MPI_Win *which, int *code, ...)
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

static int class_of(int code)
{
    int class;

    MPI(MPI_Error_class(code, &class));
    return class;
}

/* A call has returned the error of one request, and has called the error handler. */
static void expect(int code)
{
    CHECK(class_of(code) == MPI_ERR_OTHER && handled == 1 && last == code);
    handled = 0;
}

/* A call over several requests has failed because of this status. */
static void expect_in_status(int code, const MPI_Status *status)
{
    CHECK(class_of(code) == MPI_ERR_IN_STATUS && class_of(status->MPI_ERROR) == MPI_ERR_OTHER);
    CHECK(handled == 1 && last == status->MPI_ERROR);
    handled = 0;
}

/* Start a get that is going to fail. The get is long, so that it is not complete when the call returns. */
static MPI_Request start(MPI_Win where)
{
    static long found[LONGS];
    MPI_Request request;

    MPI(MPIX_Rget_notify(found, LONGS, MPI_LONG, 1, 0, LONGS, MPI_LONG, where, TAG, &request));
    failures = 1;
    return request;
}

/* Make an access that succeeds. */
static void distract(void)
{
    MPI_Request request;
    long        found = 0;

    CHECK(failures == 0);
    MPI(MPIX_Rget_notify(&found, 1, MPI_LONG, 1, 1, 1, MPI_LONG, win, TAG, &request));
    MPI(FORM(Wait)(&request, MPI_STATUS_IGNORE));
    CHECK(found == 8 && handled == 0);
}

/* Test a request until the call reports the failure. */
static void ask(MPI_Request request)
{
    int flag = 0, code = MPI_SUCCESS;

    while (code == MPI_SUCCESS) {
        code = FORM(Request_get_status)(request, &flag, MPI_STATUS_IGNORE);
        CHECK(code != MPI_SUCCESS || !flag);
    }
    CHECK(flag);
    expect(code);
}

/* ---- the cases ---- */

/* Each call for one request reports the error, also if another call has reported the error without completing the
 * request. */
static void test_single(int asked)
{
    MPI_Request request;
    MPI_Status  status;
    int         flag, index, code;

    notify_case = asked ? "one request, after MPIX_Request_get_status" : "one request";
    for (int how = 0; how < 5; how++) {
        request = start(win);
        if (asked) {
            ask(request);
            ask(request);
            distract();
        }
        for (code = MPI_SUCCESS, flag = 0; code == MPI_SUCCESS;) {
            switch (how) {
            case 0: code = FORM(Wait)(&request, &status); break;
            case 1: code = FORM(Test)(&request, &flag, &status); break;
            case 2: code = FORM(Waitany)(1, &request, &index, &status); break;
            case 3: code = FORM(Testany)(1, &request, &index, &flag, &status); break;
            default: code = FORM(Request_free)(&request);
            }
            CHECK(code != MPI_SUCCESS || ((how == 1 || how == 3) && !flag));
        }
        expect(code);
        CHECK(request == MPI_REQUEST_NULL && failures == 0);
    }
}

/* Calls for several requests return MPI_ERR_IN_STATUS, and the statuses tell which request has failed. */
static void test_several(int how, int asked)
{
    MPI_Request all[2] = { start(win), MPI_REQUEST_NULL };
    MPI_Status  statuses[2];
    long        message = 5, received = 0;
    int         flag = 1, count = 2, indices[2], code;

    notify_case = asked ? "several requests, after MPIX_Request_get_status" : "several requests";
    MPI(MPI_Irecv(&received, 1, MPI_LONG, 0, 9, MPI_COMM_WORLD, &all[1]));
    if (asked)
        ask(all[0]);
    if (how == 1) { /* a test that finds an incomplete request does not lose the error of the other one */
        for (int i = 0; i < 1000; i++) {
            MPI(FORM(Testall)(2, all, &flag, statuses));
            CHECK(!flag);
        }
    }
    MPI(MPI_Send(&message, 1, MPI_LONG, 0, 9, MPI_COMM_WORLD));
    do {
        switch (how) {
        case 0: code = FORM(Waitall)(2, all, statuses); break;
        case 1: code = FORM(Testall)(2, all, &flag, statuses); break;
        case 2: code = FORM(Waitsome)(1, all, &count, indices, statuses); break;
        default: code = FORM(Testsome)(1, all, &count, indices, statuses);
        }
    } while (code == MPI_SUCCESS && (!flag || (how == 3 && count == 0)));
    expect_in_status(code, &statuses[0]);
    CHECK(all[0] == MPI_REQUEST_NULL && flag && (how < 2 || (count == 1 && indices[0] == 0)));
    if (how < 2)
        CHECK(all[1] == MPI_REQUEST_NULL && statuses[1].MPI_ERROR == MPI_SUCCESS && statuses[1].MPI_TAG == 9);
    MPI(FORM(Wait)(&all[1], MPI_STATUS_IGNORE));
    CHECK(received == 5);
}

/* A window is freed while the request of an access that fails is outstanding. */
static void test_freed(int asked)
{
    MPI_Win     other;
    MPI_Request request = MPI_REQUEST_NULL;
    void       *base;
    int         code;

    notify_case = "a window that is freed";
    MPI(MPIX_Win_allocate_notify(LONGS * sizeof(long), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other));
    if (notify_rank == 0) {
        MPI_Errhandler handler;

        MPI(MPI_Win_create_errhandler(win_handler, &handler));
        MPI(MPI_Win_set_errhandler(other, handler));
        MPI(MPI_Errhandler_free(&handler));
        request = start(other);
        if (asked)
            ask(request);
    }
    MPI(FORM(Win_free)(&other));
    if (notify_rank == 0) {
        distract();
        code = FORM(Wait)(&request, MPI_STATUS_IGNORE);
        expect(code);
        CHECK(request == MPI_REQUEST_NULL);
    }
}

int main(int argc, char **argv)
{
    MPI_Errhandler mine, world;

    notify_begin(&argc, &argv);
    MPI(MPIX_Win_allocate_notify(LONGS * sizeof(long), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI(MPI_Win_create_errhandler(win_handler, &mine));
    MPI(MPI_Comm_create_errhandler(comm_handler, &world));
    MPI(MPI_Win_set_errhandler(win, mine));
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, world));
    memory[1] = 8;
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (!INTERCEPTED)
        MPI(MPIX_Notify_defer(1));
    if (argc > 1 && strcmp(argv[1], "far") == 0) {
        for (int asked = 0; asked < 2 && notify_rank == 0; asked++) {
            test_single(asked);
            for (int how = 0; how < 4; how++)
                test_several(how, asked);
        }
        test_freed(0);
        test_freed(1);
    }
    notify_case = "end";
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPIX_Win_free(&win));
    MPI(MPI_Errhandler_free(&mine));
    MPI(MPI_Errhandler_free(&world));
    MPI(MPI_Finalize());
    return 0;
}
