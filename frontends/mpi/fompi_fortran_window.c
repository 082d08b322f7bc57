/* fompi_fortran_window.c: the Fortran interface of foMPI: making windows, their names and their attributes. */
#include "fompi_fortran.h"

/* Store the number of a new window if the call has succeeded. Returns error. */
static int made(int error, foMPI_Win handle, MPI_Fint *win, const char *call)
{
    if (error == MPI_SUCCESS)
        *win = tern_fompi_table_add(&tern_fompi_windows, handle, call);
    return error;
}

FOMPI_EXPORT void fompi_win_create_(void *base, const MPI_Aint *size, const MPI_Fint *disp_unit, const MPI_Fint *info,
                                    const MPI_Fint *comm, MPI_Fint *win, MPI_Fint *ierror)
{
    foMPI_Win handle;

    *ierror = foMPI_Win_create(base, *size, *disp_unit, MPI_Info_f2c(*info), MPI_Comm_f2c(*comm), &handle);
    *ierror = made(*ierror, handle, win, "foMPI_Win_create");
}

FOMPI_EXPORT void fompi_win_allocate_(const MPI_Aint *size, const MPI_Fint *disp_unit, const MPI_Fint *info,
                                      const MPI_Fint *comm, void *baseptr, MPI_Fint *win, MPI_Fint *ierror)
{
    foMPI_Win handle;

    *ierror = foMPI_Win_allocate(*size, *disp_unit, MPI_Info_f2c(*info), MPI_Comm_f2c(*comm), baseptr, &handle);
    *ierror = made(*ierror, handle, win, "foMPI_Win_allocate");
}

FOMPI_EXPORT void fompi_win_allocate_cptr_(const MPI_Aint *size, const MPI_Fint *disp_unit, const MPI_Fint *info,
                                           const MPI_Fint *comm, void *baseptr, MPI_Fint *win, MPI_Fint *ierror)
{
    fompi_win_allocate_(size, disp_unit, info, comm, baseptr, win, ierror);
}

FOMPI_EXPORT void fompi_win_create_dynamic_(const MPI_Fint *info, const MPI_Fint *comm, MPI_Fint *win, MPI_Fint *ierror)
{
    foMPI_Win handle;

    *ierror = foMPI_Win_create_dynamic(MPI_Info_f2c(*info), MPI_Comm_f2c(*comm), &handle);
    *ierror = made(*ierror, handle, win, "foMPI_Win_create_dynamic");
}

FOMPI_EXPORT void fompi_win_free_(MPI_Fint *win, MPI_Fint *ierror)
{
    foMPI_Win handle = tern_fompi_win_f2c(*win);

    *ierror = foMPI_Win_free(&handle);
    if (handle != foMPI_WIN_NULL || *win == TERN_FOMPI_F_NULL)
        return;
    tern_fompi_table_remove(&tern_fompi_windows, *win);
    *win = TERN_FOMPI_F_NULL;
}

FOMPI_EXPORT void fompi_win_attach_(const MPI_Fint *win, void *base, const MPI_Aint *size, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_attach(tern_fompi_win_f2c(*win), base, *size);
}

FOMPI_EXPORT void fompi_win_detach_(const MPI_Fint *win, const void *base, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_detach(tern_fompi_win_f2c(*win), base);
}

FOMPI_EXPORT void fompi_win_get_group_(const MPI_Fint *win, MPI_Fint *group, MPI_Fint *ierror)
{
    MPI_Group handle;

    *ierror = foMPI_Win_get_group(tern_fompi_win_f2c(*win), &handle);
    if (*ierror == MPI_SUCCESS)
        *group = MPI_Group_c2f(handle);
}

/* Blanks at the end do not belong to the name. */
FOMPI_EXPORT void fompi_win_set_name_(const MPI_Fint *win, const char *win_name, MPI_Fint *ierror, size_t length)
{
    char name[MPI_MAX_OBJECT_NAME + 1]; /* one character more than a name may have: foMPI_Win_set_name reports that */

    while (length > 0 && win_name[length - 1] == ' ')
        length--;
    if (length >= sizeof name)
        length = sizeof name - 1;
    memcpy(name, win_name, length);
    name[length] = '\0';
    *ierror = foMPI_Win_set_name(tern_fompi_win_f2c(*win), name);
}

/* Blanks fill the variable. A variable that is too short gets the beginning of the name, and *resultlen is the number
 * of these characters. */
FOMPI_EXPORT void fompi_win_get_name_(const MPI_Fint *win, char *win_name, MPI_Fint *resultlen, MPI_Fint *ierror,
                                      size_t length)
{
    char name[MPI_MAX_OBJECT_NAME];

    *ierror = foMPI_Win_get_name(tern_fompi_win_f2c(*win), name, resultlen);
    if (*ierror != MPI_SUCCESS)
        return;
    if ((size_t)*resultlen > length)
        *resultlen = (MPI_Fint)length;
    memset(win_name, ' ', length);
    memcpy(win_name, name, (size_t)*resultlen);
}

FOMPI_EXPORT void fompi_win_create_keyval_(void (*win_copy_attr_fn)(void), tern_fompi_delete_f *win_delete_attr_fn,
                                           MPI_Fint *win_keyval, const MPI_Aint *extra_state, MPI_Fint *ierror)
{
    (void)win_copy_attr_fn; /* windows are never copied */
    *ierror =
        tern_fompi_create_keyval(NULL, win_delete_attr_fn, (void *)*extra_state, win_keyval, "foMPI_Win_create_keyval");
}

FOMPI_EXPORT void fompi_win_free_keyval_(MPI_Fint *win_keyval, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_free_keyval(win_keyval);
}

FOMPI_EXPORT void fompi_win_set_attr_(const MPI_Fint *win, const MPI_Fint *win_keyval, const MPI_Aint *attribute_val,
                                      MPI_Fint *ierror)
{
    *ierror = foMPI_Win_set_attr(tern_fompi_win_f2c(*win), *win_keyval, (void *)*attribute_val);
}

/* All values have the kind MPI_ADDRESS_KIND, also those that are integers in C. */
FOMPI_EXPORT void fompi_win_get_attr_(const MPI_Fint *win, const MPI_Fint *win_keyval, MPI_Aint *attribute_val,
                                      MPI_Fint *flag, MPI_Fint *ierror)
{
    bool     is_int = *win_keyval >= foMPI_WIN_DISP_UNIT && *win_keyval <= foMPI_WIN_MODEL;
    MPI_Aint value = 0;
    int      number = 0;

    *ierror =
        foMPI_Win_get_attr(tern_fompi_win_f2c(*win), *win_keyval, is_int ? (void *)&number : (void *)&value, flag);
    if (*ierror == MPI_SUCCESS && *flag)
        *attribute_val = is_int ? number : value;
}

FOMPI_EXPORT void fompi_win_delete_attr_(const MPI_Fint *win, const MPI_Fint *win_keyval, MPI_Fint *ierror)
{
    *ierror = foMPI_Win_delete_attr(tern_fompi_win_f2c(*win), *win_keyval);
}
