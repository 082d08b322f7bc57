/* fompi_rma.c: puts and gets: plain, with a request, and notified.
 *
 * After a notified access, a process may wait in MPI, where nothing makes progress for Tern. Over a network, an access
 * may need this process once more before its target is notified. Therefore notified accesses to processes that are not
 * near are complete when they return.
 */
#include "fompi_state.h"

int tern_fompi_side(const char *call, int count, MPI_Datatype datatype, struct tern_mpi_side *side)
{
    int error;

    if (TERN_UNLIKELY(count < 0))
        return tern_fompi_error(MPI_ERR_COUNT, call, "the count is %d", count);
    error = tern_mpi_type_of(datatype, &side->type);
    if (TERN_UNLIKELY(error != MPI_SUCCESS))
        return tern_fompi_error(error, call, "%s",
                                error == MPI_ERR_TYPE ? "the datatype is invalid" : "no memory for the datatype");
    side->count = (size_t)count;
    if (TERN_UNLIKELY(!tern_mpi_side_fits(*side)))
        return tern_fompi_error(MPI_ERR_COUNT, call, "%d elements of %zu bytes are too long", count, side->type->size);
    return MPI_SUCCESS;
}

/* Report that the two sides of an access have different numbers of bytes. */
static __attribute__((cold)) int bad_sizes(const struct tern_fompi_args *args, const struct tern_mpi_access *access)
{
    return tern_fompi_error(foMPI_ERROR_RMA_DATATYPE_MISMATCH, args->call,
                            "the origin has %zu bytes and the target has %zu", tern_mpi_side_bytes(access->here),
                            tern_mpi_side_bytes(access->there));
}

static int find_offset(const struct tern_fompi_args *args, uint32_t unit, uint64_t *offset)
{
    if (TERN_UNLIKELY(args->disp < 0 || !tern_mpi_offset(args->disp, unit, offset)))
        return tern_fompi_error(MPI_ERR_DISP, args->call, "the displacement is %lld, in units of %u bytes",
                                (long long)args->disp, unit);
    return MPI_SUCCESS;
}

int tern_fompi_prepare(const struct tern_fompi_args *args, bool acc, struct tern_mpi_access *out)
{
    struct tern_fompi_win *win = tern_fompi_win(args->win);
    int                    error;

    if (TERN_UNLIKELY(win == NULL))
        return tern_fompi_bad_win(args->call, args->win);
    if (TERN_UNLIKELY((unsigned)args->rank >= (unsigned)win->size))
        return args->rank == MPI_PROC_NULL ? TERN_FOMPI_NOTHING : tern_fompi_bad_rank(args->call, win, args->rank);
    if ((error = tern_fompi_side(args->call, args->origin_count, args->origin_type, &out->here)) != MPI_SUCCESS ||
        (error = tern_fompi_side(args->call, args->target_count, args->target_type, &out->there)) != MPI_SUCCESS ||
        (error = find_offset(args, win->peers[args->rank].unit, &out->offset)) != MPI_SUCCESS)
        return error;
    if (TERN_UNLIKELY(!tern_mpi_fit(out)))
        return bad_sizes(args, out);
    out->rank = args->rank;
    out->ctx = acc ? win->acc_ctx : win->ctx;
    out->region = win->region;
    out->local = args->origin;
    if (TERN_LIKELY(args->free || win->fenced || win->peers[args->rank].open != 0))
        return MPI_SUCCESS;
    return tern_fompi_open(win, args->rank, args->call);
}

/* An access of contiguous data to memory that loads and stores reach. */
struct simple {
    struct tern_fompi_win *win;
    unsigned char         *local;
    uint64_t               offset;
    size_t                 bytes; /* not 0 */
};

/* Return whether an access is simple. tern_fompi_prepare checks all other accesses. The usual case must be fast: the
 * arguments stay in registers because all functions are inlined. */
static inline __attribute__((always_inline)) bool is_simple(const struct tern_fompi_args *args, struct simple *out)
{
    const struct tern_mpi_type *here, *there;
    size_t                      bytes;

    out->win = tern_fompi_win(args->win);
    if (TERN_UNLIKELY(out->win == NULL || (unsigned)args->rank >= (unsigned)out->win->size || args->disp < 0))
        return false;
    const struct tern_fompi_peer *peer = &out->win->peers[args->rank];
    if (TERN_UNLIKELY(!peer->near || !(args->free || peer->open != 0 || out->win->fenced)))
        return false;
    if (TERN_UNLIKELY(tern_mpi_type_of(args->origin_type, &here) != MPI_SUCCESS ||
                      tern_mpi_type_of(args->target_type, &there) != MPI_SUCCESS || !here->dense || !there->dense))
        return false;
    out->local = (unsigned char *)args->origin + here->at;
    if (TERN_UNLIKELY(args->origin_count <= 0 || args->target_count <= 0 ||
                      __builtin_mul_overflow((size_t)(unsigned)args->origin_count, here->size, &out->bytes) ||
                      __builtin_mul_overflow((size_t)(unsigned)args->target_count, there->size, &bytes) ||
                      out->bytes == 0 || out->bytes != bytes || !tern_mpi_offset(args->disp, peer->unit, &out->offset)))
        return false;
    out->offset += (uint64_t)there->at;
    return true;
}

