/* mutex.c: locking and unlocking. See mutex.h.
 *
 * The steps of a lock are the same everywhere. They are executed here if loads and stores reach the memory of the
 * mutex, and by its owner otherwise (mutex_rpc.c). A step waits for nobody but the owner's rank, which responds
 * whatever its application is doing.
 */
#include "op/atomic/mutex.h"

#include <stdio.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "core/job.h"
#include "core/wait.h"
#include "op/atomic/mutex_step.h"

#define ASK_SOONEST 200000  /* ns between two polls over the network: at first, ... */
#define ASK_LATEST 10000000 /* ... and after many polls */

unsigned tern_op_mutex_log(int ranks)
{
    return tern_base_log2_up((uint32_t)ranks) + 1 > 3 ? tern_base_log2_up((uint32_t)ranks) + 1 : 3;
}

/* The state of a call of lock. */
struct locking {
    const struct tern_op_mutex *mutex;
    uint64_t                    name;
    uint32_t                    ticket;
    enum tern_qlock_state       state;
    unsigned                    holder; /* rank in the job + 1; 0: nobody, or unknown */
    bool                        queued;
};

static struct tern_qlock *turn_of(const struct tern_op_mutex *m)
{
    return (struct tern_qlock *)(void *)(m->part->base + m->offset);
}

static uint64_t name_of(const struct tern_ctx *ctx)
{
    return tern_base_qlock_id((unsigned)tern_job.boot.rank, ctx->number);
}

static bool is_waiting(const struct locking *l)
{
    return l->state == TERN_QLOCK_WAITING || l->state == TERN_QLOCK_FULL;
}

/* Execute a step, directly or by RPC. */
static tern_status step(struct locking *l, enum tern_mutex_step which)
{
    const struct tern_op_mutex *m = l->mutex;
    struct tern_mutex_stepped   done = { .ticket = l->ticket };
    tern_status                 st = TERN_OK;

    if (m->part->base)
        tern_op_mutex_step(turn_of(m), m->log, which, l->name, &done);
    else
        st = tern_op_mutex_step_rpc(m, which, l->name, &done);
    if (st < 0)
        return st;
    l->state = done.state;
    l->ticket = done.ticket;
    l->holder = done.holder;
    l->queued = which == TERN_MUTEX_ACQUIRE ? done.state == TERN_QLOCK_WAITING : l->queued;
    return TERN_OK;
}

static void lock_describe(void *arg, char *text, size_t size)
{
    const struct locking *l = arg;

    snprintf(text, size, "%s waits for mutex %llu of rank %d, which rank %d of the job holds", l->mutex->what,
             (unsigned long long)l->mutex->index, l->mutex->rank, (int)l->holder - 1);
}

static tern_status refuse(const struct locking *l)
{
    const struct tern_op_mutex *m = l->mutex;

    if (l->state == TERN_QLOCK_ALREADY_OWNER)
        return tern_base_fail(TERN_ERR_STATE, "%s: this context holds mutex %llu of rank %d already", m->what,
                              (unsigned long long)m->index, m->rank);
    return tern_base_fail(TERN_ERR_PEER, "%s: rank %d of the job died while it held mutex %llu of rank %d", m->what,
                          (int)l->holder - 1, (unsigned long long)m->index, m->rank);
}

/* ---- waiting for a mutex that loads and stores reach ---- */

static tern_status near_poll(void *arg)
{
    struct locking *l = arg;

    tern_core_ctx_progress(l->mutex->ctx);
    if (tern_core_job_lost(l->mutex->part->rank))
        return tern_base_fail(TERN_ERR_PEER, "%s: rank %d is gone", l->mutex->what, l->mutex->rank);
    step(l, TERN_MUTEX_POLL);
    return l->state == TERN_QLOCK_WAITING ? TERN_PENDING : TERN_OK;
}

static tern_status wait_near(struct locking *l, tern_deadline deadline)
{
    struct tern_wait wait = { .poll = near_poll, .describe = lock_describe, .arg = l, .deadline = deadline };

    return tern_core_wait(&wait);
}

/* ---- waiting with periodic polls: over the network, or for a place in a full queue ---- */

/* Poll function of a pause that ends early when a message arrives. */
static tern_status pause_poll(void *arg)
{
    struct locking *l = arg;
    uint32_t        seen = tern_core_message_delivered();

    tern_core_ctx_progress(l->mutex->ctx);
    return tern_core_message_delivered() != seen ? TERN_OK : TERN_PENDING;
}

/* Whether the caller has to poll periodically: nobody reliably wakes a context of a rank on another node, nor a
 * context that found no place in the queue. */
static bool must_ask(const struct locking *l)
{
    return !l->mutex->part->base || l->state == TERN_QLOCK_FULL;
}

/* Poll periodically until the mutex is acquired or refused, polling is not necessary any more, or the deadline
 * expires. */
