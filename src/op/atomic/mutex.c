/* mutex.c: locking and unlocking, and the steps of which they consist. See mutex.h.
 *
 * The steps of a lock are the same everywhere. The initiator executes a step itself if loads and stores reach the
 * memory of the mutex; otherwise the owner executes it, as an RPC. A step only waits for the owner's response, which
 * does not depend on the owner's application.
 */
#include "op/atomic/mutex.h"

#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "base/read_once.h"
#include "boot/bell.h"
#include "core/job.h"
#include "core/quiet.h"
#include "core/wait.h"
#include "core/wire.h"
#include "op/start.h"

#define ASK_SOONEST 200000  /* ns between two polls over the network at the beginning of a wait, ... */
#define ASK_LATEST 10000000 /* ... and at most */
#define MOST_LOG 18         /* TERN_MAX_RANKS is 2^16 */

unsigned tern_op_mutex_log(int ranks)
{
    return tern_base_log2_up((uint32_t)ranks) + 1 > 3 ? tern_base_log2_up((uint32_t)ranks) + 1 : 3;
}

/* ---- steps ---- */

/* The variable into which wake() stores the rank (+ 1) that the initiator of the RPC has to wake, if the rank is on
 * another node. NULL: this thread wakes the rank itself. */
static _Thread_local uint32_t *to_wake;

static bool is_lost(unsigned rank)
{
    return rank >= (unsigned)tern_job.boot.ranks || tern_core_job_lost((int)rank);
}

/* Wake a rank with an empty message, whose arrival makes the rank poll. If there is no space for the message, the rank
 * has other messages to read, and wakes for these. */
static void wake_remote(int rank)
{
    const struct core_wire word = { .whose = CORE_WIRE_OWN, .way = CORE_DIRECTION_WAKE, .mark = CORE_WIRE_MARK };
    uint64_t               first;

    memcpy(&first, &word, sizeof(first));
    tern_core_ops_to(rank)->msg->send_short(tern_core_link_to(rank), rank, TERN_CHANNEL_REQUEST, first, NULL, 0);
}

static void wake(unsigned rank)
{
    if (tern_boot_same_node(&tern_job.boot, (int)rank) && tern_core_ops_to((int)rank)->maps)
        tern_boot_wake(tern_core_job_slot((int)rank));
    else if (to_wake)
        *to_wake = rank + 1;
    else
        wake_remote((int)rank);
}

static enum tern_qlock_state try_once(struct tern_qlock *lock, uint64_t name)
{
    uint64_t word;

    if (tern_base_qlock_try_acquire(lock, name))
        return TERN_QLOCK_ACQUIRED;
    word = atomic_load_explicit(&lock->word, memory_order_relaxed); /* relaxed: a snapshot */
    if ((word & TERN_QLOCK_ID_MASK) == name)
        return TERN_QLOCK_ALREADY_OWNER;
    return word != 0 && !(word & TERN_QLOCK_HANDED_OVER) && is_lost(tern_base_qlock_id_rank(word & TERN_QLOCK_ID_MASK))
               ? TERN_QLOCK_OWNER_DEAD
               : TERN_QLOCK_NOT_OWNER;
}

void tern_op_mutex_step(struct tern_qlock *lock, unsigned log, enum tern_mutex_step which, uint64_t name,
                        struct wire_mutex_response *done)
{
    const struct tern_qlock_env world = { log, is_lost, wake };
    uint64_t                    holder;

    switch (which) {
    case TERN_MUTEX_ACQUIRE: done->state = tern_base_qlock_acquire(lock, &world, name, &done->ticket); break;
    case TERN_MUTEX_POLL: done->state = tern_base_qlock_poll(lock, &world, name, done->ticket); break;
    case TERN_MUTEX_ABANDON: done->state = tern_base_qlock_abandon(lock, &world, name, done->ticket); break;
    case TERN_MUTEX_RELEASE: done->state = tern_base_qlock_release(lock, &world, name); break;
    default: done->state = try_once(lock, name);
    }
    holder = tern_base_qlock_holder(lock);
    done->holder = holder != 0 ? tern_base_qlock_id_rank(holder) + 1 : 0;
}

