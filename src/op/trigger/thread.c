/* thread.c: see thread.h.
 *
 * A program that makes progress itself does all the work. Then this thread only checks periodically, with increasing
 * intervals, whether that is still the case. If a context with work to do was not polled since the last check, the
 * thread makes progress instead of the program. It then sleeps on the rank's bell, as the program does when it waits,
 * and is woken by every peer that has news. Links whose operations wait for a time and do not ring the bell are polled
 * every millisecond. After some time without work the thread sleeps until an engine has work again.
 *
 * While a receive of a long message is outstanding, the thread also polls for tagged messages. It runs no handlers of
 * active messages; these run only in threads of the program.
 */
#include "op/trigger/thread.h"

#include "base/membarrier.h"
#include "base/options.h"
#include "base/thread.h"
#include "base/wake_request.h"
#include "boot/bell.h"
#include "core/job.h"
#include "core/links.h"
#include "core/message.h"
#include "op/tagged/tagged.h"

#define FIRST_NAP 50000ll          /* ns */
#define LONGEST_NAP 1000000ll      /* ns */
#define LONGEST_SLEEP 1000000000ll /* ns; a safety net that nothing relies on */
#define LINGER 8 /* polls without work before the long sleep, so that not every operation has to wake the thread */

enum poll_result {
    NOTHING,   /* there is no work */
    ACTIVE,    /* the program makes progress itself */
    RECEIVING, /* the only work is to receive messages that have not arrived yet */
    WORKED,    /* some work was done, or could not be done yet */
};

static struct {
    pthread_mutex_t     lock; /* guards engines and the start of the thread */
    struct tern_engine *engines;
    _Atomic bool        running;
    bool                over; /* the thread must not be started any more */
    _Atomic bool        stop;
    pthread_t           thread;
    _Atomic uint32_t    bell, sleeps;
    _Atomic bool        hoping; /* the thread may sleep on the rank's bell without a short time limit */
} helper = { .lock = PTHREAD_MUTEX_INITIALIZER };

void tern_op_helper_join(struct tern_engine *engine)
{
    pthread_mutex_lock(&helper.lock);
    engine->next = helper.engines;
    engine->link = &helper.engines;
    if (engine->next)
        engine->next->link = &engine->next;
    helper.engines = engine;
    pthread_mutex_unlock(&helper.lock);
}

void tern_op_helper_leave(struct tern_engine *engine)
{
    pthread_mutex_lock(&helper.lock);
    *engine->link = engine->next;
    if (engine->next)
        engine->next->link = engine->link;
    pthread_mutex_unlock(&helper.lock);
}

static void ring(void)
{
    struct tern_slot *slot = tern_core_job_slot(tern_job.boot.rank);

    tern_boot_bell_ring(&slot->bell, &slot->sleepers);
}

/* The tagged state, if receives of long messages are posted or to be fetched; otherwise NULL. */
static struct tern_tagged *receiving(const struct tern_engine *engine)
{
    /* pairs with need_engine() */
    struct tern_tagged *tagged = atomic_load_explicit(&engine->tagged, memory_order_acquire);

    return tagged && atomic_load_explicit(&tagged->wishes, memory_order_relaxed) > 0 ? tagged : NULL; /* a hint */
}

/* Make progress on an engine. The caller holds the engine's lock. */
static enum poll_result work(struct tern_engine *engine, struct tern_tagged *tagged, uint32_t delivered)
{
    bool any = tagged && tern_op_tagged_rndv_start_for(engine, tagged);

    any |= tern_op_engine_progress(engine);
    any |= tern_core_message_delivered() != delivered;
    if (any)
        ring(); /* the program may be waiting for it */
    return any || tern_op_engine_busy(engine) > 0 ? WORKED : RECEIVING;
}

/* Make progress on one engine, unless the program does. */
static enum poll_result look_at(struct tern_engine *engine)
{
    uint32_t            polls = atomic_load_explicit(&engine->polls, memory_order_relaxed); /* a hint */
    uint32_t            delivered = tern_core_message_delivered();
    struct tern_tagged *tagged = receiving(engine);
    enum poll_result    seen = ACTIVE;

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

static enum poll_result look(void)
{
    enum poll_result most = NOTHING;

