/* fompi_window.c: creating and freeing windows.
 *
 * All processes of the communicator exchange their arguments before they create anything, so that a wrong argument of
 * one process is an error of all processes, and no process waits for another one.
 */
#include "error.h"
#include "fompi_state.h"
#include "job.h"

/* The arguments that a process sends to the others. */
struct wish {
    uint64_t bytes;
    uint32_t unit;
    int32_t  error; /* class of the error in the arguments */
    uint8_t  base;  /* remainder of the address of the memory by 16 */
};

static struct tern_fompi_win
    *spare; /* descriptors of freed windows; their memory stays, so that handles can be checked */

static struct tern_fompi_win *oldest, *newest; /* ends of the list of live windows */

/* Add a window to the list of live windows. */
static void enlist(struct tern_fompi_win *win)
{
    win->previous = newest;
    *(newest != NULL ? &newest->next : &oldest) = win;
    newest = win;
}

/* Remove a window from the list of live windows. */
static void delist(struct tern_fompi_win *win)
{
    *(win->previous != NULL ? &win->previous->next : &oldest) = win->next;
    *(win->next != NULL ? &win->next->previous : &newest) = win->previous;
}

static struct tern_fompi_win *take_descriptor(void)
{
    struct tern_fompi_win *win = spare;

    if (win == NULL)
        return calloc(1, sizeof *win);
    spare = win->next;
    memset(win, 0, sizeof *win);
    return win;
}

static void drop_descriptor(struct tern_fompi_win *win)
{
    free(win->peers);
    free(win->targets);
    memset(win, 0, sizeof *win);
    win->next = spare;
    spare = win;
}

/* Free the objects of which a window consists. The call is collective. Returns the first failure. */
static tern_status take_apart(struct tern_fompi_win *win)
{
    tern_status status = TERN_OK, last;

    if (win->mutexes != NULL && (last = tern_mutex_free(win->mutexes)) != TERN_OK)
        status = last;
    if (win->control != NULL && (last = tern_region_free(win->control)) != TERN_OK)
        status = last;
    if (win->region != NULL && (last = tern_region_free(win->region)) != TERN_OK)
        status = last;
    if (win->ctx != NULL)
        (void)tern_ctx_free(win->ctx);
    if (win->acc_ctx != NULL)
        (void)tern_ctx_free(win->acc_ctx);
    if (win->sync_ctx != NULL)
        (void)tern_ctx_free(win->sync_ctx);
    if (win->group != MPI_GROUP_NULL)
        MPI_Group_free(&win->group);
    if ((last = tern_mpi_team_free(&win->team)) != TERN_OK)
        status = last;
    return status;
}

static tern_status make_contexts(struct tern_fompi_win *win)
{
    tern_status status = tern_ctx_create(win->team.team, tern_mpi_order(TERN_RELAXED), &win->ctx);

    if (status == TERN_OK)
        status = tern_ctx_create(win->team.team, tern_mpi_order(TERN_STRICT), &win->acc_ctx);
    if (status == TERN_OK)
        status = tern_ctx_create(win->team.team, tern_mpi_order(TERN_RELAXED), &win->sync_ctx);
    return status;
}

/* Exchange the arguments. Returns MPI_SUCCESS, or the class of the error in the arguments of a process. */
static int exchange(struct tern_fompi_win *win, const struct wish *mine, const char *call)
{
    struct wish *all = calloc((size_t)win->size, sizeof *all);
    tern_status  status;
    int          bad = -1;

    win->peers = calloc((size_t)win->size, sizeof *win->peers);
    if (all == NULL || win->peers == NULL) {
        free(all);
        return tern_fompi_error(MPI_ERR_NO_MEM, call, "there is no memory for the table of %d processes", win->size);
    }
    status = tern_allgather(win->sync_ctx, mine, sizeof *mine, all);
    for (int i = 0; i < win->size && status == TERN_OK; i++) {
        win->peers[i].unit = all[i].unit;
        win->peers[i].base = all[i].base & 15u;
        if (all[i].error != MPI_SUCCESS && bad < 0)
            bad = i;
    }
    if (bad >= 0)
        bad = tern_fompi_error(all[bad].error, call,
                               "rank %d of the communicator passed a size or a displacement unit "
                               "that is not valid (%lld, %d)",
                               bad, (long long)all[bad].bytes, (int)all[bad].unit);
    free(all);
    return status != TERN_OK ? tern_fompi_error_of(status, call, "exchanging the arguments")
           : bad >= 0        ? bad
                             : MPI_SUCCESS;
}

