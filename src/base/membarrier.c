/* membarrier.c: see membarrier.h. A barrier of a supported and registered kind cannot fail. */
#include "base/membarrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

bool tern_base_membarrier_register_private(void)
{
    return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

bool tern_base_membarrier_register_global(void)
{
    return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
}

void tern_base_membarrier_private(void)
{
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void tern_base_membarrier_global(void)
{
    membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}
