/* window.c: windows of all kinds, and their attributes, names and groups. */
#include "check.h"

/* Promise: bytes put into the window of each kind arrive at their displacement, in units of the target. */
static void check_units(MPI_Comm comm)
{
    int       me, n, unit, got = -1;
    int      *base;
    foMPI_Win win;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    unit = 1 << me % 3; /* 1, 2, 4 */
    OK(foMPI_Win_allocate((me + 2) * 64, unit, MPI_INFO_NULL, comm, &base, &win));
    OK(foMPI_Win_fence(0, win));
    for (int i = 0; i < n; i++) {
        int value = 100 * me + i;

        OK(foMPI_Put(&value, 1, MPI_INT, i, 4 * (me % 16) / (1 << i % 3), 1, MPI_INT, win));
        OK(foMPI_Win_flush(i, win));
    }
    OK(foMPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (int i = 0; i < n && i < 16; i++)
        MUST(base[i] == 100 * i + me);
    OK(foMPI_Win_lock(foMPI_LOCK_SHARED, (me + 1) % n, 0, win));
    OK(foMPI_Get(&got, 1, MPI_INT, (me + 1) % n, 0, 1, MPI_INT, win));
    OK(foMPI_Win_unlock((me + 1) % n, win));
    MUST(got == (me + 1) % n);
    OK(foMPI_Win_free(&win));
}

/* Promise: a process may have no memory in a window. */
static void check_empty(MPI_Comm comm)
{
    int       me, n, value = 7, *base = NULL;
    foMPI_Win win;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    OK(foMPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, comm, &win));
    OK(foMPI_Win_free(&win));
    OK(foMPI_Win_allocate(me == n - 1 ? 4 : 0, 4, MPI_INFO_NULL, comm, &base, &win));
    OK(foMPI_Win_fence(0, win));
    if (me == 0)
        OK(foMPI_Put(&value, 1, MPI_INT, n - 1, 0, 1, MPI_INT, win));
    OK(foMPI_Put(&value, 0, MPI_INT, 0, 0, 0, MPI_INT, win));
    OK(foMPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
    OK(foMPI_Win_fence(0, win));
    MUST(me != n - 1 || *base == 7);
    OK(foMPI_Win_free(&win));
}

/* Promise: memory of a dynamic window comes and goes without the other processes, and an access that reaches into the
 * next attached range works. */
static void check_dynamic(MPI_Comm comm)
{
    int       me, n, got[8], more[8], right;
    int       memory[16];
    MPI_Aint  here, there;
    foMPI_Win win;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    right = (me + 1) % n;
    for (int i = 0; i < 16; i++)
        memory[i] = 1000 * me + i;
    OK(foMPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win));
    OK(foMPI_Win_attach(win, memory, 5 * sizeof(int)));
    OK(foMPI_Win_attach(win, memory + 5, 3 * sizeof(int)));
    MPI_Get_address(memory, &here);
    MPI_Sendrecv(&here, 1, MPI_AINT, (me + n - 1) % n, 3, &there, 1, MPI_AINT, right, 3, comm, MPI_STATUS_IGNORE);
    OK(foMPI_Win_lock_all(0, win));
    OK(foMPI_Get(got, 8, MPI_INT, right, there, 8, MPI_INT, win));
    OK(foMPI_Win_unlock_all(win));
    for (int i = 0; i < 8; i++)
        MUST(got[i] == 1000 * right + i);
    MPI_Barrier(comm);
    OK(foMPI_Win_detach(win, memory));
    OK(foMPI_Win_detach(win, memory + 5));
    OK(foMPI_Win_attach(win, memory + 8, 8 * sizeof(int)));
    MPI_Barrier(comm);
    OK(foMPI_Win_lock(foMPI_LOCK_SHARED, right, 0, win));
    OK(foMPI_Get(more, 8, MPI_INT, right, there + 8 * (MPI_Aint)sizeof(int), 8, MPI_INT, win));
    OK(foMPI_Win_unlock(right, win));
    for (int i = 0; i < 8; i++)
        MUST(more[i] == 1000 * right + 8 + i);
    OK(foMPI_Win_free(&win));
}

/* Promise: the side that receives the data may have more bytes, and its rest stays; the data may end within one of its
 * elements. */
