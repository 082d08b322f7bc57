/* helper.c: the loop of the helper threads, and the lengths of their naps. See helper.h. */
#include "boot/helper.h"

#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/thread.h"
#include "boot/bell.h"

#define FIRST_NAP 50000ll /* ns; each nap is twice as long as the one before, up to TERN_HELPER_LONGEST_NAP */
#define LINGER 8          /* naps without work before the thread rests, so that not every operation has to wake it */

static bool is_stopped(struct tern_helper *helper)
{
    return atomic_load_explicit(&helper->stop, memory_order_relaxed); /* a wake follows */
}

static bool is_parking(struct tern_helper *helper)
{
    return atomic_load_explicit(&helper->park, memory_order_relaxed) != NULL; /* a wake follows */
}

static int64_t poll_all(struct tern_helper *helper, bool again)
{
    int64_t                    least = TERN_HELPER_IDLE;
    /* acquire: the poller. Pairs with the release in tern_boot_helper_add(). */
    struct tern_helper_poller *poller = atomic_load_explicit(&helper->pollers, memory_order_acquire);

    for (; poller; poller = poller->next) {
        int64_t ns = poller->poll(poller, again);
        least = ns < least ? ns : least;
    }
    return least;
}

/* Return what to do after a poll, and count the naps without work. */
static enum tern_helper_state state_after(struct tern_helper *helper, int64_t ns)
{
    if (ns == TERN_HELPER_IDLE)
        return helper->idle > LINGER ? TERN_HELPER_RESTS : (helper->idle++, TERN_HELPER_NAPS);
    if (ns != TERN_HELPER_NAP || helper->idle > LINGER) /* after fewer rounds without work, naps keep their length */
        helper->nap = FIRST_NAP;
    helper->idle = 0;
    return ns == TERN_HELPER_NAP ? TERN_HELPER_NAPS : TERN_HELPER_SLEEPS;
}

int64_t tern_boot_helper_last_poll(struct tern_helper *helper)
{
    int64_t ns = poll_all(helper, false);

    return ns > TERN_HELPER_EVENT || is_stopped(helper) || is_parking(helper) ? 0 : ns;
}

static void nap(struct tern_helper *helper, bool rests)
{
    uint32_t seen = tern_boot_bell_announce(helper->bell, helper->naps);
    int64_t  ns = poll_all(helper, !rests), length = helper->nap;

    if ((ns == TERN_HELPER_IDLE || (ns == TERN_HELPER_NAP && !rests)) && !is_stopped(helper) && !is_parking(helper)) {
        if (!rests)
            helper->nap = length * 2 < TERN_HELPER_LONGEST_NAP ? length * 2 : TERN_HELPER_LONGEST_NAP;
        tern_boot_bell_wait(helper->bell, seen, rests ? -1 : length);
    }
    tern_boot_bell_withdraw(helper->naps);
}

void tern_boot_helper_round(struct tern_helper *helper)
{
    int64_t                ns = poll_all(helper, false);
    enum tern_helper_state state;

    if (ns == 0) {
        helper->nap = FIRST_NAP;
        return;
    }
    state = state_after(helper, ns);
    /* relaxed: the fence in tern_boot_bell_announce() orders it before the last poll. */
    atomic_store_explicit(&helper->state, (int)state, memory_order_relaxed);
    if (state == TERN_HELPER_SLEEPS)
        helper->sleep(helper, ns);
    else
        nap(helper, state == TERN_HELPER_RESTS);
    atomic_store_explicit(&helper->state, TERN_HELPER_AWAKE, memory_order_relaxed); /* a superfluous wake is harmless */
}

/* ---- parking ---- */

static struct tern_helper *running; /* list, guarded by the lock */
static pthread_mutex_t     running_lock = PTHREAD_MUTEX_INITIALIZER;

static void wait_parked(struct tern_helper_park *park)
{
    atomic_fetch_add(&park->parked, 1);
    while (atomic_load(&park->go) == 0)
        tern_boot_bell_wait(&park->go, 0, -1);
    atomic_fetch_add(&park->left, 1); /* the last access: the caller of unpark frees the memory */
}

unsigned tern_boot_helpers_park(struct tern_helper_park *park)
{
    unsigned count = 0;

    *park = (struct tern_helper_park){ 0, 0, 0 };
    pthread_mutex_lock(&running_lock);
    for (struct tern_helper *helper = running; helper; helper = helper->next, count++) {
        atomic_store(&helper->park, park);
        tern_boot_bell_wake(helper->bell);
        helper->wake(helper);
    }
    pthread_mutex_unlock(&running_lock);
    while (atomic_load(&park->parked) < count)
        sched_yield();
    return count;
}

