/* darray.c: the part of a distributed array that belongs to a process (MPI_Type_create_darray). */
#include "datatype.h"

/* A dimension of a distributed array. */
struct dimension {
    int       global;             /* elements of the array */
    int       distribution, size; /* how they are distributed, and the size of a block */
    int       processes, position;
    ptrdiff_t stride; /* from one element to the next, in bytes */
};

/* Return the size of a block, also if the program has chosen the default. */
static int block_size(const struct dimension *d)
{
    if (d->distribution == MPI_DISTRIBUTE_NONE)
        return d->global;
    if (d->size != MPI_DISTRIBUTE_DFLT_DARG)
        return d->size;
    return d->distribution == MPI_DISTRIBUTE_BLOCK ? (d->global + d->processes - 1) / d->processes : 1;
}

/* Repeat the layout of the inner dimensions over the blocks of one dimension. */
static bool distribute(struct tern_mpi_layout *layout, const struct dimension *d)
{
    bool                   whole = d->distribution == MPI_DISTRIBUTE_NONE, ok = true;
    int                    size = block_size(d);
    struct tern_mpi_layout all = { .bytes = 0 }, block;

    for (long first = whole ? 0 : (long)d->position * size; ok && size > 0 && first < d->global;
         first += (long)d->processes * size) {
        long count = d->global - first < size ? d->global - first : size;

        ok = tern_mpi_layout_copy(&block, layout);
        if (!ok)
            break;
        ok = tern_mpi_layout_repeat(&block, (size_t)count, d->stride) &&
             tern_mpi_layout_append(&all, &block, first * d->stride);
        tern_mpi_layout_free(&block);
        if (whole)
            break;
    }
    tern_mpi_layout_tidy(&all);
    tern_mpi_layout_free(layout);
    *layout = all;
    return ok;
}

bool tern_mpi_darray(struct tern_mpi_layout *layout, const int *integers, ptrdiff_t extent)
{
    int        rank = integers[1], dims = integers[2], processes = integers[0], order = integers[3 + 4 * dims];
    const int *global = integers + 3, *distribution = global + dims, *size = distribution + dims, *grid = size + dims;
    int        position[dims > 0 ? dims : 1];
    ptrdiff_t  stride = extent;

    for (int i = 0; i < dims; i++) { /* the process grid is in row-major order */
        processes /= grid[i];
        position[i] = rank / processes;
        rank %= processes;
    }
    for (int n = 0; n < dims; n++) {
        int              i = order == MPI_ORDER_C ? dims - 1 - n : n;
        struct dimension d = { global[i], distribution[i], size[i], grid[i], position[i], stride };

        if (!distribute(layout, &d))
            return false;
        stride *= global[i];
    }
    return true;
}