/* Make an access that is not simple and that the next flush completes. */
static __attribute__((noinline)) int access_any(const struct tern_fompi_args *args, enum tern_mpi_kind kind)
{
    struct tern_mpi_access access = { .kind = kind };
    struct tern_fompi_win *win;
    tern_opts              opts = TERN_OPTS(.call = args->call);
    int                    error = tern_fompi_prepare(args, false, &access);

    if (TERN_UNLIKELY(error != MPI_SUCCESS))
        return error == TERN_FOMPI_NOTHING ? MPI_SUCCESS : error;
    win = tern_fompi_win(args->win);
    if (kind == TERN_MPI_GET)
        win->reads = true;
    if (TERN_UNLIKELY(tern_mpi_side_bytes(access.here) == 0))
        return MPI_SUCCESS;
    return tern_fompi_result(tern_fompi_mover(win)(&access, &opts), args->call, "the access");
}

/* Make an access that the next flush completes. */
static inline __attribute__((always_inline)) int access_now(const struct tern_fompi_args *args, enum tern_mpi_kind kind)
{
    struct simple s;
    tern_status   status;

    if (TERN_UNLIKELY(!is_simple(args, &s))) {
        struct tern_fompi_args copy = *args; /* a copy, so that the arguments need no memory in the usual case */

        return access_any(&copy, kind);
    }
    if (kind == TERN_MPI_PUT) {
        status = tern_put_nbi(s.win->ctx, s.win->region, args->rank, s.offset, s.local, s.bytes);
    } else {
        s.win->reads = true;
        status = tern_get_nbi(s.win->ctx, s.win->region, args->rank, s.offset, s.local, s.bytes);
    }
    return tern_fompi_result(status, args->call, "the access");
}

/* Make an access with a request, and with the other options in opts. */
static int access_later(const struct tern_fompi_args *args, enum tern_mpi_kind kind, tern_opts opts, foMPI_Request *out)
{
    struct tern_mpi_access     access = { .kind = kind };
    struct tern_fompi_request *request;
    tern_status                status = TERN_OK;
    int                        error;

    if (out == NULL)
        return tern_fompi_error(MPI_ERR_ARG, args->call, "the pointer to the request is NULL");
    error = tern_fompi_prepare(args, false, &access);
    if (error != MPI_SUCCESS && error != TERN_FOMPI_NOTHING)
        return error;
    request = tern_fompi_request_new(tern_fompi_win(args->win));
    if (request == NULL)
        return tern_fompi_error(MPI_ERR_NO_MEM, args->call, "there is no memory for a request");
    if (error == MPI_SUCCESS) {
        if (kind == TERN_MPI_GET) {
            request->win->reads = true;
            opts.event = &request->event;
        } else {
            opts.local = &request->event;
        }
        if (tern_mpi_side_bytes(access.here) != 0 || (opts.flags & TERN_NOTIFY))
            status = tern_fompi_mover(request->win)(&access, &opts);
    }
    if (status != TERN_OK) {
        tern_fompi_request_drop(request);
        return tern_fompi_error_of(status, args->call, "the access");
    }
    request->active = true;
    *out = (foMPI_Request)(void *)request;
    return MPI_SUCCESS;
}

/* Return whether an access with this tag notifies. Tags that mean any tag do not: -1 is MPI_ANY_TAG. */
static bool notifies(int tag)
{
    return tag != foMPI_ANY_TAG && tag != MPI_ANY_TAG;
}

static int check_tag(int tag, const char *call)
{
    if (TERN_LIKELY((unsigned)tag <= foMPI_TAG_UB || !notifies(tag)))
        return MPI_SUCCESS;
    return tern_fompi_error(MPI_ERR_TAG, call, "the tag is %d; tags are 0 to %d", tag, foMPI_TAG_UB);
}

/* Start a notified access, and finish it if it is not complete at once. */
static tern_status move_and_notify(const struct tern_fompi_win *win, const struct tern_mpi_access *a, const char *call,
                                   uint32_t tag)
{
    tern_event  event = TERN_EVENT_INIT;
    tern_opts   opts = TERN_OPTS(.call = call, .flags = TERN_NOTIFY, .tag = tag, .event = &event);
    tern_status status;

    if (TERN_UNLIKELY(tern_mpi_side_bytes(a->here) == 0))
        return tern_notify(a->ctx, a->region, a->rank, tag);
    status = tern_fompi_mover(win)(a, &opts);
    return status == TERN_OK ? tern_event_wait(&event, TERN_FOREVER) : status;
}

