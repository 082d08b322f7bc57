/* alone.c: a job of one rank, and the suspicion that more were meant.
 *
 * Every launcher leaves variables in the environment. A number of processes above one, or a process number without any
 * such size, means that someone wanted a parallel job; each process would then be a job of its own, which is rarely
 * what was meant. It may be right, though (a serial tool within a parallel script), so it is a note and no error.
 */
#define _GNU_SOURCE 1
#include "boot/alone.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/parse.h"

#define MOST_CPUS 65536

/* What a launcher sets: the number of processes, and the number of this one. Either may be NULL. */
struct hint {
    const char *size, *rank;
    bool        both; /* the size alone means nothing: it describes an allocation */
};

static const struct hint hints[] = {
    { "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", false },
    { "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", false },
    { "PMI_SIZE", "PMI_RANK", false },
    { "MPI_LOCALNRANKS", "MPI_LOCALRANKID", false },
    { "FLUX_JOB_SIZE", "FLUX_TASK_RANK", true },
    { "SLURM_NTASKS", "SLURM_PROCID", true },
    { NULL, "PMIX_RANK", false },
    { NULL, "PALS_RANKID", false },
};

#define HINTS (sizeof(hints) / sizeof(hints[0]))

int tern_boot_alone_cores(void)
{
    size_t     size = CPU_ALLOC_SIZE(MOST_CPUS);
    cpu_set_t *set = CPU_ALLOC(MOST_CPUS);
    int        count = 1;

    if (set != NULL && sched_getaffinity(0, size, set) == 0)
        count = CPU_COUNT_S(size, set);
    CPU_FREE(set);
    return count < 1 ? 1 : count;
}

/* The variable that speaks of more than one process; NULL when none does. *sized: some variable gave a size. */
static const char *find_size(bool *sized)
{
    const char *value;
    int64_t     size;

    *sized = false;
    for (size_t i = 0; i < HINTS; i++) {
        value = hints[i].size != NULL ? getenv(hints[i].size) : NULL;
        if (value == NULL || !tern_base_parse_count(value, &size) || (hints[i].both && getenv(hints[i].rank) == NULL))
            continue;
        *sized = true;
        if (size > 1)
            return hints[i].size;
    }
    return NULL;
}

static const char *find_rank(void)
{
    for (size_t i = 0; i < HINTS; i++)
        if (!hints[i].both && getenv(hints[i].rank) != NULL)
            return hints[i].rank;
    return NULL;
}

void tern_boot_alone_note(void)
{
    static bool said;
    bool        sized;
    const char *name = find_size(&sized);

    if (name == NULL && !sized)
        name = find_rank();
    if (name == NULL || said)
        return;
    said = true;
    tern_base_log(TERN_LOG_NOTE,
                  "this process is a job of one rank, but %s=%s hints at another launcher, which Tern does not use; "
                  "start the job with 'ternrun -n N program'",
                  name, getenv(name));
}
