/* job.c: the public calls of tern/job.h. */
#include <tern/job.h>

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "boot/pmi_join.h"
#include "core/context.h"
#include "core/job.h"
#include "core/message.h"
#include "op/trigger/helper.h"
#include "op/notify/notify.h"
#include "op/tagged/tagged.h"
#include "op/upcalls.h"

tern_status tern_init(void)
{
    tern_status st;

    tern_op_notify_open();
    tern_op_tagged_open();
    if ((st = tern_core_job_open(&tern_op_upcalls)) == TERN_OK)
        tern_op_tagged_joined();
    return st;
}

tern_status tern_finalize(void)
{
    tern_status st = tern_core_job_running("tern_finalize"), left;

    if (st == TERN_OK && tern_core_in_handler())
        return tern_base_fail(TERN_ERR_STATE, "tern_finalize: called by a handler of an active message");
    if (st < 0)
        return st;
    tern_op_helper_stop();
    tern_op_notify_leave();
    left = tern_op_tagged_leave();
    st = tern_core_job_close();
    tern_op_notify_close();
    tern_op_tagged_close();
    return st < 0 ? st : left;
}

static bool running(void)
{
    return atomic_load_explicit(&tern_job.phase, memory_order_acquire) == TERN_PHASE_RUNNING;
}

int tern_rank(void)
{
    return running() ? tern_job.boot.rank : -1;
}

int tern_size(void)
{
    return running() ? tern_job.boot.ranks : -1;
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

void tern_abort(int code, const char *why)
{
    bool child = atomic_load(&tern_job.phase) == TERN_PHASE_CHILD; /* it ends only itself */

    tern_base_log(TERN_LOG_ERROR, "%s%s%s", child ? "a child of the rank ends" : "ends the job", why ? ": " : "",
                  why ? why : "");
    code = (code & 0xff) != 0 ? code & 0xff : 1; /* the system keeps only the lowest byte */
    if (!child)
        tern_boot_pmi_abort(code);
    _Exit(code);
}

int64_t tern_clock(void)
{
    return tern_base_now();
}

tern_deadline tern_deadline_in(double seconds)
{
    return tern_base_deadline_in(seconds);
}
