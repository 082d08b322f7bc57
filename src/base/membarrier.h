/* membarrier.h: memory barriers that the kernel executes on behalf of other threads, so that the frequent side of a
 * protocol needs no fence. */
#pragma once

#include <stdbool.h>

/* Register this process for barriers of one kind. Returns false if the kernel does not support the kind.
 *   private  barriers on all threads of this process
 *   global   barriers on all threads of all registered processes */
bool tern_base_membarrier_register_private(void);
bool tern_base_membarrier_register_global(void);

/* Execute a full memory barrier on all running threads of this process, which must be registered, or on those of all
 * registered processes. */
void tern_base_membarrier_private(void);
void tern_base_membarrier_global(void);
