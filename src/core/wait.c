/* wait.c: spin, yield, sleep.
 *
 * With a core for each rank, a wait spins for TERN_SPIN microseconds, because a sleep costs more than most waits last.
 * With fewer cores than ranks, a wait polls a few times and yields, because the awaited peer needs the core. A wait
 * does not yield while polls deliver messages, because more messages may have arrived already. A wait yields many times
 * before it sleeps, which is faster by measurement (docs/measuring.md), probably because a core on which all ranks
 * sleep takes long to wake. A wait sleeps soon if its yields do not give the core to other ranks. It sleeps at once if
 * a process that computes shares the core, because each yield would give that process a whole time slice, whereas a
 * thread that is woken gets the core back soon. A longer wait is
 * usually for a computation, which has the core to itself while the other ranks sleep. A rank sleeps on its bell; peers
 * ring the bell when they have sent something. A rank that was woken spins again: the puts of peers arrive without
 * involving the core, and each would otherwise cost a wake-up. */
#include "core/wait.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/membarrier.h"
#include "base/options.h"
#include "base/wake_request.h"
#include "boot/bell.h"
#include "boot/exit.h"
#include "core/idle_hook.h"
#include "core/job.h"
#include "core/links.h"
#include "core/message.h"
#include "core/shared.h"

#define FIRST_POLLS 256       /* polls before the clock is read for the first time */
#define FIRST_POLLS_CROWDED 2 /* the same, if the awaited peer may need this core */
#define FIRST_POLLS_SHARED 32 /* the same, if a process that computes shares this core */
#define REPLY_POLLS 24        /* the same, in a wait for a reply: it takes less time than two switches of the core */
#define REPLY_FAILURES 2      /* successive waits without a reply in this time, after which ... */
#define REPLY_SKIPS 64        /* ... so many waits poll as others do */
#define POLLS_PER_CLOCK 64
#define LONGEST_SPIN 16                /* times TERN_SPIN */
#define GIVE_WAY 50000                 /* ns of spinning after which the thread yields the core once */
#define FIRST_YIELDS 4                 /* yields that a wait makes however long they take */
#define JUDGED_YIELDS 8                /* yields after these are useless if the thread has kept the core */
#define LONGEST_NAP 50000              /* ns of sleep in a wait for memory whose writers may not wake this rank */
#define LONGEST_NAP_WITH_HOOKS 1000000 /* ns of sleep while there are idle hooks */
#define LONGEST_YIELDING 1000000       /* ns after spinning, for each rank on the core, for the rest of the yields */
#define LONG_YIELD 1000000             /* ns: ranks that wait return the core sooner */
#define MANY_SKIPS 255                 /* waits without yields, after which a long yield does not double the number */

int64_t tern_core_wait_longest_sleep = 200000000;

_Atomic uint32_t tern_core_wait_watches;

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static tern_status timed_out(const struct tern_wait *wait, int64_t since)
{
    char text[256];

    wait->describe(wait->arg, text, sizeof(text));
    return tern_base_fail(TERN_ERR_TIMEOUT, "gave up after %.3f s: %s", seconds(tern_base_now() - since), text);
}

static void report(const struct tern_wait *wait, int64_t age)
{
    char text[256];

    wait->describe(wait->arg, text, sizeof(text));
    tern_base_log(TERN_LOG_WARN, "has waited %.0f s: %s", seconds(age), text);
}

/* Poll once more after the sleep has been announced. *again returns whether the thread must poll again before it may
 * sleep, because a consumer was asked to wake this rank, too late for what the consumer is doing at this moment
 * (base/wake_request.h). *delivered returns the count of deliveries before the poll. */
static tern_status last_poll(const struct tern_wait *wait, const struct tern_slot *slot, bool *again,
                             uint32_t *delivered)
{
    uint32_t    wants = tern_base_wake_requests_ended();
    tern_status st;

    *delivered = tern_core_message_before_sleep();
    if (atomic_load_explicit(&slot->uses_membarrier, memory_order_relaxed) != 0) /* this rank's own flag */
        tern_base_membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    st = wait->poll(wait->arg);
    *again = tern_base_wake_requests_since(wants);
    return st;
}

/* Return whether every rank of this node wakes the ranks whose memory it writes: a rank whose process has not
 * registered for membarriers may miss a sleeper. */
