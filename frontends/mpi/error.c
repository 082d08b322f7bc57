/* error.c: errors as MPI error codes, with a text.
 *
 * MPICH creates codes with a text of their own by MPIR_Err_create_code, which its parts and ROMIO use: the codes of
 * MPI_Add_error_code do not work with its predefined classes. With all other MPIs, there is one code for each class,
 * whose text is replaced.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "error.h"

#include "front.h"

int MPIR_Err_create_code(int last, int fatal, const char *function, int line, int class, const char *generic,
                         const char *specific, ...) __attribute__((weak));

#define CODES 32

static struct {
    int class, code;
} codes[CODES];
static int             count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Give the code of a class a text. If MPI has no more codes, the class is the code, and MPI has its own text. */
static int code_with(int class, const char *text)
{
    int i;

    pthread_mutex_lock(&lock);
    for (i = 0; i < count && codes[i].class != class; i++)
        ;
    if (i == count && count < CODES && MPI_Add_error_code(class, &codes[i].code) == MPI_SUCCESS) {
        codes[i].class = class;
        count++;
    }
    if (i < count && MPI_Add_error_string(codes[i].code, (char *)(uintptr_t)text) == MPI_SUCCESS)
        class = codes[i].code;
    pthread_mutex_unlock(&lock);
    return class;
}

static int make(int class, const char *call, const char *text)
{
    char whole[MPI_MAX_ERROR_STRING + 64];

    if (MPIR_Err_create_code != NULL)
        return MPIR_Err_create_code(MPI_SUCCESS, 0, call, 0, class, "**fail", "%s", text);
    (void)snprintf(whole, sizeof whole, "%s: %s", call, text);
    whole[MPI_MAX_ERROR_STRING - 1] = '\0';
    return code_with(class, whole);
}

/* End the job if MPI does not work, because error codes and error handlers belong to MPI. */
static void check_mpi(const char *call)
{
    int initialized;

    MPI_Initialized(&initialized);
    if (!initialized)
        tern_front_die(call, "MPI is not initialized; call MPI_Init first");
    if (tern_front_mpi_over())
        tern_front_die(call, "MPI has been finalized; make the call before MPI_Finalize");
}

int tern_mpi_code(int class, const char *call, const char *format, ...)
{
    char    text[MPI_MAX_ERROR_STRING];
    va_list args;

    check_mpi(call);
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return make(class, call, text);
}

static int class_of(tern_status status)
{
    switch (status) {
    case TERN_ERR_ARG: return MPI_ERR_ARG;
    case TERN_ERR_RANGE: return MPI_ERR_RMA_RANGE;
    case TERN_ERR_NOMEM: return MPI_ERR_NO_MEM;
    case TERN_ERR_TRUNCATED: return MPI_ERR_TRUNCATE;
    default: return MPI_ERR_OTHER;
    }
}

int tern_mpi_code_of(tern_status status, const char *call, const char *what)
{
    const char *detail = tern_error_detail();

    return tern_mpi_code(class_of(status), call, "%s failed: %s", what,
                         detail[0] != '\0' ? detail : tern_strerror(status));
}
