/* checkpoint.c: the calls of ARMCI's checkpoints, which Tern does not have. Each returns FAIL, and the first one says
 * why. */
#include <stdio.h>

#include "state.h"

static int refuse(const char *call)
{
    static bool said;

    if (!said)
        fprintf(stderr,
                "tern: %s: checkpoints of ARMCI are not available; let the program write its own data to files, or use "
                "a checkpoint tool for whole processes\n",
                call);
    said = true;
    return FAIL;
}

ARMCI_EXPORT int ARMCI_Ckpt_create_ds(armci_ckpt_ds_t *ckptds, int count)
{
    (void)ckptds;
    (void)count;
    return refuse("ARMCI_Ckpt_create_ds");
}

ARMCI_EXPORT int ARMCI_Ckpt_init(char *filename, ARMCI_Group *grp, int savestack, int saveheap, armci_ckpt_ds_t *ckptds)
{
    (void)filename;
    (void)grp;
    (void)savestack;
    (void)saveheap;
    (void)ckptds;
    return refuse("ARMCI_Ckpt_init");
}

ARMCI_EXPORT int ARMCI_Ckpt(int rid)
{
    (void)rid;
    return refuse("ARMCI_Ckpt");
}

ARMCI_EXPORT int ARMCI_Ckpt_Recover(int rid, int iamreplacement)
{
    (void)rid;
    (void)iamreplacement;
    return refuse("ARMCI_Ckpt_Recover");
}

ARMCI_EXPORT int ARMCI_Ckpt_finalize(int rid)
{
    (void)rid;
    return refuse("ARMCI_Ckpt_finalize");
}
