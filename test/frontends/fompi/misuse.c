/* misuse.c: misuse returns the class of the error, and changes nothing. fompi.sh checks the texts. */
#include "check.h"

#define BAD(class, call) MUST((call) == (class))

static void misuse_arguments(struct window *w)
{
    double    values[2] = { 1, 2 };
    int       next = (w->me + 1) % w->n, number = 1, lengths[2] = { 1, 1 };
    MPI_Aint  places[2] = { 0, 8 };
    foMPI_Win none = foMPI_WIN_NULL;

    MPI_Datatype  kinds[2] = { MPI_DOUBLE, MPI_INT }, mixed;
    foMPI_Request request;

    MPI_Type_create_struct(2, lengths, places, kinds, &mixed);
    MPI_Type_commit(&mixed);
    OK(foMPI_Win_lock_all(0, w->win));
    BAD(MPI_ERR_WIN, foMPI_Put(values, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, none));
    BAD(MPI_ERR_RANK, foMPI_Put(values, 1, MPI_DOUBLE, w->n, 0, 1, MPI_DOUBLE, w->win));
    BAD(MPI_ERR_COUNT, foMPI_Get(values, -1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, w->win));
    BAD(MPI_ERR_TYPE, foMPI_Get(values, 1, MPI_DATATYPE_NULL, next, 0, 1, MPI_DOUBLE, w->win));
    BAD(MPI_ERR_TYPE, foMPI_Get(values, 1, MPI_INT, next, 0, 1, MPI_DOUBLE, w->win));
    BAD(MPI_ERR_TYPE, foMPI_Put(values, 1, MPI_DOUBLE, next, 0, 1, MPI_INT, w->win));
    BAD(MPI_ERR_DISP, foMPI_Get(values, 1, MPI_DOUBLE, next, -8, 1, MPI_DOUBLE, w->win));
    BAD(MPI_ERR_RMA_RANGE, foMPI_Put(values, 2, MPI_DOUBLE, next, w->at[next] + 250, 2, MPI_DOUBLE, w->win));
    BAD(MPI_ERR_ARG, foMPI_Rput(values, 1, MPI_DOUBLE, next, w->at[next], 1, MPI_DOUBLE, w->win, NULL));
    BAD(MPI_ERR_OP, foMPI_Accumulate(values, 1, MPI_DOUBLE, next, w->at[next], 1, MPI_DOUBLE, 99, w->win));
    BAD(MPI_ERR_OP, foMPI_Accumulate(values, 1, MPI_DOUBLE, next, w->at[next], 1, MPI_DOUBLE, foMPI_BAND, w->win));
    BAD(MPI_ERR_TYPE, foMPI_Accumulate(values, 1, mixed, next, w->at[next], 1, mixed, foMPI_SUM, w->win));
    BAD(MPI_ERR_TYPE, foMPI_Accumulate(values, 1, MPI_DOUBLE, next, w->at[next], 1, MPI_INT64_T, foMPI_SUM, w->win));
    BAD(MPI_ERR_TYPE, foMPI_Compare_and_swap(values, values, values, mixed, next, w->at[next], w->win));
    BAD(MPI_ERR_TYPE, foMPI_Compare_and_swap(values, values, values, MPI_DOUBLE, next, w->at[next], w->win));
    BAD(MPI_ERR_TYPE, foMPI_Compare_and_swap(values, values, values, MPI_FLOAT, next, w->at[next], w->win));
    BAD(MPI_ERR_TYPE, foMPI_Compare_and_swap(values, values, values, MPI_2INT, next, w->at[next], w->win));
    BAD(MPI_ERR_ARG, foMPI_Compare_and_swap(values, values, values + 1, MPI_INT64_T, next, w->at[next] + 1, w->win));
    OK(foMPI_Win_unlock_all(w->win));
    BAD(MPI_ERR_TAG, foMPI_Put_notify(&number, 1, MPI_INT, next, w->at[next], 1, MPI_INT, w->win, 32768));
    BAD(MPI_ERR_TAG, foMPI_Get_notify(&number, 1, MPI_INT, next, w->at[next], 1, MPI_INT, w->win, -3));
    BAD(MPI_ERR_TAG, foMPI_Notify_init(w->win, next, -1, 1, &request));
    BAD(MPI_ERR_RANK, foMPI_Notify_init(w->win, w->n, 1, 1, &request));
    BAD(MPI_ERR_COUNT, foMPI_Notify_init(w->win, next, 1, -1, &request));
    BAD(MPI_ERR_WIN, foMPI_Notify_init(none, next, 1, 1, &request));
    OK(foMPI_Type_free(&mixed));
}

