/* all.h: what all.c, which measures the tests that matter, and sections.c, which writes the page, share. */
#ifndef TERN_PERF_ALL_H
#define TERN_PERF_ALL_H

#include "compare.h"
#include "machine.h"

/* One half of the page: through shared memory, or over the network. */
struct all_half {
    const char               *title, *prefix, *suffix; /* of file names, and of links in CSV and JSON */
    bool                      over_net;
    struct compare_test       tests[COMPARE_TESTS];
    size_t                    test_count;
    size_t                    rounds;
    size_t                    first, count; /* its figures in the report */
    const struct perf_figure *figures;
};

struct all {
    struct all_half memory, net;
    char            dir[512];
    char            network[320]; /* what carries the data of the second half, or why nothing does */
    bool            has_network, plots;
    struct machine  machine;
};

/* The programs in the order of the columns of the tables: Tern, its limit, and the peers. */
#define ALL_COLUMNS 7
#define ALL_PEERS 2 /* the index of the first peer */
extern const char *const all_columns[ALL_COLUMNS];

/* sections.c: write the page. Returns false, and prints the reason, if it is not complete. */
bool all_write_page(const struct all *all);

#endif