/* ---- at the owner ---- */

/* Return whether a request is valid. The sender is not trusted, so w is a private copy. A valid request can damage only
 * the part of the region. */
static bool is_sound(const struct wire_mutex *w, const struct tern_target_mem *mem)
{
    return w->step < TERN_MUTEX_STEPS && w->log <= MOST_LOG && w->zero == 0 && w->name != 0 &&
           (w->name & ~TERN_QLOCK_ID_MASK) == 0 && tern_base_qlock_id_rank(w->name) < (unsigned)tern_job.boot.ranks &&
           tern_base_covers(mem->size, w->offset, tern_base_qlock_bytes(w->log)) &&
           ((uintptr_t)mem->base + w->offset) % _Alignof(struct tern_qlock) == 0 &&
           (!mem->is_mapped || mem->is_mapped(mem->base + w->offset, tern_base_qlock_bytes(w->log), true));
}

tern_status tern_op_mutex_rpc(const struct tern_target_mem *mem, const unsigned char *request, size_t len,
                              unsigned char *response, size_t capacity, size_t *response_len)
{
    struct wire_mutex          w;
    struct wire_mutex_response done = { 0, 0, 0, 0 };

    if (len != sizeof(w) || capacity < sizeof(done))
        return TERN_ERR_LINK;
    tern_base_copy_once(&w, request, sizeof(w));
    if (!is_sound(&w, mem))
        return TERN_ERR_LINK;
    tern_core_job_check_deaths();
    if (is_lost(tern_base_qlock_id_rank(w.name))) /* a dead rank would never release the mutex */
        return TERN_ERR_PEER;
    done.ticket = w.ticket;
    to_wake = &done.wake;
    tern_op_mutex_step((struct tern_qlock *)(void *)(mem->base + w.offset), w.log, (enum tern_mutex_step)w.step, w.name,
                       &done);
    to_wake = NULL;
    memcpy(response, &done, sizeof(done));
    *response_len = sizeof(done);
    return TERN_OK;
}

/* ---- at the initiator ---- */

/* A request, and the memory for its response. */
struct asking {
    struct wire_mutex          request;
    struct wire_mutex_response response;
};

static void take_response(struct tern_link_op *link, const unsigned char *bytes, size_t len)
{
    struct asking *a = ((struct tern_op *)link)->data;

    if (len == sizeof(a->response))
        memcpy(&a->response, bytes, len);
}

static tern_status ask_start(struct tern_op *op)
{
    const struct asking *a = op->data;

    return tern_op_rpc_start(op, &a->request, sizeof(a->request), 0, take_response, sizeof(a->response));
}

static const struct tern_op_kind ask_kind = { .start = ask_start };

/* Send the request and wait for the response. There is no time limit: the owner may execute a step that the initiator
 * has given up, and the initiator would not know its result. Returns TERN_ERR_PEER if the owner is gone. */
static tern_status ask(const struct tern_op_mutex *m, struct asking *a)
{
    struct tern_op *op = tern_op_new(m->ctx, sizeof(*op), &ask_kind, &tern_op_blocking, m->what);

    if (!op)
        return TERN_ERR_NOMEM;
    op->data = a;
    op->needs_target = true;
    op->link.xfer = (struct tern_xfer){ .part = m->part,
                                        .offset = a->request.offset,
                                        .len = sizeof(a->response),
                                        .get = true,
                                        .small_rpc = true,
                                        .what = "step of a mutex" };
    return tern_op_run(op, TERN_FOREVER);
}

