/* fompi_fortran.h: what the files of the Fortran interface of foMPI share: handles, and the addresses that have a
 * meaning in Fortran.
 *
 * A subroutine of Fortran is a function whose name is in lower case and ends in "_", and all of whose arguments are
 * addresses. Each function converts its arguments and calls the function of fompi.h, which checks the arguments and
 * reports errors. In Fortran, windows and requests are positive integers: places in a table. A number that belongs to
 * no window or request is converted to a handle that the functions of fompi.h refuse.
 */
#ifndef TERN_FOMPI_FORTRAN_H
#define TERN_FOMPI_FORTRAN_H

#include "fompi_f.h"
#include "fompi_state.h"

#define TERN_FOMPI_F_NULL (-1) /* foMPI_WIN_NULL and foMPI_REQUEST_NULL in Fortran */

/* A table of handles. A table of zeros is empty. */
struct tern_fompi_table {
    struct tern_fompi_place {
        void *handle; /* NULL: the place is free */
        int   next;   /* number of the next free place; 0: none */
    } * places;       /* [size], numbered from 1 */
    int size;
    int free; /* number of a free place; 0: none */
};

extern struct tern_fompi_table tern_fompi_windows, tern_fompi_requests;

/* Add a handle and return its number. If there is no memory, the job ends with a line that names the call. */
int tern_fompi_table_add(struct tern_fompi_table *table, void *handle, const char *call);

/* Remove the handle with this number. */
void tern_fompi_table_remove(struct tern_fompi_table *table, int number);

/* Return the handle with this number; NULL if there is none. */
static inline void *tern_fompi_table_get(const struct tern_fompi_table *table, int number)
{
    return TERN_LIKELY(number > 0 && number <= table->size) ? table->places[number - 1].handle : NULL;
}

/* Return the window with this number. A wrong number returns a handle that is not valid. */
foMPI_Win tern_fompi_win_f2c(MPI_Fint number);

/* The same for a request. */
foMPI_Request tern_fompi_request_f2c(MPI_Fint number);

/* Store the number of a new request if the call has succeeded. Returns error. */
int tern_fompi_request_made(int error, foMPI_Request handle, MPI_Fint *request, const char *call);

/* Update the number of a request after a call that may have freed the request. */
void tern_fompi_request_update(foMPI_Request handle, MPI_Fint *request);

/* Make MPI_F_STATUS_IGNORE and MPI_F_STATUSES_IGNORE valid. */
void tern_fompi_find_ignored(void);

/* Return the address of a buffer: MPI_BOTTOM for the variable that has this name in Fortran. */
void *tern_fompi_buffer(void *address);

/* fompi_attribute.c: the delete function of a keyval that was created in Fortran, and creating such a keyval. */
typedef void tern_fompi_delete_f(MPI_Fint *win, MPI_Fint *keyval, MPI_Aint *value, MPI_Aint *extra, MPI_Fint *error);
int          tern_fompi_create_keyval(MPI_Win_delete_attr_function *c, tern_fompi_delete_f *fortran, void *extra,
                                      int *win_keyval, const char *call);

#endif
