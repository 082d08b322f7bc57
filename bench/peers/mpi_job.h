/* mpi_job.h: the declarations that the files of the MPI peer share: the job, and noncontiguous transfers. */
#ifndef BENCH_MPI_JOB_H
#define BENCH_MPI_JOB_H

#include <mpi.h>

#include "../measure.h"

struct job {
    const char    *test;
    uint64_t       sizes[MEASURE_MAX_SIZES];
    size_t         size_count;
    double         time;
    size_t         repeat;
    uint64_t       window, element;
    int            rank, ranks, peer;
    MPI_Win        win;
    unsigned char *mine;      /* this rank's part, starting at a page boundary */
    MPI_Aint       far_disp;  /* the displacement of the peer's part in its window */
    MPI_Aint       zero_disp; /* the displacement of rank 0's part in its window */
    unsigned char *local;     /* private: area, then two times ping; MEASURE_SKEW off a page boundary */
    uint64_t       area, ping;
    uint64_t       size, stride;
    unsigned       turn;
    /* mpi_shapes.c */
    bool           square, section; /* transpose, column_bw: the size is the number of rows of a matrix */
    uint64_t       payload;         /* bytes of one transfer */
    MPI_Datatype   near, far;       /* a transfer consists of one element of each type */
};

/* Return whether the test transfers noncontiguous data, and the bytes of memory that a size of such a test needs. */
bool     mpi_shape_is(const struct job *j);
uint64_t mpi_shape_bytes(const struct job *j, uint64_t size);

/* Collective. Create the datatypes for the size, and verify that a put with them arrives. */
void mpi_shape_open(struct job *j);
void mpi_shape_close(struct job *j);
void mpi_shape_put(struct job *j, uint64_t iters);
void mpi_shape_get(struct job *j, uint64_t iters);

/* mpi_coll.c: return whether the test is a collective call; the arrays for a size, and the kernel. */
bool mpi_coll_is(const struct job *j);
void mpi_coll_open(const struct job *j);
void mpi_coll_close(void);
void mpi_coll_calls(struct job *j, uint64_t iters);

/* mpi_msg.c: return whether the test uses tagged messages; the kernels of those tests, for ranks 0 and 1. */
bool mpi_msg_is(const struct job *j);
void mpi_msg_pingpong(struct job *j, uint64_t iters);
void mpi_msg_word_pingpong(struct job *j, uint64_t iters);
void mpi_msg_windows(struct job *j, uint64_t iters);
void mpi_msg_both_ways(struct job *j, uint64_t iters);
void mpi_msg_keep(struct job *j);
void mpi_msg_drop(struct job *j);

#endif
