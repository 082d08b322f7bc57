/* notify.c: notified accesses and requests. */
#include "check.h"

#define ROUNDS 30

/* Promise: the data of a notified put is there when the notification is; source, tag and count are those of the access.
 * No epoch is needed. */
static void check_pairs(struct window *w)
{
    int           right = (w->me + 1) % w->n, left = (w->me + w->n - 1) % w->n, *memory = w->base, value, count;
    foMPI_Request request;
    MPI_Status    status;

    OK(foMPI_Notify_init(w->win, left, foMPI_ANY_TAG, 1, &request));
    for (int i = 0; i < ROUNDS; i++) {
        value = 1000 * i + w->me;
        OK(foMPI_Put_notify(&value, 1, MPI_INT, right, w->at[right] + 4 * i, 1, MPI_INT, w->win, i));
        OK(foMPI_Start(&request));
        OK(foMPI_Start(&request)); /* no effect: its matches stay */
        OK(foMPI_Wait(&request, &status));
        MUST(status.MPI_SOURCE == left && status.MPI_TAG == i && status.MPI_ERROR == MPI_SUCCESS);
        MPI_Get_count(&status, MPI_INT, &count);
        MUST(count == 1 && memory[i] == 1000 * i + left);
        OK(foMPI_Win_flush(right, w->win));
    }
    OK(foMPI_Wait(&request, &status)); /* not started: an empty status */
    MUST(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
    OK(foMPI_Request_free(&request));
    MUST(request == foMPI_REQUEST_NULL);
}

/* Promise: a request with a count completes after that many matches; others do not match. Accesses without data
 * notify. */
static void check_counts(struct window *w, MPI_Comm comm)
{
    foMPI_Request request, other;
    MPI_Status    status;
    int           flag, count;

    OK(foMPI_Notify_init(w->win, foMPI_ANY_SOURCE, 32767, 3 * w->n, &request));
    OK(foMPI_Notify_init(w->win, foMPI_ANY_SOURCE, 5, w->n, &other));
    OK(foMPI_Start(&request));
    for (int i = 0; i < 4; i++) {
        for (int to = 0; to < w->n; to++) {
            OK(foMPI_Put_notify(NULL, 0, MPI_DOUBLE, to, 1, 0, MPI_DOUBLE, w->win, i == 1 ? 5 : 32767));
            OK(foMPI_Put_notify(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, 0, MPI_INT, w->win, 7));
        }
    }
    OK(foMPI_Wait(&request, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    MUST(count == 3 * w->n && status.MPI_TAG == 32767 && status.MPI_SOURCE >= 0 && status.MPI_SOURCE < w->n);
    OK(foMPI_Start(&request));
    OK(foMPI_Test(&request, &flag, &status));
    MUST(!flag);
    OK(foMPI_Start(&other));
    OK(foMPI_Wait(&other, MPI_STATUS_IGNORE));
    OK(foMPI_Request_free(&request)); /* started */
    OK(foMPI_Request_free(&other));
    OK(foMPI_Notify_init(w->win, foMPI_ANY_SOURCE, 0, 0, &request)); /* waits for nothing */
    OK(foMPI_Start(&request));
    OK(foMPI_Wait(&request, &status));
    OK(foMPI_Request_free(&request));
    MPI_Barrier(comm);
}

/* Promise: the target of a notified get may overwrite the data when it is notified. Datatypes work on both sides. */
static void check_gets(struct window *w, MPI_Comm comm)
{
    int           right = (w->me + 1) % w->n, left = (w->me + w->n - 1) % w->n, *memory = w->base, got[16];
    foMPI_Request request, access;
    MPI_Status    status;
    MPI_Datatype  every_second, pairs;

    MPI_Type_vector(4, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    MPI_Type_vector(2, 2, 5, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    OK(foMPI_Notify_init(w->win, left, 9, 1, &request));
    for (int i = 0; i < 16; i++)
        memory[i] = 100 * w->me + i;
    MPI_Barrier(comm);
    OK(foMPI_Start(&request));
    memset(got, 0, sizeof got);
    OK(foMPI_Get_notify(got, 1, pairs, right, w->at[right], 1, every_second, w->win, 9));
    OK(foMPI_Wait(&request, &status));
    MUST(status.MPI_SOURCE == left);
    memset(memory, 0, 64);
    OK(foMPI_Win_flush_local_all(w->win));
    MUST(got[0] == 100 * right && got[1] == 100 * right + 2 && got[2] == 0);
    MUST(got[5] == 100 * right + 4 && got[6] == 100 * right + 6);
    MPI_Barrier(comm);
    OK(foMPI_Start(&request));
    OK(foMPI_Rput_notify(got, 1, pairs, right, w->at[right], 1, every_second, w->win, &access, 9));
    OK(foMPI_Wait(&access, MPI_STATUS_IGNORE));
    OK(foMPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(memory[0] == 100 * w->me && memory[1] == 0 && memory[6] == 100 * w->me + 6);
    MPI_Barrier(comm);
    OK(foMPI_Start(&request));
    OK(foMPI_Rget_notify(got, 4, MPI_INT, right, w->at[right], 1, every_second, w->win, &access, 9));
    OK(foMPI_Wait(&access, MPI_STATUS_IGNORE));
    MUST(got[3] == 100 * right + 6);
    OK(foMPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(foMPI_Request_free(&request));
    OK(foMPI_Type_free(&every_second));
    OK(foMPI_Type_free(&pairs));
    MPI_Barrier(comm);
}

/* Promise: the status of a request that gets complete has the source and the tag of the last get, and the number of
 * gets, however many of them arrive before the request is started. */
static void check_early_gets(struct window *w, MPI_Comm comm)
{
    enum { GETS = 3 };
    int           right = (w->me + 1) % w->n, left = (w->me + w->n - 1) % w->n, value, count, flag;
    foMPI_Request request;
    MPI_Status    status;

    OK(foMPI_Notify_init(w->win, foMPI_ANY_SOURCE, foMPI_ANY_TAG, GETS, &request));
    for (int early = 0; early <= GETS; early++) {
        for (int i = 0; i < GETS; i++) {
            if (i == early)
                OK(foMPI_Start(&request));
            if (i > early) {
                OK(foMPI_Test(&request, &flag, &status));
                MUST(!flag);
            }
            MPI_Barrier(comm);
            OK(foMPI_Get_notify(&value, 1, MPI_INT, right, w->at[right], 1, MPI_INT, w->win, 20 + i));
            OK(foMPI_Win_flush(right, w->win)); /* the notification has arrived */
            MPI_Barrier(comm);
        }
        OK(foMPI_Start(&request));
        OK(foMPI_Wait(&request, &status));
        MPI_Get_count(&status, MPI_INT, &count);
        MUST(count == GETS && status.MPI_SOURCE == left && status.MPI_TAG == 20 + GETS - 1);
        MPI_Barrier(comm);
    }
    OK(foMPI_Request_free(&request));
}

/* Promise: notified accesses with requests may be outstanding together, and complete in any order and by any call. */
static void check_outstanding(struct window *w, MPI_Comm comm)
{
    enum { MANY = 20 };
    int           right = (w->me + 1) % w->n, left = (w->me + w->n - 1) % w->n, *memory = w->base, flag = 0;
    int           out[MANY], got[MANY];
    foMPI_Request puts[MANY], gets[MANY], request;

    for (int i = 0; i < MANY; i++) {
        out[i] = 1000 * w->me + i;
        memory[i] = -1;
        memory[MANY + i] = 100 * w->me + i;
    }
    MPI_Barrier(comm);
    for (int i = 0; i < MANY; i++) {
        MPI_Aint at = w->at[right] + 4 * i;

        OK(foMPI_Rput_notify(&out[i], 1, MPI_INT, right, at, 1, MPI_INT, w->win, &puts[i], 11));
        OK(foMPI_Rget_notify(&got[i], 1, MPI_INT, right, at + 4 * MANY, 1, MPI_INT, w->win, &gets[i], 11));
    }
    OK(foMPI_Rput_notify(NULL, 0, MPI_INT, right, w->at[right], 0, MPI_INT, w->win, &request, 11));
    OK(foMPI_Request_free(&request));
    for (int i = MANY - 1; i >= 0; i--) {
        OK(foMPI_Wait(&gets[i], MPI_STATUS_IGNORE));
        MUST(got[i] == 100 * right + i && gets[i] == foMPI_REQUEST_NULL);
    }
    for (int i = 0; i < MANY; i++, flag = 0) {
        while (!flag)
            OK(foMPI_Test(&puts[i], &flag, MPI_STATUS_IGNORE));
    }
    OK(foMPI_Notify_init(w->win, left, 11, 2 * MANY + 1, &request));
    OK(foMPI_Start(&request));
    OK(foMPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(foMPI_Request_free(&request));
    for (int i = 0; i < MANY; i++)
        MUST(memory[i] == 1000 * left + i);
    MPI_Barrier(comm);
}

/* Promise: requests match what a model says, in every order of starts and arrivals. All processes send notifications
 * with tags 0 to 3 to rank 0, which takes them with random sources, tags and counts. */
static void check_model(struct window *w, MPI_Comm comm)
{
    enum { EACH = 8, TAGS = 4 };
    uint64_t      seed = 17;
    int           left[64][TAGS], all = w->n * EACH * TAGS, count, total;
    foMPI_Request request;
    MPI_Status    status;

    MUST(w->n <= 64);
    for (int i = 0; i < EACH * TAGS; i++)
        OK(foMPI_Put_notify(NULL, 0, MPI_INT, 0, 0, 0, MPI_INT, w->win, i % TAGS));
    for (int i = 0; i < 64 * TAGS; i++)
        left[i / TAGS][i % TAGS] = EACH;
    for (; w->me == 0 && all > 0; all -= total) {
        int source = draw(&seed, 2) ? (int)draw(&seed, (unsigned)w->n) : foMPI_ANY_SOURCE;
        int tag = draw(&seed, 2) ? (int)draw(&seed, TAGS) : foMPI_ANY_TAG, matching = 0;

        for (int i = 0; i < w->n * TAGS; i++) {
            if ((source < 0 || source == i / TAGS) && (tag < 0 || tag == i % TAGS))
                matching += left[i / TAGS][i % TAGS];
        }
        total = matching == 0 ? 0 : 1 + (int)draw(&seed, (unsigned)(matching < 4 ? matching : 4));
        if (total == 0)
            continue;
        OK(foMPI_Notify_init(w->win, source, tag, 1, &request));
        for (int i = 0; i < total; i++) { /* one at a time, to know what has matched */
            OK(foMPI_Start(&request));
            OK(foMPI_Wait(&request, &status));
            MPI_Get_count(&status, MPI_INT, &count);
            MUST(count == 1 && (source < 0 || status.MPI_SOURCE == source) && (tag < 0 || status.MPI_TAG == tag));
            MUST(left[status.MPI_SOURCE][status.MPI_TAG]-- > 0);
        }
        OK(foMPI_Request_free(&request));
    }
    MPI_Barrier(comm);
}

/* Promise: processes that wait for notifications let MPI move, and the other way round. A long message is under way
 * while its sender waits for a notification that the receiver sends afterwards. */
static void check_mixed_orders(struct window *w, MPI_Comm comm)
{
    size_t        bytes = 1 << 20;
    char         *out = calloc(2, bytes), *in = out + bytes;
    int           right = (w->me + 1) % w->n, left = (w->me + w->n - 1) % w->n;
    foMPI_Request note;
    MPI_Request   send;

    MUST(out != NULL);
    OK(foMPI_Notify_init(w->win, foMPI_ANY_SOURCE, 3, 1, &note));
    MPI_Isend(out, (int)bytes, MPI_CHAR, right, 1, comm, &send);
    if (w->me % 2 == 0) { /* first the message, then the notification */
        MPI_Recv(in, (int)bytes, MPI_CHAR, left, 1, comm, MPI_STATUS_IGNORE);
        OK(foMPI_Put_notify(NULL, 0, MPI_CHAR, left, 0, 0, MPI_CHAR, w->win, 3));
        OK(foMPI_Start(&note));
        OK(foMPI_Wait(&note, MPI_STATUS_IGNORE));
    } else {
        OK(foMPI_Put_notify(NULL, 0, MPI_CHAR, left, 0, 0, MPI_CHAR, w->win, 3));
        OK(foMPI_Start(&note));
        OK(foMPI_Wait(&note, MPI_STATUS_IGNORE));
        MPI_Recv(in, (int)bytes, MPI_CHAR, left, 1, comm, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    OK(foMPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    OK(foMPI_Request_free(&note));
    free(out);
}

void test_notify(MPI_Comm comm)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct window w = open_window((enum kind)kind, 256, comm);

        MPI_Barrier(comm);
        check_pairs(&w);
        MPI_Barrier(comm);
        check_counts(&w, comm);
        check_gets(&w, comm);
        check_early_gets(&w, comm);
        check_outstanding(&w, comm);
        check_model(&w, comm);
        check_mixed_orders(&w, comm);
        close_window(&w);
    }
}

/* Promise: any, some: the requests of two windows and accesses complete once each. */
void test_requests(MPI_Comm comm)
{
    struct window a = open_window(ALLOCATED, 256, comm), b = open_window(CREATED, 256, comm);
    int           right = (a.me + 1) % a.n, values[2] = { 3, 4 }, got[2], index, flag, done = 0, indices[4], some;
    foMPI_Request requests[4];
    MPI_Status    status, statuses[4];

    OK(foMPI_Notify_init(a.win, foMPI_ANY_SOURCE, 1, 1, &requests[0]));
    OK(foMPI_Notify_init(b.win, foMPI_ANY_SOURCE, 2, 1, &requests[1]));
    requests[2] = requests[3] = foMPI_REQUEST_NULL;
    OK(foMPI_Testany(4, requests, &index, &flag, &status));
    MUST(flag && index == MPI_UNDEFINED);
    OK(foMPI_Waitany(4, requests, &index, &status));
    MUST(index == MPI_UNDEFINED);
    OK(foMPI_Testsome(4, requests, &some, indices, statuses));
    MUST(some == MPI_UNDEFINED);
    OK(foMPI_Win_lock_all(0, a.win));
    OK(foMPI_Win_lock_all(0, b.win));
    OK(foMPI_Start(&requests[0]));
    OK(foMPI_Start(&requests[1]));
    OK(foMPI_Testany(2, requests, &index, &flag, &status));
    MUST(!flag && index == MPI_UNDEFINED);
    MPI_Barrier(comm);
    OK(foMPI_Rput(&values[0], 1, MPI_INT, right, a.at[right], 1, MPI_INT, a.win, &requests[2]));
    OK(foMPI_Rget(&got[0], 1, MPI_INT, right, b.at[right] + 16, 1, MPI_INT, b.win, &requests[3]));
    OK(foMPI_Put_notify(&values[1], 1, MPI_INT, right, b.at[right], 1, MPI_INT, b.win, 2));
    OK(foMPI_Put_notify(&values[1], 1, MPI_INT, right, a.at[right] + 8, 1, MPI_INT, a.win, 1));
    for (int i = 0; i < 4; i++) {
        OK(foMPI_Waitany(4, requests, &index, &status));
        MUST(index >= 0 && index < 4 && !(done >> index & 1));
        done |= 1 << index;
        MUST(index > 1 || status.MPI_TAG == index + 1);
        MUST(index < 2 || requests[index] == foMPI_REQUEST_NULL);
    }
    OK(foMPI_Start(&requests[0]));
    OK(foMPI_Start(&requests[1]));
    MPI_Barrier(comm);
    OK(foMPI_Put_notify(NULL, 0, MPI_INT, right, 0, 0, MPI_INT, a.win, 1));
    OK(foMPI_Put_notify(NULL, 0, MPI_INT, right, 0, 0, MPI_INT, b.win, 2));
    for (done = 0; done < 2; done += some) {
        OK(foMPI_Waitsome(4, requests, &some, indices, statuses));
        MUST(some >= 1 && some <= 2 && statuses[0].MPI_TAG == indices[0] + 1);
    }
    OK(foMPI_Win_unlock_all(b.win));
    OK(foMPI_Win_unlock_all(a.win));
    OK(foMPI_Request_free(&requests[0]));
    OK(foMPI_Request_free(&requests[1]));
    close_window(&b);
    close_window(&a);
}
