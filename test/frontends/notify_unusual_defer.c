/* notify_unusual_defer.c: requests of accesses that are outstanding. Accesses to another node do not wait for their
 * target, and every call that completes requests completes them, also mixed with a notification request and with a
 * request of MPI.
 *
 * The argument "far" says that rank 1 is on another node than rank 0: then rank 0 stops rank 1, starts accesses, and
 * lets rank 1 continue. A call that waited for rank 1 would hang. With the argument "threads", several threads use the
 * window.
 *
 * notify_pmpi_defer.c is the same program, linked with tern-notify-pmpi, and completes requests by their names in MPI.
 */
#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "notify_test.h"

#ifndef FORM
#define FORM(name) MPIX_##name
#define INTERCEPTED 0
#endif

enum { WORDS = 1 << 15, RPUT = 0, RGET, RECEIVE, NOTIFICATION, REQUESTS };
enum { TAG_PUT = 3, TAG_GET };

/* The calls that complete requests. */
enum how { WAIT, TEST, WAITANY, TESTANY, WAITALL, TESTALL, WAITSOME, TESTSOME, STATUS, FREE, FLUSH, FLUSH_LOCAL, HOWS };
static const char *const names[HOWS] = { "Wait",       "Test",         "Waitany",   "Testany",
                                         "Waitall",    "Testall",      "Waitsome",  "Testsome",
                                         "get_status", "Request_free", "Win_flush", "Win_flush_local" };

static MPI_Win win;
static long   *memory; /* the left neighbour puts into the first half, and gets the second half */
static long    out[WORDS], in[WORDS], fetched[WORDS], message;
static int     left, right;

/* The value of a word that a rank sends in a round. */
static long value_of(int rank, int round, int i)
{
    return 1000000l * (round + 1) + 100000l * rank + i;
}

static void fill(long *words, int rank, int round)
{
    for (int i = 0; i < WORDS; i++)
        words[i] = value_of(rank, round, i);
}

static void check_words(const long *words, int rank, int round)
{
    for (int i = 0; i < WORDS; i++)
        CHECK(words[i] == value_of(rank, round, i));
}

static void await(int source, int tag, int count)
{
    MPI_Request request;

    MPI(MPIX_Notify_init(win, source, tag, count, &request));
    MPI(MPIX_Start(&request));
    MPI(MPIX_Wait(&request, MPI_STATUS_IGNORE));
    MPI(MPIX_Request_free(&request));
}

/* Complete the requests until none is active. The calls that may complete several return indices. */
static void complete_by_index(enum how how, MPI_Request *all)
{
    MPI_Status statuses[REQUESTS];
    int        indices[REQUESTS], count, flag, left_over = REQUESTS, seen = 0;

    while (left_over > 0) {
        flag = count = 1;
        switch (how) {
        case WAITANY: MPI(FORM(Waitany)(REQUESTS, all, indices, statuses)); break;
        case TESTANY: MPI(FORM(Testany)(REQUESTS, all, indices, &flag, statuses)); break;
        case WAITSOME: MPI(FORM(Waitsome)(REQUESTS, all, &count, indices, statuses)); break;
        default: MPI(FORM(Testsome)(REQUESTS, all, &count, indices, statuses));
        }
        for (int i = 0; flag && i < count; i++) {
            CHECK(indices[i] >= 0 && indices[i] < REQUESTS && !(seen & 1 << indices[i]));
            seen |= 1 << indices[i];
            left_over--;
        }
    }
}

static void complete(enum how how, MPI_Request *all)
{
    MPI_Status statuses[REQUESTS];
    int        flag = 0;

    switch (how) {
    case WAITANY:
    case TESTANY:
    case WAITSOME:
    case TESTSOME: complete_by_index(how, all); return;
    case TESTALL:
        while (!flag)
            MPI(FORM(Testall)(REQUESTS, all, &flag, statuses));
        return;
    case FREE:
        MPI(FORM(Request_free)(&all[RPUT]));
        MPI(FORM(Request_free)(&all[RGET]));
        CHECK(all[RPUT] == MPI_REQUEST_NULL && all[RGET] == MPI_REQUEST_NULL);
        break;
    case FLUSH: MPI(FORM(Win_flush)(right, win)); break;
    case FLUSH_LOCAL: MPI(FORM(Win_flush_local)(right, win)); break;
    case WAITALL: break;
    default:
        for (int i = 0; i < REQUESTS; i++) {
            for (flag = how == WAIT; !flag;) {
                if (how == TEST)
                    MPI(FORM(Test)(&all[i], &flag, statuses));
                else
                    MPI(FORM(Request_get_status)(all[i], &flag, statuses));
            }
            if (how != TEST)
                MPI(FORM(Wait)(&all[i], MPI_STATUS_IGNORE));
        }
        return;
    }
    if (how == FREE || how == FLUSH || how == FLUSH_LOCAL)
        check_words(fetched, right, HOWS);
    MPI(FORM(Waitall)(REQUESTS, all, how == WAITALL ? statuses : MPI_STATUSES_IGNORE));
    if (how == WAITALL)
        CHECK(statuses[NOTIFICATION].MPI_TAG == TAG_PUT && statuses[RECEIVE].MPI_TAG == 9);
}

