/* singleton.c: a job of one rank, and a check whether a larger job was intended.
 *
 * Every launcher leaves variables in the environment. If they say that this is process 3 of 8, a parallel job was
 * intended, and making each process a job of its own is almost never right. So this is an error, which
 * TERN_LAUNCHER=alone overrides. Weaker evidence (the size of an allocation, a process number without a size) only
 * causes a log message, because running a serial tool within a parallel script is legitimate.
 */
#include "boot/singleton.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/options.h"
#include "base/parse.h"
#include "boot/node.h"

/* The variables that a launcher sets: the number of processes, and the number of this process. */
struct hint {
    const char *size; /* NULL: the launcher sets no size */
    const char *rank;
    const char *advice; /* NULL: the variables do not prove that the process was started as one of several */
};

#define ADVICE "start the job with 'ternrun -n N program', or with a launcher that offers PMIx or PMI-1"

static const struct hint hints[] = {
    { "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "start the job step with 'srun --mpi=pmix'" },
    { "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", ADVICE },
    { "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", ADVICE },
    { "PMI_SIZE", "PMI_RANK", ADVICE },
    { "MPI_LOCALNRANKS", "MPI_LOCALRANKID", ADVICE },
    { "FLUX_JOB_SIZE", "FLUX_TASK_RANK", "start the job with 'flux run -o pmi=simple'" },
    { "SLURM_NTASKS", "SLURM_PROCID", NULL }, /* also set in a batch script */
    { NULL, "PMIX_RANK", NULL },
    { NULL, "PALS_RANKID", NULL },
};

#define HINTS (sizeof(hints) / sizeof(hints[0]))

int tern_boot_singleton_cores(void)
{
    struct tern_cpus cpus;

    tern_boot_cpus_own(&cpus);
    return tern_boot_cpus_count(&cpus);
}

/* Return the first hint whose size is greater than 1. If no variable gives a size, return the first hint without a size
 * whose rank is set; these are last in the table. Returns NULL if there is none. */
static const struct hint *find_hint(void)
{
    bool sized = false;

    for (size_t i = 0; i < HINTS; i++) {
        const char *value = hints[i].size != NULL ? getenv(hints[i].size) : NULL;
        int64_t     size = 0;

        if (getenv(hints[i].rank) == NULL)
            continue;
        if (hints[i].size == NULL && !sized)
            return &hints[i];
        if (value != NULL && tern_base_parse_count(value, &size))
            sized = true;
        if (size > 1)
            return &hints[i];
    }
    return NULL;
}

tern_status tern_boot_singleton_check(void)
{
    static bool        said;
    const struct hint *hint = find_hint();
    const char        *name;

    if (tern_opt.launcher == TERN_LAUNCHER_ALONE || hint == NULL)
        return TERN_OK;
    if (hint->advice != NULL)
        return tern_base_fail(TERN_ERR_BOOT,
                              "%s=%.20s and %s=%.20s show that a launcher started this process as one of several, but "
                              "it offers neither PMIx nor PMI-1; %s; set TERN_LAUNCHER=alone if each process is to be "
                              "a job of one",
                              hint->size, getenv(hint->size), hint->rank, getenv(hint->rank), hint->advice);
    name = hint->size != NULL ? hint->size : hint->rank;
    if (!said)
        tern_base_log(TERN_LOG_NOTE,
                      "this process is a job of one rank, but %s=%s hints at another launcher, which Tern does not "
                      "use; start the job with 'ternrun -n N program'",
                      name, getenv(name));
    said = true;
    return TERN_OK;
}