/* Let the owner of the mutex execute a step. */
static tern_status step_rpc(const struct tern_op_mutex *m, enum tern_mutex_step which, uint64_t name,
                            struct wire_mutex_response *done)
{
    struct asking a = { .request = { .verb = WIRE_MUTEX,
                                     .step = (uint8_t)which,
                                     .log = (uint8_t)m->log,
                                     .ticket = done->ticket,
                                     .offset = m->offset,
                                     .name = name },
                        .response = { .state = TERN_QLOCK_STATES } };
    tern_status   st = ask(m, &a);

    if (st < 0)
        return st;
    if (a.response.state >= TERN_QLOCK_STATES)
        return tern_base_fail(TERN_ERR_LINK, "%s: rank %d sent a malformed response", m->what, m->rank);
    if (a.response.wake > 0 && a.response.wake <= (uint32_t)tern_job.boot.ranks)
        wake_remote((int)a.response.wake - 1);
    *done = a.response;
    return TERN_OK;
}

/* ---- the state of a lock call ---- */

struct locking {
    const struct tern_op_mutex *mutex;
    uint64_t                    name;
    struct wire_mutex_response  now; /* the result of the last step */
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
    return l->now.state == TERN_QLOCK_WAITING || l->now.state == TERN_QLOCK_FULL;
}

/* Execute a step, directly or by RPC. */
static tern_status step(struct locking *l, enum tern_mutex_step which)
{
    const struct tern_op_mutex *m = l->mutex;
    tern_status                 st = TERN_OK;

    if (tern_link_loads(m->part))
        tern_op_mutex_step(turn_of(m), m->log, which, l->name, &l->now);
    else
        st = step_rpc(m, which, l->name, &l->now);
    if (st == TERN_OK && which == TERN_MUTEX_ACQUIRE)
        l->queued = l->now.state == TERN_QLOCK_WAITING;
    return st;
}

static void lock_describe(void *arg, char *text, size_t size)
{
    const struct locking *l = arg;

    snprintf(text, size, "%s waits for mutex %llu of rank %d, which rank %d of the job holds", l->mutex->what,
             (unsigned long long)l->mutex->index, l->mutex->rank, (int)l->now.holder - 1);
}

static tern_status refuse(const struct locking *l)
{
    const struct tern_op_mutex *m = l->mutex;

    if (l->now.state == TERN_QLOCK_ALREADY_OWNER)
        return tern_base_fail(TERN_ERR_STATE, "%s: this context holds mutex %llu of rank %d already", m->what,
                              (unsigned long long)m->index, m->rank);
    return tern_base_fail(TERN_ERR_PEER, "%s: rank %d of the job died while it held mutex %llu of rank %d", m->what,
                          (int)l->now.holder - 1, (unsigned long long)m->index, m->rank);
}

/* ---- waiting for a mutex that loads and stores reach ---- */

static tern_status memory_poll(void *arg)
{
    struct locking *l = arg;

    tern_core_ctx_progress(l->mutex->ctx);
    if (tern_core_job_lost(l->mutex->part->rank))
        return tern_base_fail(TERN_ERR_PEER, "%s: rank %d is gone", l->mutex->what, l->mutex->rank);
    step(l, TERN_MUTEX_POLL);
    return l->now.state == TERN_QLOCK_WAITING ? TERN_PENDING : TERN_OK;
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

/* Return whether the caller has to poll periodically: no other rank reliably wakes a waiting context of a rank on
 * another node, or a context that found no place in the queue. */
static bool must_ask(const struct locking *l)
{
    return !tern_link_loads(l->mutex->part) || l->now.state == TERN_QLOCK_FULL;
}

/* Poll periodically until the mutex is acquired or refused, polling is no longer necessary, or the deadline expires. */
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
    struct tern_wait memory = { .poll = memory_poll, .describe = lock_describe, .arg = l, .deadline = deadline };
    tern_status      st = must_ask(l) ? wait_asking(l, deadline) : TERN_OK;

    return st == TERN_OK && is_waiting(l) ? tern_core_wait(&memory) : st;
}

