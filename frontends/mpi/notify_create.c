/* notify_create.c: creating and freeing windows.
 *
 * The window of MPI is created over the memory of the region, so the region must exist until MPI has freed the window.
 * MPI_Win_free deletes the attribute while it still uses the memory. The record of the window then waits in a list
 * until a window with the same processes is created. That call is collective over the same processes, which free the
 * region first.
 *
 * In Open MPI, MPI_Win_create does not work for communicators with one process. There, MPI_Win_allocate creates the
 * window. Its memory becomes the memory of the region; for memory of the program, the window of MPI has no memory.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "front.h"
#include "notify_create.h"
#include "notify_window.h"

int tern_notify_keyval = MPI_KEYVAL_INVALID;

static struct tern_notify_window *unused, *ending; /* lists */
static struct tern_notify_window *oldest, *newest; /* ends of the list of live windows */
static pthread_mutex_t            lock = PTHREAD_MUTEX_INITIALIZER;

/* The arguments with which a window is created. */
struct wish {
    const char *call;
    bool        allocate;
    void       *base;
    MPI_Aint    size;
    int         unit;
    MPI_Info    info;
    MPI_Comm    comm; /* a duplicate, which returns errors */
};

static void put_record(struct tern_notify_window *w)
{
    free(w->peers);
    if (w->group != MPI_GROUP_NULL)
        MPI_Group_free(&w->group);
    *w = (struct tern_notify_window){ .handle = MPI_WIN_NULL, .group = MPI_GROUP_NULL };
    pthread_mutex_lock(&lock);
    w->next = unused;
    unused = w;
    pthread_mutex_unlock(&lock);
}

static struct tern_notify_window *take_record(void)
{
    struct tern_notify_window *w;

    pthread_mutex_lock(&lock);
    w = unused;
    if (w != NULL)
        unused = w->next;
    pthread_mutex_unlock(&lock);
    if (w == NULL)
        w = malloc(sizeof *w);
    if (w != NULL)
        *w = (struct tern_notify_window){ .handle = MPI_WIN_NULL, .group = MPI_GROUP_NULL };
    return w;
}

/* Add a window to the list of live windows. */
static void enlist(struct tern_notify_window *w)
{
    pthread_mutex_lock(&lock);
    w->previous = newest;
    *(newest != NULL ? &newest->next : &oldest) = w;
    newest = w;
    pthread_mutex_unlock(&lock);
}

/* Remove a window from the list of live windows, if it is there. The caller holds the lock. */
static void delist(struct tern_notify_window *w)
{
    if (w != oldest && w->previous == NULL)
        return;
    *(w->previous != NULL ? &w->previous->next : &oldest) = w->next;
    *(w->next != NULL ? &w->next->previous : &newest) = w->previous;
    w->next = w->previous = NULL;
}

/* Release the objects of Tern. The call is collective over the processes of the window. */
static tern_status end_region(struct tern_notify_window *w)
{
    tern_status first = w->mutexes != NULL ? tern_mutex_free(w->mutexes) : TERN_OK, status;

    status = w->ctx != NULL ? tern_ctx_free(w->ctx) : TERN_OK;
    first = first != TERN_OK ? first : status;
    status = w->region != NULL ? tern_region_free(w->region) : TERN_OK;
    first = first != TERN_OK ? first : status;
    status = w->team.team != NULL ? tern_mpi_team_free(&w->team) : TERN_OK;
    put_record(w);
    return first != TERN_OK ? first : status;
}

/* Called when MPI frees a window: remove its record from the table, so that no call finds it any more. MPI then waits
 * for the other processes, so that no process accesses the memory after MPI_Win_free has returned. */
static int detach(MPI_Win handle, int key, void *value, void *extra)
{
    struct tern_notify_window *w = value, **slot = &tern_notify_windows[tern_notify_window_slot(w->handle)];

    (void)handle;
    (void)key;
    (void)extra;
    if (*slot == w)
        __atomic_store_n(slot, NULL, __ATOMIC_RELAXED); /* orders nothing: the record stays readable */
    (void)tern_quiet(w->ctx); /* there is no window any more to which an error could be reported */
    tern_notify_orphan_requests(w);
    w->handle = MPI_WIN_NULL;
    pthread_mutex_lock(&lock);
    delist(w);
    w->next = ending;
    ending = w;
    pthread_mutex_unlock(&lock);
    return MPI_SUCCESS;
}

