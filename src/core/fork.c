/* fork.c: a child that fork creates is not part of the job.
 *
 * The child has copies of the parent's objects, but none of the helper threads, and its stores would reach the memory
 * that the ranks share. Therefore a handler that pthread_atfork runs in the child makes all calls fail: the job is not
 * running there, TERN_WORLD is NULL, and every context is disabled, so that inlined calls enter the library and are
 * refused. Nothing polls the queues, which belong to the parent. Other threads may be creating, using and freeing
 * objects during fork, so the handler walks no list that changes: it finds the objects in rosters (base/roster.h). It
 * waits for no lock, so that fork cannot deadlock. The only exception is the job's lock, which the handlers around fork
 * hold so that it is free in the child; a thread holds it only for a few instructions, and does not wait while it holds
 * it. Nothing is closed or unmapped: the descriptors and mappings of the child vanish when the child ends or calls
 * exec. The launcher and the other ranks do not notice the child's end, because they watch the process that called
 * tern_init. */
#include "core/fork.h"

#include <pthread.h>

#include "core/adopt.h"
#include "core/context.h"
#include "core/job.h"

static void before(void)
{
    pthread_mutex_lock(&tern_job.lock);
    tern_core_adopt_before_fork();
}

static void in_parent(void)
{
    tern_core_adopt_in_parent();
    pthread_mutex_unlock(&tern_job.lock);
}

/* Refuse all calls on the context, its operations and its counters, and advance none of these operations. */
static void disable(struct tern_ctx *ctx)
{
    ctx->engine = NULL;
    if (ctx->tagged)
        tern_op_tagged_disable(ctx);
    tern_base_list_init(&ctx->outstanding);
    tern_base_list_init(&ctx->active);
    tern_core_ctx_disable(ctx, "belongs to the parent of this process, which fork created");
}

static void in_child(void)
{
    tern_core_adopt_in_child(); /* first: until this call, writes of the child may reach the parent */
    if (atomic_load(&tern_job.phase) == TERN_PHASE_RUNNING) {
        atomic_store(&tern_job.phase, TERN_PHASE_CHILD);
        tern_world = NULL;
        tern_core_message_disable();
        tern_op_notify_disable();
        tern_op_counters_disable();
        TERN_ROSTER_EACH(struct tern_ctx, ctx, &tern_core_ctxs, ever)
            disable(ctx);
    }
    pthread_mutex_unlock(&tern_job.lock);
}

tern_status tern_core_fork_watch(void)
{
    static bool watched;

    if (!watched && pthread_atfork(before, in_parent, in_child) != 0)
        return tern_base_fail(TERN_ERR_NOMEM, "tern_init: no memory for the handlers of fork");
    watched = true;
    return TERN_OK;
}
