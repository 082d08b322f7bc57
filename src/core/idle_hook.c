/* idle_hook.c: the list of idle hooks.
 *
 * One lock guards the list, and the thread that calls the hooks holds it. A thread that finds the lock taken does not
 * wait for it, because another thread is calling the hooks already or changing the list. So hooks never run
 * concurrently, and a hook that was removed does not run any more. */
#include "core/idle_hook.h"

#include <pthread.h>

struct hook {
    void (*function)(void *arg);
    void *arg;
};

_Atomic unsigned tern_core_idle_hooks;

static struct {
    pthread_mutex_t lock;
    struct hook     hook[TERN_IDLE_HOOKS];
    int             count;
    int             at, end; /* while hooks are called: the current hook, and the end of the hooks to call */
} list = { .lock = PTHREAD_MUTEX_INITIALIZER };

void tern_core_idle_hooks_run(void)
{
    if (tern_core_in_idle_hook() || tern_core_message_is_helper() || pthread_mutex_trylock(&list.lock) != 0)
        return;
    tern_core_message_depth += TERN_IDLE_HOOK_DEPTH;
    list.end = list.count; /* hooks that are added meanwhile are called next time */
    for (list.at = 0; list.at < list.end; list.at++)
        list.hook[list.at].function(list.hook[list.at].arg);
    tern_core_message_depth -= TERN_IDLE_HOOK_DEPTH;
    pthread_mutex_unlock(&list.lock);
}

/* Remove the hook at an index. If hooks are being called, each of the others is still called once. */
static void remove_at(int index)
{
    list.count--;
    for (int i = index; i < list.count; i++)
        list.hook[i] = list.hook[i + 1];
    if (!tern_core_in_idle_hook())
        return;
    list.end -= index < list.end;
    list.at -= index <= list.at;
}

bool tern_core_idle_hooks_poll(void)
{
    if (!tern_core_has_idle_hooks())
        return false;
    tern_core_idle_hooks_run();
    return true;
}

/* Lock the list. Inside a hook, this thread holds the lock already. */
static void lock(void)
{
    if (!tern_core_in_idle_hook())
        pthread_mutex_lock(&list.lock);
}

static void unlock(void)
{
    if (!tern_core_in_idle_hook())
        pthread_mutex_unlock(&list.lock);
}

tern_status tern_core_idle_hook_add(void (*function)(void *arg), void *arg)
{
    tern_status st = TERN_OK;

    lock();
    if (list.count < TERN_IDLE_HOOKS) {
        list.hook[list.count++] = (struct hook){ function, arg };
        atomic_fetch_add_explicit(&tern_core_idle_hooks, 1, memory_order_relaxed); /* relaxed: a hint */
    } else {
        st = tern_base_fail(TERN_ERR_NOMEM,
                            "tern_on_idle: the process has %d idle hooks, and cannot have more; remove those that are "
                            "not needed any more with tern_on_idle_remove",
                            TERN_IDLE_HOOKS);
    }
    unlock();
    return st;
}

tern_status tern_core_idle_hook_remove(void (*function)(void *arg), void *arg)
{
    int i = 0;

    lock();
    while (i < list.count && (list.hook[i].function != function || list.hook[i].arg != arg))
        i++;
    if (i < list.count) {
        remove_at(i);
        atomic_fetch_sub_explicit(&tern_core_idle_hooks, 1, memory_order_relaxed); /* relaxed: a hint */
        unlock();
        return TERN_OK;
    }
    unlock();
    return tern_base_fail(TERN_ERR_ARG, "tern_on_idle_remove: there is no idle hook with this function and argument");
}
