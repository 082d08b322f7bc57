/* mpi_shapes.c: strided_bw, indexed_bw, vector_bw, transpose and column_bw of tern-perf in MPI: MPI_Put and MPI_Get
 * with derived datatypes. Each transfer uses the simplest datatype that describes it, committed once and used on
 * both sides.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_job.h"

#define GAP 4 /* distance between elements, in elements */

bool mpi_shape_is(const struct job *j)
{
    static const char *const tests[] = { "strided_bw", "indexed_bw", "vector_bw", "transpose", "column_bw" };

    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        if (strcmp(j->test, tests[i]) == 0)
            return true;
    }
    return false;
}

static bool is_matrix(const struct job *j)
{
    return strcmp(j->test, "transpose") == 0 || strcmp(j->test, "column_bw") == 0;
}

uint64_t mpi_shape_bytes(const struct job *j, uint64_t size)
{
    return is_matrix(j) ? 2 * size * size * sizeof(double) : size * GAP;
}

/* Return a datatype of elements at a fixed distance, made of doubles if the elements are whole doubles. */
static MPI_Datatype strided_type(int count, int element)
{
    MPI_Datatype type;

    if (element % (int)sizeof(double) == 0)
        MPI_Type_vector(count, element / (int)sizeof(double), GAP * element / (int)sizeof(double), MPI_DOUBLE, &type);
    else
        MPI_Type_vector(count, element, GAP * element, MPI_BYTE, &type);
    return type;
}

/* Return a datatype of the same elements as a list, with one length for all elements or with a length for each. */
static MPI_Datatype listed_type(int count, int element, bool one_length)
{
    MPI_Aint    *places = malloc((size_t)count * sizeof(*places));
    int         *lens = malloc((size_t)count * sizeof(*lens));
    MPI_Datatype type;

    if (places == NULL || lens == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < count; i++) {
        places[i] = (MPI_Aint)i * GAP * element;
        lens[i] = element;
    }
    if (one_length)
        MPI_Type_create_hindexed_block(count, element, places, MPI_BYTE, &type);
    else
        MPI_Type_create_hindexed(count, lens, places, MPI_BYTE, &type);
    free(places);
    free(lens);
    return type;
}

/* Return a datatype that traverses a matrix column by column. */
static MPI_Datatype columns_type(int n)
{
    MPI_Datatype column, narrow, all;

    MPI_Type_vector(n, 1, n, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &narrow);
    MPI_Type_contiguous(n, narrow, &all);
    MPI_Type_free(&column);
    MPI_Type_free(&narrow);
    return all;
}

static void make_types(struct job *j)
{
    int n = (int)j->size, count = (int)(j->size / j->element), element = (int)j->element;

    if (is_matrix(j)) {
        MPI_Type_contiguous(n * n, MPI_DOUBLE, &j->near);
        if (j->square)
            j->far = columns_type(n);
        else
            MPI_Type_vector(n, n, 2 * n, MPI_DOUBLE, &j->far);
        return;
    }
    for (int side = 0; side < 2; side++)
        *(side == 0 ? &j->near : &j->far) = strcmp(j->test, "strided_bw") == 0
                                                ? strided_type(count, element)
                                                : listed_type(count, element, strcmp(j->test, "indexed_bw") == 0);
}

/* Verify that every byte of the payload has arrived, and that no other byte has changed. */
static void verify(struct job *j)
{
    uint64_t bytes = mpi_shape_bytes(j, j->size), arrived = 0;

    memset(j->mine, 0x22, bytes);
    memset(j->local, 0x33, bytes);
    MPI_Win_sync(j->win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (j->rank == 0)
        mpi_shape_put(j, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(j->win);
    for (uint64_t i = 0; i < bytes; i++)
        arrived += j->mine[i] == 0x33;
    if (j->rank == 1 && arrived != j->payload) {
        fprintf(stderr, "tern-peer: data arrived damaged\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void mpi_shape_open(struct job *j)
{
    j->square = strcmp(j->test, "transpose") == 0;
    j->section = strcmp(j->test, "column_bw") == 0;
    j->payload = is_matrix(j) ? j->size * j->size * sizeof(double) : j->size / j->element * j->element;
    make_types(j);
    MPI_Type_commit(&j->near);
    MPI_Type_commit(&j->far);
    verify(j);
}

void mpi_shape_close(struct job *j)
{
    MPI_Type_free(&j->near);
    MPI_Type_free(&j->far);
}

void mpi_shape_put(struct job *j, uint64_t iters)
{
    uint64_t window = j->window > 0 ? j->window : 1;

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < window; w++)
            MPI_Put(j->local, 1, j->near, j->peer, j->far_disp, 1, j->far, j->win);
        MPI_Win_flush(j->peer, j->win);
    }
}

void mpi_shape_get(struct job *j, uint64_t iters)
{
    uint64_t window = j->window > 0 ? j->window : 1;

    for (uint64_t i = 0; i < iters; i++) {
        for (uint64_t w = 0; w < window; w++)
            MPI_Get(j->local, 1, j->near, j->peer, j->far_disp, 1, j->far, j->win);
        MPI_Win_flush(j->peer, j->win);
    }
}
