/* fault.c: accesses that fail. The function replaces the one by which foMPI waits for an access. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <tern.h>

#include "check.h"

static bool fails;

void fail_next_wait(void)
{
    fails = true;
}

tern_status tern_event_wait(tern_event *event, tern_deadline deadline)
{
    tern_status (*wait)(tern_event *, tern_deadline);
    tern_status status;

    *(void **)&wait = dlsym(RTLD_NEXT, "tern_event_wait");
    status = wait(event, deadline);
    if (status != TERN_OK || !fails)
        return status;
    fails = false;
    return TERN_ERR_LINK;
}
