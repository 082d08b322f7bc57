/* misuse_armci.c: a job that misuses ARMCI in the way that its argument names; misuse.sh expects how the job ends. */
#include "armci_test.h"

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    long        value = 1;
    int         stride[9] = { 8, 8, 8, 8, 8, 8, 8, 8, 8 }, count[10] = { 8, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    double      one = 1;
    void      **memory;
    ARMCI_Group group;

    if (strcmp(how, "early") == 0)
        return ARMCI_Put(&value, &value, 8, 0);
    start();
    memory = allocate(64);
    group.rank = -1;
    if (strcmp(how, "rank") == 0)
        ARMCI_Put(&value, memory[0], 8, n);
    else if (strcmp(how, "levels") == 0)
        ARMCI_PutS(&value, stride, memory[0], stride, count, 9, 0);
    else if (strcmp(how, "bytes") == 0)
        ARMCI_Get(memory[0], &value, -3, 0);
    else if (strcmp(how, "address") == 0)
        ARMCI_Acc(ARMCI_ACC_DBL, &one, &value, &value, 8, n - 1);
    else if (strcmp(how, "end") == 0)
        ARMCI_Acc(ARMCI_ACC_DBL, &one, memory[me], (char *)memory[0] + 32, 64, 0);
    else if (strcmp(how, "type") == 0)
        ARMCI_Acc(17, &one, &value, memory[0], 8, 0);
    else if (strcmp(how, "operation") == 0)
        ARMCI_Rmw(44, &value, memory[0], 1, 0);
    else if (strcmp(how, "unlock") == 0)
        ARMCI_Unlock(0, 0);
    else if (strcmp(how, "free") == 0)
        ARMCI_Free((char *)memory[me] + 8);
    else if (strcmp(how, "group") == 0)
        armci_msg_group_barrier(&group);
    else if (strcmp(how, "gop") == 0)
        armci_msg_dgop(&one, 1, "mean");
    else if (strcmp(how, "error") == 0)
        ARMCI_Error("the program gives up", 7);
    else if (strcmp(how, "kill") == 0 && me == n - 1)
        abort();
    ARMCI_Barrier();
    return 0;
}