/* Accesses whose number of bytes does not fit into 64 bits: their numbers would wrap around to 16 bytes. */
static void misuse_sizes(struct window *w)
{
    int          next = (w->me + 1) % w->n, lengths[2] = { 1, 1 };
    MPI_Aint     places[2] = { 0, (MPI_Aint)1 << 60 };
    MPI_Datatype giga, parts[2] = { MPI_DATATYPE_NULL, MPI_BYTE }, odd;
    char         bytes[16];

    memset(bytes, 1, sizeof bytes);
    MPI_Type_contiguous(1 << 30, MPI_BYTE, &giga);
    MPI_Type_contiguous(1 << 30, giga, &parts[0]);
    MPI_Type_create_struct(2, lengths, places, parts, &odd); /* 2^60 + 1 bytes */
    MPI_Type_commit(&odd);
    OK(foMPI_Win_lock_all(0, w->win));
    BAD(MPI_ERR_COUNT, foMPI_Put(bytes, 16, odd, next, w->at[next], 16, odd, w->win));
    BAD(MPI_ERR_COUNT, foMPI_Put(bytes, 16, MPI_BYTE, next, w->at[next], 16, odd, w->win));
    BAD(MPI_ERR_COUNT, foMPI_Get(bytes, 16, odd, next, w->at[next], 16, odd, w->win));
    if (w->kind != DYNAMIC) /* such an access to a dynamic window may move the bytes that are attached */
        BAD(MPI_ERR_RMA_RANGE, foMPI_Get(bytes, 1, odd, next, w->at[next], 1, odd, w->win));
    OK(foMPI_Win_unlock_all(w->win));
    OK(foMPI_Type_free(&odd));
    OK(foMPI_Type_free(&parts[0]));
    OK(foMPI_Type_free(&giga));
}

/* Buffers that are NULL, and results of another type than the target. */
static void misuse_buffers(struct window *w)
{
    const MPI_Aint at = w->at[(w->me + 1) % w->n];
    const int      next = (w->me + 1) % w->n;
    long           value = 1, result = 7;
    double         real = 7;
    MPI_Datatype   place;
    MPI_Aint       address;

    OK(foMPI_Win_lock_all(0, w->win));
    BAD(MPI_ERR_BUFFER, foMPI_Accumulate(NULL, 1, MPI_LONG, next, at, 1, MPI_LONG, foMPI_SUM, w->win));
    BAD(MPI_ERR_BUFFER, foMPI_Accumulate(NULL, 1, MPI_LONG, next, at, 1, MPI_LONG, foMPI_LAND, w->win));
    BAD(MPI_ERR_BUFFER, foMPI_Fetch_and_op(NULL, &result, MPI_LONG, next, at, foMPI_SUM, w->win));
    BAD(MPI_ERR_BUFFER, foMPI_Fetch_and_op(&value, NULL, MPI_LONG, next, at, foMPI_REPLACE, w->win));
    BAD(MPI_ERR_BUFFER, foMPI_Fetch_and_op(NULL, NULL, MPI_LONG, next, at, foMPI_NO_OP, w->win));
    BAD(MPI_ERR_BUFFER, foMPI_Compare_and_swap(&value, &result, NULL, MPI_LONG, next, at, w->win));
    BAD(MPI_ERR_BUFFER,
        foMPI_Get_accumulate(&value, 1, MPI_LONG, NULL, 1, MPI_LONG, next, at, 1, MPI_LONG, foMPI_LOR, w->win));
    BAD(MPI_ERR_TYPE,
        foMPI_Get_accumulate(&value, 1, MPI_LONG, &real, 1, MPI_DOUBLE, next, at, 1, MPI_LONG, foMPI_REPLACE, w->win));
    MUST(result == 7 && real == 7);
    MPI_Get_address(&result, &address); /* an absolute address: the result is relative to MPI_BOTTOM, which is NULL */
    MPI_Type_create_hindexed_block(1, 1, &address, MPI_LONG, &place);
    MPI_Type_commit(&place);
    OK(foMPI_Get_accumulate(NULL, 0, MPI_LONG, MPI_BOTTOM, 1, place, next, at, 1, MPI_LONG, foMPI_NO_OP, w->win));
    OK(foMPI_Type_free(&place));
    OK(foMPI_Win_unlock_all(w->win));
    MUST(result == 0);
}