/* Every rank puts to its right neighbour and gets from it, and completes the requests in one way. */
static void test_call(enum how how)
{
    MPI_Request all[REQUESTS];

    notify_case = names[how];
    fill(out, notify_rank, how);
    memset(fetched, 0, sizeof fetched);
    MPI(MPIX_Notify_init(win, left, TAG_PUT, 1, &all[NOTIFICATION]));
    MPI(FORM(Start)(&all[NOTIFICATION]));
    MPI(MPI_Irecv(&message, 1, MPI_LONG, left, 9, MPI_COMM_WORLD, &all[RECEIVE]));
    MPI(MPIX_Rput_notify(out, WORDS, MPI_LONG, right, 0, WORDS, MPI_LONG, win, TAG_PUT, &all[RPUT]));
    MPI(MPIX_Rget_notify(fetched, WORDS, MPI_LONG, right, WORDS, WORDS, MPI_LONG, win, TAG_GET, &all[RGET]));
    MPI(MPI_Send(&out[how], 1, MPI_LONG, right, 9, MPI_COMM_WORLD));
    complete(how, all);
    CHECK(all[RPUT] == MPI_REQUEST_NULL && all[RGET] == MPI_REQUEST_NULL && all[RECEIVE] == MPI_REQUEST_NULL);
    CHECK(all[NOTIFICATION] != MPI_REQUEST_NULL && message == value_of(left, how, how));
    fill(out, notify_rank, HOWS + 1); /* the request of the put is complete, so the buffer may be modified */
    check_words(fetched, right, HOWS);
    check_words(memory, left, how);
    MPI(FORM(Request_free)(&all[NOTIFICATION]));
    await(left, TAG_GET, 1);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* A window is freed while requests of accesses are outstanding: the requests complete. */
static void test_free(void)
{
    MPI_Request all[2];
    MPI_Win     other;
    long       *base;

    notify_case = "the window is freed";
    MPI(MPIX_Win_allocate_notify(WORDS * sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other));
    fill(base, notify_rank, 5);
    memset(in, 0, sizeof in);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPIX_Rget_notify(in, WORDS, MPI_LONG, right, 0, WORDS, MPI_LONG, other, 1, &all[0]));
    MPI(MPIX_Rget_notify(fetched, 1, MPI_LONG, right, 7, 1, MPI_LONG, other, 1, &all[1]));
    MPI(FORM(Win_free)(&other));
    check_words(in, right, 5);
    CHECK(fetched[0] == value_of(right, 5, 7));
    MPI(FORM(Waitall)(2, all, MPI_STATUSES_IGNORE));
    CHECK(all[0] == MPI_REQUEST_NULL && all[1] == MPI_REQUEST_NULL);
}

