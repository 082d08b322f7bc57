/* exec.h: one atomic operation on memory of this process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tern/atomic.h>

/* Size of a value in bytes. The type must be one of the TERN_ATOMIC_TYPES. */
static inline size_t tern_op_exec_size(tern_type type)
{
    return type == TERN_INT32 || type == TERN_UINT32 || type == TERN_FLOAT ? 4 : 8;
}

/* The mask of operations that a type supports; 0 if there are none. */
static inline uint32_t tern_op_exec_ops(uint32_t type)
{
    if (type >= TERN_ATOMIC_TYPES)
        return 0;
    return type == TERN_FLOAT || type == TERN_DOUBLE ? TERN_ATOMIC_ARITHMETIC : TERN_ATOMIC_ALL;
}

/* Whether `op` is exactly one operation, and the type supports it. */
static inline bool tern_op_exec_supports(uint32_t type, uint32_t op)
{
    return op != 0 && (op & (op - 1)) == 0 && (op & ~tern_op_exec_ops(type)) == 0;
}

/* Execute an operation on the aligned value at `at` and return the old value (0 for a put). The type must support
 * the operation. Values are bit patterns; 4-byte values are in the lower half. The operation is acquire and release,
 * except that a get does not release and a put does not acquire. */
uint64_t tern_op_exec(void *at, tern_type type, uint32_t op, uint64_t operand, uint64_t compare);
