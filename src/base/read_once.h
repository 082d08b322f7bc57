/* read_once.h: safe reads of memory that another process can write at any time. The reader copies the data once into
 * private memory, validates the copy, and uses only the copy. The two tools below keep the compiler from reading the
 * shared memory a second time. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* Read a number in shared memory with exactly one load. */
#define TERN_READ_ONCE(number) (*(const volatile __typeof__(number) *)&(number))

/* Copy len bytes of shared memory, of any alignment, into private memory. */
static inline void tern_base_copy_once(void *to, const void *from, size_t len)
{
    memcpy(to, from, len);
    /* The compiler must not replace later reads of the copy by reads of from. This fence has no partner: the other
     * process may write at any time. */
    atomic_signal_fence(memory_order_seq_cst);
}
