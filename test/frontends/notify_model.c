/* notify_model.c: notifications match requests as the paper says, compared with a model.
 *
 * All ranks draw the same random steps: a notified put, the start of a request, a cancellation, a new request. Requests
 * have random sources, tags (also wildcards) and counts. After each step, all ranks meet, and each compares the state
 * of its requests and probes with a model: a list of unexpected notifications and a list of started requests, both in
 * order. A notification matches the request that was started first among those that accept it; a request that is
 * started takes the oldest notifications; and starting a request that is not complete keeps its matches.
 *
 * Arguments: seed, steps.
 */
#include "notify_test.h"

enum { REQUESTS = 5, TAGS = 3, KEPT = 4096 };

/* A notification. */
struct note {
    int source, tag;
};

/* A request and its model. */
struct model {
    MPI_Request handle;
    int         source, tag, count;
    int         started, matches;
    long        order; /* of the start */
    struct note last;
};

static MPI_Comm     comm;
static MPI_Win      win, markers; /* markers: a notification there follows each one in win */
static MPI_Request  marker;
static int          me, size;
static struct model requests[REQUESTS];
static struct note  unexpected[KEPT];
static int          waiting; /* unexpected notifications */
static long         starts;

static int accepts(int source, int tag, struct note note)
{
    return (source == MPI_ANY_SOURCE || source == note.source) && (tag == MPI_ANY_TAG || tag == note.tag);
}

static void match(struct model *r, struct note note)
{
    r->matches++;
    r->last = note;
}

/* A notification arrives at this rank. */
static void arrive(struct note note)
{
    struct model *first = NULL;

    for (int i = 0; i < REQUESTS; i++) {
        struct model *r = &requests[i];

        if (r->started && r->matches < r->count && accepts(r->source, r->tag, note) &&
            (first == NULL || r->order < first->order))
            first = r;
    }
    if (first != NULL) {
        match(first, note);
    } else {
        CHECK(waiting < KEPT);
        unexpected[waiting++] = note;
    }
}

static void take_unexpected(struct model *r)
{
    int kept = 0;

    for (int i = 0; i < waiting; i++) {
        if (r->matches < r->count && accepts(r->source, r->tag, unexpected[i]))
            match(r, unexpected[i]);
        else
            unexpected[kept++] = unexpected[i];
    }
    waiting = kept;
}

static void start(struct model *r)
{
    MPI(MPIX_Start(&r->handle));
    if (r->started && r->matches < r->count)
        return; /* it keeps its matches */
    r->started = 1;
    r->matches = 0;
    r->order = starts++;
    take_unexpected(r);
}

static void cancel(struct model *r)
{
    MPI_Status status;
    int        cancelled;

    MPI(MPIX_Cancel(&r->handle));
    MPI(MPIX_Wait(&r->handle, &status));
    if (r->started) {
        MPI(MPI_Test_cancelled(&status, &cancelled));
        CHECK(cancelled == (r->matches < r->count));
    }
    r->started = 0;
}

/* Draw the parameters of a request. All ranks draw, and the rank that owns the request makes it. */
static void draw(struct model *r, int owner)
{
    int source = below(3) == 0 ? MPI_ANY_SOURCE : below(size), tag = below(3) == 0 ? MPI_ANY_TAG : below(TAGS);
    int count = 1 + below(3);

    if (owner != me)
        return;
    if (r->handle != MPI_REQUEST_NULL)
        MPI(MPIX_Request_free(&r->handle));
    *r = (struct model){ MPI_REQUEST_NULL, source, tag, count, 0, 0, 0, { 0, 0 } };
    MPI(MPIX_Notify_init(win, source, tag, count, &r->handle));
}

/* Compare the requests with the model. */
static void compare_requests(void)
{
    for (int i = 0; i < REQUESTS; i++) {
        struct model *r = &requests[i];
        MPI_Status    status;
        int           flag, count;

        MPI(MPIX_Test(&r->handle, &flag, &status));
        CHECK(flag == (!r->started || r->matches == r->count));
        if (!flag)
            continue;
        MPI(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == (r->started ? r->count : 0));
        CHECK(!r->started || (status.MPI_SOURCE == r->last.source && status.MPI_TAG == r->last.tag));
        r->started = 0;
    }
}

/* Compare a probe with the model. */
static void compare_probe(int source, int tag)
{
    MPI_Status status;
    int        flag, i = 0;

    while (i < waiting && !accepts(source, tag, unexpected[i]))
        i++;
    MPI(MPIX_Iprobe_notify(source, tag, win, &flag, &status));
    CHECK(flag == (i < waiting));
    CHECK(!flag || (status.MPI_SOURCE == unexpected[i].source && status.MPI_TAG == unexpected[i].tag));
    if (flag)
        MPI(MPIX_Probe_notify(source, tag, win, &status));
}

static void step(void)
{
    int what = below(20), one = below(size), two = below(size), tag = below(TAGS), which = below(REQUESTS),
        bytes = below(3);

    if (what < 12) {
        if (one == me) {
            long value = tag;

            MPI(MPIX_Put_notify(&value, bytes, MPI_BYTE, two, 0, bytes, MPI_BYTE, win, tag));
            MPI(MPIX_Win_flush(two, win));
            MPI(MPIX_Put_notify(NULL, 0, MPI_BYTE, two, 0, 0, MPI_BYTE, markers, 0));
        }
        if (two == me) {
            MPI(MPIX_Start(&marker));
            MPI(MPIX_Wait(&marker, MPI_STATUS_IGNORE)); /* what was delivered before it has arrived, too */
            arrive((struct note){ one, tag });
        }
    } else if (what < 18) {
        if (one == me)
            start(&requests[which]);
    } else if (what < 19) {
        if (one == me)
            cancel(&requests[which]);
    } else {
        draw(&requests[which], one);
    }
    MPI(MPI_Barrier(comm));
    compare_requests();
    compare_probe(below(2) ? MPI_ANY_SOURCE : one, below(2) ? MPI_ANY_TAG : tag);
    MPI(MPI_Barrier(comm));
}

int main(int argc, char **argv)
{
    char *memory;
    int   steps = argc > 2 ? atoi(argv[2]) : 300;

    notify_begin(&argc, &argv);
    notify_seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    comm = make_comm(REVERSED);
    MPI(MPI_Comm_rank(comm, &me));
    MPI(MPI_Comm_size(comm, &size));
    MPI(MPIX_Win_allocate_notify(64, 1, MPI_INFO_NULL, comm, &memory, &win));
    MPI(MPIX_Win_allocate_notify(0, 1, MPI_INFO_NULL, comm, &memory, &markers));
    MPI(MPIX_Notify_init(markers, MPI_ANY_SOURCE, 0, 1, &marker));
    for (int i = 0; i < REQUESTS; i++)
        requests[i].handle = MPI_REQUEST_NULL;
    for (int rank = 0; rank < size; rank++) {
        for (int i = 0; i < REQUESTS; i++)
            draw(&requests[i], rank);
    }
    for (int i = 0; i < steps; i++) {
        char name[32];

        snprintf(name, sizeof name, "step %d", i);
        notify_case = name;
        step();
    }
    notify_case = "end";
    for (int i = 0; i < REQUESTS; i++)
        MPI(MPIX_Request_free(&requests[i].handle));
    MPI(MPIX_Request_free(&marker));
    MPI(MPIX_Win_free(&markers));
    MPI(MPIX_Win_free(&win));
    MPI(MPI_Comm_free(&comm));
    MPI(MPI_Finalize());
    return 0;
}
