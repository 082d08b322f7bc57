/* transfer.c: the choice of the operation of Tern that moves data between two layouts. */
#include <stdlib.h>

#include "transfer.h"

/* A box needs at most the loops of both sides, the repetitions of both and the two blocks. */
#define MOST_DIMS (2 * TERN_MPI_DIMS + 4)

/* The loops that both sides have in common. */
struct common {
    size_t    element;
    unsigned  dims;
    size_t    count[MOST_DIMS];
    ptrdiff_t here[MOST_DIMS];
    int64_t   there[MOST_DIMS];
};

/* A side as loops over bytes, from the innermost to the outermost. */
struct loops {
    unsigned            at; /* the present loop: 0 is the block */
    struct tern_mpi_dim now;
    unsigned            dims;
    struct tern_mpi_dim dim[TERN_MPI_DIMS + 1];
};

/* Read the loops of a side. Returns false if the layout is not a box. */
static bool open_loops(struct loops *loops, struct tern_mpi_side side)
{
    const struct tern_mpi_layout *layout = &side.type->layout;

    if (layout->pieces != NULL)
        return false;
    loops->at = 0;
    loops->now = (struct tern_mpi_dim){ layout->block, 1 };
    loops->dims = layout->dims;
    for (unsigned i = 0; i < layout->dims; i++)
        loops->dim[i] = layout->dim[i];
    if (side.type->dense)
        loops->now.count *= side.count;
    else if (side.count > 1)
        loops->dim[loops->dims++] = (struct tern_mpi_dim){ side.count, side.type->extent };
    return true;
}

/* Take count iterations from the present loop. Returns their stride. */
static ptrdiff_t take(struct loops *loops, size_t count)
{
    ptrdiff_t stride = loops->now.stride;

    loops->now.count /= count;
    loops->now.stride *= (ptrdiff_t)count;
    if (loops->now.count == 1 && loops->at < loops->dims)
        loops->now = loops->dim[loops->at++];
    return stride;
}

/* Find loops that describe both sides. Returns false if there are none: the loops of the sides are cut differently. */
static bool find_common(struct common *common, struct tern_mpi_side here, struct tern_mpi_side there)
{
    struct loops a, b;
    size_t       left = tern_mpi_side_bytes(here), n;

    if (!open_loops(&a, here) || !open_loops(&b, there))
        return false;
    common->dims = 0;
    for (bool first = true; left > 1 || first; first = false) {
        n = a.now.count < b.now.count ? a.now.count : b.now.count;
        if (a.now.count % n != 0 || b.now.count % n != 0 || common->dims == MOST_DIMS)
            return false;
        left /= n;
        if (first) {
            common->element = n;
            (void)take(&a, n);
            (void)take(&b, n);
            continue;
        }
        common->count[common->dims] = n;
        common->here[common->dims] = take(&a, n);
        common->there[common->dims++] = take(&b, n);
    }
    return true;
}

/* Return the number of bytes that an access moves. */
static size_t bytes_of(const struct tern_mpi_access *a)
{
    return a->part != 0 ? a->part : tern_mpi_side_bytes(a->here);
}

bool tern_mpi_missing(const void *buffer, struct tern_mpi_side side)
{
    const struct tern_mpi_layout *layout = &side.type->layout;
    ptrdiff_t                     first = layout->pieces != NULL ? layout->pieces[0].at : layout->at;

    return buffer == NULL && tern_mpi_side_bytes(side) > 0 && first == 0;
}

bool tern_mpi_fit(struct tern_mpi_access *a)
{
    bool                  get = a->kind == TERN_MPI_GET;
    size_t                bytes = tern_mpi_side_bytes(get ? a->there : a->here);
    struct tern_mpi_side *to = get ? &a->here : &a->there;

    a->part = 0;
    if (bytes > tern_mpi_side_bytes(*to))
        return false;
    if (bytes == tern_mpi_side_bytes(*to))
        return true;
    if (bytes % to->type->size == 0)
        to->count = bytes / to->type->size;
    else if (a->kind == TERN_MPI_PUT || get)
        a->part = bytes;
    else
        return false;
    return true;
}

static tern_status move_contiguous(const struct tern_mpi_access *a, const tern_opts *opts)
{
    size_t         bytes = bytes_of(a);
    unsigned char *local = bytes != 0 ? (unsigned char *)a->local + a->here.type->at : NULL;
    uint64_t       offset = bytes != 0 ? a->offset + (uint64_t)a->there.type->at : 0;

    switch (a->kind) {
    case TERN_MPI_PUT: return tern_put_with(a->ctx, a->region, a->rank, offset, local, bytes, opts);
    case TERN_MPI_GET: return tern_get_with(a->ctx, a->region, a->rank, offset, local, bytes, opts);
    case TERN_MPI_ACC: return tern_acc_with(a->ctx, a->region, a->rank, offset, local, bytes, opts);
    default: return tern_get_acc_with(a->ctx, a->region, a->rank, offset, local, bytes, opts);
    }
}

