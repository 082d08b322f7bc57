/* check.h: declarations that the tests of the foMPI front end share. main.c runs the tests; each gets a
 * communicator. */
#ifndef FOMPI_TEST_H
#define FOMPI_TEST_H

#include <fompi.h>
#include <stdbool.h>

#define MUST(what)                                                               \
    do {                                                                         \
        if (!(what)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #what); \
            MPI_Abort(MPI_COMM_WORLD, 9);                                        \
        }                                                                        \
    } while (0)
#define OK(call) MUST((call) == MPI_SUCCESS)

/* The three kinds of windows. */
enum kind { CREATED, ALLOCATED, DYNAMIC, KINDS };

/* A window, with its memory at this process and the displacement of that memory at each process. */
struct window {
    foMPI_Win win;
    enum kind kind;
    int       me, n;
    void     *base;
    MPI_Aint *at; /* [n] displacement of the first byte */
};

/* Create a window whose displacement unit is 1. The memory of a dynamic window is attached in two pieces. */
struct window open_window(enum kind kind, size_t bytes, MPI_Comm comm);
void          close_window(struct window *w);

/* A number that all processes draw from the same seed. */
static inline unsigned draw(uint64_t *seed, unsigned below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33) % below;
}

/* The tests. */
void test_windows(MPI_Comm comm);
void test_attributes(MPI_Comm comm);
void test_epochs(MPI_Comm comm);
void test_locks(MPI_Comm comm);
void test_random(MPI_Comm comm);
void test_acc(MPI_Comm comm);
void test_notify(MPI_Comm comm);
void test_requests(MPI_Comm comm);
void test_misuse(MPI_Comm comm);
void test_calls(MPI_Comm comm);
void test_listing(MPI_Comm comm);

/* Let the next wait for an access that succeeds return an error (fault.c). */
void fail_next_wait(void);

/* Two threads of each process use windows at the same time (threads.c). The call does not return. */
void use_threads(void);

/* The last process dies, and the others wait for it in the way that is named. The call does not return. */
void die(const char *how);

#endif
