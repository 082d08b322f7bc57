/* wait.c: spin, yield, sleep.
 *
 * With a core for each rank, a wait spins for TERN_SPIN microseconds, because a sleep costs more than most waits last.
 * With fewer cores than ranks, a wait polls a few times and yields, because the peer that it waits for needs the core;
 * but it does not yield while polls deliver messages, because more messages may have arrived already. A wait yields
 * many times before it sleeps, which is faster by measurement (docs/benchmarks.md), probably because a core on which
 * all ranks sleep takes long to wake. A longer wait is usually for a computation, which has the core to itself while
 * the other ranks sleep. A rank sleeps on its bell; peers ring the bell when they have sent something. A rank that was
 * woken spins again: the puts of peers arrive without involving the core, and each would otherwise cost a wake-up. */
#include "core/wait.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/membarrier.h"
#include "base/options.h"
#include "base/wake_request.h"
#include "boot/bell.h"
#include "core/job.h"
#include "core/links.h"
#include "core/message.h"

#define FIRST_POLLS 256       /* polls before the clock is read for the first time */
#define FIRST_POLLS_CROWDED 2 /* such polls, if the peer may need this core */
#define POLLS_PER_CLOCK 64
#define LONGEST_SPIN 16          /* times TERN_SPIN */
#define GIVE_WAY 50000           /* ns of spinning after which the thread yields the core once */
#define FIRST_YIELDS 4           /* however long they take */
#define LONGEST_YIELDING 1000000 /* ns after spinning in which the rest of the yields are made */

int64_t tern_core_wait_longest_sleep = 200000000;

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
 * sleep: because a consumer was asked to wake this rank, too late for what the consumer is doing at this moment
 * (base/wake_request.h), or because a message was delivered, behind which there may be more. */
static tern_status last_poll(const struct tern_wait *wait, const struct tern_slot *slot, bool *again)
{
    uint32_t    wants = tern_base_wake_requests_ended(), delivered = tern_core_message_delivered();
    tern_status st;

    if (atomic_load_explicit(&slot->uses_membarrier, memory_order_relaxed) != 0) /* this rank's own flag */
        tern_base_membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    st = wait->poll(wait->arg);
    *again = tern_base_wake_requests_since(wants) || delivered != tern_core_message_delivered();
    return st;
}

/* Sleep until the bell rings, the deadline, or the next report. *rung returns whether the bell rang. */
static tern_status sleep_until_rung(const struct tern_wait *wait, int64_t now, int64_t report_at, bool *rung)
{
    struct tern_slot *slot = tern_core_job_slot(tern_job.boot.rank);
    uint32_t          seen = tern_boot_bell_announce(&slot->bell, &slot->sleepers);
    bool              again;
    tern_status       st = last_poll(wait, slot, &again);
    int64_t           until = wait->deadline < report_at ? wait->deadline : report_at;
    int64_t           left = until > now ? until - now : 0; /* a deadline may be negative */
    int64_t           ns = left < tern_core_wait_longest_sleep ? left : tern_core_wait_longest_sleep;

    if (st == TERN_PENDING && ns > 0 && !again && !tern_core_message_has_more()) {
        int64_t most = tern_core_links_may_sleep();
        tern_boot_bell_wait(&slot->bell, seen, ns < most ? ns : most);
    }
    tern_boot_bell_withdraw(&slot->sleepers);
    *rung = atomic_load_explicit(&slot->bell, memory_order_relaxed) != seen; /* a hint */
    return st == TERN_PENDING ? wait->poll(wait->arg) : st;
}

/* Return how long to spin before the next sleep: twice as long if the previous sleep was cut short, because messages
 * that arrive in quick succession would have been seen sooner without sleeping. */
static int64_t next_spin(int64_t spin, int64_t slept)
{
    int64_t longest = LONGEST_SPIN * tern_job.spin_ns;

    if (slept >= tern_job.spin_ns)
        return tern_job.spin_ns;
    return spin * 2 < longest ? spin * 2 : longest;
}

/* Return whether a wait that has been idle for this long continues without sleeping. */
static bool may_yield(int yields, int64_t idle, int64_t spin)
{
    return yields < tern_job.yields && (yields < FIRST_YIELDS || idle - spin < LONGEST_YIELDING);
}

/* Check that the process is a rank of the running job, in which the wait can end. */
static __attribute__((cold, noinline)) tern_status check_running(const struct tern_wait *wait)
{
    char text[256], *end;

    if (atomic_load_explicit(&tern_job.phase, memory_order_relaxed) <= TERN_PHASE_RUNNING) /* BEFORE: in tern_init */
        return TERN_PENDING;
    wait->describe(wait->arg, text, sizeof(text)); /* the text begins with the name of the call */
    if ((end = strpbrk(text, " :,")))
        *end = '\0';
    return tern_core_job_running(text);
}

static __attribute__((noinline)) tern_status wait_long(const struct tern_wait *wait)
{
    int64_t     start = tern_base_now(), now = start, idle_since = start, give_way_at = start;
    int64_t     period = (int64_t)(tern_opt.stall_report * 1e9);
    int64_t     report_at = period > 0 ? start + period : INT64_MAX;
    int64_t     spin = tern_job.spin_ns;
    uint32_t    delivered = tern_core_message_delivered();
    int         yields = 0;
    tern_status st = check_running(wait);

    if (st < 0)
        return st;
    for (unsigned polls = 1;; polls++) {
        int64_t before = now;
        bool    rung = false;

        if ((st = wait->poll(wait->arg)) != TERN_PENDING)
            return st;
        if (delivered != tern_core_message_delivered()) {
            delivered = tern_core_message_delivered();
            idle_since = now;
            yields = 0;
            if (polls % POLLS_PER_CLOCK != 0)
                continue; /* a poll delivers from one queue; other messages may be waiting in another queue */
        }
        if (now - idle_since < spin) {
            tern_base_relax();
            if (polls % POLLS_PER_CLOCK != 0)
                continue;
            if (now >= give_way_at) {
                sched_yield();
                give_way_at = now + GIVE_WAY;
            }
        } else if (may_yield(yields, now - idle_since, spin)) {
            yields++;
            sched_yield();
        } else if ((st = sleep_until_rung(wait, now, report_at, &rung)) != TERN_PENDING) {
            return st;
        }
        now = tern_base_now();
        if (now >= wait->deadline)
            return timed_out(wait, start);
        if (now >= report_at) {
            report(wait, now - start);
            report_at = now + (now - start); /* each report doubles the age */
        }
        if (rung) { /* after one message, more may arrive soon */
            idle_since = now;
            yields = 0;
            spin = next_spin(spin, now - before);
        }
    }
}

tern_status tern_core_wait(const struct tern_wait *wait)
{
    bool        crowded = tern_job.spin_ns == 0;
    tern_status st;

    if (TERN_UNLIKELY(tern_core_in_handler() && !wait->by_handler))
        return tern_base_fail(TERN_ERR_STATE, "a handler of an active message must not wait for this");
    if (wait->deadline <= TERN_NOW) {
        if ((st = wait->poll(wait->arg)) == TERN_PENDING)
            st = check_running(wait);
        return st == TERN_PENDING && wait->deadline < TERN_NOW ? timed_out(wait, tern_base_now()) : st;
    }
    st = tern_core_spin(wait, crowded ? FIRST_POLLS_CROWDED : FIRST_POLLS, !crowded);
    return st == TERN_PENDING ? wait_long(wait) : st;
}
