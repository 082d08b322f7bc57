/* compare.h: what compare.c, which decides what runs when, and runners.c, which knows how to start each program and
 * read its figures, tell each other. */
#ifndef TERN_PERF_COMPARE_H
#define TERN_PERF_COMPARE_H

#include "perf.h"

#define COMPARE_METRICS 2
#define COMPARE_RUNNERS 5

/* A test that other programs can do as well. */
struct compare_test {
    const char *name, *sizes;             /* sizes NULL: it has none */
    const char *metrics[COMPARE_METRICS]; /* what is compared */
    const char *ucx_test;                 /* what ucx_perftest calls it; NULL: it has no such test */
    const char *ucx_metric;               /* what its time per operation is to be compared with */
    const char *unit;
    const char *ucx_outstanding; /* operations in flight; NULL: as many as it likes */
    const char *uct_test;        /* what it is called one layer below, at the transport; NULL: not there */
    bool        no_mpi;          /* MPI has nothing like it */
};

/* A program that can do the tests. */
struct runner {
    const char *name, *link;
    const char *launcher, *program;
    const char *install; /* what to do when it is not there */
    bool (*find)(const struct runner *runner, const struct perf_options *o);
    bool (*run)(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);
};

/* [0] is Tern itself. */
extern const struct runner compare_runners[COMPARE_RUNNERS];

/* Keep one value of this run, if the test compares the metric. */
void compare_keep(const struct compare_test *test, const struct runner *runner, uint64_t size, const char *metric,
                  double value);

#endif
