/* fompi_lock.c: locks of windows.
 *
 * Each process has a lock: a mutex of Tern, and a word that counts shared locks. A shared lock is one atomic addition
 * if no process wants an exclusive lock. A process that wants an exclusive lock takes the mutex, marks the word with
 * TERN_FOMPI_WRITER, waits until the shared locks are gone, and then adds the mark TERN_FOMPI_EXCLUSIVE. A process that
 * finds a mark takes its shared lock under the mutex, so that locks are granted in the order of the mutex's queue, and
 * no process starves.
 *
 * foMPI_Win_lock_all takes the lock of this process. The other locks are taken by the first access to each process. So
 * that two processes never wait for each other's locks, a process that already holds a lock waits only for a moment for
 * exclusive locks that are not granted yet, and then takes its shared lock despite the mark TERN_FOMPI_WRITER. Without
 * that moment, a process that takes and releases such a lock in a loop would starve the exclusive lock.
 */
#include "fompi_state.h"

#define LOCK_OFFSET offsetof(struct tern_fompi_control, lock)

static tern_status add(struct tern_fompi_win *win, int rank, uint64_t value, uint64_t *previous)
{
    return tern_fadd(win->sync_ctx, win->control, rank, LOCK_OFFSET, value, previous);
}

/* Wait until no process has the exclusive lock. This process is counted already, so that the next one is not
 * granted. */
static tern_status wait_for_writer(struct tern_fompi_win *win, int rank, uint64_t word)
{
    tern_atomic_args args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_GET, .type = TERN_UINT64);
    tern_idle        idle = TERN_IDLE(.nap_us = 50, .name = "a lock of foMPI: the exclusive lock of another process");
    tern_status      status = TERN_OK;

    args.result = &word;
    while (status == TERN_OK && (word & TERN_FOMPI_EXCLUSIVE)) {
        status = tern_idle_step(win->sync_ctx, &idle);
        if (status == TERN_OK)
            status = tern_atomic(win->sync_ctx, NULL, win->control, rank, LOCK_OFFSET, &args);
    }
    return status;
}

/* Let a process that waits for the exclusive lock go first, if it takes the lock within a millisecond. This process is
 * counted before and after. *word returns the word of the lock. */
static tern_status give_way(struct tern_fompi_win *win, int rank, uint64_t *word)
{
    tern_atomic_args args = TERN_ATOMIC_ARGS(.op = TERN_ATOMIC_GET, .type = TERN_UINT64, .result = word);
    tern_idle        idle = TERN_IDLE(.nap_us = 50, .deadline = tern_deadline_in(1e-3));
    tern_status      status = add(win, rank, UINT64_MAX, word); /* subtracts 1 */

    while (status == TERN_OK && (*word & TERN_FOMPI_WRITER) && !(*word & TERN_FOMPI_EXCLUSIVE)) {
        status = tern_idle_step(win->sync_ctx, &idle);
        if (status == TERN_OK)
            status = tern_atomic(win->sync_ctx, NULL, win->control, rank, LOCK_OFFSET, &args);
    }
    return status == TERN_OK || status == TERN_ERR_TIMEOUT ? add(win, rank, 1, word) : status;
}

static tern_status take_shared(struct tern_fompi_win *win, int rank)
{
    uint64_t    previous;
    tern_status status = add(win, rank, 1, &previous), last;

    if (status != TERN_OK || !(previous & TERN_FOMPI_WRITER))
        return status;
    if (win->locks > 0) {
        status = give_way(win, rank, &previous);
        return status == TERN_OK ? wait_for_writer(win, rank, previous) : status;
    }
    status = add(win, rank, UINT64_MAX, &previous); /* subtracts 1 */
    if (status == TERN_OK)
        status = tern_mutex_lock(win->sync_ctx, win->mutexes, rank, TERN_FOMPI_LOCK);
    if (status != TERN_OK)
        return status;
    status = add(win, rank, 1, &previous);
    last = tern_mutex_unlock(win->sync_ctx, win->mutexes, rank, TERN_FOMPI_LOCK);
    return status != TERN_OK ? status : last;
}

/* Take the exclusive lock if the word of the lock is as expected. *taken returns whether that was so. */
static tern_status grant(struct tern_fompi_win *win, int rank, uint64_t expected, bool *taken)
{
    uint64_t    word = expected;
    tern_status status =
        tern_cas(win->sync_ctx, win->control, rank, LOCK_OFFSET, &word, TERN_FOMPI_WRITER | TERN_FOMPI_EXCLUSIVE);

    *taken = status == TERN_OK && word == expected;
    return status;
}

static tern_status take_exclusive(struct tern_fompi_win *win, int rank)
{
    tern_idle   idle = TERN_IDLE(.nap_us = 50, .name = "foMPI_Win_lock: shared locks of other processes");
    uint64_t    word;
    bool        taken = false;
    tern_status status = tern_mutex_lock(win->sync_ctx, win->mutexes, rank, TERN_FOMPI_LOCK);

    if (status == TERN_OK)
        status = grant(win, rank, 0, &taken);
    if (status != TERN_OK || taken)
        return status;
    status = add(win, rank, TERN_FOMPI_WRITER, &word);
    while (status == TERN_OK) {
        status = grant(win, rank, TERN_FOMPI_WRITER, &taken);
        if (status != TERN_OK || taken)
            return status;
        status = tern_idle_step(win->sync_ctx, &idle);
    }
    return status;
}

