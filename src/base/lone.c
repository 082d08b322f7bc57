/* lone.c: the end of being alone, and the lock after it. */
#define _GNU_SOURCE
#include "base/lone.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitize.h"

struct tern_lone   tern_lone = { .ended = true, .settled = true };
_Thread_local bool tern_lone_first;

static bool barrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

void tern_base_lone_begin(void)
{
#ifndef TERN_BASE_TSAN /* it knows no barrier by the kernel */
    bool alone = barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);

    tern_lone_first = true;
    atomic_store(&tern_lone.settled, !alone);
    atomic_store(&tern_lone.ended, !alone);
#endif
}

void tern_base_lone_end(void)
{
    atomic_store_explicit(&tern_lone.ended, true, memory_order_relaxed); /* ordered by the barrier */
    barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);                           /* cannot fail: it was registered */
    /* release: the barrier before whatever a thread does that sees this. Pairs with tern_base_lone_enter(). */
    atomic_store_explicit(&tern_lone.settled, true, memory_order_release);
}

void tern_base_lone_lock_shared(struct tern_lone_lock *lock)
{
    while (atomic_exchange_explicit(&lock->busy, true, memory_order_acquire))
        while (atomic_load_explicit(&lock->busy, memory_order_relaxed))
            sched_yield(); /* the holder may be waiting for this core */
    while (atomic_load_explicit(&lock->inside, memory_order_acquire))
        sched_yield(); /* the first thread, for the last time */
}
