/* float.h: the floating-point mode of the calling thread: rounding, and what becomes of subnormal numbers.
 *
 * A program may change it for its own threads. What a rank adds for its peers is computed in the default mode, whatever
 * thread does it: rounded to nearest, with subnormal numbers. Exceptions that occur meanwhile leave their flags as
 * computations of the thread itself would. On machines that are not listed the mode stays as it is.
 */
#ifndef TERN_BASE_FLOAT_H
#define TERN_BASE_FLOAT_H

#include <stdint.h>

#if defined(__SSE2__)

#define TERN_FLOAT_FLAGS 0x3fu /* exceptions that have occurred */
#define TERN_FLOAT_DEFAULT 0x1f80u

/* Enter the default mode; returns what was. */
static inline uint64_t tern_base_float_enter(void)
{
    unsigned was = __builtin_ia32_stmxcsr();

    if ((was & ~TERN_FLOAT_FLAGS) != TERN_FLOAT_DEFAULT)
        __builtin_ia32_ldmxcsr(TERN_FLOAT_DEFAULT | (was & TERN_FLOAT_FLAGS));
    return was;
}

/* Go back to what was. */
static inline void tern_base_float_leave(uint64_t was)
{
    if (((unsigned)was & ~TERN_FLOAT_FLAGS) != TERN_FLOAT_DEFAULT)
        __builtin_ia32_ldmxcsr(((unsigned)was & ~TERN_FLOAT_FLAGS) | (__builtin_ia32_stmxcsr() & TERN_FLOAT_FLAGS));
}

#elif defined(__aarch64__)

static inline uint64_t tern_base_float_enter(void)
{
    uint64_t was;

    __asm__ volatile("mrs %0, fpcr" : "=r"(was));
    if (was != 0)
        __asm__ volatile("msr fpcr, xzr" ::: "memory");
    return was;
}

static inline void tern_base_float_leave(uint64_t was)
{
    if (was != 0)
        __asm__ volatile("msr fpcr, %0" ::"r"(was) : "memory");
}

#else

static inline uint64_t tern_base_float_enter(void)
{
    return 0;
}

static inline void tern_base_float_leave(uint64_t was)
{
    (void)was;
}

#endif
#endif
