/* mpi_library.c: compares what MPI and Tern know about the job. See mpi_library.h.
 *
 * Tern is not linked with any MPI and may be used with several, so the functions are looked up in the process. The
 * communicator of all ranks is a constant of the MPI that the program was compiled with: an address in Open MPI, a
 * number in MPICH and the libraries derived from it. Any other MPI is only detected.
 */
#include "boot/mpi_library.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define MPICH_WORLD 0x44000000 /* MPI_COMM_WORLD in the ABI of MPICH */

enum mpi_kind { MPI_NONE, MPI_OPEN, MPI_MPICH, MPI_OTHER };

/* A function of MPI with one result and, before it, the communicator of all ranks. */
union mpi_call {
    void *found;
    int (*flag)(int *flag);
    int (*of_address)(void *communicator, int *out);
    int (*of_number)(int communicator, int *out);
};

static void *find(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

static enum mpi_kind kind_of_library(void)
{
    void   *call = find("MPI_Comm_size");
    Dl_info about = { 0 };

    if (!call)
        return MPI_NONE;
    if (find("ompi_mpi_comm_world"))
        return MPI_OPEN;
    /* The library of MPI's standard ABI has the same functions and other constants. */
    if (!find("MPIR_Err_create_code") || !dladdr(call, &about) || !about.dli_fname || strstr(about.dli_fname, "abi"))
        return MPI_OTHER;
    return MPI_MPICH;
}

bool tern_boot_mpi_library(void)
{
    return kind_of_library() != MPI_NONE;
}

static bool is_set(const char *function)
{
    union mpi_call call = { .found = find(function) };
    int            flag = 0;

    return call.found && call.flag(&flag) == 0 && flag != 0;
}

/* Ask MPI, which must be initialized, for a number: the size of the communicator of all ranks, or this process's rank
 * in it. Returns -1 if MPI does not have the function. */
static int ask(enum mpi_kind kind, const char *function)
{
    union mpi_call call = { .found = find(function) };
    int            answer = -1;

    if (call.found && kind == MPI_OPEN)
        call.of_address(find("ompi_mpi_comm_world"), &answer);
    else if (call.found)
        call.of_number(MPICH_WORLD, &answer);
    return answer;
}

static const char *name_of(enum mpi_kind kind)
{
    return kind == MPI_OPEN ? "Open MPI" : kind == MPI_MPICH ? "MPICH" : "MPI";
}

static const char *advice_for(enum mpi_kind kind)
{
    return kind == MPI_OPEN    ? "Open MPI's mpirun or srun --mpi=pmix"
           : kind == MPI_MPICH ? "MPICH's mpiexec"
                               : "the launcher of that MPI";
}

static const char *launcher_of(const struct tern_boot *boot)
{
    if (!boot->launched)
        return "no launcher that Tern knows, or TERN_LAUNCHER=alone, started it";
    if (!boot->foreign)
        return "ternrun started it, which does not start MPI";
    return getenv("OMPI_COMM_WORLD_SIZE") ? "Open MPI's mpirun started it"
           : getenv("PMI_FD")             ? "a launcher with PMI-1, such as MPICH's mpiexec, started it"
                                          : "a launcher with PMIx started it";
}

/* Return whether MPI, which is not initialized yet, will not find the other ranks of the job. */
static bool will_be_alone(const struct tern_boot *boot, enum mpi_kind kind)
{
    if (boot->ranks == 1)
        return false;
    if (!boot->foreign)
        return true;
    return kind == MPI_OPEN && getenv("PMI_FD") && !getenv("PMIX_RANK"); /* Open MPI needs PMIx */
}

void tern_boot_mpi_check(const struct tern_boot *boot)
{
    static bool   said;
    enum mpi_kind kind = kind_of_library();
    bool          runs = kind != MPI_NONE && is_set("MPI_Initialized") && !is_set("MPI_Finalized");
    int           size;

    if (kind == MPI_NONE || kind == MPI_OTHER || said)
        return;
    if (!runs) {
        if (boot->rank != 0 || is_set("MPI_Finalized") || !will_be_alone(boot, kind))
            return;
        tern_base_log(TERN_LOG_WARN,
                      "this program is linked with %s, but %s: MPI_Init will not find the other %d ranks and make each "
                      "process an MPI job of one rank; if the program uses MPI, start it with %s",
                      name_of(kind), launcher_of(boot), boot->ranks - 1, advice_for(kind));
    } else {
        size = ask(kind, "MPI_Comm_size");
        if (size == boot->ranks || boot->rank != 0 || ask(kind, "MPI_Comm_rank") != 0)
            return;
        tern_base_log(TERN_LOG_WARN,
                      "%s has %d rank%s and Tern has %d, because %s; start the program with %s, which starts both",
                      name_of(kind), size, size == 1 ? "" : "s", boot->ranks, launcher_of(boot), advice_for(kind));
    }
    said = true;
}