/* Move a box. The caller has set all fields of the box but the addresses. */
static tern_status move_strided(const struct tern_mpi_access *a, tern_strided box, const tern_opts *opts)
{
    box.local = (unsigned char *)a->local + a->here.type->layout.at;
    box.remote = a->offset + (uint64_t)a->there.type->layout.at;
    switch (a->kind) {
    case TERN_MPI_PUT: return tern_put_strided_with(a->ctx, a->region, a->rank, &box, opts);
    case TERN_MPI_GET: return tern_get_strided_with(a->ctx, a->region, a->rank, &box, opts);
    case TERN_MPI_ACC: return tern_acc_strided_with(a->ctx, a->region, a->rank, &box, opts);
    default: return tern_get_acc_strided_with(a->ctx, a->region, a->rank, &box, opts);
    }
}

/* Return a cursor at the first block of a side. */
static struct tern_mpi_cursor walk(struct tern_mpi_side side)
{
    return tern_mpi_cursor_begin(&side.type->layout, side.count, side.type->extent);
}

/* Get the next block of a side, cut to the *left bytes that are still wanted. Returns false at the end. */
static bool next_block(struct tern_mpi_cursor *cursor, size_t *left, struct tern_mpi_piece *piece)
{
    if (*left == 0 || !tern_mpi_cursor_next(cursor, piece))
        return false;
    if (piece->len > *left)
        piece->len = *left;
    *left -= piece->len;
    return true;
}

static size_t blocks_of(struct tern_mpi_side side)
{
    return tern_mpi_layout_blocks(&side.type->layout) * side.count;
}

/* Fill the lists of a vector operation, and their lengths. */
static void fill_lists(const struct tern_mpi_access *a, tern_piece *local, tern_extent *remote, tern_vector *lists)
{
    struct tern_mpi_cursor here = walk(a->here), there = walk(a->there);
    struct tern_mpi_piece  piece;
    size_t                 left = bytes_of(a), n;

    for (n = 0; next_block(&here, &left, &piece); n++)
        local[n] = (tern_piece){ (unsigned char *)a->local + piece.at, piece.len };
    lists->local_count = n;
    left = bytes_of(a);
    for (n = 0; next_block(&there, &left, &piece); n++)
        remote[n] = (tern_extent){ a->offset + (uint64_t)piece.at, piece.len };
    lists->remote_count = n;
}

static tern_status move_vector(const struct tern_mpi_access *a, const tern_opts *opts)
{
    tern_piece  *local = malloc(blocks_of(a->here) * sizeof *local);
    tern_extent *remote = malloc(blocks_of(a->there) * sizeof *remote);
    tern_vector  lists = TERN_VECTOR(.local = local, .remote = remote);
    tern_status  status = TERN_ERR_NOMEM;

    if (local != NULL && remote != NULL) {
        fill_lists(a, local, remote, &lists);
        switch (a->kind) {
        case TERN_MPI_PUT: status = tern_put_vector_with(a->ctx, a->region, a->rank, &lists, opts); break;
        case TERN_MPI_GET: status = tern_get_vector_with(a->ctx, a->region, a->rank, &lists, opts); break;
        case TERN_MPI_ACC: status = tern_acc_vector_with(a->ctx, a->region, a->rank, &lists, opts); break;
        default: status = tern_get_acc_vector_with(a->ctx, a->region, a->rank, &lists, opts);
        }
    }
    free(local);
    free(remote);
    return status;
}

tern_status tern_mpi_move(const struct tern_mpi_access *access, const tern_opts *opts)
{
    const struct tern_mpi_type *type = access->here.type;
    struct common               common;

    if ((type->dense && access->there.type->dense) || bytes_of(access) == 0)
        return move_contiguous(access, opts);
    if (access->part != 0)
        return move_vector(access, opts);
    if (type == access->there.type && access->here.count == 1 && type->layout.pieces == NULL)
        return move_strided(access,
                            TERN_STRIDED(.dims = type->layout.dims, .element = type->layout.block, .count = type->count,
                                         .local_stride = type->stride, .remote_stride = type->stride),
                            opts);
    if (find_common(&common, access->here, access->there))
        return move_strided(access,
                            TERN_STRIDED(.dims = common.dims, .element = common.element, .count = common.count,
                                         .local_stride = common.here, .remote_stride = common.there),
                            opts);
    return move_vector(access, opts);
}

void tern_mpi_copy(void *to, struct tern_mpi_side to_side, const void *from, struct tern_mpi_side from_side)
{
    struct tern_mpi_cursor target = walk(to_side), source = walk(from_side);
    struct tern_mpi_piece  t = { 0, 0 }, s = { 0, 0 };

    for (;;) {
        size_t len;

        if ((t.len == 0 && !tern_mpi_cursor_next(&target, &t)) || (s.len == 0 && !tern_mpi_cursor_next(&source, &s)))
            return;
        len = t.len < s.len ? t.len : s.len;
        tern_copy((unsigned char *)to + t.at, (const unsigned char *)from + s.at, len);
        t = (struct tern_mpi_piece){ t.at + (ptrdiff_t)len, t.len - len };
        s = (struct tern_mpi_piece){ s.at + (ptrdiff_t)len, s.len - len };
    }
}
