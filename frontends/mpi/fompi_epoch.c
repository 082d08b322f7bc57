/* fompi_epoch.c: fences, and access and exposure epochs of groups (post, start, complete, wait).
 *
 * foMPI_Win_post adds 1 to a counter at each process of its group, which has one counter for each process of the
 * window; foMPI_Win_complete adds 1 to a single counter of each target, after its accesses are complete. Both are
 * signals of Tern. A complete never overtakes the post of its epoch, and therefore a count of the completed epochs is
 * enough: no process can complete an epoch of a later post before the present one has ended.
 */
#include "fompi_state.h"

static uint64_t posts_offset(int rank)
{
    return sizeof(struct tern_fompi_control) + (uint64_t)rank * sizeof(uint64_t);
}

/* Return whether an access epoch of a lock or of foMPI_Win_start is open. */
static bool is_busy(const struct tern_fompi_win *win)
{
    return win->locks > 0 || win->locked_all || win->targets != NULL;
}

/* Find the ranks in the window of the members of a group. Returns MPI_SUCCESS; the caller frees *out. */
static int ranks_of(const struct tern_fompi_win *win, MPI_Group group, const char *call, int **out, int *count)
{
    int  n, error = group == MPI_GROUP_NULL ? MPI_ERR_GROUP : MPI_Group_size(group, &n);
    int *ranks;

    if (error != MPI_SUCCESS)
        return tern_fompi_error(MPI_ERR_GROUP, call, "the group is invalid");
    ranks = malloc(((size_t)n * 2 + 1) * sizeof *ranks); /* ranks in the window, then ranks in the group */
    if (ranks == NULL)
        return tern_fompi_error(MPI_ERR_NO_MEM, call, "there is no memory for the ranks of %d processes", n);
    for (int i = 0; i < n; i++)
        ranks[n + i] = i;
    if (n > 0)
        error = MPI_Group_translate_ranks(group, n, ranks + n, win->group, ranks);
    for (int i = 0; i < n && error == MPI_SUCCESS; i++) {
        if (ranks[i] < 0 || ranks[i] >= win->size)
            error = tern_fompi_error(MPI_ERR_GROUP, call, "rank %d of the group is not a process of the window", i);
    }
    if (error != MPI_SUCCESS) {
        free(ranks);
        return error;
    }
    *out = ranks;
    *count = n;
    return MPI_SUCCESS;
}

/* Add 1 to a word in the control region of each of n processes. */
static tern_status signal_all(struct tern_fompi_win *win, const int *ranks, int n, uint64_t offset)
{
    tern_signal signal = TERN_SIGNAL(.op = TERN_SIGNAL_ADD, .region = win->control, .offset = offset, .value = 1);
    tern_status status = TERN_OK, last;

    for (int i = 0; i < n && status == TERN_OK; i++)
        status = tern_put_signal_nbi(win->sync_ctx, win->control, ranks[i], 0, NULL, 0, &signal);
    last = tern_quiet(win->sync_ctx);
    return status != TERN_OK ? status : last;
}

/* Wait until a process of the group of foMPI_Win_start has called foMPI_Win_post. */
static int await_post(struct tern_fompi_win *win, int rank, const char *call)
{
    struct tern_fompi_peer *peer = &win->peers[rank];
    tern_status             status =
        tern_signal_wait(win->sync_ctx, win->control, posts_offset(rank), TERN_GE, peer->posts + 1, TERN_FOREVER, NULL);

    if (status != TERN_OK)
        return tern_fompi_error_of(status, call, "waiting for foMPI_Win_post");
    peer->posts++;
    peer->open |= TERN_FOMPI_POSTED;
    return MPI_SUCCESS;
}

int tern_fompi_open(struct tern_fompi_win *win, int rank, const char *call)
{
    if (win->peers[rank].started)
        return await_post(win, rank, call);
    if (win->locked_all)
        return tern_fompi_lock_shared(win, rank, call);
    return tern_fompi_error(MPI_ERR_RMA_SYNC, call,
                            "there is no epoch for accesses to rank %d; call foMPI_Win_fence, foMPI_Win_start, "
                            "foMPI_Win_lock or foMPI_Win_lock_all first",
                            rank);
}

