/* fork.c: a child that fork creates is not part of the job.
 *
 * The child has copies of the parent's objects, but none of the helper threads, and its stores would reach the memory
 * that the ranks share. Therefore a handler that pthread_atfork runs in the child makes all calls fail: the job is not
 * running there, TERN_WORLD is NULL, and every context is disabled, so that inlined calls enter the library and are
 * refused. Nothing polls the queues, which belong to the parent. The handlers around fork hold the job's lock, so that
 * the child finds the list of contexts whole. Nothing is closed or unmapped: the descriptors and mappings of the child
 * vanish when it ends or calls exec, and its end tells nobody anything, because the launcher and the other ranks watch
 * the process that called tern_init. */
#include "core/fork.h"

#include <pthread.h>

#include "core/context.h"
#include "core/job.h"

static void before(void)
{
    pthread_mutex_lock(&tern_job.lock);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&tern_job.lock);
}

/* Refuse all calls on the context, its operations and its counters, and advance none of them. */
static void disable(struct tern_ctx *ctx)
{
    if (ctx->engine)
        tern_op_engine_disable(ctx->engine);
    ctx->engine = NULL;
    if (ctx->tagged)
        tern_op_tagged_disable(ctx);
    tern_base_list_init(&ctx->outstanding);
    tern_base_list_init(&ctx->active);
    tern_core_ctx_disable(ctx, "belongs to the parent of this process, which fork created");
}

static void in_child(void)
{
    if (atomic_load(&tern_job.phase) == TERN_PHASE_RUNNING) {
        atomic_store(&tern_job.phase, TERN_PHASE_CHILD);
        tern_world = NULL;
        tern_core_message_disable();
        tern_op_notify_disable();
        TERN_LIST_EACH(struct tern_ctx, ctx, &tern_job.contexts, node)
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