static bool writers_wake(void)
{
    static _Atomic bool all; /* relaxed: every thread would find the same */

    if (atomic_load_explicit(&all, memory_order_relaxed))
        return true;
    for (int rank = 0; rank < tern_job.boot.ranks; rank++)
        if (tern_boot_same_node(&tern_job.boot, rank) &&
            atomic_load_explicit(&tern_core_job_slot(rank)->registered, memory_order_relaxed) == 0)
            return false;
    atomic_store_explicit(&all, true, memory_order_relaxed);
    return true;
}

/* Announce a thread that is going to wait for a change of memory, and return the value of the bell to sleep on. The
 * caller must evaluate its condition before it sleeps. Nothing has to be withdrawn: the next writer resets the
 * announcement. */
static uint32_t announce_on_memory(struct tern_slot *slot)
{
    /* acquire: the load before the store of memory_waits. A writer resets memory_waits before it rings, so that a
     * thread which sleeps on the new value must have set memory_waits after that. */
    uint32_t seen = atomic_load_explicit(&slot->bell, memory_order_acquire);

    atomic_store_explicit(&slot->memory_waits, 1, memory_order_relaxed);
    /* The announcement before the evaluation of the condition. Pairs with the order of the write and the load of
     * memory_waits in tern_boot_written(). */
    atomic_thread_fence(memory_order_seq_cst);
    tern_base_membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    return seen;
}

/* Return whether the wait is for memory, or for events that include a signal. */
static bool waits_for_memory(const struct tern_wait *wait)
{
    return wait->on_memory || atomic_load_explicit(&tern_core_wait_watches, memory_order_relaxed) > 0; /* a count */
}

/* Return how long a thread may sleep on the bell. */
static int64_t longest_sleep(const struct tern_wait *wait, const struct tern_wait_state *s)
{
    int64_t until = wait->deadline < s->report_at ? wait->deadline : s->report_at;
    int64_t left = until > s->now ? until - s->now : 0; /* a deadline may be negative */
    int64_t most = left < tern_core_wait_longest_sleep ? left : tern_core_wait_longest_sleep;
    int64_t nap = wait->nap;

    if (waits_for_memory(wait) && (nap == 0 || nap > LONGEST_NAP) && !writers_wake())
        nap = LONGEST_NAP;
    if (tern_core_has_idle_hooks() && most > LONGEST_NAP_WITH_HOOKS)
        most = LONGEST_NAP_WITH_HOOKS;
    return nap > 0 && nap < most ? nap : most;
}

/* Sleep while the bell has the value seen, after the sleep has been announced. memory: the thread waits for memory.
 * Returns without sleeping if messages have arrived, or were delivered since the count of deliveries was read. */
static void sleep_on(struct tern_slot *slot, uint32_t seen, int64_t ns, bool memory, uint32_t delivered)
{
    int64_t most;

    /* The word ending is read after the bell: a rank that calls tern_exit sets the word before it rings. The count is
     * read last: another thread may take a message between the last poll and has_more(), which then finds none. */
    if (ns <= 0 || tern_boot_is_ending(tern_job.boot.segment) || tern_core_message_has_more() ||
        tern_core_message_delivered_since(delivered))
        return;
    most = tern_core_links_may_sleep(memory);
    tern_boot_bell_wait(&slot->bell, seen, ns < most ? ns : most);
}

/* Sleep until the bell rings, the deadline, or the next report. *rung returns whether the bell rang. */
static tern_status sleep_until_rung(const struct tern_wait *wait, struct tern_wait_state *s, bool *rung)
{
    struct tern_slot *slot = tern_core_job_slot(tern_job.boot.rank);
    uint32_t          seen, delivered;
    tern_status       st;
    bool              again, memory = waits_for_memory(wait);

    seen = memory ? announce_on_memory(slot) : atomic_load_explicit(&slot->bell, memory_order_relaxed);
    tern_boot_bell_announce(&slot->bell, &slot->sleepers);
    st = last_poll(wait, slot, &again, &delivered);
    if (st == TERN_PENDING && !again) /* the poll may have set a bound for the sleep */
        sleep_on(slot, seen, longest_sleep(wait, s), memory, delivered);
    tern_boot_bell_withdraw(&slot->sleepers);
    *rung = atomic_load_explicit(&slot->bell, memory_order_relaxed) != seen; /* a hint */
    return st == TERN_PENDING ? wait->poll(wait->arg) : st;
}

/* The sleep of a wait whose condition the caller evaluates takes two steps. The first one announces the sleep and
 * polls, the second one sleeps. The caller evaluates the condition in between, and there is no poll after that, because
 * a poll may process the put of a peer on another node, of which nothing else tells. Whatever happens after the
 * announcement rings the bell (tern_boot_may_sleep), also in this process. */
