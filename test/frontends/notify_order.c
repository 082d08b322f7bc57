/* notify_order.c: MPI and notifications that wait for each other in every order do not deadlock.
 *
 * The things that ranks start and wait for are those of MPI (messages of all modes, short and long, collective calls,
 * blocking and not, accesses under a lock) and notified accesses of all kinds, one or as many as TERN_NOTIFY_QUEUE
 * holds. Partners run these cases:
 *
 *   turns    one starts the first thing and waits for the second, and then completes the first; the other one waits for
 *            the first, and then starts and completes the second
 *   chained  one starts two things and then completes both; the other one waits for the second, and then for the first
 *   crossed  both start the same and wait for the same
 *   any      both wait for a message and a notification in one call
 *
 * At the end, all ranks start a thing of MPI towards rank 0, and as many notified accesses as TERN_NOTIFY_QUEUE holds,
 * in both orders; rank 0 waits for these in both orders.
 */
#include <time.h>

#include "notify_test.h"

enum { LONG = 1 << 20, HUGE = 16 << 20, MOST_RANKS = 64 }; /* sockets keep less than HUGE bytes */
enum {
    SHORT_MESSAGE,
    LONG_MESSAGE,
    SYNCHRONOUS_MESSAGE,
    IBARRIER,
    LOCK,
    BLOCKING_MESSAGE,
    REDUCTION,
    SHORT_PUT, /* from here on, things are notified accesses */
    LONG_PUT,
    COLUMN_PUT,
    GET,
    ACCUMULATE,
    BURST,
    THINGS,
    HUGE_PUT
};
static const char *const names[THINGS] = {
    "short message", "long message", "synchronous message", "MPI_Ibarrier", "lock",       "MPI_Ssend", "MPI_Allreduce",
    "short put",     "long put",     "column put",          "get",          "accumulate", "burst"
};

static MPI_Win       win, locked; /* locked: a window of MPI */
static long         *marks;       /* its memory: what each rank has put there */
static long          marked[MOST_RANKS], seen[MOST_RANKS];
static MPI_Datatype  column;
static MPI_Comm      comm; /* of collective calls: the partners, or all ranks */
static unsigned char out[HUGE], in[LONG];
static int           other, burst = 200;

/* The accesses of a burst differ in kind. */
static void start_burst(int to)
{
    for (int i = 0; i < burst; i++) {
        if (i % 16 == 1)
            MPI(MPIX_Accumulate_notify(out, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, win, BURST));
        else if (i % 16 == 2)
            MPI(MPIX_Get_notify(out, 100, MPI_BYTE, to, 0, 100, MPI_BYTE, win, BURST));
        else if (i % 16 == 3)
            MPI(MPIX_Put_notify(out, 1, column, to, 0, 1, column, win, BURST));
        else
            MPI(MPIX_Put_notify(out, 8, MPI_BYTE, to, 0, 8, MPI_BYTE, win, BURST));
    }
}

static void put_mark(int to)
{
    marked[to]++;
    MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, locked));
    MPI(MPI_Put(&marked[to], 1, MPI_LONG, to, notify_rank, 1, MPI_LONG, locked));
    MPI(MPI_Win_unlock(to, locked));
}

/* The pauses let the other rank have the lock. */
static void await_mark(int from)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    long                  value;

    for (seen[from]++;; nanosleep(&pause, NULL)) {
        MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, notify_rank, 0, locked));
        value = marks[from];
        MPI(MPI_Win_unlock(notify_rank, locked));
        if (value >= seen[from])
            return;
    }
}

static void reduce(void)
{
    static int values[1000], sums[1000];

    MPI(MPI_Allreduce(values, sums, 1000, MPI_INT, MPI_SUM, comm));
}

