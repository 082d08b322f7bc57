/* adopt.h: pages of the program become shared memory in place. */
#pragma once

#include "core/memory.h"

/* Check whether the memory can be adopted: it is private, writable memory of the program, no stack, in no other region,
 * and no thread of the program could write to it while it is moved. */
tern_status tern_core_adopt_check(const void *addr, uint64_t len);

/* Return the bytes of the pages that contain the memory. */
uint64_t tern_core_adopt_bytes(const void *addr, uint64_t len);

/* Move the pages that contain the memory, which was checked, into the arena, and map them at the same addresses. On an
 * error the memory is unchanged. */
tern_status tern_core_adopt_take(void *addr, uint64_t len, struct tern_own_memory *out);

/* Give the pages back to the program as private memory with their contents. Returns false if they stay in the arena,
 * because other threads may write to them or there is no memory; the program then continues to use them there. */
bool tern_core_adopt_return(struct tern_own_memory *memory);

/* These functions run around fork, while the job's lock is held: the child gets private copies of the adopted pages,
 * and the parent waits until the child has made them. */
void tern_core_adopt_before_fork(void);
void tern_core_adopt_in_parent(void);
void tern_core_adopt_in_child(void);
