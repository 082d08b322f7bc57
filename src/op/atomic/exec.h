/* exec.h: one atomic operation on memory of this process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <tern/atomic.h>

_Static_assert(TERN_ATOMIC_TYPES == (unsigned)TERN_TYPES, "tables by type have an entry for every type");

/* Return the size of a value in bytes. The type must have atomic operations. */
static inline size_t tern_op_exec_size(tern_type type)
{
#define TERN_OP_EXEC_BYTES(name, ctype, bytes, text) [name] = (bytes),
    static const uint8_t bytes_of[TERN_TYPES] = { TERN_TYPE_LIST(TERN_OP_EXEC_BYTES) };
#undef TERN_OP_EXEC_BYTES

    return bytes_of[type];
}

/* Copy a value of the given size, without calling a function. */
static inline void tern_op_exec_copy(void *to, const void *from, size_t size)
{
    switch (size) {
    case 1: memcpy(to, from, 1); break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    default: memcpy(to, from, 8);
    }
}

/* Return the mask of operations that a type supports; 0 if there are none. */
static inline uint32_t tern_op_exec_ops(uint32_t type)
{
    if (type >= TERN_TYPES || type == TERN_COMPLEX_FLOAT || type == TERN_COMPLEX_DOUBLE)
        return 0;
    return type == TERN_FLOAT || type == TERN_DOUBLE ? TERN_ATOMIC_ARITHMETIC : TERN_ATOMIC_ALL;
}

/* Return whether `op` is exactly one operation, and the type supports it. */
static inline bool tern_op_exec_supports(uint32_t type, uint32_t op)
{
    return op != 0 && (op & (op - 1)) == 0 && (op & ~tern_op_exec_ops(type)) == 0;
}

/* Execute an operation on the aligned value at `at` and return the old value (0 for a put). The type must support
 * the operation. Values are bit patterns, zero-extended. The operation is acquire and release,
 * except that a get does not release and a put does not acquire. */
uint64_t tern_op_exec(void *at, tern_type type, uint32_t op, uint64_t operand, uint64_t compare);