/* Make the regions and mutexes. */
static tern_status make_regions(struct tern_fompi_win *win)
{
    tern_region_opts each = TERN_REGION_OPTS(.each = 1);
    uint64_t         control = sizeof(struct tern_fompi_control) + (uint64_t)win->size * sizeof(uint64_t);
    tern_status      status;

    if (win->flavor == foMPI_WIN_FLAVOR_ALLOCATE)
        status = tern_region_create(win->sync_ctx, (uint64_t)win->bytes, &each, &win->region);
    else if (win->flavor == foMPI_WIN_FLAVOR_CREATE)
        status = tern_region_register(win->sync_ctx, win->base, (uint64_t)win->bytes, &win->region);
    else
        status = tern_region_open(win->sync_ctx, &win->region);
    if (status == TERN_OK)
        status = tern_region_create(win->sync_ctx, control, NULL, &win->control);
    if (status == TERN_OK)
        status = tern_mutex_create(win->sync_ctx, TERN_FOMPI_MUTEXES, &win->mutexes);
    return status;
}

/* Record which processes are near and which are far, and prepare for notified accesses to the latter. */
static tern_status look_around(struct tern_fompi_win *win)
{
    bool any = false;
    int  rank;

    for (int i = 0; i < win->size; i++) {
        win->peers[i].near =
            tern_region_size(win->region, i) > 0 && tern_direct(win->ctx, win->region, i, 0, 1) != NULL;
        win->peers[i].far = tern_team_translate(win->team.team, i, tern_team_world(), &rank) == TERN_OK &&
                            tern_node_of(rank) != tern_node_of(tern_rank());
        any = any || win->peers[i].far;
    }
    return any ? tern_counter_create(win->ctx, &win->counter) : TERN_OK; /* tern_ctx_free frees it */
}

/* Make a window of the flavor, base and size in *win. */
static int make(struct tern_fompi_win *win, struct wish wish, MPI_Comm comm, const char *call)
{
    tern_status status;
    int         error = tern_mpi_team_of(comm, call, &win->team);

    win->group = MPI_GROUP_NULL;
    if (error != MPI_SUCCESS)
        return tern_fompi_error_code(error, call);
    win->rank = win->team.rank;
    win->size = win->team.size;
    status = make_contexts(win);
    if (status != TERN_OK)
        error = tern_fompi_error_of(status, call, "creating a context");
    if (error == MPI_SUCCESS)
        error = exchange(win, &wish, call);
    if (error == MPI_SUCCESS && ((status = make_regions(win)) != TERN_OK || (status = look_around(win)) != TERN_OK))
        error = tern_fompi_error_of(status, call, "creating the window");
    if (error == MPI_SUCCESS)
        error = MPI_Comm_group(comm, &win->group);
    if (error != MPI_SUCCESS) {
        (void)take_apart(win);
        return error;
    }
    if (win->flavor == foMPI_WIN_FLAVOR_ALLOCATE)
        win->base = tern_region_ptr(win->region, win->rank);
    return MPI_SUCCESS;
}

/* Processes create the windows that they share in the same order, so that they can also free these windows in this
 * order without waiting for each other in a circle. */
static void free_all(void)
{
    int                    count = 0;
    struct tern_fompi_win *last = NULL;

    for (const struct tern_fompi_win *win = oldest; win != NULL; win = win->next)
        count += win->rank == 0;
    if (count > 0)
        tern_mpi_report_windows(count, "foMPI_Win_free");
    while (oldest != NULL && oldest != last) { /* the delete function of an attribute can refuse to free a window */
        foMPI_Win handle = &oldest->head;

        last = oldest;
        (void)foMPI_Win_free(&handle);
    }
}