void tern_boot_helpers_unpark(struct tern_helper_park *park)
{
    uint32_t count = atomic_load(&park->parked);

    pthread_mutex_lock(&running_lock);
    for (struct tern_helper *helper = running; helper; helper = helper->next)
        atomic_store(&helper->park, NULL);
    pthread_mutex_unlock(&running_lock);
    atomic_store(&park->go, 1);
    tern_boot_bell_wake(&park->go);
    while (atomic_load(&park->left) < count)
        sched_yield();
}

_Thread_local bool tern_boot_is_helper;

static void *helper_run(void *arg)
{
    struct tern_helper *helper = arg;

    tern_boot_is_helper = true;
    if (helper->timer_slack > 0)
        prctl(PR_SET_TIMERSLACK, (unsigned long)helper->timer_slack);
    while (!is_stopped(helper)) {
        /* acquire: the contents of the object. Pairs with the store in tern_boot_helpers_park(). */
        struct tern_helper_park *park = atomic_load_explicit(&helper->park, memory_order_acquire);

        if (park)
            wait_parked(park);
        else
            tern_boot_helper_round(helper);
    }
    return NULL;
}

static tern_status start(struct tern_helper *helper)
{
    tern_status st;

    helper->nap = FIRST_NAP;
    helper->idle = LINGER + 1; /* there is no work yet */
    atomic_store(&helper->stop, false);
    st = tern_base_thread_start(&helper->thread, helper->name, helper_run, helper);
    helper->running = st == TERN_OK;
    if (st == TERN_OK) {
        pthread_mutex_lock(&running_lock);
        helper->next = running;
        running = helper;
        pthread_mutex_unlock(&running_lock);
    }
    return st;
}

static void end_sleep(struct tern_helper *helper)
{
    tern_boot_bell_wake(helper->bell);
    helper->wake(helper);
}

tern_status tern_boot_helper_add(struct tern_helper *helper, struct tern_helper_poller *poller)
{
    tern_status st = TERN_OK;

    if (atomic_load_explicit(&poller->added, memory_order_acquire)) /* pairs with the release below */
        return TERN_OK;
    pthread_mutex_lock(&helper->lock);
    if (!atomic_load_explicit(&poller->added, memory_order_relaxed)) { /* the lock orders this load and the next */
        poller->next = atomic_load_explicit(&helper->pollers, memory_order_relaxed);
        atomic_store_explicit(&poller->added, true, memory_order_release);
        /* release: the poller, and added. Pairs with the acquire in poll_all(). */
        atomic_store_explicit(&helper->pollers, poller, memory_order_release);
        if (helper->running) {
            end_sleep(helper); /* the poller may have work already */
        } else if ((st = start(helper)) < 0) {
            atomic_store(&helper->pollers, poller->next);
            atomic_store(&poller->added, false);
        }
    }
    pthread_mutex_unlock(&helper->lock);
    return st;
}

static void end_sleep_of(struct tern_helper *helper, const struct tern_helper_poller *poller, bool naps_too)
{
    int state;

    /* seq_cst: the work before the loads of added and state. Pairs with the fence in tern_boot_bell_announce(). */
    atomic_thread_fence(memory_order_seq_cst);
    if (!atomic_load_explicit(&poller->added, memory_order_relaxed))
        return;
    state = atomic_load_explicit(&helper->state, memory_order_relaxed);
    if (state == TERN_HELPER_RESTS || (naps_too && state == TERN_HELPER_NAPS))
        tern_boot_bell_wake(helper->bell);
    else if (state == TERN_HELPER_SLEEPS)
        helper->wake(helper);
}

void tern_boot_helper_wake(struct tern_helper *helper, const struct tern_helper_poller *poller)
{
    end_sleep_of(helper, poller, false);
}

void tern_boot_helper_rouse(struct tern_helper *helper, const struct tern_helper_poller *poller)
{
    end_sleep_of(helper, poller, true);
}

void tern_boot_helper_stop(struct tern_helper *helper)
{
    if (!helper->running)
        return;
    atomic_store(&helper->stop, true);
    end_sleep(helper);
    tern_base_thread_join(helper->thread, helper->name);
    helper->running = false;
    pthread_mutex_lock(&running_lock);
    for (struct tern_helper **at = &running; *at; at = &(*at)->next)
        if (*at == helper) {
            *at = helper->next;
            break;
        }
    pthread_mutex_unlock(&running_lock);
    for (struct tern_helper_poller *poller = helper->pollers; poller; poller = poller->next)
        atomic_store(&poller->added, false);
    atomic_store(&helper->pollers, NULL);
}

bool tern_boot_activity_recent(struct tern_activity *activity, int64_t ns)
{
    int64_t now = ns > 0 ? tern_base_now() : 0;

    if (atomic_load_explicit(&activity->polled, memory_order_relaxed)) { /* relaxed: a hint */
        atomic_store_explicit(&activity->polled, false, memory_order_relaxed);
        activity->seen = now;
        return true;
    }
    return now - activity->seen < ns;
}
