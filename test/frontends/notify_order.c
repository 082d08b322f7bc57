/* notify_order.c: MPI and notifications that wait for each other in every order do not deadlock.
 *
 * In each case, a rank starts one thing, waits for another, and completes the first; its partner waits for the first,
 * and then starts and completes the other. The things are messages of MPI, short and long, and notified accesses of all
 * kinds, one or a burst. In a second round, both partners start the same and wait for the same. A third round mixes
 * both kinds in one wait for any.
 */
#include "notify_test.h"

enum { LONG = 1 << 20, HUGE = 16 << 20, BURST = 200 }; /* sockets keep less than HUGE bytes */
enum { SHORT_MESSAGE, LONG_MESSAGE, SHORT_PUT, LONG_PUT, COLUMN_PUT, GET, ACCUMULATE, PUT_BURST, THINGS, HUGE_PUT };
static const char *const names[THINGS] = { "short message", "long message", "short put",  "long put",
                                           "column put",    "get",          "accumulate", "burst of puts" };

static MPI_Win       win;
static MPI_Datatype  column;
static unsigned char out[HUGE], in[LONG];
static int           other;

static void start(int thing, MPI_Request *request)
{
    int n = thing == PUT_BURST ? BURST : 1;

    *request = MPI_REQUEST_NULL;
    switch (thing) {
    case SHORT_MESSAGE:
    case LONG_MESSAGE:
        MPI(MPI_Isend(out, thing == LONG_MESSAGE ? LONG : 1, MPI_BYTE, other, thing, MPI_COMM_WORLD, request));
        break;
    case LONG_PUT: MPI(MPIX_Put_notify(out, LONG, MPI_BYTE, other, 0, LONG, MPI_BYTE, win, thing)); break;
    case HUGE_PUT: MPI(MPIX_Put_notify(out, HUGE, MPI_BYTE, other, 0, HUGE, MPI_BYTE, win, thing)); break;
    case COLUMN_PUT: MPI(MPIX_Put_notify(out, 1, column, other, 0, 1, column, win, thing)); break;
    case GET: MPI(MPIX_Get_notify(out, 100, MPI_BYTE, other, 0, 100, MPI_BYTE, win, thing)); break;
    case ACCUMULATE: MPI(MPIX_Accumulate_notify(out, 1, MPI_INT, other, 0, 1, MPI_INT, MPI_SUM, win, thing)); break;
    default:
        for (int i = 0; i < n; i++)
            MPI(MPIX_Put_notify(out, 8, MPI_BYTE, other, 0, 8, MPI_BYTE, win, thing));
    }
}

static void await_thing(int thing)
{
    MPI_Request request;

    if (thing == SHORT_MESSAGE || thing == LONG_MESSAGE) {
        MPI(MPI_Recv(in, LONG, MPI_BYTE, other, thing, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        return;
    }
    MPI(MPIX_Notify_init(win, other, thing, thing == PUT_BURST ? BURST : 1, &request));
    MPI(MPIX_Start(&request));
    MPI(MPIX_Wait(&request, MPI_STATUS_IGNORE));
    MPI(MPIX_Request_free(&request));
}

static void complete(MPI_Request *request)
{
    if (*request != MPI_REQUEST_NULL)
        MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
    MPI(MPIX_Win_flush(other, win));
}

static void turns(int first, int second)
{
    MPI_Request request;

    if (notify_rank % 2 == 0) {
        start(first, &request);
        await_thing(second);
    } else {
        await_thing(first);
        start(second, &request);
    }
    complete(&request);
}

static void crossed(int thing)
{
    MPI_Request request;

    start(thing, &request);
    await_thing(thing);
    complete(&request);
}

/* Wait for a message and a notification at once; they arrive in the order that the case says. */
static void any(int message, int put, int message_first)
{
    MPI_Request waits[2], sent, none;
    int         index, seen = 0;

    MPI(MPI_Irecv(in, LONG, MPI_BYTE, other, message, MPI_COMM_WORLD, &waits[0]));
    MPI(MPIX_Notify_init(win, other, put, 1, &waits[1]));
    MPI(MPIX_Start(&waits[1]));
    start(message_first ? message : put, message_first ? &sent : &none);
    start(message_first ? put : message, message_first ? &none : &sent);
    for (int i = 0; i < 2; i++) {
        MPI(MPIX_Waitany(2, waits, &index, MPI_STATUS_IGNORE));
        CHECK(index == 0 || index == 1);
        seen |= 1 << index;
    }
    CHECK(seen == 3);
    MPI(MPIX_Waitany(2, waits, &index, MPI_STATUS_IGNORE));
    CHECK(index == MPI_UNDEFINED);
    MPI(MPIX_Request_free(&waits[1]));
    complete(&sent);
}

int main(int argc, char **argv)
{
    char  name[128];
    char *memory;

    notify_begin(&argc, &argv);
    MPI(MPIX_Win_allocate_notify(HUGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    MPI(MPI_Type_vector(100, 1, 7, MPI_INT, &column));
    MPI(MPI_Type_commit(&column));
    other = notify_rank ^ 1;
    for (int i = 0; other < notify_size && i < THINGS; i++) {
        for (int j = 0; j < THINGS; j++) {
            snprintf(name, sizeof name, "%s, then %s", names[i], names[j]);
            notify_case = name;
            turns(i, j);
        }
        snprintf(name, sizeof name, "crossed, %s", names[i]);
        crossed(i);
    }
    for (int j = 0; other < notify_size && j < PUT_BURST; j += LONG_PUT) {
        notify_case = "huge put";
        turns(HUGE_PUT, j);
    }
    for (int i = 0; other < notify_size && i < 8; i++) {
        notify_case = "any of a message and a notification";
        any(i & 1 ? LONG_MESSAGE : SHORT_MESSAGE, i & 2 ? COLUMN_PUT : SHORT_PUT, i & 4);
    }
    notify_case = "end";
    MPI(MPI_Barrier(MPI_COMM_WORLD));
    MPI(MPI_Type_free(&column));
    MPI(MPIX_Win_free(&win));
    MPI(MPI_Finalize());
    return 0;
}
