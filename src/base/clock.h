/* clock.h: monotonic time in nanoseconds, and deadlines that do not overflow. */
#pragma once

#include <stdint.h>
#include <tern/job.h>

/* Return the time of the monotonic clock. */
int64_t tern_base_now(void);

/* Return the time `seconds` from now as a deadline; see tern_deadline_in. */
tern_deadline tern_base_deadline_in(double seconds);

/* Tell the CPU that this is a spin loop. */
static inline void tern_base_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}