/* More requests than the table has slots, completed in another order. */
static void test_many(void)
{
    enum { MANY = 700 };
    static MPI_Request all[MANY];

    notify_case = "many requests";
    for (int i = 0; i < MANY; i++)
        MPI(MPIX_Rget_notify(&in[i], 1, MPI_LONG, right, WORDS + i, 1, MPI_LONG, win, TAG_GET, &all[i]));
    for (int i = 0; i < MANY / 2; i++)
        MPI(FORM(Wait)(&all[i * 37 % (MANY / 2)], MPI_STATUS_IGNORE));
    MPI(FORM(Waitall)(MANY, all, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MANY; i++)
        CHECK(all[i] == MPI_REQUEST_NULL && in[i] == value_of(right, HOWS, i));
    await(left, TAG_GET, MANY);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* ---- threads ---- */

enum { THREADS = 3, TURNS = 100 };

/* A thread: requests of its own, some of them outstanding together, and gets that a flush completes. */
static void *run(void *arg)
{
    long        first = (long)(intptr_t)arg * TURNS, got[3];
    MPI_Request requests[2];

    for (int i = 0; i < TURNS; i++) {
        MPI_Aint at = WORDS + first + i;

        memset(got, 0, sizeof got);
        MPI(MPIX_Rget_notify(&got[0], 1, MPI_LONG, right, at, 1, MPI_LONG, win, TAG_GET, &requests[0]));
        MPI(MPIX_Rget_notify(&got[1], 1, MPI_LONG, right, at, 1, MPI_LONG, win, TAG_GET, &requests[1]));
        MPI(MPIX_Get_notify(&got[2], 1, MPI_LONG, right, at, 1, MPI_LONG, win, TAG_GET));
        if (i % 2 == 0)
            MPI(FORM(Waitall)(2, requests, MPI_STATUSES_IGNORE));
        MPI(FORM(Win_flush_local)(right, win));
        CHECK(got[2] == value_of(right, HOWS, (int)first + i));
        for (int j = 0; j < 2; j++) {
            MPI(FORM(Wait)(&requests[j], MPI_STATUS_IGNORE));
            CHECK(requests[j] == MPI_REQUEST_NULL && got[j] == got[2]);
        }
    }
    return NULL;
}

static void test_threads(void)
{
    pthread_t all[THREADS];

    notify_case = "threads";
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&all[i], NULL, run, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(all[i], NULL) == 0);
    await(left, TAG_GET, 3 * THREADS * TURNS);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* ---- accesses to a process that is stopped ---- */

/* Return whether all threads of a process are stopped. */
static int stopped(long pid)
{
    char           path[300], line[300];
    DIR           *tasks;
    struct dirent *task;
    int            all = 1;

    snprintf(path, sizeof path, "/proc/%ld/task", pid);
    tasks = opendir(path);
    CHECK(tasks != NULL);
    while ((task = readdir(tasks)) != NULL) {
        FILE *file;
        char *end;

        if (!isdigit(task->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%ld/task/%s/stat", pid, task->d_name);
        file = fopen(path, "r");
        if (file == NULL)
            continue;
        all = fgets(line, sizeof line, file) != NULL && (end = strrchr(line, ')')) != NULL && end[2] == 'T' && all;
        fclose(file);
    }
    closedir(tasks);
    return all;
}

/* None of the requests is complete, whatever call asks. */
static void check_outstanding(MPI_Request *gets, int n)
{
    int flag, count, indices[4];

    MPI(FORM(Test)(&gets[0], &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    MPI(FORM(Request_get_status)(gets[1], &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    MPI(FORM(Testall)(n, gets, &flag, MPI_STATUSES_IGNORE));
    CHECK(!flag);
    MPI(FORM(Testany)(n, gets, indices, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    MPI(FORM(Testsome)(n, gets, &count, indices, MPI_STATUSES_IGNORE));
    CHECK(count == 0);
    MPI(FORM(Cancel)(&gets[0])); /* an access cannot be cancelled */
    MPI(FORM(Test)(&gets[0], &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
}

/* Stop a process. */
static void stop(long pid)
{
    CHECK(kill((pid_t)pid, SIGSTOP) == 0);
    while (!stopped(pid))
        usleep(1000);
}

/* Let a process continue while the program waits: a wait that ends too early does so before. */
static void *let_continue(void *pid)
{
    usleep(200000);
    CHECK(kill((pid_t) * (long *)pid, SIGCONT) == 0);
    return NULL;
}

/* What rank 0 does while rank 1 is stopped. */
static void access_stopped(long pid)
{
    MPI_Request    put, gets[2];
    MPI_Errhandler handler;
    int class;
    pthread_t thread;

    MPI(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    stop(pid);
    MPI(MPIX_Get_notify(in, WORDS, MPI_LONG, 1, WORDS, WORDS, MPI_LONG, win, TAG_GET));
    MPI(MPIX_Rget_notify(fetched, WORDS, MPI_LONG, 1, WORDS, WORDS, MPI_LONG, win, TAG_GET, &gets[0]));
    MPI(MPIX_Rget_notify(&message, 1, MPI_LONG, 1, WORDS + 8, 1, MPI_LONG, win, TAG_GET, &gets[1]));
    check_outstanding(gets, 2);
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI(MPI_Error_class(FORM(Start)(&gets[0]), &class));
    CHECK(class == MPI_ERR_REQUEST);
    MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    CHECK(pthread_create(&thread, NULL, let_continue, &pid) == 0);
    MPI(FORM(Win_flush_local)(1, win));
    check_words(in, 1, HOWS);
    check_words(fetched, 1, HOWS);
    CHECK(pthread_join(thread, NULL) == 0);
    MPI(FORM(Wait)(&gets[0], MPI_STATUS_IGNORE));
    stop(pid);
    MPI(MPIX_Rput_notify(out, WORDS, MPI_LONG, 1, 0, WORDS, MPI_LONG, win, TAG_PUT, &put));
    CHECK(kill((pid_t)pid, SIGCONT) == 0);
    MPI(FORM(Wait)(&put, MPI_STATUS_IGNORE));
    MPI(FORM(Wait)(&gets[1], MPI_STATUS_IGNORE));
    CHECK(message == value_of(1, HOWS, 8) && gets[1] == MPI_REQUEST_NULL);
    MPI(MPI_Errhandler_free(&handler));
}

static void test_stopped(void)
{
    long pid = (long)getpid();

    notify_case = "a target that is stopped";
    fill(out, 0, 7);
    memset(in, 0, sizeof in);
    memset(fetched, 0, sizeof fetched);
    if (notify_rank == 0) {
        MPI(MPI_Recv(&pid, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        access_stopped(pid);
        MPI(MPI_Send(&pid, 1, MPI_LONG, 1, 2, MPI_COMM_WORLD));
    } else if (notify_rank == 1) {
        MPI(MPI_Send(&pid, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD));
        MPI(MPI_Recv(&pid, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        await(0, TAG_GET, 3);
        await(0, TAG_PUT, 1);
        check_words(memory, 0, 7);
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* Without MPIX_Notify_defer, all calls of MPI complete the requests. */
static void test_ordinary(void)
{
    MPI_Request all[3];
    long        none = 0, one[1];

    notify_case = "requests that are complete";
    MPI(MPIX_Rget_notify(one, 1, MPI_LONG, right, WORDS, 1, MPI_LONG, win, TAG_GET, &all[0]));
    MPI(MPI_Wait(&all[0], MPI_STATUS_IGNORE));
    CHECK(one[0] == value_of(right, HOWS, 0) && all[0] == MPI_REQUEST_NULL);
    MPI(MPIX_Rput_notify(out, 1, MPI_LONG, right, 0, 1, MPI_LONG, win, TAG_PUT, &all[0]));
    MPI(MPIX_Raccumulate_notify(&none, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, win, TAG_PUT, &all[1]));
    MPI(MPIX_Raccumulate_notify(&none, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, MPI_SUM, win, TAG_PUT, &all[2]));
    MPI(MPI_Waitall(3, all, MPI_STATUSES_IGNORE));
    CHECK(all[1] == MPI_REQUEST_NULL);
    await(left, TAG_GET, 1);
    await(left, TAG_PUT, 2);
    MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    int level = MPI_THREAD_SINGLE;

    if (argc > 1 && strcmp(argv[1], "threads") == 0)
        MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
    else
        MPI(MPI_Init(&argc, &argv));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &notify_rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &notify_size));
    left = (notify_rank + notify_size - 1) % notify_size;
    right = (notify_rank + 1) % notify_size;
    MPI(MPIX_Win_allocate_notify(2 * WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    fill(memory + WORDS, notify_rank, HOWS);
    MPI(MPI_Win_lock_all(0, win)); /* the flushes of MPI need an epoch */
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    test_ordinary();
    if (!INTERCEPTED)
        MPI(MPIX_Notify_defer(1));
    for (enum how how = 0; how < HOWS; how++)
        test_call(how);
    test_many();
    test_free();
    if (level == MPI_THREAD_MULTIPLE)
        test_threads();
    if (argc > 1 && strcmp(argv[1], "far") == 0)
        test_stopped();
    notify_case = "end";
    MPI(MPI_Win_unlock_all(win));
#if INTERCEPTED
    {
        int class;

        MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        MPI(MPI_Error_class(MPI_Win_free(NULL), &class));
        CHECK(class == MPI_ERR_ARG);
    }
#endif
    MPI(FORM(Win_free)(&win));
    MPI(MPI_Finalize());
    return 0;
}
