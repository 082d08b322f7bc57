/* crossover.c: crossover: compares the ways to send a private buffer over a network that requires registered memory:
 * copy the data through a buffer that is already registered, register the buffer for the transfer, or find the
 * registration of an earlier transfer in the cache.
 *
 * The three ways differ only in the options of the library (TERN_OFI_BOUNCE, TERN_OFI_CACHE), so each way is a job
 * of its own, and the jobs alternate as in compare. TERN_OFI_LOCAL=always makes the cost of registration visible
 * also with TCP, which does not require registration. The report also shows the smallest size from which on copying
 * is never the faster way.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"

#define ALWAYS ((char[]){ "TERN_OFI_LOCAL=always" })
#define COPY_ALL ((char[]){ "TERN_OFI_BOUNCE=1M" })
#define COPY_NONE ((char[]){ "TERN_OFI_BOUNCE=256" })
#define KEEP ((char[]){ "TERN_OFI_CACHE=1G" })
#define DROP ((char[]){ "TERN_OFI_CACHE=0" })

static const struct runner ways[] = {
    { .name = "copied", .link = "copied", .env = (char *[]){ ALWAYS, COPY_ALL, DROP, NULL }, COMPARE_TERN_JOBS },
    { .name = "registered",
      .link = "registered",
      .env = (char *[]){ ALWAYS, COPY_NONE, DROP, NULL },
      COMPARE_TERN_JOBS },
    { .name = "cached", .link = "cached", .env = (char *[]){ ALWAYS, COPY_NONE, KEEP, NULL }, COMPARE_TERN_JOBS },
};

static const struct compare_test transfers[] = {
    { .name = "put_bw", .sizes = "512:1M", .metrics = { "bandwidth" }, .unit = "MB/s" },
    { .name = "get_bw", .sizes = "512:1M", .metrics = { "bandwidth" }, .unit = "MB/s" },
};

static const struct perf_figure *figure_of(const char *test, const char *link, uint64_t size)
{
    size_t                    n;
    const struct perf_figure *all = perf_report_all(&n);

    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i].test, test) == 0 && strcmp(all[i].link, link) == 0 && all[i].size == size &&
            strcmp(all[i].metric, "bandwidth") == 0)
            return &all[i];
    }
    return NULL;
}

/* Return the smallest size from which on this way is never slower than copying, or 0 if there is none. */
static uint64_t crossover(const char *test, const char *link, const uint64_t *sizes, size_t n)
{
    uint64_t from = 0;

    for (size_t i = n; i-- > 0;) {
        const struct perf_figure *copied = figure_of(test, "copied", sizes[i]),
                                 *other = figure_of(test, link, sizes[i]);

        if (copied == NULL || other == NULL || other->value.median < copied->value.median)
            break;
        from = sizes[i];
    }
    return from;
}

static void report_crossovers(const struct comparison *cmp, const struct perf_options *o)
{
    uint64_t sizes[MEASURE_MAX_SIZES];

    for (size_t t = 0; t < cmp->test_count; t++) {
        size_t n = compare_sizes(&cmp->tests[t], o, sizes);

        for (size_t w = 1; w < cmp->runner_count; w++) {
            struct perf_figure f = {
                .test = cmp->tests[t].name, .link = cmp->runners[w].link, .ranks = 2, .unit = "bytes"
            };
            uint64_t from = crossover(f.test, f.link, sizes, n);

            snprintf(f.metric, sizeof(f.metric), "crossover");
            f.value.median = (double)from;
            perf_report_add(&f);
            if (o->format == PERF_TEXT && from > 0)
                printf("%s: from %" PRIu64 " bytes on %s is never slower than copied\n", f.test, from, f.link);
            else if (o->format == PERF_TEXT)
                printf("%s: at the largest size %s is slower than copied\n", f.test, f.link);
        }
    }
}

int perf_crossover(const struct perf_options *o)
{
    const struct comparison all = { .title = "Private buffers on their way to the network",
                                    .runners = ways,
                                    .runner_count = sizeof(ways) / sizeof(ways[0]),
                                    .tests = transfers,
                                    .test_count = sizeof(transfers) / sizeof(transfers[0]),
                                    .after = report_crossovers };

    return compare_run(&all, o);
}
