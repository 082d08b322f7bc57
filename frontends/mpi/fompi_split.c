/* fompi_split.c: accesses to dynamic windows whose bytes lie in several attached ranges.
 *
 * Tern refuses an access that does not lie in one range, and the origin does not know the ranges. Such an access is
 * made block by block, and a block that is refused is halved until its parts are accepted. An access that includes
 * memory that is not attached fails, but part of its other bytes may have been moved.
 */
#include "fompi_state.h"

/* The state of an access that is being split. */
struct split {
    const struct tern_mpi_access *access;
    tern_opts                     opts;
    size_t                        element; /* blocks are cut at multiples of this length */
};

/* Move a block; both sides are contiguous. */
static tern_status move_block(const struct split *split, unsigned char *local, uint64_t offset, size_t len)
{
    const struct tern_mpi_access *a = split->access;
    tern_status                   status;
    size_t                        half;

    switch (a->kind) {
    case TERN_MPI_PUT: status = tern_put_with(a->ctx, a->region, a->rank, offset, local, len, &split->opts); break;
    case TERN_MPI_GET: status = tern_get_with(a->ctx, a->region, a->rank, offset, local, len, &split->opts); break;
    case TERN_MPI_ACC: status = tern_acc_with(a->ctx, a->region, a->rank, offset, local, len, &split->opts); break;
    default: status = tern_get_acc_with(a->ctx, a->region, a->rank, offset, local, len, &split->opts);
    }
    if (status != TERN_ERR_RANGE || len <= split->element)
        return status;
    half = (len / split->element + 1) / 2 * split->element;
    status = move_block(split, local, offset, half);
    return status == TERN_OK ? move_block(split, local + half, offset + half, len - half) : status;
}

static struct tern_mpi_cursor walk(struct tern_mpi_side side)
{
    return tern_mpi_cursor_begin(&side.type->layout, side.count, side.type->extent);
}

/* Move all blocks that both sides have in common. */
static tern_status move_blocks(const struct split *split)
{
    const struct tern_mpi_access *a = split->access;
    struct tern_mpi_cursor        here = walk(a->here), there = walk(a->there);
    struct tern_mpi_piece         h = { 0, 0 }, t = { 0, 0 };
    tern_status                   status = TERN_OK;

    while (status == TERN_OK) {
        size_t len;

        if ((h.len == 0 && !tern_mpi_cursor_next(&here, &h)) || (t.len == 0 && !tern_mpi_cursor_next(&there, &t)))
            break;
        len = h.len < t.len ? h.len : t.len;
        status = move_block(split, (unsigned char *)a->local + h.at, a->offset + (uint64_t)t.at, len);
        h = (struct tern_mpi_piece){ h.at + (ptrdiff_t)len, h.len - len };
        t = (struct tern_mpi_piece){ t.at + (ptrdiff_t)len, t.len - len };
    }
    return status;
}

/* Make an access block by block. */
static tern_status move_split(const struct tern_mpi_access *access, const tern_opts *opts)
{
    struct split split = { .access = access, .opts = TERN_OPTS(.call = opts->call, .acc = opts->acc), .element = 1 };
    tern_event  *event = opts->event != NULL ? opts->event : opts->local;
    tern_status  status;

    if (opts->acc != NULL && access->there.type->basic.size != 0)
        split.element = access->there.type->basic.size;
    status = move_blocks(&split);
    if (status == TERN_OK && (opts->flags & TERN_NOTIFY)) {
        status = tern_quiet_rank(access->ctx, access->rank); /* the data before the notification */
        if (status == TERN_OK)
            status = tern_notify(access->ctx, access->region, access->rank, opts->tag);
    }
    if (status == TERN_OK && event != NULL)
        status = tern_quiet_nb(access->ctx, event);
    return status;
}

tern_status tern_fompi_move_dynamic(const struct tern_mpi_access *access, const tern_opts *opts)
{
    tern_status status = tern_mpi_move(access, opts);

    return status == TERN_ERR_RANGE ? move_split(access, opts) : status;
}