/* Start a thing towards a rank. */
static void start(int thing, int to, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    switch (thing) {
    case SHORT_MESSAGE:
    case LONG_MESSAGE:
        MPI(MPI_Isend(out, thing == LONG_MESSAGE ? LONG : 1, MPI_BYTE, to, thing, MPI_COMM_WORLD, request));
        break;
    case SYNCHRONOUS_MESSAGE: MPI(MPI_Issend(out, 1, MPI_BYTE, to, thing, MPI_COMM_WORLD, request)); break;
    case BLOCKING_MESSAGE: MPI(MPI_Ssend(out, 1, MPI_BYTE, to, thing, MPI_COMM_WORLD)); break;
    case IBARRIER: MPI(MPI_Ibarrier(comm, request)); break;
    case REDUCTION: reduce(); break;
    case LOCK: put_mark(to); break;
    case SHORT_PUT: MPI(MPIX_Put_notify(out, 8, MPI_BYTE, to, 0, 8, MPI_BYTE, win, thing)); break;
    case LONG_PUT: MPI(MPIX_Put_notify(out, LONG, MPI_BYTE, to, 0, LONG, MPI_BYTE, win, thing)); break;
    case HUGE_PUT: MPI(MPIX_Put_notify(out, HUGE, MPI_BYTE, to, 0, HUGE, MPI_BYTE, win, thing)); break;
    case COLUMN_PUT: MPI(MPIX_Put_notify(out, 1, column, to, 0, 1, column, win, thing)); break;
    case GET: MPI(MPIX_Get_notify(out, 100, MPI_BYTE, to, 0, 100, MPI_BYTE, win, thing)); break;
    case ACCUMULATE: MPI(MPIX_Accumulate_notify(out, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, win, thing)); break;
    default: start_burst(to);
    }
}

static void await_notifications(int thing, int from, int count)
{
    MPI_Request request;

    MPI(MPIX_Notify_init(win, from, thing, count, &request));
    MPI(MPIX_Start(&request));
    MPI(MPIX_Wait(&request, MPI_STATUS_IGNORE));
    MPI(MPIX_Request_free(&request));
}