static void misuse_epochs(struct window *w, MPI_Comm comm)
{
    int       value = 1, flag, next = (w->me + 1) % w->n;
    MPI_Group all;

    MPI_Comm_group(comm, &all);
    BAD(MPI_ERR_RMA_SYNC, foMPI_Put(&value, 1, MPI_INT, next, w->at[next], 1, MPI_INT, w->win));
    BAD(MPI_ERR_RMA_SYNC, foMPI_Win_unlock(next, w->win));
    BAD(MPI_ERR_RMA_SYNC, foMPI_Win_unlock_all(w->win));
    BAD(MPI_ERR_RMA_SYNC, foMPI_Win_complete(w->win));
    BAD(MPI_ERR_RMA_SYNC, foMPI_Win_wait(w->win));
    BAD(MPI_ERR_RMA_SYNC, foMPI_Win_test(w->win, &flag));
    BAD(MPI_ERR_LOCKTYPE, foMPI_Win_lock(4711, next, 0, w->win));
    BAD(MPI_ERR_RANK, foMPI_Win_lock(foMPI_LOCK_SHARED, -7, 0, w->win));
    BAD(MPI_ERR_RANK, foMPI_Win_flush(w->n, w->win));
    OK(foMPI_Win_lock(foMPI_LOCK_SHARED, next, 0, w->win));
    BAD(MPI_ERR_RMA_SYNC, foMPI_Win_lock(foMPI_LOCK_SHARED, next, 0, w->win));
    BAD(MPI_ERR_RMA_SYNC, foMPI_Win_lock_all(0, w->win));
    BAD(MPI_ERR_RMA_SYNC, foMPI_Win_fence(0, w->win));
    BAD(MPI_ERR_RMA_SYNC, foMPI_Win_start(all, 0, w->win));
    if (w->n > 1)
        BAD(MPI_ERR_RMA_SYNC, foMPI_Put(&value, 1, MPI_INT, w->me, w->at[w->me], 1, MPI_INT, w->win));
    OK(foMPI_Win_unlock(next, w->win));
    MPI_Barrier(comm);
    OK(foMPI_Win_post(all, 0, w->win));
    OK(foMPI_Win_start(all, 0, w->win));
    BAD(MPI_ERR_RMA_SYNC, foMPI_Win_post(all, 0, w->win));
    BAD(MPI_ERR_RMA_SYNC, foMPI_Win_start(all, 0, w->win));
    BAD(MPI_ERR_RMA_SYNC, foMPI_Win_lock(foMPI_LOCK_SHARED, next, 0, w->win));
    OK(foMPI_Win_complete(w->win));
    BAD(MPI_ERR_RMA_SYNC, foMPI_Win_fence(0, w->win));
    OK(foMPI_Win_wait(w->win));
    MPI_Group_free(&all);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_size(all, &flag);
    if (flag > w->n) { /* not all processes of the job are processes of the window */
        BAD(MPI_ERR_GROUP, foMPI_Win_start(all, 0, w->win));
        BAD(MPI_ERR_GROUP, foMPI_Win_post(all, 0, w->win));
    }
    MPI_Group_free(&all);
    BAD(MPI_ERR_GROUP, foMPI_Win_post(MPI_GROUP_NULL, 0, w->win));
}

