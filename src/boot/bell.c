/* bell.c: the system calls behind a bell (an eventcount on a futex).
 *
 * The futex is shared (never FUTEX_PRIVATE_FLAG), because the sleeper and the waker are different processes that map
 * the same memory file. Errors need no report: every caller polls again when the function returns.
 */
#include "boot/bell.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/membarrier.h"

#define NS_PER_SECOND 1000000000

bool tern_boot_bell_joined;

bool tern_boot_bell_join(void)
{
    tern_boot_bell_joined = tern_base_membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
    return tern_boot_bell_joined;
}

void tern_boot_bell_wait(_Atomic uint32_t *bell, uint32_t seen, int64_t ns)
{
    struct timespec limit = { .tv_sec = ns / NS_PER_SECOND, .tv_nsec = ns % NS_PER_SECOND };

    syscall(SYS_futex, bell, FUTEX_WAIT, seen, ns < 0 ? NULL : &limit, NULL, 0);
}

void tern_boot_memory_wake(struct tern_slot *slot)
{
    /* relaxed: the increment of the bell publishes the caller's writes. If there are several writers, one of them wakes
     * the rank. The rank sees the data of the others in its next poll, or in the poll after its next announcement,
     * before which it runs a membarrier. */
    if (atomic_exchange_explicit(&slot->memory_waits, 0, memory_order_relaxed) != 0)
        tern_boot_bell_wake(&slot->bell);
}

void tern_boot_slot_wake(struct tern_slot *slot)
{
    /* relaxed: the increment of the bell follows. A thread that reads the new value of the bell announces itself
     * again. */
    if (atomic_load_explicit(&slot->memory_waits, memory_order_relaxed) != 0)
        atomic_store_explicit(&slot->memory_waits, 0, memory_order_relaxed);
    tern_boot_bell_wake(&slot->bell);
}

void tern_boot_bell_wake(_Atomic uint32_t *bell)
{
    /* release: publishes the caller's writes before the new value. Pairs with the kernel's check of the futex value,
     * after which the sleeper polls with acquire loads. */
    atomic_fetch_add_explicit(bell, 1, memory_order_release);
    syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
