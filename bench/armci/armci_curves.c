/* armci_curves.c: measures put, get and accumulate of an ARMCI library by size, contiguous and strided, as in figures 6
 * to 8 of the ARMCI paper. armci-report builds it with Debian's ARMCI and with Tern's.
 *
 * Rank 0 measures against the last rank; the others wait in a barrier of MPI. The strided transfers move square
 * sections of a matrix of doubles. "columns" transfers such a section by one contiguous get for each column. "copy" is
 * the limit of the machine: memcpy copies the same bytes, row by row, to the memory of rank 0 itself. Each line is:
 * operation, shape, bytes, nanoseconds per operation. A put or an accumulate includes its part of the fence behind the
 * series.
 */
#include <armci.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 512, MOST = SIDE * SIDE * 8 };
enum operation { PUT, GET, ACC, COPY, OPERATIONS };

static const char *const names[OPERATIONS] = { "put", "get", "acc", "copy" };
static double          **memory, *local;
static double            one = 1;
static int               target;

/* Copy to the memory of this rank. */
static void copy(int side, int bytes)
{
    if (side == 0)
        memcpy(memory[0], local, (size_t)bytes);
    for (int i = 0; i < side; i++)
        memcpy(memory[0] + (size_t)i * SIDE, local + (size_t)i * (size_t)side, (size_t)side * 8);
    __asm__ volatile("" ::: "memory"); /* each copy is made */
}

/* Transfer a square section of the given side, or, if there is none, a number of contiguous bytes. */
static void transfer(enum operation op, int side, int bytes)
{
    int dense[1] = { side * 8 }, wide[1] = { SIDE * 8 }, count[2] = { side * 8, side };

    if (op == COPY)
        copy(side, bytes);
    else if (side == 0 && op == PUT)
        ARMCI_Put(local, memory[target], bytes, target);
    else if (side == 0 && op == GET)
        ARMCI_Get(memory[target], local, bytes, target);
    else if (side == 0)
        ARMCI_Acc(ARMCI_ACC_DBL, &one, local, memory[target], bytes, target);
    else if (op == PUT)
        ARMCI_PutS(local, dense, memory[target], wide, count, 1, target);
    else if (op == GET)
        ARMCI_GetS(memory[target], wide, local, dense, count, 1, target);
    else
        ARMCI_AccS(ARMCI_ACC_DBL, &one, local, dense, memory[target], wide, count, 1, target);
}

static void get_columns(int side)
{
    for (int i = 0; i < side; i++)
        ARMCI_Get(memory[target] + (size_t)i * SIDE, local + (size_t)i * (size_t)side, side * 8, target);
}

/* Measure series until they last long enough, and report the fastest of three. */
static void measure(enum operation op, int side, int bytes, int by_columns)
{
    double best = 1e9;
    int    times = 1;

    for (int series = 0; series < 3;) {
        double begin = MPI_Wtime(), spent;

        for (int i = 0; i < times; i++) {
            if (by_columns)
                get_columns(side);
            else
                transfer(op, side, bytes);
        }
        ARMCI_Fence(target);
        spent = MPI_Wtime() - begin;
        if (spent < 0.004 && times < 100000) {
            times *= 2;
            continue;
        }
        series++;
        best = spent / times < best ? spent / times : best;
    }
    printf("%s %s %d %.1f\n", names[op], by_columns ? "columns" : side ? "strided" : "contiguous", bytes, best * 1e9);
}

int main(int argc, char **argv)
{
    int me, n;

    MPI_Init(&argc, &argv);
    ARMCI_Init();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    target = n - 1;
    memory = malloc((size_t)n * sizeof *memory);
    local = calloc(1, MOST);
    if (memory == NULL || local == NULL || ARMCI_Malloc((void **)memory, MOST) != 0)
        ARMCI_Error("there is no memory", 1);
    memset(memory[me], 0, MOST);
    ARMCI_Barrier();
    if (me == 0) {
        for (int op = PUT; op < OPERATIONS; op++) {
            for (int bytes = 8; bytes <= MOST; bytes *= 4)
                measure((enum operation)op, 0, bytes, 0);
            for (int side = 2; side <= SIDE; side *= 2)
                measure((enum operation)op, side, side * side * 8, 0);
        }
        for (int side = 2; side <= SIDE; side *= 2)
            measure(GET, side, side * side * 8, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    ARMCI_Barrier();
    ARMCI_Free(memory[me]);
    free(memory);
    free(local);
    ARMCI_Finalize();
    MPI_Finalize();
    return 0;
}