/* Wait for a thing that a rank starts. */
static void await_thing(int thing, int from)
{
    MPI_Request request;

    switch (thing) {
    case SHORT_MESSAGE:
    case LONG_MESSAGE:
    case SYNCHRONOUS_MESSAGE:
    case BLOCKING_MESSAGE: MPI(MPI_Recv(in, LONG, MPI_BYTE, from, thing, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); break;
    case IBARRIER:
        MPI(MPI_Ibarrier(comm, &request));
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        break;
    case REDUCTION: reduce(); break;
    case LOCK: await_mark(from); break;
    default: await_notifications(thing, from, thing == BURST ? burst : 1);
    }
}

static void complete(MPI_Request *request, int to)
{
    if (*request != MPI_REQUEST_NULL)
        MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
    MPI(MPIX_Win_flush(to, win));
}

/* Whether a thing is a collective call. */
static int collective(int thing)
{
    return thing == IBARRIER || thing == REDUCTION;
}

/* Whether a start returns only when the other side waits. */
static int blocks(int thing)
{
    return thing == BLOCKING_MESSAGE || thing == REDUCTION;
}

static void turns(int first, int second)
{
    MPI_Request request;

    if (notify_rank % 2 == 0) {
        start(first, other, &request);
        await_thing(second, other);
    } else {
        await_thing(first, other);
        start(second, other, &request);
    }
    complete(&request, other);
}

static void chained(int first, int second)
{
    MPI_Request one, two;

    if (blocks(first) || (collective(first) && collective(second)))
        return;
    if (notify_rank % 2 == 0) {
        start(first, other, &one);
        start(second, other, &two);
        complete(&one, other);
        complete(&two, other);
    } else {
        await_thing(second, other);
        await_thing(first, other);
    }
}

static void crossed(int thing)
{
    MPI_Request request;

    if (blocks(thing) || thing == IBARRIER)
        return;
    start(thing, other, &request);
    await_thing(thing, other);
    complete(&request, other);
}

/* Wait for a message and a notification at once; they arrive in the order that the case says. */
static void any(int message, int put, int message_first)
{
    MPI_Request waits[2], sent, none;
    int         index, seen = 0;

    MPI(MPI_Irecv(in, LONG, MPI_BYTE, other, message, MPI_COMM_WORLD, &waits[0]));
    MPI(MPIX_Notify_init(win, other, put, 1, &waits[1]));
    MPI(MPIX_Start(&waits[1]));
    start(message_first ? message : put, other, message_first ? &sent : &none);
    start(message_first ? put : message, other, message_first ? &none : &sent);
    for (int i = 0; i < 2; i++) {
        MPI(MPIX_Waitany(2, waits, &index, MPI_STATUS_IGNORE));
        CHECK(index == 0 || index == 1);
        seen |= 1 << index;
    }
    CHECK(seen == 3);
    MPI(MPIX_Waitany(2, waits, &index, MPI_STATUS_IGNORE));
    CHECK(index == MPI_UNDEFINED);
    MPI(MPIX_Request_free(&waits[1]));
    complete(&sent, other);
}

/* Rank 0 waits for a thing of MPI from all other ranks. */
static void await_all(int thing)
{
    if (collective(thing)) {
        await_thing(thing, 0);
        return;
    }
    for (int from = 1; from < notify_size; from++)
        await_thing(thing, from);
}

/* All ranks start a thing of MPI towards rank 0, and a burst. */
static void all_to_one(int thing, int burst_first, int await_burst_first)
{
    MPI_Request request;

    if (!burst_first && await_burst_first && blocks(thing))
        return;
    if (notify_rank != 0) {
        if (burst_first)
            start_burst(0);
        start(thing, 0, &request);
        if (!burst_first)
            start_burst(0);
        complete(&request, 0);
        return;
    }
    if (!await_burst_first)
        await_all(thing);
    await_notifications(BURST, MPI_ANY_SOURCE, burst * (notify_size - 1));
    if (await_burst_first)
        await_all(thing);
}

static void test_partners(void)
{
    char name[128];

    for (int i = 0; i < THINGS; i++) {
        for (int j = 0; j < THINGS; j++) {
            snprintf(name, sizeof name, "%s, then %s", names[i], names[j]);
            notify_case = name;
            turns(i, j);
            snprintf(name, sizeof name, "%s and %s, chained", names[i], names[j]);
            chained(i, j);
        }
        snprintf(name, sizeof name, "crossed, %s", names[i]);
        crossed(i);
    }
    notify_case = "huge put";
    for (int j = 0; j < BURST; j += 4)
        turns(HUGE_PUT, j);
    notify_case = "any of a message and a notification";
    for (int i = 0; i < 8; i++)
        any(i & 1 ? LONG_MESSAGE : SHORT_MESSAGE, i & 2 ? COLUMN_PUT : SHORT_PUT, i & 4);
}

static void test_all_to_one(void)
{
    char name[128];

    comm = MPI_COMM_WORLD;
    for (int i = 0; i < SHORT_PUT; i++) {
        for (int order = 0; order < 4; order++) {
            snprintf(name, sizeof name, "%s and bursts to rank 0, order %d", names[i], order);
            notify_case = name;
            MPI(MPI_Barrier(MPI_COMM_WORLD)); /* the queues are empty */
            all_to_one(i, order & 1, order & 2);
        }
    }
}

int main(int argc, char **argv)
{
    const char *queue = getenv("TERN_NOTIFY_QUEUE");
    char       *memory;
    MPI_Comm    pair;

    notify_begin(&argc, &argv);
    CHECK(notify_size <= MOST_RANKS);
    if (queue != NULL)
        burst = atoi(queue);
    MPI(MPIX_Win_allocate_notify(HUGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI(MPI_Win_allocate(sizeof marked, sizeof *marks, MPI_INFO_NULL, MPI_COMM_WORLD, &marks, &locked));
    memset(marks, 0, sizeof marked);
    MPI(MPI_Type_vector(100, 1, 7, MPI_INT, &column));
    MPI(MPI_Type_commit(&column));
    MPI(MPI_Comm_split(MPI_COMM_WORLD, notify_rank / 2, 0, &pair));
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    other = notify_rank ^ 1;
    comm = pair;
    if (other < notify_size)
        test_partners();
    if (notify_size > 1)
        test_all_to_one();
    notify_case = "end";
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Comm_free(&pair));
    MPI(MPI_Type_free(&column));
    MPI(MPI_Win_free(&locked));
    MPI(MPIX_Win_free(&win));
    MPI(MPI_Finalize());
    return 0;
}