    pthread_mutex_lock(&helper.lock);
    for (struct tern_engine *engine = helper.engines; engine; engine = engine->next) {
        enum poll_result one = look_at(engine);
        most = one > most ? one : most;
    }
    pthread_mutex_unlock(&helper.lock);
    return most;
}

static bool is_stopped(void)
{
    return atomic_load_explicit(&helper.stop, memory_order_relaxed);
}

/* Sleep for a time. This sleep is not announced, because only tern_op_helper_stop() has to end it. */
static void nap(int64_t ns)
{
    uint32_t seen = atomic_load(&helper.bell); /* read before stop: tern_op_helper_stop() changes both */

    if (!atomic_load(&helper.stop))
        tern_boot_bell_wait(&helper.bell, seen, ns);
}

/* Record the polls of all engines, so that later polls by the program are noticed. */
static void look_away(void)
{
    pthread_mutex_lock(&helper.lock);
    for (struct tern_engine *engine = helper.engines; engine; engine = engine->next)
        engine->polls_seen = atomic_load_explicit(&engine->polls, memory_order_relaxed); /* a hint */
    pthread_mutex_unlock(&helper.lock);
}

/* Sleep until an engine has work. The program that created the work is usually about to wait for it, so it gets some
 * time for its first poll: two threads that do the same work are slower than one. */
static void sleep_long(void)
{
    uint32_t seen = tern_boot_bell_announce(&helper.bell, &helper.sleeps);

    if (look() == NOTHING && !is_stopped())
        tern_boot_bell_wait(&helper.bell, seen, -1);
    tern_boot_bell_withdraw(&helper.sleeps);
    look_away();
    nap(FIRST_NAP);
}

static void set_hoping(bool hoping)
{
    /* relaxed: the fences of the bells order it */
    atomic_store_explicit(&helper.hoping, hoping, memory_order_relaxed);
}

/* Sleep on the rank's bell in place of the program, until there is news. Does not sleep if some work can be done at
 * once. */
static void sleep_for_news(void)
{
    struct tern_slot *slot = tern_core_job_slot(tern_job.boot.rank);
    uint32_t          delivered = tern_core_message_delivered(), seen, wants;
    enum poll_result  poll_result;

    set_hoping(true);
    seen = tern_boot_bell_announce(&slot->bell, &slot->sleepers);
    wants = tern_base_wake_requests_ended();
    if (atomic_load_explicit(&slot->uses_membarrier, memory_order_relaxed) != 0) /* of this rank itself */
        tern_base_membarrier_global();
    if ((poll_result = look()) == WORKED)
        set_hoping(false); /* the sleep has a short time limit */
    if (poll_result >= RECEIVING && delivered == tern_core_message_delivered() &&
        !tern_base_wake_requests_since(wants) && !is_stopped()) {
        int64_t most = poll_result == RECEIVING ? LONGEST_SLEEP : LONGEST_NAP, least = tern_core_links_may_sleep();
        tern_boot_bell_wait(&slot->bell, seen, least < most ? least : most);
    }
    tern_boot_bell_withdraw(&slot->sleepers);
    set_hoping(false);
}

static void *helper_run(void *arg)
{
    int64_t ns = FIRST_NAP;
    int     idle = 0;

    (void)arg;
    while (!is_stopped()) {
        enum poll_result seen = look();

        idle = seen == NOTHING ? idle + 1 : 0;
        if (idle > LINGER) {
            sleep_long();
            idle = 0;
            ns = FIRST_NAP;
        } else if (seen >= RECEIVING) {
            sleep_for_news();
            ns = FIRST_NAP;
        } else {
            nap(ns);
            ns = ns * 2 < LONGEST_NAP ? ns * 2 : LONGEST_NAP;
        }
    }
    return NULL;
}

tern_status tern_op_helper_start(void)
{
    tern_status st = TERN_OK;

    /* relaxed: the usual case; the lock orders the other one */
    if (atomic_load_explicit(&helper.running, memory_order_relaxed) ||
        tern_opt.progress_thread == TERN_PROGRESS_THREAD_OFF)
        return TERN_OK;
    pthread_mutex_lock(&helper.lock);
    if (!atomic_load(&helper.running) && !helper.over) {
        st = tern_base_thread_start(&helper.thread, "tern-trigger", helper_run, NULL);
        atomic_store(&helper.running, st == TERN_OK);
    }
    pthread_mutex_unlock(&helper.lock);
    return st;
}

void tern_op_helper_wake(void)
{
    tern_boot_bell_ring(&helper.bell, &helper.sleeps);
    /* relaxed: ordered by the fence before this load, and by the fence between the announcement of the sleep and the
     * last poll. */
    if (atomic_load_explicit(&helper.hoping, memory_order_relaxed))
        ring();
}

void tern_op_helper_stop(void)
{
    bool running;

    pthread_mutex_lock(&helper.lock);
    running = atomic_exchange(&helper.running, false);
    helper.over = true;
    pthread_mutex_unlock(&helper.lock);
    if (!running)
        return;
    atomic_store(&helper.stop, true);
    tern_boot_bell_wake(&helper.bell);
    ring();
    pthread_join(helper.thread, NULL);
}
