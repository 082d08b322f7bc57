/* wait_set.h: test several objects of one kind, or wait for any, some or all of them.
 *
 * The objects are events, requests of tagged messages, or notification requests. A const table describes each kind. The
 * poll is inlined into a function of each kind, in which the table is a compile-time constant: a wait polls all of its
 * objects over and over, and calls through the table would cost more than the polls. */
#pragma once

#include "core/context.h"
#include "core/job.h"
#include "core/wait.h"

/* These are also the states of requests and notification requests. Pending states are odd. */
enum tern_waitable_state {
    TERN_WAITABLE_IDLE = 0, /* nothing to wait for: the object is skipped */
    TERN_WAITABLE_PENDING = 1,
    TERN_WAITABLE_DONE = 2,
    TERN_WAITABLE_HOPELESS = 3, /* pending for ever. It ends every wait with the error that take returns */
    TERN_WAITABLE_FREED = 6     /* misuse: not pending, and take returns an error */
};

/* A kind of objects. An object is an entry of the program's array, and has the size of a pointer. */
struct tern_waitable {
    /* Call tern_core_wait_set_poll with this table. */
    tern_status (*poll)(void *set);
    /* Return the state of the object, without making progress. */
    enum tern_waitable_state (*state)(const void *object);
    /* Return the context that completes a pending object. */
    struct tern_ctx *(*ctx)(const void *object);
    /* Report a complete object to the program, and make it idle. Returns how its operation ended. info may be NULL. */
    tern_status (*take)(void *object, void *info, const char *what);
    /* Write a description of the event that a pending object waits for, such as "for 1 of 2 notifications". */
    void (*describe)(const void *object, char *text, size_t size);
    size_t info_size;
    bool   notify; /* the objects wait for notifications */
};

/* Several objects of one kind, and the public call that tests them or waits for them. */
struct tern_waitables {
    const struct tern_waitable *kind;
    void                       *objects;
    size_t                      n;
    const char                 *what;
};

/* The state of a test or wait. */
struct tern_wait_set {
    struct tern_waitables of; /* must be first */
    bool                  all;
    uint32_t              polls;
    size_t                index; /* index of the object that ended the wait; n: none, or all are complete */
    size_t                first; /* if all: the objects before this one are idle or complete */
    struct tern_ctx      *ctx;   /* the context of all pending objects; NULL: not known, or there are several */
};

/* Test, if deadline is NULL, or wait for any object, and report it to the program. *index returns its index, and is
 * unchanged if there is none. */
tern_status tern_core_wait_any(const struct tern_waitables *of, const tern_deadline *deadline, size_t *index,
                               void *info);

/* Wait for any object, and report all objects that are complete. Stores their number and their indices. Returns the
 * error with the lowest index. */
tern_status tern_core_wait_some(const struct tern_waitables *of, tern_deadline deadline, size_t *count, size_t *indices,
                                void *infos, tern_status *statuses);

/* Describe the pending objects: for tern_wait, with a pointer to struct tern_waitables. */
void tern_core_waitables_describe(void *of, char *text, size_t size);

/* Poll until the wait ends, or once if deadline is NULL. */
tern_status tern_core_wait_set_await(struct tern_wait_set *set, const tern_deadline *deadline);

/* Report that no object is started, so that a wait for any of them would never end. */
tern_status tern_core_wait_set_idle(const struct tern_wait_set *set);

/* Report that an argument is NULL, or that n is 0. name is the argument that is NULL if the array is not. */
tern_status tern_core_waitables_invalid(const struct tern_waitables *of, const char *name);

static inline void *tern_core_waitables_at(const struct tern_waitables *of, size_t i)
{
    return (char *)of->objects + i * sizeof(void *);
}

/* Report object i to the program. */
static inline tern_status tern_core_waitables_take(const struct tern_waitables *of, const struct tern_waitable *kind,
                                                   size_t i, void *info)
{
    return kind->take(tern_core_waitables_at(of, i), info, of->what);
}