/* Remove the oldest window with these processes from the list of windows that wait to be released. */
static struct tern_notify_window *take_ending(MPI_Group group)
{
    struct tern_notify_window **at, **found = NULL, *w = NULL;
    int                         same;

    pthread_mutex_lock(&lock);
    for (at = &ending; *at != NULL; at = &(*at)->next) {
        MPI_Group_compare((*at)->group, group, &same);
        if (same == MPI_IDENT)
            found = at;
    }
    if (found != NULL) {
        w = *found;
        *found = w->next;
    }
    pthread_mutex_unlock(&lock);
    return w;
}

/* Release all windows with these processes that MPI_Win_free has freed. */
static tern_status end_others(MPI_Group group)
{
    struct tern_notify_window *w;
    tern_status                status = TERN_OK;

    while (status == TERN_OK && (w = take_ending(group)) != NULL)
        status = end_region(w);
    return status;
}

/* Collect the displacement units and the alignment of all processes. */
static int find_units(struct tern_notify_window *w, const struct wish *wish)
{
    struct tern_notify_peer mine = { .unit = (uint64_t)wish->unit };

    if (!wish->allocate) /* other memory is aligned */
        mine.base = (uintptr_t)wish->base % 16;

    w->peers = calloc((size_t)w->size, sizeof *w->peers);
    if (w->peers == NULL)
        return tern_mpi_code(MPI_ERR_NO_MEM, wish->call, "there is no memory for a window of %d processes", w->size);
    return MPI_Allgather(&mine, sizeof mine, MPI_BYTE, w->peers, sizeof mine, MPI_BYTE, wish->comm);
}

/* Record which processes are near, and prepare for accesses to the others. */
static tern_status look_around(struct tern_notify_window *w)
{
    bool all = true;
    int  rank;

    for (int i = 0; i < w->size; i++) {
        w->peers[i].node = tern_team_translate(w->team.team, i, tern_team_world(), &rank) == TERN_OK &&
                           tern_node_of(rank) == tern_node_of(tern_rank());
        w->peers[i].near = tern_region_size(w->region, i) > 0 && tern_direct(w->ctx, w->region, i, 0, 1) != NULL;
        all = all && w->peers[i].near;
    }
    return all ? TERN_OK : tern_counter_create(w->ctx, &w->counter); /* tern_ctx_free frees it */
}

/* Create the region, over memory of its own or of the program. */
static tern_status make_region(struct tern_notify_window *w, const struct wish *wish)
{
    const tern_region_opts each = TERN_REGION_OPTS(.each = 1);

    if (!wish->allocate || w->mpi_memory != NULL)
        return tern_region_register(w->ctx, wish->size > 0 ? wish->base : NULL, (uint64_t)wish->size, &w->region);
    return tern_region_create(w->ctx, (uint64_t)wish->size, &each, &w->region);
}

/* Create a window of MPI over memory. With Open MPI 4, calls on communicators that have no process in common can
 * disturb each other if they create windows at the same time: the call fails on all processes of one communicator. So
 * the call is repeated, after pauses that differ between communicators. */
static int make_window_over(struct tern_notify_window *w, const struct wish *wish)
{
    int error, failed, any = 1, first;

    (void)tern_team_translate(w->team.team, 0, tern_team_world(), &first);
    for (int attempt = 0; attempt < 12; attempt++) {
        struct timespec pause = { 0, ((first + 1) * 1700000L << attempt / 3) % 1000000000 };

        error = MPI_Win_create(wish->base, wish->size, wish->unit, wish->info, wish->comm, &w->handle);
        failed = error != MPI_SUCCESS;
        if (MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, wish->comm) != MPI_SUCCESS || !any)
            break;
        w->handle = MPI_WIN_NULL;
        (void)nanosleep(&pause, NULL);
    }
    return any && error == MPI_SUCCESS ? MPI_ERR_WIN : error;
}

/* Create the window of MPI. With one process, the window is created before the region, which may have to use its
 * memory. */
static int make_mpi_window(struct tern_notify_window *w, struct wish *wish, bool before)
{
    if (before != (w->size == 1))
        return MPI_SUCCESS;
    if (w->size > 1)
        return make_window_over(w, wish);
    if (wish->allocate) {
        int error = MPI_Win_allocate(wish->size, wish->unit, wish->info, wish->comm, &w->mpi_memory, &w->handle);

        wish->base = w->mpi_memory;
        return error;
    }
    if (MPI_Win_create(wish->base, wish->size, wish->unit, wish->info, wish->comm, &w->handle) == MPI_SUCCESS)
        return MPI_SUCCESS;
    return MPI_Win_allocate(0, wish->unit, wish->info, wish->comm, &w->mpi_memory, &w->handle);
}

