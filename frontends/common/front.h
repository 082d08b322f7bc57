/* front.h: the functions that all front ends share: a counted start and end, errors that end the job, and the start and
 * end of MPI beside Tern.
 *
 * A front end is a library with an interface for which existing programs were written. It calls Tern through the public
 * headers only. Several front ends may live in one process, each with its own copy of these functions, because Tern
 * counts the calls of tern_init.
 *
 * front_mpi.c or front_alone.c contains the part that concerns MPI; the build chooses the file.
 */
#ifndef TERN_FRONT_H
#define TERN_FRONT_H

#include <stdbool.h>
#include <tern.h>

/* Join the job, or count one more user. The first call initializes Tern, and in a build with MPI it initializes MPI if
 * the program has not done so, checks that both have the same ranks, and lets MPI make progress while Tern waits.
 * Returns whether this call was the first since the start or since the last end. call is the name of the public
 * function, for errors. */
bool tern_front_start(const char *call);

/* Count one user fewer. Returns whether no user is left. Tern itself is finalized when the process exits, so that a
 * program may start the front end again. */
bool tern_front_stop(const char *call);

/* Return whether there is exactly one user, so that the next stop is the last one. */
bool tern_front_last(void);

/* End the job: print the name of the public function and the text, on one line. */
void tern_front_die(const char *call, const char *format, ...) __attribute__((noreturn, cold, format(printf, 2, 3)));

/* End the job because a call of Tern failed. `what` names the failed action. */
void tern_front_die_of(tern_status status, const char *call, const char *what) __attribute__((noreturn, cold));

/* Check the status of a call of Tern. */
static inline void tern_front_check(tern_status status, const char *call, const char *what)
{
    if (TERN_UNLIKELY(status != TERN_OK))
        tern_front_die_of(status, call, what);
}

/* Allocate memory that is zeroed, or end the job. */
void *tern_front_alloc(const char *call, size_t count, size_t size);

/* Provide a level of thread support of MPI, MPI_THREAD_SINGLE (0) to MPI_THREAD_MULTIPLE (3), before
 * tern_front_start. The call initializes MPI with the level if the program has not initialized MPI, and compares the
 * level with the one that MPI provides. Returns whether MPI provides the level or a higher one; otherwise the call
 * prints a line that names both. Without MPI, every level is available. */
bool tern_front_mpi_provide(const char *call, int level);

/* Return whether MPI was initialized with MPI_THREAD_MULTIPLE. False without MPI, and after MPI_Finalize. */
bool tern_front_mpi_is_multiple(void);

/* The part that concerns MPI. tern_front_mpi_begin runs before tern_init, tern_front_mpi_joined after tern_init,
 * tern_front_mpi_end when the last user has ended, and tern_front_mpi_leave when the process exits. If the front end
 * has initialized MPI, tern_front_mpi_leave finalizes MPI. */
void tern_front_mpi_begin(const char *call);
void tern_front_mpi_joined(const char *call);
void tern_front_mpi_end(const char *call);
void tern_front_mpi_leave(void);

/* Let the front end finalize MPI when the process exits, also if the program has initialized MPI. The call has no
 * effect if the program finalizes MPI earlier. */
void tern_front_mpi_take(void);

/* Return whether MPI has been finalized. */
bool tern_front_mpi_over(void);

#endif
