/* mutex_rpc.c: the steps of a mutex, and executing them for other ranks. */
#include <string.h>

#include "base/bits.h"
#include "base/read_once.h"
#include "boot/bell.h"
#include "core/job.h"
#include "core/wire.h"
#include "op/start.h"
#include "op/atomic/mutex_step.h"

#define MOST_LOG 18 /* TERN_MAX_RANKS is 2^16 */

/* ---- steps ---- */

/* Where wake() stores a rank on another node (+ 1) that the initiator of the RPC has to wake. NULL: this thread
 * wakes the rank itself. */
static _Thread_local uint32_t *to_wake;

static bool is_lost(unsigned rank)
{
    return rank >= (unsigned)tern_job.boot.ranks || tern_core_job_lost((int)rank);
}

/* Send an empty message; its arrival makes the rank poll. If there is no space for the message, the rank is not
 * asleep for long, because it has other messages to read. */
static void wake_far(int rank)
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
        wake_far((int)rank);
}

static enum tern_qlock_state try_once(struct tern_qlock *turn, uint64_t name)
{
    uint64_t word;

    if (tern_base_qlock_try_acquire(turn, name))
        return TERN_QLOCK_ACQUIRED;
    word = atomic_load_explicit(&turn->word, memory_order_relaxed); /* relaxed: a snapshot */
    if ((word & TERN_QLOCK_ID_MASK) == name)
        return TERN_QLOCK_ALREADY_OWNER;
    return word != 0 && !(word & TERN_QLOCK_HANDED_OVER) && is_lost(tern_base_qlock_id_rank(word & TERN_QLOCK_ID_MASK))
               ? TERN_QLOCK_OWNER_DEAD
               : TERN_QLOCK_NOT_OWNER;
}

void tern_op_mutex_step(struct tern_qlock *turn, unsigned log, enum tern_mutex_step which, uint64_t name,
                        struct tern_mutex_stepped *done)
{
    const struct tern_qlock_env world = { log, is_lost, wake };
    uint64_t                    holder;

    switch (which) {
    case TERN_MUTEX_ACQUIRE: done->state = tern_base_qlock_acquire(turn, &world, name, &done->ticket); break;
    case TERN_MUTEX_POLL: done->state = tern_base_qlock_poll(turn, &world, name, done->ticket); break;
    case TERN_MUTEX_ABANDON: done->state = tern_base_qlock_abandon(turn, &world, name, done->ticket); break;
    case TERN_MUTEX_RELEASE: done->state = tern_base_qlock_release(turn, &world, name); break;
    default: done->state = try_once(turn, name);
    }
    holder = tern_base_qlock_holder(turn);
    done->holder = holder != 0 ? tern_base_qlock_id_rank(holder) + 1 : 0;
}

/* ---- at the owner ---- */

/* Whether a request is valid. The sender is not trusted, so w is a private copy. Whatever the request says, it can
 * only damage the mutex. */
static bool is_sound(const struct wire_mutex *w, const struct tern_target_mem *ground)
{
    return w->step < TERN_MUTEX_STEPS && w->log <= MOST_LOG && w->zero == 0 && w->name != 0 &&
           (w->name & ~TERN_QLOCK_ID_MASK) == 0 && tern_base_qlock_id_rank(w->name) < (unsigned)tern_job.boot.ranks &&
           tern_base_covers(ground->size, w->offset, tern_base_qlock_bytes(w->log)) &&
           ((uintptr_t)ground->base + w->offset) % _Alignof(struct tern_qlock) == 0 &&
           (!ground->is_mapped || ground->is_mapped(ground->base + w->offset, tern_base_qlock_bytes(w->log), true));
}

