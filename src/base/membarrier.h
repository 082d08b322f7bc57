/* membarrier.h: memory barriers that the kernel executes on behalf of other threads, so that the frequent side of a
 * protocol needs no fence. */
#pragma once

#include <linux/membarrier.h>
#include <stdbool.h>

/* Execute a command of the system call membarrier. Returns false if the kernel does not support the command.
 *   MEMBARRIER_CMD_PRIVATE_EXPEDITED           a full barrier on all running threads of this process
 *   MEMBARRIER_CMD_GLOBAL_EXPEDITED            a full barrier on all running threads of all registered processes
 *   MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED  and
 *   MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED   register this process for such barriers, before the first one
 * A barrier of a kind for which the process is registered cannot fail. */
bool tern_base_membarrier(int command);
