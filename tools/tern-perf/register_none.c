/* register_none.c: replaces register.c in a build without libfabric. */
#include <stdio.h>

#include "perf.h"

int perf_register(const struct perf_options *o)
{
    (void)o;
    fprintf(stderr, "tern-perf: register: built without libfabric; install libfabric-dev and build Tern again\n");
    return 1;
}