static int build(struct tern_notify_window *w, struct wish *wish)
{
    tern_status status;
    int         error = MPI_Comm_group(wish->comm, &w->group);

    if (error != MPI_SUCCESS)
        return error;
    status = end_others(w->group);
    if (status != TERN_OK)
        return tern_mpi_code_of(status, wish->call, "freeing a window with the same processes");
    error = tern_mpi_team_of(wish->comm, wish->call, &w->team);
    if (error != MPI_SUCCESS)
        return error;
    w->size = w->team.size;
    status = tern_ctx_create(w->team.team, tern_mpi_order(TERN_RELAXED), &w->ctx);
    if (status != TERN_OK)
        return tern_mpi_code_of(status, wish->call, "creating a context");
    error = find_units(w, wish);
    if (error == MPI_SUCCESS)
        error = make_mpi_window(w, wish, true);
    if (error != MPI_SUCCESS)
        return error;
    status = make_region(w, wish);
    if (status != TERN_OK)
        return tern_mpi_code_of(status, wish->call, "reserving the memory of the window");
    status = look_around(w);
    if (status == TERN_OK)
        status = tern_mutex_create(w->ctx, 1, &w->mutexes);
    if (status != TERN_OK)
        return tern_mpi_code_of(status, wish->call, "creating the mutexes of the window");
    if (wish->allocate && w->mpi_memory == NULL)
        wish->base = tern_region_ptr(w->region, w->team.rank);
    error = make_mpi_window(w, wish, false);
    return error != MPI_SUCCESS ? error : MPI_Win_set_attr(w->handle, tern_notify_keyval, w);
}

/* Processes create the windows that they share in the same order, so that they can also free these windows in this
 * order without waiting for each other in a circle. */
static void free_all(void)
{
    int count = 0, error = MPI_SUCCESS;

    for (const struct tern_notify_window *w = oldest; w != NULL; w = w->next)
        count += w->team.rank == 0;
    if (count > 0)
        tern_mpi_report_windows(count, "MPIX_Win_free");
    while (oldest != NULL && error == MPI_SUCCESS) {
        MPI_Win handle = oldest->handle;

        MPI_Win_set_errhandler(handle, MPI_ERRORS_RETURN);
        error = MPIX_Win_free(&handle); /* fails if an epoch is open */
    }
}

/* Make a window, or return an error code. */
static int make(struct wish *wish, MPI_Win *win)
{
    struct tern_notify_window *w;
    int                        error;

    if (tern_notify_keyval == MPI_KEYVAL_INVALID &&
        MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, detach, &tern_notify_keyval, NULL) != MPI_SUCCESS)
        return tern_mpi_code(MPI_ERR_OTHER, wish->call, "MPI refused a key for an attribute of windows");
    w = take_record();
    if (w == NULL)
        return tern_mpi_code(MPI_ERR_NO_MEM, wish->call, "there is no memory for the record of a window");
    error = build(w, wish);
    if (error == MPI_SUCCESS) {
        enlist(w);
        tern_mpi_at_end(free_all);
        *win = w->handle;
        return MPI_SUCCESS;
    }
    if (w->handle != MPI_WIN_NULL)
        PMPI_Win_free(&w->handle);
    (void)end_region(w); /* the first error is reported */
    return error;
}

/* Check the arguments of a new window. Returns MPI_SUCCESS or an error code. */
static int check(const struct wish *wish, void *const *base, const MPI_Win *win)
{
    if (wish->size < 0)
        return tern_mpi_code(MPI_ERR_SIZE, wish->call, "the size of the window is %ld", (long)wish->size);
    if (wish->unit <= 0)
        return tern_mpi_code(MPI_ERR_DISP, wish->call, "the displacement unit is %d", wish->unit);
    if (win == NULL || (wish->allocate && base == NULL))
        return tern_mpi_code(MPI_ERR_ARG, wish->call, "an argument in which the call returns a value is NULL");
    if (!wish->allocate && wish->base == NULL && wish->size > 0)
        return tern_mpi_code(MPI_ERR_BASE, wish->call, "the address of %ld bytes is NULL", (long)wish->size);
    return MPI_SUCCESS;
}

