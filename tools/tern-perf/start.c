/* start.c: starts the ranks of a test if no launcher has started this process: tern-perf becomes a ternrun that starts
 * tern-perf again with the same arguments, as many times as the test needs ranks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "boot/pmi.h"
#include "perf.h"

#define DEFAULT_RANKS 2

/* Variables of launchers without PMIx and PMI-1: the number of processes of the job. tern_init explains how such a
 * launcher must be started. */
static const char *const sizes[] = { "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PMI_SIZE",
                                     "MPI_LOCALNRANKS",      "FLUX_JOB_SIZE" };

bool perf_start_launched(void)
{
    const struct tern_pmi_ops *foreign = NULL;
    const char                *size;

    if (getenv("TERN_BOOT") != NULL)
        return true;
    if (tern_base_options_load(environ) < 0 || tern_opt.launcher == TERN_LAUNCHER_ALONE)
        return true; /* tern_init reports the invalid value; "alone" asks for a job of one rank */
    if (tern_boot_pmi_find(&foreign) < 0 || foreign != NULL)
        return true;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size = getenv(sizes[i]);
        if (size != NULL && atoi(size) > 1)
            return true;
    }
    return false;
}

int perf_start_ranks(const struct perf_options *o, const struct perf_test *test, char **argv)
{
    char         launcher[512], self[512], count[24];
    const char  *start[] = { launcher, "-n", count, "--bind", "core", self };
    const size_t before = sizeof(start) / sizeof(start[0]);
    const char **words;
    size_t       n = 0;
    uint64_t     ranks = test->min_ranks > DEFAULT_RANKS ? (uint64_t)test->min_ranks : DEFAULT_RANKS;

    if (o->ranks_count > 1)
        return perf_complain("this test runs in one job; --ranks wants one number", test->name);
    if (o->plot != NULL && !perf_plot_possible(o->plot))
        return 2;
    snprintf(count, sizeof(count), "%llu", (unsigned long long)(o->ranks_count == 1 ? o->ranks[0] : ranks));
    if (!perf_find_sibling(NULL, "ternrun", launcher, sizeof(launcher)) ||
        !perf_find_sibling(NULL, "tern-perf", self, sizeof(self))) {
        fprintf(stderr,
                "tern-perf: %s needs a job, and ternrun, which would start it, is neither beside tern-perf nor in "
                "PATH; add the directory of ternrun to PATH, or start tern-perf with another launcher\n",
                test->name);
        return 1;
    }
    while (argv[n] != NULL)
        n++;
    words = calloc(before + n, sizeof(*words));
    if (words == NULL) {
        fprintf(stderr, "tern-perf: not enough memory to start the ranks\n");
        return 1;
    }
    memcpy(words, start, sizeof(start));
    memcpy(words + before, argv + 1, (n - 1) * sizeof(*words));
    execv(launcher, (char *const *)(uintptr_t)words);
    fprintf(stderr, "tern-perf: %s cannot be started: %s\n", launcher, strerror(errno));
    free(words);
    return 1;
}
