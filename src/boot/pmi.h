/* pmi.h: what a foreign launcher offers to the processes that it has started, in the few words that Tern needs: who am
 * I, of how many, tell the others something, end the job.
 *
 * pmi1.c speaks the wire protocol PMI-1 over an inherited socket (MPICH's mpiexec, Flux, 'srun --mpi=pmi2'), pmix.c
 * calls libpmix, which it loads when it is needed (Open MPI's mpirun, 'srun --mpi=pmix'). Both serve an MPI library in
 * the same process too: nothing here takes the connection away from it, whoever comes first.
 *
 * A process has at most one of these. All calls but abort are made by the thread that is in tern_init or tern_finalize.
 */
#ifndef TERN_BOOT_PMI_H
#define TERN_BOOT_PMI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define TERN_PMI_VALUE 512 /* bytes of a value with its closing 0; visible characters, none of them a blank */

struct tern_pmi_ops;

struct tern_pmi {
    const struct tern_pmi_ops *ops;
    int                        rank, ranks;
    int                        gone; /* a descriptor that can be read when the launcher is gone; -1: there is none */
    bool watched; /* other ranks see it when this one ends (death_watch.h), whatever the launcher sees */
};

struct tern_pmi_ops {
    const char *name; /* for people */

    /* Connect. Once in the life of a process.
     * Returns TERN_OK. TERN_ERR_BOOT: the launcher is there but cannot be used; the detail says what to do. */
    tern_status (*open)(struct tern_pmi **out);

    /* Publish a value of this rank; others can get it after the next fence. */
    tern_status (*put)(struct tern_pmi *pmi, const char *key, const char *value);

    /* Meet all ranks of the job. TERN_ERR_TIMEOUT: they did not come within TERN_TIMEOUT. */
    tern_status (*fence)(struct tern_pmi *pmi);

    /* What a rank has put under key before the last fence. value has room for TERN_PMI_VALUE bytes. */
    tern_status (*get)(struct tern_pmi *pmi, int rank, const char *key, char *value);

    /* Ask the launcher to end the job with this status. May return before it has happened. Any thread. */
    void (*abort)(struct tern_pmi *pmi, int status);

    /* Disconnect. in_order: this rank has left the job as it should; otherwise the launcher is to see a failure when
     * the process ends. */
    void (*close)(struct tern_pmi *pmi, bool in_order);
};

extern const struct tern_pmi_ops tern_boot_pmi1, tern_boot_pmix;

/* Find the launcher that has started this process. *out is NULL where there is none but ternrun.
 * Returns TERN_OK. TERN_ERR_BOOT: there is one that Tern cannot use. */
tern_status tern_boot_pmi_find(const struct tern_pmi_ops **out);

/* The value of the field key in one line of the PMI-1 protocol, up to the next blank or the end of the line.
 * Returns false where there is no such field, or it does not fit into size bytes. Reads len bytes of line at most. */
bool tern_boot_pmi1_field(const char *line, size_t len, const char *key, char *value, size_t size);

#endif