/* Inform all processes of a wrong argument of one process, so that no process waits for another one. Returns the code
 * of this process, or a code of the same class as the code of another process. */
static int agree(const struct wish *wish, int code)
{
    struct {
        int class, rank;
    } mine = { MPI_SUCCESS, 0 }, worst;
    int error;

    MPI_Comm_rank(wish->comm, &mine.rank);
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &mine.class);
    error = MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, wish->comm);
    if (code != MPI_SUCCESS || error != MPI_SUCCESS)
        return code != MPI_SUCCESS ? code : error;
    if (worst.class == MPI_SUCCESS)
        return MPI_SUCCESS;
    return tern_mpi_code(worst.class, wish->call, "rank %d of the communicator passed an argument that is not valid",
                         worst.rank);
}

/* Start notified access, if it has not been started. The start is collective over MPI_COMM_WORLD, so it waits forever
 * for processes that do not take part: the communicator must contain all processes. Returns MPI_SUCCESS or an error
 * code. */
static int start(MPI_Comm comm, const char *call)
{
    int size, relation;

    if (tern_mpi_running)
        return MPI_SUCCESS;
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &relation);
    if (relation == MPI_UNEQUAL) {
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        return tern_mpi_code(MPI_ERR_COMM, call,
                             "the first window must be one of all %d processes of MPI_COMM_WORLD; call "
                             "MPIX_Notify_start at all of them before this call",
                             size);
    }
    tern_mpi_start(call);
    return MPI_SUCCESS;
}

/* Make a window, and report errors to the communicator. */
static int create(struct wish wish, MPI_Comm comm, void **base, MPI_Win *win)
{
    int code, size, initialized;

    MPI_Initialized(&initialized);
    if (!initialized || tern_front_mpi_over()) /* initialize MPI, or end the job */
        tern_mpi_start(wish.call);
    if (comm == MPI_COMM_NULL || MPI_Comm_size(comm, &size) != MPI_SUCCESS) {
        code = tern_mpi_code(MPI_ERR_COMM, wish.call, "the communicator is invalid");
        MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
        return code;
    }
    code = start(comm, wish.call);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_dup(comm, &wish.comm);
    if (code == MPI_SUCCESS) {
        MPI_Comm_set_errhandler(wish.comm, MPI_ERRORS_RETURN);
        code = agree(&wish, check(&wish, base, win));
        if (code == MPI_SUCCESS)
            code = make(&wish, win);
        MPI_Comm_free(&wish.comm);
    }
    if (code != MPI_SUCCESS)
        MPI_Comm_call_errhandler(comm, code);
    else if (wish.allocate)
        *base = wish.base;
    return code;
}

NOTIFY_EXPORT int MPIX_Notify_start(void)
{
    tern_mpi_start("MPIX_Notify_start");
    return MPI_SUCCESS;
}

NOTIFY_EXPORT int MPIX_Win_allocate_notify(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                                           MPI_Win *win)
{
    struct wish wish = { "MPIX_Win_allocate_notify", true, NULL, size, disp_unit, info, MPI_COMM_NULL };

    return create(wish, comm, baseptr, win);
}

NOTIFY_EXPORT int MPIX_Win_create_notify(void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                                         MPI_Win *win)
{
    struct wish wish = { "MPIX_Win_create_notify", false, base, size, disp_unit, info, MPI_COMM_NULL };

    return create(wish, comm, NULL, win);
}

NOTIFY_EXPORT int MPIX_Win_free(MPI_Win *win)
{
    struct tern_notify_window *w = win != NULL ? tern_notify_window_of(*win) : NULL;
    MPI_Group                  group;
    tern_status                status;
    int                        error;

    if (win == NULL)
        return tern_notify_no_place(NULL, "MPIX_Win_free");
    if (w == NULL)
        return tern_notify_no_window(*win, "MPIX_Win_free");
    MPI_Win_get_group(*win, &group);
    error = PMPI_Win_free(win);
    if (error == MPI_SUCCESS) {
        status = end_others(group);
        if (status != TERN_OK) {
            error = tern_mpi_code_of(status, "MPIX_Win_free", "freeing the window");
            MPI_Comm_call_errhandler(MPI_COMM_WORLD, error);
        }
    }
    MPI_Group_free(&group);
    return error;
}