/* Make a notified access that is not simple. */
static __attribute__((noinline)) int notify_any(const struct tern_fompi_args *args, enum tern_mpi_kind kind, int tag)
{
    struct tern_mpi_access access = { .kind = kind };
    struct tern_fompi_win *win;
    int                    error = check_tag(tag, args->call);

    if (error != MPI_SUCCESS || !notifies(tag))
        return error != MPI_SUCCESS ? error : access_now(args, kind);
    error = tern_fompi_prepare(args, false, &access);
    if (TERN_UNLIKELY(error != MPI_SUCCESS))
        return error == TERN_FOMPI_NOTHING ? MPI_SUCCESS : error;
    win = tern_fompi_win(args->win);
    return tern_fompi_result(move_and_notify(win, &access, args->call, (uint32_t)tag), args->call,
                             "the notified access");
}

/* Make a notified access. The next flush completes it, or it is already complete. */
static inline __attribute__((always_inline)) int access_notify(const struct tern_fompi_args *args,
                                                               enum tern_mpi_kind kind, int tag)
{
    struct simple s;

    if (TERN_UNLIKELY(kind != TERN_MPI_PUT || (unsigned)tag > foMPI_TAG_UB || !is_simple(args, &s))) {
        struct tern_fompi_args copy = *args;

        return notify_any(&copy, kind, tag);
    }
    return tern_fompi_result(
        tern_put_notify_nbi(s.win->ctx, s.win->region, args->rank, s.offset, s.local, s.bytes, (uint32_t)tag),
        args->call, "the notified access");
}

/* Return whether a notified access with a request may be outstanding. In a dynamic window, an access that is split
 * sends its notification last. */
static bool is_far(const struct tern_fompi_args *args)
{
    const struct tern_fompi_win *win = tern_fompi_win(args->win);

    return win != NULL && win->flavor != foMPI_WIN_FLAVOR_DYNAMIC && (unsigned)args->rank < (unsigned)win->size &&
           win->peers[args->rank].far;
}

/* Make a notified access with a request. An access to another node is a triggered operation: this process may wait in
 * MPI next, and a thread of Tern then makes progress on the access and on its notification. Other accesses are complete
 * when the function returns. */
static int access_notify_later(const struct tern_fompi_args *args, enum tern_mpi_kind kind, int tag, foMPI_Request *out)
{
    struct tern_fompi_request *request;
    int                        error;

    if (!notifies(tag))
        return access_later(args, kind, TERN_OPTS(.call = args->call), out);
    if (is_far(args)) {
        error = check_tag(tag, args->call);
        if (error != MPI_SUCCESS)
            return error;
        return access_later(args, kind,
                            TERN_OPTS(.call = args->call, .flags = TERN_NOTIFY, .tag = (uint32_t)tag,
                                      .when = tern_fompi_win(args->win)->counter),
                            out);
    }
    if (out == NULL)
        return tern_fompi_error(MPI_ERR_ARG, args->call, "the pointer to the request is NULL");
    error = access_notify(args, kind, tag);
    if (error == MPI_SUCCESS)
        error = tern_fompi_result(tern_quiet_local(tern_fompi_win(args->win)->ctx), args->call, "the notified access");
    if (error != MPI_SUCCESS)
        return error;
    request = tern_fompi_request_new(tern_fompi_win(args->win));
    if (request == NULL)
        return tern_fompi_error(MPI_ERR_NO_MEM, args->call, "there is no memory for a request");
    request->active = true;
    *out = (foMPI_Request)(void *)request;
    return MPI_SUCCESS;
}

FOMPI_EXPORT int foMPI_Put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                           MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, foMPI_Win win)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);

    return access_now(&args, TERN_MPI_PUT);
}

FOMPI_EXPORT int foMPI_Get(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                           MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, foMPI_Win win)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);

    return access_now(&args, TERN_MPI_GET);
}

FOMPI_EXPORT int foMPI_Rput(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                            MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, foMPI_Win win,
                            foMPI_Request *request)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);

    return access_later(&args, TERN_MPI_PUT, TERN_OPTS(.call = args.call), request);
}

FOMPI_EXPORT int foMPI_Rget(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                            MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, foMPI_Win win,
                            foMPI_Request *request)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(false);

    return access_later(&args, TERN_MPI_GET, TERN_OPTS(.call = args.call), request);
}

FOMPI_EXPORT int foMPI_Put_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                  int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
                                  foMPI_Win win, int tag)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(true);

    return access_notify(&args, TERN_MPI_PUT, tag);
}

FOMPI_EXPORT int foMPI_Get_notify(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                                  MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, foMPI_Win win,
                                  int tag)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(true);

    return access_notify(&args, TERN_MPI_GET, tag);
}

FOMPI_EXPORT int foMPI_Rput_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                                   int target_rank, MPI_Aint target_disp, int target_count,
                                   MPI_Datatype target_datatype, foMPI_Win win, foMPI_Request *request, int tag)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(true);

    return access_notify_later(&args, TERN_MPI_PUT, tag, request);
}

FOMPI_EXPORT int foMPI_Rget_notify(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
                                   MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, foMPI_Win win,
                                   foMPI_Request *request, int tag)
{
    struct tern_fompi_args args = TERN_FOMPI_ARGS(true);

    return access_notify_later(&args, TERN_MPI_GET, tag, request);
}
