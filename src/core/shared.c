/* shared.c: see shared.h. */
#include "core/shared.h"

#include <stdlib.h>

#include "boot/bell.h"
#include "core/job.h"
#include "core/message.h"

_Thread_local struct tern_ctx *tern_core_shared_held TERN_CORE_TLS;

tern_status tern_core_shared_make(struct tern_ctx *inner)
{
    if (!(inner->shared = calloc(1, sizeof(*inner->shared)))) {
        tern_core_ctx_close(inner);
        return tern_base_fail(TERN_ERR_NOMEM, "no memory for the lock of a context");
    }
    tern_base_list_init(&inner->shared->locking);
    return TERN_OK;
}

void tern_core_shared_free(struct tern_ctx *inner)
{
    if (!inner->shared)
        return;
    if (tern_core_shared_held == inner)
        tern_core_shared_pause();
    free(inner->shared);
    inner->shared = NULL;
}

void tern_core_shared_lock(struct tern_ctx *inner)
{
    if (tern_core_shared_held == inner) {
        inner->shared->nested++;
        return;
    }
    inner->shared->alone = tern_base_biased_lock(&inner->shared->lock);
    tern_core_shared_held = inner;
    tern_core_message_depth |= TERN_CORE_LOCKED;
}

/* Release the lock, and wake the threads that may wait for operations that have ended. */
static void let_go(struct tern_ctx *inner)
{
    struct tern_shared *shared = inner->shared;
    bool                ended = inner->ended != shared->told;

    shared->told = inner->ended;
    tern_core_shared_held = NULL;
    tern_core_message_depth &= ~TERN_CORE_LOCKED;
    tern_base_biased_unlock(&shared->lock, shared->alone);
    if (ended)
        tern_boot_wake(tern_core_job_slot(tern_job.boot.rank));
}

void tern_core_shared_unlock(struct tern_ctx *inner)
{
    if (TERN_UNLIKELY(tern_core_shared_held != inner))
        return; /* the context was closed */
    if (inner->shared->nested > 0)
        inner->shared->nested--;
    else
        let_go(inner);
}

struct tern_shared_pause tern_core_shared_pause(void)
{
    struct tern_shared_pause pause = { tern_core_shared_held, 0 };

    if (!pause.inner)
        return pause;
    pause.nested = pause.inner->shared->nested;
    pause.inner->shared->nested = 0;
    let_go(pause.inner);
    return pause;
}

void tern_core_shared_resume(struct tern_shared_pause pause)
{
    if (!pause.inner)
        return;
    tern_core_shared_lock(pause.inner);
    pause.inner->shared->nested = pause.nested;
}

void tern_core_shared_take_unflushed(struct tern_ctx *inner)
{
    uint8_t *unflushed = &inner->handle->inline_unflushed;

    /* relaxed: the caller has synchronized with each thread whose notifications it must complete */
    if (__atomic_load_n(unflushed, __ATOMIC_RELAXED) == TERN_UNFLUSHED_NONE)
        return;
    /* acquire: the notifications behind the mark that is removed, which may be newer than the one that was read. Pairs
     * with the release in op/notify: whoever removes a mark completes its notifications. */
    (void)__atomic_exchange_n(unflushed, TERN_UNFLUSHED_NONE, __ATOMIC_ACQUIRE);
    inner->inline_unflushed = true;
}

void tern_core_shared_progress(struct tern_ctx *handle)
{
    struct tern_ctx *inner = handle->inner;

    tern_core_shared_lock(inner);
    if (inner->engine) /* first: see tern_core_ctx_progress() */
        tern_op_engine_advance(inner);
    if (tern_core_ctx_has_ops(inner))
        tern_core_ctx_advance(inner);
    if (atomic_load_explicit(&inner->attention, memory_order_relaxed)) /* ordered by the lock of the tagged layer */
        tern_core_ctx_attend(inner);
    tern_core_shared_unlock(inner);
}
