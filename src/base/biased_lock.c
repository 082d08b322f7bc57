/* biased_lock.c: the end of being alone, and the lock after it. */
#define _GNU_SOURCE
#include "base/biased_lock.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitize.h"

struct tern_bias   tern_bias = { .revoked = true, .revoke_seen = true };
_Thread_local bool tern_bias_owner;

static bool barrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

void tern_base_bias_claim(void)
{
#ifndef TERN_BASE_TSAN /* it knows no barrier by the kernel */
    bool alone = barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);

    tern_bias_owner = true;
    atomic_store(&tern_bias.revoke_seen, !alone);
    atomic_store(&tern_bias.revoked, !alone);
#endif
}

void tern_base_bias_revoke(void)
{
    atomic_store_explicit(&tern_bias.revoked, true, memory_order_relaxed); /* ordered by the barrier */
    barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);                             /* cannot fail: it was registered */
    /* release: the barrier before whatever a thread does that sees this. Pairs with tern_base_bias_enter(). */
    atomic_store_explicit(&tern_bias.revoke_seen, true, memory_order_release);
}

void tern_base_biased_lock_slow(struct tern_biased_lock *lock)
{
    while (atomic_exchange_explicit(&lock->held, true, memory_order_acquire))
        while (atomic_load_explicit(&lock->held, memory_order_relaxed))
            sched_yield(); /* the holder may be waiting for this core */
    while (atomic_load_explicit(&lock->biased, memory_order_acquire))
        sched_yield(); /* the first thread, for the last time */
}
