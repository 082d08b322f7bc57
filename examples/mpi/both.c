/* both.c: MPI and Tern in one program.
 *
 *     make -C examples/mpi MPICC=mpicc && mpirun -n 4 examples/mpi/both
 *
 * Every rank starts to send a long MPI message to the next rank, waits for its turn in Tern, and only then completes
 * the MPI message. MPI needs the help of the sender for such a message. The idle hook gives it that help while the rank
 * waits in Tern; without the hook, the program may hang.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern.h>

#define CHECK(call)                             \
    do {                                        \
        if ((call) != TERN_OK)                  \
            tern_abort(1, tern_error_detail()); \
    } while (0)

#define BYTES (4 << 20)

/* The idle hook. Nobody sends on the communicator, so MPI_Iprobe finds nothing, but makes progress. */
static void move_mpi(void *arg)
{
    int found;

    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, *(MPI_Comm *)arg, &found, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    char        *out = malloc(BYTES), *in = malloc(BYTES);
    tern_region *region;
    MPI_Request  request;
    MPI_Comm     own;
    int          me, size;

    MPI_Init(&argc, &argv);
    CHECK(tern_init());
    me = tern_rank(); /* the same as in MPI_COMM_WORLD */
    size = tern_size();
    if (!out || !in)
        tern_abort(1, "no memory");
    CHECK(tern_region_create(TERN_WORLD, sizeof(uint64_t), NULL, &region));
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    CHECK(tern_on_idle(move_mpi, &own));

    memset(out, me + 1, BYTES);
    MPI_Isend(out, BYTES, MPI_BYTE, (me + 1) % size, 0, MPI_COMM_WORLD, &request);

    /* The turn goes around: rank 0 begins, and each rank receives its message before it lets the next one go on. */
    tern_word turn = TERN_WORD((uint64_t *)tern_region_ptr(region, me), TERN_EQ, 1);

    if (me > 0)
        CHECK(tern_word_wait(TERN_WORLD, &turn, TERN_FOREVER));
    MPI_Recv(in, BYTES, MPI_BYTE, (me + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me + 1 < size)
        CHECK(tern_put_u64(TERN_WORLD, region, me + 1, 0, 1));
    CHECK(tern_barrier(TERN_WORLD));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("rank %d of %d has %d bytes of rank %d\n", me, size, BYTES, in[BYTES - 1] - 1);

    CHECK(tern_on_idle_remove(move_mpi, &own)); /* before MPI_Finalize */
    MPI_Comm_free(&own);
    CHECK(tern_finalize());
    MPI_Finalize();
    free(out);
    free(in);
    return 0;
}