/* Make progress on a context once: for notifications, mostly by polling only for these. */
static inline void tern_core_wait_set_progress(struct tern_wait_set *set, struct tern_ctx *ctx, bool notify)
{
    if (notify)
        tern_core_ctx_poll_notify(ctx, &set->polls);
    else
        tern_core_ctx_progress(ctx);
}

/* Make progress on the context of each pending object. Objects of one context are usually adjacent. */
static inline __attribute__((always_inline)) void tern_core_wait_set_progress_all(struct tern_wait_set       *set,
                                                                                  const struct tern_waitable *kind)
{
    struct tern_ctx *last = NULL, *ctx;
    bool             several = false;

    for (size_t i = set->first; i < set->of.n; i++) {
        const void *object = tern_core_waitables_at(&set->of, i);

        if (kind->state(object) != TERN_WAITABLE_PENDING || (ctx = kind->ctx(object)) == last)
            continue;
        several |= last != NULL;
        last = ctx;
        tern_core_wait_set_progress(set, ctx, kind->notify);
    }
    set->ctx = several ? NULL : last;
}

/* Poll once. Returns TERN_OK if the wait has ended, and TERN_ERR_STATE for a wait for any if no object is started. */
static inline __attribute__((always_inline)) tern_status tern_core_wait_set_poll(struct tern_wait_set       *set,
                                                                                 const struct tern_waitable *kind)
{
    const struct tern_waitables *of = &set->of;
    enum tern_waitable_state     state, pending = TERN_WAITABLE_IDLE;
    size_t                       i = set->first;

    if (TERN_LIKELY(set->ctx != NULL))
        tern_core_wait_set_progress(set, set->ctx, kind->notify);
    else
        tern_core_wait_set_progress_all(set, kind);
    if (!set->all) {
        for (; i < of->n; i++, pending |= state)
            if ((state = kind->state(tern_core_waitables_at(of, i))) >= TERN_WAITABLE_DONE)
                return set->index = i, TERN_OK;
        return pending ? TERN_PENDING : tern_core_wait_set_idle(set);
    }
    while (i < of->n && (kind->state(tern_core_waitables_at(of, i)) & TERN_WAITABLE_PENDING) == 0)
        i++;
    set->first = i;
    if (TERN_UNLIKELY(atomic_load_explicit(&tern_job.losses_seen, memory_order_relaxed) > 0))
        for (; i < of->n; i++)
            if (kind->state(tern_core_waitables_at(of, i)) == TERN_WAITABLE_HOPELESS)
                return set->index = i, TERN_OK;
    return set->first < of->n ? TERN_PENDING : TERN_OK;
}

/* Test, if deadline is NULL, or wait for all objects, and report them to the program. infos and statuses may be NULL.
 * Returns the error with the lowest index: the last object is reported first, so that the error detail belongs to that
 * error. */
static inline __attribute__((always_inline)) tern_status tern_core_wait_all(const struct tern_waitables *of,
                                                                            const struct tern_waitable  *kind,
                                                                            const tern_deadline *deadline, void *infos,
                                                                            tern_status *statuses)
{
    struct tern_wait_set set = { .of = *of, .all = true };
    tern_status          st, one;

    if (!of->objects && of->n > 0)
        return tern_core_waitables_invalid(of, NULL);
    if ((st = tern_core_wait_set_await(&set, deadline)) != TERN_OK)
        return st;
    if (set.index < of->n)
        return tern_core_waitables_take(of, kind, set.index, NULL);
    for (size_t i = of->n; i-- > 0;) {
        one = TERN_OK;
        if (kind->state(tern_core_waitables_at(of, i)) >= TERN_WAITABLE_DONE)
            one = tern_core_waitables_take(of, kind, i, infos ? (char *)infos + i * kind->info_size : NULL);
        if (statuses)
            statuses[i] = one;
        st = one < 0 ? one : st;
    }
    return st;
}
