/* test_hooks.h: what the option TERN_TEST asks for: changes of behaviour that only the tests of Tern itself want. */
#ifndef TERN_CORE_TEST_HOOKS_H
#define TERN_CORE_TEST_HOOKS_H

#include "base/status.h"

/* Apply a list such as "net=off,apart=2". net=off removes the longest sleep of a wait, so that a missed wake is a hang.
 * apart=N makes the group of all ranks in the core on one node too, as if each node had N ranks; 0 does not. The ranks
 * of a job get the same list, before they open a group. Returns TERN_OK, or TERN_ERR_ARG with a detail that names the
 * word that is not known. */
tern_status tern_core_test_hooks_apply(const char *list);

#endif
