/* float.h: the floating-point mode of the calling thread: rounding and the treatment of subnormal numbers.
 *
 * A program may change the mode of its own threads. An accumulate on behalf of a peer always uses the default mode
 * (round to nearest, with subnormal numbers), whichever thread computes it. Exceptions that occur during the
 * computation set the thread's flags as usual. On architectures that are not listed below, the mode is not changed.
 */
#pragma once

#include <stdint.h>

#if defined(__SSE2__)

#define TERN_FLOAT_FLAGS 0x3fu /* the flags of exceptions that have occurred */
#define TERN_FLOAT_DEFAULT 0x1f80u

/* Switch to the default mode. Returns the previous mode. */
static inline uint64_t tern_base_float_enter(void)
{
    unsigned was = __builtin_ia32_stmxcsr();

    if ((was & ~TERN_FLOAT_FLAGS) != TERN_FLOAT_DEFAULT)
        __builtin_ia32_ldmxcsr(TERN_FLOAT_DEFAULT | (was & TERN_FLOAT_FLAGS));
    return was;
}

/* Restore the previous mode. */
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