static void misuse_windows(MPI_Comm comm)
{
    char      memory[64], name[MPI_MAX_OBJECT_NAME + 40];
    int       me, value, flag, keyval = 900, length;
    void     *base;
    foMPI_Win win, old;

    MPI_Comm_rank(comm, &me);
    BAD(MPI_ERR_DISP, foMPI_Win_allocate(8, me == 0 ? 0 : 1, MPI_INFO_NULL, comm, &base, &win)); /* all get the error */
    BAD(MPI_ERR_SIZE, foMPI_Win_allocate(me == 0 ? -8 : 8, 1, MPI_INFO_NULL, comm, &base, &win));
    BAD(MPI_ERR_BASE, foMPI_Win_create(me == 0 ? NULL : memory, 8, 1, MPI_INFO_NULL, comm, &win));
    BAD(MPI_ERR_COMM, foMPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win));
    BAD(MPI_ERR_ARG, foMPI_Win_create(memory, 8, 1, MPI_INFO_NULL, comm, NULL));
    BAD(MPI_ERR_ARG, foMPI_Alloc_mem(-1, MPI_INFO_NULL, &base));
    OK(foMPI_Win_create(memory, 64, 1, MPI_INFO_NULL, comm, &win));
    BAD(MPI_ERR_RMA_FLAVOR, foMPI_Win_attach(win, memory, 8));
    BAD(MPI_ERR_RMA_FLAVOR, foMPI_Win_detach(win, memory));
    BAD(MPI_ERR_KEYVAL, foMPI_Win_set_attr(win, keyval, memory));
    BAD(MPI_ERR_KEYVAL, foMPI_Win_set_attr(win, foMPI_WIN_BASE, memory));
    BAD(MPI_ERR_KEYVAL, foMPI_Win_get_attr(win, keyval, &base, &flag));
    BAD(MPI_ERR_KEYVAL, foMPI_Win_delete_attr(win, keyval));
    BAD(MPI_ERR_KEYVAL, foMPI_Win_free_keyval(&keyval));
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    BAD(foMPI_NAME_ABBREVIATED, foMPI_Win_set_name(win, name));
    OK(foMPI_Win_get_name(win, name, &length));
    MUST(length == MPI_MAX_OBJECT_NAME - 1);
    old = win;
    OK(foMPI_Win_free(&win));
    BAD(MPI_ERR_WIN, foMPI_Win_fence(0, old));
    BAD(MPI_ERR_WIN, foMPI_Win_free(&old));
    OK(foMPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win));
    BAD(MPI_ERR_RMA_RANGE, foMPI_Win_detach(win, memory));
    OK(foMPI_Win_attach(win, memory, 32));
    BAD(MPI_ERR_RMA_ATTACH, foMPI_Win_attach(win, memory + 16, 32));
    BAD(MPI_ERR_SIZE, foMPI_Win_attach(win, memory, -1));
    OK(foMPI_Win_lock(foMPI_LOCK_SHARED, me, 0, win));
    BAD(foMPI_ERROR_RMA_WIN_MEM_NOT_FOUND,
        foMPI_Get(&value, 1, MPI_INT, me, (MPI_Aint)(intptr_t)memory + 32, 1, MPI_INT, win));
    OK(foMPI_Win_unlock(me, win));
    OK(foMPI_Win_free(&win));
}

