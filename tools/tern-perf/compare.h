/* compare.h: the interface between compare.c, which schedules the runs of a comparison, and runners.c, ucx.c and
 * servers.c, which start each program and parse its figures. */
#ifndef TERN_PERF_COMPARE_H
#define TERN_PERF_COMPARE_H

#include "perf.h"

#define COMPARE_METRICS 3
#define COMPARE_WORDS 40
#define COMPARE_RUNNERS 10
#define COMPARE_TESTS 48

struct runner;

/* A test that other programs can run as well. */
struct compare_test {
    const char *name, *sizes;             /* NULL: the test has no sizes */
    const char *test, *window;            /* tern-perf's name, if it differs, and its --window; NULL: none */
    const char *element;                  /* tern-perf's --element; NULL: none */
    const char *metrics[COMPARE_METRICS]; /* the metrics that are compared */
    const char *ucx_test;                 /* ucx_perftest's name of the test; NULL: it has no such test */
    const char *ucx_metric;               /* the metric that ucx_perftest's time per operation is compared with */
    const char *unit;
    const char *ucx_outstanding; /* operations in flight; NULL: ucx_perftest's own choice */
    const char *uct_test;        /* name of the test at the transport layer (UCT); NULL: none */
    bool        no_mpi;          /* MPI has no equivalent */
    bool        shmem;           /* OpenSHMEM has an equivalent */
    bool        optional;        /* runs only when the command line names it */
    bool        collective;      /* a collective call of any number of ranks */
    /* Runs the test once with a runner, instead of runner->run. NULL: use runner->run. */
    bool (*run)(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);
};

/* A program that can run the tests. */
struct runner {
    const char        *name, *link;
    char             **env; /* variables added to the environment; NULL: none */
    const char        *launcher, *program;
    const char *const *options; /* options of the launcher; NULL: none */
    const char        *install; /* advice when the program is not installed; NULL: find prints it */
    bool (*find)(const struct runner *runner, const struct perf_options *o);
    bool (*run)(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);
    const char *instead; /* the tern-perf test to run in place of the compared one; NULL: the compared one */
    const char *dir;     /* the directory of launcher and program; NULL: tern-perf's directory, or PATH */
    bool        pair;    /* it runs with two processes only */
    /* Called when a run ends with a failure. Returns true if the comparison can show the failure as a result, such as
     * a test that an older build does not have. NULL: the failure is printed and counted. */
    bool (*failed)(const struct runner *runner, const struct compare_test *test, const struct perf_child *child);
};

/* One metric of one program, with one value per run. */
struct compare_series {
    const struct compare_test *test;
    const struct runner       *runner;
    uint64_t                   size;
    const char                *metric, *unit;
    double                    *values; /* [count], in the order of the runs */
    size_t                    *rounds; /* [count] the round to which each value belongs */
    size_t                     count;
    struct measure_summary     summary;
};

/* The programs and the tests of a comparison. The other programs are compared with the first one. */
struct comparison {
    const char                *title;
    const struct runner       *runners;
    size_t                     runner_count;
    const struct compare_test *tests;
    size_t                     test_count;
    bool                       alternate; /* every other round runs the programs in the opposite order */
    /* Prints the result in place of the default report. NULL: report the ratios of the medians and of the best
     * values. */
    void (*report)(const struct comparison *comparison, const struct perf_options *o, const bool *wanted);
    /* Prints an additional report at the end. NULL: none. */
    void (*after)(const struct comparison *comparison, const struct perf_options *o);
};

/* Run a comparison according to the options and print the report. Returns the exit status for tern-perf. */
int compare_run(const struct comparison *comparison, const struct perf_options *o);

/* Run a comparison and add its figures to the report, without printing them. Returns the number of rounds, or 0 if
 * there are no figures. */
size_t compare_collect(const struct comparison *comparison, const struct perf_options *o);

/* Return all series, in the order in which their first values were stored. */
const struct compare_series *compare_all(size_t *count);
/* Return the series of one metric, or NULL if the runner has not printed the metric. metric must be one of the pointers
 * in test->metrics, not a copy of the string. */
struct compare_series       *compare_find(const struct compare_test *test, const struct runner *runner, uint64_t size,
                                          const char *metric);
/* Print what the sizes of all series count, and end the line. */
void                         compare_print_sizes(void);
/* Return whether a smaller value is better in this unit. */
bool                         compare_less_is_better(const char *unit);

/* builds.c: compare this build of Tern with another one (--build). Returns the exit status for tern-perf. */
int         compare_builds(const struct perf_options *o);
/* Return why a build has no figures for a test, as a clause that follows the build's name, or "" if the reason is
 * unknown. */
