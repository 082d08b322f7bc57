/* shared.h: the lock of a context that threads share.
 *
 * A public call on a shared context locks the inner context (core/context.h) and runs on it as on a private one. The
 * lock is never held while a thread waits, nor while a handler or another delivery runs: a wait holds it only while it
 * polls (core/wait.c), and a delivery releases it (core/message.c). A thread therefore holds at most one such lock, and
 * takes no other lock of this kind meanwhile. The lock is biased (base/biased_lock.h): while only one thread of the
 * process communicates, it costs two plain stores, and later one atomic instruction. */
#pragma once

#include "base/biased_lock.h"
#include "core/context.h"

struct tern_shared {
    struct tern_biased_lock lock;
    bool                    alone;  /* how the holder acquired the lock */
    uint32_t                nested; /* nesting depth of the calls of the thread that holds the lock */
    uint32_t                told; /* the value of `ended` of the inner context when sleeping threads were last woken */
    struct tern_list        locking; /* mutexes that threads are locking (api/mutex.c) */
};

/* The inner context whose lock this thread holds; NULL: none. Then tern_core_message_depth contains the flag
 * TERN_CORE_LOCKED, too. */
extern _Thread_local struct tern_ctx *tern_core_shared_held TERN_CORE_TLS;

/* Give an inner context its lock, or take it away; the latter does nothing to a private context. */
tern_status tern_core_shared_make(struct tern_ctx *inner);
void        tern_core_shared_free(struct tern_ctx *inner);

/* Lock an inner context. A thread may lock the one that it holds again. unlock wakes the sleeping threads of the
 * process if operations have ended, because one of them may wait for that. */
void tern_core_shared_lock(struct tern_ctx *inner);
void tern_core_shared_unlock(struct tern_ctx *inner);

/* Return whether this thread may use a context that is not a handle: it is private, or this thread holds its lock. */
static inline bool tern_core_shared_holds(const struct tern_ctx *ctx)
{
    return ctx->handle == ctx || tern_core_shared_held == ctx;
}

/* Release the lock that this thread holds, however often, and lock it again. resume takes what pause returned. */
struct tern_shared_pause {
    struct tern_ctx *inner; /* NULL: this thread held no lock */
    uint32_t         nested;
};
struct tern_shared_pause tern_core_shared_pause(void);
void                     tern_core_shared_resume(struct tern_shared_pause pause);

/* Threads send notifications with inline payload without the lock, and leave a mark in the handle. Take the mark, so
 * that the inner context completes these notifications. The caller holds the lock. */
void tern_core_shared_take_unflushed(struct tern_ctx *inner);

/* Make progress on everything except messages, given the handle. */
void tern_core_shared_progress(struct tern_ctx *handle);