tern_status tern_op_mutex_rpc(const struct tern_target_mem *ground, const unsigned char *request, size_t len,
                              unsigned char *answer, size_t room, size_t *answered)
{
    struct wire_mutex          w;
    struct wire_mutex_response says = { 0, 0, 0, 0 };
    struct tern_mutex_stepped  done;

    if (len != sizeof(w) || room < sizeof(says))
        return TERN_ERR_LINK;
    tern_base_copy_once(&w, request, sizeof(w));
    if (!is_sound(&w, ground))
        return TERN_ERR_LINK;
    tern_core_job_check_deaths();
    if (is_lost(tern_base_qlock_id_rank(w.name))) /* a dead rank would never release the mutex */
        return TERN_ERR_PEER;
    done.ticket = w.ticket;
    to_wake = &says.wake;
    tern_op_mutex_step((struct tern_qlock *)(void *)(ground->base + w.offset), w.log, (enum tern_mutex_step)w.step,
                       w.name, &done);
    to_wake = NULL;
    says.state = (uint32_t)done.state;
    says.ticket = done.ticket;
    says.holder = done.holder;
    memcpy(answer, &says, sizeof(says));
    *answered = sizeof(says);
    return TERN_OK;
}

/* ---- at the initiator ---- */

struct asking {
    struct wire_mutex          request;
    struct wire_mutex_response answer;
};

static void take_answer(struct tern_link_op *link, const unsigned char *bytes, size_t len)
{
    struct asking *a = ((struct tern_op *)link)->data;

    if (len == sizeof(a->answer))
        memcpy(&a->answer, bytes, len);
}

static tern_status ask_start(struct tern_op *op)
{
    const struct asking        *a = op->data;
    const struct tern_xfer      xfer = op->link.xfer;
    const struct tern_link_ops *ops = tern_job.ops[xfer.part->link];
    struct tern_lane           *lane = op->ctx->lane[xfer.part->link];
    tern_status                 st = ops->rpc->open(lane, &xfer, &op->link);

    if (st != TERN_OK)
        return st;
    memcpy(op->link.rpc_buf, &a->request, sizeof(a->request));
    op->link.on_response = take_answer;
    ops->rpc->send(lane, &op->link, sizeof(a->request), sizeof(a->answer));
    return TERN_PENDING;
}

static const struct tern_op_kind ask_kind = { .start = ask_start };

/* Send the request and wait for the response. There is no time limit, because the owner would execute a step that
 * was given up, and nobody would know. */
static tern_status ask(const struct tern_op_mutex *m, struct asking *a)
{
    struct tern_op *op = tern_op_new(m->ctx, sizeof(*op), &ask_kind, &tern_op_blocking, m->what);

    if (!op)
        return TERN_ERR_NOMEM;
    op->data = a;
    op->needs_target = true;
    op->link.xfer = (struct tern_xfer){ .part = m->part,
                                        .offset = a->request.offset,
                                        .len = sizeof(a->answer),
                                        .get = true,
                                        .small_rpc = true,
                                        .what = "step of a mutex" };
    return tern_op_run(op, TERN_FOREVER);
}

tern_status tern_op_mutex_step_rpc(const struct tern_op_mutex *m, enum tern_mutex_step which, uint64_t name,
                                   struct tern_mutex_stepped *done)
{
    struct asking a = { .request = { .verb = WIRE_MUTEX,
                                     .step = (uint8_t)which,
                                     .log = (uint8_t)m->log,
                                     .ticket = done->ticket,
                                     .offset = m->offset,
                                     .name = name },
                        .answer = { .state = TERN_QLOCK_STATES } };
    tern_status   st = ask(m, &a);

    if (st < 0)
        return st;
    if (a.answer.state >= TERN_QLOCK_STATES)
        return tern_base_fail(TERN_ERR_LINK, "%s: rank %d sent a malformed response", m->what, m->rank);
    if (a.answer.wake > 0 && a.answer.wake <= (uint32_t)tern_job.boot.ranks)
        wake_far((int)a.answer.wake - 1);
    done->state = (enum tern_qlock_state)a.answer.state;
    done->ticket = a.answer.ticket;
    done->holder = a.answer.holder;
    return TERN_OK;
}
