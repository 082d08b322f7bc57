/* fompi_job.c: the start and the end of foMPI, memory, and how errors are reported. */
#include <stdarg.h>

#include "error.h"
#include "fompi_state.h"
#include "front.h"
#include "job.h"

FOMPI_EXPORT foMPI_global_t foMPI_Global_info;

static bool initialized_here; /* foMPI_Init has initialized MPI */
static enum { PRINT, QUIET, ABORT } errors;

/* Read the option TERN_FOMPI_ERRORS. */
static void read_option(void)
{
    const char *value = getenv("TERN_FOMPI_ERRORS");

    if (value == NULL || strcmp(value, "print") == 0)
        errors = PRINT;
    else if (strcmp(value, "quiet") == 0)
        errors = QUIET;
    else if (strcmp(value, "abort") == 0)
        errors = ABORT;
    else
        tern_front_die("foMPI_Init", "TERN_FOMPI_ERRORS is \"%s\"; it must be print, quiet or abort", value);
}

FOMPI_EXPORT int foMPI_Init(int *argc, char ***argv)
{
    int initialized;

    MPI_Initialized(&initialized);
    if (!initialized) {
        if (MPI_Init(argc, argv) != MPI_SUCCESS)
            return MPI_ERR_OTHER;
        initialized_here = true;
    }
    read_option();
    tern_mpi_start("foMPI_Init");
    MPI_Comm_rank(MPI_COMM_WORLD, &foMPI_Global_info.debug_pe);
    return MPI_SUCCESS;
}

FOMPI_EXPORT int foMPI_Finalize(void)
{
    if (!tern_mpi_running)
        return tern_fompi_error(MPI_ERR_OTHER, "foMPI_Finalize", "foMPI is not initialized, or MPI is finalized");
    MPI_Barrier(MPI_COMM_WORLD);
    if (!initialized_here)
        return MPI_SUCCESS;
    initialized_here = false;
    return MPI_Finalize();
}

FOMPI_EXPORT int foMPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    void *memory;

    (void)info;
    if (size < 0 || baseptr == NULL)
        return tern_fompi_error(MPI_ERR_ARG, "foMPI_Alloc_mem",
                                baseptr == NULL ? "the pointer is NULL" : "the size is negative");
    if (posix_memalign(&memory, (size_t)sysconf(_SC_PAGESIZE), size > 0 ? (size_t)size : 1) != 0)
        return tern_fompi_error(MPI_ERR_NO_MEM, "foMPI_Alloc_mem", "there is no memory for %lld bytes",
                                (long long)size);
    memcpy(baseptr, &memory, sizeof memory);
    return MPI_SUCCESS;
}

FOMPI_EXPORT int foMPI_Type_free(MPI_Datatype *datatype)
{
    return MPI_Type_free(datatype);
}

/* Print a line, or end the job, as the option says. Returns the class. */
static int report(int class, const char *call, const char *text)
{
    char name[MPI_MAX_ERROR_STRING];
    int  length, initialized;

    if (errors == QUIET)
        return class;
    MPI_Initialized(&initialized);
    if (!initialized || tern_front_mpi_over())
        (void)snprintf(name, sizeof name, "error class %d of MPI", class);
    else
        MPI_Error_string(class, name, &length);
    if (errors == ABORT)
        tern_front_die(call, "%s (%s)", text, name);
    (void)fprintf(stderr, "rank %d: %s: %s (%s)\n", foMPI_Global_info.debug_pe, call, text, name);
    return class;
}

int tern_fompi_error(int class, const char *call, const char *format, ...)
{
    char    text[MPI_MAX_ERROR_STRING];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return report(class, call, text);
}

int tern_fompi_error_as(int class, const char *call, const char *what)
{
    return tern_fompi_error(class, call, "%s failed: %s", what, tern_error_detail());
}

static int class_of(tern_status status)
{
    switch (status) {
    case TERN_ERR_ARG: return MPI_ERR_ARG;
    case TERN_ERR_RANGE: return MPI_ERR_RMA_RANGE;
    case TERN_ERR_NOMEM: return MPI_ERR_NO_MEM;
    default: return MPI_ERR_OTHER;
    }
}

int tern_fompi_error_of(tern_status status, const char *call, const char *what)
{
    const char *detail = tern_error_detail();

    return tern_fompi_error(class_of(status), call, "%s failed: %s", what,
                            detail[0] != '\0' ? detail : tern_strerror(status));
}

int tern_fompi_error_kept(tern_status status, const char *call, const char *what)
{
    return tern_fompi_error(class_of(status), call, "%s failed before its window was freed: %s", what,
                            tern_strerror(status));
}

int tern_fompi_error_code(int code, const char *call)
{
    char        text[MPI_MAX_ERROR_STRING];
    const char *line, *reason;
    int class, length;

    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    line = strrchr(text, '\n'); /* MPICH begins with a line about the class; then both MPIs have "CALL...: REASON" */
    line = line != NULL ? line + 1 : text;
    reason = strstr(line, ": ");
    return report(class, call, reason != NULL ? reason + 2 : line);
}

int tern_fompi_bad_win(const char *call, foMPI_Win win)
{
    return tern_fompi_error(MPI_ERR_WIN, call, "%s",
                            tern_front_mpi_over() ? "the call was made after MPI_Finalize"
                            : !tern_mpi_running   ? "foMPI is not initialized; call foMPI_Init first"
                            : win == NULL         ? "the window is foMPI_WIN_NULL"
                                                  : "the handle is no window; it may have been freed");
}

int tern_fompi_bad_rank(const char *call, const struct tern_fompi_win *win, int rank)
{
    return tern_fompi_error(MPI_ERR_RANK, call, "there is no rank %d; the ranks of the window are 0 to %d", rank,
                            win->size - 1);
}