static tern_status release(struct tern_fompi_win *win, int rank)
{
    uint64_t    previous;
    tern_status status;

    if (!win->peers[rank].exclusive)
        return add(win, rank, UINT64_MAX, &previous);
    status = add(win, rank, UINT64_MAX - (TERN_FOMPI_WRITER | TERN_FOMPI_EXCLUSIVE) + 1, &previous);
    if (status == TERN_OK)
        status = tern_mutex_unlock(win->sync_ctx, win->mutexes, rank, TERN_FOMPI_LOCK);
    return status;
}

/* Take a lock, and record that this process has the lock. */
static int take(struct tern_fompi_win *win, int rank, bool exclusive, const char *call)
{
    tern_status status = exclusive ? take_exclusive(win, rank) : take_shared(win, rank);

    if (status != TERN_OK)
        return tern_fompi_error_of(status, call, "taking the lock");
    win->peers[rank].open |= TERN_FOMPI_LOCKED;
    win->peers[rank].exclusive = exclusive;
    win->locks++;
    win->exclusive_locks += exclusive;
    win->head.excl_locks = win->exclusive_locks > 0 ? win : NULL;
    return MPI_SUCCESS;
}

/* Release a lock that this process has. The accesses of its epoch are complete. */
static int drop(struct tern_fompi_win *win, int rank, const char *call)
{
    struct tern_fompi_peer *peer = &win->peers[rank];
    tern_status             status = release(win, rank);

    win->locks--;
    win->exclusive_locks -= peer->exclusive;
    win->head.excl_locks = win->exclusive_locks > 0 ? win : NULL;
    peer->open &= (uint8_t)~TERN_FOMPI_LOCKED;
    peer->exclusive = 0;
    return tern_fompi_result(status, call, "releasing the lock");
}

int tern_fompi_lock_shared(struct tern_fompi_win *win, int rank, const char *call)
{
    return take(win, rank, false, call);
}

int tern_fompi_unlock_rest(struct tern_fompi_win *win, const char *call)
{
    int error = MPI_SUCCESS, last;

    for (int rank = 0; rank < win->size && win->locks > 0; rank++) {
        if ((win->peers[rank].open & TERN_FOMPI_LOCKED) && (last = drop(win, rank, call)) != MPI_SUCCESS)
            error = last;
    }
    return error;
}

/* Check that this process may begin to lock. */
static int check_start(const struct tern_fompi_win *win, const char *call)
{
    if (win->locked_all)
        return tern_fompi_error(MPI_ERR_RMA_SYNC, call, "an epoch of foMPI_Win_lock_all is open");
    if (win->targets != NULL)
        return tern_fompi_error(MPI_ERR_RMA_SYNC, call, "an epoch of foMPI_Win_start is open");
    return MPI_SUCCESS;
}

FOMPI_EXPORT int foMPI_Win_lock(int lock_type, int rank, int assertion, foMPI_Win handle)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);

    (void)assertion;
    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (lock_type != foMPI_LOCK_SHARED && lock_type != foMPI_LOCK_EXCLUSIVE)
        return tern_fompi_error(MPI_ERR_LOCKTYPE, __func__, "there is no lock type %d", lock_type);
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if ((unsigned)rank >= (unsigned)win->size)
        return tern_fompi_bad_rank(__func__, win, rank);
    if (check_start(win, __func__) != MPI_SUCCESS)
        return MPI_ERR_RMA_SYNC;
    if (win->peers[rank].open & TERN_FOMPI_LOCKED)
        return tern_fompi_error(MPI_ERR_RMA_SYNC, __func__, "this process already holds the lock of rank %d", rank);
    win->fenced = false;
    return take(win, rank, lock_type == foMPI_LOCK_EXCLUSIVE, __func__);
}

FOMPI_EXPORT int foMPI_Win_unlock(int rank, foMPI_Win handle)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);
    int                    error, last;

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if ((unsigned)rank >= (unsigned)win->size)
        return tern_fompi_bad_rank(__func__, win, rank);
    if (win->locked_all || !(win->peers[rank].open & TERN_FOMPI_LOCKED))
        return tern_fompi_error(MPI_ERR_RMA_SYNC, __func__, "foMPI_Win_lock has not locked rank %d", rank);
    error = tern_fompi_flush(win, rank, __func__);
    last = drop(win, rank, __func__);
    return error != MPI_SUCCESS ? error : last;
}

FOMPI_EXPORT int foMPI_Win_lock_all(int assertion, foMPI_Win handle)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);
    int                    error;

    (void)assertion;
    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (check_start(win, __func__) != MPI_SUCCESS)
        return MPI_ERR_RMA_SYNC;
    if (win->locks > 0)
        return tern_fompi_error(MPI_ERR_RMA_SYNC, __func__, "this process holds locks of foMPI_Win_lock");
    error = take(win, win->rank, false, __func__);
    win->fenced = false;
    win->locked_all = error == MPI_SUCCESS;
    return error;
}

FOMPI_EXPORT int foMPI_Win_unlock_all(foMPI_Win handle)
{
    struct tern_fompi_win *win = tern_fompi_win(handle);
    int                    error, last;

    if (win == NULL)
        return tern_fompi_bad_win(__func__, handle);
    if (!win->locked_all)
        return tern_fompi_error(MPI_ERR_RMA_SYNC, __func__, "there is no epoch of foMPI_Win_lock_all");
    error = tern_fompi_flush(win, TERN_FOMPI_ALL, __func__);
    last = tern_fompi_unlock_rest(win, __func__);
    win->locked_all = false;
    return error != MPI_SUCCESS ? error : last;
}