static void announce_for_caller(const struct tern_wait *wait, struct tern_wait_state *s)
{
    uint32_t wants = tern_base_wake_requests_ended();

    s->seen = announce_on_memory(tern_core_job_slot(tern_job.boot.rank));
    s->delivered = tern_core_message_before_sleep();
    wait->poll(wait->arg);
    s->announced = !tern_base_wake_requests_since(wants); /* otherwise announce again: see last_poll() */
}

static void sleep_for_caller(const struct tern_wait *wait, struct tern_wait_state *s, bool *rung)
{
    struct tern_slot *slot = tern_core_job_slot(tern_job.boot.rank);

    s->announced = false;
    tern_boot_bell_announce(&slot->bell, &slot->sleepers); /* the progress thread takes over while a thread sleeps */
    sleep_on(slot, s->seen, longest_sleep(wait, s), true, s->delivered);
    tern_boot_bell_withdraw(&slot->sleepers);
    *rung = atomic_load_explicit(&slot->bell, memory_order_relaxed) != s->seen; /* a hint */
    wait->poll(wait->arg);
}

/* Waits of this thread sleep after few polls, without spinning and yielding, while a process that computes shares the
 * core. Only a yield shows whether there is such a process. If a yield is long, some of the next waits do not yield,
 * and more of them each time. */
static _Thread_local struct {
    unsigned skips;   /* number of the next waits that do not yield */
    unsigned penalty; /* its value after the last long yield, minus the number of short yields since */
} core_is_shared;

/* Note how long a yield has taken, unless the user has decided how waits spin and yield. */
static void judge_yield(struct tern_wait_state *s, int64_t ns)
{
    if (TERN_UNLIKELY(tern_opt.spin >= 0 || tern_opt.yields >= 0))
        return;
    if (TERN_LIKELY(ns < LONG_YIELD)) {
        if (TERN_UNLIKELY(core_is_shared.penalty > 0))
            core_is_shared.penalty--;
        return;
    }
    if (core_is_shared.penalty < MANY_SKIPS)
        core_is_shared.penalty = 2 * core_is_shared.penalty + 1;
    core_is_shared.skips = core_is_shared.penalty;
    s->sleeps = true;
}

/* Return how long to spin before the next sleep: twice as long if the previous sleep was cut short, because messages
 * that arrive in quick succession would have been seen sooner without sleeping. */
static int64_t next_spin(const struct tern_wait_state *s, int64_t slept)
{
    int64_t longest = LONGEST_SPIN * tern_job.spin_ns;

    if (s->sleeps)
        return 0;
    if (slept >= tern_job.spin_ns)
        return tern_job.spin_ns;
    return s->spin * 2 < longest ? s->spin * 2 : longest;
}

/* Return whether a wait that has spun long enough yields once more instead of sleeping. */
static bool may_yield(const struct tern_wait_state *s)
{
    if (s->sleeps || s->yields >= tern_job.yields)
        return false;
    return s->yields < FIRST_YIELDS || s->now - s->idle_since - s->spin < tern_job.turns * LONGEST_YIELDING;
}

/* Return how often the kernel has given the core of this thread to another one. */
static uint32_t count_switches(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint32_t)usage.ru_nvcsw + (uint32_t)usage.ru_nivcsw : 0;
}

/* Return whether more ranks of this node are awake than there are cores. */
static bool others_need_the_core(void)
{
    uint32_t awake = 0;

    for (int rank = 0; rank < tern_job.boot.ranks; rank++)
        if (tern_boot_same_node(&tern_job.boot, rank) &&
            atomic_load_explicit(&tern_core_job_slot(rank)->sleepers, memory_order_relaxed) == 0 && /* a hint */
            ++awake > tern_job.boot.segment->cores)
            return true;
    return false;
}

/* Give the core to another process, and judge how long that takes. */
static void give_core(struct tern_wait_state *s)
{
    int64_t before = tern_base_now();

    sched_yield();
    judge_yield(s, tern_base_now() - before);
}

/* Yield the core. The kernel gives the core to another process of the same scheduling group only. Where each rank is in
 * a group of its own, because it leads a session (autogroups, under the launcher of MPICH) or has a control group, the
 * thread keeps the core until its slice ends. So if the yields of a wait were in vain although ranks need the core, the
 * wait has no yields left, and sleeps next. */
static void yield(struct tern_wait_state *s)
{
    s->yields++;
    give_core(s);
    if (tern_job.turns <= 1 || tern_opt.yields >= 0)
        return;
    if (s->yields == FIRST_YIELDS)
        s->switches = count_switches();
    else if (s->yields == JUDGED_YIELDS && count_switches() == s->switches && others_need_the_core())
        s->yields = (int16_t)tern_job.yields;
}