const char *compare_build_note(const struct runner *runner, const struct compare_test *test);

/* ratios.c: report the ratio of two runners, computed round by round. */
void compare_report_ratios(const struct comparison *cmp, const struct perf_options *o, const bool *wanted);

/* resident.c: run a tern-perf job and read the memory of its processes from outside. */
bool compare_memory_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);

/* comparisons.c: the tests that are compared through shared memory and over the network. */
extern const struct compare_test compare_memory_tests[];
extern const size_t              compare_memory_test_count;
extern const struct compare_test compare_net_tests[];
extern const size_t              compare_net_test_count;

/* runners.c: the programs that are compared through shared memory and over the network. */
extern const struct runner compare_memory_runners[];
extern const size_t        compare_memory_runner_count;
extern const struct runner compare_net_runners[];
extern const size_t        compare_net_runner_count;

/* peers.c: find or compile the peer program of an MPI. Returns false, and says what to do, if that is not possible. */
bool compare_peer_find(const struct runner *runner, const struct perf_options *o);
/* Return the commands of a peer that compare_peer_find has found. */
struct compare_peer {
    char launcher[512], program[512];
};
const struct compare_peer *compare_peer_of(const struct runner *runner);

/* runners.c: the limit of the machine, as if it were a program. */
extern const struct runner compare_limit;
/* Return what the limit of a metric is, as a clause: "memcpy between the same addresses". */
const char                *compare_limit_text(const struct compare_test *test, const char *metric, bool net);

/* runners.c: find and run a tern-perf job of two ranks. The job prints the figures of the test. */
bool compare_tern_find(const struct runner *runner, const struct perf_options *o);
bool compare_tern_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);
/* The values of --sizes, --time and --repeat as text. */
struct compare_values {
    char sizes[2048], time[32], repeat[24], ranks[16];
};
/* The command line of a tern-perf job, with the memory for its arguments. */
struct compare_job {
    char                  launcher[512], program[512], cpus[64];
    struct compare_values values;
    const char           *words[COMPARE_WORDS];
};
void   compare_tern_words(struct compare_job *job, const struct runner *runner, const struct compare_test *test,
                          const struct perf_options *o);
/* Start the program with the arguments words, wait for the program to exit, and store the figures of the CSV that it
 * prints. Returns false if the program failed and the runner cannot explain the failure. */
bool   compare_run_csv(const struct runner *runner, const struct compare_test *test, const struct perf_options *o,
                       char *const words[], char *const extra_env[]);
/* Handle a run that failed. Returns true if the runner can show the failure as a result; otherwise prints the failure
 * and returns false. */
bool   compare_failed(const struct runner *runner, const struct compare_test *test, const struct perf_child *child);
/* Return the number of ranks of each job: --ranks, or 2. */
int    compare_ranks(const struct perf_options *o);
/* Store the sizes of a test as numbers and return how many there are. */
size_t compare_sizes(const struct compare_test *test, const struct perf_options *o, uint64_t *sizes);
/* Print the first line that a failed child wrote, or how the child ended. */
void compare_tell_failure(const struct runner *runner, const struct compare_test *test, const struct perf_child *child);
bool compare_program_find(const struct runner *runner, const struct perf_options *o);

/* ucx.c: run ucx_perftest for UCP or, if the runner's link is "uct", for the UCT transport below UCP. */
bool compare_ucx_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);

/* servers.c: run client-server programs that connect through a port: fi_pingpong and iperf3. */
bool compare_pingpong_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);
bool compare_iperf_run(const struct runner *runner, const struct compare_test *test, const struct perf_options *o);
int  compare_free_port(void); /* returns a port that is currently unused; 0: none was found */
/* Wait a few seconds at most until a program listens on port. */
void compare_await_port(int port);
/* Name, as text, the two cpus that every program of a comparison runs on: the first cpu that this process may use, and
 * the first cpu of another core. If there is no other core, second is the next cpu; if there is only one cpu, second is
 * the same cpu. */
void compare_two_cpus(char first[24], char second[24]);

/* Store one value of this run, if the test compares the metric. */
void compare_keep(const struct compare_test *test, const struct runner *runner, uint64_t size, const char *metric,
                  double value);

#define COMPARE_TERN_MISSING "ternrun and tern-perf must lie in the same directory or in PATH"

/* The members that all runners have in common that are jobs of tern-perf itself with other options. */
#define COMPARE_TERN_JOBS                                                                              \
    .launcher = "ternrun", .program = "tern-perf", .find = compare_tern_find, .run = compare_tern_run, \
    .install = COMPARE_TERN_MISSING

#endif
