/* helper.h: the library's helper threads, which make progress while the program computes.
 *
 * A helper thread calls its pollers, and sleeps while they have nothing to do. There is one implementation with several
 * instances, because a thread cannot sleep on a futex and on file descriptors at the same time: core/helper.c sleeps on
 * the bells of the rank, link/ofi/progress.c on the descriptor of a completion queue, and link/tcp/progress.c on
 * sockets. Each instance provides its function sleep; naps, their lengths, and the decision between a nap and a sleep
 * are common to all.
 *
 * While the program makes progress itself, a helper thread that does the same work would only take away its core. The
 * program leaves a mark when it polls (tern_boot_activity_mark), and the pollers answer TERN_HELPER_NAP as long as
 * there are recent marks.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Results of a poll: the time in ns after which the thread must call the poller again, unless an event ends the sleep
 * earlier; 0: at once. The smallest result of all pollers counts. */
#define TERN_HELPER_EVENT (INT64_MAX - 2) /* after an event */
#define TERN_HELPER_NAP (INT64_MAX - 1)   /* after a nap: the program polls itself, or no event reports new work */
#define TERN_HELPER_IDLE INT64_MAX        /* after tern_helper.wake: there is nothing to do */

#define TERN_HELPER_LONGEST_NAP 1000000ll /* ns */

struct tern_helper_poller {
    /* Make progress without blocking. again: the second call before a nap, after the nap was announced. */
    int64_t (*poll)(struct tern_helper_poller *poller, bool again);
    struct tern_helper_poller *next;
    _Atomic bool               added;
};

/* How the thread sleeps. NAPS: for a limited time. SLEEPS: until an event. RESTS: until there is work. */
enum tern_helper_state { TERN_HELPER_AWAKE, TERN_HELPER_NAPS, TERN_HELPER_SLEEPS, TERN_HELPER_RESTS };

struct tern_helper {
    const char *name; /* of the thread, at most 15 characters */
    /* Sleep until an event, but at most ns nanoseconds. Must not miss an event since the last poll. */
    void (*sleep)(struct tern_helper *helper, int64_t ns);
    void (*wake)(struct tern_helper *helper); /* end that sleep */
    _Atomic uint32_t *bell, *naps;            /* the eventcount of naps and rests */
    unsigned          timer_slack;            /* ns by which naps may be late; 0: the timer slack of the program */

    pthread_mutex_t                    lock; /* guards the start, and additions to pollers */
    bool                               running;
    _Atomic bool                       stop;
    _Atomic int                        state; /* enum tern_helper_state */
    pthread_t                          thread;
    struct tern_helper_poller *_Atomic pollers;
    struct tern_helper_park *_Atomic   park; /* NULL: the thread is not to park */
    struct tern_helper                *next; /* next on the list of running helpers */
    int64_t                            nap;  /* length of the next nap */
    unsigned                           idle; /* rounds without work */
};

/* Add a poller, and start the thread unless it is running. A poller is never removed. Any thread may call this. */
tern_status tern_boot_helper_add(struct tern_helper *helper, struct tern_helper_poller *poller);

/* Wake the thread because the poller has work, if the poller was added; the thread finishes a nap first. The caller has
 * published the work. Any thread may call this. */
void tern_boot_helper_wake(struct tern_helper *helper, const struct tern_helper_poller *poller);

/* Wake the thread because the poller has work that is to begin soon, if the poller was added; a nap ends as well. The
 * caller has published the work. Any thread may call this. */
void tern_boot_helper_rouse(struct tern_helper *helper, const struct tern_helper_poller *poller);

/* Stop the thread, if it is running, and forget the pollers. */
void tern_boot_helper_stop(struct tern_helper *helper);

/* Park all helper threads: when park returns, they wait in the kernel, hold no lock, and access no memory but their own
 * stacks, until unpark is called. No other thread may start or stop helpers meanwhile. */
struct tern_helper_park {
    _Atomic uint32_t go, parked, left;
};
unsigned tern_boot_helpers_park(struct tern_helper_park *park); /* returns the number of threads */
void     tern_boot_helpers_unpark(struct tern_helper_park *park);

/* For the sleep of an instance: call all pollers once more. Returns the time for which the thread may sleep until an
 * event; 0: it may not. */
int64_t tern_boot_helper_last_poll(struct tern_helper *helper);

/* Call all pollers once, and sleep if they have nothing to do. For the thread, and for tests. */
void tern_boot_helper_round(struct tern_helper *helper);

/* Marks of the program's polls, for one helper thread. */
struct tern_activity {
    _Atomic bool polled; /* the program has polled since the last call of tern_boot_activity_recent() */
    int64_t      seen;   /* when that function last found a mark */
};

/* This thread is a helper thread. */
extern _Thread_local bool tern_boot_is_helper __attribute__((tls_model("initial-exec")));

/* Leave a mark, because the program polls. Usually the mark is set already, so that threads which poll do not contend
 * for its cache line. */
static inline void tern_boot_activity_mark(struct tern_activity *activity)
{
    if (!atomic_load_explicit(&activity->polled, memory_order_relaxed)) /* relaxed: a hint, as in the next line */
        atomic_store_explicit(&activity->polled, true, memory_order_relaxed);
}

/* Return whether the program has polled since the last call, or a call in the last ns nanoseconds found that it had. */
bool tern_boot_activity_recent(struct tern_activity *activity, int64_t ns);