/* The name of the public call that waits: the description of a wait begins with it. */
struct call_name {
    char text[256];
};
static struct call_name call_of(const struct tern_wait *wait)
{
    struct call_name name;
    char            *end;

    wait->describe(wait->arg, name.text, sizeof(name.text));
    if ((end = strpbrk(name.text, " :,")))
        *end = '\0';
    return name;
}

/* Check that the process is a rank of the running job, in which the wait can end. */
static __attribute__((cold, noinline)) tern_status check_running(const struct tern_wait *wait)
{
    if (atomic_load_explicit(&tern_job.phase, memory_order_relaxed) <= TERN_PHASE_RUNNING) /* BEFORE: in tern_init */
        return TERN_PENDING;
    return tern_core_job_running(call_of(wait).text);
}

/* Begin a wait, whose first polls have found nothing. */
static void begin(struct tern_wait_state *s)
{
    int64_t now = tern_base_now(), period = (int64_t)(tern_opt.stall_report * 1e9);

    *s = (struct tern_wait_state){ .start = now,
                                   .now = now,
                                   .idle_since = now,
                                   .give_way_at = now,
                                   .report_at = period > 0 ? now + period : INT64_MAX,
                                   .spin = tern_job.spin_ns,
                                   .delivered = tern_core_message_delivered() };
    if (TERN_UNLIKELY(core_is_shared.skips > 0)) {
        core_is_shared.skips--;
        s->sleeps = true;
        s->spin = 0;
    }
}

/* Poll once; if there is nothing, spin, yield or sleep. *more returns whether the step ends here, without reading the
 * clock. */
static inline __attribute__((always_inline)) tern_status poll_or_rest(const struct tern_wait *wait,
                                                                      struct tern_wait_state *s, bool *rung, bool *more)
{
    tern_status st;

    s->polls++;
    if ((st = wait->poll(wait->arg)) != TERN_PENDING)
        return st;
    *more = true;
    if (s->delivered != tern_core_message_delivered()) {
        s->delivered = tern_core_message_delivered();
        s->idle_since = s->now;
        s->yields = 0;
        if (s->polls % POLLS_PER_CLOCK != 0)
            return TERN_PENDING; /* a poll delivers from one queue; other messages may be waiting in another queue */
    }
    if (s->now - s->idle_since < s->spin) {
        tern_base_relax();
        if (s->polls % POLLS_PER_CLOCK != 0)
            return TERN_PENDING;
        if (s->now >= s->give_way_at) {
            give_core(s);
            s->give_way_at = s->now + GIVE_WAY;
            if (s->sleeps)
                s->spin = 0;
        }
    } else if (may_yield(s)) {
        yield(s);
    } else if (wait->by_caller) {
        announce_for_caller(wait, s);
    } else {
        st = sleep_until_rung(wait, s, rung);
    }
    *more = false;
    return st;
}

/* Make one step of a wait. */
static inline __attribute__((always_inline)) tern_status step(const struct tern_wait *wait, struct tern_wait_state *s)
{
    int64_t     before = s->now;
    bool        rung = false, more = false;
    tern_status st = TERN_PENDING;

    if (s->announced)
        sleep_for_caller(wait, s, &rung);
    else if ((st = poll_or_rest(wait, s, &rung, &more)) != TERN_PENDING || more)
        return st;
    if (TERN_UNLIKELY(tern_core_has_idle_hooks()))
        tern_core_idle_hooks_run();
    if (TERN_UNLIKELY(tern_boot_is_ending(tern_job.boot.segment)))
        tern_boot_exit_follow(tern_boot_exit_code(tern_job.boot.segment), true);
    s->now = tern_base_now();
    if (s->now >= wait->deadline)
        return timed_out(wait, s->start);
    if (s->now >= s->report_at) {
        report(wait, s->now - s->start);
        s->report_at = s->now + (s->now - s->start); /* each report doubles the age */
    }
    if (rung) { /* after one message, more may arrive soon */
        s->idle_since = s->now;
        s->yields = 0;
        s->spin = next_spin(s, s->now - before);
    }
    return TERN_PENDING;
}

static __attribute__((noinline)) tern_status wait_long(const struct tern_wait *wait)
{
    struct tern_wait_state state;
    tern_status            st = check_running(wait);

    if (st < 0)
        return st;
    begin(&state);
    while ((st = step(wait, &state)) == TERN_PENDING)
        ;
    return st;
}