/* Create a window. */
static int create(struct tern_fompi_win like, int unit, MPI_Comm comm, const char *call, foMPI_Win *out)
{
    struct wish            wish = { (uint64_t)like.bytes, (uint32_t)unit, MPI_SUCCESS, (uintptr_t)like.base % 16 };
    struct tern_fompi_win *win;
    int                    error;

    if (!tern_mpi_running)
        return tern_fompi_bad_win(call, NULL);
    if (out == NULL)
        return tern_fompi_error(MPI_ERR_ARG, call, "the pointer to the window is NULL");
    if (like.bytes < 0)
        wish.error = MPI_ERR_SIZE;
    else if (unit <= 0)
        wish.error = MPI_ERR_DISP;
    else if (like.flavor == foMPI_WIN_FLAVOR_CREATE && like.base == NULL && like.bytes > 0)
        wish.error = MPI_ERR_BASE;
    win = take_descriptor();
    if (win == NULL)
        return tern_fompi_error(MPI_ERR_NO_MEM, call, "there is no memory for a window");
    *win = like;
    error = make(win, wish, comm, call);
    if (error != MPI_SUCCESS) {
        drop_descriptor(win);
        return error;
    }
    win->magic = TERN_FOMPI_MAGIC;
    enlist(win);
    tern_mpi_at_end(free_all);
    *out = &win->head;
    return MPI_SUCCESS;
}

FOMPI_EXPORT int foMPI_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                                  foMPI_Win *win)
{
    (void)info;
    return create((struct tern_fompi_win){ .flavor = foMPI_WIN_FLAVOR_CREATE, .base = base, .bytes = size }, disp_unit,
                  comm, __func__, win);
}

FOMPI_EXPORT int foMPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
                                    foMPI_Win *win)
{
    int error;

    (void)info;
    error = create((struct tern_fompi_win){ .flavor = foMPI_WIN_FLAVOR_ALLOCATE, .bytes = size }, disp_unit, comm,
                   __func__, win);
    if (error == MPI_SUCCESS && baseptr != NULL)
        memcpy(baseptr, &tern_fompi_win(*win)->base, sizeof(void *));
    return error;
}

FOMPI_EXPORT int foMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, foMPI_Win *win)
{
    (void)info;
    return create((struct tern_fompi_win){ .flavor = foMPI_WIN_FLAVOR_DYNAMIC, .base = MPI_BOTTOM }, 1, comm, __func__,
                  win);
}

FOMPI_EXPORT int foMPI_Win_free(foMPI_Win *handle)
{
    struct tern_fompi_win *win = handle != NULL ? tern_fompi_win(*handle) : NULL;
    int                    error;
    tern_status            status;

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle != NULL ? *handle : NULL);
    error = tern_fompi_drop_attributes(win);
    if (error != MPI_SUCCESS)
        return error;
    error = tern_fompi_flush(win, TERN_FOMPI_ALL, __func__);
    if (tern_fompi_unlock_rest(win, __func__) != MPI_SUCCESS)
        error = MPI_ERR_OTHER;
    tern_fompi_orphan_requests(win);
    delist(win);
    status = take_apart(win);
    if (status != TERN_OK)
        error = tern_fompi_error_of(status, __func__, "freeing the window");
    drop_descriptor(win);
    *handle = foMPI_WIN_NULL;
    return error;
}

static int check_dynamic(const struct tern_fompi_win *win, const char *call)
{
    return win->flavor == foMPI_WIN_FLAVOR_DYNAMIC
               ? MPI_SUCCESS
               : tern_fompi_error(MPI_ERR_RMA_FLAVOR, call, "the window is not dynamic");
}

FOMPI_EXPORT int foMPI_Win_attach(foMPI_Win handle, void *base, MPI_Aint size)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);
    tern_status            status;

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (check_dynamic(win, __func__) != MPI_SUCCESS)
        return MPI_ERR_RMA_FLAVOR;
    if (size < 0)
        return tern_fompi_error(MPI_ERR_SIZE, __func__, "the size is negative");
    if (size == 0)
        return MPI_SUCCESS;
    status = tern_region_attach(win->region, base, (uint64_t)size);
    return status == TERN_OK ? MPI_SUCCESS : tern_fompi_error_as(MPI_ERR_RMA_ATTACH, __func__, "attaching the memory");
}

FOMPI_EXPORT int foMPI_Win_detach(foMPI_Win handle, const void *base)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);
    tern_status            status;

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (check_dynamic(win, __func__) != MPI_SUCCESS)
        return MPI_ERR_RMA_FLAVOR;
    status = tern_region_detach(win->region, (void *)(uintptr_t)base);
    return status == TERN_OK ? MPI_SUCCESS
                             : tern_fompi_error_as(foMPI_ERROR_RMA_WIN_MEM_NOT_FOUND, __func__, "detaching the memory");
}
