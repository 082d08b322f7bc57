/* notify_access.c: notified puts and gets.
 *
 * The usual case is a put with the same predefined datatype on both sides. For such a put, MPIX_Put_notify only looks
 * up the window and the datatype in their tables, and then calls Tern. The general path handles all other cases, and
 * all errors.
 *
 * An access between nodes may need a second action of this process: the transfer of the rest of the data, or the
 * notification. At that time, this process may wait in MPI, and not make progress for Tern. Therefore accesses
 * that may be outstanding are triggered operations: Tern's own thread makes progress on triggered operations while the
 * program does not.
 */
#include "notify_access.h"

#include "notify_request.h"

bool tern_notify_deferred;

int tern_notify_finish(struct tern_notify_window *w, tern_status status, const char *call)
{
    if (TERN_LIKELY(status == TERN_OK))
        return MPI_SUCCESS;
    return tern_notify_raise(w, tern_mpi_code_of(status, call, "the access"));
}

int tern_notify_side(struct tern_mpi_side *side, int count, MPI_Datatype type, const char *call, const char *which)
{
    int class;

    if (count < 0)
        return tern_mpi_code(MPI_ERR_COUNT, call, "the number of elements at the %s is %d", which, count);
    class = tern_mpi_type_of(type, &side->type);
    side->count = (size_t)count;
    if (class == MPI_ERR_NO_MEM)
        return tern_mpi_code(class, call, "there is not enough memory for the layout of the datatype of the %s", which);
    if (class != MPI_SUCCESS)
        return tern_mpi_code(class, call,
                             "the datatype of the %s is invalid, is too large, or has a constructor that is unknown",
                             which);
    if (!tern_mpi_side_fits(*side))
        return tern_mpi_code(MPI_ERR_COUNT, call,
                             "%d elements of the datatype of the %s, each of %zu bytes, are too long", count, which,
                             side->type->size);
    return MPI_SUCCESS;
}

static int check(const struct tern_notify_args *a, const struct tern_notify_window *w)
{
    if (a->rank < 0 || a->rank >= w->size)
        return tern_mpi_code(MPI_ERR_RANK, a->call, "there is no rank %d in the window, which has the ranks 0 to %d",
                             a->rank, w->size - 1);
    if (a->tag < 0)
        return tern_mpi_code(MPI_ERR_TAG, a->call, "the tag is %d; tags are 0 to %d", a->tag, MPIX_NOTIFY_TAG_UB);
    if (a->disp < 0)
        return tern_mpi_code(MPI_ERR_DISP, a->call, "the displacement at the target is %ld", (long)a->disp);
    if (a->origin == MPI_IN_PLACE)
        return tern_mpi_code(MPI_ERR_BUFFER, a->call,
                             "the origin buffer is MPI_IN_PLACE, which one-sided calls do not accept");
    return MPI_SUCCESS;
}

/* Find the offset of an access in the memory of the target. */
static int find_offset(const struct tern_notify_args *a, uint64_t unit, uint64_t *offset)
{
    if (tern_mpi_offset(a->disp, unit, offset))
        return MPI_SUCCESS;
    return tern_mpi_code(MPI_ERR_RMA_RANGE, a->call, "the displacement at the target is %ld, in units of %lu bytes",
                         (long)a->disp, (unsigned long)unit);
}

int tern_notify_prepare(const struct tern_notify_args *a, struct tern_mpi_access *access,
                        struct tern_notify_window **out)
{
    struct tern_notify_window *w = *out = tern_notify_window_of(a->win);
    int                        error;

    if (w == NULL)
        return tern_notify_no_window(a->win, a->call);
    access->rank = a->rank;
    if (a->rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    error = check(a, w);
    if (error == MPI_SUCCESS)
        error = tern_notify_side(&access->here, a->origin_count, a->origin_type, a->call, "origin");
    if (error == MPI_SUCCESS)
        error = tern_notify_side(&access->there, a->target_count, a->target_type, a->call, "target");
    if (error == MPI_SUCCESS)
        error = find_offset(a, w->peers[a->rank].unit, &access->offset);
    if (error == MPI_SUCCESS && !tern_mpi_fit(access))
        error = tern_mpi_code(MPI_ERR_TRUNCATE, a->call, "the origin has %zu bytes, and the target %zu",
                              tern_mpi_side_bytes(access->here), tern_mpi_side_bytes(access->there));
    if (error != MPI_SUCCESS)
        return tern_notify_raise(w, error);
    access->ctx = w->ctx;
    access->region = w->region;
    access->local = a->origin;
    return MPI_SUCCESS;
}

int tern_notify_complete_request(MPI_Request *request)
{
    return MPI_Irecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, request);
}