FOMPI_EXPORT int foMPI_Win_fence(int assertion, foMPI_Win handle)
{
    const int              known = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
    struct tern_fompi_win *win = tern_fompi_win(handle);
    int                    error;

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (is_busy(win) || win->exposed)
        return tern_fompi_error(MPI_ERR_RMA_SYNC, __func__, "an epoch of %s is open",
                                win->locks > 0 || win->locked_all ? "a lock" : "foMPI_Win_start or foMPI_Win_post");
    error = tern_fompi_flush(win, TERN_FOMPI_ALL, __func__);
    if (error != MPI_SUCCESS)
        return error;
    /* Some programs pass MPI_INFO_NULL as the assertion, which then means nothing. */
    win->fenced = (assertion & ~known) != 0 || (assertion & MPI_MODE_NOSUCCEED) == 0;
    return tern_fompi_result(tern_barrier(win->sync_ctx), __func__, "the barrier");
}

FOMPI_EXPORT int foMPI_Win_start(MPI_Group group, int assertion, foMPI_Win handle)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);
    int                    error;

    (void)assertion;
    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (is_busy(win))
        return tern_fompi_error(MPI_ERR_RMA_SYNC, __func__, "an epoch of %s is open",
                                win->targets != NULL ? "foMPI_Win_start" : "a lock");
    error = ranks_of(win, group, __func__, &win->targets, &win->target_count);
    if (error != MPI_SUCCESS)
        return error;
    for (int i = 0; i < win->target_count; i++)
        win->peers[win->targets[i]].started = 1;
    win->fenced = false;
    return MPI_SUCCESS;
}

FOMPI_EXPORT int foMPI_Win_complete(foMPI_Win handle)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);
    tern_status            status;
    int                    error;

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (win->targets == NULL)
        return tern_fompi_error(MPI_ERR_RMA_SYNC, __func__, "there is no epoch of foMPI_Win_start");
    error = tern_fompi_flush(win, TERN_FOMPI_ALL, __func__);
    for (int i = 0; i < win->target_count; i++) {
        struct tern_fompi_peer *peer = &win->peers[win->targets[i]];

        if (!(peer->open & TERN_FOMPI_POSTED)) { /* no access has waited for the post */
            int last = await_post(win, win->targets[i], __func__);

            error = error != MPI_SUCCESS ? error : last;
        }
        peer->open &= (uint8_t)~TERN_FOMPI_POSTED;
        peer->started = 0;
    }
    status = signal_all(win, win->targets, win->target_count, offsetof(struct tern_fompi_control, completed));
    free(win->targets);
    win->targets = NULL;
    return error != MPI_SUCCESS ? error : tern_fompi_result(status, __func__, "telling the targets");
}

FOMPI_EXPORT int foMPI_Win_post(MPI_Group group, int assertion, foMPI_Win handle)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);
    int                   *ranks, n, error;
    tern_status            status;

    (void)assertion;
    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (win->exposed)
        return tern_fompi_error(MPI_ERR_RMA_SYNC, __func__, "an epoch of foMPI_Win_post is open");
    error = ranks_of(win, group, __func__, &ranks, &n);
    if (error != MPI_SUCCESS)
        return error;
    win->exposed = true;
    win->fenced = false;
    win->expected += (uint64_t)n;
    status = signal_all(win, ranks, n, posts_offset(win->rank));
    free(ranks);
    return tern_fompi_result(status, __func__, "telling the group");
}

/* Wait until the deadline for the end of the exposure epoch. */
static int end_exposure(foMPI_Win handle, tern_deadline deadline, int *flag, const char *call)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);
    tern_status            status;

    if (win == NULL)
        return tern_fompi_bad_win(call, handle);
    if (!win->exposed)
        return tern_fompi_error(MPI_ERR_RMA_SYNC, call, "there is no epoch of foMPI_Win_post");
    status = tern_signal_wait(win->sync_ctx, win->control, offsetof(struct tern_fompi_control, completed), TERN_GE,
                              win->expected, deadline, NULL);
    *flag = status == TERN_OK;
    win->exposed = status != TERN_OK;
    return status == TERN_PENDING ? MPI_SUCCESS : tern_fompi_result(status, call, "waiting for foMPI_Win_complete");
}

FOMPI_EXPORT int foMPI_Win_wait(foMPI_Win win)
{
    int flag;

    return end_exposure(win, TERN_FOREVER, &flag, __func__);
}

FOMPI_EXPORT int foMPI_Win_test(foMPI_Win win, int *flag)
{
    if (flag == NULL)
        return tern_fompi_error(MPI_ERR_ARG, __func__, "the pointer to the flag is NULL");
    return end_exposure(win, TERN_NOW, flag, __func__);
}
