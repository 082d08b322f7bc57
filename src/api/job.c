/* job.c: the public calls of tern/job.h. */
#include <tern/job.h>

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "boot/exit.h"
#include "boot/pmi_join.h"
#include "core/context.h"
#include "core/idle_hook.h"
#include "core/job.h"
#include "core/message.h"
#include "op/coll/helper.h"
#include "op/am/client.h"
#include "op/trigger/helper.h"
#include "op/notify/notify.h"
#include "op/tagged/tagged.h"
#include "op/upcalls.h"

/* The number of uses of Tern by the parts of the program. A call that joins or leaves the job holds the lock, so that a
 * concurrent call waits for the result. A handler or a hook may run within such a call and must not wait for the
 * lock. */
static struct {
    pthread_mutex_t lock;
    unsigned        count; /* calls of tern_init without a matching tern_finalize */
} uses = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Check that the caller may take the lock. In a child that fork created, another thread may have held it. */
static tern_status check_caller(const char *what)
{
    if (atomic_load(&tern_job.phase) == TERN_PHASE_CHILD)
        return tern_core_job_running(what);
    if (tern_core_in_handler())
        return tern_base_fail(TERN_ERR_STATE, "%s: %s must not make this call", what, tern_core_handler_kind());
    return TERN_OK;
}

static tern_status join(void)
{
    tern_status st;

    tern_op_notify_open();
    tern_op_tagged_open();
    if ((st = tern_core_job_open(&tern_op_upcalls)) == TERN_OK)
        tern_op_tagged_joined();
    return st;
}

tern_status tern_init(void)
{
    tern_status st = check_caller("tern_init");

    if (st < 0)
        return st;
    pthread_mutex_lock(&uses.lock);
    if (uses.count == UINT_MAX)
        st = tern_base_fail(TERN_ERR_STATE, "tern_init: called %u times without tern_finalize", uses.count);
    else if (uses.count == 0)
        st = join();
    if (st == TERN_OK)
        uses.count++;
    pthread_mutex_unlock(&uses.lock);
    return st;
}

static tern_status leave(void)
{
    tern_status st, left, colls = tern_op_coll_leave();

    tern_op_helper_stop();
    tern_op_notify_leave();
    left = tern_op_tagged_leave();
    st = tern_core_job_close();
    tern_op_notify_close();
    tern_op_tagged_close();
    tern_op_am_clients_close();
    if (st == TERN_OK)
        st = colls;
    return st < 0 ? st : left;
}

tern_status tern_finalize(void)
{
    tern_status st = check_caller("tern_finalize");

    if (st < 0)
        return st;
    pthread_mutex_lock(&uses.lock);
    if ((st = tern_core_job_running("tern_finalize")) == TERN_OK && --uses.count == 0)
        st = leave();
    pthread_mutex_unlock(&uses.lock);
    return st;
}

int tern_rank(void)
{
    return tern_core_job_is_running() ? tern_job.boot.rank : -1;
}

int tern_size(void)
{
    return tern_core_job_is_running() ? tern_job.boot.ranks : -1;
}

/* Return whether the job is running and has this rank. */
static bool has_rank(int rank)
{
    return tern_core_job_is_running() && rank >= 0 && rank < tern_job.boot.ranks;
}

int tern_node_count(void)
{
    return tern_core_job_is_running() ? tern_job.boot.nodes : -1;
}

int tern_node_of(int rank)
{
    return has_rank(rank) ? (int)tern_core_job_slot(rank)->node : -1;
}

int tern_node_index(int rank)
{
    return has_rank(rank) ? (int)tern_core_job_slot(rank)->local : -1;
}

int tern_node_size(int node)
{
    if (!tern_core_job_is_running() || node < 0 || node >= tern_job.boot.nodes)
        return -1;
    return tern_core_node_map_size(&tern_job.nodes, node);
}

int tern_node_rank(int node, int index)
{
    if (index < 0 || index >= tern_node_size(node)) /* -1 if there is no such node */
        return -1;
    return tern_core_node_map_rank(&tern_job.nodes, node, index);
}

tern_status tern_peer_check(int rank)
{
    tern_status st = tern_core_job_running("tern_peer_check");

    if (st < 0)
        return st;
    if (rank < 0 || rank >= tern_job.boot.ranks)
        return tern_base_fail(TERN_ERR_RANGE, "tern_peer_check: no rank %d in a job of %d", rank, tern_job.boot.ranks);
    tern_core_job_check_deaths();
    return tern_core_job_is_gone(rank) ? tern_base_fail(TERN_ERR_PEER, "tern_peer_check: rank %d is gone", rank)
                                       : TERN_OK;
}

/* Check that the process is not a child that fork created, in which the lock of the list of hooks may be held. */
static tern_status check_not_child(const char *what)
{
    return atomic_load(&tern_job.phase) == TERN_PHASE_CHILD ? tern_core_job_running(what) : TERN_OK;
}

tern_status tern_on_idle(void (*function)(void *arg), void *arg)
{
    tern_status st = check_not_child("tern_on_idle");

    if (st < 0)
        return st;
    if (!function)
        return tern_base_fail(TERN_ERR_ARG, "tern_on_idle: function is NULL; tern_on_idle_remove removes a hook");
    return tern_core_idle_hook_add(function, arg);
}

tern_status tern_on_idle_remove(void (*function)(void *arg), void *arg)
{
    tern_status st = check_not_child("tern_on_idle_remove");

    return st < 0 ? st : tern_core_idle_hook_remove(function, arg);
}

void tern_abort(int code, const char *why)
{
    bool child = atomic_load(&tern_job.phase) == TERN_PHASE_CHILD; /* a child ends only itself */

    tern_base_log(TERN_LOG_ERROR, "%s%s%s", child ? "a child of the rank ends" : "ends the job", why ? ": " : "",
                  why ? why : "");
    code = (code & 0xff) != 0 ? code & 0xff : 1; /* the operating system keeps only the lowest byte */
    if (atomic_load(&tern_job.phase) == TERN_PHASE_RUNNING)
        /* relaxed: the ranks that watch this one read the word after its process has ended */
        atomic_store_explicit(&tern_core_job_slot(tern_job.boot.rank)->aborted, TERN_ENDING | (uint32_t)code,
                              memory_order_relaxed);
    if (!child)
        tern_boot_pmi_abort(code);
    _Exit(code);
}

void tern_exit(int code)
{
    if (atomic_load(&tern_job.phase) == TERN_PHASE_CHILD)
        tern_boot_exit_alone(code);
    tern_boot_exit(code);
}

int64_t tern_clock(void)
{
    return tern_base_now();
}

tern_deadline tern_deadline_in(double seconds)
{
    return tern_base_deadline_in(seconds);
}