NOTIFY_EXPORT int MPIX_Notify_defer(int flag)
{
    /* relaxed: orders nothing. A thread that changes the setting synchronizes with the threads that rely on it. */
    __atomic_store_n(&tern_notify_deferred, flag != 0, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

/* Start an access that the program may complete later. */
static tern_status start(struct tern_notify_window *w, const struct tern_mpi_access *access, tern_opts *opts)
{
    opts->when = w->counter; /* its value is the threshold, 0, so that the access starts at once */
    if (access->kind == TERN_MPI_GET)
        __atomic_fetch_add(&w->gets, 1, __ATOMIC_RELAXED); /* see tern_notify_gets_outstanding */
    return tern_mpi_move(access, opts);
}

/* Make an access, and wait until it is complete. */
static tern_status move_whole(const struct tern_mpi_access *access, tern_opts *opts)
{
    tern_event  event = TERN_EVENT_INIT;
    tern_status status;

    opts->event = &event;
    status = tern_mpi_move(access, opts);
    return status == TERN_OK ? tern_event_wait(&event, TERN_FOREVER) : status;
}

/* Make an access. An access to a near process, and a get from a process of this node, are complete when the function
 * returns. */
static tern_status move(struct tern_notify_window *w, const struct tern_mpi_access *access, tern_opts *opts)
{
    const struct tern_notify_peer *peer = &w->peers[access->rank];

    if (peer->near)
        return tern_mpi_move(access, opts);
    if (access->kind == TERN_MPI_GET && peer->node) /* the kernel copies now */
        return move_whole(access, opts);
    return start(w, access, opts);
}

/* Start an access whose request may be outstanding. */
static int move_later(struct tern_notify_window *w, const struct tern_mpi_access *access, tern_opts *opts,
                      MPI_Request *request)
{
    struct tern_notify_request *r = tern_notify_access_request(w);
    tern_status                 status;

    if (r == NULL)
        return tern_notify_raise(w, tern_mpi_code(MPI_ERR_NO_MEM, opts->call, "there is no memory for a request"));
    if (access->kind == TERN_MPI_GET)
        opts->event = &r->event;
    else
        opts->local = &r->event;
    status = start(w, access, opts);
    if (status != TERN_OK) {
        tern_notify_request_drop(r);
        return tern_notify_finish(w, status, opts->call);
    }
    *request = r->handle;
    return MPI_SUCCESS;
}

/* Make an access with a request. The access is complete when the function returns, unless the program accepts requests
 * that are outstanding, and the target is on another node. */
static int move_request(struct tern_notify_window *w, const struct tern_mpi_access *access, tern_opts *opts,
                        MPI_Request *request)
{
    const struct tern_notify_peer *peer = &w->peers[access->rank];
    int                            error;

    /* relaxed: orders nothing. Pairs with the store in MPIX_Notify_defer. */
    if (!peer->node && !peer->near && __atomic_load_n(&tern_notify_deferred, __ATOMIC_RELAXED))
        return move_later(w, access, opts, request);
    error = tern_notify_finish(w, peer->near ? tern_mpi_move(access, opts) : move_whole(access, opts), opts->call);
    return error != MPI_SUCCESS ? error : tern_notify_complete_request(request);
}

/* Make a put or a get. */
static __attribute__((noinline)) int access_any(const struct tern_notify_args *args, enum tern_mpi_kind kind)
{
    struct tern_mpi_access     access = { .kind = kind };
    struct tern_notify_window *w;
    tern_opts                  opts = TERN_OPTS(.flags = TERN_NOTIFY, .tag = (uint32_t)args->tag, .call = args->call);
    int                        error = tern_notify_prepare(args, &access, &w);

    if (error != MPI_SUCCESS || access.rank == MPI_PROC_NULL)
        return error;
    return tern_notify_finish(w, move(w, &access, &opts), args->call);
}

/* Make a put or a get with a request. */
static int access_request(const struct tern_notify_args *args, enum tern_mpi_kind kind, MPI_Request *request)
{
    struct tern_mpi_access     access = { .kind = kind };
    struct tern_notify_window *w;
    tern_opts                  opts = TERN_OPTS(.flags = TERN_NOTIFY, .tag = (uint32_t)args->tag, .call = args->call);
    int                        error = tern_notify_prepare(args, &access, &w);

    if (error != MPI_SUCCESS)
        return error;
    if (request == NULL)
        return tern_notify_raise(w, tern_mpi_code(MPI_ERR_ARG, args->call, "the pointer to the request is NULL"));
    if (access.rank == MPI_PROC_NULL)
        return tern_notify_complete_request(request);
    return move_request(w, &access, &opts, request);
}

/* Make a put that is not the usual case. The parameters are the same as those of MPIX_Put_notify, so that the compiler
 * can replace the call by a jump. */
static __attribute__((noinline)) int put_any(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                             int target_rank, MPI_Aint target_disp, int target_count,
                                             MPI_Datatype target_datatype, MPI_Win win, int tag)
{
    return access_any(&(struct tern_notify_args){ "MPIX_Put_notify", (void *)(uintptr_t)origin_addr, origin_count,
                                                  origin_datatype, target_rank, target_disp, target_count,
                                                  target_datatype, win, tag },
                      TERN_MPI_PUT);
}

static __attribute__((cold, noinline)) int put_failed(MPI_Win win, tern_status status)
{
    return tern_notify_finish(tern_notify_window_of(win), status, "MPIX_Put_notify");
}

NOTIFY_EXPORT int MPIX_Put_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                  int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
                                  MPI_Win win, int tag)
{
    /* acquire: the records behind the pointers. Pairs with the releases in notify_window.c and datatype.c. */
    const struct tern_notify_window *w =
        __atomic_load_n(&tern_notify_windows[tern_notify_window_slot(win)], __ATOMIC_ACQUIRE);
    const struct tern_mpi_type *type =
        __atomic_load_n(&tern_mpi_types[tern_mpi_type_slot(origin_datatype)], __ATOMIC_ACQUIRE);
    uint64_t offset;
    size_t   bytes;

    if (TERN_LIKELY(w != NULL && w->handle == win && type != NULL && type->handle == origin_datatype && type->plain &&
                    target_datatype == origin_datatype && target_count == origin_count && (origin_count | tag) >= 0 &&
                    target_disp >= 0 && (unsigned)target_rank < (unsigned)w->size && w->peers[target_rank].near &&
                    origin_addr != MPI_IN_PLACE && !__builtin_mul_overflow((size_t)origin_count, type->size, &bytes) &&
                    !__builtin_mul_overflow((uint64_t)target_disp, w->peers[target_rank].unit, &offset))) {
        tern_status status =
            tern_put_notify_nbi(w->ctx, w->region, target_rank, offset, origin_addr, bytes, (uint32_t)tag);

        return TERN_LIKELY(status == TERN_OK) ? MPI_SUCCESS : put_failed(win, status);
    }
    return put_any(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype,
                   win, tag);
}

NOTIFY_EXPORT int MPIX_Get_notify(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                                  MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
                                  int tag)
{
    return access_any(&(struct tern_notify_args){ "MPIX_Get_notify", origin_addr, origin_count, origin_datatype,
                                                  target_rank, target_disp, target_count, target_datatype, win, tag },
                      TERN_MPI_GET);
}

NOTIFY_EXPORT int MPIX_Rput_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                   int target_rank, MPI_Aint target_disp, int target_count,
                                   MPI_Datatype target_datatype, MPI_Win win, int tag, MPI_Request *request)
{
    struct tern_notify_args args = { "MPIX_Rput_notify",
                                     (void *)(uintptr_t)origin_addr,
                                     origin_count,
                                     origin_datatype,
                                     target_rank,
                                     target_disp,
                                     target_count,
                                     target_datatype,
                                     win,
                                     tag };

    return access_request(&args, TERN_MPI_PUT, request);
}

NOTIFY_EXPORT int MPIX_Rget_notify(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                                   MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
                                   int tag, MPI_Request *request)
{
    struct tern_notify_args args = {
        "MPIX_Rget_notify", origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
        target_datatype,    win,         tag
    };

    return access_request(&args, TERN_MPI_GET, request);
}
