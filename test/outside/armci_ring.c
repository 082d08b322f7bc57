/* armci_ring.c: a program of ARMCI outside the project, built against an installed copy, with and without MPI, as C99
 * and as C++. Each rank puts its number to the next one and sees the number of the one before. */
#include <stdio.h>
#include <stdlib.h>

#include <armci.h>
#include <armcix.h>
#include <message.h>

int main(void)
{
    int    me, n, next, before;
    void **parts;

    if (ARMCI_Init() != 0)
        return 1;
    me = armci_msg_me();
    n = armci_msg_nproc();
    next = (me + 1) % n;
    before = (me + n - 1) % n;
    parts = (void **)malloc((size_t)n * sizeof(void *));
    if (parts == NULL || ARMCI_Malloc(parts, sizeof(long)) != 0)
        return 1;
    ARMCI_PutValueLong(1000 + me, parts[next], next);
    ARMCI_Barrier();
    if (*(long *)parts[me] != 1000 + before)
        ARMCI_Error("the value of the previous rank is missing", 1);
    if (me == 0)
        printf("a ring of %d\n", n);
    ARMCI_Barrier();
    ARMCI_Free(parts[me]);
    free(parts);
    return ARMCI_Finalize();
}
