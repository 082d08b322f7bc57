/* thread.c: see thread.h.
 *
 * A program that makes progress by itself does all the work: then this thread looks by the clock whether that is still
 * so, less and less often. When a context with something to do was not looked at since the last time, the thread works
 * in the program's stead, and sleeps on the rank's bell, as the program does when it waits: whoever has news rings it.
 * Links that let operations wait for a time and do not ring are looked at every millisecond. When there is nothing to
 * do for a while it sleeps until an engine has something again.
 *
 * Where a receive of a long message is under way it also takes in tagged messages. It runs no handlers of active
 * messages: those are the program's.
 */
#define _GNU_SOURCE
#include "op/trigger/thread.h"

#include <signal.h>
#include <string.h>

#include "base/options.h"
#include "base/wake_request.h"
#include "boot/bell.h"
#include "core/job.h"
#include "core/links.h"
#include "core/message.h"
#include "op/tagged/tagged.h"

#define FIRST_NAP 50000ll          /* ns */
#define LONGEST_NAP 1000000ll      /* ns */
#define LONGEST_SLEEP 1000000000ll /* ns; a safety net, nobody relies on it */
#define LINGER 8 /* looks at nothing before the long sleep, so that not every operation has to wake it */

enum sight {
    NOTHING, /* is to be done */
    ACTIVE,  /* the program does it */
    HOPED,   /* there is nothing to do but to receive what has not come */
    HELPED,  /* something was done, or could not be done yet */
};

static struct {
    pthread_mutex_t     lock; /* guards engines, and starting */
    struct tern_engine *engines;
    _Atomic bool        running;
    bool                over; /* it is not started any more */
    _Atomic bool        stop;
    pthread_t           thread;
    _Atomic uint32_t    bell, sleeps;
    _Atomic bool        hoping; /* it may sleep on the rank's bell without end */
} beside = { .lock = PTHREAD_MUTEX_INITIALIZER };

void tern_op_helper_join(struct tern_engine *engine)
{
    pthread_mutex_lock(&beside.lock);
    engine->next = beside.engines;
    engine->link = &beside.engines;
    if (engine->next)
        engine->next->link = &engine->next;
    beside.engines = engine;
    pthread_mutex_unlock(&beside.lock);
}

void tern_op_helper_leave(struct tern_engine *engine)
{
    pthread_mutex_lock(&beside.lock);
    *engine->link = engine->next;
    if (engine->next)
        engine->next->link = engine->link;
    pthread_mutex_unlock(&beside.lock);
}

static void ring(void)
{
    struct tern_slot *slot = tern_core_job_slot(tern_job.boot.rank);

    tern_boot_bell_ring(&slot->bell, &slot->sleepers);
}

/* Whether receives of long messages wait for them, or for being fetched. */
static struct tern_tagged *receiving(const struct tern_engine *engine)
{
    struct tern_tagged *tagged = atomic_load_explicit(&engine->tagged, memory_order_acquire); /* see need_engine() */

    return tagged && atomic_load_explicit(&tagged->wishes, memory_order_relaxed) > 0 ? tagged : NULL; /* a hint */
}

/* With the lock. */
static enum sight work(struct tern_engine *engine, struct tern_tagged *tagged, uint32_t delivered)
{
    bool any = tagged && tern_op_tagged_rndv_start_for(engine, tagged);

    any |= tern_op_engine_progress(engine);
    any |= tern_core_message_delivered() != delivered;
    if (any)
        ring(); /* the program may wait for it */
    return any || tern_op_engine_busy(engine) > 0 ? HELPED : HOPED;
}

/* Work for one engine, unless the program does. */
static enum sight look_at(struct tern_engine *engine)
{
    uint32_t            polls = atomic_load_explicit(&engine->polls, memory_order_relaxed); /* a hint */
    uint32_t            delivered = tern_core_message_delivered();
    struct tern_tagged *tagged = receiving(engine);
    enum sight          seen = ACTIVE;

    if (tern_op_engine_busy(engine) == 0 && !tagged)
        return NOTHING;
    if (polls != engine->polls_seen) {
        engine->polls_seen = polls;
        return ACTIVE;
    }
    if (tagged)
        tern_core_message_poll_tagged();
    if (pthread_mutex_trylock(&engine->lock) == 0) {
        seen = work(engine, tagged, delivered);
        pthread_mutex_unlock(&engine->lock);
    }
    return seen;
}

static enum sight look(void)
{
    enum sight most = NOTHING;

    pthread_mutex_lock(&beside.lock);
    for (struct tern_engine *engine = beside.engines; engine; engine = engine->next) {
        enum sight one = look_at(engine);
        most = one > most ? one : most;
    }
    pthread_mutex_unlock(&beside.lock);
    return most;
}

static bool is_stopped(void)
{
    return atomic_load_explicit(&beside.stop, memory_order_relaxed);
}

