/* mpi_idle.c: MPI makes progress while Tern waits.
 *
 *   mpi_idle hook|none BYTES
 *
 * Rank 0 starts to send a long message with MPI_Isend and calls tern_barrier; rank 1 receives the message with MPI_Recv
 * and then calls tern_barrier. An MPI library needs the help of the sender for a long message, unless it can read the
 * memory of the sender. Therefore rank 0 adds an idle hook that calls MPI_Iprobe. With "none" there is no hook, and the
 * program hangs if the MPI library needs that help; no test does this. The ranks do the same with tern_init and with
 * tern_finalize in place of tern_barrier, and with tern_word_wait and exchanged roles. At the end, each rank prints
 * "done BYTES".
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>
#include <tern.h>

static void must(int line, const char *what, int holds)
{
    if (holds)
        return;
    fprintf(stderr, "mpi_idle: line %d: not true: %s (%s)\n", line, what, tern_error_detail());
    _Exit(9);
}

#define MUST(what) must(__LINE__, #what, what)

static int me; /* in both libraries */

static void move_mpi(void *arg)
{
    int found;

    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, *(MPI_Comm *)arg, &found, MPI_STATUS_IGNORE);
}

/* The rank "sender" sends, and waits for the other rank by wait(arg) while the message is on its way. */
static void exchange(int sender, size_t bytes, void (*wait)(void *arg), void *arg)
{
    unsigned char *data = malloc(bytes);
    MPI_Request    request;

    MUST(data != NULL);
    memset(data, me == sender ? 77 : 0, bytes);
    if (me == sender) {
        MUST(MPI_Isend(data, (int)bytes, MPI_BYTE, 1 - me, 5, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        wait(arg);
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } else {
        MUST(MPI_Recv(data, (int)bytes, MPI_BYTE, 1 - me, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        wait(arg);
        for (size_t i = 0; i < bytes; i += 4093)
            MUST(data[i] == 77);
        MUST(data[bytes - 1] == 77);
    }
    free(data);
}

static void init(void *arg)
{
    (void)arg;
    MUST(tern_init() == TERN_OK);
    MUST(tern_size() == 2 && tern_rank() == me);
}

static void finalize(void *arg)
{
    (void)arg;
    MUST(tern_finalize() == TERN_OK);
}

static void barrier(void *arg)
{
    (void)arg;
    MUST(tern_barrier(TERN_WORLD) == TERN_OK);
}

/* Tell the other rank, and wait until it has done the same. */
static void flag(void *arg)
{
    tern_region *region = arg;
    tern_word    word = TERN_WORD((uint64_t *)tern_region_ptr(region, me), TERN_EQ, 1);

    MUST(tern_put_u64(TERN_WORLD, region, 1 - me, 0, 1) == TERN_OK);
    MUST(tern_word_wait(TERN_WORLD, &word, TERN_FOREVER) == TERN_OK);
}

int main(int argc, char **argv)
{
    size_t       bytes = argc > 2 ? strtoull(argv[2], NULL, 0) : 4 << 20;
    int          hooked = argc > 1 && strcmp(argv[1], "hook") == 0;
    tern_region *region;
    MPI_Comm     own;

    MUST(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &me) == MPI_SUCCESS);
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &own) == MPI_SUCCESS); /* nobody sends on it */
    if (hooked)
        MUST(tern_on_idle(move_mpi, &own) == TERN_OK);
    exchange(0, bytes, init, NULL);
    MUST(tern_region_create(TERN_WORLD, 4096, NULL, &region) == TERN_OK);
    exchange(0, bytes, barrier, NULL);
    exchange(1, bytes, flag, region);
    exchange(0, bytes, finalize, NULL);
    if (hooked)
        MUST(tern_on_idle_remove(move_mpi, &own) == TERN_OK);
    MUST(MPI_Comm_free(&own) == MPI_SUCCESS);
    MUST(MPI_Finalize() == MPI_SUCCESS);
    printf("done %zu\n", bytes);
    return 0;
}