static void misuse_requests(MPI_Comm comm)
{
    struct window w = open_window(ALLOCATED, 64, comm);
    int           value = 1, flag, index;
    foMPI_Request access, old, note, idle, null = foMPI_REQUEST_NULL;

    OK(foMPI_Win_lock(foMPI_LOCK_SHARED, w.me, 0, w.win));
    OK(foMPI_Rput(&value, 1, MPI_INT, w.me, 0, 1, MPI_INT, w.win, &access));
    old = access;
    BAD(MPI_ERR_REQUEST, foMPI_Start(&access));
    OK(foMPI_Wait(&access, MPI_STATUS_IGNORE));
    BAD(MPI_ERR_REQUEST, foMPI_Wait(&old, MPI_STATUS_IGNORE));
    BAD(MPI_ERR_REQUEST, foMPI_Request_free(&old));
    BAD(MPI_ERR_REQUEST, foMPI_Waitany(1, &old, &index, MPI_STATUS_IGNORE));
    OK(foMPI_Start(&null));
    OK(foMPI_Request_free(&null));
    BAD(MPI_ERR_ARG, foMPI_Test(&null, NULL, MPI_STATUS_IGNORE));
    BAD(MPI_ERR_COUNT, foMPI_Testany(-1, &null, &index, &flag, MPI_STATUS_IGNORE));
    OK(foMPI_Rput(&value, 1, MPI_INT, w.me, 0, 1, MPI_INT, w.win, &access)); /* complete when the window is freed */
    OK(foMPI_Win_unlock(w.me, w.win));
    OK(foMPI_Notify_init(w.win, foMPI_ANY_SOURCE, 1, 1, &note));
    OK(foMPI_Notify_init(w.win, foMPI_ANY_SOURCE, 1, 1, &idle));
    OK(foMPI_Start(&note));
    close_window(&w);
    OK(foMPI_Wait(&access, MPI_STATUS_IGNORE));
    BAD(MPI_ERR_WIN, foMPI_Test(&note, &flag, MPI_STATUS_IGNORE)); /* it would never complete */
    BAD(MPI_ERR_WIN, foMPI_Wait(&note, MPI_STATUS_IGNORE));
    BAD(MPI_ERR_WIN, foMPI_Start(&idle));
    OK(foMPI_Request_free(&note));
    OK(foMPI_Request_free(&idle));
}

/* The request of an access that fails returns the error, also if foMPI_Win_free has completed the access, and if other
 * accesses succeed before. */
static void misuse_lost_error(MPI_Comm comm)
{
    int           value = 1, flag;
    foMPI_Request access[3], other;

    for (int how = 0; how < 3; how++) {
        struct window w = open_window(ALLOCATED, 64, comm), next = open_window(ALLOCATED, 64, comm);

        OK(foMPI_Win_lock(foMPI_LOCK_SHARED, w.me, 0, w.win));
        OK(foMPI_Rput(&value, 1, MPI_INT, w.me, 0, 1, MPI_INT, w.win, &access[how]));
        OK(foMPI_Win_unlock(w.me, w.win));
        fail_next_wait();
        close_window(&w);
        OK(foMPI_Rput_notify(&value, 1, MPI_INT, next.me, 0, 1, MPI_INT, next.win, &other, 1));
        OK(foMPI_Wait(&other, MPI_STATUS_IGNORE));
        if (how == 0)
            BAD(MPI_ERR_OTHER, foMPI_Wait(&access[how], MPI_STATUS_IGNORE));
        else if (how == 1)
            BAD(MPI_ERR_OTHER, foMPI_Test(&access[how], &flag, MPI_STATUS_IGNORE));
        else
            BAD(MPI_ERR_OTHER, foMPI_Request_free(&access[how]));
        MUST(access[how] == foMPI_REQUEST_NULL);
        close_window(&next);
    }
}

void test_misuse(MPI_Comm comm)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct window w = open_window((enum kind)kind, 256, comm);

        misuse_arguments(&w);
        misuse_buffers(&w);
        misuse_sizes(&w);
        MPI_Barrier(comm);
        misuse_epochs(&w, comm);
        for (int i = 0; i < 256; i++)
            MUST(((char *)w.base)[i] == 0);
        close_window(&w);
    }
    misuse_windows(comm);
    misuse_requests(comm);
    misuse_lost_error(comm);
}
