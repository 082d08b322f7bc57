/* idle_hook.h: functions of the program that waits call while there is nothing to do (tern_on_idle).
 *
 * A hook runs on a thread that waits, so it must not wait itself: inside a hook, Tern treats the thread like one that
 * is inside a handler of an active message, and delivers nothing. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"
#include "core/message.h"

#define TERN_IDLE_HOOKS 16

/* Added to tern_core_message_depth inside a hook. Deliveries never nest that deep. */
#define TERN_IDLE_HOOK_DEPTH 1024

/* Number of hooks. Writer: the functions below. */
extern _Atomic unsigned tern_core_idle_hooks;

/* Return whether there are hooks. relaxed: a wait that misses a new hook calls it in its next step. */
static inline bool tern_core_has_idle_hooks(void)
{
    return atomic_load_explicit(&tern_core_idle_hooks, memory_order_relaxed) > 0;
}

/* Return whether this thread is inside a hook. */
static inline bool tern_core_in_idle_hook(void)
{
    return (tern_core_message_depth & (TERN_CORE_LOCKED - 1)) >= TERN_IDLE_HOOK_DEPTH;
}

/* Call the hooks, if there are any, in a wait of boot/. Returns whether there are any. */
bool tern_core_idle_hooks_poll(void);

/* Call all hooks, unless another thread is calling them, this thread is inside a hook, or this thread is the helper
 * thread, on which a handler waits: hooks run only on threads of the program. */
void tern_core_idle_hooks_run(void);

/* Add a hook, and remove one: the implementations of tern_on_idle and tern_on_idle_remove. When the second function
 * returns, the hook does not run on another thread. Any thread may call them, also inside a hook. */
tern_status tern_core_idle_hook_add(void (*function)(void *arg), void *arg);
tern_status tern_core_idle_hook_remove(void (*function)(void *arg), void *arg);
