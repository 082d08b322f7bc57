/* pmi.h: the services of a foreign launcher that Tern needs: the rank of this process, the number of ranks, the
 * exchange of values between ranks, and ending the job.
 *
 * pmi1.c implements the PMI-1 wire protocol over an inherited socket (MPICH's mpiexec, Flux, 'srun --mpi=pmi2'). pmix.c
 * calls libpmix, which it loads on demand (Open MPI's mpirun, 'srun --mpi=pmix'). An MPI library in the same process
 * can use the launcher as well: Tern does not take the connection away from it, whichever of the two connects first.
 *
 * A process has at most one connection, to which all calls after open refer. Only the thread that is in tern_init or
 * tern_finalize makes these calls, except abort and end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define TERN_PMI_VALUE 512 /* bytes of a value with its terminating 0; printable characters without blanks */

struct tern_pmi_ops;

struct tern_pmi {
    const struct tern_pmi_ops *ops;
    int                        rank, ranks;
    int                        gone; /* a descriptor that becomes readable when the launcher ends; -1: none */
    int                        fd;   /* connection; the launcher ends the job if it ends without 'finalize'; -1: none */
    bool watched; /* other ranks detect the end of this rank (death_watch.h), whether or not the launcher does */
};

struct tern_pmi_ops {
    /* Connect to the launcher, once in the life of a process.
     * Returns TERN_OK. TERN_ERR_BOOT: the launcher exists but cannot be used; the detail says what to do. */
    tern_status (*open)(struct tern_pmi **out);

    /* Publish a value of this rank. Other ranks can get the value after the next fence. */
    tern_status (*put)(const char *key, const char *value);

    /* Wait until all ranks of the job have called fence. TERN_ERR_TIMEOUT: they did not do so within TERN_TIMEOUT. */
    tern_status (*fence)(void);

    /* Get the value that a rank has put under key before the last fence. value must have TERN_PMI_VALUE bytes. */
    tern_status (*get)(int rank, const char *key, char *value);

    /* Ask the launcher to end the job with this status. May return before the job ends. Any thread may call this. */
    void (*abort)(int status);

    /* Disconnect in order, on behalf of an MPI library in the process as well, because this process is going to call
     * _exit. Any thread may call this. */
    void (*end)(void);

    /* Disconnect. in_order tells that this rank has left the job properly; otherwise the launcher must see a failure
     * when the process ends. */
    void (*close)(bool in_order);
};

extern const struct tern_pmi_ops tern_boot_pmi1, tern_boot_pmix;

/* Find the foreign launcher that has started this process. *out is NULL if there is none.
 * Returns TERN_OK. TERN_ERR_BOOT: there is a launcher that Tern cannot use. */
tern_status tern_boot_pmi_find(const struct tern_pmi_ops **out);

/* Extract the value of the field key from one line of the PMI-1 protocol, up to the next blank or the end of the line.
 * Returns false if there is no such field, or its value does not fit into size bytes. Reads at most len bytes of line.
 */
bool tern_boot_pmi1_field(const char *line, size_t len, const char *key, char *value, size_t size);
