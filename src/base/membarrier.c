/* membarrier.c: the system call membarrier. See membarrier.h. */
#include "base/membarrier.h"

#include <sys/syscall.h>
#include <unistd.h>

bool tern_base_membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}