static void check_short(enum kind kind, MPI_Comm comm)
{
    struct window w = open_window(kind, 64, comm);
    int           out[3] = { 1, 2, 3 }, in[4] = { 0 }, *memory = w.base, next = (w.me + 1) % w.n;
    MPI_Datatype  blocks;

    MPI_Type_vector(2, 2, 3, MPI_INT, &blocks);
    MPI_Type_commit(&blocks);
    OK(foMPI_Win_fence(0, w.win));
    OK(foMPI_Put(out, 3, MPI_INT, next, w.at[next], 4, MPI_INT, w.win));
    OK(foMPI_Put(out, 3, MPI_INT, next, w.at[next] + 20, 1, blocks, w.win));
    OK(foMPI_Accumulate(out, 1, MPI_INT, next, w.at[next] + 48, 2, MPI_INT, foMPI_SUM, w.win));
    OK(foMPI_Win_fence(0, w.win));
    MUST(memory[2] == 3 && memory[3] == 0 && memory[5] == 1 && memory[6] == 2 && memory[8] == 3 && memory[9] == 0);
    MUST(memory[12] == 1 && memory[13] == 0);
    OK(foMPI_Get(in, 4, MPI_INT, next, w.at[next] + 4, 2, MPI_INT, w.win));
    OK(foMPI_Win_fence(0, w.win));
    MUST(in[0] == 2 && in[1] == 3 && in[2] == 0);
    OK(foMPI_Type_free(&blocks));
    close_window(&w);
}

void test_windows(MPI_Comm comm)
{
    foMPI_Win wins[3];

    check_units(comm);
    check_empty(comm);
    check_dynamic(comm);
    for (int kind = 0; kind < KINDS; kind++)
        check_short((enum kind)kind, comm);
    for (int i = 0; i < 3; i++) /* several windows at the same time, freed in another order */
        OK(foMPI_Win_create_dynamic(MPI_INFO_NULL, comm, &wins[i]));
    OK(foMPI_Win_free(&wins[1]));
    OK(foMPI_Win_free(&wins[2]));
    OK(foMPI_Win_free(&wins[0]));
}

static int deleted;

static int on_delete(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)keyval;
    MUST(win == MPI_WIN_NULL && *(int *)extra == 5);
    deleted += *(int *)value;
    return MPI_SUCCESS;
}

/* Promise: attributes of the program live with the window, and their delete functions are called. */
static void check_keyvals(foMPI_Win win)
{
    static int extra = 5, one = 1, ten = 10;
    int        first, second, flag, *value;

    deleted = 0;
    OK(foMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &first, &extra));
    OK(foMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &second, NULL));
    MUST(first != second);
    OK(foMPI_Win_get_attr(win, first, &value, &flag));
    MUST(!flag);
    OK(foMPI_Win_set_attr(win, first, &one));
    OK(foMPI_Win_set_attr(win, second, &ten));
    OK(foMPI_Win_get_attr(win, first, &value, &flag));
    MUST(flag && value == &one);
    OK(foMPI_Win_set_attr(win, first, &ten));
    MUST(deleted == 1);
    OK(foMPI_Win_delete_attr(win, first));
    MUST(deleted == 11);
    OK(foMPI_Win_get_attr(win, second, &value, &flag));
    MUST(flag && value == &ten);
    OK(foMPI_Win_set_attr(win, first, &one));
    OK(foMPI_Win_free_keyval(&first)); /* the attribute stays */
    OK(foMPI_Win_free_keyval(&second));
    MUST(first == MPI_KEYVAL_INVALID && deleted == 11);
}

void test_attributes(MPI_Comm comm)
{
    MPI_Group group, other;
    int       unit, flavor, model, flag, length, result;
    MPI_Aint  size;
    void     *base, *memory;
    char      name[MPI_MAX_OBJECT_NAME];
    foMPI_Win win;

    OK(foMPI_Win_allocate(48, 8, MPI_INFO_NULL, comm, &memory, &win));
    OK(foMPI_Win_get_attr(win, foMPI_WIN_BASE, &base, &flag));
    MUST(flag && base == memory);
    OK(foMPI_Win_get_attr(win, foMPI_WIN_SIZE, &size, &flag));
    MUST(flag && size == 48);
    OK(foMPI_Win_get_attr(win, foMPI_WIN_DISP_UNIT, &unit, &flag));
    MUST(flag && unit == 8);
    OK(foMPI_Win_get_attr(win, foMPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    MUST(flag && flavor == foMPI_WIN_FLAVOR_ALLOCATE);
    OK(foMPI_Win_get_attr(win, foMPI_WIN_MODEL, &model, &flag));
    MUST(flag && model == foMPI_WIN_UNIFIED);
    OK(foMPI_Win_get_name(win, name, &length));
    MUST(length == 0 && name[0] == '\0');
    OK(foMPI_Win_set_name(win, "a window"));
    OK(foMPI_Win_get_name(win, name, &length));
    MUST(length == 8 && strcmp(name, "a window") == 0);
    OK(foMPI_Win_get_group(win, &group));
    MPI_Comm_group(comm, &other);
    MPI_Group_compare(group, other, &result);
    MUST(result == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&other);
    check_keyvals(win);
    OK(foMPI_Win_free(&win));
    MUST(deleted == 12);
    OK(foMPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win));
    OK(foMPI_Win_get_attr(win, foMPI_WIN_BASE, &base, &flag));
    MUST(flag && base == MPI_BOTTOM);
    OK(foMPI_Win_get_attr(win, foMPI_WIN_SIZE, &size, &flag));
    MUST(flag && size == 0);
    OK(foMPI_Win_free(&win));
}
