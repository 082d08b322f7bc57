/* fompi_fortran.c: the Fortran interface of foMPI: start, end and memory; and what fompi_fortran.h describes. */
#include "fompi_fortran.h"
#include "front.h"

struct tern_fompi_table tern_fompi_windows, tern_fompi_requests;

/* MPI_BOTTOM of Fortran is the beginning of a common block, whose name depends on the MPI. In MPICH, a function of the
 * Fortran library tells the C library the addresses that have a meaning; MPI calls it in MPI_Init of Fortran only. In a
 * program without the Fortran library, the addresses of these symbols are NULL. */
#ifdef OPEN_MPI
extern char mpi_fortran_bottom_[] __attribute__((weak));
#define BOTTOM mpi_fortran_bottom_
#else
extern char mpipriv1_[] __attribute__((weak));
extern void mpirinitf_(void) __attribute__((weak));
#define BOTTOM mpipriv1_
#endif

void tern_fompi_find_ignored(void)
{
#ifndef OPEN_MPI
    if (MPI_F_STATUS_IGNORE == NULL && mpirinitf_ != NULL)
        mpirinitf_();
#endif
}

void *tern_fompi_buffer(void *address)
{
    return TERN_UNLIKELY(address == (void *)BOTTOM) ? MPI_BOTTOM : address;
}

/* Make the table larger: all places of the old table are in use. */
static void grow(struct tern_fompi_table *table, const char *call)
{
    int                      size = table->size > 0 ? 2 * table->size : 64;
    struct tern_fompi_place *places = realloc(table->places, (size_t)size * sizeof *places);

    if (places == NULL)
        tern_front_die(call, "there is no memory for %d handles of Fortran", size);
    for (int i = table->size; i < size; i++)
        places[i] = (struct tern_fompi_place){ .next = i + 1 < size ? i + 2 : 0 };
    table->free = table->size + 1;
    table->places = places;
    table->size = size;
}

int tern_fompi_table_add(struct tern_fompi_table *table, void *handle, const char *call)
{
    int number;

    if (table->free == 0)
        grow(table, call);
    number = table->free;
    table->free = table->places[number - 1].next;
    table->places[number - 1].handle = handle;
    return number;
}

void tern_fompi_table_remove(struct tern_fompi_table *table, int number)
{
    table->places[number - 1] = (struct tern_fompi_place){ .next = table->free };
    table->free = number;
}

foMPI_Win tern_fompi_win_f2c(MPI_Fint number)
{
    static struct tern_fompi_win none; /* not valid: its magic is 0 */
    void                        *handle = tern_fompi_table_get(&tern_fompi_windows, number);

    if (TERN_LIKELY(handle != NULL))
        return handle;
    return number == TERN_FOMPI_F_NULL ? foMPI_WIN_NULL : &none.head;
}

foMPI_Request tern_fompi_request_f2c(MPI_Fint number)
{
    static struct tern_fompi_request none; /* not valid: its magic is 0 */
    void                            *handle = tern_fompi_table_get(&tern_fompi_requests, number);

    if (TERN_LIKELY(handle != NULL))
        return handle;
    return number == TERN_FOMPI_F_NULL ? foMPI_REQUEST_NULL : (foMPI_Request)(void *)&none;
}

int tern_fompi_request_made(int error, foMPI_Request handle, MPI_Fint *request, const char *call)
{
    if (error == MPI_SUCCESS)
        *request = handle != foMPI_REQUEST_NULL ? tern_fompi_table_add(&tern_fompi_requests, (void *)handle, call)
                                                : TERN_FOMPI_F_NULL;
    return error;
}

void tern_fompi_request_update(foMPI_Request handle, MPI_Fint *request)
{
    if (handle != foMPI_REQUEST_NULL || *request == TERN_FOMPI_F_NULL)
        return;
    tern_fompi_table_remove(&tern_fompi_requests, *request);
    *request = TERN_FOMPI_F_NULL;
}

FOMPI_EXPORT void fompi_init_(MPI_Fint *ierror)
{
    *ierror = foMPI_Init(NULL, NULL);
    tern_fompi_find_ignored();
}

FOMPI_EXPORT void fompi_finalize_(MPI_Fint *ierror)
{
    *ierror = foMPI_Finalize();
}

FOMPI_EXPORT void fompi_alloc_mem_(const MPI_Aint *size, const MPI_Fint *info, void *baseptr, MPI_Fint *ierror)
{
    *ierror = foMPI_Alloc_mem(*size, MPI_Info_f2c(*info), baseptr);
}

FOMPI_EXPORT void fompi_alloc_mem_cptr_(const MPI_Aint *size, const MPI_Fint *info, void *baseptr, MPI_Fint *ierror)
{
    fompi_alloc_mem_(size, info, baseptr, ierror);
}

FOMPI_EXPORT void fompi_get_address_(void *location, MPI_Aint *address, MPI_Fint *ierror)
{
    *ierror = MPI_Get_address(tern_fompi_buffer(location), address);
}

FOMPI_EXPORT void fompi_type_free_(MPI_Fint *datatype, MPI_Fint *ierror)
{
    MPI_Datatype handle = MPI_Type_f2c(*datatype);

    *ierror = foMPI_Type_free(&handle);
    if (*ierror == MPI_SUCCESS)
        *datatype = MPI_Type_c2f(handle);
}
