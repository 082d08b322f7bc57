/* idle_hook.c: the list of idle hooks.
 *
 * One lock guards the list, and the thread that calls the hooks holds it. A thread that finds the lock taken does not
 * wait for it, because another thread is calling the hooks already or changing the list. So hooks never run
 * concurrently, and a hook that was removed does not run any more. */
#include "core/idle_hook.h"

#include <pthread.h>

struct hook {
    void (*function)(void *arg); /* NULL: removed */
    void *arg;
};

_Atomic unsigned tern_core_idle_hooks;

static struct {
    pthread_mutex_t lock;
    struct hook     hook[TERN_IDLE_HOOKS];
    unsigned        count; /* entries, those that were removed inside a hook included */
} list = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Close the gaps that hooks have left when they removed hooks. */
static void compact(void)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < list.count; i++)
        if (list.hook[i].function)
            list.hook[kept++] = list.hook[i];
    list.count = kept;
}

void tern_core_idle_hooks_run(void)
{
    if (tern_core_in_idle_hook() || tern_core_message_is_helper() || pthread_mutex_trylock(&list.lock) != 0)
        return;
    tern_core_message_depth += TERN_IDLE_HOOK_DEPTH;
    for (unsigned i = 0; i < list.count; i++)
        if (list.hook[i].function)
            list.hook[i].function(list.hook[i].arg);
    tern_core_message_depth -= TERN_IDLE_HOOK_DEPTH;
    compact();
    pthread_mutex_unlock(&list.lock);
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
    if (tern_core_in_idle_hook())
        return;
    compact();
    pthread_mutex_unlock(&list.lock);
}

tern_status tern_core_idle_hook_add(void (*function)(void *arg), void *arg)
{
    tern_status st = TERN_OK;

    lock();
    if (list.count < TERN_IDLE_HOOKS) {
        list.hook[list.count++] = (struct hook){ function, arg };
        atomic_fetch_add_explicit(&tern_core_idle_hooks, 1, memory_order_relaxed); /* orders nothing: a hint */
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
    unsigned i = 0;

    lock();
    while (i < list.count && (list.hook[i].function != function || list.hook[i].arg != arg))
        i++;
    if (i < list.count) {
        list.hook[i].function = NULL;
        atomic_fetch_sub_explicit(&tern_core_idle_hooks, 1, memory_order_relaxed); /* orders nothing: a hint */
        unlock();
        return TERN_OK;
    }
    unlock();
    return tern_base_fail(TERN_ERR_ARG, "tern_on_idle_remove: there is no idle hook with this function and argument");
}
