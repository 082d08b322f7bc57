/* wait.h: the only way to wait. Spin while the completion may arrive within the latency of a message, then yield the
 * core, then sleep until a peer rings the bell. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tern/job.h>

#include "base/clock.h"
#include "base/status.h"

struct tern_wait {
    /* Make progress and check: TERN_PENDING continues the wait, anything else ends it. */
    tern_status (*poll)(void *arg);
    /* Write a description of the awaited event, such as "tern_barrier, for rank 3". The text begins with the name of
     * the public call, followed by a space, a comma or a colon. */
    void (*describe)(void *arg, char *text, size_t size);
    void         *arg;
    tern_deadline deadline;
    bool          by_handler; /* the wait needs no messages other than replies: a handler may wait */
    bool          on_memory;  /* the wait is for memory that operations of peers change without sending a message */
    bool          by_caller;  /* poll only makes progress: the caller evaluates the condition after each step */
    bool          for_reply;  /* the wait is usually for a reply, whose sender may be running on another core */
    int64_t       nap;        /* longest sleep in ns; 0: no bound. poll may change it */
};

/* The state of a wait between its steps. All zero: the wait has not begun. */
struct tern_wait_state {
    int64_t  start, now, idle_since, give_way_at, report_at, spin;
    uint32_t polls, delivered;
    union {
        uint32_t seen;     /* value of the bell when the sleep was announced */
        uint32_t switches; /* of the core, when the first yields had been made; while the wait yields */
    };
    int16_t yields;
    bool    announced; /* the next step may sleep on seen */
    bool    sleeps;    /* without spinning and yielding, because other work needs the core */
};

/* Wait, and return the result of poll, or TERN_ERR_TIMEOUT with a detail. With TERN_NOW, poll is called once, and
 * TERN_PENDING is returned without a detail. If another deadline has already passed, poll is called once. */
tern_status tern_core_wait(const struct tern_wait *wait);

/* Make one step of a wait whose condition the caller evaluates: poll, and spin, yield, announce a sleep, or sleep.
 * Returns TERN_PENDING or an error. */
tern_status tern_core_wait_step(const struct tern_wait *wait, struct tern_wait_state *state);

/* Poll at most the given number of times, whatever the deadline. relax: pause after each poll, because a
 * thread that polls a cache line as fast as possible delays the writer of the line. Returns the result of the last
 * poll. */
static inline __attribute__((always_inline)) tern_status tern_core_spin(const struct tern_wait *wait, unsigned polls,
                                                                        bool relax)
{
    tern_status st;

    while ((st = wait->poll(wait->arg)) == TERN_PENDING) {
        if (relax)
            tern_base_relax();
        if (--polls == 0)
            break;
    }
    return st;
}

/* Number of events that complete when a word of this rank's memory changes. While there are some, every wait is also
 * for memory. */
extern _Atomic uint32_t tern_core_wait_watches;

/* The longest sleep, in ns: a safety net on which no code may rely. Tests remove it, so that code which relies on it
 * hangs. */
extern int64_t tern_core_wait_longest_sleep;
