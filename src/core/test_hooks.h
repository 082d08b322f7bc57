/* test_hooks.h: the option TERN_TEST: changes of behaviour that only Tern's own tests need. */
#pragma once

#include "base/status.h"

/* Apply a list such as "net=off,apart=2". net=off removes the upper limit of a sleep, so that a missed wake-up hangs.
 * apart=N makes the core create the group of all ranks on one node too, as if each node had N ranks; 0 disables this.
 * All ranks of a job must get the same list, before they open a group. Returns TERN_OK, or TERN_ERR_ARG with a detail
 * that names the unknown word. */
tern_status tern_core_test_hooks_apply(const char *list);
