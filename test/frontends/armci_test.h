/* armci_test.h: declarations that the tests of the ARMCI front end share. The programs use nothing but ARMCI, so that
 * they are built for each MPI and without MPI. A test sets the variables me and n, and ends the job if a check
 * fails. */
#ifndef ARMCI_TEST_H
#define ARMCI_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "armci.h"
#include "armcix.h"

static int me, n;

static inline void must(const char *file, int line, const char *what, int holds)
{
    char text[256];

    if (holds)
        return;
    snprintf(text, sizeof text, "%s:%d: not true: %s", file, line, what);
    ARMCI_Error(text, 9);
}
#define MUST(what) must(__FILE__, __LINE__, #what, what)

static inline void start(void)
{
    MUST(ARMCI_Init() == 0 && ARMCI_Initialized());
    me = armci_msg_me();
    n = armci_msg_nproc();
}

static inline void finish(void)
{
    ARMCI_Barrier();
    MUST(ARMCI_Finalize() == 0 && !ARMCI_Initialized());
}

/* Memory of equal size at all ranks. */
static inline void **allocate(long bytes)
{
    void **pointers = malloc((size_t)n * sizeof *pointers);

    MUST(pointers != NULL && ARMCI_Malloc(pointers, bytes) == 0);
    for (int i = 0; i < n; i++)
        MUST(pointers[i] != NULL);
    return pointers;
}

static inline void release(void **pointers)
{
    ARMCI_Barrier();
    MUST(ARMCI_Free(pointers[me]) == 0);
    free(pointers);
}

#endif
