/* mpi_datatype.c: the layouts of datatypes (frontends/mpi/datatype.h) contain the bytes of the type map in its order;
 * the basic elements are those of the type map; and a freed datatype is forgotten.
 *
 * Random datatypes are built from all constructors of MPI, nested, with gaps, negative strides and displacements, and
 * changed bounds. Beside each of them, the test writes the type map as the MPI standard defines it, as a list of bytes.
 * (MPI_Pack would be simpler, but both MPIs pack some of these datatypes wrong, or crash.) DATATYPE_SEED selects other
 * datatypes, DATATYPE_COUNT how many.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datatype.h"

#define MOST 20000 /* bytes in a type map */

/* A type map: the displacements of all bytes, in order. */
struct map {
    int  count;
    long at[MOST];
};

/* A datatype and its type map. */
struct type {
    MPI_Datatype handle;
    MPI_Aint     extent;
    struct map   map;
};

static unsigned long seed = 1;

static void fail(const char *what, int which)
{
    fprintf(stderr, "datatype %d: %s\n", which, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int below(int n)
{
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return (int)(seed >> 33) % n;
}

/* Append a type map to another one, displaced. */
static void append(struct map *to, const struct map *from, long at)
{
    if (to->count + from->count > MOST)
        fail("the type map is too long for the test", 0);
    for (int i = 0; i < from->count; i++)
        to->at[to->count++] = from->at[i] + at;
}

static void append_run(struct map *to, const struct type *from, int count, long at)
{
    for (int i = 0; i < count; i++)
        append(to, &from->map, at + i * (long)from->extent);
}

static void build_basic(struct type *out)
{
    MPI_Datatype list[] = { MPI_BYTE,
                            MPI_CHAR,
                            MPI_SHORT,
                            MPI_INT,
                            MPI_LONG,
                            MPI_FLOAT,
                            MPI_DOUBLE,
                            MPI_LONG_DOUBLE,
                            MPI_C_BOOL,
                            MPI_SHORT_INT,
                            MPI_2INT,
                            MPI_UINT16_T,
                            MPI_C_DOUBLE_COMPLEX,
                            MPI_DOUBLE_INT };
    int          size;

    out->handle = list[below(sizeof list / sizeof *list)];
    out->map.count = 0;
    MPI_Type_size(out->handle, &size);
    for (int i = 0; i < size; i++)
        out->map.at[out->map.count++] = out->handle == MPI_SHORT_INT && i >= 2 ? i + 2 : i;
}

static void build_subarray(struct type *out, const struct type *old)
{
    int size[2] = { 1 + below(4), 1 + below(4) }, part[2] = { 1 + below(size[0]), 1 + below(size[1]) };
    int start[2] = { below(size[0] - part[0] + 1), below(size[1] - part[1] + 1) };
    int order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, in = order == MPI_ORDER_C, outer = !in;

    MPI_Type_create_subarray(2, size, part, start, order, old->handle, &out->handle);
    for (int i = 0; i < part[outer]; i++)
        append_run(&out->map, old, part[in], ((start[outer] + i) * size[in] + start[in]) * (long)old->extent);
}

/* Whether a process owns an index of a distributed dimension, by the definition of the distributions. */
static int owns(int index, int how, int size, int global, int processes, int position)
{
    if (how == MPI_DISTRIBUTE_NONE)
        return 1;
    if (size == MPI_DISTRIBUTE_DFLT_DARG)
        size = how == MPI_DISTRIBUTE_BLOCK ? (global + processes - 1) / processes : 1;
    return index / size % processes == position;
}

static void build_darray(struct type *out, const struct type *old)
{
    int global[2] = { 1 + below(6), 1 + below(6) }, grid[2] = { 1 + below(2), 1 + below(3) }, how[2], size[2];
    int rank = below(grid[0] * grid[1]), at[2] = { rank / grid[1], rank % grid[1] };
    int order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, in = order == MPI_ORDER_C, outer = !in;

    for (int i = 0; i < 2; i++) {
        how[i] = below(2) ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK;
        size[i] = below(2) ? MPI_DISTRIBUTE_DFLT_DARG : how[i] == MPI_DISTRIBUTE_BLOCK ? global[i] : 1 + below(2);
        if (grid[i] == 1 && below(2)) {
            how[i] = MPI_DISTRIBUTE_NONE;
            size[i] = MPI_DISTRIBUTE_DFLT_DARG;
        }
    }
    if (MPI_Type_create_darray(grid[0] * grid[1], rank, 2, global, how, size, grid, order, old->handle, &out->handle) !=
        MPI_SUCCESS) { /* Open MPI refuses some */
        MPI_Type_dup(old->handle, &out->handle);
        append_run(&out->map, old, 1, 0);
        return;
    }
    for (int i = 0; i < global[outer]; i++) {
        for (int j = 0; owns(i, how[outer], size[outer], global[outer], grid[outer], at[outer]) && j < global[in];
             j++) {
            if (owns(j, how[in], size[in], global[in], grid[in], at[in]))
                append_run(&out->map, old, 1, (i * global[in] + j) * (long)old->extent);
        }
    }
}

/* A datatype of blocks, from one inner datatype or from two. */
static void build_blocks(struct type *out, const struct type *old, const struct type *other, int how)
{
    int          lengths[4], places[4], n = 1 + below(4), one = below(3);
    MPI_Aint     bytes[4];
    MPI_Datatype types[4];

    for (int i = 0; i < n; i++) {
        lengths[i] = below(4);
        places[i] = below(9) - 3;
        bytes[i] = 8 * (below(40) - 10);
        types[i] = below(2) ? old->handle : other->handle;
    }
    switch (how) {
    case 0: MPI_Type_indexed(n, lengths, places, old->handle, &out->handle); break;
    case 1: MPI_Type_create_hindexed(n, lengths, bytes, old->handle, &out->handle); break;
    case 2: MPI_Type_create_indexed_block(n, one, places, old->handle, &out->handle); break;
    case 3: MPI_Type_create_hindexed_block(n, one, bytes, old->handle, &out->handle); break;
    default: MPI_Type_create_struct(n, lengths, bytes, types, &out->handle);
    }
    for (int i = 0; i < n; i++) {
        const struct type *inner = how == 4 && types[i] != old->handle ? other : old;

        append_run(&out->map, inner, how == 2 || how == 3 ? one : lengths[i],
                   how == 0 || how == 2 ? places[i] * (long)old->extent : bytes[i]);
    }
}

static void build_vector(struct type *out, const struct type *old, int how)
{
    int  count = 1 + below(4), length = below(4), stride = below(9) - 4;
    long bytes = how == 0 ? stride * (long)old->extent : 8 * (below(60) - 30);

    if (how == 0)
        MPI_Type_vector(count, length, stride, old->handle, &out->handle);
    else
        MPI_Type_create_hvector(count, length, bytes, old->handle, &out->handle);
    for (int i = 0; i < count; i++)
        append_run(&out->map, old, length, i * bytes);
}

static int is_named(MPI_Datatype handle)
{
    int a, b, c, combiner;

    MPI_Type_get_envelope(handle, &a, &b, &c, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

/* Build a random datatype of the given depth. The inner datatypes are freed. */
static struct type *build(int depth)
{
    struct type *out = malloc(sizeof *out), *inner[2] = { NULL, NULL };
    int          how = below(12), n = 1 + below(4);
    MPI_Aint     lower;

    out->map.count = 0;
    if (depth == 0) {
        build_basic(out);
    } else {
        inner[0] = build(depth - 1);
        inner[1] = build(below(depth));
        if (how == 0)
            MPI_Type_dup(inner[0]->handle, &out->handle);
        else if (how == 1)
            MPI_Type_contiguous(n, inner[0]->handle, &out->handle);
        else if (how == 2)
            MPI_Type_create_resized(inner[0]->handle, 8 * (below(5) - 2), 8 * below(20), &out->handle);
        if (how <= 2)
            append_run(&out->map, inner[0], how == 1 ? n : 1, 0);
        else if (how == 3)
            build_subarray(out, inner[0]);
        else if (how == 4)
            build_darray(out, inner[0]);
        else if (how <= 6)
            build_vector(out, inner[0], how - 5);
        else
            build_blocks(out, inner[0], inner[1], how - 7);
    }
    MPI_Type_get_extent(out->handle, &lower, &out->extent);
    for (int i = 0; i < 2 && inner[i] != NULL; i++) {
        if (!is_named(inner[i]->handle))
            MPI_Type_free(&inner[i]->handle);
        free(inner[i]);
    }
    return out;
}

/* Compare count elements in the layout of a datatype with its type map. */
static void compare(const struct type *type, int which, int count)
{
    const struct tern_mpi_type *found;
    struct tern_mpi_cursor      cursor;
    struct tern_mpi_piece       piece;
    long                        n = 0;

    if (tern_mpi_type_of(type->handle, &found) != MPI_SUCCESS)
        fail("it is not recognized", which);
    if (found->size != (size_t)type->map.count)
        fail("its size is wrong", which);
    cursor = tern_mpi_cursor_begin(&found->layout, (size_t)count, found->extent);
    while (tern_mpi_cursor_next(&cursor, &piece)) {
        for (size_t i = 0; i < piece.len; i++, n++) {
            if (n >= (long)count * type->map.count ||
                piece.at + (long)i != type->map.at[n % type->map.count] + n / type->map.count * (long)type->extent)
                fail("a byte of its layout is not that of its type map", which);
        }
    }
    if (n != (long)count * type->map.count)
        fail("bytes of its type map are missing in its layout", which);
    if (found->dense && found->size > 0 && (found->layout.dims != 0 || (ptrdiff_t)found->size != found->extent))
        fail("it is not dense", which);
}

/* A datatype that is freed must not be mistaken for one that gets its handle. */
static void reuse(void)
{
    const struct tern_mpi_type *type;
    MPI_Datatype                handle;

    for (int i = 1; i < 2000; i++) {
        MPI_Type_vector(i % 7 + 1, i % 3 + 1, 5, MPI_INT, &handle);
        if (tern_mpi_type_of(handle, &type) != MPI_SUCCESS ||
            type->size != (size_t)(i % 7 + 1) * (size_t)(i % 3 + 1) * sizeof(int))
            fail("it was mistaken for a freed one", i);
        if (type->basic.class != TERN_MPI_SIGNED || type->basic.size != sizeof(int))
            fail("its basic elements are wrong", i);
        MPI_Type_free(&handle);
    }
}

int main(int argc, char **argv)
{
    const char *from = getenv("DATATYPE_SEED"), *many = getenv("DATATYPE_COUNT");
    int         count = many != NULL ? atoi(many) : 3000;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    seed = from != NULL ? strtoul(from, NULL, 10) : 1;
    for (int i = 0; i < count; i++) {
        struct type *type = build(below(4));

        compare(type, i, 1);
        compare(type, i, 1 + below(3));
        if (!is_named(type->handle))
            MPI_Type_free(&type->handle);
        free(type);
    }
    reuse();
    MPI_Finalize();
    return 0;
}