tern_status tern_core_wait_step(const struct tern_wait *wait, struct tern_wait_state *state)
{
    tern_status st;

    if (state->start == 0) {
        if ((st = check_running(wait)) < 0)
            return st;
        begin(state);
    }
    return step(wait, state);
}

/* Make the first polls of a wait for a reply, with fewer cores than ranks. If the rank that replies is running on
 * another core, polling for a little longer saves two switches of the core for each rank. If it is not, the polls are
 * in vain, and the next waits leave them out. */
static __attribute__((noinline)) tern_status poll_for_reply(const struct tern_wait *wait)
{
    static _Thread_local struct {
        unsigned failures, skips;
    } replies;
    tern_status st;

    if (replies.skips > 0) {
        replies.skips--;
        return tern_core_spin(wait, FIRST_POLLS_CROWDED, false);
    }
    if ((st = tern_core_spin(wait, REPLY_POLLS, true)) != TERN_PENDING) {
        replies.failures = 0;
    } else if (++replies.failures >= REPLY_FAILURES) {
        replies.failures = REPLY_FAILURES - 1;
        replies.skips = REPLY_SKIPS;
    }
    return st;
}

/* Make the first polls of a wait, except for the very first one. A thread that shares its core with a process that
 * computes polls only for as long as the message of a peer takes that is running: more polls use up the share of the
 * thread, and the kernel then gives the core to that process for much longer than a sleep takes. */
static inline __attribute__((always_inline)) tern_status poll_more(const struct tern_wait *wait, bool crowded)
{
    unsigned polls = TERN_UNLIKELY(core_is_shared.skips > 0) ? FIRST_POLLS_SHARED : FIRST_POLLS;

    if (crowded)
        return tern_core_spin(wait, FIRST_POLLS_CROWDED - 1, false);
    tern_base_relax();
    return tern_core_spin(wait, polls - 1, true);
}

static inline __attribute__((always_inline)) tern_status wait_usually(const struct tern_wait *wait)
{
    bool        crowded = tern_job.spin_ns == 0;
    tern_status st;

    if (wait->deadline <= TERN_NOW) {
        if ((st = wait->poll(wait->arg)) == TERN_PENDING)
            st = check_running(wait);
        return st == TERN_PENDING && wait->deadline < TERN_NOW ? timed_out(wait, tern_base_now()) : st;
    }
    if (TERN_UNLIKELY(crowded && wait->for_reply))
        st = poll_for_reply(wait);
    else if (TERN_LIKELY((st = wait->poll(wait->arg)) == TERN_PENDING))
        st = poll_more(wait, crowded);
    return st == TERN_PENDING ? wait_long(wait) : st;
}

/* A wait that is made with the lock of a shared context. */
struct locked_wait {
    const struct tern_wait  *wait;
    struct tern_wait         unlocked; /* the same, with the functions that follow */
    struct tern_shared_pause pause;
};

static tern_status locked_poll(void *arg)
{
    struct locked_wait *w = arg;
    tern_status         st;

    tern_core_shared_resume(w->pause);
    st = w->wait->poll(w->wait->arg);
    w->unlocked.nap = w->wait->nap; /* the poll may have changed it */
    tern_core_shared_pause();
    return st;
}

static void locked_describe(void *arg, char *text, size_t size)
{
    struct locked_wait *w = arg;

    tern_core_shared_resume(w->pause);
    w->wait->describe(w->wait->arg, text, size);
    tern_core_shared_pause();
}

/* Wait in a handler, or with the lock of a shared context, which this thread then holds only while it polls. */
static __attribute__((cold, noinline)) tern_status wait_specially(const struct tern_wait *wait)
{
    struct locked_wait locked = { .wait = wait, .unlocked = *wait };
    tern_status        st;

    if (tern_core_in_handler() && !wait->by_handler)
        return tern_base_fail(TERN_ERR_STATE, "%s: %s must not wait for this", call_of(wait).text,
                              tern_core_handler_kind());
    locked.pause = tern_core_shared_pause();
    if (!locked.pause.inner)
        return wait_usually(wait);
    locked.unlocked.poll = locked_poll;
    locked.unlocked.describe = locked_describe;
    locked.unlocked.arg = &locked;
    st = wait_usually(&locked.unlocked);
    tern_core_shared_resume(locked.pause);
    return st;
}

tern_status tern_core_wait(const struct tern_wait *wait)
{
    return TERN_LIKELY(tern_core_message_depth == 0) ? wait_usually(wait) : wait_specially(wait);
}