/* Leave the queue. Returns TERN_OK if the mutex was handed over to this context in the meantime, otherwise `why`. */
static tern_status give_up(struct locking *l, tern_status why)
{
    tern_status st = step(l, TERN_MUTEX_ABANDON);

    if (st == TERN_OK && l->now.state == TERN_QLOCK_WAITING) /* chosen as the next holder, but the handover is not
                                                            complete */
        st = wait_turn(l, TERN_FOREVER);
    return st == TERN_OK && l->now.state == TERN_QLOCK_ACQUIRED ? TERN_OK : why;
}

static __attribute__((noinline)) tern_status lock_long(struct locking *l, tern_deadline deadline)
{
    bool        once = deadline <= TERN_NOW;
    tern_status st = step(l, once ? TERN_MUTEX_TRY : TERN_MUTEX_ACQUIRE);

    if (st < 0 || l->now.state == TERN_QLOCK_ACQUIRED)
        return st;
    if (once && l->now.state == TERN_QLOCK_NOT_OWNER)
        return deadline == TERN_NOW
                   ? TERN_PENDING
                   : tern_base_fail(TERN_ERR_TIMEOUT, "%s: the deadline had passed before the call", l->mutex->what);
    if (is_waiting(l))
        st = wait_turn(l, deadline);
    if (st == TERN_OK && l->now.state == TERN_QLOCK_ACQUIRED)
        return TERN_OK;
    if (st == TERN_OK)
        st = refuse(l);
    return l->queued ? give_up(l, st) : st;
}

tern_status tern_op_mutex_lock(const struct tern_op_mutex *m, tern_deadline deadline)
{
    struct locking l = { .mutex = m, .name = name_of(m->ctx) };

    if (TERN_LIKELY(tern_link_loads(m->part) && tern_base_qlock_try_acquire(turn_of(m), l.name)))
        return TERN_OK;
    return lock_long(&l, deadline);
}

tern_status tern_op_mutex_unlock(const struct tern_op_mutex *m)
{
    struct locking l = { .mutex = m, .name = name_of(m->ctx) };
    tern_status    st = TERN_OK;

    if (tern_core_ctx_is_busy(m->ctx) || m->ctx->shared)
        st = tern_core_quiet_all(m->ctx, m->what, tern_core_ctx_deadline(m->ctx));
    if (st < 0)
        return st;
    if (TERN_LIKELY(tern_link_loads(m->part) && tern_base_qlock_try_release(turn_of(m), l.name)))
        return TERN_OK;
    if ((st = step(&l, TERN_MUTEX_RELEASE)) < 0 || l.now.state == TERN_QLOCK_ACQUIRED)
        return st;
    if (l.now.holder == 0)
        return tern_base_fail(TERN_ERR_STATE, "%s: mutex %llu of rank %d is held by nobody", m->what,
                              (unsigned long long)m->index, m->rank);
    return tern_base_fail(TERN_ERR_STATE, "%s: mutex %llu of rank %d is held by %s%d of the job", m->what,
                          (unsigned long long)m->index, m->rank,
                          (int)l.now.holder - 1 == tern_job.boot.rank ? "another context of rank " : "rank ",
                          (int)l.now.holder - 1);
}

uint64_t tern_op_mutex_held(const struct tern_mutexes *mutexes)
{
    const unsigned char *base = mutexes->region->own.addr;

    for (uint64_t i = 0; i < mutexes->count[tern_job.boot.rank]; i++) {
        uint64_t holder = tern_base_qlock_holder((const struct tern_qlock *)(const void *)(base + i * mutexes->bytes));
        unsigned rank = tern_base_qlock_id_rank(holder); /* not trusted: peers can write the word */

        if (holder != 0 && rank < (unsigned)tern_job.boot.ranks && !tern_core_job_lost((int)rank))
            return i;
    }
    return UINT64_MAX;
}
