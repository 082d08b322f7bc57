/* flatten.c: take datatypes apart, with MPI_Type_get_envelope and MPI_Type_get_contents. */
#include <stdlib.h>

#include "datatype.h"

/* The contents of a derived datatype. */
struct contents {
    int           combiner, n_integers, n_addresses, n_types;
    int          *integers;
    MPI_Aint     *addresses;
    MPI_Datatype *types;
};

/* Return whether a datatype is predefined, so that it must not be freed. */
static bool is_predefined(int combiner)
{
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

static int combiner_of(MPI_Datatype handle)
{
    int integers, addresses, types, combiner;

    if (MPI_Type_get_envelope(handle, &integers, &addresses, &types, &combiner) != MPI_SUCCESS)
        return MPI_COMBINER_NAMED;
    return combiner;
}

static void free_contents(struct contents *c)
{
    for (int i = 0; c->types != NULL && i < c->n_types; i++) {
        if (!is_predefined(combiner_of(c->types[i])))
            MPI_Type_free(&c->types[i]);
    }
    free(c->integers);
    free(c->addresses);
    free(c->types);
}

static int get_contents(MPI_Datatype handle, struct contents *c)
{
    int error = MPI_ERR_NO_MEM;

    c->integers = calloc((size_t)c->n_integers + 1, sizeof *c->integers);
    c->addresses = calloc((size_t)c->n_addresses + 1, sizeof *c->addresses);
    c->types = calloc((size_t)c->n_types + 1, sizeof *c->types);
    if (c->integers != NULL && c->addresses != NULL && c->types != NULL) {
        if (MPI_Type_get_contents(handle, c->n_integers, c->n_addresses, c->n_types, c->integers, c->addresses,
                                  c->types) == MPI_SUCCESS)
            return MPI_SUCCESS;
        error = MPI_ERR_TYPE;
    }
    c->n_types = 0; /* there are none to free */
    free_contents(c);
    return error;
}

/* Find the layout of a predefined datatype, which has a name or a Fortran kind. */
static int flatten_predefined(MPI_Datatype handle, int combiner, struct tern_mpi_layout *layout,
                              struct tern_mpi_basic *basic)
{
    struct tern_mpi_layout number = tern_mpi_layout_block(0, sizeof(int));
    int                    size;

    if (MPI_Type_size(handle, &size) != MPI_SUCCESS || size < 0)
        return MPI_ERR_TYPE;
    *layout = tern_mpi_layout_block(0, (size_t)size);
    if (size > 0 && !tern_mpi_basic_of(handle, basic)) {
        *basic = (struct tern_mpi_basic){ TERN_MPI_OPAQUE, (unsigned)size, handle };
        if (combiner == MPI_COMBINER_F90_INTEGER && size <= 8)
            basic->class = TERN_MPI_SIGNED;
        else if (combiner == MPI_COMBINER_F90_REAL && size <= 8)
            basic->class = TERN_MPI_FLOATING;
        else if (combiner == MPI_COMBINER_F90_COMPLEX && size <= 16)
            basic->class = TERN_MPI_COMPLEX;
    }
    if (handle != MPI_SHORT_INT) /* the only pair with a gap */
        return MPI_SUCCESS;
    *layout = tern_mpi_layout_block(0, sizeof(short));
    return tern_mpi_layout_append(layout, &number,
                                  offsetof(
                                      struct {
                                          short a;
                                          int   b;
                                      },
                                      b))
               ? MPI_SUCCESS
               : MPI_ERR_NO_MEM;
}

static void merge_basic(struct tern_mpi_basic *basic, struct tern_mpi_basic more)
{
    if (basic->class == TERN_MPI_NONE)
        *basic = more;
    else if (more.class != TERN_MPI_NONE && !tern_mpi_basic_same(*basic, more))
        *basic = (struct tern_mpi_basic){ .class = TERN_MPI_MIXED };
}

/* An inner datatype, taken apart. */
struct inner {
    struct tern_mpi_layout layout;
    struct tern_mpi_basic  basic;
    MPI_Aint               extent;
};

static int open_inner(struct inner *inner, MPI_Datatype type)
{
    MPI_Aint lower;
    int      error = tern_mpi_flatten(type, &inner->layout, &inner->basic);

    if (error == MPI_SUCCESS && MPI_Type_get_extent(type, &lower, &inner->extent) != MPI_SUCCESS) {
        tern_mpi_layout_free(&inner->layout);
        error = MPI_ERR_TYPE;
    }
    return error;
}

/* Append count elements of an inner datatype at a displacement, in bytes. */
static int append_inner(struct tern_mpi_layout *layout, const struct inner *inner, int count, MPI_Aint at)
{
    struct tern_mpi_layout block;
    bool                   ok;

    if (count == 0)
        return MPI_SUCCESS;
    if (!tern_mpi_layout_copy(&block, &inner->layout))
        return MPI_ERR_NO_MEM;
    ok = tern_mpi_layout_repeat(&block, (size_t)count, inner->extent) && tern_mpi_layout_append(layout, &block, at);
    tern_mpi_layout_free(&block);
    return ok ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* Find the layout of a datatype that consists of blocks of one datatype. Displacements count bytes or extents; there is
 * one length, or one for each block. */
static int append_blocks(const struct contents *c, struct tern_mpi_layout *layout, struct tern_mpi_basic *basic)
{
    int          count = c->integers[0], error;
    bool         same = c->combiner == MPI_COMBINER_INDEXED_BLOCK || c->combiner == MPI_COMBINER_HINDEXED_BLOCK;
    const int   *lengths = c->integers + 1, *places = same ? c->integers + 2 : c->integers + 1 + count;
    struct inner inner;

    error = open_inner(&inner, c->types[0]);
    if (error != MPI_SUCCESS)
        return error;
    *basic = inner.basic;
    for (int i = 0; i < count && error == MPI_SUCCESS; i++) {
        MPI_Aint at = c->n_addresses > 0 ? c->addresses[i] : places[i] * inner.extent;

        error = append_inner(layout, &inner, lengths[same ? 0 : i], at);
    }
    tern_mpi_layout_free(&inner.layout);
    tern_mpi_layout_tidy(layout);
    return error;
}

static int append_struct(const struct contents *c, struct tern_mpi_layout *layout, struct tern_mpi_basic *basic)
{
    struct inner inner;
    int          error = MPI_SUCCESS;

    for (int i = 0; i < c->integers[0] && error == MPI_SUCCESS; i++) {
        if (c->integers[1 + i] == 0)
            continue;
        error = open_inner(&inner, c->types[i]);
        if (error != MPI_SUCCESS)
            break;
        error = append_inner(layout, &inner, c->integers[1 + i], c->addresses[i]);
        merge_basic(basic, inner.basic);
        tern_mpi_layout_free(&inner.layout);
    }
    tern_mpi_layout_tidy(layout);
    return error;
}

static bool repeat_subarray(const int *integers, struct tern_mpi_layout *layout, ptrdiff_t extent)
{
    int        dims = integers[0], order = integers[1 + 3 * dims];
    const int *size = integers + 1, *part = size + dims, *start = part + dims;
    ptrdiff_t  stride = extent, at = 0;

    for (int n = 0; n < dims; n++) {
        int i = order == MPI_ORDER_C ? dims - 1 - n : n;

        if (!tern_mpi_layout_repeat(layout, (size_t)part[i], stride))
            return false;
        at += start[i] * stride;
        stride *= size[i];
    }
    layout->at += at;
    for (size_t i = 0; layout->pieces != NULL && i < layout->count; i++)
        layout->pieces[i].at += at;
    return true;
}

/* Find the layout of a datatype that repeats one other datatype regularly. */
static int repeat_type(const struct contents *c, struct tern_mpi_layout *layout, struct tern_mpi_basic *basic)
{
    struct inner inner;
    MPI_Aint     extent;
    int          error = open_inner(&inner, c->types[0]);
    bool         ok = true;

    if (error != MPI_SUCCESS)
        return error;
    *layout = inner.layout;
    *basic = inner.basic;
    extent = inner.extent;
    switch (c->combiner) {
    case MPI_COMBINER_CONTIGUOUS: ok = tern_mpi_layout_repeat(layout, (size_t)c->integers[0], extent); break;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        ok = tern_mpi_layout_repeat(layout, (size_t)c->integers[1], extent) &&
             tern_mpi_layout_repeat(layout, (size_t)c->integers[0],
                                    c->combiner == MPI_COMBINER_VECTOR ? c->integers[2] * extent : c->addresses[0]);
        break;
    case MPI_COMBINER_SUBARRAY: ok = repeat_subarray(c->integers, layout, extent); break;
    case MPI_COMBINER_DARRAY: ok = tern_mpi_darray(layout, c->integers, extent); break;
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: break;
    default: return MPI_ERR_TYPE; /* a combiner of a later version of MPI */
    }
    return ok ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int tern_mpi_flatten(MPI_Datatype handle, struct tern_mpi_layout *layout, struct tern_mpi_basic *basic)
{
    struct contents c;
    int             error;

    *layout = (struct tern_mpi_layout){ .bytes = 0 };
    *basic = (struct tern_mpi_basic){ .class = TERN_MPI_NONE };
    if (MPI_Type_get_envelope(handle, &c.n_integers, &c.n_addresses, &c.n_types, &c.combiner) != MPI_SUCCESS)
        return MPI_ERR_TYPE;
    if (is_predefined(c.combiner))
        return flatten_predefined(handle, c.combiner, layout, basic);
    error = get_contents(handle, &c);
    if (error != MPI_SUCCESS)
        return error;
    switch (c.combiner) {
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK: error = append_blocks(&c, layout, basic); break;
    case MPI_COMBINER_STRUCT: error = append_struct(&c, layout, basic); break;
    default: error = repeat_type(&c, layout, basic);
    }
    free_contents(&c);
    if (error != MPI_SUCCESS)
        tern_mpi_layout_free(layout);
    return error;
}
