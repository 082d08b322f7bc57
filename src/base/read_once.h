/* read_once.h: reading memory that another process can write at any time. What is read is copied once into private
 * memory; the copy is checked, and only the copy is used. These two keep the compiler from reading the memory a
 * second time. */
#ifndef TERN_BASE_READ_ONCE_H
#define TERN_BASE_READ_ONCE_H

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* The value of a number in such memory, by exactly one load. */
#define TERN_READ_ONCE(number) (*(const volatile __typeof__(number) *)&(number))

/* Copy len bytes of such memory, of any alignment. */
static inline void tern_base_copy_once(void *to, const void *from, size_t len)
{
    memcpy(to, from, len);
    /* The compiler reads nothing of from after this in place of the copy. Pairs with nothing: the other process may
     * write whenever it likes. */
    atomic_signal_fence(memory_order_seq_cst);
}

#endif
