/* armci.c: blocks by the gets of ARMCI, as in the ARMCI paper: a barrier separates the phases, and a rank then fetches
 * the blocks that it needs from their owners, all at once. The same source is built with Tern's ARMCI and with Debian's
 * on each MPI. */
#include <armci.h>
#include <stdlib.h>

#include "common/app.h"
#include "common/job.h"
#include "lu/lu.h"

static double **parts; /* [ranks] the memory of each rank */

static void armci_begin(struct lu *lu)
{
    parts = app_memory((size_t)job_size * sizeof(*parts));
    if (ARMCI_Init() != 0 || ARMCI_Malloc((void **)parts, (armci_size_t)lu_bytes(lu)) != 0)
        job_fail("ARMCI has no memory for the matrix");
    lu->matrix = parts[job_rank];
    lu->others = app_memory(lu_bytes(lu));
}

/* Does nothing: the other ranks fetch the block after the next barrier. */
static void armci_give(struct lu *lu, int number, int count)
{
    (void)lu;
    (void)number;
    (void)count;
}

static void armci_need(struct lu *lu, int count)
{
    for (int i = 0; i < count; i++) {
        int    number = lu->list[i], owner = lu_owner_of(lu, number);
        size_t at = lu_offset(lu, number) / sizeof(double);

        if (ARMCI_NbGet(parts[owner] + at, lu->others + at, (int)lu->bytes, owner, NULL) != 0)
            job_fail("ARMCI_NbGet failed");
        lu->here[number] = true;
    }
    if (ARMCI_WaitAll() != 0)
        job_fail("ARMCI_WaitAll failed");
}

static void armci_finish(void)
{
}

static void armci_end(struct lu *lu)
{
    ARMCI_Barrier();
    if (ARMCI_Free(lu->matrix) != 0)
        job_fail("ARMCI_Free failed");
    ARMCI_Finalize();
    free(lu->others);
    free(parts);
}

const struct lu_style lu_armci = { armci_begin, armci_give, ARMCI_Barrier, armci_need, armci_finish, armci_end };