static tern_status wait_asking(struct locking *l, tern_deadline deadline)
{
    int64_t     start = tern_base_now(), now = start, pause = ASK_SOONEST;
    int64_t     period = (int64_t)(tern_opt.stall_report * 1e9), report_at = period > 0 ? start + period : INT64_MAX;
    char        text[160];
    tern_status st;

    while (now < deadline) {
        struct tern_wait wait = { .poll = pause_poll,
                                  .describe = lock_describe,
                                  .arg = l,
                                  .deadline = deadline < now + pause ? deadline : now + pause };

        if ((st = tern_core_wait(&wait)) == TERN_ERR_TIMEOUT)
            pause = 2 * pause < ASK_LATEST ? 2 * pause : ASK_LATEST;
        else if (st < 0)
            return st;
        if (tern_core_job_lost(l->mutex->part->rank))
            return tern_base_fail(TERN_ERR_PEER, "%s: rank %d is gone", l->mutex->what, l->mutex->rank);
        if ((st = step(l, l->queued ? TERN_MUTEX_POLL : TERN_MUTEX_ACQUIRE)) < 0)
            return st;
        if (!is_waiting(l) || !must_ask(l))
            return TERN_OK;
        now = tern_base_now();
        if (now >= report_at) {
            lock_describe(l, text, sizeof(text));
            tern_base_log(TERN_LOG_WARN, "has waited %.0f s: %s", (double)(now - start) / 1e9, text);
            report_at = now + (now - start);
        }
    }
    lock_describe(l, text, sizeof(text));
    return tern_base_fail(TERN_ERR_TIMEOUT, "gave up after %.3f s: %s", (double)(now - start) / 1e9, text);
}

/* ---- lock and unlock ---- */

static tern_status wait_turn(struct locking *l, tern_deadline deadline)
{
    tern_status st = must_ask(l) ? wait_asking(l, deadline) : TERN_OK;

    return st == TERN_OK && is_waiting(l) ? wait_near(l, deadline) : st;
}

/* Leave the queue. Returns TERN_OK if the mutex was handed over to this context in the meantime, otherwise `why`. */
static tern_status give_up(struct locking *l, tern_status why)
{
    tern_status st = step(l, TERN_MUTEX_ABANDON);

    if (st == TERN_OK && l->state == TERN_QLOCK_WAITING) /* chosen as the next holder, but the handover is not
                                                            complete */
        st = wait_turn(l, TERN_FOREVER);
    return st == TERN_OK && l->state == TERN_QLOCK_ACQUIRED ? TERN_OK : why;
}

static __attribute__((noinline)) tern_status lock_long(struct locking *l, tern_deadline deadline)
{
    bool        once = deadline <= TERN_NOW;
    tern_status st = step(l, once ? TERN_MUTEX_TRY : TERN_MUTEX_ACQUIRE);

    if (st < 0 || l->state == TERN_QLOCK_ACQUIRED)
        return st;
    if (once && l->state == TERN_QLOCK_NOT_OWNER)
        return TERN_AGAIN;
    if (is_waiting(l))
        st = wait_turn(l, deadline);
    if (st == TERN_OK && l->state == TERN_QLOCK_ACQUIRED)
        return TERN_OK;
    if (st == TERN_OK)
        st = refuse(l);
    return l->queued ? give_up(l, st) : st;
}

tern_status tern_op_mutex_lock(const struct tern_op_mutex *m, tern_deadline deadline)
{
    struct locking l = { .mutex = m, .name = name_of(m->ctx) };

    if (TERN_LIKELY(m->part->base && tern_base_qlock_try_acquire(turn_of(m), l.name)))
        return TERN_OK;
    return lock_long(&l, deadline);
}

tern_status tern_op_mutex_unlock(const struct tern_op_mutex *m)
{
    struct locking l = { .mutex = m, .name = name_of(m->ctx) };
    tern_status    st = TERN_OK;

    if (tern_core_ctx_is_busy(m->ctx))
        st = tern_core_ctx_drain(m->ctx, tern_core_ctx_deadline(m->ctx), m->what);
    if (st < 0)
        return st;
    if (TERN_LIKELY(m->part->base && tern_base_qlock_try_release(turn_of(m), l.name)))
        return TERN_OK;
    if ((st = step(&l, TERN_MUTEX_RELEASE)) < 0 || l.state == TERN_QLOCK_ACQUIRED)
        return st;
    if (l.holder == 0)
        return tern_base_fail(TERN_ERR_STATE, "%s: mutex %llu of rank %d is held by nobody", m->what,
                              (unsigned long long)m->index, m->rank);
    return tern_base_fail(
        TERN_ERR_STATE, "%s: mutex %llu of rank %d is held by %s%d of the job", m->what, (unsigned long long)m->index,
        m->rank, (int)l.holder - 1 == tern_job.boot.rank ? "another context of rank " : "rank ", (int)l.holder - 1);
}

uint64_t tern_op_mutex_held(const struct tern_mutexes *mutexes)
{
    const unsigned char *base = mutexes->region->own.addr;

    for (uint64_t i = 0; i < mutexes->count; i++) {
        uint64_t holder = tern_base_qlock_holder((const struct tern_qlock *)(const void *)(base + i * mutexes->bytes));
        unsigned rank = tern_base_qlock_id_rank(holder); /* not trusted: peers can write the word */

        if (holder != 0 && rank < (unsigned)tern_job.boot.ranks && !tern_core_job_lost((int)rank))
            return i;
    }
    return mutexes->count;
}
