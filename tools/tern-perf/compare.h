/* compare.h: what compare.c, which decides what runs when, and runners.c, ucx.c and servers.c, which know how to start
 * each program and read its figures, tell each other. */
#ifndef TERN_PERF_COMPARE_H
#define TERN_PERF_COMPARE_H

#include "perf.h"

#define COMPARE_METRICS 3
#define COMPARE_WORDS 32
#define COMPARE_RUNNERS 8
#define COMPARE_TESTS 48

struct runner;

/* A test that other programs can do as well. */
struct compare_test {
    const char *name, *sizes;             /* sizes NULL: it has none */
    const char *test, *window;            /* tern-perf's name, if that is another, and its --window; NULL: none */
    const char *element;                  /* its --element; NULL: none */
    const char *metrics[COMPARE_METRICS]; /* what is compared */
    const char *ucx_test;                 /* what ucx_perftest calls it; NULL: it has no such test */
    const char *ucx_metric;               /* what its time per operation is to be compared with */
    const char *unit;
    const char *ucx_outstanding; /* operations in flight; NULL: as many as it likes */
    const char *uct_test;        /* what it is called one layer below, at the transport; NULL: not there */
    bool        no_mpi;          /* MPI has nothing like it */
    bool        shmem;           /* OpenSHMEM has the same */
    bool        optional;        /* runs only when the command line names it */
    /* Runs the test once with a runner, instead of the runner's own run; NULL: the runner's own. */
    bool (*run)(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);
};

/* A program that can do the tests. */
struct runner {
    const char        *name, *link;
    char             **env; /* added to the environment; NULL: nothing */
    const char        *launcher, *program;
    const char *const *options; /* of the launcher; NULL: none */
    const char        *install; /* what to do when it is not there */
    bool (*find)(const struct runner *runner, const struct perf_options *o);
    bool (*run)(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);
    const char *instead; /* tern-perf's test that it runs, whatever is compared; NULL: the same */
    const char *dir;     /* the directory of launcher and program; NULL: that of this program, or PATH */
    /* Called when a run ends with a failure. Returns true if the comparison can show the failure as a result, such as
     * a test that an older build does not have. NULL: the failure is printed and counted. */
    bool (*failed)(const struct runner *runner, const struct compare_test *test, const struct perf_child *child);
};

/* One figure of one program: a value per run. */
struct compare_series {
    const struct compare_test *test;
    const struct runner       *runner;
    uint64_t                   size;
    const char                *metric, *unit;
    double                    *values; /* [count], in the order of the runs */
    size_t                    *rounds; /* [count] the round that each value belongs to */
    size_t                     count;
    struct measure_summary     summary;
};

/* Programs, the first of which the others are compared with, and what they do. */
struct comparison {
    const char                *title;
    const struct runner       *runners;
    size_t                     runner_count;
    const struct compare_test *tests;
    size_t                     test_count;
    bool                       alternate; /* every other round runs the programs in the opposite order */
    /* Prints the result, instead of the ratios of medians and of best values; NULL: those. */
    void (*report)(const struct comparison *comparison, const struct perf_options *o, const bool *wanted);
    /* What else to report; NULL: nothing. */
    void (*after)(const struct comparison *comparison, const struct perf_options *o);
};

/* Run it as the options say and report. Returns the status of the program. */
int compare_run(const struct comparison *comparison, const struct perf_options *o);

/* All series, in the order in which their first values were kept. */
const struct compare_series *compare_all(size_t *count);
/* The series of one figure; NULL if the runner has not printed it. metric is one of test->metrics, not a copy. */
struct compare_series       *compare_find(const struct compare_test *test, const struct runner *runner, uint64_t size,
                                          const char *metric);
/* Whether a smaller value of this unit is better. */
bool                         compare_less_is_better(const char *unit);

/* builds.c: this build of Tern beside another one (--build). Returns the status of the program. */
int         compare_builds(const struct perf_options *o);
/* Why a build has no figures of a test, as a clause that follows its name; "" if nothing is known. */
const char *compare_build_note(const struct runner *runner, const struct compare_test *test);

/* ratios.c: the report of two runners by the ratios of their rounds. */
void compare_report_ratios(const struct comparison *cmp, const struct perf_options *o, const bool *wanted);

/* resident.c: a job of tern-perf whose memory is read from outside. */
bool compare_memory_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);

/* comparisons.c: what is compared through memory, and over the network. */
extern const struct compare_test compare_memory_tests[];
extern const size_t              compare_memory_test_count;
extern const struct compare_test compare_net_tests[];
extern const size_t              compare_net_test_count;

/* runners.c: through memory, and over the network. */
extern const struct runner compare_memory_runners[];
extern const size_t        compare_memory_runner_count;
extern const struct runner compare_net_runners[];
extern const size_t        compare_net_runner_count;

/* runners.c: a job of two ranks of tern-perf, whose figures are those of the test. */
bool compare_tern_find(const struct runner *runner, const struct perf_options *o);
bool compare_tern_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);
/* The values of --sizes, --time and --repeat as text. */
struct compare_values {
    char sizes[2048], time[32], repeat[24];
};
/* The command line of such a job, with the memory that its words lie in. */
struct compare_job {
    char                  launcher[512], program[512], cpus[64];
    struct compare_values values;
    const char           *words[COMPARE_WORDS];
};
void   compare_tern_words(struct compare_job *job, const struct runner *runner, const struct compare_test *test,
                          const struct perf_options *o);
/* Start words, wait for the end of the program, and keep the figures of the CSV that it has printed. Returns false if
 * it failed and the runner cannot explain that. */
bool   compare_run_csv(const struct runner *runner, const struct compare_test *test, const struct perf_options *o,
                       char *const words[], char *const extra_env[]);
/* What a run that did not end well means: true if the runner can show it as a result, else it is printed. */
bool   compare_failed(const struct runner *runner, const struct compare_test *test, const struct perf_child *child);
/* The sizes of a test as numbers; returns how many. */
size_t compare_sizes(const struct compare_test *test, const struct perf_options *o, uint64_t *sizes);
/* Give the first line of what a failed child said, or what became of it. */
void compare_tell_failure(const struct runner *runner, const struct compare_test *test, const struct perf_child *child);
bool compare_program_find(const struct runner *runner, const struct perf_options *o);

/* ucx.c: ucx_perftest, of UCP and, where the runner's link is "uct", of the transport below it. */
bool compare_ucx_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);

/* servers.c: programs of two sides that meet at a port: fi_pingpong and iperf3. */
bool compare_pingpong_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);
bool compare_iperf_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);
int  compare_free_port(void); /* that nobody uses now; 0: there is none */
/* Wait until someone listens there, for a few seconds at most. */
void compare_await_port(int port);
/* The two cpus that every program of a comparison runs on, as text: the first one that this process may use, and the
 * first one of another core. Where there is no other core, the next cpu; where there is one cpu only, that. */
void compare_two_cpus(char first[24], char second[24]);

/* Keep one value of this run, if the test compares the metric. */
void compare_keep(const struct compare_test *test, const struct runner *runner, uint64_t size, const char *metric,
                  double value);

#define COMPARE_TERN_MISSING "ternrun and tern-perf must lie in the same directory or in PATH"

/* What runners have in common that are jobs of tern-perf itself, with other options. */
#define COMPARE_TERN_JOBS                                                                              \
    .launcher = "ternrun", .program = "tern-perf", .find = compare_tern_find, .run = compare_tern_run, \
    .install = COMPARE_TERN_MISSING

#endif