/* By the clock. This nap is not announced: nobody has to end it but tern_op_helper_stop(). */
static void nap(int64_t ns)
{
    uint32_t seen = atomic_load(&beside.bell); /* before stop: who stops changes both */

    if (!atomic_load(&beside.stop))
        tern_boot_bell_wait(&beside.bell, seen, ns);
}

/* From now on it shows whether the program makes progress. */
static void look_away(void)
{
    pthread_mutex_lock(&beside.lock);
    for (struct tern_engine *engine = beside.engines; engine; engine = engine->next)
        engine->polls_seen = atomic_load_explicit(&engine->polls, memory_order_relaxed); /* a hint */
    pthread_mutex_unlock(&beside.lock);
}

/* Until an engine has something to do. Mostly the program that gave it that is about to wait for it: it gets some time
 * for its first look, because two threads that do the same are slower than one. */
static void sleep_long(void)
{
    uint32_t seen = tern_boot_bell_announce(&beside.bell, &beside.sleeps);

    if (look() == NOTHING && !is_stopped())
        tern_boot_bell_wait(&beside.bell, seen, -1);
    tern_boot_bell_withdraw(&beside.sleeps);
    look_away();
    nap(FIRST_NAP);
}

static void set_hoping(bool hoping)
{
    atomic_store_explicit(&beside.hoping, hoping, memory_order_relaxed); /* the fences of bells order */
}

/* In the program's stead: until there is news. What could go on at once counts as such. */
static void sleep_for_news(void)
{
    struct tern_slot *slot = tern_core_job_slot(tern_job.boot.rank);
    uint32_t          delivered = tern_core_message_delivered(), seen, wants;
    enum sight        sight;

    set_hoping(true);
    seen = tern_boot_bell_announce(&slot->bell, &slot->sleepers);
    wants = tern_base_wake_requests_ended();
    if (atomic_load_explicit(&slot->uses_membarrier, memory_order_relaxed) != 0) /* this rank's own */
        tern_boot_bell_barrier();
    if ((sight = look()) == HELPED)
        set_hoping(false); /* it sleeps by the clock */
    if (sight >= HOPED && delivered == tern_core_message_delivered() && !tern_base_wake_requests_since(wants) &&
        !is_stopped()) {
        int64_t most = sight == HOPED ? LONGEST_SLEEP : LONGEST_NAP, least = tern_core_links_may_sleep();
        tern_boot_bell_wait(&slot->bell, seen, least < most ? least : most);
    }
    tern_boot_bell_withdraw(&slot->sleepers);
    set_hoping(false);
}

static void *beside_run(void *arg)
{
    int64_t ns = FIRST_NAP;
    int     idle = 0;

    (void)arg;
    while (!is_stopped()) {
        enum sight seen = look();

        idle = seen == NOTHING ? idle + 1 : 0;
        if (idle > LINGER) {
            sleep_long();
            idle = 0;
            ns = FIRST_NAP;
        } else if (seen >= HOPED) {
            sleep_for_news();
            ns = FIRST_NAP;
        } else {
            nap(ns);
            ns = ns * 2 < LONGEST_NAP ? ns * 2 : LONGEST_NAP;
        }
    }
    return NULL;
}

static tern_status start(void)
{
    sigset_t all, before;
    int      error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&beside.thread, NULL, beside_run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return tern_base_fail(TERN_ERR_SYSTEM, "cannot start the thread of triggered operations: %s", strerror(error));
    pthread_setname_np(beside.thread, "tern-trigger");
    atomic_store(&beside.running, true);
    return TERN_OK;
}

tern_status tern_op_helper_start(void)
{
    tern_status st = TERN_OK;

    if (atomic_load_explicit(&beside.running, memory_order_relaxed) || /* the usual case; the lock orders the other */
        tern_opt.progress_thread == TERN_PROGRESS_THREAD_OFF)
        return TERN_OK;
    pthread_mutex_lock(&beside.lock);
    if (!atomic_load(&beside.running) && !beside.over)
        st = start();
    pthread_mutex_unlock(&beside.lock);
    return st;
}

void tern_op_helper_wake(void)
{
    tern_boot_bell_ring(&beside.bell, &beside.sleeps);
    /* relaxed: the fence in front of it, and that between the announcement of its sleep and its last look, order. */
    if (atomic_load_explicit(&beside.hoping, memory_order_relaxed))
        ring();
}

void tern_op_helper_stop(void)
{
    bool running;

    pthread_mutex_lock(&beside.lock);
    running = atomic_exchange(&beside.running, false);
    beside.over = true;
    pthread_mutex_unlock(&beside.lock);
    if (!running)
        return;
    atomic_store(&beside.stop, true);
    tern_boot_bell_wake(&beside.bell);
    ring();
    pthread_join(beside.thread, NULL);
}
