/* notify_test.h: checks and communicators of the tests of notified access for MPI programs. */
#ifndef NOTIFY_TEST_H
#define NOTIFY_TEST_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_notify.h"

static int         notify_rank, notify_size; /* in MPI_COMM_WORLD */
static const char *notify_case = "";         /* what the test is doing */

#define CHECK(condition)                                                                                            \
    do {                                                                                                            \
        if (!(condition)) {                                                                                         \
            fprintf(stderr, "%s:%d: rank %d: %s: %s does not hold\n", __FILE__, __LINE__, notify_rank, notify_case, \
                    #condition);                                                                                    \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                           \
        }                                                                                                           \
    } while (0)

/* A call of MPI that succeeds. */
#define MPI(call) CHECK((call) == MPI_SUCCESS)

static inline void notify_begin(int *argc, char ***argv)
{
    MPI(MPI_Init(argc, argv));
    MPI(MPI_Comm_rank(MPI_COMM_WORLD, &notify_rank));
    MPI(MPI_Comm_size(MPI_COMM_WORLD, &notify_size));
}

/* The communicators of the tests. */
enum { WORLD, SPLIT, REVERSED, ALONE, TWIN, COMMS };
static const char *const comm_names[COMMS] = { "world", "split", "reversed", "self", "dup" };

static inline MPI_Comm make_comm(int which)
{
    MPI_Comm comm;

    switch (which) {
    case SPLIT: MPI(MPI_Comm_split(MPI_COMM_WORLD, notify_rank % 2, 0, &comm)); break;
    case REVERSED: MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, -notify_rank, &comm)); break;
    case ALONE: MPI(MPI_Comm_dup(MPI_COMM_SELF, &comm)); break;
    default: MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    }
    return comm;
}

/* Pseudo-random numbers, which all ranks compute alike. */
static unsigned long notify_seed = 1;

static inline int below(int n)
{
    notify_seed = notify_seed * 6364136223846793005ul + 1442695040888963407ul;
    return (int)(notify_seed >> 33) % n;
}

#endif
